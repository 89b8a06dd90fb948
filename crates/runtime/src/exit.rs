//! Where a task writes: an edge to other tasks, or a sink.

use std::sync::Arc;

use thalweg_memory::sync::{AtomicU64, Mutex, Ordering};
use thalweg_model::{Clock, Fault, Mark, Output, ProcessingTime, Record, Sink};

use crate::edge::{EdgeOutput, Writer};
use crate::gradient::LatencySums;
use crate::latency::Latencies;

/// The end of a task's chain. Generic, so that the chain's loop ends in it without a call.
pub trait Exit<T>: Send {
    /// What the chain pushes into.
    type Output<'a>: Output<T>
    where
        Self: 'a;

    /// Opens it for pushing. `now` says when what is pushed came in.
    fn open(&mut self, now: ProcessingTime) -> Self::Output<'_>;

    /// Whether a mark may be set: none is held back.
    fn is_ready(&mut self) -> bool;

    /// Sets a mark behind all that was pushed, in a step that began at `now`; only while
    /// [`is_ready`](Exit::is_ready).
    ///
    /// # Errors
    /// A sink's [`Fault`].
    fn mark(&mut self, mark: Mark, now: ProcessingTime, clock: &dyn Clock) -> Result<(), Fault>;

    /// What went wrong while records were pushed.
    ///
    /// # Errors
    /// A sink's [`Fault`].
    fn check(&mut self) -> Result<(), Fault>;

    /// Records pushed since the start.
    fn pushed(&self) -> u64;

    /// Bytes held for buffers, beyond blocks.
    fn held_bytes(&self) -> usize;
}

/// An edge as an exit.
pub struct ToEdge<T: Send + 'static>(pub(crate) Writer<T>);

impl<T: Send + 'static> Exit<T> for ToEdge<T> {
    type Output<'a> = EdgeOutput<'a, T>;

    #[inline]
    fn open(&mut self, now: ProcessingTime) -> EdgeOutput<'_, T> {
        EdgeOutput(self.0.open(now.as_nanos()))
    }

    fn is_ready(&mut self) -> bool {
        !self.0.is_held()
    }

    fn mark(&mut self, mark: Mark, now: ProcessingTime, _clock: &dyn Clock) -> Result<(), Fault> {
        self.0.mark(mark, now.as_nanos());
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

/// What the sinks of a query have seen; shared with its handle.
#[derive(Debug)]
pub(crate) struct Delivered {
    /// Records written. Relaxed: a counter for reports, exact once the query has ended.
    pub(crate) results: AtomicU64,
    pub(crate) latencies: Mutex<Latencies>,
    /// Sum, in ns, and number of all latencies since the start. Relaxed: the policy looks at their change over a tenth
    /// of a second.
    latency_sum_ns: AtomicU64,
    latency_count: AtomicU64,
}

impl Delivered {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Delivered {
            results: AtomicU64::new(0),
            latencies: Mutex::new(Latencies::new()),
            latency_sum_ns: AtomicU64::new(0),
            latency_count: AtomicU64::new(0),
        })
    }

    fn note_latency(&self, latency_ns: u64) {
        self.latencies.lock().record(latency_ns);
        self.latency_sum_ns.fetch_add(latency_ns, Ordering::Relaxed);
        self.latency_count.fetch_add(1, Ordering::Relaxed);
    }

    /// All latencies since the start, whatever a handle has forgotten.
    pub(crate) fn latency_sums(&self) -> LatencySums {
        LatencySums {
            sum_ns: self.latency_sum_ns.load(Ordering::Relaxed),
            count: self.latency_count.load(Ordering::Relaxed),
        }
    }
}

/// A sink as an exit.
pub struct SinkExit<S> {
    sink: S,
    pushed: u64,
    /// How many of `pushed` are counted in `delivered`.
    reported: u64,
    fault: Option<Fault>,
    delivered: Arc<Delivered>,
}

impl<S> SinkExit<S> {
    pub(crate) fn new(sink: S, delivered: Arc<Delivered>) -> Self {
        SinkExit { sink, pushed: 0, reported: 0, fault: None, delivered }
    }
}

/// An open sink.
pub struct SinkOutput<'a, S>(&'a mut SinkExit<S>);

impl<T, S: Sink<T>> Output<T> for SinkOutput<'_, S> {
    fn room(&self) -> usize {
        usize::MAX
    }

    #[inline]
    fn push(&mut self, record: Record<T>) {
        // After a fault the query is over; what is still on its way to the sink goes nowhere.
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
        // Once per step, not per record: several sinks of a query add to one counter.
        let news = self.0.pushed - self.0.reported;
        if news > 0 {
            self.0.reported = self.0.pushed;
            self.0.delivered.results.fetch_add(news, Ordering::Relaxed);
        }
    }
}

impl<T, S: Sink<T>> Exit<T> for SinkExit<S> {
    type Output<'a>
        = SinkOutput<'a, S>
    where
        S: 'a;

    fn open(&mut self, _now: ProcessingTime) -> SinkOutput<'_, S> {
        SinkOutput(self)
    }

    fn is_ready(&mut self) -> bool {
        true
    }

    fn mark(&mut self, mark: Mark, _now: ProcessingTime, clock: &dyn Clock) -> Result<(), Fault> {
        if let Mark::Latency(intended) = mark {
            let latency_ns = clock.now().nanos_since(intended);
            self.delivered.note_latency(latency_ns);
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

    fn held_bytes(&self) -> usize {
        self.sink.held_bytes()
    }
}
