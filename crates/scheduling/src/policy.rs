//! The contract of policies, and their names.

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

/// When ranks must be renewed, beside the first input of an operator that had none. A set, joined with `|`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refresh(u8);

impl Refresh {
    /// In every round, of all operators that wait, after [`Policy::prepare`].
    pub const EVERY_ROUND: Refresh = Refresh(1);
    /// When an operator returns from a run.
    pub const ON_RETURN: Refresh = Refresh(2);
    /// When more input arrives at an operator that waits already.
    pub const ON_ARRIVAL: Refresh = Refresh(4);

    /// Whether all of `other` are in here.
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

/// How far a score may be translated, say to priorities of the operating system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Ratios mean something: twice the score, twice the weight.
    Ratio,
    /// Differences mean something.
    Interval,
    /// Only the order means something.
    Ordinal,
}

/// A rule that picks the next operator from a snapshot.
///
/// State changes in [`prepare`](Policy::prepare) and [`feedback`](Policy::feedback) only, which are serial, so
/// that every executor replays the same calls; `rank` and `quantum` are pure. An executor drives it like this:
///
/// ```text
///   round is due:   snapshot: all          -> prepare -> rank each that waits, if EVERY_ROUND -> publish
///   run has ended:  feedback               -> snapshot: that operator -> rank it, if ON_RETURN -> publish
///   input arrives:  had it none before, or ON_ARRIVAL -> snapshot: that operator -> rank it -> publish
///   worker free:    takes the least word, or a near one whose records are in its cache -> quantum -> run
/// ```
///
/// A rank is published as one [word](Rank::word) and compared with others long after it was made: until its operator
/// is ranked anew, nobody asks again. So **a score must not depend on the instant at which it is computed**: an age
/// would grow while its word stands still, and ranks made at different instants would not compare. Use instants,
/// counted from a base that `prepare` renews, or what `prepare` found. Whether an operator is eligible, and in which
/// class, may depend on `now`: it is looked at again in the next round.
///
/// A round is due 1 ms after the last one by default, while there is work, and at once when a query is submitted. An
/// operator may be ranked before the first `prepare` that sees it; some rank then serves, until that round.
pub trait Policy: Send {
    /// The name by which users choose it.
    fn name(&self) -> &'static str;

    /// The snapshot fields it reads. Asked once.
    fn reads(&self) -> Fields;

    /// When its ranks must be renewed, at least; the worker pool renews them in every round and on every return in any
    /// case, so no more is asked for unless a policy says so. Asked once.
    fn refresh(&self) -> Refresh {
        Refresh::EVERY_ROUND | Refresh::ON_RETURN
    }

    /// What its scores mean. Asked once.
    fn scale(&self) -> Scale;

    /// Whether operators that can run may run although `rank` finds them not eligible, when nothing else is left: the
    /// executor publishes them as [unranked](Rank::unranked_word). If not, they wait until a round ranks them.
    /// Asked once.
    fn conserves_work(&self) -> bool {
        true
    }

    /// Whether, of one class, a worker may take what is hot on its core before what ranks higher, if others will come for
    /// that: where scores mean amounts, so that near ones are about equal. Asked once.
    fn keeps_home(&self) -> bool {
        self.scale() == Scale::Ratio && self.conserves_work()
    }

    /// Whether it chooses by memory now, for lack of it (Klink, section 3.4), as of the last round: to be shown, and nothing
    /// follows from it.
    fn is_relieving_memory(&self) -> bool {
        false
    }

    /// Takes note of the state of things, once per round, serially: the only place for heavy work, in time
    /// proportional to the operators and without allocation once it has seen as many before. All of `snapshot` that
    /// it [`reads`](Policy::reads) is fresh.
    fn prepare(&mut self, snapshot: &Snapshot) {
        let _ = snapshot;
    }

    /// How urgent `operator` is; `None` if it is not eligible. Of `snapshot`, `now` and the entry of `operator` are
    /// fresh, the rest may be as old as the round. Called up to three times per decision: no loops, no allocation.
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank>;

    /// How long `operator` may run: for one block, unless a policy says otherwise. Called when a worker has chosen it; `now`
    /// is fresh, its entry as old as its rank. If another worker has the policy just then, the operator gets what it got last.
    fn quantum(&self, snapshot: &Snapshot, operator: OperatorId) -> Quantum {
        let _ = operator;
        Quantum { records: snapshot.block_records }
    }

    /// Takes note of a run. Called serially, once for every run but the last of an operator; late, if another worker
    /// had the policy when the run ended: then its operator may have been ranked in between, and others have run.
    fn feedback(&mut self, done: &Completion) {
        let _ = done;
    }
}

/// A name that no policy has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownPolicy(pub String);

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no policy `{}`: take one of {}", self.0, names().join(", "))
    }
}

impl std::error::Error for UnknownPolicy {}

/// Makes a policy.
type Make = fn() -> Box<dyn Policy>;

/// Every policy with the name by which users choose it, the default first.
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
    (sbox::NAME, || Box::new(sbox::Sbox::default())),
    (sbox::AGEING_NAME, || aged(sbox::AGEING_NAME, sbox::Sbox::default())),
    (klink::NAME, || Box::new(klink::Klink::default())),
    (klink::NO_MEMORY_NAME, || Box::new(klink::Klink::no_memory())),
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

/// The names of all policies, the default first.
pub fn names() -> Vec<&'static str> {
    POLICIES.iter().map(|(name, _)| *name).collect()
}

/// The policy called `name`.
///
/// # Errors
/// [`UnknownPolicy`], whose message lists those there are.
pub fn by_name(name: &str) -> Result<Box<dyn Policy>, UnknownPolicy> {
    let known = POLICIES.iter().find(|(known, _)| *known == name);
    known.map(|(_, make)| make()).ok_or_else(|| UnknownPolicy(name.to_owned()))
}

#[cfg(test)]
pub(crate) mod tests;
