//! Check that rows which an operator stores can be retracted: a retraction must carry the same values as the
//! row.
//!
//! A retraction removes an equal row. Metadata columns tell of the file in which a row stands, and its
//! retraction may stand in another file. PROCTIME(), RAND() and CURRENT_TIMESTAMP give another value at every
//! call, so a row that they compute from changes is never equal to its retraction. An operator that stores
//! such rows would keep a row that was retracted and count it, so planning refuses the query. Without such
//! an operator the values go to the sink as they are.
//!
//! [`unsteady`] matches every operator without a wildcard. It is called for plans from which unread columns
//! are pruned.
//! Source: Flink, "Determinism in Continuous Queries", `StreamNonDeterministicUpdatePlanVisitor`.
//!
//! Differs from Flink: Flink ignores this unless 'table.optimizer.non-deterministic-update.strategy' is TRY_RESOLVE.

use thalweg_sql_functions::expression::Typed;
use thalweg_sql_tables::error::{Code, SqlError};
use thalweg_sql_tables::table::TableColumnKind;

use super::changes::{Changes, Rule, changes, source_of_changes};
use super::{Join, JoinMethod, Node, Plan, Windowing};

/// Refuses a plan in which an operator stores rows whose values differ when they are retracted, such as
/// RAND().
///
/// # Errors
/// [`Code::Unsupported`], at the place of the operator if it is known; the message names the operator, the
/// column and the operator that changes rows.
pub fn check(plan: &Plan) -> Result<(), SqlError> {
    unsteady(plan).map(|_| ())
}

/// Returns the changes of a plan, and for each column whether its value may differ when its row is retracted.
fn unsteady(plan: &Plan) -> Result<(Changes, Vec<bool>), SqlError> {
    let (mut given, mut inputs) = (Vec::new(), Vec::new());
    for input in plan.inputs() {
        let (changes, columns) = unsteady(input)?;
        given.push(changes);
        inputs.push(columns);
    }
    let emits = Rule::of(plan, &given).emits;
    // Rows that are only added are never retracted, so their values need not repeat.
    if emits.is_none() && given.iter().all(|input| input.is_none()) {
        return Ok((emits, vec![false; plan.columns.len()]));
    }
    let columns = columns_of(plan, &inputs).map_err(|error| error.at(plan.at))?;
    Ok((emits, columns))
}

fn columns_of(plan: &Plan, inputs: &[Vec<bool>]) -> Result<Vec<bool>, SqlError> {
    let steady = vec![false; plan.columns.len()];
    let first = inputs.first().map(Vec::as_slice).unwrap_or_default();
    Ok(match &plan.node {
        Node::Scan { table, places } => {
            let is_unsteady = |place: &usize| match &table.columns[*place].kind {
                TableColumnKind::Proctime | TableColumnKind::Watermark | TableColumnKind::Metadata { .. } => {
                    true
                }
                TableColumnKind::Computed(expression) => !expression.is_deterministic(),
                TableColumnKind::Physical => false,
            };
            places.iter().map(is_unsteady).collect()
        }
        Node::Calc { conditions, outputs, .. } => {
            if let Some(input) = plan.inputs().first()
                && conditions.iter().any(|condition| reads(condition, first))
            {
                return Err(refusal("WHERE", input, "a condition"));
            }
            outputs.iter().map(|output| reads(output, first)).collect()
        }
        Node::Expand { forms, .. } => {
            let is_unsteady = |place: usize| forms.iter().any(|form| reads(&form[place], first));
            (0..plan.columns.len()).map(is_unsteady).collect()
        }
        Node::Unnest { value, kept, .. } => {
            if let Some(input) = plan.inputs().first()
                && reads(value, first)
            {
                let (what, value) = match value.calls_user_function() {
                    true => ("a table function", "its result"),
                    false => ("UNNEST", "its array or map"),
                };
                return Err(refusal(what, input, value));
            }
            // The parts of an element and its position are as steady as the value.
            let mut columns: Vec<bool> = kept.iter().map(|place| first[*place]).collect();
            columns.resize(plan.columns.len(), false);
            columns
        }
        Node::Union(_) => {
            (0..plan.columns.len()).map(|place| inputs.iter().any(|input| input[place])).collect()
        }
        Node::Group { input, keys, calls, .. } => {
            let arguments = calls.iter().flat_map(|call| call.arguments.iter().chain(&call.filter));
            refuse("GROUP BY", input, keys.iter().chain(arguments).copied().filter(|place| first[*place]))?;
            steady
        }
        Node::Rank { input, .. } => {
            refuse("ROW_NUMBER", input, (0..first.len()).filter(|place| first[*place]))?;
            steady
        }
        Node::Bag { input, .. } => {
            refuse("EXCEPT ALL or INTERSECT ALL", input, (0..first.len()).filter(|place| first[*place]))?;
            steady
        }
        Node::SortedOver { input, .. } => {
            refuse("OVER", input, (0..first.len()).filter(|place| first[*place]))?;
            steady
        }
        Node::Final { input, .. } => {
            let places = (0..first.len()).filter(|place| first[*place]);
            refuse("the answer to a query whose input ends", input, places)?;
            steady
        }
        // The rows that come out are those that are kept, so they are equal whenever they come out.
        Node::Normalize { .. } => steady,
        Node::AssignWindows { input, time, .. } => {
            refuse("a window function", input, [*time].into_iter().filter(|time| first[*time]))?;
            let mut columns = first.to_vec();
            columns.resize(plan.columns.len(), false);
            columns
        }
        Node::WindowAggregate { input, windows, keys, calls } => {
            let arguments = calls.iter().flat_map(|call| call.arguments.iter().chain(&call.filter));
            let of_windows = match windows {
                Windowing::Cut { time, .. } => vec![*time],
                Windowing::Given { start, end, .. } => vec![*start, *end],
            };
            let read = keys.iter().chain(arguments).chain(&of_windows).copied();
            refuse("an aggregate of a window", input, read.filter(|place| first[*place]))?;
            steady
        }
        Node::Join { left, right, join } => {
            let second = inputs.get(1).map(Vec::as_slice).unwrap_or_default();
            join_unsteady(join, [(left, first), (right, second)], plan.columns.len())?
        }
        // The operators below, such as limits and window joins, accept only inputs whose rows are never
        // retracted.
        Node::Values(_)
        | Node::ByArrival { .. }
        | Node::Limit { .. }
        | Node::Sort { .. }
        | Node::WindowTopN { .. }
        | Node::Over { .. } => steady,
    })
}

fn join_unsteady(
    join: &Join,
    [(left, of_left), (right, of_right)]: [(&Plan, &[bool]); 2],
    width: usize,
) -> Result<Vec<bool>, SqlError> {
    let places = |of: &[bool]| -> Vec<usize> { (0..of.len()).filter(|place| of[*place]).collect() };
    let both: Vec<bool> = of_left.iter().chain(of_right).copied().collect();
    let is_condition_open = join.condition.as_ref().is_some_and(|condition| reads(condition, &both));
    let are_keys_open = join.keys.iter().any(|key| reads(&key.left, of_left) || reads(&key.right, of_right));
    let what = match &join.method {
        JoinMethod::Regular { .. } => "a join without a bound in time",
        JoinMethod::Temporal { .. } => "a temporal join",
        JoinMethod::Lookup => "a lookup join",
        JoinMethod::Window { .. } | JoinMethod::Interval { .. } => return Ok(vec![false; width]),
    };
    if is_condition_open || are_keys_open {
        let changing = if changes(left).is_none() { right } else { left };
        return Err(refusal(what, changing, "a condition"));
    }
    if matches!(join.method, JoinMethod::Lookup) {
        // A lookup join passes the columns of left rows through unchanged.
        return Ok(both.into_iter().take(width).collect());
    }
    refuse(what, left, places(of_left))?;
    refuse(what, right, places(of_right))?;
    Ok(vec![false; width])
}

/// Returns whether an expression gives another value at every call, or reads a column that does.
fn reads(expression: &Typed, unsteady: &[bool]) -> bool {
    let mut is_unsteady = !expression.is_deterministic();
    expression.columns(&mut |place| is_unsteady |= unsteady.get(place).copied().unwrap_or_default());
    is_unsteady
}

fn refuse(what: &str, input: &Plan, places: impl IntoIterator<Item = usize>) -> Result<(), SqlError> {
    match places.into_iter().next() {
        None => Ok(()),
        Some(place) => {
            let name = input.columns.get(place).map_or("", |column| column.name.as_str());
            Err(refusal(what, input, &format!("`{name}`")))
        }
    }
}

fn refusal(what: &str, input: &Plan, column: &str) -> SqlError {
    let message = format!(
        "{what} takes rows that {} changes, and {column} has another value when a row is taken back",
        source_of_changes(input)
    );
    SqlError::new(Code::Unsupported, message)
        .help("leave out PROCTIME(), RAND(), times of now, METADATA and user functions that are not deterministic there, or select them behind it")
}
