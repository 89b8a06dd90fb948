//! Runs queries on an engine of their own, for some time or to their end, and measures them.

use std::mem::take;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;
use thalweg::{
    Clock, Engine, Graph, LatencySummary, ProcessingTime, QueryHandle, QueryReport, QueryState, SystemClock,
};
use thalweg_cli::failure;
use thalweg_cli::interrupt::Interrupt;
use thalweg_runtime::{Latencies, system};

use super::observe::{LOOK_EVERY, Observer};
use super::queues::QueueSamples;
use super::steer::{self, SteerPlan, Steered};
use super::work::Work;

/// Interval at which a run that reads its input to the end checks whether it has ended. So the measured time
/// may be too long by up to this interval.
const LOOK: Duration = Duration::from_millis(2);

/// Interval at which a timed run checks whether it ends early. It is long, since the check must not disturb a
/// measurement of an idle engine.
const SELDOM_LOOK: Duration = Duration::from_millis(50);

/// Largest number of overdue (sent and not at a sink) latency markers counted per query, the oldest first:
/// those of 100 s at one for each of 10,000 records a second.
const OVERDUE_MARKERS_MAX: u64 = 1 << 20;

/// Shortest measured time. If the run is stopped so early that less would be measured, throughput and
/// latencies are those of the whole run.
const MEASURED_MIN: Duration = Duration::from_millis(1);

/// Result of a run of queries on an engine.
pub struct Driven {
    /// Report of each query, in the order in which the queries were given.
    pub reports: Vec<QueryReport>,
    pub measured: Measured,
    /// States of the run: when the measurement began, at each sample after that, and when it ended.
    moments: Vec<Moment>,
    /// The latency target of each query; `None` if it has none.
    targets: Vec<Option<Duration>>,
    pub rss_peak_bytes: u64,
    pub scheduling_share: f64,
    /// Whether Ctrl-C ended the run early.
    pub is_interrupted: bool,
    /// Outcome of the steering of the threads; `None` if the operating system alone scheduled them.
    pub steered: Option<Steered>,
}

/// Measurements of all queries of a run, or of some of them, over the measured time: throughput, latencies,
/// CPU time and shares of results in time.
pub struct Measured {
    pub seconds: f64,
    /// Events per second of all queries together.
    pub throughput_per_s: f64,
    /// Events per second of the slowest query and of the fastest query.
    pub query_throughput_per_s: [f64; 2],
    /// Records per second that each operator of the queries processed, summed over all operators.
    pub operator_throughput_per_s: f64,
    /// CPU time that the process took, in seconds.
    pub cpu_s: f64,
    pub latency: Option<LatencySummary>,
    /// Latency of latency markers, counted from the instant at which the source read the record before the
    /// marker, not from the one at which this record was to be sent.
    pub processing_latency: Option<LatencySummary>,
    /// Delay from the instant at which a source emits a watermark that closes a window until the sinks have
    /// seen this watermark.
    pub output_delay: Option<LatencySummary>,
    /// Delay from the end of a window, by the event times of records, until the sinks have seen the watermark
    /// that closes it.
    pub result_latency: Option<LatencySummary>,
    /// Delay from the instant at which a source could first have read the last event that a result was made
    /// of, until the result has reached the sinks.
    pub event_latency: Option<LatencySummary>,
    /// Share of results that were delivered within the latency target of their query. The results of windows
    /// are counted, from the arrival of their last event on. A query without such results has its latency
    /// markers counted instead.
    pub deadlines_met: Option<f64>,
    /// Share of results that were delivered within the latency target of their query, from the arrival of the
    /// last event, of queries with a target. Counted are the results that were delivered, and those not
    /// delivered that are due for longer than the target.
    pub success_rate: Option<f64>,
    /// Share of latency markers that arrived within the latency target. Their latency counts from the time at
    /// which a record was to be sent.
    pub markers_in_time: Option<f64>,
    /// Slowdown (Klink, section 6.1.2): the latency of results divided by the sum of the costs of one record
    /// at each operator of the query; the mean over the queries. Results that are due and not delivered count
    /// with their age. Costs include the time in which a worker chooses the task.
    pub slowdown: Option<f64>,
    /// Coefficient of variation of the lengths of all queues of the run, even if the other figures of this
    /// struct cover only some queries. It is the mean over samples.
    pub queue_cv: Option<f64>,
    pub overdue: Overdue,
}

/// Results, watermarks that close windows, and latency markers that were due when the measurement ended and
/// had not arrived, and latencies that include them with their age. A policy that leaves a query waiting has
/// few latencies of that query, and would look fast without these.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overdue {
    /// Number of windows that had ended by the clock, but whose results had not reached the sinks.
    pub results: u64,
    /// Number of latency markers that were to be sent, but had not reached a sink. `None` if markers of some
    /// query come at irregular intervals.
    pub markers: Option<u64>,
    /// Number of watermarks that close windows and that a source had emitted, but that had not reached all
    /// sinks.
    pub closings: u64,
    /// Number of watermarks that close windows, were emitted by a source during the measured time, and have
    /// no output delay, because too many other watermarks of their query were on their way. They are not
    /// counted in [`closings`](Self::closings).
    pub unmeasured_closings: u64,
    /// Output delays (from the instant at which a source emits a watermark that closes a window until all
    /// sinks have seen it). Watermarks that have not reached all sinks are included with the time since that
    /// instant.
    pub output_delay: Option<LatencySummary>,
    /// Latency of results, including those that are due and not delivered with their age.
    pub result_latency: Option<LatencySummary>,
    /// Latency of results from the arrival of the last event, including those that are due and not delivered
    /// with their age.
    pub event_latency: Option<LatencySummary>,
    /// Latency of markers, including markers that are due and not at a sink with their age. `None` if it is not
    /// known which markers are due, or if there are no markers.
    pub latency: Option<LatencySummary>,
    /// Share of results that were delivered in time, of queries with a latency target. Counted are the
    /// results that were delivered, and the results not delivered that are due for longer than the target.
    pub results_in_time: Option<f64>,
}

/// The reports of some or all queries of a run.
pub struct Reports<'a> {
    reports: Vec<&'a QueryReport>,
    /// Number of queries of the run; a single query is not named in messages.
    query_count: usize,
}

/// The time for which queries run.
pub enum Until {
    /// The queries run to the end of their input, and everything is measured.
    End,
    /// The queries run for a measured time, after a warm-up in which all of them run. Then the sources are
    /// asked to end.
    Measured {
        /// Time after the start at which each query is submitted, ascending; further queries are submitted
        /// together with the last one.
        deployed: Vec<Duration>,
        /// Time during which all queries run but nothing is measured.
        warmup: Duration,
        /// Time during which the run is measured, after the warm-up.
        measured: Duration,
        /// Observer that samples the run, if there is one.
        observer: Option<Observer>,
        /// Time between two latency markers of each query, in the order of the queries. It is `None`, or
        /// missing, for a query whose markers come at irregular intervals.
        marker_every: Vec<Option<Duration>>,
        /// How the threads of the tasks are steered; `None` if the operating system alone schedules them.
        steer: Option<Box<SteerPlan>>,
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

/// Runs the queries `graphs` together, and steers their threads if that is asked for. Ctrl-C lets them drain early. If
/// it comes before anything was
/// measured, the figures are those of the whole run. A query that ends by itself ends the run, and a query
/// that fails makes the run fail.
pub fn drive(
    engine: &Engine,
    graphs: Vec<Graph>,
    until: &Until,
    interrupt: Option<&Interrupt>,
) -> Result<Driven> {
    match until {
        Until::Measured { steer: Some(plan), .. } => {
            let (driven, steered) =
                steer::beside(engine, plan, || drive_alone(engine, graphs, until, interrupt))?;
            Ok(Driven { steered: Some(steered), ..driven })
        }
        Until::Measured { steer: None, .. } | Until::End => drive_alone(engine, graphs, until, interrupt),
    }
}

/// Runs the queries `graphs` together as [`drive`] does, without steering.
fn drive_alone(
    engine: &Engine,
    graphs: Vec<Graph>,
    until: &Until,
    interrupt: Option<&Interrupt>,
) -> Result<Driven> {
    system::forget_rss_peak();
    let is_one = graphs.len() == 1;
    // If there is only one query, messages do not name it.
    let named = |error: anyhow::Error, query: &str, what: &str| {
        if is_one { error } else { error.context(format!("query {query} {what}")) }
    };
    let (zeros, work) = (vec![0; graphs.len()], vec![Work::default(); graphs.len()]);
    let mut moments = vec![Moment { events: zeros.clone(), unmeasured: zeros, work, ..Moment::now(&[]) }];
    let targets: Vec<Option<Duration>> = graphs.iter().map(|graph| graph.aims().latency_target).collect();
    let mut queries = Vec::with_capacity(graphs.len());
    let is_pressed = || interrupt.is_some_and(Interrupt::is_pressed);
    let has_ended = |queries: &[QueryHandle]| {
        is_pressed() || queries.iter().any(|query| query.state() != QueryState::Running)
    };
    // If the run is over before all queries are submitted, the remaining queries are submitted and stopped at
    // once, so that each query has a report.
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
    match until {
        Until::End => {
            while !has_ended(&queries) {
                sleep(LOOK);
                watch.look(&queries);
            }
        }
        Until::Measured { warmup, measured, marker_every, .. } => {
            for length in [*warmup, *measured] {
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
            let due = |(place, query): (usize, &QueryHandle)| {
                let every = marker_every.get(place).copied().flatten();
                Due::of(query, submitted[place], now, every)
            };
            last.due = queries.iter().enumerate().map(due).collect();
        }
    }

    let is_interrupted = is_pressed();
    queries.iter().for_each(QueryHandle::stop);
    let wait = |query: QueryHandle| (query.name().to_owned(), query.wait());
    // The first error is returned only after all queries have ended, so that no sink uses its files any more.
    let ended: Vec<_> = queries.into_iter().map(wait).collect();
    let report = |(name, outcome): (String, Result<QueryReport, _>)| {
        outcome.map_err(|error| named(failure::of_query(&error), &name, "failed"))
    };
    let mut reports = ended.into_iter().map(report).collect::<Result<Vec<_>>>()?;
    moments.push(Moment {
        events: reports.iter().map(|report| report.events_in).collect(),
        latencies: reports.iter_mut().map(|report| take(&mut report.latencies)).collect(),
        processing_latencies: reports
            .iter_mut()
            .map(|report| take(&mut report.processing_latencies))
            .collect(),
        output_delays: reports.iter_mut().map(|report| take(&mut report.output_delays)).collect(),
        result_latencies: reports.iter_mut().map(|report| take(&mut report.result_latencies)).collect(),
        event_latencies: reports.iter_mut().map(|report| take(&mut report.event_latencies)).collect(),
        unmeasured: reports.iter().map(|report| report.unmeasured_output_delays).collect(),
        work: reports.iter().map(Work::of_ended).collect(),
        queues: take(&mut watch.queues),
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
        // The time that tasks spend in their steps includes the time in which the task was chosen.
        scheduling_share: engine.scheduling_ns() as f64 / (busy_ns as f64).max(1.0),
        is_interrupted,
        reports,
        steered: None,
    })
}

/// Results, watermarks that close windows, and latency markers of one query that were due at a moment and had
/// not been delivered, each with its age.
#[derive(Default)]
struct Due {
    results: Latencies,
    /// Results, each with the time since the arrival of the last event that it is made of.
    events: Latencies,
    /// For each watermark that closes a window and is on its way to the sinks: the time since a source
    /// emitted it.
    output_delays: Latencies,
    /// Latency markers, each with the time since it was due. `None` if markers come at irregular intervals,
    /// so that the number of missing ones is not known.
    markers: Option<Latencies>,
}

impl Due {
    /// Returns the results, watermarks that close windows, and latency markers of `query` that were due by
    /// `now` and had not reached a sink, with their ages. The query was submitted at `since`.
    fn of(query: &QueryHandle, since: ProcessingTime, now: ProcessingTime, every: Option<Duration>) -> Self {
        let markers = every.map(|every| {
            let every_ns = nanos(every).max(1);
            let mut markers = Latencies::new();
            let last = query.last_marker().unwrap_or(since);
            // Markers are counted as missing from the instant at which they are due, even if they are on
            // their way to a sink.
            let missing = (now.nanos_since(last) / every_ns).min(OVERDUE_MARKERS_MAX);
            (1..=missing).for_each(|place| markers.record(now.nanos_since(last) - place * every_ns));
            markers
        });
        let results = query.overdue_results(since, now);
        let events = query.overdue_event_latencies(since, now);
        Due { results, events, output_delays: query.overdue_output_delays(now), markers }
    }
}

/// Samples the lengths of queues while a run goes on and, if there is an observer, latencies and pending
/// records for it. A sample for the observer takes latencies out of the queries, so it stores them here for
/// the next [`Moment`].
struct Watch<'a> {
    observer: Option<&'a Observer>,
    /// Time of the next sample of the run.
    next: Instant,
    /// Time at which the timeline of the observer begins.
    timeline_at: Option<Instant>,
    /// Latencies of each query that samples have taken out of it since the last [`Moment`].
    taken: Vec<Latencies>,
    /// Samples of the lengths of queues that were taken since the last [`Moment`].
    queues: QueueSamples,
}

impl<'a> Watch<'a> {
    /// Creates the sampling of a run. It is called when all queries run, and the warm-up counts from then on.
    fn new(until: &'a Until, queries: usize) -> Self {
        let (observer, timeline_at) = match until {
            Until::End => (None, None),
            Until::Measured { warmup, measured, observer, .. } => {
                (observer.as_ref(), Some(Instant::now() + *warmup + *measured / 2))
            }
        };
        let taken = (0..queries).map(|_| Latencies::new()).collect();
        Watch { observer, next: Instant::now(), timeline_at, taken, queues: QueueSamples::default() }
    }

    /// Takes a sample of the run, if one is due.
    fn look(&mut self, queries: &[QueryHandle]) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + LOOK_EVERY;
        self.queues.add(&queue_lengths(queries));
        let Some(observer) = self.observer else { return };
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

    /// Returns the state of the run now, with the latencies and the samples of queues since the previous
    /// [`Moment`].
    fn moment(&mut self, queries: &[QueryHandle]) -> Moment {
        let mut moment = Moment::now(queries);
        for (latencies, taken) in moment.latencies.iter_mut().zip(&mut self.taken) {
            latencies.merge(&take(taken));
        }
        moment.queues = take(&mut self.queues);
        moment
    }
}

/// Returns the lengths of the queues of all queries now, in records.
fn queue_lengths(queries: &[QueryHandle]) -> Vec<u64> {
    let now = SystemClock::default().now();
    let mut lengths = Vec::new();
    queries.iter().for_each(|query| query.queue_lengths(now, |length| lengths.push(length)));
    lengths
}

/// State of a run at one instant: the beginning or the end of the measurement, or in between.
struct Moment {
    at: Instant,
    cpu_s: f64,
    /// Number of events that the sources of each query have made since its start.
    events: Vec<u64>,
    /// Latencies of each query since the previous [`Moment`].
    latencies: Vec<Latencies>,
    processing_latencies: Vec<Latencies>,
    output_delays: Vec<Latencies>,
    result_latencies: Vec<Latencies>,
    event_latencies: Vec<Latencies>,
    /// Number of watermarks of each query, since its start, that close windows and whose output delay was not
    /// measured, because too many others of their query were on their way.
    unmeasured: Vec<u64>,
    /// Records processed by the operators of each query, and the time spent on them, since its start.
    work: Vec<Work>,
    /// Samples of the lengths of all queues that were taken since the previous [`Moment`].
    queues: QueueSamples,
    /// Results, watermarks that close windows, and latency markers of each query that were due and had not
    /// reached a sink. Empty except at the end of the measurement.
    due: Vec<Due>,
}

impl Moment {
    fn now(queries: &[QueryHandle]) -> Self {
        // Latencies are taken out of the queries before all other values are read, and merged with those of
        // earlier samples only afterwards, so that merging does not fall into the measured time.
        let latencies = queries.iter().map(QueryHandle::take_latencies).collect();
        let processing_latencies = queries.iter().map(QueryHandle::take_processing_latencies).collect();
        let output_delays = queries.iter().map(QueryHandle::take_output_delays).collect();
        let result_latencies = queries.iter().map(QueryHandle::take_result_latencies).collect();
        let event_latencies = queries.iter().map(QueryHandle::take_event_latencies).collect();
        let events = queries.iter().map(|query| query.progress().events_in).collect();
        let (at, cpu_s) = (Instant::now(), system::cpu_seconds());
        let unmeasured = queries.iter().map(QueryHandle::unmeasured_output_delays).collect();
        // The metrics of queries take longest to read, so they are read last. Then the time `at` is close to
        // the time at which the events were counted.
        let work = queries.iter().map(|query| Work::of(&query.metrics())).collect();
        let (queues, due) = (QueueSamples::default(), Vec::new());
        Moment {
            at,
            cpu_s,
            events,
            latencies,
            processing_latencies,
            output_delays,
            result_latencies,
            event_latencies,
            unmeasured,
            work,
            queues,
            due,
        }
    }
}

impl Measured {
    /// Returns the measurements (throughput, latencies and the like) of a run between the first and the last
    /// of the given moments. `targets` has the latency target of each query.
    fn between(moments: &[Moment], targets: &[Option<Duration>]) -> Self {
        Measured::among(moments, targets, &(0..targets.len()).collect::<Vec<_>>())
    }

    /// Returns the measurements (throughput, latencies and the like) of some queries alone. The CPU time is
    /// that of the whole process, and the lengths of queues are those of the whole run.
    fn among(moments: &[Moment], targets: &[Option<Duration>], queries: &[usize]) -> Self {
        let (from, to) = (&moments[0], &moments[moments.len() - 1]);
        let seconds = (to.at - from.at).as_secs_f64();
        let events = queries.iter().map(|&query| to.events[query] - from.events[query]);
        let per_s: Vec<f64> = events.map(|events| events as f64 / seconds).collect();
        let merged = |of: fn(&Moment) -> &Vec<Latencies>| {
            let mut merged = Latencies::new();
            // The state of a moment may lack the latencies of some queries, and that of the first moment has
            // none at all.
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
        let (latencies, results, delays) = (
            merged(|moment| &moment.latencies),
            merged(|moment| &moment.result_latencies),
            merged(|moment| &moment.output_delays),
        );
        let (due_results, due_delays) = (due(|due| &due.results), due(|due| &due.output_delays));
        // The latencies of markers that have not arrived are known for all queries together only if they are
        // known for each query.
        let with_markers = |mut all: Latencies, due: &Due| -> Option<Latencies> {
            all.merge(due.markers.as_ref()?);
            Some(all)
        };
        let due_markers =
            queries.iter().filter_map(|&query| to.due.get(query)).try_fold(Latencies::new(), with_markers);
        let processed: u64 =
            queries.iter().map(|&query| to.work[query].records_since(&from.work[query])).sum();
        let mut queues = QueueSamples::default();
        moments[1..].iter().for_each(|moment| queues.merge(moment.queues));
        let targets = queries.iter().map(|&query| (query, targets[query]));
        let targets: Vec<_> = targets.filter_map(|(query, target)| Some((query, target?))).collect();
        let event_latencies = merged(|moment| &moment.event_latencies);
        // The share of results that were delivered in time. Results that are due for longer than the target
        // and not delivered are late. It is not known whether results that are due for less will be late, so
        // such results are left out.
        let in_time = |delivered: fn(&Moment) -> &Vec<Latencies>, overdue: fn(&Due) -> &Latencies| {
            share(targets.iter().map(|&(query, target)| {
                let (met, all) = within(&moments[1..], query, target, delivered);
                let late = |ages: &Latencies| ages.count() - ages.count_within(nanos(target));
                (met, all + to.due.get(query).map_or(0, |due| late(overdue(due))))
            }))
        };
        Measured {
            seconds,
            throughput_per_s: per_s.iter().sum(),
            query_throughput_per_s: [
                per_s.iter().copied().fold(f64::INFINITY, f64::min),
                per_s.iter().copied().fold(0.0, f64::max),
            ],
            operator_throughput_per_s: processed as f64 / seconds,
            cpu_s: to.cpu_s - from.cpu_s,
            latency: latencies.summary(),
            processing_latency: merged(|moment| &moment.processing_latencies).summary(),
            output_delay: delays.summary(),
            result_latency: results.summary(),
            event_latency: event_latencies.summary(),
            success_rate: in_time(|moment| &moment.event_latencies, |due| &due.events),
            slowdown: slowdown(moments, queries),
            queue_cv: queues.mean(),
            overdue: Overdue {
                results: due_results.count(),
                markers: due_markers.as_ref().map(Latencies::count),
                closings: due_delays.count(),
                unmeasured_closings: queries
                    .iter()
                    .map(|&query| to.unmeasured[query].saturating_sub(from.unmeasured[query]))
                    .sum(),
                output_delay: with_due(delays, &due_delays),
                result_latency: with_due(results, &due_results),
                event_latency: with_due(event_latencies, &due(|due| &due.events)),
                latency: due_markers.and_then(|due_markers| with_due(latencies, &due_markers)),
                results_in_time: in_time(|moment| &moment.result_latencies, |due| &due.results),
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

/// Returns the share of results that were within the latency target of their query, between the first and the
/// last moment; `None` if there are no results.
fn deadlines_met(moments: &[Moment], targets: &[(usize, Duration)]) -> Option<f64> {
    share(targets.iter().map(|&(query, target)| {
        let closings = within(moments, query, target, |moment| &moment.event_latencies);
        if closings.1 > 0 { closings } else { within(moments, query, target, |moment| &moment.latencies) }
    }))
}

/// Returns the slowdown between the first and the last moment, as the mean over those of the queries that
/// have results: the latency of results over the sum of the costs of one record at each operator (Klink,
/// section 6.1.2). Results that are due and have not reached a sink count with their age. Returns `None` if
/// there are no results, and if the costs of a query with results are not known. That query may have been
/// left waiting, and without it the mean would be too low.
fn slowdown(moments: &[Moment], queries: &[usize]) -> Option<f64> {
    let (from, to) = (&moments[0], &moments[moments.len() - 1]);
    let (mut sum, mut count) = (0.0, 0_u64);
    for &query in queries {
        let mut results = Latencies::new();
        let delivered = moments[1..].iter().filter_map(|moment| moment.result_latencies.get(query));
        let overdue = to.due.get(query).map(|due| &due.results);
        delivered.chain(overdue).for_each(|some| results.merge(some));
        if let Some(LatencySummary { mean_ns, .. }) = results.summary() {
            sum += mean_ns / to.work[query].cost_ns_since(&from.work[query])?;
            count += 1;
        }
    }
    (count > 0).then(|| sum / count as f64)
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns how many latencies of a query are at most as long as a target, and how many latencies there are.
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

/// Returns the sum of the first numbers divided by the sum of the second numbers; `None` if the second sum is
/// zero.
fn share(counted: impl Iterator<Item = (u64, u64)>) -> Option<f64> {
    let (met, all) = counted.fold((0, 0), |(met, all), some| (met + some.0, all + some.1));
    (all > 0).then(|| met as f64 / all as f64)
}

impl Driven {
    /// Returns the measurements (throughput, latencies and the like) of some queries, given by their places
    /// in the order of submission. The CPU time is that of the whole process.
    pub fn measured_of(&self, places: &[usize]) -> Measured {
        Measured::among(&self.moments, &self.targets, places)
    }

    /// Returns the reports of all queries of the run.
    pub fn all(&self) -> Reports<'_> {
        Reports { reports: self.reports.iter().collect(), query_count: self.reports.len() }
    }

    /// Returns the reports of the queries at these places in the order of submission.
    pub fn some(&self, places: &[usize]) -> Reports<'_> {
        let reports = places.iter().map(|&place| &self.reports[place]).collect();
        Reports { reports, query_count: self.reports.len() }
    }

    /// Returns the sum of a figure over the reports of all queries.
    pub fn total(&self, figure: impl Fn(&QueryReport) -> u64) -> u64 {
        self.all().total(figure)
    }

    /// Returns the first problem that `wrong` finds in the report of a query, with the query's name if there
    /// are several.
    pub fn first_wrong(&self, wrong: impl Fn(usize, &QueryReport) -> Option<String>) -> Option<String> {
        self.all().first_wrong(wrong)
    }

    /// Returns whether the reference can compute the expected results: no record was late, and all queries
    /// together have read at most `records_max` records.
    pub fn is_comparable(&self, records_max: u64) -> bool {
        self.all().is_comparable(records_max)
    }

    /// Returns the first query that lost records, and where.
    pub fn conservation_error(&self) -> Option<String> {
        self.first_wrong(|_, report| report.conservation_error())
    }
}

impl Reports<'_> {
    /// Returns the sum of a figure over the reports of some queries.
    pub fn total(&self, figure: impl Fn(&QueryReport) -> u64) -> u64 {
        self.reports.iter().copied().map(figure).sum()
    }

    /// Returns the first problem that `wrong` finds in one of the reports on queries, with the query's name
    /// if several have run.
    pub fn first_wrong(&self, wrong: impl Fn(usize, &QueryReport) -> Option<String>) -> Option<String> {
        let mut reports = self.reports.iter().enumerate();
        let (query, wrong) =
            reports.find_map(|(index, report)| Some((&report.query, wrong(index, report)?)))?;
        Some(if self.query_count == 1 { wrong } else { format!("query {query}: {wrong}") })
    }

    /// Returns whether the reference can compute the expected results: no record was late, and all queries
    /// together have read at most `records_max` records. The reference knows no watermarks, so it would count
    /// records that came too late for their windows.
    pub fn is_comparable(&self, records_max: u64) -> bool {
        let late = self.total(|report| report.total(|counts| counts.late));
        late == 0 && self.total(|report| report.events_in) <= records_max
    }
}

#[cfg(test)]
mod tests;
