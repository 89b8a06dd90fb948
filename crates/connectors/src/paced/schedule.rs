//! Arithmetic of a steady rate: the exact instant of each record, without a division per record.

use std::time::Duration;

use thalweg_model::{EventTime, ProcessingTime, Span};

use super::Pace;

/// Largest number of records that one poll makes. The records of one poll are called a stretch. The bound
/// limits `offset` in the proof of [`StretchTimes`].
pub(super) const STRETCH_RECORDS_MAX: usize = 4_096;

/// The highest rate, in records per second. It follows from intended times being whole nanoseconds.
pub(super) const RATE_PER_S_MAX: u64 = 1_000_000_000;

const MICROS_PER_S: u64 = 1_000_000;
const NANOS_PER_S: u128 = 1_000_000_000;

/// Highest rate, in records per second, at which every record has a latency marker behind it.
pub(super) const MARKER_PER_RECORD_RATE_MAX: u64 = 10_000;

/// Number of latency markers per second of intended time, at rates where not every record has one: one every
/// millisecond. A few seconds then have thousands of latencies, enough for the 99.9th percentile. Watermarks
/// come as often by default, so markers need no more room on an edge than these.
pub(super) const MARKERS_PER_S: u64 = 1_000;

/// Intended time between two latency markers, at rates where not every record has one.
pub const MARKER_EVERY: Duration = Duration::from_millis(1_000 / MARKERS_PER_S);

/// The event time of every record: `origin + floor((index * 1_000_000 + phase) / rate)` microseconds.
///
/// A drained generator starts at a whole microsecond, and `phase` is 0. A generator in real time starts at `start`
/// nanoseconds, and the event time is the intended time truncated to microseconds. With `origin = start / 1000` and
/// `rest = start % 1000` that is
///
/// ```text
///   floor((start + floor(index * 10^9 / rate)) / 1000)  =  origin + floor((index * 10^6 + rest * rate / 1000) / rate)
/// ```
///
/// where `rest * rate / 1000` may be truncated to a whole number first, since `index * 10^6` is whole. Nested floors
/// of divisions by whole numbers make one: Graham, Knuth and Patashnik, "Concrete Mathematics", equation (3.11).
#[derive(Clone, Copy, Debug)]
pub(super) struct EventTimes {
    rate: u64,
    /// `ceil(2^63 / rate)`, by which a division by the rate becomes a multiplication.
    inverse: u64,
    origin_micros: i64,
    /// Fraction of a microsecond by which the generator starts after `origin_micros`, in units of `1 / rate`
    /// microseconds. So it is below `rate`.
    phase: u64,
}

impl EventTimes {
    pub(super) fn new(pace: Pace) -> Self {
        let (rate, origin_micros, phase) = match pace {
            Pace::Drain { nominal_rate_per_s, start } => (nominal_rate_per_s, start.as_micros(), 0),
            Pace::Rate { start, .. } => {
                let origin_micros =
                    i64::try_from(start.as_nanos() / 1_000).expect("a thousandth of 64 bits fits 63 bits");
                let rate_per_s = pace.event_rate_per_s();
                (rate_per_s, origin_micros, start.as_nanos() % 1_000 * rate_per_s / 1_000)
            }
        };
        assert!((1..=RATE_PER_S_MAX).contains(&rate), "the rate was checked at the door");
        EventTimes { rate, inverse: (1u64 << 63).div_ceil(rate), origin_micros, phase }
    }

    /// Returns a rule for event times that are all earlier by `span` than those of this rule.
    pub(super) fn earlier(self, span: Span) -> Self {
        EventTimes { origin_micros: self.origin_micros.saturating_sub(span.as_micros()), ..self }
    }

    /// Returns the event time of the generator's record with the given index.
    #[inline]
    pub(super) fn at(&self, index: u64) -> EventTime {
        let numerator = index.checked_mul(MICROS_PER_S).and_then(|micros| micros.checked_add(self.phase));
        // 64 bits suffice for the numerator up to 18 * 10^12 records, which is more than in any run.
        match numerator {
            Some(numerator) => {
                let micros = i64::try_from(numerator / self.rate).unwrap_or(i64::MAX);
                EventTime::from_micros(self.origin_micros.saturating_add(micros))
            }
            None => self.stretch(index).at(0),
        }
    }

    /// Returns the event times of the records from `first_index` on, with one exact division for all of them.
    pub(super) fn stretch(&self, first_index: u64) -> StretchTimes {
        let numerator = u128::from(first_index) * u128::from(MICROS_PER_S) + u128::from(self.phase);
        let (quotient, remainder) = (numerator / u128::from(self.rate), numerator % u128::from(self.rate));
        let base_micros = i128::from(self.origin_micros) + quotient.cast_signed();
        // The last of the records that one poll makes is at most `STRETCH_RECORDS_MAX` seconds later than the
        // first.
        let last_base_micros = i64::MAX - (STRETCH_RECORDS_MAX as i64 + 1) * MICROS_PER_S.cast_signed();
        match i64::try_from(base_micros) {
            Ok(base_micros) if base_micros <= last_base_micros => {
                let doubled_remainder = 2 * u64::try_from(remainder).expect("a remainder is below the rate");
                StretchTimes { base_micros, doubled_remainder, inverse: self.inverse }
            }
            // At the end of time all further records have the last instant. Times never go back and never
            // wrap.
            _ => StretchTimes { base_micros: i64::MAX, doubled_remainder: 0, inverse: 0 },
        }
    }
}

/// The event times of `STRETCH_RECORDS_MAX` consecutive records, from the first of them on.
///
/// With `n = remainder + offset * 10^6` the time is `base + floor(n / rate)`, and the division is a multiplication
/// by `m = ceil(2^63 / rate)`. It is exact: `m = (2^63 + e) / rate` with `0 <= e < rate`, so
/// `n * m / 2^63 = n / rate + n * e / (rate * 2^63)`, which has the same floor as `n / rate` if the second term is
/// below `1 / rate`, that is if `n * e < 2^63`. And it is: `remainder < rate <= 10^9` and `offset <= 4096` give
/// `n < 5.1 * 10^9`, so `n * e < 5.1 * 10^18`, while `2^63 > 9.2 * 10^18`. Doubling `n` beforehand leaves the quotient in
/// the upper half of a 128-bit product, where one instruction finds it; `2^64 / rate` would not fit for rate 1.
/// Source: Granlund and Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994, section 4.
#[derive(Clone, Copy, Debug)]
pub(super) struct StretchTimes {
    base_micros: i64,
    doubled_remainder: u64,
    inverse: u64,
}

impl StretchTimes {
    /// Returns the event time of the record that comes `offset` places after the first of those that one poll
    /// makes.
    #[inline(always)]
    pub(super) fn at(&self, offset: usize) -> EventTime {
        debug_assert!(offset <= STRETCH_RECORDS_MAX, "offset {offset} is beyond the stretch");
        let doubled = self.doubled_remainder + offset as u64 * (2 * MICROS_PER_S);
        let quotient = (u128::from(doubled) * u128::from(self.inverse)) >> 64;
        EventTime::from_micros(self.base_micros + quotient as i64)
    }
}

/// Intended times of a generator in real time: record `index` is due at `start + floor(index * 10^9 / rate)`
/// nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendTimes {
    rate: u64,
    start: ProcessingTime,
}

impl SendTimes {
    pub(super) fn new(rate: u64, start: ProcessingTime) -> Self {
        SendTimes { rate, start }
    }

    /// Returns the processing time at which the record with the given index is due.
    pub(super) fn intended(&self, index: u64) -> ProcessingTime {
        let nanos = u128::from(index) * NANOS_PER_S / u128::from(self.rate);
        u64::try_from(nanos).map_or(ProcessingTime::NEVER, |nanos| self.start.plus_nanos(nanos))
    }

    /// Returns how many records are due up to and including the instant `now`.
    pub(super) fn due_count(&self, now: ProcessingTime) -> u64 {
        if now < self.start {
            return 0;
        }
        // The count follows from: floor(index * 10^9 / rate) <= elapsed  <=>  index * 10^9 < (elapsed + 1) *
        // rate
        let elapsed = u128::from(now.nanos_since(self.start));
        let count = ((elapsed + 1) * u128::from(self.rate)).div_ceil(NANOS_PER_S);
        u64::try_from(count).unwrap_or(u64::MAX)
    }

    /// Returns the first record at or after `index` that has a latency marker behind it: every record, or the first
    /// whose intended time is at or past `k` milliseconds, for each `k` from 1 on.
    pub(super) fn marked_index(&self, index: u64) -> u64 {
        if self.rate <= MARKER_PER_RECORD_RATE_MAX {
            return index;
        }
        // Record i is the first one at or past k / 1000 s when i = ceil(k * rate / 1000); it is at or
        // after `index` when k * rate / 1000 > index - 1.
        let (rate, markers_per_s) = (u128::from(self.rate), u128::from(MARKERS_PER_S));
        let k = u128::from(index.saturating_sub(1)) * markers_per_s / rate + 1;
        u64::try_from((k * rate).div_ceil(markers_per_s)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests;
