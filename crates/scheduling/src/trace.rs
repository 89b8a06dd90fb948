//! Traces: the calls to a policy with its answers, recorded and replayed.
//!
//! A policy is pure: the same calls get the same answers, whatever drives it. So the calls of a run can be replayed.
//! Replayed to the same policy, they help to find out why it chose as it did; replayed to a changed policy, they show
//! where it would choose otherwise.
//!
//! ```text
//!   executor --calls--> Traced --calls--> policy          Trace::replay --calls--> a fresh policy
//!                          \__ Trace: calls, answers                      answers compared
//! ```
//!
//! A trace can be [written](Trace::write) to a file and [read](Trace::read) again; `trace/file.rs` describes the
//! format.
//!
//! Bounds: the number of calls given to [`Trace::new`], and [`TRACE_BYTES_MAX`] for their memory. Calls beyond a
//! bound are counted and not kept.

mod file;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use thalweg_model::ProcessingTime;

use crate::observed::{Observe, Observed};
use crate::policy::Policy;
use crate::rank::{Quantum, Rank};
use crate::settings::Settings;
use crate::snapshot::{Completion, OperatorId, OperatorState, Snapshot};

pub use file::TraceError;

/// Maximum number of bytes that a trace holds in memory. Each recorded round of ranking keeps a whole
/// snapshot.
pub const TRACE_BYTES_MAX: usize = 512 << 20;

/// A policy whose calls are recorded. Each call costs a lock and a copy, and each round of ranking a copy of the
/// whole snapshot: use it to examine a run, not to measure one.
pub type Traced = Observed<Trace>;

impl Traced {
    /// Wraps `policy` so that the calls to it are recorded in `trace`.
    pub fn new(policy: Box<dyn Policy>, trace: &Trace) -> Self {
        policy.name().clone_into(&mut trace.calls().policy);
        Observed { policy, observer: trace.clone() }
    }
}

/// The recorded calls to a policy and its answers. Clones of this value are handles of one trace.
#[derive(Clone)]
pub struct Trace(Arc<Mutex<Calls>>);

struct Calls {
    /// Name of the recorded policy; empty before the trace is used.
    policy: String,
    /// Settings that the recorded policy was made with; `None` if they are not known.
    settings: Option<Settings>,
    kept: Vec<Call>,
    /// Number of bytes that the recorded calls take in memory.
    bytes: usize,
    calls_max: usize,
    left_out: u64,
}

impl Calls {
    fn with_room(calls_max: usize) -> Self {
        Calls { policy: String::new(), settings: None, kept: Vec::new(), bytes: 0, calls_max, left_out: 0 }
    }

    /// Keeps a recorded call if the trace has room for it. Returns true if the call was kept.
    fn keep(&mut self, call: Call) -> bool {
        let bytes = self.bytes.saturating_add(call.bytes());
        let has_room = self.has_room() && bytes <= TRACE_BYTES_MAX;
        if has_room {
            self.kept.push(call);
            self.bytes = bytes;
        }
        has_room
    }

    fn has_room(&self) -> bool {
        self.kept.len() < self.calls_max && self.bytes < TRACE_BYTES_MAX
    }
}

/// A recorded call to a policy, with the policy's answer.
#[derive(Serialize, Deserialize)]
enum Call {
    Prepare(Box<Snapshot>),
    Rank { asked: Asked, rank: Option<Rank> },
    Quantum { asked: Asked, quantum: Quantum },
    Feedback(Completion),
}

impl Call {
    fn bytes(&self) -> usize {
        let of_snapshot = match self {
            Call::Prepare(snapshot) => {
                let Snapshot { operators, queries, streams, downstream, order, .. } = &**snapshot;
                let readers: usize = downstream.iter().map(|readers| size_of_val(&**readers)).sum();
                size_of::<Snapshot>()
                    + size_of_val(&**operators)
                    + size_of_val(&**queries)
                    + size_of_val(&**streams)
                    + size_of_val(&**downstream)
                    + size_of_val(&**order)
                    + readers
            }
            Call::Rank { .. } | Call::Quantum { .. } | Call::Feedback(_) => 0,
        };
        size_of::<Call>() + of_snapshot
    }
}

/// The part of a snapshot that is fresh in a call between two rounds of ranking: the instants and the entry
/// of one operator.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Asked {
    now: ProcessingTime,
    round_end: ProcessingTime,
    operator: OperatorId,
    state: Option<OperatorState>,
}

impl Asked {
    fn of(snapshot: &Snapshot, operator: OperatorId) -> Self {
        let Snapshot { now, round_end, .. } = *snapshot;
        Asked { now, round_end, operator, state: snapshot.operator(operator).copied() }
    }

    /// Changes `snapshot`, which is as of the last round of ranking, to what it was at this call.
    fn restore(self, snapshot: &mut Snapshot) {
        (snapshot.now, snapshot.round_end) = (self.now, self.round_end);
        let place = self.operator.0 as usize;
        if self.state.is_some() && snapshot.operators.len() <= place {
            snapshot.operators.resize(place + 1, None);
        }
        if let Some(state) = snapshot.operators.get_mut(place) {
            *state = self.state;
        }
    }
}

/// First difference between a replay and the trace that is replayed.
#[derive(Clone, PartialEq, Debug)]
pub struct Diverged {
    /// Number of the call in the trace, from 0 on.
    pub call: usize,
    /// The operator that the policy was asked to rank or to give a quantum.
    pub operator: OperatorId,
    /// The answer that the policy gave when the trace was recorded.
    pub recorded: String,
    /// The answer of the policy in the replay.
    pub replayed: String,
}

impl fmt::Display for Diverged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diverged { call, operator, recorded, replayed } = self;
        write!(
            f,
            "call {call}, of operator {}: {recorded} when recorded, {replayed} when replayed",
            operator.0
        )
    }
}

impl std::error::Error for Diverged {}

impl Trace {
    /// Creates a trace with room for `calls_max` calls.
    pub fn new(calls_max: usize) -> Self {
        Trace(Arc::new(Mutex::new(Calls::with_room(calls_max))))
    }

    /// Returns the name of the recorded policy; empty before the trace is used.
    pub fn policy(&self) -> String {
        self.calls().policy.clone()
    }

    /// Returns the trace with the settings that its policy is made with. They are kept so that a replay can make
    /// the same policy.
    #[must_use]
    pub fn with_settings(self, settings: Settings) -> Self {
        self.calls().settings = Some(settings);
        self
    }

    /// Returns the settings that the recorded policy was made with; `None` if the trace does not have them,
    /// which files of an earlier version do not.
    pub fn settings(&self) -> Option<Settings> {
        self.calls().settings
    }

    /// Returns the number of calls that were kept.
    pub fn len(&self) -> usize {
        self.calls().kept.len()
    }

    /// Returns true if no call was kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of calls for which the trace had no room.
    pub fn left_out(&self) -> u64 {
        self.calls().left_out
    }

    /// Replays the recorded calls to a fresh policy, and compares its answers with the recorded ones.
    ///
    /// # Errors
    /// [`Diverged`] at the first answer that differs.
    pub fn replay(&self, policy: &mut dyn Policy) -> Result<(), Diverged> {
        let mut snapshot = Snapshot::default();
        let differ = |call, operator, recorded: &dyn fmt::Debug, replayed: &dyn fmt::Debug| {
            let (recorded, replayed) = (format!("{recorded:?}"), format!("{replayed:?}"));
            Err(Diverged { call, operator, recorded, replayed })
        };
        for (index, call) in self.calls().kept.iter().enumerate() {
            match call {
                Call::Prepare(fresh) => {
                    snapshot.clone_from(fresh);
                    policy.prepare(&snapshot);
                }
                Call::Rank { asked, rank } => {
                    asked.restore(&mut snapshot);
                    let found = policy.rank(&snapshot, asked.operator);
                    if found.map(Rank::word) != rank.map(Rank::word) {
                        return differ(index, asked.operator, rank, &found);
                    }
                }
                Call::Quantum { asked, quantum } => {
                    asked.restore(&mut snapshot);
                    let found = policy.quantum(&snapshot, asked.operator);
                    if found != *quantum {
                        return differ(index, asked.operator, quantum, &found);
                    }
                }
                Call::Feedback(done) => policy.feedback(done),
            }
        }
        Ok(())
    }

    fn note(&self, call: impl FnOnce() -> Call) {
        let mut calls = self.calls();
        // If the trace has no room for a call, the call is not even copied.
        if !calls.has_room() || !calls.keep(call()) {
            calls.left_out += 1;
        }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observe for Trace {
    fn prepared(&self, snapshot: &Snapshot) {
        self.note(|| Call::Prepare(Box::new(snapshot.clone())));
    }

    fn ranked(&self, snapshot: &Snapshot, operator: OperatorId, rank: Option<Rank>) {
        self.note(|| Call::Rank { asked: Asked::of(snapshot, operator), rank });
    }

    fn given(&self, snapshot: &Snapshot, operator: OperatorId, quantum: Quantum) {
        self.note(|| Call::Quantum { asked: Asked::of(snapshot, operator), quantum });
    }

    fn ended(&self, done: &Completion) {
        self.note(|| Call::Feedback(*done));
    }
}

#[cfg(test)]
pub(super) mod tests {
    use thalweg_model::{Entropy, SeededEntropy};

    use super::*;
    use crate::policy::tests::random_behind_sources;
    use crate::policy::{by_name, names};
    use crate::test_bed::Bed;

    /// Records 300 decisions made under a policy, in a trace with room for `calls_max` calls.
    pub(super) fn recorded(policy: &str, seed: u64, calls_max: usize) -> Trace {
        let mut entropy = SeededEntropy::new(seed);
        let tasks = random_behind_sources(&mut entropy);
        let count = tasks.len() as u64;
        let trace = Trace::new(calls_max);
        let traced = Traced::new(by_name(policy).unwrap(), &trace);
        assert_eq!(traced.name(), policy);
        let mut bed = Bed::new(Box::new(traced), 384, tasks);
        for _ in 0..300 {
            let id = entropy.below(count) as u32;
            if !bed.tasks[id as usize].task.is_on_demand {
                bed.push(id, bed.room(id).min(3));
            }
            bed.step();
        }
        trace
    }

    #[test]
    fn the_same_calls_get_the_same_answers() {
        for (policy, seed) in names().into_iter().flat_map(|policy| [1, 2, 3].map(|seed| (policy, seed))) {
            let trace = recorded(policy, seed, 1 << 20);
            assert!(trace.len() > 900 && trace.left_out() == 0, "{policy}: {} calls", trace.len());
            assert_eq!(trace.replay(&mut *by_name(policy).unwrap()), Ok(()), "{policy}, {seed}");
        }
    }

    #[test]
    fn another_policy_is_found_out() {
        let diverged = recorded("enjima", 1, 1 << 20).replay(&mut *by_name("fcfs").unwrap()).unwrap_err();
        let told = diverged.to_string();
        assert!(
            told.contains(" when recorded, ") && told.starts_with(&format!("call {}, ", diverged.call)),
            "{told}"
        );
    }

    #[test]
    fn calls_without_room_are_counted() {
        let (whole, part) = (recorded("fcfs", 1, 1 << 20), recorded("fcfs", 1, 100));
        assert_eq!((part.len(), part.left_out()), (100, whole.len() as u64 - 100));
        assert_eq!(part.replay(&mut *by_name("fcfs").unwrap()), Ok(()));
        assert!(Trace::new(1).is_empty() && !part.is_empty());
    }
}
