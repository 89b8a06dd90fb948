//! Sessions: spans of one key that a gap closes.
//!
//! A row at `t` alone is a session `[t, t + gap)`, and is late if that session has ended by the row's
//! watermark. Two rows of a key that are not late belong together if their sessions overlap and neither had
//! ended by the watermark of the other. The relation is transitive. So a session spans from its first stamp
//! to one gap after its last. Two stamps that are a whole gap apart do not belong together, and the order of
//! the two rows does not matter.
//!
//! With allowed lateness `a`, a row is too late only if its session had ended `a` before its watermark or
//! earlier. Two rows of which one is late, but not too late, also belong together if the session of the other
//! had ended less than `a` before. A group that is connected through late rows is an update, as soon as all
//! of it has ended. The sessions of the rows in time are the same as without allowed lateness.

use super::Row;
use super::lateness::Leniently;
use super::windows::{Aggregated, Span, result};

/// Aggregates the values of each session of each key with `aggregate`, in their order of arrival.
pub fn sessions<T, K: Ord, A>(
    rows: &[Row<T>],
    gap_us: i64,
    key_of: impl Fn(&T) -> K,
    aggregate: impl Fn(&[&T]) -> A,
) -> Aggregated<K, A> {
    let gaps = Gaps { gap_us: gap_us.into(), allowed_us: 0 };
    let in_time: Vec<&Row<T>> = rows.iter().filter(|row| !gaps.is_late(row)).collect();
    let mut numbers = Vec::new();
    for place in 0..in_time.len() {
        add(&mut numbers, |other| gaps.belong(in_time[place], in_time[other], &key_of));
    }
    let of = |rows: &[&Row<T>]| result(gaps.span(rows), rows, &key_of, &aggregate);
    let mut results: Vec<_> = groups(&in_time, &numbers).iter().map(|rows| of(rows)).collect();
    results.sort_by(|a, b| (a.start_us, a.end_us, &a.key).cmp(&(b.start_us, b.end_us, &b.key)));
    Aggregated { results, late: (rows.len() - in_time.len()) as u64 }
}

/// Aggregates sessions with allowed lateness: returns the results on time, and the updates by late rows. The
/// last updates are the final groups that are connected through late rows. The list of all updates is right
/// only for the rows of a single input; it has them in the order in which they come.
pub fn lenient_sessions<T, K: Ord, A>(
    rows: &[Row<T>],
    gap_us: i64,
    allowed_us: i64,
    key_of: impl Fn(&T) -> K,
    aggregate: impl Fn(&[&T]) -> A,
) -> Leniently<K, A> {
    let gaps = Gaps { gap_us: gap_us.into(), allowed_us: allowed_us.into() };
    let on_time = sessions(rows, gap_us, &key_of, &aggregate).results;
    let mut found = Leniently { on_time, last: Vec::new(), updates: Vec::new(), late: 0 };
    let of = |rows: &[&Row<T>]| result(gaps.span(rows), rows, &key_of, &aggregate);
    let (mut counted, mut numbers): (Vec<&Row<T>>, _) = (Vec::new(), Vec::new());
    // Groups of rows are identified by their size and first row, because groups never shrink.
    let mut emitted: Vec<(*const Row<T>, usize)> = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        if gaps.is_too_late(row) {
            found.late += 1;
        } else {
            counted.push(row);
            add(&mut numbers, |other| gaps.belong(row, counted[other], &key_of));
        }
        // After the last row, the end of the input closes all groups.
        let next = rows.get(place + 1).map_or(Some(i128::MAX), |next| next.watermark_us);
        if next > row.watermark_us {
            for rows in groups(&counted, &numbers) {
                let mark = (std::ptr::from_ref(rows[0]), rows.len());
                let has_ended = next.is_some_and(|next| gaps.span(&rows).1 <= next);
                if has_ended && rows.iter().any(|row| gaps.is_late(row)) && !emitted.contains(&mark) {
                    emitted.push(mark);
                    found.updates.push(of(&rows));
                }
            }
        }
    }
    let groups = groups(&counted, &numbers);
    found.last =
        groups.iter().filter(|rows| rows.iter().any(|row| gaps.is_late(row))).map(|rows| of(rows)).collect();
    found
}

/// Returns the rows that are too late for any session: the content of a side output for late records.
pub fn too_late_for_sessions<T: Clone>(rows: &[Row<T>], gap_us: i64, allowed_us: i64) -> Vec<Row<T>> {
    let gaps = Gaps { gap_us: gap_us.into(), allowed_us: allowed_us.into() };
    rows.iter().filter(|row| gaps.is_too_late(row)).cloned().collect()
}

/// The gap that closes sessions, and the allowed lateness: how long sessions may change after their end.
#[derive(Clone, Copy)]
struct Gaps {
    gap_us: i128,
    allowed_us: i128,
}

impl Gaps {
    fn end_of<T>(self, row: &Row<T>) -> i128 {
        i128::from(row.at_us) + self.gap_us
    }

    fn is_late<T>(self, row: &Row<T>) -> bool {
        !row.is_before(self.end_of(row))
    }

    fn is_too_late<T>(self, row: &Row<T>) -> bool {
        !row.is_before(self.end_of(row) + self.allowed_us)
    }

    fn belong<T, K: Ord>(self, a: &Row<T>, b: &Row<T>, key_of: impl Fn(&T) -> K) -> bool {
        let (a_end, b_end) = (self.end_of(a), self.end_of(b));
        let overlap = i128::from(a.at_us) < b_end && i128::from(b.at_us) < a_end;
        let allowed_us = |row: &Row<T>| if self.is_late(row) { self.allowed_us } else { 0 };
        let are_open = a.is_before(b_end + allowed_us(a)) && b.is_before(a_end + allowed_us(b));
        overlap && are_open && key_of(&a.value) == key_of(&b.value)
    }

    /// Returns the span of a session: from the first event time of its rows to one gap after the last.
    fn span<T>(self, rows: &[&Row<T>]) -> Span {
        let starts = rows.iter().map(|row| i128::from(row.at_us));
        let ends = rows.iter().map(|row| self.end_of(row));
        (starts.min().expect("a group has rows"), ends.max().expect("a group has rows"))
    }
}

/// Adds a row after those that already have the number of a group. The row gets a new number, and so do all
/// rows that belong together with it.
fn add(numbers: &mut Vec<usize>, belongs: impl Fn(usize) -> bool) {
    let to = numbers.len();
    for other in 0..to {
        let from = numbers[other];
        if from != to && belongs(other) {
            numbers.iter_mut().filter(|number| **number == from).for_each(|number| *number = to);
        }
    }
    numbers.push(to);
}

/// Returns the rows of each group, in their order of arrival.
fn groups<'a, T>(rows: &[&'a Row<T>], numbers: &[usize]) -> Vec<Vec<&'a Row<T>>> {
    let of = |number: usize| (0..rows.len()).filter(move |&place| numbers[place] == number);
    let groups = (0..rows.len()).map(|number| of(number).map(|place| rows[place]).collect::<Vec<_>>());
    groups.filter(|group| !group.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::words::{all, key_of, rows, shown};
    use super::*;

    fn check(input: &str, expected: &str) {
        let Aggregated { results, late } = sessions(&rows(input), 10, key_of, all);
        assert_eq!(format!("{} late {late}", shown(&results)), expected, "{input}");
    }

    #[test]
    fn a_whole_gap_closes_and_less_does_not() {
        check("a1@0 a2@9 b1@5 a3@19 a4@28", "0..19:a=a1+a2 5..15:b=b1 19..38:a=a3+a4 late 0");
        check("a1@-5 a2@5", "-5..5:a=a1 5..15:a=a2 late 0");
    }

    #[test]
    fn what_comes_between_melts_sessions_in_any_order() {
        check("a1@0 a2@16 a3@8", "0..26:a=a1+a2+a3 late 0");
        check("a1@16 a2@0 a3@-9 a4@8 a5@8", "-9..26:a=a1+a2+a3+a4+a5 late 0");
    }

    /// Watermark 10 ends the session [0, 10). A row of this session that comes later is late, or begins
    /// another session.
    #[test]
    fn who_comes_behind_the_end_is_late_or_alone() {
        check("a1@0 W9 a2@3 W12 a3@4", "0..14:a=a1+a2+a3 late 0");
        check("a1@0 W10 a2@0 a3@5 a4@-9", "0..10:a=a1 5..15:a=a3 late 2");
        check("a1@0 W10 a2@5 | a3@7", "0..17:a=a1+a2+a3 late 0");
    }

    /// With two inputs, one at watermark 12 and the other at 18, a session of the first has ended by the
    /// watermark of the second. In either order, the two rows are apart. A third row that belongs to both
    /// connects them.
    #[test]
    fn each_input_by_its_own_watermark() {
        check("W12 a1@8 | W18 a2@9", "8..18:a=a1 9..19:a=a2 late 0");
        check("W18 a2@9 | W12 a1@8", "8..18:a=a1 9..19:a=a2 late 0");
        check("W18 a2@9 | W12 a1@8 | a3@10", "8..20:a=a2+a1+a3 late 0");
    }

    fn check_lenient(allowed_us: i64, input: &str, expected: [&str; 3], late: u64) {
        let found = lenient_sessions(&rows(input), 10, allowed_us, key_of, all);
        assert_eq!([shown(&found.on_time), shown(&found.last), shown(&found.updates)], expected, "{input}");
        assert_eq!(found.late, late, "{input}");
        assert_eq!(too_late_for_sessions(&rows(input), 10, allowed_us).len() as u64, late, "{input}");
    }

    #[test]
    fn what_comes_late_updates_what_it_joins_until_it_is_too_late() {
        let input = "a1@0 W10 a2@0 a3@-4 W14 a4@1 W15 a5@0";
        let updates = "-4..10:a=a1+a2+a3 -4..11:a=a1+a2+a3+a4";
        check_lenient(5, input, ["0..10:a=a1", "-4..11:a=a1+a2+a3+a4", updates], 1);
        check_lenient(0, input, ["0..10:a=a1", "", ""], 4);
    }

    /// A late row joins a session that has fired and one that is open. The open session fires as if the late
    /// row had not come, and then comes an update.
    #[test]
    fn an_update_waits_for_what_is_open() {
        let joined = "0..25:a=a1+a2+a3";
        check_lenient(
            20,
            "a1@0 W10 a2@15 W18 a3@8 W25 b@90",
            ["0..10:a=a1 15..25:a=a2 90..100:b=b", joined, joined],
            0,
        );
    }

    /// A session may have ended for a row in time and not for a late row, so a row in time joins an ended
    /// session only through a late row.
    #[test]
    fn rows_in_time_join_what_has_ended_only_by_way_of_late_ones() {
        check_lenient(20, "a1@0 W10 a2@5", ["0..10:a=a1 5..15:a=a2", "", ""], 0);
        let joined = "0..15:a=a1+a2+a3";
        check_lenient(20, "a1@0 W10 a2@5 W12 a3@1", ["0..10:a=a1 5..15:a=a2", joined, joined], 0);
        check_lenient(2, "a1@0 W10 a2@5 W11 a3@1 W12 a4@0", ["0..10:a=a1 5..15:a=a2", joined, joined], 1);
    }
}
