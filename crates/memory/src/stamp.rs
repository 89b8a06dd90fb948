//! Stamps of values: numbers that the user of an edge sets, and that this crate forwards without interpreting
//! them.

use crate::sync::{AtomicU64, Ordering};

/// A stamp: numbers that describe values, noted when the values are written to an edge or a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stamp {
    /// Time of the write, in a unit that the user of the edge chooses: of two stamps on one edge, the later
    /// never has the smaller number.
    pub came: u64,
    /// Two further numbers that the writer passes to the reader of the values; the user of the edge defines
    /// their meaning.
    pub notes: [u64; 2],
}

impl Stamp {
    /// Creates a stamp with the time `came` and with zeros in place of the other numbers.
    pub const fn at(came: u64) -> Self {
        Stamp { came, notes: [0; 2] }
    }
}

/// A stamp that other threads may read at any time. Relaxed, word by word: a hint for schedulers. While the
/// edge is written, a reader may get parts of two stamps.
#[derive(Debug)]
pub(crate) struct StampCell([AtomicU64; 3]);

impl StampCell {
    pub(crate) fn new() -> Self {
        StampCell([(); 3].map(|()| AtomicU64::new(0)))
    }

    pub(crate) fn store(&self, Stamp { came, notes: [first, second] }: Stamp) {
        for (cell, word) in self.0.iter().zip([came, first, second]) {
            cell.store(word, Ordering::Relaxed);
        }
    }

    pub(crate) fn load(&self) -> Stamp {
        let [came, first, second] = [0, 1, 2].map(|word| self.0[word].load(Ordering::Relaxed));
        Stamp { came, notes: [first, second] }
    }
}
