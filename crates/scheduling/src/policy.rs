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
use crate::parameters::Parameter;
use crate::rank::{Quantum, Rank};
use crate::settings::Settings;
use crate::snapshot::{Completion, DelayStatistics, Fields, OperatorId, Snapshot};

/// The default time from the start of one round of ranking to the next, in ns: Enjima, section 5.2, "1 ms".
pub const ROUND_NS: u64 = 1_000_000;

/// Events after which operators must be ranked again. The arrival of input at an operator that had none
/// always is such an event. A set; its values are joined with `|`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refresh(u8);

impl Refresh {
    /// In every round (a periodic pass over all operators), after [`Policy::prepare`], all operators that
    /// wait are ranked again.
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

/// The comparisons of a policy's scores that have a meaning. A program that translates scores, for example
/// into priorities of the operating system, needs to know them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Ratios of scores are meaningful: an operator with twice the score is twice as urgent, and may get
    /// twice the share of CPU time.
    Ratio,
    /// Differences of scores are meaningful, but not their ratios: the score of zero is arbitrary.
    Interval,
    /// Only the order of scores is meaningful: which of two scores is the higher one.
    Ordinal,
}

/// The input that an operator with several inputs reads next, of those on which something waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum InputOrder {
    /// The input with the lowest watermark, until it has been read for so long that others get a turn. Records of inputs
    /// that are ahead would only wait in state for it. This is Cameo's local priority, by progress (section 5.2).
    #[default]
    Progress,
    /// The input whose oldest waiting record arrived at the operator first, as in a queue that all inputs share. Inputs
    /// on which only marks wait, such as watermarks, go before all records.
    Arrival,
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
///   worker free:    takes the least word, or one nearly as small with its input in cache -> quantum -> run
/// ```
///
/// A rank is published as one [word](Rank::word) and compared with others long after it was made: the policy is not
/// asked again before the operator is ranked anew. So **a score must not depend on the instant at which it is
/// computed**: an age would grow while its word stands still, and ranks made at different instants would not compare.
/// Use instants, counted from a base that `prepare` renews, or values that `prepare` computed. Eligibility and class
/// may depend on `now`: both are checked again in the next round.
///
/// A round is due [`round_ns`](Policy::round_ns) after the last one while there is work, and at once when a
/// query is submitted. An operator may be ranked before the first `prepare` that sees it; any rank will do
/// until that round.
pub trait Policy: Send {
    /// Returns the name by which users choose this scheduling policy.
    fn name(&self) -> &'static str;

    /// Returns the fields of the snapshot that the policy reads. Called once.
    fn reads(&self) -> Fields;

    /// Returns the events after which the policy needs operators to be ranked again. The worker pool ranks
    /// them in every round of ranking and after every run in any case, so the default asks for no more.
    /// Called once.
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

    /// Returns true if cache locality may override rank within a class: a worker may take an operator whose input
    /// is in its cache before one of higher rank, if another worker will take the one of higher rank. The default
    /// allows it if ratios of scores are meaningful ([`Scale::Ratio`]), because nearly equal scores then mean
    /// nearly equal urgency. Called once.
    fn prefers_workers(&self) -> bool {
        self.scale() == Scale::Ratio && self.conserves_work()
    }

    /// Returns the order in which an operator reads its inputs, if it has several. Called once.
    fn input_order(&self) -> InputOrder {
        InputOrder::Progress
    }

    /// Returns true if, as of the last round of ranking, the policy chooses operators so as to free memory,
    /// because memory is short (Klink, section 3.4). Used for display only.
    fn is_relieving_memory(&self) -> bool {
        false
    }

    /// Returns the time in ns from one round of ranking to the next; above zero. The executor may lengthen
    /// it, so that ranking takes only a small part of the time. Called once.
    fn round_ns(&self) -> u64 {
        ROUND_NS
    }

    /// Returns the number of Klink's epochs (each ends with a watermark that closes a window) over which
    /// [`StreamState::delays`](crate::StreamState::delays) are computed, from 1 to
    /// [`DelayStatistics::EPOCHS`]. Called once.
    fn delay_epochs(&self) -> u32 {
        DelayStatistics::EPOCHS as u32
    }

    /// Returns the parameters of the policy as it was made, in the order in which they are shown: the time
    /// between rounds of ranking first, then the policy's own. Parameters of parts that the policy does not have
    /// are left out. Used for display only; may allocate.
    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::whole("round_ns", self.round_ns())]
    }

    /// Updates the policy's state once per round of ranking, serially. This is the only place for heavy work:
    /// time proportional to the number of operators, and no allocation once it has seen as many operators
    /// before. All fields of `snapshot` that the policy [`reads`](Policy::reads) are fresh.
    fn prepare(&mut self, snapshot: &Snapshot) {
        let _ = snapshot;
    }

    /// Returns the rank (urgency) of `operator`; `None` if it is not eligible to run. Only `now` and the
    /// entry of `operator` are fresh in `snapshot`; the rest may be as old as the last round of ranking.
    /// Called up to three times per decision: implementations must neither loop nor allocate.
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank>;

    /// Returns the quantum of `operator`, which bounds its next run; by default one block. Called when a
    /// worker has chosen the operator: `now` is fresh, and the operator's entry in the snapshot is as old as
    /// its rank. If another worker holds the policy's lock at that moment, the policy is not called, and the
    /// operator gets its last quantum again.
    fn quantum(&self, snapshot: &Snapshot, operator: OperatorId) -> Quantum {
        let _ = operator;
        Quantum { records: snapshot.block_records }
    }

    /// Gives the policy the report of a run. Called serially, once for every run but the last of an operator.
    /// The call comes late if another worker held the policy's lock when the run ended: before it, the
    /// operator may be ranked, and other operators may run.
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

/// The type of a function that makes a policy with given settings.
type Make = fn(&Settings) -> Box<dyn Policy>;

/// Every policy, with the name by which users choose it; the default comes first.
const POLICIES: &[(&str, Make)] = &[
    (enjima::NAME, |settings| Box::new(enjima::Enjima::new(EnjimaSettings::of_round(settings.round_ns)))),
    (enjima::STRICT_NAME, |settings| {
        Box::new(enjima::Enjima::strict(EnjimaSettings::of_round(settings.round_ns)))
    }),
    (fcfs::NAME, |_| Box::new(fcfs::Fcfs::default())),
    (fcfs::INGEST_NAME, |_| Box::new(fcfs::Fcfs::by_ingest())),
    (fcfs::FIFO_NAME, |_| Box::new(fcfs::Fcfs::fifo())),
    (round_robin::NAME, |_| Box::new(round_robin::RoundRobin::default())),
    (round_robin::QUANTUM_NAME, |settings| {
        Box::new(round_robin::RoundRobin::with_quantum_ns(settings.klink_cycle_ns))
    }),
    (min_latency::NAME, |_| Box::new(min_latency::MinLatency::default())),
    (min_latency::AGEING_NAME, |_| aged(min_latency::AGEING_NAME, min_latency::MinLatency::default())),
    (min_cost::NAME, |_| Box::new(min_cost::MinCost::default())),
    (highest_rate::NAME, |_| Box::new(highest_rate::HighestRate::default())),
    (highest_rate::AGEING_NAME, |_| aged(highest_rate::AGEING_NAME, highest_rate::HighestRate::default())),
    (chain::NAME, |_| Box::new(chain::Chain::default())),
    (chain::AGEING_NAME, |_| aged(chain::AGEING_NAME, chain::Chain::default())),
    (streambox::NAME, |_| Box::new(streambox::StreamBox::default())),
    (streambox::MOST_OPEN_NAME, |_| Box::new(streambox::StreamBox::most_open())),
    (sbox::NAME, |_| Box::new(sbox::Sbox::default())),
    (sbox::AGEING_NAME, |_| aged(sbox::AGEING_NAME, sbox::Sbox::default())),
    (klink::NAME, |settings| Box::new(klink::Klink::default().with(settings))),
    (klink::NO_MEMORY_NAME, |settings| Box::new(klink::Klink::no_memory().with(settings))),
    (klink::MEMORY_SLACK_NAME, |settings| Box::new(klink::Klink::memory_slack().with(settings))),
    (klink::SUM_NAME, |settings| Box::new(klink::Klink::sum().with(settings))),
    (klink::LAZY_NAME, |settings| Box::new(klink::Klink::lazy().with(settings))),
    (klink::LITERAL_VARIANCE_NAME, |settings| Box::new(klink::Klink::literal_variance().with(settings))),
    (klink::REGRESSION_NAME, |settings| Box::new(klink::Klink::regression().with(settings))),
    (cameo::LLF_NAME, |settings| Box::new(cameo::Cameo::of(CameoForm::LeastLaxity).with(settings))),
    (cameo::UNAWARE_NAME, |settings| Box::new(cameo::Cameo::unaware().with(settings))),
    (cameo::MERGED_NAME, |settings| Box::new(cameo::Cameo::merged().with(settings))),
    (cameo::EDF_NAME, |settings| Box::new(cameo::Cameo::of(CameoForm::EarliestDeadline).with(settings))),
    (cameo::SJF_NAME, |settings| Box::new(cameo::Cameo::of(CameoForm::ShortestJob).with(settings))),
    (cameo::SJF_AGEING_NAME, |settings| {
        aged(cameo::SJF_AGEING_NAME, cameo::Cameo::of(CameoForm::ShortestJob).with(settings))
    }),
    (cameo::token::NAME, |_| Box::new(cameo::token::CameoToken::default())),
    (orleans::NAME, |_| Box::new(orleans::Orleans::default())),
    (orleans::AGEING_NAME, |_| aged(orleans::AGEING_NAME, orleans::Orleans::default())),
    (congestion::NAME, |_| Box::new(congestion::Congestion::default())),
    (congestion::V1_NAME, |_| Box::new(congestion::Congestion::v1())),
    (congestion::AGEING_NAME, |_| aged(congestion::AGEING_NAME, congestion::Congestion::default())),
];

fn aged<P: Policy + 'static>(name: &'static str, policy: P) -> Box<dyn Policy> {
    Box::new(ageing::Ageing::new(name, policy))
}

/// Returns the names of all policies, the default first.
pub fn names() -> Vec<&'static str> {
    POLICIES.iter().map(|(name, _)| *name).collect()
}

/// Returns the policy called `name` with its default settings.
///
/// # Errors
/// [`UnknownPolicy`] if there is none; its message lists the known names.
pub fn by_name(name: &str) -> Result<Box<dyn Policy>, UnknownPolicy> {
    configured(name, &Settings::default())
}

/// Returns the policy called `name` with those of `settings` that it has.
///
/// # Errors
/// [`UnknownPolicy`] if there is none; its message lists the known names.
pub fn configured(name: &str, settings: &Settings) -> Result<Box<dyn Policy>, UnknownPolicy> {
    let known = POLICIES.iter().find(|(known, _)| *known == name);
    known.map(|(_, make)| make(settings)).ok_or_else(|| UnknownPolicy(name.to_owned()))
}

#[cfg(test)]
pub(crate) mod tests;
