//! Runs queries on an engine of their own, for a while or to their end, and measures them.

use std::mem::take;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;
use thalweg::{
    Clock, Engine, Graph, LatencySummary, ProcessingTime, QueryHandle, QueryReport, QueryState, SystemClock,
};
use thalweg_runtime::{Latencies, system};

use super::observe::{LOOK_EVERY, Observer};
use crate::failure;
use crate::interrupt::Interrupt;

/// How often a run to its end looks whether it is over: that moment is part of the figures.
const LOOK: Duration = Duration::from_millis(2);

/// How often a run for a while looks whether it ends early. Seldom: whoever measures how little an idle engine does
/// must do less.
const SELDOM_LOOK: Duration = Duration::from_millis(50);

/// Overdue markers of a query that are counted, the oldest first: those of 8 minutes, with one each 50 ms.
const OVERDUE_MARKERS_MAX: u64 = 10_000;

/// A figure over less time than this is none; the figure of the whole run is taken instead.
const MEASURED_MIN: Duration = Duration::from_millis(1);

/// What a run did.
pub struct Driven {
    /// Of each query, in the order in which they were given.
    pub reports: Vec<QueryReport>,
    pub measured: Measured,
    /// Where what was measured begins, what lies between and where it ends.
    moments: Vec<Moment>,
    /// The latency target of each query.
    targets: Vec<Option<Duration>>,
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
    /// From the end of what it closes, by the stamps of records.
    pub result_latency: Option<LatencySummary>,
    /// The share of results that were out within their query's latency target: of what watermarks have closed if there is
    /// any, else of markers.
    pub deadlines_met: Option<f64>,
    /// The same of markers alone, which count from when a record was to be sent.
    pub markers_in_time: Option<f64>,
    pub overdue: Overdue,
}

/// Results and markers that were due when the measurement ended and had not come through, and latencies that count them with
/// their age. A policy that leaves a query waiting has few latencies of that query, and would look fast without its overdue
/// results.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overdue {
    /// Windows that had ended, by the clock.
    pub results: u64,
    /// Latency markers that were to be sent.
    pub markers: u64,
    /// Result latency, overdue results included.
    pub result_latency: Option<LatencySummary>,
    /// Latency of markers, overdue markers included.
    pub latency: Option<LatencySummary>,
    /// The share of results that were out in time, of queries with a latency target: of those that were out, or are overdue for
    /// longer than the target.
    pub results_in_time: Option<f64>,
}

/// The reports of some queries of a run, or of all.
pub struct Reports<'a> {
    reports: Vec<&'a QueryReport>,
    /// Of the run: the only one needs no name.
    query_count: usize,
}

/// How long to run.
pub enum Until {
    /// To the end of its input; everything is measured.
    End,
    /// For so long, after so long a warm-up with all queries running; then the sources are asked to end.
    Measured {
        /// How long after the start each query is submitted, by rising time; those behind the last of them at once.
        deployed: Vec<Duration>,
        /// Not measured.
        warmup: Duration,
        /// Measured.
        measured: Duration,
        /// Who looks on.
        observer: Option<Observer>,
        /// The time between two latency markers of a query, if all have the same.
        marker_every: Option<Duration>,
    },
}

impl Until {
    fn deployed(&self) -> &[Duration] {
        match self {
            Until::End => &[],
            Until::Measured { deployed, .. } => deployed,
        }
    }
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
    let targets: Vec<Option<Duration>> = graphs.iter().map(|graph| graph.aims().latency_target).collect();
    let mut queries = Vec::with_capacity(graphs.len());
    let is_pressed = || interrupt.is_some_and(Interrupt::is_pressed);
    let has_ended = |queries: &[QueryHandle]| {
        is_pressed() || queries.iter().any(|query| query.state() != QueryState::Running)
    };
    // Where it is over before all are submitted, the others are nevertheless, to be stopped: so each has its report.
    let wait_until = |deadline: Instant, queries: &[QueryHandle]| {
        let left = || deadline.saturating_duration_since(Instant::now());
        while !left().is_zero() && !has_ended(queries) {
            sleep(SELDOM_LOOK.min(left()));
        }
    };
    let clock = SystemClock::default();
    let mut submitted = Vec::with_capacity(graphs.len());
    let (start, mut instants) = (Instant::now(), until.deployed().iter());
    for graph in graphs {
        if let Some(after) = instants.next() {
            wait_until(start + *after, &queries);
        }
        let name = graph.name().to_owned();
        submitted.push(clock.now());
        let query = engine.submit(graph).map_err(|error| failure::of_plan(&error));
        queries.push(query.map_err(|error| named(error, &name, "cannot be started"))?);
    }

    let mut watch = Watch::new(until, queries.len());
    match *until {
        Until::End => {
            while !has_ended(&queries) {
                sleep(LOOK);
            }
        }
        Until::Measured { warmup, measured, marker_every, .. } => {
            for length in [warmup, measured] {
                let deadline = Instant::now() + length;
                let left = || deadline.saturating_duration_since(Instant::now());
                while !left().is_zero() && !has_ended(&queries) {
                    sleep(SELDOM_LOOK.min(left()));
                    watch.look(&queries);
                }
                moments.push(watch.moment(&queries));
            }
            let now = clock.now();
            let last = moments.last_mut().expect("there is the moment at which measuring ended");
            let due =
                |(query, since): (&QueryHandle, &ProcessingTime)| Due::of(query, *since, now, marker_every);
            last.due = queries.iter().zip(&submitted).map(due).collect();
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
        result_latencies: reports.iter_mut().map(|report| take(&mut report.result_latencies)).collect(),
        ..Moment::now(&[])
    });

    let moments = match <[Moment; 4]>::try_from(moments) {
        Ok([_, from, to, _]) if MEASURED_MIN <= to.at - from.at => vec![from, to],
        Ok(moments) => moments.into(),
        Err(moments) => moments,
    };
    let busy_ns: u64 = reports.iter().map(|report| report.busy_ns).sum();
    Ok(Driven {
        measured: Measured::between(&moments, &targets),
        moments,
        targets,
        rss_peak_bytes: system::rss_peak_bytes(),
        // Time in steps contains the choice of the task.
        scheduling_share: engine.scheduling_ns() as f64 / (busy_ns as f64).max(1.0),
        is_interrupted,
        reports,
    })
}

/// Results and markers of one query that were due at a moment and had not come through, each with its age.
#[derive(Default)]
struct Due {
    results: Latencies,
    markers: Latencies,
}

impl Due {
    /// Returns what is due `now` of `query`, which was submitted at `since`.
    fn of(query: &QueryHandle, since: ProcessingTime, now: ProcessingTime, every: Option<Duration>) -> Self {
        let mut markers = Latencies::new();
        if let Some(every_ns) =
            every.and_then(|every| u64::try_from(every.as_nanos()).ok()).filter(|ns| 0 < *ns)
        {
            let last = query.last_marker().unwrap_or(since);
            // The marker that is due just now may be on its way.
            let missing = (now.nanos_since(last) / every_ns).min(OVERDUE_MARKERS_MAX);
            (1..=missing).for_each(|place| markers.record(now.nanos_since(last) - place * every_ns));
        }
        Due { results: query.overdue_results(since, now), markers }
    }
}

/// Looks on, if somebody does, and keeps the latencies that it has taken for the next moment.
struct Watch<'a> {
    observer: Option<&'a Observer>,
    /// When to look next.
    next: Instant,
    /// When to begin with the timeline.
    timeline_at: Option<Instant>,
    /// Of each query.
    taken: Vec<Latencies>,
}

impl<'a> Watch<'a> {
    /// From now on, when all queries run.
    fn new(until: &'a Until, queries: usize) -> Self {
        let (observer, timeline_at) = match until {
            Until::End => (None, None),
            Until::Measured { warmup, measured, observer, .. } => {
                (observer.as_ref(), Some(Instant::now() + *warmup + *measured / 2))
            }
        };
        let taken = (0..queries).map(|_| Latencies::new()).collect();
        Watch { observer, next: Instant::now(), timeline_at, taken }
    }

    /// Looks, if it is time.
    fn look(&mut self, queries: &[QueryHandle]) {
        let Some(observer) = self.observer else { return };
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + LOOK_EVERY;
        let mut all = Latencies::new();
        for (query, taken) in queries.iter().zip(&mut self.taken) {
            let latencies = query.take_latencies();
            all.merge(&latencies);
            taken.merge(&latencies);
        }
        observer.look(queries, &all);
        if self.timeline_at.take_if(|at| *at <= now).is_some() {
            observer.begin_timeline();
        }
    }

    /// This moment, with what the looks have taken since the one before.
    fn moment(&mut self, queries: &[QueryHandle]) -> Moment {
        let mut moment = Moment::now(queries);
        for (latencies, taken) in moment.latencies.iter_mut().zip(&mut self.taken) {
            latencies.merge(&take(taken));
        }
        moment
    }
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
    result_latencies: Vec<Latencies>,
    /// Overdue results and markers of each query; empty but at the end of the measurement.
    due: Vec<Due>,
}

impl Moment {
    fn now(queries: &[QueryHandle]) -> Self {
        // Latencies first: what is left of them is nothing, of which a summary is made in no time.
        let latencies = queries.iter().map(QueryHandle::take_latencies).collect();
        let output_delays = queries.iter().map(QueryHandle::take_output_delays).collect();
        let result_latencies = queries.iter().map(QueryHandle::take_result_latencies).collect();
        let events = queries.iter().map(|query| query.progress().events_in).collect();
        let (at, cpu_s) = (Instant::now(), system::cpu_seconds());
        Moment { at, cpu_s, events, latencies, output_delays, result_latencies, due: Vec::new() }
    }
}

impl Measured {
    /// From the first of some moments to the last; with the latency target of each query.
    fn between(moments: &[Moment], targets: &[Option<Duration>]) -> Self {
        Measured::among(moments, targets, &(0..targets.len()).collect::<Vec<_>>())
    }

    /// The same of these queries alone, but for the CPU time.
    fn among(moments: &[Moment], targets: &[Option<Duration>], queries: &[usize]) -> Self {
        let (from, to) = (&moments[0], &moments[moments.len() - 1]);
        let seconds = (to.at - from.at).as_secs_f64();
        let events = queries.iter().map(|&query| to.events[query] - from.events[query]);
        let per_s: Vec<f64> = events.map(|events| events as f64 / seconds).collect();
        let merged = |of: fn(&Moment) -> &Vec<Latencies>| {
            let mut merged = Latencies::new();
            // Not every moment has some of each: the first of all has none.
            let some = moments[1..]
                .iter()
                .flat_map(|moment| queries.iter().filter_map(move |&query| of(moment).get(query)));
            some.for_each(|some| merged.merge(some));
            merged
        };
        let due = |of: fn(&Due) -> &Latencies| {
            let mut merged = Latencies::new();
            queries.iter().filter_map(|&query| to.due.get(query)).for_each(|due| merged.merge(of(due)));
            merged
        };
        let with_due = |mut latencies: Latencies, due: &Latencies| {
            latencies.merge(due);
            latencies.summary()
        };
        let (latencies, results) =
            (merged(|moment| &moment.latencies), merged(|moment| &moment.result_latencies));
        let (due_markers, due_results) = (due(|due| &due.markers), due(|due| &due.results));
        let targets = queries.iter().map(|&query| (query, targets[query]));
        let targets: Vec<_> = targets.filter_map(|(query, target)| Some((query, target?))).collect();
        Measured {
            seconds,
            throughput_per_s: per_s.iter().sum(),
            query_throughput_per_s: [
                per_s.iter().copied().fold(f64::INFINITY, f64::min),
                per_s.iter().copied().fold(0.0, f64::max),
            ],
            cpu_s: to.cpu_s - from.cpu_s,
            latency: latencies.summary(),
            output_delay: merged(|moment| &moment.output_delays).summary(),
            result_latency: results.summary(),
            overdue: Overdue {
                results: due_results.count(),
                markers: due_markers.count(),
                result_latency: with_due(results, &due_results),
                latency: with_due(latencies, &due_markers),
                results_in_time: share(targets.iter().map(|&(query, target)| {
                    let (met, all) = within(&moments[1..], query, target, |moment| &moment.result_latencies);
                    let overdue = to
                        .due
                        .get(query)
                        .map_or(0, |due| due.results.count() - due.results.count_within(nanos(target)));
                    (met, all + overdue)
                })),
            },
            deadlines_met: deadlines_met(&moments[1..], &targets),
            markers_in_time: share(
                targets.iter().map(|(query, target)| {
                    within(&moments[1..], *query, *target, |moment| &moment.latencies)
                }),
            ),
        }
    }
}

/// Of what came before each of these moments and after the one before, the share that was within its query's target; none
/// without any.
fn deadlines_met(moments: &[Moment], targets: &[(usize, Duration)]) -> Option<f64> {
    share(targets.iter().map(|&(query, target)| {
        let closings = within(moments, query, target, |moment| &moment.output_delays);
        if closings.1 > 0 { closings } else { within(moments, query, target, |moment| &moment.latencies) }
    }))
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// How many latencies of a query are within a target, and how many there are.
fn within(
    moments: &[Moment],
    query: usize,
    target: Duration,
    of: fn(&Moment) -> &Vec<Latencies>,
) -> (u64, u64) {
    let target_ns = nanos(target);
    let some = moments.iter().filter_map(|moment| of(moment).get(query));
    some.fold((0, 0), |(met, all), some| (met + some.count_within(target_ns), all + some.count()))
}

/// The share of all that they have met; none without any.
fn share(counted: impl Iterator<Item = (u64, u64)>) -> Option<f64> {
    let (met, all) = counted.fold((0, 0), |(met, all), some| (met + some.0, all + some.1));
    (all > 0).then(|| met as f64 / all as f64)
}

impl Driven {
    /// What the queries at these places did, but for the CPU time, which is of the process.
    pub fn measured_of(&self, places: &[usize]) -> Measured {
        Measured::among(&self.moments, &self.targets, places)
    }

    /// Of all queries.
    pub fn all(&self) -> Reports<'_> {
        Reports { reports: self.reports.iter().collect(), query_count: self.reports.len() }
    }

    /// Of the queries at these places.
    pub fn some(&self, places: &[usize]) -> Reports<'_> {
        let reports = places.iter().map(|&place| &self.reports[place]).collect();
        Reports { reports, query_count: self.reports.len() }
    }

    /// The sum of a figure over all queries.
    pub fn total(&self, figure: impl Fn(&QueryReport) -> u64) -> u64 {
        self.all().total(figure)
    }

    /// The first query of which something is wrong, by name if there are several, and what.
    pub fn first_wrong(&self, wrong: impl Fn(usize, &QueryReport) -> Option<String>) -> Option<String> {
        self.all().first_wrong(wrong)
    }

    /// Whether the reference can tell what the results must be, if it takes up to `records_max` records.
    pub fn is_comparable(&self, records_max: u64) -> bool {
        self.all().is_comparable(records_max)
    }

    /// The first query that lost records on the way, and where.
    pub fn conservation_error(&self) -> Option<String> {
        self.first_wrong(|_, report| report.conservation_error())
    }
}

impl Reports<'_> {
    /// The sum of a figure over these queries.
    pub fn total(&self, figure: impl Fn(&QueryReport) -> u64) -> u64 {
        self.reports.iter().copied().map(figure).sum()
    }

    /// The first of these queries of which something is wrong, by name if several have run, and what.
    pub fn first_wrong(&self, wrong: impl Fn(usize, &QueryReport) -> Option<String>) -> Option<String> {
        let mut reports = self.reports.iter().enumerate();
        let (query, wrong) =
            reports.find_map(|(index, report)| Some((&report.query, wrong(index, report)?)))?;
        Some(if self.query_count == 1 { wrong } else { format!("query {query}: {wrong}") })
    }

    /// Whether the reference can tell what the results must be, if it takes up to `records_max` records. It has no
    /// watermarks: if records came too late for their windows, it has results that must not be.
    pub fn is_comparable(&self, records_max: u64) -> bool {
        let late = self.total(|report| report.total(|counts| counts.late));
        late == 0 && self.total(|report| report.events_in) <= records_max
    }
}

#[cfg(test)]
mod tests;
