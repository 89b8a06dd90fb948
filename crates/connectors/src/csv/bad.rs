//! Bad lines: their defects, the choice of how to handle them, and the limit on their number.
//!
//! Whatever the choice, more than [`BAD_LINES_MAX`] bad lines among any [`BAD_WINDOW_LINES`] consecutive ones (1 %)
//! fail the query, so that a wrong file or schema is noticed. The rule is exact and uses line numbers only: in a
//! short file every line may be bad as long as there are no more bad lines than that.
//!
//! Diverted lines become CSV themselves, `line,reason,raw`, in a file that is created at the first bad line. It is
//! published when the source ends, and also when the source fails, because the bad lines help to find the cause: it
//! then holds every bad line up to the failure. A source that is dropped earlier, because its query was cancelled or
//! failed elsewhere, removes the file.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thalweg_model::disk::Disk;

use super::error::CsvError;
use super::lines::{LINE_BYTES_MAX, Line};
use super::row::RowError;
use super::row_writer::RowWriter;
use crate::in_progress::InProgressFile;

/// Number of consecutive lines among which bad lines are counted.
pub const BAD_WINDOW_LINES: u64 = 10_000;

/// Greatest number of bad lines among [`BAD_WINDOW_LINES`] consecutive lines: 1 % of them.
pub const BAD_LINES_MAX: usize = 100;

/// Bytes of diverted lines that are gathered in memory before they are written to their file.
const DIVERT_BUFFER_BYTES: usize = 64 << 10;

/// The user's choice how to handle bad lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OnBad {
    /// `Fail`: the first bad line of a file fails the query.
    Fail,
    /// `Skip`: bad lines of a file are counted and skipped.
    Skip,
    /// `Divert`: bad lines of a file are counted, and written to the file at this path with their number and
    /// the reason.
    Divert(PathBuf),
}

/// The defect of a bad line, from which its error message is made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Defect {
    NotUtf8 { after_bytes: usize },
    QuoteLeftOpen,
    Short { found: usize, wanted: usize },
    Long { wanted: usize },
    OverLong,
    Refused(RowError),
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Defect::NotUtf8 { after_bytes } => write!(f, "not UTF-8 after {after_bytes} bytes"),
            Defect::QuoteLeftOpen => write!(f, "malformed: a quote is left open at the line end"),
            Defect::Short { found, wanted } => write!(f, "short: {found} of {wanted} fields"),
            Defect::Long { wanted } => write!(f, "long: more than {wanted} fields"),
            Defect::OverLong => write!(f, "over-long: cut after {LINE_BYTES_MAX} bytes"),
            Defect::Refused(error) => write!(f, "{error}"),
        }
    }
}

/// Counts and handles the bad lines of one source.
pub(super) struct BadLines {
    disk: Arc<dyn Disk>,
    source_path: PathBuf,
    on_bad: OnBad,
    diverted: Option<Diverted>,
    recent: RecentBad,
    count: u64,
}

impl BadLines {
    pub(super) fn new(disk: Arc<dyn Disk>, source_path: PathBuf, on_bad: OnBad) -> Self {
        BadLines { disk, source_path, on_bad, diverted: None, recent: RecentBad::new(), count: 0 }
    }

    /// Counts a bad line and handles it as the user chose.
    #[cold]
    pub(super) fn take(&mut self, line: &Line<'_>, defect: &Defect) -> Result<(), CsvError> {
        self.count += 1;
        match &self.on_bad {
            OnBad::Fail => {
                let (place, reason) = (line.at.of(&self.source_path), defect.to_string());
                return Err(CsvError::BadLine { place, reason });
            }
            OnBad::Skip => {}
            OnBad::Divert(path) => {
                if let Err(source) = divert(&mut self.diverted, &self.disk, path, line, defect) {
                    // The file of diverted lines lacks the line that could not be written, so it must not get
                    // its final name.
                    self.diverted = None;
                    return Err(CsvError::DivertFailed { path: path.clone(), source });
                }
            }
        }
        if self.recent.is_one_too_many(line.at.line) {
            let (place, reason) = (line.at.of(&self.source_path), defect.to_string());
            return Err(CsvError::TooManyBad { place, reason, diverted: None });
        }
        Ok(())
    }

    /// Gives the file of the lines that were diverted before the source failed its final name, if possible.
    /// Returns `failure`, which is reported whether or not this succeeded.
    #[cold]
    pub(super) fn publish_up_to(&mut self, mut failure: CsvError) -> CsvError {
        if let Some(kept) = self.diverted.take() {
            let path = kept.file.path().to_owned();
            let is_kept = kept.publish().is_ok();
            if let CsvError::TooManyBad { diverted, .. } = &mut failure {
                *diverted = is_kept.then_some(path);
            }
        }
        failure
    }

    /// Gives the file of diverted lines, if there is one, its final name, when the source has ended.
    pub(super) fn finish(&mut self) -> Result<(), CsvError> {
        let Some(diverted) = self.diverted.take() else { return Ok(()) };
        let path = diverted.file.path().to_owned();
        diverted.publish().map_err(|source| CsvError::DivertFailed { path, source })
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.diverted.as_ref().map_or(0, |diverted| diverted.rows.held_bytes())
    }
}

/// The file of diverted lines, and the lines that are not written to it yet.
struct Diverted {
    file: InProgressFile,
    rows: RowWriter,
}

fn divert(
    diverted: &mut Option<Diverted>,
    disk: &Arc<dyn Disk>,
    path: &Path,
    line: &Line<'_>,
    defect: &Defect,
) -> io::Result<()> {
    let diverted = match diverted {
        Some(diverted) => diverted,
        None => diverted.insert(Diverted {
            file: InProgressFile::create(Arc::clone(disk), path)?,
            rows: RowWriter::new(),
        }),
    };
    diverted.rows.push_u64(line.at.line);
    diverted.rows.push_str(&defect.to_string());
    diverted.rows.push_bytes(line.bytes);
    diverted.rows.end_row();
    if DIVERT_BUFFER_BYTES <= diverted.rows.as_bytes().len() {
        diverted.write_out()?;
    }
    Ok(())
}

impl Diverted {
    fn write_out(&mut self) -> io::Result<()> {
        self.file.write_all(self.rows.as_bytes())?;
        self.rows.clear();
        Ok(())
    }

    fn publish(mut self) -> io::Result<()> {
        self.write_out()?;
        self.file.publish()
    }
}

/// The numbers of the last `BAD_LINES_MAX + 1` bad lines, in a ring buffer.
struct RecentBad {
    numbers: [u64; BAD_LINES_MAX + 1],
    /// Index at which the next line number is stored. Once the ring is full, it holds the oldest number.
    next: usize,
}

impl RecentBad {
    fn new() -> Self {
        // An unused entry holds 0, which is no line number, since lines are counted from 1.
        RecentBad { numbers: [0; BAD_LINES_MAX + 1], next: 0 }
    }

    /// Adds the bad line with the given number. Returns whether it exceeds the limit: whether this line and
    /// the `BAD_LINES_MAX` bad lines before it are among [`BAD_WINDOW_LINES`] consecutive lines.
    fn is_one_too_many(&mut self, number: u64) -> bool {
        self.numbers[self.next] = number;
        self.next = (self.next + 1) % self.numbers.len();
        let oldest = self.numbers[self.next];
        oldest != 0 && number - oldest < BAD_WINDOW_LINES
    }
}

#[cfg(test)]
mod tests;
