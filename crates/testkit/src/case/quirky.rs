//! The splits of a source. Each is hostile in its own way, and they are hostile to each other: one may be
//! years ahead, one may be empty, one may become idle.

use std::sync::Arc;
use std::time::Duration;

use thalweg::{QueryReport, Span, WatermarkStrategy};
use thalweg_model::{Entropy, SeededEntropy};

use crate::hostile::{Reading, Sides, records};
use crate::oracle::{Promise, Row};
use crate::sabotage::Sabotage;
use crate::script::Script;
use crate::splits;

const YEAR_US: i64 = 365 * 24 * 60 * 60 * 1_000_000;

/// Length of the silence of a split, and the length of silence after which an idle split is left out of the
/// watermark. Both are processing time.
const SILENCE_NS: u64 = 50_000_000;
const IDLE_AFTER: Duration = Duration::from_millis(1);

/// Ways in which the splits of one source are hostile to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Quirk {
    /// The event times of one split are years ahead of the others.
    FarAhead,
    /// One split has no record.
    Empty,
    /// The event times of one split jump ahead by years, now and then.
    Jumps,
    /// One split is silent halfway, for so long that it is left out of the watermark as idle.
    Silent,
    /// All splits have pauses, and polls that return nothing.
    Pauses,
}

impl Quirk {
    const ALL: [Quirk; 5] = [Quirk::FarAhead, Quirk::Empty, Quirk::Jumps, Quirk::Silent, Quirk::Pauses];
}

/// Readings of several splits of one source, and the ways in which these splits are hostile to each other.
pub(super) struct Quirky {
    quirks: Vec<Quirk>,
    /// Index of the one split that is empty, silent, or ahead by years, if the splits have such a quirk.
    odd: usize,
    promise: Promise,
    pub(super) inputs: Vec<Vec<(i64, Reading)>>,
    pauses: u64,
}

impl Quirky {
    /// Draws the records of the splits, one split for each stream in `sides`, with about `count` records in
    /// all.
    pub(super) fn draw(sides: &Sides, count: usize, entropy: &mut dyn Entropy) -> Self {
        let mut inputs = sides.readings(count, entropy);
        let mut quirks = Quirk::ALL.to_vec();
        quirks.retain(|_| entropy.below(4) == 0);
        let odd = entropy.below(inputs.len() as u64) as usize;
        for quirk in &quirks {
            match quirk {
                Quirk::FarAhead => {
                    let years = 1 + entropy.below(100) as i64;
                    inputs[odd].iter_mut().for_each(|(at_us, _)| *at_us += years * YEAR_US);
                }
                Quirk::Empty => inputs[odd].clear(),
                Quirk::Jumps => {
                    let mut by_us = 0;
                    for (at_us, _) in &mut inputs[odd] {
                        by_us += if entropy.below(50) == 0 { YEAR_US } else { 0 };
                        *at_us += by_us;
                    }
                }
                Quirk::Silent | Quirk::Pauses => {}
            }
        }
        Quirky { quirks, odd, promise: sides.sides[0].promise, inputs, pauses: entropy.next_u64() }
    }

    /// Creates the splits of a source without any quirk, so that they are not hostile to each other.
    pub(super) fn plain(sides: &Sides, count: usize, entropy: &mut dyn Entropy) -> Self {
        let inputs = sides.readings(count, entropy);
        Quirky { quirks: Vec::new(), odd: 0, promise: sides.sides[0].promise, inputs, pauses: 0 }
    }

    /// Describes the splits and their quirks, for the message of a failed test.
    pub(super) fn told(&self) -> String {
        let Quirky { quirks, odd, promise, .. } = self;
        let lengths: Vec<usize> = self.inputs.iter().map(Vec::len).collect();
        format!("{quirks:?} of split {odd} of {lengths:?}, {promise:?}")
    }

    /// Returns true if there is only one split. Then its silence makes no record late, because no other split
    /// advances meanwhile.
    pub(super) fn is_single(&self) -> bool {
        self.inputs.len() == 1
    }

    fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }

    /// Creates a source for each split, with the records and pauses of that split.
    pub(super) fn sources(&self, sabotage: &Arc<Sabotage>) -> Vec<Script<Reading>> {
        (0..self.inputs.len()).map(|split| self.source(split, sabotage)).collect()
    }

    fn source(&self, split: usize, sabotage: &Arc<Sabotage>) -> Script<Reading> {
        let input = &self.inputs[split];
        let is_silent = self.has(Quirk::Silent) && split == self.odd;
        let (before, behind) = input.split_at(if is_silent { input.len() / 2 } else { input.len() });
        let mut source = Script::new(records(before), sabotage);
        if is_silent {
            source = source.then_pause(SILENCE_NS).then_records(records(behind));
        }
        if self.has(Quirk::Pauses) {
            source = source.with_pauses(&mut SeededEntropy::new(self.pauses ^ split as u64));
        }
        source
    }

    /// Returns the watermark strategy that all splits of the source have.
    pub(super) fn strategy(&self) -> WatermarkStrategy {
        let Promise { bound_us, step_us } = self.promise;
        let strategy = WatermarkStrategy::bounded_out_of_order(Span::from_micros(bound_us));
        let strategy = strategy.with_step(Span::from_micros(step_us));
        if self.has(Quirk::Silent) { strategy.with_idle_after(IDLE_AFTER) } else { strategy }
    }

    /// Returns the rows, for an oracle, of those records that the splits have made.
    pub(super) fn rows(&self, report: &QueryReport) -> Vec<Row<Reading>> {
        splits::rows(&self.inputs, &report.made, self.promise)
    }
}
