//! Tests of Linear Road's generated traffic: it is repeatable, has no seams, has the shares that it promises,
//! and is plausible under the full rules.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use thalweg_model::Record;

use super::*;
use crate::lrb::csv;
use crate::lrb::report::{Direction, ENTRY_LANE, EXIT_LANE};
use crate::reference::lrb_full::{LrbColumns, lrb_full};

const PERIOD_S: u64 = ROUNDS as u64 * ROUND_S;

static ONE_XWAY: LazyLock<LrbGenerator> = LazyLock::new(|| generator(42, RECORDS_PER_XWAY_S));

fn generator(seed: u64, rate_per_s: u64) -> LrbGenerator {
    LrbGenerator::new(LrbOptions { seed, rate_per_s: NonZeroU64::new(rate_per_s).unwrap() })
}

fn value(generator: &LrbGenerator, index: u64) -> LrbRecord {
    generator.value(index, EventTime::EPOCH)
}

/// Returns the reports that the generator makes for a range of seconds of a single expressway, each with its
/// second.
fn reports(seconds: std::ops::Range<u64>) -> impl Iterator<Item = (u64, PositionReport)> {
    let indexes = seconds.start * RECORDS_PER_XWAY_S..seconds.end * RECORDS_PER_XWAY_S;
    indexes.filter_map(|index| match value(&ONE_XWAY, index) {
        LrbRecord::Report(report) => Some((index / RECORDS_PER_XWAY_S, report)),
        _ => None,
    })
}

#[test]
fn a_seed_repeats_its_traffic() {
    let (same, other) = (generator(42, RECORDS_PER_XWAY_S), generator(43, RECORDS_PER_XWAY_S));
    let first = |generator| (0..5_000).map(|index| value(generator, index)).collect::<Vec<_>>();
    assert!(ONE_XWAY.cache == same.cache);
    assert!(first(&ONE_XWAY) == first(&same));
    assert!(first(&ONE_XWAY) != first(&other));
    assert_eq!(ONE_XWAY.cache_bytes(), 80 * 30_000 * 16 + 16);
}

#[test]
fn a_cursor_gives_the_values_in_turn() {
    for generator in [generator(1, 5_500), generator(2, 1), generator(3, 100_000)] {
        let round = generator.rate_per_s().get() * ROUND_S;
        for index in [0, 1, round - 3, 7 * round + 5, ROUNDS as u64 * round - 2] {
            let taken = generator.records_from(index).take(3_000);
            for (index, record) in (index..).zip(taken) {
                assert_eq!(record, value(&generator, index), "record {index} at {round} a round");
            }
        }
    }
}

/// Every generated record of more than one period is a valid row of Linear Road's file.
#[test]
fn every_record_is_a_row_of_the_benchmark() {
    for generator in [generator(1, 5_500), generator(2, 1), generator(3, 100_000)] {
        for index in (0..3 * CACHE_RECORDS as u64).step_by(37) {
            let record = Record::new(EventTime::from_secs(7), value(&generator, index));
            let fields = csv::columns_of(&record).map(|number| number.to_string());
            assert_eq!(csv::record_of(|n| fields.get(n).map(String::as_str)), Ok(record));
        }
    }
}

/// A car reports every 30 s on its way from the entry lane to the exit lane, and never drives back. This also
/// holds at the beginning of the input and at the end of each period.
#[test]
fn journeys_are_whole_across_periods() {
    let mut under_way: BTreeMap<u32, (u64, u64, PositionReport)> = BTreeMap::new();
    let mut exited: BTreeSet<u32> = BTreeSet::new();
    let (mut journeys, mut reentries) = (0, 0);
    for (second, report) in reports(0..2 * PERIOD_S + 100) {
        let vehicle = report.vehicle;
        let before = under_way.remove(&vehicle);
        let rounds = before.map_or(1, |(_, rounds, _)| rounds + 1);
        if let Some((last_second, _, last)) = before {
            assert_eq!(second, last_second + 30, "{report:?} is not one round behind {last:?}");
            assert_eq!((report.direction, report.xway), (last.direction, 0));
            let feet = i64::from(report.position_feet) - i64::from(last.position_feet);
            let feet = if report.direction == Direction::East { feet } else { -feet };
            let expected = i64::from(report.speed_mph) * 44;
            // The tolerance of 100 feet covers cars that creep, and the change to a track beside the previous
            // one.
            let is_near = (expected - 100..=expected + 40 + 100).contains(&feet);
            // A car that comes to a stop may have moved some way before.
            let is_near = is_near || (report.speed_mph == 0 && (0..=44 * 80).contains(&feet));
            assert!(is_near, "{last:?} goes to {report:?}");
            assert!(report.lane != ENTRY_LANE || last.lane == ENTRY_LANE);
        } else if second >= ROUND_S {
            assert_eq!(report.lane, ENTRY_LANE, "a journey begins with {report:?}");
            journeys += 1;
            reentries += u32::from(exited.contains(&vehicle));
        } else {
            assert_ne!(report.lane, EXIT_LANE, "noise: {report:?}");
        }
        if report.lane == EXIT_LANE {
            assert!(rounds <= 64);
            exited.insert(vehicle);
        } else {
            under_way.insert(vehicle, (second, rounds, report));
        }
    }
    assert!(under_way.values().all(|(second, ..)| *second >= 2 * PERIOD_S + 70), "a car vanished");
    let share = f64::from(reentries) / f64::from(journeys);
    assert!((share - 0.1).abs() < 0.005, "{share} of {journeys} journeys are re-entries");
}

#[test]
fn lanes_speeds_and_requests_have_their_shares() {
    let cache = &ONE_XWAY.cache;
    let share = |is_counted: &dyn Fn(&LrbRecord) -> bool| {
        cache.iter().filter(|row| is_counted(row)).count() as f64 / CACHE_RECORDS as f64
    };
    let near = |found: f64, expected: f64, tolerance: f64| {
        assert!((found - expected).abs() < tolerance, "{found} is not within {tolerance} of {expected}");
    };
    let of_report = |is_counted: &dyn Fn(&PositionReport) -> bool| {
        share(&|row| matches!(row, LrbRecord::Report(report) if is_counted(report)))
    };
    for (lane, expected) in (0..).zip([0.10, 0.288, 0.288, 0.288, 0.025]) {
        near(of_report(&|report| report.lane == lane), expected, 0.005);
    }
    near(of_report(&|report| report.direction == Direction::East), 0.495, 0.01);
    near(share(&|row| matches!(row, LrbRecord::Balance { .. })), 0.01 * 5.0 / 6.0, 0.0003);
    near(share(&|row| matches!(row, LrbRecord::Daily { .. })), 0.01 / 6.0, 0.0003);
    assert!((0.1..0.5).contains(&of_report(&|report| (1..40).contains(&report.speed_mph))));
    assert!((0.001..0.02).contains(&of_report(&|report| report.speed_mph == 0)));
}

/// Generated expressways share neither cars nor requests, and no request is sent twice.
#[test]
fn numbers_are_unique() {
    let generator = generator(5, 3_000);
    let mut xway_of_vehicle = BTreeMap::new();
    let mut queries = BTreeSet::new();
    let mut asked = 0;
    for index in 0..(2 * CACHE_RECORDS as u64 / 3) {
        let query = match value(&generator, index) {
            LrbRecord::Report(report) => {
                assert_eq!(*xway_of_vehicle.entry(report.vehicle).or_insert(report.xway), report.xway);
                continue;
            }
            LrbRecord::Balance { query, .. } => query,
            LrbRecord::Daily { query, xway, vehicle, .. } => {
                assert!(xway_of_vehicle.get(&vehicle).is_none_or(|&known| known == xway));
                query
            }
            LrbRecord::TravelTime { .. } => panic!("nobody answers such requests"),
        };
        asked += 1;
        assert!(queries.insert(query), "request {query} comes twice");
    }
    assert!(asked > 2 * CACHE_RECORDS / 3 / 110);
    assert_eq!(xway_of_vehicle.values().collect::<BTreeSet<_>>().len(), 3);
}

/// One period later the same traffic is at the same places, with other car numbers.
#[test]
fn a_period_repeats_the_road_and_no_car() {
    let period = CACHE_RECORDS as u64;
    for index in (0..period).step_by(1_001) {
        match (value(&ONE_XWAY, index), value(&ONE_XWAY, index + period)) {
            (LrbRecord::Report(first), LrbRecord::Report(second)) => {
                assert_eq!(second.vehicle, first.vehicle + traffic::VEHICLES);
                assert_eq!(PositionReport { vehicle: 0, ..first }, PositionReport { vehicle: 0, ..second });
            }
            (LrbRecord::Balance { query: first, .. }, LrbRecord::Balance { query: second, .. })
            | (LrbRecord::Daily { query: first, .. }, LrbRecord::Daily { query: second, .. }) => {
                assert_eq!(second, first + traffic::QUERIES);
            }
            (first, second) => panic!("{first:?} and {second:?}"),
        }
    }
}

/// In an accident two cars stand at one place. Other cars stand alone, or creep.
#[test]
fn accidents_are_ten_minutes_apart() {
    let mut standing: BTreeMap<_, BTreeMap<u32, Vec<u64>>> = BTreeMap::new();
    for (second, report) in reports(0..2 * PERIOD_S) {
        if report.speed_mph == 0 {
            let place = (report.lane, report.position_feet, second / PERIOD_S);
            let place = standing.entry(place).or_default();
            place.entry(report.vehicle).or_default().push(second);
        }
    }
    let stops = |cars: &BTreeMap<u32, Vec<u64>>| cars.values().filter(|times| times.len() >= 4).count();
    assert_eq!(standing.values().filter(|cars| stops(cars) == 1).count(), 6);
    let accidents = standing.values().filter(|cars| stops(cars) == 2);
    let mut begins: Vec<u64> =
        accidents.map(|cars| *cars.values().flatten().min().expect("somebody stands there")).collect();
    begins.sort_unstable();
    assert_eq!(begins.len(), 6);
    assert!(begins[0] >= 600 && begins.windows(2).all(|pair| pair[1] - pair[0] >= 600), "{begins:?}");
}

/// Half an hour of generated traffic gives all kinds of answers under the full rules, and no report is
/// ignored.
#[test]
fn half_an_hour_is_plausible_under_the_full_rules() {
    let row = |index: u64| {
        let event_time = EventTime::from_micros((index * 1_000) as i64);
        csv::columns_of(&Record::new(event_time, value(&ONE_XWAY, index)))
    };
    let rows: Vec<LrbColumns> = (0..1_800 * RECORDS_PER_XWAY_S).map(row).collect();
    let asked = rows.iter().filter(|row| row[0] == 3);
    let tolls: Vec<[i32; 4]> = asked
        .map(|row| LrbGenerator::historical_toll(row[2] as u32, row[14] as u8, row[4] as u16))
        .map(|toll| [toll.vehicle as i32, i32::from(toll.day), i32::from(toll.xway), toll.toll as i32])
        .collect();
    let answer = lrb_full(rows, &tolls);
    assert_eq!((answer.read, answer.ignored, answer.unanswered), (1_800_000, 0, 0));
    assert_eq!(answer.accidents, 2);
    let notices: BTreeSet<(i32, i32)> =
        answer.notices.iter().map(|notice| (notice.direction, notice.accident_segment)).collect();
    assert_eq!(notices.len(), 2);
    assert!(answer.notices.len() > 500, "{} notices", answer.notices.len());
    let charged = answer.tolls.iter().filter(|row| row.toll > 0).count() as f64 / answer.tolls.len() as f64;
    assert!((0.05..0.5).contains(&charged), "{charged} of all segments entered are not free");
    let most = answer.tolls.iter().map(|row| row.toll).max();
    let paid = answer.balances.iter().filter(|row| row.balance > 0).count();
    let paid_twice = answer.balances.iter().filter(|row| row.before_last_charge > Some(0)).count();
    assert!(
        paid > answer.balances.len() / 5 && paid_twice > 100,
        "{paid} and {paid_twice} of {}",
        answer.balances.len()
    );
    assert!(answer.dailies.len() > 2_500 && answer.dailies.iter().all(|row| (10..100).contains(&row.toll)));
    // In recorded traffic a segment has up to 654 cars in a minute, which would cost a toll of 729,632.
    assert!((Some(50_000)..Some(900_000)).contains(&most), "{most:?}");
}
