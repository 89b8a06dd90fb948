//! Where an operator on the bed writes: with little room, of which some may be gone behind the next push.

use thalweg_model::{Entropy, Output, Record};

/// Room for some records.
pub(super) struct Bounded<T> {
    pub(super) records: Vec<Record<T>>,
    room: usize,
    /// Closes behind so many, as an edge may where a watermark is to be set.
    closes_behind: usize,
}

impl<T> Bounded<T> {
    /// Room for exactly so many.
    pub(super) fn new(room: usize) -> Self {
        Bounded { records: Vec::new(), room, closes_behind: room }
    }

    /// The same, but it may close early, though not before it has taken one.
    pub(super) fn or_less(self, entropy: &mut dyn Entropy) -> Self {
        let closes_behind = match entropy.below(4) {
            0 => 1 + entropy.below(self.room as u64) as usize,
            _ => self.room,
        };
        Bounded { closes_behind, ..self }
    }
}

impl<T> Output<T> for Bounded<T> {
    fn room(&self) -> usize {
        if self.records.len() < self.closes_behind { self.room - self.records.len() } else { 0 }
    }

    fn push(&mut self, record: Record<T>) {
        assert!(self.room() > 0, "an operator pushes only while output.room() is above zero (O1)");
        self.records.push(record);
    }
}
