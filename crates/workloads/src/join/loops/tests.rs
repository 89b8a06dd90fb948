//! Compares the hand-written join with the reference, at block sizes and rates where off-by-one
//! errors show.

use std::time::Duration;

use super::*;
use crate::loops::CLOCK_STRIDE_EVENTS;
use crate::reference::compare;
use crate::reference::join::{JoinInput, join_seconds};

fn options(block_records: usize, rate_per_s: u64, events: u64) -> LoopOptions {
    LoopOptions {
        workers: NonZeroUsize::MIN,
        block_records: NonZeroUsize::new(block_records).unwrap(),
        stop: LoopStop::Events(events),
        rate_per_s: NonZeroU64::new(rate_per_s).unwrap(),
        start: EventTime::from_micros(-1_234_567),
        seed: 42,
    }
}

#[track_caller]
fn check(options: LoopOptions) -> LoopReport<JoinSecond> {
    let report = run(options);
    assert_eq!(report.workers.len(), options.workers.get());
    for worker in &report.workers {
        let rate_per_s = options.rate_per_s.get();
        let stream = |side| {
            let generator = JoinGenerator::new(options.seed, side, options.rate_per_s);
            (0..worker.events / 2).map(move |index| {
                let event_time_us = options.start.as_micros() + (index * 1_000_000 / rate_per_s) as i64;
                let index = worker.first_event as u64 + index;
                let Number { key, number } = generator.value(index, EventTime::EPOCH);
                JoinInput { event_time_us, key, number }
            })
        };
        let expected = join_seconds(stream(Side::Left), stream(Side::Right));
        compare(&expected, &worker.results).unwrap_or_else(|difference| panic!("{options:?}: {difference}"));
    }
    report
}

#[test]
fn the_loop_gives_the_reference_results() {
    for (rate_per_s, events) in [(1, 50), (7, 500), (999, 20_000), (100_000, 600_000)] {
        for block_records in [1, 2, 7, 384, 4_096] {
            let report = check(options(block_records, rate_per_s, events));
            assert_eq!(report.events(), events);
        }
    }
}

/// Every record has one match on average, as the generator of keys promises.
#[test]
fn there_are_as_many_matches_as_records_of_a_stream() {
    let report = check(options(384, 100_000, 2_000_000));
    let matches: u64 = report.workers[0].results.iter().map(|second| second.matches).sum();
    assert!((950_000..1_000_000).contains(&matches), "{matches} matches of 1,000,000 records of each stream");
}

#[test]
fn workers_run_streams_of_their_own() {
    let report =
        check(LoopOptions { workers: NonZeroUsize::new(2).unwrap(), ..options(384, 50_000, 200_000) });
    assert!(report.workers[0].results != report.workers[1].results);
}

#[test]
fn it_ends_at_once_or_by_the_clock() {
    assert_eq!(check(options(384, 1_000, 0)).workers[0].results, []);
    let report = check(LoopOptions { stop: LoopStop::After(Duration::ZERO), ..options(384, 100_000, 0) });
    assert_eq!(report.events(), CLOCK_STRIDE_EVENTS);
}
