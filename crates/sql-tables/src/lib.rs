//! Tables of SQL: their declarations, connectors with Flink's names, and tables as sources and sinks of the engine.
//!
//! ```text
//! connector --> rows of its records --> scan: computed columns, watermarks --> batches
//! batches --> deliver --> rows of a sink --> connector
//! ```
//!
//! 1. [`error`] and [`secrets`]: errors with their places in the text, without the values of secret options.
//! 2. [`table`]: a table as it is declared, with its options.
//! 3. [`batch`]: the rows that travel between sources, operators and sinks.
//! 4. [`connect`]: connectors, one file each, and the [`World`](connect::World) through which they reach files, network and
//!    standard streams.
//! 5. [`scan`] and [`deliver`]: a table as a source and as a sink; [`panics`], of `thalweg-sql-functions`: panics of
//!    libraries as errors.
//! 6. [`spill`]: state on disk, as files of rows.
//!
//! Nothing here reads SQL or knows plans and operators: expressions of tables come typed and bound.
#![forbid(unsafe_code)]

pub mod batch;
pub mod connect;
pub mod deliver;
pub mod error;
pub mod scan;
pub mod secrets;
pub mod spill;
pub mod table;

pub use thalweg_sql_functions::panics;
