//! Windows of one size that begin at even distances, and are numbered: the arithmetic that joins of two
//! streams share.
//!
//! Windows that overlap cut time into stretches whose instants all fall into the same windows. A value is kept once
//! for its stretch, not once for each of its windows.
//!
//! ```text
//!   size 3, every 2   window 0   |-----|
//!                     window 1       |-----|
//!                     window 2           |-----|
//!                     stretches    | |-| |-| |-|
//! ```
//!
//! Source: Krishnamurthy et al., "On-the-Fly Sharing for Streamed Aggregation", SIGMOD 2006, section 3.2, "Paired
//! Windows". There are never more than two stretches for each window. Panes whose length is the greatest common
//! divisor of size and distance (Li et al., "No Pane, No Gain", SIGMOD Record 34, 2005) may be many more.

use thalweg_model::{EventTime, Horizon, SlidingWindows, Span, TumblingWindows, Window};

/// Windows `[offset + n * slide, offset + n * slide + size)`, for every integer `n`, which is their number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EvenWindows {
    /// Length of each window as a span of event time, above zero.
    size: Span,
    /// Time between the starts of neighbouring windows, above zero.
    slide: Span,
    /// Start of the window with number 0, from zero to below `slide`.
    offset: Span,
}

impl From<TumblingWindows> for EvenWindows {
    fn from(windows: TumblingWindows) -> Self {
        let start = windows.window_of(EventTime::EPOCH).start;
        EvenWindows::new(windows.size(), windows.size(), start.since(EventTime::EPOCH))
    }
}

impl From<SlidingWindows> for EvenWindows {
    fn from(windows: SlidingWindows) -> Self {
        EvenWindows::new(windows.size(), windows.slide(), windows.offset())
    }
}

/// A stretch: a span of instants that all fall into the same windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stretch {
    /// The instants of the stretch (a span whose instants fall into the same windows); at the very end of the
    /// range of time, all but the last instant.
    pub(crate) span: Window,
    /// Number of the first window that contains this stretch of time.
    pub(crate) first: i64,
    /// Number of the last window that contains this stretch of time; less than the number of the first window
    /// if no window contains it.
    pub(crate) last: i64,
}

impl EvenWindows {
    pub(crate) fn new(size: Span, slide: Span, offset: Span) -> Self {
        assert!(size > Span::ZERO && slide > Span::ZERO, "windows of {size} every {slide}");
        let offset = Span::from_micros(offset.as_micros().rem_euclid(slide.as_micros()));
        EvenWindows { size, slide, offset }
    }

    /// Returns the times at which a watermark has an effect: the ends of windows, where windows close and records
    /// that count for no later window become late.
    pub(crate) fn horizon(&self) -> Horizon {
        let windows = SlidingWindows::of_size(self.size).every(self.slide);
        let windows = windows.expect("sizes and distances are above zero").with_offset(self.offset);
        Horizon::of_windows(windows, Span::ZERO)
    }

    /// Returns whether windows overlap, so that an instant may fall into several of them.
    pub(crate) fn overlap(&self) -> bool {
        self.slide < self.size
    }

    /// Returns the window with the given number, cut off at the ends of the range of event time.
    pub(crate) fn window(&self, number: i64) -> Window {
        Window { start: clamp(self.start(number.into())), end: clamp(self.end(number.into())) }
    }

    /// Returns the stretch of time around `instant` whose instants all fall into the same windows.
    pub(crate) fn stretch_of(&self, instant: EventTime) -> Stretch {
        let instant = i128::from(instant.as_micros());
        let (size, slide, offset) = self.micros();
        let last = (instant - offset).div_euclid(slide);
        let first = (instant - offset - size).div_euclid(slide) + 1;
        let start = self.start(last).max(self.end(first - 1));
        let end = self.start(last + 1).min(self.end(first));
        Stretch {
            span: Window { start: clamp(start), end: clamp(end) },
            first: number(first),
            last: number(last),
        }
    }

    /// Returns the number of the first window that ends after the watermark `late_by`, among the windows
    /// `first` to `last` (both included), which all contain one instant.
    pub(crate) fn first_on_time(&self, first: i64, last: i64, late_by: EventTime) -> Option<i64> {
        let (size, slide, offset) = self.micros();
        // At the watermark at the end of time, no window is on time, because the ends of all windows are cut
        // off at that instant.
        if late_by == EventTime::MAX {
            return None;
        }
        let on_time = (i128::from(late_by.as_micros()) - offset - size).div_euclid(slide) + 1;
        (on_time <= i128::from(last)).then(|| number(on_time.max(first.into())))
    }

    /// Returns the greatest number of windows that may contain one instant, minus one.
    pub(crate) fn reach(&self) -> i64 {
        (self.size.as_micros() - 1) / self.slide.as_micros()
    }

    fn start(&self, number: i128) -> i128 {
        let (_, slide, offset) = self.micros();
        offset + number * slide
    }

    fn end(&self, number: i128) -> i128 {
        self.start(number) + i128::from(self.size.as_micros())
    }

    /// Returns size, slide and offset of the windows as numbers of 128 bits, so that no sum of them
    /// overflows.
    fn micros(&self) -> (i128, i128, i128) {
        (self.size.as_micros().into(), self.slide.as_micros().into(), self.offset.as_micros().into())
    }
}

fn clamp(micros: i128) -> EventTime {
    let bounded = micros.clamp(i64::MIN.into(), i64::MAX.into());
    EventTime::from_micros(i64::try_from(bounded).expect("a clamped number lies in the range of i64"))
}

/// Converts a window number to 64 bits. Windows start at least one microsecond apart, so nearly every window
/// that contains an instant has such a number. The exceptions are windows that begin before the range of
/// time, if one begins every microsecond; these windows are left out.
fn number(number: i128) -> i64 {
    i64::try_from(number.clamp(i64::MIN.into(), i64::MAX.into()))
        .expect("a clamped number lies in the range of i64")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn windows(size: i64, slide: i64, offset: i64) -> EvenWindows {
        let [size, slide, offset] = [size, slide, offset].map(Span::from_micros);
        EvenWindows::new(size, slide, offset)
    }

    fn at(micros: i64) -> EventTime {
        EventTime::from_micros(micros)
    }

    #[test]
    fn tumbling_windows_have_one_stretch_each() {
        let tumbling = TumblingWindows::new(Span::from_micros(10)).unwrap();
        for offset in [0, 3, -3] {
            let tumbling = tumbling.with_offset(Span::from_micros(offset));
            let windows = EvenWindows::from(tumbling);
            for instant in [i64::MIN, -11, -10, -1, 0, 2, 3, 9, 10, i64::MAX].map(at) {
                let stretch = windows.stretch_of(instant);
                assert_eq!((stretch.first, stretch.span), (stretch.last, tumbling.window_of(instant)));
                assert_eq!(windows.window(stretch.first), tumbling.window_of(instant));
            }
        }
    }

    /// At the ends of the range of time, window numbers and instants stay in range for every size of windows.
    #[test]
    fn the_ends_of_time() {
        for (size, slide) in [(1, 1), (i64::MAX, i64::MAX), (i64::MAX, 1), (1, i64::MAX)] {
            let windows = windows(size, slide, -(slide / 2));
            for instant in [EventTime::MIN, EventTime::MAX, EventTime::EPOCH] {
                let stretch = windows.stretch_of(instant);
                for number in [stretch.first, stretch.last] {
                    let window = windows.window(number);
                    assert!(window.start <= window.end);
                }
                assert_eq!(windows.first_on_time(stretch.first, stretch.last, EventTime::MAX), None);
            }
        }
    }

    proptest! {
        /// The stretch of an instant and the first window on time equal those found by search in a list of
        /// many windows.
        #[test]
        fn by_definition(
            size in 1..20i64, slide in 1..20i64, offset in -20..20i64,
            instant in -50..50i64, late_by in -60..80i64,
        ) {
            let windows = windows(size, slide, offset);
            let all = -200..200i64;
            let contains = |number: i64, instant: i64| windows.window(number).contains(at(instant));
            let of = |instant: i64| all.clone().filter(|&n| contains(n, instant)).collect::<Vec<i64>>();
            let first = offset.rem_euclid(slide);
            for (number, start) in [(0, first), (-1, first - slide), (7, first + 7 * slide)] {
                prop_assert_eq!(windows.window(number), Window { start: at(start), end: at(start + size) });
            }
            let stretch = windows.stretch_of(at(instant));
            prop_assert_eq!((stretch.first..=stretch.last).collect::<Vec<i64>>(), of(instant));
            prop_assert!((stretch.last - stretch.first) <= windows.reach());
            let Window { start, end } = stretch.span;
            let [start, end] = [start, end].map(EventTime::as_micros);
            prop_assert!(start <= instant && instant < end);
            prop_assert!((start..end).all(|other| of(other) == of(instant)));
            prop_assert!(of(start - 1) != of(instant) && of(end) != of(instant));
            if stretch.first > stretch.last {
                return Ok(());
            }
            let on_time = of(instant).into_iter().find(|&n| windows.window(n).end > at(late_by));
            prop_assert_eq!(windows.first_on_time(stretch.first, stretch.last, at(late_by)), on_time);
        }
    }
}
