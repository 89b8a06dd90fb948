//! The result of Linear Road's short form (speed, toll and accidents) for a segment and a minute, and the
//! rule for its toll.
//!
//! The short form differs from the full rules: it counts reports instead of cars, takes the speed of the same
//! minute, and regards only accidents in the segment itself.

use thalweg_model::Span;

/// The window in which speeds and reports are counted, and in which accidents are joined to them, unless a
/// run chooses other windows.
pub const WINDOW: Span = Span::from_secs(60);
/// The window in which accidents are detected, unless a run chooses other windows.
pub const ACCIDENT_WINDOW: Span = Span::from_secs(120);
/// Distance between the starts of two windows in which accidents are detected.
pub const ACCIDENT_SLIDE: Span = Span::from_secs(30);

/// The windows of the short form of Linear Road (speed, toll and accidents). Sizes and slides are whole
/// seconds, because the starts of windows are written in seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LrbWindows {
    /// The window in which accidents are detected.
    pub accidents: Span,
    /// Distance between the starts of two windows in which accidents are detected; at most their size.
    pub accidents_slide: Span,
    /// The window in which speeds and reports are counted and joined.
    pub tolls: Span,
    /// The window in which accidents are joined to tolls; at most the size of `tolls`, so that it has one toll of a
    /// segment at most. It is the last window of the query. Klink (SIGMOD 2021), section 6.1.1, makes it a third of
    /// the others.
    pub last: Span,
}

impl Default for LrbWindows {
    /// Returns the windows of the Enjima paper: 120 s every 30 s for accidents, and 60 s for tolls and for
    /// their join with accidents.
    fn default() -> Self {
        LrbWindows {
            accidents: ACCIDENT_WINDOW,
            accidents_slide: ACCIDENT_SLIDE,
            tolls: WINDOW,
            last: WINDOW,
        }
    }
}

/// Number of reports of one car at one place, in one [`ACCIDENT_WINDOW`], from which on the car counts as
/// stopped.
pub const STOPPED_REPORTS: u32 = 4;
/// Number of stopped cars at one place from which on there is an accident.
pub const ACCIDENT_CARS: u32 = 2;

/// Returns the toll of a segment for a minute with `cars` reports at the given average speed, without an
/// accident.
#[inline]
pub fn toll(cars: u64, average_speed_mph: f64) -> u64 {
    if cars > 50 && average_speed_mph < 40.0 { 2 * (cars - 50) * (cars - 50) } else { 0 }
}

/// Result of the short form of Linear Road (speed, toll and accidents) for a segment and a minute.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct SegmentReport {
    /// Number of reports from the segment; 0 if only accidents are known.
    pub cars: u64,
    /// Mean speed of these reports in miles per hour; 0 if there are none.
    pub average_speed_mph: f64,
    /// The toll of the segment by the rule of [`toll`], or 0 if there is an accident.
    pub toll: u64,
    /// Number of accidents: pairs of a place in the segment and an [`ACCIDENT_WINDOW`] that ends in the
    /// minute.
    pub accidents: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_costs_something_if_it_is_crowded_and_slow() {
        assert_eq!([50, 51, 60, 150].map(|cars| toll(cars, 39.9)), [0, 2, 200, 20_000]);
        assert_eq!([50, 51, 60, 150].map(|cars| toll(cars, 40.0)), [0; 4]);
        assert_eq!(toll(0, 0.0), 0);
    }
}
