//! `--steer`: threads of a run get priorities, results stay the same, and everything is put back: at the end, after
//! Ctrl-C, by the watchdog when the program is killed, and while it is stopped.
//!
//! Without privileges for priorities the tests print that they were skipped.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::Folder;

/// Longest time for which a test waits for something that must come.
const LONG: Duration = Duration::from_secs(30);

/// Settings of the machine that a tool changes while it steers.
const SETTINGS: [&str; 2] =
    ["/proc/sys/kernel/sched_rr_timeslice_ms", "/proc/sys/kernel/sched_autogroup_enabled"];

/// Takes the machine for one test: one tool steers at a time.
fn machine() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns what tools change on the machine, as it is now.
fn settings() -> [Option<String>; 2] {
    SETTINGS.map(|path| fs::read_to_string(path).ok())
}

/// Returns the names of the state files in the folder of a test.
fn states(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(folder.path("states")).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".state")).collect()
}

/// Returns a command that runs `bench` with state files in the folder of the test.
fn command(folder: &Folder, line: &str) -> Command {
    let mut command = folder.command(line);
    command.env("THALWEG_STEER_STATES", folder.path("states"));
    command
}

/// Returns true if this process may give priorities, by its capability CAP_SYS_NICE; says so if it may not.
fn may_steer() -> bool {
    /// Number of the capability: `capabilities(7)`, `linux/capability.h`.
    const CAP_SYS_NICE: u32 = 23;
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
    let may = u64::from_str_radix(mask.trim(), 16).unwrap() & (1 << CAP_SYS_NICE) != 0;
    if !may {
        eprintln!("skipped: priorities need CAP_SYS_NICE");
    }
    may
}

/// The scheduling of a thread: class by its number in Linux, nice value, and real-time priority.
type Scheduling = (u32, i32, u32);

/// Returns the scheduling of each thread of a process, without those that have ended.
fn scheduling(process: u32) -> Vec<Scheduling> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let of_thread = |folder: &Path| -> Option<Scheduling> {
        let stat = fs::read_to_string(folder.join("stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        // Fields 41, 19 and 40 of the file, counted from the third one on: `proc(5)`.
        Some((fields[38].parse().ok()?, fields[16].parse().ok()?, fields[37].parse().ok()?))
    };
    tasks.filter_map(|task| of_thread(&task.path())).collect()
}

/// Waits until something is so.
#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < LONG, "{what}: this does not come");
        sleep(Duration::from_millis(10));
    }
}

/// Starts a run whose threads get real-time priorities, and waits until one has the greatest; `None` if this process may
/// not give priorities.
fn started(folder: &Folder) -> Option<Child> {
    if !may_steer() {
        return None;
    }
    let line = "bench ysb --execution threads --chain none --workers 2 --steer congestion:fifo --period 10ms \
                --rate 10k --seconds 600 --output json";
    let mut command = command(folder, line);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("a thread of the greatest priority", || {
        assert!(child.try_wait().unwrap().is_none(), "the run has ended early");
        scheduling(child.id()).contains(&(1, 0, 98))
    });
    Some(child)
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// In every form of priorities the results are right, the figures tell what was done, and nothing is left behind.
#[test]
fn results_are_right_under_every_form() {
    let _machine = machine();
    let (folder, before) = (Folder::new("steer_forms"), settings());
    if !may_steer() {
        return;
    }
    for form in ["nice", "nice-linear", "rt", "fifo"] {
        let line = format!(
            "bench ysb --execution threads --chain none --workers 2 --queries 2 --steer congestion:{form} \
             --period 5ms --seconds 1 --warmup 0 --output json"
        );
        let output = command(&folder, &line).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let figures: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&figures["ok"], &figures["policy"]), (&true.into(), &"os".into()), "{figures}");
        let steer = &figures["steer"];
        assert_eq!((&steer["policy"], &steer["form"]), (&"congestion".into(), &form.into()), "{steer}");
        let told = ["period_s", "skipped", "failures"].map(|field| steer[field].as_f64());
        assert_eq!(told, [0.005, 0.0, 0.0].map(Some), "{steer}");
        // Of 200 rounds, a busy machine may leave few.
        assert!(steer["rounds"].as_u64() > Some(4) && steer["changes"].as_u64() > Some(4), "{steer}");
        let operators = steer["operators"].as_array().unwrap();
        let is_real_time = ["rt", "fifo"].contains(&form);
        for operator in operators {
            let [nice, priority] = ["nice", "priority"].map(|field| operator[field].as_f64().unwrap());
            let is_within = if is_real_time {
                nice == 0.0 && (1.0..=98.0).contains(&priority)
            } else {
                priority == 0.0 && (-20.0..=19.0).contains(&nice)
            };
            assert!(is_within, "{operator}");
        }
        assert!(operators.len() >= 4, "{steer}");
        assert_eq!((settings(), states(&folder)), (before.clone(), Vec::new()));
    }
}

/// A first Ctrl-C ends the run, which puts everything back and shows what was measured.
#[test]
fn ctrl_c_puts_everything_back() {
    let _machine = machine();
    let (folder, before) = (Folder::new("steer_interrupt"), settings());
    let Some(child) = started(&folder) else { return };
    assert_eq!(states(&folder).len(), 1);
    send(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let figures: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(figures["interrupted"], true);
    assert_eq!((settings(), states(&folder)), (before, Vec::new()));
}

/// When the program is killed, its watchdog puts everything back.
#[test]
fn a_watchdog_puts_everything_back_after_a_kill() {
    let _machine = machine();
    let (folder, before) = (Folder::new("steer_kill"), settings());
    let Some(mut child) = started(&folder) else { return };
    send(&child, Signal::KILL);
    child.wait().unwrap();
    wait_until("no state file", || states(&folder).is_empty());
    assert_eq!(settings(), before);
}

/// While the program is stopped, no thread keeps a priority. When it goes on, it gives them again.
#[test]
fn a_watchdog_takes_priorities_of_a_stopped_program() {
    let _machine = machine();
    let (folder, before) = (Folder::new("steer_stop"), settings());
    let Some(child) = started(&folder) else { return };
    send(&child, Signal::STOP);
    wait_until("no thread with a priority", || {
        scheduling(child.id()).iter().all(|(class, nice, priority)| (*class, *nice, *priority) == (0, 0, 0))
    });
    send(&child, Signal::CONT);
    wait_until("a thread of the greatest priority", || scheduling(child.id()).contains(&(1, 0, 98)));
    wait_until("a steering thread above it", || scheduling(child.id()).contains(&(2, 0, 99)));
    send(&child, Signal::INT);
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!((settings(), states(&folder)), (before, Vec::new()));
}

/// A second tool is refused while one steers.
#[test]
fn one_tool_steers_at_a_time() {
    let _machine = machine();
    let folder = Folder::new("steer_twice");
    let Some(child) = started(&folder) else { return };
    let line = "bench ysb --execution threads --steer congestion:nice --seconds 0.1";
    let second = command(&folder, line).output().unwrap();
    let stderr = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert_eq!(stderr, format!("error: --steer: process {} is steering already: end it first\n", child.id()));
    send(&child, Signal::INT);
    assert!(child.wait_with_output().unwrap().status.success());
}
