//! The SQL front door: a subset of Flink's dialect, from text to a running query.
#![forbid(unsafe_code)]

pub mod functions;
pub mod types;
