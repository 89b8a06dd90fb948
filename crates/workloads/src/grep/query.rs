//! Grep in the typed interface: source → filter_map → count and sum per window → sink.

use regex::Regex;
use serde::{Deserialize, Serialize};
use thalweg::{Fold, Query, Sink, SlidingWindows, Source, Text, WatermarkStrategy, Windowed};

use super::{Found, PATTERN};

/// Compiles the pattern that `grep` searches for.
///
/// # Panics
/// Never: the pattern is a valid one.
pub fn pattern() -> Regex {
    Regex::new(PATTERN).expect("the pattern is a regular expression")
}

thread_local! {
    /// Compiled pattern, one per worker. With a single one for all workers, two workers are no faster than
    /// one, since each line takes the working memory of the regex.
    static PATTERN_HERE: Regex = pattern();
}

/// Returns the number of occurrences of the pattern in a line; `None` if there is none.
#[inline]
pub fn occurrences(pattern: &Regex, line: &str) -> Option<u32> {
    let mut found = pattern.find_iter(line);
    found.next()?;
    Some(1 + found.count() as u32)
}

/// Adds grep to `query`: lines and occurrences per window go to `sink`.
pub fn occurrences_per_window<S, K>(
    query: &Query,
    splits: impl IntoIterator<Item = S>,
    strategy: WatermarkStrategy,
    windows: impl Into<SlidingWindows>,
    sink: K,
) where
    S: Source<Item = Text> + 'static,
    K: Sink<Windowed<(), Found>> + 'static,
{
    let windows = windows.into();
    query
        .splits("source", splits, strategy)
        .filter_map(|line| PATTERN_HERE.with(|pattern| occurrences(pattern, &line)))
        .name("grep")
        .key_by(|_| ())
        .sliding(windows)
        .aggregate(FoundSum)
        .sink("sink", sink);
}

/// An aggregate that sums occurrences and counts lines.
#[derive(Clone, Copy, Debug)]
pub struct FoundSum;

/// Numbers of lines and occurrences found so far in a window.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
pub struct FoundSoFar {
    lines: u64,
    occurrences: u64,
}

impl Fold<u32> for FoundSum {
    type Accumulator = FoundSoFar;
    type Result = Found;

    fn create(&self) -> FoundSoFar {
        FoundSoFar::default()
    }

    #[inline]
    fn fold(&self, accumulator: &mut FoundSoFar, occurrences: &u32) {
        accumulator.lines += 1;
        accumulator.occurrences += u64::from(*occurrences);
    }

    fn merge(&self, accumulator: &mut FoundSoFar, other: FoundSoFar) {
        accumulator.lines += other.lines;
        accumulator.occurrences += other.occurrences;
    }

    const INVERTS: bool = true;

    fn unmerge(&self, accumulator: &mut FoundSoFar, other: &FoundSoFar) {
        accumulator.lines -= other.lines;
        accumulator.occurrences -= other.occurrences;
    }

    fn finish(&self, FoundSoFar { lines, occurrences }: FoundSoFar) -> Found {
        Found { lines, occurrences }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_are_found() {
        let pattern = pattern();
        let found = |line| occurrences(&pattern, line).unwrap_or(0);
        assert_eq!(found("excellent: a perfect, wonderful day. Perfect!"), 3);
        assert_eq!(found("imperfect perfectly perfect_ 1perfect Wonderful"), 0);
        assert_eq!(found("perfect"), 1);
        assert_eq!(found("perfect perfect-perfect"), 3);
        // A letter beyond ASCII ends a word, too, so the word between such letters is found.
        assert_eq!(found("éperfecté"), 1);
        assert_eq!(found(""), 0);
    }
}
