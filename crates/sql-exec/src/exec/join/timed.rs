//! Kept rows of an interval join: those of one key in the order of time, and the order in which rows go.
//!
//! | structure | what it is for | cost |
//! |---|---|---|
//! | [`Entries`] | rows of one key within a span of time | a search by halves; no allocation for a single row |
//! | [`Due`] | rows that can match no more, earliest first | 16 bytes a row; a merge of the sorted batches in which they came |

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use thalweg_sql_functions::keys::heap_bytes;

use super::row_store::Place;

/// A kept row.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// Event time of the row in milliseconds.
    pub(super) time_ms: i64,
    /// Place of its values.
    pub(super) place: Place,
    /// Whether a row of the other input has matched it.
    pub(super) is_met: bool,
}

/// Rows of one key in one input, in the order of time; rows of equal time in the order of arrival.
#[derive(Default)]
pub(super) enum Entries {
    /// No row.
    #[default]
    None,
    /// One row, in place.
    One(Entry),
    /// Several rows, or one that is left of several.
    Many(VecDeque<Entry>),
}

impl Entries {
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Entries::None)
    }

    /// Returns the index of the first row at `from_ms` or later.
    pub(super) fn first_from(&self, from_ms: i64) -> usize {
        match self {
            Entries::None => 0,
            Entries::One(entry) => usize::from(entry.time_ms < from_ms),
            Entries::Many(entries) => entries.partition_point(|entry| entry.time_ms < from_ms),
        }
    }

    pub(super) fn get(&self, at: usize) -> Option<&Entry> {
        match self {
            Entries::None => None,
            Entries::One(entry) => (at == 0).then_some(entry),
            Entries::Many(entries) => entries.get(at),
        }
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut Entry> {
        match self {
            Entries::None => None,
            Entries::One(entry) => (at == 0).then_some(entry),
            Entries::Many(entries) => entries.get_mut(at),
        }
    }

    /// Returns the rows in the order of time.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        (0..).map_while(|at| self.get(at))
    }

    /// Adds a row behind those of its time and before.
    pub(super) fn insert(&mut self, entry: Entry) {
        match self {
            Entries::None => *self = Entries::One(entry),
            Entries::One(first) => {
                let mut entries = VecDeque::with_capacity(4);
                entries.push_back(*first);
                *self = Entries::Many(entries);
                self.insert(entry);
            }
            Entries::Many(entries) => match entries.back() {
                Some(last) if entry.time_ms < last.time_ms => {
                    let at = entries.partition_point(|known| known.time_ms <= entry.time_ms);
                    entries.insert(at, entry);
                }
                _ => entries.push_back(entry),
            },
        }
    }

    /// Removes the earliest row.
    pub(super) fn pop_first(&mut self) -> Option<Entry> {
        let first = match self {
            Entries::None => None,
            Entries::One(entry) => Some(*entry),
            Entries::Many(entries) => entries.pop_front(),
        };
        if self.get(0).is_none() || matches!(self, Entries::One(_)) {
            *self = Entries::None;
        }
        first
    }

    /// Returns the bytes of the rows, without their values, outside of the list itself.
    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Entries::Many(entries) => heap_bytes(entries.capacity() * size_of::<Entry>()),
            Entries::None | Entries::One(_) => 0,
        }
    }
}

/// Times of the kept rows of one input, each with the slot of the key of its row.
///
/// Rows come in batches, whose times are sorted once. The batches are merged as their rows go, so the merge costs little
/// where batches follow each other in time.
#[derive(Default)]
pub(super) struct Due {
    batches: Vec<Times>,
    /// Indexes of batches without rows, for batches to come.
    free: Vec<u32>,
    /// Time of the earliest row of each batch that has rows, and the index of the batch; earliest first.
    heads: BinaryHeap<Reverse<(i64, u32)>>,
    /// Bytes of the rows of all batches.
    row_bytes: usize,
}

/// Times of the rows of one batch, ascending, with the slots of their keys, from `at` on.
#[derive(Default)]
struct Times {
    rows: Vec<(i64, u32)>,
    at: usize,
}

impl Due {
    /// Adds rows that came together: the time of each in milliseconds, and the slot of its key.
    pub(super) fn add(&mut self, mut rows: Vec<(i64, u32)>) {
        if !rows.is_sorted_by_key(|(time_ms, _)| *time_ms) {
            rows.sort_by_key(|(time_ms, _)| *time_ms);
        }
        let Some(&(first_ms, _)) = rows.first() else { return };
        self.row_bytes += row_bytes(&rows);
        let slot = self.free.pop().unwrap_or_else(|| {
            self.batches.push(Times::default());
            self.batches.len() as u32 - 1
        });
        self.batches[slot as usize] = Times { rows, at: 0 };
        self.heads.push(Reverse((first_ms, slot)));
    }

    /// Removes the earliest row if `is_over` returns true for its time; returns the time and the slot of its key.
    pub(super) fn pop_first(&mut self, is_over: impl FnOnce(i64) -> bool) -> Option<(i64, u32)> {
        let mut head = self.heads.peek_mut()?;
        let Reverse((time_ms, slot)) = *head;
        if !is_over(time_ms) {
            return None;
        }
        let times = &mut self.batches[slot as usize];
        let (_, key) = times.rows[times.at];
        times.at += 1;
        match times.rows.get(times.at) {
            Some((next_ms, _)) => *head = Reverse((*next_ms, slot)),
            None => {
                PeekMut::pop(head);
                let gone = std::mem::take(&mut times.rows);
                self.row_bytes -= row_bytes(&gone);
                self.free.push(slot);
            }
        }
        Some((time_ms, key))
    }

    /// Returns the bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.row_bytes
            + self.batches.capacity() * size_of::<Times>()
            + self.free.capacity() * size_of::<u32>()
            + self.heads.capacity() * size_of::<Reverse<(i64, u32)>>()
    }
}

/// Returns the bytes of the list of the rows of one batch.
fn row_bytes(rows: &Vec<(i64, u32)>) -> usize {
    heap_bytes(rows.capacity() * size_of::<(i64, u32)>())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Entries come and go as those of a sorted list.
        #[test]
        fn entries_are_those_of_a_sorted_list(steps in proptest::collection::vec((any::<bool>(), -4i64..4), 0..40)) {
            let (mut entries, mut expected) = (Entries::default(), Vec::<Entry>::new());
            for (number, (comes, time_ms)) in (0u32..).zip(steps) {
                if comes {
                    let entry = Entry { time_ms, place: (number, 0), is_met: false };
                    entries.insert(entry);
                    expected.push(entry);
                    expected.sort_by_key(|entry| entry.time_ms);
                } else {
                    let first = (!expected.is_empty()).then(|| expected.remove(0).place);
                    prop_assert_eq!(entries.pop_first().map(|entry| entry.place), first);
                }
                let places = |entries: &mut dyn Iterator<Item = &Entry>| entries.map(|entry| entry.place).collect::<Vec<_>>();
                prop_assert_eq!(places(&mut entries.iter()), places(&mut expected.iter()));
                prop_assert_eq!(entries.is_empty(), expected.is_empty());
                prop_assert_eq!(entries.first_from(time_ms), expected.partition_point(|entry| entry.time_ms < time_ms));
                prop_assert!(!entries.is_empty() || entries.heap_bytes() == 0);
            }
        }

        /// Rows go in the order of time, each once, and none before it is over.
        #[test]
        fn rows_go_in_the_order_of_time(
            steps in proptest::collection::vec((proptest::collection::vec(-9i64..9, 0..6), -9i64..9), 0..20),
        ) {
            let (mut due, mut expected, mut number) = (Due::default(), Vec::new(), 0u32);
            for (times, until_ms) in steps.into_iter().chain([(Vec::new(), i64::MAX)]) {
                let rows: Vec<(i64, u32)> = times.into_iter().map(|time_ms| { number += 1; (time_ms, number) }).collect();
                expected.extend_from_slice(&rows);
                due.add(rows);
                let gone: Vec<_> = std::iter::from_fn(|| due.pop_first(|time_ms| time_ms < until_ms)).collect();
                prop_assert!(gone.is_sorted_by_key(|(time_ms, _)| *time_ms));
                let mut found = gone.clone();
                found.sort_unstable();
                let (mut over, left): (Vec<_>, Vec<_>) = expected.into_iter().partition(|(time_ms, _)| *time_ms < until_ms);
                over.sort_unstable();
                prop_assert_eq!(found, over);
                expected = left;
            }
            prop_assert_eq!(due.row_bytes, 0);
            prop_assert_eq!(due.free.len(), due.batches.len());
        }
    }
}
