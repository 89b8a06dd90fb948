//! CURRENT_WATERMARK: the watermark of the input of a row, as the row finds it.
//!
//! The source of a table computes it as a column behind the others, from the rows that its reader has read before. So it
//! follows from the order of rows alone, as lateness does, and not from batches or workers. A projection or a filter
//! directly above a table may ask for it; the watermark of another operator depends on how its inputs mix, and is refused.
//!
//! Source: Flink's documentation, "System (Built-in) Functions", CURRENT_WATERMARK.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use thalweg_sql_exec::plan::{Column, Node, Plan, Role};
use thalweg_sql_functions::expression::{Call, Expression, Typed};
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::error::{Code, SqlError};
use thalweg_sql_tables::table::{Table, TableColumnKind};

use super::scope::Scope;

type Result<T> = std::result::Result<T, SqlError>;

/// Name of the function.
pub(super) const CURRENT_WATERMARK: &str = "CURRENT_WATERMARK";

/// Checks the argument of a call: a column that is the event time.
///
/// # Errors
/// [`Code::Invalid`] for another argument.
pub(super) fn check_argument(arguments: &[Typed], scope: &Scope<'_>) -> Result<()> {
    let [time] = arguments else { return Ok(()) };
    // Keys of groups are found to be no columns of a table when the plan is complete.
    if scope.groups.is_some() || scope.role(time) == Role::Rowtime {
        return Ok(());
    }
    let message = format!("{CURRENT_WATERMARK} takes an event time, and this is none");
    Err(SqlError::new(Code::Invalid, message)
        .help("name the column of a table for which it declares WATERMARK FOR"))
}

/// Returns a plan whose tables have columns of watermarks in the place of calls of CURRENT_WATERMARK.
///
/// # Errors
/// [`Code::Unsupported`] for a call that is not directly above a table.
pub(super) fn placed(plan: Plan) -> Result<Plan> {
    let plan = plan.map_inputs(placed)?;
    let asks = |expressions: &[Typed]| expressions.iter().any(|expression| !times_of(expression).is_empty());
    let at = plan.at;
    match plan.node {
        Node::Calc { mut input, conditions, outputs } if asks(&conditions) || asks(&outputs) => {
            let mut columns: BTreeMap<usize, Typed> = BTreeMap::new();
            for time in conditions.iter().chain(&outputs).flat_map(times_of) {
                let time = time.ok_or_else(|| misplaced().at(at))?;
                if let Entry::Vacant(free) = columns.entry(time) {
                    free.insert(column_in(&mut input, time).ok_or_else(|| misplaced().at(at))?);
                }
            }
            let replace = |expressions: Vec<Typed>| -> Vec<Typed> {
                let replaced = |typed: &Typed| time_of(typed).and_then(|time| columns.get(&time?).cloned());
                expressions.iter().map(|expression| expression.rewritten(&replaced)).collect()
            };
            let node = Node::Calc { input, conditions: replace(conditions), outputs: replace(outputs) };
            Ok(Plan { node, ..plan })
        }
        Node::Expand { ref forms, .. } if forms.iter().any(|form| asks(form)) => Err(misplaced().at(at)),
        Node::Unnest { ref value, .. } if asks(std::slice::from_ref(value)) => Err(misplaced().at(at)),
        Node::Join { ref join, .. }
            if asks(join.condition.as_slice())
                || join.keys.iter().any(|key| asks(&[key.left.clone(), key.right.clone()])) =>
        {
            Err(misplaced().at(at))
        }
        node => Ok(Plan { node, ..plan }),
    }
}

/// Returns plans in which all readers of a table see the same one: a table with a column of watermarks if one of them reads
/// that column. Readers of one name share their rows.
pub fn with_shared_watermarks(plans: Vec<Plan>) -> Vec<Plan> {
    let mut tables: BTreeMap<String, Arc<Table>> = BTreeMap::new();
    for part in plans.iter().flat_map(Plan::walk) {
        if let Node::Scan { table, .. } = &part.node
            && table.columns.last().is_some_and(|last| matches!(last.kind, TableColumnKind::Watermark))
        {
            tables.insert(table.name.clone(), Arc::clone(table));
        }
    }
    if tables.is_empty() {
        return plans;
    }
    plans.into_iter().map(|plan| with_tables(plan, &tables)).collect()
}

fn with_tables(plan: Plan, tables: &BTreeMap<String, Arc<Table>>) -> Plan {
    let Plan { columns, node, at } = plan;
    let node = match node {
        Node::Scan { table, places } => {
            let table = tables.get(&table.name).map_or(table, Arc::clone);
            Node::Scan { table, places }
        }
        node => node,
    };
    let plan = Plan { columns, node, at };
    match plan.map_inputs(|input| Ok::<_, std::convert::Infallible>(with_tables(input, tables))) {
        Ok(plan) => plan,
        Err(never) => match never {},
    }
}

/// Returns the columns that are the arguments of calls in an expression; `None` for an argument that is no column.
fn times_of(expression: &Typed) -> Vec<Option<usize>> {
    let mut times = Vec::new();
    expression.visit(&mut |typed| times.extend(time_of(typed)));
    times
}

/// Returns the column that is the argument of a call; `None` for another expression.
fn time_of(typed: &Typed) -> Option<Option<usize>> {
    match &typed.expression {
        Expression::Call { call: Call::Function(function), arguments, .. }
            if function.name == CURRENT_WATERMARK =>
        {
            Some(arguments.first().and_then(Typed::as_column))
        }
        _ => None,
    }
}

/// Returns the column of watermarks that belongs to the event time at the index `time`, which is added to a table below
/// projections and filters; `None` if other operators stand between, or if the column is no event time of the table.
fn column_in(plan: &mut Plan, time: usize) -> Option<Typed> {
    let of = match plan.columns.get(time)?.of {
        SqlType::Timestamp(_) => SqlType::Timestamp(3),
        SqlType::TimestampLtz(_) => SqlType::TimestampLtz(3),
        _ => return None,
    };
    let column = match &mut plan.node {
        Node::Scan { table, places } => {
            table.rowtime.as_ref().filter(|rowtime| places.get(time) == Some(&rowtime.column))?;
            let (with_watermarks, place) = table.with_watermarks(&of);
            if let Some(known) = places.iter().position(|known| *known == place) {
                known
            } else {
                *table = Arc::new(with_watermarks);
                places.push(place);
                plan.columns.len()
            }
        }
        Node::Calc { input, outputs, .. } => {
            let below = outputs.get(time)?.as_column()?;
            let watermark = column_in(input, below)?;
            outputs.push(watermark);
            plan.columns.len()
        }
        _ => return None,
    };
    if column == plan.columns.len() {
        plan.columns.push(Column::plain("$watermark", of.clone(), true));
    }
    Some(Typed::column(column, of, true))
}

fn misplaced() -> SqlError {
    let message =
        format!("{CURRENT_WATERMARK} is known where a table is read, and not behind another operator");
    SqlError::new(Code::Unsupported, message).help(format!(
        "write FROM (SELECT *, {CURRENT_WATERMARK}(ts) AS watermark FROM t), and read that column"
    ))
}
