//! `bench wordcount`: the query, or its hand-written loop, from generated or recorded lines.

use anyhow::Result;
use thalweg::{Graph, Query, Record, Source, Text, Windowed};
use thalweg_cli::interrupt::Interrupt;
use thalweg_connectors::RowWriter;
use thalweg_workloads::prose::TextGenerator;
use thalweg_workloads::reference::lines::LineInput;
use thalweg_workloads::reference::wordcount::{WordRow, word_rows};
use thalweg_workloads::wordcount::{self, loops, query};

use super::args::BenchArgs;
use super::lines::{self, LineWorkload};
use super::report::Figures;
use super::rows::{Kept, Rows};
use super::windows;

/// Runs word count, or its hand-written loop.
pub fn run(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    lines::run(args, &WordCount, loops::run, row_of, interrupt)
}

struct WordCount;

impl LineWorkload for WordCount {
    type Row = WordRow;

    fn generator(seed: u64) -> TextGenerator {
        wordcount::generator(seed)
    }

    fn plan<S>(
        &self,
        args: &BenchArgs,
        name: &str,
        splits: impl IntoIterator<Item = S>,
    ) -> Result<(Graph, Kept<WordRow>)>
    where
        S: Source<Item = Text> + 'static,
    {
        let file = args.results_file(&format!("{name}.csv"))?;
        let (sink, kept) = Rows::new(|record| row_of(&record.value), file, write_row)?;
        let query = Query::new(name);
        query::words_per_window(&query, splits, args.strategy(), windows::sliding_windows(args), sink);
        Ok((args.plan(query)?, kept))
    }

    fn rows(
        &self,
        args: &BenchArgs,
        inputs: &mut dyn Iterator<Item = LineInput>,
        lines: &[&str],
    ) -> Vec<WordRow> {
        word_rows(inputs, lines, windows::reference_windows(args))
    }
}

fn row_of(result: &Windowed<Text, u64>) -> WordRow {
    let window_start_ms = result.window.start.as_micros().div_euclid(1_000);
    WordRow { window_start_ms, word: result.key.to_string(), count: result.value }
}

fn write_row(record: &Record<Windowed<Text, u64>>, row: &mut RowWriter) {
    let Windowed { window, key, value, .. } = &record.value;
    row.push_i64(window.start.as_micros().div_euclid(1_000));
    row.push_str(key);
    row.push_u64(*value);
}
