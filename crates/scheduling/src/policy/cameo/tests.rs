//! Tests of Cameo: the examples of its paper, deadlines computed by hand, and each rule by itself. Times are
//! in ms.

mod hostile;
pub(super) mod waits;

use thalweg_model::{EventTime, ProcessingTime};

use super::*;
use crate::snapshot::{Context, DelayStatistics, ProgressMap, StreamState};

const FORMS: [CameoForm; 3] = [CameoForm::LeastLaxity, CameoForm::EarliestDeadline, CameoForm::ShortestJob];

const MS: u64 = 1_000_000;

fn at(ms: u64) -> ProcessingTime {
    ProcessingTime::from_nanos(ms * MS)
}

/// An operator of a test with one message: the time at which the message was observed, its cost, the end of
/// the window for which it waits, and the operator's readers.
type Row<'a> = (u64, u64, Option<i64>, &'a [u32]);

/// Makes a snapshot with operators of query 0, which has a latency target.
fn snapshot(rows: &[Row<'_>], target: Option<u64>) -> Snapshot {
    let state = |&(observed, cost, frontier, _): &Row<'_>| {
        Some(OperatorState {
            pending: 1,
            head: Context { observed: at(observed), token: None },
            cost_ns_per_run: (cost * MS) as f64,
            frontier: frontier.map(|frontier| EventTime::from_micros(frontier * 1_000)),
            ..OperatorState::default()
        })
    };
    Snapshot {
        block_records: 384,
        operators: rows.iter().map(state).collect(),
        queries: vec![Some(QueryState {
            latency_target_ns: target.map(|target| target * MS),
            ..QueryState::default()
        })],
        downstream: rows.iter().map(|row| row.3.iter().copied().map(OperatorId).collect()).collect(),
        order: (0..rows.len() as u32).map(OperatorId).collect(),
        ..Snapshot::default()
    }
}

/// Makes the state of a stream whose events arrive `delay` ms after they happened. It belongs to the query with the
/// number 0.
fn live(delay: u64) -> StreamState {
    StreamState {
        query: QueryId(0),
        next_firing: Some(EventTime::from_secs(1)),
        deadline: None,
        swept: None,
        delays: DelayStatistics::default(),
        progress: Some(ProgressMap { event_time: EventTime::EPOCH, observed: at(delay), slope: 1.0 }),
        is_away: false,
    }
}

/// Returns the start deadlines of all operators after a round. Scores are counted from zero in the first
/// seconds of the clock, so a score is a negated deadline.
fn deadlines(policy: &mut Cameo, snapshot: &Snapshot) -> Vec<f64> {
    policy.prepare(snapshot);
    let rank = |operator: &OperatorId| policy.rank(snapshot, *operator).expect("it can run");
    let ranks: Vec<_> = snapshot.order.iter().map(rank).collect();
    assert!(ranks.iter().zip(0..).all(|(rank, id)| (rank.class, rank.tie) == (0, id)));
    ranks.into_iter().map(|rank| -rank.score / MS as f64).collect()
}

/// Checks the deadlines by least laxity, the deadlines by earliest deadline, and the costs by shortest job,
/// for all operators.
#[track_caller]
fn check(snapshot: &Snapshot, expected: [&[f64]; 3]) {
    for (form, expected) in FORMS.into_iter().zip(expected) {
        assert_eq!(deadlines(&mut Cameo::of(form), snapshot), expected, "{form:?}");
    }
}

/// The example of section 4.2.1: ddl_M2 = 30 + 50 - 20 = 60, whether the 20 are the operator's own cost or
/// the cost of the path.
#[test]
fn the_example_of_the_paper() {
    check(&snapshot(&[(30, 20, None, &[])], Some(50)), [&[60.0], &[80.0], &[20.0]]);
    let two = snapshot(&[(30, 5, None, &[1]), (0, 15, None, &[])], Some(50));
    check(&two, [&[60.0, 35.0], &[65.0, 50.0], &[5.0, 15.0]]);
}

/// A diamond-shaped query behind the operator A: the cost of the path is that of the branch C, which costs
/// more. D costs 2, and has observed an event before all others.
#[test]
fn deadlines_leave_time_for_the_way_to_the_sink() {
    let rows: [Row<'_>; 4] =
        [(100, 1, None, &[1, 2]), (90, 5, None, &[3]), (90, 9, None, &[3]), (80, 2, None, &[])];
    let llf = &[100.0 + 800.0 - 12.0, 90.0 + 800.0 - 7.0, 90.0 + 800.0 - 11.0, 80.0 + 800.0 - 2.0];
    let edf = &[100.0 + 800.0 - 11.0, 90.0 + 800.0 - 2.0, 90.0 + 800.0 - 2.0, 80.0 + 800.0];
    check(&snapshot(&rows, Some(800)), [llf, edf, &[1.0, 5.0, 9.0, 2.0]]);
}

/// A query without a latency target gets the default of 1 s, or the target in the settings. A deadline may
/// lie before the start of the clock.
#[test]
fn a_query_without_a_target_has_the_default() {
    let rows: [Row<'_>; 1] = [(30, 20, None, &[])];
    check(&snapshot(&rows, None), [&[1_010.0], &[1_030.0], &[20.0]]);
    let settings = CameoSettings { latency_target_ns: 7 * MS, ..CameoSettings::default() };
    assert_eq!(deadlines(&mut Cameo::new(settings), &snapshot(&rows, None)), [17.0]);
    assert_eq!(deadlines(&mut Cameo::new(settings), &snapshot(&rows, Some(9))), [19.0]);
    assert_eq!(deadlines(&mut Cameo::default(), &snapshot(&[(3, 20, None, &[])], Some(10))), [-7.0]);
}

/// The example of section 4.3, with windows of 10 s and events that take 2 s: a message that waits for the
/// event time 11 s is complete at 13 s. An operator behind the window waits for no window.
#[test]
fn a_window_puts_the_deadline_off() {
    let rows: [Row<'_>; 2] = [(5_000, 20, Some(11_000), &[1]), (5_000, 10, None, &[])];
    let window = Snapshot { streams: vec![live(2_000)], ..snapshot(&rows, Some(50)) };
    check(&window, [&[13_020.0, 5_040.0], &[13_040.0, 5_050.0], &[20.0, 10.0]]);
    assert_eq!(deadlines(&mut Cameo::unaware(), &window), [5_020.0, 5_040.0]);
    // In a join the stream whose events take 3.5 s decides, whichever comes first in the list.
    for streams in [vec![live(2_000), live(3_500)], vec![live(3_500), live(2_000)]] {
        let join = Snapshot { streams, ..window.clone() };
        assert_eq!(deadlines(&mut Cameo::default(), &join), [14_520.0, 5_040.0]);
    }
}

/// A predicted end of a window that is already past postpones no deadline, nor does a missing prediction. The
/// deadline of a source is never postponed.
#[test]
fn without_a_prediction_an_operator_is_regular() {
    let row = |observed, frontier| -> Snapshot { snapshot(&[(observed, 20, frontier, &[])], Some(50)) };
    let with = |snapshot: Snapshot, streams: &[StreamState]| {
        deadlines(&mut Cameo::default(), &Snapshot { streams: streams.to_vec(), ..snapshot })
    };
    assert_eq!(with(row(5_000, Some(2_000)), &[live(2_000)]), [5_030.0]);
    assert_eq!(with(row(5_000, Some(2_000)), &[live(3_500)]), [5_530.0]);
    let unknown = StreamState { progress: None, ..live(0) };
    assert_eq!(with(row(5_000, Some(11_000)), &[live(2_000), unknown]), [5_030.0]);
    assert_eq!(with(row(5_000, Some(11_000)), &[]), [5_030.0]);
    let mut endless = row(5_000, None);
    endless.operators[0].as_mut().unwrap().frontier = Some(EventTime::MAX);
    assert_eq!(with(endless, &[live(2_000)]), [5_030.0]);
    let mut source = row(5_000, Some(11_000));
    source.operators[0].as_mut().unwrap().is_source = true;
    assert_eq!(with(source, &[live(2_000)]), [5_030.0]);
}

/// Returns the order in which the messages of Figure 4 run. Operator o1 has M1, then M3, of a window that
/// ends at 100; o2 has M2, then M4. The paper's text gives the deadline of M2, 60. The other numbers are
/// ours, chosen so that without windows M1 comes between M2 and M4.
fn figure_4(mut policy: Cameo) -> String {
    let mut messages = [vec![(10, "M1 "), (40, "M3 ")], vec![(30, "M2 "), (55, "M4 ")]];
    let mut ran = String::new();
    while messages.iter().any(|messages| !messages.is_empty()) {
        let head = |id: usize| messages[id].first().map_or(0, |(observed, _)| *observed);
        let mut both = snapshot(&[(head(0), 20, Some(100), &[]), (head(1), 20, None, &[])], Some(50));
        both.queries.push(Some(QueryState { latency_target_ns: Some(80 * MS), ..QueryState::default() }));
        both.streams = vec![StreamState { query: QueryId(1), ..live(0) }];
        both.operators[0].as_mut().unwrap().query = QueryId(1);
        for (state, messages) in both.operators.iter_mut().flatten().zip(&messages) {
            state.pending = messages.len() as u64;
        }
        policy.prepare(&both);
        let word = |id: u32| policy.rank(&both, OperatorId(id)).map_or(u64::MAX, Rank::word);
        let next = if word(0) < word(1) { 0 } else { 1 };
        ran.push_str(messages[next].remove(0).1);
    }
    ran
}

/// Figure 4 of the paper: schedule "c" promotes M2, and schedule "d" postpones M1 and M3 in favour of M2 and
/// M4.
#[test]
fn figure_4_postpones_what_waits_for_a_window() {
    assert_eq!(figure_4(Cameo::unaware()), "M2 M1 M4 M3 ");
    assert_eq!(figure_4(Cameo::default()), "M2 M4 M1 M3 ");
}

/// An operator's own measurements count at once, those of downstream operators from the next round on. An
/// operator that was submitted since the last round has the default target and an empty path.
#[test]
fn a_rank_is_as_fresh_as_the_entry() {
    let before = snapshot(&[(30, 20, None, &[1]), (30, 10, None, &[])], Some(50));
    let mut policy = Cameo::default();
    policy.prepare(&before);
    let mut after = snapshot(&[(40, 15, None, &[1]), (30, 90, None, &[]), (30, 5, None, &[])], Some(60));
    after.operators[2].as_mut().unwrap().query = QueryId(3);
    let deadline = |id| -policy.rank(&after, OperatorId(id)).unwrap().score / MS as f64;
    assert_eq!([0, 1, 2].map(deadline), [65.0, -10.0, 1_025.0]);
    assert_eq!(deadlines(&mut policy, &after), [-5.0, 0.0, 1_025.0]);
}

/// With present-day instants, too, a difference of 1 ns between deadlines changes the order, and another
/// round does not.
#[test]
fn deadlines_are_exact_and_keep() {
    const TODAY_NS: u64 = 1_800_000_000_000_000_000;
    let today = |offset_ns: u64| ProcessingTime::from_nanos(TODAY_NS + offset_ns);
    let mut both = snapshot(&[(0, 20, None, &[]), (0, 20, None, &[])], Some(50));
    for (state, offset_ns) in both.operators.iter_mut().flatten().zip([1, 0]) {
        state.head.observed = today(offset_ns);
    }
    for form in [CameoForm::LeastLaxity, CameoForm::EarliestDeadline] {
        let mut policy = Cameo::of(form);
        let mut words = [0, 3_000_000_000].map(|offset_ns| {
            policy.prepare(&Snapshot { now: today(offset_ns), ..both.clone() });
            [0, 1].map(|id| policy.rank(&both, OperatorId(id)).unwrap().word())
        });
        assert_eq!(words[0], words[1]);
        words[0].sort_unstable();
        assert_eq!(words[0], [words[1][1], words[1][0]]);
        assert_ne!(words[1][0] >> 16, words[1][1] >> 16);
    }
}

/// Each form of Cameo reads only the fields of the snapshot that it uses.
#[test]
fn each_form_reads_its_own() {
    let costs = Fields::COST_AND_SELECTIVITY;
    let deadlines = costs | Fields::CONTEXTS | Fields::TOPOLOGY;
    let [llf, edf, sjf] = FORMS.map(|form| Cameo::of(form).reads());
    assert_eq!((llf, edf, sjf), (deadlines | Fields::STREAMS, deadlines | Fields::STREAMS, costs));
    assert_eq!(Cameo::unaware().reads(), deadlines);
    let merged = deadlines | Fields::STREAMS | Fields::MERGED_PROGRESS;
    assert_eq!(Cameo::merged().reads(), merged);
}

/// The quantum is the number of records that fit into the grain, but at least a block, whatever a record
/// costs. The default grain is 1 ms.
#[test]
fn a_quantum_is_a_block_or_the_grain() {
    let quantum = |grain_ns, cost_ns_per_record| {
        let mut snapshot = snapshot(&[(0, 1, None, &[])], None);
        snapshot.operators[0].as_mut().unwrap().cost_ns_per_record = cost_ns_per_record;
        Cameo::new(CameoSettings { grain_ns, ..CameoSettings::default() })
            .quantum(&snapshot, OperatorId(0))
            .records
    };
    let default_ns = CameoSettings::default().grain_ns;
    assert_eq!(
        [10.0, 1_000.0, 2_600.0, 2_605.0].map(|cost| quantum(default_ns, cost)),
        [100_000, 1_000, 384, 384]
    );
    assert_eq!([0.0, -1.0, f64::NAN].map(|cost| quantum(default_ns, cost)), [10_000; 3]);
    assert_eq!((quantum(0, 10.0), quantum(u64::MAX, 10.0)), (384, u32::MAX));
    assert_eq!(quantum(default_ns, f64::INFINITY), 384);
    let nobody = Cameo::default().quantum(&snapshot(&[], None), OperatorId(7));
    assert_eq!(nobody, Quantum { records: 384 });
}

/// Random errors of costs spread the deadlines by sigma, do not shift their mean, and are the same for the
/// same seed.
#[test]
fn noise_moves_deadlines() {
    let rows: Vec<Row<'_>> = vec![(30, 20, None, &[]); 1_000];
    let all = snapshot(&rows, Some(50));
    for (form, mean) in FORMS.into_iter().zip([60.0, 80.0, 20.0]) {
        let noisy = CameoSettings { form, cost_noise_ns: 10 * MS, noise_seed: 3, ..CameoSettings::default() };
        let found = deadlines(&mut Cameo::new(noisy), &all);
        assert_eq!(found, deadlines(&mut Cameo::new(noisy), &all));
        let set = Settings { cameo_cost_noise_ns: 10 * MS, cameo_noise_seed: 3, ..Settings::default() };
        assert_eq!(found, deadlines(&mut Cameo::of(form).with(&set), &all), "users set the same noise");
        let variance = found.iter().map(|ms| (ms - mean).powi(2)).sum::<f64>() / 1_000.0;
        // An earliest deadline leaves out the operator's own cost, and these operators have no downstream
        // costs. So random errors of costs cannot change it.
        let expected = if form == CameoForm::EarliestDeadline { 0.0..=0.0 } else { 9.0..=11.0 };
        assert!(expected.contains(&variance.sqrt()), "{form:?}: {variance}");
    }
}
