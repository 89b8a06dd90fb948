//! Test helpers for functions. Values are written as `TYPE: text`, bound, cast and evaluated as in a query. Each call
//! runs with scalars, with columns and with both, and the results must agree.
//!
//! This module reads and shows values with its own code, so a fault in the functions' own reading or writing is
//! found.

use std::sync::Arc;

use arrow::array::ArrayRef;
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};
use chrono_tz::Tz;
use thalweg_model::VirtualClock;

use super::cast::bind_cast;
use super::{Argument, BindError, Bound, Context, EvaluationError, Function};
use crate::types::SqlType;
use crate::values::{ColumnarValue, ScalarValue};

/// Returns the context in which the tests bind functions: a session in the given time zone.
pub(super) fn context(zone: Tz) -> Context {
    Context { zone, clock: Arc::new(VirtualClock::default()) }
}

/// Parses `TYPE: text` as a literal argument of a function under test.
pub(super) fn argument(written: &str) -> Argument {
    let (of, text) = written.split_once(": ").unwrap_or((written, ""));
    let of = sql_type(of.trim());
    let literal = scalar(&of, text);
    Argument { is_nullable: literal.is_null(), literal: Some(literal), of }
}

/// Binds and evaluates a function call of a test, and returns `TYPE: text`, `error CODE` or `refused`.
pub(super) fn evaluated(
    written: &[&str],
    zone: Tz,
    bind: impl Fn(&[Argument]) -> Result<Bound, BindError>,
) -> String {
    let arguments: Vec<_> = written.iter().map(|written| argument(written)).collect();
    let Ok(bound) = bind(&arguments) else { return "refused".to_owned() };
    // The function stays bound to the literals of the test; columns of the same values must give equal
    // results.
    let as_scalars = run(&bound, &arguments, zone, |_| true);
    for are_columns in [0b11_usize, 0b01, 0b10] {
        let other = run(&bound, &arguments, zone, |place| are_columns >> place.min(1) & 1 == 0);
        assert_eq!(as_scalars, other, "{written:?} as columns {are_columns:#b}");
    }
    match as_scalars {
        Ok(value) => {
            assert!(bound.is_nullable || !value.is_null(), "{written:?} is NULL and was not said to be");
            assert_eq!(value.data_type(), bound.result.arrow(), "{written:?} has another type than it said");
            format!("{}: {}", bound.result, show(&bound.result, &value))
        }
        Err(error) => format!("error {}", error.code),
    }
}

/// Calls the function with the given name in the time zone UTC, as [`evaluated`] does.
pub(super) fn called(functions: &[Function], name: &str, written: &[&str]) -> String {
    let function = functions.iter().find(|function| function.name == name);
    let function = function.unwrap_or_else(|| panic!("no function {name}"));
    evaluated(written, Tz::UTC, |arguments| (function.bind)(arguments, &context(Tz::UTC)))
}

fn run(
    bound: &Bound,
    arguments: &[Argument],
    zone: Tz,
    is_scalar: impl Fn(usize) -> bool,
) -> Result<ScalarValue, EvaluationError> {
    const ROWS: usize = 3;
    assert_eq!(bound.arguments.len(), arguments.len(), "a type for each argument");
    let mut values = Vec::new();
    for (place, (argument, to)) in arguments.iter().zip(&bound.arguments).enumerate() {
        let literal = argument.literal.clone().unwrap_or(ScalarValue::Null);
        let value = if is_scalar(place) {
            ColumnarValue::Scalar(literal)
        } else {
            ColumnarValue::Array(literal.to_array_of_size(ROWS).expect("a column"))
        };
        let cast = bind_cast(&argument.of, argument.is_nullable, to, false, &context(zone)).expect("a cast");
        values.push(cast.kernel.evaluate(&[value], ROWS)?);
    }
    match bound.kernel.evaluate(&values, ROWS)? {
        ColumnarValue::Scalar(value) => Ok(value),
        ColumnarValue::Array(array) => {
            assert_eq!(array.len(), ROWS, "as many rows as it was asked for");
            let rows: Vec<_> = (0..ROWS).map(|row| row_of(&array, row)).collect();
            assert!(rows.iter().all(|row| show(&bound.result, row) == show(&bound.result, &rows[0])));
            Ok(rows[1].clone())
        }
    }
}

pub(super) fn row_of(array: &ArrayRef, row: usize) -> ScalarValue {
    ScalarValue::try_from_array(array, row).expect("a scalar")
}

/// Parses an SQL type as a test writes it.
pub(super) fn sql_type(text: &str) -> SqlType {
    let (name, rest) = text.split_once(['(', '<']).unwrap_or((text, ""));
    let rest = rest.trim_end_matches([')', '>']);
    let numbers: Vec<u32> = rest.split(',').filter_map(|number| number.trim().parse().ok()).collect();
    let number = |place: usize, or: u32| numbers.get(place).copied().unwrap_or(or);
    match name {
        "NULL" => SqlType::Null,
        "BOOLEAN" => SqlType::Boolean,
        "TINYINT" => SqlType::TinyInt,
        "SMALLINT" => SqlType::SmallInt,
        "INT" => SqlType::Int,
        "BIGINT" => SqlType::BigInt,
        "FLOAT" => SqlType::Float,
        "DOUBLE" => SqlType::Double,
        "DECIMAL" => SqlType::Decimal { precision: number(0, 10) as u8, scale: number(1, 0) as u8 },
        "CHAR" => SqlType::Char(number(0, 1)),
        "VARCHAR" => SqlType::Varchar(number(0, 1)),
        "STRING" => SqlType::STRING,
        "BINARY" => SqlType::Binary(number(0, 1)),
        "VARBINARY" => SqlType::Varbinary(number(0, 1)),
        "BYTES" => SqlType::BYTES,
        "DATE" => SqlType::Date,
        "TIME" => SqlType::Time(number(0, 0) as u8),
        "TIMESTAMP" => SqlType::Timestamp(number(0, 6) as u8),
        "TIMESTAMP_LTZ" => SqlType::TimestampLtz(number(0, 6) as u8),
        "INTERVAL DAY TO SECOND" => SqlType::DayTime,
        "INTERVAL YEAR TO MONTH" => SqlType::YearMonth,
        "ARRAY" => SqlType::Array(Box::new(sql_type(rest))),
        _ => panic!("no type {text}"),
    }
}

/// Parses a value of a test: instants in UTC, intervals as numbers, bytes as hexadecimal digits.
pub(super) fn scalar(of: &SqlType, text: &str) -> ScalarValue {
    if text == "NULL" || *of == SqlType::Null {
        return ScalarValue::try_from(&of.arrow()).expect("a scalar");
    }
    let zone = || Some(Arc::from("UTC"));
    match of {
        SqlType::Boolean => ScalarValue::Boolean(Some(text == "TRUE")),
        SqlType::TinyInt => ScalarValue::Int8(Some(text.parse().expect("a number"))),
        SqlType::SmallInt => ScalarValue::Int16(Some(text.parse().expect("a number"))),
        SqlType::Int => ScalarValue::Int32(Some(text.parse().expect("a number"))),
        SqlType::BigInt => ScalarValue::Int64(Some(text.parse().expect("a number"))),
        SqlType::Float => ScalarValue::Float32(Some(text.parse().expect("a number"))),
        SqlType::Double => ScalarValue::Float64(Some(text.parse().expect("a number"))),
        &SqlType::Decimal { precision, scale } => {
            let places = text.split_once('.').map_or(0, |(_, part)| part.len());
            assert_eq!(places, usize::from(scale), "{text} is no {of}");
            let value = text.replace('.', "").parse().expect("a number");
            ScalarValue::Decimal128(Some(value), precision, scale as i8)
        }
        SqlType::Char(_) | SqlType::Varchar(_) => ScalarValue::Utf8(Some(text.to_owned())),
        SqlType::Binary(_) | SqlType::Varbinary(_) => {
            let digit = |place: usize| u8::from_str_radix(&text[place..place + 2], 16).expect("hex");
            ScalarValue::Binary(Some((0..text.len()).step_by(2).map(digit).collect()))
        }
        SqlType::Date => {
            let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").expect("a day");
            ScalarValue::Date32(Some((day - NaiveDate::default()).num_days() as i32))
        }
        SqlType::Time(_) => {
            let time = NaiveTime::parse_from_str(text, "%H:%M:%S%.f").expect("a time");
            ScalarValue::Time32Millisecond(Some((time - NaiveTime::default()).num_milliseconds() as i32))
        }
        SqlType::Timestamp(0..=3) => ScalarValue::TimestampMillisecond(Some(millis(text)), None),
        SqlType::Timestamp(4..=6) => ScalarValue::TimestampMicrosecond(Some(micros(text)), None),
        SqlType::Timestamp(_) => ScalarValue::TimestampNanosecond(Some(nanos(text)), None),
        SqlType::TimestampLtz(0..=3) => ScalarValue::TimestampMillisecond(Some(millis(text)), zone()),
        SqlType::TimestampLtz(4..=6) => ScalarValue::TimestampMicrosecond(Some(micros(text)), zone()),
        SqlType::TimestampLtz(_) => ScalarValue::TimestampNanosecond(Some(nanos(text)), zone()),
        SqlType::DayTime => ScalarValue::DurationMillisecond(Some(text.parse().expect("milliseconds"))),
        SqlType::YearMonth => ScalarValue::IntervalYearMonth(Some(text.parse().expect("months"))),
        _ => panic!("{of} has no written values"),
    }
}

fn reading(text: &str) -> DateTime<chrono::Utc> {
    NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f").expect("a timestamp").and_utc()
}

fn millis(text: &str) -> i64 {
    reading(text).timestamp_millis()
}

fn micros(text: &str) -> i64 {
    reading(text).timestamp_micros()
}

fn nanos(text: &str) -> i64 {
    reading(text).timestamp_nanos_opt().expect("within range")
}

/// Formats a value of a test as [`scalar`] parses it, without trailing zeros of the fraction of a second.
pub(super) fn show(of: &SqlType, value: &ScalarValue) -> String {
    if value.is_null() {
        return "NULL".to_owned();
    }
    let instant = |seconds: i64, nanos: i64| {
        let shown = DateTime::from_timestamp(seconds, nanos as u32).expect("within range");
        shown.format("%Y-%m-%d %H:%M:%S%.f").to_string()
    };
    match value {
        ScalarValue::Boolean(Some(value)) => value.to_string().to_uppercase(),
        ScalarValue::Float32(Some(value)) => format!("{value:?}"),
        ScalarValue::Float64(Some(value)) => format!("{value:?}"),
        ScalarValue::Decimal128(Some(value), _, scale) => {
            let digits = format!("{:0width$}", value.unsigned_abs(), width = *scale as usize + 1);
            let (whole, part) = digits.split_at(digits.len() - *scale as usize);
            let sign = if *value < 0 { "-" } else { "" };
            let point = if part.is_empty() { "" } else { "." };
            format!("{sign}{whole}{point}{part}")
        }
        ScalarValue::Binary(Some(bytes)) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        ScalarValue::Utf8(Some(text)) => text.clone(),
        ScalarValue::Date32(Some(days)) => {
            (NaiveDate::default() + TimeDelta::days(i64::from(*days))).to_string()
        }
        ScalarValue::Time32Millisecond(Some(time)) => (NaiveTime::default()
            + TimeDelta::milliseconds(i64::from(*time)))
        .format("%H:%M:%S%.f")
        .to_string(),
        ScalarValue::TimestampMillisecond(Some(value), _) => {
            instant(value.div_euclid(1_000), value.rem_euclid(1_000) * 1_000_000)
        }
        ScalarValue::TimestampMicrosecond(Some(value), _) => {
            instant(value.div_euclid(1_000_000), value.rem_euclid(1_000_000) * 1_000)
        }
        ScalarValue::TimestampNanosecond(Some(value), _) => {
            instant(value.div_euclid(1_000_000_000), value.rem_euclid(1_000_000_000))
        }
        ScalarValue::DurationMillisecond(Some(value)) => value.to_string(),
        ScalarValue::IntervalYearMonth(Some(value)) => value.to_string(),
        other => match of {
            SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => other.to_string(),
            _ => format!("{other:?}"),
        },
    }
}
