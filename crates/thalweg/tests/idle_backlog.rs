//! Sources that fall silent while their records are not processed yet, and blocks that wait for a worker which does
//! not come. The engines are stepped by hand, under a policy that runs sources first and then the operators nearest
//! to a sink.
//!
//! A union ignores a silent stream from the point behind all records that it had made before. So windows behind the
//! union emit their results on time, whatever the layout and the number of workers.
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use thalweg::scheduling::{Fields, OperatorId, Policy, Rank, Scale, Snapshot};
use thalweg::{
    Chaining, Clock, Count, EdgeLimits, Engine, EventTime, Fault, Graph, Layout, Output, Parallel, Polled,
    ProcessingTime, Query, QueryHandle, QueryReport, QueryState, Record, Segment, Source, SourceStatus, Span,
    StateError, StateReader, StateWriter, Step, Stepped, Stream, TumblingWindows, VirtualClock,
    WatermarkStrategy,
};
use thalweg_connectors::Collect;

/// How long a source is silent before the merged watermark ignores it, and how far the clock moves with each
/// step. The step is longer, so a source whose pause has begun is ignored at its next poll, before anything
/// else has run.
const PATIENCE_NS: u64 = 50_000_000;
const STEP_NS: u64 = 60_000_000;

/// Length of a pause that is far longer than processing all records made before it.
const PAUSE_NS: u64 = 1 << 50;

/// Number of steps after which a query counts as stuck.
const STEPS_MAX: usize = 100_000;

/// Upper bound on the number of results of each query in these tests.
const RESULTS_MAX: usize = 200;

/// The records that a query has collected.
type Rows = Arc<Mutex<Vec<Record<i64>>>>;

/// Edges with small blocks, so that a stream fills many blocks.
const EDGES: EdgeLimits = EdgeLimits { block_records: 2, chunk_blocks: 1, chunks_max: 512, marks_max: 64 };

/// Policy that runs sources first, then the operators nearest to a sink.
struct BacklogLast;

impl Policy for BacklogLast {
    fn name(&self) -> &'static str {
        "backlog-last"
    }

    fn reads(&self) -> Fields {
        Fields::default()
    }

    fn scale(&self) -> Scale {
        Scale::Ordinal
    }

    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        let state = snapshot.operators[operator.0 as usize].as_ref()?;
        let place = snapshot.order.iter().position(|&other| other == operator).unwrap_or(0);
        Some(Rank { class: u8::from(!state.is_source), score: place as f64, tie: operator.0 })
    }
}

/// Creates a stepped engine of `workers` workers, and the clock that drives it.
fn engine(workers: u64) -> (Stepped, Arc<VirtualClock>) {
    let clock = Arc::new(VirtualClock::starting_at(ProcessingTime::from_nanos(1_000_000_000)));
    let engine_clock: Arc<dyn Clock> = Arc::<VirtualClock>::clone(&clock);
    let builder = Engine::builder().workers(workers).edges(EDGES).clock(engine_clock);
    (builder.policy(Box::new(BacklogLast)).build_stepped().expect("settings lie in their range"), clock)
}

/// Rule that chooses which of `workers` workers makes the next step.
type Turns = fn(step: usize, workers: usize) -> usize;

/// Steps the workers until the query has ended. When every worker is idle, the clock moves to the next due
/// time.
fn finish(
    (mut stepped, clock): (Stepped, Arc<VirtualClock>),
    query: QueryHandle,
    turns: Turns,
) -> QueryReport {
    let workers = stepped.workers.len();
    let mut idle = vec![None; workers];
    for step in 0..STEPS_MAX {
        if query.state() != QueryState::Running {
            return query.wait().expect("nothing goes wrong");
        }
        if stepped.growth.step() {
            idle.fill(None);
        }
        clock.advance_to(clock.now().plus_nanos(STEP_NS));
        if let Some(due) = idle.iter().copied().min().flatten() {
            clock.advance_to(clock.now().max(due));
            idle.fill(None);
        }
        // Workers that have reported that they are idle are not stepped.
        let first = turns(step, workers);
        let awake =
            (0..workers).map(|place| (first + place) % workers).find(|&worker| idle[worker].is_none());
        let worker = awake.expect("the clock has woken all");
        match stepped.workers[worker].step(clock.as_ref()) {
            Step::Busy => idle.fill(None),
            Step::Idle(until) => idle[worker] = Some(until),
        }
    }
    panic!("the query has not ended after {STEPS_MAX} steps: {:?}", query.progress());
}

/// One instruction of the script that a source follows.
#[derive(Clone, Copy)]
enum Beat {
    /// The source makes a record stamped with this second.
    Second(i64),
    /// The source makes no record for this number of nanoseconds.
    Pause(u64),
}

/// Source that follows a script: it makes records stamped in seconds, with pauses between them.
#[derive(Clone)]
struct Script {
    beats: VecDeque<Beat>,
    /// Time at which the current pause ends.
    resume_at: Option<ProcessingTime>,
}

fn script(seconds: impl IntoIterator<Item = i64>) -> Script {
    Script { beats: seconds.into_iter().map(Beat::Second).collect(), resume_at: None }
}

impl Script {
    fn then_pause(mut self, pause_ns: u64) -> Self {
        self.beats.push_back(Beat::Pause(pause_ns));
        self
    }

    fn then_records(mut self, seconds: impl IntoIterator<Item = i64>) -> Self {
        self.beats.extend(seconds.into_iter().map(Beat::Second));
        self
    }
}

impl Source for Script {
    type Item = i64;

    fn poll<O: Output<i64>>(
        &mut self,
        now: ProcessingTime,
        limit: usize,
        output: &mut O,
    ) -> Result<Polled, Fault> {
        for _ in 0..limit {
            if output.room() == 0 {
                break;
            }
            match self.beats.front().copied() {
                None => return Ok(Polled::new(SourceStatus::Ended)),
                Some(Beat::Second(second)) => {
                    output.push(Record::new(EventTime::from_secs(second), second));
                }
                Some(Beat::Pause(pause_ns)) => {
                    let resume_at = *self.resume_at.get_or_insert(now.plus_nanos(pause_ns));
                    if now < resume_at {
                        return Ok(Polled::new(SourceStatus::IdleUntil(resume_at)));
                    }
                    self.resume_at = None;
                }
            }
            self.beats.pop_front();
        }
        Ok(Polled::new(SourceStatus::Ready))
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

fn tumbling() -> TumblingWindows {
    TumblingWindows::new(Span::from_secs(10)).expect("ten seconds are a span")
}

/// Creates a query: splits that may fall silent go through `stages` stateless tasks into windows. The results
/// are united with another stream, and windows over both follow.
fn united(splits: Vec<Script>, other: Script, stages: usize, layout: Layout) -> (Graph, Rows) {
    let query = Query::new("united");
    let strategy = WatermarkStrategy::ascending();
    let patient = strategy.with_idle_after(Duration::from_nanos(PATIENCE_NS));
    let left = query.splits("left", splits, patient);
    let right = query.source("right", other, WatermarkStrategy::ascending());
    let sink = Collect::new(RESULTS_MAX);
    let rows = sink.records();
    fn counted<C: Segment<i64>>(
        left: Stream<i64, C>,
        right: Stream<i64, impl Segment<i64>>,
        sink: Collect<i64>,
    ) {
        let counts = left.key_by(|_| ()).tumbling(tumbling()).aggregate(Count);
        let counts = counts.map(|counted| counted.value as i64).boxed();
        let both = counts.union(right.map(|second| second).boxed());
        let windows = both.key_by(|_| ()).tumbling(tumbling()).aggregate(Count);
        windows
            .map(|counted| counted.window.start.as_micros() / 1_000_000 * 100 + counted.value as i64)
            .sink("sink", sink);
    }
    match stages {
        0 => counted(left, right, sink),
        1 => counted(left.map(|second| second).isolate(), right, sink),
        _ => counted(left.map(|second| second).isolate().map(|second| second).isolate(), right, sink),
    }
    (query.plan(layout).expect("the stream ends in a sink"), rows)
}

/// Runs the query of [`united`]. Returns the results of the windows over both streams, each as the start in
/// seconds times 100 plus the count, and the number of late records. Asserts that splits fell silent at least
/// `silences` times.
fn outcome(
    (splits, other): (&[Script], &Script),
    silences: u64,
    stages: usize,
    layout: Layout,
    workers: u64,
    turns: Turns,
) -> (Vec<i64>, u64) {
    let (graph, rows) = united(splits.to_vec(), other.clone(), stages, layout);
    let engine = engine(workers);
    let query = engine.0.engine.submit(graph).expect("the budget is ample");
    let report = finish(engine, query, turns);
    assert_eq!(report.conservation_error(), None);
    assert!(report.idled >= silences, "splits fall silent {} times", report.idled);
    let rows = rows.lock().expect("nobody has panicked with the rows in hand");
    let mut rows: Vec<i64> = rows.iter().map(|record| record.value).collect();
    rows.sort_unstable();
    (rows, report.total(|counts| counts.late))
}

/// Checks that the results are the same under every layout, with several numbers of workers and orders of
/// stepping them.
fn check(splits: &[Script], other: &Script, silences: u64, expected: &[i64], late: u64) {
    let turns: [Turns; 3] =
        [|_, _| 0, |step, workers| step % workers, |step, workers| workers - 1 - step % workers];
    for stages in 0..3 {
        for chaining in [Chaining::None, Chaining::Default] {
            let parallel = [1, 2, 3].map(|workers| Parallel::Epochs { workers });
            for parallel in parallel.into_iter().chain([Parallel::Serial]) {
                for workers in 1..=3 {
                    for turns in turns {
                        let layout = Layout { chaining, parallel };
                        let found = outcome((splits, other), silences, stages, layout, workers, turns);
                        assert_eq!(
                            found,
                            (expected.to_vec(), late),
                            "{stages} stages, {layout:?}, {workers} workers"
                        );
                    }
                }
            }
        }
    }
}

/// One split with records of 41 seconds falls silent before its last window is over, while the other stream
/// is far ahead. All results of the first four windows are on time; the result of the last window is late, in
/// every layout.
#[test]
fn a_split_that_falls_silent_is_left_out_behind_what_it_made() {
    let splits = [script(0..=40).then_pause(PAUSE_NS)];
    let expected = [11, 1_011, 2_011, 3_011, 4_010, 5_010, 6_010, 7_010, 8_010, 9_010];
    check(&splits, &script(0..100).then_pause(PAUSE_NS), 1, &expected, 1);
}

/// One of two splits is a little ahead of the other. When both have fallen silent, the watermark of the one
/// that is farther ahead counts.
#[test]
fn splits_that_fall_silent_are_left_out_behind_what_they_made() {
    let of = |parity| script((0..=40).filter(move |second| second % 2 == parity)).then_pause(PAUSE_NS);
    let expected = [11, 1_011, 2_011, 3_011, 4_010, 5_010, 6_010, 7_010, 8_010, 9_010];
    check(&[of(0), of(1)], &script(0..100).then_pause(PAUSE_NS), 2, &expected, 1);
}

/// A split that never makes a record delays nothing once it is ignored, and the records of the other split
/// are on time.
#[test]
fn a_split_that_never_speaks_is_left_out() {
    let splits = [script(0..=40).then_pause(PAUSE_NS), script([]).then_pause(PAUSE_NS)];
    let expected = [11, 1_011, 2_011, 3_011, 4_010, 5_010, 6_010, 7_010, 8_010, 9_010];
    check(&splits, &script(0..100).then_pause(PAUSE_NS), 2, &expected, 1);
}

/// Nothing is late if the silence of a split is over before any operator has processed it, and the other
/// stream begins only afterwards.
#[test]
fn a_silence_that_is_over_makes_nothing_late() {
    let splits = [script(0..=40).then_pause(3 * STEP_NS).then_records(41..=80).then_pause(PAUSE_NS)];
    let other = script([]).then_pause(PAUSE_NS / 2).then_records(0..80).then_pause(PAUSE_NS);
    let expected: Vec<i64> = (0..8).map(|window| window * 1_000 + 11).collect();
    // The record at 80 seconds falls into a window of its own, which closes at the end of the stream.
    check(&splits, &other, 1, &[&expected[..], &[8_001]].concat(), 0);
}

/// A split makes records for more windows than there may be open epochs, and falls silent before any copy of
/// the operator has processed one. All its records are on time.
#[test]
fn a_split_that_falls_silent_far_ahead_is_left_out_behind_what_it_made() {
    let split = script((0..100).map(|window| window * 10 + 1)).then_pause(PAUSE_NS);
    let expected: Vec<i64> = (0..100).map(|window| window * 1_000 + 11).collect();
    check(&[split], &script(0..1_000).then_pause(PAUSE_NS), 1, &expected, 0);
}

/// A split makes records again before its silence was processed: none of its later records is late.
#[test]
fn a_split_that_is_silent_far_ahead_speaks_again() {
    let windows = |range: std::ops::Range<i64>| range.map(|window| window * 10 + 1);
    let split = script(windows(0..80)).then_pause(3 * STEP_NS).then_records(windows(80..160));
    let split = split.then_pause(3 * STEP_NS).then_records([1_601]).then_pause(PAUSE_NS);
    let other = script([]).then_pause(PAUSE_NS / 2).then_records((0..160).map(|window| window * 10));
    let expected: Vec<i64> = (0..160).map(|window| window * 1_000 + 2).collect();
    check(&[split], &other.then_pause(PAUSE_NS), 1, &[&expected[..], &[160_001]].concat(), 0);
}

/// One split is silent while the other ends. The end closes no window of the silent split, whose later
/// records are on time.
#[test]
fn a_split_that_ends_does_not_end_one_that_is_silent() {
    let ending = script(0..=12).then_pause(PAUSE_NS / 4);
    let splits = [script(0..=14).then_pause(PAUSE_NS / 2).then_records(15..=39), ending];
    let other = script([]).then_pause(PAUSE_NS).then_records(0..40);
    check(&splits, &other, 2, &[11, 1_011, 2_011, 3_011], 0);
}

/// Any worker may take a block that a busy worker has left waiting for a while, so an idle worker is notified
/// then.
#[test]
fn a_block_that_has_waited_is_due() {
    let (mut stepped, clock) = engine(2);
    let query = Query::new("left lying");
    let sink = Collect::new(RESULTS_MAX);
    let readings = query.source("source", script(0..40).then_pause(PAUSE_NS), WatermarkStrategy::ascending());
    let windows = TumblingWindows::new(Span::from_secs(1_000)).expect("a thousand seconds are a span");
    readings.key_by(|_| ()).tumbling(windows).aggregate(Count).sink("sink", sink);
    let layout = Layout { chaining: Chaining::Default, parallel: Parallel::Epochs { workers: 2 } };
    let graph = query.plan(layout).expect("the stream ends in a sink");
    let handle = stepped.engine.submit(graph).expect("the budget is ample");
    let deposited_at = clock.now();
    // The first worker makes all records, starts an instance of the window that processes some of them, and
    // is then held up.
    for _ in 0..STEPS_MAX {
        if handle.progress().events_in == 40 {
            break;
        }
        while stepped.growth.step() {}
        assert_eq!(stepped.workers[0].step(clock.as_ref()), Step::Busy);
    }
    assert_eq!(stepped.workers[0].step(clock.as_ref()), Step::Busy);
    assert!(handle.progress().pending > 0, "there is something left");
    let Step::Idle(until) = stepped.workers[1].step(clock.as_ref()) else {
        panic!("what was just deposited is left to the worker that did so")
    };
    assert_eq!(until.nanos_since(deposited_at), 1_000_000);
    clock.advance_to(until);
    let pending = handle.progress().pending;
    assert_eq!(stepped.workers[1].step(clock.as_ref()), Step::Busy);
    let _then = stepped.workers[1].step(clock.as_ref());
    assert!(handle.progress().pending < pending, "the other worker has taken some of it");
    handle.stop();
    assert_eq!(finish((stepped, clock), handle, |step, workers| step % workers).events_in, 40);
}
