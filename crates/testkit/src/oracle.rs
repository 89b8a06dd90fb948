//! Expected results of a query, recomputed from its whole input: sorted vectors, nested loops, plain numbers.
//!
//! Nothing of the engine is used here, neither its times nor its windows. Every rule is stated once more, in
//! the file of its subject:
//!
//! 1. This file: rows, the watermarks that a source sets, and unions.
//! 2. [`stateless`]: filter, map, flat map, split. [`static_join`]: rows of a table.
//! 3. [`windows`]: tumbling, sliding and count windows; distinct keys. [`lateness`]: late records that still count.
//!    [`sessions`]: spans that a gap closes.
//! 4. [`window_join`]: pairs and groups of two inputs in one window. [`interval_join`]: pairs whose stamps are near.
//! 5. [`order`]: the largest `n`, sorted by stamp. [`alarm`]: a function with timers.
//!
//! A row is late by the watermark of its own input at its own position. So the rows of united inputs can be
//! concatenated in any order; where the order of arrival matters nevertheless, the function says so. The end of
//! the input closes everything. Times are microseconds, computed in 128 bits, where no value that a test uses
//! can overflow.

pub mod alarm;
pub mod interval_join;
pub mod lateness;
pub mod order;
pub mod sessions;
pub mod stateless;
pub mod static_join;
pub mod window_join;
pub mod windows;
#[cfg(test)]
mod words;

pub use alarm::{Alarm, Alarms, alarms};
pub use interval_join::{Interval, Matched, Matches, interval_join};
pub use lateness::{Lenient, Leniently, lenient, too_late};
pub use order::{largest, late, sorted};
pub use sessions::{lenient_sessions, sessions, too_late_for_sessions};
pub use stateless::{filter, flat_map, map, split};
pub use static_join::{join, join_left};
pub use window_join::{Joined, Keeps, co_group, window_join};
pub use windows::{
    Aggregated, Counted, CountedAll, Counting, Result, Sliding, Windows, count_windows, distinct, sliding,
    tumbling,
};

/// A record with the watermark at its position, as the oracles read it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Row<T> {
    /// Event time of the record, in microseconds.
    pub at_us: i64,
    /// The last watermark of the record's own input before it; `None` before the first.
    pub watermark_us: Option<i128>,
    /// The value that the record carries.
    pub value: T,
}

/// The promise of a source about the order of its records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promise {
    /// Largest difference in microseconds by which the event time of a record may lie below the latest one
    /// before it.
    pub bound_us: i64,
    /// Least advance in microseconds from one watermark to the next; values below one count as one.
    pub step_us: i64,
}

/// Returns the records of a source, each with the watermark before it. A watermark is the largest stamp so far
/// less the bound. It is set after the first record, and after each record by which it advances by at least the
/// step.
pub fn source<T: Clone>(input: &[(i64, T)], promise: Promise) -> Vec<Row<T>> {
    let (bound, step) = (i128::from(promise.bound_us), i128::from(promise.step_us.max(1)));
    let mut largest = i128::MIN;
    let mut watermark_us = None;
    let mut rows = Vec::new();
    for (at_us, value) in input {
        rows.push(Row { at_us: *at_us, watermark_us, value: value.clone() });
        largest = largest.max(i128::from(*at_us));
        let reached = largest - bound;
        let moves_on = match watermark_us {
            None => true,
            Some(last) => reached - last >= step,
        };
        if moves_on {
            watermark_us = Some(reached);
        }
    }
    rows
}

/// Returns the rows of all inputs, one input after the other.
pub fn union<T: Clone>(inputs: &[Vec<Row<T>>]) -> Vec<Row<T>> {
    inputs.concat()
}

impl<T> Row<T> {
    /// Returns a row with another value, and with the same event time and watermark.
    pub fn with<U>(&self, value: U) -> Row<U> {
        Row { at_us: self.at_us, watermark_us: self.watermark_us, value }
    }

    /// Returns whether a window that ends at `end_us` was still open by the row's own watermark.
    fn is_before(&self, end_us: i128) -> bool {
        self.watermark_us.is_none_or(|watermark| watermark < end_us)
    }

    /// Returns whether the row's own watermark is above its stamp: the rule for lateness without windows.
    fn is_late(&self) -> bool {
        self.watermark_us.is_some_and(|watermark| i128::from(self.at_us) < watermark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the watermark before each event time, for a source with the given bound and step; `-` stands
    /// for none.
    fn check_watermarks(bound_us: i64, step_us: i64, stamps: &[i64], expected: &str) {
        let input: Vec<(i64, ())> = stamps.iter().map(|&stamp| (stamp, ())).collect();
        let rows = source(&input, Promise { bound_us, step_us });
        let show = |row: &Row<()>| row.watermark_us.map_or("-".to_owned(), |watermark| watermark.to_string());
        assert_eq!(rows.iter().map(show).collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn watermarks_stand_behind_the_record_that_moves_them_on() {
        check_watermarks(0, 10, &[5, 6, 14, 15, 16, 40, 1], "- 5 5 5 15 15 40");
        check_watermarks(10, 5, &[100, 95, 104, 105, 91, 120, 0], "- 90 90 90 95 95 110");
        check_watermarks(0, 0, &[5, 5, 6, 3, 7], "- 5 5 6 6");
        check_watermarks(3, 1, &[i64::MIN, -7, i64::MIN], "- -9223372036854775811 -10");
    }

    /// Rows of united inputs keep the watermarks of their own inputs: the watermark of one input says nothing
    /// about the records of another.
    #[test]
    fn inputs_come_together_with_their_own_watermarks() {
        let (ahead, behind) = (words::rows("W90 a@95"), words::rows("W1 b@2"));
        let watermarks = |rows: &[Row<String>]| rows.iter().map(|row| row.watermark_us).collect::<Vec<_>>();
        assert_eq!(watermarks(&union(&[ahead, behind])), [Some(90), Some(1)]);
    }
}
