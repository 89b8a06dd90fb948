//! Window arithmetic: the half-open spans `[start, end)` of event time that an instant falls into.
//!
//! [`TumblingWindows`] lie back to back. [`SlidingWindows`] begin once every slide; they are cut into panes, so that
//! records in shared panes are folded once. [`SessionGap`] and [`CountWindows`] describe windows whose ends depend on
//! the records themselves.
//!
//! Pure functions of stamps; the content of a window and its firing are left to operators.
//! Source: Akidau et al., "The Dataflow Model", VLDB 2015, section 1.2.

use std::fmt;
use std::num::NonZeroU64;
use std::ops::{Range, RangeInclusive};

use serde::{Deserialize, Serialize};

use crate::time::{EventTime, Span};

/// A window: a half-open span `[start, end)` of event time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Window {
    /// The first instant in the window.
    pub start: EventTime,
    /// The first instant after the window.
    pub end: EventTime,
}

impl Window {
    /// Returns true if `instant` is in the window.
    #[inline]
    pub fn contains(&self, instant: EventTime) -> bool {
        self.start <= instant && instant < self.end
    }

    /// Returns the last instant in the window. The results of a window carry this stamp.
    pub fn last_instant(&self) -> EventTime {
        self.end.minus(Span::from_micros(1))
    }
}

/// Kind of a window's result: fired on time, or replacing an earlier result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub enum Firing {
    /// The result was fired because the watermark has reached the end of the window.
    #[default]
    OnTime,
    /// Records came late, but within the allowed lateness of the window: this result replaces the last result
    /// of its key and window.
    Update,
}

/// A result of one key in one window.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Windowed<K, V> {
    /// The window to which the result belongs.
    pub window: Window,
    /// The key of the records that were aggregated.
    pub key: K,
    /// The aggregate of the key's records in the window.
    pub value: V,
    /// Tells whether this is the first result of its key and window, or replaces an earlier one.
    pub firing: Firing,
}

impl<K, V> Windowed<K, V> {
    /// Creates the result that a window gives when the watermark reaches its end.
    pub const fn on_time(window: Window, key: K, value: V) -> Self {
        Windowed { window, key, value, firing: Firing::OnTime }
    }
}

/// A result of one key over a count window, that is, over a number of records.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Counted<K, V> {
    /// The key of the records that were aggregated.
    pub key: K,
    /// The aggregate of the records in the count window.
    pub value: V,
}

/// Error: a size, slide or gap of windows that cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WindowError {
    /// The given size of windows is not above zero.
    Size(Span),
    /// The given slide (distance between the starts of two windows) is not above zero.
    Slide(Span),
    /// The given gap between sessions is not above zero.
    Gap(Span),
    /// A record would belong to more than [`WINDOWS_PER_RECORD_MAX`] windows.
    TooMany {
        /// Span of event time that a window covers.
        size: Span,
        /// Distance between the starts of two consecutive windows.
        slide: Span,
    },
}

/// Maximum number of windows to which a record may belong. Each of them costs a firing with a result per key,
/// so a record in millions of windows would keep a worker busy without end. Windows of a day that begin every
/// 10 seconds are 8,640 per record.
pub const WINDOWS_PER_RECORD_MAX: u64 = 10_000;

/// Returns the number of windows to which a record belongs, if windows have `size` and one begins every
/// `slide`; both should be above zero. For a negative span the magnitude counts, and a slide of zero counts
/// as 1 us, so that an error message can name any pair.
pub fn windows_per_record(size: Span, slide: Span) -> u64 {
    size.as_micros().unsigned_abs().div_ceil(slide.as_micros().unsigned_abs().max(1))
}

impl fmt::Display for WindowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WindowError::Size(size) => {
                write!(f, "window size is {size}, but must be at least 1us: give a span above zero")
            }
            WindowError::Slide(slide) => {
                write!(f, "windows slide by {slide}, but must by at least 1us: give a span above zero")
            }
            WindowError::Gap(gap) => {
                write!(f, "sessions are {gap} apart, but must be at least 1us: give a gap above zero")
            }
            WindowError::TooMany { size, slide } => {
                let windows = windows_per_record(*size, *slide);
                write!(
                    f,
                    "windows of {size} that slide by {slide} put each record into {windows} windows, but at most \
                     {WINDOWS_PER_RECORD_MAX} are possible: give a longer slide or a smaller size"
                )
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
    /// Span of event time that each window covers; above zero.
    size: Span,
    /// Distance from the Unix epoch to the first start of a window at or after it; in `0..size`.
    offset: Span,
}

impl TumblingWindows {
    /// Creates windows of `size`, one of which starts at the Unix epoch.
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

    /// Returns the same windows, shifted so that one starts `offset` after the Unix epoch. Any offset is
    /// allowed: only its remainder modulo the size matters.
    pub fn with_offset(self, offset: Span) -> Self {
        let offset = Span::from_micros(offset.as_micros().rem_euclid(self.size.as_micros()));
        TumblingWindows { offset, ..self }
    }

    /// Returns the span of event time that each window covers.
    pub fn size(&self) -> Span {
        self.size
    }

    /// Returns the window that `instant` falls into. Windows that reach past the ends of the range are cut off there.
    /// The window at the very end contains [`EventTime::MAX`] although its end is not above it.
    pub fn window_of(&self, instant: EventTime) -> Window {
        let (size, offset) = (wide(self.size), wide(self.offset));
        let start = (i128::from(instant.as_micros()) - offset).div_euclid(size) * size + offset;
        Window { start: clamp(start), end: clamp(start + size) }
    }
}

/// Windows of one size, one of which begins every `slide`: `[offset + n * slide, offset + n * slide + size)` for
/// every integer `n`. With a slide below the size they overlap; with a slide equal to it they are
/// [`TumblingWindows`]. With a slide above it they are samples, and an instant between two of them is in none.
///
/// ```
/// use thalweg_model::{EventTime, SlidingWindows, Span};
/// let windows = SlidingWindows::of_size(Span::from_secs(120)).every(Span::from_secs(30)).unwrap();
/// let ends: Vec<_> = windows.windows_of(EventTime::from_secs(100)).map(|window| window.end).collect();
/// assert_eq!(ends, [120, 150, 180, 210].map(EventTime::from_secs));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlidingWindows {
    /// Span of event time that each window covers; above zero.
    size: Span,
    /// Distance between the starts of two consecutive windows; above zero.
    slide: Span,
    /// Distance from the Unix epoch to the first start of a window at or after it; in `0..slide`.
    offset: Span,
    /// Span of the panes into which the windows are cut; [`SlidingWindows::pane`] returns it.
    pane: Span,
}

/// The size of sliding windows, to which [`every`](SlidingSize::every) adds the slide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlidingSize(Span);

impl SlidingSize {
    /// Creates windows of the given size, one every `slide`, one of which starts at the Unix epoch.
    ///
    /// # Errors
    /// [`WindowError::Size`] if the size is not above zero, [`WindowError::Slide`] if `slide` is not,
    /// [`WindowError::TooMany`] if a record would belong to more than [`WINDOWS_PER_RECORD_MAX`] windows.
    pub fn every(self, slide: Span) -> Result<SlidingWindows, WindowError> {
        if self.0 <= Span::ZERO {
            Err(WindowError::Size(self.0))
        } else if slide <= Span::ZERO {
            Err(WindowError::Slide(slide))
        } else if windows_per_record(self.0, slide) > WINDOWS_PER_RECORD_MAX {
            Err(WindowError::TooMany { size: self.0, slide })
        } else {
            Ok(SlidingWindows { size: self.0, slide, offset: Span::ZERO, pane: pane_of(self.0, slide) })
        }
    }
}

/// Number of a sliding window: window `n` begins at `offset + n * slide`. Numbers rise with the ends of
/// windows. Unlike ends, numbers are not cut off at the ends of the range.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct WindowNumber(i128);

impl WindowNumber {
    /// Returns the number of the window that ends next after this one.
    #[must_use]
    pub fn next(self) -> Self {
        WindowNumber(self.0 + 1)
    }

    /// Returns the number of the window that ended last before this one.
    #[must_use]
    pub fn previous(self) -> Self {
        WindowNumber(self.0 - 1)
    }
}

impl SlidingWindows {
    /// Begins to construct sliding windows of `size`; [`every`](SlidingSize::every) sets the distance between
    /// their starts.
    pub fn of_size(size: Span) -> SlidingSize {
        SlidingSize(size)
    }

    /// Returns the same windows, shifted so that one starts `offset` after the Unix epoch. Any offset is
    /// allowed: only its remainder modulo the slide matters.
    pub fn with_offset(self, offset: Span) -> Self {
        let offset = Span::from_micros(offset.as_micros().rem_euclid(self.slide.as_micros()));
        SlidingWindows { offset, ..self }
    }

    /// Returns the span of event time that each window covers.
    pub fn size(&self) -> Span {
        self.size
    }

    /// Returns the distance between the starts of two consecutive windows.
    pub fn slide(&self) -> Span {
        self.slide
    }

    /// Returns the distance from the Unix epoch to the start of one of the windows; at least zero and below
    /// the slide.
    pub fn offset(&self) -> Span {
        self.offset
    }

    /// Returns true if windows overlap, so that an instant may be in more than one.
    #[inline]
    pub fn overlap(&self) -> bool {
        self.slide < self.size
    }

    /// Returns the span of each pane. Overlapping windows are cut at every start and end of a window into panes of
    /// one size, so that each window consists of whole panes. A window that overlaps with no other is one pane.
    ///
    /// Source: Li et al., "No Pane, No Gain: Efficient Evaluation of Sliding-Window Aggregates over Data Streams",
    /// SIGMOD Record 34(1), 2005, section 3.1: the greatest common divisor of size (their range) and slide.
    pub fn pane(&self) -> Span {
        self.pane
    }

    /// Returns the windows into which `instant` falls, in the order of their ends. Windows that reach past
    /// the ends of the range are cut off there, as described at [`TumblingWindows::window_of`].
    pub fn windows_of(&self, instant: EventTime) -> impl Iterator<Item = Window> {
        let (windows, numbers) = (*self, self.numbers_of(instant));
        (numbers.start.0..numbers.end.0).map(move |number| windows.window(WindowNumber(number)))
    }

    /// Returns the first and the last instant of the pane that contains `instant`; `None` if the instant is
    /// in no window. Instants of one pane are in the same windows.
    pub fn pane_of(&self, instant: EventTime) -> Option<RangeInclusive<EventTime>> {
        let step = if self.overlap() { self.pane } else { self.slide }.as_micros();
        // This function runs whenever a record is not in the same pane as the record before it. So a division
        // of 64 bits is used where it suffices, because it is cheaper than one of 128 bits.
        let into = match instant.as_micros().checked_sub(self.offset.as_micros()) {
            Some(since_offset) => i128::from(since_offset.rem_euclid(step)),
            None => self.since_offset(instant).rem_euclid(i128::from(step)),
        };
        let start = i128::from(instant.as_micros()) - into;
        let pane = clamp(start)..=clamp(start + wide(self.pane) - 1);
        // An instant between two windows is at or after the end of the pane. The pane itself is not compared
        // with the instant, because a pane that lies before the range of time is cut off to its first
        // instant.
        (into < wide(self.pane)).then_some(pane)
    }

    /// Returns the numbers of the windows into which `instant` falls; window `n` begins at `offset + n *
    /// slide`.
    pub fn numbers_of(&self, instant: EventTime) -> Range<WindowNumber> {
        let since_offset = self.since_offset(instant);
        let first = div_floor(since_offset - wide(self.size), self.slide) + 1;
        WindowNumber(first)..WindowNumber(div_floor(since_offset, self.slide) + 1)
    }

    /// Returns the number of the first window whose end is after `instant`. No end is after [`EventTime::MAX`];
    /// there the result is the number after all windows into which an instant can fall.
    pub fn first_ending_after(&self, instant: EventTime) -> WindowNumber {
        let numbers = self.numbers_of(instant);
        // This is the first window that contains the instant or, if no window does, the window that begins
        // next.
        if instant == EventTime::MAX { numbers.end } else { numbers.start }
    }

    /// Returns the window with the given number. Windows that reach past the ends of the range are cut off
    /// there.
    pub fn window(&self, number: WindowNumber) -> Window {
        let start = self.start_of(number);
        Window { start: clamp(start), end: clamp(start + wide(self.size)) }
    }

    /// Returns the first and the last instant that fall into the window with the given number.
    pub fn instants_of(&self, number: WindowNumber) -> RangeInclusive<EventTime> {
        let start = self.start_of(number);
        clamp(start)..=clamp(start + wide(self.size) - 1)
    }

    fn start_of(&self, number: WindowNumber) -> i128 {
        number.0 * wide(self.slide) + wide(self.offset)
    }

    fn since_offset(&self, instant: EventTime) -> i128 {
        i128::from(instant.as_micros()) - wide(self.offset)
    }
}

/// Converts tumbling windows to sliding windows whose slide equals their size.
impl From<TumblingWindows> for SlidingWindows {
    fn from(TumblingWindows { size, offset }: TumblingWindows) -> Self {
        SlidingWindows { size, slide: size, offset, pane: size }
    }
}

/// The gap that closes a session window: records less than this span apart belong to one session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionGap(Span);

impl SessionGap {
    /// Creates a session gap of the given length: two sessions of a key are at least `gap` apart.
    ///
    /// # Errors
    /// [`WindowError::Gap`] if `gap` is not above zero.
    pub fn new(gap: Span) -> Result<Self, WindowError> {
        if gap <= Span::ZERO { Err(WindowError::Gap(gap)) } else { Ok(SessionGap(gap)) }
    }

    /// Returns the length of the gap between sessions.
    pub fn span(&self) -> Span {
        self.0
    }

    /// Returns the session window of a single record at `instant`: it ends one gap later, or at the end of
    /// the range.
    pub fn window_of(&self, instant: EventTime) -> Window {
        Window { start: instant, end: instant.plus(self.0) }
    }
}

/// Windows of a number of records: for each key, records `[n * slide, n * slide + size)` for every `n` from zero on.
///
/// ```
/// use std::num::NonZeroU64;
/// use thalweg_model::CountWindows;
/// let [ten, five] = [10, 5].map(|count| NonZeroU64::new(count).unwrap());
/// let of_the_last_ten = CountWindows::of_size(ten).every(five);
/// assert_eq!((of_the_last_ten.size(), of_the_last_ten.slide()), (ten, five));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountWindows {
    size: NonZeroU64,
    slide: NonZeroU64,
}

impl CountWindows {
    /// Creates windows of `size` records each, in which every record is in exactly one window.
    pub fn of_size(size: NonZeroU64) -> Self {
        CountWindows { size, slide: size }
    }

    /// Returns the same windows, but one begins every `slide` records. If that is more than the size of a
    /// window, the records in between are in no window.
    #[must_use]
    pub fn every(self, slide: NonZeroU64) -> Self {
        CountWindows { slide, ..self }
    }

    /// Returns the number of records of each window.
    pub fn size(&self) -> NonZeroU64 {
        self.size
    }

    /// Returns the number of records from the start of one count window to the start of the next.
    pub fn slide(&self) -> NonZeroU64 {
        self.slide
    }
}

/// Returns `micros` divided by the length of `span`, rounded down. Uses 64 bits if they suffice, because a
/// division of 128 bits takes three times as long.
fn div_floor(micros: i128, span: Span) -> i128 {
    match i64::try_from(micros) {
        Ok(micros) => i128::from(micros.div_euclid(span.as_micros())),
        Err(_) => micros.div_euclid(wide(span)),
    }
}

/// Returns the length of a pane: the greatest common divisor of size and slide or, for windows that do not
/// overlap, the size.
fn pane_of(size: Span, slide: Span) -> Span {
    let (mut pane, mut rest) = (size.as_micros(), if slide < size { slide.as_micros() } else { 0 });
    while rest > 0 {
        (pane, rest) = (rest, pane % rest);
    }
    Span::from_micros(pane)
}

/// Returns the microseconds of a span as 128 bits, in which no window arithmetic can overflow. So the ends of
/// the range need no special case.
fn wide(span: Span) -> i128 {
    i128::from(span.as_micros())
}

fn clamp(micros: i128) -> EventTime {
    let bounded = micros.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    EventTime::from_micros(i64::try_from(bounded).expect("a clamped number lies in the range of i64"))
}

#[cfg(test)]
mod tests;
