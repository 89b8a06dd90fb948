//! Top N: the values with the greatest scores, independent of the order in which they came.

use std::num::NonZeroUsize;

use thalweg_model::{Fold, State};

/// Keeps the `count` values with the greatest scores, greatest first. If scores are equal, the greater value
/// comes first, so the values alone decide which are kept. Equal values are kept as often as they came.
/// Memory: `count` values with their scores per key and window, and room for as many again where panes are
/// merged.
///
/// ```
/// use std::num::NonZeroUsize;
/// use thalweg_model::Fold;
/// use thalweg_operators::aggregate::TopN;
/// let longest = TopN::new(NonZeroUsize::new(2).unwrap(), |word: &String| word.len());
/// let mut accumulator = longest.create();
/// ["of", "the", "a", "and"].iter().for_each(|word| longest.fold(&mut accumulator, &word.to_string()));
/// assert_eq!(longest.finish(accumulator), ["the", "and"]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TopN<P> {
    count: NonZeroUsize,
    score_of: P,
}

impl<P> TopN<P> {
    /// Creates an aggregate that keeps the `count` values for which `score_of` returns the greatest scores.
    pub fn new<V, S>(count: NonZeroUsize, score_of: P) -> Self
    where
        P: Fn(&V) -> S + Send + Sync + 'static,
    {
        TopN { count, score_of }
    }
}

impl<V, S, P> Fold<V> for TopN<P>
where
    V: Clone + Ord + State,
    S: Clone + Ord + State,
    P: Fn(&V) -> S + Send + Sync + 'static,
{
    /// The values with the greatest scores so far, each with its score, greatest first.
    type Accumulator = Vec<(S, V)>;
    type Result = Vec<V>;

    fn create(&self) -> Vec<(S, V)> {
        Vec::new()
    }

    fn fold(&self, accumulator: &mut Vec<(S, V)>, value: &V) {
        let score = (self.score_of)(value);
        let place = accumulator.partition_point(|(other, kept)| (other, kept) >= (&score, value));
        if place < self.count.get() {
            accumulator.truncate(self.count.get() - 1);
            accumulator.insert(place, (score, value.clone()));
        }
    }

    fn merge(&self, accumulator: &mut Vec<(S, V)>, other: Vec<(S, V)>) {
        accumulator.extend(other);
        accumulator.sort_unstable_by(|one, other| other.cmp(one));
        accumulator.truncate(self.count.get());
    }

    const HOLDS: bool = true;

    fn held_bytes(&self, accumulator: &Vec<(S, V)>) -> usize {
        accumulator.capacity() * size_of::<(S, V)>()
    }

    fn finish(&self, accumulator: Vec<(S, V)>) -> Vec<V> {
        accumulator.into_iter().map(|(_, value)| value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::laws::check;

    fn top(count: usize) -> TopN<fn(&i64) -> i64> {
        TopN::new(NonZeroUsize::new(count).unwrap(), |value| value % 10)
    }

    #[test]
    fn keeps_the_laws() {
        check(&top(3), &[17, 4, 9, 27, 7, 5], |values| assert_eq!(values, [9, 27, 17]));
        check(&top(1), &[17, 27, 7], |values| assert_eq!(values, [27]));
        check(&top(3), &[4, 4], |values| assert_eq!(values, [4, 4]));
        check(&top(9), &[], |values| assert_eq!(values, []));
    }
}
