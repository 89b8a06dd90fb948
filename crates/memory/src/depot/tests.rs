//! Values come out once and in the order in which they were filled; every block is on a free list or has one owner.

use proptest::prelude::*;

use super::*;
use crate::budget::Budget;
use crate::chunk::BlockShape;

fn options(block_records: u32, chunks_max: u32) -> EdgeOptions {
    EdgeOptions { shape: BlockShape { block_records, chunk_blocks: 1 }, chunks_max, marks_max: 1 }
}

fn free_count<T: Send + 'static>(depot: &Depot<T>) -> usize {
    depot.homes.iter().map(|home| home.shelf.free.lock().len()).sum()
}

fn emptied(mut block: Block<u64>) -> Vec<u64> {
    let mut values = Vec::new();
    let mut drain = block.drain(usize::MAX);
    drain.take_each(drain.remaining(), |value| values.push(value));
    values
}

/// Two blocks of two: values that fit are filled, sealed blocks are handed over, blocks in hand are given back.
#[test]
fn blocks_are_filled_handed_over_and_given_back() {
    let depot = Depot::<u64>::new(&Pool::new(Budget::new(1 << 20)), options(2, 2), 2).unwrap();
    let mut stock = depot.stock();
    let mut filler = stock.open(0);
    assert_eq!(filler.room(), 4);
    (0..3).for_each(|value| filler.push(value));
    assert_eq!(filler.room(), 1);
    drop(filler);
    assert!(!depot.has_free());
    let first = stock.take_full().unwrap();
    assert_eq!((first.len(), first.home(), stock.filling_count()), (2, 0, 1));
    assert!(stock.take_full().is_none());
    stock.seal();
    let second = stock.take_full().unwrap();
    assert_eq!((emptied(first), emptied(second)), (vec![0, 1], vec![2]));
    assert!(depot.has_free() && depot.take_starved() && !depot.take_starved());
    assert_eq!(stock.open(1).room(), 4);
    stock.seal();
    assert!(stock.take_full().is_none(), "nothing is sealed that holds nothing");
    stock.rest();
    assert_eq!(free_count(&depot), 2);
}

/// Hot blocks are the next to be filled at their home, others the last.
#[test]
fn what_is_hot_is_filled_next() {
    let depot = Depot::<u64>::new(&Pool::new(Budget::new(1 << 20)), options(1, 4), 1).unwrap();
    let filled = |value| {
        let mut stock = depot.stock();
        stock.open(0).push(value);
        stock.seal();
        stock.rest();
        stock.take_full().unwrap()
    };
    let hot = filled(1);
    let address = hot.run.block.as_ptr();
    hot.give_back(true);
    let again = filled(2);
    assert_eq!(again.run.block.as_ptr(), address);
    again.give_back(false);
    assert_ne!(filled(3).run.block.as_ptr(), address);
}

/// A home without blocks takes another's, and asks for a chunk; within the limit of chunks and the budget.
#[test]
fn a_depot_grows_within_its_bounds() {
    let budget = Budget::new(3 * 4096);
    let pool = Pool::new(Arc::clone(&budget));
    let depot = Depot::<u64>::new(&pool, options(1, 4), 2).unwrap();
    depot.name_writer(7);
    let (mut first, mut second) = (depot.stock(), depot.stock());
    assert_eq!((first.open(0).room(), second.open(1).room()), (2, 0));
    assert_eq!((pool.grow_step(), pool.grow_step()), (Some(7), None));
    assert_eq!((second.open(1).room(), depot.chunks(), depot.chunk_bytes()), (1, 3, 3 * 4096));
    // The budget is used up.
    assert_eq!((depot.stock().open(1).room(), pool.grow_step(), depot.chunks()), (0, Some(7), 3));
    drop((first, second, depot));
    assert_eq!(budget.used_bytes(), 0);
    assert!(Depot::<u64>::new(&Pool::new(Budget::new(4096)), options(1, 2), 1).is_err());
}

/// Blocks outlive the block pool, and values that were not taken are dropped with them, once each.
#[test]
fn values_are_dropped_once() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let depot = Depot::new(&Pool::new(Budget::new(1 << 20)), options(3, 2), 1).unwrap();
    let mut stock = depot.stock();
    let mut filler = stock.open(0);
    (0..5).for_each(|place| filler.push_if(Counted(Arc::clone(&dropped)), place != 1));
    drop(filler);
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
    let mut block = stock.take_full().unwrap();
    block.drain(2).take_selected(2, &[1], drop);
    assert_eq!((block.len(), dropped.load(Ordering::Relaxed)), (1, 3));
    drop((stock, depot));
    assert_eq!(dropped.load(Ordering::Relaxed), 4);
    drop(block);
    assert_eq!(dropped.load(Ordering::Relaxed), 5);
}

proptest! {
    /// Blocks are filled, handed over, emptied and given back in any order, at any home.
    #[test]
    fn nothing_is_lost_and_no_block_either(steps in proptest::collection::vec((0..6u8, 0..3usize), 0..300), block_records in 1..4u32) {
        let depot = Depot::<u64>::new(&Pool::new(Budget::new(1 << 20)), options(block_records, 6), 3).unwrap();
        let mut stocks = [depot.stock(), depot.stock()];
        let (mut next, mut handed, mut taken) = (0u64, VecDeque::new(), Vec::new());
        for (kind, home) in steps {
            let stock = &mut stocks[home % 2];
            match kind {
                0 | 1 => {
                    let mut filler = stock.open(home);
                    for _ in 0..filler.room().min(2) {
                        filler.push(next);
                        next += 1;
                    }
                }
                2 => stock.seal(),
                3 => stock.rest(),
                4 => {
                    let _grown = depot.common.pool.grow_step();
                }
                _ => {
                    handed.extend(std::iter::from_fn(|| stock.take_full()));
                    if let Some(block) = handed.pop_front() {
                        taken.extend(emptied(block));
                    }
                }
            }
            let in_hand: usize = stocks.iter().map(|stock| stock.in_hand.len() + stock.full.len() + usize::from(stock.filling.is_some())).sum();
            prop_assert_eq!(free_count(&depot) + in_hand + handed.len(), depot.chunks() as usize);
        }
        for mut stock in stocks {
            stock.seal();
            handed.extend(std::iter::from_fn(|| stock.take_full()));
        }
        handed.into_iter().for_each(|block| taken.extend(emptied(block)));
        taken.sort_unstable();
        prop_assert_eq!(taken, (0..next).collect::<Vec<_>>());
    }
}
