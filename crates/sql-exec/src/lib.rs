//! Execution of SQL: plans as trees of operators, and the operators over batches of rows.
//!
//! ```text
//! plan: a tree of operators --> exec: operators over batches --> streams of a query of the engine
//! ```
//!
//! 1. [`plan`]: a query as a tree of operators; pruning of columns that are not read; EXPLAIN.
//! 2. [`exec`]: operators over batches, and how they become streams.
//!
//! Nothing here reads SQL or resolves names: a plan comes typed and bound, from `thalweg-sql`. So this package names no
//! parser. ARCHITECTURE.md states the promises of plans and operators.
#![forbid(unsafe_code)]

pub mod exec;
pub mod plan;
