//! Tests of control groups: made-up ones of both versions, and real ones where this process may make them.

use std::fs;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use super::*;
use crate::apply::Applier;
use crate::fake::{FakeKernel, Folder, Machine};
use crate::kernel::Linux;
use crate::setting::{Class, Setting};
use crate::state_file::{self, Restored};

const VERSIONS: [Version; 2] = [Version::One, Version::Two];

/// Returns what a round wants: threads with the number of their operator and the shares of its group.
fn wanted(threads: &[(ThreadKey, u32, u32)]) -> BTreeMap<ThreadKey, Member> {
    let member = |(key, operator, shares): &(ThreadKey, u32, u32)| {
        (*key, Member { operator: OperatorId(*operator), time: CpuTime::Shares(*shares) })
    };
    threads.iter().map(member).collect()
}

/// A machine with threads of one process, in a control group.
struct Engine {
    machine: Machine,
    keys: [ThreadKey; 3],
    home: Group,
    applier: Applier<FakeKernel>,
    state: PathBuf,
}

fn engine(version: Version) -> Engine {
    let machine = Machine::new();
    let keys = [71, 72, 73].map(|thread| machine.begin(70, thread, 1));
    let home = machine.mount(version, 70);
    let state_file = machine.state_file();
    let state = state_file.path().to_owned();
    let applier = Applier::new(machine.kernel.clone(), machine.processes.clone(), Some(state_file));
    Engine { machine, keys, home, applier, state }
}

impl Engine {
    /// Returns the folder of all steered threads.
    fn all(&self) -> PathBuf {
        let name = self.state.file_stem().unwrap().to_str().unwrap();
        self.home.folder.join(format!("thalweg-{name}"))
    }

    /// Returns the text of a file of an operator's group, without a line break at its end.
    fn text(&self, operator: u32, name: &str) -> String {
        fs::read_to_string(self.all().join(operator.to_string()).join(name)).unwrap().trim().to_owned()
    }

    /// Returns the threads of the group of an operator.
    fn members(&self, operator: u32) -> Vec<u32> {
        let folder = self.all().join(operator.to_string());
        threads_of(&Group { folder, version: self.home.version }).unwrap()
    }

    /// Returns the threads of the group above all, in rising order.
    fn at_home(&self) -> Vec<u32> {
        let mut threads = threads_of(&self.home).unwrap();
        threads.sort_unstable();
        threads
    }

    fn shares(&self, operator: u32) -> String {
        self.text(operator, if self.home.version == Version::One { "cpu.shares" } else { "cpu.weight" })
    }

    fn restore(&self) -> Restored {
        state_file::restore(&self.state, &self.machine.processes, &self.machine.kernel).unwrap()
    }
}

/// Returns the numbers of threads that changed, did not change, were put back, have ended and could not be changed.
fn counts(applied: &Applied) -> [usize; 5] {
    let Applied { changes, unchanged, put_back, ended, failures, .. } = applied;
    [changes.len(), *unchanged as usize, *put_back as usize, *ended as usize, failures.len()]
}

/// Two threads of one operator share its group. Only what differs is changed, and the end leaves nothing.
#[test]
fn operators_have_groups_with_shares() {
    for version in VERSIONS {
        let mut engine = engine(version);
        let [a, b, c] = engine.keys;
        let first = engine.applier.apply_in_groups(&wanted(&[(a, 4, 9_000), (b, 4, 9_000), (c, 7, 30)]));
        assert_eq!(counts(&first), [3, 0, 0, 0, 0], "{first:?}");
        assert_eq!(first.changes[0].from, None);
        assert_eq!(first.changes[0].to, Priority::Group(CpuTime::Shares(9_000)));
        assert_eq!([engine.members(4), engine.members(7)], [vec![71, 72], vec![73]]);
        assert_eq!([engine.shares(4), engine.shares(7)], ["9000", "30"]);
        // All three have the CPU time of three threads that are in no group of their own.
        let (file, three) =
            if version == Version::One { ("cpu.shares", "3072") } else { ("cpu.weight", "300") };
        assert_eq!(fs::read_to_string(engine.all().join(file)).unwrap(), three);
        let second = engine.applier.apply_in_groups(&wanted(&[(a, 4, 9_000), (b, 4, 9_000), (c, 7, 31)]));
        assert_eq!(counts(&second), [1, 2, 0, 0, 0]);
        let (from, to) = (CpuTime::Shares(30), CpuTime::Shares(31));
        let expected = Change { key: c, from: Some(Priority::Group(from)), to: Priority::Group(to) };
        assert_eq!(second.changes, [expected]);
        // A thread becomes another operator's, of which it is the only one.
        let third = engine.applier.apply_in_groups(&wanted(&[(a, 4, 9_000), (b, 8, 5), (c, 7, 31)]));
        assert_eq!((counts(&third), third.changes[0].key), ([1, 2, 0, 0, 0], b));
        assert_eq!([engine.members(4), engine.members(8)], [vec![71], vec![72]]);
        let restored = engine.restore();
        let controller = u64::from(version == Version::Two);
        assert_eq!((restored.threads, restored.settings), (3, 4 + controller), "{restored:?}");
        assert_eq!((engine.at_home(), engine.all().exists()), (vec![71, 72, 73], false));
        assert!(restored.failures.is_empty() && !engine.state.exists());
    }
}

/// Groups of version 2 are threaded and have the controller, which home gives up at the end if it was given by the tool.
#[test]
fn groups_of_version_2_are_threaded() {
    for (before, after) in [("cpuset\n", WITHOUT_CONTROLLER), ("cpuset cpu\n", "cpuset cpu")] {
        let mut engine = engine(Version::Two);
        let switch = engine.home.folder.join("cgroup.subtree_control");
        fs::write(&switch, before).unwrap();
        let key = engine.keys[0];
        assert_eq!(counts(&engine.applier.apply_in_groups(&wanted(&[(key, 0, 5)]))), [1, 0, 0, 0, 0]);
        assert_eq!(engine.text(0, "cgroup.type"), "threaded");
        let of_all = |name: &str| fs::read_to_string(engine.all().join(name)).unwrap();
        assert_eq!([of_all("cgroup.type"), of_all("cgroup.subtree_control")], ["threaded", WITH_CONTROLLER]);
        engine.restore();
        assert_eq!(fs::read_to_string(&switch).unwrap().trim(), after);
    }
}

/// During a pause the watchdog takes all threads home, and leaves the groups. The next round mends that, and numbers that
/// someone else has written.
#[test]
fn a_pause_takes_threads_home_and_the_next_round_moves_them_again() {
    for version in VERSIONS {
        let mut engine = engine(version);
        let [a, b, _] = engine.keys;
        let round = wanted(&[(a, 0, 500), (b, 1, 20)]);
        engine.applier.apply_in_groups(&round);
        let Machine { processes, kernel, .. } = &engine.machine;
        let paused = state_file::undo(&engine.state, Part::Threads, processes, kernel).unwrap();
        assert_eq!((paused.threads, paused.settings, paused.failures.len()), (2, 0, 0));
        assert_eq!((engine.at_home(), engine.members(0)), (vec![71, 72, 73], vec![]));
        let name = if version == Version::One { "cpu.shares" } else { "cpu.weight" };
        fs::write(engine.all().join("1").join(name), "7777\n").unwrap();
        assert_eq!(counts(&engine.applier.apply_in_groups(&round)), [2, 0, 0, 0, 0]);
        assert_eq!(
            (engine.members(0), engine.members(1), engine.shares(1)),
            (vec![71], vec![72], "20".into())
        );
        assert_eq!(counts(&engine.applier.apply_in_groups(&round)), [0, 2, 0, 0, 0]);
    }
}

/// Threads that a round does not name go home, with those that steered threads have started. So do all when nothing is
/// named, and their groups remain for a later round.
#[test]
fn what_is_not_named_goes_home() {
    let mut engine = engine(Version::One);
    let [a, b, _] = engine.keys;
    engine.applier.apply_in_groups(&wanted(&[(a, 0, 500), (b, 1, 20)]));
    engine.machine.begin_child(a, 90);
    assert_eq!(engine.members(0), [71, 90]);
    assert_eq!(counts(&engine.applier.apply_in_groups(&wanted(&[(a, 0, 500)]))), [0, 1, 2, 0, 0]);
    assert_eq!((engine.members(0), engine.at_home()), (vec![71], vec![72, 73, 90]));
    assert_eq!(counts(&engine.applier.apply_in_groups(&wanted(&[]))), [0, 0, 1, 0, 0]);
    assert!(engine.members(0).is_empty() && engine.members(1).is_empty());
    assert_eq!(counts(&engine.applier.apply_in_groups(&wanted(&[(b, 0, 3)]))), [1, 0, 0, 0, 0]);
    assert_eq!(engine.members(0), [72]);
}

/// A tool that was killed leaves its groups. The next start takes all threads home, also those that began since, and
/// removes the groups.
#[test]
fn the_next_start_removes_groups() {
    for version in VERSIONS {
        let mut engine = engine(version);
        let [a, b, _] = engine.keys;
        engine.applier.apply_in_groups(&wanted(&[(a, 0, 500), (b, 1, 20)]));
        engine.machine.begin_child(b, 91);
        engine.machine.end(a);
        let all = engine.all();
        // The number of the tool's process belongs to another process by now.
        let own = std::process::id();
        engine.machine.begin(own, own, 6);
        let Machine { processes, kernel, .. } = &engine.machine;
        let (_, restored) = StateFile::create(engine.state.parent().unwrap(), processes, kernel).unwrap();
        let controller = u64::from(version == Version::Two);
        assert_eq!((restored.threads, restored.settings), (2, 3 + controller), "{restored:?}");
        assert_eq!((all.exists(), engine.at_home()), (false, vec![72, 73, 91]));
    }
}

/// Threads that end are counted. If the number belongs to another thread right after the move, that one goes home.
#[test]
fn threads_that_vanish_are_counted() {
    let mut engine = engine(Version::One);
    let [a, b, c] = engine.keys;
    engine.applier.apply_in_groups(&wanted(&[(a, 0, 500)]));
    engine.machine.end(a);
    engine.machine.end(c);
    let round = wanted(&[(a, 0, 500), (c, 1, 5)]);
    assert_eq!(counts(&engine.applier.apply_in_groups(&round)), [0, 0, 0, 2, 0]);
    let machine = Arc::new(engine.machine);
    let there = Arc::clone(&machine);
    machine.kernel.after_a_change(move || {
        // The list of the group keeps the number, which is another thread's now.
        fs::remove_dir_all(there.processes.root().join("70/task/72")).unwrap();
        there.begin(99, 72, 2);
    });
    assert_eq!(counts(&engine.applier.apply_in_groups(&wanted(&[(b, 0, 4)]))), [0, 0, 0, 1, 0]);
    assert_eq!(threads_of(&engine.home).unwrap(), [72]);
}

/// A group that cannot be made is told for each of its threads, with what to grant; nothing is changed, and a later round
/// tries again. However often it fails, it is written down once.
#[test]
fn a_group_that_cannot_be_made_is_told() {
    for version in VERSIONS {
        let mut engine = engine(version);
        let [a, b, _] = engine.keys;
        let round = wanted(&[(a, 0, 500), (b, 0, 500)]);
        engine.machine.kernel.refuse(true);
        for _ in 0..3 {
            let refused = engine.applier.apply_in_groups(&round);
            assert_eq!(counts(&refused), [0, 0, 0, 0, 2]);
            let (_, error) = &refused.failures[1];
            let text = error.to_string();
            assert!(text.starts_with("make the control group ") && text.contains("run as root"), "{text}");
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        }
        assert_eq!((engine.at_home(), engine.all().exists()), (vec![71, 72, 73], false));
        assert_eq!(fs::read_to_string(&engine.state).unwrap().lines().count(), 2, "the tool and a group");
        engine.machine.kernel.refuse(false);
        assert_eq!(counts(&engine.applier.apply_in_groups(&round)), [2, 0, 0, 0, 0]);
    }
}

/// A folder that the tool has not made is neither used nor removed.
#[test]
fn a_folder_of_someone_else_is_left_alone() {
    let mut engine = engine(Version::One);
    fs::create_dir(engine.all()).unwrap();
    let refused = engine.applier.apply_in_groups(&wanted(&[(engine.keys[0], 0, 5)]));
    assert_eq!(refused.failures[0].1.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(engine.restore(), Restored::default());
    assert!(engine.all().exists());
}

/// Groups that someone removes are made again. A tool that then ends has nothing to say about them.
#[test]
fn groups_that_are_gone_are_made_again() {
    let mut engine = engine(Version::One);
    let [a, b, _] = engine.keys;
    let round = wanted(&[(a, 0, 500), (b, 1, 20)]);
    engine.applier.apply_in_groups(&round);
    let remove = |engine: &Engine| {
        let (list, kernel) = (engine.home.list(), &engine.machine.kernel);
        [a, b].iter().for_each(|key| kernel.move_thread(key.thread, &list).unwrap());
        ["0", "1", ""].iter().for_each(|name| kernel.remove_group(&engine.all().join(name)).unwrap());
    };
    remove(&engine);
    assert_eq!(counts(&engine.applier.apply_in_groups(&round)), [2, 0, 0, 0, 0]);
    assert_eq!((engine.members(0), engine.shares(1)), (vec![71], "20".into()));
    remove(&engine);
    let restored = engine.restore();
    assert_eq!((restored.threads, restored.ended, restored.failures.len()), (0, 3, 0));
}

/// A round that is late leaves the rest to the next one, which goes on where it has ended. Each round makes at least one
/// step, so all threads come into their groups, and go home, in the end.
#[test]
fn a_round_ends_at_its_deadline_and_the_next_goes_on() {
    let machine = Machine::new();
    let [a, b, c] = &[71, 72, 73].map(|thread| machine.begin(70, thread, 1));
    let home = &machine.mount(Version::One, 70);
    let over = Instant::now().checked_sub(std::time::Duration::from_secs(1)).unwrap();
    let mut state_file = machine.state_file();
    let mut groups = Groups::default();
    let mut apply = |round: &BTreeMap<ThreadKey, Member>| {
        let with = With {
            kernel: &machine.kernel,
            processes: &machine.processes,
            state_file: Some(&mut state_file),
            deadline: over,
        };
        let applied = groups.apply(round, with);
        assert!(applied.failures.is_empty(), "{applied:?}");
        (counts(&applied)[..3].to_vec(), applied.postponed)
    };
    let round = wanted(&[(*a, 0, 500), (*b, 0, 500), (*c, 1, 20)]);
    assert_eq!(apply(&round), (vec![1, 0, 0], 2));
    for _ in 0..4 {
        apply(&round);
    }
    assert!(threads_of(home).unwrap().is_empty(), "each round has moved one thread");
    // Each of the two operators has its turn.
    let other = wanted(&[(*a, 0, 7), (*b, 0, 7), (*c, 1, 8)]);
    let turns = [apply(&other), apply(&other)];
    assert_eq!(turns.map(|(counts, postponed)| counts[0] as u64 + postponed), [3, 3]);
    let goes_home = [3, 2, 1].map(|_| apply(&wanted(&[])));
    assert_eq!(goes_home.map(|(counts, postponed)| (counts[2], postponed)), [(1, 2), (1, 1), (1, 0)]);
    assert_eq!(threads_of(home).unwrap().len(), 3);
}

/// A thread that is not steered leaves the group of its session by two moves. If it ends between them, and its number
/// belongs to another thread, that one is left where it is.
#[test]
fn a_number_that_is_used_again_between_two_moves_is_left_alone() {
    let engine = engine(Version::One);
    let (machine, home) = (Arc::new(engine.machine), &engine.home);
    let mut applier = engine.applier;
    let other = Group { folder: home.folder.parent().unwrap().join("other"), version: Version::One };
    machine.kernel.make_group(&other.folder).unwrap();
    let [a, b, _] = engine.keys;
    applier.apply_in_groups(&wanted(&[(a, 0, 500)]));
    // The second process has one steered thread, and one beside it, whose first move lets it end.
    let steered = machine.begin(80, 81, 1);
    let beside = machine.begin(80, 82, 1);
    [steered, beside].iter().for_each(|key| machine.kernel.move_thread(key.thread, &home.list()).unwrap());
    let (there, list) = (Arc::clone(&machine), other.list());
    machine.kernel.after_a_move_of(82, move || {
        there.end(beside);
        let stranger = there.begin(99, 82, 2);
        there.kernel.move_thread(stranger.thread, &list).unwrap();
    });
    applier.apply_in_groups(&wanted(&[(a, 0, 500), (steered, 1, 20)]));
    assert_eq!(threads_of(&other).unwrap(), [82]);
    assert!(!threads_of(home).unwrap().contains(&82) && threads_of(home).unwrap().contains(&b.thread));
}

/// A child that begins while its parent is in the group of all steered threads begins there. The next round takes it home.
#[test]
fn a_child_that_begins_between_two_moves_goes_home() {
    let engine = engine(Version::One);
    let machine = Arc::new(engine.machine);
    let mut applier = engine.applier;
    let [a, b, _] = engine.keys;
    let there = Arc::clone(&machine);
    machine.kernel.after_a_move_of(b.thread, move || _ = there.begin_child(b, 95));
    let round = wanted(&[(a, 0, 500)]);
    applier.apply_in_groups(&round);
    let name = engine.state.file_stem().unwrap().to_str().unwrap();
    let all = Group { folder: engine.home.folder.join(format!("thalweg-{name}")), version: Version::One };
    assert_eq!(threads_of(&all).unwrap(), [95]);
    assert_eq!(counts(&applier.apply_in_groups(&round)), [0, 1, 1, 0, 0]);
    assert!(threads_of(&all).unwrap().is_empty() && threads_of(&engine.home).unwrap().contains(&95));
}

/// The group of an operator that has ended is removed after a while, and that of all threads with the last of them. What
/// there is to put back stands in the state file all the time. An operator that comes back has a group again.
#[test]
fn groups_of_ended_operators_are_removed() {
    for version in VERSIONS {
        let mut engine = engine(version);
        let [a, b, _] = engine.keys;
        let (both, one) = (wanted(&[(a, 0, 500), (b, 1, 20)]), wanted(&[(a, 0, 500)]));
        engine.applier.apply_in_groups(&both);
        let exists = |engine: &Engine, name: &str| engine.all().join(name).exists();
        let lines = |engine: &Engine| fs::read_to_string(&engine.state).unwrap();
        let noted = lines(&engine);
        for round in 1..=UNNAMED_ROUNDS_MAX {
            assert!(exists(&engine, "1"), "{round}");
            engine.applier.apply_in_groups(&one);
        }
        assert_eq!(
            [exists(&engine, "0"), exists(&engine, "1"), lines(&engine) == noted],
            [true, false, true]
        );
        assert_eq!(counts(&engine.applier.apply_in_groups(&both)), [1, 1, 0, 0, 0]);
        assert_eq!((engine.members(1), engine.shares(1), lines(&engine)), (vec![72], "20".into(), noted));
        // A child keeps the group of its parent's operator until it has gone home.
        for _ in 1..UNNAMED_ROUNDS_MAX {
            engine.applier.apply_in_groups(&one);
        }
        engine.applier.apply_in_groups(&both);
        for _ in 0..UNNAMED_ROUNDS_MAX {
            assert!(engine.all().exists());
            engine.applier.apply_in_groups(&wanted(&[]));
        }
        assert_eq!((engine.all().exists(), engine.at_home()), (false, vec![71, 72, 73]));
        assert_eq!(counts(&engine.applier.apply_in_groups(&both)), [2, 0, 0, 0, 0]);
        let restored = engine.restore();
        assert!(restored.failures.is_empty() && restored.threads == 2, "{restored:?}");
        assert_eq!((engine.all().exists(), engine.state.exists()), (false, false));
    }
}

/// The kernel takes no real-time thread into a group without a budget, and the error says so.
#[test]
fn a_real_time_thread_is_told() {
    let mut engine = engine(Version::One);
    let key = engine.keys[0];
    engine.machine.kernel.set(key.thread, Setting::real_time(Class::Fifo, 5)).unwrap();
    let refused = engine.applier.apply_in_groups(&wanted(&[(key, 0, 5)]));
    let text = refused.failures[0].1.to_string();
    assert!(
        text.contains("the thread is real-time, and a new control group has no real-time budget"),
        "{text}"
    );
    assert!(engine.members(0).is_empty());
}

/// A dry run tells the groups' shares and makes nothing. A thread in no group is a failure there, too.
#[test]
fn a_dry_run_makes_no_groups() {
    let engine = engine(Version::One);
    let Machine { processes, kernel, .. } = &engine.machine;
    let mut dry = Applier::new(kernel.clone(), processes.clone(), None);
    let lost = engine.machine.begin(80, 81, 1);
    fs::write(processes.root().join("80/task/81/cgroup"), "0::/user.slice\n").unwrap();
    let round = wanted(&[(engine.keys[0], 0, 5), (lost, 1, 2)]);
    assert_eq!(counts(&dry.apply_in_groups(&round)), [1, 0, 0, 0, 1]);
    engine.machine.end(lost);
    assert_eq!(counts(&dry.apply_in_groups(&round)), [1, 0, 0, 1, 0]);
    assert_eq!((engine.at_home(), engine.all().exists()), (vec![71, 72, 73], false));
}

/// There is a bound on the number of groups, and on the length of lists.
#[test]
fn groups_and_lists_are_bounded() {
    let machine = Machine::new();
    machine.begin(70, 71, 1);
    let (home, mut state_file) = (machine.mount(Version::One, 70), machine.state_file());
    let mut groups = Groups::default();
    groups.prepare(&home, 1, (&machine.kernel, &mut state_file)).unwrap();
    let count = u32::try_from(GROUPS_MAX).unwrap();
    let operators = &mut groups.homes.get_mut(&home).unwrap().operators;
    operators.extend((1..count).map(|operator| (OperatorId(operator), Operator::default())));
    let mut make = |operator| {
        let with = (&machine.kernel, &mut state_file);
        groups.prepare_operator(&home, OperatorId(operator), CpuTime::Shares(5), with)
    };
    assert!(make(0).is_ok(), "it is the last one");
    let refused = make(count).unwrap_err().to_string();
    let expected =
        format!("more than {GROUPS_MAX} control groups would be needed: start the tool again, or take nice");
    assert_eq!(refused, expected);
    fs::write(home.list(), "1\n".repeat(600_000)).unwrap();
    assert_eq!(threads_of(&home).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
}

/// A check finds out before anything is changed that a list cannot be written.
#[test]
fn what_cannot_be_written_is_found_before() {
    for (version, names) in [
        (Version::One, &["tasks"][..]),
        (Version::Two, &["cgroup.threads", "cgroup.procs", "cgroup.subtree_control"]),
    ] {
        for name in names {
            let Engine { machine, keys, home, .. } = engine(version);
            assert!(check(keys, &machine.processes).is_ok());
            let file = home.folder.join(name);
            fs::remove_file(&file).unwrap();
            fs::create_dir(&file).unwrap();
            let refused = check(keys, &machine.processes).unwrap_err().to_string();
            assert!(refused.starts_with("write to ") && refused.contains(name), "{refused}");
        }
    }
    let Engine { machine, keys, .. } = engine(Version::One);
    fs::write(machine.processes.root().join("mounts"), "").unwrap();
    let refused = check(keys, &machine.processes).unwrap_err().to_string();
    assert!(refused.contains("in no control group of the controller cpu"), "{refused}");
    keys.into_iter().for_each(|key| machine.end(key));
    assert!(check(keys, &machine.processes).is_ok(), "threads that have ended are no obstacle");
}

/// Starts a thread that lives until the sender is dropped, and returns its identity.
fn begin_real(processes: &Processes) -> (ThreadKey, Sender<()>) {
    let (told, number) = channel();
    let (go, wait) = channel::<()>();
    let of_thread = processes.clone();
    std::thread::spawn(move || {
        told.send(of_thread.own_thread().unwrap()).unwrap();
        let _ended = wait.recv();
    });
    (number.recv().unwrap(), go)
}

/// Groups are made on this machine: real threads are moved, a thread that one of them starts is there, too, and everything
/// is as before at the end. Where this process may not make groups, the test says that it was skipped.
#[test]
fn real_threads_are_moved_and_go_home() {
    let processes = Processes::default();
    let (one, _lives) = begin_real(&processes);
    let (other, _lives_too) = begin_real(&processes);
    let home = Group::of_thread(&processes, &processes.mounts(), one);
    let (Ok(home), Ok(())) = (home, check([one, other], &processes)) else {
        eprintln!("skipped: control groups need root or a group that this user may write");
        return;
    };
    let folder = Folder::new();
    let (state_file, _) = StateFile::create(folder.path(), &processes, &Linux).unwrap();
    let path = state_file.path().to_owned();
    let mut applier = Applier::new(Linux, processes.clone(), Some(state_file));
    let all = home.folder.join(format!("thalweg-{}", path.file_stem().unwrap().to_str().unwrap()));
    let group =
        |operator: u32| group_of(&Group { folder: all.clone(), version: home.version }, OperatorId(operator));
    let round = wanted(&[(one, 0, 9_000), (other, 1, 2)]);
    let first = applier.apply_in_groups(&round);
    if home.version == Version::Two && !first.failures.is_empty() {
        // Where a service manager has given other controllers to groups, the kernel refuses threaded ones.
        eprintln!("skipped: {}", first.failures[0].1);
    } else {
        assert_eq!(counts(&first), [2, 0, 0, 0, 0], "{first:?}");
        assert_eq!(
            [threads_of(&group(0)).unwrap(), threads_of(&group(1)).unwrap()],
            [[one.thread], [other.thread]]
        );
        let name = if home.version == Version::One { "cpu.shares" } else { "cpu.weight" };
        assert_eq!(
            [0, 1].map(|operator| read_number(&group(operator).folder.join(name)).unwrap()),
            [9_000, 2]
        );
        let of_thread = |key| Group::of_thread(&processes, &processes.mounts(), key).unwrap();
        assert_eq!(of_thread(one), group(0));
        assert_eq!(counts(&applier.apply_in_groups(&round)), [0, 2, 0, 0, 0]);
        // A thread that comes into the group from outside, as a child of a member would.
        let (child, _lives_on) = begin_real(&processes);
        Linux.move_thread(child.thread, &group(1).list()).unwrap();
        assert_eq!(counts(&applier.apply_in_groups(&round)), [0, 2, 1, 0, 0]);
        assert_eq!(of_thread(child), home);
        Linux.move_thread(child.thread, &group(1).list()).unwrap();
        let paused = state_file::undo(&path, Part::Threads, &processes, &Linux).unwrap();
        assert_eq!((paused.threads, paused.failures.len()), (3, 0));
        assert!(group(0).folder.exists() && [one, other, child].iter().all(|key| of_thread(*key) == home));
        assert_eq!(counts(&applier.apply_in_groups(&round)), [2, 0, 0, 0, 0]);
    }
    let restored = state_file::restore(&path, &processes, &Linux).unwrap();
    assert!(restored.failures.is_empty() && !all.exists(), "{restored:?}");
    assert_eq!(Group::of_thread(&processes, &processes.mounts(), one).unwrap(), home);
}
