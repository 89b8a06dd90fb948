//! STATS: averages, predictions and numbers of sensors, drawn as plots.
//!
//! ```text
//!                  +-> average -----------------+
//! source -> parse -+-> kalman -> regression ----+-> accumulate -> plot -> upload -> sink
//!                  +-> distinct ----------------+
//! ```
//!
//! | operator | does | work a record, in multiples of the cost asked for |
//! |---|---|---|
//! | parse | makes a reading of each observation of a message | 5, a message |
//! | average | takes the mean of each 5 readings of a sensor and kind | 1/4 |
//! | kalman | estimates the true value of a sensor and kind from noisy readings | 2 |
//! | regression | lays a line through the last 10 estimates, and predicts the next 10 | 1 |
//! | distinct | estimates the number of sensors that have sent a reading of a kind | 1/2 |
//! | accumulate | gathers 100 points of one statistic and kind | 1/4, a point |
//! | plot | draws the points, with a line for each sensor | 10, a plot |
//! | upload | names the plot, and computes its checksum | 3, a plot |
//!
//! A message costs 26 to 27 times the cost asked for in all, of which a Kalman filter has 10. Weights are ours.
//!
//! Three branches share the readings. Points of one statistic come from one branch, so their order does not depend on how
//! branches interleave. Points that are fewer than a plot has when the input ends make no plot. A sensor has five to ten
//! readings of a kind before its first average and prediction.
//!
//! Source: RIoTBench, its dataflow STATS, with the constants of CITY: blocks of 5; process noise 0.125, sensor noise
//! 0.32, initial error 30; 10 values to train and 10 to predict; 2^10 registers. In the public program one operator
//! accumulates, plots and packs; here accumulating and plotting are two, and plots go up one by one.

pub mod distinct;
pub mod plot;

use serde::{Deserialize, Serialize};
use thalweg::{
    EventTime, KeyedProcess, ProcessContext, Query, Record, Sink, Source, Text, WatermarkStrategy,
};

use self::distinct::Registers;
use self::plot::{Plot, PlotPoint};
use super::hash::hash;
use super::parse::{Parse, Reading};
use super::sensor::{Kind, SensorId};
use super::work::Work;
use crate::reference::stats::StatsRow;

/// Number of readings of one sensor and kind of observation of which the operator `average` takes the mean.
pub const AVERAGE_BLOCK: u32 = 5;

/// Variance by which the true value is expected to change from one reading to the next: the process noise of the Kalman
/// filter.
pub const PROCESS_NOISE: f64 = 0.125;

/// Variance of the error of a sensor's readings: the sensor noise of the Kalman filter.
pub const SENSOR_NOISE: f64 = 0.32;

/// Variance of the error of the Kalman filter's first estimate, which is 0.
pub const FIRST_ERROR: f64 = 30.0;

/// Number of estimates of a sensor and kind, the last ones, to which the regression fits a line.
pub const TRAIN_WINDOW: usize = 10;

/// Number of values that the regression predicts from its line; its result is their mean.
pub const PREDICTED: usize = 10;

/// Number of points in a plot: one is drawn whenever so many points of a statistic and kind have come.
pub const POINTS_PER_PLOT: usize = 100;

/// Weights of the operators of STATS: their additional CPU time for each record, in hundredths of the cost that a run
/// asks for (`--operator-cost` of `thalweg bench`).
pub mod weights {
    /// Weight of parsing a message.
    pub const PARSE: u64 = 500;
    /// Weight of the average.
    pub const AVERAGE: u64 = 25;
    /// Weight of the Kalman filter.
    pub const KALMAN: u64 = 200;
    /// Weight of a regression.
    pub const REGRESSION: u64 = 100;
    /// Weight of counting a sensor.
    pub const DISTINCT: u64 = 50;
    /// Weight of keeping a point.
    pub const ACCUMULATE: u64 = 25;
    /// Weight of drawing a plot.
    pub const PLOT: u64 = 1_000;
    /// Weight of the upload.
    pub const UPLOAD: u64 = 300;
}

/// Adds STATS to `query`: the plots go to `sink`. There must be exactly one split, because points are drawn in their
/// order of arrival.
pub fn plots<S, K>(
    query: &Query,
    splits: impl IntoIterator<Item = S>,
    strategy: WatermarkStrategy,
    work: Work,
    sink: K,
) where
    S: Source<Item = Text> + 'static,
    K: Sink<Upload> + 'static,
{
    let of = |weight| work.weighted(weight);
    let [plot, upload] = [weights::PLOT, weights::UPLOAD].map(of);
    let readings = query
        .splits("source", splits, strategy)
        .key_by(|_| ())
        .process(Parse::<Reading>::new(of(weights::PARSE)))
        .name("parse")
        .share();
    let averages =
        readings.branch().key_by(series_of).process(Average { work: of(weights::AVERAGE) }).name("average");
    let predictions = readings
        .branch()
        .key_by(series_of)
        .process(Kalman { work: of(weights::KALMAN) })
        .name("kalman")
        .key_by(series_of)
        .process(Regression { work: of(weights::REGRESSION) })
        .name("regression");
    let sensors = readings
        .branch()
        .key_by(|reading: &Reading| reading.kind)
        .process(Distinct { work: of(weights::DISTINCT) })
        .name("distinct");
    averages
        .boxed()
        .union_all([predictions.boxed(), sensors.boxed()])
        .key_by(|point: &Point| (point.statistic, point.kind))
        .process(Accumulate { work: of(weights::ACCUMULATE) })
        .name("accumulate")
        .map(move |points: Points| {
            plot.spend();
            points.plot()
        })
        .name("plot")
        .map(move |plot: Plot<(Statistic, Kind)>| {
            upload.spend();
            Upload::new(plot)
        })
        .name("upload")
        .sink("sink", sink);
}

/// Key of the readings of one sensor and kind.
type Series = (SensorId, Kind);

fn series_of(reading: &Reading) -> Series {
    (reading.sensor, reading.kind)
}

/// A statistic of readings.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Statistic {
    /// Mean of [`AVERAGE_BLOCK`] consecutive readings of one sensor and kind.
    Average,
    /// Mean of the values predicted for one sensor and kind.
    Prediction,
    /// Estimated number of sensors.
    Sensors,
}

impl Statistic {
    /// Returns the name of the statistic in plots and results.
    pub const fn name(self) -> &'static str {
        match self {
            Statistic::Average => "average",
            Statistic::Prediction => "prediction",
            Statistic::Sensors => "sensors",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Point {
    statistic: Statistic,
    kind: Kind,
    /// The sensor whose readings the statistic is about; [`SensorId::NONE`] for the estimated number of sensors.
    sensor: SensorId,
    value: f64,
}

/// Average: emits the mean of every [`AVERAGE_BLOCK`] readings of a sensor and kind. State: number and sum of the
/// readings since the last mean.
struct Average {
    work: Work,
}

impl KeyedProcess<Series, Reading> for Average {
    type State = (u32, f64);
    type Out = Point;

    fn on_record(
        &self,
        _: &Series,
        record: Record<Reading>,
        context: &mut ProcessContext<'_, Series, (u32, f64), Point>,
    ) {
        self.work.spend();
        let Reading { sensor, kind, value } = record.value;
        let (count, sum) = context.state();
        (*count, *sum) = (*count + 1, *sum + value);
        if *count == AVERAGE_BLOCK {
            let mean = *sum / f64::from(*count);
            (*count, *sum) = (0, 0.0);
            context.emit(Point { statistic: Statistic::Average, kind, sensor, value: mean });
        }
    }
}

/// The estimate of a Kalman filter, and the variance of its error.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Estimate {
    value: f64,
    error: f64,
}

impl Default for Estimate {
    fn default() -> Self {
        Estimate { value: 0.0, error: FIRST_ERROR }
    }
}

impl Estimate {
    /// Corrects the estimate by a measurement. Source: Welch and Bishop, "An Introduction to the Kalman Filter", UNC TR
    /// 95-041, equations 1.9 to 1.13, in one dimension with `A = H = 1`; `Q` is [`PROCESS_NOISE`] and `R` is
    /// [`SENSOR_NOISE`].
    fn measure(&mut self, measured: f64) {
        let error = self.error + PROCESS_NOISE;
        let gain = error / (error + SENSOR_NOISE);
        self.value += gain * (measured - self.value);
        self.error = (1.0 - gain) * error;
    }
}

/// Kalman filter: replaces each reading by the estimate of the true value. State: the last estimate of each sensor and
/// kind.
struct Kalman {
    work: Work,
}

impl KeyedProcess<Series, Reading> for Kalman {
    type State = Estimate;
    type Out = Reading;

    fn on_record(
        &self,
        _: &Series,
        record: Record<Reading>,
        context: &mut ProcessContext<'_, Series, Estimate, Reading>,
    ) {
        self.work.spend();
        context.state().measure(record.value.value);
        let value = context.state().value;
        context.emit(Reading { value, ..record.value });
    }
}

/// The last estimates of one sensor and kind, at most [`TRAIN_WINDOW`], the oldest first.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Window {
    values: [f64; TRAIN_WINDOW],
    count: usize,
}

impl Window {
    fn push(&mut self, value: f64) {
        if self.count == TRAIN_WINDOW {
            self.values.rotate_left(1);
            self.count -= 1;
        }
        self.values[self.count] = value;
        self.count += 1;
    }

    /// Returns the mean of the next [`PREDICTED`] values on the line through all values, fitted by least squares;
    /// `None` while there are fewer than [`TRAIN_WINDOW`] values.
    fn predicted(&self) -> Option<f64> {
        if self.count < TRAIN_WINDOW {
            return None;
        }
        let centre = (TRAIN_WINDOW - 1) as f64 / 2.0;
        let mean = self.values.iter().sum::<f64>() / TRAIN_WINDOW as f64;
        let distances = (0..TRAIN_WINDOW).map(|place| place as f64 - centre);
        let (mut product, mut square) = (0.0, 0.0);
        for (distance, value) in distances.zip(self.values) {
            product += distance * (value - mean);
            square += distance * distance;
        }
        let slope = product / square;
        let of_place = |place: usize| mean + slope * (place as f64 - centre);
        let sum: f64 = (TRAIN_WINDOW..TRAIN_WINDOW + PREDICTED).map(of_place).sum();
        Some(sum / PREDICTED as f64)
    }
}

/// Regression: emits the mean of the predicted values after each estimate of a sensor and kind, from the estimate
/// number [`TRAIN_WINDOW`] on. State: the last estimates of each sensor and kind.
struct Regression {
    work: Work,
}

impl KeyedProcess<Series, Reading> for Regression {
    type State = Window;
    type Out = Point;

    fn on_record(
        &self,
        _: &Series,
        record: Record<Reading>,
        context: &mut ProcessContext<'_, Series, Window, Point>,
    ) {
        self.work.spend();
        let Reading { sensor, kind, value } = record.value;
        context.state().push(value);
        if let Some(value) = context.state().predicted() {
            context.emit(Point { statistic: Statistic::Prediction, kind, sensor, value });
        }
    }
}

/// Distinct: emits after each reading the estimated number of sensors that have sent a reading of its kind. State: the
/// registers of the estimate, for each kind.
struct Distinct {
    work: Work,
}

impl KeyedProcess<Kind, Reading> for Distinct {
    type State = Registers;
    type Out = Point;

    fn on_record(
        &self,
        kind: &Kind,
        record: Record<Reading>,
        context: &mut ProcessContext<'_, Kind, Registers, Point>,
    ) {
        self.work.spend();
        context.state().add(hash(record.value.sensor.as_bytes()));
        let value = context.state().estimate();
        context.emit(Point { statistic: Statistic::Sensors, kind: *kind, sensor: SensorId::NONE, value });
    }

    const HOLDS: bool = true;

    fn held_bytes(&self, registers: &Registers) -> usize {
        registers.held_bytes()
    }
}

/// Points of one statistic and kind that wait until there are enough for a plot, and the number of earlier plots.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Gathered {
    number: u64,
    points: Vec<PlotPoint>,
}

/// Accumulate: emits every [`POINTS_PER_PLOT`] points of a statistic and kind together. State: the points that wait,
/// for each of 15 pairs of a statistic and a kind.
struct Accumulate {
    work: Work,
}

impl KeyedProcess<(Statistic, Kind), Point> for Accumulate {
    type State = Gathered;
    type Out = Points;

    fn on_record(
        &self,
        key: &(Statistic, Kind),
        record: Record<Point>,
        context: &mut ProcessContext<'_, (Statistic, Kind), Gathered, Points>,
    ) {
        self.work.spend();
        let Record { event_time, value: Point { sensor, value, .. } } = record;
        let gathered = context.state();
        if gathered.points.capacity() == 0 {
            gathered.points.reserve_exact(POINTS_PER_PLOT);
        }
        gathered.points.push(PlotPoint { time_ms: millis(event_time), sensor, value });
        if gathered.points.len() == POINTS_PER_PLOT {
            let points =
                Points { key: *key, number: gathered.number, points: std::mem::take(&mut gathered.points) };
            gathered.number += 1;
            context.emit(points);
        }
    }

    const HOLDS: bool = true;

    fn held_bytes(&self, gathered: &Gathered) -> usize {
        gathered.points.capacity() * size_of::<PlotPoint>()
    }
}

fn millis(event_time: EventTime) -> i64 {
    event_time.as_micros().div_euclid(1_000)
}

#[derive(Clone, PartialEq, Debug)]
struct Points {
    key: (Statistic, Kind),
    number: u64,
    points: Vec<PlotPoint>,
}

impl Points {
    fn plot(&self) -> Plot<(Statistic, Kind)> {
        let (statistic, kind) = self.key;
        let title = format!("{} of {}, plot {}", statistic.name(), kind.name(), self.number);
        plot::drawn(self.key, self.number, &title, &self.points)
    }
}

/// A plot with the name under which it is stored.
#[derive(Clone, PartialEq, Debug)]
pub struct Upload {
    /// Name of the plot's file.
    pub name: String,
    /// Digest of the plot's text.
    pub checksum: u64,
    /// The plot.
    pub plot: Plot<(Statistic, Kind)>,
}

impl Upload {
    fn new(plot: Plot<(Statistic, Kind)>) -> Self {
        let (statistic, kind) = plot.key;
        let name = format!("{}-{}-{}.svg", statistic.name(), kind.name(), plot.number);
        Upload { name, checksum: hash(plot.svg.as_bytes()), plot }
    }
}

impl From<&Upload> for StatsRow {
    fn from(upload: &Upload) -> Self {
        let Plot { key: (statistic, kind), number, lines, least, greatest, sum, .. } = &upload.plot;
        let (statistic, kind) = (statistic.name(), kind.name());
        StatsRow {
            statistic,
            kind,
            plot: *number,
            lines: *lines,
            least: *least,
            greatest: *greatest,
            sum: *sum,
        }
    }
}

#[cfg(test)]
mod tests;
