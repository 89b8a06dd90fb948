//! Comma-separated lines, read and written.
//!
//! ```text
//!   disk -> file (gunzip, identity) -> lines (1 MiB at most) -> split (quotes, field count) -> row -> record
//!                                                                   |
//!                                       bad: fail, skip, divert <---+
//!   record -> row_writer (quotes) -> in-progress file -> published
//! ```
//!
//! The dialect, both ways: commas separate fields; a field that holds a comma or a quote stands in double quotes, and
//! a quote in it is doubled (RFC 4180); text is UTF-8. One thing differs from RFC 4180: **a record is one line**.
//! Lines are framed before quotes are parsed, so a stray quote spoils its own line and never the rest of the file.
//! The price is that a quoted line break makes two bad lines. Read in the order [`source`], then [`sink`]; [`text`]
//! reads lines that have no columns.

mod bad;
mod error;
mod file;
mod lines;
mod pieces;
mod row;
mod row_writer;
pub mod sink;
pub mod source;
mod split;
pub mod text;

pub use bad::{BAD_LINES_MAX, BAD_WINDOW_LINES, OnBad};
pub use error::{CsvError, Place, Position};
pub use file::SourceFile;
pub use lines::LINE_BYTES_MAX;
pub use row::{Row, RowError};
pub use row_writer::RowWriter;
pub use sink::CsvSink;
pub use source::{CsvOptions, CsvSource, Header};
pub use text::TextSource;
