//! The aggregates MIN and MAX of numbers, dates, times and booleans over rows that are never retracted. MIN
//! and MAX of text are in `kept.rs`, those with retraction in `tally.rs`.
//!
//! Dates and times compare as numbers, and FALSE lies below TRUE. Floats compare as in IEEE 754: nothing is
//! less or greater than NaN, -0.0 is not less than 0.0, and of equal values the first one stays. So a NaN
//! that comes first stays for good, and a later NaN makes no difference.
//!
//! Source: Flink, `MinAggFunction`, `MaxAggFunction`.

use std::marker::PhantomData;

use arrow::array::ArrayRef;
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::DataType;

use super::fold::Fold;
use super::values::{Number, number_column};

/// MAX if `GREATEST` is true, else MIN, of numbers that are never retracted.
pub(super) struct Extreme<N, const GREATEST: bool> {
    of: DataType,
    read_as: PhantomData<fn() -> N>,
}

impl<N, const GREATEST: bool> Extreme<N, GREATEST> {
    pub(super) fn new(of: DataType) -> Self {
        Extreme { of, read_as: PhantomData }
    }
}

impl<N: Number, const GREATEST: bool> Fold for Extreme<N, GREATEST> {
    type Value = N;
    /// The greatest or least value of a group so far, and whether the group has a value.
    type State = (N, bool);
    const RETRACTS: bool = false;

    fn read(&self, argument: &ArrayRef) -> ScalarBuffer<N> {
        N::read(argument)
    }

    #[inline(always)]
    fn add(state: &mut (N, bool), value: N) {
        let is_better = if GREATEST { value > state.0 } else { value < state.0 };
        if is_better || !state.1 {
            *state = (value, true);
        }
    }

    fn remove(_state: &mut (N, bool), _value: N) {
        unreachable!("an extreme is not made to retract, so no row is taken back from it");
    }

    fn merge(state: &mut (N, bool), other: &(N, bool)) {
        if other.1 {
            Self::add(state, other.0);
        }
    }

    fn results(&self, states: &[(N, bool)]) -> ArrayRef {
        number_column(&self.of, states.iter().map(|&(value, is_there)| is_there.then_some(value)))
    }
}
