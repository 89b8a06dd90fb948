//! `bench ysb`: the query, or one of the loops it is measured against, from generated events.

use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use thalweg::{EventTime, Graph, Query, Record, TumblingWindows, Windowed};
use thalweg_connectors::{Pace, Paced, RowWriter};
use thalweg_runtime::system;
use thalweg_workloads::reference::compare;
use thalweg_workloads::reference::ysb::{YsbCount, YsbDrain, ysb_counts_of_drain};
use thalweg_workloads::ysb::loops::{self, LoopKind, LoopOptions, LoopStop};
use thalweg_workloads::ysb::{YsbGenerator, YsbOptions, event, query};

use super::args::{BenchArgs, NOMINAL_RATE_PER_S};
use super::drive::drive;
use super::report::{Checked, Figures};
use super::rows::{Kept, Rows};
use super::{fit, reserve_cache, stamps_of};
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
    let (pace, offered) = args.pace();
    let names = args.query_names("ysb");
    let planned: Result<Vec<_>> = names.iter().map(|name| plan(args, name, generator, pace)).collect();
    let (graphs, kept): (Vec<_>, Vec<_>) = planned?.into_iter().unzip();
    let driven = drive(&engine, graphs, &args.until(), interrupt)?;

    let (rate_per_s, start_us) = stamps_of(pace);
    let period: Vec<(u64, u64)> =
        generator.cache().iter().map(|event| (event.event_type, event.ad_id)).collect();
    let size_us = fit::window(args).as_micros();
    let error = driven.first_difference(&kept, |report, found| {
        let events = report.events_in;
        let run = YsbDrain { period: &period, events, rate_per_s, start_us, size_us };
        compare(&ysb_counts_of_drain(run), found).err().map(|difference| difference.to_string())
    });
    Ok(Figures::of_engine(args, "ysb", &driven, offered, Checked { how: "oracle-equal", error }))
}

fn plan(
    args: &BenchArgs,
    name: &str,
    generator: &Arc<YsbGenerator>,
    pace: Pace,
) -> Result<(Graph, Kept<YsbCount>)> {
    let source = Paced::new(Arc::clone(generator), pace).map_err(|error| failure::of_connector(&error))?;
    let file = args.results_file(&format!("{name}.csv"))?;
    let (sink, kept) = Rows::new(|record| row_of(&record.value), file, write_row)?;
    let query = Query::new(name);
    let windows = TumblingWindows::new(fit::window(args))?;
    query::views_per_campaign(&query, source, args.strategy(), windows, sink);
    Ok((query.plan(args.chaining()).map_err(|error| failure::of_plan(&error))?, kept))
}

fn run_loop(args: &BenchArgs, kind: LoopKind, generator: &YsbGenerator) -> Figures {
    let at_least_one = |number: u64| {
        let number = usize::try_from(number).ok().and_then(NonZeroUsize::new);
        number.expect("the option's bounds lie between 1 and a million")
    };
    let options = LoopOptions {
        kind,
        workers: at_least_one(args.workers),
        block_records: at_least_one(args.block_records),
        stop: LoopStop::After(Duration::from_secs_f64(args.warmup)),
        nominal_rate_per_s: NonZeroU64::new(NOMINAL_RATE_PER_S).expect("not zero"),
        start: EventTime::EPOCH,
        generator,
    };
    system::forget_rss_peak();
    if args.warmup > 0.0 {
        loops::run(options);
    }
    let cpu_before = system::cpu_seconds();
    let ran =
        loops::run(LoopOptions { stop: LoopStop::After(Duration::from_secs_f64(args.seconds)), ..options });
    let cpu_s = system::cpu_seconds() - cpu_before;
    let rss_peak_bytes = system::rss_peak_bytes();

    let cache = generator.cache();
    let mut error = None;
    for worker in &ran.workers {
        let first = worker.first_event % cache.len();
        let rotated = cache[first..].iter().chain(&cache[..first]);
        let period: Vec<(u64, u64)> = rotated.map(|event| (event.event_type, event.ad_id)).collect();
        let expected = ysb_counts_of_drain(YsbDrain {
            period: &period,
            events: worker.events,
            rate_per_s: NOMINAL_RATE_PER_S,
            start_us: EventTime::EPOCH.as_micros(),
            size_us: event::WINDOW.as_micros(),
        });
        let found: Vec<YsbCount> = worker.results.iter().map(row_of).collect();
        error = error.or(compare(&expected, &found).err().map(|difference| difference.to_string()));
    }
    Figures {
        throughput_per_s: ran.events_per_s(),
        events_in: ran.events(),
        results_out: ran.workers.iter().map(|worker| worker.results.len() as u64).sum(),
        seconds: ran.seconds(),
        cpu_s,
        rss_peak_bytes,
        ..Figures::new(args, "ysb", kind.name(), Checked { how: "oracle-equal", error })
    }
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
