//! Aggregates: what windows compute per key, as implementations of [`thalweg_model::Fold`].

pub mod count;

pub use count::Count;
