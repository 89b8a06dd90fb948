//! `bench nyt`: the query from generated trips, or from recorded ones.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use flate2::read::MultiGzDecoder;
use thalweg::{EventTime, Generate, Graph, Query, Record, Source, Span, TumblingWindows, Windowed};
use thalweg_connectors::{CsvOptions, CsvSource, Header, OnBad, Paced, RealDisk, Row, RowError, RowWriter};
use thalweg_workloads::nyt::tlc::{self, TlcError};
use thalweg_workloads::nyt::{self, Cell, NytGenerator, Trip, TripSummary, Vendor, query};
use thalweg_workloads::reference::compare;
use thalweg_workloads::reference::nyt::{NytAnswer, NytInput, NytRow, nyt_rows, nyt_rows_of_tlc_csv};

use super::BenchArgs;
use super::drive::{Driven, Until, drive};
use super::report::{Checked, Figures};
use super::rows::{self, Rows};
use crate::options::{OnBadOption, Rate, WrongOption};

/// Above so many trips a generated run is checked for conservation only: the reference keeps every trip, and it
/// must not take longer than the run.
const REFERENCE_TRIPS_MAX: u64 = 20_000_000;

type Kept = Arc<std::sync::Mutex<Vec<NytRow>>>;

/// Runs the query.
pub fn run(args: &BenchArgs) -> Result<Figures> {
    if args.api.loop_kind().is_some() || args.cyclic {
        return Err(
            WrongOption("--api loop-* and --cyclic belong to ysb: leave them away for nyt".into()).into()
        );
    }
    let window = args.window.unwrap_or(nyt::WINDOW);
    if window.as_micros() <= 0 || window.as_micros() % 1_000_000 != 0 {
        return Err(
            WrongOption(format!("--window: {window} is not a positive number of whole seconds")).into()
        );
    }
    match &args.input {
        Some(input) => run_recorded(args, input, window),
        None => run_generated(args, window),
    }
}

fn run_recorded(args: &BenchArgs, input: &Path, window: Span) -> Result<Figures> {
    if args.rate != Rate::Max {
        return Err(WrongOption("--rate: recorded input is read as fast as can be".into()).into());
    }
    let engine = args.engine()?.build()?;
    let options = CsvOptions {
        path: input.to_owned(),
        columns: &tlc::COLUMNS,
        header: Header::Expect,
        on_bad: on_bad(args)?,
    };
    let source = CsvSource::open(options, Arc::new(RealDisk), trip_of_row)
        .map_err(|error| anyhow::anyhow!("{}: {error}", thalweg::Coded::code(&error)))?;
    let (graph, kept) = plan(args, source, window)?;
    let driven = drive(&engine, graph, &Until::End)?;
    let late = driven.report.total(|counts| counts.late);
    // The reference has no watermarks. If records came too late for their windows, it has rows that must not be.
    let checked = if late > 0 {
        Checked { how: "conservation", error: None }
    } else {
        let answer = nyt_rows_of_tlc_csv(&text_of(input)?, window.as_micros());
        Checked { how: "oracle-equal", error: difference(&answer, &rows::take(&kept), &driven) }
    };
    Ok(Figures::of_engine(args, "nyt", driven, None, checked))
}

fn run_generated(args: &BenchArgs, window: Span) -> Result<Figures> {
    let engine = args.engine()?.build()?;
    let generator = Arc::new(NytGenerator::new(args.seed));
    let cache = engine.budget().reserve(generator.cache_bytes());
    let _cache = cache.context("BUDGET_TOO_SMALL: the generator's trips do not fit into --memory-budget")?;
    let (pace, offered) = args.pace();
    let (graph, kept) = plan(args, Paced::new(Arc::clone(&generator), pace)?, window)?;
    let driven = drive(&engine, graph, &args.until())?;
    let (rate_per_s, start_us) = super::rate_and_start(pace);
    let events = driven.report.events_in;
    let checked = if events > REFERENCE_TRIPS_MAX {
        Checked { how: "conservation", error: None }
    } else {
        let stamp = |index: u64| start_us + (u128::from(index) * 1_000_000 / u128::from(rate_per_s)) as i64;
        let trip = |index: u64| {
            let event_time_us = stamp(index);
            let trip = generator.value(index, EventTime::from_micros(event_time_us));
            NytInput {
                event_time_us,
                vendor: vendor_id(trip.vendor),
                distance: trip.distance_miles,
                longitude: trip.pickup.longitude,
                latitude: trip.pickup.latitude,
            }
        };
        let answer = nyt_rows((0..events).map(trip), window.as_micros());
        Checked { how: "oracle-equal", error: difference(&answer, &rows::take(&kept), &driven) }
    };
    Ok(Figures::of_engine(args, "nyt", driven, offered, checked))
}

fn plan<S: Source<Item = Trip> + 'static>(
    args: &BenchArgs,
    source: S,
    window: Span,
) -> Result<(Graph, Kept)> {
    let (sink, kept) = Rows::new(row_of, args.results_file("nyt.csv")?, write_row)?;
    let query = Query::new("nyt");
    query::trips_per_cell(&query, source, args.strategy(), TumblingWindows::new(window)?, sink);
    Ok((query.plan(args.chaining())?, kept))
}

/// The first thing in which a run differs from the reference.
fn difference(answer: &NytAnswer, found: &[NytRow], driven: &Driven) -> Option<String> {
    let filtered = driven.report.total(|counts| counts.filtered);
    let counts = [
        ("trips read", answer.read, driven.report.events_in + driven.report.bad),
        ("trips filtered", answer.filtered + answer.outside, filtered),
        ("bad lines", answer.bad, driven.report.bad),
    ];
    let wrong = counts.iter().find(|(_, expected, found)| expected != found);
    let wrong = wrong.map(|(what, expected, found)| format!("{what}: {expected} expected, {found} found"));
    wrong.or_else(|| compare(&answer.rows, found).err().map(|difference| difference.to_string()))
}

fn on_bad(args: &BenchArgs) -> Result<OnBad> {
    Ok(match &args.on_bad {
        Some(OnBadOption::Fail) => OnBad::Fail,
        Some(OnBadOption::Skip) => OnBad::Skip,
        Some(OnBadOption::Divert(path)) => OnBad::Divert(path.clone()),
        None => {
            OnBad::Divert(args.results_file("nyt.bad.csv")?.unwrap_or_else(|| PathBuf::from("nyt.bad.csv")))
        }
    })
}

fn trip_of_row(row: &Row<'_>) -> Result<Record<Trip>, RowError> {
    let field = |index: usize| (index < tlc::COLUMNS.len()).then(|| row.text(index));
    tlc::trip_of(field).map_err(|error| match error {
        TlcError::Field { column, .. } => RowError { field: column, reason: error.to_string() },
        // The source has counted the fields.
        other => RowError { field: "line", reason: other.to_string() },
    })
}

/// A file, gunzipped if it is a `.gz`, as text; bytes that are no UTF-8 make their line a bad one.
fn text_of(path: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    let file =
        File::open(path).with_context(|| format!("{} cannot be read for the reference", path.display()))?;
    let is_gzip = path.extension().is_some_and(|extension| extension == "gz");
    let read = if is_gzip {
        MultiGzDecoder::new(file).read_to_end(&mut bytes)
    } else {
        (&file).read_to_end(&mut bytes)
    };
    read.with_context(|| format!("{} cannot be read for the reference", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn vendor_id(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::Vts => "VTS",
        Vendor::Cmt => "CMT",
        Vendor::Other => "",
    }
}

fn row_of(record: &Record<Windowed<Cell, TripSummary>>) -> NytRow {
    let Windowed { window, key, value } = record.value;
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
