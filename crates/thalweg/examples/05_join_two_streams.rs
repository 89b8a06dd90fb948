//! Join two streams: orders with their payments, and orders without a payment.
//!
//! You will learn: two streams are joined where their keys are equal and they fall into the same window; a left
//! join also emits values without a match, as soon as no match can come any more.
//!
//! ```sh
//! cargo run -p thalweg --example 05_join_two_streams
//! ```
//!
//! It prints the text of `05_join_two_streams.txt`.

use std::error::Error;

use thalweg::{Engine, EventTime, Query, Record, Span, TumblingWindows, WatermarkStrategy, source::Given};
use thalweg_connectors::Collect;

/// The orders: minute, order number and article.
const ORDERS: [(i64, u64, &str); 5] =
    [(1, 17, "tea"), (5, 18, "bread"), (58, 19, "salt"), (62, 20, "rice"), (70, 21, "tea")];

/// The payments: minute, order number and cents. Order 18 is paid twice, order 19 after its hour, and order
/// 21 before the order came in.
const PAYMENTS: [(i64, u64, u32); 5] =
    [(2, 17, 350), (6, 18, 200), (9, 18, 110), (61, 19, 90), (66, 21, 350)];

fn main() -> Result<(), Box<dyn Error>> {
    let minute = |minute| EventTime::from_secs(minute * 60);
    let orders = ORDERS.map(|(at, order, what)| Record::new(minute(at), (order, what.to_owned())));
    let payments = PAYMENTS.map(|(at, order, cents)| Record::new(minute(at), (order, cents)));
    let sink = Collect::new(100);
    let results = sink.records();

    // Both streams belong to the same query, and each has watermarks of its own. The join keeps values until
    // both watermarks have passed the end of the hour, and then frees them.
    let query = Query::new("payments");
    let orders = query.source("orders", Given::new(orders.to_vec()), WatermarkStrategy::ascending());
    let payments = query.source("payments", Given::new(payments.to_vec()), WatermarkStrategy::ascending());
    orders
        .key_by(|(order, _)| *order)
        .join(payments.key_by(|(order, _)| *order))
        .tumbling(TumblingWindows::new(Span::from_secs(3_600))?)
        // A match is emitted as soon as the order and its payment are there. An order without a payment is
        // emitted when its hour is over.
        .left(|(order, what), payment| match payment {
            Some((_, cents)) => format!("order {order}, {what}: {cents} cents"),
            None => format!("order {order}, {what}: not paid in its hour"),
        })
        .sink("results", sink);
    let report = query.submit(&Engine::builder().build()?)?.wait()?;
    println!("{} records in, {} results out", report.events_in, report.results_out);

    // The results of hours come in the order of the hours, but the matches within one hour in no promised
    // order.
    let mut results = results.lock().unwrap();
    results.sort_by_key(|result| (result.event_time, result.value.clone()));
    for result in results.iter() {
        println!("hour {}: {}", result.event_time.as_micros() / 3_600_000_000 + 1, result.value);
    }
    Ok(())
}
