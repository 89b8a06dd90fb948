//! Functions that test and write JSON: IS_JSON, JSON_STRING, JSON_QUOTE, JSON_UNQUOTE, JSON_OBJECT, JSON_ARRAY, JSON.
//!
//! JSON_OBJECT and JSON_ARRAY take their members and items as texts of JSON, which the calls [`MEMBER`] and [`ITEM`]
//! make of values. The parser writes these calls for `KEY k VALUE v` and for items, so that each knows its ON NULL.
//!
//! Source: Flink documentation, "JSON Functions"; Flink, `SqlJsonUtils`.

use std::fmt::Write;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Decimal128Array, ListArray, MapArray, StringArray,
    StructArray,
};
use arrow::datatypes::{
    DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::json::{Json, quote};
use crate::functions::cast::text::{write_double, write_float};
use crate::functions::each::{self, Input, Kind, Nulls, Text, bound, expect};
use crate::functions::time::calendar::{DAY_SECONDS, civil};
use crate::functions::{Argument, BindError, Bound, Context, EvaluationError};
use crate::types::SqlType;

/// Binds IS_JSON: true if a text is JSON of the kind named by a second argument: VALUE (any), SCALAR, ARRAY or
/// OBJECT. False for NULL.
pub(super) fn is_json(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text], &[Kind::Text])?;
    let kind = given.get(1).map_or(Some("VALUE"), Argument::text);
    let fits: fn(&Json<'_>) -> bool = match kind.map(str::to_ascii_uppercase).as_deref() {
        Some("VALUE") => |_| true,
        Some("SCALAR") => |json| json.is_scalar(),
        Some("ARRAY") => |json| matches!(json, Json::Array(_)),
        Some("OBJECT") => |json| matches!(json, Json::Object(_)),
        _ => return Err(BindError::new("the kind is none of VALUE, SCALAR, ARRAY and OBJECT")),
    };
    Ok(bound(types, given, SqlType::Boolean, Nulls::Never, move |arguments, rows| {
        let text = Input::<Text>::of(&arguments[0])?;
        each::boolean(arguments, rows, |row| {
            let json = text.at(row).and_then(Json::read);
            Some(json.is_some_and(|json| fits(&json)))
        })
    }))
}

/// Binds JSON_STRING: writes any value as JSON: numbers, booleans, text, timestamps in the form of ISO 8601, bytes in
/// base 64, arrays, maps with text keys, rows. Days, times of a day and intervals are refused, as in Flink.
pub(super) fn json_string(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let [value] = given else { return Err(BindError::count(given.len())) };
    check_writable(&value.of)?;
    let types = vec![value.of.clone()];
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, |arguments, rows| {
        let (array, stride) = each::one_or_many(&arguments[0])?;
        each::written(arguments, rows, |row, out| {
            let row = row * stride;
            if array.is_null(row) || *array.data_type() == DataType::Null {
                return Ok(None);
            }
            write_value(&array, row, out).map(Some)
        })
    }))
}

/// Refuses types whose values cannot be written as JSON.
pub(crate) fn check_writable(of: &SqlType) -> Result<(), BindError> {
    match of {
        SqlType::Null | SqlType::Boolean => Ok(()),
        of if of.is_numeric() || of.is_text() || of.is_bytes() || of.is_timestamp() => Ok(()),
        SqlType::Array(item) => check_writable(item),
        SqlType::Map(key, value) if key.is_text() => check_writable(value),
        SqlType::Row(fields) => fields.iter().try_for_each(|(_, of)| check_writable(of)),
        other => Err(BindError::new(format!("{other} has no form in JSON: cast it to STRING"))),
    }
}

/// Writes a value of a column as JSON; NULL is `null`.
pub(crate) fn write_value(array: &ArrayRef, row: usize, out: &mut String) -> Result<(), EvaluationError> {
    if array.is_null(row) || *array.data_type() == DataType::Null {
        out.push_str("null");
        return Ok(());
    }
    let any = array.as_any();
    // Writing to a String does not fail.
    let _ = match array.data_type() {
        DataType::Int8 => write!(out, "{}", array.as_primitive::<Int8Type>().value(row)),
        DataType::Int16 => write!(out, "{}", array.as_primitive::<Int16Type>().value(row)),
        DataType::Int32 => write!(out, "{}", array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => write!(out, "{}", array.as_primitive::<Int64Type>().value(row)),
        DataType::Float32 => {
            let value = array.as_primitive::<Float32Type>().value(row);
            write_floating(value.is_finite(), out, |out| write_float(value, out));
            Ok(())
        }
        DataType::Float64 => {
            let value = array.as_primitive::<Float64Type>().value(row);
            write_floating(value.is_finite(), out, |out| write_double(value, out));
            Ok(())
        }
        &DataType::Timestamp(unit, ref zone) => {
            let (ticks, per_second) = ticks(array, row, unit);
            write_timestamp(ticks, per_second, zone.is_some(), out);
            Ok(())
        }
        _ => {
            if let Some(flags) = any.downcast_ref::<BooleanArray>() {
                out.push_str(if flags.value(row) { "true" } else { "false" });
            } else if let Some(numbers) = any.downcast_ref::<Decimal128Array>() {
                out.push_str(&numbers.value_as_string(row));
            } else if let Some(texts) = any.downcast_ref::<StringArray>() {
                quote(texts.value(row), out);
            } else if let Some(bytes) = any.downcast_ref::<BinaryArray>() {
                out.push('"');
                STANDARD.encode_string(bytes.value(row), out);
                out.push('"');
            } else if let Some(lists) = any.downcast_ref::<ListArray>() {
                let items = lists.value(row);
                write_all(out, ['[', ']'], items.len(), |place, out| write_value(&items, place, out))?;
            } else if let Some(maps) = any.downcast_ref::<MapArray>() {
                let entries = maps.value(row);
                let (keys, values) = (entries.column(0).as_string::<i32>(), entries.column(1));
                write_all(out, ['{', '}'], entries.len(), |place, out| {
                    quote(keys.value(place), out);
                    out.push(':');
                    write_value(values, place, out)
                })?;
            } else if let Some(structs) = any.downcast_ref::<StructArray>() {
                let names = structs.column_names();
                write_all(out, ['{', '}'], names.len(), |place, out| {
                    quote(names[place], out);
                    out.push(':');
                    write_value(structs.column(place), row, out)
                })?;
            } else {
                return Err(each::failure(&format!("{} has no form in JSON", array.data_type())));
            }
            Ok(())
        }
    };
    Ok(())
}

/// Returns a timestamp of a column as a number of ticks, and how many of them are a second.
fn ticks(array: &ArrayRef, row: usize, unit: TimeUnit) -> (i64, i64) {
    match unit {
        TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().value(row), 1),
        TimeUnit::Millisecond => (array.as_primitive::<TimestampMillisecondType>().value(row), 1_000),
        TimeUnit::Microsecond => (array.as_primitive::<TimestampMicrosecondType>().value(row), 1_000_000),
        TimeUnit::Nanosecond => (array.as_primitive::<TimestampNanosecondType>().value(row), 1_000_000_000),
    }
}

/// Writes a timestamp as a JSON text in the form of ISO 8601, without zeros at the end of its second. An instant is in UTC
/// and ends in `Z`.
fn write_timestamp(ticks: i64, per_second: i64, is_instant: bool, out: &mut String) {
    let (seconds, rest) = (ticks.div_euclid(per_second), ticks.rem_euclid(per_second));
    let date = civil(seconds.div_euclid(DAY_SECONDS));
    let second = seconds.rem_euclid(DAY_SECONDS);
    // ISO 8601 wants a sign before a year of more than four digits.
    let sign = if date.year > 9_999 { "+" } else { "" };
    let nanos = format!("{:09}", rest * (1_000_000_000 / per_second));
    let fraction = nanos.trim_end_matches('0');
    // Writing to a String does not fail.
    let _ = write!(out, "\"{sign}{:04}-{:02}-{:02}T", date.year, date.month, date.day);
    let _ = write!(out, "{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60);
    if !fraction.is_empty() {
        out.extend([".", fraction]);
    }
    out.push_str(if is_instant { "Z\"" } else { "\"" });
}

fn write_all(
    out: &mut String,
    [open, close]: [char; 2],
    count: usize,
    mut write: impl FnMut(usize, &mut String) -> Result<(), EvaluationError>,
) -> Result<(), EvaluationError> {
    out.push(open);
    for place in 0..count {
        out.push_str(if place == 0 { "" } else { "," });
        write(place, out)?;
    }
    out.push(close);
    Ok(())
}

/// Writes a floating-point number as JSON: `write` appends its digits to `out`. NaN and infinities get
/// quotes.
fn write_floating(is_finite: bool, out: &mut String, write: impl FnOnce(&mut String)) {
    let quote = if is_finite { "" } else { "\"" };
    out.push_str(quote);
    write(out);
    out.push_str(quote);
}

/// Name of the function that makes a member of a JSON object: a key and a value. No query can call the function without
/// quotes.
pub const MEMBER: &str = "$JSON_MEMBER";

/// Name of the function that makes an item of a JSON array of a value.
pub const ITEM: &str = "$JSON_ITEM";

/// Argument of [`MEMBER`] and [`ITEM`] by which a value that is NULL is left out. Any other text makes it `null`.
pub const ABSENT: &str = "ABSENT ON NULL";

/// Argument of [`MEMBER`] and [`ITEM`] by which the value is a text of JSON, which stays as it is.
pub const RAW: &str = "FORMAT JSON";

/// Binds [`MEMBER`]: `"key":value`; NULL for a value that is left out. The third argument says what becomes of NULL,
/// and a fourth one, [`RAW`], that the value is JSON.
pub(super) fn member(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let Some((key, value)) = given.split_first() else { return Err(BindError::count(0)) };
    if !key.of.is_text() && key.of != SqlType::Null {
        return Err(BindError(format!("the key is {}: cast it to STRING", key.of)));
    }
    let (mut types, form) = Form::of(value)?;
    types.insert(0, SqlType::STRING);
    let nulls = if form.is_absent { Nulls::Anyway } else { Nulls::Never };
    Ok(bound(types, given, SqlType::STRING, nulls, move |arguments, rows| {
        let key = Input::<Text>::of(&arguments[0])?;
        let (values, stride) = each::one_or_many(&arguments[1])?;
        each::written(arguments, rows, |row, out| {
            let key = key.at(row).ok_or_else(|| wrong("a key of a JSON object is NULL"))?;
            quote(key, out);
            out.push(':');
            form.write(&values, row * stride, out)
        })
    }))
}

/// Binds [`ITEM`]: a value as JSON; NULL for a value that is left out. The second argument says what becomes of NULL,
/// and a third one, [`RAW`], that the value is JSON.
pub(super) fn item(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let (types, form) = Form::of(given)?;
    let nulls = if form.is_absent { Nulls::Anyway } else { Nulls::Never };
    Ok(bound(types, given, SqlType::STRING, nulls, move |arguments, rows| {
        let (values, stride) = each::one_or_many(&arguments[0])?;
        each::written(arguments, rows, |row, out| form.write(&values, row * stride, out))
    }))
}

/// How a value becomes part of a JSON object or array.
#[derive(Clone, Copy)]
struct Form {
    is_absent: bool,
    is_raw: bool,
}

impl Form {
    /// Reads a value and its options; returns the types in which they are taken, too.
    fn of(given: &[Argument]) -> Result<(Vec<SqlType>, Form), BindError> {
        let [value, options @ ..] = given else { return Err(BindError::count(given.len())) };
        let has = |wanted: &str| options.iter().any(|option| option.text() == Some(wanted));
        let form = Form { is_absent: has(ABSENT), is_raw: has(RAW) };
        if form.is_raw && !value.of.is_text() {
            return Err(BindError(format!("{} is not JSON", value.of)));
        }
        check_writable(&value.of)?;
        let types = [value.of.clone()].into_iter().chain(options.iter().map(|_| SqlType::STRING)).collect();
        Ok((types, form))
    }

    fn write(self, values: &ArrayRef, row: usize, out: &mut String) -> Result<Option<()>, EvaluationError> {
        let is_null = values.is_null(row) || *values.data_type() == DataType::Null;
        if is_null && self.is_absent {
            return Ok(None);
        }
        match values.as_string_opt::<i32>() {
            Some(texts) if self.is_raw && !is_null => out.push_str(texts.value(row)),
            _ => write_value(values, row, out)?,
        }
        Ok(Some(()))
    }
}

/// Binds JSON_OBJECT of members, which [`MEMBER`] makes: an object with its members in the order of their names. Of
/// members with one name the last counts.
pub(super) fn json_object(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    joined(given, ['{', '}'])
}

/// Binds JSON_ARRAY of items, which [`ITEM`] makes.
pub(super) fn json_array(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    joined(given, ['[', ']'])
}

fn joined(given: &[Argument], [open, close]: [char; 2]) -> Result<Bound, BindError> {
    let types = expect(given, &[], &vec![Kind::Text; given.len()])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::Never, move |arguments, rows| {
        let parts: Vec<_> = arguments.iter().map(Input::<Text>::of).collect::<Result<_, _>>()?;
        let mut text = String::new();
        each::written(arguments, rows, |row, out| {
            text.clear();
            text.push(open);
            for part in parts.iter().filter_map(|part| part.at(row)) {
                text.push_str(if text.len() > 1 { "," } else { "" });
                text.push_str(part);
            }
            text.push(close);
            // The text is read and written again, because members stand in the order of their names.
            let json = Json::read(&text).ok_or_else(|| wrong("the values do not make a JSON document"))?;
            json.write(out);
            Ok(Some(()))
        })
    }))
}

/// Binds JSON: a text of JSON without its white space, for the values of JSON_OBJECT and JSON_ARRAY; NULL for a text
/// of white space. Fails for a text that is not JSON.
pub(super) fn json(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text], &[])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::Anyway, |arguments, rows| {
        let text = Input::<Text>::of(&arguments[0])?;
        each::written(arguments, rows, |row, out| {
            let Some(text) = text.at(row).filter(|text| !text.trim().is_empty()) else { return Ok(None) };
            let json = Json::read(text).ok_or_else(|| wrong("the argument of JSON is not JSON"))?;
            json.write(out);
            Ok(Some(()))
        })
    }))
}

/// Creates the error for a value from which no JSON can be made, or that is not in a JSON text.
pub(super) fn wrong(message: &str) -> EvaluationError {
    EvaluationError { code: "BAD_JSON", message: message.to_owned() }
}

/// Binds JSON_QUOTE: a text as a JSON string in quotes. All characters that JSON allows to escape are
/// escaped, including `/` and all beyond ASCII.
///
/// Source: Flink, `JsonQuoteFunction`.
pub(super) fn json_quote(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text], &[])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, |arguments, rows| {
        let text = Input::<Text>::of(&arguments[0])?;
        each::written(arguments, rows, |row, out| {
            out.push('"');
            for unit in text.at(row)?.encode_utf16() {
                match u8::try_from(unit) {
                    Ok(letter @ (b'"' | b'\\' | b'/')) => out.extend(['\\', char::from(letter)]),
                    Ok(8) => out.push_str("\\b"),
                    Ok(12) => out.push_str("\\f"),
                    Ok(b'\n') => out.push_str("\\n"),
                    Ok(b'\r') => out.push_str("\\r"),
                    Ok(b'\t') => out.push_str("\\t"),
                    Ok(letter) if letter.is_ascii() => out.push(char::from(letter)),
                    _ => out.push_str(&format!("\\u{unit:04x}")),
                }
            }
            out.push('"');
            Some(())
        })
    }))
}

/// Binds JSON_UNQUOTE: the text of a JSON string; other text stays unchanged.
pub(super) fn json_unquote(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::Text], &[])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, |arguments, rows| {
        let text = Input::<Text>::of(&arguments[0])?;
        each::text(arguments, rows, |row| {
            let text = text.at(row)?;
            let read = text.starts_with('"').then(|| Json::read(text)).flatten();
            Some(match read {
                Some(Json::Text(unquoted)) => unquoted,
                _ => text.into(),
            })
        })
    }))
}
