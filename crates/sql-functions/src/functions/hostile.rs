//! Tests of the rules K1 to K3 for every function, with hostile values of every type. No call panics, scalars
//! and columns agree row by row, and results have the type and length announced by binding.
//!
//! Calls are drawn from a seed: a function and up to four arguments of any types. Each argument is a literal, a
//! scalar or a column. The zone is one of several. `THALWEG_CALLS` sets the number of calls of each function, which
//! is small by default.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{Array, ListArray, new_empty_array};
use arrow::buffer::OffsetBuffer;
use chrono_tz::Tz;
use thalweg_model::{Entropy, SeededEntropy};

use super::bed::{context, row_of, scalar};
use super::cast::bind_cast;
use super::{Argument, Bound, EvaluationError, Function};
use crate::types::SqlType;
use crate::values::{ColumnarValue, ScalarValue};

/// Default number of calls drawn for each function; `THALWEG_CALLS` replaces it.
const CALLS: usize = 60;

const ROWS: usize = 5;

/// Pseudo-random numbers of a test, which depend on its seed alone.
struct Draws(SeededEntropy);

impl Draws {
    /// Draws a number from 0 up to but without `end`.
    fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Returns the SQL types, each with the hostile values that the test passes to functions.
fn values() -> Vec<(SqlType, Vec<ScalarValue>)> {
    let written = |of: SqlType, texts: &[&str]| {
        let values = texts.iter().map(|text| scalar(&of, text)).collect::<Vec<_>>();
        (of, values)
    };
    let nines = 10_i128.pow(38) - 1;
    let decimal = |scale: i8| {
        let values = [nines, -nines, 0, 1, -1, 5, 10_i128.pow(19)];
        let of = SqlType::Decimal { precision: 38, scale: scale as u8 };
        (of, values.map(|value| ScalarValue::Decimal128(Some(value), 38, scale)).to_vec())
    };
    let long = "x".repeat(5_000);
    let texts = [
        "",
        " ",
        "a",
        "abc",
        "ä😀ß",
        "\0",
        "%",
        "_",
        "%%a_",
        "\\",
        "(",
        "a{1000}",
        "(a|b)*c",
        "[^",
        "$1",
        "-1",
        "0",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "1e400",
        "NaN",
        "true",
        "2021-02-31",
        "0001-01-01",
        "9999-12-31 23:59:59.999999999",
        "24:00:00",
        "yyyy-MM-dd HH:mm:ss.SSS",
        "yyyy''",
        "'",
        "G",
        "UTC",
        "America/New_York",
        "+14:00",
        "-99:99",
        "UTF-16",
        "US-ASCII",
        "{\"a\": [1, {\"b\": null}]}",
        "$.a[*].b",
        "lax $",
        "$[-9223372036854775808]",
        "\"\\ud800\"",
        "zzz",
        "146",
        "YWJj",
        "%zz%4",
        "http://u:p@h:99999/p?a=b&a=c#r",
        "YEAR",
        "MONTH",
        "DAY",
        "HOST",
        "QUERY",
        "VALUE",
        "SCALAR",
        ",",
        "=",
        "a=1,b=2,a=3",
        &long,
    ];
    let years =
        ["0001-01-01", "9999-12-31", "1969-12-31", "1970-01-01", "2000-02-29", "1582-10-10", "2024-03-31"];
    let instants = [
        "0001-01-01 00:00:00",
        "9999-12-31 23:59:59.999",
        "1969-12-31 23:59:59.999",
        "2024-03-31 01:30:00",
        "2024-10-27 00:59:59.999",
        "2011-12-30 12:00:00",
    ];
    let nanos = ["1677-09-21 00:12:44", "2262-04-11 23:47:16.854775807", "1969-12-31 23:59:59.999999999"];
    let ends = |of: SqlType, value: fn(Option<i64>) -> ScalarValue| {
        (
            of,
            [i64::MIN, i64::MIN + 1, i64::MAX, 0, 1, -1, 2, 32, 64, 1_000_000]
                .map(|number| value(Some(number)))
                .to_vec(),
        )
    };
    let ends32 = |of: SqlType, value: fn(Option<i32>) -> ScalarValue| {
        (
            of,
            [i32::MIN, i32::MIN + 1, i32::MAX, 0, 1, -1, 2, 3, 31, 32, 100]
                .map(|number| value(Some(number)))
                .to_vec(),
        )
    };
    let floats =
        [f64::MAX, f64::MIN, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 5e-324, 0.5, -1.5, 1e18];
    let list = |of: SqlType, items: &[ScalarValue], lengths: &[usize]| {
        let lists = lengths.iter().map(|length| {
            let items: Vec<ScalarValue> = items.iter().cloned().cycle().take(*length).collect();
            let items = match items.is_empty() {
                true => new_empty_array(&of.arrow()),
                false => ScalarValue::iter_to_array(items).expect("items of one type"),
            };
            let offsets = OffsetBuffer::from_lengths([items.len()]);
            ScalarValue::List(Arc::new(ListArray::new(of.field("item", true), offsets, items, None)))
        });
        (SqlType::Array(Box::new(of.clone())), lists.collect::<Vec<_>>())
    };
    let numbers = [Some(i32::MIN), None, Some(0), Some(0), Some(i32::MAX), Some(-1)].map(ScalarValue::Int32);
    let words = ["a", "", "ä", "a"].map(|word| ScalarValue::Utf8(Some(word.to_owned())));
    let mut all = vec![
        (SqlType::Null, vec![ScalarValue::Null]),
        (SqlType::Boolean, vec![ScalarValue::Boolean(Some(true)), ScalarValue::Boolean(Some(false))]),
        (
            SqlType::TinyInt,
            [i8::MIN, i8::MAX, 0, -1, 1].map(|number| ScalarValue::Int8(Some(number))).to_vec(),
        ),
        (
            SqlType::SmallInt,
            [i16::MIN, i16::MAX, 0, -1, 1].map(|number| ScalarValue::Int16(Some(number))).to_vec(),
        ),
        ends32(SqlType::Int, ScalarValue::Int32),
        ends(SqlType::BigInt, ScalarValue::Int64),
        (SqlType::Float, floats.map(|number| ScalarValue::Float32(Some(number as f32))).to_vec()),
        (SqlType::Double, floats.map(|number| ScalarValue::Float64(Some(number))).to_vec()),
        decimal(0),
        decimal(19),
        decimal(38),
        written(SqlType::STRING, &texts),
        written(SqlType::Char(3), &["", "abc", "%  ", "ä😀 "]),
        (
            SqlType::BYTES,
            [&[0xFF_u8, 0, 0x80][..], &[], &[0xD8, 0], &[b'a'; 300]]
                .map(|bytes| ScalarValue::Binary(Some(bytes.to_vec())))
                .to_vec(),
        ),
        written(SqlType::Date, &years),
        ends32(SqlType::Date, ScalarValue::Date32),
        ends32(SqlType::Time(3), ScalarValue::Time32Millisecond),
        written(SqlType::Timestamp(3), &instants),
        ends(SqlType::Timestamp(0), |value| ScalarValue::TimestampMillisecond(value, None)),
        ends(SqlType::Timestamp(6), |value| ScalarValue::TimestampMicrosecond(value, None)),
        written(SqlType::Timestamp(9), &nanos),
        written(SqlType::TimestampLtz(3), &instants),
        ends(SqlType::TimestampLtz(6), |value| ScalarValue::TimestampMicrosecond(value, Some("UTC".into()))),
        ends(SqlType::TimestampLtz(9), |value| ScalarValue::TimestampNanosecond(value, Some("UTC".into()))),
        ends(SqlType::DayTime, ScalarValue::DurationMillisecond),
        ends32(SqlType::YearMonth, ScalarValue::IntervalYearMonth),
        list(SqlType::Int, &numbers, &[0, 1, 6, 1_000]),
        list(SqlType::STRING, &words, &[0, 1, 4, 500]),
    ];
    for (of, values) in &mut all {
        values.push(ScalarValue::try_from(&of.arrow()).expect("a NULL of the type"));
    }
    all
}

/// One drawn argument of a function call: its form for binding, and its values.
struct Given {
    argument: Argument,
    rows: Vec<ScalarValue>,
}

fn given(draws: &mut Draws, values: &[(SqlType, Vec<ScalarValue>)]) -> Given {
    // Half of the arguments are text or whole numbers, because most functions take these.
    let (of, values) = match draws.below(4) {
        0 => values.iter().find(|(of, _)| *of == SqlType::STRING).expect("there is text"),
        1 => values.iter().find(|(of, _)| *of == SqlType::Int).expect("there are whole numbers"),
        _ => draws.one(values),
    };
    let is_literal = draws.below(3) == 0;
    let rows: Vec<ScalarValue> = match is_literal || draws.below(4) == 0 {
        true => vec![draws.one(values).clone()],
        false => (0..ROWS).map(|_| draws.one(values).clone()).collect(),
    };
    let literal = is_literal.then(|| rows[0].clone());
    let is_nullable = !is_literal || rows[0].is_null();
    Given { argument: Argument { of: of.clone(), is_nullable, literal }, rows }
}

/// Evaluates a drawn function call; returns the arguments as the function takes them, and the results.
fn evaluated(
    bound: &Bound,
    given: &[Given],
    zone: Tz,
    value_of: &dyn Fn(&Given) -> ColumnarValue,
    rows: usize,
) -> Result<Vec<ScalarValue>, EvaluationError> {
    let mut values = Vec::new();
    for (given, to) in given.iter().zip(&bound.arguments) {
        let cast =
            bind_cast(&given.argument.of, true, to, false, &context(zone)).expect("what binding asks for");
        values.push(cast.kernel.evaluate(&[value_of(given)], rows)?);
    }
    let result = bound.kernel.evaluate(&values, rows)?;
    assert_eq!(result.data_type(), bound.result.arrow(), "the type of the result");
    Ok(match result {
        ColumnarValue::Scalar(result) => vec![result; rows],
        ColumnarValue::Array(array) => {
            assert_eq!(array.len(), rows, "the length of the result");
            (0..rows).map(|row| row_of(&array, row)).collect()
        }
    })
}

fn call(function: &Function, given: &[Given], zone: Tz) {
    let arguments: Vec<Argument> = given.iter().map(|given| given.argument.clone()).collect();
    let Ok(bound) = (function.bind)(&arguments, &context(zone)) else { return };
    assert_eq!(bound.arguments.len(), given.len(), "a type for each argument");
    let together = evaluated(&bound, given, zone, &column_or_scalar, ROWS);
    let mut apart = Vec::new();
    for row in 0..ROWS {
        let scalar = |given: &Given| ColumnarValue::Scalar(given.rows[row % given.rows.len()].clone());
        match evaluated(&bound, given, zone, &scalar, 1) {
            Ok(results) => apart.extend(results),
            Err(error) => {
                assert_ne!(error.code, "EVALUATION", "{error}");
                assert!(together.is_err(), "row {row} fails alone only: {error}");
                return;
            }
        }
    }
    match together {
        Ok(results) => {
            assert!(bound.is_nullable || results.iter().all(|result| !result.is_null()), "NULL was not said");
            // Results are compared as text, because NaN does not equal NaN.
            let shown = |results: &[ScalarValue]| format!("{results:?}");
            if function.is_deterministic {
                assert_eq!(shown(&results), shown(&apart), "columns and scalars");
            }
        }
        Err(error) => assert!(!function.is_deterministic, "no row fails alone, and together: {error}"),
    }
}

fn column_or_scalar(given: &Given) -> ColumnarValue {
    match &given.rows[..] {
        [one] => ColumnarValue::Scalar(one.clone()),
        rows => ColumnarValue::Array(
            ScalarValue::iter_to_array(rows.iter().cloned()).expect("values of one type"),
        ),
    }
}

#[test]
fn no_call_panics_and_columns_are_as_scalars() {
    let calls = std::env::var("THALWEG_CALLS").ok().and_then(|calls| calls.parse().ok()).unwrap_or(CALLS);
    let values = values();
    let zones = [
        Tz::UTC,
        chrono_tz::America::New_York,
        chrono_tz::Asia::Kathmandu,
        chrono_tz::Pacific::Apia,
        chrono_tz::Africa::Monrovia,
    ];
    let mut wrong = Vec::new();
    for (place, function) in super::all().enumerate() {
        let mut draws = Draws(SeededEntropy::new(place as u64));
        let mut failures = 0;
        for _ in 0..calls {
            let count = draws.below(5);
            let given: Vec<Given> = (0..count).map(|_| given(&mut draws, &values)).collect();
            let zone = *draws.one(&zones);
            let failed = catch_unwind(AssertUnwindSafe(|| call(function, &given, zone)));
            if let Err(panic) = failed {
                let why = panic.downcast_ref::<String>().map_or_else(
                    || panic.downcast_ref::<&str>().copied().unwrap_or("a panic").to_owned(),
                    Clone::clone,
                );
                let shown: Vec<String> = given
                    .iter()
                    .map(|given| {
                        let rows = format!("{:?}", given.rows);
                        format!("{} {rows:.300}", given.argument.of)
                    })
                    .collect();
                failures += 1;
                if failures <= 2 {
                    wrong.push(format!("{}({}) in {zone}: {why:.600}", function.name, shown.join(", ")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} calls:\n{}", wrong.len(), wrong.join("\n"));
}
