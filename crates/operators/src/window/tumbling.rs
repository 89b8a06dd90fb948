//! Tumbling windows: cut event time into back-to-back spans and fold each span per key.
//!
//! Input      `Record<V>` in any order; a function gives the key of each
//! Output     `Record<Windowed<K, R>>`, one per key and non-empty window, stamped with the window's last instant;
//!            with [`DivertLate`](crate::late::DivertLate) `Record<Either<Windowed<K, R>, V>>`, in which late records
//!            keep their time
//! State      one accumulator per open (key, window), until the allowed lateness has passed
//! Emits      when the watermark reaches `window.end`. Windows in the order of their ends, keys of one window in no
//!            promised order; updates at the next watermark, one per window and key that has changed
//! Late       its window has ended, and the allowed lateness has passed, by its own edge's watermark: counted in
//!            `late`, merged into nothing
//! Watermark  forwarded unchanged, after all windows that it fires; updates lie behind it
//! Cost       one comparison and one hash look-up per record; at a watermark, the slots of the tables that fire
//! Source     Akidau et al., "The Dataflow Model", VLDB 2015, section 1.2 "Windowing"
//!
//! ```
//! # use thalweg::{Count, Segment, Span, Stream, TumblingWindows, WindowError, Windowed};
//! # fn f<C: Segment<u32>>(clicks: Stream<u32, C>) -> Result<Stream<Windowed<u32, u64>, impl Segment<Windowed<u32, u64>>>, WindowError> {
//! let minutes = TumblingWindows::new(Span::from_secs(60))?;
//! Ok(clicks.key_by(|page| *page).tumbling(minutes).aggregate(Count))
//! # }
//! ```
//!
//! They are sliding windows that slide by their size. Each is one pane, which no other window shares, so its table is
//! emitted in place: the general operator costs nothing more here.

use super::sliding::SlidingAggregate;

/// Folds each key's values per tumbling window.
///
/// ```
/// use thalweg_model::{Span, TumblingWindows};
/// use thalweg_operators::{Count, TumblingAggregate};
/// let minutes = TumblingWindows::new(Span::from_secs(60)).unwrap();
/// let per_minute = TumblingAggregate::new("words per minute", minutes, |word: &u64| *word, Count);
/// # let _ = per_minute;
/// ```
pub type TumblingAggregate<K, V, KeyOf, F, L = crate::late::DropLate> = SlidingAggregate<K, V, KeyOf, F, L>;

#[cfg(test)]
mod tests;
