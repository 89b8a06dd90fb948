//! The short form of Linear Road in the typed interface: ten operators.
//!
//! ```text
//! source -> filter(reports) -> map(position) -+-> filter(stands, not leaving) -> accidents, 120 s / 30 s --------+
//!                                             +-> average speed, 60 s --+                                        |
//!                                             +-> reports, 60 s --------+-> window join, 60 s (toll) -> co-group, 60 s -> sink
//! ```
//!
//! What comes out must equal [`crate::reference::lrb`], doubles within a relative 1e-9.
//!
//! Source: the Enjima paper, section 5.1.1.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thalweg::{
    Count, Fold, Query, Sink, SlidingWindows, Source, TumblingWindows, WatermarkStrategy, WindowError,
    Windowed,
};

use super::report::{EXIT_LANE, LrbRecord, PositionReport, Segment};
use super::toll::{
    ACCIDENT_CARS, ACCIDENT_SLIDE, ACCIDENT_WINDOW, STOPPED_REPORTS, SegmentReport, WINDOW, toll,
};

/// A toll as it would be without accidents.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Toll {
    segment: Segment,
    cars: u64,
    average_speed_mph: f64,
    toll: u64,
}

/// Adds the short form of Linear Road to `query`: a row for each segment and minute goes to `sink`.
///
/// # Errors
/// [`WindowError`]: never, since the windows here have sizes above zero.
pub fn segment_tolls<S, K>(
    query: &Query,
    source: S,
    strategy: WatermarkStrategy,
    sink: K,
) -> Result<(), WindowError>
where
    S: Source<Item = LrbRecord> + 'static,
    K: Sink<Windowed<Segment, SegmentReport>> + 'static,
{
    let minutes = TumblingWindows::new(WINDOW)?;
    let reports = query
        .source("source", source, strategy)
        .filter(|record| matches!(record, LrbRecord::Report(_)))
        .map(|record| match record {
            LrbRecord::Report(report) => report,
            _ => unreachable!("the filter before lets nothing else through"),
        })
        .share();
    let accidents = reports
        .branch()
        .filter(|report| report.speed_mph == 0 && report.lane != EXIT_LANE)
        .name("standing")
        .key_by(PositionReport::place)
        .sliding(SlidingWindows::of_size(ACCIDENT_WINDOW).every(ACCIDENT_SLIDE)?)
        .aggregate(StoppedCars)
        .name("accidents");
    let speeds = reports
        .branch()
        .key_by(PositionReport::segment)
        .tumbling(minutes)
        .aggregate(AverageSpeed)
        .name("average speeds");
    let counts =
        reports.branch().key_by(PositionReport::segment).tumbling(minutes).aggregate(Count).name("reports");
    let tolls = speeds
        .key_by(|speed| speed.key)
        .join(counts.key_by(|count| count.key))
        .tumbling(minutes)
        .inner(|speed, count| Toll {
            segment: speed.key,
            cars: count.value,
            average_speed_mph: speed.value,
            toll: toll(count.value, speed.value),
        })
        .name("tolls");
    tolls
        .key_by(|toll| toll.segment)
        .join(accidents.key_by(|accident| accident.key.segment()))
        .tumbling(minutes)
        .co_group(|window, segment, tolls, accidents| {
            let count = accidents.iter().filter(|accident| accident.value).count() as u64;
            let report = tolls.first().map(|toll| SegmentReport {
                cars: toll.cars,
                average_speed_mph: toll.average_speed_mph,
                toll: if count > 0 { 0 } else { toll.toll },
                accidents: count,
            });
            // Of cars that stand alone nothing is known but that.
            let report =
                report.or((count > 0).then_some(SegmentReport { accidents: count, ..Default::default() }));
            report.map(|report| Windowed::on_time(window, *segment, report))
        })
        .name("reports and accidents")
        .sink("sink", sink);
    Ok(())
}

/// Whether enough cars have stopped at a place: each with enough reports there.
#[derive(Clone, Copy, Debug)]
struct StoppedCars;

impl Fold<PositionReport> for StoppedCars {
    /// Reports of each car.
    type Accumulator = BTreeMap<u32, u32>;
    type Result = bool;

    fn create(&self) -> BTreeMap<u32, u32> {
        BTreeMap::new()
    }

    fn fold(&self, cars: &mut BTreeMap<u32, u32>, report: &PositionReport) {
        *cars.entry(report.vehicle).or_insert(0) += 1;
    }

    fn merge(&self, reports: &mut BTreeMap<u32, u32>, other: BTreeMap<u32, u32>) {
        for (vehicle, count) in other {
            *reports.entry(vehicle).or_insert(0) += count;
        }
    }

    const INVERTS: bool = true;

    fn unmerge(&self, reports: &mut BTreeMap<u32, u32>, other: &BTreeMap<u32, u32>) {
        for (vehicle, count) in other {
            let left = reports.get(vehicle).map_or(0, |reports| reports.saturating_sub(*count));
            if left == 0 {
                reports.remove(vehicle)
            } else {
                reports.insert(*vehicle, left)
            };
        }
    }

    const HOLDS: bool = true;

    /// A node of a tree is at least half full.
    fn held_bytes(&self, reports: &BTreeMap<u32, u32>) -> usize {
        reports.len() * 2 * size_of::<(u32, u32)>()
    }

    fn finish(&self, reports: BTreeMap<u32, u32>) -> bool {
        reports.values().filter(|&&count| count >= STOPPED_REPORTS).count() >= ACCIDENT_CARS as usize
    }
}

/// The mean of whole speeds.
#[derive(Clone, Copy, Debug)]
struct AverageSpeed;

impl Fold<PositionReport> for AverageSpeed {
    /// Sum and number.
    type Accumulator = (u64, u64);
    type Result = f64;

    fn create(&self) -> (u64, u64) {
        (0, 0)
    }

    #[inline(always)]
    fn fold(&self, (sum, count): &mut (u64, u64), report: &PositionReport) {
        *sum += u64::from(report.speed_mph);
        *count += 1;
    }

    fn merge(&self, (sum, count): &mut (u64, u64), other: (u64, u64)) {
        *sum += other.0;
        *count += other.1;
    }

    fn finish(&self, (sum, count): (u64, u64)) -> f64 {
        sum as f64 / count as f64
    }
}
