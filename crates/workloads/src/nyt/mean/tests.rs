//! Tests of the mean distance: merging of parts, and its compensated sum.

use proptest::prelude::*;
use thalweg_model::{StateReader, StateWriter};

use super::*;
use crate::nyt::trip::{Place, Vendor};

fn folded(distances: &[f64]) -> DistanceSum {
    let mut accumulator = Fold::<f64>::create(&MeanDistance);
    distances.iter().for_each(|distance| MeanDistance.fold(&mut accumulator, distance));
    accumulator
}

fn merged(left: DistanceSum, right: DistanceSum) -> DistanceSum {
    let mut accumulator = left;
    Fold::<f64>::merge(&MeanDistance, &mut accumulator, right);
    accumulator
}

fn check(distances: &[f64], expected_mean: f64) {
    let summary = Fold::<f64>::finish(&MeanDistance, folded(distances));
    assert_eq!(summary, TripSummary { trips: distances.len() as u64, mean_distance_miles: expected_mean });
}

#[test]
fn trips_are_counted_and_averaged() {
    check(&[3.0], 3.0);
    check(&[1.5, 2.5], 2.0);
    // A plain sum of doubles gives 0 here, because the small number is lost.
    check(&[1e100, 1.0, -1e100], 1.0 / 3.0);
    check(&[1.0, 1e100, -1e100], 1.0 / 3.0);
    // A plain sum of these ten million doubles is wrong in the tenth digit.
    check(&[0.1; 10_000_000], 0.1);
    assert!(Fold::<f64>::finish(&MeanDistance, folded(&[])).mean_distance_miles.is_nan());
}

#[test]
fn a_trip_counts_by_its_distance() {
    let pickup = Place { longitude: 0.0, latitude: 0.0 };
    let mut accumulator = Fold::<Trip>::create(&MeanDistance);
    MeanDistance.fold(&mut accumulator, &Trip { distance_miles: 2.5, pickup, vendor: Vendor::Vts });
    Fold::<Trip>::merge(&MeanDistance, &mut accumulator, folded(&[1.5]));
    let summary = Fold::<Trip>::finish(&MeanDistance, accumulator);
    assert_eq!(summary, TripSummary { trips: 2, mean_distance_miles: 2.0 });
}

#[test]
fn saved_sums_go_on() {
    let mut writer = StateWriter::default();
    writer.put(&folded(&[0.1, 0.2])).unwrap();
    let bytes = writer.into_bytes();
    assert_eq!(StateReader::new(&bytes).take::<DistanceSum>(), Ok(folded(&[0.1, 0.2])));
}

proptest! {
    /// Parts of the input may be folded apart and merged in any order: the mean distance is the
    /// same.
    #[test]
    fn merging_is_folding(
        distances in prop::collection::vec(prop_oneof![0.0f64..50.0, 0.0f64..1e9, Just(1e-9)], 1..200),
        cuts in prop::collection::vec(0usize..200, 0..6),
    ) {
        let whole = Fold::<f64>::finish(&MeanDistance, folded(&distances));
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(distances.len())).collect();
        cuts.extend([0, distances.len()]);
        cuts.sort_unstable();
        let part = |pair: &[usize]| folded(&distances[pair[0]..pair[1]]);
        let parts: Vec<DistanceSum> = cuts.windows(2).map(part).collect();
        let empty = Fold::<f64>::create(&MeanDistance);
        let forward = parts.iter().fold(empty, |left, &right| merged(left, right));
        let backward = parts.iter().fold(empty, |left, &right| merged(right, left));
        for sum in [forward, backward] {
            let summary = Fold::<f64>::finish(&MeanDistance, sum);
            prop_assert_eq!(summary.trips, whole.trips);
            let error = (summary.mean_distance_miles - whole.mean_distance_miles).abs();
            prop_assert!(error <= 1e-12 * whole.mean_distance_miles, "{:?} against {:?}", summary, whole);
        }
    }
}
