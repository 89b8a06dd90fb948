//! Tests of a task's times in metrics: reported times agree with the clock, for any reader at any time.
//! Under loom, a waiting time and the start of the next state always fit each other.

use super::*;

fn at(ns: u64) -> ProcessingTime {
    ProcessingTime::from_nanos(ns)
}

#[cfg(not(loom))]
mod plain {
    use super::*;

    /// Makes the counters of a task that exists from 100 ns on. It enters the given states at the given
    /// instants: `r`eady, `b`locked, `i`dle, run`n`ing, `e`nded.
    fn meter(changes: &str) -> Meter {
        let meter = Meter::new(Vec::new(), at(100));
        let (mut before, mut since) = (TaskState::Idle, 100);
        for change in changes.split_whitespace() {
            let (state, now) = change.split_at(1);
            let now = now.parse().unwrap();
            let after = match state {
                "r" => TaskState::Ready,
                "b" => TaskState::Blocked,
                "i" => TaskState::Idle,
                "n" => TaskState::Running,
                _ => TaskState::Ended,
            };
            meter.note_state(before, now - since, after, at(now));
            (before, since) = (after, now);
        }
        meter
    }

    fn check(changes: &str, now: u64, expected: (TaskState, u64, [u64; 3])) {
        let Stood { state, lasting_ns, waited_ns: Waited { ready, blocked, idle } } =
            meter(changes).stood(at(now));
        assert_eq!((state, lasting_ns, [ready, blocked, idle]), expected, "{changes} at {now}");
    }

    #[test]
    fn what_lasts_counts_up_to_now() {
        check("", 130, (TaskState::Idle, 30, [0, 0, 30]));
        check("r110", 130, (TaskState::Ready, 20, [20, 0, 10]));
        check("r110 n115", 130, (TaskState::Running, 15, [5, 0, 10]));
        check("r110 n115 b120", 130, (TaskState::Blocked, 10, [5, 10, 10]));
        check("r110 n115 b120 r121 n121 i125", 130, (TaskState::Idle, 5, [5, 1, 15]));
        check("r110 n115 e120", 130, (TaskState::Ended, 10, [5, 0, 10]));
        check("r110", 105, (TaskState::Ready, 0, [0, 0, 10]));
    }

    /// A worker counts a waiting time only up to the begin of its decision. A reader that looked later has
    /// seen more, and does not see the time fall.
    #[test]
    fn times_never_go_back() {
        let meter = Meter::new(Vec::new(), at(0));
        assert_eq!(meter.stood(at(50)).waited_ns.idle, 50);
        meter.note_state(TaskState::Idle, 40, TaskState::Ready, at(40));
        assert_eq!(meter.stood(at(60)).waited_ns, Waited { ready: 20, blocked: 0, idle: 50 });
    }

    #[test]
    fn a_task_ends_at_an_instant() {
        assert_eq!(meter("r110").ended(), None);
        assert_eq!(meter("r110 e120").ended(), Some(at(120)));
    }
}

#[cfg(loom)]
mod model {
    use loom::thread;
    use thalweg_memory::sync::Arc;

    use super::*;

    /// The state of a task changes twice while another thread reads its times at 30 ns. The times that the
    /// reader sees add up to 30 ns.
    #[test]
    fn counts_fit_their_instant() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = builder.preemption_bound.or(Some(2));
        builder.check(|| {
            let meter = Arc::new(Meter::new(Vec::new(), at(0)));
            let other = Arc::clone(&meter);
            let writer = thread::spawn(move || {
                other.note_state(TaskState::Idle, 10, TaskState::Ready, at(10));
                other.note_state(TaskState::Ready, 10, TaskState::Blocked, at(20));
            });
            let Waited { ready, blocked, idle } = meter.stood(at(30)).waited_ns;
            assert_eq!(ready + blocked + idle, 30);
            writer.join().unwrap();
        });
    }
}
