//! Log of runs: which operator ran, on which worker and when.
//!
//! ```text
//!   executor --calls--> Logged --calls--> policy
//!                          \__ RunLog: completions from an instant on, up to its capacity
//! ```
//!
//! Unlike a [`Trace`](crate::Trace), the log keeps neither ranks nor quanta. Each run costs a lock and a copy
//! of some words while the log is open, and a lock while it is closed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thalweg_model::ProcessingTime;

use crate::observed::{Observe, Observed};
use crate::policy::Policy;
use crate::snapshot::Completion;

/// A log of the runs of operators. Clones of this value are handles of one log.
#[derive(Clone, Debug)]
pub struct RunLog(Arc<Mutex<Runs>>);

#[derive(Debug)]
struct Runs {
    kept: Vec<Completion>,
    /// Runs of operators that begin before this instant are not logged; `ProcessingTime::NEVER` while the log
    /// is closed.
    from: ProcessingTime,
    runs_max: usize,
    left_out: u64,
}

impl RunLog {
    /// Creates a closed log with room for `runs_max` runs.
    pub fn new(runs_max: usize) -> Self {
        let from = ProcessingTime::NEVER;
        RunLog(Arc::new(Mutex::new(Runs { kept: Vec::with_capacity(runs_max), from, runs_max, left_out: 0 })))
    }

    /// Opens the log of runs: it keeps the runs that begin at `from` or later, until it is full.
    pub fn open(&self, from: ProcessingTime) {
        let mut runs = self.runs();
        (runs.from, runs.left_out) = (from, 0);
    }

    /// Returns the runs that were kept, empties the log and closes it. The runs stand in the order in which
    /// they were reported, which is about the order in which they ended.
    pub fn take(&self) -> Vec<Completion> {
        let mut runs = self.runs();
        runs.from = ProcessingTime::NEVER;
        let room = Vec::with_capacity(runs.runs_max);
        std::mem::replace(&mut runs.kept, room)
    }

    /// Returns the number of runs for which the log had no room since it was last opened.
    pub fn left_out(&self) -> u64 {
        self.runs().left_out
    }

    fn note(&self, done: &Completion) {
        let mut runs = self.runs();
        if done.started < runs.from {
            return;
        }
        if runs.kept.len() < runs.runs_max {
            runs.kept.push(*done);
        } else {
            runs.left_out += 1;
        }
    }

    /// The lock ignores poisoning: a policy that panics while it holds the lock leaves only whole entries
    /// behind.
    fn runs(&self) -> MutexGuard<'_, Runs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A policy whose runs are written to a log.
pub type Logged = Observed<RunLog>;

impl Logged {
    /// Wraps `policy` so that its runs are written to `log`.
    pub fn new(policy: Box<dyn Policy>, log: &RunLog) -> Self {
        Observed { policy, observer: log.clone() }
    }
}

impl Observe for RunLog {
    fn ended(&self, done: &Completion) {
        self.note(done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::fcfs::Fcfs;
    use crate::snapshot::{OperatorId, QueryId};
    use crate::test_bed::run_of;

    fn told(log: &RunLog, started_ns: &[u64]) -> Vec<u64> {
        let mut policy = Logged::new(Box::new(Fcfs::default()), log);
        for &started_ns in started_ns {
            let started = ProcessingTime::from_nanos(started_ns);
            policy.feedback(&Completion { started, ..run_of(OperatorId(1), QueryId(0)) });
        }
        log.take().iter().map(|run| run.started.as_nanos()).collect()
    }

    #[test]
    fn runs_are_kept_from_an_instant_on_while_there_is_room() {
        let log = RunLog::new(2);
        assert_eq!(told(&log, &[1, 2]), []);
        log.open(ProcessingTime::from_nanos(3));
        assert_eq!(told(&log, &[2, 3, 1, 4, 5]), [3, 4]);
        assert_eq!(log.left_out(), 1);
        assert_eq!(told(&log, &[6]), [], "it is closed when it has been taken");
    }
}
