//! `bench nyt`: the query from generated trips, or from [`recorded`] ones.

mod query;
mod recorded;

use std::sync::Arc;

use anyhow::Result;
use thalweg::{Engine, Generate};
use thalweg_cli::failure;
use thalweg_cli::interrupt::Interrupt;
use thalweg_workloads::nyt::{NytGenerator, Vendor};
use thalweg_workloads::reference::nyt::{NytInput, NytRow, nyt_rows};

use self::query::{difference, plan};
use super::args::BenchArgs;
use super::offered::Offered;
use super::offered::reserve_cache;
use super::part::{Check, Part};
use super::report::{Checked, Figures};
use super::rows::Kept;
use super::windows;

/// Number of trips of all queries above which a generated run is only checked for lost records: the reference
/// keeps every trip, and it must not take longer than the run.
const REFERENCE_TRIPS_MAX: u64 = 20_000_000;

/// Runs the query of New York's taxis.
pub fn run(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    match &args.input {
        Some(input) => recorded::run(args, input, interrupt),
        None => run_generated(args, interrupt),
    }
}

fn run_generated(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    let generator = Arc::new(NytGenerator::new(args.seed));
    part(args, &engine, &generator, Offered::of_queries(args))?.run(args, &engine, interrupt)
}

/// Returns the queries of New York's taxis, ready to run, with the check of their results.
pub fn part(
    args: &BenchArgs,
    engine: &Engine,
    generator: &Arc<NytGenerator>,
    offered: Vec<Offered>,
) -> Result<Part> {
    let cache = reserve_cache(engine, &**generator)?;
    let mut planned = Vec::new();
    for (name, offered) in args.query_names().iter().zip(&offered) {
        planned.push(plan(args, name, offered.splits(args, generator)?)?);
    }
    let (graphs, kept): (Vec<_>, Vec<_>) = planned.into_iter().unzip();
    let check = checker(args, generator, &offered, kept);
    Ok(Part { name: "nyt", args: args.clone(), graphs, offered, check, cache })
}

fn checker(
    args: &BenchArgs,
    generator: &Arc<NytGenerator>,
    offered: &[Offered],
    kept: Vec<Kept<NytRow>>,
) -> Check {
    let (windows, generator, offered) =
        (windows::reference_windows(args), Arc::clone(generator), offered.to_vec());
    Box::new(move |reports| {
        if !reports.is_comparable(REFERENCE_TRIPS_MAX) || !kept.iter().all(Kept::is_whole) {
            return Checked::by_conservation();
        }
        let trip = |(index, event_time)| {
            let trip = generator.value(index, event_time);
            NytInput {
                event_time_us: event_time.as_micros(),
                vendor: vendor_id(trip.vendor),
                distance: trip.distance_miles,
                longitude: trip.pickup.longitude,
                latitude: trip.pickup.latitude,
            }
        };
        Checked::by_reference(reports.first_wrong(|index, report| {
            let trips = offered[index].records(&report.made).map(trip);
            difference(&nyt_rows(trips, windows), &kept[index].take(), report)
        }))
    })
}

fn vendor_id(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::Vts => "VTS",
        Vendor::Cmt => "CMT",
        Vendor::Other => "",
    }
}
