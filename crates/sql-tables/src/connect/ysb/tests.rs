//! Checks the numbers in generated events of the Yahoo streaming benchmark.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{Int64Type, TimestampMillisecondType};
use thalweg_model::{ProcessingTime, SourceStatus};

use crate::connect::{World, bed, bind_source, check};
use crate::table::Table;

const COLUMNS: &str = "event_time TIMESTAMP(3), user_id BIGINT, page_id BIGINT, ad_id BIGINT, ad_type BIGINT, event_type BIGINT, ip BIGINT";

fn table(columns: &str, options: &str) -> Arc<Table> {
    Arc::new(bed::table(&format!("CREATE TABLE t ({columns}) WITH ('connector' = 'ysb'{options})")))
}

fn rows(table: &Table, wanted: &[usize], seed: u64, batch_rows: usize) -> RecordBatch {
    let world = World { seed, ..World::default() };
    let mut source = bind_source(table, wanted, &world).expect("a source").remove(0);
    let mut batches = Vec::new();
    loop {
        let polled = source.poll(ProcessingTime::default(), batch_rows).expect("rows");
        batches.extend(polled.rows.map(|rows| rows.columns));
        if polled.status == SourceStatus::Ended {
            break;
        }
    }
    let schema = batches.first().expect("a batch").schema();
    concat_batches(&schema, &batches).expect("batches of one schema")
}

#[test]
fn columns_are_even_over_their_numbers() {
    let rows = rows(&table(COLUMNS, ", 'events.num' = '300000'"), &[0, 1, 2, 3, 4, 5, 6], 1, 4_096);
    let check = |place: usize, first: i64, count: i64| {
        let values = rows.column(place).as_primitive::<Int64Type>().values();
        assert!(values.iter().all(|value| (first..first + count).contains(value)), "column {place}");
        let mean = values.iter().sum::<i64>() as f64 / values.len() as f64;
        let expected = first as f64 + (count - 1) as f64 / 2.0;
        assert!((mean - expected).abs() <= count as f64 / 200.0, "column {place}: {mean}");
    };
    check(1, 1, 1_000_000);
    check(2, 1, 1_000_000);
    check(3, 1, 1_000);
    check(4, 0, 5);
    check(5, 0, 3);
    check(6, 16_909_060, 1);
    // The default is 10 million events per second of event time, which is 10,000 per millisecond.
    let times = rows.column(0).as_primitive::<TimestampMillisecondType>().values();
    let expected = (0..300_000_i64).map(|event| 1_436_918_400_000 + event / 10_000);
    assert!(times.iter().copied().eq(expected));
}

#[test]
fn events_come_again_with_new_times_however_they_are_read() {
    let table = table(
        COLUMNS,
        ", 'events.num' = '1048600', 'event-time.rate' = '1000', 'base-time' = '1970-01-01 00:00:00'",
    );
    let reference = rows(&table, &[0, 3], 5, 4_096);
    let ads = reference.column(1).as_primitive::<Int64Type>().values();
    assert_eq!(ads[..24], ads[1 << 20..]);
    assert_eq!(
        reference.column(0).as_primitive::<TimestampMillisecondType>().value((1 << 20) + 3),
        (1 << 20) + 3
    );
    assert_eq!(rows(&table, &[3], 5, 1_000_003).column(0), reference.column(1));
    assert_ne!(rows(&table, &[3], 6, 4_096).column(0), reference.column(1));
}

#[test]
fn rows_have_the_pace_that_is_asked_for() {
    let table =
        table("ad_id BIGINT, event_time TIMESTAMP(3)", ", 'rows-per-second' = '1000', 'events.num' = '5'");
    let mut source = bind_source(&table, &[0, 1], &World::default()).expect("a source").remove(0);
    let at = |millis: u64| ProcessingTime::from_nanos(millis * 1_000_000);
    let polled = source.poll(at(100), 10).expect("rows");
    assert_eq!((polled.status, source.arrived()), (SourceStatus::IdleUntil(at(101)), Some(at(100))));
    let polled = source.poll(at(1_000), 10).expect("rows");
    assert_eq!((polled.status, source.arrived()), (SourceStatus::Ended, Some(at(104))));
    let rows = polled.rows.expect("rows").columns;
    let times = rows.column(1).as_primitive::<TimestampMillisecondType>().values();
    assert_eq!(times[..], [1, 2, 3, 4].map(|millis| 1_436_918_400_000 + millis));
}

/// At a rate the first row of each millisecond has a latency marker, with the time at which the row was due,
/// however late the source is polled. Without a rate there are none.
#[test]
fn rows_at_a_rate_have_latency_markers() {
    let markers = |options: &str, polls_ms: &[u64]| {
        let table = table("ad_id BIGINT", options);
        let mut source = bind_source(&table, &[0], &World::default()).expect("a source").remove(0);
        let mut found = Vec::new();
        for millis in polls_ms {
            source.poll(ProcessingTime::from_nanos(millis * 1_000_000), 4_096).expect("rows");
            found.extend(std::iter::from_fn(|| source.next_marker()).map(|due| due.as_nanos() / 1_000));
        }
        found
    };
    let check = |rate: &str, polls_ms: &[u64], expected_us: &[u64]| {
        let options = format!(", 'rows-per-second' = '{rate}'");
        assert_eq!(markers(&options, polls_ms), expected_us, "{rate} {polls_ms:?}");
    };
    check("10000", &[100, 101, 103], &[101_000, 102_000, 103_000]);
    check("10000", &[100, 103], &[101_000, 102_000, 103_000]);
    check("400", &[100, 103, 110], &[102_500, 105_000, 107_500, 110_000]);
    check("2500", &[100, 104], &[101_200, 102_000, 103_200, 104_000]);
    assert_eq!(markers("", &[100, 200]), [] as [u64; 0]);
}

#[test]
fn what_is_wrong_is_told_before_anything_runs() {
    let wrong = |columns: &str, options: &str, words: &str| {
        let error = check(&table(columns, options)).expect_err(options);
        assert!(format!("{error:?}").contains(words), "{error:?} has not {words}");
    };
    wrong("ad_id BIGINT", ", 'events.num' = 'x'", "'x' is not a number of events");
    wrong("ad_id BIGINT", ", 'rows-per-second' = '0'", "'0' is not a whole number");
    wrong("ad BIGINT, advert BIGINT", "", "has no column `ad`");
    wrong("ad_id INT", "", "`ad_id` is INT");
    wrong("event_time TIMESTAMP(6)", "", "has it as TIMESTAMP(3)");
    assert!(!check(&table("ad_id BIGINT", "")).expect("it is fine").is_portable());
}

/// Event times computed from the previous ones equal times computed by division, at any rate and from any
/// row on.
#[test]
fn times_are_even_at_any_rate() {
    for rate in [1_u64, 3, 7, 999, 1_000, 1_001, 1_999, 2_000, 30_011, 10_000_019] {
        for batch_rows in [1, 1_000] {
            let options = format!(
                ", 'events.num' = '3000', 'event-time.rate' = '{rate}', 'base-time' = '1970-01-01 00:00:00'"
            );
            let rows = rows(&table(COLUMNS, &options), &[0], 1, batch_rows);
            let times = rows.column(0).as_primitive::<TimestampMillisecondType>().values();
            let expected = (0..3_000_u64).map(|row| (row * 1_000 / rate) as i64);
            assert!(times.iter().copied().eq(expected), "{rate} a second");
        }
    }
}
