//! What it takes to get one record out of a query from where an operator stands: output selectivity and output cost,
//! which `enjima` and `min_latency` rank by.
//!
//! ```text
//!   S(i) = s(i) * max over readers k of S(k)         records out of the query per record into i; at a sink s(i)
//!   own(i) = c(i) / S(i)                             what i spends for one of them
//!
//!   Path      C(i) = own(i) + sum of own(k) over every k downstream, each once
//!   Printed   C(i) = own(i) + sum of own(k) over the readers k of i
//!   Code      C(i) = own(i) + sum of CUM(k) over the readers k of i,   CUM(i) = C(i) + the same sum
//! ```
//!
//! Source: Enjima (SIGMOD 2025), section 3.2.1, Eq. 1 for S and Eq. 2 for `Printed`; its published program for `Code`,
//! which counts what is shared downstream once per way to it and twice per step; Carney et al., "Operator Scheduling in
//! a Data Stream Manager" (VLDB 2003), output cost of ML, for `Path`. As printed, an operator two steps before an
//! expensive one may rank above the one between them; with `Path`, and with `Code`, whatever stands downstream costs
//! less than what feeds it.
//!
//! Measured values are made fit first, so that every output cost is a finite number above zero and that order holds:
//! costs are taken within 0.1 ns and 1000 s, selectivities within a least one and 10^6, output selectivities within
//! 10^-15 and 10^15; a cost that is not above zero and a selectivity that is no number count as not measured. The least
//! selectivity, 1/1000, is ours: a window that has not fired in an interval has selectivity zero and would cost
//! infinitely much, though it is no further from its next result than one that has just fired. With the bound, both
//! cost about the same.

use crate::policy::downstream::Downstream;
use crate::snapshot::{OperatorId, OperatorState, Snapshot};

/// How costs are summed along the way to the sink.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OutputCost {
    /// Every operator downstream once, as in Aurora.
    #[default]
    Path,
    /// The direct readers only, as Eq. 2 is printed.
    Printed,
    /// Cumulative costs of the direct readers, as in Enjima's program.
    Code,
}

/// Default of the least selectivity: one record out per 1,000 records in.
pub const MIN_SELECTIVITY: f64 = 1e-3;

/// The bounds within which a cost is believed, in ns per record.
const COST_NS: std::ops::RangeInclusive<f64> = 0.1..=1e12;
/// Above this a selectivity is not believed.
const MAX_SELECTIVITY: f64 = 1e6;
/// The bounds of an output selectivity: products of many factors leave the range of doubles otherwise.
const OUTPUT_SELECTIVITY: std::ops::RangeInclusive<f64> = 1e-15..=1e15;
/// The bound of an output cost: `Code` doubles at every step, and there are 10^308 in doubles.
const MAX_OUTPUT_COST_NS: f64 = 1e300;

/// The output costs of all operators, as of the last update.
#[derive(Clone, Debug)]
pub(crate) struct OutputCosts {
    form: OutputCost,
    min_selectivity: f64,
    operators: Downstream<OutputCostOf>,
    walk: u64,
    /// Kept between walks, so that none allocates.
    to_visit: Vec<OperatorId>,
}

/// The output cost of one operator.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OutputCostOf {
    /// Output cost in ns per record out of the query.
    pub(crate) cost_ns: f64,
    /// Output selectivity.
    pub(crate) selectivity: f64,
    /// Place from the end of the topological order: what stands downstream comes first.
    pub(crate) place: u32,
    own_ns: f64,
    cumulative_ns: f64,
    /// The last walk that came by.
    walk: u64,
}

impl OutputCosts {
    /// No operators yet.
    pub(crate) fn new(form: OutputCost, min_selectivity: f64) -> Self {
        let least = *OUTPUT_SELECTIVITY.start();
        let min_selectivity = if min_selectivity > least { min_selectivity.min(1.0) } else { least };
        OutputCosts { form, min_selectivity, operators: Downstream::default(), walk: 0, to_visit: Vec::new() }
    }

    /// The output cost of `operator`, if it lived at the last update.
    #[inline]
    pub(crate) fn of(&self, operator: OperatorId) -> Option<&OutputCostOf> {
        self.operators.of(operator)
    }

    /// Computes all of them anew: one pass from the sinks up. With `Path` an operator with several readers adds a
    /// walk over what is downstream of it, since branches may meet again.
    pub(crate) fn update(&mut self, snapshot: &Snapshot) {
        self.operators.begin(snapshot);
        for (place, &operator) in snapshot.order.iter().rev().enumerate() {
            if let Some(state) = snapshot.operator(operator) {
                let of = self.compute(snapshot, operator, state);
                self.operators.set(operator, OutputCostOf { place: place as u32, ..of });
            }
        }
    }

    /// The output cost of an operator from those of its readers.
    fn compute(&mut self, snapshot: &Snapshot, operator: OperatorId, state: &OperatorState) -> OutputCostOf {
        let (mut reader_count, mut best_selectivity, mut largest_ns) = (0, 0.0f64, 0.0f64);
        let (mut own_sum_ns, mut cumulative_sum_ns) = (0.0, 0.0);
        for reader in self.operators.of_readers(snapshot, operator) {
            reader_count += 1;
            best_selectivity = best_selectivity.max(reader.selectivity);
            largest_ns = largest_ns.max(reader.cost_ns);
            own_sum_ns += reader.own_ns;
            cumulative_sum_ns += reader.cumulative_ns;
        }
        let best_selectivity = if reader_count == 0 { 1.0 } else { best_selectivity };
        let (least, most) = OUTPUT_SELECTIVITY.into_inner();
        let selectivity = (selectivity(state, self.min_selectivity) * best_selectivity).clamp(least, most);
        let own_ns = cost_ns(state) / selectivity;
        let downstream_ns = match self.form {
            OutputCost::Path if reader_count <= 1 => largest_ns,
            // Summed in another order than the readers were: rounding must not make it less than one of them.
            OutputCost::Path => self.walk_ns(snapshot, operator).max(largest_ns),
            OutputCost::Printed => own_sum_ns,
            OutputCost::Code => cumulative_sum_ns,
        };
        let cost_ns = (own_ns + downstream_ns).min(MAX_OUTPUT_COST_NS);
        let cumulative_ns = (cost_ns + cumulative_sum_ns).min(MAX_OUTPUT_COST_NS);
        OutputCostOf { cost_ns, selectivity, place: 0, own_ns, cumulative_ns, walk: 0 }
    }

    /// The sum of the own costs of everything downstream of `operator`, each once.
    fn walk_ns(&mut self, snapshot: &Snapshot, operator: OperatorId) -> f64 {
        self.walk += 1;
        let mut sum_ns = 0.0;
        self.to_visit.extend_from_slice(snapshot.readers(operator));
        while let Some(operator) = self.to_visit.pop() {
            let Some(of) = self.operators.of_mut(operator) else { continue };
            if of.walk < self.walk {
                of.walk = self.walk;
                sum_ns += of.own_ns;
                self.to_visit.extend_from_slice(snapshot.readers(operator));
            }
        }
        sum_ns
    }

    /// What an operator that was not there at the last update spends itself: as if it were a sink.
    pub(crate) fn alone_ns(&self, state: &OperatorState) -> f64 {
        cost_ns(state) / selectivity(state, self.min_selectivity)
    }
}

/// The selectivity of `state`, made fit: finite, and not below `least`, which is.
#[inline]
pub(crate) fn selectivity(state: &OperatorState, least: f64) -> f64 {
    let selectivity = if state.selectivity.is_nan() { 1.0 } else { state.selectivity };
    selectivity.clamp(least, MAX_SELECTIVITY)
}

/// The cost of `state` in ns per record, made fit: finite and above zero.
#[inline]
pub(crate) fn cost_ns(state: &OperatorState) -> f64 {
    let (least, most) = COST_NS.into_inner();
    let cost_ns = state.cost_ns_per_record;
    // Not a number is not above zero either. Nothing costs nothing: a quantum by such a cost would be endless.
    if cost_ns > 0.0 { cost_ns.clamp(least, most) } else { OperatorState::ASSUMED_COST_NS_PER_RECORD }
}

#[cfg(test)]
mod tests;
