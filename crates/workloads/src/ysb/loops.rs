//! The ceilings: YSB as hand-written single-threaded loops, without an engine. What an engine adds to them is
//! its overhead, so they are as fast as safe Rust lets us make them, and they do the whole job: every event
//! is copied or read from the generator's cache, stamped, filtered, joined and counted, and the results are
//! compared with the reference.
//!
//! Four ways to write it, from an engine's to a compiler's:
//!
//! 1. `blocks`: one loop per operator; rows are copied from loop to loop through reused blocks.
//! 2. `selection`: the same, but the filter leaves the rows where they are and lists those it keeps.
//! 3. `chains`: source-filter-map is one loop, join-window another.
//! 4. `fused`: one loop.
//!
//! They share `stamps` (event times without a division), `table` (an open-addressing hash table) and `window`
//! (the one open window). Rows are the engine's `Record<YsbEvent>`, 56 bytes.
//!
//! What they may do and an engine may not: the input is known to ascend, so a window closes when the first
//! record behind it comes, and the window is looked up once per block; nothing is counted but the results.
//!
//! Source: McSherry, Isard and Murray, "Scalability! But at what COST?", HotOS 2015.

mod blocks;
mod chains;
mod fused;
mod selection;
mod stamps;
mod table;
mod window;

use std::num::{NonZeroU64, NonZeroUsize};
use std::panic::resume_unwind;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use thalweg_model::{EventTime, Windowed};

use super::event::YsbEvent;
use super::generator::{CACHE_EVENTS, YsbGenerator};
use stamps::Stamps;

/// How the loop is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopKind {
    /// One loop per operator, a branchless filter that copies rows.
    Blocks,
    /// One loop per operator, a filter that lists the rows it keeps.
    Selection,
    /// Source-filter-map and join-window, a block of 16-byte rows between them.
    Chains,
    /// One loop; it knows no blocks.
    Fused,
}

impl LoopKind {
    /// All of them, from an engine's way to a compiler's.
    pub const ALL: [LoopKind; 4] = [LoopKind::Blocks, LoopKind::Selection, LoopKind::Chains, LoopKind::Fused];

    /// The name that `--api` gives it.
    pub const fn name(self) -> &'static str {
        match self {
            LoopKind::Blocks => "loop-blocks",
            LoopKind::Selection => "loop-selection",
            LoopKind::Chains => "loop-chains",
            LoopKind::Fused => "loop-fused",
        }
    }
}

/// When a worker stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopStop {
    /// After exactly this many events of each worker.
    Events(u64),
    /// At the first look at the clock after this time; the clock is looked at every [`CLOCK_STRIDE_EVENTS`].
    After(Duration),
}

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct LoopOptions<'a> {
    /// How the loop is written.
    pub kind: LoopKind,
    /// Threads. Each runs a loop and a stream of its own; they share nothing but the generator's cache.
    pub workers: NonZeroUsize,
    /// Events in a block; the engine's default is [`DEFAULT_BLOCK_RECORDS`]. A block also ends where the
    /// generator's cache does. [`LoopKind::Fused`] ignores it.
    pub block_records: NonZeroUsize,
    /// When a worker stops.
    pub stop: LoopStop,
    /// The event at `index` of a worker's stream is stamped `start + index / nominal_rate_per_s`, rounded
    /// down to a microsecond.
    pub nominal_rate_per_s: NonZeroU64,
    /// The first event's time.
    pub start: EventTime,
    /// Where events come from.
    pub generator: &'a YsbGenerator,
}

/// The engine's default size of a block.
pub const DEFAULT_BLOCK_RECORDS: NonZeroUsize = NonZeroUsize::new(384).expect("not zero");

/// Events between two looks at the clock: about 1 ms of the fastest loop.
pub const CLOCK_STRIDE_EVENTS: u64 = 1 << 18;

/// What one worker did.
#[derive(Clone, PartialEq, Debug)]
pub struct WorkerReport {
    /// The place in the generator's cache from which its stream starts: its event `index` is the cache's
    /// `(first_event + index) % CACHE_EVENTS`. Workers start at equal distances, so that they do not read the
    /// same lines from memory together.
    pub first_event: usize,
    /// Events taken in.
    pub events: u64,
    /// Time for them.
    pub seconds: f64,
    /// Views per campaign and window, the last window included though its end was never reached; by window,
    /// then campaign. Grows by one row per campaign and 10 s of event time.
    pub results: Vec<Windowed<u64, u64>>,
}

/// What all workers did.
#[derive(Clone, PartialEq, Debug)]
pub struct LoopReport {
    /// One report per worker.
    pub workers: Vec<WorkerReport>,
}

impl LoopReport {
    /// Events of all workers.
    pub fn events(&self) -> u64 {
        self.workers.iter().map(|worker| worker.events).sum()
    }

    /// The time of the slowest worker.
    pub fn seconds(&self) -> f64 {
        self.workers.iter().map(|worker| worker.seconds).fold(0.0, f64::max)
    }

    /// Throughput, added over the workers.
    pub fn events_per_s(&self) -> f64 {
        self.workers.iter().map(|worker| worker.events as f64 / worker.seconds).sum()
    }
}

/// Runs the loop on `workers` new threads, from a common start, and waits for all of them.
///
/// # Panics
/// If the stamps leave the range of [`EventTime`] (in builds with overflow checks).
pub fn run(options: LoopOptions<'_>) -> LoopReport {
    let together = Barrier::new(options.workers.get());
    let worker = |index: usize| {
        let first_event = CACHE_EVENTS / options.workers * index;
        let (together, block_records) = (&together, options.block_records.get());
        move || match options.kind {
            LoopKind::Blocks => drive(blocks::Blocks::new(block_records), options, first_event, together),
            LoopKind::Selection => {
                drive(selection::Selection::new(block_records), options, first_event, together)
            }
            LoopKind::Chains => drive(chains::Chains::new(block_records), options, first_event, together),
            LoopKind::Fused => drive(fused::Fused::new(), options, first_event, together),
        }
    };
    thread::scope(|scope| {
        let running: Vec<_> = (0..options.workers.get()).map(|index| scope.spawn(worker(index))).collect();
        let workers =
            running.into_iter().map(|handle| handle.join().unwrap_or_else(|panic| resume_unwind(panic)));
        LoopReport { workers: workers.collect() }
    })
}

/// A hand-written loop, called block by block.
trait Loop {
    /// The most events that [`run_block`](Loop::run_block) takes.
    fn block_records(&self) -> usize;

    /// Takes the next events of the stream through all operators.
    fn run_block(&mut self, events: &[YsbEvent], stamps: &mut Stamps);

    /// The stream has ended: closes the last window.
    fn finish(self) -> Vec<Windowed<u64, u64>>;
}

/// Gives a loop its stream until it is time to stop. Compiled once per loop: all decisions are made here,
/// none in the loops.
fn drive<L: Loop>(
    mut body: L,
    options: LoopOptions<'_>,
    first_event: usize,
    together: &Barrier,
) -> WorkerReport {
    let cache = options.generator.cache();
    let mut stamps = Stamps::new(options.start, options.nominal_rate_per_s);
    let limit = match options.stop {
        LoopStop::Events(events) => events,
        LoopStop::After(_) => u64::MAX,
    };
    together.wait();
    let started = Instant::now();
    let mut events = 0;
    while events < limit {
        let stride_end = limit.min(events + CLOCK_STRIDE_EVENTS);
        while events < stride_end {
            let place = (first_event + events as usize) & (CACHE_EVENTS - 1);
            let left = usize::try_from(stride_end - events).expect("a stride is short");
            let count = left.min(body.block_records()).min(CACHE_EVENTS - place);
            body.run_block(&cache[place..place + count], &mut stamps);
            events += count as u64;
        }
        if matches!(options.stop, LoopStop::After(time) if time <= started.elapsed()) {
            break;
        }
    }
    let results = body.finish();
    WorkerReport { first_event, events, seconds: started.elapsed().as_secs_f64(), results }
}

#[cfg(test)]
mod tests;
