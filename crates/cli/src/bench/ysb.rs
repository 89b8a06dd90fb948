//! `bench ysb`: the query, or one of the loops it is measured against, from generated events.

use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use thalweg::{EventTime, Generate, Query, Record, Span, TumblingWindows, Windowed};
use thalweg_connectors::{Paced, RowWriter};
use thalweg_workloads::reference::compare;
use thalweg_workloads::reference::ysb::{YsbCount, YsbDrain, ysb_counts_of_drain};
use thalweg_workloads::ysb::loops::{self, LoopKind, LoopOptions, LoopStop};
use thalweg_workloads::ysb::{YsbGenerator, YsbOptions, event, query};

use super::BenchArgs;
use super::drive::drive;
use super::report::{Checked, Figures};
use super::rows::{self, Rows};
use crate::options::{Rate, WrongOption};
use crate::usage;

/// Runs the query or a loop.
pub fn run(args: &BenchArgs) -> Result<Figures> {
    if args.input.is_some() {
        return Err(
            WrongOption("--input: ysb has no recorded input; leave it away, or take nyt".into()).into()
        );
    }
    let window = args.window.unwrap_or(event::WINDOW);
    if window.as_micros() <= 0 || window.as_micros() % 1_000 != 0 {
        return Err(WrongOption(format!(
            "--window: {window} is not a positive number of whole milliseconds"
        ))
        .into());
    }
    let generator = Arc::new(YsbGenerator::new(YsbOptions {
        seed: args.seed,
        cyclic: args.cyclic,
        ..YsbOptions::default()
    }));
    match args.api.loop_kind() {
        Some(kind) => run_loop(args, kind, &generator, window),
        None => run_engine(args, generator, window),
    }
}

fn run_engine(args: &BenchArgs, generator: Arc<YsbGenerator>, window: Span) -> Result<Figures> {
    let engine = args.engine()?.build()?;
    let cache = engine.budget().reserve(generator.cache_bytes());
    let _cache = cache.context("BUDGET_TOO_SMALL: the generator's events do not fit into --memory-budget")?;
    let (pace, offered) = args.pace();
    let source = Paced::new(Arc::clone(&generator), pace)?;
    let (sink, kept) = Rows::new(|record| row_of(&record.value), args.results_file("ysb.csv")?, write_row)?;
    let query = Query::new("ysb");
    query::views_per_campaign(&query, source, args.strategy(), TumblingWindows::new(window)?, sink);
    let driven = drive(&engine, query.plan(args.chaining())?, &args.until())?;

    let (rate_per_s, start_us) = super::rate_and_start(pace);
    let period: Vec<(u64, u64)> =
        generator.cache().iter().map(|event| (event.event_type, event.ad_id)).collect();
    let size_us = window.as_micros();
    let events = driven.report.events_in;
    let expected = ysb_counts_of_drain(YsbDrain { period: &period, events, rate_per_s, start_us, size_us });
    let error = compare(&expected, &rows::take(&kept)).err().map(|difference| difference.to_string());
    Ok(Figures::of_engine(args, "ysb", driven, offered, Checked { how: "oracle-equal", error }))
}

fn run_loop(args: &BenchArgs, kind: LoopKind, generator: &YsbGenerator, window: Span) -> Result<Figures> {
    if args.rate != Rate::Max || window != event::WINDOW || args.results.is_some() {
        let problem = "the loops run at --rate max, with the default --window and without --results";
        return Err(WrongOption(format!("--api {}: {problem}", kind.name())).into());
    }
    let workers = usize::try_from(args.workers).ok().and_then(NonZeroUsize::new);
    let workers = workers.ok_or_else(|| WrongOption("--workers is 0, but must be at least 1".into()))?;
    let block_records = NonZeroUsize::new(args.block_records as usize);
    let block_records =
        block_records.ok_or_else(|| WrongOption("--block-records is 0, but must be at least 1".into()))?;
    let options = LoopOptions {
        kind,
        workers,
        block_records,
        stop: LoopStop::After(Duration::from_secs_f64(args.warmup)),
        nominal_rate_per_s: NonZeroU64::new(super::NOMINAL_RATE_PER_S).expect("not zero"),
        start: EventTime::EPOCH,
        generator,
    };
    if args.warmup > 0.0 {
        loops::run(options);
    }
    let cpu_before = usage::cpu_seconds();
    let ran =
        loops::run(LoopOptions { stop: LoopStop::After(Duration::from_secs_f64(args.seconds)), ..options });
    let cpu_s = usage::cpu_seconds() - cpu_before;

    let cache = generator.cache();
    let mut error = None;
    for worker in &ran.workers {
        let first = worker.first_event % cache.len();
        let rotated = cache[first..].iter().chain(&cache[..first]);
        let period: Vec<(u64, u64)> = rotated.map(|event| (event.event_type, event.ad_id)).collect();
        let expected = ysb_counts_of_drain(YsbDrain {
            period: &period,
            events: worker.events,
            rate_per_s: super::NOMINAL_RATE_PER_S,
            start_us: EventTime::EPOCH.as_micros(),
            size_us: window.as_micros(),
        });
        let found: Vec<YsbCount> = worker.results.iter().map(row_of).collect();
        error = error.or(compare(&expected, &found).err().map(|difference| difference.to_string()));
    }
    Ok(Figures {
        throughput_per_s: ran.events_per_s(),
        events_in: ran.events(),
        results_out: ran.workers.iter().map(|worker| worker.results.len() as u64).sum(),
        seconds: ran.seconds(),
        cpu_s,
        ..Figures::new(args, "ysb", kind.name(), Checked { how: "oracle-equal", error })
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
