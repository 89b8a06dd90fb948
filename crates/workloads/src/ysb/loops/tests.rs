//! Compares every hand-written loop for YSB with the reference, at block sizes and rates where
//! off-by-one errors show.

use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::LazyLock;
use std::time::Duration;

use proptest::prelude::*;
use thalweg_model::EventTime;

use super::*;
use crate::reference::compare;
use crate::reference::ysb::{YsbCount, YsbDrain, ysb_counts_of_drain};
use crate::ysb::event::WINDOW;
use crate::ysb::generator::YsbOptions;

static GENERATOR: LazyLock<YsbGenerator> =
    LazyLock::new(|| YsbGenerator::new(YsbOptions { seed: 42, ..YsbOptions::default() }));

fn options(kind: LoopKind, block_records: usize) -> LoopOptions<'static> {
    LoopOptions {
        kind,
        workers: NonZeroUsize::MIN,
        block_records: NonZeroUsize::new(block_records).unwrap(),
        stop: LoopStop::Events(3 * 1_048_576 + 12_345),
        nominal_rate_per_s: NonZeroU64::new(100_000).unwrap(),
        start: EventTime::from_secs(1_357_000_003),
        generator: &GENERATOR,
    }
}

/// Runs the hand-written loop and compares every worker's results with the reference.
fn check(options: LoopOptions<'_>) -> LoopReport<Windowed<u64, u64>> {
    let report = run(options);
    assert_eq!(report.workers.len(), options.workers.get());
    for worker in &report.workers {
        let cache = options.generator.cache();
        let (behind, before) = cache.split_at(worker.first_event);
        let period: Vec<(u64, u64)> =
            before.iter().chain(behind).map(|event| (event.event_type, event.ad_id)).collect();
        let expected = ysb_counts_of_drain(YsbDrain {
            period: &period,
            events: worker.events,
            rate_per_s: options.nominal_rate_per_s.get(),
            start_us: options.start.as_micros(),
            windows: WINDOW.as_micros().into(),
        });
        let row = |result: &Windowed<u64, u64>| YsbCount {
            window_start_ms: result.window.start.as_micros() / 1_000,
            campaign: result.key,
            count: result.value,
        };
        let found: Vec<YsbCount> = worker.results.iter().map(row).collect();
        compare(&expected, &found).unwrap_or_else(|difference| panic!("{options:?}: {difference}"));
        assert!(found.is_sorted());
    }
    report
}

#[test]
fn every_loop_gives_the_reference_results_with_any_block() {
    for kind in LoopKind::ALL {
        for block_records in [1, 2, 7, 384, 4_096] {
            let report = check(options(kind, block_records));
            assert_eq!(report.events(), 3 * 1_048_576 + 12_345);
            assert!(report.workers[0].results.len() > 3 * 100);
        }
    }
}

/// Every loop has the reference's results at any rate. At low rates many borders of windows lie in
/// one block, and none at a block's end.
#[test]
fn every_loop_gives_the_reference_results_at_any_rate() {
    for kind in LoopKind::ALL {
        for (rate, events) in [(1, 5_000), (7, 5_000), (99_991, 1_100_000), (10_000_000, 1_100_000)] {
            for start in [0, -12_345_678, 1_357_000_000_000_000] {
                check(LoopOptions {
                    nominal_rate_per_s: NonZeroU64::new(rate).unwrap(),
                    stop: LoopStop::Events(events),
                    start: EventTime::from_micros(start),
                    ..options(kind, 384)
                });
            }
        }
    }
}

#[test]
fn workers_run_streams_of_their_own() {
    for kind in LoopKind::ALL {
        let report = check(LoopOptions { workers: NonZeroUsize::new(3).unwrap(), ..options(kind, 384) });
        let starts: Vec<usize> = report.workers.iter().map(|worker| worker.first_event).collect();
        assert_eq!(starts, [0, CACHE_EVENTS / 3, CACHE_EVENTS / 3 * 2]);
        assert_eq!(report.events(), 3 * (3 * 1_048_576 + 12_345));
        assert!(report.workers[0].results != report.workers[1].results);
    }
}

#[test]
fn an_empty_stream_has_no_results() {
    for kind in LoopKind::ALL {
        let report = check(LoopOptions { stop: LoopStop::Events(0), ..options(kind, 384) });
        assert_eq!((report.events(), report.workers[0].results.len()), (0, 0));
    }
}

/// A worker without any time left still reads one stride of events, since it reads the clock only
/// after a stride.
#[test]
fn a_loop_stops_by_the_clock_at_the_end_of_a_stride() {
    for kind in LoopKind::ALL {
        let report = check(LoopOptions { stop: LoopStop::After(Duration::ZERO), ..options(kind, 384) });
        assert_eq!(report.events(), CLOCK_STRIDE_EVENTS);
        assert!(report.events_per_s() > 0.0 && report.seconds() > 0.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_loop_gives_the_reference_results(
        kind in prop::sample::select(LoopKind::ALL.to_vec()),
        block_records in 1usize..3_000,
        workers in 1usize..4,
        events in 0u64..20_000,
        rate in 1u64..100_000,
        start_us in -100_000_000i64..100_000_000,
    ) {
        check(LoopOptions {
            workers: NonZeroUsize::new(workers).unwrap(),
            stop: LoopStop::Events(events),
            nominal_rate_per_s: NonZeroU64::new(rate).unwrap(),
            start: EventTime::from_micros(start_us),
            ..options(kind, block_records)
        });
    }
}
