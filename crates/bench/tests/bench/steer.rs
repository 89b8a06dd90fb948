//! `--steer`: threads of a run get priorities, results stay the same, and everything is put back: at the end, after
//! Ctrl-C, by the watchdog when the program is killed, and while it is stopped.
//!
//! Without privileges for priorities the tests print that they were skipped.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use thalweg_steer::groups::{Group, Version};
use thalweg_steer::threads::Processes;

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

/// Returns the control group of this process, in which its children begin.
fn home() -> Group {
    let processes = Processes::default();
    Group::of_process(&processes, &processes.mounts(), std::process::id()).unwrap()
}

/// Returns true if this process may make control groups; says so if it may not. In version 2 a service manager may have
/// given controllers to groups that do not go with threads, so these tests want version 1.
fn may_group() -> bool {
    let processes = Processes::default();
    let home = Group::of_process(&processes, &processes.mounts(), std::process::id());
    let may = home.is_ok_and(|home| {
        home.version == Version::One && OpenOptions::new().write(true).open(home.list()).is_ok()
    });
    if !may {
        eprintln!("skipped: control groups need a writable group of version 1");
    }
    may
}

/// Returns the groups of tools below a group: those of all steered threads, and those of operators.
fn groups_made(home: &Group) -> Vec<PathBuf> {
    let folders = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    };
    let is_of_tool =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("thalweg-"));
    let all: Vec<PathBuf> = folders(&home.folder).into_iter().filter(is_of_tool).collect();
    let of_operators: Vec<PathBuf> = all.iter().flat_map(|folder| folders(folder)).collect();
    all.into_iter().chain(of_operators).collect()
}

/// Returns the number of threads of a group, without those of the groups below it.
fn threads(folder: &Path) -> usize {
    fs::read_to_string(folder.join("tasks")).unwrap_or_default().lines().count()
}

/// Returns the number of threads in groups of tools below a group.
fn grouped(home: &Group) -> usize {
    groups_made(home).iter().map(|folder| threads(folder)).sum()
}

/// Returns a command that starts a long run which is steered in this form.
fn long_run(folder: &Folder, form: &str) -> Command {
    let line = format!(
        "bench ysb --execution threads --chain none --workers 2 --steer congestion:{form} --period 10ms \
         --rate 10k --seconds 600 --output json"
    );
    let mut command = command(folder, &line);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Starts a run whose threads get real-time priorities, and waits until one has the greatest; `None` if this process may
/// not give priorities.
fn started(folder: &Folder) -> Option<Child> {
    if !may_steer() {
        return None;
    }
    let mut child = long_run(folder, "fifo").spawn().unwrap();
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
    let of_groups: &[&str] = if may_group() { &["shares", "shares-linear", "limit"] } else { &[] };
    for form in ["nice", "nice-linear", "rt", "fifo"].iter().chain(of_groups) {
        let means = if *form == "nice" { "--steer-mean" } else { "" };
        let line = format!(
            "bench ysb --execution threads --chain none --workers 2 --queries 2 --steer congestion:{form} \
             --period 5ms --seconds 1 --warmup 0 --output json {means}"
        );
        let output = command(&folder, &line).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let figures: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&figures["ok"], &figures["policy"]), (&true.into(), &"os".into()), "{figures}");
        let steer = &figures["steer"];
        assert_eq!((&steer["policy"], &steer["form"]), (&"congestion".into(), &(*form).into()), "{steer}");
        let told = ["period_s", "skipped", "failures"].map(|field| steer[field].as_f64());
        assert_eq!(told, [0.005, 0.0, 0.0].map(Some), "{steer}");
        assert_eq!(steer["takes_means"], !means.is_empty(), "{steer}");
        // Of 200 rounds, a busy machine may leave few.
        assert!(steer["rounds"].as_u64() > Some(1) && steer["changes"].as_u64() > Some(4), "{steer}");
        let operators = steer["operators"].as_array().unwrap();
        let (field, least, most) = match *form {
            "nice" | "nice-linear" => ("nice", -20.0, 19.0),
            "rt" | "fifo" => ("priority", 1.0, 98.0),
            "limit" => ("limit_us", 1_000.0, f64::INFINITY),
            _ => ("shares", 1.0, 262_144.0),
        };
        for operator in operators {
            for other in ["nice", "priority", "shares", "limit_us"] {
                let value = operator[other].as_f64().unwrap();
                assert!(
                    if other == field { (least..=most).contains(&value) } else { value == 0.0 },
                    "{operator}"
                );
            }
        }
        assert!(operators.len() >= 4, "{steer}");
        assert_eq!((settings(), states(&folder)), (before.clone(), Vec::new()));
        assert_eq!(groups_made(&home()), Vec::<PathBuf>::new());
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

/// While the program is stopped, no thread is in a control group of the tool. When it goes on, threads are there again; when
/// it is killed, the watchdog takes them home and removes the groups.
#[test]
fn a_watchdog_takes_threads_out_of_groups() {
    let _machine = machine();
    let (folder, before) = (Folder::new("steer_groups"), settings());
    if !(may_steer() && may_group()) {
        return;
    }
    let (mut child, home) = (long_run(&folder, "shares").spawn().unwrap(), home());
    let mut is_grouped = || {
        assert!(child.try_wait().unwrap().is_none(), "the run has ended early");
        grouped(&home) >= 4
    };
    wait_until("threads in groups", &mut is_grouped);
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::STOP).unwrap();
    wait_until("no thread in a group", || grouped(&home) == 0);
    assert!(groups_made(&home).len() > 4, "the groups stay");
    kill_process(pid, Signal::CONT).unwrap();
    wait_until("threads in groups again", || grouped(&home) >= 4);
    kill_process(pid, Signal::KILL).unwrap();
    child.wait().unwrap();
    wait_until("no state file", || states(&folder).is_empty());
    assert_eq!((groups_made(&home), settings()), (Vec::new(), before));
}

/// Engine and tool are in one control group, which has one of two cores at most, as in a container: each form works there,
/// and the group is as before at the end.
#[test]
fn engine_and_tool_are_in_one_group() {
    let _machine = machine();
    let (folder, before) = (Folder::new("steer_container"), settings());
    if !(may_steer() && may_group()) {
        return;
    }
    let container =
        Group { folder: home().folder.join(format!("container-{}", std::process::id())), ..home() };
    fs::create_dir(&container.folder).unwrap();
    fs::write(container.folder.join("cpu.cfs_quota_us"), "100000").unwrap();
    for form in ["nice", "rt", "shares", "limit"] {
        let program = long_run(&folder, form);
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(container.list());
        shell
            .arg(program.get_program())
            .args(program.get_args())
            .envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = program.get_current_dir() {
            shell.current_dir(folder);
        }
        let child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let is_steered = || match form {
            "nice" => scheduling(child.id()).contains(&(0, -20, 0)),
            "rt" => scheduling(child.id()).contains(&(2, 0, 98)),
            _ => grouped(&container) >= 4,
        };
        wait_until(form, is_steered);
        let all = threads(&container.folder) + grouped(&container);
        assert!(all > scheduling(child.id()).len(), "the watchdog is there, too");
        send(&child, Signal::INT);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!((groups_made(&container), settings()), (Vec::new(), before.clone()));
        let number = |name: &str| fs::read_to_string(container.folder.join(name)).unwrap().trim().to_owned();
        assert_eq!(["cpu.cfs_quota_us", "cpu.rt_runtime_us"].map(number), ["100000", "0"]);
    }
    wait_until("an empty group", || fs::remove_dir(&container.folder).is_ok());
}

/// With mean lengths an empty queue may count as one where records wait, so policies that ask when they came are refused.
#[test]
fn policies_that_read_more_than_lengths_take_no_means() {
    let _machine = machine();
    let folder = Folder::new("steer_means");
    if !may_steer() {
        return;
    }
    let line = "bench ysb --execution threads --steer fcfs:nice --seconds 0.1 --warmup 0";
    assert!(command(&folder, line).output().unwrap().status.success(), "without means it goes");
    let refused = command(&folder, &format!("{line} --steer-mean")).output().unwrap();
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{stderr}");
    let expected = "error: --steer: policy `fcfs` needs what --execution threads does not tell: oldest pending records\n";
    assert!(stderr.ends_with(expected), "{stderr}");
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
