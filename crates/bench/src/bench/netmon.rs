//! `bench netmon`: the query, or one of its hand-written loops, from generated probes, or from [`recorded`]
//! ones.

mod query;
mod recorded;

use std::sync::Arc;

use anyhow::Result;
use thalweg::{Generate, Record};
use thalweg_cli::failure;
use thalweg_cli::interrupt::Interrupt;
use thalweg_workloads::loops::LoopKind;
use thalweg_workloads::netmon::{NetmonGenerator, Probe, WINDOW, loops};
use thalweg_workloads::reference::netmon::{NetmonDrain, NetmonInput, NetmonSums};

use self::query::{KeptMeans, difference, plan, row_of};
use super::args::BenchArgs;
use super::by_hand::{self, START, Settings};
use super::drive::drive;
use super::load;
use super::offered::reserve_cache;
use super::offered::{self, Offered};
use super::report::{Checked, Figures};
use super::windows;

/// Number of probes of all queries above which a run is only checked for lost records. It applies if the
/// reference has to take probes one by one, of which it takes some 4 million a second.
const ONE_BY_ONE_MAX: u64 = 20_000_000;

/// Runs the query `netmon`, or one of its hand-written loops.
pub fn run(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    if let Some(input) = &args.input {
        return recorded::run(args, input, interrupt);
    }
    let generator = match args.keys.and_then(|pairs| usize::try_from(pairs).ok()) {
        Some(pairs) => NetmonGenerator::of_pairs(args.seed, pairs),
        None => NetmonGenerator::new(args.seed),
    };
    let generator = Arc::new(generator);
    match args.api.loop_kind() {
        Some(kind) => Ok(run_loop(args, kind, &generator)),
        None => run_generated(args, &generator, interrupt),
    }
}

fn run_generated(
    args: &BenchArgs,
    generator: &Arc<NetmonGenerator>,
    interrupt: Option<&Interrupt>,
) -> Result<Figures> {
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    let _cache = reserve_cache(&engine, &**generator)?;
    let offered = Offered::of_queries(args);
    let mut planned = Vec::new();
    for (name, offered) in args.query_names().iter().zip(&offered) {
        planned.push(plan(args, name, offered.splits(args, generator)?)?);
    }
    let (graphs, kept): (Vec<_>, Vec<_>) = planned.into_iter().unzip();
    let driven = drive(&engine, graphs, &load::until(args), interrupt)?;
    let records_max = offered.iter().map(|offered| offered.records_max(u64::MAX, ONE_BY_ONE_MAX)).min();
    let checked = if driven.is_comparable(records_max.unwrap_or(0)) && kept.iter().all(KeptMeans::are_whole) {
        let period: Vec<_> = generator.cache().iter().map(plain).collect();
        let input =
            |(index, event_time)| input_of(&Record::new(event_time, generator.value(index, event_time)));
        Checked::by_reference(driven.first_wrong(|index, report| {
            let offered = &offered[index];
            let (rate_per_s, start_us) = offered.stamps_from(0);
            let indexes = offered.whole(&report.made);
            let mut sums = NetmonSums::new(windows::reference_windows(args));
            sums.add_drain(NetmonDrain { period: &period, indexes, rate_per_s, start_us });
            sums.add(offered.others(&report.made).map(input));
            kept[index].difference(&sums)
        }))
    } else {
        Checked::by_conservation()
    };
    Ok(Figures::of_engine(args, &driven, offered::per_s(&offered, args, &driven), checked))
}

fn run_loop(args: &BenchArgs, kind: LoopKind, generator: &NetmonGenerator) -> Figures {
    let settings = Settings::of(args);
    let run = |stop| loops::run(settings.options(kind, stop, generator));
    let cache = generator.cache();
    by_hand::figures(args, kind, run, |worker| {
        let (behind, before) = cache.split_at(worker.first_event);
        let period: Vec<_> = before.iter().chain(behind).map(plain).collect();
        let (rate_per_s, start_us) = (settings.nominal_rate_per_s.get(), START.as_micros());
        let mut sums = NetmonSums::new(WINDOW.as_micros());
        sums.add_drain(NetmonDrain { period: &period, indexes: 0..worker.events, rate_per_s, start_us });
        difference(&sums, worker.results.iter().map(row_of).collect())
    })
}

/// Converts a generated probe to the form that the reference takes.
fn plain(probe: &Probe) -> (u32, u32, f64) {
    (probe.pair.source, probe.pair.destination, probe.rtt)
}

fn input_of(record: &Record<Probe>) -> NetmonInput {
    let (source, destination, rtt) = plain(&record.value);
    NetmonInput { event_time_us: record.event_time.as_micros(), source, destination, rtt }
}
