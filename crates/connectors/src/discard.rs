//! A sink that drops every record and counts them, for measuring the operators before it.

use thalweg_model::{Fault, Record, Sink};

/// Sink that drops all records and counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Discard {
    count: u64,
}

impl Discard {
    /// Creates a sink that has dropped no record so far.
    pub const fn new() -> Self {
        Discard { count: 0 }
    }

    /// Returns the number of records dropped so far.
    pub const fn count(&self) -> u64 {
        self.count
    }
}

impl<T> Sink<T> for Discard {
    #[inline]
    fn write(&mut self, _record: Record<T>) -> Result<(), Fault> {
        self.count += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_model::EventTime;

    #[test]
    fn counts_what_it_drops() {
        let mut sink = Discard::new();
        for value in 0..3 {
            sink.write(Record::new(EventTime::EPOCH, value)).unwrap();
        }
        assert_eq!(sink.count(), 3);
    }
}
