//! Queues: edges as most engines have them, a bounded queue of records instead of blocks. They are the baselines that
//! blocks are compared with (Enjima, section 5.2.5, "queue-based memory management"), and use queues of other
//! libraries.
//!
//! ```text
//!   HandOver::Each      crossbeam's ArrayQueue: each value is pushed and popped by itself, a visible store each
//!   HandOver::Batched   rtrb's ring: all values pushed by a run are published by one store, and taken in place
//! ```
//!
//! Values and marks travel in one queue, in order. Room is computed from [`Cursors`], as for edges of blocks, so that
//! schedulers see no difference. Values are bounded by the capacity, marks by their own rules. The queue has slots
//! for both, so an item that finds room by the cursors finds a slot. Cursors are written once a run; a reader of
//! [`HandOver::Each`] may have taken values that they do not show yet.
//!
//! A stream with several readers is a queue for each reader, into which copies are put.
//!
//! There is one unsafe operation in this module, the hand-over of a batch, and no protocol of ours.

use crossbeam_queue::ArrayQueue;
use rtrb::chunks::{ChunkError, ReadChunk, WriteChunkUninit};
use rtrb::{Consumer, Producer, RingBuffer};

use crate::budget::{Budget, Reservation};
use crate::chunk::ShapeError;
use crate::cursors::Cursors;
use crate::edge::EdgeError;
use crate::marks::{MarkRules, MarkWriter, RESERVED_MARKS};
use crate::run::TakeOut;
use crate::stamp::{Stamp, StampCell};
use crate::sync::{Arc, Ordering};

/// Number of values that a reader of [`HandOver::Each`] pops, one by one, before it works on them: few enough
/// to stay in a first-level cache.
const FRONT_RECORDS: usize = 128;

/// The way in which a queue hands values from its writer to its reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HandOver {
    /// Values are handed over one at a time: the reader sees each as soon as it was pushed.
    Each,
    /// All values that were pushed in one run are handed over at once.
    Batched,
}

/// The limits of a queue that replaces the blocks of an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueOptions {
    /// The way in which values are handed over: one by one or in batches.
    pub hand_over: HandOver,
    /// Maximum number of values in the queue; raised to 1 if it is zero.
    pub records_max: usize,
    /// Maximum number of unread marks (such as watermarks) in the queue before further ones, and the values
    /// after them, are held back; raised to 1 if it is zero.
    pub marks_max: u32,
    /// Number of consecutive values for which one stamp (time of writing, with two numbers of the user) is
    /// kept; raised to 1 if it is zero.
    pub stamp_records: u32,
}

/// An item in a slot of the queue: a value, a mark, or what is left of a value that was taken.
enum Item<T, M> {
    Value(T),
    Mark(M),
    /// The slot held a value that was moved out.
    Taken,
}

impl<T, M> Item<T, M> {
    /// Moves the value out of the slot, if there is one; a mark is dropped.
    #[inline(always)]
    fn take(&mut self) -> Option<T> {
        match std::mem::replace(self, Item::Taken) {
            Item::Value(value) => Some(value),
            Item::Mark(_) | Item::Taken => None,
        }
    }
}

/// State of a queue that both of its ends hold.
struct Common {
    cursors: Arc<Cursors>,
    /// For each stretch of `stamp_records` positions, the stamp of its first value; reused when all values of
    /// the stretch were read.
    stamps: Box<[StampCell]>,
    stamp_records: u64,
    _reservation: Reservation,
}

impl Common {
    fn stamp_of(&self, stretch: u64) -> &StampCell {
        &self.stamps[(stretch % self.stamps.len() as u64) as usize]
    }
}

impl Drop for Common {
    fn drop(&mut self) {
        self.cursors.writer.capacity_records.store(0, Ordering::Relaxed);
    }
}

/// The writing end of one queue, by the way in which values are handed over.
enum Sending<T, M> {
    /// An `ArrayQueue` of crossbeam, to which items are pushed one by one.
    Each(Arc<ArrayQueue<Item<T, M>>>),
    /// A ring of rtrb, to which many items are written in place and then published by one store.
    Batched(Producer<Item<T, M>>),
}

/// The reading end of one queue, by the way in which values are handed over.
enum Receiving<T, M> {
    /// An `ArrayQueue` of crossbeam, from which items are popped one by one. The reader has popped the items
    /// of `front`. The items of `front` from the index `next` on have not been handed to the task that reads.
    Each { queue: Arc<ArrayQueue<Item<T, M>>>, front: Vec<Item<T, M>>, next: usize },
    /// A ring of rtrb, in which many items are read in place and then released by one store.
    Batched(Consumer<Item<T, M>>),
}

type Ends<T, R> = (QueueWriter<T, R>, Vec<QueueReader<T, R>>);

/// Makes a queue with one reader.
///
/// # Errors
/// [`EdgeError`] if the slots of the queue do not fit into the budget.
pub fn queue<T: Send + 'static, R: MarkRules>(
    budget: &Arc<Budget>,
    options: QueueOptions,
) -> Result<(QueueWriter<T, R>, QueueReader<T, R>), EdgeError> {
    let copy = |_: &T| unreachable!("one reader gets the values themselves");
    let (writer, mut readers) = ends(budget, options, 1, copy)?;
    Ok((writer, readers.pop().expect("a queue was opened for one reader")))
}

/// Makes a stream with several readers: a queue for each reader, into which copies of the values are put.
///
/// # Errors
/// As for [`queue`].
pub fn shared_queue<T: Clone + Send + 'static, R: MarkRules>(
    budget: &Arc<Budget>,
    options: QueueOptions,
    readers: usize,
) -> Result<Ends<T, R>, EdgeError> {
    ends(budget, options, readers.max(1), T::clone)
}

fn ends<T: Send + 'static, R: MarkRules>(
    budget: &Arc<Budget>,
    options: QueueOptions,
    readers: usize,
    copy: fn(&T) -> T,
) -> Result<Ends<T, R>, EdgeError> {
    let QueueOptions { hand_over, records_max, marks_max, stamp_records } = options;
    let (records_max, marks_max) = (records_max.max(1), u64::from(marks_max.max(1)));
    let too_large = EdgeError::Shape(ShapeError::TooLarge);
    let slots = records_max.checked_add((marks_max + RESERVED_MARKS) as usize).ok_or(too_large)?;
    // crossbeam's ArrayQueue stores one word beside each value, which counts in the size of a slot.
    let words = if hand_over == HandOver::Each { size_of::<usize>() } else { 0 };
    let slot_bytes = size_of::<Item<T, R::Mark>>() + words;
    let bytes =
        slots.checked_mul(slot_bytes).and_then(|bytes| bytes.checked_mul(readers)).ok_or(too_large)?;
    let reservation = budget.reserve(bytes).map_err(EdgeError::Budget)?;
    let cursors = Cursors::of_queue(records_max as u64, bytes as u64, size_of::<T>(), readers, marks_max);
    let stamp_records = u64::from(stamp_records.max(1));
    let stretches = (records_max as u64 / stamp_records + 2) as usize;
    let common = Arc::new(Common {
        cursors: Arc::new(cursors),
        stamps: (0..stretches).map(|_| StampCell::new()).collect(),
        stamp_records,
        _reservation: reservation,
    });
    let (sending, receiving): (Vec<_>, Vec<_>) = (0..readers)
        .map(|_| match hand_over {
            HandOver::Each => {
                let queue = Arc::new(ArrayQueue::new(slots));
                let front = Vec::with_capacity(FRONT_RECORDS);
                (Sending::Each(Arc::clone(&queue)), Receiving::Each { queue, front, next: 0 })
            }
            HandOver::Batched => {
                let (producer, consumer) = RingBuffer::new(slots);
                (Sending::Batched(producer), Receiving::Batched(consumer))
            }
        })
        .unzip();
    let reader = |(index, receiving)| QueueReader {
        common: Arc::clone(&common),
        index,
        receiving,
        read: 0,
        stretch: 0,
        marks_read: 0,
    };
    let readers = receiving.into_iter().enumerate().map(reader).collect();
    let writer = QueueWriter { sending, copy, written: 0, marks_written: 0, held: None, common };
    Ok((writer, readers))
}

/// The only writing end of a stream that is made of queues, one queue for each reader.
pub struct QueueWriter<T: Send + 'static, R: MarkRules> {
    sending: Vec<Sending<T, R::Mark>>,
    copy: fn(&T) -> T,
    written: u64,
    marks_written: u64,
    /// A mark that found no room in the queue and is held back; `None` if there is none.
    held: Option<R::Mark>,
    common: Arc<Common>,
}

impl<T: Send + 'static, R: MarkRules> QueueWriter<T, R> {
    /// Returns the cursors of the queue, which schedulers read.
    pub fn cursors(&self) -> &Arc<Cursors> {
        &self.common.cursors
    }

    /// Opens the queue for pushing values. `stamp` is their stamp: the time of writing, and two numbers of
    /// the user.
    #[inline]
    pub fn open(&mut self, stamp: Stamp) -> QueueAppender<'_, T, R> {
        self.flush_held();
        let QueueWriter { sending, copy, written, held, common, .. } = self;
        let cursors = &common.cursors;
        // Acquire: pairs with the readers' Release of `read`. They have freed the slots of the values before
        // that.
        let read = cursors.read_min(*written, Ordering::Acquire);
        if read == *written {
            cursors.writer.restart_stamp.store(stamp);
        }
        let capacity = cursors.writer.capacity_records.load(Ordering::Relaxed);
        let room = if held.is_some() { 0 } else { (capacity - (*written - read)) as usize };
        let (pushing, room) = match &mut sending[..] {
            _ if room == 0 => (Pushing::Nowhere, 0),
            [_] if cursors.readers[0].closed.load(Ordering::Acquire) => (Pushing::Nowhere, room),
            [Sending::Batched(producer)] => {
                let mut chunk = match producer.write_chunk_uninit(room) {
                    Ok(chunk) => chunk,
                    Err(ChunkError::TooFewSlots(_)) => unreachable!("what is read has given its slots back"),
                };
                // The ring gives only room that is contiguous. Values that do not fit before its end are
                // pushed when the queue is opened the next time.
                let room = chunk.as_mut_slices().0.len();
                (Pushing::Batch(chunk), room)
            }
            sending => (Pushing::Each(sending), room),
        };
        QueueAppender { pushing, room, count: 0, stamp, copy: *copy, written, common }
    }

    /// Sets a mark after all values that were pushed. If there is no room, the mark is held back, dropped or
    /// replaced by the rules of [`Writer::mark`](crate::Writer::mark).
    ///
    /// # Panics
    /// If another mark is already held back that the new mark does not replace.
    pub fn mark(&mut self, mark: R::Mark, stamp: Stamp) {
        self.set_mark(mark, stamp);
    }

    /// Returns true if a mark is still held back. Before it answers, it tries to put this mark into the
    /// queue.
    pub fn is_held(&mut self) -> bool {
        self.flush_held();
        self.held.is_some()
    }
}

impl<T: Send + 'static, R: MarkRules> MarkWriter<R> for QueueWriter<T, R> {
    fn mark_cursors(&self) -> &Cursors {
        &self.common.cursors
    }

    fn held(&self) -> Option<R::Mark> {
        self.held
    }

    fn set_held(&mut self, mark: Option<R::Mark>) {
        self.held = mark;
    }

    fn mark_room(&self) -> u64 {
        // A reader may already have read a mark that the writer has not counted as published.
        // `marks_read_min` never exceeds the published count, so the difference is not negative.
        let read = self.mark_cursors().marks_read_min(Ordering::Acquire);
        self.mark_cursors().ordinary_marks() + RESERVED_MARKS - (self.marks_written - read)
    }

    fn publish_mark(&mut self, mark: R::Mark) {
        let QueueWriter { sending, common, .. } = self;
        for (sending, reader) in sending.iter_mut().zip(&common.cursors.readers) {
            if !reader.closed.load(Ordering::Acquire) {
                sending.push(Item::Mark(mark));
            }
        }
        self.marks_written += 1;
        self.mark_cursors().writer.marks_written.store(self.marks_written, Ordering::Release);
    }
}

impl<T, M> Sending<T, M> {
    fn push(&mut self, item: Item<T, M>) {
        let is_pushed = match self {
            Sending::Each(queue) => queue.push(item).is_ok(),
            Sending::Batched(producer) => producer.push(item).is_ok(),
        };
        assert!(is_pushed, "something is pushed without room: check room() first");
    }
}

/// The destination of the values that are pushed into an open queue.
enum Pushing<'a, T, M> {
    /// The values go into the slots of a ring, and are published together when the appender is dropped.
    Batch(WriteChunkUninit<'a, Item<T, M>>),
    /// Each value goes into the queues of all readers as soon as it is pushed.
    Each(&'a mut [Sending<T, M>]),
    /// Pushed values go nowhere, because the reader is gone or there is no room.
    Nowhere,
}

/// A queue that is open for pushing. The cursors of the queue count the pushed values only when this appender
/// is dropped.
pub struct QueueAppender<'a, T: Send + 'static, R: MarkRules> {
    pushing: Pushing<'a, T, R::Mark>,
    room: usize,
    /// Number of values that were pushed into the queue since it was opened.
    count: usize,
    stamp: Stamp,
    copy: fn(&T) -> T,
    written: &'a mut u64,
    common: &'a Common,
}

impl<T: Send + 'static, R: MarkRules> QueueAppender<'_, T, R> {
    /// Returns the number of values that may still be pushed into the open queue.
    #[inline(always)]
    pub fn room(&self) -> usize {
        self.room - self.count
    }

    /// Appends a value to the queue, or to the queues of several readers.
    ///
    /// # Panics
    /// If there is no room.
    #[inline(always)]
    pub fn push(&mut self, value: T) {
        match &mut self.pushing {
            Pushing::Batch(chunk) => {
                chunk.as_mut_slices().0[self.count].write(Item::Value(value));
            }
            Pushing::Each(sending) => match &mut **sending {
                [Sending::Each(queue)] => {
                    let is_pushed = queue.push(Item::Value(value)).is_ok();
                    assert!(is_pushed, "a record is pushed without room: check room() first");
                }
                sending => push_to_all::<T, R>(sending, self.common, self.copy, value),
            },
            Pushing::Nowhere => assert!(self.count < self.room, "a record is pushed without room"),
        }
        self.count += 1;
    }
}

/// Pushes copies of the value to all readers but the last, which gets the value itself.
#[inline(never)]
fn push_to_all<T: Send + 'static, R: MarkRules>(
    sending: &mut [Sending<T, R::Mark>],
    common: &Common,
    copy: fn(&T) -> T,
    value: T,
) {
    let is_open = |reader: usize| !common.cursors.readers[reader].closed.load(Ordering::Acquire);
    let mut open = sending.iter_mut().enumerate().filter(|(reader, _)| is_open(*reader)).peekable();
    while let Some((_, sending)) = open.next() {
        if open.peek().is_none() {
            return sending.push(Item::Value(value));
        }
        sending.push(Item::Value(copy(&value)));
    }
}

impl<T: Send + 'static, R: MarkRules> Drop for QueueAppender<'_, T, R> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.count == 0 {
            return;
        }
        if let Pushing::Batch(chunk) = std::mem::replace(&mut self.pushing, Pushing::Nowhere) {
            // SAFETY: `push` has initialised the first `count` slots of the chunk, one after the other.
            unsafe { chunk.commit(self.count) };
        }
        let Common { cursors, stamp_records, .. } = self.common;
        let before = *self.written;
        *self.written = before + self.count as u64;
        for stretch in before.div_ceil(*stamp_records)..=(*self.written - 1) / stamp_records {
            self.common.stamp_of(stretch).store(self.stamp);
        }
        // Release, as for an edge of blocks, although the queue itself has already made the values visible.
        cursors.writer.written.store(*self.written, Ordering::Release);
    }
}

/// The next item that a reader of a queue finds: values, a mark, or nothing.
pub enum QueueNext<'a, T: Send + 'static, R: MarkRules> {
    /// The queue has values next; at least one.
    Values(QueueDrain<'a, T, R>),
    /// The queue has a mark (such as a watermark) next. It counts as read from now on.
    Mark(R::Mark),
    /// The queue has neither a value nor a mark at the moment.
    Empty,
}

/// A reading end of a queue.
pub struct QueueReader<T: Send + 'static, R: MarkRules> {
    common: Arc<Common>,
    index: usize,
    receiving: Receiving<T, R::Mark>,
    read: u64,
    /// Number, from 0 on, of the stretch (consecutive positions that share one stamp) whose stamp this reader
    /// has published last.
    stretch: u64,
    marks_read: u64,
}

impl<T: Send + 'static, R: MarkRules> QueueReader<T, R> {
    /// Returns the cursors of the queue, which schedulers read.
    pub fn cursors(&self) -> &Arc<Cursors> {
        &self.common.cursors
    }

    /// Returns the next item of the queue: a run of at most `max` values, a mark, or nothing. A `max` of 0
    /// counts as 1.
    #[inline]
    pub fn next(&mut self, max: usize) -> QueueNext<'_, T, R> {
        let QueueReader { common, index, receiving, read, stretch, marks_read } = self;
        let max = max.max(1);
        let taking = match receiving {
            Receiving::Each { queue, front, next } => {
                if *next == front.len() {
                    front.clear();
                    *next = 0;
                    while front.len() < max.min(FRONT_RECORDS)
                        && let Some(item) = queue.pop()
                    {
                        let is_mark = matches!(item, Item::Mark(_));
                        front.push(item);
                        if is_mark {
                            break;
                        }
                    }
                }
                Taking::Front { front, next }
            }
            Receiving::Batched(consumer) => {
                let count = consumer.slots().min(max);
                Taking::Ring(consumer.read_chunk(count).expect("no more slots are read than are filled"))
            }
        };
        let progress = Progress { common, index: *index, read, stretch };
        let end = match taking.slots() {
            [] => return QueueNext::Empty,
            [Item::Mark(mark), ..] => {
                let mark = *mark;
                taking.give_back(1);
                *marks_read += 1;
                let line = &common.cursors.readers[*index];
                // Release: the writer of the queue may reuse the slot of the mark that was read.
                line.marks_read.store(*marks_read, Ordering::Release);
                return QueueNext::Mark(mark);
            }
            slots => {
                let slots = &slots[..slots.len().min(max)];
                slots.iter().position(|item| matches!(item, Item::Mark(_))).unwrap_or(slots.len())
            }
        };
        QueueNext::Values(QueueDrain { taking: Some(taking), next: 0, end, progress })
    }
}

impl<T: Send + 'static, R: MarkRules> Drop for QueueReader<T, R> {
    fn drop(&mut self) {
        /// Closes the reading end, also if the drop of a value panics: the writer must never wait for a
        /// reader that is gone.
        struct Close<'a>(&'a Cursors, usize);
        impl Drop for Close<'_> {
            fn drop(&mut self) {
                self.0.readers[self.1].closed.store(true, Ordering::Release);
            }
        }
        let common = Arc::clone(&self.common);
        let _closed_at_the_end = Close(&common.cursors, self.index);
        // Items that are pushed after the reader was dropped stay in the queue, and are dropped together with
        // it.
        loop {
            match self.next(usize::MAX) {
                QueueNext::Values(mut drain) => {
                    let count = drain.remaining();
                    drain.taken(count).for_each(drop);
                }
                QueueNext::Mark(_) => {}
                QueueNext::Empty => break,
            }
        }
    }
}

/// The place from which a run of values is taken: the reader's buffer of popped items (`HandOver::Each`), or
/// the slots of the ring (`HandOver::Batched`).
enum Taking<'a, T, M> {
    Front { front: &'a mut Vec<Item<T, M>>, next: &'a mut usize },
    Ring(ReadChunk<'a, Item<T, M>>),
}

impl<T, M> Taking<'_, T, M> {
    #[inline(always)]
    fn slots(&self) -> &[Item<T, M>] {
        match self {
            Taking::Front { front, next } => &front[**next..],
            Taking::Ring(chunk) => chunk.as_slices().0,
        }
    }

    #[inline(always)]
    fn slots_mut(&mut self) -> &mut [Item<T, M>] {
        match self {
            Taking::Front { front, next } => &mut front[**next..],
            Taking::Ring(chunk) => chunk.as_mut_slices().0,
        }
    }

    /// Frees the first `count` slots of the run. Values that are still in the slots are dropped.
    fn give_back(self, count: usize) {
        match self {
            Taking::Front { front, next } => {
                let from = *next;
                *next += count;
                if const { std::mem::needs_drop::<T>() } {
                    front[from..from + count].iter_mut().for_each(|slot| *slot = Item::Taken);
                }
            }
            Taking::Ring(chunk) => chunk.commit(count),
        }
    }
}

/// Number of values that a reader of a queue has taken, with the cursor through which other threads see this
/// number.
struct Progress<'a> {
    common: &'a Common,
    index: usize,
    read: &'a mut u64,
    stretch: &'a mut u64,
}

impl Progress<'_> {
    fn pass(&mut self, count: usize) {
        *self.read += count as u64;
        let line = &self.common.cursors.readers[self.index];
        // Release: the writer of the queue may reuse the slots of the values that were taken.
        line.read.store(*self.read, Ordering::Release);
        line.block_start.store(*self.read, Ordering::Relaxed);
        let stretch = *self.read / self.common.stamp_records;
        if stretch != *self.stretch {
            *self.stretch = stretch;
            line.block_stamp.store(self.common.stamp_of(stretch).load());
        }
    }
}

/// A run of values of a queue that are moved out one by one, in order. Values that are not taken stay in the
/// queue. The run must be dropped: if it is forgotten (by `mem::forget`), the values taken from it count as
/// unread, but are gone.
pub struct QueueDrain<'a, T: Send + 'static, R: MarkRules> {
    /// The slots from which this run of values is taken; `None` only while the run is being dropped.
    taking: Option<Taking<'a, T, R::Mark>>,
    next: usize,
    end: usize,
    progress: Progress<'a>,
}

impl<T: Send + 'static, R: MarkRules> QueueDrain<'_, T, R> {
    #[inline(always)]
    fn slots(&self) -> &[Item<T, R::Mark>] {
        self.taking.as_ref().map_or(&[], Taking::slots)
    }
}

impl<T: Send + 'static, R: MarkRules> TakeOut<T> for QueueDrain<'_, T, R> {
    #[inline(always)]
    fn remaining(&self) -> usize {
        self.end - self.next
    }

    #[inline(always)]
    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&T) -> Q) -> Q {
        assert!(offset < self.remaining(), "offset {offset} lies behind the run");
        match &self.slots()[self.next + offset] {
            Item::Value(value) => look(value),
            Item::Mark(_) | Item::Taken => unreachable!("a run holds values that nobody has taken"),
        }
    }

    #[inline(always)]
    fn taken(&mut self, count: usize) -> impl Iterator<Item = T> {
        assert!(count <= self.remaining(), "{count} values are taken of a shorter run");
        let QueueDrain { taking, next, .. } = self;
        let start = *next;
        let slots =
            taking.as_mut().map_or(&mut [][..], |taking| &mut taking.slots_mut()[start..start + count]);
        slots.iter_mut().filter_map(|slot| {
            *next += 1;
            slot.take()
        })
    }

    #[inline(always)]
    fn taken_selected(&mut self, count: usize, selection: &[u16]) -> impl Iterator<Item = T> {
        assert!(count <= self.remaining(), "{count} values are taken of a shorter run");
        let QueueDrain { taking, next, .. } = self;
        let start = *next;
        // Values of the run that are not selected are dropped together with their slots.
        *next += count;
        let slots =
            taking.as_mut().map_or(&mut [][..], |taking| &mut taking.slots_mut()[start..start + count]);
        let mut least = 0;
        selection.iter().filter_map(move |&offset| {
            let offset = usize::from(offset);
            assert!(least <= offset && offset < slots.len(), "a selection rises within its run");
            least = offset + 1;
            slots[offset].take()
        })
    }
}

impl<T: Send + 'static, R: MarkRules> Drop for QueueDrain<'_, T, R> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(taking) = self.taking.take() {
            taking.give_back(self.next);
            self.progress.pass(self.next);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
