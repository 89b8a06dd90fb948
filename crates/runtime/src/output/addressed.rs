//! The output of an exchange: edges to the copies of a keyed operator. The key of each record selects the
//! edge.
//!
//! The records of a key keep their order, and every mark goes to all edges. So each copy sees the same of its
//! keys as a single operator would. There is room only while every edge has some, because it is not known to
//! which edge the next record goes. The room of the fullest edge is counted down, and edges are asked again
//! only when it is used up.
//!
//! A writer that was idle stops being idle when it writes again, to whichever edge. So its last watermark is
//! then sent to all edges, which tells every copy that the writer is back.

use thalweg_memory::Stamp;
use thalweg_model::{
    Addressed, Clock, EventTime, Fault, Mark, Output, Record, StateError, StateReader, StateWriter,
};

use super::TaskOutput;
use crate::arrival::Arrival;
use crate::edge::Writer;

/// Writes the records of a task to several edges, one for each copy of the next operator, by the key of the
/// record.
pub struct ToAddressed<T: Send + 'static> {
    /// The edges to the copies of the next operator, one for each copy; at least one.
    partitions: Box<[Writer<T>]>,
    rest: Rest,
    /// The last watermark that this writer has set on all of its edges.
    watermark: EventTime,
    /// Start of the step that wrote the last records, and the scheduling context of these records.
    stamp: Stamp,
}

/// Idleness of a writer in front of an exchange by key, and how much of it the readers have been told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rest {
    /// The writer in front of the exchange is not idle.
    None,
    /// The writer in front of the exchange has told all readers that it is idle, and has written nothing
    /// since.
    Idle,
    /// The writer has told all readers that it is idle, and has written to an edge since. All edges must
    /// still be told that it is no longer idle.
    Over,
}

impl<T: Send + 'static> ToAddressed<T> {
    pub(crate) fn new(partitions: Box<[Writer<T>]>) -> Self {
        assert!(!partitions.is_empty(), "records go somewhere");
        ToAddressed { partitions, rest: Rest::None, watermark: EventTime::MIN, stamp: Stamp::default() }
    }
}

impl<T: Send + 'static> ToAddressed<T> {
    fn mark_all(&mut self, mark: Mark, stamp: Stamp) {
        match mark {
            Mark::Watermark(watermark) => (self.rest, self.watermark) = (Rest::None, watermark),
            Mark::Idle => self.rest = Rest::Idle,
            Mark::InputWatermark(_) | Mark::Latency(_) | Mark::Barrier(_) | Mark::End => {}
        }
        self.partitions.iter_mut().for_each(|partition| partition.mark(mark, stamp));
    }
}

/// The edges of an exchange while a step writes them. Pushed records are handed over when this value is
/// dropped.
pub struct AddressedOutput<'a, T: Send + 'static> {
    partitions: &'a mut [Writer<T>],
    rest: &'a mut Rest,
    /// Number of records for which there is room in any case, whichever edges their keys select.
    room: usize,
    stamp: Stamp,
}

impl<T: Send + 'static> Output<Addressed<T>> for AddressedOutput<'_, T> {
    #[inline(always)]
    fn room(&self) -> usize {
        self.room
    }

    #[inline(always)]
    fn push(&mut self, record: Record<Addressed<T>>) {
        debug_assert!(self.room > 0, "a record is pushed without room: check room() first (O1)");
        let place = record.value.place(self.partitions.len());
        self.partitions[place].append(Record::new(record.event_time, record.value.value), self.stamp);
        self.room -= 1;
        if self.room == 0 {
            self.room = room_of(self.partitions);
        }
    }
}

/// Returns the number of records that fit into the fullest of several edges.
#[cold]
fn room_of<T: Send + 'static>(partitions: &[Writer<T>]) -> usize {
    partitions.iter().map(Writer::room_left).min().unwrap_or(0)
}

impl<T: Send + 'static> Drop for AddressedOutput<'_, T> {
    fn drop(&mut self) {
        if *self.rest == Rest::Idle && self.partitions.iter().any(Writer::has_appended) {
            *self.rest = Rest::Over;
        }
        self.partitions.iter_mut().for_each(Writer::hand_over);
    }
}

impl<T: Send + 'static> TaskOutput<Addressed<T>> for ToAddressed<T> {
    type Output<'a> = AddressedOutput<'a, T>;

    #[inline]
    fn open(&mut self, arrival: Arrival) -> AddressedOutput<'_, T> {
        let stamp = arrival.stamp();
        self.stamp = stamp;
        let room = self.partitions.iter_mut().map(|partition| partition.begin(stamp)).min().unwrap_or(0);
        AddressedOutput { partitions: &mut self.partitions, rest: &mut self.rest, room, stamp }
    }

    fn is_ready(&mut self) -> bool {
        // All edges are asked, even if one is not ready, because `is_held` also sets a mark (such as a
        // watermark) that was held back, if there is room now.
        let mut are_ready = true;
        for partition in &mut self.partitions {
            are_ready &= !partition.is_held();
        }
        if are_ready && self.rest == Rest::Over {
            self.mark_all(Mark::Watermark(self.watermark), self.stamp);
            return self.partitions.iter_mut().all(|partition| !partition.is_held());
        }
        are_ready
    }

    fn mark(&mut self, mark: Mark, arrival: Arrival, _clock: &dyn Clock) -> Result<(), Fault> {
        self.mark_all(mark, arrival.stamp());
        Ok(())
    }

    fn check(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// The last watermark is sent again when the writer is no longer idle, so it is saved with the idleness.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        let rest: u8 = match self.rest {
            Rest::None => 0,
            Rest::Idle => 1,
            Rest::Over => 2,
        };
        state.put(&(self.watermark, rest))
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let (watermark, rest) = state.take()?;
        self.watermark = watermark;
        self.rest = match rest {
            0u8 => Rest::None,
            1 => Rest::Idle,
            2 => Rest::Over,
            other => return Err(state.wrong(format!("{other} is no state of idleness"))),
        };
        Ok(())
    }

    fn pushed(&self) -> u64 {
        self.partitions.iter().map(|partition| partition.cursors().written()).sum()
    }

    fn held_bytes(&self) -> usize {
        0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use thalweg_memory::TakeOut;
    use thalweg_memory::{BlockShape, Budget, EdgeOptions, Next, Pool};
    use thalweg_model::{EventTime, ProcessingTime, VirtualClock};

    use super::*;
    use crate::arrival::at;
    use crate::edge::{EdgeMarks, Reader};

    /// Makes edges with room for four records each. Returns the output of an exchange over them, and their
    /// readers.
    fn output(readers: usize) -> (ToAddressed<u64>, Vec<Reader<u64>>) {
        let pool = Pool::new(Budget::new(1 << 20));
        let shape = BlockShape { block_records: 2, chunk_blocks: 1 };
        let options = EdgeOptions { shape, chunks_max: 2, marks_max: 1 };
        let edge = |_| thalweg_memory::edge::<Record<u64>, EdgeMarks>(&pool, options).unwrap();
        let (writers, readers): (Vec<_>, Vec<_>) = (0..readers).map(edge).unzip();
        (ToAddressed::new(writers.into()), readers)
    }

    /// Pushes values while there is room, and returns how many were pushed. Each value selects one of two
    /// readers.
    fn push(output: &mut ToAddressed<u64>, values: &[u64]) -> usize {
        let mut output = output.open(at(ProcessingTime::ZERO));
        let mut pushed = 0;
        for &value in values {
            if output.room() == 0 {
                break;
            }
            let addressed = Addressed { key_hash: (value % 2) << 63, value };
            output.push(Record::new(EventTime::EPOCH, addressed));
            pushed += 1;
        }
        pushed
    }

    /// Reads everything that a reader finds on its edge. Returns it as text: values as numbers, and any mark
    /// as `W`.
    fn read(reader: &mut Reader<u64>) -> String {
        let mut found = Vec::new();
        loop {
            match reader.next(usize::MAX) {
                Next::Values(mut run) => {
                    let count = run.remaining();
                    run.taken(count).for_each(|record| found.push(record.value.to_string()));
                }
                Next::Mark(_) => found.push("W".to_owned()),
                Next::Empty => return found.join(" "),
            }
        }
    }

    fn watermark(output: &mut ToAddressed<u64>, micros: i64) {
        let mark = Mark::Watermark(EventTime::from_micros(micros));
        output.mark(mark, at(ProcessingTime::ZERO), &VirtualClock::default()).unwrap();
    }

    #[test]
    fn records_go_where_they_are_addressed_and_marks_to_all() {
        let (mut output, mut readers) = output(2);
        assert_eq!(push(&mut output, &[0, 1, 2]), 3);
        watermark(&mut output, 1);
        assert_eq!(push(&mut output, &[4, 3]), 2);
        assert_eq!(output.pushed(), 5);
        assert_eq!(readers.iter_mut().map(read).collect::<Vec<_>>(), ["0 2 W 4", "1 W 3"]);
    }

    /// An exchange has room only while every edge has some, whichever edge the next record selects.
    #[test]
    fn the_fullest_edge_says_what_room_there_is() {
        let (mut output, mut readers) = output(2);
        assert_eq!(push(&mut output, &[0, 1, 2, 3, 4, 5, 6, 7]), 7);
        assert_eq!(read(&mut readers[1]), "1 3 5");
        assert_eq!(push(&mut output, &[7]), 0);
        assert_eq!(read(&mut readers[0]), "0 2 4 6");
        // The reader has not read the current block of the other edge to its end, and the block has one free
        // slot. So there is room for three records.
        assert_eq!(push(&mut output, &[7, 9, 11, 13, 15]), 3);
        assert_eq!(read(&mut readers[1]), "7 9 11");
    }

    /// A writer that was idle writes to one edge of an exchange. The readers of all edges learn that the
    /// writer is no longer idle.
    #[test]
    fn all_are_told_that_the_writer_is_back() {
        let (mut output, mut readers) = output(2);
        let mut idle = |output: &mut ToAddressed<u64>| {
            output.mark(Mark::Idle, at(ProcessingTime::ZERO), &VirtualClock::default()).unwrap();
            readers.iter_mut().map(read).collect::<Vec<_>>()
        };
        assert_eq!(idle(&mut output), ["W", "W"]);
        assert!(output.is_ready());
        assert_eq!(push(&mut output, &[]), 0);
        assert!(output.is_ready());
        assert_eq!(push(&mut output, &[1]), 1);
        assert!(output.is_ready());
        assert_eq!(push(&mut output, &[3]), 1);
        assert!(output.is_ready());
        assert_eq!(readers.iter_mut().map(read).collect::<Vec<_>>(), ["W", "1 W 3"]);
    }

    /// One edge has no room for a mark (such as a watermark). The records behind the mark are held back on
    /// all edges of the exchange.
    #[test]
    fn a_mark_that_is_held_back_holds_all() {
        let (mut output, mut readers) = output(2);
        watermark(&mut output, 1);
        assert_eq!(read(&mut readers[0]), "W");
        watermark(&mut output, 2);
        assert!(!output.is_ready());
        assert_eq!(push(&mut output, &[0]), 0);
        assert_eq!(read(&mut readers[1]), "W");
        assert!(output.is_ready());
        assert_eq!(push(&mut output, &[0, 1]), 2);
        assert_eq!(readers.iter_mut().map(read).collect::<Vec<_>>(), ["W 0", "W 1"]);
    }
}
