//! Tables that are read: rows from a connector become the rows of a table, with computed columns and watermarks.
//!
//! ```text
//!   connector --RowSource--> columns of the records --> computed columns --> watermark, late rows told --> batches
//! ```
//!
//! A watermark follows from each row, as Flink's generators have it "on event": the greatest value of the table's WATERMARK
//! expression so far. A batch says it once, behind its last row, unless a row in it is late by those before it: there it is
//! cut. So whether a row is late depends on the rows before it only, never on how they are cut into batches.

pub mod rows;
pub mod source;
