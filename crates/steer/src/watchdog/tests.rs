//! Tests of the watchdog: a pause, and the end of the tool.

use super::*;
use crate::fake::Machine;
use crate::state_file::StateFile;
use crate::threads::ThreadKey;

/// Waits until the thread has this nice value, at most 10 s.
#[track_caller]
fn await_nice(machine: &Machine, key: ThreadKey, nice: i32) {
    let began = Instant::now();
    while machine.kernel.of(&[key])[0].map(|setting| setting.nice) != Some(nice) {
        assert!(began.elapsed() < Duration::from_secs(10), "nice value {nice} does not come");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Makes a machine with a thread that a tool has raised, and the state file of this tool.
fn raised() -> (Machine, ThreadKey, StateFile) {
    let machine = Machine::new();
    let key = machine.begin(70, 71, 1);
    let mut state_file = machine.state_file();
    state_file.note_thread(key, Setting::DEFAULT).unwrap();
    machine.kernel.set(71, Setting::nice(-20)).unwrap();
    (machine, key, state_file)
}

/// Without a sign of life threads lose their priorities, also if the tool gives them again and stays silent. When the
/// tool ends, everything is restored, and the state file is gone.
#[test]
fn a_pause_takes_priorities_away_and_the_end_restores() {
    let (machine, key, state_file) = raised();
    let (tool, watched) = UnixStream::pair().unwrap();
    let short = Duration::from_millis(20);
    thread::scope(|scope| {
        let (path, with) = (state_file.path(), (&machine.processes, &machine.kernel));
        let watching = scope.spawn(move || watch(path, &watched, short, with, |_| ()));
        for _ in 0..3 {
            await_nice(&machine, key, 0);
            assert!(state_file.path().exists());
            machine.kernel.set(71, Setting::nice(-20)).unwrap();
        }
        drop(tool);
        watching.join().unwrap().unwrap();
    });
    assert_eq!(machine.kernel.of(&[key]), [Some(Setting::DEFAULT)]);
    assert!(!state_file.path().exists());
}

/// As long as bytes come, threads keep their priorities; a minute of patience cannot run down in this test. The end of
/// the tool is noticed at once all the same.
#[test]
fn signs_of_life_keep_priorities() {
    let (machine, key, state_file) = raised();
    let (mut tool, watched) = UnixStream::pair().unwrap();
    let mut reports = 0;
    let restored = thread::scope(|scope| {
        let (path, with) = (state_file.path(), (&machine.processes, &machine.kernel));
        let reports = &mut reports;
        let watching =
            scope.spawn(move || watch(path, &watched, Duration::from_secs(60), with, |_| *reports += 1));
        let mut first = [0];
        tool.read_exact(&mut first).unwrap();
        assert_eq!(first, [UNPRIVILEGED], "the machine of this test has no thread 0");
        (0..9).for_each(|_| tool.write_all(&[1]).unwrap());
        assert_eq!(machine.kernel.of(&[key]), [Some(Setting::nice(-20))]);
        drop(tool);
        watching.join().unwrap().unwrap()
    });
    assert_eq!((restored.threads, reports), (1, 1));
}

/// The watchdog gives itself the greatest priority, and tells the tool. It gives it up when the tool begins to end.
#[test]
fn it_runs_at_the_greatest_priority_until_the_tool_ends() {
    let (machine, _, state_file) = raised();
    machine.kernel.threads().insert(0, Setting::DEFAULT);
    let (mut tool, watched) = UnixStream::pair().unwrap();
    thread::scope(|scope| {
        let (path, with) = (state_file.path(), (&machine.processes, &machine.kernel));
        let watching = scope.spawn(move || watch(path, &watched, PATIENCE, with, |_| ()));
        let mut answer = [0];
        tool.read_exact(&mut answer).unwrap();
        assert_eq!(answer, [PRIVILEGED]);
        assert_eq!(machine.kernel.threads()[&0], Setting::real_time(Class::Fifo, 99));
        tool.write_all(&[ENDING]).unwrap();
        tool.read_exact(&mut answer).unwrap();
        assert_eq!(answer, [ENDING]);
        assert_eq!(machine.kernel.threads()[&0], Setting::DEFAULT);
        drop(tool);
        watching.join().unwrap().unwrap();
    });
}

/// A tool that has restored everything itself and ends leaves no state file: that is no error, and is reported as
/// nothing to do.
#[test]
fn a_tool_that_ended_well_leaves_nothing_to_do() {
    let machine = Machine::new();
    let (tool, watched) = UnixStream::pair().unwrap();
    drop(tool);
    let nowhere = machine.folder.path().join("steer-1-1.state");
    let restored = watch(&nowhere, &watched, PATIENCE, (&machine.processes, &machine.kernel), |_| ());
    assert_eq!(restored.unwrap(), Restored::default());
}

/// A program that is no watchdog, ends, or cannot be started is noticed.
#[test]
fn what_is_no_watchdog_is_an_error() {
    for program in ["true", "/nowhere/thalweg"] {
        assert!(Watchdog::start(Command::new(program)).is_err(), "{program}");
    }
    // This one answers, and ends.
    let mut shell = Command::new("sh");
    shell.args(["-c", "printf p >&0"]);
    let mut ended = Watchdog::start(shell).unwrap();
    assert!(ended.is_privileged());
    let later = |beats: u32| Instant::now() + BEAT_EVERY * beats;
    assert!(ended.beat(Instant::now()).is_ok(), "it is not time for a beat yet");
    ended.child.wait().unwrap();
    assert!(ended.beat(later(1)).is_err());
}

/// A watchdog that reads nothing, as one that is stopped, does not hold the loop up; it is an error after a while.
#[test]
fn a_watchdog_that_reads_nothing_is_noticed() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "printf u >&0; exec sleep 600"]);
    let mut deaf = Watchdog::start(shell).unwrap();
    assert!(!deaf.is_privileged());
    let mut now = Instant::now();
    let began = now;
    let refused = loop {
        now += BEAT_EVERY;
        if let Err(error) = deaf.beat(now) {
            break error;
        }
        assert!(now - began < Duration::from_secs(1 << 24), "the socket has a bound");
    };
    assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
    deaf.child.kill().unwrap();
}

/// A watchdog that does not answer, as one that is stopped, holds the end of the tool up for its patience and no longer.
#[test]
fn a_watchdog_that_does_not_answer_is_waited_for_a_bounded_time() {
    let short = Duration::from_millis(20);
    let mut shell = Command::new("sh");
    shell.args(["-c", "printf u >&0; exec sleep 600"]);
    let mut deaf = Watchdog::start_within(short, shell).unwrap();
    let began = Instant::now();
    deaf.lower();
    assert!((short..PATIENCE).contains(&began.elapsed()), "{:?}", began.elapsed());
    deaf.child.kill().unwrap();
}
