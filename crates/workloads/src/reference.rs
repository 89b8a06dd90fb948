//! Reference results: the expected results of every run of a workload, recomputed from the whole input in the
//! plainest way. A benchmark compares its results with these, and so do the tests.
//!
//! Nothing of ours is imported here, not even event time or window arithmetic. Times are plain microseconds,
//! and every rule (such as the campaign of an ad, or the geometry of the grid of cells) is stated once more
//! from the benchmark's description. So a mistake in the engine or in the workload's own code shows as a
//! difference instead of being made twice.
//!
//! * [`ysb`]: views per campaign and window, by counting, and in closed form for runs of any length.
//! * [`nyt`]: taxi trips and their mean distance per cell and window, from trips or from the TLC's own files.
//! * [`lrb`]: Linear Road in the papers' short form: cars, speed, toll and accidents per segment and minute.
//! * [`lrb_full`]: Linear Road by its full rules, which are stated there: tolls, accidents, balances.
//! * [`lines`]: counts over lines in windows, for [`grep`], [`wordcount`] and [`tweets`]; [`distinct`] needs less.
//! * [`netmon`]: mean round-trip time per pair of machines and window, and in closed form for runs of any length.
//! * [`join`]: matching records of two streams, counted and summed per second.
//! * [`ipq`]: Cameo's queries: revenue, also in closed form, events per job, and errors joined with their requests.
//! * [`etl`] and [`stats`]: the dataflows of RIoTBench, over messages that [`riot`] reads.
//! * [`Windows`]: the windows in which results are counted, where they can be chosen.
//! * [`Difference`], [`compare`]: the first difference between two sets of result rows.

pub mod distinct;
pub mod etl;
pub mod grep;
pub mod ipq;
pub mod join;
pub mod lines;
pub mod lrb;
pub mod lrb_full;
pub mod netmon;
pub mod nyt;
pub mod riot;
pub mod stats;
pub mod tweets;
pub mod wordcount;
pub mod ysb;

use std::fmt;

/// A row of a query's results, which its key identifies.
pub trait Row: fmt::Debug + Clone + PartialEq {
    /// The type of the key that identifies a result row, such as its window and its grouping key.
    type Key: Ord;

    /// Returns the key that identifies the result row.
    fn key(&self) -> Self::Key;

    /// Returns whether `found`, which has the key of this row, is the same result: integers exactly, doubles
    /// within a relative 1e-9. By default all columns must be equal, which suits rows without doubles.
    fn agrees(&self, found: &Self) -> bool {
        self == found
    }
}

/// Returns whether two doubles are equal within a relative 1e-9.
fn is_near(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// Windows of equal size that begin at all multiples of a slide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Windows {
    /// Size of each window in microseconds, above zero.
    pub size_us: i64,
    /// Distance between the starts of two windows in microseconds, above zero.
    pub slide_us: i64,
}

impl From<i64> for Windows {
    /// Creates back-to-back windows of the given size in microseconds.
    fn from(size_us: i64) -> Self {
        Windows { size_us, slide_us: size_us }
    }
}

impl Windows {
    /// Returns the starts of the windows that contain an instant, the latest start first.
    fn starts(self, event_time_us: i64) -> impl Iterator<Item = i64> {
        let last_us = event_time_us.div_euclid(self.slide_us) * self.slide_us;
        let back = std::iter::successors(Some(last_us), move |start_us| Some(start_us - self.slide_us));
        back.take_while(move |start_us| event_time_us < start_us + self.size_us)
    }

    /// Panics unless size and slide are positive multiples of `unit_us` microseconds.
    fn assert_whole(self, unit_us: i64, units: &str) {
        let is_whole = |span_us: i64| span_us > 0 && span_us % unit_us == 0;
        assert!(is_whole(self.size_us) && is_whole(self.slide_us), "{self:?} have no start in whole {units}");
    }
}

/// The first difference between the expected and the found result rows, in the order of their keys.
#[derive(Clone, PartialEq, Debug)]
pub enum Difference<R> {
    /// An expected result row is missing.
    Missing(R),
    /// A result row was found that is not expected, or that was found once too often.
    Unexpected(R),
    /// A result row was found whose values differ from those of the expected row.
    Other {
        /// The result row that was expected.
        expected: R,
        /// The result row that was found.
        found: R,
    },
}

impl<R: fmt::Debug> fmt::Display for Difference<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Missing(row) => write!(f, "missing: {row:?}"),
            Difference::Unexpected(row) => write!(f, "not expected, or not again: {row:?}"),
            Difference::Other { expected, found } => write!(f, "expected {expected:?}, found {found:?}"),
        }
    }
}

impl<R: fmt::Debug> std::error::Error for Difference<R> {}

/// Checks that `found` has the rows of `expected`, each the same number of times, in any order.
///
/// # Errors
/// The [`Difference`] with the lowest key.
pub fn compare<R: Row>(expected: &[R], found: &[R]) -> Result<(), Difference<R>> {
    let sorted = |rows: &[R]| {
        let mut rows = rows.to_vec();
        rows.sort_by_key(R::key);
        rows
    };
    let (expected, mut found) = (sorted(expected), sorted(found));
    for (place, expected) in expected.iter().enumerate().take(found.len()) {
        let (at, other) = (expected.key(), found[place].key());
        if at < other {
            return Err(Difference::Missing(expected.clone()));
        }
        if other < at {
            return Err(Difference::Unexpected(found[place].clone()));
        }
        // Rows with the key of the expected row are compared with it until one agrees. Mostly the first one
        // does, because it is rare that several rows have one key.
        let of_key = found[place..].iter().take_while(|found| found.key() == at);
        let Some(ahead) = of_key.into_iter().position(|found| expected.agrees(found)) else {
            return Err(Difference::Other { expected: expected.clone(), found: found[place].clone() });
        };
        found.swap(place, place + ahead);
    }
    match (expected.get(found.len()), found.get(expected.len())) {
        (Some(row), _) => Err(Difference::Missing(row.clone())),
        (None, Some(row)) => Err(Difference::Unexpected(row.clone())),
        (None, None) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::ysb::YsbCount;
    use super::*;

    /// Parses result rows from words of the form `window:campaign=count`.
    fn rows(text: &str) -> Vec<YsbCount> {
        let row = |word: &str| {
            let numbers: Vec<u64> = word.split([':', '=']).map(|number| number.parse().unwrap()).collect();
            YsbCount { window_start_ms: numbers[0] as i64, campaign: numbers[1], count: numbers[2] }
        };
        text.split_whitespace().map(row).collect()
    }

    fn check(expected: &str, found: &str, difference: &str) {
        let shown = match compare(&rows(expected), &rows(found)) {
            Ok(()) => String::new(),
            Err(Difference::Missing(row)) => format!("- {}", row.campaign),
            Err(Difference::Unexpected(row)) => format!("+ {}", row.campaign),
            Err(Difference::Other { expected, found }) => format!("{} /= {}", expected.count, found.count),
        };
        assert_eq!(shown, difference, "{expected} against {found}");
    }

    #[test]
    fn the_first_difference_is_named() {
        check("", "", "");
        check("0:1=5 0:2=6", "0:2=6 0:1=5", "");
        check("0:1=5 0:2=6", "0:1=5", "- 2");
        check("0:1=5 0:2=6", "0:2=6", "- 1");
        check("0:2=6", "0:1=5 0:2=6", "+ 1");
        check("0:1=5", "0:1=5 0:1=5", "+ 1");
        check("0:1=5 9:1=5", "0:1=5 9:1=4", "5 /= 4");
        // Several rows of one key may come in any order.
        check("0:1=5 0:1=6 0:1=7 0:2=8", "0:1=7 0:1=6 0:1=5 0:2=8", "");
        check("0:1=5 0:1=6 0:1=6", "0:1=6 0:1=5 0:1=5", "6 /= 5");
        check("0:1=5 0:1=6", "0:1=6 0:1=6", "5 /= 6");
    }
}
