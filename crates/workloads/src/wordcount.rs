//! Word count: how often did each word come?
//!
//! ```text
//! source -> flat_map(words) -> sliding count per word, 30 s every 1 s -> sink
//! ```
//!
//! 1. [`query`]: the query in the typed interface.
//! 2. [`loops`]: the same job without an engine.
//!
//! Lines of 100 bytes and what a word is come from [`crate::prose`]. What comes out must equal
//! [`crate::reference::wordcount`].
//!
//! Source: the StreamBox paper, section 9, "Word Count".

pub mod loops;
pub mod query;

use thalweg_model::Span;

use crate::prose::TextGenerator;

/// The windows that words are counted in, unless a run asks for others, and from the start of one to that of the next.
pub const WINDOW: Span = Span::from_secs(30);
/// See [`WINDOW`].
pub const SLIDE: Span = Span::from_secs(1);

/// Bytes of a generated line.
pub const LINE_BYTES: usize = 100;

/// Generated lines, 6.5 MB: they repeat after that.
pub const LINES: usize = 1 << 16;

/// Lines that follow from a seed.
pub fn generator(seed: u64) -> TextGenerator {
    TextGenerator::prose(seed, LINE_BYTES, LINES)
}
