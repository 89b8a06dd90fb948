//! One of several splits of a generator: each makes the records of every so many runs, so that several workers make them at
//! once.
//!
//! ```text
//!   place    0 1 2 3 | 4 5 6 7 | 8 9 10 11 | 12 13 14 15 | ...      in which order records would come from one source
//!   split       0         1          0            1
//! ```
//!
//! A split is never more than so many runs ahead of the slowest: its records would only wait in state for those of the
//! others, since watermarks are the least of all (Flink calls it watermark alignment).

use std::ops::Range;

use thalweg_memory::sync::{Arc, AtomicU64, Ordering};

use super::Pace;

/// Records in a row of one split of a generator that is drained: as many as a poll makes.
const DRAINED_RUN_RECORDS: u64 = 4_096;

/// At a rate, runs are as long as this, in runs per second: a millisecond, in which a split that has nothing to send holds
/// the others' results up.
const RUNS_PER_S: u64 = 1_000;

/// Runs of all splits that the fastest may be ahead of the slowest.
const AHEAD_RUNS: u64 = 64;

/// How a generator's records are dealt to its splits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dealt {
    splits: u64,
    run_records: u64,
}

impl Dealt {
    /// To one split: all records come from it.
    pub const WHOLE: Dealt = Dealt { splits: 1, run_records: u64::MAX };

    /// To so many splits, one at least, of a generator at this pace.
    pub fn to(splits: usize, pace: Pace) -> Self {
        let run_records = match pace {
            Pace::Drain { .. } => DRAINED_RUN_RECORDS,
            Pace::Rate { rate_per_s, .. } => (rate_per_s / RUNS_PER_S).clamp(1, DRAINED_RUN_RECORDS),
        };
        match splits {
            0 | 1 => Dealt::WHOLE,
            _ => Dealt { splits: splits as u64, run_records },
        }
    }

    /// How many splits there are, one at least.
    pub fn split_count(&self) -> usize {
        usize::try_from(self.splits).expect("splits are counted in usize when they are dealt to")
    }

    /// The places of the run of a split that place `at` belongs to, or else of its first run behind it.
    fn run_at(&self, split: u64, at: u64) -> Range<u64> {
        if self.splits == 1 {
            return at..u64::MAX;
        }
        let run = at / self.run_records;
        let behind = (split + self.splits - run % self.splits) % self.splits;
        let first = (run + behind).saturating_mul(self.run_records);
        first.max(at)..first.saturating_add(self.run_records)
    }

    /// The places of the first records that the splits have made, so many each: in rising order, as ranges that do not
    /// touch. Of one split it is one range.
    pub fn places(&self, made: &[u64]) -> Vec<Range<u64>> {
        assert!(made.len() as u64 == self.splits, "{} splits have made {made:?}", self.splits);
        if self.splits == 1 {
            return std::iter::once(0..made[0]).collect();
        }
        let run_of = |(split, &made): (usize, &u64)| {
            let (runs, rest) = (made / self.run_records, made % self.run_records);
            (split as u64, runs, rest)
        };
        let of_splits: Vec<_> = made.iter().enumerate().map(run_of).collect();
        // Runs of every split up to the last that all have made.
        let whole_runs = of_splits.iter().map(|(_, runs, _)| *runs).min().unwrap_or(0);
        let mut places: Vec<Range<u64>> = Vec::with_capacity(1);
        places.push(0..whole_runs * self.splits * self.run_records);
        for round in whole_runs.. {
            let mut is_any = false;
            for &(split, runs, rest) in &of_splits {
                let count = if round < runs {
                    self.run_records
                } else if round == runs {
                    rest
                } else {
                    0
                };
                let first = (round * self.splits + split) * self.run_records;
                is_any |= count > 0;
                match places.last_mut() {
                    _ if count == 0 => {}
                    Some(last) if last.end == first => last.end = first + count,
                    _ => places.push(first..first + count),
                }
            }
            if !is_any {
                break;
            }
        }
        places
    }
}

/// One of the splits, and how far the others are.
#[derive(Debug)]
pub(super) struct Split {
    dealt: Dealt,
    index: u64,
    /// The first place that each split has not made. Relaxed: nothing but a pace hangs on it.
    progress: Arc<[AtomicU64]>,
    /// The run at hand.
    run: Range<u64>,
}

impl Split {
    /// The only one.
    pub(super) fn whole() -> Self {
        Split { dealt: Dealt::WHOLE, index: 0, progress: Arc::from([]), run: 0..u64::MAX }
    }

    /// All splits of a generator.
    pub(super) fn all(dealt: Dealt) -> Vec<Self> {
        let progress: Arc<[AtomicU64]> = (0..dealt.splits).map(|_| AtomicU64::new(0)).collect();
        let split =
            |index| Split { dealt, index, progress: Arc::clone(&progress), run: dealt.run_at(index, 0) };
        (0..dealt.splits).map(split).collect()
    }

    pub(super) fn splits(&self) -> u64 {
        self.dealt.splits
    }

    /// Which it is of how many, to be saved.
    pub(super) fn written_down(&self) -> (u64, u64) {
        (self.index, self.dealt.splits)
    }

    /// The end of the run at hand.
    #[inline(always)]
    pub(super) fn run_end(&self) -> u64 {
        self.run.end
    }

    /// The place to go on at when the records before `next` are made: the same, or that of the next run.
    #[inline]
    pub(super) fn go_on(&mut self, next: u64) -> u64 {
        if next < self.run.end {
            return next;
        }
        self.turn_to(next)
    }

    /// Goes to the run that a place belongs to, or else to the first behind it; answers where it begins.
    #[cold]
    pub(super) fn turn_to(&mut self, next: u64) -> u64 {
        self.run = self.dealt.run_at(self.index, next);
        if let Some(own) = self.progress.get(self.index as usize) {
            own.store(self.run.start, Ordering::Relaxed);
        }
        self.run.start
    }

    /// Nothing more comes of it: nobody waits for it.
    pub(super) fn end(&self) {
        if let Some(own) = self.progress.get(self.index as usize) {
            own.store(u64::MAX, Ordering::Relaxed);
        }
    }

    /// Whether it is so far ahead that the others come first.
    pub(super) fn is_ahead(&self) -> bool {
        let slowest = self.progress.iter().map(|place| place.load(Ordering::Relaxed)).min();
        let ahead = slowest.map_or(0, |slowest| self.run.start.saturating_sub(slowest));
        ahead >= AHEAD_RUNS.saturating_mul(self.dealt.run_records)
    }
}

impl Drop for Split {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every place belongs to one split, whose runs come in order.
    #[test]
    fn places_are_dealt_in_runs() {
        let dealt = Dealt { splits: 3, run_records: 4 };
        let mut splits = Split::all(dealt);
        for (index, split) in splits.iter_mut().enumerate() {
            let mut next = split.turn_to(0);
            let mut made = Vec::new();
            while made.len() < 10 {
                made.push(next);
                next = split.go_on(next + 1);
            }
            let first = index as u64 * 4;
            let expected: Vec<u64> =
                (0..3).flat_map(|run| (0..4).map(move |n| first + run * 12 + n)).take(10).collect();
            assert_eq!(made, expected);
        }
        assert_eq!(Split::whole().go_on(7), 7);
    }

    #[test]
    fn what_was_made_is_told_by_counts() {
        let dealt = Dealt { splits: 2, run_records: 4 };
        let check = |dealt: Dealt, made: &[u64], expected: &[(u64, u64)]| {
            let places: Vec<(u64, u64)> =
                dealt.places(made).iter().map(|range| (range.start, range.end)).collect();
            assert_eq!(places, expected, "{made:?}");
        };
        check(dealt, &[0, 0], &[(0, 0)]);
        check(dealt, &[8, 8], &[(0, 16)]);
        check(dealt, &[9, 6], &[(0, 14), (16, 17)]);
        check(dealt, &[3, 10], &[(0, 3), (4, 8), (12, 16), (20, 22)]);
        check(Dealt::WHOLE, &[5], &[(0, 5)]);
    }

    /// Who is too far ahead waits for the slowest; who has ended is waited for by nobody.
    #[test]
    fn nobody_runs_away() {
        let mut splits = Split::all(Dealt { splits: 2, run_records: 4 });
        assert!(!splits[1].is_ahead());
        splits[1].turn_to(4 * AHEAD_RUNS);
        assert!(splits[1].is_ahead() && !splits[0].is_ahead());
        splits[0].turn_to(8);
        assert!(!splits[1].is_ahead());
        splits[1].turn_to(40 * AHEAD_RUNS);
        assert!(splits[1].is_ahead());
        splits.remove(0);
        assert!(!splits[0].is_ahead());
    }
}
