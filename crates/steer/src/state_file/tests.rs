//! Tests of state files: what is put back, in which order, for whom, and what is not trusted.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::{Arc, Mutex};

use super::*;
use crate::fake::Machine;

const RAISED: Setting = Setting::nice(-20);

/// Makes the state file of this process with two threads, of which the second one was raised already, and a setting.
fn state_file(machine: &Machine) -> (StateFile, [ThreadKey; 2], PathBuf) {
    let keys = [machine.begin(70, 71, 100), machine.begin(70, 72, 101)];
    machine.kernel.set(72, Setting::nice(3)).unwrap();
    let setting = machine.folder.path().join("cpu.rt_runtime_us");
    fs::write(&setting, "0").unwrap();
    let mut state_file = machine.state_file();
    state_file.note_kernel(&setting, 0).unwrap();
    fs::write(&setting, "950000").unwrap();
    for key in keys {
        state_file.note_thread(key, machine.kernel.setting(key.thread).unwrap()).unwrap();
        machine.kernel.set(key.thread, RAISED).unwrap();
    }
    (state_file, keys, setting)
}

fn restored(state_file: &StateFile, machine: &Machine) -> Restored {
    restore(state_file.path(), &machine.processes, &machine.kernel).unwrap()
}

#[test]
fn everything_is_put_back() {
    let machine = Machine::new();
    let (state_file, keys, setting) = state_file(&machine);
    let expected = Restored { threads: 2, ended: 0, settings: 1, failures: Vec::new() };
    assert_eq!(restored(&state_file, &machine), expected);
    assert_eq!(machine.kernel.of(&keys), [Some(Setting::DEFAULT), Some(Setting::nice(3))]);
    assert_eq!(fs::read_to_string(setting).unwrap(), "0");
    assert!(!state_file.path().exists());
    assert_eq!(restored(&state_file, &machine), Restored::default(), "another has restored it");
}

/// The watchdog takes priorities away and leaves the rest, so that the tool can go on.
#[test]
fn threads_alone_are_put_back_and_the_file_stays() {
    let machine = Machine::new();
    let (state_file, keys, setting) = state_file(&machine);
    let undone = undo(state_file.path(), Part::Threads, &machine.processes, &machine.kernel).unwrap();
    assert_eq!((undone.threads, undone.settings), (2, 0));
    assert_eq!(machine.kernel.of(&keys), [Some(Setting::DEFAULT), Some(Setting::nice(3))]);
    assert_eq!(fs::read_to_string(setting).unwrap(), "950000");
    assert!(state_file.path().exists());
}

/// The kernel leaves the children of a steered thread a nice value above 0. A thread that began before the tool, one of another
/// process, and a greater urgency are not inherited.
#[test]
fn nice_values_that_children_inherit_are_put_back() {
    // The tool's process began at 5, and the noted threads at 100 and 101.
    for (first_started, is_same_process) in [(1, true), (100, true), (500, false)] {
        let machine = Machine::new();
        machine.begin(70, 70, first_started);
        let (state_file, keys, _) = state_file(&machine);
        let others = [(70, 73, 4, 7), (70, 74, 102, 19), (70, 75, 102, -5), (80, 81, 102, 19)];
        let others = others.map(|(process, thread, started, nice)| {
            let key = machine.begin(process, thread, started);
            machine.kernel.set(thread, Setting { nice, ..Setting::DEFAULT }).unwrap();
            key
        });
        let restored = restored(&state_file, &machine);
        let expected = [7, if is_same_process { 0 } else { 19 }, -5, 19];
        let nices = machine.kernel.of(&others).into_iter().map(|setting| setting.unwrap().nice);
        assert_eq!(nices.collect::<Vec<_>>(), expected, "{first_started}");
        // The second noted thread began after the tool, so what was noted may be inherited as well.
        let second = Setting::nice(if is_same_process { 0 } else { 3 });
        assert_eq!(machine.kernel.of(&keys), [Some(Setting::DEFAULT), Some(second)]);
        assert_eq!((restored.threads, restored.failures), (2 + 2 * u64::from(is_same_process), Vec::new()));
    }
}

/// A thread that has ended is counted, as is a group of threads. If the thread's number belongs to another thread by
/// now, that one is left alone.
#[test]
fn what_is_gone_is_counted() {
    let machine = Machine::new();
    let (state_file, [first, second], setting) = state_file(&machine);
    machine.end(first);
    machine.end(second);
    fs::remove_file(&setting).unwrap();
    let later = machine.begin(70, 72, 999);
    machine.kernel.set(72, Setting::nice(7)).unwrap();
    let expected = Restored { threads: 0, ended: 3, settings: 0, failures: Vec::new() };
    assert_eq!(restored(&state_file, &machine), expected);
    assert_eq!(machine.kernel.of(&[later]), [Some(Setting::nice(7))]);
    assert!(!setting.exists() && !state_file.path().exists());
}

/// After a start of the machine nothing is left to restore, and numbers of threads mean others.
#[test]
fn a_file_of_an_earlier_start_is_only_removed() {
    let machine = Machine::new();
    let (state_file, keys, setting) = state_file(&machine);
    machine.boot("8c5e7f10-0000-4000-8000-000000000002");
    assert_eq!(restored(&state_file, &machine), Restored::default());
    assert_eq!(machine.kernel.of(&keys), [Some(RAISED); 2]);
    assert_eq!(
        (fs::read_to_string(setting).unwrap().as_str(), state_file.path().exists()),
        ("950000", false)
    );
}

/// Threads that cannot be put back are told, and the file stays for a later try.
#[test]
fn failures_are_told_and_can_be_tried_again() {
    let machine = Machine::new();
    let (state_file, keys, _) = state_file(&machine);
    machine.kernel.refuse(true);
    let refused = restored(&state_file, &machine);
    assert_eq!((refused.threads, refused.settings, refused.failures.len()), (0, 1, 2));
    assert!(refused.failures[0].starts_with("thread 72: "), "{refused:?}");
    machine.kernel.refuse(false);
    assert_eq!(restored(&state_file, &machine).threads, 2);
    assert_eq!(machine.kernel.of(&keys), [Some(Setting::DEFAULT), Some(Setting::nice(3))]);
}

/// A tool that was killed leaves its file, perhaps with a last line that is not whole. The next start restores it, and
/// leaves other files alone.
#[test]
fn the_next_start_restores_what_was_left() {
    let machine = Machine::new();
    let (state_file, keys, _) = state_file(&machine);
    let folder = state_file.path().parent().unwrap();
    fs::write(folder.join("notes"), "mine").unwrap();
    let mut file = OpenOptions::new().append(true).open(state_file.path()).unwrap();
    file.write_all(b"{\"thread\":{\"key\":{\"proc").unwrap();
    // The number of the tool's process belongs to another process by now.
    let own = std::process::id();
    machine.begin(own, own, 6);
    let (next, restored) = StateFile::create(folder, &machine.processes, &machine.kernel).unwrap();
    assert_eq!((restored.threads, restored.settings, restored.failures.len()), (2, 1, 0));
    assert_eq!(machine.kernel.of(&keys), [Some(Setting::DEFAULT), Some(Setting::nice(3))]);
    assert!(next.path().exists() && !state_file.path().exists() && folder.join("notes").exists());
}

/// A second tool is refused while one runs, since it would take the first one's priorities for those of before.
#[test]
fn one_tool_at_a_time() {
    let machine = Machine::new();
    let (state_file, keys, _) = state_file(&machine);
    let folder = state_file.path().parent().unwrap();
    let refused = StateFile::create(folder, &machine.processes, &machine.kernel).unwrap_err();
    let told = format!("process {} is steering already: end it first", std::process::id());
    assert_eq!(refused.to_string(), told);
    let (restored, running) = restore_all(folder, &machine.processes, &machine.kernel).unwrap();
    assert_eq!((restored, running), (Restored::default(), vec![std::process::id()]));
    assert_eq!(machine.kernel.of(&keys), [Some(RAISED); 2]);
    let nowhere = restore_all(&folder.join("nowhere"), &machine.processes, &machine.kernel).unwrap();
    assert_eq!(nowhere, (Restored::default(), Vec::new()));
}

/// Numbers of threads of another namespace, such as a container with the same folder, mean others here.
#[test]
fn files_of_other_namespaces_are_left_alone() {
    let machine = Machine::new();
    let (state_file, keys, _) = state_file(&machine);
    let folder = state_file.path().parent().unwrap();
    fs::create_dir_all(machine.processes.root().join("self/ns")).unwrap();
    symlink("pid:[4026531999]", machine.processes.root().join("self/ns/pid")).unwrap();
    let seen = restore_all(folder, &machine.processes, &machine.kernel).unwrap();
    assert_eq!(seen, (Restored::default(), Vec::new()));
    assert_eq!(machine.kernel.of(&keys), [Some(RAISED); 2]);
    assert!(state_file.path().exists());
}

/// Lines that cannot be read are told; the others are restored, and the file stays. Other files are restored, too.
#[test]
fn what_cannot_be_read_is_told_and_holds_up_nothing() {
    let machine = Machine::new();
    let (state_file, keys, _) = state_file(&machine);
    let text = fs::read_to_string(state_file.path()).unwrap();
    fs::write(state_file.path(), text.replacen('\n', "\nvid,day,xway,toll\n", 1)).unwrap();
    let folder = state_file.path().parent().unwrap();
    fs::write(folder.join("steer-1-1.state"), "no line\n").unwrap();
    let own = std::process::id();
    machine.begin(own, own, 6);
    let (restored, _) = restore_all(folder, &machine.processes, &machine.kernel).unwrap();
    assert_eq!((restored.threads, restored.settings, restored.failures.len()), (2, 1, 2), "{restored:?}");
    assert_eq!(machine.kernel.of(&keys), [Some(Setting::DEFAULT), Some(Setting::nice(3))]);
    assert!(state_file.path().exists());
}

/// A folder or file that others may write, a link and what is no file are not trusted: nothing is written that they say.
#[test]
fn what_others_may_write_is_not_trusted() {
    let machine = Machine::new();
    let (state_file, keys, setting) = state_file(&machine);
    let folder = state_file.path().parent().unwrap().to_owned();
    let own = std::process::id();
    machine.begin(own, own, 6);
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&folder, 0o777);
    assert!(restore_all(&folder, &machine.processes, &machine.kernel).is_err());
    mode(&folder, 0o700);
    mode(state_file.path(), 0o666);
    let failures = |count: usize| {
        let (restored, _) = restore_all(&folder, &machine.processes, &machine.kernel).unwrap();
        assert_eq!(
            (restored.threads, restored.settings, restored.failures.len()),
            (0, 0, count),
            "{restored:?}"
        );
    };
    failures(1);
    // A link to a file that could be trusted by itself.
    mode(state_file.path(), 0o600);
    let elsewhere = machine.folder.path().join("elsewhere");
    fs::rename(state_file.path(), &elsewhere).unwrap();
    symlink(&elsewhere, state_file.path()).unwrap();
    failures(1);
    fs::create_dir(folder.join("steer-2-2.state")).unwrap();
    failures(2);
    assert_eq!(machine.kernel.of(&keys), [Some(RAISED); 2]);
    assert_eq!(fs::read_to_string(setting).unwrap(), "950000");
}

/// A folder is made for this user alone.
#[test]
fn a_folder_is_made_for_this_user_alone() {
    let machine = Machine::new();
    let state_file = machine.state_file();
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(state_file.path()) & 0o077, 0);
    assert_eq!(mode(state_file.path().parent().unwrap()) & 0o077, 0);
}

/// A process that holds the lock for ever holds nobody else up for ever.
#[test]
fn a_lock_that_is_not_given_back_is_an_error() {
    let machine = Machine::new();
    let folder = machine.state_file().path().parent().unwrap().to_owned();
    let held = lock(&folder).unwrap();
    let wait = |patience_ms: u64| lock_within(Duration::from_millis(patience_ms), &folder);
    for patience_ms in [0, 20] {
        assert_eq!(wait(patience_ms).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
    drop(held);
    assert!(wait(0).is_ok());
}

/// Threads are restored before settings of the kernel, in whichever order they were changed: a group cannot lose its
/// real-time budget while one of its threads is real-time.
#[test]
fn threads_are_restored_before_settings() {
    let machine = Machine::new();
    let setting = machine.folder.path().join("cpu.rt_runtime_us");
    fs::write(&setting, "950000").unwrap();
    let keys = [71, 72].map(|thread| machine.begin(70, thread, 1));
    let mut state_file = machine.state_file();
    state_file.note_thread(keys[0], Setting::DEFAULT).unwrap();
    state_file.note_kernel(&setting, 0).unwrap();
    state_file.note_thread(keys[1], Setting::DEFAULT).unwrap();
    keys.iter().for_each(|key| machine.kernel.set(key.thread, Setting::nice(-20)).unwrap());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (see, path, kernel) = (Arc::clone(&seen), setting.clone(), machine.kernel.clone());
    machine.kernel.after_a_change(move || {
        // The first thread is restored now, and the second one is next.
        let (see, path, again) = (Arc::clone(&see), path.clone(), path);
        see.lock().unwrap().push(fs::read_to_string(again).unwrap());
        kernel.after_a_change(move || see.lock().unwrap().push(fs::read_to_string(path).unwrap()));
    });
    let restored = restore(state_file.path(), &machine.processes, &machine.kernel).unwrap();
    assert_eq!((restored.threads, restored.settings), (2, 1));
    assert_eq!(*seen.lock().unwrap(), ["950000", "950000"]);
    assert_eq!(fs::read_to_string(&setting).unwrap(), "0");
}
