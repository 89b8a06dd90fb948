//! Tests that the text of values equals the output of Java's classes, with values from their documentation
//! and from Flink's own tests.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::OffsetBuffer;

use super::*;

fn shown(of: &SqlType, to: Use, column: &dyn Array) -> Vec<String> {
    let text = JavaText::new(of, to);
    (0..column.len())
        .map(|row| {
            let mut out = String::new();
            text.write(column, row, &mut out);
            out
        })
        .collect()
}

#[allow(clippy::needless_pass_by_value, reason = "types are written where they are checked")]
fn check(of: SqlType, column: &dyn Array, expected: &[&str]) {
    assert_eq!(shown(&of, Use::Print, column), expected, "{of}");
}

#[test]
fn scalars() {
    check(
        SqlType::Boolean,
        &BooleanArray::from(vec![Some(true), Some(false), None]),
        &["true", "false", "null"],
    );
    check(SqlType::TinyInt, &Int8Array::from(vec![i8::MIN, 0]), &["-128", "0"]);
    check(
        SqlType::BigInt,
        &Int64Array::from(vec![i64::MIN, i64::MAX]),
        &["-9223372036854775808", "9223372036854775807"],
    );
    let doubles = Float64Array::from(vec![1.0, 1e10, 0.001, f64::NAN, -0.0, f64::NEG_INFINITY]);
    check(SqlType::Double, &doubles, &["1.0", "1.0E10", "0.001", "NaN", "-0.0", "-Infinity"]);
    check(
        SqlType::STRING,
        &StringArray::from(vec![Some(""), Some("é, \"x\""), None]),
        &["", "é, \"x\"", "null"],
    );
    check(SqlType::BYTES, &BinaryArray::from(vec![&b""[..], &[1, 255, 128]]), &["[]", "[1, -1, -128]"]);
}

/// Decimals are written as by `BigDecimal.toString`, which uses an exponent from 10^-7 down.
#[test]
fn decimals() {
    let check_scale = |scale: i8, values: Vec<i128>, expected: &[&str]| {
        let column = Decimal128Array::from(values).with_precision_and_scale(38, scale).unwrap();
        check(SqlType::Decimal { precision: 38, scale: scale as u8 }, &column, expected);
    };
    check_scale(2, vec![50, -12_345, 0], &["0.50", "-123.45", "0.00"]);
    check_scale(0, vec![0, 10], &["0", "10"]);
    check_scale(8, vec![0, 1, 12, -100, 123], &["0E-8", "1E-8", "1.2E-7", "-0.00000100", "0.00000123"]);
    let column = Decimal128Array::from(vec![1]).with_precision_and_scale(38, 8).unwrap();
    let of = SqlType::Decimal { precision: 38, scale: 8 };
    assert_eq!(shown(&of, Use::Partition, &column), ["0.00000001"]);
}

#[test]
fn times() {
    check(
        SqlType::Date,
        &Date32Array::from(vec![0, 18_262, -719_529, 2_932_897]),
        &["1970-01-01", "2020-01-01", "-0001-12-31", "+10000-01-01"],
    );
    let times = Time32MillisecondArray::from(vec![0, 43_200_000, 43_201_000, 43_201_500, 43_201_001]);
    check(SqlType::Time(3), &times, &["00:00", "12:00", "12:00:01", "12:00:01.500", "12:00:01.001"]);
    let millis = TimestampMillisecondArray::from(vec![0, 1_577_880_000_000, -1]);
    check(
        SqlType::Timestamp(3),
        &millis,
        &["1970-01-01T00:00", "2020-01-01T12:00", "1969-12-31T23:59:59.999"],
    );
    let micros = TimestampMicrosecondArray::from(vec![1_000, 1]);
    check(SqlType::Timestamp(6), &micros, &["1970-01-01T00:00:00.001", "1970-01-01T00:00:00.000001"]);
    let nanos = TimestampNanosecondArray::from(vec![1]).with_timezone("UTC");
    check(SqlType::TimestampLtz(9), &nanos, &["1970-01-01T00:00:00.000000001Z"]);
    let instants = TimestampMillisecondArray::from(vec![0, 1_577_880_000_000]).with_timezone("UTC");
    check(SqlType::TimestampLtz(3), &instants, &["1970-01-01T00:00:00Z", "2020-01-01T12:00:00Z"]);
    assert_eq!(
        shown(&SqlType::TimestampLtz(3), Use::Partition, &instants),
        ["1970-01-01T00:00", "2020-01-01T12:00"]
    );
}

/// Intervals are written as in the examples of Java's documentation of `Period` and `Duration`.
#[test]
fn intervals() {
    let months = IntervalYearMonthArray::from(vec![0, 14, 12, -14, -1]);
    check(SqlType::YearMonth, &months, &["P0D", "P1Y2M", "P1Y", "P-1Y-2M", "P-1M"]);
    let millis = DurationMillisecondArray::from(vec![
        0,
        20_345,
        900_000,
        36_000_000,
        208_800_000,
        -1_500,
        -500,
        -60_000,
    ]);
    check(
        SqlType::DayTime,
        &millis,
        &["PT0S", "PT20.345S", "PT15M", "PT10H", "PT58H", "PT-1.5S", "PT-0.5S", "PT-1M"],
    );
}

#[test]
fn values_within_values() {
    let item = SqlType::Int.field("item", true);
    let list = ListArray::new(
        item,
        OffsetBuffer::new(vec![0, 2, 2].into()),
        Arc::new(Int32Array::from(vec![Some(1), None])),
        None,
    );
    check(SqlType::Array(Box::new(SqlType::Int)), &list, &["[1, null]", "[]"]);
    let fields = vec![("a".to_owned(), SqlType::Int), ("b".to_owned(), SqlType::STRING)];
    let row = SqlType::Row(fields);
    let DataType::Struct(arrow_fields) = row.arrow() else { unreachable!() };
    let columns: Vec<ArrayRef> =
        vec![Arc::new(Int32Array::from(vec![7])), Arc::new(StringArray::from(vec![None::<&str>]))];
    check(row, &StructArray::new(arrow_fields, columns, None), &["+I[7, null]"]);
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    map.keys().append_value("k");
    map.values().append_null();
    map.append(true).unwrap();
    check(SqlType::Map(Box::new(SqlType::STRING), Box::new(SqlType::Int)), &map.finish(), &["{k=null}"]);
}
