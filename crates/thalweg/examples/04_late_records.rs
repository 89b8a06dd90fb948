//! Late records: handling of records that arrive after their window has closed.
//!
//! You will learn: watermarks close windows; you set how far out of order records may be; a record that comes
//! later still is counted, and may update a result or go to a stream of its own.
//!
//! ```sh
//! cargo run -p thalweg --example 04_late_records
//! ```
//!
//! It prints the text of `04_late_records.txt`.

use std::error::Error;

use thalweg::{
    Count, Engine, EventTime, Query, Record, Span, TumblingWindows, WatermarkStrategy, Windowed,
    source::Given,
};
use thalweg_connectors::{Collect, LinesSink, RowWriter};

/// The seconds at which clicks happened, in the order of arrival: two were delayed.
const CLICKS: [i64; 8] = [1, 4, 12, 8, 15, 23, 3, 26];

fn main() -> Result<(), Box<dyn Error>> {
    // A watermark is the promise that no older record will come. With the click of 12 s this source promises 12 s,
    // and the window [0 s, 10 s) closes. The clicks of 8 s and 3 s come too late.
    count_clicks("in order", WatermarkStrategy::ascending())?;
    // With a bound of 5 s the source promises 7 s when the click of 12 s comes. The window [0 s, 10 s) then
    // still takes the click of 8 s, but not the click of 3 s.
    count_clicks("5 s out of order", WatermarkStrategy::bounded_out_of_order(Span::from_secs(5)))?;
    // A larger bound has a price: results come later, because the watermark stays further behind.
    count_clicks("20 s out of order", WatermarkStrategy::bounded_out_of_order(Span::from_secs(20)))?;
    correct_counts()
}

/// Emits first results as soon as possible, corrects them when late clicks come within 5 s after their window, and
/// sends later clicks to a sink of their own.
fn correct_counts() -> Result<(), Box<dyn Error>> {
    println!("corrected:");
    let records =
        CLICKS.map(|second| Record::new(EventTime::from_secs(second), format!("click of {second} s")));
    let query = Query::new("corrected");
    let (counts, late) = query
        .source("clicks", Given::new(records.to_vec()), WatermarkStrategy::ascending())
        .key_by(|_click| ())
        .tumbling(TumblingWindows::new(Span::from_secs(10))?)
        .allow_lateness(Span::from_secs(5))
        .divert_late()
        .aggregate(Count)
        .part();
    let (counted, too_late) = (Collect::new(100), Collect::new(100));
    let (results, rest) = (counted.records(), too_late.records());
    counts.sink("counts", counted);
    late.sink("too late", too_late);
    query.submit(&Engine::builder().build()?)?.wait()?;
    for Windowed { window, value, firing, .. } in results.lock().unwrap().iter().map(|record| record.value) {
        println!("up to {}: {value} {firing:?}", window.end.as_micros() / 1_000_000);
    }
    rest.lock().unwrap().iter().for_each(|record| println!("too late: {}", record.value));
    Ok(())
}

fn count_clicks(title: &str, strategy: WatermarkStrategy) -> Result<(), Box<dyn Error>> {
    println!("{title}:");
    let records = CLICKS.map(|second| Record::new(EventTime::from_secs(second), "click"));
    let query = Query::new(title);
    query
        .source("clicks", Given::new(records.to_vec()), strategy)
        .key_by(|_click| ())
        .tumbling(TumblingWindows::new(Span::from_secs(10))?)
        .aggregate(Count)
        .name("clicks per 10 s")
        .sink("screen", LinesSink::new("standard output", std::io::stdout(), show));
    let report = query.submit(&Engine::builder().build()?)?.wait()?;

    // The report accounts for every record, operator by operator.
    for operator in &report.operators {
        let (name, counts) = (&operator.operator, operator.counts);
        println!("{name}: {} read, {} counted, {} late", counts.read, counts.folded, counts.late);
    }
    Ok(())
}

/// Writes an output row for each result: start and end of the window in seconds, and the count.
fn show(result: &Record<Windowed<(), u64>>, row: &mut RowWriter) {
    row.push_i64(result.value.window.start.as_micros() / 1_000_000);
    row.push_i64(result.value.window.end.as_micros() / 1_000_000);
    row.push_u64(result.value.value);
}
