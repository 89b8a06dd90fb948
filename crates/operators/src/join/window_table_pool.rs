//! Window table pool: tables in the order of time, opened when their first record comes, found by number, and reused
//! after they end.
//!
//! A table is found in logarithmic time by its number, however many are open, and at once by its index. The memory of
//! a few ended tables is kept for later ones, so that a steady stream allocates nothing.

use std::collections::BTreeMap;

use super::funds::{Funds, bytes_of};

/// Tables kept for reuse; more rarely end at once.
const SPARE_TABLES_MAX: usize = 4;

/// Number of indexes above which an empty pool frees all of them.
const EMPTY_PLACES_MAX: usize = 256;

/// A table that a pool reuses.
pub(crate) trait Reused: Default {
    /// Removes all entries and keeps the memory; returns whether that is worth keeping. Freed memory is given back to
    /// `funds`.
    fn clear(&mut self, funds: &mut Funds) -> bool;

    /// Returns the bytes held.
    fn bytes(&self) -> usize;
}

/// Open tables `T` by number `N`.
#[derive(Debug)]
pub(crate) struct WindowTablePool<N, T> {
    places: BTreeMap<N, u32>,
    /// The tables; at an index that is not open, an empty table without memory.
    tables: Vec<T>,
    /// Indexes that are not open.
    vacant: Vec<u32>,
    spare: Vec<T>,
}

impl<N: Ord + Copy, T: Reused> WindowTablePool<N, T> {
    pub(crate) fn new() -> Self {
        WindowTablePool { places: BTreeMap::new(), tables: Vec::new(), vacant: Vec::new(), spare: Vec::new() }
    }

    /// Returns the number of open tables.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns numbers and indexes of the open tables, in order.
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

    /// Returns the index of the table `number`, and opens it if needed; `None` if there is no memory for it.
    pub(crate) fn open(&mut self, number: N, funds: &mut Funds) -> Option<u32> {
        if let Some(&place) = self.places.get(&number) {
            return Some(place);
        }
        if self.vacant.is_empty() {
            // Room in `vacant`, for closing this table, is paid for here as well.
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

    /// Closes the table `number` and drops its contents.
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
