//! JSON lines: reading and writing of `'format' = 'json'`.
//!
//! A record is a line with an object, whose keys are columns, or with an array of objects, which are rows in order.
//! Keys which are not columns are ignored, columns without a key are NULL, and of a duplicate key the last value
//! counts. Blank lines, a byte order mark at the start and carriage returns at line ends are skipped.
//!
//! | option | default | |
//! |---|---|---|
//! | `json.fail-on-missing-field` | false | a record without a key of a column that is read is bad |
//! | `json.ignore-parse-errors` | false | values which do not fit are NULL, broken records left out; both are counted |
//! | `json.timestamp-format.standard` | SQL | SQL, ISO-8601 or ISO-8601-WITH-OFFSET |
//! | `json.map-null-key.mode` | FAIL | FAIL, DROP or LITERAL: the treatment of a NULL key when writing |
//! | `json.map-null-key.literal` | null | the key written for NULL with LITERAL |
//! | `json.encode.decimal-as-plain-number` | false | decimals are written without an exponent |
//! | `json.encode.ignore-null-fields` | false | fields which are NULL are not written |
//! | `json.decode.json-parser.enabled` | true | accepted without effect: there is one parser |
//!
//! The line is scanned once, guided by the line before ([`walk`]). The scan finds the values of the columns that the
//! query reads, and checks and skips all others ([`scan`]). Then the values found are converted directly into the
//! columns ([`convert`]).
//!
//! Sources: Flink's documentation, "JSON Format"; `JsonParserRowDataDeserializationSchema`, `JsonFormatOptions`.
//! Differs from Flink: text after the document on its line makes the record bad, and so do halves of surrogate pairs
//! (`"\ud800"`), bytes which are not UTF-8, more than 64 levels, and NULL for a NOT NULL column. Flink ignores the
//! first, puts `?` or U+FFFD for the next two, allows 1,000 levels, and passes on the last. With
//! `json.ignore-parse-errors`, an array of rows with a broken one is left out as a whole.

mod convert;
mod encode;
mod scan;
mod text;
mod walk;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub(super) use convert::{Convert, ValueRules, unit, wrong};
pub(super) use encode::{EncodeRules, JsonEncoder, JsonRow, NullKeys};
pub(super) use scan::{Broken, Scan, Slot};
pub(super) use text::string_of;
use thalweg_sql_functions::types::SqlType;
pub(super) use walk::Walk;

use super::column::{Bad, Rows};
use super::lines::{LineDecoder, LineRules, Records};
use super::options::Given;
use super::value::TimestampForm;
use super::{Decoded, FormatColumn, FormatError, RECORD_ROWS_MAX};

#[derive(Clone, Debug)]
pub(super) struct JsonOptions {
    pub(super) values: ValueRules,
    pub(super) encode: EncodeRules,
}

impl JsonOptions {
    pub(super) fn bind(given: &mut Given<'_>, columns: &[FormatColumn]) -> Result<Self, FormatError> {
        let fails_on_missing = given.flag("fail-on-missing-field", false)?;
        given.flag("decode.json-parser.enabled", true)?;
        let mut options = JsonOptions::bind_common(given, columns)?;
        if fails_on_missing && options.values.ignores_bad {
            let reason = "'true' does not go with 'ignore-parse-errors': set one of them";
            return Err(given.wrong("fail-on-missing-field", reason));
        }
        options.values.fails_on_missing = fails_on_missing;
        Ok(options)
    }

    /// Reads the options that are shared by all formats whose values are JSON.
    pub(super) fn bind_common(given: &mut Given<'_>, columns: &[FormatColumn]) -> Result<Self, FormatError> {
        let forms = [
            ("SQL", TimestampForm::Sql),
            ("ISO-8601", TimestampForm::Iso),
            ("ISO-8601-WITH-OFFSET", TimestampForm::IsoWithOffset),
        ];
        let form = given.choice("timestamp-format.standard", &forms, TimestampForm::Sql)?;
        let ignores_bad = given.flag("ignore-parse-errors", false)?;
        let literal = given.text("map-null-key.literal").unwrap_or("null").to_owned();
        let modes = [("FAIL", 0), ("DROP", 1), ("LITERAL", 2)];
        let null_keys = match given.choice("map-null-key.mode", &modes, 0)? {
            0 => NullKeys::Fail,
            1 => NullKeys::Drop,
            _ => NullKeys::Literal(literal),
        };
        let encode = EncodeRules {
            form,
            null_keys,
            is_plain: given.flag("encode.decimal-as-plain-number", false)?,
            omits_null: given.flag("encode.ignore-null-fields", false)?,
        };
        for column in columns {
            check(&column.of)
                .map_err(|reason| FormatError::Column { column: column.name.clone(), reason })?;
        }
        Ok(JsonOptions { values: ValueRules { fails_on_missing: false, ignores_bad, form }, encode })
    }
}

/// Refuses column types that JSON cannot represent.
fn check(of: &SqlType) -> Result<(), String> {
    match of {
        SqlType::Null => Err("a column of type NULL cannot be read: give it a type".to_owned()),
        SqlType::Array(item) => check(item),
        SqlType::Map(key, value) if key.is_text() => check(value),
        SqlType::Map(..) => Err(format!("{of} has no form: keys of JSON are text, write MAP<STRING, ...>")),
        SqlType::Row(fields) => fields.iter().try_for_each(|(_, of)| check(of)),
        _ => Ok(()),
    }
}

pub(super) type JsonDecoder = LineDecoder<JsonRecords>;

impl JsonDecoder {
    pub(super) fn new(options: &JsonOptions, columns: &[FormatColumn], wanted: &[usize]) -> Self {
        let ignores_bad = options.values.ignores_bad;
        let rules = LineRules { has_mark: true, skips_blank: true, ignores_bad };
        LineDecoder::of(JsonRecords { rows: JsonRows::new(options.values, columns, wanted) }, rules)
    }
}

pub(super) struct JsonRecords {
    rows: JsonRows,
}

impl Records for JsonRecords {
    fn read(&mut self, raw: &[u8]) -> Result<(), Bad> {
        let text = text_of(raw)?;
        let mut scan = Scan::new(text);
        scan.pass_blanks();
        if scan.peek() != Some(b'[') {
            self.rows
                .scan(text, &mut scan, 0)
                .and_then(|()| scan.expect_end())
                .map_err(|at| broken(at, text))?;
            return self.rows.append(text);
        }
        let before = self.rows.mark();
        let read = self.array(text, &mut scan);
        if read.is_err() {
            self.rows.reset(before);
        }
        read
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn finish(&mut self) -> Decoded {
        Decoded { rows: self.rows.finish(), kinds: None }
    }

    fn name(&self, column: usize) -> &str {
        self.rows.name(column)
    }

    fn ignored_values(&self) -> u64 {
        self.rows.ignored
    }
}

impl JsonRecords {
    /// Appends a row for each object of an array.
    fn array(&mut self, text: &str, scan: &mut Scan<'_>) -> Result<(), Bad> {
        scan.enter(b'[', 0).map_err(|at| broken(at, text))?;
        if !scan.eat(b']') {
            let rows = self.rows.len();
            loop {
                if rows + RECORD_ROWS_MAX <= self.rows.len() {
                    let reason = format!("the record has more than {RECORD_ROWS_MAX} rows");
                    return Err(Bad { column: None, reason });
                }
                self.rows.scan(text, scan, 1).map_err(|at| broken(at, text))?;
                self.rows.append(text)?;
                scan.pass_blanks();
                if scan.eat(b']') {
                    break;
                }
                scan.expect(b',', "',' or ']'").map_err(|at| broken(at, text))?;
                scan.pass_blanks();
            }
        }
        scan.expect_end().map_err(|at| broken(at, text))
    }
}

/// A converter of JSON objects to rows.
pub(super) struct JsonRows {
    rules: ValueRules,
    walk: Walk,
    /// The values found in the JSON object that was scanned last, one for each column that is read.
    slots: Vec<Slot>,
    rows: Rows,
    pub(super) ignored: u64,
}

impl JsonRows {
    pub(super) fn new(rules: ValueRules, columns: &[FormatColumn], wanted: &[usize]) -> Self {
        let rows = Rows::new(columns, wanted);
        let walk = Walk::new(wanted.iter().map(|&place| columns[place].name.clone()));
        JsonRows { rules, walk, slots: vec![Slot::MISSING; rows.width()], rows, ignored: 0 }
    }

    /// Finds the values of all columns that are read in the JSON object at the current position. `depth` is
    /// the number of arrays and objects around it.
    #[inline]
    pub(super) fn scan(&mut self, text: &str, scan: &mut Scan<'_>, depth: usize) -> Result<(), Broken> {
        self.walk.object(text, scan, depth, &mut self.slots)
    }

    /// Appends a row with the values of the object that was scanned last.
    #[inline]
    pub(super) fn append(&mut self, text: &str) -> Result<(), Bad> {
        let mut convert = Convert { text, rules: self.rules, ignored: 0 };
        let slots = &self.slots;
        self.rows.append(|place, column| convert.append(slots[place], column))?;
        self.ignored += convert.ignored;
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the current numbers of rows and of ignored values, to which [`JsonRows::reset`] can return.
    pub(super) fn mark(&self) -> Mark {
        Mark { rows: self.rows.len(), ignored: self.ignored }
    }

    /// Removes the rows that were appended after [`JsonRows::mark`] returned `to`, and sets the number of
    /// ignored values back to its value then.
    pub(super) fn reset(&mut self, to: Mark) {
        self.rows.truncate(to.rows);
        self.ignored = to.ignored;
    }

    pub(super) fn finish(&mut self) -> arrow::record_batch::RecordBatch {
        self.rows.finish()
    }

    pub(super) fn name(&self, column: usize) -> &str {
        self.rows.name(column)
    }
}

/// The numbers of decoded rows and of ignored values before a record is decoded, which are restored if the
/// record is bad.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    rows: usize,
    ignored: u64,
}

/// Returns a line as text, or the reason why the record is bad if the line is not UTF-8.
pub(super) fn text_of(raw: &[u8]) -> Result<&str, Bad> {
    std::str::from_utf8(raw).map_err(|error| Bad {
        column: None,
        reason: format!("byte {} of the record is no UTF-8", error.valid_up_to()),
    })
}

#[cold]
pub(super) fn broken(broken: Broken, text: &str) -> Bad {
    Bad { column: None, reason: broken.reason(text) }
}
