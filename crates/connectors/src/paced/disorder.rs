//! Intended disorder: a generator's records, shuffled within a span of event time.
//!
//! ```text
//!   place    0 1 2 3 4 | 5 6 7 8 9 | ...      the order in which records come
//!   index    3 1 4 2 0 | 7 5 8 6 9 | ...      the generator's index of the record, which sets its event time
//! ```
//!
//! The sequence is cut into runs of as many records as lie within the span, and each run is shuffled by itself. So a
//! record lies behind the latest before it by at most the span, and by half of it on average. After a whole number of
//! runs the same records have come as without disorder, in another order.
//!
//! The shuffle (ours): the record at place `p` of a run of `n` is `(start + p * step) mod n`. `step` and `n` have no
//! common divisor, so that every record comes once, and `start` is drawn anew for every run. With `step` near `n`
//! divided by the golden ratio, neighbours come from all over the run (Knuth, "The Art of Computer Programming",
//! volume 3, section 6.4, theorem S). Each further record costs an addition.
//!
//! In addition records can come an epoch early, in any order: see `paced/early.rs`.

use std::ops::Range;

use thalweg_model::{Entropy, SeededEntropy, Span};

use super::early::{Early, EarlyShare};

/// The fractional part of the golden ratio, in units of 2^-64.
const GOLDEN: u128 = 0x9e37_79b9_7f4a_7c15;

/// The way in which a generator's records are shuffled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Disorder {
    bound: Span,
    seed: u64,
    run_records: u64,
    step: u64,
    rate_per_s: u64,
    early: Option<Early>,
}

impl Disorder {
    /// Creates the shuffling of records with `rate_per_s` per second of event time, within the span `bound`.
    /// A bound below zero counts as zero.
    pub fn new(bound: Span, rate_per_s: u64, seed: u64) -> Self {
        let bound = bound.max(Span::ZERO);
        let apart = bound.as_micros().cast_unsigned() as u128 * u128::from(rate_per_s) / 1_000_000;
        // The number of records that are shuffled together is bounded, so that the sum of two of their places
        // stays below 2^64.
        let run_records = u64::try_from(apart + 1).unwrap_or(u64::MAX).min(1 << 62);
        let near_golden = (u128::from(run_records) * GOLDEN) >> 64;
        let mut step = u64::try_from(near_golden).expect("a fraction of 64 bits fits 64 bits").max(1);
        while greatest_common_divisor(step, run_records) != 1 {
            step += 1;
        }
        Disorder { bound, seed, run_records, step, rate_per_s, early: None }
    }

    /// Returns a shuffling like this one, in which a share of the records also comes one epoch (a span of
    /// event time) early.
    pub fn with_early(self, share: EarlyShare) -> Self {
        Disorder { early: Early::new(share, self.rate_per_s), ..self }
    }

    /// Returns true if records come in another order than that of the generator.
    pub fn is_any(&self) -> bool {
        1 < self.run_records || self.early.is_some()
    }

    /// Returns which records come early, if early records are the only disorder and an epoch is a whole
    /// number of records.
    pub(super) fn early_only(&self) -> Option<Early> {
        self.early.filter(|early| self.run_records == 1 && early.is_whole())
    }

    /// Returns how far the event time of a record may lie behind the latest record before it.
    pub fn bound(&self) -> Span {
        let shuffled = if 1 < self.run_records { self.bound } else { Span::ZERO };
        let early = self.early.map_or(Span::ZERO, |early| early.epoch());
        Span::from_micros(shuffled.as_micros().saturating_add(early.as_micros()))
    }

    /// Returns a range of record indexes (positions in event-time order) all of which are certain to be among the
    /// first `count` records that arrive. [`others`](Self::others) has the remaining ones.
    pub fn whole(&self, count: u64) -> Range<u64> {
        let places = count - count % self.run_records;
        let first = self.early.map_or(0, |early| early.epoch_records());
        first.min(places)..places
    }

    /// Returns the indexes, among the first `count` records that come, of the records outside of the range that
    /// [`whole`](Self::whole) returns.
    pub fn others(&self, count: u64) -> impl Iterator<Item = u64> + use<> {
        let Range { start: first, end: places } = self.whole(count);
        let early = self.early;
        let epoch_records = early.map_or(0, |early| early.epoch_records());
        // Early records come one epoch (a span of event time) before their turn. So those of the first epoch, which
        // would come before the start, never come, and at the other end some records of the next epoch have come
        // early.
        let begun = (0..first).filter(move |index| early.is_none_or(|early| !early.is_early(*index)));
        let ahead = (places.saturating_sub(epoch_records)..places)
            .filter(move |index| early.is_some_and(|early| early.is_early(*index)))
            .map(move |index| index + epoch_records);
        let left = usize::try_from(count - places).expect("a run makes what it can count");
        begun.chain(ahead).chain(self.indexes_from(places).take(left))
    }

    /// Returns the indexes of the records from `place` on, in the order in which they come.
    pub fn indexes_from(&self, place: u64) -> impl Iterator<Item = u64> + use<> {
        let (first, within) = (place - place % self.run_records, place % self.run_records);
        let walked = u128::from(within) * u128::from(self.step) % u128::from(self.run_records);
        let walked = u64::try_from(walked).expect("a remainder is below the run's records");
        let mut indexes =
            Indexes { disorder: *self, first, at: self.start_of_run(first), left: self.run_records - within };
        indexes.advance(walked);
        indexes
    }

    /// Returns the index, relative to `first`, of the record that comes first in the run (the records that
    /// are shuffled together) that begins at `first`.
    fn start_of_run(&self, first: u64) -> u64 {
        if self.run_records == 1 {
            return 0;
        }
        let run = first / self.run_records;
        SeededEntropy::new(self.seed ^ run.wrapping_mul(0xd134_2543_de82_ef95)).below(self.run_records)
    }

    /// Returns all parameters of the shuffling, for saving.
    pub(super) fn written_down(&self) -> WrittenDisorder {
        (self.run_records, self.seed, self.early.map(|early| early.written_down()))
    }
}

/// The parameters of a [`Disorder`] in a form that can be saved.
pub(super) type WrittenDisorder = (u64, u64, Option<(u64, u128, u64)>);

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Endless iterator over the indexes of records in the order in which they come.
struct Indexes {
    disorder: Disorder,
    /// Index of the first record of the run that is being shuffled.
    first: u64,
    /// Index of the next record in the shuffled order, relative to the start of the run.
    at: u64,
    /// Number of remaining records of the run that is being shuffled, the next one included; not zero.
    left: u64,
}

impl Indexes {
    fn advance(&mut self, by: u64) {
        let run_records = self.disorder.run_records;
        self.at += by;
        if run_records <= self.at {
            self.at -= run_records;
        }
    }
}

impl Iterator for Indexes {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let index = self.first.saturating_add(self.at);
        self.left -= 1;
        if self.left == 0 {
            let Disorder { run_records, .. } = self.disorder;
            self.first = self.first.saturating_add(run_records);
            (self.at, self.left) = (self.disorder.start_of_run(self.first), run_records);
        } else {
            self.advance(self.disorder.step);
        }
        Some(self.disorder.early.map_or(index, |early| early.sent_at(index)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn indexes(disorder: &Disorder, places: usize) -> Vec<u64> {
        disorder.indexes_from(0).take(places).collect()
    }

    #[test]
    fn without_a_span_records_come_in_order() {
        for bound in [Span::ZERO, Span::from_micros(-5), Span::from_micros(999)] {
            assert_eq!(indexes(&Disorder::new(bound, 1_000, 3), 5), [0, 1, 2, 3, 4], "{bound}");
        }
    }

    /// A run has the records that lie within the span, its end included: 1 ms has two records at 1,000
    /// records/s.
    #[test]
    fn a_run_is_what_lies_within_the_span() {
        let records = |micros, rate| Disorder::new(Span::from_micros(micros), rate, 0).run_records;
        assert_eq!((records(1_000, 1_000), records(1_999, 1_000), records(2_000, 1_000)), (2, 2, 3));
        assert_eq!(records(6_000_000, 5_000), 30_001);
        assert_eq!(records(i64::MAX, 1_000_000_000), 1 << 62);
        assert!(
            Disorder::new(Span::from_micros(i64::MAX), 1_000_000_000, 0)
                .indexes_from(u64::MAX)
                .nth(9)
                .is_some()
        );
    }

    proptest! {
        /// Every record of a run comes once. None lies behind another by more than the span, and some lie
        /// behind by half of it.
        #[test]
        fn each_run_is_shuffled_by_itself(micros in 0..2_000_000i64, rate in 1..3_000u64, seed: u64) {
            let disorder = Disorder::new(Span::from_micros(micros), rate, seed);
            let run = disorder.run_records as usize;
            let found = indexes(&disorder, 3 * run);
            let event_time = |index: u64| (index * 1_000_000 / rate) as i64;
            let (mut latest, mut most) = (0, 0);
            for &index in &found {
                latest = latest.max(event_time(index));
                most = most.max(latest - event_time(index));
            }
            prop_assert!(most <= micros, "{most} us behind");
            prop_assert!(run < 4 || micros / 4 < most, "{most} us behind");
            for run in found.chunks(run) {
                let mut sorted = run.to_vec();
                sorted.sort_unstable();
                prop_assert!(sorted.is_sorted_by(|a, b| a + 1 == *b));
            }
            prop_assert_eq!(found.iter().max(), Some(&(3 * run as u64 - 1)));
        }

        /// A shuffled generator says which records it has made: a range of indexes without gaps, and single indexes behind it.
        /// Together these are the first records, each once, and no record is later than the bound of the disorder allows.
        #[test]
        fn whole_ones_and_others(
            micros in 0..2_000_000i64,
            (rate, percent, seed) in (1..300u64, 0f64..100.0, any::<u64>()),
            count in 0..3_000u64,
        ) {
            let share = EarlyShare { percent, epoch: Span::from_secs(1), seed };
            let disorder = Disorder::new(Span::from_micros(micros), rate, seed).with_early(share);
            let found = indexes(&disorder, count as usize);
            let event_time = |index: u64| (index * 1_000_000 / rate) as i64;
            let mut latest = 0;
            for &index in &found {
                latest = latest.max(event_time(index));
                prop_assert!(latest - event_time(index) <= disorder.bound().as_micros());
            }
            prop_assert!(disorder.bound().as_micros() <= micros + 1_000_000);
            let mut told: Vec<u64> = disorder.whole(count).chain(disorder.others(count)).collect();
            let others_lie_outside = disorder.others(count).all(|index| !disorder.whole(count).contains(&index));
            prop_assert!(others_lie_outside);
            told.sort_unstable();
            let mut sorted = found;
            sorted.sort_unstable();
            prop_assert_eq!(sorted, told);
        }

        /// The order of records from any place on is the rest of the order from the start.
        #[test]
        fn the_rest_is_the_rest(micros in 0..2_000_000i64, rate in 1..100u64, seed: u64, place in 0..1_000usize) {
            let share = EarlyShare { percent: (seed % 50) as f64, epoch: Span::from_secs(1), seed };
            let disorder = Disorder::new(Span::from_micros(micros), rate, seed).with_early(share);
            let rest: Vec<u64> = disorder.indexes_from(place as u64).take(500).collect();
            prop_assert_eq!(&indexes(&disorder, place + 500)[place..], rest);
        }
    }
}
