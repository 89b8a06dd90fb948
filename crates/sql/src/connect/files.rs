//! What connectors of files need beyond a [`Disk`]: directories, and files that are read at any place.

use std::fs::{self, File};
use std::io::{self, Read};
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

    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        RealDisk.create(path)
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

/// The same error, with the path that it is about.
pub(super) fn of_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
