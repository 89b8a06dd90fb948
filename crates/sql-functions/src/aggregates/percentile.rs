//! PERCENTILE(value, percentage [, frequency]): the value below which the given part of all values lies, interpolated
//! between neighbours. For several percentages (an ARRAY), an ARRAY of such values.
//!
//! If there are `n` values in order, the percentile at the percentage `p`, from 0 to 1, lies at place
//! `p * (n - 1)`, counted from 0. A value counts `frequency` times; it does not count if its frequency is NULL or not
//! above 0. The result is NULL if there is no value. Values are compared and computed as DOUBLEs.
//!
//! Source: Flink, `PercentileAggFunction`.
//!
//! Differs from Flink: percentages must be literals, where Flink takes those of the group's first row.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Float64Array, ListArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::DataType;
use thalweg_model::TotalF64;

use super::tally::{Counts, Summary};
use super::values::{Numbers, number_column};
use crate::functions::EvaluationError;
use crate::keys::{offset, whole_numbers};

/// PERCENTILE of values that are read as DOUBLEs.
pub(super) struct Percentiles {
    /// Percentages for which percentiles are computed, each from 0 to 1.
    pub percentages: Vec<f64>,
    /// Type of the result if it is an array of percentiles; `None` if it is a single percentile.
    pub array: Option<DataType>,
}

impl Summary<Numbers<f64>> for Percentiles {
    fn results(
        &self,
        _domain: &Numbers<f64>,
        groups: &[Counts<Numbers<f64>>],
    ) -> Result<ArrayRef, EvaluationError> {
        let Some(DataType::List(item)) = &self.array else {
            let results = groups.iter().map(|counts| percentile(counts, *self.percentages.first()?));
            return Ok(number_column(&DataType::Float64, results));
        };
        let mut items = Vec::new();
        let mut lengths = Vec::with_capacity(groups.len());
        for counts in groups {
            let before = items.len();
            items.extend(self.percentages.iter().filter_map(|&percentage| percentile(counts, percentage)));
            lengths.push(items.len() - before);
        }
        offset(items.len())?;
        let nulls: NullBuffer = lengths.iter().map(|&length| length > 0).collect();
        let items = Arc::new(Float64Array::from(items));
        ListArray::try_new(item.clone(), OffsetBuffer::from_lengths(lengths), items, Some(nulls))
            .map(|column| Arc::new(column) as ArrayRef)
            .map_err(|error| EvaluationError { code: "EVALUATION", message: error.to_string() })
    }

    fn weights(&self, arguments: &[ArrayRef]) -> Option<Box<dyn Fn(usize) -> i64>> {
        let frequencies = arguments.get(2)?;
        let (numbers, nulls) = (whole_numbers(frequencies), frequencies.logical_nulls());
        Some(Box::new(move |row| match &nulls {
            Some(nulls) if nulls.is_null(row) => 0,
            _ => numbers[row],
        }))
    }
}

/// Returns the percentile at `percentage`, from 0 to 1, of the values of a group. A value counts as often as
/// its count says, and not at all if that is not above 0. `None` if no value counts.
fn percentile(counts: &Counts<Numbers<f64>>, percentage: f64) -> Option<f64> {
    let there = || counts.iter().filter(|&(_, &count)| count > 0);
    let total: i128 = there().map(|(_, &count)| i128::from(count)).sum();
    if total == 0 {
        return None;
    }
    let position = percentage * (total - 1) as f64;
    let (below, above) = (position.floor(), position.ceil());
    let value_at = |place: f64| {
        let mut before = 0;
        let mut last = None;
        for (&TotalF64(value), &count) in there() {
            last = Some(value);
            before += i128::from(count);
            if before as f64 > place {
                break;
            }
        }
        last
    };
    let (lower, upper) = (value_at(below)?, value_at(above)?);
    // Interpolation is skipped between equal values, because for infinities it would give NaN.
    if below == above || lower == upper {
        return Some(lower);
    }
    Some((above - position) * lower + (position - below) * upper)
}
