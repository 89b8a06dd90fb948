//! Shared parts of the hand-written loops of all workloads: how they are called, timed and stopped, and their
//! event times. The loops themselves are [`crate::ysb::loops`], [`crate::lrb::loops`],
//! [`crate::netmon::loops`] and [`crate::join::loops`].
//!
//! Nothing here makes a decision per event: [`LoopKind`] is read once per run, the clock every
//! [`CLOCK_STRIDE_EVENTS`].

pub(crate) mod stamps;

use std::num::{NonZeroU64, NonZeroUsize};
use std::panic::resume_unwind;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use thalweg_model::EventTime;

/// The way in which a hand-written loop is written. Not every workload has a loop of every kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopKind {
    /// One loop per operator. The filter copies rows without a branch.
    Blocks,
    /// One loop per operator. The filter lists the positions of the rows it keeps.
    Selection,
    /// One loop for each chain of operators that the engine would make, with blocks of rows between the
    /// chains.
    Chains,
    /// One loop for the whole job, without blocks between operators.
    Fused,
}

impl LoopKind {
    /// All kinds of loops, from the one most like an engine to the one most like compiled code.
    pub const ALL: [LoopKind; 4] = [LoopKind::Blocks, LoopKind::Selection, LoopKind::Chains, LoopKind::Fused];

    /// Returns the name that the option `--api` gives to this kind of loop.
    pub const fn name(self) -> &'static str {
        match self {
            LoopKind::Blocks => "loop-blocks",
            LoopKind::Selection => "loop-selection",
            LoopKind::Chains => "loop-chains",
            LoopKind::Fused => "loop-fused",
        }
    }
}

/// Tells when a worker of a hand-written loop stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopStop {
    /// The worker stops after exactly this many of its events.
    Events(u64),
    /// The worker stops at the first reading of the clock at which this time has passed since it started. The
    /// clock is read every [`CLOCK_STRIDE_EVENTS`].
    After(Duration),
}

/// Options of a run of a hand-written loop that reads a generator of type `G`, which is a reference.
#[derive(Clone, Copy, Debug)]
pub struct LoopOptions<G> {
    /// The kind of hand-written loop that runs, one of those that the workload has.
    pub kind: LoopKind,
    /// Number of threads. Each runs a loop with a stream of its own; they share nothing but the generator's
    /// cache.
    pub workers: NonZeroUsize,
    /// Number of records in a block; the engine's default is [`DEFAULT_BLOCK_RECORDS`]. A block also ends where
    /// the cache of a generator does. [`LoopKind::Fused`] ignores it.
    pub block_records: NonZeroUsize,
    /// Tells when a worker ends its loop: after some events, or after some time.
    pub stop: LoopStop,
    /// Rate of event time: the record at `index` of a worker's stream is stamped `start` plus `index /
    /// nominal_rate_per_s` seconds, rounded down to a microsecond.
    pub nominal_rate_per_s: NonZeroU64,
    /// Event time of the first record of each stream.
    pub start: EventTime,
    /// Generator of the records that the loop reads.
    pub generator: G,
}

/// The default number of records in a block, equal to the engine's.
pub const DEFAULT_BLOCK_RECORDS: NonZeroUsize = NonZeroUsize::new(384).expect("a block holds 384 records");

/// Number of events between two readings of the clock: about 1 ms of the fastest loop.
pub const CLOCK_STRIDE_EVENTS: u64 = 1 << 18;

/// Result of one worker that ran a hand-written loop.
#[derive(Clone, PartialEq, Debug)]
pub struct WorkerReport<R> {
    /// The index in the generator's sequence from which the worker's stream starts.
    pub first_event: usize,
    /// Number of events that the worker has read.
    pub events: u64,
    /// Time that the worker took to process the events.
    pub seconds: f64,
    /// Result rows, ordered by window, then key. They include the last windows, although their end was never
    /// reached. Their number grows with event time.
    pub results: Vec<R>,
}

/// Results of all workers that ran a hand-written loop.
#[derive(Clone, PartialEq, Debug)]
pub struct LoopReport<R> {
    /// The reports of the workers, one for each.
    pub workers: Vec<WorkerReport<R>>,
}

impl<R> LoopReport<R> {
    /// Returns the number of events that all workers have read.
    pub fn events(&self) -> u64 {
        self.workers.iter().map(|worker| worker.events).sum()
    }

    /// Returns the time of the slowest worker, in seconds.
    pub fn seconds(&self) -> f64 {
        self.workers.iter().map(|worker| worker.seconds).fold(0.0, f64::max)
    }

    /// Returns the events per second, summed over the workers.
    pub fn events_per_s(&self) -> f64 {
        self.workers.iter().map(|worker| worker.events as f64 / worker.seconds).sum()
    }
}

/// A hand-written loop with its stream, which is called block by block.
pub(crate) trait Fed {
    /// The type of a row of the loop's results.
    type Row;

    /// Passes the next events of the stream, at least one and at most `limit`, through all operators. Returns
    /// the number of events.
    fn run_block(&mut self, limit: usize) -> usize;

    /// Ends the stream: closes the last windows and returns the results.
    fn finish(self) -> Vec<Self::Row>;
}

/// Runs `worker` on new threads and waits for all of them. The function gets the number of its worker, and
/// the barrier at which all workers start together.
pub(crate) fn run_workers<R: Send>(
    workers: NonZeroUsize,
    worker: impl Fn(usize, &Barrier) -> WorkerReport<R> + Sync,
) -> LoopReport<R> {
    let (worker, together) = (&worker, &Barrier::new(workers.get()));
    thread::scope(|scope| {
        let running: Vec<_> =
            (0..workers.get()).map(|index| scope.spawn(move || worker(index, together))).collect();
        let workers =
            running.into_iter().map(|handle| handle.join().unwrap_or_else(|panic| resume_unwind(panic)));
        LoopReport { workers: workers.collect() }
    })
}

/// Runs a hand-written loop until it is time to stop. This function is compiled once per loop and decides
/// when to read the clock and when to stop, so that the loop itself decides nothing.
pub(crate) fn drive<F: Fed>(
    mut body: F,
    first_event: usize,
    stop: LoopStop,
    together: &Barrier,
) -> WorkerReport<F::Row> {
    let limit = match stop {
        LoopStop::Events(events) => events,
        LoopStop::After(_) => u64::MAX,
    };
    together.wait();
    let started = Instant::now();
    let mut events = 0;
    while events < limit {
        let stride_end = limit.min(events + CLOCK_STRIDE_EVENTS);
        while events < stride_end {
            let left =
                usize::try_from(stride_end - events).expect("a stride has fewer records than 32 bits count");
            events += body.run_block(left) as u64;
        }
        if matches!(stop, LoopStop::After(time) if time <= started.elapsed()) {
            break;
        }
    }
    let results = body.finish();
    WorkerReport { first_event, events, seconds: started.elapsed().as_secs_f64(), results }
}
