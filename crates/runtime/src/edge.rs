//! Adapts the edges of the memory crate to the model: they carry records instead of plain values, and the
//! model's marks (watermarks, latency markers, barriers, end) with the rules of an event-time engine. They
//! offer the model's [`Input`] and [`Output`].

use thalweg_memory::{
    Admission, Append, BlockAppender, EdgeAppender, Lent, MarkRules, QueueAppender, TakeOut,
};
use thalweg_model::{Either, EventTime, Input, Mark, Output, Record, Track};

/// Rules of marks (watermarks, latency markers, barriers, end) on an edge. If the ring of marks has no
/// ordinary place left, a watermark waits for one and the writer writes nothing meanwhile, and a latency
/// marker is dropped. Barriers and the end take places of the ring that are kept free for them.
#[derive(Clone, Copy, Debug)]
pub struct EdgeMarks;

impl MarkRules for EdgeMarks {
    type Mark = Mark;

    fn admission(mark: &Mark) -> Admission {
        match mark {
            Mark::Watermark(_) | Mark::InputWatermark(_) | Mark::Idle => Admission::Ordinary,
            Mark::Latency(_) => Admission::Droppable,
            Mark::Barrier(_) | Mark::End => Admission::Reserved,
        }
    }

    fn replaces(newer: &Mark, older: &Mark) -> bool {
        matches!(
            (newer, older),
            (Mark::Watermark(_), Mark::Watermark(_)) | (Mark::InputWatermark(_), Mark::InputWatermark(_))
        )
    }
}

pub(crate) type Writer<T> = thalweg_memory::Writer<Record<T>, EdgeMarks>;
pub(crate) type Reader<T> = thalweg_memory::Reader<Record<T>, EdgeMarks>;
pub(crate) type SharedReader<T> = thalweg_memory::SharedReader<Record<T>, EdgeMarks>;
pub(crate) type QueueWriter<T> = thalweg_memory::QueueWriter<Record<T>, EdgeMarks>;
pub(crate) type QueueReader<T> = thalweg_memory::QueueReader<Record<T>, EdgeMarks>;

/// Adapts blocks that are being filled to the output interface of operators: blocks of an edge, or blocks
/// that a block writer fills one by one without an edge.
pub struct BlocksOutput<A>(pub(crate) A);

/// Adapts an edge that is open for writing to the output interface of operators.
pub type EdgeOutput<'a, T> = BlocksOutput<EdgeAppender<'a, Record<T>, EdgeMarks>>;

/// Adapts a block writer, which fills single blocks without an edge, to the output interface of operators.
pub type BlockOutput<'a, T> = BlocksOutput<BlockAppender<'a, Record<T>>>;

impl<T, A: Append<Record<T>>> Output<T> for BlocksOutput<A> {
    #[inline(always)]
    fn room(&self) -> usize {
        self.0.room()
    }

    #[inline(always)]
    fn push(&mut self, record: Record<T>) {
        self.0.push(record);
    }

    #[inline(always)]
    fn push_if(&mut self, record: Record<T>, keep: bool) {
        self.0.push_if(record, keep);
    }

    /// Pushes records block by block, so that the loop which copies the records of one block calls no
    /// function.
    #[inline(always)]
    fn push_all<I: Input<T>>(&mut self, input: &mut I) {
        loop {
            let count = self.0.make_ready(input.remaining());
            if count == 0 {
                break;
            }
            input.take_each(count, |record| self.0.push_within(record));
        }
    }
}

/// Adapts a queue that is open for writing to the output interface of operators.
pub struct QueueOutput<'a, T: Send + 'static>(pub(crate) QueueAppender<'a, Record<T>, EdgeMarks>);

impl<T: Send + 'static> Output<T> for QueueOutput<'_, T> {
    #[inline(always)]
    fn room(&self) -> usize {
        self.0.room()
    }

    #[inline(always)]
    fn push(&mut self, record: Record<T>) {
        self.0.push(record);
    }
}

/// Two open edges as the output of an operator that emits `Either` values. It reports room only while both
/// edges have some, because nobody knows to which edge the next value goes.
pub struct EitherOutput<A, B> {
    pub(crate) left: A,
    pub(crate) right: B,
}

impl<L, R, A: Output<L>, B: Output<R>> Output<Either<L, R>> for EitherOutput<A, B> {
    #[inline(always)]
    fn room(&self) -> usize {
        self.left.room().min(self.right.room())
    }

    #[inline(always)]
    fn push(&mut self, record: Record<Either<L, R>>) {
        match record.value {
            Either::Left(value) => self.left.push(Record::new(record.event_time, value)),
            Either::Right(value) => self.right.push(Record::new(record.event_time, value)),
        }
    }
}

/// Adapts the next records of an edge, of a claimed block or of a queue to the input interface of operators,
/// up to a limit.
pub struct DrainInput<R> {
    pub(crate) run: R,
}

impl<T, R: TakeOut<Record<T>>> Input<T> for DrainInput<R> {
    #[inline(always)]
    fn remaining(&self) -> usize {
        self.run.remaining()
    }

    #[inline(always)]
    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&Record<T>) -> Q) -> Q {
        self.run.inspect(offset, look)
    }

    #[inline(always)]
    fn taken(&mut self, count: usize) -> impl Iterator<Item = Record<T>> {
        self.run.taken(count)
    }

    #[inline(always)]
    fn taken_selected(&mut self, count: usize, selection: &[u16]) -> impl Iterator<Item = Record<T>> {
        self.run.taken_selected(count, selection)
    }
}

/// Adapts the next records of an edge with several readers to the input interface of operators. Records that
/// are taken are cloned. The records of one call count as read when all of them are cloned: if a clone
/// panics, they stay unread.
pub(crate) struct LentInput<'a, T: Send + Sync + 'static> {
    pub(crate) run: Lent<'a, Record<T>, EdgeMarks>,
}

impl<T: Clone + Send + Sync + 'static> Input<T> for LentInput<'_, T> {
    #[inline(always)]
    fn remaining(&self) -> usize {
        self.run.remaining()
    }

    #[inline(always)]
    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&Record<T>) -> Q) -> Q {
        self.run.inspect(offset, look)
    }

    #[inline(always)]
    fn taken(&mut self, count: usize) -> impl Iterator<Item = Record<T>> {
        clones(&mut self.run, count, 0..count)
    }

    #[inline(always)]
    fn taken_selected(&mut self, count: usize, selection: &[u16]) -> impl Iterator<Item = Record<T>> {
        let mut least = 0;
        let offsets = selection.iter().map(move |&offset| {
            let offset = usize::from(offset);
            assert!(least <= offset && offset < count, "a selection rises within its run");
            least = offset + 1;
            offset
        });
        clones(&mut self.run, count, offsets)
    }
}

/// Returns clones of the records of `run` at `offsets`. After the last clone it counts the first `count`
/// records of `run` as read.
#[inline(always)]
fn clones<T: Clone + Send + Sync + 'static>(
    run: &mut Lent<'_, Record<T>, EdgeMarks>,
    count: usize,
    mut offsets: impl Iterator<Item = usize>,
) -> impl Iterator<Item = Record<T>> {
    assert!(count <= run.remaining(), "{count} records are taken of {}", run.remaining());
    let mut count = count;
    std::iter::from_fn(move || {
        let next = offsets.next().map(|offset| run.inspect(offset, Record::clone));
        if next.is_none() {
            run.pass(std::mem::take(&mut count));
        }
        next
    })
}

/// An input that offers only the next `limit` records of another input.
struct Prefix<'a, I> {
    input: &'a mut I,
    limit: usize,
}

impl<T, I: Input<T>> Input<T> for Prefix<'_, I> {
    #[inline(always)]
    fn is_ascending(&self) -> bool {
        self.input.is_ascending()
    }

    #[inline(always)]
    fn remaining(&self) -> usize {
        self.limit
    }

    #[inline(always)]
    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&Record<T>) -> Q) -> Q {
        debug_assert!(offset < self.limit, "only records at hand are looked at");
        self.input.inspect(offset, look)
    }

    #[inline(always)]
    fn taken(&mut self, count: usize) -> impl Iterator<Item = Record<T>> {
        assert!(count <= self.limit, "only records at hand are taken");
        self.limit -= count;
        self.input.taken(count)
    }

    #[inline(always)]
    fn taken_selected(&mut self, count: usize, selection: &[u16]) -> impl Iterator<Item = Record<T>> {
        assert!(count <= self.limit, "only records at hand are taken");
        self.limit -= count;
        self.input.taken_selected(count, selection)
    }
}

/// The output into which a source pushes records on their way to its operator chain, to place watermarks. It
/// counts records, and reports no more room after the record that makes a watermark due, so that the
/// watermark can be set directly behind this record. Watermarks that no operator needs are not set. The
/// watermark tracker still advances over them, so that later watermarks keep their positions.
pub(crate) struct Watched<'a, W, O> {
    tracker: &'a mut W,
    output: &'a mut O,
    /// Watermarks below this event time are not placed on the edge, because no operator does anything at
    /// them.
    floor: EventTime,
    /// Number of records that the source has pushed through this adapter.
    pub(crate) passed: u64,
    /// The watermark to be placed on the edge directly behind the records that have passed; `None` if no
    /// watermark is due.
    pub(crate) due: Option<EventTime>,
}

impl<'a, W, O> Watched<'a, W, O> {
    pub(crate) fn new(tracker: &'a mut W, output: &'a mut O, floor: EventTime) -> Self {
        Watched { tracker, output, floor, passed: 0, due: None }
    }
}

impl<T, W: Track<T>, O: Output<T>> Output<T> for Watched<'_, W, O> {
    #[inline(always)]
    fn room(&self) -> usize {
        if self.due.is_some() { 0 } else { self.output.room() }
    }

    #[inline(always)]
    fn push(&mut self, record: Record<T>) {
        assert!(
            self.due.is_none(),
            "a record is pushed behind a watermark that is due: check room() first (O1)"
        );
        if self.tracker.is_due(&record) {
            let watermark = self.tracker.advance(&record);
            self.due = (self.floor <= watermark).then_some(watermark);
        }
        self.output.push(record);
        self.passed += 1;
    }

    #[inline(always)]
    fn push_all<I: Input<T>>(&mut self, input: &mut I) {
        let count = input.remaining().min(self.room());
        if count == 0 {
            // The output reports no room while a watermark is due. A source that pushes several runs of
            // records in one poll may call this function once more then, and nothing is pushed.
            return;
        }
        // The position of the next watermark among the records is determined before any record is moved out
        // of the input.
        let limit = self.run_of(input, count);
        let mut prefix = Prefix { input, limit };
        self.output.push_all(&mut prefix);
        debug_assert_eq!(prefix.limit, 0, "what there is room for is taken (O1)");
        self.passed += (limit - prefix.limit) as u64;
    }
}

impl<W, O> Watched<'_, W, O> {
    /// Returns how many of the next `count` records (at least 1) come before the next watermark that must be
    /// set, with the record that makes it due. Stores that watermark in `due`. If no watermark must be set,
    /// returns `count`.
    #[inline(always)]
    fn run_of<T, I: Input<T>>(&mut self, input: &I, count: usize) -> usize
    where
        W: Track<T>,
    {
        let mut first = 0;
        while let Some(place) = self.first_due(input, first, count) {
            let watermark = input.inspect(place, |record| self.tracker.advance(record));
            if self.floor <= watermark {
                self.due = Some(watermark);
                return place + 1;
            }
            first = place + 1;
        }
        count
    }

    /// Returns the index in the input of the first record that makes a watermark due, from index `first` up
    /// to but not including `count`; `None` if there is no such record.
    #[inline(always)]
    fn first_due<T, I: Input<T>>(&mut self, input: &I, first: usize, count: usize) -> Option<usize>
    where
        W: Track<T>,
    {
        let is_by_stamp = self.tracker.goes_by_stamp();
        let mut is_due = |place: usize| input.inspect(place, |record| self.tracker.is_due(record));
        if !input.is_ascending() || !is_by_stamp {
            return (first..count).find(|&place| is_due(place));
        }
        if first == count || !is_due(count - 1) {
            return None;
        }
        // Event times ascend in this input. So if one record makes a watermark due, all later ones do. The
        // search doubles its stride until it finds such a record, then bisects to find the first.
        let (mut low, mut high, mut stride) = (first, first, 1);
        while high < count - 1 && !is_due(high) {
            low = high + 1;
            high = (high + stride).min(count - 1);
            stride *= 2;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if is_due(middle) { high = middle } else { low = middle + 1 }
        }
        Some(low)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
