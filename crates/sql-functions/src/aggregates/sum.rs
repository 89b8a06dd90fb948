//! SUM and AVG: a sum and a count per group, and the results made from them.
//!
//! | argument | SUM | AVG |
//! |---|---|---|
//! | TINYINT to BIGINT | of the argument's type, wraps | sum as BIGINT, which wraps, divided toward zero; of the argument's type |
//! | FLOAT, DOUBLE | of the argument's type | of the argument's type |
//! | DECIMAL(p, s) | DECIMAL(38, s), NULL if it does not fit | DECIMAL(38, max(6, s)), see `average.rs` |
//!
//! The result is NULL if there is no value; `$SUM0`, into which planners may turn a sum, is 0 then.
//!
//! Source: Flink, `SumAggFunction`, `SumWithRetractAggFunction`, `Sum0AggFunction`, `AvgAggFunction`,
//! `LogicalTypeMerging.findSumAggType` and `findAvgAggType`.
//!
//! Differs from Flink: the rounding error of each float addition is kept beside the sum (see [`FloatSum`]), and
//! FLOATs are added as DOUBLEs. So the order of rows and of merges changes only the last bits; Flink adds plainly.
//! Sums of decimals are exact: only the result may be too large. Flink's sum is NULL once an intermediate sum was too
//! large, and begins anew with the next value.

use arrow::array::{Array, ArrayRef};
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::{DataType, i256};
use serde::{Deserialize, Serialize};

use super::average::decimal_average;
use super::fold::Fold;
use super::values::{Number, number_column};

/// Result that is made from a sum and a count of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rule {
    /// SUM: the sum of the values; NULL if there is no value.
    Sum,
    /// $SUM0: the sum of the values; 0 if there is no value.
    SumOrZero,
    /// AVG: the mean of the values; NULL if there is no value.
    Average,
}

/// SUM and AVG of whole numbers. All integers are summed in 64 bits with wrapping. Cut to fewer bits, such a
/// sum equals a wrapping sum of fewer bits.
pub(super) struct IntegerSum {
    /// Arrow type of the sum or mean.
    pub of: DataType,
    pub rule: Rule,
}

/// Sum of the whole numbers of a group, and their count.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct IntegerState {
    sum: i64,
    count: i64,
}

impl Fold for IntegerSum {
    type Value = i64;
    type State = IntegerState;
    const RETRACTS: bool = true;

    fn read(&self, argument: &ArrayRef) -> ScalarBuffer<i64> {
        i64::read(argument)
    }

    #[inline(always)]
    fn add(state: &mut IntegerState, value: i64) {
        state.sum = state.sum.wrapping_add(value);
        state.count += 1;
    }

    #[inline(always)]
    fn remove(state: &mut IntegerState, value: i64) {
        state.sum = state.sum.wrapping_sub(value);
        state.count -= 1;
    }

    fn merge(state: &mut IntegerState, other: &IntegerState) {
        state.sum = state.sum.wrapping_add(other.sum);
        state.count += other.count;
    }

    fn results(&self, states: &[IntegerState]) -> ArrayRef {
        let result = |state: &IntegerState| match self.rule {
            Rule::SumOrZero => Some(state.sum),
            _ if state.count == 0 => None,
            Rule::Sum => Some(state.sum),
            Rule::Average => Some(state.sum.wrapping_div(state.count)),
        };
        number_column(&self.of, states.iter().map(result))
    }
}

/// SUM and AVG of FLOATs and DOUBLEs, with compensation of rounding errors.
///
/// Source: Neumaier, "Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen", ZAMM 54, 1974,
/// algorithm IV.
pub(super) struct FloatSum {
    /// Arrow type of the sum or mean.
    pub of: DataType,
    pub rule: Rule,
}

/// State of a group of floats: the sum by plain additions, the sum of their rounding errors, and the number
/// of values.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct FloatState {
    sum: f64,
    lost: f64,
    count: i64,
}

impl FloatState {
    #[inline(always)]
    fn add(&mut self, value: f64) {
        let next = self.sum + value;
        self.lost +=
            if self.sum.abs() >= value.abs() { (self.sum - next) + value } else { (value - next) + self.sum };
        self.sum = next;
    }

    /// Returns the sum of floats with its rounding errors added. Errors that are not finite come from
    /// infinities or NaNs and are ignored.
    fn total(&self) -> f64 {
        if self.lost.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

impl Fold for FloatSum {
    type Value = f64;
    type State = FloatState;
    const RETRACTS: bool = true;

    fn read(&self, argument: &ArrayRef) -> ScalarBuffer<f64> {
        f64::read(argument)
    }

    #[inline(always)]
    fn add(state: &mut FloatState, value: f64) {
        state.add(value);
        state.count += 1;
    }

    #[inline(always)]
    fn remove(state: &mut FloatState, value: f64) {
        state.add(-value);
        state.count -= 1;
    }

    fn merge(state: &mut FloatState, other: &FloatState) {
        state.add(other.sum);
        state.lost += other.lost;
        state.count += other.count;
    }

    fn results(&self, states: &[FloatState]) -> ArrayRef {
        let result = |state: &FloatState| match self.rule {
            Rule::SumOrZero => Some(state.total()),
            _ if state.count == 0 => None,
            Rule::Sum => Some(state.total()),
            Rule::Average => Some(state.total() / state.count as f64),
        };
        number_column(&self.of, states.iter().map(result))
    }
}

/// SUM and AVG of decimals of one scale.
pub(super) struct DecimalSum {
    /// Arrow type of the sum or mean.
    pub of: DataType,
    /// Scale of the decimals that are summed.
    pub scale: u8,
    pub rule: Rule,
}

/// State of a group of decimals: the two halves of a sum of 256 bits, which cannot overflow, and the number
/// of values.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct DecimalState {
    low: u128,
    high: i128,
    count: i64,
}

impl DecimalState {
    fn sum(&self) -> i256 {
        i256::from_parts(self.low, self.high)
    }

    #[inline(always)]
    fn set(&mut self, sum: i256) {
        (self.low, self.high) = sum.to_parts();
    }
}

impl Fold for DecimalSum {
    type Value = i128;
    type State = DecimalState;
    const RETRACTS: bool = true;

    fn read(&self, argument: &ArrayRef) -> ScalarBuffer<i128> {
        debug_assert!(
            matches!(argument.data_type(), DataType::Decimal128(_, scale) if *scale == self.scale as i8)
        );
        i128::read(argument)
    }

    #[inline(always)]
    fn add(state: &mut DecimalState, value: i128) {
        state.set(state.sum().wrapping_add(i256::from_i128(value)));
        state.count += 1;
    }

    #[inline(always)]
    fn remove(state: &mut DecimalState, value: i128) {
        state.set(state.sum().wrapping_sub(i256::from_i128(value)));
        state.count -= 1;
    }

    fn merge(state: &mut DecimalState, other: &DecimalState) {
        state.set(state.sum().wrapping_add(other.sum()));
        state.count += other.count;
    }

    fn results(&self, states: &[DecimalState]) -> ArrayRef {
        let result = |state: &DecimalState| match self.rule {
            Rule::SumOrZero => fitting(state.sum()),
            _ if state.count == 0 => None,
            Rule::Sum => fitting(state.sum()),
            Rule::Average => decimal_average(fitting(state.sum())?, self.scale, state.count),
        };
        number_column(&self.of, states.iter().map(result))
    }
}

/// Returns a number of 256 bits as a decimal if it has at most 38 digits.
pub(super) fn fitting(number: i256) -> Option<i128> {
    number.to_i128().filter(|number| number.unsigned_abs() < 10u128.pow(38))
}
