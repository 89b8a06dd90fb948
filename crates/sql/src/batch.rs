//! What flows between the operators of a SQL query: rows as columns, a few thousand at a time.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayData};
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;
use thalweg_model::{Allowance, EventTime, Payment, Weighed};

use crate::error::cut;
use crate::formats::RowKind;
use crate::functions::EvaluationError;

/// The most rows of a batch.
pub const BATCH_ROWS_MAX: usize = 4_096;

/// The most bytes of a batch on an edge, unless a single row has more: with blocks of four batches a MiB each.
pub const BATCH_BYTES_MAX: usize = 256 << 10;

/// Batches of more bytes than this are paid from the memory budget; there are few of others at a time.
const UNPAID_BYTES_MAX: usize = 1 << 20;

/// The most batches without rows that follow a long one: together they fill an edge.
const FILLERS_MAX: usize = 31;

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
    /// The memory that the values take, if they are long: it is held until the batch and all its pieces are dropped.
    pub payment: Option<Payment>,
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
        Batch { rows, kinds: None, watermark: None, failure: None, payment: None }
    }

    /// The end of the query, for a reason.
    pub fn failed(operator: &str, error: EvaluationError) -> Self {
        let rows = RecordBatch::new_empty(Arc::new(arrow::datatypes::Schema::empty()));
        // The value of a row may have megabytes.
        let EvaluationError { code, message } = error;
        let error = EvaluationError { code, message: cut(&message).into_owned() };
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
        self.rows.columns().iter().map(|column| value_bytes(column)).sum()
    }

    /// Its first rows, as many as an edge should hold at once, and the others, if there are any. Nothing is copied.
    pub fn cut(self) -> (Batch, Option<Batch>) {
        let (rows, bytes) = (self.len(), self.bytes());
        if rows < 2 || bytes <= BATCH_BYTES_MAX {
            return (self, None);
        }
        let first = (rows * BATCH_BYTES_MAX / bytes).max(1);
        let (first, rest) = self.split(first);
        (first, Some(rest))
    }

    /// Its first `count` rows, and the others. Nothing is copied; the watermark stays behind the last row.
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

    /// Pays for its values, if they are long, until the last piece of it is dropped. What is paid for already is not paid for
    /// once more.
    ///
    /// # Errors
    /// `code` if the memory budget has no room for them.
    pub fn paid(mut self, allowance: &Allowance, code: &'static str) -> Result<Batch, EvaluationError> {
        if self.payment.is_none() {
            self.payment = pay(allowance, self.bytes(), code)?;
        }
        Ok(self)
    }

    /// How many batches without rows are to follow it on an edge, so that a long row takes as many places as it has multiples
    /// of [`BATCH_BYTES_MAX`]: edges count batches, and hold at most so many bytes.
    pub fn fillers(&self) -> usize {
        (self.bytes() / BATCH_BYTES_MAX).saturating_sub(1).min(FILLERS_MAX)
    }

    /// A batch without rows, with its columns.
    pub fn filler(&self) -> Batch {
        Batch::new(RecordBatch::new_empty(self.rows.schema()))
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

/// Returns the bytes of the values of an array. A slice counts its own values, and not the buffers that it shares.
pub(crate) fn value_bytes(array: &dyn Array) -> usize {
    bytes_of_values(&array.to_data())
}

fn bytes_of_values(array: &ArrayData) -> usize {
    if array.is_empty() {
        return 0;
    }
    let nulls = array.nulls().map_or(0, |_| array.len().div_ceil(8));
    match array.data_type() {
        // The library counts all items of the lists of which these are a slice.
        DataType::List(_) | DataType::Map(..) => {
            let offsets =
                &array.buffers()[0].typed_data::<i32>()[array.offset()..=array.offset() + array.len()];
            let (first, last) = (offsets[0] as usize, offsets[array.len()] as usize);
            let items = array.child_data()[0].slice(first, last - first);
            nulls + size_of_val(offsets) + bytes_of_values(&items)
        }
        DataType::Struct(_) => nulls + array.child_data().iter().map(bytes_of_values).sum::<usize>(),
        _ => array.get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size()),
    }
}

/// Checks that state has room to take so many bytes for a moment, as a hash table does while it is copied into a larger one.
///
/// # Errors
/// `STATE_LIMIT` if it has not.
pub fn check_room(allowance: &Allowance, bytes: usize) -> Result<(), EvaluationError> {
    if bytes <= UNPAID_BYTES_MAX || allowance.pay(bytes).is_some() {
        return Ok(());
    }
    let message = format!(
        "{bytes} bytes for a larger table of keys have no room in the memory budget of {} bytes: raise the memory budget, \
         or remember less",
        allowance.limit_bytes()
    );
    Err(EvaluationError { code: "STATE_LIMIT", message })
}

/// Pays for so many bytes of results, if they are many.
///
/// # Errors
/// `code` if the memory budget has no room for them.
pub fn pay(
    allowance: &Allowance,
    bytes: usize,
    code: &'static str,
) -> Result<Option<Payment>, EvaluationError> {
    if bytes <= UNPAID_BYTES_MAX {
        return Ok(None);
    }
    allowance.pay(bytes).map(Some).ok_or_else(|| EvaluationError {
        code,
        message: format!(
            "results of {bytes} bytes have no room in the memory budget of {} bytes: shorten them or raise the memory \
             budget",
            allowance.limit_bytes()
        ),
    })
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

    /// A row of ten times the bytes of a batch takes ten places on an edge, and no row takes more than an edge has.
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
