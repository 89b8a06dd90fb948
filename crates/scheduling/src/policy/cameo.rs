//! `cameo_llf`, `cameo_edf`, `cameo_sjf`: the message that must start first for its result to meet its deadline
//! runs next.
//!
//! ```text
//!   observed t_M       t_F, window complete               start deadline          t_F + L
//!        |------------------|--------------------------------------------|----|---------------|
//!                                                                        C_oM     C_path
//! ```
//!
//! Paper      Xu et al., "Move Fast and Meet Deadlines" (NSDI 2021), "Cameo": sections 4, 5.2 and 6.3
//! Class      0
//! Score      the less, the higher: `cameo_llf` t_F + L - C_oM - C_path (Eq. 3), `cameo_edf` t_F + L - C_path,
//!            `cameo_sjf` C_oM (4.2.2). A regular operator has t_F = t_M (Eq. 2)
//! Eligible   pending > 0 and every output has room
//! Quantum    one block, or the records that fit the grain of 1 ms (5.2, 6), if those are more
//! Starves    under deadlines none: deadlines are instants, so later input goes behind, at most by the difference of
//!            targets, windows and costs. `cameo_sjf` starves operators that cost more than those that keep the
//!            workers busy, by definition; the variant `cameo_sjf+ageing` bounds the wait
//! Symbols    M: the head of an operator; t_M: `head.observed`; p_F: `frontier`, which is the paper's TRANSFORM; t_F:
//!            see `cameo/progress.rs`; C_oM: `cost_ns_per_run` with noise, C_path: see `cameo/costs.rs`; L:
//!            `latency_target_ns`
//!
//! Differences from the paper:
//!
//! * The paper's contexts carry the deadline and its parts, and costs come back with acknowledgements. Here records
//!   carry t_M only; the rest is read where the rank is made. The operator's own cost is as fresh as its entry.
//!   C_path, targets and progress lines (event time to processing time) are of the last round, for all operators at
//!   once, instead of one step per acknowledgement.
//! * Within an operator the first arrival runs first. The paper's local priority takes the first in progress
//!   instead. Watermarks of one input only rise, so there the first arrival is also the first in progress. If there
//!   are several inputs, the one with the lowest watermark is read first, and its head gives the rank.
//! * A message is a run: all blocks within a quantum count as one message. The paper swaps operators after the
//!   grain if the next is more urgent. Here a worker asks after each quantum, which is as long as the grain unless
//!   the bound of a run cuts it, and may choose the same operator.
//! * t_F of an operator is not before t_M. It is t_M if it cannot be predicted: if a stream of the query has set no
//!   watermark, or if only the end of the stream completes the window. A source always counts as regular, because
//!   the other operators wait for its progress.
//! * A source that makes records on demand has observed nothing yet. Its next record counts as observed when the
//!   source was last polled, so that the source ages too.
//! * The paper's queues have no bound. Here queues can be full, and an operator whose output has no room is not
//!   eligible. So an operator with a window may run before the window's deadline: otherwise its source could not
//!   continue.
//! * A query without a target has a target of 1 s. In the paper every user gives one.
//! * A window's output has the t of the watermark that completes the window, to within a block, or that of the run's
//!   first record if no record waits behind that watermark. Where input is read by epochs, it has the t of the
//!   epoch's last block.
//!
//! **Ablations**: `cameo_llf_unaware` ignores windows, so that t_F = t_M everywhere (6.3, Fig. 14).
//! `cameo_llf_merged`, ours, takes the operator's merged watermark for p_M, which is the least of all inputs, where
//! 4.3 has the progress of the message itself. It shows that this matters: messages of an input that is ahead of the
//! others wait for a later window, but under `cameo_llf_merged` they are as urgent as those for which the next window
//! waits. Containers of epochs tell the epoch of their oldest block under both. [`CameoSettings::cost_noise_ns`]
//! makes costs inaccurate (6.3, Fig. 15).

mod costs;
mod progress;
pub mod token;

use self::costs::Costs;
use self::progress::Progress;
use crate::parameters::Parameter;
use crate::policy::{Policy, Scale, output_cost};
use crate::rank::{Origin, Quantum, Rank};
use crate::settings::Settings;
use crate::snapshot::{Fields, OperatorId, OperatorState, QueryId, QueryState, Snapshot};

/// Name of the policy that runs the message with the least laxity first.
pub const LLF_NAME: &str = "cameo_llf";
/// Name of the policy that runs the message with the least laxity first, but does not consider windows.
pub const UNAWARE_NAME: &str = "cameo_llf_unaware";
/// Name of the policy that runs the message with the least laxity first, but takes the merged watermark of an operator
/// for the progress of its messages.
pub const MERGED_NAME: &str = "cameo_llf_merged";
/// Name of the policy that runs the message with the earliest deadline first.
pub const EDF_NAME: &str = "cameo_edf";
/// Name of the policy that runs the shortest message first.
pub const SJF_NAME: &str = "cameo_sjf";
/// Name of the policy that runs the shortest message first, with a bounded wait.
pub const SJF_AGEING_NAME: &str = "cameo_sjf+ageing";

/// The default grain, in ns: the least time for which an operator runs before another is chosen. Section 6: 1
/// ms.
pub const GRAIN_NS: u64 = 1_000_000;

/// The form of Cameo, which determines the urgency of a message (section 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CameoForm {
    /// Urgency by the time at which the message must start: least laxity first (LLF), the paper's default.
    #[default]
    LeastLaxity,
    /// Urgency by the time at which the message must be done at this operator: earliest deadline first (EDF).
    EarliestDeadline,
    /// Urgency by the cost of the message: shortest job first (SJF).
    ShortestJob,
}

/// The stream progress p_M (section 4.3 of Cameo) from which a policy predicts when the window of a message is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CameoProgress {
    /// The progress of the message itself: the last watermark of the input that its operator reads next. It is the
    /// paper's.
    #[default]
    OfHead,
    /// The operator's merged watermark, which is the least of all its inputs. So messages of an input that is ahead of
    /// the others are not postponed until their own window.
    Merged,
    /// None: the policy does not consider windows, and no deadline is postponed (section 4.2.1).
    Ignored,
}

/// Parameters of Cameo that the paper varies, or leaves open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CameoSettings {
    /// The form of Cameo, which determines the urgency of a message.
    pub form: CameoForm,
    /// The progress by which the deadline of a message that waits for the end of a window is postponed until that
    /// end (section 4.2.2 of Cameo). Shortest job first ignores it.
    pub progress: CameoProgress,
    /// The paper's L, in ns: the latency target of a query that has set none. Ours: 1 s.
    pub latency_target_ns: u64,
    /// Least time in ns for which an operator runs before another is chosen, if it has work for so long.
    /// The default is [`GRAIN_NS`]. With 0, another operator may be chosen after each block.
    pub grain_ns: u64,
    /// The paper's sigma, in ns: the deviation of the noise N(0, sigma) that is added to costs, drawn for
    /// each operator in each round of ranking. Section 6.3: 0 to 1 s. A cost that becomes negative stays so.
    pub cost_noise_ns: u64,
    /// Seed from which the noise of costs is drawn.
    pub noise_seed: u64,
}

impl Default for CameoSettings {
    fn default() -> Self {
        CameoSettings {
            form: CameoForm::LeastLaxity,
            progress: CameoProgress::OfHead,
            latency_target_ns: 1_000_000_000,
            grain_ns: GRAIN_NS,
            cost_noise_ns: 0,
            noise_seed: 0,
        }
    }
}

/// The Cameo policy: by its form, the message with the least laxity, with the earliest deadline or with the
/// least cost runs first.
#[derive(Clone, Debug)]
pub struct Cameo {
    settings: CameoSettings,
    origin: Origin,
    costs: Costs,
    progress: Progress,
    /// Latency targets (the paper's L) by [`QueryId`], in ns.
    targets_ns: Vec<u64>,
}

impl Default for Cameo {
    fn default() -> Self {
        Cameo::new(CameoSettings::default())
    }
}

impl Cameo {
    /// Creates the Cameo policy with the given settings.
    pub fn new(settings: CameoSettings) -> Self {
        Cameo {
            settings,
            origin: Origin::default(),
            costs: Costs::new(settings.cost_noise_ns, settings.noise_seed),
            progress: Progress::default(),
            targets_ns: Vec::new(),
        }
    }

    /// Creates the Cameo policy in the given form, with default settings otherwise.
    pub fn of(form: CameoForm) -> Self {
        Cameo::new(CameoSettings { form, ..CameoSettings::default() })
    }

    /// Creates the variant for comparison that runs the least laxity first but does not consider windows.
    pub fn unaware() -> Self {
        Cameo::new(CameoSettings { progress: CameoProgress::Ignored, ..CameoSettings::default() })
    }

    /// Creates the variant for comparison that runs the least laxity first but takes the merged watermark of an
    /// operator for the progress of all its messages.
    pub fn merged() -> Self {
        Cameo::new(CameoSettings { progress: CameoProgress::Merged, ..CameoSettings::default() })
    }

    /// Returns this form of Cameo with what users set: the grain, which is the least time for which an operator
    /// runs before another is chosen, and the noise of costs.
    #[must_use]
    pub fn with(self, settings: &Settings) -> Self {
        Cameo::new(CameoSettings {
            grain_ns: settings.cameo_grain_ns,
            cost_noise_ns: settings.cameo_cost_noise_ns,
            noise_seed: settings.cameo_noise_seed,
            ..self.settings
        })
    }

    fn has_deadlines(&self) -> bool {
        self.settings.form != CameoForm::ShortestJob
    }

    fn looks_at_windows(&self) -> bool {
        self.has_deadlines() && self.settings.progress != CameoProgress::Ignored
    }

    /// Returns the score by deadline: t_F + L - C_path (time of the frontier, target, cost of the path),
    /// counted in ns from the origin of scores ([`Origin`]) and negated. The earlier this deadline, the
    /// higher the score.
    fn deadline_score(&self, state: &OperatorState, operator: OperatorId) -> f64 {
        // If the policy does not consider windows, `progress`, the table that predicts when windows are
        // complete, is empty.
        let complete = state.frontier.filter(|_| !state.is_source);
        let complete = complete.and_then(|frontier| self.progress.observed_at(state.query, frontier));
        let observed = state.head.observed;
        let due_from = complete.map_or(observed, |complete| complete.max(observed));
        let QueryId(query) = state.query;
        let target_ns =
            self.targets_ns.get(query as usize).copied().unwrap_or(self.settings.latency_target_ns);
        self.origin.score(due_from) - target_ns as f64 + self.costs.path_ns(operator)
    }
}

impl Policy for Cameo {
    fn name(&self) -> &'static str {
        match (self.settings.form, self.settings.progress) {
            (CameoForm::LeastLaxity, CameoProgress::OfHead) => LLF_NAME,
            (CameoForm::LeastLaxity, CameoProgress::Merged) => MERGED_NAME,
            (CameoForm::LeastLaxity, CameoProgress::Ignored) => UNAWARE_NAME,
            (CameoForm::EarliestDeadline, _) => EDF_NAME,
            (CameoForm::ShortestJob, _) => SJF_NAME,
        }
    }

    fn reads(&self) -> Fields {
        let costs = Fields::PENDING | Fields::COST_AND_SELECTIVITY;
        if !self.has_deadlines() {
            return costs;
        }
        let deadlines = costs | Fields::CONTEXTS | Fields::TOPOLOGY;
        match self.settings.progress {
            CameoProgress::OfHead => deadlines | Fields::STREAMS,
            CameoProgress::Merged => deadlines | Fields::STREAMS | Fields::MERGED_PROGRESS,
            CameoProgress::Ignored => deadlines,
        }
    }

    fn scale(&self) -> Scale {
        Scale::Interval
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = vec![Parameter::whole("round_ns", self.round_ns())];
        if self.has_deadlines() {
            parameters.push(Parameter::whole("latency_target_ns", self.settings.latency_target_ns));
        }
        parameters.extend([
            Parameter::whole("grain_ns", self.settings.grain_ns),
            Parameter::whole("cost_noise_ns", self.settings.cost_noise_ns),
        ]);
        if self.settings.cost_noise_ns > 0 {
            parameters.push(Parameter::whole("noise_seed", self.settings.noise_seed));
        }
        parameters
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        self.origin.renew(snapshot.now);
        self.costs.draw_noise(snapshot);
        if !self.has_deadlines() {
            return;
        }
        self.costs.sum_paths(snapshot);
        let default_ns = self.settings.latency_target_ns;
        let target_ns = |query: &Option<QueryState>| query.and_then(|query| query.latency_target_ns);
        self.targets_ns.clear();
        self.targets_ns.extend(snapshot.queries.iter().map(|query| target_ns(query).unwrap_or(default_ns)));
        if self.looks_at_windows() {
            self.progress.update(snapshot);
        }
    }

    #[inline]
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        let state = snapshot.operator(operator).filter(|state| state.can_run())?;
        let message_ns = self.costs.message_ns(state, operator);
        let score = match self.settings.form {
            CameoForm::LeastLaxity => self.deadline_score(state, operator) + message_ns,
            CameoForm::EarliestDeadline => self.deadline_score(state, operator),
            CameoForm::ShortestJob => 0.0 - message_ns,
        };
        Some(Rank { class: 0, score, tie: operator.0 })
    }

    fn quantum(&self, snapshot: &Snapshot, operator: OperatorId) -> Quantum {
        let fitting = snapshot.operator(operator).map_or(0, |state| {
            // The conversion from float to integer saturates, so a tiny cost gives the largest quantum.
            (self.settings.grain_ns as f64 / output_cost::cost_ns(state)) as u32
        });
        Quantum { records: fitting.max(snapshot.block_records) }
    }
}

#[cfg(test)]
mod tests;
