//! An engine that runs each task on a thread of its own makes the same promises as one with workers. These
//! tests use real threads and the system's clock, and never sleep: they wait only for events that must come.

use std::sync::mpsc::{Receiver, Sender, channel};

use thalweg_memory::sync::thread;
use thalweg_scheduling::{OperatorId, OperatorState};

use super::*;

/// A test source that makes one record for each permission it receives, until it is stopped.
struct Gated {
    allowed: Receiver<i64>,
    made: i64,
}

impl Source for Gated {
    type Item = i64;

    fn poll<O: Output<i64>>(
        &mut self,
        now: ProcessingTime,
        _: usize,
        output: &mut O,
    ) -> Result<Polled, Fault> {
        while output.room() > 0 {
            let Ok(value) = self.allowed.try_recv() else {
                return Ok(Polled::new(SourceStatus::IdleUntil(now.plus_nanos(1_000_000))));
            };
            self.made += 1;
            output.push(Record::new(EventTime::from_micros(self.made), value));
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

/// A test sink that sends each value to the test, except the zeroes which the test operator adds at
/// watermarks.
struct Told(Sender<i64>);

impl Sink<i64> for Told {
    fn write(&mut self, record: Record<i64>) -> Result<(), Fault> {
        if record.value > 0 {
            // The test may have ended, so that nothing receives the remaining values.
            let _unheard = self.0.send(record.value);
        }
        Ok(())
    }
}

fn threads(edges: EdgeLimits) -> Engine {
    Engine::builder().execution(Execution::Threads).workers(2).edges(edges).build().unwrap()
}

/// Makes a query whose source waits for permissions. Returns the query with the sender of permissions and
/// the receiver of its results.
fn gated(engine: &Engine) -> (QueryHandle, Sender<i64>, Receiver<i64>) {
    let ((allow, allowed), (told, heard)) = (channel(), channel());
    let mut graph = Graph::new("gated");
    let (output, entry) = graph.edge();
    graph.source("source", Gated { allowed, made: 0 }, strategy(), Repeat::new(1), output);
    graph.operator("sink", entry, Repeat::new(1), SinkPlan(Told(told)));
    (engine.submit(graph).unwrap(), allow, heard)
}

const MEMORIES: [EdgeMemory; 3] = [EdgeMemory::Blocks, EdgeMemory::Queue, EdgeMemory::QueueBatched];

/// With edges and rings of marks that fill up, the results and marks are the same in all six modes: workers
/// or a thread per task, each with blocks, queues or batched queues.
#[test]
fn results_and_marks_do_not_depend_on_the_mode() {
    let mut texts = Vec::new();
    for (edges, memory) in
        [tiny(), EdgeLimits::default()].into_iter().flat_map(|edges| MEMORIES.map(|memory| (edges, memory)))
    {
        for execution in [Execution::Workers, Execution::Threads] {
            let builder = Engine::builder().execution(execution).memory(memory).workers(2).edges(edges);
            let engine = builder.build().unwrap();
            let seen = Seen::default();
            let report = engine.submit(graph(1..13, 5, &seen)).unwrap().wait().unwrap();
            assert_eq!((report.conservation_error(), report.events_in), (None, 12));
            assert!(report.steps > 0 && report.busy_ns > 0);
            texts.push(seen.text());
        }
    }
    assert!(texts[0].starts_with("1 1 1 1 1 0 0 0 0 0 0 0 0 0 0 0 [W1] 2 2 2 2 2 3 3"), "{}", texts[0]);
    assert!(texts[0].ends_with("[W max] [End] finished"), "{}", texts[0]);
    assert!(texts.iter().all(|text| *text == texts[0]));
}

/// Many records pass through an edge that holds four. The threads of the writer and the reader sleep and are
/// woken thousands of times, and neither sleeps for ever.
#[test]
fn nobody_sleeps_for_ever_beside_a_full_edge() {
    MEMORIES.into_iter().for_each(check_full_edges);
}

fn check_full_edges(memory: EdgeMemory) {
    let builder = Engine::builder().execution(Execution::Threads).memory(memory).workers(2).edges(tiny());
    let engine = builder.build().unwrap();
    let seen: Vec<Seen> = (0..4).map(|_| Seen::default()).collect();
    let queries: Vec<_> =
        seen.iter().map(|seen| engine.submit(graph(100..10_000, 1, seen)).unwrap()).collect();
    for (query, seen) in queries.into_iter().zip(&seen) {
        assert_eq!(query.wait().unwrap().events_in, 9_900);
        assert!(seen.text().ends_with("finished"));
    }
}

#[test]
fn a_panic_fails_its_query_by_name_and_no_other() {
    let engine = threads(tiny());
    let (seen, neighbour) = (Seen::default(), Seen::default());
    let failing = engine.submit(graph(1..30, 2, &seen)).unwrap();
    let fine = engine.submit(graph(20..30, 2, &neighbour)).unwrap();
    let error = failing.wait().unwrap_err();
    assert_eq!(error.to_string(), "the function of operator `repeat` panicked: thirteen");
    assert!(!seen.text().contains("finished"), "a failed query publishes nothing");
    assert_eq!(fine.wait().unwrap().events_in, 10);
    assert!(neighbour.text().ends_with("finished"));
}

#[test]
fn what_comes_goes_through_at_once_and_stop_drains() {
    let engine = threads(EdgeLimits::default());
    let (query, allow, heard) = gated(&engine);
    for value in 100..200 {
        allow.send(value).unwrap();
        assert_eq!(heard.recv().unwrap(), value);
    }
    assert_eq!(query.state(), QueryState::Running);
    query.stop();
    let report = query.wait().unwrap();
    assert_eq!((report.events_in, report.conservation_error()), (100, None));
}

#[test]
fn a_query_that_rests_makes_nothing_until_it_is_resumed() {
    let engine = threads(EdgeLimits::default());
    let (query, allow, heard) = gated(&engine);
    allow.send(100).unwrap();
    assert_eq!(heard.recv().unwrap(), 100);
    query.pause();
    assert_eq!(query.state(), QueryState::Paused);
    // The tasks finish their running steps; then both threads of the paused query sleep.
    while engine.metrics().workers_asleep < 2 {
        thread::yield_now();
    }
    allow.send(101).unwrap();
    assert_eq!(heard.try_recv().ok(), None);
    query.resume();
    assert_eq!(heard.recv().unwrap(), 101);
    // Stopping a paused query resumes it, so that it can end.
    query.pause();
    query.stop();
    assert_eq!(query.wait().unwrap().events_in, 2);
}

#[test]
fn a_cancelled_query_ends_and_its_places_are_free() {
    let engine = threads(tiny());
    for _ in 0..20 {
        let seen = Seen::default();
        let endless = engine.submit(graph(100..1_000_000, 1, &seen)).unwrap();
        endless.cancel();
        assert!(matches!(endless.wait(), Err(QueryError::Cancelled)));
        assert!(!seen.text().contains("End"));
    }
    while !engine.metrics().workers.is_empty() {
        thread::yield_now();
    }
    assert_eq!(engine.metrics().queries_submitted, 20);
    assert_eq!(engine.budget().used_bytes() % 4096, 0, "only spare pages are left");
}

#[test]
fn an_engine_that_is_dropped_cancels_what_runs() {
    let engine = threads(tiny());
    let (gated, _allow, _heard) = gated(&engine);
    let endless = engine.submit(graph(100..1_000_000, 1, &Seen::default())).unwrap();
    drop(engine);
    assert!(matches!(gated.wait(), Err(QueryError::Cancelled)));
    assert!(matches!(endless.wait(), Err(QueryError::Cancelled)));
}

#[test]
fn an_engine_that_is_closed_takes_no_query() {
    let engine = threads(tiny());
    engine.driver.close(&|| QueryError::Cancelled);
    assert_eq!(engine.submit(graph(100..101, 1, &Seen::default())).err(), Some(PlanError::EngineClosed));
}

/// A test clock that panics from the moment the test says so.
struct Brittle(AtomicU32);

impl Clock for Brittle {
    fn now(&self) -> ProcessingTime {
        assert!(self.0.load(Ordering::Relaxed) == 0, "the clock is broken");
        ProcessingTime::ZERO
    }
}

/// If the thread of a task dies, the engine closes, so that no caller waits for this task.
#[test]
fn a_thread_that_dies_takes_the_engine_with_it() {
    let clock = Arc::new(Brittle(AtomicU32::new(0)));
    let builder = Engine::builder().execution(Execution::Threads).edges(tiny());
    let engine = builder.clock(Arc::<Brittle>::clone(&clock)).build().unwrap();
    let (query, _allow, _heard) = gated(&engine);
    clock.0.store(1, Ordering::Relaxed);
    // Pausing wakes the sleeping thread of the task. The thread then reads the clock, and this test's clock
    // panics.
    query.pause();
    assert!(matches!(query.wait(), Err(QueryError::WorkerDied)));
    clock.0.store(0, Ordering::Relaxed);
    while engine.submit(graph(100..101, 1, &Seen::default())).err() != Some(PlanError::EngineClosed) {
        thread::yield_now();
    }
}

#[test]
fn threads_are_not_stepped() {
    let refused = Engine::builder().execution(Execution::Threads).build_stepped().err();
    assert_eq!(refused, Some(PlanError::NotStepped));
}

/// In the mode with a thread per task, each task has a thread. All these threads stay on the cores that the
/// configured number of workers would have.
#[test]
fn each_task_has_a_thread() {
    let engine = threads(EdgeLimits::default());
    let (query, allow, heard) = gated(&engine);
    allow.send(100).unwrap();
    assert_eq!(heard.recv().unwrap(), 100);
    assert_eq!((engine.workers(), engine.metrics().workers.len()), (2, 2));
    let allowed = pins::cores_of(system::thread_number());
    let cores: Vec<_> = engine.driver.figures().task_threads.into_iter().map(pins::cores_of).collect();
    assert_eq!(cores[0].len(), allowed.len().min(2), "{cores:?} of {allowed:?}");
    assert!(cores[0].iter().all(|core| allowed.contains(core)), "{cores:?} of {allowed:?}");
    assert_eq!(cores, [cores[0].clone(), cores[0].clone()]);
    drop(query);
}

/// A query whose tasks wait for each other is reported as stuck, as it is when workers run the tasks.
#[test]
fn a_cycle_of_tasks_that_wait_for_each_other_is_named() {
    for memory in MEMORIES {
        let builder = Engine::builder().execution(Execution::Threads).memory(memory).workers(2).edges(tiny());
        let engine = builder.build().unwrap();
        let error = engine.submit(diamond::stuck(&Seen::default())).unwrap().wait().unwrap_err();
        let QueryError::Stuck { operator, waits_for } = error else { panic!("{error}") };
        assert_eq!((&*operator, &*waits_for), ("in turn", "in turn -> left -> source -> right -> in turn"));
    }
}

/// The whole capacity of a queue is charged to the memory budget at submit. If it does not fit, the error
/// names the edge of the queue.
#[test]
fn a_queue_that_does_not_fit_is_refused_by_name() {
    let builder = Engine::builder().memory(EdgeMemory::Queue).memory_budget_bytes(1 << 20);
    let engine = builder.build().unwrap();
    let error = engine.submit(graph(100..101, 1, &Seen::default())).err().unwrap();
    assert_eq!((error.code(), engine.budget().used_bytes()), ("BUDGET_TOO_SMALL", 0));
    assert!(error.to_string().starts_with("the queue of edge `source -> repeat` does not fit: "), "{error}");
}

/// A task may have any name: the thread that runs it gets a name which the operating system accepts.
#[test]
fn any_name_will_do() {
    let engine = threads(tiny());
    let mut graph = Graph::new("q");
    graph.source("a\0b", records(100..101), strategy(), Repeat::new(1), SinkPlan(Seen::default()));
    assert_eq!(engine.submit(graph).unwrap().wait().unwrap().events_in, 1);
}

/// A policy outside the engine sees every task with the number of its thread, which the operating system knows by
/// the name of the task. It sees no task that has ended, and none of an engine whose workers run the tasks.
#[test]
fn tasks_are_seen_with_their_threads() {
    let engine = threads(EdgeLimits::default());
    let (query, allow, heard) = gated(&engine);
    allow.send(100).unwrap();
    assert_eq!(heard.recv().unwrap(), 100);
    let TaskThreads { snapshot, threads } = engine.task_threads().unwrap();
    let shown: Vec<_> = threads.iter().map(|thread| (thread.operator.0, thread.name.as_str())).collect();
    assert_eq!(shown, [(0, "source"), (1, "sink")]);
    for thread in &threads {
        let name = format!("/proc/self/task/{}/comm", thread.number);
        assert_eq!(std::fs::read_to_string(name).unwrap().trim(), thread.name);
    }
    let [source, sink] = [0, 1].map(|place| snapshot.operator(OperatorId(place)).copied().unwrap());
    assert!(source.is_source && !source.is_sink && sink.is_sink && !sink.is_source);
    assert_eq!(snapshot.downstream[0], [OperatorId(1)]);
    assert_eq!(snapshot.order, [OperatorId(0), OperatorId(1)]);
    query.stop();
    query.wait().unwrap();
    engine.driver.close(&|| QueryError::Cancelled);
    engine.driver.join();
    let TaskThreads { snapshot, threads } = engine.task_threads().unwrap();
    assert!(
        threads.is_empty() && snapshot.operators.iter().all(Option::is_none) && snapshot.order.is_empty()
    );
    assert!(Engine::builder().workers(1).build().unwrap().task_threads().is_none());
}

/// The end of a task's last run is seen, and so are the costs of its records.
#[test]
fn runs_of_threads_are_seen() {
    let engine = threads(EdgeLimits::default());
    let (query, allow, heard) = gated(&engine);
    let sink = || {
        let seen = engine.task_threads().unwrap();
        (seen.snapshot.now, seen.snapshot.operator(OperatorId(1)).copied().unwrap())
    };
    let mut before = ProcessingTime::ZERO;
    for value in 100..103 {
        allow.send(value).unwrap();
        assert_eq!(heard.recv().unwrap(), value);
        // The run ends after its results can be heard.
        let (mut now, mut state) = sink();
        while state.last_run_ended <= before {
            (now, state) = sink();
        }
        assert!(state.last_run_ended <= now, "{state:?} at {now:?}");
        before = state.last_run_ended;
    }
    while sink().1.cost_ns_per_record == OperatorState::ASSUMED_COST_NS_PER_RECORD {
        thread::yield_now();
    }
    query.stop();
    query.wait().unwrap();
}
