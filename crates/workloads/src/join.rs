//! Join, StreamBox's temporal join: finds records of two streams with equal keys, at most half a second apart.
//!
//! ```text
//! left  ---+
//!          +-> interval join, 0.5 s before to 0.5 s after -> sink
//! right ---+
//! ```
//!
//! 1. [`number`]: the records of the streams, and the results of the join.
//! 2. [`generator`]: random keys from a seed.
//! 3. [`query`]: the query in the typed interface.
//! 4. [`loops`]: the same job as a hand-written loop without an engine, the ceiling that it is measured against.
//!
//! The results must equal [`crate::reference::join`]. There are as many results as records, so they are counted
//! and summed per second of event time. So a run of any length is compared with the reference in bounded
//! memory.
//!
//! Source: Miao et al., "StreamBox: Modern Stream Processing on a Multicore Machine", ATC 2017, section 9,
//! "Temporal Join": random 64-bit keys; an epoch is a million records and a second.

pub mod generator;
pub mod loops;
pub mod number;
pub mod query;

pub use generator::{JoinGenerator, Side};
pub use number::{Match, Number};

use thalweg_model::Span;

/// Largest distance in time of two records that match, in either direction.
pub const WITHIN: Span = Span::from_millis(500);

/// Records of each stream per second of event time; one second is an epoch.
pub const RECORDS_PER_S: u64 = 1_000_000;
