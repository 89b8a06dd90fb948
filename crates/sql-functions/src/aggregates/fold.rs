//! Common implementation of aggregates whose state is a few numbers per group: sums, means, variances, least
//! and greatest numbers.

use std::ops::Range;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::ArrowNativeType;
use serde::{Serialize, de::DeserializeOwned};
use thalweg_model::{StateError, StateReader, StateWriter};

use super::selection::{counted, fold_values};
use super::{Accumulator, Sequence, same_kind};
use crate::functions::EvaluationError;

/// An aggregate that folds values into states of fixed size, and states into a column of results.
pub(super) trait Fold: Send + Sync + 'static {
    /// Rust type as which the argument of the aggregate is read.
    type Value: ArrowNativeType;
    /// State of one group of the aggregate; the default is the state of a group without values.
    type State: Copy + Default + Serialize + DeserializeOwned + Send + Sync + 'static;
    /// True if the aggregate can retract values, so that [`remove`](Self::remove) undoes
    /// [`add`](Self::add).
    const RETRACTS: bool;

    /// Returns one value for each row of the argument column; for a NULL the value is arbitrary.
    fn read(&self, argument: &ArrayRef) -> ScalarBuffer<Self::Value>;

    fn add(state: &mut Self::State, value: Self::Value);

    fn remove(state: &mut Self::State, value: Self::Value);

    /// Merges the state of another accumulator's group into the state of a group.
    fn merge(state: &mut Self::State, other: &Self::State);

    /// Returns the column of results, one result per group state.
    fn results(&self, states: &[Self::State]) -> ArrayRef;
}

/// States of all groups of an aggregate that folds values.
pub(super) struct Folded<F: Fold> {
    fold: F,
    states: Vec<F::State>,
}

impl<F: Fold> Folded<F> {
    pub(super) fn new(fold: F) -> Self {
        Folded { fold, states: Vec::new() }
    }
}

impl<F: Fold> Accumulator for Folded<F> {
    fn resize(&mut self, groups: usize) {
        self.states.resize(groups.max(self.states.len()), F::State::default());
    }

    fn update(&mut self, groups: &[u32], arguments: &[ArrayRef], keep: Option<&BooleanArray>) {
        let values = self.fold.read(&arguments[0]);
        let counted = counted(&arguments[..1], keep);
        fold_values(&mut self.states, groups, &values, counted.as_ref(), F::add);
    }

    fn retract(&mut self, groups: &[u32], arguments: &[ArrayRef], keep: Option<&BooleanArray>) {
        assert!(F::RETRACTS, "`Calls` takes rows back only from accumulators that were made to retract");
        let values = self.fold.read(&arguments[0]);
        let counted = counted(&arguments[..1], keep);
        fold_values(&mut self.states, groups, &values, counted.as_ref(), F::remove);
    }

    fn running(
        &mut self,
        rows: &Sequence<'_>,
        arguments: &[ArrayRef],
        keep: Option<&BooleanArray>,
    ) -> Result<ArrayRef, EvaluationError> {
        let retracts = rows.is_added.is_some();
        assert!(F::RETRACTS || !retracts, "`Calls` takes rows back only from accumulators made to retract");
        let values = self.fold.read(&arguments[0]);
        let counted = counted(&arguments[..1], keep);
        let state_after = |(row, group): (usize, &u32)| {
            let state = &mut self.states[*group as usize];
            if counted.as_ref().is_none_or(|counted| counted.value(row)) {
                if rows.is_added(row) {
                    F::add(state, values[row]);
                } else {
                    F::remove(state, values[row]);
                }
            }
            *state
        };
        let states: Vec<F::State> = rows.groups.iter().enumerate().map(state_after).collect();
        Ok(self.fold.results(&states))
    }

    fn can_retract(&self) -> bool {
        F::RETRACTS
    }

    fn merge(&mut self, other: &dyn Accumulator, into: &[u32]) -> Result<(), EvaluationError> {
        for (state, &group) in same_kind::<Folded<F>>(other).states.iter().zip(into) {
            F::merge(&mut self.states[group as usize], state);
        }
        Ok(())
    }

    fn results(&self, range: Range<usize>) -> Result<ArrayRef, EvaluationError> {
        Ok(self.fold.results(&self.states[range]))
    }

    fn results_of(&self, groups: &[u32]) -> Result<ArrayRef, EvaluationError> {
        let states: Vec<F::State> = groups.iter().map(|&group| self.states[group as usize]).collect();
        Ok(self.fold.results(&states))
    }

    fn reset(&mut self, groups: &[u32]) {
        groups.iter().for_each(|&group| self.states[group as usize] = F::State::default());
    }

    fn clear(&mut self) {
        self.states.clear();
    }

    fn bytes(&self) -> usize {
        self.states.capacity() * size_of::<F::State>()
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.states)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.states = state.take()?;
        Ok(())
    }
}
