//! Shared test helpers: a disk in memory with injected faults, and an output with given room.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use thalweg_model::disk::{Disk, FileIdentity, WriteFile};
use thalweg_model::{Output, Record};

/// A disk in memory. As on a real disk, an open reader keeps reading a file that is replaced, and sees a
/// truncation.
#[derive(Default)]
pub(crate) struct MemDisk {
    files: Mutex<HashMap<PathBuf, Arc<Mutex<Node>>>>,
    faults: Arc<Mutex<Faults>>,
    inodes: Mutex<u64>,
}

#[derive(Default)]
struct Node {
    inode: u64,
    bytes: Vec<u8>,
    modified_ns: i128,
    is_synced: bool,
    hidden_behind: Option<usize>,
}

/// Faults that the disk in memory injects until they are reset.
#[derive(Clone, Copy, Default)]
pub(crate) struct Faults {
    /// Largest number of bytes that one read returns; 0 for no limit.
    pub read_bytes_max: usize,
    /// Every other read of a file is interrupted, as by a signal.
    pub interrupts_reads: bool,
    pub fails_open: bool,
    pub fails_read: bool,
    pub fails_create: bool,
    pub fails_write: bool,
    pub fails_sync: bool,
    pub fails_publish: bool,
}

impl MemDisk {
    /// Creates a disk in memory with one file.
    pub(crate) fn with(path: &str, bytes: &[u8]) -> Arc<Self> {
        let disk = Arc::new(MemDisk::default());
        disk.put(path, bytes);
        disk
    }

    /// Puts a new file at `path`, replacing any file there.
    pub(crate) fn put(&self, path: &str, bytes: &[u8]) {
        self.insert(Path::new(path), bytes.to_vec());
    }

    /// Truncates the file at `path`; open readers see the truncation.
    pub(crate) fn truncate(&self, path: &str, len_bytes: usize) {
        self.change(path, |bytes| bytes.truncate(len_bytes));
    }

    /// Limits open readers to the first `len_bytes` of the file at `path`, without changing its metadata.
    pub(crate) fn hide(&self, path: &str, len_bytes: usize) {
        self.node(Path::new(path)).unwrap().lock().unwrap().hidden_behind = Some(len_bytes);
    }

    /// Changes the contents of the file at `path`; open readers see the change.
    pub(crate) fn change(&self, path: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let node = self.node(Path::new(path)).unwrap();
        let mut node = node.lock().unwrap();
        change(&mut node.bytes);
        node.modified_ns += 1;
    }

    pub(crate) fn set(&self, faults: Faults) {
        *self.faults.lock().unwrap() = faults;
    }

    /// Returns the text of the file at `path`, if there is one.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let node = self.node(Path::new(path)).ok()?;
        let node = node.lock().unwrap();
        Some(String::from_utf8_lossy(&node.bytes).into_owned())
    }

    fn insert(&self, path: &Path, bytes: Vec<u8>) -> Arc<Mutex<Node>> {
        let mut inodes = self.inodes.lock().unwrap();
        *inodes += 1;
        let node = Arc::new(Mutex::new(Node { inode: *inodes, bytes, ..Node::default() }));
        self.files.lock().unwrap().insert(path.to_owned(), Arc::clone(&node));
        node
    }

    fn node(&self, path: &Path) -> io::Result<Arc<Mutex<Node>>> {
        self.files.lock().unwrap().get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn faults(&self) -> Faults {
        *self.faults.lock().unwrap()
    }
}

fn fail_if(fails: bool, what: &str) -> io::Result<()> {
    if fails { Err(io::Error::other(format!("{what} fails"))) } else { Ok(()) }
}

impl Disk for MemDisk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        fail_if(self.faults().fails_open, "open")?;
        let reader = MemReader {
            node: self.node(path)?,
            at: 0,
            faults: Arc::clone(&self.faults),
            was_interrupted: false,
        };
        Ok(Box::new(reader))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        fail_if(self.faults().fails_create, "create")?;
        Ok(Box::new(MemWriter { node: self.insert(path, Vec::new()), faults: Arc::clone(&self.faults) }))
    }

    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        let node = self.node(path)?;
        let node = node.lock().unwrap();
        let len_bytes = node.bytes.len() as u64;
        Ok(FileIdentity { file: (1, node.inode), len_bytes, modified_ns: node.modified_ns })
    }

    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        fail_if(self.faults().fails_publish, "publish")?;
        let node = self.node(from)?;
        assert!(node.lock().unwrap().is_synced, "a file is on the disk before it gets its name");
        let mut files = self.files.lock().unwrap();
        files.remove(from);
        files.insert(to.to_owned(), node);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.files.lock().unwrap().remove(path).map(|_| ()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

struct MemReader {
    node: Arc<Mutex<Node>>,
    at: usize,
    faults: Arc<Mutex<Faults>>,
    was_interrupted: bool,
}

impl Read for MemReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let faults = *self.faults.lock().unwrap();
        fail_if(faults.fails_read, "read")?;
        self.was_interrupted = faults.interrupts_reads && !self.was_interrupted;
        if self.was_interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let node = self.node.lock().unwrap();
        let visible = &node.bytes[..node.hidden_behind.unwrap_or(node.bytes.len())];
        let unread = visible.get(self.at..).unwrap_or_default();
        let max = if faults.read_bytes_max == 0 { usize::MAX } else { faults.read_bytes_max };
        let count = unread.len().min(into.len()).min(max);
        into[..count].copy_from_slice(&unread[..count]);
        self.at += count;
        Ok(count)
    }
}

struct MemWriter {
    node: Arc<Mutex<Node>>,
    faults: Arc<Mutex<Faults>>,
}

impl Write for MemWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        fail_if(self.faults.lock().unwrap().fails_write, "write")?;
        let mut node = self.node.lock().unwrap();
        node.bytes.extend_from_slice(bytes);
        node.is_synced = false;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WriteFile for MemWriter {
    fn sync(&mut self) -> io::Result<()> {
        fail_if(self.faults.lock().unwrap().fails_sync, "sync")?;
        self.node.lock().unwrap().is_synced = true;
        Ok(())
    }
}

/// An output that takes at most `room` records.
pub(crate) struct VecOutput<T> {
    pub records: Vec<Record<T>>,
    pub room: usize,
}

impl<T> VecOutput<T> {
    pub(crate) fn with_room(room: usize) -> Self {
        VecOutput { records: Vec::new(), room }
    }
}

impl<T> Output<T> for VecOutput<T> {
    fn room(&self) -> usize {
        self.room
    }

    fn push(&mut self, record: Record<T>) {
        assert!(self.room > 0, "O1: an operator pushes only while there is room");
        self.room -= 1;
        self.records.push(record);
    }
}
