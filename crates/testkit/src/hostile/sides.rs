//! Several hostile streams for a union or a join. They are of one kind and over the same span of time, so that
//! their keys match, but each has its own features and its own promise.

use thalweg_model::Entropy;

use super::{Feature, Hostile, Reading};
use crate::arrival::Arrival;
use crate::oracle::{Counting, Interval, Promise, Windows};
use crate::seed::pick;

/// Distance in microseconds by which slow watermarks lag behind the records of their stream: longer than the
/// event times of any stream span, apart from a record in the far future.
const SLOW_US: i64 = 1 << 40;

/// A way in which several streams are hostile to an operator that reads them together. Some features concern
/// only one side, which is drawn at random. A side is one of the streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SideFeature {
    /// One randomly drawn stream has no record: it has watermarks only, or nothing.
    Empty,
    /// Nine in ten records of every stream have the same key.
    HotKey,
    /// Only one randomly drawn stream has runs of late records.
    LateBursts,
    /// One randomly drawn stream ends after the first third of its records.
    EndsEarly,
    /// One randomly drawn stream lacks the first two thirds of its records.
    StartsLate,
    /// The watermarks of one randomly drawn stream lag far behind its records, in event time.
    SlowWatermarks,
    /// One randomly drawn stream has the event times and keys of the stream after it, but watermarks of its
    /// own.
    Echo,
}

impl SideFeature {
    /// All ways in which several streams may be hostile together.
    pub const ALL: [SideFeature; 7] = [
        SideFeature::Empty,
        SideFeature::HotKey,
        SideFeature::LateBursts,
        SideFeature::EndsEarly,
        SideFeature::StartsLate,
        SideFeature::SlowWatermarks,
        SideFeature::Echo,
    ];
}

/// Several hostile streams for a union or a join.
#[derive(Clone, Debug)]
pub struct Sides {
    /// Features of these streams together; the others are disabled.
    pub features: Vec<SideFeature>,
    /// The streams. Window size, slide, gap and allowed lateness are the same for all of them.
    pub sides: Vec<Hostile>,
    /// Interval of event time around a left record in which right records match it.
    pub interval: Interval,
    /// Index of the randomly drawn stream to which the features of only one stream apply.
    odd: usize,
}

impl Sides {
    /// Draws the features of this number of streams.
    ///
    /// # Panics
    /// If `side_count` is zero.
    pub fn draw(side_count: usize, entropy: &mut dyn Entropy) -> Self {
        let mut features = SideFeature::ALL.to_vec();
        // Fewer features are drawn than for a single stream, because together they leave few records in the
        // stream that they concern.
        features.retain(|_| entropy.below(4) == 0);
        let odd = entropy.below(side_count as u64) as usize;
        let first = Hostile::draw(entropy);
        let widest_us = pick(entropy, &[0, 1, first.windows.size_us, 3 * first.windows.size_us]) as u64;
        let lower_us = entropy.below(2 * widest_us + 1) as i64 - widest_us as i64;
        let interval = Interval { lower_us, upper_us: lower_us + entropy.below(widest_us + 1) as i64 };
        let mut drawn = Sides { features, sides: Vec::new(), interval, odd };
        for side in 0..side_count {
            let Hostile { features, mut promise, .. } = Hostile::draw(entropy);
            let decided = [
                (Feature::NegativeTimes, Some(first.has(Feature::NegativeTimes))),
                (Feature::HotKey, drawn.has(SideFeature::HotKey).then_some(true)),
                (Feature::LateBursts, drawn.has(SideFeature::LateBursts).then_some(side == odd)),
            ];
            let is_decided =
                |feature: &Feature| decided.iter().any(|(it, is_set)| it == feature && is_set.is_some());
            let mut features: Vec<Feature> = features.into_iter().filter(|it| !is_decided(it)).collect();
            features.extend(decided.iter().filter(|(_, is_set)| *is_set == Some(true)).map(|(it, _)| *it));
            if drawn.has(SideFeature::SlowWatermarks) && side == odd {
                promise.bound_us = SLOW_US;
            }
            drawn.sides.push(Hostile { features, promise, ..first.clone() });
        }
        drawn
    }

    /// Returns streams that are hostile in every way at once, always in the same ways. Excluded are features
    /// that leave little to compare: a stamp in the far future, and a stream that lacks records or
    /// watermarks.
    pub fn at_their_worst(side_count: usize) -> Self {
        let is_visible = |feature: &Feature| *feature != Feature::FarFuture;
        let features: Vec<Feature> = Feature::ALL.into_iter().filter(is_visible).collect();
        let side = |side: usize| Hostile {
            features: features.clone(),
            windows: Windows { size_us: 100, offset_us: 7 },
            slide_us: 40,
            gap_us: 10,
            counting: Counting { size: 2, slide: 3 },
            allowed_us: 150,
            // The watermarks of each stream are further behind its records than those of the stream before
            // it.
            promise: Promise { bound_us: 40 + 20 * side as i64, step_us: 10 },
            spread_us: 8,
            keys: 5,
        };
        let sides = (0..side_count).map(side).collect();
        let interval = Interval { lower_us: -20, upper_us: 30 };
        Sides { features: vec![SideFeature::HotKey], sides, interval, odd: 0 }
    }

    /// Makes `count` records in all, as event times in microseconds and values, one list per stream.
    pub fn readings(&self, count: usize, entropy: &mut dyn Entropy) -> Vec<Vec<(i64, Reading)>> {
        let start_us = self.sides[0].start_us(entropy);
        let count = count / self.sides.len();
        let mut readings = Vec::new();
        for hostile in &self.sides {
            readings.push(hostile.readings_from(start_us, count, entropy));
        }
        if self.has(SideFeature::Echo) {
            let echo = |(at_us, reading): &(i64, Reading)| {
                (*at_us, Reading { amount: reading.amount + 1, ..*reading })
            };
            readings[self.odd] = readings[self.neighbour()].iter().map(echo).collect();
        }
        self.cut(&mut readings[self.odd]);
        readings
    }

    /// Makes the records of all streams with watermarks between them.
    pub fn arrivals(&self, count: usize, entropy: &mut dyn Entropy) -> Vec<Vec<Arrival<Reading>>> {
        let readings = self.readings(count, entropy);
        let with_watermarks =
            |(hostile, made): (&Hostile, &Vec<(i64, Reading)>)| hostile.with_watermarks(made, entropy);
        let mut arrivals: Vec<Vec<Arrival<Reading>>> =
            self.sides.iter().zip(&readings).map(with_watermarks).collect();
        if self.has(SideFeature::Empty) && entropy.below(2) == 0 {
            let other = &arrivals[self.neighbour()];
            let watermarks = other.iter().filter(|arrival| matches!(arrival, Arrival::Watermark(_)));
            arrivals[self.odd] = watermarks.cloned().collect();
        }
        arrivals
    }

    fn has(&self, feature: SideFeature) -> bool {
        self.features.contains(&feature)
    }

    /// Returns the index of the stream after the one drawn for the features of only one stream; if there is
    /// only one stream, its own index.
    fn neighbour(&self) -> usize {
        (self.odd + 1) % self.sides.len()
    }

    /// Removes records from the stream drawn for the features of only one stream, if such a feature says that
    /// it has no records, or lacks the first or the last of them.
    fn cut<T>(&self, made: &mut Vec<T>) {
        let third = made.len() / 3;
        if self.has(SideFeature::Empty) {
            made.clear();
        } else if self.has(SideFeature::StartsLate) {
            made.drain(..2 * third);
        } else if self.has(SideFeature::EndsEarly) {
            made.truncate(third);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle;
    use crate::seed::entropy_for;

    /// In two streams at their worst, some records are late for every window, many have the same stamp as the
    /// record before them, and most have the same key. Yet most records are in time.
    #[test]
    fn the_worst_is_late_equal_and_hot() {
        let sides = Sides::at_their_worst(2);
        let readings = sides.readings(1_000, &mut entropy_for(0, "worst"));
        for (hostile, made) in sides.sides.iter().zip(&readings) {
            let rows = oracle::source(made, hostile.promise);
            let late = oracle::too_late(&rows, hostile.lenient()).len();
            let equal = made.windows(2).filter(|pair| pair[0].0 == pair[1].0).count();
            let hot = made.iter().filter(|(_, reading)| reading.key == 0).count();
            assert!((20..150).contains(&late) && equal > 50 && hot > 300, "{late} {equal} {hot}");
        }
    }

    /// Over two hundred seeds each feature of several streams occurs in about a quarter of the runs, also
    /// alone, and has its effect.
    #[test]
    fn features_come_and_go_and_do_what_they_say() {
        let mut runs_with = [0; SideFeature::ALL.len()];
        let mut pairs_that_meet = 0;
        for seed in 0..200 {
            let mut entropy = entropy_for(seed, "sides");
            let sides = Sides::draw(2, &mut entropy);
            for (feature, runs) in SideFeature::ALL.iter().zip(&mut runs_with) {
                *runs += u32::from(sides.features.contains(feature));
            }
            assert!(sides.interval.lower_us <= sides.interval.upper_us, "{sides:?}");
            let arrivals = sides.arrivals(400, &mut entropy);
            let records = |side: usize| {
                let of_side = arrivals[side].iter();
                of_side.filter_map(|arrival| match arrival {
                    Arrival::Record(at_us, reading) => Some((*at_us, reading.key)),
                    Arrival::Watermark(_) => None,
                })
            };
            let (odd, other) = (records(sides.odd).count(), records(1 - sides.odd).count());
            assert_eq!(other, 200, "{sides:?}");
            match (
                sides.has(SideFeature::Empty),
                sides.has(SideFeature::StartsLate),
                sides.has(SideFeature::EndsEarly),
            ) {
                (true, ..) => assert_eq!(odd, 0, "{sides:?}"),
                (_, true, _) => assert_eq!(odd, 68, "{sides:?}"),
                (.., true) => assert_eq!(odd, 66, "{sides:?}"),
                _ => assert_eq!(odd, 200, "{sides:?}"),
            }
            let hot = records(1 - sides.odd).filter(|(_, key)| *key == 0).count();
            assert!(!sides.has(SideFeature::HotKey) || hot > 100, "{sides:?}");
            let size_us = sides.sides[0].windows.size_us;
            let meets = |left: (i64, u64)| {
                records(1).any(|right| left.1 == right.1 && left.0.abs_diff(right.0) < size_us as u64)
            };
            pairs_that_meet += u32::from(records(0).any(meets));
        }
        assert!(runs_with.iter().all(|runs| (25..75).contains(runs)), "{runs_with:?}");
        assert!(pairs_that_meet > 100, "{pairs_that_meet}");
    }
}
