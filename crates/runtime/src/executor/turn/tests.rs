//! Tests of the choice of a worker: it takes the task with the best rank, or a task whose preferred worker it
//! is.

use thalweg_memory::{Budget, Pool};
use thalweg_model::VirtualClock;
use thalweg_scheduling::{InputOrder, Rank, policy};

use super::*;
use crate::cost_clock::CostClock;
use crate::executor::Runs;

/// A ready task in a test: it has class 0, a score (the highest runs first), a preferred worker and flags.
#[derive(Clone, Copy)]
struct Waiting {
    score: f64,
    preferred: u32,
    kind: u32,
}

fn task(score: f64, preferred: u32) -> Waiting {
    Waiting { score, preferred, kind: 0 }
}

fn source(score: f64, preferred: u32) -> Waiting {
    Waiting { kind: SOURCE, ..task(score, preferred) }
}

fn copy(score: f64, preferred: u32) -> Waiting {
    Waiting { kind: COPY, ..task(score, preferred) }
}

/// Time in ns for which worker 1 has been in its run: short enough that it will soon look for work.
const JUST_NOW: Option<u64> = Some(HELD_UP_NS / 2);
const HELD_UP: Option<u64> = Some(HELD_UP_NS);
const ASLEEP: Option<u64> = None;

fn executor() -> Arc<Executor> {
    let runs = Runs {
        block_records: 384,
        bytes_max: 1 << 16,
        source_grain_ns: 1_000,
        metrics_interval_ns: 50_000_000,
        measured_steps: 0,
        cost_clock: CostClock::Wall,
        input_order: InputOrder::default(),
    };
    let (pool, clock) = (Pool::new(Budget::new(1 << 20)), Arc::new(VirtualClock::default()));
    Executor::new(policy::by_name("streambox").unwrap(), pool, clock, runs, 2)
}

/// Checks which of the ready tasks worker 0 takes, when worker 1 has been in its run for `other` nanoseconds;
/// `None` if worker 1 sleeps.
fn check(other: Option<u64>, tasks: &[Waiting], expected: usize) {
    let executor = executor();
    let now = ProcessingTime::from_nanos(1_000_000_000);
    for (place, &Waiting { score, preferred, kind }) in tasks.iter().enumerate() {
        executor.preferred_workers[place].store(preferred | kind, Ordering::Relaxed);
        executor.ranks.set(place, Rank { class: 0, score, tie: place as u32 }.word());
    }
    let since = other.map_or(NOTHING, |ago_ns| now.as_nanos() - ago_ns);
    executor.run_since_ns[1].store(since, Ordering::Relaxed);
    let mut bench = Bench::new(0);
    let turn = Turn {
        executor: &executor,
        ranker: None,
        bench: Some(&mut bench),
        now,
        ended: Vec::new(),
        unused: Vec::new(),
    };
    let least = executor.ranks.least().unwrap();
    assert_eq!(turn.prefer_local(least), expected);
}

#[test]
fn what_lies_on_another_core_is_left_to_it_while_it_comes_back() {
    for of_other in [task(9e6, 1), copy(9e6, 1)] {
        for own in [task(1.0, 0), copy(1.0, 0), source(1.0, 0)] {
            check(JUST_NOW, &[of_other, own], 1);
            check(HELD_UP, &[of_other, own], 0);
            check(ASLEEP, &[of_other, own], 0);
        }
        check(JUST_NOW, &[of_other], 0);
    }
}

/// The records of a source are in no core's cache. So a worker takes a source even if another worker is the
/// source's preferred worker. It does so unless a task that prefers this worker is as urgent.
#[test]
fn sources_are_left_to_nobody() {
    check(JUST_NOW, &[source(9e6, 1), task(1.0, 0)], 0);
    check(JUST_NOW, &[source(1.01, 1), task(1.0, 0)], 1);
}

/// A worker that feeds or runs a task becomes the preferred worker of this task, except if the task is a
/// copy.
#[test]
fn a_copy_keeps_its_worker() {
    let executor = executor();
    for (place, kind) in [0, SOURCE, COPY].into_iter().enumerate() {
        executor.preferred_workers[place].store(1 | kind, Ordering::Relaxed);
    }
    let mut bench = Bench::new(0);
    let turn = Turn {
        executor: &executor,
        ranker: None,
        bench: Some(&mut bench),
        now: ProcessingTime::ZERO,
        ended: Vec::new(),
        unused: Vec::new(),
    };
    (0..3).for_each(|place| turn.prefer_this_worker(OperatorId(place)));
    let preferred: Vec<u32> =
        executor.preferred_workers[..3].iter().map(|preferred| preferred.load(Ordering::Relaxed)).collect();
    assert_eq!(preferred, [0, SOURCE, 1 | COPY]);
}

/// Checks which decisions of a worker wake a sleeping worker. Each decision has its time in us after the
/// first, whether it leaves a ready task undone, and the expected time of the run that it takes.
fn check_left(decisions: &[(u64, bool, u64)], expected: &[usize]) {
    let mut left = Left::default();
    let woke = |&(at_us, is_left, expected_us): &(u64, bool, u64)| {
        let now = ProcessingTime::from_nanos(1_000_000_000 + at_us * 1_000);
        left.note(now, is_left, expected_us * 1_000)
    };
    let woke: Vec<bool> = decisions.iter().map(woke).collect();
    let woke: Vec<usize> = (0..woke.len()).filter(|&at| woke[at]).collect();
    assert_eq!(woke, expected);
}

#[test]
fn a_sleeper_is_woken_for_what_is_left_longer_than_waking_takes() {
    // Work is left for 50 us in one piece; or the run that the worker takes is expected to last 50 us.
    check_left(&[(0, true, 1), (20, true, 1), (49, true, 1), (50, true, 1)], &[2]);
    check_left(&[(0, true, 50), (1, true, 49), (2, true, 1)], &[0]);
    // Tasks that feed each other: no work is left while the source runs, which is every third run of 10 us.
    // The other intervals add up.
    let fed: Vec<(u64, bool, u64)> = (0..12).map(|run| (run * 10, run % 3 != 0, 10)).collect();
    check_left(&fed, &[7]);
    // A worker whose only ready task is its own wakes no sleeping worker.
    check_left(&[(0, false, 1_000), (500, false, 1_000), (5_000, false, 1_000)], &[]);
}
