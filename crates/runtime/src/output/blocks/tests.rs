//! Tests of deposits by a split that is silent, or whose watermark is the end of time.

use thalweg_memory::{BlockShape, Budget, EdgeOptions, Pool};
use thalweg_model::{Horizon, Output, Span, TumblingWindows, VirtualClock};

use super::*;
use crate::arrival::at;
use crate::epochs::{Claiming, Containers, Item};

/// Makes the outputs of two splits whose query has windows of 10 seconds, and the containers into which both
/// deposit.
fn splits() -> ([ToContainers<u32>; 2], Arc<Containers<u32>>) {
    let shape = BlockShape { block_records: 2, chunk_blocks: 1 };
    let options = EdgeOptions { shape, chunks_max: 4, marks_max: 1 };
    let block_pool = BlockPool::<Record<u32>>::new(&Pool::new(Budget::new(1 << 20)), options, 1).unwrap();
    let containers = Containers::new(Arc::clone(&block_pool), 1, Vec::new(), Claiming::default());
    let windows = TumblingWindows::new(Span::from_secs(10)).unwrap();
    let horizon = Horizon::of_windows(windows.into(), Span::ZERO);
    let origin = Origin::new(2, horizon, vec![Arc::clone(&containers.tracker)]);
    let split = |index| {
        let target: Arc<dyn Deposit<u32>> = Arc::<Containers<u32>>::clone(&containers);
        ToContainers::new(target, &block_pool, Epochs::split(Arc::clone(&origin), index))
    };
    ([split(0), split(1)], containers)
}

fn mark(split: &mut ToContainers<u32>, mark: Mark) {
    let clock = VirtualClock::default();
    split.mark(mark, at(ProcessingTime::from_nanos(1)), &clock).unwrap();
    split.flush();
}

fn second(second: i64) -> Mark {
    Mark::Watermark(EventTime::from_secs(second))
}

/// A latency marker of a silent split is dropped and counted, because the split has left its epoch, and this
/// epoch may have ended. A marker of another split is deposited with both of its instants.
#[test]
fn a_marker_of_a_silent_split_is_dropped() {
    let marker = LatencyMarker::new(ProcessingTime::from_nanos(7), ProcessingTime::from_nanos(9_007));
    let latency = Mark::Latency(marker);
    for away in [Mark::Idle, Mark::Watermark(EventTime::MAX)] {
        let ([mut silent, mut other], containers) = splits();
        mark(&mut silent, away);
        mark(&mut other, second(15));
        mark(&mut other, second(25));
        let tracker = &containers.tracker;
        let ends: Vec<Item> = std::iter::from_fn(|| tracker.next_item()).collect();
        assert_eq!(ends.len(), 2, "{ends:?}");
        mark(&mut silent, latency);
        assert_eq!((tracker.bundles_in(), tracker.markers_dropped()), (0, 1));
        mark(&mut other, latency);
        assert_eq!((tracker.bundles_in(), tracker.markers_dropped()), (1, 1), "one that speaks has its own");
        let bundle = containers.claim(0, ProcessingTime::ZERO).unwrap();
        assert_eq!(bundle.marker, Some(marker));
    }
}

/// A split at the end of time deposits records of the last instant into an epoch without an end. This epoch
/// stays open until the split's step is over.
#[test]
fn records_at_the_end_of_time_are_deposited_before_their_epoch_ends() {
    let ([mut ending, mut other], containers) = splits();
    let tracker = &containers.tracker;
    mark(&mut ending, Mark::Watermark(EventTime::MAX));
    mark(&mut other, second(15));
    mark(&mut other, second(25));
    let record = Record::new(EventTime::MAX, 1);
    ending.open(at(ProcessingTime::from_nanos(1))).push(record);
    ending.flush();
    mark(&mut other, second(35));
    let bundle = containers.claim(0, ProcessingTime::ZERO).unwrap();
    assert_eq!((bundle.epoch, bundle.late_by), (2, EventTime::MAX));
    let ends = || std::iter::from_fn(|| tracker.next_item()).count();
    assert_eq!(ends(), 2, "what is not consumed does not end");
    tracker.consume(bundle.epoch, 1);
    assert_eq!(ends(), 1);
    bundle.block.into_iter().for_each(|block| block.give_back(true));
}
