//! What must come out of a query, recomputed from its whole input: sorted vectors, nested loops, plain numbers.
//!
//! Nothing of the engine is used here, neither its times nor its windows. Every rule is stated once more:
//!
//! * Watermark: the largest stamp seen less the bound. One is set behind a record that moves it on by at least the
//!   step since the last one set, and behind the first record in any case.
//! * Window `n` of size `s` and offset `o` spans `[n s + o, (n + 1) s + o)`, for every whole number `n`.
//! * Late: the end of the record's window lies at or below the watermark that was set last before the record.
//! * The end of the input closes every window.
//!
//! Times are microseconds. They are computed in 128 bits, where nothing a test writes down can overflow.

/// A record at its place in the stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row<T> {
    /// Its stamp.
    pub at_us: i64,
    /// The watermark that was set last before it; none before the first.
    pub watermark_us: Option<i128>,
    /// What it carries.
    pub value: T,
}

/// What a source promises about the order of its records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promise {
    /// How far a record may lie behind the latest before it.
    pub bound_us: i64,
    /// The least advance from one watermark to the next; at least one microsecond counts.
    pub step_us: i64,
}

/// Back-to-back windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Windows {
    /// Above zero.
    pub size_us: i64,
    /// Where one of them starts.
    pub offset_us: i64,
}

/// The result of one key in one window. Sorts by window, then key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Result<K, A> {
    /// The first instant inside.
    pub start_us: i128,
    /// The first instant behind.
    pub end_us: i128,
    /// The key.
    pub key: K,
    /// What its records make.
    pub value: A,
}

/// What comes of a window aggregate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Aggregated<K, A> {
    /// By window, then key.
    pub results: Vec<Result<K, A>>,
    /// Records that came too late for their window.
    pub late: u64,
}

/// The records of a source, each with the watermark before it.
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

/// The rows whose value `keep` accepts.
pub fn filter<T: Clone>(rows: &[Row<T>], keep: impl Fn(&T) -> bool) -> Vec<Row<T>> {
    rows.iter().filter(|row| keep(&row.value)).cloned().collect()
}

/// Each row with another value.
pub fn map<T, U>(rows: &[Row<T>], function: impl Fn(&T) -> U) -> Vec<Row<U>> {
    let other =
        |row: &Row<T>| Row { at_us: row.at_us, watermark_us: row.watermark_us, value: function(&row.value) };
    rows.iter().map(other).collect()
}

/// Each row with each entry of the table that has its key.
pub fn join<T, K: PartialEq, R, U>(
    rows: &[Row<T>],
    table: &[(K, R)],
    key_of: impl Fn(&T) -> K,
    combine: impl Fn(&T, &R) -> U,
) -> Vec<Row<U>> {
    let mut joined = Vec::new();
    for row in rows {
        for (key, entry) in table {
            if *key == key_of(&row.value) {
                let value = combine(&row.value, entry);
                joined.push(Row { at_us: row.at_us, watermark_us: row.watermark_us, value });
            }
        }
    }
    joined
}

/// For each key and window with records that are not late: what `aggregate` makes of their values, in the order
/// in which they came.
pub fn tumbling<T, K: Ord, A>(
    rows: &[Row<T>],
    windows: Windows,
    key_of: impl Fn(&T) -> K,
    aggregate: impl Fn(&[&T]) -> A,
) -> Aggregated<K, A> {
    let in_time =
        |row: &&Row<T>| row.watermark_us.is_none_or(|watermark| span_of(windows, row.at_us).1 > watermark);
    let taken: Vec<&Row<T>> = rows.iter().filter(in_time).collect();
    let mut groups: Vec<((i128, i128), K)> =
        taken.iter().map(|row| (span_of(windows, row.at_us), key_of(&row.value))).collect();
    groups.sort();
    groups.dedup();
    let late = (rows.len() - taken.len()) as u64;
    let result = |((start_us, end_us), key): ((i128, i128), K)| {
        let is_in = |row: &&&Row<T>| {
            start_us <= i128::from(row.at_us) && i128::from(row.at_us) < end_us && key_of(&row.value) == key
        };
        let values: Vec<&T> = taken.iter().filter(is_in).map(|row| &row.value).collect();
        Result { start_us, end_us, value: aggregate(&values), key }
    };
    Aggregated { results: groups.into_iter().map(result).collect(), late }
}

/// Start and end of the window that contains `at_us`.
fn span_of(windows: Windows, at_us: i64) -> (i128, i128) {
    let (size, offset) = (i128::from(windows.size_us), i128::from(windows.offset_us));
    let distance = i128::from(at_us) - offset;
    let rounded_to_zero = distance / size;
    // Division rounds towards zero; a window that starts before it is one further.
    let number = if distance % size < 0 { rounded_to_zero - 1 } else { rounded_to_zero };
    (number * size + offset, (number + 1) * size + offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stamps with bound and step; for each the watermark before it, `-` for none.
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

    /// Words `key@stamp`; results as `start:key=count`, then the late ones.
    fn check_windows(size_us: i64, offset_us: i64, input: &str, expected: &str) {
        let record = |word: &str| {
            let (key, stamp) = word.split_once('@').unwrap();
            (stamp.parse().unwrap(), key.to_owned())
        };
        let input: Vec<(i64, String)> = input.split_whitespace().map(record).collect();
        let rows = source(&input, Promise { bound_us: 0, step_us: 1 });
        let windows = Windows { size_us, offset_us };
        let Aggregated { results, late } = tumbling(&rows, windows, String::clone, |values| values.len());
        let show =
            |result: &Result<String, usize>| format!("{}:{}={}", result.start_us, result.key, result.value);
        let shown: Vec<String> = results.iter().map(show).collect();
        assert_eq!(format!("{} late {late}", shown.join(" ")), expected);
    }

    #[test]
    fn windows_tile_the_line_below_zero_too_and_late_records_are_counted() {
        check_windows(10, 0, "a@-1 a@0 b@9 a@10", "-10:a=1 0:a=1 0:b=1 10:a=1 late 0");
        check_windows(10, 3, "a@2 a@3 a@13", "-7:a=1 3:a=1 13:a=1 late 0");
        // At the record's position the watermark is 10, which closes [0, 10) and no more.
        check_windows(10, 0, "a@10 a@9 a@11 a@10", "10:a=3 late 1");
    }

    #[test]
    fn joins_meet_every_entry_of_their_key() {
        let rows = source(&[(1, 7), (2, 8)], Promise { bound_us: 0, step_us: 1 });
        let joined = join(&rows, &[(7, 'x'), (7, 'y')], |value| *value, |value, entry| (*value, *entry));
        assert_eq!(joined.iter().map(|row| row.value).collect::<Vec<_>>(), [(7, 'x'), (7, 'y')]);
        assert_eq!(filter(&rows, |value| *value > 7).len(), 1);
        assert_eq!(map(&rows, |value| value + 1)[1].value, 9);
    }
}
