//! The SQL front door: a subset of Flink's dialect, from text to a running query.
#![forbid(unsafe_code)]

pub mod aggregates;
pub mod batch;
pub mod bind;
pub mod cases;
pub mod catalog;
pub mod connect;
pub mod deliver;
pub mod error;
pub mod exec;
pub mod expression;
pub mod formats;
pub mod functions;
pub mod job;
pub mod keys;
pub mod plan;
pub mod scan;
pub mod session;
pub mod text;
pub mod types;
