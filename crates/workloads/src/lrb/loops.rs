//! The ceiling: Linear Road's short form as a hand-written single-threaded loop, without an engine. What an engine
//! adds to it is its overhead; so it is as fast as safe Rust lets us make it, operator by operator, and it does
//! the whole job.
//!
//! ```text
//! produce -> keep_reports -> take_positions -+-> keep_standing -> Stops: 120 s by 30 s ---------+
//!                                            +-> Speeds: mean, 60 s --+                         |
//!                                            +-> Counts: count, 60 s -+-> Join: 60 s -> Segments: 60 s -> rows
//! ```
//!
//! One way to write it, [`LoopKind::Blocks`]: `blocks` has the loops over reports, `stops` the accidents, `minute` what
//! is kept per minute and what becomes of it when it ends; `table` is the hash table of all of them. Rows are the
//! engine's, 24 bytes a report.
//!
//! What it may do and an engine may not: the input is known to ascend, so it is cut at the borders of half
//! minutes once per block, and windows close there in a fixed order; records are taken from the generator in turn,
//! which saves the divisions of an index; nothing is counted but the results. What it does not do, though the data
//! would let it: no array indexed by segment in place of a hash table, no loop that fuses two operators.
//!
//! Source: McSherry, Isard and Murray, "Scalability! But at what COST?", HotOS 2015.

mod blocks;
mod minute;
mod stops;
mod table;

use std::num::{NonZeroU64, NonZeroUsize};

use thalweg_model::{EventTime, Windowed};

use super::generator::{LrbGenerator, ROUNDS};
use super::report::{REPORT_PERIOD_S, Segment};
use super::toll::SegmentReport;
use crate::loops::stamps::Stamps;
use crate::loops::{drive, run_workers};

pub use crate::loops::{DEFAULT_BLOCK_RECORDS, LoopKind, LoopReport, LoopStop, WorkerReport};

/// The only way in which the loop is written.
pub const KIND: LoopKind = LoopKind::Blocks;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct LoopOptions<'a> {
    /// Threads. Each runs a loop and a stream of its own; they share nothing but the generator's cache.
    pub workers: NonZeroUsize,
    /// Records in a block; the engine's default is [`DEFAULT_BLOCK_RECORDS`].
    pub block_records: NonZeroUsize,
    /// When a worker stops.
    pub stop: LoopStop,
    /// The record at `index` of a worker's stream is stamped `start + index / nominal_rate_per_s`, rounded
    /// down to a microsecond. The generator's own rate is what it should be: at another the cars report at another
    /// pace than every 30 s.
    pub nominal_rate_per_s: NonZeroU64,
    /// The first record's time.
    pub start: EventTime,
    /// Where records come from.
    pub generator: &'a LrbGenerator,
}

/// Runs the loop on `workers` new threads, from a common start, and waits for all of them.
///
/// A worker's record `index` is the generator's `first_event + index`. Workers start at equal distances in the
/// generator's period, so that they do not read the same lines from memory together. Results come by
/// window, in no order within one.
///
/// # Panics
/// If the stamps leave the range of [`EventTime`] (in builds with overflow checks).
pub fn run(options: LoopOptions<'_>) -> LoopReport<Windowed<Segment, SegmentReport>> {
    run_workers(options.workers, |index, together| {
        let first_event = first_event(options, index);
        let stamps = Stamps::new(options.start, options.nominal_rate_per_s);
        let source = blocks::Source { records: options.generator.records_from(first_event), stamps };
        let body = blocks::Blocks::new(source, options.block_records.get());
        let first_event = usize::try_from(first_event).expect("a period of records was once in memory");
        drive(body, first_event, options.stop, together)
    })
}

/// At the beginning of a round, so that no car reports twice within 30 s.
fn first_event(options: LoopOptions<'_>, worker: usize) -> u64 {
    let first_round = ROUNDS * worker / options.workers;
    first_round as u64 * options.generator.rate_per_s().get() * u64::from(REPORT_PERIOD_S)
}

#[cfg(test)]
mod tests;
