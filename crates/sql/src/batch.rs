//! What flows between the operators of a SQL query: rows as columns, a few thousand at a time.

use std::fmt;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use thalweg_model::EventTime;

use crate::formats::RowKind;
use crate::functions::EvaluationError;

/// The most rows of a batch.
pub const BATCH_ROWS_MAX: usize = 4_096;

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

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What becomes of a row.
    pub fn kind(&self, row: usize) -> RowKind {
        self.kinds.as_ref().and_then(|kinds| kinds.get(row)).copied().unwrap_or(RowKind::Insert)
    }
}
