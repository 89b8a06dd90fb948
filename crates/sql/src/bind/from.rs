//! FROM: tables, views, queries of WITH, sub-queries, window functions, and joins with their conditions and their common
//! columns. [`super::unnest`] plans UNNEST.
//!
//! Source: SQL:2016, 7.6 (table reference) and 7.10 (joined table).

use std::collections::BTreeMap;
use std::collections::HashSet;
use std::sync::Arc;

use sqlparser::ast::{
    BinaryOperator, Expr, FunctionArguments, Ident, Join, JoinConstraint, JoinOperator, ObjectName,
    ObjectNamePart, TableFactor, TableVersion, TableWithJoins,
};
use thalweg_sql_exec::plan::{Column, JoinKind, Node, Plan, Role};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::functions::compare::ComparisonOp;
use thalweg_sql_tables::connect::gives_changes;
use thalweg_sql_tables::error::{Code, Place, SqlError};
use thalweg_sql_tables::table::{OptionValue, Table, TableColumnKind};

use super::Planner;
use super::expression::flatten;
use super::lateral::pulled_of_both;
use super::names::{Common, Found, Names, Starred, Visible, ambiguous, unknown_column};
use super::portable::OnlyHere;
use super::relation::{Condition, OpenJoin, Relation, Source, Version};
use super::scope::Scope;
use super::select::Around;
use super::syntax::{
    has_query, is_plain_call, not_supported, place, place_of_expression, place_of_name, refuse_any,
};
use super::unnest::{UnnestCall, is_unnest};
use crate::catalog::Entry;
use crate::text::bounds::JOINS_MAX;
use crate::text::dialect::last_name;
use crate::text::hints::{read_with_options, without_hint};

type Result<T> = std::result::Result<T, SqlError>;

/// Greatest number of columns of the tables of a FROM together.
const COLUMNS_MAX: usize = 32_000;

impl Planner<'_> {
    /// Plans a FROM clause. `at` is the place of its SELECT, and `around` the query around it, of which sub-queries in FROM may
    /// read columns; conditions of its joins may not.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault.
    pub(super) fn from(
        &self,
        from: &[TableWithJoins],
        at: Option<Place>,
        around: Option<Around<'_>>,
    ) -> Result<Relation> {
        if from.len() > JOINS_MAX {
            let message = format!("FROM has more than {JOINS_MAX} tables");
            return Err(SqlError::new(Code::Unsupported, message).at(at));
        }
        let mut so_far: Option<Relation> = None;
        for joined in from {
            so_far = Some(match so_far {
                None => self.joined(joined, at, around)?,
                Some(left) if joined.joins.is_empty() => {
                    self.with_factor(left, &joined.relation, JoinKind::Inner, None, at, around)?
                }
                // An UNNEST reads the tables before it also where joins follow it that keep its rows, and so does LATERAL.
                Some(left) if is_lateral_before_joins(joined)? => {
                    let left = self.with_factor(left, &joined.relation, JoinKind::Inner, None, at, around)?;
                    self.with_joins(left, &joined.joins, at, around)?
                }
                Some(left) => {
                    self.join(left, self.joined(joined, at, around)?, JoinKind::Inner, None, around)?
                }
            });
        }
        let relation = match so_far {
            Some(relation) => relation,
            None => Relation::of_plan(super::set::one_row()?, Names::of_one_row()),
        };
        match &relation.version {
            None => Ok(relation),
            Some(version) => {
                let message = "FOR SYSTEM_TIME AS OF stands where no table is joined";
                Err(SqlError::new(Code::Invalid, message).at(version.place))
            }
        }
    }

    fn joined(
        &self,
        joined: &TableWithJoins,
        at: Option<Place>,
        around: Option<Around<'_>>,
    ) -> Result<Relation> {
        let left = self.factor(&joined.relation, at, around)?;
        self.with_joins(left, &joined.joins, at, around)
    }

    /// Joins a relation with the tables that stand behind it.
    fn with_joins(
        &self,
        mut left: Relation,
        joins: &[Join],
        at: Option<Place>,
        around: Option<Around<'_>>,
    ) -> Result<Relation> {
        for join in joins {
            let at = place(&join.relation).or(at);
            let (kind, constraint) = kind_of(&join.join_operator).map_err(|error| error.at(at))?;
            left = self
                .with_factor(left, &join.relation, kind, Some(constraint), at, around)
                .map_err(|error| error.at(at))?;
        }
        Ok(left)
    }

    /// Joins a relation with a table that stands behind it. An UNNEST may read the columns before it.
    fn with_factor(
        &self,
        left: Relation,
        factor: &TableFactor,
        kind: JoinKind,
        constraint: Option<&JoinConstraint>,
        at: Option<Place>,
        around: Option<Around<'_>>,
    ) -> Result<Relation> {
        if let TableFactor::Derived { lateral: true, subquery, alias, sample: None } = factor {
            return self.lateral(left, subquery, alias.as_ref(), (kind, constraint), around);
        }
        match UnnestCall::of(factor)? {
            Some(call) => self.unnest(left, &call, kind, constraint),
            None => self.join(left, self.factor(factor, at, around)?, kind, constraint, around),
        }
    }

    fn factor(
        &self,
        factor: &TableFactor,
        at: Option<Place>,
        around: Option<Around<'_>>,
    ) -> Result<Relation> {
        let at = place(factor).or(at);
        if let Some(call) = UnnestCall::of(factor)? {
            return self.unnest_alone(&call);
        }
        match factor {
            TableFactor::Table { name, alias, args, version, with_ordinality, .. } => {
                check_parts(factor, at)?;
                refuse_any!(at;
                    *with_ordinality => "WITH ORDINALITY",
                    matches!(version, Some(version) if !matches!(version, TableVersion::ForSystemTimeAsOf(_)))
                        => "this kind of table version",
                );
                if let Some(arguments) = args {
                    let at = place(name).or(at);
                    if let Some(call) = self.table_call(name, &arguments.args, alias.as_ref())? {
                        return self.unnest_alone(&call);
                    }
                    let made =
                        self.window_function(name, &arguments.args, at).map_err(|error| error.at(at))?;
                    return made.renamed(alias.as_ref());
                }
                let made = self.named_table(&idents_of(name)?).map_err(|error| error.at(at))?;
                let mut made = made.renamed(alias.as_ref())?;
                if let Some(TableVersion::ForSystemTimeAsOf(as_of)) = version {
                    made.version = Some(version_of(as_of, at)?);
                }
                Ok(made)
            }
            // With no table before it, a LATERAL is an ordinary sub-query.
            TableFactor::Derived { lateral: _, subquery, alias, sample } => {
                refuse_any!(at; sample.is_some() => "TABLESAMPLE");
                self.derived(subquery, alias.as_ref(), around)
            }
            // The form `TABLE(TUMBLE(..))`.
            TableFactor::TableFunction { expr: Expr::Function(function), alias } => {
                let FunctionArguments::List(list) = &function.args else {
                    return Err(SqlError::new(Code::Syntax, "a table function has arguments").at(at));
                };
                let at = place(&function.name).or(at);
                if !is_plain_call(function) {
                    return Err(not_supported("a clause behind a table function").at(at));
                }
                if let Some(call) = self.table_call(&function.name, &list.args, alias.as_ref())? {
                    return self.unnest_alone(&call);
                }
                let made =
                    self.window_function(&function.name, &list.args, at).map_err(|error| error.at(at))?;
                made.renamed(alias.as_ref())
            }
            TableFactor::NestedJoin { table_with_joins, alias } => {
                let made = self.joined(table_with_joins, at, around)?;
                let Relation { source, names, version, pulled } = made;
                if let Some(condition) = pulled.first().filter(|_| alias.is_some()) {
                    let what =
                        "a join in brackets with a name, of a sub-query that reads the query around it";
                    return Err(not_supported(what).at(condition.at));
                }
                if alias.is_none() {
                    // Its common columns stay among its own columns.
                    let mut names = names;
                    names.leading = 0;
                    return Ok(Relation { source, names, version, pulled });
                }
                let plan = self.closed(source, Vec::new())?;
                let (plan, names) = written_out(plan, names);
                Relation { source: Source::Plan(plan), names, version, pulled }.renamed(alias.as_ref())
            }
            TableFactor::Function { name, .. } if is_unnest(name) => {
                Err(not_supported("LATERAL before UNNEST: leave it out, UNNEST reads the columns before it")
                    .at(at))
            }
            _ => Err(not_supported("this kind of table").at(at)),
        }
    }

    /// Plans the rows of a table, a view or a query of WITH.
    pub(super) fn named_table(&self, parts: &[Ident]) -> Result<Relation> {
        let (parts, options) = without_hint(parts);
        let [before @ .., name] = parts else {
            return Err(SqlError::new(Code::Syntax, "the name of a table is missing"));
        };
        let at = place_of_name(name);
        if before.is_empty()
            && let Some(queried) = self.query_of_with(&name.value)
        {
            refuse_options(&options, &name.value).map_err(|error| error.at(at))?;
            self.check_copies(&queried.plan)?;
            return Ok(queried.as_ref().clone().into_relation().of_table(&name.value));
        }
        let catalog = self.binder.catalog;
        let before: Vec<&str> = before.iter().map(|part| part.value.as_str()).collect();
        let path = {
            let current = self.database.borrow();
            let current = current.as_deref().unwrap_or(catalog.current());
            catalog.path_in(current, &before, &name.value).map_err(|error| error.at(at))?
        };
        let full = path.full_name();
        match catalog.get(&full).map_err(|error| error.at(at))? {
            Entry::Table(table) => {
                let names = table.columns.iter().map(|column| column.name.as_str());
                let names = Names::of_table(Some(&name.value), names).in_database(&path.database);
                let scan = scan_of(read_with_options(table, &options));
                let scan = if self.binder.are_changes_doubled { normalized(scan, at)? } else { scan };
                Ok(Relation::of_plan(scan, names))
            }
            Entry::View(_) => {
                refuse_options(&options, &full).map_err(|error| error.at(at))?;
                let queried = self.view(&full)?;
                self.check_copies(&queried.plan)?;
                let mut made = queried.as_ref().clone().into_relation().of_table(&name.value);
                made.names = made.names.in_database(&path.database);
                Ok(made)
            }
        }
    }

    /// Joins two relations. The columns of `right` come behind those of `left`. `constraint` is `None` for tables of a list.
    pub(super) fn join(
        &self,
        left: Relation,
        right: Relation,
        kind: JoinKind,
        constraint: Option<&JoinConstraint>,
        around: Option<Around<'_>>,
    ) -> Result<Relation> {
        left.check_left()?;
        let as_of = match &right.version {
            None => None,
            Some(version) => {
                let time = time_of(version, &left.names).map_err(|error| error.at(version.place))?;
                Some((time, version.place))
            }
        };
        let width = left.source.columns().len();
        // Conditions of a join read the columns as they are before rows are padded with NULL.
        let both: Vec<Column> = left.source.columns().iter().chain(right.source.columns()).cloned().collect();
        let (names, on) = self.joined_names([&left.names, &right.names], &both, kind, constraint, around)?;
        let ttl_ms = [self.hinted_ttl(&left.names), self.hinted_ttl(&right.names)];
        let join = OpenJoin { on, as_of, ttl_ms, ..OpenJoin::new(kind, left.source, right.source) };
        let pulled = pulled_of_both(left.pulled, right.pulled, width, kind)?;
        let joined = Relation { source: Source::Join(Box::new(join)), names, version: None, pulled };
        match constraint {
            Some(JoinConstraint::On(condition)) => self.with_queries_of_on(joined, condition, around),
            _ => Ok(joined),
        }
    }

    /// Returns the names of the columns of a join, and its conditions without those that have sub-queries. `both` are the columns of the left side, then those
    /// of the right one.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault of the constraint, and for two tables of one name.
    pub(super) fn joined_names(
        &self,
        [left, right]: [&Names; 2],
        both: &[Column],
        kind: JoinKind,
        constraint: Option<&JoinConstraint>,
        around: Option<Around<'_>>,
    ) -> Result<(Names, Vec<Condition>)> {
        if left.columns.len() + right.columns.len() > COLUMNS_MAX {
            let message = format!("the tables of a FROM have more than {COLUMNS_MAX} columns");
            return Err(SqlError::new(Code::Unsupported, message));
        }
        let mut tables: Vec<&Visible> = right.columns.iter().collect();
        tables.dedup_by(|one, other| one.has_table_of(other));
        if let Some(twice) = tables.into_iter().find_map(|column| left.table_twice(column)) {
            let error = SqlError::new(Code::Invalid, format!("two tables are called `{twice}`"));
            return Err(error.help("name one of them by AS"));
        }
        let width = left.columns.len();
        let visible = left.columns.iter().chain(&right.columns).cloned().collect();
        let mut on = Vec::new();
        let mut common = Vec::new();
        let names: Vec<(&str, Option<Place>)> = match constraint {
            Some(JoinConstraint::Using(names)) => {
                names.iter().filter_map(|name| Some((last_name(name)?.value.as_str(), place(name)))).collect()
            }
            Some(JoinConstraint::Natural) => {
                natural(left, right).into_iter().map(|name| (name, None)).collect()
            }
            _ => Vec::new(),
        };
        let padded =
            |value: Typed, is_padded: bool| Typed { is_nullable: value.is_nullable || is_padded, ..value };
        for (name, at) in &names {
            let (from_left, hidden_left) = side(name, left, 0, both).map_err(|error| error.at(*at))?;
            let (from_right, hidden_right) = side(name, right, width, both).map_err(|error| error.at(*at))?;
            let value = self.typing.compare(ComparisonOp::Eq, from_left.clone(), from_right.clone());
            on.push(Condition { value: value.map_err(|error| error.at(*at))?, at: *at });
            let value = match kind {
                JoinKind::Right => from_right,
                JoinKind::Full => {
                    let sides = vec![padded(from_left, true), padded(from_right, true)];
                    self.typing.named_function("COALESCE", sides)?
                }
                _ => from_left,
            };
            let hidden = hidden_left.into_iter().chain(hidden_right).collect();
            let is_natural = matches!(constraint, Some(JoinConstraint::Natural));
            let refused = is_natural.then_some(OnlyHere::NaturalColumn);
            common.push(Common { name: Arc::from(*name), value, hidden, refused });
        }
        // The new common columns come first. Those of both sides that they do not stand for stay at their places.
        let mut star: Vec<Starred> = (0..common.len()).map(Starred::Common).collect();
        let hidden: HashSet<usize> = common.iter().flat_map(|common| common.hidden.iter().copied()).collect();
        let mut kept = |names: &Names, first: usize, is_padded: bool| -> (Vec<Starred>, usize) {
            let is_hidden = |place: usize| hidden.contains(&(place + first));
            let mut own = Vec::with_capacity(names.star.len());
            let mut added = Vec::new();
            let mut leading = 0;
            for (number, starred) in names.star.iter().enumerate() {
                match *starred {
                    Starred::Column(place) if is_hidden(place) => {}
                    Starred::Column(place) => own.push(Starred::Column(place + first)),
                    Starred::Common(known) => {
                        let known = &names.common[known];
                        if known.hidden.first().is_some_and(|place| is_hidden(*place)) {
                            continue;
                        }
                        leading += usize::from(number < names.leading);
                        own.push(Starred::Common(common.len() + added.len()));
                        added.push(Common {
                            name: Arc::clone(&known.name),
                            value: padded(known.value.with_columns(&|place| place + first), is_padded),
                            hidden: known.hidden.iter().map(|place| place + first).collect(),
                            refused: known.refused,
                        });
                    }
                }
            }
            common.extend(added);
            (own, leading)
        };
        let (of_left, leading) = kept(left, 0, kind.keeps_right());
        let (of_right, leading_right) = kept(right, width, kind.keeps_left());
        let leading = match constraint {
            // Common columns of a later table of a list come before the earlier tables.
            None => {
                star.extend(&of_right[..leading_right]);
                star.extend(of_left);
                star.extend(&of_right[leading_right..]);
                0
            }
            Some(_) => {
                let leading = star.len() + leading;
                star.extend(of_left);
                star.extend(of_right);
                leading
            }
        };
        let names = Names::with_common(visible, common, star, leading);
        if let Some(JoinConstraint::On(condition)) = constraint {
            let outer = around.map(|around| around.outer(false));
            let scope = Scope { outer, ..Scope::new(&names, both) };
            let mut terms = Vec::new();
            flatten(condition, &BinaryOperator::And, &mut terms);
            for term in terms.into_iter().filter(|term| !has_query(term)) {
                let value = self.bind_condition(term, &scope)?;
                on.push(Condition { value, at: place_of_expression(term) });
            }
        }
        Ok((names, on))
    }
}

/// Refuses parts of a table of FROM that neither a table nor an UNNEST may have. All parts are listed, so that none is
/// ignored; those with a `_` are for the caller.
pub(super) fn check_parts(factor: &TableFactor, at: Option<Place>) -> Result<()> {
    let TableFactor::Table {
        name: _,
        alias: _,
        args: _,
        version: _,
        with_ordinality: _,
        with_hints,
        partitions,
        json_path,
        sample,
        index_hints,
    } = factor
    else {
        return Ok(());
    };
    refuse_any!(at;
        !with_hints.is_empty() => "WITH behind a table",
        !partitions.is_empty() => "PARTITION behind a table",
        json_path.is_some() => "a path behind a table",
        sample.is_some() => "TABLESAMPLE",
        !index_hints.is_empty() => "an index hint",
    );
    Ok(())
}

impl Relation {
    /// Returns the relation with its columns as those of one table.
    fn of_table(mut self, table: &str) -> Self {
        let names = Names::of_table(Some(table), self.names.columns.iter().map(|column| &*column.name));
        self.names = names;
        self
    }
}

/// Refuses options of a hint behind a view or a query of WITH.
fn refuse_options(options: &BTreeMap<String, OptionValue>, name: &str) -> Result<()> {
    if options.is_empty() {
        return Ok(());
    }
    let error = SqlError::new(Code::Invalid, format!("`{name}` is no table, and takes no OPTIONS of a hint"));
    Err(error.help("write the hint behind the tables of its query"))
}

/// Returns the value of a common column on one side of a join, over the columns of the join, and the columns for which
/// it stands. `width` is the number of columns before the side.
fn side(name: &str, names: &Names, width: usize, columns: &[Column]) -> Result<(Typed, Vec<usize>)> {
    match names.find(name) {
        Found::Column(place) => {
            let place = place + width;
            let column = &columns[place];
            Ok((Typed::column(place, column.of.clone(), column.is_nullable), vec![place]))
        }
        Found::Common(common) => {
            let value = common.value.with_columns(&|place| place + width);
            Ok((value, common.hidden.iter().map(|place| place + width).collect()))
        }
        Found::Several => Err(ambiguous(name)),
        Found::None => Err(names.unknown(&[], name)),
    }
}

/// Returns the names that columns of both sides of a NATURAL JOIN have.
fn natural<'a>(left: &'a Names, right: &Names) -> Vec<&'a str> {
    let name = |starred: &Starred| match *starred {
        Starred::Column(place) => &*left.columns[place].name,
        Starred::Common(number) => &*left.common[number].name,
    };
    left.star.iter().map(name).filter(|name| !matches!(right.find(name), Found::None)).collect()
}

/// Puts the columns of a relation into the order in which `*` has them, each under one name.
pub(super) fn written_out(plan: Plan, names: Names) -> (Plan, Names) {
    if names.common.is_empty() {
        return (plan, names);
    }
    let identity = plan.identity();
    let mut outputs: Vec<Typed> = Vec::with_capacity(names.star.len());
    let mut columns: Vec<Column> = Vec::with_capacity(names.star.len());
    for starred in &names.star {
        let value = match *starred {
            Starred::Column(place) => identity[place].clone(),
            Starred::Common(number) => names.common[number].value.clone(),
        };
        let name = match *starred {
            Starred::Column(place) => &names.columns[place].name,
            Starred::Common(number) => &names.common[number].name,
        };
        let role = value.as_column().map_or(Role::Plain, |place| plan.columns[place].role.clone());
        columns.push(Column { role, ..Column::plain(&**name, value.of.clone(), value.is_nullable) });
        outputs.push(value);
    }
    let names = Names::of_table(None, columns.iter().map(|column| column.name.as_str()));
    (plan.project(outputs, columns), names)
}

/// Returns whether an element of a list of tables is an UNNEST or a LATERAL with joins behind it, all of which keep its rows as
/// they are.
fn is_lateral_before_joins(joined: &TableWithJoins) -> Result<bool> {
    let keeps = |join: &Join| {
        kind_of(&join.join_operator).is_ok_and(|(kind, _)| matches!(kind, JoinKind::Inner | JoinKind::Left))
    };
    let is_lateral = matches!(joined.relation, TableFactor::Derived { lateral: true, .. });
    Ok((is_lateral || UnnestCall::of(&joined.relation)?.is_some()) && joined.joins.iter().all(keeps))
}

/// Returns the kind of a join and its constraint.
fn kind_of(operator: &JoinOperator) -> Result<(JoinKind, &JoinConstraint)> {
    use JoinOperator::*;
    let (kind, constraint) = match operator {
        Join(on) | Inner(on) => (JoinKind::Inner, on),
        Left(on) | LeftOuter(on) => (JoinKind::Left, on),
        Right(on) | RightOuter(on) => (JoinKind::Right, on),
        FullOuter(on) => (JoinKind::Full, on),
        CrossJoin(none @ JoinConstraint::None) => return Ok((JoinKind::Inner, none)),
        CrossJoin(_) => return Err(not_supported("a condition of CROSS JOIN")),
        Semi(_) | LeftSemi(_) | RightSemi(_) => {
            return Err(not_supported("SEMI JOIN: write WHERE EXISTS (..) or IN (..)"));
        }
        Anti(_) | LeftAnti(_) | RightAnti(_) => {
            return Err(not_supported("ANTI JOIN: write WHERE NOT EXISTS (..) or NOT IN (..)"));
        }
        _ => return Err(not_supported("this kind of join")),
    };
    if *constraint == JoinConstraint::None {
        let error = SqlError::new(Code::Syntax, "a join has no condition");
        return Err(error.help("write ON .. = .. behind it, or CROSS JOIN"));
    }
    Ok((kind, constraint))
}

/// Returns the parts of a name.
///
/// # Errors
/// [`Code::Unsupported`] for a call among them.
pub(super) fn idents_of(ObjectName(parts): &ObjectName) -> Result<Vec<Ident>> {
    let ident = |part: &ObjectNamePart| match part {
        ObjectNamePart::Identifier(ident) => Ok(ident.clone()),
        ObjectNamePart::Function(_) => Err(not_supported("a function as the name of a table")),
    };
    parts.iter().map(ident).collect()
}

fn version_of(as_of: &Expr, at: Option<Place>) -> Result<Version> {
    let place = place_of_expression(as_of).or(at);
    let as_of = match as_of {
        Expr::Identifier(ident) => vec![ident.clone()],
        Expr::CompoundIdentifier(idents) => idents.clone(),
        _ => {
            let error = SqlError::new(Code::Unsupported, "AS OF takes a time column of the other table");
            return Err(error.at(place).help("write FOR SYSTEM_TIME AS OF o.ts"));
        }
    };
    Ok(Version { as_of, place })
}

/// Returns the index of the time column of the left side that FOR SYSTEM_TIME AS OF names.
fn time_of(version: &Version, left: &Names) -> Result<usize> {
    let (name, found) = match &version.as_of[..] {
        [before @ .., table, name] => (name, left.find_in(before, &table.value, &name.value)),
        [name] => (name, left.find(&name.value)),
        [] => return Err(SqlError::new(Code::Invalid, "AS OF takes a time column of the other table")),
    };
    let place = match found {
        Found::Column(place) => Some(place),
        Found::Common(common) => common.value.as_column(),
        Found::Several => return Err(ambiguous(&name.value)),
        Found::None => None,
    };
    place.ok_or_else(|| unknown_column(&name.value, left.columns.iter().map(|column| &*column.name)))
}

/// Keeps the last row of each primary key of a table whose changes may come twice. A table whose rows are only added
/// stays as it is.
///
/// # Errors
/// [`Code::Invalid`] for a table without a primary key.
fn normalized(scan: Plan, at: Option<Place>) -> Result<Plan> {
    let Node::Scan { table, places } = &scan.node else { return Ok(scan) };
    if !gives_changes(table) {
        return Ok(scan);
    }
    if table.primary_key.is_empty() {
        let message = format!(
            "'table.exec.source.cdc-events-duplicate' needs a primary key, and the table `{}` has none",
            table.name
        );
        return Err(SqlError::new(Code::Invalid, message)
            .at(at)
            .help("declare PRIMARY KEY (..) NOT ENFORCED in it, or unset the key"));
    }
    let keys = table.primary_key.iter().filter_map(|key| places.iter().position(|place| place == key));
    let (keys, columns) = (keys.collect(), scan.columns.clone());
    Ok(Plan::new(columns, Node::Normalize { input: Box::new(scan), keys, ttl_ms: None }))
}

fn scan_of(table: Arc<Table>) -> Plan {
    let column = |(place, column): (usize, &thalweg_sql_tables::table::TableColumn)| {
        let is_rowtime = table.rowtime.as_ref().is_some_and(|rowtime| rowtime.column == place);
        let role = match column.kind {
            TableColumnKind::Proctime => Role::Proctime,
            _ if is_rowtime => Role::Rowtime,
            _ => Role::Plain,
        };
        // A row whose event time is NULL fails the query, so the column is never NULL.
        let is_nullable = column.is_nullable && !is_rowtime;
        Column { name: column.name.clone(), of: column.of.clone(), is_nullable, role }
    };
    let columns: Vec<Column> = table.columns.iter().enumerate().map(column).collect();
    let places = (0..columns.len()).collect();
    Plan::new(columns, Node::Scan { table, places })
}
