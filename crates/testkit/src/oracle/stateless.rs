//! Filter, map, flat map and split: each row on its own, at its own position and with its own stamp.

use super::Row;

/// Returns the rows whose value `keep` accepts.
pub fn filter<T: Clone>(rows: &[Row<T>], keep: impl Fn(&T) -> bool) -> Vec<Row<T>> {
    rows.iter().filter(|row| keep(&row.value)).cloned().collect()
}

/// Returns each row with its value replaced by the result of `function`.
pub fn map<T, U>(rows: &[Row<T>], function: impl Fn(&T) -> U) -> Vec<Row<U>> {
    rows.iter().map(|row| row.with(function(&row.value))).collect()
}

/// Returns each row once for each value that `function` returns for its value.
pub fn flat_map<T, U>(rows: &[Row<T>], function: impl Fn(&T) -> Vec<U>) -> Vec<Row<U>> {
    let mut flat = Vec::new();
    for row in rows {
        for value in function(&row.value) {
            flat.push(row.with(value));
        }
    }
    flat
}

/// Returns two lists: the rows that `is_left` accepts, and the others.
pub fn split<T: Clone>(rows: &[Row<T>], is_left: impl Fn(&T) -> bool) -> (Vec<Row<T>>, Vec<Row<T>>) {
    (filter(rows, &is_left), filter(rows, |value| !is_left(value)))
}

#[cfg(test)]
mod tests {
    use super::super::words::{rows, shown_rows};
    use super::*;

    #[test]
    fn each_row_by_itself() {
        let rows = rows("a@3 W9 b@1 c@4");
        let is_b = |value: &String| value == "b";
        assert_eq!(shown_rows(&filter(&rows, is_b)), "b@1");
        let (left, right) = split(&rows, is_b);
        assert_eq!((shown_rows(&left), shown_rows(&right)), ("b@1".to_owned(), "a@3 c@4".to_owned()));
        assert_eq!(shown_rows(&map(&rows, |value| format!("{value}!"))), "a!@3 b!@1 c!@4");
        let twice_but_b =
            |value: &String| if is_b(value) { vec![] } else { vec![value.clone(), format!("{value}2")] };
        let flat = flat_map(&rows, twice_but_b);
        assert_eq!(shown_rows(&flat), "a@3 a2@3 c@4 c2@4");
        assert_eq!(
            flat.iter().map(|row| row.watermark_us).collect::<Vec<_>>(),
            [None, None, Some(9), Some(9)]
        );
    }
}
