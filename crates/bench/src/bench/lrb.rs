//! `bench lrb`: Linear Road's short form (speed, toll and accidents per segment and minute), or its
//! hand-written loop, from generated or recorded traffic.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use thalweg::{Engine, Graph, Query, QueryReport, Record, Source, Windowed};
use thalweg_cli::failure;
use thalweg_cli::interrupt::Interrupt;
use thalweg_connectors::RowWriter;
use thalweg_workloads::loops::LoopKind;
use thalweg_workloads::lrb::{
    LrbGenerator, LrbRecord, LrbWindows, Segment, SegmentReport, check, loops, query,
};
use thalweg_workloads::reference::lrb::{LrbAnswer, LrbInput, LrbRow, LrbSizes, lrb_rows_in};
use thalweg_workloads::reference::lrb_full::LrbColumns;

use super::args::BenchArgs;
use super::by_hand::{self, START, Settings};
use super::drive::{Until, drive};
use super::linear_road;
use super::offered::reserve_cache;
use super::offered::{self, Offered};
use super::part::{Check, Part};
use super::recorded::Recorded;
use super::report::{Checked, Figures};
use super::rows::{self, Kept, Rows};

/// Runs Linear Road's short form (speed, toll and accidents), or its hand-written loop.
pub fn run(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    match (args.api.loop_kind(), &args.input) {
        (Some(kind), _) => Ok(run_loop(args, kind)),
        (None, Some(input)) => run_recorded(args, input, interrupt),
        (None, None) => run_generated(args, interrupt),
    }
}

fn run_generated(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    let generator = Arc::new(linear_road::generator(args));
    part(args, &engine, &generator, Offered::of_queries(args))?.run(args, &engine, interrupt)
}

/// Returns the queries of Linear Road's short form (speed, toll and accidents), ready to run, with the check
/// of their results.
pub fn part(
    args: &BenchArgs,
    engine: &Engine,
    generator: &Arc<LrbGenerator>,
    offered: Vec<Offered>,
) -> Result<Part> {
    let cache = reserve_cache(engine, &**generator)?;
    let mut planned = Vec::new();
    for (name, offered) in args.query_names().iter().zip(&offered) {
        planned.push(plan(args, name, offered.splits(args, generator)?)?);
    }
    let (graphs, kept): (Vec<_>, Vec<_>) = planned.into_iter().unzip();
    let check = checker(sizes(args), generator, &offered, kept);
    Ok(Part { name: "lrb", args: args.clone(), graphs, offered, check, cache })
}

fn windows(args: &BenchArgs) -> LrbWindows {
    args.lrb_windows.unwrap_or_default()
}

/// Returns the windows that the command line asks for, in the form that the reference takes.
fn sizes(args: &BenchArgs) -> LrbSizes {
    let LrbWindows { accidents, accidents_slide, tolls, last } = windows(args);
    LrbSizes {
        accidents_us: accidents.as_micros(),
        accidents_slide_us: accidents_slide.as_micros(),
        tolls_us: tolls.as_micros(),
        last_us: last.as_micros(),
    }
}

fn checker(
    sizes: LrbSizes,
    generator: &Arc<LrbGenerator>,
    offered: &[Offered],
    kept: Vec<Kept<LrbRow>>,
) -> Check {
    let (generator, offered) = (Arc::clone(generator), offered.to_vec());
    Box::new(move |reports| {
        if !reports.is_comparable(u64::MAX) || !kept.iter().all(Kept::is_whole) {
            return Checked::by_conservation();
        }
        Checked::by_reference(reports.first_wrong(|index, report| {
            let records = linear_road::generated(&generator, offered[index].records(&report.made));
            let answer = lrb_rows_in(sizes, records.map(|record| check::input_of(&record)));
            difference(&answer, &kept[index].take(), report)
        }))
    })
}

fn run_recorded(args: &BenchArgs, input: &Path, interrupt: Option<&Interrupt>) -> Result<Figures> {
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    let recorded = Recorded::new(args, input, linear_road::LAYOUT, &["lrb.csv".to_owned()])?;
    let (graph, kept) = plan(args, "lrb", [recorded.open(linear_road::record_of_row)?])?;
    let driven = drive(&engine, vec![graph], &Until::End, interrupt)?;
    let answer = if driven.is_comparable(u64::MAX) && kept.is_whole() {
        recorded.with_lines(&engine, &driven, |lines| {
            let rows = lines.filter_map(linear_road::columns_of_line).map(|columns| input_of(&columns));
            lrb_rows_in(sizes(args), rows)
        })?
    } else {
        None
    };
    Ok(recorded.figures(args, &driven, answer, |answer, report| difference(answer, &kept.take(), report)))
}

fn plan<S>(args: &BenchArgs, name: &str, splits: impl IntoIterator<Item = S>) -> Result<(Graph, Kept<LrbRow>)>
where
    S: Source<Item = LrbRecord> + 'static,
{
    let file = args.results_file(&format!("{name}.csv"))?;
    let (sink, kept) = Rows::new(|record| check::row_of(&record.value), file, write_row)?;
    let query = Query::new(name);
    query::segment_tolls_in(&query, splits, args.strategy(), windows(args), sink)?;
    Ok((args.plan(query)?, kept))
}

fn run_loop(args: &BenchArgs, kind: LoopKind) -> Figures {
    let generator = &linear_road::generator(args);
    let settings = Settings::of(args);
    let run = |stop| loops::run(settings.options(kind, stop, generator));
    by_hand::figures(args, kind, run, |worker| {
        let first = worker.first_event as u64;
        let stamp = |index| offered::stamp(settings.nominal_rate_per_s.get(), START.as_micros(), index);
        let records = (0..worker.events).map(|index| (first + index, stamp(index)));
        let records = linear_road::generated(generator, records);
        let answer = lrb_rows_in(sizes(args), records.map(|record| check::input_of(&record)));
        let found: Vec<LrbRow> = worker.results.iter().map(check::row_of).collect();
        rows::difference(&answer.rows, &found)
    })
}

/// Returns the first difference between the results of a query and those of the reference.
fn difference(answer: &LrbAnswer, found: &[LrbRow], report: &QueryReport) -> Option<String> {
    let wrong = rows::wrong_count(&[("records read", answer.read, report.events_in)]);
    wrong.or_else(|| rows::difference(&answer.rows, found))
}

/// Converts a row of the traffic to the reference's input, with the fields that Linear Road's short form
/// (speed, toll and accidents) reads.
fn input_of(
    &[kind, time_s, vehicle, speed, xway, lane, direction, segment, position, ..]: &LrbColumns,
) -> LrbInput {
    // Fields that a request lacks are -1 in the row. They become arbitrary numbers here, which are not
    // read.
    LrbInput {
        event_time_us: i64::from(time_s) * 1_000_000,
        kind: kind as u8,
        vehicle: vehicle as u32,
        speed: speed as u8,
        xway: xway as u16,
        lane: lane as u8,
        direction: direction as u8,
        segment: segment as u8,
        position: position as u32,
    }
}

fn write_row(record: &Record<Windowed<Segment, SegmentReport>>, row: &mut RowWriter) {
    let LrbRow { window_start_s, xway, direction, segment, cars, average_speed, toll, accidents } =
        check::row_of(&record.value);
    row.push_i64(window_start_s);
    [xway.into(), direction.into(), segment.into(), cars].into_iter().for_each(|number| row.push_u64(number));
    row.push_f64(average_speed);
    row.push_u64(toll);
    row.push_u64(accidents);
}
