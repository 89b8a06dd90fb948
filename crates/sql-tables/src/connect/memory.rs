//! Sources and sinks in memory, for tests.

mod collect;

use std::sync::Arc;

use arrow::datatypes::Schema;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use thalweg_model::{Fault, ProcessingTime, SourceStatus, StateError, StateReader, StateWriter};
use thalweg_sql_formats::RowKind;

pub use self::collect::{Collect, Collected};
use crate::scan::rows::{PolledRows, RowSource, Rows};
use crate::table::{Table, TableColumnKind};

/// A source that gives rows from memory, for tests.
pub struct Given {
    batches: Arc<Vec<RecordBatch>>,
    /// The indexes of the requested columns among the columns of the rows in memory.
    columns: Vec<usize>,
    /// The kind of change of each row, over all batches; `None` if all rows are inserts.
    kinds: Option<Arc<Vec<RowKind>>>,
    /// The index of the batch from which rows are returned next, and of the first row in it that was not
    /// returned.
    next: (usize, usize),
}

impl Given {
    /// Creates a source of a table. `batches` hold the physical columns of the table; the source gives the
    /// table columns with the indexes `wanted`.
    pub fn new(
        table: &Table,
        wanted: &[usize],
        batches: Arc<Vec<RecordBatch>>,
        kinds: Option<Arc<Vec<RowKind>>>,
    ) -> Self {
        let physical: Vec<usize> = (0..table.columns.len())
            .filter(|place| matches!(table.columns[*place].kind, TableColumnKind::Physical))
            .collect();
        let columns = wanted
            .iter()
            .map(|place| physical.iter().position(|known| known == place).unwrap_or_default())
            .collect();
        Given { batches, columns, kinds, next: (0, 0) }
    }
}

impl RowSource for Given {
    fn poll(&mut self, _now: ProcessingTime, rows_max: usize) -> Result<PolledRows, Fault> {
        let (batch, row) = self.next;
        let Some(rows) = self.batches.get(batch) else {
            return Ok(PolledRows { rows: None, status: SourceStatus::Ended });
        };
        let count = rows_max.min(rows.num_rows() - row);
        self.next = if row + count < rows.num_rows() { (batch, row + count) } else { (batch + 1, 0) };
        let fields: Vec<_> =
            self.columns.iter().map(|place| Arc::new(rows.schema().field(*place).clone())).collect();
        let columns = self.columns.iter().map(|place| rows.column(*place).slice(row, count)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let piece = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options).ok();
        let before: usize = self.batches[..batch].iter().map(RecordBatch::num_rows).sum();
        let first = before + row;
        let kinds = self.kinds.as_ref().and_then(|kinds| kinds.get(first..first + count)).map(<[_]>::to_vec);
        let is_over = self.next.0 >= self.batches.len();
        let status = if is_over { SourceStatus::Ended } else { SourceStatus::Ready };
        Ok(PolledRows { rows: piece.map(|columns| Rows { columns, kinds }), status })
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.next)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let (batch, row): (usize, usize) = state.take()?;
        let is_there = match self.batches.get(batch) {
            Some(rows) => row == 0 || row < rows.num_rows(),
            None => (batch, row) == (self.batches.len(), 0),
        };
        if !is_there {
            return Err(state.wrong(format!("there is no row {row} of batch {batch}")));
        }
        self.next = (batch, row);
        Ok(())
    }
}
