//! Inputs and outputs of a task as the scheduler sees them: edges, or containers, which hold the blocks of
//! each epoch in front of a parallel task.

use std::sync::Arc;

use thalweg_memory::sync::{AtomicU64, Ordering};
use thalweg_memory::{Cursors, ReadPosition};
use thalweg_model::{EventTime, ProcessingTime};
use thalweg_scheduling::{Context, EpochWork};

use crate::arrival::context_of;
use crate::epochs::EpochTracker;

/// An input of a task as the scheduler sees it.
pub(crate) enum Inlet {
    /// The input is an edge. The number is the index of this task among the edge's readers.
    Edge(Arc<Cursors>, usize),
    /// Containers (the unclaimed blocks of each epoch), from which blocks are claimed, and the number of the
    /// copy of the task that claims them.
    Claims(Arc<EpochTracker>, usize),
    /// Epochs that wait to be closed by this task, because their state is gathered, and the time since which
    /// the oldest of them waits.
    Epochs(Arc<EpochTracker>, FirstSeen),
}

/// The time at which the oldest epoch that waits to be closed was first seen. Relaxed: only the holder of the
/// task uses it, and the task's cell orders its runs.
#[derive(Debug, Default)]
pub(crate) struct FirstSeen {
    /// Number, plus 1, of the step of closing epochs (the end of an epoch, a latency marker or the like) that
    /// was seen last; 0 if none was seen yet.
    item: AtomicU64,
    at_ns: AtomicU64,
}

impl FirstSeen {
    /// Returns the time at which the step of closing epochs with the number `item` was first seen. It is
    /// `now` if this step is seen for the first time.
    fn of(&self, item: u64, now: ProcessingTime) -> ProcessingTime {
        if self.item.swap(item + 1, Ordering::Relaxed) != item + 1 {
            self.at_ns.store(now.as_nanos(), Ordering::Relaxed);
        }
        ProcessingTime::from_nanos(self.at_ns.load(Ordering::Relaxed))
    }
}

/// An output of a task as the scheduler sees it.
pub(crate) enum Outlet {
    /// The output is an edge to one or more readers.
    Edge(Arc<Cursors>),
    /// The output is containers (the unclaimed blocks of each epoch) in front of a parallel task, into which
    /// this task deposits blocks.
    Deposits(Arc<EpochTracker>),
    /// State that a copy of a parallel operator has gathered, for the task that closes epochs (merges the
    /// state of the copies and emits the results). This output always has room.
    Epochs(Arc<EpochTracker>),
    /// The notifications of a task that closes epochs to the copies, which may continue or help to merge.
    /// Nothing is written to this output.
    Closes(Arc<EpochTracker>),
}

/// Position up to which a task has read one of its inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Position {
    edge: ReadPosition,
    /// Number of blocks that the task has claimed from containers (the unclaimed blocks of each epoch) or, if
    /// it closes epochs (merges the state of the copies and emits the results), number of steps of closing
    /// that it has taken.
    taken: u64,
    /// The oldest epoch that was not closed when this position was taken.
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

    /// Returns true if a writer of this input may have been without room when the task was at `position`, and
    /// has some now.
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

    /// Returns the number of records and marks (such as watermarks) that wait on this input.
    pub(crate) fn pending(&self, now: ProcessingTime) -> u64 {
        match self {
            Inlet::Edge(edge, reader) => edge.pending(*reader) + edge.pending_marks(*reader),
            // When the stream is over, one more item of work is counted for each copy of the operator, so
            // that the copy runs once more and ends.
            Inlet::Claims(tracker, copy) => {
                tracker.claimable(*copy, now) + tracker.pairs_waiting() + u64::from(tracker.is_over())
            }
            Inlet::Epochs(tracker, _) => tracker.closable_epochs(),
        }
    }

    /// Returns the arrival time in ns of the oldest work that waits on this input; `None` if nothing waits.
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
            // The results of an epoch wait for its end, so the end counts as older than any other work.
            Inlet::Epochs(tracker, _) => (tracker.closable_epochs() > 0).then_some(0),
        }
    }

    /// Returns the arrival in ns by which a task that reads its inputs in the order of arrival chooses this input: that
    /// of the oldest waiting record, 0 if only marks wait, and `u64::MAX` if nothing waits. An edge keeps the arrival of
    /// its last mark only, and by that one an input with a mark every now and then would never be the oldest. Marks
    /// take no time, so they come first.
    pub(crate) fn arrived_ns(&self) -> u64 {
        match self {
            Inlet::Edge(edge, reader) if edge.pending(*reader) == 0 && edge.pending_marks(*reader) > 0 => 0,
            Inlet::Edge(..) | Inlet::Claims(..) | Inlet::Epochs(..) => self.oldest_ns().unwrap_or(u64::MAX),
        }
    }

    /// Returns the instant at which waiting work becomes claimable for this task by the passing of time;
    /// `NEVER` if none does. Call this when nothing is claimable at `now`.
    pub(crate) fn next_claimable_at(&self, now: ProcessingTime) -> ProcessingTime {
        match self {
            Inlet::Claims(tracker, copy) => tracker.next_claimable_at(*copy, now),
            Inlet::Edge(..) | Inlet::Epochs(..) => ProcessingTime::NEVER,
        }
    }

    /// Returns the scheduling context of the oldest work that waits on this input. An epoch to be closed has
    /// the latest context of its blocks. If the epoch has no blocks, the time in the context is that at which
    /// its end was first seen in front of the task.
    pub(crate) fn head(&self, now: ProcessingTime) -> Option<Context> {
        match self {
            Inlet::Edge(edge, reader) => match edge.pending(*reader) {
                0 if edge.pending_marks(*reader) == 0 => None,
                0 => Some(context_of(edge.mark_stamp())),
                _ => Some(context_of(edge.head_stamp(*reader))),
            },
            // Results of an epoch wait for pairs of its partial states to be merged.
            Inlet::Claims(tracker, copy) => tracker.head_context(*copy, now).or_else(|| {
                let has_pairs = tracker.pairs_waiting() > 0;
                if has_pairs { tracker.context_of(tracker.oldest_here()) } else { None }
            }),
            Inlet::Epochs(tracker, seen) => (tracker.closable_epochs() > 0).then(|| {
                let first_seen = Context { observed: seen.of(tracker.items_out(), now), token: None };
                tracker.context_of(tracker.oldest_here()).unwrap_or(first_seen)
            }),
        }
    }

    /// Returns the end of the oldest epoch for which blocks wait; `None` if this input has no epochs.
    pub(crate) fn due(&self, now: ProcessingTime) -> Option<EventTime> {
        match self {
            Inlet::Claims(tracker, copy) => Some(tracker.due(*copy, now)),
            Inlet::Edge(..) | Inlet::Epochs(..) => None,
        }
    }

    /// Returns the work that waits on this input, in terms of epochs: the boundary of the oldest epoch with
    /// waiting blocks, or that epochs wait to be closed.
    pub(crate) fn epoch_work(&self, now: ProcessingTime) -> EpochWork {
        match self {
            Inlet::Edge(..) => EpochWork::Unknown,
            Inlet::Claims(tracker, _) if tracker.pairs_waiting() > 0 => EpochWork::Watermark,
            Inlet::Claims(tracker, copy) => EpochWork::Blocks { due: tracker.due(*copy, now) },
            Inlet::Epochs(..) => EpochWork::Watermark,
        }
    }

    /// Returns the number of open epochs with blocks that are not consumed; zero if this input has no blocks.
    pub(crate) fn open_containers(&self) -> u32 {
        match self {
            Inlet::Claims(tracker, _) => tracker.open_containers(),
            Inlet::Edge(..) | Inlet::Epochs(..) => 0,
        }
    }

    /// Returns a number that grows with every epoch that is closed at this input, and with every change of the
    /// merge of its state; 0 if this input closes no epochs.
    pub(crate) fn closed(&self) -> u64 {
        match self {
            Inlet::Edge(..) | Inlet::Claims(..) => 0,
            Inlet::Epochs(tracker, _) => tracker.closed(),
        }
    }

    /// Returns the number of bytes that each record of this input takes in memory (the size of its type); `None` if
    /// this kind of input never carries records.
    pub(crate) fn slot_bytes(&self) -> Option<u64> {
        match self {
            Inlet::Edge(edge, _) => Some(edge.slot_bytes()),
            Inlet::Claims(tracker, _) => Some(tracker.space.slot_bytes()),
            Inlet::Epochs(..) => None,
        }
    }

    /// Returns the edge of this input, and which of the edge's readers this task is; `None` if this input is
    /// not an edge.
    pub(crate) fn edge(&self) -> Option<(&Arc<Cursors>, usize)> {
        match self {
            Inlet::Edge(edge, reader) => Some((edge, *reader)),
            Inlet::Claims(..) | Inlet::Epochs(..) => None,
        }
    }
}

impl Outlet {
    /// Returns a second handle to this output, for one more task that writes it.
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

    /// Returns the number of records and marks that were written to this output; for containers (the
    /// unclaimed blocks of each epoch), the number of blocks and latency markers without a block.
    pub(crate) fn written(&self) -> u64 {
        match self {
            Outlet::Edge(edge) => edge.written() + edge.marks_written(),
            Outlet::Deposits(tracker) => tracker.bundles_in(),
            Outlet::Epochs(_) | Outlet::Closes(_) => 0,
        }
    }

    /// Returns a number that grows with every change of the epochs at this output and downstream that matters
    /// to the tasks that close these epochs.
    pub(crate) fn closed(&self) -> u64 {
        match self {
            Outlet::Edge(_) => 0,
            Outlet::Deposits(tracker) | Outlet::Epochs(tracker) | Outlet::Closes(tracker) => tracker.closed(),
        }
    }

    /// Returns true if the readers of this output hold back blocks which they must claim when no free block
    /// is left.
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

    /// Returns true while no epoch can be opened at this output, because the maximum number is open.
    pub(crate) fn is_full_of_epochs(&self) -> bool {
        match self {
            Outlet::Deposits(tracker) => tracker.is_full(),
            Outlet::Edge(_) | Outlet::Epochs(_) | Outlet::Closes(_) => false,
        }
    }

    /// Returns true if other writers of this output may have been without free blocks while this task held
    /// blocks in a run, and there are free blocks now.
    pub(crate) fn has_freed(&self) -> bool {
        match self {
            Outlet::Deposits(tracker) => tracker.space.take_starved(),
            Outlet::Edge(_) | Outlet::Epochs(_) | Outlet::Closes(_) => false,
        }
    }

    /// Returns the number of bytes of a record on this output; `None` if no records are written to it.
    pub(crate) fn slot_bytes(&self) -> Option<u64> {
        match self {
            Outlet::Edge(edge) => Some(edge.slot_bytes()),
            Outlet::Deposits(tracker) => Some(tracker.space.slot_bytes()),
            Outlet::Epochs(_) | Outlet::Closes(_) => None,
        }
    }

    /// Returns the number of records in a deposited block; `None` if this output takes no blocks.
    pub(crate) fn bundle_records(&self) -> Option<usize> {
        match self {
            Outlet::Deposits(tracker) => Some(tracker.space.block_records()),
            Outlet::Edge(_) | Outlet::Epochs(_) | Outlet::Closes(_) => None,
        }
    }

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
