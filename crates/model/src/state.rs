//! Saving and loading of operator state: the section of one operator in a checkpoint.
//!
//! Values are encoded by postcard, in the order in which they are put; the reader must take them in the same order.
//! An operator may write its state as a frame, with the kind and the version of the state and a checksum. So the state of
//! another kind of operator is refused by name, and damaged bytes are refused before any value is read from them. Files
//! and manifests are left to the checkpoint.

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

    /// Appends a frame: the kind and the version of a state, the length and a checksum of the content, and what `content`
    /// writes.
    ///
    /// # Errors
    /// [`StateError`] if a value of the content cannot be written.
    pub fn frame(
        &mut self,
        kind: &str,
        version: u32,
        content: impl FnOnce(&mut Self) -> Result<(), StateError>,
    ) -> Result<(), StateError> {
        self.put(&(kind, version))?;
        let head = self.bytes.len();
        self.bytes.extend_from_slice(&[0; FRAME_HEAD_BYTES]);
        content(self)?;
        let written = head_of(&self.bytes[head + FRAME_HEAD_BYTES..]);
        self.bytes[head..head + FRAME_HEAD_BYTES].copy_from_slice(&written);
        Ok(())
    }

    /// Returns all bytes of operator state that were written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Number of bytes before the content of a frame that hold its length and its checksum.
const FRAME_HEAD_BYTES: usize = 16;

/// Greatest number of characters that an error shows of the kind in a frame.
const KIND_CHARS_MAX: usize = 64;

/// Returns the length and the checksum of the content of a frame, as they stand before it.
fn head_of(content: &[u8]) -> [u8; FRAME_HEAD_BYTES] {
    let mut head = [0; FRAME_HEAD_BYTES];
    head[..8].copy_from_slice(&(content.len() as u64).to_le_bytes());
    head[8..].copy_from_slice(&checksum_of(content).to_le_bytes());
    head
}

/// Returns the checksum of bytes, eight of them at a time. Each step is a bijection of the sum so far. So two contents of
/// the same length that differ in one word have two sums; others have the same one by chance, once in 2^64. The rule is
/// ours; the multiplier is that of splitmix64.
fn checksum_of(bytes: &[u8]) -> u64 {
    let step = |sum: u64, word: [u8; 8]| {
        let product = (sum ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        product ^ (product >> 32)
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(bytes.len() as u64, |sum, word| step(sum, *word));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    step(sum, last)
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

    /// Reads a frame that [`StateWriter::frame`] wrote: `content` reads all of its values.
    ///
    /// # Errors
    /// [`StateError::Read`] if the frame has another kind or version, or its bytes are not those that were written;
    /// [`StateError::Trailing`] if `content` leaves bytes of the frame over.
    pub fn frame<T>(
        &mut self,
        kind: &str,
        version: u32,
        content: impl FnOnce(&mut Self) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        let (found_kind, found_version): (String, u32) = self.take()?;
        if found_kind != kind || found_version != version {
            let found: String = found_kind.chars().take(KIND_CHARS_MAX).collect();
            return Err(self.wrong(format!(
                "this is the state of `{found}`, version {found_version}; `{kind}`, version {version} was expected"
            )));
        }
        let split = self.rest.split_first_chunk::<FRAME_HEAD_BYTES>().and_then(|(head, rest)| {
            let (length, _) = head.split_first_chunk::<8>()?;
            let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
            Some((head, rest.split_at_checked(length)?))
        });
        let Some((head, (inside, behind))) = split else {
            return Err(self.wrong(format!("the state of `{kind}` is cut off")));
        };
        if head_of(inside) != *head {
            return Err(self.wrong(format!("the state of `{kind}` is damaged: its checksum differs")));
        }
        let whole = self.whole;
        // Offsets in errors count from the start of the section, also inside of the frame.
        (self.whole, self.rest) = (&whole[..whole.len() - behind.len()], inside);
        let value = content(self)?;
        if !self.rest.is_empty() {
            return Err(StateError::Trailing { count: self.rest.len() });
        }
        (self.whole, self.rest) = (whole, behind);
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

    fn framed() -> Vec<u8> {
        let mut writer = StateWriter::default();
        writer.put(&7u64).unwrap();
        writer.frame("sort", 2, |state| state.frame("rows", 1, |state| state.put("a text"))).unwrap();
        writer.put(&8u64).unwrap();
        writer.into_bytes()
    }

    fn read(bytes: &[u8]) -> Result<(u64, String, u64), StateError> {
        let mut reader = StateReader::new(bytes);
        let first = reader.take()?;
        let text = reader.frame("sort", 2, |state| state.frame("rows", 1, StateReader::take))?;
        let last = reader.take()?;
        reader.finish()?;
        Ok((first, text, last))
    }

    #[test]
    fn a_frame_is_read_by_its_own_kind_only() {
        let bytes = framed();
        assert_eq!(read(&bytes), Ok((7, "a text".to_owned(), 8)));
        for (kind, version) in [("group", 2), ("sort", 1)] {
            let mut reader = StateReader::new(&bytes[1..]);
            let error = reader.frame(kind, version, |_| Ok(())).unwrap_err();
            let expected =
                format!("this is the state of `sort`, version 2; `{kind}`, version {version} was expected");
            assert_eq!(error, StateError::Read { offset: 6, reason: expected });
        }
        let mut reader = StateReader::new(&bytes[1..]);
        let outer = reader.frame("sort", 2, |_| Ok(()));
        assert!(matches!(outer, Err(StateError::Trailing { .. })), "the content was not read");
        let inner = StateReader::new(&bytes[1..])
            .frame("sort", 2, |state| state.frame("rows", 1, |state| Err::<(), _>(state.wrong("no"))));
        assert!(matches!(inner, Err(StateError::Read { offset, .. }) if offset > 20), "{inner:?}");
    }

    /// Every truncation and every flipped bit of a frame is an error.
    #[test]
    fn damaged_frames_are_refused() {
        let bytes = framed();
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "{length}");
        }
        // The values before and behind the frame are not under its checksum.
        for bit in 8..(bytes.len() - 1) * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(read(&damaged).is_err(), "bit {bit}");
        }
    }
}
