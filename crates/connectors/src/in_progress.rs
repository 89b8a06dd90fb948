//! A file that is not there until it is whole: written as `<path>.inprogress`, published under its own name,
//! and removed if nobody publishes it. Shared by sinks and by diverted records.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thalweg_model::disk::{Disk, WriteFile};

/// A file on its way to `path`.
pub struct InProgressFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    in_progress_path: PathBuf,
    /// Closed before it is renamed or removed.
    file: Option<Box<dyn WriteFile>>,
    is_published: bool,
}

/// The name that a file bears while it is written.
pub fn in_progress_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".inprogress");
    PathBuf::from(name)
}

impl InProgressFile {
    /// Creates `<path>.inprogress`, emptying what an earlier run may have left there.
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
        let file = Some(disk.create(&in_progress_path)?);
        Ok(InProgressFile { disk, path: path.to_owned(), in_progress_path, file, is_published: false })
    }

    /// The name that it is to have.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Brings the file onto the disk and gives it its name. After an error the file is removed: a failed sync
    /// must not be tried again.
    ///
    /// # Errors
    /// The operating system's.
    pub fn publish(mut self) -> io::Result<()> {
        let mut file = self.file.take().expect("the file is open until it is published");
        file.flush()?;
        file.sync()?;
        drop(file);
        self.disk.publish(&self.in_progress_path, &self.path)?;
        self.is_published = true;
        Ok(())
    }
}

impl Write for InProgressFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_mut().expect("the file is open until it is published").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.flush())
    }
}

impl Drop for InProgressFile {
    fn drop(&mut self) {
        if !self.is_published {
            self.file = None;
            // Nobody is left to be told if it fails; the next run over the same path empties it.
            let _ = self.disk.remove(&self.in_progress_path);
        }
    }
}
