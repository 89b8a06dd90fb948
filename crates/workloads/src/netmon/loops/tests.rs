//! Compares both hand-written loops for netmon with the reference, at block sizes and rates where
//! off-by-one errors show.

use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::LazyLock;
use std::time::Duration;

use super::*;
use crate::loops::LoopStop;
use crate::reference::compare;
use crate::reference::netmon::{NetmonDrain, NetmonRow, NetmonSums};

static GENERATOR: LazyLock<NetmonGenerator> = LazyLock::new(|| NetmonGenerator::new(42));

const EVENTS: u64 = 1_234_567;

fn options(kind: LoopKind, block_records: usize) -> LoopOptions<'static> {
    LoopOptions {
        kind,
        workers: NonZeroUsize::MIN,
        block_records: NonZeroUsize::new(block_records).unwrap(),
        stop: LoopStop::Events(EVENTS),
        nominal_rate_per_s: NonZeroU64::new(500_000).unwrap(),
        start: EventTime::from_micros(1_357_000_003_500_000),
        generator: &GENERATOR,
    }
}

/// Runs the hand-written loop and compares every worker's results with the reference.
fn check(options: LoopOptions<'_>) -> LoopReport<Windowed<IpPair, f64>> {
    let report = run(options);
    assert_eq!(report.workers.len(), options.workers.get());
    for worker in &report.workers {
        let (behind, before) = options.generator.cache().split_at(worker.first_event);
        let plain = |probe: &Probe| (probe.pair.source, probe.pair.destination, probe.rtt);
        let period: Vec<(u32, u32, f64)> = before.iter().chain(behind).map(plain).collect();
        let mut sums = NetmonSums::new(super::super::WINDOW.as_micros());
        sums.add_drain(NetmonDrain {
            period: &period,
            indexes: 0..worker.events,
            rate_per_s: options.nominal_rate_per_s.get(),
            start_us: options.start.as_micros(),
        });
        let row = |result: &Windowed<IpPair, f64>| NetmonRow {
            window_start_ms: result.window.start.as_micros().div_euclid(1_000),
            source: result.key.source,
            destination: result.key.destination,
            mean_rtt: result.value,
        };
        let (expected, found): (Vec<NetmonRow>, Vec<NetmonRow>) =
            (sums.windows().flatten().collect(), worker.results.iter().map(row).collect());
        compare(&expected, &found).unwrap_or_else(|difference| panic!("{options:?}: {difference}"));
    }
    report
}

#[test]
fn every_loop_gives_the_reference_results() {
    for kind in KINDS {
        for block_records in [1, 7, 384] {
            let report = check(options(kind, block_records));
            assert_eq!(report.events(), EVENTS);
        }
        for (rate, events) in [(1, 500), (99_991, 300_000), (10_000_000, 1_100_000)] {
            check(LoopOptions {
                nominal_rate_per_s: NonZeroU64::new(rate).unwrap(),
                stop: LoopStop::Events(events),
                start: EventTime::from_micros(-12_345_678),
                ..options(kind, 384)
            });
        }
        let report = check(LoopOptions { workers: NonZeroUsize::new(3).unwrap(), ..options(kind, 384) });
        assert_eq!(report.workers[1].first_event, CACHE_PROBES / 3);
    }
}

#[test]
fn loops_end_at_once_or_by_the_clock() {
    for kind in KINDS {
        assert_eq!(check(LoopOptions { stop: LoopStop::Events(0), ..options(kind, 384) }).events(), 0);
        let report = check(LoopOptions { stop: LoopStop::After(Duration::ZERO), ..options(kind, 384) });
        assert_eq!(report.events(), CLOCK_STRIDE_EVENTS);
    }
}
