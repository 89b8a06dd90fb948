//! The directory in which one run keeps the checkpoints of its queries.
//!
//! A run locks the directory for as long as it lives. The system frees the lock with the process, however the process ends. On a
//! file system without locks, nothing stops a second run: use a local disk.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thalweg_connectors::Files;
use thalweg_model::disk::WriteFile;

use crate::error::CheckpointError;
use crate::names;
use crate::query_directory::QueryDirectory;

/// The directory of one run, which is locked. Clones share the lock. It is freed when all clones and all directories of queries
/// are dropped.
#[derive(Clone)]
pub struct StateDirectory(Arc<Locked>);

/// A directory with its lock, and the queries that use it.
pub(crate) struct Locked {
    files: Arc<dyn Files>,
    directory: PathBuf,
    queries: Mutex<BTreeSet<String>>,
    /// The locked file. The lock is freed when it is closed. The file stays, so that no run removes the lock of another one.
    _lock: Mutex<Box<dyn WriteFile>>,
}

impl StateDirectory {
    /// Makes a directory, into which nobody else but the administrator can look, and locks it. A directory that exists keeps its
    /// permissions.
    ///
    /// # Errors
    /// `STATE_DIR_IN_USE` if another process has locked the directory, `CHECKPOINT_FAILED` if it cannot be made or written.
    pub fn open(files: Arc<dyn Files>, directory: &Path) -> Result<Self, CheckpointError> {
        let directory = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
        let failed = |access, path: &Path, source| {
            let path = path.to_owned();
            CheckpointError::Failed { access, path, source }
        };
        files
            .make_private_directories(&directory)
            .map_err(|error| failed("be made as a directory", &directory, error))?;
        let path = directory.join(names::LOCK);
        match files.create(&path) {
            Ok(lock) => {
                let queries = Mutex::default();
                Ok(StateDirectory(Arc::new(Locked { files, directory, queries, _lock: Mutex::new(lock) })))
            }
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                Err(CheckpointError::InUse { directory })
            }
            Err(error) => Err(failed("be written", &path, error)),
        }
    }

    /// Returns the directory, with its absolute path.
    pub fn path(&self) -> &Path {
        &self.0.directory
    }

    /// Makes or opens the directory of a query, and removes files in it that a killed process has left unfinished.
    ///
    /// # Errors
    /// `CHECKPOINT_QUERY_IN_USE` if another query of this run has the name, `CHECKPOINT_QUERY_NAME` if the name is too long,
    /// `CHECKPOINT_FAILED` if the directory cannot be read or made, and `CHECKPOINT_VERSION` or `CHECKPOINT_OF_OTHER_QUERY` if it
    /// has checkpoints that are not for this program or query.
    pub fn query(&self, query: &str) -> Result<QueryDirectory, CheckpointError> {
        let Some(name) = names::query_directory(query) else {
            let max_bytes = names::QUERY_DIRECTORY_BYTES_MAX;
            return Err(CheckpointError::QueryName { query: query.to_owned(), max_bytes });
        };
        let using = Using::new(&self.0, query)?;
        let directory = self.0.directory.join(name);
        self.0.files.make_private_directories(&directory).map_err(|source| {
            let path = directory.clone();
            CheckpointError::Failed { access: "be made as a directory", path, source }
        })?;
        QueryDirectory::open(Arc::clone(&self.0.files), directory, using)
    }
}

impl Locked {
    fn queries(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.queries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of a query that uses a directory. The name is free again when this is dropped.
pub(crate) struct Using {
    locked: Arc<Locked>,
    query: String,
}

impl Using {
    fn new(locked: &Arc<Locked>, query: &str) -> Result<Self, CheckpointError> {
        if !locked.queries().insert(query.to_owned()) {
            return Err(CheckpointError::QueryInUse { query: query.to_owned() });
        }
        Ok(Using { locked: Arc::clone(locked), query: query.to_owned() })
    }

    /// Returns the name of the query.
    pub(crate) fn query(&self) -> &str {
        &self.query
    }
}

impl Drop for Using {
    fn drop(&mut self) {
        self.locked.queries().remove(&self.query);
    }
}

#[cfg(test)]
mod tests;
