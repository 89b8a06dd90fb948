//! Slack of a query with respect to one of its streams: pure functions of numbers, all in ns counted from
//! now.
//!
//! ```text
//!   slack = w - t - cost                              Eq. 1; w: ingestion of the next sweeping watermark
//!
//!   ingested at w and on its way to the sinks         w - t - cost, which falls below zero and continues to fall
//!   no delay seen, or no deviation                    max(w - t, 0) - cost
//!   w normal, with mean m and deviation d             E[w | w >= t] - t - cost  =  m - t + d h(z) - cost,
//!                                                     z = (t - m) / d,  h(z) = phi(z) / Q(z),  Q(z) = 1 - Phi(z)
//! ```
//!
//! The third line is the mean of a normal distribution truncated to the part after t. Long after m it becomes d / z -
//! cost: an overdue query has almost no time left, but never less than none.
//!
//! Source: Klink (SIGMOD 2021), Eqs. 1 to 10. The closed form is ours; Eq. 8 computes the same expectation by a sum
//! over steps, see [`Expected::summed_slack_ns`]. The distribution is not truncated at t exactly, but at the last
//! time at which the sources were read: see [`Known::unseen_since_ns`].

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use thalweg_model::{EventTime, ProcessingTime};

use super::{CONFIDENCE_PERCENT, Estimate, KlinkSettings};
use crate::snapshot::StreamState;

/// Maximum number of steps of the sum in Eq. 8. If the range needs more, the steps get longer than the
/// paper's r, the duration of a cycle.
const MOST_STEPS: f64 = 256.0;

/// Greatest range of the sum in Eq. 8, in standard deviations on either side of the mean. Beyond it the
/// probability by which the sum is divided is too small for a double.
const MOST_REACH: f64 = 8.0;

/// Number of halvings by which the range of the sum in Eq. 8 is found for a confidence: enough for 15 digits.
const BISECTIONS: u32 = 60;

/// Facts about a query that hold for all of its streams.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) now: ProcessingTime,
    /// Time since which the input of the query's sources has not been read, in ns from now; zero or less. A
    /// watermark that was not seen by now may have arrived since then, but not before.
    pub(super) unseen_since_ns: f64,
    /// Time in ns to process all input that the query holds at present.
    pub(super) cost_ns: f64,
}

/// Returns the slack in ns, that is, how long the query may idle, as if `stream` were its only stream; `None`
/// if no operator waits for a watermark of the stream.
pub(super) fn slack_ns(settings: &KlinkSettings, known: Known, stream: &StreamState) -> Option<f64> {
    let Known { now, unseen_since_ns, cost_ns } = known;
    if stream.is_away {
        return None;
    }
    if let Some(swept) = stream.swept {
        return Some(from_now_ns(swept, now) - cost_ns);
    }
    let expected = expected(settings.estimate, now, stream)?;
    // From here on, instants are counted from the last time at which the source's input was read: the awaited
    // watermark has not arrived before it.
    let expected = Expected { mean_ns: expected.mean_ns - unseen_since_ns, ..expected };
    let charge_ns = cost_ns - unseen_since_ns;
    Some(match settings.estimate {
        Estimate::Sum { reach_deviations } => {
            expected.summed_slack_ns(charge_ns, settings.cycle_ns as f64, reach_deviations)
        }
        _ => expected.wait_ns() - charge_ns,
    })
}

/// Returns the expected arrival of the stream's next watermark that makes the query put out results; `None`
/// if there is none before the end of the stream.
fn expected(estimate: Estimate, now: ProcessingTime, stream: &StreamState) -> Option<Expected> {
    let deadline = stream.deadline.filter(|deadline| *deadline < EventTime::MAX)?;
    if let (Estimate::Regression, Some(progress)) = (estimate, stream.progress) {
        // The regression line predicts the arrival as one instant, so its deviation is zero.
        return Some(Expected {
            mean_ns: from_now_ns(progress.observed_at(deadline), now),
            deviation_ns: 0.0,
        });
    }
    let deadline_ns = (i128::from(deadline.as_micros()) * 1_000 - i128::from(now.as_nanos())) as f64;
    let delays = &stream.delays;
    let variance_ns2 = match estimate {
        Estimate::LiteralVariance => delays.variance_ns2 / f64::from(delays.epochs),
        _ => delays.variance_ns2,
    };
    // Without past delays, mean and deviation are zero: `max` turns the NaN of 0 / 0 into 0.
    Some(Expected { mean_ns: deadline_ns + delays.mean_ns, deviation_ns: variance_ns2.max(0.0).sqrt() })
}

/// Returns the nanoseconds from `now` to an instant; below zero if the instant is past.
pub(super) fn from_now_ns(instant: ProcessingTime, now: ProcessingTime) -> f64 {
    (i128::from(instant.as_nanos()) - i128::from(now.as_nanos())) as f64
}

/// Expected arrival of a watermark, in ns from the last time at which the sources were read: a normal
/// distribution, truncated to the part after zero, because the watermark had not arrived then.
#[derive(Clone, Copy, Debug)]
struct Expected {
    mean_ns: f64,
    /// Standard deviation of the arrival, in ns; zero or more. With zero, the watermark arrives at the mean
    /// exactly or, if the mean is past, at once.
    deviation_ns: f64,
}

impl Expected {
    /// Returns the expected time in ns until the awaited watermark arrives, if it has not arrived by time
    /// zero.
    fn wait_ns(self) -> f64 {
        if self.deviation_ns > 0.0 {
            self.deviation_ns * mean_excess(-self.mean_ns / self.deviation_ns)
        } else {
            self.mean_ns.max(0.0)
        }
    }

    /// Eq. 7: returns t_min and t_max, which are `reach_deviations` standard deviations before and after the
    /// mean.
    fn range_ns(self, reach_deviations: f64) -> (f64, f64) {
        let reach_ns = reach_deviations * self.deviation_ns;
        (self.mean_ns - reach_ns, self.mean_ns + reach_ns)
    }

    /// Eq. 8: returns the sum over x, from max(t_min, 0) to t_max in steps of r, of P(x <= w < x + r | w >=
    /// 0) (x + r - charge). The charge is the time in ns to process the input that the query holds, plus the
    /// time since its sources were last read.
    ///
    /// Kept from the paper: the right end of each step, which makes the slack longer by up to r; arrivals beyond
    /// t_max count as nothing; so an overdue watermark gets the empty sum, 0. Corrected: Eq. 9 has its condition
    /// inverted, Eq. 10 divides by the variance.
    fn summed_slack_ns(self, charge_ns: f64, step_ns: f64, reach_deviations: f64) -> f64 {
        let (least_ns, most_ns) = self.range_ns(reach_deviations.clamp(0.0, MOST_REACH));
        let from_ns = least_ns.max(0.0);
        if most_ns < from_ns {
            return 0.0;
        }
        if self.deviation_ns <= 0.0 {
            return from_ns + step_ns - charge_ns;
        }
        let step_ns = step_ns.max((most_ns - from_ns) / MOST_STEPS);
        let later_than = |instant_ns: f64| upper_tail((instant_ns - self.mean_ns) / self.deviation_ns);
        let steps = ((most_ns - from_ns) / step_ns) as u32;
        let (mut sum_ns, mut ahead) = (0.0, later_than(from_ns));
        for step in 0..=steps {
            let end_ns = from_ns + f64::from(step + 1) * step_ns;
            let behind = later_than(end_ns);
            sum_ns += (ahead - behind) * (end_ns - charge_ns);
            ahead = behind;
        }
        sum_ns / later_than(0.0)
    }
}

/// Returns the range of the sum in Eq. 8 for a confidence f in per cent: the number of deviations on either
/// side of the mean within which a normal variable lies with this probability. Algorithm 1 takes 2 for 95 %,
/// where it is 1.96. The result is at most [`MOST_REACH`].
pub(super) fn reach_deviations(confidence_percent: f64) -> f64 {
    if (confidence_percent - CONFIDENCE_PERCENT).abs() < 1e-9 {
        return 2.0;
    }
    let outside = 1.0 - confidence_percent / 100.0;
    let (mut least, mut most) = (0.0, MOST_REACH);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (least + most);
        if 2.0 * upper_tail(middle) > outside { least = middle } else { most = middle }
    }
    most
}

/// The z from which on the tail of the normal distribution is computed by a continued fraction, and below
/// which by a series. At this z both are exact to 12 digits.
const SERIES_END: f64 = 2.0;

/// Number of terms of the series and of the continued fraction: enough for 12 digits in the range where each
/// is used.
const TERMS: u32 = 80;

/// Returns phi(z): the density of the normal distribution.
fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() * (0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2)
}

/// Returns Q(z): the probability of the normal distribution beyond z, to a relative precision of 12 digits.
/// Source: Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), 26.2.11 near zero, 26.2.14 in the tails.
fn upper_tail(z: f64) -> f64 {
    if z.abs() > SERIES_END {
        let tail = density(z) / (z.abs() + excess_in_tail(z.abs()));
        return if z > 0.0 { tail } else { 1.0 - tail };
    }
    // The series z + z^3 / 3 + z^5 / (3 * 5) + ... of formula 26.2.11.
    let (mut sum, mut term) = (0.0, z);
    for count in 1..=TERMS {
        sum += term;
        term *= z * z / f64::from(2 * count + 1);
    }
    0.5 - density(z) * sum
}

/// Returns phi(z) / Q(z) - z: the mean distance beyond z of a normal variable that exceeds z. Above zero.
fn mean_excess(z: f64) -> f64 {
    // In the tail the difference of two large numbers loses digits, so the continued fraction computes it directly.
    if z > SERIES_END { excess_in_tail(z) } else { density(z) / upper_tail(z) - z }
}

/// Returns the mean distance beyond a large z of a normal variable that exceeds z: 1 / (z + 2 / (z + 3 / (z +
/// ...))), whose first term is the asymptote 1 / z.
fn excess_in_tail(z: f64) -> f64 {
    1.0 / (2..=TERMS).rev().fold(z, |rest, count| z + f64::from(count) / rest)
}

#[cfg(test)]
mod tests;
