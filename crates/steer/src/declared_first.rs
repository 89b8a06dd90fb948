//! A policy for the queries of which enough is known, and [`congestion`](thalweg_scheduling::policy::congestion) for all
//! others.
//!
//! A policy that ranks by deadlines cannot rank a job of which only queues are known. Such a job has no
//! [stream](Snapshot::streams). Its operators get ranks by the lengths of their queues, in a class of their own behind
//! all others.
//!
//! This is for the steering of threads, which asks for ranks only: an operating system takes no quantum and reports no runs.

use thalweg_scheduling::policy::congestion;
use thalweg_scheduling::{
    Fields, OperatorId, Policy, QueryId, Rank, Scale, Snapshot, UnknownPolicy, by_name,
};

/// Class of the operators that are ranked by their queues: behind the classes of all policies.
pub const REST_CLASS: u8 = u8::MAX;

/// A policy for queries with streams, and `congestion` for those without.
pub struct DeclaredFirst {
    policy: Box<dyn Policy>,
    congestion: Box<dyn Policy>,
    /// True for each query with a stream in the last snapshot that was prepared, by [`QueryId`].
    is_known: Vec<bool>,
}

impl DeclaredFirst {
    /// Makes the policy that ranks queries with streams by `policy`.
    ///
    /// # Errors
    /// If there is no policy `congestion`.
    pub fn new(policy: Box<dyn Policy>) -> Result<Self, UnknownPolicy> {
        Ok(DeclaredFirst { policy, congestion: by_name(congestion::NAME)?, is_known: Vec::new() })
    }

    fn knows(&self, snapshot: &Snapshot, operator: OperatorId) -> bool {
        let query = snapshot.operator(operator).map(|state| state.query);
        query.is_some_and(|QueryId(query)| self.is_known.get(query as usize) == Some(&true))
    }
}

impl Policy for DeclaredFirst {
    fn name(&self) -> &'static str {
        self.policy.name()
    }

    fn reads(&self) -> Fields {
        self.policy.reads() | self.congestion.reads() | Fields::STREAMS
    }

    fn scale(&self) -> Scale {
        self.policy.scale()
    }

    fn delay_epochs(&self) -> u32 {
        self.policy.delay_epochs()
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        self.is_known.clear();
        self.is_known.resize(snapshot.queries.len(), false);
        for stream in &snapshot.streams {
            if let Some(is_known) = self.is_known.get_mut(stream.query.0 as usize) {
                *is_known = true;
            }
        }
        self.policy.prepare(snapshot);
        self.congestion.prepare(snapshot);
    }

    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        if self.knows(snapshot, operator) {
            return self.policy.rank(snapshot, operator);
        }
        let rank = self.congestion.rank(snapshot, operator)?;
        Some(Rank { class: REST_CLASS, ..rank })
    }
}

#[cfg(test)]
mod tests {
    use thalweg_model::ProcessingTime;
    use thalweg_scheduling::stream::Stream;
    use thalweg_scheduling::{OperatorState, QueryState};

    use super::*;

    /// Returns a snapshot of two queries with one operator each, for which 1 and 5 records wait; only the first query has
    /// a stream.
    fn snapshot() -> Snapshot {
        let state = |query: u32, pending: u64| {
            let new = OperatorState::new(QueryId(query), ProcessingTime::ZERO);
            Some(OperatorState { pending, ..new })
        };
        Snapshot {
            operators: vec![state(0, 1), state(1, 5), None],
            queries: vec![Some(QueryState::default()); 2],
            streams: vec![Stream::new().state(QueryId(0), None, 0)],
            order: vec![OperatorId(0), OperatorId(1)],
            downstream: vec![Vec::new(); 3],
            ..Snapshot::default()
        }
    }

    /// A query without a stream comes last, by its queue, and policies by deadlines still rank the other.
    #[test]
    fn queries_without_streams_come_last() {
        for name in ["klink", "klink_no_memory", "cameo_llf", "fcfs", "congestion"] {
            let mut policy = DeclaredFirst::new(by_name(name).unwrap()).unwrap();
            let snapshot = snapshot();
            policy.prepare(&snapshot);
            let mut alone = by_name(name).unwrap();
            alone.prepare(&snapshot);
            let [known, other, none] = [0, 1, 2].map(|operator| policy.rank(&snapshot, OperatorId(operator)));
            assert_eq!(known, alone.rank(&snapshot, OperatorId(0)), "{name}");
            assert!(known.is_some_and(|rank| rank.class < REST_CLASS), "{name}");
            assert_eq!(other.map(|rank| (rank.class, rank.score)), Some((REST_CLASS, 5.0)), "{name}");
            assert_eq!((none, policy.name(), policy.scale()), (None, name, alone.scale()));
        }
        // Without a stream left, all are ranked by their queues.
        let mut policy = DeclaredFirst::new(by_name("klink").unwrap()).unwrap();
        let snapshot = Snapshot { streams: Vec::new(), ..snapshot() };
        policy.prepare(&snapshot);
        assert_eq!(policy.rank(&snapshot, OperatorId(0)).map(|rank| rank.score), Some(1.0));
    }
}
