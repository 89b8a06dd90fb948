//! Which files a table consists of.
//!
//! A path is a file, or a directory whose files are read with those of all directories below it, in the order of their
//! names. Files and directories whose names begin with `.` or `_` are hidden, and files (not directories) that end in `.inprogress` are not
//! whole yet. A table with partitions consists of the files below directories named after its keys, in their order; others are
//! passed over.
//!
//! A file is taken as whole when it is found, with the identity that it has then.
//!
//! Source: Flink, `NonSplittingRecursiveEnumerator`, `NonSplittingRecursiveAllDirEnumerator`, `DefaultFileFilter`.
//! Differs from Flink: a file that `path` names is read whatever its name; directories are followed 64 deep, and one that lies
//! deeper, or a link that leads back to a directory above it, is refused by its name.

use std::io;
use std::path::{Path, PathBuf};

use thalweg_model::disk::FileIdentity;

use super::partition;
use crate::connect::files::{Entry, Files, absolute, of_path};

/// How deep directories are followed.
const DEPTH_MAX: usize = 64;

/// Where files are looked for, and which of them count.
pub(super) struct Listing {
    pub(super) root: PathBuf,
    pub(super) pattern: Option<regex::Regex>,
    /// The names of the partition keys.
    pub(super) keys: Vec<String>,
}

/// A file of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    /// Which version of it.
    pub(super) identity: FileIdentity,
    /// Whether it is another version than the one that was read.
    pub(super) has_changed: bool,
}

impl Listing {
    /// The files there are now, in the order of their names.
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
                // It went after it was listed, so it was not there when files were looked for.
                Err(error) if error.kind() == io::ErrorKind::NotFound && path != self.root => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    fn counts(&self, path: &Path) -> bool {
        // The whole of a path begins at the root, wherever the command does.
        let is_of_pattern =
            self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(&absolute(path).to_string_lossy()));
        is_of_pattern && (self.keys.is_empty() || self.values(path).is_some())
    }

    /// The values of the partition keys, as the path of a file has them.
    pub(super) fn values(&self, path: &Path) -> Option<Vec<String>> {
        partition::values(path.strip_prefix(&self.root).ok()?, &self.keys)
    }
}

/// The files below a directory; `above` are the directories that it lies in, from the root on.
fn collect(
    disk: &dyn Files,
    directory: &Path,
    above: &mut Vec<(u64, u64)>,
    into: &mut Vec<PathBuf>,
) -> io::Result<()> {
    let found = disk.identity(directory).and_then(|identity| Ok((identity.file, disk.list(directory)?)));
    let (file, entries) = match found {
        // It went after its name was read.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !above.is_empty() => return Ok(()),
        found => found?,
    };
    // Its files would be read once for every turn, up to where the operating system gives up.
    if above.contains(&file) {
        let error = io::Error::other("this link leads back to a directory above it");
        return Err(of_path(directory, &error));
    }
    above.push(file);
    for Entry { path, is_directory } in entries {
        let Some(name) = path.file_name() else { continue };
        let name = name.as_encoded_bytes();
        // The value of a partition may end in anything.
        let is_unfinished = !is_directory && name.ends_with(b".inprogress");
        if name.starts_with(b".") || name.starts_with(b"_") || is_unfinished {
            continue;
        }
        if !is_directory {
            into.push(path);
        } else if above.len() <= DEPTH_MAX {
            collect(disk, &path, above, into)?;
        } else {
            // Passing it over would lose its rows without a word.
            let error = format!("it lies more than {DEPTH_MAX} directories deep, which are not followed");
            return Err(of_path(&path, &io::Error::other(error)));
        }
    }
    above.pop();
    Ok(())
}
