//! Plots: a drawing of points in SVG, with a line for each sensor.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::riot::sensor::SensorId;

/// Width of a drawing in pixels.
pub const WIDTH: f64 = 640.0;

/// Height of a drawing in pixels.
pub const HEIGHT: f64 = 360.0;

/// A point of a plot.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlotPoint {
    /// Time of the point in milliseconds since the Unix epoch.
    pub time_ms: i64,
    /// The sensor to whose line the point belongs.
    pub sensor: SensorId,
    /// The value.
    pub value: f64,
}

/// A drawing of points, with the least, the greatest and the sum of their values.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot<K> {
    /// Key of the points.
    pub key: K,
    /// Number of the plot among the plots with the same key, from 0.
    pub number: u64,
    /// Number of lines, one for each sensor.
    pub lines: u64,
    /// Least value.
    pub least: f64,
    /// Greatest value.
    pub greatest: f64,
    /// Sum of all values.
    pub sum: f64,
    /// The drawing in SVG.
    pub svg: String,
}

/// Draws points in their order. Lines are in the order of their sensors. Times and values fill the drawing; a
/// time or value that all points share lies in its middle.
pub fn drawn<K>(key: K, number: u64, title: &str, points: &[PlotPoint]) -> Plot<K> {
    let values = || points.iter().map(|point| point.value);
    let times = || points.iter().map(|point| point.time_ms as f64);
    let [value_range, time_range] = [range(values()), range(times())];
    let mut lines: BTreeMap<SensorId, String> = BTreeMap::new();
    for point in points {
        let x = share(point.time_ms as f64, time_range) * WIDTH;
        let y = HEIGHT - share(point.value, value_range) * HEIGHT;
        // Writing to a `String` does not fail.
        let _ = write!(lines.entry(point.sensor).or_default(), "{x:.0},{y:.0} ");
    }
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}"><title>{title}</title>"#
    );
    for places in lines.values() {
        let _ = write!(svg, r#"<polyline fill="none" stroke="black" points="{}"/>"#, places.trim_end());
    }
    svg.push_str("</svg>");
    let (least, greatest) = value_range;
    Plot { key, number, lines: lines.len() as u64, least, greatest, sum: values().sum(), svg }
}

/// Returns the least and the greatest of some numbers, or infinity and minus infinity if there are none.
fn range(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), number| {
        (least.min(number), most.max(number))
    })
}

/// Returns the position of a number between the least and the greatest one, from 0 to 1; 0.5 if those are
/// equal.
fn share(number: f64, (least, greatest): (f64, f64)) -> f64 {
    if least < greatest { (number - least) / (greatest - least) } else { 0.5 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_drawn() {
        let point =
            |time_ms, sensor, value| PlotPoint { time_ms, sensor: SensorId::new(sensor).unwrap(), value };
        let points = [point(0, "b", 1.0), point(500, "a", 3.0), point(1_000, "b", 5.0)];
        let plot = drawn((), 7, "three", &points);
        assert_eq!((plot.number, plot.lines, plot.least, plot.greatest, plot.sum), (7, 2, 1.0, 5.0, 9.0));
        let expected = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" height=\"360\"><title>three</title>\
                        <polyline fill=\"none\" stroke=\"black\" points=\"320,180\"/>\
                        <polyline fill=\"none\" stroke=\"black\" points=\"0,360 640,0\"/></svg>";
        assert_eq!(plot.svg, expected);
        let alike = drawn((), 0, "", &[point(9, "a", 2.0); 2]);
        assert!(alike.svg.contains("points=\"320,180 320,180\""), "{}", alike.svg);
        assert_eq!(drawn((), 0, "", &[]).lines, 0);
    }
}
