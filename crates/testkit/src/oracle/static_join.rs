//! Static join: each row with the entries of a table that have its key. Lateness does not matter.

use super::Row;

/// Returns each row combined with each table entry of its key.
pub fn join<T, K: PartialEq, R, U>(
    rows: &[Row<T>],
    table: &[(K, R)],
    key_of: impl Fn(&T) -> K,
    combine: impl Fn(&T, &R) -> U,
) -> Vec<Row<U>> {
    let both = |value: &T, entry: Option<&R>| entry.map(|entry| combine(value, entry));
    join_left(rows, table, key_of, both).into_iter().filter_map(Row::transpose).collect()
}

/// Returns the results of [`join`] and, once, each row whose key has no entry, combined with `None`.
pub fn join_left<T, K: PartialEq, R, U>(
    rows: &[Row<T>],
    table: &[(K, R)],
    key_of: impl Fn(&T) -> K,
    combine: impl Fn(&T, Option<&R>) -> U,
) -> Vec<Row<U>> {
    let mut joined = Vec::new();
    for row in rows {
        let before = joined.len();
        for (key, entry) in table {
            if *key == key_of(&row.value) {
                joined.push(row.with(combine(&row.value, Some(entry))));
            }
        }
        if joined.len() == before {
            joined.push(row.with(combine(&row.value, None)));
        }
    }
    joined
}

impl<T> Row<Option<T>> {
    fn transpose(self) -> Option<Row<T>> {
        let Row { at_us, watermark_us, value } = self;
        value.map(|value| Row { at_us, watermark_us, value })
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::{key_of, rows, shown_rows};
    use super::*;

    #[test]
    fn rows_meet_every_entry_of_their_key_or_none() {
        let (rows, table) = (rows("a@1 b@2 c@0"), [('a', 'x'), ('a', 'y'), ('c', 'z')]);
        let inner = join(&rows, &table, key_of, |value, entry| format!("{value}{entry}"));
        assert_eq!(shown_rows(&inner), "ax@1 ay@1 cz@0");
        let left =
            join_left(&rows, &table, key_of, |value, entry| format!("{value}{}", entry.unwrap_or(&'-')));
        assert_eq!(shown_rows(&left), "ax@1 ay@1 b-@2 cz@0");
    }
}
