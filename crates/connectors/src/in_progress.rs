//! A file that is not there until it is whole: written as `<path>.inprogress`, published under its own name,
//! and removed if nobody publishes it. Shared by sinks and by diverted records.
//!
//! Writing and publishing are two steps: [`InProgressFile::seal`] brings the file onto the disk and closes it, so that many files
//! can be published together later without any of them being open meanwhile.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thalweg_model::disk::{Disk, WriteFile};

/// A file on its way to its name, which is being written.
pub struct InProgressFile {
    /// Closed before it is renamed or removed: fields are dropped in this order.
    file: Box<dyn WriteFile>,
    unpublished: SealedFile,
}

/// A file that is whole and on the disk, and does not have its name yet. Dropped before it is published, it is removed.
pub struct SealedFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    in_progress_path: PathBuf,
    is_published: bool,
}

/// The name that a file bears while it is written.
pub fn in_progress_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".inprogress");
    PathBuf::from(name)
}

impl InProgressFile {
    /// Creates `<path>.inprogress`, in place of what an earlier run may have left there.
    ///
    /// # Errors
    /// The operating system's.
    pub fn create(disk: Arc<dyn Disk>, path: &Path) -> io::Result<Self> {
        InProgressFile::create_as(disk, path, in_progress_path(path))
    }

    /// The same under another name until it is published, in the same directory.
    ///
    /// # Errors
    /// The operating system's.
    pub fn create_as(disk: Arc<dyn Disk>, path: &Path, in_progress_path: PathBuf) -> io::Result<Self> {
        let file = disk.create(&in_progress_path)?;
        let unpublished = SealedFile { disk, path: path.to_owned(), in_progress_path, is_published: false };
        Ok(InProgressFile { file, unpublished })
    }

    /// The name that it is to have.
    pub fn path(&self) -> &Path {
        &self.unpublished.path
    }

    /// Brings the file onto the disk and closes it. After an error the file is removed: a failed sync must not be tried again.
    ///
    /// # Errors
    /// The operating system's.
    pub fn seal(self) -> io::Result<SealedFile> {
        let InProgressFile { mut file, unpublished } = self;
        let synced = file.flush().and_then(|()| file.sync());
        drop(file);
        synced.map(|()| unpublished)
    }

    /// Brings the file onto the disk and gives it its name. After an error the file is removed.
    ///
    /// # Errors
    /// The operating system's.
    pub fn publish(self) -> io::Result<()> {
        let InProgressFile { mut file, unpublished } = self;
        let synced = file.flush().and_then(|()| file.sync());
        // Open until it has its name: who writes a file may hold a lock on it, and lets go of it by closing.
        synced.and_then(|()| unpublished.publish())
    }
}

impl SealedFile {
    /// Gives the file its name. After an error the file is removed.
    ///
    /// # Errors
    /// The operating system's.
    pub fn publish(mut self) -> io::Result<()> {
        self.disk.publish(&self.in_progress_path, &self.path)?;
        self.is_published = true;
        Ok(())
    }

    /// Bytes held for its names.
    pub fn held_bytes(&self) -> usize {
        self.path.capacity() + self.in_progress_path.capacity()
    }
}

impl Write for InProgressFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for SealedFile {
    fn drop(&mut self) {
        if !self.is_published {
            // Nobody is left to be told if it fails; the next run over the same path removes it.
            let _ = self.disk.remove(&self.in_progress_path);
        }
    }
}
