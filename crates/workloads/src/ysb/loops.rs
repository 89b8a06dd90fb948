//! The ceilings: YSB as hand-written single-threaded loops, without an engine. The difference to an engine is
//! the engine's overhead, so the loops are as fast as safe Rust allows. They do the whole job: every event is
//! copied or read from the generator's cache, stamped, filtered, joined and counted, and the results are
//! compared with the reference.
//!
//! There are four ways to write it, from the one nearest to an engine to the one nearest to compiled code:
//!
//! 1. `blocks`: one loop per operator; rows are copied from loop to loop through reused blocks.
//! 2. `selection`: as `blocks`, but the filter leaves the rows in place and lists the positions of those it
//!    keeps.
//! 3. `chains`: source-filter-map is one loop, join-window another.
//! 4. `fused`: one loop.
//!
//! They share event times without a division, `table` (an open-addressing hash table) and `window`
//! (the one open window). Rows are the engine's `Record<YsbEvent>`, 56 bytes.
//!
//! The loops rely on facts which an engine cannot use. The input is known to ascend, so a window closes when
//! the first record after it comes, and the window is looked up once per block. Nothing is counted except the
//! results.
//!
//! Source: McSherry, Isard and Murray, "Scalability! But at what COST?", HotOS 2015.

mod blocks;
mod chains;
mod fused;
mod selection;
mod table;
mod window;

use std::sync::Barrier;

use thalweg_model::Windowed;

use super::event::YsbEvent;
use super::generator::{CACHE_EVENTS, YsbGenerator};
use crate::loops::stamps::Stamps;
use crate::loops::{self, Fed, drive, run_workers};

pub use crate::loops::{
    CLOCK_STRIDE_EVENTS, DEFAULT_BLOCK_RECORDS, LoopKind, LoopReport, LoopStop, WorkerReport,
};

/// Options of a run of the hand-written loop for YSB.
pub type LoopOptions<'a> = loops::LoopOptions<&'a YsbGenerator>;

/// Runs the hand-written loop for YSB on `workers` new threads, from a common start, and waits for all of
/// them.
///
/// A worker's event `index` is the cache's `(first_event + index) % CACHE_EVENTS`. Workers start at equal
/// distances in the cache, so that they do not read the same memory at the same time.
///
/// # Panics
/// If the stamps leave the range of [`EventTime`](thalweg_model::EventTime) (in builds with overflow checks).
pub fn run(options: LoopOptions<'_>) -> LoopReport<Windowed<u64, u64>> {
    run_workers(options.workers, |index, together| {
        let start = Start { first_event: CACHE_EVENTS / options.workers * index, options, together };
        let block_records = options.block_records.get();
        match options.kind {
            LoopKind::Blocks => start.run(blocks::Blocks::new(block_records)),
            LoopKind::Selection => start.run(selection::Selection::new(block_records)),
            LoopKind::Chains => start.run(chains::Chains::new(block_records)),
            LoopKind::Fused => start.run(fused::Fused::new()),
        }
    })
}

/// The data with which a worker starts: the position of its first event, and the barrier at which all workers
/// start together.
struct Start<'a> {
    first_event: usize,
    options: LoopOptions<'a>,
    together: &'a Barrier,
}

impl Start<'_> {
    fn run<L: Loop>(self, body: L) -> WorkerReport<Windowed<u64, u64>> {
        let Start { first_event, options, together } = self;
        let stamps = Stamps::new(options.start, options.nominal_rate_per_s);
        let stream = Stream { body, cache: options.generator.cache(), place: first_event, stamps };
        drive(stream, first_event, options.stop, together)
    }
}

/// A hand-written loop for YSB, which is called block by block.
trait Loop {
    /// Returns the largest number of events that [`run_block`](Loop::run_block) takes.
    fn block_records(&self) -> usize;

    /// Passes the next events of the stream through all operators of the loop.
    fn run_block(&mut self, events: &[YsbEvent], stamps: &mut Stamps);

    /// Ends the stream: closes the last window and returns the results.
    fn finish(self) -> Vec<Windowed<u64, u64>>;
}

/// A worker's loop with its stream of events, which is read from the generator's cache.
struct Stream<'a, L> {
    body: L,
    cache: &'a [YsbEvent; CACHE_EVENTS],
    /// Position of the next event in the generator's cache.
    place: usize,
    stamps: Stamps,
}

impl<L: Loop> Fed for Stream<'_, L> {
    type Row = Windowed<u64, u64>;

    fn run_block(&mut self, limit: usize) -> usize {
        let count = limit.min(self.body.block_records()).min(CACHE_EVENTS - self.place);
        self.body.run_block(&self.cache[self.place..self.place + count], &mut self.stamps);
        self.place = (self.place + count) & (CACHE_EVENTS - 1);
        count
    }

    fn finish(self) -> Vec<Windowed<u64, u64>> {
        self.body.finish()
    }
}

#[cfg(test)]
mod tests;
