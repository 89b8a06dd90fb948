//! Reference results of grep: lines with an occurrence, and occurrences, per window.
//!
//! The rules: the words searched for are `excellent`, `wonderful` and `perfect`, in this case. A word is a
//! longest run of ASCII letters, digits and underscores. Windows start at multiples of their slide; one without
//! an occurrence has no row. The first and the last windows count even if the input begins or ends within them.
//! No record is late.

use std::collections::BTreeMap;

use super::lines::{LineInput, parts_per_window};
use super::{Row, Windows};

/// One row of the results of `grep`; the fields are the columns of `grep.csv`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GrepRow {
    /// Start of the window: milliseconds since the Unix epoch.
    pub window_start_ms: i64,
    /// Number of lines in the window that contain a sought word.
    pub lines: u64,
    /// Number of occurrences of sought words in the window.
    pub occurrences: u64,
}

impl Row for GrepRow {
    type Key = i64;

    fn key(&self) -> i64 {
        self.window_start_ms
    }
}

/// Returns the results for the lines `inputs`, ordered by window; each input refers to one of `lines`.
///
/// # Panics
/// If size and slide are not positive numbers of whole milliseconds.
pub fn grep_rows(
    inputs: impl Iterator<Item = LineInput>,
    lines: &[impl AsRef<str>],
    windows: impl Into<Windows>,
) -> Vec<GrepRow> {
    let windows = windows.into();
    windows.assert_whole(1_000, "milliseconds");
    let is_part_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // A line has one part for each occurrence, and one part for the line itself if it has any occurrence.
    let parts_of = |line: usize| {
        let words = lines[line].as_ref().split(|c| !is_part_of_word(c));
        let sought = words.filter(|word| ["excellent", "wonderful", "perfect"].contains(word)).count();
        let mut parts = vec![Part::Occurrence; sought];
        parts.extend((sought > 0).then_some(Part::Line));
        parts
    };
    let mut rows: BTreeMap<i64, GrepRow> = BTreeMap::new();
    for ((start_us, part), count) in parts_per_window(inputs, windows, parts_of) {
        let window_start_ms = start_us / 1_000;
        let row = rows.entry(start_us).or_insert(GrepRow { window_start_ms, lines: 0, occurrences: 0 });
        match part {
            Part::Line => row.lines += count,
            Part::Occurrence => row.occurrences += count,
        }
    }
    rows.into_values().collect()
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Part {
    Line,
    Occurrence,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_occurrences() {
        let lines = ["a perfect, excellent day", "imperfect", "perfect"];
        let inputs = [0, 1, 2, 2, 0].into_iter().zip(0..);
        let inputs = inputs.map(|(line, second)| LineInput { event_time_us: second * 1_000_000, line });
        let windows = Windows { size_us: 2_000_000, slide_us: 1_000_000 };
        let rows: Vec<(i64, u64, u64)> = grep_rows(inputs, &lines, windows)
            .iter()
            .map(|row| (row.window_start_ms, row.lines, row.occurrences))
            .collect();
        assert_eq!(
            rows,
            [(-1_000, 1, 2), (0, 1, 2), (1_000, 1, 1), (2_000, 2, 2), (3_000, 2, 3), (4_000, 1, 2)]
        );
    }
}
