//! Failures outside the queries. If a policy or a clock panics, on any thread, or a worker is lost in any way,
//! every query ends with an error: none hangs, and none reports success. Odd behaviour of one query or its
//! handle harms no other query. Examples are a source with a spacing of zero, a cancel of a query that has
//! ended, and an operator that takes no record.
//!
//! Where a thread matters, the tests use the released engine with threads. A test may fail by its watchdog.
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use thalweg::source::Given;
use thalweg::{
    Chaining, Clock, Counts, EdgeLimits, Engine, EngineBuilder, EventTime, Fault, Generate, Graph, Input,
    Operator, Output, PlanError, Polled, ProcessingTime, Query, QueryError, QueryHandle, QueryState, Record,
    Sink, Source, StateError, StateReader, StateWriter, Step, Stepped, SystemClock, TaskState, VirtualClock,
    WatermarkStrategy,
};
use thalweg_connectors::{Discard, Pace, Paced};
use thalweg_memory::sync::{AtomicBool, Ordering};
use thalweg_scheduling::policy::fcfs::Fcfs;
use thalweg_scheduling::{Completion, Fields, OperatorId, Policy, Quantum, Rank, Refresh, Scale, Snapshot};
use thalweg_testkit::gather::{Expects, Gather};
use thalweg_testkit::sabotage::{INJECTED, quiet_injected_panics};
use thalweg_testkit::script::Script;
use thalweg_testkit::watchdog::within_bounds;

const CHAINING: [Chaining; 3] = [Chaining::None, Chaining::Default, Chaining::All];

/// Number of engines whose ended queries are cancelled, of rounds in each engine, and of cancels in a round.
/// They take half a second. If a cancel took another query's task by mistake, this is certain to show at
/// least once.
const STALE_CANCELS: (usize, usize, usize) = (4, 250, 1_000);

/// Number of engines that close while their workers put tasks back. They take a second.
const CLOSED_ENGINES: usize = 1_000;

/// Time after which the edges of a query have grown to their limit. They need some milliseconds.
const GROWN_AFTER: Duration = Duration::from_secs(1);

/// Calls of the engine to a policy or a clock, which do not belong to a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Call {
    Prepare,
    Rank,
    Quantum,
    Feedback,
    Now,
}

/// Kinds of threads on which the engine calls a policy or a clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Worker,
    Memory,
    /// A thread of the test that submits a query, or uses a query's handle.
    Caller,
}

impl Side {
    fn is_here() -> Self {
        match thread::current().name() {
            Some("thalweg-memory") => Side::Memory,
            Some(name) if name.starts_with("thalweg-worker") => Side::Worker,
            _ => Side::Caller,
        }
    }
}

/// The policy "first come, first served", which calls `on` at each of its calls.
struct Watched<F> {
    policy: Fcfs,
    on: F,
}

impl<F: Fn(Call) + Send> Policy for Watched<F> {
    fn name(&self) -> &'static str {
        "watched"
    }

    fn reads(&self) -> Fields {
        self.policy.reads()
    }

    fn refresh(&self) -> Refresh {
        self.policy.refresh()
    }

    fn scale(&self) -> Scale {
        self.policy.scale()
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        (self.on)(Call::Prepare);
        self.policy.prepare(snapshot);
    }

    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        (self.on)(Call::Rank);
        self.policy.rank(snapshot, operator)
    }

    fn quantum(&self, snapshot: &Snapshot, operator: OperatorId) -> Quantum {
        (self.on)(Call::Quantum);
        self.policy.quantum(snapshot, operator)
    }

    fn feedback(&mut self, done: &Completion) {
        (self.on)(Call::Feedback);
        self.policy.feedback(done);
    }
}

/// A bomb: while it is armed, each call of one kind, on threads of one kind, panics.
struct Bomb {
    call: Call,
    /// Kind of threads on which calls panic; `None` for all threads.
    side: Option<Side>,
    /// Tells whether calls panic now. Both flags use relaxed ordering, because they protect no other data.
    is_armed: AtomicBool,
    has_struck: AtomicBool,
}

impl Bomb {
    fn new(call: Call, side: impl Into<Option<Side>>) -> Arc<Self> {
        quiet_injected_panics();
        let (is_armed, has_struck) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Bomb { call, side: side.into(), is_armed, has_struck })
    }

    fn arm(&self, is_armed: bool) {
        self.is_armed.store(is_armed, Ordering::Relaxed);
    }

    fn has_struck(&self) -> bool {
        self.has_struck.load(Ordering::Relaxed)
    }

    fn visit(&self, call: Call) {
        let is_there = self.side.is_none_or(|side| side == Side::is_here());
        if is_there && call == self.call && self.is_armed.load(Ordering::Relaxed) {
            self.has_struck.store(true, Ordering::Relaxed);
            panic!("{INJECTED} {call:?} breaks on a {:?} thread", Side::is_here());
        }
    }

    /// Returns a builder of an engine whose policy and clock panic by this bomb.
    fn builder(self: &Arc<Self>) -> EngineBuilder {
        let bomb = Arc::clone(self);
        let policy = Watched { policy: Fcfs::default(), on: move |call| bomb.visit(call) };
        let clock = Ticking { clock: SystemClock::default(), bomb: Arc::clone(self) };
        Engine::builder().policy(Box::new(policy)).clock(Arc::new(clock))
    }
}

/// The system's clock, which panics when the bomb says so.
struct Ticking {
    clock: SystemClock,
    bomb: Arc<Bomb>,
}

impl Clock for Ticking {
    fn now(&self) -> ProcessingTime {
        self.bomb.visit(Call::Now);
        self.clock.now()
    }
}

/// Generator of the numbers 0, 1, 2 and so on.
struct Indices;

impl Generate for Indices {
    type Item = i64;

    fn value(&self, index: u64, _event_time: EventTime) -> i64 {
        index.cast_signed()
    }

    fn cache_bytes(&self) -> usize {
        0
    }
}

/// Creates an endless source that is as fast as its reader, so a query that reads it never finishes by
/// itself.
fn endless() -> Paced<Indices> {
    let pace = Pace::Drain { nominal_rate_per_s: 1_000_000, start: EventTime::EPOCH };
    Paced::new(Arc::new(Indices), pace).expect("the rate lies in its range")
}

fn records(values: std::ops::Range<i64>) -> Vec<Record<i64>> {
    values.map(|value| Record::new(EventTime::from_micros(value), value)).collect()
}

/// Creates a query of a source, a map and a sink.
fn graph<S: Source<Item = i64> + 'static, K: Sink<i64> + 'static>(
    source: S,
    sink: K,
    chaining: Chaining,
) -> Graph {
    let query = Query::new("query");
    query.source("source", source, WatermarkStrategy::ascending()).map(|value| value).sink("sink", sink);
    query.plan(chaining).expect("the stream ends in a sink")
}

fn submit_endless(engine: &Engine, chaining: Chaining) -> QueryHandle {
    engine.submit(graph(endless(), Discard::new(), chaining)).expect("the budget is ample")
}

/// Spins until a condition holds. The threads of the engine must be certain to make the condition true.
fn spin_until(mut is_there: impl FnMut() -> bool) {
    while !is_there() {
        thread::yield_now();
    }
}

fn wait_for_more(query: &QueryHandle) {
    let before = query.progress().events_in;
    spin_until(|| query.progress().events_in > before);
}

/// Returns the handle of a query that has finished. Another query may then use its slot in the engine.
fn finished(engine: &Engine) -> QueryHandle {
    let query =
        engine.submit(graph(Given::new(records(0..1)), Discard::new(), Chaining::All)).expect("it fits");
    spin_until(|| query.state() == QueryState::Finished);
    query
}

/// Checks that a broken engine accepts no more queries.
fn check_closed(engine: &Engine, bomb: &Bomb) {
    bomb.arm(false);
    // A query may end a moment before its engine is closed, so submitting is tried until the engine refuses.
    let refusal = |graph: Graph| engine.submit(graph).err();
    spin_until(|| refusal(graph(endless(), Discard::new(), Chaining::All)) == Some(PlanError::EngineClosed));
}

/// If a worker dies while it holds a task, even the last task of a query, the query does not count as
/// finished, whatever has killed the worker. The task is lost with the worker.
#[test]
fn a_worker_that_dies_is_no_success() {
    for call in [Call::Feedback, Call::Quantum, Call::Rank, Call::Prepare, Call::Now] {
        for chaining in CHAINING {
            for workers in [1, 2] {
                within_bounds(&format!("a worker that dies of {call:?}"), move || {
                    let bomb = Bomb::new(call, Side::Worker);
                    let engine = bomb.builder().workers(workers).build().unwrap();
                    let query = submit_endless(&engine, chaining);
                    wait_for_more(&query);
                    bomb.arm(true);
                    let outcome = query.wait().map(|report| report.events_in).map_err(|error| error.code());
                    assert_eq!(outcome, Err("WORKER_DIED"), "{call:?}, {chaining:?}, {workers} workers");
                    check_closed(&engine, &bomb);
                });
            }
        }
    }
}

/// If a worker is dropped between two steps while it holds the only task of a query, the query fails.
#[test]
fn a_worker_that_is_dropped_is_no_success() {
    within_bounds("a query whose worker was dropped", || {
        let Stepped { engine, mut workers, growth: _growth, keeper: _keeper } =
            Engine::builder().run_bytes(1).build_stepped().unwrap();
        let sink = Gather::new(Expects::Anything, &Arc::default());
        let seen = sink.gathered();
        let query = engine.submit(graph(Given::new(records(0..1_000)), sink, Chaining::All)).unwrap();
        assert_eq!(workers[0].step(&VirtualClock::default()), Step::Busy);
        drop(workers);
        let outcome = query.wait().map(|report| report.events_in);
        assert!(outcome.is_err(), "{outcome:?} of 1000 records, and success");
        assert!(!seen.is_published());
    });
}

/// A sink that takes no record until the bomb has struck or is disarmed, so that all edges before it become full and grow.
struct Waits(Arc<Bomb>);

impl Sink<i64> for Waits {
    fn write(&mut self, _: Record<i64>) -> Result<(), Fault> {
        spin_until(|| self.0.has_struck() || !self.0.is_armed.load(Ordering::Relaxed));
        Ok(())
    }
}

/// The thread that allocates memory for edges notifies writers that they have room, and ranks them. If this
/// thread panics, no writer waits for room forever.
#[test]
fn a_panic_on_the_memory_thread_hangs_nobody() {
    for call in [Call::Rank, Call::Now] {
        // A writer that a worker holds or that is ready is not ranked by the memory thread. If that is so whenever the edges
        // grow, the bomb does not strike, and the test tries again.
        within_bounds(&format!("a query whose edge grows while {call:?} breaks"), move || {
            spin_until(|| has_struck_while_edges_grow(call));
        });
    }
}

/// Runs a query whose edges grow, and checks that it ends if the bomb strikes. Returns false if the bomb has not struck
/// within [`GROWN_AFTER`].
fn has_struck_while_edges_grow(call: Call) -> bool {
    let bomb = Bomb::new(call, Side::Memory);
    let edges = EdgeLimits { block_records: 16, chunk_blocks: 1, chunks_max: 64, ..EdgeLimits::default() };
    let engine = bomb.builder().workers(2).edges(edges).build().unwrap();
    bomb.arm(true);
    let graph = graph(endless(), Waits(Arc::clone(&bomb)), Chaining::None);
    let query = engine.submit(graph).unwrap();
    let started = Instant::now();
    spin_until(|| bomb.has_struck() || started.elapsed() > GROWN_AFTER);
    if !bomb.has_struck() {
        query.cancel();
        bomb.arm(false);
    }
    assert!(query.wait().is_err(), "it is endless");
    if bomb.has_struck() {
        check_closed(&engine, &bomb);
    }
    bomb.has_struck()
}

/// Checks a policy that panics on a thread of the test, when `act` makes that thread rank a task. `act` may
/// unwind or return, with a query or without. If the panic has occurred, the engine is broken, and every
/// query ends at once. If not, the queries run until the engine is dropped.
fn check_on_callers_thread(
    what: &'static str,
    act: impl Fn(&Engine, &[QueryHandle], &Bomb) -> Option<QueryHandle> + Send + 'static,
) {
    within_bounds(what, move || {
        let bomb = Bomb::new(Call::Rank, Side::Caller);
        let engine = bomb.builder().build().unwrap();
        // The second query uses the slot in the engine that the finished query has left.
        let mut queries = vec![finished(&engine)];
        queries.extend(CHAINING.map(|chaining| submit_endless(&engine, chaining)));
        queries[1..].iter().for_each(wait_for_more);
        bomb.arm(true);
        let acted = catch_unwind(AssertUnwindSafe(|| act(&engine, &queries, &bomb)));
        queries.extend(acted.ok().flatten());
        let mut queries = queries.into_iter();
        let before = queries.next().map(QueryHandle::wait);
        assert!(matches!(before, Some(Ok(_))), "{what}: it had finished before");
        let check_failed = |query: QueryHandle| {
            let outcome = query.wait().map(|report| report.events_in);
            assert!(outcome.is_err(), "{what}: an endless query has finished: {outcome:?}");
        };
        if bomb.has_struck() {
            queries.for_each(check_failed);
            check_closed(&engine, &bomb);
        } else {
            drop(engine);
            queries.for_each(check_failed);
        }
    });
}

#[test]
fn a_panic_in_resume_hangs_nobody() {
    check_on_callers_thread("resume", |_, queries, bomb| {
        // A task that a worker holds at that moment is ranked by this worker, not by the test's thread. So
        // the test tries again until its own thread has ranked.
        spin_until(|| {
            let _panicked = catch_unwind(AssertUnwindSafe(|| {
                queries[1].pause();
                queries[1].resume();
            }));
            bomb.has_struck()
        });
        None
    });
}

#[test]
fn a_panic_in_submit_hangs_nobody() {
    for chaining in CHAINING {
        check_on_callers_thread("submit", move |engine, _, bomb| {
            let submitted =
                catch_unwind(AssertUnwindSafe(|| engine.submit(graph(endless(), Discard::new(), chaining))));
            assert!(bomb.has_struck(), "a query that comes in is ranked");
            submitted.ok()?.ok()
        });
    }
}

#[test]
fn a_panic_in_cancel_hangs_nobody() {
    check_on_callers_thread("cancel", |_, queries, bomb| {
        // One query has ended and one runs. Neither cancel should rank a task of the other query. If it did,
        // the call would panic.
        for _ in 0..1_000 {
            let _panicked = catch_unwind(AssertUnwindSafe(|| queries[0].cancel()));
        }
        let _panicked = catch_unwind(AssertUnwindSafe(|| queries[3].cancel()));
        let others = [1, 2].map(|index| queries[index].state());
        assert!(bomb.has_struck() || others == [QueryState::Running; 2], "{others:?}: they are others");
        None
    });
}

/// A worker may put a task back as ready while the engine closes. If nobody ended that task, its query would wait for it
/// forever. An engine closes here at any moment of the workers' steps.
#[test]
fn an_engine_that_closes_leaves_no_task_behind() {
    within_bounds("engines that close while their workers put tasks back", || {
        for _ in 0..CLOSED_ENGINES {
            let bomb = Bomb::new(Call::Now, Side::Caller);
            let engine = bomb.builder().workers(2).build().unwrap();
            let query = submit_endless(&engine, Chaining::None);
            wait_for_more(&query);
            bomb.arm(true);
            let _panicked = catch_unwind(AssertUnwindSafe(|| query.pause()));
            assert!(query.wait().is_err(), "it is endless");
            check_closed(&engine, &bomb);
        }
    });
}

/// An engine that closes ranks no task, because the policy may be the reason for closing. In this test the
/// first task of the first query has ended, and a task of the second query has its slot. The second query has
/// not failed yet when the first one fails.
#[test]
fn closing_ranks_nothing() {
    within_bounds("a query of an engine whose policy goes on panicking", || {
        let bomb = Bomb::new(Call::Rank, None);
        let engine = bomb.builder().build().unwrap();
        let query = Query::new("first");
        let strategy = WatermarkStrategy::ascending;
        query.source("short", Given::new(records(0..1)), strategy()).sink("short end", Discard::new());
        query.source("long", endless(), strategy()).sink("long end", Discard::new());
        let first = engine.submit(query.plan(Chaining::All).unwrap()).unwrap();
        spin_until(|| first.metrics().tasks.iter().any(|task| task.state == TaskState::Ended));
        let query = Query::new("second");
        for (name, end) in [("one", "end"), ("two", "other end"), ("three", "last end")] {
            query.source(name, endless(), strategy()).sink(end, Discard::new());
        }
        let second = engine.submit(query.plan(Chaining::All).unwrap()).unwrap();
        wait_for_more(&second);
        bomb.arm(true);
        for query in [first, second] {
            let outcome = query.wait().map(|report| report.events_in).map_err(|error| error.code());
            assert_eq!(outcome, Err("WORKER_DIED"));
        }
        // Dropping the engine closes it once more, while the policy still panics.
        drop(engine);
    });
}

/// Cancelling a query that has ended stalls no other query. Another query may then have its slot, and threads
/// of the test rank slowly here. If a cancel ranked and took the other query's task, that task's worker would
/// find nothing to do, and sleep.
#[test]
fn cancelling_a_query_that_has_ended_stalls_nobody() {
    let (engines, rounds, cancels) = STALE_CANCELS;
    for _ in 0..engines {
        within_bounds("a query in the place of one that is cancelled", move || {
            let on = |call| {
                if call == Call::Rank && Side::is_here() == Side::Caller {
                    (0..1_000).for_each(|_| std::hint::spin_loop());
                }
            };
            let policy = Watched { policy: Fcfs::default(), on };
            let engine = Engine::builder().policy(Box::new(policy)).build().unwrap();
            let ended = finished(&engine);
            let runs = submit_endless(&engine, Chaining::All);
            wait_for_more(&runs);
            for _ in 0..rounds {
                (0..cancels).for_each(|_| ended.cancel());
                wait_for_more(&runs);
            }
            assert_eq!(runs.state(), QueryState::Running);
            assert!(ended.wait().is_ok(), "it had finished before");
        });
    }
}

/// Source that follows a script and claims by its spacing of zero that all records are due at once.
struct AllAtOnce(Script<i64>);

impl Source for AllAtOnce {
    type Item = i64;

    fn poll<O: Output<i64>>(
        &mut self,
        now: ProcessingTime,
        limit: usize,
        output: &mut O,
    ) -> Result<Polled, Fault> {
        self.0.poll(now, limit, output)
    }

    fn spacing_ns(&self) -> Option<u64> {
        Some(0)
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.0.save(state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.0.load(state)
    }
}

/// A source may report a spacing of zero between its records. The number of due records is computed from the
/// spacing, and this must not break the engine.
#[test]
fn a_spacing_of_nothing_takes_no_engine_down() {
    for chaining in CHAINING {
        within_bounds("a source without spacing", move || {
            let engine = Engine::builder().build().unwrap();
            let neighbour = submit_endless(&engine, chaining);
            let source = AllAtOnce(Script::new(records(0..100), &Arc::default()).then_pause(1_000));
            let query = engine.submit(graph(source, Discard::new(), chaining)).unwrap();
            let outcome = query.wait().map(|report| report.results_out).map_err(|error| error.code());
            assert_eq!(outcome, Ok(100), "{chaining:?}");
            wait_for_more(&neighbour);
            neighbour.stop();
            assert!(neighbour.wait().is_ok(), "{chaining:?}: the neighbour goes on");
        });
    }
}

/// A wrong operator: it may emit more records than it takes, and takes none.
struct TakesNothing;

impl Operator<i64> for TakesNothing {
    type Out = i64;
    const EXPANDS: bool = true;

    fn process<I: Input<i64>, O: Output<i64>>(&mut self, _input: &mut I, _output: &mut O) {}

    fn process_one<O: Output<i64>>(&mut self, record: Record<i64>, output: &mut O) {
        output.push(record);
    }

    fn note_read(&mut self, _count: u64) {}

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        each("takes nothing", Counts::default());
    }

    fn faulted(&self) -> Option<&str> {
        None
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

/// An operator that leaves records in its input, although it is not stalled and has room, is reported by
/// name. Otherwise the engine would call it again without end within one step.
#[test]
fn an_operator_that_takes_nothing_is_named() {
    // The chaining into one task is left out: chained to its source, the operator is given one record at a
    // time, and cannot refuse it.
    for chaining in [Chaining::None, Chaining::Default] {
        within_bounds("an operator that takes nothing", move || {
            let engine = Engine::builder().build().unwrap();
            let query = Query::new("refuses");
            query
                .source("source", Given::new(records(0..100)), WatermarkStrategy::ascending())
                .process(TakesNothing)
                .name("refusal")
                .sink("sink", Discard::new());
            let query = engine.submit(query.plan(chaining).unwrap()).unwrap();
            let error = query.wait().expect_err("it breaks a rule");
            let QueryError::Panicked { operator, message } = &error else { panic!("{chaining:?}: {error}") };
            assert_eq!(operator, "refusal", "{chaining:?}: {message}");
        });
    }
}
