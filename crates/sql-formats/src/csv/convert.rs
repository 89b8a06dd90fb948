//! Conversion of the fields of CSV records to SQL values.
//!
//! Numbers and timestamps may have blanks around them; days, times and bytes may not. A BOOLEAN is true if it is
//! `true` in any case, and false otherwise. Times are cut to the digits of their type. A blank field is an ARRAY
//! without elements, an empty field a ROW which is NULL.
//!
//! Source: Flink's `CsvToRowDataConverters`. Differs from Flink: decimals may have blanks around them, as in Flink's
//! JSON format. The NULL literal makes an ARRAY or a ROW NULL, not one with a NULL element.

use thalweg_sql_functions::functions::cast::text::{NotANumber, parse_double, parse_float};
use thalweg_sql_functions::types::SqlType;

use super::CsvOptions;
use crate::column::{Column, Values};
use crate::json::{unit, wrong};
use crate::value::{self, TimestampForm, trim};

/// A converter of the fields of one CSV record.
pub(super) struct Convert<'a> {
    pub(super) options: &'a CsvOptions,
    /// Number of fields of the record that became NULL because they did not fit the type of their column.
    pub(super) ignored: u64,
}

impl Convert<'_> {
    /// Converts a field and appends it to a column; on an error the column stays unchanged. A missing field
    /// is NULL.
    #[inline]
    pub(super) fn append(&mut self, field: Option<&str>, column: &mut Column) -> Result<(), String> {
        let Some(text) = field.filter(|text| !self.is_null(text)) else {
            column.append_null();
            return Ok(());
        };
        let len = column.len();
        let (of, values) = column.parts();
        match self.value(text, of, values) {
            Ok(true) => column.seal(),
            Ok(false) => column.append_null(),
            Err(reason) => {
                column.truncate(len);
                if !self.options.ignores_bad {
                    return Err(reason);
                }
                column.append_null();
                self.ignored += 1;
            }
        }
        Ok(())
    }

    #[inline]
    fn is_null(&self, text: &str) -> bool {
        self.options.null.as_deref() == Some(text) || (self.options.empty_is_null && text.is_empty())
    }

    /// Converts the text of a CSV field and appends the value, or its elements, to the vectors of its column.
    /// Returns false if the value is NULL.
    fn value(&mut self, text: &str, of: &SqlType, values: &mut Values) -> Result<bool, String> {
        match values {
            Values::Bytes { bytes, .. } if of.is_text() => bytes.extend_from_slice(text.as_bytes()),
            Values::List { item, .. } => {
                for element in elements(self.options, text) {
                    self.append(Some(element), item)?;
                }
            }
            Values::Row(fields) => {
                let mut count = 0;
                let mut elements = elements(self.options, text);
                for field in fields.iter_mut() {
                    let element = elements.next();
                    count += usize::from(element.is_some());
                    self.append(element, field)?;
                }
                count += elements.count();
                if count == 0 {
                    fields.iter_mut().for_each(|field| field.truncate(field.len() - 1));
                    return Ok(false);
                }
                if count != fields.len() && !self.options.ignores_bad {
                    return Err(format!("{count} elements do not fit {of}"));
                }
            }
            _ => {
                let appended = scalar(text, of, values);
                return appended.ok_or_else(|| match text {
                    "" => format!(
                        "an empty field does not fit {of}: set 'csv.null-literal' to '' if it is NULL"
                    ),
                    _ => wrong(text, of),
                });
            }
        }
        Ok(true)
    }
}

/// Returns the elements of a CSV field that holds an ARRAY or a ROW.
fn elements<'a>(options: &'a CsvOptions, text: &'a str) -> impl Iterator<Item = &'a str> {
    let is_empty = trim(text).is_empty();
    text.split(options.between.as_str()).filter(move |_| !is_empty)
}

/// Appends a scalar other than text. Returns `None` if the text does not fit the type, and false if the value
/// is NULL.
fn scalar(text: &str, of: &SqlType, values: &mut Values) -> Option<bool> {
    match values {
        Values::Boolean(values) => values.append(trim(text).eq_ignore_ascii_case("true")),
        Values::Int8(values) => values.push(value::integer(trim(text))?),
        Values::Int16(values) => values.push(value::integer(trim(text))?),
        Values::Int32(values) => values.push(match of {
            SqlType::Date => value::date_loose(text)?,
            SqlType::Time(digits) => {
                let millis = value::time_loose(text)?;
                let cut = 10_i32.pow(3_u32.saturating_sub((*digits).into()));
                millis / cut * cut
            }
            _ => value::integer(trim(text))?,
        }),
        Values::Int64(values) => values.push(match of {
            SqlType::Timestamp(_) | SqlType::TimestampLtz(_) => {
                let is_instant = matches!(of, SqlType::TimestampLtz(_));
                let instant = value::timestamp(trim(text), TimestampForm::Sql, is_instant)?;
                value::in_unit(instant, unit(of))?
            }
            _ => value::integer(trim(text))?,
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
        Values::Bytes { bytes, .. } => value::decode_base64(text.as_bytes(), bytes)?,
        Values::None | Values::List { .. } | Values::Map { .. } | Values::Row(_) => return None,
    }
    Some(true)
}
