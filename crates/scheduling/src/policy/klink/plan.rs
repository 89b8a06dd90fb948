//! What an evaluation finds of a query: what it holds, since when, what that costs, and what time that leaves.

use thalweg_model::ProcessingTime;

use super::memory::Release;
use super::slack::{Known, from_now_ns};
use crate::snapshot::OperatorState;

/// What an evaluation finds of a query.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueryPlan {
    /// The least over its streams.
    pub(super) slack_ns: f64,
    /// What it takes to process all that it holds.
    cost_ns: f64,
    /// Operators that have got a place.
    pub(super) operators: u32,
    /// When the oldest of what its operators hold came in, and of what waits at its sources.
    oldest: Option<ProcessingTime>,
    oldest_at_sources: Option<ProcessingTime>,
    /// The last of its sweeping watermarks to come in.
    pub(super) swept: Option<ProcessingTime>,
    pub(super) release: Release,
}

impl QueryPlan {
    /// Takes note of what one of its operators has to do, where a record costs so much from there on.
    pub(super) fn hold(&mut self, state: &OperatorState, cost_ns: f64) {
        self.cost_ns += state.pending as f64 * cost_ns;
        if state.pending == 0 {
            return;
        }
        let oldest = |so_far: Option<ProcessingTime>| {
            Some(so_far.map_or(state.oldest_pending, |so_far| so_far.min(state.oldest_pending)))
        };
        self.oldest = oldest(self.oldest);
        if state.is_source {
            self.oldest_at_sources = oldest(self.oldest_at_sources);
        }
    }

    /// What its streams need to know of it.
    pub(super) fn known(&self, now: ProcessingTime) -> Known {
        let unseen_since_ns = self.oldest_at_sources.map_or(0.0, |oldest| from_now_ns(oldest, now).min(0.0));
        Known { now, unseen_since_ns, cost_ns: self.cost_ns }
    }

    /// The slack of a query that waits for no watermark: what it holds is late since it came.
    pub(super) fn slack_without_deadlines_ns(&self, now: ProcessingTime) -> f64 {
        from_now_ns(self.oldest.unwrap_or(now), now) - self.cost_ns
    }
}
