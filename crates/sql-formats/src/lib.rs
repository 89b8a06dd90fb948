//! Formats: conversion between the bytes of records and columns, with Flink's options and rules.
//!
//! ```text
//! CREATE TABLE ... WITH ('format' = 'json', 'json.ignore-parse-errors' = 'true')
//!         |  Format::bind: checks names, options and types, or refuses the plan
//!         v
//! bytes --> Decoder::take --> pending rows --> Decoder::finish --> columns, and kinds of rows of a changelog
//! columns --> Encoder::write --> bytes
//! ```
//!
//! | name | a record | file |
//! |---|---|---|
//! | `json` | a line: an object, or an array of objects | `json.rs` |
//! | `csv` | a line, or several where quotes span them | `csv.rs` |
//! | `raw` | a line of text or bytes, or a number of fixed width: one column | `raw.rs` |
//! | `debezium-json` | a line: the row before and after a change | `debezium.rs` |
//!
//! Rules that every decoder keeps:
//!
//! * F1. A record gives all of its rows, or none and one [`BadRecord`]: no column ever holds a part of a bad record.
//! * F2. The division of the input into calls of [`Decoder::take`] makes no difference to rows, bad records
//!   and positions.
//! * F3. No bytes make a decoder panic, wait or grow without bound. A record has at most [`RECORD_BYTES_MAX`] bytes,
//!   and the pending rows come from at most [`BATCH_BYTES_MAX`] and one record more.
//! * F4. Well-formedness of a record does not depend on the wanted columns, which are those that the query reads.
//!   Whether values fit their types does, because values of other columns are never converted.
//!
//! The caller of a decoder decides about bad records: it fails, skips or diverts them.
//!
//! Sources: Flink's documentation, "Formats" (JSON, CSV, Raw, Debezium), and the classes named in each file.
#![forbid(unsafe_code)]

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

pub use lines::{last_line_end, line_ends};
pub use value::write_base64;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use serde::{Deserialize, Serialize};
use thalweg_model::Coded;
use thalweg_sql_functions::types::SqlType;

/// Greatest length of a record, in bytes without its line end: 1 MiB. A quote or bracket which is never closed costs
/// one record of this length, not the file.
pub const RECORD_BYTES_MAX: usize = 1 << 20;

/// Greatest number of rows of one record. An empty object in an array takes only three bytes, but its row
/// takes a slot in every column.
pub const RECORD_ROWS_MAX: usize = 1 << 16;

/// Number of bytes of records which a decoder takes before [`Decoder::finish`] must be called: 64 MiB. This is far
/// above the need of 4,096 rows, and far below the limit of Arrow's offsets, 2 GiB.
pub const BATCH_BYTES_MAX: usize = 64 << 20;

/// Greatest nesting of values in a record; the record itself is the first level.
pub const DEPTH_MAX: usize = 64;

/// A column which a format reads or writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatColumn {
    /// Name of the column, which is also its key in formats that have keys.
    pub name: String,
    /// SQL type of the column of the table.
    pub of: SqlType,
    /// Whether the column may be NULL. If not, a record without a value for it is bad.
    pub is_nullable: bool,
}

/// The kind of change of a row in a changelog. Discriminants are the byte values of Flink's `RowKind`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[repr(i8)]
pub enum RowKind {
    /// `+I`: the row was inserted.
    Insert = 0,
    /// `-U`: the row as it was before an update.
    UpdateBefore = 1,
    /// `+U`: the row as it is after an update.
    UpdateAfter = 2,
    /// `-D`: the row was deleted.
    Delete = 3,
}

impl RowKind {
    /// Returns whether the change adds a row: `+I` and `+U` do, `-U` and `-D` take a row back.
    pub fn adds(self) -> bool {
        matches!(self, RowKind::Insert | RowKind::UpdateAfter)
    }

    /// Returns the kind of change that has this byte value in Flink's `RowKind`.
    pub fn of_value(value: i8) -> Option<RowKind> {
        [RowKind::Insert, RowKind::UpdateBefore, RowKind::UpdateAfter, RowKind::Delete]
            .into_iter()
            .find(|kind| *kind as i8 == value)
    }
}

/// Writes the kind of change as Flink does: `+I`, `-U`, `+U`, `-D`.
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

/// The position of a decoder in its input; another decoder can resume from it later.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Position {
    /// Number of bytes of the input before the position.
    pub offset: u64,
    /// Number of line ends of the input before the position. Lines count from 1, so the next byte is on line
    /// `lines + 1`.
    pub lines: u64,
    /// Whether the position is inside a record that was too long. The bytes up to the next line end belong to
    /// this record.
    pub is_inside: bool,
}

/// The result of offering bytes to a decoder by [`Decoder::take`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// Number of bytes consumed by the call. The remaining bytes must be offered again at the start of the
    /// next call.
    pub bytes: usize,
    /// Whether the remaining bytes are the beginning of a record, so that more bytes are needed. If false,
    /// [`Decoder::finish`] must be called before more records are decoded.
    pub wants_more: bool,
}

/// A record that cannot be decoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadRecord<'a> {
    /// Bytes of the record without the line end; for a record which is too long, the first [`RECORD_BYTES_MAX`].
    pub raw: &'a [u8],
    /// Number of input bytes before the record.
    pub offset: u64,
    /// Number of the line on which the record begins, from 1 on.
    pub line: u64,
    /// Column whose value does not fit; `None` if the record itself is malformed.
    pub column: Option<&'a str>,
    /// The reason why the record cannot be decoded, in lower case without a full stop.
    pub reason: String,
}

/// Numbers of errors that were skipped because of the option `ignore-parse-errors`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ignored {
    /// Number of values that did not fit their column and became NULL.
    pub values: u64,
    /// Number of broken records that were left out.
    pub records: u64,
}

/// Rows that a decoder has made from records.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// The rows, with the columns that [`Format::decoder`] was asked for, in the order in which it was asked.
    pub rows: RecordBatch,
    /// Kind of change of each row, if the format has changes; `None` if all rows are inserted.
    pub kinds: Option<Vec<RowKind>>,
}

/// A decoder of the bytes of records to columns, one batch at a time.
pub trait Decoder: Send {
    /// Takes whole records from the front of `bytes` until `rows_max` rows are pending (decoded, and not yet
    /// returned by [`finish`](Self::finish)), and calls `bad` once for each record which cannot be read.
    /// `is_last` says that no bytes follow, so an unfinished last record is whole.
    ///
    /// A record with several rows is not divided: the last record may raise the pending rows above `rows_max`.
    fn take(
        &mut self,
        bytes: &[u8],
        is_last: bool,
        rows_max: usize,
        bad: &mut dyn FnMut(BadRecord<'_>),
    ) -> Taken;

    /// Returns the number of pending rows: rows that are decoded and not yet returned by
    /// [`finish`](Self::finish).
    fn rows(&self) -> usize;

    /// Returns the decoded rows that were not yet returned. Afterwards the decoder has none.
    fn finish(&mut self) -> Decoded;

    /// Returns the position of the next byte of the input that the decoder needs.
    fn position(&self) -> Position;

    /// Moves the decoder to another position of its input, from which the next bytes will come. Decoded rows
    /// stay until [`finish`](Self::finish) returns them; bytes that were offered but not consumed are
    /// dropped. At offset 0 a new input begins, and its byte order mark, if any, is skipped.
    fn start(&mut self, at: Position);

    /// Returns how many values and records the decoder has ignored so far because of `ignore-parse-errors`.
    fn ignored(&self) -> Ignored;
}

/// An encoder of rows to bytes.
pub trait Encoder: Send {
    /// Appends `rows` to `to`, each with its line end. `kinds` has one kind for each row; without it all rows are
    /// inserted.
    ///
    /// # Errors
    /// [`FormatError::Value`] if a row cannot be written; `to` then ends with the row before it.
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

/// The names of all formats of this crate.
pub const FORMATS: &[&str] = &["csv", "debezium-json", "json", "raw"];

/// Returns whether records of the named format hold changes of rows.
pub fn is_changelog(format: &str) -> bool {
    format == "debezium-json"
}

impl Format {
    /// Binds the format named `format` to `columns`. Its options are those whose keys begin with its name and
    /// a dot; options with other keys are ignored.
    ///
    /// # Errors
    /// [`FormatError`] if the format does not exist, if an option is unknown or has a wrong value, or if the format
    /// cannot represent the type of a column.
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

    /// Returns whether the format reads changes of rows and may write them; then [`Decoded::kinds`] is set.
    pub fn is_changelog(&self) -> bool {
        matches!(self.options, Options::Debezium(_))
    }

    /// Returns whether records end at line ends, so that the bytes after a line end mostly begin with a record. A quoted
    /// field of CSV may span lines; then they do not.
    pub fn ends_records_at_lines(&self) -> bool {
        match &self.options {
            Options::Json(_) | Options::Csv(_) | Options::Debezium(_) => true,
            Options::Raw(_) => false,
        }
    }

    /// Returns all columns of the table with this format.
    pub fn columns(&self) -> &[FormatColumn] {
        &self.columns
    }

    /// Returns the schema of the rows that a decoder of the columns at the positions `wanted`, from 0 on,
    /// makes.
    ///
    /// # Panics
    /// If a wanted column does not exist.
    pub fn schema(&self, wanted: &[usize]) -> SchemaRef {
        schema_of(&self.columns, wanted)
    }

    /// Makes a decoder whose rows have the columns of the table at the given positions, from 0 on, in this
    /// order.
    ///
    /// # Panics
    /// If a wanted column does not exist.
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

    /// Makes an encoder of rows that have all columns of the table, in their order.
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

/// The reason why a format cannot be used as requested, or cannot write a row.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FormatError {
    /// `UNKNOWN_FORMAT`: no format has this name.
    Format {
        /// The name that no format has.
        format: String,
        /// The format with the most similar name, if one is similar.
        near: Option<String>,
    },
    /// `UNKNOWN_OPTION`: the format has no option of this name.
    UnknownOption {
        /// The whole key of the unknown option.
        option: String,
        /// The option with the most similar name, if one is similar.
        near: Option<String>,
    },
    /// `BAD_OPTION`: the value of an option is wrong, or conflicts with another option.
    Option {
        /// The whole key of the option with the wrong value.
        option: String,
        /// The reason why the value is wrong, and the value to write instead.
        reason: String,
    },
    /// `BAD_COLUMN`: the format cannot represent a column.
    Column {
        /// The name of the column that the format cannot represent.
        column: String,
        /// The reason why the format cannot represent the column, and what to do.
        reason: String,
    },
    /// `UNWRITABLE`: the format cannot represent a row.
    Value {
        /// The reason why the format cannot represent the row, and what to do.
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

/// Refuses rows with a kind of change other than insert, which a format without changes cannot write.
fn only_inserts(format: &str, kinds: Option<&[RowKind]>) -> Result<(), FormatError> {
    match kinds.and_then(|kinds| kinds.iter().find(|kind| **kind != RowKind::Insert)) {
        None => Ok(()),
        Some(kind) => Err(FormatError::Value {
            reason: format!("format '{format}' has no form for {kind}, a change: write 'debezium-json'"),
        }),
    }
}
