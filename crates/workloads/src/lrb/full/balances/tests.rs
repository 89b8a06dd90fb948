//! What is kept of cars that have never been charged.

use thalweg::source::Given;
use thalweg::{Engine, Query, WatermarkStrategy};
use thalweg_connectors::Collect;

use super::*;

/// One after the other, each car enters two segments that cost `toll`, and asks. What came of it in this much memory.
fn answers(cars: u32, toll: u64, memory_budget_bytes: u64) -> Result<Vec<u64>, String> {
    let enters = |vehicle, begins| BalanceEvent::Entered { vehicle, begins, toll: Some(toll) };
    let events = (0..cars).flat_map(|vehicle| {
        let asks = BalanceEvent::Asked { vehicle, query: vehicle };
        let second = move |after: i64| EventTime::from_secs(3 * i64::from(vehicle) + after);
        let events = [enters(vehicle, true), enters(vehicle, false), asks];
        (0..).zip(events).map(move |(after, event)| Record::new(second(after), event))
    });
    let collect = Collect::new(cars as usize);
    let found = collect.records();
    let query = Query::new("balances");
    query
        .source("events", Given::new(events.collect()), WatermarkStrategy::ascending())
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

/// A hundred thousand accounts would take 13 MB, and as much again while their table grows.
#[test]
fn cars_that_never_pay_take_no_memory() {
    const CARS: u32 = 100_000;
    assert_eq!(answers(CARS, 0, 8 << 20), Ok(vec![0; CARS as usize]));
    let error = answers(CARS, 7, 8 << 20).expect_err("what was charged is never forgotten");
    assert!(error.contains("outgrew the memory budget"), "{error}");
}
