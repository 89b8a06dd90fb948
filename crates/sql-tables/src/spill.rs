//! State on disk: rows that operators cannot hold in memory, in files of one run, written once and read back in order.
//!
//! ```text
//! DIR                         the setting 'thalweg.state.spill-dir'
//! +-- .thalweg-state-WORD     one directory for each run
//!     +-- lock                locked for as long as the run lives
//!     +-- 0.rows, 1.rows, ..  blocks of rows, each with a checksum (`spill/file.rs`)
//! ```
//!
//! * S1. A file is not changed after it was [finished](SpillWriter::finish). It is removed when its last reader or handle is
//!   dropped, and the directory of the run when all handles of the run are.
//! * S2. All files of a run together hold at most the bytes of `thalweg.state.spill-size`. A block that would go beyond is
//!   not written, and the query fails with `SPILL_LIMIT`.
//! * S3. Rows are given back only if they are as they were written: other bytes, missing bytes or missing blocks fail the
//!   query with `SPILL_CORRUPT`. Errors of the file system fail it with `SPILL_FAILED`.
//! * S4. Files of other runs are never read. Directories of runs that were killed are removed by the next run that opens the
//!   same directory: their lock is free. Directories of living runs stay, because the system frees a lock with its process only.
//!
//! A directory is made when the first row is written, or by [`Spill::open`]. Files are not synced to the disk: they are of no
//! use to another run yet.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thalweg_model::disk::WriteFile;
use thalweg_model::{Allowance, Entropy};
use thalweg_sql_functions::functions::EvaluationError;

use crate::connect::files::{Files, Standing};

mod file;
#[cfg(test)]
mod tests;

pub use file::{SpillFile, SpillReader, SpillWriter};

/// Bytes that the files of a run hold at most, unless `thalweg.state.spill-size` says otherwise: 10 GiB, which a machine that
/// runs queries usually has free.
pub const SPILL_BYTES_DEFAULT: u64 = 10 << 30;

/// Beginning of the names of directories of runs. Tables over a directory pass over names that begin with a dot.
const DIRECTORY_PREFIX: &str = ".thalweg-state-";

/// Name of the file that a run keeps locked.
const LOCK: &str = "lock";

/// Greatest number of names that are tried for the directory of a run. Another run may remove a directory that has no lock yet.
const OPEN_TRIES: usize = 16;

/// Share of the memory budget that the state of all operators may fill together which can go to disk, as a divisor. The
/// rest is for edges, results, state that cannot go to disk, and groups in memory that grow.
const MEMORY_DIVISOR: usize = 2;

/// The state on disk of one run: hands out files. Clones share the directory and its bound.
#[derive(Clone)]
pub struct Spill(Arc<Run>);

/// Numbers about the files of a run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SpillTotals {
    /// Number of files that were begun.
    pub files: u64,
    /// Number of rows that were written.
    pub rows_written: u64,
    /// Number of rows that were read back.
    pub rows_read: u64,
    /// Bytes that the files hold now.
    pub bytes: u64,
    /// Bytes that were written.
    pub bytes_written: u64,
}

/// Directory of a run, with its bound.
struct Run {
    files: Arc<dyn Files>,
    parent: PathBuf,
    limit_bytes: u64,
    names: Arc<Mutex<dyn Entropy>>,
    /// Directory of the run with its locked file, once it was made.
    opened: Mutex<Option<Opened>>,
    totals: Mutex<SpillTotals>,
}

struct Opened {
    path: PathBuf,
    /// The locked file. The lock is freed when it is closed.
    lock: Box<dyn WriteFile>,
}

impl Spill {
    /// Creates the state on disk of a run below the directory `parent`, with at most `limit_bytes` bytes. Nothing is made on
    /// disk yet. `names` gives the words in the names of directories.
    pub fn new(
        files: Arc<dyn Files>,
        parent: PathBuf,
        limit_bytes: u64,
        names: Arc<Mutex<dyn Entropy>>,
    ) -> Self {
        Spill(Arc::new(Run {
            files,
            parent,
            limit_bytes,
            names,
            opened: Mutex::new(None),
            totals: Mutex::default(),
        }))
    }

    /// Makes the directory of the run, and removes those of runs that were killed. Does nothing if it was made before.
    ///
    /// # Errors
    /// `SPILL_FAILED` if the directory cannot be made, or files in it cannot be written.
    pub fn open(&self) -> Result<(), EvaluationError> {
        self.0.directory().map(|_| ())
    }

    /// Returns numbers about the files of the run so far.
    pub fn totals(&self) -> SpillTotals {
        *self.0.totals()
    }
}

impl fmt::Debug for Spill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spill")
            .field("parent", &self.0.parent)
            .field("limit_bytes", &self.0.limit_bytes)
            .finish()
    }
}

/// State on disk for one operator, with the share of memory above which its state goes there.
#[derive(Clone, Debug)]
pub struct Spilling {
    /// The files of the run.
    pub spill: Spill,
    /// Number of copies of operators that share the memory of such operators.
    pub copies: usize,
    /// Bytes of memory of each copy; `None` if they follow from the memory budget.
    pub share_bytes: Option<usize>,
}

impl Spilling {
    /// Returns the bytes of memory that the state of one copy of an operator may fill before it goes to disk.
    pub fn share_bytes(&self, allowance: &Allowance) -> usize {
        self.share_bytes.unwrap_or_else(|| allowance.limit_bytes() / MEMORY_DIVISOR / self.copies.max(1))
    }
}

impl Run {
    fn totals(&self) -> MutexGuard<'_, SpillTotals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the directory of the run, which is made if it is missing.
    fn directory(&self) -> Result<PathBuf, EvaluationError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = &*opened {
            return Ok(opened.path.clone());
        }
        let made =
            self.make().map_err(|error| failed("cannot be used for state on disk", &self.parent, &error))?;
        Ok(opened.insert(made).path.clone())
    }

    fn make(&self) -> io::Result<Opened> {
        self.files.make_directories(&self.parent)?;
        self.remove_leftovers();
        let mut tries = 0;
        loop {
            let word = self.names.lock().unwrap_or_else(PoisonError::into_inner).next_u64();
            let path = self.parent.join(format!("{DIRECTORY_PREFIX}{word:016x}"));
            self.files.make_private_directory(&path)?;
            match self.files.create(&path.join(LOCK)) {
                Ok(lock) => return Ok(Opened { path, lock }),
                // Another run has taken the directory without a lock for a leftover, and removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries < OPEN_TRIES => tries += 1,
                Err(error) => {
                    let _ = self.files.remove_directory(&path);
                    return Err(error);
                }
            }
        }
    }

    /// Removes the directories of runs that do not live any more. Directories that cannot be listed or removed stay: they do no
    /// harm but for their bytes.
    fn remove_leftovers(&self) {
        for entry in self.files.list(&self.parent).unwrap_or_default() {
            let name = entry.path.file_name().map(|name| name.to_string_lossy().into_owned());
            let is_of_run = name.is_some_and(|name| is_directory_name(&name));
            if is_of_run && matches!(self.files.standing(&entry.path), Ok(Standing::Directory)) {
                let _ = self.remove_leftover(&entry.path);
            }
        }
    }

    /// Removes the directory of a run that does not live any more. A run has its lock before its first file, so files in a
    /// directory without a lock belong to no living run.
    fn remove_leftover(&self, directory: &Path) -> io::Result<()> {
        let entries = self.files.list(directory)?;
        let lock = directory.join(LOCK);
        let had_lock = entries.iter().any(|entry| entry.path == lock);
        let is_free = match had_lock {
            // The file is locked for the moment in which it is removed.
            true => self.files.remove_leftover(&lock)?,
            // The run may have made its lock since the directory was listed.
            false => self.files.standing(&lock)? == Standing::Nothing,
        };
        if !is_free {
            return Ok(());
        }
        for entry in entries {
            if entry.path != lock && is_file_name(&entry.path) {
                self.files.remove(&entry.path)?;
            }
        }
        self.files.remove_directory(directory)
    }
}

/// Removes the directory of the run. All files are gone by then, because each of them has a handle on the run.
impl Drop for Run {
    fn drop(&mut self) {
        let opened = self.opened.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(Opened { path, lock }) = opened.take() {
            // The lock is held until its file is gone, so that no other run sees the directory as a leftover before.
            let _ = self.files.remove(&path.join(LOCK));
            let _ = self.files.remove_directory(&path);
            drop(lock);
        }
    }
}

/// Returns whether a name is that of the directory of a run.
fn is_directory_name(name: &str) -> bool {
    name.strip_prefix(DIRECTORY_PREFIX)
        .is_some_and(|word| word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Returns whether a path has the name of a file of rows.
fn is_file_name(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.strip_suffix(".rows")
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the error of a query whose state on disk the file system refuses.
fn failed(fate: &str, path: &Path, error: &io::Error) -> EvaluationError {
    let advice = match error.kind() {
        io::ErrorKind::StorageFull => {
            "free space there, or name a directory on another disk by 'thalweg.state.spill-dir'"
        }
        _ => "name a directory that can be written by 'thalweg.state.spill-dir', or raise the memory budget",
    };
    EvaluationError { code: "SPILL_FAILED", message: format!("{} {fate}: {error}; {advice}", path.display()) }
}
