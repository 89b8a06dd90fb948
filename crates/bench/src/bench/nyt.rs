//! `bench nyt`: the query from generated trips, or from [`recorded`] ones.

mod recorded;

use std::sync::Arc;

use anyhow::Result;
use thalweg::{Engine, Generate, Graph, Query, QueryReport, Record, Source, Windowed};
use thalweg_cli::failure;
use thalweg_cli::interrupt::Interrupt;
use thalweg_connectors::RowWriter;
use thalweg_workloads::nyt::{Cell, NytGenerator, Trip, TripSummary, Vendor, query};
use thalweg_workloads::reference::nyt::{NytAnswer, NytInput, NytRow, nyt_rows};

use super::args::BenchArgs;
use super::offered::Offered;
use super::part::{Check, Part};
use super::report::{Checked, Figures};
use super::rows::{self, Kept, Rows};
use super::{fit, reserve_cache};

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
        (fit::reference_windows(args), Arc::clone(generator), offered.to_vec());
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

fn plan<S>(args: &BenchArgs, name: &str, splits: impl IntoIterator<Item = S>) -> Result<(Graph, Kept<NytRow>)>
where
    S: Source<Item = Trip> + 'static,
{
    let (sink, kept) = Rows::new(row_of, args.results_file(&format!("{name}.csv"))?, write_row)?;
    let query = Query::new(name);
    query::trips_per_cell(&query, splits, args.strategy(), fit::windows(args), sink);
    Ok((args.plan(query)?, kept))
}

/// Returns the first difference between the results of a query and those of the reference.
fn difference(answer: &NytAnswer, found: &[NytRow], report: &QueryReport) -> Option<String> {
    let filtered = report.total(|counts| counts.filtered);
    let counts = [
        ("trips read", answer.read, report.events_in + report.bad),
        ("trips filtered", answer.filtered + answer.outside, filtered),
        ("bad lines", answer.bad, report.bad),
    ];
    let wrong = counts.iter().find(|(_, expected, found)| expected != found);
    let wrong = wrong.map(|(what, expected, found)| format!("{what}: {expected} expected, {found} found"));
    wrong.or_else(|| rows::difference(&answer.rows, found))
}

fn vendor_id(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::Vts => "VTS",
        Vendor::Cmt => "CMT",
        Vendor::Other => "",
    }
}

fn row_of(record: &Record<Windowed<Cell, TripSummary>>) -> NytRow {
    let Windowed { window, key, value, .. } = record.value;
    NytRow {
        window_start_s: window.start.as_micros().div_euclid(1_000_000),
        cell_x: key.x,
        cell_y: key.y,
        trips: value.trips,
        avg_distance: value.mean_distance_miles,
    }
}

fn write_row(record: &Record<Windowed<Cell, TripSummary>>, row: &mut RowWriter) {
    let NytRow { window_start_s, cell_x, cell_y, trips, avg_distance } = row_of(record);
    row.push_i64(window_start_s);
    row.push_u64(cell_x.into());
    row.push_u64(cell_y.into());
    row.push_u64(trips);
    row.push_f64(avg_distance);
}
