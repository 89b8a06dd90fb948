//! Tests of output costs: tables computed by hand, and properties that hold for any measurement.

use thalweg_model::{Entropy, SeededEntropy};

use super::*;
use crate::snapshot::QueryId;
use crate::test_bed::{Row, graph, with_copies};

const FORMS: [OutputCost; 3] = [OutputCost::Path, OutputCost::Printed, OutputCost::Code];

fn computed(form: OutputCost, snapshot: &Snapshot) -> Vec<OutputCostOf> {
    let mut costs = OutputCosts::new(form, MIN_SELECTIVITY);
    costs.update(snapshot);
    snapshot.order.iter().map(|operator| *costs.of(*operator).expect("it is in the order")).collect()
}

/// Checks the output selectivities of operators, and their output costs in the three forms of [`FORMS`].
fn check(rows: &[Row<'_>], selectivities: &[f64], costs_ns: [&[f64]; 3]) {
    for (form, costs_ns) in FORMS.into_iter().zip(costs_ns) {
        let computed = computed(form, &graph(rows));
        assert_eq!(computed.iter().map(|of| of.selectivity).collect::<Vec<_>>(), selectivities, "{form:?}");
        assert_eq!(computed.iter().map(|of| of.cost_ns).collect::<Vec<_>>(), costs_ns, "{form:?}");
    }
}

/// Output costs in the diamond A -> {B, C} -> D. By hand: own costs are 1/1, 2/.5 = 4, 3/.25 = 12 and 4. For
/// A, `Path` counts D once, `Printed` not at all, and `Code` through B and through C, twice each time: CUM is
/// 4 for D, 8 + 4 for B, 16 + 4 for C.
#[test]
fn a_diamond() {
    let diamond: &[Row<'_>] = &[(1.0, 2.0, &[1, 2]), (2.0, 0.5, &[3]), (3.0, 0.25, &[3]), (4.0, 1.0, &[])];
    let printed: &[f64] = &[1.0 + 4.0 + 12.0, 8.0, 16.0, 4.0];
    let code: &[f64] = &[1.0 + 12.0 + 20.0, 8.0, 16.0, 4.0];
    check(diamond, &[1.0, 0.5, 0.25, 1.0], [&[1.0 + 4.0 + 12.0 + 4.0, 8.0, 16.0, 4.0], printed, code]);
}

/// Output costs in a chain, by hand, from the first operator on: S is .5, .5, 1, 2; own costs are 2, 4, 1, 1.
/// CUM from the last operator on is 1, 2 + 1, 7 + 3.
#[test]
fn a_chain() {
    let chain: &[Row<'_>] = &[(1.0, 1.0, &[1]), (2.0, 0.5, &[2]), (1.0, 0.5, &[3]), (2.0, 2.0, &[])];
    check(
        chain,
        &[0.5, 0.5, 1.0, 2.0],
        [&[8.0, 6.0, 2.0, 1.0], &[6.0, 5.0, 2.0, 1.0], &[2.0 + 10.0, 4.0 + 3.0, 1.0 + 1.0, 1.0]],
    );
}

/// Two diamonds in a row, two sinks, and one output that the same operator reads twice: each operator is
/// still counted once. All costs and selectivities are 1, so `Path` is the number of operators from an
/// operator on.
#[test]
fn branches_that_meet_again_are_counted_once() {
    let readers: [&[u32]; 8] = [&[1, 2], &[3], &[3], &[4, 5], &[6, 6], &[6, 7], &[], &[]];
    let rows: Vec<Row<'_>> = readers.iter().map(|readers| (1.0, 1.0, *readers)).collect();
    let counts: Vec<f64> = computed(OutputCost::Path, &graph(&rows)).iter().map(|of| of.cost_ns).collect();
    assert_eq!(counts, [8.0, 6.0, 6.0, 5.0, 2.0, 3.0, 1.0, 1.0]);
}

/// Checks the output costs of operators in the three forms of [`FORMS`]. All selectivities are 1. An operator is
/// written as its cost, its number of copies and its readers.
#[track_caller]
fn check_copies(operators: &[(f64, u32, &[u32])], costs_ns: [&[f64]; 3]) {
    let rows: Vec<Row<'_>> =
        operators.iter().map(|(cost_ns, _, readers)| (*cost_ns, 1.0, *readers)).collect();
    let copies: Vec<u32> = operators.iter().map(|operator| operator.1).collect();
    for (form, costs_ns) in FORMS.into_iter().zip(costs_ns) {
        let computed = computed(form, &with_copies(graph(&rows), &copies));
        assert_eq!(computed.iter().map(|of| of.cost_ns).collect::<Vec<_>>(), costs_ns, "{form:?}");
    }
}

/// An operator, whose output costs 1, in front of 1, 2 and 4 copies of another, and a third operator that reads from
/// all copies. The copies count as one operator, in all forms. By hand, with `Code`, CUM is 2 for the third operator
/// and 10 + 2 for a copy.
#[test]
fn copies_count_as_one_operator() {
    check_copies(
        &[(1.0, 1, &[1]), (8.0, 1, &[2]), (2.0, 1, &[])],
        [&[11.0, 10.0, 2.0], &[9.0, 10.0, 2.0], &[13.0, 10.0, 2.0]],
    );
    check_copies(
        &[(1.0, 1, &[1, 2]), (8.0, 2, &[3]), (8.0, 2, &[3]), (2.0, 1, &[])],
        [&[11.0, 10.0, 10.0, 2.0], &[9.0, 10.0, 10.0, 2.0], &[13.0, 10.0, 10.0, 2.0]],
    );
    check_copies(
        &[
            (1.0, 1, &[1, 2, 3, 4]),
            (8.0, 4, &[5]),
            (8.0, 4, &[5]),
            (8.0, 4, &[5]),
            (8.0, 4, &[5]),
            (2.0, 1, &[]),
        ],
        [
            &[11.0, 10.0, 10.0, 10.0, 10.0, 2.0],
            &[9.0, 10.0, 10.0, 10.0, 10.0, 2.0],
            &[13.0, 10.0, 10.0, 10.0, 10.0, 2.0],
        ],
    );
}

/// The readers are two branches, which both take every record. So the costs of both count.
#[test]
fn branches_are_no_copies() {
    let costs: &[f64] = &[13.0, 8.0, 4.0];
    check_copies(&[(1.0, 1, &[1, 2]), (8.0, 1, &[]), (4.0, 1, &[])], [costs, costs, costs]);
}

/// Two copies stand behind two copies. In the first graph each copy feeds one copy, in the second each feeds both by
/// key. The second operator counts once in both.
#[test]
fn copies_behind_copies_count_as_one_operator() {
    let path: &[f64] = &[13.0, 12.0, 12.0, 4.0, 4.0];
    let printed: &[f64] = &[9.0, 12.0, 12.0, 4.0, 4.0];
    let code: &[f64] = &[1.0 + 12.0 + 4.0, 12.0, 12.0, 4.0, 4.0];
    let graphs: [(u32, [&[u32]; 2]); 2] = [(1, [&[3], &[4]]), (2, [&[3, 4], &[3, 4]])];
    for (copies, [first, second]) in graphs {
        check_copies(
            &[(1.0, 1, &[1, 2]), (8.0, 2, first), (8.0, 2, second), (4.0, copies, &[]), (4.0, copies, &[])],
            [path, printed, code],
        );
    }
}

/// One copy costs 30, the other 2. Their mean is 16, but no operator costs less than one of its readers, except as
/// printed in the paper.
#[test]
fn a_costly_copy_counts_in_full() {
    let (whole, mean): (&[f64], &[f64]) = (&[31.0, 2.0, 30.0], &[17.0, 2.0, 30.0]);
    check_copies(&[(1.0, 1, &[1, 2]), (2.0, 2, &[]), (30.0, 2, &[])], [whole, mean, whole]);
}

/// A reader that has ended adds no cost, and its writer counts as a sink. Numbers of readers that were never
/// used add no cost either.
#[test]
fn what_has_ended_costs_nothing() {
    let mut snapshot = graph(&[(1.0, 1.0, &[1, 2]), (2.0, 0.5, &[]), (4.0, 1.0, &[9])]);
    let mut costs = OutputCosts::new(OutputCost::Path, MIN_SELECTIVITY);
    costs.update(&snapshot);
    assert_eq!(costs.of(OperatorId(0)).map(|of| of.cost_ns), Some(1.0 + 4.0 + 4.0));
    for (ended, left_ns) in [(2, 2.0 + 4.0), (1, 1.0)] {
        snapshot.operators[ended] = None;
        snapshot.order.retain(|operator| operator.0 as usize != ended);
        costs.update(&snapshot);
        assert!(costs.of(OperatorId(ended as u32)).is_none());
        assert_eq!(costs.of(OperatorId(0)).map(|of| of.cost_ns), Some(left_ns));
    }
}

/// With windows that did not fire, costs measured as zero, NaN, and any number of copies, every output cost stays finite and above
/// zero. A downstream operator always has the lower output cost, or an equal one and a place further ahead.
#[test]
fn no_measurement_breaks_the_order() {
    const ODD: [f64; 8] = [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-300, 1e300, 7.5];
    const COPIES: [u32; 6] = [1, 1, 2, 7, 0, u32::MAX];
    for seed in 0..300 {
        let mut entropy = SeededEntropy::new(seed);
        let count = 2 + entropy.below(30) as u32;
        let mut odd = || ODD[entropy.below(ODD.len() as u64) as usize];
        let measured: Vec<(f64, f64)> = (0..count).map(|_| (odd(), odd())).collect();
        let readers: Vec<Vec<u32>> = (0..count)
            .map(|id| {
                let later = u64::from(count - id - 1);
                (0..later.min(3)).map(|_| id + 1 + entropy.below(later) as u32).collect()
            })
            .collect();
        let rows: Vec<Row<'_>> = measured
            .iter()
            .zip(&readers)
            .map(|((cost, selectivity), to)| (*cost, *selectivity, &to[..]))
            .collect();
        let copies: Vec<u32> =
            (0..count).map(|_| COPIES[entropy.below(COPIES.len() as u64) as usize]).collect();
        for form in FORMS {
            let computed = computed(form, &with_copies(graph(&rows), &copies));
            for (id, of) in computed.iter().enumerate() {
                assert!(
                    of.cost_ns > 0.0 && of.cost_ns <= MAX_OUTPUT_COST_NS,
                    "{form:?}, seed {seed}: {of:?}"
                );
                assert!(of.selectivity > 0.0 && of.selectivity.is_finite(), "{form:?}, seed {seed}: {of:?}");
                for reader in readers[id].iter().map(|reader| &computed[*reader as usize]) {
                    assert!(reader.place < of.place);
                    assert!(
                        form == OutputCost::Printed || reader.cost_ns <= of.cost_ns,
                        "{form:?}, seed {seed}: {reader:?} feeds {of:?}"
                    );
                }
            }
        }
    }
}

/// Output costs are neither infinite nor zero in a chain that is too long for doubling in a double, nor in a
/// long chain of filters.
#[test]
fn long_chains_stay_finite() {
    let ids: Vec<[u32; 1]> = (1..=2_000).map(|id| [id]).collect();
    for selectivity in [0.0, 1.0, f64::MAX] {
        let chain: Vec<Row<'_>> = ids.iter().map(|reader| (10.0, selectivity, &reader[..])).collect();
        for form in FORMS {
            let computed = computed(form, &graph(&chain));
            assert!(computed.iter().all(|of| of.cost_ns > 0.0 && of.cost_ns <= MAX_OUTPUT_COST_NS));
            assert!(
                form == OutputCost::Printed
                    || computed.is_sorted_by(|up, down| up.cost_ns >= down.cost_ns && up.place > down.place)
            );
        }
    }
}

/// A window that did not fire in an interval has the output cost of a window that fires once in 1,000
/// records.
#[test]
fn a_window_that_has_not_fired_is_no_further_away() {
    let window =
        |selectivity: f64| computed(OutputCost::Path, &graph(&[(1.0, 1.0, &[1]), (1.0, selectivity, &[])]));
    assert_eq!(window(0.0)[0].cost_ns, window(1e-3)[0].cost_ns);
    assert_eq!(window(1e-5)[0].cost_ns, window(1e-3)[0].cost_ns);
    assert!(window(1e-2)[0].cost_ns < window(1e-3)[0].cost_ns);
}

/// An operator that was submitted since the last update counts as if it were the only one of its query.
#[test]
fn a_newcomer_counts_alone() {
    let costs = OutputCosts::new(OutputCost::Path, MIN_SELECTIVITY);
    assert!(costs.of(OperatorId(0)).is_none());
    let state =
        OperatorState { cost_ns_per_record: 3.0, selectivity: 0.5, query: QueryId(7), ..Default::default() };
    assert_eq!(costs.alone_ns(&state), 6.0);
}
