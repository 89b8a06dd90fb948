//! A record: one value and the instant at which it happened.

use crate::time::EventTime;

/// One value with its event time. Plain data without tag or header: everything else travels as a [`crate::Mark`]
/// beside the data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Record<T> {
    /// When the record happened, by its own stamp.
    pub event_time: EventTime,
    /// The value.
    pub value: T,
}

impl<T> Record<T> {
    /// Creates a record of `value` at `event_time`.
    #[inline]
    pub const fn new(event_time: EventTime, value: T) -> Self {
        Record { event_time, value }
    }
}

/// YSB's event of seven 64-bit numbers is 56 bytes, stamp included: a record adds nothing but its stamp.
const _: () = assert!(size_of::<Record<[u64; 6]>>() == 56);
