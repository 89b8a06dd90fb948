//! Hello, stream: readings of a thermometer, and the warm ones in Fahrenheit.
//!
//! You will learn: a query is a chain of calls from a source to a sink; an engine runs it and reports.
//!
//! ```sh
//! cargo run -p thalweg --example 01_hello_stream
//! ```
//!
//! It prints the text of `01_hello_stream.txt`.

use std::error::Error;

use thalweg::{Engine, EventTime, Query, Record, WatermarkStrategy, source::Given};
use thalweg_connectors::{LinesSink, RowWriter};

fn main() -> Result<(), Box<dyn Error>> {
    // A record is a value with the time at which it happened. Here there is one record a minute.
    let celsius = [18.5, 22.5, 25.0, 19.5, 30.0];
    let readings = celsius.iter().zip(0..).map(|(celsius, minute)| {
        let happened = EventTime::from_secs(minute * 60);
        Record::new(happened, *celsius)
    });

    // Building the query runs nothing: it only describes the path from the source to the sink.
    let query = Query::new("hello");
    query
        .source("thermometer", Given::new(readings.collect()), WatermarkStrategy::ascending())
        .filter(|celsius| *celsius > 20.0)
        .map(|celsius| celsius * 1.8 + 32.0)
        .sink("screen", LinesSink::new("standard output", std::io::stdout(), show));

    // The engine checks the query and runs it on threads of its own. Many queries may run in one engine.
    let engine = Engine::builder().build()?;
    let report = query.submit(&engine)?.wait()?;

    println!("query `{}`: {} readings in, {} out", report.query, report.events_in, report.results_out);
    Ok(())
}

/// Writes an output row for each record: the minute, and the temperature in Fahrenheit.
fn show(fahrenheit: &Record<f64>, row: &mut RowWriter) {
    row.push_i64(fahrenheit.event_time.as_micros() / 60_000_000);
    row.push_f64(fahrenheit.value);
}
