//! The search for the files of a table with the connector `filesystem`.
//!
//! A path is a file, or a directory. The files of a directory are read together with the files of all
//! directories below it, in the order of their names. Files and directories whose names begin with `.` or `_`
//! are hidden; files (not directories) whose names end in `.inprogress` are not complete yet. A table with
//! partitions consists of the files below directories named after its keys, in their order; other files are
//! ignored.
//!
//! A file counts as complete when it is found. The identity that it has at that time is kept, so that a later
//! change is noticed.
//!
//! Source: Flink, `NonSplittingRecursiveEnumerator`, `NonSplittingRecursiveAllDirEnumerator`,
//! `DefaultFileFilter`. Differs from Flink: a file named by `path` is read whatever its name; directories are
//! followed 64 levels deep. A deeper directory, or a link that leads back to a directory above it, is an
//! error which names it.

use std::io;
use std::path::{Path, PathBuf};

use thalweg_model::disk::FileIdentity;

use super::partition;
use crate::connect::files::{Entry, Files, absolute, of_path};

/// How many levels of directories below the path of a table are followed.
const DEPTH_MAX: usize = 64;

/// The directory of a table to search, and the conditions that its files must meet.
pub(super) struct Listing {
    pub(super) root: PathBuf,
    pub(super) pattern: Option<regex::Regex>,
    /// The names of the partition keys of the table.
    pub(super) keys: Vec<String>,
}

/// A file of a table, with the identity that it had when the search found it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    /// The identity of the file when it was found, which tells its version.
    pub(super) identity: FileIdentity,
    /// Whether an earlier version of the file was read already.
    pub(super) has_changed: bool,
}

impl Listing {
    /// Returns the files of the table that exist now, in the order of their names.
    pub(super) fn files(&self, disk: &dyn Files) -> io::Result<Vec<Found>> {
        let mut paths = Vec::new();
        if disk.is_directory(&self.root)? {
            collect(disk, &self.root, &mut Vec::new(), &mut paths)?;
        } else {
            paths.push(self.root.clone());
        }
        paths.retain(|path| self.counts(path));
        paths.sort();
        let mut found = Vec::with_capacity(paths.len());
        for path in paths {
            match disk.identity(&path) {
                Ok(identity) => found.push(Found { path, identity, has_changed: false }),
                // The file was removed after the listing, so it does not count as present.
                Err(error) if error.kind() == io::ErrorKind::NotFound && path != self.root => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    fn counts(&self, path: &Path) -> bool {
        // The pattern is compared with the whole path from the root directory on, whatever the current
        // directory is.
        let is_of_pattern =
            self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(&absolute(path).to_string_lossy()));
        is_of_pattern && (self.keys.is_empty() || self.values(path).is_some())
    }

    /// Returns the values of the partition keys from the path of a file.
    pub(super) fn values(&self, path: &Path) -> Option<Vec<String>> {
        partition::values(path.strip_prefix(&self.root).ok()?, &self.keys)
    }
}

/// Collects the files below a directory; `above` holds the directories that contain it, from the root on.
fn collect(
    disk: &dyn Files,
    directory: &Path,
    above: &mut Vec<(u64, u64)>,
    into: &mut Vec<PathBuf>,
) -> io::Result<()> {
    let found = disk.identity(directory).and_then(|identity| Ok((identity.file, disk.list(directory)?)));
    let (file, entries) = match found {
        // The directory was removed after its name was listed, so it counts as empty.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !above.is_empty() => return Ok(()),
        found => found?,
    };
    // A link that leads back to a directory above it would make its files be read again and again, so it is
    // an error.
    if above.contains(&file) {
        let error = io::Error::other("this link leads back to a directory above it");
        return Err(of_path(directory, &error));
    }
    above.push(file);
    for Entry { path, is_directory } in entries {
        let Some(name) = path.file_name() else { continue };
        let name = name.as_encoded_bytes();
        // A directory whose name ends in `.inprogress` is followed, because the value of a partition may end
        // in anything.
        let is_unfinished = !is_directory && name.ends_with(b".inprogress");
        if name.starts_with(b".") || name.starts_with(b"_") || is_unfinished {
            continue;
        }
        if !is_directory {
            into.push(path);
        } else if above.len() <= DEPTH_MAX {
            collect(disk, &path, above, into)?;
        } else {
            // A directory that is too deep is an error, because its rows would otherwise be lost silently.
            let error = format!("it lies more than {DEPTH_MAX} directories deep, which are not followed");
            return Err(of_path(&path, &io::Error::other(error)));
        }
    }
    above.pop();
    Ok(())
}
