//! `thalweg bench`: runs a workload, checks its results against the reference, and measures it.
//!
//! [`ysb`] and [`nyt`] make the queries and check what comes out, [`drive`] runs an engine for a while,
//! [`report`] writes the figures as text or JSON.

mod drive;
mod nyt;
mod report;
mod rows;
mod ysb;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use thalweg::{
    Chaining, Clock, EdgeLimits, Engine, EngineBuilder, EventTime, ProcessingTime, Span, SystemClock,
    WatermarkStrategy,
};
use thalweg_connectors::Pace;
use thalweg_workloads::ysb::loops::LoopKind;

use crate::options::{self, OnBadOption, Rate, WrongOption};

use drive::Until;

/// Records per second of event time when a generator is drained.
const NOMINAL_RATE_PER_S: u64 = 10_000_000;

/// What to run, and how.
#[derive(Args)]
pub struct BenchArgs {
    /// The workload.
    workload: Workload,
    /// Who writes the query: the typed interface, or one of the hand-written loops it is measured against.
    #[arg(long, value_enum, default_value_t = Api::Typed)]
    api: Api,
    /// Who runs next.
    #[arg(long, default_value = "fcfs")]
    policy: String,
    /// Which operators share a task.
    #[arg(long, value_enum, default_value_t = Chain::Default)]
    chain: Chain,
    /// Every operator a task of its own; the same as --chain none.
    #[arg(long, conflicts_with = "chain")]
    isolate: bool,
    /// Threads that run operators.
    #[arg(long, default_value_t = 1)]
    workers: u64,
    /// Offered records per second, or `max` to drain the generator as fast as can be.
    #[arg(long, value_parser = options::rate, default_value = "max")]
    rate: Rate,
    /// How long to measure a generated workload, in seconds.
    #[arg(long, value_parser = options::seconds, default_value = "5")]
    seconds: f64,
    /// How long to run before measuring, in seconds.
    #[arg(long, value_parser = options::seconds, default_value = "0.5")]
    warmup: f64,
    /// Run so many times; one line of output each.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000), default_value_t = 1)]
    repeat: u32,
    /// The windows' size [default: 10s for ysb, 2s for nyt].
    #[arg(long, value_parser = options::span)]
    window: Option<Span>,
    /// Recorded input instead of generated: a .csv or .csv.gz file of TLC trip data (nyt).
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Write the result rows as CSV into this folder: ysb.csv or nyt.csv.
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// What to do with lines that are not understood: fail, skip, or divert:FILE
    /// [default: divert to WORKLOAD.bad.csv in the results' folder, or here].
    #[arg(long, value_parser = options::on_bad)]
    on_bad: Option<OnBadOption>,
    /// How far a record may lie behind the latest before it.
    #[arg(long, value_parser = options::span, default_value = "0s")]
    out_of_order: Span,
    /// The least advance between two watermarks.
    #[arg(long, value_parser = options::span, default_value = "1ms")]
    watermark_step: Span,
    /// Where random numbers start.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Take ads and event types in turn instead of at random (ysb).
    #[arg(long)]
    cyclic: bool,
    /// Records per block.
    #[arg(long, default_value_t = 384)]
    block_records: u32,
    /// Blocks per chunk.
    #[arg(long, default_value_t = 4)]
    chunk_blocks: u32,
    /// Memory that edges, state and buffers may hold, such as 256MiB.
    #[arg(long, value_parser = options::bytes, default_value = "256MiB")]
    memory_budget: u64,
    /// How to write the figures.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    output: Format,
}

/// A workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Workload {
    /// Yahoo's streaming benchmark: views per campaign.
    Ysb,
    /// New York's taxis: trips and their mean distance per cell of the town.
    Nyt,
}

/// Who writes the query.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Api {
    /// The typed interface, run by the engine.
    Typed,
    /// One hand-written loop per operator (ysb).
    LoopBlocks,
    /// The same with a selection vector (ysb).
    LoopSelection,
    /// Two hand-written chains (ysb).
    LoopChains,
    /// One hand-written loop (ysb).
    LoopFused,
}

impl Api {
    fn loop_kind(self) -> Option<LoopKind> {
        match self {
            Api::Typed => None,
            Api::LoopBlocks => Some(LoopKind::Blocks),
            Api::LoopSelection => Some(LoopKind::Selection),
            Api::LoopChains => Some(LoopKind::Chains),
            Api::LoopFused => Some(LoopKind::Fused),
        }
    }
}

/// Which operators share a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Chain {
    /// None.
    None,
    /// Neighbours without state, and from the first one with state on to the sink.
    Default,
}

/// How to write the figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON object a run and line.
    Json,
}

impl BenchArgs {
    fn chaining(&self) -> Chaining {
        if self.isolate || self.chain == Chain::None { Chaining::None } else { Chaining::Default }
    }

    fn strategy(&self) -> WatermarkStrategy {
        WatermarkStrategy::bounded_out_of_order(self.out_of_order).with_step(self.watermark_step)
    }

    fn engine(&self) -> Result<EngineBuilder> {
        let policy = thalweg_scheduling::by_name(&self.policy)
            .map_err(|error| WrongOption(format!("--policy: {error}")))?;
        let edges = EdgeLimits {
            block_records: self.block_records,
            chunk_blocks: self.chunk_blocks,
            ..EdgeLimits::default()
        };
        let builder = Engine::builder().workers(self.workers).memory_budget_bytes(self.memory_budget);
        Ok(builder.edges(edges).policy(policy))
    }

    /// The pace of a generated workload, and its rate if it has one.
    fn pace(&self) -> (Pace, Option<u64>) {
        match self.rate {
            Rate::Max => {
                (Pace::Drain { nominal_rate_per_s: NOMINAL_RATE_PER_S, start: EventTime::EPOCH }, None)
            }
            Rate::PerSecond(rate_per_s) => {
                // A whole microsecond, so that event times have a closed form.
                let now_us = SystemClock::default().now().as_nanos() / 1_000;
                (
                    Pace::Rate { rate_per_s, start: ProcessingTime::from_nanos(now_us * 1_000) },
                    Some(rate_per_s),
                )
            }
        }
    }

    /// How long a generated workload runs.
    fn until(&self) -> Until {
        let [warmup, measured] = [self.warmup, self.seconds].map(Duration::from_secs_f64);
        Until::Measured { warmup, measured }
    }

    /// The file of results, in its folder, which is made if it is not there.
    fn results_file(&self, name: &str) -> Result<Option<PathBuf>> {
        let Some(folder) = &self.results else { return Ok(None) };
        std::fs::create_dir_all(folder)
            .with_context(|| format!("--results: {} cannot be made", folder.display()))?;
        Ok(Some(folder.join(name)))
    }
}

/// Records per second and the first record's event time in microseconds: from these every stamp follows.
fn rate_and_start(pace: Pace) -> (u64, i64) {
    match pace {
        Pace::Drain { nominal_rate_per_s, start } => (nominal_rate_per_s, start.as_micros()),
        Pace::Rate { rate_per_s, start } => (rate_per_s, (start.as_nanos() / 1_000).cast_signed()),
    }
}

/// Runs the workload as often as asked; `false` if a result is wrong.
pub fn run(args: &BenchArgs) -> Result<bool> {
    let mut all_ok = true;
    for _ in 0..args.repeat {
        let figures = match args.workload {
            Workload::Ysb => ysb::run(args)?,
            Workload::Nyt => nyt::run(args)?,
        };
        match args.output {
            Format::Text => print!("{}", figures.text()),
            Format::Json => println!("{}", figures.json()?),
        }
        all_ok &= figures.ok;
    }
    Ok(all_ok)
}
