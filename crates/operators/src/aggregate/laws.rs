//! The laws of folds, which the tests of each aggregate check. Splitting and merging gives the same result as
//! folding the whole; an inverse subtracts a part as if it had never been folded.

use thalweg_model::{Fold, StateReader, StateWriter};

/// Folds `values` as a whole, and also cut in two at every position, with the accumulators of the two parts
/// merged. Calls `look` with the result of each of these folds, so that a test can compare them.
pub(super) fn check<V, F: Fold<V>>(fold: &F, values: &[V], look: impl Fn(F::Result)) {
    look(fold.finish(folded(fold, values)));
    for place in 0..=values.len() {
        let (left, right) = values.split_at(place);
        let mut merged = folded(fold, left);
        fold.merge(&mut merged, again(&folded(fold, right)));
        look(fold.finish(merged));
    }
}

/// Checks a fold with an inverse. Does the same checks as [`check`]. Then merges each beginning of `values`
/// with all of `values`, subtracts the beginning again by the inverse, and calls `look` with the result.
pub(super) fn check_inverse<V, F: Fold<V>>(fold: &F, values: &[V], look: impl Fn(F::Result)) {
    const { assert!(F::INVERTS) };
    check(fold, values, &look);
    for place in 0..=values.len() {
        let other = folded(fold, &values[..place]);
        let mut merged = other.clone();
        fold.merge(&mut merged, folded(fold, values));
        fold.unmerge(&mut merged, &other);
        look(fold.finish(merged));
    }
}

fn folded<V, F: Fold<V>>(fold: &F, values: &[V]) -> F::Accumulator {
    let mut accumulator = fold.create();
    values.iter().for_each(|value| fold.fold(&mut accumulator, value));
    accumulator
}

/// Saves an accumulator as a checkpoint would, loads it again, and returns the loaded accumulator.
fn again<A: thalweg_model::State>(accumulator: &A) -> A {
    let mut writer = StateWriter::default();
    writer.put(accumulator).unwrap();
    let bytes = writer.into_bytes();
    let mut reader = StateReader::new(&bytes);
    let loaded = reader.take().unwrap();
    reader.finish().unwrap();
    loaded
}
