//! Sessions: spans of one key that a gap closes.
//!
//! A row at `t` alone is a session `[t, t + gap)`, and late if that has ended by its watermark. Two rows of a key that are
//! not late belong together if their sessions overlap and neither had ended by the watermark of the other; and with them
//! all who belong to either. So a session spans from its first stamp to one gap behind its last, two stamps that are a
//! whole gap apart do not belong together, and it does not matter who came first.

use super::Row;
use super::windows::{Aggregated, result};

/// For each session of each key what `aggregate` makes of its values, in the order in which they came.
pub fn sessions<T, K: Ord, A>(
    rows: &[Row<T>],
    gap_us: i64,
    key_of: impl Fn(&T) -> K,
    aggregate: impl Fn(&[&T]) -> A,
) -> Aggregated<K, A> {
    let end_of = |row: &Row<T>| i128::from(row.at_us) + i128::from(gap_us);
    let in_time: Vec<&Row<T>> = rows.iter().filter(|row| row.is_before(end_of(row))).collect();
    let belong = |a: &Row<T>, b: &Row<T>| {
        let overlap = i128::from(a.at_us) < end_of(b) && i128::from(b.at_us) < end_of(a);
        let are_open = a.is_before(end_of(b)) && b.is_before(end_of(a));
        overlap && are_open && key_of(&a.value) == key_of(&b.value)
    };
    // The number of each row's session: its own at first.
    let mut numbers: Vec<usize> = (0..in_time.len()).collect();
    for place in 0..in_time.len() {
        for other in 0..place {
            let (from, to) = (numbers[place], numbers[other]);
            if from != to && belong(in_time[place], in_time[other]) {
                numbers.iter_mut().filter(|number| **number == from).for_each(|number| *number = to);
            }
        }
    }
    let mut results = Vec::new();
    for number in 0..in_time.len() {
        let of_it = (0..in_time.len()).filter(|&place| numbers[place] == number);
        let rows: Vec<&Row<T>> = of_it.map(|place| in_time[place]).collect();
        let starts = rows.iter().map(|row| i128::from(row.at_us)).min();
        let ends = rows.iter().map(|row| end_of(row)).max();
        if let (Some(start_us), Some(end_us)) = (starts, ends) {
            results.push(result((start_us, end_us), &rows, &key_of, &aggregate));
        }
    }
    results.sort_by(|a, b| (a.start_us, a.end_us, &a.key).cmp(&(b.start_us, b.end_us, &b.key)));
    Aggregated { results, late: (rows.len() - in_time.len()) as u64 }
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

    /// The one input is at 12, the other at 18, where the session of the first has ended: they are apart, whoever comes
    /// first. A third that belongs to both brings them together.
    #[test]
    fn each_input_by_its_own_watermark() {
        check("W12 a1@8 | W18 a2@9", "8..18:a=a1 9..19:a=a2 late 0");
        check("W18 a2@9 | W12 a1@8", "8..18:a=a1 9..19:a=a2 late 0");
        check("W18 a2@9 | W12 a1@8 | a3@10", "8..20:a=a2+a1+a3 late 0");
    }
}
