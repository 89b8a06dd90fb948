//! Comparison of plans: the first difference of two plans, in words.
//!
//! A query that is planned twice must have equal plans, whichever planner makes them. [`difference`] compares the
//! operators with everything that decides about their rows: expressions with their types, keys, orders, frames,
//! methods, times to live, and the types and roles of columns.
//!
//! It does not compare kernels and accumulators, which follow from the call, its types and the settings; names of
//! columns inside the plan, which no row shows; and places in the text.
//!
//! [`facts`] destructures every operator completely, so a field that is added later does not compile until it is
//! compared or left out by name.

use std::fmt;

use thalweg_sql_functions::expression::{Expression, Typed};

use super::sorted_over::{SortedCall, SortedFunction};
use super::{AggregateCall, Column, Join, JoinKey, Node, Plan, SortKey};

#[cfg(test)]
mod tests;

/// Returns the first difference of two plans; `None` if they are equal. Operators are counted from 1 on, in the
/// order of the lines of EXPLAIN; columns, keys and calls are counted from 1 on, and indexes in them from 0 on.
pub fn difference(left: &Plan, right: &Plan) -> Option<String> {
    (1..).zip(left.walk().zip(right.walk())).find_map(|(number, (left, right))| {
        let is_root = number == 1;
        let (name, facts_left) = facts(left, is_root);
        let (other, facts_right) = facts(right, is_root);
        if name != other {
            return Some(format!("operator {number} is {name}, and {other} in the other plan"));
        }
        let found = facts_left.difference(&facts_right).or_else(|| literals_difference(left, right));
        found.map(|found| format!("operator {number}, {name}: {found}"))
    })
}

/// Returns in words which column of VALUES holds other values in the other plan.
fn literals_difference(left: &Plan, right: &Plan) -> Option<String> {
    let (Node::Values(left), Node::Values(right)) = (&left.node, &right.node) else { return None };
    let pairs = (1..).zip(left.columns().iter().zip(right.columns()));
    let mut others = pairs.filter(|(_, (left, right))| left != right);
    others.next().map(|(number, _)| format!("the literals of column {number} are others in the other plan"))
}

/// Properties of an operator, each with its name and its value as text. Two properties of one name have equal texts
/// only if they are equal.
#[derive(Default)]
struct Facts(Vec<(String, String)>);

impl Facts {
    /// Adds a property whose value is shown as Debug shows it.
    fn add(&mut self, what: &str, value: impl fmt::Debug) {
        self.0.push((what.to_owned(), format!("{value:?}")));
    }

    /// Adds a list of properties: their number, and then each with its number behind the name.
    fn list<T>(&mut self, what: &str, items: &[T], text: impl Fn(&T) -> String) {
        self.0.push((format!("the number of {what}s"), items.len().to_string()));
        self.0.extend((1..).zip(items).map(|(number, item)| (format!("{what} {number}"), text(item))));
    }

    fn expressions(&mut self, what: &str, expressions: &[Typed]) {
        self.list(what, expressions, |expression| Exact(expression).to_string());
    }

    fn keys(&mut self, keys: &[usize]) {
        self.list("key", keys, usize::to_string);
    }

    fn difference(&self, other: &Facts) -> Option<String> {
        let pairs = self.0.iter().zip(&other.0);
        let mut others = pairs.filter(|(left, right)| left != right);
        others
            .next()
            .map(|((what, left), (_, right))| format!("{what} is {left}, and {right} in the other plan"))
    }
}

/// Returns the name of a plan's outermost operator, and the properties that must be equal in equal plans. The names of
/// columns are among them in the result of a query (`is_root`) and in tables.
fn facts(plan: &Plan, is_root: bool) -> (&'static str, Facts) {
    let Plan { columns, node, at: _ } = plan;
    let mut facts = Facts::default();
    facts.add("the number of inputs", plan.inputs().len());
    let has_names = is_root || matches!(node, Node::Scan { .. });
    facts.list("column", columns, |column| column_text(column, has_names));
    let name = match node {
        Node::Scan { table, places } => {
            facts.add("the table", &table.name);
            facts.add("the list of columns read", places);
            "Scan"
        }
        Node::Values(rows) => {
            facts.add("the number of rows", rows.num_rows());
            "Values"
        }
        Node::Calc { input: _, conditions, outputs } => {
            facts.expressions("condition", conditions);
            facts.expressions("output", outputs);
            "Calc"
        }
        Node::Expand { input: _, forms } => {
            facts.add("the number of forms", forms.len());
            for (number, form) in (1..).zip(forms) {
                facts.expressions(&format!("form {number} output"), form);
            }
            "Expand"
        }
        Node::Unnest { input: _, value, kind, kept, parts, has_ordinality } => {
            facts.expressions("value", std::slice::from_ref(value));
            facts.add("the kind", kind);
            facts.add("the list of columns kept", kept);
            facts.add("the list of parts", parts);
            facts.add("the mark for a column of positions", has_ordinality);
            "Unnest"
        }
        Node::ByArrival { input: _, time, spec } => {
            facts.add("the time column", time);
            facts.add("the rule of windows", spec);
            "ByArrival"
        }
        Node::AssignWindows { input: _, spec, time } => {
            facts.add("the rule of windows", spec);
            facts.add("the time column", time);
            "AssignWindows"
        }
        Node::WindowAggregate { input: _, windows, keys, calls } => {
            facts.add("the windowing", windows);
            facts.keys(keys);
            facts.list("call", calls, call_text);
            "WindowAggregate"
        }
        Node::Union(_) => "Union",
        Node::Limit { input: _, skip, fetch } => {
            facts.add("the number of skipped rows", skip);
            facts.add("the greatest number of rows", fetch);
            "Limit"
        }
        Node::Final { input: _, order, skip, fetch, is_retracting } => {
            facts.list("sort key", order, sort_text);
            facts.add("the number of skipped rows", skip);
            facts.add("the greatest number of rows", fetch);
            facts.add("the mark for retractions", is_retracting);
            "Final"
        }
        Node::Sort { input: _, time, keys } => {
            facts.add("the time column", time);
            facts.list("sort key", keys, sort_text);
            "Sort"
        }
        Node::WindowTopN { input: _, window_end, is_local, keys, order, from, to } => {
            facts.add("the column of window ends", window_end);
            facts.add("the use of local time", is_local);
            facts.keys(keys);
            facts.list("sort key", order, sort_text);
            facts.add("the range of ranks", (from, to));
            "WindowTopN"
        }
        Node::Join { left: _, right: _, join } => {
            join_facts(join, &mut facts);
            "Join"
        }
        Node::Over { input: _, keys, time, frame, calls, ttl_ms } => {
            facts.keys(keys);
            facts.add("the time column", time);
            facts.add("the frame", frame);
            facts.list("call", calls, call_text);
            facts.add("the time to live", ttl_ms);
            "Over"
        }
        Node::SortedOver { input: _, keys, order, calls, is_final, ttl_ms } => {
            facts.keys(keys);
            facts.list("sort key", order, sort_text);
            facts.list("call", calls, sorted_call_text);
            facts.add("the mark for final rows", is_final);
            facts.add("the time to live", ttl_ms);
            "SortedOver"
        }
        Node::Group { input: _, keys, calls, is_retracting, is_final, ttl_ms } => {
            facts.keys(keys);
            facts.list("call", calls, call_text);
            facts.add("the mark for retractions", is_retracting);
            facts.add("the mark for final rows", is_final);
            facts.add("the time to live", ttl_ms);
            "Group"
        }
        Node::Normalize { input: _, keys, ttl_ms } => {
            facts.keys(keys);
            facts.add("the time to live", ttl_ms);
            "Normalize"
        }
        Node::Rank { input: _, keys, order, function, from, to, has_rank, is_retracting, ttl_ms } => {
            facts.keys(keys);
            facts.list("sort key", order, sort_text);
            facts.add("the ranking function", function);
            facts.add("the range of ranks", (from, to));
            facts.add("the mark for a column of ranks", has_rank);
            facts.add("the mark for retractions", is_retracting);
            facts.add("the time to live", ttl_ms);
            "Rank"
        }
        Node::Bag { input: _, kind, ttl_ms } => {
            facts.add("the kind", kind);
            facts.add("the time to live", ttl_ms);
            "Bag"
        }
    };
    (name, facts)
}

fn join_facts(join: &Join, facts: &mut Facts) {
    let Join { kind, method, keys, condition } = join;
    facts.add("the kind", kind);
    facts.add("the method", method);
    facts.list("key", keys, |JoinKey { left, right, is_null_equal }| {
        let equal = if *is_null_equal { "IS NOT DISTINCT FROM" } else { "=" };
        format!("{} {equal} {}", Exact(left), Exact(right))
    });
    facts.expressions("condition", condition.as_slice());
}

fn column_text(column: &Column, has_name: bool) -> String {
    let Column { name, of, is_nullable, role } = column;
    let name = if has_name { format!("`{name}` ") } else { String::new() };
    format!("{name}{of}{} {role:?}", not_null(*is_nullable))
}

fn sort_text(key: &SortKey) -> String {
    let SortKey { place, is_descending, is_null_first } = key;
    let direction = if *is_descending { " DESC" } else { "" };
    format!("{place}{direction} NULLS {}", if *is_null_first { "FIRST" } else { "LAST" })
}

fn call_text(call: &AggregateCall) -> String {
    let AggregateCall { aggregate, is_distinct, arguments, filter, function } = call;
    let distinct = if *is_distinct { "DISTINCT " } else { "" };
    let of: Vec<String> = function.arguments.iter().map(ToString::to_string).collect();
    let retracts = if function.create_retractable.is_some() { "can retract" } else { "cannot retract" };
    format!(
        "{aggregate:?} of {distinct}{arguments:?} as ({}) with filter {filter:?}: {}{}, {retracts}, DISTINCT over {}",
        of.join(", "),
        function.result,
        not_null(function.is_nullable),
        function.distinct_over,
    )
}

fn sorted_call_text(call: &SortedCall) -> String {
    let SortedCall { function, result, is_nullable, at: _ } = call;
    let function = match function {
        SortedFunction::Aggregate { call, frame } => format!("{} over {frame:?}", call_text(call)),
        function => format!("{function:?}"),
    };
    format!("{function}: {result}{}", not_null(*is_nullable))
}

fn not_null(is_nullable: bool) -> &'static str {
    if is_nullable { "" } else { " NOT NULL" }
}

/// Formats an expression with the types of all its parts, so that different expressions have different texts.
struct Exact<'a>(&'a Typed);

impl fmt::Display for Exact<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Typed { expression, of, is_nullable } = self.0;
        match expression {
            Expression::Column(place) => write!(f, "${place}")?,
            Expression::Literal(value) => write!(f, "{value:?}")?,
            Expression::Call { call, kernel: _, arguments, is_total, is_deterministic } => {
                let fails = if *is_total { "" } else { " that may fail" };
                let varies = if *is_deterministic { "" } else { " that varies" };
                write_list(f, &format!("{call}{fails}{varies}"), arguments)?;
            }
            Expression::And(terms) => write_list(f, "AND", terms)?,
            Expression::Or(terms) => write_list(f, "OR", terms)?,
            Expression::Not(inner) => write!(f, "NOT({})", Exact(inner))?,
            Expression::Is(inner, state) => write!(f, "IS {state:?}({})", Exact(inner))?,
            Expression::Case { branches, otherwise } => {
                let values = branches.iter().flat_map(|(condition, value)| [condition, value]);
                write_list(f, "CASE", values.chain([&**otherwise]))?;
            }
        }
        write!(f, ": {of}{}", not_null(*is_nullable))
    }
}

fn write_list<'a>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    terms: impl IntoIterator<Item = &'a Typed>,
) -> fmt::Result {
    write!(f, "{name}(")?;
    for (place, term) in terms.into_iter().enumerate() {
        write!(f, "{}{}", if place > 0 { ", " } else { "" }, Exact(term))?;
    }
    f.write_str(")")
}
