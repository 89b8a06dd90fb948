//! Output selectivity and output cost: the cost of getting one record out of a query, counted from an operator on.
//! `enjima` and `min_latency` rank by it.
//!
//! ```text
//!   S(i) = s(i) * max over readers k of S(k)         records out of the query per record into i; at a sink s(i)
//!   own(i) = c(i) / S(i)                             cost of i itself per such record
//!
//!   Path      C(i) = own(i) + sum of w(k) own(k) over every k downstream, each once
//!   Printed   C(i) = own(i) + sum of own(k) / copies(k) over the readers k of i
//!   Code      C(i) = own(i) + sum of CUM(k) / copies(k) over the readers k of i,   CUM(i) = C(i) + the same sum
//!
//!   w(i) = 1,   w(k) = the lesser of 1 and the sum of w(j) / copies(k) over the writers j of k, from i on
//! ```
//!
//! The papers have no copies: copies(k) and w(k) are ours, and are 1 where no operator has parallel copies. A record
//! goes to one of the copies of an operator only, and a copy is not another operator, so the operator counts with the
//! mean of its copies. With `Path` and with `Code`, C(i) is at least own(i) and the C of the costliest reader, so a copy
//! that costs far more than the others counts in full. w(k) is the share of the records into i that lead to k. Where
//! branches meet again, and where all copies meet, it is 1. If branches of one copy meet again before the copies do, it
//! is too large, at most by the number of these branches. S takes the largest of the copies, as of branches: copies run
//! the same chain.
//!
//! Source: Enjima (SIGMOD 2025), section 3.2.1, Eq. 1 for S and Eq. 2 for `Printed`; its published program for
//! `Code`, which counts a shared downstream operator once per path to it and twice per step; Carney et al., "Operator
//! Scheduling in a Data Stream Manager" (VLDB 2003), output cost of ML, for `Path`. With `Printed`, an operator two
//! steps before an expensive one may rank above the operator between them. With `Path` and with `Code`, a downstream
//! operator always costs less than the operators that feed it.
//!
//! Measured values are clamped first, so that every output cost is a finite number above zero and that order holds.
//! Costs are clamped to 0.1 ns and 1000 s, selectivities to a lower bound and 10^6, output selectivities to 10^-15
//! and 10^15. A cost that is not above zero and a selectivity that is not a number count as not measured. The lower
//! bound of selectivity, 1/1000, is ours: a window that did not fire in an interval has selectivity zero and would
//! cost infinitely much, though it is no further from its next result than one that has just fired. With the bound,
//! both cost about the same.

use std::collections::BinaryHeap;

use crate::policy::downstream::Downstream;
use crate::snapshot::{OperatorId, OperatorState, Snapshot};

/// The way in which costs are summed from an operator to the sink.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OutputCost {
    /// In the sum of costs, every downstream operator counts once, as in Aurora; its copies count together.
    #[default]
    Path,
    /// In the sum of costs, only the direct readers count, as Eq. 2 is printed in the Enjima paper.
    Printed,
    /// The cumulative costs of the direct readers are added, as in Enjima's program.
    Code,
}

/// Default lower bound of a selectivity: one record out per 1,000 records in.
pub const MIN_SELECTIVITY: f64 = 1e-3;

/// Least and greatest cost of an operator, in ns per record. Measured costs are clamped to this range.
const COST_NS: std::ops::RangeInclusive<f64> = 0.1..=1e12;
/// Greatest selectivity of an operator (records out per record in). Measured selectivities are clamped to it.
const MAX_SELECTIVITY: f64 = 1e6;
/// Least and greatest output selectivity (records out of the query per record into an operator). Values are
/// clamped to this range, because products of many factors would leave the range of doubles.
const OUTPUT_SELECTIVITY: std::ops::RangeInclusive<f64> = 1e-15..=1e15;
/// Greatest output cost, in ns per record that leaves the query. With the form `Code` the cost doubles from
/// each operator to the one before it, and doubles end at about 10^308.
const MAX_OUTPUT_COST_NS: f64 = 1e300;

/// Output costs of all operators, as of the last update: the cost of getting one record out of the query,
/// counted from the operator on.
#[derive(Clone, Debug)]
pub(crate) struct OutputCosts {
    form: OutputCost,
    min_selectivity: f64,
    operators: Downstream<OutputCostOf>,
    walk: u64,
    /// Buffer for the walk over downstream operators, kept between walks to save allocations: operators with
    /// their places in topological order, of which the one furthest upstream comes out first.
    to_visit: BinaryHeap<(u32, OperatorId)>,
}

/// Output cost of one operator, with the values from which the costs of the operators that write its input
/// are computed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutputCostOf {
    /// Output cost in ns per record that leaves the query.
    pub(crate) cost_ns: f64,
    /// Output selectivity: records that leave the query per record into this operator.
    pub(crate) selectivity: f64,
    /// Place of the operator in the topological order, counted from its end (0 is the last), so that
    /// downstream operators come first.
    pub(crate) place: u32,
    own_ns: f64,
    cumulative_ns: f64,
    /// Share of the records in front of the operator that it takes: below 1 if it is one of several copies.
    share: f64,
    /// Number of the last walk over downstream operators that visited this operator. Walks are counted from
    /// the first update on.
    walk: u64,
    /// Share of the records of the operator at which the last walk began that lead to this operator; above 1 if
    /// several branches lead there.
    weight: f64,
}

impl OutputCosts {
    pub(crate) fn new(form: OutputCost, min_selectivity: f64) -> Self {
        let least = *OUTPUT_SELECTIVITY.start();
        let min_selectivity = if min_selectivity > least { min_selectivity.min(1.0) } else { least };
        let (operators, to_visit) = (Downstream::default(), BinaryHeap::new());
        OutputCosts { form, min_selectivity, operators, walk: 0, to_visit }
    }

    /// Returns the output cost of `operator`; `None` if there was no such operator at the last update.
    #[inline]
    pub(crate) fn of(&self, operator: OperatorId) -> Option<&OutputCostOf> {
        self.operators.of(operator)
    }

    /// Computes all output costs anew, in one pass from the sinks up. With the form `Path`, an operator with
    /// several readers needs a walk over its downstream operators, because branches may meet again.
    pub(crate) fn update(&mut self, snapshot: &Snapshot) {
        self.operators.begin(snapshot);
        for (place, &operator) in snapshot.order.iter().rev().enumerate() {
            if let Some(state) = snapshot.operator(operator) {
                let of = self.compute(snapshot, operator, state);
                self.operators.set(operator, OutputCostOf { place: place as u32, ..of });
            }
        }
    }

    /// Computes the output cost of an operator from the output costs of its readers.
    fn compute(&mut self, snapshot: &Snapshot, operator: OperatorId, state: &OperatorState) -> OutputCostOf {
        let (mut reader_count, mut best_selectivity, mut largest_ns) = (0, 0.0f64, 0.0f64);
        let (mut own_sum_ns, mut cumulative_sum_ns) = (0.0, 0.0);
        for reader in self.operators.of_readers(snapshot, operator) {
            reader_count += 1;
            best_selectivity = best_selectivity.max(reader.selectivity);
            largest_ns = largest_ns.max(reader.cost_ns);
            own_sum_ns += reader.share * reader.own_ns;
            cumulative_sum_ns += reader.share * reader.cumulative_ns;
        }
        let best_selectivity = if reader_count == 0 { 1.0 } else { best_selectivity };
        let (least, most) = OUTPUT_SELECTIVITY.into_inner();
        let selectivity = (selectivity(state, self.min_selectivity) * best_selectivity).clamp(least, most);
        let own_ns = cost_ns(state) / selectivity;
        let downstream_ns = match self.form {
            OutputCost::Path if reader_count <= 1 => largest_ns,
            // The mean of copies may be less than the cost of one of them. And the walk adds the costs in another
            // order than was done for the readers of the operator, so rounding could make the sum less than the
            // cost of a reader. The greater of the two is taken, so that a reader never costs more.
            OutputCost::Path => self.walk_ns(snapshot, operator).max(largest_ns),
            OutputCost::Printed => own_sum_ns,
            OutputCost::Code => cumulative_sum_ns.max(largest_ns),
        };
        let cost_ns = (own_ns + downstream_ns).min(MAX_OUTPUT_COST_NS);
        let cumulative_ns = (cost_ns + cumulative_sum_ns).min(MAX_OUTPUT_COST_NS);
        let share = state.share_of_input();
        OutputCostOf { cost_ns, selectivity, place: 0, own_ns, cumulative_ns, share, walk: 0, weight: 0.0 }
    }

    /// Returns the sum of the costs of all operators downstream of `operator`, each counted once, with the share of
    /// the records that lead to it.
    fn walk_ns(&mut self, snapshot: &Snapshot, operator: OperatorId) -> f64 {
        self.walk += 1;
        let mut sum_ns = 0.0;
        self.reach(snapshot.readers(operator), 1.0);
        // An operator comes out of the heap before the operators that read its output. So its weight, the
        // share of records that lead to it, is complete when it is used.
        while let Some((_, operator)) = self.to_visit.pop() {
            let Some(of) = self.operators.of(operator) else { continue };
            let weight = of.weight.min(1.0);
            sum_ns += weight * of.own_ns;
            self.reach(snapshot.readers(operator), weight);
        }
        sum_ns
    }

    /// Adds to the weight of each of an operator's `readers`, and queues those for the walk over downstream
    /// operators that it has not reached yet. `weight` is the share of records that lead to the operator.
    fn reach(&mut self, readers: &[OperatorId], weight: f64) {
        for &reader in readers {
            let Some(of) = self.operators.of_mut(reader) else { continue };
            if of.walk < self.walk {
                (of.walk, of.weight) = (self.walk, 0.0);
                self.to_visit.push((of.place, reader));
            }
            of.weight += weight * of.share;
        }
    }

    /// Returns the output cost of an operator that was absent at the last update: it counts as a sink.
    pub(crate) fn alone_ns(&self, state: &OperatorState) -> f64 {
        cost_ns(state) / selectivity(state, self.min_selectivity)
    }
}

/// Returns the measured selectivity of an operator, clamped so that it is finite and at least `least`.
#[inline]
pub(crate) fn selectivity(state: &OperatorState, least: f64) -> f64 {
    let selectivity = if state.selectivity.is_nan() { 1.0 } else { state.selectivity };
    selectivity.clamp(least, MAX_SELECTIVITY)
}

/// Returns the measured cost of an operator in ns per record, clamped so that it is finite and above zero.
#[inline]
pub(crate) fn cost_ns(state: &OperatorState) -> f64 {
    let (least, most) = COST_NS.into_inner();
    let cost_ns = state.cost_ns_per_record;
    // A cost that is NaN is not above zero either. A cost of zero would make a quantum that is computed from
    // it endless.
    if cost_ns > 0.0 { cost_ns.clamp(least, most) } else { OperatorState::ASSUMED_COST_NS_PER_RECORD }
}

#[cfg(test)]
mod tests;
