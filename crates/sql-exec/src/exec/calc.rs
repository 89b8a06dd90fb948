//! Filter and projection. For grouping sets, each row that passes is projected once for each grouping set. A
//! *form* is one such projection: a list of expressions, one for each column of the output. A plain SELECT
//! has one form.
//!
//! Input      batches
//! Output     a batch of the rows that pass, or none; for several forms, one batch each
//! State      none
//! Emits      at once
//! Late       ignores event time
//! Watermark  forwarded unchanged
//! Cost       the cost of the expressions; each condition is evaluated only for the rows that passed those before it

use std::sync::Arc;

use arrow::array::{Array, BooleanArray};
use arrow::compute::{filter_record_batch, prep_null_mask_filter};
use arrow::datatypes::{Schema, SchemaRef};
use thalweg_model::{EventTime, StateError, StateReader, StateWriter};
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::expression::{Typed, arrow_error};
use thalweg_sql_functions::scratch::{self, RESULT_TOO_LONG};
use thalweg_sql_tables::batch::{Batch, batch_of};

use super::accounts::{Accounts, accounted};
use super::operator::{BatchOperator, Outcome};
use crate::plan::Column;

#[cfg(test)]
mod tests;

/// Returns the Arrow schema of batches with the given columns.
pub fn schema_of(columns: &[Column]) -> SchemaRef {
    // All fields are nullable in Arrow's schema. The planner knows which values may be NULL, and Arrow would
    // check each batch again.
    Arc::new(Schema::new(
        columns.iter().map(|column| column.of.field(&column.name, true)).collect::<Vec<_>>(),
    ))
}

/// Operator that filters rows and computes expressions.
pub struct Calc {
    name: String,
    conditions: Arc<[Typed]>,
    /// Projections of the output. Each is a list of expressions, one for each output column, and makes one
    /// output row from each row that passes the filter. There is one projection for each grouping set;
    /// without grouping sets, one.
    forms: Arc<[Vec<Typed>]>,
    schema: SchemaRef,
    accounts: Accounts,
    /// Input batches that are still to be evaluated; the batch to evaluate next is at the end of the list.
    left: Vec<Batch>,
    out: Vec<Batch>,
}

impl Calc {
    /// Creates a filter and projection, which keeps the rows for which all `conditions` hold. `forms` has one
    /// projection for each grouping set, or a single one; each projection has one expression for each of the
    /// output `columns`. Every kept row makes one output row by each projection.
    pub fn new(
        name: impl Into<String>,
        conditions: Vec<Typed>,
        forms: Vec<Vec<Typed>>,
        columns: &[Column],
    ) -> Self {
        Calc {
            name: name.into(),
            conditions: conditions.into(),
            forms: forms.into(),
            schema: schema_of(columns),
            accounts: Accounts::default(),
            left: Vec::new(),
            out: Vec::new(),
        }
    }

    /// Filters the rows of a batch and projects those that pass. Returns their number, and one output batch
    /// for each grouping set, or a single one without grouping sets. Returns no output batch if no row
    /// passes, unless the batch is the last of its source.
    fn evaluate(&self, batch: Batch) -> Outcome<Made> {
        let mut batch = batch;
        for condition in self.conditions.iter() {
            if batch.is_empty() {
                break;
            }
            let keep = condition.evaluate_booleans(&batch.rows)?;
            batch = filtered(batch, &keep)?;
        }
        let kept = batch.len();
        // The last batch of a source announces the end of the source, so it is forwarded even without rows.
        if batch.is_empty() && !batch.is_last() {
            return Ok(Made { kept, forms: Vec::new() });
        }
        let form = |form: &Vec<Typed>| {
            let columns =
                form.iter().map(|output| output.evaluate_column(&batch.rows)).collect::<Outcome<_>>()?;
            let rows = batch_of(&self.schema, columns, batch.len())?;
            Batch { rows, payment: None, ..batch.clone() }.paid(&self.accounts.allowance, RESULT_TOO_LONG)
        };
        let forms = self.forms.iter().rev().map(form).collect::<Outcome<_>>()?;
        Ok(Made { kept, forms })
    }
}

/// Result of filtering and projecting one batch.
struct Made {
    /// Number of rows of the batch that passed the filter.
    kept: usize,
    /// Output batches, one for each projection in `forms`, with the batch of the last projection first.
    forms: Vec<Batch>,
}

/// Returns the rows of a batch for which a condition holds, that is, is neither FALSE nor NULL.
pub(super) fn filtered(batch: Batch, keep: &BooleanArray) -> Outcome<Batch> {
    let keep = if keep.null_count() > 0 { prep_null_mask_filter(keep) } else { keep.clone() };
    let kept = keep.true_count();
    if kept == batch.len() {
        return Ok(batch);
    }
    let rows = filter_record_batch(&batch.rows, &keep).map_err(arrow_error)?;
    let kinds = batch.kinds.as_ref().map(|kinds| {
        kinds
            .iter()
            .enumerate()
            .filter(|(row, _)| keep.value(*row))
            .map(|(_, kind)| *kind)
            .collect::<Arc<[RowKind]>>()
    });
    Ok(Batch { rows, kinds, ..batch })
}

impl BatchOperator for Calc {
    fn name(&self) -> &str {
        &self.name
    }

    fn take(&mut self, batch: Batch, _late_by: EventTime) -> Outcome<()> {
        self.left.push(batch);
        Ok(())
    }

    /// Returns the next output batch. Only as many rows are evaluated at a time as there is memory for their
    /// results.
    fn next(&mut self) -> Outcome<Option<Batch>> {
        loop {
            if let Some(made) = self.out.pop() {
                return Ok(Some(made));
            }
            let Some(batch) = self.left.pop() else { return Ok(None) };
            let rows = batch.len();
            match scratch::within(&self.accounts.allowance, rows, || self.evaluate(batch.clone())) {
                Ok(Made { kept, forms }) => {
                    self.accounts.counts.read += rows as u64;
                    self.accounts.counts.forwarded += kept as u64;
                    self.accounts.counts.filtered += (rows - kept) as u64;
                    self.out = forms;
                }
                Err(error) if error.code == RESULT_TOO_LONG && rows > 1 => {
                    let (first, rest) = batch.split(rows / 2);
                    self.left.extend([rest, first]);
                }
                Err(error) => return Err(error),
            }
        }
    }

    accounted!();

    fn fork(&self) -> Box<dyn BatchOperator> {
        Box::new(Calc {
            name: self.name.clone(),
            conditions: Arc::clone(&self.conditions),
            forms: Arc::clone(&self.forms),
            schema: Arc::clone(&self.schema),
            accounts: self.accounts.of_copy(),
            left: Vec::new(),
            out: Vec::new(),
        })
    }

    /// Saves nothing, because a filter and projection has no state.
    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}
