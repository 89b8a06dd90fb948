//! Lookup join: each row matches the rows of its key in a table which is read completely before.
//!
//! Input      batches of a left side, and of a right side that ends
//! Output     pairs; a left join also left rows without a match
//! State      the table by key; left rows that came before the table was complete
//! Emits      at once, when the table is complete; rows stay in the order in which they came
//! Late       ignores event time
//! Watermark  forwarded unchanged; the lesser of both sides: none before the table ends, and then the left's
//! Cost       one look-up per left row
//! Source     Flink, "Lookup Join" and "Processing Time Temporal Join"
//!
//! The table is complete when each of its sources has sent its last batch ([`Batch::is_last`]). If the last
//! watermark comes before that, the query was stopped while it read the table. Left rows that wait then fail
//! the query, because nothing tells whether they have a match.
//!
//! Differs from Flink: the table is read once, when the query starts, so changes of the table are seen at the
//! next start. Flink looks each row up in the external system. Left rows that came before the table was
//! complete are never late.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::compute::concat_batches;
use arrow::record_batch::RecordBatch;
use thalweg_model::{EventTime, StateError, StateReader, StateWriter};
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::functions::EvaluationError;
use thalweg_sql_tables::batch::Batch;

use super::super::accounts::{Accounts, accounted};
use super::shape::Shape;
use super::table::{Probe, Table};
use super::{JoinOperator, Side, refuse_changes};
use crate::exec::kept::{load_rows, save_rows};
use crate::exec::operator::Outcome;
use crate::exec::order::bytes_of;

/// Lookup join, which joins left rows with a table that is read completely before.
pub struct LookupJoin {
    shape: Shape,
    /// Number of sources of the looked-up table that have not ended.
    open_sources: usize,
    /// Rows of the looked-up table that have been read so far.
    coming: Vec<RecordBatch>,
    table: Option<Table>,
    waiting: VecDeque<Batch>,
    probing: Option<(Probe, Option<Arc<[RowKind]>>)>,
    /// Bytes in memory of the rows in `coming`, the table rows read so far, and in `waiting`, the left rows
    /// that wait for the rest of the table.
    bytes: usize,
    accounts: Accounts,
}

impl LookupJoin {
    /// Creates a lookup join with a table that is read by `sources` sources.
    pub fn new(shape: Shape, sources: usize) -> Self {
        LookupJoin {
            shape,
            open_sources: sources.max(1),
            coming: Vec::new(),
            table: None,
            waiting: VecDeque::new(),
            probing: None,
            bytes: 0,
            accounts: Accounts::default(),
        }
    }

    fn build(&mut self) -> Outcome<()> {
        let rows = concat_batches(&self.shape.inputs[1], &self.coming).map_err(arrow_error)?;
        self.bytes -= self.coming.drain(..).map(|rows| bytes_of(&rows)).sum::<usize>();
        self.table = Some(Table::new(&self.shape, rows)?);
        self.note_bytes();
        Ok(())
    }

    fn note_bytes(&mut self) {
        let table = self.table.as_ref().map_or(0, Table::bytes);
        let probing = self.probing.as_ref().map_or(0, |(probe, _)| probe.bytes());
        self.accounts.hold(self.bytes + table + probing);
    }
}

impl JoinOperator for LookupJoin {
    fn name(&self) -> &str {
        "lookup join"
    }

    fn take(&mut self, side: Side, batch: Batch, _late_by: EventTime) -> Outcome<()> {
        self.accounts.counts.read += batch.len() as u64;
        if side == Side::Left {
            self.accounts.counts.forwarded += batch.len() as u64;
            self.bytes += bytes_of(&batch.rows);
            // The memory of a long batch is no longer reserved by the batch, because the state of the join
            // accounts for the waiting rows from now on.
            self.waiting.push_back(Batch { payment: None, ..batch });
            self.note_bytes();
            return Ok(());
        }
        refuse_changes("a lookup join", &batch)?;
        self.accounts.counts.folded += batch.len() as u64;
        // A source that goes on from a saved position at its end may tell its end again.
        if self.table.is_some() && batch.is_empty() && batch.is_last() {
            return Ok(());
        }
        if self.table.is_some() {
            let message = "the table of a lookup join went on after its end".to_owned();
            return Err(EvaluationError { code: "EVALUATION", message });
        }
        let is_last = batch.is_last();
        if !batch.is_empty() {
            self.bytes += bytes_of(&batch.rows);
            self.coming.push(batch.rows);
        }
        self.note_bytes();
        if is_last {
            self.open_sources = self.open_sources.saturating_sub(1);
            if self.open_sources == 0 {
                self.build()?;
            }
        }
        Ok(())
    }

    fn is_waiting(&self) -> bool {
        self.table.is_none()
    }

    fn advance(&mut self, watermark: EventTime) -> Outcome<()> {
        let waiting: usize = self.waiting.iter().map(Batch::len).sum();
        if watermark < EventTime::MAX || self.table.is_some() || waiting == 0 {
            return Ok(());
        }
        let message = format!(
            "stopped before the table of a look-up join was read whole: {waiting} rows that wait for it are not joined"
        );
        Err(EvaluationError { code: "STOPPED_EARLY", message })
    }

    fn next(&mut self) -> Outcome<Option<Batch>> {
        let Some(table) = &self.table else { return Ok(None) };
        loop {
            if self.probing.is_none() {
                let Some(batch) = self.waiting.pop_front() else {
                    self.note_bytes();
                    return Ok(None);
                };
                self.bytes -= bytes_of(&batch.rows);
                self.probing = Some((Probe::new(&self.shape, table, batch.rows)?, batch.kinds));
            }
            let Some((probe, kinds)) = &mut self.probing else { return Ok(None) };
            match probe.next(&self.shape, table, None)? {
                Some(piece) => {
                    let kind =
                        |kinds: &Arc<[RowKind]>| piece.lefts.iter().map(|row| kinds[*row as usize]).collect();
                    let kinds = kinds.as_ref().map(kind);
                    return Ok(Some(Batch { kinds, ..Batch::new(piece.rows) }));
                }
                None => self.probing = None,
            }
        }
    }

    accounted!();

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&(self.open_sources, self.table.is_some()))?;
        let coming = concat_batches(&self.shape.inputs[1], &self.coming);
        let coming = coming.map_err(|error| StateError::Write(error.to_string()))?;
        save_rows(self.table.as_ref().map_or(&coming, |table| &table.rows), state)?;
        state.put(&self.waiting.len())?;
        for batch in &self.waiting {
            save_rows(&batch.rows, state)?;
            state.put(&batch.kinds.as_ref().map(|kinds| kinds.to_vec()))?;
        }
        Ok(())
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let (open_sources, is_built): (usize, bool) = state.take()?;
        self.open_sources = open_sources;
        let rows = load_rows(&self.shape.inputs[1], state)?;
        self.bytes = bytes_of(&rows);
        self.coming = vec![rows];
        self.table = None;
        self.waiting.clear();
        let waiting: usize = state.take()?;
        for _ in 0..waiting {
            let rows = load_rows(&self.shape.inputs[0], state)?;
            let kinds: Option<Vec<RowKind>> = state.take()?;
            if kinds.as_ref().is_some_and(|kinds| kinds.len() != rows.num_rows()) {
                return Err(state.wrong("not every row that waits says what becomes of it"));
            }
            self.bytes += bytes_of(&rows);
            self.waiting.push_back(Batch { kinds: kinds.map(Arc::from), ..Batch::new(rows) });
        }
        if is_built {
            self.build().map_err(|error| state.wrong(error.message))?;
        }
        self.note_bytes();
        Ok(())
    }
}
