//! The contract of an aggregate: values are folded into an accumulator, which becomes a result.

use crate::state::State;

/// An aggregate function, such as a sum, over values of type `V`.
///
/// Tests hold every implementation to one law: folding values one by one into one accumulator, and merging the
/// accumulators of any split of them, give the same result. (Floating-point sums are compared with a relative
/// tolerance of 1e-9.) So partial states of several workers can be merged.
pub trait Fold<V>: Send + Sync + 'static {
    /// State that is kept for each key and window.
    type Accumulator: State + Clone;
    /// Type of the result of the aggregate.
    type Result: Send + 'static;

    /// Returns an empty accumulator, to which no value has been added yet.
    fn create(&self) -> Self::Accumulator;

    /// Adds one value to the accumulator of an aggregate.
    fn fold(&self, accumulator: &mut Self::Accumulator, value: &V);

    /// Adds to `accumulator` everything that the accumulator `other` has accumulated.
    fn merge(&self, accumulator: &mut Self::Accumulator, other: Self::Accumulator);

    /// True if [`unmerge`](Fold::unmerge) removes merged values exactly. Then a sliding window removes the
    /// values that leave it, instead of merging all values that stay.
    const INVERTS: bool = false;

    /// Removes from `accumulator` everything that `other` has accumulated, and which was merged into it
    /// before. Called only if [`INVERTS`](Fold::INVERTS) is true.
    fn unmerge(&self, accumulator: &mut Self::Accumulator, other: &Self::Accumulator) {
        let _ = (accumulator, other);
        unreachable!("only an aggregate that says that it inverts is asked to");
    }

    /// True if accumulators hold heap memory of their own, whose size [`held_bytes`](Fold::held_bytes)
    /// returns.
    const HOLDS: bool = false;

    /// Returns the bytes of memory that an accumulator holds outside of itself; they count as state. Called
    /// before and after each change of the accumulator, and only if [`HOLDS`](Fold::HOLDS) is true. It must
    /// be cheap, and return the same number while the accumulator is unchanged.
    fn held_bytes(&self, accumulator: &Self::Accumulator) -> usize {
        let _ = accumulator;
        0
    }

    /// Returns the result of the aggregate over all values that were accumulated.
    fn finish(&self, accumulator: Self::Accumulator) -> Self::Result;
}

/// Implements [`Fold`] for a tuple of aggregates, such as a mean together with a maximum. Each works on its
/// own, and the results form a tuple.
macro_rules! side_by_side {
    ($(($fold:ident, $place:tt)),+) => {
        impl<V, $($fold: Fold<V>),+> Fold<V> for ($($fold,)+) {
            type Accumulator = ($($fold::Accumulator,)+);
            type Result = ($($fold::Result,)+);

            #[inline(always)]
            fn create(&self) -> Self::Accumulator {
                ($(self.$place.create(),)+)
            }

            #[inline(always)]
            fn fold(&self, accumulator: &mut Self::Accumulator, value: &V) {
                $(self.$place.fold(&mut accumulator.$place, value);)+
            }

            fn merge(&self, accumulator: &mut Self::Accumulator, other: Self::Accumulator) {
                $(self.$place.merge(&mut accumulator.$place, other.$place);)+
            }

            const INVERTS: bool = $($fold::INVERTS)&&+;

            fn unmerge(&self, accumulator: &mut Self::Accumulator, other: &Self::Accumulator) {
                $(self.$place.unmerge(&mut accumulator.$place, &other.$place);)+
            }

            const HOLDS: bool = $($fold::HOLDS)||+;

            fn held_bytes(&self, accumulator: &Self::Accumulator) -> usize {
                0 $(+ if $fold::HOLDS { self.$place.held_bytes(&accumulator.$place) } else { 0 })+
            }

            fn finish(&self, accumulator: Self::Accumulator) -> Self::Result {
                ($(self.$place.finish(accumulator.$place),)+)
            }
        }
    };
}

side_by_side!((A, 0), (B, 1));
side_by_side!((A, 0), (B, 1), (C, 2));
side_by_side!((A, 0), (B, 1), (C, 2), (D, 3));
