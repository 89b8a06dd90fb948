//! A machine in memory: its disk outlives processes, which can die at every call, and power cuts, which lose what was not synced.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use thalweg_model::disk::{Disk, FileIdentity, WriteFile};

use crate::connect::files::{Entry, Files, Standing};

/// The end of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Crash {
    /// The process dies, and the disk keeps everything.
    Death,
    /// Names that were not synced are lost, and so are bytes.
    PowerCut,
    /// Names are on the disk, as some file systems have them, and bytes that were not synced are lost.
    PowerCutKeepsNames,
}

pub(super) const CRASHES: [Crash; 3] = [Crash::Death, Crash::PowerCut, Crash::PowerCutKeepsNames];

#[derive(Clone, Default)]
pub(super) struct Machine(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    names: BTreeMap<PathBuf, usize>,
    durable: BTreeMap<PathBuf, usize>,
    nodes: Vec<Node>,
    directories: BTreeSet<PathBuf>,
    processes: u64,
}

#[derive(Clone, Default)]
struct Node {
    written: Vec<u8>,
    synced: Vec<u8>,
    /// The process that has locked the file.
    holder: Option<u64>,
}

impl Machine {
    /// Starts a process that dies at the call with this number, counted from 0; without one it lives on.
    pub(super) fn process(&self, dies_at: Option<u64>) -> Process {
        let mut state = self.0.lock().unwrap();
        state.processes += 1;
        let life = Life { calls: 0, dies_at, is_dead: false };
        Process { machine: self.clone(), id: state.processes, life: Arc::new(Mutex::new(life)) }
    }

    pub(super) fn crash(&self, crash: Crash) {
        let mut state = self.0.lock().unwrap();
        if crash == Crash::PowerCut {
            state.names = state.durable.clone();
        }
        state.nodes.iter_mut().for_each(|node| {
            node.holder = None;
            if crash != Crash::Death {
                node.written = node.synced.clone();
            }
        });
    }

    pub(super) fn put(&self, path: &str, text: &str) {
        let mut state = self.0.lock().unwrap();
        let path = PathBuf::from(path);
        state.directories.extend(path.ancestors().skip(1).map(Path::to_owned));
        state.nodes.push(Node { written: text.into(), synced: text.into(), holder: None });
        let node = state.nodes.len() - 1;
        state.names.insert(path.clone(), node);
        state.durable.insert(path, node);
    }

    pub(super) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let state = self.0.lock().unwrap();
        state.names.iter().map(|(path, node)| (path.clone(), state.nodes[*node].written.clone())).collect()
    }

    pub(super) fn remove(&self, path: &str) {
        self.0.lock().unwrap().names.remove(Path::new(path)).unwrap();
    }
}

/// The view of a machine from one of its processes.
#[derive(Clone)]
pub(super) struct Process {
    machine: Machine,
    id: u64,
    life: Arc<Mutex<Life>>,
}

struct Life {
    calls: u64,
    dies_at: Option<u64>,
    is_dead: bool,
}

impl Process {
    pub(super) fn is_dead(&self) -> bool {
        self.life.lock().unwrap().is_dead
    }

    /// Returns the number of calls so far that change the disk.
    pub(super) fn calls(&self) -> u64 {
        self.life.lock().unwrap().calls
    }

    /// Begins a call that changes the disk.
    fn call(&self) -> io::Result<()> {
        let mut life = self.life.lock().unwrap();
        life.is_dead |= life.dies_at == Some(life.calls);
        life.calls += 1;
        if life.is_dead { Err(dead()) } else { Ok(()) }
    }

    fn look<T>(&self, look: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        if self.is_dead() { Err(dead()) } else { look(&mut self.machine.0.lock().unwrap()) }
    }
}

fn dead() -> io::Error {
    io::Error::other("the process is dead")
}

impl State {
    fn node(&mut self, path: &Path) -> io::Result<&mut Node> {
        let node = *self.names.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(&mut self.nodes[node])
    }

    fn sync_directory(&mut self, directory: Option<&Path>) {
        let State { names, durable, .. } = self;
        durable.retain(|path, _| path.parent() != directory);
        durable.extend(
            names
                .iter()
                .filter(|(path, _)| path.parent() == directory)
                .map(|(path, node)| (path.clone(), *node)),
        );
    }
}

impl Disk for Process {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        self.look(|state| Ok(Box::new(Cursor::new(state.node(path)?.written.clone())) as _))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        self.call()?;
        self.look(|state| {
            if state.node(path).is_ok_and(|node| node.holder.is_some()) {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            if !path.parent().is_some_and(|directory| state.directories.contains(directory)) {
                return Err(io::ErrorKind::NotFound.into());
            }
            state.nodes.push(Node { holder: Some(self.id), ..Node::default() });
            let node = state.nodes.len() - 1;
            state.names.insert(path.to_owned(), node);
            Ok(Box::new(Open { process: self.clone(), node }) as _)
        })
    }

    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        self.look(|state| {
            if state.directories.contains(path) {
                return Ok(FileIdentity {
                    file: (1, path.as_os_str().len() as u64),
                    len_bytes: 0,
                    modified_ns: 0,
                });
            }
            let len_bytes = state.node(path)?.written.len() as u64;
            Ok(FileIdentity { file: (0, state.names[path] as u64), len_bytes, modified_ns: 0 })
        })
    }

    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.call()?;
        self.look(|state| {
            let node = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
            state.names.insert(to.to_owned(), node);
            Ok(())
        })?;
        self.call()?;
        self.look(|state| {
            state.sync_directory(to.parent());
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.call()?;
        self.look(|state| state.names.remove(path).map(drop).ok_or(io::ErrorKind::NotFound.into()))
    }
}

impl Files for Process {
    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        self.look(|state| {
            if !state.directories.contains(directory) {
                return Err(io::ErrorKind::NotFound.into());
            }
            let inside = |path: &&PathBuf| path.parent() == Some(directory);
            let entry = |is_directory| move |path: &PathBuf| Entry { path: path.clone(), is_directory };
            let files = state.names.keys().filter(inside).map(entry(false));
            Ok(files.chain(state.directories.iter().filter(inside).map(entry(true))).collect())
        })
    }

    fn is_directory(&self, path: &Path) -> io::Result<bool> {
        self.look(|state| Ok(state.directories.contains(path)))
    }

    fn standing(&self, path: &Path) -> io::Result<Standing> {
        self.look(|state| {
            Ok(match () {
                () if state.names.contains_key(path) => Standing::File,
                () if state.directories.contains(path) => Standing::Directory,
                () => Standing::Nothing,
            })
        })
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }

    fn make_directories(&self, path: &Path) -> io::Result<()> {
        if !self.is_directory(path)? {
            self.call()?;
        }
        self.look(|state| {
            state.directories.extend(path.ancestors().map(Path::to_owned));
            Ok(())
        })
    }

    fn remove_directory(&self, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn is_held(&self, path: &Path) -> io::Result<bool> {
        self.look(|state| Ok(state.node(path).is_ok_and(|node| node.holder.is_some())))
    }

    fn remove_leftover(&self, path: &Path) -> io::Result<bool> {
        if self.is_held(path)? {
            return Ok(false);
        }
        self.remove(path).map(|()| true)
    }

    fn open_file(&self, _: &Path) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

struct Open {
    process: Process,
    node: usize,
}

impl Write for Open {
    /// A process that dies while it writes has written half of the bytes.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let was_dead = self.process.is_dead();
        let call = self.process.call();
        let mut state = self.process.machine.0.lock().unwrap();
        let written = &mut state.nodes[self.node].written;
        match call {
            Ok(()) => written.extend_from_slice(bytes),
            Err(_) if was_dead => {}
            Err(_) => written.extend_from_slice(&bytes[..bytes.len() / 2]),
        }
        call.map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WriteFile for Open {
    fn sync(&mut self) -> io::Result<()> {
        self.process.call()?;
        self.process.look(|state| {
            let node = &mut state.nodes[self.node];
            node.synced = node.written.clone();
            Ok(())
        })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.process.is_dead() {
            self.process.machine.0.lock().unwrap().nodes[self.node].holder = None;
        }
    }
}
