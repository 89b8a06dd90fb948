//! Operators as plain state machines: records and marks in, records and marks out, nothing else.
//!
//! One file per operator, each opening with its card. [`map`] and [`filter`] are the shortest, [`flat_map`] makes many of
//! one; [`join`] holds the join with a table that does not change, [`lookup`] the one with answers that take their time;
//! [`window`] the windows, [`aggregate`] what windows compute; [`distinct`] and [`sort`] keep keys and records until the
//! watermark has passed them, and [`late`] says what becomes of those that come behind it. [`process`] runs a user's
//! function with state and timers per key; [`own`] takes in an operator that a user has written. [`address`] stands in front of
//! those that work per key, where several workers share them.
//!
//! Invariants of this room: no operator knows of threads, blocks, policies or files, and none reads a clock.
//! Closures of users run inside [`thalweg_model::Blame::on`], so that a panic names its operator.
#![forbid(unsafe_code)]

pub mod address;
pub mod aggregate;
pub mod distinct;
pub mod filter;
pub mod filter_map;
pub mod flat_map;
mod funded;
pub mod identity;
pub mod join;
mod key_table;
pub mod late;
pub mod lookup;
pub mod map;
pub mod named;
pub mod own;
pub mod process;
pub mod sort;
pub mod window;

#[cfg(test)]
mod horizon_tests;
#[cfg(test)]
mod purse;
#[cfg(test)]
mod test_bed;

pub use address::{Address, InputOf, LeftOf, Only, RightOf};
pub use aggregate::{Count, DistinctCount, FloatSum, Max, Mean, Min, Of, Sum, TopN, Values, of};
pub use distinct::Distinct;
pub use filter::Filter;
pub use filter_map::FilterMap;
pub use flat_map::FlatMap;
pub use identity::Identity;
pub use join::{
    CoGroup, Combine, DuplicateKey, EvenWindows, FullOuter, Inner, Interval, IntervalError, IntervalJoin,
    LeftOuter, RightOuter, StaticJoin, StaticLeftJoin, Table, WindowJoin,
};
pub use late::{DivertLate, DropLate, LateRule};
pub use lookup::{Lookup, LookupJoin, LookupOptions, LookupOrder, Ticket};
pub use map::Map;
pub use named::Named;
pub use own::Own;
pub use process::{KeyedProcess, Process, ProcessContext};
pub use sort::Sort;
pub use window::{CountAggregate, SessionAggregate, SlidingAggregate, TumblingAggregate};
