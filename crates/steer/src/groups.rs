//! Control groups and other files of the kernel that the translators need: the real-time budget of a group, the time
//! slice of real-time threads, and the switch by which nice values act within a session only.
//!
//! Every change is written into the state file before it is made.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::state_file::{StateFile, write_setting};
use crate::threads::{Processes, ThreadKey};

/// Real-time budget of a group in per cent of each period: as in Lachesis' scripts, so that a machine whose real-time
/// threads never wait can still be used.
pub const BUDGET_PERCENT: i64 = 95;

/// Time slice in ms after which a thread of SCHED_RR gives way to others of its priority: 25 ms, as on the machine of
/// the Lachesis paper of 2023.
pub const SLICE_MS: i64 = 25;

/// Name of the setting of Linux by which the kernel makes a scheduling group of each terminal session (autogroup).
pub(crate) const SESSIONS: &str = "sched_autogroup_enabled";

/// Version of control groups.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Version {
    /// Version 1: each controller has a tree of its own.
    One,
    /// Version 2: one tree for all controllers.
    Two,
}

/// A control group of the controller `cpu`, which divides CPU time among groups.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Group {
    /// Folder of the group.
    pub folder: PathBuf,
    /// Version of control groups to which the group belongs.
    pub version: Version,
}

/// The real-time budget of a control group: the time of each period in which its real-time threads may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Budget {
    /// The kernel has no real-time budgets of groups.
    Unknown,
    /// The group had a budget without a bound already.
    Unbounded,
    /// The group had a budget already, of so many µs of each period.
    Had(i64),
    /// The group had no budget and was given one, of so many µs of each period.
    Given(i64),
}

impl Group {
    /// Finds the group of a process. `mounts` is the text of `/proc/mounts`.
    ///
    /// # Errors
    /// If there is no such process, or if no tree with the controller is mounted.
    pub fn of_process(processes: &Processes, mounts: &str, process: u32) -> io::Result<Group> {
        let file = processes.root().join(process.to_string()).join("cgroup");
        let found = Group::of_paths(&fs::read_to_string(file)?, mounts);
        found.ok_or_else(|| none_of(format_args!("process {process}")))
    }

    /// Finds the group of a thread, which may be another one than that of its process.
    ///
    /// # Errors
    /// As for [`of_process`](Self::of_process).
    pub fn of_thread(processes: &Processes, mounts: &str, key: ThreadKey) -> io::Result<Group> {
        let ThreadKey { process, thread, .. } = key;
        let file = processes.root().join(format!("{process}/task/{thread}/cgroup"));
        let found = Group::of_paths(&fs::read_to_string(file)?, mounts);
        found.ok_or_else(|| none_of(format_args!("thread {thread} of process {process}")))
    }

    /// Finds the group of the controller `cpu` by the text of `/proc/PID/cgroup`, which has a path for each tree of
    /// groups.
    fn of_paths(text: &str, mounts: &str) -> Option<Group> {
        let paths = text.lines().filter_map(|line| {
            let (_, rest) = line.split_once(':')?;
            rest.split_once(':')
        });
        let mounted = |version: Version| {
            mounts.lines().find_map(|line| {
                let mut fields = line.split_whitespace().skip(1);
                let (point, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
                let is_wanted = match version {
                    Version::One => kind == "cgroup" && options.split(',').any(|option| option == "cpu"),
                    Version::Two => kind == "cgroup2",
                };
                is_wanted.then(|| PathBuf::from(point))
            })
        };
        // A kernel may have both versions. The controller then belongs to version 1.
        for version in [Version::One, Version::Two] {
            let path = paths.clone().find(|(controllers, _)| match version {
                Version::One => controllers.split(',').any(|controller| controller == "cpu"),
                Version::Two => controllers.is_empty(),
            });
            if let (Some((_, path)), Some(point)) = (path, mounted(version)) {
                let path = Path::new(path.trim_start_matches('/'));
                let folder = point.join(path);
                // A group outside the part of the tree that this process can see has a path with `..`.
                let is_seen = path.components().all(|part| part != Component::ParentDir);
                if is_seen && (version == Version::One || has_controller(&folder)) {
                    return Some(Group { folder, version });
                }
            }
        }
        None
    }

    /// Returns the file that has the numbers of the group's threads, and moves a thread here when its number is written.
    pub fn list(&self) -> PathBuf {
        self.folder.join(match self.version {
            Version::One => "tasks",
            Version::Two => "cgroup.threads",
        })
    }

    /// Returns the CPU time in µs that the group may use in a period of `period_us`, by its own limit and those of the
    /// groups above it, on a machine with `cores` cores.
    ///
    /// # Errors
    /// If a limit cannot be read.
    pub fn time_us(&self, cores: u32, period_us: u64) -> io::Result<u64> {
        let mut least_us = period_us.saturating_mul(cores.into());
        for folder in self.folder.ancestors() {
            let group = Group { folder: folder.to_owned(), version: self.version };
            if !group.list().exists() {
                break;
            }
            let Some((limit_us, of_us)) = group.limit()? else { continue };
            let part_us = u128::from(limit_us) * u128::from(period_us) / u128::from(of_us.max(1));
            least_us = least_us.min(u64::try_from(part_us).unwrap_or(u64::MAX));
        }
        Ok(least_us)
    }

    /// Returns the limit of CPU time in µs and its period in µs; `None` if the group has none.
    fn limit(&self) -> io::Result<Option<(u64, u64)>> {
        let (limit, period) = match self.version {
            Version::One => {
                let number = |name: &str| read_number(&self.folder.join(name));
                (number("cpu.cfs_quota_us"), number("cpu.cfs_period_us"))
            }
            Version::Two => {
                let file = self.folder.join("cpu.max");
                (read_number(&file), read_numbers(&file).map(|numbers| numbers[1]))
            }
        };
        match limit {
            Ok(limit_us) => Ok(u64::try_from(limit_us).ok().zip(period?.try_into().ok())),
            // The root group has no limit, and a kernel may have no limits at all.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Gives the group of a process a real-time budget as [`give_budget`](Self::give_budget) does. A process in no group
    /// needs none.
    ///
    /// # Errors
    /// As for [`give_budget`](Self::give_budget).
    pub fn budget_of(process: u32, processes: &Processes, state_file: &mut StateFile) -> io::Result<Budget> {
        match Group::of_process(processes, &processes.mounts(), process) {
            Ok(group) => group.give_budget(state_file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Budget::Unknown),
            Err(error) => Err(error),
        }
    }

    /// Gives the group a real-time budget if it has none. Without one the kernel refuses real-time threads. Call this
    /// before the first thread becomes real-time.
    ///
    /// # Errors
    /// If a file cannot be read or written; the message names the file and the number. The groups above need a budget at
    /// least as large.
    pub fn give_budget(&self, state_file: &mut StateFile) -> io::Result<Budget> {
        let file = self.folder.join("cpu.rt_runtime_us");
        let before = match read_number(&file) {
            Ok(before) => before,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Budget::Unknown),
            Err(error) => return Err(error),
        };
        if before != 0 {
            return Ok(if before < 0 { Budget::Unbounded } else { Budget::Had(before) });
        }
        let budget_us = read_number(&self.folder.join("cpu.rt_period_us"))? * BUDGET_PERCENT / 100;
        set_number(&file, budget_us, state_file)?;
        Ok(Budget::Given(budget_us))
    }
}

/// Returns the error that a process or a thread is in no group of the controller `cpu`.
fn none_of(what: fmt::Arguments<'_>) -> io::Error {
    let text = format!("{what} is in no control group of the controller cpu that can be seen here");
    io::Error::new(io::ErrorKind::NotFound, text)
}

/// Returns the version of control groups to which the controller `cpu` belongs, by the text of the list of mounted file
/// systems.
pub fn version(mounts: &str) -> Version {
    let has_cpu = |line: &str| {
        let mut fields = line.split_whitespace().skip(2);
        fields.next() == Some("cgroup")
            && fields.next().is_some_and(|options| options.split(',').any(|option| option == "cpu"))
    };
    if mounts.lines().any(has_cpu) { Version::One } else { Version::Two }
}

/// Returns the number of cores of the machine; 1 if it does not tell.
pub fn cores(processes: &Processes) -> u32 {
    let text = fs::read_to_string(processes.root().join("stat")).unwrap_or_default();
    let is_core = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
    };
    (text.lines().filter(is_core).count() as u32).max(1)
}

/// Returns true if a group of version 2 has the controller `cpu`.
fn has_controller(folder: &Path) -> bool {
    let controllers = fs::read_to_string(folder.join("cgroup.controllers"));
    controllers.is_ok_and(|controllers| controllers.split_whitespace().any(|name| name == "cpu"))
}

/// Sets the time slice of threads of SCHED_RR, for the whole machine.
///
/// # Errors
/// If the file cannot be read or written.
pub fn set_slice(processes: &Processes, state_file: &mut StateFile) -> io::Result<()> {
    set_number(&processes.root().join("sys/kernel/sched_rr_timeslice_ms"), SLICE_MS, state_file)
}

/// Switches the groups off that the kernel makes of sessions. With them nice values compare threads of one session only,
/// and a tool and an engine that were started from different terminals share the machine evenly. This holds for threads
/// that begin from then on: threads that run already stay in the group of their session until they are moved.
///
/// # Errors
/// If the file cannot be read or written. A kernel without these groups has no such file, which is no error.
pub fn join_sessions(processes: &Processes, state_file: &mut StateFile) -> io::Result<()> {
    match set_number(&processes.root().join("sys/kernel").join(SESSIONS), 0, state_file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

/// Returns the same kind of error with the file, and what was to be done with it, in front of its message.
pub(crate) fn told(act: impl fmt::Display, path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{act} {}: {error}", path.display()))
}

/// Returns the first number of a file of the kernel, such as a limit of a control group.
pub(crate) fn read_number(path: &Path) -> io::Result<i64> {
    Ok(read_numbers(path)?[0])
}

/// Returns the first two numbers of a file of the kernel; the second one is 0 if there is only one. The word `max`, by
/// which version 2 says that there is no limit, is -1, as in version 1.
fn read_numbers(path: &Path) -> io::Result<[i64; 2]> {
    let refused = |error: io::Error| told("read", path, &error);
    let text = fs::read_to_string(path).map_err(refused)?;
    let number = |word: &str| if word == "max" { Ok(-1) } else { word.parse::<i64>() };
    let mut words = text.split_whitespace();
    let mut next = |if_missing: &'static str| number(words.next().unwrap_or(if_missing));
    let numbers = next("").and_then(|first| Ok([first, next("0")?]));
    numbers.map_err(|error| refused(io::Error::new(io::ErrorKind::InvalidData, error)))
}

/// Writes a setting of the kernel, unless it has this number, after its present number has been written down.
fn set_number(path: &Path, number: i64, state_file: &mut StateFile) -> io::Result<()> {
    let before = read_number(path)?;
    if before == number {
        return Ok(());
    }
    state_file.note_kernel(path, before)?;
    write_setting(path, number).map_err(|error| told(format_args!("write {number} to"), path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Machine;
    use crate::state_file;

    const MOUNTS: &str = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
                          cgroup /sys/fs/cgroup/cpuacct cgroup rw,cpuacct 0 0\n\
                          cgroup /sys/fs/cgroup/cpu,cpuset cgroup rw,relatime,cpu,cpuset 0 0\n\
                          cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n";

    /// Checks the folder of the group of a process whose file `cgroup` has this text.
    #[track_caller]
    fn check(cgroup: &str, mounts: &str, expected: Option<(&str, Version)>) {
        let machine = Machine::new();
        machine.begin(70, 70, 1);
        fs::write(machine.processes.root().join("70/cgroup"), cgroup).unwrap();
        let found = Group::of_process(&machine.processes, mounts, 70).ok();
        let expected = expected.map(|(folder, version)| Group { folder: folder.into(), version });
        assert_eq!(found, expected, "{cgroup}");
    }

    #[test]
    fn the_group_of_a_process_is_found_in_both_versions() {
        let one = Some(("/sys/fs/cgroup/cpu,cpuset/flink", Version::One));
        check("4:memory:/other\n2:cpuacct:/no\n1:cpu,cpuset:/flink\n0::/user.slice\n", MOUNTS, one);
        check("1:cpu:/\n0::/\n", MOUNTS, Some(("/sys/fs/cgroup/cpu,cpuset/", Version::One)));
        let machine = Machine::new();
        let root = machine.folder.path().to_str().unwrap();
        let (mounts, folder) = (format!("cgroup2 {root} cgroup2 rw 0 0\n"), format!("{root}/user.slice/a:b"));
        fs::create_dir_all(&folder).unwrap();
        for (controllers, found) in
            [("cpuset memory\n", None), ("cpuset cpu io\n", Some((&*folder, Version::Two)))]
        {
            fs::write(format!("{folder}/cgroup.controllers"), controllers).unwrap();
            check("0::/user.slice/a:b\n", &mounts, found);
        }
        check("1:cpu:/../../flink\n", MOUNTS, None);
        check("1:cpu:/flink\n", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", None);
        check("", MOUNTS, None);
        check("nonsense", "nonsense", None);
        assert!(Group::of_process(&Machine::new().processes, MOUNTS, 70).is_err(), "no such process");
    }

    /// A thread may be in another group than its process.
    #[test]
    fn the_group_of_a_thread_is_found() {
        let machine = Machine::new();
        let key = machine.begin(70, 71, 1);
        fs::write(machine.processes.root().join("70/cgroup"), "1:cpu:/\n").unwrap();
        fs::write(machine.processes.root().join("70/task/71/cgroup"), "1:cpu:/flink\n").unwrap();
        let found = Group::of_thread(&machine.processes, MOUNTS, key).unwrap();
        assert_eq!(found.list(), Path::new("/sys/fs/cgroup/cpu,cpuset/flink/tasks"));
        assert_eq!([version(MOUNTS), version("cgroup2 / cgroup2 rw 0 0")], [Version::One, Version::Two]);
    }

    /// The least part of the machine counts, of the group's own limit and those above it: here 50 ms of 100 ms, and
    /// 300 ms of 200 ms.
    #[test]
    fn the_least_limit_of_a_group_and_those_above_counts() {
        for (group_version, period) in [(Version::One, 100_000), (Version::Two, 50_000)] {
            let machine = Machine::new();
            machine.begin(70, 71, 1);
            let group = machine.mount(group_version, 70);
            let time_us = |cores| group.time_us(cores, period).unwrap();
            let all = period * 4;
            assert_eq!(time_us(4), all);
            let limit = |folder: &Path, limit_us: &str, period_us: &str| match group_version {
                Version::One => {
                    fs::write(folder.join("cpu.cfs_quota_us"), limit_us).unwrap();
                    fs::write(folder.join("cpu.cfs_period_us"), period_us).unwrap();
                }
                Version::Two => fs::write(folder.join("cpu.max"), format!("{limit_us} {period_us}")).unwrap(),
            };
            limit(group.folder.parent().unwrap(), "300000", "200000");
            assert_eq!(time_us(4), all * 3 / 8);
            limit(&group.folder, "50000", "100000");
            assert_eq!([time_us(4), time_us(1)], [all / 8; 2]);
            let unlimited = if group_version == Version::One { "-1" } else { "max" };
            limit(&group.folder, unlimited, "100000");
            assert_eq!([time_us(4), time_us(1)], [all * 3 / 8, all / 4]);
        }
        let machine = Machine::new();
        assert_eq!(cores(&machine.processes), 1);
        let stat = "cpu  1 2\ncpu0 1 1\ncpu1 0 1\nctxt 5\ncpus 2\n";
        fs::write(machine.processes.root().join("stat"), stat).unwrap();
        assert_eq!(cores(&machine.processes), 2);
    }

    /// A group without a budget gets one, which is taken back. One that has a budget, or needs none, is left alone.
    #[test]
    fn a_budget_is_given_where_there_is_none() {
        let machine = Machine::new();
        let mut state_file = machine.state_file();
        let group = Group { folder: machine.folder.path().join("group"), version: Version::One };
        fs::create_dir_all(&group.folder).unwrap();
        assert_eq!(group.give_budget(&mut state_file).unwrap(), Budget::Unknown);
        let file = group.folder.join("cpu.rt_runtime_us");
        fs::write(group.folder.join("cpu.rt_period_us"), "500000\n").unwrap();
        for (before, given, after) in [
            ("700000\n", Budget::Had(700_000), "700000\n"),
            ("-1\n", Budget::Unbounded, "-1\n"),
            ("0\n", Budget::Given(475_000), "475000"),
        ] {
            fs::write(&file, before).unwrap();
            assert_eq!(group.give_budget(&mut state_file).unwrap(), given);
            assert_eq!(fs::read_to_string(&file).unwrap(), after);
        }
        state_file::restore(state_file.path(), &machine.processes, &machine.kernel).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "0");
        fs::write(&file, "much").unwrap();
        let refused = group.give_budget(&mut machine.state_file()).unwrap_err().to_string();
        assert!(refused.starts_with("read ") && refused.contains("cpu.rt_runtime_us: "), "{refused}");
    }

    /// The settings of the whole machine are changed once and put back.
    #[test]
    fn settings_of_the_machine_are_put_back() {
        let machine = Machine::new();
        let folder = machine.processes.root().join("sys/kernel");
        let files = ["sched_rr_timeslice_ms", "sched_autogroup_enabled"].map(|name| folder.join(name));
        let contents = || files.each_ref().map(|file| fs::read_to_string(file).unwrap().trim().to_owned());
        let mut state_file = machine.state_file();
        join_sessions(&machine.processes, &mut state_file).unwrap();
        assert!(set_slice(&machine.processes, &mut state_file).is_err(), "every kernel has this file");
        fs::write(&files[0], "100\n").unwrap();
        fs::write(&files[1], "1\n").unwrap();
        for _ in 0..2 {
            set_slice(&machine.processes, &mut state_file).unwrap();
            join_sessions(&machine.processes, &mut state_file).unwrap();
            assert_eq!(contents(), ["25", "0"]);
        }
        let restored = state_file::restore(state_file.path(), &machine.processes, &machine.kernel).unwrap();
        assert_eq!((restored.settings, contents()), (2, ["100".to_owned(), "1".to_owned()]));
    }
}
