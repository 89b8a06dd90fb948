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

/// Returns the least hash of a key that goes to the reader with the index `place`, out of `readers` readers: the inverse of
/// [`Addressed::place`].
pub fn hash_of_place(place: usize, readers: usize) -> u64 {
    let first = (u128::from(place as u64) << u64::BITS).div_ceil(readers.max(1) as u128);
    u64::try_from(first).unwrap_or(u64::MAX)
}

/// Number of key groups, the parts into which an exchange of values with several keys divides all keys. A copy of a keyed
/// operator has a range of key groups. More copies than key groups would not all have keys.
pub const KEY_GROUPS: u64 = 128;

/// Returns the key group of a key, by a hash whose upper bits are well mixed: a number below [`KEY_GROUPS`].
#[inline(always)]
pub fn key_group_of(key_hash: u64) -> u64 {
    key_hash >> GROUP_SHIFT
}

/// Returns the least hash of the key group to which a hash belongs. All keys of a group go to the reader that this hash
/// selects.
#[inline(always)]
pub fn group_hash_of(key_hash: u64) -> u64 {
    key_group_of(key_hash) << GROUP_SHIFT
}

const GROUP_SHIFT: u32 = u64::BITS - KEY_GROUPS.ilog2();

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

    #[test]
    fn each_place_has_a_hash() {
        for readers in 1..200 {
            for place in 0..readers {
                let key_hash = hash_of_place(place, readers);
                assert_eq!(Addressed { key_hash, value: () }.place(readers), place);
            }
        }
    }

    #[test]
    fn key_groups_are_the_upper_bits() {
        assert_eq!([0, 1 << 57, u64::MAX].map(key_group_of), [0, 1, KEY_GROUPS - 1]);
        assert_eq!([5, (1 << 57) + 5, u64::MAX].map(group_hash_of), [0, 1 << 57, (KEY_GROUPS - 1) << 57]);
    }
}
