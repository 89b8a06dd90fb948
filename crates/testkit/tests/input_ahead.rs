//! Cameo with an input that is ahead of another, from the sources to the results: on the real engine, stepped manually
//! with a manual clock.
//!
//! Two queries count the records of windows of 100 ms. Each has two inputs, of which one is ahead: the records of the
//! other take 500 ms longer to arrive. A worker takes a millisecond for each record and operator, and so more time than
//! there is. Cameo postpones the records of the input that is ahead until their own window (section 4.3, p_M of the
//! message), so it has time for those for which the next window waits.
#![forbid(unsafe_code)]

use std::sync::{Arc, Mutex};

use thalweg::{
    Chaining, Count, Engine, EventTime, Fault, Output, Polled, ProcessingTime, Query, Record, Sink, Source,
    SourceStatus, Span, StateError, StateReader, StateWriter, Step, Stepped, TumblingWindows, VirtualClock,
    WatermarkStrategy, Windowed,
};
use thalweg_model::Clock;
use thalweg_runtime::limits::EdgeLimits;
use thalweg_scheduling::policy;

const QUERIES: usize = 2;
const WINDOW_MS: u64 = 100;
/// Windows of each query, all of them full.
const WINDOWS: usize = 14;
/// Milliseconds between two records of an input. Four inputs, each with two operators of a millisecond for a record,
/// need 8 ms of work in that time.
const SPACING_MS: u64 = 7;
/// Milliseconds that the records of one of two inputs take to arrive; those of the other take none.
const DELAY_MS: u64 = 500;
/// Millisecond at which both processing time and event time start.
const START_MS: u64 = 1_000_000;

fn at(ms: u64) -> ProcessingTime {
    ProcessingTime::from_nanos((START_MS + ms) * 1_000_000)
}

fn event(ms: u64) -> EventTime {
    EventTime::from_micros((START_MS + ms).cast_signed() * 1_000)
}

/// Source of records at even intervals, which arrive some time after they are sent. Their event times are the times at
/// which they are sent.
struct Sent {
    next: u64,
    delay_ms: u64,
}

impl Sent {
    fn due(&self, record: u64) -> ProcessingTime {
        at(record * SPACING_MS + self.delay_ms)
    }
}

impl Source for Sent {
    type Item = u64;

    fn poll<O: Output<u64>>(
        &mut self,
        now: ProcessingTime,
        limit: usize,
        output: &mut O,
    ) -> Result<Polled, Fault> {
        let records = WINDOWS as u64 * WINDOW_MS / SPACING_MS;
        let mut made = 0;
        while self.next < records && self.due(self.next) <= now && made < limit && output.room() > 0 {
            output.push(Record::new(event(self.next * SPACING_MS), self.next));
            (self.next, made) = (self.next + 1, made + 1);
        }
        let due = self.due(self.next);
        let status = match () {
            () if self.next == records => SourceStatus::Ended,
            () if now < due => SourceStatus::IdleUntil(due),
            () => SourceStatus::DueSince(due),
        };
        Ok(Polled { status, latency: None })
    }

    fn spacing_ns(&self) -> Option<u64> {
        Some(SPACING_MS * 1_000_000)
    }

    fn arrived(&self) -> Option<ProcessingTime> {
        self.next.checked_sub(1).map(|last| self.due(last))
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

/// A result of a window: the end of the window in ms, its count, and the time in ms from the arrival of the last record
/// that the window waits for until the result is delivered.
type Delivered = (u64, u64, u64);

/// Sink that notes each result with its latency.
struct Noted {
    clock: Arc<VirtualClock>,
    delivered: Arc<Mutex<Vec<Delivered>>>,
}

impl Sink<Windowed<u64, u64>> for Noted {
    fn write(&mut self, record: Record<Windowed<u64, u64>>) -> Result<(), Fault> {
        let end_ms = record.value.window.end.as_micros().cast_unsigned() / 1_000 - START_MS;
        let now_ms = self.clock.now().as_nanos() / 1_000_000 - START_MS;
        self.delivered.lock().unwrap().push((
            end_ms,
            record.value.value,
            now_ms.saturating_sub(end_ms + DELAY_MS),
        ));
        Ok(())
    }
}

/// Runs both queries under a policy, with a millisecond for each step. Returns their results in the order of windows.
fn delivered(policy: &str) -> Vec<Delivered> {
    let clock = Arc::new(VirtualClock::starting_at(at(0)));
    let engine_clock: Arc<dyn Clock> = Arc::<VirtualClock>::clone(&clock);
    let edges = EdgeLimits { block_records: 1, ..EdgeLimits::default() };
    let builder = Engine::builder().workers(1).edges(edges).clock(engine_clock);
    let builder = builder.policy(policy::by_name(policy).expect("it has a name"));
    let Stepped { engine, mut workers, growth, keeper: _keeper } = builder.build_stepped().unwrap();
    let delivered = Arc::new(Mutex::new(Vec::new()));
    let running: Vec<_> = (0..QUERIES)
        .map(|_| {
            let query = Query::new("counts");
            let noted = Noted { clock: Arc::clone(&clock), delivered: Arc::clone(&delivered) };
            let ahead = query.source("ahead", Sent { next: 0, delay_ms: 0 }, WatermarkStrategy::ascending());
            query
                .source("behind", Sent { next: 0, delay_ms: DELAY_MS }, WatermarkStrategy::ascending())
                .union(ahead)
                .key_by(|_| 0u64)
                .tumbling(TumblingWindows::new(Span::from_millis(WINDOW_MS.cast_signed())).unwrap())
                .aggregate(Count)
                .sink("noted", noted);
            engine.submit(query.plan(Chaining::None).unwrap()).unwrap()
        })
        .collect();
    for _ in 0..1_000_000 {
        match workers[0].step(clock.as_ref()) {
            Step::Busy => clock.advance_to(clock.now().plus_nanos(1_000_000)),
            Step::Idle(ProcessingTime::NEVER) if !growth.step() => break,
            Step::Idle(ProcessingTime::NEVER) => {}
            Step::Idle(until) => clock.advance_to(until.max(clock.now())),
        }
    }
    for query in running {
        query.wait().unwrap();
    }
    let mut delivered = delivered.lock().unwrap().clone();
    delivered.sort_unstable();
    delivered
}

/// Under `cameo_llf_merged` records of the input that is ahead are as urgent as those that the next window waits for.
/// The worker then spends time on records that no result needs yet, and results come later, although they are equal.
#[test]
fn records_of_an_input_that_is_ahead_are_postponed() {
    let [of_head, merged] = ["cameo_llf", "cameo_llf_merged"].map(delivered);
    let counts = |delivered: &[Delivered]| -> Vec<(u64, u64)> {
        delivered.iter().map(|(end_ms, count, _)| (*end_ms, *count)).collect()
    };
    // Each input sends a record every `SPACING_MS`, so this many before an instant.
    let sent = |ms: u64| ms.div_ceil(SPACING_MS);
    let expected: Vec<(u64, u64)> = (1..=WINDOWS as u64)
        .flat_map(|n| {
            let count = 2 * (sent(n * WINDOW_MS) - sent((n - 1) * WINDOW_MS));
            [(n * WINDOW_MS, count); QUERIES]
        })
        .collect();
    assert_eq!([counts(&of_head), counts(&merged)], [expected.clone(), expected]);
    let mean_ms = |delivered: &[Delivered]| {
        delivered.iter().map(|(.., latency_ms)| *latency_ms).sum::<u64>() / delivered.len() as u64
    };
    let (of_head_ms, merged_ms) = (mean_ms(&of_head), mean_ms(&merged));
    assert!(2 * of_head_ms < merged_ms, "{of_head_ms} and {merged_ms} ms: {of_head:?} {merged:?}");
}
