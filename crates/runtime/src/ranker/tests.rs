//! Tests of the ranker: the time between two rounds, and the times at which the policy frees memory.

use thalweg_scheduling::Klink;
use thalweg_scheduling::policy::enjima::{Enjima, EnjimaSettings};

use super::*;
use crate::observer::tests::{at_ms, runs};

/// Makes a ranker with the interval of the paper for metrics, for two workers.
fn ranker(policy: impl Policy + 'static) -> Ranker {
    Ranker::new(Box::new(policy), runs(50_000_000), 2)
}

/// The policy sets the time between two rounds, which is 1 ms by default. A round that takes long is longer.
#[test]
fn the_policy_sets_the_round() {
    let at = |ns| ProcessingTime::from_nanos(ns);
    assert_eq!(Enjima::default().round_ns(), ROUND_NS);
    for (settings, round_ns) in
        [(EnjimaSettings::default(), 1_000_000), (EnjimaSettings::of_round(5_000_000), 5_000_000)]
    {
        let mut ranker = ranker(Enjima::new(settings));
        ranker.prepare(at(7), Memory::default(), |_| false);
        assert_eq!(ranker.observer.snapshot.round_end, at(7 + round_ns));
        assert_eq!(ranker.next_round(at(7), at(8)), at(7 + round_ns));
        assert_eq!(ranker.next_round(at(0), at(100_000)), at(20_000_000));
    }
}

/// A round takes at most 0.5 % of the time. If its thread was stopped for long, the next one comes after 100 ms, or after ten
/// times as long as it took.
#[test]
fn a_round_that_was_stopped_does_not_put_off_the_next_for_long() {
    let mut ranker = ranker(Enjima::default());
    for (took_us, gap_us) in [(100, 20_000), (500, 100_000), (10_000, 100_000), (400_000, 4_000_000)] {
        let [took, gap] = [took_us, gap_us].map(|us: u64| ProcessingTime::from_nanos(us * 1_000));
        assert_eq!(ranker.next_round(ProcessingTime::ZERO, took), gap, "a round of {took_us} us");
    }
}

/// Times for which the policy has chosen so as to free memory count from one round to the next, and each
/// beginning counts once.
#[test]
fn relief_counts_its_beginnings_and_its_time() {
    let mut relief = Relief::default();
    for (is_on, since_ns) in [(false, 5), (true, 7), (true, 10), (false, 20), (true, 40), (false, 1)] {
        relief.note(is_on, since_ns);
    }
    assert_eq!(relief, Relief { is_on: false, times: 2, ns: 31 });
}

/// Klink, section 3.4: the metric shows when the policy frees memory. Here that begins at 80 % of the budget
/// and ends when half of what was used then is free. Memory is looked at once a cycle of 120 ms.
#[test]
fn what_frees_memory_is_counted() {
    let mut ranker = ranker(Klink::default());
    let used = [(1_000, 799), (1_120, 800), (1_240, 401), (1_360, 400), (1_480, 700), (1_600, 900)];
    let mut shown = Vec::new();
    for (ms, used_bytes) in used {
        ranker.prepare(at_ms(ms), Memory { used_bytes, limit_bytes: 1_000 }, |_| false);
        let Relief { is_on, times, ns } = ranker.relief();
        shown.push((is_on, times, ns / 1_000_000));
    }
    let expected =
        [(false, 0, 0), (true, 1, 0), (true, 1, 120), (false, 1, 240), (false, 1, 240), (true, 2, 240)];
    assert_eq!(shown, expected);
}
