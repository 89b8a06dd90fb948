//! Result of Klink's evaluation for one query: its pending work, the age and the cost of that work, and the
//! slack.

use thalweg_model::ProcessingTime;

use super::memory::Release;
use super::slack::{Known, from_now_ns};
use crate::snapshot::OperatorState;

/// Slack and pending work of one query, as the last evaluation has computed them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct QueryPlan {
    /// The query's slack in ns: the least slack over its streams.
    pub(super) slack_ns: f64,
    /// Time in ns to process all pending input of the query.
    cost_ns: f64,
    /// Number of operators of the query that the evaluation, which goes from the sinks up, has visited so
    /// far.
    pub(super) operators: u32,
    /// Arrival of the oldest input of the query's operators; `None` if no input waits.
    oldest: Option<ProcessingTime>,
    /// Arrival of the oldest input of the query's sources; `None` if no input waits at a source.
    oldest_at_sources: Option<ProcessingTime>,
    pub(super) release: Release,
}

impl QueryPlan {
    /// Adds the pending work of one operator to that of its query. A record costs `cost_ns` from this
    /// operator down to the sinks.
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

    /// Returns, for the slack of the query's streams, the cost of its pending input and the time since which
    /// the input of its sources has not been read.
    pub(super) fn known(&self, now: ProcessingTime) -> Known {
        let unseen_since_ns = self.oldest_at_sources.map_or(0.0, |oldest| from_now_ns(oldest, now).min(0.0));
        Known { now, unseen_since_ns, cost_ns: self.cost_ns }
    }

    /// Returns the slack of a query that waits for no watermark: its result is due at the arrival of its
    /// oldest input.
    pub(super) fn slack_without_deadlines_ns(&self, now: ProcessingTime) -> f64 {
        from_now_ns(self.oldest.unwrap_or(now), now) - self.cost_ns
    }
}
