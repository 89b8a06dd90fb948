//! A stream that begins with several splits: its records distributed over them, and the oracle's rows of the records
//! made.

use thalweg_model::Entropy;

use crate::oracle::{self, Promise, Row};
use crate::seed::pick;

/// How records are distributed over the splits of a source: runs of consecutive records go to each split in
/// turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SplitRuns {
    splits: usize,
    run_records: usize,
}

impl SplitRuns {
    /// Distribution in which all records go to one split.
    pub const WHOLE: SplitRuns = SplitRuns { splits: 1, run_records: 1 };

    /// Creates a distribution over `splits` splits, in runs of `run_records` records.
    ///
    /// # Panics
    /// If either is zero.
    pub fn new(splits: usize, run_records: usize) -> Self {
        assert!(splits > 0 && run_records > 0, "records go somewhere");
        SplitRuns { splits, run_records }
    }

    /// Draws a distribution: one split in half of the cases, otherwise two to four, with runs of one, three
    /// or fifty records.
    pub fn draw(entropy: &mut dyn Entropy) -> Self {
        match entropy.below(2) {
            0 => SplitRuns::WHOLE,
            _ => SplitRuns::new(2 + entropy.below(3) as usize, pick(entropy, &[1, 3, 50])),
        }
    }

    /// Returns the number of splits that records are distributed over.
    pub fn splits(self) -> usize {
        self.splits
    }

    /// Distributes the input over the splits, and returns the records of each.
    pub fn split<T: Clone>(self, input: &[T]) -> Vec<Vec<T>> {
        let mut parts = vec![Vec::new(); self.splits];
        for (run, records) in input.chunks(self.run_records).enumerate() {
            parts[run % self.splits].extend_from_slice(records);
        }
        parts
    }

    /// Returns the rows of all splits, where split `n` has made `made[n]` records, all under one promise
    /// about the order of records.
    ///
    /// # Panics
    /// If `made` has another length than the number of splits.
    pub fn rows<T: Clone>(self, input: &[(i64, T)], made: &[u64], promise: Promise) -> Vec<Row<T>> {
        rows(&self.split(input), made, promise)
    }
}

/// Returns the rows of `splits`, where split `n` has made `made[n]` of its records, all under one promise
/// about the order of records.
///
/// # Panics
/// If `made` has another length than `splits`.
pub fn rows<T: Clone>(splits: &[Vec<(i64, T)>], made: &[u64], promise: Promise) -> Vec<Row<T>> {
    assert_eq!(splits.len(), made.len(), "each split has made some records");
    let of_split = |(input, &made): (&Vec<(i64, T)>, &u64)| oracle::source(&input[..made as usize], promise);
    let rows: Vec<Vec<Row<T>>> = splits.iter().zip(made).map(of_split).collect();
    oracle::union(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_split_in_runs() {
        let input = [1, 2, 3, 4, 5, 6, 7];
        assert_eq!(SplitRuns::WHOLE.split(&input), [input]);
        assert_eq!(SplitRuns::new(2, 1).split(&input), [vec![1, 3, 5, 7], vec![2, 4, 6]]);
        assert_eq!(SplitRuns::new(3, 2).split(&input), [vec![1, 2, 7], vec![3, 4], vec![5, 6]]);
        assert_eq!(SplitRuns::new(3, 50).split(&input), [input.to_vec(), vec![], vec![]]);
    }

    #[test]
    fn each_split_has_its_own_watermarks() {
        let input = [(10, 'a'), (2, 'b'), (20, 'c'), (3, 'd')];
        let promise = Promise { bound_us: 0, step_us: 1 };
        let rows = SplitRuns::new(2, 1).rows(&input, &[2, 2], promise);
        let watermarks: Vec<_> = rows.iter().map(|row| (row.value, row.watermark_us)).collect();
        assert_eq!(watermarks, [('a', None), ('c', Some(10)), ('b', None), ('d', Some(2))]);
        assert_eq!(SplitRuns::new(2, 1).rows(&input, &[1, 0], promise).len(), 1);
    }
}
