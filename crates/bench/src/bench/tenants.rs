//! `bench tenants`: Cameo's two groups of jobs at once. The bulk group, the [`Aggressor`], may be offered
//! more records than the engine can process.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use thalweg::{Clock, SystemClock};
use thalweg_cli::console;
use thalweg_cli::failure::{self, WrongOption};
use thalweg_cli::interrupt::Interrupt;
use thalweg_cli::show;
use thalweg_connectors::Arrivals;
use thalweg_workloads::ipq::AdGenerator;
use thalweg_workloads::tenants::Group;

use super::args::BenchArgs;
use super::drive::{Until, drive};
use super::ipq::revenue;
use super::load;
use super::offered::Offered;
use super::part::run_by_turns;
use super::report::Figures;
use super::target::Target;
use super::workload::Workload;
use crate::values::{Aggressor, Rate};

/// The two groups of jobs, in the order of the figures.
const GROUPS: [Group; 2] = [Group::Sensitive, Group::Bulk];

/// Time for which the capacity of the bulk group is measured, and warm-up before. Both are several times the
/// time in which buffers fill.
const PROBE: Duration = Duration::from_millis(800);
const PROBE_WARMUP: Duration = Duration::from_millis(300);

/// Highest rate of a query in records per second, the limit of any generator.
const QUERY_RATE_PER_S_MAX: u64 = 1_000_000_000;

/// Returns the options of each of the two groups of jobs.
pub fn parts(args: &BenchArgs) -> Vec<BenchArgs> {
    GROUPS.map(|group| part(args, group)).into()
}

fn part(args: &BenchArgs, group: Group) -> BenchArgs {
    let queries = queries_of(args, group);
    let common = BenchArgs {
        target: Target::Workload(Workload::Ipq1),
        queries: Some(queries),
        window: Some(group.window()),
        message_records: args.message_records.or(group.message_events()),
        ..args.clone()
    };
    match group {
        Group::Sensitive => BenchArgs {
            rate: match args.rate {
                Rate::Max => Rate::PerSecond(group.events_per_s()),
                rate @ Rate::PerSecond(_) => rate,
            },
            latency_target: Some(args.latency_target.unwrap_or(group.latency_target())),
            arrivals: Arrivals::Constant,
            skew: 0.0,
            ..common
        },
        Group::Bulk => BenchArgs {
            rate: Rate::PerSecond(match args.aggressor {
                Some(Aggressor::PerSecond(rate_per_s)) => rate_per_s / queries,
                // Without a load in records per second, the group gets its default load. A load that is a
                // multiple of the group's capacity is not known before the capacity is measured.
                Some(Aggressor::Times(_)) | None => group.events_per_s(),
            }),
            rate_steps: None,
            latency_target: Some(group.latency_target()),
            seed: args.seed.wrapping_add(1),
            ..common
        },
    }
}

fn queries_of(args: &BenchArgs, group: Group) -> u64 {
    (0..args.queries()).filter(|&place| group_of(args, place) == group).count() as u64
}

/// Returns the group of a job: one of three is latency-sensitive, unless the options give the number of
/// latency-sensitive jobs, which are then spread evenly among the others.
fn group_of(args: &BenchArgs, place: u64) -> Group {
    let Some(sensitive) = args.sensitive_jobs else { return Group::of_job(place) };
    let before = |place: u64| place * sensitive / args.queries();
    if before(place) < before(place + 1) { Group::Sensitive } else { Group::Bulk }
}

/// Returns why the load of the bulk group cannot be used as given; `None` if it can.
pub fn problem(args: &BenchArgs) -> Option<String> {
    let Some(Aggressor::PerSecond(rate_per_s)) = args.aggressor else { return None };
    let queries = queries_of(args, Group::Bulk);
    let most = queries.saturating_mul(QUERY_RATE_PER_S_MAX);
    (!(queries..=most).contains(&rate_per_s)).then(|| {
        format!(
            "--aggressor is {rate_per_s} records/s, which {queries} queries share, but must be from {queries} to {most}"
        )
    })
}

/// Returns the options with the load of the bulk group as a rate. If it is given as a multiple of the
/// capacity, this capacity is measured first: the rate that the bulk group reaches alone, in the same mode
/// and under the same policy.
pub fn with_rate(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<BenchArgs> {
    let Some(Aggressor::Times(times)) = args.aggressor else { return Ok(args.clone()) };
    let capacity_per_s = capacity_per_s(args, interrupt)?;
    let rate_per_s = (capacity_per_s * times) as u64;
    let (capacity, rate) = (show::rate(capacity_per_s), show::rate(rate_per_s as f64));
    console::note(&format!("bulk alone takes {capacity}; {times} times as much is {rate}"));
    let args = BenchArgs { aggressor: Some(Aggressor::PerSecond(rate_per_s)), ..args.clone() };
    if let Some(problem) = problem(&args) {
        return Err(WrongOption(problem).into());
    }
    Ok(args)
}

/// Measures the records per second that the bulk group reads if it runs alone and its sources emit records as
/// fast as its queries read them.
pub fn capacity_per_s(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<f64> {
    let part = BenchArgs {
        rate: Rate::Max,
        message_records: None,
        arrivals: Arrivals::Constant,
        skew: 0.0,
        results: None,
        ..part(args, Group::Bulk)
    };
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    let generator = Arc::new(AdGenerator::new(part.seed));
    let (name, names) = (Group::Bulk.name(), names_of(&part, Group::Bulk));
    let offered = Offered::of_queries(&part);
    let part = revenue::part(name, &part, &engine, &generator, &names, offered)?;
    let until = Until::Measured {
        deployed: Vec::new(),
        warmup: PROBE_WARMUP,
        measured: PROBE,
        observer: None,
        marker_every: Vec::new(),
        steer: None,
    };
    let driven = drive(&engine, part.graphs, &until, interrupt)?;
    if driven.is_interrupted {
        bail!("--aggressor: ended before it was known what bulk alone takes");
    }
    Ok(driven.measured.throughput_per_s)
}

fn names_of(part: &BenchArgs, group: Group) -> Vec<String> {
    (1..=part.queries()).map(|number| format!("{}-{number}", group.name())).collect()
}

/// Runs the queries of both groups on one engine.
pub fn run(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    let generator = Arc::new(AdGenerator::new(args.seed));
    let (now, instants) = (SystemClock::default().now(), load::deployments(args));
    let group_of = |place: usize| group_of(args, place as u64);
    let mut queries = Vec::new();
    for (part, group) in parts(args).iter().zip(GROUPS) {
        let own: Vec<_> = (0..instants.len()).filter(|&place| group_of(place) == group).collect();
        let own: Vec<_> = own.into_iter().map(|place| instants[place]).collect();
        let (offered, names) = (Offered::of_deployed(part, now, &own), names_of(part, group));
        queries.push(revenue::part(group.name(), part, &engine, &generator, &names, offered)?);
    }
    let turn = |place| GROUPS.iter().position(|&group| group == group_of(place)).unwrap_or(0);
    let turns: Vec<usize> = (0..instants.len()).map(turn).collect();
    run_by_turns(args, &engine, queries, &turns, interrupt)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which group each job belongs to: `s` for a latency-sensitive job, `b` for bulk.
    fn check(queries: &str, sensitive_jobs: Option<u64>, expected: &str) {
        let args = BenchArgs { sensitive_jobs, ..BenchArgs::parsed(&format!("tenants --queries {queries}")) };
        let shown = |place| if group_of(&args, place) == Group::Sensitive { 's' } else { 'b' };
        assert_eq!((0..args.queries()).map(shown).collect::<String>(), expected);
        let of = |group| queries_of(&args, group);
        assert_eq!(of(Group::Sensitive) + of(Group::Bulk), args.queries());
    }

    #[test]
    fn groups_lie_evenly_among_each_other() {
        check("6", None, "sbbsbb");
        check("6", Some(4), "bssbss");
        check("9", Some(4), "bbsbsbsbs");
        check("6", Some(6), "ssssss");
    }
}
