//! The horizon of a query: the watermarks that have an effect. Most watermarks change nothing and need not be
//! processed (StreamBox, "Modern Stream Processing on a Multicore Machine", ATC 2017, section 5.2, where a
//! window cancels the watermarks that close nothing).

use crate::time::{EventTime, Span};
use crate::window::SlidingWindows;

/// The event times at which a watermark has an effect, such as the ends of windows. They follow from the
/// setup of operators, not from their state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Horizon {
    /// True if a watermark may have an effect on operators at every instant of event time.
    is_everywhere: bool,
    ends: Vec<Ends>,
}

/// Windows of an operator, all of one size and slide. A watermark has an effect at every end of a window, and
/// at every end plus the allowed lateness.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Ends {
    windows: SlidingWindows,
    lateness: Span,
    /// True if results wait for the ends of windows. If false, a watermark at an end of a window only frees
    /// state.
    hold_results: bool,
}

impl Ends {
    /// Returns the first end of a window that is later than `after`.
    fn end_after(&self, after: EventTime) -> EventTime {
        self.windows.window(self.windows.first_ending_after(after)).end
    }

    /// Returns the first instant after `after` at which a watermark has an effect.
    fn next_after(&self, after: EventTime) -> EventTime {
        let of_update = self.end_after(after.minus(self.lateness)).plus(self.lateness);
        self.end_after(after).min(of_update)
    }
}

impl Horizon {
    /// The horizon (the event times at which a watermark has an effect) of operators on which only the last
    /// watermark, at the end of the stream, has an effect.
    pub const NONE: Horizon = Horizon { is_everywhere: false, ends: Vec::new() };

    /// The horizon of operators on which every watermark may have an effect, at whatever event time.
    pub const EVERYWHERE: Horizon = Horizon { is_everywhere: true, ends: Vec::new() };

    /// Creates a horizon with the ends of `windows`, and the instants that are `lateness` after these ends.
    pub fn of_windows(windows: SlidingWindows, lateness: Span) -> Self {
        Horizon { is_everywhere: false, ends: vec![Ends { windows, lateness, hold_results: true }] }
    }

    /// Creates a horizon with the ends of `windows`, of an operator whose results do not wait for these ends.
    /// At these ends the operator only frees state.
    pub fn of_expiry(windows: SlidingWindows) -> Self {
        let ends = Ends { windows, lateness: Span::ZERO, hold_results: false };
        Horizon { is_everywhere: false, ends: vec![ends] }
    }

    /// Returns the union of both horizons: a watermark has an effect at each event time at which it has one
    /// by `self` or by `other`.
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
        self.ends.iter().map(|ends| ends.next_after(after)).min().unwrap_or(EventTime::MAX)
    }

    /// Returns true if a watermark before the end of the stream may make an operator put out results. At an
    /// end of a window at which only state is freed, none does.
    pub fn holds_results(&self) -> bool {
        self.is_everywhere || self.ends.iter().any(|ends| ends.hold_results)
    }

    /// Returns the last of the ends of windows that come next. Each kind of windows whose results wait for
    /// the end contributes one instant: its first end later than `after`, unless there is none before
    /// [`EventTime::MAX`]. Returns `EventTime::MAX` if no kind contributes.
    pub fn latest_end_after(&self, after: EventTime) -> EventTime {
        let holding = self.ends.iter().filter(|ends| ends.hold_results);
        let ends = holding.map(|ends| ends.end_after(after)).filter(|end| *end < EventTime::MAX);
        ends.max().unwrap_or(EventTime::MAX)
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
        for horizon in [Horizon::NONE, Horizon::EVERYWHERE, Horizon::of_expiry(windows((60, 60, 0)))] {
            assert_eq!(horizon.latest_end_after(instant), EventTime::MAX);
        }
    }

    /// Results wait for the ends of windows, or for any watermark. They do not wait where only state is freed.
    #[test]
    fn results_wait_where_windows_hold_them() {
        let ends = || Horizon::of_windows(windows((60, 60, 0)), Span::ZERO);
        let expiry = || Horizon::of_expiry(windows((1_000, 1_000, 0)));
        for (horizon, expected) in [
            (Horizon::NONE, false),
            (expiry(), false),
            (ends(), true),
            (expiry().and(ends()), true),
            (Horizon::EVERYWHERE, true),
            (expiry().and(Horizon::EVERYWHERE), true),
        ] {
            assert_eq!(horizon.holds_results(), expected, "{horizon:?}");
        }
    }

    /// Windows of 20 are a third of windows of 60. State that is freed every 1000 holds no result, and the
    /// first window that spans all of time never ends.
    #[test]
    fn the_latest_end_is_that_of_the_longest_slide() {
        let ends_in = |shape, lateness| Horizon::of_windows(windows(shape), Span::from_micros(lateness));
        let never = ends_in((i64::MAX, i64::MAX, 0), 0);
        let horizon = ends_in((60, 60, 0), 5).and(ends_in((20, 20, 0), 0)).and(never);
        let horizon = horizon.and(Horizon::of_expiry(windows((1_000, 1_000, 0))));
        for (after, next, latest) in [(0, 5, 60), (45, 60, 60), (59, 60, 60), (60, 65, 120), (85, 100, 120)] {
            let after = EventTime::from_micros(after);
            let found = [horizon.next_after(after), horizon.latest_end_after(after)];
            assert_eq!(found.map(EventTime::as_micros), [next, latest], "{after:?}");
        }
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
