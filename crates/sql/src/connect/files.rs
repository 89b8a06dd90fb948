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
                Err(error) => return Err(error),
            }
        }
        Ok(entries)
    }

    fn is_directory(&self, path: &Path) -> io::Result<bool> {
        Ok(fs::metadata(path)?.is_dir())
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
