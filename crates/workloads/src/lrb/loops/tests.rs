//! Compares the hand-written loop for Linear Road with the reference, at block sizes and rates where
//! off-by-one errors show, with accidents.

use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::LazyLock;
use std::time::Duration;

use proptest::prelude::*;
use thalweg_model::{EventTime, Generate, Record};

use super::*;
use crate::lrb::LrbOptions;
use crate::lrb::check::{input_of, row_of};
use crate::reference::compare;
use crate::reference::lrb::{LrbRow, lrb_rows};

/// Traffic of one expressway, whose first accident comes after ten minutes.
static GENERATOR: LazyLock<LrbGenerator> =
    LazyLock::new(|| LrbGenerator::new(LrbOptions { seed: 42, rate_per_s: NonZeroU64::new(1_000).unwrap() }));

fn options(block_records: usize) -> LoopOptions<'static> {
    LoopOptions {
        kind: KIND,
        workers: NonZeroUsize::MIN,
        block_records: NonZeroUsize::new(block_records).unwrap(),
        stop: LoopStop::Events(960_123),
        nominal_rate_per_s: GENERATOR.rate_per_s(),
        start: EventTime::from_secs(1_357_000_003),
        generator: &GENERATOR,
    }
}

/// Runs the hand-written loop and compares every worker's results with the reference. Returns the rows of the
/// first worker.
fn check(options: LoopOptions<'_>) -> Vec<LrbRow> {
    let report = run(options);
    assert_eq!(report.workers.len(), options.workers.get());
    for worker in &report.workers {
        let record = |index: u64| {
            let micros = u128::from(index) * 1_000_000 / u128::from(options.nominal_rate_per_s.get());
            let event_time = EventTime::from_micros(options.start.as_micros() + micros as i64);
            let value = options.generator.value(worker.first_event as u64 + index, event_time);
            input_of(&Record::new(event_time, value))
        };
        let expected = lrb_rows((0..worker.events).map(record)).rows;
        let found: Vec<LrbRow> = worker.results.iter().map(row_of).collect();
        compare(&expected, &found).unwrap_or_else(|difference| panic!("{options:?}: {difference}"));
        assert!(found.is_sorted_by_key(|row| row.window_start_s));
    }
    report.workers[0].results.iter().map(row_of).collect()
}

#[test]
fn it_gives_the_reference_results_with_any_block() {
    for block_records in [1, 2, 7, 384, 4_096] {
        let rows = check(options(block_records));
        assert!(rows.len() > 16 * 150);
        assert!(rows.iter().filter(|row| row.accidents > 0).count() >= 2);
        assert!(rows.iter().filter(|row| row.toll > 0).count() > 100);
    }
}

/// The loop has the reference's results at any rate. At low rates many borders of windows lie in one block;
/// at high rates cars report often, so that many stand.
#[test]
fn it_gives_the_reference_results_at_any_rate() {
    for (rate, events) in [(1, 5_000), (7, 5_000), (9_991, 960_000), (100_000, 960_000)] {
        for start in [0, -12_345_678, 1_357_000_000_000_000] {
            check(LoopOptions {
                nominal_rate_per_s: NonZeroU64::new(rate).unwrap(),
                stop: LoopStop::Events(events),
                start: EventTime::from_micros(start),
                ..options(384)
            });
        }
    }
}

#[test]
fn expressways_and_workers_are_kept_apart() {
    let rate_per_s = NonZeroU64::new(4_500).unwrap();
    let generator = LrbGenerator::new(LrbOptions { seed: 1, rate_per_s });
    let workers = NonZeroUsize::new(3).unwrap();
    let several =
        LoopOptions { workers, generator: &generator, nominal_rate_per_s: rate_per_s, ..options(384) };
    let rows = check(several);
    assert_eq!(rows.iter().map(|row| row.xway).max(), Some(4));
    let starts: Vec<usize> = run(several).workers.iter().map(|worker| worker.first_event).collect();
    assert_eq!(starts, [0, 26 * 30 * 4_500, 53 * 30 * 4_500]);
}

#[test]
fn an_empty_stream_has_no_results() {
    assert_eq!(check(LoopOptions { stop: LoopStop::Events(0), ..options(384) }), []);
}

/// A worker without any time left still reads one stride of events, since it reads the clock only after a
/// stride.
#[test]
fn it_stops_by_the_clock_at_the_end_of_a_stride() {
    let report = run(LoopOptions { stop: LoopStop::After(Duration::ZERO), ..options(384) });
    assert_eq!(report.events(), loops::CLOCK_STRIDE_EVENTS);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn it_gives_the_reference_results(
        block_records in 1usize..3_000,
        workers in 1usize..4,
        events in 0u64..50_000,
        rate in prop_oneof![1u64..50, 1u64..10_000],
        start_us in -100_000_000i64..100_000_000,
    ) {
        check(LoopOptions {
            workers: NonZeroUsize::new(workers).unwrap(),
            stop: LoopStop::Events(events),
            nominal_rate_per_s: NonZeroU64::new(rate).unwrap(),
            start: EventTime::from_micros(start_us),
            ..options(block_records)
        });
    }
}
