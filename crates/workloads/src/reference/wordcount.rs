//! Reference results of word count: the number of occurrences of each word in each window.
//!
//! The rules: a word is a longest run of ASCII letters, apostrophes and characters outside ASCII; case matters.
//! Windows start at multiples of their slide. The first and the last windows count even if the input begins or
//! ends within them. No record is late.

use super::lines::{LineInput, parts_per_window};
use super::{Row, Windows};

/// One row of the results of word count; the fields are the columns of `wordcount.csv`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WordRow {
    /// Start of the window: milliseconds since the Unix epoch.
    pub window_start_ms: i64,
    /// The word whose occurrences are counted.
    pub word: String,
    /// Number of occurrences of the word in the window.
    pub count: u64,
}

impl Row for WordRow {
    type Key = (i64, String);

    fn key(&self) -> (i64, String) {
        (self.window_start_ms, self.word.clone())
    }
}

/// Returns the words of a line, by the rules of word count.
pub(super) fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphabetic() || c == '\'' || !c.is_ascii();
    line.split(move |c| !is_part(c)).filter(|word| !word.is_empty())
}

/// Returns the results for the lines `inputs`, ordered by window and word; each input refers to one of
/// `lines`.
///
/// # Panics
/// If size and slide are not positive numbers of whole milliseconds.
pub fn word_rows(
    inputs: impl Iterator<Item = LineInput>,
    lines: &[impl AsRef<str>],
    windows: impl Into<Windows>,
) -> Vec<WordRow> {
    let windows = windows.into();
    windows.assert_whole(1_000, "milliseconds");
    let counts = parts_per_window(inputs, windows, |line| words(lines[line].as_ref()).collect());
    let row = |((start_us, word), count): ((i64, &str), u64)| WordRow {
        window_start_ms: start_us / 1_000,
        word: word.to_owned(),
        count,
    };
    counts.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_as_they_stand() {
        let lines = ["The day, the café's day.", "don't 1day"];
        let inputs = [0, 1].map(|line| LineInput { event_time_us: 0, line });
        let rows = word_rows(inputs.into_iter(), &lines, 1_000);
        let shown: Vec<String> = rows.iter().map(|row| format!("{}={}", row.word, row.count)).collect();
        assert_eq!(shown, ["The=1", "café's=1", "day=3", "don't=1", "the=1"]);
    }
}
