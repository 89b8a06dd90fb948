//! Operations on order: the largest of many values, rows sorted by stamp, and late rows.

use std::cmp::Ordering;

use super::Row;

/// Returns the `count` largest values, the largest first, equal ones in their order of arrival: the aggregate
/// of a top-n.
pub fn largest<T: Clone>(values: &[&T], count: usize, compare: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    let mut sorted: Vec<T> = values.iter().map(|value| (*value).clone()).collect();
    sorted.sort_by(|a, b| compare(b, a));
    sorted.truncate(count);
    sorted
}

/// Returns the rows stamped below their watermark: the rule for lateness without windows.
pub fn late<T: Clone>(rows: &[Row<T>]) -> Vec<Row<T>> {
    rows.iter().filter(|row| row.is_late()).cloned().collect()
}

/// Returns the rows that are not late, sorted by event time; rows with equal event times keep their order.
pub fn sorted<T: Clone>(rows: &[Row<T>]) -> Vec<(i64, T)> {
    let in_time = rows.iter().filter(|row| !row.is_late());
    let mut sorted: Vec<(i64, T)> = in_time.map(|row| (row.at_us, row.value.clone())).collect();
    sorted.sort_by_key(|(at_us, _)| *at_us);
    sorted
}

#[cfg(test)]
mod tests {
    use super::super::words::{rows, shown_rows};
    use super::*;

    #[test]
    fn the_largest_come_first_and_of_equal_ones_the_first() {
        let found = largest(&[&(1, 'a'), &(3, 'b'), &(3, 'c'), &(2, 'd')], 3, |a, b| a.0.cmp(&b.0));
        assert_eq!(found, [(3, 'b'), (3, 'c'), (2, 'd')]);
        assert_eq!(largest(&[&1], 3, i32::cmp), [1]);
    }

    #[test]
    fn rows_are_sorted_but_for_late_ones() {
        let rows = rows("a@5 b@3 W4 c@4 d@3 e@3 f@5");
        let shown: Vec<String> =
            sorted(&rows).iter().map(|(at_us, value)| format!("{value}@{at_us}")).collect();
        assert_eq!(shown.join(" "), "b@3 c@4 a@5 f@5");
        assert_eq!(shown_rows(&late(&rows)), "d@3 e@3");
    }
}
