//! Aggregates: what windows compute per key, as implementations of [`thalweg_model::Fold`].
//!
//! Each folds plain values: [`of()`] takes them out of records, and a tuple of aggregates is one that computes them side by
//! side. So `(of(|trip: &Trip| trip.fare, Sum), Count)` is the sum of the fares and the number of the trips. Whoever
//! needs all values of a window at once folds [`Values`], and a flat map behind the window makes of them what it likes.
//!
//! Memory: one accumulator per key and window or pane. Those of [`Values`], [`TopN`] and [`DistinctCount`] hold values,
//! and say how much room these take ([`HOLDS`](thalweg_model::Fold::HOLDS)); the others hold nothing beyond themselves.
//! What a value holds on the heap itself is seen by none of them, and counted nowhere: of a [`Max`] of strings as little
//! as of [`Values`].

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
