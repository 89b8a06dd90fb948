//! Batches of a join: how many records are looked at ahead, and the keys by which they meet.

use std::hash::Hash;

use thalweg_model::Either;

use crate::key_table::lane_hash;

/// Records that are looked at ahead: enough that their misses overlap as far as the processor lets them, few enough
/// that what they loaded is still there. With tables of a million keys, in millions of records per second: one by one 10,
/// with 16 at a time 20, with 64 21.5, with 128 20.
pub(crate) const BATCH_RECORDS: usize = 64;

/// The functions of an operator over two streams, which its copies share.
#[derive(Debug)]
pub(crate) struct Functions<KeyL, KeyR, F> {
    pub(crate) left_key: KeyL,
    pub(crate) right_key: KeyR,
    /// What makes the results.
    pub(crate) made_by: F,
}

impl<KeyL, KeyR, F> Functions<KeyL, KeyR, F> {
    /// The key of a record, by the function of its side.
    #[inline(always)]
    pub(crate) fn key_of<K, L, R>(&self, value: &Either<L, R>) -> K
    where
        KeyL: Fn(&L) -> K,
        KeyR: Fn(&R) -> K,
    {
        match value {
            Either::Left(left) => (self.left_key)(left),
            Either::Right(right) => (self.right_key)(right),
        }
    }

    /// By what the copy is chosen that takes a record.
    #[inline(always)]
    pub(crate) fn key_hash<K: Hash, L, R>(&self, value: &Either<L, R>) -> u64
    where
        KeyL: Fn(&L) -> K,
        KeyR: Fn(&R) -> K,
    {
        lane_hash(&self.key_of(value))
    }
}
