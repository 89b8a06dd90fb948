//! Timestamps in 96 bits, a day and nanoseconds of the day, as Flink writes them. The parquet library reads
//! them as 64 bits of nanoseconds by default, and wraps values that do not fit, such as `9999-12-31`.
//!
//! So a column is read in the unit that its declared type needs. Milliseconds hold all 96-bit timestamps.
//! Columns in a finer unit are read a second time in seconds and compared: a value that does not fit is an
//! error.

use std::collections::BTreeSet;
use std::fs::File;
use std::sync::Arc;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use ::parquet::basic::Type;
use ::parquet::errors::ParquetError;
use arrow::array::{Array, AsArray};
use arrow::datatypes::{
    DataType, Field, Schema, TimeUnit, TimestampMicrosecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow::record_batch::RecordBatch;
use chrono::DateTime;
use thalweg_sql_functions::types::SqlType;

use super::types::with_leaves;

/// Returns the top-level columns of a Parquet file that contain 96-bit timestamps, by their indexes among the
/// top-level columns of the file.
pub(super) fn roots(metadata: &ArrowReaderMetadata) -> BTreeSet<usize> {
    let of = metadata.parquet_schema();
    let is_such = |leaf: &usize| of.column(*leaf).physical_type() == Type::INT96;
    (0..of.num_columns()).filter(is_such).map(|leaf| of.get_column_root_idx(leaf)).collect()
}

/// Returns the unit in which the 96-bit timestamps of a column of the given type are read.
pub(super) fn unit(of: &SqlType) -> TimeUnit {
    match digits(of) {
        Some(0..=3) => TimeUnit::Millisecond,
        Some(4..=6) => TimeUnit::Microsecond,
        // Other types are cast from nanoseconds, the unit that loses no digits.
        _ => TimeUnit::Nanosecond,
    }
}

/// Returns the digits of a second of the finest timestamp in a type. Text counts as 9, because it shows all
/// 9 digits.
fn digits(of: &SqlType) -> Option<u8> {
    match of {
        SqlType::Timestamp(digits) | SqlType::TimestampLtz(digits) => Some(*digits),
        SqlType::Array(item) => digits(item),
        SqlType::Map(key, value) => digits(key).max(digits(value)),
        SqlType::Row(fields) => fields.iter().filter_map(|(_, of)| digits(of)).max(),
        of if of.is_text() => Some(9),
        _ => None,
    }
}

/// Returns the metadata of a Parquet file with other units for its 96-bit timestamps. `unit_of` gives the
/// unit by the index of the top-level column; `None` leaves the column as it is.
pub(super) fn in_units(
    metadata: &ArrowReaderMetadata,
    unit_of: &dyn Fn(usize) -> Option<TimeUnit>,
) -> Result<ArrowReaderMetadata, ParquetError> {
    let leaves = metadata.parquet_schema().columns();
    let mut leaf = 0;
    let field = |(root, field): (usize, &Arc<Field>)| {
        let unit = unit_of(root);
        let of = with_leaves(field.data_type(), &mut |of| {
            let is_such = leaves.get(leaf).is_some_and(|leaf| leaf.physical_type() == Type::INT96);
            leaf += 1;
            match (of, unit) {
                (DataType::Timestamp(_, zone), Some(unit)) if is_such => {
                    DataType::Timestamp(unit, zone.clone())
                }
                _ => of.clone(),
            }
        });
        field.as_ref().clone().with_data_type(of)
    };
    let schema = metadata.schema();
    let fields: Vec<Field> = schema.fields().iter().enumerate().map(field).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    let options = ArrowReaderOptions::new().with_schema(schema);
    ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options)
}

/// Second reading, as whole seconds, of the columns whose 96-bit timestamps may not fit the unit of the first
/// reading.
pub(super) struct Seconds {
    reader: ParquetRecordBatchReader,
    /// The indexes of the checked columns in the batches of the first reading.
    places: Vec<usize>,
}

impl Seconds {
    /// Opens the second reading, in seconds, of the top-level columns with the indexes `checked`, and skips
    /// the first `skip` rows. `roots` are the indexes of the columns of the first reading. Batches have
    /// `batch_rows` rows in both readings, so that they can be compared.
    pub(super) fn open(
        file: File,
        metadata: &ArrowReaderMetadata,
        roots: &[usize],
        checked: &BTreeSet<usize>,
        (skip, batch_rows): (usize, usize),
    ) -> Result<Self, ParquetError> {
        let metadata = in_units(metadata, &|root| checked.contains(&root).then_some(TimeUnit::Second))?;
        let mask = ProjectionMask::roots(metadata.parquet_schema(), checked.iter().copied());
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
            .with_projection(mask)
            .with_batch_size(batch_rows)
            .with_offset(skip)
            .build()?;
        let place = |root: &usize| roots.iter().position(|known| known == root);
        Ok(Seconds { reader, places: checked.iter().filter_map(place).collect() })
    }

    /// Compares the next rows of the first reading with their reading in seconds. If a timestamp does not fit
    /// its unit, returns the index of its column in `rows` and the timestamp as text.
    pub(super) fn misfit(&mut self, rows: &RecordBatch) -> Result<Option<(usize, String)>, ParquetError> {
        let Some(seconds) = self.reader.next().transpose()? else {
            return Err(ParquetError::General("a second look finds fewer rows".to_owned()));
        };
        if seconds.num_rows() != rows.num_rows() {
            return Err(ParquetError::General("a second look finds other rows".to_owned()));
        }
        let columns = self.places.iter().zip(seconds.columns());
        let found =
            columns.filter_map(|(place, seconds)| Some((*place, wrapped(rows.column(*place), seconds)?)));
        Ok(found.map(|(place, at)| (place, shown(at))).next())
    }
}

/// Compares timestamps that were read in their unit (`held`) with the same timestamps read in seconds.
/// Returns the first instant, in seconds, that differs because the value in `held` did not fit 64 bits and
/// wrapped around.
fn wrapped(held: &dyn Array, seconds: &dyn Array) -> Option<i64> {
    match (held.data_type(), seconds.data_type()) {
        (DataType::Timestamp(unit, _), DataType::Timestamp(TimeUnit::Second, _)) => {
            let (values, per_second): (&[i64], i64) = match unit {
                TimeUnit::Microsecond => {
                    (held.as_primitive::<TimestampMicrosecondType>().values(), 1_000_000)
                }
                TimeUnit::Nanosecond => {
                    (held.as_primitive::<TimestampNanosecondType>().values(), 1_000_000_000)
                }
                TimeUnit::Second | TimeUnit::Millisecond => return None,
            };
            let seconds = seconds.as_primitive::<TimestampSecondType>();
            let rows = values.iter().zip(seconds);
            rows.filter_map(|(value, at)| at.filter(|at| value.div_euclid(per_second) != *at)).next()
        }
        (DataType::Struct(_), DataType::Struct(_)) => {
            let mut fields = held.as_struct().columns().iter().zip(seconds.as_struct().columns());
            fields.find_map(|(held, seconds)| wrapped(held, seconds))
        }
        (DataType::List(_), DataType::List(_)) => {
            wrapped(held.as_list::<i32>().values(), seconds.as_list::<i32>().values())
        }
        (DataType::LargeList(_), DataType::LargeList(_)) => {
            wrapped(held.as_list::<i64>().values(), seconds.as_list::<i64>().values())
        }
        (DataType::Map(..), DataType::Map(..)) => {
            wrapped(held.as_map().entries(), seconds.as_map().entries())
        }
        _ => None,
    }
}

fn shown(seconds: i64) -> String {
    match DateTime::from_timestamp(seconds, 0) {
        Some(time) => time.format("%Y-%m-%d %H:%M:%S").to_string(),
        None => format!("{seconds} seconds from 1970 on"),
    }
}
