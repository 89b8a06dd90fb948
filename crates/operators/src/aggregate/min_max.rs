//! Min and Max: the least and the greatest value. For floats, take the extremes of [`thalweg_model::TotalF64`].

use thalweg_model::{Fold, State};

/// Aggregate that returns the least value of a window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Min;

/// Aggregate that returns the greatest value of a window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Max;

macro_rules! extreme {
    ($fold:ident, $is_nearer:tt) => {
        impl<V: Clone + Ord + State> Fold<V> for $fold {
            /// The least or greatest value so far; `None` before the first value.
            type Accumulator = Option<V>;
            type Result = V;

            #[inline(always)]
            fn create(&self) -> Option<V> {
                None
            }

            #[inline(always)]
            fn fold(&self, accumulator: &mut Option<V>, value: &V) {
                if accumulator.as_ref().is_none_or(|extreme| value $is_nearer extreme) {
                    *accumulator = Some(value.clone());
                }
            }

            fn merge(&self, accumulator: &mut Option<V>, other: Option<V>) {
                if let Some(other) = other {
                    self.fold(accumulator, &other);
                }
            }

            /// Returns the least or greatest value of a window.
            ///
            /// # Panics
            /// If the accumulator holds no value. The engine never does this: a window without
            /// values has no result.
            fn finish(&self, accumulator: Option<V>) -> V {
                accumulator.expect("only a group with a value has a result")
            }
        }
    };
}

extreme!(Min, <);
extreme!(Max, >);

#[cfg(test)]
mod tests {
    use thalweg_model::TotalF64;

    use super::*;
    use crate::aggregate::laws::check;

    #[test]
    fn keeps_the_laws() {
        check(&Min, &[3, -1, 7, -1], |min| assert_eq!(min, -1));
        check(&Max, &[3, -1, 7, -1], |max| assert_eq!(max, 7));
        check(&Max, &["b".to_owned(), "a".to_owned()], |max| assert_eq!(max, "b"));
        check(&Min, &[-0.0, 0.0, 1.0].map(TotalF64), |min| assert_eq!(min, TotalF64(-0.0)));
    }
}
