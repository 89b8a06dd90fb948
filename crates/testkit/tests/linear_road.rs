//! Linear Road, by its full rules and in its short form, on the released engine, compared with references
//! that share no code with it. The traffic is recorded and generated, in order and as far out of order as its
//! source promises. These tests have much traffic in few setups. The tests in `tests/metamorphic.rs` have few
//! cars in every pair of settings.
#![forbid(unsafe_code)]

use thalweg::{Chaining, EdgeLimits, Engine, Record, Span};
use thalweg_testkit::Case;
use thalweg_testkit::arrival::delayed;
use thalweg_testkit::case::{Lrb, LrbFull, generated_traffic, verdict};
use thalweg_testkit::data::{recorded, unzipped_text};
use thalweg_testkit::seed::entropy_for;
use thalweg_workloads::lrb::LrbRecord;
use thalweg_workloads::lrb::csv::{HistoricalToll, historical_toll_of, record_of};
use thalweg_workloads::reference::lrb_full::LrbFullAnswer;

/// Settings of an engine on which no result of Linear Road may depend.
#[derive(Clone, Copy, Debug)]
struct Setup {
    block_records: u32,
    workers: u64,
    chaining: Chaining,
}

const SETUPS: [Setup; 4] = [
    Setup { block_records: 384, workers: 1, chaining: Chaining::Default },
    Setup { block_records: 7, workers: 2, chaining: Chaining::None },
    Setup { block_records: 4_096, workers: 3, chaining: Chaining::All },
    Setup { block_records: 1, workers: 1, chaining: Chaining::Default },
];

/// Checks in every setup that the results of the case equal those of its reference.
fn check(case: &mut dyn Case, setups: &[Setup]) {
    for &setup in setups {
        let Setup { block_records, workers, chaining } = setup;
        let edges = EdgeLimits { block_records, chunk_blocks: 1, ..EdgeLimits::default() };
        let engine = Engine::builder().workers(workers).edges(edges).build().unwrap();
        let report = engine.submit(case.graph("lrb", chaining.into())).unwrap().wait().unwrap();
        if let Some(wrong) = verdict(case, &report) {
            panic!("{setup:?}: {wrong}");
        }
    }
}

/// Runs Linear Road by its full rules, and returns the reference's results.
fn check_full(
    records: Vec<Record<LrbRecord>>,
    bound: Span,
    history: Vec<HistoricalToll>,
    setups: &[Setup],
) -> LrbFullAnswer {
    let mut case = LrbFull::new(records, bound, history);
    check(&mut case, setups);
    case.expected().clone()
}

fn input(name: &str) -> Option<Vec<Record<LrbRecord>>> {
    rows(name, |fields| record_of(|index| fields.get(index).copied()).unwrap())
}

fn history(name: &str) -> Option<Vec<HistoricalToll>> {
    rows(name, |fields| historical_toll_of(|index| fields.get(index).copied()).unwrap())
}

fn rows<R>(name: &str, row: impl Fn(&[&str]) -> R) -> Option<Vec<R>> {
    let text = unzipped_text(&recorded(&format!("lrb/{name}"))?);
    Some(text.lines().map(|line| row(&line.split(',').collect::<Vec<_>>())).collect())
}

#[test]
fn recorded_congestion_and_an_accident() {
    let (Some(records), Some(tolls)) = (
        input("lrb_walmartgen_A_dir1_seg68-82_0-2999s.csv.gz"),
        history("lrb_walmartgen_A_dir1_seg68-82_tolls.csv.gz"),
    ) else {
        return;
    };
    let expected = check_full(records, Span::ZERO, tolls, &SETUPS[..1]);
    assert_eq!(
        [expected.tolls.len(), expected.notices.len(), expected.balances.len(), expected.dailies.len()],
        [130_377, 5_205, 3_643, 736]
    );
}

#[test]
fn recorded_drivers_in_order_and_as_they_came() {
    if let Some(records) = input("lrb_mitsim_xway0_0-179s.csv.gz") {
        let expected = check_full(records, Span::ZERO, Vec::new(), &SETUPS);
        assert_eq!((expected.tolls.len(), expected.balances.len()), (3_412, 43));
    }
    if let Some(records) = input("lrb_mitsim_xway0_threadlog_order.csv.gz") {
        let expected = check_full(records, Span::from_secs(6), Vec::new(), &SETUPS);
        assert_eq!((expected.tolls.len(), expected.balances.len()), (3_412, 43));
    }
}

/// The full rules hold for generated traffic in any order within the bound: about 17 minutes of one
/// expressway, chosen such that tolls are charged and accidents happen.
#[test]
fn generated_traffic_in_any_order_within_the_bound() {
    let records = generated_traffic(7, 0..1_000);
    let bound = Span::from_secs(45);
    let mixed = delayed(&records[..200_000], bound, &mut entropy_for(1, "linear road"));
    let expected = check_full(records, Span::ZERO, Vec::new(), &SETUPS[..1]);
    assert!(expected.tolls.iter().any(|told| told.toll > 0), "nobody pays");
    assert!(!expected.notices.is_empty() && expected.balances.iter().any(|answer| answer.balance > 0));
    check_full(mixed, bound, Vec::new(), &SETUPS[1..3]);
}

/// The short form of Linear Road has its reference's results for the same traffic, in order and out of order.
#[test]
fn the_short_form_of_generated_traffic() {
    let records = generated_traffic(7, 0..1_000);
    let bound = Span::from_secs(45);
    let mixed = delayed(&records, bound, &mut entropy_for(1, "linear road"));
    let mut in_order = Lrb::new(records, Span::ZERO);
    let expected = in_order.expected();
    assert!(expected.iter().any(|row| row.toll > 0) && expected.iter().any(|row| row.accidents > 0));
    check(&mut in_order, &SETUPS[..1]);
    check(&mut Lrb::new(mixed, bound), &SETUPS[1..3]);
}
