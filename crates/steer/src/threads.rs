//! Threads of running processes, as `/proc` shows them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A thread of this machine. Numbers of threads are used again after a thread has ended, so the time of its start
/// belongs to its identity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct ThreadKey {
    /// Number of the process.
    pub process: u32,
    /// Number of the thread.
    pub thread: u32,
    /// Start of the thread in clock ticks since the machine was started.
    pub started: u64,
}

/// A view of the processes of a machine, by a folder such as `/proc`.
#[derive(Clone, Debug)]
pub struct Processes {
    root: PathBuf,
}

impl Default for Processes {
    fn default() -> Self {
        Processes::at("/proc")
    }
}

impl Processes {
    /// Makes a view by another folder that is laid out as `/proc` is.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Processes { root: root.into() }
    }

    /// Returns the folder from which processes and threads are read, such as `/proc`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the identity of the calling thread.
    ///
    /// # Errors
    /// If the folder does not tell it.
    pub fn own_thread(&self) -> io::Result<ThreadKey> {
        let link = fs::read_link(self.root.join("thread-self"))?;
        let number = link.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
        let key = number.map_or(Ok(None), |number| self.key(std::process::id(), number))?;
        key.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("own thread: {}", link.display())))
    }

    /// Returns the text of the list of mounted file systems; empty if there is none.
    pub fn mounts(&self) -> String {
        fs::read_to_string(self.root.join("mounts")).unwrap_or_default()
    }

    /// Returns the boot id: a text that the machine draws at random at each start.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn boot_id(&self) -> io::Result<String> {
        Ok(fs::read_to_string(self.root.join("sys/kernel/random/boot_id"))?.trim().to_owned())
    }

    /// Returns the name of the namespace in which this process sees the numbers of processes; empty if it has none.
    pub fn namespace(&self) -> String {
        let link = fs::read_link(self.root.join("self/ns/pid"));
        link.map_or(String::new(), |link| link.to_string_lossy().into_owned())
    }

    /// Returns the numbers of the threads of a process, in rising order.
    ///
    /// # Errors
    /// If there is no such process, or if it ends meanwhile.
    pub fn threads(&self, process: u32) -> io::Result<Vec<u32>> {
        let entries = fs::read_dir(self.root.join(process.to_string()).join("task"))?;
        let mut threads = Vec::new();
        for entry in entries {
            threads.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
        }
        threads.sort_unstable();
        Ok(threads)
    }

    /// Returns the identity of a thread; `None` if there is no such thread, or if it has ended and was not yet removed.
    ///
    /// # Errors
    /// If the thread cannot be looked at for another reason, such as a lack of open files.
    pub fn key(&self, process: u32, thread: u32) -> io::Result<Option<ThreadKey>> {
        let text = match fs::read_to_string(self.task(process, thread).join("stat")) {
            Ok(text) => text,
            Err(error) if is_gone(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some((state, started)) = state_and_start(&text) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("stat of thread {thread}: {text}"),
            ));
        };
        Ok(if ["Z", "X"].contains(&state) { None } else { Some(ThreadKey { process, thread, started }) })
    }

    /// Returns true if the thread of this identity still runs.
    ///
    /// # Errors
    /// As for [`key`](Self::key).
    pub fn lives(&self, key: ThreadKey) -> io::Result<bool> {
        Ok(self.key(key.process, key.thread)? == Some(key))
    }

    /// Returns the name of a thread as the kernel has it, at most 15 bytes; `None` if there is no such thread.
    pub fn name(&self, process: u32, thread: u32) -> Option<String> {
        let text = fs::read(self.task(process, thread).join("comm")).ok()?;
        Some(String::from_utf8_lossy(&text).trim_end_matches('\n').to_owned())
    }

    /// Returns the time in ns for which a thread has run on a core; `None` if there is no such thread, or if the kernel
    /// does not count it.
    pub fn cpu_ns(&self, process: u32, thread: u32) -> Option<u64> {
        let text = fs::read_to_string(self.task(process, thread).join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    }

    /// Returns the number of a thread within the innermost namespace of its process, such as a container; it is the
    /// number itself where there is none. `None` if there is no such thread.
    pub fn inner_number(&self, process: u32, thread: u32) -> Option<u32> {
        let status = fs::read_to_string(self.task(process, thread).join("status")).ok()?;
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        numbers.map_or(Some(thread), |numbers| numbers.split_whitespace().last()?.parse().ok())
    }

    fn task(&self, process: u32, thread: u32) -> PathBuf {
        self.root.join(process.to_string()).join("task").join(thread.to_string())
    }

    /// Returns the numbers of all processes, in rising order.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn numbers(&self) -> io::Result<Vec<u32>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            numbers.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Returns the arguments with which a process was started, its program first. The list is empty for a thread of the
    /// kernel, for a process that has ended, and for one whose arguments may not be seen.
    pub fn arguments(&self, process: u32) -> Vec<String> {
        let text = fs::read(self.process(process).join("cmdline")).unwrap_or_default();
        let text = text.strip_suffix(b"\0").unwrap_or(&text);
        if text.is_empty() {
            return Vec::new();
        }
        text.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned()).collect()
    }

    /// Returns the effective user of a process; `None` if there is no such process.
    pub fn effective_user(&self, process: u32) -> Option<u32> {
        self.status(process, "Uid:")?.split_whitespace().nth(1)?.parse().ok()
    }

    /// Returns true if a process has a function of its own for a signal. Other signals may end it.
    pub fn handles(&self, process: u32, signal: u32) -> bool {
        let mask = self.status(process, "SigCgt:").and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        let bit = signal.checked_sub(1).and_then(|place| 1_u64.checked_shl(place));
        mask.zip(bit).is_some_and(|(mask, bit)| mask & bit != 0)
    }

    fn process(&self, process: u32) -> PathBuf {
        self.root.join(process.to_string())
    }

    /// Returns the text behind the name of a field in `/proc/PID/status`.
    fn status(&self, process: u32, field: &str) -> Option<String> {
        let status = fs::read(self.process(process).join("status")).ok()?;
        let status = String::from_utf8_lossy(&status);
        status.lines().find_map(|line| line.strip_prefix(field)).map(str::to_owned)
    }
}

/// Returns true if an error says that a thread has ended: its folder is gone, or it ended while it was read.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// Reads the state and the start of a thread from its `stat` line. The second field is a name in parentheses, which may
/// contain spaces and parentheses, so fields are counted behind the last one. The state is the third field and the start
/// the 22nd: `proc(5)`.
fn state_and_start(stat: &str) -> Option<(&str, u64)> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    let mut fields = behind_name.split_whitespace();
    Some((fields.next()?, fields.nth(18)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Machine;

    #[test]
    fn state_and_start_are_found_behind_any_name() {
        let fields = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 987654 20 21";
        for name in ["java", "a b", "x) y (z)", "", "))) 1 2 3"] {
            assert_eq!(state_and_start(&format!("77 ({name}) {fields}")), Some(("S", 987_654)), "{name}");
        }
        let short = "77 (java) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18";
        for broken in ["", "77", "77 (java", "77 (java) S 1 2", short, &format!("{short} x")] {
            assert_eq!(state_and_start(broken), None, "{broken}");
        }
    }

    /// A thread that has ended and was not yet removed does not live. One that cannot be looked at is an error.
    #[test]
    fn ended_threads_have_no_identity() {
        let machine = Machine::new();
        let key = machine.begin(70, 71, 5);
        let stat = machine.processes.root().join("70/task/71/stat");
        let text = fs::read_to_string(&stat).unwrap();
        for state in ["Z", "X"] {
            fs::write(&stat, text.replace(" S ", &format!(" {state} "))).unwrap();
            assert_eq!(machine.processes.key(70, 71).unwrap(), None);
        }
        fs::write(&stat, "nonsense").unwrap();
        assert!(machine.processes.lives(key).is_err());
        fs::remove_file(&stat).unwrap();
        assert!(!machine.processes.lives(key).unwrap());
    }

    /// Another thread of this process is found, with its name and number, and keeps its identity until it ends.
    #[test]
    fn own_threads_are_seen() {
        let processes = Processes::default();
        let process = std::process::id();
        let (told, seen) = std::sync::mpsc::channel();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let body = move || {
            let link = fs::read_link("/proc/thread-self").unwrap();
            told.send(link.file_name().unwrap().to_str().unwrap().parse::<u32>().unwrap()).unwrap();
            let _ended = wait.recv();
        };
        let other =
            std::thread::Builder::new().name("a (long) name of a thread".to_owned()).spawn(body).unwrap();
        let thread = seen.recv().unwrap();
        assert!(processes.threads(process).unwrap().contains(&thread));
        assert_eq!(processes.name(process, thread).as_deref(), Some("a (long) name o"));
        let key = processes.key(process, thread).unwrap().unwrap();
        assert!(processes.lives(key).unwrap());
        assert!(!processes.lives(ThreadKey { started: key.started + 1, ..key }).unwrap());
        assert!(processes.inner_number(process, thread).is_some());
        assert_eq!(processes.boot_id().unwrap().len(), 36);
        assert!(processes.namespace().starts_with("pid:["));
        drop(go);
        other.join().unwrap();
        // The kernel may need a moment to remove an ended thread.
        for _ in 0..10_000 {
            if !processes.lives(key).unwrap() {
                break;
            }
            std::thread::yield_now();
        }
        assert_eq!((processes.key(process, thread).unwrap(), processes.lives(key).unwrap()), (None, false));
        assert!(processes.threads(u32::MAX).is_err());
    }
}
