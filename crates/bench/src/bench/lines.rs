//! Shared code of the workloads over lines of text: how they are run from generated or recorded lines, and
//! compared with the reference. The workloads themselves stand in the table of `workloads.rs`, and those whose lines are
//! messages of sensors in `riot.rs`.

mod riot;
mod workloads;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use thalweg::{Graph, Query, Record, Source, Text};
use thalweg_cli::failure;
use thalweg_cli::interrupt::Interrupt;
use thalweg_connectors::{RowError, RowWriter};
use thalweg_workloads::loops::{LoopKind, LoopReport};
use thalweg_workloads::prose::{LoopOptions, TextGenerator, stamp_of_line};
use thalweg_workloads::reference::Row;
use thalweg_workloads::reference::lines::LineInput;

use super::args::BenchArgs;
use super::by_hand::{self, START, Settings};
use super::drive::{Until, drive};
use super::load;
use super::offered::reserve_cache;
use super::offered::{self, Offered};
use super::recorded::Recorded;
use super::report::{Checked, Figures};
use super::rows::{self, Kept, Rows};
pub use riot::{Etl, Stats};
pub use workloads::{Distinct, Grep, Tweets, WordCount};

/// A source of lines: generated lines, or those of a file.
pub trait LineSource: Source<Item = Text> + 'static {}

impl<S: Source<Item = Text> + 'static> LineSource for S {}

/// The lines of an input in order, each with its event time and the index of its text, as the reference reads
/// them.
pub type LineInputs<'a> = dyn Iterator<Item = LineInput> + 'a;

/// The sink of the results of a workload over lines.
pub type RowsOf<W> = Rows<<W as LineWorkload>::Out, <W as LineWorkload>::Row>;

/// An entry in the table of workloads whose input is lines of text.
pub trait LineWorkload {
    /// Type of a result, which the query and the hand-written loop share.
    type Out: 'static;

    /// The type of a row of the workload's results.
    type Row: Row + for<'r> From<&'r Self::Out>;

    /// Makes the generator of lines from a seed.
    const GENERATOR: fn(u64) -> TextGenerator;

    /// Adds the workload to `query`, from its sources to `sink`.
    fn add<S: LineSource>(&self, query: &Query, args: &BenchArgs, splits: Vec<S>, sink: RowsOf<Self>);

    /// Number of records of all queries above which a run is only checked for lost records: the reference must
    /// not take longer than the run.
    const REFERENCE_RECORDS_MAX: u64 = 100_000_000;

    /// Runs the hand-written loop.
    ///
    /// # Panics
    /// If the workload has none; such a run is refused.
    fn run_loop(&self, options: LoopOptions<'_>) -> LoopReport<Self::Out> {
        let LoopOptions { kind, .. } = options;
        unreachable!("a workload without a loop is not run with --api {}", kind.name())
    }

    /// Returns the results that the reference expects for these lines, in the windows that the options
    /// choose.
    fn rows(&self, args: &BenchArgs, inputs: &mut LineInputs<'_>, lines: &[&str]) -> Vec<Self::Row>;

    /// Writes a result as a row of CSV.
    fn write(record: &Record<Self::Out>, row: &mut RowWriter);

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

/// Returns the different lines that a generator makes, each once.
fn lines_of(generator: &TextGenerator) -> Vec<&str> {
    generator.texts().iter().map(Text::as_str).collect()
}

/// Runs a workload over lines as the options ask: the query from recorded or generated lines, or the
/// hand-written loop.
pub fn run<W: LineWorkload>(
    args: &BenchArgs,
    workload: &W,
    interrupt: Option<&Interrupt>,
) -> Result<Figures> {
    if let Some(input) = &args.input {
        return run_recorded(args, workload, input, interrupt);
    }
    match args.api.loop_kind() {
        Some(kind) => Ok(run_loop(args, kind, workload)),
        None => run_generated(args, workload, interrupt),
    }
}

/// Plans the query of a workload and names it `name`. Also returns access to the result rows that its sink
/// keeps.
fn plan<W: LineWorkload, S: LineSource>(
    args: &BenchArgs,
    workload: &W,
    name: &str,
    splits: Vec<S>,
) -> Result<(Graph, Kept<W::Row>)> {
    let file = args.results_file(&format!("{name}.csv"))?;
    let (sink, kept) = RowsOf::<W>::new(|record| W::Row::from(&record.value), file, W::write)?;
    let query = Query::new(name);
    workload.add(&query, args, splits, sink);
    Ok((args.plan(query)?, kept))
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
        let generator = Arc::new(W::GENERATOR(args.seed));
        caches.push(reserve_cache(&engine, &*generator)?);
        generators.push(generator);
    }
    let generator = generators.first().expect("a stream has a split");
    let mut planned = Vec::new();
    for (name, offered) in args.query_names().iter().zip(&offered) {
        let splits = offered.splits(args, generator)?.into_iter().zip(&generators);
        let splits = splits.map(|(split, generator)| split.with_generator(Arc::clone(generator)));
        planned.push(plan(args, workload, name, splits.collect())?);
    }
    let (graphs, kept): (Vec<_>, Vec<_>) = planned.into_iter().unzip();
    let driven = drive(&engine, graphs, &load::until(args), interrupt)?;
    let checked = if driven.is_comparable(W::REFERENCE_RECORDS_MAX) && kept.iter().all(Kept::is_whole) {
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

fn run_recorded<W: LineWorkload>(
    args: &BenchArgs,
    workload: &W,
    input: &Path,
    interrupt: Option<&Interrupt>,
) -> Result<Figures> {
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    let name = args.workload().facts().name;
    let recorded = Recorded::lines(args, input, &[format!("{name}.csv")])?;
    let (graph, kept) = plan(args, workload, name, vec![recorded.open_lines(W::keep_part)?])?;
    let driven = drive(&engine, vec![graph], &Until::End, interrupt)?;
    let difference = if driven.is_comparable(W::REFERENCE_RECORDS_MAX) && kept.is_whole() {
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
                rows::wrong_count(&[("lines read", good, report.events_in)])
                    .or_else(|| rows::difference(&workload.rows(args, &mut inputs(), &texts), &kept.take()))
            })
        })?
    } else {
        None
    };
    let checked = difference.map_or_else(Checked::by_conservation, Checked::by_reference);
    let diverted = recorded.diverted(&driven);
    Ok(Figures { diverted, ..Figures::of_engine(args, &driven, None, checked) })
}

fn run_loop<W: LineWorkload>(args: &BenchArgs, kind: LoopKind, workload: &W) -> Figures {
    let generator = &W::GENERATOR(args.seed);
    let settings = Settings::of(args);
    let run = |stop| workload.run_loop(settings.options(kind, stop, generator));
    let stamp = |index| offered::stamp(settings.nominal_rate_per_s.get(), START.as_micros(), index);
    by_hand::figures(args, kind, run, |worker| {
        let mut inputs = (0..worker.events).map(|index| LineInput {
            event_time_us: stamp(index).as_micros(),
            line: generator.place_of(worker.first_event as u64 + index),
        });
        let found: Vec<W::Row> = worker.results.iter().map(Into::into).collect();
        rows::difference(&workload.rows(args, &mut inputs, &lines_of(generator)), &found)
    })
}
