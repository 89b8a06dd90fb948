//! Checkpoints as a person sees them: which there are, what they contain, and whether they are whole.
//!
//! A view takes no lock and changes nothing, so it may be used while a run writes. A checkpoint that the run removes meanwhile is
//! left out, or is seen as damaged.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thalweg_connectors::Files;

use crate::data;
use crate::error::CheckpointError;
use crate::manifest::{Block, Manifest};
use crate::names;
use crate::query_directory::{Checked, Listing, check_files, damaged_or_failed, read_manifest};

type Outcome<T> = Result<T, CheckpointError>;

/// The directory of a run, which is looked at without its lock.
pub struct StateView {
    files: Arc<dyn Files>,
    directory: PathBuf,
}

/// The part of a checkpoint that is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// The manifest, and the lengths of the data files.
    Lengths,
    /// Also the checksum of each block.
    Bytes,
}

/// A checkpoint as a person sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Viewed {
    /// Number of the checkpoint.
    pub number: u64,
    /// The manifest, if it could be read.
    pub manifest: Option<Manifest>,
    /// The damage, or another reason why the checkpoint cannot be used; `None` if it is whole as far as it was checked.
    pub fault: Option<String>,
}

impl StateView {
    /// Looks at the directory of a run.
    ///
    /// # Errors
    /// `CHECKPOINT_FAILED` if there is no such directory.
    pub fn open(files: Arc<dyn Files>, directory: &Path) -> Outcome<Self> {
        let failed =
            |source| CheckpointError::Failed { access: "be listed", path: directory.to_owned(), source };
        if !files.is_directory(directory).map_err(failed)? {
            return Err(failed(io::ErrorKind::NotADirectory.into()));
        }
        Ok(StateView { files, directory: directory.to_owned() })
    }

    /// Returns the names of the queries that have a directory, sorted.
    ///
    /// # Errors
    /// `CHECKPOINT_FAILED` if the directory cannot be listed.
    pub fn queries(&self) -> Outcome<Vec<String>> {
        let path = || self.directory.clone();
        let entries = self.files.list(&self.directory).map_err(|source| CheckpointError::Failed {
            access: "be listed",
            path: path(),
            source,
        })?;
        let directories = entries.iter().filter(|entry| entry.is_directory);
        let mut queries: Vec<String> = directories.filter_map(|entry| names::query_of(&entry.path)).collect();
        queries.sort();
        Ok(queries)
    }

    /// Returns the checkpoints of a query, the oldest first.
    ///
    /// # Errors
    /// `CHECKPOINT_FAILED` if the directory of the query cannot be listed.
    pub fn checkpoints(&self, query: &str, depth: Depth) -> Outcome<Vec<Viewed>> {
        let Some(name) = names::query_directory(query) else {
            let max_bytes = names::QUERY_DIRECTORY_BYTES_MAX;
            return Err(CheckpointError::QueryName { query: query.to_owned(), max_bytes });
        };
        let directory = self.directory.join(name);
        let mut viewed = Vec::new();
        for number in Listing::read(&*self.files, &directory)?.manifests {
            let (manifest, fault) = match read_manifest(&*self.files, &directory, number, query) {
                Ok(None) => continue,
                Ok(Some(Ok(manifest))) => {
                    let checked = self.check(&directory, &manifest, depth);
                    let fault = checked.unwrap_or_else(|error| Err(error.to_string())).err();
                    (Some(manifest), fault)
                }
                Ok(Some(Err(fault))) => (None, Some(fault)),
                Err(error) => (None, Some(error.to_string())),
            };
            viewed.push(Viewed { number, manifest, fault });
        }
        Ok(viewed)
    }

    fn check(&self, directory: &Path, manifest: &Manifest, depth: Depth) -> Outcome<Checked<()>> {
        let lengths = check_files(&*self.files, directory, manifest)?;
        if lengths.is_err() || depth == Depth::Lengths {
            return Ok(lengths);
        }
        for block in manifest.blocks() {
            if let Err(error) = data::read(&*self.files, directory, block) {
                return damaged_or_failed(&data::path(directory, block), error).map(Err);
            }
        }
        Ok(Ok(()))
    }
}

impl Viewed {
    /// Returns whether the checkpoint is whole, as far as it was checked.
    pub fn is_whole(&self) -> bool {
        self.fault.is_none()
    }
}

/// Returns the length of a block that may be missing.
pub fn block_bytes(block: Option<&Block>) -> u64 {
    block.map_or(0, |block| block.length)
}

#[cfg(test)]
mod tests;
