//! Tests of the tool: begin, rounds and end on a made-up machine.

use std::cell::Cell;
use std::fs;

use thalweg_scheduling::{Fields, by_name};

use super::*;
use crate::fake::{FakeKernel, Machine, Told, engine};
use crate::groups::Version;
use crate::steering::Observation;
use crate::steering::Unobserved;
use crate::threads::ThreadKey;
use crate::translate::{Curve, Nice, RealTime};
use crate::watchdog::PATIENCE;

const PERIOD: Duration = Duration::from_millis(1);

/// Time for which the tools of most tests wait for their watchdog, which never answers at the end.
const SHORT: Duration = Duration::from_millis(20);

/// Returns a watchdog that tells whether it is privileged, does not answer any more, and ends with the tool.
fn silent(first: char) -> impl FnOnce(&Path) -> Command {
    shell(format!("printf {first} >&0; exec cat"))
}

/// Returns a watchdog that tells whether it is privileged, answers as the real one when the tool begins to end, and ends
/// with the tool.
fn answering(first: char) -> impl FnOnce(&Path) -> Command {
    shell(format!("printf {first} >&0; exec cat >&0"))
}

fn shell(script: String) -> impl FnOnce(&Path) -> Command {
    move |_| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]);
        shell
    }
}

/// Begins a tool by `congestion` for an engine that answers as told. It waits for its silent watchdog for a short time.
fn begin(
    machine: &Machine,
    translator: Translator,
    first: char,
    rounds: Vec<Observation>,
) -> Result<Tool<Told, FakeKernel>, CannotSteer> {
    let driver = Told(rounds.into_iter().map(Ok).collect());
    let watchdog = |state: &Path| Watchdog::start_within(SHORT, silent(first)(state));
    Tool::begin_with(driver, congestion(), plan(machine, translator), watchdog, with(machine))
}

fn congestion() -> Box<dyn Policy> {
    by_name("congestion").unwrap()
}

fn plan(machine: &Machine, translator: Translator) -> Plan {
    let states = Some(machine.folder.path().join("states"));
    Plan { translator, period: PERIOD, states, urgent: Vec::new() }
}

fn with(machine: &Machine) -> (Processes, FakeKernel) {
    (machine.processes.clone(), machine.kernel.clone())
}

/// Runs this many rounds.
fn run<D: Driver>(tool: &mut Tool<D, FakeKernel>, rounds: u32) {
    let left = Cell::new(rounds);
    let ended = tool.run(|| left.get() == 0, |_| left.set(left.get() - 1));
    assert!(matches!(ended, Ended::Asked));
}

/// Makes a machine with the settings that tools change, and three threads, of which the second has the longest queue.
fn machine() -> (Machine, [ThreadKey; 3], Observation) {
    let machine = Machine::new();
    let folder = machine.processes.root().join("sys/kernel");
    fs::write(folder.join("sched_rr_timeslice_ms"), "100\n").unwrap();
    fs::write(folder.join("sched_autogroup_enabled"), "1\n").unwrap();
    let keys = [71, 72, 73].map(|thread| machine.begin(70, thread, 1));
    let seen = engine(&[(keys[0], 99), (keys[1], 124), (keys[2], 0)]).unwrap();
    (machine, keys, seen)
}

/// Returns the settings of the machine: the time slice in ms, and whether sessions are groups.
fn settings(machine: &Machine) -> [String; 2] {
    let folder = machine.processes.root().join("sys/kernel");
    ["sched_rr_timeslice_ms", "sched_autogroup_enabled"]
        .map(|name| fs::read_to_string(folder.join(name)).unwrap().trim().to_owned())
}

/// While it runs, threads have their priorities, the own thread is at least as urgent, and the machine is set. Afterwards
/// everything is as before, and no state file is left. This tool waits for its watchdog as long as a real one, and the
/// answer of the watchdog ends the wait.
#[test]
fn everything_is_given_and_put_back() {
    let nice = Translator::Nice(Nice::default());
    let round_robin = Translator::RoundRobin(RealTime::default());
    let fifo = Translator::Fifo(RealTime::default());
    let real_time = |class, priority| Setting::real_time(class, priority);
    let cases = [
        (nice, Setting::nice(-20), Setting::nice(-20), ["100", "0"]),
        (round_robin, real_time(Class::RoundRobin, 99), real_time(Class::RoundRobin, 98), ["25", "1"]),
        (fifo, real_time(Class::RoundRobin, 99), real_time(Class::Fifo, 98), ["100", "1"]),
    ];
    for (translator, own, most_urgent, set) in cases {
        let (machine, keys, seen) = machine();
        let driver = Told(vec![Ok(seen.clone()), Ok(seen)].into());
        let plan = plan(&machine, translator);
        let mut tool = Tool::begin(driver, congestion(), plan, answering('p'), with(&machine)).unwrap();
        run(&mut tool, 2);
        let thread = std::process::id();
        assert_eq!(machine.kernel.threads()[&thread], own);
        assert_eq!(machine.kernel.of(&keys)[1], Some(most_urgent));
        assert_eq!(settings(&machine), set);
        let began = Instant::now();
        let restored = tool.end().unwrap();
        assert!(began.elapsed() < PATIENCE, "the watchdog has answered");
        assert_eq!((restored.threads, restored.failures.len()), (4, 0));
        assert!(machine.kernel.threads().values().all(|setting| *setting == Setting::DEFAULT));
        assert_eq!(settings(&machine), ["100", "1"]);
        let left = fs::read_dir(machine.folder.path().join("states")).unwrap();
        let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["lock"]);
    }
}

/// A group without a real-time budget has one while its threads are real-time.
#[test]
fn groups_get_a_budget_and_lose_it() {
    let (machine, _, seen) = machine();
    let root = machine.folder.path().join("cpu");
    let budget = |group: &str| {
        fs::read_to_string(root.join(group).join("cpu.rt_runtime_us")).unwrap().trim().to_owned()
    };
    for (process, group) in [(70, "flink"), (std::process::id(), "own")] {
        fs::create_dir_all(root.join(group)).unwrap();
        fs::write(root.join(group).join("cpu.rt_runtime_us"), "0\n").unwrap();
        fs::write(root.join(group).join("cpu.rt_period_us"), "1000000\n").unwrap();
        let file = machine.processes.root().join(format!("{process}/cgroup"));
        fs::write(file, format!("1:cpu:/{group}\n")).unwrap();
    }
    let mounts = format!("cgroup {} cgroup rw,cpu 0 0\n", root.display());
    fs::write(machine.processes.root().join("mounts"), mounts).unwrap();
    let mut tool = begin(&machine, Translator::Fifo(RealTime::default()), 'p', vec![seen]).unwrap();
    assert_eq!(["own", "flink"].map(budget), ["950000", "0"], "the loop itself needs one first");
    run(&mut tool, 1);
    assert_eq!(["own", "flink"].map(budget), ["950000", "950000"]);
    assert_eq!(tool.end().unwrap().settings, 2);
    assert_eq!(["own", "flink"].map(budget), ["0", "0"]);
}

/// With shares of control groups the threads of the engine are in groups while the tool runs, and the loop has the best
/// nice value. Without privileges for that a note says so. Afterwards the groups are gone.
#[test]
fn groups_are_made_and_removed() {
    for refuses in [false, true] {
        let (machine, keys, seen) = machine();
        let home = machine.mount(Version::One, 70);
        machine.kernel.refuse_priorities(refuses);
        let shares = Translator::Shares(Curve::Logarithmic);
        // The first look is that at the begin.
        let mut tool = begin(&machine, shares, 'u', vec![seen.clone(), seen]).unwrap();
        let note = tool.notes().iter().find(|note| note.contains("is no more urgent than others"));
        assert_eq!(note.is_some(), refuses, "{:?}", tool.notes());
        run(&mut tool, 1);
        let own = machine.kernel.threads()[&std::process::id()];
        assert_eq!(own, if refuses { Setting::DEFAULT } else { Setting::nice(-20) });
        assert_eq!(fs::read_to_string(home.list()).unwrap(), "", "all threads are steered");
        let restored = tool.end().unwrap();
        assert!(restored.threads >= 3 && restored.failures.is_empty(), "{restored:?}");
        assert_eq!(fs::read_to_string(home.list()).unwrap().lines().count(), keys.len());
        let is_group = |entry: fs::DirEntry| entry.path().is_dir();
        assert!(!fs::read_dir(&home.folder).unwrap().any(|entry| is_group(entry.unwrap())));
    }
}

/// Without a control group that can be written nothing is changed, and the message tells what to grant.
#[test]
fn without_a_writable_group_nothing_is_changed() {
    let (machine, _, seen) = machine();
    let home = machine.mount(Version::One, 70);
    fs::remove_file(home.list()).unwrap();
    fs::create_dir(home.list()).unwrap();
    let refused = begin(&machine, Translator::Limits, 'p', vec![seen]).err().unwrap().to_string();
    let (begins, grant) = ("threads cannot be moved into control groups (write to ", "run as root, or grant");
    assert!(refused.starts_with(begins) && refused.contains(grant), "{refused}");
    assert!(machine.kernel.threads().values().all(|setting| *setting == Setting::DEFAULT));
    assert_eq!(settings(&machine), ["100", "1"]);
    assert!(!machine.folder.path().join("states").exists());
}

/// Runs a round, and returns its outcome.
fn round<D: Driver>(tool: &mut Tool<D, FakeKernel>) -> Round {
    let mut outcome = None;
    let is_over = Cell::new(false);
    tool.run(
        || is_over.get(),
        |round| {
            outcome = Some(round);
            is_over.set(true);
        },
    );
    outcome.unwrap()
}

/// An engine that gives no answer at the begin is checked when its threads are known. Each round is skipped until the
/// group can be written, with what to grant.
#[test]
fn groups_are_checked_when_threads_are_known() {
    let (machine, keys, seen) = machine();
    let home = machine.mount(Version::One, 70);
    let threads = fs::read_to_string(home.list()).unwrap();
    fs::remove_file(home.list()).unwrap();
    fs::create_dir(home.list()).unwrap();
    let no_answer = || Err(Unobserved("no report yet".to_owned()));
    let driver = Told(vec![no_answer(), no_answer(), Ok(seen.clone()), Ok(seen.clone()), Ok(seen)].into());
    let plan = plan(&machine, Translator::Limits);
    let mut tool = Tool::begin(driver, congestion(), plan, answering('p'), with(&machine)).unwrap();
    assert!(matches!(round(&mut tool), Round::Skipped(why) if why == "no report yet"));
    for _ in 0..2 {
        let Round::Skipped(why) = round(&mut tool) else { panic!("it was not checked") };
        let (begins, grant) =
            ("threads cannot be moved into control groups (write to ", "run as root, or grant");
        assert!(why.starts_with(begins) && why.contains(grant), "{why}");
    }
    fs::remove_dir(home.list()).unwrap();
    fs::write(home.list(), threads).unwrap();
    let Round::Applied { applied, .. } = round(&mut tool) else { panic!("it was skipped") };
    assert_eq!((applied.changes.len(), tool.skipped()), (keys.len(), 3));
    assert!(tool.end().unwrap().failures.is_empty());
}

/// An engine that tells queues and costs, and from its second answer on only queues.
struct TellsLess(Told, bool);

impl Driver for TellsLess {
    fn name(&self) -> &'static str {
        if self.1 { "an old version" } else { "an engine" }
    }

    fn supplies(&self) -> Fields {
        let costs = Fields::COST_AND_SELECTIVITY | Fields::TOPOLOGY;
        if self.1 { Fields::PENDING } else { Fields::PENDING | costs }
    }

    fn observe(&mut self) -> Result<Observation, Unobserved> {
        let seen = self.0.observe();
        self.1 = self.0.0.is_empty();
        seen
    }
}

/// A driver may learn from an answer that its engine tells less. The rounds of a policy that needs more are skipped from
/// then on, and the reason names what is missing.
#[test]
fn a_policy_is_skipped_when_the_engine_turns_out_to_tell_less() {
    let nice = Translator::Nice(Nice::default());
    for (policy, expected) in [("chain", Some("costs and selectivities, topology")), ("congestion", None)] {
        let (machine, keys, seen) = machine();
        let driver = TellsLess(Told(vec![Ok(seen.clone()), Ok(seen)].into()), false);
        let (policy, plan) = (by_name(policy).unwrap(), plan(&machine, nice));
        let mut tool = Tool::begin(driver, policy, plan, answering('p'), with(&machine)).unwrap();
        assert!(matches!(round(&mut tool), Round::Applied { .. }));
        let before = machine.kernel.of(&keys);
        match (round(&mut tool), expected) {
            (Round::Skipped(why), Some(missing)) => {
                assert!(
                    why.ends_with(&format!("needs what an old version does not tell: {missing}")),
                    "{why}"
                );
            }
            (outcome, expected) => assert!(matches!(outcome, Round::Applied { .. }) && expected.is_none()),
        }
        assert_eq!(machine.kernel.of(&keys), before);
        tool.end().unwrap();
    }
}

/// Checks that a tool is refused with a message that has these words, and that nothing is left of it.
#[track_caller]
fn check_refused(machine: &Machine, translator: Translator, first: char, expected: &str) {
    let message = begin(machine, translator, first, Vec::new()).err().unwrap().to_string();
    assert!(message.contains(expected), "{message}");
    assert!(machine.kernel.threads().values().all(|setting| *setting == Setting::DEFAULT));
    assert_eq!(settings(machine), ["100", "1"]);
    let left = fs::read_dir(machine.folder.path().join("states")).unwrap().count();
    assert_eq!(left, 1, "the file of the lock is left");
}

/// Without privileges nothing is changed, and the message tells what to grant. No thread becomes real-time if nothing
/// could take its priority away.
#[test]
fn what_is_not_permitted_changes_nothing() {
    let (machine, ..) = machine();
    machine.kernel.refuse(true);
    let (nice, fifo) = (Translator::Nice(Nice::default()), Translator::Fifo(RealTime::default()));
    check_refused(&machine, nice, 'u', "the kernel refuses nice values below zero");
    check_refused(&machine, fifo, 'p', "grant CAP_SYS_NICE to the program");
    machine.kernel.refuse(false);
    check_refused(&machine, fifo, 'u', "real-time priorities (the watchdog may not have one)");
}

/// A watchdog that does not start, a policy that does not fit, and another tool that runs are refused.
#[test]
fn a_tool_that_cannot_begin_changes_nothing() {
    let (machine, _, seen) = machine();
    let nice = Translator::Nice(Nice::default());
    let refused = |policy: &str, watchdog: Box<dyn FnOnce(&Path) -> Command>| {
        let (driver, policy) = (Told(Vec::new().into()), by_name(policy).unwrap());
        let tool = Tool::begin(driver, policy, plan(&machine, nice), watchdog, with(&machine));
        let message = tool.err().unwrap().to_string();
        assert!(machine.kernel.threads().values().all(|setting| *setting == Setting::DEFAULT), "{message}");
        assert_eq!(settings(&machine), ["100", "1"]);
        message
    };
    let nowhere = |_: &Path| Command::new("/nowhere/thalweg");
    assert!(refused("congestion", Box::new(nowhere)).starts_with("the watchdog does not start: "));
    assert!(refused("fcfs", Box::new(answering('p'))).contains("oldest pending records"));
    let first = begin(&machine, nice, 'p', vec![seen]).unwrap();
    let (driver, plan) = (Told(Vec::new().into()), plan(&machine, nice));
    let second = Tool::begin(driver, congestion(), plan, answering('p'), with(&machine));
    let message = second.err().unwrap().to_string();
    assert!(message.contains("is steering already"), "{message}");
    first.end().unwrap();
}

/// If the watchdog ends, the loop ends, too.
#[test]
fn without_a_watchdog_the_loop_ends() {
    let (machine, _, seen) = machine();
    let mut tool = begin(&machine, Translator::Nice(Nice::default()), 'u', vec![seen; 9]).unwrap();
    tool.watchdog = Some(Watchdog::start(ended_soon()).unwrap());
    assert!(matches!(tool.run(|| false, |_| ()), Ended::Unwatched(_)));
    tool.end().unwrap();
}

fn ended_soon() -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "printf u >&0"]);
    shell
}

/// A dry run tells the changes and makes none, without privileges and without a state file.
#[test]
fn a_dry_run_changes_nothing() {
    let (machine, keys, seen) = machine();
    machine.kernel.refuse(true);
    let plan = Plan { states: None, ..plan(&machine, Translator::Fifo(RealTime::default())) };
    let nowhere = |_: &Path| Command::new("/nowhere/thalweg");
    let told = Told(vec![Ok(seen)].into());
    let mut tool = Tool::begin(told, congestion(), plan, nowhere, with(&machine)).unwrap();
    let changes = Cell::new(None);
    tool.run(
        || changes.get().is_some(),
        |round| {
            if let Round::Applied { applied, .. } = round {
                changes.set(Some(applied.changes.len()));
            }
        },
    );
    assert_eq!(changes.get(), Some(3));
    assert_eq!(tool.end().unwrap(), Restored::default());
    assert_eq!(machine.kernel.of(&keys), [Some(Setting::DEFAULT); 3]);
}
