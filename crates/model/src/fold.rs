//! The contract of an aggregate: how values become an accumulator, and an accumulator a result.

use crate::state::State;

/// An aggregate over values of type `V`.
///
/// The master law, which tests hold every implementation to: folding values one by one into one accumulator and
/// merging accumulators of any split of them finish in the same result. (Floating-point sums are compared with
/// a relative tolerance of 1e-9.) So partial state of several workers can be merged.
pub trait Fold<V>: Send + Sync + 'static {
    /// What is kept per key and window.
    type Accumulator: State;
    /// What comes out.
    type Result: Send + 'static;

    /// The accumulator of no values.
    fn create(&self) -> Self::Accumulator;

    /// Takes in one value.
    fn fold(&self, accumulator: &mut Self::Accumulator, value: &V);

    /// Takes in all that `other` has taken in.
    fn merge(&self, accumulator: &mut Self::Accumulator, other: Self::Accumulator);

    /// The result of all that was taken in.
    fn finish(&self, accumulator: Self::Accumulator) -> Self::Result;
}
