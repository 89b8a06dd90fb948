//! Interval join: a left row at `l` matches each right row of its key in `[l + lower, l + upper]`.
//!
//! A row is late if its stamp lies below its watermark; late rows match none. A pair is stamped with the later
//! of its two stamps, and a row without a match with its own.

use super::Row;
use super::window_join::{Joined, Keeps};

/// Interval in which a right row's event time must lie, relative to the left row's. Both ends are included,
/// and either may be below zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    /// Lower end of the interval in microseconds, at most `upper_us`.
    pub lower_us: i64,
    /// Upper end of the interval in microseconds, at least `lower_us`.
    pub upper_us: i64,
}

/// A result of an interval join: a pair, or a row without a match. Results are sorted by event time.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Matched<L, R> {
    /// Event time of the result, in microseconds.
    pub at_us: i64,
    /// The two values of a pair, or the one value of a row without a match.
    pub value: Joined<L, R>,
}

/// Results of an interval join.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Matches<L, R> {
    /// All results, sorted by event time.
    pub results: Vec<Matched<L, R>>,
    /// Number of late records of both inputs.
    pub late: u64,
}

/// Returns all pairs of an interval join, and those rows without a match that the kind of join keeps.
pub fn interval_join<L: Clone + Ord, R: Clone + Ord, K: PartialEq>(
    (left, right): (&[Row<L>], &[Row<R>]),
    interval: Interval,
    left_key: impl Fn(&L) -> K,
    right_key: impl Fn(&R) -> K,
    keeps: Keeps,
) -> Matches<L, R> {
    let lefts: Vec<&Row<L>> = left.iter().filter(|row| !row.is_late()).collect();
    let rights: Vec<&Row<R>> = right.iter().filter(|row| !row.is_late()).collect();
    let meet = |left: &Row<L>, right: &Row<R>| {
        let behind = i128::from(right.at_us) - i128::from(left.at_us);
        let is_near = i128::from(interval.lower_us) <= behind && behind <= i128::from(interval.upper_us);
        is_near && left_key(&left.value) == right_key(&right.value)
    };
    let mut results = Vec::new();
    for left in &lefts {
        for right in rights.iter().filter(|right| meet(left, right)) {
            let value = (Some(left.value.clone()), Some(right.value.clone()));
            results.push(Matched { at_us: left.at_us.max(right.at_us), value });
        }
        if keeps.left && !rights.iter().any(|right| meet(left, right)) {
            results.push(Matched { at_us: left.at_us, value: (Some(left.value.clone()), None) });
        }
    }
    for right in rights.iter().filter(|right| keeps.right && !lefts.iter().any(|left| meet(left, right))) {
        results.push(Matched { at_us: right.at_us, value: (None, Some(right.value.clone())) });
    }
    results.sort();
    Matches { results, late: (left.len() - lefts.len() + right.len() - rights.len()) as u64 }
}

#[cfg(test)]
mod tests {
    use super::super::words::{kept, key_of, pair, rows};
    use super::*;

    /// Checks a full outer join, whose expected text has `_` for a missing side. Then checks the other kinds,
    /// which keep fewer rows. The number of late rows comes last in the text.
    fn check(lower_us: i64, upper_us: i64, left: &str, right: &str, expected: &str) {
        let (left, right) = (rows(left), rows(right));
        for keeps in Keeps::KINDS {
            let interval = Interval { lower_us, upper_us };
            let found = interval_join((&left, &right), interval, key_of, key_of, keeps);
            let show =
                |matched: &Matched<String, String>| format!("{}@{}", pair(&matched.value), matched.at_us);
            let shown: Vec<String> = found.results.iter().map(show).collect();
            let wanted = kept(expected, keeps);
            assert_eq!(format!("{} late {}", shown.join(" "), found.late).trim(), wanted, "{keeps:?}");
        }
    }

    /// Both ends belong to the interval, and a pair has the later event time of its two rows.
    #[test]
    fn who_is_near_meets() {
        let right = "a2@7 a3@8 a4@13 a5@14 b@10";
        check(-2, 3, "a1@10", right, "_a2@7 _b@10 a1a3@10 a1a4@13 _a5@14 late 0");
        check(5, 5, "a1@-5 a2@1", "a3@0", "a1a3@0 a2_@1 late 0");
        check(-9, 9, "a1@3", "b@3", "_b@3 a1_@3 late 0");
    }

    /// A row is judged by the watermark of its own side: a row stamped with the watermark is in time, and a
    /// row below it is late and matches none.
    #[test]
    fn who_is_late_meets_nobody() {
        check(-9, 9, "W8 a1@8", "W9 a2@8", "a1_@8 late 1");
    }
}
