//! The queries IPQ1 to IPQ4 of Cameo, in the typed interface.

use thalweg::{
    Count, EventTime, Fold, Query, Segment, Sink, SlidingWindows, Source, Stream, TumblingWindows,
    WatermarkStrategy, WindowError, Windowed,
};

use super::ad::AdEvent;
use super::log::{JobLevel, LogEvent, Request};

/// Names of the two sources of IPQ4 in edges and metrics.
pub const SOURCES: [&str; 2] = ["requests", "errors"];

/// Adds IPQ1, or IPQ2 with windows that overlap, to `query`: the revenue of each window, keyed by its start,
/// goes to `sink`.
///
/// The first stage sums per campaign; the second stage sums over campaigns. Windows of the second stage are as
/// long as the slide of the first, so each holds the last instant of exactly one window of the first stage.
///
/// # Errors
/// [`WindowError`]: never, since the slide of windows is above zero.
pub fn revenue_per_window<S, K>(
    query: &Query,
    splits: impl IntoIterator<Item = S>,
    strategy: WatermarkStrategy,
    windows: SlidingWindows,
    sink: K,
) -> Result<(), WindowError>
where
    S: Source<Item = AdEvent> + 'static,
    K: Sink<Windowed<EventTime, u64>> + 'static,
{
    add_revenue(query.splits("source", splits, strategy), windows, sink)
}

/// Adds IPQ1 or IPQ2 to `query`, as [`revenue_per_window`] does, but from several inputs: each of them is a source of
/// its own, `source-1` and so on, and a union merges them. In Cameo a job has 64 of them.
///
/// # Errors
/// [`WindowError`]: never, since the slide of windows is above zero.
pub fn revenue_of_inputs<S, K>(
    query: &Query,
    inputs: impl IntoIterator<Item = S>,
    strategy: WatermarkStrategy,
    windows: SlidingWindows,
    sink: K,
) -> Result<(), WindowError>
where
    S: Source<Item = AdEvent> + 'static,
    K: Sink<Windowed<EventTime, u64>> + 'static,
{
    let input = |(number, input): (usize, S)| query.source(&input_name(number), input, strategy);
    let mut ads = (1..).zip(inputs).map(input);
    match ads.next() {
        Some(first) => add_revenue(first.union_all(ads), windows, sink),
        // Without inputs, a source without splits is added, so that the query is refused when it is planned.
        None => revenue_per_window(query, std::iter::empty::<S>(), strategy, windows, sink),
    }
}

/// Returns the name of one of several inputs, counted from 1.
fn input_name(number: usize) -> String {
    format!("source-{number}")
}

/// Adds both stages of IPQ1 or IPQ2 to a stream of ads.
fn add_revenue<C, K>(ads: Stream<AdEvent, C>, windows: SlidingWindows, sink: K) -> Result<(), WindowError>
where
    C: Segment<AdEvent>,
    K: Sink<Windowed<EventTime, u64>> + 'static,
{
    let ends = TumblingWindows::new(windows.slide())?;
    ads.key_by(|event: &AdEvent| event.campaign)
        .sliding(windows)
        .aggregate(Revenue)
        .name("campaigns")
        .key_by(|campaign| campaign.window.start)
        .tumbling(ends)
        .aggregate(Revenue)
        .name("revenue")
        .sink("sink", sink);
    Ok(())
}

/// An aggregate that sums revenue, in millionths of a dollar. 64 bits are enough for 18 million million ads.
#[derive(Clone, Copy, Debug)]
struct Revenue;

/// Values with a revenue, which an aggregate can sum.
trait Earned {
    fn revenue_micros(&self) -> u64;
}

impl Earned for AdEvent {
    #[inline(always)]
    fn revenue_micros(&self) -> u64 {
        self.revenue_micros
    }
}

/// The revenue of one campaign in one window, the result of the first stage.
impl Earned for Windowed<u64, u64> {
    #[inline(always)]
    fn revenue_micros(&self) -> u64 {
        self.value
    }
}

impl<V: Earned> Fold<V> for Revenue {
    type Accumulator = u64;
    type Result = u64;

    fn create(&self) -> u64 {
        0
    }

    #[inline(always)]
    fn fold(&self, revenue_micros: &mut u64, earned: &V) {
        *revenue_micros += earned.revenue_micros();
    }

    fn merge(&self, revenue_micros: &mut u64, other: u64) {
        *revenue_micros += other;
    }

    const INVERTS: bool = true;

    fn unmerge(&self, revenue_micros: &mut u64, other: &u64) {
        *revenue_micros -= other;
    }

    fn finish(&self, revenue_micros: u64) -> u64 {
        revenue_micros
    }
}

/// Adds IPQ3 to `query`: the number of events of each job and level in each window goes to `sink`.
pub fn events_per_job<S, K>(
    query: &Query,
    splits: impl IntoIterator<Item = S>,
    strategy: WatermarkStrategy,
    windows: TumblingWindows,
    sink: K,
) where
    S: Source<Item = LogEvent> + 'static,
    K: Sink<Windowed<JobLevel, u64>> + 'static,
{
    add_events(query.splits("source", splits, strategy), windows, sink);
}

/// Adds IPQ3 to `query`, as [`events_per_job`] does, but from several inputs: each of them is a source of its own,
/// `source-1` and so on, and a union merges them.
pub fn events_of_inputs<S, K>(
    query: &Query,
    inputs: impl IntoIterator<Item = S>,
    strategy: WatermarkStrategy,
    windows: TumblingWindows,
    sink: K,
) where
    S: Source<Item = LogEvent> + 'static,
    K: Sink<Windowed<JobLevel, u64>> + 'static,
{
    let input = |(number, input): (usize, S)| query.source(&input_name(number), input, strategy);
    let mut events = (1..).zip(inputs).map(input);
    match events.next() {
        Some(first) => add_events(first.union_all(events), windows, sink),
        // Without inputs, a source without splits is added, so that the query is refused when it is planned.
        None => events_per_job(query, std::iter::empty::<S>(), strategy, windows, sink),
    }
}

/// Adds the operators of IPQ3 to a stream of events.
fn add_events<C, K>(events: Stream<LogEvent, C>, windows: TumblingWindows, sink: K)
where
    C: Segment<LogEvent>,
    K: Sink<Windowed<JobLevel, u64>> + 'static,
{
    events
        .key_by(|event: &LogEvent| JobLevel { job: event.job, level: event.level })
        .tumbling(windows)
        .aggregate(Count)
        .sink("sink", sink);
}

/// Adds IPQ4 to `query`: the number of errors of each job's requests, per window, goes to `sink`. A request
/// that occurs twice in a window counts its errors twice.
pub fn errors_per_job<L, R, K>(
    query: &Query,
    requests: L,
    errors: R,
    strategy: WatermarkStrategy,
    windows: TumblingWindows,
    sink: K,
) where
    L: Source<Item = Request> + 'static,
    R: Source<Item = Request> + 'static,
    K: Sink<Windowed<u64, u64>> + 'static,
{
    let requests = query.source(SOURCES[0], requests, strategy).key_by(|request| request.request);
    let errors = query.source(SOURCES[1], errors, strategy).key_by(|error| error.request);
    requests
        .join(errors)
        .tumbling(windows)
        .inner(|request, _| request.job)
        .name("failed")
        .key_by(|job| *job)
        .tumbling(windows)
        .aggregate(Count)
        .sink("sink", sink);
}
