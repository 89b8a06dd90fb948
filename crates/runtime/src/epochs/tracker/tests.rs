//! Tests of the life of epochs: step by step, and under loom, which tries every interleaving of the parties
//! that deposit, consume and assign ends.

use thalweg_memory::{BlockPool, BlockShape, Budget, EdgeOptions, Pool};

use super::*;

/// Makes an epoch tracker with a block pool of its own and two work queues.
fn tracker(outlets: Vec<Arc<EpochTracker>>) -> Arc<EpochTracker> {
    let shape = BlockShape { block_records: 1, chunk_blocks: 1 };
    let options = EdgeOptions { shape, chunks_max: 2, marks_max: 1 };
    let block_pool = BlockPool::<u32>::new(&Pool::new(Budget::new(1 << 20)), options, 1).unwrap();
    EpochTracker::new(2, outlets, block_pool, Claiming::default())
}

/// Makes a latency marker for a record that was taken in when it should have been sent.
fn marker(nanos: u64) -> LatencyMarker {
    let intended = ProcessingTime::from_nanos(nanos);
    LatencyMarker::new(intended, intended)
}

#[cfg(not(loom))]
mod by_hand {
    use super::*;

    fn instant(second: i64) -> EventTime {
        EventTime::from_secs(second)
    }

    fn items(tracker: &EpochTracker) -> String {
        let show = |item| match item {
            Item::End { epoch, watermark } => format!("{epoch}@{}", watermark.as_micros() / 1_000_000),
            Item::Marker(marker) => format!("L{}", marker.intended().as_nanos()),
            Item::Idle => "idle".to_owned(),
            Item::Over => "over".to_owned(),
        };
        let shown: Vec<String> = std::iter::from_fn(|| tracker.next_item()).map(show).collect();
        shown.join(" ")
    }

    /// An epoch is complete when it has its end, all its blocks are consumed, and all epochs before it are
    /// complete.
    #[test]
    fn epochs_are_retrieved_in_order() {
        let tracker = tracker(Vec::new());
        [0, 0, 1, 2].into_iter().for_each(|epoch| assert_eq!(tracker.count_in(epoch), epoch));
        tracker.consume(1, 1);
        tracker.consume(0, 1);
        tracker.assign_end(instant(10));
        tracker.assign_end(instant(20));
        assert_eq!((items(&tracker), tracker.items_waiting()), (String::new(), 0));
        tracker.consume(0, 1);
        assert_eq!((items(&tracker), tracker.oldest()), ("0@10 1@20".to_owned(), 0));
        tracker.release(0);
        tracker.release(1);
        assert_eq!(tracker.oldest(), 2);
        tracker.end();
        assert_eq!((items(&tracker), tracker.is_over()), ("over".to_owned(), true));
    }

    #[test]
    fn the_end_comes_behind_all_epochs() {
        let tracker = tracker(Vec::new());
        tracker.count_in(0);
        tracker.assign_end(EventTime::MAX);
        tracker.end();
        assert!(!tracker.is_over());
        tracker.mark_latency(marker(7));
        tracker.consume(0, 1);
        assert!(tracker.is_over());
        let last = i64::MAX / 1_000_000;
        assert_eq!(items(&tracker), format!("L7 0@{last} over"));
    }

    /// A task without state passes the end of an epoch on when all blocks of the epoch are consumed, and not
    /// before.
    #[test]
    fn ends_are_handed_on() {
        let last = tracker(Vec::new());
        let first = tracker(vec![Arc::clone(&last)]);
        first.count_in(0);
        first.assign_end(instant(10));
        assert_eq!((items(&last), first.closed()), (String::new(), 0));
        last.count_in(0);
        first.consume(0, 1);
        assert_eq!((items(&last), first.oldest()), (String::new(), 0));
        last.consume(0, 1);
        assert_eq!((items(&last), first.closed()), ("0@10".to_owned(), 1));
        last.release(0);
        assert_eq!(first.oldest(), 1);
        first.end();
        assert_eq!((items(&last), first.is_over(), last.is_over()), ("over".to_owned(), true, true));
    }

    /// An open container is an epoch with blocks that are not consumed, whether its end is known or not.
    /// Tasks downstream have containers of their own.
    #[test]
    fn containers_with_unconsumed_blocks_are_counted() {
        let last = tracker(Vec::new());
        let first = tracker(vec![Arc::clone(&last)]);
        let found = || (first.open_containers(), last.open_containers());
        (0..3u64).for_each(|epoch| first.open(epoch, instant(10 * epoch as i64 + 10)));
        assert_eq!(found(), (0, 0));
        [0, 0, 1, 2].into_iter().for_each(|epoch| _ = first.count_in(epoch));
        last.count_in(0);
        assert_eq!(found(), (3, 1));
        first.consume(1, 1);
        first.consume(0, 1);
        assert_eq!(found(), (2, 1));
        first.assign_end(instant(10));
        first.consume(0, 1);
        assert_eq!(found(), (1, 1));
        last.consume(0, 1);
        last.release(0);
        assert_eq!(found(), (1, 0));
    }

    #[test]
    fn no_more_markers_wait_than_may() {
        let tracker = tracker(Vec::new());
        (0..MARKERS_MAX as u64 + 3).for_each(|nanos| tracker.mark_latency(marker(nanos)));
        assert_eq!((tracker.items_waiting(), tracker.markers_dropped()), (MARKERS_MAX as u64, 3));
        items(&tracker);
        tracker.mark_latency(marker(1));
        assert_eq!(items(&tracker), "L1");
    }

    /// The announcement that all splits are silent comes behind all epochs that had their ends by then,
    /// however long their blocks wait.
    #[test]
    fn silence_comes_behind_the_epochs_before_it() {
        let tracker = tracker(Vec::new());
        [0, 1].into_iter().for_each(|epoch| _ = tracker.count_in(epoch));
        tracker.assign_end(instant(10));
        tracker.assign_end(instant(20));
        tracker.fall_idle();
        tracker.consume(1, 1);
        assert_eq!(items(&tracker), "");
        tracker.consume(0, 1);
        assert_eq!(items(&tracker), "0@10 1@20 idle");
    }

    /// The announcement that all splits are silent passes through a chain of parallel tasks. Each task passes
    /// it on only when the blocks deposited before it are consumed.
    #[test]
    fn silence_is_handed_on_in_its_place() {
        let last = tracker(Vec::new());
        let middle = tracker(vec![Arc::clone(&last)]);
        let first = tracker(vec![Arc::clone(&middle)]);
        first.count_in(0);
        first.assign_end(instant(10));
        first.fall_idle();
        middle.count_in(0);
        first.consume(0, 1);
        last.count_in(0);
        middle.consume(0, 1);
        assert_eq!(items(&last), "");
        last.consume(0, 1);
        assert_eq!(items(&last), "0@10 idle");
    }

    /// A split has records again before its silence is announced. The silence is announced all the same, at
    /// its place between the ends of epochs.
    #[test]
    fn silence_keeps_its_place_if_it_is_over_before_it_is_told() {
        let tracker = tracker(Vec::new());
        [0, 1, 2].into_iter().for_each(|epoch| _ = tracker.count_in(epoch));
        tracker.assign_end(instant(10));
        tracker.fall_idle();
        tracker.assign_end(instant(20));
        tracker.fall_idle();
        tracker.fall_idle();
        tracker.assign_end(instant(30));
        [2, 1].into_iter().for_each(|epoch| tracker.consume(epoch, 1));
        assert_eq!(items(&tracker), "");
        tracker.consume(0, 1);
        tracker.fall_idle();
        tracker.end();
        assert_eq!(items(&tracker), "0@10 idle 1@20 idle 2@30 idle over");
    }

    /// A copy whose own work queue is empty gets the instant at which it may claim a bundle of another work
    /// queue. This instant is never now or earlier, so the copy does not look again at once.
    #[test]
    fn what_lies_on_others_work_queues_is_due() {
        let tracker = tracker(Vec::new());
        let at = |nanos| ProcessingTime::from_nanos(nanos);
        assert_eq!(tracker.next_claimable_at(0, at(5)), ProcessingTime::NEVER);
        tracker.work_queues[0].oldest_ns.store(7, Ordering::Relaxed);
        assert_eq!(tracker.next_claimable_at(0, at(7)), ProcessingTime::NEVER);
        assert_eq!(tracker.next_claimable_at(1, at(7)), at(7 + STEAL_AFTER_NS));
        assert_eq!(tracker.next_claimable_at(1, at(9 + STEAL_AFTER_NS)), at(10 + STEAL_AFTER_NS));
    }

    #[test]
    fn silence_is_told_once() {
        let tracker = tracker(Vec::new());
        tracker.fall_idle();
        tracker.fall_idle();
        assert_eq!(items(&tracker), "idle");
    }

    #[test]
    #[should_panic(expected = "2 bundles of epoch 0 are consumed of 1")]
    fn nothing_is_consumed_twice() {
        let tracker = tracker(Vec::new());
        tracker.count_in(0);
        tracker.consume(0, 2);
    }
}

#[cfg(loom)]
mod models {
    use loom::thread;
    use thalweg_memory::sync::AtomicU32;

    use super::*;
    use crate::models::model;

    /// The last two consumers of an epoch's blocks run against the assignment of its end. The last of these
    /// parties completes the epoch, exactly once, and sees all gathered state.
    #[test]
    fn an_epoch_is_retrieved_once_by_the_last() {
        model(|| {
            let tracker = tracker(Vec::new());
            let gathered = Arc::new(AtomicU32::new(0));
            [0, 0].into_iter().for_each(|epoch| _ = tracker.count_in(epoch));
            let consumer = || {
                let (tracker, gathered) = (Arc::clone(&tracker), Arc::clone(&gathered));
                thread::spawn(move || {
                    // Relaxed: the Release and Acquire accesses to the count of unprocessed bundles make the
                    // gathered state visible.
                    gathered.fetch_add(1, Ordering::Relaxed);
                    tracker.consume(0, 1);
                })
            };
            let consumers = [consumer(), consumer()];
            tracker.assign_end(EventTime::MAX);
            tracker.end();
            let mut items = Vec::new();
            while items.len() < 2 {
                match tracker.next_item() {
                    Some(item) => {
                        assert_eq!(
                            gathered.load(Ordering::Relaxed),
                            2,
                            "all is gathered before it is closed"
                        );
                        items.push(item);
                    }
                    None => thread::yield_now(),
                }
            }
            assert_eq!(items, [Item::End { epoch: 0, watermark: EventTime::MAX }, Item::Over]);
            consumers.into_iter().for_each(|consumer| consumer.join().unwrap());
            assert_eq!(tracker.next_item(), None);
        });
    }

    /// A silence is announced while the last blocks before and after it are consumed. It passes through two
    /// parallel tasks, and is announced once and at its place among the ends of epochs.
    #[test]
    fn silence_keeps_its_place() {
        model(|| {
            let last = tracker(Vec::new());
            let first = tracker(vec![Arc::clone(&last)]);
            [0, 1].into_iter().for_each(|epoch| _ = first.count_in(epoch));
            let consumer = |epoch| {
                let first = Arc::clone(&first);
                thread::spawn(move || first.consume(epoch, 1))
            };
            let consumers = [consumer(0), consumer(1)];
            let origin = {
                let first = Arc::clone(&first);
                thread::spawn(move || {
                    first.assign_end(EventTime::EPOCH);
                    first.fall_idle();
                    first.assign_end(EventTime::MAX);
                })
            };
            consumers.into_iter().for_each(|consumer| consumer.join().unwrap());
            origin.join().unwrap();
            let items: Vec<Item> = std::iter::from_fn(|| last.next_item()).collect();
            let end = |epoch, watermark| Item::End { epoch, watermark };
            assert_eq!(items, [end(0, EventTime::EPOCH), Item::Idle, end(1, EventTime::MAX)]);
        });
    }

    /// A thread reads the counters of the closing task's steps while steps are put and taken. It never sees
    /// more steps taken than put.
    #[test]
    fn a_reader_sees_no_more_items_taken_than_put() {
        model(|| {
            let tracker = tracker(Vec::new());
            let put = {
                let tracker = Arc::clone(&tracker);
                thread::spawn(move || {
                    (1..=2).for_each(|nanos| tracker.mark_latency(marker(nanos)));
                })
            };
            let take = {
                let tracker = Arc::clone(&tracker);
                thread::spawn(move || (0..2).filter(|_| tracker.next_item().is_some()).count())
            };
            let look = {
                let tracker = Arc::clone(&tracker);
                thread::spawn(move || assert!(tracker.closable_epochs() <= 2))
            };
            put.join().unwrap();
            look.join().unwrap();
            let taken = take.join().unwrap() as u64;
            assert_eq!(tracker.closable_epochs(), 2 - taken, "whoever is called looks behind a fence");
        });
    }

    /// A watermark passes from one parallel task to the next: the blocks derived in an epoch are deposited
    /// before the epoch's end arrives.
    #[test]
    fn an_end_does_not_overtake_what_it_ends() {
        model(|| {
            let last = tracker(Vec::new());
            let first = tracker(vec![Arc::clone(&last)]);
            first.count_in(0);
            let relay = {
                let (first, last) = (Arc::clone(&first), Arc::clone(&last));
                thread::spawn(move || {
                    last.count_in(0);
                    first.consume(0, 1);
                    last.consume(0, 1);
                })
            };
            first.assign_end(EventTime::MAX);
            first.end();
            relay.join().unwrap();
            assert_eq!(last.next_item(), Some(Item::End { epoch: 0, watermark: EventTime::MAX }));
            assert_eq!(last.next_item(), Some(Item::Over));
            assert!(first.is_over() && last.is_over());
        });
    }
}
