//! Tests of how long operators wait under Cameo, with one simulated worker.

use super::*;
use crate::policy::ageing::Ageing;
use crate::snapshot::Completion;
use crate::test_bed::{Bed, Task};

/// Two pairs of a source on demand and a sink share a worker. Returns the longest wait of the first pair
/// within 1 s, when `tell` changes the snapshots. Between equal ranks the first pair goes first, so it waits
/// only because of `tell`.
fn longest_wait_ns(policy: impl Policy + 'static, tell: fn(&mut Snapshot, &[u64])) -> u64 {
    let pair = |query: u32| {
        let source = Task { is_on_demand: true, ..Task::new(20, 1.0, &[2 * query + 1]) };
        [source, Task::new(20, 1.0, &[])].map(|task| Task { query, room_records: 2_000, ..task })
    };
    let tasks = pair(0).into_iter().chain(pair(1)).collect();
    let mut bed = Bed::new(Box::new(Told::new(policy, 4, tell)), 384, tasks);
    while bed.now_ns() < 1_000 * MS {
        bed.step();
    }
    bed.tasks[..2].iter().map(|live| live.longest_wait_ns).max().expect("there are two")
}

/// Two queries have latency targets of 60 ms and 10 ms. The first waits for the difference and a little more,
/// but not for ever, because its deadline comes nearer.
#[test]
fn deadlines_make_who_has_time_wait_for_so_long() {
    for form in [CameoForm::LeastLaxity, CameoForm::EarliestDeadline] {
        let waited_ns = longest_wait_ns(Cameo::of(form), |snapshot, _| {
            for (query, target) in snapshot.queries.iter_mut().flatten().zip([60, 10]) {
                query.latency_target_ns = Some(target * MS);
            }
        });
        assert!((49 * MS..52 * MS).contains(&waited_ns), "{form:?}: {waited_ns}");
    }
}

/// Shortest job first starves the pair whose runs cost more. The variant with ageing bounds the wait.
#[test]
fn the_longer_job_starves_without_a_bound() {
    let tell = |snapshot: &mut Snapshot, _: &[u64]| {
        for (state, cost_ns_per_run) in snapshot.operators.iter_mut().flatten().zip([3e4, 3e4, 1e4, 1e4]) {
            state.cost_ns_per_run = cost_ns_per_run;
        }
    };
    let sjf = Cameo::of(CameoForm::ShortestJob);
    assert!(longest_wait_ns(sjf.clone(), tell) > 990 * MS);
    let waited_ns = longest_wait_ns(Ageing::new(SJF_AGEING_NAME, sjf), tell);
    assert!((10 * MS..13 * MS).contains(&waited_ns), "{waited_ns}");
}

/// A policy with a hook that changes the snapshots which the policy sees. The hook also gets the number of
/// runs of each operator.
pub(in crate::policy::cameo) struct Told<P, F> {
    policy: P,
    runs: Vec<u64>,
    tell: F,
}

impl<P: Policy, F: Fn(&mut Snapshot, &[u64]) + Send> Told<P, F> {
    pub(in crate::policy::cameo) fn new(policy: P, operators: usize, tell: F) -> Self {
        Told { policy, runs: vec![0; operators], tell }
    }

    fn seen(&self, snapshot: &Snapshot) -> Snapshot {
        let mut snapshot = snapshot.clone();
        (self.tell)(&mut snapshot, &self.runs);
        snapshot
    }
}

impl<P: Policy, F: Fn(&mut Snapshot, &[u64]) + Send> Policy for Told<P, F> {
    fn name(&self) -> &'static str {
        self.policy.name()
    }

    fn reads(&self) -> Fields {
        self.policy.reads()
    }

    fn scale(&self) -> Scale {
        self.policy.scale()
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        self.policy.prepare(&self.seen(snapshot));
    }

    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        self.policy.rank(&self.seen(snapshot), operator)
    }

    fn quantum(&self, snapshot: &Snapshot, operator: OperatorId) -> Quantum {
        self.policy.quantum(&self.seen(snapshot), operator)
    }

    fn feedback(&mut self, done: &Completion) {
        self.runs[done.operator.0 as usize] += 1;
        self.policy.feedback(done);
    }
}
