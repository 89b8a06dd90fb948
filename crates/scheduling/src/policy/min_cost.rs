//! `min_cost`: the operators of a query run one after the other, from its sources to its sink, a turn each.
//!
//! Paper      Carney et al., "Operator Scheduling in a Data Stream Manager" (VLDB 2003), MC: a box is called as
//!            seldom as possible, since all operators that feed it have run before
//! Score      the fewer turns taken, the higher; ties go by post-order of the tree rooted at the sink: each branch as a
//!            whole, the writers of an operator before it
//! Eligible   pending > 0 and every output has room
//! Quantum    one block, which is a batch here
//! Starves    none: each waiting operator has one turn before any has two
//! Differs    the paper walks through one tree and then the next; so does this policy, by the numbers of their sinks.
//!            Operators that several sinks share run with the first of these sinks

use crate::policy::turns::Turns;
use crate::policy::{Policy, Scale};
use crate::rank::Rank;
use crate::snapshot::{Completion, Fields, OperatorId, Snapshot};

/// The name by which users choose the policy "minimum cost".
pub const NAME: &str = "min_cost";

/// The policy "minimum cost": each operator takes one turn, in post-order of its query.
#[derive(Clone, Debug, Default)]
pub struct MinCost {
    turns: Turns,
    /// Place of each operator in post-order, by [`OperatorId`]; `NOWHERE` if there was no such operator in
    /// the last round of ranking.
    places: Vec<u32>,
    walk: Walk,
}

/// Stored where an operator has no place in post-order, because it is new or has ended.
const NOWHERE: u32 = u32::MAX;

/// Buffers for the walk through the queries, kept between rounds of ranking to save allocations.
#[derive(Clone, Debug, Default)]
struct Walk {
    /// Operators that write the input of each operator, by [`OperatorId`].
    writers: Vec<Vec<OperatorId>>,
    /// Operators on the path from a sink to the present place of the walk, each with the number of its
    /// writers already walked.
    path: Vec<(OperatorId, usize)>,
}

impl Walk {
    /// Gives every operator its place in post-order: writers before readers, branch by branch.
    fn number(&mut self, snapshot: &Snapshot, places: &mut Vec<u32>) {
        let count = snapshot.operators.len();
        places.clear();
        places.resize(count, NOWHERE);
        self.writers.iter_mut().for_each(Vec::clear);
        self.writers.resize_with(count.max(self.writers.len()), Vec::new);
        let lives = |operator: &OperatorId| snapshot.operator(*operator).is_some();
        for &writer in snapshot.order.iter().filter(|operator| lives(operator)) {
            for reader in snapshot.readers(writer).iter().filter(|reader| lives(reader)) {
                self.writers[reader.0 as usize].push(writer);
            }
        }
        let is_root = |operator: &OperatorId| !snapshot.readers(*operator).iter().any(lives);
        let mut next = 0;
        for root in (0..count as u32).map(OperatorId).filter(lives).filter(is_root) {
            self.path.push((root, 0));
            while let Some((operator, walked)) = self.path.last_mut() {
                let place = &mut places[operator.0 as usize];
                if let Some(&writer) = self.writers[operator.0 as usize].get(*walked)
                    && *place == NOWHERE
                {
                    *walked += 1;
                    self.path.push((writer, 0));
                    continue;
                }
                // An operator with several readers is reached several times, but gets a place only once.
                if *place == NOWHERE {
                    (*place, next) = (next, next + 1);
                }
                self.path.pop();
            }
        }
    }
}

impl Policy for MinCost {
    fn name(&self) -> &'static str {
        NAME
    }

    fn reads(&self) -> Fields {
        Fields::PENDING | Fields::TOPOLOGY | Fields::FEEDBACK
    }

    fn scale(&self) -> Scale {
        Scale::Ordinal
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        self.turns.begin_round();
        self.walk.number(snapshot, &mut self.places);
    }

    #[inline]
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        snapshot.operator(operator).filter(|state| state.can_run())?;
        let tie = self.places.get(operator.0 as usize).copied().unwrap_or(NOWHERE);
        Some(Rank { class: 0, score: self.turns.score(operator), tie })
    }

    fn feedback(&mut self, done: &Completion) {
        self.turns.take(done.operator);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_bed::{Bed, Task, graph};

    /// Returns the operators in the order of their places in post-order, one letter each.
    fn order(readers: &[&[u32]]) -> String {
        let rows: Vec<(f64, f64, &[u32])> = readers.iter().map(|readers| (1.0, 1.0, *readers)).collect();
        let mut policy = MinCost::default();
        policy.prepare(&graph(&rows));
        let mut numbered: Vec<(u32, u8)> = policy.places.iter().copied().zip(b'A'..).collect();
        numbered.sort_unstable();
        numbered.into_iter().map(|(_, letter)| char::from(letter)).collect()
    }

    /// Post-order in a join of two branches, A-C and B-D, into E; then in two queries of which the second
    /// comes first in the graph.
    #[test]
    fn branches_are_walked_through_one_after_the_other() {
        assert_eq!(order(&[&[2], &[3], &[4], &[4], &[]]), "ACBDE");
        assert_eq!(order(&[&[3], &[2], &[], &[]]), "BCAD");
        // Operator A is read by B and by C, which both feed D.
        assert_eq!(order(&[&[1, 2], &[3], &[3], &[]]), "ABCD");
        assert_eq!(order(&[]), "");
    }

    /// Two queries of three operators, each with a source on demand: in a cycle every operator has one turn,
    /// query by query.
    #[test]
    fn a_cycle_goes_through_one_query_and_then_the_next() {
        let chain = |first: u32, query| {
            [Some(first + 1), Some(first + 2), None].map(|reader| {
                let readers: Vec<u32> = reader.into_iter().collect();
                Task {
                    query,
                    is_on_demand: readers == [first + 1],
                    room_records: 400,
                    ..Task::new(10, 1.0, &readers)
                }
            })
        };
        let tasks = chain(0, 0).into_iter().chain(chain(3, 1)).collect();
        let mut bed = Bed::new(Box::new(MinCost::default()), 10, tasks);
        assert_eq!(bed.steps(18), "ABCDEFABCDEFABCDEF");
    }
}
