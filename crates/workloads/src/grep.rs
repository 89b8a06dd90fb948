//! Grep: counts per window the lines that match a pattern, and the matches.
//!
//! ```text
//! source -> filter_map(occurrences, if any) -> sliding count and sum, 30 s every 1 s -> sink
//! ```
//!
//! 1. [`query`]: the query in the typed interface, and the pattern.
//! 2. [`loops`]: the same job without an engine.
//!
//! Lines are records of 1 KB, from [`crate::prose`]. The results must equal [`crate::reference::grep`].
//!
//! Source: the StreamBox paper, section 9, "Windowed Grep". StreamBox outputs the matches; we count them per
//! window.

pub mod loops;
pub mod query;

use thalweg_model::{Span, Windowed};

use crate::prose::TextGenerator;
use crate::reference::grep::GrepRow;

/// Window size of the counts of matches, unless a run asks for another. Windows start every [`SLIDE`].
pub const WINDOW: Span = Span::from_secs(30);
/// Distance between the starts of two sliding windows of `grep`; see [`WINDOW`].
pub const SLIDE: Span = Span::from_secs(1);

/// The pattern that `grep` searches for: one of three words, each of which is about one in 10,000 generated
/// words. Word borders are those of ASCII, so that the search can walk over bytes; any other letter ends a
/// word.
pub const PATTERN: &str = r"(?-u:\b)(?:excellent|wonderful|perfect)(?-u:\b)";

/// Length of a generated line in bytes.
pub const LINE_BYTES: usize = 1_000;

/// Number of generated lines after which the sequence repeats: 8 MB of text.
pub const LINES: usize = 1 << 13;

/// Returns the lines in which `grep` searches; they follow from a seed.
pub fn generator(seed: u64) -> TextGenerator {
    TextGenerator::prose(seed, LINE_BYTES, LINES)
}

/// Number of lines that match and number of matches in one window.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Found {
    /// Number of lines with at least one occurrence of the pattern.
    pub lines: u64,
    /// Number of occurrences of the pattern, which do not overlap.
    pub occurrences: u64,
}

impl From<&Windowed<(), Found>> for GrepRow {
    fn from(result: &Windowed<(), Found>) -> Self {
        let window_start_ms = result.window.start.as_micros().div_euclid(1_000);
        let Found { lines, occurrences } = result.value;
        GrepRow { window_start_ms, lines, occurrences }
    }
}
