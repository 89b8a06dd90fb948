//! Comparisons with all rows of a sub-query: `x > SOME (query)`, `x >= ALL (query)`, and `(a, b) IN (query)` as a value.
//!
//! The rows are aggregated by the keys of the sub-query, and joined by a LEFT JOIN ([`super::attached`]). SOME compares with the
//! least or the greatest of the rows; ALL is the negation of SOME with the opposite operator. `= SOME` is IN, and `<> ALL` is
//! NOT IN. A list of values counts the rows that are equal to it, and those that may be, because a value is NULL.
//!
//! Source: SQL:2016, 8.4 (in predicate) and 8.9 (quantified comparison predicate); Calcite, `SubQueryRemoveRule`.

use sqlparser::ast::{BinaryOperator, Expr, Query};
use thalweg_sql_exec::plan::{Column, Plan};
use thalweg_sql_functions::expression::{Expression, State, Typed};
use thalweg_sql_functions::functions::compare::ComparisonOp;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::Planner;
use super::attached::{Keyed, joined, literal};
use super::expression::Test;
use super::relation::{Condition, Source};
use super::scope::{Base, Scope, reads_outer};
use super::select::{Around, Demands, Selected};
use super::subquery::{Asked, said_outer_left};
use super::syntax::{not_supported, without_brackets};
use super::typing::{boolean, is, not};

type Result<T> = std::result::Result<T, SqlError>;

/// A comparison with some or all rows of a sub-query.
pub(super) struct Quantified<'a> {
    value: &'a Expr,
    op: ComparisonOp,
    query: &'a Query,
    /// Whether all rows are meant, and not some.
    is_all: bool,
}

impl<'a> Quantified<'a> {
    /// Reads an expression as a comparison with the rows of a sub-query; `None` for other expressions.
    pub(super) fn of(expression: &'a Expr) -> Option<Self> {
        let (left, op, right, is_all) = match expression {
            Expr::AnyOp { left, compare_op, right, is_some: _ } => (left, compare_op, right, false),
            Expr::AllOp { left, compare_op, right } => (left, compare_op, right, true),
            _ => return None,
        };
        let Expr::Subquery(query) = without_brackets(right) else { return None };
        let op = match op {
            BinaryOperator::Eq => ComparisonOp::Eq,
            BinaryOperator::NotEq => ComparisonOp::NotEq,
            BinaryOperator::Lt => ComparisonOp::Lt,
            BinaryOperator::LtEq => ComparisonOp::LtEq,
            BinaryOperator::Gt => ComparisonOp::Gt,
            BinaryOperator::GtEq => ComparisonOp::GtEq,
            _ => return None,
        };
        Some(Quantified { value: left, op, query, is_all })
    }

    /// Returns the comparison as IN or NOT IN, if it is that.
    pub(super) fn as_test(&self) -> Option<Test<'a>> {
        let is_negated = match (self.op, self.is_all) {
            (ComparisonOp::Eq, false) => false,
            (ComparisonOp::NotEq, true) => true,
            _ => return None,
        };
        Some(Test { value: Some(self.value), query: self.query, is_negated })
    }
}

impl Planner<'_> {
    /// Returns the value of a comparison with the rows of a sub-query.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault, and if no sub-query may stand here.
    pub(super) fn quantified(
        &self,
        quantified: &Quantified<'_>,
        scope: &Scope<'_>,
        at: Option<Place>,
    ) -> Result<Typed> {
        if let Some(test) = quantified.as_test() {
            return self.test_as_value(&test, scope, at);
        }
        let op = if quantified.is_all { opposite(quantified.op) } else { quantified.op };
        let found = self.some_row(quantified.value, op, quantified.query, scope, at)?;
        Ok(if quantified.is_all { not(found) } else { found })
    }

    /// Returns whether a value compares with some row of a sub-query: TRUE if it does with a known one, FALSE for no rows, NULL
    /// where NULL may hide such a row, else FALSE.
    fn some_row(
        &self,
        value: &Expr,
        op: ComparisonOp,
        query: &Query,
        scope: &Scope<'_>,
        at: Option<Place>,
    ) -> Result<Typed> {
        let Some(attached) = scope.attached else { return Err(super::attached::misplaced()) };
        let around = Around { scope, asked: Asked::In, is_readable: true, demands: Demands::Keys };
        let selected = self.rows_of(query, Some(around))?;
        let results = selected.queried.names.columns.len();
        if results != 1 || matches!(without_brackets(value), Expr::Tuple(_)) {
            let message = "SOME, ANY and ALL compare one value with a sub-query of one column";
            return Err(SqlError::new(Code::Invalid, message).at(at));
        }
        let value = self.bind(value, scope)?;
        if reads_outer(&value) {
            return Err(said_outer_left(at));
        }
        let Keyed { plan, conditions } = self.keyed(selected)?;
        let of = plan.columns[0].of.clone();
        let keys = plan.columns.len() - 1;
        // All rows, the known ones, the least and the greatest.
        let plan =
            self.grouped_by_keys(plan, &[("MIN", true), ("MAX", true), ("COUNT", true), ("COUNT", false)])?;
        let first = keys + attached.add(plan, |first| joined(conditions, first));
        let [least, greatest] = [first, first + 1].map(|place| Typed::column(place, of.clone(), true));
        let [known, all] = [first + 2, first + 3].map(|place| Typed::column(place, SqlType::BigInt, true));
        let compare =
            |with: Typed| self.typing.compare(op, value.clone(), with).map_err(|error| error.at(at));
        let compared = match op {
            ComparisonOp::Gt | ComparisonOp::GtEq => compare(least)?,
            ComparisonOp::Lt | ComparisonOp::LtEq => compare(greatest)?,
            // A value differs from some row if it differs from the least or from the greatest.
            _ => boolean(Expression::Or(vec![compare(least)?, compare(greatest)?])),
        };
        self.typing.copies(&compared, 1)?;
        let has_rows = self.is_above_zero(all.clone())?;
        let has_null = self.typing.compare(ComparisonOp::Lt, known, all)?;
        self.typing.case(
            vec![
                (not(has_rows), literal(Some(false))),
                (is(compared.clone(), State::True), literal(Some(true))),
                (has_null, literal(None)),
            ],
            Some(compared),
        )
    }

    /// Returns whether a list of values is among the rows of a sub-query, as a value.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault.
    pub(super) fn list_among(
        &self,
        values: &[Expr],
        selected: Selected,
        scope: &Scope<'_>,
        at: Option<Place>,
    ) -> Result<Typed> {
        let Some(attached) = scope.attached else { return Err(super::attached::misplaced()) };
        let Selected { queried, mut pulled, .. } = selected;
        if queried.names.columns.len() != values.len() {
            let found = queried.names.columns.len();
            let message =
                format!("{} values are looked for in a sub-query with {found} columns", values.len());
            return Err(SqlError::new(Code::Invalid, message).at(at));
        }
        let domain = super::domain::Domain::default();
        let mut equal = Vec::with_capacity(values.len());
        for (place, value) in values.iter().enumerate() {
            let value = self.bind(value, scope)?;
            if reads_outer(&value) {
                return Err(said_outer_left(at));
            }
            let mut is_plain = true;
            value.columns(&mut |place| is_plain &= Base::Attached.of(place).is_none());
            let Some(own) = domain.column(&value).filter(|_| is_plain) else {
                return Err(not_supported("a sub-query on the left of IN").at(at));
            };
            let column = &queried.plan.columns[place];
            let other = Typed::column(place, column.of.clone(), column.is_nullable);
            equal.push(self.typing.compare(ComparisonOp::Eq, own, other).map_err(|error| error.at(at))?);
        }
        let equal = super::typing::conjunction(equal)
            .ok_or_else(|| SqlError::new(Code::Syntax, "brackets hold no values"))?;
        let is_match = is(equal.clone(), State::NotFalse);
        pulled.push(Condition { value: is_match, at });
        let (source, kept, keys) = self.with_domain(Source::Plan(queried.plan), pulled, &domain, scope)?;
        let plan = self.closed(source, kept)?;
        let equal = equal.with_columns(&|place| domain.real(place));
        let (plan, keys) = with_keys(plan, equal, keys);
        let width = plan.columns.len() - 1;
        let counted = self.grouped_by_keys(plan, &[("COUNT", true), ("COUNT", false)])?;
        let first = width + attached.add(counted, |first| joined(keys, first));
        let [equal, all] = [first, first + 1].map(|place| Typed::column(place, SqlType::BigInt, true));
        let (is_equal, may_be) = (self.is_above_zero(equal)?, self.is_above_zero(all)?);
        self.typing
            .case(vec![(is_equal, literal(Some(true))), (may_be, literal(None))], Some(literal(Some(false))))
    }
}

/// Returns a plan of a value and the inner sides of keys, and the keys over the numbers of these columns.
fn with_keys(plan: Plan, value: Typed, keys: Vec<Condition>) -> (Plan, Vec<Condition>) {
    let mut columns = vec![Column::plain("$0", value.of.clone(), value.is_nullable)];
    let mut outputs = vec![value];
    let mut made = Vec::with_capacity(keys.len());
    for Condition { value, at } in keys {
        let Some(inner) = super::subquery::inner_side(&value) else { continue };
        let key = Typed::column(columns.len() - 1, inner.of.clone(), inner.is_nullable);
        columns.push(Column::plain(format!("${}", columns.len()), inner.of.clone(), inner.is_nullable));
        outputs.push(inner.clone());
        made.push(Condition { value: super::subquery::with_inner_side(value, &key), at });
    }
    (plan.project(outputs, columns), made)
}

/// Returns the comparison that is TRUE where another is FALSE.
fn opposite(op: ComparisonOp) -> ComparisonOp {
    match op {
        ComparisonOp::Eq => ComparisonOp::NotEq,
        ComparisonOp::NotEq => ComparisonOp::Eq,
        ComparisonOp::Lt => ComparisonOp::GtEq,
        ComparisonOp::LtEq => ComparisonOp::Gt,
        ComparisonOp::Gt => ComparisonOp::LtEq,
        ComparisonOp::GtEq => ComparisonOp::Lt,
        other => other,
    }
}
