//! `cameo_llf`, `cameo_edf`, `cameo_sjf`: the message that has to start first, for its result to be out in time, runs next.
//!
//! ```text
//!   observed t_M       t_F, when its window is complete            start deadline          t_F + L
//!        |------------------|--------------------------------------------|----|---------------|
//!                                                                        C_oM     C_path
//! ```
//!
//! Paper      Xu et al., "Move Fast and Meet Deadlines" (NSDI 2021), "Cameo": sections 4, 5.2 and 6.3
//! Class      0
//! Score      the less, the higher: `cameo_llf` t_F + L - C_oM - C_path (Eq. 3), `cameo_edf` t_F + L - C_path, `cameo_sjf` C_oM
//!            (4.2.2). A regular operator has t_F = t_M (Eq. 2)
//! Eligible   pending > 0 and every output has room
//! Quantum    one block, or as many records as take the grain of 1 ms (5.2, 6), if those are more
//! Starves    under deadlines nobody: they are instants, so what comes in later goes behind, at most by the difference of
//!            targets, windows and costs. Under `cameo_sjf` whoever costs more than those that keep the workers busy, by
//!            definition; the variant `cameo_sjf+ageing` bounds it
//! Symbols    M: the head of an operator; t_M: `head.observed`; p_F: `frontier`, which is the paper's TRANSFORM; t_F: see
//!            `cameo/progress.rs`; C_oM: `cost_ns_per_run` with noise, C_path: see `cameo/costs.rs`; L: `latency_target_ns`
//!
//! Where it differs:
//!
//! * The paper's contexts carry the deadline and what it is made of, and costs come back with acknowledgements. Here records
//!   carry t_M only. The rest is where the rank is made: the operator's own cost as fresh as its entry, and C_path, targets
//!   and lines of progress from the last round, 1 ms ago, for all operators at once, instead of one step per acknowledgement.
//! * Of one operator what came first runs first. By the paper's local priority that which is first in progress would; a block
//!   stands between two watermarks, so what came first is of the same window or an earlier one.
//! * A message is a run: as many blocks as a quantum lets through count as one. The paper swaps operators after the grain if
//!   the next is more urgent; here a worker asks after each quantum, which is as long unless the bound of a run cuts it, and may choose the same.
//! * t_F of an operator is not before t_M, and is t_M where nobody can tell: if a stream of its query has set no watermark,
//!   and if only the end of the stream completes the window. A source is regular in any case: others wait for its progress.
//! * A source that makes records on demand has nothing that was observed: its next record counts as observed when the source
//!   was last asked, so that it ages, too.
//! * The paper's queues have no bound. Ours are full at some time, and an operator whose output has no room is not eligible;
//!   so a window may be filled before the deadline of what lies there: its source cannot go on otherwise.
//! * A query without a target has one of 1 s. The paper has every user give one.
//! * What a window puts out has t of the first record that the run found which took the watermark, not t of the watermark
//!   itself: earlier by one run at most, so its deadline is never too late.
//!
//! **Ablations** (6.3): `cameo_llf_unaware` knows no windows, so that t_F = t_M everywhere (Fig. 14);
//! [`CameoSettings::cost_noise_ns`] makes costs inaccurate (Fig. 15).

mod costs;
mod progress;
pub mod token;

use self::costs::Costs;
use self::progress::Progress;
use crate::policy::{Policy, Scale, output_cost};
use crate::rank::{Origin, Quantum, Rank};
use crate::snapshot::{Fields, OperatorId, OperatorState, QueryId, QueryState, Snapshot};

/// The name of least laxity first.
pub const LLF_NAME: &str = "cameo_llf";
/// The name of least laxity first that knows no windows.
pub const UNAWARE_NAME: &str = "cameo_llf_unaware";
/// The name of earliest deadline first.
pub const EDF_NAME: &str = "cameo_edf";
/// The name of shortest job first.
pub const SJF_NAME: &str = "cameo_sjf";
/// The name of shortest job first in which nobody starves.
pub const SJF_AGEING_NAME: &str = "cameo_sjf+ageing";

/// What makes a message urgent (section 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CameoForm {
    /// How soon it has to start: LLF, the paper's default.
    #[default]
    LeastLaxity,
    /// How soon it has to be through here: EDF.
    EarliestDeadline,
    /// How little it costs: SJF.
    ShortestJob,
}

/// What the paper varies, and what it leaves open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CameoSettings {
    /// What makes a message urgent.
    pub form: CameoForm,
    /// Whether deadlines of what waits for the end of a window are put off until it is there (section 4.2.2).
    pub is_semantics_aware: bool,
    /// L of a query for which none was set, in ns. Ours: 1 s.
    pub latency_target_ns: u64,
    /// How long an operator runs at least before it is swapped, in ns, if it has work for so long. Section 6: 1 ms. 0 swaps
    /// after each block.
    pub grain_ns: u64,
    /// sigma of the noise N(0, sigma) that is added to costs, in ns, drawn for each operator in each round. Section 6.3: 0 to
    /// 1 s. What becomes less than zero by it stays so.
    pub cost_noise_ns: u64,
    /// What the noise follows from.
    pub noise_seed: u64,
}

impl Default for CameoSettings {
    fn default() -> Self {
        CameoSettings {
            form: CameoForm::LeastLaxity,
            is_semantics_aware: true,
            latency_target_ns: 1_000_000_000,
            grain_ns: 1_000_000,
            cost_noise_ns: 0,
            noise_seed: 0,
        }
    }
}

/// Deadlines, and the shortest job.
#[derive(Clone, Debug)]
pub struct Cameo {
    settings: CameoSettings,
    origin: Origin,
    costs: Costs,
    progress: Progress,
    /// L by [`QueryId`], in ns.
    targets_ns: Vec<u64>,
}

impl Default for Cameo {
    fn default() -> Self {
        Cameo::new(CameoSettings::default())
    }
}

impl Cameo {
    /// With these settings.
    pub fn new(settings: CameoSettings) -> Self {
        Cameo {
            settings,
            origin: Origin::default(),
            costs: Costs::new(settings.cost_noise_ns, settings.noise_seed),
            progress: Progress::default(),
            targets_ns: Vec::new(),
        }
    }

    /// In this form, and else by default.
    pub fn of(form: CameoForm) -> Self {
        Cameo::new(CameoSettings { form, ..CameoSettings::default() })
    }

    /// The ablation: least laxity first that knows no windows.
    pub fn unaware() -> Self {
        Cameo::new(CameoSettings { is_semantics_aware: false, ..CameoSettings::default() })
    }

    fn has_deadlines(&self) -> bool {
        self.settings.form != CameoForm::ShortestJob
    }

    fn looks_at_windows(&self) -> bool {
        self.has_deadlines() && self.settings.is_semantics_aware
    }

    /// t_F + L - C_path, counted from the origin and turned round: the higher, the sooner it has to be through here.
    fn deadline_score(&self, state: &OperatorState, operator: OperatorId) -> f64 {
        // Without windows no line of progress was looked at, so there is none to ask.
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
        match self.settings.form {
            CameoForm::LeastLaxity if self.settings.is_semantics_aware => LLF_NAME,
            CameoForm::LeastLaxity => UNAWARE_NAME,
            CameoForm::EarliestDeadline => EDF_NAME,
            CameoForm::ShortestJob => SJF_NAME,
        }
    }

    fn reads(&self) -> Fields {
        let costs = Fields::PENDING | Fields::COST_AND_SELECTIVITY;
        match (self.has_deadlines(), self.looks_at_windows()) {
            (true, true) => costs | Fields::CONTEXTS | Fields::TOPOLOGY | Fields::STREAMS,
            (true, false) => costs | Fields::CONTEXTS | Fields::TOPOLOGY,
            (false, _) => costs,
        }
    }

    fn scale(&self) -> Scale {
        Scale::Interval
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
            // A conversion of what is too large gives the largest.
            (self.settings.grain_ns as f64 / output_cost::cost_ns(state)) as u32
        });
        Quantum { records: fitting.max(snapshot.block_records) }
    }
}

#[cfg(test)]
mod tests;
