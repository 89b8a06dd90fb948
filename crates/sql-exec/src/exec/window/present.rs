//! Numbers of rows of the keys of a window, so that a key whose rows were all taken back has no result.

use std::ops::Range;

use thalweg_model::{StateError, StateReader, StateWriter};
use thalweg_sql_formats::RowKind;

/// Number of rows of each key of a window, by the number of its group.
///
/// A count may be below zero for a while: several workers may each fold a part of the rows, and a row may be
/// taken back in another part than that to which it was added.
#[derive(Default)]
pub(super) struct Present(Vec<i64>);

impl Present {
    /// Counts a row for each entry of `groups`, which holds the number of its group. `kinds` are the kinds of
    /// change of the rows; `None` if all are added. `len` is the number of groups.
    pub(super) fn add(&mut self, groups: &[u32], kinds: Option<&[RowKind]>, len: usize) {
        self.0.resize(len.max(self.0.len()), 0);
        for (row, group) in groups.iter().enumerate() {
            let kind = kinds.and_then(|kinds| kinds.get(row)).unwrap_or(&RowKind::Insert);
            self.0[*group as usize] += if kind.adds() { 1 } else { -1 };
        }
    }

    /// Adds the counts of another table of keys, whose group `i` is part of the group `into[i]` here. `len`
    /// is the number of groups.
    pub(super) fn merge(&mut self, other: &Present, into: &[u32], len: usize) {
        self.0.resize(len.max(self.0.len()), 0);
        for (count, group) in other.0.iter().zip(into) {
            self.0[*group as usize] += count;
        }
    }

    /// Returns the groups of a range that have rows; `None` if all of them have.
    pub(super) fn left(&self, groups: Range<usize>) -> Option<Vec<u32>> {
        let counts = self.0.get(groups.clone()).unwrap_or_default();
        if counts.iter().all(|count| *count > 0) {
            return None;
        }
        let numbered = (groups.start as u32..).zip(counts);
        Some(numbered.filter(|(_, count)| **count > 0).map(|(group, _)| group).collect())
    }

    /// Returns the heap bytes of the counts.
    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<i64>()
    }

    /// Saves the counts.
    ///
    /// # Errors
    /// [`StateError`] if they cannot be written.
    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.0)
    }

    /// Replaces the counts by those that [`save`](Self::save) wrote. `len` is the number of groups.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not such counts.
    pub(super) fn load(&mut self, state: &mut StateReader<'_>, len: usize) -> Result<(), StateError> {
        self.0 = state.take()?;
        if self.0.len() != len {
            return Err(state.wrong("there are more counts than keys, or fewer"));
        }
        Ok(())
    }
}
