//! Joins: with a table that does not change ([`static_table`]), and of two streams: per window, pair by pair
//! ([`window`]) or all of a key at once ([`co_group`]), or within a span of time around each record ([`interval`]).
//!
//! A join of two streams is an operator over [`Either`](thalweg_model::Either): the variant of a value says which side
//! it is of. [`combine`] holds the kinds of joins, inner and outer. Internals: [`pane_store`] keeps both sides of a
//! window join, in a [`dense_table`] for each [`pane`], with a [`chain`] for each side of a key; [`even_windows`] does
//! the arithmetic of windows. An [`interval_side`] keeps one side of an interval join, in buckets of time, with a
//! [`timeline`] for each key; [`expiry`] holds the instants at which the join stops waiting for the match of a record.
//! All of them look ahead over a [`batch`] of records, keep tables in the order of time in a [`window_table_pool`], and
//! reserve memory through [`funds`].

mod batch;
mod chain;
pub mod co_group;
pub mod combine;
mod dense_table;
mod even_windows;
mod expiry;
mod funds;
pub mod interval;
mod interval_side;
mod pane;
mod pane_store;
pub mod static_table;
mod timeline;
#[cfg(test)]
mod two_streams;
pub mod window;
mod window_table_pool;

pub use co_group::CoGroup;
pub use combine::{Combine, FullOuter, Inner, LeftOuter, RightOuter};
pub use even_windows::EvenWindows;
pub use interval::{Interval, IntervalError, IntervalJoin};
pub use static_table::{DuplicateKey, StaticJoin, StaticLeftJoin, Table};
pub use window::WindowJoin;
