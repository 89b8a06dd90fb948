//! What a policy sees of the engine, and what it is told after a run.
//!
//! A unit of rank is a task: one operator, or a chain of them that runs as one loop; it is called operator here,
//! as in the papers. The fields grow with the policies that read them, and an executor need gather only the groups of
//! [`Fields`] that its policy [reads](crate::Policy::reads); the rest may hold anything.
//!
//! ```text
//!   operators[OperatorId]    what one task has to do, what it costs     refreshed before each of its ranks
//!   queries[QueryId]         how its latency moves, what comes next     refreshed in each round
//!   streams                  how the sources of queries come on         refreshed in each round
//!   downstream, order        who reads whom                             refreshed in each round
//!   memory                   how much of it is taken                    refreshed in each round
//!   now, round_end           when                                       refreshed before each call
//! ```

use serde::{Deserialize, Serialize};
use thalweg_model::{EventTime, ProcessingTime};

/// Index of an operator in [`Snapshot::operators`]; stable while its query lives, and used again afterwards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct OperatorId(pub u32);

/// A query of the engine; index in [`Snapshot::queries`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct QueryId(pub u32);

/// What waits at the input of an operator, by epochs (StreamBox's containers).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum EpochWork {
    /// It reads edges in order, or makes records itself: of what waits there no epoch is known.
    #[default]
    Unknown,
    /// Blocks that it may claim.
    Blocks {
        /// The boundary of the oldest epoch that has any: the first watermark at or behind it is that epoch's end, known or
        /// not. `EventTime::MAX` if no block waits, or nothing ends that epoch but the end of the stream.
        due: EventTime,
    },
    /// A watermark waits to be processed, or parts of an epoch to be put together for it. Of an operator that closes
    /// epochs, always: it does nothing else.
    Watermark,
}

/// What travels with records from their source on (Cameo, section 5.1, "priority context"). Stream progress p need not: a
/// block stands between two watermarks, so it is known where it is read, see [`OperatorState::frontier`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Context {
    /// t: when the last event that the records stem from was observed at its source, to within one block and one run.
    pub observed: ProcessingTime,
    /// The tag of the token that they were let in with (section 5.4); none if their source had none left, or has no
    /// [rate](QueryState::token_rate).
    pub token: Option<ProcessingTime>,
}

/// The state of one operator.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct OperatorState {
    /// The query it belongs to.
    pub query: QueryId,
    /// Whether it makes records instead of reading them.
    pub is_source: bool,
    /// Whether its records leave the engine.
    pub is_sink: bool,
    /// Whether it is a source that makes records whenever it is asked, so that none of them arrived before.
    pub is_on_demand: bool,
    /// Whether a worker runs it now.
    pub is_running: bool,
    /// Whether every output edge has room.
    pub can_output: bool,
    /// Records and marks that wait at its input; for a source what is due now, as far as it can tell: at least
    /// one if it can be polled, a full block if it makes records on demand.
    pub pending: u64,
    /// When the oldest of them came in, to within one block; for a source on demand, when it was last asked. Of no
    /// meaning while nothing is pending.
    pub oldest_pending: ProcessingTime,
    /// When its last run ended; before its first run, when it was submitted.
    pub last_run_ended: ProcessingTime,
    /// Cost: nanoseconds per record in that a worker spends on its runs, choosing included: CPU time, where a worker has
    /// its core for itself. Of a source, per record made. Above zero. Before it is measured,
    /// [`OperatorState::ASSUMED_COST_NS_PER_RECORD`].
    pub cost_ns_per_record: f64,
    /// Selectivity: records out per record in, zero or more; of a sink, records delivered per record in; of a source,
    /// what its chain puts out per record made. Before it is measured, 1.
    pub selectivity: f64,
    /// CPU time that a run takes, in nanoseconds, as [`cost_ns_per_record`](Self::cost_ns_per_record) is measured: what a
    /// message costs whose operator is asked again after each. Before it is measured,
    /// [`OperatorState::ASSUMED_COST_NS_PER_RUN`].
    pub cost_ns_per_run: f64,
    /// What waits, by epochs.
    pub epoch_work: EpochWork,
    /// The context of the first record that waits; of a source, what the next would get. Of no meaning while nothing is
    /// pending.
    pub head: Context,
    /// Of an operator with windows, the watermark that makes it put out the result to which the first record that waits
    /// belongs: the first end of a window behind the last watermark that it has taken (Cameo, section 4.3, p_F). None if
    /// it puts out without waiting for one, `EventTime::MAX` if none comes before the end of the stream.
    pub frontier: Option<EventTime>,
}

impl OperatorState {
    /// What an operator is taken to cost before it is measured: more than most do, so that its first run is short.
    pub const ASSUMED_COST_NS_PER_RECORD: f64 = 100.0;

    /// What a run of it is taken to cost before one is measured: a block of some hundred such records.
    pub const ASSUMED_COST_NS_PER_RUN: f64 = 40_000.0;

    /// An operator that has just been submitted: with room on its output, nothing to do, and nothing measured.
    pub const fn new(query: QueryId, submitted: ProcessingTime) -> Self {
        OperatorState {
            query,
            is_source: false,
            is_sink: false,
            is_on_demand: false,
            is_running: false,
            can_output: true,
            pending: 0,
            oldest_pending: submitted,
            last_run_ended: submitted,
            cost_ns_per_record: Self::ASSUMED_COST_NS_PER_RECORD,
            selectivity: 1.0,
            cost_ns_per_run: Self::ASSUMED_COST_NS_PER_RUN,
            epoch_work: EpochWork::Unknown,
            head: Context { observed: submitted, token: None },
            frontier: None,
        }
    }

    /// Whether a run would get something done: something is pending, and there is room for what comes of it.
    #[inline]
    pub const fn can_run(&self) -> bool {
        self.pending > 0 && self.can_output
    }
}

impl Default for OperatorState {
    fn default() -> Self {
        Self::new(QueryId(0), ProcessingTime::ZERO)
    }
}

/// The state of one query.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct QueryState {
    /// The latency gradient: change of the mean latency per time, in seconds per second; the mean of the last 5
    /// samples, each of 100 ms. Above zero, the query gets slower.
    pub latency_gradient: f64,
    /// How many samples have been taken since its submit; changes when a new one is in.
    pub gradient_samples: u64,
    /// The least, over its sinks, of the last watermark that each has seen; none before every sink has seen one.
    pub sink_watermark: Option<EventTime>,
    /// The first instant behind that at which something happens in it by the rules of its windows, such as the end of one;
    /// before its sinks have seen a watermark, the first behind that of its sources. `EventTime::MAX` if nothing does
    /// before the end of the stream. None before its sources have set a watermark, and if any instant may be one.
    pub next_window_end: Option<EventTime>,
    /// The latency target L (Cameo, section 4), in nanoseconds: how long after its last contributing event was observed a
    /// result is to be out. None if none was set.
    pub latency_target_ns: Option<u64>,
    /// Tokens per second of all its sources together, one for each record (Cameo, section 5.4). None if none was set.
    pub token_rate: Option<f64>,
}

/// One source of a query, or one split of it: how the watermarks come in that make its query put out results. Such a one is
/// called sweeping (Klink, section 2.2): the first that reaches the end of a window.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct StreamState {
    /// The query it belongs to.
    pub query: QueryId,
    /// The deadline of its epoch: the first instant at which something happens in the query that no watermark of this stream
    /// has reached. `EventTime::MAX` if nothing does before the end of the stream; none before its first watermark, and
    /// if any instant may be one, as with timers.
    pub deadline: Option<EventTime>,
    /// When its oldest sweeping watermark was ingested that has not reached all sinks; none if none is on its way.
    pub swept: Option<ProcessingTime>,
    /// How late sweeping watermarks have come.
    pub delays: DelayStatistics,
    /// How its event time goes with processing time; none before its first watermark.
    pub progress: Option<ProgressMap>,
    /// Whether it is silent or over: nobody waits for it.
    pub is_away: bool,
}

/// Delays of the sweeping watermarks of the last [`EPOCHS`](Self::EPOCHS) epochs, from the deadline to the ingestion. As event
/// time need not be that of our clock, a delay may be long, and below zero.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct DelayStatistics {
    /// Epochs that were seen, at most [`EPOCHS`](Self::EPOCHS); without any, all else is zero.
    pub epochs: u32,
    /// mu, in ns.
    pub mean_ns: f64,
    /// chi - mu^2, in ns^2: the variance of one delay. Not below zero.
    pub variance_ns2: f64,
}

impl DelayStatistics {
    /// h (Klink, section 3.1): epochs that are looked back upon, "400".
    pub const EPOCHS: usize = 400;
}

/// When an instant of event time is observed: t = alpha p + gamma (Cameo, section 4.3, PROGRESSMAP), through a point on
/// the line, since neither fits a double when counted from 1970.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct ProgressMap {
    /// An instant.
    pub event_time: EventTime,
    /// When it was observed.
    pub observed: ProcessingTime,
    /// alpha: nanoseconds of processing time per nanosecond of event time, at least zero.
    pub slope: f64,
}

impl ProgressMap {
    /// When this instant is, or was, observed; `ProcessingTime::NEVER` if it is beyond all that counts.
    #[inline]
    pub fn observed_at(&self, instant: EventTime) -> ProcessingTime {
        let micros = |instant: EventTime| i128::from(instant.as_micros());
        let since_ns = (micros(instant) - micros(self.event_time)) as f64 * 1e3 * self.slope;
        // A conversion of what is too large gives the largest.
        if since_ns >= 0.0 {
            self.observed.plus_nanos(since_ns as u64)
        } else {
            ProcessingTime::from_nanos(self.observed.as_nanos().saturating_sub(-since_ns as u64))
        }
    }
}

/// The state of the engine at one instant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Snapshot {
    /// The instant.
    pub now: ProcessingTime,
    /// When the next round is due.
    pub round_end: ProcessingTime,
    /// Threads that run operators.
    pub workers: usize,
    /// Records per block: what "one block" means in a quantum.
    pub block_records: u32,
    /// Every operator, by [`OperatorId`]; `None` where nothing lives.
    pub operators: Vec<Option<OperatorState>>,
    /// Every query, by [`QueryId`]; `None` where nothing lives.
    pub queries: Vec<Option<QueryState>>,
    /// Every stream of a query that lives, in no order.
    pub streams: Vec<StreamState>,
    /// Bytes that are taken of [`memory_limit_bytes`](Self::memory_limit_bytes): reserved, but for what lies ready to be used
    /// again, and, with [`Fields::MEMORY`], for the parts of edges in which nothing waits: edges have room of their own from
    /// the start, which no policy can free. The blocks that copies of an operator share count as used, and so does an edge
    /// whose writer has ended.
    pub memory_used_bytes: u64,
    /// Bytes that the engine may reserve.
    pub memory_limit_bytes: u64,
    /// The direct readers of each operator's output, by [`OperatorId`].
    pub downstream: Vec<Vec<OperatorId>>,
    /// The operators that live, upstream before downstream.
    pub order: Vec<OperatorId>,
}

impl Snapshot {
    /// The state of `operator`, unless it has ended.
    #[inline]
    pub fn operator(&self, operator: OperatorId) -> Option<&OperatorState> {
        self.operators.get(operator.0 as usize)?.as_ref()
    }

    /// The state of `query`, unless it has ended.
    #[inline]
    pub fn query(&self, query: QueryId) -> Option<&QueryState> {
        self.queries.get(query.0 as usize)?.as_ref()
    }

    /// Who reads the output of `operator` directly.
    #[inline]
    pub fn readers(&self, operator: OperatorId) -> &[OperatorId] {
        self.downstream.get(operator.0 as usize).map_or(&[], Vec::as_slice)
    }
}

/// The groups of snapshot fields that a policy reads; only those are gathered. A set, joined with `|`.
///
/// Instants, counts of workers, records per block and bytes of memory are always there, and so are what was set for a query
/// and what an executor needs itself of an operator: its query, what kind it is, whether it runs, `pending` and
/// `can_output`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fields(u32);

impl Fields {
    /// `pending` and `can_output`: always gathered, since the executor needs them itself.
    pub const PENDING: Fields = Fields(0);
    /// `oldest_pending`.
    pub const OLDEST_PENDING: Fields = Fields(1);
    /// `last_run_ended`.
    pub const LAST_RUN: Fields = Fields(2);
    /// `cost_ns_per_record`, `cost_ns_per_run` and `selectivity`.
    pub const COST_AND_SELECTIVITY: Fields = Fields(4);
    /// `latency_gradient` and `gradient_samples` of [`Snapshot::queries`].
    pub const LATENCY_GRADIENT: Fields = Fields(8);
    /// [`Snapshot::downstream`] and [`Snapshot::order`].
    pub const TOPOLOGY: Fields = Fields(16);
    /// `epoch_work` of operators, `sink_watermark` and `next_window_end` of queries.
    pub const EPOCHS: Fields = Fields(32);
    /// `head` and `frontier` of operators.
    pub const CONTEXTS: Fields = Fields(64);
    /// [`Snapshot::streams`].
    pub const STREAMS: Fields = Fields(128);
    /// Of [`Snapshot::memory_used_bytes`], that empty parts of edges are left out.
    pub const MEMORY: Fields = Fields(256);

    /// Whether all of `other` are in here.
    pub const fn contain(self, other: Fields) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOr for Fields {
    type Output = Fields;
    fn bitor(self, other: Fields) -> Fields {
        Fields(self.0 | other.0)
    }
}

/// What one run of an operator did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Completion {
    /// Who ran.
    pub operator: OperatorId,
    /// Its query: the operator may have ended with this run, and its index may be another's by now.
    pub query: QueryId,
    /// The worker that ran it, from 0 on.
    pub worker: u32,
    /// When it began.
    pub started: ProcessingTime,
    /// When it ended.
    pub ended: ProcessingTime,
    /// Records taken.
    pub records_in: u64,
    /// Records put out.
    pub records_out: u64,
    /// The last watermark that it has taken; none before the first.
    pub watermark: Option<EventTime>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_fields_contain_their_parts_and_no_others() {
        let set = Fields::OLDEST_PENDING | Fields::TOPOLOGY;
        assert!(set.contain(Fields::PENDING) && set.contain(Fields::TOPOLOGY) && set.contain(set));
        assert!(!set.contain(Fields::LAST_RUN) && !set.contain(Fields::LAST_RUN | Fields::TOPOLOGY));
    }

    /// Today, in event time and in processing time.
    const TODAY_S: i64 = 1_800_000_000;

    fn observed_after_s(slope: f64, event_s: i64) -> f64 {
        let observed = ProcessingTime::from_nanos(TODAY_S as u64 * 1_000_000_000);
        let map = ProgressMap { event_time: EventTime::from_secs(TODAY_S - 60), observed, slope };
        let at = map.observed_at(EventTime::from_secs(TODAY_S + event_s));
        (i128::from(at.as_nanos()) - i128::from(observed.as_nanos())) as f64 / 1e9
    }

    /// Cameo, section 4.3: windows of 10 s whose events take 2 s: progress 11 is observed at 13. Here 60 s.
    #[test]
    fn event_time_is_mapped_along_a_line() {
        assert_eq!(observed_after_s(1.0, 10), 70.0);
        assert_eq!(observed_after_s(1.0, -90), -30.0);
        // Replayed at twice the speed.
        assert_eq!(observed_after_s(0.5, 10), 35.0);
        assert_eq!(observed_after_s(0.0, 10), 0.0);
        let far =
            |event_time| ProgressMap { event_time, observed: ProcessingTime::from_nanos(5), slope: 1.0 };
        assert_eq!(far(EventTime::MIN).observed_at(EventTime::MAX), ProcessingTime::NEVER);
        assert_eq!(far(EventTime::MAX).observed_at(EventTime::MIN), ProcessingTime::ZERO);
    }

    /// What has ended and what never was are alike: nobody has to ask for the length first.
    #[test]
    fn look_ups_beyond_the_end_find_nothing() {
        let snapshot = Snapshot { operators: vec![None], queries: vec![None], ..Snapshot::default() };
        for id in [0, 1, u32::MAX] {
            assert_eq!(snapshot.operator(OperatorId(id)), None);
            assert_eq!(snapshot.query(QueryId(id)), None);
            assert!(snapshot.readers(OperatorId(id)).is_empty());
        }
    }

    #[test]
    fn a_new_operator_can_run_when_it_gets_input_and_room() {
        let new = OperatorState::default();
        assert!(!new.can_run());
        assert!(OperatorState { pending: 1, ..new }.can_run());
        assert!(!OperatorState { pending: 1, can_output: false, ..new }.can_run());
    }
}
