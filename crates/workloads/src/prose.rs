//! Lines of text, of which several workloads are made: where they come from, and what a word is.
//!
//! 1. [`words`]: how a line is cut into words.
//! 2. [`vocabulary`]: words that generated lines are made of, and how often each comes.
//! 3. [`generator`]: lines from a seed.
//! 4. [`ceiling`] and [`table`]: what the loops share that the engine is measured against: lines, windows, counts by word.

pub(crate) mod ceiling;
pub mod generator;
pub(crate) mod table;
pub mod vocabulary;
pub mod words;

pub use ceiling::LoopOptions;
pub use generator::TextGenerator;
pub use words::{Words, words_of};

use thalweg_model::EventTime;

/// Records per second of event time, unless a run asks for another rate: StreamBox's epoch, which spans a second, has a
/// million.
pub const NOMINAL_RATE_PER_S: u64 = 1_000_000;

/// When the line at an index of recorded text happened: recorded lines have no time of their own, so they come at the
/// nominal rate, from the origin of time on.
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
