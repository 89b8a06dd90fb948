//! `orleans`: the operator that became able to run last runs next, for one block; each worker prefers its own
//! operators.
//!
//! Paper      Cameo (NSDI 2021), section 6, whose baseline is the scheduler of Orleans 1.5.2: a run queue with one
//!            bag per worker, which takes its own work before that of others
//! Score      the time at which the operator got its oldest pending record or ended its last run, whichever is later;
//!            the later, the higher. So an operator with more to do continues, as one that returns to the top of its
//!            bag
//! Eligible   pending > 0 and every output has room
//! Quantum    one block
//! Inputs     of several, the one whose oldest waiting record came first
//! Starves    an operator low in the bag, while those above always have more: by definition. The variant
//!            `orleans+ageing` bounds the wait
//! Differs    a bag is the set of operators that prefer this worker. A worker with an empty bag takes the newest
//!            operator of all; a thread of Orleans takes the oldest of another bag. Within its bag the executor takes
//!            an operator near in the query, not the newest. The paper names no quantum of Orleans

use crate::policy::fcfs::in_line_since;
use crate::policy::{InputOrder, Policy, Scale};
use crate::rank::{Origin, Rank};
use crate::snapshot::{Fields, OperatorId, Snapshot};

/// The name by which users choose the policy of Orleans.
pub const NAME: &str = "orleans";
/// The name of the policy of Orleans with a bounded wait.
pub const AGEING_NAME: &str = "orleans+ageing";

/// The policy of Orleans: the operator that became able to run last runs first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Orleans {
    origin: Origin,
}

impl Policy for Orleans {
    fn name(&self) -> &'static str {
        NAME
    }

    fn reads(&self) -> Fields {
        Fields::PENDING | Fields::OLDEST_PENDING | Fields::LAST_RUN
    }

    fn scale(&self) -> Scale {
        Scale::Ordinal
    }

    fn prefers_workers(&self) -> bool {
        true
    }

    fn input_order(&self) -> InputOrder {
        InputOrder::Arrival
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        self.origin.renew(snapshot.now);
    }

    #[inline]
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        let state = snapshot.operator(operator).filter(|state| state.can_run())?;
        Some(Rank { class: 0, score: 0.0 - self.origin.score(in_line_since(state)), tie: operator.0 })
    }
}

#[cfg(test)]
mod tests {
    use thalweg_model::ProcessingTime;

    use super::*;
    use crate::rank::Quantum;
    use crate::snapshot::OperatorState;
    use crate::test_bed::{Bed, Task};

    const TODAY_NS: u64 = 1_800_000_000_000_000_000;

    /// Checks the order of operators. Each has (pending records, arrival in ns, end of its last run in ns);
    /// instants are offsets from [`TODAY_NS`].
    fn check(operators: &[(u64, u64, u64)], expected: &[u32]) {
        let state = |&(pending, arrival, ended): &(u64, u64, u64)| {
            Some(OperatorState {
                pending,
                oldest_pending: ProcessingTime::from_nanos(TODAY_NS + arrival),
                last_run_ended: ProcessingTime::from_nanos(TODAY_NS + ended),
                ..OperatorState::default()
            })
        };
        let operators: Vec<_> = operators.iter().map(state).collect();
        let now = ProcessingTime::from_nanos(TODAY_NS);
        let snapshot = Snapshot { now, block_records: 384, operators, ..Snapshot::default() };
        let mut policy = Orleans::default();
        policy.prepare(&snapshot);
        let ids = (0..snapshot.operators.len() as u32).map(OperatorId);
        let ranked = ids.filter_map(|id| Some((policy.rank(&snapshot, id)?.word(), id.0)));
        let mut ranked: Vec<_> = ranked.collect();
        ranked.sort_unstable();
        assert_eq!(ranked.into_iter().map(|(_, id)| id).collect::<Vec<_>>(), expected);
        assert_eq!(policy.quantum(&snapshot, OperatorId(0)), Quantum { records: 384 });
    }

    /// An operator's place depends on its arrival or the end of its last run, whichever is later. Between
    /// equals the lower number goes first.
    #[test]
    fn the_newest_runs_first() {
        check(&[(1, 300, 0), (9, 200, 0), (1, 300, 0), (5, 900, 0)], &[3, 0, 2, 1]);
        check(&[(1, 300, 0), (9, 200, 400), (0, 999, 0), (1, 350, 100)], &[1, 3, 0]);
        check(&[(1, 4_000_000_001, 0), (1, 4_000_000_003, 0), (1, 4_000_000_002, 0)], &[1, 2, 0]);
    }

    /// An operator with more input continues until it is done, and the reader of its output runs before all
    /// that waited earlier. So A runs first, then its reader D, then B and C, which arrived before.
    #[test]
    fn who_has_more_goes_on() {
        let task = |readers: &[u32]| Task::new(10, 1.0, readers);
        let tasks = vec![task(&[3]), task(&[]), task(&[]), task(&[])];
        let mut bed = Bed::new(Box::new(Orleans::default()), 2, tasks);
        for (id, count) in [(2, 4), (1, 6)] {
            bed.push(id, count);
            bed.step();
        }
        bed.push(0, 4);
        assert_eq!(bed.steps(7), "AADDBBC");
        assert!(Orleans::default().prefers_workers());
        assert_eq!(Orleans::default().input_order(), InputOrder::Arrival);
    }
}
