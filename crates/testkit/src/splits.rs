//! A stream that begins with several splits: its records dealt to them, and what an oracle makes of what each has made.

use thalweg_model::Entropy;

use crate::oracle::{self, Promise, Row};
use crate::seed::pick;

/// How records are dealt to splits: so many in a row to each in turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deal {
    splits: usize,
    run_records: usize,
}

impl Deal {
    /// To one split: all records.
    pub const WHOLE: Deal = Deal { splits: 1, run_records: 1 };

    /// To so many splits, so many records in a row.
    ///
    /// # Panics
    /// If either is zero.
    pub fn new(splits: usize, run_records: usize) -> Self {
        assert!(splits > 0 && run_records > 0, "records go somewhere");
        Deal { splits, run_records }
    }

    /// To one split in every other run, else to two to four, in turn or in longer runs.
    pub fn draw(entropy: &mut dyn Entropy) -> Self {
        match entropy.below(2) {
            0 => Deal::WHOLE,
            _ => Deal::new(2 + entropy.below(3) as usize, pick(entropy, &[1, 3, 50])),
        }
    }

    /// How many splits there are.
    pub fn splits(self) -> usize {
        self.splits
    }

    /// What each split gets.
    pub fn deal<T: Clone>(self, input: &[T]) -> Vec<Vec<T>> {
        let mut dealt = vec![Vec::new(); self.splits];
        for (run, records) in input.chunks(self.run_records).enumerate() {
            dealt[run % self.splits].extend_from_slice(records);
        }
        dealt
    }

    /// The rows of all splits of which each has made so many records, all with the same promise.
    ///
    /// # Panics
    /// If there are not as many splits.
    pub fn rows<T: Clone>(self, input: &[(i64, T)], made: &[u64], promise: Promise) -> Vec<Row<T>> {
        rows(&self.deal(input), made, promise)
    }
}

/// The rows of splits of which each has made so many of its records, all with the same promise.
///
/// # Panics
/// If there are not as many splits.
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
    fn records_are_dealt_in_runs() {
        let input = [1, 2, 3, 4, 5, 6, 7];
        assert_eq!(Deal::WHOLE.deal(&input), [input]);
        assert_eq!(Deal::new(2, 1).deal(&input), [vec![1, 3, 5, 7], vec![2, 4, 6]]);
        assert_eq!(Deal::new(3, 2).deal(&input), [vec![1, 2, 7], vec![3, 4], vec![5, 6]]);
        assert_eq!(Deal::new(3, 50).deal(&input), [input.to_vec(), vec![], vec![]]);
    }

    #[test]
    fn each_split_has_its_own_watermarks() {
        let input = [(10, 'a'), (2, 'b'), (20, 'c'), (3, 'd')];
        let promise = Promise { bound_us: 0, step_us: 1 };
        let rows = Deal::new(2, 1).rows(&input, &[2, 2], promise);
        let watermarks: Vec<_> = rows.iter().map(|row| (row.value, row.watermark_us)).collect();
        assert_eq!(watermarks, [('a', None), ('c', Some(10)), ('b', None), ('d', Some(2))]);
        assert_eq!(Deal::new(2, 1).rows(&input, &[1, 0], promise).len(), 1);
    }
}
