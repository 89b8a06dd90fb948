//! What flows between the operators of a SQL query: rows as columns, a few thousand at a time.

use std::fmt;
use std::sync::Arc;

use arrow::array::Array;
use arrow::record_batch::RecordBatch;
use thalweg_model::{EventTime, Weighed};

use crate::formats::RowKind;
use crate::functions::EvaluationError;

/// The most rows of a batch.
pub const BATCH_ROWS_MAX: usize = 4_096;

/// The most bytes of a batch on an edge, unless a single row has more: with blocks of four batches a MiB each.
pub const BATCH_BYTES_MAX: usize = 256 << 10;

/// What an operator over batches has taken and put out at first.
pub const NOTHING_WEIGHED: Weighed = Weighed { taken: 0, put: 0, most: BATCH_ROWS_MAX as u32 };

/// Rows, as columns.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The columns.
    pub rows: RecordBatch,
    /// What becomes of each row; all are new if there is none.
    pub kinds: Option<Arc<[RowKind]>>,
    /// The watermark that stands behind these rows, if their source says one here. [`EventTime::MAX`] says that they are
    /// the last ones of their source: joins that read a table whole wait for that, so sources of bounded tables end with it.
    pub watermark: Option<EventTime>,
    /// Why there is nothing to come: then there are no rows, and the query is to fail.
    pub failure: Option<Arc<Failure>>,
}

/// Why an operator cannot go on. It travels to the sinks as data does, and ends the query there.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The operator.
    pub operator: String,
    /// What it met.
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
    /// New rows.
    pub fn new(rows: RecordBatch) -> Self {
        Batch { rows, kinds: None, watermark: None, failure: None }
    }

    /// The end of the query, for a reason.
    pub fn failed(operator: &str, error: EvaluationError) -> Self {
        let rows = RecordBatch::new_empty(Arc::new(arrow::datatypes::Schema::empty()));
        let failure = Failure { operator: operator.to_owned(), error };
        Batch { failure: Some(Arc::new(failure)), ..Batch::new(rows) }
    }

    /// Whether nothing comes behind these rows: their source says so by the watermark of the end.
    pub fn is_last(&self) -> bool {
        self.watermark == Some(EventTime::MAX)
    }

    /// Whether it is nothing but new rows, so that it may be put together with others.
    pub fn is_plain(&self) -> bool {
        self.kinds.is_none() && self.failure.is_none() && !self.is_last()
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.num_rows()
    }

    /// What it counts for to the engine: its rows, and one if there are none, since it is something to do.
    pub fn weight(&self) -> u64 {
        self.len().max(1) as u64
    }

    /// Bytes of its values, wherever they lie.
    pub fn bytes(&self) -> usize {
        let bytes = |column: &Arc<dyn Array>| {
            let data = column.to_data();
            data.get_slice_memory_size().unwrap_or_else(|_| column.get_array_memory_size())
        };
        self.rows.columns().iter().map(bytes).sum()
    }

    /// Its first rows, as many as an edge should hold at once, and the others, if there are any. Nothing is copied.
    pub fn cut(self) -> (Batch, Option<Batch>) {
        let (rows, bytes) = (self.len(), self.bytes());
        if rows < 2 || bytes <= BATCH_BYTES_MAX {
            return (self, None);
        }
        let first = (rows * BATCH_BYTES_MAX / bytes).max(1);
        let part = |from: usize, to: usize, watermark| Batch {
            rows: self.rows.slice(from, to - from),
            kinds: self.kinds.as_ref().map(|kinds| kinds[from..to].into()),
            watermark,
            failure: self.failure.clone(),
        };
        (part(0, first, None), Some(part(first, rows, self.watermark)))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What becomes of a row.
    pub fn kind(&self, row: usize) -> RowKind {
        self.kinds.as_ref().and_then(|kinds| kinds.get(row)).copied().unwrap_or(RowKind::Insert)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, AsArray, StringArray};

    use super::*;

    /// Wide rows are cut into pieces that are small, all of them come, in their order, and the watermark stays behind the last.
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

    #[test]
    fn a_row_that_is_wider_than_that_stays_whole() {
        let text: ArrayRef = Arc::new(StringArray::from_iter_values(["y".repeat(2 * BATCH_BYTES_MAX)]));
        let batch = Batch::new(RecordBatch::try_from_iter([("text", text)]).expect("a column"));
        let (first, rest) = batch.cut();
        assert!((first.len(), rest.is_none()) == (1, true));
    }
}
