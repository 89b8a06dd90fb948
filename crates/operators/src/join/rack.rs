//! Tables in the order of time: opened when their first record comes, found by number, reused when they are done.
//!
//! However many are open at once, one is found in logarithmic time; whoever holds its place finds it at once. The
//! memory of a few that are done is kept for the next, so that a steady stream allocates nothing.

use std::collections::BTreeMap;

use super::funds::{Funds, bytes_of};

/// Tables that are kept for the next; more are rarely done at once.
const SPARE_TABLES_MAX: usize = 4;

/// Places above which an empty rack gives all of them up.
const EMPTY_PLACES_MAX: usize = 256;

/// What stands on a rack.
pub(crate) trait Reused: Default {
    /// Takes everything out and keeps the memory; whether it is worth keeping. Memory that goes is given back.
    fn clear(&mut self, funds: &mut Funds) -> bool;

    /// Bytes held.
    fn bytes(&self) -> usize;
}

/// Open tables `T` by number `N`.
#[derive(Debug)]
pub(crate) struct Rack<N, T> {
    places: BTreeMap<N, u32>,
    /// At a place that is not open, an empty table without memory.
    tables: Vec<T>,
    /// Places that are not open.
    vacant: Vec<u32>,
    spare: Vec<T>,
}

impl<N: Ord + Copy, T: Reused> Rack<N, T> {
    pub(crate) fn new() -> Self {
        Rack { places: BTreeMap::new(), tables: Vec::new(), vacant: Vec::new(), spare: Vec::new() }
    }

    /// Open tables.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Numbers and places of the open tables, in order.
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

    /// The place of the table `number`, which is opened if it is not open; none if there was no memory for it.
    pub(crate) fn open(&mut self, number: N, funds: &mut Funds) -> Option<u32> {
        if let Some(&place) = self.places.get(&number) {
            return Some(place);
        }
        if self.vacant.is_empty() {
            // A place to come back to is paid for with it.
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

    /// Closes the table `number` and drops what is in it.
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
