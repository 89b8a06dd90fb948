//! Rows that a join keeps, as bytes: those of one key form a list in the order of arrival.

use thalweg_sql_functions::keys::list_growth_bytes;

use crate::exec::short_bytes::ShortBytes;

/// Stands for no record.
const NONE: u32 = u32::MAX;

/// Kept rows of one input. A record keeps its number until it is removed.
#[derive(Default)]
pub(super) struct Records {
    records: Vec<Record>,
    free: Vec<u32>,
    heap_bytes: usize,
}

/// A kept row.
#[derive(Default)]
pub(super) struct Record {
    row: ShortBytes,
    /// Number of the next record of the list; [`NONE`] for the last one.
    next: u32,
    /// Number of rows of the other input that match this row; maintained only where the kind of join needs it.
    pub(super) degree: u32,
    /// Processing time, in milliseconds, at which the row was added or its number of matches changed.
    pub(super) written_ms: i64,
}

/// First and last record of a list.
#[derive(Clone, Copy)]
pub(super) struct List {
    head: u32,
    tail: u32,
}

impl Default for List {
    fn default() -> Self {
        List { head: NONE, tail: NONE }
    }
}

impl List {
    pub(super) fn is_empty(self) -> bool {
        self.head == NONE
    }

    /// Returns the number of the first record; `None` if there is none.
    #[inline]
    pub(super) fn first(self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }
}

impl Record {
    pub(super) fn row(&self) -> &[u8] {
        self.row.get()
    }
}

impl Records {
    #[inline]
    pub(super) fn get(&self, number: u32) -> &Record {
        &self.records[number as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u32) -> &mut Record {
        &mut self.records[number as usize]
    }

    /// Returns the number of the record behind another one in its list; `None` behind the last one.
    #[inline]
    pub(super) fn after(&self, number: u32) -> Option<u32> {
        let next = self.get(number).next;
        (next != NONE).then_some(next)
    }

    /// Returns the records of a list in their order.
    pub(super) fn of(&self, list: List) -> impl Iterator<Item = &Record> {
        std::iter::successors(list.first(), |number| self.after(*number)).map(|number| self.get(number))
    }

    /// Appends a row to a list.
    pub(super) fn push(&mut self, list: &mut List, row: &[u8], degree: u32, written_ms: i64) {
        let record = Record { row: ShortBytes::new(row), next: NONE, degree, written_ms };
        self.heap_bytes += record.row.heap_bytes();
        let number = match self.free.pop() {
            Some(number) => {
                self.records[number as usize] = record;
                number
            }
            None => {
                self.records.push(record);
                self.records.len() as u32 - 1
            }
        };
        match list.is_empty() {
            true => list.head = number,
            false => self.records[list.tail as usize].next = number,
        }
        list.tail = number;
    }

    /// Removes the first record of a list that has a row, and returns whether there is one.
    pub(super) fn remove(&mut self, list: &mut List, row: &[u8]) -> bool {
        let (mut before, mut at) = (None, list.first());
        while let Some(number) = at {
            let next = self.get(number).next;
            if self.get(number).row() == row {
                match before {
                    None => list.head = next,
                    Some(before) => self.get_mut(before).next = next,
                }
                if list.tail == number {
                    list.tail = before.unwrap_or(NONE);
                }
                self.free(number);
                return true;
            }
            (before, at) = (Some(number), self.after(number));
        }
        false
    }

    fn free(&mut self, number: u32) {
        let gone = std::mem::take(self.get_mut(number));
        self.heap_bytes -= gone.row.heap_bytes();
        self.free.push(number);
    }

    /// Removes the records of a list for which `keep` returns false.
    pub(super) fn retain(&mut self, list: &mut List, mut keep: impl FnMut(&Record) -> bool) {
        let mut kept = List::default();
        let mut at = list.first();
        while let Some(number) = at {
            at = self.after(number);
            if keep(self.get(number)) {
                match kept.is_empty() {
                    true => kept.head = number,
                    false => self.records[kept.tail as usize].next = number,
                }
                kept.tail = number;
                self.records[number as usize].next = NONE;
            } else {
                self.free(number);
            }
        }
        *list = kept;
    }

    pub(super) fn clear(&mut self) {
        *self = Records::default();
    }

    pub(super) fn bytes(&self) -> usize {
        self.records.capacity() * size_of::<Record>()
            + self.free.capacity() * size_of::<u32>()
            + self.heap_bytes
    }

    /// Returns the bytes that `more` rows may take for a moment, beyond the bytes held and those of their values.
    pub(super) fn growth_bytes(&self, more: usize) -> usize {
        let more = more.saturating_sub(self.free.len());
        list_growth_bytes(self.records.len(), self.records.capacity(), size_of::<Record>(), more)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Lists keep their rows in order while rows of several lists come and go.
        #[test]
        fn lists_are_those_of_vectors(steps in proptest::collection::vec((0usize..3, 0u8..5, 0u8..40, any::<bool>()), 0..80)) {
            let mut records = Records::default();
            let mut lists = [List::default(); 3];
            let mut expected: [Vec<Vec<u8>>; 3] = Default::default();
            for (of, value, length, comes) in steps {
                let row = vec![value; length as usize];
                if comes {
                    records.push(&mut lists[of], &row, 0, i64::from(value));
                    expected[of].push(row);
                } else if length > 35 {
                    records.retain(&mut lists[of], |record| record.written_ms != i64::from(value));
                    expected[of].retain(|row| row.first().copied().unwrap_or(u8::MAX) != value && !row.is_empty());
                    // Empty rows do not tell their value, so they are left out of the comparison.
                    records.retain(&mut lists[of], |record| !record.row().is_empty());
                } else {
                    let at = expected[of].iter().position(|other| *other == row);
                    prop_assert_eq!(records.remove(&mut lists[of], &row), at.is_some());
                    at.map(|at| expected[of].remove(at));
                }
                for (list, expected) in lists.iter().zip(&expected) {
                    let found: Vec<&[u8]> = records.of(*list).map(Record::row).collect();
                    prop_assert_eq!(&found, expected);
                    prop_assert_eq!(list.is_empty(), expected.is_empty());
                }
            }
            for list in &mut lists {
                records.retain(list, |_| false);
            }
            prop_assert_eq!(records.heap_bytes, 0);
            prop_assert_eq!(records.free.len(), records.records.len());
        }
    }
}
