//! A source that reads the lines of a file as records without columns: each line, or a part of it, is a [`Text`].
//!
//! Guarantee, framing, bad lines and position are those of [`super::source`]: every line of one version of the file
//! becomes a record or a counted bad line, or the query fails with code and place. A line is bad if `parse` refuses
//! it, if it is not UTF-8, or is longer than 1 MiB. An empty line is a line, unless it is the last thing in the file.
//!
//! ```text
//!   file -> lines -> parse: event time and wanted part -> a draft of 64 KiB -> sealed -> records
//! ```
//!
//! The wanted part of a line is copied once, from the read buffer into a draft: a buffer of text that is
//! still being filled. When the draft is full, or has [`DRAFT_RECORDS_MAX`] lines, it is sealed, and its
//! lines are records. So the source reads ahead by the lines of one draft, but it counts and saves the
//! position of the last record that it emitted.
//!
//! Memory, beside that of the reader: the draft, and every sealed buffer with a text that is still alive,
//! anywhere in the query ([`thalweg_model::TextPool`]).

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thalweg_model::disk::{Disk, FileIdentity};
use thalweg_model::{
    EventTime, Fault, Output, Polled, ProcessingTime, Record, Source, SourceStatus, StateError, StateReader,
    StateWriter, Text, TextBuffer, TextPool,
};

use super::bad::{BadLines, Defect, OnBad};
use super::error::CsvError;
use super::lines::Lines;
use super::row::RowError;
use crate::in_progress::in_progress_path;

/// Bytes of text in one buffer. A single longer line may exceed them.
const DRAFT_BYTES: usize = 64 << 10;

/// Largest number of lines in one buffer. Short lines lie in their records and fill no bytes of the buffer,
/// so this bound is needed too.
const DRAFT_RECORDS_MAX: usize = 512;

/// Source of lines as text. `parse` gets the number of a line, from 0 on and bad lines included, and the line without
/// its end. It returns the event time and the wanted part of the line.
///
/// # Example
/// ```no_run
/// # use std::sync::Arc;
/// use thalweg_connectors::{OnBad, RealDisk, TextSource};
/// use thalweg_model::{EventTime, Record};
///
/// // A line a millisecond, without the blanks around it.
/// let parse = |number: u64, line: &str| {
///     let trimmed = line.trim_start();
///     let start = line.len() - trimmed.len();
///     Ok(Record::new(EventTime::from_micros(1_000 * number as i64), start..start + trimmed.trim_end().len()))
/// };
/// let source = TextSource::open("book.txt.gz".into(), OnBad::Skip, Arc::new(RealDisk), parse)?;
/// # Ok::<(), thalweg_connectors::CsvError>(())
/// ```
pub struct TextSource<P> {
    path: PathBuf,
    on_bad: OnBad,
    disk: Arc<dyn Disk>,
    reading: Reading,
    parse: P,
    pool: TextPool,
}

/// One pass over the file, with the lines that are read ahead.
struct Reading {
    lines: Lines,
    bad_lines: BadLines,
    /// Number of lines that the source has read so far, good and bad.
    line_count: u64,
    /// The buffer of text that was sealed last, from which records are emitted.
    sealed: Option<TextBuffer>,
    drafted: Vec<Drafted>,
    /// Index, in the buffer that was sealed last, of the first line that is not emitted yet.
    next: usize,
    /// Number of records that the source has emitted so far.
    given: u64,
    is_at_end: bool,
}

/// A line in the buffer, before it is emitted as a record.
struct Drafted {
    event_time: EventTime,
    /// Range of bytes of the line's wanted part in the buffer of text.
    place: Range<usize>,
    /// Number of bad lines in the file before this line.
    bad_before: u64,
}

/// A saved position: the identity of the file, the number of records emitted, and the number of bad lines
/// before the next record.
type SavedPosition = (((u64, u64), u64, i128), u64, u64);

impl<P> TextSource<P>
where
    P: Fn(u64, &str) -> Result<Record<Range<usize>>, RowError> + Send,
{
    /// Opens the file; it is gunzipped if the name ends in `.gz`.
    ///
    /// # Errors
    /// `SourceMissing`, `SourceUnreadable`, `SourceChanged` or `SourceCorrupt` if the start of the file cannot be
    /// read; `DivertFailed` if the file for bad lines is the input itself.
    pub fn open(path: PathBuf, on_bad: OnBad, disk: Arc<dyn Disk>, parse: P) -> Result<Self, CsvError> {
        let reading = Reading::start(&path, &on_bad, &disk)?;
        let input = reading.lines.file().identity().file;
        let is_input = |path: &Path| disk.identity(path).is_ok_and(|there| there.file == input);
        if let OnBad::Divert(path) = &on_bad
            && (is_input(path) || is_input(&in_progress_path(path)))
        {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "it is the file to be read");
            return Err(CsvError::DivertFailed { path: path.clone(), source });
        }
        Ok(TextSource { path, on_bad, disk, reading, parse, pool: TextPool::new() })
    }

    /// Emits at most `limit` records, as far as the output has room.
    #[inline]
    fn give<O: Output<Text>>(&mut self, limit: usize, output: &mut O) -> Result<SourceStatus, CsvError> {
        for _ in 0..limit {
            if self.reading.next == self.reading.drafted.len() {
                self.reading.fill(&self.parse, &mut self.pool)?;
            }
            // Room is checked before each record, because pushing a record may reduce the output's room to zero, for
            // example if the record makes a watermark due.
            if output.room() == 0 && self.reading.next < self.reading.drafted.len() {
                break;
            }
            let Some(record) = self.reading.take() else { return Ok(SourceStatus::Ended) };
            output.push(record);
        }
        Ok(SourceStatus::Ready)
    }

    /// Reads and drops records until `given` of them have been read.
    fn skip(&mut self, given: u64) -> Result<(), CsvError> {
        while self.reading.given < given {
            if self.reading.next == self.reading.drafted.len() {
                self.reading.fill(&self.parse, &mut self.pool)?;
            }
            if self.reading.take().is_none() {
                break;
            }
        }
        Ok(())
    }
}

impl Reading {
    fn start(path: &Path, on_bad: &OnBad, disk: &Arc<dyn Disk>) -> Result<Self, CsvError> {
        Ok(Reading {
            lines: Lines::open(Arc::clone(disk), path)?,
            bad_lines: BadLines::new(Arc::clone(disk), path.to_owned(), on_bad.clone()),
            line_count: 0,
            sealed: None,
            drafted: Vec::with_capacity(DRAFT_RECORDS_MAX),
            next: 0,
            given: 0,
            is_at_end: false,
        })
    }

    /// Reads lines into a buffer, until there is at least one good line or the file ends.
    fn fill(
        &mut self,
        parse: impl Fn(u64, &str) -> Result<Record<Range<usize>>, RowError>,
        pool: &mut TextPool,
    ) -> Result<(), CsvError> {
        // The handle to the old buffer is dropped first, so that its memory can be reused for the next lines.
        self.sealed = None;
        self.drafted.clear();
        self.next = 0;
        if self.is_at_end {
            return Ok(());
        }
        let mut draft = pool.draft();
        draft.reserve(DRAFT_BYTES);
        while self.drafted.len() < DRAFT_RECORDS_MAX && draft.len() < DRAFT_BYTES {
            let Some(line) = self.lines.next()? else {
                self.bad_lines.finish()?;
                self.is_at_end = true;
                break;
            };
            let number = self.line_count;
            self.line_count += 1;
            let parsed = if line.is_cut {
                Err(Defect::OverLong)
            } else {
                match str::from_utf8(line.bytes) {
                    Ok(text) => parse(number, text).map_err(Defect::Refused).map(|record| (text, record)),
                    Err(error) => Err(Defect::NotUtf8 { after_bytes: error.valid_up_to() }),
                }
            };
            match parsed {
                Ok((text, Record { event_time, value })) => {
                    let place = draft.push(&text[value]);
                    self.drafted.push(Drafted { event_time, place, bad_before: self.bad_lines.count() });
                }
                Err(defect) => self.bad_lines.take(&line, &defect)?,
            }
        }
        self.sealed = Some(pool.seal(draft));
        Ok(())
    }

    /// Returns the next line of the buffer as a record of text.
    #[inline]
    fn take(&mut self) -> Option<Record<Text>> {
        let Drafted { event_time, place, .. } = self.drafted.get(self.next)?;
        let buffer = self.sealed.as_ref()?;
        let record = Record::new(*event_time, buffer.text(place.clone()));
        self.next += 1;
        self.given += 1;
        Some(record)
    }

    /// Returns the number of bad lines in the file before the next record.
    fn bad_count(&self) -> u64 {
        self.drafted.get(self.next).map_or(self.bad_lines.count(), |drafted| drafted.bad_before)
    }

    fn position(&self) -> SavedPosition {
        let FileIdentity { file, len_bytes, modified_ns } = self.lines.file().identity();
        ((file, len_bytes, modified_ns), self.given, self.bad_count())
    }
}

impl<P> Source for TextSource<P>
where
    P: Fn(u64, &str) -> Result<Record<Range<usize>>, RowError> + Send,
{
    type Item = Text;

    /// Emits at most `limit` records. If reading fails, the file of the lines diverted so far gets its final
    /// name.
    fn poll<O: Output<Text>>(
        &mut self,
        _now: ProcessingTime,
        limit: usize,
        output: &mut O,
    ) -> Result<Polled, Fault> {
        let status = self.give(limit, output).map_err(|error| self.reading.bad_lines.publish_up_to(error))?;
        Ok(Polled::new(status))
    }

    /// Gives the file of diverted bad lines its final name, when the source has ended.
    fn finish(&mut self) -> Result<(), Fault> {
        Ok(self.reading.bad_lines.finish()?)
    }

    fn bad_count(&self) -> u64 {
        self.reading.bad_count()
    }

    fn held_bytes(&self) -> usize {
        self.reading.lines.held_bytes()
            + self.reading.bad_lines.held_bytes()
            + self.reading.drafted.capacity() * size_of::<Drafted>()
            + self.pool.held_bytes()
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
        self.reading = Reading::start(&self.path, &self.on_bad, &self.disk)
            .map_err(|error| refused(error.to_string()))?;
        if self.reading.position().0 == saved.0 {
            self.skip(saved.1).map_err(|error| refused(error.to_string()))?;
            // If the next record is not in the buffer yet, the bad lines before it are not counted yet. So
            // the buffer is filled until the count of bad lines is that of the saved position.
            if self.reading.next == self.reading.drafted.len() && self.reading.position() != saved {
                self.reading.fill(&self.parse, &mut self.pool).map_err(|error| refused(error.to_string()))?;
            }
        }
        if self.reading.position() == saved {
            return Ok(());
        }
        let path = self.path.display();
        Err(refused(format!("{path} is not the file that was read then, or is read with other options")))
    }
}

#[cfg(test)]
mod tests;
