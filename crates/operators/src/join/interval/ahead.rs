//! The look-up of a record ahead of its turn in an interval join: the record's bucket and the buckets where
//! its matches may lie, the words of their indexes, and the entries of the record's key. Each step is done
//! for all records of a batch before the next step, so that a batch waits for memory about as long as one
//! record would.

use std::hash::Hash;

use thalweg_model::EventTime;

use crate::join::combine::Fate;
use crate::join::dense_table::{NOWHERE, Tag};
use crate::join::funds::Funds;
use crate::join::interval_side::{NEAR_MAX, Near, Side};

/// The look-up of a record ahead of its turn. It is written in place and never copied: if a struct is read as
/// a whole soon after its parts were written, the processor stalls.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) is_left: bool,
    pub(super) is_late: bool,
    pub(super) tag: Tag,
    /// Index of the bucket of time that the record itself is stored in.
    pub(super) own_place: u32,
    /// Index of the entry of the record's key in its own bucket; `NOWHERE` if
    /// [`DenseTable::candidate`](crate::join::dense_table::DenseTable::candidate) did not find it.
    pub(super) own_entry: u32,
    /// The word at the home slot of the record's key, in the index of the hash table of its own bucket.
    own_word: u64,
    /// The buckets of the other side where matches of the record may lie.
    pub(super) near: Near,
    /// Index of the entry of the record's key in each bucket of the other side that `near` names.
    pub(super) near_entries: [u32; NEAR_MAX],
    /// The word at the home slot of the record's key, in the index of the hash table of each bucket of the
    /// other side.
    near_words: [u64; NEAR_MAX],
}

impl Seen {
    pub(super) fn nothing() -> Self {
        Seen {
            is_left: false,
            is_late: false,
            tag: Tag::default(),
            own_place: NOWHERE,
            own_entry: NOWHERE,
            own_word: 0,
            near: Near { first: 0, count: 0, places: [NOWHERE; NEAR_MAX] },
            near_entries: [NOWHERE; NEAR_MAX],
            near_words: [0; NEAR_MAX],
        }
    }

    /// Finds the buckets for the record and its matches. Opens the record's own bucket if a match may still
    /// come.
    #[inline(always)]
    pub(super) fn look<K: Eq + Hash, V, N: Fate, W, M: Fate>(
        &mut self,
        time: EventTime,
        watermark: EventTime,
        own: &mut Side<K, V, N>,
        theirs: &mut Side<K, W, M>,
        funds: &mut Funds,
    ) {
        if let Some((first, last)) = own.reach().of(time) {
            theirs.near(first, last, &mut self.near);
        }
        if !own.is_over(time, watermark) {
            self.own_place = own.open(time, funds).unwrap_or(NOWHERE);
        }
    }

    /// Sets the entries of the record's key, in the tables of all its buckets, to "not looked up yet".
    pub(super) fn forget_entries(&mut self) {
        self.own_entry = NOWHERE;
        self.near_entries = [NOWHERE; NEAR_MAX];
    }

    /// Loads, from the index of the hash table of each of the record's buckets, the word at the home slot of
    /// its key.
    #[inline(always)]
    pub(super) fn peek<K: Eq + Hash, V, N: Fate, W, M: Fate>(
        &mut self,
        own: &Side<K, V, N>,
        theirs: &Side<K, W, M>,
    ) {
        if self.own_place != NOWHERE {
            self.own_word = own.bucket(self.own_place).table.peek(self.tag);
        }
        for (word, &place) in self.near_words.iter_mut().zip(&self.near.places[..self.near.count]) {
            if place != NOWHERE {
                *word = theirs.bucket(place).table.peek(self.tag);
            }
        }
    }

    /// Loads the table entries that the index words of the record's key point to.
    #[inline(always)]
    pub(super) fn find<K: Eq + Hash, V, N: Fate, W, M: Fate>(
        &mut self,
        key: &K,
        own: &Side<K, V, N>,
        theirs: &Side<K, W, M>,
    ) {
        if self.own_place != NOWHERE {
            self.own_entry = own.bucket(self.own_place).table.candidate(self.own_word, self.tag, key);
        }
        let near = self.near_words.iter().zip(&self.near.places[..self.near.count]);
        for (entry, (word, &place)) in self.near_entries.iter_mut().zip(near) {
            if place != NOWHERE {
                *entry = theirs.bucket(place).table.candidate(*word, self.tag, key);
            }
        }
    }

    /// Loads the first rows in each bucket that the record may match.
    #[inline(always)]
    pub(super) fn touch<K: Eq + Hash, W, M: Fate>(&mut self, theirs: &Side<K, W, M>) {
        let near = self.near_entries.iter().zip(&self.near.places[..self.near.count]);
        for (word, (&entry, &place)) in self.near_words.iter_mut().zip(near) {
            if place != NOWHERE && entry != NOWHERE {
                // The value is stored only so that the compiler does not remove the load, which brings the
                // row into the cache.
                *word = u64::from(theirs.bucket(place).table.value(entry).touch());
            }
        }
    }
}
