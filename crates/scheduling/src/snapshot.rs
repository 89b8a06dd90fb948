//! The engine's state as a policy sees it, and the report that a policy gets after a run.
//!
//! A unit of rank is a task: one operator, or a chain of operators that runs as one loop. It is called operator here,
//! as in the papers. The snapshot has every field that some policy reads. An executor need gather only the groups of
//! [`Fields`] that its policy [reads](crate::Policy::reads); the other fields may hold anything.
//!
//! ```text
//!   operators[OperatorId]    pending work and cost of one task          refreshed before each of its ranks
//!   queries[QueryId]         latency gradient, next window end          refreshed in each round
//!   streams                  watermark progress of the sources          refreshed in each round
//!   downstream, order        readers of each output                     refreshed in each round
//!   memory                   bytes in use                               refreshed in each round
//!   now, round_end           instants                                   refreshed before each call
//! ```

use serde::{Deserialize, Serialize};
use thalweg_model::{EventTime, ProcessingTime};

/// Number of an operator, which is its index in [`Snapshot::operators`]. It does not change while the
/// operator's query lives, and may be given to another operator afterwards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct OperatorId(pub u32);

/// Number of a query, which is its index in [`Snapshot::queries`]; it may be given to another query after the
/// query has ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct QueryId(pub u32);

/// Work that waits at the input of an operator, by epochs. An epoch is the records between two consecutive
/// watermarks; its part at one operator is a container in StreamBox.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum EpochWork {
    /// The operator reads edges in order, or is a source: the epoch of the waiting records is not known.
    #[default]
    Unknown,
    /// Blocks of records, each of one epoch, wait for an instance of the operator to take them.
    Blocks {
        /// The boundary of the oldest epoch that has blocks. The first watermark at or after the boundary
        /// ends this epoch, even if that watermark is not known yet. `EventTime::MAX` if no block waits, or
        /// if only the end of the stream ends the epoch.
        due: EventTime,
    },
    /// A watermark waits to be processed, or parts of an epoch wait to be merged for it. An operator that only closes
    /// epochs is always in this state.
    Watermark,
}

/// Scheduling context that travels with records from their source (Cameo, section 5.1, "priority context").
/// It leaves out the stream progress p: watermarks have exact positions among records, so the reader of a block
/// knows p from the last watermark that it has taken; see [`OperatorState::frontier`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Context {
    /// Cameo's t: the time at which the last event that led to these records was observed at its source, to
    /// within one block and one run.
    pub observed: ProcessingTime,
    /// The tag of the token with which the records were admitted (section 5.4 of Cameo). `None` if their
    /// source had no token left, or if the query has no [rate](QueryState::token_rate).
    pub token: Option<ProcessingTime>,
}

/// The state of one operator in a snapshot.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct OperatorState {
    /// The query to which the operator belongs.
    pub query: QueryId,
    /// True if the operator makes records instead of reading them.
    pub is_source: bool,
    /// True if the operator's records leave the engine.
    pub is_sink: bool,
    /// True if the operator is a source that makes records whenever it is polled, so that none of its records
    /// arrived earlier.
    pub is_on_demand: bool,
    /// True while a worker runs the operator.
    pub is_running: bool,
    /// True if every output edge has room.
    pub can_output: bool,
    /// Number of records and marks (such as watermarks) that wait at the input. For a source, the number of
    /// records that are due now, as far as it can tell: at least one if it can be polled, a full block if it
    /// makes records on demand (whenever it is polled).
    pub pending: u64,
    /// Arrival time of the oldest pending record, to within one block; for a source that makes records on
    /// demand, the time of its last poll. Meaningless while nothing is pending.
    pub oldest_pending: ProcessingTime,
    /// End of the operator's last run; before its first run, the time at which its query was submitted.
    pub last_run_ended: ProcessingTime,
    /// Cost: nanoseconds per input record that a worker spends on the operator's runs, scheduling included.
    /// This is CPU time if the worker has its core for itself. For a source, the cost is per record made.
    /// Above zero. Before it is measured, it is [`OperatorState::ASSUMED_COST_NS_PER_RECORD`].
    pub cost_ns_per_record: f64,
    /// Selectivity: records out per record in; zero or more. For a sink, records delivered per record in; for
    /// a source, records put out by the operators chained to it per record made. It is 1 until it is
    /// measured.
    pub selectivity: f64,
    /// CPU time of one run, in nanoseconds, measured like [`cost_ns_per_record`](Self::cost_ns_per_record). It is the
    /// cost of a message if the policy is asked again after each message. Before it is measured,
    /// [`OperatorState::ASSUMED_COST_NS_PER_RUN`].
    pub cost_ns_per_run: f64,
    /// State of the work that waits at the operator's input, by epochs; see [`EpochWork`].
    pub epoch_work: EpochWork,
    /// Number of open epochs with blocks that the operator has not consumed, whether a worker has claimed the
    /// blocks or not. StreamBox calls them open containers, and also counts those that are empty at present.
    /// The parallel instances of one operator share epochs, and have the same number here. Zero if the
    /// operator reads edges in order, only closes epochs, or is a source.
    pub open_containers: u32,
    /// The scheduling context of the first waiting record; for a source, the context that its next record
    /// would get. Meaningless while nothing is pending.
    pub head: Context,
    /// For an operator with windows, the watermark at which the result of the first waiting record is put out: the
    /// first window end after the last watermark that the operator has taken from the input of that record, or from all
    /// its inputs together if that is later (Cameo, section 4.3, p_F). To a policy that reads
    /// [`Fields::MERGED_PROGRESS`], it is the first window end after the watermark of all inputs together. None if the
    /// operator does not wait for a watermark; `EventTime::MAX` if no window ends before the end of the stream.
    pub frontier: Option<EventTime>,
    /// Number of parallel copies among which the records of the operator's input are divided, this operator
    /// included: each record goes to one of the copies only, by its key or because the copy claims its block. 1 if the
    /// operator takes every record of its input, so that it is a branch and no copy.
    pub copies: u32,
}

impl OperatorState {
    /// Assumed cost per record in ns before it is measured: more than most operators cost, so that the first
    /// run is short.
    pub const ASSUMED_COST_NS_PER_RECORD: f64 = 100.0;

    /// Assumed cost per run in ns before it is measured: one block of some hundred records of the assumed
    /// cost.
    pub const ASSUMED_COST_NS_PER_RUN: f64 = 40_000.0;

    /// Returns the state of an operator that was just submitted: it has room for output, no work, and nothing
    /// is measured.
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
            open_containers: 0,
            head: Context { observed: submitted, token: None },
            frontier: None,
            copies: 1,
        }
    }

    /// Returns the share of the records of its input that the operator takes: 1 over its number of
    /// [`copies`](Self::copies), as if the records were divided evenly. So the sum over all copies of a cost times this
    /// share is the mean cost of the copies. A number of zero counts as 1.
    #[inline]
    pub fn share_of_input(&self) -> f64 {
        1.0 / f64::from(self.copies.max(1))
    }

    /// Returns true if a run would make progress: something is pending, and the output has room.
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

/// The state of one query in a snapshot.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct QueryState {
    /// The latency gradient: change of the mean latency per time, in seconds per second; the mean of the last 5
    /// samples, each of 100 ms. Above zero, the latency of the query rises.
    pub latency_gradient: f64,
    /// Number of samples of the latency gradient since the query was submitted. A change tells that there is
    /// a new sample.
    pub gradient_samples: u64,
    /// The least of the last watermarks that the sinks of the query have seen; `None` before every sink has
    /// seen one.
    pub sink_watermark: Option<EventTime>,
    /// First instant after [`sink_watermark`](Self::sink_watermark) at which a watermark makes the query's
    /// operators fire or drop windows, such as the end of a window or that end plus its allowed lateness. Before
    /// the sinks have seen a watermark, the first such instant after the watermark of the sources.
    /// `EventTime::MAX` if none comes before the end of the stream. None before the sources have set a watermark,
    /// and if operators may emit results at any instant.
    pub next_window_end: Option<EventTime>,
    /// The latency target L (Cameo, section 4), in nanoseconds: the time from the observation of a result's last
    /// contributing event until the result is to be delivered. None if no target was set.
    pub latency_target_ns: Option<u64>,
    /// Tokens per second for all sources of the query together, one token per record (Cameo, section 5.4). None if no
    /// rate was set.
    pub token_rate: Option<f64>,
}

/// One source of a query, or one split of a source: statistics of its sweeping watermarks. A watermark is
/// sweeping if it is the first to reach the [deadline](Self::deadline) of an epoch, so that the query puts
/// out results (Klink, section 2.2).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct StreamState {
    /// The query to which the stream belongs.
    pub query: QueryId,
    /// The first instant that no watermark of this stream has reached, and at which a watermark makes the
    /// query's operators fire or drop windows. `EventTime::MAX` if none comes before the end of the stream.
    /// None before the stream's first watermark, and if operators may emit results at any instant, as with
    /// timers.
    pub next_firing: Option<EventTime>,
    /// The deadline of the stream's epoch (Klink, section 3): of the query's operators with windows, those
    /// whose next window ends last. The deadline is chosen when the epoch begins and stands until a watermark
    /// of this stream has reached it; the next deadline is later than that watermark. `EventTime::MAX` if no
    /// window holds results until it ends, or if none ends before the end of the stream. None in the same
    /// cases as [`next_firing`](Self::next_firing).
    pub deadline: Option<EventTime>,
    /// Arrival time of the oldest sweeping watermark (which is the first to reach the deadline of its epoch) that
    /// was read and has not reached all sinks; `None` if there is none.
    pub swept: Option<ProcessingTime>,
    /// Delays of the stream's sweeping watermarks, each of which is the first to reach the deadline of an
    /// epoch.
    pub delays: DelayStatistics,
    /// The relation between the stream's event time and processing time; `None` before its first watermark.
    pub progress: Option<ProgressMap>,
    /// True if the stream is idle or has ended: no operator waits for its watermark.
    pub is_away: bool,
}

/// Delays of a stream's sweeping watermarks, over its last epochs: as many as the policy [asks
/// for](crate::Policy::delay_epochs). The [deadline](StreamState::deadline) of an epoch is the event time at
/// which the query's windows that end last put out their results. The first watermark of the stream that
/// reaches the deadline sweeps: it ends the epoch, and the next epoch begins (Klink, section 3). The delay of
/// an epoch is the processing time at which its sweeping watermark arrived, minus the deadline.
///
/// A watermark arrives when the record that carries it could first have been read, if its source knows that
/// time; otherwise when it is read. A delay may be long or negative, because the clock that stamps events may
/// differ from the engine's.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct DelayStatistics {
    /// Number of epochs whose delays are counted here, at most [`EPOCHS`](Self::EPOCHS). If it is zero, the
    /// other fields are zero.
    pub epochs: u32,
    /// Klink's mu: the mean delay, in ns.
    pub mean_ns: f64,
    /// Klink's chi - mu^2: the variance of one delay, in ns^2; at least zero.
    pub variance_ns2: f64,
}

impl DelayStatistics {
    /// Greatest number of epochs whose delays are kept, which is the default of Klink's h (section 6.2,
    /// "400").
    pub const EPOCHS: usize = 400;
}

/// Predicts when an instant of event time is observed: t = alpha p + gamma (Cameo, section 4.3, PROGRESSMAP). The line
/// is stored as a point and a slope, because neither p nor t, counted from 1970, fits a double.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct ProgressMap {
    /// Event time of one point on the line from event time to processing time.
    pub event_time: EventTime,
    /// Processing time at which the event time of that point was observed.
    pub observed: ProcessingTime,
    /// Cameo's alpha: nanoseconds of processing time per nanosecond of event time; at least zero.
    pub slope: f64,
}

impl ProgressMap {
    /// Returns the time at which the event time `instant` is, or was, observed; `ProcessingTime::NEVER` if it
    /// is beyond the range.
    #[inline]
    pub fn observed_at(&self, instant: EventTime) -> ProcessingTime {
        let micros = |instant: EventTime| i128::from(instant.as_micros());
        let since_ns = (micros(instant) - micros(self.event_time)) as f64 * 1e3 * self.slope;
        // The conversion from float to integer saturates, so a huge distance gives the end of the range.
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
    /// The present processing time; refreshed before each call to the policy.
    pub now: ProcessingTime,
    /// The processing time at which the next round of ranking (a periodic pass over all operators) is due.
    pub round_end: ProcessingTime,
    /// Number of threads that run operators.
    pub workers: usize,
    /// Number of records per block; a policy whose quantum is "one block" lets an operator take so many
    /// records.
    pub block_records: u32,
    /// State of every operator, by [`OperatorId`]; `None` at a number that no operator has.
    pub operators: Vec<Option<OperatorState>>,
    /// State of every query, by [`QueryId`]; `None` at a number that no query has.
    pub queries: Vec<Option<QueryState>>,
    /// State of every source stream of every live query, in no particular order.
    pub streams: Vec<StreamState>,
    /// Number of bytes in use, out of [`memory_limit_bytes`](Self::memory_limit_bytes): reserved bytes
    /// without those that are free for reuse. With [`Fields::MEMORY`] the empty parts of edges are left out,
    /// too: an edge owns memory from the start, which no policy can free. Blocks shared by the instances of
    /// an operator count as used, and so does an edge whose writer has ended.
    pub memory_used_bytes: u64,
    /// Number of bytes of memory that the engine may reserve: the size of its memory budget.
    pub memory_limit_bytes: u64,
    /// The operators that directly read each operator's output, by [`OperatorId`].
    pub downstream: Vec<Vec<OperatorId>>,
    /// The operators that have not ended, each before the operators that read its output.
    pub order: Vec<OperatorId>,
}

impl Snapshot {
    /// Returns the state of `operator`; `None` if it has ended or never existed.
    #[inline]
    pub fn operator(&self, operator: OperatorId) -> Option<&OperatorState> {
        self.operators.get(operator.0 as usize)?.as_ref()
    }

    /// Returns the state of `query`; `None` if it has ended or never existed.
    #[inline]
    pub fn query(&self, query: QueryId) -> Option<&QueryState> {
        self.queries.get(query.0 as usize)?.as_ref()
    }

    /// Returns the operators that directly read the output of `operator`.
    #[inline]
    pub fn readers(&self, operator: OperatorId) -> &[OperatorId] {
        self.downstream.get(operator.0 as usize).map_or(&[], Vec::as_slice)
    }
}

/// Groups of snapshot fields that a policy reads; only these groups are gathered. A set of groups, joined
/// with `|`.
///
/// Some fields are always gathered: instants, the number of workers, records per block, bytes of memory, the
/// settings of a query, the number of copies of an operator, and the fields of an operator that the executor
/// itself needs. The latter are its query, its kind, whether it runs, `pending` and `can_output`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fields(u32);

impl Fields {
    /// The empty group: `pending` and `can_output` of operators are always gathered, because the executor
    /// itself needs them.
    pub const PENDING: Fields = Fields(0);
    /// The group of one field: when the oldest pending record of each operator arrived (`oldest_pending`).
    pub const OLDEST_PENDING: Fields = Fields(1);
    /// The group of one field: when each operator's last run ended (`last_run_ended`).
    pub const LAST_RUN: Fields = Fields(2);
    /// The group of measured costs: `cost_ns_per_record`, `cost_ns_per_run` and `selectivity` of operators.
    pub const COST_AND_SELECTIVITY: Fields = Fields(4);
    /// The group of changes in latency: `latency_gradient` and `gradient_samples` of [`Snapshot::queries`].
    pub const LATENCY_GRADIENT: Fields = Fields(8);
    /// The group of the queries' graphs: [`Snapshot::downstream`] and [`Snapshot::order`], which tell which
    /// operators read from which.
    pub const TOPOLOGY: Fields = Fields(16);
    /// The group of epochs: `epoch_work` of operators, `sink_watermark` and `next_window_end` of queries.
    pub const EPOCHS: Fields = Fields(32);
    /// The group of scheduling contexts: `head` and `frontier` of operators.
    pub const CONTEXTS: Fields = Fields(64);
    /// The group of source progress: [`Snapshot::streams`].
    pub const STREAMS: Fields = Fields(128);
    /// The group of one field: the number of epochs that wait at each operator (`open_containers`).
    pub const CONTAINERS: Fields = Fields(512);
    /// A group without a field of its own: with it, the empty parts of edges are left out of
    /// [`Snapshot::memory_used_bytes`].
    pub const MEMORY: Fields = Fields(256);
    /// A group without a field: the policy needs [reports of runs](crate::Policy::feedback), which an operating system does
    /// not give.
    pub const FEEDBACK: Fields = Fields(1_024);
    /// Adds no field. It changes [`OperatorState::frontier`], which then follows the watermark of all inputs of the
    /// operator together, and not that of the input which is read next. For a policy that reads
    /// [`CONTEXTS`](Fields::CONTEXTS).
    pub const MERGED_PROGRESS: Fields = Fields(2_048);

    /// All groups. [`MERGED_PROGRESS`](Fields::MERGED_PROGRESS) is none of them.
    pub const ALL: Fields = {
        let (mut all, mut place) = (Fields::PENDING, 0);
        while place < Fields::NAMES.len() {
            all.0 |= Fields::NAMES[place].0.0;
            place += 1;
        }
        all
    };

    /// All groups but the empty one, with the names by which messages tell them.
    const NAMES: [(Fields, &'static str); 11] = [
        (Fields::OLDEST_PENDING, "oldest pending records"),
        (Fields::LAST_RUN, "ends of runs"),
        (Fields::COST_AND_SELECTIVITY, "costs and selectivities"),
        (Fields::LATENCY_GRADIENT, "latency gradients"),
        (Fields::TOPOLOGY, "topology"),
        (Fields::EPOCHS, "epochs"),
        (Fields::CONTEXTS, "scheduling contexts"),
        (Fields::STREAMS, "progress of streams"),
        (Fields::MEMORY, "memory in use"),
        (Fields::CONTAINERS, "open containers"),
        (Fields::FEEDBACK, "reports of runs"),
    ];

    /// Returns the names of the groups that this set has and `supplied` has not. A program that drives a policy refuses
    /// it if there are any.
    pub fn missing_from(self, supplied: Fields) -> Vec<&'static str> {
        let is_missing = |(group, _): &&(Fields, &str)| self.contain(*group) && !supplied.contain(*group);
        Fields::NAMES.iter().filter(is_missing).map(|(_, name)| *name).collect()
    }

    /// Returns this set without the groups of `other`.
    pub const fn without(self, other: Fields) -> Fields {
        Fields(self.0 & !other.0)
    }

    /// Returns true if this set of field groups contains all groups of `other`.
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

/// Report of one run of an operator, which the policy gets after the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Completion {
    /// The operator whose run is reported.
    pub operator: OperatorId,
    /// The query of the operator. The operator may have ended with this run, and its number may belong to
    /// another operator by now.
    pub query: QueryId,
    /// The number of the worker that ran the operator, from 0 on.
    pub worker: u32,
    /// Processing time at which the reported run started.
    pub started: ProcessingTime,
    /// Processing time at which the reported run ended.
    pub ended: ProcessingTime,
    /// Number of records that the operator took in the run.
    pub records_in: u64,
    /// Number of records that the operator put out in the run.
    pub records_out: u64,
    /// The last watermark that the operator had taken when the run ended; `None` before the first.
    pub watermark: Option<EventTime>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names are those of the groups that are missing, and each group that a policy reads has a name.
    #[test]
    fn missing_fields_are_named() {
        let supplied = Fields::PENDING | Fields::TOPOLOGY;
        assert_eq!((Fields::TOPOLOGY | Fields::STREAMS).missing_from(supplied), ["progress of streams"]);
        assert!(
            supplied.missing_from(supplied).is_empty()
                && Fields::PENDING.missing_from(Fields::PENDING).is_empty()
        );
        for name in crate::names() {
            let reads = crate::by_name(name).unwrap().reads();
            let named = reads.missing_from(Fields::PENDING).len();
            // Merged progress changes the meaning of a field, and is no group of fields.
            let groups = reads.without(Fields::MERGED_PROGRESS).0.count_ones();
            assert_eq!(named, groups as usize, "{name}");
        }
    }

    #[test]
    fn sets_of_fields_contain_their_parts_and_no_others() {
        let set = Fields::OLDEST_PENDING | Fields::TOPOLOGY;
        assert!(set.contain(Fields::PENDING) && set.contain(Fields::TOPOLOGY) && set.contain(set));
        assert!(!set.contain(Fields::LAST_RUN) && !set.contain(Fields::LAST_RUN | Fields::TOPOLOGY));
    }

    /// A present-day instant in seconds, used both as event time and as processing time.
    const TODAY_S: i64 = 1_800_000_000;

    fn observed_after_s(slope: f64, event_s: i64) -> f64 {
        let observed = ProcessingTime::from_nanos(TODAY_S as u64 * 1_000_000_000);
        let map = ProgressMap { event_time: EventTime::from_secs(TODAY_S - 60), observed, slope };
        let at = map.observed_at(EventTime::from_secs(TODAY_S + event_s));
        (i128::from(at.as_nanos()) - i128::from(observed.as_nanos())) as f64 / 1e9
    }

    /// The example of Cameo, section 4.3: with windows of 10 s whose events take 2 s, the event time 11 is
    /// observed at 13. In this test the delay is 60 s.
    #[test]
    fn event_time_is_mapped_along_a_line() {
        assert_eq!(observed_after_s(1.0, 10), 70.0);
        assert_eq!(observed_after_s(1.0, -90), -30.0);
        // The source stream is replayed at twice its real speed.
        assert_eq!(observed_after_s(0.5, 10), 35.0);
        assert_eq!(observed_after_s(0.0, 10), 0.0);
        let far =
            |event_time| ProgressMap { event_time, observed: ProcessingTime::from_nanos(5), slope: 1.0 };
        assert_eq!(far(EventTime::MIN).observed_at(EventTime::MAX), ProcessingTime::NEVER);
        assert_eq!(far(EventTime::MAX).observed_at(EventTime::MIN), ProcessingTime::ZERO);
    }

    /// Looking up the number of an ended operator, or a number that was never used, returns `None`. So no
    /// caller has to check the length first.
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
