//! Tests of saved state: each kind of operator is saved behind a barrier, at a drawn place of its input, and another one
//! with another hash seed goes on from the state. Its output and its counts are those of an operator that was not
//! interrupted. The suites of `thalweg-sql` do this with whole queries, by [`super::renewal`].

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use thalweg_model::{
    Allowance, Counts, Entropy, EventTime, Flow, GrantSource, Input, Mark, Operator, Output, ProcessingTime,
    Record, SeededEntropy, StateError, StateReader, StateWriter, VirtualClock,
};
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::batch::Batch;

use super::Now;
use super::bed::{ID, In, K, TS, V, batch, call, columns, shown, with_results};
use super::final_rows::FinalRows;
use super::group::{Group, GroupCalls};
use super::limit::Limit;
use super::operator::{BatchOperator, Gathering, InTurn, Stage};
use super::over::{Over, OverCalls, lag};
use super::rank::{Deduplicate, Keep, Normalize, TopN, Wanted};
use super::session::AssignSessions;
use super::sort::Sort;
use super::sorted_over::{LiveOver, OverAtEnd, SortedCalls};
use super::window::{Asked, AssignWindows, WindowAggregate};
use crate::plan::sorted_over::{RowFrame, SortedCall, SortedFunction};
use crate::plan::{Aggregate, AggregateCall, Column, Frame, SortKey, WindowSpec};

/// Time to live of keys, and time that a step takes, in milliseconds.
const TTL_MS: i64 = 20;
const STEP_MS: u64 = 3;

/// Creates an operator with a clock and a hash seed.
type Make = Box<dyn Fn(Now, u64) -> Box<dyn BatchOperator>>;

/// A kind of operator: its name, whether it takes rows back, and how it is created.
type Kind = (&'static str, bool, Make);

fn all_calls(is_retracting: bool) -> Vec<AggregateCall> {
    let mut calls = vec![
        call("COUNT", &[], false),
        call("SUM", &[V], false),
        call("AVG", &[V], false),
        call("MIN", &[V], false),
        call("MAX", &[K], false),
        call("FIRST_VALUE", &[ID], false),
        call("LAST_VALUE", &[ID], false),
        call("LISTAGG", &[K], false),
        call("ARRAY_AGG", &[ID], false),
        call("STDDEV_POP", &[V], false),
        call("COUNT", &[V], true),
        call("SUM", &[V], true),
        call("LISTAGG", &[K], true),
    ];
    if !is_retracting {
        calls.push(call("APPROX_COUNT_DISTINCT", &[ID], false));
    }
    calls
}

fn windowed(columns: Vec<Column>) -> Vec<Column> {
    let time = |name: &str| Column::plain(name, SqlType::Timestamp(3), false);
    let times = ["window_start", "window_end", "window_time"].map(time);
    columns.into_iter().chain(times).collect()
}

fn by(place: usize) -> SortKey {
    SortKey { place, is_descending: false, is_null_first: true }
}

fn kind(
    name: &'static str,
    takes_back: bool,
    make: impl Fn(Now, u64) -> Box<dyn BatchOperator> + 'static,
) -> Kind {
    (name, takes_back, Box::new(make))
}

fn group(is_retracting: bool, is_once_per_batch: bool, ttl_ms: i64, keys: &'static [usize]) -> Make {
    Box::new(move |now, seed| {
        let calls = all_calls(is_retracting);
        let out = with_results(keys, &calls);
        let group = GroupCalls {
            keys: keys.to_vec(),
            calls,
            is_retracting,
            ttl_ms,
            has_row_without_input: keys.is_empty(),
            is_once_per_batch,
        };
        Box::new(Group::new(group, now, &columns(), &out, seed).unwrap())
    })
}

fn windows(spec: WindowSpec, is_retracting: bool) -> Make {
    Box::new(move |_, hash_seed| {
        let calls = all_calls(is_retracting);
        let out = windowed(with_results(&[K], &calls));
        let asked =
            Asked { input: &columns(), keys: vec![K], calls, columns: &out, is_retracting, hash_seed };
        Box::new(WindowAggregate::cutting(&spec, TS, None, asked).unwrap())
    })
}

fn over(frame: Frame, time: Option<usize>, is_single: bool) -> Make {
    Box::new(move |now, seed| {
        let mut calls = vec![
            call("COUNT", &[], false),
            call("SUM", &[V], false),
            call("LAST_VALUE", &[ID], false),
            call("COUNT", &[V], true),
        ];
        if frame == Frame::Range(None) {
            let function = lag(&SqlType::Int, 1, true, true);
            let (aggregate, arguments) = (Aggregate::Lag { rows: 1 }, vec![V, ID]);
            calls.push(AggregateCall { aggregate, is_distinct: false, arguments, filter: None, function });
        }
        let out = with_results(&[ID, K, V, TS], &calls);
        let over = OverCalls { keys: vec![K], time, frame, calls, ttl_ms: Some(TTL_MS) };
        Box::new(Over::new(over, now, &columns(), &out, seed).unwrap().of_one_reader(is_single))
    })
}

fn sorted_over(is_final: bool) -> Make {
    Box::new(move |now, seed| {
        let call = call("SUM", &[V], false);
        let result = call.function.result.clone();
        let function = SortedFunction::Aggregate { call: Box::new(call), frame: RowFrame::DEFAULT };
        let call = SortedCall { function, result: result.clone(), is_nullable: true, at: None };
        let mut out = columns();
        out.push(Column::plain("s", result, true));
        let over = SortedCalls { keys: vec![K], order: vec![by(V)], calls: vec![call] };
        match is_final {
            true => Box::new(OverAtEnd::new(over, &columns(), &out).unwrap()),
            false => Box::new(LiveOver::new(over, Some(TTL_MS), now, &columns(), &out, seed).unwrap()),
        }
    })
}

fn top(from: u64, to: u64, has_rank: bool, is_retracting: bool) -> Make {
    Box::new(move |now, seed| {
        let wanted =
            Wanted { keys: vec![K], order: vec![by(V)], from, to, has_rank, is_retracting, ttl_ms: TTL_MS };
        let mut out = columns();
        if has_rank {
            out.push(Column::plain("rank", SqlType::BigInt, false));
        }
        Box::new(TopN::new(wanted, now, &columns(), &out, seed).unwrap())
    })
}

fn final_rows(order: Vec<SortKey>, skip: u64, fetch: u64, is_retracting: bool) -> Make {
    Box::new(move |_, _| Box::new(FinalRows::new(&order, skip, fetch, is_retracting, &columns()).unwrap()))
}

fn kinds() -> Vec<Kind> {
    let tumble = WindowSpec::Tumble { size_ms: 10, offset_ms: 0 };
    let hop = WindowSpec::Hop { size_ms: 10, slide_ms: 5, offset_ms: 0 };
    let cumulate = WindowSpec::Cumulate { size_ms: 20, step_ms: 5, offset_ms: 0 };
    let keep = |keep: Keep| -> Make {
        Box::new(move |now, seed| {
            Box::new(Deduplicate::new(keep, vec![K], TTL_MS, now, &columns(), &columns(), seed).unwrap())
        })
    };
    vec![
        kind("limit", false, |_, _| Box::new(Limit::new(5, 20, None))),
        kind("sort", false, |_, _| Box::new(Sort::new(TS, vec![by(V)], &columns()))),
        ("final rows", false, final_rows(vec![by(V)], 3, u64::MAX, false)),
        ("first final rows", false, final_rows(vec![by(V)], 3, 9, false)),
        ("final rows of changes", true, final_rows(vec![by(V)], 2, 9, true)),
        ("group", false, group(false, false, i64::MAX, &[K])),
        ("group of changes", true, group(true, false, i64::MAX, &[K])),
        ("group by numbers with a time to live", true, group(true, false, TTL_MS, &[V])),
        ("group once per batch", true, group(true, true, i64::MAX, &[K, V])),
        ("group without keys", true, group(true, false, i64::MAX, &[])),
        ("tumbling windows", false, windows(tumble.clone(), false)),
        ("sliding windows of changes", true, windows(hop.clone(), true)),
        ("cumulative windows", false, windows(cumulate, false)),
        kind("group at the end", false, |_, hash_seed| {
            let calls = all_calls(false);
            let out = with_results(&[K], &calls);
            let (keys, is_retracting) = (vec![K], false);
            let asked = Asked { input: &columns(), keys, calls, columns: &out, is_retracting, hash_seed };
            Box::new(WindowAggregate::at_the_end(false, asked))
        }),
        kind("assigned windows", true, move |_, _| {
            Box::new(AssignWindows::new(&hop, TS, None, &windowed(columns())).unwrap())
        }),
        kind("sessions of one source", true, |_, _| {
            let out = windowed(columns());
            let sessions = AssignSessions::new(7, vec![K], TS, None, &columns(), &out).unwrap();
            Box::new(sessions.of_one_reader(true))
        }),
        kind("sessions", false, |_, _| {
            Box::new(AssignSessions::new(7, vec![V], TS, None, &columns(), &windowed(columns())).unwrap())
        }),
        ("over rows", false, over(Frame::Rows(Some(2)), Some(TS), true)),
        ("over all rows", false, over(Frame::Rows(None), Some(TS), false)),
        ("over a range", false, over(Frame::Range(Some(12)), Some(TS), true)),
        ("over a whole range", false, over(Frame::Range(None), Some(TS), true)),
        ("over arrivals", false, over(Frame::Rows(Some(3)), None, true)),
        ("live over", true, sorted_over(false)),
        ("over at the end", true, sorted_over(true)),
        ("top", false, top(1, 2, false, false)),
        ("top of changes with ranks", true, top(2, 3, true, true)),
        ("first by arrival", false, keep(Keep::First)),
        ("last by arrival", false, keep(Keep::Last)),
        ("first by time", false, keep(Keep::FirstBy(TS))),
        ("last by time", false, keep(Keep::LastBy(TS))),
        kind("normalize", true, |now, seed| {
            Box::new(Normalize::new(vec![K], i64::MAX, now, &columns(), &columns(), seed).unwrap())
        }),
    ]
}

/// A step of the input of an operator.
#[derive(Clone)]
enum Step {
    Rows(Vec<In>, Vec<RowKind>),
    Mark(Mark),
}

/// Draws rows with times that rise and vary, retractions of rows that came, and watermarks.
fn drawn(entropy: &mut SeededEntropy, takes_back: bool) -> Vec<Step> {
    let at = |millis: i64| EventTime::from_micros(millis * 1_000);
    let (mut steps, mut there, mut id, mut watermark): (Vec<Step>, Vec<In>, i32, i64) =
        (Vec::new(), Vec::new(), 0, 0);
    for step in 0..30 {
        match entropy.below(4) {
            0 => {
                watermark += entropy.below(9) as i64;
                steps.push(Step::Mark(Mark::Watermark(at(watermark))));
                continue;
            }
            1 if step % 3 == 0 => {
                let ahead = watermark + entropy.below(4) as i64;
                steps.push(Step::Mark(Mark::InputWatermark(at(ahead))));
            }
            _ => {}
        }
        let (mut rows, mut kinds) = (Vec::new(), Vec::new());
        for _ in 0..=entropy.below(5) {
            if takes_back && !there.is_empty() && entropy.below(3) == 0 {
                rows.push(there.swap_remove(entropy.below(there.len() as u64) as usize));
                kinds.push(RowKind::Delete);
                continue;
            }
            id += 1;
            let k = [Some("a"), Some("b"), Some("a key of more than 22 bytes"), None];
            let v = [None, Some(0), Some(1), Some(2), Some(3)];
            let ts = (watermark + entropy.below(24) as i64 - 4).max(0);
            let row = In { id, k: k[entropy.below(4) as usize], v: v[entropy.below(5) as usize], ts };
            rows.push(row);
            kinds.push(RowKind::Insert);
            there.push(row);
        }
        steps.push(Step::Rows(rows, kinds));
    }
    steps.push(Step::Mark(Mark::Watermark(EventTime::MAX)));
    steps.push(Step::Mark(Mark::End));
    steps
}

/// Counts the bytes that an operator has asked for.
#[derive(Default)]
struct Asks(Mutex<usize>);

impl GrantSource for Asks {
    fn lend(&self, bytes: usize) -> bool {
        *self.0.lock().unwrap() += bytes;
        true
    }
}

struct Batches(VecDeque<Record<Batch>>);

impl Input<Batch> for Batches {
    fn remaining(&self) -> usize {
        self.0.len()
    }

    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&Record<Batch>) -> Q) -> Q {
        look(&self.0[offset])
    }

    fn taken(&mut self, count: usize) -> impl Iterator<Item = Record<Batch>> {
        self.0.drain(..count)
    }

    fn taken_selected(&mut self, count: usize, selection: &[u16]) -> impl Iterator<Item = Record<Batch>> {
        let chosen = |place: usize| selection.binary_search(&(place as u16)).is_ok();
        self.taken(count).enumerate().filter_map(move |(place, record)| chosen(place).then_some(record))
    }
}

/// Output with room for everything.
#[derive(Default)]
struct Rows(Vec<String>);

impl Output<Batch> for Rows {
    fn room(&self) -> usize {
        usize::MAX
    }

    fn push(&mut self, record: Record<Batch>) {
        assert!(record.value.failure.is_none(), "{:?}", record.value.failure);
        self.0.extend(shown(&record.value));
    }
}

/// A stage under test with its clock, and the counts of the stages that it has replaced.
struct Bed<'k> {
    make: &'k Make,
    clock: Arc<VirtualClock>,
    stage: Stage<InTurn>,
    before: Counts,
}

impl<'k> Bed<'k> {
    fn new(make: &'k Make) -> Self {
        let clock = Arc::new(VirtualClock::default());
        let stage = Stage::new(make(Now::new(clock.clone()), 1));
        Bed { make, clock, stage, before: Counts::default() }
    }

    fn counts(&self) -> Counts {
        let mut all = self.before;
        self.stage.visit_counts(&mut |_, counts| all = all.plus(counts));
        all
    }

    /// Makes the step with a number, and returns the output in an order of its own.
    fn step(&mut self, step: &Step, number: u64) -> Vec<String> {
        self.clock.advance_to(ProcessingTime::from_nanos(number * STEP_MS * 1_000_000));
        let mut out = Rows::default();
        match step {
            Step::Rows(rows, kinds) => {
                let time = rows.iter().map(|row| row.ts).max().unwrap_or_default();
                let record = Record::new(EventTime::from_micros(time * 1_000), batch(rows, Some(kinds)));
                self.stage.process(&mut Batches(VecDeque::from([record])), &mut out);
                while self.stage.is_stalled() {
                    let _ = self.stage.resume(&mut out);
                }
            }
            Step::Mark(mark) => while self.stage.on_mark(*mark, &mut out) == Flow::More {},
        }
        out.0.sort();
        out.0
    }

    /// Gives a barrier to the stage, behind which nothing comes out, and returns its state.
    fn saved(&mut self) -> Vec<u8> {
        let (barrier, mut out) = (Mark::Barrier(7), Rows::default());
        assert_eq!(self.stage.on_mark(barrier, &mut out), Flow::Done);
        assert!(out.0.is_empty() && !self.stage.is_stalled(), "a barrier causes no output: {:?}", out.0);
        assert_eq!(self.stage.forward(barrier), Some(barrier));
        let mut state = StateWriter::default();
        self.stage.save(&mut state).unwrap();
        state.into_bytes()
    }

    fn loaded(&self, bytes: &[u8], seed: u64) -> Result<Stage<InTurn>, StateError> {
        let mut stage = Stage::new((self.make)(Now::new(self.clock.clone()), seed));
        let asks = Arc::new(Asks::default());
        stage.fund(&Allowance::new(Arc::clone(&asks) as _));
        let held = stage.state_bytes();
        let mut state = StateReader::new(bytes);
        stage.load(&mut state)?;
        state.finish()?;
        let asked = *asks.0.lock().unwrap();
        assert!(stage.state_bytes() <= held + asked, "{} of {asked} bytes", stage.state_bytes());
        Ok(stage)
    }
}

/// Whatever comes behind a barrier, an operator that has loaded the state does what the saved one would have done.
#[test]
fn operators_go_on_from_saved_state() {
    for (number, (name, takes_back, make)) in (0u64..).zip(&kinds()) {
        for seed in 0..40 {
            let mut entropy = SeededEntropy::new(1_000 * number + seed);
            let steps = drawn(&mut entropy, *takes_back);
            let (mut whole, mut cut) = (Bed::new(make), Bed::new(make));
            let places = [entropy.below(32), entropy.below(32)];
            for (place, step) in (0u64..).zip(&steps) {
                if places.contains(&place) {
                    let bytes = cut.saved();
                    let before = cut.counts();
                    cut.stage = cut.loaded(&bytes, 100 + place).unwrap();
                    cut.before = before;
                }
                let (expected, found) = (whole.step(step, place), cut.step(step, place));
                assert_eq!(
                    found, expected,
                    "{name} at step {place} with seed {seed}, saved before {places:?}"
                );
                assert_eq!(cut.counts(), whole.counts(), "{name} at step {place} with seed {seed}");
            }
        }
    }
}

/// State that is cut off or damaged is refused, and so is that of another kind of operator.
#[test]
fn other_bytes_are_refused() {
    let kinds = kinds();
    let mut all: Vec<(&str, Vec<u8>)> = Vec::new();
    for (name, takes_back, make) in &kinds {
        let mut bed = Bed::new(make);
        for (place, step) in (0u64..).zip(drawn(&mut SeededEntropy::new(5), *takes_back).iter().take(12)) {
            bed.step(step, place);
        }
        let bytes = bed.saved();
        assert!(bed.loaded(&bytes, 2).is_ok(), "{name}");
        let lengths = (0..bytes.len()).filter(|length| *length < 100 || length % 13 == 0);
        for length in lengths {
            assert!(bed.loaded(&bytes[..length], 2).is_err(), "{name}: {length} bytes");
        }
        for bit in (0..bytes.len() * 8).filter(|bit| *bit < 400 || bit % 61 == 0) {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(bed.loaded(&damaged, 2).is_err(), "{name}: bit {bit}");
        }
        all.push((name, bytes));
    }
    let sort = kinds.iter().find(|(name, _, _)| *name == "sort").unwrap();
    let of_group = all.iter().find(|(name, _)| *name == "group").unwrap();
    let error = Bed::new(&sort.2).loaded(&of_group.1, 2).err().unwrap().to_string();
    assert!(
        error.contains("this is the state of `group`, version 1; `sort`, version 1 was expected"),
        "{error}"
    );
}

/// A barrier that comes to the copy of a worker leaves its rows there. They are merged from a copy that has loaded its state.
#[test]
fn the_copies_of_workers_are_saved() {
    let make = windows(WindowSpec::Tumble { size_ms: 10, offset_ms: 0 }, false);
    let made = || Stage::<Gathering>::new(make(Now::new(Arc::new(VirtualClock::default())), 1));
    let fed = |stage: &mut Stage<Gathering>, out: &mut Rows| {
        let rows: Vec<In> = (0..50)
            .map(|id| In { id, k: Some(["a", "b"][id as usize % 2]), v: Some(id % 7), ts: 3 })
            .collect();
        let record = Record::new(EventTime::EPOCH, batch(&rows, None));
        stage.process(&mut Batches(VecDeque::from([record])), out);
    };
    let (mut alone, mut expected) = (made(), Rows::default());
    fed(&mut alone, &mut expected);
    assert_eq!(alone.on_mark(Mark::Watermark(EventTime::MAX), &mut expected), Flow::Done);
    assert_eq!(expected.0.len(), 2);

    let (mut whole, mut out) = (made(), Rows::default());
    let mut copy = whole.fork();
    fed(&mut copy, &mut out);
    assert_eq!(copy.on_mark(Mark::Barrier(1), &mut out), Flow::Done);
    let mut state = StateWriter::default();
    copy.save(&mut state).unwrap();
    let mut loaded = whole.fork();
    loaded.load(&mut StateReader::new(&state.into_bytes())).unwrap();
    assert!(out.0.is_empty(), "{:?}", out.0);
    whole.absorb(&mut loaded);
    assert_eq!(whole.on_mark(Mark::Watermark(EventTime::MAX), &mut out), Flow::Done);
    assert_eq!(out.0, expected.0);
}
