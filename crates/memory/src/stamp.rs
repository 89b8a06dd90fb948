//! What is said of values when they come in: numbers of the caller's, which memory hands on and does not understand.

use crate::sync::{AtomicU64, Ordering};

/// What is said of values when they come in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stamp {
    /// When that was: of two stamps on one edge, the later does not have the smaller.
    pub came: u64,
    /// Whatever else is to be known where they are read.
    pub notes: [u64; 2],
}

impl Stamp {
    /// A stamp that says when, and nothing else.
    pub const fn at(came: u64) -> Self {
        Stamp { came, notes: [0; 2] }
    }
}

/// A stamp that others look at. Relaxed, word by word: a hint for schedulers, which may be half of one stamp and half of the
/// next while the edge is written.
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
