//! Sources of tables: rows of a connector become rows of a table, with computed columns and watermarks.
//!
//! ```text
//!   connector --RowSource--> columns of the records --> computed columns --> watermark, cut at late rows --> batches
//! ```
//!
//! Each row yields a watermark, as with Flink's "on event" generators: the greatest value of the table's
//! WATERMARK expression so far. A batch carries one watermark, which follows its last row. A batch is cut
//! before a row which is late by the rows before it. So whether a row is late depends only on the rows before
//! it, never on how they are cut into batches.

pub mod rows;
pub mod source;
