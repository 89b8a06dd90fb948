//! Aggregate functions of SQL: each with its name, how it is bound to the types of its arguments, and the accumulators
//! that compute it for many groups at once.
//!
//! A function is *bound* once, when a query is planned ([`aggregate`], [`AggregateFunction::bind`]). What it is bound to
//! makes [`Accumulator`]s, one for each place where groups are kept: it holds a slot for each group number (see
//! [`KeyIndex`](crate::keys::KeyIndex)), and takes in whole columns beside the group number of each row.
//!
//! Results are those of Flink in streaming mode; where they differ it is said at the file of the function. What all of them
//! promise:
//!
//! * A1. Rows that are NULL in an argument make no difference, but for COUNT(*), ARRAY_AGG, SINGLE_VALUE and arrays of JSON
//!   that are told so, and neither do rows that FILTER leaves out, whatever stands in them.
//! * A2. Taking in rows one by one, in batches, or in several accumulators that are merged, gives the same; of functions for
//!   which the order of rows matters ([`AggregateFunction::is_ordered`]), if what is merged came later. Of sums of floats
//!   and of variances the last bits may differ, and MIN and MAX of floats if there are NaNs or zeros of both signs.
//! * A3. What is retracted leaves no trace, but for what floats lose. What is retracted before it came is remembered until
//!   it comes; by functions for which the order matters, until it comes with a merge, as in Flink.
//! * A4. Nothing panics, whatever the values. Asking for what was not promised does: a group beyond those that
//!   [`resize`](Accumulator::resize) made, or retraction where there is none.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::compute::concat;
use thalweg_model::{StateError, StateReader, StateWriter};

use crate::functions::{Argument, BindError, Context, EvaluationError};
use crate::types::SqlType;

mod approximate;
mod arrivals;
mod average;
mod catalogue;
mod count;
mod distinct;
mod extreme;
mod fold;
mod json;
mod kept;
mod lists;
mod percentile;
mod selection;
mod sum;
mod tally;
#[cfg(test)]
mod tests;
mod values;
mod variance;

pub use catalogue::{aggregate, aggregates};

/// One aggregate function: all of its overloads.
pub struct AggregateFunction {
    /// As it is written in SQL, in upper case. What begins with `$` is for planners only.
    pub name: &'static str,
    /// How it is called, for messages: `LISTAGG(text [, separator])`.
    pub usage: &'static str,
    /// Whether its result depends on the order in which rows come.
    pub is_ordered: bool,
    /// Whether it can take back rows, as changelogs do.
    pub can_retract: bool,
    /// Binds it to arguments.
    pub bind: fn(&[Argument], &Context) -> Result<BoundAggregate, BindError>,
}

/// Makes accumulators of one call.
pub type Create = Arc<dyn Fn() -> Box<dyn Accumulator> + Send + Sync>;

/// An aggregate function that knows the types of its arguments.
#[derive(Clone)]
pub struct BoundAggregate {
    /// The types that the arguments are to be cast to before an accumulator sees them, one for each.
    pub arguments: Vec<SqlType>,
    /// The type of the result.
    pub result: SqlType,
    /// Whether the result may be NULL. It says so of all that are NULL for a group without rows, which there is without
    /// GROUP BY and with FILTER, and of sums of decimals, which may be too large.
    pub is_nullable: bool,
    /// Makes accumulators that only ever take in.
    pub create: Create,
    /// Makes accumulators that can also take back, at a higher price for some functions; none if the function cannot.
    pub create_retractable: Option<Create>,
    /// How many arguments, from the first on, DISTINCT looks at; 0 if repeated values make no difference in any case.
    pub distinct_over: usize,
}

impl BoundAggregate {
    /// The same over distinct values only: of rows of a group that are alike in the arguments, the first one counts.
    /// The seed keeps values from being chosen to collide.
    ///
    /// As in Flink, all NaNs are one value, and -0.0 and 0.0 are two.
    #[must_use]
    pub fn distinct(&self, hash_seed: u64) -> BoundAggregate {
        if self.distinct_over == 0 {
            return self.clone();
        }
        let over: Arc<[SqlType]> = self.arguments[..self.distinct_over].into();
        let wrap = |create: &Create| -> Create {
            let (create, over) = (create.clone(), over.clone());
            Arc::new(move || Box::new(distinct::Distinct::new(create(), &over, hash_seed)))
        };
        BoundAggregate {
            create: wrap(&self.create),
            create_retractable: self.create_retractable.as_ref().map(wrap),
            ..self.clone()
        }
    }
}

/// The accumulators of all groups of one call.
///
/// Columns of arguments have the types that the call was bound to, and a value for each of `groups`.
pub trait Accumulator: Send {
    /// Makes room for groups `0..groups`; new ones are empty. It never takes groups away.
    fn resize(&mut self, groups: usize);

    /// Takes in a row for each of `groups`, the number of its group; with FILTER, only rows whose `keep` is true.
    fn update(&mut self, groups: &[u32], arguments: &[ArrayRef], keep: Option<&BooleanArray>);

    /// Takes back such rows.
    ///
    /// # Panics
    /// Unless it [can](Self::can_retract).
    fn retract(&mut self, groups: &[u32], arguments: &[ArrayRef], keep: Option<&BooleanArray>);

    /// Whether it can take back.
    fn can_retract(&self) -> bool;

    /// Takes in all that another one of the same call has taken in: its group `i` becomes part of group `into[i]` here. What
    /// it has counts as having come later.
    ///
    /// # Errors
    /// [`EvaluationError`] if values are too large to be handed over.
    ///
    /// # Panics
    /// If the other one is of another call.
    fn merge(&mut self, other: &dyn Accumulator, into: &[u32]) -> Result<(), EvaluationError>;

    /// The results of groups `range`, which stay as they are.
    ///
    /// # Errors
    /// [`EvaluationError`] if a group has no result: SINGLE_VALUE of several rows, or more than 2 GiB of text.
    fn results(&self, range: Range<usize>) -> Result<ArrayRef, EvaluationError>;

    /// Bytes of the results of groups `range`, where they grow with the number of values that were taken in; 0 of others.
    fn result_bytes(&self, range: Range<usize>) -> usize {
        let _ = range;
        0
    }

    /// The results of such groups, in that order; a group may be named more than once.
    ///
    /// # Errors
    /// As for [`results`](Self::results).
    fn results_of(&self, groups: &[u32]) -> Result<ArrayRef, EvaluationError> {
        let runs = groups.chunk_by(|group, next| group.checked_add(1) == Some(*next));
        let results = runs.map(|run| {
            let first = run[0] as usize;
            self.results(first..first + run.len())
        });
        let results: Vec<ArrayRef> = results.collect::<Result<_, _>>()?;
        match &results[..] {
            [] => self.results(0..0),
            [one] => Ok(one.clone()),
            several => {
                let several: Vec<&dyn Array> = several.iter().map(|column| &**column).collect();
                concat(&several).map_err(crate::expression::arrow_error)
            }
        }
    }

    /// Forgets what such groups have taken in: they are empty afterwards, and may serve others. What this costs may grow
    /// with all that is held, so that it is better to forget many at once.
    fn reset(&mut self, groups: &[u32]);

    /// Forgets all groups.
    fn clear(&mut self);

    /// Bytes held beyond itself.
    fn bytes(&self) -> usize;

    /// Bytes that taking in so many rows may take at once beside what is held, because a table is copied into a larger one.
    fn growth_bytes(&self, rows: usize) -> usize {
        let _ = rows;
        0
    }

    /// Writes down all groups.
    ///
    /// # Errors
    /// [`StateError`] if a value cannot be written.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError>;

    /// Replaces all groups by those that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not such state.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError>;

    /// For [`merge`](Self::merge), which looks into the other one.
    fn as_any(&self) -> &dyn Any;
}

/// The other one of a merge, which is of the same kind.
fn same_kind<A: 'static>(other: &dyn Accumulator) -> &A {
    other.as_any().downcast_ref().expect("accumulators that are merged are of one call")
}
