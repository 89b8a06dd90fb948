//! What connectors of files need beyond a [`Disk`]: directories, and files that are read at any place.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use thalweg_connectors::RealDisk;
use thalweg_model::disk::{Disk, FileIdentity, WriteFile};

/// A disk with directories.
pub trait Files: Disk {
    /// What stands in a directory, in no order.
    ///
    /// # Errors
    /// The operating system's, if it is none or may not be read.
    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>>;

    /// Whether a directory stands at `path`.
    ///
    /// # Errors
    /// The operating system's, if nothing stands there.
    fn is_directory(&self, path: &Path) -> io::Result<bool>;

    /// What stands at `path` itself: of a link not what it leads to.
    ///
    /// # Errors
    /// The operating system's, other than that nothing stands there.
    fn standing(&self, path: &Path) -> io::Result<Standing>;

    /// Where a path leads to, links and `..` resolved.
    ///
    /// # Errors
    /// The operating system's, if nothing stands there.
    fn real_path(&self, path: &Path) -> io::Result<PathBuf>;

    /// Makes a directory and those above it, as far as they are missing, and their names durable.
    ///
    /// # Errors
    /// The operating system's.
    fn make_directories(&self, path: &Path) -> io::Result<()>;

    /// Whether a regular file stands at `path` and a run is writing to it.
    ///
    /// # Errors
    /// The operating system's, and if something else than a regular file stands there.
    fn is_held(&self, path: &Path) -> io::Result<bool>;

    /// Removes a regular file that no run is writing to; whether it did. A file that is held by its writer stays, and so does one
    /// on a file system that cannot tell.
    ///
    /// # Errors
    /// The operating system's, and if something else than a regular file stands there.
    fn remove_leftover(&self, path: &Path) -> io::Result<bool>;

    /// Opens a regular file to be read at any place.
    ///
    /// # Errors
    /// The operating system's, if it is missing or may not be read.
    fn open_file(&self, path: &Path) -> io::Result<File>;
}

/// What stands at a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Nothing.
    Nothing,
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, wherever it leads to.
    Link,
    /// A pipe, a device, a socket.
    Special,
}

/// Why a file that is published under `path` must not take the place of what stands there; none if it may. Publishing renames,
/// and a rename puts a regular file in the place of a pipe, a device or a link without asking.
///
/// # Errors
/// The operating system's, other than that nothing stands there.
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

/// What stands in a directory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Entry {
    /// Where it stands.
    pub path: PathBuf,
    /// Whether it is a directory, or leads to one.
    pub is_directory: bool,
}

/// The operating system's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFiles;

impl Disk for RealFiles {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        RealDisk.open(path)
    }

    /// The run that writes a file holds its lock until the file has its name or is removed, so that no other run takes it for a leftover.
    /// A file is always a new one: what stands at the path is neither followed nor written to. What a killed run left is held by
    /// nobody, and is removed.
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
            // Who looks whether it is a leftover holds it for a moment, and may remove it before it is locked. An error says that
            // the file system has no locks.
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

/// How often a file is tried to be created that others remove before it is locked, or create at the same time.
const CREATE_TRIES: usize = 16;

/// Tells whether a run holds the lock of the file at a path.
enum Held {
    /// The file is ours as long as it is open.
    ByUs(File),
    /// A run is writing to it.
    ByAnother,
    /// The file system has no locks.
    Unknown(File),
    /// The file has gone, or another one has taken its place.
    Gone,
}

/// Takes the lock of a regular file, unless a run holds it. Links are not followed.
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

/// Whether an open file is the one that stands at a path itself.
fn stands_at(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
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
                // It went between the two calls, or leads nowhere.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(of_path(&path, &error)),
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
        for made in missing.iter().rev() {
            if let Some(above) = made.parent().filter(|above| *above != Path::new("")) {
                File::open(above)?.sync_all()?;
            }
        }
        Ok(())
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
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

/// A file that nobody else writes.
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

/// Which file a path means, whether it is there or not: one file has many paths.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct FileKey {
    /// The identity of the directory, if it is there.
    directory: Option<(u64, u64)>,
    /// The name in the directory, or else the path.
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

/// What a file holds that is published as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// The rows of one sink.
    Rows,
    /// Bad records, of any number of tables.
    BadRecords,
}

impl Purpose {
    /// Whether one file can serve both.
    pub(super) fn goes_with(self, other: Purpose) -> bool {
        self == Purpose::BadRecords && other == Purpose::BadRecords
    }
}

/// A path from the root on, as far as the operating system knows where it begins.
pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Whether a path is `root` or lies below it, by whatever name: directories are compared by what they are, for `..` and links
/// lead to one by many ways.
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
            // Above the root of all there is itself.
            return false;
        }
    }
    false
}

/// The same error, with the path that it is about.
pub(super) fn of_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
