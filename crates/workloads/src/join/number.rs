//! The records of the temporal join, and a pair of records that match.

use serde::{Deserialize, Serialize};
use thalweg_model::Record;

/// A record of one of the two streams of the join.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Number {
    /// The key by which records of the two streams match.
    pub key: u64,
    /// Position of the record in its stream, by which a result identifies its two records.
    pub number: u64,
}

/// A result of the join: a pair of records with the same key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Match {
    /// The join key of both records.
    pub key: u64,
    /// Position of the left record in its stream.
    pub left: u64,
    /// Position of the right record in its stream.
    pub right: u64,
}

/// Throughput in bytes and the number of records in a block depend on the sizes of these records.
const _: () = assert!(size_of::<Record<Number>>() == 24);
const _: () = assert!(size_of::<Record<Match>>() == 32);
