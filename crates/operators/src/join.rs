//! Joins: with a table that does not change ([`static_table`]). Joins of two streams arrive with windows of
//! their own.

pub mod static_table;

pub use static_table::{DuplicateKey, StaticJoin, StaticLeftJoin, Table};
