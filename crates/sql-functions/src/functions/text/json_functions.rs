//! Functions of JSON: JSON_VALUE, JSON_QUERY, JSON_EXISTS, IS_JSON, JSON_STRING, JSON_QUOTE, JSON_UNQUOTE.
//!
//! The functions take no ON EMPTY or ON ERROR clauses. Empty results and errors give Flink's default, NULL (FALSE for
//! JSON_EXISTS).
//!
//! Source: Flink documentation, "JSON Functions"; Flink, `SqlJsonUtils`.

use std::fmt::Write;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Decimal128Array, ListArray, MapArray, StringArray,
    StructArray,
};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::json::{Found, Json, Path, quote, write_number};
use super::pattern::Cache;
use crate::functions::cast::text::{write_double, write_float};
use crate::functions::each::{self, Input, Kind, Nulls, Text, bound, expect};
use crate::functions::{Argument, BindError, Bound, Context, EvaluationError};
use crate::types::SqlType;
use crate::values::ColumnarValue;

/// Binds JSON_VALUE: the scalar to which a path leads in a JSON text, as text; NULL for anything else.
pub(super) fn json_value(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let (types, paths) = with_path(given)?;
    Ok(bound(types, given, SqlType::STRING, Nulls::Anyway, move |arguments, rows| {
        let cases = Cases::of(arguments)?;
        each::written(arguments, rows, |row, out| {
            let Some((text, path)) = cases.at(row, &paths)? else { return Ok(None) };
            let Some(json) = Json::read(text) else { return Ok(None) };
            match path.find(&json) {
                Some(Found::One(Json::Text(text))) => out.push_str(text),
                Some(Found::One(Json::Number(number))) => write_number(number, out),
                Some(Found::One(Json::Bool(flag))) => out.push_str(if *flag { "true" } else { "false" }),
                _ => return Ok(None),
            }
            Ok(Some(()))
        })
    }))
}

/// Binds JSON_QUERY: the array or object to which a path leads in a JSON text, written without white space;
/// NULL for anything else.
pub(super) fn json_query(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let (types, paths) = with_path(given)?;
    Ok(bound(types, given, SqlType::STRING, Nulls::Anyway, move |arguments, rows| {
        let cases = Cases::of(arguments)?;
        each::written(arguments, rows, |row, out| {
            let Some((text, path)) = cases.at(row, &paths)? else { return Ok(None) };
            let Some(json) = Json::read(text) else { return Ok(None) };
            match path.find(&json) {
                Some(Found::One(json)) if !json.is_scalar() => json.write(out),
                Some(Found::Many(all)) => {
                    out.push('[');
                    for (place, json) in all.into_iter().enumerate() {
                        out.push_str(if place == 0 { "" } else { "," });
                        json.write(out);
                    }
                    out.push(']');
                }
                _ => return Ok(None),
            }
            Ok(Some(()))
        })
    }))
}

/// Binds JSON_EXISTS: true if a path leads to a value other than `null` in a JSON text; false if the text is
/// not JSON.
pub(super) fn json_exists(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let (types, paths) = with_path(given)?;
    Ok(bound(types, given, SqlType::Boolean, Nulls::OfArguments, move |arguments, rows| {
        let cases = Cases::of(arguments)?;
        each::boolean(arguments, rows, |row| {
            let Some((text, path)) = cases.at(row, &paths)? else { return Ok(None) };
            let json = Json::read(text);
            let found = json.as_ref().and_then(|json| path.find(json));
            Ok(Some(found.is_some_and(|found| !matches!(found, Found::One(Json::Null)))))
        })
    }))
}

fn with_path(given: &[Argument]) -> Result<(Vec<SqlType>, Cache<Result<Path, String>>), BindError> {
    let types = expect(given, &[Kind::Text, Kind::Text], &[])?;
    if let Some(path) = given[1].text() {
        Path::read(path).map_err(BindError)?;
    }
    Ok((types, Cache::default()))
}

/// Arguments of the functions JSON_VALUE, JSON_QUERY and JSON_EXISTS: a text and a JSON path.
struct Cases {
    text: Input<Text>,
    path: Input<Text>,
    constant: Option<Result<Path, String>>,
}

impl Cases {
    fn of(arguments: &[ColumnarValue]) -> Result<Self, EvaluationError> {
        let path = Input::<Text>::of(&arguments[1])?;
        let constant = if path.is_constant() { path.at(0).map(Path::read) } else { None };
        Ok(Cases { text: Input::of(&arguments[0])?, path, constant })
    }

    fn at(
        &self,
        row: usize,
        paths: &Cache<Result<Path, String>>,
    ) -> Result<Option<(&str, Path)>, EvaluationError> {
        let (Some(text), Some(path)) = (self.text.at(row), self.path.at(row)) else { return Ok(None) };
        let path = self.constant.clone().unwrap_or_else(|| paths.get(path, Path::read));
        path.map(|path| Some((text, path)))
            .map_err(|reason| EvaluationError { code: "BAD_PATH", message: reason })
    }
}

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

/// Binds JSON_STRING: writes any value as JSON: numbers, booleans, text, bytes in base 64, arrays, maps with
/// text keys, rows.
///
/// Differs from Flink: days, times and timestamps are refused; a cast to STRING before gives their text.
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

fn check_writable(of: &SqlType) -> Result<(), BindError> {
    match of {
        SqlType::Null | SqlType::Boolean => Ok(()),
        of if of.is_numeric() || of.is_text() || of.is_bytes() => Ok(()),
        SqlType::Array(item) => check_writable(item),
        SqlType::Map(key, value) if key.is_text() => check_writable(value),
        SqlType::Row(fields) => fields.iter().try_for_each(|(_, of)| check_writable(of)),
        other => Err(BindError::new(format!("{other} has no form in JSON: cast it to STRING"))),
    }
}

fn write_value(array: &ArrayRef, row: usize, out: &mut String) -> Result<(), EvaluationError> {
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
