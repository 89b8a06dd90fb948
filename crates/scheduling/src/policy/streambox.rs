//! `streambox`: work that the next result in event time waits for runs first.
//!
//! Paper      Miao et al., "StreamBox: Modern Stream Processing on a Multicore Machine" (USENIX ATC 2017), section 6
//! Class      0: watermark tasks, those near the sink first (6, "higher priority"); 1: first pass, blocks of epochs
//!            at or before NEM, upstream first, and within an operator the oldest epoch first; 2: second pass, any
//!            work, near the sink first; 3: sources, the longest wait first
//! NEM        the next externalization moment: the end of the window that the sinks put out next. Before their first
//!            watermark it is the first window end after the sources' watermark; then the first after the watermark
//!            that all sinks have seen. If the query has no window ends: that watermark plus its mean advance over
//!            about 8 watermarks, at least one microsecond
//! Eligible   pending > 0 and every output has room
//! Quantum    one block; for a watermark, the work that waits for it
//! Starves    none: sources come last, the longest wait first. Records held by other operators are bounded by the
//!            room of their inputs, and are processed before a source makes more
//! Symbols    NEM: `next_moment`; timestamp of a container: `due` of [`EpochWork::Blocks`]; distance from the top of
//!            the network: `depth`; to its end: `height`
//!
//! A container, in StreamBox, holds the records of one epoch (between two watermarks) that wait at one operator.
//!
//! Differences from the paper:
//!
//! * A container is judged by the boundary at which its epoch is cut, which is known when it is opened, and not by
//!   its end watermark. So the first pass does not stop at the first open container: the result waits for every
//!   container whose boundary is at or before NEM, whether its end is known or not.
//! * NEM follows from the watermarks that the sinks have seen instead of being advanced by a constant, and epochs are
//!   cut where windows end. So the oldest epoch always ends at or before NEM. The published program's advance of 1 s
//!   with epochs of 2 s, with which the first pass never ran, cannot be configured.
//! * The paper's sources run on threads of their own, at a given rate; here they are ranked after all that they have
//!   made.
//! * Where a task reads an edge in order, no epoch is known. After an operator that closes epochs, all input was put
//!   out by a watermark, so it is class 0. Elsewhere, as in serial queries, it belongs to the second pass.
//! * "Otherwise, the scheduler processes records from transforms with the most open containers" (4) is not in
//!   the published program. The variant `streambox_most_open` has it.
//! * A worker takes data that is in its core's cache before other work of the same class; the paper prefers blocks of
//!   its NUMA node within a container (7.1).
//!
//! **Variant** `streambox_most_open`: in the second pass the operators with the most open containers run
//! first. Between equals those near the sink come first, and then the oldest epoch to the millisecond, where
//! `streambox` tells microseconds apart. Operators without containers come last.
//!
//! **Ablation** (9.2, "Prioritized scheduling"): [`StreamBox::without_priority`] replaces watermark tasks and both
//! passes by network order. It starts at the operator that ran last and takes each operator as long as it has input.

use thalweg_model::{EventTime, Span};

use crate::parameters::Parameter;
use crate::policy::{Policy, Refresh, Scale};
use crate::rank::{Origin, Rank};
use crate::snapshot::{
    Completion, EpochWork, Fields, OperatorId, OperatorState, QueryId, QueryState, Snapshot,
};

/// The name by which users choose the StreamBox policy.
pub const NAME: &str = "streambox";
/// The name of the variant of StreamBox that, in its second pass, starts with the operators at which the most
/// epochs wait (StreamBox's open containers).
pub const MOST_OPEN_NAME: &str = "streambox_most_open";

const WATERMARK_TASK: u8 = 0;
const FIRST_PASS: u8 = 1;
const SECOND_PASS: u8 = 2;
const SOURCE: u8 = 3;

/// Greatest distance in us from the next externalization moment (NEM) within which epochs of one operator get
/// distinct ranks. A score has 33 exact bits, of which 8 are for the 256 tasks of a query; the other 25 hold
/// 33 s.
const REACH_US: i64 = (1 << 25) - 1;

/// Greatest distance in ms from the next externalization moment (NEM) within which epochs get distinct ranks
/// in the second pass of `streambox_most_open`. A score has 33 bits: 7 for the number of epochs that wait at
/// the operator, 8 for the tasks of a query, and 18 which hold 262 s.
const REACH_MS: i64 = (1 << 18) - 1;

/// Greatest number of open containers (epochs with records that wait at an operator) that the score tells
/// apart: no more epochs can be open at an operator.
const MOST_OPEN: u32 = 64;

/// Greatest number of steps to the sink that the score tells apart: a query has at most 256 tasks.
const MOST_STEPS: u32 = 255;

/// Weight of the past in the mean advance of the sinks' watermark, which predicts the next externalization
/// moment (NEM) if no end of a window is known.
const HISTORY: i64 = 8;

/// The StreamBox policy: work that the next result of a query waits for runs first.
#[derive(Clone, Debug)]
pub struct StreamBox {
    form: Form,
    origin: Origin,
    /// Next externalization moment (event time whose results come next) of each query, by [`QueryId`]; the
    /// entry of an ended query is reset.
    queries: Vec<Moment>,
    /// Position of each operator in its query, by [`OperatorId`], as of the last round of ranking.
    operators: Vec<Standing>,
    /// The operator that ran last. In the variant without priority, the operators after it in topological
    /// order run next.
    last: OperatorId,
}

/// The order of work that the next result does not wait for, and whether work that it waits for runs first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// Work that the next result does not wait for runs in the order of the published program: operators near
    /// the sink first.
    SinkFirst,
    /// Work that the next result does not wait for runs in the order of the paper: operators with the most
    /// open containers (epochs with waiting records) first.
    MostOpenFirst,
    /// All work runs in network order (each operator as long as it has input, then the next one downstream),
    /// whether the next result waits for it or not: the variant for comparison.
    NetworkOrder,
}

/// Externalization moment of a query: the event time whose results its sinks put out next.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    /// The next externalization moment (NEM); `None` before it is known.
    next_moment: Option<EventTime>,
    sink_watermark: Option<EventTime>,
    /// Mean advance of the watermark that the query's sinks have seen, from one watermark to the next.
    advance: Span,
}

/// Position of an operator in the graph of its query.
#[derive(Clone, Copy, Debug)]
struct Standing {
    /// The query for which this position was computed. Another query's operator may have the number by now.
    query: QueryId,
    /// Number of steps from the farthest source to this operator.
    depth: u32,
    /// Number of steps from this operator to the farthest sink.
    height: u32,
    /// True if all input of this operator was put out by watermarks, not by records.
    is_behind_watermarks: bool,
    /// Number of operators from the one that ran last (0 for itself) to this one in network order
    /// (topological order, taken as a cycle).
    turn: u32,
}

/// The entry, in the table of positions, at a number that no operator has. Its query number belongs to no
/// query, so the entry is never taken for an operator's.
const NOWHERE: Standing =
    Standing { query: QueryId(u32::MAX), depth: 0, height: 0, is_behind_watermarks: false, turn: 0 };

impl Default for StreamBox {
    fn default() -> Self {
        StreamBox {
            form: Form::SinkFirst,
            origin: Origin::default(),
            queries: Vec::new(),
            operators: Vec::new(),
            last: OperatorId(0),
        }
    }
}

impl StreamBox {
    /// Creates the variant without priority, for comparison: each operator runs as long as it has input, then
    /// the next one in topological order.
    pub fn without_priority() -> Self {
        StreamBox { form: Form::NetworkOrder, ..StreamBox::default() }
    }

    /// Creates `streambox_most_open`, in which, of the work that the next result does not wait for, operators
    /// with the most open containers (epochs with waiting records) run first.
    pub fn most_open() -> Self {
        StreamBox { form: Form::MostOpenFirst, ..StreamBox::default() }
    }

    fn place_operators(&mut self, snapshot: &Snapshot) {
        let StreamBox { operators, last, .. } = self;
        operators.clear();
        operators.resize(snapshot.operators.len(), NOWHERE);
        let current = snapshot.order.iter().position(|id| id == last).unwrap_or(0);
        let count = snapshot.order.len();
        for (place, &id) in snapshot.order.iter().enumerate() {
            let Some(state) = snapshot.operator(id) else { continue };
            let turn = ((place + count - current) % count) as u32;
            let own = &mut operators[id.0 as usize];
            // Only the fields `query` and `turn` of the operator's entry are set here: operators upstream
            // have set its `depth` and `is_behind_watermarks` already.
            *own = Standing { query: state.query, turn, ..*own };
            let Standing { depth, is_behind_watermarks, .. } = *own;
            let is_put_out = match state.epoch_work {
                EpochWork::Watermark => true,
                EpochWork::Blocks { .. } => false,
                EpochWork::Unknown => is_behind_watermarks,
            };
            for reader in snapshot.readers(id) {
                if let Some(reader) = operators.get_mut(reader.0 as usize) {
                    reader.depth = reader.depth.max(depth + 1);
                    reader.is_behind_watermarks |= is_put_out;
                }
            }
        }
        for &id in snapshot.order.iter().rev() {
            let below = snapshot.readers(id).iter().filter_map(|reader| operators.get(reader.0 as usize));
            let height = below.map(|reader| reader.height + 1).max().unwrap_or(0);
            if let Some(own) = operators.get_mut(id.0 as usize) {
                own.height = height;
            }
        }
    }

    fn prioritized(&self, state: &OperatorState, at: &Standing) -> (u8, i64) {
        let (from_top, from_end) = (-(i64::from(at.depth) << 25), -(i64::from(at.height) << 25));
        match state.epoch_work {
            EpochWork::Watermark => (WATERMARK_TASK, from_end),
            EpochWork::Unknown if at.is_behind_watermarks => (WATERMARK_TASK, from_end),
            EpochWork::Unknown => (SECOND_PASS, self.second_pass(state, at, 0)),
            EpochWork::Blocks { due } => {
                let moment = self.queries.get(state.query.0 as usize).and_then(|query| query.next_moment);
                match moment {
                    Some(moment) if due <= moment => {
                        (FIRST_PASS, from_top + moment.since(due).as_micros().min(REACH_US))
                    }
                    Some(moment) => (SECOND_PASS, self.second_pass(state, at, due.since(moment).as_micros())),
                    None => (SECOND_PASS, self.second_pass(state, at, 0)),
                }
            }
        }
    }

    /// Returns the score of work in the second pass, that is, of work which the next result does not wait
    /// for. Its epoch ends `behind_us` microseconds after the next externalization moment.
    fn second_pass(&self, state: &OperatorState, at: &Standing, behind_us: i64) -> i64 {
        if self.form == Form::MostOpenFirst {
            let open = i64::from(state.open_containers.min(MOST_OPEN)) << 26;
            let from_end = i64::from(at.height.min(MOST_STEPS)) << 18;
            return open - from_end - (behind_us / 1_000).min(REACH_MS);
        }
        -(i64::from(at.height) << 25) - behind_us.min(REACH_US)
    }
}

impl Moment {
    /// Updates the externalization moment (the event time whose results come next) of a query from the
    /// watermark that its sinks have seen.
    fn advance(&mut self, state: &QueryState) {
        let seen = state.sink_watermark;
        if seen < self.sink_watermark {
            // The watermark went back, so another query has the number of the ended query now.
            *self = Moment::default();
        }
        if let (Some(before), Some(now)) = (self.sink_watermark, seen)
            && before < now
        {
            let step_us = now.since(before).as_micros();
            let mean_us = self.advance.as_micros();
            let mean_us = if mean_us == 0 { step_us } else { mean_us + (step_us - mean_us) / HISTORY };
            self.advance = Span::from_micros(mean_us);
        }
        self.sink_watermark = seen;
        let predicted = seen.map(|seen| seen.plus(self.advance.max(Span::from_micros(1))));
        self.next_moment = state.next_window_end.or(predicted);
    }
}

impl Policy for StreamBox {
    fn name(&self) -> &'static str {
        if self.form == Form::MostOpenFirst { MOST_OPEN_NAME } else { NAME }
    }

    fn reads(&self) -> Fields {
        let always = Fields::OLDEST_PENDING | Fields::TOPOLOGY | Fields::EPOCHS | Fields::FEEDBACK;
        if self.form == Form::MostOpenFirst { always | Fields::CONTAINERS } else { always }
    }

    fn refresh(&self) -> Refresh {
        // Operators at which a watermark waits must be ranked before the next round of ranking, so ranks are
        // also renewed when input arrives.
        Refresh::EVERY_ROUND | Refresh::ON_RETURN | Refresh::ON_ARRIVAL
    }

    fn scale(&self) -> Scale {
        Scale::Ordinal
    }

    fn prefers_workers(&self) -> bool {
        true
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = vec![
            Parameter::whole("round_ns", self.round_ns()),
            Parameter::switch("has_priority", self.form != Form::NetworkOrder),
        ];
        if self.form != Form::NetworkOrder {
            parameters.push(Parameter::whole("advance_history_watermarks", HISTORY.unsigned_abs()));
        }
        parameters
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        self.origin.renew(snapshot.now);
        self.queries.resize(snapshot.queries.len(), Moment::default());
        for (moment, state) in self.queries.iter_mut().zip(&snapshot.queries) {
            match state {
                Some(state) => moment.advance(state),
                None => *moment = Moment::default(),
            }
        }
        self.place_operators(snapshot);
    }

    #[inline]
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        let state = snapshot.operator(operator).filter(|state| state.can_run())?;
        let tie = operator.0;
        if state.is_source {
            return Some(Rank { class: SOURCE, score: self.origin.score(state.oldest_pending), tie });
        }
        let at = self.operators.get(operator.0 as usize).filter(|at| at.query == state.query);
        let at = at.unwrap_or(&NOWHERE);
        if self.form == Form::NetworkOrder {
            return Some(Rank { class: WATERMARK_TASK, score: 0.0 - f64::from(at.turn), tie });
        }
        let (class, score) = self.prioritized(state, at);
        Some(Rank { class, score: score as f64, tie })
    }

    fn feedback(&mut self, done: &Completion) {
        self.last = done.operator;
    }
}

#[cfg(test)]
mod tests;
