//! Splits of a generator: each makes the records of its own runs, so that several workers can make them at once.
//!
//! ```text
//!   place 0 1 2 3 | 4 5 6 7 | 8 9 10 11 | 12 13 14 15 | ... the order in which one source would make the records
//!   split       0         1          0            1
//!   skewed        0           1   |       0              1
//! ```
//!
//! A run is a range of consecutive records, and a round has one run of each split. Splits may be skewed: then some
//! have longer runs, and a round is as long as before.
//!
//! A split is never more than a number of runs ahead of the slowest. Its records would only wait in state for those
//! of the other splits, since the watermark is the least of all. (Flink calls this watermark alignment.)

use std::ops::Range;

use thalweg_memory::sync::{Arc, AtomicBool, AtomicU64, Ordering};

use super::Pace;
use super::course::Course;
use super::load::{Load, LoadError};
use super::zipf::{least_share, zipf_parts};

/// Number of records of a run (the consecutive records that a split makes before the run of another split) if
/// the generator is drained: as many as a poll makes.
const DRAINED_RUN_RECORDS: u64 = 4_096;

/// Number of runs (ranges of consecutive records of one split) per second at a rate. A run lasts 1 ms. For
/// this time, a split without due records may delay the results of the others.
const RUNS_PER_S: u64 = 1_000;

/// Number of runs (ranges of consecutive records), those of all splits counted, by which the fastest split
/// may be ahead of the slowest.
const AHEAD_RUNS: u64 = 64;

/// Length of the shortest run of skewed splits, in records, so that whole numbers are close to the shares.
const SKEWED_RUN_RECORDS_MIN: f64 = 8.0;

/// Distribution of a generator's records over its splits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SplitShares {
    splits: u64,
    /// Number of consecutive records of each run, unless the splits are skewed.
    run_records: u64,
    /// Ends of the runs of one round, in which each split makes one run of consecutive records; only if the
    /// splits are skewed.
    ends: Option<Box<[u64]>>,
}

impl SplitShares {
    /// The distribution with a single split, which makes all records.
    pub const WHOLE: SplitShares = SplitShares { splits: 1, run_records: u64::MAX, ends: None };

    /// Creates a distribution over `splits` splits, at least one, for a generator at the given pace.
    pub fn to(splits: usize, pace: Pace) -> Self {
        match pace {
            Pace::Drain { .. } => SplitShares::in_runs(splits, DRAINED_RUN_RECORDS),
            Pace::Rate { rate_per_s, .. } => SplitShares::at_least(splits, rate_per_s),
        }
    }

    /// Creates a distribution over `splits` splits, at least one, for a generator under the given load, which
    /// begins at the given rate.
    ///
    /// # Errors
    /// [`LoadError`] if the load is invalid.
    pub fn under(splits: usize, load: &Load, rate_per_s: u64) -> Result<Self, LoadError> {
        load.check(rate_per_s)?;
        Ok(SplitShares::on(splits, &Course::new(load, rate_per_s)))
    }

    pub(super) fn on(splits: usize, course: &Course) -> Self {
        SplitShares::at_least(splits, course.least_rate_per_s())
    }

    fn at_least(splits: usize, rate_per_s: u64) -> Self {
        SplitShares::in_runs(splits, (rate_per_s / RUNS_PER_S).clamp(1, DRAINED_RUN_RECORDS))
    }

    fn in_runs(splits: usize, run_records: u64) -> Self {
        match splits {
            0 | 1 => SplitShares::WHOLE,
            _ => SplitShares { splits: splits as u64, run_records, ends: None },
        }
    }

    /// Returns this distribution with runs of whole messages of `message_records`, above zero, so that all records of
    /// a message come from one split.
    pub fn in_messages(self, message_records: u64) -> Self {
        if self.splits == 1 {
            return self;
        }
        let run_records = self.run_records.div_ceil(message_records).saturating_mul(message_records);
        SplitShares { run_records, ..self }
    }

    /// Returns this distribution with skewed numbers of records: by Zipf's law, the first split has the most.
    /// With exponent 0 all splits have the same number. A round of runs may become longer, so that the
    /// smallest split has some records of it.
    pub fn skewed(self, exponent: f64) -> Self {
        if self.splits == 1 {
            return self;
        }
        let splits = self.split_count();
        let least = (SKEWED_RUN_RECORDS_MIN / least_share(splits, exponent)).ceil() as u64;
        let parts = zipf_parts(least.max(self.splits * self.run_records), splits, exponent);
        let end = |sum: &mut u64, part: u64| {
            *sum += part;
            Some(*sum)
        };
        SplitShares { ends: Some(parts.into_iter().scan(0, end).collect()), ..self }
    }

    /// Returns the number of splits that the records are distributed over, at least one.
    pub fn split_count(&self) -> usize {
        usize::try_from(self.splits).expect("splits are counted in usize when they go to")
    }

    /// Returns the places of the run (the consecutive records) of `split` that contains place `at`, from `at`
    /// on. If `at` is in a run of another split, returns the next run of `split`.
    fn run_at(&self, split: u64, at: u64) -> Range<u64> {
        if self.splits == 1 {
            return at..u64::MAX;
        }
        let (round, run) = (self.round_records(), self.run(split));
        let (rounds, within) = (at / round, at % round);
        let rounds = if within < run.end { rounds } else { rounds + 1 };
        let begun = rounds.saturating_mul(round);
        begun.saturating_add(run.start).max(at)..begun.saturating_add(run.end)
    }

    /// Returns the positions, in the sequence of all records, of the run of consecutive records that the
    /// split gets in the first round. Each round gives one such run to every split.
    fn run(&self, split: u64) -> Range<u64> {
        match &self.ends {
            None => split * self.run_records..(split + 1) * self.run_records,
            Some(ends) => {
                let split = split as usize;
                if split == 0 { 0..ends[0] } else { ends[split - 1]..ends[split] }
            }
        }
    }

    /// Returns the number of records in a round, in which each split makes one run of records.
    fn round_records(&self) -> u64 {
        self.run(self.splits - 1).end
    }

    pub(super) fn records_per_own(&self, split: u64) -> u64 {
        if self.splits == 1 {
            return 1;
        }
        let run = self.run(split);
        self.round_records() / (run.end - run.start)
    }

    /// Returns the places, in the order of the undivided source, of the records that the splits have made,
    /// where split `i` has made `made[i]`. They come in rising order, as ranges that do not touch. For a
    /// single split it is one range.
    pub fn places(&self, made: &[u64]) -> Vec<Range<u64>> {
        assert!(made.len() as u64 == self.splits, "{} splits have made {made:?}", self.splits);
        if self.splits == 1 {
            return std::iter::once(0..made[0]).collect();
        }
        let run_of = |(split, &made): (usize, &u64)| {
            let run = self.run(split as u64);
            let run_records = run.end - run.start;
            (run, made / run_records, made % run_records)
        };
        let of_splits: Vec<_> = made.iter().enumerate().map(run_of).collect();
        // Counts the complete rounds, in which every split has made its run of consecutive records.
        let whole_runs = of_splits.iter().map(|(_, runs, _)| *runs).min().unwrap_or(0);
        let round_records = self.round_records();
        let mut places: Vec<Range<u64>> = Vec::with_capacity(1);
        places.push(0..whole_runs * round_records);
        for round in whole_runs.. {
            let mut is_any = false;
            for &(ref run, runs, rest) in &of_splits {
                let count = if round < runs {
                    run.end - run.start
                } else if round == runs {
                    rest
                } else {
                    0
                };
                let first = round * round_records + run.start;
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

/// The position of a split in a form that can be saved.
pub(super) type WrittenSplit = (u64, u64, Vec<u64>);

/// How far the splits of a generator are, by which none of them gets too far ahead.
///
/// It is no part of the position of a split: each record belongs to one split by its place, so whichever split is saved first,
/// each record lies before the position of its split or behind it.
#[derive(Debug)]
struct Progress {
    /// For each split of the generator: the place, in the order of all records, of the first record that the split
    /// has not made. Written by its split and read by all. Relaxed ordering is enough, since only the pace of the splits
    /// depends on it.
    places: Box<[AtomicU64]>,
    /// Whether a split was restored. Written and read by splits that are restored, one after the other, before the first
    /// poll; so Relaxed ordering is enough.
    is_restored: AtomicBool,
}

impl Progress {
    fn new(splits: u64) -> Arc<Self> {
        let places = (0..splits).map(|_| AtomicU64::new(0)).collect();
        Arc::new(Progress { places, is_restored: AtomicBool::new(false) })
    }
}

/// One of the splits of a generator, and the progress of all splits.
#[derive(Debug)]
pub(super) struct Split {
    shares: SplitShares,
    index: u64,
    progress: Arc<Progress>,
    /// The range of places, in the order of all records, whose records the split is making now.
    run: Range<u64>,
}

impl Split {
    /// Creates the only split of a generator that is not split: it makes all records.
    pub(super) fn whole() -> Self {
        Split { shares: SplitShares::WHOLE, index: 0, progress: Progress::new(0), run: 0..u64::MAX }
    }

    /// Creates all splits of a generator. Each sees how far all others are, so that none gets too far ahead.
    pub(super) fn all(shares: &SplitShares) -> Vec<Self> {
        let progress = Progress::new(shares.splits);
        let split = |index| Split {
            shares: shares.clone(),
            index,
            progress: Arc::clone(&progress),
            run: shares.run_at(index, 0),
        };
        (0..shares.splits).map(split).collect()
    }

    pub(super) fn splits(&self) -> u64 {
        self.shares.splits
    }

    /// Returns the number of records that all splits make for each record of this one.
    pub(super) fn records_per_own(&self) -> u64 {
        self.shares.records_per_own(self.index)
    }

    /// Returns the split's index, the number of splits, and the ends of the runs of a round (in which each split
    /// makes one run of consecutive records), to be saved.
    pub(super) fn written_down(&self) -> WrittenSplit {
        let ends = (0..self.shares.splits).map(|split| self.shares.run(split).end);
        (self.index, self.shares.splits, ends.collect())
    }

    /// Returns the end of the range of places whose records the split is making now.
    #[inline(always)]
    pub(super) fn run_end(&self) -> u64 {
        self.run.end
    }

    /// Returns the next place of the split when its records before `next` are made: `next` itself, or the
    /// start of the split's next run.
    #[inline]
    pub(super) fn go_on(&mut self, next: u64) -> u64 {
        if next < self.run.end {
            return next;
        }
        self.turn_to(next)
    }

    /// Restores the split at place `next`, and returns the place at which to continue. All splits that had not ended are
    /// restored before the first poll, so no split waits for another one.
    pub(super) fn restore(&mut self, next: u64) -> u64 {
        if !self.progress.is_restored.swap(true, Ordering::Relaxed) {
            self.progress.places.iter().for_each(|place| place.store(u64::MAX, Ordering::Relaxed));
        }
        self.turn_to(next)
    }

    /// Moves the split to its run that contains place `next`, or else to its first run after this place.
    /// Returns the place at which to continue.
    #[cold]
    pub(super) fn turn_to(&mut self, next: u64) -> u64 {
        self.run = self.shares.run_at(self.index, next);
        if let Some(own) = self.progress.places.get(self.index as usize) {
            own.store(self.run.start, Ordering::Relaxed);
        }
        self.run.start
    }

    /// Marks the split as ended, so that no other split waits for it.
    pub(super) fn end(&self) {
        if let Some(own) = self.progress.places.get(self.index as usize) {
            own.store(u64::MAX, Ordering::Relaxed);
        }
    }

    /// Returns true if the split is so far ahead of the slowest that it must wait.
    pub(super) fn is_ahead(&self) -> bool {
        let slowest = self.progress.places.iter().map(|place| place.load(Ordering::Relaxed)).min();
        let ahead = slowest.map_or(0, |slowest| self.run.start.saturating_sub(slowest));
        ahead >= AHEAD_RUNS.saturating_mul(self.shares.run_records)
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

    /// Every place belongs to exactly one split, and the runs of a split come in order.
    #[test]
    fn places_are_split_in_runs() {
        let shares = SplitShares { splits: 3, run_records: 4, ends: None };
        let mut splits = Split::all(&shares);
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

    /// A run of a split is a whole number of messages, and at least as long as before. A single split makes all
    /// messages.
    #[test]
    fn runs_are_whole_messages() {
        let run = |run_records, message_records| {
            let shares = SplitShares { splits: 64, run_records, ends: None }.in_messages(message_records);
            (shares.run_records, shares.round_records())
        };
        assert_eq!(run(64, 1_000), (1_000, 64_000));
        assert_eq!(run(4_096, 1_000), (5_000, 320_000));
        assert_eq!(run(1_000, 1_000), (1_000, 64_000));
        assert_eq!(run(64, 1), (64, 4_096));
        assert_eq!(SplitShares::WHOLE.in_messages(1_000), SplitShares::WHOLE);
    }

    #[test]
    fn what_was_made_is_told_by_counts() {
        let shares = SplitShares { splits: 2, run_records: 4, ends: None };
        let check = |shares: &SplitShares, made: &[u64], expected: &[(u64, u64)]| {
            let places: Vec<(u64, u64)> =
                shares.places(made).iter().map(|range| (range.start, range.end)).collect();
            assert_eq!(places, expected, "{made:?}");
        };
        check(&shares, &[0, 0], &[(0, 0)]);
        check(&shares, &[8, 8], &[(0, 16)]);
        check(&shares, &[9, 6], &[(0, 14), (16, 17)]);
        check(&shares, &[3, 10], &[(0, 3), (4, 8), (12, 16), (20, 22)]);
        check(&SplitShares::WHOLE, &[5], &[(0, 5)]);
        let skewed = SplitShares { splits: 2, run_records: 4, ends: Some(Box::new([6, 8])) };
        check(&skewed, &[0, 0], &[(0, 0)]);
        check(&skewed, &[6, 2], &[(0, 8)]);
        check(&skewed, &[7, 4], &[(0, 9), (14, 16)]);
        check(&skewed, &[3, 3], &[(0, 3), (6, 8), (14, 15)]);
    }

    /// The numbers of records of skewed splits follow Zipf's law in whole records. A round is as long as
    /// before, or so long that the smallest split has eight records.
    #[test]
    fn splits_may_be_skewed() {
        let ends = |splits, run_records, exponent| {
            SplitShares::in_runs(splits, run_records).skewed(exponent).ends.map(Vec::from)
        };
        assert_eq!(ends(3, 110, 1.0), Some(vec![180, 270, 330]));
        assert_eq!(ends(3, 110, 0.0), Some(vec![110, 220, 330]));
        assert_eq!(ends(2, 1, 1.0), Some(vec![16, 24]));
        assert_eq!(ends(1, 100, 1.0), None);
        let shares = SplitShares::in_runs(3, 110).skewed(1.0);
        assert_eq!([0, 1, 2].map(|split| shares.records_per_own(split)), [1, 3, 5]);
        let mut last = Split::all(&shares).pop().unwrap();
        assert_eq!((last.turn_to(0), last.go_on(329), last.go_on(330)), (270, 329, 600));
        assert_eq!(last.turn_to(650), 650, "in the middle of a run");
    }

    /// A split that is too far ahead waits for the slowest one, and no split waits for one that has ended.
    #[test]
    fn nobody_runs_away() {
        let mut splits = Split::all(&SplitShares { splits: 2, run_records: 4, ends: None });
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
