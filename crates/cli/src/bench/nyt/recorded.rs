//! `bench nyt --input`: the query from a file of recorded trips, read once by the engine and once more, afterwards,
//! for the reference.

use std::fs::File;
use std::io::{self, Read};
use std::path::{self, Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use flate2::read::MultiGzDecoder;
use thalweg::Record;
use thalweg_connectors::{CsvOptions, CsvSource, Header, OnBad, RealDisk, Row, RowError};
use thalweg_workloads::nyt::Trip;
use thalweg_workloads::nyt::tlc::{self, TlcError};
use thalweg_workloads::reference::nyt::nyt_rows_of_tlc_csv;

use super::plain_lines::plain_lines;
use super::{difference, plan};
use crate::bench::args::BenchArgs;
use crate::bench::drive::{Until, drive};
use crate::bench::fit;
use crate::bench::report::{Checked, Figures};
use crate::failure::{self, WrongOption};
use crate::interrupt::Interrupt;
use crate::options::OnBadOption;

/// Runs the query to the end of `input`.
pub fn run(args: &BenchArgs, input: &Path, interrupt: Option<&Interrupt>) -> Result<Figures> {
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    let on_bad = on_bad(args)?;
    refuse_one_file_for_two(args, input)?;
    let diverted = if let OnBad::Divert(path) = &on_bad { Some(path.clone()) } else { None };
    let options =
        CsvOptions { path: input.to_owned(), columns: &tlc::COLUMNS, header: Header::Expect, on_bad };
    let source = CsvSource::open(options, Arc::new(RealDisk), trip_of_row)
        .map_err(|error| failure::of_connector(&error))?;
    let (graph, kept) = plan(args, "nyt", source)?;
    let driven = drive(&engine, vec![graph], &Until::End, interrupt)?;
    let bad = driven.total(|report| report.bad);
    let diverted = diverted.filter(|_| bad > 0);
    // The reference has no watermarks. If records came too late for their windows, it has rows that must not be.
    let checked = if driven.total(|report| report.total(|counts| counts.late)) > 0 {
        Checked { how: "conservation", error: None }
    } else {
        let read_lines = driven.is_interrupted.then_some(driven.total(|report| report.events_in) + bad);
        let text = plain_lines(&bytes_of(input)?, read_lines.unwrap_or(u64::MAX));
        let answer = nyt_rows_of_tlc_csv(&text, fit::window(args).as_micros());
        let error = driven.first_difference(&[kept], |report, found| difference(&answer, found, report));
        Checked { how: "oracle-equal", error }
    };
    Ok(Figures { diverted, ..Figures::of_engine(args, "nyt", &driven, None, checked) })
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

/// The results must not replace the input, nor may bad lines and results go into one file.
fn refuse_one_file_for_two(args: &BenchArgs, input: &Path) -> Result<()> {
    let Some(results) = args.results_file("nyt.csv")? else { return Ok(()) };
    let wrong = |problem: String| Err(WrongOption(problem).into());
    // Results bear this name until they are whole.
    let unfinished = PathBuf::from(format!("{}.inprogress", results.display()));
    if same_file(&results, input) || same_file(&unfinished, input) {
        return wrong(format!("--results: {} is the input; take another folder", results.display()));
    }
    match &args.on_bad {
        Some(OnBadOption::Divert(path)) if same_file(&results, path) => {
            wrong(format!("--on-bad: the results go to {}; take another file", path.display()))
        }
        _ => Ok(()),
    }
}

/// Whether two paths lead to one file, which need not be there yet.
fn same_file(a: &Path, b: &Path) -> bool {
    matches!((place(a), place(b)), (Ok(a), Ok(b)) if a == b)
}

fn place(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize().or_else(|_| {
        let path = path::absolute(path)?;
        let folder = path.parent().unwrap_or(&path).canonicalize()?;
        Ok(folder.join(path.file_name().unwrap_or_default()))
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

/// A file, gunzipped if its name ends in `.gz`.
fn bytes_of(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let is_gzip = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
    let read = File::open(path).and_then(|mut file| {
        if is_gzip { MultiGzDecoder::new(file).read_to_end(&mut bytes) } else { file.read_to_end(&mut bytes) }
    });
    read.with_context(|| format!("{} cannot be read for the reference", path.display()))?;
    Ok(bytes)
}
