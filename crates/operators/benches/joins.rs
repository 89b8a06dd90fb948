//! Question: what does one core get through a join of two streams, and what does each kind cost?
//! Workload: values of 64 bits that are their own keys, uniform in `0..2^20`. Records of both sides alternate at 500
//! ns of event time, so a window of one second has a million of each, and each record meets about one other. A
//! watermark follows every 1,000 records. The interval joins reach one second to either side, or half a second. The
//! hot key case has one key and about ten matches per record. Blocks have 512 records; the output has room for 1,024
//! results per call.
//! Unit: millions of input records per second of processor time, where the system reports it, so that a busy machine
//! disturbs less. The first window, in which the tables grow, is not measured. For regressions, not for claims.
//!
//! `cargo bench -p thalweg-operators --bench joins`; names of cases behind `--` run only those. Under `cargo test` it
//! runs once, small.

use std::sync::OnceLock;
use std::time::Instant;

use thalweg_model::{
    Either, EventTime, Flow, Input, Mark, Operator, Output, Record, SeededEntropy, Span, TumblingWindows,
    Window,
};
use thalweg_operators::{CoGroup, FullOuter, Inner, Interval, IntervalJoin, WindowJoin};

/// The value of a record of the left or the right stream.
type Two = Either<u64, u64>;

/// Nanoseconds of event time between two consecutive records of the benchmark.
const STEP_NS: u64 = 500;

const BLOCK_RECORDS: usize = 512;
const WATERMARK_RECORDS: usize = 1_000;
const ROOM: usize = 1_024;

/// An operator's input that serves a block of records by copying them, so that the block can be used again.
struct Block<'a>(&'a [Record<Two>]);

impl Input<Two> for Block<'_> {
    fn remaining(&self) -> usize {
        self.0.len()
    }
    #[inline(always)]
    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&Record<Two>) -> Q) -> Q {
        look(&self.0[offset])
    }
    #[inline(always)]
    fn taken(&mut self, count: usize) -> impl Iterator<Item = Record<Two>> {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken.iter().copied()
    }
    fn taken_selected(&mut self, count: usize, selection: &[u16]) -> impl Iterator<Item = Record<Two>> {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        selection.iter().map(|&place| taken[usize::from(place)])
    }
}

/// An operator's output: one block of results, which is overwritten once it is full.
struct Results {
    block: Vec<Record<u64>>,
    count: u64,
    sum: u64,
}

impl Results {
    fn flush(&mut self) {
        self.count += self.block.len() as u64;
        self.sum = self.block.iter().fold(self.sum, |sum, record| sum.wrapping_add(record.value));
        self.block.clear();
    }
}

impl Output<u64> for Results {
    #[inline(always)]
    fn room(&self) -> usize {
        ROOM - self.block.len()
    }
    #[inline(always)]
    fn push(&mut self, record: Record<u64>) {
        self.block.push(record);
    }
}

/// Returns the seconds of processor time of this thread, or the seconds since the first call on systems that
/// do not report it.
fn seconds() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let ran = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ran_ns = ran.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    ran_ns.map_or_else(|| START.get_or_init(Instant::now).elapsed().as_secs_f64(), |ns| ns as f64 / 1e9)
}

fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Returns records that alternate between the left and the right stream.
fn records(count: u64, key_of: impl Fn(u64) -> u64) -> Vec<Record<Two>> {
    let record = |index: u64| {
        let key = key_of(index);
        let micros = i64::try_from(index * STEP_NS / 1_000).expect("a few seconds");
        let side = if index.is_multiple_of(2) { Either::Left(key) } else { Either::Right(key) };
        Record::new(EventTime::from_micros(micros), side)
    };
    (0..count).map(record).collect()
}

/// Runs all records through an operator. Returns the seconds taken by the records after the first `warm_up`
/// of them, and all results.
fn run<P: Operator<Two, Out = u64>>(
    mut operator: P,
    records: &[Record<Two>],
    warm_up: usize,
) -> (f64, Results) {
    let mut results = Results { block: Vec::with_capacity(ROOM), count: 0, sum: 0 };
    operator.seed(&mut SeededEntropy::new(7));
    let (mut began, mut done) = (seconds(), 0);
    for epoch in records.chunks(WATERMARK_RECORDS) {
        if done == warm_up {
            began = seconds();
        }
        for block in epoch.chunks(BLOCK_RECORDS) {
            let mut input = Block(block);
            while input.remaining() > 0 {
                operator.process(&mut input, &mut results);
                while operator.is_stalled() {
                    results.flush();
                    let _stalled_or_done = operator.resume(&mut results);
                }
                results.flush();
            }
        }
        done += epoch.len();
        let mark = Mark::Watermark(epoch[epoch.len() - 1].event_time);
        let mut flow = operator.on_mark(mark, &mut results);
        while flow == Flow::More {
            results.flush();
            flow = operator.resume(&mut results);
        }
        results.flush();
    }
    (seconds() - began, results)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let names: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    // A window has two million records in the benchmark, and 20,000 under `cargo test`.
    let (window_records, windows, rounds) = if is_bench { (2_000_000, 5, 5) } else { (20_000, 3, 1) };
    let keys = if is_bench { 1 << 20 } else { 1 << 13 };
    let uniform = records(window_records * windows, |index| mix(index) % keys);
    let hot = records(window_records * windows, |_| 7);
    let window_micros = i64::try_from(window_records * STEP_NS / 1_000).expect("a second");
    let tumbling = TumblingWindows::new(Span::from_micros(window_micros)).expect("a size above zero");
    let within = |lower: i64, upper: i64| {
        Interval::new(Span::from_micros(lower), Span::from_micros(upper)).expect("the lower one comes first")
    };
    let warm_up = window_records as usize;

    let report = |name: &str, records: &[Record<Two>], run: &dyn Fn(&[Record<Two>]) -> (f64, Results)| {
        if !names.is_empty() && !names.iter().any(|wanted| *wanted == name) {
            return;
        }
        let measured = (records.len() - warm_up) as f64;
        let mut rates = Vec::new();
        let mut last = None;
        for _ in 0..rounds {
            let (seconds, results) = run(records);
            // The system reports processor time in ticks of some milliseconds, which may be zero. So the
            // divisor is at least 1 ms.
            rates.push(measured / seconds.max(1e-3) / 1e6);
            last = Some((results.count, results.sum));
        }
        rates.sort_by(f64::total_cmp);
        let (count, _sum) = last.expect("one round at least");
        println!(
            "{name:24} {:7.2} million records/s ({:.2} to {:.2}), {:.2} results per record",
            rates[rates.len() / 2],
            rates[0],
            rates[rates.len() - 1],
            count as f64 / records.len() as f64
        );
    };

    let key = |value: &u64| *value;
    let sum = |left: &u64, right: &u64| left.wrapping_add(*right);
    let either = |left: Option<&u64>, right: Option<&u64>| left.or(right).copied().unwrap_or(0);
    report("window_inner", &uniform, &|records| {
        run(WindowJoin::new("join", tumbling, key, key, Inner(sum)), records, warm_up)
    });
    report("window_full", &uniform, &|records| {
        run(WindowJoin::new("join", tumbling, key, key, FullOuter(either)), records, warm_up)
    });
    report("co_group", &uniform, &|records| {
        let counts =
            |_: Window, _: &u64, lefts: &[u64], rights: &[u64]| Some((lefts.len() * rights.len()) as u64);
        run(CoGroup::new("group", tumbling, key, key, counts), records, warm_up)
    });
    let both_sides = within(-window_micros / 2, window_micros / 2);
    report("interval_inner", &uniform, &|records| {
        run(IntervalJoin::new("join", both_sides, key, key, Inner(sum)), records, warm_up)
    });
    report("interval_full", &uniform, &|records| {
        run(IntervalJoin::new("join", both_sides, key, key, FullOuter(either)), records, warm_up)
    });
    report("interval_one_hot_key", &hot, &|records| {
        run(IntervalJoin::new("join", within(-5, 5), key, key, Inner(sum)), records, warm_up)
    });
}
