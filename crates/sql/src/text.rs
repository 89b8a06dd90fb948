//! Parsing of text into statements: the dialect, the statements which standard parsers lack, and the refused forms.
//!
//! ```text
//!   text -> tokens -> our own statements (script, ddl) -> queries as sqlparser's syntax trees (dialect)
//! ```

pub mod alter;
pub mod bounds;
pub mod ddl;
pub mod dialect;
pub mod forms;
pub mod functions;
pub mod group;
pub mod hints;
pub mod interval;
mod json;
mod lexer;
pub mod like;
mod literals;
pub mod portable;
mod refused;
pub mod reserved;
mod rewrite;
pub mod script;
pub mod show;
pub mod tokens;
