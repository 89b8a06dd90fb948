//! A source that reads records from a file of comma-separated lines.
//!
//! Guarantee: replayable and exact. Either every line of one version of the file becomes a record or a counted bad
//! line, or the query fails with an error that names file and place. A file that is missing, unreadable, replaced,
//! truncated or damaged is never read as if it were shorter.
//!
//! Opening reads the first 256 KiB, so that a wrong path or header is reported before anything runs. Later reads
//! happen in `poll`, at most one buffer beyond the bytes that its lines need.
//!
//! Position: saved as line and offset, with the file's identity. To go back to it, the file is read again from its
//! start and the records are dropped, since a gzip stream has no other way. Bad lines are then counted, checked
//! against the limit and diverted again exactly as before.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thalweg_model::disk::{Disk, FileIdentity};
use thalweg_model::{
    Fault, Output, Polled, ProcessingTime, Record, Source, SourceStatus, StateError, StateReader, StateWriter,
};

use super::bad::{BadLines, Defect, OnBad};
use super::error::{CsvError, Position};
use super::lines::Lines;
use super::row::{Row, RowError};
use super::split::Splitter;
use crate::in_progress::in_progress_path;

/// Greatest number of characters of a wrong header in an error message.
const HEADER_SHOWN_CHARS_MAX: usize = 400;

/// Options of a CSV source: its file, its columns, and the handling of bad lines.
#[derive(Clone, Debug)]
pub struct CsvOptions {
    /// Path of the file. The file is gunzipped if its name ends in `.gz`.
    pub path: PathBuf,
    /// The names of the columns, in order. A line with another number of fields is bad, and errors name
    /// fields by these names.
    pub columns: &'static [&'static str],
    /// Tells whether the first line has the column names.
    pub header: Header,
    /// The user's choice how to handle bad lines.
    pub on_bad: OnBad,
}

/// Tells whether the first line of a file is a header or data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    /// There is no header: the first line of the file is data like all other lines.
    None,
    /// The first line must have the names of all columns, exact and in order, except for blanks around them.
    /// Any other line is the error `BAD_HEADER`.
    Expect,
}

/// Source of records of type `T`, which `parse` makes of rows.
///
/// A line is bad if `parse` refuses it, if it has too few or too many fields, is not UTF-8, leaves a quote open, or
/// is longer than 1 MiB. An empty line has too few fields, unless it is the last thing in the file. A last line
/// without a line end counts.
///
/// Memory: 256 KiB to read; up to 1 MiB each for the longest line that crosses two reads and for the fields of the
/// longest line; up to 4 MiB if lines of that length are diverted; and 128 KiB for a gzip stream.
///
/// # Example
/// ```no_run
/// # use std::sync::Arc;
/// use thalweg_connectors::{CsvOptions, CsvSource, Header, OnBad, RealDisk, Row};
/// use thalweg_model::{EventTime, Record};
///
/// let options = CsvOptions {
///     path: "rtt.csv.gz".into(),
///     columns: &["slice", "src", "dst", "rtt"],
///     header: Header::Expect,
///     on_bad: OnBad::Skip,
/// };
/// let parse = |row: &Row<'_>| {
///     let slice = row.i64(0)?;
///     if slice < 0 {
///         return Err(row.refuse(0, format!("slice is {slice}, but must be at least 0")));
///     }
///     Ok(Record::new(EventTime::from_secs(slice), row.f64(3)?))
/// };
/// let source = CsvSource::open(options, Arc::new(RealDisk), parse)?;
/// # Ok::<(), thalweg_connectors::CsvError>(())
/// ```
pub struct CsvSource<T, P> {
    options: CsvOptions,
    disk: Arc<dyn Disk>,
    reading: Reading,
    parse: P,
    makes: std::marker::PhantomData<fn() -> T>,
}

impl<T, P> CsvSource<T, P>
where
    P: Fn(&Row<'_>) -> Result<Record<T>, RowError> + Send,
{
    /// Opens the file and checks its header. Nothing is read but the first bytes.
    ///
    /// # Errors
    /// `SourceMissing`, `SourceUnreadable`, `SourceChanged` or `SourceCorrupt` if the start of the file cannot be
    /// read; `BadHeader` if the columns are not as expected; `DivertFailed` if the file for bad lines is the input
    /// itself.
    pub fn open(options: CsvOptions, disk: Arc<dyn Disk>, parse: P) -> Result<Self, CsvError> {
        let reading = Reading::start(&options, &disk)?;
        // Files are compared by identity, since one file has many paths. The name that the diverted file has
        // while it is written is checked as well.
        let input = reading.lines.file().identity().file;
        let is_input = |path: &Path| disk.identity(path).is_ok_and(|there| there.file == input);
        if let OnBad::Divert(path) = &options.on_bad
            && (is_input(path) || is_input(&in_progress_path(path)))
        {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "it is the file to be read");
            return Err(CsvError::DivertFailed { path: path.clone(), source });
        }
        Ok(CsvSource { options, disk, reading, parse, makes: std::marker::PhantomData })
    }

    /// Reads at most `limit` lines, and emits their records as far as the output has room.
    #[inline]
    fn read<O: Output<T>>(&mut self, limit: usize, output: &mut O) -> Result<SourceStatus, CsvError> {
        for _ in 0..limit {
            // Room is checked before each line, because pushing a record may reduce the output's room to zero, for
            // example if the record makes a watermark due.
            if output.room() == 0 {
                break;
            }
            match self.reading.step(&self.parse)? {
                Step::Record(record) => output.push(record),
                Step::Bad => {}
                Step::End => return Ok(SourceStatus::Ended),
            }
        }
        Ok(SourceStatus::Ready)
    }

    /// Reads the lines from the present position up to `next_line` and drops their records. If this fails,
    /// the file of diverted lines does not get its final name: a run that could not continue must not replace
    /// the lines that an earlier run has diverted.
    fn skip_to(&mut self, next_line: u64) -> Result<(), CsvError> {
        while self.reading.lines.position().line < next_line {
            if let Step::End = self.reading.step(&self.parse)? {
                break;
            }
        }
        Ok(())
    }
}

impl<T, P> Source for CsvSource<T, P>
where
    T: Send + 'static,
    P: Fn(&Row<'_>) -> Result<Record<T>, RowError> + Send,
{
    type Item = T;

    /// Reads at most `limit` lines, good or bad. If reading fails, the file of the lines diverted so far gets
    /// its final name.
    fn poll<O: Output<T>>(
        &mut self,
        _now: ProcessingTime,
        limit: usize,
        output: &mut O,
    ) -> Result<Polled, Fault> {
        let status = self.read(limit, output).map_err(|error| self.reading.bad_lines.publish_up_to(error))?;
        Ok(Polled::new(status))
    }

    /// Gives the file of diverted bad lines its final name, when the source has ended.
    fn finish(&mut self) -> Result<(), Fault> {
        Ok(self.reading.bad_lines.finish()?)
    }

    fn bad_count(&self) -> u64 {
        self.reading.bad_lines.count()
    }

    fn held_bytes(&self) -> usize {
        self.reading.lines.held_bytes()
            + self.reading.splitter.held_bytes()
            + self.reading.bad_lines.held_bytes()
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.reading.position())
    }

    /// Reads the file again from its start up to the saved position.
    ///
    /// # Errors
    /// If the bytes are not a saved position, or if the file at the path is not the file that was read then,
    /// or cannot be read.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let saved: SavedPosition = state.take()?;
        let refused = |reason| StateError::Read { offset: 0, reason };
        self.reading =
            Reading::start(&self.options, &self.disk).map_err(|error| refused(error.to_string()))?;
        if self.reading.position().0 == saved.0 {
            self.skip_to(saved.1.0).map_err(|error| refused(error.to_string()))?;
        }
        if self.reading.position() == saved {
            return Ok(());
        }
        let path = self.options.path.display();
        Err(refused(format!("{path} is not the file that was read then, or is read with other options")))
    }
}

/// A saved position: the identity of the file, the number and the offset of the next line, and the number of
/// bad lines before it. Equal positions mean that the same bytes were parsed in the same way.
type SavedPosition = (SavedIdentity, (u64, u64), u64);

/// The identity of a file in a form that can be saved.
type SavedIdentity = ((u64, u64), u64, i128);

/// One pass over the file: its lines, and the handling of bad ones.
struct Reading {
    lines: Lines,
    splitter: Splitter,
    bad_lines: BadLines,
}

/// Result of reading one line: a record, a bad line, or the end of the file.
enum Step<T> {
    Record(Record<T>),
    Bad,
    End,
}

impl Reading {
    fn start(options: &CsvOptions, disk: &Arc<dyn Disk>) -> Result<Self, CsvError> {
        let mut lines = Lines::open(Arc::clone(disk), &options.path)?;
        let mut splitter = Splitter::new(options.columns);
        if options.header == Header::Expect {
            check_header(&mut lines, &mut splitter, options)?;
        }
        let bad_lines = BadLines::new(Arc::clone(disk), options.path.clone(), options.on_bad.clone());
        Ok(Reading { lines, splitter, bad_lines })
    }

    /// Reads one line, and turns it into a record or handles it as bad.
    #[inline]
    fn step<T>(
        &mut self,
        parse: impl Fn(&Row<'_>) -> Result<Record<T>, RowError>,
    ) -> Result<Step<T>, CsvError> {
        let Some(line) = self.lines.next()? else {
            self.bad_lines.finish()?;
            return Ok(Step::End);
        };
        let defect = if line.is_cut {
            Defect::OverLong
        } else {
            match self.splitter.split(line.bytes).and_then(|row| parse(&row).map_err(Defect::Refused)) {
                Ok(record) => return Ok(Step::Record(record)),
                Err(defect) => defect,
            }
        };
        self.bad_lines.take(&line, &defect)?;
        Ok(Step::Bad)
    }

    fn position(&self) -> SavedPosition {
        let FileIdentity { file, len_bytes, modified_ns } = self.lines.file().identity();
        let Position { line, offset_bytes } = self.lines.position();
        ((file, len_bytes, modified_ns), (line, offset_bytes), self.bad_lines.count())
    }
}

fn check_header(lines: &mut Lines, splitter: &mut Splitter, options: &CsvOptions) -> Result<(), CsvError> {
    let line = lines.next()?;
    let found = line.map_or(&[][..], |line| line.bytes);
    let columns = options.columns;
    let is_right = splitter
        .split(found)
        .is_ok_and(|row| columns.iter().enumerate().all(|(index, &name)| row.text(index).trim() == name));
    if is_right {
        return Ok(());
    }
    let found = String::from_utf8_lossy(found).chars().take(HEADER_SHOWN_CHARS_MAX).collect();
    Err(CsvError::BadHeader { path: options.path.clone(), wanted: columns, found })
}

#[cfg(test)]
mod tests;
