//! Windows: tumbling and sliding windows by time, and windows of a number of records.
//!
//! Window `n` of size `s`, slide `d` and offset `o` spans `[n d + o, n d + o + s)`, for every whole number
//! `n`; in tumbling windows the slide is the size. A row counts for each of its windows whose end lies above
//! its watermark. It is late if it has windows, but counts for none. With a slide above the size a row may
//! have no window: then it counts for nothing, and is not late either.

use super::Row;

/// Start and end of a window, in microseconds.
pub(super) type Span = (i128, i128);

/// Tumbling windows: windows of one size, back to back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Windows {
    /// Size of each window in microseconds, above zero.
    pub size_us: i64,
    /// Start of any one of the tumbling windows, in microseconds.
    pub offset_us: i64,
}

/// Sliding windows: windows of one size that start one slide after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sliding {
    /// Size of each window in microseconds, above zero.
    pub size_us: i64,
    /// Distance between the starts of two windows in microseconds, above zero.
    pub slide_us: i64,
    /// Start of any one of the sliding windows, in microseconds.
    pub offset_us: i64,
}

/// The result of one key in one window. Results are sorted by window, then key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Result<K, A> {
    /// The first instant in the window of the result, in microseconds.
    pub start_us: i128,
    /// The first instant after the window of the result, in microseconds.
    pub end_us: i128,
    /// The key whose values in the window make the result.
    pub key: K,
    /// Aggregate of the key's values in the window.
    pub value: A,
}

/// All results of a window aggregate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Aggregated<K, A> {
    /// The results of all windows, sorted by window, then by key.
    pub results: Vec<Result<K, A>>,
    /// Number of records that came too late for their windows.
    pub late: u64,
}

/// Aggregates the values of each key and window with `aggregate`, in their order of arrival. Late records are
/// left out.
pub fn tumbling<T, K: Ord, A>(
    rows: &[Row<T>],
    windows: Windows,
    key_of: impl Fn(&T) -> K,
    aggregate: impl Fn(&[&T]) -> A,
) -> Aggregated<K, A> {
    sliding(rows, windows.into(), key_of, aggregate)
}

/// Aggregates the values of each key and sliding window with `aggregate`, in their order of arrival. Late
/// records are left out.
pub fn sliding<T, K: Ord, A>(
    rows: &[Row<T>],
    windows: Sliding,
    key_of: impl Fn(&T) -> K,
    aggregate: impl Fn(&[&T]) -> A,
) -> Aggregated<K, A> {
    let groups = groups(rows, |row| windows.open_spans(row), &key_of);
    let results = groups.iter().map(|(span, rows)| result(*span, rows, &key_of, &aggregate)).collect();
    Aggregated { results, late: rows.iter().filter(|row| windows.is_late(row, 0)).count() as u64 }
}

/// Returns each key once for each window in which it has records that are not late.
pub fn distinct<T, K: Ord>(rows: &[Row<T>], windows: Windows, key_of: impl Fn(&T) -> K) -> Aggregated<K, ()> {
    tumbling(rows, windows, key_of, |_| ())
}

impl From<Windows> for Sliding {
    fn from(Windows { size_us, offset_us }: Windows) -> Self {
        Sliding { size_us, slide_us: size_us, offset_us }
    }
}

impl Sliding {
    /// Returns all windows that contain an instant, the latest first.
    pub(super) fn spans(self, at_us: i64) -> Vec<Span> {
        let at = i128::from(at_us);
        let Sliding { size_us, slide_us, offset_us } = self;
        let (size, slide, offset) = (i128::from(size_us), i128::from(slide_us), i128::from(offset_us));
        // Division rounds towards zero, so the latest start at or before `at` may be one slide earlier.
        let mut start = (at - offset) / slide * slide + offset;
        if start > at {
            start -= slide;
        }
        let mut spans = Vec::new();
        while at < start + size {
            spans.push((start, start + size));
            start -= slide;
        }
        spans
    }

    /// Returns the windows of a row that end after the row's watermark, for which the row is in time.
    pub(super) fn open_spans<T>(self, row: &Row<T>) -> Vec<Span> {
        self.spans(row.at_us).into_iter().filter(|span| row.is_before(span.1)).collect()
    }

    /// Returns whether a row comes too late for all its windows, by more than the allowed lateness.
    pub(super) fn is_late<T>(self, row: &Row<T>, allowed_us: i64) -> bool {
        let spans = self.spans(row.at_us);
        !spans.is_empty() && spans.iter().all(|span| !row.is_before(span.1 + i128::from(allowed_us)))
    }
}

/// Groups rows by window and key; `spans_of` returns the windows that a row counts for.
pub(super) fn groups<T, K: Ord>(
    rows: &[Row<T>],
    spans_of: impl Fn(&Row<T>) -> Vec<Span>,
    key_of: impl Fn(&T) -> K,
) -> Vec<(Span, Vec<&Row<T>>)> {
    let mut placed: Vec<(Span, K, usize)> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        for span in spans_of(row) {
            placed.push((span, key_of(&row.value), index));
        }
    }
    placed.sort();
    let of_one = placed.chunk_by(|a, b| (a.0, &a.1) == (b.0, &b.1));
    of_one.map(|group| (group[0].0, group.iter().map(|(_, _, index)| &rows[*index]).collect())).collect()
}

/// Returns the result of some rows of one window and key: the aggregate of their values.
pub(super) fn result<T, K, A>(
    (start_us, end_us): Span,
    rows: &[&Row<T>],
    key_of: impl Fn(&T) -> K,
    aggregate: impl Fn(&[&T]) -> A,
) -> Result<K, A> {
    let values: Vec<&T> = rows.iter().map(|row| &row.value).collect();
    Result { start_us, end_us, key: key_of(values[0]), value: aggregate(&values) }
}

/// Count windows of `size` records of a key, one of which begins every `slide` records. Both numbers are
/// above zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counting {
    /// Number of records of a key in each count window.
    pub size: usize,
    /// Number of records of a key between the starts of two count windows.
    pub slide: usize,
}

/// Result of a count window. Results are sorted by key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Counted<K, A> {
    /// The key whose records make the count window.
    pub key: K,
    /// Event time of the window's last record, in microseconds.
    pub at_us: i64,
    /// Aggregate of the values in the count window.
    pub value: A,
}

/// All results of count windows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CountedAll<K, A> {
    /// Results by key, then in the order in which windows became full. A window that is not full at the end
    /// of the input has no result.
    pub results: Vec<Counted<K, A>>,
    /// Number of records that lie between two windows, which happens if the slide is above the size.
    pub outside: u64,
}

/// Aggregates the values of each window of each key with `aggregate`, in their order of arrival. The result
/// depends on the order of arrival, which is that of `rows`; no row is late.
pub fn count_windows<T, K: Ord, A>(
    rows: &[Row<T>],
    Counting { size, slide }: Counting,
    key_of: impl Fn(&T) -> K,
    aggregate: impl Fn(&[&T]) -> A,
) -> CountedAll<K, A> {
    let mut keyed: Vec<&Row<T>> = rows.iter().collect();
    keyed.sort_by_key(|row| key_of(&row.value));
    let mut counted = CountedAll { results: Vec::new(), outside: 0 };
    for rows in keyed.chunk_by(|a, b| key_of(&a.value) == key_of(&b.value)) {
        for window in (0..rows.len()).step_by(slide).filter_map(|start| rows.get(start..start + size)) {
            let values: Vec<&T> = window.iter().map(|row| &row.value).collect();
            let at_us = window[size - 1].at_us;
            counted.results.push(Counted { key: key_of(values[0]), at_us, value: aggregate(&values) });
        }
        counted.outside += (0..rows.len()).filter(|place| place % slide >= size).count() as u64;
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::super::words::{all, key_of, rows, shown};
    use super::*;

    fn check(size_us: i64, slide_us: i64, offset_us: i64, input: &str, expected: &str) {
        let windows = Sliding { size_us, slide_us, offset_us };
        let Aggregated { results, late } = sliding(&rows(input), windows, key_of, all);
        assert_eq!(format!("{} late {late}", shown(&results)), expected, "{input}");
    }

    #[test]
    fn tumbling_windows_tile_the_line_below_zero_too_and_late_records_are_counted() {
        check(10, 10, 0, "a@-1 W-1 a@0 W0 b@9 W9 a@10", "-10..0:a=a 0..10:a=a 0..10:b=b 10..20:a=a late 0");
        check(10, 10, 3, "a@2 W2 a@3 W3 a@13", "-7..3:a=a 3..13:a=a 13..23:a=a late 0");
        // The watermark 10 closes the window [0, 10) only.
        check(10, 10, 0, "a1@10 W10 a2@9 a3@11 W11 a4@10", "10..20:a=a1+a3+a4 late 1");
    }

    /// A record counts for each of its sliding windows that is still open by its own input's watermark,
    /// regardless of records of other inputs before it.
    #[test]
    fn sliding_windows_close_one_by_one() {
        check(10, 5, 0, "a1@12 W10 a2@8 | a3@8", "0..10:a=a3 5..15:a=a1+a2+a3 10..20:a=a1 late 0");
        check(10, 5, 0, "W15 a@8", " late 1");
        check(10, 4, 1, "a@-8 a@0", "-15..-5:a=a -11..-1:a=a -7..3:a=a -3..7:a=a late 0");
        // If windows leave gaps between them, a record in a gap is never late.
        check(2, 5, 0, "W90 a@3 a@99 b@1 a@96", "95..97:a=a late 1");
    }

    fn check_counts(size: usize, slide: usize, expected: &str) {
        let rows = rows("a1@9 b1@1 a2@3 W99 b2@4 b3@5 a3@1 a4@0 a5@7");
        let CountedAll { results, outside } = count_windows(&rows, Counting { size, slide }, key_of, all);
        let show = |counted: &Counted<char, String>| format!("{}@{}", counted.value, counted.at_us);
        let shown: Vec<String> = results.iter().map(show).collect();
        assert_eq!(format!("{} outside {outside}", shown.join(" ")), expected, "{size} every {slide}");
    }

    #[test]
    fn so_many_records_of_a_key_make_a_window() {
        check_counts(2, 2, "a1+a2@3 a3+a4@0 b1+b2@4 outside 0");
        check_counts(3, 1, "a1+a2+a3@1 a2+a3+a4@0 a3+a4+a5@7 b1+b2+b3@5 outside 0");
        check_counts(1, 3, "a1@9 a4@0 b1@1 outside 5");
    }
}
