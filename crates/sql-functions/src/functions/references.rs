//! Tests that compare SQL functions with other implementations: days and times with the crate `chrono`, sums
//! and products with wider numbers, texts with lists of characters, and encodings with their inverse.

use arrow::array::{AsArray, StringArray};
use arrow::datatypes::{Decimal128Type, Int64Type};
use chrono::{DateTime, Datelike, NaiveDate, TimeZone, Timelike, Utc};
use chrono_tz::Tz;
use proptest::prelude::*;

use super::arithmetic::{ArithmeticOp, bind_arithmetic};
use super::bed::context;
use super::cast::bind_cast;
use super::{Argument, Bound, EvaluationError};
use crate::types::SqlType;
use crate::values::{ColumnarValue, ScalarValue};

fn evaluated(
    bound: &Bound,
    given: &[(SqlType, ScalarValue)],
    zone: Tz,
) -> Result<ScalarValue, EvaluationError> {
    let mut values = Vec::new();
    for ((of, value), to) in given.iter().zip(&bound.arguments) {
        let cast = bind_cast(of, true, to, false, &context(zone)).expect("what binding asks for");
        values.push(cast.kernel.evaluate(&[ColumnarValue::Scalar(value.clone())], 1)?);
    }
    let array = bound.kernel.evaluate(&values, 1)?.to_array(1).expect("a column of one row");
    Ok(super::bed::row_of(&array, 0))
}

/// Calls an SQL function by its name, with literal arguments.
fn called(name: &str, given: &[(SqlType, ScalarValue)], zone: Tz) -> Result<ScalarValue, EvaluationError> {
    let function = super::all().find(|function| function.name == name).expect("a function of that name");
    let arguments: Vec<Argument> = given
        .iter()
        .map(|(of, value)| Argument {
            of: of.clone(),
            is_nullable: value.is_null(),
            literal: Some(value.clone()),
        })
        .collect();
    let bound = (function.bind)(&arguments, &context(zone)).map_err(|error| error.0).expect("it is bound");
    evaluated(&bound, given, zone)
}

fn text(value: &str) -> (SqlType, ScalarValue) {
    (SqlType::STRING, ScalarValue::Utf8(Some(value.to_owned())))
}

fn int(value: i32) -> (SqlType, ScalarValue) {
    (SqlType::Int, ScalarValue::Int32(Some(value)))
}

fn string_of(value: Result<ScalarValue, EvaluationError>) -> Option<String> {
    match value {
        Ok(ScalarValue::Utf8(text)) => text,
        other => panic!("{other:?} is no text"),
    }
}

fn zones() -> impl Strategy<Value = Tz> {
    prop::sample::select(vec![
        Tz::UTC,
        chrono_tz::America::New_York,
        chrono_tz::Asia::Shanghai,
        chrono_tz::Asia::Kathmandu,
        chrono_tz::Australia::Lord_Howe,
        chrono_tz::Pacific::Apia,
        chrono_tz::Africa::Monrovia,
    ])
}

/// Range of instants in the tests: the milliseconds of the years 1 to 9999 without a day at both ends, so
/// that no zone leads out of these years.
const MILLIS: std::ops::Range<i64> = -62_135_500_000_000..253_402_200_000_000;

proptest! {
    /// The year, hour and other parts of an instant equal the parts of the local time in the zone that
    /// `chrono` computes.
    #[test]
    fn parts_of_instants(millis in MILLIS, zone in zones()) {
        let local = zone.from_utc_datetime(&DateTime::<Utc>::from_timestamp_millis(millis).expect("within range").naive_utc());
        let instant = (SqlType::TimestampLtz(3), ScalarValue::TimestampMillisecond(Some(millis), Some("UTC".into())));
        let part = |unit: &str| match called("EXTRACT", &[text(unit), instant.clone()], zone) {
            Ok(ScalarValue::Int64(Some(part))) => part,
            other => panic!("{unit} of {millis} is {other:?}"),
        };
        prop_assert_eq!(part("YEAR"), i64::from(local.year()));
        prop_assert_eq!(part("MONTH"), i64::from(local.month()));
        prop_assert_eq!(part("DAY"), i64::from(local.day()));
        prop_assert_eq!(part("DOY"), i64::from(local.ordinal()));
        prop_assert_eq!(part("WEEK"), i64::from(local.iso_week().week()));
        prop_assert_eq!(part("HOUR"), i64::from(local.hour()));
        prop_assert_eq!(part("MINUTE"), i64::from(local.minute()));
        prop_assert_eq!(part("SECOND"), i64::from(local.second()));
        let cast = bind_cast(&instant.0, false, &SqlType::STRING, false, &context(zone)).expect("a cast");
        let shown = string_of(evaluated(&cast, &[instant], zone));
        prop_assert_eq!(shown, Some(local.format("%Y-%m-%d %H:%M:%S%.3f").to_string()));
    }

    /// A DATE that is shown as text is read as the same day, and months are added as `chrono` adds them.
    #[test]
    fn days_and_months(days in -719_162..2_932_896_i32, months in -1_200..1_200_i32) {
        let date = NaiveDate::default() + chrono::TimeDelta::days(i64::from(days));
        let day = (SqlType::Date, ScalarValue::Date32(Some(days)));
        let to_text = bind_cast(&SqlType::Date, false, &SqlType::STRING, false, &context(Tz::UTC)).expect("a cast");
        let shown = string_of(evaluated(&to_text, std::slice::from_ref(&day), Tz::UTC)).expect("a text");
        prop_assert_eq!(&shown, &date.format("%Y-%m-%d").to_string());
        let to_date = bind_cast(&SqlType::STRING, false, &SqlType::Date, false, &context(Tz::UTC)).expect("a cast");
        prop_assert_eq!(evaluated(&to_date, &[text(&shown)], Tz::UTC), Ok(day.1.clone()));
        let span = chrono::Months::new(months.unsigned_abs());
        let moved = if months < 0 { date.checked_sub_months(span) } else { date.checked_add_months(span) };
        let moved = moved.filter(|moved| (1..=9_999).contains(&moved.year()));
        if let Some(moved) = moved {
            let added = called("TIMESTAMPADD", &[text("MONTH"), int(months), day], Tz::UTC);
            let expected = (moved - NaiveDate::default()).num_days() as i32;
            prop_assert_eq!(added, Ok(ScalarValue::Date32(Some(expected))));
        }
    }

    /// Arithmetic of whole numbers wraps, and division by zero fails.
    #[test]
    fn whole_numbers(left in prop_oneof![any::<i64>(), Just(i64::MIN), Just(-1)], right in prop_oneof![any::<i64>(), Just(-1), Just(0)]) {
        let of = |value: i64| (SqlType::BigInt, ScalarValue::Int64(Some(value)));
        let argument = Argument { of: SqlType::BigInt, is_nullable: false, literal: None };
        let result = |op: ArithmeticOp| {
            let bound = bind_arithmetic(op, &argument, &argument).expect("numbers");
            evaluated(&bound, &[of(left), of(right)], Tz::UTC).map(|result| match result {
                ScalarValue::Int64(Some(number)) => number,
                other => panic!("{other:?} is no number"),
            }).map_err(|error| error.code)
        };
        prop_assert_eq!(result(ArithmeticOp::Add), Ok(left.wrapping_add(right)));
        prop_assert_eq!(result(ArithmeticOp::Subtract), Ok(left.wrapping_sub(right)));
        prop_assert_eq!(result(ArithmeticOp::Multiply), Ok(left.wrapping_mul(right)));
        let divided = |value: Option<i64>| value.ok_or("DIVISION_BY_ZERO");
        prop_assert_eq!(result(ArithmeticOp::Divide), divided((right != 0).then(|| left.wrapping_div(right))));
        prop_assert_eq!(result(ArithmeticOp::Modulo), divided((right != 0).then(|| left.wrapping_rem(right))));
    }

    /// Sums and products of decimals are exact as long as their digits fit.
    #[test]
    fn decimals(left in any::<i64>(), right in any::<i64>()) {
        let of = SqlType::Decimal { precision: 19, scale: 4 };
        let given = |value: i64| (of.clone(), ScalarValue::Decimal128(Some(i128::from(value)), 19, 4));
        let argument = Argument { of: of.clone(), is_nullable: false, literal: None };
        let result = |op: ArithmeticOp| {
            let bound = bind_arithmetic(op, &argument, &argument).expect("numbers");
            let array = evaluated(&bound, &[given(left), given(right)], Tz::UTC).expect("a number").to_array().expect("a column");
            let value = array.as_primitive::<Decimal128Type>();
            (value.value(0), value.scale())
        };
        prop_assert_eq!(result(ArithmeticOp::Add), (i128::from(left) + i128::from(right), 4));
        prop_assert_eq!(result(ArithmeticOp::Subtract), (i128::from(left) - i128::from(right), 4));
        // The exact product of two decimals may need 39 digits: then the last digit is rounded away, half up.
        let (product, scale) = result(ArithmeticOp::Multiply);
        let exact = i128::from(left) * i128::from(right);
        let lost = 10_i128.pow(8 - scale as u32);
        let rounded = (exact.abs() + lost / 2) / lost * exact.signum();
        prop_assert_eq!(product, rounded);
    }

    /// Functions of text count and cut in characters, not in bytes.
    #[test]
    fn texts(value in "\\PC{0,12}", other in "[a-c]{0,3}", start in -15..15_i32, length in 0..15_i32) {
        let letters: Vec<char> = value.chars().collect();
        let count = letters.len() as i32;
        prop_assert_eq!(called("CHAR_LENGTH", &[text(&value)], Tz::UTC), Ok(ScalarValue::Int32(Some(count))));
        let reversed: String = letters.iter().rev().collect();
        prop_assert_eq!(string_of(called("REVERSE", &[text(&value)], Tz::UTC)), Some(reversed));
        let left: String = letters.iter().take(length as usize).collect();
        prop_assert_eq!(string_of(called("LEFT", &[text(&value), int(length)], Tz::UTC)), Some(left));
        let right: String = letters.iter().skip((count - length).max(0) as usize).collect();
        prop_assert_eq!(string_of(called("RIGHT", &[text(&value), int(length)], Tz::UTC)), Some(right));
        let from = if start < 0 { count + start } else { start - 1 };
        if let (Ok(from), true) = (usize::try_from(from), start != 0) {
            let cut: String = letters.iter().skip(from).take(length as usize).collect();
            prop_assert_eq!(string_of(called("SUBSTRING", &[text(&value), int(start), int(length)], Tz::UTC)), Some(cut));
        }
        let joined = string_of(called("CONCAT", &[text(&value), text(&other)], Tz::UTC));
        prop_assert_eq!(joined, Some(format!("{value}{other}")));
        let place = value.find(&*other).map_or(0, |at| value[..at].chars().count() as i32 + 1);
        prop_assert_eq!(called("POSITION", &[text(&other), text(&value)], Tz::UTC), Ok(ScalarValue::Int32(Some(place))));
    }

    /// Decoding a text or bytes reverses encoding.
    #[test]
    fn encodings(value in "\\PC{0,20}", bytes in prop::collection::vec(any::<u8>(), 0..20)) {
        let there_and_back = |there: &str, back: &str| {
            let there = string_of(called(there, &[text(&value)], Tz::UTC)).expect("a text");
            string_of(called(back, &[text(&there)], Tz::UTC))
        };
        prop_assert_eq!(there_and_back("TO_BASE64", "FROM_BASE64"), Some(value.clone()));
        prop_assert_eq!(there_and_back("URL_ENCODE", "URL_DECODE"), Some(value.clone()));
        prop_assert_eq!(there_and_back("JSON_QUOTE", "JSON_UNQUOTE"), Some(value.clone()));
        prop_assert_eq!(there_and_back("JSON_STRING", "JSON_UNQUOTE"), Some(value.clone()));
        let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        prop_assert_eq!(called("UNHEX", &[text(&digits)], Tz::UTC), Ok(ScalarValue::Binary(Some(bytes.clone()))));
        let hex = called("HEX", &[text(&value)], Tz::UTC);
        let expected: String = value.bytes().map(|byte| format!("{byte:02X}")).collect();
        prop_assert_eq!(string_of(hex), Some(expected));
        for charset in ["UTF-8", "UTF-16", "UTF-16LE", "UTF-16BE"] {
            let encoded = called("ENCODE", &[text(&value), text(charset)], Tz::UTC).expect("bytes");
            let decoded = called("DECODE", &[(SqlType::BYTES, encoded), text(charset)], Tz::UTC);
            prop_assert_eq!(string_of(decoded), Some(value.clone()));
        }
    }

    /// TO_TIMESTAMP_LTZ of a number in any unit, from seconds to nanoseconds, is the instant that many units
    /// after 1970-01-01 00:00:00 UTC.
    #[test]
    fn epochs(number in prop_oneof![any::<i64>(), -1_000_000_000_000..1_000_000_000_000_i64], digits in 0..=9_i32) {
        let found = called("TO_TIMESTAMP_LTZ", &[(SqlType::BigInt, ScalarValue::Int64(Some(number))), int(digits)], Tz::UTC);
        let ticks = i128::from(number) * 10_i128.pow(digits.max(3) as u32 - digits as u32);
        let seconds = ticks.div_euclid(10_i128.pow(digits.max(3) as u32));
        let is_shown = (-62_167_219_200..=253_402_300_799).contains(&seconds);
        let array = found.expect("an instant or NULL").to_array().expect("a column");
        let unit = match digits { 0..=3 => 3, 4..=6 => 6, _ => 9 };
        let expected = ticks * 10_i128.pow(unit - digits.max(3) as u32);
        let expected = i64::try_from(expected).ok().filter(|_| is_shown);
        let number = arrow::compute::cast(&array, &arrow::datatypes::DataType::Int64).expect("a number");
        let number = number.as_primitive::<Int64Type>();
        prop_assert_eq!(arrow::array::Array::is_valid(number, 0).then(|| number.value(0)), expected);
    }
}

/// Functions of empty columns have empty results.
#[test]
fn no_rows_have_no_results() {
    let empty = ColumnarValue::Array(std::sync::Arc::new(StringArray::from(Vec::<&str>::new())));
    for name in ["UPPER", "REVERSE", "UNHEX", "TO_BASE64", "CHAR_LENGTH"] {
        let function = super::all().find(|function| function.name == name).expect("a function of that name");
        let argument = Argument { of: SqlType::STRING, is_nullable: true, literal: None };
        let bound =
            (function.bind)(&[argument], &context(Tz::UTC)).map_err(|error| error.0).expect("it is bound");
        let result = bound.kernel.evaluate(std::slice::from_ref(&empty), 0).expect("a column");
        assert_eq!(result.to_array(0).expect("a column").len(), 0, "{name}");
    }
}
