//! Errors of connectors while a query runs. [`thalweg_connectors::CsvError`] covers files that change while
//! they are read, and [`thalweg_connectors::SinkError`] covers sinks that cannot be written.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thalweg_connectors::CsvError;
use thalweg_model::Coded;
use thalweg_sql_formats::BadRecord;

use super::bad::BAD_WINDOW_RECORDS;

/// The place of a record in its input, for users who look for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordPlace {
    /// The file, or the name of the stream, that has the record.
    pub input: String,
    /// The line on which the record begins, from 1 on.
    pub line: u64,
    /// Bytes before the record, counted after decompression.
    pub offset: u64,
    /// The column whose value is wrong, if only one is.
    pub column: Option<String>,
}

impl RecordPlace {
    pub(super) fn of(input: &str, record: &BadRecord<'_>) -> Self {
        RecordPlace {
            input: input.to_owned(),
            line: record.line,
            offset: record.offset,
            column: record.column.map(str::to_owned),
        }
    }
}

impl fmt::Display for RecordPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {} (byte {})", self.input, self.line, self.offset)?;
        self.column.as_ref().map_or(Ok(()), |column| write!(f, ", column `{column}`"))
    }
}

/// The reason why a connector cannot continue to read its input.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// `BAD_RECORD`: a record could not be decoded, and bad records fail the query.
    BadRecord {
        /// The place of the record that could not be decoded.
        place: RecordPlace,
        /// The reason why the record could not be decoded.
        reason: String,
    },
    /// `TOO_MANY_BAD`: the share of bad records is too large.
    TooManyBad {
        /// The place of the bad record that exceeded the limit.
        place: RecordPlace,
        /// The reason why the bad record that exceeded the limit could not be decoded.
        reason: String,
        /// How many of [`BAD_WINDOW_RECORDS`] consecutive records may be bad.
        bad_max: usize,
        /// The file with the bad records up to the one that exceeded the limit, if they were diverted.
        diverted: Option<PathBuf>,
    },
    /// `DIVERT_FAILED`: the file for bad records cannot be written.
    DivertFailed {
        /// The path of the file for bad records.
        path: PathBuf,
        /// The error of the operating system when the file for bad records was written.
        source: io::Error,
    },
    /// A file of lines of text cannot be read any further.
    File(CsvError),
    /// `SOURCE_CHANGED`: a file was replaced, shortened, appended to or removed after it was found.
    Changed {
        /// The file that was replaced, shortened, appended to or removed.
        path: PathBuf,
        /// The way in which the file differs from the version that was found.
        change: String,
    },
    /// `SOURCE_CHANGED`: a file of a watched directory was replaced or written to after it was read.
    ChangedLater {
        /// The file that was replaced or written to after it was read.
        path: PathBuf,
        /// The way in which the file differs from the version that was read.
        change: &'static str,
    },
    /// `SOURCE_CORRUPT`: the content of a file violates its format.
    Corrupt {
        /// The file whose content violates its format.
        path: PathBuf,
        /// The violation of the format that was found in the file.
        reason: String,
    },
    /// `SOURCE_MISMATCH`: a value in a file or in its path does not fit a column of the table.
    Mismatch {
        /// The file with the value that does not fit.
        path: PathBuf,
        /// The column of the table that the value does not fit.
        column: String,
        /// The reason why the value does not fit the column.
        reason: String,
    },
    /// `PAGE_TOO_LARGE`: reading a file of columns needs more memory than the budget has for it.
    PageTooLarge {
        /// The file whose pages need too much memory.
        path: PathBuf,
        /// Bytes needed to read the file: its pages in memory at once, and the rows that are read at a
        /// time.
        bytes: usize,
        /// The memory budget of the engine, in bytes.
        budget_bytes: usize,
    },
    /// `SOURCE_UNREADABLE`: the operating system refuses to read a file or a stream.
    Unreadable {
        /// The name of the file or stream that cannot be read.
        name: String,
        /// The error of the operating system when the file or stream was read.
        source: io::Error,
    },
}

impl ConnectError {
    pub(super) fn unreadable(path: &Path, source: io::Error) -> Self {
        ConnectError::Unreadable { name: path.display().to_string(), source }
    }
}

impl From<CsvError> for ConnectError {
    fn from(error: CsvError) -> Self {
        ConnectError::File(error)
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectError::BadRecord { place, reason } => write!(
                f,
                "{place}: {reason}; mend the record, or have bad records skipped or diverted: 'thalweg.on-bad' = 'divert:FILE'"
            ),
            ConnectError::TooManyBad { place, reason, bad_max, diverted } => {
                write!(
                    f,
                    "{place}: {reason}; with it more than {bad_max} of {BAD_WINDOW_RECORDS} consecutive records are bad; is \
                     this the right input and schema? 'thalweg.bad-share-max' lets more through"
                )?;
                diverted
                    .as_ref()
                    .map_or(Ok(()), |path| write!(f, "; the bad records are in {}", path.display()))
            }
            ConnectError::DivertFailed { path, source } => write!(
                f,
                "bad records cannot be diverted to {}: {source}; check the path and the space left",
                path.display()
            ),
            ConnectError::File(error) => error.fmt(f),
            ConnectError::Changed { path, change } => write!(
                f,
                "{}: the file changed after it was found: {change}; run the query again when it is complete",
                path.display()
            ),
            ConnectError::ChangedLater { path, change } => write!(
                f,
                "{}: {change}; move new files in under names of their own, or have such files counted and passed over: \
                 'thalweg.on-bad' = 'skip'",
                path.display()
            ),
            ConnectError::Corrupt { path, reason } => {
                write!(f, "{}: {reason}; is it complete, and of this format?", path.display())
            }
            ConnectError::Mismatch { path, column, reason } => {
                write!(f, "{}, column `{column}`: {reason}", path.display())
            }
            ConnectError::PageTooLarge { path, bytes, budget_bytes } => write!(
                f,
                "{}: reading its pages needs {bytes} bytes at once, which is more than half of the memory budget of \
                 {budget_bytes} bytes, or than it has left: raise the memory budget, read fewer columns, or write the file with smaller \
                 pages and dictionaries",
                path.display()
            ),
            ConnectError::Unreadable { name, source } => {
                write!(f, "{name} cannot be read: {source}; check its name, its kind and its permissions")
            }
        }
    }
}

impl Error for ConnectError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ConnectError::DivertFailed { source, .. } | ConnectError::Unreadable { source, .. } => {
                Some(source)
            }
            ConnectError::File(error) => error.source(),
            _ => None,
        }
    }
}

impl Coded for ConnectError {
    fn code(&self) -> &'static str {
        match self {
            ConnectError::BadRecord { .. } => "BAD_RECORD",
            ConnectError::TooManyBad { .. } => "TOO_MANY_BAD",
            ConnectError::DivertFailed { .. } => "DIVERT_FAILED",
            ConnectError::File(error) => error.code(),
            ConnectError::Changed { .. } | ConnectError::ChangedLater { .. } => "SOURCE_CHANGED",
            ConnectError::Corrupt { .. } => "SOURCE_CORRUPT",
            ConnectError::Mismatch { .. } => "SOURCE_MISMATCH",
            ConnectError::PageTooLarge { .. } => "PAGE_TOO_LARGE",
            ConnectError::Unreadable { .. } => "SOURCE_UNREADABLE",
        }
    }
}
