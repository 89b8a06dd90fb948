//! IPQ1 to IPQ4, run by the engine, compared with their references in any mode, with any windows and numbers of
//! workers.

use std::num::NonZeroU64;
use std::sync::Arc;

use thalweg::{
    Chaining, Engine, EventTime, Generate, Parallel, Query, Record, SlidingWindows, Span, TumblingWindows,
    WatermarkStrategy, source::Given,
};
use thalweg_connectors::Collect;
use thalweg_workloads::ipq::{AdGenerator, LogGenerator, RequestGenerator, Side, query};
use thalweg_workloads::reference::compare;
use thalweg_workloads::reference::ipq::{
    ErrorsRow, EventsRow, RequestInput, RevenueRow, Revenues, errors_rows, events_rows,
};
use thalweg_workloads::reference::{self, Row};

/// Largest number of results that a sink keeps.
const RESULTS_MAX: usize = 1_000_000;

/// Distance in time of a test's events, in microseconds. The events span 5 s in all, so that windows begin
/// and end among them.
const APART_US: u64 = 250;
const EVENTS: u64 = 20_000;

fn made<G: Generate>(generator: &G) -> Vec<Record<G::Item>> {
    let record = |index| {
        // The first event time is before 1970 and not a whole second.
        let event_time = EventTime::from_micros((index * APART_US) as i64 - 1_234_567);
        Record::new(event_time, generator.value(index, event_time))
    };
    (0..EVENTS).map(record).collect()
}

/// Plans and runs a query, with one worker and one task for all, and with two workers and a task per
/// operator. The result rows must equal `expected`.
#[track_caller]
fn check<T, R>(plan: impl Fn(&Query, Collect<T>), row_of: impl Fn(&Record<T>) -> R, expected: &[R])
where
    T: Send + 'static,
    R: Row,
{
    let serial = (1, Chaining::All, Parallel::Serial);
    let shared = (2, Chaining::None, Parallel::Epochs { workers: 2 });
    for (workers, chaining, parallel) in [serial, shared] {
        let engine = Engine::builder().workers(workers).build().unwrap();
        let sink = Collect::new(RESULTS_MAX);
        let results = sink.records();
        let query = Query::new("ipq");
        plan(&query, sink);
        let graph = query.plan(thalweg::Layout { chaining, parallel }).unwrap();
        engine.submit(graph).unwrap().wait().unwrap();
        let found: Vec<R> = Arc::clone(&results).lock().unwrap().iter().map(&row_of).collect();
        assert!(!expected.is_empty());
        if let Err(difference) = compare(expected, &found) {
            panic!("{workers} workers: {difference}");
        }
    }
}

fn millis(event_time: EventTime) -> i64 {
    event_time.as_micros().div_euclid(1_000)
}

#[test]
fn revenue_equals_the_reference_s() {
    let ads = made(&AdGenerator::new(5));
    for (size_ms, slide_ms) in [(1_000, 1_000), (2_000, 500), (700, 300), (10_000, 10_000)] {
        let (size, slide) = (Span::from_millis(size_ms), Span::from_millis(slide_ms));
        let mut revenues =
            Revenues::new(reference::Windows { size_us: size.as_micros(), slide_us: slide.as_micros() });
        revenues.add(ads.iter().map(|ad| (ad.event_time.as_micros(), ad.value.revenue_micros)));
        check(
            |query, sink| {
                let windows = SlidingWindows::of_size(size).every(slide).unwrap();
                let source = Given::new(ads.clone());
                query::revenue_per_window(query, [source], WatermarkStrategy::ascending(), windows, sink)
                    .unwrap();
            },
            |record| RevenueRow {
                window_start_ms: millis(record.value.key),
                revenue_micros: record.value.value,
            },
            &revenues.rows(),
        );
    }
}

#[test]
fn events_per_job_equal_the_reference_s() {
    let logged = made(&LogGenerator::new(5));
    let inputs =
        logged.iter().map(|event| (event.event_time.as_micros(), event.value.job, event.value.level));
    check(
        |query, sink| {
            let windows = TumblingWindows::new(Span::from_secs(1)).unwrap();
            let source = Given::new(logged.clone());
            query::events_per_job(query, [source], WatermarkStrategy::ascending(), windows, sink);
        },
        |record| EventsRow {
            window_start_ms: millis(record.value.window.start),
            job: record.value.key.job,
            level: record.value.key.level,
            events: record.value.value,
        },
        &events_rows(inputs, 1_000_000),
    );
}

#[test]
fn errors_per_job_equal_the_reference_s() {
    let per_window = NonZeroU64::new(1_000_000 / APART_US).unwrap();
    let streams =
        [Side::Requests, Side::Errors].map(|side| made(&RequestGenerator::new(5, side, per_window)));
    let inputs = |stream: usize| {
        streams[stream].iter().map(|event| RequestInput {
            event_time_us: event.event_time.as_micros(),
            request: event.value.request,
            job: event.value.job,
        })
    };
    check(
        |query, sink| {
            let windows = TumblingWindows::new(Span::from_secs(1)).unwrap();
            let [requests, errors] = streams.clone().map(Given::new);
            let strategy = WatermarkStrategy::ascending();
            query::errors_per_job(query, requests, errors, strategy, windows, sink);
        },
        |record| ErrorsRow {
            window_start_ms: millis(record.value.window.start),
            job: record.value.key,
            errors: record.value.value,
        },
        &errors_rows(inputs(0), inputs(1), 1_000_000),
    );
}
