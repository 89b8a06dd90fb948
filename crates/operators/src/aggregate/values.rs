//! Values: all values of a window, for functions that need them at once, such as a median. The function itself stands
//! behind the window, as a map or a flat map of its results.

use thalweg_model::{Fold, State};

/// Keeps all values: those of one pane in the order in which they came, panes in the order of time. A tumbling window
/// is one pane. Behind several inputs, the values of each input are in order; how values of different inputs
/// interleave is not determined. Values that came too late for some of the windows of their pane stand behind the
/// other values of the pane.
///
/// Memory: all values of a key and window. The heap memory of the values themselves is not counted.
///
/// A function of whole windows with any number of results is a flat map behind the window:
///
/// ```
/// use thalweg_model::Windowed;
/// /// The key, and by how much each value differs from the median of its window.
/// fn deviations(window: Windowed<String, Vec<i64>>) -> impl Iterator<Item = (String, i64)> {
///     let Windowed { key, value: mut values, .. } = window;
///     values.sort_unstable();
///     let median = values[values.len() / 2];
///     values.into_iter().map(move |value| (key.clone(), value - median))
/// }
/// # let window = thalweg_model::Window { start: thalweg_model::EventTime::MIN, end: thalweg_model::EventTime::MAX };
/// # let all: Vec<_> = deviations(Windowed::on_time(window, "a".to_owned(), vec![3, 1, 7])).map(|(_, by)| by).collect();
/// # assert_eq!(all, [-2, 0, 4]);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Values;

impl<V: Clone + State> Fold<V> for Values {
    type Accumulator = Vec<V>;
    type Result = Vec<V>;

    fn create(&self) -> Vec<V> {
        Vec::new()
    }

    #[inline(always)]
    fn fold(&self, accumulator: &mut Vec<V>, value: &V) {
        accumulator.push(value.clone());
    }

    fn merge(&self, accumulator: &mut Vec<V>, mut other: Vec<V>) {
        if accumulator.is_empty() {
            *accumulator = other;
        } else {
            accumulator.append(&mut other);
        }
    }

    const HOLDS: bool = true;

    fn held_bytes(&self, accumulator: &Vec<V>) -> usize {
        accumulator.capacity() * size_of::<V>()
    }

    fn finish(&self, accumulator: Vec<V>) -> Vec<V> {
        accumulator
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::Mean;
    use crate::aggregate::laws::check;

    #[test]
    fn keeps_the_laws() {
        check(&Values, &[3, 1, 3], |values| assert_eq!(values, [3, 1, 3]));
        // A pair of an incremental aggregate and one that needs all values of a window is one aggregate.
        check(&(Mean, Values), &[3.0, 1.0], |(mean, values)| {
            assert_eq!((mean, values), (2.0, vec![3.0, 1.0]));
        });
    }
}
