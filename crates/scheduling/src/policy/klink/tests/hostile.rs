//! Tests of Klink with snapshots that have invalid and extreme values.

use thalweg_model::{Entropy, SeededEntropy};

use super::*;

/// Returns a snapshot with random values, valid or not, in every field.
fn hostile(entropy: &mut SeededEntropy) -> Snapshot {
    const NUMBERS: [f64; 10] =
        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 1e-320, 0.3, 2.0, 1e9, f64::MAX];
    const INSTANTS: [i64; 7] = [i64::MIN, -5, 0, 1, 1_800_000_000_000_000, i64::MAX - 1, i64::MAX];
    const MOMENTS: [u64; 6] =
        [0, 1, 1_800_000_000_000_000_000, 1_800_000_001_000_000_000, u64::MAX - 1, u64::MAX];
    let mut pick = |count: usize| entropy.below(count as u64) as usize;
    let operators = (0..6)
        .map(|_| {
            (pick(5) > 0).then(|| OperatorState {
                query: QueryId([0, 1, 2, 9, u32::MAX][pick(5)]),
                is_source: pick(3) == 0,
                pending: [0, 1, 1_000, u64::MAX][pick(4)],
                oldest_pending: ProcessingTime::from_nanos(MOMENTS[pick(6)]),
                last_run_ended: ProcessingTime::from_nanos(MOMENTS[pick(6)]),
                cost_ns_per_record: NUMBERS[pick(10)],
                selectivity: NUMBERS[pick(10)],
                copies: [0, 1, 4, u32::MAX][pick(4)],
                ..OperatorState::default()
            })
        })
        .collect();
    let mut instant = |_| StreamState {
        query: QueryId([0, 1, 2, 9, u32::MAX][pick(5)]),
        next_firing: None,
        deadline: (pick(4) > 0).then(|| EventTime::from_micros(INSTANTS[pick(7)])),
        swept: (pick(3) == 0).then(|| ProcessingTime::from_nanos(MOMENTS[pick(6)])),
        delays: DelayStatistics {
            epochs: [0, 1, 400, u32::MAX][pick(4)],
            mean_ns: NUMBERS[pick(10)],
            variance_ns2: NUMBERS[pick(10)],
        },
        progress: (pick(2) == 0).then(|| ProgressMap {
            event_time: EventTime::from_micros(INSTANTS[pick(7)]),
            observed: ProcessingTime::from_nanos(MOMENTS[pick(6)]),
            slope: NUMBERS[pick(10)],
        }),
        is_away: pick(4) == 0,
    };
    let streams = (0..4).map(&mut instant).collect();
    Snapshot {
        now: ProcessingTime::from_nanos(MOMENTS[pick(6)]),
        block_records: [0, 1, 384][pick(3)],
        operators,
        queries: vec![[None, Some(QueryState::default())][pick(2)]; pick(4)],
        streams,
        memory_used_bytes: [0, 9, u64::MAX][pick(3)],
        memory_limit_bytes: [0, 10, u64::MAX][pick(3)],
        downstream: (0..pick(8))
            .map(|_| (0..pick(4)).map(|_| OperatorId(pick(9) as u32)).collect())
            .collect(),
        order: (0..pick(10)).map(|_| OperatorId(pick(9) as u32)).collect(),
        ..Snapshot::default()
    }
}

/// No snapshot makes a variant of Klink panic, or leads to a score that is NaN or to an
/// infinite cost.
#[test]
fn scores_are_finite_whatever_a_snapshot_holds() {
    let mut entropy = SeededEntropy::new(5);
    for name in names().into_iter().filter(|name| name.starts_with(NAME)) {
        let mut policy = by_name(name).expect("it has a name");
        for _ in 0..20_000 {
            let snapshot = hostile(&mut entropy);
            policy.prepare(&snapshot);
            for id in (0..10).map(OperatorId) {
                let score = policy.rank(&snapshot, id).map_or(0.0, |rank| rank.score);
                assert!(score.is_finite(), "{name}: {score} of {id:?} in {snapshot:?}");
                assert!(policy.quantum(&snapshot, id).records >= snapshot.block_records);
            }
        }
    }
}
