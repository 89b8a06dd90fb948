//! A sink into a vector that its creator can read, for tests and for programs that embed the engine.
//!
//! The vector is bounded: one record more than `max_records` fails the query with `SINK_FULL`. Records are visible as
//! soon as they are written, even if the query fails later.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thalweg_model::{Fault, Record, Sink};

use crate::sink_error::SinkError;

/// Sink that keeps every record, up to a maximum.
#[derive(Debug)]
pub struct Collect<T> {
    records: Arc<Mutex<Vec<Record<T>>>>,
    max_records: usize,
}

impl<T> Collect<T> {
    /// Creates an empty sink that takes at most `max_records`.
    pub fn new(max_records: usize) -> Self {
        Collect { records: Arc::default(), max_records }
    }

    /// Returns a handle to the collected records, now and in future; it stays valid when the sink has been dropped.
    pub fn records(&self) -> Arc<Mutex<Vec<Record<T>>>> {
        Arc::clone(&self.records)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Record<T>>> {
        // If a reader has panicked while it held the lock, the records are used all the same: a push either
        // happened or did not, so the vector cannot be half changed.
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send> Sink<T> for Collect<T> {
    fn write(&mut self, record: Record<T>) -> Result<(), Fault> {
        let mut records = self.lock();
        if records.len() >= self.max_records {
            return Err(SinkError::Full { max_records: self.max_records }.into());
        }
        records.push(record);
        Ok(())
    }

    fn held_bytes(&self) -> usize {
        self.lock().capacity() * size_of::<Record<T>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_model::EventTime;

    /// A sink that is full refuses the next record with a typed error, and keeps the records before it.
    #[test]
    fn full_is_a_fault() {
        let mut sink = Collect::new(2);
        let records = sink.records();
        for value in [7, 8] {
            sink.write(Record::new(EventTime::EPOCH, value)).unwrap();
        }
        let fault = sink.write(Record::new(EventTime::EPOCH, 9)).unwrap_err();
        assert_eq!(fault.code(), "SINK_FULL");
        let told = "the collecting sink holds 2 records, its maximum; give it a higher one";
        assert_eq!(fault.to_string(), told);
        assert!(2 * size_of::<Record<i32>>() <= sink.held_bytes());
        drop(sink);
        let values: Vec<i32> = records.lock().unwrap().iter().map(|record| record.value).collect();
        assert_eq!(values, [7, 8]);
    }
}
