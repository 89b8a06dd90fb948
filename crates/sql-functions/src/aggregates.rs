//! Aggregate functions of SQL: each with its name, its binding to argument types, and accumulators which compute it
//! for many groups at once.
//!
//! A function is *bound* once, when a query is planned ([`aggregate`], [`AggregateFunction::bind`]). The bound
//! function makes [`Accumulator`]s, one for each set of groups, such as the groups that one task of an operator
//! keeps. An accumulator holds the state of each group under its group number (see
//! [`KeyIndex`](crate::keys::KeyIndex)). It takes whole columns together with the group number of each row.
//!
//! Results are those of Flink in streaming mode; the file of each function names its differences. All functions
//! promise:
//!
//! * A1. Rows with a NULL argument make no difference. The exceptions are COUNT(*), ARRAY_AGG, SINGLE_VALUE and JSON
//!   arrays with NULL ON NULL. Rows which FILTER leaves out make no difference, whatever values stand in them.
//! * A2. Adding rows one by one, in batches, or in several accumulators which are merged gives equal results. For
//!   functions which depend on the order of rows ([`AggregateFunction::is_ordered`]), the merged rows must have come
//!   later. The last bits of float sums and of variances may differ; MIN and MAX of floats may differ if there are
//!   NaNs or zeros of both signs.
//! * A3. A retracted row leaves no trace, except for the rounding of floats. If a row's retraction arrives before the
//!   row, the retraction is remembered until the row is added. Functions which depend on the order of rows remember
//!   it until a merge brings the row, as in Flink.
//! * A4. No value causes a panic. Misuse does: a group beyond those made by [`resize`](Accumulator::resize), or a
//!   retraction where none is supported.

use std::any::Any;
use std::fmt;
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
mod running;
mod selection;
mod sum;
mod tally;
#[cfg(test)]
mod tests;
mod values;
mod variance;
mod wide;

pub use catalogue::{aggregate, aggregates};
pub use running::Sequence;

/// One aggregate function of SQL with all of its overloads.
pub struct AggregateFunction {
    /// Name of the aggregate as written in SQL, in upper case. Names that begin with `$` are for planners
    /// only.
    pub name: &'static str,
    /// Form of a call of the aggregate, for messages: `LISTAGG(text [, separator])`.
    pub usage: &'static str,
    /// True if the result of the aggregate depends on the order in which rows come.
    pub is_ordered: bool,
    /// True if the aggregate can retract rows, as changelogs need it.
    pub can_retract: bool,
    /// Binds the aggregate to the types of its arguments.
    pub bind: fn(&[Argument], &Context) -> Result<BoundAggregate, BindError>,
}

/// Aggregate functions are equal if their names are, because no two of them have one name.
impl PartialEq for AggregateFunction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for AggregateFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Function that creates an empty accumulator of one aggregate call.
pub type Create = Arc<dyn Fn() -> Box<dyn Accumulator> + Send + Sync>;

/// An aggregate function bound to the types of its arguments.
#[derive(Clone)]
pub struct BoundAggregate {
    /// Types to which the arguments are cast before an accumulator sees them, one type per argument.
    pub arguments: Vec<SqlType>,
    /// Type of the aggregate's result.
    pub result: SqlType,
    /// True if the result may be NULL. This holds for all aggregates that are NULL for a group without rows;
    /// such groups exist without GROUP BY and with FILTER. It also holds for sums of decimals, which are NULL
    /// if they need more than 38 digits.
    pub is_nullable: bool,
    /// Creates accumulators that only add rows.
    pub create: Create,
    /// Creates accumulators that also retract rows, which costs more for some aggregates; `None` if the
    /// aggregate cannot.
    pub create_retractable: Option<Create>,
    /// Number of leading arguments that DISTINCT compares; 0 if repeated values never make a difference, as
    /// for MIN.
    pub distinct_over: usize,
}

impl BoundAggregate {
    /// Returns this aggregate over distinct values only: of the rows of a group that agree in the arguments,
    /// only the first counts. The hash seed prevents senders of rows from choosing values whose hashes
    /// collide.
    ///
    /// As in Flink, all NaNs are one value, and -0.0 and 0.0 are two.
    #[must_use]
    pub fn distinct(&self, hash_seed: u64) -> BoundAggregate {
        if self.distinct_over == 0 {
            return self.clone();
        }
        let over: Arc<[SqlType]> = self.arguments[..self.distinct_over].into();
        let wrap = |create: &Create, retracts: bool| -> Create {
            let (create, over) = (create.clone(), over.clone());
            Arc::new(move || Box::new(distinct::Distinct::new(create(), &over, retracts, hash_seed)))
        };
        BoundAggregate {
            create: wrap(&self.create, false),
            create_retractable: self.create_retractable.as_ref().map(|create| wrap(create, true)),
            ..self.clone()
        }
    }
}

/// Accumulators of all groups of one aggregate call.
///
/// In methods that take rows, `groups` holds the group number of each row. Argument columns have the types to
/// which the call was bound, and one value per row.
pub trait Accumulator: Any + Send {
    /// Makes room for the accumulators of groups `0..groups`; new groups are empty. Never removes groups.
    fn resize(&mut self, groups: usize);

    /// Adds one row per entry of `groups` to the group of that number; with FILTER, only rows whose `keep` is
    /// true.
    fn update(&mut self, groups: &[u32], arguments: &[ArrayRef], keep: Option<&BooleanArray>);

    /// Retracts one row per entry of `groups`; with FILTER, only rows whose `keep` is true.
    ///
    /// # Panics
    /// Panics unless this accumulator [can retract](Self::can_retract).
    fn retract(&mut self, groups: &[u32], arguments: &[ArrayRef], keep: Option<&BooleanArray>);

    /// Applies rows one after the other, as [`update`](Self::update) and [`retract`](Self::retract) do with one row each;
    /// returns the result of each row's group after that row, which has no meaning for a group that is gone. With FILTER, rows whose `keep` is not true change nothing,
    /// and have a result all the same.
    ///
    /// # Errors
    /// [`EvaluationError`] if a group has no result after one of its rows, as for [`results`](Self::results).
    ///
    /// # Panics
    /// Panics if a row is retracted and this accumulator [cannot retract](Self::can_retract).
    fn running(
        &mut self,
        rows: &Sequence<'_>,
        arguments: &[ArrayRef],
        keep: Option<&BooleanArray>,
    ) -> Result<ArrayRef, EvaluationError> {
        running::by_rounds(self, rows, arguments, keep)
    }

    /// Returns whether this accumulator can retract rows.
    fn can_retract(&self) -> bool;

    /// Adds everything that another accumulator of the same call has added: the other's group `i` becomes
    /// part of group `into[i]` here. The rows of the other accumulator count as having come later.
    ///
    /// # Errors
    /// [`EvaluationError`] if values are too large to be transferred.
    ///
    /// # Panics
    /// Panics if `other` is of another call.
    fn merge(&mut self, other: &dyn Accumulator, into: &[u32]) -> Result<(), EvaluationError>;

    /// Returns the aggregate results of the groups whose numbers lie in `range`; their state does not change.
    ///
    /// # Errors
    /// [`EvaluationError`] if a group has no result: SINGLE_VALUE of several rows, or results of more than 2
    /// GiB of text together.
    fn results(&self, range: Range<usize>) -> Result<ArrayRef, EvaluationError>;

    /// Returns the bytes of the results of the groups whose numbers lie in `range`, for aggregates whose
    /// results grow with the number of added values; 0 for others.
    fn result_bytes(&self, range: Range<usize>) -> usize {
        let _ = range;
        0
    }

    /// Returns the aggregate results of the given groups, in the given order; a group may be named more than
    /// once.
    ///
    /// # Errors
    /// Fails as [`results`](Self::results) does.
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

    /// Empties the accumulators of the given groups, so that their numbers can be used again. The cost may
    /// grow with all held state, so callers should reset many groups at once.
    fn reset(&mut self, groups: &[u32]);

    /// Removes all groups from the accumulator.
    fn clear(&mut self);

    /// Returns the heap bytes that the accumulator holds.
    fn bytes(&self) -> usize;

    /// Returns the additional bytes that adding `rows` rows may take for a moment, while a table of the
    /// accumulator is copied into a larger one. The arguments of the rows have at most `value_bytes` bytes.
    fn growth_bytes(&self, rows: usize, value_bytes: usize) -> usize {
        let _ = (rows, value_bytes);
        0
    }

    /// Returns an estimate of the additional bytes that [`merge`](Self::merge) takes. The accumulator keeps a
    /// part of them, which [`bytes`](Self::bytes) counts afterwards. The default is the bytes of both
    /// accumulators, because a list is copied when it grows.
    ///
    /// # Panics
    /// Panics if `other` is of another call.
    fn merge_bytes(&self, other: &dyn Accumulator) -> usize {
        self.bytes() + other.bytes()
    }

    /// Saves the state of all groups.
    ///
    /// # Errors
    /// [`StateError`] if a value cannot be written.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError>;

    /// Replaces the state of all groups by the state that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not saved state of this call.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError>;
}

/// Downcasts the other accumulator of a merge to the type of this one, which it must have.
pub(crate) fn same_kind<A: 'static>(other: &dyn Accumulator) -> &A {
    let other: &dyn Any = other;
    other.downcast_ref().expect("accumulators that are merged are of one call")
}
