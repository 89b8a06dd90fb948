//! A value on its way to one of several readers, chosen by its key.

/// A value with a hash of its key. It exists between an operator and the edges that it writes, where the hash says which: only
/// the value is kept there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Addressed<T> {
    /// Values of one key have the same; its upper bits are the good ones.
    pub key_hash: u64,
    /// What is sent.
    pub value: T,
}

impl<T> Addressed<T> {
    /// Which of so many readers it goes to; there must be one.
    #[inline(always)]
    pub fn place(&self, readers: usize) -> usize {
        // The upper half of the product: as many hashes for each, but for one, and no division.
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
