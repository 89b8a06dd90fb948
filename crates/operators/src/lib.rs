//! Operators as plain state machines: records and marks in, records and marks out, nothing else. Marks are signals
//! between records, such as watermarks.
//!
//! There is one file per operator; each opens with its card, a table of its input, output, state and so on. [`map`] and
//! [`filter`] are the shortest, and [`flat_map`] makes many records of one. [`join`] holds the join with a table that
//! does not change and the joins of two streams; [`lookup`] joins with answers that take time. [`by_arrival`]
//! makes processing time the event time. [`window`] holds the windows, [`aggregate`] the aggregates that they compute. [`distinct`] and [`sort`] keep keys and records until the
//! watermark has passed them, and [`late`] handles records before it, which are late. [`process`] runs a user's
//! function with state and timers per key; [`own`] wraps an operator written by a user. [`address`] stands in front of
//! operators that work per key, where several workers share them.
//!
//! Invariants of this crate: no operator knows of threads, blocks, policies or files, and none reads a clock.
//! Closures of users run inside [`thalweg_model::Blame::on`], so that a panic names its operator.
#![forbid(unsafe_code)]

mod accounts;
pub mod address;
pub mod aggregate;
pub mod by_arrival;
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
mod bounded_grant;
#[cfg(test)]
mod horizon_tests;
#[cfg(test)]
mod test_bed;

pub use address::{Address, InputOf, LeftOf, Only, RightOf};
pub use aggregate::{Count, DistinctCount, FloatSum, Max, Mean, Min, Of, Sum, TopN, Values, of};
pub use by_arrival::{ByArrival, EveryTick, Timers};
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
