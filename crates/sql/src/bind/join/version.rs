//! Tables as of a time (FOR SYSTEM_TIME AS OF): the versions of a row, and how a join finds the valid one.
//!
//! By event time, the rows of a table are versions if it has a primary key and a watermark. So are those of a view
//! that keeps the last row of each key by event time: `ROW_NUMBER() OVER (PARTITION BY key ORDER BY ts DESC) = 1`. By
//! processing time, rows are looked up in a table that ends.
//!
//! Source: Flink's documentation, "Joins" (temporal and look-up joins) and "Versioned Tables".

use std::sync::Arc;

use thalweg_sql_exec::plan::{Column, Counted, Node, Plan, RankFunction, Role};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::values::ScalarValue;
use thalweg_sql_tables::connect::check_source;
use thalweg_sql_tables::error::{Code, Place, SqlError};
use thalweg_sql_tables::table::Table;

use super::terms::Terms;
use super::{JoinKey, JoinKind, JoinMethod, Result};

/// The way in which a join finds the version of a row.
pub(super) enum Versions {
    /// The version is the one that is valid at the event time of the left row.
    Valid {
        left_time: usize,
        right_time: usize,
        /// Indexes of the key columns in the right input.
        keys: Vec<usize>,
        counts: Counted,
        place: Option<Place>,
    },
    /// Rows are looked up by equal values in the table as it is now (processing time).
    Present { place: Option<Place> },
}

impl Versions {
    /// Returns the method of the join, its keys, and the further condition on pairs of rows.
    pub(super) fn join(
        self,
        kind: JoinKind,
        mut terms: Terms<'_>,
    ) -> Result<(JoinMethod, Vec<JoinKey>, Option<Typed>)> {
        let (Versions::Valid { place, .. } | Versions::Present { place }) = self;
        if !matches!(kind, JoinKind::Inner | JoinKind::Left) {
            let message = "a table as of a time is joined by JOIN or LEFT JOIN";
            return Err(SqlError::new(Code::Unsupported, message).at(place));
        }
        match self {
            Versions::Valid { left_time, right_time, keys, counts, .. } => {
                let keys = terms.take_keys(&keys).ok_or_else(|| {
                    let message = "a join with versions of a table is by all columns of its primary key";
                    SqlError::new(Code::Invalid, message).at(place).help("add ON a.k = b.k for each of them")
                })?;
                // The other terms are tested on the valid version, and do not decide which version is valid.
                let method = JoinMethod::Temporal { left_time, right_time, counts, ttl_ms: None };
                Ok((method, keys, terms.rest()))
            }
            Versions::Present { .. } => {
                if !terms.has_keys() && !terms.take_constant_keys() {
                    let message = "rows are looked up in a table by columns that must be equal";
                    return Err(SqlError::new(Code::Invalid, message)
                        .at(place)
                        .help("add ON a.k = b.k, or ON b.k = 1"));
                }
                let (keys, condition) = terms.finish();
                Ok((JoinMethod::Lookup, keys, condition))
            }
        }
    }
}

/// Returns the plan of a table as of a time of the left input, and how its versions are found. `left_time` is the index of
/// that time, and `place` that of its name in the text.
///
/// # Errors
/// [`Code::Invalid`] for a time that is none, or a table without versions; [`Code::TypeMismatch`] for event times of
/// different types; [`Code::Unsupported`] for a table without an end by processing time.
pub(super) fn versions(
    left_time: usize,
    place: Option<Place>,
    left: &Plan,
    right: Plan,
) -> Result<(Plan, Versions)> {
    let time = &left.columns[left_time];
    match time.role {
        Role::Rowtime => {}
        Role::Proctime | Role::WindowProctime => {
            check_ends(&right, place)?;
            return Ok((right, Versions::Present { place }));
        }
        _ => {
            let message = format!("`{}` is no event time and no processing time", time.name);
            let error = SqlError::new(Code::Invalid, message).at(place);
            return Err(error.help("declare WATERMARK FOR it in its table; expressions are no event time"));
        }
    }
    let (plan, keys, right_time, counts) = match one_of_each(&right) {
        Some(Chosen { plan, keys, time, counts }) => (plan, keys, Some(time), counts),
        None => {
            let keys = primary_key(&right).ok_or_else(|| no_versions(place))?;
            let time = right.rowtime();
            (right, keys, time, Counted::All)
        }
    };
    let right_time = right_time.ok_or_else(|| no_versions(place))?;
    let is_instant = |of: &SqlType| matches!(of, SqlType::TimestampLtz(_));
    let of = &plan.columns[right_time].of;
    if is_instant(&time.of) != is_instant(of) {
        let message = format!("event time is {} on one side, and {of} on the other", time.of);
        return Err(SqlError::new(Code::TypeMismatch, message).at(place).help("declare both alike"));
    }
    Ok((plan, Versions::Valid { left_time, right_time, keys, counts, place }))
}

/// A query that keeps one row of each key. Its plan has all rows; the join uses those of rank 1.
struct Chosen {
    plan: Plan,
    keys: Vec<usize>,
    time: usize,
    counts: Counted,
}

/// Returns the rows among which a plan keeps the first or the last one of each key by event time (ROW_NUMBER); `None` for
/// other plans. A further condition could remove a version, and no change would report its end, so such a plan is none.
fn one_of_each(plan: &Plan) -> Option<Chosen> {
    match &plan.node {
        Node::Calc { input, conditions, outputs } if conditions.is_empty() => {
            let chosen = one_of_each(input)?;
            let find = |place: usize| outputs.iter().position(|output| output.as_column() == Some(place));
            let keys = chosen.keys.iter().map(|key| find(*key)).collect::<Option<_>>()?;
            let time = find(chosen.time)?;
            let plan = chosen.plan.project(outputs.clone(), plan.columns.clone());
            Some(Chosen { plan, keys, time, ..chosen })
        }
        Node::Rank { input, keys, order, function: RankFunction::RowNumber, from: 1, to: 1, .. } => {
            let [key] = &order[..] else { return None };
            if keys.is_empty() || input.columns[key.place].role != Role::Rowtime {
                return None;
            }
            let counts = if key.is_descending { Counted::InOrder } else { Counted::First };
            // Only rows of rank 1 will be used, so the rank is the constant 1.
            let mut columns = input.columns.clone();
            columns.push(Column::plain("row_number", SqlType::BigInt, false));
            let mut outputs = input.identity();
            outputs.push(Typed::literal(ScalarValue::Int64(Some(1)), SqlType::BigInt));
            let plan = input.as_ref().clone().project(outputs, columns);
            Some(Chosen { plan, keys: keys.clone(), time: key.place, counts })
        }
        _ => None,
    }
}

fn no_versions(place: Option<Place>) -> SqlError {
    let message = "a table without a primary key and an event time has no versions";
    let error = SqlError::new(Code::Invalid, message).at(place);
    error.help(
        "declare PRIMARY KEY (..) NOT ENFORCED and WATERMARK FOR in its table, or join a view that keeps the last or the first \
         row: ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) = 1",
    )
}

/// Returns the table and the index of its column that the column `place` of a plan is; `None` if the plan does more
/// than filter and project, or the column is computed.
fn source_of(plan: &Plan, place: usize) -> Option<(&Arc<Table>, usize)> {
    match &plan.node {
        Node::Scan { table, places, .. } => Some((table, *places.get(place)?)),
        Node::Calc { input, outputs, .. } => source_of(input, outputs.get(place)?.as_column()?),
        Node::Normalize { input, .. } => source_of(input, place),
        _ => None,
    }
}

/// Returns the table that a plan reads; `None` if the plan does more than filter and project.
fn table_of(plan: &Plan) -> Option<&Arc<Table>> {
    match &plan.node {
        Node::Scan { table, .. } => Some(table),
        Node::Calc { input, .. } | Node::Normalize { input, .. } => table_of(input),
        _ => None,
    }
}

/// Returns the indexes of the columns of a plan that are the primary key of the table that it reads; `None` if the
/// table has no key, or the plan lacks a part of it.
fn primary_key(plan: &Plan) -> Option<Vec<usize>> {
    let table = table_of(plan)?;
    if table.primary_key.is_empty() {
        return None;
    }
    let place_of = |key: &usize| {
        (0..plan.columns.len())
            .find(|place| source_of(plan, *place).is_some_and(|(_, column)| column == *key))
    };
    table.primary_key.iter().map(place_of).collect()
}

/// Checks that a plan reads only a table that comes to an end, because a lookup join reads the table whole.
fn check_ends(plan: &Plan, place: Option<Place>) -> Result<()> {
    let Some(table) = table_of(plan) else {
        let message = "rows are looked up in a table, and this is a query that does more than read one";
        return Err(SqlError::new(Code::Unsupported, message)
            .at(place)
            .help("write its result to a table first"));
    };
    // Tables of tests have no connector, and their rows come to an end. Wrong options are reported when the job is
    // checked.
    if check_source(table).map_or(true, |abilities| abilities.is_bounded) {
        return Ok(());
    }
    let message = format!("`{}` has no end, so it cannot be read whole to look rows up in it", table.name);
    let error = SqlError::new(Code::Unsupported, message).at(place);
    Err(error.help("join it by event time: FOR SYSTEM_TIME AS OF a column that has a watermark"))
}
