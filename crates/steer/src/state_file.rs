//! The state file: it tells how to put everything back. Each change of a thread or of a setting of the kernel is
//! written down before it is made, so that it can be undone by the tool itself, by its watchdog, or by the next start,
//! whichever is left.
//!
//! ```text
//!   {"tool":{"key":{..},"boot":"8c5e..","namespace":"pid:[..]"}}    the tool that writes the file
//!   {"kernel":{"path":..,"before":..}}                              a setting of the kernel, with its number before
//!   {"thread":{"key":{..},"before":{..}}}                           a thread, with its scheduling before
//!   {"group":{"folder":..,"home":{..}}}                             a control group that was made, and that above it
//!   {"controller":{"path":..}}                                      the switch of the controller cpu, which was off
//! ```
//!
//! A file is restored from its end to its beginning, first its threads, then the control groups, and then the settings of
//! the kernel: threads lose their priorities before the group loses the budget for them. All threads that are in a group
//! of the tool go to the group above, also those that were started meanwhile, and the group is removed. Threads that steered
//! threads have started lose a nice value above 0, which they inherit. If a thread occurs
//! twice, its first line is restored last. The file need not reach the disk: if the machine stops, priorities are gone,
//! too, and a state file of an earlier start of the machine is only removed.
//!
//! **Trust.** A restore by root writes what the file says. So the folder and the file must belong to the user of the
//! tool and must be writable by no other, the file is opened once and no link is followed, and settings of the kernel
//! are written without creating files.
//!
//! **Exclusion.** One tool at a time uses a folder. A lock is held while left-over files are restored and a new one is
//! made, and during the last restore of a watchdog; a tool that finds another one running is refused.
//!
//! Bounds: [`BYTES_MAX`] for the size of a file, `LOCK_PATIENCE` for the wait for the lock.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::groups;
use crate::groups::Group;
use crate::kernel::{Kernel, put_back};
use crate::setting::Setting;
use crate::shares;
use crate::threads::{Processes, ThreadKey};

/// Maximum size of a state file in bytes: about half a million threads in the life of a tool.
pub const BYTES_MAX: u64 = 64 << 20;

/// How the names of state files begin and end; between them stand the number and the start of the tool's process.
const NAME: (&str, &str) = ("steer-", ".state");

/// Name of the file whose lock is held while state files are made and removed.
const LOCK: &str = "lock";

/// Longest time for which a process waits for the lock: far longer than a restore takes.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// Time between two tries to take the lock.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Permissions by which someone other than the owner may write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// A line of a state file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// The first line: the tool that writes the file, by its main thread, with the start of the machine and the
    /// namespace in which numbers of threads are meant.
    Tool { key: ThreadKey, boot: String, namespace: String },
    /// A setting of the kernel that the tool has written, with its number before.
    Kernel { path: PathBuf, before: i64 },
    /// A thread that the tool has changed, with its scheduling before.
    Thread { key: ThreadKey, before: Setting },
    /// A control group that the tool has made, and the group to which its threads go back.
    Group { folder: PathBuf, home: Group },
    /// The file of a control group, version 2, by which the tool has given the controller cpu to the groups below it.
    Controller { path: PathBuf },
}

/// The parts of a state file that are restored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Threads, control groups and settings of the kernel.
    All,
    /// Threads only, which also go back to their control groups. What the tool has made or set for groups of threads
    /// stays, since the tool may go on.
    Threads,
}

/// Result of restoring what state files name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Restored {
    /// Number of threads that have their scheduling or their control group of before.
    pub threads: u64,
    /// Number of threads and groups of threads that were gone.
    pub ended: u64,
    /// Number of settings of the kernel that have their number of before, and of control groups that were removed.
    pub settings: u64,
    /// Threads, settings and lines that could not be put back, each with the reason.
    pub failures: Vec<String>,
}

impl Restored {
    fn add(&mut self, other: Restored) {
        self.threads += other.threads;
        self.ended += other.ended;
        self.settings += other.settings;
        self.failures.extend(other.failures);
    }

    /// Counts a thread that was put back, had ended, or could not be put back.
    fn add_thread(&mut self, key: ThreadKey, outcome: io::Result<bool>) {
        match outcome {
            Ok(true) => self.threads += 1,
            Ok(false) => self.ended += 1,
            Err(error) => self.failures.push(format!("thread {}: {error}", key.thread)),
        }
    }

    /// Counts a setting of the kernel that was written, or could not be.
    fn add_setting(&mut self, path: &Path, outcome: io::Result<()>) {
        match outcome {
            Ok(()) => self.settings += 1,
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.ended += 1,
            Err(error) => self.failures.push(format!("{}: {error}", path.display())),
        }
    }
}

/// Error: no state file could be made, so nothing may be changed.
#[derive(Debug)]
pub enum StateError {
    /// Other tools use the folder; the numbers of their processes.
    Busy(Vec<u32>),
    /// The folder or a file could not be used.
    Io(PathBuf, io::Error),
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StateError::Busy(processes) => {
                let numbers: Vec<String> = processes.iter().map(u32::to_string).collect();
                write!(f, "process {} is steering already: end it first", numbers.join(", "))
            }
            StateError::Io(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for StateError {}

/// The state file of this process, open for more lines.
#[derive(Debug)]
pub struct StateFile {
    path: PathBuf,
    file: File,
    /// Length in bytes of the lines that are whole.
    length: u64,
}

impl StateFile {
    /// Restores what tools that have ended left behind in `folder`, and creates the state file of this process there.
    /// The folder is made if it is missing, for this user alone. Returns the file and what was restored.
    ///
    /// # Errors
    /// [`StateError::Busy`] if another tool uses the folder; [`StateError::Io`] if the folder is not this user's alone,
    /// or if a file cannot be used.
    pub fn create(
        folder: &Path,
        processes: &Processes,
        kernel: &impl Kernel,
    ) -> Result<(StateFile, Restored), StateError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |error| StateError::Io(path, error)
        };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(at(folder))?;
        let _lock = lock(folder).map_err(at(folder))?;
        let (restored, running) = restore_left_over(folder, processes, kernel).map_err(at(folder))?;
        if !running.is_empty() {
            return Err(StateError::Busy(running));
        }
        let process = std::process::id();
        let key =
            processes.key(process, process).and_then(|key| key.ok_or_else(|| io::ErrorKind::NotFound.into()));
        let key = key.map_err(at(processes.root()))?;
        let path = folder.join(format!("{}{process}-{}{}", NAME.0, key.started, NAME.1));
        let file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(at(&path))?;
        let boot = processes.boot_id().map_err(at(processes.root()))?;
        let mut made = StateFile { path, file, length: 0 };
        let line = Line::Tool { key, boot, namespace: processes.namespace() };
        made.append(&line).map_err(at(&made.path.clone()))?;
        Ok((made, restored))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes down the scheduling that a thread has, before the first change of it.
    ///
    /// # Errors
    /// If the line cannot be written, or if the file would exceed [`BYTES_MAX`]; the thread must then not be changed.
    pub fn note_thread(&mut self, key: ThreadKey, before: Setting) -> io::Result<()> {
        self.append(&Line::Thread { key, before })
    }

    /// Writes down the number that a setting of the kernel has, before it is changed.
    ///
    /// # Errors
    /// As for [`note_thread`](Self::note_thread).
    pub fn note_kernel(&mut self, path: &Path, before: i64) -> io::Result<()> {
        self.append(&Line::Kernel { path: path.to_owned(), before })
    }

    /// Writes down a control group, before it is made, and the group to which its threads will go back. A group above
    /// others is written down before them.
    ///
    /// # Errors
    /// As for [`note_thread`](Self::note_thread).
    pub fn note_group(&mut self, folder: &Path, home: &Group) -> io::Result<()> {
        self.append(&Line::Group { folder: folder.to_owned(), home: home.clone() })
    }

    /// Writes down the file that gives the controller cpu to groups below, before it is switched on.
    ///
    /// # Errors
    /// As for [`note_thread`](Self::note_thread).
    pub fn note_controller(&mut self, path: &Path) -> io::Result<()> {
        self.append(&Line::Controller { path: path.to_owned() })
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        let length = self.length + text.len() as u64;
        if length > BYTES_MAX {
            let message =
                format!("the state file would have more than {BYTES_MAX} bytes: start the tool again");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            // Half a line would make the next one unreadable.
            self.file.set_len(self.length)?;
            return Err(error);
        }
        self.length = length;
        Ok(())
    }
}

/// Takes the lock of a folder of state files, until the file is dropped. The folder must be this user's alone. Waits for
/// at most [`LOCK_PATIENCE`], since the process that holds the lock may be stopped.
fn lock(folder: &Path) -> io::Result<File> {
    lock_within(LOCK_PATIENCE, folder)
}

fn lock_within(patience: Duration, folder: &Path) -> io::Result<File> {
    own(&fs::symlink_metadata(folder)?, |kind| kind.is_dir())?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let file = options.open(folder.join(LOCK))?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if began.elapsed() < patience => thread::sleep(LOCK_PAUSE),
            Err(TryLockError::WouldBlock) => {
                let message = "another process holds the lock of the folder and does not give it back";
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
        }
    }
}

/// Refuses a file that is of another kind, belongs to another user, or may be written by others.
fn own(metadata: &fs::Metadata, is_right_kind: impl Fn(fs::FileType) -> bool) -> io::Result<()> {
    let user = fs::metadata("/proc/self")?.uid();
    let refused = if !is_right_kind(metadata.file_type()) {
        "it is of another kind"
    } else if metadata.uid() != user {
        "it belongs to another user"
    } else if metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        "other users may write it"
    } else {
        return Ok(());
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("not trusted: {refused}")))
}

/// The lines of a state file, and what of it could not be read.
struct Content {
    lines: Vec<Line>,
    failures: Vec<String>,
}

impl Content {
    /// Reads a state file. A last line without an end was being written when the tool was killed; the change that it
    /// names was not made.
    fn read(path: &Path) -> io::Result<Content> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        own(&file.metadata()?, |kind| kind.is_file())?;
        let (mut text, mut failures) = (String::new(), Vec::new());
        if file.take(BYTES_MAX + 1).read_to_string(&mut text)? as u64 > BYTES_MAX {
            failures.push(format!("{}: longer than {BYTES_MAX} bytes", path.display()));
        }
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let mut lines = Vec::new();
        for line in whole.lines() {
            match serde_json::from_str(line) {
                Ok(line) => lines.push(line),
                Err(error) => failures.push(format!("{}: {error}: {line:.80}", path.display())),
            }
        }
        Ok(Content { lines, failures })
    }

    /// Returns where and when the file was written.
    fn origin(&self, processes: &Processes) -> io::Result<Origin> {
        let (now, here) = (processes.boot_id()?, processes.namespace());
        let of_tool = |line: &Line| match line {
            Line::Tool { key, boot, namespace } if *boot == now => {
                Some(if *namespace == here { Origin::Here(*key) } else { Origin::OtherNamespace })
            }
            _ => None,
        };
        Ok(self.lines.iter().find_map(of_tool).unwrap_or(Origin::EarlierStart))
    }
}

/// Where and when a state file was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    /// At this start of the machine, in the namespace of this process, by this tool.
    Here(ThreadKey),
    /// At this start of the machine, in a namespace in which numbers of threads mean others.
    OtherNamespace,
    /// At an earlier start of the machine, or by a tool that was killed before it wrote anything.
    EarlierStart,
}

/// Undoes what the state file at `path` names, and leaves the file as it is. Nothing is undone if the file is of an
/// earlier start of the machine, or of another namespace.
///
/// # Errors
/// If the file cannot be read or is not trusted.
pub fn undo(path: &Path, part: Part, processes: &Processes, kernel: &impl Kernel) -> io::Result<Restored> {
    let content = Content::read(path)?;
    let mut restored = Restored { failures: content.failures.clone(), ..Restored::default() };
    let Origin::Here(tool) = content.origin(processes)? else { return Ok(restored) };
    // A group cannot lose its real-time budget while one of its threads is real-time, nor a controller that is in use.
    let place = |line: &Line| match line {
        Line::Thread { .. } => 0,
        // A thread joins the kernel's group of its session when it is moved, if these groups are on by then.
        Line::Kernel { path, .. } if path.ends_with(groups::SESSIONS) => 1,
        Line::Group { .. } => 2,
        Line::Tool { .. } | Line::Kernel { .. } | Line::Controller { .. } => 3,
    };
    let mut lines: Vec<&Line> = content.lines.iter().rev().collect();
    lines.sort_by_key(|line| place(line));
    for line in lines {
        match line {
            Line::Tool { .. } => {}
            Line::Kernel { .. } | Line::Controller { .. } if part == Part::Threads => {}
            Line::Group { folder, home } => {
                let group = Group { folder: folder.clone(), version: home.version };
                match shares::leave(&group, home, part, kernel) {
                    Ok(moved) => {
                        restored.threads += moved;
                        restored.settings += u64::from(part == Part::All);
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => restored.ended += 1,
                    Err(error) => restored.failures.push(format!("control group: {error}")),
                }
            }
            Line::Controller { path } => {
                restored.add_setting(path, write_setting(path, shares::WITHOUT_CONTROLLER));
            }
            Line::Kernel { path, before } => restored.add_setting(path, write_setting(path, *before)),
            Line::Thread { key, before } => {
                restored.add_thread(*key, put_back(*key, *before, processes, kernel));
            }
        }
    }
    let noted = content.lines.iter().filter_map(|line| match line {
        Line::Thread { key, .. } => Some(*key),
        _ => None,
    });
    put_back_children(&noted.collect(), tool, (processes, kernel), &mut restored);
    Ok(restored)
}

/// Gives threads that the noted threads have started the nice value of the first thread of their process. The kernel takes
/// real-time priorities and nice values below 0 from such threads, but leaves them a nice value above 0.
///
/// A thread counts as one of these if it is of a process with noted threads, began after the tool, and has a greater nice
/// value than the first thread. It may be noted itself, with the value that it had inherited when the tool first changed it. A process that is younger than its noted threads has the number of another one.
fn put_back_children(
    noted: &BTreeSet<ThreadKey>,
    tool: ThreadKey,
    (processes, kernel): (&Processes, &impl Kernel),
    restored: &mut Restored,
) {
    let numbers: BTreeSet<u32> = noted.iter().map(|key| key.process).collect();
    for process in numbers {
        let (Ok(Some(first)), Ok(usual)) = (processes.key(process, process), kernel.setting(process)) else {
            continue;
        };
        if noted.iter().any(|key| key.process == process && key.started < first.started) {
            continue;
        }
        for thread in processes.threads(process).unwrap_or_default() {
            let (Ok(Some(key)), Ok(now)) = (processes.key(process, thread), kernel.setting(thread)) else {
                continue;
            };
            let is_child = tool.started <= key.started;
            if is_child && now.class == usual.class && usual.nice.max(0) < now.nice {
                let usual = Setting { nice: usual.nice, ..now };
                restored.add_thread(key, put_back(key, usual, processes, kernel));
            }
        }
    }
}

/// Writes the number or the word of a setting of the kernel, whose file must exist.
pub(crate) fn write_setting(path: &Path, setting: impl fmt::Display) -> io::Result<()> {
    OpenOptions::new().write(true).truncate(true).open(path)?.write_all(setting.to_string().as_bytes())
}

/// Undoes what the state file at `path` names, and removes the file unless something could not be put back. The file may
/// be gone already, which is no error.
///
/// # Errors
/// If the file cannot be read or removed, or is not trusted.
pub fn restore(path: &Path, processes: &Processes, kernel: &impl Kernel) -> io::Result<Restored> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let _lock = lock(folder)?;
    match restore_locked(path, processes, kernel) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Restored::default()),
        outcome => outcome,
    }
}

fn restore_locked(path: &Path, processes: &Processes, kernel: &impl Kernel) -> io::Result<Restored> {
    let restored = undo(path, Part::All, processes, kernel)?;
    if restored.failures.is_empty() {
        fs::remove_file(path)?;
    }
    Ok(restored)
}

/// Restores what tools that have ended left behind in `folder`: their state files. Those of tools that still run, and
/// those of other namespaces, are left alone. Returns the processes of the tools that run as the second value. A file
/// that cannot be read or is not trusted is told among the failures.
///
/// # Errors
/// If the folder cannot be read. A folder that is missing has no state files.
fn restore_left_over(
    folder: &Path,
    processes: &Processes,
    kernel: &impl Kernel,
) -> io::Result<(Restored, Vec<u32>)> {
    let (mut all, mut running) = (Restored::default(), Vec::new());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !(name.starts_with(NAME.0) && name.ends_with(NAME.1)) {
            continue;
        }
        let restored = (|| {
            match Content::read(&path)?.origin(processes)? {
                Origin::OtherNamespace => return Ok(Restored::default()),
                Origin::Here(tool) if processes.lives(tool)? => {
                    running.push(tool.process);
                    return Ok(Restored::default());
                }
                Origin::Here(_) | Origin::EarlierStart => {}
            }
            restore_locked(&path, processes, kernel)
        })();
        match restored {
            Ok(restored) => all.add(restored),
            Err(error) => all.failures.push(format!("{}: {error}", path.display())),
        }
    }
    Ok((all, running))
}

/// Restores what tools that have ended left behind in `folder`, as a start of the tool does. Returns the processes of
/// the tools that run as the second value.
///
/// # Errors
/// If the folder is not this user's alone. A folder that is missing has no state files.
pub fn restore_all(
    folder: &Path,
    processes: &Processes,
    kernel: &impl Kernel,
) -> io::Result<(Restored, Vec<u32>)> {
    match lock(folder) {
        Ok(_lock) => restore_left_over(folder, processes, kernel),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((Restored::default(), Vec::new())),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
