//! Functions that read parts of JSON by a path: JSON_VALUE, JSON_QUERY, JSON_EXISTS, with their clauses.
//!
//! The parser writes the clauses as further arguments: a NULL of the type after RETURNING, and texts such as
//! `NULL ON EMPTY`. A result is *empty* if the path leads to `null`, or by a lax path to nothing or to a value of the
//! wrong kind. By a strict path these are errors, and so is a text that is not JSON. Without a clause, empty results and
//! errors give NULL; JSON_EXISTS gives FALSE for errors.
//!
//! Source: Flink's documentation, "JSON Functions"; Flink, `SqlJsonUtils`, `JsonValueCallGen`, `JsonQueryCallGen`.

use std::sync::Arc;

use arrow::array::{Array, new_null_array};
use arrow::compute::interleave;

use super::json::{Found, Json, Path, write_number};
use super::json_functions::wrong;
use super::pattern::Cache;
use crate::functions::cast::bind_cast;
use crate::functions::each::{self, Input, Kind, Nulls, Text, TextItems, bound, expect};
use crate::functions::over::of_arrow;
use crate::functions::{Argument, BindError, Bound, Context, EvaluationError, column};
use crate::types::SqlType;
use crate::values::ColumnarValue;

/// What ON EMPTY or ON ERROR gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Instead {
    Null,
    Error,
    Default,
    EmptyArray,
    EmptyObject,
    True,
    False,
}

impl Instead {
    /// Reads an ON EMPTY or ON ERROR, of which only the words in front count.
    fn of(clause: Option<&Argument>, unless: Instead) -> Result<Instead, BindError> {
        let Some(clause) = clause else { return Ok(unless) };
        let words = clause.text().unwrap_or_default();
        let known = [
            ("NULL ", Instead::Null),
            ("UNKNOWN ", Instead::Null),
            ("ERROR ", Instead::Error),
            ("DEFAULT ", Instead::Default),
            ("EMPTY ARRAY ", Instead::EmptyArray),
            ("EMPTY OBJECT ", Instead::EmptyObject),
            ("TRUE ", Instead::True),
            ("FALSE ", Instead::False),
        ];
        let found = known.into_iter().find(|(start, _)| words.starts_with(start));
        found.map(|(_, instead)| instead).ok_or_else(|| BindError(format!("'{words}' is no clause")))
    }
}

/// Where a path leads in a JSON text.
enum Looked<'j, 'a> {
    Found(Found<'j, 'a>),
    Empty,
    Wrong(&'static str),
}

/// Looks for a path in a JSON document, which is `None` if the text is not JSON.
fn look<'j, 'a>(path: &Path, json: Option<&'j Json<'a>>) -> Looked<'j, 'a> {
    match json {
        None if path.is_lax => Looked::Empty,
        None => Looked::Wrong("the text is not JSON"),
        Some(Json::Null) => Looked::Wrong("the document is null"),
        Some(json) => match path.find(json) {
            Some(Found::One(Json::Null)) => Looked::Empty,
            Some(found) => Looked::Found(found),
            None if !path.is_lax => Looked::Wrong("the path leads to nothing"),
            None if path.is_definite() => Looked::Empty,
            None => Looked::Found(Found::Many(Vec::new())),
        },
    }
}

/// Result of JSON_VALUE for a row, before its clauses are heeded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Known,
    Empty,
    Wrong(&'static str),
}

/// Binds JSON_VALUE: the scalar to which a path leads in a JSON text, as a value of the type after RETURNING, which is
/// STRING unless it is written. Arguments behind the path: a NULL of the type, ON EMPTY, its default, ON ERROR, its
/// default.
pub(super) fn json_value(given: &[Argument], context: &Context) -> Result<Bound, BindError> {
    if !matches!(given.len(), 2 | 7) {
        return Err(BindError::count(given.len()));
    }
    let (mut types, paths) = with_path(given)?;
    let of = match given.get(2).map(|returning| &returning.of) {
        None | Some(SqlType::Null) => SqlType::STRING,
        Some(of) if of.is_text() || of.is_numeric() || *of == SqlType::Boolean => of.clone(),
        Some(of) => {
            return Err(BindError(format!("JSON has no values of {of}: write no RETURNING, and CAST")));
        }
    };
    let on_empty = Instead::of(given.get(3), Instead::Null)?;
    let on_error = Instead::of(given.get(5), Instead::Null)?;
    if given.len() > 2 {
        types.extend([of.clone(), SqlType::STRING, of.clone(), SqlType::STRING, of.clone()]);
    }
    let cast = match of.is_text() {
        true => None,
        false => Some(bind_cast(&SqlType::STRING, true, &of, true, context)?.kernel),
    };
    let is_plain = cast.is_none() && on_empty == Instead::Null && on_error == Instead::Null;
    Ok(bound(types, given, of.clone(), Nulls::Anyway, move |arguments, rows| {
        let cases = Cases::of(arguments)?;
        let mut states = Vec::new();
        let written = each::written(arguments, rows, |row, out| {
            let Some((text, path)) = cases.at(row, &paths)? else {
                states.push(State::Known);
                return Ok(None);
            };
            let json = Json::read(text);
            let state = match look(&path, json.as_ref()) {
                Looked::Found(Found::One(json)) if json.is_scalar() => written_scalar(json, &of, out),
                Looked::Found(_) if !path.is_lax => State::Wrong("the path leads to no scalar"),
                Looked::Found(_) | Looked::Empty => State::Empty,
                Looked::Wrong(reason) => State::Wrong(reason),
            };
            states.push(state);
            Ok((state == State::Known).then_some(()))
        })?;
        if is_plain {
            return Ok(written);
        }
        let texts = column(&written, states.len())?;
        let values = match &cast {
            None => Arc::clone(&texts),
            Some(cast) => column(&cast.evaluate(&[written], states.len())?, states.len())?,
        };
        for (row, state) in states.iter_mut().enumerate() {
            if texts.is_valid(row) && values.is_null(row) {
                *state = State::Wrong("the value does not fit the type after RETURNING");
            }
        }
        let null = new_null_array(values.data_type(), 1);
        let (for_empty, empty_stride) = each::one_or_many(&arguments[4])?;
        let (for_error, error_stride) = each::one_or_many(&arguments[6])?;
        let mut from = Vec::with_capacity(states.len());
        for (row, state) in states.into_iter().enumerate() {
            from.push(match (state, on_empty, on_error) {
                (State::Known, ..) => (0, row),
                (State::Empty, Instead::Default, _) => (1, row * empty_stride),
                (State::Wrong(_), _, Instead::Default) => (2, row * error_stride),
                (State::Empty, Instead::Error, _) => return Err(wrong("the path leads to no value")),
                (State::Wrong(reason), _, Instead::Error) => return Err(wrong(reason)),
                _ => (3, 0),
            });
        }
        let pieces: [&dyn Array; 4] = [&values, &for_empty, &for_error, &null];
        each::shaped(interleave(&pieces, &from).map_err(of_arrow)?, arguments)
    }))
}

/// Writes a scalar as text if it is of the kind that a type needs.
fn written_scalar(json: &Json<'_>, of: &SqlType, out: &mut String) -> State {
    match json {
        Json::Text(text) if of.is_text() => out.push_str(text),
        Json::Number(number) if of.is_text() || of.is_numeric() => write_number(number, out),
        Json::Bool(flag) if of.is_text() || *of == SqlType::Boolean => {
            out.push_str(if *flag { "true" } else { "false" });
        }
        _ => return State::Wrong("the value does not fit the type after RETURNING"),
    }
    State::Known
}

/// When JSON_QUERY puts an array around its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wrapper {
    Without,
    Conditional,
    Unconditional,
}

/// Result of JSON_QUERY for a row.
enum Picked<'j, 'a> {
    /// An array or object of the document.
    Whole(&'j Json<'a>),
    /// An array of parts of the document.
    Parts(Vec<&'j Json<'a>>),
    /// An array of one item, which is an array of parts of the document.
    Wrapped(Vec<&'j Json<'a>>),
    Nothing(Instead),
}

/// Binds JSON_QUERY: the array or object to which a path leads in a JSON text, written without white space, or after
/// RETURNING ARRAY<STRING> as an array. Arguments behind the path: a NULL of the type, the wrapper, ON EMPTY, ON ERROR.
pub(super) fn json_query(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    if !matches!(given.len(), 2 | 6) {
        return Err(BindError::count(given.len()));
    }
    let (mut types, paths) = with_path(given)?;
    let of = match given.get(2).map(|returning| &returning.of) {
        None | Some(SqlType::Null) => SqlType::STRING,
        Some(of) if of.is_text() => of.clone(),
        Some(of @ SqlType::Array(item)) if **item == SqlType::STRING => of.clone(),
        Some(of) => return Err(BindError(format!("RETURNING {of}: it is STRING or ARRAY<STRING>"))),
    };
    let is_array = matches!(of, SqlType::Array(_));
    let wrapper = match given.get(3).and_then(Argument::text) {
        Some("WITH CONDITIONAL WRAPPER") => Wrapper::Conditional,
        Some("WITH WRAPPER") => Wrapper::Unconditional,
        _ => Wrapper::Without,
    };
    let on_empty = Instead::of(given.get(4), Instead::Null)?;
    let on_error = Instead::of(given.get(5), Instead::Null)?;
    if is_array && [on_empty, on_error].contains(&Instead::EmptyObject) {
        return Err(BindError::new("EMPTY OBJECT is no ARRAY: write EMPTY ARRAY"));
    }
    if given.len() > 2 {
        types.extend([of.clone(), SqlType::STRING, SqlType::STRING, SqlType::STRING]);
    }
    let query = move |cases: &Cases,
                      row: usize,
                      use_: &mut dyn FnMut(Picked<'_, '_>)|
          -> Result<(), EvaluationError> {
        let Some((text, path)) = cases.at(row, &paths)? else {
            use_(Picked::Nothing(Instead::Null));
            return Ok(());
        };
        let json = Json::read(text);
        let (picked, reason) = match look(&path, json.as_ref()) {
            Looked::Wrong(reason) => (Picked::Nothing(on_error), reason),
            Looked::Empty => (Picked::Nothing(on_empty), "the path leads to no value"),
            Looked::Found(found) => match (found, wrapper) {
                (Found::Many(all), Wrapper::Unconditional) => (Picked::Wrapped(all), ""),
                (Found::Many(all), _) => (Picked::Parts(all), ""),
                (Found::One(json @ Json::Array(_)), Wrapper::Conditional) => (Picked::Whole(json), ""),
                (Found::One(json), Wrapper::Conditional | Wrapper::Unconditional) => {
                    (Picked::Parts(vec![json]), "")
                }
                (Found::One(json), Wrapper::Without) if !json.is_scalar() => match json {
                    Json::Object(_) if is_array => (Picked::Nothing(on_error), "an object is no ARRAY"),
                    json => (Picked::Whole(json), ""),
                },
                (Found::One(_), Wrapper::Without) if path.is_lax => {
                    (Picked::Nothing(on_empty), "the path leads to a scalar")
                }
                (Found::One(_), Wrapper::Without) => {
                    (Picked::Nothing(on_error), "the path leads to a scalar")
                }
            },
        };
        if matches!(picked, Picked::Nothing(Instead::Error)) {
            return Err(wrong(reason));
        }
        use_(picked);
        Ok(())
    };
    Ok(bound(types, given, of, Nulls::Anyway, move |arguments, rows| {
        let cases = Cases::of(arguments)?;
        if is_array {
            return each::text_lists(arguments, rows, |row, items| {
                let mut made = Ok(None);
                query(&cases, row, &mut |picked| made = listed(&picked, items))?;
                made
            });
        }
        each::written(arguments, rows, |row, out| {
            let mut made = None;
            query(&cases, row, &mut |picked| made = written(&picked, out))?;
            Ok::<_, EvaluationError>(made)
        })
    }))
}

fn written(picked: &Picked<'_, '_>, out: &mut String) -> Option<()> {
    let array = |all: &[&Json<'_>], out: &mut String| {
        out.push('[');
        for (place, json) in all.iter().enumerate() {
            out.push_str(if place == 0 { "" } else { "," });
            json.write(out);
        }
        out.push(']');
    };
    match picked {
        Picked::Whole(json) => json.write(out),
        Picked::Parts(all) => array(all, out),
        Picked::Wrapped(all) => {
            out.push('[');
            array(all, out);
            out.push(']');
        }
        Picked::Nothing(Instead::EmptyArray) => out.push_str("[]"),
        Picked::Nothing(Instead::EmptyObject) => out.push_str("{}"),
        Picked::Nothing(_) => return None,
    }
    Some(())
}

/// Adds the items of an array as texts: text without quotes, `null` as NULL, and arrays and objects as JSON.
fn listed(picked: &Picked<'_, '_>, items: &mut TextItems) -> Result<Option<()>, EvaluationError> {
    let mut text = String::new();
    let mut add = |json: &Json<'_>| {
        text.clear();
        match json {
            Json::Null => return items.push(None),
            Json::Text(inner) => text.push_str(inner),
            json => json.write(&mut text),
        }
        items.push(Some(&text))
    };
    match picked {
        Picked::Whole(Json::Array(all)) => all.iter().try_for_each(&mut add)?,
        Picked::Whole(json) => add(json)?,
        Picked::Parts(all) => all.iter().try_for_each(|json| add(json))?,
        Picked::Wrapped(all) => {
            let mut whole = String::new();
            written(&Picked::Parts(all.clone()), &mut whole);
            items.push(Some(&whole))?;
        }
        Picked::Nothing(Instead::EmptyArray) => {}
        Picked::Nothing(_) => return Ok(None),
    }
    Ok(Some(()))
}

/// Binds JSON_EXISTS: true if a path leads to a value other than `null` in a JSON text. A third argument is the ON
/// ERROR.
pub(super) fn json_exists(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    if !matches!(given.len(), 2 | 3) {
        return Err(BindError::count(given.len()));
    }
    let (mut types, paths) = with_path(given)?;
    let on_error = Instead::of(given.get(2), Instead::False)?;
    types.extend(given.iter().skip(2).map(|_| SqlType::STRING));
    let nulls = if on_error == Instead::Null { Nulls::Anyway } else { Nulls::OfArguments };
    Ok(bound(types, given, SqlType::Boolean, nulls, move |arguments, rows| {
        let cases = Cases::of(arguments)?;
        each::boolean(arguments, rows, |row| {
            let Some((text, path)) = cases.at(row, &paths)? else { return Ok(None) };
            let json = Json::read(text);
            Ok(match (look(&path, json.as_ref()), on_error) {
                (Looked::Found(_), _) => Some(true),
                (Looked::Empty, _) | (_, Instead::False) => Some(false),
                (_, Instead::True) => Some(true),
                (Looked::Wrong(reason), Instead::Error) => return Err(wrong(reason)),
                _ => None,
            })
        })
    }))
}

fn with_path(given: &[Argument]) -> Result<(Vec<SqlType>, Cache<Result<Path, String>>), BindError> {
    let first = given.get(..2).unwrap_or(given);
    let types = expect(first, &[Kind::Text, Kind::Text], &[])?;
    if let Some(path) = first[1].text() {
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
