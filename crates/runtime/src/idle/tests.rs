//! Tests of the instants until which workers sleep and, under loom, that no wake-up is lost.

use thalweg_model::VirtualClock;

use super::*;

#[cfg(not(loom))]
mod plain {
    use super::*;

    fn at(micros: u64) -> ProcessingTime {
        ProcessingTime::from_nanos(micros * 1_000)
    }

    /// Checks until when the next of `workers` sleeps if it falls asleep at 1 ms. The others sleep until the
    /// instants in `sleepers`; the next source is due at `due`. Times are in microseconds.
    fn check(workers: usize, sleepers: &[ProcessingTime], due: ProcessingTime, expected: ProcessingTime) {
        let sleepers: Vec<Sleeper> =
            sleepers.iter().enumerate().map(|(worker, &until)| Sleeper { worker, until }).collect();
        assert_eq!(Idle::new(workers, 50_000).alarm(&sleepers, at(1_000), due), expected);
    }

    #[test]
    fn one_waits_for_the_next_source_and_one_a_little_longer() {
        let never = ProcessingTime::NEVER;
        check(1, &[], at(1_500), at(1_500));
        check(1, &[], never, never);
        check(2, &[at(1_500)], at(1_500), at(2_500));
        check(2, &[at(9_000)], at(1_500), at(1_500));
        check(3, &[at(1_500), at(2_500)], at(1_500), never);
        check(3, &[at(1_500), at(9_000)], at(1_500), at(2_500));
        check(2, &[never], never, never);
    }

    /// A source is due every microsecond, next at 1.001 ms. The worker sleeps until 1.05 ms, so that one
    /// wake-up serves 50 of its records.
    #[test]
    fn nobody_wakes_for_every_record() {
        check(1, &[], at(1_001), at(1_050));
    }

    /// While another worker is awake, a sleeping worker wakes after at most a millisecond to look for work
    /// that was left.
    #[test]
    fn one_looks_after_those_who_are_awake() {
        let never = ProcessingTime::NEVER;
        check(2, &[], never, at(2_000));
        check(2, &[], at(9_000), at(2_000));
        check(2, &[], at(1_200), at(1_200));
        check(3, &[at(2_000)], never, never);
    }

    #[test]
    fn nobody_sleeps_while_there_is_work() {
        let (idle, clock) = (Idle::new(1, 50_000), VirtualClock::starting_at(at(5)));
        assert_eq!(idle.sleep(0, &clock, |_| Outlook::Work), Awoken::NotAsleep);
        assert_eq!(idle.sleep(0, &clock, Outlook::Nothing), Awoken::NotAsleep);
        assert!(!idle.has_sleepers());
        idle.wake_one();
        idle.wake_all();
    }
}

#[cfg(loom)]
mod model {
    use loom::thread;
    use thalweg_memory::TaskCell;
    use thalweg_memory::sync::{Arc, AtomicU32};

    use super::*;
    use crate::models::model;

    /// One worker makes work for an idle task and wakes a sleeping worker if there is one. The other worker
    /// sleeps whenever it finds nothing. It never sleeps for ever: loom would report a deadlock.
    #[test]
    fn no_wake_up_is_lost() {
        model(|| {
            let shared = Arc::new((Idle::new(2, 0), TaskCell::<u32>::default(), AtomicU32::new(0)));
            shared.1.fill(Box::new(0)).unwrap();
            let other = Arc::clone(&shared);
            let sleeper = thread::spawn(move || {
                let (idle, cell, made) = &*other;
                let clock = VirtualClock::default();
                loop {
                    if let Some(task) = cell.take() {
                        assert_eq!(
                            made.load(Ordering::Relaxed),
                            1,
                            "a task is ready only when there is work"
                        );
                        cell.put(task, false).unwrap_or_else(|_| ());
                        return;
                    }
                    let look = |_| {
                        if cell.is_ready() { Outlook::Work } else { Outlook::Nothing(ProcessingTime::NEVER) }
                    };
                    idle.sleep(1, &clock, look);
                }
            });
            let (idle, cell, made) = &*shared;
            made.store(1, Ordering::Relaxed);
            if let Some(task) = cell.notify() {
                assert!(cell.put(task, true).is_ok());
            }
            if idle.has_sleepers() {
                idle.wake_one();
            }
            sleeper.join().unwrap();
        });
    }
}
