//! The life of containers: step by step, and under loom, which searches every interleaving of the parties
//! that deposit, consume and assign ends.

use thalweg_memory::{BlockPool, BlockShape, Budget, EdgeOptions, Pool};

use super::*;

/// A tracker with a block pool of its own and two work queues.
fn tracker(outlets: Vec<Arc<EpochTracker>>) -> Arc<EpochTracker> {
    let shape = BlockShape { block_records: 1, chunk_blocks: 1 };
    let options = EdgeOptions { shape, chunks_max: 2, marks_max: 1 };
    let block_pool = BlockPool::<u32>::new(&Pool::new(Budget::new(1 << 20)), options, 1).unwrap();
    EpochTracker::new(2, outlets, block_pool, Claiming::default())
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
            Item::Marker(intended) => format!("L{}", intended.as_nanos()),
            Item::Idle => "idle".to_owned(),
            Item::Over => "over".to_owned(),
        };
        let shown: Vec<String> = std::iter::from_fn(|| tracker.next_item()).map(show).collect();
        shown.join(" ")
    }

    /// An epoch is retrieved when it has its end, all its blocks are consumed, and all epochs before it are
    /// retrieved.
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
        tracker.mark_latency(ProcessingTime::from_nanos(7));
        tracker.consume(0, 1);
        assert!(tracker.is_over());
        let last = i64::MAX / 1_000_000;
        assert_eq!(items(&tracker), format!("L7 0@{last} over"));
    }

    /// A stage without state passes its ends on when all blocks of the epoch are consumed, and not before.
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

    #[test]
    fn no_more_markers_wait_than_may() {
        let tracker = tracker(Vec::new());
        (0..MARKERS_MAX as u64 + 3).for_each(|nanos| tracker.mark_latency(ProcessingTime::from_nanos(nanos)));
        assert_eq!((tracker.items_waiting(), tracker.markers_dropped()), (MARKERS_MAX as u64, 3));
        items(&tracker);
        tracker.mark_latency(ProcessingTime::from_nanos(1));
        assert_eq!(items(&tracker), "L1");
    }

    /// Silence comes behind all epochs that had their ends before it, however long their blocks wait.
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

    /// Silence is passed on from tracker to tracker: blocks derived from those before it are consumed before
    /// it is announced.
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

    /// Records that return before the silence is announced do not overtake it, and it does not overtake what
    /// was before it.
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

    /// A copy without bundles of its own gets the instant at which it may take those of the other work queue.
    /// It is never asked to look again at once.
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

    /// The last consumer against the assignment of the end: the second of them retrieves the container, once,
    /// and sees the gathered state.
    #[test]
    fn an_epoch_is_retrieved_once_by_the_last() {
        model(|| {
            let tracker = tracker(Vec::new());
            let gathered = Arc::new(AtomicU32::new(0));
            [0, 0].into_iter().for_each(|epoch| _ = tracker.count_in(epoch));
            let consumer = || {
                let (tracker, gathered) = (Arc::clone(&tracker), Arc::clone(&gathered));
                thread::spawn(move || {
                    // Relaxed: the count of bundles makes the gathered state visible.
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

    /// Silence against the last consumers of the epochs around it: it is announced once, in its place,
    /// through two stages.
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

    /// A round, or a neighbour, reads the counters of items while they are put and taken: it sees no more
    /// taken than put.
    #[test]
    fn a_reader_sees_no_more_items_taken_than_put() {
        model(|| {
            let tracker = tracker(Vec::new());
            let put = {
                let tracker = Arc::clone(&tracker);
                thread::spawn(move || {
                    (1..=2).for_each(|nanos| tracker.mark_latency(ProcessingTime::from_nanos(nanos)));
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

    /// A watermark passes between two stages: derived blocks are deposited before the end comes behind them.
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
