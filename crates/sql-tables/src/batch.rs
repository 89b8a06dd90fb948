//! Batches: the data between the operators of a SQL query. A batch holds a few thousand rows as columns.

use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use thalweg_model::{Allowance, EventTime, Payment, Weighed};
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::functions::EvaluationError;
use thalweg_sql_functions::scratch::value_bytes;
use thalweg_sql_functions::types::relabelled;

use crate::error::cut;

/// Greatest number of rows of a batch, the unit of data between the operators of a SQL query.
pub const BATCH_ROWS_MAX: usize = 4_096;

/// Greatest number of bytes of a batch on an edge, unless a single row has more. A block of an edge holds
/// four batches, so it has at most 1 MiB.
pub const BATCH_BYTES_MAX: usize = 256 << 10;

/// Greatest number of bytes of a batch that is not charged to the memory budget: 1 MiB. Few such batches exist at a
/// time.
const UNPAID_BYTES_MAX: usize = 1 << 20;

/// Greatest number of empty batches that are sent after one batch with long rows: 31. An edge holds at most 32
/// batches, so a long batch and this many empty ones fill it.
const FILLERS_MAX: usize = 31;

/// Row counts of an operator over batches that has received no row and emitted none.
pub const NOTHING_WEIGHED: Weighed = Weighed { taken: 0, put: 0, most: BATCH_ROWS_MAX as u32 };

/// A batch of rows as Arrow columns, with the kind of change of each row and the watermark that follows the
/// rows.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The rows of the batch as Arrow columns.
    pub rows: RecordBatch,
    /// Change kind of each row; `None` if all rows are inserts.
    pub kinds: Option<Arc<[RowKind]>>,
    /// Watermark that follows these rows directly; `None` if no watermark follows here. [`EventTime::MAX`]
    /// means that these are the last rows of their source. A join that first reads a whole table waits for
    /// this value, so sources of bounded tables end with it.
    pub watermark: Option<EventTime>,
    /// Reason why the query must fail; a batch with a failure has no rows.
    pub failure: Option<Arc<Failure>>,
    /// Share of the memory budget that the values of the batch occupy, if they have more than 1 MiB. It is
    /// given back when the batch, and all batches that were split off it, are dropped.
    pub payment: Option<Payment>,
}

/// A failure of an operator. It travels to the sinks as data does, and ends the query there.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Name of the operator that failed.
    pub operator: String,
    /// Error of the row or value at which the operator failed.
    pub error: EvaluationError,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operator `{}`: {}", self.operator, self.error)
    }
}

impl std::error::Error for Failure {}

impl thalweg_model::Coded for Failure {
    fn code(&self) -> &'static str {
        self.error.code
    }
}

impl Batch {
    /// Makes a batch whose rows are all inserts.
    #[inline]
    pub fn new(rows: RecordBatch) -> Self {
        Batch { rows, kinds: None, watermark: None, failure: None, payment: None }
    }

    /// Makes the batch which ends the query with an error.
    pub fn failed(operator: &str, error: EvaluationError) -> Self {
        let rows = RecordBatch::new_empty(Arc::new(arrow::datatypes::Schema::empty()));
        // The message may quote a value of several megabytes, so it is shortened.
        let EvaluationError { code, message } = error;
        let error = EvaluationError { code, message: cut(&message).into_owned() };
        let failure = Failure { operator: operator.to_owned(), error };
        Batch { failure: Some(Arc::new(failure)), ..Batch::new(rows) }
    }

    /// Returns whether this is the last batch of its source, which is so if its watermark is
    /// [`EventTime::MAX`].
    #[inline]
    pub fn is_last(&self) -> bool {
        self.watermark == Some(EventTime::MAX)
    }

    /// Returns whether the batch may be merged with other batches: it neither fails the query nor ends its source.
    #[inline]
    pub fn is_mergeable(&self) -> bool {
        self.failure.is_none() && !self.is_last()
    }

    /// Returns the number of rows of the batch.
    #[inline]
    pub fn len(&self) -> usize {
        self.rows.num_rows()
    }

    /// Returns the number of records for which the engine counts the batch: its rows, but at least 1, since an empty
    /// batch is work, too.
    #[inline]
    pub fn weight(&self) -> u64 {
        self.len().max(1) as u64
    }

    /// Returns the number of bytes of the values in all columns of the batch.
    pub fn bytes(&self) -> usize {
        self.rows.columns().iter().map(|column| value_bytes(column)).sum()
    }

    /// Splits off as many of the first rows of the batch as have [`BATCH_BYTES_MAX`] bytes by the mean length
    /// of its rows, but at least one row. Returns these rows and the remaining rows, if any. Copies nothing.
    pub fn cut(self) -> (Batch, Option<Batch>) {
        let (rows, bytes) = (self.len(), self.bytes());
        if rows < 2 || bytes <= BATCH_BYTES_MAX {
            return (self, None);
        }
        let first = (rows * BATCH_BYTES_MAX / bytes).max(1);
        let (first, rest) = self.split(first);
        (first, Some(rest))
    }

    /// Splits the batch into its first `count` rows and the remaining rows. Copies nothing; the watermark
    /// stays after the last row.
    pub fn split(self, count: usize) -> (Batch, Batch) {
        let part = |from: usize, to: usize, watermark| Batch {
            rows: self.rows.slice(from, to - from),
            kinds: self.kinds.as_ref().map(|kinds| kinds[from..to].into()),
            watermark,
            failure: self.failure.clone(),
            payment: self.payment.clone(),
        };
        (part(0, count, None), part(count, self.len(), self.watermark))
    }

    /// Charges the values of the batch to the memory budget, if they have more than 1 MiB, until the last
    /// piece of the batch is dropped. A batch which is already charged is not charged again.
    ///
    /// # Errors
    /// An error with the code `code` if the memory budget has no room for the values.
    pub fn paid(mut self, allowance: &Allowance, code: &'static str) -> Result<Batch, EvaluationError> {
        if self.payment.is_none() {
            self.payment = pay(allowance, self.bytes(), code)?;
        }
        Ok(self)
    }

    /// Returns the number of empty batches which must follow this one on an edge. An edge bounds the number
    /// of batches, so a long batch is to take the room of one batch per [`BATCH_BYTES_MAX`] bytes.
    pub fn fillers(&self) -> usize {
        (self.bytes() / BATCH_BYTES_MAX).saturating_sub(1).min(FILLERS_MAX)
    }

    /// Makes an empty batch with the same columns as this one. It is sent after a batch with long rows, so
    /// that the two take the room of two batches on an edge.
    pub fn filler(&self) -> Batch {
        Batch::new(RecordBatch::new_empty(self.rows.schema()))
    }

    /// Returns whether the batch has no rows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the kind of change (insert, update or delete) of a row of the batch.
    #[inline]
    pub fn kind(&self, row: usize) -> RowKind {
        self.kinds.as_ref().and_then(|kinds| kinds.get(row)).copied().unwrap_or(RowKind::Insert)
    }
}

/// Creates a batch of `columns` with `rows` rows, even if it has no columns.
///
/// # Errors
/// [`EvaluationError`] if the columns do not fit the schema or the number of rows.
pub fn batch_of(
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch, EvaluationError> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let columns = columns
        .into_iter()
        .zip(schema.fields())
        .map(|(column, field)| relabelled(column, field.data_type()).map_err(arrow_error));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map_err(arrow_error)
}

/// Reserves `bytes` of the memory budget for a short time, for example while a hash table is copied into a
/// larger one. The bytes are free again when the caller drops the returned reservation. Up to 1 MiB is not
/// charged.
///
/// # Errors
/// `STATE_LIMIT` if there is no room.
pub fn reserve_room(allowance: &Allowance, bytes: usize) -> Result<Option<Payment>, EvaluationError> {
    pay_for(allowance, bytes, "STATE_LIMIT", "a larger table of keys", "remember less")
}

/// Charges `bytes` of results to the memory budget, if they are more than 1 MiB.
///
/// # Errors
/// An error with the code `code` if the memory budget has no room for the results.
pub fn pay(
    allowance: &Allowance,
    bytes: usize,
    code: &'static str,
) -> Result<Option<Payment>, EvaluationError> {
    pay_for(allowance, bytes, code, "results", "shorten them")
}

fn pay_for(
    allowance: &Allowance,
    bytes: usize,
    code: &'static str,
    what: &str,
    other_way: &str,
) -> Result<Option<Payment>, EvaluationError> {
    if bytes <= UNPAID_BYTES_MAX {
        return Ok(None);
    }
    allowance.pay(bytes).map(Some).ok_or_else(|| EvaluationError {
        code,
        message: format!(
            "{bytes} bytes for {what} have no room in the memory budget of {} bytes: raise the memory budget, or \
             {other_way}",
            allowance.limit_bytes()
        ),
    })
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, AsArray, StringArray};

    use super::*;

    /// Wide rows are cut into small batches: all of them arrive in order, and the watermark stays after the
    /// last row.
    #[test]
    fn batches_of_many_bytes_are_cut() {
        let long = "x".repeat(10_000);
        let texts: ArrayRef =
            Arc::new(StringArray::from_iter_values((0..100).map(|row| format!("{row} {long}"))));
        let rows = RecordBatch::try_from_iter([("text", texts)]).expect("a column");
        let kinds: Vec<RowKind> =
            (0..100).map(|row| if row % 2 == 0 { RowKind::Insert } else { RowKind::Delete }).collect();
        let whole =
            Batch { kinds: Some(kinds.into()), watermark: Some(EventTime::EPOCH), ..Batch::new(rows) };
        let (mut left, mut found) = (Some(whole), Vec::new());
        while let Some(batch) = left.take() {
            let (first, rest) = batch.cut();
            assert!(first.bytes() <= BATCH_BYTES_MAX, "{} bytes", first.bytes());
            assert_eq!(first.watermark.is_some(), rest.is_none());
            let texts = first.rows.column(0).as_string::<i32>();
            found.extend((0..first.len()).map(|row| (texts.value(row).to_owned(), first.kind(row))));
            left = rest;
        }
        let expected: Vec<(String, RowKind)> = (0..100)
            .map(|row| {
                (format!("{row} {long}"), if row % 2 == 0 { RowKind::Insert } else { RowKind::Delete })
            })
            .collect();
        assert_eq!(found, expected);
    }

    /// A row with ten times the bytes of a batch takes ten places on an edge; no row takes more places than an edge
    /// has.
    #[test]
    fn a_long_row_takes_its_places() {
        let of = |bytes: usize| {
            let text: ArrayRef = Arc::new(StringArray::from_iter_values(["y".repeat(bytes)]));
            Batch::new(RecordBatch::try_from_iter([("text", text)]).expect("a column"))
        };
        let fillers = [100, BATCH_BYTES_MAX, 10 * BATCH_BYTES_MAX, 100 * BATCH_BYTES_MAX];
        assert_eq!(fillers.map(|bytes| of(bytes).fillers()), [0, 0, 9, FILLERS_MAX]);
        assert!(of(100).filler().is_empty());
    }

    #[test]
    fn a_row_that_is_wider_than_that_stays_whole() {
        let text: ArrayRef = Arc::new(StringArray::from_iter_values(["y".repeat(2 * BATCH_BYTES_MAX)]));
        let batch = Batch::new(RecordBatch::try_from_iter([("text", text)]).expect("a column"));
        let (first, rest) = batch.cut();
        assert!((first.len(), rest.is_none()) == (1, true));
    }
}
