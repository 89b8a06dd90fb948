//! The ceiling: Linear Road's short form (speed, toll and accidents) as a hand-written single-threaded loop,
//! without an engine. The difference to an engine is the engine's overhead. So the loop is as fast as safe
//! Rust allows, operator by operator, and it does the whole job.
//!
//! ```text
//! produce -> keep_reports -> take_positions -+-> keep_standing -> Stops: 120 s by 30 s ---------+
//!                                            +-> Speeds: mean, 60 s --+                         |
//!                                            +-> Counts: count, 60 s -+-> Join: 60 s -> Segments: 60 s -> rows
//! ```
//!
//! It is written in one way, [`LoopKind::Blocks`]: `blocks` has the loops over reports, `stops` the accidents,
//! `minute` the state of one minute and its results when it ends; `table` is the hash table of all of them.
//! Rows are the engine's, 24 bytes a report.
//!
//! The loop relies on facts which an engine cannot use. The input is known to ascend, so it is cut at the
//! borders of half minutes once per block, and windows close there in a fixed order. Records are taken from the
//! generator in sequence, which saves the divisions of an index. Nothing is counted except the results. Two
//! things are left out although the data would allow them: no array indexed by segment replaces a hash table,
//! and no loop fuses two operators.
//!
//! Source: McSherry, Isard and Murray, "Scalability! But at what COST?", HotOS 2015.

mod blocks;
mod minute;
mod stops;
mod table;

use thalweg_model::Windowed;

use super::generator::{LrbGenerator, ROUNDS};
use super::report::{REPORT_PERIOD_S, Segment};
use super::toll::SegmentReport;
use crate::loops::stamps::Stamps;
use crate::loops::{self, drive, run_workers};

pub use crate::loops::{DEFAULT_BLOCK_RECORDS, LoopKind, LoopReport, LoopStop, WorkerReport};

/// The only way in which the loop for Linear Road is written.
pub const KIND: LoopKind = LoopKind::Blocks;

/// Options of a run of the hand-written loop for Linear Road. The rate should equal the generator's own rate; at
/// another rate, cars do not report every 30 s.
pub type LoopOptions<'a> = loops::LoopOptions<&'a LrbGenerator>;

/// Runs the hand-written loop for Linear Road on `workers` new threads, from a common start, and waits for
/// all of them.
///
/// A worker's record `index` is the generator's `first_event + index`. Workers start at equal distances in the
/// generator's period, so that they do not read the same memory at the same time. Results are ordered by
/// window, and unordered within one.
///
/// # Panics
/// If there is no loop of this kind, or the stamps leave the range of [`EventTime`](thalweg_model::EventTime)
/// (in builds with overflow checks).
pub fn run(options: LoopOptions<'_>) -> LoopReport<Windowed<Segment, SegmentReport>> {
    assert_eq!(options.kind, KIND, "Linear Road has no other loop");
    run_workers(options.workers, |index, together| {
        let first_event = first_event(options, index);
        let stamps = Stamps::new(options.start, options.nominal_rate_per_s);
        let source = blocks::Source { records: options.generator.records_from(first_event), stamps };
        let body = blocks::Blocks::new(source, options.block_records.get());
        let first_event = usize::try_from(first_event).expect("a period of records was once in memory");
        drive(body, first_event, options.stop, together)
    })
}

/// Returns the number of the first event of a worker. It is the beginning of a round, so that no car reports
/// twice within 30 s.
fn first_event(options: LoopOptions<'_>, worker: usize) -> u64 {
    let first_round = ROUNDS * worker / options.workers;
    first_round as u64 * options.generator.rate_per_s().get() * u64::from(REPORT_PERIOD_S)
}

#[cfg(test)]
mod tests;
