//! Tests of every policy: users find it by its name, and it starves operators only where this is documented.

use thalweg_model::{Entropy, SeededEntropy};

use super::*;
use crate::snapshot::OperatorState;
use crate::test_bed::{Bed, Task};

#[test]
fn policies_are_found_by_their_names_and_by_no_other() {
    assert!(names().into_iter().all(|name| by_name(name).is_ok_and(|policy| policy.name() == name)));
    let error = by_name("fastest").err().expect("no such policy").to_string();
    assert_eq!(
        error,
        "there is no policy `fastest`: take one of enjima, enjima_strict, fcfs, fcfs_ingest, fifo, round_robin, rr_quantum, \
         min_latency, min_latency+ageing, min_cost, highest_rate, highest_rate+ageing, chain, chain+ageing, streambox, \
         streambox_most_open, sbox, sbox+ageing, klink, klink_no_memory, klink_memory_slack, klink_sum, klink_lazy, \
         klink_literal_variance, klink_regression, cameo_llf, cameo_llf_unaware, cameo_llf_merged, cameo_edf, cameo_sjf, \
         cameo_sjf+ageing, cameo_token, orleans, orleans+ageing, congestion, congestion_v1, congestion+ageing"
    );
}

/// Settings reach every policy that has them, also behind its bound of waiting, and no other policy.
#[test]
fn settings_reach_their_policies() {
    let settings = Settings {
        round_ns: 5_000_000,
        klink_cycle_ns: 60_000_000,
        klink_epochs: 100,
        cameo_grain_ns: 3_000_000,
        ..Settings::default()
    };
    // A record costs 1 us.
    let state = OperatorState { pending: 1, cost_ns_per_record: 1_000.0, ..OperatorState::default() };
    let operators = vec![Some(state)];
    let snapshot =
        Snapshot { block_records: 384, operators, order: vec![OperatorId(0)], ..Snapshot::default() };
    let shown = |name: &str, settings: &Settings| {
        let mut policy = configured(name, settings).expect("it has a name");
        policy.prepare(&snapshot);
        (policy.round_ns(), policy.delay_epochs(), policy.quantum(&snapshot, OperatorId(0)).records)
    };
    for name in names() {
        let (usual, set) = match name {
            enjima::NAME | enjima::STRICT_NAME => ((1_000_000, 400, 1_000), (5_000_000, 400, 1_000)),
            round_robin::QUANTUM_NAME => ((1_000_000, 400, 120_000), (1_000_000, 400, 60_000)),
            cameo::token::NAME => ((1_000_000, 400, 384), (1_000_000, 400, 384)),
            _ if name.starts_with(klink::NAME) => ((1_000_000, 400, 120_000), (1_000_000, 100, 60_000)),
            _ if name.starts_with("cameo") => ((1_000_000, 400, 1_000), (1_000_000, 400, 3_000)),
            _ => ((1_000_000, 400, 384), (1_000_000, 400, 384)),
        };
        assert_eq!((shown(name, &Settings::default()), shown(name, &settings)), (usual, set), "{name}");
    }
}

/// The policies that stand for queues which all inputs share read inputs in the order of arrival, also behind a bound of
/// waiting and while their calls are recorded. All others read them by progress.
#[test]
fn queues_read_inputs_in_the_order_of_arrival() {
    let by_arrival = [fcfs::NAME, fcfs::INGEST_NAME, fcfs::FIFO_NAME, orleans::NAME, orleans::AGEING_NAME];
    for name in names() {
        let expected = if by_arrival.contains(&name) { InputOrder::Arrival } else { InputOrder::Progress };
        let policy = by_name(name).unwrap();
        assert_eq!(policy.input_order(), expected, "{name}");
        let traced = crate::Traced::new(policy, &crate::Trace::new(1));
        assert_eq!(traced.input_order(), expected, "{name}");
    }
}

/// The policies that need reports of runs say so.
#[test]
fn policies_that_need_reports_say_so() {
    let needs = [
        enjima::NAME,
        round_robin::NAME,
        round_robin::QUANTUM_NAME,
        min_cost::NAME,
        streambox::NAME,
        streambox::MOST_OPEN_NAME,
    ];
    for name in names() {
        let missing = by_name(name).unwrap().reads().missing_from(Fields::PENDING);
        assert_eq!(missing.contains(&"reports of runs"), needs.contains(&name), "{name}");
    }
}

/// The README's table of policies names every policy.
#[test]
fn the_readme_names_every_policy() {
    let readme = include_str!("../../../../README.md");
    let missing: Vec<_> = names().into_iter().filter(|name| !readme.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "not in the README: {missing:?}");
}

/// An operator that has no input or no room, or does not exist, gets no rank from any policy, before and
/// after its first round.
#[test]
fn nobody_is_ranked_who_cannot_run() {
    let state = |pending, can_output| Some(OperatorState { pending, can_output, ..OperatorState::default() });
    let operators = vec![state(0, true), state(5, false), None, state(5, true)];
    let snapshot = Snapshot { operators, order: [0, 1, 3].map(OperatorId).to_vec(), ..Snapshot::default() };
    for name in names() {
        let mut policy = by_name(name).expect("it has a name");
        for is_prepared in [false, true] {
            if is_prepared {
                policy.prepare(&snapshot);
            }
            for id in [0, 1, 2, 4, u32::MAX] {
                assert_eq!(policy.rank(&snapshot, OperatorId(id)), None, "{name}, {id}");
            }
            let is_ranked = policy.rank(&snapshot, OperatorId(3)).is_some();
            assert!(is_ranked || !policy.conserves_work(), "{name}");
        }
    }
}

/// Greatest number of records that wait for one operator in the graphs of [`random`].
const ROOM_RECORDS: u64 = 2_000;
/// Greatest cost of a record, in ns, in the graphs of [`random`].
const MAX_COST_NS: u64 = 500;

/// Makes a random graph: up to 20 operators in up to 4 queries, each feeding at most three later ones of its
/// query. Some are sources on demand. Costs are random, and measured up to 50 % wrong or not at all.
/// Selectivities are from 0 to 2.
fn random(entropy: &mut SeededEntropy) -> Vec<Task> {
    let count = 1 + entropy.below(20) as u32;
    let queries = 1 + entropy.below(4) as u32;
    let task = |id: u32| {
        let later: Vec<u32> = (id + 1..count).filter(|later| later % queries == id % queries).collect();
        let readers: Vec<u32> = later.iter().copied().filter(|_| entropy.below(3) == 0).take(3).collect();
        let cost_ns = 1 + entropy.below(MAX_COST_NS);
        let selectivity = [0.0, 0.001, 0.3, 1.0, 2.0][entropy.below(5) as usize];
        let measured_cost_ns =
            [cost_ns as f64 * 2.0 * entropy.unit(), f64::NAN, 0.0][entropy.below(3) as usize];
        // The first operator of a query has no writer, so it may be a source.
        let is_on_demand = id < queries && entropy.below(2) == 0;
        let new = Task::new(cost_ns, selectivity, &readers);
        Task { query: id % queries, measured_cost_ns, is_on_demand, room_records: ROOM_RECORDS, ..new }
    };
    (0..count).map(task).collect()
}

/// Makes a random graph as [`random`] does, but all input comes from sources that make records on demand.
pub(crate) fn random_behind_sources(entropy: &mut SeededEntropy) -> Vec<Task> {
    let mut tasks = random(entropy);
    let queries = 1 + tasks.iter().map(|task| task.query).max().unwrap_or(0) as usize;
    tasks.iter_mut().take(queries).for_each(|task| task.is_on_demand = true);
    tasks
}

/// Returns the longest wait of any operator in 5,000 decisions of a policy, while input arrives at random
/// operators, in bursts and in small amounts.
pub(crate) fn longest_wait_ns(policy: Box<dyn Policy>, seed: u64) -> u64 {
    let mut entropy = SeededEntropy::new(seed);
    let tasks = random(&mut entropy);
    let count = tasks.len() as u64;
    let mut bed = Bed::new(policy, 384, tasks);
    for _ in 0..5_000 {
        let id = entropy.below(count) as u32;
        if !bed.tasks[id as usize].task.is_on_demand {
            let burst = if entropy.below(2) == 0 { ROOM_RECORDS } else { 3 };
            bed.push(id, bed.room(id).min(burst));
        }
        bed.step();
    }
    bed.tasks.iter().map(|live| live.longest_wait_ns).max().expect("there are tasks")
}

/// Returns the time in ns to process once everything that the operators of [`longest_wait_ns`] can hold.
pub(crate) fn around_ns(seed: u64) -> u64 {
    random(&mut SeededEntropy::new(seed)).len() as u64 * ROOM_RECORDS * MAX_COST_NS
}

/// Returns the time in ns for which a policy may let an operator wait before its turn. It is the bound of
/// ageing and a round or two, or for Klink a cycle for each query.
fn patience_ns(policy: &str, queries: u32) -> u64 {
    if policy.starts_with(klink::NAME) { klink::CYCLE_NS * u64::from(queries) } else { 12_000_000 }
}

/// Returns the names of the variants with a bounded wait (ageing).
fn aged() -> impl Iterator<Item = &'static str> {
    names().into_iter().filter(|name| name.ends_with("+ageing"))
}

/// Under these policies every operator that can run does run. It waits for the bound of its policy, and for
/// twice the time to process once everything that the others hold, because records arrive meanwhile.
#[test]
fn nobody_starves_by_arrival_by_turns_or_with_a_bound() {
    let fair = [fcfs::NAME, round_robin::NAME, min_cost::NAME, enjima::NAME];
    let fair = fair.into_iter().chain([fcfs::INGEST_NAME, fcfs::FIFO_NAME]);
    let fair = fair.chain([round_robin::QUANTUM_NAME, klink::NAME]);
    let by_deadlines = [cameo::LLF_NAME, cameo::UNAWARE_NAME, cameo::MERGED_NAME, cameo::EDF_NAME];
    let fair: Vec<_> = fair.chain(by_deadlines).chain([cameo::token::NAME]).collect();
    for seed in 0..50 {
        let around_ns = around_ns(seed);
        let queries =
            1 + random(&mut SeededEntropy::new(seed)).iter().map(|task| task.query).max().unwrap_or(0);
        for policy in fair.iter().copied().chain(aged()) {
            let waited_ns = longest_wait_ns(by_name(policy).expect("it has a name"), seed);
            assert!(
                waited_ns <= patience_ns(policy, queries) + 2 * around_ns,
                "{policy} {seed}: {waited_ns} ns of {around_ns}"
            );
        }
    }
}

/// Runs a source and a sink that cost 10 ns, and a second pair that costs 30 ns, for 1 s. Returns the longest
/// wait in the second pair.
fn wait_of_the_costly_ns(policy: &str) -> u64 {
    let pair = |query: u32, cost_ns| {
        let source = Task { is_on_demand: true, ..Task::new(cost_ns, 1.0, &[2 * query + 1]) };
        let sink = Task::new(cost_ns, 1.0, &[]);
        [source, sink].map(|task| Task { query, room_records: ROOM_RECORDS, ..task })
    };
    let tasks = pair(0, 10).into_iter().chain(pair(1, 30)).collect();
    let mut bed = Bed::new(by_name(policy).expect("it has a name"), 384, tasks);
    while bed.now_ns() < 1_000_000_000 {
        bed.step();
    }
    bed.tasks[2..].iter().map(|live| live.longest_wait_ns).max().expect("there are two")
}

/// Priorities without a bound starve operators that cost more, as the papers imply. Where there is a bound,
/// it holds; for `enjima` this means that the wait is bounded although the costs differ too much for even
/// sharing. To `congestion_v1` all sources are equal, and the lower number goes first.
#[test]
fn who_costs_more_starves_where_nothing_bounds_it() {
    for policy in names() {
        let starving = [
            min_latency::NAME,
            enjima::STRICT_NAME,
            highest_rate::NAME,
            chain::NAME,
            congestion::V1_NAME,
            sbox::NAME,
            cameo::SJF_NAME,
            orleans::NAME,
        ];
        let starves = starving.contains(&policy);
        let waited_ns = wait_of_the_costly_ns(policy);
        assert!(
            if starves { waited_ns > 990_000_000 } else { waited_ns < patience_ns(policy, 2) + 1_000_000 },
            "{policy}: {waited_ns}"
        );
    }
}

/// The policy `congestion` starves an operator with three waiting records beside a source that always has a
/// full block.
#[test]
fn who_has_little_waiting_starves_under_congestion() {
    for (policy, starves) in [(congestion::NAME, true), (congestion::AGEING_NAME, false)] {
        let source = Task { is_on_demand: true, room_records: ROOM_RECORDS, ..Task::new(10, 0.0, &[]) };
        let tasks = vec![source, Task { query: 1, ..Task::new(10, 1.0, &[]) }];
        let mut bed = Bed::new(by_name(policy).expect("it has a name"), 384, tasks);
        bed.push(1, 3);
        while bed.now_ns() < 1_000_000_000 {
            bed.step();
        }
        let waited_ns = bed.tasks[1].longest_wait_ns;
        assert!(
            if starves { waited_ns > 990_000_000 } else { waited_ns < 13_000_000 },
            "{policy}: {waited_ns}"
        );
    }
}
