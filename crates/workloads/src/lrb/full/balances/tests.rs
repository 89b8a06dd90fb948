//! Tests of balances: their order of events, and the memory kept for cars that have never been charged.

use thalweg::source::Given;
use thalweg::{Engine, Query, WatermarkStrategy};
use thalweg_connectors::Collect;

use super::*;

/// Returns the answers when the cars, one after the other, each enter two segments at the same toll and then
/// ask for their balance.
fn answers(cars: u32, toll: u64, memory_budget_bytes: u64) -> Result<Vec<u64>, String> {
    let enters =
        |vehicle, begins| BalanceEvent::Entered { vehicle, nth_at_once: 0, begins, toll: Some(toll) };
    let events = (0..cars).flat_map(|vehicle| {
        let asks = BalanceEvent::Asked { vehicle, query: vehicle };
        let second = move |after: i64| EventTime::from_secs(3 * i64::from(vehicle) + after);
        let events = [enters(vehicle, true), enters(vehicle, false), asks];
        (0..).zip(events).map(move |(after, event)| Record::new(second(after), event))
    });
    balances(events.collect(), memory_budget_bytes)
}

/// Returns the answers to the balance requests among these events.
fn balances(events: Vec<Record<BalanceEvent>>, memory_budget_bytes: u64) -> Result<Vec<u64>, String> {
    let collect = Collect::new(events.len());
    let found = collect.records();
    let query = Query::new("balances");
    query
        .source("events", Given::new(events), WatermarkStrategy::ascending())
        .key_by(BalanceEvent::vehicle)
        .process(Balances)
        .sink("sink", collect);
    let engine = Engine::builder().memory_budget_bytes(memory_budget_bytes).build().expect("a right engine");
    query.submit(&engine).expect("a right plan").wait().map_err(|error| error.to_string())?;
    let found = found.lock().expect("nobody panicked");
    Ok(found.iter().map(|record| record.value.balance).collect())
}

#[test]
fn what_was_charged_is_answered() {
    assert_eq!(answers(3, 7, 64 << 20), Ok(vec![7; 3]));
    assert_eq!(answers(3, 0, 64 << 20), Ok(vec![0; 3]));
}

/// Entries of a car at one instant arrive through several segments in any order, and are charged in their
/// right order.
#[test]
fn entries_of_one_instant_are_put_in_order() {
    let entries = [(0, 7), (1, 5), (2, 0)].map(|(nth_at_once, toll)| {
        let toll = Some(toll);
        BalanceEvent::Entered { vehicle: 1, nth_at_once, begins: nth_at_once == 0, toll }
    });
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let asks = BalanceEvent::Asked { vehicle: 1, query: 0 };
        let events = [asks].into_iter().chain(order.map(|place| entries[place]));
        let events = events.map(|event| Record::new(EventTime::from_secs(1), event)).collect();
        assert_eq!(balances(events, 64 << 20), Ok(vec![12]), "{order:?}");
    }
}

/// 100,000 cars that never pay take no memory; their accounts would take 13 MB, and as much again while the
/// table grows.
#[test]
fn cars_that_never_pay_take_no_memory() {
    const CARS: u32 = 100_000;
    assert_eq!(answers(CARS, 0, 8 << 20), Ok(vec![0; CARS as usize]));
    let error = answers(CARS, 7, 8 << 20).expect_err("what was charged is never forgotten");
    assert!(error.contains("outgrew the memory budget"), "{error}");
}
