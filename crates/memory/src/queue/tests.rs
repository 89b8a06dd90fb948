//! Tests that compare queues with an edge of blocks of equal capacity: the same steps give the same values
//! and marks in the same order. No value is lost or dropped twice, whichever end is dropped first.

use proptest::prelude::*;

use super::*;
use crate::Admission;
use crate::appender::Append;
use crate::chunk::BlockShape;
use crate::edge::{EdgeOptions, edge, shared_edge};
use crate::pool::Pool;
use crate::reader::{Next, Reader};
use crate::sync::AtomicUsize;
use crate::writer::Writer;

const BOTH: [HandOver; 2] = [HandOver::Each, HandOver::Batched];

/// Kinds of marks in these tests: `W(n)` is ordinary and can be replaced, `L` can be dropped, `E` has
/// reserved slots.
#[derive(Clone, Copy, PartialEq, Debug)]
enum TestMark {
    W(u64),
    L,
    E,
}

struct Rules;

impl MarkRules for Rules {
    type Mark = TestMark;
    fn admission(mark: &TestMark) -> Admission {
        match mark {
            TestMark::W(_) => Admission::Ordinary,
            TestMark::L => Admission::Droppable,
            TestMark::E => Admission::Reserved,
        }
    }
    fn replaces(newer: &TestMark, older: &TestMark) -> bool {
        matches!((newer, older), (TestMark::W(_), TestMark::W(_)))
    }
}

fn budget() -> Arc<Budget> {
    Budget::new(1 << 24)
}

fn options(hand_over: HandOver, records_max: usize, marks_max: u32) -> QueueOptions {
    QueueOptions { hand_over, records_max, marks_max, stamp_records: 2 }
}

/// Takes up to `max` values, or a mark, from a queue and returns them as text; `None` if the queue is empty.
fn step<T: ToString + Send>(reader: &mut QueueReader<T, Rules>, max: usize) -> Option<String> {
    let mut shown = Vec::new();
    match reader.next(max) {
        QueueNext::Values(mut run) => {
            let count = run.remaining();
            shown.extend(run.taken(count).map(|value| value.to_string()));
        }
        QueueNext::Mark(mark) => shown.push(format!("[{mark:?}]")),
        QueueNext::Empty => return None,
    }
    Some(shown.join(" "))
}

fn drain_text<T: ToString + Send>(reader: &mut QueueReader<T, Rules>) -> String {
    std::iter::from_fn(|| step(reader, usize::MAX)).collect::<Vec<_>>().join(" ")
}

fn push(writer: &mut QueueWriter<u64, Rules>, values: std::ops::Range<u64>) {
    let mut out = writer.open(Stamp::at(0));
    values.for_each(|value| out.push(value));
}

#[test]
fn marks_stand_where_they_were_set() {
    for hand_over in BOTH {
        let (mut writer, mut reader) = queue::<u64, Rules>(&budget(), options(hand_over, 8, 8)).unwrap();
        writer.mark(TestMark::W(0), Stamp::at(0));
        push(&mut writer, 0..3);
        writer.mark(TestMark::W(1), Stamp::at(0));
        writer.mark(TestMark::L, Stamp::at(0));
        push(&mut writer, 3..5);
        writer.mark(TestMark::E, Stamp::at(0));
        assert_eq!(drain_text(&mut reader), "[W(0)] 0 1 2 [W(1)] [L] 3 4 [E]", "{hand_over:?}");
        assert_eq!((writer.cursors().pending(0), writer.cursors().pending_marks(0)), (0, 0));
    }
}

/// A queue that hands over each value makes it visible at once. A queue that hands over batches makes all
/// values visible when the writer is dropped.
#[test]
fn what_is_pushed_is_handed_over_as_the_queue_does() {
    for (hand_over, at_once) in [(HandOver::Each, Some("1")), (HandOver::Batched, None)] {
        let (mut writer, mut reader) = queue::<u64, Rules>(&budget(), options(hand_over, 8, 8)).unwrap();
        let mut out = writer.open(Stamp::at(0));
        out.push(1);
        assert_eq!(step(&mut reader, 9).as_deref(), at_once);
        out.push(2);
        drop(out);
        assert!(drain_text(&mut reader).ends_with('2'));
        let cursors = writer.cursors();
        assert_eq!((cursors.written(), cursors.read(0), cursors.has_room()), (2, 2, true));
    }
}

/// The stamp that a queue reports is that of the oldest unread value, to within a stretch of two values. This
/// holds also if the queue is never empty.
#[test]
fn a_stamp_is_right_to_within_a_stretch() {
    for hand_over in BOTH {
        let (mut writer, mut reader) = queue::<u64, Rules>(&budget(), options(hand_over, 4, 8)).unwrap();
        for time in 0..20u64 {
            writer.open(Stamp::at(time)).push(time);
            if time > 0 {
                let oldest = time - 1;
                let came = writer.cursors().head_stamp(0).came;
                assert!(oldest.saturating_sub(1) <= came && came <= oldest, "{hand_over:?} {oldest} {came}");
                assert_eq!(step(&mut reader, 1), Some(oldest.to_string()));
            }
        }
    }
}

#[test]
fn slots_are_paid_before_they_are_there_and_given_back_with_the_last_end() {
    for hand_over in BOTH {
        let budget = Budget::new(1 << 10);
        let refused = queue::<u64, Rules>(&budget, options(hand_over, 1 << 20, 1)).err();
        assert!(matches!(refused, Some(EdgeError::Budget(_))), "{refused:?}");
        assert!(matches!(
            queue::<u64, Rules>(&budget, options(hand_over, usize::MAX, 1)).err(),
            Some(EdgeError::Shape(ShapeError::TooLarge))
        ));
        let (writer, reader) = queue::<u64, Rules>(&budget, options(hand_over, 4, 1)).unwrap();
        let cursors = Arc::clone(writer.cursors());
        assert_eq!(budget.used_bytes() as u64, cursors.chunk_bytes());
        drop(writer);
        assert!(budget.used_bytes() > 0);
        drop(reader);
        assert_eq!((budget.used_bytes(), cursors.chunks()), (0, 0));
    }
}

/// A value that counts how often its clones are dropped.
#[derive(Clone)]
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Each value of a queue is dropped once, whether it was taken, deselected, left in the queue, or pushed
/// after the reader had gone.
#[test]
fn every_value_is_dropped_once() {
    for hand_over in BOTH {
        for is_reader_first in [false, true] {
            let dropped = Arc::new(AtomicUsize::new(0));
            let (mut writer, mut reader) = queue::<_, Rules>(&budget(), options(hand_over, 8, 8)).unwrap();
            let fill = |writer: &mut QueueWriter<Counted, Rules>, count: usize| {
                let mut out = writer.open(Stamp::at(0));
                assert!(count <= out.room());
                (0..count).for_each(|_| out.push(Counted(Arc::clone(&dropped))));
            };
            fill(&mut writer, 8);
            if let QueueNext::Values(mut run) = reader.next(5) {
                run.taken(1).for_each(drop);
                run.taken_selected(3, &[1]).for_each(drop);
            }
            assert_eq!(dropped.load(Ordering::Relaxed), 4, "{hand_over:?}");
            fill(&mut writer, 3);
            if is_reader_first {
                drop(reader);
                assert_eq!(dropped.load(Ordering::Relaxed), 11);
                // A queue whose reader is gone always has room.
                (0..4).for_each(|_| fill(&mut writer, 8));
                writer.mark(TestMark::E, Stamp::at(0));
                drop(writer);
                assert_eq!(dropped.load(Ordering::Relaxed), 43);
            } else {
                drop(writer);
                drop(reader);
                assert_eq!(dropped.load(Ordering::Relaxed), 11);
            }
        }
    }
}

/// A function that takes values from a queue panics. It loses at most the value that it was called with, and
/// the other values arrive.
#[test]
fn a_panic_in_a_run_loses_one_value_at_most() {
    for hand_over in BOTH {
        let (mut writer, mut reader) = queue::<_, Rules>(&budget(), options(hand_over, 8, 8)).unwrap();
        let dropped = Arc::new(AtomicUsize::new(0));
        (0..4).for_each(|_| writer.open(Stamp::at(0)).push(Counted(Arc::clone(&dropped))));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            if let QueueNext::Values(mut run) = reader.next(4) {
                let mut count = 0;
                run.taken(4).for_each(|_value| {
                    count += 1;
                    assert!(count < 2, "the second");
                });
            }
        }));
        assert!(panicked.is_err());
        assert_eq!((dropped.load(Ordering::Relaxed), reader.cursors().read(0)), (2, 2));
        drop((writer, reader));
        assert_eq!(dropped.load(Ordering::Relaxed), 4);
    }
}

#[test]
fn values_and_marks_cross_threads_in_order() {
    for hand_over in BOTH {
        const COUNT: u64 = if cfg!(miri) { 200 } else { 200_000 };
        let (mut writer, mut reader) = queue::<u64, Rules>(&budget(), options(hand_over, 16, 4)).unwrap();
        let sender = crate::sync::thread::spawn(move || {
            let mut next = 0;
            while next < COUNT {
                if writer.is_held() {
                    crate::sync::thread::yield_now();
                    continue;
                }
                {
                    let mut out = writer.open(Stamp::at(0));
                    let count = (out.room() as u64).min(COUNT - next).min(7);
                    (next..next + count).for_each(|value| out.push(value));
                    next += count;
                }
                writer.mark(TestMark::W(next), Stamp::at(0));
            }
            while writer.is_held() {
                crate::sync::thread::yield_now();
            }
            writer.mark(TestMark::E, Stamp::at(0));
        });
        let mut expected = 0;
        loop {
            match reader.next(5) {
                QueueNext::Values(mut run) => {
                    let count = run.remaining();
                    run.taken(count).for_each(|value| {
                        assert_eq!(value, expected);
                        expected += 1;
                    });
                }
                QueueNext::Mark(TestMark::W(at)) => assert_eq!(at, expected, "a mark keeps its place"),
                QueueNext::Mark(_) => break,
                QueueNext::Empty => crate::sync::thread::yield_now(),
            }
        }
        sender.join().unwrap();
        assert_eq!((expected, reader.cursors().pending(0)), (COUNT, 0));
    }
}

/// A step of a user of an edge or a queue, for random tests.
#[derive(Clone, Debug)]
enum Act {
    Push(u64),
    Mark(TestMark),
    /// Reads at most this many values from the edge or queue.
    Read(usize),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        (0..9u64).prop_map(Act::Push),
        (0..99u64).prop_map(|at| Act::Mark(TestMark::W(at))),
        Just(Act::Mark(TestMark::L)),
        Just(Act::Mark(TestMark::E)),
        (1..9usize).prop_map(Act::Read),
    ];
    proptest::collection::vec(act, 0..80)
}

/// One interface to an edge of blocks and to a queue, so that the same steps can be applied to both.
trait Both {
    fn push(&mut self, values: &mut dyn Iterator<Item = u64>) -> usize;
    fn mark(&mut self, mark: TestMark);
    fn is_held(&mut self) -> bool;
    fn read(&mut self, max: usize) -> Vec<String>;
    fn cursors(&self) -> &Cursors;
}

impl Both for (QueueWriter<u64, Rules>, QueueReader<u64, Rules>) {
    /// A ring gives only contiguous room, so the queue is opened again until all values are pushed or it is
    /// full.
    fn push(&mut self, values: &mut dyn Iterator<Item = u64>) -> usize {
        let mut pushed = 0;
        loop {
            let mut out = self.0.open(Stamp::at(0));
            let before = pushed;
            while out.room() > 0
                && let Some(value) = values.next()
            {
                out.push(value);
                pushed += 1;
            }
            if pushed == before {
                return pushed;
            }
        }
    }
    fn mark(&mut self, mark: TestMark) {
        self.0.mark(mark, Stamp::at(0));
    }
    fn is_held(&mut self) -> bool {
        self.0.is_held()
    }
    fn read(&mut self, max: usize) -> Vec<String> {
        let mut shown = Vec::new();
        while shown.len() < max
            && let Some(text) = step(&mut self.1, 1)
        {
            shown.push(text);
        }
        shown
    }
    fn cursors(&self) -> &Cursors {
        self.0.cursors()
    }
}

impl Both for (Writer<u64, Rules>, Reader<u64, Rules>) {
    fn push(&mut self, values: &mut dyn Iterator<Item = u64>) -> usize {
        let mut out = self.0.open(Stamp::at(0));
        let mut pushed = 0;
        while out.room() > 0
            && let Some(value) = values.next()
        {
            out.push(value);
            pushed += 1;
        }
        pushed
    }
    fn mark(&mut self, mark: TestMark) {
        self.0.mark(mark, Stamp::at(0));
    }
    fn is_held(&mut self) -> bool {
        self.0.is_held()
    }
    fn read(&mut self, max: usize) -> Vec<String> {
        let mut shown = Vec::new();
        while shown.len() < max {
            match self.1.next(1) {
                Next::Values(mut run) => run.taken(1).for_each(|value| shown.push(value.to_string())),
                Next::Mark(mark) => shown.push(format!("[{mark:?}]")),
                Next::Empty => break,
            }
        }
        shown
    }
    fn cursors(&self) -> &Cursors {
        self.0.cursors()
    }
}

/// Returns all that can be observed during these steps: the values read, how many values found room, and the
/// counts that schedulers see.
fn shown(mut edge: impl Both, acts: &[Act]) -> Vec<String> {
    let (mut next, mut shown) = (0u64, Vec::new());
    for act in acts {
        match *act {
            Act::Push(count) => {
                let pushed = edge.push(&mut (next..next + count));
                next += pushed as u64;
                shown.push(format!("+{pushed}"));
            }
            Act::Mark(mark) if edge.is_held() => shown.push(format!("no {mark:?}")),
            Act::Mark(mark) => edge.mark(mark),
            Act::Read(max) => shown.extend(edge.read(max)),
        }
        let cursors = edge.cursors();
        shown.push(format!(
            "{} {} {} {}",
            cursors.pending(0),
            cursors.pending_marks(0),
            cursors.marks_dropped(),
            cursors.has_room()
        ));
    }
    shown
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 8 } else { 256 }, ..ProptestConfig::default() })]

    /// A queue has the same room, marks, backpressure and order as an edge whose blocks hold one record each.
    #[test]
    fn queues_do_what_blocks_do(acts in acts(), chunks in 2u32..6, marks in 1u32..4) {
        let shape = BlockShape { block_records: 1, chunk_blocks: 1 };
        for hand_over in BOTH {
            let queue = queue::<u64, Rules>(&budget(), options(hand_over, 2, marks)).unwrap();
            // No chunks are made in this test, so the edge stays at its first two.
            let pool = Pool::new(budget());
            let blocks = edge::<u64, Rules>(&pool, EdgeOptions { shape, chunks_max: chunks, marks_max: marks });
            prop_assert_eq!(shown(queue, &acts), shown(blocks.unwrap(), &acts));
        }
    }
}

/// Each reader of a queue with several readers sees all values. The slowest reader holds the writer back, and
/// a reader that is gone holds nothing back.
#[test]
fn several_readers_see_the_same() {
    for hand_over in BOTH {
        let (mut writer, mut readers) =
            shared_queue::<u64, Rules>(&budget(), options(hand_over, 4, 4), 3).unwrap();
        push(&mut writer, 0..4);
        writer.mark(TestMark::W(4), Stamp::at(0));
        let mut last = readers.pop().unwrap();
        assert_eq!(readers.iter_mut().map(drain_text).collect::<Vec<_>>(), ["0 1 2 3 [W(4)]"; 2]);
        assert_eq!(writer.open(Stamp::at(0)).room(), 0);
        assert_eq!(step(&mut last, 1).as_deref(), Some("0"));
        assert_eq!(writer.open(Stamp::at(0)).room(), 1);
        drop(last);
        for start in [4, 8] {
            push(&mut writer, start..start + 4);
            let expected = (start..start + 4).map(|value| value.to_string()).collect::<Vec<_>>().join(" ");
            assert_eq!(readers.iter_mut().map(drain_text).collect::<Vec<_>>(), [&*expected; 2]);
        }
        drop(readers.remove(0));
        push(&mut writer, 12..14);
        assert_eq!(drain_text(&mut readers[0]), "12 13");
        drop(readers);
        assert_eq!(writer.open(Stamp::at(0)).room(), 4);
    }
    let blocks = shared_edge::<u64, Rules>(
        &Pool::new(budget()),
        EdgeOptions { shape: BlockShape { block_records: 1, chunk_blocks: 1 }, chunks_max: 2, marks_max: 1 },
        3,
    );
    assert!(blocks.is_ok(), "the same readers as blocks have");
}
