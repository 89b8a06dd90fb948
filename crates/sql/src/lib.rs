//! SQL: a subset of Flink's dialect, from text to queries of the engine.
//!
//! ```
//! use std::sync::Arc;
//! use thalweg_model::VirtualClock;
//! use thalweg_sql::session::{Action, Session};
//!
//! let mut session = Session::new(Arc::new(VirtualClock::default()));
//! let actions = session.read("CREATE VIEW v AS SELECT 1 AS first; SELECT first + 1 AS two FROM v")?;
//! let [Action::Run(job)] = &actions[..] else { panic!("one query") };
//! assert_eq!(job.parts[0].plan.columns[0].name, "two");
//! # Ok::<(), thalweg_sql::error::SqlError>(())
//! ```
//!
//! Read the modules in the order in which text travels:
//!
//! 1. [`error`]: errors with their places in the text.
//! 2. [`text`]: statements and plain syntax trees.
//! 3. [`catalog`] and [`session`]: tables, views and settings; statements one after the other.
//! 4. [`bind`]: names (DataFusion's), then types and streams (ours). `thalweg-sql-functions` has the values that
//!    queries compute.
//! 5. [`plan`]: a query as a tree of operators; pruning of columns that are not read; EXPLAIN.
//! 6. [`batch`] and [`exec`]: operators over batches, and how they become streams.
//! 7. [`connect`] and [`scan`]: connectors and sources, over `thalweg-sql-formats`; [`deliver`] and [`job`]: the
//!    ends of a query.
//! 8. [`cases`]: queries with their answers in files.
//!
//! ARCHITECTURE.md states the promises of this crate; the manual lists the differences from Flink.
#![forbid(unsafe_code)]

pub mod batch;
pub mod bind;
pub mod cases;
pub mod catalog;
pub mod connect;
pub mod deliver;
pub mod error;
pub mod exec;
pub mod job;
pub mod panics;
pub mod plan;
pub mod scan;
pub mod secrets;
pub mod session;
pub mod table;
pub mod text;

pub use thalweg_sql_functions::types;
