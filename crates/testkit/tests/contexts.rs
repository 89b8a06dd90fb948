//! Contexts that travel with records, as policies see them: on the real engine, stepped manually with a
//! manual clock.
//!
//! A source has a record every 10 ms, due at its stamp. A map, windows of 100 ms and a sink follow, each a
//! task of its own. Workers are late by a millisecond for each run, so that the times of observation and of
//! delivery differ.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use thalweg::{
    Aims, Chaining, Count, Engine, EngineBuilder, EventTime, Graph, Layout, Parallel, Query, Segment, Step,
    Stepped, Stream, TumblingWindows, VirtualClock,
};
use thalweg_connectors::Discard;
use thalweg_model::{
    Clock, Fault, Output, Polled, ProcessingTime, Record, Source, SourceStatus, Span, StateError,
    StateReader, StateWriter, WatermarkStrategy,
};
use thalweg_runtime::limits::EdgeLimits;
use thalweg_scheduling::policy::fcfs::Fcfs;
use thalweg_scheduling::{
    Completion, Fields, OperatorId, OperatorState, Policy, Quantum, QueryState, Rank, Scale, Snapshot,
    StreamState,
};

const SPACING_MS: u64 = 10;
const WINDOW_MS: i64 = 100;
/// Millisecond at which both processing time and event time start.
const START_MS: u64 = 1_000_000;

fn ms(ms: u64) -> ProcessingTime {
    ProcessingTime::from_nanos((START_MS + ms) * 1_000_000)
}

/// Returns the milliseconds from the start of the test to an instant.
fn ms_of(instant: ProcessingTime) -> u64 {
    instant.as_nanos() / 1_000_000 - START_MS
}

fn event(ms: i64) -> EventTime {
    EventTime::from_micros((START_MS as i64 + ms) * 1_000)
}

/// Source that emits, when it is polled, all records that are due.
struct Dripping {
    next: u64,
    records: u64,
    /// Milliseconds between two records.
    spacing_ms: u64,
    /// Milliseconds by which records are due after full multiples of the spacing.
    offset_ms: u64,
    /// Milliseconds by which the event times of records are ahead of the times at which they are due.
    ahead_ms: i64,
}

impl Dripping {
    /// Creates a source of this many records, which are due at multiples of the spacing, at their event times.
    fn new(records: u64) -> Self {
        Dripping { next: 0, records, spacing_ms: SPACING_MS, offset_ms: 0, ahead_ms: 0 }
    }

    fn due_ms(&self) -> u64 {
        self.next * self.spacing_ms + self.offset_ms
    }
}

impl Source for Dripping {
    type Item = u64;

    fn poll<O: Output<u64>>(
        &mut self,
        now: ProcessingTime,
        max: usize,
        output: &mut O,
    ) -> Result<Polled, Fault> {
        let mut made = 0;
        while self.next < self.records && ms(self.due_ms()) <= now && made < max && output.room() > 0 {
            output.push(Record::new(event(self.due_ms() as i64 + self.ahead_ms), self.next));
            (self.next, made) = (self.next + 1, made + 1);
        }
        let status = match () {
            () if self.next == self.records => SourceStatus::Ended,
            () if now < ms(self.due_ms()) => SourceStatus::IdleUntil(ms(self.due_ms())),
            () => SourceStatus::DueSince(ms(self.due_ms())),
        };
        Ok(Polled { status, latency: None })
    }

    fn spacing_ns(&self) -> Option<u64> {
        Some(self.spacing_ms * 1_000_000)
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

/// Everything that the engine showed to the policy during a run.
#[derive(Clone, Default)]
struct Shown {
    ranked: Vec<(ProcessingTime, OperatorId, OperatorState)>,
    streams: Vec<(ProcessingTime, StreamState)>,
    queries: Vec<QueryState>,
    memory: Vec<(u64, u64)>,
    runs: Vec<Completion>,
}

/// The policy "first come, first served", which notes everything that the engine shows to it. One operator
/// may be held back until a given instant.
struct Spy {
    fcfs: Fcfs,
    held: Option<(OperatorId, ProcessingTime)>,
    shown: Arc<Mutex<Shown>>,
}

impl Policy for Spy {
    fn name(&self) -> &'static str {
        "spy"
    }

    fn reads(&self) -> Fields {
        self.fcfs.reads() | Fields::CONTEXTS | Fields::STREAMS | Fields::MEMORY
    }

    fn scale(&self) -> Scale {
        self.fcfs.scale()
    }

    fn conserves_work(&self) -> bool {
        self.held.is_none()
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        let mut shown = self.shown.lock().unwrap();
        shown.streams.extend(snapshot.streams.iter().map(|stream| (snapshot.now, *stream)));
        shown.queries.extend(snapshot.queries.iter().flatten());
        shown.memory.push((snapshot.memory_used_bytes, snapshot.memory_limit_bytes));
        drop(shown);
        self.fcfs.prepare(snapshot);
    }

    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        if let Some(state) = snapshot.operator(operator).filter(|state| state.can_run()) {
            self.shown.lock().unwrap().ranked.push((snapshot.now, operator, *state));
        }
        let is_held = self.held.is_some_and(|(held, until)| held == operator && snapshot.now < until);
        if is_held { None } else { self.fcfs.rank(snapshot, operator) }
    }

    /// Returns a quantum that takes all waiting records, if the policy has held an operator back.
    fn quantum(&self, snapshot: &Snapshot, operator: OperatorId) -> Quantum {
        match self.held {
            Some(_) => Quantum { records: 1_000 },
            None => self.fcfs.quantum(snapshot, operator),
        }
    }

    fn feedback(&mut self, done: &Completion) {
        self.shown.lock().unwrap().runs.push(*done);
    }
}

/// Runs the query to its end, with one millisecond for each step. Returns everything that its policy was
/// shown.
fn shown(records: u64, aims: Aims) -> Shown {
    shown_of(records, aims, Engine::builder(), None)
}

/// Runs the query on an engine made by the given builder. Returns everything that its policy was shown.
fn shown_of(
    records: u64,
    aims: Aims,
    builder: EngineBuilder,
    held: Option<(OperatorId, ProcessingTime)>,
) -> Shown {
    let query = Query::new("dripping");
    counted(query.source("drops", Dripping::new(records), WatermarkStrategy::ascending()));
    let graph = query.plan(Chaining::None).unwrap().with_aims(aims);
    assert_eq!(
        graph.task_names().count(),
        4,
        "source, map, windows and sink: {:?}",
        graph.task_names().collect::<Vec<_>>()
    );
    let ran = shown_by(graph, builder, held);
    assert_eq!(ran.events_in, records);
    ran.shown
}

/// Continues a stream of records with a map, windows and a sink.
fn counted(drops: Stream<u64, impl Segment<u64>>) {
    let windows = TumblingWindows::new(Span::from_millis(WINDOW_MS)).unwrap();
    drops
        .map(|value| value * 2)
        .key_by(|_| 0u64)
        .tumbling(windows)
        .aggregate(Count)
        .sink("nowhere", Discard::default());
}

/// Runs the query in epochs, as two workers would share it. If `is_held`, the task that closes epochs is held back
/// for 350 ms. Returns what the policy was shown of the tasks, each with the task's name.
fn shown_in_epochs(records: u64, aims: Aims, is_held: bool) -> Vec<(ProcessingTime, String, OperatorState)> {
    let run = |held| {
        // Each split has every second record.
        let split =
            |offset_ms| Dripping { spacing_ms: 2 * SPACING_MS, offset_ms, ..Dripping::new(records / 2) };
        let query = Query::new("dripping");
        counted(query.splits("drops", [split(0), split(SPACING_MS)], WatermarkStrategy::ascending()));
        let layout = Layout { chaining: Chaining::None, parallel: Parallel::Epochs { workers: 2 } };
        let ran = shown_by(query.plan(layout).unwrap().with_aims(aims), Engine::builder(), held);
        assert_eq!(ran.events_in, records);
        ran
    };
    let mut ran = run(None);
    if is_held {
        // Copies have the name of the task that closes their epochs, and a number.
        let closes = |name: &String| ran.names.contains(&format!("{name}#1"));
        let closing = ran.names.iter().position(closes);
        let closing = closing.unwrap_or_else(|| panic!("nothing closes epochs: {:?}", ran.names));
        ran = run(Some((OperatorId(closing as u32), ms(350))));
    }
    let Ran { shown, names, .. } = ran;
    let named = shown.ranked.into_iter();
    named.map(|(now, operator, state)| (now, names[operator.0 as usize].clone(), state)).collect()
}

/// A run of a query: what its policy was shown, the number of records that its sources made, and the names of its
/// tasks.
struct Ran {
    shown: Shown,
    events_in: u64,
    names: Vec<String>,
}

/// Runs a query on an engine made by the given builder, with one millisecond for each step. Returns everything
/// that its policy was shown.
fn shown_by(graph: Graph, builder: EngineBuilder, held: Option<(OperatorId, ProcessingTime)>) -> Ran {
    let clock = Arc::new(VirtualClock::starting_at(ms(0)));
    let shown = Arc::new(Mutex::new(Shown::default()));
    let spy = Spy { fcfs: Fcfs::default(), held, shown: Arc::clone(&shown) };
    let engine_clock: Arc<dyn Clock> = Arc::<VirtualClock>::clone(&clock);
    let builder = builder.workers(1).clock(engine_clock).policy(Box::new(spy));
    let Stepped { engine, mut workers, growth, keeper: _keeper } = builder.build_stepped().unwrap();
    let running = engine.submit(graph).unwrap();
    let names = running.metrics().tasks.into_iter().map(|task| task.task).collect();
    for _ in 0..1_000_000 {
        match workers[0].step(clock.as_ref()) {
            Step::Busy => clock.advance_to(clock.now().plus_nanos(1_000_000)),
            Step::Idle(ProcessingTime::NEVER) if !growth.step() => break,
            Step::Idle(ProcessingTime::NEVER) => {}
            Step::Idle(until) => clock.advance_to(until.max(clock.now())),
        }
    }
    let report = running.wait().unwrap();
    let shown = shown.lock().unwrap().clone();
    Ran { shown, events_in: report.events_in, names }
}

const MAP: OperatorId = OperatorId(1);
const WINDOWS: OperatorId = OperatorId(2);
const SINK: OperatorId = OperatorId(3);

/// The observation time of a record is the time at which its source made it. The map keeps this time,
/// although the map's step begins later.
#[test]
fn records_keep_when_they_were_observed() {
    let shown = shown(30, Aims::default());
    for operator in [MAP, WINDOWS] {
        let ranked = shown.ranked.iter().filter(|(_, ranked, _)| *ranked == operator);
        let seen: Vec<_> = ranked
            .filter(|(_, _, state)| {
                state.pending > 1 || ms_of(state.head.observed).is_multiple_of(SPACING_MS)
            })
            .map(|(now, _, state)| (ms_of(*now), ms_of(state.head.observed), ms_of(state.oldest_pending)))
            .collect();
        assert!(seen.len() >= 30, "{operator:?}: {seen:?}");
        for (now, observed, came) in seen {
            assert!(observed <= came && came <= now, "{operator:?} at {now}: {observed} came at {came}");
            assert!(
                observed % SPACING_MS <= 1,
                "{operator:?}: observed at {observed}, but drops are due each 10 ms"
            );
        }
    }
    let behind = shown.ranked.iter().filter(|(_, ranked, state)| {
        *ranked == WINDOWS && ms_of(state.head.observed) < ms_of(state.oldest_pending)
    });
    assert!(behind.count() >= 30, "what windows read was handed over later than it was observed");
}

/// Cameo, Algorithm 1, line 16: a result inherits the context of the watermark that completes its window. Here
/// this holds to within a block of two records, although the step that fires three windows at once began with
/// the first record of all.
#[test]
fn results_of_windows_have_the_context_of_their_watermark() {
    let edges = EdgeLimits { block_records: 2, marks_max: 128, ..EdgeLimits::default() };
    let builder = Engine::builder().edges(edges);
    let shown = shown_of(30, Aims::default(), builder, Some((WINDOWS, ms(350))));
    let first = shown.ranked.iter().find(|(_, ranked, _)| *ranked == SINK).expect("there are results");
    assert!(ms_of(first.0) >= 350, "windows were held");
    let observed = ms_of(first.2.head.observed);
    assert!((80..=102).contains(&observed), "the first window is over at 100: {observed}");
}

/// The frontier shown for an operator with windows is the next end of a window after the last watermark. A
/// map emits at once and has no frontier.
#[test]
fn only_windows_have_a_frontier() {
    let shown = shown(30, Aims::default());
    assert!(shown.ranked.iter().all(|(_, ranked, state)| *ranked == WINDOWS || state.frontier.is_none()));
    let frontiers = shown.ranked.iter().filter(|(_, ranked, _)| *ranked == WINDOWS);
    let mut frontiers: Vec<_> = frontiers.map(|(_, _, state)| state.frontier).collect();
    frontiers.dedup();
    let ends = [100, 200, 300].map(|end| Some(event(end)));
    assert_eq!(frontiers, [[None].as_slice(), &ends].concat());
}

/// An input that is ahead of another waits for a later window end. The frontier is that of the input whose
/// record waits first, so the operator is not urgent because of a block that completes no window soon.
#[test]
fn the_frontier_is_that_of_the_waiting_input() {
    let query = Query::new("two inputs");
    let ahead = Dripping { offset_ms: 5, ahead_ms: 500, ..Dripping::new(30) };
    let ahead = query.source("ahead", ahead, WatermarkStrategy::ascending());
    query
        .source("drops", Dripping::new(30), WatermarkStrategy::ascending())
        .union(ahead)
        .key_by(|_| 0u64)
        .tumbling(TumblingWindows::new(Span::from_millis(WINDOW_MS)).unwrap())
        .aggregate(Count)
        .sink("nowhere", Discard::default());
    let Ran { shown, .. } = shown_by(query.plan(Chaining::None).unwrap(), Engine::builder(), None);
    // A frontier before the end of the sources, with the time at which its record was observed.
    let frontiers = shown.ranked.iter().filter_map(|(now, _, state)| {
        let is_early = (50..250).contains(&ms_of(*now));
        state.frontier.filter(|_| is_early).map(|frontier| (ms_of(state.head.observed), frontier))
    });
    let (mut own, mut of_ahead) = (0, 0);
    for (observed, frontier) in frontiers {
        let next = (observed as i64 / WINDOW_MS + 1) * WINDOW_MS;
        // The step that makes a record begins at most a few milliseconds after the record is due.
        if observed % SPACING_MS < 5 {
            own += 1;
            assert!(frontier <= event(next), "observed at {observed}: {frontier:?}");
        } else {
            of_ahead += 1;
            assert!(frontier >= event(600), "observed at {observed}: {frontier:?}");
        }
    }
    assert!(own >= 10 && of_ahead >= 10, "{own} and {of_ahead}");
}

/// Records stamped 100 ms and 200 ms make watermarks that close windows, as soon as they are due, so their
/// delay is zero. Such a watermark counts as under way until the sink has it.
#[test]
fn streams_show_sweeping_watermarks_and_their_delays() {
    let shown = shown(30, Aims::default());
    let over = shown.streams.last().expect("there were rounds").1;
    assert_eq!((over.is_away, over.deadline, over.swept), (true, None, None));
    let mut open = shown.streams.iter().rev().map(|(_, stream)| stream).filter(|stream| !stream.is_away);
    let last = open.next().expect("it was not over at once");
    assert_eq!((last.deadline, last.delays.epochs, last.swept), (Some(event(300)), 2, None));
    // The step that makes such a record begins at most one millisecond after the step was chosen.
    assert!((0.0..=2e6).contains(&last.delays.mean_ns), "{last:?}");
    let map = last.progress.expect("there were watermarks");
    let predicted = ms_of(map.observed_at(event(300)));
    assert!((300..=303).contains(&predicted), "{predicted}");
    let mut swept: Vec<u64> =
        shown.streams.iter().filter_map(|(_, stream)| stream.swept).map(ms_of).collect();
    swept.dedup();
    assert!(matches!(swept[..], [100..=102, 200..=202]), "{swept:?}");
}

#[test]
fn aims_and_memory_are_shown() {
    let aims = Aims { latency_target: Some(Duration::from_millis(800)), tokens_per_s: Some(20) };
    let shown = shown(5, aims);
    assert!(!shown.queries.is_empty());
    assert!(shown.queries.iter().all(|query| query.latency_target_ns == Some(800_000_000)));
    assert!(shown.queries.iter().all(|query| query.token_rate == Some(20.0)));
    // An edge has at least a chunk of 24 KiB, which is almost empty while its writer lives. After that,
    // chunks count in full.
    let memory = &shown.memory;
    assert!(memory.iter().all(|&(used, limit)| used < limit), "{memory:?}");
    assert!(memory[1..10].iter().all(|&(used, _)| 0 < used && used < 24 << 10), "{memory:?}");
}

/// Tags with tokens travel with records. There are 20 tokens a second for 100 records a second, so the tags
/// are 50 ms apart. After a fifth of each second the tokens are used up.
#[test]
fn tokens_travel_with_records() {
    let aims = Aims { tokens_per_s: Some(20), ..Aims::default() };
    let shown = shown(100, aims);
    let ranked = shown.ranked.iter().filter(|(_, ranked, state)| *ranked == WINDOWS && state.pending > 1);
    let mut tokens: Vec<Option<u64>> = ranked.map(|(_, _, state)| state.head.token.map(ms_of)).collect();
    tokens.dedup();
    let tagged: Vec<u64> = tokens.iter().flatten().copied().collect();
    assert!(tagged.windows(2).all(|pair| pair[1] - pair[0] == 50), "{tokens:?}");
    assert_eq!((tagged.first(), tagged.last()), (Some(&0), Some(&950)), "{tokens:?}");
    assert_eq!(tokens.last(), Some(&None));
}

/// The engine tells a policy of each completed run: the worker, the times, and the watermark.
#[test]
fn completions_tell_worker_and_watermark() {
    let shown = shown(30, Aims::default());
    assert!(shown.runs.iter().all(|run| run.worker == 0 && run.started <= run.ended));
    let of_windows = shown.runs.iter().filter(|run| run.operator == WINDOWS);
    let watermarks: Vec<_> = of_windows.filter_map(|run| run.watermark).collect();
    assert!(watermarks.is_sorted());
    assert!(watermarks.contains(&event(200)), "{watermarks:?}");
}

/// Blocks in containers keep the context that their source gave them, although they lie there for a while.
#[test]
fn blocks_in_containers_keep_their_context() {
    let shown = shown_in_epochs(30, Aims::default(), false);
    let (mut count, mut waited) = (0, 0);
    for (now, name, state) in shown.iter().filter(|(_, name, state)| name.contains('#') && !state.is_source) {
        let (now, observed, came) = (ms_of(*now), ms_of(state.head.observed), ms_of(state.oldest_pending));
        if now >= 290 {
            // The last record is made then, and copies run once more when the stream is over.
            break;
        }
        count += 1;
        waited += u64::from(observed < came);
        assert!(observed <= came && came <= now, "{name} at {now}: {observed} came at {came}");
        assert!(observed % SPACING_MS <= 1, "{name}: observed at {observed}, but drops are due each 10 ms");
    }
    assert!(count >= 30 && waited >= 10, "{waited} of {count}");
}

/// Tags of tokens travel through containers, as through edges.
#[test]
fn tokens_pass_through_containers() {
    let aims = Aims { tokens_per_s: Some(20), ..Aims::default() };
    let shown = shown_in_epochs(100, aims, false);
    let of_copies = shown.iter().filter(|(_, name, state)| name.contains('#') && !state.is_source);
    let tags: BTreeSet<u64> = of_copies.filter_map(|(_, _, state)| state.head.token.map(ms_of)).collect();
    // The splits share the tokens of a second.
    assert!(tags.len() >= 10 && tags.iter().all(|tag| tag % 50 == 0 && *tag < 1_000), "{tags:?}");
}

/// A result of an epoch has the context of the epoch's last block, although the epoch is closed much later and
/// together with others. The last block has the record of 110 ms, with which both splits have passed the end of
/// the first window.
#[test]
fn results_of_epochs_have_the_context_of_their_last_block() {
    let shown = shown_in_epochs(30, Aims::default(), true);
    let first = shown.iter().find(|(_, name, _)| name == "nowhere");
    let (now, _, state) = first.unwrap_or_else(|| panic!("no results: {shown:?}"));
    assert!(ms_of(*now) >= 350, "epochs were held");
    let observed = ms_of(state.head.observed);
    assert!((100..=112).contains(&observed), "the first epoch is over at 110: {observed}");
}
