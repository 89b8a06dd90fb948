//! The aggregate COUNT. COUNT(*) is the number of rows of a group. COUNT(x, ..) is the number of rows where
//! no argument is NULL.
//!
//! Source: Flink, `Count1AggFunction`, `CountAggFunction`.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array};
use thalweg_model::{StateError, StateReader, StateWriter};

use super::selection::{counted, for_each};
use super::{Accumulator, Sequence, same_kind};
use crate::functions::EvaluationError;

/// State of COUNT: one count per group.
#[derive(Default)]
pub(super) struct Count {
    counts: Vec<i64>,
}

impl Accumulator for Count {
    fn resize(&mut self, groups: usize) {
        self.counts.resize(groups.max(self.counts.len()), 0);
    }

    fn update(&mut self, groups: &[u32], arguments: &[ArrayRef], keep: Option<&BooleanArray>) {
        let counts = &mut self.counts[..];
        for_each(groups, counted(arguments, keep).as_ref(), |_, group| counts[group] += 1);
    }

    fn retract(&mut self, groups: &[u32], arguments: &[ArrayRef], keep: Option<&BooleanArray>) {
        let counts = &mut self.counts[..];
        for_each(groups, counted(arguments, keep).as_ref(), |_, group| counts[group] -= 1);
    }

    fn running(
        &mut self,
        rows: &Sequence<'_>,
        arguments: &[ArrayRef],
        keep: Option<&BooleanArray>,
    ) -> Result<ArrayRef, EvaluationError> {
        let counted = counted(arguments, keep);
        let count_after = |(row, group): (usize, &u32)| {
            let count = &mut self.counts[*group as usize];
            if counted.as_ref().is_none_or(|counted| counted.value(row)) {
                *count += if rows.is_added(row) { 1 } else { -1 };
            }
            *count
        };
        Ok(Arc::new(Int64Array::from_iter_values(rows.groups.iter().enumerate().map(count_after))))
    }

    fn can_retract(&self) -> bool {
        true
    }

    fn merge(&mut self, other: &dyn Accumulator, into: &[u32]) -> Result<(), EvaluationError> {
        for (count, &group) in same_kind::<Count>(other).counts.iter().zip(into) {
            self.counts[group as usize] += count;
        }
        Ok(())
    }

    fn results(&self, range: Range<usize>) -> Result<ArrayRef, EvaluationError> {
        Ok(Arc::new(Int64Array::from(self.counts[range].to_vec())))
    }

    fn results_of(&self, groups: &[u32]) -> Result<ArrayRef, EvaluationError> {
        Ok(Arc::new(Int64Array::from_iter_values(groups.iter().map(|&group| self.counts[group as usize]))))
    }

    fn reset(&mut self, groups: &[u32]) {
        groups.iter().for_each(|&group| self.counts[group as usize] = 0);
    }

    fn clear(&mut self) {
        self.counts.clear();
    }

    fn bytes(&self) -> usize {
        self.counts.capacity() * size_of::<i64>()
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.counts)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.counts = state.take()?;
        Ok(())
    }
}
