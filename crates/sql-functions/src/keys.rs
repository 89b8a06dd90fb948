//! Groups by key: turns the key columns of a batch into group numbers, under which accumulators keep the states of
//! the groups.
//!
//! Each distinct key has a number, from 0 on, in order of first appearance. Keys are equal as in Flink's GROUP BY:
//! NULL equals NULL, text is compared by its bytes, and floats by their bits. So -0.0 and 0.0 are two keys, and so
//! are NaNs with different payloads (Flink, `BinaryRowData.equals`).
//!
//! | key columns | how keys are held |
//! |---|---|
//! | none | one group, once a row was seen |
//! | one that is a whole number: BOOLEAN, integers, dates, times, timestamps, intervals | as i64 (`keys/whole.rs`) |
//! | one of text or bytes | end to end in one buffer (`keys/bytes.rs`) |
//! | anything else | as comparable rows (arrow's `RowConverter`), end to end in one buffer |
//!
//! Single keys cannot be removed: an index grows until it is [cleared](KeyIndex::clear).

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::LazyLock;

use arrow::array::{Array, ArrayRef};
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, Rows, SortField};
use thalweg_model::{StateError, StateReader, StateWriter};

use crate::functions::EvaluationError;
use crate::types::SqlType;

mod bytes;
mod groups;
mod numbers;
mod table;
#[cfg(test)]
mod tests;
mod whole;

pub use bytes::ByteSlices;
pub(crate) use bytes::{bytes_column, offset};
pub use groups::key_hashes;
pub(crate) use numbers::whole_column;
pub use numbers::{is_whole, whole_numbers};
pub use table::{NumberTable, PROBED};
pub use whole::hash_of;

use bytes::BytesKeys;
use whole::WholeKeys;

/// Returns the bytes that the memory allocator takes for an allocation of `bytes`: it adds 8 bytes and rounds
/// up to a multiple of 16, at least 32; 0 for 0 bytes.
#[inline]
pub fn heap_bytes(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { (bytes + 8).next_multiple_of(16).max(32) }
}

/// Returns the bytes that the memory allocator takes for `bytes` shared bytes, an `Arc<[u8]>`, which holds two counters
/// before them.
#[inline]
pub fn shared_heap_bytes(bytes: usize) -> usize {
    heap_bytes(2 * size_of::<usize>() + bytes)
}

/// Returns the bytes that a hash table takes for a moment, beyond those it holds, while it grows for `more`
/// entries of `entry_bytes` bytes each. They are the bytes of the final table. If the table doubles more than
/// once, the bytes of the table before the last doubling are added, because its entries are copied. Returns 0
/// if the entries fit.
///
/// After entries were removed, `capacity` is lower than the size of the table suggests: the places of removed
/// entries cannot be used until the table is copied, and then it doubles.
pub fn growth_bytes(
    (len, capacity, held_bytes): (usize, usize, usize),
    entry_bytes: usize,
    more: usize,
) -> usize {
    let entries = len.saturating_add(more);
    if entries <= capacity {
        return 0;
    }
    // A hash table of the crate `hashbrown` uses at most 7 of 8 places. It has one control byte for each
    // place, and one more group of 16 control bytes.
    let table_bytes = |entries: usize| {
        let places = if entries < 8 { 8 } else { entries.saturating_mul(8) / 7 };
        places
            .checked_next_power_of_two()
            .unwrap_or(usize::MAX)
            .saturating_mul(entry_bytes + 1)
            .saturating_add(16)
    };
    let larger_bytes = table_bytes(entries).max(held_bytes.saturating_mul(2));
    larger_bytes.saturating_add((larger_bytes / 2 + 16).saturating_sub(held_bytes))
}

/// Returns the bytes that a vector takes for a moment, beyond those it holds, while it grows for `more` items
/// of `item_bytes` bytes each, a few at a time. Its last allocation has room for up to twice the items. While
/// the items are copied, the allocation before exists, too, with room for at most the items. Returns 0 if the
/// items fit.
pub fn list_growth_bytes(len: usize, capacity: usize, item_bytes: usize, more: usize) -> usize {
    let items = len.saturating_add(more);
    if items <= capacity {
        return 0;
    }
    let largest = items.max(4).saturating_mul(2).saturating_add(items - capacity);
    largest.saturating_mul(item_bytes)
}

/// Version number that is written before saved comparable rows. Arrow may change their form between versions,
/// and then saved rows cannot be read back.
pub const ROW_FORMAT: u32 = 59;

/// Returns the seed of the hash tables of this process. The seed is drawn anew for each process, so that
/// senders of rows cannot know which keys collide. Results of queries do not depend on it.
///
/// If a seed spreads consecutive whole numbers badly over a hash table, a look-up takes twice as long. Then
/// another seed is drawn, up to [`SEEDS_DRAWN_MAX`] seeds in all. Four of five seeds are left out this way,
/// and about 10^18 seeds remain for senders to guess.
pub fn process_seed() -> u64 {
    static SEED: LazyLock<u64> = LazyLock::new(|| {
        let drawn = || RandomState::new().hash_one(0_u64);
        (1..SEEDS_DRAWN_MAX).map(|_| drawn()).find(|seed| whole::spreads_well(*seed)).unwrap_or_else(drawn)
    });
    *SEED
}

/// Greatest number of seeds for hash tables that a process draws until one spreads keys well. One seed in
/// five does, so the last draw is needed once in a million processes.
const SEEDS_DRAWN_MAX: usize = 64;

/// Greatest number of keys in one index, because key numbers have 32 bits. A full index holds about 100 GiB.
pub const KEYS_MAX: usize = u32::MAX as usize;

/// Creates a converter from columns of the given types to comparable rows. The types must come from
/// [`SqlType::arrow`].
///
/// # Panics
/// If arrow has no comparable rows of one of the types.
pub fn row_converter(types: impl IntoIterator<Item = DataType>) -> RowConverter {
    let fields = types.into_iter().map(SortField::new).collect();
    // A test of this module checks that arrow has comparable rows of each SQL type.
    RowConverter::new(fields).expect("arrow has comparable rows of every type that `SqlType::arrow` makes")
}

/// Converts columns to comparable rows. The columns must have the types of the converter and equal lengths.
///
/// # Panics
/// If the columns are of other types or of several lengths.
pub fn rows_of(converter: &RowConverter, columns: &[ArrayRef]) -> Rows {
    converter
        .convert_columns(columns)
        .expect("binding casts arguments and keys to the types that the converter was made for")
}

/// Index of the distinct keys of rows: gives each key a number, from 0 on, in order of first appearance.
pub struct KeyIndex {
    types: Vec<DataType>,
    keys: Keys,
}

/// Storage of the distinct keys, which depends on the types of the key columns.
enum Keys {
    /// There is no key column, so all rows are in one group.
    None { is_seen: bool },
    /// The key is one column of whole numbers.
    Whole(WholeKeys),
    /// The key is one column of text or bytes.
    Bytes(BytesKeys),
    /// All other keys are stored as comparable rows of arrow's `RowConverter`. The rows of the last batch are
    /// kept to reuse their memory.
    Rows { converter: RowConverter, batch: Rows, keys: BytesKeys },
}

impl KeyIndex {
    /// Creates an empty index of keys. The seed prevents senders of rows from choosing keys whose hashes
    /// collide.
    pub fn new(key_types: &[SqlType], hash_seed: u64) -> Self {
        let types: Vec<DataType> = key_types.iter().map(SqlType::arrow).collect();
        let keys = match &types[..] {
            [] => Keys::None { is_seen: false },
            [one] if is_whole(one) => Keys::Whole(WholeKeys::new(hash_seed)),
            [DataType::Utf8 | DataType::Binary] => Keys::Bytes(BytesKeys::new(hash_seed)),
            _ => {
                let converter = row_converter(types.iter().cloned());
                let batch = converter.empty_rows(0, 0);
                Keys::Rows { converter, batch, keys: BytesKeys::new(hash_seed) }
            }
        };
        KeyIndex { types, keys }
    }

    /// Checks that the index has numbers for all rows of a batch of `rows` rows, even if each has a new key.
    /// Must be called before [`index`](Self::index).
    ///
    /// # Errors
    /// [`EvaluationError`] if there would be more than [`KEYS_MAX`] keys.
    pub fn check_room(&self, rows: usize) -> Result<(), EvaluationError> {
        match self.len().checked_add(rows) {
            Some(keys) if keys <= KEYS_MAX => Ok(()),
            _ => Err(EvaluationError {
                code: "STATE_LIMIT",
                message: format!(
                    "{} keys and {rows} more rows may be more than {KEYS_MAX} keys, which is the most that one operator \
                     tells apart: group by fewer keys, or let them go by a window or a time to live",
                    self.len()
                ),
            }),
        }
    }

    /// Writes the number of each row's key into `groups`, which is cleared first; new keys get the next
    /// numbers.
    ///
    /// # Panics
    /// If the columns are not of the types for which the index was made. Also if there are more than
    /// [`KEYS_MAX`] keys because [`check_room`](Self::check_room) was not heeded.
    pub fn index(&mut self, keys: &[ArrayRef], rows: usize, groups: &mut Vec<u32>) {
        self.check(keys, rows);
        groups.clear();
        groups.reserve(rows);
        match &mut self.keys {
            Keys::None { is_seen } => {
                *is_seen |= rows > 0;
                groups.resize(rows, 0);
            }
            Keys::Whole(index) => {
                let values = whole_numbers(&keys[0]);
                match nulls(&keys[0]) {
                    None => index.index(&values, groups),
                    Some(nulls) => index.index_nullable(&values, |row| nulls.is_null(row), groups),
                }
            }
            Keys::Bytes(index) => {
                let slices = ByteSlices::of(&keys[0]);
                match nulls(&keys[0]) {
                    None => groups.extend((0..rows).map(|row| index.number(slices.get(row)))),
                    Some(nulls) => groups.extend((0..rows).map(|row| match nulls.is_null(row) {
                        true => index.null_number(),
                        false => index.number(slices.get(row)),
                    })),
                }
            }
            Keys::Rows { converter, batch, keys: index } => {
                batch.clear();
                converter.append(batch, keys).expect(
                    "`check` has seen that key columns are of the converter's types and of one length",
                );
                groups.extend(batch.iter().map(|row| index.number(row.data())));
            }
        }
    }

    /// Writes the number of each row's key into `groups`, which is cleared first; `None` for keys that are
    /// not in the index.
    ///
    /// # Panics
    /// If the columns are not of the types for which the index was made.
    pub fn find(&self, keys: &[ArrayRef], rows: usize, groups: &mut Vec<Option<u32>>) {
        self.check(keys, rows);
        groups.clear();
        match &self.keys {
            Keys::None { is_seen } => groups.resize(rows, is_seen.then_some(0)),
            Keys::Whole(index) => {
                let (values, nulls) = (whole_numbers(&keys[0]), nulls(&keys[0]));
                groups.extend(values.iter().enumerate().map(|(row, &value)| match is_null(&nulls, row) {
                    true => index.null(),
                    false => index.find(value),
                }));
            }
            Keys::Bytes(index) => {
                let (slices, nulls) = (ByteSlices::of(&keys[0]), nulls(&keys[0]));
                groups.extend((0..rows).map(|row| match is_null(&nulls, row) {
                    true => index.null(),
                    false => index.find(slices.get(row)),
                }));
            }
            Keys::Rows { converter, keys: index, .. } => {
                let batch = rows_of(converter, keys);
                groups.extend(batch.iter().map(|row| index.find(row.data())));
            }
        }
    }

    /// Returns the number of distinct keys in the index.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.keys {
            Keys::None { is_seen } => usize::from(*is_seen),
            Keys::Whole(index) => index.len(),
            Keys::Bytes(index) | Keys::Rows { keys: index, .. } => index.len(),
        }
    }

    /// Returns whether the index has no keys.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the additional bytes that indexing `rows` rows may take for a moment, beyond the bytes held.
    /// The key columns of the rows have at most `value_bytes` bytes.
    pub fn growth_bytes(&self, rows: usize, value_bytes: usize) -> usize {
        match &self.keys {
            Keys::None { .. } => 0,
            Keys::Whole(index) => index.growth_bytes(rows),
            Keys::Bytes(index) => index.growth_bytes(rows, value_bytes),
            // Arrow's comparable rows put a byte before each value. They cut text into blocks of at least 8
            // bytes, pad the last block, and put a byte after each block.
            Keys::Rows { keys, .. } => {
                keys.growth_bytes(rows, 2 * value_bytes + 16 * rows * self.types.len())
            }
        }
    }

    /// Returns the additional bytes that indexing all keys of `other` may take for a moment, beyond the bytes
    /// held. `other` is an index over columns of the same types.
    pub fn merge_bytes(&self, other: &KeyIndex) -> usize {
        match (&self.keys, &other.keys) {
            (Keys::Bytes(own), Keys::Bytes(other))
            | (Keys::Rows { keys: own, .. }, Keys::Rows { keys: other, .. }) => {
                own.growth_bytes(other.len(), other.key_bytes())
            }
            _ => self.growth_bytes(other.len(), 0),
        }
    }

    /// Returns the heap bytes that the index of keys holds.
    pub fn bytes(&self) -> usize {
        match &self.keys {
            Keys::None { .. } => 0,
            Keys::Whole(index) => index.held_bytes(),
            Keys::Bytes(index) => index.held_bytes(),
            Keys::Rows { batch, keys, .. } => batch.size() + keys.held_bytes(),
        }
    }

    /// Removes all keys from the index, and keeps the memory for the next keys.
    pub fn clear(&mut self) {
        match &mut self.keys {
            Keys::None { is_seen } => *is_seen = false,
            Keys::Whole(index) => index.clear(),
            Keys::Bytes(index) => index.clear(),
            Keys::Rows { batch, keys, .. } => {
                batch.clear();
                keys.clear();
            }
        }
    }

    /// Returns the keys with the numbers `range` as columns, in number order.
    ///
    /// # Errors
    /// [`EvaluationError`] if the keys have more than 2 GiB of text; ask for fewer keys.
    pub fn columns(&self, range: Range<usize>) -> Result<Vec<ArrayRef>, EvaluationError> {
        self.gather(range)
    }

    /// Returns the keys with the given numbers as columns, in the given order; a number may occur more than
    /// once.
    ///
    /// # Errors
    /// [`EvaluationError`] if the keys have more than 2 GiB of text; ask for fewer keys.
    pub fn columns_of(&self, groups: &[u32]) -> Result<Vec<ArrayRef>, EvaluationError> {
        self.gather(groups.iter().map(|&group| group as usize))
    }

    fn gather(
        &self,
        groups: impl ExactSizeIterator<Item = usize> + Clone,
    ) -> Result<Vec<ArrayRef>, EvaluationError> {
        Ok(match &self.keys {
            Keys::None { .. } => Vec::new(),
            Keys::Whole(index) => {
                let null = index.null().map(|null| null as usize);
                let nulls =
                    null.map(|null| groups.clone().map(|group| group != null).collect::<NullBuffer>());
                let numbers = groups.map(|group| index.key(group)).collect();
                vec![whole_column(&self.types[0], numbers, nulls)]
            }
            Keys::Bytes(index) => {
                let null = index.null().map(|null| null as usize);
                let keys = groups.map(|group| (Some(group) != null).then(|| index.key(group)));
                vec![bytes_column(&self.types[0], keys)?]
            }
            Keys::Rows { converter, keys: index, .. } => {
                let parser = converter.parser();
                converter
                    .convert_rows(groups.map(|group| parser.parse(index.key(group))))
                    .map_err(|error| EvaluationError { code: "EVALUATION", message: error.to_string() })?
            }
        })
    }

    /// Saves all keys of the index, in number order.
    ///
    /// # Errors
    /// [`StateError`] if the keys cannot be written.
    pub fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        match &self.keys {
            Keys::None { is_seen } => state.put(is_seen),
            Keys::Whole(index) => index.save(state),
            Keys::Bytes(index) => index.save(state),
            Keys::Rows { keys, .. } => {
                state.put(&ROW_FORMAT)?;
                keys.save(state)
            }
        }
    }

    /// Replaces all keys of the index by those that [`save`](Self::save) wrote, with their numbers.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not saved keys of the same types as in this index.
    pub fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        match &mut self.keys {
            Keys::None { is_seen } => *is_seen = state.take()?,
            Keys::Whole(index) => index.load(state)?,
            Keys::Bytes(index) => index.load(state)?,
            Keys::Rows { keys, .. } => {
                check_row_format(state)?;
                keys.load(state)?;
            }
        }
        Ok(())
    }

    fn check(&self, keys: &[ArrayRef], rows: usize) {
        assert_eq!(keys.len(), self.types.len(), "an index is given as many columns as it was made for");
        for (column, of) in keys.iter().zip(&self.types) {
            assert_eq!(column.len(), rows, "every key column has a value for each row");
            assert!(
                column.data_type().equals_datatype(of),
                "a key column is {} and not {of}",
                column.data_type()
            );
        }
    }
}

/// Checks the version number that stands before saved comparable rows.
///
/// # Errors
/// [`StateError`] if the rows are in the form of another version of arrow.
pub fn check_row_format(state: &mut StateReader<'_>) -> Result<(), StateError> {
    match state.take::<u32>()? {
        ROW_FORMAT => Ok(()),
        other => {
            Err(state.wrong(format!("rows are in the form of arrow {other}, this is arrow {ROW_FORMAT}")))
        }
    }
}

/// Returns the null mask of a column; `None` if no value is NULL.
fn nulls(column: &ArrayRef) -> Option<NullBuffer> {
    column.nulls().filter(|nulls| nulls.null_count() > 0).cloned()
}

fn is_null(nulls: &Option<NullBuffer>, row: usize) -> bool {
    nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
}
