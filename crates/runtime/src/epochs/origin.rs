//! Where epochs begin and end: the splits of a stream, and how far each is.
//!
//! The boundaries are instants of event time at which something happens downstream. A split leaves an epoch when its own
//! watermark reaches the boundary; when all splits have left it, its end is assigned: the least watermark with which a split
//! has left. So whoever is on time for what the end closes was deposited in this epoch or one before: a split that has left
//! promises no such records.
//!
//! Which boundaries there are depends on how splits run, and nothing else does: a record is late by its split's watermark,
//! not by an epoch's end, and what is gathered is put together whatever epoch it was gathered in, as long as it comes before
//! the ends that close it.
//!
//! A split that is silent, by its own account, holds no end back. When it has records again it goes on in the oldest open
//! epoch, and they are late by the last end at least. When the last one falls silent the farthest counts alone, as in
//! [`Merge`](crate::task::merge).

use std::collections::VecDeque;

use thalweg_memory::sync::{Arc, Mutex};
use thalweg_model::{EventTime, Horizon, Span};

use super::EPOCHS_MAX;
use super::ledger::Ledger;

/// Where a split deposits from now on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Standing {
    /// Into which epoch.
    pub(crate) epoch: u64,
    /// By which watermark its records are late.
    pub(crate) late_by: EventTime,
    /// The first watermark of its that makes a difference.
    pub(crate) due: EventTime,
}

/// The splits of a stream.
pub(crate) struct Origin {
    horizon: Horizon,
    /// The containers that the splits deposit into, of one stage or several.
    ledgers: Vec<Arc<Ledger>>,
    state: Mutex<State>,
}

struct State {
    splits: Vec<Split>,
    /// The first epoch without an end.
    oldest: u64,
    /// Of each epoch from `oldest` on.
    open: VecDeque<Open>,
    /// The last end that was assigned.
    last_end: EventTime,
    is_idle: bool,
}

struct Split {
    epoch: u64,
    watermark: EventTime,
    is_idle: bool,
    is_over: bool,
}

struct Open {
    boundary: EventTime,
    /// The least watermark with which a split has left.
    left_at: EventTime,
}

impl Origin {
    /// So many splits that deposit into the containers of `ledgers`, one at least.
    pub(crate) fn new(splits: usize, horizon: Horizon, ledgers: Vec<Arc<Ledger>>) -> Arc<Self> {
        let split = || Split { epoch: 0, watermark: EventTime::MIN, is_idle: false, is_over: false };
        let first = Open { boundary: horizon.next_after(EventTime::MIN), left_at: EventTime::MAX };
        ledgers.iter().for_each(|ledger| ledger.open(0, first.boundary));
        let state = State {
            splits: (0..splits).map(|_| split()).collect(),
            oldest: 0,
            open: VecDeque::from([first]),
            last_end: EventTime::MIN,
            is_idle: false,
        };
        Arc::new(Origin { horizon, ledgers, state: Mutex::new(state) })
    }

    /// Where a split stands before its first record.
    pub(crate) fn start(&self) -> Standing {
        // Any watermark is the first.
        Standing { epoch: 0, late_by: EventTime::MIN, due: EventTime::MIN }
    }

    /// A split has reached a watermark that makes a difference; all that it had before is deposited.
    pub(crate) fn advance(&self, index: usize, watermark: EventTime) -> Standing {
        let mut state = self.state.lock();
        state.rejoin(index);
        let split = &mut state.splits[index];
        let last = split.watermark;
        assert!(watermark >= last, "watermarks never go back on a split: {watermark:?} after {last:?}");
        split.watermark = watermark;
        // Where others are far behind, the youngest epoch goes on: its end would change nothing that they wait for.
        let oldest = self.ledgers.iter().map(|ledger| ledger.oldest()).min().unwrap_or(0);
        let limit = oldest + EPOCHS_MAX;
        state.leave(index, &self.horizon, &self.ledgers, limit);
        state.assign_ends(&self.ledgers);
        self.standing(&state, index)
    }

    fn standing(&self, state: &State, index: usize) -> Standing {
        let Split { epoch, watermark, .. } = state.splits[index];
        let is_held = state.open[(epoch - state.oldest) as usize].boundary <= watermark;
        let due = if is_held {
            // It could not leave: tried again at its next watermark.
            watermark.plus(Span::from_micros(1))
        } else {
            self.horizon.next_after(watermark)
        };
        Standing { epoch, late_by: watermark.max(state.last_end), due }
    }

    /// A split that was silent has records again.
    pub(crate) fn rejoin(&self, index: usize) -> Standing {
        let mut state = self.state.lock();
        state.rejoin(index);
        self.standing(&state, index)
    }

    /// A split has fallen silent; all that it had is deposited.
    pub(crate) fn fall_idle(&self, index: usize) {
        let mut state = self.state.lock();
        state.splits[index].is_idle = true;
        state.assign_ends(&self.ledgers);
        let mut open = state.splits.iter().filter(|split| !split.is_over).peekable();
        let is_idle = open.peek().is_some() && open.all(|split| split.is_idle);
        if is_idle && !state.is_idle {
            self.ledgers.iter().for_each(|ledger| ledger.fall_idle());
        }
        state.is_idle = is_idle;
    }

    /// A split has ended; all that it had is deposited.
    pub(crate) fn end(&self, index: usize) {
        let mut state = self.state.lock();
        let split = &mut state.splits[index];
        assert!(!split.is_over, "a split ends once");
        split.is_over = true;
        state.assign_ends(&self.ledgers);
    }
}

impl State {
    fn rejoin(&mut self, index: usize) {
        let split = &mut self.splits[index];
        split.is_idle = false;
        split.epoch = split.epoch.max(self.oldest);
        self.is_idle = false;
    }

    /// Lets a split leave the epochs whose boundaries its watermark has reached; new ones are begun below `limit`.
    fn leave(&mut self, index: usize, horizon: &Horizon, ledgers: &[Arc<Ledger>], limit: u64) {
        let watermark = self.splits[index].watermark;
        loop {
            let place = (self.splits[index].epoch - self.oldest) as usize;
            let boundary = self.open[place].boundary;
            if watermark < boundary {
                return;
            }
            if place + 1 == self.open.len() {
                if self.oldest + self.open.len() as u64 >= limit {
                    return;
                }
                // What lies below the least watermark of all happens at one end. Before each has one, nothing does.
                let moving = self.splits.iter().filter(|split| !split.is_idle && !split.is_over);
                let least = moving.map(|split| split.watermark).min().unwrap_or(boundary);
                if least == EventTime::MIN {
                    return;
                }
                let from = boundary.max(least);
                let boundary = horizon.next_after(from);
                let youngest = self.oldest + self.open.len() as u64;
                ledgers.iter().for_each(|ledger| ledger.open(youngest, boundary));
                self.open.push_back(Open { boundary, left_at: EventTime::MAX });
            }
            let left = &mut self.open[place];
            left.left_at = left.left_at.min(watermark);
            self.splits[index].epoch += 1;
        }
    }

    /// Assigns ends to the epochs that all have left, and if all are over, to the rest.
    fn assign_ends(&mut self, ledgers: &[Arc<Ledger>]) {
        if self.splits.iter().all(|split| split.is_over) {
            while let Some(open) = self.open.pop_front() {
                let end = if self.open.is_empty() { EventTime::MAX } else { open.left_at };
                self.assign(ledgers, end);
            }
            return ledgers.iter().for_each(|ledger| ledger.end());
        }
        let open = || self.splits.iter().filter(|split| !split.is_over);
        let moving = open().filter(|split| !split.is_idle).map(|split| split.epoch).min();
        let farthest = || open().max_by_key(|split| (split.watermark, split.epoch)).map(|split| split.epoch);
        let Some(reached) = moving.or_else(farthest) else { return };
        while self.oldest < reached
            && let Some(left) = self.open.pop_front()
        {
            self.assign(ledgers, left.left_at);
        }
    }

    fn assign(&mut self, ledgers: &[Arc<Ledger>], end: EventTime) {
        let end = end.max(self.last_end);
        self.last_end = end;
        self.oldest += 1;
        ledgers.iter().for_each(|ledger| ledger.assign_end(end));
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
