//! Files that appear under their name only when they are complete: written as `<path>.inprogress`, published under
//! their own name, and removed if they are never published. Used by sinks and by diverted records.
//!
//! Writing and publishing are two steps. [`InProgressFile::seal`] syncs the file to the disk and closes it, so that
//! many files can be published together later without being open meanwhile.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thalweg_model::disk::{Disk, WriteFile};

/// A file that is being written and does not have its final name yet.
pub struct InProgressFile {
    /// The open file. It is declared first, since fields are dropped in this order: the file is closed before
    /// it is renamed or removed.
    file: Box<dyn WriteFile>,
    unpublished: SealedFile,
}

/// A file that is complete and on the disk, and does not have its final name yet. If it is dropped before it gets that
/// name, it is removed.
pub struct SealedFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    in_progress_path: PathBuf,
    /// True if the file is not removed when this value is dropped: it has its final name, or is kept.
    is_published: bool,
}

/// Returns the name that a file has until it gets its final name `path`: `path` followed by `.inprogress`.
pub fn in_progress_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".inprogress");
    PathBuf::from(name)
}

impl InProgressFile {
    /// Creates `<path>.inprogress`, replacing a file that an earlier run may have left there.
    ///
    /// # Errors
    /// The operating system's error for creating the file.
    pub fn create(disk: Arc<dyn Disk>, path: &Path) -> io::Result<Self> {
        InProgressFile::create_as(disk, path, in_progress_path(path))
    }

    /// Creates a file that has the name `in_progress_path`, in the same directory, until it is published.
    ///
    /// # Errors
    /// The operating system's error for creating the file.
    pub fn create_as(disk: Arc<dyn Disk>, path: &Path, in_progress_path: PathBuf) -> io::Result<Self> {
        let file = disk.create(&in_progress_path)?;
        let unpublished = SealedFile { disk, path: path.to_owned(), in_progress_path, is_published: false };
        Ok(InProgressFile { file, unpublished })
    }

    /// Returns the final name of the file, which it gets when it is complete.
    pub fn path(&self) -> &Path {
        &self.unpublished.path
    }

    /// Syncs the file to the disk and closes it. After an error the file is removed: a failed sync must not be tried
    /// again.
    ///
    /// # Errors
    /// The operating system's error for writing the file to the disk.
    pub fn seal(self) -> io::Result<SealedFile> {
        let InProgressFile { mut file, unpublished } = self;
        let synced = file.flush().and_then(|()| file.sync());
        drop(file);
        synced.map(|()| unpublished)
    }

    /// Syncs the file to the disk and gives it its final name. After an error the file is removed.
    ///
    /// # Errors
    /// The operating system's error for writing or renaming the file.
    pub fn publish(self) -> io::Result<()> {
        let InProgressFile { mut file, unpublished } = self;
        let synced = file.flush().and_then(|()| file.sync());
        // The file stays open until it has its final name: its writer may hold a lock on it, and closing
        // would release the lock.
        synced.and_then(|()| unpublished.publish())
    }
}

impl SealedFile {
    /// Gives the file its final name. After an error the file is removed.
    ///
    /// # Errors
    /// The operating system's error for renaming the file.
    pub fn publish(mut self) -> io::Result<()> {
        self.disk.publish(&self.in_progress_path, &self.path)?;
        self.is_published = true;
        Ok(())
    }

    /// Returns the name that the file has until it gets its final name.
    pub fn in_progress_path(&self) -> &Path {
        &self.in_progress_path
    }

    /// Leaves the file under the name that it has now, so that it can be published or removed later, in this process or in
    /// another.
    pub fn keep(mut self) {
        self.is_published = true;
    }

    /// Returns the bytes of memory that the names of the unpublished file take.
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
            // An error while the unfinished file is removed is ignored, because no caller is left to report
            // it to. The next run with the same path removes the file.
            let _ = self.disk.remove(&self.in_progress_path);
        }
    }
}
