//! Files as a trait, so that a simulated disk can fail, stall, or forget what was not synced.

use std::io::{self, Read, Write};
use std::path::Path;

/// Identity of one version of a file. If it changes while a file is being read, the file was replaced, truncated or
/// appended to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileIdentity {
    /// Device and inode, or another identity that moves with the file.
    pub file: (u64, u64),
    /// Length in bytes.
    pub len_bytes: u64,
    /// Time of the last change, nanoseconds since the Unix epoch.
    pub modified_ns: i128,
}

/// A file being written. Its content is durable only after [`WriteFile::sync`] has returned.
pub trait WriteFile: Write + Send {
    /// Writes everything to the disk durably.
    ///
    /// # Errors
    /// The operating system's; after one the file must not be trusted, and `sync` must not be tried again.
    fn sync(&mut self) -> io::Result<()>;
}

/// The file system.
pub trait Disk: Send + Sync {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// The operating system's, if it is missing or may not be read.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>>;

    /// Creates a file for writing, emptying it if it is there.
    ///
    /// # Errors
    /// The operating system's.
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>>;

    /// Returns the identity of the file at `path` now.
    ///
    /// # Errors
    /// The operating system's, if it is missing.
    fn identity(&self, path: &Path) -> io::Result<FileIdentity>;

    /// Renames a file to its final name, atomically, replacing any file of that name, and makes the new name durable.
    ///
    /// # Errors
    /// The operating system's.
    fn publish(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// The operating system's, if it is missing or may not be removed.
    fn remove(&self, path: &Path) -> io::Result<()>;
}
