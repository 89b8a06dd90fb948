//! Window arithmetic: which half-open spans `[start, end)` of event time an instant falls into.
//!
//! [`TumblingWindows`] lie back to back; [`SlidingWindows`] begin every so often, and are cut into panes, so that what
//! they share is folded once; [`SessionGap`] and [`CountWindows`] say what closes the windows that depend on the
//! records themselves.
//!
//! Pure functions of stamps; what a window holds and when it fires is the operators' business.
//! Source: Akidau et al., "The Dataflow Model", VLDB 2015, section 1.2.

use std::fmt;
use std::num::NonZeroU64;
use std::ops::{Range, RangeInclusive};

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

/// A result of one key, of as many records as a count window takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Counted<K, V> {
    /// The key.
    pub key: K,
    /// The aggregate of those records.
    pub value: V,
}

/// Why windows cannot be cut as asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WindowError {
    /// The size is not above zero.
    Size(Span),
    /// The slide is not above zero.
    Slide(Span),
    /// The gap between sessions is not above zero.
    Gap(Span),
    /// A record would belong to more than [`WINDOWS_PER_RECORD_MAX`] windows.
    TooMany {
        /// The size of a window.
        size: Span,
        /// From the start of one window to that of the next.
        slide: Span,
    },
}

/// The most windows that a record belongs to. Each of them costs a firing with a result per key, so a record that belonged to
/// millions of windows would keep a worker busy without end. A day by 10 seconds is 8,640.
pub const WINDOWS_PER_RECORD_MAX: u64 = 10_000;

/// Returns how many windows of `size` a record belongs to, one of which begins every `slide`; both are above zero. Of a span
/// below zero the magnitude counts, and a slide of zero counts as 1 us, so that a message can name any pair.
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
        let (size, offset) = (wide(self.size), wide(self.offset));
        let start = (i128::from(instant.as_micros()) - offset).div_euclid(size) * size + offset;
        Window { start: clamp(start), end: clamp(start + size) }
    }
}

/// Windows of one size, one of which begins every `slide`: `[offset + n * slide, offset + n * slide + size)` for every
/// integer `n`. With a slide below the size they overlap; with a slide equal to it they are [`TumblingWindows`]; with
/// one above it they are samples, and what lies between two of them is in none.
///
/// ```
/// use thalweg_model::{EventTime, SlidingWindows, Span};
/// let windows = SlidingWindows::of_size(Span::from_secs(120)).every(Span::from_secs(30)).unwrap();
/// let ends: Vec<_> = windows.windows_of(EventTime::from_secs(100)).map(|window| window.end).collect();
/// assert_eq!(ends, [120, 150, 180, 210].map(EventTime::from_secs));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlidingWindows {
    /// Above zero.
    size: Span,
    /// Above zero.
    slide: Span,
    /// In `0..slide`.
    offset: Span,
    /// What [`SlidingWindows::pane`] says.
    pane: Span,
}

/// The size of sliding windows: half of what there is to say of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlidingSize(Span);

impl SlidingSize {
    /// Windows of this size, one every `slide`, one of which starts at the Unix epoch.
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

/// Which of a query's sliding windows: window `n` begins at `offset + n * slide`. They rise with the windows' ends, and
/// unlike those they are not cut off at the ends of the range.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct WindowNumber(i128);

impl WindowNumber {
    /// That of the window that ends next.
    #[must_use]
    pub fn next(self) -> Self {
        WindowNumber(self.0 + 1)
    }

    /// That of the window that ended last.
    #[must_use]
    pub fn previous(self) -> Self {
        WindowNumber(self.0 - 1)
    }
}

impl SlidingWindows {
    /// Windows of `size`; [`every`](SlidingSize::every) says how often one begins.
    pub fn of_size(size: Span) -> SlidingSize {
        SlidingSize(size)
    }

    /// The same windows, one of which starts `offset` after the Unix epoch. Any offset is fine; it counts modulo the
    /// slide.
    pub fn with_offset(self, offset: Span) -> Self {
        let offset = Span::from_micros(offset.as_micros().rem_euclid(self.slide.as_micros()));
        SlidingWindows { offset, ..self }
    }

    /// The span of each window.
    pub fn size(&self) -> Span {
        self.size
    }

    /// From the start of one window to that of the next.
    pub fn slide(&self) -> Span {
        self.slide
    }

    /// Where one of them starts, from the Unix epoch on; at least zero and below the slide.
    pub fn offset(&self) -> Span {
        self.offset
    }

    /// Whether an instant may lie in more than one window.
    #[inline]
    pub fn overlap(&self) -> bool {
        self.slide < self.size
    }

    /// The span of each pane. Windows that overlap are cut at every start and end of a window into panes of one size,
    /// so that each window is made of whole panes; a window that overlaps with no other is one pane.
    ///
    /// Source: Li et al., "No Pane, No Gain: Efficient Evaluation of Sliding-Window Aggregates over Data Streams",
    /// SIGMOD Record 34(1), 2005, section 3.1: the greatest common divisor of size (their range) and slide.
    pub fn pane(&self) -> Span {
        self.pane
    }

    /// The windows that `instant` falls into, in the order of their ends. Those that reach past the ends of the range
    /// are cut off there, as [`TumblingWindows::window_of`] says.
    pub fn windows_of(&self, instant: EventTime) -> impl Iterator<Item = Window> {
        let (windows, numbers) = (*self, self.numbers_of(instant));
        (numbers.start.0..numbers.end.0).map(move |number| windows.window(WindowNumber(number)))
    }

    /// The first and the last instant of the pane of `instant`; none if that is in no window. Instants of one pane are
    /// in the same windows.
    pub fn pane_of(&self, instant: EventTime) -> Option<RangeInclusive<EventTime>> {
        let step = if self.overlap() { self.pane } else { self.slide }.as_micros();
        // Asked for whenever a record is not in the pane of the one before it, so it is worth the shorter division.
        let into = match instant.as_micros().checked_sub(self.offset.as_micros()) {
            Some(since_offset) => i128::from(since_offset.rem_euclid(step)),
            None => self.since_offset(instant).rem_euclid(i128::from(step)),
        };
        let start = i128::from(instant.as_micros()) - into;
        let pane = clamp(start)..=clamp(start + wide(self.pane) - 1);
        // Not whether the pane contains it: one that lies before the range is cut off to its first instant.
        (into < wide(self.pane)).then_some(pane)
    }

    /// The numbers of the windows that `instant` falls into.
    pub fn numbers_of(&self, instant: EventTime) -> Range<WindowNumber> {
        let since_offset = self.since_offset(instant);
        let first = div_floor(since_offset - wide(self.size), self.slide) + 1;
        WindowNumber(first)..WindowNumber(div_floor(since_offset, self.slide) + 1)
    }

    /// The number of the first window whose end lies behind `instant`. At [`EventTime::MAX`], behind which no end lies,
    /// it is the number behind all windows into which an instant can fall.
    pub fn first_ending_after(&self, instant: EventTime) -> WindowNumber {
        let numbers = self.numbers_of(instant);
        // The first that contains it, or, if none does, the one that begins next.
        if instant == EventTime::MAX { numbers.end } else { numbers.start }
    }

    /// The window of a number, cut off at the ends of the range.
    pub fn window(&self, number: WindowNumber) -> Window {
        let start = self.start_of(number);
        Window { start: clamp(start), end: clamp(start + wide(self.size)) }
    }

    /// The first and the last instant that fall into the window of a number.
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

/// Tumbling windows are sliding ones that begin where the one before ends.
impl From<TumblingWindows> for SlidingWindows {
    fn from(TumblingWindows { size, offset }: TumblingWindows) -> Self {
        SlidingWindows { size, slide: size, offset, pane: size }
    }
}

/// How long nothing must happen until a session is over: records less than this apart belong together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionGap(Span);

impl SessionGap {
    /// Sessions that are at least `gap` apart.
    ///
    /// # Errors
    /// [`WindowError::Gap`] if `gap` is not above zero.
    pub fn new(gap: Span) -> Result<Self, WindowError> {
        if gap <= Span::ZERO { Err(WindowError::Gap(gap)) } else { Ok(SessionGap(gap)) }
    }

    /// The gap.
    pub fn span(&self) -> Span {
        self.0
    }

    /// The session of a record at `instant` that is alone: it ends a gap later, or with the range.
    pub fn window_of(&self, instant: EventTime) -> Window {
        Window { start: instant, end: instant.plus(self.0) }
    }
}

/// Windows of so many records: of each key, records `[n * slide, n * slide + size)` for every `n` from zero on.
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
    /// Windows of `size` records, back to back.
    pub fn of_size(size: NonZeroU64) -> Self {
        CountWindows { size, slide: size }
    }

    /// The same windows, one of which begins every `slide` records. If that is more than the size, the records in
    /// between are in none.
    #[must_use]
    pub fn every(self, slide: NonZeroU64) -> Self {
        CountWindows { slide, ..self }
    }

    /// Records of each window.
    pub fn size(&self) -> NonZeroU64 {
        self.size
    }

    /// Records from the start of one window to that of the next.
    pub fn slide(&self) -> NonZeroU64 {
        self.slide
    }
}

/// So many whole spans, rounded down; in 64 bits if they suffice, since a division in 128 takes three times as long.
fn div_floor(micros: i128, span: Span) -> i128 {
    match i64::try_from(micros) {
        Ok(micros) => i128::from(micros.div_euclid(span.as_micros())),
        Err(_) => micros.div_euclid(wide(span)),
    }
}

/// The greatest common divisor of size and slide; of windows that do not overlap, the size.
fn pane_of(size: Span, slide: Span) -> Span {
    let (mut pane, mut rest) = (size.as_micros(), if slide < size { slide.as_micros() } else { 0 });
    while rest > 0 {
        (pane, rest) = (rest, pane % rest);
    }
    Span::from_micros(pane)
}

/// Microseconds in 128 bits, in which nothing here can overflow: so the ends of the range need no case of their own.
fn wide(span: Span) -> i128 {
    i128::from(span.as_micros())
}

fn clamp(micros: i128) -> EventTime {
    let bounded = micros.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    EventTime::from_micros(i64::try_from(bounded).expect("a clamped number lies in the range of i64"))
}

#[cfg(test)]
mod tests;
