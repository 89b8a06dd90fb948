//! A record: one value and the event time at which it happened.

use crate::time::EventTime;

/// A record: one value with its event time. It is plain data without tag or header; everything else travels
/// as a [`crate::Mark`] beside the records.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Record<T> {
    /// Event time of the record: the instant at which it happened, by its own stamp.
    pub event_time: EventTime,
    /// The value of the record.
    pub value: T,
}

impl<T> Record<T> {
    /// Creates a record of `value` that happened at `event_time`.
    #[inline]
    pub const fn new(event_time: EventTime, value: T) -> Self {
        Record { event_time, value }
    }
}

/// A record adds nothing to its value but the stamp: an event of the YSB benchmark, with seven 64-bit
/// numbers, has 56 bytes, stamp included.
const _: () = assert!(size_of::<Record<[u64; 6]>>() == 56);
