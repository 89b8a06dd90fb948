//! What the queries did, once they have ended: a column each, what it cost, and whether anything got lost.

use thalweg::{QueryError, QueryReport};

use crate::failure;
use crate::show;

/// A query that has ended.
pub struct Ended {
    pub query: String,
    pub outcome: Result<QueryReport, QueryError>,
}

/// What all of it cost.
pub struct Cost {
    pub cpu_s: f64,
    pub rss_peak_bytes: u64,
    pub workers: u64,
}

/// The summary of a run of so many seconds; queries that failed have no part in its figures.
pub fn text(ended: &[Ended], seconds: f64, cost: &Cost) -> String {
    let finished: Vec<&QueryReport> = ended.iter().filter_map(|ended| ended.outcome.as_ref().ok()).collect();
    let mut text = String::from("\n");
    if !finished.is_empty() {
        let line = |name: &str, cell: &dyn Fn(&QueryReport) -> String| {
            let cells: String = finished.iter().map(|report| format!("{:>15}", cell(report))).collect();
            format!("{name:<12}{cells}\n")
        };
        let latency = |report: &QueryReport, of: &dyn Fn(&thalweg::LatencySummary) -> u64| {
            report.latency.as_ref().map_or("-".to_owned(), |latency| show::latency(of(latency) as f64))
        };
        text += &line("", &|report| report.query.clone());
        text += &line("events", &|report| show::count(report.events_in));
        text += &line("results", &|report| show::count(report.results_out));
        text += &line("mean rate", &|report| show::rate(report.events_in as f64 / seconds));
        text += &line("latency p50", &|report| latency(report, &|latency| latency.p50_ns));
        text += &line("latency p99", &|report| latency(report, &|latency| latency.p99_ns));
        text += &line("latency max", &|report| latency(report, &|latency| latency.max_ns));
        text += &line("filtered", &|report| show::count(report.total(|counts| counts.filtered)));
        text += &line("late", &|report| show::count(report.total(|counts| counts.late)));
        text.push('\n');
    }
    let Cost { cpu_s, rss_peak_bytes, workers } = cost;
    let share = 100.0 * cpu_s / (seconds * *workers as f64);
    let of_workers = if *workers == 1 { "1 core".to_owned() } else { format!("{workers} cores") };
    text += &format!("{cpu_s:.2} s of CPU in {seconds:.1} s, {share:.0} % of {of_workers}; ");
    text += &format!("{} MiB of memory at most.\n", rss_peak_bytes >> 20);
    if !finished.is_empty() {
        text += "Latency is from when a record should have been sent to when the sink has it.\n";
    }
    if problems(ended).is_empty() {
        text += "Nothing lost: every record was read once, and is accounted for.\n";
    }
    text
}

/// What went wrong: queries that failed, and records that got lost.
pub fn problems(ended: &[Ended]) -> Vec<String> {
    let problem = |Ended { query, outcome }: &Ended| match outcome {
        Err(error) => Some(format!("query {query} failed: {}", failure::of_query(error))),
        Ok(report) => report.conservation_error().map(|lost| format!("query {query} lost records: {lost}")),
    };
    ended.iter().filter_map(problem).collect()
}
