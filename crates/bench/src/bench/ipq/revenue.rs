//! IPQ1 and IPQ2: the revenue of ads per window, tumbling or sliding.

use std::sync::Arc;

use anyhow::Result;
use thalweg::{Engine, EventTime, Generate, Graph, Query, Record, Windowed};
use thalweg_cli::failure;
use thalweg_cli::interrupt::Interrupt;
use thalweg_connectors::RowWriter;
use thalweg_workloads::ipq::ad::CAMPAIGN_COUNT;
use thalweg_workloads::ipq::{AdEvent, AdGenerator, query};
use thalweg_workloads::reference::ipq::{RevenueDrain, RevenueRow, Revenues};

use crate::bench::args::BenchArgs;
use crate::bench::delayed::Delayed;
use crate::bench::offered::Offered;
use crate::bench::offered::reserve_cache;
use crate::bench::part::{Check, Part};
use crate::bench::report::{Checked, Figures};
use crate::bench::rows::{Kept, Rows, difference};
use crate::bench::windows;

/// Number of events of all queries above which a run is only checked for lost records. It applies if the
/// reference has to take events one by one, of which it takes some 10 million a second.
const ONE_BY_ONE_MAX: u64 = 100_000_000;

/// Runs the queries of IPQ1 or IPQ2 on an engine.
pub fn run(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    let campaigns = args.keys.unwrap_or(CAMPAIGN_COUNT);
    let generator = Arc::new(AdGenerator::of_campaigns(args.seed, campaigns));
    let (name, names) = (args.workload().facts().name, args.query_names());
    let part = part(name, args, &engine, &generator, &names, Offered::of_queries(args))?;
    part.run(args, &engine, interrupt)
}

/// Returns the queries of the given names, ready to run, with the check of their results.
pub fn part(
    name: &'static str,
    args: &BenchArgs,
    engine: &Engine,
    generator: &Arc<AdGenerator>,
    names: &[String],
    offered: Vec<Offered>,
) -> Result<Part> {
    let cache = reserve_cache(engine, &**generator)?;
    let mut planned = Vec::new();
    for (name, offered) in names.iter().zip(&offered) {
        planned.push(plan(args, name, offered.inputs(args, generator)?)?);
    }
    let (graphs, kept): (Vec<_>, Vec<_>) = planned.into_iter().unzip();
    let check = checker(args, generator, &offered, kept);
    Ok(Part { name, args: args.clone(), graphs, offered, check, cache })
}

fn plan(
    args: &BenchArgs,
    name: &str,
    inputs: Vec<Delayed<AdGenerator>>,
) -> Result<(Graph, Kept<RevenueRow>)> {
    let file = args.results_file(&format!("{name}.csv"))?;
    let (sink, kept) = Rows::new(row_of, file, write_row)?;
    let query = Query::new(name);
    let (strategy, windows) = (args.strategy(), windows::sliding_windows(args));
    match args.several_inputs() {
        Some(_) => query::revenue_of_inputs(&query, inputs, strategy, windows, sink)?,
        None => query::revenue_per_window(&query, inputs, strategy, windows, sink)?,
    }
    Ok((args.plan(query)?, kept))
}

fn checker(
    args: &BenchArgs,
    generator: &Arc<AdGenerator>,
    offered: &[Offered],
    kept: Vec<Kept<RevenueRow>>,
) -> Check {
    let (windows, generator, offered) =
        (windows::reference_windows(args), Arc::clone(generator), offered.to_vec());
    let events_max = offered.iter().map(|offered| offered.records_max(u64::MAX, ONE_BY_ONE_MAX)).min();
    Box::new(move |reports| {
        if !reports.is_comparable(events_max.unwrap_or(0)) || !kept.iter().all(Kept::is_whole) {
            return Checked::by_conservation();
        }
        Checked::by_reference(reports.first_wrong(|index, report| {
            let offered = &offered[index];
            let whole = offered.whole(&report.made);
            let (rate_per_s, start_us) = offered.stamps_from(whole.start);
            let (period, events) = (period_from(&generator, whole.start), whole.end - whole.start);
            let mut revenues = Revenues::new(windows);
            revenues.add_drain(RevenueDrain { period: &period, events, rate_per_s, start_us });
            revenues.add(offered.others(&report.made).map(|(index, event_time)| {
                (event_time.as_micros(), generator.value(index, event_time).revenue_micros)
            }));
            difference(&revenues.rows(), &kept[index].take())
        }))
    })
}

/// Returns the revenues of the ads of one period of the generator, after which its ads repeat, beginning with
/// the ad at the given index.
fn period_from(generator: &AdGenerator, index: u64) -> Vec<u64> {
    let cache = generator.cache();
    let (before, behind) = cache.split_at((index % cache.len() as u64) as usize);
    behind.iter().chain(before).map(|AdEvent { revenue_micros, .. }| *revenue_micros).collect()
}

fn row_of(record: &Record<Windowed<EventTime, u64>>) -> RevenueRow {
    let Windowed { key, value, .. } = record.value;
    RevenueRow { window_start_ms: key.as_micros().div_euclid(1_000), revenue_micros: value }
}

fn write_row(record: &Record<Windowed<EventTime, u64>>, row: &mut RowWriter) {
    let RevenueRow { window_start_ms, revenue_micros } = row_of(record);
    row.push_i64(window_start_ms);
    row.push_u64(revenue_micros);
}
