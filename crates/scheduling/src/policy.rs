//! The contract of policies, and their names.

pub mod fcfs;

use std::fmt;

use crate::rank::{Quantum, Rank};
use crate::snapshot::{Completion, Fields, OperatorId, Snapshot};

/// When ranks must be renewed. A set, joined with `|`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refresh(u8);

impl Refresh {
    /// Once per scheduling round.
    pub const EVERY_ROUND: Refresh = Refresh(1);
    /// When an operator returns from a run.
    pub const ON_RETURN: Refresh = Refresh(2);
    /// When the head of an operator's input changes.
    pub const ON_HEAD_CHANGE: Refresh = Refresh(4);
    /// Whenever a worker looks for work.
    pub const ON_DEMAND: Refresh = Refresh(8);

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
/// that every executor replays the same calls; `rank` and `quantum` are pure.
pub trait Policy: Send {
    /// The name by which users choose it.
    fn name(&self) -> &'static str;

    /// The snapshot fields it reads.
    fn reads(&self) -> Fields;

    /// When its ranks must be renewed.
    fn refresh(&self) -> Refresh;

    /// What its scores mean.
    fn scale(&self) -> Scale;

    /// Takes note of the state of things, once per round: the only place for heavy work.
    fn prepare(&mut self, snapshot: &Snapshot) {
        let _ = snapshot;
    }

    /// How urgent `operator` is; `None` if it is not eligible.
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank>;

    /// How long `operator` may run.
    fn quantum(&self, snapshot: &Snapshot, operator: OperatorId) -> Quantum;

    /// Takes note of a run.
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

/// The names of all policies.
pub fn names() -> Vec<&'static str> {
    vec![fcfs::NAME]
}

/// The policy called `name`.
///
/// # Errors
/// [`UnknownPolicy`], whose message lists those there are.
pub fn by_name(name: &str) -> Result<Box<dyn Policy>, UnknownPolicy> {
    match name {
        fcfs::NAME => Ok(Box::new(fcfs::Fcfs)),
        _ => Err(UnknownPolicy(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_found_by_their_names_and_by_no_other() {
        assert!(names().into_iter().all(|name| by_name(name).is_ok_and(|policy| policy.name() == name)));
        let error = by_name("fastest").err().expect("no such policy").to_string();
        assert_eq!(error, "there is no policy `fastest`: take one of fcfs");
    }
}
