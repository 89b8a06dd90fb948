//! Sub-queries in the conditions of joins: `a JOIN b ON a.k = b.k AND b.v > (SELECT ..)`.
//!
//! In an inner join they are conditions on the rows of the join. In an outer join the rows of a sub-query are joined to the side
//! whose columns it reads, before the join; a sub-query that reads both sides is refused there.

use sqlparser::ast::{BinaryOperator, Expr};
use thalweg_sql_exec::plan::JoinKind;
use thalweg_sql_tables::error::SqlError;

use super::Planner;
use super::attached::Attached;
use super::domain::Rows;
use super::expression::flatten;
use super::relation::{Condition, OpenJoin, Relation, Source};
use super::scope::{Base, Scope};
use super::select::{Around, Conditions};
use super::syntax::{has_query, not_supported, place_of_expression};

type Result<T> = std::result::Result<T, SqlError>;

impl Planner<'_> {
    /// Adds the conditions with sub-queries of an ON to a join that has its other conditions already.
    ///
    /// # Errors
    /// [`SqlError`] for the first fault, and for a sub-query that reads both sides of an outer join.
    pub(super) fn with_queries_of_on(
        &self,
        joined: Relation,
        condition: &Expr,
        around: Option<Around<'_>>,
    ) -> Result<Relation> {
        let mut terms = Vec::new();
        flatten(condition, &BinaryOperator::And, &mut terms);
        terms.retain(|term| has_query(term));
        if terms.is_empty() {
            return Ok(joined);
        }
        let Relation { source: Source::Join(join), names, version, pulled } = joined else {
            return Err(
                not_supported("a sub-query in the condition of this join").at(place_of_expression(condition))
            );
        };
        let both = OpenJoin::new(JoinKind::Inner, join.left.clone(), join.right.clone());
        let source = Source::Join(Box::new(both));
        let columns = source.columns().to_vec();
        let attached = Attached::default();
        let scope = Scope {
            outer: around.map(|around| around.outer(false)),
            attached: Some(&attached),
            rows: Some(Rows::Open(&source)),
            ..Scope::new(&names, &columns)
        };
        let source = match join.kind {
            JoinKind::Inner => {
                let conditions = self.conditions_of(&terms, &scope)?;
                self.filtered_join(*join, attached, conditions)?
            }
            _ => {
                let mut values = Vec::with_capacity(terms.len());
                for term in terms {
                    let value = self.bind_condition(term, &scope)?;
                    values.push(Condition { value, at: place_of_expression(term) });
                }
                self.outer_join(*join, attached, values)?
            }
        };
        Ok(Relation { source, names, version, pulled })
    }

    /// Plans the rows of an inner join for which conditions with sub-queries hold.
    fn filtered_join(&self, join: OpenJoin, attached: Attached, conditions: Conditions) -> Result<Source> {
        let Conditions { kept, pulled: _, tests } = conditions;
        let width = join.columns.len();
        let (source, places) = attached.join(Source::Join(Box::new(join)), &|place| place);
        let real = |place: usize| Base::Attached.of(place).map_or(place, |number| places[number]);
        let source = tests.into_iter().fold(source, |source, test| test.join(source, &real));
        let moved = |Condition { value, at }: Condition| Condition { value: value.with_columns(&real), at };
        let plan = self.closed(source, kept.into_iter().map(moved).collect())?;
        let (outputs, columns) = (plan.identity()[..width].to_vec(), plan.columns[..width].to_vec());
        Ok(Source::Plan(plan.project(outputs, columns)))
    }

    /// Plans an outer join with further conditions, whose sub-queries are joined to one of its sides before.
    fn outer_join(&self, join: OpenJoin, attached: Attached, values: Vec<Condition>) -> Result<Source> {
        let OpenJoin { kind, left, right, on, membership, as_of, ttl_ms, columns } = join;
        let (width, at) = (left.columns().len(), values.iter().find_map(|condition| condition.at));
        let (left, right, places, added) =
            match (attached.reads(|place| place < width), attached.reads(|place| place >= width)) {
                (false, _) => {
                    let (right, places) = attached.join(right, &|place| place - width);
                    (left, right, places.into_iter().map(|place| width + place).collect::<Vec<_>>(), 0)
                }
                (true, false) => {
                    let (left, places) = attached.join(left, &|place| place);
                    let added = left.columns().len() - width;
                    (left, right, places, added)
                }
                (true, true) => {
                    let what = "a sub-query in ON of an outer join that reads both sides";
                    return Err(not_supported(what).at(at));
                }
            };
        // Columns of the right side are moved if the left one has more.
        let real = |place: usize| match Base::Attached.of(place) {
            Some(number) => places[number],
            None if place < width => place,
            None => place + added,
        };
        let moved = |Condition { value, at }: Condition| Condition { value: value.with_columns(&real), at };
        let open = OpenJoin::new(kind, left, right);
        let on = on.into_iter().chain(values).map(moved).collect();
        let membership = membership.map(moved);
        let join = OpenJoin { on, membership, as_of, ttl_ms, ..open };
        let plan = self.closed(Source::Join(Box::new(join)), Vec::new())?;
        let identity = plan.identity();
        let order: Vec<usize> = (0..columns.len()).map(real).collect();
        let outputs = order.iter().map(|place| identity[*place].clone()).collect();
        let columns = order.iter().map(|place| plan.columns[*place].clone()).collect();
        Ok(Source::Plan(plan.project(outputs, columns)))
    }
}
