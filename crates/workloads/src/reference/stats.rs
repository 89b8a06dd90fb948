//! Reference results of STATS: the plots of averages, predictions and numbers of sensors.
//!
//! The rules concern the readings of each field: its values that are not missing. Average: the mean of each five
//! consecutive readings of a sensor. Prediction: the readings of a sensor are smoothed by a Kalman filter. After each
//! reading from the tenth on, a line is fitted to the last ten smoothed readings, and the values of the line at the
//! next ten places are averaged. Sensors: after each reading, the estimated number of different sensors so far, by
//! 1,024 registers. Every 100 results of one statistic and field, in their order, are the points of a plot. Fewer than
//! 100 points at the end of the input make no plot.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Row;
use super::riot::{Content, FIELDS, MessageInput, content_of};

/// Number of points of a plot.
const POINTS: usize = 100;

/// One row of the results of STATS: the figures of one plot.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StatsRow {
    /// Name of the statistic: `average`, `prediction` or `sensors`.
    pub statistic: &'static str,
    /// Name of the field.
    pub kind: &'static str,
    /// Number of the plot among the plots of its statistic and field, from 0.
    pub plot: u64,
    /// Number of sensors with a point in the plot; 1 for the statistic `sensors`.
    pub lines: u64,
    /// Least value of the plot.
    pub least: f64,
    /// Greatest value of the plot.
    pub greatest: f64,
    /// Sum of the values of the plot.
    pub sum: f64,
}

impl Row for StatsRow {
    type Key = (&'static str, &'static str, u64);

    fn key(&self) -> Self::Key {
        (self.statistic, self.kind, self.plot)
    }

    /// The least and the greatest values may differ by a billionth of the plot's greatest absolute value, and the sums
    /// by 100 times as much. Bounds relative to each number would fail where predictions cancel out to nearly zero.
    fn agrees(&self, found: &Self) -> bool {
        let tolerance = 1e-9 * self.least.abs().max(self.greatest.abs());
        let is_near = |one: f64, other: f64, tolerance: f64| (one - other).abs() <= tolerance;
        self.key() == found.key()
            && self.lines == found.lines
            && is_near(self.least, found.least, tolerance)
            && is_near(self.greatest, found.greatest, tolerance)
            && is_near(self.sum, found.sum, tolerance * POINTS as f64)
    }
}

/// Returns the results of STATS for messages in their order of arrival. `texts` has the different texts of messages.
pub fn stats_rows(inputs: impl Iterator<Item = MessageInput>, texts: &[&str]) -> Vec<StatsRow> {
    let mut contents: HashMap<usize, Option<Content>> = HashMap::new();
    let mut sensors: HashMap<String, [Sensor; 5]> = HashMap::new();
    let mut counts: [Registers; 5] = Default::default();
    let mut points: BTreeMap<(&'static str, usize), Plots> = BTreeMap::new();
    for MessageInput { text, .. } in inputs {
        let Some(content) = contents.entry(text).or_insert_with(|| content_of(texts[text])) else { continue };
        for (field, value) in content.values.iter().enumerate() {
            let Some(value) = *value else { continue };
            let sensor = &mut sensors.entry(content.sensor.clone()).or_default()[field];
            let mut add = |statistic, line: &str, value| {
                points
                    .entry((statistic, field))
                    .or_insert_with(|| Plots::new(statistic, field))
                    .add(line, value);
            };
            if let Some(average) = sensor.averaged(value) {
                add("average", &content.sensor, average);
            }
            if let Some(prediction) = sensor.predicted(value) {
                add("prediction", &content.sensor, prediction);
            }
            add("sensors", "", counts[field].different(&content.sensor));
        }
    }
    points.into_values().flat_map(|plots| plots.rows).collect()
}

/// The complete plots of one statistic and field, and the points of the next plot.
struct Plots {
    statistic: &'static str,
    field: usize,
    rows: Vec<StatsRow>,
    lines: BTreeSet<String>,
    values: Vec<f64>,
}

impl Plots {
    fn new(statistic: &'static str, field: usize) -> Self {
        Plots { statistic, field, rows: Vec::new(), lines: BTreeSet::new(), values: Vec::new() }
    }

    fn add(&mut self, line: &str, value: f64) {
        if !self.lines.contains(line) {
            self.lines.insert(line.to_owned());
        }
        self.values.push(value);
        if self.values.len() == POINTS {
            let mut sorted = std::mem::take(&mut self.values);
            sorted.sort_by(f64::total_cmp);
            self.rows.push(StatsRow {
                statistic: self.statistic,
                kind: FIELDS[self.field],
                plot: self.rows.len() as u64,
                lines: std::mem::take(&mut self.lines).len() as u64,
                least: sorted[0],
                greatest: sorted[POINTS - 1],
                sum: sorted.iter().sum(),
            });
        }
    }
}

/// The latest readings of one field of a sensor.
#[derive(Default)]
struct Sensor {
    /// Readings since the last average, fewer than five.
    block: Vec<f64>,
    /// The last smoothed readings, at most ten, the oldest first.
    smoothed: Vec<f64>,
    /// Variance of the error of the last smoothed reading; `None` before the first.
    error: Option<f64>,
}

impl Sensor {
    fn averaged(&mut self, reading: f64) -> Option<f64> {
        self.block.push(reading);
        if self.block.len() < 5 {
            return None;
        }
        let block = std::mem::take(&mut self.block);
        Some(block.iter().sum::<f64>() / 5.0)
    }

    /// Smooths a reading: the new estimate is the mean of the old one and the reading, each weighted by the inverse of
    /// its variance. Then fits a line to the last ten estimates, at the places 1 to 10, by the normal equations of
    /// least squares, and returns the mean of the line at the places 11 to 20. Returns `None` before the tenth reading.
    fn predicted(&mut self, reading: f64) -> Option<f64> {
        let variance = self.error.unwrap_or(30.0) + 0.125;
        let before = self.smoothed.last().copied().unwrap_or(0.0);
        let smoothed = (before * 0.32 + reading * variance) / (variance + 0.32);
        self.error = Some(variance * 0.32 / (variance + 0.32));
        self.smoothed.push(smoothed);
        if self.smoothed.len() > 10 {
            self.smoothed.remove(0);
        }
        if self.smoothed.len() < 10 {
            return None;
        }
        let (mut x, mut y, mut xx, mut xy) = (0.0, 0.0, 0.0, 0.0);
        for (place, value) in (1..=10).map(f64::from).zip(&self.smoothed) {
            (x, y, xx, xy) = (x + place, y + value, xx + place * place, xy + place * value);
        }
        let slope = (10.0 * xy - x * y) / (10.0 * xx - x * x);
        let at_zero = (y - slope * x) / 10.0;
        // The mean of a line at the places 11 to 20 is its value in their middle.
        Some(at_zero + slope * 15.5)
    }
}

/// The estimate for one field: the rank of each register that has a sensor, by the number of the register, and the
/// estimated number of sensors.
#[derive(Default)]
struct Registers {
    ranks: BTreeMap<u64, u32>,
    estimate: f64,
}

impl Registers {
    /// Adds a sensor, and returns the estimated number of different sensors. A register has the greatest rank of its
    /// sensors, where the rank is the number of zeros at the low end of the hash above ten bits, plus 1.
    fn different(&mut self, sensor: &str) -> f64 {
        let hash = hash(sensor);
        let (register, mut rest, mut rank) = (hash % 1_024, hash / 1_024, 1);
        while rest.is_multiple_of(2) && rank < 65 {
            rest /= 2;
            rank += 1;
        }
        if self.ranks.get(&register).is_none_or(|greatest| *greatest < rank) {
            self.ranks.insert(register, rank);
            let empty = 1_024 - self.ranks.len();
            let mean = f64::from(self.ranks.values().sum::<u32>()) / 1_024.0;
            let estimate = 0.39701 * 1_024.0 * 2_f64.powf(mean);
            let is_small = 0 < empty && estimate <= 2_560.0;
            self.estimate = if is_small { 1_024.0 * (1_024.0 / empty as f64).ln() } else { estimate };
        }
        self.estimate
    }
}

/// Returns the 64-bit FNV-1a hash of the text, mixed by the last steps of SplitMix64.
fn hash(text: &str) -> u64 {
    let mut state = 14_695_981_039_346_656_037_u64;
    for byte in text.bytes() {
        state = (state ^ u64::from(byte)).wrapping_mul(1_099_511_628_211);
    }
    state = (state ^ state >> 30).wrapping_mul(13_787_848_793_156_543_929);
    state = (state ^ state >> 27).wrapping_mul(10_723_151_780_598_845_931);
    state ^ state >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sensor whose value rises by 1: its averages, and predictions which follow the line.
    #[test]
    fn a_rising_value_is_predicted() {
        let mut sensor = Sensor::default();
        let averages: Vec<f64> = (1..=12).map(f64::from).filter_map(|value| sensor.averaged(value)).collect();
        assert_eq!(averages, [3.0, 8.0]);
        let predictions: Vec<f64> =
            (1..=400).map(f64::from).filter_map(|value| sensor.predicted(value)).collect();
        assert_eq!(predictions.len(), 391);
        // The filter lags behind a rising value by a constant: (1 - gain) / gain.
        let last = predictions[390];
        assert!((404.0..405.5).contains(&last), "{last}");
    }

    #[test]
    fn sensors_are_counted_nearly() {
        let mut registers = Registers::default();
        let estimates: Vec<f64> = (0..521).map(|number| registers.different(&format!("s{number}"))).collect();
        assert!(
            (0.9..1.1).contains(&estimates[0]) && (470.0..570.0).contains(&estimates[520]),
            "{estimates:?}"
        );
    }

    #[test]
    fn rows_agree_within_a_tolerance() {
        let row = StatsRow {
            statistic: "average",
            kind: "dust",
            plot: 0,
            lines: 3,
            least: -1.0,
            greatest: 5.0,
            sum: 0.0,
        };
        assert!(row.agrees(&StatsRow { sum: 4e-7, least: -1.0 + 4e-9, ..row }));
        assert!(!row.agrees(&StatsRow { sum: 6e-7, ..row }));
        assert!(!row.agrees(&StatsRow { greatest: 5.0 + 6e-9, ..row }));
        assert!(!row.agrees(&StatsRow { lines: 2, ..row }));
    }
}
