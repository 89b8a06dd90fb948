//! Conversion of the column types of a Parquet file to the types that the table declares.
//!
//! Fields of rows are found by name at any depth: an exact match first, else a match that ignores case. A
//! missing field is an error.
//!
//! Source: Flink, `ParquetSplitReaderUtil`, `lookupColumnByName`.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, TimeUnit};
use thalweg_sql_functions::types::{INSTANT_ZONE, SqlType};

use super::guarded;

/// Returns the Arrow type that this crate supports and that holds all values of a type in a Parquet file.
/// Timestamps keep their unit, and are instants if the table declares them so. Rows have the fields that
/// the table declares, in that order, under the names of the file.
///
/// # Errors
/// A declared field of a row that the file does not have.
pub(super) fn plain(held: &DataType, declared: Option<&SqlType>) -> Result<DataType, String> {
    let field = |field: &FieldRef, declared: Option<&SqlType>| -> Result<FieldRef, String> {
        let of = plain(field.data_type(), declared)?;
        Ok(Arc::new(Field::new(field.name(), of, field.is_nullable())))
    };
    Ok(match held {
        DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 => DataType::Int64,
        DataType::UInt64 => DataType::Decimal128(20, 0),
        DataType::Float16 => DataType::Float32,
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal256(precision, scale) => DataType::Decimal128((*precision).min(38), *scale),
        DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => DataType::Binary,
        DataType::Date64 => DataType::Date32,
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time32(TimeUnit::Millisecond),
        DataType::Timestamp(unit, zone) => {
            let unit = if *unit == TimeUnit::Second { TimeUnit::Millisecond } else { *unit };
            let is_instant = match declared {
                Some(SqlType::TimestampLtz(_)) => true,
                Some(SqlType::Timestamp(_)) => false,
                _ => zone.is_some(),
            };
            DataType::Timestamp(unit, is_instant.then(|| Arc::from(INSTANT_ZONE)))
        }
        DataType::Dictionary(_, value) => plain(value, declared)?,
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            let declared = match declared {
                Some(SqlType::Array(item)) => Some(item.as_ref()),
                _ => None,
            };
            DataType::List(field(item, declared)?)
        }
        DataType::Struct(fields) => match declared {
            Some(SqlType::Row(declared)) => {
                let taken = declared.iter().map(|(name, of)| field(named(fields, name)?, Some(of)));
                DataType::Struct(taken.collect::<Result<_, String>>()?)
            }
            _ => {
                let taken = fields.iter().map(|of| field(of, None));
                DataType::Struct(taken.collect::<Result<_, String>>()?)
            }
        },
        DataType::Map(entries, is_sorted) => {
            let DataType::Struct(of) = entries.data_type() else { return Ok(held.clone()) };
            let [key, value] = &of[..] else { return Ok(held.clone()) };
            let (of_key, of_value) = match declared {
                Some(SqlType::Map(key, value)) => (Some(key.as_ref()), Some(value.as_ref())),
                _ => (None, None),
            };
            let entry = DataType::Struct([field(key, of_key)?, field(value, of_value)?].into());
            DataType::Map(Arc::new(Field::new(entries.name(), entry, false)), *is_sorted)
        }
        other => other.clone(),
    })
}

/// Returns the field of a row with the given name. Without an exact match, a field that matches when case is
/// ignored is returned.
fn named<'a>(fields: &'a Fields, name: &str) -> Result<&'a FieldRef, String> {
    let is_like = |field: &&FieldRef| field.name().to_lowercase() == name.to_lowercase();
    let found = fields.iter().find(|field| field.name() == name).or_else(|| fields.iter().find(is_like));
    found.ok_or_else(|| {
        let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
        format!("the file has no field `{name}` in it; there are {}", names.join(", "))
    })
}

/// Returns a nested type with its leaves replaced by `leaf`, which is called for the leaves in their order.
pub(super) fn with_leaves(of: &DataType, leaf: &mut dyn FnMut(&DataType) -> DataType) -> DataType {
    let mut field = |field: &FieldRef| -> FieldRef {
        let of = with_leaves(field.data_type(), leaf);
        Arc::new(field.as_ref().clone().with_data_type(of))
    };
    match of {
        DataType::List(item) => DataType::List(field(item)),
        DataType::LargeList(item) => DataType::LargeList(field(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(field(item), *length),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        DataType::Map(entries, is_sorted) => DataType::Map(field(entries), *is_sorted),
        other => leaf(other),
    }
}

/// Casts a column of a Parquet file to the type that [`plain`] returned for it.
pub(super) fn cast_plain(held: &ArrayRef, to: &DataType) -> Result<ArrayRef, String> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let cast = |held: &ArrayRef, to: &DataType| guarded(|| cast_with_options(held.as_ref(), to, &options));
    // A time zone in the type only affects how a timestamp is displayed, so a cast between UTC and no zone
    // moves no value.
    let in_utc = with_leaves(held.data_type(), &mut |of| match of {
        DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some(Arc::from(INSTANT_ZONE))),
        other => other.clone(),
    });
    if *held.data_type() == in_utc { cast(held, to) } else { cast(&cast(held, &in_utc)?, to) }
}
