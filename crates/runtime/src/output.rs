//! Outputs of tasks: edges to other tasks, or a sink.

mod addressed;
mod blocks;

use std::sync::Arc;

use thalweg_memory::sync::{AtomicU64, Mutex, Ordering};
use thalweg_model::{
    Allowance, Clock, Either, EventTime, Fault, Horizon, Mark, Output, ProcessingTime, Record, Sink, Weighed,
};
use thalweg_scheduling::{QueryId, StreamState};

use crate::arrival::Arrival;
use crate::edge::{BlocksOutput, EdgeOutput, EitherOutput, QueueOutput, QueueWriter, Writer};
use crate::firing_latency::FiringLatencies;
use crate::gradient::LatencySums;
use crate::latency::Latencies;

pub use addressed::ToAddressed;
pub(crate) use blocks::Epochs;
pub use blocks::ToContainers;

/// The end of a task's chain. It is generic, so that the loop of the chain calls nothing there.
pub trait TaskOutput<T>: Send {
    /// The output into which the chain pushes.
    type Output<'a>: Output<T>
    where
        Self: 'a;

    /// True if the task of this output is compiled a second time, to run operator by operator. False if edges
    /// are queues: they exist for comparison only, and each chain is compiled a second time for them already.
    const IS_MEASURED: bool = true;

    /// Gives a sink the allowance of its task, before the first step.
    fn fund(&mut self, _allowance: &Allowance) {}

    /// Begins a step of this worker.
    fn begin(&mut self, _worker: usize) {}

    /// Opens the output for pushing. `arrival` is recorded for the records that are pushed.
    fn open(&mut self, arrival: Arrival) -> Self::Output<'_>;

    /// Returns true if a mark may be set, because none is held back.
    fn is_ready(&mut self) -> bool;

    /// Returns true if the last mark is held back until an epoch is closed. Then
    /// [`is_ready`](TaskOutput::is_ready) is called again when there may be room for one more epoch.
    fn awaits_epoch(&self) -> bool {
        false
    }

    /// Returns the least watermark that makes a difference. Lower watermarks need not be
    /// [set](TaskOutput::mark).
    fn next_due(&self) -> EventTime {
        EventTime::MIN
    }

    /// Sets a mark behind all records that were pushed, and records `arrival` for it. Called only while
    /// [`is_ready`](TaskOutput::is_ready) holds.
    ///
    /// # Errors
    /// A sink's [`Fault`].
    fn mark(&mut self, mark: Mark, arrival: Arrival, clock: &dyn Clock) -> Result<(), Fault>;

    /// Returns the fault that occurred while records were pushed, if there was one.
    ///
    /// # Errors
    /// A sink's [`Fault`].
    fn check(&mut self) -> Result<(), Fault>;

    /// Ends a step: hands over the records that were pushed and not handed over yet.
    fn flush(&mut self) {}

    /// Returns the number of records pushed since the start.
    fn pushed(&self) -> u64;

    /// Returns the amount that a sink has written so far, if its records count for several.
    #[inline(always)]
    fn weighed(&self) -> Option<Weighed> {
        None
    }

    /// Returns the bytes held for buffers, without blocks.
    fn held_bytes(&self) -> usize;
}

/// An edge as an output.
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

/// A queue as an output.
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

/// Two edges as an output, for the values of either type.
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
        // Both are asked, because `is_ready` also sets a mark that was held back, if there is room now.
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

/// Progress of a query as its sinks have seen it; shared with the handle of the query.
#[derive(Debug)]
pub(crate) struct Delivered {
    /// Records written. Relaxed: a counter for reports, exact once the query has ended.
    pub(crate) results: AtomicU64,
    pub(crate) latencies: Delays,
    /// The latest intended time of the latency markers that sinks have seen, in ns; 0 before the first.
    /// Relaxed: a figure for people, which only grows.
    last_marker_ns: AtomicU64,
    /// Delays from the ingestion of a watermark that closes something to its arrival at all sinks.
    pub(crate) output_delays: Delays,
    /// Delays from the instant that such a watermark closes, by the stamps of records, to its arrival at all
    /// sinks.
    pub(crate) result_latencies: Delays,
    pub(crate) firings: FiringLatencies,
    /// True if something closes before the end of the stream.
    has_firings: bool,
    /// The last watermark of each sink. The lock is taken when a sink is made, when a handle asks, and when
    /// results that a watermark has closed are delivered. A step that delivers no such results never takes
    /// it.
    watermarks: Mutex<Vec<Arc<SeenWatermark>>>,
}

/// Delays of one kind.
#[derive(Debug)]
pub(crate) struct Delays {
    /// Delays since they were last taken.
    pub(crate) all: Mutex<Latencies>,
    /// Sum, in ns, and number of all delays since the start. Relaxed: the policy uses their change over a
    /// tenth of a second.
    sum_ns: AtomicU64,
    count: AtomicU64,
    /// The target of delays, and the number of delays within it. Relaxed, as above.
    target_ns: Option<u64>,
    met: AtomicU64,
}

/// Numbers of all delays since the start, and of those within the target.
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

    fn note(&self, delay_ns: u64) {
        self.all.lock().record(delay_ns);
        self.sum_ns.fetch_add(delay_ns, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
        if self.target_ns.is_some_and(|target_ns| delay_ns <= target_ns) {
            self.met.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the number of delays within the target, if there is a target. The two counters are read one
    /// after the other: a delay noted between the two reads counts as not met.
    fn deadlines(&self) -> Option<Deadlines> {
        let met = self.met.load(Ordering::Relaxed);
        self.target_ns.map(|_| Deadlines { met, all: self.count.load(Ordering::Relaxed) })
    }

    /// Returns the sum and number of all delays since the start, including those that a handle has taken.
    pub(crate) fn sums(&self) -> LatencySums {
        LatencySums { sum_ns: self.sum_ns.load(Ordering::Relaxed), count: self.count.load(Ordering::Relaxed) }
    }

    /// Takes the delays that were noted since the last call.
    pub(crate) fn take(&self) -> Latencies {
        // Made before the lock is taken, because sinks wait for that lock.
        let nothing = Latencies::new();
        std::mem::replace(&mut *self.all.lock(), nothing)
    }
}

impl Delivered {
    /// Makes the record for a query in which something happens at the watermarks of `horizon`, and whose
    /// results have this latency target.
    pub(crate) fn new(horizon: Horizon, latency_target_ns: Option<u64>) -> Arc<Self> {
        Arc::new(Delivered {
            results: AtomicU64::new(0),
            latencies: Delays::new(latency_target_ns),
            last_marker_ns: AtomicU64::new(0),
            output_delays: Delays::new(latency_target_ns),
            result_latencies: Delays::new(None),
            has_firings: horizon != Horizon::NONE,
            firings: FiringLatencies::new(horizon),
            watermarks: Mutex::new(Vec::new()),
        })
    }

    /// Returns the first instant at which something happens, after the watermark that all sinks have `seen`;
    /// none if it is not known.
    pub(crate) fn next_window_end(&self, seen: Option<EventTime>) -> Option<EventTime> {
        self.firings.next_window_end(seen)
    }

    /// Records a latency marker that a sink sees now.
    fn note_marker(&self, intended: ProcessingTime, clock: &dyn Clock) {
        self.latencies.note(clock.now().nanos_since(intended));
        self.last_marker_ns.fetch_max(intended.as_nanos(), Ordering::Relaxed);
    }

    /// Returns the latest intended time of the latency markers that sinks have seen; none before the first. A
    /// marker that was intended for 0 ns counts as none.
    pub(crate) fn last_marker(&self) -> Option<ProcessingTime> {
        let last_ns = self.last_marker_ns.load(Ordering::Relaxed);
        (last_ns > 0).then(|| ProcessingTime::from_nanos(last_ns))
    }

    /// Returns the ages, at `now`, of the firings that have closed by the stamps of records after `since` and
    /// are not delivered.
    pub(crate) fn overdue(&self, since: ProcessingTime, now: ProcessingTime) -> Latencies {
        self.firings.overdue(self.watermark(), since, now)
    }

    /// Returns how many results were in time, if there is a target. For a query with windows, these are the
    /// results that watermarks have closed, measured from the ingestion of the watermark (Cameo, section 4.1,
    /// "latency"). For other queries they are latency markers.
    pub(crate) fn deadlines(&self) -> Option<Deadlines> {
        if self.has_firings { self.output_delays.deadlines() } else { self.latencies.deadlines() }
    }

    /// Adds the policies' view of each source of `query`.
    pub(crate) fn streams(&self, query: QueryId, all: &mut Vec<StreamState>) {
        self.firings.streams(query, self.watermark(), all);
    }

    /// Records that a sink has seen a watermark.
    fn note_watermark(&self, watermark: EventTime, clock: &dyn Clock) {
        if self.firings.may_deliver(watermark) {
            let note = |delay_ns, since_end_ns: Option<u64>| {
                self.output_delays.note(delay_ns);
                since_end_ns.into_iter().for_each(|latency_ns| self.result_latencies.note(latency_ns));
            };
            self.firings.deliver(|| self.watermark(), clock.now(), note);
        }
    }

    /// Returns the least of the last watermarks of all sinks; none before every sink has seen one.
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

/// A sink as an output.
pub struct ToSink<S> {
    sink: S,
    pushed: u64,
    /// Number of records of `pushed` that are counted in `delivered`.
    reported: u64,
    fault: Option<Fault>,
    watermark: Arc<SeenWatermark>,
    delivered: Arc<Delivered>,
}

impl<S> ToSink<S> {
    pub(crate) fn new(sink: S, delivered: Arc<Delivered>) -> Self {
        let watermark = Arc::new(SeenWatermark::new());
        delivered.watermarks.lock().push(Arc::clone(&watermark));
        ToSink { sink, pushed: 0, reported: 0, fault: None, watermark, delivered }
    }
}

/// An open sink.
pub struct SinkOutput<'a, S>(&'a mut ToSink<S>);

impl<T, S: Sink<T>> Output<T> for SinkOutput<'_, S> {
    fn room(&self) -> usize {
        usize::MAX
    }

    #[inline]
    fn push(&mut self, record: Record<T>) {
        // A fault ends the query. Records that are still on their way to the sink are dropped.
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
        // Counted once per step, not per record, because several sinks of a query add to one counter.
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
            Mark::Latency(intended) => self.delivered.note_marker(intended, clock),
            Mark::Watermark(watermark) => {
                self.watermark.set(watermark);
                self.delivered.note_watermark(watermark, clock);
            }
            Mark::InputWatermark(_) | Mark::Idle | Mark::Barrier(_) | Mark::End => {}
        }
        self.sink.on_mark(mark)?;
        if mark == Mark::End { self.sink.finish() } else { Ok(()) }
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
    use thalweg_model::{ProcessingTime, VirtualClock};

    use crate::arrival::at;

    struct Nowhere;

    impl Sink<i64> for Nowhere {
        fn write(&mut self, _record: Record<i64>) -> Result<(), Fault> {
            Ok(())
        }
    }

    /// Sinks `a` and `b` of one query see watermarks, in seconds; `max` is the watermark at the end of the
    /// stream.
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
