//! ETL and STATS of RIoTBench: workloads whose lines are messages of sensors.
//!
//! A generated line is a message; a recorded line has the time in front, which is the event time. Lines that are no
//! messages are bad lines.

use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use thalweg::{Coded, Query, Record, Span};
use thalweg_connectors::{RowError, RowWriter};
use thalweg_workloads::prose::TextGenerator;
use thalweg_workloads::reference::etl::{EtlRow, PlaceRow, etl_rows, places_of_lines};
use thalweg_workloads::reference::lines::LineInput;
use thalweg_workloads::reference::riot::{MessageInput, recorded_message};
use thalweg_workloads::reference::stats::{StatsRow, stats_rows};
use thalweg_workloads::riot::stats::Upload;
use thalweg_workloads::riot::{Registry, Work, etl, generator, senml, stats};

use super::{LineInputs, LineSource, LineWorkload, RowsOf};
use crate::bench::args::BenchArgs;
use crate::bench::files;

/// Largest size of the file of a registry, decompressed: a million sensors with lines of 64 bytes.
const REGISTRY_BYTES_MAX: u64 = 64 << 20;

/// Number of messages of all queries above which a run is only checked for lost records: the references take some
/// 200,000 a second.
const REFERENCE_MESSAGES_MAX: u64 = 4_000_000;

/// The workload `etl`: messages that are checked, completed, annotated and published.
pub struct Etl {
    registry: Registry,
    places: Vec<PlaceRow>,
    work: Work,
}

impl Etl {
    /// Reads the registry that the options name, or takes the one of generated sensors. Refuses result files that would
    /// replace the file of the registry.
    pub fn of(args: &BenchArgs) -> Result<Self> {
        let (registry, places) = match &args.registry {
            Some(path) => {
                let text = registry_text(path)?;
                let told = |error: thalweg_workloads::riot::RegistryError| {
                    anyhow!("{}: --registry: {}: {error}", error.code(), path.display())
                };
                (Registry::parse(&text).map_err(told)?, places_of_lines(&text))
            }
            None => {
                let registry = generator::registry(args.seed)?;
                let rows = registry.rows().iter();
                let places = rows.map(|(sensor, place)| {
                    (sensor.as_str().to_owned(), place.location.to_string(), place.sensor_type.to_string())
                });
                let places = places.collect();
                (registry, places)
            }
        };
        if args.input.is_none() {
            let names: Vec<String> = args.query_names().iter().map(|name| format!("{name}.csv")).collect();
            files::refuse_one_for_two(args, &names, None)?;
        }
        Ok(Etl { registry, places, work: work(args) })
    }
}

impl LineWorkload for Etl {
    type Out = etl::Packet;
    type Row = EtlRow;
    const GENERATOR: fn(u64) -> TextGenerator = generator::messages;
    const REFERENCE_RECORDS_MAX: u64 = REFERENCE_MESSAGES_MAX;

    fn add<S: LineSource>(&self, query: &Query, args: &BenchArgs, splits: Vec<S>, sink: RowsOf<Self>) {
        etl::publications(query, splits, args.strategy(), &self.registry, self.work, sink);
    }

    fn rows(&self, _args: &BenchArgs, inputs: &mut LineInputs<'_>, lines: &[&str]) -> Vec<EtlRow> {
        etl_rows(inputs.map(message_input), lines, &self.places)
    }

    fn write(record: &Record<Self::Out>, row: &mut RowWriter) {
        row.push_u64(record.value.message);
        row.push_str(&record.value.payload);
    }

    fn keep_part(_number: u64, line: &str) -> Result<Record<Range<usize>>, RowError> {
        message_of_line(line)
    }

    fn recorded(_number: usize, line: &str) -> Option<(i64, &str)> {
        recorded_message(line)
    }
}

/// The workload `stats`: averages, predictions and numbers of sensors, drawn as plots.
pub struct Stats {
    work: Work,
}

impl Stats {
    /// Creates the workload, whose operators take the additional CPU time that the options ask for.
    pub fn of(args: &BenchArgs) -> Self {
        Stats { work: work(args) }
    }
}

impl LineWorkload for Stats {
    type Out = Upload;
    type Row = StatsRow;
    const GENERATOR: fn(u64) -> TextGenerator = generator::messages;
    const REFERENCE_RECORDS_MAX: u64 = REFERENCE_MESSAGES_MAX;

    fn add<S: LineSource>(&self, query: &Query, args: &BenchArgs, splits: Vec<S>, sink: RowsOf<Self>) {
        stats::plots(query, splits, args.strategy(), self.work, sink);
    }

    fn rows(&self, _args: &BenchArgs, inputs: &mut LineInputs<'_>, lines: &[&str]) -> Vec<StatsRow> {
        stats_rows(inputs.map(message_input), lines)
    }

    fn write(record: &Record<Self::Out>, row: &mut RowWriter) {
        let StatsRow { statistic, kind, plot, lines, least, greatest, sum } = StatsRow::from(&record.value);
        [statistic, kind].into_iter().for_each(|name| row.push_str(name));
        [plot, lines].into_iter().for_each(|number| row.push_u64(number));
        [least, greatest, sum].into_iter().for_each(|value| row.push_f64(value));
    }

    fn keep_part(_number: u64, line: &str) -> Result<Record<Range<usize>>, RowError> {
        message_of_line(line)
    }

    fn recorded(_number: usize, line: &str) -> Option<(i64, &str)> {
        recorded_message(line)
    }
}

fn message_input(LineInput { event_time_us, line }: LineInput) -> MessageInput {
    MessageInput { event_time_us, text: line }
}

fn message_of_line(line: &str) -> Result<Record<Range<usize>>, RowError> {
    senml::line_of(line).map_err(|error| RowError { field: "line", reason: error.to_string() })
}

/// Reads the file of a registry, and decompresses it if its name ends in `.gz`.
fn registry_text(path: &Path) -> Result<String> {
    let shown = path.display();
    let mut text = String::new();
    let read =
        files::opened(path).and_then(|file| file.take(REGISTRY_BYTES_MAX + 1).read_to_string(&mut text));
    read.with_context(|| format!("--registry: {shown} cannot be read"))?;
    if REGISTRY_BYTES_MAX < text.len() as u64 {
        bail!("--registry: {shown} has more than {} MiB; take fewer sensors", REGISTRY_BYTES_MAX >> 20);
    }
    Ok(text)
}

/// Number of rounds of arithmetic in one measurement of their speed. They take some 40 us, so most measurements are not
/// interrupted.
const TRIAL_ROUNDS: u64 = 30_000;

/// Number of measurements of the speed of arithmetic. The shortest time counts.
const TRIALS: u32 = 200;

/// Returns the additional work of an operator of weight 1: the rounds of arithmetic that take the CPU time of
/// `--operator-cost` on this machine.
fn work(args: &BenchArgs) -> Work {
    if args.operator_cost == Span::ZERO {
        return Work::NONE;
    }
    let trial = Work::of_rounds(TRIAL_ROUNDS);
    let shortest = (0..TRIALS).map(|_| {
        let start = Instant::now();
        trial.spend();
        start.elapsed()
    });
    let shortest = shortest.min().unwrap_or_default().max(Duration::from_nanos(1));
    let cost_ns = u128::from(args.operator_cost.as_micros().unsigned_abs()) * 1_000;
    let rounds = cost_ns * u128::from(TRIAL_ROUNDS) / shortest.as_nanos();
    Work::of_rounds(u64::try_from(rounds).unwrap_or(u64::MAX))
}
