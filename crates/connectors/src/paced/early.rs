//! Early records: some of a generator's records are sent an epoch early, in place of the records that would come then.
//!
//! ```text
//!   place    0 1 2 3 | 4 5 6 7 | 8 9 ...      the order in which records come; here an epoch is four records
//!   index    0 5 2 3 | 4 9 6 7 | 8 13 ...     the index of the record: place 1 of every epoch is sent an epoch early
//! ```
//!
//! The same places of every epoch send early, so every record comes once. The exceptions are those records of the
//! first epoch that would have to come before the start: they are left out. With watermarks an epoch behind the
//! latest record no record is late, and such watermarks are no further behind than the records that come in time.
//!
//! Source: Miao et al., "StreamBox: Modern Stream Processing on a Multicore Machine", ATC 2017, section 9, "Out-of-order
//! records": "we force a certain percent of records to arrive early in each epoch, i.e., the event time of these records is
//! larger than the enclosing epoch's end watermark". Which ones, it does not say: here they are drawn at random.

use thalweg_model::{Entropy, SeededEntropy, Span};

/// The user's choice which share of the records comes early, and how early.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EarlyShare {
    /// Percentage of the records that come early, limited to the range from 0 to 100.
    pub percent: f64,
    /// Span of event time by which an early record comes earlier; below zero counts as zero.
    pub epoch: Span,
    /// Seed of the random choice of early records.
    pub seed: u64,
}

/// The choice which records come early, prepared for a given rate of records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Early {
    epoch: Span,
    epoch_records: u64,
    /// A record comes early if its random number of 64 bits is below this threshold.
    threshold: u128,
    seed: u64,
    /// True if an epoch is a whole number of records: then the event times of two records that lie
    /// `epoch_records` apart lie exactly an epoch apart.
    is_whole: bool,
}

impl Early {
    /// Creates the choice of early records; returns `None` if no record comes early.
    pub(super) fn new(share: EarlyShare, rate_per_s: u64) -> Option<Self> {
        let epoch = share.epoch.max(Span::ZERO);
        let records = u128::from(epoch.as_micros().unsigned_abs()) * u128::from(rate_per_s) / 1_000_000;
        let is_whole = u128::from(epoch.as_micros().unsigned_abs()) * u128::from(rate_per_s) % 1_000_000 == 0;
        let epoch_records = u64::try_from(records).unwrap_or(u64::MAX).min(1 << 62);
        // The share is rounded to a multiple of 2^-32, so that 100 % is a whole number.
        let threshold = (share.percent.clamp(0.0, 100.0) / 100.0 * 2f64.powi(32)) as u128;
        let early = Early { epoch, epoch_records, threshold: threshold << 32, seed: share.seed, is_whole };
        (early.epoch_records > 0 && early.threshold > 0).then_some(early)
    }

    /// Returns the epoch: the largest span of event time by which a record comes earlier.
    pub(super) fn epoch(&self) -> Span {
        self.epoch
    }

    /// Returns the length of an epoch, the span by which records come early, in records.
    pub(super) fn epoch_records(&self) -> u64 {
        self.epoch_records
    }

    /// Returns true if the event times of two records that lie [`epoch_records`](Self::epoch_records) apart lie
    /// exactly an [`epoch`](Self::epoch) apart.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Returns true if, when the turn of record `index` comes, an early record is sent in its place: the
    /// record that lies one epoch after it. The record `index` itself was sent an epoch earlier then.
    #[inline(always)]
    pub(super) fn is_early(&self, index: u64) -> bool {
        self.is_early_place(index % self.epoch_records)
    }

    /// Returns [`is_early`](Self::is_early) for each index from `index` on, without end. Each result is a
    /// mask: all bits set for true, none for false. It needs no division per index.
    #[inline(always)]
    pub(super) fn early_masks(self, index: u64) -> impl Iterator<Item = u64> {
        let mut place = index % self.epoch_records;
        std::iter::repeat_with(move || {
            let mask = self.mask(place);
            place = if place + 1 == self.epoch_records { 0 } else { place + 1 };
            mask
        })
    }

    /// Returns true if the record that is sent at position `place` of every epoch, counted in records from 0
    /// on, comes early.
    #[inline(always)]
    fn is_early_place(&self, place: u64) -> bool {
        self.mask(place) != 0
    }

    /// Returns a number with all bits set if an early record is sent at this place of every epoch, otherwise
    /// zero. It is the upper half of a difference, which is negative for a random number below the threshold.
    /// A comparison would become a branch, mispredicted for two records in five at a share of 40 %.
    #[inline(always)]
    fn mask(&self, place: u64) -> u64 {
        let drawn = SeededEntropy::new(self.seed ^ place.wrapping_mul(0xd134_2543_de82_ef95)).next_u64();
        (u128::from(drawn).wrapping_sub(self.threshold) >> 64) as u64
    }

    /// Returns the index of the record that is sent when the turn of record `index` comes: this record, or
    /// the early record one epoch after it.
    #[inline(always)]
    pub(super) fn sent_at(&self, index: u64) -> u64 {
        if self.is_early(index) { index.saturating_add(self.epoch_records) } else { index }
    }

    /// Returns all parameters of the choice of early records, for saving.
    pub(super) fn written_down(&self) -> (u64, u128, u64) {
        (self.epoch_records, self.threshold, self.seed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn early(percent: f64, epoch_ms: i64, rate_per_s: u64, seed: u64) -> Option<Early> {
        Early::new(EarlyShare { percent, epoch: Span::from_millis(epoch_ms), seed }, rate_per_s)
    }

    #[test]
    fn none_or_all() {
        for (percent, epoch_ms) in [(0.0, 1_000), (-3.0, 1_000), (50.0, 0), (50.0, -5), (50.0, 1)] {
            assert_eq!(early(percent, epoch_ms, 100, 7), None, "{percent} {epoch_ms}");
        }
        let all = early(100.0, 1_000, 10, 7).unwrap();
        assert!((0..100).all(|index| all.sent_at(index) == index + 10));
        assert_eq!(early(200.0, 1_000, 10, 7), Some(all));
        assert_eq!(all.sent_at(u64::MAX), u64::MAX);
    }

    #[test]
    fn the_share_is_as_asked() {
        for percent in [0.5, 10.0, 40.0, 99.0] {
            let early = early(percent, 1_000, 1_000_000, 3).unwrap();
            let count = (0..1_000_000).filter(|index| early.is_early(*index)).count();
            assert!((count as f64 / 10_000.0 - percent).abs() < 0.2, "{count} of a million at {percent} %");
        }
    }

    proptest! {
        /// Every record comes once, in its time or an epoch before, except for some records of the first
        /// epoch.
        #[test]
        fn nobody_is_lost(percent in 0.1f64..100.0, epoch_ms in 1i64..2_000, rate in 1u64..300, seed: u64) {
            let Some(early) = early(percent, epoch_ms, rate, seed) else { return Ok(()) };
            let epoch = early.epoch_records();
            let one_by_one = (7..3 * epoch).map(|index| early.is_early(index));
            let masks = early.early_masks(7).take((3 * epoch).saturating_sub(7) as usize);
            let expected = one_by_one.map(|is_early| if is_early { u64::MAX } else { 0 });
            prop_assert!(expected.eq(masks));
            let mut found: Vec<u64> = (0..5 * epoch).map(|index| early.sent_at(index)).collect();
            prop_assert!((0..).zip(&found).all(|(place, &index)| index == place || index == place + epoch));
            found.sort_unstable();
            prop_assert!(found.is_sorted_by(|a, b| a < b), "none comes twice");
            let missing: Vec<u64> = (0..5 * epoch).filter(|index| found.binary_search(index).is_err()).collect();
            prop_assert!(missing.iter().all(|&index| index < epoch && early.is_early(index)), "{missing:?}");
        }
    }
}
