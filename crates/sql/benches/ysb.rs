//! Benchmark of a SQL query over a table in memory: the Yahoo streaming benchmark. A third of the events are
//! views, which are counted per campaign and 10 s. Events have seven columns of 64 bits and come in batches
//! of 4,096; one worker; the unit is rows/s.
//!
//! The figures are for regressions, not for claims. The ceiling beside them is the same count over the same
//! columns as one hand-written loop. Without `--bench` the benchmark runs once, small, so that it cannot rot.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use arrow::array::{ArrayRef, AsArray, Int64Array, TimestampMillisecondArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, TimeUnit, TimestampMillisecondType};
use arrow::record_batch::RecordBatch;
use thalweg::{Engine, SystemClock};
use thalweg_model::{Clock, Entropy, SeededEntropy};
use thalweg_sql::connect::World;
use thalweg_sql::connect::memory::{Collect, Collected};
use thalweg_sql::job::{BATCH_EDGES, assemble};
use thalweg_sql::session::{Action, Session};

const SQL: &str = "
CREATE TABLE events (
  event_time TIMESTAMP(3) NOT NULL, user_id BIGINT NOT NULL, page_id BIGINT NOT NULL, ad_id BIGINT NOT NULL,
  ad_type BIGINT NOT NULL, event_type BIGINT NOT NULL, ip BIGINT NOT NULL,
  WATERMARK FOR event_time AS event_time - INTERVAL '0.001' SECOND
);
CREATE VIEW views AS SELECT event_time, (ad_id - 1) / 10 AS campaign FROM events WHERE event_type = 1;
SELECT window_start, campaign, COUNT(*) AS number
FROM TUMBLE(TABLE views, DESCRIPTOR(event_time), INTERVAL '10' SECONDS)
GROUP BY window_start, window_end, campaign;";

/// Number of events of the benchmark in a second of event time.
const EVENTS_PER_S: i64 = 10_000_000;

const BATCH_ROWS: usize = 4_096;

fn events(batches: usize) -> Vec<RecordBatch> {
    let mut entropy = SeededEntropy::new(1);
    let mut uniform = |least: i64, most: i64| -> ArrayRef {
        let of = |_| least + (entropy.next_u64() % (most - least + 1) as u64) as i64;
        Arc::new(Int64Array::from_iter_values((0..BATCH_ROWS).map(of)))
    };
    let fields: Vec<Field> = ["user_id", "page_id", "ad_id", "ad_type", "event_type", "ip"]
        .iter()
        .map(|name| Field::new(*name, DataType::Int64, false))
        .collect();
    let time = Field::new("event_time", DataType::Timestamp(TimeUnit::Millisecond, None), false);
    let schema = Arc::new(Schema::new([vec![time], fields].concat()));
    let made: Vec<Vec<ArrayRef>> = (0..64.min(batches))
        .map(|_| {
            vec![
                uniform(1, 1_000_000),
                uniform(1, 1_000_000),
                uniform(1, 1_000),
                uniform(0, 4),
                uniform(0, 2),
                uniform(0, 255),
            ]
        })
        .collect();
    (0..batches)
        .map(|batch| {
            let first = (batch * BATCH_ROWS) as i64;
            let times = (0..BATCH_ROWS as i64).map(|row| (first + row) * 1_000 / EVENTS_PER_S);
            let times: ArrayRef = Arc::new(TimestampMillisecondArray::from_iter_values(times));
            let columns = [vec![times], made[batch % made.len()].clone()].concat();
            RecordBatch::try_new(Arc::clone(&schema), columns).expect("columns of one length")
        })
        .collect()
}

/// Runs the query in the engine; returns rows per second, and the results: window, campaign, number of views.
fn by_engine(batches: &Arc<Vec<RecordBatch>>) -> (f64, Vec<(i64, i64, i64)>) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let mut session = Session::new(Arc::clone(&clock));
    let actions = session.read(SQL).expect("the query is fine");
    let [Action::Run(job)] = &actions[..] else { panic!("one query") };
    let given = BTreeMap::from([("events".to_owned(), Arc::clone(batches))]);
    let world = World { given, ..World::default() };
    let collected: Collected = Arc::new(Mutex::new(Vec::new()));
    let mut shown = |_: &[_], _| Ok(Box::new(Collect::new(Arc::clone(&collected))) as Box<_>);
    let assembled = assemble(job, &clock, &world, &mut shown).expect("the query can be put together");
    let engine = Engine::builder().workers(1).edges(BATCH_EDGES).build().expect("an engine");
    let begin = Instant::now();
    assembled.query.submit(&engine).expect("it fits").wait().expect("it ends");
    let seconds = begin.elapsed().as_secs_f64();
    let mut results = Vec::new();
    for (rows, _) in collected.lock().expect("the sink is gone").iter() {
        let starts = rows.column(0).as_primitive::<TimestampMillisecondType>();
        let campaigns = rows.column(1).as_primitive::<Int64Type>();
        let numbers = rows.column(2).as_primitive::<Int64Type>();
        results.extend(
            (0..rows.num_rows()).map(|row| (starts.value(row), campaigns.value(row), numbers.value(row))),
        );
    }
    results.sort_unstable();
    (rate(batches, seconds), results)
}

fn rate(batches: &[RecordBatch], seconds: f64) -> f64 {
    (batches.len() * BATCH_ROWS) as f64 / seconds
}

/// Runs the query of the benchmark as a loop written by hand.
fn by_hand(batches: &[RecordBatch]) -> (f64, Vec<(i64, i64, i64)>) {
    let begin = Instant::now();
    let mut counts: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for batch in batches {
        let times = batch.column(0).as_primitive::<TimestampMillisecondType>().values();
        let ads = batch.column(3).as_primitive::<Int64Type>().values();
        let types = batch.column(5).as_primitive::<Int64Type>().values();
        let first = times[0] / 10_000 * 10_000;
        let mut of_window = counts.remove(&first).unwrap_or_else(|| vec![0; 100]);
        for row in 0..times.len() {
            if types[row] != 1 {
                continue;
            }
            let campaign = ((ads[row] - 1) / 10) as usize;
            let window = times[row] / 10_000 * 10_000;
            if window == first {
                of_window[campaign] += 1;
            } else {
                counts.entry(window).or_insert_with(|| vec![0; 100])[campaign] += 1;
            }
        }
        counts.insert(first, of_window);
    }
    let seconds = begin.elapsed().as_secs_f64();
    let mut results = Vec::new();
    for (window, numbers) in counts {
        let some = numbers.iter().enumerate().filter(|(_, number)| **number > 0);
        results.extend(some.map(|(campaign, number)| (window, campaign as i64, *number)));
    }
    (rate(batches, seconds), results)
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (batches, rounds) = if is_bench { (10_000, 5) } else { (50, 1) };
    let batches = Arc::new(events(batches));
    let mut rates: Vec<(f64, f64)> = Vec::new();
    for _ in 0..rounds {
        let (engine, found) = by_engine(&batches);
        let (hand, expected) = by_hand(&batches);
        assert_eq!(found, expected, "the engine counts as the loop does");
        rates.push((engine, hand));
    }
    rates.sort_by(|left, right| left.0.total_cmp(&right.0));
    let (engine, hand) = rates[rates.len() / 2];
    println!(
        "ysb in SQL: {:.1} M rows/s, by hand {:.1}, ratio {:.2}",
        engine / 1e6,
        hand / 1e6,
        engine / hand
    );
}
