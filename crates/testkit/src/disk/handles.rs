//! Open files of the disk in memory that fails on request, [`FaultyDisk`](super::FaultyDisk).

use std::io::{self, Read, Write};
use std::path::PathBuf;

use thalweg_memory::sync::{Arc, Mutex};
use thalweg_model::disk::WriteFile;

use super::{Call, Node, State};

/// A file of the faulty disk that is open for reading. It keeps its contents when its name is given to
/// another file.
pub(super) struct Reading {
    state: Arc<Mutex<State>>,
    path: PathBuf,
    node: Arc<Mutex<Node>>,
    read_bytes: usize,
}

impl Reading {
    pub(super) fn new(state: Arc<Mutex<State>>, path: PathBuf, node: Arc<Mutex<Node>>) -> Self {
        Reading { state, path, node, read_bytes: 0 }
    }
}

impl Read for Reading {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut state = self.state.lock();
        state.count(Call::Read)?;
        let count = {
            let node = self.node.lock();
            let unread = node.written.get(self.read_bytes..).unwrap_or_default();
            let count = unread.len().min(into.len()).min(state.read_bytes_max.unwrap_or(usize::MAX));
            into[..count].copy_from_slice(&unread[..count]);
            count
        };
        self.read_bytes += count;
        state.changes_due(&self.path, self.read_bytes as u64);
        Ok(count)
    }
}

/// A file of the faulty disk that is open for writing.
pub(super) struct Writing {
    state: Arc<Mutex<State>>,
    node: Arc<Mutex<Node>>,
}

impl Writing {
    pub(super) fn new(state: Arc<Mutex<State>>, node: Arc<Mutex<Node>>) -> Self {
        Writing { state, node }
    }
}

impl Write for Writing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.state.lock();
        state.count(Call::Write)?;
        state.changes += 1;
        let mut node = self.node.lock();
        node.written.extend_from_slice(bytes);
        node.modified_ns = state.changes;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WriteFile for Writing {
    /// Syncs the file. If this fails, no more of its contents is durable: what was synced before stays, and
    /// the rest counts as lost.
    fn sync(&mut self) -> io::Result<()> {
        self.state.lock().count(Call::Sync)?;
        let mut node = self.node.lock();
        node.synced = node.written.clone();
        Ok(())
    }
}
