//! `bench ysb --api sql`: the query as SQL text, over the connector `ysb`, whose events are kept in memory.
//!
//! The connector itself supplies the reference's events: a second query reads one period of them, and the
//! reference counts as many periods as were read.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, anyhow};
use arrow::array::AsArray;
use arrow::datatypes::{Int64Type, TimestampMillisecondType};
use arrow::record_batch::RecordBatch;
use thalweg::{Clock, Engine, Query, SystemClock};
use thalweg_cli::failure;
use thalweg_cli::interrupt::Interrupt;
use thalweg_sql::connect::World;
use thalweg_sql::connect::memory::{Collect, Collected};
use thalweg_sql::job::{BATCH_EDGES, assemble};
use thalweg_sql::session::{Action, Session};
use thalweg_workloads::reference::ysb::{YsbCount, YsbDrain, ysb_counts_of_drain};

use crate::bench::args::BenchArgs;
use crate::bench::drive::drive;
use crate::bench::load;
use crate::bench::report::{Checked, Figures};
use crate::bench::rows::difference;
use crate::bench::windows;

/// Number of events after which the events of the connector repeat, with new event times.
const PERIOD: u64 = 1 << 20;

const VIEWS: &str = "
    SELECT window_start, campaign, COUNT(*) AS views
    FROM TABLE(TUMBLE(TABLE viewed, DESCRIPTOR(event_time), INTERVAL '10' SECOND))
    GROUP BY window_start, window_end, campaign";

/// Runs the queries in SQL until the time is up, and compares their rows with the reference.
pub fn run(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    let engine = args.engine()?.edges(BATCH_EDGES).build().map_err(|error| failure::of_plan(&error))?;
    let (mut graphs, mut counted) = (Vec::new(), Vec::new());
    for _ in args.query_names() {
        let (query, rows) = query(args, "", VIEWS)?;
        graphs.push(args.plan(query)?);
        counted.push(rows);
    }
    let driven = drive(&engine, graphs, &load::until(args), interrupt)?;
    let period = period(args)?;
    let reports = driven.all();
    let checked = if reports.is_comparable(u64::MAX) {
        Checked::by_reference(reports.first_wrong(|index, report| {
            let expected = ysb_counts_of_drain(YsbDrain {
                period: &period,
                events: report.events_in,
                rate_per_s: args.nominal_rate_per_s(),
                start_us: 0,
                windows: windows::reference_windows(args),
            });
            difference(&expected, &counts_of(&taken(&counted[index])))
        }))
    } else {
        Checked::by_conservation()
    };
    Ok(Figures { api: "sql", ..Figures::of_engine(args, &driven, None, checked) })
}

/// Creates a query over the table of events, with further connector `options`. Also returns access to its
/// result rows.
fn query(args: &BenchArgs, options: &str, select: &str) -> Result<(Query, Collected)> {
    let sql = format!(
        "CREATE TABLE events (
            event_time TIMESTAMP(3), user_id BIGINT, page_id BIGINT, ad_id BIGINT, ad_type BIGINT, event_type BIGINT, ip BIGINT,
            WATERMARK FOR event_time AS event_time - INTERVAL '0.001' SECOND
        ) WITH (
            'connector' = 'ysb', 'event-time.rate' = '{}', 'base-time' = '1970-01-01 00:00:00' {options}
        );
        CREATE VIEW viewed AS SELECT event_time, (ad_id - 1) / 10 AS campaign FROM events WHERE event_type = 0;
        {select};",
        args.nominal_rate_per_s()
    );
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let world = World { seed: args.seed, ..World::default() };
    let actions = Session::new(Arc::clone(&clock)).read(&sql).map_err(|error| anyhow!("{error}"))?;
    let [Action::Run(job)] = &actions[..] else { return Err(anyhow!("the text has one query")) };
    let collected: Collected = Arc::new(Mutex::new(Vec::new()));
    let mut shown = |_: &[_], _| Ok(Box::new(Collect::new(Arc::clone(&collected))) as Box<_>);
    let assembled = assemble(job, &clock, &world, &mut shown).map_err(|error| anyhow!("{error}"))?;
    Ok((assembled.query, collected))
}

/// Returns event type and ad of the events of one period, after which the connector's events repeat, by a
/// query over the connector.
fn period(args: &BenchArgs) -> Result<Vec<(u64, u64)>> {
    let (query, collected) =
        query(args, &format!(", 'events.num' = '{PERIOD}'"), "SELECT event_type, ad_id FROM events")?;
    let engine =
        Engine::builder().workers(1).edges(BATCH_EDGES).build().map_err(|error| failure::of_plan(&error))?;
    query.submit(&engine).map_err(|error| failure::of_plan(&error))?.wait()?;
    let number = |rows: &RecordBatch, column: usize, row: usize| {
        rows.column(column).as_primitive::<Int64Type>().value(row).cast_unsigned()
    };
    let rows = taken(&collected);
    let of = |rows: &RecordBatch| {
        (0..rows.num_rows()).map(|row| (number(rows, 0, row), number(rows, 1, row))).collect()
    };
    Ok(rows.iter().flat_map(|rows| -> Vec<(u64, u64)> { of(rows) }).collect())
}

fn counts_of(batches: &[RecordBatch]) -> Vec<YsbCount> {
    let of = |rows: &RecordBatch| -> Vec<YsbCount> {
        let starts = rows.column(0).as_primitive::<TimestampMillisecondType>();
        let campaigns = rows.column(1).as_primitive::<Int64Type>();
        let views = rows.column(2).as_primitive::<Int64Type>();
        let row = |row| YsbCount {
            window_start_ms: starts.value(row),
            campaign: campaigns.value(row).cast_unsigned(),
            count: views.value(row).cast_unsigned(),
        };
        (0..rows.num_rows()).map(row).collect()
    };
    batches.iter().flat_map(of).collect()
}

/// Takes the result rows of a query that has ended.
fn taken(collected: &Collected) -> Vec<RecordBatch> {
    let rows = std::mem::take(&mut *collected.lock().unwrap_or_else(PoisonError::into_inner));
    rows.into_iter().map(|(rows, _)| rows).collect()
}
