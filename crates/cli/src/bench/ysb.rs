//! `bench ysb`: the query, or one of the loops it is measured against, from generated events.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Result;
use thalweg::{EventTime, Generate, Graph, Query, Record, Windowed};
use thalweg_connectors::RowWriter;
use thalweg_workloads::loops::LoopKind;
use thalweg_workloads::reference::ysb::{YsbCount, YsbDrain, YsbInput, ysb_counts, ysb_counts_of_drain};
use thalweg_workloads::ysb::loops::{self, LoopOptions};
use thalweg_workloads::ysb::{YsbGenerator, YsbOptions, event, query};

use super::args::BenchArgs;
use super::by_hand::{self, Settings};
use super::drive::drive;
use super::offered::Offered;
use super::report::{Checked, Figures};
use super::rows::{Kept, Rows, difference};
use super::{fit, reserve_cache};
use crate::failure;
use crate::interrupt::Interrupt;

/// Runs the query or a loop.
pub fn run(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    let options = YsbOptions { seed: args.seed, cyclic: args.cyclic, ..YsbOptions::default() };
    let generator = Arc::new(YsbGenerator::new(options));
    match args.api.loop_kind() {
        Some(kind) => Ok(run_loop(args, kind, &generator)),
        None => run_engine(args, &generator, interrupt),
    }
}

fn run_engine(
    args: &BenchArgs,
    generator: &Arc<YsbGenerator>,
    interrupt: Option<&Interrupt>,
) -> Result<Figures> {
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    let _cache = reserve_cache(&engine, &**generator)?;
    let offered = Offered::of(args);
    let names = args.query_names();
    let planned: Result<Vec<_>> = names.iter().map(|name| plan(args, name, generator, &offered)).collect();
    let (graphs, kept): (Vec<_>, Vec<_>) = planned?.into_iter().unzip();
    let driven = drive(&engine, graphs, &args.until(), interrupt)?;

    let windows = fit::reference_windows(args);
    let checked = if driven.is_comparable(u64::MAX) && kept.iter().all(Kept::is_whole) {
        Checked::by_reference(driven.first_wrong(|index, report| {
            let whole = offered.whole(&report.made);
            let period = period_from(generator, whole.start);
            let (rate_per_s, start_us) = offered.stamps_from(whole.start);
            let events = whole.end - whole.start;
            let run = YsbDrain { period: &period, events, rate_per_s, start_us, windows };
            let others = offered.others(&report.made);
            let others = others.map(|(index, event_time)| input(generator, index, event_time));
            difference(&sum(ysb_counts_of_drain(run), ysb_counts(others, windows)), &kept[index].take())
        }))
    } else {
        Checked::by_conservation()
    };
    Ok(Figures::of_engine(args, &driven, offered.at_rate, checked))
}

fn plan(
    args: &BenchArgs,
    name: &str,
    generator: &Arc<YsbGenerator>,
    offered: &Offered,
) -> Result<(Graph, Kept<YsbCount>)> {
    let splits = offered.splits(args, generator)?;
    let file = args.results_file(&format!("{name}.csv"))?;
    let (sink, kept) = Rows::new(|record| row_of(&record.value), file, write_row)?;
    let query = Query::new(name);
    query::views_per_campaign(&query, splits, args.strategy(), fit::windows(args), sink);
    Ok((query.plan(args.layout()).map_err(|error| failure::of_plan(&error))?, kept))
}

/// A period of the generator's events from one of them on, as the reference takes it.
fn period_from(generator: &YsbGenerator, index: u64) -> Vec<(u64, u64)> {
    let cache = generator.cache();
    let first = (index % cache.len() as u64) as usize;
    let rotated = cache[first..].iter().chain(&cache[..first]);
    rotated.map(|event| (event.event_type, event.ad_id)).collect()
}

fn input(generator: &YsbGenerator, index: u64, event_time: EventTime) -> YsbInput {
    let event = generator.value(index, event_time);
    YsbInput { event_time_us: event_time.as_micros(), event_type: event.event_type, ad_id: event.ad_id }
}

/// The counts of two parts of a run, of which each window and campaign may have some in both.
fn sum(first: Vec<YsbCount>, second: Vec<YsbCount>) -> Vec<YsbCount> {
    if second.is_empty() {
        return first;
    }
    let mut counts: BTreeMap<(i64, u64), u64> = BTreeMap::new();
    for YsbCount { window_start_ms, campaign, count } in first.into_iter().chain(second) {
        *counts.entry((window_start_ms, campaign)).or_default() += count;
    }
    let row = |((window_start_ms, campaign), count)| YsbCount { window_start_ms, campaign, count };
    counts.into_iter().map(row).collect()
}

fn run_loop(args: &BenchArgs, kind: LoopKind, generator: &YsbGenerator) -> Figures {
    let Settings { workers, block_records, nominal_rate_per_s } = Settings::of(args);
    let start = EventTime::EPOCH;
    let run = |stop| {
        loops::run(LoopOptions { kind, workers, block_records, stop, nominal_rate_per_s, start, generator })
    };
    by_hand::figures(args, kind, run, |worker| {
        let period = period_from(generator, worker.first_event as u64);
        let expected = ysb_counts_of_drain(YsbDrain {
            period: &period,
            events: worker.events,
            rate_per_s: nominal_rate_per_s.get(),
            start_us: start.as_micros(),
            windows: event::WINDOW.as_micros().into(),
        });
        let found: Vec<YsbCount> = worker.results.iter().map(row_of).collect();
        difference(&expected, &found)
    })
}

fn row_of(result: &Windowed<u64, u64>) -> YsbCount {
    let window_start_ms = result.window.start.as_micros().div_euclid(1_000);
    YsbCount { window_start_ms, campaign: result.key, count: result.value }
}

fn write_row(record: &Record<Windowed<u64, u64>>, row: &mut RowWriter) {
    let YsbCount { window_start_ms, campaign, count } = row_of(&record.value);
    row.push_i64(window_start_ms);
    row.push_u64(campaign);
    row.push_u64(count);
}
