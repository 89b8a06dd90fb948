//! Tests of Cameo and its baselines with snapshots that have invalid and extreme values.

use thalweg_model::{Entropy, SeededEntropy};

use super::*;
use crate::policy::{by_name, fcfs, orleans};

/// Names of the forms of Cameo, and of the baselines in its paper.
const NAMES: [&str; 9] = [
    LLF_NAME,
    UNAWARE_NAME,
    MERGED_NAME,
    EDF_NAME,
    SJF_NAME,
    token::NAME,
    fcfs::FIFO_NAME,
    fcfs::INGEST_NAME,
    orleans::NAME,
];

/// With any values in a snapshot no policy panics and no score is NaN. An operator's rank stays the same at
/// any instant until the next round.
#[test]
fn hostile_snapshots_do_no_harm() {
    let mut entropy = SeededEntropy::new(11);
    let mut policies: Vec<_> = NAMES.map(|name| by_name(name).expect("it has a name")).into();
    let noise = CameoSettings { cost_noise_ns: u64::MAX, latency_target_ns: u64::MAX, ..Default::default() };
    policies.push(Box::new(Cameo::new(noise)));
    let mut ranked = 0;
    for _ in 0..2_000 {
        let mut snapshot = hostile(&mut entropy);
        for policy in &mut policies {
            policy.prepare(&snapshot);
        }
        for id in (0..12).chain([u32::MAX]).map(OperatorId) {
            let early: Vec<_> = policies.iter().map(|policy| policy.rank(&snapshot, id)).collect();
            // The step of the clock is short, so that no operator begins to count as starving.
            snapshot.now = snapshot.now.plus_nanos(1_000);
            for (policy, early) in policies.iter().zip(early) {
                let late = policy.rank(&snapshot, id);
                assert_eq!(late.map(Rank::word), early.map(Rank::word), "{}", policy.name());
                assert!(late.is_none_or(|rank| !rank.score.is_nan()), "{}: {late:?}", policy.name());
                assert!(policy.quantum(&snapshot, id).records >= snapshot.block_records);
                ranked += usize::from(late.is_some());
            }
        }
    }
    assert!(ranked > 20_000, "{ranked}");
}

/// Fields of the snapshot that a policy does not read may hold anything: the policy's answers stay the same.
#[test]
fn what_is_not_read_does_not_matter() {
    let mut entropy = SeededEntropy::new(12);
    for _ in 0..200 {
        let snapshot = hostile(&mut entropy);
        for name in NAMES {
            let answers = |snapshot: &Snapshot| {
                let mut policy = by_name(name).expect("it has a name");
                policy.prepare(snapshot);
                let answer = |id| (policy.rank(snapshot, id).map(Rank::word), policy.quantum(snapshot, id));
                (0..12).map(OperatorId).map(answer).collect::<Vec<_>>()
            };
            let reads = by_name(name).expect("it has a name").reads();
            assert_eq!(answers(&snapshot), answers(&scrambled(snapshot.clone(), reads)), "{name}");
        }
    }
}

/// Returns the snapshot with other values in all fields that are not in `reads`.
fn scrambled(mut snapshot: Snapshot, reads: Fields) -> Snapshot {
    for state in snapshot.operators.iter_mut().flatten() {
        if !reads.contain(Fields::OLDEST_PENDING) {
            state.oldest_pending = at(77);
        }
        if !reads.contain(Fields::LAST_RUN) {
            state.last_run_ended = at(77);
        }
        if !reads.contain(Fields::COST_AND_SELECTIVITY) {
            (state.cost_ns_per_record, state.cost_ns_per_run, state.selectivity) = (77.0, 77.0, 77.0);
        }
        if !reads.contain(Fields::CONTEXTS) {
            state.head = Context { observed: at(77), token: Some(at(77)) };
            state.frontier = Some(EventTime::from_secs(77));
        }
    }
    if !reads.contain(Fields::TOPOLOGY) {
        snapshot.order.clear();
        snapshot.downstream.clear();
    }
    if !reads.contain(Fields::STREAMS) {
        snapshot.streams.clear();
    }
    snapshot
}

fn hostile(entropy: &mut SeededEntropy) -> Snapshot {
    let costs = [0.0, -1.0, 1e-300, 10.0, 1e6, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let events = [EventTime::MIN, EventTime::EPOCH, EventTime::from_secs(1_800_000_000), EventTime::MAX];
    let instants = [0, 1, 1_800_000_000_000_000_000, u64::MAX].map(ProcessingTime::from_nanos);
    let ids = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, u32::MAX];
    let queries = [0, 0, 1, 1, 2, u32::MAX];
    let mut below = |count: usize| entropy.below(count as u64) as usize;
    let count = below(11);
    let mut state = |_| {
        let own = OperatorState {
            query: QueryId(queries[below(6)]),
            is_source: below(3) == 0,
            is_on_demand: below(3) == 0,
            can_output: below(5) > 0,
            pending: [0, 1, u64::MAX][below(3)],
            oldest_pending: instants[below(4)],
            last_run_ended: instants[below(4)],
            cost_ns_per_record: costs[below(9)],
            cost_ns_per_run: costs[below(9)],
            head: Context { observed: instants[below(4)], token: [None, Some(instants[below(4)])][below(2)] },
            frontier: [None, Some(events[below(4)])][below(2)],
            ..OperatorState::default()
        };
        Some(own).filter(|_| below(8) > 0)
    };
    let operators = (0..count).map(&mut state).collect();
    let target = |index: usize| [None, Some(0), Some(u64::MAX), Some(7_200_000_000_000)][index];
    let query = |_| {
        let latency_target_ns = target(below(4));
        Some(QueryState { latency_target_ns, ..QueryState::default() }).filter(|_| below(4) > 0)
    };
    let queries_live = (0..count / 3).map(query).collect();
    let stream = |_| {
        let line = ProgressMap {
            event_time: events[below(4)],
            observed: instants[below(4)],
            slope: [1.0, costs[below(9)]][below(2)],
        };
        StreamState {
            query: QueryId(queries[below(6)]),
            next_firing: [None, Some(events[below(4)])][below(2)],
            deadline: None,
            swept: None,
            delays: DelayStatistics::default(),
            progress: Some(line).filter(|_| below(4) > 0),
            is_away: below(4) == 0,
        }
    };
    let streams = (0..count).map(stream).collect();
    let downstream =
        (0..count).map(|_| (0..below(4)).map(|_| OperatorId(ids[below(12)])).collect()).collect();
    let order = (0..below(14)).map(|_| OperatorId(ids[below(12)])).collect();
    let block_records = 1 + below(400) as u32;
    Snapshot {
        now: instants[below(3)],
        block_records,
        operators,
        queries: queries_live,
        streams,
        downstream,
        order,
        ..Snapshot::default()
    }
}
