//! Shared code of the workloads over lines of text: how they are run from generated or recorded lines, and
//! compared with the reference.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use thalweg::{EventTime, Graph, Record, Source, Text};
use thalweg_cli::failure;
use thalweg_cli::interrupt::Interrupt;
use thalweg_connectors::RowError;
use thalweg_workloads::loops::{LoopKind, LoopReport};
use thalweg_workloads::prose::{LoopOptions, TextGenerator, stamp_of_line};
use thalweg_workloads::reference::Row;
use thalweg_workloads::reference::lines::LineInput;

use super::args::BenchArgs;
use super::by_hand::{self, Settings};
use super::drive::{Until, drive};
use super::load;
use super::offered::reserve_cache;
use super::offered::{self, Offered};
use super::recorded::Recorded;
use super::report::{Checked, Figures};
use super::rows::{self, Kept};

/// Number of records of all queries above which a run is only checked for lost records: the reference must
/// not take longer than the run.
const REFERENCE_RECORDS_MAX: u64 = 100_000_000;

/// A workload whose input is lines of text.
pub trait LineWorkload {
    /// The type of a row of the workload's results.
    type Row: Row + Send + 'static;

    /// Returns the generator of lines for the given seed.
    fn generator(seed: u64) -> TextGenerator;

    /// Plans the query and names it `name`. Also returns access to the result rows that its sink keeps.
    fn plan<S>(
        &self,
        args: &BenchArgs,
        name: &str,
        splits: impl IntoIterator<Item = S>,
    ) -> Result<(Graph, Kept<Self::Row>)>
    where
        S: Source<Item = Text> + 'static;

    /// Returns the results that are expected for these lines, from the reference.
    fn rows(
        &self,
        args: &BenchArgs,
        inputs: &mut dyn Iterator<Item = LineInput>,
        lines: &[&str],
    ) -> Vec<Self::Row>;

    /// Returns the event time of a recorded line, and the part of the line that is a record. By default the
    /// record is the whole line, and lines are spaced at the nominal rate. Workloads whose lines have a time
    /// of their own differ.
    fn keep_part(number: u64, line: &str) -> Result<Record<Range<usize>>, RowError> {
        Ok(Record::new(stamp_of_line(number), 0..line.len()))
    }

    /// Returns the event time in microseconds and the record's text of a recorded line, for the reference;
    /// `None` if the line is bad.
    fn recorded(number: usize, line: &str) -> Option<(i64, &str)> {
        Some((i64::try_from(number).ok()?, line))
    }
}

/// Returns all different texts of a generator.
fn lines_of(generator: &TextGenerator) -> Vec<&str> {
    generator.texts().iter().map(Text::as_str).collect()
}

/// Runs a workload over lines as the options ask: the query from recorded or generated lines, or the
/// hand-written loop `run`. `row_of` converts a result of the loop to a result row.
pub fn run<W: LineWorkload, R>(
    args: &BenchArgs,
    workload: &W,
    run: impl Fn(LoopOptions<'_>) -> LoopReport<R>,
    row_of: fn(&R) -> W::Row,
    interrupt: Option<&Interrupt>,
) -> Result<Figures> {
    if let Some(input) = &args.input {
        return run_recorded(args, workload, input, interrupt);
    }
    match args.api.loop_kind() {
        Some(kind) => Ok(run_loop(args, kind, workload, run, row_of)),
        None => run_generated(args, workload, interrupt),
    }
}

/// Runs the queries from generated lines. Every split has text buffers of its own, like the readers of a
/// log's partitions. With shared buffers, workers would contend for the reference counts of the buffers.
fn run_generated<W: LineWorkload>(
    args: &BenchArgs,
    workload: &W,
    interrupt: Option<&Interrupt>,
) -> Result<Figures> {
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    let offered = Offered::of_queries(args);
    let split_count = offered.first().map_or(1, Offered::split_count);
    let (mut generators, mut caches) = (Vec::new(), Vec::new());
    for _ in 0..split_count {
        let generator = Arc::new(W::generator(args.seed));
        caches.push(reserve_cache(&engine, &*generator)?);
        generators.push(generator);
    }
    let generator = generators.first().expect("a stream has a split");
    let mut planned = Vec::new();
    for (name, offered) in args.query_names().iter().zip(&offered) {
        let splits = offered.splits(args, generator)?.into_iter().zip(&generators);
        let splits = splits.map(|(split, generator)| split.with_generator(Arc::clone(generator)));
        planned.push(workload.plan(args, name, splits)?);
    }
    let (graphs, kept): (Vec<_>, Vec<_>) = planned.into_iter().unzip();
    let driven = drive(&engine, graphs, &load::until(args), interrupt)?;
    let checked = if driven.is_comparable(REFERENCE_RECORDS_MAX) && kept.iter().all(Kept::is_whole) {
        let lines = lines_of(generator);
        Checked::by_reference(driven.first_wrong(|index, report| {
            let mut inputs = offered[index].records(&report.made).map(|(index, event_time)| LineInput {
                event_time_us: event_time.as_micros(),
                line: generator.place_of(index),
            });
            rows::difference(&workload.rows(args, &mut inputs, &lines), &kept[index].take())
        }))
    } else {
        Checked::by_conservation()
    };
    Ok(Figures::of_engine(args, &driven, offered::per_s(&offered, args, &driven), checked))
}

/// Runs the query from recorded lines, to the end of the file `input`.
fn run_recorded<W: LineWorkload>(
    args: &BenchArgs,
    workload: &W,
    input: &Path,
    interrupt: Option<&Interrupt>,
) -> Result<Figures> {
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    let name = args.workload().facts().name;
    let recorded = Recorded::lines(args, input, &[format!("{name}.csv")])?;
    let (graph, kept) = workload.plan(args, name, [recorded.open_lines(W::keep_part)?])?;
    let driven = drive(&engine, vec![graph], &Until::End, interrupt)?;
    let difference = if driven.is_comparable(REFERENCE_RECORDS_MAX) && kept.is_whole() {
        recorded.with_raw_lines(&engine, &driven, |lines| {
            let numbered = lines.iter().copied().enumerate();
            let parts: Vec<Option<(i64, &str)>> =
                numbered.map(|(number, line)| line.and_then(|line| W::recorded(number, line))).collect();
            let texts: Vec<&str> = parts.iter().map(|part| part.map_or("", |(_, text)| text)).collect();
            let inputs = || {
                let times = parts.iter().enumerate();
                times.filter_map(|(line, part)| {
                    part.map(|(event_time_us, _)| LineInput { event_time_us, line })
                })
            };
            driven.first_wrong(|_, report| {
                let good = inputs().count() as u64;
                let read = (good != report.events_in)
                    .then(|| format!("lines read: {good} expected, {} found", report.events_in));
                read.or_else(|| rows::difference(&workload.rows(args, &mut inputs(), &texts), &kept.take()))
            })
        })?
    } else {
        None
    };
    let checked = difference.map_or_else(Checked::by_conservation, Checked::by_reference);
    let diverted = recorded.diverted(&driven);
    Ok(Figures { diverted, ..Figures::of_engine(args, &driven, None, checked) })
}

/// Runs the hand-written loop of a workload over lines. `row_of` converts a result of the loop to a result
/// row.
fn run_loop<W: LineWorkload, R>(
    args: &BenchArgs,
    kind: LoopKind,
    workload: &W,
    run: impl Fn(LoopOptions<'_>) -> LoopReport<R>,
    row_of: fn(&R) -> W::Row,
) -> Figures {
    let Settings { workers, block_records, nominal_rate_per_s } = Settings::of(args);
    let generator = &W::generator(args.seed);
    let run = |stop| run(LoopOptions { workers, block_records, stop, nominal_rate_per_s, generator });
    by_hand::figures(args, kind, run, |worker| {
        let mut inputs = (0..worker.events).map(|index| LineInput {
            event_time_us: offered::stamp(nominal_rate_per_s.get(), EventTime::EPOCH.as_micros(), index)
                .as_micros(),
            line: generator.place_of(worker.first_event as u64 + index),
        });
        let found: Vec<W::Row> = worker.results.iter().map(row_of).collect();
        rows::difference(&workload.rows(args, &mut inputs, &lines_of(generator)), &found)
    })
}
