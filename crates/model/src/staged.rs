//! Execution of a chain operator by operator, for measurements: the records between two operators are held,
//! so that a clock can time each operator. The usual single loop over all operators cannot be timed in parts.
//!
//! Meant for a few of the steps of a task, because held records need allocations and are copied once more.

use crate::clock::Clock;
use crate::operator::{Input, Output};
use crate::record::Record;

/// Maximum number of operators of a chain that are measured; operators after these are not.
pub const STAGES_MAX: usize = 16;

/// Time that one operator of a chain took, and its records, in the runs of the task in which operators were
/// measured one by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stage {
    /// Nanoseconds that the operator took for the records counted in `records`.
    pub nanos: u64,
    /// Number of records that the operator took in while its time was measured.
    pub records: u64,
}

/// Time and records of each operator of a chain, in the order of the chain.
pub struct Stages<'a> {
    clock: &'a dyn Clock,
    spent: [Stage; STAGES_MAX],
}

impl<'a> Stages<'a> {
    /// Creates measurements of a chain in which no operator has run yet.
    pub fn new(clock: &'a dyn Clock) -> Self {
        Stages { clock, spent: [Stage::default(); STAGES_MAX] }
    }

    /// Returns the time and records of each operator, by its place in the chain.
    pub fn spent(&self) -> &[Stage] {
        &self.spent
    }

    /// Runs the operator at `place` of the chain on `input`, and adds its time and records to the
    /// measurements.
    pub fn measure<T, I: Input<T>>(&mut self, place: usize, input: &mut I, run: impl FnOnce(&mut I)) {
        let (given, began) = (input.remaining(), self.clock.now());
        run(input);
        if let Some(stage) = self.spent.get_mut(place) {
            stage.nanos += self.clock.now().nanos_since(began);
            stage.records += (given - input.remaining()) as u64;
        }
    }
}

/// Records held between two operators of a chain that are measured: the output of one, then the input of the
/// next.
#[derive(Debug)]
pub struct Held<T> {
    records: Vec<Record<T>>,
    room: usize,
}

impl<T> Held<T> {
    /// Creates an output that holds at most `room` records.
    pub fn new(room: usize) -> Self {
        Held { records: Vec::with_capacity(room), room }
    }

    /// Returns the records that the first operator has pushed, as an input for the second one.
    pub fn into_input(self) -> HeldInput<T> {
        HeldInput(self.records.into_iter())
    }
}

impl<T> Output<T> for Held<T> {
    fn room(&self) -> usize {
        self.room - self.records.len()
    }

    fn push(&mut self, record: Record<T>) {
        self.records.push(record);
    }
}

/// Records that were held between two operators, as an input for the second one.
#[derive(Debug)]
pub struct HeldInput<T>(std::vec::IntoIter<Record<T>>);

impl<T> Input<T> for HeldInput<T> {
    fn remaining(&self) -> usize {
        self.0.len()
    }

    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&Record<T>) -> Q) -> Q {
        look(&self.0.as_slice()[offset])
    }

    fn taken(&mut self, count: usize) -> impl Iterator<Item = Record<T>> {
        assert!(count <= self.remaining(), "{count} records are taken of {}", self.remaining());
        self.0.by_ref().take(count)
    }

    fn taken_selected(&mut self, count: usize, selection: &[u16]) -> impl Iterator<Item = Record<T>> {
        assert!(selection.is_sorted_by(|one, next| one < next), "a selection rises");
        assert!(
            selection.last().is_none_or(|&last| usize::from(last) < count),
            "a selection lies within its run"
        );
        let mut selection = selection.iter().map(|&offset| usize::from(offset)).peekable();
        self.taken(count)
            .enumerate()
            .filter_map(move |(offset, record)| selection.next_if_eq(&offset).map(|_| record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::EventTime;

    fn held(values: std::ops::Range<i64>) -> HeldInput<i64> {
        let mut held = Held::new(10);
        values.for_each(|value| held.push(Record::new(EventTime::EPOCH, value)));
        held.into_input()
    }

    #[test]
    fn what_was_pushed_is_taken_in_order() {
        let mut held_back = Held::<i64>::new(1);
        assert_eq!(held_back.room(), 1);
        held_back.push(Record::new(EventTime::EPOCH, 7));
        assert_eq!(held_back.room(), 0);
        let mut input = held(0..10);
        let mut taken = Vec::new();
        assert_eq!(input.inspect(3, |record| record.value), 3);
        input.take_each(2, |record| taken.push(record.value));
        input.take_selected(5, &[0, 4], |record| taken.push(record.value));
        assert_eq!((taken, input.remaining()), (vec![0, 1, 2, 6], 3));
        assert_eq!(input.take().map(|record| record.value), Some(7));
    }
}
