//! `chain`: the operator that frees the most memory per time runs next, for one block.
//!
//! ```text
//!   share of a record  1 |*
//!   that is in memory    | \          from each operator: the steepest line to any point behind it.
//!                        |  *___      From A it leads past B, which frees little by itself
//!                        |      \__
//!                      0 |---A---B-*C-->  time spent on it
//! ```
//!
//! Paper      Babcock et al., "Chain: Operator Scheduling for Memory Minimization in Data Stream Systems" (SIGMOD 2003)
//! Score      the steepest slope of the lower envelope of the progress chart, from where the operator stands: the greatest,
//!            over all k behind it, of (Z_j - Z_k) / (T_k - T_j) with T_i = T_(i-1) + c_i Z_(i-1), Z_i = Z_(i-1) s_i, and
//!            Z = 0 behind a sink, where records leave
//! Eligible   pending > 0 and every output has room
//! Quantum    one block, which is a batch here
//! Starves    an operator that frees little for its cost, while the others keep the workers busy: by definition. The
//!            variant `chain+ageing` bounds the wait
//! Differs    the chart of an operator in the middle of a line begins at that operator, so it ranks above the first
//!            operator of the line. An operator with several readers follows the reader whose slope is steepest: the
//!            paper's queries are paths

use crate::policy::downstream::Downstream;
use crate::policy::output_cost::{cost_ns, selectivity};
use crate::policy::{Policy, Scale};
use crate::rank::Rank;
use crate::snapshot::{Fields, OperatorId, OperatorState, Snapshot};

/// The name by which users choose the Chain policy.
pub const NAME: &str = "chain";
/// The name of the Chain policy with a bounded wait.
pub const AGEING_NAME: &str = "chain+ageing";

/// Upper bound of times (in ns) and shares along a line of the progress chart, because products of many
/// factors would leave the range of doubles.
const MOST: f64 = 1e300;

/// The Chain policy: the operator with the steepest descent (memory freed per time) runs first.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    operators: Downstream<Descent>,
}

/// First line of the lower envelope of the progress chart, from an operator on. The chart shows the share of
/// a record that is left in memory over the time spent on it (see the head of this module).
#[derive(Clone, Copy, Debug, Default)]
struct Descent {
    /// Nanoseconds that the operators along this line of the progress chart spend, per record that the first
    /// of them takes.
    nanos: f64,
    /// Share of a record that is left in memory at the end of this line of the progress chart.
    left: f64,
    /// The operator at which the next line of the envelope begins; `None` if this line ends at a sink.
    behind: Option<OperatorId>,
    /// Place of the operator in the topological order, counted from its end (0 is the last), so that
    /// downstream operators come first.
    place: u32,
}

impl Descent {
    /// Creates the line of the progress chart (memory left over time spent) that covers this operator only.
    fn alone(state: &OperatorState, is_sink: bool, place: u32) -> Self {
        // The selectivity has no lower bound, because an operator that frees all memory of a record is best.
        let left = if is_sink { 0.0 } else { selectivity(state, 0.0) };
        Descent { nanos: cost_ns(state), left, behind: None, place }
    }

    fn slope(self) -> f64 {
        (1.0 - self.left) / self.nanos
    }

    /// Merges this line of the progress chart with the line that follows it into one line from the start of
    /// the first to the end of the second.
    fn then(self, next: Descent) -> Self {
        Descent {
            nanos: (self.nanos + self.left * next.nanos).min(MOST),
            left: (self.left * next.left).min(MOST),
            behind: next.behind,
            ..self
        }
    }
}

impl Policy for Chain {
    fn name(&self) -> &'static str {
        NAME
    }

    fn reads(&self) -> Fields {
        Fields::PENDING | Fields::COST_AND_SELECTIVITY | Fields::TOPOLOGY
    }

    fn scale(&self) -> Scale {
        Scale::Interval
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        self.operators.begin(snapshot);
        for (&operator, place) in snapshot.order.iter().rev().zip(0..) {
            let Some(state) = snapshot.operator(operator) else { continue };
            let steepest = |first: Option<OperatorId>, reader: OperatorId| {
                let slope = |id| self.operators.of(id).map(|of| of.slope());
                if slope(reader) > first.and_then(slope) { Some(reader) } else { first }
            };
            let behind = snapshot.readers(operator).iter().copied().fold(None, steepest);
            let mut descent = Descent { behind, ..Descent::alone(state, behind.is_none(), place) };
            // On the lower envelope of the progress chart, slopes fall downstream. So as long as the next
            // line is steeper than this line, the two lines are merged.
            while let Some(next) = descent.behind.and_then(|behind| self.operators.of(behind))
                && next.slope() > descent.slope()
            {
                descent = descent.then(*next);
            }
            self.operators.set(operator, descent);
        }
    }

    #[inline]
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        let state = snapshot.operator(operator).filter(|state| state.can_run())?;
        // An operator that was submitted since the last round of ranking counts as if it were the only one of
        // its query.
        let of = self.operators.of(operator).copied();
        let of = of.unwrap_or_else(|| Descent::alone(state, state.is_sink, operator.0));
        Some(Rank { class: 0, score: of.slope(), tie: of.place })
    }
}

#[cfg(test)]
mod tests {
    use thalweg_model::{Entropy, SeededEntropy};

    use super::*;
    use crate::test_bed::{graph, scores};

    #[track_caller]
    fn check(tasks: &[(f64, f64, &[u32])], expected: &[f64]) {
        let found = scores(&mut Chain::default(), &graph(tasks));
        let is_near = |(found, expected): (&f64, &f64)| (found - expected).abs() < 1e-12;
        assert!(found.iter().zip(expected).all(is_near), "{found:?}, not {expected:?}");
    }

    /// The paper's first example, with the slopes .8 and .2. One operator frees four fifths of a record in
    /// one unit of time. The other frees the last fifth in another unit, which is five units for a whole
    /// record.
    #[test]
    fn the_example_of_the_paper() {
        check(&[(1.0, 0.2, &[1]), (5.0, 0.0, &[])], &[0.8, 0.2]);
    }

    /// Operator A frees a tenth of a record, and B behind it nine tenths: together .91 in 1.9 units of time.
    /// With C, a sink, they free all in 1.99, which is steeper. B with C frees all in 1.1. An operator that
    /// multiplies records has a negative slope by itself.
    #[test]
    fn a_line_leads_past_who_frees_little() {
        check(&[(1.0, 0.9, &[1]), (1.0, 0.1, &[2]), (1.0, 1.0, &[])], &[1.0 / 1.99, 1.0 / 1.1, 1.0]);
        check(&[(1.0, 4.0, &[1]), (2.0, 0.5, &[2]), (100.0, 1.0, &[])], &[1.0 / 209.0, 0.25, 0.01]);
    }

    /// Operator A has two readers: B, which frees nothing, and C, which frees all of a record. The line of A
    /// leads to C.
    #[test]
    fn of_several_readers_the_steepest_counts() {
        check(&[(1.0, 1.0, &[1, 2]), (10.0, 1.0, &[]), (1.0, 1.0, &[])], &[0.5, 0.1, 1.0]);
    }

    /// Compares the slopes with the definition: the greatest of all slopes from an operator along its path.
    #[test]
    fn equals_the_greatest_of_all_slopes() {
        for seed in 0..200 {
            let mut entropy = SeededEntropy::new(seed);
            let count = 1 + entropy.below(12) as usize;
            let next: Vec<u32> = (1..count as u32).collect();
            let mut task = |id: usize| {
                let reader = next.get(id..id + 1).unwrap_or_default();
                (1.0 + entropy.below(9) as f64, entropy.below(20) as f64 / 10.0, reader)
            };
            let tasks: Vec<_> = (0..count).map(&mut task).collect();
            let greatest = |first: usize| {
                let (mut at, mut left, mut greatest) = (0.0, 1.0, f64::NEG_INFINITY);
                for (id, (cost, selectivity, _)) in tasks.iter().enumerate().skip(first) {
                    at += cost * left;
                    left = if id + 1 < count { left * selectivity } else { 0.0 };
                    greatest = greatest.max((1.0 - left) / at);
                }
                greatest
            };
            check(&tasks, &(0..count).map(greatest).collect::<Vec<_>>());
        }
    }
}
