//! Notes on a text that runs here and that Flink refuses, each with its place and with advice how to write it so that Flink
//! runs it, too.
//!
//! The binder notes such a form where it reads it, in one line ([`Notes::add`]); [`crate::text::portable`] finds those that a
//! syntax tree does not show. A note is no error: the text runs. `thalweg check` shows the notes.
//!
//! Source: docs/sql/parity.md, the row on what Flink's grammar or validator refuses.

use std::cell::RefCell;
use std::collections::HashSet;

use sqlparser::ast::{BinaryOperator, Expr, Ident, Value};
use thalweg_sql_exec::plan::{Node, Plan, Role};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::Planner;
use super::names::{Common, Found};
use super::scope::{Base, Scope};
use super::syntax::{parts, place_of_expression, place_of_name, without_brackets};
use crate::text::dialect::single_name;

/// Greatest number of notes that are kept of one session.
pub const NOTES_MAX: usize = 1_000;

/// A form that runs here and that Flink refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OnlyHere {
    /// `!=` for `<>`.
    NotEqual,
    /// GROUP BY or HAVING names a result of the SELECT.
    ResultName,
    /// NULL without a type, as a result, in VALUES, as an operand or an argument.
    UntypedNull,
    /// `TIME '10:23'` or `TIMESTAMP '2024-12-31 10:23'`, without seconds.
    ShortTime,
    /// An interval whose first number has more than two digits, without a precision.
    LongInterval,
    /// CAST of an interval that is no CAST to text.
    IntervalAsNumber,
    /// COUNT of several values.
    CountOfSeveral,
    /// DATE_FORMAT of a DATE.
    DateFormat,
    /// PARTITIONED BY behind WITH.
    LatePartitions,
    /// A common column of a NATURAL JOIN by its name alone.
    NaturalColumn,
    /// A common column of a join, where UNNEST stands beside it.
    CommonBesideUnnest,
    /// A grouping set that is named twice beside a window.
    SetTwice,
    /// Grouping sets beside `TUMBLE(ts, ..)` in GROUP BY.
    SetsBesideWindow,
    /// Several OVER windows in one SELECT.
    SeveralOvers,
    /// QUALIFY of groups, with which Flink 2.3 fails.
    QualifyOfGroups,
    /// OVER in streams in another order than that of one ascending column.
    OverOrder,
    /// OVER that needs rows behind the current one, or bounds its frame by a column, outside of batch mode.
    OverAhead,
    /// OVER by event time over rows that change.
    OverChanges,
    /// A condition of an inner join with UNNEST.
    UnnestCondition,
    /// A function that Flink does not have.
    OwnFunction,
    /// A column of a sub-query that has several results of its name.
    NameTwice,
    /// LIMIT of a sub-query that reads the query around it, as a value or with LATERAL.
    LimitOfEach,
    /// A column of the query around beside aggregates of a sub-query, or in its HAVING.
    OuterBesideAggregates,
    /// LATERAL of a SELECT without FROM that reads the tables before it.
    LateralOfNothing,
    /// `JSON(text)` outside of JSON_OBJECT and JSON_ARRAY.
    Json,
    /// RETURNING of a type that JSON_VALUE of Flink 2.3 does not have.
    JsonReturning,
    /// A whole number that no BIGINT holds.
    LongNumber,
    /// The runtime mode `automatic`.
    AutomaticMode,
}

impl OnlyHere {
    /// Returns the form, and how to write it so that Flink runs it.
    fn told(self) -> (&'static str, &'static str) {
        match self {
            OnlyHere::NotEqual => ("`!=`", "write <>"),
            OnlyHere::ResultName => {
                ("the name of a result in GROUP BY or HAVING", "repeat the expression for which it stands")
            }
            OnlyHere::UntypedNull => ("NULL without a type", "write CAST(NULL AS type)"),
            OnlyHere::ShortTime => ("a time without seconds", "write the seconds: TIME '10:23:00'"),
            OnlyHere::LongInterval => {
                ("an INTERVAL of more than two digits without a precision", "write it: INTERVAL '100' DAY(3)")
            }
            OnlyHere::IntervalAsNumber => {
                ("CAST of an interval to a number", "compute the number by TIMESTAMPDIFF or EXTRACT")
            }
            OnlyHere::CountOfSeveral => {
                ("COUNT of several values", "write COUNT(*) FILTER (WHERE a IS NOT NULL AND b IS NOT NULL)")
            }
            OnlyHere::DateFormat => {
                ("DATE_FORMAT of a DATE", "write DATE_FORMAT(CAST(d AS TIMESTAMP(3)), ..)")
            }
            OnlyHere::LatePartitions => ("PARTITIONED BY behind WITH", "write it before WITH"),
            OnlyHere::NaturalColumn => {
                ("a common column of a NATURAL JOIN by its name alone", "write its table: t.k; or USING (k)")
            }
            OnlyHere::CommonBesideUnnest => {
                ("a common column of a join beside UNNEST by its name alone", "write ON t.k = u.k, and t.k")
            }
            OnlyHere::SetTwice => ("a grouping set that is named twice beside a window", "name it once"),
            OnlyHere::SetsBesideWindow => (
                "grouping sets beside a window in GROUP BY",
                "group the rows of TABLE(TUMBLE(..)) by window_start, window_end and the sets",
            ),
            OnlyHere::SeveralOvers => {
                ("several different OVER windows in one SELECT", "compute each in a sub-query of its own")
            }
            OnlyHere::QualifyOfGroups => {
                ("QUALIFY behind GROUP BY in Flink 2.3", "group in a sub-query, and write QUALIFY around it")
            }
            OnlyHere::OverOrder => {
                ("OVER in streams that is not in the order of one ascending column", "order by one column")
            }
            OnlyHere::OverAhead => {
                ("this call with OVER outside of batch mode", "SET 'execution.runtime-mode' = 'batch'")
            }
            OnlyHere::OverChanges => {
                ("OVER by event time over rows that change", "order by a column that is no event time")
            }
            OnlyHere::UnnestCondition => {
                ("a condition of an inner join with UNNEST", "write CROSS JOIN, and the condition in WHERE")
            }
            OnlyHere::OwnFunction => {
                ("this function, which it does not have", "write it with other functions")
            }
            OnlyHere::NameTwice => {
                ("the name of several results of a sub-query", "give each result a name of its own by AS")
            }
            OnlyHere::LimitOfEach => (
                "LIMIT of a sub-query that reads the query around it",
                "number the rows by ROW_NUMBER() OVER (PARTITION BY .. ORDER BY ..) in a sub-query, and join it",
            ),
            OnlyHere::OuterBesideAggregates => (
                "a column of the query around beside the aggregates of a sub-query",
                "compute with it outside of the sub-query",
            ),
            OnlyHere::LateralOfNothing => {
                ("LATERAL of a query without FROM", "compute its results in a sub-query of FROM")
            }
            OnlyHere::Json => ("JSON(..) outside of JSON_OBJECT and JSON_ARRAY", "leave it out"),
            OnlyHere::JsonReturning => (
                "this type of RETURNING in Flink 2.3",
                "write RETURNING STRING, and CAST the result to the type",
            ),
            OnlyHere::LongNumber => {
                ("a whole number that no BIGINT holds", "write CAST('..' AS DECIMAL(38, 0))")
            }
            OnlyHere::AutomaticMode => {
                ("the mode 'automatic' in the SQL client", "leave the setting out, which means the same here")
            }
        }
    }

    /// Returns the note at a place of the text.
    pub(crate) fn note(self, at: Option<Place>) -> SqlError {
        let (what, help) = self.told();
        SqlError::new(Code::NotPortable, format!("Flink refuses {what}")).at(at).help(help)
    }
}

/// Notes on the texts that a session has read so far, at most [`NOTES_MAX`].
#[derive(Clone, Default, Debug)]
pub struct Notes(RefCell<Vec<SqlError>>);

impl Notes {
    /// Adds the note on a form at a place of the text.
    pub(crate) fn add(&self, form: OnlyHere, at: Option<Place>) {
        let mut notes = self.0.borrow_mut();
        let note = form.note(at);
        if notes.len() < NOTES_MAX && notes.last() != Some(&note) {
            notes.push(note);
        }
    }

    /// Adds notes on the operators of a complete plan, which is no plan of batch mode.
    pub(super) fn add_of_plan(&self, plan: &Plan) {
        for part in plan.walk() {
            let Node::SortedOver { input, order, calls, .. } = &part.node else { continue };
            if let Some(call) = calls.iter().find(|call| !call.function.is_of_rows_before()) {
                self.add(OnlyHere::OverAhead, call.at);
                continue;
            }
            match &order[..] {
                [key] if key.is_descending => self.add(OnlyHere::OverOrder, part.at),
                [key] if input.columns[key.place].role == Role::Rowtime => {
                    self.add(OnlyHere::OverChanges, part.at);
                }
                [_] => {}
                _ => self.add(OnlyHere::OverOrder, part.at),
            }
        }
    }

    /// Returns the notes, and those of `others`, in the order of the text, each once. A query may be planned several times.
    pub(crate) fn all(&self, others: Vec<SqlError>) -> Vec<SqlError> {
        let mut notes = self.0.borrow().clone();
        notes.extend(others);
        notes.sort_by(|a, b| (a.place, &a.message).cmp(&(b.place, &b.message)));
        let mut known = HashSet::new();
        notes.retain(|note| known.insert((note.place, note.message.clone())));
        notes.truncate(NOTES_MAX);
        notes
    }
}

impl Planner<'_> {
    /// Notes a form that Flink refuses at its place in the text.
    pub(super) fn note(&self, form: OnlyHere, at: Option<Place>) {
        self.binder.notes.add(form, at);
    }

    /// Notes a value that is NULL without a type.
    pub(super) fn note_null(&self, value: &Typed, expression: &Expr) {
        if value.of == SqlType::Null {
            self.note(OnlyHere::UntypedNull, place_of_expression(expression));
        }
    }

    /// Notes a literal NULL among the operands and arguments of an expression.
    pub(super) fn note_null_parts(&self, expression: &Expr) {
        let is_noted = match expression {
            Expr::BinaryOp { op, .. } => !is_comparison(op),
            Expr::UnaryOp { .. } => true,
            Expr::Function(function) => {
                single_name(&function.name).is_some_and(|name| !takes_null(&name.value))
            }
            _ => false,
        };
        if is_noted {
            parts(expression, &mut |part| {
                if matches!(without_brackets(part), Expr::Value(value) if value.value == Value::Null) {
                    self.note(OnlyHere::UntypedNull, place_of_expression(part));
                }
            });
        }
    }

    /// Notes a whole number that only a DECIMAL holds.
    pub(super) fn note_long_number(&self, value: &Typed, expression: &Expr) {
        let is_whole =
            matches!(expression, Expr::Value(value) if !value.to_string().contains(['.', 'e', 'E']));
        if is_whole && matches!(value.of, SqlType::Decimal { scale: 0, .. }) {
            self.note(OnlyHere::LongNumber, place_of_expression(expression));
        }
    }

    /// Notes the name of a common column of a join, where Flink refuses it without a table before it, and of a result that
    /// has the name of others.
    pub(super) fn note_common_column(&self, parts: &[Ident], scope: &Scope<'_>) {
        let names = scope.groups.map_or(scope.names, |groups| groups.input.names);
        let [.., name] = parts else { return };
        let form = match names.find(&name.value) {
            Found::Common(Common { refused: Some(refused), .. }) if parts.len() == 1 => *refused,
            Found::Column(place) if names.columns[place].is_twice => OnlyHere::NameTwice,
            _ => return,
        };
        self.note(form, place_of_name(name));
    }

    /// Notes a column of the query around that is read behind the GROUP BY of a sub-query.
    pub(super) fn note_outer_of_groups(&self, value: &Typed, parts: &[Ident], scope: &Scope<'_>) {
        let place = value.as_column();
        let is_outer = |place| Base::Outer.of(place).or(Base::Domain.of(place)).is_some();
        let is_of_domain = |place| scope.domain.is_some_and(|domain| domain.holds(place));
        if place.is_some_and(|place| is_outer(place) || is_of_domain(place)) {
            self.note(OnlyHere::OuterBesideAggregates, parts.first().and_then(place_of_name));
        }
    }

    /// Notes a call of a function that Flink refuses with such arguments. `name` is in upper case.
    pub(super) fn note_call(&self, name: &str, arguments: &[&Expr], bound: &[Typed], whole: &Expr) {
        let returned = match arguments.get(2) {
            Some(Expr::Cast { .. }) => bound.get(2).map(|value| &value.of),
            _ => None,
        };
        let form = match (name, bound) {
            ("DATE_FORMAT", [date, ..]) if date.of == SqlType::Date => OnlyHere::DateFormat,
            ("JSON", _) => OnlyHere::Json,
            (name, _) if OWN_FUNCTIONS.contains(&name) => OnlyHere::OwnFunction,
            ("JSON_VALUE", _) if returned.is_some_and(|of| !is_returned_by_flink(of)) => {
                OnlyHere::JsonReturning
            }
            _ => return,
        };
        self.note(form, place_of_expression(whole));
    }
}

/// Functions that take NULL without a type in Flink.
const OF_NULL: [&str; 5] = ["COALESCE", "NULLIF", "IFNULL", "ROW", "TYPEOF"];

/// Returns whether a function takes NULL without a type in Flink. The parser writes NULL into calls of JSON functions.
fn takes_null(name: &str) -> bool {
    OF_NULL.iter().any(|known| name.eq_ignore_ascii_case(known))
        || name.trim_start_matches('$').starts_with("JSON_")
}

/// Functions that Flink does not have.
const OWN_FUNCTIONS: [&str; 1] = ["SUBSTRING_INDEX"];

fn is_comparison(op: &BinaryOperator) -> bool {
    use BinaryOperator::*;
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// Returns whether JSON_VALUE of Flink 2.3 has a type behind RETURNING.
fn is_returned_by_flink(of: &SqlType) -> bool {
    matches!(of, SqlType::Boolean | SqlType::Int | SqlType::Double) || *of == SqlType::STRING
}

#[cfg(test)]
mod tests;
