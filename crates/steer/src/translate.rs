//! Translators: the ranks of one round become priorities of the operating system.
//!
//! ```text
//!   ranks            class 0: 120, 30     class 1: 7     not eligible     of one round, with the scale of the scores
//!   level            0        6           20             39               logarithmic; 0 is the most urgent
//!   nice             -20      -14         0              19               or a real-time priority, or CPU shares
//! ```
//!
//! All translators work in two steps. [`Curve::levels`] gives each thread a level from 0, the most urgent, on. The second
//! step gives each level a number of the operating system: [`Nice`], [`RealTime`] or [`Shares`].
//!
//! Rules of the levels:
//!
//! * Class dominates score: each class that occurs has levels of its own, about equally many.
//! * The order is kept: of two threads, the one with the better rank never has the less urgent level. Tie-breaks of ranks
//!   are not looked at, so equal scores have equal levels.
//! * A thread whose operator is not eligible has the last level, and if there is such a thread, no other has that level
//!   unless there are too few levels. It is never stopped: a full queue in front of it could otherwise never be emptied.
//! * Within a class the curve decides, by the [`Scale`] of the policy's scores: see [`Curve`].
//!
//! A score that is NaN or infinite has no level. It is an error, so that the whole round is skipped, as in the published
//! program; the priorities of the round before remain.

use std::fmt;

use thalweg_scheduling::{Rank, Scale};

/// Number of nice values: -20, the most urgent, to 19.
pub const NICE_LEVELS: u32 = 40;

/// Most urgent nice value.
const NICE_BEST: i32 = -20;

/// Ratio of the CPU time of two threads whose nice values differ by 1, in the kernel's table of weights.
pub const NICE_RATIO: f64 = 1.25;

/// CPU weight of a thread with nice value 0, which is also the default of a group's shares.
const NICE_0_WEIGHT: f64 = 1024.0;

/// The way in which scores of a class become levels, if ratios of scores are meaningful.
///
/// If only differences are meaningful ([`Scale::Interval`]), the curve is always `Linear`. If only the order is
/// ([`Scale::Ordinal`]), the distinct scores are spread evenly over the levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Curve {
    /// The level rises by 1 when the score falls by a factor of 1.25: level = log_1.25((v_max + h) / (v + h)), with h =
    /// 1, or 1 + |v_min| if there are scores below zero. So the kernel gives threads CPU time in proportion to v + h.
    /// If the last score would fall behind the last level, all levels are compressed by one factor.
    ///
    /// This is what Lachesis' published program does. Ours: if the smallest score above zero is below 1, all scores
    /// are scaled so that it becomes 1, since h would make small scores equal.
    #[default]
    Logarithmic,
    /// The level rises evenly while the score falls from the greatest of its class to the least (min-max normalisation:
    /// Lachesis, section 3.1, "Translators"). If all scores are equal, all have the first level.
    Linear,
}

/// Error: a score has no level, so the round must be skipped.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Unusable {
    /// Index of the thread in the list of the round.
    pub place: usize,
    /// The score that the policy has given to the thread's operator, which is NaN or infinite.
    pub score: f64,
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} has the score {}, which is no number to rank by", self.place, self.score)
    }
}

impl std::error::Error for Unusable {}

impl Curve {
    /// Returns the level of each thread, from 0, the most urgent, to `levels - 1`. `ranks` has an entry for each thread,
    /// which is `None` if its operator is not eligible.
    ///
    /// # Errors
    /// [`Unusable`] if a score is NaN or infinite.
    ///
    /// # Panics
    /// If `levels` is 0.
    pub fn levels(self, scale: Scale, ranks: &[Option<Rank>], levels: u32) -> Result<Vec<u32>, Unusable> {
        assert!(levels > 0, "there is at least one level");
        let scored = ranks.iter().enumerate().filter_map(|(place, rank)| Some((place, (*rank)?)));
        if let Some((place, Rank { score, .. })) = scored.clone().find(|(_, rank)| !rank.score.is_finite()) {
            return Err(Unusable { place, score });
        }
        let mut classes: Vec<u8> = scored.clone().map(|(_, rank)| rank.class).collect();
        classes.sort_unstable();
        classes.dedup();
        let last = levels - 1;
        let has_others = ranks.iter().any(Option::is_none);
        let mut found = vec![last; ranks.len()];
        for (index, &class) in classes.iter().enumerate() {
            let Range { first, width } = Range::of(index, classes.len(), levels - u32::from(has_others));
            let of_class: Vec<(usize, f64)> = scored
                .clone()
                .filter(|(_, rank)| rank.class == class)
                .map(|(place, rank)| (place, rank.score))
                .collect();
            let scores: Vec<f64> = of_class.iter().map(|(_, score)| *score).collect();
            for ((place, _), step) in of_class.iter().zip(self.steps(scale, &scores, width - 1)) {
                found[*place] = (first + rounded(step)).min(last);
            }
        }
        Ok(found)
    }

    /// Returns for each score its distance from the first level, from 0 to `most`, before it is rounded.
    fn steps(self, scale: Scale, scores: &[f64], most: u32) -> Vec<f64> {
        let most = f64::from(most);
        match (scale, self) {
            (Scale::Ratio, Curve::Logarithmic) => logarithmic(scores, most),
            (Scale::Ratio, Curve::Linear) | (Scale::Interval, _) => linear(scores, most),
            (Scale::Ordinal, _) => ordinal(scores, most),
        }
    }
}

/// The levels of one class.
struct Range {
    first: u32,
    /// Number of levels of the class; at least 1.
    width: u32,
}

impl Range {
    /// Returns the levels of the class with the number `index` among `classes` classes that share `levels` levels. The
    /// first class gets those that are left over. If there are more classes than levels, the last ones share a level.
    fn of(index: usize, classes: usize, levels: u32) -> Range {
        // The class of a rank is a `u8`, so there are at most 256 classes.
        let (index, classes, levels) = (index as u32, classes as u32, levels.max(1));
        let each = (levels / classes).max(1);
        let left_over = levels.saturating_sub(each * classes);
        if index == 0 {
            return Range { first: 0, width: each + left_over };
        }
        let first = (each * index + left_over).min(levels - 1);
        Range { first, width: each.min(levels - first) }
    }
}

/// Rounds a distance from the first level to a whole level; halves go to the more urgent one.
fn rounded(step: f64) -> u32 {
    (step - 0.5).ceil().max(0.0) as u32
}

fn logarithmic(scores: &[f64], most: f64) -> Vec<f64> {
    let least = scores.iter().copied().fold(0.0, f64::min);
    let least_positive = scores.iter().copied().filter(|score| *score > 0.0).fold(f64::INFINITY, f64::min);
    // Scores below zero are moved up to 1, so small scores need not be scaled beside them.
    let unit = if least < 0.0 { 1.0 } else { least_positive.min(1.0) };
    // The logarithm of v + h, less that of 2: halves keep the sum within a double. Where a scaled score is beyond a
    // double, h does not matter beside it.
    let of = |score: f64| {
        let scaled = score / unit;
        if scaled.is_finite() {
            (scaled / 2.0 - least / 2.0 + 0.5).max(0.5).ln()
        } else {
            score.ln() - unit.ln() - 2_f64.ln()
        }
    };
    let raw: Vec<f64> = scores.iter().map(|&score| of(score)).collect();
    let greatest = raw.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let steps: Vec<f64> = raw.iter().map(|raw| (greatest - raw) / NICE_RATIO.ln()).collect();
    let farthest = steps.iter().copied().fold(0.0, f64::max);
    let factor = if farthest > most { most / farthest } else { 1.0 };
    steps.into_iter().map(|step| step * factor).collect()
}

fn linear(scores: &[f64], most: f64) -> Vec<f64> {
    let least = scores.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // Halves keep the difference of two large scores of opposite signs within a double.
    let span = greatest / 2.0 - least / 2.0;
    let step = |score: f64| if span > 0.0 { (greatest / 2.0 - score / 2.0) / span * most } else { 0.0 };
    scores.iter().map(|&score| step(score)).collect()
}

fn ordinal(scores: &[f64], most: f64) -> Vec<f64> {
    let mut distinct = scores.to_vec();
    distinct.sort_unstable_by(|one, other| other.total_cmp(one));
    // -0.0 and 0.0 are equal and get one level.
    distinct.dedup_by(|one, other| *one == *other);
    let last = distinct.len().saturating_sub(1).max(1) as f64;
    let place = |score: f64| distinct.partition_point(|other| *other > score) as f64;
    scores.iter().map(|&score| place(score) / last * most).collect()
}

/// The translator to nice values, from -20 to 19: levels of a [`Curve`] from the best value on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Nice {
    /// The way in which scores become levels.
    pub curve: Curve,
}

impl Nice {
    /// Returns the nice value of each thread.
    ///
    /// # Errors
    /// [`Unusable`] if a score is NaN or infinite.
    pub fn translate(self, scale: Scale, ranks: &[Option<Rank>]) -> Result<Vec<i32>, Unusable> {
        let levels = self.curve.levels(scale, ranks, NICE_LEVELS)?;
        Ok(levels.into_iter().map(|level| NICE_BEST + level as i32).collect())
    }
}

/// The translator to priorities of real-time threads: linear from `most`, the most urgent, to `least`.
///
/// Source: the Lachesis paper of 2023, section 4; its program gives the priorities 1 to 99. Ours stops at 98, so that
/// a watchdog with priority 99 can stop every thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RealTime {
    least: u8,
    most: u8,
}

impl Default for RealTime {
    fn default() -> Self {
        RealTime::FULL
    }
}

impl RealTime {
    /// Least real-time priority of Linux.
    pub const LEAST: u8 = 1;
    /// Greatest priority that is given to a thread: one below the greatest of Linux, which the watchdog has.
    pub const MOST: u8 = 98;

    /// The translator to all priorities, from [`LEAST`](Self::LEAST) to [`MOST`](Self::MOST).
    pub const FULL: RealTime = RealTime { least: RealTime::LEAST, most: RealTime::MOST };

    /// Makes the translator to priorities from `least` to `most`; `None` if these are not within [`LEAST`](Self::LEAST)
    /// and [`MOST`](Self::MOST), or in the wrong order.
    pub fn within(least: u8, most: u8) -> Option<Self> {
        let is_right = RealTime::LEAST <= least && least <= most && most <= RealTime::MOST;
        is_right.then_some(RealTime { least, most })
    }

    /// Returns the real-time priority of each thread; a greater one is more urgent. If all scores are equal, all have
    /// the greatest.
    ///
    /// # Errors
    /// [`Unusable`] if a score is NaN or infinite.
    pub fn translate(self, scale: Scale, ranks: &[Option<Rank>]) -> Result<Vec<u8>, Unusable> {
        let levels = Curve::Linear.levels(scale, ranks, u32::from(self.most - self.least) + 1)?;
        Ok(levels.into_iter().map(|level| self.most - level as u8).collect())
    }
}

/// The file of a control group that divides CPU time among groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharesFile {
    /// `cpu.shares` of control groups, version 1: 2 to 262,144.
    Shares,
    /// `cpu.weight` of control groups, version 2: 1 to 10,000.
    Weight,
}

impl SharesFile {
    /// Returns the least and the greatest number that the kernel takes.
    pub const fn bounds(self) -> (u32, u32) {
        match self {
            SharesFile::Shares => (2, 262_144),
            SharesFile::Weight => (1, 10_000),
        }
    }

    /// Returns the number in this file of a group that gets as much CPU time as one thread with nice value 0.
    const fn middle(self) -> f64 {
        match self {
            SharesFile::Shares => NICE_0_WEIGHT,
            SharesFile::Weight => 100.0,
        }
    }
}

/// Least shares that a group gets with [`Curve::Linear`], in per cent of the greatest number of the file.
///
/// The paper's text maps scores to the whole range of a form. For shares that would be 2 of 262,144, or 8 µs of each second
/// beside one group with the greatest number: a lock that needs 1 ms of CPU time would be held for two minutes. With 1 % it is
/// 10 ms of each second, so every operator runs within a period of a second. It is also the least part of a core that
/// [`bandwidths_us`] gives, 1 ms of 100 ms. Ours.
pub const LINEAR_FLOOR_PERCENT: u32 = 1;

/// The translator to the CPU shares of control groups, each of which has the threads of one operator, query or the
/// like. Not evaluated in the paper: ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shares {
    /// The file that divides CPU time.
    pub file: SharesFile,
    /// The way in which scores become shares. With `Logarithmic`, a group has the weight of a thread with the nice
    /// value that [`Nice`] would give, so shares are as v + h. With `Linear`, shares fall evenly from the greatest
    /// number of the file to [`LINEAR_FLOOR_PERCENT`] of it.
    pub curve: Curve,
}

impl Shares {
    /// Returns the number to write for each group.
    ///
    /// # Errors
    /// [`Unusable`] if a score is NaN or infinite.
    pub fn translate(self, scale: Scale, ranks: &[Option<Rank>]) -> Result<Vec<u32>, Unusable> {
        let (least, most) = self.file.bounds();
        match self.curve {
            Curve::Logarithmic => {
                let nice = Nice { curve: self.curve }.translate(scale, ranks)?;
                let weight = |nice: i32| self.file.middle() * NICE_RATIO.powi(-nice);
                let within = |weight: f64| (weight.round() as u32).clamp(least, most);
                Ok(nice.into_iter().map(|nice| within(weight(nice))).collect())
            }
            Curve::Linear => {
                let least = (most / 100 * LINEAR_FLOOR_PERCENT).max(least);
                let levels = Curve::Linear.levels(scale, ranks, most - least + 1)?;
                Ok(levels.into_iter().map(|level| most - level).collect())
            }
        }
    }
}

/// Least limit of CPU time in a period that the kernel takes for a control group, in µs.
pub const BANDWIDTH_US_MIN: u64 = 1_000;

/// Returns for each group the CPU time in µs that it may use in a period: of `all_us`, the time of all cores, the part
/// that its score has in the sum of scores, v / Σv, and at least [`BANDWIDTH_US_MIN`]. Scores that are not above zero, and
/// groups that are not eligible, get the least, so they are slowed down but never stopped. If no score is above zero,
/// every group may use all cores.
///
/// Source: the Lachesis of 2021 bounds the CPU time of groups; the division by scores is ours.
///
/// # Errors
/// [`Unusable`] if a score is NaN or infinite.
pub fn bandwidths_us(scores: &[Option<f64>], all_us: u64) -> Result<Vec<u64>, Unusable> {
    let unusable = |(place, score): (usize, &Option<f64>)| {
        score.filter(|score| !score.is_finite()).map(|score| Unusable { place, score })
    };
    if let Some(unusable) = scores.iter().enumerate().find_map(unusable) {
        return Err(unusable);
    }
    let all_us = all_us.max(BANDWIDTH_US_MIN);
    let positive = |score: &Option<f64>| score.unwrap_or(0.0).max(0.0);
    let greatest = scores.iter().map(positive).fold(0.0, f64::max);
    if greatest == 0.0 {
        return Ok(vec![all_us; scores.len()]);
    }
    // Scores are divided by the greatest one, so that their sum stays within a double.
    let sum: f64 = scores.iter().map(|score| positive(score) / greatest).sum();
    let part_us = |score: &Option<f64>| (positive(score) / greatest / sum * all_us as f64) as u64;
    Ok(scores.iter().map(|score| part_us(score).clamp(BANDWIDTH_US_MIN, all_us)).collect())
}

#[cfg(test)]
mod tests;
