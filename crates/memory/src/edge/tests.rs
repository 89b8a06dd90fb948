//! Tests that compare edges with a plain queue. For every block size, order of steps and marks, values come
//! out in order and once, with each mark at its position, and every block is free, in use or back in the
//! pool.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;

use super::*;
use crate::appender::Append;
use crate::budget::Budget;
use crate::marks::{Admission, RESERVED_MARKS};
use crate::reader::{Next, SharedNext};
use crate::run::TakeOut;
use crate::stamp::Stamp;
use crate::sync::AtomicUsize;

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

fn options(block_records: u32, chunk_blocks: u32, chunks_max: u32, marks_max: u32) -> EdgeOptions {
    EdgeOptions { shape: BlockShape { block_records, chunk_blocks }, chunks_max, marks_max }
}

fn pool() -> Arc<Pool> {
    Pool::new(Budget::new(1 << 24))
}

/// Takes all items that wait on an edge and returns them as text: values, and marks in brackets.
fn drain_text(reader: &mut Reader<u64, Rules>) -> String {
    let mut shown = Vec::new();
    loop {
        match reader.next(usize::MAX) {
            Next::Values(mut run) => {
                let count = run.remaining();
                run.taken(count).for_each(|value| shown.push(value.to_string()));
            }
            Next::Mark(mark) => shown.push(format!("[{mark:?}]")),
            Next::Empty => return shown.join(" "),
        }
    }
}

fn push(writer: &mut Writer<u64, Rules>, values: std::ops::Range<u64>) {
    let mut out = writer.open(Stamp::at(0));
    values.for_each(|value| out.push(value));
}

#[test]
fn marks_stand_where_they_were_set() {
    let (mut writer, mut reader) = edge::<u64, Rules>(&pool(), options(2, 2, 2, 8)).unwrap();
    writer.mark(TestMark::W(0), Stamp::at(0));
    push(&mut writer, 0..3);
    writer.mark(TestMark::W(1), Stamp::at(0));
    writer.mark(TestMark::L, Stamp::at(0));
    push(&mut writer, 3..5);
    writer.mark(TestMark::E, Stamp::at(0));
    assert_eq!(drain_text(&mut reader), "[W(0)] 0 1 2 [W(1)] [L] 3 4 [E]");
    assert_eq!(writer.cursors().pending(0), 0);
}

/// Values that are pushed into an open edge become visible to the reader when the appender is dropped, all at
/// once.
#[test]
fn what_is_appended_is_published_at_once() {
    let (mut writer, mut reader) = edge::<u64, Rules>(&pool(), options(2, 2, 2, 8)).unwrap();
    let mut out = writer.open(Stamp::at(0));
    out.push(1);
    out.push_if(2, false);
    out.push_if(3, true);
    assert!(matches!(reader.next(9), Next::Empty));
    drop(out);
    assert_eq!(drain_text(&mut reader), "1 3");
}

/// Values can be appended without holding an appender open. They become visible when they are handed over,
/// and a mark stands behind them.
#[test]
fn what_is_appended_by_turns_is_published_when_it_is_handed_over() {
    let (mut writer, mut reader) = edge::<u64, Rules>(&pool(), options(2, 2, 2, 8)).unwrap();
    assert_eq!(writer.begin(Stamp::at(0)), 8);
    (0..3).for_each(|value| writer.append(value, Stamp::at(0)));
    assert_eq!(writer.room_left(), 5);
    assert!(matches!(reader.next(9), Next::Empty));
    writer.hand_over();
    writer.mark(TestMark::W(1), Stamp::at(0));
    push(&mut writer, 3..5);
    assert_eq!(drain_text(&mut reader), "0 1 2 [W(1)] 3 4");
    assert_eq!(writer.begin(Stamp::at(0)), 7);
    (5..12).for_each(|value| writer.append(value, Stamp::at(0)));
    assert_eq!(writer.room_left(), 0);
    assert!(catch_unwind(AssertUnwindSafe(|| writer.append(12, Stamp::at(0)))).is_err(), "there is no room");
    writer.hand_over();
    assert_eq!(drain_text(&mut reader), "5 6 7 8 9 10 11");
}

/// A full ring of marks holds back ordinary marks and the records behind them, drops latency markers and
/// counts them, and lets reserved marks pass.
#[test]
fn a_full_mark_ring_holds_back_drops_and_reserves() {
    let (mut writer, mut reader) = edge::<u64, Rules>(&pool(), options(4, 2, 2, 2)).unwrap();
    writer.mark(TestMark::W(1), Stamp::at(0));
    writer.mark(TestMark::W(2), Stamp::at(0));
    writer.mark(TestMark::L, Stamp::at(0));
    assert_eq!(writer.cursors().marks_dropped(), 1);
    writer.mark(TestMark::E, Stamp::at(0));
    assert!(!writer.is_held());
    writer.mark(TestMark::W(3), Stamp::at(0));
    assert!(writer.is_held());
    assert_eq!(writer.room(), 0);
    assert!(!writer.cursors().has_room());
    writer.mark(TestMark::W(4), Stamp::at(0));
    assert!(
        catch_unwind(AssertUnwindSafe(|| writer.open(Stamp::at(0)).push(9))).is_err(),
        "records may not overtake"
    );
    assert_eq!(drain_text(&mut reader), "[W(1)] [W(2)] [E]");
    assert!(writer.cursors().has_room());
    push(&mut writer, 0..1);
    assert_eq!(drain_text(&mut reader), "[W(4)] 0", "the newer watermark has replaced the older");
}

#[test]
fn reserved_slots_outlast_a_full_ring() {
    let (mut writer, mut reader) = edge::<u64, Rules>(&pool(), options(4, 2, 2, 1)).unwrap();
    (0..1 + RESERVED_MARKS).for_each(|_| writer.mark(TestMark::E, Stamp::at(0)));
    assert!(!writer.is_held());
    writer.mark(TestMark::E, Stamp::at(0));
    assert!(writer.is_held());
    assert_eq!(drain_text(&mut reader).matches('E').count(), 5);
    assert!(!writer.is_held());
    assert_eq!(drain_text(&mut reader), "[E]");
}

/// An edge never owns more chunks than its limit, requests them one at a time, and gives them back after a
/// burst.
#[test]
fn growth_is_asked_for_bounded_and_given_back() {
    let pool = pool();
    let (mut writer, mut reader) = edge::<u64, Rules>(&pool, options(2, 2, 4, 8)).unwrap();
    let mut next = 0;
    let mut fill = |writer: &mut Writer<u64, Rules>| {
        let room = writer.room() as u64;
        push(writer, next..next + room);
        next += room;
        room
    };
    assert_eq!(fill(&mut writer), 8, "two chunks of two blocks of two records are there at once");
    assert!(!writer.cursors().has_room());
    assert!(pool.grow_step().is_some());
    assert!(pool.grow_step().is_none(), "one request at a time");
    assert!(writer.cursors().has_room(), "a chunk in the mailbox is room");
    assert_eq!(fill(&mut writer), 4);
    assert!(pool.grow_step().is_some());
    assert_eq!(fill(&mut writer), 4);
    assert!(pool.grow_step().is_none(), "four chunks are the limit");
    assert_eq!((fill(&mut writer), writer.cursors().written()), (0, 16));

    let expected: Vec<String> = (0..16).map(|value| value.to_string()).collect();
    assert_eq!(drain_text(&mut reader), expected.join(" "));
    let grown = pool.budget().used_bytes();
    for value in 0..2_000 {
        push(&mut writer, value..value + 1);
        assert_eq!(drain_text(&mut reader), value.to_string());
    }
    assert_eq!(writer.room(), 8, "two chunks are kept");
    assert_eq!(pool.budget().used_bytes(), grown, "and two lie spare in the pool, still paid for");
    drop((writer, reader));
}

/// An open edge takes all the values for which it has reported room. This holds after any number of blocks
/// without a burst, so also at the moment when the edge gives a surplus chunk back to the pool.
#[test]
fn room_that_was_told_is_kept() {
    for calm_blocks in 0..160 {
        let pool = pool();
        let (mut writer, mut reader) = edge::<u64, Rules>(&pool, options(2, 4, 4, 8)).unwrap();
        for _ in 0..2 {
            let room = writer.room() as u64;
            push(&mut writer, 0..room);
            assert!(pool.grow_step().is_some());
        }
        assert_eq!(writer.room(), 8, "a third chunk is begun, and a fourth was not asked for");
        drain_text(&mut reader);
        for value in 0..2 * calm_blocks {
            push(&mut writer, value..value + 1);
            drain_text(&mut reader);
        }
        let mut out = writer.open(Stamp::at(0));
        let room = out.room() as u64;
        (0..room).for_each(|value| out.push(value));
        drop(out);
        let expected: Vec<String> = (0..room).map(|value| value.to_string()).collect();
        assert_eq!(drain_text(&mut reader), expected.join(" "), "after {calm_blocks} blocks");
    }
}

/// If the budget refuses a chunk, the edge only has less room and works on. The writer requests a chunk again
/// later.
#[test]
fn growth_that_the_budget_refuses_is_asked_for_again() {
    let pool = Pool::new(Budget::new(3 * 4096));
    let held = pool.budget().reserve(4096).unwrap();
    let (mut writer, mut reader) = edge::<u64, Rules>(&pool, options(1, 1, 4, 8)).unwrap();
    assert!(edge::<u64, Rules>(&pool, options(1, 1, 4, 8)).is_err(), "reserved chunks are not lent");
    push(&mut writer, 0..2);
    assert!(pool.grow_step().is_some());
    assert!(!writer.cursors().has_room());
    drop(held);
    assert_eq!(drain_text(&mut reader), "0 1");
    push(&mut writer, 2..4);
    assert!(pool.grow_step().is_some());
    assert!(writer.cursors().has_room());
    push(&mut writer, 4..5);
    assert_eq!(drain_text(&mut reader), "2 3 4");
}

#[test]
fn the_head_stamp_is_that_of_the_oldest_unread_block() {
    let (mut writer, mut reader) = edge::<u64, Rules>(&pool(), options(2, 2, 2, 8)).unwrap();
    writer.open(Stamp::at(10)).push(0);
    writer.open(Stamp::at(11)).push(1);
    writer.open(Stamp::at(12)).push(2);
    assert_eq!(writer.cursors().head_stamp(0).came, 10);
    drain_text(&mut reader);
    writer.open(Stamp::at(13)).push(3);
    assert_eq!(writer.cursors().head_stamp(0).came, 13, "the edge was empty, so its head is new");
}

#[test]
fn where_nothing_unread_lies_is_empty() {
    let (mut writer, mut reader) = edge::<u64, Rules>(&pool(), options(2, 2, 2, 8)).unwrap();
    let cursors = Arc::clone(writer.cursors());
    let whole = cursors.chunk_bytes();
    assert_eq!(cursors.empty_bytes(), whole);
    push(&mut writer, 0..4);
    assert_eq!(cursors.empty_bytes(), whole / 2);
    drain_text(&mut reader);
    assert_eq!(cursors.empty_bytes(), whole);
    drop((writer, reader));
    assert_eq!(cursors.empty_bytes(), 0, "its chunks are given back");
}

/// Each reader of an edge with several readers sees all values. Blocks are not reused before the slowest
/// reader has passed them, and values are dropped once.
#[test]
fn shared_edges_lend_and_wait_for_the_slowest() {
    let token = Arc::new(());
    let (mut writer, mut readers) = shared_edge::<Arc<()>, Rules>(&pool(), options(1, 1, 2, 8), 2).unwrap();
    let mut slow = readers.pop().unwrap();
    let mut fast = readers.pop().unwrap();
    let take = |reader: &mut SharedReader<Arc<()>, Rules>| match reader.next(9) {
        SharedNext::Values(mut run) => {
            let count = run.remaining();
            (0..count).for_each(|offset| run.inspect(offset, |value| assert!(Arc::ptr_eq(value, &token))));
            run.pass(count);
            count
        }
        _ => 0,
    };
    for _ in 0..2 {
        writer.open(Stamp::at(0)).push(Arc::clone(&token));
    }
    assert_eq!((take(&mut fast), take(&mut fast), take(&mut fast)), (1, 1, 0));
    assert_eq!(writer.room(), 0, "the slow reader has seen nothing");
    assert_eq!(take(&mut slow), 1);
    assert_eq!(writer.room(), 1);
    assert_eq!(Arc::strong_count(&token), 2, "the recycled block's value was dropped");
    drop(slow);
    assert_eq!(writer.room(), 2, "a reader that is gone holds nothing");
    writer.open(Stamp::at(0)).push(Arc::clone(&token));
    drop(writer);
    assert_eq!(take(&mut fast), 1);
    drop(fast);
    assert_eq!(Arc::strong_count(&token), 1);
}

/// A panic in user code while values are taken loses the current value and no other, and no value is dropped
/// twice.
#[test]
fn a_panic_while_taking_drops_nothing_twice() {
    for is_selected in [false, true] {
        let tokens: Vec<Arc<()>> = (0..6).map(|_| Arc::new(())).collect();
        let (mut writer, mut reader) = edge::<Arc<()>, Rules>(&pool(), options(4, 2, 2, 8)).unwrap();
        let mut out = writer.open(Stamp::at(0));
        tokens.iter().for_each(|token| out.push(Arc::clone(token)));
        drop(out);
        let look = |token: Arc<()>| assert!(!Arc::ptr_eq(&token, &tokens[1]), "user code");
        let taken = catch_unwind(AssertUnwindSafe(|| {
            let Next::Values(mut run) = reader.next(9) else { unreachable!() };
            if is_selected {
                run.taken_selected(4, &[1, 3]).for_each(look);
            } else {
                run.taken(4).for_each(look);
            }
        }));
        assert!(taken.is_err());
        assert_eq!(reader.cursors().pending(0), 4, "the two that were taken are gone, the others are not");
        drop((writer, reader));
        assert!(tokens.iter().all(|token| Arc::strong_count(token) == 1));
    }
}

#[test]
fn a_writer_whose_reader_is_gone_drops_what_it_appends() {
    let token = Arc::new(());
    let (mut writer, reader) = edge::<Arc<()>, Rules>(&pool(), options(2, 1, 2, 8)).unwrap();
    writer.open(Stamp::at(0)).push(Arc::clone(&token));
    drop(reader);
    for _ in 0..20 {
        assert!(writer.room() > 0);
        writer.open(Stamp::at(0)).push(Arc::clone(&token));
    }
    assert!(Arc::strong_count(&token) <= 1 + 4, "at most what two chunks hold");
    drop(writer);
    assert_eq!(Arc::strong_count(&token), 1);
}

#[test]
fn selections_take_what_they_name_and_drop_the_rest() {
    let tokens: Vec<Arc<()>> = (0..5).map(|_| Arc::new(())).collect();
    let (mut writer, mut reader) = edge::<Arc<()>, Rules>(&pool(), options(8, 1, 2, 8)).unwrap();
    let mut out = writer.open(Stamp::at(0));
    tokens.iter().for_each(|token| out.push(Arc::clone(token)));
    drop(out);
    let mut kept = Vec::new();
    let Next::Values(mut run) = reader.next(9) else { unreachable!() };
    run.taken_selected(4, &[0, 3]).for_each(|token| kept.push(token));
    assert_eq!(run.remaining(), 1);
    drop(run);
    let counts: Vec<usize> = tokens.iter().map(Arc::strong_count).collect();
    assert_eq!(counts, [2, 1, 1, 2, 2]);
    for wrong in [&[1, 1][..], &[2, 1], &[5]] {
        let (mut writer, mut reader) = edge::<u64, Rules>(&pool(), options(8, 1, 2, 8)).unwrap();
        push(&mut writer, 0..4);
        let Next::Values(mut run) = reader.next(9) else { unreachable!() };
        assert!(
            catch_unwind(AssertUnwindSafe(|| run.taken_selected(4, wrong).for_each(|_| ()))).is_err(),
            "{wrong:?}"
        );
    }
}

#[derive(Clone, Debug)]
enum Step {
    Push(u64),
    /// A step of a random test: append a value without holding an appender open.
    Append(u64),
    Mark,
    Take(usize),
    Grow,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => (0..20u64).prop_map(Step::Push),
        2 => (0..20u64).prop_map(Step::Append),
        1 => Just(Step::Mark),
        3 => (1..20usize).prop_map(Step::Take),
        1 => Just(Step::Grow),
    ];
    proptest::collection::vec(step, 0..200)
}

proptest! {
    /// An edge of any shape behaves as a bounded queue of values and marks.
    #[test]
    fn an_edge_is_a_bounded_queue(
        block_records in 1..9u32, chunk_blocks in 1..4u32, chunks_max in 1..5u32, steps in steps(),
    ) {
        #[derive(PartialEq, Debug)]
        enum Item { Value(u64), Mark(TestMark) }
        let pool = pool();
        let (mut writer, mut reader) =
            edge::<u64, Rules>(&pool, options(block_records, chunk_blocks, chunks_max, 3)).unwrap();
        let mut oracle = VecDeque::new();
        let mut next = 0;
        for step in steps {
            match step {
                Step::Push(count) => {
                    let mut out = writer.open(Stamp::at(0));
                    for _ in 0..count.min(out.room() as u64) {
                        out.push(next);
                        oracle.push_back(Item::Value(next));
                        next += 1;
                    }
                }
                Step::Append(count) => {
                    let room = writer.begin(Stamp::at(0));
                    for left in (room - count.min(room as u64) as usize..room).rev() {
                        writer.append(next, Stamp::at(0));
                        prop_assert_eq!(writer.room_left(), left);
                        oracle.push_back(Item::Value(next));
                        next += 1;
                    }
                    writer.hand_over();
                }
                Step::Mark => {
                    if !writer.is_held() {
                        writer.mark(TestMark::W(next), Stamp::at(0));
                        oracle.push_back(Item::Mark(TestMark::W(next)));
                    }
                }
                Step::Take(max) => {
                    let mut got = Vec::new();
                    match reader.next(max) {
                        Next::Values(mut run) => {
                            prop_assert!(run.remaining() <= max.min(block_records as usize));
                            let count = run.remaining();
                            got.extend(run.taken(count).map(Item::Value));
                        }
                        Next::Mark(mark) => got.push(Item::Mark(mark)),
                        // The reader has found the edge empty. Only a mark that is held back, and so not
                        // published yet, may be missing.
                        Next::Empty => prop_assert!(oracle.len() <= usize::from(writer.is_held())),
                    }
                    for item in got {
                        prop_assert_eq!(Some(item), oracle.pop_front());
                    }
                }
                Step::Grow => { pool.grow_step(); }
            }
            let in_edge = oracle.iter().filter(|item| matches!(item, Item::Value(_))).count();
            prop_assert_eq!(writer.cursors().pending(0), in_edge as u64);
            let blocks_max = u64::from(chunks_max.max(CHUNKS_RESERVED) * chunk_blocks);
            prop_assert!(in_edge as u64 <= blocks_max * u64::from(block_records));
            prop_assert_eq!(writer.cursors().has_room(), writer.room() > 0);
        }
    }
}

/// The writer begins a block for a record that is then not kept. The next record that is kept uses this
/// block, so no block is lost.
#[test]
fn a_block_begun_for_nothing_is_not_lost() {
    let (mut writer, mut reader) = edge::<u64, Rules>(&pool(), options(2, 1, 2, 8)).unwrap();
    for value in 0..100 {
        {
            let mut out = writer.open(Stamp::at(0));
            out.push(2 * value);
            out.push(2 * value + 1);
            // The current block is full, so the writer begins the next block for a value that is then not
            // kept.
            out.push_if(9, false);
        }
        assert_eq!(writer.open(Stamp::at(0)).make_ready(7), 2);
        assert!(writer.cursors().has_room() && writer.room() == 2, "round {value}");
        assert_eq!(drain_text(&mut reader), format!("{} {}", 2 * value, 2 * value + 1));
    }
}

/// A value that counts how often it is dropped. A value that is never dropped leaks no memory.
struct Counted;

static DROPPED: AtomicUsize = AtomicUsize::new(0);

impl Drop for Counted {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

/// Forgetting a run of values with `mem::forget` does not give its values out twice. Forgetting an appender
/// loses the values that it has appended to its last block, and no others.
#[test]
fn what_is_forgotten_is_lost_and_never_seen_twice() {
    let (mut writer, mut reader) = edge::<Counted, Rules>(&pool(), options(2, 2, 2, 8)).unwrap();
    let mut out = writer.open(Stamp::at(0));
    (0..3).for_each(|_| out.push(Counted));
    std::mem::forget(out);
    drop(writer.open(Stamp::at(0)));
    assert_eq!(writer.cursors().pending(0), 2, "the third lay in the block that was begun");
    let Next::Values(mut run) = reader.next(9) else { unreachable!() };
    let mut kept = Vec::new();
    run.taken(2).for_each(|value| kept.push(value));
    std::mem::forget(run);
    assert!(matches!(reader.next(9), Next::Empty));
    writer.open(Stamp::at(0)).push(Counted);
    let Next::Values(run) = reader.next(9) else { unreachable!() };
    assert_eq!(run.remaining(), 1);
    drop(run);
    drop((writer, reader));
    assert_eq!(
        (DROPPED.load(Ordering::Relaxed), kept.len()),
        (1, 2),
        "the one that was left, and not the lost one"
    );
}

/// The number of chunks that an edge reports is the number that the budget has paid for; it is 0 when the
/// edge is gone.
#[test]
fn cursors_tell_the_chunks_that_are_owned() {
    let pool = pool();
    let (mut writer, reader) = edge::<u64, Rules>(&pool, options(2, 3, 4, 1)).unwrap();
    let cursors = Arc::clone(reader.cursors());
    let owned = || (cursors.chunks(), cursors.chunk_bytes());
    let chunk_bytes = pool.budget().used_bytes() as u64 / 2;
    assert_eq!(owned(), (2, 2 * chunk_bytes));
    let mut value = 0;
    while cursors.chunks() < 3 {
        let mut open = writer.open(Stamp::at(0));
        while open.room() > 0 {
            open.push(value);
            value += 1;
        }
        drop(open);
        pool.grow_step();
    }
    assert_eq!(owned(), (3, 3 * chunk_bytes));
    drop((writer, reader));
    assert_eq!(owned(), (0, 0));
}

/// Fills and drains one block of 4 KiB at a time. Returns the number of chunks that the edge then has, their
/// bytes, and the number of different blocks that held values.
fn recycle(blocks: u64, cores: Option<(usize, usize)>) -> (u64, u64, usize) {
    let pool = pool();
    let (mut writer, mut reader) = edge::<[u64; 512], Rules>(&pool, options(1, 2, 1 << 10, 8)).unwrap();
    if let Some((of_writer, of_reader)) = cores {
        writer.cursors().note_writer_core(of_writer);
        writer.cursors().note_reader_core(0, of_reader);
    }
    let mut places = std::collections::BTreeSet::new();
    for block in 0..blocks {
        writer.open(Stamp::at(0)).push([block; 512]);
        pool.grow_step();
        if let Next::Values(mut run) = reader.next(usize::MAX) {
            places.insert(run.inspect(0, |value| std::ptr::from_ref(value).addr()));
            run.taken(1).for_each(|value| assert_eq!(value[0], block));
        }
    }
    (writer.cursors().chunks(), writer.cursors().chunk_bytes(), places.len())
}

/// Within one core an edge reuses the block that is in the cache, and requests no chunk. Between two cores it
/// uses all blocks in turn, and requests more, up to a bound of bytes.
#[test]
fn blocks_are_used_hot_on_one_core_and_in_turn_between_cores() {
    for cores in [None, Some((3, 3))] {
        let (chunks, _, places) = recycle(400, cores);
        assert!(chunks == 2 && places <= 2, "{chunks} chunks, {places} blocks at {cores:?}");
    }
    let (chunks, bytes, places) = recycle(20_000, Some((0, 1)));
    assert!((2 << 20..(2 << 20) + bytes / chunks).contains(&bytes), "{bytes} bytes");
    assert_eq!(places as u64, 2 * chunks);
}
