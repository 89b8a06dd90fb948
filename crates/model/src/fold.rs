//! The contract of an aggregate: how values become an accumulator, and an accumulator a result.

use crate::state::State;

/// An aggregate over values of type `V`.
///
/// The master law, which tests hold every implementation to: folding values one by one into one accumulator and
/// merging accumulators of any split of them finish in the same result. (Floating-point sums are compared with
/// a relative tolerance of 1e-9.) So partial state of several workers can be merged.
pub trait Fold<V>: Send + Sync + 'static {
    /// What is kept per key and window.
    type Accumulator: State + Clone;
    /// What comes out.
    type Result: Send + 'static;

    /// The accumulator of no values.
    fn create(&self) -> Self::Accumulator;

    /// Takes in one value.
    fn fold(&self, accumulator: &mut Self::Accumulator, value: &V);

    /// Takes in all that `other` has taken in.
    fn merge(&self, accumulator: &mut Self::Accumulator, other: Self::Accumulator);

    /// Whether [`unmerge`](Fold::unmerge) takes away what was merged, leaving no trace: sliding windows then take away
    /// what leaves them instead of merging all that stays.
    const INVERTS: bool = false;

    /// Takes away all that `other` has taken in, which was merged into `accumulator` before. Called only if
    /// [`INVERTS`](Fold::INVERTS) says so.
    fn unmerge(&self, accumulator: &mut Self::Accumulator, other: &Self::Accumulator) {
        let _ = (accumulator, other);
        unreachable!("only an aggregate that says that it inverts is asked to");
    }

    /// Whether accumulators hold memory of their own, which [`held_bytes`](Fold::held_bytes) tells.
    const HOLDS: bool = false;

    /// Bytes that an accumulator holds beyond itself, counted as state. Asked before and after each change, so it must be
    /// cheap, and answer the same of what has not changed; only if [`HOLDS`](Fold::HOLDS) says so.
    fn held_bytes(&self, accumulator: &Self::Accumulator) -> usize {
        let _ = accumulator;
        0
    }

    /// The result of all that was taken in.
    fn finish(&self, accumulator: Self::Accumulator) -> Self::Result;
}

/// Several aggregates at once, such as a mean and all values behind it: each on its own, results side by side.
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
