//! Saved form of rows that an operator holds as state: the rows are written as comparable bytes (arrow's
//! `RowConverter`), one after the other.
//!
//! Every value comes back unchanged, floats bit by bit. The checkpoint checks that the bytes are intact and
//! belong to rows of the same types.

use std::ops::Range;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, SortField};
use thalweg_model::{StateError, StateReader, StateWriter};
use thalweg_sql_functions::keys::{ROW_FORMAT, check_row_format};
use thalweg_sql_tables::batch::{BATCH_ROWS_MAX, batch_of};

use super::operator::Outcome;

/// Saves rows that an operator holds.
///
/// # Errors
/// [`StateError`] if a value cannot be written.
pub fn save_rows(rows: &RecordBatch, state: &mut StateWriter) -> Result<(), StateError> {
    state.put(&ROW_FORMAT)?;
    state.put(&rows.num_rows())?;
    if rows.num_columns() == 0 {
        // A byte for each row, so that there are no more rows than bytes.
        return state.put(&vec![0u8; rows.num_rows()]);
    }
    let written = |error: arrow::error::ArrowError| StateError::Write(error.to_string());
    let converted =
        converter_of(&rows.schema()).map_err(written)?.convert_columns(rows.columns()).map_err(written)?;
    let mut ends: Vec<usize> = Vec::with_capacity(rows.num_rows());
    let mut bytes: Vec<u8> = Vec::new();
    for row in &converted {
        bytes.extend_from_slice(row.data());
        ends.push(bytes.len());
    }
    state.put(&ends)?;
    state.put(&bytes)
}

/// Loads rows of a schema that [`save_rows`] wrote.
///
/// # Errors
/// [`StateError`] if the bytes are not such rows.
pub fn load_rows(schema: &SchemaRef, state: &mut StateReader<'_>) -> Result<RecordBatch, StateError> {
    check_row_format(state)?;
    let count: usize = state.take()?;
    if schema.fields().is_empty() {
        let rows: Vec<u8> = state.take()?;
        if rows.len() != count {
            return Err(state.wrong("there are more rows, or fewer, than were counted"));
        }
        return batch_of(schema, Vec::new(), count).map_err(|error| state.wrong(error.message));
    }
    let ends: Vec<usize> = state.take()?;
    let bytes: Vec<u8> = state.take()?;
    if ends.len() != count || ends.last().copied().unwrap_or_default() != bytes.len() {
        return Err(state.wrong("there are more rows, or fewer, than were counted"));
    }
    let converter = converter_of(schema).map_err(|error| state.wrong(error.to_string()))?;
    let parser = converter.parser();
    let mut start = 0;
    let mut rows = Vec::with_capacity(count);
    for end in ends {
        let row = bytes.get(start..end).ok_or_else(|| state.wrong("a row ends before it begins"))?;
        rows.push(parser.parse(row));
        start = end;
    }
    let columns = converter.convert_rows(rows).map_err(|error| state.wrong(error.to_string()))?;
    batch_of(schema, columns, count).map_err(|error| state.wrong(error.message))
}

/// Saves `count` rows in pieces of at most a batch, so that many rows with long values need no more memory than a batch
/// beside the saved bytes. `piece` returns the rows with the numbers of a range.
///
/// # Errors
/// [`StateError`] if a piece cannot be made or written.
pub(super) fn save_pieces(
    count: usize,
    mut piece: impl FnMut(Range<usize>) -> Outcome<RecordBatch>,
    state: &mut StateWriter,
) -> Result<(), StateError> {
    state.put(&count.div_ceil(BATCH_ROWS_MAX))?;
    for from in (0..count).step_by(BATCH_ROWS_MAX) {
        let rows = piece(from..count.min(from + BATCH_ROWS_MAX));
        save_rows(&rows.map_err(|error| StateError::Write(error.message))?, state)?;
    }
    Ok(())
}

/// Loads the pieces that [`save_pieces`] wrote, and calls `each` with them in their order.
///
/// # Errors
/// [`StateError`] if the bytes are not such rows, or `each` fails.
pub(super) fn load_pieces(
    schema: &SchemaRef,
    state: &mut StateReader<'_>,
    mut each: impl FnMut(RecordBatch) -> Outcome<()>,
) -> Result<(), StateError> {
    let pieces: usize = state.take()?;
    for _ in 0..pieces {
        let rows = load_rows(schema, state)?;
        each(rows).map_err(|error| state.wrong(error.message))?;
    }
    Ok(())
}

/// Creates a converter of all columns of a schema to comparable bytes.
pub(super) fn converter_of(schema: &SchemaRef) -> Result<RowConverter, arrow::error::ArrowError> {
    RowConverter::new(schema.fields().iter().map(|field| SortField::new(field.data_type().clone())).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Float64Array, StringArray, TimestampMillisecondArray};
    use arrow::datatypes::Schema;
    use thalweg_sql_functions::types::SqlType;

    use super::*;

    fn round_trip(rows: &RecordBatch) -> RecordBatch {
        let mut state = StateWriter::default();
        save_rows(rows, &mut state).unwrap();
        let bytes = state.into_bytes();
        let mut state = StateReader::new(&bytes);
        let loaded = load_rows(&rows.schema(), &mut state).unwrap();
        state.finish().unwrap();
        loaded
    }

    /// Saved rows with NULL, empty text, -0.0 and instants come back unchanged.
    #[test]
    fn rows_come_back() {
        let fields = [
            SqlType::STRING.field("s", true),
            SqlType::Double.field("d", true),
            SqlType::TimestampLtz(3).field("t", true),
        ];
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from(vec![Some(""), None, Some("é")])),
            Arc::new(Float64Array::from(vec![Some(-0.0), Some(f64::MAX), None])),
            Arc::new(
                TimestampMillisecondArray::from(vec![None, Some(i64::MIN), Some(7)]).with_timezone("UTC"),
            ),
        ];
        let rows = batch_of(&Arc::new(Schema::new(fields.to_vec())), columns, 3).unwrap();
        assert_eq!(round_trip(&rows), rows);
        let none = rows.slice(0, 0);
        assert_eq!(round_trip(&none), none);
        let bare = batch_of(&Arc::new(Schema::empty()), Vec::new(), 5).unwrap();
        assert_eq!(round_trip(&bare).num_rows(), 5);
    }

    /// Loading truncated bytes of saved rows is an error.
    #[test]
    fn other_bytes_are_refused() {
        let fields = [SqlType::STRING.field("s", true)];
        let column: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let rows = batch_of(&Arc::new(Schema::new(fields.to_vec())), vec![column], 2).unwrap();
        let mut state = StateWriter::default();
        save_rows(&rows, &mut state).unwrap();
        let bytes = state.into_bytes();
        for length in 0..bytes.len() {
            assert!(load_rows(&rows.schema(), &mut StateReader::new(&bytes[..length])).is_err(), "{length}");
        }
    }
}
