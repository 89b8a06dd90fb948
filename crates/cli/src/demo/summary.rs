//! The summary of the demo's ended queries: one line for each query and one for all, their cost, and
//! whether records were lost.

use thalweg::{LatencySummary, QueryError, QueryReport};
use thalweg_cli::failure;
use thalweg_cli::show;
use thalweg_runtime::Latencies;

/// A query of the demo that has ended.
pub struct Ended {
    pub query: String,
    pub outcome: Result<QueryReport, QueryError>,
    /// Histogram of the latencies of all results of the query over the whole run.
    pub latencies: Latencies,
}

/// Resources that all queries of the demo together have used.
pub struct Cost {
    pub cpu_s: f64,
    pub rss_peak_bytes: u64,
    pub workers: u64,
}

/// Returns the summary of a demo that ran for `seconds`. Queries that failed are not part of its
/// figures.
pub fn text(ended: &[Ended], seconds: f64, cost: &Cost) -> String {
    let mut text = String::from("\n");
    let finished: Vec<Line> = ended.iter().filter_map(Line::of).collect();
    if !finished.is_empty() {
        text += &columns(&["query", "events", "results", "mean rate", "p50", "p99", "max", "late"]);
        finished.iter().for_each(|line| text += &line.text(seconds));
        if finished.len() > 1 {
            text += &Line::of_all(&finished).text(seconds);
        }
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

/// One line of the summary: counts, rate and latencies of one query, or of all queries together.
struct Line {
    query: String,
    events: u64,
    results: u64,
    late: u64,
    latencies: Latencies,
}

impl Line {
    fn of(ended: &Ended) -> Option<Self> {
        let report = ended.outcome.as_ref().ok()?;
        Some(Line {
            query: ended.query.clone(),
            events: report.events_in,
            results: report.results_out,
            late: report.total(|counts| counts.late),
            latencies: ended.latencies.clone(),
        })
    }

    fn of_all(lines: &[Line]) -> Self {
        let sum = |figure: fn(&Line) -> u64| lines.iter().map(figure).sum();
        let mut latencies = Latencies::new();
        lines.iter().for_each(|line| latencies.merge(&line.latencies));
        Line {
            query: "all".to_owned(),
            events: sum(|line| line.events),
            results: sum(|line| line.results),
            late: sum(|line| line.late),
            latencies,
        }
    }

    fn text(&self, seconds: f64) -> String {
        let summary = self.latencies.summary();
        let latency = |of: fn(&LatencySummary) -> u64| show::latency_or_none(summary.as_ref().map(of));
        columns(&[
            &self.query,
            &show::count(self.events),
            &show::count(self.results),
            &show::rate(self.events as f64 / seconds),
            &latency(|latency| latency.p50_ns),
            &latency(|latency| latency.p99_ns),
            &latency(|latency| latency.max_ns),
            &show::count(self.late),
        ])
    }
}

/// Formats a line of the summary, as wide as a terminal.
fn columns([query, events, results, rate, p50, p99, max, late]: &[&str; 8]) -> String {
    format!("{query:<7}{events:>14}{results:>12}{rate:>11}{p50:>9}{p99:>9}{max:>9}{late:>9}\n")
}

/// Describes queries that failed, and records that were lost.
pub fn problems(ended: &[Ended]) -> Vec<String> {
    let problem = |Ended { query, outcome, .. }: &Ended| match outcome {
        Err(error) => Some(format!("query {query} failed: {}", failure::of_query(error))),
        Ok(report) => report.conservation_error().map(|lost| format!("query {query} lost records: {lost}")),
    };
    ended.iter().filter_map(problem).collect()
}
