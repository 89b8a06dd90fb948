//! Inputs and outputs of a task, as schedulers see them: edges, or the containers of epochs.

use std::sync::Arc;

use thalweg_memory::sync::{AtomicU64, Ordering};
use thalweg_memory::{Cursors, ReadPosition};
use thalweg_model::{EventTime, ProcessingTime};
use thalweg_scheduling::{Context, EpochWork};

use crate::arrival::context_of;
use crate::epochs::EpochTracker;

/// Something that a task reads.
pub(crate) enum Inlet {
    /// An edge, and the index of our cursor.
    Edge(Arc<Cursors>, usize),
    /// Containers, of which blocks are claimed, and the copy that claims them.
    Claims(Arc<EpochTracker>, usize),
    /// Epochs that are gathered, and wait to be closed, and since when the oldest does.
    Epochs(Arc<EpochTracker>, FirstSeen),
}

/// When an item was seen for the first time. Relaxed: of whoever holds the task, whose cell orders its runs.
#[derive(Debug, Default)]
pub(crate) struct FirstSeen {
    /// Its number, plus one; none yet if zero.
    item: AtomicU64,
    at_ns: AtomicU64,
}

impl FirstSeen {
    /// Returns when the item with this number was seen first, if not before then `now`.
    fn of(&self, item: u64, now: ProcessingTime) -> ProcessingTime {
        if self.item.swap(item + 1, Ordering::Relaxed) != item + 1 {
            self.at_ns.store(now.as_nanos(), Ordering::Relaxed);
        }
        ProcessingTime::from_nanos(self.at_ns.load(Ordering::Relaxed))
    }
}

/// Something that a task writes.
pub(crate) enum Outlet {
    /// An edge.
    Edge(Arc<Cursors>),
    /// Containers, into which blocks are deposited.
    Deposits(Arc<EpochTracker>),
    /// Gathered state, for the task that closes epochs; there is always room.
    Epochs(Arc<EpochTracker>),
    /// The task that closes epochs lets the copies go on, or help; nothing is written.
    Closes(Arc<EpochTracker>),
}

/// How far a task has read.
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

    /// Returns true if whoever writes it may have been without room when we were at `position`, and has some now.
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

    /// Records and marks that wait.
    pub(crate) fn pending(&self, now: ProcessingTime) -> u64 {
        match self {
            Inlet::Edge(edge, reader) => edge.pending(*reader) + edge.pending_marks(*reader),
            // When all is over, each copy is run once more, to end.
            Inlet::Claims(tracker, copy) => {
                tracker.claimable(*copy, now) + tracker.pairs_waiting() + u64::from(tracker.is_over())
            }
            Inlet::Epochs(tracker, _) => tracker.closable_epochs(),
        }
    }

    /// Returns when the oldest of what waits came in, in ns.
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
            // What results are waiting for has waited longest of all.
            Inlet::Epochs(tracker, _) => (tracker.closable_epochs() > 0).then_some(0),
        }
    }

    /// Returns when something that lies there already becomes ours to take, to be asked when nothing is at `now`; `NEVER` if
    /// nothing does by time alone.
    pub(crate) fn next_claimable_at(&self, now: ProcessingTime) -> ProcessingTime {
        match self {
            Inlet::Claims(tracker, copy) => tracker.next_claimable_at(*copy, now),
            Inlet::Edge(..) | Inlet::Epochs(..) => ProcessingTime::NEVER,
        }
    }

    /// The context of the oldest of what waits. Containers keep none, nor tokens: what lies there counts from when it was put
    /// there, and an epoch that is to be closed from when that was seen.
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

    /// The end of the oldest epoch that waits, if there are epochs.
    pub(crate) fn due(&self, now: ProcessingTime) -> Option<EventTime> {
        match self {
            Inlet::Claims(tracker, copy) => Some(tracker.due(*copy, now)),
            Inlet::Edge(..) | Inlet::Epochs(..) => None,
        }
    }

    /// Returns what waits, by epochs.
    pub(crate) fn epoch_work(&self, now: ProcessingTime) -> EpochWork {
        match self {
            Inlet::Edge(..) => EpochWork::Unknown,
            Inlet::Claims(tracker, _) if tracker.pairs_waiting() > 0 => EpochWork::Watermark,
            Inlet::Claims(tracker, copy) => EpochWork::Blocks { due: tracker.due(*copy, now) },
            Inlet::Epochs(..) => EpochWork::Watermark,
        }
    }

    /// Returns a version of the epochs that are put together there.
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

    /// The edge, if it is one, and our cursor.
    pub(crate) fn edge(&self) -> Option<(&Arc<Cursors>, usize)> {
        match self {
            Inlet::Edge(edge, reader) => Some((edge, *reader)),
            Inlet::Claims(..) | Inlet::Epochs(..) => None,
        }
    }
}

impl Outlet {
    /// Returns another handle, for one more task that writes it.
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

    /// Returns what was written.
    pub(crate) fn written(&self) -> u64 {
        match self {
            Outlet::Edge(edge) => edge.written() + edge.marks_written(),
            Outlet::Deposits(tracker) => tracker.bundles_in(),
            Outlet::Epochs(_) | Outlet::Closes(_) => 0,
        }
    }

    /// Returns a version of the epochs there and further on; it grows with every change that matters to the tasks that close
    /// them.
    pub(crate) fn closed(&self) -> u64 {
        match self {
            Outlet::Edge(_) => 0,
            Outlet::Deposits(tracker) | Outlet::Epochs(tracker) | Outlet::Closes(tracker) => tracker.closed(),
        }
    }

    /// Returns true if those who read it hold blocks back that they claim when there is no room.
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

    /// Returns true if others who write it may have been without room while a run of ours had blocks in hand, and have some now.
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

    /// Records of a block that is deposited, if blocks are.
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
