//! Errors of reading a CSV file, each with its code and the place in the file.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thalweg_model::Coded;

use super::bad::{BAD_LINES_MAX, BAD_WINDOW_LINES};

/// A place in a file, as shown in messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Path of the file that the place is in.
    pub path: PathBuf,
    /// Number of the line in the file, counted from 1; a header is line 1.
    pub line: u64,
    /// Number of bytes of the file before the line, counted after gunzip.
    pub offset_bytes: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {} (byte {})", self.path.display(), self.line, self.offset_bytes)
    }
}

/// A place in a file without the file's path, for callers that know the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// Number of a line of the file, counted from 1.
    pub line: u64,
    /// Number of bytes of the file before the line, counted after gunzip.
    pub offset_bytes: u64,
}

impl Position {
    /// The position at the start of a file.
    pub const START: Position = Position { line: 1, offset_bytes: 0 };

    /// Returns this position as a place in the file `path`.
    pub fn of(self, path: &Path) -> Place {
        Place { path: path.to_owned(), line: self.line, offset_bytes: self.offset_bytes }
    }
}

/// The reason why a CSV file could not be read, as an error of the query.
#[derive(Debug)]
#[non_exhaustive]
pub enum CsvError {
    /// `SOURCE_MISSING`: there is no such file.
    SourceMissing {
        /// Path of the missing file.
        path: PathBuf,
    },
    /// `SOURCE_UNREADABLE`: the operating system refuses to open or read the file.
    SourceUnreadable {
        /// Place of the line that was being read.
        place: Place,
        /// The operating system's error for opening or reading the file.
        source: io::Error,
    },
    /// `SOURCE_CHANGED`: the file was replaced, truncated, appended to or removed while it was read.
    SourceChanged {
        /// Place of the line that was being read.
        place: Place,
        /// Description of how the file has changed.
        change: String,
    },
    /// `SOURCE_CORRUPT`: the gzip stream is damaged or ends early.
    SourceCorrupt {
        /// Place of the line that was being read.
        place: Place,
        /// The error of the gzip decoder.
        source: io::Error,
    },
    /// `BAD_LINE`: a line is malformed, and the user has chosen that bad lines fail the query.
    BadLine {
        /// Place of the malformed line.
        place: Place,
        /// The defect of the malformed line.
        reason: String,
    },
    /// `TOO_MANY_BAD`: too large a share of the lines is malformed.
    TooManyBad {
        /// Place of the bad line that exceeded the limit.
        place: Place,
        /// The defect of the bad line that exceeded the limit.
        reason: String,
        /// Path of the file with all bad lines up to this one, if they were diverted.
        diverted: Option<PathBuf>,
    },
    /// `BAD_HEADER`: the first line does not name the expected columns.
    BadHeader {
        /// Path of the file whose header is wrong.
        path: PathBuf,
        /// The names of the columns that the first line should have.
        wanted: &'static [&'static str],
        /// The text of the first line, shortened if it is long; empty if the file is empty.
        found: String,
    },
    /// `DIVERT_FAILED`: the file for bad lines cannot be written.
    DivertFailed {
        /// Path of the file to which bad lines are diverted.
        path: PathBuf,
        /// The operating system's error for writing the file of bad lines.
        source: io::Error,
    },
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CsvError::SourceMissing { path } => {
                write!(f, "{} does not exist; check the path", path.display())
            }
            CsvError::SourceUnreadable { place, source } => {
                write!(f, "{place}: the file cannot be read: {source}; check its kind and its permissions")
            }
            CsvError::SourceChanged { place, change } => {
                write!(
                    f,
                    "{place}: the file changed while it was read: {change}; run the query again when it is complete"
                )
            }
            CsvError::SourceCorrupt { place, source } => {
                write!(
                    f,
                    "{place}: the gzip stream is damaged or ends early: {source}; try `gzip -t` and fetch the file again"
                )
            }
            CsvError::BadLine { place, reason } => {
                write!(f, "{place}: {reason}; mend the line, or have bad lines skipped or diverted")
            }
            CsvError::TooManyBad { place, reason, diverted } => {
                write!(
                    f,
                    "{place}: {reason}; with it more than {BAD_LINES_MAX} of {BAD_WINDOW_LINES} consecutive lines are bad; \
                     is this the right file and schema?"
                )?;
                diverted.as_ref().map_or(Ok(()), |path| write!(f, " the bad lines are in {}", path.display()))
            }
            CsvError::BadHeader { path, wanted, found } => {
                write!(
                    f,
                    "{}: the header must be `{}`, but the first line is ",
                    path.display(),
                    wanted.join(",")
                )?;
                if found.is_empty() { write!(f, "empty") } else { write!(f, "`{}`", found.escape_debug()) }?;
                write!(f, "; is this the right file?")
            }
            CsvError::DivertFailed { path, source } => {
                write!(
                    f,
                    "bad lines cannot be diverted to {}: {source}; check the path and the space left",
                    path.display()
                )
            }
        }
    }
}

impl Error for CsvError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            CsvError::SourceUnreadable { source, .. }
            | CsvError::SourceCorrupt { source, .. }
            | CsvError::DivertFailed { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl Coded for CsvError {
    fn code(&self) -> &'static str {
        match self {
            CsvError::SourceMissing { .. } => "SOURCE_MISSING",
            CsvError::SourceUnreadable { .. } => "SOURCE_UNREADABLE",
            CsvError::SourceChanged { .. } => "SOURCE_CHANGED",
            CsvError::SourceCorrupt { .. } => "SOURCE_CORRUPT",
            CsvError::BadLine { .. } => "BAD_LINE",
            CsvError::TooManyBad { .. } => "TOO_MANY_BAD",
            CsvError::BadHeader { .. } => "BAD_HEADER",
            CsvError::DivertFailed { .. } => "DIVERT_FAILED",
        }
    }
}
