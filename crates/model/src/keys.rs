//! By which key an operator works, for those who stand before it and send each record to one of its copies.

use crate::allowance::Allowance;
use crate::horizon::Horizon;
use crate::mark::Mark;
use crate::operator::Counts;
use crate::state::{StateError, StateReader, StateWriter};
use crate::time::EventTime;

/// What tells keys apart, of an operator that is [`Sharing::Keyed`](crate::Sharing::Keyed).
///
/// Some operators make nothing of a record that is like one before it. Their keys may remember what went by, and keep
/// repeated records from crossing to another core: then they see marks and hold state, as operators do.
pub trait Keys<T>: Send {
    /// A hash of the key that a value has, or none if the record need not come to the operator. The hash is the same whoever
    /// is asked, says nothing of where the operator keeps the key, and its upper bits are the good ones.
    fn address(&mut self, event_time: EventTime, value: &T) -> Option<u64>;

    /// The same for another worker, which has seen nothing.
    fn fork(&self) -> Self
    where
        Self: Sized;

    /// After a panic inside [`address`](Self::address): the name of the operator, whose function it was.
    fn faulted(&self) -> Option<&str>;

    /// Sees a mark, after every record before it.
    fn on_mark(&mut self, mark: Mark) {
        let _ = mark;
    }

    /// Which marks that are watermarks make a difference here.
    fn horizon(&self) -> Horizon {
        Horizon::NONE
    }

    /// Before the first record: takes the allowance that what is remembered is paid from.
    fn fund(&mut self, allowance: &Allowance) {
        let _ = allowance;
    }

    /// The operator's name, and what it would have counted of the records that did not come to it; none of keys that let all
    /// pass.
    fn kept_back(&self) -> Option<(&str, Counts)> {
        None
    }

    /// Writes down what records are judged by; not what is remembered, without which more of them pass.
    ///
    /// # Errors
    /// [`StateError`] if a value cannot be written.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        let _ = state;
        Ok(())
    }

    /// Replaces that by what [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not such state.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let _ = state;
        Ok(())
    }

    /// Bytes of what is remembered.
    fn state_bytes(&self) -> usize {
        0
    }
}

/// Those of an operator that has none.
#[derive(Clone, Copy, Debug)]
pub struct NoKeys;

impl<T> Keys<T> for NoKeys {
    fn address(&mut self, _event_time: EventTime, _value: &T) -> Option<u64> {
        unreachable!("what has no key is not dealt by key")
    }

    fn fork(&self) -> Self {
        NoKeys
    }

    fn faulted(&self) -> Option<&str> {
        None
    }
}
