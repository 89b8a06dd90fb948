//! Costs of messages in Cameo: C_oM at their own operator, and C_path on the costliest path from there to a
//! sink.
//!
//! ```text
//!   C_path(o) = max over the readers r of o of C_oM(r) + C_path(r)         at a sink 0
//! ```
//!
//! Source: Cameo (NSDI 2021), Algorithm 1, PREPAREREPLY; section 6.3, "Effect of Measurement Inaccuracies",
//! for the noise. A cost that is not above zero, or is NaN, counts as not measured; costs are limited to 1000
//! s.

use thalweg_model::{Entropy, SeededEntropy};

use crate::policy::downstream::Downstream;
use crate::snapshot::{OperatorId, OperatorState, Snapshot};

/// Upper bound of the cost of a message, in ns.
const MAX_COST_NS: f64 = 1e12;

/// Costs of messages; the costs of downstream operators are as of the last round of ranking.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    paths: Downstream<Path>,
    noise: Noise,
}

#[derive(Clone, Copy, Debug, Default)]
struct Path {
    /// C_oM: cost in ns of a message at this operator.
    own_ns: f64,
    /// C_path: cost in ns of a message on the costliest path from here to a sink.
    behind_ns: f64,
}

impl Costs {
    /// Creates message costs with random noise N(0, `noise_ns`) added to each.
    pub(super) fn new(noise_ns: u64, seed: u64) -> Self {
        let noise = Noise { sigma_ns: noise_ns as f64, entropy: SeededEntropy::new(seed), drawn: Vec::new() };
        Costs { paths: Downstream::default(), noise }
    }

    /// Draws new random noise for all costs. Called at the beginning of each round of ranking.
    pub(super) fn draw_noise(&mut self, snapshot: &Snapshot) {
        self.noise.draw(snapshot.operators.len());
    }

    /// Computes C_path, the cost of the path to a sink, for all operators, from the sinks up.
    pub(super) fn sum_paths(&mut self, snapshot: &Snapshot) {
        self.paths.begin(snapshot);
        for &operator in snapshot.order.iter().rev() {
            let Some(state) = snapshot.operator(operator) else { continue };
            let readers = self.paths.of_readers(snapshot, operator);
            let behind_ns = readers.map(|path| path.own_ns + path.behind_ns).reduce(f64::max).unwrap_or(0.0);
            let own_ns = self.message_ns(state, operator);
            self.paths.set(operator, Path { own_ns, behind_ns });
        }
    }

    /// Returns C_oM, the cost of a message at its own operator, in ns.
    #[inline]
    pub(super) fn message_ns(&self, state: &OperatorState, operator: OperatorId) -> f64 {
        let cost_ns = state.cost_ns_per_run;
        // A cost that is NaN is not above zero either, so it counts as not measured.
        let measured_ns = if cost_ns > 0.0 { cost_ns } else { OperatorState::ASSUMED_COST_NS_PER_RUN };
        measured_ns.min(MAX_COST_NS) + self.noise.of(operator)
    }

    /// Returns C_path, the cost of the path from an operator to a sink, in ns. An operator that was submitted
    /// since the last round of ranking counts as if it were a sink.
    #[inline]
    pub(super) fn path_ns(&self, operator: OperatorId) -> f64 {
        self.paths.of(operator).map_or(0.0, |path| path.behind_ns)
    }
}

/// Random errors of measured costs, for an experiment of the paper.
#[derive(Clone, Debug)]
struct Noise {
    sigma_ns: f64,
    entropy: SeededEntropy,
    /// Error of each operator's cost in this round of ranking, by [`OperatorId`]; empty if the deviation is
    /// zero.
    drawn: Vec<f64>,
}

impl Noise {
    fn draw(&mut self, count: usize) {
        self.drawn.clear();
        if self.sigma_ns > 0.0 {
            let Noise { sigma_ns, entropy, drawn } = self;
            drawn.extend((0..count).map(|_| *sigma_ns * normal(entropy)));
        }
    }

    #[inline]
    fn of(&self, operator: OperatorId) -> f64 {
        self.drawn.get(operator.0 as usize).copied().unwrap_or(0.0)
    }
}

/// Returns a random number of about N(0, 1), never beyond 6. It is a sum of 12 uniform numbers, which has the
/// variance 1. Unlike with logarithms, the result is the same to the bit on every machine.
fn normal(entropy: &mut SeededEntropy) -> f64 {
    (0..12).map(|_| entropy.unit()).sum::<f64>() - 6.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_bed::graph;

    /// Operators of a test as (cost of a run, readers).
    type Row<'a> = (f64, &'a [u32]);

    fn snapshot(rows: &[Row<'_>]) -> Snapshot {
        let of_graph: Vec<_> = rows.iter().map(|(_, readers)| (1.0, 1.0, *readers)).collect();
        let mut snapshot = graph(&of_graph);
        for (state, (cost_ns, _)) in snapshot.operators.iter_mut().flatten().zip(rows) {
            state.cost_ns_per_run = *cost_ns;
        }
        snapshot
    }

    fn paths(costs: &mut Costs, snapshot: &Snapshot) -> Vec<f64> {
        costs.draw_noise(snapshot);
        costs.sum_paths(snapshot);
        (0..snapshot.operators.len() as u32).map(|id| costs.path_ns(OperatorId(id))).collect()
    }

    #[track_caller]
    fn check(rows: &[Row<'_>], expected: &[f64]) {
        assert_eq!(paths(&mut Costs::new(0, 0), &snapshot(rows)), expected);
    }

    /// The cost of a path has only the operators downstream, not the operator's own cost.
    #[test]
    fn a_path_is_what_stands_downstream() {
        check(&[(7.0, &[])], &[0.0]);
        check(&[(1.0, &[1]), (20.0, &[2]), (300.0, &[])], &[320.0, 300.0, 0.0]);
    }

    /// A diamond-shaped query: the cost of the path is that of the branch C, which costs more, not the sum of
    /// both. In the second graph the longer path costs more, although its first operator costs less.
    #[test]
    fn of_several_ways_the_costliest_counts() {
        let diamond: &[Row<'_>] = &[(1.0, &[1, 2]), (5.0, &[3]), (9.0, &[3]), (2.0, &[])];
        check(diamond, &[11.0, 2.0, 2.0, 0.0]);
        check(&[(1.0, &[1, 2]), (9.0, &[]), (5.0, &[3]), (6.0, &[])], &[11.0, 0.0, 6.0, 0.0]);
    }

    /// Costs that were not measured are assumed, and extreme costs are bounded, so every sum of costs is
    /// finite.
    #[test]
    fn costs_are_made_fit() {
        for unmeasured in [0.0, -5.0, f64::NAN, f64::NEG_INFINITY] {
            check(&[(1.0, &[1]), (unmeasured, &[])], &[40_000.0, 0.0]);
        }
        check(&[(1.0, &[1]), (f64::INFINITY, &[2]), (1e300, &[])], &[2e12, 1e12, 0.0]);
    }

    /// Ended and unknown operators cost 0. An edge back to an operator that comes earlier in the order is not
    /// part of a path.
    #[test]
    fn only_who_lives_counts() {
        let mut ended = snapshot(&[(1.0, &[1, 2]), (50.0, &[3]), (9.0, &[77]), (2.0, &[0])]);
        ended.operators[1] = None;
        let mut costs = Costs::new(0, 0);
        assert_eq!(paths(&mut costs, &ended), [9.0, 0.0, 0.0, 0.0]);
        assert_eq!(costs.path_ns(OperatorId(u32::MAX)), 0.0);
        // A new operator that has the number of an ended one counts, with its own cost only.
        ended.operators[1] = Some(OperatorState { cost_ns_per_run: 30.0, ..OperatorState::default() });
        assert_eq!(paths(&mut costs, &ended), [32.0, 2.0, 0.0, 0.0]);
    }

    /// The random errors have mean 0 and deviation sigma: 68 % are within one sigma and 95 % within two, as
    /// in a normal distribution.
    #[test]
    fn noise_is_normal() {
        let mut noise = Noise { sigma_ns: 1_000.0, entropy: SeededEntropy::new(1), drawn: Vec::new() };
        noise.draw(100_000);
        let count = noise.drawn.len() as f64;
        let mean = noise.drawn.iter().sum::<f64>() / count;
        let variance = noise.drawn.iter().map(|drawn| drawn * drawn).sum::<f64>() / count;
        assert!(mean.abs() < 15.0, "{mean}");
        assert!((variance.sqrt() - 1_000.0).abs() < 15.0, "{variance}");
        for (sigmas, share) in [(1.0, 0.683), (2.0, 0.954)] {
            let within = noise.drawn.iter().filter(|drawn| drawn.abs() < sigmas * 1_000.0).count();
            assert!((within as f64 / count - share).abs() < 0.01, "{within} within {sigmas}");
        }
    }

    /// The random errors of costs are drawn anew in each round and follow from the seed. They stay the same
    /// during a round, and are included in the operator's own cost and in the cost of the path.
    #[test]
    fn noise_is_of_a_round_and_a_seed() {
        let snapshot = snapshot(&[(1.0, &[1]), (20.0, &[2]), (300.0, &[])]);
        let mut costs = Costs::new(1_000_000, 5);
        let first = paths(&mut costs, &snapshot);
        let state = snapshot.operator(OperatorId(2)).unwrap();
        assert_eq!(costs.message_ns(state, OperatorId(2)), first[1]);
        assert!(first[2] == 0.0 && (first[1] - 300.0).abs() > 1.0);
        assert_ne!(paths(&mut costs, &snapshot), first);
        assert_eq!(paths(&mut Costs::new(1_000_000, 5), &snapshot), first);
        assert_ne!(paths(&mut Costs::new(1_000_000, 6), &snapshot), first);
    }
}
