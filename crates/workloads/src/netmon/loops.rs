//! The ceilings: netmon as hand-written single-threaded loops, without an engine. The difference to an engine
//! is the engine's overhead, so the loops are as fast as safe Rust allows. They do the whole job: every probe
//! is read from the generator's cache, stamped and added to its pair, and the results are compared with the
//! reference.
//!
//! There are two ways to write it. In `blocks` the source leaves rows in a block and the window takes them from
//! there, as between an engine's operators; `fused` is one loop. They share `window`: the one open window, a
//! hash table of pairs.
//!
//! The loops rely on facts which an engine cannot use. The input is known to ascend, so a window closes when
//! the first record after it comes. The position in the cache is incremented, not divided. Sums are plain,
//! since round-trip times are not below zero. Nothing is counted except the results.
//!
//! Source: McSherry, Isard and Murray, "Scalability! But at what COST?", HotOS 2015.

mod table;
mod window;

use thalweg_model::{EventTime, Record, Windowed};

use super::generator::{CACHE_PROBES, NetmonGenerator};
use super::probe::{IpPair, Probe};
use crate::loops::stamps::Stamps;
use crate::loops::{self, CLOCK_STRIDE_EVENTS, Fed, LoopKind, LoopReport, drive, run_workers};
use window::OpenWindow;

/// The ways in which the loop for netmon is written.
pub const KINDS: [LoopKind; 2] = [LoopKind::Blocks, LoopKind::Fused];

/// Options of a run of the hand-written loop for netmon, whose kind is one of [`KINDS`].
pub type LoopOptions<'a> = loops::LoopOptions<&'a NetmonGenerator>;

/// Runs the hand-written loop for netmon on `workers` new threads, from a common start, and waits for all of
/// them.
///
/// A worker's probe `index` is the cache's `(first_event + index) % CACHE_PROBES`. Workers start at equal
/// distances in the cache, so that they do not read the same memory at the same time. Results are ordered by
/// window, then pair.
///
/// # Panics
/// If there is no loop of this kind, or the stamps leave the range of [`EventTime`] (in builds with overflow checks).
pub fn run(options: LoopOptions<'_>) -> LoopReport<Windowed<IpPair, f64>> {
    run_workers(options.workers, |index, together| {
        let first_event = CACHE_PROBES / options.workers * index;
        let block = match options.kind {
            LoopKind::Blocks => vec![BLANK; options.block_records.get()],
            LoopKind::Fused => Vec::new(),
            other => panic!("netmon has no {}", other.name()),
        };
        let stream = Stream {
            cache: options.generator.cache(),
            place: first_event,
            stamps: Stamps::new(options.start, options.nominal_rate_per_s),
            block,
            open: OpenWindow::new(),
        };
        drive(stream, first_event, options.stop, together)
    })
}

/// The content of a row in a block before a probe is written to it.
const BLANK: Record<Probe> =
    Record::new(EventTime::EPOCH, Probe { pair: IpPair { source: 0, destination: 0 }, rtt: 0.0 });

/// A worker's loop with its stream of probes, which is read from the generator's cache.
struct Stream<'a> {
    cache: &'a [Probe; CACHE_PROBES],
    /// Index, in `cache`, of the record (one probe of the network) that the loop reads next.
    place: usize,
    stamps: Stamps,
    /// The block between source and window. It is empty if the whole job is one loop.
    block: Vec<Record<Probe>>,
    open: OpenWindow,
}

impl Fed for Stream<'_> {
    type Row = Windowed<IpPair, f64>;

    fn run_block(&mut self, limit: usize) -> usize {
        let most = if self.block.is_empty() { CLOCK_STRIDE_EVENTS as usize } else { self.block.len() };
        let count = limit.min(most).min(CACHE_PROBES - self.place);
        let probes = &self.cache[self.place..self.place + count];
        if self.block.is_empty() {
            stamp_and_add(probes, &mut self.stamps, &mut self.open);
        } else {
            let rows = &mut self.block[..count];
            stamp(probes, &mut self.stamps, rows);
            add(rows, &mut self.open);
        }
        self.place = (self.place + count) % CACHE_PROBES;
        count
    }

    fn finish(self) -> Vec<Windowed<IpPair, f64>> {
        self.open.finish()
    }
}

/// Source: copies probes into a block and gives them their event times.
#[inline(never)]
fn stamp(probes: &[Probe], stamps: &mut Stamps, rows: &mut [Record<Probe>]) {
    // The position in the sequence of event times is copied into a local variable, which stays in registers.
    // It is written back once per block, not once per row.
    let mut local = *stamps;
    for (row, probe) in rows.iter_mut().zip(probes) {
        *row = Record::new(local.next_stamp(), *probe);
    }
    *stamps = local;
}

/// Window: adds the rows of a block to the sums of their pairs, window by window.
#[inline(never)]
fn add(rows: &[Record<Probe>], open: &mut OpenWindow) {
    let mut rest = rows;
    while let (Some(first), Some(last)) = (rest.first(), rest.last()) {
        open.move_to(first.event_time);
        let end = open.end();
        let count = if last.event_time < end {
            rest.len()
        } else {
            // The run of rows in the open window has at least the first row, which opened this window.
            rest.partition_point(|row| row.event_time < end).max(1)
        };
        let (run, behind) = rest.split_at(count);
        for row in run {
            open.pairs.add(row.value.pair.as_number(), row.value.rtt);
        }
        rest = behind;
    }
}

/// Does the whole job of netmon in one loop, which writes only the sums to memory.
#[inline(never)]
fn stamp_and_add(probes: &[Probe], stamps: &mut Stamps, open: &mut OpenWindow) {
    let mut local = *stamps;
    for probe in probes {
        let event_time = local.next_stamp();
        if open.end() <= event_time {
            open.move_to(event_time);
        }
        open.pairs.add(probe.pair.as_number(), probe.rtt);
    }
    *stamps = local;
}

#[cfg(test)]
mod tests;
