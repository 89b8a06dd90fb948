//! Window join and co-group: the rows of two inputs in one window under one key, as pairs or as a whole.
//!
//! A row counts for each of its windows whose end lies above its watermark, and is late if there is none. A
//! left and a right row of one key match once in each window for which both count.

use super::Row;
use super::windows::{Aggregated, Result, Sliding, groups};

/// Tells which rows without a match a join emits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keeps {
    /// True if left rows without a match are emitted.
    pub left: bool,
    /// True if right rows without a match are emitted.
    pub right: bool,
}

impl Keeps {
    /// The four kinds of joins: an inner, a left, a right and a full outer join.
    pub const KINDS: [Keeps; 4] = [
        Keeps { left: false, right: false },
        Keeps { left: true, right: false },
        Keeps { left: false, right: true },
        Keeps { left: true, right: true },
    ];
}

/// A result of a join: a left and a right value, or one value without a match.
pub type Joined<L, R> = (Option<L>, Option<R>);

/// A value of the left or the right input.
#[derive(Clone)]
enum Side<L, R> {
    Left(L),
    Right(R),
}

/// The left and the right values of one key in one window.
type Both<L, R> = (Vec<L>, Vec<R>);

/// Returns all pairs of each key and window, and those rows without a match that the kind of join keeps.
pub fn window_join<L: Clone + Ord, R: Clone + Ord, K: Ord>(
    inputs: (&[Row<L>], &[Row<R>]),
    windows: Sliding,
    left_key: impl Fn(&L) -> K,
    right_key: impl Fn(&R) -> K,
    keeps: Keeps,
) -> Aggregated<K, Joined<L, R>> {
    let grouped = co_group(inputs, windows, &left_key, &right_key);
    let mut results = Vec::new();
    for Result { start_us, end_us, value: (lefts, rights), .. } in grouped.results {
        let mut joined: Vec<Joined<L, R>> = Vec::new();
        for left in &lefts {
            for right in &rights {
                joined.push((Some(left.clone()), Some(right.clone())));
            }
        }
        if rights.is_empty() && keeps.left {
            joined.extend(lefts.iter().map(|left| (Some(left.clone()), None)));
        }
        if lefts.is_empty() && keeps.right {
            joined.extend(rights.iter().map(|right| (None, Some(right.clone()))));
        }
        for value in joined {
            let key = match (&value.0, &value.1) {
                (Some(left), _) => left_key(left),
                (_, Some(right)) => right_key(right),
                (None, None) => unreachable!("a result has a side"),
            };
            results.push(Result { start_us, end_us, key, value });
        }
    }
    Aggregated { results, late: grouped.late }
}

/// Returns, for each key and window with rows of at least one input, the sorted values of both inputs.
pub fn co_group<L: Clone + Ord, R: Clone + Ord, K: Ord>(
    (left, right): (&[Row<L>], &[Row<R>]),
    windows: Sliding,
    left_key: impl Fn(&L) -> K,
    right_key: impl Fn(&R) -> K,
) -> Aggregated<K, Both<L, R>> {
    let mut rows: Vec<Row<Side<L, R>>> = Vec::new();
    rows.extend(left.iter().map(|row| row.with(Side::Left(row.value.clone()))));
    rows.extend(right.iter().map(|row| row.with(Side::Right(row.value.clone()))));
    let key_of = |side: &Side<L, R>| match side {
        Side::Left(left) => left_key(left),
        Side::Right(right) => right_key(right),
    };
    let mut results = Vec::new();
    for ((start_us, end_us), rows) in groups(&rows, |row| windows.open_spans(row), key_of) {
        let mut value: Both<L, R> = (Vec::new(), Vec::new());
        for row in &rows {
            match &row.value {
                Side::Left(left) => value.0.push(left.clone()),
                Side::Right(right) => value.1.push(right.clone()),
            }
        }
        value.0.sort();
        value.1.sort();
        results.push(Result { start_us, end_us, key: key_of(&rows[0].value), value });
    }
    Aggregated { results, late: rows.iter().filter(|row| windows.is_late(row, 0)).count() as u64 }
}

#[cfg(test)]
mod tests {
    use super::super::words::{kept, key_of, pair, rows};
    use super::*;

    /// Checks a full outer join, whose expected text has `_` for a missing side. Then checks the other kinds,
    /// which keep fewer rows. The number of late rows comes last in the text.
    fn check(size_us: i64, slide_us: i64, left: &str, right: &str, expected: &str) {
        let (left, right) = (rows(left), rows(right));
        for keeps in Keeps::KINDS {
            let windows = Sliding { size_us, slide_us, offset_us: 0 };
            let found = window_join((&left, &right), windows, key_of, key_of, keeps);
            let show = |found: &Result<char, Joined<String, String>>| {
                format!("{}..{}:{}={}", found.start_us, found.end_us, found.key, pair(&found.value))
            };
            let shown: Vec<String> = found.results.iter().map(show).collect();
            let wanted = kept(expected, keeps);
            assert_eq!(format!("{} late {}", shown.join(" "), found.late).trim(), wanted, "{keeps:?}");
        }
    }

    #[test]
    fn pairs_meet_in_their_window_and_the_others_stay_alone() {
        check(
            10,
            10,
            "a1@0 a2@9 a3@10",
            "a4@5 b1@5",
            "0..10:a=a1a4 0..10:a=a2a4 0..10:b=_b1 10..20:a=a3_ late 0",
        );
    }

    /// If windows overlap, two rows that share two windows match twice.
    #[test]
    fn pairs_meet_once_in_each_window_that_they_share() {
        check(10, 5, "a1@7", "a2@8", "0..10:a=a1a2 5..15:a=a1a2 late 0");
        check(10, 5, "a1@7", "a2@11", "0..10:a=a1_ 5..15:a=a1a2 10..20:a=_a2 late 0");
    }

    /// The watermark of a row's own side decides whether the row is in time for a window.
    #[test]
    fn each_side_by_its_own_watermark() {
        check(10, 10, "W10 a1@9 a2@10", "a3@9 a4@10", "0..10:a=_a3 10..20:a=a2a4 late 1");
        check(10, 5, "W10 a1@7", "a2@8", "0..10:a=_a2 5..15:a=a1a2 late 0");
    }

    #[test]
    fn groups_have_both_sides_sorted() {
        let (left, right) = (rows("a2@1 a1@2 W20 a3@3"), rows("b1@1 a4@1"));
        let windows = Sliding { size_us: 10, slide_us: 10, offset_us: 0 };
        let found = co_group((&left, &right), windows, key_of, key_of);
        let show = |result: &Result<char, Both<String, String>>| {
            format!("{}={}/{}", result.key, result.value.0.join("+"), result.value.1.join("+"))
        };
        let shown: Vec<String> = found.results.iter().map(show).collect();
        assert_eq!((shown.join(" "), found.late), ("a=a1+a2/a4 b=/b1".to_owned(), 1));
    }
}
