//! Generated probes are repeatable, and distributed as the recorded ones.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() < tolerance, "{found} is not within {tolerance} of {expected}");
}

#[test]
fn a_seed_repeats_its_probes() {
    let (first, same, other) = (NetmonGenerator::new(7), NetmonGenerator::new(7), NetmonGenerator::new(8));
    assert!(first.cache() == same.cache());
    assert!(first.cache() != other.cache());
    let value = |index| first.value(index, EventTime::EPOCH);
    assert_eq!(value(5), value(5 + CACHE_PROBES as u64));
    assert_eq!(value(5), first.cache()[5]);
    assert_eq!(first.cache_bytes(), 16_000_000);
}

#[test]
fn round_trip_times_have_the_recorded_quantiles() {
    let generator = NetmonGenerator::new(1);
    let mut rtts: Vec<f64> = generator.cache().iter().map(|probe| probe.rtt).collect();
    rtts.sort_unstable_by(f64::total_cmp);
    assert!(0.0 < rtts[0] && rtts[CACHE_PROBES - 1] <= 23.3);
    // There are few pairs of machines, so the quantiles of their usual round-trip times scatter.
    for (quantile, rtt, tolerance) in [
        (0.1, 0.04, 0.011),
        (0.25, 0.11, 0.011),
        (0.5, 0.21, 0.011),
        (0.75, 0.43, 0.011),
        (0.9, 0.54, 0.011),
        (0.99, 1.5, 0.15),
    ] {
        near(rtts[(quantile * CACHE_PROBES as f64) as usize], rtt, tolerance);
    }
    assert_eq!((rtt_at(0.0), rtt_at(0.5)), (0.01, 0.21));
    assert!(rtt_at(1.0f64.next_down()) <= 23.3);
}

/// As in the recording, the mean round-trip times differ between pairs, so that a mix-up of two
/// pairs would show.
#[test]
fn round_trip_times_differ_by_pair() {
    let generator = NetmonGenerator::new(1);
    let mut by_pair: BTreeMap<IpPair, Vec<f64>> = BTreeMap::new();
    for probe in generator.cache() {
        by_pair.entry(probe.pair).or_default().push(probe.rtt.ln());
    }
    assert_eq!(by_pair.len(), PAIR_COUNT);
    assert!(by_pair.keys().all(|pair| pair.source != pair.destination));
    assert!(by_pair.values().all(|probes| (50..200).contains(&probes.len())), "pairs are drawn evenly");
    let mean = |logs: &[f64]| logs.iter().sum::<f64>() / logs.len() as f64;
    let all: Vec<f64> = by_pair.values().flatten().copied().collect();
    let overall = mean(&all);
    let (mut within, mut total) = (0.0, 0.0);
    for logs in by_pair.values() {
        let usual = mean(logs);
        within += logs.iter().map(|log| (log - usual).powi(2)).sum::<f64>();
        total += logs.iter().map(|log| (log - overall).powi(2)).sum::<f64>();
    }
    near(within / total, 0.46, 0.02);
    near(total / all.len() as f64, 1.1, 0.1);
}

/// A chosen number of pairs is the number that occurs, down to one.
#[test]
fn pairs_are_as_many_as_asked_for() {
    for count in [1, 2, 3, 7, 10_000, 100_000] {
        let generator = NetmonGenerator::of_pairs(3, count);
        let found: BTreeSet<IpPair> = generator.cache().iter().map(|probe| probe.pair).collect();
        assert!(found.len() <= count && count - found.len() <= count / 1_000, "{} of {count}", found.len());
        assert!(found.iter().all(|pair| pair.source != pair.destination));
    }
    assert!(NetmonGenerator::of_pairs(7, PAIR_COUNT).cache() == NetmonGenerator::new(7).cache());
}
