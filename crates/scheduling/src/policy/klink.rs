//! `klink`: the query with the least slack runs next. Slack is how long it may idle and still have processed all that it
//! holds when the watermark comes that makes it put out its next result.
//!
//! Paper      Farhat et al., "Klink: Progress-Aware Scheduling for Streaming Data Systems" (SIGMOD 2021), section 3
//! Class      0: has waited for longer than the starvation bound, the longest first
//!            1: while memory is short, what frees the most of it (see `klink/memory.rs`); 2: all the others; 3: those
//!            that came after the last evaluation
//! Score      - slack of the query, as of the last evaluation: the least over its streams of w - t - cost (see
//!            `klink/slack.rs`). Of one query: who has waited for more than a cycle, then what stands downstream; sources
//!            last, the one that has waited longest first
//! Evaluation in the first round of each cycle of 120 ms, and in one that finds a new query or a sweeping watermark that has
//!            come in: then the next cycle begins
//! Eligible   pending > 0 and every output has room
//! Quantum    max(time left in the cycle / c, one block)
//! Starves    nobody, by class 0; before that bound, a minute, whose deadline is far, until it is near: once it is overdue its
//!            slack falls with time, like that of a query without deadlines from its oldest record on
//! Symbols    r: `cycle_ns`; t: `now`; w: [`swept`](crate::StreamState::swept), once it has come; mu, chi - mu^2:
//!            `delays`; f: `reach_deviations`; b: `memory_share`; p_k: `Release`; sz and S: `pending` and `selectivity`
//!
//! Where it differs:
//!
//! * `E[w]` is the deadline and the mean delay; as Eq. 5 is printed the origin is missing. A delay is measured from the
//!   deadline to the ingestion of the watermark that sweeps it: so the bound of lateness and the way from one watermark to
//!   the next, which the paper counts as p, are part of the mean.
//! * The variance is that of a delay; Eq. 6 is that of the mean of epochs, and far too small.
//! * The expectation of Eq. 8 is written in closed form, which has no range, no steps, and an answer for who is overdue.
//! * From its ingestion until it has reached all sinks a watermark stays the next one, so that the query ages. Rolling on to
//!   the one after it would make the query look idle just when its result is due.
//! * Algorithm 1 never chooses a query with positive slack. Here the least slack wins, whatever its sign.
//! * A sweeping watermark may wait unseen at a source that does not run. So it is taken not to have come before the oldest of
//!   what its query's sources have waiting, and not before now: an overdue query that gets no turn ages.
//! * A query none of whose streams has a deadline (no windows, timers, no watermark yet) has its result due at once: w is when
//!   the oldest of what it holds came in.
//! * The cost of firing a window is part of c, which is measured over whole runs.
//! * Class 0. Else two would wait for ever: what a query holds whose sources have nothing, for its next watermark has not come;
//!   and all others beside a join one of whose streams has swept while the other stays behind and is not silent, for its slack
//!   falls as fast as time goes.
//! * An evaluation does not wait for the end of a cycle when a watermark sweeps or a query comes: ours.
//! * Workers take operators one by one in the order of their ranks, so that several queries run at once, and several
//!   operators of one; the paper gives a worker a query.
//! * In memory mode the pipeline of a query is all of its operators in topological order, also where it branches.
//!
//! **Ablations** by name: `klink_no_memory` has no memory mode. `klink_sum` has Eq. 8, with its conditions mended (f = 95 %).
//! `klink_lazy` is Algorithm 1 to the letter: whose slack is above zero runs only when nothing else can.
//! `klink_literal_variance` is Eq. 6 to the letter; it asks for the variance within epochs, for which that between them stands
//! in, as one delay of an epoch is seen. `klink_regression` is LR of Fig. 9c: w lies on the line through event time and
//! processing time, and nowhere else. The two literal ones evaluate at the end of a cycle and for new queries only, and their
//! waits have no bound. The round robin of section 6.1.3 is `rr_quantum` (see `round_robin.rs`).

mod memory;
mod plan;
mod settings;
mod slack;

use std::ops::Range;

use thalweg_model::ProcessingTime;

use self::memory::{MemoryMode, Pipeline};
use self::plan::QueryPlan;
pub use self::settings::{CYCLE_NS, Estimate, KlinkSettings};
use self::slack::slack_ns;
use crate::policy::ageing::Patience;
use crate::policy::downstream::Downstream;
use crate::policy::output_cost::{cost_ns, selectivity};
use crate::policy::{Policy, Scale};
use crate::rank::{Quantum, Rank};
use crate::snapshot::{Fields, OperatorId, OperatorState, QueryId, Snapshot};

/// The name by which users choose it.
pub const NAME: &str = "klink";
/// The name of the ablation without memory mode.
pub const NO_MEMORY_NAME: &str = "klink_no_memory";
/// The name of the ablation that sums up in steps.
pub const SUM_NAME: &str = "klink_sum";
/// The name of the ablation that chooses nobody who has time.
pub const LAZY_NAME: &str = "klink_lazy";
/// The name of the ablation with the variance as printed.
pub const LITERAL_VARIANCE_NAME: &str = "klink_literal_variance";
/// The name of the form that foresees watermarks by regression.
pub const REGRESSION_NAME: &str = "klink_regression";

/// The classes of its ranks, behind that of the starving.
const FREES_MEMORY: u8 = 1;
const BY_SLACK: u8 = 2;
const NOT_EVALUATED: u8 = 3;

/// Ties of a query: a quarter for those who have waited long, a quarter for the other operators, half for sources.
const PLACES: u32 = 1 << 14;

/// The bound of what one record becomes or costs further on: products of many factors leave the range of doubles otherwise.
const MOST: f64 = 1e24;

/// The least slack first.
#[derive(Clone, Debug)]
pub struct Klink {
    name: &'static str,
    settings: KlinkSettings,
    /// The cycle that the last evaluation began.
    cycle: Range<ProcessingTime>,
    memory: MemoryMode,
    patience: Patience,
    /// What runs first while memory is short.
    frees_most: Option<Pipeline>,
    /// By [`QueryId`], as of the last evaluation.
    queries: Vec<QueryPlan>,
    operators: Downstream<Standing>,
}

/// What an evaluation finds of an operator.
#[derive(Clone, Copy, Debug)]
struct Standing {
    query: QueryId,
    /// How many of its query stand behind it in topological order.
    place: u32,
    /// G: what a record costs from here on to the sinks.
    cost_ns: f64,
}

impl Default for Standing {
    fn default() -> Self {
        Standing { query: QueryId(u32::MAX), place: 0, cost_ns: 0.0 }
    }
}

impl Default for Klink {
    fn default() -> Self {
        Klink::new(KlinkSettings::default())
    }
}

impl Klink {
    /// `klink`.
    pub fn new(settings: KlinkSettings) -> Self {
        Klink::named(NAME, settings)
    }

    /// `klink_no_memory`: memory may be as short as it will.
    pub fn no_memory() -> Self {
        let settings = KlinkSettings { memory_share: f64::INFINITY, ..KlinkSettings::default() };
        Klink::named(NO_MEMORY_NAME, settings)
    }

    /// `klink_sum`: Eq. 8 at f = 95 %.
    pub fn sum() -> Self {
        let estimate = Estimate::Sum { reach_deviations: 2.0 };
        Klink::named(SUM_NAME, KlinkSettings { estimate, ..KlinkSettings::default() })
    }

    /// `klink_lazy`: Algorithm 1 to the letter.
    pub fn lazy() -> Self {
        let settings = KlinkSettings {
            is_lazy: true,
            evaluates_sweeps: false,
            starvation_ns: u64::MAX,
            ..KlinkSettings::default()
        };
        Klink::named(LAZY_NAME, settings)
    }

    /// `klink_literal_variance`: Eq. 6 to the letter.
    pub fn literal_variance() -> Self {
        let estimate = Estimate::LiteralVariance;
        let settings = KlinkSettings {
            estimate,
            evaluates_sweeps: false,
            starvation_ns: u64::MAX,
            ..KlinkSettings::default()
        };
        Klink::named(LITERAL_VARIANCE_NAME, settings)
    }

    /// `klink_regression`: LR of Fig. 9c.
    pub fn regression() -> Self {
        let estimate = Estimate::Regression;
        Klink::named(REGRESSION_NAME, KlinkSettings { estimate, ..KlinkSettings::default() })
    }

    fn named(name: &'static str, settings: KlinkSettings) -> Self {
        Klink {
            name,
            settings,
            cycle: ProcessingTime::ZERO..ProcessingTime::ZERO,
            memory: MemoryMode::default(),
            patience: Patience::default(),
            frees_most: None,
            queries: Vec::new(),
            operators: Downstream::default(),
        }
    }

    /// Whether there is an operator that the last evaluation has not seen. A query that came under the number of one that has
    /// ended, with operators under the same numbers, is not found: it has the slack of the other until the cycle ends.
    fn has_newcomers(&self, snapshot: &Snapshot) -> bool {
        snapshot.order.iter().any(|operator| {
            let is_known = |state: &OperatorState| {
                self.operators.of(*operator).is_some_and(|standing| standing.query == state.query)
            };
            snapshot.operator(*operator).is_some_and(|state| !is_known(state))
        })
    }

    /// Whether a sweeping watermark has come in since the last evaluation.
    fn has_sweeps(&self, snapshot: &Snapshot) -> bool {
        snapshot.streams.iter().filter(|stream| !stream.is_away).any(|stream| {
            self.queries.get(stream.query.0 as usize).is_some_and(|plan| plan.swept < stream.swept)
        })
    }

    /// What each query holds, since when, and what that costs.
    fn weigh(&mut self, snapshot: &Snapshot) {
        let Klink { queries, operators, .. } = self;
        operators.begin(snapshot);
        for &operator in snapshot.order.iter().rev() {
            let Some(state) = snapshot.operator(operator) else { continue };
            let behind_ns: f64 = operators.of_readers(snapshot, operator).map(|reader| reader.cost_ns).sum();
            let cost_ns = (cost_ns(state) + selectivity(state, 0.0) * behind_ns).min(MOST);
            let mut standing = Standing { query: state.query, place: 0, cost_ns };
            if let Some(plan) = queries.get_mut(state.query.0 as usize) {
                standing.place = plan.operators;
                plan.operators += 1;
                plan.hold(state, cost_ns);
            }
            operators.set(operator, standing);
        }
    }

    /// The least slack over the streams of each query.
    fn find_slack(&mut self, snapshot: &Snapshot) {
        let Klink { settings, queries, .. } = self;
        let now = snapshot.now;
        queries.iter_mut().for_each(|plan| plan.slack_ns = f64::INFINITY);
        for stream in &snapshot.streams {
            let Some(plan) = queries.get_mut(stream.query.0 as usize) else { continue };
            let slack_ns = slack_ns(settings, plan.known(now), stream);
            // One that is no number, of statistics that are none, is passed over.
            plan.slack_ns = slack_ns.map_or(plan.slack_ns, |slack_ns| plan.slack_ns.min(slack_ns));
            if !stream.is_away {
                plan.swept = plan.swept.max(stream.swept);
            }
        }
        for plan in queries.iter_mut().filter(|plan| plan.slack_ns == f64::INFINITY) {
            plan.slack_ns = plan.slack_without_deadlines_ns(now);
        }
    }

    /// What frees the most memory.
    fn find_releases(&mut self, snapshot: &Snapshot) {
        let Klink { settings, queries, operators, .. } = self;
        for &operator in &snapshot.order {
            let Some(state) = snapshot.operator(operator).filter(|state| !state.is_source) else { continue };
            let place = operators.of(operator).map_or(0, |standing| standing.place);
            if let Some(plan) = queries.get_mut(state.query.0 as usize) {
                plan.release.pass(settings, state, place);
            }
        }
        let worth = queries.iter().zip(0..).filter(|(plan, _)| 0.0 < plan.release.most);
        let best = worth.min_by(|(a, _), (b, _)| {
            b.release.most.total_cmp(&a.release.most).then(a.slack_ns.total_cmp(&b.slack_ns))
        });
        self.frees_most = best.map(|(plan, id)| Pipeline { query: QueryId(id), place: plan.release.place });
    }

    fn evaluate(&mut self, snapshot: &Snapshot) {
        self.cycle = snapshot.now..snapshot.now.plus_nanos(self.settings.cycle_ns);
        self.queries.clear();
        self.queries.resize(snapshot.queries.len(), QueryPlan::default());
        self.weigh(snapshot);
        self.find_slack(snapshot);
        self.memory = self.memory.next(&self.settings, snapshot);
        self.frees_most = None;
        if self.memory.is_pressed() {
            self.find_releases(snapshot);
        }
    }

    /// Where an operator stands in its query.
    #[inline]
    fn tie(&self, state: &OperatorState, place: u32) -> u32 {
        let place = place.min(PLACES - 1);
        let waits_since = state.oldest_pending.max(state.last_run_ended);
        let waits_long = waits_since.plus_nanos(self.settings.cycle_ns) < self.cycle.start;
        match (waits_long, state.is_source) {
            (true, _) => place,
            (false, false) => PLACES + place,
            // Where waits end that are not long, from 0 to twice the cycle after they begin to be.
            (false, true) => {
                let since_ns = waits_since.plus_nanos(self.settings.cycle_ns).nanos_since(self.cycle.start);
                let share = since_ns as f64 / (2.0 * self.settings.cycle_ns.max(1) as f64);
                2 * PLACES + (share.min(1.0) * f64::from(2 * PLACES - 1)) as u32
            }
        }
    }
}

impl Policy for Klink {
    fn name(&self) -> &'static str {
        self.name
    }

    fn reads(&self) -> Fields {
        let always = Fields::OLDEST_PENDING
            | Fields::LAST_RUN
            | Fields::COST_AND_SELECTIVITY
            | Fields::TOPOLOGY
            | Fields::STREAMS;
        if self.settings.memory_share.is_finite() { always | Fields::MEMORY } else { always }
    }

    fn scale(&self) -> Scale {
        Scale::Interval
    }

    fn is_relieving_memory(&self) -> bool {
        self.memory.is_pressed()
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        self.patience.begin_round(snapshot.now);
        let is_due = !self.cycle.contains(&snapshot.now)
            || self.has_newcomers(snapshot)
            || (self.settings.evaluates_sweeps && self.has_sweeps(snapshot));
        if is_due {
            self.evaluate(snapshot);
        }
    }

    #[inline]
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        let state = snapshot.operator(operator).filter(|state| state.can_run())?;
        let starving = self.patience.rank(snapshot.now, state, self.settings.starvation_ns, operator.0);
        if starving.is_some() {
            return starving;
        }
        let standing = self.operators.of(operator).filter(|standing| standing.query == state.query);
        let plan = self.queries.get(state.query.0 as usize);
        let (Some(standing), Some(plan)) = (standing, plan) else {
            return Some(Rank { class: NOT_EVALUATED, score: 0.0, tie: operator.0 });
        };
        let frees_memory = self.frees_most.is_some_and(|pipeline| {
            pipeline.query == state.query && pipeline.place <= standing.place && !state.is_source
        });
        if self.settings.is_lazy && !frees_memory && plan.slack_ns > 0.0 {
            return None;
        }
        let class = if frees_memory { FREES_MEMORY } else { BY_SLACK };
        Some(Rank { class, score: 0.0 - plan.slack_ns, tie: self.tie(state, standing.place) })
    }

    fn quantum(&self, snapshot: &Snapshot, operator: OperatorId) -> Quantum {
        let left_ns = self.cycle.end.nanos_since(snapshot.now) as f64;
        let fitting = snapshot.operator(operator).map_or(0, |state| (left_ns / cost_ns(state)) as u32);
        Quantum { records: fitting.max(snapshot.block_records) }
    }
}

#[cfg(test)]
mod tests;
