//! Tests of single values at the edges of their types.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Int32Array, ListArray, StringArray, StructArray, UInt8Array, new_null_array,
};
use arrow::datatypes::{DataType, Field, Int32Type, TimeUnit};

use super::ScalarValue::*;
use super::{ColumnarValue, ScalarValue, ValueError};
use crate::types::SqlType;

fn list(rows: &[Option<&[i32]>]) -> ListArray {
    let rows = rows.iter().map(|row| row.map(|items| items.iter().map(|item| Some(*item))));
    ListArray::from_iter_primitive::<Int32Type, _, _>(rows)
}

fn row(fields: Vec<(&str, ArrayRef)>) -> ScalarValue {
    let fields = fields
        .into_iter()
        .map(|(name, column)| (Arc::new(Field::new(name, column.data_type().clone(), true)), column));
    Struct(Arc::new(StructArray::from(fields.collect::<Vec<_>>())))
}

fn utc() -> Option<Arc<str>> {
    Some(Arc::from("UTC"))
}

fn refused<T: std::fmt::Debug>(result: Result<T, ValueError>, part: &str) {
    let message = result.expect_err("an error").to_string();
    assert!(message.contains(part), "'{message}' does not contain '{part}'");
}

#[test]
fn values_are_equal_by_their_bits() {
    assert_eq!(Float64(Some(f64::NAN)), Float64(Some(f64::NAN)));
    assert_ne!(Float64(Some(f64::NAN)), Float64(Some(-f64::NAN)));
    assert_ne!(Float64(Some(0.0)), Float64(Some(-0.0)));
    assert_eq!(Float32(Some(f32::NAN)), Float32(Some(f32::NAN)));
    assert_ne!(Float32(Some(0.0)), Float32(Some(-0.0)));
    assert_ne!(Decimal128(Some(10), 2, 1), Decimal128(Some(100), 3, 2));
    assert_ne!(Decimal128(Some(10), 2, 1), Decimal128(Some(10), 3, 1));
    assert_ne!(Int32(Some(1)), Int64(Some(1)));
    assert_eq!(TimestampMillisecond(Some(1), None), TimestampMillisecond(Some(1), utc()));
    assert_ne!(TimestampMillisecond(Some(1), None), TimestampMicrosecond(Some(1), None));
}

#[test]
fn nulls_are_equal_within_a_type() {
    assert_eq!(Null, Null);
    assert_eq!(Float64(None), Float64(None));
    assert_ne!(Null, Int32(None));
    assert_ne!(Int32(None), Date32(None));
    assert_ne!(Int32(None), Int32(Some(0)));
}

/// Nested values are equal if their types and items are, whatever stands in the slots of items that are NULL.
#[test]
fn nested_values_are_equal_by_their_items() {
    let value = |rows: &[Option<&[i32]>]| List(Arc::new(list(rows)));
    assert_eq!(value(&[Some(&[1, 2])]), value(&[Some(&[1, 2])]));
    assert_ne!(value(&[Some(&[1, 2])]), value(&[Some(&[2, 1])]));
    assert_ne!(value(&[Some(&[])]), value(&[None]));
    let of = |name: &str| row(vec![(name, Arc::new(Int32Array::from(vec![1])))]);
    assert_eq!(of("a"), of("a"));
    assert_ne!(of("a"), of("b"));
}

#[test]
fn values_are_shown_as_text() {
    let check = |value: ScalarValue, expected: &str| assert_eq!(value.to_string(), expected, "{value:?}");
    check(Null, "NULL");
    check(Int32(None), "NULL");
    check(Boolean(Some(true)), "true");
    check(Int8(Some(i8::MIN)), "-128");
    check(Float32(Some(0.1)), "0.1");
    check(Float64(Some(1e300)), &format!("1{}", "0".repeat(300)));
    check(Float64(Some(-0.0)), "-0");
    check(Float64(Some(f64::NAN)), "NaN");
    check(Decimal128(Some(-5), 3, 2), "-0.05");
    check(Decimal128(Some(5), 1, 0), "5");
    check(ScalarValue::from("it's"), "it's");
    check(Binary(Some(vec![0, 0xAB])), "00AB");
    check(Binary(Some(vec![0x10; 11])), "10101010101010101010...");
    check(Binary(Some(Vec::new())), "");
    check(Date32(Some(0)), "1970-01-01");
    check(Date32(Some(-1)), "1969-12-31");
    check(Date32(Some(i32::MAX)), "");
    check(Time32Millisecond(Some(1)), "1");
    check(TimestampNanosecond(Some(-1), utc()), "-1");
    check(DurationMillisecond(Some(1_000)), "1000");
    check(IntervalYearMonth(Some(13)), "13");
    check(List(Arc::new(list(&[Some(&[1, 2])]))), "[1, 2]");
    check(List(Arc::new(list(&[None]))), "NULL");
    let inner = row(vec![("b", Arc::new(StringArray::from(vec![None::<&str>])))]);
    let inner = inner.to_array().expect("a column");
    check(row(vec![("a", Arc::new(Int32Array::from(vec![1]))), ("r", inner)]), "{a:1,r:{b:}}");
    let of = SqlType::Map(Box::new(SqlType::STRING), Box::new(SqlType::Int));
    check(ScalarValue::try_from(&of.arrow()).expect("a NULL"), "NULL");
}

/// A row that a column does not have, and a type without values, are errors and no panics.
#[test]
fn what_has_no_value_is_refused() {
    let numbers = Int32Array::from(vec![Some(1), None]);
    assert_eq!(ScalarValue::try_from_array(&numbers, 0), Ok(Int32(Some(1))));
    assert_eq!(ScalarValue::try_from_array(&numbers, 1), Ok(Int32(None)));
    refused(ScalarValue::try_from_array(&numbers, 2), "no row 2 in a column of 2 rows");
    refused(ScalarValue::try_from_array(&numbers.slice(0, 0), 0), "no row 0");
    refused(ScalarValue::try_from_array(&UInt8Array::from(vec![1]), 0), "UInt8");
    let items = |of: DataType| DataType::List(Arc::new(Field::new("item", of, true)));
    for of in [
        DataType::UInt64,
        DataType::Utf8View,
        DataType::Date64,
        DataType::Timestamp(TimeUnit::Second, None),
        DataType::Duration(TimeUnit::Second),
        DataType::Decimal256(1, 0),
        DataType::FixedSizeBinary(-1),
        items(DataType::UInt8),
        DataType::Struct(vec![Field::new("a", DataType::FixedSizeBinary(-1), true)].into()),
        DataType::Map(Arc::new(Field::new("entries", DataType::Int32, false)), false),
    ] {
        refused(ScalarValue::try_from(&of), "there are no single values");
    }
}

/// Arrow counts the bytes and items of a column in 31 bits, and would panic beyond.
#[test]
fn columns_that_would_be_too_long_are_refused() {
    let rows = i32::MAX as usize;
    refused(ScalarValue::from("ab").to_array_of_size(rows), "at most 2147483647 bytes or items");
    refused(Binary(Some(vec![0, 0])).to_array_of_size(rows), "needs 4294967294");
    refused(List(Arc::new(list(&[Some(&[1, 2])]))).to_array_of_size(rows), "bytes or items");
    let nested = row(vec![("a", Arc::new(list(&[Some(&[1, 2, 3])])))]);
    refused(nested.to_array_of_size(rows), "bytes or items");
    refused(ColumnarValue::Scalar(nested).to_array(usize::MAX), "bytes or items");
    assert_eq!(ScalarValue::from("").to_array_of_size(3).expect("a column").len(), 3);
}

#[test]
fn a_nested_value_is_a_column_of_one_row() {
    refused(List(Arc::new(list(&[]))).to_array(), "this has 0 rows");
    refused(List(Arc::new(list(&[None, None]))).to_array_of_size(2), "this has 2 rows");
    let three = List(Arc::new(list(&[Some(&[7])]))).to_array_of_size(3).expect("a column");
    assert_eq!(three.as_list::<i32>(), &list(&[Some(&[7]), Some(&[7]), Some(&[7])]));
}

#[test]
fn decimals_have_digits_that_arrow_takes() {
    refused(Decimal128(Some(1), 39, 0).to_array(), "39");
    refused(Decimal128(Some(1), 0, 0).to_array(), "precision cannot be 0");
    refused(Decimal128(Some(1), 2, 3).to_array(), "scale 3 is greater than precision 2");
}

/// A column of values has one type: a decimal of another scale would stand for another number.
#[test]
fn values_of_one_type_are_a_column() {
    refused(ScalarValue::iter_to_array([]), "no values");
    refused(ScalarValue::iter_to_array([Int32(Some(1)), Int64(Some(1))]), "Int32 holds no value of Int64");
    refused(ScalarValue::iter_to_array([Int32(Some(1)), Null]), "holds no value of Null");
    let decimals = [Decimal128(Some(125), 3, 2), Decimal128(Some(25), 2, 1)];
    refused(ScalarValue::iter_to_array(decimals), "Decimal128(3, 2)");
    let numbers = ScalarValue::iter_to_array([Int32(Some(1)), Int32(None)]).expect("a column");
    assert_eq!(numbers.as_primitive::<Int32Type>(), &Int32Array::from(vec![Some(1), None]));
    let nulls = ScalarValue::iter_to_array([Null, Null]).expect("a column");
    assert_eq!(&nulls, &new_null_array(&DataType::Null, 2));
}

#[test]
fn values_are_cast_or_refused() {
    assert_eq!(ScalarValue::from("12").cast_to(&DataType::Int64), Ok(Int64(Some(12))));
    assert_eq!(Null.cast_to(&DataType::Utf8), Ok(Utf8(None)));
    assert_eq!(Decimal128(Some(15), 2, 1).cast_to(&DataType::Int64), Ok(Int64(Some(1))));
    refused(ScalarValue::from("x").cast_to(&DataType::Int64), "Cannot cast string 'x'");
    refused(Int64(Some(i64::MAX)).cast_to(&DataType::Int32), "Can't cast value");
    refused(Date32(Some(i32::MAX)).cast_to(&DataType::Timestamp(TimeUnit::Nanosecond, None)), "verflow");
    refused(Int64(Some(1)).cast_to(&DataType::UInt8), "no single values");
}

/// The size counts the memory on the heap, also the part of a text's buffer that is not in use.
#[test]
fn sizes_count_the_heap() {
    let own = size_of::<ScalarValue>();
    let mut text = String::with_capacity(100);
    text.push('a');
    assert_eq!(Int64(Some(1)).size(), own);
    assert_eq!(Utf8(None).size(), own);
    assert_eq!(Utf8(Some(text)).size(), own + 100);
    assert_eq!(Binary(Some(Vec::with_capacity(7))).size(), own + 7);
    assert_eq!(TimestampMillisecond(None, utc()).size(), own + 3);
    let items = Arc::new(list(&[Some(&[1, 2, 3])]));
    assert_eq!(List(Arc::clone(&items)).size(), own + items.get_array_memory_size());
}
