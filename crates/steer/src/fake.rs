//! A machine for tests: a folder that is laid out as `/proc` is, a kernel that keeps the scheduling of threads, and a
//! driver that answers what it is told.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use thalweg_scheduling::{Fields, OperatorId, OperatorState, Snapshot};

use crate::kernel::Kernel;
use crate::setting::Setting;
use crate::state_file::StateFile;
use crate::steering::{Driver, Observation, Steered, Unobserved};
use crate::threads::{Processes, ThreadKey};

/// A folder of a test, which is removed with this value.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: Mutex<u32> = Mutex::new(0);
        let number = {
            let mut number = NUMBER.lock().unwrap();
            *number += 1;
            *number
        };
        let path = std::env::temp_dir().join(format!("thalweg-steer-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _is_gone = fs::remove_dir_all(&self.0);
    }
}

/// A made-up machine with processes and threads.
pub(crate) struct Machine {
    pub(crate) folder: Folder,
    pub(crate) processes: Processes,
    pub(crate) kernel: FakeKernel,
}

impl Machine {
    /// Makes a machine on which only this process runs, with its main thread.
    pub(crate) fn new() -> Self {
        let folder = Folder::new();
        let processes = Processes::at(folder.path().join("proc"));
        let machine = Machine { folder, processes, kernel: FakeKernel::default() };
        machine.boot("8c5e7f10-0000-4000-8000-000000000001");
        let process = std::process::id();
        machine.begin(process, process, 5);
        let own = machine.processes.root().join("thread-self");
        std::os::unix::fs::symlink(format!("{process}/task/{process}"), own).unwrap();
        machine
    }

    /// Makes the state file of this process, in a folder of the machine.
    pub(crate) fn state_file(&self) -> StateFile {
        let folder = self.folder.path().join("states");
        StateFile::create(&folder, &self.processes, &self.kernel).unwrap().0
    }

    /// Sets the number that the machine has drawn at its start.
    pub(crate) fn boot(&self, id: &str) {
        let folder = self.processes.root().join("sys/kernel/random");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("boot_id"), format!("{id}\n")).unwrap();
    }

    /// Begins a thread, and returns its identity.
    pub(crate) fn begin(&self, process: u32, thread: u32, started: u64) -> ThreadKey {
        let folder = self.processes.root().join(format!("{process}/task/{thread}"));
        fs::create_dir_all(&folder).unwrap();
        let stat =
            format!("{thread} (a thread) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 {started} 20\n");
        fs::write(folder.join("stat"), stat).unwrap();
        self.kernel.threads().insert(thread, Setting::DEFAULT);
        ThreadKey { process, thread, started }
    }

    /// Ends a thread.
    pub(crate) fn end(&self, key: ThreadKey) {
        fs::remove_dir_all(self.processes.root().join(format!("{}/task/{}", key.process, key.thread)))
            .unwrap();
        self.kernel.threads().remove(&key.thread);
    }
}

/// A kernel that keeps the scheduling of threads, and may refuse priorities. Clones are handles of one kernel.
#[derive(Clone, Default)]
pub(crate) struct FakeKernel {
    threads: Arc<Mutex<BTreeMap<u32, Setting>>>,
    refuses: Arc<Mutex<bool>>,
    /// Called once, after the next change of a thread.
    after: Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>,
}

impl FakeKernel {
    pub(crate) fn threads(&self) -> std::sync::MutexGuard<'_, BTreeMap<u32, Setting>> {
        self.threads.lock().unwrap()
    }

    /// Returns the scheduling of each of these threads; `None` for one that has ended.
    pub(crate) fn of(&self, keys: &[ThreadKey]) -> Vec<Option<Setting>> {
        keys.iter().map(|key| self.threads().get(&key.thread).copied()).collect()
    }

    /// Makes the kernel refuse or allow each change.
    pub(crate) fn refuse(&self, refuses: bool) {
        *self.refuses.lock().unwrap() = refuses;
    }
}

impl FakeKernel {
    /// Calls `act` once, after the next change of a thread.
    pub(crate) fn after_a_change(&self, act: impl FnOnce() + Send + 'static) {
        *self.after.lock().unwrap() = Some(Box::new(act));
    }
}

impl Kernel for FakeKernel {
    fn setting(&self, thread: u32) -> io::Result<Setting> {
        self.threads().get(&thread).copied().ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))
    }

    fn set(&self, thread: u32, setting: Setting) -> io::Result<()> {
        // Without privileges a kernel takes what is so already.
        if *self.refuses.lock().unwrap() && self.threads().get(&thread) != Some(&setting) {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        match self.threads().get_mut(&thread) {
            Some(found) => *found = setting,
            None => return Err(io::Error::from_raw_os_error(libc::ESRCH)),
        }
        let act = self.after.lock().unwrap().take();
        act.into_iter().for_each(|act| act());
        Ok(())
    }
}

/// A driver that answers with what it was given, one answer a round.
pub(crate) struct Told(pub(crate) VecDeque<Result<Observation, Unobserved>>);

impl Driver for Told {
    fn name(&self) -> &'static str {
        "a test"
    }

    fn supplies(&self) -> Fields {
        Fields::PENDING | Fields::LAST_RUN
    }

    fn observe(&mut self) -> Result<Observation, Unobserved> {
        self.0.pop_front().unwrap_or_else(|| Err(Unobserved("no answer".to_owned())))
    }
}

/// Returns an engine with an operator for each thread, for which so many records wait.
pub(crate) fn engine(threads: &[(ThreadKey, u64)]) -> Result<Observation, Unobserved> {
    let state = |(_, pending): &(ThreadKey, u64)| {
        Some(OperatorState { pending: *pending, ..OperatorState::default() })
    };
    let snapshot = Snapshot { operators: threads.iter().map(state).collect(), ..Snapshot::default() };
    let steered = |(place, (key, _)): (u32, &(ThreadKey, u64))| Steered {
        key: *key,
        operator: OperatorId(place),
        name: format!("operator {place}"),
    };
    Ok(Observation { snapshot, threads: (0..).zip(threads).map(steered).collect() })
}
