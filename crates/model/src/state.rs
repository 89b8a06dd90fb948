//! Saving and loading of operator state: the section of one operator in a checkpoint.
//!
//! Values are encoded by postcard, in the order in which they are put; the reader must take them in the same order.
//! Checksums and manifests are left to the checkpoint.

use std::fmt;

use serde::{Serialize, de::DeserializeOwned};

/// Values allowed in an operator's state: all types that serde can write and read back.
pub trait State: Serialize + DeserializeOwned + Send + 'static {}

impl<T: Serialize + DeserializeOwned + Send + 'static> State for T {}

/// Error in writing or reading the state of an operator.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StateError {
    /// A value of the state cannot be written.
    Write(String),
    /// The bytes of the saved state at `offset`, or just before it, are not those that the operator expects
    /// there.
    Read {
        /// Number of bytes from the start of the operator's section of the checkpoint.
        offset: usize,
        /// The reason why the bytes cannot be read, as given by the decoder or the operator.
        reason: String,
    },
    /// Bytes are left over after the last value of the operator's section of the checkpoint.
    Trailing {
        /// Number of bytes after the last value; the operator has not read them.
        count: usize,
    },
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StateError::Write(reason) => write!(f, "state cannot be written: {reason}"),
            StateError::Read { offset, reason } => {
                write!(f, "saved state is not readable at byte {offset}: {reason}; use an older checkpoint")
            }
            StateError::Trailing { count } => {
                write!(f, "saved state has {count} bytes too many; was the query changed since it was saved?")
            }
        }
    }
}

impl std::error::Error for StateError {}

/// Collects the state of an operator as bytes.
#[derive(Debug, Default)]
pub struct StateWriter {
    bytes: Vec<u8>,
}

impl StateWriter {
    /// Appends one value to the state.
    ///
    /// # Errors
    /// [`StateError::Write`] if serde cannot write the value.
    pub fn put<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), StateError> {
        let bytes = std::mem::take(&mut self.bytes);
        self.bytes =
            postcard::to_extend(value, bytes).map_err(|error| StateError::Write(error.to_string()))?;
        Ok(())
    }

    /// Returns all bytes of operator state that were written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads the values back from the bytes of a [`StateWriter`].
#[derive(Debug)]
pub struct StateReader<'a> {
    whole: &'a [u8],
    rest: &'a [u8],
}

impl<'a> StateReader<'a> {
    /// Creates a reader of operator state that begins at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        StateReader { whole: bytes, rest: bytes }
    }

    /// Reads and returns the next value.
    ///
    /// # Errors
    /// [`StateError::Read`] if the bytes end too soon or do not decode.
    pub fn take<T: DeserializeOwned>(&mut self) -> Result<T, StateError> {
        let (value, rest) =
            postcard::take_from_bytes(self.rest).map_err(|error| self.wrong(error.to_string()))?;
        self.rest = rest;
        Ok(value)
    }

    /// Creates the error for the value that was read last: it decodes, but is not valid for the operator.
    pub fn wrong(&self, reason: impl Into<String>) -> StateError {
        StateError::Read { offset: self.whole.len() - self.rest.len(), reason: reason.into() }
    }

    /// Checks that every byte was read.
    ///
    /// # Errors
    /// [`StateError::Trailing`] if bytes are left over.
    pub fn finish(self) -> Result<(), StateError> {
        if self.rest.is_empty() { Ok(()) } else { Err(StateError::Trailing { count: self.rest.len() }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_can_be_taken_and_nothing_else() {
        let mut writer = StateWriter::default();
        writer.put(&(7u64, -1i64)).unwrap();
        writer.put("text").unwrap();
        let bytes = writer.into_bytes();

        let mut reader = StateReader::new(&bytes);
        assert_eq!(reader.take::<(u64, i64)>(), Ok((7, -1)));
        assert_eq!(reader.take::<String>(), Ok("text".to_owned()));
        assert_eq!(reader.finish(), Ok(()));

        let mut short = StateReader::new(&bytes[..3]);
        assert_eq!(short.take::<(u64, i64)>(), Ok((7, -1)));
        assert!(matches!(short.take::<String>(), Err(StateError::Read { offset: 2, .. })));
        assert_eq!(short.wrong("no"), StateError::Read { offset: 2, reason: "no".to_owned() });
        assert_eq!(StateReader::new(&bytes[..1]).finish(), Err(StateError::Trailing { count: 1 }));
    }
}
