//! Aggregates over a part of each value: a function takes the part out of the value, and the aggregate folds
//! the parts.

use std::fmt;
use std::marker::PhantomData;

use thalweg_model::Fold;

/// Creates the aggregate `fold` of what `project` returns for each value. The function must not panic and should be
/// cheap: it runs once per record and aggregate.
///
/// ```
/// use thalweg_model::Fold;
/// use thalweg_operators::aggregate::{Max, of};
/// let longest = of(|word: &&str| word.len(), Max);
/// let mut accumulator = longest.create();
/// ["stream", "processing"].iter().for_each(|word| longest.fold(&mut accumulator, word));
/// assert_eq!(longest.finish(accumulator), 10);
/// ```
pub fn of<V, U, P, F>(project: P, fold: F) -> Of<U, P, F>
where
    P: Fn(&V) -> U + Send + Sync + 'static,
    F: Fold<U>,
{
    Of { project, fold, projected: PhantomData }
}

/// An aggregate over a part of each value, made by [`of()`].
#[derive(Clone, Copy)]
pub struct Of<U, P, F> {
    project: P,
    fold: F,
    projected: PhantomData<fn() -> U>,
}

impl<U, P, F: fmt::Debug> fmt::Debug for Of<U, P, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Of").field("fold", &self.fold).finish_non_exhaustive()
    }
}

impl<V, U, P, F> Fold<V> for Of<U, P, F>
where
    U: 'static,
    P: Fn(&V) -> U + Send + Sync + 'static,
    F: Fold<U>,
{
    type Accumulator = F::Accumulator;
    type Result = F::Result;

    #[inline(always)]
    fn create(&self) -> Self::Accumulator {
        self.fold.create()
    }

    #[inline(always)]
    fn fold(&self, accumulator: &mut Self::Accumulator, value: &V) {
        self.fold.fold(accumulator, &(self.project)(value));
    }

    fn merge(&self, accumulator: &mut Self::Accumulator, other: Self::Accumulator) {
        self.fold.merge(accumulator, other);
    }

    const INVERTS: bool = F::INVERTS;

    fn unmerge(&self, accumulator: &mut Self::Accumulator, other: &Self::Accumulator) {
        self.fold.unmerge(accumulator, other);
    }

    const HOLDS: bool = F::HOLDS;

    fn held_bytes(&self, accumulator: &Self::Accumulator) -> usize {
        self.fold.held_bytes(accumulator)
    }

    fn finish(&self, accumulator: Self::Accumulator) -> Self::Result {
        self.fold.finish(accumulator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::laws::{check, check_inverse};
    use crate::aggregate::{Count, Max, Sum};

    #[test]
    fn what_it_is_of_says_whether_it_inverts() {
        let digits = || of(|value: &i64| (value % 10) as u8, Sum);
        check_inverse(&digits(), &[13, 25, 7, 9, 1], |sum| assert_eq!(sum, 25));
        check(&(digits(), Count, of(|value: &i64| -value, Max)), &[13, 25, 7], |results| {
            assert_eq!(results, (15, 3, -7));
        });
        const { assert!(<(Sum, Count) as Fold<i64>>::INVERTS && !<(Sum, Max) as Fold<i64>>::INVERTS) };
        check_inverse(&(Sum, Count), &[1i64, 2, 3], |results| assert_eq!(results, (6, 3)));
    }
}
