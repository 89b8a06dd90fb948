//! Allowed lateness: a record that comes after the end of its window, but not too late, changes the window's
//! result once more.
//!
//! With allowed lateness `a`, a row whose watermark lies at or above the end `e` of one of its windows, but
//! below `e + a`, is an update of that window. A window's result on time does not contain its updates. A row is
//! late if each of its windows has `e + a` at or below its watermark.

use super::Row;
use super::windows::{Result, Sliding, groups, result};

/// Sliding windows, and how long they may change after their end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lenient {
    /// The sliding windows to which the allowed lateness applies.
    pub windows: Sliding,
    /// Allowed lateness in microseconds, zero or above.
    pub allowed_us: i64,
}

/// Results of a window aggregate that allows lateness.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leniently<K, A> {
    /// Results on time: for each key and window with records in time, the aggregate of these.
    pub on_time: Vec<Result<K, A>>,
    /// Last updates: for each key and window with updates, the aggregate of all its records.
    pub last: Vec<Result<K, A>>,
    /// All updates, if the rows are those of a single input, whose watermarks ascend: one for each key,
    /// window and watermark with updates, the aggregate of all records up to then.
    pub updates: Vec<Result<K, A>>,
    /// Number of records that came too late for all their windows.
    pub late: u64,
}

/// Aggregates the values of each key and window with `aggregate`: the results on time, and the updates by
/// late records.
pub fn lenient<T: Clone, K: Ord, A>(
    rows: &[Row<T>],
    Lenient { windows, allowed_us }: Lenient,
    key_of: impl Fn(&T) -> K,
    aggregate: impl Fn(&[&T]) -> A,
) -> Leniently<K, A> {
    let late = too_late(rows, Lenient { windows, allowed_us }).len() as u64;
    let mut found = Leniently { on_time: Vec::new(), last: Vec::new(), updates: Vec::new(), late };
    let covered = |row: &Row<T>| {
        let spans = windows.spans(row.at_us).into_iter();
        spans.filter(|span| row.is_before(span.1 + i128::from(allowed_us))).collect()
    };
    for (span, all) in groups(rows, covered, &key_of) {
        let of = |rows: &[&Row<T>]| result(span, rows, &key_of, &aggregate);
        let (on_time, behind): (Vec<_>, Vec<_>) = all.iter().partition(|row| row.is_before(span.1));
        if !on_time.is_empty() {
            found.on_time.push(of(&on_time));
        }
        if !behind.is_empty() {
            found.last.push(of(&all));
        }
        for same_watermark in behind.chunk_by(|a, b| a.watermark_us == b.watermark_us) {
            let until = same_watermark[0].watermark_us;
            let known: Vec<&Row<T>> = all.iter().copied().filter(|row| row.watermark_us <= until).collect();
            found.updates.push(of(&known));
        }
    }
    found
}

/// Returns the rows that come too late for all their windows: the content of a side output for late records.
pub fn too_late<T: Clone>(rows: &[Row<T>], Lenient { windows, allowed_us }: Lenient) -> Vec<Row<T>> {
    rows.iter().filter(|row| windows.is_late(row, allowed_us)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::super::words::{all, key_of, rows, shown};
    use super::*;

    fn check(size_us: i64, slide_us: i64, allowed_us: i64, input: &str, expected: [&str; 3], late: u64) {
        let lenient_windows = Lenient { windows: Sliding { size_us, slide_us, offset_us: 0 }, allowed_us };
        let found = lenient(&rows(input), lenient_windows, key_of, all);
        assert_eq!([shown(&found.on_time), shown(&found.last), shown(&found.updates)], expected, "{input}");
        assert_eq!(found.late, late, "{input}");
    }

    #[test]
    fn what_comes_late_updates_its_window_until_it_is_too_late() {
        let input = "a1@3 b1@4 W10 a2@5 a3@6 W14 a4@7 W15 a5@8";
        let updates = "0..10:a=a1+a2+a3 0..10:a=a1+a2+a3+a4";
        check(10, 10, 5, input, ["0..10:a=a1 0..10:b=b1", "0..10:a=a1+a2+a3+a4", updates], 1);
        check(10, 10, 0, input, ["0..10:a=a1 0..10:b=b1", "", ""], 4);
    }

    /// A key may have an update without a result on time. A record may also be in time for one of its windows
    /// and late for another.
    #[test]
    fn updates_without_a_result_on_time_and_beside_one() {
        check(10, 10, 5, "W10 a1@3", ["", "0..10:a=a1", "0..10:a=a1"], 0);
        check(10, 5, 1, "W10 a1@7 W11 a2@8", ["5..15:a=a1+a2", "0..10:a=a1", "0..10:a=a1"], 0);
    }

    /// With two inputs of which one is further ahead, a record that would be on time on one input is an
    /// update on the other.
    #[test]
    fn each_input_by_its_own_watermark() {
        check(10, 10, 5, "W12 a1@3 | a2@4", ["0..10:a=a2", "0..10:a=a1+a2", "0..10:a=a1+a2"], 0);
    }
}
