//! Memory mode: while memory is short, those operators run first that take the most records out of it.
//!
//! Source: Klink (SIGMOD 2021), section 3.4.
//!
//! ```text
//!   p(k) = sum over i <= k of pending(i) (1 - s(i) s(i+1) ... s(k))     records that are gone once 1..k have run
//!   C(k) = sum over i <= k of pending(i) (c(i) + s(i) c(i+1) + ... )    the time that this takes
//!
//!   best: the query and the k with the most p(k) min(1, r / C(k)); of several queries the one with the least slack
//! ```
//!
//! 1, 2, ... are the operators of the query, sources apart, upstream first. The paper prints p(k) as if all that is
//! pending stood before the first of them. What leaves the engine at a sink is not counted, as there. k is an operator with s < 1, as there: another adds nothing to p.

use thalweg_model::ProcessingTime;

use super::{KlinkSettings, MOST};
use crate::policy::output_cost::{cost_ns, selectivity};
use crate::snapshot::{OperatorState, QueryId, Snapshot};

/// The part of what was used on entering at which it is enough: "half of the consumed memory".
const LEFT_ON_LEAVING: f64 = 0.5;

/// Whether memory is short. It changes with an evaluation, and is left for one cycle at least.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MemoryMode {
    /// It is not, or it has been for as long as may be: not again until then.
    Relaxed { until: ProcessingTime },
    /// It is.
    Pressed { since: ProcessingTime, used_bytes: u64 },
}

impl Default for MemoryMode {
    fn default() -> Self {
        MemoryMode::Relaxed { until: ProcessingTime::ZERO }
    }
}

impl MemoryMode {
    /// What comes after it at `snapshot.now`.
    pub(super) fn next(self, settings: &KlinkSettings, snapshot: &Snapshot) -> MemoryMode {
        let Snapshot { now, memory_used_bytes: used, memory_limit_bytes: limit, .. } = *snapshot;
        match self {
            MemoryMode::Relaxed { until } => {
                // A share that is no number is never reached.
                let is_short = limit > 0 && used as f64 >= settings.memory_share * limit as f64;
                let is_entered = is_short && until <= now;
                if is_entered { MemoryMode::Pressed { since: now, used_bytes: used } } else { self }
            }
            MemoryMode::Pressed { since, used_bytes } => {
                let is_freed = used as f64 <= LEFT_ON_LEAVING * used_bytes as f64;
                let is_over = now.nanos_since(since) >= settings.memory_ns;
                let is_left = is_freed || is_over;
                let until = now.plus_nanos(settings.cycle_ns);
                if is_left { MemoryMode::Relaxed { until } } else { self }
            }
        }
    }

    pub(super) fn is_pressed(self) -> bool {
        matches!(self, MemoryMode::Pressed { .. })
    }
}

/// The operators that run first: those of the query but its sources, down to the one at this place from its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pipeline {
    pub(super) query: QueryId,
    pub(super) place: u32,
}

/// What running a query's operators would release, one after the other from its sources on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Release {
    pending: f64,
    /// What would be left of them.
    left: f64,
    cost_ns: f64,
    /// The most that a part of the pipeline releases in a cycle, zero if none does, and where that part ends.
    pub(super) most: f64,
    pub(super) place: u32,
}

impl Release {
    /// Goes on by one operator, which stands at this place from the end.
    pub(super) fn pass(&mut self, settings: &KlinkSettings, state: &OperatorState, place: u32) {
        let pending = state.pending as f64;
        let selectivity = selectivity(state, 0.0);
        let comes = self.left + pending;
        self.pending += pending;
        self.left = (comes * selectivity).min(MOST);
        self.cost_ns += comes * cost_ns(state);
        let share = (settings.cycle_ns.max(1) as f64 / self.cost_ns).min(1.0);
        let released = (self.pending - self.left) * share;
        if selectivity < 1.0 && self.most < released {
            (self.most, self.place) = (released, place);
        }
    }
}

#[cfg(test)]
mod tests;
