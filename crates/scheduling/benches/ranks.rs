//! Question: what does it cost to rank an operator, which a worker asks for up to three times per decision,
//! and what does a round of ranking cost, which is due every millisecond?
//! Workload: 10 to 10,000 operators in queries of five, A -> B -> {C, D} -> E, all saturated; ranks and words
//! through `dyn Policy`, for operators in a scattered order. The ceiling of a rank is the word of one field
//! of the snapshot.
//! Unit: ns per rank, us per round. The figures are for regressions, not for claims.
//!
//! `cargo bench -p thalweg-scheduling --bench ranks`; under `cargo test` it runs once, small.

use std::hint::black_box;
use std::time::Instant;

use thalweg_model::ProcessingTime;
use thalweg_scheduling::{OperatorId, OperatorState, QueryId, QueryState, Rank, Snapshot, by_name, names};

const NOW: ProcessingTime = ProcessingTime::from_nanos(1_800_000_000_000_000_000);

/// The example query of the benchmark: for each of its five operators, the readers and the selectivity.
const QUERY: [(&[u32], f64); 5] = [(&[1], 1.0), (&[2, 3], 1.0), (&[4], 0.3), (&[4], 0.25), (&[], 1.0)];

fn snapshot(count: u32) -> Snapshot {
    let state = |id: u32| OperatorState {
        pending: u64::from(id * 37 % 3_000) + 1,
        cost_ns_per_record: f64::from(10 + id % 7),
        selectivity: QUERY[id as usize % 5].1,
        ..OperatorState::new(
            QueryId(id / 5),
            ProcessingTime::from_nanos(NOW.as_nanos() - u64::from(id * 100)),
        )
    };
    let readers =
        |id: u32| QUERY[id as usize % 5].0.iter().map(|reader| OperatorId(id / 5 * 5 + reader)).collect();
    Snapshot {
        now: NOW,
        round_end: NOW.plus_nanos(1_000_000),
        workers: 2,
        block_records: 384,
        operators: (0..count).map(|id| Some(state(id))).collect(),
        queries: vec![Some(QueryState::default()); count as usize / 5],
        downstream: (0..count).map(readers).collect(),
        order: (0..count).map(OperatorId).collect(),
        ..Snapshot::default()
    }
}

/// Returns the nanoseconds per call of `run`: the median of `repeats` measurements of `calls` calls each.
fn median_ns(repeats: usize, calls: usize, mut run: impl FnMut()) -> f64 {
    let mut runs: Vec<f64> = (0..repeats)
        .map(|_| {
            let start = Instant::now();
            (0..calls).for_each(|_| run());
            start.elapsed().as_secs_f64() * 1e9 / calls as f64
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    runs[repeats / 2]
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (repeats, rank_count) = if is_bench { (9, 1_000_000) } else { (1, 100) };
    for count in [10, 100, 1_000, 10_000] {
        let snapshot = snapshot(count);
        // 7,919 is a prime number, so the order is scattered and every operator comes once before any comes
        // again.
        let order: Vec<OperatorId> = (0..count).map(|turn| OperatorId(turn * 7_919 % count)).collect();
        let passes = (rank_count / count as usize).max(1);
        let per_rank = |word: &dyn Fn(OperatorId) -> u64| {
            let pass = || order.iter().for_each(|operator| _ = black_box(word(black_box(*operator))));
            median_ns(repeats, passes, pass) / f64::from(count)
        };
        let field = per_rank(&|operator| {
            let state = snapshot.operator(operator).expect("it lives");
            Rank { class: 0, score: state.cost_ns_per_record, tie: operator.0 }.word()
        });
        println!("ranks {count} operators, ceiling: {field:.1} ns per rank");
        for name in names() {
            let mut policy = by_name(name).expect("it has a name");
            let round_ns = median_ns(repeats, passes, || policy.prepare(black_box(&snapshot)));
            let rank_ns = per_rank(&|operator| policy.rank(&snapshot, operator).map_or(u64::MAX, Rank::word));
            let round_us = round_ns / 1e3;
            println!("ranks {count} operators, {name}: {rank_ns:.1} ns per rank, {round_us:.1} us per round");
        }
    }
}
