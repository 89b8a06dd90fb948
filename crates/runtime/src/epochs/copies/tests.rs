//! Tests of merging: the state that the copies of a task have gathered is merged exactly once, whichever
//! tasks do the merging.

use thalweg_memory::{BlockPool, BlockShape, Budget, EdgeOptions, Pool};

use super::*;
use crate::epochs::Claiming;

/// Makes copies, each of which has gathered a number in epoch 0: 1, 2, 4 and so on.
fn copies(count: usize) -> (Arc<Copies<u32>>, Arc<EpochTracker>) {
    let shape = BlockShape { block_records: 1, chunk_blocks: 1 };
    let options = EdgeOptions { shape, chunks_max: 2, marks_max: 1 };
    let block_pool = BlockPool::<u32>::new(&Pool::new(Budget::new(1 << 20)), options, 1).unwrap();
    let tracker = EpochTracker::new(1, Vec::new(), block_pool, Claiming::default());
    let copies = Arc::new(Copies::new(count, Arc::clone(&tracker)));
    for copy in 0..count {
        let gathered =
            Gathered { epoch: 0, chain: 1 << copy, late_by: EventTime::MIN, bytes: MERGED_ALONE_BYTES };
        copies.put_down(copy, gathered);
    }
    (copies, tracker)
}

fn merge_one(copies: &Copies<u32>) -> bool {
    let Some(mut pair) = copies.take_pair() else { return false };
    pair.whole.1 += std::mem::take(&mut pair.part.1);
    copies.put_whole(pair);
    true
}

#[cfg(not(loom))]
#[test]
fn a_single_worker_puts_all_together() {
    for count in 2..9 {
        let (copies, tracker) = copies(count);
        let (parts, is_much) = copies.take(0);
        assert!(is_much && parts.len() == count);
        copies.begin_merging(parts);
        let mut merges = 0;
        while merge_one(&copies) {
            merges += 1;
            assert_eq!(tracker.closable_epochs(), merges);
        }
        assert_eq!(
            (copies.end_merging().map(|(_, sum)| sum), merges),
            (Some((1 << count) - 1), count as u64 - 1)
        );
        assert_eq!((tracker.closable_epochs(), tracker.pairs_waiting()), (0, 0));
    }
}

/// A copy of an operator chain pays for the state that it has gathered in an epoch until that state is merged
/// and the emptied chain is back at the copy.
#[cfg(not(loom))]
#[test]
fn state_that_is_being_merged_is_still_paid_for() {
    let (copies, _) = copies(2);
    let held = |copies: &Copies<u32>| [copies.held_bytes(0), copies.held_bytes(1)];
    copies.begin_merging(copies.take(0).0);
    assert_eq!(held(&copies), [MERGED_ALONE_BYTES; 2]);
    let mut pair = copies.take_pair().expect("two copies are a pair");
    pair.whole.1 += std::mem::take(&mut pair.part.1);
    let (whole, part) = (pair.whole.0, pair.part.0);
    copies.put_whole(pair);
    assert_eq!((copies.held_bytes(whole), copies.held_bytes(part)), (2 * MERGED_ALONE_BYTES, 0));
    let (copy, chain) = copies.end_merging().expect("one chain is left");
    copies.give_back(copy, chain);
    assert_eq!(held(&copies), [0; 2]);
}

/// Each time a pair of chains is taken or put down, the version that other tasks read changes, whatever
/// the numbers of pairs are. The sum of waiting pairs and twice the merged pairs would not do as a
/// version: it is equal for one merged and three waiting, and for two merged and one waiting.
#[cfg(not(loom))]
#[test]
fn every_merge_is_seen_by_others() {
    let (copies, tracker) = copies(8);
    let mut versions = vec![tracker.closed()];
    copies.begin_merging(copies.take(0).0);
    versions.push(tracker.closed());
    assert!(merge_one(&copies));
    assert_eq!((tracker.pairs_waiting(), tracker.closable_epochs()), (3, 1));
    versions.push(tracker.closed());
    let hands: Vec<_> = (0..3).filter_map(|_| copies.take_pair()).collect();
    let [first, ..] = <[_; 3]>::try_from(hands).unwrap_or_else(|_| panic!("there are three pairs"));
    copies.put_whole(first);
    assert_eq!((tracker.pairs_waiting(), tracker.closable_epochs()), (1, 2));
    versions.push(tracker.closed());
    assert!(versions.is_sorted_by(|earlier, later| earlier < later), "{versions:?}");
}

#[cfg(not(loom))]
#[test]
fn little_is_put_together_by_whoever_closes_it() {
    let (copies, _tracker) = copies(1);
    assert!(copies.take(1).0.is_empty());
    let picked = copies.pick_up(0, 0).unwrap();
    assert_eq!((picked.chain, picked.epoch), (1, 0));
    assert_eq!(copies.put_down(0, Gathered { bytes: 7, ..picked }), 7);
    assert!(!copies.take(0).1);
    copies.give_back(0, 0);
    assert_eq!(copies.pick_up(0, 3).map(|spare| (spare.chain, spare.epoch)), Some((0, 3)));
}

/// A thread reads the counters of a merge while a helper and the task that closes the epoch change them.
/// It never sees more merged pairs acted on than were merged.
#[cfg(loom)]
#[test]
fn a_reader_sees_no_more_acted_on_than_done() {
    use loom::thread;
    crate::models::model(|| {
        let (copies, tracker) = copies(3);
        let (parts, _is_much) = copies.take(0);
        copies.begin_merging(parts);
        let helper = {
            let copies = Arc::clone(&copies);
            thread::spawn(move || _ = merge_one(&copies))
        };
        let closing = {
            let copies = Arc::clone(&copies);
            thread::spawn(move || {
                merge_one(&copies);
                copies.end_merging().is_some()
            })
        };
        let look = thread::spawn(move || assert!(tracker.closable_epochs() <= 2));
        helper.join().unwrap();
        let _is_whole = closing.join().unwrap();
        look.join().unwrap();
    });
}

/// A helper and the task that closes the epoch merge chains at the same time. The last chain contains the
/// state of all others, and no chain is merged twice.
#[cfg(loom)]
#[test]
fn two_put_parts_together() {
    use loom::thread;
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    builder.check(|| {
        let (copies, _tracker) = copies(3);
        let (parts, _is_much) = copies.take(0);
        copies.begin_merging(parts);
        let helper = {
            let copies = Arc::clone(&copies);
            thread::spawn(move || while merge_one(&copies) {})
        };
        let sum = loop {
            while merge_one(&copies) {}
            if let Some((_, sum)) = copies.end_merging() {
                break sum;
            }
            thread::yield_now();
        };
        assert_eq!(sum, 7);
        helper.join().unwrap();
        assert!(copies.take_pair().is_none());
    });
}
