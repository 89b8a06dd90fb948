//! Static join: each record is joined with the row of a table that has its key.
//!
//! Input      `Record<T>` in any order
//! Output     `Record<U>`, in the same order: one for each record that has a row ([`StaticJoin`]), or one for each
//!            record, with its row or without ([`StaticLeftJoin`])
//! State      none of its own; the table is shared and does not change
//! Emits      at once
//! Late       no record is late
//! Watermark  forwarded unchanged
//! Cost       one hash look-up per record
//!
//! ```
//! # use thalweg::{DuplicateKey, Segment, Stream, Table};
//! # fn f<C: Segment<u32>>(numbers: Stream<u32, C>) -> Result<Stream<&'static str, impl Segment<&'static str>>, DuplicateKey> {
//! let names = Table::new([(1, "one"), (2, "two")])?;
//! Ok(numbers.join_table(names, |number| *number, |_number, name| *name))
//! # }
//! ```
//!
//! The table's keys are unique, so a record has at most one row and the join counts as a map: it may stand anywhere
//! in a chain. The inner join drops a record without a row and counts it as filtered; the left outer join forwards
//! it.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use crate::accounts::Accounts;
use crate::key_table::{KeyHash, KeyTable, Look};
use thalweg_model::{
    Allowance, Horizon, Input, Operator, Output, Record, Sharing, StateError, StateReader, StateWriter,
};

/// A table of rows with unique keys, shared by all joins with this table.
#[derive(Debug)]
pub struct Table<K, R> {
    rows: Arc<KeyTable<K, R>>,
}

impl<K, R> Clone for Table<K, R> {
    fn clone(&self) -> Self {
        Table { rows: Arc::clone(&self.rows) }
    }
}

/// An empty table, in which no record of a join has a row.
impl<K: Eq + Hash, R> Default for Table<K, R> {
    fn default() -> Self {
        Table { rows: Arc::new(KeyTable::new(KeyHash::known(), Allowance::default())) }
    }
}

/// Error: two rows of a table have the same key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DuplicateKey {
    /// Index of the second row that has the key.
    pub row_index: usize,
}

impl fmt::Display for DuplicateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {} of the table repeats a key: a static join needs unique keys", self.row_index)
    }
}

impl std::error::Error for DuplicateKey {}

impl<K: Eq + Hash, R> Table<K, R> {
    /// Creates a table of `rows`.
    ///
    /// # Errors
    /// [`DuplicateKey`] if two rows have the same key.
    pub fn new(rows: impl IntoIterator<Item = (K, R)>) -> Result<Self, DuplicateKey> {
        // The hash needs no secret. Only the author of the query chooses the rows, and records that are
        // looked up cannot make the search in the table longer than the rows do.
        let mut table = KeyTable::new(KeyHash::known(), Allowance::default());
        for (row_index, (key, row)) in rows.into_iter().enumerate() {
            table.update(key, || row, |_| ());
            if table.len() == row_index {
                return Err(DuplicateKey { row_index });
            }
        }
        Ok(Table { rows: Arc::new(table) })
    }

    /// Returns the row with `key`, if the table has one.
    #[inline(always)]
    pub fn row(&self, key: &K) -> Option<&R> {
        self.rows.look().get(key)
    }
}

/// Inner join of a stream with a table: joins each record with the row that has its key, and drops records
/// without a row.
#[derive(Debug)]
pub struct StaticJoin<K, R, KeyOf, Combine> {
    accounts: Accounts,
    table: Table<K, R>,
    functions: Arc<(KeyOf, Combine)>,
}

impl<K, R, KeyOf, Combine> StaticJoin<K, R, KeyOf, Combine> {
    /// Creates an inner join called `name`: `key_of` gives the key of a record, and `combine` makes the
    /// result of a record and its row.
    pub fn new(name: impl Into<String>, table: Table<K, R>, key_of: KeyOf, combine: Combine) -> Self {
        StaticJoin::sharing(name.into(), table, Arc::new((key_of, combine)))
    }

    fn sharing(name: String, table: Table<K, R>, functions: Arc<(KeyOf, Combine)>) -> Self {
        StaticJoin { accounts: Accounts::new(name), table, functions }
    }

    #[inline(always)]
    fn join<T, U>(&self, rows: &Look<'_, K, R>, value: T) -> Option<U>
    where
        K: Eq + Hash,
        KeyOf: Fn(&T) -> K,
        Combine: Fn(T, &R) -> U,
    {
        let (key_of, combine) = &*self.functions;
        self.accounts.blame.on(|| {
            let row = rows.get(&key_of(&value))?;
            Some(combine(value, row))
        })
    }
}

impl<T, U, K, R, KeyOf, Combine> Operator<T> for StaticJoin<K, R, KeyOf, Combine>
where
    K: Eq + Hash + Send + Sync,
    R: Send + Sync,
    KeyOf: Fn(&T) -> K + Send + Sync,
    Combine: Fn(T, &R) -> U + Send + Sync,
{
    type Out = U;

    const SHARING: Sharing = Sharing::Stateless;

    fn fork(&self) -> Self {
        StaticJoin::sharing(self.accounts.name.clone(), self.table.clone(), Arc::clone(&self.functions))
    }

    fn horizon(&self) -> Horizon {
        Horizon::NONE
    }

    #[inline(always)]
    fn process<I: Input<T>, O: Output<U>>(&mut self, input: &mut I, output: &mut O) {
        let count = input.remaining();
        let mut missed = 0;
        let rows = self.table.rows.look();
        input.take_each(count, |record| match self.join(&rows, record.value) {
            Some(value) => output.push(Record::new(record.event_time, value)),
            None => missed += 1,
        });
        self.accounts.read += count as u64;
        self.accounts.filtered += missed;
    }

    #[inline(always)]
    fn process_one<O: Output<U>>(&mut self, record: Record<T>, output: &mut O) {
        match self.join(&self.table.rows.look(), record.value) {
            Some(value) => output.push(Record::new(record.event_time, value)),
            None => self.accounts.filtered += 1,
        }
    }

    crate::accounts::accounted!(forwarding);

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

crate::named::named!(StaticJoin<K, R, KeyOf, Combine>);

/// Joins each record with the row of its key, or with `None`: a left outer join, which drops no record.
#[derive(Debug)]
pub struct StaticLeftJoin<K, R, KeyOf, Combine> {
    accounts: Accounts,
    table: Table<K, R>,
    functions: Arc<(KeyOf, Combine)>,
}

impl<K, R, KeyOf, Combine> StaticLeftJoin<K, R, KeyOf, Combine> {
    /// Creates a left outer join called `name`: `key_of` gives the key of a record, and `combine` makes the
    /// result of a record and its row, or of a record and `None`.
    pub fn new(name: impl Into<String>, table: Table<K, R>, key_of: KeyOf, combine: Combine) -> Self {
        StaticLeftJoin::sharing(name.into(), table, Arc::new((key_of, combine)))
    }

    fn sharing(name: String, table: Table<K, R>, functions: Arc<(KeyOf, Combine)>) -> Self {
        StaticLeftJoin { accounts: Accounts::new(name), table, functions }
    }

    #[inline(always)]
    fn join<T, U>(&self, rows: &Look<'_, K, R>, value: T) -> U
    where
        K: Eq + Hash,
        KeyOf: Fn(&T) -> K,
        Combine: Fn(T, Option<&R>) -> U,
    {
        let (key_of, combine) = &*self.functions;
        self.accounts.blame.on(|| {
            let row = rows.get(&key_of(&value));
            combine(value, row)
        })
    }
}

impl<T, U, K, R, KeyOf, Combine> Operator<T> for StaticLeftJoin<K, R, KeyOf, Combine>
where
    K: Eq + Hash + Send + Sync,
    R: Send + Sync,
    KeyOf: Fn(&T) -> K + Send + Sync,
    Combine: Fn(T, Option<&R>) -> U + Send + Sync,
{
    type Out = U;

    const SHARING: Sharing = Sharing::Stateless;

    fn fork(&self) -> Self {
        StaticLeftJoin::sharing(self.accounts.name.clone(), self.table.clone(), Arc::clone(&self.functions))
    }

    fn horizon(&self) -> Horizon {
        Horizon::NONE
    }

    #[inline(always)]
    fn process<I: Input<T>, O: Output<U>>(&mut self, input: &mut I, output: &mut O) {
        let count = input.remaining();
        let rows = self.table.rows.look();
        input.take_each(count, |record| {
            output.push(Record::new(record.event_time, self.join(&rows, record.value)));
        });
        self.accounts.read += count as u64;
    }

    #[inline(always)]
    fn process_one<O: Output<U>>(&mut self, record: Record<T>, output: &mut O) {
        let value = self.join(&self.table.rows.look(), record.value);
        output.push(Record::new(record.event_time, value));
    }

    crate::accounts::accounted!(forwarding);

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

crate::named::named!(StaticLeftJoin<K, R, KeyOf, Combine>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_bed::Bed;

    #[test]
    fn records_meet_their_row_or_are_filtered() {
        let table = Table::new([(1i64, 10i64), (2, 20)]).unwrap();
        let mut bed = Bed::new(StaticJoin::new(
            "rows",
            table,
            |value: &i64| *value % 10,
            |value: i64, row: &i64| value + row,
        ));
        assert_eq!(bed.run("1@1 3@2 12@3 W3 1@9"), "11@1 32@3 W3 11@9");
        assert_eq!(bed.counts(), "rows: 4 read, 3 forwarded, 1 filtered");
    }

    #[test]
    fn a_left_outer_join_hands_on_records_without_a_row() {
        let table = Table::new([(1i64, 10i64), (2, 20)]).unwrap();
        let with_row = |value: i64, row: Option<&i64>| row.map_or(-value, |row| value + row);
        let mut bed = Bed::new(StaticLeftJoin::new("rows", table, |value: &i64| *value % 10, with_row));
        assert_eq!(bed.run("1@1 3@2 12@3 W3 1@9"), "11@1 -3@2 32@3 W3 11@9");
        assert_eq!(bed.counts(), "rows: 4 read, 4 forwarded");
    }

    #[test]
    fn keys_are_unique() {
        let error = Table::new([("a", 1), ("b", 2), ("a", 3)]).unwrap_err();
        assert_eq!(error, DuplicateKey { row_index: 2 });
        assert_eq!(error.to_string(), "row 2 of the table repeats a key: a static join needs unique keys");
    }

    #[test]
    fn a_panic_is_blamed_on_it() {
        let table = Table::new([(1i64, 0i64)]).unwrap();
        let mut bed = Bed::new(StaticJoin::new(
            "rows",
            table,
            |value: &i64| *value,
            |value: i64, row: &i64| value / row,
        ));
        assert_eq!(bed.panics("1@1"), "rows");
        let table = Table::new([(1i64, 0i64)]).unwrap();
        let divide = |value: i64, row: Option<&i64>| value / row.copied().unwrap_or(1);
        let mut bed = Bed::new(StaticLeftJoin::new("outer", table, |value: &i64| *value, divide));
        assert_eq!(bed.panics("3@1 1@1"), "outer");
    }
}
