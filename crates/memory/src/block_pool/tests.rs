//! Tests of block pools: values come out once and in the order in which they were filled, and every block is
//! on a free list or has one owner.

use proptest::prelude::*;

use super::*;
use crate::appender::Append;
use crate::budget::Budget;
use crate::chunk::BlockShape;
use crate::run::TakeOut;

fn options(block_records: u32, chunks_max: u32) -> EdgeOptions {
    EdgeOptions { shape: BlockShape { block_records, chunk_blocks: 1 }, chunks_max, marks_max: 1 }
}

fn free_count<T: Send + 'static>(block_pool: &BlockPool<T>) -> usize {
    block_pool.cores.iter().map(|core| core.free_list.free.lock().len()).sum()
}

fn emptied(mut block: Block<u64>) -> Vec<u64> {
    let mut values = Vec::new();
    let mut drain = block.drain(usize::MAX);
    drain.taken(drain.remaining()).for_each(|value| values.push(value));
    values
}

/// A pool of two blocks of two values each: a writer fills values while there is room, sealed blocks are
/// handed over, and unused blocks are given back.
#[test]
fn blocks_are_filled_handed_over_and_given_back() {
    let block_pool = BlockPool::<u64>::new(&Pool::new(Budget::new(1 << 20)), options(2, 2), 2).unwrap();
    let mut block_writer = block_pool.block_writer();
    let mut appender = block_writer.open(0);
    assert_eq!(appender.room(), 4);
    (0..3).for_each(|value| appender.push(value));
    assert_eq!(appender.room(), 1);
    drop(appender);
    assert!(!block_pool.has_free());
    let first = block_writer.take_full().unwrap();
    assert_eq!((first.len(), first.core(), block_writer.filling_count()), (2, 0, 1));
    assert!(block_writer.take_full().is_none());
    block_writer.seal();
    let second = block_writer.take_full().unwrap();
    assert_eq!((emptied(first), emptied(second)), (vec![0, 1], vec![2]));
    assert!(block_pool.has_free() && block_pool.take_starved() && !block_pool.take_starved());
    assert_eq!(block_writer.open(1).room(), 4);
    block_writer.seal();
    assert!(block_writer.take_full().is_none(), "nothing is sealed that holds nothing");
    block_writer.rest();
    assert_eq!(free_count(&block_pool), 2);
}

/// A block that is still in a core's cache is the next to be filled at this core. Other blocks go to the end
/// of the free list.
#[test]
fn what_is_hot_is_filled_next() {
    let block_pool = BlockPool::<u64>::new(&Pool::new(Budget::new(1 << 20)), options(1, 4), 1).unwrap();
    let filled = |value| {
        let mut block_writer = block_pool.block_writer();
        block_writer.open(0).push(value);
        block_writer.seal();
        block_writer.rest();
        block_writer.take_full().unwrap()
    };
    let hot = filled(1);
    let address = hot.run.block.as_ptr();
    hot.give_back(true);
    let again = filled(2);
    assert_eq!(again.run.block.as_ptr(), address);
    again.give_back(false);
    assert_ne!(filled(3).run.block.as_ptr(), address);
}

/// A writer at a core without free blocks takes a block of another core and requests a chunk. The block pool
/// stays within its limit of chunks and within the budget.
#[test]
fn a_block_pool_grows_within_its_bounds() {
    let budget = Budget::new(3 * 4096);
    let pool = Pool::new(Arc::clone(&budget));
    let block_pool = BlockPool::<u64>::new(&pool, options(1, 4), 2).unwrap();
    block_pool.name_writer(7);
    let (mut first, mut second) = (block_pool.block_writer(), block_pool.block_writer());
    assert_eq!((first.open(0).room(), second.open(1).room()), (2, 0));
    assert_eq!((pool.grow_step(), pool.grow_step()), (Some(7), None));
    assert_eq!((second.open(1).room(), block_pool.chunks(), block_pool.chunk_bytes()), (1, 3, 3 * 4096));
    // The memory budget has no bytes left for a further chunk.
    assert_eq!(
        (block_pool.block_writer().open(1).room(), pool.grow_step(), block_pool.chunks()),
        (0, Some(7), 3)
    );
    drop((first, second, block_pool));
    assert_eq!(budget.used_bytes(), 0);
    assert!(BlockPool::<u64>::new(&Pool::new(Budget::new(4096)), options(1, 2), 1).is_err());
}

/// Blocks outlive the block pool. Values that were not taken are dropped with their block, once each.
#[test]
fn values_are_dropped_once() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let block_pool = BlockPool::new(&Pool::new(Budget::new(1 << 20)), options(3, 2), 1).unwrap();
    let mut block_writer = block_pool.block_writer();
    let mut appender = block_writer.open(0);
    (0..5).for_each(|place| appender.push_if(Counted(Arc::clone(&dropped)), place != 1));
    drop(appender);
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
    let mut block = block_writer.take_full().unwrap();
    block.drain(2).taken_selected(2, &[1]).for_each(drop);
    assert_eq!((block.len(), dropped.load(Ordering::Relaxed)), (1, 3));
    drop((block_writer, block_pool));
    assert_eq!(dropped.load(Ordering::Relaxed), 4);
    drop(block);
    assert_eq!(dropped.load(Ordering::Relaxed), 5);
}

proptest! {
    /// Blocks are filled, handed over, emptied and given back in any order and at any core: no value and no
    /// block is lost.
    #[test]
    fn nothing_is_lost_and_no_block_either(steps in proptest::collection::vec((0..6u8, 0..3usize), 0..300), block_records in 1..4u32) {
        let block_pool = BlockPool::<u64>::new(&Pool::new(Budget::new(1 << 20)), options(block_records, 6), 3).unwrap();
        let mut block_writers = [block_pool.block_writer(), block_pool.block_writer()];
        let (mut next, mut handed, mut taken) = (0u64, VecDeque::new(), Vec::new());
        for (kind, core) in steps {
            let block_writer = &mut block_writers[core % 2];
            match kind {
                0 | 1 => {
                    let mut appender = block_writer.open(core);
                    for _ in 0..appender.room().min(2) {
                        appender.push(next);
                        next += 1;
                    }
                }
                2 => block_writer.seal(),
                3 => block_writer.rest(),
                4 => {
                    let _grown = block_pool.common.pool.grow_step();
                }
                _ => {
                    handed.extend(std::iter::from_fn(|| block_writer.take_full()));
                    if let Some(block) = handed.pop_front() {
                        taken.extend(emptied(block));
                    }
                }
            }
            let in_hand: usize = block_writers.iter().map(|block_writer| block_writer.in_hand.len() + block_writer.full.len() + usize::from(block_writer.filling.is_some())).sum();
            prop_assert_eq!(free_count(&block_pool) + in_hand + handed.len(), block_pool.chunks() as usize);
        }
        for mut block_writer in block_writers {
            block_writer.seal();
            handed.extend(std::iter::from_fn(|| block_writer.take_full()));
        }
        handed.into_iter().for_each(|block| taken.extend(emptied(block)));
        taken.sort_unstable();
        prop_assert_eq!(taken, (0..next).collect::<Vec<_>>());
    }
}
