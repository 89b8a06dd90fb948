//! `klink`: the query with the least slack runs next. Slack is how long a query may idle and still have processed all
//! its input when the watermark arrives that makes it put out its next result.
//!
//! Paper      Farhat et al., "Klink: Progress-Aware Scheduling for Streaming Data Systems" (SIGMOD 2021), section 3
//! Class      0: operators that have waited for longer than the starvation bound, the longest first
//!            1: while memory is short, operators that free some of it (see `klink/memory.rs`)
//!            2: all the others
//!            3: operators submitted after the last evaluation
//! Score      - slack of the query, as of the last evaluation: the least over its streams of w - t - cost (see
//!            `klink/slack.rs`). Within a query: operators that have waited for more than a cycle, then downstream
//!            operators first; sources last, the longest wait first
//! Evaluation in the first round of each cycle, which has 120 ms unless it is set, and in a round that finds
//!            a new query or a newly ingested sweeping watermark, which then begins the next cycle
//! Eligible   pending > 0 and every output has room
//! Quantum    max(time left in the cycle / c, one block)
//! Starves    none, by class 0. Before that bound of one minute, a query with a far deadline waits until the deadline
//!            is near. Once it is overdue its slack falls with time. The slack of a query without deadlines falls
//!            from the arrival of its oldest record on
//! Symbols    r: `cycle_ns`; h: `epochs`; t: `now`; w: [`swept`](crate::StreamState::swept), once it has
//!            come; mu, chi - mu^2: `delays`; f: `reach_deviations`; b: `memory_share`; p_k: `Release`; sz and S:
//!            `pending` and `selectivity`
//!
//! A watermark sweeps if it is the first to reach the [`deadline`](crate::StreamState::deadline) of its
//! stream's epoch. As in the paper, the operators with the latest deadline decide ("the window operators with
//! the latest deadline in query q at time t that will unblock the stream"). A query with windows of 60 s and
//! of 20 s is due every 60 s.
//!
//! Differences from the paper:
//!
//! * A deadline is the end of a window. If the window allows lateness, its updates are results without a
//!   deadline.
//! * A query in which an operator may emit results at any instant, as with timers, has no deadline.
//! * `E[w]` is the deadline plus the mean delay; Eq. 5 as printed lacks the origin. A delay is measured from the
//!   deadline to the arrival of the watermark that sweeps it. So the mean includes the bound of lateness and the
//!   distance between two watermarks, which the paper counts as p.
//! * The variance is that of one delay. Eq. 6 is the variance of the mean over epochs, which is far too small.
//! * The expectation of Eq. 8 is computed in closed form, which needs no range and no steps, and which covers an
//!   overdue query.
//! * From its ingestion until it has reached all sinks a watermark stays the next one, so that the query ages. If the
//!   next watermark took its place at once, the query would look idle just when its result is due.
//! * Algorithm 1 never chooses a query with positive slack. Here the least slack wins, whatever its sign.
//! * A sweeping watermark may wait unseen at a source that does not run. So the watermark is assumed not to have
//!   arrived before the oldest waiting input of the query's sources, or, without such input, before now. This way an
//!   overdue query that gets no turn ages.
//! * If no stream of a query has a deadline (no windows, timers, no watermark yet), its result is due at once: w is
//!   the arrival of its oldest pending record.
//! * The cost of firing a window is part of c, which is measured over whole runs.
//! * Class 0 is ours. Without it two kinds of work would wait forever. First, the input of a query whose sources
//!   have no more data, because its next watermark does not come. Second, all queries beside a join of which one
//!   stream has swept while the other stays behind and is not idle, because the slack of the join falls as fast as
//!   time passes.
//! * An evaluation does not wait for the end of a cycle when a watermark sweeps or a query is submitted: ours.
//! * Workers take operators one by one in the order of their ranks, so several queries, and several operators of one
//!   query, run at once; the paper gives a worker a query.
//! * A record in front of the parallel copies of an operator goes to one of them. It costs the mean of the copies, as
//!   if records were divided evenly; the paper does not say how it counts them.
//! * In memory mode the pipeline of a query is all of its operators in topological order, also where it branches. The
//!   copies of an operator follow one another there, and each takes its share of the records. Copies that share no
//!   input, since each reads a partition of its own, count as operators one after the other.
//!
//! **Ablations** by name: `klink_no_memory` has no memory mode. In memory mode `klink_memory_slack` takes the
//! query with the least slack, where `klink` takes the one that releases the most (see `klink/memory.rs`).
//! `klink_sum` uses Eq. 8, with its conditions corrected (f = 95 %). `klink_lazy` is Algorithm 1 to the
//! letter: a query with slack above zero runs only when nothing else can. `klink_literal_variance` is Eq. 6
//! to the letter. That equation needs the variance within epochs; the variance between epochs replaces it,
//! because one delay is seen per epoch. `klink_regression` is LR of Fig. 9c: w is exactly on the regression
//! line of processing time over event time. `klink_lazy` and `klink_literal_variance` evaluate only at the
//! end of a cycle and for new queries, and their waits have no bound. The round robin of section 6.1.3 is
//! `rr_quantum` (see `round_robin.rs`).

mod memory;
mod plan;
mod settings;
mod slack;

use std::ops::Range;

use thalweg_model::ProcessingTime;

use self::memory::{MemoryMode, Pipeline};
use self::plan::QueryPlan;
pub use self::settings::{CONFIDENCE_PERCENT, CYCLE_NS, Estimate, KlinkSettings, MEMORY_SHARE, Relief};
use self::slack::{reach_deviations, slack_ns};
use crate::parameters::Parameter;
use crate::policy::ageing::Patience;
use crate::policy::downstream::Downstream;
use crate::policy::output_cost::{cost_ns, selectivity};
use crate::policy::{Policy, Scale};
use crate::rank::{Quantum, Rank};
use crate::settings::Settings;
use crate::snapshot::{Fields, OperatorId, OperatorState, QueryId, Snapshot, StreamState};

/// The name by which users choose the Klink policy.
pub const NAME: &str = "klink";
/// The name of the variant of Klink without memory mode (which, while memory is short, runs first what frees
/// memory).
pub const NO_MEMORY_NAME: &str = "klink_no_memory";
/// The name of the variant of Klink that, while memory is short, takes the query with the least slack of
/// those that can free some.
pub const MEMORY_SLACK_NAME: &str = "klink_memory_slack";
/// The name of the variant of Klink that computes the expected slack by the sum over steps in Eq. 8.
pub const SUM_NAME: &str = "klink_sum";
/// The name of the variant of Klink in which a query with positive slack is not eligible.
pub const LAZY_NAME: &str = "klink_lazy";
/// The name of the variant of Klink with the variance of delays as printed in the paper (Eq. 6).
pub const LITERAL_VARIANCE_NAME: &str = "klink_literal_variance";
/// The name of the variant of Klink that predicts the arrival of watermarks by linear regression.
pub const REGRESSION_NAME: &str = "klink_regression";

/// Class of ranks for operators that run first while memory is short, because they free some. Class 0 is
/// that of starving operators.
const FREES_MEMORY: u8 = 1;
const BY_SLACK: u8 = 2;
const NOT_EVALUATED: u8 = 3;

/// A quarter of the range of tie-breaks between operators of one query (the lowest tie-break runs first). The
/// first quarter is for operators that have waited for more than a cycle, the second for other operators, the
/// last two for sources.
const PLACES: u32 = 1 << 14;

/// Upper bound of products of selectivities and costs along a query, because many factors would leave the
/// range of doubles.
const MOST: f64 = 1e24;

/// The Klink policy: the query with the least slack runs first.
#[derive(Clone, Debug)]
pub struct Klink {
    name: &'static str,
    settings: KlinkSettings,
    /// The evaluation cycle of Klink that began with the last evaluation of slack.
    cycle: Range<ProcessingTime>,
    memory: MemoryMode,
    patience: Patience,
    /// The pipeline (operators of one query) that runs first while memory is short; `None` while memory is
    /// not short, or if no operator can free any.
    frees_most: Option<Pipeline>,
    /// Slack and pending work of each query, by [`QueryId`], as of the last evaluation.
    queries: Vec<QueryPlan>,
    /// For each stream the oldest sweeping watermark (the first to reach the stream's deadline, the end of a
    /// window) that is on its way to the sinks, as of the last evaluation: its query and its arrival.
    swept: Vec<(QueryId, Option<ProcessingTime>)>,
    operators: Downstream<Standing>,
}

/// Values that Klink's last evaluation has computed for one operator: its query, its place in it, and its
/// cost.
#[derive(Clone, Copy, Debug)]
struct Standing {
    query: QueryId,
    /// Number of operators of the same query that come later in topological order.
    place: u32,
    /// Cost in ns that this operator and everything behind it add to a record in front of it: the paper's G, the cost
    /// of a record from this operator down to the sinks, times the share of the records that the operator takes.
    share_ns: f64,
}

impl Default for Standing {
    fn default() -> Self {
        Standing { query: QueryId(u32::MAX), place: 0, share_ns: 0.0 }
    }
}

impl Default for Klink {
    fn default() -> Self {
        Klink::new(KlinkSettings::default())
    }
}

impl Klink {
    /// Creates the policy `klink` with the given settings.
    pub fn new(settings: KlinkSettings) -> Self {
        Klink::named(NAME, settings)
    }

    /// Creates `klink_no_memory`, which orders operators by slack even while memory is short.
    pub fn no_memory() -> Self {
        let settings = KlinkSettings { memory_share: f64::INFINITY, ..KlinkSettings::default() };
        Klink::named(NO_MEMORY_NAME, settings)
    }

    /// Creates `klink_memory_slack`. While memory is short, of the queries that can free some, the one with
    /// the least slack runs first.
    pub fn memory_slack() -> Self {
        let settings = KlinkSettings { relief: Relief::LeastSlack, ..KlinkSettings::default() };
        Klink::named(MEMORY_SLACK_NAME, settings)
    }

    /// Creates `klink_sum`, which uses Eq. 8 of the Klink paper with its confidence f at 95 %.
    pub fn sum() -> Self {
        let estimate = Estimate::Sum { reach_deviations: reach_deviations(CONFIDENCE_PERCENT) };
        Klink::named(SUM_NAME, KlinkSettings { estimate, ..KlinkSettings::default() })
    }

    /// Creates `klink_lazy`, which follows Algorithm 1 of the Klink paper to the letter.
    pub fn lazy() -> Self {
        let settings = KlinkSettings {
            is_lazy: true,
            evaluates_sweeps: false,
            starvation_ns: u64::MAX,
            ..KlinkSettings::default()
        };
        Klink::named(LAZY_NAME, settings)
    }

    /// Creates `klink_literal_variance`, which follows Eq. 6 of the Klink paper to the letter.
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

    /// Creates `klink_regression`, which is LR (linear regression) of Fig. 9c in the Klink paper.
    pub fn regression() -> Self {
        let estimate = Estimate::Regression;
        Klink::named(REGRESSION_NAME, KlinkSettings { estimate, ..KlinkSettings::default() })
    }

    /// Returns this form of Klink with the parameters that users set.
    #[must_use]
    pub fn with(mut self, settings: &Settings) -> Self {
        let own = &mut self.settings;
        (own.cycle_ns, own.epochs) = (settings.klink_cycle_ns, settings.klink_epochs);
        if own.memory_share.is_finite() {
            own.memory_share = settings.klink_memory_share;
        }
        if let Estimate::Sum { reach_deviations: reach } = &mut own.estimate {
            *reach = reach_deviations(settings.klink_confidence_percent);
        }
        self
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
            swept: Vec::new(),
            operators: Downstream::default(),
        }
    }

    /// Returns true if there is an operator that the last evaluation has not seen. A new query is overlooked
    /// if it and its operators have the numbers that an ended query and its operators had. Then the new query
    /// keeps the ended query's slack until the cycle ends.
    fn has_newcomers(&self, snapshot: &Snapshot) -> bool {
        snapshot.order.iter().any(|operator| {
            let is_known = |state: &OperatorState| {
                self.operators.of(*operator).is_some_and(|standing| standing.query == state.query)
            };
            snapshot.operator(*operator).is_some_and(|state| !is_known(state))
        })
    }

    /// Returns true if a sweeping watermark (the first to reach the deadline of a stream) was read since the last
    /// evaluation. Each stream is compared with itself, because a watermark of one stream may be read later than
    /// that of another and have arrived earlier.
    fn has_sweeps(&self, snapshot: &Snapshot) -> bool {
        let is_seen = |(place, stream): (usize, &StreamState)| {
            stream.is_away
                || stream.swept.is_none()
                || self.swept.get(place) == Some(&(stream.query, stream.swept))
        };
        !snapshot.streams.iter().enumerate().all(is_seen)
    }

    /// Computes for each query its pending work, the age of that work, and the cost of processing it. A record in front
    /// of several branches costs as much as all of them. A record in front of the copies of one operator goes to one of
    /// them, so it costs the mean of the copies.
    fn weigh(&mut self, snapshot: &Snapshot) {
        let Klink { queries, operators, .. } = self;
        operators.begin(snapshot);
        for &operator in snapshot.order.iter().rev() {
            let Some(state) = snapshot.operator(operator) else { continue };
            let behind_ns: f64 = operators.of_readers(snapshot, operator).map(|reader| reader.share_ns).sum();
            let cost_ns = (cost_ns(state) + selectivity(state, 0.0) * behind_ns).min(MOST);
            let share_ns = cost_ns * state.share_of_input();
            let mut standing = Standing { query: state.query, place: 0, share_ns };
            if let Some(plan) = queries.get_mut(state.query.0 as usize) {
                standing.place = plan.operators;
                plan.operators += 1;
                plan.hold(state, cost_ns);
            }
            operators.set(operator, standing);
        }
    }

    /// Computes the slack of each query, which is the least slack over the query's streams.
    fn find_slack(&mut self, snapshot: &Snapshot) {
        let Klink { settings, queries, .. } = self;
        let now = snapshot.now;
        queries.iter_mut().for_each(|plan| plan.slack_ns = f64::INFINITY);
        for stream in &snapshot.streams {
            let Some(plan) = queries.get_mut(stream.query.0 as usize) else { continue };
            let slack_ns = slack_ns(settings, plan.known(now), stream);
            // A slack that is NaN, because of invalid statistics, is ignored: `min` returns the other
            // operand.
            plan.slack_ns = slack_ns.map_or(plan.slack_ns, |slack_ns| plan.slack_ns.min(slack_ns));
        }
        self.swept.clear();
        self.swept.extend(snapshot.streams.iter().map(|stream| (stream.query, stream.swept)));
        for plan in self.queries.iter_mut().filter(|plan| plan.slack_ns == f64::INFINITY) {
            plan.slack_ns = plan.slack_without_deadlines_ns(now);
        }
    }

    /// Finds the pipeline of operators that runs first because it frees memory.
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
            let by_release = b.release.most.total_cmp(&a.release.most);
            let by_slack = a.slack_ns.total_cmp(&b.slack_ns);
            match settings.relief {
                Relief::LargestRelease => by_release.then(by_slack),
                Relief::LeastSlack => by_slack.then(by_release),
            }
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

    /// Returns the tie-break of an operator among the operators of its query; the lowest runs first. `place`
    /// is the number of operators of the query that come after it in topological order.
    #[inline]
    fn tie(&self, state: &OperatorState, place: u32) -> u32 {
        let place = place.min(PLACES - 1);
        let waits_since = state.oldest_pending.max(state.last_run_ended);
        let waits_long = waits_since.plus_nanos(self.settings.cycle_ns) < self.cycle.start;
        match (waits_long, state.is_source) {
            (true, _) => place,
            (false, false) => PLACES + place,
            // Sources that have waited for less than a cycle are ordered by the time that is left until their
            // wait counts as long. Times from 0 to 2 cycles are mapped to the last two quarters of the range
            // of tie-breaks.
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

    fn delay_epochs(&self) -> u32 {
        self.settings.epochs
    }

    fn parameters(&self) -> Vec<Parameter> {
        let KlinkSettings { memory_share, starvation_ns, .. } = self.settings;
        let (estimate, reach_deviations) = match self.settings.estimate {
            Estimate::ClosedForm => ("closed_form", None),
            Estimate::Sum { reach_deviations } => ("sum", Some(reach_deviations)),
            Estimate::LiteralVariance => ("literal_variance", None),
            Estimate::Regression => ("regression", None),
        };
        let mut parameters = vec![
            Parameter::whole("round_ns", self.round_ns()),
            Parameter::whole("cycle_ns", self.settings.cycle_ns),
            Parameter::word("estimate", estimate),
        ];
        parameters.extend(reach_deviations.map(|reach| Parameter::real("reach_deviations", reach)));
        parameters.extend([
            Parameter::whole("epochs", self.settings.epochs),
            Parameter::switch("is_lazy", self.settings.is_lazy),
            Parameter::switch("evaluates_sweeps", self.settings.evaluates_sweeps),
        ]);
        if memory_share.is_finite() {
            let relief = match self.settings.relief {
                Relief::LargestRelease => "largest_release",
                Relief::LeastSlack => "least_slack",
            };
            parameters.extend([
                Parameter::real("memory_share", memory_share),
                Parameter::whole("memory_ns", self.settings.memory_ns),
                Parameter::word("relief", relief),
            ]);
        }
        if starvation_ns < u64::MAX {
            parameters.push(Parameter::whole("starvation_ns", starvation_ns));
        }
        parameters
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
