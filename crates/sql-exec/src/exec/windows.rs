//! Arithmetic of SQL windows: the windows of an instant, and the time zone in which they begin.
//!
//! Windows of a TIMESTAMP column are cut in the column's own time. Windows of a TIMESTAMP_LTZ column are cut
//! in local time of the session's zone, so that a window of a day begins at midnight there. `window_start`
//! and `window_end` are in the same local time. Firing is decided by instants.
//!
//! All numbers here are milliseconds. Source: Flink's documentation, "Windowing TVFs", and "Time Zone" for the zones.

use chrono::{LocalResult, NaiveDateTime, Offset, TimeZone};
use chrono_tz::Tz;
use thalweg_model::EventTime;

use crate::plan::WindowSpec;

/// A time zone's offset from UTC is looked up once for each span of this many milliseconds (15 minutes).
const QUARTER_MS: i64 = 900_000;

const DAY_MS: i64 = 86_400_000;

/// Converts instants to local time of a zone (the reading of a clock there) and back.
#[derive(Clone, Debug)]
pub struct Clocks {
    /// Time zone of the conversion; `None` if times need no conversion.
    zone: Option<Tz>,
    /// Start of the quarter of an hour whose offset was looked up last, and that offset in milliseconds.
    last: (i64, i64),
}

impl Clocks {
    /// Creates the conversion between instants and local time of a zone; `None` and UTC need no conversion.
    pub fn new(zone: Option<Tz>) -> Self {
        Clocks { zone: zone.filter(|zone| *zone != Tz::UTC), last: (i64::MIN, 0) }
    }

    /// Returns the local time that a watermark has passed. Windows that end at this local time or before have
    /// all their rows. Rows that are not late by the watermark have this local time or a greater one. Every
    /// operator that holds windows compares their ends with this local time, so that a window fires once and
    /// rows are late for exactly the windows that have fired.
    ///
    /// When clocks are about to be put back, local times after the watermark may be less than the local time
    /// at it. The result is then the least of them. So a window ends at `end` by this rule if and only if its
    /// [`end`](Self::end) is at or before the watermark.
    pub fn passed(&mut self, watermark: EventTime) -> i64 {
        let passed = passed_ms(watermark);
        let Some(zone) = self.zone.filter(|_| passed < i64::MAX) else { return passed };
        let reading = self.reading(passed);
        let over = self.end(reading);
        if over <= passed {
            return reading;
        }
        // The zone's clocks show this local time twice, because they are put back in between. They are put
        // back at the first instant with another offset, which is searched here.
        let offset = offset_ms(zone, passed);
        let (mut low, mut high) = (passed, over);
        while low < high {
            let middle = low + (high - low) / 2;
            if offset_ms(zone, middle) == offset {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.saturating_add(offset_ms(zone, low))
    }

    /// Returns the greatest watermark, in whole milliseconds, at which a window has not ended yet that ends
    /// at the local time which [`passed`](Self::passed) returns for `watermark`.
    pub fn before(&mut self, watermark: EventTime) -> EventTime {
        let reading = self.passed(watermark);
        EventTime::from_micros(self.end(reading).saturating_sub(1).saturating_mul(1_000))
    }

    /// Returns the value of the column `window_time`, the last time in a window that ends at `end_ms`. It is
    /// an instant if windows are cut in local time of a zone.
    pub fn time_of(&self, end_ms: i64) -> i64 {
        self.end(end_ms).saturating_sub(1)
    }

    /// Returns whether local times and instants are equal, so that no conversion is needed.
    pub fn is_none(&self) -> bool {
        self.zone.is_none()
    }

    /// Returns the local time of the zone at an instant.
    pub fn reading(&mut self, instant_ms: i64) -> i64 {
        let Some(zone) = self.zone else { return instant_ms };
        let quarter = instant_ms.div_euclid(QUARTER_MS);
        if quarter == self.last.0 {
            return instant_ms.saturating_add(self.last.1);
        }
        let first = quarter.saturating_mul(QUARTER_MS);
        let offset = offset_ms(zone, first);
        if offset == offset_ms(zone, first.saturating_add(QUARTER_MS)) {
            self.last = (quarter, offset);
        }
        instant_ms.saturating_add(offset_ms(zone, instant_ms))
    }

    /// Returns the instant at which a window with the local end `reading_ms` is over: all rows with earlier
    /// local times have come by then. If clocks show that local time twice, the result is the second instant.
    /// If clocks skip it, the result is the instant of the jump. So the instants of ascending ends never go
    /// back.
    ///
    /// Source: Flink, `TimeWindowUtil.toEpochMillsForTimer`.
    pub fn end(&self, reading_ms: i64) -> i64 {
        let Some(zone) = self.zone else { return reading_ms };
        let last_ms = reading_ms.saturating_sub(1);
        let Some(last) = NaiveDateTime::from_millis(last_ms) else { return reading_ms };
        match zone.offset_from_local_datetime(&last) {
            LocalResult::Single(offset) | LocalResult::Ambiguous(_, offset) => {
                reading_ms - i64::from(offset.fix().local_minus_utc()) * 1_000
            }
            LocalResult::None => {
                // The clocks of a zone are changed only once within the two days before and after a skipped
                // local time. The jump is the first instant whose local time is greater than the searched
                // one.
                let (mut low, mut high) =
                    (last_ms.saturating_sub(2 * DAY_MS), last_ms.saturating_add(2 * DAY_MS));
                while low < high {
                    let middle = low + (high - low) / 2;
                    if middle.saturating_add(offset_ms(zone, middle)) <= last_ms {
                        low = middle + 1;
                    } else {
                        high = middle;
                    }
                }
                low
            }
        }
    }
}

/// Returns how far the local time of a zone is ahead of UTC at an instant, in milliseconds; below zero if it
/// is behind.
fn offset_ms(zone: Tz, instant_ms: i64) -> i64 {
    NaiveDateTime::from_millis(instant_ms).map_or(0, |instant| {
        i64::from(zone.offset_from_utc_datetime(&instant).fix().local_minus_utc()) * 1_000
    })
}

/// Creates a `NaiveDateTime` from milliseconds since the start of 1970, if it is in range.
trait FromMillis: Sized {
    fn from_millis(millis: i64) -> Option<Self>;
}

impl FromMillis for NaiveDateTime {
    fn from_millis(millis: i64) -> Option<Self> {
        chrono::DateTime::from_timestamp_millis(millis).map(|instant| instant.naive_utc())
    }
}

/// Returns a watermark rounded down to whole milliseconds; event times below it have passed. Ends of windows
/// are compared with [`Clocks::passed`] instead.
pub fn passed_ms(watermark: EventTime) -> i64 {
    if watermark == EventTime::MAX { i64::MAX } else { watermark.as_micros().div_euclid(1_000) }
}

/// Slices into which tumbling, sliding and cumulative windows are cut; each window consists of whole slices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slices {
    /// Length in milliseconds of a slice; each window consists of whole slices.
    pub slice_ms: i64,
    /// Start of any one of the slices, in milliseconds since the start of 1970.
    offset_ms: i64,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// A sliding or tumbling window consists of the slices in the span of this size before its end: several
    /// for sliding windows, one for tumbling windows.
    Last { size_ms: i64 },
    /// A cumulative window consists of all slices from the start of a span of this size to the end of the
    /// window. The spans lie back to back.
    FromBegin { size_ms: i64 },
}

impl Slices {
    /// Returns the slices of a kind of windows; `None` for session windows, which depend on the rows.
    pub fn of(spec: &WindowSpec) -> Option<Self> {
        Some(match *spec {
            WindowSpec::Tumble { size_ms, offset_ms } => {
                Slices { slice_ms: size_ms, offset_ms, kind: Kind::Last { size_ms } }
            }
            WindowSpec::Hop { size_ms, slide_ms, offset_ms } => {
                Slices { slice_ms: slide_ms, offset_ms, kind: Kind::Last { size_ms } }
            }
            WindowSpec::Cumulate { size_ms, step_ms, offset_ms } => {
                Slices { slice_ms: step_ms, offset_ms, kind: Kind::FromBegin { size_ms } }
            }
            WindowSpec::Session { .. } => return None,
        })
    }

    /// Returns the start of the slice to which a local time belongs.
    #[inline]
    pub fn start_of(&self, reading_ms: i64) -> i64 {
        floor(reading_ms, self.slice_ms, self.offset_ms)
    }

    /// Returns whether each window consists of one slice, as tumbling windows do.
    pub fn is_one_each(&self) -> bool {
        matches!(self.kind, Kind::Last { size_ms } if size_ms == self.slice_ms)
    }

    /// Returns whether several windows have the same start and each contains the shorter ones, as cumulative
    /// windows do.
    pub fn accumulates(&self) -> bool {
        matches!(self.kind, Kind::FromBegin { .. })
    }

    /// Returns the end of the last window that contains the slice with the given start, in milliseconds.
    pub fn last_end_of(&self, slice_start_ms: i64) -> i64 {
        match self.kind {
            Kind::Last { size_ms } => slice_start_ms.saturating_add(size_ms),
            Kind::FromBegin { size_ms } => {
                floor(slice_start_ms, size_ms, self.offset_ms).saturating_add(size_ms)
            }
        }
    }

    /// Returns the start of the window that ends at `end_ms`.
    pub fn start_of_window(&self, end_ms: i64) -> i64 {
        match self.kind {
            Kind::Last { size_ms } => end_ms.saturating_sub(size_ms),
            Kind::FromBegin { size_ms } => {
                floor(end_ms.saturating_sub(self.slice_ms), size_ms, self.offset_ms)
            }
        }
    }

    /// Returns the end of the first window that contains the slice with the given start, in milliseconds.
    pub fn first_end_of(&self, slice_start_ms: i64) -> i64 {
        slice_start_ms.saturating_add(self.slice_ms)
    }

    /// Returns the start and the end, in milliseconds, of each window that contains the local time
    /// `reading_ms`, the earliest window first. The end is not in the window.
    pub fn windows_of(&self, reading_ms: i64) -> impl Iterator<Item = (i64, i64)> + use<> {
        let slices = *self;
        let slice = slices.start_of(reading_ms);
        let (first, last) = (slices.first_end_of(slice), slices.last_end_of(slice));
        let mut end = first;
        std::iter::from_fn(move || {
            if end > last {
                return None;
            }
            let window = (slices.start_of_window(end), end);
            end = end.checked_add(slices.slice_ms).unwrap_or(i64::MAX);
            Some(window)
        })
    }
}

/// Returns the greatest number of the form `offset + n * size` that is not above `value`.
#[inline]
fn floor(value: i64, size: i64, offset: i64) -> i64 {
    // The subtraction cannot overflow: local times are within a few hundred million years, and the offset is
    // reduced to less than a size.
    let offset = offset.rem_euclid(size);
    value.saturating_sub(value.wrapping_sub(offset).rem_euclid(size))
}

#[cfg(test)]
mod tests {
    use thalweg_model::Span;

    use super::*;

    #[test]
    fn windows_are_those_of_the_manual() {
        let check = |spec: WindowSpec, reading: i64, expected: &[(i64, i64)]| {
            let windows: Vec<_> = Slices::of(&spec).unwrap().windows_of(reading).collect();
            assert_eq!(windows, expected, "{spec:?} {reading}");
        };
        check(WindowSpec::Tumble { size_ms: 10, offset_ms: 0 }, 25, &[(20, 30)]);
        check(WindowSpec::Tumble { size_ms: 10, offset_ms: 3 }, 22, &[(13, 23)]);
        check(WindowSpec::Tumble { size_ms: 10, offset_ms: -3 }, 27, &[(27, 37)]);
        check(WindowSpec::Tumble { size_ms: 10, offset_ms: 0 }, -1, &[(-10, 0)]);
        check(WindowSpec::Hop { size_ms: 10, slide_ms: 5, offset_ms: 0 }, 7, &[(0, 10), (5, 15)]);
        check(WindowSpec::Cumulate { size_ms: 10, step_ms: 2, offset_ms: 0 }, 5, &[(0, 6), (0, 8), (0, 10)]);
        check(WindowSpec::Cumulate { size_ms: 10, step_ms: 2, offset_ms: 0 }, 8, &[(0, 10)]);
        check(
            WindowSpec::Cumulate { size_ms: 10, step_ms: 2, offset_ms: 0 },
            -10,
            &[(-10, -8), (-10, -6), (-10, -4), (-10, -2), (-10, 0)],
        );
    }

    /// Windows in New York end correctly at both changes of clocks in 2024: from 02:00 to 03:00 on 10 March,
    /// and through 01:00 twice on 3 November.
    #[test]
    fn clocks_jump_and_repeat() {
        let mut clocks = Clocks::new(Some(Tz::America__New_York));
        let hour = 3_600_000;
        let jump = 1_710_054_000_000; // 2024-03-10T07:00:00Z, 03:00 there.
        assert_eq!(clocks.reading(jump) - jump, -4 * hour);
        assert_eq!(clocks.reading(jump - 1) - (jump - 1), -5 * hour);
        // Window ends within the hour skipped in spring map to the jump; the first end behind it is as far
        // behind the jump.
        let shown = |at: i64| at - 4 * hour;
        for minutes in [0, 1, 30, 60] {
            assert_eq!(clocks.end(shown(jump) - hour + minutes * 60_000), jump, "{minutes}");
        }
        assert_eq!(clocks.end(shown(jump) + 600_000), jump + 600_000);
        // Window ends within the hour repeated in autumn map to its second time.
        let repeat = 1_730_613_600_000; // 2024-11-03T06:00:00Z, 01:00 there for the second time.
        assert_eq!(
            (clocks.reading(repeat), clocks.reading(repeat - hour)),
            (repeat - 5 * hour, repeat - 5 * hour)
        );
        assert_eq!(clocks.end(repeat - 5 * hour), repeat - hour);
        assert_eq!(clocks.end(repeat - 5 * hour + hour / 2), repeat + hour / 2);
        assert_eq!(clocks.end(repeat - 4 * hour), repeat + hour);
        let mut none = Clocks::new(None);
        assert_eq!((none.reading(7), none.end(7)), (7, 7));
    }

    /// The two ways to tell whether a window is over agree at every instant near a change of clocks:
    /// comparing its end with the passed local time, and comparing its end instant with the watermark.
    #[test]
    fn ends_are_passed_when_their_instant_is() {
        let minute = 60_000;
        for (zone, changes) in [
            (Tz::America__New_York, [1_615_705_200_000, 1_636_264_800_000]),
            (Tz::Europe__Berlin, [1_711_846_800_000, 1_729_990_800_000]),
            (Tz::Asia__Shanghai, [1_615_705_200_000, 1_636_264_800_000]),
            (Tz::Australia__Lord_Howe, [1_617_462_000_000, 1_633_188_600_000]),
            (Tz::Pacific__Apia, [1_325_239_200_000, 1_325_239_200_000]),
        ] {
            let mut clocks = Clocks::new(Some(zone));
            for change in changes {
                let mut before = i64::MIN;
                for step in -400..400 {
                    for watermark in [change + step * minute, change + step * minute - 1] {
                        let passed = clocks.passed(EventTime::from_micros(watermark * 1_000));
                        assert!(clocks.end(passed) <= watermark, "{zone} {watermark}: {passed} is not over");
                        assert!(clocks.end(passed + 1) > watermark, "{zone} {watermark}: more is over");
                        assert!(clocks.reading(watermark) >= passed, "{zone} {watermark}: it is on time");
                    }
                    let watermark = EventTime::from_micros((change + step * minute) * 1_000);
                    let passed = clocks.passed(watermark);
                    assert!(passed >= before, "{zone} {change} {step}: it went back");
                    before = passed;
                    let held = clocks.before(watermark);
                    assert!(clocks.passed(held) < passed, "{zone} {change} {step}: {passed} is over");
                    let next = held.plus(Span::from_millis(1));
                    assert!(
                        clocks.passed(next) >= passed,
                        "{zone} {change} {step}: {held:?} is not the greatest"
                    );
                }
            }
        }
        assert_eq!(Clocks::new(Some(Tz::America__New_York)).passed(EventTime::MAX), i64::MAX);
    }
}
