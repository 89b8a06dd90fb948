//! `bench netmon --input`: the query from a file of recorded probes.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Result, bail};
use thalweg::Record;
use thalweg_cli::failure;
use thalweg_cli::interrupt::Interrupt;
use thalweg_connectors::{Header, Row, RowError};
use thalweg_workloads::netmon::Probe;
use thalweg_workloads::netmon::csv::{self, COLUMNS};
use thalweg_workloads::reference::netmon::{NetmonSums, netmon_input_of_line};

use super::query::plan;
use crate::bench::args::BenchArgs;
use crate::bench::drive::{Until, drive};
use crate::bench::recorded::{Layout, Recorded};
use crate::bench::report::Figures;
use crate::bench::{files, rows, windows};

/// Largest number of bytes of the first line that are read to check that the file has probes.
const FIRST_LINE_BYTES_MAX: u64 = 1_000;

/// Largest number of characters of a field or a line that a message shows.
const VALUE_SHOWN_CHARS_MAX: usize = 60;

/// Runs the query `netmon` from recorded probes, to the end of the file `input`.
pub fn run(args: &BenchArgs, input: &Path, interrupt: Option<&Interrupt>) -> Result<Figures> {
    let header = header_of(input)?;
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    let recorded =
        Recorded::new(args, input, Layout { columns: &COLUMNS, header }, &["netmon.csv".to_owned()])?;
    let (graph, kept) = plan(args, "netmon", [recorded.open(probe_of_row)?])?;
    let driven = drive(&engine, vec![graph], &Until::End, interrupt)?;
    let answer = if driven.is_comparable(u64::MAX) && kept.are_whole() {
        recorded.with_lines(&engine, &driven, |lines| {
            let mut sums = NetmonSums::new(windows::reference_windows(args));
            let (mut read, mut bad) = (0_u64, 0_u64);
            sums.add(lines.filter_map(|line| {
                let input = line.as_deref().and_then(netmon_input_of_line);
                if input.is_some() {
                    read += 1;
                } else {
                    bad += 1;
                }
                input
            }));
            (sums, read, bad)
        })?
    } else {
        None
    };
    Ok(recorded.figures(args, &driven, answer, |(sums, read, bad), report| {
        let counts = [("probes read", *read, report.events_in), ("bad lines", *bad, report.bad)];
        rows::wrong_count(&counts).or_else(|| kept.difference(sums))
    }))
}

/// Returns whether a file of probes begins with a header, which it usually does not. A file of another kind
/// is recognised by its first line, and refused if this line has a wrong number of fields. Read errors are
/// left to the source, which reports them.
fn header_of(path: &Path) -> Result<Header> {
    let Some(line) = first_line(path) else { return Ok(Header::None) };
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    if fields.len() != COLUMNS.len() {
        let shown: String = line.chars().take(VALUE_SHOWN_CHARS_MAX).collect();
        bail!(
            "--input: {} is not a file of probes: its columns must be `{}`, with or without a header, but its first line \
             is `{shown}`; is this the right file?",
            path.display(),
            COLUMNS.join(",")
        );
    }
    Ok(if fields == COLUMNS { Header::Expect } else { Header::None })
}

/// Returns the first line of a file, if it can be read.
fn first_line(path: &Path) -> Option<String> {
    // Opening a pipe could wait for ever.
    if !path.is_file() {
        return None;
    }
    let file = files::opened(path).ok()?;
    let mut bytes = Vec::new();
    BufReader::new(file.take(FIRST_LINE_BYTES_MAX)).read_until(b'\n', &mut bytes).ok()?;
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)).into_owned();
    let line = text.trim_end_matches(['\r', '\n']);
    (!line.is_empty()).then(|| line.to_owned())
}

fn probe_of_row(row: &Row<'_>) -> Result<Record<Probe>, RowError> {
    csv::record_of([0, 1, 2, 3].map(|index| row.text(index))).map_err(|error| {
        let shown: String = error.value.chars().take(VALUE_SHOWN_CHARS_MAX).collect();
        RowError { field: error.column, reason: format!("{shown:?} is not {}", error.expected) }
    })
}
