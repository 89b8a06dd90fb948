//! `sbox`: the query whose window ends next runs, until it has processed a watermark.
//!
//! Paper      Farhat et al., "Klink" (SIGMOD 2021), section 6.1.3: "The algorithm initially looks up the query
//!            with the closest window deadline, then schedules the query for execution until a watermark is
//!            processed"
//! Score      the query at hand first, then the others by the end of their next window, the earlier the higher;
//!            within a query, downstream operators first
//! At hand    the current query: the query with the earliest window end among those that are active. It stays
//!            current until its sinks have seen a later watermark, or until it is not active. A query is active
//!            if it has work, or if a watermark may come from one of its sources
//! Eligible   pending > 0 and every output has room
//! Quantum    one block
//! Starves    a query whose windows end later, while the queries before it keep the workers busy. The variant
//!            `sbox+ageing` bounds the wait
//! Differs    the paper runs one query; here the queries that come next run on the other workers, and while
//!            the current query has no work. A query without windows, or whose sources have set no watermark,
//!            has no window end and comes last. A query whose sources are all silent or over is not waited for

use thalweg_model::EventTime;

use crate::policy::downstream::Downstream;
use crate::policy::{Policy, Scale};
use crate::rank::Rank;
use crate::snapshot::{Fields, OperatorId, QueryId, Snapshot};

/// The name by which users choose the SBox policy.
pub const NAME: &str = "sbox";
/// The name of the SBox policy with a bounded wait.
pub const AGEING_NAME: &str = "sbox+ageing";

/// The SBox policy: the query whose window ends first runs until it has processed a watermark.
#[derive(Clone, Debug, Default)]
pub struct Sbox {
    /// The current query, and the watermark that its sinks had seen when the query was chosen; `None` if no
    /// query is active.
    at_hand: Option<(QueryId, Option<EventTime>)>,
    /// Place of each query in the order in which queries run, by [`QueryId`].
    queries: Vec<Turn>,
    /// All queries in the order in which they run; kept between rounds of ranking to save allocations.
    order: Vec<QueryId>,
    /// Place of each operator in the topological order, counted from its end (0 is the last), so that
    /// downstream operators come first.
    places: Downstream<u32>,
}

/// Place of a query in the order in which queries run, and whether it has anything to run.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    /// True if the query has work, or waits for a watermark from one of its sources.
    is_active: bool,
    /// Number of queries that run before this query.
    place: u32,
}

impl Sbox {
    /// Keeps the current query, or chooses the query whose window ends first if the current one has processed
    /// a watermark or is not active.
    fn choose(&mut self, snapshot: &Snapshot) {
        let is_active =
            |query: QueryId| self.queries.get(query.0 as usize).is_some_and(|turn| turn.is_active);
        // A query stays the current one until its sinks have seen another watermark. A query without an end of a
        // window ahead is not kept, because its sinks may never see one.
        let is_kept = self.at_hand.is_some_and(|(query, seen)| {
            is_active(query)
                && end_of(snapshot, query) < EventTime::MAX
                && snapshot.query(query).is_some_and(|state| state.sink_watermark == seen)
        });
        if !is_kept {
            let active = (0..snapshot.queries.len() as u32).map(QueryId).filter(|query| is_active(*query));
            let first = active.min_by_key(|query| end_of(snapshot, *query));
            self.at_hand =
                first.map(|query| (query, snapshot.query(query).and_then(|state| state.sink_watermark)));
        }
    }
}

/// Returns the end of the query's next window; `EventTime::MAX` if there is none.
fn end_of(snapshot: &Snapshot, query: QueryId) -> EventTime {
    snapshot.query(query).and_then(|state| state.next_window_end).unwrap_or(EventTime::MAX)
}

impl Policy for Sbox {
    fn name(&self) -> &'static str {
        NAME
    }

    fn reads(&self) -> Fields {
        Fields::PENDING | Fields::TOPOLOGY | Fields::EPOCHS | Fields::STREAMS
    }

    fn scale(&self) -> Scale {
        Scale::Ordinal
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        self.queries.clear();
        self.queries.resize(snapshot.queries.len(), Turn::default());
        let working = snapshot.operators.iter().flatten().filter(|state| state.is_running || state.can_run());
        let waiting = snapshot.streams.iter().filter(|stream| !stream.is_away);
        let active = working.map(|state| state.query).chain(waiting.map(|stream| stream.query));
        for query in active {
            if let Some(turn) = self.queries.get_mut(query.0 as usize) {
                turn.is_active = true;
            }
        }
        self.choose(snapshot);
        let Sbox { at_hand, queries, order, places } = self;
        let is_later = |query: &QueryId| at_hand.is_none_or(|(at_hand, _)| at_hand != *query);
        order.clear();
        order.extend((0..snapshot.queries.len() as u32).map(QueryId));
        order.sort_unstable_by_key(|query| (is_later(query), end_of(snapshot, *query), *query));
        for (query, place) in order.iter().zip(0..) {
            queries[query.0 as usize].place = place;
        }
        places.begin(snapshot);
        let live = snapshot.order.iter().rev().filter(|operator| snapshot.operator(**operator).is_some());
        live.zip(0..).for_each(|(operator, place)| places.set(*operator, place));
    }

    #[inline]
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        let state = snapshot.operator(operator).filter(|state| state.can_run())?;
        // A query that was submitted since the last round of ranking runs last.
        let turn =
            self.queries.get(state.query.0 as usize).map_or(self.queries.len() as u32, |turn| turn.place);
        let tie = self.places.of(operator).copied().unwrap_or(operator.0);
        Some(Rank { class: 0, score: 0.0 - f64::from(turn), tie })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{DelayStatistics, OperatorState, QueryState, StreamState};

    /// Test bed with three queries of two operators each: 0-1, 2-3 and 4-5.
    struct Stand {
        snapshot: Snapshot,
        policy: Sbox,
    }

    impl Stand {
        fn new() -> Self {
            let state =
                |id: u32| Some(OperatorState { query: QueryId(id / 2), pending: 1, ..Default::default() });
            let readers = |id: u32| if id.is_multiple_of(2) { vec![OperatorId(id + 1)] } else { vec![] };
            let snapshot = Snapshot {
                operators: (0..6).map(state).collect(),
                queries: vec![Some(QueryState::default()); 3],
                downstream: (0..6).map(readers).collect(),
                order: (0..6).map(OperatorId).collect(),
                ..Snapshot::default()
            };
            Stand { snapshot, policy: Sbox::default() }
        }

        fn set(&mut self, query: usize, end: Option<i64>, seen: Option<i64>) {
            let state = self.snapshot.queries[query].as_mut().unwrap();
            state.next_window_end = end.map(EventTime::from_micros);
            state.sink_watermark = seen.map(EventTime::from_micros);
        }

        /// Gives a query a source that sets watermarks, or makes this source silent.
        fn set_source(&mut self, query: u32, is_away: bool) {
            self.snapshot.streams = vec![StreamState {
                query: QueryId(query),
                next_firing: None,
                deadline: None,
                swept: None,
                delays: DelayStatistics::default(),
                progress: None,
                is_away,
            }];
        }

        fn set_pending(&mut self, query: usize, pending: u64) {
            for id in [2 * query, 2 * query + 1] {
                self.snapshot.operators[id].as_mut().unwrap().pending = pending;
            }
        }

        /// Begins a round, and returns the operators in the order of their ranks.
        fn order(&mut self) -> String {
            self.policy.prepare(&self.snapshot);
            let ids = (0..6).map(OperatorId);
            let ranked = ids.filter_map(|id| Some((self.policy.rank(&self.snapshot, id)?.word(), id.0)));
            let mut ranked: Vec<_> = ranked.collect();
            ranked.sort_unstable();
            ranked.into_iter().map(|(_, id)| id.to_string()).collect()
        }
    }

    #[test]
    fn the_closest_window_end_goes_first_and_its_sink_before_its_source() {
        let mut stand = Stand::new();
        stand.set(0, Some(300), None);
        stand.set(1, Some(100), None);
        assert_eq!(stand.order(), "321054");
    }

    /// A query stays current until its sinks have seen another watermark, even if the next window of another
    /// query then ends first.
    #[test]
    fn a_query_stays_until_it_has_processed_a_watermark() {
        let mut stand = Stand::new();
        for (query, end) in [300, 100, 200].into_iter().enumerate() {
            stand.set(query, Some(end), Some(10));
        }
        assert_eq!(stand.order(), "325410");
        stand.set(0, Some(50), Some(10));
        assert_eq!(stand.order(), "321054");
        stand.set(1, Some(400), Some(100));
        assert_eq!(stand.order(), "105432");
        // A query without work and without sources loses its turn, and is not current when it has work again.
        stand.set_pending(0, 0);
        assert_eq!(stand.order(), "5432");
        stand.set_pending(0, 1);
        assert_eq!(stand.order(), "541032");
    }

    /// A query without windows is current only while no other query has a window, although its source never ends
    /// and its sinks see no watermark.
    #[test]
    fn a_query_without_windows_does_not_keep_its_turn() {
        let mut stand = Stand::new();
        stand.set_source(0, false);
        stand.set_pending(1, 0);
        stand.set_pending(2, 0);
        assert_eq!(stand.order(), "10");
        stand.set_pending(1, 1);
        stand.set(1, Some(100), None);
        assert_eq!(stand.order(), "3210");
    }

    /// Under light load a query has no work most of the time. It is chosen all the same, and keeps its turn
    /// until its watermark is processed, while the others run in the order of their ends.
    #[test]
    fn a_query_that_waits_for_a_watermark_keeps_its_turn() {
        let mut stand = Stand::new();
        for (query, end) in [300, 100, 200].into_iter().enumerate() {
            stand.set(query, Some(end), Some(10));
        }
        stand.set_source(1, false);
        stand.set_pending(1, 0);
        assert_eq!(stand.order(), "5410");
        stand.set(0, Some(50), Some(10));
        assert_eq!(stand.order(), "1054");
        stand.set_pending(1, 1);
        assert_eq!(stand.order(), "321054");
        stand.set(1, Some(400), Some(100));
        assert_eq!(stand.order(), "105432");
        // No watermark comes from a silent source, so the query loses its turn with its work.
        stand.set(1, Some(20), Some(100));
        stand.set(0, Some(50), Some(60));
        assert_eq!(stand.order(), "321054");
        stand.set_source(1, true);
        stand.set_pending(1, 0);
        assert_eq!(stand.order(), "1054");
        stand.set_pending(1, 1);
        assert_eq!(stand.order(), "103254");
    }
}
