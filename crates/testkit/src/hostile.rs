//! Streams of difficult records, from a seed.
//!
//! Each run has a random subset of the [`Feature`]s and draws the other properties from skewed choices: spread
//! of stamps, number of keys, size of windows, bound and step of watermarks. Stamps stay within ±2^61 µs, so
//! that their differences and the borders of their windows fit 64 bits. [`Sides`] are several such streams for
//! a union or a join.

mod sides;

use serde::{Deserialize, Serialize};
use thalweg_model::{Entropy, EventTime, Record, SlidingWindows, Span, TumblingWindows, WatermarkStrategy};

use crate::arrival::{Arrival, arrivals};
use crate::oracle;
use crate::seed::pick;

pub use sides::{SideFeature, Sides};

/// Largest distance of an event time from the epoch, in microseconds.
const STAMP_US_MAX: i64 = 1 << 61;

/// A way in which a stream of test records is hostile, that is, difficult for an operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Feature {
    /// There are runs of records with the same event time.
    EqualStamps,
    /// Event times begin before the epoch.
    NegativeTimes,
    /// Nine in ten records have the same key.
    HotKey,
    /// There are spans of many windows without a record.
    EmptySpans,
    /// There are runs of records whose event times are several window sizes below those of the records before
    /// them.
    LateBursts,
    /// There are single records whose event times are at most one window size below those of the records
    /// before them. They are late for some of the overlapping windows, and not for all.
    Stragglers,
    /// There is an event time centuries ahead, after which every record in the present is late.
    FarFuture,
    /// There are runs of records of one key, each one session gap after the record before it, or a
    /// microsecond more or less.
    GapBorders,
    /// There are consecutive watermarks without a record between them. Only [`Arrival`]s show this feature,
    /// because lists of records have no watermarks.
    EmptyEpochs,
}

impl Feature {
    /// All ways in which a stream may be hostile.
    pub const ALL: [Feature; 9] = [
        Feature::EqualStamps,
        Feature::NegativeTimes,
        Feature::HotKey,
        Feature::EmptySpans,
        Feature::LateBursts,
        Feature::Stragglers,
        Feature::FarFuture,
        Feature::GapBorders,
        Feature::EmptyEpochs,
    ];
}

/// A hostile stream, and the sizes of the windows and sessions for which it is hostile.
#[derive(Clone, Debug)]
pub struct Hostile {
    /// Features of this stream; the others are disabled.
    pub features: Vec<Feature>,
    /// Tumbling windows that the stream is made for.
    pub windows: oracle::Windows,
    /// Slide of the sliding windows in microseconds, from a sixteenth of their size to more than their size.
    pub slide_us: i64,
    /// Gap of the session windows in microseconds.
    pub gap_us: i64,
    /// Size and slide of the count windows, in records of one key.
    pub counting: oracle::Counting,
    /// Allowed lateness in microseconds: how late a record may be and still count.
    pub allowed_us: i64,
    /// Promise of the stream's source about the order of its records.
    pub promise: oracle::Promise,
    /// Largest distance between the event times of two consecutive records, in microseconds.
    spread_us: u64,
    /// Number of different keys; all keys are below it.
    keys: u64,
}

/// The value of each record of a hostile stream: a key and an amount.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Reading {
    /// Key of the reading, below the number of keys.
    pub key: u64,
    /// Amount of the reading, from -500 to 499.
    pub amount: i64,
}

impl Hostile {
    /// Draws the features, window sizes and other settings of a hostile stream.
    pub fn draw(entropy: &mut dyn Entropy) -> Self {
        let mut features = Feature::ALL.to_vec();
        features.retain(|_| entropy.below(2) == 0);
        let size_us = pick(entropy, &[1, 7, 10, 100, 1_000]);
        let windows = oracle::Windows { size_us, offset_us: entropy.below(40) as i64 - 20 };
        let promise = oracle::Promise {
            bound_us: pick(entropy, &[0, 0, 1, 50, 1_000, size_us / 2, size_us]),
            step_us: pick(entropy, &[0, 1, 10, 1_000]),
        };
        let spread_us = pick(entropy, &[1, 3, 20, 200, size_us as u64, 3 * size_us as u64]);
        let keys = pick(entropy, &[1, 3, 20, 200]);
        let least_slide_us = (size_us / 16).max(1);
        // A slide of half or a fifth of the size divides windows into few panes; the other slides divide them
        // into many.
        let longer = size_us + 1 + size_us / 2;
        let slides = [size_us, size_us / 2, size_us / 5, size_us - 1, size_us / 3, least_slide_us, longer];
        let slide_us = pick(entropy, &slides).max(least_slide_us);
        let gap_us = pick(entropy, &[1, 2, 10, 100]);
        let allowed_us = pick(entropy, &[0, 1, size_us / 2, size_us, 3 * size_us + 1]);
        let counting =
            oracle::Counting { size: pick(entropy, &[1, 2, 5]), slide: pick(entropy, &[1, 2, 3, 5, 7]) };
        Hostile { features, windows, slide_us, gap_us, counting, allowed_us, promise, spread_us, keys }
    }

    /// Makes `count` records of the stream, as event times in microseconds and values.
    pub fn readings(&self, count: usize, entropy: &mut dyn Entropy) -> Vec<(i64, Reading)> {
        let start_us = self.start_us(entropy);
        self.readings_from(start_us, count, entropy)
    }

    /// Makes `count` records of the stream with watermarks between them: the watermarks that the source
    /// promises and, with [`Feature::EmptyEpochs`], some more.
    pub fn arrivals(&self, count: usize, entropy: &mut dyn Entropy) -> Vec<Arrival<Reading>> {
        self.with_watermarks(&self.readings(count, entropy), entropy)
    }

    /// Returns the event time in microseconds at which the stream begins.
    fn start_us(&self, entropy: &mut dyn Entropy) -> i64 {
        if self.has(Feature::NegativeTimes) { -(entropy.below(100_000) as i64) } else { 0 }
    }

    fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    fn readings_from(&self, start_us: i64, count: usize, entropy: &mut dyn Entropy) -> Vec<(i64, Reading)> {
        let has = |feature| self.has(feature);
        let mut at = start_us;
        let mut last_key = 0;
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
            let size_us = self.windows.size_us as u64;
            let behind = match () {
                () if late_left > 0 => entropy.below(size_us * 5 + 20),
                () if has(Feature::Stragglers) && entropy.below(3) == 0 => entropy.below(size_us + 2),
                () => 0,
            };
            let is_hot = has(Feature::HotKey) && entropy.below(10) > 0;
            let mut key = if is_hot { 0 } else { entropy.below(self.keys) };
            if has(Feature::GapBorders) && entropy.below(3) == 0 {
                at += self.gap_us - 1 + entropy.below(3) as i64;
                key = last_key;
            }
            last_key = key;
            readings.push((at - behind as i64, Reading { key, amount: entropy.below(1_000) as i64 - 500 }));
            // The far future is a single instant: later records are in the present again, and are late.
            if at > STAMP_US_MAX / 4 && entropy.below(2) == 0 {
                at = entropy.below(10_000) as i64;
            }
        }
        readings
    }

    fn with_watermarks(
        &self,
        readings: &[(i64, Reading)],
        entropy: &mut dyn Entropy,
    ) -> Vec<Arrival<Reading>> {
        let mut made = Vec::with_capacity(2 * readings.len());
        let mut last_us = None;
        for arrival in arrivals(readings, self.promise) {
            if self.has(Feature::EmptyEpochs) && entropy.below(8) == 0 {
                for _ in 0..1 + entropy.below(3) {
                    let more_max =
                        pick(entropy, &[self.windows.size_us as u64 / 4, 2 * self.windows.size_us as u64]);
                    let more_us = 1 + entropy.below(more_max) as i64;
                    last_us = last_us.map(|last| last + more_us);
                    made.extend(last_us.map(Arrival::Watermark));
                }
            }
            match arrival {
                Arrival::Watermark(watermark_us) if Some(watermark_us) <= last_us => {}
                Arrival::Watermark(watermark_us) => {
                    // With the feature of empty epochs, additional watermarks come before this one.
                    while let Some(last) = last_us.filter(|_| self.has(Feature::EmptyEpochs)) {
                        let on_the_way = last + 1 + entropy.below((watermark_us - last) as u64) as i64;
                        if on_the_way >= watermark_us || entropy.below(2) == 0 {
                            break;
                        }
                        made.push(Arrival::Watermark(on_the_way));
                        last_us = Some(on_the_way);
                    }
                    made.push(arrival);
                    last_us = Some(watermark_us);
                }
                Arrival::Record(..) => made.push(arrival),
            }
        }
        made
    }

    /// Returns sliding windows with the same size and offset as the stream's tumbling windows.
    pub fn sliding(&self) -> oracle::Sliding {
        let oracle::Windows { size_us, offset_us } = self.windows;
        oracle::Sliding { size_us, slide_us: self.slide_us, offset_us }
    }

    /// Returns the sliding windows with the stream's allowed lateness.
    pub fn lenient(&self) -> oracle::Lenient {
        oracle::Lenient { windows: self.sliding(), allowed_us: self.allowed_us }
    }

    /// Returns the tumbling windows in the engine's type.
    ///
    /// # Panics
    /// Never: sizes are above zero.
    pub fn tumbling(&self) -> TumblingWindows {
        tumbling(self.windows)
    }

    /// Returns the source's promise as a watermark strategy of the engine.
    pub fn strategy(&self) -> WatermarkStrategy {
        let oracle::Promise { bound_us, step_us } = self.promise;
        WatermarkStrategy::bounded_out_of_order(Span::from_micros(bound_us))
            .with_step(Span::from_micros(step_us))
    }
}

/// Converts tumbling windows from the oracle's type to the engine's.
///
/// # Panics
/// If their size is not above zero.
pub fn tumbling(windows: oracle::Windows) -> TumblingWindows {
    let size = TumblingWindows::new(Span::from_micros(windows.size_us)).expect("sizes are above zero");
    size.with_offset(Span::from_micros(windows.offset_us))
}

/// Converts sliding windows from the oracle's type to the engine's.
///
/// # Panics
/// If their size or their slide is not above zero.
pub fn sliding(windows: oracle::Sliding) -> SlidingWindows {
    let oracle::Sliding { size_us, slide_us, offset_us } = windows;
    let size = SlidingWindows::of_size(Span::from_micros(size_us));
    let windows = size.every(Span::from_micros(slide_us)).expect("sizes and slides are above zero");
    windows.with_offset(Span::from_micros(offset_us))
}

/// Converts event times and values to records of the engine.
pub fn records<T: Clone>(input: &[(i64, T)]) -> impl Iterator<Item = Record<T>> {
    input.iter().map(|(at_us, value)| Record::new(EventTime::from_micros(*at_us), value.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::entropy_for;

    /// Over a hundred seeds each feature of a stream occurs in about half of the runs and has its effect, and
    /// event times never leave their range.
    #[test]
    fn features_come_and_go_and_do_what_they_say() {
        let mut runs_with = [0; Feature::ALL.len()];
        for seed in 0..100 {
            let mut entropy = entropy_for(seed, "hostile");
            let hostile = Hostile::draw(&mut entropy);
            let arrivals = hostile.arrivals(500, &mut entropy);
            let (stamps, watermarks): (Vec<&Arrival<Reading>>, Vec<&Arrival<Reading>>) =
                arrivals.iter().partition(|arrival| matches!(arrival, Arrival::Record(..)));
            let at = |arrival: &Arrival<Reading>| match *arrival {
                Arrival::Record(at_us, _) | Arrival::Watermark(at_us) => at_us,
            };
            assert!(stamps.iter().all(|arrival| at(arrival).abs() <= STAMP_US_MAX), "{hostile:?}");
            assert!(watermarks.is_sorted_by(|a, b| at(a) < at(b)), "{hostile:?}");
            for (feature, runs) in Feature::ALL.iter().zip(&mut runs_with) {
                *runs += u32::from(hostile.features.contains(feature));
            }
            let unsorted = [Feature::LateBursts, Feature::Stragglers, Feature::FarFuture];
            let is_calm = unsorted.iter().all(|it| !hostile.features.contains(it));
            assert!(!is_calm || stamps.is_sorted_by_key(|arrival| at(arrival)), "{hostile:?}");
            let is_watermark = |arrival: &Arrival<Reading>| matches!(arrival, Arrival::Watermark(_));
            let has_empty_epoch = arrivals.windows(2).any(|pair| pair.iter().all(is_watermark));
            assert_eq!(has_empty_epoch, hostile.features.contains(&Feature::EmptyEpochs), "{hostile:?}");
            assert!((1..=2 * hostile.windows.size_us).contains(&hostile.slide_us), "{hostile:?}");
        }
        assert!(runs_with.iter().all(|runs| (25..75).contains(runs)), "{runs_with:?}");
    }
}
