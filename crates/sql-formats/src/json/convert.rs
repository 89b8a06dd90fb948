//! Conversion of JSON values to SQL values.
//!
//! | column | accepted JSON |
//! |---|---|
//! | BOOLEAN | `true`, `false`; any other scalar is true if its text is `true` in any case, and false otherwise |
//! | TINYINT, SMALLINT | whole numbers, and strings which hold one |
//! | INT, BIGINT, INTERVAL | as for SMALLINT, and numbers with a point or an exponent, cut off towards zero |
//! | FLOAT, DOUBLE | numbers, and strings which hold one, `"NaN"` and `"Infinity"` |
//! | DECIMAL | numbers, and strings which hold one, rounded half up; NULL if they have too many digits |
//! | CHAR, VARCHAR, STRING | strings; numbers and words as written; arrays and objects as documents |
//! | BINARY, VARBINARY, BYTES | strings in base64 |
//! | DATE, TIME, TIMESTAMP, TIMESTAMP_LTZ | strings, see [`value`] |
//! | ARRAY, MAP, ROW | arrays, objects, objects |
//!
//! `null` becomes NULL of every type. As in Flink, lengths of CHAR and VARCHAR are not enforced, and digits of a
//! second beyond those of the type are kept as far as the column can hold them.
//!
//! Source: Flink's `JsonParserToRowDataConverters`, the converters of `json.decode.json-parser.enabled` (true by
//! default). Differs from Flink: an array or object in place of a scalar is always an error; for BOOLEAN, Flink takes
//! its bracket as text other than `true`.

use std::collections::HashMap;
use std::str::FromStr;

use arrow::datatypes::{DataType, TimeUnit};
use thalweg_sql_functions::functions::cast::text::{NotANumber, parse_double, parse_float};
use thalweg_sql_functions::types::SqlType;

use super::scan::{Kind, Scan, Slot};
use super::text::{compact, unescape};
use crate::column::{Column, Values};
use crate::value::{self, TimestampForm, trim};

/// Options that say how JSON values are converted to SQL values.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct ValueRules {
    /// Whether a missing value makes the record bad; otherwise the value is NULL.
    pub(in super::super) fails_on_missing: bool,
    /// Whether a value that does not fit its column becomes NULL; otherwise it makes the record bad.
    pub(in super::super) ignores_bad: bool,
    /// The form in which timestamps are written in the input.
    pub(in super::super) form: TimestampForm,
}

/// A converter of the JSON values of one line.
pub(in super::super) struct Convert<'a> {
    pub(in super::super) text: &'a str,
    pub(in super::super) rules: ValueRules,
    /// Number of JSON values of the line that became NULL because they did not fit their column.
    pub(in super::super) ignored: u64,
}

impl Convert<'_> {
    /// Converts a JSON value and appends it to a column; on an error the column stays unchanged.
    ///
    /// If values that do not fit are ignored, such a value inside an array, map or row becomes NULL at its
    /// own position, and the value around it stays.
    #[inline]
    pub(in super::super) fn append(&mut self, slot: Slot, column: &mut Column) -> Result<(), String> {
        match slot.kind {
            Kind::Null => column.append_null(),
            Kind::Missing if self.rules.fails_on_missing => return Err("is missing".to_owned()),
            Kind::Missing => column.append_null(),
            _ => {
                let len = column.len();
                let (of, values) = column.parts();
                match self.value(slot, of, values) {
                    Ok(true) => column.seal(),
                    Ok(false) => column.append_null(),
                    Err(reason) => {
                        column.truncate(len);
                        if !self.rules.ignores_bad {
                            return Err(reason);
                        }
                        column.append_null();
                        self.ignored += 1;
                    }
                }
            }
        }
        Ok(())
    }

    /// Converts a JSON value, which must not be missing, and appends the value, or its items, to the vectors
    /// of its column. Returns false if the value is NULL.
    #[inline]
    fn value(&mut self, slot: Slot, of: &SqlType, values: &mut Values) -> Result<bool, String> {
        // Text without escapes is the most frequent case, so it is handled first.
        if let (Kind::Text, Values::Bytes { bytes, .. }, true) = (slot.kind, &mut *values, of.is_text()) {
            bytes.extend_from_slice(slot.of(self.text).as_bytes());
            return Ok(true);
        }
        self.any_value(slot, of, values)
    }

    fn any_value(&mut self, slot: Slot, of: &SqlType, values: &mut Values) -> Result<bool, String> {
        let text = self.text;
        match values {
            Values::List { item, .. } => return self.array(slot, of, item).map(|()| true),
            Values::Map { key, value, .. } => return self.map(slot, of, key, value).map(|()| true),
            Values::Row(fields) => return self.row(slot, of, fields).map(|()| true),
            Values::Bytes { bytes, .. } if of.is_text() => {
                match slot.kind {
                    Kind::Escaped => unescape(slot.of(text), bytes),
                    _ if matches!(slot.kind, Kind::Array | Kind::Object) => compact(text, slot, bytes),
                    _ => bytes.extend_from_slice(slot.of(text).as_bytes()),
                }
                return Ok(true);
            }
            _ => {}
        }
        if matches!(slot.kind, Kind::Array | Kind::Object) {
            return Err(wrong(slot.of(text), of));
        }
        // Numbers and dates need no escapes, but JSON allows escapes in any string.
        let mut letters = Vec::new();
        let plain = match slot.kind {
            Kind::Escaped => {
                unescape(slot.of(text), &mut letters);
                std::str::from_utf8(&letters).map_err(|_| wrong(slot.of(text), of))?
            }
            _ => slot.of(text),
        };
        scalar(plain, slot.kind, of, values, self.rules.form).ok_or_else(|| wrong(plain, of))
    }

    fn array(&mut self, slot: Slot, of: &SqlType, item: &mut Column) -> Result<(), String> {
        if slot.kind != Kind::Array {
            return Err(wrong(slot.of(self.text), of));
        }
        let text = self.text;
        let mut found = Ok(());
        let scanned = Scan::within(text, slot).items(0, |value| {
            if found.is_ok() {
                found = self.append(value, item);
            }
        });
        debug_assert!(scanned.is_ok(), "a value that was scanned is one");
        found
    }

    /// Appends the entries of a JSON object to a MAP: the last value of each key, in the order in which the
    /// keys first appear.
    fn map(&mut self, slot: Slot, of: &SqlType, key: &mut Column, value: &mut Column) -> Result<(), String> {
        if slot.kind != Kind::Object {
            return Err(wrong(slot.of(self.text), of));
        }
        let text = self.text;
        let mut entries: Vec<(Vec<u8>, Slot)> = Vec::new();
        let mut places: HashMap<Vec<u8>, usize, foldhash::fast::RandomState> = HashMap::default();
        let scanned = Scan::within(text, slot).members(0, |name, slot| {
            let mut letters = Vec::new();
            unescape(name.of(text), &mut letters);
            let place = *places.entry(letters.clone()).or_insert(entries.len());
            match entries.get_mut(place) {
                Some(entry) => entry.1 = slot,
                None => entries.push((letters, slot)),
            }
        });
        debug_assert!(scanned.is_ok(), "a value that was scanned is one");
        for (name, slot) in entries {
            let (_, Values::Bytes { bytes, .. }) = key.parts() else { return Err(wrong(slot.of(text), of)) };
            bytes.extend_from_slice(&name);
            key.seal();
            self.append(slot, value)?;
        }
        Ok(())
    }

    fn row(&mut self, slot: Slot, of: &SqlType, fields: &mut [Column]) -> Result<(), String> {
        let (Kind::Object, SqlType::Row(names)) = (slot.kind, of) else {
            return Err(wrong(slot.of(self.text), of));
        };
        let text = self.text;
        let mut slots = vec![Slot::MISSING; fields.len()];
        let mut letters = Vec::new();
        let scanned = Scan::within(text, slot).members(0, |name, value| {
            letters.clear();
            unescape(name.of(text), &mut letters);
            if let Some(place) = names.iter().position(|(known, _)| known.as_bytes() == letters) {
                slots[place] = value;
            }
        });
        debug_assert!(scanned.is_ok(), "a value that was scanned is one");
        for ((field, slot), (name, _)) in fields.iter_mut().zip(slots).zip(names) {
            self.append(slot, field).map_err(|reason| format!("field '{name}': {reason}"))?;
        }
        Ok(())
    }
}

/// Appends a scalar other than text. Returns `None` if the JSON value does not fit the type, and false if the
/// value is NULL.
fn scalar(text: &str, kind: Kind, of: &SqlType, values: &mut Values, form: TimestampForm) -> Option<bool> {
    let is_word = matches!(kind, Kind::True | Kind::False);
    match values {
        Values::Boolean(values) => values.append(trim(text).eq_ignore_ascii_case("true")),
        Values::Int8(values) => values.push(value::integer(trim(text))?),
        Values::Int16(values) => values.push(value::integer(trim(text))?),
        Values::Int32(values) => values.push(match of {
            SqlType::Date => value::date(text)?,
            SqlType::Time(_) => value::time(text)?,
            _ => i32::try_from(whole::<i32>(text, kind)?).ok()?,
        }),
        Values::Int64(values) => values.push(match of {
            SqlType::Timestamp(_) => instant(text, of, form, false)?,
            SqlType::TimestampLtz(_) => instant(text, of, form, true)?,
            _ => whole::<i64>(text, kind)?,
        }),
        Values::Float32(values) => values.push(parse_float(text)?),
        Values::Float64(values) => values.push(parse_double(text)?),
        Values::Decimal(values) => {
            let &SqlType::Decimal { precision, scale } = of else { return None };
            match value::decimal(trim(text), precision, scale) {
                Ok(Some(value)) => values.push(value),
                Ok(None) => return Some(false),
                Err(NotANumber) => return None,
            }
        }
        Values::Bytes { bytes, .. } => {
            let is_string = matches!(kind, Kind::Text | Kind::Escaped);
            is_string.then(|| value::decode_base64(text.as_bytes(), bytes))??;
        }
        Values::None | Values::List { .. } | Values::Map { .. } | Values::Row(_) => return None,
    }
    // The words `true` and `false` are valid for BOOLEAN columns only.
    (!is_word || *of == SqlType::Boolean).then_some(true)
}

/// Reads a whole number from a JSON value. An unquoted number with a point or an exponent is cut toward zero.
/// `None` if the number is not in the range of `T`.
fn whole<T: FromStr + Into<i64> + Bounds>(text: &str, kind: Kind) -> Option<i64> {
    if kind != Kind::Float {
        return value::integer::<T>(trim(text)).map(T::into);
    }
    let value: f64 = text.parse().ok()?;
    (T::MIN <= value && value <= T::MAX).then_some(value as i64)
}

/// The range of an integer type as doubles. Jackson compares floating-point numbers with these bounds before
/// it converts them.
trait Bounds {
    const MIN: f64;
    const MAX: f64;
}

impl Bounds for i32 {
    const MIN: f64 = i32::MIN as f64;
    const MAX: f64 = i32::MAX as f64;
}

impl Bounds for i64 {
    const MIN: f64 = i64::MIN as f64;
    const MAX: f64 = i64::MAX as f64;
}

fn instant(text: &str, of: &SqlType, form: TimestampForm, is_instant: bool) -> Option<i64> {
    value::in_unit(value::timestamp(text, form, is_instant)?, unit(of))
}

/// Returns the time unit (milliseconds to nanoseconds) in which a column of this timestamp type is stored.
pub(in super::super) fn unit(of: &SqlType) -> TimeUnit {
    match of.arrow() {
        DataType::Timestamp(unit, _) => unit,
        _ => TimeUnit::Millisecond,
    }
}

/// Makes the error message which says that a text does not fit a type.
pub(in super::super) fn wrong(text: &str, of: &SqlType) -> String {
    /// Number of characters of a wrong value that the message shows.
    const LETTERS_MAX: usize = 64;
    let shown: String = text.chars().take(LETTERS_MAX).collect();
    let more = if shown.len() < text.len() { "..." } else { "" };
    format!("'{shown}{more}' does not fit {of}")
}
