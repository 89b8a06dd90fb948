//! Latencies in the figures of a benchmark run: mean, standard deviation and percentiles, in microseconds.
//!
//! The 99.9th percentile of a few latencies is hardly more than their maximum, so it is left out below
//! [`P999_COUNT_MIN`] of them. Generators at a rate have a latency marker every millisecond, or behind every
//! record up to 10,000 records/s, so that a few seconds suffice.

use serde::Serialize;
use thalweg::LatencySummary;
use thalweg_cli::show;

/// Least number of latencies of which the 99.9th percentile is given: two of them lie above it.
pub const P999_COUNT_MIN: u64 = 2_000;

/// Mean, standard deviation and percentiles of latencies, in microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Latency {
    pub mean: f64,
    /// Standard deviation from the mean (Cameo, section 6.2, Figure 9d).
    pub stdev: f64,
    pub p50: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    /// The 99.9th percentile; missing if there are fewer than [`P999_COUNT_MIN`] latencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p999: Option<f64>,
    pub max: f64,
    pub count: u64,
}

impl From<LatencySummary> for Latency {
    fn from(summary: LatencySummary) -> Self {
        let micros = |nanos: u64| nanos as f64 / 1e3;
        let rounded_micros = |nanos: f64| (nanos / 10.0).round() / 100.0;
        Latency {
            mean: rounded_micros(summary.mean_ns),
            stdev: rounded_micros(summary.stdev_ns),
            p50: micros(summary.p50_ns),
            p90: micros(summary.p90_ns),
            p95: micros(summary.p95_ns),
            p99: micros(summary.p99_ns),
            p999: (P999_COUNT_MIN <= summary.count).then(|| micros(summary.p999_ns)),
            max: micros(summary.max_ns),
            count: summary.count,
        }
    }
}

/// Indent of a line that continues the one before.
const INDENT: &str = "              ";

impl Latency {
    /// Returns mean, percentiles and maximum as text, and on a second line the 99.9th percentile and the number. `what` names the things that have these
    /// latencies. If they are too few for the 99.9th percentile, the text says so.
    pub fn text(&self, what: &str) -> String {
        let Latency { mean, p50, p95, p99, p999, max, count, .. } = *self;
        let shown = |micros: f64| show::latency(micros * 1e3);
        let [mean, p50, p95, p99, max] = [mean, p50, p95, p99, max].map(shown);
        let (p999, why) = match p999 {
            Some(p999) => (format!("p99.9 {} ", shown(p999)), String::new()),
            None => (String::new(), format!("; p99.9 takes {P999_COUNT_MIN}")),
        };
        format!(
            "mean {mean}, p50 {p50}, p95 {p95}, p99 {p99}, max {max}\n{INDENT}{p999}({count} {what}{why})"
        )
    }
}

#[cfg(test)]
mod tests {
    use thalweg_runtime::Latencies;

    use super::*;

    #[test]
    fn figures_are_in_microseconds() {
        let mut latencies = Latencies::new();
        [1_000, 2_000].iter().for_each(|&latency_ns| latencies.record(latency_ns));
        let latency = latencies.summary().map(Latency::from).expect("two latencies were recorded");
        let Latency { mean, stdev, p50, max, count, .. } = latency;
        assert_eq!((mean, stdev, p50, max, count), (1.5, 0.5, 1.0, 2.0, 2));
    }

    /// The 99.9th percentile is left out below 2,000 latencies: in JSON without a trace, in text with a reason.
    #[test]
    fn a_few_latencies_have_no_high_percentile() {
        let of = |count: u64| {
            let mut latencies = Latencies::new();
            (1..=count).for_each(|micros| latencies.record(micros * 1_000));
            latencies.summary().map(Latency::from).expect("latencies were recorded")
        };
        let (few, many) = (of(1_999), of(2_000));
        assert_eq!(few.p999, None);
        assert!(many.p999.is_some_and(|p999| (1_990.0..2_000.0).contains(&p999)), "{many:?}");
        let json = |latency: &Latency| serde_json::to_value(latency).expect("JSON");
        assert!(json(&few).get("p999").is_none() && json(&many)["p999"].is_f64());
        assert!((1_890.0..1_910.0).contains(&many.p95), "{many:?}");
        assert!(few.text("markers").ends_with("(1999 markers; p99.9 takes 2000)"), "{}", few.text("markers"));
        let text = many.text("markers");
        assert!(text.contains("p99.9 ") && text.ends_with("(2000 markers)"), "{text}");
    }
}
