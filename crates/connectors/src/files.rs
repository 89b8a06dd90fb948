//! Access to files that goes beyond a [`Disk`]: directories, locks, and files with random access.
//!
//! [`RealFiles`] locks each file that it creates until the file is closed, so that other runs of this program do not take a file
//! that is being written for a leftover of a killed run. A file system without locks gives no such protection.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use thalweg_model::disk::{Disk, FileIdentity, WriteFile};

use crate::disk::RealDisk;

/// A disk with directories, and with locks that tell which files a run of this program is writing.
pub trait Files: Disk {
    /// Lists the entries of a directory, in no order.
    ///
    /// # Errors
    /// The error of the operating system, if `directory` is no directory or may not be read.
    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>>;

    /// Returns whether `path` is a directory.
    ///
    /// # Errors
    /// The error of the operating system, if the path does not exist.
    fn is_directory(&self, path: &Path) -> io::Result<bool>;

    /// Returns the kind of entry at `path` itself; links are not followed.
    ///
    /// # Errors
    /// The error of the operating system. A path that does not exist is no error.
    fn standing(&self, path: &Path) -> io::Result<Standing>;

    /// Resolves links and `..` in a path.
    ///
    /// # Errors
    /// The error of the operating system, if the path does not exist.
    fn real_path(&self, path: &Path) -> io::Result<PathBuf>;

    /// Creates a directory and its missing parents, and syncs their names to disk.
    ///
    /// # Errors
    /// The error of the operating system.
    fn make_directories(&self, path: &Path) -> io::Result<()>;

    /// Creates a directory into which nobody else but the administrator can look; those above it must exist. Does nothing if it
    /// exists.
    ///
    /// # Errors
    /// The error of the operating system.
    fn make_private_directory(&self, path: &Path) -> io::Result<()> {
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    /// Creates a directory and its missing parents, into all of which nobody else but the administrator can look, and syncs their
    /// names to disk. A directory that exists keeps its permissions; its name is synced, too.
    ///
    /// # Errors
    /// The error of the operating system.
    fn make_private_directories(&self, path: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = path.ancestors().take_while(|above| !above.is_dir()).collect();
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let made = missing.into_iter().rev().filter(|made| *made != path);
        made.chain([path]).try_for_each(sync_name)
    }

    /// Removes a directory that is empty.
    ///
    /// # Errors
    /// The error of the operating system, for example if the directory has entries.
    fn remove_directory(&self, path: &Path) -> io::Result<()>;

    /// Returns whether a run of this program is writing to the regular file at `path`.
    ///
    /// # Errors
    /// The error of the operating system, and an error if the path is no regular file.
    fn is_held(&self, path: &Path) -> io::Result<bool>;

    /// Removes a regular file to which no run of this program is writing; returns whether it was removed. A
    /// file that its writer has locked stays, and so does a file on a file system without locks.
    ///
    /// # Errors
    /// The error of the operating system, and an error if the path is no regular file.
    fn remove_leftover(&self, path: &Path) -> io::Result<bool>;

    /// Opens a regular file for random access.
    ///
    /// # Errors
    /// The error of the operating system, if the file is missing or may not be read.
    fn open_file(&self, path: &Path) -> io::Result<File>;
}

/// The kind of directory entry that a path names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// The path has no entry.
    Nothing,
    /// The path names a regular file.
    File,
    /// The path names a directory.
    Directory,
    /// The path names a symbolic link, whatever its target.
    Link,
    /// The path names a pipe, a device or a socket.
    Special,
}

/// An entry of a directory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Entry {
    /// The path of the directory entry.
    pub path: PathBuf,
    /// Whether the entry is a directory, or a link to a directory.
    pub is_directory: bool,
}

/// Access to the files of the operating system, as connectors need it.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFiles;

impl Disk for RealFiles {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        RealDisk.open(path)
    }

    fn open_at(&self, path: &Path, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        RealDisk.open_at(path, offset)
    }

    /// A run holds the lock of a file until the file gets its final name or is removed, so that no other run
    /// takes it for a leftover. The file is always new: an existing entry at the path is neither followed nor
    /// written to. A file left by a killed run is not locked, and is removed.
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        for _ in 0..CREATE_TRIES {
            let file = match OpenOptions::new().write(true).create_new(true).open(path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    match unheld(path)? {
                        Held::ByAnother => return Err(busy()),
                        Held::ByUs(_left) | Held::Unknown(_left) => RealDisk.remove(path)?,
                        Held::Gone => {}
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            // A run that checks for leftovers, which are unfinished files of killed runs, holds the lock for
            // a short time, and may remove the file before it is locked here. An error means that the file
            // system has no locks.
            let _ = file.lock();
            if stands_at(&file, path)? {
                return Ok(Box::new(LockedFile(file)));
            }
        }
        Err(busy())
    }

    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        RealDisk.identity(path)
    }

    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.publish(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }
}

/// Greatest number of attempts to create a file, while other runs remove or create it at the same time.
const CREATE_TRIES: usize = 16;

/// Tells whether a run of this program holds the lock of the file at a path.
enum Held {
    /// No other run had locked the file. This process keeps the lock as long as the file is open.
    ByUs(File),
    /// Another run has locked the file, because it is writing to the file.
    ByAnother,
    /// The file system has no locks, so nothing is known about other runs.
    Unknown(File),
    /// The file is gone, or was replaced by another one.
    Gone,
}

/// Locks a regular file, unless a run of this program has locked it. Links are not followed.
fn unheld(path: &Path) -> io::Result<Held> {
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Held::Gone),
        Err(error) => return Err(error),
    };
    if !there.is_file() {
        let error = "something that is no regular file stands there, and is not replaced";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, error));
    }
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Held::Gone),
        Err(error) => return Err(error),
    };
    let locked = file.try_lock();
    if matches!(locked, Err(TryLockError::WouldBlock)) {
        return Ok(Held::ByAnother);
    }
    match stands_at(&file, path)? {
        false => Ok(Held::Gone),
        true if locked.is_ok() => Ok(Held::ByUs(file)),
        true => Ok(Held::Unknown(file)),
    }
}

/// Returns whether an open file is the one at `path`; links are not followed.
fn stands_at(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Syncs the name of a directory to disk: the entry in the directory above.
fn sync_name(path: &Path) -> io::Result<()> {
    match path.parent() {
        None => Ok(()),
        Some(above) if above == Path::new("") => File::open(".")?.sync_all(),
        Some(above) => File::open(above)?.sync_all(),
    }
}

fn busy() -> io::Error {
    let error = "another run writes it at present: wait for that, or write to another path";
    io::Error::new(io::ErrorKind::ResourceBusy, error)
}

impl Files for RealFiles {
    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            match fs::metadata(&path) {
                Ok(metadata) => entries.push(Entry { path, is_directory: metadata.is_dir() }),
                // The entry was removed after the directory was read, or it is a link without a target.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let message = format!("{}: {error}", path.display());
                    return Err(io::Error::new(error.kind(), message));
                }
            }
        }
        Ok(entries)
    }

    fn is_directory(&self, path: &Path) -> io::Result<bool> {
        Ok(fs::metadata(path)?.is_dir())
    }

    fn standing(&self, path: &Path) -> io::Result<Standing> {
        let of = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata.file_type(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Standing::Nothing),
            Err(error) => return Err(error),
        };
        Ok(match () {
            () if of.is_file() => Standing::File,
            () if of.is_dir() => Standing::Directory,
            () if of.is_symlink() => Standing::Link,
            () => Standing::Special,
        })
    }

    fn make_directories(&self, path: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = path.ancestors().take_while(|above| !above.is_dir()).collect();
        fs::create_dir_all(path)?;
        missing.into_iter().rev().try_for_each(sync_name)
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn is_held(&self, path: &Path) -> io::Result<bool> {
        Ok(matches!(unheld(path)?, Held::ByAnother))
    }

    fn remove_leftover(&self, path: &Path) -> io::Result<bool> {
        match unheld(path)? {
            Held::ByUs(_held) => RealDisk.remove(path).map(|()| true),
            Held::ByAnother | Held::Unknown(_) | Held::Gone => Ok(false),
        }
    }

    fn open_file(&self, path: &Path) -> io::Result<File> {
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        File::open(path)
    }
}

/// A file that is being written and is locked against other writers.
struct LockedFile(File);

impl Write for LockedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl WriteFile for LockedFile {
    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_all()
    }
}
