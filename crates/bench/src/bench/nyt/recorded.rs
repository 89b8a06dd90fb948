//! `bench nyt --input`: the query from a file of recorded trips.

use std::path::Path;

use anyhow::Result;
use thalweg::Record;
use thalweg_cli::failure;
use thalweg_cli::interrupt::Interrupt;
use thalweg_connectors::{Header, Row, RowError};
use thalweg_workloads::nyt::Trip;
use thalweg_workloads::nyt::tlc::{self, TlcError};
use thalweg_workloads::reference::nyt::nyt_rows_of_tlc_csv;

use super::query::{difference, plan};
use crate::bench::args::BenchArgs;
use crate::bench::drive::{Until, drive};
use crate::bench::recorded::{Layout, Recorded};
use crate::bench::report::Figures;
use crate::bench::windows;

/// Runs the query from recorded trips, to the end of the file `input`.
pub fn run(args: &BenchArgs, input: &Path, interrupt: Option<&Interrupt>) -> Result<Figures> {
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    let layout = Layout { columns: &tlc::COLUMNS, header: Header::Expect };
    let recorded = Recorded::new(args, input, layout, &["nyt.csv".to_owned()])?;
    let (graph, kept) = plan(args, "nyt", [recorded.open(trip_of_row)?])?;
    let driven = drive(&engine, vec![graph], &Until::End, interrupt)?;
    let answer = if driven.is_comparable(u64::MAX) && kept.is_whole() {
        let windows = windows::reference_windows(args);
        recorded.with_lines(&engine, &driven, |lines| nyt_rows_of_tlc_csv(&plain_trips(lines), windows))?
    } else {
        None
    };
    Ok(recorded.figures(args, &driven, answer, |answer, report| difference(answer, &kept.take(), report)))
}

fn trip_of_row(row: &Row<'_>) -> Result<Record<Trip>, RowError> {
    let field = |index: usize| (index < tlc::COLUMNS.len()).then(|| row.text(index));
    tlc::trip_of(field).map_err(|error| match error {
        TlcError::Field { column, .. } => RowError { field: column, reason: error.to_string() },
        // A wrong number of fields cannot occur here, because the source has counted the fields.
        other => RowError { field: "line", reason: other.to_string() },
    })
}

/// Converts lines of trips for the reference, which skips empty lines and headers. Each line gets `_` in
/// its first column, which the query does not read. So no line is empty or a header, and a bad line becomes
/// `_` alone, which is no trip.
fn plain_trips(lines: impl Iterator<Item = Option<String>>) -> String {
    let mut text = String::new();
    for line in lines {
        text.push('_');
        text += &line.unwrap_or_default();
        text.push('\n');
    }
    text
}
