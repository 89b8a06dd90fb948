//! Window arithmetic: which half-open span `[start, end)` of event time an instant falls into.
//!
//! Pure functions of stamps; what a window holds and when it fires is the operators' business.
//! Source: Akidau et al., "The Dataflow Model", VLDB 2015, section 1.2.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::{EventTime, Span};

/// A half-open span `[start, end)` of event time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Window {
    /// The first instant inside.
    pub start: EventTime,
    /// The first instant behind it.
    pub end: EventTime,
}

impl Window {
    /// Whether `instant` lies inside.
    #[inline]
    pub fn contains(&self, instant: EventTime) -> bool {
        self.start <= instant && instant < self.end
    }

    /// The last instant inside: results of the window are stamped with it.
    pub fn last_instant(&self) -> EventTime {
        self.end.minus(Span::from_micros(1))
    }
}

/// Whether a result is the one that its window fired on time, or takes the place of that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Firing {
    /// The watermark has reached the end of the window.
    #[default]
    OnTime,
    /// Records came late, but within the allowed lateness: this result replaces the last one of its key and window.
    Update,
}

/// A result of one key in one window.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Windowed<K, V> {
    /// The window that the result belongs to.
    pub window: Window,
    /// The key.
    pub key: K,
    /// The aggregate of the key's records in the window.
    pub value: V,
    /// Whether it is the first or replaces one.
    pub firing: Firing,
}

impl<K, V> Windowed<K, V> {
    /// The result that a window fires on time.
    pub const fn on_time(window: Window, key: K, value: V) -> Self {
        Windowed { window, key, value, firing: Firing::OnTime }
    }
}

/// Why windows cannot be cut as asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WindowError {
    /// The size is not above zero.
    Size(Span),
}

impl fmt::Display for WindowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WindowError::Size(size) => {
                write!(f, "window size is {size}, but must be at least 1us: give a span above zero")
            }
        }
    }
}

impl std::error::Error for WindowError {}

/// Back-to-back windows of one size, `[offset + n * size, offset + (n + 1) * size)` for every integer `n`.
///
/// ```
/// use thalweg_model::{EventTime, Span, TumblingWindows};
/// let minutes = TumblingWindows::new(Span::from_secs(60)).unwrap();
/// let window = minutes.window_of(EventTime::from_secs(-1));
/// assert_eq!((window.start, window.end), (EventTime::from_secs(-60), EventTime::EPOCH));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TumblingWindows {
    /// Above zero.
    size: Span,
    /// In `0..size`.
    offset: Span,
}

impl TumblingWindows {
    /// Windows of `size`, one of which starts at the Unix epoch.
    ///
    /// # Errors
    /// [`WindowError::Size`] if `size` is not above zero.
    pub fn new(size: Span) -> Result<Self, WindowError> {
        if size <= Span::ZERO {
            Err(WindowError::Size(size))
        } else {
            Ok(TumblingWindows { size, offset: Span::ZERO })
        }
    }

    /// The same windows, one of which starts `offset` after the Unix epoch. Any offset is fine; it counts
    /// modulo the size.
    pub fn with_offset(self, offset: Span) -> Self {
        let offset = Span::from_micros(offset.as_micros().rem_euclid(self.size.as_micros()));
        TumblingWindows { offset, ..self }
    }

    /// The span of each window.
    pub fn size(&self) -> Span {
        self.size
    }

    /// The window that `instant` falls into. Windows that reach past the ends of the range are cut off there,
    /// and the window at the very end contains [`EventTime::MAX`] by its start alone.
    pub fn window_of(&self, instant: EventTime) -> Window {
        // In 128 bits nothing can overflow, so the ends of the range need no case of their own.
        let (size, offset) = (i128::from(self.size.as_micros()), i128::from(self.offset.as_micros()));
        let start = (i128::from(instant.as_micros()) - offset).div_euclid(size) * size + offset;
        Window { start: clamp(start), end: clamp(start + size) }
    }
}

fn clamp(micros: i128) -> EventTime {
    let bounded = micros.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    EventTime::from_micros(i64::try_from(bounded).expect("clamped into the range of i64"))
}

#[cfg(test)]
mod tests;
