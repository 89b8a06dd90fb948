//! Interface to the operating system: threads, and readings of CPU time, memory and page faults of the
//! process and its threads.
//!
//! These values are read from `/proc` on request, never by a step; steps only read the CPU time of their
//! thread, if it is the [clock of costs](crate::CostClock). If the system does not provide a value, as outside
//! of Linux, the value is missing instead of wrong.

use std::fs::read_to_string;
use std::thread::{Builder, JoinHandle};

use rustix::time::{ClockId, clock_gettime};

use crate::error::PlanError;

/// CPU time, memory and page faults of the process up to one moment. A value is `None` if the system does
/// not tell it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProcessMetrics {
    /// CPU time of all threads of the process, in nanoseconds.
    pub cpu_ns: Option<u64>,
    /// Bytes of memory that the process holds now (resident set size).
    pub rss_bytes: Option<u64>,
    /// The most bytes of memory that the process has held at once since the last call of [`forget_rss_peak`].
    pub rss_peak_bytes: Option<u64>,
    /// Number of page faults that were served without reading from a disk.
    pub page_faults_minor: Option<u64>,
    /// Number of page faults that had to read from a disk.
    pub page_faults_major: Option<u64>,
}

impl ProcessMetrics {
    /// Reads these values of the process from the operating system.
    pub fn now() -> Self {
        let status = read_to_string("/proc/self/status").unwrap_or_default();
        let stat = read_to_string("/proc/self/stat").unwrap_or_default();
        ProcessMetrics {
            cpu_ns: Some(cpu_ns()),
            rss_bytes: status_bytes(&status, "VmRSS:"),
            rss_peak_bytes: status_bytes(&status, "VmHWM:"),
            page_faults_minor: stat_field(&stat, 10),
            page_faults_major: stat_field(&stat, 12),
        }
    }

    /// Returns the CPU time and page faults between `earlier` and this moment. The memory values stay as
    /// they are now.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let used = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        ProcessMetrics {
            cpu_ns: used(self.cpu_ns, earlier.cpu_ns),
            page_faults_minor: used(self.page_faults_minor, earlier.page_faults_minor),
            page_faults_major: used(self.page_faults_major, earlier.page_faults_major),
            ..*self
        }
    }
}

fn cpu_ns() -> u64 {
    used_ns(ClockId::ProcessCPUTime)
}

/// Returns the nanoseconds of CPU time that the calling thread has used.
pub(crate) fn thread_cpu_ns() -> u64 {
    used_ns(ClockId::ThreadCPUTime)
}

/// Reads a clock of CPU time, in nanoseconds. Such a clock is never below zero.
fn used_ns(clock: ClockId) -> u64 {
    let used = clock_gettime(clock);
    used.tv_sec.cast_unsigned() * 1_000_000_000 + used.tv_nsec.cast_unsigned()
}

/// Returns the seconds of CPU time that all threads of the process have used.
pub fn cpu_seconds() -> f64 {
    cpu_ns() as f64 / 1e9
}

/// Returns the most bytes of memory that the process has held at once since the last call of
/// [`forget_rss_peak`]; 0 if the system does not tell.
pub fn rss_peak_bytes() -> u64 {
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    status_bytes(&status, "VmHWM:").unwrap_or(0)
}

/// Resets the peak of the process's memory to the memory held now, so that the peak of a run does not
/// include earlier runs. If the system does not allow this, the peak stays that of the whole process.
pub fn forget_rss_peak() {
    // 5 is the kernel's code to reset the peak of memory (proc_pid_clear_refs(5)).
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Starts a thread. A thread whose name is `refused` requests a stack that exceeds any machine's address
/// space. So the system refuses this thread, as it does when it is out of threads.
///
/// # Errors
/// [`PlanError::NoThread`] if the system refuses the thread.
pub(crate) fn spawn(
    name: &str,
    refused: Option<&str>,
    body: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, PlanError> {
    // The operating system ends the name of a thread at the first zero byte, so zero bytes are replaced.
    let builder = Builder::new().name(name.replace('\0', " "));
    let builder = if refused == Some(name) { builder.stack_size(1 << 60) } else { builder };
    let refusal =
        |error: std::io::Error| PlanError::NoThread { operator: name.to_owned(), reason: error.to_string() };
    builder.spawn(body).map_err(refusal)
}

/// Returns the number that the operating system gave to the calling thread; never 0.
pub(crate) fn thread_number() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

/// Returns the nanoseconds for which a thread of this process has run, and those for which it was ready but
/// waited for a core. Returns `None` once the thread has ended.
pub(crate) fn thread_times_ns(number: u32) -> Option<(u64, u64)> {
    parse_schedstat(&read_to_string(format!("/proc/self/task/{number}/schedstat")).ok()?)
}

/// Parses a line of the kernel's scheduler statistics. Returns the time on a core and the time waiting for
/// one, both in ns (Linux, "Scheduler Statistics", `/proc/<pid>/schedstat`).
fn parse_schedstat(text: &str) -> Option<(u64, u64)> {
    let mut words = text.split_whitespace().map(|word| word.parse().ok());
    Some((words.next()??, words.next()??))
}

/// Returns the value of the line `name` of `/proc/self/status` in bytes. The file tells it in kB of 1024
/// bytes.
fn status_bytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Reads field `number` of `/proc/self/stat`, counted from 1 as in proc_pid_stat(5). The second field, in
/// parentheses, is the program's name, which may contain spaces and parentheses. So fields are counted from
/// behind the last parenthesis.
fn stat_field(stat: &str, number: usize) -> Option<u64> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    behind_name.split_whitespace().nth(number - 3)?.parse().ok()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn lines_of_proc_are_read_at_the_right_place() {
        let stat = "12 (a ) (b) R 1 2 3 4 5 6 77 8 99 10 11 12";
        assert_eq!((stat_field(stat, 10), stat_field(stat, 12)), (Some(77), Some(99)));
        assert_eq!((stat_field(stat, 3), stat_field("", 10)), (None, None), "a letter; nothing");
        assert_eq!(parse_schedstat("31 4 1\n"), Some((31, 4)));
        assert_eq!(parse_schedstat("31"), None);
        assert_eq!(status_bytes("VmHWM:\t    12 kB\nVmRSS:\t 9 kB\n", "VmRSS:"), Some(9 * 1024));
        assert_eq!(status_bytes("VmRSS:\t9 pages\n", "VmRSS:"), None);
    }

    #[test]
    fn a_process_uses_time_and_memory() {
        assert!(cpu_seconds() > 0.0);
        assert!(rss_peak_bytes() > 1 << 16);
        let before = ProcessMetrics::now();
        assert!(before.rss_bytes <= before.rss_peak_bytes, "{before:?}");
        let now = ProcessMetrics::now();
        assert!(before.cpu_ns <= now.cpu_ns && now.since(&now).cpu_ns == Some(0), "{now:?}");
        assert!(thread_times_ns(thread_number()).is_some());
        assert_eq!(thread_times_ns(0), None);
    }

    /// The reported peak of the process's memory falls when it is reset after memory was given back.
    #[test]
    fn a_peak_can_be_forgotten() {
        let held = std::hint::black_box(vec![1u8; 64 << 20]);
        let peak_bytes = rss_peak_bytes();
        assert!(peak_bytes == 0 || 64 << 20 <= peak_bytes, "{peak_bytes}");
        drop(held);
        forget_rss_peak();
        assert!(rss_peak_bytes() <= peak_bytes);
    }
}
