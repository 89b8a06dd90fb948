//! Bad records: what becomes of them, and how many are too many.
//!
//! | option, ours | default | |
//! |---|---|---|
//! | `thalweg.on-bad` | `fail` | `fail`, as in Flink; `skip` counts and passes over; `divert:FILE` writes them to a file |
//! | `thalweg.bad-share-max` | `0.01` | a larger share of any 10,000 consecutive records fails the query; `1` lets all pass |
//!
//! Records are counted by the lines on which they begin, in each split of a table on its own: a small input may be bad all
//! over as long as it holds no more bad records than that.
//!
//! A diverted record is a line of JSON: `{"file":..,"offset":..,"line":..,"column":..,"reason":..,"raw":..}`, where bytes that
//! are no UTF-8 stand in Base64 under `raw_base64` instead. Of a record that is too long only the beginning stands there, and
//! `"truncated":true,"length":..` behind it: the bytes of all of it up to its line end. The file is created at the first bad
//! record and published when all splits that divert to it have ended, and also when one of them fails, for then people want
//! to see what was wrong. A query that is cancelled takes it away, unless another job that diverts to it has ended: what that
//! one diverted is kept.
//!
//! A file that an earlier run diverted to does not outlast a run that reads its input without bad records: it is removed when all
//! jobs have read their input to its end, for it would be taken for what this run found. A job that was asked to end before may have
//! found none because it read little. Only a file that begins as diverted records do is removed.
//!
//! The records of a split stand in the order of the input.
//!
//! The options are no format's: `json.ignore-parse-errors` and its kin stand before them, and what those let pass is not bad.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use thalweg_connectors::InProgressFile;
use thalweg_model::disk::Disk;
use thalweg_model::{StateError, StateReader, StateWriter};
use thalweg_sql_formats::{BadRecord, RECORD_BYTES_MAX};

use super::error::{ConnectError, RecordPlace};
use super::files::FileKey;
use super::job_end::JobEnd;
use super::options::Given;
use crate::error::SqlError;

/// The window, in consecutive records, in which bad records are counted.
pub const BAD_WINDOW_RECORDS: u64 = 10_000;

/// The default of the share of a window that may be bad.
pub const BAD_SHARE_MAX: f64 = 0.01;

/// Bytes collected before they are written to the diverted file.
const DIVERT_BUFFER_BYTES: usize = 64 << 10;

/// The options of a table for bad records.
#[derive(Clone, PartialEq, Debug)]
pub struct BadOptions {
    on_bad: OnBad,
    /// How many records of a window may be bad; `None` for no limit.
    bad_max: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum OnBad {
    Fail,
    Skip,
    Divert(String),
}

impl BadOptions {
    /// Reads the options of a table.
    ///
    /// # Errors
    /// [`SqlError`] if a value is not valid.
    pub fn bind(given: &mut Given<'_>) -> Result<Self, SqlError> {
        const ON_BAD: &str = "thalweg.on-bad";
        const SHARE: &str = "thalweg.bad-share-max";
        let on_bad = match given.text(ON_BAD) {
            None | Some("fail") => OnBad::Fail,
            Some("skip") => OnBad::Skip,
            Some(text) => match text.strip_prefix("divert:").filter(|file| !file.trim().is_empty()) {
                Some(file) => OnBad::Divert(file.trim().to_owned()),
                None => {
                    let reason = format!("'{text}' is neither 'fail' nor 'skip' nor 'divert:FILE'");
                    return Err(given.wrong(ON_BAD, reason));
                }
            },
        };
        let share = given.number::<f64>(SHARE, "a number from 0 to 1")?.unwrap_or(BAD_SHARE_MAX);
        if !(0.0..=1.0).contains(&share) {
            return Err(given.wrong(SHARE, format!("'{share}' is not a number from 0 to 1")));
        }
        // A share with few digits is a whole number of records; the small addend corrects the rounding of the
        // multiplication.
        let bad_max = (share < 1.0).then_some((share * BAD_WINDOW_RECORDS as f64 + 1e-6) as usize);
        Ok(BadOptions { on_bad, bad_max })
    }

    /// Returns the file to which records are diverted, as written in the options.
    pub fn diverts_to(&self) -> Option<&str> {
        match &self.on_bad {
            OnBad::Divert(file) => Some(file),
            _ => None,
        }
    }
}

/// Handles the bad records of one split.
pub(super) struct BadRecords {
    options: BadOptions,
    diversion: Option<Arc<Diversion>>,
    /// The job of the split.
    job: u64,
    /// How that job ends.
    end: JobEnd,
    /// The last bad record, while its length is not known yet.
    cut: Option<Cut>,
    recent: RecentBad,
    count: u64,
    /// How many of the next bad records were counted already, before the position at which reading continues.
    known: u64,
    /// Lines of all inputs before the current one.
    lines_before: u64,
    is_over: bool,
}

impl BadRecords {
    /// Creates the handler of one split of `job`; splits that divert to the same file share `diversion`.
    pub(super) fn new(options: BadOptions, diversion: Option<Arc<Diversion>>, job: u64) -> Self {
        if let Some(diversion) = &diversion {
            *diversion.state().writers.entry(job).or_default() += 1;
        }
        let recent = RecentBad { lines: Vec::new(), next: 0 };
        BadRecords {
            options,
            diversion,
            job,
            end: JobEnd::default(),
            cut: None,
            recent,
            count: 0,
            known: 0,
            lines_before: 0,
            is_over: false,
        }
    }

    /// Tells how the job ends.
    pub(super) fn with_end(mut self, end: JobEnd) -> Self {
        self.end = end;
        self
    }

    /// Counts a bad record of `input` and handles it as the table's options say.
    ///
    /// # Errors
    /// [`ConnectError`] if the query must fail.
    #[cold]
    pub(super) fn take(&mut self, input: &str, record: &BadRecord<'_>) -> Result<(), ConnectError> {
        if self.known > 0 {
            self.known -= 1;
            return Ok(());
        }
        self.count += 1;
        let place = || RecordPlace::of(input, record);
        if self.options.on_bad == OnBad::Fail {
            return Err(ConnectError::BadRecord { place: place(), reason: record.reason.clone() });
        }
        if self.diversion.is_some() {
            let mut line = diverted(input, record);
            if RECORD_BYTES_MAX <= record.raw.len() {
                // The length is appended when the end of the record is found.
                line.truncate(line.len() - END.len());
                self.end_cut(None)?;
                self.cut = Some(Cut { line, offset: record.offset });
            } else {
                self.divert(&line)?;
            }
        }
        if let Some(bad_max) = self.options.bad_max
            && self.recent.is_one_too_many(self.lines_before + record.line, bad_max)
        {
            return Err(ConnectError::TooManyBad {
                place: place(),
                reason: record.reason.clone(),
                bad_max,
                diverted: None,
            });
        }
        Ok(())
    }

    /// Handles a file that was replaced or written to after it was read; the file is not read again.
    ///
    /// # Errors
    /// [`ConnectError`] if the query must fail.
    #[cold]
    pub(super) fn take_change(&mut self, path: &Path) -> Result<(), ConnectError> {
        const CHANGE: &str = "it was replaced or written to after it was read, and a path is read once";
        self.count += 1;
        if self.options.on_bad == OnBad::Fail {
            return Err(ConnectError::ChangedLater { path: path.to_owned(), change: CHANGE });
        }
        if self.diversion.is_some() {
            let reason = CHANGE.to_owned();
            let record = BadRecord { raw: b"", offset: 0, line: 0, column: None, reason };
            self.divert(&diverted(&path.display().to_string(), &record))?;
        }
        Ok(())
    }

    fn divert(&self, line: &[u8]) -> Result<(), ConnectError> {
        match &self.diversion {
            None => Ok(()),
            Some(diversion) => diversion
                .write(self.job, line)
                .map_err(|source| ConnectError::DivertFailed { path: diversion.path.clone(), source }),
        }
    }

    /// Returns the offset of the record whose end is not known yet, if there is one.
    pub(super) fn cut_offset(&self) -> Option<u64> {
        self.cut.as_ref().map(|cut| cut.offset)
    }

    /// Finishes the record that is too long; `length` is its length in bytes, or `None` if it is unknown.
    ///
    /// # Errors
    /// [`ConnectError::DivertFailed`].
    pub(super) fn end_cut(&mut self, length: Option<u64>) -> Result<(), ConnectError> {
        let Some(Cut { mut line, .. }) = self.cut.take() else { return Ok(()) };
        // A record of exactly the greatest length is complete.
        if length.is_none_or(|length| RECORD_BYTES_MAX as u64 != length) {
            let length = length.map_or("null".to_owned(), |length| length.to_string());
            let _ = write!(line, ",\"truncated\":true,\"length\":{length}");
        }
        line.extend_from_slice(END);
        self.divert(&line)
    }

    /// Notes the end of an input with this many lines.
    pub(super) fn pass_input(&mut self, lines: u64) {
        self.lines_before += lines;
    }

    /// Publishes the records diverted before a failure, as far as possible. Returns the failure, which is
    /// what the user sees.
    #[cold]
    pub(super) fn publish_up_to(&mut self, mut failure: ConnectError) -> ConnectError {
        // The first failure is reported, so this one is dropped.
        let _ = self.end_cut(None);
        if let Some(diversion) = &self.diversion {
            let is_kept = diversion.give_up(self.job);
            if let ConnectError::TooManyBad { diverted, .. } = &mut failure {
                *diverted = is_kept.then(|| diversion.path.clone());
            }
        }
        failure
    }

    /// Ends this split; the last split publishes the diverted records.
    ///
    /// # Errors
    /// [`ConnectError::DivertFailed`].
    pub(super) fn finish(&mut self) -> Result<(), ConnectError> {
        self.end_cut(None)?;
        if std::mem::replace(&mut self.is_over, true) {
            return Ok(());
        }
        match &self.diversion {
            None => Ok(()),
            Some(diversion) => diversion
                .leave(self.job, self.end.is_cut())
                .map_err(|source| ConnectError::DivertFailed { path: diversion.path.clone(), source }),
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns whether bad records are written to a file. Such a file must be written again when reading
    /// starts elsewhere.
    pub(super) fn diverts(&self) -> bool {
        self.diversion.is_some()
    }

    /// Returns how many of the next bad records are already counted.
    pub(super) fn known(&self) -> u64 {
        self.known
    }

    pub(super) fn expect_known(&mut self, known: u64) {
        self.known = known;
    }

    pub(super) fn held_bytes(&self) -> usize {
        // All splits that divert to the file share its buffer; each reports its share of it.
        let diverted = self
            .diversion
            .as_ref()
            .map_or(0, |diversion| diversion.state().text.capacity() / Arc::strong_count(diversion));
        let cut = self.cut.as_ref().map_or(0, |cut| cut.line.capacity());
        self.recent.lines.capacity() * size_of::<u64>() + diverted + cut
    }

    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&(self.count, self.lines_before, self.recent.next))?;
        state.put(&self.recent.lines)
    }

    /// Reads the saved state without applying it.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not such state, or belong to other options.
    pub(super) fn load(&self, state: &mut StateReader<'_>) -> Result<SavedBad, StateError> {
        let (count, lines_before, next): (u64, u64, usize) = state.take()?;
        let lines: Vec<u64> = state.take()?;
        let places = self.options.bad_max.map_or(0, |bad_max| bad_max + 1);
        if places < lines.len() || (next != 0 && lines.len() <= next) {
            return Err(state.wrong("more bad records are remembered than the table's options ask for"));
        }
        Ok(SavedBad { count, lines_before, recent: RecentBad { lines, next } })
    }

    /// Continues with saved state.
    pub(super) fn restore(&mut self, saved: SavedBad) {
        (self.count, self.lines_before, self.recent) = (saved.count, saved.lines_before, saved.recent);
    }
}

/// A split dropped before its end removes the records diverted by its job, unless other jobs have written
/// there, too.
impl Drop for BadRecords {
    fn drop(&mut self) {
        if let Some(diversion) = self.diversion.as_ref().filter(|_| !self.is_over) {
            diversion.drop_out(self.job);
        }
    }
}

/// The beginning of a record that is too long, as an unfinished line of JSON.
struct Cut {
    line: Vec<u8>,
    offset: u64,
}

/// Saved state: the count of bad records, and the latest ones.
pub(super) struct SavedBad {
    pub(super) count: u64,
    lines_before: u64,
    recent: RecentBad,
}

/// The lines of the latest bad records, one more than a window may have; a ring when full.
struct RecentBad {
    lines: Vec<u64>,
    /// The index of the oldest line, once the ring is full.
    next: usize,
}

impl RecentBad {
    /// Adds a bad record; returns whether it and the `bad_max` records before it lie in one window.
    fn is_one_too_many(&mut self, line: u64, bad_max: usize) -> bool {
        if self.lines.len() <= bad_max {
            self.lines.push(line);
        } else {
            self.lines[self.next] = line;
            self.next = (self.next + 1) % self.lines.len();
        }
        bad_max < self.lines.len() && line.saturating_sub(self.lines[self.next]) < BAD_WINDOW_RECORDS
    }
}

/// The open files of diverted records. Tables and splits that name the same file share one entry.
#[derive(Clone, Default)]
pub(super) struct Diversions(Arc<Mutex<HashMap<FileKey, Weak<Diversion>>>>);

impl Diversions {
    /// Returns the diversion to `path`, or opens a new one.
    pub(super) fn to(&self, disk: Arc<dyn Disk>, path: &Path) -> Arc<Diversion> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, diversion| diversion.strong_count() > 0);
        let key = FileKey::of(disk.as_ref(), path);
        if let Some(diversion) = known.get(&key).and_then(Weak::upgrade)
            && !diversion.state().is_closed
        {
            return diversion;
        }
        let diversion = Arc::new(Diversion { path: path.to_owned(), disk, state: Mutex::default() });
        known.insert(key, Arc::downgrade(&diversion));
        diversion
    }
}

/// A file of bad records, written by several splits.
pub(super) struct Diversion {
    path: PathBuf,
    disk: Arc<dyn Disk>,
    state: Mutex<DiversionState>,
}

#[derive(Default)]
struct DiversionState {
    file: Option<InProgressFile>,
    text: Vec<u8>,
    /// The number of open splits of each job.
    writers: BTreeMap<u64, usize>,
    /// Jobs that have failed; no more records of them are accepted.
    given_up: BTreeSet<u64>,
    /// Whether the file must be published: a job has ended, or has failed because of its records.
    is_kept: bool,
    /// A job was asked to end before its input had ended.
    is_cut: bool,
    /// Whether the file was published, or a write failed; no more records are accepted.
    is_closed: bool,
    /// Whether a write failed, so that the diverted records are lost.
    is_broken: bool,
    /// Jobs that have diverted records.
    diverting: BTreeSet<u64>,
}

impl Diversion {
    fn state(&self) -> MutexGuard<'_, DiversionState> {
        // The state is consistent between any two statements; a panic elsewhere fails the query in any case.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, job: u64, line: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        if state.given_up.contains(&job) {
            // Another split of the job has failed, and the records diverted before that are published.
            return Ok(());
        }
        if state.is_broken {
            return Err(broken());
        }
        if state.is_closed {
            return Ok(());
        }
        state.diverting.insert(job);
        let written = (|| {
            if state.file.is_none() {
                state.file = Some(InProgressFile::create(Arc::clone(&self.disk), &self.path)?);
            }
            state.text.extend_from_slice(line);
            if DIVERT_BUFFER_BYTES <= state.text.len() { state.write_out() } else { Ok(()) }
        })();
        if written.is_err() {
            // The file lacks a record, so it must not be published. Other jobs with records in it get the
            // error at their next write or at their end.
            (state.file, state.is_closed, state.is_broken) = (None, true, true);
            state.text = Vec::new();
        }
        written
    }

    /// A split of a job has ended, whose input may have been cut short.
    fn leave(&self, job: u64, is_cut: bool) -> io::Result<()> {
        let mut state = self.state();
        state.is_cut |= is_cut;
        state.is_kept |= state.is_last(job);
        if state.is_broken && state.diverting.contains(&job) {
            return Err(broken());
        }
        if !state.writers.is_empty() {
            return Ok(());
        }
        let is_empty = state.file.is_none() && state.given_up.is_empty() && !state.is_closed;
        let is_whole = !state.is_cut;
        state.publish()?;
        if is_empty && is_whole { remove_earlier(self.disk.as_ref(), &self.path) } else { Ok(()) }
    }

    /// Ends a job that fails: accepts no more of its records, and publishes the file if no other job writes
    /// to it. Returns whether there are diverted records that are or will be published.
    fn give_up(&self, job: u64) -> bool {
        let mut state = self.state();
        let has_any = state.file.is_some();
        state.writers.remove(&job);
        state.given_up.insert(job);
        state.is_kept = true;
        has_any && (!state.writers.is_empty() || state.publish().is_ok())
    }

    /// Handles the drop of a split before its end.
    fn drop_out(&self, job: u64) {
        let mut state = self.state();
        state.is_last(job);
        if state.writers.is_empty() && !state.is_closed {
            if state.is_kept {
                // A failure here has no receiver left.
                let _ = state.publish();
            } else {
                (state.file, state.is_closed) = (None, true);
            }
        }
    }
}

/// Returns the error for jobs whose records were lost because the file could not be written.
fn broken() -> io::Error {
    io::Error::other("an earlier bad record could not be written there, and those before it are lost")
}

impl DiversionState {
    /// Counts down the open splits of a job; returns whether this was the last one.
    fn is_last(&mut self, job: u64) -> bool {
        let Some(left) = self.writers.get_mut(&job) else { return false };
        *left -= 1;
        let is_last = *left == 0;
        if is_last {
            self.writers.remove(&job);
        }
        is_last
    }

    fn write_out(&mut self) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            file.write_all(&self.text)?;
        }
        self.text.clear();
        // The memory of one long record is not held forever.
        self.text.shrink_to(DIVERT_BUFFER_BYTES);
        Ok(())
    }

    fn publish(&mut self) -> io::Result<()> {
        self.is_closed = true;
        self.write_out()?;
        self.file.take().map_or(Ok(()), InProgressFile::publish)
    }
}

/// Removes the file that an earlier run diverted to, if it exists; a file with another beginning stays.
fn remove_earlier(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    let mut start = Vec::with_capacity(START.len());
    match disk.open(path) {
        Ok(file) => file.take(START.len() as u64).read_to_end(&mut start)?,
        // No such file, or one that this program could not have written.
        Err(_) => return Ok(()),
    };
    if start != START {
        return Ok(());
    }
    match disk.remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let told = format!("it is of an earlier run, and cannot be removed: {error}");
            Err(io::Error::new(error.kind(), told))
        }
        _ => Ok(()),
    }
}

/// The first bytes of every diverted record.
const START: &[u8] = b"{\"file\":";

/// The last bytes of every diverted record.
const END: &[u8] = b"}\n";

/// Formats a bad record as a line of JSON.
fn diverted(input: &str, record: &BadRecord<'_>) -> Vec<u8> {
    let mut line = Vec::with_capacity(record.raw.len() + 256);
    line.extend_from_slice(START);
    write_json_text(input, &mut line);
    // Writing to a vector does not fail.
    let _ = write!(line, ",\"offset\":{},\"line\":{},\"column\":", record.offset, record.line);
    match record.column {
        Some(column) => write_json_text(column, &mut line),
        None => line.extend_from_slice(b"null"),
    }
    line.extend_from_slice(b",\"reason\":");
    write_json_text(&record.reason, &mut line);
    match std::str::from_utf8(record.raw) {
        Ok(raw) => {
            line.extend_from_slice(b",\"raw\":");
            write_json_text(raw, &mut line);
        }
        Err(_) => {
            line.extend_from_slice(b",\"raw_base64\":\"");
            write_base64(record.raw, &mut line);
            line.push(b'"');
        }
    }
    line.extend_from_slice(END);
    line
}

/// Writes text in double quotes. Source: RFC 8259, section 7.
fn write_json_text(text: &str, to: &mut Vec<u8>) {
    to.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => to.extend_from_slice(&[b'\\', byte]),
            b'\n' => to.extend_from_slice(b"\\n"),
            b'\r' => to.extend_from_slice(b"\\r"),
            b'\t' => to.extend_from_slice(b"\\t"),
            0..0x20 => {
                let _ = write!(to, "\\u{byte:04x}");
            }
            _ => to.push(byte),
        }
    }
    to.push(b'"');
}

/// Writes bytes in Base64, with padding. Source: RFC 4648, section 4.
fn write_base64(bytes: &[u8], to: &mut Vec<u8>) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for group in bytes.chunks(3) {
        let mut bits = 0;
        for place in 0..3 {
            bits = bits << 8 | u32::from(group.get(place).copied().unwrap_or(0));
        }
        for place in 0..4 {
            let digit = bits >> (18 - 6 * place) & 63;
            to.push(if place <= group.len() { DIGITS[digit as usize] } else { b'=' });
        }
    }
}

#[cfg(test)]
mod tests;
