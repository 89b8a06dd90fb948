//! The file system as a trait, so that a simulated disk can fail, stall, or forget data that was not synced.

use std::io::{self, Read, Write};
use std::path::Path;

/// Identity of one version of a file. If it changes while a file is being read, the file was replaced, truncated or
/// appended to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileIdentity {
    /// Device and inode of the file, or another identity that moves with the file.
    pub file: (u64, u64),
    /// Length of the file in bytes.
    pub len_bytes: u64,
    /// Time of the file's last change, in nanoseconds since the Unix epoch.
    pub modified_ns: i128,
}

/// A file that is open for writing. Its content is durable only after [`WriteFile::sync`] has returned.
pub trait WriteFile: Write + Send {
    /// Writes everything to the disk, so that it survives a crash of the machine.
    ///
    /// # Errors
    /// An error of the operating system. After an error the file must not be trusted, and `sync` must not be
    /// tried again.
    fn sync(&mut self) -> io::Result<()>;
}

/// The file system, real or simulated: opens, creates, renames and removes files.
pub trait Disk: Send + Sync {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// An error of the operating system, for example if the file is missing or may not be read.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>>;

    /// Opens a file for reading after its first `offset` bytes. A file with fewer bytes reads as ended.
    ///
    /// # Errors
    /// An error of the operating system, for example if the file is missing or may not be read.
    fn open_at(&self, path: &Path, offset: u64) -> io::Result<Box<dyn Read + Send>> {
        let mut file = self.open(path)?;
        io::copy(&mut file.by_ref().take(offset), &mut io::sink())?;
        Ok(file)
    }

    /// Creates a file for writing. A file that exists under this name is emptied.
    ///
    /// # Errors
    /// An error of the operating system.
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>>;

    /// Returns the identity of the file that is at `path` now.
    ///
    /// # Errors
    /// An error of the operating system, for example if the file is missing.
    fn identity(&self, path: &Path) -> io::Result<FileIdentity>;

    /// Renames a file to its final name and makes the new name durable. The renaming is atomic, and replaces
    /// any file of that name.
    ///
    /// # Errors
    /// An error of the operating system.
    fn publish(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// An error of the operating system, for example if the file is missing or may not be removed.
    fn remove(&self, path: &Path) -> io::Result<()>;
}
