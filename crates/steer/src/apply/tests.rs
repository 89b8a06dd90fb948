//! Tests of the applier: only what differs is changed, and what is not named any more is put back.

use super::*;
use crate::fake::{FakeKernel, Machine};
use crate::state_file;

fn applier(machine: &Machine) -> Applier<FakeKernel> {
    Applier::new(machine.kernel.clone(), machine.processes.clone(), Some(machine.state_file()))
}

/// Returns what a round wants: nice values of threads.
fn wanted(nice: &[(ThreadKey, i32)]) -> BTreeMap<ThreadKey, Setting> {
    nice.iter().map(|(key, nice)| (*key, Setting::nice(*nice))).collect()
}

/// Returns the numbers of threads that changed, did not change, were put back, have ended and could not be changed.
fn counts(applied: &Applied) -> [usize; 5] {
    let Applied { changes, unchanged, put_back, ended, failures, .. } = applied;
    [changes.len(), *unchanged as usize, *put_back as usize, *ended as usize, failures.len()]
}

fn nice_of(machine: &Machine, keys: &[ThreadKey]) -> Vec<Option<i32>> {
    machine.kernel.of(keys).into_iter().map(|setting| setting.map(|setting| setting.nice)).collect()
}

#[test]
fn only_what_differs_is_changed() {
    let machine = Machine::new();
    let keys = [machine.begin(70, 71, 1), machine.begin(70, 72, 2)];
    let mut applier = applier(&machine);
    let first = applier.apply(&wanted(&[(keys[0], -20), (keys[1], 5)]));
    assert_eq!(counts(&first), [2, 0, 0, 0, 0]);
    let (from, to) = (Some(Setting::DEFAULT.into()), Setting::nice(-20).into());
    assert_eq!(first.changes[0], Change { key: keys[0], from, to });
    assert_eq!(counts(&applier.apply(&wanted(&[(keys[0], -20), (keys[1], 6)]))), [1, 1, 0, 0, 0]);
    assert_eq!(nice_of(&machine, &keys), [Some(-20), Some(6)]);
    // The watchdog, or the engine itself, changes a thread: the next round mends it.
    machine.kernel.set(71, Setting::DEFAULT).unwrap();
    assert_eq!(counts(&applier.apply(&wanted(&[(keys[0], -20), (keys[1], 6)]))), [1, 1, 0, 0, 0]);
    assert_eq!(nice_of(&machine, &keys), [Some(-20), Some(6)]);
}

/// A thread that a round does not name gets back what it had before the first change, once. What its owner does with it
/// later is left alone.
#[test]
fn what_is_not_named_is_put_back() {
    let machine = Machine::new();
    let keys = [machine.begin(70, 71, 1), machine.begin(70, 72, 2)];
    machine.kernel.set(72, Setting::nice(9)).unwrap();
    let mut applier = applier(&machine);
    applier.apply(&wanted(&[(keys[0], -20), (keys[1], -10)]));
    applier.apply(&wanted(&[(keys[0], -20), (keys[1], -11)]));
    assert_eq!(counts(&applier.apply(&wanted(&[(keys[0], -20)]))), [0, 1, 1, 0, 0]);
    assert_eq!(nice_of(&machine, &keys), [Some(-20), Some(9)]);
    machine.kernel.set(72, Setting::nice(3)).unwrap();
    assert_eq!(counts(&applier.apply(&wanted(&[]))), [0, 0, 1, 0, 0]);
    assert_eq!(nice_of(&machine, &keys), [Some(0), Some(3)]);
    assert_eq!(counts(&applier.apply(&wanted(&[]))), [0; 5]);
}

/// Threads that have ended are counted and forgotten; a later thread with the same number is another one, whose own
/// scheduling of before is written down.
#[test]
fn threads_come_and_go() {
    let machine = Machine::new();
    let old = machine.begin(70, 71, 1);
    let mut applier = applier(&machine);
    applier.apply(&wanted(&[(old, -20)]));
    machine.end(old);
    assert_eq!(counts(&applier.apply(&wanted(&[(old, -20)]))), [0, 0, 0, 1, 0]);
    let new = machine.begin(70, 71, 50);
    machine.kernel.set(71, Setting::nice(4)).unwrap();
    assert_eq!(counts(&applier.apply(&wanted(&[(old, -20)]))), [0, 0, 0, 1, 0]);
    assert_eq!(nice_of(&machine, &[new]), [Some(4)], "it has the number, and is another thread");
    applier.apply(&wanted(&[(new, -3)]));
    assert_eq!(nice_of(&machine, &[new]), [Some(-3)]);
    applier.apply(&wanted(&[]));
    assert_eq!(nice_of(&machine, &[new]), [Some(4)]);
}

/// A thread ends while it is changed, and its number belongs to another one at once: that thread does not keep the
/// priority, and the ended one is counted as such.
#[test]
fn a_number_that_is_used_again_during_a_change_keeps_no_priority() {
    let machine = std::sync::Arc::new(Machine::new());
    let old = machine.begin(70, 71, 1);
    let mut applier = applier(&machine);
    let there = std::sync::Arc::clone(&machine);
    machine.kernel.after_a_change(move || {
        let raised = there.kernel.setting(71).unwrap();
        there.end(old);
        there.begin(70, 71, 2);
        there.kernel.set(71, raised).unwrap();
    });
    assert_eq!(counts(&applier.apply(&wanted(&[(old, -20)]))), [0, 0, 0, 1, 0]);
    assert_eq!(machine.kernel.setting(71).unwrap(), Setting::DEFAULT);
}

/// Without permission every thread is told with its reason, and nothing panics. Later rounds try again.
#[test]
fn a_refusal_is_told_for_each_thread() {
    let machine = Machine::new();
    let keys = [machine.begin(70, 71, 1), machine.begin(70, 72, 2)];
    let mut applier = applier(&machine);
    machine.kernel.refuse(true);
    let refused = applier.apply(&wanted(&[(keys[0], -20), (keys[1], 5)]));
    assert_eq!(counts(&refused), [0, 0, 0, 0, 2]);
    assert_eq!(refused.failures[0].1.kind(), io::ErrorKind::PermissionDenied);
    machine.kernel.refuse(false);
    assert_eq!(counts(&applier.apply(&wanted(&[(keys[0], -20), (keys[1], 5)]))), [2, 0, 0, 0, 0]);
}

/// A dry run tells what would change, round after round, and changes nothing.
#[test]
fn a_dry_run_changes_nothing() {
    let machine = Machine::new();
    let key = machine.begin(70, 71, 1);
    let mut applier = Applier::new(machine.kernel.clone(), machine.processes.clone(), None);
    for _ in 0..2 {
        let told = applier.apply(&wanted(&[(key, -20)]));
        let (from, to) = (Some(Setting::DEFAULT.into()), Setting::nice(-20).into());
        assert_eq!(told.changes, [Change { key, from, to }]);
    }
    assert_eq!(machine.kernel.of(&[key]), [Some(Setting::DEFAULT)]);
}

/// The state file has each thread before it is changed, once.
#[test]
fn every_changed_thread_is_written_down() {
    let machine = Machine::new();
    let keys = [machine.begin(70, 71, 1), machine.begin(70, 72, 2)];
    let mut applier = applier(&machine);
    let path = applier.state_file.as_ref().unwrap().path().to_owned();
    for nice in [-20, -19, -18] {
        applier.apply(&wanted(&[(keys[0], nice), (keys[1], 0)]));
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 3, "the tool and two threads");
    let restored = state_file::restore(&path, &machine.processes, &machine.kernel).unwrap();
    assert_eq!(restored.threads, 2);
    assert_eq!(machine.kernel.of(&keys), [Some(Setting::DEFAULT); 2]);
}
