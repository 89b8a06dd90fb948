//! From syntax trees to plans: DataFusion's planner resolves names, this module assigns types and plans streams.
//!
//! ```text
//!   syntax tree --plain--> SqlToRel (names) --> rules (sub-queries as joins) --> expression (types), query (streams) --> Plan
//! ```
//!
//! There are two steps, because DataFusion resolves names, scopes, aggregates and sub-queries as every SQL has them,
//! which is a large and well kept part. Its types are not Flink's (a literal is a BIGINT, a sum widens, decimals are
//! cut, text compares with numbers), and it knows no windows, watermarks or bounds of state. So functions are
//! stand-ins while DataFusion plans ([`names`]): they have names and guessed types. One pass over DataFusion's plan
//! then decides about types, functions and streams.

pub mod changelog;
mod expression;
mod final_rows;
mod foreign;
mod group;
mod join;
mod locate;
mod members;
mod names;
mod over;
mod query;
mod relations;
mod said;
mod stars;
mod subqueries;
mod tables;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_common::{DataFusionError, SchemaError, TableReference};
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion_optimizer::decorrelate_predicate_subquery::DecorrelatePredicateSubquery;
use datafusion_optimizer::{Optimizer, OptimizerContext};
use datafusion_sql::planner::{NullOrdering, ParserOptions, SqlToRel};
use sqlparser::ast;
use thalweg_sql_exec::plan::Plan;
use thalweg_sql_functions::aggregates::aggregates;
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::functions;
use thalweg_sql_functions::functions::Context;
use thalweg_sql_functions::suggestion::nearest;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::error::{Code, SqlError};

use crate::catalog::{Catalog, Entry};
use crate::text::plain;

use names::Names;
pub use tables::declare;

/// The form of the answer to a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answers {
    /// Rows and their changes come out as they are found.
    Changes,
    /// As [`Final`](Self::Final) if all tables of the query come to an end, else as [`Changes`](Self::Changes).
    FinalIfEnding,
    /// Changes stay inside, and the rows that are left come out when the input ends. ORDER BY may name any columns.
    Final,
}

/// Context in which queries become plans: the catalog, the settings, and the resolved views.
pub struct Binder<'a> {
    /// Tables and views of the session.
    pub catalog: &'a Catalog,
    /// Time zone and clock for functions.
    pub context: &'a Context,
    /// How long operators without a window keep state after it was last written, in milliseconds of processing time.
    /// If it is `None`, such operators are refused unless their input ends, except for OVER, which then keeps state
    /// forever.
    pub state_ttl_ms: Option<i64>,
    /// The form of the answer: changes as they come, or final rows.
    pub answers: Answers,
    /// Views whose names were resolved already.
    pub views: &'a Views,
}

/// DataFusion's plans of views, by the names of the views. They are valid as long as nothing is dropped from the
/// catalog and no setting changes; code that does so calls [`forget`](Self::forget).
#[derive(Clone, Default, Debug)]
pub struct Views(RefCell<BTreeMap<String, LogicalPlan>>);

impl Views {
    /// Forgets the plans of all views, so that the views are resolved again when a query reads them.
    pub fn forget(&mut self) {
        self.0.get_mut().clear();
    }
}

/// Greatest number of operators in DataFusion's plan of a query, with its views and sub-queries put in.
pub const PLAN_NODES_MAX: usize = 10_000;

/// Greatest depth of DataFusion's plan of a query, in operators, with its views and sub-queries put in.
pub const PLAN_DEPTH_MAX: usize = 1_000;

impl Binder<'_> {
    /// Returns whether the input of a plan ends. In batch mode each input must.
    fn ends(&self, plan: &Plan) -> bool {
        self.answers == Answers::Final || changelog::ends(plan)
    }

    /// Returns the plan of a query.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault of the query.
    pub fn query(&self, query: &ast::Query) -> Result<Plan, SqlError> {
        self.planned(query).map_err(|error| {
            locate::located(with_known_place(error), query, &|changed| self.planned(changed).err())
        })
    }

    fn planned(&self, query: &ast::Query) -> Result<Plan, SqlError> {
        let logical = self.resolve_within(query, &RefCell::default())?;
        let mut plan = query::lower(self, &logical)?;
        let found: Vec<&str> = plan.columns.iter().map(|column| column.name.as_str()).collect();
        let names = plain::column_names(query, &found);
        plan.columns.iter_mut().zip(names).for_each(|(column, name)| column.name = name);
        Ok(plan)
    }

    /// Returns DataFusion's plan of a query, in which names are resolved. `open` holds the names of the views that
    /// are being resolved, to find a view that refers to itself.
    fn resolve_within(
        &self,
        query: &ast::Query,
        open: &RefCell<Vec<String>>,
    ) -> Result<LogicalPlan, SqlError> {
        let mut query = query.clone();
        let view = |name: &str| -> Result<LogicalPlan, SqlError> {
            if let Some(plan) = self.views.0.borrow().get(name) {
                return Ok(plan.clone());
            }
            if open.borrow().iter().any(|open| open == name) {
                return Err(SqlError::new(Code::Invalid, format!("the view `{name}` refers to itself")));
            }
            let Entry::View(view) = self.catalog.get(name)? else {
                return Err(SqlError::new(Code::Invalid, format!("`{name}` is no view")));
            };
            open.borrow_mut().push(name.to_owned());
            let plan = self.resolve_within(&view.query, open);
            open.borrow_mut().pop();
            let plan = renamed(plan?, name, &view.columns, &view.query)?;
            self.views.0.borrow_mut().insert(name.to_owned(), plan.clone());
            Ok(plan)
        };
        let columns_of = |name: &ast::ObjectName| -> Option<Vec<String>> {
            let ast::ObjectNamePart::Identifier(name) = name.0.last()? else { return None };
            match self.catalog.get(&name.value).ok()? {
                Entry::Table(table) => Some(table.columns.iter().map(|column| column.name.clone()).collect()),
                Entry::View(_) => {
                    let plan = view(&name.value).ok()?;
                    Some(plan.schema().fields().iter().map(|field| field.name().clone()).collect())
                }
            }
        };
        stars::write_out(&mut query, &columns_of)?;
        plain::make_plain(&mut query)?;
        let names = Names::new(self.catalog, self.context, &view);
        let planner = SqlToRel::new_with_options(&names, parser_options());
        let statement = ast::Statement::Query(Box::new(query));
        let logical = planner.sql_statement_to_plan(statement).map_err(sql_error)?;
        let size = size(&logical, &mut HashMap::new());
        if size.nodes > PLAN_NODES_MAX || size.depth > PLAN_DEPTH_MAX {
            let message = format!(
                "with its views and sub-queries put in, the query has more than {PLAN_NODES_MAX} operators, or more than \
                 {PLAN_DEPTH_MAX} on top of each other"
            );
            return Err(
                SqlError::new(Code::Unsupported, message).help("read fewer views, or each of them once")
            );
        }
        // Without sub-queries the optimizer would change nothing, but copy the whole plan with its views.
        if !size.has_subquery {
            return Ok(logical);
        }
        subqueries::check(&logical)?;
        let optimizer = Optimizer::with_rules(vec![std::sync::Arc::new(DecorrelatePredicateSubquery::new())]);
        let mut options = ConfigOptions::default();
        options.optimizer.max_passes = 1;
        options.optimizer.skip_failed_rules = false;
        let context = OptimizerContext::new_with_config_options(std::sync::Arc::new(options));
        optimizer.optimize(logical, &context, |_, _| {}).map_err(sql_error)
    }
}

/// Returns the error without its place if that place is `NOWHERE`, which marks an expression without a known place.
fn with_known_place(error: SqlError) -> SqlError {
    SqlError { place: error.place.filter(|place| *place != expression::NOWHERE), ..error }
}

/// Casts a value to the type of the column into which it is inserted, if Flink makes this cast without CAST.
///
/// # Errors
/// [`Code::TypeMismatch`] if it does not.
pub fn cast_for_insert(value: Typed, to: &SqlType, context: &Context) -> Result<Typed, SqlError> {
    expression::Expressions::new(context).widen(value, to)
}

fn parser_options() -> ParserOptions {
    ParserOptions::new()
        .with_parse_float_as_decimal(true)
        .with_enable_ident_normalization(false)
        .with_support_varchar_with_length(true)
        .with_map_string_types_to_utf8view(false)
        .with_collect_spans(true)
        // In Flink NULL is the least value.
        .with_default_null_ordering(NullOrdering::NullsMin)
}

/// Size of DataFusion's plan of a query: its number of operators, and its depth.
#[derive(Clone, Copy, Default)]
struct Size {
    nodes: usize,
    depth: usize,
    /// Whether an expression of the plan contains a sub-query.
    has_subquery: bool,
}

/// Returns the size of DataFusion's plan, whose parts may be shared. A shared part is visited once (`known` has its
/// size), and counted once for each operator that reads it.
fn size(logical: &LogicalPlan, known: &mut HashMap<*const LogicalPlan, Size>) -> Size {
    let here: *const LogicalPlan = logical;
    if let Some(size) = known.get(&here) {
        return *size;
    }
    let mut size = Size { nodes: 1, ..Size::default() };
    let mut below: Vec<&LogicalPlan> = logical.inputs();
    // The result is ignored, because the closure returns no error.
    let _ = logical.apply_expressions(|expression| {
        expression.apply(|part| {
            size.has_subquery |= matches!(
                part,
                Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_) | Expr::SetComparison(_)
            );
            Ok(TreeNodeRecursion::Continue)
        })
    });
    let mut depth = 0;
    for input in below.drain(..) {
        let inner = self::size(input, known);
        size.nodes = size.nodes.saturating_add(inner.nodes);
        size.has_subquery |= inner.has_subquery;
        depth = depth.max(inner.depth);
    }
    size.depth = depth + 1;
    known.insert(here, size);
    size
}

/// Returns the plan of a view with its columns renamed: to the names in the declaration of the view, or else to
/// Flink's names of the results of its query.
fn renamed(
    plan: LogicalPlan,
    name: &str,
    columns: &[String],
    query: &ast::Query,
) -> Result<LogicalPlan, SqlError> {
    let own: Vec<&str> = plan.schema().fields().iter().map(|field| field.name().as_str()).collect();
    let once = plain::column_names(query, &own);
    let columns = if columns.is_empty() { &once[..] } else { columns };
    if own == columns {
        return Ok(plan);
    }
    let found = plan.schema().fields().len();
    if found != columns.len() {
        let message = format!("the view `{name}` names {} columns, and its query has {found}", columns.len());
        return Err(SqlError::new(Code::Invalid, message));
    }
    let outputs: Vec<_> = plan
        .schema()
        .columns()
        .into_iter()
        .zip(columns)
        .map(|(column, name)| Expr::Column(column).alias(name))
        .collect();
    LogicalPlanBuilder::from(plan).project(outputs).and_then(LogicalPlanBuilder::build).map_err(sql_error)
}

/// Converts an error of DataFusion's planner to an error with our codes and messages.
fn sql_error(error: DataFusionError) -> SqlError {
    match error {
        DataFusionError::Diagnostic(diagnostic, inner) => {
            let place = diagnostic.span.filter(|span| span.start.line > 0);
            sql_error(*inner).at(place.as_ref().map(expression::place_of_span))
        }
        DataFusionError::External(error) => match error.downcast::<SqlError>() {
            Ok(error) => *error,
            Err(error) => SqlError::new(Code::Invalid, error.to_string()),
        },
        DataFusionError::Context(_, inner) => sql_error(*inner),
        DataFusionError::Shared(inner) => match std::sync::Arc::try_unwrap(inner) {
            Ok(inner) => sql_error(inner),
            Err(shared) => SqlError::new(Code::Invalid, shared.to_string()),
        },
        DataFusionError::Collection(mut errors) if !errors.is_empty() => sql_error(errors.remove(0)),
        DataFusionError::SchemaError(error, _) => schema_error(&error),
        DataFusionError::NotImplemented(message) => known_error(&message)
            .unwrap_or_else(|| SqlError::new(Code::Unsupported, first_line(&message, "is not supported"))),
        DataFusionError::Plan(message) => plan_error(&message),
        other => SqlError::new(Code::Invalid, first_line(&other.strip_backtrace(), "is not possible")),
    }
}

fn schema_error(error: &SchemaError) -> SqlError {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            if let Some(table) = &field.relation {
                let mut tables: Vec<&str> = valid_fields
                    .iter()
                    .filter_map(|known| known.relation.as_ref())
                    .map(TableReference::table)
                    .collect();
                tables.dedup();
                if !tables.contains(&table.table()) {
                    let message = format!("no table is called `{}` here", table.table());
                    let help = match tables.is_empty() {
                        true => "name a table in FROM".to_owned(),
                        false => format!("there are {}", tables.join(", ")),
                    };
                    return SqlError::new(Code::UnknownTable, message).help(help);
                }
            }
            let known: Vec<&str> = valid_fields.iter().map(|field| field.name.as_str()).collect();
            let at = expression::place_of(&Expr::Column((**field).clone()));
            relations::unknown_column(&field.name, known.into_iter()).at(at)
        }
        // The select list has a `*` and a result with the name of one of its columns.
        SchemaError::AmbiguousReference { field } if field.relation.is_some() => {
            SqlError::new(Code::Invalid, format!("`*` has a column `{}` already", field.name))
                .help("give the result another name by AS")
        }
        SchemaError::AmbiguousReference { field } => {
            let message = format!("`{}` may be a column of several tables", field.name);
            SqlError::new(Code::Invalid, message).help(format!("write which: t.`{}`", field.name))
        }
        SchemaError::DuplicateQualifiedField { name, .. }
        | SchemaError::DuplicateUnqualifiedField { name } => {
            SqlError::new(Code::Invalid, format!("there are two columns `{name}`"))
                .help("name one of them by AS")
        }
    }
}

fn plan_error(message: &str) -> SqlError {
    if let Some(rest) = message.strip_prefix("Invalid function '") {
        let name = rest.split('\'').next().unwrap_or_default().to_uppercase();
        let error = SqlError::new(Code::UnknownFunction, format!("there is no function {name}"));
        let known = functions::all()
            .map(|function| function.name)
            .chain(aggregates().iter().map(|function| function.name));
        let known: Vec<&str> = known.collect();
        if FLINKS_OWN.contains(&&*name) {
            return SqlError::new(Code::Unsupported, format!("{name} is not supported"));
        }
        let group_window =
            ["TUMBLE", "HOP", "SESSION", "CUMULATE"].into_iter().find(|window| name.starts_with(window));
        if let Some(window) = group_window {
            return error.help(format!(
                "write FROM TABLE({window}(TABLE t, DESCRIPTOR(ts), ..)) and GROUP BY window_start, window_end"
            ));
        }
        return match nearest(&name, known) {
            Some(near) => error.help(format!("did you mean {near}?")),
            None => error.help("the manual lists the functions that there are"),
        };
    }
    if let Some(error) = not_grouped(message) {
        return error;
    }
    known_error(message)
        .unwrap_or_else(|| SqlError::new(Code::Invalid, first_line(message, "is not possible")))
}

/// Functions of Flink that are not supported here, without its window functions.
const FLINKS_OWN: [&str; 10] = [
    "UNNEST",
    "JSON_OBJECT",
    "JSON_ARRAY",
    "JSON_OBJECTAGG",
    "JSON_LENGTH",
    "TYPEOF",
    "CURRENT_WATERMARK",
    "CURRENT_DATABASE",
    "LEAD",
    "NTILE",
];

/// Returns our error for a known message of DataFusion's planner; `None` for other messages.
fn known_error(message: &str) -> Option<SqlError> {
    let known = [
        ("Unary operator '-' only", Code::TypeMismatch, "- takes numbers and intervals"),
        ("Unary operator 'NOT' requires", Code::TypeMismatch, "NOT takes a condition, a BOOLEAN"),
        (
            "Cannot create filter with non-boolean",
            Code::TypeMismatch,
            "WHERE and HAVING take a condition, a BOOLEAN",
        ),
        (
            "Projections require unique expression names",
            Code::Invalid,
            "two results of a SELECT have one name: name one of them by AS",
        ),
        (
            "UNION queries have different number",
            Code::Invalid,
            "the queries of UNION ALL have different numbers of columns",
        ),
        (
            "Cannot infer common argument type for logical boolean operation",
            Code::TypeMismatch,
            "AND and OR take conditions, BOOLEANs",
        ),
        ("Source table contains", Code::Invalid, "the list of names is as long as the table has columns"),
        ("Invalid qualifier", Code::UnknownTable, "no table has the name before `.*`"),
        (
            "Struct not supported",
            Code::Unsupported,
            "brackets hold several values only beside others: ROW(..) makes a row",
        ),
        (
            "Too many columns! The subquery",
            Code::Invalid,
            "a sub-query of IN or beside an operator has one column: write a join, or EXISTS",
        ),
        ("Unnest", Code::Unsupported, "UNNEST is not supported"),
        ("Empty tuple", Code::Unsupported, "GROUP BY () is not supported: leave it out"),
    ];
    let (_, code, ours) = known.iter().find(|(begin, ..)| message.starts_with(begin))?;
    Some(SqlError::new(*code, *ours))
}

/// Returns our error for the planner's message about a column that is neither a key of GROUP BY nor in an aggregate;
/// `None` for other messages.
fn not_grouped(message: &str) -> Option<SqlError> {
    let at_grouping = message.find("must appear in the GROUP BY clause")?;
    let column = message[..at_grouping].rsplit_once("column \"").map(|(_, rest)| rest.split('"').next());
    let name = column.flatten().map(|name| name.rsplit('.').next().unwrap_or(name).to_owned());
    let message = match name {
        Some(name) => format!("`{name}` is no key of GROUP BY, and stands outside of aggregates"),
        None => "HAVING stands where there are no groups".to_owned(),
    };
    Some(SqlError::new(Code::Invalid, message).help("add it to GROUP BY, or aggregate it: MAX(..), say"))
}

/// Returns the first line of a message of DataFusion in the form of our messages: in lower case and without a full
/// stop.
fn first_line(message: &str, unless: &str) -> String {
    let line = message.lines().next().unwrap_or(unless).trim_end_matches('.');
    let mut characters = line.chars();
    match (characters.next(), characters.next()) {
        (Some(first), Some(second)) if first.is_uppercase() && !second.is_uppercase() => {
            first.to_lowercase().collect::<String>() + &line[first.len_utf8()..]
        }
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests;
