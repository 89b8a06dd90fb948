//! A file that is not there until it is whole: written as `<path>.inprogress`, published under its own name,
//! and removed if nobody publishes it. Shared by the CSV sink and by diverted lines.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thalweg_model::disk::{Disk, WriteFile};

/// A file on its way to `path`.
pub(crate) struct InProgressFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    in_progress_path: PathBuf,
    /// Closed before it is renamed or removed.
    file: Option<Box<dyn WriteFile>>,
    is_published: bool,
}

/// The name that a file bears while it is written.
pub(crate) fn in_progress_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".inprogress");
    PathBuf::from(name)
}

impl InProgressFile {
    /// Creates `<path>.inprogress`, emptying what an earlier run may have left there.
    pub(crate) fn create(disk: Arc<dyn Disk>, path: &Path) -> io::Result<Self> {
        let in_progress_path = in_progress_path(path);
        let file = Some(disk.create(&in_progress_path)?);
        Ok(InProgressFile { disk, path: path.to_owned(), in_progress_path, file, is_published: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.as_mut().expect("the file is open until it is published").write_all(bytes)
    }

    /// Brings the file onto the disk and gives it its name. After an error the file is removed: a failed sync
    /// must not be tried again.
    pub(crate) fn publish(mut self) -> io::Result<()> {
        let mut file = self.file.take().expect("the file is open until it is published");
        file.flush()?;
        file.sync()?;
        drop(file);
        self.disk.publish(&self.in_progress_path, &self.path)?;
        self.is_published = true;
        Ok(())
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
