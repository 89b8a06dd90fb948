//! `bench grep`: the query, or its hand-written loop, from generated or recorded lines.

use anyhow::Result;
use thalweg::{Graph, Query, Record, Source, Text, Windowed};
use thalweg_cli::interrupt::Interrupt;
use thalweg_connectors::RowWriter;
use thalweg_workloads::grep::{self, Found, loops, query};
use thalweg_workloads::prose::TextGenerator;
use thalweg_workloads::reference::grep::{GrepRow, grep_rows};
use thalweg_workloads::reference::lines::LineInput;

use super::args::BenchArgs;
use super::lines::{self, LineWorkload};
use super::report::Figures;
use super::rows::{Kept, Rows};
use super::windows;

/// Runs the query `grep`, or its hand-written loop.
pub fn run(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    lines::run(args, &Grep, loops::run, row_of, interrupt)
}

struct Grep;

impl LineWorkload for Grep {
    type Row = GrepRow;

    fn generator(seed: u64) -> TextGenerator {
        grep::generator(seed)
    }

    fn plan<S>(
        &self,
        args: &BenchArgs,
        name: &str,
        splits: impl IntoIterator<Item = S>,
    ) -> Result<(Graph, Kept<GrepRow>)>
    where
        S: Source<Item = Text> + 'static,
    {
        let file = args.results_file(&format!("{name}.csv"))?;
        let (sink, kept) = Rows::new(|record| row_of(&record.value), file, write_row)?;
        let query = Query::new(name);
        query::occurrences_per_window(&query, splits, args.strategy(), windows::sliding_windows(args), sink);
        Ok((args.plan(query)?, kept))
    }

    fn rows(
        &self,
        args: &BenchArgs,
        inputs: &mut dyn Iterator<Item = LineInput>,
        lines: &[&str],
    ) -> Vec<GrepRow> {
        grep_rows(inputs, lines, windows::reference_windows(args))
    }
}

fn row_of(result: &Windowed<(), Found>) -> GrepRow {
    let window_start_ms = result.window.start.as_micros().div_euclid(1_000);
    let Found { lines, occurrences } = result.value;
    GrepRow { window_start_ms, lines, occurrences }
}

fn write_row(record: &Record<Windowed<(), Found>>, row: &mut RowWriter) {
    let GrepRow { window_start_ms, lines, occurrences } = row_of(&record.value);
    row.push_i64(window_start_ms);
    row.push_u64(lines);
    row.push_u64(occurrences);
}
