//! Aggregate functions: one value for the rows of each group.
//!
//! A program implements the state of one group. The engine keeps the states of all groups of a call, gives each state the
//! rows of its group in batches, and counts the bytes of the states against the memory budget.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, UInt32Array, new_empty_array};
use arrow::compute::take;
use thalweg_model::{StateError, StateReader, StateWriter};

use super::{
    FunctionError, Implementation, Signature, UserFunction, checked, guarded, signed, watched, wrong,
};
use crate::aggregates::{Accumulator, BoundAggregate, Create};
use crate::expression::arrow_error;
use crate::functions::{Argument, BindError, EvaluationError};
use crate::types::SqlType;
use crate::values::{ScalarValue, ValueError};

/// A function with one value for the rows of each group, as a program implements it.
pub trait AggregateFunction: Send + Sync {
    /// Returns the types of a call with these arguments. It is asked when the query is planned. The result of groups without
    /// rows, which exist without GROUP BY and with FILTER, follows the signature, too.
    ///
    /// # Errors
    /// The reason why the function does not take the arguments.
    fn signature(&self, arguments: &[Argument]) -> Result<Signature, BindError>;

    /// Returns the state of a group without rows.
    fn state(&self) -> Box<dyn GroupState>;

    /// Returns whether states [retract](GroupState::retract) rows. Calls over rows that change, and over frames of OVER with a
    /// lower bound, are refused for a function that does not.
    fn can_retract(&self) -> bool {
        false
    }

    /// Returns whether the value depends on the order of rows. Then one worker takes all rows of a query, and no states are
    /// merged but those of windows that follow each other.
    fn is_ordered(&self) -> bool {
        false
    }
}

/// State of one group.
///
/// The value must not depend on how rows are put into batches, nor, unless [the function is
/// ordered](AggregateFunction::is_ordered), on their order or on which states are merged.
pub trait GroupState: Any + Send {
    /// Adds `rows` rows, at least one. Each argument is a column of these rows, with the Arrow type of its SQL type. An
    /// argument may be NULL; the state decides what it makes of it.
    ///
    /// # Errors
    /// The reason why a row cannot be added, which fails the query.
    fn accumulate(&mut self, arguments: &[ArrayRef], rows: usize) -> Result<(), FunctionError>;

    /// Takes back `rows` rows, which are given as to [`accumulate`](Self::accumulate). Each of them was added before, or is
    /// added later.
    ///
    /// # Errors
    /// The reason why a row cannot be taken back, which fails the query.
    fn retract(&mut self, arguments: &[ArrayRef], rows: usize) -> Result<(), FunctionError> {
        let _ = (arguments, rows);
        Err(FunctionError::new("it cannot retract rows"))
    }

    /// Adds all rows of another state of this function, which came later than those of this one. [`same_state`] gives the
    /// type of the other state back.
    ///
    /// # Errors
    /// The reason why the states cannot be merged, which fails the query.
    fn merge(&mut self, other: &dyn GroupState) -> Result<(), FunctionError>;

    /// Returns the value of the group, of the type of the signature's result; NULL may be [`ScalarValue::Null`].
    ///
    /// # Errors
    /// The reason why there is no value, which fails the query.
    fn value(&self) -> Result<ScalarValue, FunctionError>;

    /// Returns the state as bytes, from which [`load`](Self::load) makes an equal one.
    ///
    /// # Errors
    /// The reason why the state cannot be saved.
    fn save(&self) -> Result<Vec<u8>, FunctionError>;

    /// Replaces this state by one that was saved.
    ///
    /// # Errors
    /// The reason why the bytes are not those of a state.
    fn load(&mut self, bytes: &[u8]) -> Result<(), FunctionError>;

    /// Returns the bytes of memory that the state holds, about. They are counted against the memory budget after each call.
    fn bytes(&self) -> usize;
}

/// Returns the other state of a merge with its type.
///
/// # Errors
/// An error if it has another type, which states of one function have not.
pub fn same_state<S: GroupState>(other: &dyn GroupState) -> Result<&S, FunctionError> {
    let other: &dyn Any = other;
    other.downcast_ref().ok_or_else(|| FunctionError::new("states of two types cannot be merged"))
}

impl UserFunction {
    /// Binds the function to the types of its arguments as an aggregate. Returns `None` if it is none.
    ///
    /// # Errors
    /// The reason why the function does not take the arguments.
    pub fn bind_aggregate(&self, given: &[Argument]) -> Option<Result<BoundAggregate, BindError>> {
        let Implementation::Aggregate(function) = &self.implementation else { return None };
        Some(signed(given, || function.signature(given)).map(|signature| {
            let Signature { arguments, result, is_nullable } = signature;
            let (name, made, of) = (Arc::clone(&self.name), Arc::clone(function), result.clone());
            let can_retract = self.nature.can_retract;
            let create: Create = Arc::new(move || {
                let promised = (of.clone(), is_nullable);
                Box::new(States::new(Arc::clone(&name), Arc::clone(&made), can_retract, promised))
            });
            let create_retractable = can_retract.then(|| Arc::clone(&create));
            let distinct_over = arguments.len();
            BoundAggregate { arguments, result, is_nullable, create, create_retractable, distinct_over }
        }))
    }
}

/// States of all groups of a call of an aggregate function.
struct States {
    name: Arc<str>,
    function: Arc<dyn AggregateFunction>,
    can_retract: bool,
    /// Type of the values, and whether they may be NULL.
    promised: (SqlType, bool),
    slots: Vec<Slot>,
    /// Bytes of the states of all groups.
    held_bytes: usize,
    /// Error of a call that adds or retracts rows. Such calls cannot return errors, so reading results returns it.
    failure: Option<EvaluationError>,
}

/// Greatest number of bytes that a state counts for: 1 TiB. Sums of such numbers do not overflow.
const STATE_BYTES_MAX: usize = 1 << 40;

/// State of one group; a group without rows has none.
#[derive(Default)]
struct Slot {
    state: Option<Box<dyn GroupState>>,
    bytes: usize,
}

impl States {
    fn new(
        name: Arc<str>,
        function: Arc<dyn AggregateFunction>,
        can_retract: bool,
        promised: (SqlType, bool),
    ) -> Self {
        States { name, function, can_retract, promised, slots: Vec::new(), held_bytes: 0, failure: None }
    }

    /// Changes the state of a group by a call of the function, and counts its bytes. The caller watches the calls of a whole
    /// batch, because noting a call takes a lock and a batch may have a group for each row.
    fn change(
        &mut self,
        group: usize,
        by: impl FnOnce(&mut dyn GroupState) -> Result<(), FunctionError>,
    ) -> Result<(), EvaluationError> {
        let (function, slot) = (&self.function, &mut self.slots[group]);
        let bytes = guarded(&self.name, || {
            let state = slot.state.get_or_insert_with(|| function.state());
            by(&mut **state)?;
            Ok(state.bytes().min(STATE_BYTES_MAX))
        })?;
        self.held_bytes = self.held_bytes.saturating_sub(slot.bytes).saturating_add(bytes);
        slot.bytes = bytes;
        Ok(())
    }

    /// Gives the rows of each group to a call of the function.
    fn fold(
        &mut self,
        groups: &[u32],
        arguments: &[ArrayRef],
        keep: Option<&BooleanArray>,
        by: impl Fn(&mut dyn GroupState, &[ArrayRef], usize) -> Result<(), FunctionError>,
    ) {
        if self.failure.is_none() && !groups.is_empty() {
            let name = Arc::clone(&self.name);
            self.failure = watched(&name, || self.folded(groups, arguments, keep, by)).err();
        }
    }

    fn folded(
        &mut self,
        groups: &[u32],
        arguments: &[ArrayRef],
        keep: Option<&BooleanArray>,
        by: impl Fn(&mut dyn GroupState, &[ArrayRef], usize) -> Result<(), FunctionError>,
    ) -> Result<(), EvaluationError> {
        let is_kept =
            |row: &u32| keep.is_none_or(|keep| keep.is_valid(*row as usize) && keep.value(*row as usize));
        let mut rows: Vec<u32> = (0..groups.len() as u32).filter(is_kept).collect();
        // Rows of one group stay in their order.
        rows.sort_by_key(|row| groups[*row as usize]);
        let is_whole = rows.len() == groups.len() && rows.is_sorted();
        let columns: Vec<ArrayRef> = match is_whole {
            true => arguments.to_vec(),
            false => {
                let places = UInt32Array::from(rows.clone());
                let picked = arguments.iter().map(|column| take(column, &places, None).map_err(arrow_error));
                picked.collect::<Result<_, _>>()?
            }
        };
        let mut first = 0;
        for run in rows.chunk_by(|row, next| groups[*row as usize] == groups[*next as usize]) {
            let count = run.len();
            let of_group: Vec<ArrayRef> = columns.iter().map(|column| column.slice(first, count)).collect();
            self.change(groups[run[0] as usize] as usize, |state| by(state, &of_group, count))?;
            first += count;
        }
        Ok(())
    }

    /// Returns the values of groups as a column.
    fn values(&self, groups: impl ExactSizeIterator<Item = usize>) -> Result<ArrayRef, EvaluationError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let (of, is_nullable) = &self.promised;
        let (arrow, count) = (of.arrow(), groups.len());
        if count == 0 {
            return Ok(new_empty_array(&arrow));
        }
        let failed = |error: ValueError| wrong(&self.name, &format!("failed: {error}"));
        let null = ScalarValue::try_from(&arrow).map_err(failed)?;
        let mut values = Vec::with_capacity(count);
        let value_of = |group: usize| {
            let slot = self.slots.get(group).and_then(|slot| slot.state.as_ref());
            guarded(&self.name, || match slot {
                Some(state) => state.value(),
                None => self.function.state().value(),
            })
        };
        let told = watched(&self.name, || groups.map(value_of).collect::<Result<Vec<_>, _>>())?;
        for value in told {
            let value = if value.is_null() { null.clone() } else { value };
            if !value.data_type().equals_datatype(&arrow) {
                let message = format!("returned {}, and promised {of}, which is {arrow}", value.data_type());
                return Err(wrong(&self.name, &message));
            }
            values.push(value);
        }
        let values = ScalarValue::iter_to_array(values).map_err(failed)?;
        checked(&self.name, values, count, (of, *is_nullable))
    }
}

impl Accumulator for States {
    fn resize(&mut self, groups: usize) {
        let groups = groups.max(self.slots.len());
        self.slots.resize_with(groups, Slot::default);
    }

    fn update(&mut self, groups: &[u32], arguments: &[ArrayRef], keep: Option<&BooleanArray>) {
        self.fold(groups, arguments, keep, |state, arguments, rows| state.accumulate(arguments, rows));
    }

    fn retract(&mut self, groups: &[u32], arguments: &[ArrayRef], keep: Option<&BooleanArray>) {
        self.fold(groups, arguments, keep, |state, arguments, rows| state.retract(arguments, rows));
    }

    fn can_retract(&self) -> bool {
        self.can_retract
    }

    fn merge(&mut self, other: &dyn Accumulator, into: &[u32]) -> Result<(), EvaluationError> {
        let other: &States = crate::aggregates::same_kind(other);
        if let Some(failure) = self.failure.as_ref().or(other.failure.as_ref()) {
            return Err(failure.clone());
        }
        let name = Arc::clone(&self.name);
        watched(&name, || {
            for (slot, group) in other.slots.iter().zip(into) {
                if let Some(state) = &slot.state {
                    self.change(*group as usize, |own| own.merge(&**state))?;
                }
            }
            Ok(())
        })
    }

    fn results(&self, range: Range<usize>) -> Result<ArrayRef, EvaluationError> {
        self.values(range)
    }

    fn results_of(&self, groups: &[u32]) -> Result<ArrayRef, EvaluationError> {
        self.values(groups.iter().map(|group| *group as usize))
    }

    fn result_bytes(&self, range: Range<usize>) -> usize {
        // A value of a fixed width is short. Any other is at most about as long as the state that makes it.
        match self.promised.0.arrow().primitive_width() {
            Some(_) => 0,
            None => self.slots.get(range).unwrap_or_default().iter().map(|slot| slot.bytes).sum(),
        }
    }

    fn reset(&mut self, groups: &[u32]) {
        for group in groups {
            let slot = std::mem::take(&mut self.slots[*group as usize]);
            self.held_bytes = self.held_bytes.saturating_sub(slot.bytes);
        }
    }

    fn clear(&mut self) {
        self.slots.clear();
        self.held_bytes = 0;
    }

    fn bytes(&self) -> usize {
        (self.slots.capacity() * size_of::<Slot>()).saturating_add(self.held_bytes)
    }

    fn growth_bytes(&self, _rows: usize, value_bytes: usize) -> usize {
        // A state may keep all values of its rows.
        value_bytes
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        let saved = |slot: &Slot| match &slot.state {
            None => Ok(None),
            Some(state) => guarded(&self.name, || state.save()).map(Some),
        };
        let slots: Result<Vec<Option<Vec<u8>>>, EvaluationError> =
            watched(&self.name, || self.slots.iter().map(saved).collect());
        match self.failure.clone().map_or(slots, Err) {
            Ok(slots) => state.put(&slots),
            Err(error) => Err(StateError::Write(error.message)),
        }
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let saved: Vec<Option<Vec<u8>>> = state.take()?;
        self.clear();
        self.failure = None;
        self.resize(saved.len());
        let name = Arc::clone(&self.name);
        let loaded = watched(&name, || {
            let mut known =
                saved.iter().enumerate().filter_map(|(group, bytes)| Some((group, bytes.as_ref()?)));
            known.try_for_each(|(group, bytes)| self.change(group, |state| state.load(bytes)))
        });
        loaded.map_err(|error| state.wrong(error.message))
    }
}
