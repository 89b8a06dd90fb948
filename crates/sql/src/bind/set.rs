//! Set operations, VALUES, and the row that a SELECT without FROM reads.
//!
//! INTERSECT and EXCEPT are semi and anti joins of distinct rows, in which NULL equals NULL. With ALL they count the rows of
//! both sides.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, new_empty_array};
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use sqlparser::ast::{Query, SelectItem, SetExpr, SetOperator, SetQuantifier, Values};
use thalweg_sql_exec::plan::{BagKind, Column, JoinKind, Node, Plan, Role};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::functions::compare::ComparisonOp;
use thalweg_sql_functions::types::{SqlType, common_type, relabelled};
use thalweg_sql_functions::values::ScalarValue;
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::Planner;
use super::attached::Attached;
use super::names::Names;
use super::relation::{Condition, OpenJoin, Queried, Source};
use super::scope::{Base, Scope};
use super::select::Around;
use super::syntax::{has_query, place, place_of_expression, refuse_any};

type Result<T> = std::result::Result<T, SqlError>;

impl Planner<'_> {
    /// Plans a set operation.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault.
    pub(super) fn set_operation(
        &self,
        op: SetOperator,
        quantifier: SetQuantifier,
        [left, right]: [&SetExpr; 2],
        around: Option<Around<'_>>,
    ) -> Result<Queried> {
        let around = around.map(Around::closed);
        check_operator(op, quantifier, place(left))?;
        let is_distinct = quantifier != SetQuantifier::All;
        let at = place_of_results(left);
        // A chain of unions is one union. Below one that keeps each row once, it makes no difference whether others do.
        let mut branches = vec![right];
        let mut first = left;
        while op == SetOperator::Union
            && let SetExpr::SetOperation { left, op: SetOperator::Union, set_quantifier, right } = first
            && (is_distinct || *set_quantifier == SetQuantifier::All)
        {
            check_operator(SetOperator::Union, *set_quantifier, place(&**left))?;
            branches.push(right);
            first = left;
        }
        let Queried { plan: mut so_far, names } = self.body(first, around)?.queried;
        let word = match op {
            SetOperator::Union => "UNION ALL".to_owned(),
            op if is_distinct => op.to_string(),
            op => format!("{op} ALL"),
        };
        for branch in branches.into_iter().rev() {
            let of_branch = place_of_results(branch);
            let right = self.body(branch, around)?.queried.plan;
            if so_far.columns.len() != right.columns.len() {
                let message = format!("the queries of {word} have different numbers of columns");
                return Err(SqlError::new(Code::Invalid, message).at(of_branch));
            }
            so_far = match op {
                SetOperator::Union => {
                    self.union(&word, so_far, right).map_err(|error| error.at(of_branch))?
                }
                SetOperator::Intersect if !is_distinct => {
                    self.bag(BagKind::Intersect, so_far, right, at).map_err(|error| error.at(of_branch))?
                }
                SetOperator::Except if !is_distinct => {
                    self.bag(BagKind::Except, so_far, right, at).map_err(|error| error.at(of_branch))?
                }
                SetOperator::Intersect => self.semi_or_anti(so_far, right, JoinKind::Semi, at)?,
                SetOperator::Except | SetOperator::Minus => {
                    self.semi_or_anti(so_far, right, JoinKind::Anti, at)?
                }
            };
        }
        if op == SetOperator::Union && is_distinct {
            so_far = self.distinct(so_far, at)?;
        }
        Ok(Queried { plan: so_far, names })
    }

    /// Plans the rows of the left query which the right one has (a semi join) or lacks (an anti join), each once.
    fn semi_or_anti(&self, left: Plan, right: Plan, kind: JoinKind, at: Option<Place>) -> Result<Plan> {
        let left = self.distinct(left, at)?;
        let width = left.columns.len();
        let pairs = left.identity().into_iter().zip(right.identity());
        let mut on = Vec::with_capacity(width);
        for (left, right) in pairs {
            let right = right.with_columns(&|place| place + width);
            let equal = self.typing.compare(ComparisonOp::IsNotDistinctFrom, left, right);
            on.push(Condition { value: equal.map_err(|error| error.at(at))?, at });
        }
        let join = OpenJoin::new(kind, Source::Plan(left), Source::Plan(right));
        self.closed(Source::Join(Box::new(OpenJoin { on, ..join })), Vec::new())
    }

    /// Plans EXCEPT ALL or INTERSECT ALL. The rows of both queries become one stream, in which a column tells the side.
    fn bag(&self, kind: BagKind, left: Plan, right: Plan, at: Option<Place>) -> Result<Plan> {
        let word = match kind {
            BagKind::Except => "EXCEPT ALL",
            BagKind::Intersect => "INTERSECT ALL",
        };
        let of_side = |plan: Plan, is_right| {
            let mut outputs = plan.identity();
            let mut columns: Vec<Column> =
                plan.columns.iter().map(|column| Column { role: Role::Plain, ..column.clone() }).collect();
            outputs.push(Typed::literal(ScalarValue::Boolean(Some(is_right)), SqlType::Boolean));
            columns.push(Column::plain("is_right", SqlType::Boolean, false));
            plan.project(outputs, columns)
        };
        let input = self.union(word, of_side(left, false), of_side(right, true))?;
        let mut columns = input.columns.clone();
        columns.pop();
        let ttl_ms = self.binder.state_ttl_ms;
        Ok(Plan::new(columns, Node::Bag { input: Box::new(input), kind, ttl_ms }).at(at))
    }

    /// Plans the rows of two queries with the same number of columns as one stream. `word` is what messages call it.
    fn union(&self, word: &str, left: Plan, right: Plan) -> Result<Plan> {
        let mut columns = Vec::with_capacity(left.columns.len());
        for (place, (column, other)) in left.columns.iter().zip(&right.columns).enumerate() {
            let of = common_type(&column.of, &other.of).ok_or_else(|| {
                let message = format!("column {} of {word} is {} and {}", place + 1, column.of, other.of);
                SqlError::new(Code::TypeMismatch, message).help("cast both to one type")
            })?;
            let role = if column.role == other.role { column.role.merged() } else { Role::Plain };
            let is_nullable = column.is_nullable || other.is_nullable;
            columns.push(Column { name: column.name.clone(), of, is_nullable, role });
        }
        let mut inputs = Vec::new();
        for input in [left, right] {
            let widened = self.widened(input, &columns)?;
            // A union of unions becomes one union, so that a long chain of them is no deep tree.
            match widened.node {
                Node::Union(inner) => inputs.extend(inner),
                node => inputs.push(Plan { node, ..widened }),
            }
        }
        Ok(Plan::new(columns, Node::Union(inputs)))
    }

    /// Returns a plan whose columns are cast to the types of `columns`.
    fn widened(&self, plan: Plan, columns: &[Column]) -> Result<Plan> {
        let is_same = plan.columns.iter().zip(columns).all(|(column, to)| column.of.arrow() == to.of.arrow());
        if is_same {
            return Ok(plan);
        }
        // A union whose branches are cast becomes one projection for each of them.
        if let Node::Union(inputs) = plan.node {
            let inputs =
                inputs.into_iter().map(|input| self.widened(input, columns)).collect::<Result<_>>()?;
            return Ok(Plan::new(columns.to_vec(), Node::Union(inputs)).at(plan.at));
        }
        let outputs = plan
            .identity()
            .into_iter()
            .zip(columns)
            .map(|(output, to)| self.typing.widen(output, &to.of))
            .collect::<Result<_>>()?;
        Ok(plan.project(outputs, columns.to_vec()))
    }

    /// Plans the rows of VALUES.
    ///
    /// # Errors
    /// [`Code::TypeMismatch`] for values of a column without a common type, [`Code::Unsupported`] for values that are
    /// not known when the query is planned.
    pub(super) fn values(&self, values: &Values) -> Result<Queried> {
        if values.rows.iter().flat_map(|row| &row.content).any(has_query) {
            return self.values_of_queries(values);
        }
        let names = Names::default();
        let scope = Scope::new(&names, &[]);
        let width = values.rows.first().map_or(0, |row| row.content.len());
        let mut rows: Vec<Vec<Typed>> = Vec::with_capacity(values.rows.len());
        for row in &values.rows {
            if row.content.len() != width {
                let message = format!(
                    "the rows of VALUES have different numbers of values: {width} and {}",
                    row.content.len()
                );
                let at = row.content.first().and_then(place_of_expression);
                return Err(SqlError::new(Code::Invalid, message).at(at));
            }
            let cells: Vec<Typed> =
                row.content.iter().map(|cell| self.bind(cell, &scope)).collect::<Result<_>>()?;
            row.content.iter().zip(&cells).for_each(|(cell, value)| self.note_null(value, cell));
            rows.push(cells);
        }
        let mut columns = Vec::with_capacity(width);
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(width);
        for place in 0..width {
            let at = |row: usize| place_of_expression(&values.rows[row].content[place]);
            let mut of = SqlType::Null;
            for (number, row) in rows.iter().enumerate() {
                of = common_type(&of, &row[place].of).ok_or_else(|| {
                    let message = format!("column {} of VALUES is {of} and {}", place + 1, row[place].of);
                    let error = SqlError::new(Code::TypeMismatch, message).at(at(number));
                    error.help("cast them to one type")
                })?;
            }
            let mut literals = Vec::with_capacity(rows.len());
            for (number, row) in rows.iter().enumerate() {
                let widened = self.typing.widen(row[place].clone(), &of)?;
                literals.push(widened.as_literal().cloned().ok_or_else(|| {
                    let error = SqlError::new(Code::Unsupported, "VALUES takes literals").at(at(number));
                    error.help("write SELECT .. UNION ALL SELECT ..")
                })?);
            }
            let literals = literals
                .into_iter()
                .map(|literal| literal.cast_to(&of.arrow()))
                .collect::<std::result::Result<Vec<_>, _>>();
            let array = match literals {
                Ok(literals) if literals.is_empty() => Ok(new_empty_array(&of.arrow())),
                Ok(literals) => ScalarValue::iter_to_array(literals),
                Err(error) => Err(error),
            };
            // The column gets the Arrow type of the whole column: the metadata of text in arrays holds the greatest
            // length, which differs between single rows.
            let array = array.map_err(|error| SqlError::new(Code::Invalid, error.to_string()))?;
            arrays.push(relabelled(array, &of.arrow()).map_err(|error| {
                let message = format!("column {} of VALUES cannot be held as {of}: {error}", place + 1);
                SqlError::new(Code::Invalid, message)
            })?);
            let is_nullable = rows.iter().any(|row| row[place].is_nullable);
            columns.push(Column::plain(format!("EXPR${place}"), of, is_nullable));
        }
        let fields: Vec<_> = columns.iter().map(|column| column.of.field(&column.name, true)).collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
            .map_err(|error| SqlError::new(Code::Invalid, error.to_string()))?;
        let names = Names::of_table(None, columns.iter().map(|column| column.name.as_str()));
        Ok(Queried { plan: Plan::new(columns, Node::Values(batch)), names })
    }
}

impl Planner<'_> {
    /// Plans the rows of VALUES with sub-queries among the values: each row is the result of a query.
    fn values_of_queries(&self, values: &Values) -> Result<Queried> {
        let names = Names::of_one_row();
        let one = one_row()?;
        let columns = one.columns.clone();
        let mut so_far: Option<Plan> = None;
        for row in &values.rows {
            let attached = Attached::default();
            let scope = Scope { attached: Some(&attached), ..Scope::new(&names, &columns) };
            let cells: Vec<Typed> =
                row.content.iter().map(|cell| self.bind(cell, &scope)).collect::<Result<_>>()?;
            let (source, places) = attached.join(Source::Plan(one.clone()), &|place| place);
            let plan = self.closed(source, Vec::new())?;
            let real = |place: usize| Base::Attached.of(place).map_or(place, |number| places[number]);
            let outputs: Vec<Typed> = cells.iter().map(|cell| cell.with_columns(&real)).collect();
            let column = |(place, value): (usize, &Typed)| {
                Column::plain(format!("EXPR${place}"), value.of.clone(), value.is_nullable)
            };
            let made = outputs.iter().enumerate().map(column).collect();
            let plan = plan.project(outputs, made);
            let at = row.content.first().and_then(place_of_expression);
            so_far = Some(match so_far {
                Some(before) if before.columns.len() != plan.columns.len() => {
                    let (width, found) = (before.columns.len(), plan.columns.len());
                    let message =
                        format!("the rows of VALUES have different numbers of values: {width} and {found}");
                    return Err(SqlError::new(Code::Invalid, message).at(at));
                }
                Some(before) => self.union("VALUES", before, plan).map_err(|error| error.at(at))?,
                None => plan,
            });
        }
        let plan = so_far.ok_or_else(|| SqlError::new(Code::Syntax, "VALUES has no rows"))?;
        let names = Names::of_table(None, plan.columns.iter().map(|column| column.name.as_str()));
        Ok(Queried { plan, names })
    }
}

/// Refuses set operations that are not supported.
fn check_operator(op: SetOperator, quantifier: SetQuantifier, at: Option<Place>) -> Result<()> {
    refuse_any!(at;
        matches!(quantifier, SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName)
            => "BY NAME",
        matches!(op, SetOperator::Minus) => "MINUS",
    );
    Ok(())
}

/// Returns the plan of one row with a column that has no name, since joins take rows with columns alone.
pub(super) fn one_row() -> Result<Plan> {
    let column = Column::plain("", SqlType::Boolean, false);
    let schema = Schema::new(vec![column.of.field(&column.name, true)]);
    let values: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
    let batch = RecordBatch::try_new(Arc::new(schema), vec![values]);
    let batch = batch.map_err(|error| SqlError::new(Code::Invalid, error.to_string()))?;
    Ok(Plan::new(vec![column], Node::Values(batch)))
}

/// Returns the place of the first result of a query whose place is known.
fn place_of_results(body: &SetExpr) -> Option<Place> {
    let mut body = body;
    loop {
        body = match body {
            SetExpr::SetOperation { left, .. } => left,
            SetExpr::Query(query) => &query.body,
            SetExpr::Select(select) => {
                return select.projection.iter().find_map(place).or_else(|| place(&**select));
            }
            SetExpr::Values(values) => {
                return values.rows.iter().flat_map(|row| &row.content).find_map(place_of_expression);
            }
            _ => return None,
        };
    }
}

/// Returns the place in the text of a query's result column, if it is known.
pub fn result_place(query: &Query, column: usize) -> Option<Place> {
    let mut body = &*query.body;
    loop {
        body = match body {
            SetExpr::SetOperation { left, .. } => left,
            SetExpr::Query(query) => &query.body,
            SetExpr::Select(select) => {
                let items = &select.projection;
                let is_star = |item: &SelectItem| {
                    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
                };
                let item = items.get(column).filter(|_| !items.iter().take(column + 1).any(is_star));
                return item.or(items.first()).and_then(place);
            }
            SetExpr::Values(values) => {
                let row = values.rows.first()?;
                return row.content.get(column).or(row.content.first()).and_then(place_of_expression);
            }
            _ => return None,
        };
    }
}
