//! Aggregates: what windows compute per key, as implementations of [`thalweg_model::Fold`].
//!
//! Each aggregate folds plain values. [`of()`] takes these values out of records, and a tuple of aggregates is one
//! aggregate that computes them side by side. So `(of(|trip: &Trip| trip.fare, Sum), Count)` is the sum of the fares
//! and the number of the trips. A computation that needs all values of a window at once folds [`Values`] and
//! processes them in a flat map behind the window.
//!
//! Memory: one accumulator per key and window or pane. [`Values`], [`TopN`] and [`DistinctCount`] hold values in
//! theirs, and say how many bytes these take ([`HOLDS`](thalweg_model::Fold::HOLDS)); the others hold nothing beyond
//! themselves. The heap memory of a value itself is not counted by any aggregate: neither for a [`Max`] of strings
//! nor for [`Values`].

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
