//! Sources and sinks: files, generators, and simple sinks.
//!
//! Read the modules in this order:
//!
//! 1. [`disk`]: the real file system, behind the trait that simulations replace; [`files`]: directories and locks.
//! 2. [`csv`]: files of lines into records ([`CsvSource`], [`TextSource`]), and records into files of lines
//!    ([`CsvSink`]).
//! 3. [`paced`]: a generator's values at a given rate, open loop, or as fast as they are taken.
//! 4. [`stdout`], [`discard`], [`collect`]: sinks that write lines, drop records, and fill a vector.
//! 5. [`sink_error`]: errors of sinks. Errors of sources lie beside the sources.
//!
//! All of them promise:
//!
//! * A source never waits: it reads a regular file, or returns when to be called again.
//! * A file under its final name is complete and on the disk. While it is written it has the name
//!   `<path>.inprogress`, and a query that fails or is cancelled removes that file. Diverted bad lines are published
//!   even if the source itself fails, because they help to find the cause.
//! * No line disappears silently: a malformed line is counted, and fails the query, is diverted or is skipped, as the
//!   user chooses. A file that changes while it is read fails the query with code and place.
//! * Every buffer has a named bound, and is reported by `held_bytes`.
//!
//! Absences: no thread is started here, no clock is read, nothing depends on the graph or on scheduling, and nothing
//! but [`disk`] and [`files`] touches the file system.
#![forbid(unsafe_code)]

pub mod disk;
pub mod files;
pub mod in_progress;

pub mod csv;
pub mod paced;

pub mod collect;
pub mod discard;
pub mod sink_error;
pub mod stdout;

#[cfg(test)]
mod testing;

pub use collect::Collect;
pub use csv::{
    CsvError, CsvOptions, CsvSink, CsvSource, Header, OnBad, Row, RowError, RowWriter, TextSource,
};
pub use discard::Discard;
pub use disk::RealDisk;
pub use files::{Entry, Files, RealFiles, Standing};
pub use in_progress::{InProgressFile, SealedFile};
pub use paced::{
    Arrivals, Delay, Disorder, EarlyShare, Load, LoadError, MARKER_EVERY, PARETO_TIMES_MAX, Pace, PaceError,
    Paced, RateStep, SplitShares, Stamps, ZIPF_EXPONENT_MAX, check_message_records, check_steps, zipf_parts,
};
pub use sink_error::SinkError;
pub use stdout::LinesSink;
