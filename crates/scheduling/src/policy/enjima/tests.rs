//! Tests of Enjima: the paper's own example, and each rule by itself.

use thalweg_model::{Entropy, ProcessingTime, SeededEntropy};

use super::*;
use crate::policy::min_latency::MinLatency;
use crate::test_bed::{Bed, Row, Task, graph, run_of};

/// Makes the example of Table 1 in section 3.2.1: A -> B -> {C, D} -> E, with the selectivities of C and D
/// exchanged. (As printed, no form of the output cost gives the paper's order.) One worker, .5 ms per record,
/// blocks of 4.
fn table_1(policy: impl Policy + 'static) -> Bed {
    table_1_with([0.3, 0.25], policy)
}

/// Makes the example of Table 1 with these selectivities of C and D.
fn table_1_with([of_c, of_d]: [f64; 2], policy: impl Policy + 'static) -> Bed {
    let task = |selectivity: f64, readers: &[u32]| Task::new(500_000, selectivity, readers);
    let tasks = vec![task(1.0, &[1]), task(1.0, &[2, 3]), task(of_c, &[4]), task(of_d, &[4]), task(1.0, &[])];
    let mut bed = Bed::new(Box::new(policy), 4, tasks);
    for (id, count) in [(0, 4), (1, 2), (2, 4), (3, 4), (4, 1), (4, 1)] {
        bed.push(id, count);
    }
    bed
}

fn table_1_settings(output_cost: OutputCost) -> EnjimaSettings {
    let fixed = |start| ThresholdRange { start, min: 1.0, max: f64::MAX, max_step: 0.0 };
    EnjimaSettings {
        output_cost,
        event_threshold_records: fixed(4.0),
        idle_threshold_ns: fixed(5e6),
        min_quantum_records: 4,
        ..EnjimaSettings::default()
    }
}

/// Table 1 of the paper: five decisions process 18 records in 9 ms, in the order that the paper gives.
#[test]
fn table_1_runs_c_d_e_b_a() {
    for policy in [Enjima::new, Enjima::strict] {
        let mut bed = table_1(policy(table_1_settings(OutputCost::Path)));
        assert_eq!(bed.steps(5), "CDEBA");
        assert_eq!(bed.now_ns(), 9_000_000);
        assert_eq!(bed.tasks.iter().map(|task| task.records_in).sum::<u64>(), 18);
    }
}

/// With Eq. 2 as printed, operator A, which is two steps before the expensive operators, costs less than B
/// and so runs first.
#[test]
fn table_1_as_printed_runs_a_before_b() {
    for policy in [Enjima::new, Enjima::strict] {
        assert_eq!(table_1(policy(table_1_settings(OutputCost::Printed))).steps(5), "CDEAB");
    }
}

/// With the selectivities of C and D as printed, .25 and .3, D costs less than C in every form of the output
/// cost, and runs first. The paper runs C first.
#[test]
fn table_1_with_the_printed_values_runs_d_before_c() {
    let forms = [(OutputCost::Path, "DCEBA"), (OutputCost::Printed, "DCEAB"), (OutputCost::Code, "DCEBA")];
    for (form, expected) in forms {
        for policy in [Enjima::new, Enjima::strict] {
            let mut bed = table_1_with([0.25, 0.3], policy(table_1_settings(form)));
            assert_eq!(bed.steps(5), expected, "{form:?}");
        }
    }
}

/// The three forms of the output cost, of which `Path` is used unless another is set. The priority is its
/// inverse. In this chain the output selectivities are .5, .5, 1 and 2, and the own costs 2, 4, 1 and 1. For the
/// first operator, `Path` adds all of them, Eq. 2 as printed those of the first two, and the program the first
/// and the cumulative costs 7 + 3 of the second.
#[test]
fn the_priority_is_the_inverse_of_the_output_cost_of_the_path() {
    let chain: &[Row<'_>] = &[(1.0, 1.0, &[1]), (2.0, 0.5, &[2]), (1.0, 0.5, &[3]), (2.0, 2.0, &[])];
    let mut snapshot = Snapshot { queries: vec![Some(QueryState::default())], ..graph(chain) };
    snapshot.operators.iter_mut().flatten().for_each(|state| state.pending = 1_000);
    let usual = EnjimaSettings::default();
    assert_eq!(usual.output_cost, OutputCost::Path);
    let forms: [(EnjimaSettings, [f64; 4]); 4] = [
        (usual, [8.0, 6.0, 2.0, 1.0]),
        (EnjimaSettings { output_cost: OutputCost::Path, ..usual }, [8.0, 6.0, 2.0, 1.0]),
        (EnjimaSettings { output_cost: OutputCost::Printed, ..usual }, [6.0, 5.0, 2.0, 1.0]),
        (EnjimaSettings { output_cost: OutputCost::Code, ..usual }, [12.0, 7.0, 2.0, 1.0]),
    ];
    for (settings, costs_ns) in forms {
        for mut policy in [Enjima::new(settings), Enjima::strict(settings)] {
            policy.prepare(&snapshot);
            for (operator, cost_ns) in (0..).map(OperatorId).zip(costs_ns) {
                let rank = policy.rank(&snapshot, operator).expect("it is eligible");
                assert_eq!((rank.class, rank.score), (1, 1.0 / cost_ns), "{settings:?}, {operator:?}");
            }
        }
    }
}

/// A policy without eligibility takes eight decisions for the work of Table 1, without that of operator A.
#[test]
fn table_1_takes_min_latency_eight_decisions() {
    let mut bed = table_1(MinLatency::default());
    assert_eq!(bed.steps(8), "ECEDEBCD");
    assert_eq!(bed.steps(1), "A");
}

/// Returns the share of time that each query receives of one worker in 2 s, where 1 is an even share. Each
/// query is a source on demand, a filter and a sink. All cost the same, but measured costs differ by up to
/// `noise`.
fn shares(policy: Enjima, noise: f64, gradients: &[f64]) -> Vec<f64> {
    let mut entropy = SeededEntropy::new(7);
    let tasks = (0..gradients.len() as u32).flat_map(|query| {
        let first = query * 3;
        let source = Task { is_on_demand: true, ..Task::new(20, 1.0, &[first + 1]) };
        let tasks = [source, Task::new(10, 0.5, &[first + 2]), Task::new(50, 1.0, &[])];
        tasks.map(|task| {
            let measured_cost_ns = task.cost_ns as f64 * (1.0 + noise * (entropy.unit() - 0.5));
            Task { query, measured_cost_ns, room_records: 16 * 384, ..task }
        })
    });
    let mut bed = Bed::new(Box::new(policy), 384, tasks.collect());
    (0..).zip(gradients).for_each(|(query, gradient)| bed.set_latency_gradient(query, *gradient));
    while bed.now_ns() < 2_000_000_000 {
        bed.step();
    }
    let mut received_ns = vec![0; gradients.len()];
    bed.tasks.iter().for_each(|live| received_ns[live.task.query as usize] += live.received_ns);
    let even_ns = bed.now_ns() as f64 / gradients.len() as f64;
    received_ns.into_iter().map(|received_ns| received_ns as f64 / even_ns).collect()
}

/// Equal queries receive the same time even if their measured costs are 50 % apart. Without even sharing one
/// of them receives six shares, and the starvation bound leaves a quarter share to each of the others. The
/// form to the letter leaves them nothing.
#[test]
fn equal_queries_share_evenly_however_they_are_measured() {
    let banded = |share_band| Enjima::new(EnjimaSettings { share_band, ..EnjimaSettings::default() });
    for noise in [0.0, 0.1, 0.5] {
        let even = shares(Enjima::default(), noise, &[0.0; 8]);
        assert!(even.iter().all(|share| (0.98..1.02).contains(share)), "{noise}: {even:?}");
        let uneven = shares(banded(1.0), noise, &[0.0; 8]);
        assert!(
            uneven.iter().filter(|share| (0.2..0.3).contains(*share)).count() == 7,
            "{noise}: {uneven:?}"
        );
        let literal = shares(Enjima::strict(EnjimaSettings::default()), noise, &[0.0; 8]);
        assert!(literal.iter().filter(|share| **share == 0.0).count() == 7, "{noise}: {literal:?}");
    }
}

/// Queries share time in proportion to their weights W, here 1.1 and 0.9.
#[test]
fn a_query_that_gets_slower_receives_more() {
    let shares = shares(Enjima::default(), 0.1, &[3.0, -3.0]);
    assert!((1.09..1.11).contains(&shares[0]) && (0.89..0.91).contains(&shares[1]), "{shares:?}");
}

/// Makes a snapshot of a sink of cost 10 ns, modified by `change`, beside an operator of the same query that
/// has no work. The instant is 1 s, and the round ends 1 ms later. Both operators have been idle for 0.5 ms.
fn one(change: impl Fn(&mut OperatorState)) -> Snapshot {
    let now = ProcessingTime::from_nanos(1_000_000_000);
    let idle = OperatorState { cost_ns_per_record: 10.0, ..state_at(now, 500_000) };
    let mut operator = OperatorState { oldest_pending: now, pending: 1, ..idle };
    change(&mut operator);
    Snapshot {
        now,
        round_end: now.plus_nanos(1_000_000),
        workers: 1,
        block_records: 384,
        operators: vec![Some(operator), Some(idle)],
        queries: vec![Some(QueryState::default())],
        downstream: vec![vec![]; 2],
        order: vec![OperatorId(1), OperatorId(0)],
        ..Snapshot::default()
    }
}

fn state_at(now: ProcessingTime, idle_ns: u64) -> OperatorState {
    OperatorState::new(QueryId(0), ProcessingTime::from_nanos(now.as_nanos() - idle_ns))
}

fn rank_in(policy: &mut Enjima, snapshot: &Snapshot) -> Option<Rank> {
    policy.prepare(snapshot);
    policy.rank(snapshot, OperatorId(0))
}

/// Returns the class of the operator's rank in `enjima` and in `enjima_strict`.
fn classes(change: impl Fn(&mut OperatorState)) -> (Option<u8>, Option<u8>) {
    let class = |mut policy: Enjima| rank_in(&mut policy, &one(&change)).map(|rank| rank.class);
    (class(Enjima::default()), class(Enjima::strict(EnjimaSettings::default())))
}

/// Algorithm 1 with its corrections: an operator is eligible if its pending records reach the event
/// threshold, and an operator that has been idle for long needs pending input.
#[test]
fn who_is_eligible() {
    let idle = |state: &mut OperatorState, idle_ns: u64| {
        state.last_run_ended = ProcessingTime::from_nanos(1_000_000_000 - idle_ns);
    };
    let (yes, no, never) = ((Some(1), Some(1)), (Some(2), None), (None, None));
    assert_eq!(classes(|_| ()), no);
    assert_eq!(classes(|state| state.pending = 999), no);
    assert_eq!(classes(|state| state.pending = 1_000), yes);
    assert_eq!(classes(|state| idle(state, 1_000_000)), no);
    assert_eq!(classes(|state| idle(state, 1_000_001)), yes);
    assert_eq!(classes(|state| state.is_on_demand = true), yes);
    assert_eq!(classes(|state| (state.pending, state.can_output) = (9_999, false)), never);
    assert_eq!(classes(|state| (state.pending, state.is_on_demand) = (0, true)), never);
    assert_eq!(
        classes(|state| {
            idle(state, 5_000_000);
            state.pending = 0;
        }),
        never
    );
}

/// The score of an operator is its priority, whether the operator is eligible or not, and at any instant. So
/// ineligible work runs in the same order, and ranks made at different instants can be compared.
#[test]
fn the_score_is_the_priority_whatever_the_class_and_the_instant() {
    let mut policy = Enjima::default();
    let mut snapshot = one(|_| ());
    let not_eligible = rank_in(&mut policy, &snapshot).expect("it can run");
    snapshot.operators[0].as_mut().expect("it lives").pending = 5_000;
    let eligible = policy.rank(&snapshot, OperatorId(0)).expect("it can run");
    assert_eq!((not_eligible.class, eligible.class), (2, 1));
    assert_eq!((not_eligible.score, eligible.score), (0.1, 0.1));
    snapshot.now = snapshot.now.plus_nanos(4_000_000);
    assert_eq!(policy.rank(&snapshot, OperatorId(0)), Some(eligible));
}

/// Eq. 3: the weight of a query changes by a tenth of its latency gradient, which is clamped to one second
/// per second.
#[test]
fn a_query_that_gets_slower_weighs_more() {
    let score = |latency_gradient| {
        let mut snapshot = one(|state| state.cost_ns_per_record = 1.0);
        snapshot.queries[0] =
            Some(QueryState { latency_gradient, gradient_samples: 1, ..QueryState::default() });
        rank_in(&mut Enjima::default(), &snapshot).expect("it can run").score
    };
    let gradients = [0.0, 0.5, 1.0, 7.0, f64::INFINITY, -0.5, -1.0, -7.0, f64::NEG_INFINITY, f64::NAN];
    assert_eq!(gradients.map(score), [1.0, 1.05, 1.1, 1.1, 1.1, 0.95, 0.9, 0.9, 0.9, 1.0]);
}

/// If there is a worker for every operator there is nothing to choose, and all operators have the same rank,
/// as in the paper's program.
#[test]
fn without_more_operators_than_workers_all_are_alike() {
    for mut policy in [Enjima::default(), Enjima::strict(EnjimaSettings::default())] {
        let snapshot = Snapshot { workers: 2, ..one(|state| state.cost_ns_per_record = 77.0) };
        assert_eq!(rank_in(&mut policy, &snapshot), Some(Rank { class: 1, score: 1.0, tie: 0 }));
        let blocked = Snapshot { workers: 2, ..one(|state| state.can_output = false) };
        assert_eq!(rank_in(&mut policy, &blocked), None);
    }
}

/// Eq. 4, corrected: the quantum is the number of records that fit into the rest of the round, but at least
/// N_min. A cost of zero does not make the quantum endless.
#[test]
fn a_quantum_fits_the_rest_of_the_round() {
    let quantum = |left_ns: u64, cost_ns_per_record: f64| {
        let mut snapshot = one(|state| state.cost_ns_per_record = cost_ns_per_record);
        snapshot.round_end = snapshot.now.plus_nanos(left_ns);
        Enjima::default().quantum(&snapshot, OperatorId(0)).records
    };
    assert_eq!(quantum(1_000_000, 10.0), 100_000);
    assert_eq!(quantum(1_000_000, 999.0), 1_001);
    assert_eq!(quantum(1_000_000, 5_000.0), 1_000);
    assert_eq!(quantum(0, 10.0), 1_000);
    assert_eq!([0.0, -1.0, f64::NAN].map(|cost_ns| quantum(1_000_000, cost_ns)), [10_000; 3]);
    assert_eq!(quantum(1_000_000, 1e-300), 10_000_000);
    assert_eq!(quantum(1_000_000, f64::INFINITY), 1_000);
    let late = Snapshot { round_end: ProcessingTime::ZERO, ..one(|_| ()) };
    assert_eq!(Enjima::default().quantum(&late, OperatorId(0)), Quantum { records: 1_000 });
    assert_eq!(Enjima::default().quantum(&late, OperatorId(9)), Quantum { records: 1_000 });
}

/// Operators that have waited for longer than the bound are in class 0, the longest wait first. A wait begins
/// with the oldest input or with the end of the last run, whichever is later. The form to the letter has no
/// bound.
#[test]
fn who_waits_for_too_long_comes_first() {
    let ago = |ms_ago: u64| ProcessingTime::from_nanos(1_000_000_000 - ms_ago * 1_000_000);
    let waits = |policy: &mut Enjima, oldest_ms_ago, ended_ms_ago| {
        let since = |state: &mut OperatorState| {
            (state.oldest_pending, state.last_run_ended) = (ago(oldest_ms_ago), ago(ended_ms_ago));
        };
        rank_in(policy, &one(since)).expect("it can run")
    };
    let mut policy = Enjima::default();
    let classes = [(10, 10), (11, 10), (10, 11), (11, 11), (9, 500), (500, 9)]
        .map(|(oldest, ended)| waits(&mut policy, oldest, ended).class);
    assert_eq!(classes, [1, 1, 1, 0, 1, 1]);
    let words =
        [(300, 400), (200, 100), (11, 12)].map(|(oldest, ended)| waits(&mut policy, oldest, ended).word());
    assert!(words.is_sorted() && words[2] < waits(&mut policy, 2, 2).word());
    let mut strict = Enjima::strict(EnjimaSettings::default());
    assert_eq!(waits(&mut strict, 300, 400), Rank { class: 1, score: 0.1, tie: 0 });
}

/// An operator that was submitted since the last round ranks like a sink until the next round. This holds for
/// a new number and for the number of an ended operator.
#[test]
fn a_newcomer_is_ranked_before_its_first_round() {
    let mut snapshot = one(|_| ());
    let mut policy = Enjima::default();
    policy.prepare(&snapshot);
    let newcomer = OperatorState {
        query: QueryId(4),
        pending: 2_000,
        cost_ns_per_record: 20.0,
        ..state_at(snapshot.now, 0)
    };
    snapshot.operators[1] = Some(newcomer);
    snapshot.operators.push(Some(newcomer));
    for id in [1, 2] {
        assert_eq!(policy.rank(&snapshot, OperatorId(id)), Some(Rank { class: 1, score: 0.05, tie: id }));
    }
    snapshot.operators[2] = Some(OperatorState { pending: 1, ..newcomer });
    assert_eq!(policy.rank(&snapshot, OperatorId(2)).map(|rank| rank.class), Some(2));
    assert_eq!(policy.rank(&snapshot, OperatorId(3)), None);
    // No round of ranking has been prepared yet, so the operator counts as new.
    assert_eq!(Enjima::default().rank(&snapshot, OperatorId(1)).map(|rank| rank.class), Some(1));
}

/// The event threshold follows the latency gradient of the query, every ten samples. It starts anew for the
/// next query with the same number, whether or not a round saw the number free.
#[test]
fn thresholds_belong_to_a_query() {
    let mut policy = Enjima::default();
    let mut class_after = |query: Option<QueryState>| {
        let snapshot = Snapshot { queries: vec![query], ..one(|state| state.pending = 1_200) };
        rank_in(&mut policy, &snapshot).expect("it can run").class
    };
    let slower = |gradient_samples| {
        Some(QueryState { latency_gradient: 0.5, gradient_samples, ..QueryState::default() })
    };
    assert_eq!([9, 10, 11].map(|samples| class_after(slower(samples))), [1, 2, 2]);
    assert_eq!(class_after(slower(3)), 1);
    assert_eq!([13, 14].map(|samples| class_after(slower(samples))), [2, 2]);
    assert_eq!((class_after(None), class_after(slower(15))), (1, 2));
    assert_eq!((class_after(None), class_after(slower(9))), (1, 1));
}

/// Reports of runs of unknown operators and queries are ignored.
#[test]
fn runs_of_unknown_queries_are_left_out() {
    let mut policy = Enjima::default();
    let snapshot = one(|_| ());
    let before = rank_in(&mut policy, &snapshot);
    let of_nobody = run_of(OperatorId(u32::MAX), QueryId(u32::MAX));
    policy.feedback(&Completion { ended: ProcessingTime::NEVER, ..of_nobody });
    assert_eq!(rank_in(&mut policy, &snapshot), before);
}

#[test]
fn the_literal_form_reads_and_renews_less() {
    let (ours, strict) = (Enjima::default(), Enjima::strict(EnjimaSettings::default()));
    assert!(ours.reads().contain(strict.reads() | Fields::OLDEST_PENDING));
    assert!(!strict.reads().contain(Fields::OLDEST_PENDING));
    assert!(ours.refresh().contain(Refresh::EVERY_ROUND | Refresh::ON_RETURN | Refresh::ON_ARRIVAL));
    assert!(!strict.refresh().contain(Refresh::ON_ARRIVAL));
    assert!(ours.conserves_work() && !strict.conserves_work());
}
