//! The workloads in SQL: YSB, NYT and Linear Road's tolls produce the rows of their references, like the
//! typed queries (`metamorphic.rs`), for every policy, records per block, rows per batch, number of workers
//! and layout.
//!
//! Every pair of settings occurs; `THALWEG_FULL=1` runs the whole product.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};

use arrow::array::{ArrayRef, AsArray, Float64Array, Int64Array, StringArray, TimestampMillisecondArray};
use arrow::datatypes::{Float64Type, Int64Type, TimestampMillisecondType};
use arrow::record_batch::RecordBatch;
use thalweg::{
    Chaining, Clock, EdgeLimits, Engine, EventTime, Generate, Layout, Parallel, Record, SystemClock,
};
use thalweg_model::Span;
use thalweg_scheduling::policy::{by_name, enjima, names};
use thalweg_sql::connect::World;
use thalweg_sql::connect::memory::{Collect, Collected};
use thalweg_sql::job::assemble;
use thalweg_sql::session::{Action, Session};
use thalweg_testkit::arrival::delayed;
use thalweg_testkit::case::{generated_traffic, shared_ysb_generator, stretch};
use thalweg_testkit::pairwise::{covering, full};
use thalweg_testkit::seed::entropy_for;
use thalweg_workloads::lrb::check::input_of;
use thalweg_workloads::lrb::{Direction, LrbRecord};
use thalweg_workloads::nyt::{NytGenerator, Vendor};
use thalweg_workloads::reference::lrb::{LrbRow, lrb_rows};
use thalweg_workloads::reference::nyt::{NytInput, NytRow, nyt_rows};
use thalweg_workloads::reference::ysb::{YsbCount, YsbInput, ysb_counts};
use thalweg_workloads::reference::{Row, compare};

const BLOCK_RECORDS: [u32; 4] = [1, 3, 4, 64];
const BATCH_ROWS: [usize; 4] = [1, 7, 300, 4_096];
const WORKERS: [u64; 4] = [1, 2, 3, 8];
const CHAINING: [Chaining; 3] = [Chaining::None, Chaining::Default, Chaining::All];
const SHARED: [bool; 2] = [false, true];

/// Settings of an engine and a SQL query that no result may depend on.
#[derive(Clone, Copy, Debug)]
struct Variant {
    policy: &'static str,
    block_records: u32,
    batch_rows: usize,
    workers: u64,
    layout: Layout,
}

impl Variant {
    fn all() -> Vec<Variant> {
        // The strict policy of Enjima is left out: its workers wait for a tenth of a second at a time, and it
        // has tests of its own.
        let policies: Vec<&'static str> =
            names().into_iter().filter(|name| *name != enjima::STRICT_NAME).collect();
        let levels = [
            BLOCK_RECORDS.len(),
            BATCH_ROWS.len(),
            WORKERS.len(),
            CHAINING.len(),
            policies.len(),
            SHARED.len(),
        ];
        let rows = if std::env::var_os("THALWEG_FULL").is_some() { full(&levels) } else { covering(&levels) };
        let variant = |row: &Vec<usize>| {
            let workers = WORKERS[row[2]];
            let parallel = match SHARED[row[5]] {
                true => Parallel::Epochs { workers: workers as usize },
                false => Parallel::Serial,
            };
            Variant {
                policy: policies[row[4]],
                block_records: BLOCK_RECORDS[row[0]],
                batch_rows: BATCH_ROWS[row[1]],
                workers,
                layout: Layout { chaining: CHAINING[row[3]], parallel },
            }
        };
        rows.iter().map(variant).collect()
    }

    /// Runs a SQL query over a table with these columns, and returns its rows.
    fn run(self, sql: &str, table: &str, columns: &[(&str, ArrayRef)]) -> Vec<RecordBatch> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let actions = Session::new(Arc::clone(&clock)).read(sql).unwrap_or_else(|error| panic!("{error}"));
        let [Action::Run(job)] = &actions[..] else { panic!("one query") };
        let whole = RecordBatch::try_from_iter_with_nullable(
            columns.iter().map(|(name, column)| (*name, Arc::clone(column), true)),
        );
        let whole = whole.expect("columns of one length");
        let starts = (0..whole.num_rows()).step_by(self.batch_rows);
        let batches = starts.map(|start| whole.slice(start, self.batch_rows.min(whole.num_rows() - start)));
        let given = BTreeMap::from([(table.to_owned(), Arc::new(batches.collect()))]);
        let collected: Collected = Arc::new(Mutex::new(Vec::new()));
        let mut shown = |_: &[_], _| Ok(Box::new(Collect::new(Arc::clone(&collected))) as Box<_>);
        let world = World { given, ..World::default() };
        let assembled = assemble(job, &clock, &world, &mut shown).unwrap_or_else(|error| panic!("{error}"));
        let edges =
            EdgeLimits { block_records: self.block_records, chunk_blocks: 1, ..EdgeLimits::default() };
        let policy = by_name(self.policy).expect("it is one of the names");
        let engine =
            Engine::builder().workers(self.workers).edges(edges).policy(policy).build().expect("it fits");
        let graph = assembled.query.plan(self.layout).expect("the stream ends in a sink");
        let report = engine.submit(graph).expect("the budget is ample").wait();
        let report = report.unwrap_or_else(|error| panic!("{self:?}: {error}"));
        assert_eq!(report.conservation_error(), None, "{self:?}");
        assert_eq!(report.total(|counts| counts.late), 0, "{self:?}");
        drop(engine);
        let collected = collected.lock().expect("the sink is gone");
        collected.iter().map(|(rows, _)| rows.clone()).collect()
    }
}

/// Checks that a SQL query has the rows of the reference under all settings.
fn check<R: Row + std::fmt::Debug>(
    sql: &str,
    table: &str,
    columns: &[(&str, ArrayRef)],
    expected: &[R],
    row: impl Fn(&RecordBatch, usize) -> R,
) {
    assert!(!expected.is_empty(), "an input without results proves nothing");
    for variant in Variant::all() {
        let batches = variant.run(sql, table, columns);
        let found: Vec<R> =
            batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|at| row(batch, at))).collect();
        if let Err(difference) = compare(expected, &found) {
            panic!("{variant:?}: {difference}");
        }
    }
}

fn times(micros: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(TimestampMillisecondArray::from_iter_values(micros.map(|micros| micros.div_euclid(1_000))))
}

fn numbers(values: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

fn millis(batch: &RecordBatch, column: usize, at: usize) -> i64 {
    batch.column(column).as_primitive::<TimestampMillisecondType>().value(at)
}

fn number(batch: &RecordBatch, column: usize, at: usize) -> i64 {
    batch.column(column).as_primitive::<Int64Type>().value(at)
}

fn float(batch: &RecordBatch, column: usize, at: usize) -> f64 {
    batch.column(column).as_primitive::<Float64Type>().value(at)
}

/// YSB in SQL has the rows of its reference, for three full windows of ten seconds and a partial fourth.
#[test]
fn ysb_in_sql_has_the_rows_of_its_reference() {
    const EVENTS: u64 = 30_000;
    let input = |index: u64| {
        let event_time_us = (index * 1_000_000 / 900).cast_signed();
        let event = shared_ysb_generator().value(index, EventTime::from_micros(event_time_us));
        YsbInput { event_time_us, event_type: event.event_type, ad_id: event.ad_id }
    };
    let events: Vec<YsbInput> = (0..EVENTS).map(input).collect();
    let columns = [
        ("event_time", times(events.iter().map(|event| event.event_time_us))),
        ("event_type", numbers(events.iter().map(|event| event.event_type.cast_signed()))),
        ("ad_id", numbers(events.iter().map(|event| event.ad_id.cast_signed()))),
    ];
    let sql = "
        CREATE TABLE events (
          event_time TIMESTAMP(3), event_type BIGINT, ad_id BIGINT,
          WATERMARK FOR event_time AS event_time - INTERVAL '0.001' SECOND
        );
        CREATE VIEW views AS SELECT event_time, (ad_id - 1) / 10 AS campaign FROM events WHERE event_type = 0;
        SELECT window_start, campaign, COUNT(*) AS number
        FROM TABLE(TUMBLE(TABLE views, DESCRIPTOR(event_time), INTERVAL '10' SECOND))
        GROUP BY window_start, window_end, campaign";
    let expected = ysb_counts(events.iter().copied(), Span::from_secs(10).as_micros());
    check(sql, "events", &columns, &expected, |batch, at| YsbCount {
        window_start_ms: millis(batch, 0, at),
        campaign: number(batch, 1, at).cast_unsigned(),
        count: number(batch, 2, at).cast_unsigned(),
    });
}

#[test]
fn trips_in_sql_have_the_rows_of_their_reference() {
    static GENERATOR: LazyLock<NytGenerator> = LazyLock::new(|| NytGenerator::new(0));
    let trips: Vec<NytInput<'static>> = (0..20_000_u64)
        .map(|index| {
            let event_time_us = (index * 1_000).cast_signed();
            let trip = GENERATOR.value(index, EventTime::from_micros(event_time_us));
            NytInput {
                event_time_us,
                vendor: if trip.vendor == Vendor::Vts { "VTS" } else { "CMT" },
                distance: trip.distance_miles,
                longitude: trip.pickup.longitude,
                latitude: trip.pickup.latitude,
            }
        })
        .collect();
    let floats = |of: &dyn Fn(&NytInput<'_>) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(trips.iter().map(of)))
    };
    let columns = [
        ("dropoff", times(trips.iter().map(|trip| trip.event_time_us))),
        ("vendor", Arc::new(StringArray::from_iter_values(trips.iter().map(|trip| trip.vendor))) as ArrayRef),
        ("distance", floats(&|trip| trip.distance)),
        ("longitude", floats(&|trip| trip.longitude)),
        ("latitude", floats(&|trip| trip.latitude)),
    ];
    let sql = "
        CREATE TABLE trips (
          dropoff TIMESTAMP(3), vendor STRING, distance DOUBLE, longitude DOUBLE, latitude DOUBLE,
          WATERMARK FOR dropoff AS dropoff
        );
        CREATE VIEW counted AS
        SELECT * FROM (
          SELECT
            dropoff, distance,
            CAST(FLOOR((longitude + 74.913583 + 0.002993 / 2) / 0.002993) AS BIGINT) + 1 AS cell_x,
            CAST(FLOOR((41.474937 + 0.002245778 / 2 - latitude) / 0.002245778) AS BIGINT) + 1 AS cell_y
          FROM trips WHERE vendor = 'VTS' AND distance > 1
        ) WHERE cell_x BETWEEN 1 AND 600 AND cell_y BETWEEN 1 AND 600;
        SELECT window_start, cell_x, cell_y, COUNT(*) AS trips, AVG(distance) AS miles
        FROM TABLE(TUMBLE(TABLE counted, DESCRIPTOR(dropoff), INTERVAL '2' SECOND))
        GROUP BY window_start, window_end, cell_x, cell_y";
    let expected = nyt_rows(trips.iter().copied(), Span::from_secs(2).as_micros()).rows;
    check(sql, "trips", &columns, &expected, |batch, at| NytRow {
        window_start_s: millis(batch, 0, at) / 1_000,
        cell_x: number(batch, 1, at) as u16,
        cell_y: number(batch, 2, at) as u16,
        trips: number(batch, 3, at).cast_unsigned(),
        avg_distance: float(batch, 4, at),
    });
}

/// The tolls of Linear Road in SQL have the rows of their reference, for three miles of traffic behind an
/// accident. Records come up to 30 seconds late. The query has windows over windows: standing cars, places
/// with two of them, and these joined with the reports of the minute.
#[test]
fn tolls_in_sql_have_the_rows_of_their_reference() {
    let traffic = stretch(&generated_traffic(7, 780..1_080), Direction::East, 34..=36);
    let records = delayed(&traffic, Span::from_secs(30), &mut entropy_for(0, "road"));
    let reports: Vec<&Record<LrbRecord>> =
        records.iter().filter(|record| matches!(record.value, LrbRecord::Report(_))).collect();
    let column = |of: &dyn Fn(&thalweg_workloads::lrb::PositionReport) -> i64| {
        numbers(reports.iter().map(|record| match &record.value {
            LrbRecord::Report(report) => of(report),
            _ => unreachable!("they were filtered"),
        }))
    };
    let columns = [
        ("seen", times(reports.iter().map(|record| record.event_time.as_micros()))),
        ("vehicle", column(&|report| i64::from(report.vehicle))),
        ("speed", column(&|report| i64::from(report.speed_mph))),
        ("xway", column(&|report| i64::from(report.xway))),
        ("lane", column(&|report| i64::from(report.lane))),
        ("direction", column(&|report| i64::from(report.direction.number()))),
        ("segment", column(&|report| i64::from(report.segment))),
        ("place", column(&|report| i64::from(report.position_feet))),
    ];
    let sql = "
        CREATE TABLE reports (
          seen TIMESTAMP(3), vehicle BIGINT, speed BIGINT, xway BIGINT, lane BIGINT, direction BIGINT, segment BIGINT, place BIGINT,
          WATERMARK FOR seen AS seen - INTERVAL '30.001' SECOND
        );
        CREATE VIEW stopped AS
        SELECT window_start, window_end, window_time, vehicle, xway, lane, direction, place
        FROM TABLE(HOP(TABLE reports, DESCRIPTOR(seen), INTERVAL '30' SECOND, INTERVAL '2' MINUTE))
        WHERE speed = 0 AND lane <> 4
        GROUP BY window_start, window_end, window_time, vehicle, xway, lane, direction, place
        HAVING COUNT(*) >= 4;
        CREATE VIEW accidents AS
        SELECT window_time, xway, direction, place / 5280 AS segment
        FROM stopped
        GROUP BY window_start, window_end, window_time, xway, lane, direction, place
        HAVING COUNT(*) >= 2;
        CREATE VIEW happened AS
        SELECT seen, xway, direction, segment, 1 AS car, speed, 0 AS accident FROM reports
        UNION ALL
        SELECT window_time, xway, direction, segment, 0, 0, 1 FROM accidents;
        CREATE VIEW minutes AS
        SELECT
          window_start, xway, direction, segment, SUM(CAST(car AS BIGINT)) AS cars, SUM(speed) AS miles,
          SUM(CAST(accident AS BIGINT)) AS accidents
        FROM TABLE(TUMBLE(TABLE happened, DESCRIPTOR(seen), INTERVAL '1' MINUTE))
        GROUP BY window_start, window_end, xway, direction, segment;
        SELECT
          window_start, xway, direction, segment, cars,
          CASE WHEN cars = 0 THEN 0e0 ELSE CAST(miles AS DOUBLE) / cars END AS average_speed,
          CASE
            WHEN accidents = 0 AND cars > 50 AND CAST(miles AS DOUBLE) / cars < 40 THEN 2 * (cars - 50) * (cars - 50)
            ELSE 0
          END AS toll,
          accidents
        FROM minutes";
    let expected = lrb_rows(records.iter().map(input_of)).rows;
    assert!(expected.iter().any(|row| row.toll > 0), "nobody pays");
    assert!(expected.iter().any(|row| row.accidents > 0), "no accidents");
    check(sql, "reports", &columns, &expected, |batch, at| LrbRow {
        window_start_s: millis(batch, 0, at) / 1_000,
        xway: number(batch, 1, at) as u16,
        direction: number(batch, 2, at) as u8,
        segment: number(batch, 3, at) as u8,
        cars: number(batch, 4, at).cast_unsigned(),
        average_speed: float(batch, 5, at),
        toll: number(batch, 6, at).cast_unsigned(),
        accidents: number(batch, 7, at).cast_unsigned(),
    });
}
