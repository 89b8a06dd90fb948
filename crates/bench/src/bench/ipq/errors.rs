//! IPQ4: the number of errors of each job's requests, per window.

use std::num::NonZeroU64;
use std::sync::Arc;

use anyhow::Result;
use thalweg::{EventTime, Generate, Graph, Query, Record, Windowed};
use thalweg_cli::failure;
use thalweg_cli::interrupt::Interrupt;
use thalweg_connectors::RowWriter;
use thalweg_workloads::ipq::{Request, RequestGenerator, Side, query};
use thalweg_workloads::reference::ipq::{ErrorsRow, RequestInput, errors_rows};

use crate::bench::args::BenchArgs;
use crate::bench::drive::drive;
use crate::bench::load;
use crate::bench::offered::{self, Offered};
use crate::bench::report::{Checked, Figures};
use crate::bench::rows::{Kept, Rows, difference};
use crate::bench::windows;

/// Number of events of all queries above which a run is only checked for lost records: the reference must not
/// take much longer than the run.
const REFERENCE_EVENTS_MAX: u64 = 50_000_000;

/// Runs the queries of IPQ4 on an engine.
pub fn run(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    let size_us = windows::reference_windows(args).size_us;
    // Each query has one load per stream. The generator draws from as many different request numbers as the
    // stream has events in a window.
    let of_query = |offered: &Offered| {
        let sides = [Side::Requests, Side::Errors];
        let sides = sides.map(|side| Arc::new(generator(args, side, offered.stamps_from(0).0, size_us)));
        (sides, [0, 1].map(|stream| offered.of_stream(stream)))
    };
    let offered = Offered::of_queries(args);
    let streams: Vec<_> = offered.iter().map(of_query).collect();
    let mut planned = Vec::new();
    for (name, (sides, offered)) in args.query_names().iter().zip(&streams) {
        planned.push(plan(args, name, sides, offered)?);
    }
    let (graphs, kept): (Vec<_>, Vec<_>) = planned.into_iter().unzip();
    let driven = drive(&engine, graphs, &load::until(args), interrupt)?;
    let checked = if driven.is_comparable(REFERENCE_EVENTS_MAX) && kept.iter().all(Kept::is_whole) {
        Checked::by_reference(driven.first_wrong(|index, report| {
            // The source of requests is planned before the source of errors, so it comes first in the report.
            let (sides, offered) = &streams[index];
            let stream = |side: usize| {
                let (generator, records) = (&sides[side], offered[side].in_order(&report.made[side..=side]));
                records.map(move |(index, event_time)| input_of(generator, index, event_time))
            };
            difference(&errors_rows(stream(0), stream(1), size_us), &kept[index].take())
        }))
    } else {
        Checked::by_conservation()
    };
    Ok(Figures::of_engine(args, &driven, offered::per_s(&offered, args, &driven), checked))
}

fn generator(args: &BenchArgs, side: Side, rate_per_s: u64, size_us: i64) -> RequestGenerator {
    let per_window = u128::from(rate_per_s) * u128::from(size_us.unsigned_abs()) / 1_000_000;
    let per_window = u64::try_from(per_window).unwrap_or(u64::MAX).max(1);
    RequestGenerator::new(args.seed, side, NonZeroU64::new(per_window).expect("it is one at least"))
}

fn plan(
    args: &BenchArgs,
    name: &str,
    sides: &[Arc<RequestGenerator>; 2],
    offered: &[Offered; 2],
) -> Result<(Graph, Kept<ErrorsRow>)> {
    let [requests, errors] = sides;
    let (requests, errors) = (offered[0].source(args, requests)?, offered[1].source(args, errors)?);
    let file = args.results_file(&format!("{name}.csv"))?;
    let (sink, kept) = Rows::new(row_of, file, write_row)?;
    let query = Query::new(name);
    let windows = windows::tumbling_windows(args);
    query::errors_per_job(&query, requests, errors, args.strategy(), windows, sink);
    Ok((args.plan(query)?, kept))
}

fn input_of(generator: &RequestGenerator, index: u64, event_time: EventTime) -> RequestInput {
    let Request { request, job } = generator.value(index, event_time);
    RequestInput { event_time_us: event_time.as_micros(), request, job }
}

fn row_of(record: &Record<Windowed<u64, u64>>) -> ErrorsRow {
    let Windowed { window, key: job, value: errors, .. } = record.value;
    ErrorsRow { window_start_ms: window.start.as_micros().div_euclid(1_000), job, errors }
}

fn write_row(record: &Record<Windowed<u64, u64>>, row: &mut RowWriter) {
    let ErrorsRow { window_start_ms, job, errors } = row_of(record);
    row.push_i64(window_start_ms);
    [job, errors].into_iter().for_each(|number| row.push_u64(number));
}
