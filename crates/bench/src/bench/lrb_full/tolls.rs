//! `--tolls`: the tolls charged on days in the past, read before anything runs. Unlike lines of input, every
//! line must be valid, since a request for a toll that was skipped would get no answer.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use thalweg::{Engine, EventTime, Fault, Output, ProcessingTime, Record, Source, SourceStatus, Table};
use thalweg_cli::failure;
use thalweg_connectors::{CsvError, CsvOptions, CsvSource, Header, OnBad, RealDisk, Row};
use thalweg_memory::Reservation;
use thalweg_workloads::lrb::csv;
use thalweg_workloads::lrb::full::HistoricalTolls;

use crate::bench::args::BenchArgs;
use crate::bench::linear_road;
use crate::bench::plain_lines::plain_lines;
use crate::bench::recorded::PaidText;

/// Bytes that the table needs per toll: its slots have 16 bytes, and at least a quarter of them are filled.
const TOLL_BYTES: usize = 64;

/// The historical tolls of a run, if there are any.
pub struct Tolls<'a> {
    file: Option<(&'a Path, HistoricalTolls)>,
    /// Reservation of the bytes of the table of tolls in the memory budget.
    _reserved: Option<Reservation>,
}

impl<'a> Tolls<'a> {
    /// Reads the file of tolls that the options name, if they name one.
    pub fn of(args: &'a BenchArgs, engine: &Engine) -> Result<Self> {
        let Some(path) = &args.tolls else { return Ok(Tolls { file: None, _reserved: None }) };
        let rows = read(path)?;
        let reserved = engine.budget().reserve(rows.len() * TOLL_BYTES);
        let reserved = reserved.context("BUDGET_TOO_SMALL: --tolls does not fit into --memory-budget")?;
        // Every line of the file is a row, so the number of a row, counted from 1, is its line number. A row
        // that repeats an equal one is dropped.
        let mut distinct: Vec<(TollRow, usize)> = rows.into_iter().zip(1..).collect();
        distinct.sort_unstable();
        distinct.dedup_by_key(|(row, _)| *row);
        let table = Table::new(distinct.iter().map(|(row, _)| *row)).map_err(|duplicate| {
            let [(_, line), (((vehicle, day, xway), _), other)] = distinct[duplicate.row_index - 1..][..2] else {
                unreachable!("a duplicate stands behind what it duplicates");
            };
            let line = line.max(other);
            anyhow!(
                "--tolls: {}, line {line}: there is another toll of vehicle {vehicle}, day {day}, xway {xway} already; \
                 leave one of them",
                path.display()
            )
        })?;
        Ok(Tolls { file: Some((path, table)), _reserved: Some(reserved) })
    }

    /// Returns the historical tolls as a table for the query.
    pub fn for_the_query(&self) -> Option<HistoricalTolls> {
        self.file.as_ref().map(|(_, table)| table.clone())
    }

    /// Returns the historical tolls for the reference, read once more from the file: vehicle, day, xway,
    /// toll. Also returns the text of the file, which keeps their memory reserved in the budget until it is
    /// dropped. Returns `None` if they do not fit into what the budget has left.
    pub fn for_the_reference(&self, engine: &Engine) -> Result<Option<ReferenceTolls>> {
        let Some((path, _)) = &self.file else { return Ok(Some((Vec::new(), None))) };
        let toll = |line: Option<String>| {
            let line = line?;
            let numbers: Vec<i32> =
                line.split(',').map(|text| linear_road::number(text, i32::MAX)).collect::<Option<_>>()?;
            <[i32; 4]>::try_from(numbers).ok()
        };
        let Some(text) = PaidText::of(path, engine, 0)? else { return Ok(None) };
        let tolls = plain_lines(&text.bytes, Header::None, u64::MAX).filter_map(toll).collect();
        Ok(Some((tolls, Some(text))))
    }
}

/// The historical tolls for the reference, and the text of their file, which keeps their memory reserved in
/// the budget; `None` if there is no file.
pub type ReferenceTolls = (Vec<[i32; 4]>, Option<PaidText>);

/// A row of the file of tolls: vehicle, day and expressway, with their toll.
type TollRow = ((u32, u8, u16), u32);

fn read(path: &Path) -> Result<Vec<TollRow>> {
    let columns = &csv::TOLL_COLUMNS;
    let options = CsvOptions { path: path.to_owned(), columns, header: Header::None, on_bad: OnBad::Fail };
    let toll_of_row = |row: &Row<'_>| {
        let field = |index: usize| (index < columns.len()).then(|| row.text(index));
        let toll = csv::historical_toll_of(field).map_err(|error| linear_road::row_error(&error))?;
        // Historical tolls have no event time, so their records get an arbitrary one.
        Ok(Record::new(EventTime::EPOCH, ((toll.vehicle, toll.day, toll.xway), toll.toll)))
    };
    let source = CsvSource::open(options, Arc::new(RealDisk), toll_of_row);
    let mut source = source.map_err(|error| failure::of_connector(&error))?;
    let mut tolls = Gathered(Vec::new());
    loop {
        let polled = source.poll(ProcessingTime::from_nanos(0), usize::MAX, &mut tolls);
        if polled.map_err(told)?.status == SourceStatus::Ended {
            return Ok(tolls.0);
        }
    }
}

/// An output that collects the records of the source of tolls in memory.
struct Gathered(Vec<TollRow>);

impl Output<TollRow> for Gathered {
    fn room(&self) -> usize {
        usize::MAX
    }

    fn push(&mut self, record: Record<TollRow>) {
        self.0.push(record.value);
    }
}

/// Converts a fault of the tolls' source to an error. Bad lines of tolls cannot be skipped or diverted, so
/// the advice differs.
fn told(fault: Fault) -> anyhow::Error {
    let code = fault.code();
    let fault: Box<dyn Error> = fault;
    match fault.downcast_ref() {
        Some(CsvError::BadLine { place, reason }) => {
            anyhow!("{code}: {place}: {reason}; --tolls takes {} and no header", csv::TOLL_COLUMNS.join(","))
        }
        _ => anyhow!("{code}: {fault}"),
    }
}
