//! Files that INSERT OVERWRITE replaces: those that a reader of the table finds, in the directory of the table or of a
//! partition.
//!
//! The files are listed before the new ones get their final names, and removed after that. So a run that is killed between
//! leaves the rows of both, and never neither. Names that begin with `.` or `_` stay, as readers pass them over; a link is
//! removed, and what it leads to stays. Directories stay, and are empty.
//!
//! Source: Flink, `PartitionLoader`, `FileSystemCommitter`. Differs from Flink: it removes the old files first.

use std::io;
use std::path::{Path, PathBuf};

use crate::connect::files::{Entry, Files, Standing};

/// Greatest depth of directories below that of the table, as for reading.
const DEPTH_MAX: usize = 64;

/// Greatest number of files that are replaced at once.
const FILES_MAX: usize = 1_000_000;

/// The files that are replaced.
#[derive(Default)]
pub(super) struct Old {
    pub(super) files: Vec<PathBuf>,
    /// All directories that were searched for them.
    pub(super) directories: Vec<PathBuf>,
}

/// Adds the files that a reader of a directory finds in it and in directories below it. A directory that does not exist
/// has none.
///
/// # Errors
/// The error of the operating system, and an error for too many files or too deep directories.
pub(super) fn find_below(files: &dyn Files, directory: &Path, old: &mut Old) -> io::Result<()> {
    let found = &mut old.files;
    let mut open = vec![(directory.to_owned(), 0)];
    while let Some((directory, depth)) = open.pop() {
        let entries = match files.list(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        old.directories.push(directory);
        for Entry { path, .. } in entries {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.starts_with(['.', '_']) {
                continue;
            }
            match files.standing(&path)? {
                // Another run writes to such a file, which no reader finds.
                Standing::File if name.ends_with(".inprogress") => {}
                Standing::File | Standing::Link => found.push(path),
                Standing::Directory if depth < DEPTH_MAX => open.push((path, depth + 1)),
                Standing::Directory => {
                    return Err(io::Error::other(format!(
                        "there are more than {DEPTH_MAX} directories within each other"
                    )));
                }
                Standing::Nothing | Standing::Special => {}
            }
            if found.len() > FILES_MAX {
                return Err(io::Error::other(format!("there are more than {FILES_MAX} files")));
            }
        }
    }
    found.sort();
    Ok(())
}

/// Removes files. One that is gone already is no error.
///
/// # Errors
/// The error of the operating system, with the path of the file.
pub(super) fn remove(files: &dyn Files, paths: &[PathBuf]) -> Result<(), (PathBuf, io::Error)> {
    for path in paths {
        match files.remove(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err((path.clone(), error)),
            _ => {}
        }
    }
    Ok(())
}
