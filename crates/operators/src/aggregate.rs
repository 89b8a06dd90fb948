//! Aggregates: what windows compute per key, as implementations of [`thalweg_model::Fold`].
//!
//! Each folds plain values: [`of()`] takes them out of records, and a tuple of aggregates is one that computes them side by
//! side. So `(of(|trip: &Trip| trip.fare, Sum), Count)` is the sum of the fares and the number of the trips. Whoever
//! needs all values of a window at once folds [`Values`], and a flat map behind the window makes of them what it likes.

pub mod count;
pub mod distinct_count;
pub mod float_sum;
pub mod mean;
pub mod min_max;
pub mod of;
pub mod sum;
pub mod top_n;
pub mod values;

#[cfg(test)]
mod laws;

pub use count::Count;
pub use distinct_count::DistinctCount;
pub use float_sum::FloatSum;
pub use mean::Mean;
pub use min_max::{Max, Min};
pub use of::{Of, of};
pub use sum::Sum;
pub use top_n::TopN;
pub use values::Values;
