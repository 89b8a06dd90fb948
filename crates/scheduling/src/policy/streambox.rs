//! `streambox`: what the next result in event time waits for runs first.
//!
//! Paper      Miao et al., "StreamBox: Modern Stream Processing on a Multicore Machine" (USENIX ATC 2017), section 6
//! Class      0: watermark tasks, the sink's side first (6, "higher priority"); 1: first pass, blocks of epochs at or before
//!            NEM, upstream first, of one operator the oldest epoch first; 2: second pass, any work, the sink's side first;
//!            3: sources, who has waited longest first
//! NEM        the next externalization moment: the end of the window that the sinks put out next. Up to their first
//!            watermark the first window end behind the sources'; then the first behind what all sinks have seen. Where no
//!            window tells: that watermark and its mean advance, over some 8 of them, at least one microsecond
//! Eligible   pending > 0 and every output has room
//! Quantum    one block; of a watermark what is there
//! Starves    nobody: sources come last, the one that has waited longest first; all the others hold is bounded by the room
//!            of their inputs, and worked off before a source makes more
//! Symbols    NEM: `next_moment`; timestamp of a container: `due` of [`EpochWork::Blocks`]; distance from the top of the
//!            network: `depth`; to its end: `height`
//!
//! Where it differs:
//!
//! * A container is judged by the boundary at which its epoch is cut, known when it is opened, and not by its end watermark;
//!   so nobody stops at the first open container: one whose boundary is at or before NEM is what the result waits for,
//!   whether its end is known or not.
//! * NEM follows from what sinks have seen instead of being advanced by a constant, and epochs are cut where windows end. So
//!   the oldest epoch always ends at or before NEM: the published program's advance of 1 s against epochs of 2 s, with which
//!   the first pass never fired, cannot be written down.
//! * The paper's sources run on threads of their own, at a given rate; here they are ranked, behind all they have made.
//! * Where a task reads an edge in order, no epoch is known. Behind one that closes epochs all that comes is what a
//!   watermark has put out, and class 0; elsewhere, as in serial queries, it is left to the second pass.
//! * "Otherwise the transform with most open containers" is not in the published program, nor here.
//! * A worker takes what is hot on its core before others of the same class, where the paper prefers blocks of its node
//!   within a container (7.1).
//!
//! **Ablation** (9.2, "Prioritized scheduling"): [`StreamBox::without_priority`] replaces watermark tasks and both passes by
//! whatever is next: from the operator that ran last on, in the order of the network, each as long as it has something.

use thalweg_model::{EventTime, Span};

use crate::policy::{Policy, Refresh, Scale};
use crate::rank::{Origin, Rank};
use crate::snapshot::{
    Completion, EpochWork, Fields, OperatorId, OperatorState, QueryId, QueryState, Snapshot,
};

/// The name by which users choose it.
pub const NAME: &str = "streambox";

const WATERMARK_TASK: u8 = 0;
const FIRST_PASS: u8 = 1;
const SECOND_PASS: u8 = 2;
const SOURCE: u8 = 3;

/// How far from NEM epochs of one operator are told apart: what is left of a word's 33 bits beside 8 for the 256 tasks of a
/// query. 33 s.
const REACH_US: i64 = (1 << 25) - 1;

/// Of how many advances of the sinks' watermark the mean is taken, where no window tells when the next one comes.
const HISTORY: i64 = 8;

/// What externalizes next goes first.
#[derive(Clone, Debug)]
pub struct StreamBox {
    is_prioritized: bool,
    origin: Origin,
    /// By [`QueryId`]; those of queries that have ended are as new.
    queries: Vec<Moment>,
    /// By [`OperatorId`], as of the last round.
    operators: Vec<Standing>,
    /// Who ran last.
    last: OperatorId,
}

/// When a query externalizes.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    /// NEM.
    next_moment: Option<EventTime>,
    sink_watermark: Option<EventTime>,
    /// How far that moves at a time.
    advance: Span,
}

/// Where an operator stands.
#[derive(Clone, Copy, Debug)]
struct Standing {
    /// Whose operator was looked at; another's may have the number by now.
    query: QueryId,
    /// Steps from the farthest source.
    depth: u32,
    /// Steps to the farthest sink.
    height: u32,
    /// Whether all that comes to it was put out by watermarks.
    is_behind_watermarks: bool,
    /// How many come before it, from the operator that ran last on.
    turn: u32,
}

/// What no operator belongs to, so that nobody takes this place for its own.
const NOWHERE: Standing =
    Standing { query: QueryId(u32::MAX), depth: 0, height: 0, is_behind_watermarks: false, turn: 0 };

impl Default for StreamBox {
    fn default() -> Self {
        StreamBox {
            is_prioritized: true,
            origin: Origin::default(),
            queries: Vec::new(),
            operators: Vec::new(),
            last: OperatorId(0),
        }
    }
}

impl StreamBox {
    /// The ablation: whatever is next.
    pub fn without_priority() -> Self {
        StreamBox { is_prioritized: false, ..StreamBox::default() }
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
            // What was said by those upstream stays.
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
            EpochWork::Unknown => (SECOND_PASS, from_end),
            EpochWork::Blocks { due } => {
                let moment = self.queries.get(state.query.0 as usize).and_then(|query| query.next_moment);
                match moment {
                    Some(moment) if due <= moment => {
                        (FIRST_PASS, from_top + moment.since(due).as_micros().min(REACH_US))
                    }
                    Some(moment) => (SECOND_PASS, from_end - due.since(moment).as_micros().min(REACH_US)),
                    None => (SECOND_PASS, from_end),
                }
            }
        }
    }
}

impl Moment {
    /// Takes note of what the sinks have seen since.
    fn advance(&mut self, state: &QueryState) {
        let seen = state.sink_watermark;
        if seen < self.sink_watermark {
            // Another query under this number.
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
        NAME
    }

    fn reads(&self) -> Fields {
        Fields::PENDING | Fields::OLDEST_PENDING | Fields::TOPOLOGY | Fields::EPOCHS
    }

    fn refresh(&self) -> Refresh {
        // A watermark task does not wait for a round.
        Refresh::EVERY_ROUND | Refresh::ON_RETURN | Refresh::ON_ARRIVAL
    }

    fn scale(&self) -> Scale {
        Scale::Ordinal
    }

    fn keeps_home(&self) -> bool {
        true
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
        if !self.is_prioritized {
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
