//! The traffic of a segment: how fast its cars were over five minutes.
//!
//! The rule is stated in [`crate::reference::lrb_full`], under "LAV and toll".

use serde::{Deserialize, Serialize};
use thalweg::Fold;

use super::journeys::Sighting;

/// An aggregate: the mean speed of all sightings of cars, rounded to whole miles per hour, halves
/// up.
#[derive(Clone, Copy, Debug)]
pub struct MeanSpeed;

/// Sum and number of the cars' speeds seen so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SpeedSum {
    sum_mph: u64,
    count: u64,
}

impl Fold<Sighting> for MeanSpeed {
    type Accumulator = SpeedSum;
    type Result = u64;

    fn create(&self) -> SpeedSum {
        SpeedSum::default()
    }

    #[inline]
    fn fold(&self, speeds: &mut SpeedSum, sighting: &Sighting) {
        speeds.sum_mph += u64::from(sighting.speed_mph);
        speeds.count += 1;
    }

    fn merge(&self, speeds: &mut SpeedSum, other: SpeedSum) {
        speeds.sum_mph += other.sum_mph;
        speeds.count += other.count;
    }

    const INVERTS: bool = true;

    fn unmerge(&self, speeds: &mut SpeedSum, other: &SpeedSum) {
        speeds.sum_mph -= other.sum_mph;
        speeds.count -= other.count;
    }

    /// Returns `floor(sum / count + 1/2)`, computed in whole numbers; 0 if there are no speeds.
    fn finish(&self, SpeedSum { sum_mph, count }: SpeedSum) -> u64 {
        (2 * sum_mph + count).checked_div(2 * count).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(speeds: &[u8], expected: u64) {
        let mut sum = MeanSpeed.create();
        for &speed_mph in speeds {
            let segment = crate::lrb::report::Segment {
                xway: 0,
                direction: crate::lrb::report::Direction::East,
                number: 7,
            };
            MeanSpeed.fold(&mut sum, &Sighting { vehicle: 1, segment, speed_mph });
        }
        assert_eq!(MeanSpeed.finish(sum), expected, "{speeds:?}");
    }

    #[test]
    fn halves_round_up() {
        check(&[], 0);
        check(&[39, 40], 40);
        check(&[39, 39, 40], 39);
        check(&[0, 0, 1], 0);
        check(&[255, 255], 255);
    }
}
