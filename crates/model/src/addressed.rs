//! Values with a hash of their key, which selects one of several readers: an exchange by key.

/// A value with a hash of its key, on its way from an operator to one of several output edges: the hash
/// selects the edge, and only the value is stored there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Addressed<T> {
    /// Hash of the value's key; values of one key have the same hash. Readers are selected by its upper bits,
    /// which must be well mixed.
    pub key_hash: u64,
    /// The value that is sent to the reader which the hash selects.
    pub value: T,
}

impl<T> Addressed<T> {
    /// Returns the index of the reader to which the value goes, out of `readers` readers; there must be at
    /// least one.
    #[inline(always)]
    pub fn place(&self, readers: usize) -> usize {
        // The upper half of the product of hash and number of readers is the index. The readers get equally
        // many hashes, up to one, and no division is needed.
        ((u128::from(self.key_hash) * readers as u128) >> u64::BITS) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_even_and_rise_with_the_hash() {
        let place = |key_hash, readers| Addressed { key_hash, value: () }.place(readers);
        assert_eq!([place(0, 1), place(u64::MAX, 1)], [0, 0]);
        assert_eq!([0, 1, 2, 3].map(|quarter: u64| place(quarter << 62, 4)), [0, 1, 2, 3]);
        assert_eq!([place(u64::MAX / 3, 3), place(u64::MAX / 3 + 1, 3), place(u64::MAX, 3)], [0, 1, 2]);
    }
}
