//! Tests of how copies of a task claim blocks: step by step, and under loom, which tries every interleaving
//! of the tasks that deposit and claim.

use thalweg_memory::{BlockShape, Budget, EdgeOptions, Pool};

use super::*;

/// Makes empty containers with two work queues.
pub(crate) fn containers(claiming: Claiming) -> Arc<Containers<u32>> {
    let shape = BlockShape { block_records: 1, chunk_blocks: 1 };
    let options = EdgeOptions { shape, chunks_max: 2, marks_max: 1 };
    let block_pool = BlockPool::<Record<u32>>::new(&Pool::new(Budget::new(1 << 20)), options, 2).unwrap();
    Containers::new(block_pool, 2, Vec::new(), claiming)
}

/// Makes a bundle that carries no block.
pub(crate) fn bundle(epoch: u64, arrived_ns: u64) -> Bundle<Block<Record<u32>>> {
    let context = Context { observed: ProcessingTime::from_nanos(arrived_ns), token: None };
    Bundle { block: None, epoch, late_by: EventTime::MIN, marker: None, arrived_ns, context }
}

/// Tests of claims, written as text. `0:e1` is a bundle of epoch 1 deposited on work queue 0, `W` the next
/// assigned end, `<0` a claim of copy 0, and `.` the consumption of everything that was claimed. Results
/// list the claimed epochs in the order of the claims, with `-` for a claim that found nothing. Each deposit
/// is a nanosecond later than the one before.
#[cfg(not(loom))]
mod by_hand {
    use super::*;
    use crate::epochs::Item;

    fn check(claiming: Claiming, input: &str, expected: &str) {
        let containers = containers(claiming);
        let (mut shown, mut claimed, mut ends) = (Vec::new(), Vec::new(), 0);
        for (word, arrived_ns) in input.split_whitespace().zip(1..) {
            if word == "W" {
                ends += 1;
                containers.tracker.assign_end(EventTime::from_secs(ends));
            } else if word == "." {
                claimed.drain(..).for_each(|epoch| containers.tracker.consume(epoch, 1));
                while let Some(Item::End { epoch, .. }) = containers.tracker.next_item() {
                    containers.tracker.release(epoch);
                }
            } else if let Some(copy) = word.strip_prefix('<') {
                let copy = copy.parse().unwrap();
                let is_claimable = containers.tracker.claimable(copy, ProcessingTime::ZERO) > 0;
                let bundle = containers.claim(copy, ProcessingTime::ZERO);
                assert!(is_claimable || bundle.is_none(), "what was claimed could be");
                claimed.extend(bundle.as_ref().map(|bundle| bundle.epoch));
                shown.push(
                    bundle.map_or("-".to_owned(), |bundle| format!("{}@{}", bundle.epoch, bundle.arrived_ns)),
                );
            } else {
                let (core, epoch) = word.split_once(":e").unwrap();
                containers.deposit(core.parse().unwrap(), bundle(epoch.parse().unwrap(), arrived_ns));
            }
        }
        assert_eq!(shown.join(" "), expected, "{input}");
    }

    /// A copy claims the newest bundle of the oldest epoch on its own work queue. It claims no bundle from
    /// another work queue unless that bundle has waited for long.
    #[test]
    fn a_copy_claims_its_own() {
        check(Claiming::default(), "0:e0 0:e0 0:e1 1:e0 <0 <0 <0 <0 <1", "0@2 0@1 1@3 - 0@4");
    }

    #[test]
    fn without_locality_the_oldest_of_all_is_claimed() {
        let claiming = Claiming { is_local: false, ..Claiming::default() };
        check(claiming, "0:e0 0:e0 0:e1 1:e0 <1 <0 <0 <0 <0", "0@1 0@2 0@4 1@3 -");
    }

    /// With the setting `holds_epochs`, no block is claimed before the end of its epoch is assigned, nor
    /// before the previous epoch is complete.
    #[test]
    fn epochs_in_order_are_held() {
        let claiming = Claiming { holds_epochs: true, ..Claiming::default() };
        check(claiming, "0:e0 0:e1 <0 W <0 <0 W <0 . <0 <0", "- 0@1 - - 1@2 -");
    }

    /// With the setting `mixes_epochs`, a block that derives from a later epoch is deposited into the first
    /// epoch without an end.
    #[test]
    fn without_boundaries_epochs_are_mixed() {
        let claiming = Claiming { mixes_epochs: true, ..Claiming::default() };
        check(claiming, "0:e0 0:e3 <0 <0 . W . 0:e3 <0", "0@2 0@1 1@8");
    }
}

#[cfg(loom)]
mod models {
    use loom::thread;

    use super::*;
    use crate::models::model;

    /// The copy that owns a work queue and another copy, which takes bundles that have waited for long,
    /// claim at the same time. Every bundle is claimed once, and the counts that tell other copies where to
    /// look agree with the work queue.
    #[test]
    fn a_bundle_is_claimed_once_by_whichever_copy() {
        model(|| {
            let containers = containers(Claiming::default());
            let claim_all = |containers: &Containers<u32>, copy| {
                let next = || containers.claim(copy, ProcessingTime::NEVER);
                let claimed: Vec<(u64, u64)> =
                    std::iter::from_fn(next).map(|bundle| (bundle.epoch, bundle.arrived_ns)).collect();
                claimed
            };
            let thief = {
                let containers = Arc::clone(&containers);
                thread::spawn(move || claim_all(&containers, 1))
            };
            containers.deposit(0, bundle(0, 1));
            containers.deposit(0, bundle(1, 2));
            let mut claimed = claim_all(&containers, 0);
            claimed.extend(thief.join().unwrap());
            claimed.sort_unstable();
            assert_eq!(claimed, [(0, 1), (1, 2)]);
            assert_eq!(containers.tracker.claimable(0, ProcessingTime::NEVER), 0);
            assert_eq!(containers.tracker.bundles_waiting(), 0);
        });
    }

    /// A thread reads the counts of a work queue while bundles are put on it and claimed. It never sees more
    /// bundles go out than came in.
    #[test]
    fn a_reader_sees_no_more_go_out_than_came_in() {
        model(|| {
            let containers = containers(Claiming::default());
            let deposit = {
                let containers = Arc::clone(&containers);
                thread::spawn(move || containers.deposit(0, bundle(0, 1)))
            };
            let claim = {
                let containers = Arc::clone(&containers);
                thread::spawn(move || containers.claim(0, ProcessingTime::NEVER).is_some())
            };
            let look = {
                let containers = Arc::clone(&containers);
                thread::spawn(move || {
                    assert!(containers.tracker.claimable(1, ProcessingTime::NEVER) <= 1);
                    assert!(containers.tracker.bundles_waiting() <= 1);
                })
            };
            deposit.join().unwrap();
            look.join().unwrap();
            let is_claimed = claim.join().unwrap();
            assert_eq!(containers.tracker.bundles_waiting(), u64::from(!is_claimed));
        });
    }

    /// A copy that is notified after a deposit finds the deposited bundle, even though it reads the counts
    /// without taking a lock first.
    #[test]
    fn what_is_deposited_before_a_call_is_found() {
        model(|| {
            let containers = containers(Claiming::default());
            let depositor = {
                let containers = Arc::clone(&containers);
                thread::spawn(move || containers.deposit(0, bundle(0, 1)))
            };
            let early = containers.claim(0, ProcessingTime::NEVER).is_some();
            depositor.join().unwrap();
            let late = containers.claim(1, ProcessingTime::NEVER).is_some();
            assert!(early != late, "one of the two has it");
        });
    }
}
