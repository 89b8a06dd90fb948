//! Left rows of a temporal join that have come out, each with its matched version, so that the pair can be
//! retracted.
//!
//! A row is often retracted long after the watermark has passed it: an order deleted on the next day still
//! has its old time. The versions of that time may be forgotten by then, or a version that came late may be
//! found instead, so the matched version is kept here. Rows are identified by their values alone: equal rows
//! have the same time and key, and so the same version.
//!
//! A row is kept until it is retracted, and no longer than the time to live.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::row::{RowConverter, Rows};
use hashbrown::HashMap;
use thalweg_model::{Clock, StateError, StateReader, StateWriter};

use crate::exec::kept::converter_of;
use crate::exec::operator::Outcome;
use crate::expression::arrow_error;
use crate::keys::{ROW_FORMAT, check_row_format};

/// Holds left rows by their values.
pub struct Met {
    ttl_ms: i64,
    clock: Arc<dyn Clock>,
    converter: RowConverter,
    rows: HashMap<Arc<[u8]>, MetRow, foldhash::fast::RandomState>,
    /// The times at which rows came out, in order. The entry of a retracted row stays here until it is due.
    written: VecDeque<(i64, Arc<[u8]>)>,
    now_ms: i64,
    bytes: usize,
}

struct MetRow {
    /// The version as bytes; `None` if the row came out with NULL.
    version: Option<Box<[u8]>>,
    /// How many equal rows came out.
    count: u64,
    written_ms: i64,
}

/// Bytes of a row beside its values and its version, and of an entry of `written`, which holds the values.
const ROW_BYTES: usize = size_of::<MetRow>() + 48;
const NOTE_BYTES: usize = size_of::<(i64, Arc<[u8]>)>();

impl Met {
    /// Keeps left rows of a schema for `ttl_ms` milliseconds by `clock`.
    pub fn new(ttl_ms: i64, clock: Arc<dyn Clock>, schema: &SchemaRef) -> Outcome<Self> {
        Ok(Met {
            ttl_ms,
            clock,
            converter: converter_of(schema).map_err(arrow_error)?,
            rows: HashMap::default(),
            written: VecDeque::new(),
            now_ms: i64::MIN,
            bytes: 0,
        })
    }

    /// Forgets the rows whose time to live is over. The clock is read once for each batch.
    pub fn forget(&mut self) {
        self.now_ms = i64::try_from(self.clock.now().as_nanos() / 1_000_000).unwrap_or(i64::MAX);
        let is_over = |written_ms: i64| written_ms.saturating_add(self.ttl_ms) <= self.now_ms;
        while let Some((written_ms, row)) = self.written.pop_front_if(|(written_ms, _)| is_over(*written_ms))
        {
            self.bytes -= row.len() + NOTE_BYTES;
            if self.rows.get(&row).is_some_and(|met| met.written_ms <= written_ms)
                && let Some(met) = self.rows.remove(&row)
            {
                self.bytes -= bytes_of(&met);
            }
        }
    }

    /// Converts left rows to bytes.
    pub fn bytes_of_rows(&self, columns: &[ArrayRef]) -> Outcome<Rows> {
        self.converter.convert_columns(columns).map_err(arrow_error)
    }

    /// Records that a row came out with a version.
    pub fn add(&mut self, row: &[u8], version: Option<&[u8]>) {
        if let Some(met) = self.rows.get_mut(row) {
            met.count += 1;
            return;
        }
        let row: Arc<[u8]> = Arc::from(row);
        let met = MetRow { version: version.map(Box::from), count: 1, written_ms: self.now_ms };
        self.bytes += bytes_of(&met) + row.len() + NOTE_BYTES;
        self.written.push_back((self.now_ms, Arc::clone(&row)));
        self.rows.insert(row, met);
    }

    /// Retracts a row and returns its version, which is `None` if the row came out with NULL. Returns `None`
    /// if no such row came out.
    pub fn take_back(&mut self, row: &[u8]) -> Option<Option<Box<[u8]>>> {
        let met = self.rows.get_mut(row)?;
        if met.count > 1 {
            met.count -= 1;
            return Some(met.version.clone());
        }
        let met = self.rows.remove(row)?;
        self.bytes -= bytes_of(&met);
        Some(met.version)
    }

    /// Returns the bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Saves the rows, in the order in which they came out.
    pub fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&ROW_FORMAT)?;
        let current = || {
            self.written.iter().filter_map(|(written_ms, row)| {
                let met = self.rows.get(row).filter(|met| met.written_ms == *written_ms)?;
                Some((*written_ms, row, met))
            })
        };
        state.put(&current().count())?;
        for (written_ms, row, met) in current() {
            state.put(&(written_ms, &**row, met.version.as_deref(), met.count))?;
        }
        Ok(())
    }

    /// Replaces the rows by the saved ones.
    pub fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        check_row_format(state)?;
        self.rows.clear();
        self.written.clear();
        self.bytes = 0;
        let count: usize = state.take()?;
        for _ in 0..count {
            let (written_ms, row, version, count): (i64, Vec<u8>, Option<Box<[u8]>>, u64) = state.take()?;
            let row: Arc<[u8]> = Arc::from(row);
            let met = MetRow { version, count, written_ms };
            self.bytes += bytes_of(&met) + row.len() + NOTE_BYTES;
            self.written.push_back((written_ms, Arc::clone(&row)));
            // A row that was retracted and came again within a millisecond has two entries.
            if let Some(before) = self.rows.insert(row, met) {
                self.bytes -= bytes_of(&before);
            }
        }
        Ok(())
    }
}

fn bytes_of(met: &MetRow) -> usize {
    met.version.as_ref().map_or(0, |version| version.len()) + ROW_BYTES
}
