//! Index of byte strings: numbers them in order of first appearance, and stores them end to end in one
//! buffer.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, StringArray};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow::datatypes::DataType;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use thalweg_model::{StateError, StateReader, StateWriter};

use super::whole::next_number;
use super::{growth_bytes, list_growth_bytes};
use crate::functions::EvaluationError;

/// Distinct byte strings, each with a number.
pub(super) struct BytesKeys {
    /// Hash table that finds the number of a byte string by its hash.
    table: HashTable<u32>,
    /// All byte strings end to end, in the order of their numbers; NULL takes no bytes.
    bytes: Vec<u8>,
    /// For each byte string, by its number, the position after its last byte in the buffer of all strings.
    ends: Vec<usize>,
    /// Hash of each byte string. Comparing hashes first is faster than comparing bytes, and a growing table
    /// need not hash again.
    hashes: Vec<u64>,
    /// Number of the key NULL, which is not in the hash table; `None` if NULL was never indexed.
    null: Option<u32>,
    /// Number of the byte string that was looked up last. The next look-up compares with that string first,
    /// because equal keys often follow each other.
    last: Option<u32>,
    hasher: FixedState,
}

impl BytesKeys {
    pub(super) fn new(seed: u64) -> Self {
        BytesKeys {
            table: HashTable::new(),
            bytes: Vec::new(),
            ends: Vec::new(),
            hashes: Vec::new(),
            null: None,
            last: None,
            hasher: FixedState::with_seed(seed),
        }
    }

    #[inline]
    pub(super) fn number(&mut self, key: &[u8]) -> u32 {
        if let Some(last) = self.last
            && self.key(last as usize) == key
        {
            return last;
        }
        let hash = self.hash(key);
        let number = self.find_hashed(hash, key).unwrap_or_else(|| self.insert(key, hash));
        self.last = Some(number);
        number
    }

    pub(super) fn null_number(&mut self) -> u32 {
        match self.null {
            Some(null) => null,
            None => {
                let null = self.push(&[], 0);
                self.null = Some(null);
                null
            }
        }
    }

    pub(super) fn find(&self, key: &[u8]) -> Option<u32> {
        self.find_hashed(self.hash(key), key)
    }

    pub(super) fn null(&self) -> Option<u32> {
        self.null
    }

    /// Returns the byte string with a number; empty for the number of NULL.
    #[inline]
    pub(super) fn key(&self, number: usize) -> &[u8] {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[start..self.ends[number]]
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the additional bytes that indexing `more` new keys may take for a moment, beyond the bytes
    /// held. The new keys have `more_bytes` bytes in all.
    pub(super) fn growth_bytes(&self, more: usize, more_bytes: usize) -> usize {
        let (table, bytes) = (&self.table, &self.bytes);
        growth_bytes((table.len(), table.capacity(), table.allocation_size()), size_of::<u32>(), more)
            + list_growth_bytes(bytes.len(), bytes.capacity(), 1, more_bytes)
            + list_growth_bytes(self.ends.len(), self.ends.capacity(), size_of::<usize>(), more)
            + list_growth_bytes(self.hashes.len(), self.hashes.capacity(), size_of::<u64>(), more)
    }

    /// Returns the number of bytes of all byte strings in the index together.
    pub(super) fn key_bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.table.allocation_size()
            + self.bytes.capacity()
            + self.ends.capacity() * size_of::<usize>()
            + self.hashes.capacity() * size_of::<u64>()
    }

    pub(super) fn clear(&mut self) {
        self.table.clear();
        self.bytes.clear();
        self.ends.clear();
        self.hashes.clear();
        self.null = None;
        self.last = None;
    }

    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.null)?;
        state.put(&self.ends)?;
        state.put(&self.bytes)
    }

    pub(super) fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let null: Option<u32> = state.take()?;
        let ends: Vec<usize> = state.take()?;
        let bytes: Vec<u8> = state.take()?;
        self.clear();
        let mut start = 0;
        for (place, &end) in ends.iter().enumerate() {
            let key = bytes.get(start..end).ok_or_else(|| state.wrong("a key ends before it begins"))?;
            let number = if null.is_some_and(|null| null as usize == place) {
                self.null_number()
            } else {
                self.number(key)
            };
            if number as usize != place {
                return Err(state.wrong("a key stands there twice"));
            }
            start = end;
        }
        if self.null != null || start != bytes.len() {
            return Err(state.wrong("there are more bytes, or fewer, than the keys have"));
        }
        Ok(())
    }

    #[inline]
    fn find_hashed(&self, hash: u64, key: &[u8]) -> Option<u32> {
        let is_it = |&number: &u32| self.hashes[number as usize] == hash && self.key(number as usize) == key;
        self.table.find(hash, is_it).copied()
    }

    #[cold]
    fn insert(&mut self, key: &[u8], hash: u64) -> u32 {
        let number = self.push(key, hash);
        let hashes = &self.hashes;
        self.table.insert_unique(hash, number, |&number| hashes[number as usize]);
        number
    }

    fn push(&mut self, key: &[u8], hash: u64) -> u32 {
        let number = next_number(self.ends.len());
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        self.hashes.push(hash);
        number
    }

    #[inline]
    fn hash(&self, key: &[u8]) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(key);
        // The length is hashed, too, because strings of zeros differ by their length only.
        hasher.write_usize(key.len());
        hasher.finish()
    }
}

/// Byte strings of a column of text or bytes, without the column's null mask.
pub struct ByteSlices {
    offsets: OffsetBuffer<i32>,
    data: Buffer,
}

impl ByteSlices {
    /// Reads the byte strings of a column of text or bytes.
    ///
    /// # Panics
    /// If the column holds neither text nor bytes.
    pub fn of(column: &ArrayRef) -> Self {
        match column.data_type() {
            DataType::Utf8 => {
                let text = column.as_string::<i32>();
                ByteSlices { offsets: text.offsets().clone(), data: text.values().clone() }
            }
            _ => {
                let bytes = column.as_binary::<i32>();
                ByteSlices { offsets: bytes.offsets().clone(), data: bytes.values().clone() }
            }
        }
    }

    /// Returns the bytes of a row; those of a NULL are arbitrary.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        &self.data[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

/// Builds an Arrow column of text or bytes, as the type `of` says.
///
/// # Errors
/// [`EvaluationError`] if the column has more than 2 GiB, or if `of` is text and the values are not UTF-8.
pub(crate) fn bytes_column<'a>(
    of: &DataType,
    values: impl Iterator<Item = Option<&'a [u8]>>,
) -> Result<ArrayRef, EvaluationError> {
    let mut offsets = vec![0i32];
    let mut data = Vec::new();
    let mut is_there = Vec::new();
    for value in values {
        data.extend_from_slice(value.unwrap_or_default());
        offsets.push(offset(data.len())?);
        is_there.push(value.is_some());
    }
    let nulls = Some(NullBuffer::from(is_there)).filter(|nulls| nulls.null_count() > 0);
    let (offsets, data) = (OffsetBuffer::new(offsets.into()), Buffer::from_vec(data));
    let column: Result<ArrayRef, _> = match of {
        DataType::Utf8 => StringArray::try_new(offsets, data, nulls).map(|column| Arc::new(column) as _),
        _ => BinaryArray::try_new(offsets, data, nulls).map(|column| Arc::new(column) as _),
    };
    column.map_err(|error| EvaluationError { code: "EVALUATION", message: error.to_string() })
}

/// Converts a position in the bytes of an Arrow column to an offset of 32 bits.
pub(crate) fn offset(end: usize) -> Result<i32, EvaluationError> {
    i32::try_from(end).map_err(|_| EvaluationError {
        code: "RESULT_TOO_LARGE",
        message: format!(
            "a column of {end} bytes or items: at most 2147483647 fit, so group by more or collect less"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The buffer with the text of all keys and the list of their ends grow at different moments. The
    /// estimate of the memory for one more key covers both.
    #[test]
    fn growth_of_texts_is_foreseen() {
        let mut index = BytesKeys::new(7);
        let lists = |index: &BytesKeys| {
            [index.bytes.capacity(), index.ends.capacity() * 8, index.hashes.capacity() * 8]
        };
        for key in 0..50_000 {
            let text = format!("{:0>1$}", key, key % 40);
            let (before, said) = (lists(&index), index.growth_bytes(1, text.len()));
            index.number(text.as_bytes());
            let grown = lists(&index).into_iter().zip(before).filter(|(after, before)| after > before);
            let most: usize = grown.map(|(after, _)| after).sum();
            assert!(most <= said, "{key}: {most} bytes and not {said}");
        }
    }
}
