//! From syntax trees to plans, in one pass: names, types by Flink's rules, and streams.
//!
//! ```text
//!   query -> from, join, unnest (relations) -> select, aggregate, over, order, set (operators) -> changelog (bounds of state) -> Plan
//!                        expression, typing, scope, names: in every clause
//! ```
//!
//! The tree is read once and never changed. A column is an index into the columns of a plan; its names live beside the plan
//! ([`names`]) and end with the SELECT that reads them. The plan of a query is completed when all of it is known
//! ([`changelog`]): whether rows change, how long state is kept, and what of it is refused.

mod aggregate;
mod attached;
pub mod changelog;
mod current_watermark;
mod domain;
mod elsewhere;
mod expression;
mod final_rows;
mod from;
mod group;
mod group_windows;
mod hints;
mod join;
mod kept;
mod lateral;
mod multiset;
mod names;
mod on;
mod order;
mod over;
pub(crate) mod portable;
mod quantified;
mod ranks;
mod relation;
mod scope;
mod select;
mod set;
mod sets;
mod subquery;
mod syntax;
mod tables;
mod types;
mod typing;
mod unnest;
mod windows;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use sqlparser::ast::{Expr, Query, SetExpr, With};
use thalweg_sql_exec::plan::Plan;
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::functions::Context;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::error::{Code, SqlError};

use crate::catalog::{Catalog, Entry};

use final_rows::{limited, limited_by};
use names::Names;
use order::{Order, limit_of};
use portable::OnlyHere;
use relation::Queried;
use select::{Around, Demands, Selected};
use subquery::keys_of;
use syntax::{check_name, not_supported, place, place_of_name, refuse_any};
use typing::Typing;

pub use current_watermark::with_shared_watermarks;
pub use expression::{cast_for_insert, function_names};
pub use kept::kept_for_ever;
pub use names::NamesOnce;
pub use portable::{NOTES_MAX, Notes};
pub use select::RESULTS_MAX;
pub use set::result_place;
pub use tables::declare;

type Result<T> = std::result::Result<T, SqlError>;

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
    /// If it is `None`, they keep it until their input ends, and forever if it does not.
    pub state_ttl_ms: Option<i64>,
    /// The form of the answer: changes as they come, or final rows.
    pub answers: Answers,
    /// Whether changes of tables may come twice, so that the last row of each primary key is kept: the setting
    /// `table.exec.source.cdc-events-duplicate`.
    pub are_changes_doubled: bool,
    /// Views that were planned already.
    pub views: &'a Views,
    /// Notes on what Flink refuses, to which this query adds its own.
    pub notes: &'a Notes,
}

/// Plans of views before they are completed, by the names of the views. They are valid as long as nothing is dropped from
/// the catalog and no setting changes; code that does so calls [`forget`](Self::forget).
#[derive(Clone, Default, Debug)]
pub struct Views(RefCell<BTreeMap<String, Arc<Queried>>>);

impl Views {
    /// Forgets the plans of all views, so that the views are planned again when a query reads them.
    pub fn forget(&mut self) {
        self.0.get_mut().clear();
    }
}

/// Greatest number of operators of a query, with its views and sub-queries put in.
pub const PLAN_NODES_MAX: usize = 10_000;

/// Greatest depth of the plan of a query, in operators, with its views and sub-queries put in.
pub const PLAN_DEPTH_MAX: usize = 1_000;

impl Binder<'_> {
    /// Returns the plan of a query.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault of the query.
    pub fn query(&self, query: &Query) -> Result<Plan> {
        self.query_in(query, self.catalog.current())
    }

    /// Returns the plan of a query that finds tables which it names without a database in a given one.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn query_in(&self, query: &Query, database: &str) -> Result<Plan> {
        let planner = Planner::new(self);
        planner.database.replace(Some(database.to_owned()));
        let Queried { plan, names } = planner.query(query)?;
        check_size(&plan)?;
        let plan = changelog::settle(current_watermark::placed(plan)?, self.state_ttl_ms, self.answers)?;
        // Of batch mode, Flink has the same windows.
        if self.answers != Answers::Final {
            self.notes.add_of_plan(&plan);
        }
        Ok(with_names(plan, &names))
    }
}

impl Binder<'_> {
    /// Returns the literal that PARTITION gives to a column, cast to the column's type as by CAST.
    ///
    /// # Errors
    /// [`Code::Invalid`] for an expression that is no literal, [`Code::TypeMismatch`] for one without such a cast.
    pub fn partition_value(&self, value: &Expr, of: &SqlType) -> Result<Typed> {
        let names = Names::default();
        let planner = Planner::new(self);
        let value =
            planner.typing.cast_to(planner.bind(value, &scope::Scope::new(&names, &[]))?, of, false)?;
        match value.as_literal() {
            Some(_) => Ok(value),
            None => Err(SqlError::new(Code::Invalid, "PARTITION gives literals to columns")),
        }
    }
}

/// Plans one query of a statement, with all of its parts.
struct Planner<'a> {
    binder: &'a Binder<'a>,
    typing: Typing<'a>,
    /// Number of expressions around the one that is being typed.
    depth: Cell<usize>,
    /// Number of queries around the one that is being planned, with those of views.
    queries: Cell<usize>,
    /// Number of operators that were copied from views and queries of WITH.
    copied: Cell<usize>,
    /// Queries of the WITH clauses that are known here, those of the innermost clause last.
    with: RefCell<Vec<HashMap<String, Arc<Queried>>>>,
    /// Hints of the SELECTs around what is being planned, those of the innermost one last.
    hints: RefCell<Vec<hints::Hints>>,
    /// Names of the views that are being planned, to find a view that refers to itself.
    open: RefCell<Vec<String>>,
    /// Database of the view that is being planned, in which it finds tables that it names without one.
    database: RefCell<Option<String>>,
}

impl<'a> Planner<'a> {
    fn new(binder: &'a Binder<'a>) -> Self {
        Planner {
            binder,
            typing: Typing::new(binder.context),
            depth: Cell::default(),
            queries: Cell::default(),
            copied: Cell::default(),
            with: RefCell::default(),
            hints: RefCell::default(),
            open: RefCell::default(),
            database: RefCell::default(),
        }
    }

    /// Plans a query that reads nothing of a query around it.
    fn query(&self, query: &Query) -> Result<Queried> {
        Ok(self.rows_of(query, None)?.queried)
    }

    /// Plans a query. `around` is the query around a sub-query of IN or EXISTS.
    fn rows_of(&self, query: &Query, around: Option<Around<'_>>) -> Result<Selected> {
        let depth = self.queries.get() + 1;
        if depth > PLAN_DEPTH_MAX {
            return Err(too_large());
        }
        self.queries.set(depth);
        let rows = self.rows_of_clauses(query, around);
        self.queries.set(depth - 1);
        rows
    }

    fn rows_of_clauses(&self, query: &Query, around: Option<Around<'_>>) -> Result<Selected> {
        let at = place(query);
        let Query {
            with,
            body,
            order_by,
            limit_clause: _,
            fetch: _,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators,
        } = query;
        refuse_any!(at;
            with.as_ref().is_some_and(|with| with.recursive) => "WITH RECURSIVE",
            !locks.is_empty() => "FOR UPDATE",
            for_clause.is_some() => "FOR XML or JSON",
            settings.is_some() => "SETTINGS",
            format_clause.is_some() => "FORMAT",
            !pipe_operators.is_empty() => "|>",
        );
        let limit = limit_of(query).map_err(|error| error.at(at))?;
        // In a sub-query that reads the query around, a LIMIT counts for each row of that query.
        let limit = limit.filter(|limit| {
            around.is_none_or(|around| !around.is_readable || around.asked.needs_limit(*limit))
        });
        let around = around.map(|around| match limit {
            Some(_) => Around { demands: Demands::PlainKeys, ..around },
            None => around,
        });
        self.with.borrow_mut().push(HashMap::new());
        let selected = self.with_queries(with.as_ref()).and_then(|()| match (&**body, order_by) {
            (SetExpr::Select(select), order_by) => self.select(select, order_by.as_ref(), around),
            (body, None) => self.body(body, around),
            (body, Some(order_by)) => {
                let Queried { plan, names } = self.body(body, around.map(Around::closed))?.queried;
                let order = Order::of(Some(order_by))?;
                let no_names = Names::default();
                let scope = scope::Scope::new(&no_names, &[]);
                let keys = self.sort_keys(&order, &scope, &plan.columns)?;
                let plan = self.sorted_results(plan, keys)?;
                Ok(Selected::alone(Queried { plan, names }))
            }
        });
        self.with.borrow_mut().pop();
        let mut selected = selected?;
        if let Some((skip, fetch)) = limit {
            let plan = selected.queried.plan;
            selected.queried.plan = match keys_of(&selected.pulled) {
                Some(keys) if !keys.is_empty() && fetch > 0 => {
                    if around.is_some_and(Around::counts_rows) {
                        self.note(OnlyHere::LimitOfEach, at);
                    }
                    limited_by(plan, &keys, skip, fetch)
                }
                _ => limited(plan, skip, fetch),
            };
            selected.has_row &= skip == 0 && fetch > 0;
            selected.is_one_row &= skip == 0 && fetch > 0;
        }
        Ok(selected)
    }

    /// Plans the body of a query: a SELECT, a query in brackets, a set operation, or VALUES.
    fn body(&self, body: &SetExpr, around: Option<Around<'_>>) -> Result<Selected> {
        match body {
            SetExpr::Select(select) => self.select(select, None, around),
            SetExpr::Query(query) => self.rows_of(query, around),
            SetExpr::SetOperation { left, op, set_quantifier, right } => {
                Ok(Selected::alone(self.set_operation(*op, *set_quantifier, [left, right], around)?))
            }
            SetExpr::Values(values) => Ok(Selected::alone(self.values(values)?)),
            other => Err(not_supported("this kind of query").at(place(other))),
        }
    }

    /// Plans the queries of a WITH. Of two with one name, the later one counts from there on.
    fn with_queries(&self, with: Option<&With>) -> Result<()> {
        for table in with.iter().flat_map(|with| &with.cte_tables) {
            let at = place_of_name(&table.alias.name);
            refuse_any!(at;
                table.from.is_some() => "FROM behind a query of WITH",
                table.materialized.is_some() => "MATERIALIZED",
            );
            check_name(&table.alias.name)?;
            let relation = self.query(&table.query)?.into_relation().renamed(Some(&table.alias))?;
            let names = relation.names.columns.iter().map(|column| &*column.name);
            let names = Names::of_table(None, names);
            let plan = self.closed(relation.source, Vec::new())?;
            let queried = Arc::new(Queried { plan: with_names(plan, &names), names });
            if let Some(known) = self.with.borrow_mut().last_mut() {
                known.insert(table.alias.name.value.clone(), queried);
            }
        }
        Ok(())
    }

    /// Returns the query of WITH that has a name.
    fn query_of_with(&self, name: &str) -> Option<Arc<Queried>> {
        self.with.borrow().iter().rev().find_map(|known| known.get(name).map(Arc::clone))
    }

    /// Returns the plan of a view by its full name, before it is completed.
    fn view(&self, name: &str) -> Result<Arc<Queried>> {
        if let Some(queried) = self.binder.views.0.borrow().get(name) {
            return Ok(Arc::clone(queried));
        }
        if self.open.borrow().iter().any(|open| open == name) {
            return Err(SqlError::new(Code::Invalid, format!("the view `{name}` refers to itself")));
        }
        let Entry::View(view) = self.binder.catalog.get(name)? else {
            return Err(SqlError::new(Code::Invalid, format!("`{name}` is no view")));
        };
        self.open.borrow_mut().push(name.to_owned());
        // A view knows no names of the query that reads it, and is as large as it is for every reader.
        let with = self.with.take();
        let copied = self.copied.replace(0);
        let database = self.database.replace(Some(view.database.clone()));
        let planned = self.query(&view.query);
        self.with.replace(with);
        self.copied.set(copied);
        self.database.replace(database);
        self.open.borrow_mut().pop();
        let Queried { plan, names } = planned?;
        let names = match &view.columns[..] {
            [] => names,
            columns if columns.len() == names.columns.len() => {
                Names::of_table(None, columns.iter().map(String::as_str))
            }
            columns => {
                let found = names.columns.len();
                let message =
                    format!("the view `{name}` names {} columns, and its query has {found}", columns.len());
                return Err(SqlError::new(Code::Invalid, message));
            }
        };
        let queried = Arc::new(Queried { plan: with_names(plan, &names), names });
        self.binder.views.0.borrow_mut().insert(name.to_owned(), Arc::clone(&queried));
        Ok(queried)
    }

    /// Counts the operators of a plan that is to be copied, before it is.
    ///
    /// # Errors
    /// [`Code::Unsupported`] if the query has too many with them.
    fn check_copies(&self, plan: &Plan) -> Result<()> {
        let nodes = self.copied.get().saturating_add(plan.walk().take(PLAN_NODES_MAX + 1).count());
        self.copied.set(nodes);
        if nodes > PLAN_NODES_MAX { Err(too_large()) } else { Ok(()) }
    }
}

/// Returns a plan whose columns have the given names.
fn with_names(mut plan: Plan, names: &Names) -> Plan {
    plan.columns
        .iter_mut()
        .zip(&names.columns)
        .for_each(|(column, name)| column.name = name.name.to_string());
    plan
}

/// Refuses a plan that is too deep or has too many operators.
fn check_size(plan: &Plan) -> Result<()> {
    let mut open = vec![(plan, 1)];
    let mut nodes = 0;
    while let Some((plan, depth)) = open.pop() {
        nodes += 1;
        if depth > PLAN_DEPTH_MAX || nodes > PLAN_NODES_MAX {
            return Err(too_large());
        }
        open.extend(plan.inputs().into_iter().map(|input| (input, depth + 1)));
    }
    Ok(())
}

fn too_large() -> SqlError {
    let message = format!(
        "with its views and sub-queries put in, the query has more than {PLAN_NODES_MAX} operators, or more than \
         {PLAN_DEPTH_MAX} on top of each other"
    );
    SqlError::new(Code::Unsupported, message)
        .help("read fewer views, or each of them once, and write shorter chains")
}

#[cfg(test)]
mod tests;
