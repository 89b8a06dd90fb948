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
//! Four packages lie below: `thalweg-sql-functions` has types, values and what can be computed from columns,
//! `thalweg-sql-formats` the formats of records, `thalweg-sql-tables` tables with their connectors, `thalweg-sql-exec` plans and
//! the operators that run them. The parts of them which a program names are named here, too.
//!
//! Read the modules in the order in which text travels:
//!
//! 1. [`text`]: statements and syntax trees; [`error`]: errors with their places in the text.
//! 2. [`catalog`] and [`session`]: tables, views and settings; statements one after the other.
//! 3. [`bind`]: names, types and streams, in one pass over the syntax tree.
//! 4. [`plan`], of `thalweg-sql-exec`: a query as a tree of operators; pruning of columns that are not read;
//!    EXPLAIN.
//! 5. [`job`]: queries with their sources and sinks, ready to run.
//! 6. [`cases`]: queries in files, with the rows that they must give.
//!
//! ARCHITECTURE.md states the promises of this crate; the manual lists the differences from Flink.
#![forbid(unsafe_code)]

pub mod bind;
pub mod cases;
pub mod catalog;
pub mod job;
pub mod session;
pub mod text;

pub use thalweg_sql_exec::plan;
pub use thalweg_sql_functions::types;
pub use thalweg_sql_tables::{connect, deliver, error, panics, secrets, spill, table};
