//! Counts the bytes that accumulators hold beyond themselves, and reserves them in the allowance (the part of
//! the memory budget that the operator may use).
//!
//! The memory is asked for after it was allocated, because it is not known before how much a fold will allocate. Folds
//! that hold nothing ([`Fold::HOLDS`]) skip all of this.

use thalweg_model::{Allowance, Fold};

/// Returns the bytes that an accumulator holds beyond itself; zero if the fold declares that it holds
/// nothing.
#[inline(always)]
pub(super) fn held<V, F: Fold<V>>(fold: &F, accumulator: &F::Accumulator) -> usize {
    if F::HOLDS { fold.held_bytes(accumulator) } else { 0 }
}

/// Bytes that all accumulators together hold beyond their own sizes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held(usize);

impl Held {
    /// Replaces, in the sum of all accumulators, the `before` bytes that one accumulator held by the `after`
    /// bytes that it holds now. If the fold had reported another size earlier, the sum is wrong, but never
    /// less than zero.
    #[inline(always)]
    pub(super) fn note(&mut self, allowance: &Allowance, before: usize, after: usize) {
        self.0 = self.0.saturating_add(after).saturating_sub(before);
        if after > before {
            // The memory is already allocated. If it is refused, the query fails when the call returns.
            let _is_granted = allowance.ask(after - before);
        }
    }

    pub(super) fn bytes(self) -> usize {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;
    use std::sync::Mutex;

    use thalweg_model::{CountWindows, SessionGap, SlidingWindows, Span};

    use super::*;
    use crate::test_bed::Bed;
    use crate::window::{CountAggregate, SessionAggregate, SlidingAggregate};

    /// A fold that sums, and reports another size of its accumulators at every call.
    struct Liar(Mutex<usize>);

    impl Fold<i64> for Liar {
        type Accumulator = i64;
        type Result = i64;
        fn create(&self) -> i64 {
            0
        }
        fn fold(&self, accumulator: &mut i64, value: &i64) {
            *accumulator += value;
        }
        fn merge(&self, accumulator: &mut i64, other: i64) {
            *accumulator += other;
        }
        const INVERTS: bool = true;
        fn unmerge(&self, accumulator: &mut i64, other: &i64) {
            *accumulator -= other;
        }
        const HOLDS: bool = true;
        fn held_bytes(&self, _accumulator: &i64) -> usize {
            let mut asked = self.0.lock().unwrap();
            *asked += 1;
            [7, 0, 100_000, 3][*asked % 4]
        }
        fn finish(&self, accumulator: i64) -> i64 {
            accumulator
        }
    }

    /// Results are right and nothing panics even if a fold reports wrong sizes of its accumulators.
    #[test]
    fn a_fold_that_lies_about_its_memory_harms_nothing_else() {
        let key_of = |value: &i64| value % 10;
        let records: Vec<String> = (0..2_000i64).map(|n| format!("{}@{}", n % 3, n)).collect();
        let input = records.chunks(10).map(|run| run.join(" ")).collect::<Vec<_>>();
        let input: Vec<String> =
            input.iter().enumerate().map(|(n, run)| format!("{run} W{}", 10 * n.saturating_sub(2))).collect();
        let input = format!("{} END", input.join(" "));
        let liar = || Liar(Mutex::new(0));
        let sum = |shown: &str| {
            let results =
                shown.split_whitespace().filter_map(|token| token.split_once('=')?.1.split_once('@'));
            results.map(|(sum, _)| sum.parse::<i64>().unwrap()).sum::<i64>()
        };
        let slides = SlidingWindows::of_size(Span::from_micros(40)).every(Span::from_micros(10)).unwrap();
        let mut sliding = Bed::new(SlidingAggregate::new("liar", slides, key_of, liar()));
        assert_eq!(sum(&sliding.run(&input)), 4 * 1_999);
        let gap = SessionGap::new(Span::from_micros(2)).unwrap();
        let mut session = Bed::new(SessionAggregate::new("liar", gap, key_of, liar()));
        assert_eq!(sum(&session.run(&input)), 1_999);
        let ten = CountWindows::of_size(NonZeroU64::new(10).unwrap()).every(NonZeroU64::new(5).unwrap());
        let mut counted = Bed::new(CountAggregate::new("liar", ten, key_of, liar()));
        assert_eq!(sum(&counted.run(&input)), 132 * (10 + 20));
    }
}
