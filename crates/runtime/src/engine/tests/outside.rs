//! The engine survives three events from outside: the machine cannot start a thread, user code panics while
//! a query is planned, and memory is requested for an edge that is gone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Weak;

use thalweg_memory::sync::AtomicBool;
use thalweg_memory::{Append, BlockPool, BlockShape, EdgeOptions};
use thalweg_model::Weighed;

use super::*;

/// If the system refuses a thread, the error names this thread, whichever it is. The threads that had been
/// started have ended.
#[test]
fn a_thread_that_cannot_be_had_is_an_error() {
    let check = |execution, name| {
        let clock = Arc::new(VirtualClock::default());
        let engine_clock: Arc<dyn Clock> = Arc::<VirtualClock>::clone(&clock);
        let builder = Engine::builder().execution(execution).workers(2).clock(engine_clock);
        let refused = EngineBuilder { refused_thread: Some(name), ..builder };
        let error = refused.build().err().expect("a thread is missing");
        assert_eq!(error.code(), "NO_THREAD");
        let text = error.to_string();
        assert!(text.starts_with(&format!("the machine has no thread for `{name}`: ")), "{text}");
        assert_eq!(Arc::strong_count(&clock), 1, "a thread that runs has the clock");
    };
    for name in ["thalweg-worker-0", "thalweg-worker-1", "thalweg-memory"] {
        check(Execution::Workers, name);
    }
    check(Execution::Threads, "thalweg-memory");
}

/// In the mode with a thread per task, the system refuses one thread: the error names its task. The tasks
/// that had started end, and all memory is given back, although a sink panics when it is dropped.
#[test]
fn a_task_that_has_no_thread_is_an_error() {
    for name in ["source", "repeat", "sink"] {
        let builder = Engine::builder().execution(Execution::Threads).edges(tiny());
        let engine = EngineBuilder { refused_thread: Some(name), ..builder }.build().unwrap();
        let mut graph = Graph::new("refused");
        let (first_output, first_entry) = graph.edge();
        let (second_output, second_entry) = graph.edge();
        graph.source("source", records(100..100_000_000), strategy(), Repeat::new(1), first_output);
        graph.operator("repeat", first_entry, Repeat::new(1), second_output);
        graph.operator("sink", second_entry, Repeat::new(1), SinkPlan(Explosive));
        let error = engine.submit(graph).err().expect("a thread is missing");
        assert_eq!(error.code(), "NO_THREAD");
        let text = error.to_string();
        assert!(text.starts_with(&format!("the machine has no thread for `{name}`: ")), "{text}");
        engine.driver.join();
        assert!(engine.metrics().queries.is_empty());
        engine.pool.give_up_spare();
        assert_eq!(engine.budget().used_bytes(), 0, "without `{name}`");
    }
}

/// A clock panics on the thread that makes chunks. All queries fail, requests for chunks of other queries
/// are still served, and the engine ends.
#[test]
fn a_clock_that_panics_beside_the_workers_ends_every_query() {
    #[derive(Default)]
    struct Broken(AtomicBool);
    impl Clock for Broken {
        fn now(&self) -> ProcessingTime {
            let is_memory = std::thread::current().name() == Some("thalweg-memory");
            assert!(!is_memory || self.0.swap(true, Ordering::Relaxed), "the clock is broken");
            ProcessingTime::ZERO
        }
    }
    let edges = EdgeLimits { chunks_max: 4, ..tiny() };
    let engine = Engine::builder().clock(Arc::new(Broken::default())).edges(edges).build().unwrap();
    let query = engine.submit(graph(100..100_000_000, 1, &Seen::default())).unwrap();
    assert!(matches!(query.wait(), Err(QueryError::WorkerDied)));
    let shape = BlockShape { block_records: 1, chunk_blocks: 1 };
    let options = EdgeOptions { shape, chunks_max: 4, marks_max: 1 };
    let block_pool = BlockPool::<u64>::new(&engine.pool, options, 1).unwrap();
    let (mut block_writer, chunks) = (block_pool.block_writer(), block_pool.chunks());
    let is_served = (0..10_000_000).any(|value| {
        let mut appender = block_writer.open(0);
        if appender.room() > 0 {
            appender.push(value);
        }
        std::thread::yield_now();
        block_pool.chunks() > chunks
    });
    assert!(is_served, "requests are served as long as there is an engine");
    drop((block_writer, block_pool));
    drop(engine);
}

/// A test sink that runs the given function when the planner asks for the weight of its records.
struct Weighing<F>(F);

impl<F: Fn() + Send> Sink<i64> for Weighing<F> {
    fn write(&mut self, _: Record<i64>) -> Result<(), Fault> {
        Ok(())
    }

    fn weighed(&self) -> Option<Weighed> {
        (self.0)();
        None
    }
}

impl<F: Fn() + Send> Source for Weighing<F> {
    type Item = i64;

    fn poll<O: Output<i64>>(&mut self, _: ProcessingTime, _: usize, _: &mut O) -> Result<Polled, Fault> {
        Ok(Polled::new(SourceStatus::Ended))
    }

    fn weighed(&self) -> Option<Weighed> {
        (self.0)();
        None
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

/// Makes a query whose source or sink runs `act` when the planner asks for the weight of its records.
fn weighing(act: impl Fn() + Send + 'static, is_source: bool) -> Graph {
    let mut graph = Graph::new("weighing");
    if is_source {
        graph.source("source", Weighing(act), strategy(), Repeat::new(1), SinkPlan(Seen::default()));
    } else {
        let (output, entry) = graph.edge();
        graph.source("source", records(0..3), strategy(), Repeat::new(1), output);
        graph.operator("sink", entry, Repeat::new(1), SinkPlan(Weighing(act)));
    }
    graph
}

/// User code that panics while a query is planned affects only the caller that submits this query.
#[test]
fn a_panic_while_a_query_is_planned_leaves_the_engine_alone() {
    for (execution, is_source) in
        [(Execution::Workers, true), (Execution::Workers, false), (Execution::Threads, false)]
    {
        let engine = Engine::builder().execution(execution).workers(2).build().unwrap();
        let graph_of_panics = weighing(|| panic!("weighed"), is_source);
        let submitted = catch_unwind(AssertUnwindSafe(|| engine.submit(graph_of_panics).map(drop)));
        assert!(submitted.is_err());
        let after = engine.submit(graph(20..30, 1, &Seen::default())).unwrap();
        assert_eq!(after.wait().unwrap().events_in, 10);
    }
}

/// A test sink that panics when it is dropped.
struct Explosive;

impl Sink<i64> for Explosive {
    fn write(&mut self, _: Record<i64>) -> Result<(), Fault> {
        Ok(())
    }
}

impl Drop for Explosive {
    fn drop(&mut self) {
        panic!("in a drop");
    }
}

/// Two sinks of one query panic when they are dropped, because the query is refused. Other queries continue,
/// whatever the reason of the refusal.
#[test]
fn a_panic_in_what_is_refused_leaves_the_engine_alone() {
    let explosive = || {
        let mut graph = Graph::new("explosive");
        for name in ["a", "b"] {
            graph.source(name, records(0..1), strategy(), Repeat::new(1), SinkPlan(Explosive));
        }
        graph
    };
    let one = || {
        let mut graph = Graph::new("one");
        graph.source("source", records(20..30), strategy(), Repeat::new(1), SinkPlan(Seen::default()));
        graph
    };
    let clock = Arc::new(VirtualClock::default());
    let mut stepped = stepped(tiny(), &clock);
    let running: Vec<QueryHandle> =
        (0..limits::QUERIES.max).map(|_| stepped.engine.submit(one()).unwrap()).collect();
    let error = stepped.engine.submit(explosive()).err().expect("there are too many queries");
    assert_eq!(error.code(), "OUT_OF_RANGE", "{error}");
    run(&mut stepped, &clock);
    running.into_iter().for_each(|query| assert_eq!(query.wait().unwrap().events_in, 10));
    stepped.engine.driver.close(&|| QueryError::Cancelled);
    assert_eq!(stepped.engine.submit(explosive()).err(), Some(PlanError::EngineClosed));

    let threads = Engine::builder().execution(Execution::Threads).build().unwrap();
    threads.driver.close(&|| QueryError::Cancelled);
    assert_eq!(threads.submit(explosive()).err(), Some(PlanError::EngineClosed));
}

/// User code may submit another query while its own query is planned: it waits for no lock.
#[test]
fn a_query_may_be_submitted_while_another_is_planned() {
    for (execution, is_source) in
        [(Execution::Workers, true), (Execution::Workers, false), (Execution::Threads, false)]
    {
        let engine = Arc::new(Engine::builder().execution(execution).workers(2).build().unwrap());
        // The sink refers to the engine weakly: if the sink were the last owner, its thread would drop the
        // engine and wait for itself.
        let (weak, has_submitted) = (Arc::downgrade(&engine), AtomicBool::new(false));
        let inner: Arc<Mutex<Option<QueryHandle>>> = Arc::default();
        let handle = Arc::clone(&inner);
        let act = move || {
            if !has_submitted.swap(true, Ordering::Relaxed) {
                let submitted =
                    Weak::upgrade(&weak).map(|engine| engine.submit(graph(20..30, 1, &Seen::default())));
                *handle.lock() = submitted.and_then(Result::ok);
            }
        };
        let outer = engine.submit(weighing(act, is_source)).unwrap();
        outer.wait().unwrap();
        let inner = inner.lock().take().expect("the engine was there");
        assert_eq!(inner.wait().unwrap().events_in, 10);
    }
}

/// An edge requests a chunk, and its query is cancelled before the chunk is made. The memory of the edge is
/// freed all the same.
#[test]
fn a_request_for_memory_does_not_keep_its_edge() {
    for is_served in [true, false] {
        let clock = Arc::new(VirtualClock::default());
        let mut stepped = stepped(EdgeLimits { chunks_max: 4, ..tiny() }, &clock);
        let budget = Arc::clone(stepped.engine.budget());
        let query = stepped.engine.submit(graph(100..100_000, 1, &Seen::default())).unwrap();
        for microsecond in 0..100u64 {
            clock.advance_to(ProcessingTime::from_nanos(microsecond * 1_000));
            stepped.workers[0].step(clock.as_ref());
        }
        if is_served {
            assert!(stepped.growth.step(), "after so many steps a request waits");
            continue;
        }
        query.cancel();
        for _ in 0..10 {
            stepped.workers[0].step(clock.as_ref());
        }
        assert!(matches!(query.wait(), Err(QueryError::Cancelled)));
        stepped.engine.pool.give_up_spare();
        assert_eq!(budget.used_bytes(), 0, "nobody uses the edge any more");
        assert!(!stepped.growth.step(), "its request is passed over");
    }
}
