//! Parsing of text into statements: the dialect, the statements which standard parsers lack, and the refused forms.
//!
//! ```text
//!   text -> tokens -> our own statements (script, ddl) -> queries as sqlparser's syntax trees (dialect)
//! ```

pub mod bounds;
pub mod ddl;
pub mod dialect;
pub mod functions;
pub mod hints;
pub mod interval;
mod json;
pub mod like;
mod literals;
pub mod reserved;
pub mod script;
pub mod show;
pub mod tokens;
