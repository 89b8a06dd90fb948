//! Cursors: the positions of both ends of an edge, as words that writer and readers exchange and that
//! schedulers read.
//!
//! Each end has cache lines of its own, which only that end writes. So the two ends do not take a line away from each
//! other with every record (Enjima keeps both positions in the block's preamble, where they bounce). Positions count
//! records since the edge was made: 64 bits do not wrap.

use crate::chunk::ChunkLayout;
use crate::stamp::{Stamp, StampCell};
use crate::sync::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, CacheAligned, Ordering};

/// Value of [`WriterLine::growth`], the state of an edge's growth: no chunk is requested.
pub(crate) const GROWTH_NONE: u8 = 0;
/// Value of [`WriterLine::growth`], the state of an edge's growth: a chunk was requested from the pool of
/// chunks.
pub(crate) const GROWTH_REQUESTED: u8 = 1;
/// Value of [`WriterLine::growth`], the state of an edge's growth: the pool has made the chunk, and the
/// writer of the edge has not taken it yet.
pub(crate) const GROWTH_READY: u8 = 2;

/// Stands for the core on which an end of an edge runs, if the core is not known.
const NOWHERE: usize = usize::MAX;

/// The cursors of one edge: how far its writer and its readers are. Any thread may read them; only the ends
/// of the edge write them.
#[derive(Debug)]
pub struct Cursors {
    pub(crate) writer: CacheAligned<WriterLine>,
    pub(crate) readers: Box<[CacheAligned<ReaderLine>]>,
    block_records: u64,
    slot_bytes: u64,
    chunk_records: u64,
    chunk_bytes: u64,
    /// Number of unread marks (such as watermarks) on an edge at which further marks other than
    /// [`Admission::Reserved`](crate::Admission::Reserved) ones are held back or dropped.
    ordinary_marks: u64,
    /// Number that [`Pool::grow_step`](crate::Pool::grow_step) returns when it has made a chunk for this
    /// edge, so that its caller can notify the writer. This crate does not interpret the number. Relaxed: set
    /// before the edge is used, by the thread that makes the edge.
    writer_name: AtomicU64,
}

/// Position of a reader of an edge: the position in the edge of the first slot of its current block, and the
/// number of marks it has taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReadPosition {
    block_start: u64,
    marks_read: u64,
}

/// Atomic words of an edge that its writer writes, except for `growth`, which the pool of chunks sets once
/// per requested chunk. They have cache lines of their own.
#[derive(Debug)]
pub(crate) struct WriterLine {
    /// Number of records published since the edge was made (invariant B2 of this crate). Stored with Release
    /// after slots, ring entries and marks are filled; loaded with Acquire by readers. This pair makes all
    /// three visible.
    pub(crate) written: AtomicU64,
    /// Number of marks (such as watermarks) published. Stored with Release after the mark is in the ring and
    /// before any later `written`; loaded with Acquire by readers after `written`, so that they miss no mark
    /// before a record that they may read.
    pub(crate) marks_written: AtomicU64,
    /// Blocks with sequence numbers below this one were recycled. Relaxed: only the edge's own drop reads it.
    pub(crate) recycled: AtomicU64,
    /// Number of records that fit into the blocks which the edge owns; zero once the edge is gone. Relaxed: a
    /// hint for schedulers.
    pub(crate) capacity_records: AtomicU64,
    /// The stamp (time of writing, and two numbers of the user) of the first value that came after the edge
    /// was last found empty. Relaxed: a hint for schedulers.
    pub(crate) restart_stamp: StampCell,
    /// The stamp (time of writing, and two numbers of the user) of the last mark that the writer has set.
    /// Relaxed: a hint for schedulers.
    pub(crate) mark_stamp: StampCell,
    /// Number of marks (such as latency markers) dropped because the ring of marks was full. Relaxed: a
    /// counter for reports.
    pub(crate) marks_dropped: AtomicU64,
    /// True if a mark, such as a watermark, is held back until the ring of marks has room. Relaxed: a hint
    /// for schedulers.
    pub(crate) mark_held: AtomicBool,
    /// The number of the core on which the writer runs. A worker writes it before it runs the task of the
    /// writer. It is read by the writer once per block. Relaxed: a hint, see [`Cursors::crosses`].
    pub(crate) core: AtomicUsize,
    /// State of the mailbox, the place in the edge where the pool puts a new chunk: one of the constants
    /// `GROWTH_*`. The pool stores with Release after it has filled the mailbox, and the writer loads with
    /// Acquire before it looks inside.
    pub(crate) growth: AtomicU8,
}

/// Atomic words of an edge that one of its readers writes. They have cache lines of their own.
#[derive(Debug)]
pub(crate) struct ReaderLine {
    /// Number of records that this reader has read (invariant B2 of this crate). Stored with Release after
    /// the records were moved out or looked at for the last time; loaded with Acquire by the writer before it
    /// recycles a block. This pair ensures invariant B4: a block is recycled only when every reader has
    /// passed it.
    pub(crate) read: AtomicU64,
    /// Position in the edge of the first slot in the block that contains the position `read`. Relaxed: a hint
    /// that saves schedulers a division.
    pub(crate) block_start: AtomicU64,
    /// The stamp (time of writing of the first record, and two numbers of the user) of the block from which
    /// this reader has read last. Relaxed: a hint for schedulers.
    pub(crate) block_stamp: StampCell,
    /// Number of marks (such as watermarks) that this reader has read. Stored with Release after the mark was
    /// read; loaded with Acquire by the writer before it reuses the slot of the mark.
    pub(crate) marks_read: AtomicU64,
    /// The number of the core on which this reader runs. A worker writes it before it runs the task of the
    /// reader. It is read by the writer once per block. Relaxed: a hint, see [`Cursors::crosses`].
    pub(crate) core: AtomicUsize,
    /// True if the reader is gone, so that the writer no longer waits for it. Stored with Release after the
    /// last `read`, loaded with Acquire by the writer.
    pub(crate) closed: AtomicBool,
}

impl Cursors {
    pub(crate) fn new(layout: ChunkLayout, slot_bytes: usize, readers: usize, ordinary_marks: u64) -> Self {
        let block_records = u64::from(layout.shape.block_records);
        Cursors {
            block_records,
            chunk_records: block_records * u64::from(layout.shape.chunk_blocks),
            chunk_bytes: layout.chunk_bytes as u64,
            ..Cursors::with(slot_bytes, readers, ordinary_marks)
        }
    }

    /// Makes cursors with placeholder sizes: one block, which holds one record and takes no bytes.
    fn with(slot_bytes: usize, readers: usize, ordinary_marks: u64) -> Self {
        let writer = WriterLine {
            written: AtomicU64::new(0),
            marks_written: AtomicU64::new(0),
            recycled: AtomicU64::new(0),
            capacity_records: AtomicU64::new(0),
            restart_stamp: StampCell::new(),
            mark_stamp: StampCell::new(),
            marks_dropped: AtomicU64::new(0),
            mark_held: AtomicBool::new(false),
            core: AtomicUsize::new(NOWHERE),
            growth: AtomicU8::new(GROWTH_NONE),
        };
        let reader = || ReaderLine {
            read: AtomicU64::new(0),
            block_start: AtomicU64::new(0),
            block_stamp: StampCell::new(),
            marks_read: AtomicU64::new(0),
            core: AtomicUsize::new(NOWHERE),
            closed: AtomicBool::new(false),
        };
        Cursors {
            writer: CacheAligned(writer),
            readers: (0..readers).map(|_| CacheAligned(reader())).collect(),
            block_records: 1,
            slot_bytes: slot_bytes.max(1) as u64,
            chunk_records: 1,
            chunk_bytes: 0,
            ordinary_marks,
            writer_name: AtomicU64::new(0),
        }
    }

    /// Makes the cursors of a queue, which is treated as one chunk of `bytes` bytes with blocks of one
    /// record.
    pub(crate) fn of_queue(
        capacity_records: u64,
        bytes: u64,
        slot_bytes: usize,
        readers: usize,
        ordinary_marks: u64,
    ) -> Self {
        let cursors = Cursors::with(slot_bytes, readers, ordinary_marks);
        cursors.writer.capacity_records.store(capacity_records, Ordering::Relaxed);
        Cursors { chunk_records: capacity_records, chunk_bytes: bytes, ..cursors }
    }

    /// Returns the number of unread marks (such as watermarks) at which further marks other than
    /// [`Admission::Reserved`](crate::Admission::Reserved) ones are held back or dropped.
    pub(crate) fn ordinary_marks(&self) -> u64 {
        self.ordinary_marks
    }

    /// Sets the number that [`Pool::grow_step`](crate::Pool::grow_step) returns when it has made a chunk for
    /// this edge. The cursors do not interpret this number.
    pub fn name_writer(&self, name: u64) {
        self.writer_name.store(name, Ordering::Relaxed);
    }

    pub(crate) fn writer_name(&self) -> u64 {
        self.writer_name.load(Ordering::Relaxed)
    }

    /// Returns the number of records that the writer has published since the edge was made.
    pub fn written(&self) -> u64 {
        self.writer.written.load(Ordering::Relaxed)
    }

    /// Returns the number of records that reader `index` has taken since the edge was made.
    pub fn read(&self, index: usize) -> u64 {
        self.readers[index].read.load(Ordering::Relaxed)
    }

    /// Returns the number of records that reader `index` has not taken yet. Other threads may change the
    /// number meanwhile; it is exact while neither end of the edge runs.
    pub fn pending(&self, index: usize) -> u64 {
        // The reader's cursor is loaded before the writer's. In the other order the reader could have passed
        // the older value of the writer's cursor.
        let read = self.read(index);
        self.written().saturating_sub(read)
    }

    /// Returns the number of marks (such as watermarks) that reader `index` has not taken yet.
    pub fn pending_marks(&self, index: usize) -> u64 {
        let read = self.readers[index].marks_read.load(Ordering::Relaxed);
        self.writer.marks_written.load(Ordering::Relaxed).saturating_sub(read)
    }

    /// Returns the number of marks (such as watermarks) that the writer has published since the edge was
    /// made.
    pub fn marks_written(&self) -> u64 {
        self.writer.marks_written.load(Ordering::Relaxed)
    }

    /// Returns the position of reader `index`, in the form in which
    /// [`may_have_been_full`](Self::may_have_been_full) compares it.
    pub fn read_position(&self, index: usize) -> ReadPosition {
        let line = &self.readers[index];
        ReadPosition {
            block_start: line.block_start.load(Ordering::Relaxed),
            marks_read: line.marks_read.load(Ordering::Relaxed),
        }
    }

    /// Returns true if the writer may have had no room at some moment since a reader was at `position`. This
    /// holds if the edge would be full now if that reader had not moved.
    pub fn may_have_been_full(&self, position: ReadPosition) -> bool {
        let writer = &self.writer;
        self.written().saturating_sub(position.block_start) >= writer.capacity_records.load(Ordering::Relaxed)
            || self.marks_written().saturating_sub(position.marks_read) >= self.ordinary_marks
    }

    /// Returns the number of marks (such as latency markers) dropped because the ring of marks was full.
    pub fn marks_dropped(&self) -> u64 {
        self.writer.marks_dropped.load(Ordering::Relaxed)
    }

    /// Returns the number of chunks that the edge owns; 0 once both of its ends are gone.
    pub fn chunks(&self) -> u64 {
        self.writer.capacity_records.load(Ordering::Relaxed) / self.chunk_records
    }

    /// Returns the number of bytes in the chunks that the edge owns.
    pub fn chunk_bytes(&self) -> u64 {
        self.chunks() * self.chunk_bytes
    }

    /// Returns the number of bytes in the edge's chunks that hold no unread record, computed from the number
    /// of records. Both ends of the edge may change this number meanwhile.
    pub fn empty_bytes(&self) -> u64 {
        let written = self.written();
        let unread = written - self.read_min(written, Ordering::Relaxed);
        let capacity = self.writer.capacity_records.load(Ordering::Relaxed);
        let bytes_per_record = self.chunk_bytes as f64 / self.chunk_records as f64;
        (capacity.saturating_sub(unread) as f64 * bytes_per_record) as u64
    }

    /// Returns the stamp (time of writing, and two numbers of the user) of the oldest unread record of reader
    /// `index`, exact only to within one block: it may be the stamp of an earlier record of the block.
    /// Meaningless while this reader has no unread record.
    pub fn head_stamp(&self, index: usize) -> Stamp {
        // The oldest unread record was written after the edge was last empty, and not before its block was
        // begun. So the later of the stamps of these two moments is the better bound.
        let (restarted, begun) = (self.writer.restart_stamp.load(), self.readers[index].block_stamp.load());
        if restarted.came < begun.came { begun } else { restarted }
    }

    /// Returns the stamp (time of writing, and two numbers of the user) of the last mark that the writer has
    /// set.
    pub fn mark_stamp(&self) -> Stamp {
        self.writer.mark_stamp.load()
    }

    /// Returns true if the writer could publish a record now, or when it next checks the edge for room: no
    /// mark is held back, and either a slot is free or the pool has made a new chunk for the edge.
    pub fn has_room(&self) -> bool {
        let writer = &self.writer;
        if writer.mark_held.load(Ordering::Relaxed) {
            // The readers' cursors are loaded before the writer's, so that the difference is not below zero
            // while both ends run.
            let read = self.marks_read_min(Ordering::Relaxed);
            let unread = writer.marks_written.load(Ordering::Relaxed).saturating_sub(read);
            if unread >= self.ordinary_marks {
                return false;
            }
        }
        let written = self.written();
        let open = self.readers.iter().filter(|reader| !reader.closed.load(Ordering::Relaxed));
        let start = open.map(|reader| reader.block_start.load(Ordering::Relaxed)).min().unwrap_or(written);
        written.saturating_sub(start) < writer.capacity_records.load(Ordering::Relaxed)
            || writer.growth.load(Ordering::Relaxed) == GROWTH_READY
    }

    /// Records the core on which the writer runs from now on. Any numbers that tell cores apart will do.
    pub fn note_writer_core(&self, core: usize) {
        store_if_changed(&self.writer.core, core);
    }

    /// Records the core on which a reader runs from now on, by the same numbers as for the writer.
    pub fn note_reader_core(&self, reader: usize, core: usize) {
        store_if_changed(&self.readers[reader].core, core);
    }

    /// Returns true if a reader of the edge runs on another core than the writer. The cores are those that
    /// were last set by [`note_writer_core`](Self::note_writer_core) and
    /// [`note_reader_core`](Self::note_reader_core).
    pub(crate) fn crosses(&self) -> bool {
        let writer = self.writer.core.load(Ordering::Relaxed);
        let readers = self.readers.iter().filter(|reader| !reader.closed.load(Ordering::Relaxed));
        let mut cores = readers.map(|reader| reader.core.load(Ordering::Relaxed));
        writer != NOWHERE && cores.any(|core| core != NOWHERE && core != writer)
    }

    /// Returns the size of a value in bytes, at least 1.
    pub fn slot_bytes(&self) -> u64 {
        self.slot_bytes
    }

    pub(crate) fn block_records(&self) -> u64 {
        self.block_records
    }

    /// Returns the number of records that the slowest open reader has read; the number of records written if
    /// all readers are gone.
    pub(crate) fn read_min(&self, written: u64, ordering: Ordering) -> u64 {
        let open = self.readers.iter().filter(|reader| !reader.closed.load(ordering));
        open.map(|reader| reader.read.load(ordering)).min().unwrap_or(written).min(written)
    }

    /// Returns the number of marks (such as watermarks) that the slowest open reader has read; the number of
    /// marks written if all readers are gone.
    pub(crate) fn marks_read_min(&self, ordering: Ordering) -> u64 {
        let open = self.readers.iter().filter(|reader| !reader.closed.load(ordering));
        let written = self.writer.marks_written.load(Ordering::Relaxed);
        open.map(|reader| reader.marks_read.load(ordering)).min().unwrap_or(written).min(written)
    }
}

/// Stores the number of a core if it differs from the stored one. A cache line that is not written stays in
/// the caches of its readers.
fn store_if_changed(at: &AtomicUsize, core: usize) {
    if at.load(Ordering::Relaxed) != core {
        at.store(core, Ordering::Relaxed);
    }
}
