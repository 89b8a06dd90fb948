//! Bad records, which cannot be decoded: how a table handles them, and how large a share of them fails the
//! query.
//!
//! | option, ours | default | |
//! |---|---|---|
//! | `thalweg.on-bad` | `fail` | `fail`, as in Flink; `skip` counts and passes over; `divert:FILE` writes them to a file |
//! | `thalweg.bad-share-max` | `0.01` | a larger share of any 10,000 consecutive records fails the query; `1` lets all pass |
//!
//! A window of 10,000 records is measured by the lines on which its records begin, in each split of a table
//! on its own. So a small input may consist of bad records only, as long as it has no more of them than one
//! window may have.
//!
//! A diverted record is a line of JSON: `{"file":..,"offset":..,"line":..,"column":..,"reason":..,"raw":..}`.
//! Bytes that are no UTF-8 are written in Base64 under `raw_base64` instead of `raw`. If a record is too
//! long, `raw` has only its beginning. `"truncated":true,"length":..` follow, where `length` is the number of
//! bytes of the whole record up to its line end. The file is created at the first bad record. It is published
//! when all splits that divert to it have ended, and also when one of them fails, because the user then wants
//! to see the bad records. A cancelled query removes the file, unless another job that diverts to the same
//! file has ended: the records of that job are kept.
//!
//! A diverted file of an earlier run is removed if this run finds no bad records and all its jobs have read
//! their input to its end. Otherwise the file would be taken for what this run found. If a job was asked to
//! end early, the file stays, because the job may have found no bad records only because it read little. Only
//! a file that begins as diverted records do is removed.
//!
//! The diverted records of one split are in the order of its input.
//!
//! The options do not belong to a format. Options of formats such as `json.ignore-parse-errors` apply first,
//! and a record that they ignore is not a bad record.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use thalweg_connectors::InProgressFile;
use thalweg_model::disk::Disk;
use thalweg_model::{StateError, StateReader, StateWriter};
use thalweg_sql_formats::{BadRecord, RECORD_BYTES_MAX, write_base64};

use super::decoding::COUNT_MAX;
use super::error::{ConnectError, RecordPlace};
use super::files::FileKey;
use super::job_end::JobEnd;
use super::options::Given;
use crate::error::SqlError;

/// The length, in records, of the window in which bad records are counted and compared with the allowed
/// share.
pub const BAD_WINDOW_RECORDS: u64 = 10_000;

/// The default for the share of bad records that is allowed among any 10,000 consecutive records, from 0 to
/// 1.
pub const BAD_SHARE_MAX: f64 = 0.01;

/// Bytes of diverted bad records that are collected in memory before they are written to their file.
const DIVERT_BUFFER_BYTES: usize = 64 << 10;

/// The options of a table that say how bad records are handled.
#[derive(Clone, PartialEq, Debug)]
pub struct BadOptions {
    on_bad: OnBad,
    /// How many of 10,000 consecutive records may be bad; `None` for no limit.
    bad_max: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum OnBad {
    Fail,
    Skip,
    Divert(String),
}

impl BadOptions {
    /// Reads the options for bad records of a table.
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
        // The share of a window of 10,000 records is a whole number of records if the share has up to four
        // digits after the point. The small summand corrects the rounding of the multiplication.
        let bad_max = (share < 1.0).then_some((share * BAD_WINDOW_RECORDS as f64 + 1e-6) as usize);
        Ok(BadOptions { on_bad, bad_max })
    }

    /// Returns the file to which bad records are diverted, as written in the options of the table.
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
    /// The number of the job that reads the split.
    job: u64,
    /// Tells whether the job of the split was asked to end early.
    end: JobEnd,
    /// The last bad record, if it is longer than a record may be and the end of the record was not found yet.
    cut: Option<Cut>,
    recent: RecentBad,
    count: u64,
    /// How many of the next bad records are neither counted nor written, because they are already in the
    /// count that was restored from saved state.
    known: u64,
    /// Number of lines of all inputs of the split that were read before the current input.
    lines_before: u64,
    is_over: bool,
}

impl BadRecords {
    /// Creates the handler of bad records of one split of the job `job`. `diversion` is the file to which bad
    /// records are diverted; splits with the same file share it.
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

    /// Sets the state that tells whether the job was asked to end early.
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
                // The JSON line of a record that is too long stays unfinished: its length is appended when
                // the end of the record is found.
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

    /// Returns the offset of the bad record whose end is not known yet, if there is one.
    pub(super) fn cut_offset(&self) -> Option<u64> {
        self.cut.as_ref().map(|cut| cut.offset)
    }

    /// Finishes the JSON line of the bad record that is too long. `length` is the length of the record in
    /// bytes, or `None` if it is unknown.
    ///
    /// # Errors
    /// [`ConnectError::DivertFailed`].
    pub(super) fn end_cut(&mut self, length: Option<u64>) -> Result<(), ConnectError> {
        let Some(Cut { mut line, .. }) = self.cut.take() else { return Ok(()) };
        // A record of exactly the greatest length is complete, so it is not marked as truncated.
        if length.is_none_or(|length| RECORD_BYTES_MAX as u64 != length) {
            let length = length.map_or("null".to_owned(), |length| length.to_string());
            let _ = write!(line, ",\"truncated\":true,\"length\":{length}");
        }
        line.extend_from_slice(END);
        self.divert(&line)
    }

    /// Records that the split has read one of its inputs to the end. The input had `lines` lines.
    pub(super) fn pass_input(&mut self, lines: u64) {
        self.lines_before += lines;
    }

    /// After a failure, gives the file of diverted bad records its final name, if possible. Returns the
    /// failure, which the user is shown.
    #[cold]
    pub(super) fn publish_up_to(&mut self, mut failure: ConnectError) -> ConnectError {
        // The user is shown the first failure of the query, so a further error of the diverted file is
        // dropped.
        let _ = self.end_cut(None);
        if let Some(diversion) = &self.diversion {
            let is_kept = diversion.give_up(self.job);
            if let ConnectError::TooManyBad { diverted, .. } = &mut failure {
                *diverted = is_kept.then(|| diversion.path.clone());
            }
        }
        failure
    }

    /// Ends the handling of bad records for this split. The last of all splits gives the file of diverted
    /// records its final name.
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

    /// Returns whether bad records are written to a file. When reading starts again from a saved position,
    /// such a file must be written again from its beginning.
    pub(super) fn diverts(&self) -> bool {
        self.diversion.is_some()
    }

    /// Returns how many of the next bad records are neither counted nor written, because they are already in
    /// the count that was restored from saved state.
    pub(super) fn known(&self) -> u64 {
        self.known
    }

    pub(super) fn expect_known(&mut self, known: u64) {
        self.known = known;
    }

    pub(super) fn held_bytes(&self) -> usize {
        // All splits that divert to one file share its buffer, so each of them reports an equal part of the
        // bytes.
        let diverted = self
            .diversion
            .as_ref()
            .map_or(0, |diversion| diversion.state().text.capacity() / Arc::strong_count(diversion));
        let cut = self.cut.as_ref().map_or(0, |cut| cut.line.capacity());
        self.recent.lines.capacity() * size_of::<u64>() + diverted + cut
    }

    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        SavedBad::write(self.count, self.lines_before, &self.recent, state)
    }

    /// Reads the saved counts of bad records without applying them.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not such state, or belong to other options.
    pub(super) fn load(&self, state: &mut StateReader<'_>) -> Result<SavedBad, StateError> {
        let (count, lines_before, next): (u64, u64, usize) = state.take()?;
        let lines: Vec<u64> = state.take()?;
        if COUNT_MAX < count.max(lines_before) {
            return Err(state.wrong("no input has so many records"));
        }
        let places = self.options.bad_max.map_or(0, |bad_max| bad_max + 1);
        if places < lines.len() || (next != 0 && lines.len() <= next) {
            return Err(state.wrong("more bad records are remembered than the table's options ask for"));
        }
        Ok(SavedBad { count, lines_before, recent: RecentBad { lines, next } })
    }

    /// Continues counting bad records from saved state.
    pub(super) fn restore(&mut self, saved: SavedBad) {
        (self.count, self.lines_before, self.recent) = (saved.count, saved.lines_before, saved.recent);
    }
}

/// A split that is dropped before its end removes the bad records that its job has diverted, unless other
/// jobs have written to the same file.
impl Drop for BadRecords {
    fn drop(&mut self) {
        if let Some(diversion) = self.diversion.as_ref().filter(|_| !self.is_over) {
            diversion.drop_out(self.job);
        }
    }
}

/// The beginning of a bad record that is too long, as a line of JSON without its end.
struct Cut {
    line: Vec<u8>,
    offset: u64,
}

/// Saved state of a split: its count of bad records, and the line numbers of the latest bad records.
pub(super) struct SavedBad {
    pub(super) count: u64,
    lines_before: u64,
    recent: RecentBad,
}

impl SavedBad {
    /// Saves the counts once more, as they were read.
    ///
    /// # Errors
    /// [`StateError`] if they cannot be written.
    pub(super) fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        SavedBad::write(self.count, self.lines_before, &self.recent, state)
    }

    fn write(
        count: u64,
        lines_before: u64,
        recent: &RecentBad,
        state: &mut StateWriter,
    ) -> Result<(), StateError> {
        state.put(&(count, lines_before, recent.next))?;
        state.put(&recent.lines)
    }
}

/// Line numbers of the latest bad records. The vector keeps one line number more than the number of bad
/// records that are allowed among 10,000 consecutive records. When full, it is used as a ring.
struct RecentBad {
    lines: Vec<u64>,
    /// The index of the oldest line number in the vector, when the vector is full and used as a ring.
    next: usize,
}

impl RecentBad {
    /// Adds the line of a bad record. Returns whether this record and the `bad_max` bad records before it lie
    /// within 10,000 consecutive lines.
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
    /// Returns the shared file of bad records at `path`, or opens a new one.
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

/// A file of bad records, to which several splits write.
pub(super) struct Diversion {
    path: PathBuf,
    disk: Arc<dyn Disk>,
    state: Mutex<DiversionState>,
}

#[derive(Default)]
struct DiversionState {
    file: Option<InProgressFile>,
    text: Vec<u8>,
    /// The number of splits of each job that are still open.
    writers: BTreeMap<u64, usize>,
    /// Numbers of jobs that have failed. Bad records of these jobs are no longer written to the file.
    given_up: BTreeSet<u64>,
    /// Whether the file of bad records must get its final name, because a job has ended, or has failed
    /// because of its records.
    is_kept: bool,
    /// Whether a job was asked to end before its input had ended.
    is_cut: bool,
    /// Whether the file of bad records got its final name, or a write to it failed. The file accepts no more
    /// records then.
    is_closed: bool,
    /// Whether a write to the file of bad records failed, so that its records are lost.
    is_broken: bool,
    /// Jobs that have written bad records to the file.
    diverting: BTreeSet<u64>,
}

impl Diversion {
    fn state(&self) -> MutexGuard<'_, DiversionState> {
        // A poisoned lock is used as it is: the state is consistent between any two statements, and a panic
        // elsewhere fails the query in any case.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, job: u64, line: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        if state.given_up.contains(&job) {
            // Another split of the job has failed. The bad records that were diverted before the failure are
            // kept in their file, and the present bad record is dropped.
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
            // A write failed, so the file of bad records lacks a record and must not get its final name.
            // Other jobs with records in it get the error at their next write or at their end.
            (state.file, state.is_closed, state.is_broken) = (None, true, true);
            state.text = Vec::new();
        }
        written
    }

    /// Records that a split of a job has ended. `is_cut` says whether the job was asked to end before its
    /// input had ended.
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

    /// Ends a job that fails: the file accepts no more of its bad records, and gets its final name if no
    /// other job writes to it. Returns whether the user will find diverted records under that name.
    fn give_up(&self, job: u64) -> bool {
        let mut state = self.state();
        let has_any = state.file.is_some();
        state.writers.remove(&job);
        state.given_up.insert(job);
        state.is_kept = true;
        has_any && (!state.writers.is_empty() || state.publish().is_ok())
    }

    /// Handles a split that is dropped before its end: the last one gives the file of bad records its final
    /// name, or removes the file if no job needs it.
    fn drop_out(&self, job: u64) {
        let mut state = self.state();
        state.is_last(job);
        if state.writers.is_empty() && !state.is_closed {
            if state.is_kept {
                // An error at this publication is ignored, because no split is left to report it.
                let _ = state.publish();
            } else {
                (state.file, state.is_closed) = (None, true);
            }
        }
    }
}

/// Returns the error for jobs whose bad records were lost because their file could not be written.
fn broken() -> io::Error {
    io::Error::other("an earlier bad record could not be written there, and those before it are lost")
}

impl DiversionState {
    /// Reduces the number of open splits of a job by one. Returns whether this was its last split.
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
        // The buffer of the file shrinks to its usual size, so that one long record does not hold memory for
        // the rest of the run.
        self.text.shrink_to(DIVERT_BUFFER_BYTES);
        Ok(())
    }

    fn publish(&mut self) -> io::Result<()> {
        self.is_closed = true;
        self.write_out()?;
        self.file.take().map_or(Ok(()), InProgressFile::publish)
    }
}

/// Removes the file to which an earlier run diverted bad records, if it exists. A file that does not begin as
/// a diverted record does is kept.
fn remove_earlier(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    let mut start = Vec::with_capacity(START.len());
    match disk.open(path) {
        Ok(file) => file.take(START.len() as u64).read_to_end(&mut start)?,
        // There is no file at the path, or one that this program could not have written, since it cannot be
        // read.
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

/// The first bytes of the JSON line of every diverted record.
const START: &[u8] = b"{\"file\":";

/// The last bytes of the JSON line of every diverted record.
const END: &[u8] = b"}\n";

/// Formats a bad record as the line of JSON that is written to the file of bad records.
fn diverted(input: &str, record: &BadRecord<'_>) -> Vec<u8> {
    let mut line = Vec::with_capacity(record.raw.len() + 256);
    line.extend_from_slice(START);
    write_json_text(input, &mut line);
    // The result is ignored, because writing to a vector does not fail.
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

/// Writes text as a JSON string in double quotes. Source: RFC 8259, section 7.
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

#[cfg(test)]
mod tests;
