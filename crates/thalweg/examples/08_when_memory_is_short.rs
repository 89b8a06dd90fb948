//! When memory is short: an engine never holds more than its budget, and reports what does not fit.
//!
//! You will learn: a query whose edges do not fit is refused before it runs; as a single task it may fit; a
//! query whose state outgrows the budget fails alone.
//!
//! ```sh
//! cargo run -p thalweg --example 08_when_memory_is_short
//! ```
//!
//! It prints the text of `08_when_memory_is_short.txt`.

use std::error::Error;

use thalweg::{
    Chaining, Count, Engine, EventTime, Query, Record, Span, TumblingWindows, WatermarkStrategy,
    source::Given,
};
use thalweg_connectors::Discard;

fn main() -> Result<(), Box<dyn Error>> {
    let engine = Engine::builder().memory_budget_bytes(64 << 10).build()?;

    // Each edge between two tasks reserves its first memory when the query is submitted. This query has four
    // tasks and three edges.
    let error = engine.submit(squares("squares")?.plan(Chaining::None)?).err().ok_or("it fits")?;
    println!("a task per operator: refused, {}", error.code());

    // A query of a single task needs no edge, and takes nothing from the budget.
    let report = engine.submit(squares("squares")?.plan(Chaining::All)?)?.wait()?;
    println!("one task: {} in, {} out, {} edges", report.events_in, report.results_out, report.edges.len());

    // A count per key keeps every key of an open window, and a hundred thousand keys do not fit into the
    // budget. The query fails as soon as it asks for more memory than there is; the other query is not
    // affected.
    let greedy = engine.submit(count_per_number("greedy")?.plan(Chaining::All)?)?;
    let neighbour = engine.submit(squares("neighbour")?.plan(Chaining::All)?)?;
    let error = greedy.wait().err().ok_or("it fits")?;
    println!("greedy: failed, {}", error.code());
    let report = neighbour.wait()?;
    println!("its neighbour: {} in, {} out", report.events_in, report.results_out);

    println!("in use at the end: {} bytes", engine.budget().used_bytes());
    Ok(())
}

fn squares(name: &str) -> Result<Query, Box<dyn Error>> {
    let query = Query::new(name);
    query
        .source("numbers", numbers(), WatermarkStrategy::ascending())
        .filter(|number| number % 2 == 0)
        .map(|number| number * number)
        .sink("nowhere", Discard::new());
    Ok(query)
}

fn count_per_number(name: &str) -> Result<Query, Box<dyn Error>> {
    let query = Query::new(name);
    query
        .source("numbers", numbers(), WatermarkStrategy::ascending())
        .key_by(|number| *number)
        .tumbling(TumblingWindows::new(Span::from_secs(3_600))?)
        .aggregate(Count)
        .sink("nowhere", Discard::new());
    Ok(query)
}

fn numbers() -> Given<i64> {
    Given::new((0..100_000).map(|number| Record::new(EventTime::from_micros(number), number)).collect())
}
