//! Keys of an operator: a writer uses them to send each record to the right parallel instance of the
//! operator.

use crate::allowance::Allowance;
use crate::horizon::Horizon;
use crate::mark::Mark;
use crate::operator::Counts;
use crate::state::{StateError, StateReader, StateWriter};
use crate::time::EventTime;

/// Extracts the keys of records for an operator that is [`Sharing::Keyed`](crate::Sharing::Keyed).
///
/// Some operators ignore a record that equals an earlier one. Their keys may act as a local distinct filter, which
/// remembers records and keeps repeated ones from crossing to another core. Such keys see marks and hold state, as
/// operators do.
///
/// A value may stand for many records, such as a batch of rows. Then [`DIVIDES`](Self::DIVIDES) is true, and the value is
/// [divided](Self::divide) into one part for each of several copies of the operator.
pub trait Keys<T>: Send {
    /// True if values hold several keys: they are divided, and [`address`](Self::address) is not called.
    const DIVIDES: bool = false;

    /// Returns a hash of the value's key; `None` if the operator does not need the record. The hash is the
    /// same in every copy of the function that extracts keys. It is independent of the place where the
    /// operator keeps the key, and its upper bits are the well-mixed ones.
    fn address(&mut self, event_time: EventTime, value: &T) -> Option<u64>;

    /// Divides a value by the keys of its records among `copies` copies of the operator, of which there are at least
    /// two. The parts wait here until [`next_part`](Self::next_part) has returned them. Called only if
    /// [`DIVIDES`](Self::DIVIDES) is true, and after all parts of the value before were returned.
    ///
    /// # Panics
    /// If [`DIVIDES`](Self::DIVIDES) is false.
    fn divide(&mut self, value: T, copies: usize) {
        let _ = (value, copies);
        unreachable!("values of one key each are not divided")
    }

    /// Returns the next part of the value that was divided last, with the hash by which it is
    /// [addressed](crate::Addressed); `None` if all parts were returned. Parts for one copy keep their order.
    fn next_part(&mut self) -> Option<(u64, T)> {
        None
    }

    /// Returns whether parts wait for [`next_part`](Self::next_part).
    fn has_parts(&self) -> bool {
        false
    }

    /// Returns a copy of this key function for another worker. The copy has remembered no records.
    fn fork(&self) -> Self
    where
        Self: Sized;

    /// Returns the name of the operator after a panic inside [`address`](Self::address), if a function of
    /// this operator caused the panic.
    fn faulted(&self) -> Option<&str>;

    /// Takes a mark (such as a watermark), after the keys of every record before the mark were extracted.
    fn on_mark(&mut self, mark: Mark) {
        let _ = mark;
    }

    /// Returns the horizon of these keys: the event times at which a watermark lets them forget records that
    /// they remember.
    fn horizon(&self) -> Horizon {
        Horizon::NONE
    }

    /// Gives these keys the allowance that grants memory for remembered records. Called before the first
    /// record.
    fn fund(&mut self, allowance: &Allowance) {
        let _ = allowance;
    }

    /// Returns the operator's name, and counts of the records that these keys kept back because the operator
    /// would ignore them. The counts are those that the operator would have had if it had read these records.
    /// `None` if these keys keep back no records.
    fn kept_back(&self) -> Option<(&str, Counts)> {
        None
    }

    /// Writes the state by which these keys decide whether the operator needs a record. Remembered records
    /// are not saved: without them more records are sent.
    ///
    /// # Errors
    /// [`StateError`] if a value cannot be written.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        let _ = state;
        Ok(())
    }

    /// Replaces the state of this key function by the state that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not such state.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let _ = state;
        Ok(())
    }

    /// Returns the number of bytes held by the records that these keys remember.
    fn state_bytes(&self) -> usize {
        0
    }
}

/// The key extractor of an operator that has no keys; its records are never exchanged by key.
#[derive(Clone, Copy, Debug)]
pub struct NoKeys;

impl<T> Keys<T> for NoKeys {
    fn address(&mut self, _event_time: EventTime, _value: &T) -> Option<u64> {
        unreachable!("what has no key is not exchanged by key")
    }

    fn fork(&self) -> Self {
        NoKeys
    }

    fn faulted(&self) -> Option<&str> {
        None
    }
}
