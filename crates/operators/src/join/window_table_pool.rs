//! Window table pool: the tables of a join's windows in the order of time. A table is opened when its first
//! record comes, is found by its number, and is reused after its window has ended.
//!
//! A table is found in logarithmic time by its number, however many are open, and at once by its index. The memory of
//! a few ended tables is kept for later ones, so that a steady stream allocates nothing.

use std::collections::BTreeMap;

use super::funds::{Funds, bytes_of};

/// Number of emptied tables, of windows that have ended, that are kept for reuse. It is rare that more tables
/// end at once.
const SPARE_TABLES_MAX: usize = 4;

/// Number of indexes above which a pool without open tables frees the list of indexes.
const EMPTY_PLACES_MAX: usize = 256;

/// A table of a window join that the pool can empty and use again.
pub(crate) trait Reused: Default {
    /// Removes all entries of the table and keeps the memory; returns whether the memory is worth keeping.
    /// Freed memory is subtracted from the bytes held in `funds`.
    fn clear(&mut self, funds: &mut Funds) -> bool;

    /// Returns the bytes of memory that the table holds.
    fn bytes(&self) -> usize;
}

/// Pool of open tables `T`, each of which belongs to a window or a pane and is found by the number `N` of
/// that window or pane.
#[derive(Debug)]
pub(crate) struct WindowTablePool<N, T> {
    places: BTreeMap<N, u32>,
    /// The tables by index; at an index that is not in use lies an empty table without memory.
    tables: Vec<T>,
    /// The indexes of the pool that no open table uses.
    vacant: Vec<u32>,
    spare: Vec<T>,
}

impl<N: Ord + Copy, T: Reused> WindowTablePool<N, T> {
    pub(crate) fn new() -> Self {
        WindowTablePool { places: BTreeMap::new(), tables: Vec::new(), vacant: Vec::new(), spare: Vec::new() }
    }

    /// Returns the number of open tables in the pool.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns a map from the number of the window or pane of each open table to the index of the table in the pool.
    pub(crate) fn places(&self) -> &BTreeMap<N, u32> {
        &self.places
    }

    #[inline(always)]
    pub(crate) fn at(&self, place: u32) -> &T {
        &self.tables[place as usize]
    }

    #[inline(always)]
    pub(crate) fn at_mut(&mut self, place: u32) -> &mut T {
        &mut self.tables[place as usize]
    }

    /// Returns the index of the table with the given number, and opens the table if needed; `None` if there
    /// is no memory for it.
    pub(crate) fn open(&mut self, number: N, funds: &mut Funds) -> Option<u32> {
        if let Some(&place) = self.places.get(&number) {
            return Some(place);
        }
        if self.vacant.is_empty() {
            // Closing the table will add its index to the list `vacant`. The memory of the list is reserved
            // now, so that closing needs none.
            let has_room =
                funds.room_in(&mut self.tables) && funds.room_for(&mut self.vacant, self.tables.len() + 1);
            if !has_room {
                return None;
            }
            self.vacant.push(self.tables.len() as u32);
            self.tables.push(T::default());
        }
        let place = self.vacant.pop()?;
        if let Some(table) = self.spare.pop() {
            self.tables[place as usize] = table;
        }
        self.places.insert(number, place);
        Some(place)
    }

    /// Closes the table with the given number and drops its contents.
    pub(crate) fn close(&mut self, number: &N, funds: &mut Funds) {
        let Some(place) = self.places.remove(number) else { return };
        self.vacant.push(place);
        let mut table = std::mem::take(&mut self.tables[place as usize]);
        if table.clear(funds) && self.spare.len() < SPARE_TABLES_MAX {
            self.spare.push(table);
        } else {
            funds.give_back(table.bytes());
        }
        if self.places.is_empty() && self.tables.len() > EMPTY_PLACES_MAX {
            funds.give_back(bytes_of(&self.tables) + bytes_of(&self.vacant));
            (self.tables, self.vacant) = (Vec::new(), Vec::new());
        }
    }
}
