//! Tests of the engine's promises about the end of queries, failures and time. The engines have no threads
//! and are stepped by hand. The tests define their own operators, because this crate has none.

use std::sync::Arc;

use thalweg_memory::sync::Mutex;
use thalweg_model::source::Given;
use thalweg_model::{
    Blame, Coded, Counts, EventTime, Fault, Flow, Input, Mark, Operator, Output, Polled, ProcessingTime,
    Record, Sink, Source, SourceStatus, Span, StateError, StateReader, StateWriter, VirtualClock,
    WatermarkStrategy,
};

use super::*;
use crate::error::QueryError;
use crate::graph::SinkPlan;
use crate::query::QueryState;

mod copies;
mod costs;
mod diamond;
mod inputs;
mod metrics;
mod outside;
mod pins;
mod rounds;
mod spy;
mod threads;

/// A sink that records what arrives as text: values, and marks in brackets.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    fn text(&self) -> String {
        self.0.lock().join(" ")
    }
}

impl Sink<i64> for Seen {
    fn write(&mut self, record: Record<i64>) -> Result<(), Fault> {
        self.0.lock().push(record.value.to_string());
        Ok(())
    }

    fn on_mark(&mut self, mark: Mark) -> Result<(), Fault> {
        let text = match mark {
            Mark::Watermark(EventTime::MAX) => "[W max]".to_owned(),
            Mark::Watermark(watermark) => format!("[W{}]", watermark.as_micros()),
            other => format!("[{other:?}]"),
        };
        self.0.lock().push(text);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.0.lock().push("finished".to_owned());
        Ok(())
    }
}

/// A test operator that emits each value `times` times, and `times` zeroes at each watermark. It panics at
/// the value 13.
struct Repeat {
    times: usize,
    /// The value that is being emitted, its event time, and how many times it must still be emitted.
    left: Option<(EventTime, i64, usize)>,
    read: u64,
    blame: Blame,
}

impl Repeat {
    fn new(times: usize) -> Self {
        Repeat { times, left: None, read: 0, blame: Blame::default() }
    }

    fn emit<O: Output<i64>>(&mut self, output: &mut O) -> Flow {
        while let Some((event_time, value, count)) = self.left {
            if output.room() == 0 {
                return Flow::More;
            }
            output.push(Record::new(event_time, value));
            self.left = (count > 1).then_some((event_time, value, count - 1));
        }
        Flow::Done
    }
}

impl Operator<i64> for Repeat {
    type Out = i64;
    const EXPANDS: bool = true;

    fn process<I: Input<i64>, O: Output<i64>>(&mut self, input: &mut I, output: &mut O) {
        while self.left.is_none() && output.room() > 0 {
            let Some(record) = input.take() else { return };
            self.process_one(record, output);
            self.read += 1;
        }
    }

    fn process_one<O: Output<i64>>(&mut self, record: Record<i64>, output: &mut O) {
        self.blame.on(|| assert!(record.value != 13, "thirteen"));
        self.left = (self.times > 0).then_some((record.event_time, record.value, self.times));
        let _stalled_or_done = self.emit(output);
    }

    fn note_read(&mut self, count: u64) {
        self.read += count;
    }

    fn on_mark<O: Output<i64>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        assert!(self.left.is_none(), "a mark waits until everything before it is out (O4)");
        if let Mark::Watermark(watermark) = mark {
            self.left = (self.times > 0).then_some((watermark, 0, self.times));
        }
        self.emit(output)
    }

    fn is_stalled(&self) -> bool {
        self.left.is_some()
    }

    fn resume<O: Output<i64>>(&mut self, output: &mut O) -> Flow {
        self.emit(output)
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        each("repeat", Counts { read: self.read, forwarded: self.read, ..Counts::default() });
    }

    fn faulted(&self) -> Option<&str> {
        self.blame.is_set().then_some("repeat")
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

fn records(values: std::ops::Range<i64>) -> Given<i64> {
    Given::new(values.map(|value| Record::new(EventTime::from_micros(value), value)).collect())
}

/// A watermark every ten microseconds of event time.
fn strategy() -> WatermarkStrategy {
    WatermarkStrategy::ascending().with_step(Span::from_micros(10))
}

fn tiny() -> EdgeLimits {
    EdgeLimits { block_records: 2, chunk_blocks: 1, chunks_max: 2, marks_max: 1 }
}

fn stepped(edges: EdgeLimits, clock: &Arc<VirtualClock>) -> Stepped {
    let clock: Arc<dyn Clock> = Arc::<VirtualClock>::clone(clock);
    Engine::builder().edges(edges).clock(clock).build_stepped().unwrap()
}

/// Steps the engine's only worker until no task has anything to do. Returns the next time at which a source
/// is due.
fn run(stepped: &mut Stepped, clock: &VirtualClock) -> ProcessingTime {
    for _ in 0..100_000 {
        while stepped.growth.step() {}
        if let Step::Idle(until) = stepped.workers[0].step(clock) {
            return until;
        }
    }
    panic!("100,000 steps and no end");
}

/// Makes a query of a source, an operator that emits each value several times, and a sink. Each of the three
/// is a task of its own.
fn graph(values: std::ops::Range<i64>, times: usize, seen: &Seen) -> Graph {
    let mut graph = Graph::new("repeat");
    let (first_output, first_entry) = graph.edge();
    let (second_output, second_entry) = graph.edge();
    graph.source("source", records(values), strategy(), Repeat::new(1), first_output);
    graph.operator("repeat", first_entry, Repeat::new(times), second_output);
    graph.operator("sink", second_entry, Repeat::new(1), SinkPlan(seen.clone()));
    graph
}

/// Any worker may take a source, even a source with a preferred worker. A copy of a parallel operator stays
/// with its worker.
#[test]
fn preferred_workers_are_those_of_the_graph() {
    let clock = Arc::new(VirtualClock::default());
    let stepped = stepped(tiny(), &clock);
    let mut graph = Graph::new("preferred workers");
    let (first_output, first_entry) = graph.edge();
    let (second_output, second_entry) = graph.edge();
    graph.source("source", records(0..1), strategy(), Repeat::new(1), first_output);
    graph.prefer_worker(7);
    graph.operator("copy", first_entry, Repeat::new(1), second_output);
    graph.note_copy(3, true);
    graph.operator("sink", second_entry, Repeat::new(1), SinkPlan(Seen::default()));
    stepped.engine.submit(graph).unwrap();
    let preferred = [(Some(7), true, true), (Some(3), false, true), (None, false, false)];
    assert_eq!(stepped.workers[0].executor().preferred_workers(3), preferred);
}

/// An operator emits more results than any edge has room for, at records and at watermarks, and the rings of
/// marks are full. All results arrive in order, each mark arrives behind the records before it, and the query
/// ends by itself.
#[test]
fn emission_is_resumed_and_marks_keep_their_place() {
    let mut texts = Vec::new();
    for edges in [tiny(), EdgeLimits::default()] {
        let clock = Arc::new(VirtualClock::default());
        let mut stepped = stepped(edges, &clock);
        let seen = Seen::default();
        let query = stepped.engine.submit(graph(1..13, 5, &seen)).unwrap();
        assert_eq!(run(&mut stepped, &clock), ProcessingTime::NEVER);
        let report = query.wait().unwrap();
        assert_eq!(report.conservation_error(), None);
        assert_eq!(report.events_in, 12);
        texts.push(seen.text());
    }
    let one = "1 1 1 1 1 0 0 0 0 0 0 0 0 0 0 0 [W1] 2 2 2 2 2 3 3";
    assert!(texts[0].starts_with(one), "{}", texts[0]);
    assert!(texts[0].ends_with("[W max] [End] finished"), "{}", texts[0]);
    assert_eq!(texts[0], texts[1]);
}

#[test]
fn a_panic_fails_its_query_by_name_and_no_other() {
    let clock = Arc::new(VirtualClock::default());
    let mut stepped = stepped(tiny(), &clock);
    let (seen, neighbour) = (Seen::default(), Seen::default());
    let failing = stepped.engine.submit(graph(1..30, 2, &seen)).unwrap();
    let fine = stepped.engine.submit(graph(20..30, 2, &neighbour)).unwrap();
    run(&mut stepped, &clock);
    assert_eq!(failing.progress().state, QueryState::Failed);
    let error = failing.wait().unwrap_err();
    assert_eq!(error.to_string(), "the function of operator `repeat` panicked: thirteen");
    assert_eq!(error.code(), "OPERATOR_PANICKED");
    assert!(!seen.text().contains("finished"), "a failed query publishes nothing");
    assert_eq!(fine.wait().unwrap().events_in, 10);
    assert!(neighbour.text().ends_with("finished"));
    assert_eq!(stepped.engine.budget().used_bytes() % 4096, 0, "only spare pages are left");
}

#[test]
fn stop_drains_and_cancel_drops() {
    let clock = Arc::new(VirtualClock::default());
    let mut stepped = stepped(tiny(), &clock);
    let (stopped, cancelled) = (Seen::default(), Seen::default());
    let stop = stepped.engine.submit(graph(100..1_000_000, 1, &stopped)).unwrap();
    let cancel = stepped.engine.submit(graph(100..1_000_000, 1, &cancelled)).unwrap();
    for _ in 0..500 {
        stepped.workers[0].step(clock.as_ref());
    }
    stop.stop();
    cancel.cancel();
    cancel.stop();
    run(&mut stepped, &clock);
    assert!(stopped.text().ends_with("[W max] [End] finished"));
    let report = stop.wait().unwrap();
    assert_eq!((report.conservation_error(), report.events_in < 999_900), (None, true));
    assert!(matches!(cancel.wait(), Err(QueryError::Cancelled)));
    assert!(!cancelled.text().contains("End"));
}

/// A query that is stopped at its last watermark sends no watermark of the end of time, even if a drain is
/// requested afterwards. So open windows do not fire.
#[test]
fn a_stop_at_the_watermark_ends_below_the_end_of_time() {
    let clock = Arc::new(VirtualClock::default());
    let mut stepped = stepped(tiny(), &clock);
    let seen = Seen::default();
    let query = stepped.engine.submit(graph(100..1_000_000, 1, &seen)).unwrap();
    for _ in 0..500 {
        stepped.workers[0].step(clock.as_ref());
    }
    query.stop_at_watermark();
    query.stop();
    run(&mut stepped, &clock);
    let text = seen.text();
    assert!(text.ends_with("[End] finished") && !text.contains("[W max]"), "{text}");
    assert_eq!(query.wait().unwrap().conservation_error(), None);
}

/// A source that reads 100 values at a time and emits three of them per poll.
struct ReadsAhead {
    pending: std::ops::Range<i64>,
    read: Arc<Mutex<i64>>,
}

impl Source for ReadsAhead {
    type Item = i64;

    fn poll<O: Output<i64>>(
        &mut self,
        _: ProcessingTime,
        limit: usize,
        output: &mut O,
    ) -> Result<Polled, Fault> {
        if self.pending.is_empty() && limit > 0 {
            self.pending = self.pending.end..self.pending.end + 100;
            *self.read.lock() += 100;
        }
        for value in self.pending.by_ref().take(output.room().min(3)) {
            output.push(Record::new(EventTime::from_secs(value), value));
        }
        Ok(Polled::new(SourceStatus::Ready))
    }

    fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

/// A stopped source still emits the records that it has read already, and reads no more.
#[test]
fn a_stop_waits_for_what_was_read() {
    for steps in [1, 7, 50] {
        let clock = Arc::new(VirtualClock::default());
        let mut stepped = stepped(tiny(), &clock);
        let (seen, read) = (Seen::default(), Arc::<Mutex<i64>>::default());
        let mut graph = Graph::new("ahead");
        let (output, entry) = graph.edge();
        let source = ReadsAhead { pending: 100..100, read: Arc::clone(&read) };
        graph.source("source", source, strategy(), Repeat::new(1), output);
        graph.operator("sink", entry, Repeat::new(0), SinkPlan(seen.clone()));
        let query = stepped.engine.submit(graph).unwrap();
        for _ in 0..steps {
            stepped.workers[0].step(clock.as_ref());
        }
        let read_before = *read.lock();
        query.stop();
        run(&mut stepped, &clock);
        let report = query.wait().unwrap();
        assert_eq!((*read.lock(), report.events_in as i64), (read_before, read_before), "{steps} steps");
        assert_eq!(report.conservation_error(), None);
        assert!(seen.text().ends_with("[W max] [End] finished"));
    }
}

/// A test source with one record per second, and a latency marker behind each record.
struct Slow {
    next_s: u64,
}

impl Source for Slow {
    type Item = i64;

    fn poll<O: Output<i64>>(
        &mut self,
        now: ProcessingTime,
        _: usize,
        output: &mut O,
    ) -> Result<Polled, Fault> {
        let due = ProcessingTime::from_nanos(self.next_s * 1_000_000_000);
        if self.next_s > 3 {
            return Ok(Polled::new(SourceStatus::Ended));
        }
        if now < due {
            return Ok(Polled::new(SourceStatus::IdleUntil(due)));
        }
        output.push(Record::new(EventTime::from_secs(self.next_s.cast_signed()), self.next_s.cast_signed()));
        self.next_s += 1;
        Ok(Polled { status: SourceStatus::Ready, latency: Some(due) })
    }

    fn arrived(&self) -> Option<ProcessingTime> {
        self.next_s.checked_sub(1).map(|last_s| ProcessingTime::from_nanos(last_s * 1_000_000_000))
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

/// Idle workers sleep until the source's next record is due, and the latency of the record counts from its
/// due time.
#[test]
fn time_moves_only_when_nothing_is_left_to_do() {
    let clock = Arc::new(VirtualClock::default());
    // The ring of marks has room for a watermark and a latency marker, because a full ring drops the marker.
    let mut stepped = stepped(EdgeLimits { marks_max: 2, ..tiny() }, &clock);
    let seen = Seen::default();
    let mut graph = Graph::new("slow");
    let (output, entry) = graph.edge();
    graph.source("source", Slow { next_s: 1 }, strategy(), Repeat::new(1), output);
    graph.operator("sink", entry, Repeat::new(0), SinkPlan(seen.clone()));
    let query = stepped.engine.submit(graph).unwrap();
    for second in 1..=3u64 {
        let due = run(&mut stepped, &clock);
        assert_eq!(due, ProcessingTime::from_nanos(second * 1_000_000_000));
        // The clock moves to a millisecond after the due time, so each record has 1 ms of latency.
        clock.advance_to(due.plus_nanos(1_000_000));
    }
    run(&mut stepped, &clock);
    let latency = query.wait().unwrap().latency.unwrap();
    assert_eq!(latency.count, 3);
    assert!((latency.p50_ns.abs_diff(1_000_000)) < 1_000, "{latency:?}");
}

/// A source is late by a known time, and its records then take some time inside the engine. Latencies count
/// both times, and processing latencies only the second.
#[test]
fn processing_latency_does_not_count_how_late_the_source_is() {
    let clock = Arc::new(VirtualClock::default());
    let mut stepped = stepped(EdgeLimits { marks_max: 2, ..tiny() }, &clock);
    let mut graph = Graph::new("late");
    let (output, entry) = graph.edge();
    graph.source("source", Slow { next_s: 1 }, strategy(), Repeat::new(1), output);
    graph.operator("sink", entry, Repeat::new(0), SinkPlan(Seen::default()));
    let query = stepped.engine.submit(graph).unwrap();
    for late_ms in 1..=3 {
        let due = run(&mut stepped, &clock);
        clock.advance_to(due.plus_nanos(late_ms * 1_000_000));
        while stepped.workers[0].step(clock.as_ref()) == Step::Busy {
            while stepped.growth.step() {}
            clock.advance_to(clock.now().plus_nanos(50_000));
        }
    }
    run(&mut stepped, &clock);
    let report = query.wait().unwrap();
    let all = report.latencies.summary().unwrap();
    let inside = report.processing_latencies.summary().unwrap();
    assert_eq!((all.count, inside.count), (3, 3));
    // A step takes 50 us, and the source and the sink need a few of them. Histograms have three digits.
    assert!(49_000 < inside.p50_ns && inside.max_ns < 900_000, "{inside:?}");
    let late_ns = all.mean_ns - inside.mean_ns;
    assert!((late_ns - 2_000_000.0).abs() < 10_000.0, "{all:?} {inside:?}");
}

#[test]
fn plans_that_cannot_run_are_refused_before_anything_runs() {
    let clock = Arc::new(VirtualClock::default());
    let stepped = stepped(EdgeLimits::default(), &clock);
    let refuse = |build: &dyn Fn(&mut Graph)| {
        let mut graph = Graph::new("q");
        build(&mut graph);
        let error = stepped.engine.submit(graph).err().expect("refused");
        assert_eq!(stepped.engine.budget().used_bytes(), 0, "nothing was opened");
        error.to_string()
    };
    let sink = || SinkPlan(Seen::default());
    let source =
        |graph: &mut Graph, name: &str| graph.source(name, records(0..1), strategy(), Repeat::new(1), sink());
    assert_eq!(refuse(&|_| ()), "query `q` has no source: add one and end its stream in a sink");
    let twice = refuse(&|graph| (source(graph, "a"), source(graph, "a")).1);
    assert_eq!(twice, "two operators are called `a`: give one of them another name");
    assert_eq!(refuse(&|graph| source(graph, "")), "an operator has an empty name: give it one");
    let backwards = refuse(&|graph| {
        let strategy = WatermarkStrategy::bounded_out_of_order(Span::from_micros(-7));
        graph.source("a", records(0..1), strategy, Repeat::new(1), sink());
    });
    assert_eq!(backwards, "out_of_order of `a` is -7us, but must be at least 0s");
    let unread = refuse(&|graph| {
        let (output, _entry) = graph.edge();
        graph.source("a", records(0..1), strategy(), Repeat::new(1), output);
    });
    assert!(unread.starts_with("no operator reads the output of `a`"), "{unread}");
    let unfed = refuse(&|graph| {
        let (_output, entry) = graph.edge();
        source(graph, "a");
        graph.operator("b", entry, Repeat::new(1), sink());
    });
    assert!(unfed.starts_with("nothing feeds `b`"), "{unfed}");
    let circle = refuse(&|graph| {
        let (to_c, from_b) = graph.edge();
        let (to_b, from_c) = graph.edge();
        source(graph, "a");
        graph.operator("b", from_c, Repeat::new(1), to_c);
        graph.operator("c", from_b, Repeat::new(1), to_b);
    });
    assert!(circle.starts_with("nothing feeds `b`"), "{circle}");
}

#[test]
fn a_budget_without_room_for_the_first_chunks_is_refused_and_given_back() {
    let builder = Engine::builder().memory_budget_bytes(1 << 16);
    let stepped = builder.build_stepped().unwrap();
    let error = stepped.engine.submit(graph(0..10, 1, &Seen::default())).err().expect("refused");
    assert_eq!(error.code(), "BUDGET_TOO_SMALL");
    assert!(error.to_string().contains("`repeat -> sink`"), "{error}");
    assert_eq!(stepped.engine.budget().used_bytes(), 0);
}

/// If a sink fails, the error of the query has the sink's name and its error code.
#[test]
fn a_sink_that_fails_fails_its_query() {
    #[derive(Debug)]
    struct Full;
    impl std::fmt::Display for Full {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("no space")
        }
    }
    impl std::error::Error for Full {}
    impl Coded for Full {
        fn code(&self) -> &'static str {
            "FULL"
        }
    }
    struct Failing;
    impl Sink<i64> for Failing {
        fn write(&mut self, _: Record<i64>) -> Result<(), Fault> {
            Err(Full.into())
        }
    }
    let clock = Arc::new(VirtualClock::default());
    let mut stepped = stepped(tiny(), &clock);
    let mut graph = Graph::new("q");
    graph.source("source-sink", records(0..5), strategy(), Repeat::new(1), SinkPlan(Failing));
    let query = stepped.engine.submit(graph).unwrap();
    run(&mut stepped, &clock);
    let error = query.wait().unwrap_err();
    assert_eq!((error.code(), error.to_string().as_str()), ("FULL", "`source-sink` failed: no space"));
}

/// With worker threads: dropping an engine cancels the queries that still run, and the drop returns.
#[test]
fn dropping_an_engine_cancels_and_joins() {
    let engine = Engine::builder().workers(2).edges(tiny()).build().unwrap();
    let running = engine.submit(graph(100..100_000_000, 1, &Seen::default())).unwrap();
    let done = engine.submit(graph(100..200, 1, &Seen::default())).unwrap();
    assert_eq!(done.wait().unwrap().events_in, 100);
    drop(engine);
    assert!(matches!(running.wait(), Err(QueryError::Cancelled)));
}

/// A sink panics when it is dropped after the end of its query. Neither the worker nor the next query is
/// affected.
#[test]
fn a_panic_in_a_drop_leaves_the_worker_alone() {
    struct Explosive(Seen);
    impl Sink<i64> for Explosive {
        fn write(&mut self, record: Record<i64>) -> Result<(), Fault> {
            self.0.write(record)
        }
    }
    impl Drop for Explosive {
        fn drop(&mut self) {
            panic!("in a drop");
        }
    }
    let clock = Arc::new(VirtualClock::default());
    let mut stepped = stepped(tiny(), &clock);
    let mut explosive = Graph::new("explosive");
    let sink = SinkPlan(Explosive(Seen::default()));
    explosive.source("source-sink", records(0..5), strategy(), Repeat::new(1), sink);
    let first = stepped.engine.submit(explosive).unwrap();
    run(&mut stepped, &clock);
    assert_eq!(first.wait().unwrap().events_in, 5);
    let seen = Seen::default();
    let second = stepped.engine.submit(graph(0..5, 1, &seen)).unwrap();
    run(&mut stepped, &clock);
    assert_eq!(second.wait().unwrap().events_in, 5);
}

/// Under the default policy no query starves: a query with only marks left to process ends, although a second
/// query is always ready to run.
#[test]
fn marks_alone_are_not_starved_by_a_source_at_full_speed() {
    let clock = Arc::new(VirtualClock::default());
    let mut stepped = stepped(tiny(), &clock);
    let endless = stepped.engine.submit(graph(100..10_000_000, 1, &Seen::default())).unwrap();
    let short = stepped.engine.submit(graph(100..102, 0, &Seen::default())).unwrap();
    for microsecond in 0..5_000u64 {
        clock.advance_to(ProcessingTime::from_nanos(microsecond * 1_000));
        stepped.workers[0].step(clock.as_ref());
    }
    assert_eq!((endless.state(), short.state()), (QueryState::Running, QueryState::Finished));
}

/// The engine survives a panic whose payload panics again when it is dropped, and a clock that panics. In
/// neither case does a caller of `wait` wait for ever.
#[test]
fn a_worker_that_dies_ends_every_query() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in a payload's drop");
        }
    }
    struct Bombs;
    impl Sink<i64> for Bombs {
        fn write(&mut self, _: Record<i64>) -> Result<(), Fault> {
            std::panic::panic_any(Bomb)
        }
    }
    /// A test clock that panics when it is read for the hundredth time.
    struct Broken(Mutex<u32>);
    impl Clock for Broken {
        fn now(&self) -> ProcessingTime {
            let mut reads = self.0.lock();
            *reads += 1;
            assert!(*reads < 100, "the clock is broken");
            ProcessingTime::ZERO
        }
    }
    let engine = Engine::builder().build().unwrap();
    let mut graph_of_bombs = Graph::new("bombs");
    graph_of_bombs.source("source-sink", records(0..5), strategy(), Repeat::new(1), SinkPlan(Bombs));
    let error = engine.submit(graph_of_bombs).unwrap().wait().unwrap_err();
    assert_eq!(error.code(), "OPERATOR_PANICKED");
    let after = engine.submit(graph(20..30, 1, &Seen::default())).unwrap();
    assert_eq!(after.wait().unwrap().events_in, 10, "the worker lives");

    let clock = Arc::new(Broken(Mutex::new(0)));
    let engine = Engine::builder().clock(clock).edges(tiny()).build().unwrap();
    let query = engine.submit(graph(20..1_000, 1, &Seen::default())).unwrap();
    assert!(matches!(query.wait(), Err(QueryError::WorkerDied)));
    assert_eq!(engine.submit(graph(20..30, 1, &Seen::default())).err(), Some(PlanError::EngineClosed));
}
