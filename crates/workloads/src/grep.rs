//! Grep: how many lines hold what is looked for, and how often?
//!
//! ```text
//! source -> filter_map(occurrences, if any) -> sliding count and sum, 30 s every 1 s -> sink
//! ```
//!
//! 1. [`query`]: the query in the typed interface, and the pattern.
//! 2. [`loops`]: the same job without an engine.
//!
//! Lines are records of 1 KB, from [`crate::prose`]. What comes out must equal [`crate::reference::grep`].
//!
//! Source: the StreamBox paper, section 9, "Windowed Grep"; it outputs what was found, we count it per window.

pub mod loops;
pub mod query;

use thalweg_model::Span;

use crate::prose::TextGenerator;

/// The windows that matches are counted in, unless a run asks for others, and from the start of one to that of the next.
pub const WINDOW: Span = Span::from_secs(30);
/// See [`WINDOW`].
pub const SLIDE: Span = Span::from_secs(1);

/// What is looked for: one of three words, each of which comes about once in ten thousand generated words. Word borders
/// are ASCII's, so that the search stays a walk over bytes; any other letter ends a word.
pub const PATTERN: &str = r"(?-u:\b)(?:excellent|wonderful|perfect)(?-u:\b)";

/// Bytes of a generated line.
pub const LINE_BYTES: usize = 1_000;

/// Generated lines, 8 MB: they repeat after that.
pub const LINES: usize = 1 << 13;

/// Lines that follow from a seed.
pub fn generator(seed: u64) -> TextGenerator {
    TextGenerator::prose(seed, LINE_BYTES, LINES)
}

/// What a window has of what is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Found {
    /// Lines with at least one occurrence.
    pub lines: u64,
    /// Occurrences, which do not overlap.
    pub occurrences: u64,
}
