//! The ranker: calls the policy of an engine's workers, and decides when. The snapshot that the policy sees comes
//! from the [`observer`](crate::observer).
//!
//! One thread at a time holds the ranker, behind a lock that workers only try. A worker that finds the ranker
//! taken continues with the published ranks. It keeps its notes (messages about ended runs and tasks), and
//! delivers them when it next gets the ranker.
//!
//! Between two rounds only the snapshot's entry of the operator to be ranked is renewed. A round renews the
//! whole snapshot. Rounds come every [`ROUND_NS`] unless the policy sets another time, or less often, so that
//! they take at most 0.5 % of the time. A round that seems to have taken long, because the operating system
//! stopped its thread, does not put off the next one for long (see [`ROUND_WAIT_NS`]).

use std::sync::Arc;

use thalweg_model::ProcessingTime;
use thalweg_scheduling::{Completion, OperatorId, Policy, Rank, Refresh};

use crate::executor::{Runs, TaskBody};
use crate::observer::{Memory, NewTask, Observer};
use crate::query::QueryShared;

/// Nanoseconds between two rounds of ranking, in which all ready tasks are ranked again, unless the policy
/// sets another time: Enjima, section 5.3, "1 ms"; results do not change up to 5 ms.
pub(crate) const ROUND_NS: u64 = thalweg_scheduling::ROUND_NS;

/// Least ratio of the time between the starts of two rounds of ranking to the duration of a round; so rounds
/// take at most 0.5 % of the time.
const ROUND_PER_COST: u64 = 200;

/// Longest time in ns between the starts of two rounds of ranking, unless rounds take more than a tenth of it. Under a
/// policy that holds operators back, no operator runs before a round finds it eligible. On a busy machine the operating
/// system may stop the thread of a round for hundreds of ms. Without this bound, 0.5 % of such a round's length would let
/// all queries wait for a minute.
const ROUND_WAIT_NS: u64 = 100_000_000;

/// Least ratio of the time between the starts of two rounds of ranking to the duration of a round, if rounds take so long
/// that [`ROUND_WAIT_NS`] would be less: so rounds take at most a tenth of the time.
const ROUND_PER_LONG_COST: u64 = 10;

/// Counts how often and how long the policy has chosen tasks so as to free memory, because memory is short.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Relief {
    pub(crate) is_on: bool,
    pub(crate) times: u64,
    /// Nanoseconds for which the policy has chosen tasks so as to free memory, up to the last round of
    /// ranking.
    pub(crate) ns: u64,
}

impl Relief {
    /// Records whether the policy chooses so as to free memory in this round of ranking, which comes
    /// `since_ns` ns after the round before.
    fn note(&mut self, is_on: bool, since_ns: u64) {
        self.ns += if self.is_on { since_ns } else { 0 };
        self.times += u64::from(is_on && !self.is_on);
        self.is_on = is_on;
    }
}

/// A message of a worker to the policy about a run or the end of a task. Numbers of queries and tasks are
/// reused, and a message may arrive long after its query has ended. The serial number of the query tells
/// which query is meant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Note {
    Ran { completion: Completion, serial: u64 },
    Ended { operator: OperatorId, serial: u64 },
}

/// The policy of an engine's workers, with the observer of the tasks that it ranks.
pub(crate) struct Ranker {
    policy: Box<dyn Policy>,
    refresh: Refresh,
    /// Nanoseconds between two rounds of ranking, as the policy sets them; above zero.
    round_ns: u64,
    observer: Observer,
    prepared_at: ProcessingTime,
    relief: Relief,
}

impl Ranker {
    pub(crate) fn new(policy: Box<dyn Policy>, runs: Runs, workers: usize) -> Self {
        Ranker {
            refresh: policy.refresh(),
            round_ns: policy.round_ns().max(1),
            observer: Observer::new(policy.reads(), policy.delay_epochs(), runs, workers),
            policy,
            prepared_at: ProcessingTime::ZERO,
            relief: Relief::default(),
        }
    }

    pub(crate) fn observer(&self) -> &Observer {
        &self.observer
    }

    pub(crate) fn admit(
        &mut self,
        shared: Arc<QueryShared>,
        tasks: Vec<NewTask>,
        now: ProcessingTime,
    ) -> Vec<OperatorId> {
        self.observer.admit(shared, tasks, now)
    }

    /// Returns true if the policy wants a task that already has input to be ranked again when more input
    /// arrives.
    pub(crate) fn ranks_on_arrival(&self) -> bool {
        self.refresh.contain(Refresh::ON_ARRIVAL)
    }

    /// Returns true if workers may run tasks that the policy has not ranked. Otherwise such tasks wait for a
    /// round to rank them.
    pub(crate) fn conserves_work(&self) -> bool {
        self.policy.conserves_work()
    }

    /// Processes a worker's message to the policy about a run or the end of a task.
    pub(crate) fn hear(&mut self, note: Note) {
        match note {
            Note::Ran { completion, serial } => {
                let Completion { operator, ended, watermark, .. } = completion;
                if self.observer.note_run(operator, serial, ended, watermark) {
                    self.policy.feedback(&completion);
                }
            }
            Note::Ended { operator, serial } => self.observer.dismiss(operator, serial),
        }
    }

    /// Asks the policy for the rank of a ready task, and returns it as the word under which the task is
    /// published. Returns `None` if the task must not run before a round ranks it.
    pub(crate) fn word(&mut self, body: &TaskBody, now: ProcessingTime) -> Option<u64> {
        self.observer.renew_task(body.operator, now);
        match self.policy.rank(&self.observer.snapshot, body.operator) {
            Some(rank) => Some(rank.word()),
            None => self.policy.conserves_work().then(|| Rank::unranked_word(body.operator.0)),
        }
    }

    /// Returns the number of records that the policy lets a task take in its next run; at least 1. For a
    /// source it is the number of records put out.
    pub(crate) fn quantum(&mut self, operator: OperatorId, now: ProcessingTime) -> u32 {
        self.observer.snapshot.now = now;
        self.policy.quantum(&self.observer.snapshot, operator).records.max(1)
    }

    /// Begins a round of ranking: renews the whole snapshot and lets the policy prepare. The duration of the
    /// round counts from `now`.
    pub(crate) fn prepare(
        &mut self,
        now: ProcessingTime,
        memory: Memory,
        is_held: impl Fn(OperatorId) -> bool,
    ) {
        self.observer.renew(now, memory, is_held);
        self.observer.snapshot.round_end = now.plus_nanos(self.round_ns);
        self.policy.prepare(&self.observer.snapshot);
        self.relief.note(self.policy.is_relieving_memory(), now.nanos_since(self.prepared_at));
        self.prepared_at = now;
    }

    pub(crate) fn relief(&self) -> Relief {
        self.relief
    }

    /// Returns the instant of the next round of ranking, from the begin and end of this round.
    pub(crate) fn next_round(&mut self, began: ProcessingTime, ended: ProcessingTime) -> ProcessingTime {
        let took_ns = ended.nanos_since(began);
        let most_ns = took_ns.saturating_mul(ROUND_PER_LONG_COST).max(ROUND_WAIT_NS);
        let length_ns = took_ns.saturating_mul(ROUND_PER_COST).min(most_ns).max(self.round_ns);
        let round_end = began.plus_nanos(length_ns);
        self.observer.snapshot.round_end = round_end;
        round_end
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
