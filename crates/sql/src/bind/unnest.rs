//! UNNEST and user table functions in FROM: the elements of an array, the entries of a map or the rows of a function as
//! rows, beside the columns before it.
//!
//! | it stands | a row without elements |
//! |---|---|
//! | alone, behind a comma, in CROSS JOIN or in INNER JOIN | does not come out |
//! | in LEFT JOIN ON TRUE | comes out once, padded with NULL |
//!
//! Conditions of WHERE that read the columns before an UNNEST alone are applied before it, so that they find their join.
//! An UNNEST that reads no columns is a table like any other, so it may stand in every join with every condition.
//!
//! The columns are called as in Flink: fields of rows by their names, `KEY` and `VALUE` for entries of maps, `EXPR$0` for
//! any other element, and `ORDINALITY`. A single column is called as the alias without a list of names. A table function
//! names its columns.
//!
//! Sources: Flink's documentation, "Joins", sections "Array, Multiset and Map Expansion" and "Table Function"; `LogicalUnnestRule`; Calcite,
//! `SqlUnnestOperator.inferReturnType` and `AliasNamespace` for names.

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, JoinConstraint, ObjectName, ObjectNamePart,
    TableAlias, TableFactor,
};
use thalweg_sql_exec::plan::{Column, JoinKind, Node, Plan, UnnestKind};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::suggestion::nearest;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::user::RowColumn;
use thalweg_sql_functions::values::ScalarValue;
use thalweg_sql_tables::error::{Code, Place, SqlError};

use super::Planner;
use super::from::check_parts;
use super::join::kept;
use super::multiset::with_elements;
use super::names::Names;
use super::portable::OnlyHere;
use super::relation::{Condition, OpenUnnest, Relation, Source};
use super::scope::Scope;
use super::set::one_row;
use super::syntax::{has_query, is_plain_call, not_supported, place, place_of_expression, refuse_any};
use crate::text::dialect::single_name;

type Result<T> = std::result::Result<T, SqlError>;

/// An UNNEST or a call of a user table function as it stands in FROM.
pub(super) struct UnnestCall<'a> {
    of: Unnested<'a>,
    has_ordinality: bool,
    alias: Option<&'a TableAlias>,
    at: Option<Place>,
}

/// Part of a call that tells its rows.
enum Unnested<'a> {
    /// The array or map of an UNNEST.
    Elements(&'a Expr),
    /// The name of a user function, and its arguments.
    Function(&'a Ident, Vec<&'a Expr>),
}

impl Unnested<'_> {
    /// Returns how messages call a call of this kind.
    fn word(&self) -> &'static str {
        match self {
            Unnested::Elements(_) => "UNNEST",
            Unnested::Function(..) => "LATERAL TABLE",
        }
    }
}

/// Returns whether a name is that of UNNEST. A name in backticks is that of a function.
pub(super) fn is_unnest(name: &ObjectName) -> bool {
    match &name.0[..] {
        [ObjectNamePart::Identifier(name)] => {
            name.quote_style.is_none() && name.value.eq_ignore_ascii_case("UNNEST")
        }
        _ => false,
    }
}

impl<'a> UnnestCall<'a> {
    /// Reads a table of FROM as an UNNEST, or as a table function behind LATERAL; `None` for other tables.
    ///
    /// # Errors
    /// [`SqlError`] for anything but one argument of UNNEST, and for parts that these tables do not have.
    pub(super) fn of(factor: &'a TableFactor) -> Result<Option<Self>> {
        if let TableFactor::Function { lateral: _, name, args, with_ordinality, alias } = factor
            && !is_unnest(name)
        {
            refuse_any!(place(name); *with_ordinality => "WITH ORDINALITY behind a table function");
            return Self::lateral(name, args, alias.as_ref()).map(Some);
        }
        let TableFactor::Table { name, alias, args: Some(arguments), version, with_ordinality, .. } = factor
        else {
            return Ok(None);
        };
        if !is_unnest(name) {
            return Ok(None);
        }
        let at = place(name);
        check_parts(factor, at)?;
        refuse_any!(at;
            version.is_some() => "a table version behind UNNEST",
            arguments.settings.is_some() => "SETTINGS",
            arguments.args.len() > 1
                => "UNNEST of several arrays: unnest each WITH ORDINALITY, and compare their positions",
        );
        let [FunctionArg::Unnamed(FunctionArgExpr::Expr(value))] = &arguments.args[..] else {
            let error = SqlError::new(Code::Syntax, "UNNEST takes an ARRAY or a MAP");
            return Err(error.at(at).help("write UNNEST(t.a) AS u (x)"));
        };
        let of = Unnested::Elements(value);
        Ok(Some(UnnestCall { of, has_ordinality: *with_ordinality, alias: alias.as_ref(), at }))
    }

    /// Reads what follows LATERAL: `TABLE(f(x))`, or `f(x)`.
    fn lateral(name: &'a ObjectName, args: &'a [FunctionArg], alias: Option<&'a TableAlias>) -> Result<Self> {
        let at = place(name);
        let is_table = single_name(name)
            .is_some_and(|name| name.quote_style.is_none() && name.value.eq_ignore_ascii_case("TABLE"));
        if !is_table {
            return Self::function(name, args, alias);
        }
        if let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(function)))] = args
            && is_plain_call(function)
            && let FunctionArguments::List(list) = &function.args
        {
            return Self::function(&function.name, &list.args, alias);
        }
        let error = SqlError::new(Code::Syntax, "LATERAL TABLE takes a call of a table function");
        Err(error.at(at).help("write LATERAL TABLE(f(t.a)) AS x (c)"))
    }

    /// Returns the call of a table function.
    ///
    /// # Errors
    /// [`SqlError`] for arguments with names, and for a function of another catalog.
    pub(super) fn function(
        name: &'a ObjectName,
        args: &'a [FunctionArg],
        alias: Option<&'a TableAlias>,
    ) -> Result<Self> {
        let at = place(name);
        let Some(ident) = single_name(name) else {
            return Err(not_supported("a function of another catalog").at(at));
        };
        let argument = |argument: &'a FunctionArg| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Ok(value),
            _ => Err(not_supported("an argument of a table function that is no plain value").at(at)),
        };
        let arguments = args.iter().map(argument).collect::<Result<_>>()?;
        Ok(UnnestCall { of: Unnested::Function(ident, arguments), has_ordinality: false, alias, at })
    }

    /// Returns whether the alias names the only column of the elements, too.
    fn names_column(&self, columns: &[Column]) -> Option<&'a str> {
        if matches!(self.of, Unnested::Function(..)) {
            return None;
        }
        let alias = self.alias.filter(|alias| alias.columns.is_empty() && columns.len() == 1)?;
        Some(&alias.name.value)
    }
}

impl Planner<'_> {
    /// Plans an UNNEST that stands first, before which there are no columns.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault.
    pub(super) fn unnest_alone(&self, call: &UnnestCall<'_>) -> Result<Relation> {
        let one = Relation::of_plan(one_row()?, Names::of_one_row());
        let unnested = self.unnest(one, call, JoinKind::Inner, None);
        unnested.map_err(|error| match error.code {
            Code::UnknownTable | Code::UnknownColumn => error.help(match call.of {
                Unnested::Elements(_) => {
                    "UNNEST reads the columns before it in its own join: write t CROSS JOIN UNNEST(t.a) AS u (x)"
                }
                Unnested::Function(..) => {
                    "a table function reads the columns before it behind LATERAL, in its own join: write t CROSS JOIN \
                     LATERAL TABLE(f(t.a)) AS x (c)"
                }
            }),
            _ => error,
        })
    }

    /// Plans an UNNEST behind a relation, whose columns it may read. `constraint` is `None` for tables of a list.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault; [`Code::Unsupported`] for a join that needs the elements of all rows at once.
    pub(super) fn unnest(
        &self,
        left: Relation,
        call: &UnnestCall<'_>,
        kind: JoinKind,
        constraint: Option<&JoinConstraint>,
    ) -> Result<Relation> {
        left.check_left()?;
        if let Some(JoinConstraint::On(condition)) = constraint
            && has_query(condition)
        {
            return Err(
                not_supported("a sub-query in the condition of an UNNEST").at(place_of_expression(condition))
            );
        }
        let scope = Scope::new(&left.names, left.source.columns());
        let (value, mut made) = self.unnested(call, &scope, &left.source)?;
        if let Some(name) = call.names_column(&made) {
            made.iter_mut().for_each(|column| name.clone_into(&mut column.name));
        }
        let names = Names::of_table(None, made.iter().map(|column| column.name.as_str()));
        let right = names.renamed(call.alias)?;
        for (column, visible) in made.iter_mut().zip(&right.columns) {
            column.name = visible.name.to_string();
        }
        let mut columns = left.source.columns().to_vec();
        columns.extend(made);
        let (mut names, on) = self.joined_names([&left.names, &right], &columns, kind, constraint, None)?;
        if reads_columns(&value) {
            names.common.iter_mut().for_each(|common| common.refused = Some(OnlyHere::CommonBesideUnnest));
            if kind == JoinKind::Inner && on.iter().any(|condition| !is_true(&condition.value)) {
                self.binder.notes.add(OnlyHere::UnnestCondition, call.at);
            }
        }
        let unnest_kind = match kind {
            JoinKind::Inner => UnnestKind::Inner,
            JoinKind::Left if on.iter().all(|condition| is_true(&condition.value)) => UnnestKind::Left,
            _ if !reads_columns(&value) => {
                return self.join(left, self.unnest_alone(call)?, kind, constraint, None);
            }
            JoinKind::Left => {
                let at = on.iter().find_map(|condition| condition.at).or(call.at);
                let word = call.of.word();
                let error = not_supported(&format!("a condition of LEFT JOIN {word} other than TRUE")).at(at);
                return Err(
                    error.help("write ON TRUE, and the condition in WHERE if other rows need not come out")
                );
            }
            _ => {
                let word = call.of.word();
                let message = format!("RIGHT or FULL JOIN with {word} of columns before it");
                let help = format!("write CROSS JOIN {word}(..), or LEFT JOIN {word}(..) ON TRUE");
                return Err(not_supported(&message).at(call.at).help(help));
            }
        };
        let (width, pulled) = (left.source.columns().len(), left.pulled);
        if unnest_kind == UnnestKind::Left {
            columns[width..].iter_mut().for_each(|column| column.is_nullable = true);
        }
        let open = OpenUnnest {
            input: left.source,
            value,
            kind: unnest_kind,
            has_ordinality: call.has_ordinality,
            on: on.into_iter().filter(|condition| !is_true(&condition.value)).collect(),
            columns,
            at: call.at,
        };
        Ok(Relation { source: Source::Unnest(Box::new(open)), names, version: None, pulled })
    }

    /// Returns the array or map whose elements are the rows of a call, and the columns of the rows. `source` has the columns
    /// before the call.
    fn unnested(
        &self,
        call: &UnnestCall<'_>,
        scope: &Scope<'_>,
        source: &Source,
    ) -> Result<(Typed, Vec<Column>)> {
        match &call.of {
            Unnested::Elements(value) => {
                let at = place_of_expression(value).or(call.at);
                let value = with_elements(self.bind(value, scope)?, source);
                let columns = columns_of(&value.of, call.has_ordinality);
                let columns = columns.ok_or_else(|| no_collection(&value).at(at))?;
                Ok((value, columns))
            }
            Unnested::Function(name, arguments) => {
                let functions = self.binder.catalog.functions();
                let upper = name.value.to_uppercase();
                let Some(function) = functions.get(&upper) else {
                    let message = format!("there is no table function {upper}");
                    let error = SqlError::new(Code::UnknownFunction, message).at(call.at);
                    return Err(match nearest(&upper, functions.names()) {
                        Some(near) => error.help(format!("did you mean {near}?")),
                        None => error.help("SHOW USER FUNCTIONS lists the functions that are registered"),
                    });
                };
                let arguments = arguments.iter().map(|argument| self.bind(argument, scope));
                let arguments = arguments.collect::<Result<Vec<_>>>()?;
                let called = self.typing.table_function(function, arguments);
                let (value, columns) = called.map_err(|error| error.at(call.at))?;
                let column = |column: RowColumn| Column::plain(column.name, column.of, column.is_nullable);
                Ok((value, columns.into_iter().map(column).collect()))
            }
        }
    }

    /// Reads a table of FROM that has arguments as the call of a user function; `None` if no user function has the name.
    ///
    /// # Errors
    /// As [`UnnestCall::function`].
    pub(super) fn table_call<'a>(
        &self,
        name: &'a ObjectName,
        args: &'a [FunctionArg],
        alias: Option<&'a TableAlias>,
    ) -> Result<Option<UnnestCall<'a>>> {
        let is_known = single_name(name)
            .is_some_and(|name| self.binder.catalog.functions().get(&name.value.to_uppercase()).is_some());
        is_known.then(|| UnnestCall::function(name, args, alias)).transpose()
    }

    /// Plans the rows of an UNNEST for which conditions hold. Those on the columns before it are applied before it.
    ///
    /// # Errors
    /// [`SqlError`] for a fault of the joins below.
    pub(super) fn closed_unnest(&self, unnest: OpenUnnest, conditions: Vec<Condition>) -> Result<Plan> {
        let OpenUnnest { input, value, kind, has_ordinality, on, columns, at } = unnest;
        let width = input.columns().len();
        // A condition such as RAND() > 0.5 holds for each element anew, and one without columns is as good behind.
        let is_of_input = |condition: &Condition| {
            let mut is_below = true;
            condition.value.columns(&mut |place| is_below &= place < width);
            is_below && condition.value.is_deterministic() && reads_columns(&condition.value)
        };
        let (before, behind): (Vec<_>, Vec<_>) = on.into_iter().chain(conditions).partition(is_of_input);
        let input = self.closed(input, before)?;
        let parts = columns.len() - width - usize::from(has_ordinality);
        let made = columns.into_iter().skip(width);
        let columns = input.columns.iter().cloned().chain(made).collect();
        let node = Node::Unnest {
            input: Box::new(input),
            value,
            kind,
            kept: (0..width).collect(),
            parts: (0..parts).collect(),
            has_ordinality,
        };
        Ok(kept(Plan::new(columns, node).at(at), behind))
    }
}

/// Returns the columns that an element of a collection makes, with the names that Flink gives them; `None` for a value of
/// another type. Any element and any field may be NULL, since types do not tell which are not.
fn columns_of(of: &SqlType, has_ordinality: bool) -> Option<Vec<Column>> {
    let column = |name: &str, of: &SqlType| Column::plain(name, of.clone(), true);
    let mut columns = match of {
        SqlType::Array(element) => match &**element {
            SqlType::Row(fields) => fields.iter().map(|(name, of)| column(name, of)).collect(),
            element => vec![column("EXPR$0", element)],
        },
        SqlType::Map(key, value) => vec![column("KEY", key), column("VALUE", value)],
        _ => return None,
    };
    if has_ordinality {
        columns.push(Column::plain("ORDINALITY", SqlType::Int, false));
    }
    Some(columns)
}

fn no_collection(value: &Typed) -> SqlError {
    let message = format!("UNNEST takes an ARRAY or a MAP, and this is {}", value.of);
    let error = SqlError::new(Code::TypeMismatch, message);
    match value.of {
        SqlType::Row(_) => error.help("write the fields of a row by their names: t.r.f"),
        _ => error,
    }
}

fn is_true(value: &Typed) -> bool {
    matches!(value.as_literal(), Some(ScalarValue::Boolean(Some(true))))
}

fn reads_columns(value: &Typed) -> bool {
    let mut reads = false;
    value.columns(&mut |_| reads = true);
    reads
}

#[cfg(test)]
mod tests;
