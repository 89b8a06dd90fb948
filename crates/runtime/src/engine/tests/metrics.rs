//! The metrics of an engine that is stepped by hand are exact between any two steps.

use super::*;
use crate::meter::TaskState;
use crate::metrics::{EngineMetrics, QueryMetrics, TaskMetrics};
use crate::query::{EdgeCounts, QueryHandle};

/// Checks the metrics of a query between any two steps, at any time of the clock. `sampled_ns` is the time
/// for which the choice of tasks was measured apart from the steps.
fn check(query: &QueryMetrics, sampled_ns: u64) {
    let stood_ns = |task: &TaskMetrics| {
        let is_counted_by_its_state = matches!(task.state, TaskState::Running | TaskState::Ended);
        let lasting_ns = if is_counted_by_its_state { task.state_ns } else { 0 };
        task.busy_ns + task.ready_ns + task.blocked_ns + task.idle_ns + lasting_ns
    };
    if query.state == QueryState::Running {
        let missing_ns =
            |task: &TaskMetrics| query.span_ns.checked_sub(stood_ns(task)).expect("none has two");
        assert_eq!(query.tasks.iter().map(missing_ns).sum::<u64>(), sampled_ns, "{query:?}");
    }
    for operator in query.operators() {
        assert!(operator.counts.is_conserved(), "{operator:?}");
    }
    for (place, edge) in query.edges.iter().enumerate() {
        let ends_live = query.tasks[place..=place + 1].iter().any(|task| task.state != TaskState::Ended);
        assert_eq!(edge.chunks > 0, ends_live, "{edge:?}");
        let EdgeCounts { written, read, pending, .. } = edge.counts;
        assert_eq!(written, read + pending);
    }
    for (place, task) in query.tasks.iter().enumerate() {
        assert_eq!(task.operators[0].counts.read, task.records_in, "{task:?}");
        if place > 0 {
            assert_eq!(query.edges[place - 1].counts.read, task.records_in);
            assert_eq!(query.edges[place - 1].counts.pending, task.pending);
        }
        if let Some(edge) = query.edges.get(place) {
            assert_eq!(edge.counts.written, task.records_out);
        }
    }
    assert_eq!(query.pending(), query.tasks.iter().map(|task| task.pending).sum::<u64>());
}

/// Counts and times in the metrics are right between any two steps, not only at the end. The difference of
/// two readings has the events that happened between them.
#[test]
fn figures_are_exact_between_any_two_steps() {
    for edges in [tiny(), EdgeLimits::default()] {
        let clock = Arc::new(VirtualClock::default());
        let mut stepped = stepped(edges, &clock);
        let query = stepped.engine.submit(graph(20..80, 3, &Seen::default())).unwrap();
        let (mut before, mut sum_of_steps) = (query.metrics(), 0);
        check(&before, 0);
        while query.state() == QueryState::Running {
            clock.advance_to(clock.now().plus_nanos(100));
            stepped.workers[0].step(clock.as_ref());
            while stepped.growth.step() {}
            let metrics = query.metrics();
            check(&metrics, stepped.engine.scheduling_ns() / 64);
            let interval = metrics.since(&before);
            sum_of_steps += interval.tasks.iter().map(|task| task.steps).sum::<u64>();
            assert!(interval.span_ns <= 100);
            before = metrics;
        }
        assert_eq!(sum_of_steps, before.tasks.iter().map(|task| task.steps).sum::<u64>());
        assert_eq!((before.conservation_error(), before.events_in), (None, 60));
        assert_eq!(before.tasks[1].selectivity().map(|ratio| ratio >= 3.0), Some(true));
        clock.advance_to(clock.now().plus_nanos(1_000_000));
        assert_eq!(query.metrics(), before, "nothing changes any more");
        let report = query.wait().unwrap();
        // The report adds up the counts of operators with the same name.
        for operator in &report.operators {
            let shown = before.operators().filter(|shown| shown.operator == operator.operator);
            let all = shown.fold(Counts::default(), |all, shown| all.plus(shown.counts));
            assert_eq!(all, operator.counts);
        }
        assert_eq!(report.edges, before.edges.iter().map(|edge| edge.counts.clone()).collect::<Vec<_>>());
    }
}

/// The queues of a query are the records that wait in front of each task. The source of this query makes its
/// records on demand, so it has no queue.
#[test]
fn queues_are_the_records_in_front_of_tasks() {
    let clock = Arc::new(VirtualClock::default());
    let mut stepped = stepped(EdgeLimits::default(), &clock);
    let query = stepped.engine.submit(graph(20..80, 3, &Seen::default())).unwrap();
    let mut longest = 0;
    while query.state() == QueryState::Running {
        stepped.workers[0].step(clock.as_ref());
        while stepped.growth.step() {}
        let mut lengths = Vec::new();
        query.queue_lengths(clock.now(), |length| lengths.push(length));
        let pending: Vec<u64> = query.metrics().tasks[1..].iter().map(|task| task.pending).collect();
        assert_eq!(lengths, pending);
        longest = lengths.into_iter().fold(longest, u64::max);
    }
    assert!(longest > 0, "records have waited");
}

/// A test source that is far behind: its records were due every millisecond from the first one on. It ends with
/// its sixth record, and tells when it does.
struct Behind {
    made: i64,
    has_ended: Arc<Mutex<bool>>,
}

impl Source for Behind {
    type Item = i64;

    fn poll<O: Output<i64>>(&mut self, _: ProcessingTime, _: usize, output: &mut O) -> Result<Polled, Fault> {
        // The stamps are as far apart as watermarks, so each record makes one.
        output.push(Record::new(EventTime::from_micros(self.made * 10), self.made));
        self.made += 1;
        if self.made == 6 {
            *self.has_ended.lock() = true;
            return Ok(Polled::new(SourceStatus::Ended));
        }
        Ok(Polled::new(SourceStatus::DueSince(ProcessingTime::from_nanos(1_000_000))))
    }

    fn spacing_ns(&self) -> Option<u64> {
        Some(1_000_000)
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

/// The queue of a source has the records that are due. When the source has ended, none is due, although its last
/// marks still wait for room. When its task has ended, there is no queue.
#[test]
fn a_source_that_has_ended_has_no_queue() {
    let clock = Arc::new(VirtualClock::starting_at(ProcessingTime::from_nanos(10_000_000)));
    let mut stepped = stepped(tiny(), &clock);
    let has_ended = Arc::<Mutex<bool>>::default();
    let mut graph = Graph::new("behind");
    let (output, entry) = graph.edge();
    let source = Behind { made: 0, has_ended: Arc::clone(&has_ended) };
    graph.source("source", source, strategy(), Repeat::new(1), output);
    graph.operator("sink", entry, Repeat::new(0), SinkPlan(Seen::default()));
    let query = stepped.engine.submit(graph).unwrap();
    let lengths = |query: &QueryHandle| {
        let mut lengths = Vec::new();
        query.queue_lengths(clock.now(), |length| lengths.push(length));
        lengths
    };
    let (mut due, mut over) = (0, 0);
    while query.state() == QueryState::Running {
        stepped.workers[0].step(clock.as_ref());
        while stepped.growth.step() {}
        let tasks = query.metrics().tasks;
        let (source, waits) = (&tasks[0], tasks[1].pending);
        let expected = if source.state == TaskState::Ended {
            vec![waits]
        } else if *has_ended.lock() {
            over += 1;
            vec![0, waits]
        } else if source.records_in > 0 {
            due += 1;
            vec![10, waits]
        } else {
            // A source that was never polled may make its records on demand.
            vec![waits]
        };
        assert_eq!(lengths(&query), expected);
    }
    assert!(due > 0 && over > 0, "{due} looks before its end, {over} behind it");
    assert_eq!(lengths(&query), [0]);
    assert_eq!(query.wait().unwrap().events_in, 6);
}

/// Runs a query of a source and a sink to its end. The clock is always advanced to 1 ms after the time at
/// which the source's next record is due.
fn finish(stepped: &mut Stepped, clock: &VirtualClock, query: &QueryHandle) {
    while query.state() == QueryState::Running {
        let due = run(stepped, clock);
        if due != ProcessingTime::NEVER {
            clock.advance_to(due.plus_nanos(1_000_000));
        }
    }
}

/// Makes a query with a source that gives one record per second, and a sink.
fn slow() -> Graph {
    let mut graph = Graph::new("slow \"1\"");
    let (output, entry) = graph.edge();
    graph.source("source", Slow { next_s: 1 }, strategy(), Repeat::new(1), output);
    graph.operator("sink", entry, Repeat::new(1), SinkPlan(Seen::default()));
    graph
}

/// Compares the metrics of a small finished query, as Prometheus text, with a file. `UPDATE_GOLDEN=1`
/// rewrites the file.
#[test]
fn the_text_of_a_finished_query() {
    let clock = Arc::new(VirtualClock::default());
    let mut stepped = stepped(EdgeLimits { marks_max: 4, ..tiny() }, &clock);
    let query = stepped.engine.submit(slow()).unwrap();
    finish(&mut stepped, &clock, &query);
    let mut metrics = stepped.engine.metrics();
    assert_eq!(metrics.queries, [], "it runs no more");
    metrics.include(query.metrics());
    metrics.include(query.metrics());
    assert_eq!(metrics.queries.len(), 1);
    // Remove the figures of the process from the comparison: they differ from run to run, and the memory of
    // kept pages depends on the page size.
    metrics.process = Default::default();
    let text = metrics.prometheus();
    crate::metrics::prometheus::tests::parse(&text).unwrap();
    let path = "src/engine/tests/finished.prom";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), text, "run with UPDATE_GOLDEN=1 to renew it");
}

/// A source of given records. Each is due at one time, arrived at another and has a stamp, all in ms.
struct Sent {
    records: Vec<[u64; 3]>,
    next: usize,
}

impl Source for Sent {
    type Item = i64;

    fn poll<O: Output<i64>>(
        &mut self,
        now: ProcessingTime,
        _: usize,
        output: &mut O,
    ) -> Result<Polled, Fault> {
        let Some(&[due_ms, _, stamp_ms]) = self.records.get(self.next) else {
            return Ok(Polled::new(SourceStatus::Ended));
        };
        let due = ProcessingTime::from_nanos(due_ms * 1_000_000);
        if now < due {
            return Ok(Polled::new(SourceStatus::IdleUntil(due)));
        }
        output.push(Record::new(EventTime::from_micros(stamp_ms.cast_signed() * 1_000), 7));
        self.next += 1;
        Ok(Polled::new(SourceStatus::Ready))
    }

    fn arrived(&self) -> Option<ProcessingTime> {
        let [_, arrived_ms, _] = *self.records.get(self.next.checked_sub(1)?)?;
        Some(ProcessingTime::from_nanos(arrived_ms * 1_000_000))
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

/// Event latency counts from the last event of any source, also of a source that has ended since.
#[test]
fn results_are_as_old_as_the_last_event_of_any_source() {
    let clock = Arc::new(VirtualClock::default());
    let mut stepped = stepped(tiny(), &clock);
    let mut graph = Graph::new("two");
    // The first source sets a watermark of 5 s with a record that arrived at 2 s. The second has ended by
    // then, and its last record arrived at 3 s. Each record is read 1 ms after it is due.
    let first = vec![[1_000, 1_000, 1_000], [4_000, 2_000, 5_000]];
    for (name, records) in [("a", first), ("b", vec![[3_000, 3_000, 3_000]])] {
        let (output, entry) = graph.edge();
        graph.source(name, Sent { records, next: 0 }, strategy(), Repeat::new(1), output);
        graph.operator(format!("{name} sink"), entry, Repeat::new(1), SinkPlan(Seen::default()));
    }
    let query = stepped.engine.submit(graph).unwrap();
    finish(&mut stepped, &clock, &query);
    let metrics = query.metrics();
    assert_eq!((metrics.output_delay_count, metrics.output_delay_sum_ns), (1, 0));
    assert_eq!((metrics.event_latency_count, metrics.event_latency_sum_ns), (1, 1_001_000_000));
    assert_eq!(query.take_event_latencies().count(), 1);
    assert_eq!(query.wait().unwrap().event_latencies.count(), 0, "they were taken");
}

/// Metrics tell queries with the same name apart. A paused query is shown as idle, and a failed query holds
/// no memory.
#[test]
fn queries_are_told_apart() {
    let clock = Arc::new(VirtualClock::default());
    let mut stepped = stepped(tiny(), &clock);
    let paused = stepped.engine.submit(slow()).unwrap();
    let failing = stepped.engine.submit(graph(1..30, 2, &Seen::default())).unwrap();
    let twin = stepped.engine.submit(slow()).unwrap();
    paused.pause();
    run(&mut stepped, &clock);
    let metrics = stepped.engine.metrics();
    let shown = |metrics: &EngineMetrics| -> Vec<(u64, QueryState)> {
        metrics.queries.iter().map(|query| (query.serial, query.state)).collect()
    };
    assert_eq!(shown(&metrics), [(1, QueryState::Paused), (3, QueryState::Running)]);
    assert_eq!((metrics.queries_submitted, metrics.workers.len()), (3, 1));
    crate::metrics::prometheus::tests::parse(&metrics.prometheus()).unwrap();

    let failed = failing.metrics();
    assert_eq!((failed.state, failed.conservation_error()), (QueryState::Failed, None));
    assert!(failed.tasks.iter().all(|task| task.state == TaskState::Ended && task.held_bytes == 0));
    let mut later = stepped.engine.metrics();
    later.include(failed);
    assert_eq!(shown(&later).len(), 3);
    assert_eq!(later.since(&metrics).queries_submitted, 0);

    clock.advance_to(ProcessingTime::from_nanos(10_000));
    assert!(
        paused.metrics().tasks.iter().all(|task| task.idle_ns == 10_000 && task.state == TaskState::Idle)
    );
    drop(stepped);
    let cancelled = twin.metrics();
    assert_eq!((cancelled.state, cancelled.tasks[0].state), (QueryState::Failed, TaskState::Ended));
}

/// With worker threads: while the query runs, no counter goes back, and no operator permanently loses a
/// record.
#[test]
fn counters_never_go_back_while_workers_run() {
    let engine = Engine::builder().workers(2).edges(tiny()).build().unwrap();
    let query = engine.submit(graph(20..20_000, 2, &Seen::default())).unwrap();
    let mut before = engine.metrics();
    while query.state() == QueryState::Running {
        let mut now = engine.metrics();
        now.include(query.metrics());
        crate::metrics::prometheus::tests::parse(&now.prometheus()).unwrap();
        for (now, then) in now.queries.iter().zip(&before.queries) {
            for (now, then) in now.tasks.iter().zip(&then.tasks) {
                let times = |task: &TaskMetrics| {
                    [task.busy_ns, task.ready_ns, task.blocked_ns, task.idle_ns, task.records_in, task.steps]
                };
                assert!(
                    times(now).iter().zip(times(then)).all(|(now, then)| then <= *now),
                    "{then:?} {now:?}"
                );
            }
        }
        before = now;
    }
    assert_eq!(query.metrics().conservation_error(), None);
    assert_eq!(engine.metrics().workers.len(), 2);
}
