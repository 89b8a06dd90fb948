//! Join, StreamBox's temporal join: which records of two streams have the same key, at most half a second apart?
//!
//! ```text
//! left  ---+
//!          +-> interval join, 0.5 s before to 0.5 s after -> sink
//! right ---+
//! ```
//!
//! 1. [`number`]: what the streams are made of, and what comes of two that meet.
//! 2. [`generator`]: random keys from a seed.
//! 3. [`query`]: the query in the typed interface.
//! 4. [`loops`]: the same job as a hand-written loop without an engine, the ceiling that it is measured against.
//!
//! What comes out must equal [`crate::reference::join`]: there are as many results as records, so they are counted and
//! summed up per second of event time, and a run of any length is held to the reference in bounded memory.
//!
//! Source: Miao et al., "StreamBox: Modern Stream Processing on a Multicore Machine", ATC 2017, section 8, "Temporal
//! Join": 64-bit keys at random, an epoch of a million records and a second.

pub mod generator;
pub mod loops;
pub mod number;
pub mod query;

pub use generator::{JoinGenerator, Side};
pub use number::{Match, Number};

use thalweg_model::Span;

/// How far records that meet may lie apart, either way.
pub const WITHIN: Span = Span::from_millis(500);

/// Records of each stream per second of event time: an epoch.
pub const RECORDS_PER_S: u64 = 1_000_000;
