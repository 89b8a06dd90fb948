//! Memory mode: while memory is short, the operators that free the most memory run first.
//!
//! Source: Klink (SIGMOD 2021), section 3.4.
//!
//! ```text
//!   p(k) = sum over i <= k of pending(i) (1 - s(i) s(i+1) ... s(k))     records that are gone once 1..k have run
//!   C(k) = sum over i <= k of pending(i) (c(i) + s(i) c(i+1) + ... )    the time that this takes
//!
//!   of a query:           the k with the greatest p(k) min(1, r / C(k))
//!   `LargestRelease`:     the query whose k releases the most; between equal queries the least slack
//!   `LeastSlack`:         of the queries that release anything, the one with the least slack
//! ```
//!
//! The paper's "all pipelines that maximize the value p_k" has both readings: p_k has an index of the query,
//! so each query may have its best k, or one p_k is the greatest of all.
//!
//! 1, 2, ... are the operators of the query without its sources, upstream first. Ours: of the records that come to an
//! operator with parallel copies, each copy takes an even share, and the shares of copies that are not among 1..k stay.
//! This holds for copies that share their input. Operators of which each reads one partition or one copy, or the chain
//! behind one split of a source, are taken for operators one after the other, as branches are.
//!
//! The paper prints p(k) as if all pending records stood at the first operator. As in the paper, records that leave the
//! engine at a sink do not count as released, and k is an operator with s < 1: any other adds nothing to p.

use thalweg_model::ProcessingTime;

use super::{KlinkSettings, MOST};
use crate::policy::output_cost::{cost_ns, selectivity};
use crate::snapshot::{OperatorState, QueryId, Snapshot};

/// Memory mode ends when the used memory has fallen to this share of the memory used on entry: "half of the
/// consumed memory" in the paper.
const LEFT_ON_LEAVING: f64 = 0.5;

/// State of memory mode, in which operators that free memory run first. It changes only at an evaluation, and
/// after memory mode has ended it is off for at least one cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MemoryMode {
    /// Memory mode (run first what frees memory) is off, and is not entered before the instant `until`.
    Relaxed { until: ProcessingTime },
    /// Memory mode (run first what frees memory) has been on since the instant `since`, when `used_bytes`
    /// were in use.
    Pressed { since: ProcessingTime, used_bytes: u64 },
}

impl Default for MemoryMode {
    fn default() -> Self {
        MemoryMode::Relaxed { until: ProcessingTime::ZERO }
    }
}

impl MemoryMode {
    /// Returns the state of memory mode (run first what frees memory) at an evaluation at `snapshot.now`, if
    /// this is the state at the evaluation before.
    pub(super) fn next(self, settings: &KlinkSettings, snapshot: &Snapshot) -> MemoryMode {
        let Snapshot { now, memory_used_bytes: used, memory_limit_bytes: limit, .. } = *snapshot;
        match self {
            MemoryMode::Relaxed { until } => {
                // A setting `memory_share` that is NaN is never reached, because the comparison with it is
                // false.
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

/// The operators that run first in memory mode: operators of one query in topological order, without its
/// sources, from the first one down to the operator `place`. `place` is the number of operators of the query
/// that come after that operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pipeline {
    pub(super) query: QueryId,
    pub(super) place: u32,
}

/// Number of records that a query's operators would release from memory in a cycle, if they ran one after the
/// other in topological order. It is computed operator by operator, without the sources.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Release {
    pending: f64,
    /// Number of records that the last operator added would have put out, once it and the operators before it
    /// had run. If it has several copies, it is the number put out by the copies added so far.
    left: f64,
    /// Number of copies of the operator that was added last.
    copies: u32,
    /// Number of copies of the last operator that are not added yet. `share` is the number of records that
    /// each copy takes of those put out by the operators before.
    copies_to_come: u32,
    share: f64,
    cost_ns: f64,
    /// The most records that the first operators of the query would release from memory in a cycle, if they
    /// ran in order; zero if they release none. `place` tells the last of these operators: the number of
    /// operators of the query that come after it.
    pub(super) most: f64,
    pub(super) place: u32,
}

impl Release {
    /// Adds the next operator of the query in topological order. `place` is the number of operators that come
    /// after it.
    pub(super) fn pass(&mut self, settings: &KlinkSettings, state: &OperatorState, place: u32) {
        let pending = state.pending as f64;
        let selectivity = selectivity(state, 0.0);
        if self.copies_to_come == 0 || state.copies != self.copies {
            // A new operator begins. If not all copies of the operator before came, one of them has ended,
            // and its share was not taken. If the new operator has as many copies as that one, its first copy
            // is counted in place of the one that has ended.
            let comes = self.left_with_copies();
            (self.copies, self.copies_to_come) = (state.copies, state.copies.max(1));
            (self.share, self.left) = (comes / f64::from(self.copies_to_come), 0.0);
        }
        let comes = self.share + pending;
        self.copies_to_come -= 1;
        self.pending += pending;
        self.left = (self.left + comes * selectivity).min(MOST);
        self.cost_ns += comes * cost_ns(state);
        let share = (settings.cycle_ns.max(1) as f64 / self.cost_ns).min(1.0);
        let released = (self.pending - self.left_with_copies()) * share;
        if selectivity < 1.0 && self.most < released {
            (self.most, self.place) = (released, place);
        }
    }

    /// Returns the number of records that would be left once the operators added so far had run, with the
    /// records that wait for copies which are not added yet.
    fn left_with_copies(&self) -> f64 {
        (self.left + self.share * f64::from(self.copies_to_come)).min(MOST)
    }
}

#[cfg(test)]
mod tests;
