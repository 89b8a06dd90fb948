//! Tumbling windows: the highest temperature of each room in each minute.
//!
//! You will learn: event time is cut into windows, back to back; an aggregate of your own is a `Fold`.
//!
//! ```sh
//! cargo run -p thalweg --example 03_tumbling_window
//! ```
//!
//! It prints the text of `03_tumbling_window.txt`.

use std::error::Error;

use thalweg::{
    Engine, EventTime, Fold, Query, Record, Span, TumblingWindows, WatermarkStrategy, source::Given,
};
use thalweg_connectors::Collect;

/// A reading: the room, and degrees Celsius.
type Reading = (&'static str, f64);

/// The readings, each behind the second at which it was taken.
const READINGS: [(i64, Reading); 8] = [
    (1, ("kitchen", 20.0)),
    (2, ("attic", 25.5)),
    (30, ("kitchen", 22.5)),
    (59, ("attic", 24.0)),
    (60, ("attic", 23.5)),
    (61, ("kitchen", 21.0)),
    (119, ("kitchen", 20.5)),
    (300, ("cellar", 12.0)),
];

fn main() -> Result<(), Box<dyn Error>> {
    let record = |(second, reading)| Record::new(EventTime::from_secs(second), reading);
    let sink = Collect::new(100);
    let results = sink.records();

    let query = Query::new("highest");
    query
        .source("rooms", Given::new(READINGS.map(record).to_vec()), WatermarkStrategy::ascending())
        .key_by(|(room, _celsius)| (*room).to_owned())
        // The windows are [0 s, 60 s), [60 s, 120 s) and so on. A room without a reading in a window has no
        // result there.
        .tumbling(TumblingWindows::new(Span::from_secs(60))?)
        .aggregate(Highest)
        .sink("results", sink);
    query.submit(&Engine::builder().build()?)?.wait()?;

    // The results of windows come in the order of their ends, but the rooms of one window in no promised
    // order.
    let mut results = results.lock().unwrap();
    results.sort_by_key(|result| (result.value.window, result.value.key.clone()));
    for result in results.iter().map(|record| &record.value) {
        let [start, end] = [result.window.start, result.window.end].map(|at| at.as_micros() / 1_000_000);
        println!("[{start} s, {end} s) {}: {:.1} degrees", result.key, result.value);
    }
    Ok(())
}

/// Aggregate that returns the highest temperature of a window.
struct Highest;

impl Fold<Reading> for Highest {
    /// The state that is kept per room and open window: the highest temperature so far.
    type Accumulator = f64;
    /// The result that is emitted when the window closes.
    type Result = f64;

    fn create(&self) -> f64 {
        f64::NEG_INFINITY
    }

    fn fold(&self, highest: &mut f64, reading: &Reading) {
        *highest = highest.max(reading.1);
    }

    /// Merges the highest temperatures of two parts of a window that were folded separately.
    fn merge(&self, highest: &mut f64, other: f64) {
        *highest = highest.max(other);
    }

    fn finish(&self, highest: f64) -> f64 {
        highest
    }
}
