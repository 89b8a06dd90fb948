//! Files as connectors see them: what may be replaced, which paths name the same file, and what a file is written for.

use std::io;
use std::path::{Path, PathBuf};

pub use thalweg_connectors::files::{Entry, Files, RealFiles, Standing};
use thalweg_model::disk::Disk;

/// Returns why a file published under `path` must not replace the existing entry; `None` if it may.
/// Publishing renames, and a rename replaces a pipe, a device or a link by a regular file without asking.
///
/// # Errors
/// The error of the operating system. A path that does not exist is no error.
pub(super) fn refusal_to_replace(files: &dyn Files, path: &Path) -> io::Result<Option<&'static str>> {
    Ok(match files.standing(path)? {
        Standing::Nothing | Standing::File => None,
        Standing::Directory => Some("it is a directory"),
        Standing::Link => {
            Some("it is a symbolic link, which would be replaced: name the file that it leads to")
        }
        Standing::Special => Some("it is a device, a pipe or a socket, which would be replaced"),
    })
}

/// The identity of a file, which may not exist yet: its directory and its name. A path would not do, because
/// one file has many paths.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct FileKey {
    /// The identity of the directory that contains the file, if the directory exists.
    directory: Option<(u64, u64)>,
    /// The file name in the directory; the whole path if the directory does not exist.
    name: PathBuf,
}

impl FileKey {
    pub(super) fn of(disk: &dyn Disk, path: &Path) -> Self {
        let directory = match path.parent() {
            Some(directory) if directory != Path::new("") => directory,
            _ => Path::new("."),
        };
        match (disk.identity(directory), path.file_name()) {
            (Ok(identity), Some(name)) => {
                FileKey { directory: Some(identity.file), name: PathBuf::from(name) }
            }
            _ => FileKey { directory: None, name: path.to_owned() },
        }
    }
}

/// The content of a file that gets its final name when it is complete: rows or bad records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// The file holds the rows of one sink.
    Rows,
    /// The file holds bad records, of any number of tables.
    BadRecords,
}

impl Purpose {
    /// Returns whether one file can hold both contents: bad records of several tables can share a file, rows
    /// cannot.
    pub(super) fn goes_with(self, other: Purpose) -> bool {
        self == Purpose::BadRecords && other == Purpose::BadRecords
    }
}

/// Returns the absolute form of a path, or the path unchanged if the operating system does not know the
/// current directory.
pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns whether a path is `root` or lies below it, under any of its names. Directories are compared by
/// identity, because `..` and links give a directory many names.
pub(super) fn is_below(files: &dyn Files, path: &Path, root: &Path) -> bool {
    let path = absolute(path);
    if path.starts_with(absolute(root)) {
        return true;
    }
    let Ok(root) = files.identity(root) else { return false };
    let is_there = |directory: &&Path| files.identity(directory).is_ok();
    let Some(directory) = path.ancestors().skip(1).find(is_there) else { return false };
    let mut above = directory.to_owned();
    while let Ok(here) = files.identity(&above) {
        if here.file == root.file {
            return true;
        }
        above.push("..");
        if files.identity(&above).is_ok_and(|up| up.file == here.file) {
            // The parent of the root directory is the root directory.
            return false;
        }
    }
    false
}

/// Adds the path to the message of an error of the operating system.
pub(super) fn of_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
