//! Scheduling of the threads of a process, as the kernel shows it in `/proc` and in the files of control groups.
//!
//! It is read here without the code of `thalweg`, so it can tell whether that code does what it says.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

/// Places of numbers in `/proc/PID/task/TID/stat`, counted from the state, which is behind the name of the thread: the nice
/// value, the start time, the real-time priority and the policy.
const PLACES: [usize; 4] = [16, 19, 37, 38];

/// A thread by its number and its start time in ticks of the kernel's clock, since the kernel reuses numbers.
pub(super) type Key = (u32, i64);

/// Scheduling of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scheduling {
    /// Nice value, from -20 to 19.
    pub(super) nice: i64,
    /// Number of the policy: 0 for the usual one, 2 for SCHED_RR.
    pub(super) policy: i64,
    /// Real-time priority from 1 to 99; 0 for a thread of the usual policy.
    pub(super) priority: i64,
    /// Path of the control group of the controller `cpu`, such as `/flink`; empty where the kernel tells none.
    pub(super) group: String,
}

/// Returns the threads of a process. A thread that ends meanwhile is left out.
///
/// # Errors
///
/// A process that has ended.
pub(super) fn of_process(process: u32) -> Result<BTreeMap<Key, Scheduling>> {
    let folder = format!("/proc/{process}/task");
    let entries = fs::read_dir(&folder).with_context(|| format!("could not read {folder}"))?;
    let mut threads = BTreeMap::new();
    for entry in entries {
        let entry = entry?;
        let text = |name: &str| fs::read_to_string(entry.path().join(name)).ok();
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let (Some(number), Some(stat), Some(groups)) = (number, text("stat"), text("cgroup"))
            && let Some([nice, started, priority, policy]) = parsed(&stat)
        {
            let group = cpu_group(&groups).to_owned();
            threads.insert((number, started), Scheduling { nice, policy, priority, group });
        }
    }
    if threads.is_empty() {
        bail!("process {process} has no threads");
    }
    Ok(threads)
}

/// Reads the numbers of [`PLACES`] from the text of a thread's `stat`. The thread's name, in parentheses, may have blanks and
/// parentheses.
fn parsed(stat: &str) -> Option<[i64; 4]> {
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split_whitespace().collect();
    let [nice, started, priority, policy] = PLACES.map(|place| fields.get(place)?.parse().ok());
    Some([nice?, started?, priority?, policy?])
}

/// Returns the path of the control group of the controller `cpu` from the text of a thread's `cgroup`: of version 1 if it has
/// this controller, else of version 2.
fn cpu_group(text: &str) -> &str {
    let group_of = |is_meant: &dyn Fn(&str) -> bool| {
        text.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            is_meant(controllers).then_some(path)
        })
    };
    let is_cpu = |controllers: &str| controllers.split(',').any(|name| name == "cpu");
    group_of(&is_cpu).or_else(|| group_of(&str::is_empty)).unwrap_or_default()
}

/// The place where the groups of the controller `cpu` are mounted, and the name of their file of shares.
pub(super) struct Mount {
    folder: PathBuf,
    file: &'static str,
}

impl Mount {
    /// Finds the mounted file system.
    ///
    /// # Errors
    ///
    /// A machine without control groups.
    pub(super) fn find() -> Result<Self> {
        let text = fs::read_to_string("/proc/self/mounts").context("could not read the list of mounts")?;
        Self::parsed(&text).context("no control groups of the controller cpu are mounted")
    }

    fn parsed(text: &str) -> Option<Self> {
        let mounted = |wanted: &str, option: &str, file: &'static str| {
            text.lines().find_map(|line| {
                let [_, folder, kind, options, ..] = line.split(' ').collect::<Vec<_>>()[..] else {
                    return None;
                };
                let is_it = kind == wanted && options.split(',').any(|known| known == option);
                is_it.then(|| Self { folder: folder.into(), file })
            })
        };
        mounted("cgroup", "cpu", "cpu.shares").or_else(|| mounted("cgroup2", "rw", "cpu.weight"))
    }

    /// Returns the folder of a group.
    pub(super) fn folder(&self, group: &str) -> PathBuf {
        self.folder.join(group.trim_start_matches('/'))
    }

    /// Returns the shares of a group; `None` if the group is gone.
    pub(super) fn shares(&self, group: &str) -> Option<i64> {
        fs::read_to_string(self.folder(group).join(self.file)).ok()?.trim().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stats_are_parsed_behind_the_name() {
        // Fields 3 to 52 of proc(5): the state, then numbers. The nice value is field 19, the start time field 22, the real-time
        // priority field 40, and the policy field 41.
        let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let stat = format!("7 (a) b (c)) {}\n", fields.join(" "));
        assert_eq!(parsed(&stat), Some([19, 22, 40, 41]));
        assert_eq!(parsed("7 (a) S 1"), None);
        assert_eq!(parsed(""), None);
    }

    #[test]
    fn groups_are_those_of_the_controller_cpu() {
        assert_eq!(cpu_group("8:pids:/no\n2:cpuacct:/no\n1:cpuset,cpu:/flink\n0::/no\n"), "/flink");
        assert_eq!(cpu_group("8:pids:/no\n0::/user.slice/a:b\n"), "/user.slice/a:b");
        assert_eq!(cpu_group("nonsense"), "");
        let second = "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n";
        let first = format!(
            "cgroup /sys/fs/cgroup/acct cgroup rw,cpuacct 0 0\n{second}cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"
        );
        let shares = |text: &str| Mount::parsed(text).map(|mount| mount.folder("/flink").join(mount.file));
        assert_eq!(shares(&first), Some("/sys/fs/cgroup/cpu/flink/cpu.shares".into()));
        assert_eq!(shares(second), Some("/sys/fs/cgroup/unified/flink/cpu.weight".into()));
        assert_eq!(shares("tmpfs / tmpfs rw 0 0\n"), None);
    }

    #[test]
    fn own_threads_are_seen() {
        let seen = of_process(std::process::id()).unwrap();
        assert!(seen.values().all(|thread| (-20..=19).contains(&thread.nice)), "{seen:?}");
        assert!(seen.keys().any(|(number, _)| *number == std::process::id()), "{seen:?}");
    }
}
