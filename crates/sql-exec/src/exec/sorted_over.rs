//! OVER windows whose rows are in the order of any columns.
//!
//! There are two operators for them. [`LiveOver`] emits results at once and changes them when a row comes that changes the
//! frames of others. [`OverAtEnd`] waits for the end of its input, so that frames may also look ahead.
//! (OVER in the order of time or of arrival, whose results never change: [`super::over`].)

use arrow::array::ArrayRef;
use arrow::compute::SortOptions;
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, Rows, SortField};
use thalweg_sql_functions::expression::arrow_error;
use thalweg_sql_functions::functions::EvaluationError;

use super::operator::Outcome;
use crate::plan::sorted_over::SortedCall;
use crate::plan::{Column, SortKey};

mod at_end;
mod frames;
mod live;
mod results;
#[cfg(test)]
mod tests;

pub use at_end::OverAtEnd;
pub use live::LiveOver;

/// Keys, order and calls of an OVER window in the order of any columns.
#[derive(Clone, Debug)]
pub struct SortedCalls {
    /// Indexes of the PARTITION BY columns in the input.
    pub keys: Vec<usize>,
    /// Columns by which the rows of a key are ordered.
    pub order: Vec<SortKey>,
    /// Functions that are computed for each row.
    pub calls: Vec<SortedCall>,
}

/// Converters of rows to bytes that sort as the rows do: by the key, by the order, and by all columns.
struct Converters {
    keys: Part,
    order: Part,
    whole: RowConverter,
}

/// Converter of some columns of a row to bytes; `None` if there are no columns.
struct Part {
    places: Vec<usize>,
    converter: Option<RowConverter>,
}

/// Greatest number of bytes of the rows of one key, as they are kept. A column of text holds no more than 2 GiB.
const KEY_BYTES_MAX: usize = 1 << 30;

/// Refuses the rows of one key if they have more bytes than can be worked on together.
fn check_key(bytes: usize) -> Outcome<()> {
    if bytes <= KEY_BYTES_MAX {
        return Ok(());
    }
    let message = format!(
        "the rows of one key of OVER have more than {} MiB; partition by more columns, or select fewer",
        KEY_BYTES_MAX >> 20
    );
    Err(EvaluationError { code: "STATE_LIMIT", message })
}

impl Part {
    fn rows(&self, rows: &RecordBatch) -> Outcome<Option<Rows>> {
        let Some(converter) = &self.converter else { return Ok(None) };
        let columns: Vec<ArrayRef> = self.places.iter().map(|place| rows.column(*place).clone()).collect();
        converter.convert_columns(&columns).map(Some).map_err(arrow_error)
    }
}

impl Converters {
    fn new(over: &SortedCalls, input: &[Column]) -> Outcome<Self> {
        let part = |places: Vec<usize>, fields: Vec<SortField>| -> Outcome<Part> {
            let converter =
                if fields.is_empty() { None } else { Some(RowConverter::new(fields).map_err(arrow_error)?) };
            Ok(Part { places, converter })
        };
        let of_keys = over.keys.iter().map(|place| SortField::new(input[*place].of.arrow())).collect();
        let of_order = over.order.iter().map(|key| {
            let options = SortOptions { descending: key.is_descending, nulls_first: key.is_null_first };
            SortField::new_with_options(input[key.place].of.arrow(), options)
        });
        let of_whole = input.iter().map(|column| SortField::new(column.of.arrow())).collect();
        Ok(Converters {
            keys: part(over.keys.clone(), of_keys)?,
            order: part(over.order.iter().map(|key| key.place).collect(), of_order.collect())?,
            whole: RowConverter::new(of_whole).map_err(arrow_error)?,
        })
    }
}
