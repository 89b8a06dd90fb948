//! Question: how long does the choice of a task take, and what share of the time is that?
//!
//! Workload: a number of tasks that are all ready, on one worker, stepped, with the real clock, under each
//! policy. A run takes one block of 384 records at about 10 ns (some 4 us, as in YSB), or 25 blocks (some 100
//! us). `alone`: each source and its sink are one task. `pairs`: half of the tasks write an edge that the
//! other half reads. The readers do as much work again, so that a run makes its reader ready.
//!
//! Unit: ns per decision, as the engine samples it, one step in 64. This includes rounds of the policy, and
//! one reading of the clock, whose cost the first line prints. The second figure is the share of the wall
//! time of all steps. Both are medians of nine spans of time, because one sample that the operating system
//! interrupts counts for 64. The medians also leave out most rounds over 1,000 tasks and more, which take at
//! most a hundredth of the time in any case. The figures are for regressions, not for claims.
//!
//! Targets: a share below 5 % at one block, and below 1 % at 100 us.
//!
//! `cargo bench -p thalweg-testkit --bench decisions`, with `-- fcfs pairs 100` for one row of the table;
//! under `cargo test` it runs once, small.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use thalweg::{
    Chaining, Clock, EdgeLimits, Engine, EventTime, Fault, Graph, Query, QueryState, Record, Span, Step,
    Stepped, SystemClock, WatermarkStrategy,
};
use thalweg_connectors::Discard;
use thalweg_model::{
    Output, Polled, ProcessingTime, Source, SourceStatus, StateError, StateReader, StateWriter,
};
use thalweg_runtime::limits;
use thalweg_scheduling::policy::{by_name, names};

const BLOCK_RECORDS: u32 = 384;

/// Rounds of arithmetic per record. They take about 10 ns, with the copy of the record.
const ROUNDS: u64 = 28;

/// How long is measured for each figure.
#[derive(Clone, Copy)]
struct Effort {
    /// Time for which the engine runs before anything is measured.
    warm: Duration,
    /// Number of spans of time that are measured; the middle one counts.
    spans: usize,
    /// Length of one of these spans.
    span: Duration,
    /// Number of engine steps between two readings of the clock by the benchmark.
    steps_per_look: u64,
}

impl Effort {
    const BENCH: Effort = Effort {
        warm: Duration::from_millis(300),
        spans: 9,
        span: Duration::from_millis(78),
        steps_per_look: 256,
    };

    /// A few steps, which show that the benchmark runs. Without optimisation a step of 25 blocks takes some 5 ms.
    const TEST: Effort = Effort {
        warm: Duration::from_micros(100),
        spans: 1,
        span: Duration::from_millis(1),
        steps_per_look: 4,
    };
}

type Value = [u64; 6];

/// A source that makes one run of records per poll and is due again at once, so that a step takes one run.
struct Blocks {
    records: u64,
    index: u64,
}

impl Source for Blocks {
    type Item = Value;

    fn poll<O: Output<Value>>(
        &mut self,
        now: ProcessingTime,
        _limit: usize,
        output: &mut O,
    ) -> Result<Polled, Fault> {
        for _ in 0..self.records {
            if output.room() == 0 {
                break;
            }
            self.index += 1;
            output.push(Record::new(EventTime::EPOCH, [work(self.index); 6]));
        }
        Ok(Polled::new(SourceStatus::IdleUntil(now)))
    }

    fn save(&self, _: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

#[inline]
fn work(seed: u64) -> u64 {
    (0..ROUNDS).fold(seed, |sum, round| black_box(sum.wrapping_mul(31) ^ round))
}

fn worked(value: Value) -> Value {
    [work(value[0]); 6]
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    Alone,
    Pairs,
}

#[derive(Clone, Copy)]
struct Setting {
    policy: &'static str,
    shape: Shape,
    tasks: u64,
    records: u64,
}

struct Figures {
    decision_ns: f64,
    step_ns: f64,
}

/// Returns queries for the benchmark that have `tasks` tasks in all.
fn graphs(Setting { shape, tasks, records, .. }: Setting) -> Vec<Graph> {
    let tasks_per_stream = if shape == Shape::Pairs { 2 } else { 1 };
    let mut left = tasks / tasks_per_stream;
    let mut graphs = Vec::new();
    while left > 0 {
        let streams = left.min(limits::TASKS_PER_QUERY.max / tasks_per_stream).min(tasks.div_ceil(10));
        left -= streams;
        let query = Query::new("ready");
        for number in 0..streams {
            let source = Blocks { records, index: number };
            let strategy = WatermarkStrategy::ascending().with_step(Span::from_secs(1));
            let stream = query.source(&format!("source {number}"), source, strategy);
            match shape {
                Shape::Alone => stream.sink(&format!("sink {number}"), Discard::new()),
                Shape::Pairs => stream.boxed().map(worked).sink(&format!("sink {number}"), Discard::new()),
            }
        }
        graphs.push(query.plan(Chaining::All).expect("the streams end in sinks"));
    }
    graphs
}

fn measure(setting: Setting, Effort { warm, spans: count, span, steps_per_look }: Effort) -> Figures {
    let clock = SystemClock::default();
    // A source that writes to an edge makes no more records in one run than fit into the edge.
    let edges = EdgeLimits { block_records: BLOCK_RECORDS, chunk_blocks: 1, chunks_max: 2, marks_max: 8 };
    let builder = Engine::builder().edges(edges).memory_budget_bytes(2 << 30).clock(Arc::new(clock));
    let policy = by_name(setting.policy).expect("it is one of the names");
    let Stepped { engine, mut workers, growth, keeper: _keeper } =
        builder.policy(policy).build_stepped().expect("settings lie in their range");
    let queries: Vec<_> =
        graphs(setting).into_iter().map(|graph| engine.submit(graph).expect("it fits")).collect();
    let mut run = |time: Duration| {
        let (started, mut steps) = (Instant::now(), 0u64);
        while started.elapsed() < time {
            for _ in 0..steps_per_look {
                if let Step::Idle(_) = workers[0].step(&clock) {
                    // The source was polled at this very instant of the clock, so it is not due again yet.
                    // The step did nothing and is not counted.
                    continue;
                }
                steps += 1;
            }
            while growth.step() {}
        }
        (started.elapsed().as_nanos() as f64, steps.max(1) as f64)
    };
    run(warm);
    let mut spans: Vec<(f64, f64)> = (0..count)
        .map(|_| {
            let before_ns = engine.scheduling_ns();
            let (wall_ns, steps) = run(span);
            ((engine.scheduling_ns() - before_ns) as f64 / steps, wall_ns / steps)
        })
        .collect();
    spans.sort_by(|a, b| f64::total_cmp(&a.0, &b.0));
    let (decision_ns, _) = spans[count / 2];
    spans.sort_by(|a, b| f64::total_cmp(&a.1, &b.1));
    let (_, step_ns) = spans[count / 2];
    assert!(queries.iter().all(|query| query.state() == QueryState::Running), "a query has ended");
    Figures { decision_ns, step_ns }
}

/// Returns the nanoseconds that one reading of the clock takes.
fn clock_ns() -> f64 {
    const READINGS: u32 = 10_000;
    let (clock, started) = (SystemClock::default(), Instant::now());
    (0..READINGS).for_each(|_| {
        black_box(clock.now());
    });
    started.elapsed().as_nanos() as f64 / f64::from(READINGS)
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    // Arguments that begin with `-`, such as cargo's own, do not name a row of the table.
    let row: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let effort = if is_bench { Effort::BENCH } else { Effort::TEST };
    let sizes: &[u64] = if is_bench { &[10, 100, 1_000, 10_000] } else { &[10, 100] };
    let block = u64::from(BLOCK_RECORDS);
    println!("a reading of the clock: {:.0} ns", clock_ns());
    println!(
        "{:14} {:6} {:>6}  {:>11} {:>9} {:>7}  {:>11} {:>9} {:>7}",
        "policy", "shape", "tasks", "decision ns", "block us", "share", "decision ns", "25 blk us", "share"
    );
    for policy in names() {
        for shape in [Shape::Alone, Shape::Pairs] {
            for &tasks in sizes {
                let names = [policy.to_owned(), format!("{shape:?}").to_lowercase(), tasks.to_string()];
                if !row.iter().all(|name| names.contains(name)) {
                    continue;
                }
                print!("{:14} {:6} {:>6}", names[0], names[1], names[2]);
                for records in [block, 25 * block] {
                    // Only small runs are measured for tasks in pairs, because the records that a source
                    // passes to its reader in one run are bounded by the edge.
                    if shape == Shape::Pairs && records > block {
                        continue;
                    }
                    let setting = Setting { policy, shape, tasks, records };
                    let Figures { decision_ns, step_ns } = measure(setting, effort);
                    let share = 100.0 * decision_ns / step_ns;
                    print!("  {decision_ns:>11.0} {:>9.2} {share:>6.2}%", step_ns / 1e3);
                }
                println!();
            }
        }
    }
}
