//! Aggregates that keep a count of each value of each group: MIN and MAX with retraction, COLLECT and
//! PERCENTILE.
//!
//! A value that was retracted more often than added has a count below zero until its rows are added. NULLs
//! are ignored.
//!
//! Source: Flink, `MinWithRetractAggFunction`, `MaxWithRetractAggFunction`, `CollectAggFunction`.
//!
//! Differs from Flink: floats compare as in `java.lang.Double.compare` (-0.0 below 0.0, NaN above all); MIN and MAX
//! without retraction compare as in IEEE 754 (`extreme.rs`). A multiset lists its values in order; Flink's has no
//! order. COLLECT returns a MAP<T, INT>, as there is no type MULTISET. A count which INT does not hold is an error;
//! Flink's wraps.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Int32Array, MapArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType;
use thalweg_model::{StateError, StateReader, StateWriter};

use super::selection::{counted, for_each};
use super::values::Domain;
use super::{Accumulator, same_kind};
use crate::functions::EvaluationError;
use crate::keys::offset;

/// Distinct values of a group, each with the number of its rows, which is not 0.
pub(super) type Counts<D> = BTreeMap<<D as Domain>::Value, i64>;

/// An aggregate that computes its result from the counts of the distinct values of a group.
pub(super) trait Summary<D: Domain>: Send + Sync + 'static {
    /// Returns the aggregate's results, one per group.
    fn results(&self, domain: &D, groups: &[Counts<D>]) -> Result<ArrayRef, EvaluationError>;

    /// Returns a function from the number of a row to its weight: how often the row's value counts. `None` if
    /// every row counts once. Rows with a weight that is not above 0 are ignored.
    fn weights(&self, _arguments: &[ArrayRef]) -> Option<Box<dyn Fn(usize) -> i64>> {
        None
    }
}

/// MAX if `is_greatest`, else MIN, over rows that may be retracted.
pub(super) struct Outermost {
    pub is_greatest: bool,
}

impl<D: Domain> Summary<D> for Outermost {
    fn results(&self, domain: &D, groups: &[Counts<D>]) -> Result<ArrayRef, EvaluationError> {
        domain.write(groups.iter().map(|counts| {
            let mut there = counts.iter().filter(|&(_, &count)| count > 0);
            let outermost = if self.is_greatest { there.next_back() } else { there.next() };
            outermost.map(|(value, _)| value)
        }))
    }
}

/// COLLECT: a MAP of all values of a group with their counts.
pub(super) struct Multiset {
    /// Arrow type of the resulting map.
    pub of: DataType,
}

impl<D: Domain> Summary<D> for Multiset {
    fn results(&self, domain: &D, groups: &[Counts<D>]) -> Result<ArrayRef, EvaluationError> {
        let values = domain.write(groups.iter().flat_map(|counts| counts.keys().map(Some)))?;
        let counts = groups.iter().flat_map(|counts| counts.values().map(|&count| in_multiset(count)));
        let counts: Int32Array = counts.collect::<Result<Vec<i32>, _>>()?.into();
        offset(values.len())?;
        let DataType::Map(entries, is_ordered) = &self.of else {
            unreachable!("binding gives COLLECT the type of a MAP, which is a Map")
        };
        let DataType::Struct(fields) = entries.data_type() else {
            unreachable!("arrow holds the entries of a Map as a Struct")
        };
        let made =
            StructArray::try_new(fields.clone(), vec![values, Arc::new(counts)], None).and_then(|pairs| {
                let offsets = OffsetBuffer::from_lengths(groups.iter().map(BTreeMap::len));
                MapArray::try_new(entries.clone(), offsets, pairs, None, *is_ordered)
            });
        match made {
            Ok(column) => Ok(Arc::new(column)),
            Err(error) => Err(EvaluationError { code: "EVALUATION", message: error.to_string() }),
        }
    }
}

/// Converts a count to the INT that the result of COLLECT holds, which is a `MAP<T, INT>`.
fn in_multiset(count: i64) -> Result<i32, EvaluationError> {
    i32::try_from(count).map_err(|_| EvaluationError {
        code: "RESULT_TOO_LARGE",
        message: format!(
            "COLLECT counts a value {count} times: at most 2147483647 fit, so group by more, or count by GROUP BY value"
        ),
    })
}

/// Counts of the distinct values of all groups of an aggregate call.
pub(super) struct Tally<D: Domain, S> {
    domain: D,
    summary: S,
    groups: Vec<Counts<D>>,
    /// Bytes of all distinct values and their counts.
    held_bytes: usize,
}

impl<D: Domain, S: Summary<D>> Tally<D, S> {
    pub(super) fn new(domain: D, summary: S) -> Self {
        Tally { domain, summary, groups: Vec::new(), held_bytes: 0 }
    }

    fn count(&mut self, groups: &[u32], arguments: &[ArrayRef], keep: Option<&BooleanArray>, sign: i64) {
        let column = self.domain.read(&arguments[0]);
        let weights = self.summary.weights(arguments);
        for_each(groups, counted(&arguments[..1], keep).as_ref(), |row, group| {
            let weight = weights.as_ref().map_or(1, |weights| weights(row));
            if weight > 0 {
                add::<D>(
                    &mut self.groups[group],
                    D::value(&column, row),
                    sign * weight,
                    &mut self.held_bytes,
                );
            }
        });
    }
}

/// Adds `number`, which is negative for a retraction, to the count of a value in a group. A count that
/// becomes 0 is removed.
fn add<D: Domain>(counts: &mut Counts<D>, value: D::Value, number: i64, held_bytes: &mut usize) {
    match counts.entry(value) {
        Entry::Vacant(entry) => {
            if number != 0 {
                *held_bytes += entry_bytes::<D>(entry.key());
                entry.insert(number);
            }
        }
        Entry::Occupied(mut entry) => {
            let count = entry.get().wrapping_add(number);
            if count == 0 {
                let (value, _) = entry.remove_entry();
                *held_bytes = held_bytes.saturating_sub(entry_bytes::<D>(&value));
            } else {
                *entry.get_mut() = count;
            }
        }
    }
}

/// Returns the bytes of a value and its count in a tree whose nodes are two thirds full.
fn entry_bytes<D: Domain>(value: &D::Value) -> usize {
    size_of::<(D::Value, i64)>() * 3 / 2 + D::held_bytes(value)
}

impl<D: Domain, S: Summary<D>> Accumulator for Tally<D, S> {
    fn resize(&mut self, groups: usize) {
        self.groups.resize_with(groups.max(self.groups.len()), BTreeMap::new);
    }

    fn update(&mut self, groups: &[u32], arguments: &[ArrayRef], keep: Option<&BooleanArray>) {
        self.count(groups, arguments, keep, 1);
    }

    fn retract(&mut self, groups: &[u32], arguments: &[ArrayRef], keep: Option<&BooleanArray>) {
        self.count(groups, arguments, keep, -1);
    }

    fn can_retract(&self) -> bool {
        true
    }

    fn merge(&mut self, other: &dyn Accumulator, into: &[u32]) -> Result<(), EvaluationError> {
        for (counts, &group) in same_kind::<Self>(other).groups.iter().zip(into) {
            for (value, &count) in counts {
                add::<D>(&mut self.groups[group as usize], value.clone(), count, &mut self.held_bytes);
            }
        }
        Ok(())
    }

    fn results(&self, range: Range<usize>) -> Result<ArrayRef, EvaluationError> {
        self.summary.results(&self.domain, &self.groups[range])
    }

    fn reset(&mut self, groups: &[u32]) {
        for &group in groups {
            let counts = std::mem::take(&mut self.groups[group as usize]);
            let bytes: usize = counts.keys().map(entry_bytes::<D>).sum();
            self.held_bytes = self.held_bytes.saturating_sub(bytes);
        }
    }

    fn clear(&mut self) {
        self.groups.clear();
        self.held_bytes = 0;
    }

    fn bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Counts<D>>() + self.held_bytes
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        D::save_format(state)?;
        state.put(&self.groups)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        D::check_format(state)?;
        self.groups = state.take()?;
        self.held_bytes = self.groups.iter().flat_map(BTreeMap::keys).map(entry_bytes::<D>).sum();
        Ok(())
    }
}
