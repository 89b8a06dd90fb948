//! A record of either stream, and two that have met.

use serde::{Deserialize, Serialize};
use thalweg_model::Record;

/// A record of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Number {
    /// What it is joined by.
    pub key: u64,
    /// Which it is in its stream: so a result tells who met whom.
    pub number: u64,
}

/// Two records of one key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Match {
    /// The key of both.
    pub key: u64,
    /// Which record of the left stream.
    pub left: u64,
    /// Which record of the right stream.
    pub right: u64,
}

/// On which throughput in bytes and the number of records in a block depend.
const _: () = assert!(size_of::<Record<Number>>() == 24);
const _: () = assert!(size_of::<Record<Match>>() == 32);
