//! The output of an operator on the test bed: it has room for a few records, and may close after any push.

use thalweg_model::{Entropy, Output, Record};

/// An output of an operator with room for a limited number of records.
pub(super) struct Bounded<T> {
    pub(super) records: Vec<Record<T>>,
    room: usize,
    /// Number of records after which the output closes, as an edge may do where a watermark is due.
    closes_behind: usize,
}

impl<T> Bounded<T> {
    /// Creates an output with room for exactly this number of records.
    pub(super) fn new(room: usize) -> Self {
        Bounded { records: Vec::new(), room, closes_behind: room }
    }

    /// Returns an output that may close early, but not before it has taken one record.
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
