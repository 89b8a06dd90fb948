//! Marks beside the data: a small ring of pairs of position and mark, so that the loop over records need not
//! test whether an item is a mark.
//!
//! The user of the edge defines the meaning of a mark. In this module a mark has only a position and an
//! [`Admission`], which decides what happens when the ring is full.

use crate::cursors::Cursors;
use crate::stamp::Stamp;
use crate::sync::{Ordering, Slot};

/// The treatment of a mark that is set while the ring of marks is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// The mark is held back, and with it every record after it, until a reader makes room in the ring.
    Ordinary,
    /// The mark is dropped and counted, because its loss is acceptable (for example a latency marker).
    Droppable,
    /// The mark takes one of a few slots of the ring that are kept free for important marks.
    Reserved,
}

/// The rules for the marks of an edge, which the user of the edge defines on a type without data.
pub trait MarkRules: Send + Sync + 'static {
    /// The type of the marks that travel on the edge.
    type Mark: Copy + Send + 'static;

    /// Returns the treatment of `mark` if it is set while the ring of marks is full.
    fn admission(mark: &Self::Mark) -> Admission;

    /// Returns true if `newer`, set at the same position as `older`, makes `older` superfluous. Called only
    /// while `older` is still held back.
    fn replaces(newer: &Self::Mark, older: &Self::Mark) -> bool;
}

/// Number of slots in the ring of marks that are kept for [`Admission::Reserved`] marks. One under loom, so
/// that a few marks reuse a slot.
pub(crate) const RESERVED_MARKS: u64 = if cfg!(loom) { 1 } else { 4 };

/// The ring of marks of an edge. Entry `n` is the n-th mark of the edge. The mark cursors decide which end
/// may access a slot, as for blocks: the writer fills entry `n` before it stores `marks_written > n`, and
/// reuses the slot when every open reader has stored `marks_read > n`.
pub(crate) struct MarkRing<M> {
    slots: Box<[Slot<(u64, M)>]>,
}

impl<M: Copy> MarkRing<M> {
    /// Creates a ring with room for `ordinary` marks and, beyond these, for the reserved ones.
    pub(crate) fn new(ordinary: u64) -> Self {
        let count = usize::try_from(ordinary + RESERVED_MARKS).expect("the limit of marks fits usize");
        MarkRing { slots: (0..count).map(|_| Slot::new()).collect() }
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.slots.len() as u64
    }

    /// Writes a mark and its position into slot `index` of the ring.
    ///
    /// # Safety
    /// The caller is the writer, `index` was never published, and the mark `capacity` places before it was
    /// read by every open reader (Acquire).
    pub(crate) unsafe fn set(&self, index: u64, position: u64, mark: M) {
        let slot = &self.slots[(index % self.capacity()) as usize];
        // SAFETY: by contract no reader looks at this slot now: its old mark is read, and its new mark is not
        // published yet.
        unsafe { slot.write((position, mark)) };
    }

    /// Returns the mark at `index` of the ring and its position.
    ///
    /// # Safety
    /// The caller is a reader that loaded `marks_written > index` with Acquire and has not published
    /// `marks_read > index` yet.
    pub(crate) unsafe fn get(&self, index: u64) -> (u64, M) {
        let slot = &self.slots[(index % self.capacity()) as usize];
        // SAFETY: the slot was initialised before `marks_written` passed it; the writer leaves it alone until
        // this reader has published that it has read it. Marks are `Copy`, so reading twice would be fine.
        unsafe { slot.inspect(|&entry| entry) }
    }
}

/// A writing end of an edge that sets marks, and holds one mark back while the ring of marks has no room for
/// it.
pub(crate) trait MarkWriter<R: MarkRules> {
    /// Returns the cursors of the edge, that is, the positions of its writer and readers.
    fn mark_cursors(&self) -> &Cursors;

    /// Returns the mark that is held back because it found the ring of marks full; `None` if there is none.
    fn held(&self) -> Option<R::Mark>;

    /// Sets the mark that is held back, in place of the one before; `None` if no mark is held back any more.
    fn set_held(&mut self, mark: Option<R::Mark>);

    /// Returns the number of free slots in the ring of marks, including slots that are kept for
    /// [`Admission::Reserved`] marks.
    fn mark_room(&self) -> u64;

    /// Puts a mark into the ring of marks; the caller has checked that there is room.
    fn publish_mark(&mut self, mark: R::Mark);

    /// Sets a mark after all values written so far; see [`Writer::mark`](crate::Writer::mark).
    ///
    /// # Panics
    /// If another mark is already held back that the new mark does not replace.
    fn set_mark(&mut self, mark: R::Mark, stamp: Stamp) {
        self.flush_held();
        let writer = &self.mark_cursors().writer;
        writer.mark_stamp.store(stamp);
        let room = self.mark_room();
        match (R::admission(&mark), self.held()) {
            (_, None) if room > RESERVED_MARKS => self.publish_mark(mark),
            (Admission::Reserved, None) if room > 0 => self.publish_mark(mark),
            (Admission::Droppable, _) => {
                writer.marks_dropped.fetch_add(1, Ordering::Relaxed);
            }
            (_, None) => self.hold(Some(mark)),
            (_, Some(older)) => {
                assert!(R::replaces(&mark, &older), "a mark is set while another is held back");
                self.hold(Some(mark));
            }
        }
    }

    /// Puts the mark that is held back into the ring of marks, if there is room now.
    fn flush_held(&mut self) {
        if let Some(mark) = self.held() {
            let reserved = matches!(R::admission(&mark), Admission::Reserved);
            if self.mark_room() > if reserved { 0 } else { RESERVED_MARKS } {
                self.hold(None);
                self.publish_mark(mark);
            }
        }
    }

    /// Sets the mark that is held back until the ring of marks has room, or `None` if no mark is held back.
    /// Schedulers see through the cursors of the edge whether a mark is held back.
    fn hold(&mut self, mark: Option<R::Mark>) {
        self.mark_cursors().writer.mark_held.store(mark.is_some(), Ordering::Relaxed);
        self.set_held(mark);
    }
}
