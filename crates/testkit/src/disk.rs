//! A disk in memory that fails on request. Files are missing, unreadable, or truncated or replaced while they
//! are read. Reads return few bytes, calls fail, and a power cut loses everything that was not synced.
//!
//! As on a real file system, an open reader keeps a file that is replaced, and sees the truncation of one. A
//! file has two contents: the written content and the content on the disk. `sync` copies the first to the
//! second. `publish` renames, and makes the names in that directory durable. A name that was only given by
//! `create`, or taken by `remove`, may be lost: [`FaultyDisk::what_survives`] always loses it.

mod handles;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use thalweg_memory::sync::{Arc, Mutex};
use thalweg_model::disk::{Disk, FileIdentity, WriteFile};

use handles::{Reading, Writing};

/// Kinds of calls to the disk that can be made to fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// A call of [`Disk::open`], which reports that permission is denied.
    Open,
    /// A call that reads from an open file.
    Read,
    /// A call of [`Disk::create`], which creates a file.
    Create,
    /// A call that writes to an open file.
    Write,
    /// A call of [`WriteFile::sync`], which syncs a file.
    Sync,
    /// A call of [`Disk::publish`], which renames a file.
    Publish,
}

/// A change that a test makes to a file while the file is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// The file is truncated to this number of bytes while it is read.
    Truncate(usize),
    /// While the file is read, another file with these bytes takes its place.
    Replace(Vec<u8>),
    /// The file is removed from the disk while it is read.
    Remove,
    /// The bytes in this variant are appended to the file while it is read.
    Append(Vec<u8>),
}

/// A disk in memory that fails on request.
#[derive(Default)]
pub struct FaultyDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    names: Names,
    /// The file names that survive a power cut.
    durable_names: Names,
    next_inode: u64,
    /// Number of changes of files so far; the disk reports it as the time of a file's latest change.
    changes: i128,
    /// Number of calls so far, by the kind of call, in the order of [`Call`].
    calls: [u64; 6],
    failing: Vec<(Call, u64)>,
    /// Largest number of bytes that one read returns, if it is limited.
    read_bytes_max: Option<usize>,
    /// Changes that are still to happen: the path of the file, the number of its bytes that must be read
    /// before, and the change.
    pending: Vec<(PathBuf, u64, Change)>,
}

type Names = BTreeMap<PathBuf, Arc<Mutex<Node>>>;

#[derive(Clone, Default)]
struct Node {
    inode: u64,
    written: Vec<u8>,
    synced: Vec<u8>,
    modified_ns: i128,
}

impl FaultyDisk {
    /// Creates an empty disk on which no call fails.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Puts a file on the disk, whose name and contents then survive a power cut.
    pub fn put(&self, path: impl AsRef<Path>, bytes: impl Into<Vec<u8>>) {
        self.state.lock().put(path.as_ref(), bytes.into());
    }

    /// Makes one call to the disk fail: the one with the given number among the calls of its kind, counted
    /// from 1.
    pub fn fail(&self, call: Call, number: u64) {
        self.state.lock().failing.push((call, number));
    }

    /// Limits each read of a file to `bytes` bytes.
    pub fn read_at_most(&self, bytes: usize) {
        self.state.lock().read_bytes_max = Some(bytes);
    }

    /// Makes the file at `path` change once `read_bytes` of its bytes were read.
    pub fn change_after(&self, path: impl AsRef<Path>, read_bytes: u64, change: Change) {
        self.state.lock().pending.push((path.as_ref().to_owned(), read_bytes, change));
    }

    /// Returns the bytes written to the file at `path`, if there is one.
    pub fn bytes(&self, path: impl AsRef<Path>) -> Option<Vec<u8>> {
        let node = self.state.lock().names.get(path.as_ref()).cloned()?;
        let written = node.lock().written.clone();
        Some(written)
    }

    /// Returns the paths of all files on the disk, sorted.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.state.lock().names.keys().cloned().collect()
    }

    /// Returns the disk as a power cut leaves it now: durable names with the synced contents of their files.
    /// Calls on it do not fail.
    pub fn what_survives(&self) -> Arc<FaultyDisk> {
        let survivor = FaultyDisk::new();
        for (path, node) in &self.state.lock().durable_names {
            survivor.put(path, node.lock().synced.clone());
        }
        survivor
    }
}

impl State {
    fn put(&mut self, path: &Path, bytes: Vec<u8>) {
        let node = self.new_node(bytes);
        self.names.insert(path.to_owned(), Arc::clone(&node));
        self.durable_names.insert(path.to_owned(), node);
    }

    fn new_node(&mut self, bytes: Vec<u8>) -> Arc<Mutex<Node>> {
        self.next_inode += 1;
        self.changes += 1;
        let node =
            Node { inode: self.next_inode, synced: bytes.clone(), written: bytes, modified_ns: self.changes };
        Arc::new(Mutex::new(node))
    }

    fn node(&self, path: &Path) -> io::Result<Arc<Mutex<Node>>> {
        self.names.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Counts a call to the disk, and returns an error if this is the call to fail.
    fn count(&mut self, call: Call) -> io::Result<()> {
        let count = &mut self.calls[call as usize];
        *count += 1;
        if !self.failing.contains(&(call, *count)) {
            return Ok(());
        }
        let told = format!("{call:?} number {count} fails, as told");
        Err(match call {
            Call::Open => io::Error::new(io::ErrorKind::PermissionDenied, told),
            _ => io::Error::other(told),
        })
    }

    /// Makes the changes to the file at `path` that are due once `read_bytes` of it were read.
    fn changes_due(&mut self, path: &Path, read_bytes: u64) {
        let is_due = |(at, after, _): &mut (PathBuf, u64, Change)| at == path && *after <= read_bytes;
        let due: Vec<_> = self.pending.extract_if(.., is_due).collect();
        for (path, _, change) in due {
            self.change(&path, change);
        }
    }

    fn change(&mut self, path: &Path, change: Change) {
        self.changes += 1;
        let changes = self.changes;
        let edit = |state: &Self, edit: &dyn Fn(&mut Vec<u8>)| {
            if let Ok(node) = state.node(path) {
                let mut node = node.lock();
                edit(&mut node.written);
                node.modified_ns = changes;
            }
        };
        match change {
            Change::Truncate(len) => edit(self, &|bytes| bytes.truncate(len)),
            Change::Append(tail) => edit(self, &|bytes| bytes.extend_from_slice(&tail)),
            Change::Replace(bytes) => self.put(path, bytes),
            Change::Remove => drop(self.names.remove(path)),
        }
    }
}

impl Disk for FaultyDisk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        let mut state = self.state.lock();
        state.count(Call::Open)?;
        let node = state.node(path)?;
        Ok(Box::new(Reading::new(Arc::clone(&self.state), path.to_owned(), node)))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let mut state = self.state.lock();
        state.count(Call::Create)?;
        let node = match state.node(path) {
            Ok(node) => node,
            Err(_) => {
                let node = state.new_node(Vec::new());
                state.names.insert(path.to_owned(), Arc::clone(&node));
                node
            }
        };
        node.lock().written.clear();
        Ok(Box::new(Writing::new(Arc::clone(&self.state), node)))
    }

    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        let node = self.state.lock().node(path)?;
        let node = node.lock();
        Ok(FileIdentity {
            file: (1, node.inode),
            len_bytes: node.written.len() as u64,
            modified_ns: node.modified_ns,
        })
    }

    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        state.count(Call::Publish)?;
        let node = state.node(from)?;
        state.names.remove(from);
        state.names.insert(to.to_owned(), node);
        // A published rename syncs the directory, so every name in this directory is durable as it is now.
        let is_beside = |path: &Path| path.parent() == to.parent();
        let State { names, durable_names, .. } = &mut *state;
        durable_names.retain(|path, _| !is_beside(path));
        durable_names.extend(
            names
                .iter()
                .filter(|(path, _)| is_beside(path))
                .map(|(path, node)| (path.clone(), Arc::clone(node))),
        );
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.state.lock().names.remove(path).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

#[cfg(test)]
mod tests;
