//! Left rows of a temporal join that came out, with the version that each met, so that the pair can be taken back.
//!
//! A row is often taken back long after the watermark has passed it: an order that is deleted the next day still has its old
//! time. The versions of that time may be forgotten by then, and a version that came late may be found instead, so the version
//! is remembered here. Rows are told apart by their values alone: equal rows have one time and one key, and so one version.
//!
//! A row is remembered until it is taken back, and no longer than the time to live.

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

/// Left rows by their values.
pub struct Met {
    ttl_ms: i64,
    clock: Arc<dyn Clock>,
    converter: RowConverter,
    rows: HashMap<Arc<[u8]>, MetRow, foldhash::fast::RandomState>,
    /// When rows came out, in order. A row that was taken back leaves its entry here until it is due.
    written: VecDeque<(i64, Arc<[u8]>)>,
    now_ms: i64,
    bytes: usize,
}

struct MetRow {
    /// The version as bytes; none if the row came out with NULL.
    version: Option<Box<[u8]>>,
    /// How many equal rows came out.
    count: u64,
    written_ms: i64,
}

/// Bytes of a row beside its values and its version, and of an entry of the times, which holds the values.
const ROW_BYTES: usize = size_of::<MetRow>() + 48;
const NOTE_BYTES: usize = size_of::<(i64, Arc<[u8]>)>();

impl Met {
    /// Remembers left rows of a schema for so many milliseconds, by that clock.
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

    /// Left rows as bytes.
    pub fn bytes_of_rows(&self, columns: &[ArrayRef]) -> Outcome<Rows> {
        self.converter.convert_columns(columns).map_err(arrow_error)
    }

    /// Notes that a row came out with a version.
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

    /// Takes a row back: the version that it met, and none if it came out with NULL. Without a result no such row came out.
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

    /// Bytes that are held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes down the rows, in the order in which they came out.
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

    /// Replaces the rows by those that were written down.
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
            // A row that was taken back and came again within a millisecond stands here twice.
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
