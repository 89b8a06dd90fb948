//! Aggregates that keep one value per group, over rows that are never retracted: FIRST_VALUE and LAST_VALUE,
//! and MIN and MAX of text.
//!
//! All of them ignore NULL. Text is compared by its bytes. The same aggregates over rows that may be
//! retracted are in `lists.rs` and `tally.rs`.
//!
//! Source: Flink, `FirstValueAggFunction`, `LastValueAggFunction`, `MinAggFunction`, `MaxAggFunction`.

use std::cmp::Ordering;
use std::ops::Range;

use arrow::array::{ArrayRef, BooleanArray};
use thalweg_model::{StateError, StateReader, StateWriter};

use super::selection::{counted, for_each};
use super::values::Domain;
use super::{Accumulator, Sequence, same_kind};
use crate::functions::EvaluationError;

/// The rule by which a group chooses the value that it keeps: FIRST_VALUE, LAST_VALUE, MIN or MAX.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Choice {
    First,
    Last,
    Least,
    Greatest,
}

impl Choice {
    /// Returns whether a new value of a group replaces the kept one; `comparison` compares the new value with
    /// the kept one.
    fn replaces(self, comparison: impl FnOnce() -> Ordering) -> bool {
        match self {
            Choice::First => false,
            Choice::Last => true,
            Choice::Least => comparison() == Ordering::Less,
            Choice::Greatest => comparison() == Ordering::Greater,
        }
    }
}

/// State of aggregates that keep one value of each group.
pub(super) struct Kept<D: Domain> {
    domain: D,
    choice: Choice,
    kept: Vec<Option<D::Value>>,
    /// Heap bytes of the kept values of all groups.
    held_bytes: usize,
}

impl<D: Domain> Kept<D> {
    pub(super) fn new(domain: D, choice: Choice) -> Self {
        Kept { domain, choice, kept: Vec::new(), held_bytes: 0 }
    }

    /// Adds a row of a column to a group.
    fn add(&mut self, column: &D::Column, row: usize, group: usize) {
        let slot = &mut self.kept[group];
        if slot.as_ref().is_none_or(|kept| self.choice.replaces(|| D::compare(column, row, kept))) {
            let before = held::<D>(slot);
            D::assign(slot, column, row);
            self.held_bytes = self.held_bytes + held::<D>(slot) - before;
        }
    }
}

fn held<D: Domain>(slot: &Option<D::Value>) -> usize {
    slot.as_ref().map_or(0, D::held_bytes)
}

impl<D: Domain> Accumulator for Kept<D> {
    fn resize(&mut self, groups: usize) {
        self.kept.resize(groups.max(self.kept.len()), None);
    }

    fn update(&mut self, groups: &[u32], arguments: &[ArrayRef], keep: Option<&BooleanArray>) {
        let column = self.domain.read(&arguments[0]);
        for_each(groups, counted(&arguments[..1], keep).as_ref(), |row, group| self.add(&column, row, group));
    }

    fn retract(&mut self, _groups: &[u32], _arguments: &[ArrayRef], _keep: Option<&BooleanArray>) {
        panic!("`Calls` takes rows back only from accumulators that were made to retract");
    }

    fn running(
        &mut self,
        rows: &Sequence<'_>,
        arguments: &[ArrayRef],
        keep: Option<&BooleanArray>,
    ) -> Result<ArrayRef, EvaluationError> {
        assert!(rows.is_added.is_none(), "`Calls` takes rows back only from accumulators made to retract");
        let column = self.domain.read(&arguments[0]);
        let counted = counted(&arguments[..1], keep);
        let mut after = Vec::with_capacity(rows.groups.len());
        for (row, group) in rows.groups.iter().enumerate() {
            if counted.as_ref().is_none_or(|counted| counted.value(row)) {
                self.add(&column, row, *group as usize);
            }
            after.push(self.kept[*group as usize].clone());
        }
        self.domain.write(after.iter().map(Option::as_ref))
    }

    fn can_retract(&self) -> bool {
        false
    }

    fn merge(&mut self, other: &dyn Accumulator, into: &[u32]) -> Result<(), EvaluationError> {
        for (value, &group) in same_kind::<Self>(other).kept.iter().zip(into) {
            let Some(value) = value else { continue };
            let slot = &mut self.kept[group as usize];
            if slot.as_ref().is_none_or(|kept| self.choice.replaces(|| value.cmp(kept))) {
                let before = held::<D>(slot);
                *slot = Some(value.clone());
                self.held_bytes = self.held_bytes + held::<D>(slot) - before;
            }
        }
        Ok(())
    }

    fn results(&self, range: Range<usize>) -> Result<ArrayRef, EvaluationError> {
        self.domain.write(self.kept[range].iter().map(Option::as_ref))
    }

    fn results_of(&self, groups: &[u32]) -> Result<ArrayRef, EvaluationError> {
        self.domain.write(groups.iter().map(|&group| self.kept[group as usize].as_ref()))
    }

    fn reset(&mut self, groups: &[u32]) {
        for &group in groups {
            self.held_bytes -= held::<D>(&self.kept[group as usize]);
            self.kept[group as usize] = None;
        }
    }

    fn clear(&mut self) {
        self.kept.clear();
        self.held_bytes = 0;
    }

    fn bytes(&self) -> usize {
        self.kept.capacity() * size_of::<Option<D::Value>>() + self.held_bytes
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        D::save_format(state)?;
        state.put(&self.kept)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        D::check_format(state)?;
        self.kept = state.take()?;
        self.held_bytes = self.kept.iter().map(held::<D>).sum();
        Ok(())
    }
}
