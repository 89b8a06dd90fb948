//! The real file system behind [`Disk`]. Only this module and [`files`](crate::files) touch the file system.
//!
//! Durable means fsync(file), rename, fsync(directory): [`WriteFile::sync`] does the first, [`Disk::publish`] the
//! other two. If a caller publishes without a sync, the file may be empty after a power cut.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use thalweg_model::disk::{Disk, FileIdentity, WriteFile};

/// Access to the file system of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    /// Opens a regular file for reading. Anything else is refused: a read from a pipe could block, and a pipe
    /// has no identity to compare.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        Ok(Box::new(File::open(path)?))
    }

    fn open_at(&self, path: &Path, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
        }
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        Ok(Box::new(file))
    }

    /// Creates a new file in any case. A regular file at the path is removed first. A link or anything else
    /// there is neither followed nor written to.
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        if fs::symlink_metadata(path).is_ok_and(|there| there.is_file()) {
            fs::remove_file(path)?;
        }
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        Ok(Box::new(RealFile(file)))
    }

    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        let metadata = fs::metadata(path)?;
        Ok(FileIdentity {
            file: (metadata.dev(), metadata.ino()),
            len_bytes: metadata.len(),
            modified_ns: i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec()),
        })
    }

    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)?;
        let directory = match to.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        File::open(directory)?.sync_all()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

struct RealFile(File);

impl Write for RealFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl WriteFile for RealFile {
    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_all()
    }
}

#[cfg(test)]
mod tests;
