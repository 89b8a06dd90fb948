//! Where records enter and leave a query: files, generators, and the simplest of sinks.
//!
//! Read the modules in this order:
//!
//! 1. [`disk`]: the real file system, behind the trait that simulations replace.
//! 2. [`csv`]: a file of lines into records ([`CsvSource`], [`TextSource`]), and records into a file of lines ([`CsvSink`]).
//! 3. [`paced`]: a generator's values at the pace of a rate, open loop, or as fast as they are taken.
//! 4. [`stdout`], [`discard`], [`collect`]: records to a stream of text, to nowhere, and to a vector.
//! 5. [`sink_error`]: how sinks fail. Sources keep their errors beside them.
//!
//! What all of them promise:
//!
//! * A source never waits: it reads a regular file, or says when to be called again.
//! * A file that appears under its final name is whole and on the disk. While it is being written it bears the
//!   name `<path>.inprogress`, and a query that fails or is cancelled takes that file away; bad lines that were
//!   diverted are published all the same if the source itself fails, for then people want to see them.
//! * Nothing vanishes: a line that is not understood is counted, and fails the query, is diverted or is skipped
//!   by the user's choice; a file that changes under its reader fails the query by name and place.
//! * Every buffer has a bound with a name, and is reported by `held_bytes`.
//!
//! Absences: no thread is started here, no clock is read, nothing is known of the graph or of scheduling, and
//! nothing but [`disk`] touches the file system.
#![forbid(unsafe_code)]

pub mod disk;
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
pub use in_progress::{InProgressFile, SealedFile};
pub use paced::{
    Arrivals, Dealt, Delay, Disorder, EarlyShare, Load, LoadError, MARKER_EVERY, MARKER_PER_RECORD_RATE_MAX,
    PARETO_TIMES_MAX, Pace, PaceError, Paced, RateStep, Stamps, ZIPF_EXPONENT_MAX, check_message_records,
    check_steps, zipf_parts,
};
pub use sink_error::SinkError;
pub use stdout::LinesSink;
