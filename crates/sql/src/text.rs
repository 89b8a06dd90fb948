//! From text to statements: the dialect, the statements that it has and standard parsers do not, and what is refused.
//!
//! ```text
//!   text -> tokens -> statements of ours (script, ddl) -> queries as sqlparser's syntax trees (dialect)
//!        -> the same trees without what we do not know, and with what has a plainer form in that form (plain)
//! ```

pub mod bounds;
pub mod ddl;
pub mod dialect;
pub mod interval;
pub mod plain;
pub mod reserved;
pub mod script;
mod tokens;
