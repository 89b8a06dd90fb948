//! Generated trips are repeatable, and distributed as the recorded ones.

use std::collections::BTreeMap;

use super::*;

fn near(share: f64, expected: f64, tolerance: f64) {
    assert!((share - expected).abs() < tolerance, "{share} is not within {tolerance} of {expected}");
}

fn share(generator: &NytGenerator, which: impl Fn(&Trip) -> bool) -> f64 {
    generator.cache().iter().filter(|trip| which(trip)).count() as f64 / CACHE_TRIPS as f64
}

#[test]
fn a_seed_repeats_its_trips() {
    let (first, same, other) = (NytGenerator::new(7), NytGenerator::new(7), NytGenerator::new(8));
    assert!(first.cache() == same.cache());
    assert!(first.cache() != other.cache());
    let value = |index| first.value(index, EventTime::EPOCH);
    assert_eq!(value(5), value(5 + CACHE_TRIPS as u64));
    assert_eq!(value(5), first.cache()[5]);
    assert_eq!(first.cache_bytes(), 4 << 20);
}

/// Distances of generated trips have the quantiles that the benchmark's description gives for
/// recorded trips.
#[test]
fn distances_have_the_recorded_quantiles() {
    let generator = NytGenerator::new(1);
    for (quantile, miles) in [(0.1, 0.71), (0.25, 1.16), (0.5, 2.1), (0.75, 4.13), (0.9, 7.9), (0.99, 18.6)] {
        near(share(&generator, |trip| trip.distance_miles <= miles), quantile, 0.006);
    }
    assert!(generator.cache().iter().all(|trip| (0.0..=40.0).contains(&trip.distance_miles)));
    assert_eq!((distance_at(0.0), distance_at(0.5)), (0.0, 2.1));
    assert!(distance_at(1.0f64.next_down()) <= 40.0);
}

#[test]
fn vendors_and_missing_places_have_their_shares() {
    let generator = NytGenerator::new(1);
    near(share(&generator, |trip| trip.vendor == Vendor::Vts), 0.989, 0.002);
    near(share(&generator, |trip| trip.pickup == Place { longitude: 0.0, latitude: 0.0 }), 0.021, 0.002);
    // Trips are counted by the conditions of the query; of the 14,987 recorded trips 11,762 count.
    let counted = |trip: &Trip| {
        trip.vendor == Vendor::Vts && trip.distance_miles > 1.0 && Cell::around(trip.pickup).is_some()
    };
    near(share(&generator, counted), 11_762.0 / 14_987.0, 0.02);
}

/// Few cells have most of the generated trips, as in the recording, and nearly all cells have some.
#[test]
fn cells_are_as_crowded_as_recorded() {
    let generator = NytGenerator::new(1);
    let mut trips: BTreeMap<Cell, usize> = BTreeMap::new();
    for cell in generator.cache().iter().filter_map(|trip| Cell::around(trip.pickup)) {
        *trips.entry(cell).or_default() += 1;
    }
    assert!((1_330..=CELL_COUNT).contains(&trips.len()), "{} cells", trips.len());
    let mut counts: Vec<usize> = trips.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let all: usize = counts.iter().sum();
    for (ranks, recorded) in [(10, 0.07), (50, 0.25), (100, 0.40), (200, 0.62), (400, 0.86)] {
        near(counts[..ranks].iter().sum::<usize>() as f64 / all as f64, recorded, 0.03);
    }
}
