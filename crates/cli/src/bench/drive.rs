//! Runs queries on an engine of their own, for a while or to their end, and measures them.

use std::mem::take;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;
use thalweg::{Engine, Graph, LatencySummary, QueryHandle, QueryReport, QueryState};
use thalweg_runtime::{Latencies, system};

use crate::failure;
use crate::interrupt::Interrupt;

/// How often a run to its end looks whether it is over: that moment is part of the figures.
const LOOK: Duration = Duration::from_millis(2);

/// How often a run for a while looks whether it ends early. Seldom: whoever measures how little an idle engine does
/// must do less.
const SELDOM_LOOK: Duration = Duration::from_millis(50);

/// A figure over less time than this is none; the figure of the whole run is taken instead.
const MEASURED_MIN: Duration = Duration::from_millis(1);

/// What a run did.
pub struct Driven {
    /// Of each query, in the order in which they were given.
    pub reports: Vec<QueryReport>,
    pub measured: Measured,
    pub rss_peak_bytes: u64,
    pub scheduling_share: f64,
    /// Whether Ctrl-C ended it.
    pub is_interrupted: bool,
}

/// What all queries did while they were measured.
pub struct Measured {
    pub seconds: f64,
    /// Events per second of all queries.
    pub throughput_per_s: f64,
    /// The same of the slowest query and of the fastest.
    pub query_throughput_per_s: [f64; 2],
    /// CPU time of the process.
    pub cpu_s: f64,
    pub latency: Option<LatencySummary>,
    /// From when a watermark that closes something was taken in until the sinks have seen it.
    pub output_delay: Option<LatencySummary>,
}

/// How long to run.
pub enum Until {
    /// To the end of its input; everything is measured.
    End,
    /// For so long, after so long a warm-up with all queries running; then the sources are asked to end.
    Measured {
        /// Not measured.
        warmup: Duration,
        /// Measured.
        measured: Duration,
    },
}

/// Runs `graphs` together. Ctrl-C lets them drain early; if that was before anything could be measured, the whole run
/// is. A query that ends by itself ends the run; one that fails makes it fail.
pub fn drive(
    engine: &Engine,
    graphs: Vec<Graph>,
    until: &Until,
    interrupt: Option<&Interrupt>,
) -> Result<Driven> {
    system::forget_rss_peak();
    let is_one = graphs.len() == 1;
    // The only query needs no name.
    let named = |error: anyhow::Error, query: &str, what: &str| {
        if is_one { error } else { error.context(format!("query {query} {what}")) }
    };
    let mut moments = vec![Moment { events: vec![0; graphs.len()], ..Moment::now(&[]) }];
    let mut queries = Vec::with_capacity(graphs.len());
    for graph in graphs {
        let name = graph.name().to_owned();
        let query = engine.submit(graph).map_err(|error| failure::of_plan(&error));
        queries.push(query.map_err(|error| named(error, &name, "cannot be started"))?);
    }

    let is_pressed = || interrupt.is_some_and(Interrupt::is_pressed);
    let is_over = || is_pressed() || queries.iter().any(|query| query.state() != QueryState::Running);
    match *until {
        Until::End => {
            while !is_over() {
                sleep(LOOK);
            }
        }
        Until::Measured { warmup, measured } => {
            for length in [warmup, measured] {
                let deadline = Instant::now() + length;
                let left = || deadline.saturating_duration_since(Instant::now());
                while !left().is_zero() && !is_over() {
                    sleep(SELDOM_LOOK.min(left()));
                }
                moments.push(Moment::now(&queries));
            }
        }
    }

    let is_interrupted = is_pressed();
    queries.iter().for_each(QueryHandle::stop);
    let wait = |query: QueryHandle| (query.name().to_owned(), query.wait());
    // All of them, before the first error is told: sinks are done with their files.
    let ended: Vec<_> = queries.into_iter().map(wait).collect();
    let report = |(name, outcome): (String, Result<QueryReport, _>)| {
        outcome.map_err(|error| named(failure::of_query(&error), &name, "failed"))
    };
    let mut reports = ended.into_iter().map(report).collect::<Result<Vec<_>>>()?;
    moments.push(Moment {
        events: reports.iter().map(|report| report.events_in).collect(),
        latencies: reports.iter_mut().map(|report| take(&mut report.latencies)).collect(),
        output_delays: reports.iter_mut().map(|report| take(&mut report.output_delays)).collect(),
        ..Moment::now(&[])
    });

    let measured = match &moments[..] {
        [_, from, to, _] if MEASURED_MIN <= to.at - from.at => &moments[1..=2],
        _ => &moments[..],
    };
    let busy_ns: u64 = reports.iter().map(|report| report.busy_ns).sum();
    Ok(Driven {
        measured: Measured::between(measured),
        rss_peak_bytes: system::rss_peak_bytes(),
        // Time in steps contains the choice of the task.
        scheduling_share: engine.scheduling_ns() as f64 / (busy_ns as f64).max(1.0),
        is_interrupted,
        reports,
    })
}

/// What can be seen of a run at one moment.
struct Moment {
    at: Instant,
    cpu_s: f64,
    /// Of each query, since its start.
    events: Vec<u64>,
    /// Of each query, since the moment before this one.
    latencies: Vec<Latencies>,
    output_delays: Vec<Latencies>,
}

impl Moment {
    fn now(queries: &[QueryHandle]) -> Self {
        // Latencies first: what is left of them is nothing, of which a summary is made in no time.
        let latencies = queries.iter().map(QueryHandle::take_latencies).collect();
        let output_delays = queries.iter().map(QueryHandle::take_output_delays).collect();
        let events = queries.iter().map(|query| query.progress().events_in).collect();
        Moment { at: Instant::now(), cpu_s: system::cpu_seconds(), events, latencies, output_delays }
    }
}

impl Measured {
    /// From the first of some moments to the last.
    fn between(moments: &[Moment]) -> Self {
        let (from, to) = (&moments[0], &moments[moments.len() - 1]);
        let seconds = (to.at - from.at).as_secs_f64();
        let events = to.events.iter().zip(&from.events).map(|(behind, before)| behind - before);
        let per_s: Vec<f64> = events.map(|events| events as f64 / seconds).collect();
        let merged = |of: fn(&Moment) -> &Vec<Latencies>| {
            let mut merged = Latencies::new();
            moments[1..].iter().flat_map(of).for_each(|some| merged.merge(some));
            merged.summary()
        };
        Measured {
            seconds,
            throughput_per_s: per_s.iter().sum(),
            query_throughput_per_s: [
                per_s.iter().copied().fold(f64::INFINITY, f64::min),
                per_s.iter().copied().fold(0.0, f64::max),
            ],
            cpu_s: to.cpu_s - from.cpu_s,
            latency: merged(|moment| &moment.latencies),
            output_delay: merged(|moment| &moment.output_delays),
        }
    }
}

impl Driven {
    /// The sum of a figure over all queries.
    pub fn total(&self, figure: impl Fn(&QueryReport) -> u64) -> u64 {
        self.reports.iter().map(figure).sum()
    }

    /// The first query of which something is wrong, by name if there are several, and what.
    pub fn first_wrong(&self, wrong: impl Fn(usize, &QueryReport) -> Option<String>) -> Option<String> {
        let mut reports = self.reports.iter().enumerate();
        let (query, wrong) =
            reports.find_map(|(index, report)| Some((&report.query, wrong(index, report)?)))?;
        Some(if self.reports.len() == 1 { wrong } else { format!("query {query}: {wrong}") })
    }

    /// Whether the reference can tell what the results must be, if it takes up to `records_max` records. It has no
    /// watermarks: if records came too late for their windows, it has results that must not be.
    pub fn is_comparable(&self, records_max: u64) -> bool {
        let late = self.total(|report| report.total(|counts| counts.late));
        late == 0 && self.total(|report| report.events_in) <= records_max
    }

    /// The first query that lost records on the way, and where.
    pub fn conservation_error(&self) -> Option<String> {
        self.first_wrong(|_, report| report.conservation_error())
    }
}

#[cfg(test)]
mod tests;
