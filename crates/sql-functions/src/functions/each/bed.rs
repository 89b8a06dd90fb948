//! Test helper that runs functions on text: `check(TEXT, "SUBSTRING('abc', 2)", "bc")`.
//!
//! Arguments are NULL, TRUE, FALSE, whole numbers (INT), numbers with a point (DOUBLE), numbers after `L`
//! (BIGINT), texts in quotes (doubled within), bytes as X'..' and `ARRAY[...]`. DATE, TIME, TIMESTAMP, LTZ,
//! `DAYS` (milliseconds) and `MONTHS` stand before a text. Results are shown as Arrow shows them, NULL as
//! `NULL`.
//!
//! Every call is made with scalars, with columns, and with columns in which one argument after the other is
//! NULL in the row before. All must agree, so each case also tests rules K1 and K2 of `functions.rs`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::compute::concat;
use arrow::datatypes::{DataType, IntervalUnit, TimeUnit};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use chrono_tz::Tz;
use thalweg_model::{ProcessingTime, VirtualClock};

use crate::functions::{Argument, Context, EvaluationError, Function};
use crate::types::SqlType;
use crate::values::{ColumnarValue, ScalarValue};

/// Returns a context for binding functions in tests, with a zone and a clock at 2024-02-29T12:34:56.789Z.
pub(crate) fn context(zone: &str) -> Context {
    let zone: Tz = zone.parse().expect("the test names a zone");
    let now = ProcessingTime::from_nanos(1_709_210_096_789_000_000);
    Context { zone, clock: Arc::new(VirtualClock::starting_at(now)) }
}

/// Checks the result of a function call in the time zone UTC.
pub(crate) fn check(functions: &[Function], call: &str, expected: &str) {
    check_in("UTC", functions, call, expected);
}

/// Checks the result of a function call in a time zone.
pub(crate) fn check_in(zone: &str, functions: &[Function], call: &str, expected: &str) {
    let shown = run(zone, functions, call).unwrap_or_else(|error| format!("error: {error}"));
    assert_eq!(shown, expected, "{call} in {zone}");
}

/// Returns the message with which binding refuses a function call.
pub(crate) fn refusal(functions: &[Function], call: &str) -> String {
    let (name, arguments) = read_call(call);
    let function = functions.iter().find(|function| function.name == name).expect("the function is there");
    let given: Vec<Argument> = arguments.iter().map(|(_, argument)| argument.clone()).collect();
    match (function.bind)(&given, &context("UTC")) {
        Ok(bound) => format!("it gives {}", bound.result),
        Err(error) => error.to_string(),
    }
}

pub(crate) fn result_type(functions: &[Function], call: &str) -> String {
    refusal(functions, call).trim_start_matches("it gives ").to_owned()
}

fn run(zone: &str, functions: &[Function], call: &str) -> Result<String, String> {
    let (name, arguments) = read_call(call);
    let function = functions.iter().find(|function| function.name == name);
    let function = function.unwrap_or_else(|| panic!("there is no function {name}"));
    let given: Vec<Argument> = arguments.iter().map(|(_, argument)| argument.clone()).collect();
    let bound = (function.bind)(&given, &context(zone)).map_err(|error| error.to_string())?;
    assert_eq!(bound.arguments.len(), given.len(), "{call}: a type for each argument");
    let arrow = bound.result.arrow();
    let cast = |place: usize| {
        let wanted = bound.arguments[place].arrow();
        let scalar = &arguments[place].0;
        if scalar.data_type() == wanted { scalar.clone() } else { scalar.cast_to(&wanted).expect("a cast") }
    };
    let scalars: Vec<ScalarValue> = (0..given.len()).map(cast).collect();
    let all: Vec<ColumnarValue> = scalars.iter().cloned().map(ColumnarValue::Scalar).collect();
    let message = |error: EvaluationError| format!("{}: {error}", error.code);
    let ColumnarValue::Scalar(one) = bound.kernel.evaluate(&all, 3).map_err(message)? else {
        panic!("{call}: scalars must give a scalar");
    };
    assert_eq!(one.data_type(), arrow, "{call}: the type of the result");
    assert!(bound.is_nullable || !one.is_null(), "{call}: it said that it is never NULL");
    let one = one.to_array().expect("an array of a scalar");
    // The call is repeated with columns of two rows; in the first row one argument after the other is NULL.
    for null in 0..=given.len() {
        let columns: Vec<ColumnarValue> = scalars
            .iter()
            .enumerate()
            .map(|(place, scalar)| {
                let value = scalar.to_array().expect("an array of a scalar");
                let absent = ScalarValue::try_from(&scalar.data_type()).expect("a null");
                let first = if place == null { absent.to_array().expect("an array") } else { value.clone() };
                ColumnarValue::Array(concat(&[first.as_ref(), value.as_ref()]).expect("two rows"))
            })
            .collect();
        if columns.is_empty() {
            break;
        }
        let many = bound.kernel.evaluate(&columns, 2).map_err(message)?;
        let ColumnarValue::Array(many) = many else { panic!("{call}: columns must give a column") };
        assert_eq!(many.data_type(), &arrow, "{call}: the type of the result");
        assert_eq!(many.len(), 2, "{call}: the length of the result");
        assert_eq!(shown(&many, 1), shown(&one, 0), "{call}: columns and scalars must agree, NULL at {null}");
    }
    Ok(shown(&one, 0))
}

fn shown(array: &ArrayRef, row: usize) -> String {
    if array.is_null(row) {
        return "NULL".to_owned();
    }
    let options = FormatOptions::new().with_null("NULL");
    let formatter = ArrayFormatter::try_new(array.as_ref(), &options).expect("arrow shows all types");
    formatter.value(row).to_string()
}

/// Parses a function call of a test into the name and the arguments, each with its form for binding.
fn read_call(call: &str) -> (String, Vec<(ScalarValue, Argument)>) {
    let (name, rest) = call.split_once('(').expect("a call has arguments");
    let mut reader = Reader { rest };
    let mut arguments = Vec::new();
    reader.space();
    while !reader.rest.starts_with(')') {
        let (scalar, of) = reader.value();
        let literal = Some(scalar.clone());
        arguments.push((scalar.clone(), Argument { of, is_nullable: scalar.is_null(), literal }));
        reader.space();
        reader.rest = reader.rest.strip_prefix(',').unwrap_or(reader.rest);
        reader.space();
    }
    (name.to_owned(), arguments)
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn value(&mut self) -> (ScalarValue, SqlType) {
        self.space();
        let end = self.rest.find([' ', ',', ')', '\'', '[', ']']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match word {
            "" => (ScalarValue::from(self.text().as_str()), SqlType::STRING),
            "NULL" => (ScalarValue::Null, SqlType::Null),
            "TRUE" => (ScalarValue::Boolean(Some(true)), SqlType::Boolean),
            "FALSE" => (ScalarValue::Boolean(Some(false)), SqlType::Boolean),
            "X" => {
                let digits = self.text();
                let pairs = digits.as_bytes().chunks(2);
                let byte = |pair: &[u8]| {
                    u8::from_str_radix(&String::from_utf8_lossy(pair), 16).expect("hexadecimal")
                };
                (ScalarValue::Binary(Some(pairs.map(byte).collect())), SqlType::BYTES)
            }
            "DATE" => self.typed(SqlType::Date, &DataType::Date32),
            "TIME" => self.typed(SqlType::Time(0), &DataType::Time32(TimeUnit::Millisecond)),
            "TIMESTAMP3" => self.typed(SqlType::Timestamp(3), &SqlType::Timestamp(3).arrow()),
            "TIMESTAMP" => self.typed(SqlType::Timestamp(6), &SqlType::Timestamp(6).arrow()),
            "TIMESTAMP9" => self.typed(SqlType::Timestamp(9), &SqlType::Timestamp(9).arrow()),
            "LTZ" => self.typed(SqlType::TimestampLtz(3), &SqlType::TimestampLtz(3).arrow()),
            "DAYS" => {
                let text = self.text();
                let number: i64 = text.parse().expect("milliseconds");
                (ScalarValue::DurationMillisecond(Some(number)), SqlType::DayTime)
            }
            "MONTHS" => {
                let number: i32 = self.text().parse().expect("months");
                assert_eq!(SqlType::YearMonth.arrow(), DataType::Interval(IntervalUnit::YearMonth));
                (ScalarValue::IntervalYearMonth(Some(number)), SqlType::YearMonth)
            }
            "DECIMAL" => {
                let of = SqlType::Decimal { precision: 20, scale: 5 };
                self.typed(of.clone(), &of.arrow())
            }
            "ARRAY" => self.array(),
            number if number.starts_with('L') => {
                (ScalarValue::Int64(Some(number[1..].parse().expect("a BIGINT"))), SqlType::BigInt)
            }
            number if number.contains(['.', 'N']) => {
                (ScalarValue::Float64(Some(number.parse().expect("a DOUBLE"))), SqlType::Double)
            }
            number => (ScalarValue::Int32(Some(number.parse().expect("an INT"))), SqlType::Int),
        }
    }

    fn typed(&mut self, of: SqlType, arrow: &DataType) -> (ScalarValue, SqlType) {
        let text = ScalarValue::from(self.text().as_str());
        (text.cast_to(arrow).expect("a literal"), of)
    }

    fn text(&mut self) -> String {
        self.space();
        self.rest = self.rest.strip_prefix('\'').expect("a text in quotes");
        let mut text = String::new();
        loop {
            let end = self.rest.find('\'').expect("the text ends");
            text.push_str(&self.rest[..end]);
            self.rest = &self.rest[end + 1..];
            match self.rest.strip_prefix('\'') {
                Some(rest) => {
                    text.push('\'');
                    self.rest = rest;
                }
                None => return text,
            }
        }
    }

    /// Parses the elements of an array in a test, which are of one type; NULL takes the type of the others.
    fn array(&mut self) -> (ScalarValue, SqlType) {
        self.rest = self.rest.strip_prefix('[').expect("a bracket");
        let mut items = Vec::new();
        self.space();
        while !self.rest.starts_with(']') {
            items.push(self.value());
            self.space();
            self.rest = self.rest.strip_prefix(',').unwrap_or(self.rest);
            self.space();
        }
        self.rest = &self.rest[1..];
        let known = items.iter().map(|(_, of)| of).find(|of| **of != SqlType::Null);
        let item = known.cloned().unwrap_or(SqlType::Int);
        let of = SqlType::Array(Box::new(item.clone()));
        let typed = items.iter().map(|(scalar, _)| scalar.cast_to(&item.arrow()).expect("one type"));
        let values =
            ScalarValue::iter_to_array(typed.chain([ScalarValue::try_from(&item.arrow()).expect("a null")]));
        let values = values.expect("a column").slice(0, items.len());
        let DataType::List(field) = of.arrow() else { unreachable!("an array is a list") };
        let list = ListArray::new(field, OffsetBuffer::from_lengths([items.len()]), values, None);
        (ScalarValue::List(Arc::new(list)), of)
    }
}
