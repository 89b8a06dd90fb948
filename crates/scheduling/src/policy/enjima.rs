//! `enjima`: among the operators with enough input to be worth a run, the one with the least output cost runs next,
//! with some preference for queries whose latency rises.
//!
//! Paper      Enjima (SIGMOD 2025), section 3.2.1
//! Class      0: operators that have waited for longer than the starvation bound, the longest first
//!            1: eligible
//!            2: could run and is not eligible
//! Score      P = W / C in classes 1 and 2: C the output cost (Eq. 2, see [`output_cost`]),
//!            W = 1 + clamp(latency gradient of the query, -1, 1) / 10 (Eq. 3); times the share factor, which is ours
//! Eligible   every output has room, and pending >= ET, or pending > 0 and more than IT since the last run ended
//!            (Algorithm 1). A source on demand has as many records as it is asked for, so it always reaches ET. ET
//!            and IT follow the latency gradient of the query (Eq. 5, see `enjima/thresholds.rs`)
//! Quantum    max(time left in the round / c, N_min) records (Eq. 4)
//! Starves    none, by class 0
//! Differs    Algorithm 1 prints pending > ET, where the paper's own example needs >=, and lets an operator run that
//!            is idle and has no input; Eq. 4 is printed inverted. All three are corrected here, in both forms. If
//!            there are no more operators than workers, all are eligible and of priority 1, as in Enjima's program.
//!            Ours: classes 0 and 2, so that no operator starves and no worker idles while an operator could run;
//!            queries of about equal priority share evenly (see `enjima/shares.rs`); input that arrives can make an
//!            operator eligible at once, where the paper waits for the next round.
//!
//! `enjima_strict` is the literal form, without the parts that are ours. An operator that is not eligible waits for a
//! round that finds it eligible, and workers idle if no operator is eligible. An operator that is never the best of
//! the eligible starves.

mod shares;
mod thresholds;

use self::shares::Share;
pub use self::thresholds::ThresholdRange;
use self::thresholds::Thresholds;
use crate::parameters::Parameter;
use crate::policy::ageing::{Patience, STARVATION_NS};
use crate::policy::output_cost::{self, MIN_SELECTIVITY, OutputCost, OutputCosts};
use crate::policy::{Policy, ROUND_NS, Refresh, Scale};
use crate::rank::{Quantum, Rank};
use crate::snapshot::{Completion, Fields, OperatorId, OperatorState, QueryId, QueryState, Snapshot};

/// The name by which users choose the Enjima policy.
pub const NAME: &str = "enjima";
/// The name of the form of Enjima that follows the paper to the letter.
pub const STRICT_NAME: &str = "enjima_strict";

/// Class of ranks for operators with enough input to be worth a run. Class 0 is that of starving operators.
const ELIGIBLE: u8 = 1;
const NOT_ELIGIBLE: u8 = 2;

/// Parameters of Enjima that the paper names or leaves open. Values of its published program are given beside
/// those of the paper.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EnjimaSettings {
    /// The way in which the output cost is summed: Eq. 2 of the paper differs from the sum in Aurora, which
    /// it extends, and from that in the paper's program.
    pub output_cost: OutputCost,
    /// Lower bound of selectivity, so that a window that did not fire does not get an infinite cost. Above 0
    /// and at most 1. Ours; the paper's program keeps the last selectivity that it measured.
    pub min_selectivity: f64,
    /// The event threshold ET, in records: an operator with at least this number of waiting records is
    /// eligible. Section 5.2: starts at 1,000, max 10,000, step at most 1,000. The paper's program: max
    /// 100,000.
    pub event_threshold_records: ThresholdRange,
    /// The idle threshold IT, in ns: an operator that has waited for longer is eligible. Section 5.2: starts
    /// at 1 ms, max 100 ms, step at most 10 ms; the paper's program likewise.
    pub idle_threshold_ns: ThresholdRange,
    /// Number of new samples of the latency gradient after which the thresholds are adapted. Section 3.2.1:
    /// "periodically". The paper's program: 1 s, which is 10 samples of 100 ms. The gradient is the mean of 5
    /// samples. So with 5 or more, every sample that judges an adjustment was taken after it.
    pub adapt_every_samples: u64,
    /// The paper's scheduling epoch, in ns: the time between two rounds of ranking, in which priorities are
    /// renewed. Section 5.2: 1 ms; section 5.3: results do not change up to 5 ms, and are worse above. The
    /// default is [`ROUND_NS`].
    pub round_ns: u64,
    /// N_min, the least quantum of an operator, in records. Section 3.2.1: open. The paper's program: 1,000.
    pub min_quantum_records: u32,
    /// The starvation bound of Enjima, in ns: an operator that has waited for longer comes before all others.
    /// The wait begins when its oldest input arrived or when its last run ended, whichever is later. Ours:
    /// [`STARVATION_NS`].
    pub starvation_ns: u64,
    /// Queries whose priorities differ by less than this factor share processing time evenly when both always
    /// have work. If priorities differ by more, the better query goes first, as in the paper. 1 switches
    /// sharing off. Ours: 2, because the measured costs of equal queries differ by some 10 %, and by half if
    /// only one of them has its data in the caches.
    pub share_band: f64,
    /// Lead of a query in CPU time, in ns, over the least served query at which the query's priority is
    /// divided by the whole `share_band`. Ours: 5 rounds of ranking, which are 5 ms unless
    /// [`round_ns`](Self::round_ns) is set, so that a lead of one round outweighs a difference of 20 %.
    pub share_lead_ns: f64,
}

impl EnjimaSettings {
    /// Returns the default parameters for rounds of ranking that follow each other after `round_ns`. The
    /// field `share_lead_ns` is set to 5 times this duration.
    pub fn of_round(round_ns: u64) -> Self {
        EnjimaSettings {
            round_ns,
            output_cost: OutputCost::Path,
            min_selectivity: MIN_SELECTIVITY,
            event_threshold_records: ThresholdRange {
                start: 1_000.0,
                min: 1.0,
                max: 10_000.0,
                max_step: 1_000.0,
            },
            idle_threshold_ns: ThresholdRange { start: 1e6, min: 1e3, max: 1e8, max_step: 1e7 },
            adapt_every_samples: 10,
            min_quantum_records: 1_000,
            starvation_ns: STARVATION_NS,
            share_band: 2.0,
            share_lead_ns: 5.0 * round_ns as f64,
        }
    }
}

impl Default for EnjimaSettings {
    fn default() -> Self {
        EnjimaSettings::of_round(ROUND_NS)
    }
}

/// The Enjima policy: the order follows from output cost and latency, and only operators with enough input
/// are eligible. It also has a form that follows the paper to the letter.
#[derive(Clone, Debug)]
pub struct Enjima {
    settings: EnjimaSettings,
    is_strict: bool,
    patience: Patience,
    costs: OutputCosts,
    /// Eligibility thresholds and shares of processing time of each query, by [`QueryId`]; the entry of an
    /// ended query is reset.
    queries: Vec<QueryPlan>,
    /// Prepared ranks by [`OperatorId`], as of the last round of ranking.
    operators: Vec<OperatorPlan>,
}

/// The thresholds, the processing time received and the weight of a query, kept from one round of ranking to
/// the next.
#[derive(Clone, Copy, Debug)]
struct QueryPlan {
    thresholds: Thresholds,
    share: Share,
    /// The paper's weight W of the query, times the factor by which it shares evenly with other queries.
    weight: f64,
}

/// Values from which an operator is ranked until the next round of ranking, prepared so that `rank` makes two
/// comparisons only, of waiting records and of idle time.
#[derive(Clone, Copy, Debug)]
struct OperatorPlan {
    /// The query for whose operator these values were computed. Another query's operator may have the same
    /// number by now.
    query: QueryId,
    tie: u32,
    priority: f64,
    /// The event threshold ET, rounded up, because pending records are whole numbers.
    event_threshold_records: u64,
    /// The idle threshold IT, rounded down to whole nanoseconds: an idle time must exceed IT, and is a whole
    /// number.
    idle_threshold_ns: u64,
}

/// The entry, in the table of prepared ranks, at a number that no operator has. Its query number belongs to
/// no query, so the entry is never taken for an operator's.
const NOBODY: OperatorPlan = OperatorPlan {
    query: QueryId(u32::MAX),
    tie: 0,
    priority: 1.0,
    event_threshold_records: 1,
    idle_threshold_ns: 0,
};

impl Default for Enjima {
    fn default() -> Self {
        Enjima::new(EnjimaSettings::default())
    }
}

impl Enjima {
    /// Creates the policy `enjima`, in which no operator starves, no worker idles while there is work, and
    /// equal queries share evenly.
    pub fn new(settings: EnjimaSettings) -> Self {
        Enjima {
            settings,
            is_strict: false,
            patience: Patience::default(),
            costs: OutputCosts::new(settings.output_cost, settings.min_selectivity),
            queries: Vec::new(),
            operators: Vec::new(),
        }
    }

    /// Creates `enjima_strict`, the form that follows the paper to the letter. It ignores the starvation
    /// bound and the even shares in the settings.
    pub fn strict(settings: EnjimaSettings) -> Self {
        Enjima { is_strict: true, ..Enjima::new(settings) }
    }

    /// Updates the thresholds, weights and even shares of all queries, once per round of ranking.
    fn plan_queries(&mut self, snapshot: &Snapshot) {
        let Enjima { settings, queries, .. } = self;
        let new = QueryPlan { thresholds: Thresholds::new(settings), share: Share::default(), weight: 1.0 };
        queries.resize(snapshot.queries.len(), new);
        for (plan, state) in queries.iter_mut().zip(&snapshot.queries) {
            match state {
                Some(state) if !plan.thresholds.are_of_another(state) => {
                    plan.thresholds.adapt(settings, state);
                    plan.weight = weight(state);
                }
                // The query has ended, so the next query with this number starts anew.
                None => *plan = new,
                Some(state) => *plan = QueryPlan { weight: weight(state), ..new },
            }
        }
        if self.is_strict {
            return;
        }
        for state in snapshot.operators.iter().flatten().filter(|state| state.is_running || state.can_run()) {
            if let Some(plan) = queries.get_mut(state.query.0 as usize) {
                plan.share.contend();
            }
        }
        let least_ns =
            queries.iter_mut().map(|plan| plan.share.settle(plan.weight)).fold(f64::INFINITY, f64::min);
        for plan in queries {
            plan.weight *= plan.share.factor(settings, least_ns);
        }
    }

    /// Updates the priorities and thresholds of all operators, once per round of ranking.
    fn plan_operators(&mut self, snapshot: &Snapshot) {
        let is_crowded = snapshot.operators.iter().flatten().count() > snapshot.workers;
        let Enjima { settings, costs, queries, operators, .. } = self;
        operators.clear();
        operators.extend(snapshot.operators.iter().zip(0..).map(|(state, id)| {
            let (Some(state), Some(cost)) = (state, costs.of(OperatorId(id))) else { return NOBODY };
            let (query, tie) = (state.query, cost.place);
            if !is_crowded {
                return OperatorPlan { query, tie, ..NOBODY };
            }
            let (thresholds, weight) = match queries.get(query.0 as usize) {
                Some(plan) => (plan.thresholds, plan.weight),
                None => (Thresholds::new(settings), 1.0),
            };
            OperatorPlan {
                query,
                tie,
                priority: weight / cost.cost_ns,
                event_threshold_records: thresholds.event_records(),
                idle_threshold_ns: thresholds.idle_ns(),
            }
        }));
    }

    /// Returns the values by which an operator that was submitted since the last round of ranking is ranked:
    /// initial thresholds, and the priority that it would have as a sink.
    #[cold]
    fn plan_of_newcomer(&self, state: &OperatorState, operator: OperatorId) -> OperatorPlan {
        let thresholds = Thresholds::new(&self.settings);
        OperatorPlan {
            query: state.query,
            tie: operator.0,
            priority: 1.0 / self.costs.alone_ns(state),
            event_threshold_records: thresholds.event_records(),
            idle_threshold_ns: thresholds.idle_ns(),
        }
    }
}

/// Returns the paper's weight W of a query (Eq. 3), between 0.9 and 1.1. A latency gradient that is NaN
/// counts as 0.
fn weight(query: &QueryState) -> f64 {
    let gradient = if query.latency_gradient.is_nan() { 0.0 } else { query.latency_gradient };
    1.0 + gradient.clamp(-1.0, 1.0) / 10.0
}

impl Policy for Enjima {
    fn name(&self) -> &'static str {
        if self.is_strict { STRICT_NAME } else { NAME }
    }

    fn reads(&self) -> Fields {
        let literal =
            Fields::LAST_RUN | Fields::COST_AND_SELECTIVITY | Fields::LATENCY_GRADIENT | Fields::TOPOLOGY;
        if self.is_strict { literal } else { literal | Fields::OLDEST_PENDING | Fields::FEEDBACK }
    }

    fn refresh(&self) -> Refresh {
        let literal = Refresh::EVERY_ROUND | Refresh::ON_RETURN;
        if self.is_strict { literal } else { literal | Refresh::ON_ARRIVAL }
    }

    fn scale(&self) -> Scale {
        Scale::Ratio
    }

    fn conserves_work(&self) -> bool {
        !self.is_strict
    }

    fn round_ns(&self) -> u64 {
        self.settings.round_ns
    }

    fn parameters(&self) -> Vec<Parameter> {
        let EnjimaSettings { event_threshold_records: events, idle_threshold_ns: idle, .. } = self.settings;
        let output_cost = match self.settings.output_cost {
            OutputCost::Path => "path",
            OutputCost::Printed => "printed",
            OutputCost::Code => "code",
        };
        let mut parameters = vec![
            Parameter::whole("round_ns", self.settings.round_ns),
            Parameter::word("output_cost", output_cost),
            Parameter::real("min_selectivity", self.settings.min_selectivity),
            Parameter::real("event_threshold_records_start", events.start),
            Parameter::real("event_threshold_records_min", events.min),
            Parameter::real("event_threshold_records_max", events.max),
            Parameter::real("event_threshold_records_max_step", events.max_step),
            Parameter::real("idle_threshold_ns_start", idle.start),
            Parameter::real("idle_threshold_ns_min", idle.min),
            Parameter::real("idle_threshold_ns_max", idle.max),
            Parameter::real("idle_threshold_ns_max_step", idle.max_step),
            Parameter::whole("adapt_every_samples", self.settings.adapt_every_samples),
            Parameter::whole("min_quantum_records", self.settings.min_quantum_records),
        ];
        if !self.is_strict {
            parameters.extend([
                Parameter::whole("starvation_ns", self.settings.starvation_ns),
                Parameter::real("share_band", self.settings.share_band),
                Parameter::real("share_lead_ns", self.settings.share_lead_ns),
            ]);
        }
        parameters
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        self.patience.begin_round(snapshot.now);
        self.costs.update(snapshot);
        self.plan_queries(snapshot);
        self.plan_operators(snapshot);
    }

    #[inline]
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        let state = snapshot.operator(operator).filter(|state| state.can_run())?;
        let plan = match self.operators.get(operator.0 as usize) {
            Some(plan) if plan.query == state.query => *plan,
            _ => self.plan_of_newcomer(state, operator),
        };
        if !self.is_strict {
            let starving = self.patience.rank(snapshot.now, state, self.settings.starvation_ns, plan.tie);
            if starving.is_some() {
                return starving;
            }
        }
        let is_eligible = state.is_on_demand
            || state.pending >= plan.event_threshold_records
            || snapshot.now.nanos_since(state.last_run_ended) > plan.idle_threshold_ns;
        match is_eligible {
            true => Some(Rank { class: ELIGIBLE, score: plan.priority, tie: plan.tie }),
            false if self.is_strict => None,
            false => Some(Rank { class: NOT_ELIGIBLE, score: plan.priority, tie: plan.tie }),
        }
    }

    fn quantum(&self, snapshot: &Snapshot, operator: OperatorId) -> Quantum {
        let left_ns = snapshot.round_end.nanos_since(snapshot.now) as f64;
        let fitting =
            snapshot.operator(operator).map_or(0, |state| (left_ns / output_cost::cost_ns(state)) as u32);
        Quantum { records: fitting.max(self.settings.min_quantum_records) }
    }

    fn feedback(&mut self, done: &Completion) {
        if let Some(plan) = self.queries.get_mut(done.query.0 as usize) {
            plan.share.receive(done.ended.nanos_since(done.started));
        }
    }
}

#[cfg(test)]
mod tests;
