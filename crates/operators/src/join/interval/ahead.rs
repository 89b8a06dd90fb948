//! What is seen of a record ahead of its turn: its bucket and those that it reaches into, the words of their indexes, the
//! entries of its key. One step for all records of a batch, then the next, so that a batch waits for memory about as long
//! as one record would.

use std::hash::Hash;

use thalweg_model::EventTime;

use crate::join::combine::Fate;
use crate::join::dense_table::{NOWHERE, Tag};
use crate::join::funds::Funds;
use crate::join::interval_side::{NEAR_MAX, Near, Side};

/// What was seen of a record ahead of its turn. Written in place and never copied: what is read as a whole just after it
/// was written in parts, the processor waits for.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) is_left: bool,
    pub(super) is_late: bool,
    pub(super) tag: Tag,
    /// Its own bucket, and the entry of its key there, if that was found at first sight; else `NOWHERE`.
    pub(super) own_place: u32,
    pub(super) own_entry: u32,
    own_word: u64,
    /// The buckets of those that it may meet, and the same of each.
    pub(super) near: Near,
    pub(super) near_entries: [u32; NEAR_MAX],
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

    /// Finds out which buckets matter, and opens that of the record, if anybody may come for it.
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

    /// Nothing was found at first sight.
    pub(super) fn forget_entries(&mut self) {
        self.own_entry = NOWHERE;
        self.near_entries = [NOWHERE; NEAR_MAX];
    }

    /// Loads what the indexes say at the homes of the key.
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

    /// Loads the entries behind them.
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

    /// Loads the first rows of those that the record may meet.
    #[inline(always)]
    pub(super) fn touch<K: Eq + Hash, W, M: Fate>(&mut self, theirs: &Side<K, W, M>) {
        let near = self.near_entries.iter().zip(&self.near.places[..self.near.count]);
        for (word, (&entry, &place)) in self.near_words.iter_mut().zip(near) {
            if place != NOWHERE && entry != NOWHERE {
                // Kept only so that it is loaded.
                *word = u64::from(theirs.bucket(place).table.value(entry).touch());
            }
        }
    }
}
