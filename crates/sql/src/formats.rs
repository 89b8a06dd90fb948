//! Formats: the bytes of records as columns, and columns as the bytes of records, with Flink's options and rules.
//!
//! ```text
//! CREATE TABLE ... WITH ('format' = 'json', 'json.ignore-parse-errors' = 'true')
//!                              |  Format::bind: names, options and types are right, or the plan is refused
//!                              v
//! bytes --> Decoder::take --> pending rows --> Decoder::finish --> columns, and kinds of rows of a changelog
//! columns --> Encoder::write --> bytes
//! ```
//!
//! | name | a record | file |
//! |---|---|---|
//! | `json` | a line: an object, or an array of objects | `formats/json.rs` |
//! | `csv` | a line, or several where quotes span them | `formats/csv.rs` |
//! | `raw` | a line of text or bytes, or a number of fixed width: one column | `formats/raw.rs` |
//! | `debezium-json` | a line: the row before and after a change | `formats/debezium.rs` |
//!
//! Rules that every decoder keeps:
//!
//! * F1. A record gives all of its rows, or none and one [`BadRecord`]: no column ever holds a part of a bad one.
//! * F2. How the bytes are cut into calls makes no difference to rows, bad records and positions.
//! * F3. No bytes make it panic, wait or grow: a record holds at most [`RECORD_BYTES_MAX`], the pending rows come from
//!   at most [`BATCH_BYTES_MAX`] and one record more.
//! * F4. Whether a record is well formed does not depend on which columns are wanted; whether its values fit their types
//!   does, because those that are not wanted are never converted.
//!
//! What a decoder does not decide is what becomes of a bad record: whoever calls fails, skips or diverts.
//!
//! Sources: Flink's documentation, "Formats" (JSON, CSV, Raw, Debezium), and the classes named in each file.

mod cells;
mod column;
mod csv;
mod debezium;
mod json;
mod lines;
mod options;
mod raw;
mod value;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use serde::{Deserialize, Serialize};
use thalweg_model::Coded;

use crate::types::SqlType;

/// The longest record, in bytes without its line end: 1 MiB. A quote or a bracket that is never closed costs one record
/// of this length, not the file.
pub const RECORD_BYTES_MAX: usize = 1 << 20;

/// How many rows one record may make: an array of objects takes three bytes for each, and a row as many slots as there are
/// columns.
pub const RECORD_ROWS_MAX: usize = 1 << 16;

/// How many bytes of records a decoder takes before it wants [`Decoder::finish`] to be called, 64 MiB: far above what
/// 4,096 rows need, and far below the 2 GiB to which offsets of Arrow reach.
pub const BATCH_BYTES_MAX: usize = 64 << 20;

/// How deep values may be nested within a record; the record itself is the first level.
pub const DEPTH_MAX: usize = 64;

/// A column that a format reads or writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatColumn {
    /// Its name, which is its key in formats that have keys.
    pub name: String,
    /// Its type.
    pub of: SqlType,
    /// Whether it may be NULL: a record without a value for a column that may not is a bad one.
    pub is_nullable: bool,
}

/// What a row of a changelog says. As Flink's `RowKind`, whose values of a byte these are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[repr(i8)]
pub enum RowKind {
    /// `+I`: a new row.
    Insert = 0,
    /// `-U`: what a row was before it changed.
    UpdateBefore = 1,
    /// `+U`: what it is now.
    UpdateAfter = 2,
    /// `-D`: a row that is no more.
    Delete = 3,
}

impl RowKind {
    /// The kind with this value, as a column of kinds holds it.
    pub fn of_value(value: i8) -> Option<RowKind> {
        [RowKind::Insert, RowKind::UpdateBefore, RowKind::UpdateAfter, RowKind::Delete]
            .into_iter()
            .find(|kind| *kind as i8 == value)
    }
}

/// As Flink writes it: `+I`, `-U`, `+U`, `-D`.
impl fmt::Display for RowKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RowKind::Insert => "+I",
            RowKind::UpdateBefore => "-U",
            RowKind::UpdateAfter => "+U",
            RowKind::Delete => "-D",
        })
    }
}

/// Where a decoder stands in its input; enough to go on there later with another decoder.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Position {
    /// Bytes before it.
    pub offset: u64,
    /// Line ends before it; the first line is 1, so the next byte is of line `lines + 1`.
    pub lines: u64,
    /// Whether it is inside of a record that was too long: what follows up to the next line end belongs to that.
    pub is_inside: bool,
}

/// What a call of [`Decoder::take`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// So many bytes are done with. The others are to be offered again, at the front of the next call.
    pub bytes: usize,
    /// Whether it stopped for want of bytes: the others are the beginning of a record. If not, rows are to be fetched.
    pub wants_more: bool,
}

/// A record that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadRecord<'a> {
    /// Its bytes, without the line end; the first [`RECORD_BYTES_MAX`] of one that is too long.
    pub raw: &'a [u8],
    /// Bytes of input before it.
    pub offset: u64,
    /// The line on which it begins, from 1 on.
    pub line: u64,
    /// The column whose value does not fit; none if the record is broken as such.
    pub column: Option<&'a str>,
    /// What is wrong, in lower case without a full stop.
    pub reason: String,
}

/// What was passed over because an option says so (`ignore-parse-errors`).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ignored {
    /// Values that did not fit and became NULL.
    pub values: u64,
    /// Records that were left out.
    pub records: u64,
}

/// Rows that were decoded.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// The wanted columns, in the order in which they were asked for.
    pub rows: RecordBatch,
    /// One kind for each row, of a changelog; none if all rows are inserted ones.
    pub kinds: Option<Vec<RowKind>>,
}

/// Turns the bytes of records into columns, a batch at a time.
pub trait Decoder: Send {
    /// Takes whole records from the front of `bytes` until `rows_max` rows are pending, and tells `bad` of each that
    /// cannot be read, once. `is_last`: nothing follows these bytes, so that an unfinished last record is whole.
    ///
    /// A record that makes several rows is not cut: the last one taken may make the pending rows more than `rows_max`.
    fn take(
        &mut self,
        bytes: &[u8],
        is_last: bool,
        rows_max: usize,
        bad: &mut dyn FnMut(BadRecord<'_>),
    ) -> Taken;

    /// How many rows are pending.
    fn rows(&self) -> usize;

    /// The pending rows; the decoder goes on without any.
    fn finish(&mut self) -> Decoded;

    /// Where the next byte that it takes stands in the input.
    fn position(&self) -> Position;

    /// Goes on elsewhere: the next byte stands there. Pending rows stay; bytes that were offered but not taken are
    /// forgotten. At offset 0 a new input begins, whose byte order mark, if any, is passed over.
    fn start(&mut self, at: Position);

    /// What was passed over so far.
    fn ignored(&self) -> Ignored;
}

/// Appends rows as bytes.
pub trait Encoder: Send {
    /// Appends `rows`, each with its line end, to `to`. `kinds` has one kind for each row; without it all are inserted.
    ///
    /// # Errors
    /// [`FormatError::Value`] if a row cannot be written: `to` then ends with the row before it.
    fn write(
        &mut self,
        rows: &RecordBatch,
        kinds: Option<&[RowKind]>,
        to: &mut Vec<u8>,
    ) -> Result<(), FormatError>;
}

/// A format with its options, for the columns of a table.
#[derive(Clone, Debug)]
pub struct Format {
    columns: Arc<[FormatColumn]>,
    options: Options,
}

#[derive(Clone, Debug)]
enum Options {
    Json(json::JsonOptions),
    Csv(csv::CsvOptions),
    Raw(raw::RawOptions),
    Debezium(debezium::DebeziumOptions),
}

/// The formats there are.
pub const FORMATS: &[&str] = &["csv", "debezium-json", "json", "raw"];

/// Whether records of the format of this name hold changes of rows.
pub fn is_changelog(format: &str) -> bool {
    format == "debezium-json"
}

impl Format {
    /// The format `format` for `columns`. Its options are those whose keys begin with its name and a dot; others are left
    /// to whoever they belong to.
    ///
    /// # Errors
    /// [`FormatError`] if there is no such format, an option is unknown or has a wrong value, or a column has a type that
    /// the format has no form for.
    pub fn bind(
        format: &str,
        options: &BTreeMap<String, String>,
        columns: &[FormatColumn],
    ) -> Result<Format, FormatError> {
        let mut given = options::Given::new(format, options);
        let options = match format {
            "json" => Options::Json(json::JsonOptions::bind(&mut given, columns)?),
            "csv" => Options::Csv(csv::CsvOptions::bind(&mut given, columns)?),
            "raw" => Options::Raw(raw::RawOptions::bind(&mut given, columns)?),
            "debezium-json" => Options::Debezium(debezium::DebeziumOptions::bind(&mut given, columns)?),
            _ => {
                let near = options::nearest(format, FORMATS.iter().copied());
                return Err(FormatError::Format { format: format.to_owned(), near });
            }
        };
        given.finish()?;
        Ok(Format { columns: columns.into(), options })
    }

    /// Whether it reads changes of rows, and may write them: [`Decoded::kinds`] is there.
    pub fn is_changelog(&self) -> bool {
        matches!(self.options, Options::Debezium(_))
    }

    /// All columns.
    pub fn columns(&self) -> &[FormatColumn] {
        &self.columns
    }

    /// The schema of what a decoder of these columns gives.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn schema(&self, wanted: &[usize]) -> SchemaRef {
        schema_of(&self.columns, wanted)
    }

    /// A decoder of the columns at these places, in this order.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn decoder(&self, wanted: &[usize]) -> Box<dyn Decoder> {
        match &self.options {
            Options::Json(options) => Box::new(json::JsonDecoder::new(options, &self.columns, wanted)),
            Options::Csv(options) => Box::new(csv::CsvDecoder::new(options.clone(), &self.columns, wanted)),
            Options::Raw(options) => Box::new(raw::RawDecoder::new(*options, &self.columns, wanted)),
            Options::Debezium(options) => {
                Box::new(debezium::DebeziumDecoder::new(options, &self.columns, wanted))
            }
        }
    }

    /// An encoder of rows with all columns, in their order.
    ///
    /// # Errors
    /// [`FormatError::Option`] if an option is for reading only.
    pub fn encoder(&self) -> Result<Box<dyn Encoder>, FormatError> {
        Ok(match &self.options {
            Options::Json(options) => Box::new(json::JsonEncoder::new(options.clone(), &self.columns)),
            Options::Csv(options) => Box::new(csv::CsvEncoder::new(options.clone(), &self.columns)),
            Options::Raw(options) => Box::new(raw::RawEncoder::new(*options, &self.columns)),
            Options::Debezium(options) => {
                Box::new(debezium::DebeziumEncoder::new(options.clone(), &self.columns)?)
            }
        })
    }
}

/// Why a format cannot be used as it is asked for, or cannot write a row.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FormatError {
    /// `UNKNOWN_FORMAT`: there is none of this name.
    Format {
        /// The name.
        format: String,
        /// The format whose name is nearest.
        near: Option<String>,
    },
    /// `UNKNOWN_OPTION`: the format has none of this name.
    UnknownOption {
        /// The whole key.
        option: String,
        /// The option whose name is nearest.
        near: Option<String>,
    },
    /// `BAD_OPTION`: the value of an option is wrong, or does not go with another.
    Option {
        /// The whole key.
        option: String,
        /// What is wrong, and what to write instead.
        reason: String,
    },
    /// `BAD_COLUMN`: the format has no form for a column.
    Column {
        /// The column.
        column: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// `UNWRITABLE`: a row has no form.
    Value {
        /// What is wrong, and what to do.
        reason: String,
    },
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FormatError::Format { format, near } => {
                write!(f, "there is no format '{format}'")?;
                match near {
                    Some(near) => write!(f, ": is '{near}' meant?"),
                    None => write!(f, ": there are {}", FORMATS.join(", ")),
                }
            }
            FormatError::UnknownOption { option, near } => {
                write!(f, "there is no option '{option}'")?;
                match near {
                    Some(near) => write!(f, ": is '{near}' meant?"),
                    None => Ok(()),
                }
            }
            FormatError::Option { option, reason } => write!(f, "option '{option}': {reason}"),
            FormatError::Column { column, reason } => write!(f, "column '{column}': {reason}"),
            FormatError::Value { reason } => f.write_str(reason),
        }
    }
}

impl std::error::Error for FormatError {}

impl Coded for FormatError {
    fn code(&self) -> &'static str {
        match self {
            FormatError::Format { .. } => "UNKNOWN_FORMAT",
            FormatError::UnknownOption { .. } => "UNKNOWN_OPTION",
            FormatError::Option { .. } => "BAD_OPTION",
            FormatError::Column { .. } => "BAD_COLUMN",
            FormatError::Value { .. } => "UNWRITABLE",
        }
    }
}

fn schema_of(columns: &[FormatColumn], wanted: &[usize]) -> SchemaRef {
    let field = |&place: &usize| {
        let column = &columns[place];
        column.of.field(&column.name, column.is_nullable)
    };
    Arc::new(Schema::new(wanted.iter().map(field).collect::<Vec<_>>()))
}

/// Refuses kinds that a format without changes cannot write.
fn only_inserts(format: &str, kinds: Option<&[RowKind]>) -> Result<(), FormatError> {
    match kinds.and_then(|kinds| kinds.iter().find(|kind| **kind != RowKind::Insert)) {
        None => Ok(()),
        Some(kind) => Err(FormatError::Value {
            reason: format!("format '{format}' has no form for {kind}, a change: write 'debezium-json'"),
        }),
    }
}
