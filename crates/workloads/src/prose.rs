//! Lines of text, the input of several workloads: their generator, and the definition of a word.
//!
//! 1. [`words`]: how a line is cut into words.
//! 2. [`vocabulary`]: the words of generated lines, and how frequent each is.
//! 3. [`generator`]: lines from a seed.
//! 4. [`ceiling`] and [`table`]: the shared parts of the loops that the engine is measured against: lines,
//!    windows, counts by word.

pub(crate) mod ceiling;
pub mod generator;
pub(crate) mod table;
pub mod vocabulary;
pub mod words;

pub use ceiling::LoopOptions;
pub use generator::TextGenerator;
pub use words::{Words, words_of};

use thalweg_model::EventTime;

/// Lines per second of event time, unless a run asks for another rate. StreamBox's epoch, which spans a
/// second, has a million records.
pub const NOMINAL_RATE_PER_S: u64 = 1_000_000;

/// Returns the event time of the line at the given index of recorded text. Recorded lines have no time of
/// their own, so they are spaced at the nominal rate, from the origin of time on.
///
/// ```
/// use thalweg_workloads::prose::stamp_of_line;
/// assert_eq!(stamp_of_line(1_500_000).as_micros(), 1_500_000);
/// ```
pub fn stamp_of_line(index: u64) -> EventTime {
    const MICROS_PER_LINE: i64 = (1_000_000 / NOMINAL_RATE_PER_S).cast_signed();
    let micros = i64::try_from(index).unwrap_or(i64::MAX).saturating_mul(MICROS_PER_LINE);
    EventTime::from_micros(micros)
}
