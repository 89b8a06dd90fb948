//! The aggregates VAR_POP, VAR_SAMP, VARIANCE, STDDEV_POP, STDDEV_SAMP, STDDEV. Their state is the count, the
//! mean and the sum of squared distances from the mean. None of these numbers loses digits where values are
//! large and close together.
//!
//! Mean and squares are [wide](super::wide) numbers, so that the order of rows and of merges does not show in
//! the result. Flink's are doubles, and differ in the last bits from run to run.
//!
//! The result has the type that AVG has: for integers it is cut toward zero, for decimals it is rounded. It
//! is NULL if there is no value; the sample forms are NULL of one value, too.
//!
//! Source: Welford, "Note on a Method for Calculating Corrected Sums of Squares and Products", Technometrics
//! 4, 1962. Merging follows Chan, Golub, LeVeque, "Updating Formulae and a Pairwise Algorithm for Computing
//! Sample Variances", 1979. Flink uses both as well (`WelfordM2AggFunction`,
//! `AggregateReduceFunctionsRule.reduceStddev`).
//!
//! Differs from Flink: rounding after retractions can make the sum of squares fall below zero when the values
//! have become equal. Here it is 0 then; Flink's result is NULL. The deviation is a square root, where Flink
//! raises to the power of 0.5. A NaN or infinity becomes NULL as a decimal, where Flink fails. As in Flink, a
//! row that is retracted before it comes lowers the count and changes nothing else.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::{DataType, Decimal128Type};
use serde::{Deserialize, Serialize};

use super::average::decimal_of_double;
use super::fold::Fold;
use super::values::{Kind, Number, number_column};
use super::wide::Wide;

/// An aggregate that computes a variance or a standard deviation.
pub(super) struct Variance {
    /// Arrow type of the variance or deviation.
    pub of: DataType,
    /// True if the values are a sample; then the divisor is one less than their number.
    pub is_sample: bool,
    /// True if the aggregate is a standard deviation, which is the square root of the variance.
    pub is_deviation: bool,
}

/// State of a variance: the number of values, their mean, and the sum of their squared distances from the
/// mean.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct VarianceState {
    count: i64,
    mean: Wide,
    squares: Wide,
}

impl Fold for Variance {
    type Value = f64;
    type State = VarianceState;
    const RETRACTS: bool = true;

    fn read(&self, argument: &ArrayRef) -> ScalarBuffer<f64> {
        match Kind::of(argument.data_type()) {
            Kind::Whole => i64::read(argument).iter().map(|&value| value as f64).collect(),
            Kind::Decimal => decimals_as_doubles(argument),
            _ => f64::read(argument),
        }
    }

    #[inline(always)]
    fn add(state: &mut VarianceState, value: f64) {
        state.count += 1;
        if state.count <= 0 {
            return;
        }
        let value = Wide::from(value);
        let before = value.minus(state.mean);
        state.mean = state.mean.plus(before.over(state.count as f64));
        state.squares = state.squares.plus(before.times(value.minus(state.mean)));
    }

    #[inline(always)]
    fn remove(state: &mut VarianceState, value: f64) {
        state.count -= 1;
        if state.count <= 0 {
            (state.mean, state.squares) = (Wide::ZERO, Wide::ZERO);
            return;
        }
        let value = Wide::from(value);
        let after = value.minus(state.mean);
        state.mean = state.mean.minus(after.over(state.count as f64));
        // After a retraction, a single value equals its mean, so its sum of squares is 0; a sum below zero is
        // a rounding error.
        let squares = state.squares.minus(after.times(value.minus(state.mean)));
        state.squares = if state.count == 1 || squares.to_double() < 0.0 { Wide::ZERO } else { squares };
    }

    fn merge(state: &mut VarianceState, other: &VarianceState) {
        let count = state.count + other.count;
        match (state.count > 0, other.count > 0) {
            (true, true) => {
                let apart = other.mean.minus(state.mean);
                let share = Wide::from(other.count as f64).over(count as f64);
                let moved = share.times(apart);
                state.mean = state.mean.plus(moved);
                let between = Wide::from(state.count as f64).times(moved).times(apart);
                state.squares = state.squares.plus(other.squares).plus(between);
            }
            (false, true) => (state.mean, state.squares) = (other.mean, other.squares),
            _ => {}
        }
        state.count = count;
        if count <= 0 {
            (state.mean, state.squares) = (Wide::ZERO, Wide::ZERO);
        }
    }

    fn results(&self, states: &[VarianceState]) -> ArrayRef {
        let results = states.iter().map(|state| {
            let divisor = if self.is_sample { state.count - 1 } else { state.count };
            let variance = (divisor > 0).then(|| state.squares.over(divisor as f64).to_double())?;
            Some(if self.is_deviation { variance.sqrt() } else { variance })
        });
        match self.of {
            DataType::Decimal128(_, scale) => {
                let decimal = |result: f64| decimal_of_double(result, scale.unsigned_abs());
                number_column(&self.of, results.map(|result| result.and_then(decimal)))
            }
            DataType::Float32 | DataType::Float64 => number_column(&self.of, results),
            DataType::Int64 => {
                number_column(&self.of, results.map(|result| result.map(|result| result as i64)))
            }
            // Results for TINYINT to INT are narrowed as in Java: saturated to 32 bits, then cut to the
            // lowest bits of these that the type holds.
            _ => number_column(&self.of, results.map(|result| result.map(|result| i64::from(result as i32)))),
        }
    }
}

/// Converts decimals to doubles as Flink's `DecimalDataUtils.doubleValue` does: with up to 18 digits by
/// dividing the unscaled number, with more digits by reading the number's text.
fn decimals_as_doubles(argument: &ArrayRef) -> ScalarBuffer<f64> {
    let column = argument.as_primitive::<Decimal128Type>();
    let (precision, scale) = (column.precision(), column.scale());
    if precision <= 18 {
        let divisor = 10f64.powi(i32::from(scale));
        return column.values().iter().map(|&value| value as f64 / divisor).collect();
    }
    // A decimal type of more than 18 digits: each number becomes the double that is nearest to its text.
    let double = |&value: &i128| format!("{value}e-{scale}").parse().unwrap_or(f64::NAN);
    column.values().iter().map(double).collect()
}
