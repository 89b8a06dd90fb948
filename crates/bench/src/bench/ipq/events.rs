//! IPQ3: the number of events of each level that every job has logged, per window.

use std::sync::Arc;

use anyhow::Result;
use thalweg::{Generate, Graph, Query, Record, Windowed};
use thalweg_cli::failure;
use thalweg_cli::interrupt::Interrupt;
use thalweg_connectors::RowWriter;
use thalweg_workloads::ipq::{JobLevel, LogGenerator, query};
use thalweg_workloads::reference::ipq::{EventsRow, events_rows};

use crate::bench::args::BenchArgs;
use crate::bench::delayed::Delayed;
use crate::bench::drive::drive;
use crate::bench::load;
use crate::bench::offered::{self, Offered};
use crate::bench::report::{Checked, Figures};
use crate::bench::rows::{Kept, Rows, difference};
use crate::bench::windows;

/// Number of events of all queries above which a run is only checked for lost records: the reference must not
/// take longer than the run.
const REFERENCE_EVENTS_MAX: u64 = 300_000_000;

/// Runs the queries of IPQ3 on an engine.
pub fn run(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    let generator = Arc::new(LogGenerator::new(args.seed));
    let offered = Offered::of_queries(args);
    let mut planned = Vec::new();
    for (name, offered) in args.query_names().iter().zip(&offered) {
        planned.push(plan(args, name, offered.inputs(args, &generator)?)?);
    }
    let (graphs, kept): (Vec<_>, Vec<_>) = planned.into_iter().unzip();
    let driven = drive(&engine, graphs, &load::until(args), interrupt)?;
    let checked = if driven.is_comparable(REFERENCE_EVENTS_MAX) && kept.iter().all(Kept::is_whole) {
        let event = |(index, event_time)| {
            let event = generator.value(index, event_time);
            (event_time.as_micros(), event.job, event.level)
        };
        let size_us = windows::reference_windows(args).size_us;
        Checked::by_reference(driven.first_wrong(|index, report| {
            let events = offered[index].records(&report.made).map(event);
            difference(&events_rows(events, size_us), &kept[index].take())
        }))
    } else {
        Checked::by_conservation()
    };
    Ok(Figures::of_engine(args, &driven, offered::per_s(&offered, args, &driven), checked))
}

fn plan(
    args: &BenchArgs,
    name: &str,
    inputs: Vec<Delayed<LogGenerator>>,
) -> Result<(Graph, Kept<EventsRow>)> {
    let file = args.results_file(&format!("{name}.csv"))?;
    let (sink, kept) = Rows::new(row_of, file, write_row)?;
    let query = Query::new(name);
    let (strategy, windows) = (args.strategy(), windows::tumbling_windows(args));
    match args.several_inputs() {
        Some(_) => query::events_of_inputs(&query, inputs, strategy, windows, sink),
        None => query::events_per_job(&query, inputs, strategy, windows, sink),
    }
    Ok((args.plan(query)?, kept))
}

fn row_of(record: &Record<Windowed<JobLevel, u64>>) -> EventsRow {
    let Windowed { window, key: JobLevel { job, level }, value: events, .. } = record.value;
    EventsRow { window_start_ms: window.start.as_micros().div_euclid(1_000), job, level, events }
}

fn write_row(record: &Record<Windowed<JobLevel, u64>>, row: &mut RowWriter) {
    let EventsRow { window_start_ms, job, level, events } = row_of(record);
    row.push_i64(window_start_ms);
    [job.into(), level.into(), events].into_iter().for_each(|number| row.push_u64(number));
}
