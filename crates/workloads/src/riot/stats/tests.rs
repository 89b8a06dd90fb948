//! Tests of the operators of STATS by hand: the filter, the line of a regression, and the names of plots.

use super::*;

/// The filter's estimate and error after each measurement, by hand: the first error is 30 + 0.125.
#[test]
fn measurements_are_filtered() {
    let mut estimate = Estimate::default();
    estimate.measure(10.0);
    let gain = 30.125 / 30.445;
    assert!((estimate.value - 10.0 * gain).abs() < 1e-12);
    assert!((estimate.error - 30.125 * 0.32 / 30.445).abs() < 1e-12);
    (0..1_000).for_each(|_| estimate.measure(4.0));
    assert!((estimate.value - 4.0).abs() < 1e-9, "{estimate:?}");
    // The error settles where `p (p + Q) = Q R`, which is 0.147 for these noises.
    let settled = estimate.error;
    assert!((settled * (settled + PROCESS_NOISE) - PROCESS_NOISE * SENSOR_NOISE).abs() < 1e-12, "{settled}");
}

#[test]
fn a_line_is_continued() {
    let mut window = Window::default();
    for place in 0..9 {
        window.push(f64::from(place));
        assert_eq!(window.predicted(), None);
    }
    window.push(9.0);
    // The next ten values are 10 to 19.
    assert!((window.predicted().unwrap() - 14.5).abs() < 1e-12);
    (0..10).for_each(|_| window.push(7.0));
    assert!((window.predicted().unwrap() - 7.0).abs() < 1e-12);
    // A value of 17 at the end adds 1 to the mean and 45 / 82.5 to the slope.
    window.push(17.0);
    assert!((window.predicted().unwrap() - (8.0 + 10.0 * 45.0 / 82.5)).abs() < 1e-12);
}

#[test]
fn plots_are_named() {
    let sensor = SensorId::new("s1").unwrap();
    let point = |value| PlotPoint { time_ms: 5, sensor, value };
    let points =
        Points { key: (Statistic::Average, Kind::Dust), number: 4, points: vec![point(1.0), point(2.0)] };
    let upload = Upload::new(points.plot());
    assert_eq!(upload.name, "average-dust-4.svg");
    assert!(upload.plot.svg.contains("<title>average of dust, plot 4</title>"), "{}", upload.plot.svg);
    assert_eq!(upload.checksum, hash(upload.plot.svg.as_bytes()));
    let row = StatsRow {
        statistic: "average",
        kind: "dust",
        plot: 4,
        lines: 1,
        least: 1.0,
        greatest: 2.0,
        sum: 3.0,
    };
    assert_eq!(StatsRow::from(&upload), row);
}
