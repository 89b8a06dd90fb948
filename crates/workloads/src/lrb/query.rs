//! The short form of Linear Road in the typed interface: ten operators, and a filter after the accidents'
//! window, which has a result for every place where a car stood.
//!
//! ```text
//! source -> filter(reports) -> map(position) -+-> filter(stands, not leaving) -> accidents, 120 s / 30 s -> filter -+
//!                                             +-> average speed, 60 s --+                                           |
//!                                             +-> reports, 60 s --------+-> window join, 60 s (toll) -> co-group, 60 s -> sink
//! ```
//!
//! These are the windows of the paper; [`LrbWindows`] chooses others. The results must equal
//! [`crate::reference::lrb`], doubles within a relative 1e-9.
//!
//! Source: the Enjima paper, section 5.1.1.

use serde::{Deserialize, Serialize};
use thalweg::{
    Count, Fold, Query, Sink, SlidingWindows, Source, TumblingWindows, WatermarkStrategy, WindowError,
    Windowed,
};

use super::report::{EXIT_LANE, LrbRecord, PositionReport, Segment};
use super::toll::{ACCIDENT_CARS, LrbWindows, STOPPED_REPORTS, SegmentReport, toll};

/// The toll of a segment before accidents are taken into account.
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
    splits: impl IntoIterator<Item = S>,
    strategy: WatermarkStrategy,
    sink: K,
) -> Result<(), WindowError>
where
    S: Source<Item = LrbRecord> + 'static,
    K: Sink<Windowed<Segment, SegmentReport>> + 'static,
{
    segment_tolls_in(query, splits, strategy, LrbWindows::default(), sink)
}

/// Adds the short form of Linear Road in chosen windows to `query`: a row for each segment and window of the
/// last operator, if it has a toll or an accident, goes to `sink`.
///
/// # Errors
/// [`WindowError`]: a size or a slide is not above zero, or a report belongs to too many windows of accidents.
pub fn segment_tolls_in<S, K>(
    query: &Query,
    splits: impl IntoIterator<Item = S>,
    strategy: WatermarkStrategy,
    windows: LrbWindows,
    sink: K,
) -> Result<(), WindowError>
where
    S: Source<Item = LrbRecord> + 'static,
    K: Sink<Windowed<Segment, SegmentReport>> + 'static,
{
    let minutes = TumblingWindows::new(windows.tolls)?;
    let last = TumblingWindows::new(windows.last)?;
    let reports = query
        .splits("source", splits, strategy)
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
        .sliding(SlidingWindows::of_size(windows.accidents).every(windows.accidents_slide)?)
        .aggregate(StoppedCars)
        .name("stopped cars")
        .filter(|place| place.value)
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
        .tumbling(last)
        .co_group(|window, segment, tolls, accidents| {
            let count = accidents.len() as u64;
            let report = tolls.first().map(|toll| SegmentReport {
                cars: toll.cars,
                average_speed_mph: toll.average_speed_mph,
                toll: if count > 0 { 0 } else { toll.toll },
                accidents: count,
            });
            // A segment with accidents may have no toll report, which needs reports from at least one car in
            // the minute. Its result then has the number of accidents only.
            let report =
                report.or((count > 0).then_some(SegmentReport { accidents: count, ..Default::default() }));
            report.map(|report| Windowed::on_time(window, *segment, report))
        })
        .name("reports and accidents")
        .sink("sink", sink);
    Ok(())
}

/// An aggregate that tells whether at least [`ACCIDENT_CARS`] cars have stopped at a place, each with at
/// least [`STOPPED_REPORTS`] reports there.
#[derive(Clone, Copy, Debug)]
struct StoppedCars;

/// The reports of each car at a place. Most places have seen one car only, for which nothing is allocated.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
struct Standing {
    /// The car seen first. If its number of reports is 0, there is no car at the place at all.
    first: CarReports,
    others: Vec<CarReports>,
}

#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
struct CarReports {
    vehicle: u32,
    reports: u32,
}

impl Standing {
    fn iter(&self) -> impl Iterator<Item = &CarReports> {
        std::iter::once(&self.first).chain(&self.others).filter(|car| car.reports > 0)
    }

    fn add(&mut self, more: CarReports) {
        if self.first.reports == 0 {
            self.first = more;
        } else if self.first.vehicle == more.vehicle {
            self.first.reports += more.reports;
        } else if let Some(car) = self.others.iter_mut().find(|car| car.vehicle == more.vehicle) {
            car.reports += more.reports;
        } else {
            self.others.push(more);
        }
    }

    fn subtract(&mut self, less: CarReports) {
        if self.first.vehicle == less.vehicle {
            self.first.reports = self.first.reports.saturating_sub(less.reports);
            if self.first.reports == 0 {
                self.first = self.others.pop().unwrap_or_default();
            }
        } else if let Some(place) = self.others.iter().position(|car| car.vehicle == less.vehicle) {
            let left = self.others[place].reports.saturating_sub(less.reports);
            self.others[place].reports = left;
            if left == 0 {
                self.others.swap_remove(place);
            }
        }
    }
}

impl Fold<PositionReport> for StoppedCars {
    type Accumulator = Standing;
    type Result = bool;

    fn create(&self) -> Standing {
        Standing::default()
    }

    fn fold(&self, standing: &mut Standing, report: &PositionReport) {
        standing.add(CarReports { vehicle: report.vehicle, reports: 1 });
    }

    fn merge(&self, standing: &mut Standing, other: Standing) {
        other.iter().for_each(|car| standing.add(*car));
    }

    const INVERTS: bool = true;

    fn unmerge(&self, standing: &mut Standing, other: &Standing) {
        other.iter().for_each(|car| standing.subtract(*car));
    }

    const HOLDS: bool = true;

    fn held_bytes(&self, standing: &Standing) -> usize {
        standing.others.capacity() * size_of::<CarReports>()
    }

    fn finish(&self, standing: Standing) -> bool {
        standing.iter().filter(|car| car.reports >= STOPPED_REPORTS).count() >= ACCIDENT_CARS as usize
    }
}

/// An aggregate: the mean of speeds, each of which is given in whole miles per hour.
#[derive(Clone, Copy, Debug)]
struct AverageSpeed;

impl Fold<PositionReport> for AverageSpeed {
    /// Sum and number of the speeds folded so far.
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

#[cfg(test)]
mod tests;
