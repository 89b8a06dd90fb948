//! A disk in memory for tests: each change can fail, and a power cut loses what was not made durable.
//!
//! A file has two contents: what was written, and what was synced. A directory has two lists of names: the current one, and the
//! one of its last sync. Each call that changes something is a step with a number, counted from 1.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use thalweg_connectors::{Entry, Files, Standing};
use thalweg_model::disk::{Disk, FileIdentity, WriteFile};

/// A disk in memory.
#[derive(Clone, Default)]
pub(crate) struct SimDisk(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    names: Names,
    durable: Names,
    directories: BTreeSet<PathBuf>,
    inodes: u64,
    steps: u64,
    fault: Option<Fault>,
    /// The error of all reads, if they fail.
    read_errno: Option<i32>,
}

type Names = BTreeMap<PathBuf, Arc<Mutex<Node>>>;

#[derive(Clone, Default)]
struct Node {
    inode: u64,
    written: Vec<u8>,
    synced: Vec<u8>,
    writers: usize,
}

/// Steps that fail.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    /// Number of the first step that fails.
    pub(crate) step: u64,
    /// True if all later steps fail, too, as if the process had died.
    pub(crate) stays: bool,
}

/// Which part of the changes that are not durable survives.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cut {
    /// The process was killed: all changes survive.
    Killed,
    /// The power was cut: only what was synced survives.
    Synced,
    /// The power was cut: all names survive, with the contents that were synced.
    Names,
    /// The power was cut: names and ends of contents survive as drawn by this seed.
    Drawn(u64),
}

impl SimDisk {
    /// Makes steps fail, counted from now.
    pub(crate) fn fail(&self, fault: Fault) {
        let mut state = self.state();
        state.steps = 0;
        state.fault = Some(fault);
    }

    /// Ends all faults, and returns the number of steps since [`fail`](Self::fail).
    pub(crate) fn heal(&self) -> u64 {
        let mut state = self.state();
        state.fault = None;
        state.steps
    }

    /// Makes all reads fail with an error number.
    pub(crate) fn fail_reads(&self, errno: Option<i32>) {
        self.state().read_errno = errno;
    }

    /// Returns the names of the files in a directory.
    pub(crate) fn names(&self, directory: &Path) -> Vec<String> {
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        let state = self.state();
        state.names.keys().filter(|path| path.parent() == Some(directory)).map(name).collect()
    }

    pub(crate) fn bytes(&self, path: &Path) -> Vec<u8> {
        self.state().names[path].lock().unwrap().written.clone()
    }

    /// Puts a file on the disk, which is durable.
    pub(crate) fn put(&self, path: &Path, bytes: Vec<u8>) {
        let mut state = self.state();
        let node = state.new_node(bytes);
        state.names.insert(path.to_owned(), Arc::clone(&node));
        state.durable.insert(path.to_owned(), node);
    }

    /// Returns a disk with what survives. No process holds a lock on it, and no step fails.
    pub(crate) fn survivor(&self, cut: Cut) -> SimDisk {
        let state = self.state();
        let survivor = SimDisk::default();
        survivor.state().directories = state.directories.clone();
        let mut draw = Draw(match cut {
            Cut::Drawn(seed) => seed,
            _ => 0,
        });
        let paths: BTreeSet<&PathBuf> = state.names.keys().chain(state.durable.keys()).collect();
        for path in paths {
            let names = match cut {
                Cut::Killed | Cut::Names => &state.names,
                Cut::Synced => &state.durable,
                Cut::Drawn(_) if draw.below(2) == 0 => &state.names,
                Cut::Drawn(_) => &state.durable,
            };
            let Some(node) = names.get(path) else { continue };
            let node = node.lock().unwrap();
            let bytes = match cut {
                Cut::Killed => node.written.clone(),
                Cut::Synced | Cut::Names => node.synced.clone(),
                Cut::Drawn(_) => {
                    let more = node.written.len() - node.synced.len();
                    node.written[..node.synced.len() + draw.below(more as u64 + 1) as usize].to_vec()
                }
            };
            survivor.put(path, bytes);
        }
        survivor
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

impl State {
    fn new_node(&mut self, bytes: Vec<u8>) -> Arc<Mutex<Node>> {
        self.inodes += 1;
        Arc::new(Mutex::new(Node { inode: self.inodes, synced: bytes.clone(), written: bytes, writers: 0 }))
    }

    fn step(&mut self) -> io::Result<()> {
        self.steps += 1;
        let steps = self.steps;
        match self.fault {
            Some(fault) if fault.step == steps || fault.stays && fault.step < steps => {
                Err(io::Error::from_raw_os_error(28))
            }
            _ => Ok(()),
        }
    }

    fn node(&self, path: &Path) -> io::Result<Arc<Mutex<Node>>> {
        self.names.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync(&mut self, directory: Option<&Path>) {
        self.durable.retain(|path, _| path.parent() != directory);
        let State { names, durable, .. } = self;
        let here = names.iter().filter(|(path, _)| path.parent() == directory);
        durable.extend(here.map(|(path, node)| (path.clone(), Arc::clone(node))));
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        let state = self.state();
        if let Some(errno) = state.read_errno {
            return Err(io::Error::from_raw_os_error(errno));
        }
        let bytes = state.node(path)?.lock().unwrap().written.clone();
        Ok(Box::new(io::Cursor::new(bytes)))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let mut state = self.state();
        state.step()?;
        if state.node(path).is_ok_and(|node| node.lock().unwrap().writers > 0) {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        let node = state.new_node(Vec::new());
        node.lock().unwrap().writers = 1;
        state.names.insert(path.to_owned(), Arc::clone(&node));
        Ok(Box::new(Writer { disk: self.clone(), node }))
    }

    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        let node = self.state().node(path)?;
        let node = node.lock().unwrap();
        Ok(FileIdentity { file: (1, node.inode), len_bytes: node.written.len() as u64, modified_ns: 0 })
    }

    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.step()?;
        let node = state.node(from)?;
        state.names.remove(from);
        state.names.insert(to.to_owned(), node);
        state.step()?;
        state.sync(to.parent());
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.node(path)?;
        state.step()?;
        state.names.remove(path);
        Ok(())
    }
}

impl Files for SimDisk {
    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        let state = self.state();
        let files = state.names.keys().map(|path| (path, false));
        let all = files.chain(state.directories.iter().map(|path| (path, true)));
        let here = all.filter(|(path, _)| path.parent() == Some(directory));
        Ok(here.map(|(path, is_directory)| Entry { path: path.clone(), is_directory }).collect())
    }

    fn is_directory(&self, path: &Path) -> io::Result<bool> {
        Ok(self.state().directories.contains(path))
    }

    fn standing(&self, path: &Path) -> io::Result<Standing> {
        let state = self.state();
        Ok(match state.names.contains_key(path) {
            true => Standing::File,
            false if state.directories.contains(path) => Standing::Directory,
            false => Standing::Nothing,
        })
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }

    fn make_directories(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.step()?;
        state.directories.extend(path.ancestors().map(Path::to_owned));
        Ok(())
    }

    fn make_private_directory(&self, path: &Path) -> io::Result<()> {
        self.make_directories(path)
    }

    fn make_private_directories(&self, path: &Path) -> io::Result<()> {
        self.make_directories(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.state().directories.remove(path);
        Ok(())
    }

    fn is_held(&self, path: &Path) -> io::Result<bool> {
        Ok(self.state().node(path)?.lock().unwrap().writers > 0)
    }

    fn remove_leftover(&self, path: &Path) -> io::Result<bool> {
        let is_free = !self.is_held(path)?;
        if is_free {
            self.remove(path)?;
        }
        Ok(is_free)
    }

    fn open_file(&self, _: &Path) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

struct Writer {
    disk: SimDisk,
    node: Arc<Mutex<Node>>,
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let step = self.disk.state().step();
        // A full disk takes the first bytes only.
        let taken = if step.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
        self.node.lock().unwrap().written.extend_from_slice(taken);
        step.map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl WriteFile for Writer {
    fn sync(&mut self) -> io::Result<()> {
        self.disk.state().step()?;
        let mut node = self.node.lock().unwrap();
        node.synced = node.written.clone();
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.node.lock().unwrap().writers -= 1;
    }
}

/// Numbers drawn by a seed. Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % bound.max(1)
    }
}
