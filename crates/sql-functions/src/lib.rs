//! Types, values and functions of SQL: the values that a column may hold, and what can be computed from columns.
//!
//! Nothing here knows the text of SQL, plans, tables or connectors. Everything works on whole Arrow columns.
//!
//! 1. [`types`]: SQL types and the Arrow columns that hold them; [`values`]: a column, or one value for all rows.
//! 2. [`functions`]: functions by name, their binding to types, and their kernels.
//! 3. [`expression`]: trees of kernels; [`scratch`]: memory for their intermediate results.
//! 4. [`keys`]: groups of rows by key; [`aggregates`]: folds over the rows of groups.
//! 5. [`user`]: functions that a program registers; [`panics`]: panics that become errors.
//! 6. [`suggestion`]: the known name which a wrong name most likely means.
//!
//! No value causes a panic: a row without a result is an error with a stable code.
#![forbid(unsafe_code)]

pub mod aggregates;
pub mod expression;
pub mod functions;
pub mod keys;
pub mod panics;
pub mod scratch;
pub mod suggestion;
pub mod types;
pub mod user;
pub mod values;
