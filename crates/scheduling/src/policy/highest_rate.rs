//! `highest_rate`: the operator that puts the most records out of its query per time runs next, for one block.
//!
//! Paper      Sharaf et al., "Efficient Scheduling of Heterogeneous Continuous Queries" (VLDB 2006), HR; a baseline in
//!            Enjima (SIGMOD 2025), section 5.1.2, and in Klink (SIGMOD 2021)
//! Score      S(i) / C(i) with S(i) = s(i) * sum of S(k), C(i) = c(i) + s(i) * sum of C(k) over the readers k of i; at a
//!            sink s(i) / c(i): records out of the query, and the time that this takes, per record into i
//! Eligible   pending > 0 and every output has room
//! Quantum    one block, which is a batch here
//! Starves    an operator that puts out little for its cost, while the others keep the workers busy: by definition.
//!            The variant `highest_rate+ageing` bounds the wait
//! Differs    each of n parallel copies of an operator adds 1/n of its S and C to the sums of i, since a record goes to
//!            one copy only; the paper has no copies. A selectivity below 1/1000 counts as 1/1000: a window that did
//!            not fire in an interval would have no rate at all

use crate::parameters::Parameter;
use crate::policy::downstream::Downstream;
use crate::policy::output_cost::{MIN_SELECTIVITY, cost_ns, selectivity};
use crate::policy::{Policy, Scale};
use crate::rank::Rank;
use crate::snapshot::{Fields, OperatorId, OperatorState, Snapshot};

/// The name by which users choose the policy "highest rate".
pub const NAME: &str = "highest_rate";
/// The name of the policy "highest rate" with a bounded wait.
pub const AGEING_NAME: &str = "highest_rate+ageing";

/// Upper bound of the paper's S (records out of the query) and C (cost in ns), because products of many
/// factors would leave the range of doubles.
const MOST: f64 = 1e300;

/// The policy "highest rate": the operator with the highest output rate runs first.
#[derive(Clone, Debug, Default)]
pub struct HighestRate {
    operators: Downstream<Rate>,
}

/// Output rate of an operator, kept as its two parts, S and C, each for one record that the operator takes.
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    /// The paper's S: number of records that leave the query per record into this operator.
    selectivity: f64,
    /// The paper's C: nanoseconds spent on a record from this operator down to the sinks.
    cost_ns: f64,
    /// Share of the records in front of the operator that it takes: below 1 if it is one of several copies.
    share: f64,
    /// Place of the operator in the topological order, counted from its end (0 is the last), so that
    /// downstream operators come first.
    place: u32,
}

impl Rate {
    /// Creates the output rate of an operator, from the sums of S and of C over the operators that read its
    /// output.
    fn of(state: &OperatorState, selectivity_behind: f64, cost_behind_ns: f64, place: u32) -> Self {
        let own = selectivity(state, MIN_SELECTIVITY);
        Rate {
            selectivity: (own * selectivity_behind).clamp(1.0 / MOST, MOST),
            cost_ns: (cost_ns(state) + own * cost_behind_ns).min(MOST),
            share: state.share_of_input(),
            place,
        }
    }

    fn score(self) -> f64 {
        self.selectivity / self.cost_ns
    }
}

impl Policy for HighestRate {
    fn name(&self) -> &'static str {
        NAME
    }

    fn reads(&self) -> Fields {
        Fields::PENDING | Fields::COST_AND_SELECTIVITY | Fields::TOPOLOGY
    }

    fn scale(&self) -> Scale {
        Scale::Ratio
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::whole("round_ns", self.round_ns()),
            Parameter::real("min_selectivity", MIN_SELECTIVITY),
        ]
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        self.operators.begin(snapshot);
        for (&operator, place) in snapshot.order.iter().rev().zip(0..) {
            let Some(state) = snapshot.operator(operator) else { continue };
            let sum = |sum: Option<(f64, f64)>, of: &Rate| {
                let (selectivity, cost_ns) = sum.unwrap_or_default();
                Some((selectivity + of.share * of.selectivity, cost_ns + of.share * of.cost_ns))
            };
            let behind = self.operators.of_readers(snapshot, operator).fold(None, sum);
            let (selectivity, cost_ns) = behind.unwrap_or((1.0, 0.0));
            self.operators.set(operator, Rate::of(state, selectivity, cost_ns, place));
        }
    }

    #[inline]
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        let state = snapshot.operator(operator).filter(|state| state.can_run())?;
        // An operator that was submitted since the last round of ranking counts as if it were a sink.
        let of = self.operators.of(operator).copied();
        let of = of.unwrap_or_else(|| Rate::of(state, 1.0, 0.0, operator.0));
        Some(Rank { class: 0, score: of.score(), tie: of.place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_bed::{Row, graph, scores, with_copies};

    /// The output rate of an operator includes everything downstream. By hand, rate is records out per time:
    /// D 1/4; C .5/10; B .2 * (1 + .5) = .3 for 2 + .2 * (4 + 10) = 4.8; A 2 * .3 = .6 for 1 + 2 * 4.8 =
    /// 10.6.
    #[test]
    fn rates_are_those_of_all_that_stands_downstream() {
        let snapshot = graph(&[(1.0, 2.0, &[1]), (2.0, 0.2, &[2, 3]), (10.0, 0.5, &[]), (4.0, 1.0, &[])]);
        let found = scores(&mut HighestRate::default(), &snapshot);
        let expected = [0.6 / 10.6, 0.3 / 4.8, 0.05, 0.25];
        assert!(
            found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12),
            "{found:?}"
        );
    }

    /// The first operator stands in front of so many others, each of which is one of `copies` copies. By hand, with
    /// any number of copies: S is .5 * .5, C is 1 + .5 * 4. With two branches, S is .5 * (.5 + .5) and C is 1 + .5 * 8.
    #[test]
    fn copies_count_as_one_operator() {
        let first = |count: u32, copies: u32| {
            let (readers, none): (Vec<u32>, &[u32]) = ((1..=count).collect(), &[]);
            let mut rows: Vec<Row<'_>> = vec![(1.0, 0.5, &readers[..])];
            rows.extend((0..count).map(|_| (4.0, 0.5, none)));
            let mut copies_of = vec![copies; rows.len()];
            copies_of[0] = 1;
            scores(&mut HighestRate::default(), &with_copies(graph(&rows), &copies_of))[0]
        };
        assert_eq!([1, 2, 4].map(|count| first(count, count)), [0.25 / 3.0; 3]);
        assert_eq!(first(2, 1), 0.5 / 5.0);
    }

    /// An operator that did not fire in an interval has an output rate above zero. An operator with costs
    /// that are not measured or out of range has a finite rate.
    #[test]
    fn rates_are_finite_and_above_zero() {
        let chain = |selectivity: f64| {
            let readers: Vec<u32> = (1..20).collect();
            let mut tasks: Vec<(f64, f64, &[u32])> =
                readers.chunks(1).map(|reader| (f64::NAN, selectivity, reader)).collect();
            tasks.push((0.0, selectivity, &[]));
            scores(&mut HighestRate::default(), &graph(&tasks))
        };
        for selectivity in [0.0, 1e-9, 1e300, f64::NAN, f64::INFINITY] {
            let found = chain(selectivity);
            assert!(found.iter().all(|score| score.is_finite() && *score > 0.0), "{selectivity}: {found:?}");
        }
    }
}
