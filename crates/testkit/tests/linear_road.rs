//! Linear Road, by its full rules and in its short form, on the engine as it ships, beside references that share nothing with it: recorded and
//! generated traffic, in order and as far out of order as its source promises, whatever the workers and the edges.
#![forbid(unsafe_code)]

use std::sync::{Arc, Mutex};

use thalweg::{
    Chaining, EdgeLimits, Engine, EventTime, Generate, Query, Record, Span, WatermarkStrategy, source::Given,
};
use thalweg_connectors::Collect;
use thalweg_model::Entropy;
use thalweg_testkit::data::{recorded, unzipped_text};
use thalweg_testkit::seed::entropy_for;
use thalweg_workloads::lrb::check::{input_of, row_of};
use thalweg_workloads::lrb::csv::{columns_of, historical_toll_of, record_of};
use thalweg_workloads::lrb::full::{FullSinks, HistoricalTolls, full_rules};
use thalweg_workloads::lrb::{LrbGenerator, LrbOptions, LrbRecord, segment_tolls};
use thalweg_workloads::reference::compare;
use thalweg_workloads::reference::lrb::lrb_rows;
use thalweg_workloads::reference::lrb_full::{
    LrbBalance, LrbDaily, LrbFullAnswer, LrbNotice, LrbToll, lrb_full,
};

const RESULTS_MAX: usize = 1_000_000;

/// How a run is set up; no result may depend on it.
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

type Tolls = Vec<[i32; 4]>;

/// Runs the query; its answers in the reference's terms.
fn run(records: &[Record<LrbRecord>], bound: Span, tolls: &Tolls, setup: Setup) -> LrbFullAnswer {
    let Setup { block_records, workers, chaining } = setup;
    let edges = EdgeLimits { block_records, chunk_blocks: 1, ..EdgeLimits::default() };
    let engine = Engine::builder().workers(workers).edges(edges).build().unwrap();
    let history = (!tolls.is_empty()).then(|| {
        let rows = tolls
            .iter()
            .map(|&[vehicle, day, xway, toll]| ((vehicle as u32, day as u8, xway as u16), toll as u32));
        HistoricalTolls::new(rows).unwrap()
    });
    let query = Query::new("lrb");
    let (tolls, notices) = (Collect::new(RESULTS_MAX), Collect::new(RESULTS_MAX));
    let (balances, dailies) = (Collect::new(RESULTS_MAX), Collect::new(RESULTS_MAX));
    let found = (tolls.records(), notices.records(), balances.records(), dailies.records());
    let sinks = FullSinks { tolls, notices, balances, dailies };
    let strategy = WatermarkStrategy::bounded_out_of_order(bound);
    full_rules(&query, Given::new(records.to_vec()), strategy, history, sinks).unwrap();
    let report = engine.submit(query.plan(chaining).unwrap()).unwrap().wait().unwrap();
    assert_eq!(report.conservation_error(), None, "{setup:?}");
    assert_eq!(report.total(|counts| counts.late), 0, "{setup:?}");
    let unanswered = report.operators.iter().find(|operator| operator.operator == "answerable").unwrap();
    LrbFullAnswer {
        tolls: rows(&found.0, |time_s, told| LrbToll {
            time_s,
            vehicle: told.entry.vehicle as i32,
            lav: told.lav_mph as i64,
            toll: told.toll as i64,
        }),
        notices: rows(&found.1, |time_s, notice| LrbNotice {
            time_s,
            xway: notice.segment.xway.into(),
            accident_segment: notice.segment.number.into(),
            direction: notice.segment.direction.number().into(),
            vehicle: notice.vehicle as i32,
        }),
        balances: rows(&found.2, |time_s, answer| LrbBalance {
            time_s,
            query: answer.query as i32,
            balance: answer.balance as i64,
            before_last_charge: None,
        }),
        dailies: rows(&found.3, |time_s, answer| LrbDaily {
            time_s,
            query: answer.query as i32,
            toll: answer.toll.into(),
        }),
        unanswered: unanswered.counts.filtered,
        ..LrbFullAnswer::default()
    }
}

fn rows<T, R>(found: &Arc<Mutex<Vec<Record<T>>>>, row: impl Fn(i32, &T) -> R) -> Vec<R> {
    let found = found.lock().unwrap();
    let second = |at: EventTime| at.as_micros().div_euclid(1_000_000) as i32;
    found.iter().map(|record| row(second(record.event_time), &record.value)).collect()
}

/// The reference's answers, after the engine's were found to be the same in every setup.
fn check(records: &[Record<LrbRecord>], bound: Span, tolls: &Tolls, setups: &[Setup]) -> LrbFullAnswer {
    let expected = lrb_full(records.iter().map(columns_of), tolls);
    for &setup in setups {
        let found = run(records, bound, tolls, setup);
        compare(&expected.tolls, &found.tolls).unwrap_or_else(|wrong| panic!("{setup:?}: tolls: {wrong}"));
        compare(&expected.notices, &found.notices)
            .unwrap_or_else(|wrong| panic!("{setup:?}: notices: {wrong}"));
        compare(&expected.balances, &found.balances)
            .unwrap_or_else(|wrong| panic!("{setup:?}: balances: {wrong}"));
        compare(&expected.dailies, &found.dailies)
            .unwrap_or_else(|wrong| panic!("{setup:?}: dailies: {wrong}"));
        let unanswered = if tolls.is_empty() { expected.unanswered } else { found.unanswered };
        assert_eq!(found.unanswered, unanswered, "{setup:?}");
    }
    expected
}

fn input(name: &str) -> Option<Vec<Record<LrbRecord>>> {
    let text = unzipped_text(&recorded(&format!("lrb/{name}"))?);
    let record = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        record_of(|index| fields.get(index).copied()).unwrap()
    };
    Some(text.lines().map(record).collect())
}

fn history(name: &str) -> Option<Tolls> {
    let text = unzipped_text(&recorded(&format!("lrb/{name}"))?);
    let toll = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let toll = historical_toll_of(|index| fields.get(index).copied()).unwrap();
        [toll.vehicle as i32, toll.day.into(), toll.xway.into(), toll.toll as i32]
    };
    Some(text.lines().map(toll).collect())
}

/// The records, each up to `bound` later than it should come.
fn disordered(
    records: &[Record<LrbRecord>],
    bound: Span,
    entropy: &mut dyn Entropy,
) -> Vec<Record<LrbRecord>> {
    let bound_us = bound.as_micros() as u64;
    let mut delayed: Vec<(i64, Record<LrbRecord>)> = records
        .iter()
        .map(|record| (record.event_time.as_micros() + entropy.below(bound_us + 1) as i64, *record))
        .collect();
    delayed.sort_by_key(|(at, _)| *at);
    delayed.into_iter().map(|(_, record)| record).collect()
}

#[test]
fn recorded_congestion_and_an_accident() {
    let (Some(records), Some(tolls)) = (
        input("lrb_walmartgen_A_dir1_seg68-82_0-2999s.csv.gz"),
        history("lrb_walmartgen_A_dir1_seg68-82_tolls.csv.gz"),
    ) else {
        return;
    };
    let expected = check(&records, Span::ZERO, &tolls, &SETUPS[..1]);
    assert_eq!(
        [expected.tolls.len(), expected.notices.len(), expected.balances.len(), expected.dailies.len()],
        [130_377, 5_205, 3_643, 736]
    );
}

#[test]
fn recorded_drivers_in_order_and_as_they_came() {
    if let Some(records) = input("lrb_mitsim_xway0_0-179s.csv.gz") {
        let expected = check(&records, Span::ZERO, &Vec::new(), &SETUPS);
        assert_eq!((expected.tolls.len(), expected.balances.len()), (3_412, 43));
    }
    if let Some(records) = input("lrb_mitsim_xway0_threadlog_order.csv.gz") {
        let expected = check(&records, Span::from_secs(6), &Vec::new(), &SETUPS);
        assert_eq!((expected.tolls.len(), expected.balances.len()), (3_412, 43));
    }
}

/// Half an hour of one expressway, made so that tolls are charged and accidents happen.
#[test]
fn generated_traffic_in_any_order_within_the_bound() {
    let rate_per_s = 1_000;
    let generator = LrbGenerator::new(LrbOptions { seed: 7, rate_per_s: rate_per_s.try_into().unwrap() });
    let record = |index: u64| {
        let at = EventTime::from_micros((index * 1_000_000 / rate_per_s) as i64);
        Record::new(at, generator.value(index, at))
    };
    let records: Vec<Record<LrbRecord>> = (0..1_000 * rate_per_s).map(record).collect();
    let none = Vec::new();
    let expected = check(&records, Span::ZERO, &none, &SETUPS[..1]);
    assert!(expected.tolls.iter().any(|told| told.toll > 0), "nobody pays");
    assert!(!expected.notices.is_empty() && expected.balances.iter().any(|answer| answer.balance > 0));
    let mut entropy = entropy_for(1, "linear road");
    let bound = Span::from_secs(45);
    let mixed = disordered(&records[..200_000], bound, &mut entropy);
    check(&mixed, bound, &none, &SETUPS[1..3]);
}

/// The short form, of the same traffic in order and out of order.
#[test]
fn the_short_form_of_generated_traffic() {
    let rate_per_s = 1_000;
    let generator = LrbGenerator::new(LrbOptions { seed: 7, rate_per_s: rate_per_s.try_into().unwrap() });
    let record = |index: u64| {
        let at = EventTime::from_micros((index * 1_000_000 / rate_per_s) as i64);
        Record::new(at, generator.value(index, at))
    };
    let records: Vec<Record<LrbRecord>> = (0..1_000 * rate_per_s).map(record).collect();
    let expected = lrb_rows(records.iter().map(input_of)).rows;
    assert!(expected.iter().any(|row| row.toll > 0) && expected.iter().any(|row| row.accidents > 0));
    let bound = Span::from_secs(45);
    let mixed = disordered(&records, bound, &mut entropy_for(1, "linear road"));
    for (records, bound, setup) in
        [(&records, Span::ZERO, SETUPS[0]), (&mixed, bound, SETUPS[1]), (&mixed, bound, SETUPS[2])]
    {
        let Setup { block_records, workers, chaining } = setup;
        let edges = EdgeLimits { block_records, chunk_blocks: 1, ..EdgeLimits::default() };
        let engine = Engine::builder().workers(workers).edges(edges).build().unwrap();
        let (query, sink) = (Query::new("lrb"), Collect::new(RESULTS_MAX));
        let found = sink.records();
        let strategy = WatermarkStrategy::bounded_out_of_order(bound);
        segment_tolls(&query, Given::new(records.clone()), strategy, sink).unwrap();
        let report = engine.submit(query.plan(chaining).unwrap()).unwrap().wait().unwrap();
        assert_eq!((report.conservation_error(), report.total(|counts| counts.late)), (None, 0));
        let found: Vec<_> = found.lock().unwrap().iter().map(|record| row_of(&record.value)).collect();
        compare(&expected, &found).unwrap_or_else(|wrong| panic!("{setup:?}: {wrong}"));
    }
}
