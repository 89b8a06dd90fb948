//! Inputs and outputs of a task, as schedulers see them: edges, or the containers of epochs.

use std::sync::Arc;

use thalweg_memory::sync::{AtomicU64, Ordering};
use thalweg_memory::{Cursors, ReadPosition};
use thalweg_model::{EventTime, ProcessingTime};
use thalweg_scheduling::{Context, EpochWork};

use crate::arrival::context_of;
use crate::epochs::EpochTracker;

/// An input of a task.
pub(crate) enum Inlet {
    /// An edge, and the index of our cursor.
    Edge(Arc<Cursors>, usize),
    /// Containers whose blocks are claimed, and the copy that claims them.
    Claims(Arc<EpochTracker>, usize),
    /// Gathered epochs that wait to be closed, and the time since which the oldest waits.
    Epochs(Arc<EpochTracker>, FirstSeen),
}

/// The time at which an item was first seen. Relaxed: only the holder of the task uses it, and the task's
/// cell orders its runs.
#[derive(Debug, Default)]
pub(crate) struct FirstSeen {
    /// Number of the item, plus one; zero if there was none.
    item: AtomicU64,
    at_ns: AtomicU64,
}

impl FirstSeen {
    /// Returns when the item with this number was first seen: `now`, if it was not before.
    fn of(&self, item: u64, now: ProcessingTime) -> ProcessingTime {
        if self.item.swap(item + 1, Ordering::Relaxed) != item + 1 {
            self.at_ns.store(now.as_nanos(), Ordering::Relaxed);
        }
        ProcessingTime::from_nanos(self.at_ns.load(Ordering::Relaxed))
    }
}

/// An output of a task.
pub(crate) enum Outlet {
    /// An edge.
    Edge(Arc<Cursors>),
    /// Containers into which blocks are deposited.
    Deposits(Arc<EpochTracker>),
    /// Gathered state, for the task that closes epochs. There is always room.
    Epochs(Arc<EpochTracker>),
    /// The task that closes epochs lets the copies continue, or help. Nothing is written.
    Closes(Arc<EpochTracker>),
}

/// Read position of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Position {
    edge: ReadPosition,
    /// Bundles claimed, or items taken.
    taken: u64,
    /// The oldest epoch that is not closed.
    oldest: u64,
}

impl Inlet {
    pub(crate) fn position(&self) -> Position {
        match self {
            Inlet::Edge(edge, reader) => {
                Position { edge: edge.read_position(*reader), ..Position::default() }
            }
            Inlet::Claims(tracker, _) => Position { taken: tracker.bundles_out(), ..Position::default() },
            Inlet::Epochs(tracker, _) => {
                Position { taken: tracker.items_out(), oldest: tracker.oldest_here(), ..Position::default() }
            }
        }
    }

    /// Returns true if a writer of this input may have been without room when we were at `position`, and has
    /// some now.
    pub(crate) fn has_freed(&self, position: Position) -> bool {
        match self {
            Inlet::Edge(edge, _) => self.position() != position && edge.may_have_been_full(position.edge),
            Inlet::Claims(tracker, _) => tracker.space.take_starved(),
            Inlet::Epochs(tracker, _) => tracker.has_freed_epoch(position.oldest),
        }
    }

    pub(crate) fn pending_records(&self) -> u64 {
        match self {
            Inlet::Edge(edge, reader) => edge.pending(*reader),
            Inlet::Claims(tracker, copy) => tracker.unclaimed(*copy),
            Inlet::Epochs(..) => 0,
        }
    }

    /// Waiting records and marks.
    pub(crate) fn pending(&self, now: ProcessingTime) -> u64 {
        match self {
            Inlet::Edge(edge, reader) => edge.pending(*reader) + edge.pending_marks(*reader),
            // When the stream is over, each copy runs once more, to end.
            Inlet::Claims(tracker, copy) => {
                tracker.claimable(*copy, now) + tracker.pairs_waiting() + u64::from(tracker.is_over())
            }
            Inlet::Epochs(tracker, _) => tracker.closable_epochs(),
        }
    }

    /// Returns the arrival time of the oldest waiting work, in ns.
    pub(crate) fn oldest_ns(&self) -> Option<u64> {
        match self {
            Inlet::Edge(edge, reader) => match edge.pending(*reader) {
                0 if edge.pending_marks(*reader) == 0 => None,
                0 => Some(edge.mark_stamp().came),
                _ => Some(edge.head_stamp(*reader).came),
            },
            Inlet::Claims(tracker, copy) => {
                Some(tracker.oldest_unclaimed_ns(*copy)).filter(|&oldest| oldest < u64::MAX)
            }
            // Results wait for the end of an epoch, so it counts as older than anything else.
            Inlet::Epochs(tracker, _) => (tracker.closable_epochs() > 0).then_some(0),
        }
    }

    /// Returns when waiting work becomes claimable for this task. To be asked when none is at `now`; `NEVER`
    /// if none does by time alone.
    pub(crate) fn next_claimable_at(&self, now: ProcessingTime) -> ProcessingTime {
        match self {
            Inlet::Claims(tracker, copy) => tracker.next_claimable_at(*copy, now),
            Inlet::Edge(..) | Inlet::Epochs(..) => ProcessingTime::NEVER,
        }
    }

    /// Context of the oldest waiting work. Containers keep no contexts and no tokens: a block counts from its
    /// deposit, and an epoch to be closed from the time at which it was first seen.
    pub(crate) fn head(&self, now: ProcessingTime) -> Option<Context> {
        match self {
            Inlet::Edge(edge, reader) => match edge.pending(*reader) {
                0 if edge.pending_marks(*reader) == 0 => None,
                0 => Some(context_of(edge.mark_stamp())),
                _ => Some(context_of(edge.head_stamp(*reader))),
            },
            Inlet::Claims(..) => {
                let observed = self.oldest_ns().map(ProcessingTime::from_nanos);
                observed.map(|observed| Context { observed, token: None })
            }
            Inlet::Epochs(tracker, seen) => (tracker.closable_epochs() > 0)
                .then(|| Context { observed: seen.of(tracker.items_out(), now), token: None }),
        }
    }

    /// The end of the oldest waiting epoch, if there are epochs.
    pub(crate) fn due(&self, now: ProcessingTime) -> Option<EventTime> {
        match self {
            Inlet::Claims(tracker, copy) => Some(tracker.due(*copy, now)),
            Inlet::Edge(..) | Inlet::Epochs(..) => None,
        }
    }

    /// Returns the waiting work, by epochs.
    pub(crate) fn epoch_work(&self, now: ProcessingTime) -> EpochWork {
        match self {
            Inlet::Edge(..) => EpochWork::Unknown,
            Inlet::Claims(tracker, _) if tracker.pairs_waiting() > 0 => EpochWork::Watermark,
            Inlet::Claims(tracker, copy) => EpochWork::Blocks { due: tracker.due(*copy, now) },
            Inlet::Epochs(..) => EpochWork::Watermark,
        }
    }

    /// Returns a version of the epochs that are merged there.
    pub(crate) fn closed(&self) -> u64 {
        match self {
            Inlet::Edge(..) | Inlet::Claims(..) => 0,
            Inlet::Epochs(tracker, _) => tracker.closed(),
        }
    }

    /// Bytes of a record, if there are any.
    pub(crate) fn slot_bytes(&self) -> Option<u64> {
        match self {
            Inlet::Edge(edge, _) => Some(edge.slot_bytes()),
            Inlet::Claims(tracker, _) => Some(tracker.space.slot_bytes()),
            Inlet::Epochs(..) => None,
        }
    }

    /// The edge and our cursor, if it is an edge.
    pub(crate) fn edge(&self) -> Option<(&Arc<Cursors>, usize)> {
        match self {
            Inlet::Edge(edge, reader) => Some((edge, *reader)),
            Inlet::Claims(..) | Inlet::Epochs(..) => None,
        }
    }
}

impl Outlet {
    /// Returns another handle, for one more task that writes this output.
    pub(crate) fn again(&self) -> Self {
        match self {
            Outlet::Edge(edge) => Outlet::Edge(Arc::clone(edge)),
            Outlet::Deposits(tracker) => Outlet::Deposits(Arc::clone(tracker)),
            Outlet::Epochs(tracker) => Outlet::Epochs(Arc::clone(tracker)),
            Outlet::Closes(tracker) => Outlet::Closes(Arc::clone(tracker)),
        }
    }

    pub(crate) fn name_writer(&self, name: u64) {
        match self {
            Outlet::Edge(edge) => edge.name_writer(name),
            Outlet::Deposits(tracker) => tracker.space.name_writer(name),
            Outlet::Epochs(_) | Outlet::Closes(_) => {}
        }
    }

    /// Returns the number of records and marks, or bundles, written.
    pub(crate) fn written(&self) -> u64 {
        match self {
            Outlet::Edge(edge) => edge.written() + edge.marks_written(),
            Outlet::Deposits(tracker) => tracker.bundles_in(),
            Outlet::Epochs(_) | Outlet::Closes(_) => 0,
        }
    }

    /// Returns a version of the epochs there and downstream. It grows with every change that matters to the
    /// tasks that close them.
    pub(crate) fn closed(&self) -> u64 {
        match self {
            Outlet::Edge(_) => 0,
            Outlet::Deposits(tracker) | Outlet::Epochs(tracker) | Outlet::Closes(tracker) => tracker.closed(),
        }
    }

    /// Returns true if readers hold back blocks that they claim when there is no room.
    pub(crate) fn holds_blocks(&self) -> bool {
        match self {
            Outlet::Edge(_) | Outlet::Epochs(_) | Outlet::Closes(_) => false,
            Outlet::Deposits(tracker) => tracker.holds_blocks(),
        }
    }

    pub(crate) fn has_room(&self) -> bool {
        match self {
            Outlet::Edge(edge) => edge.has_room(),
            Outlet::Deposits(tracker) => tracker.space.has_free(),
            Outlet::Epochs(_) | Outlet::Closes(_) => true,
        }
    }

    /// Returns true while no epoch can be opened there.
    pub(crate) fn is_full_of_epochs(&self) -> bool {
        match self {
            Outlet::Deposits(tracker) => tracker.is_full(),
            Outlet::Edge(_) | Outlet::Epochs(_) | Outlet::Closes(_) => false,
        }
    }

    /// Returns true if other writers may have been without room while a run of ours held blocks, and have
    /// some now.
    pub(crate) fn has_freed(&self) -> bool {
        match self {
            Outlet::Deposits(tracker) => tracker.space.take_starved(),
            Outlet::Edge(_) | Outlet::Epochs(_) | Outlet::Closes(_) => false,
        }
    }

    /// Bytes of a record, if there are any.
    pub(crate) fn slot_bytes(&self) -> Option<u64> {
        match self {
            Outlet::Edge(edge) => Some(edge.slot_bytes()),
            Outlet::Deposits(tracker) => Some(tracker.space.slot_bytes()),
            Outlet::Epochs(_) | Outlet::Closes(_) => None,
        }
    }

    /// Records of a deposited block, if blocks are deposited.
    pub(crate) fn bundle_records(&self) -> Option<usize> {
        match self {
            Outlet::Deposits(tracker) => Some(tracker.space.block_records()),
            Outlet::Edge(_) | Outlet::Epochs(_) | Outlet::Closes(_) => None,
        }
    }

    /// The edge, if it is one.
    pub(crate) fn edge(&self) -> Option<&Arc<Cursors>> {
        match self {
            Outlet::Edge(edge) => Some(edge),
            Outlet::Deposits(_) | Outlet::Epochs(_) | Outlet::Closes(_) => None,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_item_counts_from_when_it_was_seen_first() {
        let seen = FirstSeen::default();
        let of = |item, now_ns| seen.of(item, ProcessingTime::from_nanos(now_ns)).as_nanos();
        assert_eq!([of(0, 5), of(0, 7), of(1, 9), of(1, 20), of(3, 21)], [5, 5, 9, 9, 21]);
    }
}
