//! `bench lrb-full`: Linear Road by its full rules, from generated or recorded traffic, with or without historical
//! [`tolls`].

mod tolls;

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use thalweg::{Engine, EventTime, Graph, Query, QueryReport, Record, Source};
use thalweg_cli::failure;
use thalweg_cli::interrupt::Interrupt;
use thalweg_connectors::RowWriter;
use thalweg_workloads::lrb::LrbRecord;
use thalweg_workloads::lrb::csv;
use thalweg_workloads::lrb::full::{self, Announcement, Balance, Daily, FullSinks, Notice};
use thalweg_workloads::reference::lrb_full::{
    LrbBalance, LrbDaily, LrbFullAnswer, LrbNotice, LrbToll, lrb_full,
};

use super::args::BenchArgs;
use super::drive::{Until, drive};
use super::load;
use super::offered::reserve_cache;
use super::offered::{self, Offered};
use super::recorded::Recorded;
use super::report::{Checked, Figures};
use super::rows::{self, Kept, Rows};
use super::{files, linear_road};
use tolls::Tolls;

/// Names of the files of Linear Road's results, without the extension `.csv`.
const RESULTS: [&str; 4] = ["type0_toll", "type1_accident", "type2_balance", "type3_daily"];

/// Names of the operators that filter out requests without an answer: requests of a kind that has none, and
/// requests for a day without a historical toll.
const UNANSWERED: [&str; 2] = ["answerable", "daily expenditures"];

/// Number of records of all queries above which a generated run is only checked for lost records: the
/// reference needs 200 bytes and 2.4 us of time per record, and it should not take longer than a run of 5 s.
const GENERATED_RECORDS_MAX: u64 = 2_000_000;

/// Number of records above which a recorded run is only checked for lost records; three hours of one
/// expressway are 12 million records.
const RECORDED_RECORDS_MAX: u64 = 15_000_000;

/// Runs Linear Road by its full rules.
pub fn run(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    let engine = args.engine()?.build().map_err(|error| failure::of_plan(&error))?;
    match &args.input {
        Some(input) => run_recorded(args, &engine, input, interrupt),
        None => run_generated(args, &engine, interrupt),
    }
}

fn run_generated(args: &BenchArgs, engine: &Engine, interrupt: Option<&Interrupt>) -> Result<Figures> {
    let names = args.query_names();
    let results: Vec<String> =
        names.iter().flat_map(|name| RESULTS.map(|kind| file_name(kind, name))).collect();
    files::refuse_one_for_two(args, &results, None)?;
    let tolls = Tolls::of(args, engine)?;
    let generator = Arc::new(linear_road::generator(args));
    let _cache = reserve_cache(engine, &*generator)?;
    let offered = Offered::of_queries(args);
    let mut planned = Vec::new();
    for (name, offered) in names.iter().zip(&offered) {
        planned.push(plan(args, name, offered.splits(args, &generator)?, &tolls)?);
    }
    let (graphs, kept): (Vec<_>, Vec<_>) = planned.into_iter().unzip();
    let driven = drive(engine, graphs, &load::until(args), interrupt)?;
    let is_comparable = driven.is_comparable(GENERATED_RECORDS_MAX) && kept.iter().all(KeptRows::are_whole);
    let tolls = if is_comparable { tolls.for_the_reference(engine)? } else { None };
    let checked = if let Some((tolls, _paid)) = tolls {
        Checked::by_reference(driven.first_wrong(|index, report| {
            // Records are sorted by index: the reference takes rows of one second in the given order, but the
            // query takes them in the order of their event times.
            let mut records: Vec<(u64, EventTime)> = offered[index].records(&report.made).collect();
            records.sort_unstable();
            let records = linear_road::generated(&generator, records.into_iter());
            let answer = lrb_full(records.map(|record| csv::columns_of(&record)), &tolls);
            kept[index].difference(&answer, report)
        }))
    } else {
        Checked::by_conservation()
    };
    Ok(Figures {
        unanswered: Some(driven.total(unanswered)),
        ..Figures::of_engine(args, &driven, offered::per_s(&offered, args, &driven), checked)
    })
}

fn run_recorded(
    args: &BenchArgs,
    engine: &Engine,
    input: &Path,
    interrupt: Option<&Interrupt>,
) -> Result<Figures> {
    let name = args.workload().facts().name;
    let recorded =
        Recorded::new(args, input, linear_road::LAYOUT, &RESULTS.map(|kind| file_name(kind, name)))?;
    let tolls = Tolls::of(args, engine)?;
    let (graph, kept) = plan(args, name, [recorded.open(linear_road::record_of_row)?], &tolls)?;
    let driven = drive(engine, vec![graph], &Until::End, interrupt)?;
    let is_comparable = driven.is_comparable(RECORDED_RECORDS_MAX) && kept.are_whole();
    let tolls = if is_comparable { tolls.for_the_reference(engine)? } else { None };
    let answer = match tolls {
        Some((tolls, _paid)) => recorded.with_lines(engine, &driven, |lines| {
            lrb_full(lines.filter_map(linear_road::columns_of_line), &tolls)
        })?,
        None => None,
    };
    let figures = recorded.figures(args, &driven, answer, |answer, report| kept.difference(answer, report));
    Ok(Figures { unanswered: Some(driven.total(unanswered)), ..figures })
}

fn file_name(kind: &str, query: &str) -> String {
    // If there are several queries, the query's name ends in a number, which the file name repeats.
    let number = query.strip_prefix("lrb-full").expect("queries are named after their workload");
    format!("{kind}{number}.csv")
}

fn plan<S>(
    args: &BenchArgs,
    name: &str,
    splits: impl IntoIterator<Item = S>,
    tolls: &Tolls<'_>,
) -> Result<(Graph, KeptRows)>
where
    S: Source<Item = LrbRecord> + 'static,
{
    let file = |kind| args.results_file(&file_name(kind, name));
    // Each input record leads to at most one result row of each kind, so no sink needs room for more rows
    // than there may be records.
    let rows_max = if args.input.is_some() { RECORDED_RECORDS_MAX } else { GENERATED_RECORDS_MAX };
    let (toll_sink, tolls_kept) = Rows::new(toll_of, file(RESULTS[0])?, write_toll)?;
    let (notice_sink, notices) = Rows::new(notice_of, file(RESULTS[1])?, write_notice)?;
    let (balance_sink, balances) = Rows::new(balance_of, file(RESULTS[2])?, write_balance)?;
    let (daily_sink, dailies) = Rows::new(daily_of, file(RESULTS[3])?, write_daily)?;
    let sinks = FullSinks {
        tolls: toll_sink.keeping(rows_max),
        notices: notice_sink.keeping(rows_max),
        balances: balance_sink.keeping(rows_max),
        dailies: daily_sink.keeping(rows_max),
    };
    let query = Query::new(name);
    full::full_rules(&query, splits, args.strategy(), tolls.for_the_query(), sinks)?;
    let graph = args.plan(query)?;
    Ok((graph, KeptRows { tolls: tolls_kept, notices, balances, dailies }))
}

struct KeptRows {
    tolls: Kept<LrbToll>,
    notices: Kept<LrbNotice>,
    balances: Kept<LrbBalance>,
    dailies: Kept<LrbDaily>,
}

impl KeptRows {
    fn are_whole(&self) -> bool {
        let KeptRows { tolls, notices, balances, dailies } = self;
        tolls.is_whole() && notices.is_whole() && balances.is_whole() && dailies.is_whole()
    }

    /// Returns the first difference between the results of a query and those of the reference. Takes the rows
    /// out of the sinks.
    fn difference(&self, answer: &LrbFullAnswer, report: &QueryReport) -> Option<String> {
        let counts = [
            ("records read", answer.read, report.events_in),
            ("requests unanswered", answer.unanswered, unanswered(report)),
        ];
        rows::wrong_count(&counts)
            .or_else(|| rows::difference(&answer.tolls, &self.tolls.take()))
            .or_else(|| rows::difference(&answer.notices, &self.notices.take()))
            .or_else(|| rows::difference(&answer.balances, &self.balances.take()))
            .or_else(|| rows::difference(&answer.dailies, &self.dailies.take()))
    }
}

fn unanswered(report: &QueryReport) -> u64 {
    let operators = report.operators.iter().filter(|counts| UNANSWERED.contains(&counts.operator.as_str()));
    operators.map(|counts| counts.counts.filtered).sum()
}

fn seconds<T>(record: &Record<T>) -> i32 {
    record.event_time.as_micros().div_euclid(1_000_000) as i32
}

fn toll_of(record: &Record<Announcement>) -> LrbToll {
    let Announcement { entry, lav_mph, toll, .. } = record.value;
    LrbToll {
        vehicle: entry.vehicle.cast_signed(),
        time_s: seconds(record),
        lav: lav_mph.cast_signed(),
        toll: toll.cast_signed(),
    }
}

fn write_toll(record: &Record<Announcement>, row: &mut RowWriter) {
    let LrbToll { vehicle, time_s, lav, toll } = toll_of(record);
    [0, vehicle.into(), time_s.into(), lav, toll].into_iter().for_each(|number| row.push_i64(number));
}

fn notice_of(record: &Record<Notice>) -> LrbNotice {
    let Notice { vehicle, segment } = record.value;
    LrbNotice {
        time_s: seconds(record),
        xway: segment.xway.into(),
        accident_segment: segment.number.into(),
        direction: segment.direction.number().into(),
        vehicle: vehicle.cast_signed(),
    }
}

fn write_notice(record: &Record<Notice>, row: &mut RowWriter) {
    let LrbNotice { time_s, xway, accident_segment, direction, vehicle } = notice_of(record);
    [1, time_s, xway, accident_segment, direction, vehicle]
        .into_iter()
        .for_each(|number| row.push_i64(number.into()));
}

fn balance_of(record: &Record<Balance>) -> LrbBalance {
    let Balance { query, balance } = record.value;
    LrbBalance {
        time_s: seconds(record),
        query: query.cast_signed(),
        balance: balance.cast_signed(),
        before_last_charge: None,
    }
}

fn write_balance(record: &Record<Balance>, row: &mut RowWriter) {
    let LrbBalance { time_s, query, balance, .. } = balance_of(record);
    // The file has a column for the time of the answer. It repeats the time of the request, as if the answer
    // had been known at once.
    let result_time_s = time_s;
    [2, time_s.into(), result_time_s.into(), query.into(), balance]
        .into_iter()
        .for_each(|number| row.push_i64(number));
}

fn daily_of(record: &Record<Daily>) -> LrbDaily {
    let Daily { query, toll } = record.value;
    LrbDaily { time_s: seconds(record), query: query.cast_signed(), toll: toll.into() }
}

fn write_daily(record: &Record<Daily>, row: &mut RowWriter) {
    let LrbDaily { time_s, query, toll } = daily_of(record);
    [3, time_s.into(), query.into(), toll].into_iter().for_each(|number| row.push_i64(number));
}
