//! Question: what does a record cost in a window, and how much more if windows slide?
//! Workload: 1,000 keys, 20 minutes of event time, a watermark every 1,000 records; records in order, or up to 20 s
//! out of order.
//! Unit: ns per record, results included; the median of rounds in which the cases take turns. For regressions, not
//! for claims.
//!
//! `cargo bench -p thalweg-operators --bench windows`; under `cargo test` it runs once, small.

use std::hint::black_box;
use std::num::NonZeroU64;
use std::time::Instant;

use thalweg_model::{
    CountWindows, EventTime, Flow, Fold, Input, Mark, Operator, Output, Record, SessionGap, SlidingWindows,
    Span, TumblingWindows,
};
use thalweg_operators::{
    Count, CountAggregate, Max, SessionAggregate, SlidingAggregate, Sum, TumblingAggregate,
};

const KEYS: u64 = 1_000;
const RECORDS_PER_MARK: usize = 1_000;
const LENGTH: Span = Span::from_secs(1_200);
const DISORDER: Span = Span::from_secs(20);

/// An operator's input that serves the records of a slice by copying them.
struct Lying<'a>(&'a [Record<u64>]);

impl Input<u64> for Lying<'_> {
    fn remaining(&self) -> usize {
        self.0.len()
    }

    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&Record<u64>) -> Q) -> Q {
        look(&self.0[offset])
    }

    #[inline(always)]
    fn taken(&mut self, count: usize) -> impl Iterator<Item = Record<u64>> {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken.iter().copied()
    }
    fn taken_selected(&mut self, count: usize, selection: &[u16]) -> impl Iterator<Item = Record<u64>> {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        selection.iter().map(|&place| taken[usize::from(place)])
    }
}

/// An operator's output that only counts the results.
#[derive(Default)]
struct Counter(u64);

impl<T> Output<T> for Counter {
    fn room(&self) -> usize {
        usize::MAX
    }

    fn push(&mut self, record: Record<T>) {
        black_box(&record.value);
        self.0 += 1;
    }
}

/// Returns records spread evenly over the event time of the benchmark, each stamped up to `disorder` early.
/// They come in runs of 1,000, each with the watermark behind it.
fn records(count: usize, disorder: Span) -> Vec<(Vec<Record<u64>>, EventTime)> {
    let mut word = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        // Random keys and stamps come from the xorshift generator of Marsaglia, "Xorshift RNGs", 2003, which
        // scatters them well enough.
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        word
    };
    let micros = |part: usize| (part as i64) * (LENGTH.as_micros() / count as i64);
    (0..count / RECORDS_PER_MARK)
        .map(|batch| {
            let first = batch * RECORDS_PER_MARK;
            let run = (first..first + RECORDS_PER_MARK)
                .map(|place| {
                    let early = (next() % (disorder.as_micros() as u64 + 1)) as i64;
                    Record::new(EventTime::from_micros(micros(place) - early), next() % KEYS)
                })
                .collect();
            let watermark = EventTime::from_micros(micros(first + RECORDS_PER_MARK)).minus(disorder);
            (run, watermark)
        })
        .collect()
}

/// Returns the nanoseconds per record that an operator takes for all records.
fn ns_per_record<P: Operator<u64>>(mut operator: P, runs: &[(Vec<Record<u64>>, EventTime)]) -> f64 {
    let mut output = Counter::default();
    let begun = Instant::now();
    for (run, watermark) in runs {
        operator.process(&mut Lying(run), &mut output);
        let flow = operator.on_mark(Mark::Watermark(*watermark), &mut output);
        assert!(flow == Flow::Done);
    }
    let flow = operator.on_mark(Mark::Watermark(EventTime::MAX), &mut output);
    assert!(flow == Flow::Done && output.0 > 0);
    begun.elapsed().as_secs_f64() * 1e9 / (runs.len() * RECORDS_PER_MARK) as f64
}

type Runs = [(Vec<Record<u64>>, EventTime)];

fn tumbling<F: Fold<u64>>(runs: &Runs, fold: F) -> f64 {
    let windows = TumblingWindows::new(Span::from_secs(120)).expect("above zero");
    ns_per_record(TumblingAggregate::new("", windows, |key: &u64| *key, fold), runs)
}

fn sliding<F: Fold<u64>>(runs: &Runs, slide_s: i64, fold: F) -> f64 {
    let windows = SlidingWindows::of_size(Span::from_secs(120)).every(Span::from_secs(slide_s));
    let windows = windows.expect("above zero");
    ns_per_record(SlidingAggregate::new("", windows, |key: &u64| *key, fold), runs)
}

/// Measures session windows. Each key comes about three times a second, so a session has about thirty
/// records.
fn sessions(runs: &Runs) -> f64 {
    let gap = SessionGap::new(Span::from_secs(1)).expect("above zero");
    ns_per_record(SessionAggregate::new("", gap, |key: &u64| *key, Count), runs)
}

fn hundreds(runs: &Runs) -> f64 {
    let windows = CountWindows::of_size(NonZeroU64::new(100).expect("above zero"));
    ns_per_record(CountAggregate::new("", windows, |key: &u64| *key, Count), runs)
}

type Side = (&'static str, fn(&Runs) -> f64);

const SIDES: [Side; 10] = [
    ("tumbling 120 s, count", |runs| tumbling(runs, Count)),
    ("sliding 120 s by 30 s, count", |runs| sliding(runs, 30, Count)),
    ("sliding 120 s by 1 s, count", |runs| sliding(runs, 1, Count)),
    ("tumbling 120 s, sum", |runs| tumbling(runs, Sum)),
    ("sliding 120 s by 30 s, sum", |runs| sliding(runs, 30, Sum)),
    ("tumbling 120 s, greatest", |runs| tumbling(runs, Max)),
    ("sliding 120 s by 30 s, greatest", |runs| sliding(runs, 30, Max)),
    ("sliding 120 s by 5 s, greatest", |runs| sliding(runs, 5, Max)),
    ("sessions 1 s apart, count", sessions),
    ("hundreds, count", hundreds),
];

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (rounds, count) = if is_bench { (11, 4_000_000) } else { (1, 150_000) };
    for (order, disorder) in [("in order", Span::ZERO), ("20 s of disorder", DISORDER)] {
        let runs = records(count, disorder);
        let mut figures = SIDES.map(|_| Vec::new());
        for _ in 0..rounds {
            for ((_, measure), figures) in SIDES.iter().zip(&mut figures) {
                figures.push(measure(&runs));
            }
        }
        for ((name, _), mut figures) in SIDES.iter().zip(figures) {
            figures.sort_by(f64::total_cmp);
            println!("windows {order}, {name}: {:.2} ns per record", figures[rounds / 2]);
        }
    }
}
