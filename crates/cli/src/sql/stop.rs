//! The end of a run that is asked to end: what its jobs publish, the exit code, and the deadline.
//!
//! `--for`, Ctrl-C, SIGTERM and SIGHUP all ask a run to end. The effect depends on whether a job is bounded,
//! which means that everything it reads has an end. As in Flink, one unbounded table makes a job unbounded.
//!
//! | job | asked to end | with `--emit-partial` |
//! |---|---|---|
//! | bounded | cancelled: its sinks publish nothing, and it is stopped early | sources end, open windows fire and waiting rows come out, files are published; it is stopped early all the same |
//! | unbounded | sources end at their watermark: what that has closed is published, open windows and rows that wait for a later watermark are dropped; it is complete | those come out, too |
//!
//! The result of a bounded job is useful only as a whole: a part of it under the name of the whole is worse
//! than no result. An unbounded job ends only by being stopped, so its result is complete up to its
//! watermark. Flink has the same two ways to end a job, `stop` and `stop --drain`. Rows that were written to
//! standard output stay printed.
//!
//! Exit codes: 0, every job is complete; 1, a job failed or did not end in time; 2, the command line is
//! wrong; 3, a bounded job was stopped early; 128 plus the number of a signal, the process was ended at once
//! by a second request. 141 is the code if a reader closed standard output. A job that was stopped early has
//! the code 3 and not that of a signal, because `--for` stops jobs without a signal. Besides, nothing was cut
//! off: the request was fulfilled, and the next run begins from the same files.
//!
//! The request sets a deadline, `--drain-timeout` later. When the deadline passes, the process ends with code
//! 1 and names what it waits for, if that is known. A drain may wait for a system call that never returns,
//! for example on a device or on a pipe whose reader does not read. No thread is joined then. The thread that
//! watches the jobs checks the deadline. Because this thread may be held up itself, [`Deadline`] has a thread
//! of its own, which shares nothing with workers and ends the process [`GRACE`] later.

use std::fs;
use std::path::Path;
use std::process;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Builder};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use thalweg::{QueryHandle, TaskState};
use thalweg_cli::interrupt::Interrupt;

use super::told::{self, Shape};

/// Longest time that a drain may take, unless `--drain-timeout` is given.
pub const DRAIN_TIMEOUT_DEFAULT: &str = "10s";

/// Largest value that `--drain-timeout` accepts.
pub const DRAIN_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Time after the deadline at which the process is ended if the thread that watches the jobs is stuck.
const GRACE: Duration = Duration::from_secs(1);

/// Interval at which the thread of the deadline checks whether the deadline has passed.
const LOOK: Duration = Duration::from_millis(20);

/// Longest time for writing the last message, because standard error may be what the process waits for.
const TELL_WITHIN: Duration = Duration::from_millis(500);

/// Exit code of a run that has not ended by its deadline.
const EXIT_FAILED: i32 = 1;

/// Largest number of tasks or system calls that the message about an overdue drain names as its causes.
const NAMED_MAX: usize = 4;

/// The deadline of a run that was asked to end.
#[derive(Clone)]
pub struct Deadline(Arc<Mutex<Option<Instant>>>, Duration);

impl Deadline {
    /// Starts a thread that watches the deadline until the process ends.
    pub fn watch(interrupt: &Interrupt, timeout: Duration, shape: Shape) -> Result<Self> {
        let deadline = Deadline(Arc::default(), timeout);
        let (own, interrupt) = (deadline.clone(), interrupt.clone());
        let watch = move || {
            while !own.is_past(GRACE) {
                if interrupt.is_pressed() {
                    own.ask(Instant::now());
                }
                thread::sleep(LOOK);
            }
            own.end(shape, None, &[]);
        };
        Builder::new().name("deadline".to_owned()).spawn(watch).context("no thread can be had")?;
        Ok(deadline)
    }

    /// Sets the deadline for a request at this instant; the earliest request counts.
    pub fn ask(&self, at: Instant) {
        let mut until = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = at.checked_add(self.1);
        // The request of `--for` may be recorded before that of a signal that came sooner, so the earlier
        // deadline is kept.
        *until = until.into_iter().chain(asked).min();
    }

    /// Returns whether the deadline has passed, and a grace period after it.
    pub fn is_past(&self, grace: Duration) -> bool {
        let until = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        until.and_then(|until| until.checked_add(grace)).is_some_and(|until| until <= Instant::now())
    }

    /// Ends the process without joining its threads, because one of them is stuck. The message says in what
    /// it is stuck, if that is known.
    pub fn end(&self, shape: Shape, job: Option<&str>, tasks: &[String]) -> ! {
        let calls = system_calls();
        let all: Vec<&str> = tasks.iter().chain(&calls).map(String::as_str).take(NAMED_MAX).collect();
        let stuck = if all.is_empty() { String::new() } else { format!(": {}", all.join("; ")) };
        let message = format!(
            "the run has not ended {} s after it was asked to{stuck}; it ends now, and what is not published yet is not; a longer \
             --drain-timeout waits for longer",
            self.1.as_secs_f64()
        );
        let job = job.map(str::to_owned);
        let (tell, is_told) = channel();
        // The message is written by another thread, so that this thread cannot get stuck.
        let telling = Builder::new().spawn(move || {
            told::drain_timeout(shape, job.as_deref(), &message);
            let _ = tell.send(());
        });
        if telling.is_ok() {
            let _ = is_told.recv_timeout(TELL_WITHIN);
        }
        process::exit(EXIT_FAILED)
    }
}

/// Returns the names of the tasks that keep a query from ending: running tasks, or else tasks without room in
/// their output.
pub fn held_up_by(query: &QueryHandle) -> Vec<String> {
    let tasks = query.metrics().tasks;
    let of = |state: TaskState, what: &str| -> Vec<String> {
        let in_state = tasks.iter().filter(|task| task.state == state);
        let name = |task: &thalweg::TaskMetrics| {
            format!("operator `{}` {what} {:.1} s", task.task, task.state_ns as f64 / 1e9)
        };
        in_state.map(name).collect()
    };
    let running = of(TaskState::Running, "is in one step for");
    if running.is_empty() { of(TaskState::Blocked, "has had no room for") } else { running }
}

/// Lists the system calls that threads of this process wait in, other than for each other.
fn system_calls() -> Vec<String> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let mut calls: Vec<String> = threads.flatten().filter_map(|thread| system_call(&thread.path())).collect();
    calls.sort();
    calls
}

/// Returns the system call that a thread waits in, and the file of this call.
fn system_call(thread: &Path) -> Option<String> {
    let read = |file: &str| fs::read_to_string(thread.join(file)).ok();
    let name = read("comm")?.trim().to_owned();
    let line = read("syscall")?;
    let (call, descriptor) = named(&line)?;
    let target = descriptor
        .and_then(|descriptor| fs::read_link(format!("/proc/self/fd/{descriptor}")).ok())
        .map_or(String::new(), |target| format!(" on {}", target.display()));
    Some(format!("thread `{name}` is in the system call {call}{target}"))
}

/// Returns the name of the system call in a line of `/proc/self/task/N/syscall`, and its file descriptor;
/// `None` for a call that waits for other threads or for time.
fn named(line: &str) -> Option<(&'static str, Option<u64>)> {
    let mut words = line.split_ascii_whitespace();
    let number: u32 = words.next()?.parse().ok()?;
    let (_, name, is_of_descriptor) = CALLS.iter().find(|(known, ..)| *known == number)?;
    let descriptor = words.next()?.strip_prefix("0x").and_then(|word| u64::from_str_radix(word, 16).ok());
    Some((*name, descriptor.filter(|_| *is_of_descriptor)))
}

/// Numbers and names of system calls that may wait for a long time, and whether their first argument is a
/// descriptor.
#[cfg(target_arch = "x86_64")]
const CALLS: &[(u32, &str, bool)] = &[
    (0, "read", true),
    (1, "write", true),
    (2, "open", false),
    (17, "pread64", true),
    (18, "pwrite64", true),
    (19, "readv", true),
    (20, "writev", true),
    (42, "connect", true),
    (44, "sendto", true),
    (45, "recvfrom", true),
    (46, "sendmsg", true),
    (47, "recvmsg", true),
    (73, "flock", true),
    (74, "fsync", true),
    (75, "fdatasync", true),
    (82, "rename", false),
    (87, "unlink", false),
    (257, "openat", false),
];

#[cfg(target_arch = "aarch64")]
const CALLS: &[(u32, &str, bool)] = &[
    (32, "flock", true),
    (35, "unlinkat", false),
    (38, "renameat", false),
    (56, "openat", false),
    (63, "read", true),
    (64, "write", true),
    (65, "readv", true),
    (66, "writev", true),
    (67, "pread64", true),
    (68, "pwrite64", true),
    (82, "fsync", true),
    (83, "fdatasync", true),
    (203, "connect", true),
    (206, "sendto", true),
    (207, "recvfrom", true),
    (211, "sendmsg", true),
    (212, "recvmsg", true),
    (276, "renameat2", false),
];

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const CALLS: &[(u32, &str, bool)] = &[];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_request_sets_the_deadline() {
        let deadline = Deadline(Arc::default(), Duration::from_secs(1_000));
        assert!(!deadline.is_past(Duration::ZERO));
        let now = Instant::now();
        deadline.ask(now);
        assert!(!deadline.is_past(Duration::ZERO));
        deadline.ask(now.checked_sub(Duration::from_secs(1_001)).expect("the machine is up for longer"));
        assert!(deadline.is_past(Duration::ZERO) && !deadline.is_past(Duration::from_secs(100)));
        deadline.ask(now);
        assert!(deadline.is_past(Duration::ZERO));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn system_calls_are_named() {
        assert_eq!(named("1 0x1 0x7f00 0x10 0x0 0x0 0x0 0x7ffd 0x7f11\n"), Some(("write", Some(1))));
        assert_eq!(named("257 0xffffff9c 0x7f00 0x0\n"), Some(("openat", None)));
        assert_eq!(named("running\n"), None);
        assert_eq!(named("202 0x7f00 0x189\n"), None);
        assert_eq!(named("-1 0x7ffd 0x7f11\n"), None);
    }
}
