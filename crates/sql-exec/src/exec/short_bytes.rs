//! Bytes that are held in place if they are few, as those of most keys and many rows are.

use thalweg_sql_functions::keys::heap_bytes;

/// Bytes, of which up to [`SHORT_BYTES`] are held in place.
pub(super) enum ShortBytes {
    /// Number of the bytes, and the bytes.
    Short(u8, [u8; SHORT_BYTES]),
    /// Bytes on the heap.
    Long(Box<[u8]>),
}

/// Greatest number of bytes that are held in place. With it, [`ShortBytes`] has 24 bytes, where a pointer and a length would
/// take 16 and an allocation.
const SHORT_BYTES: usize = 22;

impl ShortBytes {
    pub(super) fn new(bytes: &[u8]) -> Self {
        if bytes.len() > SHORT_BYTES {
            return ShortBytes::Long(bytes.into());
        }
        let mut short = [0; SHORT_BYTES];
        short[..bytes.len()].copy_from_slice(bytes);
        ShortBytes::Short(bytes.len() as u8, short)
    }

    #[inline]
    pub(super) fn get(&self) -> &[u8] {
        match self {
            ShortBytes::Short(length, bytes) => &bytes[..*length as usize],
            ShortBytes::Long(bytes) => bytes,
        }
    }

    /// Returns the bytes that are held outside of this value.
    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            ShortBytes::Short(..) => 0,
            ShortBytes::Long(bytes) => heap_bytes(bytes.len()),
        }
    }
}

impl Default for ShortBytes {
    fn default() -> Self {
        ShortBytes::Short(0, [0; SHORT_BYTES])
    }
}
