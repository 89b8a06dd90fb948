//! Begin and end of epochs: the splits (parallel parts of the source) of a stream, and the progress of each.
//!
//! The boundaries are instants of event time at which something happens downstream. A split of the source
//! leaves an epoch when its own watermark reaches the boundary. When all splits have left it, its end is
//! assigned: the least watermark with which a split has left. So every record that is on time for a window
//! closed by that end was deposited in this epoch or an earlier one: a split that has left promises no such
//! records.
//!
//! The choice of boundaries depends on how splits of the source run, and results do not. A record is late by
//! its split's watermark, not by an epoch's end. Gathered state is merged whatever epoch it was gathered in,
//! as long as it comes before the ends that close it.
//!
//! A split of the source that reports itself as silent holds no end back. When it has records again, it
//! continues in the oldest open epoch, and its records are judged by the last end at least. When the last
//! split falls silent, only the farthest counts, as in [`Merge`](crate::task::merge).
//!
//! A split of the source at the end of time holds no end back either: the watermark of the others counts. If
//! it has records of the last instant, it asks for their epoch, like a split that was silent, and reports
//! when it has deposited them.
//!
//! A split of the source that was asked to end is over at the watermark that it had, below the end of time.
//! It has promised nothing beyond that watermark, so it holds ends back as if it still ran. When all splits
//! are over, the last end is the least of their watermarks.

use std::collections::VecDeque;

use thalweg_memory::sync::{Arc, Mutex};
use thalweg_model::{EventTime, Horizon, Span};

use super::EPOCHS_MAX;
use super::tracker::EpochTracker;

/// The epoch into which a split of the source deposits from now on, and the watermarks that apply to its
/// records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Standing {
    /// Number of the epoch into which the split of the source deposits its blocks.
    pub(crate) epoch: u64,
    /// The watermark of the split (one parallel part of a source), by which its records are judged on time or
    /// late.
    pub(crate) late_by: EventTime,
    /// The least watermark of the split of the source that some operator downstream needs next. Lower
    /// watermarks are not sent.
    pub(crate) due: EventTime,
}

/// The splits of a stream (parallel parts of the source): determines the epoch of each split, and assigns the
/// ends of epochs.
pub(crate) struct Origin {
    horizon: Horizon,
    /// Progress trackers of the epochs into which the splits of the source deposit blocks, one for each task
    /// that reads the stream.
    trackers: Vec<Arc<EpochTracker>>,
    state: Mutex<State>,
}

struct State {
    splits: Vec<Split>,
    /// Number of the first epoch (records between two watermarks) that has no end watermark yet.
    oldest: u64,
    /// The epochs that have no end watermark yet, beginning with number `oldest`.
    open: VecDeque<Open>,
    /// The watermark that was last assigned as the end of an epoch.
    last_end: EventTime,
    is_idle: bool,
}

struct Split {
    epoch: u64,
    watermark: EventTime,
    is_idle: bool,
    is_over: bool,
}

impl Split {
    /// Returns true while this split of the source may delay the ends of epochs: its watermark is below the
    /// end of time. A split at the end of time delays no end, just as such an input of a
    /// [`Merge`](crate::task::merge) holds no watermark back.
    fn is_open(&self) -> bool {
        self.watermark < EventTime::MAX
    }

    /// Returns true while the split of the source may deposit blocks into its epoch without a call of
    /// [`rejoin`](Origin::rejoin) first. If its watermark is the end of time, this is the case from that call
    /// until it reports this watermark again.
    fn is_running(&self) -> bool {
        !self.is_over && !self.is_idle
    }
}

struct Open {
    boundary: EventTime,
    /// The least of the watermarks with which splits of the source have left this epoch.
    left_at: EventTime,
}

impl Origin {
    /// Makes the origin, which assigns the ends of epochs, for `splits` splits of a source, at least one.
    /// They deposit blocks in front of the tasks to which `trackers` belong.
    pub(crate) fn new(splits: usize, horizon: Horizon, trackers: Vec<Arc<EpochTracker>>) -> Arc<Self> {
        let split = || Split { epoch: 0, watermark: EventTime::MIN, is_idle: false, is_over: false };
        let first = Open { boundary: horizon.next_after(EventTime::MIN), left_at: EventTime::MAX };
        trackers.iter().for_each(|tracker| tracker.open(0, first.boundary));
        let state = State {
            splits: (0..splits).map(|_| split()).collect(),
            oldest: 0,
            open: VecDeque::from([first]),
            last_end: EventTime::MIN,
            is_idle: false,
        };
        Arc::new(Origin { horizon, trackers, state: Mutex::new(state) })
    }

    /// Returns the first epoch, and the watermarks that apply to a split of the source until it reports one.
    pub(crate) fn start(&self) -> Standing {
        // `due` is the least event time, because the first watermark of a split of the source always matters,
        // whatever its time.
        Standing { epoch: 0, late_by: EventTime::MIN, due: EventTime::MIN }
    }

    /// Records that a split of the source has reached a watermark that some operator needs. All earlier
    /// records of the split must be deposited in containers (the unclaimed blocks of each epoch) before this
    /// call. At the end of time the split must call [`rejoin`](Self::rejoin) before it deposits more.
    pub(crate) fn advance(&self, index: usize, watermark: EventTime) -> Standing {
        let mut state = self.state.lock();
        state.rejoin(index);
        let split = &mut state.splits[index];
        let last = split.watermark;
        assert!(watermark >= last, "watermarks never go back on a split: {watermark:?} after {last:?}");
        split.watermark = watermark;
        state.leave(index, &self.horizon, &self.trackers, self.limit());
        // A split of the source at the end of time does not count in the progress of epochs, even if all
        // other splits are silent.
        state.splits[index].is_idle = watermark == EventTime::MAX;
        let _told_or_tried_again = self.go_on_without(&mut state);
        self.standing(&state, index)
    }

    /// Returns the number of the first epoch that may not be opened yet, because [`EPOCHS_MAX`] epochs are
    /// open. If other splits of the source are so far behind that this limit is reached, the youngest epoch
    /// continues, because ending it would not help them.
    fn limit(&self) -> u64 {
        let oldest = self.trackers.iter().map(|tracker| tracker.oldest()).min().unwrap_or(0);
        oldest + EPOCHS_MAX
    }

    fn standing(&self, state: &State, index: usize) -> Standing {
        let Split { epoch, watermark, .. } = state.splits[index];
        let due = if state.is_held(index) {
            // The split of the source could not leave its epoch, because too many epochs are open. It tries
            // again at its next watermark.
            watermark.plus(Span::from_micros(1))
        } else {
            self.horizon.next_after(watermark)
        };
        Standing { epoch, late_by: watermark.max(state.last_end), due }
    }

    /// Records that a split of the source which was silent has records again. Returns the epoch into which it
    /// deposits them.
    pub(crate) fn rejoin(&self, index: usize) -> Standing {
        let mut state = self.state.lock();
        state.rejoin(index);
        self.standing(&state, index)
    }

    /// Records that a split of the source has fallen silent; all its records must be deposited before this
    /// call. Returns `false` if all splits are silent now and this cannot be told to the tasks that read the
    /// stream yet: see [`tell_silence`](Self::tell_silence).
    #[must_use]
    pub(crate) fn fall_idle(&self, index: usize) -> bool {
        let mut state = self.state.lock();
        state.splits[index].is_idle = true;
        self.go_on_without(&mut state)
    }

    /// Tells the tasks that read the stream that all splits of the source are silent, if they are and it was
    /// not told before. Returns `false` if that is impossible until an epoch is closed: the maximum number of
    /// epochs is open, and the farthest split is held in the youngest one. The end of the youngest epoch must
    /// come before the silence. So the split that fell silent last waits, and tries again when no tracker is
    /// full.
    #[must_use]
    pub(crate) fn tell_silence(&self) -> bool {
        self.go_on_without(&mut self.state.lock())
    }

    /// Assigns ends of epochs after a split of the source has advanced, fallen silent or ended. If all splits
    /// are silent now, tells this to the tasks that read the stream, after these ends. Returns `false` if
    /// this must wait, because too many epochs are open.
    ///
    /// When all splits of the source are silent, the watermark of the farthest split counts. This split may
    /// have been held in its epoch, because another split had not begun or because too many epochs are open,
    /// and it does not ask again. So it leaves that epoch in this call. Only a silent split can be moved by
    /// others, because a running split deposits into the epoch that it was given.
    fn go_on_without(&self, state: &mut State) -> bool {
        let is_idle = state.are_all_idle();
        let farthest = state.farthest().filter(|_| is_idle);
        if let Some(index) = farthest {
            let split = &mut state.splits[index];
            split.epoch = split.epoch.max(state.oldest);
            state.leave(index, &self.horizon, &self.trackers, self.limit());
        }
        let is_held = farthest.is_some_and(|index| state.is_held(index));
        let left = farthest.map_or(0, |index| state.splits[index].epoch);
        state.assign_ends(&self.trackers);
        // A split of the source whose watermark is the end of time may be about to deposit blocks into an
        // epoch that the farthest split has left.
        if is_held || state.oldest < left {
            return false;
        }
        if is_idle && !state.is_idle {
            self.trackers.iter().for_each(|tracker| tracker.fall_idle());
        }
        state.is_idle = is_idle;
        true
    }

    /// Records that a split of the source has ended; all its records must be deposited before this call.
    pub(crate) fn end(&self, index: usize) {
        let mut state = self.state.lock();
        let split = &mut state.splits[index];
        assert!(!split.is_over, "a split ends once");
        split.is_over = true;
        // The result says whether the tasks downstream could be told that all splits of the source are
        // silent. It is not needed: a split that must still tell this sends its last mark (watermark or end)
        // only afterwards.
        let _told = self.go_on_without(&mut state);
    }
}

impl State {
    /// Returns the splits of the source that may delay the ends of epochs, because their watermarks are below
    /// the end of time.
    fn open(&self) -> impl Iterator<Item = &Split> {
        self.splits.iter().filter(|split| split.is_open())
    }

    /// Returns true if some splits of the source are below the end of time, and all of those are silent.
    fn are_all_idle(&self) -> bool {
        let mut open = self.open().peekable();
        open.peek().is_some() && open.all(|split| split.is_idle)
    }

    /// Returns the index of the split of the source with the highest watermark below the end of time.
    fn farthest(&self) -> Option<usize> {
        let open = self.splits.iter().enumerate().filter(|(_, split)| split.is_open());
        open.max_by_key(|(_, split)| (split.watermark, split.epoch)).map(|(index, _)| index)
    }

    /// Returns true if the watermark of a split of the source has reached the end of its epoch, but the split
    /// could not leave the epoch.
    fn is_held(&self, index: usize) -> bool {
        let Split { epoch, watermark, .. } = self.splits[index];
        self.open[(epoch - self.oldest) as usize].boundary <= watermark
    }

    fn rejoin(&mut self, index: usize) {
        let split = &mut self.splits[index];
        split.is_idle = false;
        split.epoch = split.epoch.max(self.oldest);
        self.is_idle = false;
    }

    /// Moves a split of the source out of the epochs whose boundaries its watermark has reached. Opens new
    /// epochs for it, but none with a number of `limit` or above.
    fn leave(&mut self, index: usize, horizon: &Horizon, trackers: &[Arc<EpochTracker>], limit: u64) {
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
                // The end of one epoch can fire everything that is due below the least watermark of all
                // splits of the source that are not silent. So no epoch is opened before each of these splits
                // has a watermark.
                let moving = self.open().filter(|split| !split.is_idle).map(|split| split.watermark).min();
                // If all splits of the source are silent, the highest of their watermarks counts.
                let farthest = || self.open().map(|split| split.watermark).max();
                let least = moving.or_else(farthest).unwrap_or(boundary);
                if least == EventTime::MIN {
                    return;
                }
                let from = boundary.max(least);
                let boundary = horizon.next_after(from);
                let youngest = self.oldest + self.open.len() as u64;
                trackers.iter().for_each(|tracker| tracker.open(youngest, boundary));
                self.open.push_back(Open { boundary, left_at: EventTime::MAX });
            }
            let left = &mut self.open[place];
            left.left_at = left.left_at.min(watermark);
            self.splits[index].epoch += 1;
        }
    }

    /// Assigns ends to the epochs that all splits of the source have left. If all splits have ended, also
    /// assigns ends to the remaining epochs.
    fn assign_ends(&mut self, trackers: &[Arc<EpochTracker>]) {
        if self.splits.iter().all(|split| split.is_over) {
            let reached = self.reached();
            while let Some(open) = self.open.pop_front() {
                let end = if self.open.is_empty() { reached } else { open.left_at.min(reached) };
                self.assign(trackers, end);
            }
            return trackers.iter().for_each(|tracker| tracker.end());
        }
        let moving = self.open().filter(|split| !split.is_idle).map(|split| split.epoch).min();
        let farthest = || self.farthest().map(|index| self.splits[index].epoch);
        let running = || self.splits.iter().filter(|split| split.is_running()).map(|split| split.epoch).min();
        let left = || self.splits.iter().filter(|split| !split.is_over).map(|split| split.epoch).min();
        // Splits of the source at the end of time do not count in the progress of epochs. An epoch into which
        // such a split still deposits stays open.
        let counting = moving.or_else(farthest);
        let Some(reached) = counting.into_iter().chain(running()).min().or_else(left) else { return };
        while self.oldest < reached
            && let Some(left) = self.open.pop_front()
        {
            self.assign(trackers, left.left_at);
        }
    }

    /// Returns the progress of all splits of the source together: the least watermark of the splits that are
    /// not silent. If all are silent, returns the highest.
    fn reached(&self) -> EventTime {
        let moving = self.open().filter(|split| !split.is_idle).map(|split| split.watermark).min();
        moving.or_else(|| self.open().map(|split| split.watermark).max()).unwrap_or(EventTime::MAX)
    }

    fn assign(&mut self, trackers: &[Arc<EpochTracker>], end: EventTime) {
        let end = end.max(self.last_end);
        self.last_end = end;
        self.oldest += 1;
        trackers.iter().for_each(|tracker| tracker.assign_end(end));
    }
}

#[cfg(all(test, loom))]
pub(crate) mod model;
#[cfg(all(test, not(loom)))]
mod tests;
