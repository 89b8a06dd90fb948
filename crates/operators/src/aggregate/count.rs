//! Count: how many values there were. 64 bits: at 100 M records/s they last for 5,000 years.

use thalweg_model::Fold;

/// Counts values of any type.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count;

impl<V> Fold<V> for Count {
    type Accumulator = u64;
    type Result = u64;

    #[inline(always)]
    fn create(&self) -> u64 {
        0
    }

    #[inline(always)]
    fn fold(&self, accumulator: &mut u64, _value: &V) {
        *accumulator += 1;
    }

    fn merge(&self, accumulator: &mut u64, other: u64) {
        *accumulator += other;
    }

    fn finish(&self, accumulator: u64) -> u64 {
        accumulator
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The law of folds: one accumulator, or several merged, finish alike.
    #[test]
    fn merging_equals_folding() {
        let mut whole = Fold::<i64>::create(&Count);
        let (mut left, mut right) = (whole, whole);
        for value in 0..5i64 {
            Count.fold(&mut whole, &value);
            Count.fold(if value < 2 { &mut left } else { &mut right }, &value);
        }
        Fold::<i64>::merge(&Count, &mut left, right);
        assert_eq!((Fold::<i64>::finish(&Count, whole), Fold::<i64>::finish(&Count, left)), (5, 5));
    }
}
