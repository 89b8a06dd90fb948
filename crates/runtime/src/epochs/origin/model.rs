//! Loom models of epochs: splits deposit blocks, leave epochs and fall silent, while a copy claims the
//! blocks.

use loom::thread;
use thalweg_memory::sync::{AtomicU64, Ordering};
use thalweg_memory::{Block, BlockPool, BlockShape, Budget, EdgeOptions, Pool};
use thalweg_model::{ProcessingTime, Record, TumblingWindows};
use thalweg_scheduling::Context;

use super::*;
use crate::epochs::{Bundle, Claiming, Containers, Deposit, Item};
use crate::models::model;

/// The scheduling context (the time at which a source event fell due or was read, and a token) of all blocks
/// in these loom models, which do not depend on it.
const CONTEXT: Context = Context { observed: ProcessingTime::ZERO, token: None };

/// Number of epochs that the splits of the source reach in these models.
const EPOCHS: usize = 4;

pub(crate) struct Bed {
    pub(crate) origin: Arc<Origin>,
    pub(crate) containers: Arc<Containers<u32>>,
    /// Number of bundles (blocks with their epoch) of each epoch that were deposited; counted before the
    /// deposit. `consumed` counts the bundles that are consumed.
    deposited: [AtomicU64; EPOCHS],
    consumed: [AtomicU64; EPOCHS],
}

impl Bed {
    /// Makes the containers (the unclaimed blocks of each epoch) and their origin for a loom model, with this
    /// many splits of the source and with windows of 10 s of event time.
    pub(crate) fn new(splits: usize) -> Arc<Self> {
        let shape = BlockShape { block_records: 1, chunk_blocks: 1 };
        let options = EdgeOptions { shape, chunks_max: 2, marks_max: 1 };
        let block_pool = BlockPool::<Record<u32>>::new(&Pool::new(Budget::new(1 << 20)), options, 1).unwrap();
        let containers = Containers::new(block_pool, 1, Vec::new(), Claiming::default());
        let windows = TumblingWindows::new(Span::from_secs(10)).unwrap();
        let horizon = Horizon::of_windows(windows.into(), Span::ZERO);
        let origin = Origin::new(splits, horizon, vec![Arc::clone(&containers.tracker)]);
        let zero = || [(); EPOCHS].map(|()| AtomicU64::new(0));
        Arc::new(Bed { origin, containers, deposited: zero(), consumed: zero() })
    }

    fn deposit(&self, epoch: u64) {
        self.deposited[epoch as usize].fetch_add(1, Ordering::Relaxed);
        let (late_by, marker, block) = (EventTime::MIN, None, None::<Block<Record<u32>>>);
        self.containers.deposit(0, Bundle { block, epoch, late_by, marker, arrived_ns: 1, context: CONTEXT });
    }

    /// Claims and consumes one bundle (a block with its epoch), if one waits.
    fn consume(&self) -> bool {
        let Some(bundle) = self.containers.claim(0, ProcessingTime::NEVER) else { return false };
        self.consumed[bundle.epoch as usize].fetch_add(1, Ordering::Relaxed);
        self.containers.tracker.consume(bundle.epoch, 1);
        true
    }

    /// Returns the next step of the task that closes epochs (merges the state of the copies and emits the
    /// results). Checks that when an epoch ends, every bundle deposited into this epoch has been consumed.
    fn told(&self) -> Option<Item> {
        let item = self.containers.tracker.next_item();
        if let Some(Item::End { epoch, .. }) = item {
            let of = |counts: &[AtomicU64; EPOCHS]| counts[epoch as usize].load(Ordering::Relaxed);
            assert_eq!(of(&self.consumed), of(&self.deposited), "epoch {epoch} ends behind its bundles");
            self.containers.tracker.release(epoch);
        }
        item
    }
}

/// Two splits of the source fall silent while their blocks still wait. The silence is told downstream once,
/// behind the end of every epoch that both splits have left. This holds whichever split is last and however
/// far the copy is.
#[test]
fn silence_with_a_backlog_comes_last() {
    model(|| {
        let bed = Bed::new(2);
        let split = |index: usize, second| {
            let bed = Arc::clone(&bed);
            thread::spawn(move || {
                bed.deposit(bed.origin.start().epoch);
                bed.origin.advance(index, EventTime::from_secs(second));
                assert!(bed.origin.fall_idle(index), "there is room for one more epoch");
            })
        };
        let copy = {
            let bed = Arc::clone(&bed);
            thread::spawn(move || {
                let _one_or_none = bed.consume();
                bed.told()
            })
        };
        let splits = [split(0, 5), split(1, 7)];
        splits.into_iter().for_each(|split| split.join().unwrap());
        let first = copy.join().unwrap();
        while bed.consume() {}
        let items: Vec<Item> = first.into_iter().chain(std::iter::from_fn(|| bed.told())).collect();
        assert!(matches!(items[..], [Item::End { epoch: 0, .. }, Item::Idle]), "{items:?}");
    });
}

/// One split of the source has records again while the other falls silent. None of its blocks is deposited
/// behind the end of their epoch, and a silence of both splits is told downstream at most once. When both
/// have ended, all epochs end in order.
#[test]
fn a_split_that_comes_back_deposits_into_an_open_epoch() {
    model(|| {
        let bed = Bed::new(2);
        bed.origin.advance(0, EventTime::from_secs(5));
        assert!(bed.origin.fall_idle(0), "there is room for one more epoch");
        let returning = {
            let bed = Arc::clone(&bed);
            thread::spawn(move || {
                let standing = bed.origin.rejoin(0);
                bed.deposit(standing.epoch);
                bed.origin.advance(0, EventTime::from_secs(15));
            })
        };
        let falling = {
            let bed = Arc::clone(&bed);
            thread::spawn(move || {
                bed.deposit(bed.origin.start().epoch);
                bed.origin.advance(1, EventTime::from_secs(12));
                assert!(bed.origin.fall_idle(1), "there is room for one more epoch");
            })
        };
        let copy = {
            let bed = Arc::clone(&bed);
            thread::spawn(move || {
                let _one_or_none = bed.consume();
                bed.told()
            })
        };
        returning.join().unwrap();
        falling.join().unwrap();
        let first = copy.join().unwrap();
        [0, 1].into_iter().for_each(|index| bed.origin.end(index));
        while bed.consume() {}
        let items: Vec<Item> = first.into_iter().chain(std::iter::from_fn(|| bed.told())).collect();
        // A silence is told downstream only if the other split of the source fell silent before this one had
        // records again.
        let idles = items.iter().filter(|item| **item == Item::Idle).count();
        let ends: Vec<u64> = items
            .iter()
            .filter_map(|item| if let Item::End { epoch, .. } = item { Some(*epoch) } else { None })
            .collect();
        assert!(idles <= 1 && items.last() == Some(&Item::Over), "{items:?}");
        assert!(ends.iter().copied().eq(0..ends.len() as u64) && !ends.is_empty(), "{items:?}");
    });
}
