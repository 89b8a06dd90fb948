//! Parsing of text into statements: the dialect, the statements which standard parsers lack, and the refused forms.
//!
//! ```text
//!   text -> tokens -> our own statements (script, ddl) -> queries as sqlparser's syntax trees (dialect)
//!     -> the same trees with unknown parts refused and with each form made plain (plain)
//! ```

pub mod bounds;
pub mod ddl;
pub mod dialect;
pub mod hints;
pub mod interval;
pub mod like;
pub mod reserved;
pub mod script;
pub mod show;
pub mod tokens;
