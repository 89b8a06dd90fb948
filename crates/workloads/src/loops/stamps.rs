//! Event times at a steady rate, exact and without a division per record.

use std::num::NonZeroU64;

use thalweg_model::EventTime;

const MICROS_PER_S: u64 = 1_000_000;

/// The endless sequence `start + floor(index * 1,000,000 / rate)` microseconds.
///
/// Bresenham's line in event time: a step is the whole part of the quotient, plus one microsecond whenever the
/// remainders add up to a whole one. Source: Bresenham, "Algorithm for computer control of a digital plotter",
/// IBM Systems Journal 4(1), 1965.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamps {
    next_us: i64,
    step_us: i64,
    /// The fraction of a microsecond that `next_us` lacks, in units of `1 / rate` microseconds; below `rate`.
    remainder: u64,
    /// The increase of `remainder` with each event, in units of `1 / rate` microseconds; below `rate`.
    remainder_step: u64,
    rate: u64,
}

impl Stamps {
    /// Creates the sequence of event times that begins with `start`.
    pub(crate) fn new(start: EventTime, rate_per_s: NonZeroU64) -> Self {
        Stamps {
            next_us: start.as_micros(),
            step_us: (MICROS_PER_S / rate_per_s) as i64,
            remainder: 0,
            remainder_step: MICROS_PER_S % rate_per_s,
            rate: rate_per_s.get(),
        }
    }

    /// Returns the event time of the next event.
    #[inline(always)]
    pub(crate) fn next_stamp(&mut self) -> EventTime {
        let stamp = self.next_us;
        // The remainder is compared before the step's remainder is added, so that no rate can cause an
        // overflow.
        let wrap = self.rate - self.remainder_step;
        let carry = self.remainder >= wrap;
        self.remainder = if carry { self.remainder - wrap } else { self.remainder + self.remainder_step };
        self.next_us = stamp + self.step_us + i64::from(carry);
        EventTime::from_micros(stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Event times are exact for rates that divide a second and for rates that do not, slower and faster than
    /// one record per microsecond.
    #[test]
    fn every_stamp_is_the_floor_of_its_quotient() {
        for rate in [1, 3, 7, 999_983, 1_000_000, 1_000_003, 3_000_000, 10_000_000, u64::MAX] {
            for start in [0, -1_000_000, 1_357_000_000_000_000] {
                let mut stamps = Stamps::new(EventTime::from_micros(start), NonZeroU64::new(rate).unwrap());
                for index in 0u64..5_000 {
                    let expected = start + (u128::from(index) * 1_000_000 / u128::from(rate)) as i64;
                    assert_eq!(stamps.next_stamp().as_micros(), expected, "record {index} at {rate}/s");
                }
            }
        }
    }
}
