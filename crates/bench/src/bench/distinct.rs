//! `bench distinct`: the query, or its hand-written loop, from generated requests or a web server's log.

use std::ops::Range;

use anyhow::Result;
use thalweg::{Graph, Query, Record, Source, Text, Windowed};
use thalweg_cli::interrupt::Interrupt;
use thalweg_connectors::{RowError, RowWriter};
use thalweg_workloads::distinct::{self, loops, query, weblog};
use thalweg_workloads::prose::TextGenerator;
use thalweg_workloads::reference::distinct::{DistinctRow, distinct_rows, recorded_request};
use thalweg_workloads::reference::lines::LineInput;

use super::args::BenchArgs;
use super::lines::{self, LineWorkload};
use super::report::Figures;
use super::rows::{Kept, Rows};
use super::windows;

/// Runs the query `distinct`, or its hand-written loop.
pub fn run(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    lines::run(args, &Distinct, loops::run, row_of, interrupt)
}

struct Distinct;

impl LineWorkload for Distinct {
    type Row = DistinctRow;

    fn generator(seed: u64) -> TextGenerator {
        distinct::generator(seed)
    }

    fn plan<S>(
        &self,
        args: &BenchArgs,
        name: &str,
        splits: impl IntoIterator<Item = S>,
    ) -> Result<(Graph, Kept<DistinctRow>)>
    where
        S: Source<Item = Text> + 'static,
    {
        let file = args.results_file(&format!("{name}.csv"))?;
        let (sink, kept) = Rows::new(|record| row_of(&record.value), file, write_row)?;
        let query = Query::new(name);
        query::different_per_window(&query, splits, args.strategy(), windows::tumbling_windows(args), sink);
        Ok((args.plan(query)?, kept))
    }

    fn rows(
        &self,
        args: &BenchArgs,
        inputs: &mut dyn Iterator<Item = LineInput>,
        lines: &[&str],
    ) -> Vec<DistinctRow> {
        distinct_rows(inputs, lines, windows::reference_windows(args))
    }

    fn keep_part(_number: u64, line: &str) -> Result<Record<Range<usize>>, RowError> {
        weblog::request_of(line).map_err(|error| RowError { field: "line", reason: error.to_string() })
    }

    fn recorded(_number: usize, line: &str) -> Option<(i64, &str)> {
        recorded_request(line)
    }
}

fn row_of(result: &Windowed<(), u64>) -> DistinctRow {
    let window_start_ms = result.window.start.as_micros().div_euclid(1_000);
    DistinctRow { window_start_ms, urls: result.value }
}

fn write_row(record: &Record<Windowed<(), u64>>, row: &mut RowWriter) {
    let DistinctRow { window_start_ms, urls } = row_of(&record.value);
    row.push_i64(window_start_ms);
    row.push_u64(urls);
}
