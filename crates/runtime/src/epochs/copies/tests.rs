//! What copies have gathered is put together, once each, whoever does it.

use thalweg_memory::{BlockShape, Budget, Depot, EdgeOptions, Pool};

use super::*;
use crate::epochs::Claiming;

/// Copies that have gathered a number each in epoch 0: 1, 2, 4 and so on.
fn copies(count: usize) -> (Arc<Copies<u32>>, Arc<Ledger>) {
    let shape = BlockShape { block_records: 1, chunk_blocks: 1 };
    let options = EdgeOptions { shape, chunks_max: 2, marks_max: 1 };
    let depot = Depot::<u32>::new(&Pool::new(Budget::new(1 << 20)), options, 1).unwrap();
    let ledger = Ledger::new(1, Vec::new(), depot, Claiming::default());
    let copies = Arc::new(Copies::new(count, Arc::clone(&ledger)));
    for copy in 0..count {
        let gathered =
            Gathered { epoch: 0, chain: 1 << copy, late_by: EventTime::MIN, bytes: MERGED_ALONE_BYTES };
        copies.put_down(copy, gathered);
    }
    (copies, ledger)
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
        let (copies, ledger) = copies(count);
        let (parts, is_much) = copies.take(0);
        assert!(is_much && parts.len() == count);
        copies.begin_merging(parts);
        let mut merges = 0;
        while merge_one(&copies) {
            merges += 1;
            assert_eq!(ledger.closings_waiting(), merges);
        }
        assert_eq!(
            (copies.end_merging().map(|(_, sum)| sum), merges),
            (Some((1 << count) - 1), count as u64 - 1)
        );
        assert_eq!((ledger.closings_waiting(), ledger.pairs_waiting()), (0, 0));
    }
}

#[cfg(not(loom))]
#[test]
fn little_is_put_together_by_whoever_closes_it() {
    let (copies, _ledger) = copies(1);
    assert!(copies.take(1).0.is_empty());
    let picked = copies.pick_up(0, 0).unwrap();
    assert_eq!((picked.chain, picked.epoch), (1, 0));
    assert_eq!(copies.put_down(0, Gathered { bytes: 7, ..picked }), 7);
    assert!(!copies.take(0).1);
    copies.give_back(0, 0);
    assert_eq!(copies.pick_up(0, 3).map(|spare| (spare.chain, spare.epoch)), Some((0, 3)));
}

/// A helper and whoever closes the epoch: all parts are in the one that is left, and nothing is done twice.
#[cfg(loom)]
#[test]
fn two_put_parts_together() {
    use loom::thread;
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    builder.check(|| {
        let (copies, _ledger) = copies(3);
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
