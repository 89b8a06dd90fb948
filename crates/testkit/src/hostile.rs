//! Records that nobody would like to get, from a seed.
//!
//! Each run has a random part of the [`Feature`]s and skews the rest: spread of stamps, number of keys, size of
//! windows, bound and step of watermarks. Stamps stay within ±2^61 µs, so that their differences and the borders
//! of their windows are numbers of 64 bits.

use thalweg_model::{Entropy, EventTime, Record, Span, TumblingWindows, WatermarkStrategy};

use crate::oracle;
use crate::seed::pick;

/// How far stamps lie from the epoch at most.
const STAMP_US_MAX: i64 = 1 << 61;

/// One way to be hostile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feature {
    /// Runs of records with one and the same stamp.
    EqualStamps,
    /// Times start below the epoch.
    NegativeTimes,
    /// Nine in ten records have the same key.
    HotKey,
    /// Spans of many windows without a record.
    EmptySpans,
    /// Runs of records that lie windows behind those before them.
    LateBursts,
    /// A stamp centuries ahead, behind which everything in the present is late.
    FarFuture,
}

impl Feature {
    /// All of them.
    pub const ALL: [Feature; 6] = [
        Feature::EqualStamps,
        Feature::NegativeTimes,
        Feature::HotKey,
        Feature::EmptySpans,
        Feature::LateBursts,
        Feature::FarFuture,
    ];
}

/// A hostile stream and the windows it is hostile to.
#[derive(Clone, Debug)]
pub struct Hostile {
    /// What this run does; the rest is disabled.
    pub features: Vec<Feature>,
    /// Windows that the stream is made for.
    pub windows: oracle::Windows,
    /// What its source promises.
    pub promise: oracle::Promise,
    /// Microseconds from one record to the next, at most.
    spread_us: u64,
    /// Keys are below it.
    keys: u64,
}

/// The values of a hostile stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Reading {
    /// Below the number of keys.
    pub key: u64,
    /// From -500 to 499.
    pub amount: i64,
}

impl Hostile {
    /// Draws what a run does.
    pub fn draw(entropy: &mut dyn Entropy) -> Self {
        let mut features = Feature::ALL.to_vec();
        features.retain(|_| entropy.below(2) == 0);
        let size_us = pick(entropy, &[1, 7, 10, 100, 1_000]);
        let windows = oracle::Windows { size_us, offset_us: entropy.below(40) as i64 - 20 };
        let promise = oracle::Promise {
            bound_us: pick(entropy, &[0, 0, 1, 50, 1_000]),
            step_us: pick(entropy, &[0, 1, 10, 1_000]),
        };
        let spread_us = pick(entropy, &[1, 3, 20, 200]);
        Hostile { features, windows, promise, spread_us, keys: pick(entropy, &[1, 3, 20, 200]) }
    }

    /// Makes `count` records, as stamps in microseconds and values.
    pub fn readings(&self, count: usize, entropy: &mut dyn Entropy) -> Vec<(i64, Reading)> {
        let has = |feature| self.features.contains(&feature);
        let mut at = if has(Feature::NegativeTimes) { -(entropy.below(100_000) as i64) } else { 0 };
        let mut equal_left = 0u64;
        let mut late_left = 0u64;
        let mut readings = Vec::with_capacity(count);
        for _ in 0..count {
            equal_left = match equal_left {
                0 if has(Feature::EqualStamps) && entropy.below(20) == 0 => entropy.below(40),
                left => left.saturating_sub(1),
            };
            late_left = match late_left {
                0 if has(Feature::LateBursts) && entropy.below(40) == 0 => entropy.below(20),
                left => left.saturating_sub(1),
            };
            if equal_left == 0 {
                at += entropy.below(self.spread_us + 1) as i64;
            }
            if has(Feature::EmptySpans) && entropy.below(50) == 0 {
                at += self.windows.size_us * entropy.below(30) as i64;
            }
            if has(Feature::FarFuture) && entropy.below(count as u64) == 0 {
                at = at.max(STAMP_US_MAX / 2 + entropy.below(1 << 40) as i64);
            }
            let behind =
                if late_left > 0 { entropy.below(self.windows.size_us as u64 * 5 + 20) as i64 } else { 0 };
            let is_hot = has(Feature::HotKey) && entropy.below(10) > 0;
            let key = if is_hot { 0 } else { entropy.below(self.keys) };
            readings.push((at - behind, Reading { key, amount: entropy.below(1_000) as i64 - 500 }));
            // Centuries ahead is an instant, not a new age: what follows is the present again, and late.
            if at > STAMP_US_MAX / 4 && entropy.below(2) == 0 {
                at = entropy.below(10_000) as i64;
            }
        }
        readings
    }

    /// The windows as the engine's.
    ///
    /// # Panics
    /// Never: sizes are above zero.
    pub fn tumbling(&self) -> TumblingWindows {
        tumbling(self.windows)
    }

    /// The promise as the engine's.
    pub fn strategy(&self) -> WatermarkStrategy {
        let oracle::Promise { bound_us, step_us } = self.promise;
        WatermarkStrategy::bounded_out_of_order(Span::from_micros(bound_us))
            .with_step(Span::from_micros(step_us))
    }
}

/// The engine's form of an oracle's windows.
///
/// # Panics
/// If their size is not above zero.
pub fn tumbling(windows: oracle::Windows) -> TumblingWindows {
    let size = TumblingWindows::new(Span::from_micros(windows.size_us)).expect("sizes are above zero");
    size.with_offset(Span::from_micros(windows.offset_us))
}

/// The engine's form of stamped values.
pub fn records<T: Clone>(input: &[(i64, T)]) -> impl Iterator<Item = Record<T>> {
    input.iter().map(|(at_us, value)| Record::new(EventTime::from_micros(*at_us), value.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::entropy_for;

    /// Over a hundred seeds each feature is there in about half of the runs, and does what it says; stamps never
    /// leave their range.
    #[test]
    fn features_come_and_go_and_do_what_they_say() {
        let mut runs_with = [0; Feature::ALL.len()];
        for seed in 0..100 {
            let mut entropy = entropy_for(seed, "hostile");
            let hostile = Hostile::draw(&mut entropy);
            let stamps: Vec<i64> = hostile.readings(500, &mut entropy).iter().map(|(at, _)| *at).collect();
            assert!(stamps.iter().all(|at| at.abs() <= STAMP_US_MAX), "{hostile:?}");
            for (feature, runs) in Feature::ALL.iter().zip(&mut runs_with) {
                *runs += u32::from(hostile.features.contains(feature));
            }
            let is_calm =
                [Feature::LateBursts, Feature::FarFuture].iter().all(|it| !hostile.features.contains(it));
            assert!(!is_calm || stamps.is_sorted(), "{hostile:?}");
        }
        assert!(runs_with.iter().all(|runs| (25..75).contains(runs)), "{runs_with:?}");
    }
}
