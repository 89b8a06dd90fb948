//! `bench join`: the temporal join of two generated streams, or its hand-written loop.

use std::num::NonZeroU64;
use std::sync::Arc;

use anyhow::Result;
use thalweg::{EventTime, Generate, Graph, Query, Record};
use thalweg_cli::failure;
use thalweg_cli::interrupt::Interrupt;
use thalweg_connectors::RowWriter;
use thalweg_workloads::join::loops::{self, LoopOptions};
use thalweg_workloads::join::query;
use thalweg_workloads::join::{JoinGenerator, Match, Number, Side};
use thalweg_workloads::loops::LoopKind;
use thalweg_workloads::reference::join::{JoinInput, JoinMatch, JoinSecond, join_seconds};

use super::args::BenchArgs;
use super::by_hand::{self, Settings};
use super::digests::{Digested, Digests};
use super::drive::drive;
use super::load;
use super::offered::{self, Offered};
use super::report::{Checked, Figures};
use super::rows;

/// Number of records of all queries above which a run is only checked for lost records: the reference takes
/// about 8 million a second, and should not take much longer than the run.
const REFERENCE_RECORDS_MAX: u64 = 150_000_000;

/// Runs the temporal join, or its hand-written loop.
pub fn run(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    match args.api.loop_kind() {
        Some(kind) => Ok(run_loop(args, kind)),
        None => run_engine(args, interrupt),
    }
}

fn run_engine(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    // Each query has one load per stream. The generator draws from as many different keys as the stream has
    // records in a second of event time, unless the options give their number.
    let of_query = |offered: &Offered| {
        let sides = [Side::Left, Side::Right];
        let sides = sides.map(|side| Arc::new(generator(args, side, offered.stamps_from(0).0)));
        (sides, [0, 1].map(|stream| offered.of_stream(stream)))
    };
    let offered = Offered::of_queries(args);
    let streams: Vec<_> = offered.iter().map(of_query).collect();
    let mut planned = Vec::new();
    for (name, (sides, offered)) in args.query_names().iter().zip(&streams) {
        planned.push(plan(args, name, sides, offered)?);
    }
    let (graphs, digests): (Vec<_>, Vec<_>) = planned.into_iter().unzip();
    let driven = drive(&engine, graphs, &load::until(args), interrupt)?;
    let checked = if driven.is_comparable(REFERENCE_RECORDS_MAX) && digests.iter().all(Digests::is_whole) {
        Checked::by_reference(driven.first_wrong(|index, report| {
            // The left source is planned before the right one, so it comes first in the report.
            let (sides, offered) = &streams[index];
            let stream = |side: usize| {
                let (generator, records) = (&sides[side], offered[side].in_order(&report.made[side..=side]));
                records.map(move |(index, event_time)| input_of(generator, index, event_time))
            };
            rows::difference(&join_seconds(stream(0), stream(1)), &digests[index].take())
        }))
    } else {
        Checked::by_conservation()
    };
    Ok(Figures::of_engine(args, &driven, offered::per_s(&offered, args, &driven), checked))
}

fn generator(args: &BenchArgs, side: Side, rate_per_s: u64) -> JoinGenerator {
    let rate_per_s = NonZeroU64::new(rate_per_s)
        .expect("the options refuse rates below one record a second of each stream");
    let generator = JoinGenerator::new(args.seed, side, rate_per_s);
    match args.keys.and_then(NonZeroU64::new) {
        Some(keys) => generator.with_keys(keys),
        None => generator,
    }
}

fn plan(
    args: &BenchArgs,
    name: &str,
    sides: &[Arc<JoinGenerator>; 2],
    offered: &[Offered; 2],
) -> Result<(Graph, Digests<JoinSecond>)> {
    let [left, right] = sides;
    let (left, right) = (offered[0].source(args, left)?, offered[1].source(args, right)?);
    let file = args.results_file(&format!("{name}.csv"))?;
    let (sink, digests) = Digested::new(second_of, JoinSecond::new, add, file, write_row)?;
    let query = Query::new(name);
    query::matches(&query, left, right, args.strategy(), sink);
    Ok((args.plan(query)?, digests))
}

fn input_of(generator: &JoinGenerator, index: u64, event_time: EventTime) -> JoinInput {
    let Number { key, number } = generator.value(index, event_time);
    JoinInput { event_time_us: event_time.as_micros(), key, number }
}

fn run_loop(args: &BenchArgs, kind: LoopKind) -> Figures {
    assert_eq!(kind, loops::KIND, "other loops are refused");
    let Settings { workers, block_records, nominal_rate_per_s } = Settings::of(args);
    let rate_per_s =
        NonZeroU64::new(nominal_rate_per_s.get() / 2).expect("each stream has a record a second");
    let (start, seed) = (EventTime::EPOCH, args.seed);
    let run = |stop| loops::run(LoopOptions { workers, block_records, stop, rate_per_s, start, seed });
    by_hand::figures(args, kind, run, |worker| {
        let stream = |side| {
            let generator = generator(args, side, rate_per_s.get());
            (0..worker.events / 2).map(move |index| {
                let event_time = offered::stamp(rate_per_s.get(), start.as_micros(), index);
                input_of(&generator, worker.first_event as u64 + index, event_time)
            })
        };
        rows::difference(&join_seconds(stream(Side::Left), stream(Side::Right)), &worker.results)
    })
}

fn match_of(record: &Record<Match>) -> JoinMatch {
    let Match { key, left, right } = record.value;
    JoinMatch { event_time_us: record.event_time.as_micros(), key, left, right }
}

fn second_of(record: &Record<Match>) -> i64 {
    JoinSecond::of(record.event_time.as_micros())
}

fn add(second: &mut JoinSecond, record: &Record<Match>) {
    second.add(match_of(record));
}

fn write_row(record: &Record<Match>, row: &mut RowWriter) {
    let JoinMatch { event_time_us, key, left, right } = match_of(record);
    row.push_i64(event_time_us);
    [key, left, right].into_iter().for_each(|number| row.push_u64(number));
}
