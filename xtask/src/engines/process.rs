//! Processes as the kernel shows them in `/proc`: their cores, their CPU time, and the settings of their threads.

use std::fs;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

/// Core of the engine under test.
pub(super) const UNDER_TEST: u32 = 0;
/// Core of everything else.
pub(super) const OTHERS: u32 = 1;

/// Units of CPU time in `/proc/PID/stat` in a second. Linux shows this number to programs on all machines.
const TICKS_PER_S: f64 = 100.0;
/// Places of fields of `/proc/PID/stat` behind the name, counted from 0: parent, own CPU time in user and system mode, the
/// same of children that have ended, nice value and scheduling policy.
const PARENT: usize = 1;
const OWN_TIME: [usize; 2] = [11, 12];
const CHILD_TIME: [usize; 2] = [13, 14];
const NICE: usize = 16;
const POLICY: usize = 38;

/// Fields of a process or thread in its `stat`, behind the name.
struct Stat(Vec<i64>);

impl Stat {
    /// Reads the text of a `stat`. The name stands in parentheses and may have blanks and parentheses. The state, which is a
    /// letter, counts as 0.
    fn parsed(text: &str) -> Option<Self> {
        let fields = text.rsplit_once(") ")?.1.split_whitespace();
        let fields: Vec<i64> = fields.map(|field| field.parse().unwrap_or(0)).collect();
        (POLICY < fields.len()).then_some(Self(fields))
    }

    /// Reads the `stat` of a process; `None` if it has ended.
    fn of(process: u32) -> Option<Self> {
        Self::parsed(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
    }

    fn seconds(&self, places: &[usize]) -> f64 {
        places.iter().map(|place| self.0[*place] as f64).sum::<f64>() / TICKS_PER_S
    }
}

/// Returns the CPU time of a process so far, in seconds; `None` if it has ended.
pub(super) fn cpu_s(process: u32) -> Option<f64> {
    Some(Stat::of(process)?.seconds(&OWN_TIME))
}

/// Returns the CPU time of a process and of its children so far, in seconds; `None` if it has ended.
pub(super) fn family_cpu_s(process: u32) -> Option<f64> {
    let own = Stat::of(process)?;
    let is_child = |stat: &Stat| stat.0[PARENT] == i64::from(process);
    let times = |stat: &Stat| stat.seconds(&OWN_TIME) + stat.seconds(&CHILD_TIME);
    let children =
        numbers("/proc").filter_map(Stat::of).filter(is_child).map(|stat| times(&stat)).sum::<f64>();
    Some(times(&own) + children)
}

/// Returns the nice value of this process, which the processes that it starts inherit; 0 if it is not known.
pub(super) fn own_nice() -> i64 {
    Stat::of(std::process::id()).map_or(0, |Stat(fields)| fields[NICE])
}

/// Returns the threads of a process whose scheduling policy is not that of new threads, or whose nice value is not the
/// `inherited` one, as text; empty if there are none.
pub(super) fn changed_threads(process: u32, inherited: i64) -> Vec<String> {
    let threads = numbers(&format!("/proc/{process}/task"));
    let told = threads.filter_map(|thread| {
        let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/stat")).ok()?;
        let Stat(fields) = Stat::parsed(&text)?;
        let (nice, policy) = (fields[NICE], fields[POLICY]);
        (nice != inherited || policy != 0)
            .then(|| format!("thread {thread} has nice value {nice} and policy {policy}"))
    });
    told.collect()
}

/// Returns the numbers among the names of a folder's entries.
fn numbers(folder: &str) -> impl Iterator<Item = u32> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Leaves one core to a process and to all its threads, unless all have this core alone already.
///
/// # Errors
///
/// When `taskset` is missing or refused, and the process has not ended.
pub(super) fn pin(process: u32, core: u32) -> Result<()> {
    if is_pinned(process, core) {
        return Ok(());
    }
    let arguments = ["-a", "-c", "-p", &core.to_string(), &process.to_string()];
    let told = Command::new("taskset").args(arguments).output().context("could not start taskset")?;
    // A thread may end before taskset comes to it, which is an error to taskset. The next call finds what it has left.
    if !told.status.success() && !is_pinned(process, core) && Stat::of(process).is_some() {
        let said = String::from_utf8_lossy(&told.stderr);
        if !said.contains("No such process") {
            bail!("process {process} cannot have core {core} alone: {}", said.trim());
        }
    }
    Ok(())
}

/// Returns true if each thread of a process may run on this core only.
pub(super) fn is_pinned(process: u32, core: u32) -> bool {
    let folder = format!("/proc/{process}/task");
    let mut statuses =
        numbers(&folder).filter_map(|thread| fs::read_to_string(format!("{folder}/{thread}/status")).ok());
    statuses.all(|status| allowed(&status) == Some(&core.to_string()))
}

/// Returns the list of cores in the text of a thread's `status`, such as `0-1`.
fn allowed(status: &str) -> Option<&str> {
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map(str::trim)
}

/// Returns the time of the system's clock in seconds, for comparison with other such times.
pub(super) fn now_s() -> f64 {
    seconds_of(SystemTime::now())
}

/// Returns a time of the system's clock in seconds since 1970.
pub(super) fn seconds_of(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of `/proc/PID/stat` whose name has a blank and a parenthesis: parent 1, CPU times 150, 50, 10 and 20, nice value
    /// -5, policy 2.
    const LINE: &str = "7 (a) b) S 1 7 7 0 -1 4194560 9 0 0 0 150 50 10 20 20 -5 3 0 9 100 5 18446744073709551615 0 0 0 0 0 0 \
                        0 0 0 0 0 0 17 0 40 2 0 0 0 0 0 0 0 0 0 0 0";

    #[test]
    fn stats_are_read_behind_the_name() {
        let stat = Stat::parsed(LINE).unwrap();
        assert_eq!((stat.0[PARENT], stat.0[NICE], stat.0[POLICY]), (1, -5, 2));
        assert_eq!((stat.seconds(&OWN_TIME), stat.seconds(&CHILD_TIME)), (2.0, 0.3));
        assert!(Stat::parsed("7 (a) S 1 2").is_none() && Stat::parsed("").is_none());
    }

    #[test]
    fn own_process_is_seen() {
        let own = std::process::id();
        assert!(cpu_s(own) <= family_cpu_s(own));
        assert_eq!(cpu_s(u32::MAX), None);
    }

    #[test]
    fn changed_threads_are_told() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        assert_eq!(changed_threads(child.id(), own_nice()), Vec::<String>::new());
        let told = changed_threads(child.id(), own_nice() - 1);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(told[0].contains("has nice value") && told[0].ends_with("and policy 0"), "{told:?}");
    }

    #[test]
    fn cores_are_read() {
        assert_eq!(
            allowed("Name:\tjava\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\nMems:\t0\n"),
            Some("0-1")
        );
        assert_eq!(allowed("Name:\tjava\n"), None);
    }
}
