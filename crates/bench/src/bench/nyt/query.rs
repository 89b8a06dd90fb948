//! The query of `bench nyt` with its sink, and the comparison of its results with the reference.

use anyhow::Result;
use thalweg::{Graph, Query, QueryReport, Record, Source, Windowed};
use thalweg_connectors::RowWriter;
use thalweg_workloads::nyt::{Cell, Trip, TripSummary, query};
use thalweg_workloads::reference::nyt::{NytAnswer, NytRow};

use crate::bench::args::BenchArgs;
use crate::bench::rows::{self, Kept, Rows};
use crate::bench::windows;

pub fn plan<S>(
    args: &BenchArgs,
    name: &str,
    splits: impl IntoIterator<Item = S>,
) -> Result<(Graph, Kept<NytRow>)>
where
    S: Source<Item = Trip> + 'static,
{
    let (sink, kept) = Rows::new(row_of, args.results_file(&format!("{name}.csv"))?, write_row)?;
    let query = Query::new(name);
    query::trips_per_cell(&query, splits, args.strategy(), windows::sliding_windows(args), sink);
    Ok((args.plan(query)?, kept))
}

/// Returns the first difference between the results and row counts of a query of `bench nyt` and those of the
/// reference.
pub fn difference(answer: &NytAnswer, found: &[NytRow], report: &QueryReport) -> Option<String> {
    let filtered = report.total(|counts| counts.filtered);
    let counts = [
        ("trips read", answer.read, report.events_in + report.bad),
        ("trips filtered", answer.filtered + answer.outside, filtered),
        ("bad lines", answer.bad, report.bad),
    ];
    rows::wrong_count(&counts).or_else(|| rows::difference(&answer.rows, found))
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
