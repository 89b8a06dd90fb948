//! Word count: counts the occurrences of each word.
//!
//! ```text
//! source -> flat_map(words) -> sliding count per word, 30 s every 1 s -> sink
//! ```
//!
//! 1. [`query`]: the query in the typed interface.
//! 2. [`loops`]: the same job without an engine.
//!
//! Lines of 100 bytes and the definition of a word come from [`crate::prose`]. The results must equal
//! [`crate::reference::wordcount`].
//!
//! Source: the StreamBox paper, section 9, "Word Count".

pub mod loops;
pub mod query;

use thalweg_model::{Span, Text, Windowed};

use crate::prose::TextGenerator;
use crate::reference::wordcount::WordRow;

/// Window size of the word counts, unless a run asks for another. Windows start every [`SLIDE`].
pub const WINDOW: Span = Span::from_secs(30);
/// Distance between the starts of two sliding windows of word count; see [`WINDOW`].
pub const SLIDE: Span = Span::from_secs(1);

/// Length of a generated line in bytes.
pub const LINE_BYTES: usize = 100;

/// Number of generated lines after which the sequence repeats: 6.5 MB of text.
pub const LINES: usize = 1 << 16;

/// Returns the lines whose words are counted; they follow from a seed.
pub fn generator(seed: u64) -> TextGenerator {
    TextGenerator::prose(seed, LINE_BYTES, LINES)
}

impl From<&Windowed<Text, u64>> for WordRow {
    fn from(result: &Windowed<Text, u64>) -> Self {
        let window_start_ms = result.window.start.as_micros().div_euclid(1_000);
        WordRow { window_start_ms, word: result.key.to_string(), count: result.value }
    }
}
