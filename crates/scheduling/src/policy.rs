//! The contract of scheduling policies, and the names by which users choose one.

pub mod ageing;
pub mod cameo;
pub mod chain;
pub mod congestion;
mod downstream;
pub mod enjima;
pub mod fcfs;
pub mod highest_rate;
pub mod klink;
pub mod min_cost;
pub mod min_latency;
pub mod orleans;
pub mod output_cost;
pub mod round_robin;
pub mod sbox;
pub mod streambox;
mod turns;

use std::fmt;

use self::cameo::CameoForm;
use self::enjima::EnjimaSettings;
use crate::rank::{Quantum, Rank};
use crate::snapshot::{Completion, Fields, OperatorId, Snapshot};

/// Events after which operators must be ranked again, besides the first input of an operator that had none. A
/// set; its values are joined with `|`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refresh(u8);

impl Refresh {
    /// In every round, all operators that wait are ranked again, after [`Policy::prepare`].
    pub const EVERY_ROUND: Refresh = Refresh(1);
    /// When a run ends, the operator that ran is ranked again.
    pub const ON_RETURN: Refresh = Refresh(2);
    /// When more input arrives at an operator that waits already, this operator is ranked again.
    pub const ON_ARRIVAL: Refresh = Refresh(4);

    /// Returns true if this set of events contains all events of `other`.
    pub const fn contain(self, other: Refresh) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for Refresh {
    type Output = Refresh;
    fn bitor(self, other: Refresh) -> Refresh {
        Refresh(self.0 | other.0)
    }
}

/// Meaning of the size of a policy's scores, for translation into something else, such as priorities of the
/// operating system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Ratios of scores are meaningful: twice the score means twice the weight.
    Ratio,
    /// Differences of scores are meaningful.
    Interval,
    /// Only the order of scores is meaningful.
    Ordinal,
}

/// A rule that picks the next operator to run from a snapshot of the engine.
///
/// State changes only in [`prepare`](Policy::prepare) and [`feedback`](Policy::feedback), which are called serially, so
/// that every executor replays the same calls. `rank` and `quantum` are pure. An executor drives a policy like this:
///
/// ```text
///   round is due:   snapshot: all          -> prepare -> rank each that waits, if EVERY_ROUND -> publish
///   run has ended:  feedback               -> snapshot: that operator -> rank it, if ON_RETURN -> publish
///   input arrives:  first input, or ON_ARRIVAL -> snapshot: that operator -> rank it -> publish
///   worker free:    takes the least word, or a near one whose records are in its cache -> quantum -> run
/// ```
///
/// A rank is published as one [word](Rank::word) and compared with others long after it was made: the policy is not
/// asked again before the operator is ranked anew. So **a score must not depend on the instant at which it is
/// computed**: an age would grow while its word stands still, and ranks made at different instants would not compare.
/// Use instants, counted from a base that `prepare` renews, or values that `prepare` computed. Eligibility and class
/// may depend on `now`: both are checked again in the next round.
///
/// By default a round is due 1 ms after the last one while there is work, and at once when a query is submitted. An
/// operator may be ranked before the first `prepare` that sees it; any rank will do until that round.
pub trait Policy: Send {
    /// Returns the name by which users choose this scheduling policy.
    fn name(&self) -> &'static str;

    /// Returns the fields of the snapshot that the policy reads. Called once.
    fn reads(&self) -> Fields;

    /// Returns the events after which the policy needs operators to be ranked again. The worker pool ranks
    /// them in every round and after every run in any case, so the default asks for no more. Called once.
    fn refresh(&self) -> Refresh {
        Refresh::EVERY_ROUND | Refresh::ON_RETURN
    }

    /// Returns whether ratios, differences or only the order of the policy's scores are meaningful. Called
    /// once.
    fn scale(&self) -> Scale;

    /// Returns true if operators that can run but are not eligible may run when nothing else is left. The
    /// executor then publishes them as [unranked](Rank::unranked_word). If false, they wait until a round
    /// ranks them. Called once.
    fn conserves_work(&self) -> bool {
        true
    }

    /// Returns true if cache locality may override rank within a class: a worker may take an operator whose data is
    /// in its cache before a higher-ranked one, if other workers will take the latter. The default allows it where
    /// scores are amounts, so that near scores are about equal. Called once.
    fn prefers_workers(&self) -> bool {
        self.scale() == Scale::Ratio && self.conserves_work()
    }

    /// Returns true if, as of the last round, the policy chooses operators so as to free memory, because
    /// memory is short (Klink, section 3.4). Used for display only.
    fn is_relieving_memory(&self) -> bool {
        false
    }

    /// Updates the policy's state once per round, serially. This is the only place for heavy work: time proportional to
    /// the number of operators, and no allocation once it has seen as many before. All fields of `snapshot` that the
    /// policy [`reads`](Policy::reads) are fresh.
    fn prepare(&mut self, snapshot: &Snapshot) {
        let _ = snapshot;
    }

    /// Returns the rank (urgency) of `operator`; `None` if it is not eligible to run. Only `now` and the
    /// entry of `operator` are fresh in `snapshot`; the rest may be as old as the last round. Called up to
    /// three times per decision: implementations must neither loop nor allocate.
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank>;

    /// Returns the quantum of `operator`, which bounds its next run; by default one block. Called when a
    /// worker has chosen the operator: `now` is fresh, and the operator's entry is as old as its rank. If
    /// another worker holds the policy at that moment, the operator gets its last quantum again.
    fn quantum(&self, snapshot: &Snapshot, operator: OperatorId) -> Quantum {
        let _ = operator;
        Quantum { records: snapshot.block_records }
    }

    /// Gives the policy the report of a run. Called serially, once for every run but the last of an operator.
    /// The call comes late if another worker held the policy when the run ended: until then the operator may
    /// be ranked, and others may run.
    fn feedback(&mut self, done: &Completion) {
        let _ = done;
    }
}

/// Error: no policy has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownPolicy(pub String);

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no policy `{}`: take one of {}", self.0, names().join(", "))
    }
}

impl std::error::Error for UnknownPolicy {}

/// The type of a function that makes a policy with its default settings.
type Make = fn() -> Box<dyn Policy>;

/// Every policy, with the name by which users choose it; the default comes first.
const POLICIES: &[(&str, Make)] = &[
    (enjima::NAME, || Box::new(enjima::Enjima::default())),
    (enjima::STRICT_NAME, || Box::new(enjima::Enjima::strict(EnjimaSettings::default()))),
    (fcfs::NAME, || Box::new(fcfs::Fcfs::default())),
    (fcfs::INGEST_NAME, || Box::new(fcfs::Fcfs::by_ingest())),
    (fcfs::FIFO_NAME, || Box::new(fcfs::Fcfs::fifo())),
    (round_robin::NAME, || Box::new(round_robin::RoundRobin::default())),
    (round_robin::QUANTUM_NAME, || Box::new(round_robin::RoundRobin::with_quantum_ns(klink::CYCLE_NS))),
    (min_latency::NAME, || Box::new(min_latency::MinLatency::default())),
    (min_latency::AGEING_NAME, || aged(min_latency::AGEING_NAME, min_latency::MinLatency::default())),
    (min_cost::NAME, || Box::new(min_cost::MinCost::default())),
    (highest_rate::NAME, || Box::new(highest_rate::HighestRate::default())),
    (highest_rate::AGEING_NAME, || aged(highest_rate::AGEING_NAME, highest_rate::HighestRate::default())),
    (chain::NAME, || Box::new(chain::Chain::default())),
    (chain::AGEING_NAME, || aged(chain::AGEING_NAME, chain::Chain::default())),
    (streambox::NAME, || Box::new(streambox::StreamBox::default())),
    (streambox::MOST_OPEN_NAME, || Box::new(streambox::StreamBox::most_open())),
    (sbox::NAME, || Box::new(sbox::Sbox::default())),
    (sbox::AGEING_NAME, || aged(sbox::AGEING_NAME, sbox::Sbox::default())),
    (klink::NAME, || Box::new(klink::Klink::default())),
    (klink::NO_MEMORY_NAME, || Box::new(klink::Klink::no_memory())),
    (klink::MEMORY_SLACK_NAME, || Box::new(klink::Klink::memory_slack())),
    (klink::SUM_NAME, || Box::new(klink::Klink::sum())),
    (klink::LAZY_NAME, || Box::new(klink::Klink::lazy())),
    (klink::LITERAL_VARIANCE_NAME, || Box::new(klink::Klink::literal_variance())),
    (klink::REGRESSION_NAME, || Box::new(klink::Klink::regression())),
    (cameo::LLF_NAME, || Box::new(cameo::Cameo::of(CameoForm::LeastLaxity))),
    (cameo::UNAWARE_NAME, || Box::new(cameo::Cameo::unaware())),
    (cameo::EDF_NAME, || Box::new(cameo::Cameo::of(CameoForm::EarliestDeadline))),
    (cameo::SJF_NAME, || Box::new(cameo::Cameo::of(CameoForm::ShortestJob))),
    (cameo::SJF_AGEING_NAME, || aged(cameo::SJF_AGEING_NAME, cameo::Cameo::of(CameoForm::ShortestJob))),
    (cameo::token::NAME, || Box::new(cameo::token::CameoToken::default())),
    (orleans::NAME, || Box::new(orleans::Orleans::default())),
    (orleans::AGEING_NAME, || aged(orleans::AGEING_NAME, orleans::Orleans::default())),
    (congestion::NAME, || Box::new(congestion::Congestion::default())),
    (congestion::V1_NAME, || Box::new(congestion::Congestion::v1())),
    (congestion::AGEING_NAME, || aged(congestion::AGEING_NAME, congestion::Congestion::default())),
];

fn aged<P: Policy + 'static>(name: &'static str, policy: P) -> Box<dyn Policy> {
    Box::new(ageing::Ageing::new(name, policy))
}

/// Returns the names of all policies, the default first.
pub fn names() -> Vec<&'static str> {
    POLICIES.iter().map(|(name, _)| *name).collect()
}

/// Returns the policy called `name`.
///
/// # Errors
/// [`UnknownPolicy`] if there is none; its message lists the known names.
pub fn by_name(name: &str) -> Result<Box<dyn Policy>, UnknownPolicy> {
    let known = POLICIES.iter().find(|(known, _)| *known == name);
    known.map(|(_, make)| make()).ok_or_else(|| UnknownPolicy(name.to_owned()))
}

#[cfg(test)]
pub(crate) mod tests;
