//! Sessions: spans of one key that a gap closes.
//!
//! A row at `t` spans `[t, t + gap)`. It is late if `t + gap` lies at or below its watermark. Otherwise it melts, with
//! its span, into one session with all sessions of its key that its span overlaps and whose end lies above its
//! watermark. So a session spans from its first stamp to one gap behind its last, and two stamps that are a whole gap
//! apart are in two sessions.
//!
//! Rows are taken in the order of arrival, which matters for several inputs alone, and only where one is ahead of
//! another: a row does not melt into what has ended by its own watermark, but a row that comes behind it, with a lower
//! watermark, may melt into both.

use super::Row;
use super::windows::{Aggregated, result};

/// What is known of a session: its span, and which rows it has.
struct Session {
    start_us: i128,
    end_us: i128,
    rows: Vec<usize>,
}

/// For each session of each key what `aggregate` makes of its values, in the order in which they came.
pub fn sessions<T, K: Ord, A>(
    rows: &[Row<T>],
    gap_us: i64,
    key_of: impl Fn(&T) -> K,
    aggregate: impl Fn(&[&T]) -> A,
) -> Aggregated<K, A> {
    let mut late = 0;
    let mut open: Vec<(K, Vec<Session>)> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let (start_us, end_us) = (i128::from(row.at_us), i128::from(row.at_us) + i128::from(gap_us));
        if !row.is_before(end_us) {
            late += 1;
            continue;
        }
        let key = key_of(&row.value);
        let place = open.iter().position(|(other, _)| *other == key).unwrap_or_else(|| {
            open.push((key, Vec::new()));
            open.len() - 1
        });
        let of_key = &mut open[place].1;
        let mut merged = Session { start_us, end_us, rows: vec![index] };
        let mut apart = Vec::new();
        for other in of_key.drain(..) {
            if other.start_us < end_us && start_us < other.end_us && row.is_before(other.end_us) {
                merged.start_us = merged.start_us.min(other.start_us);
                merged.end_us = merged.end_us.max(other.end_us);
                merged.rows.extend(other.rows);
            } else {
                apart.push(other);
            }
        }
        apart.push(merged);
        *of_key = apart;
    }
    let mut results = Vec::new();
    for mut session in open.into_iter().flat_map(|(_, of_key)| of_key) {
        session.rows.sort_unstable();
        let rows: Vec<&Row<T>> = session.rows.iter().map(|&index| &rows[index]).collect();
        results.push(result((session.start_us, session.end_us), &rows, &key_of, &aggregate));
    }
    results.sort_by(|a, b| (a.start_us, a.end_us, &a.key).cmp(&(b.start_us, b.end_us, &b.key)));
    Aggregated { results, late }
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

    /// Watermark 10 ends the session [0, 10): who comes for it is late, or begins another.
    #[test]
    fn who_comes_behind_the_end_is_late_or_alone() {
        check("a1@0 W9 a2@3 W12 a3@4", "0..14:a=a1+a2+a3 late 0");
        check("a1@0 W10 a2@0 a3@5 a4@-9", "0..10:a=a1 5..15:a=a3 late 2");
        check("a1@0 W10 a2@5 | a3@7", "0..17:a=a1+a2+a3 late 0");
    }

    /// The one input is at 12, the other at 18: whose record comes first decides whether they meet.
    #[test]
    fn behind_several_inputs_the_order_of_arrival_matters() {
        check("W12 a1@8 | W18 a2@9", "8..18:a=a1 9..19:a=a2 late 0");
        check("W18 a2@9 | W12 a1@8", "8..19:a=a2+a1 late 0");
    }
}
