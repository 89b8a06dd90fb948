//! Queries of SQL as `thalweg steer flink --sql` takes them: tables, windows and latency targets of jobs that run on Flink.
//!
//! Nothing is run here, and connectors and options of tables are not checked, since a table may have a connector that only
//! Flink has.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Result, anyhow};
use thalweg_cli::failure::WrongOption;
use thalweg_model::{Horizon, SlidingWindows, Span};
use thalweg_sql::catalog::{CATALOG, DATABASE};
use thalweg_sql::plan::{JoinMethod, Node, Plan, WindowSpec, Windowing};
use thalweg_sql::session::Job;
use thalweg_sql::types::SqlType;
use thalweg_steer::flink::Declared;

use super::script::Script;

/// Longest file of SQL in bytes.
const BYTES_MAX: u64 = 16 << 20;

/// Span in milliseconds that divides the offsets of all time zones since 1972. Windows whose ends have a distance that divides
/// it end at the same instants in all of them.
const ZONE_STEP_MS: i64 = 15 * 60 * 1_000;

/// Returns the queries of a file of SQL that write tables.
///
/// # Errors
/// If the file cannot be read, is longer than [`BYTES_MAX`], cannot be planned, or writes no table.
pub fn read(file: &Path) -> Result<Vec<Declared>> {
    let name = file.display().to_string();
    let refused = |error: String| WrongOption(format!("--sql: {name}: {error}"));
    let length = fs::metadata(file).map_err(|error| refused(error.to_string()))?.len();
    if length > BYTES_MAX {
        return Err(
            refused(format!("it has {length} bytes, and a file of SQL has at most {BYTES_MAX}")).into()
        );
    }
    let text = fs::read(file).map_err(|error| refused(error.to_string()))?;
    let text = String::from_utf8(text).map_err(|error| {
        anyhow!("{name}: the bytes from {} on are no UTF-8", error.utf8_error().valid_up_to())
    })?;
    let script = Script::of_file(name.clone(), &text);
    let declared: Vec<Declared> = script.jobs()?.iter().filter_map(of_job).collect();
    if declared.is_empty() {
        return Err(refused("no statement in it writes a table".to_owned()).into());
    }
    Ok(declared)
}

/// Returns the query of a job; `None` if the job writes no table.
fn of_job(job: &Job) -> Option<Declared> {
    let tables: Vec<&str> = job.parts.iter().filter_map(|part| Some(&*part.into.as_ref()?.name)).collect();
    let writes: BTreeSet<String> = tables.iter().map(|table| (*table).to_owned()).collect();
    if writes.is_empty() {
        return None;
    }
    // Flink's name for a job without `pipeline.name`.
    let is_unnamed = job.name == format!("insert-{}", job.place.line);
    let name = if is_unnamed {
        // The full name of a table that is not in the default database begins with its database.
        let path = |table: &&str| match table.contains('.') {
            true => format!("{CATALOG}.{table}"),
            false => format!("{CATALOG}.{DATABASE}.{table}"),
        };
        format!("insert-into_{}", tables.iter().map(path).collect::<Vec<_>>().join(","))
    } else {
        job.name.clone()
    };
    let mut reads = BTreeSet::new();
    job.parts.iter().for_each(|part| find_sources(&part.plan, &mut reads));
    let latency_target = job
        .settings
        .latency_target
        .and_then(|target| Some(Span::from_micros(i64::try_from(target.as_micros()).ok()?)));
    let is_utc = ["UTC", "Etc/UTC", "GMT", "Etc/GMT"].contains(&job.settings.zone.name());
    let horizon =
        job.parts.iter().try_fold(Horizon::NONE, |all, part| Some(all.and(horizon(&part.plan, is_utc)?)));
    Some(Declared { name, reads, writes, latency_target, horizon })
}

/// Finds the tables of a plan that Flink reads by sources of their own. It asks a table of a lookup join row by row.
fn find_sources(plan: &Plan, found: &mut BTreeSet<String>) {
    match &plan.node {
        Node::Scan { table, .. } => _ = found.insert(table.name.clone()),
        Node::Join { left, join, .. } if matches!(join.method, JoinMethod::Lookup) => {
            find_sources(left, found);
        }
        _ => plan.inputs().into_iter().for_each(|input| find_sources(input, found)),
    }
}

/// Returns the event times at which the windows of a plan emit results; `None` if any instant may be one, as with sessions
/// and with rows that wait for a watermark. `is_utc` is true if the time zone of the session is UTC.
fn horizon(plan: &Plan, is_utc: bool) -> Option<Horizon> {
    plan.walk().try_fold(Horizon::NONE, |all, part| Some(all.and(own_horizon(part, is_utc)?)))
}

/// Returns the event times at which the outermost operator of a plan emits results, as [`horizon`] does for all.
fn own_horizon(plan: &Plan, is_utc: bool) -> Option<Horizon> {
    Some(match &plan.node {
        Node::WindowAggregate { input, windows: Windowing::Cut { spec, time }, .. }
        | Node::AssignWindows { input, spec, time } => {
            let is_local = matches!(input.columns.get(*time)?.of, SqlType::TimestampLtz(_));
            of_windows(spec, is_utc || !is_local)?
        }
        Node::ByArrival { .. } | Node::Sort { .. } | Node::Over { time: Some(_), .. } => return None,
        Node::Join { join, .. } => match join.method {
            JoinMethod::Interval { .. } | JoinMethod::Temporal { .. } => return None,
            // Windows of a window join are cut below it.
            JoinMethod::Window { .. } | JoinMethod::Lookup | JoinMethod::Regular { .. } => Horizon::NONE,
        },
        _ => Horizon::NONE,
    })
}

/// Returns the ends of windows, which are cut by the time of UTC or by that of another zone; `None` if they are not known
/// before.
fn of_windows(spec: &WindowSpec, is_utc: bool) -> Option<Horizon> {
    let (distance_ms, offset_ms) = match *spec {
        WindowSpec::Tumble { size_ms, offset_ms } => (size_ms, offset_ms),
        WindowSpec::Hop { slide_ms, offset_ms, .. } => (slide_ms, offset_ms),
        WindowSpec::Cumulate { step_ms, offset_ms, .. } => (step_ms, offset_ms),
        WindowSpec::Session { .. } => return None,
    };
    if !is_utc && ZONE_STEP_MS % distance_ms != 0 {
        return None;
    }
    let distance = Span::from_millis(distance_ms);
    let windows = SlidingWindows::of_size(distance).every(distance).ok()?;
    Some(Horizon::of_windows(windows.with_offset(Span::from_millis(offset_ms)), Span::ZERO))
}

#[cfg(test)]
mod tests;
