//! Question: how many records per second do windows and joins of two streams process in the engine, with
//! sources, edges and scheduling?
//!
//! Workload: drained generators on one worker, default chains, memory for edges as by default.
//!
//! * `tumbling`, `sliding`: a count per key, of 10,000 keys uniform at random, 100,000 records per second of
//!   event time; windows of 120 s, back to back or every 30 s. 200 M records: sixteen windows and more.
//! * `join`: two streams of keys uniform in `0..2^20`, a million records per side and window of 1 s, so that
//!   each record matches about one other; ten windows.
//!
//! Unit: million input records per second of wall time, the median of some rounds in which the kinds
//! alternate.
//!
//! Targets: sliding costs at most 1.5 times as much as tumbling; the join takes 10 M records/s.
//!
//! `cargo bench -p thalweg-testkit --bench windows`; under `cargo test` it runs once, small.

use std::sync::Arc;
use std::time::Instant;

use thalweg::{
    Count, Engine, EventTime, Generate, Graph, Query, SlidingWindows, Span, TumblingWindows,
    WatermarkStrategy,
};
use thalweg_connectors::{Discard, Pace, Paced};

const ROUNDS: usize = 7;

/// A round of the benchmark is shorter by this factor when it runs as a test.
const TEST_SHARE: u64 = 100;

/// Generator of random keys below a bound.
struct Keys {
    bound: u64,
    salt: u64,
}

impl Generate for Keys {
    type Item = u64;

    const IS_CHEAP: bool = true;

    #[inline(always)]
    fn value(&self, index: u64, _event_time: EventTime) -> u64 {
        // Mixes the index by the finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014), and maps it
        // below the bound by a multiplication in place of a modulo.
        let mut mixed = (index ^ self.salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^= mixed >> 27;
        ((u128::from(mixed) * u128::from(self.bound)) >> 64) as u64
    }

    fn cache_bytes(&self) -> usize {
        0
    }
}

fn source(bound: u64, salt: u64, nominal_rate_per_s: u64, records: u64) -> Paced<Keys> {
    let pace = Pace::Drain { nominal_rate_per_s, start: EventTime::EPOCH };
    Paced::new(Arc::new(Keys { bound, salt }), pace).expect("a rate in bounds").with_limit(records)
}

fn tumbling(query: &Query, records: u64) {
    let windows = TumblingWindows::new(Span::from_secs(120)).expect("above zero");
    query
        .source("keys", source(10_000, 1, 100_000, records), WatermarkStrategy::ascending())
        .key_by(|key| *key)
        .tumbling(windows)
        .aggregate(Count)
        .sink("counts", Discard::default());
}

fn sliding(query: &Query, records: u64) {
    let windows =
        SlidingWindows::of_size(Span::from_secs(120)).every(Span::from_secs(30)).expect("above zero");
    query
        .source("keys", source(10_000, 1, 100_000, records), WatermarkStrategy::ascending())
        .key_by(|key| *key)
        .sliding(windows)
        .aggregate(Count)
        .sink("counts", Discard::default());
}

fn join(query: &Query, records: u64) {
    let side = |name, salt| {
        let source = source(1 << 20, salt, 1_000_000, records / 2);
        query.source(name, source, WatermarkStrategy::ascending()).key_by(|key| *key)
    };
    side("left", 2)
        .join(side("right", 3))
        .tumbling(TumblingWindows::new(Span::from_secs(1)).expect("above zero"))
        .inner(|left, right| left ^ right)
        .sink("pairs", Discard::default());
}

/// A kind of query: its name, a function that writes it, and the number of records of one round.
type Kind = (&'static str, fn(&Query, u64), u64);

const KINDS: [Kind; 3] =
    [("tumbling", tumbling, 200_000_000), ("sliding", sliding, 200_000_000), ("join", join, 20_000_000)];

/// Runs one round of a query, and returns million records per second.
fn round((name, write, records): Kind) -> f64 {
    let engine = Engine::builder().memory_budget_bytes(1 << 30).build().expect("settings in bounds");
    let query = Query::new(name);
    write(&query, records);
    let graph: Graph = query.plan(thalweg::Chaining::Default).expect("a sound plan");
    let began = Instant::now();
    let report = engine.submit(graph).expect("enough memory").wait().expect("nothing fails");
    let seconds = began.elapsed().as_secs_f64();
    assert_eq!(report.conservation_error(), None);
    assert_eq!(report.events_in, records);
    report.events_in as f64 / 1e6 / seconds
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (rounds, share) = if is_bench { (ROUNDS, 1) } else { (1, TEST_SHARE) };
    let mut speeds = KINDS.map(|_| Vec::new());
    for _ in 0..rounds {
        for ((name, write, records), speeds) in KINDS.into_iter().zip(&mut speeds) {
            speeds.push(round((name, write, records / share)));
        }
    }
    for ((name, ..), speeds) in KINDS.iter().zip(&mut speeds) {
        speeds.sort_by(f64::total_cmp);
        let (least, most) = (speeds[0], speeds[speeds.len() - 1]);
        println!("{name:8} {:6.1} M records/s ({least:.1} to {most:.1})", speeds[speeds.len() / 2]);
    }
    let median = |kind: usize| speeds[kind][speeds[kind].len() / 2];
    println!("sliding costs {:.2} times what tumbling does", median(0) / median(1));
}
