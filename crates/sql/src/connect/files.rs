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

    /// Makes a directory and those above it, as far as they are missing, and their names durable.
    ///
    /// # Errors
    /// The operating system's.
    fn make_directories(&self, path: &Path) -> io::Result<()>;

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

    /// Two runs must not write one file: the second would empty the first one's, and write on behind its publication. So who
    /// writes a file holds its lock, and it is emptied by that one only. What a run left that was killed is held by nobody.
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        loop {
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
            lock(&file)?;
            // It may have been published or removed before it was locked: then another stands there, or none.
            let is_there = match self.identity(path) {
                Ok(identity) => identity.file == id_of(&file)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => false,
                Err(error) => return Err(error),
            };
            if is_there {
                file.set_len(0)?;
                return Ok(Box::new(LockedFile(file)));
            }
        }
    }

    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        RealDisk.identity(path)
    }

    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        let _held = held(from)?;
        RealDisk.publish(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let _held = held(path)?;
        RealDisk.remove(path)
    }
}

/// A file, with its lock. Its writer has closed it, and with that let go of it: somebody may have begun to write it in between, or
/// have published it and begun another.
fn held(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    lock(&file)?;
    if RealDisk.identity(path)?.file != id_of(&file)? {
        return Err(io::Error::new(io::ErrorKind::NotFound, "another file has taken its place"));
    }
    Ok(file)
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

    fn open_file(&self, path: &Path) -> io::Result<File> {
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        File::open(path)
    }
}

/// Takes the lock of a file for as long as it is open.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let error = "another run writes it at present: wait for that, or write to another path";
            Err(io::Error::new(io::ErrorKind::ResourceBusy, error))
        }
        // There are file systems without locks, of which no more can be had.
        Err(TryLockError::Error(_)) => Ok(()),
    }
}

fn id_of(file: &File) -> io::Result<(u64, u64)> {
    let metadata = file.metadata()?;
    Ok((metadata.dev(), metadata.ino()))
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
