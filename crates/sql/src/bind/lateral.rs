//! Sub-queries of FROM that read other rows: those of the query around, and with LATERAL those of the tables before it.
//!
//! The conditions in which such a sub-query reads columns before it are pulled up out of it, as from other sub-queries
//! ([`super::subquery`]). The conditions of
//! LATERAL become conditions of its join; those that read the query around the FROM become conditions of its SELECT. They
//! read columns behind the results of the sub-query, which no name stands for.
//!
//! Source: SQL:2016, 7.6 (lateral derived table).

use sqlparser::ast::{JoinConstraint, Query, TableAlias};
use thalweg_sql_exec::plan::JoinKind;
use thalweg_sql_tables::error::SqlError;

use super::Planner;
use super::domain::Rows;
use super::relation::{Condition, Relation, Source};
use super::scope::{Base, Scope};
use super::select::{Around, Demands, Selected};
use super::subquery::Asked;
use super::syntax::not_supported;

type Result<T> = std::result::Result<T, SqlError>;

impl Planner<'_> {
    /// Plans a sub-query of FROM, which may read the query around the FROM.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault.
    pub(super) fn derived(
        &self,
        query: &Query,
        alias: Option<&TableAlias>,
        around: Option<Around<'_>>,
    ) -> Result<Relation> {
        let around = around.map(|around| Around { asked: Asked::Rows, demands: Demands::Nothing, ..around });
        let Selected { queried, pulled, .. } = self.rows_of(query, around)?;
        let unnamed = queried.plan.columns.len() - queried.names.columns.len();
        let mut relation = queried.into_relation().renamed(alias)?;
        relation.names = relation.names.with_unnamed(unnamed);
        Ok(Relation { pulled, ..relation })
    }

    /// Joins a relation with a sub-query that may read its columns. `constraint` is `None` for tables of a list.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault, and for a join that pads the rows before it.
    pub(super) fn lateral(
        &self,
        left: Relation,
        query: &Query,
        alias: Option<&TableAlias>,
        (kind, constraint): (JoinKind, Option<&JoinConstraint>),
        around: Option<Around<'_>>,
    ) -> Result<Relation> {
        let mut right = {
            let scope = Scope {
                outer: around.map(|around| around.outer(false)),
                rows: Some(Rows::Open(&left.source)),
                ..Scope::new(&left.names, left.source.columns())
            };
            let inside =
                Around { scope: &scope, asked: Asked::Rows, is_readable: true, demands: Demands::Nothing };
            self.derived(query, alias, Some(inside))?
        };
        let width = left.source.columns().len();
        let pulled = std::mem::take(&mut right.pulled);
        if let (JoinKind::Right | JoinKind::Full, Some(condition)) = (kind, pulled.first()) {
            let what = "RIGHT or FULL JOIN with a LATERAL that reads the tables before it";
            return Err(not_supported(what).at(condition.at));
        }
        let mut joined = self.join(left, right, kind, constraint, around)?;
        if let (Source::Plan(_), Some(condition)) = (&joined.source, pulled.first()) {
            return Err(not_supported("a sub-query in the condition of a LATERAL").at(condition.at));
        }
        if let Source::Join(join) = &mut joined.source {
            let moved = |Condition { value, at }: Condition| {
                let value = value.with_columns(&|place| Base::Outer.of(place).unwrap_or(width + place));
                Condition { value, at }
            };
            join.on.extend(pulled.into_iter().map(moved));
        }
        Ok(joined)
    }
}

/// Returns the conditions of both sides of a join that read the query around, over the columns of the join. `width` is the
/// number of columns of the left side.
///
/// # Errors
/// [`super::Code::Unsupported`] for conditions of a side whose rows may be padded with NULL.
pub(super) fn pulled_of_both(
    left: Vec<Condition>,
    right: Vec<Condition>,
    width: usize,
    kind: JoinKind,
) -> Result<Vec<Condition>> {
    let padded = left.iter().filter(|_| kind.keeps_right()).chain(right.iter().filter(|_| kind.keeps_left()));
    if let Some(condition) = padded.into_iter().next() {
        let what =
            "an outer join with a sub-query that reads the query around it, on the side that may be NULL";
        return Err(not_supported(what).at(condition.at));
    }
    let moved = |Condition { value, at }: Condition| {
        let value = value.with_columns(&|place| match Base::Outer.of(place) {
            Some(_) => place,
            None => width + place,
        });
        Condition { value, at }
    };
    Ok(left.into_iter().chain(right.into_iter().map(moved)).collect())
}
