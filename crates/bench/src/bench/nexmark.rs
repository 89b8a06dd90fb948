//! `bench nexmark-q0` to `nexmark-q22`: the queries of Nexmark in SQL, over generated events without end.
//!
//! The text of a query is that of its file in `examples/nexmark` ([`queries`]). Before its INSERT, `ALTER
//! TABLE` gives its tables the rate of the run and removes their end. Only the tables of events that the query
//! reads are made, so the unit of rates and throughput is an event that is read: a person, an auction or a
//! bid. A round of Nexmark has 50 events, of which 46 are bids. So a query of bids at 46,000 events/s reads
//! those of a stream of 50,000 events/s.
//!
//! Drained, the events have the event times of the files: 10,000 events of all kinds per second. At a rate an
//! event is due when its event time is over, counted from the first poll of its table; event times begin at the
//! instant at which the query was written, a moment before. So event time and clock are not compared: there is no
//! latency from the end of a window.
//!
//! There is no reference for these queries here, so runs are only checked for lost records. The results of the queries
//! are tested with the examples and the cases of SQL.

pub mod queries;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::temporal_conversions::timestamp_ms_to_datetime;
use thalweg::{Clock, EdgeLimits, SystemClock};
use thalweg_cli::failure;
use thalweg_cli::interrupt::Interrupt;
use thalweg_connectors::MARKER_EVERY;
use thalweg_runtime::limits;
use thalweg_sql::connect::{Division, World};
use thalweg_sql::deliver::Tally;
use thalweg_sql::error::{Code, SqlError};
use thalweg_sql::job::{Assembled, assemble, batch_edges};
use thalweg_sql::session::{Action, Session};

use super::args::BenchArgs;
use super::drive::drive;
use super::load;
use super::report::{Checked, Figures};
use crate::values::Rate;
use queries::{NexmarkQuery, ROUND, SIDE_INPUT, TO_FILES};

/// Least rate of the events of one table, in events per second, at which each millisecond has an event and so a
/// latency marker. The kinds of events follow each other in rounds, so their gaps are uneven.
const REGULAR_PER_S_MIN: u64 = 20_000;

/// Runs the queries until the time is up.
pub fn run(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    let query = args.workload().facts().nexmark.context("the workload is a query of Nexmark")?;
    let budget_bytes = args.memory_budget_bytes();
    let names = args.query_names();
    // Markers come every millisecond, so an edge has room for those of a while.
    let marks_max = limits::MARKS_PER_EDGE.default as u32;
    let edges = EdgeLimits { marks_max, ..batch_edges(names.len(), args.splits(), budget_bytes) };
    let engine = args.engine()?.edges(edges).build().map_err(|error| failure::of_plan(&error))?;
    let (mut graphs, mut tallies) = (Vec::new(), Vec::new());
    for name in &names {
        let Assembled { query, tally, .. } = assembled(args, query, name)?;
        graphs.push(args.plan(query)?);
        tallies.push(tally);
    }
    let driven = drive(&engine, graphs, &load::until_with(args, markers_every(args, query)), interrupt)?;
    let offered_per_s = match args.rate {
        Rate::Max => None,
        Rate::PerSecond(rate_per_s) => Some(rate_per_s * args.queries()),
    };
    let figures = Figures::of_engine(args, &driven, offered_per_s, Checked::by_conservation());
    let side_rows = if has_side_input(query) { SIDE_INPUT.1.lines().count() as u64 } else { 0 };
    let events_in = figures.events_in.saturating_sub(side_rows * args.queries());
    // The engine counts batches of results.
    let results_out = tallies.iter().map(Tally::rows_out).sum();
    Ok(Figures { api: "sql", events_in, results_out, ..figures })
}

/// Returns the time between two latency markers of each query; `None` if it is not regular, because several
/// tables or too few events have markers.
fn markers_every(args: &BenchArgs, query: &NexmarkQuery) -> Vec<Option<Duration>> {
    let is_regular = matches!(args.rate, Rate::PerSecond(rate_per_s) if REGULAR_PER_S_MIN <= rate_per_s);
    let every = (is_regular && query.tables.len() == 1).then_some(MARKER_EVERY);
    args.query_names().iter().map(|_| every).collect()
}

fn assembled(args: &BenchArgs, query: &NexmarkQuery, name: &str) -> Result<Assembled> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let text = text(args, query, name, &clock)?;
    let workers = args.splits();
    let given = if has_side_input(query) { side_input()? } else { BTreeMap::new() };
    let division = Division { workers, ..Division::default() };
    let world = World { seed: args.seed, clock: Arc::clone(&clock), given, division, ..World::default() };
    let actions = Session::new(Arc::clone(&clock)).read(&text).map_err(|error| anyhow!("{error}"))?;
    let [Action::Run(job)] = &actions[..] else { return Err(anyhow!("{}: not one INSERT", query.name)) };
    let mut shown = |_: &[_], _| Err(SqlError::new(Code::Invalid, "the rows of an INSERT go to its table"));
    assemble(job, &clock, &world, &mut shown).map_err(|error| anyhow!("{error}"))
}

/// Returns the text of the query with the settings of the run: the statements of its file, and before its
/// INSERT those that change its tables.
fn text(args: &BenchArgs, query: &NexmarkQuery, name: &str, clock: &Arc<dyn Clock>) -> Result<String> {
    let at = query.text.find("\nINSERT INTO ").context("the file has an INSERT")? + 1;
    let (declared, insert) = query.text.split_at(at);
    let (read_per_s, pace) = match args.rate {
        Rate::Max => (args.nominal_rate_per_s(), "max"),
        Rate::PerSecond(rate_per_s) => (rate_per_s, "paced"),
    };
    let events_per_s = events_per_s(read_per_s, query);
    let mut options = format!(
        "'events.num' = '0', 'first-event.rate' = '{events_per_s}', 'next-event.rate' = '{events_per_s}', \
         'thalweg.rate' = '{pace}'"
    );
    if args.rate != Rate::Max {
        let now_ms = (clock.now().as_nanos() / 1_000_000).cast_signed();
        let now = timestamp_ms_to_datetime(now_ms).context("the clock is out of range")?;
        options += &format!(", 'thalweg.base-time' = '{now}'");
    }
    let alter = |table: &&str| format!("ALTER TABLE {table} SET ({options});\n");
    let mut altered: String = query.tables.iter().map(alter).collect();
    if let Some(folder) = args.results.as_ref().filter(|_| query.name == TO_FILES) {
        let path = folder.join(name).display().to_string().replace('\'', "''");
        altered += &format!("ALTER TABLE results SET ('path' = '{path}');\n");
    }
    Ok(format!("{declared}{altered}\n{insert}"))
}

/// Returns the events of all kinds per second, of which a query reads `read_per_s`, rounded up.
fn events_per_s(read_per_s: u64, query: &NexmarkQuery) -> u64 {
    (read_per_s * ROUND).div_ceil(query.read_per_round)
}

fn has_side_input(query: &NexmarkQuery) -> bool {
    query.text.contains(SIDE_INPUT.0)
}

/// Returns the rows of the table that is looked up. The file of the examples is part of the program, so that a
/// run does not depend on its folder.
fn side_input() -> Result<BTreeMap<String, Arc<Vec<RecordBatch>>>> {
    let (name, text) = SIDE_INPUT;
    let pairs = text.lines().map(|line| {
        let (key, value) = line.split_once(',')?;
        Some((key.parse::<i64>().ok()?, value))
    });
    let pairs: Option<Vec<(i64, &str)>> = pairs.collect();
    let pairs = pairs.context("the side table has a number and a text on each line")?;
    let keys = Int64Array::from_iter_values(pairs.iter().map(|(key, _)| *key));
    let values = StringArray::from_iter_values(pairs.iter().map(|(_, value)| *value));
    let columns: [(&str, ArrayRef); 2] = [("key", Arc::new(keys)), ("value", Arc::new(values))];
    Ok(BTreeMap::from([(name.to_owned(), Arc::new(vec![RecordBatch::try_from_iter(columns)?]))]))
}
