//! A hash table of counts by word, for the hand-written loops. It uses open addressing, and a hash without a
//! secret key that takes one multiplication per eight bytes of a word.

/// A table with the number of occurrences of each word.
pub(crate) struct WordTable<'a> {
    /// The slots of the table; their number is a power of two. A free slot has the count 0.
    slots: Vec<(&'a str, u64)>,
    len: usize,
}

impl Default for WordTable<'_> {
    fn default() -> Self {
        WordTable { slots: vec![("", 0); 1 << 12], len: 0 }
    }
}

impl<'a> WordTable<'a> {
    /// Adds `count`, at least one, to the count of a word. Returns whether the word is new.
    #[inline(always)]
    pub(crate) fn add(&mut self, word: &'a str, count: u64) -> bool {
        let place = self.place_of(word);
        let slot = &mut self.slots[place];
        if slot.1 > 0 {
            slot.1 += count;
            return false;
        }
        self.insert(place, word, count);
        true
    }

    /// Returns all words of the table with their counts.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&'a str, u64)> {
        self.slots.iter().copied().filter(|(_, count)| *count > 0)
    }

    #[inline(always)]
    fn place_of(&self, word: &str) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = (hash(word.as_bytes()) >> 20) as usize & mask;
        while self.slots[place].1 > 0 && self.slots[place].0 != word {
            place = (place + 1) & mask;
        }
        place
    }

    #[cold]
    #[inline(never)]
    fn insert(&mut self, place: usize, word: &'a str, count: u64) {
        self.slots[place] = (word, count);
        self.len += 1;
        if self.slots.len() < 2 * self.len {
            let doubled = vec![("", 0); 2 * self.slots.len()];
            for (word, count) in std::mem::replace(&mut self.slots, doubled) {
                if count > 0 {
                    let place = self.place_of(word);
                    self.slots[place] = (word, count);
                }
            }
        }
    }

    /// Removes all words from the table, and keeps the room for as many.
    pub(crate) fn clear(&mut self) {
        self.slots.fill(("", 0));
        self.len = 0;
    }
}

#[inline(always)]
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = bytes.len() as u64;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let word = u64::from_le_bytes(chunk.try_into().expect("a chunk of 8 bytes fills a word"));
        hash = (hash.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    }
    let rest = chunks.remainder();
    let mut last = 0;
    for (shift, byte) in (0..).step_by(8).zip(rest) {
        last |= u64::from(*byte) << shift;
    }
    let hash = (hash.rotate_left(23) ^ last).wrapping_mul(FACTOR);
    hash ^ (hash >> 32)
}
