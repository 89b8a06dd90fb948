//! The horizon of a query: the watermarks that have an effect. Most watermarks change nothing and need not be
//! processed (StreamBox, "Modern Stream Processing on a Multicore Machine", ATC 2017, section 5.2, where a
//! window cancels the watermarks that close nothing).

use crate::time::{EventTime, Span};
use crate::window::SlidingWindows;

/// The event times at which a watermark has an effect, such as the ends of windows. They follow from the
/// setup of operators, not from their state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Horizon {
    /// True if a watermark may have an effect on operators at every instant.
    is_everywhere: bool,
    /// Windows, each with its allowed lateness. A watermark has an effect at every end of a window, and at
    /// every end plus the lateness.
    ends: Vec<(SlidingWindows, Span)>,
}

impl Horizon {
    /// The horizon of operators on which no watermark has an effect, except the last one.
    pub const NONE: Horizon = Horizon { is_everywhere: false, ends: Vec::new() };

    /// The horizon of operators on which every watermark may have an effect.
    pub const EVERYWHERE: Horizon = Horizon { is_everywhere: true, ends: Vec::new() };

    /// Creates a horizon with the ends of `windows`, and the instants that are `lateness` after these ends.
    pub fn of_windows(windows: SlidingWindows, lateness: Span) -> Self {
        Horizon { is_everywhere: false, ends: vec![(windows, lateness)] }
    }

    /// Returns a horizon with the instants of both horizons, at each of which a watermark has an effect.
    pub fn and(mut self, mut other: Horizon) -> Self {
        self.is_everywhere |= other.is_everywhere;
        other.ends.retain(|ends| !self.ends.contains(ends));
        self.ends.append(&mut other.ends);
        self
    }

    /// Returns the first instant after `after` at which a watermark has an effect; `EventTime::MAX` if there
    /// is none.
    pub fn next_after(&self, after: EventTime) -> EventTime {
        if self.is_everywhere {
            return after.plus(Span::from_micros(1));
        }
        let next = self.ends.iter().map(|(windows, lateness)| {
            let end_after = |instant| windows.window(windows.first_ending_after(instant)).end;
            end_after(after).min(end_after(after.minus(*lateness)).plus(*lateness))
        });
        next.min().unwrap_or(EventTime::MAX)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn windows((size, slide, offset): (i64, i64, i64)) -> SlidingWindows {
        let windows =
            SlidingWindows::of_size(Span::from_micros(size)).every(Span::from_micros(slide)).unwrap();
        windows.with_offset(Span::from_micros(offset))
    }

    #[test]
    fn nothing_happens_or_always_something() {
        let instant = EventTime::from_micros(7);
        assert_eq!(Horizon::NONE.next_after(instant), EventTime::MAX);
        assert_eq!(Horizon::EVERYWHERE.next_after(instant), EventTime::from_micros(8));
        assert_eq!(Horizon::NONE.and(Horizon::EVERYWHERE).next_after(instant), EventTime::from_micros(8));
        let minutes = || Horizon::of_windows(windows((60, 60, 0)), Span::ZERO);
        assert_eq!(minutes().and(minutes()), minutes());
        assert_eq!(minutes().next_after(EventTime::MAX), EventTime::MAX);
    }

    proptest! {
        /// Between an instant and the next instant of the horizon no window ends and no window takes its last
        /// update.
        #[test]
        fn the_next_instant_is_an_end(
            shapes in proptest::collection::vec(((1..40i64, 1..40i64, -50..50i64), 0..60i64), 1..4),
            after in -200..200i64,
        ) {
            let of = |&(shape, lateness): &((i64, i64, i64), i64)| Horizon::of_windows(windows(shape), Span::from_micros(lateness));
            let horizon = shapes.iter().map(of).fold(Horizon::NONE, Horizon::and);
            let next = horizon.next_after(EventTime::from_micros(after)).as_micros();
            // The ends of windows are at `offset + size + n * slide` for every integer `n`.
            let is_end = |instant: i64| shapes.iter().any(|&((size, slide, offset), lateness)| {
                [0, lateness].iter().any(|late| (instant - late - offset - size).rem_euclid(slide) == 0)
            });
            prop_assert_eq!(Some(next), (after + 1..).find(|&instant| is_end(instant)));
        }
    }
}
