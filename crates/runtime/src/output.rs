//! Outputs of tasks: the writing ends of edges to other tasks, or a sink.

mod addressed;
mod blocks;

use std::sync::Arc;

use thalweg_memory::sync::{AtomicU64, Mutex, Ordering};
use thalweg_model::{
    Allowance, Clock, Either, EventTime, Fault, Horizon, LatencyMarker, Mark, Output, ProcessingTime,
    Publisher, Record, Sink, StateError, StateReader, StateWriter, Weighed,
};
use thalweg_scheduling::{QueryId, StreamState};

use crate::arrival::Arrival;
use crate::edge::{BlocksOutput, EdgeOutput, EitherOutput, QueueOutput, QueueWriter, Writer};
use crate::firing_latency::{FiringDelays, FiringLatencies};
use crate::gradient::LatencySums;
use crate::latency::Latencies;

pub use addressed::ToAddressed;
pub(crate) use blocks::Epochs;
pub use blocks::ToContainers;

/// The output of a task, behind the last operator of its chain. It is generic, so that the loop of the chain
/// makes no call to write a record.
pub trait TaskOutput<T>: Send {
    /// The type of output into which an operator chain pushes its records during a step.
    type Output<'a>: Output<T>
    where
        Self: 'a;

    /// True if a task with this output is compiled a second time, to run operator by operator for
    /// measurements. False if edges are queues: these exist for comparison only, and each chain is compiled a
    /// second time for them already.
    const IS_MEASURED: bool = true;

    /// Gives a sink the interface through which it requests memory for its buffers from the engine's budget.
    /// Called before the first step.
    fn fund(&mut self, _allowance: &Allowance) {}

    /// Begins a step of the task; `_worker` is the number of the worker that runs it.
    fn begin(&mut self, _worker: usize) {}

    /// Opens the output, so that a step can push records. `arrival` (the start of the step and the scheduling
    /// context) is stored with the records that are pushed.
    fn open(&mut self, arrival: Arrival) -> Self::Output<'_>;

    /// Returns true if a mark (such as a watermark) may be set now, because no earlier mark is held back by a
    /// full edge.
    fn is_ready(&mut self) -> bool;

    /// Returns true if the last mark (such as a watermark) is held back until an epoch is closed, because too
    /// many are open. In this case [`is_ready`](TaskOutput::is_ready) is called again when one more epoch may
    /// be opened.
    fn awaits_epoch(&self) -> bool {
        false
    }

    /// Returns the least of the coming watermarks that some reader of this output needs. Lower watermarks
    /// need not be [set](TaskOutput::mark).
    fn next_due(&self) -> EventTime {
        EventTime::MIN
    }

    /// Sets a mark (such as a watermark) behind all records that were pushed, and stores `arrival` (time and
    /// scheduling context) with it. Called only while [`is_ready`](TaskOutput::is_ready) returns true.
    ///
    /// # Errors
    /// The [`Fault`] of a sink.
    fn mark(&mut self, mark: Mark, arrival: Arrival, clock: &dyn Clock) -> Result<(), Fault>;

    /// Returns an error if the sink failed while records were pushed.
    ///
    /// # Errors
    /// The [`Fault`] of a sink.
    fn check(&mut self) -> Result<(), Fault>;

    /// Ends a step of the task: hands over the records that were pushed and not handed over yet.
    fn flush(&mut self) {}

    /// Tells a sink that its query takes checkpoints. See [`Sink::publisher`].
    fn publisher(&mut self) -> Option<Box<dyn Publisher>> {
        None
    }

    /// Prepares the output of a sink for a checkpoint. See [`Sink::prepare`]. Empty if this is no sink, or the sink does not
    /// publish with checkpoints.
    ///
    /// # Errors
    /// The [`Fault`] of a sink.
    fn prepare(&mut self, _checkpoint: u64, _is_last: bool) -> Result<Vec<u8>, Fault> {
        Ok(Vec::new())
    }

    /// Writes the state of the output, so that it goes on behind the barrier of a checkpoint.
    ///
    /// # Errors
    /// [`StateError`] if a value cannot be written.
    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    /// Reads what [`save`](TaskOutput::save) wrote.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not such state.
    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }

    /// Tells a sink that its stream had ended in the checkpoint from which the query goes on, so that it finishes nothing.
    fn note_ended(&mut self) {}

    /// Returns the number of records pushed into this output since the start.
    fn pushed(&self) -> u64;

    /// Returns the number of rows that a sink has written so far, if one record stands for several rows.
    #[inline(always)]
    fn weighed(&self) -> Option<Weighed> {
        None
    }

    /// Returns the bytes that this output holds for buffers, without the blocks of edges.
    fn held_bytes(&self) -> usize;
}

/// Writes the records of a task to an edge.
pub struct ToEdge<T: Send + 'static>(pub(crate) Writer<T>);

impl<T: Send + 'static> TaskOutput<T> for ToEdge<T> {
    type Output<'a> = EdgeOutput<'a, T>;

    #[inline]
    fn open(&mut self, arrival: Arrival) -> EdgeOutput<'_, T> {
        BlocksOutput(self.0.open(arrival.stamp()))
    }

    fn is_ready(&mut self) -> bool {
        !self.0.is_held()
    }

    fn mark(&mut self, mark: Mark, arrival: Arrival, _clock: &dyn Clock) -> Result<(), Fault> {
        self.0.mark(mark, arrival.stamp());
        Ok(())
    }

    fn check(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn pushed(&self) -> u64 {
        self.0.cursors().written()
    }

    fn held_bytes(&self) -> usize {
        0
    }
}

/// Writes the records of a task to a queue.
pub struct ToQueue<T: Send + 'static>(pub(crate) QueueWriter<T>);

impl<T: Send + 'static> TaskOutput<T> for ToQueue<T> {
    const IS_MEASURED: bool = false;

    type Output<'a> = QueueOutput<'a, T>;

    #[inline]
    fn open(&mut self, arrival: Arrival) -> QueueOutput<'_, T> {
        QueueOutput(self.0.open(arrival.stamp()))
    }

    fn is_ready(&mut self) -> bool {
        !self.0.is_held()
    }

    fn mark(&mut self, mark: Mark, arrival: Arrival, _clock: &dyn Clock) -> Result<(), Fault> {
        self.0.mark(mark, arrival.stamp());
        Ok(())
    }

    fn check(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn pushed(&self) -> u64 {
        self.0.cursors().written()
    }

    fn held_bytes(&self) -> usize {
        0
    }
}

/// Writes the records of a task to two edges: the values of each side of `Either` go to an edge of their own.
pub struct ToEdges<A, B> {
    pub(crate) left: A,
    pub(crate) right: B,
}

impl<L, R, A: TaskOutput<L>, B: TaskOutput<R>> TaskOutput<Either<L, R>> for ToEdges<A, B> {
    const IS_MEASURED: bool = A::IS_MEASURED && B::IS_MEASURED;

    type Output<'a>
        = EitherOutput<A::Output<'a>, B::Output<'a>>
    where
        Self: 'a;

    #[inline]
    fn open(&mut self, arrival: Arrival) -> Self::Output<'_> {
        EitherOutput { left: self.left.open(arrival), right: self.right.open(arrival) }
    }

    fn is_ready(&mut self) -> bool {
        // Both outputs are asked, even if the first is not ready, because `is_ready` also sets a mark (such
        // as a watermark) that was held back, if there is room now.
        let (left, right) = (self.left.is_ready(), self.right.is_ready());
        left && right
    }

    fn mark(&mut self, mark: Mark, arrival: Arrival, clock: &dyn Clock) -> Result<(), Fault> {
        self.left.mark(mark, arrival, clock)?;
        self.right.mark(mark, arrival, clock)
    }

    fn check(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    fn pushed(&self) -> u64 {
        self.left.pushed() + self.right.pushed()
    }

    fn held_bytes(&self) -> usize {
        0
    }
}

/// Progress of a query as its sinks have seen it: results, latencies and watermarks. The handle of the query
/// shares it.
#[derive(Debug)]
pub(crate) struct Delivered {
    /// Number of records that the sinks have written. Relaxed: a counter for reports, exact once the query
    /// has ended.
    pub(crate) results: AtomicU64,
    pub(crate) latencies: Delays,
    /// Times from the start of the step in which a source read a record to the arrival at a sink of the
    /// latency marker behind the record. The time for which the record waited in front of the engine is not
    /// in them.
    pub(crate) processing_latencies: Delays,
    /// The latest intended send time of a record behind which sinks have seen a latency marker, in ns; 0
    /// before the first. Relaxed: it is only shown to people, and only grows.
    last_marker_ns: AtomicU64,
    /// Times from the ingestion of a watermark that ends a window or the like to the arrival of the watermark
    /// at all sinks.
    pub(crate) output_delays: Delays,
    /// Times from the end of a window, by the stamps of records, to the arrival at all sinks of the watermark
    /// that ends it.
    pub(crate) result_latencies: Delays,
    /// Times from the arrival of the last event that a result was made of to the arrival of the result at all
    /// sinks. The latency target applies to them.
    pub(crate) event_latencies: Delays,
    pub(crate) firings: FiringLatencies,
    /// True if some watermark before the end of the stream makes an operator emit results.
    has_firings: bool,
    /// The last watermark that each sink has seen. The lock is taken when a sink is made, when a handle asks,
    /// and when results that a watermark has fired are delivered. A step that delivers no such results never
    /// takes the lock.
    watermarks: Mutex<Vec<Arc<SeenWatermark>>>,
}

/// Latencies of one kind: their histogram, their sum and count, and how many met the target.
#[derive(Debug)]
pub(crate) struct Delays {
    /// Histogram of the latencies measured since a handle of the query last called [`take`](Delays::take).
    pub(crate) all: Mutex<Latencies>,
    /// Sum in ns of all latencies since the start. Relaxed: the policy uses its change over 100 ms.
    sum_ns: AtomicU64,
    /// Number of all latencies since the start. Relaxed: the policy uses its change over 100 ms.
    count: AtomicU64,
    /// The latency target of the query; `None` if it has no target.
    target_ns: Option<u64>,
    /// Number of latencies that met the target. Relaxed, because the number is only shown and compared over
    /// long intervals.
    met: AtomicU64,
}

/// Number of all latencies since the start, and of those that met the latency target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Deadlines {
    pub(crate) met: u64,
    pub(crate) all: u64,
}

impl Delays {
    fn new(target_ns: Option<u64>) -> Self {
        let zero = || AtomicU64::new(0);
        let all = Mutex::new(Latencies::new());
        Delays { all, sum_ns: zero(), count: zero(), target_ns, met: zero() }
    }

    pub(crate) fn note(&self, delay_ns: u64) {
        self.all.lock().record(delay_ns);
        self.sum_ns.fetch_add(delay_ns, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
        if self.target_ns.is_some_and(|target_ns| delay_ns <= target_ns) {
            self.met.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the number of latencies that met the target, if there is a target. The two counters are read
    /// one after the other, so a latency recorded between the two reads counts as not met.
    fn deadlines(&self) -> Option<Deadlines> {
        let met = self.met.load(Ordering::Relaxed);
        self.target_ns.map(|_| Deadlines { met, all: self.count.load(Ordering::Relaxed) })
    }

    /// Returns the sum and number of all latencies since the start, including those that a handle has taken.
    pub(crate) fn sums(&self) -> LatencySums {
        LatencySums { sum_ns: self.sum_ns.load(Ordering::Relaxed), count: self.count.load(Ordering::Relaxed) }
    }

    /// Takes the histogram of the latencies recorded since the last call.
    pub(crate) fn take(&self) -> Latencies {
        // The empty histogram is made before the lock is taken, because sinks wait for this lock.
        let nothing = Latencies::new();
        std::mem::replace(&mut *self.all.lock(), nothing)
    }
}

impl Delivered {
    /// Makes the record of deliveries for a query. Operators emit results at the watermarks of `horizon`, and
    /// each result should be out within `latency_target_ns`.
    pub(crate) fn new(horizon: Horizon, latency_target_ns: Option<u64>) -> Arc<Self> {
        Arc::new(Delivered {
            results: AtomicU64::new(0),
            latencies: Delays::new(latency_target_ns),
            processing_latencies: Delays::new(None),
            last_marker_ns: AtomicU64::new(0),
            output_delays: Delays::new(None),
            result_latencies: Delays::new(None),
            event_latencies: Delays::new(latency_target_ns),
            has_firings: horizon.holds_results(),
            firings: FiringLatencies::new(horizon),
            watermarks: Mutex::new(Vec::new()),
        })
    }

    /// Returns the first event time after the watermark `seen` at which an operator emits results, such as
    /// the end of a window. `seen` is the watermark that all sinks have seen. Returns `None` if the instant
    /// is not known.
    pub(crate) fn next_window_end(&self, seen: Option<EventTime>) -> Option<EventTime> {
        self.firings.next_window_end(seen)
    }

    /// Records two latencies of a latency marker that arrives at a sink now: from the intended send time of
    /// its record, and from the start of the step that read the record.
    fn note_marker(&self, marker: LatencyMarker, clock: &dyn Clock) {
        let now = clock.now();
        self.latencies.note(now.nanos_since(marker.intended()));
        self.processing_latencies.note(now.nanos_since(marker.taken_in()));
        self.last_marker_ns.fetch_max(marker.intended().as_nanos(), Ordering::Relaxed);
    }

    /// Returns the latest intended send time of a record behind which sinks have seen a latency marker;
    /// `None` before the first. An intended time of 0 ns is left out.
    pub(crate) fn last_marker(&self) -> Option<ProcessingTime> {
        let last_ns = self.last_marker_ns.load(Ordering::Relaxed);
        (last_ns > 0).then(|| ProcessingTime::from_nanos(last_ns))
    }

    /// Returns how long ago, at `now`, windows have ended whose results have not reached all sinks. Only ends
    /// after `since`, by the stamps of records, count.
    pub(crate) fn overdue(&self, since: ProcessingTime, now: ProcessingTime) -> Latencies {
        self.firings.overdue(self.watermark(), since, now)
    }

    /// Returns how long ago, at `now`, the last events arrived of results that have not reached all sinks. A
    /// window that not all sources have reached counts only if it has ended after `since`.
    pub(crate) fn overdue_events(&self, since: ProcessingTime, now: ProcessingTime) -> Latencies {
        self.firings.overdue_events(self.watermark(), since, now)
    }

    /// Returns how many results met the latency target, if there is a target. In a query with windows these
    /// are the results that watermarks fire, measured from the arrival of the last event that they were made
    /// of (Cameo, section 4.1, "latency"). In other queries they are the latency markers.
    pub(crate) fn deadlines(&self) -> Option<Deadlines> {
        if self.has_firings { self.event_latencies.deadlines() } else { self.latencies.deadlines() }
    }

    /// Adds to `all` what policies may know about each source of `query`. The statistics of delays cover the
    /// last `delay_epochs` epochs of the source (Klink's: from one deadline of its windows to the next).
    pub(crate) fn streams(&self, query: QueryId, delay_epochs: usize, all: &mut Vec<StreamState>) {
        self.firings.streams(query, self.watermark(), delay_epochs, all);
    }

    /// Records that a watermark has arrived at a sink, and measures the delays of the results that all sinks
    /// have now.
    fn note_watermark(&self, watermark: EventTime, clock: &dyn Clock) {
        if self.firings.may_deliver(watermark) {
            let note = |FiringDelays { output_ns, result_ns, event_ns }| {
                self.output_delays.note(output_ns);
                result_ns.into_iter().for_each(|result_ns| self.result_latencies.note(result_ns));
                self.event_latencies.note(event_ns);
            };
            self.firings.deliver(|| self.watermark(), clock.now(), note);
        }
    }

    /// Returns the least of the last watermarks of all sinks; `None` before every sink has seen a watermark.
    pub(crate) fn watermark(&self) -> Option<EventTime> {
        let least = self.watermarks.lock().iter().map(|seen| seen.get()).min();
        least.filter(|&watermark| watermark > EventTime::MIN)
    }
}

/// The last watermark that a sink has seen, as the bits of its microseconds; [`EventTime::MIN`], which
/// promises nothing, before the first.
///
/// Written only by the worker that runs the sink, once per watermark that reaches the sink; read by handles.
/// Relaxed: a figure for people, which orders nothing. It is one word, so a reader never sees half of one
/// watermark and half of the next. The runs of the task order the writers, so a reader that loads it twice
/// does not see it go back.
#[derive(Debug)]
struct SeenWatermark(AtomicU64);

impl SeenWatermark {
    fn new() -> Self {
        SeenWatermark(AtomicU64::new(EventTime::MIN.as_micros().cast_unsigned()))
    }

    fn set(&self, watermark: EventTime) {
        self.0.store(watermark.as_micros().cast_unsigned(), Ordering::Relaxed);
    }

    fn get(&self) -> EventTime {
        EventTime::from_micros(self.0.load(Ordering::Relaxed).cast_signed())
    }
}

/// Writes the records of a task to a sink.
pub struct ToSink<S> {
    sink: S,
    pushed: u64,
    /// Number of records written to the sink that are already counted for the whole query.
    reported: u64,
    fault: Option<Fault>,
    watermark: Arc<SeenWatermark>,
    delivered: Arc<Delivered>,
    /// True if the sink publishes with checkpoints, and not at the end of its stream.
    is_staged: bool,
    /// True if the stream of the sink had ended in the checkpoint from which the query goes on.
    had_ended: bool,
}

impl<S> ToSink<S> {
    pub(crate) fn new(sink: S, delivered: Arc<Delivered>) -> Self {
        let watermark = Arc::new(SeenWatermark::new());
        delivered.watermarks.lock().push(Arc::clone(&watermark));
        let (fault, is_staged, had_ended) = (None, false, false);
        ToSink { sink, pushed: 0, reported: 0, fault, watermark, delivered, is_staged, had_ended }
    }
}

/// A sink that is open for the records of one step.
pub struct SinkOutput<'a, S>(&'a mut ToSink<S>);

impl<T, S: Sink<T>> Output<T> for SinkOutput<'_, S> {
    fn room(&self) -> usize {
        usize::MAX
    }

    #[inline]
    fn push(&mut self, record: Record<T>) {
        // A fault of the sink ends the query, so records that are still on their way to the sink are dropped.
        if self.0.fault.is_none() {
            match self.0.sink.write(record) {
                Ok(()) => self.0.pushed += 1,
                Err(fault) => self.0.fault = Some(fault),
            }
        }
    }
}

impl<S> Drop for SinkOutput<'_, S> {
    fn drop(&mut self) {
        // The records are counted once per step, not one by one, because several sinks of a query add to one
        // counter.
        let news = self.0.pushed - self.0.reported;
        if news > 0 {
            self.0.reported = self.0.pushed;
            self.0.delivered.results.fetch_add(news, Ordering::Relaxed);
        }
    }
}

impl<T, S: Sink<T>> TaskOutput<T> for ToSink<S> {
    type Output<'a>
        = SinkOutput<'a, S>
    where
        S: 'a;

    fn fund(&mut self, allowance: &Allowance) {
        self.sink.fund(allowance);
    }

    fn open(&mut self, _arrival: Arrival) -> SinkOutput<'_, S> {
        SinkOutput(self)
    }

    fn is_ready(&mut self) -> bool {
        true
    }

    fn mark(&mut self, mark: Mark, _arrival: Arrival, clock: &dyn Clock) -> Result<(), Fault> {
        match mark {
            Mark::Latency(marker) => self.delivered.note_marker(marker, clock),
            Mark::Watermark(watermark) => {
                self.watermark.set(watermark);
                self.delivered.note_watermark(watermark, clock);
            }
            Mark::InputWatermark(_) | Mark::Idle | Mark::Barrier(_) | Mark::End => {}
        }
        if self.had_ended {
            return Ok(());
        }
        self.sink.on_mark(mark)?;
        if mark == Mark::End && !self.is_staged { self.sink.finish() } else { Ok(()) }
    }

    fn publisher(&mut self) -> Option<Box<dyn Publisher>> {
        let publisher = self.sink.publisher();
        self.is_staged = publisher.is_some();
        publisher
    }

    fn prepare(&mut self, checkpoint: u64, is_last: bool) -> Result<Vec<u8>, Fault> {
        match (self.is_staged, is_last) {
            (true, _) => self.sink.prepare(checkpoint, is_last),
            // A sink that does not publish with checkpoints writes out what it has gathered, because that does not come again.
            // At the end of its stream it finishes.
            (false, false) => self.sink.prepare(checkpoint, false).map(|_| Vec::new()),
            (false, true) => Ok(Vec::new()),
        }
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.sink.save(state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.sink.load(state)
    }

    fn note_ended(&mut self) {
        self.had_ended = true;
    }

    fn check(&mut self) -> Result<(), Fault> {
        self.fault.take().map_or(Ok(()), Err)
    }

    fn pushed(&self) -> u64 {
        self.pushed
    }

    fn weighed(&self) -> Option<Weighed> {
        self.sink.weighed()
    }

    fn held_bytes(&self) -> usize {
        self.sink.held_bytes()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use thalweg_model::{ProcessingTime, Span, TumblingWindows, VirtualClock};

    use crate::arrival::at;

    struct Nowhere;

    impl Sink<i64> for Nowhere {
        fn write(&mut self, _record: Record<i64>) -> Result<(), Fault> {
            Ok(())
        }
    }

    /// Checks the least watermark of the two sinks `a` and `b` of a query. They see watermarks in seconds;
    /// `max` is the watermark at the end of the stream.
    fn check(marks: &str, expected: Option<EventTime>) {
        let delivered = Delivered::new(Horizon::NONE, None);
        let mut sinks = [(); 2].map(|()| ToSink::new(Nowhere, Arc::clone(&delivered)));
        for mark in marks.split_whitespace() {
            let (sink, seconds) = mark.split_at(1);
            let watermark = if seconds == "max" {
                EventTime::MAX
            } else {
                EventTime::from_secs(seconds.parse().unwrap())
            };
            let sink = &mut sinks[usize::from(sink == "b")];
            let (mark, clock) = (Mark::Watermark(watermark), VirtualClock::default());
            TaskOutput::<i64>::mark(sink, mark, at(ProcessingTime::ZERO), &clock).unwrap();
        }
        assert_eq!(delivered.watermark(), expected, "{marks}");
    }

    /// The latency target of a query applies to the results of its windows. If it has none, it applies to latency
    /// markers; ends of windows at which only state expires make no results.
    #[test]
    fn where_no_results_wait_markers_meet_the_target() {
        let windows = || TumblingWindows::new(Span::from_secs(10)).unwrap().into();
        let (of_markers, of_results) = (Deadlines { met: 1, all: 2 }, Deadlines { met: 0, all: 1 });
        for (horizon, expected) in [
            (Horizon::NONE, of_markers),
            (Horizon::of_expiry(windows()), of_markers),
            (Horizon::of_windows(windows(), Span::ZERO), of_results),
            (Horizon::EVERYWHERE, of_results),
        ] {
            let delivered = Delivered::new(horizon, Some(10));
            [5, 11].into_iter().for_each(|latency_ns| delivered.latencies.note(latency_ns));
            delivered.event_latencies.note(20);
            assert_eq!(delivered.deadlines(), Some(expected));
        }
    }

    #[test]
    fn a_query_is_as_far_as_its_last_sink() {
        check("", None);
        check("a5", None);
        check("a5 b3", Some(EventTime::from_secs(3)));
        check("a5 b3 b9", Some(EventTime::from_secs(5)));
        check("a-5 b-3", Some(EventTime::from_secs(-5)));
        check("a5 b3 amax", Some(EventTime::from_secs(3)));
        check("amax bmax", Some(EventTime::MAX));
    }
}
