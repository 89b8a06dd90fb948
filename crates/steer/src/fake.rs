//! A machine for tests: a folder that is laid out as `/proc` is, a kernel that keeps the scheduling of threads and the
//! members of control groups, and a driver that answers what it is told.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use thalweg_scheduling::{Fields, OperatorId, OperatorState, Snapshot};

use crate::groups::{Group, Version};
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

    /// Mounts control groups of this version, and puts all threads of a process into a group, which is returned.
    pub(crate) fn mount(&self, version: Version, process: u32) -> Group {
        let (proc, root) = (self.processes.root(), self.folder.path().join("cpu"));
        let home = Group { folder: root.join("flink"), version };
        for folder in [&root, &home.folder] {
            fs::create_dir(folder).unwrap();
            fill(&Group { folder: folder.clone(), version });
        }
        let _is_version_1 = fs::write(home.folder.join("cpu.rt_runtime_us"), "950000\n");
        let kind = if version == Version::One { "cgroup rw,cpu" } else { "cgroup2 rw" };
        fs::write(proc.join("mounts"), format!("cgroup {} {kind} 0 0\n", root.display())).unwrap();
        *self.kernel.root.lock().unwrap() = Some((proc.to_owned(), root));
        self.processes.threads(process).unwrap().into_iter().for_each(|thread| {
            self.kernel.join(thread, &home.list()).unwrap();
        });
        home
    }

    /// Begins a thread in the control group of another one, as its child.
    pub(crate) fn begin_child(&self, parent: ThreadKey, thread: u32) -> ThreadKey {
        let key = self.begin(parent.process, thread, parent.started);
        let list = self.kernel.lists.lock().unwrap()[&parent.thread].clone();
        self.kernel.join(thread, &list).unwrap();
        key
    }

    /// Ends a thread.
    pub(crate) fn end(&self, key: ThreadKey) {
        let list = self.kernel.lists.lock().unwrap().remove(&key.thread);
        list.into_iter().for_each(|list| leave(key.thread, &list));
        fs::remove_dir_all(self.processes.root().join(format!("{}/task/{}", key.process, key.thread)))
            .unwrap();
        self.kernel.threads().remove(&key.thread);
    }
}

/// Makes the files of a new control group.
fn fill(group: &Group) {
    let files: &[(&str, &str)] = match group.version {
        Version::One => &[
            ("tasks", ""),
            ("cpu.shares", "1024\n"),
            ("cpu.cfs_quota_us", "-1\n"),
            ("cpu.cfs_period_us", "100000\n"),
            ("cpu.rt_runtime_us", "0\n"),
        ],
        Version::Two => &[
            ("cgroup.threads", ""),
            ("cgroup.procs", ""),
            ("cgroup.controllers", "cpuset cpu\n"),
            ("cgroup.subtree_control", "\n"),
            ("cgroup.type", "domain\n"),
            ("cpu.weight", "100\n"),
            ("cpu.max", "max 100000\n"),
        ],
    };
    files.iter().for_each(|(name, text)| fs::write(group.folder.join(name), text).unwrap());
}

/// Takes the number of a thread out of the list of a control group.
fn leave(thread: u32, list: &Path) {
    let text = fs::read_to_string(list).unwrap_or_default();
    let others = text.lines().filter(|line| *line != thread.to_string());
    let _is_removed = fs::write(list, others.map(|line| format!("{line}\n")).collect::<String>());
}

/// A kernel that keeps the scheduling of threads, and may refuse priorities. Clones are handles of one kernel.
#[derive(Clone, Default)]
pub(crate) struct FakeKernel {
    /// The folder like `/proc`, and the root of control groups.
    root: Arc<Mutex<Option<(PathBuf, PathBuf)>>>,
    /// The list of the control group of each thread.
    lists: Arc<Mutex<BTreeMap<u32, PathBuf>>>,
    threads: Arc<Mutex<BTreeMap<u32, Setting>>>,
    refuses: Arc<Mutex<bool>>,
    refuses_groups: Arc<Mutex<bool>>,
    /// Called once, after the next change of a thread.
    after: Arc<Mutex<Option<Act>>>,
    /// Called once, after the next move of the thread with this number.
    after_move: Arc<Mutex<Option<(u32, Act)>>>,
}

type Act = Box<dyn FnOnce() + Send>;

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
        self.refuse_priorities(refuses);
        *self.refuses_groups.lock().unwrap() = refuses;
    }

    /// Makes the kernel refuse or allow each change of the scheduling of a thread.
    pub(crate) fn refuse_priorities(&self, refuses: bool) {
        *self.refuses.lock().unwrap() = refuses;
    }
}

impl FakeKernel {
    /// Calls `act` once, after the next change of a thread.
    pub(crate) fn after_a_change(&self, act: impl FnOnce() + Send + 'static) {
        *self.after.lock().unwrap() = Some(Box::new(act));
    }

    /// Calls `act` once, after the next move of a thread into a control group.
    pub(crate) fn after_a_move_of(&self, thread: u32, act: impl FnOnce() + Send + 'static) {
        *self.after_move.lock().unwrap() = Some((thread, Box::new(act)));
    }

    fn act_after(&self) {
        let act = self.after.lock().unwrap().take();
        act.into_iter().for_each(|act| act());
    }

    /// Puts a thread into the control group with this list, and tells so in the files of the thread.
    fn join(&self, thread: u32, list: &Path) -> io::Result<()> {
        let text = fs::read_to_string(list)?;
        let before = self.lists.lock().unwrap().insert(thread, list.to_owned());
        if before.as_deref() == Some(list) {
            return Ok(());
        }
        before.into_iter().for_each(|before| leave(thread, &before));
        fs::write(list, format!("{text}{thread}\n"))?;
        let root = self.root.lock().unwrap();
        let (proc, root) = root.as_ref().unwrap();
        let path = list.parent().unwrap().strip_prefix(root).unwrap().display();
        let line = if list.ends_with("tasks") { format!("1:cpu:/{path}\n") } else { format!("0::/{path}\n") };
        for process in Processes::at(proc).numbers()? {
            let task = proc.join(format!("{process}/task/{thread}"));
            if task.exists() {
                fs::write(task.join("cgroup"), &line)?;
            }
            if process == thread {
                fs::write(proc.join(format!("{process}/cgroup")), &line)?;
            }
        }
        Ok(())
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
        self.act_after();
        Ok(())
    }

    fn make_group(&self, folder: &Path) -> io::Result<()> {
        if *self.refuses_groups.lock().unwrap() {
            return Err(io::Error::from_raw_os_error(libc::EACCES));
        }
        fs::create_dir(folder)?;
        let is_first = folder.parent().unwrap().join("tasks").exists();
        let version = if is_first { Version::One } else { Version::Two };
        fill(&Group { folder: folder.to_owned(), version });
        Ok(())
    }

    fn remove_group(&self, folder: &Path) -> io::Result<()> {
        let has_threads = self.lists.lock().unwrap().values().any(|list| list.parent() == Some(folder));
        let has_groups = fs::read_dir(folder)?.any(|entry| entry.unwrap().path().is_dir());
        if has_threads || has_groups {
            return Err(io::Error::from_raw_os_error(libc::EBUSY));
        }
        fs::remove_dir_all(folder)
    }

    fn move_thread(&self, thread: u32, list: &Path) -> io::Result<()> {
        let class = self.setting(thread)?.class;
        let folder = list.parent().unwrap();
        let has = |name: &str, text: &str| {
            fs::read_to_string(folder.join(name)).is_ok_and(|found| found.trim() == text)
        };
        let is_home = folder.ends_with("flink");
        if class.is_real_time() && has("cpu.rt_runtime_us", "0") {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        if !is_home && has("cgroup.type", "domain") {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        self.join(thread, list)?;
        self.act_after();
        let act = self.after_move.lock().unwrap().take_if(|(moved, _)| *moved == thread);
        act.into_iter().for_each(|(_, act)| act());
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
    Ok(Observation { snapshot, threads: (0..).zip(threads).map(steered).collect(), ..Observation::default() })
}
