//! A load that changes while it is offered: steps of the rate, bursts, messages of several records, and how long these are on
//! their way.
//!
//! ```text
//!   rate per s     ----____----        steps: from this instant on, so many
//!   times          _-_|-__-_|_         Pareto: each second its own share of it
//!   messages       |   | ||   |        one is sent when its records have come together, or at random (Poisson)
//!   delayed        .|...||.|...|       it arrives later, behind those before it
//! ```
//!
//! All of it follows from the numbers here and a seed, so whoever checks a run can tell every time stamp ([`Stamps`]).
//! Records bear the time at which their message is to be sent, and latency counts from there: what was long on its way, or
//! came in a burst, is late.
//!
//! Sources: Xu et al., "Move Fast and Meet Deadlines: Fine-grained Real-time Stream Processing with Cameo", NSDI 2021,
//! section 6 (messages of 1,000 events, data volumes by Pareto's distribution; it tells neither shape nor interval); Farhat et
//! al., "Klink: Progress-Aware Scheduling for Streaming Data Systems", SIGMOD 2021, section 6 (delays, uniform or by Zipf's law
//! with exponent 0.99; a delay of rank `k` is ours: `k` milliseconds of 1,000).
//!
//! [`Stamps`]: super::Stamps

use std::fmt;
use std::ops::Range;

use thalweg_model::{Coded, Span};

use super::course::Course;
use super::schedule::RATE_PER_S_MAX;

/// Steps of a load: a change every second for a minute, and more than anybody writes on a command line.
pub const STEPS_MAX: usize = 64;

/// What a shape of Pareto's distribution may be. From 1 down it has no mean; at 100 all intervals are nearly alike.
pub const PARETO_SHAPES: (f64, f64) = (1.01, 100.0);

/// The most that an interval may have, as a multiple of the mean. Without a bound there is no telling what a run of some
/// minutes has on average, as the variance is infinite up to shape 2; and a bound of 20 lets the greatest burst be worked
/// off by whoever is used to a twentieth. At shape 1.5 it cuts off one interval in 500.
pub const PARETO_TIMES_MAX: u64 = 20;

/// Records of a message: a hundred of Cameo's. What waits in a message waits in no memory.
pub const MESSAGE_RECORDS_MAX: u64 = 100_000;

/// The longest delay: of networks that work; and what is under way when a run ends is not in it.
pub const DELAY_MAX: Span = Span::from_secs(60);

/// The highest exponent of Zipf's law: there one of 250 is not of the first rank.
pub const ZIPF_EXPONENT_MAX: f64 = 8.0;

/// Delays by Zipf's law are 1 to so many milliseconds.
pub const ZIPF_DELAYS: usize = 1_000;

/// When each interval of [`Arrivals::Pareto`] ends.
pub(super) const BURST_NS: u64 = 1_000_000_000;

/// Where there are no messages, what is to be sent within a tick has one delay. A tick is as long as the longest delay: if it
/// were much shorter, nearly all would wait for one before them that has a long one, and hardly any delay would be the one that
/// was drawn. (By Zipf's law with exponent 0.99, in ticks of 10 ms, the mean is not 137 ms but 700.) This is the shortest: ten
/// watermarks of the usual step.
pub(super) const TICK_NS_MIN: u64 = 10_000_000;

/// A load, at a rate that is told elsewhere. The default is that rate, record by record, at once.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Load {
    /// By rising time.
    pub steps: Vec<RateStep>,
    /// When messages are to be sent.
    pub arrivals: Arrivals,
    /// So many records are sent at a time and arrive together; if none, one.
    pub message_records: Option<u64>,
    /// How long messages are on their way; or if there are none, all that is to be sent within a span as long as the longest
    /// delay, 10 ms at least. Nobody overtakes: who comes too early waits for the one before.
    pub delay: Delay,
    /// Where the random numbers start.
    pub seed: u64,
}

/// A change of the rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateStep {
    /// How long after the first record was to be sent; above zero.
    pub from: Span,
    /// Records per second from then on, until the next step.
    pub rate_per_s: u64,
}

/// When messages are to be sent.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Arrivals {
    /// As evenly as can be: whenever the rate, summed up over time, has brought all records of the next one.
    #[default]
    Constant,
    /// Independently of each other: gaps are exponential, and on average as long as they would be evenly.
    Poisson,
    /// Evenly at a rate of its own each second: the rate times a number drawn from Pareto's distribution, whose mean is 1
    /// and that is cut off at [`PARETO_TIMES_MAX`].
    Pareto {
        /// The lower, the rarer and higher the bursts; within [`PARETO_SHAPES`].
        shape: f64,
    },
}

/// How long messages are on their way.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Delay {
    /// Not at all.
    #[default]
    None,
    /// As likely as not for any time up to a greatest.
    Uniform {
        /// The greatest; at most [`DELAY_MAX`].
        max: Span,
    },
    /// 1 to [`ZIPF_DELAYS`] milliseconds, which are the ranks of Zipf's law.
    Zipf {
        /// The lower, the more are long; from 0 to [`ZIPF_EXPONENT_MAX`].
        exponent: f64,
    },
}

impl Load {
    /// Whether it does not change, and nothing is held up.
    pub fn is_steady(&self) -> bool {
        *self == Load { seed: self.seed, ..Load::default() }
    }

    /// Whether it can be offered, beginning at this rate.
    ///
    /// # Errors
    /// [`LoadError`], but for those of a source.
    pub fn check(&self, rate_per_s: u64) -> Result<(), LoadError> {
        check_steps(&self.steps)?;
        self.arrivals.check()?;
        check_message_records(self.message_records.unwrap_or(1))?;
        self.delay.check()?;
        let most = match self.arrivals {
            Arrivals::Pareto { .. } => RATE_PER_S_MAX / PARETO_TIMES_MAX,
            Arrivals::Constant | Arrivals::Poisson => RATE_PER_S_MAX,
        };
        let rates = self.steps.iter().map(|step| step.rate_per_s).chain([rate_per_s]);
        rates.into_iter().try_for_each(|rate_per_s| within("rate", rate_per_s, (1, most), " records/s"))
    }

    /// Records per second on average over a part of the run, told from its start on: with the bursts that were drawn, and
    /// with gaps as they are on average. Zero over nothing.
    ///
    /// # Errors
    /// [`LoadError`] if there can be no such load at this rate.
    pub fn mean_rate_per_s(&self, rate_per_s: u64, over: Range<Span>) -> Result<f64, LoadError> {
        self.check(rate_per_s)?;
        let [from_ns, to_ns] = [over.start, over.end].map(nanos);
        let course = Course::new(self, rate_per_s);
        Ok(if from_ns < to_ns { course.mean_rate_per_s(from_ns, to_ns) } else { 0.0 })
    }
}

/// Whether these can be steps of a load.
///
/// # Errors
/// [`LoadError::OutOfBounds`], [`LoadError::StepsOutOfOrder`].
pub fn check_steps(steps: &[RateStep]) -> Result<(), LoadError> {
    within("number of steps", steps.len() as u64, (0, STEPS_MAX as u64), "")?;
    for step in steps {
        within("rate of a step", step.rate_per_s, (1, RATE_PER_S_MAX), " records/s")?;
    }
    let mut latest = Span::ZERO;
    for &RateStep { from, .. } in steps {
        if from <= latest {
            return Err(LoadError::StepsOutOfOrder { from, before: latest });
        }
        latest = from;
    }
    Ok(())
}

/// Whether messages can have so many records.
///
/// # Errors
/// [`LoadError::OutOfBounds`].
pub fn check_message_records(records: u64) -> Result<(), LoadError> {
    within("message's size", records, (1, MESSAGE_RECORDS_MAX), " records")
}

impl Arrivals {
    /// Whether there can be such.
    ///
    /// # Errors
    /// [`LoadError::OutOfBounds`].
    pub fn check(self) -> Result<(), LoadError> {
        match self {
            Arrivals::Constant | Arrivals::Poisson => Ok(()),
            Arrivals::Pareto { shape } => real_within("shape", shape, PARETO_SHAPES),
        }
    }
}

impl Delay {
    /// Whether there can be such.
    ///
    /// # Errors
    /// [`LoadError::OutOfBounds`].
    pub fn check(self) -> Result<(), LoadError> {
        match self {
            Delay::None => Ok(()),
            Delay::Uniform { max } => {
                let micros = u64::try_from(max.as_micros()).unwrap_or(0);
                within("longest delay", micros, (0, DELAY_MAX.as_micros().unsigned_abs()), " us")
            }
            Delay::Zipf { exponent } => real_within("exponent", exponent, (0.0, ZIPF_EXPONENT_MAX)),
        }
    }
}

/// Nanoseconds of a span; none if it is below zero.
pub(super) fn nanos(span: Span) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(0).saturating_mul(1_000)
}

fn within(
    what: &'static str,
    value: u64,
    (min, max): (u64, u64),
    unit: &'static str,
) -> Result<(), LoadError> {
    let is_within = (min..=max).contains(&value);
    let told = |number: u64| number as f64;
    let error = LoadError::OutOfBounds { what, value: told(value), min: told(min), max: told(max), unit };
    if is_within { Ok(()) } else { Err(error) }
}

fn real_within(what: &'static str, value: f64, (min, max): (f64, f64)) -> Result<(), LoadError> {
    let is_within = (min..=max).contains(&value);
    if is_within { Ok(()) } else { Err(LoadError::OutOfBounds { what, value, min, max, unit: "" }) }
}

/// Why a load cannot be offered.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// `LOAD_OUT_OF_BOUNDS`: a number is not within its bounds.
    OutOfBounds {
        /// Which.
        what: &'static str,
        /// What it is.
        value: f64,
        /// The least that it may be.
        min: f64,
        /// The most.
        max: f64,
        /// In which unit, with a blank before it; empty for a plain number.
        unit: &'static str,
    },
    /// `STEPS_OUT_OF_ORDER`: a step is not behind the one before it, or not behind the start.
    StepsOutOfOrder {
        /// When it is.
        from: Span,
        /// When the one before is.
        before: Span,
    },
    /// `LOAD_WITHOUT_RATE`: the source is drained, so records come as fast as they are taken.
    WithoutRate,
    /// `LOAD_IN_DISORDER`: the source's records come in disorder.
    InDisorder,
    /// `LOAD_TIME_SCALED`: event time does not run at the speed of the clock.
    TimeScaled,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::OutOfBounds { what, value, min, max, unit } => {
                write!(f, "the {what} is {value}{unit}, but must be from {min} to {max}{unit}")
            }
            LoadError::StepsOutOfOrder { from, before } => {
                write!(
                    f,
                    "a step at {from} does not lie behind {before}; write steps by rising time, above 0s"
                )
            }
            LoadError::WithoutRate => {
                write!(f, "a generator that is drained has no load; give it a rate")
            }
            LoadError::TimeScaled => {
                write!(
                    f,
                    "records of a load that changes are stamped with the time at which they are sent; leave the time scale at 1"
                )
            }
            LoadError::InDisorder => {
                write!(
                    f,
                    "records of a load that changes come in order; leave disorder and early records away"
                )
            }
        }
    }
}

impl std::error::Error for LoadError {}

impl Coded for LoadError {
    fn code(&self) -> &'static str {
        match self {
            LoadError::OutOfBounds { .. } => "LOAD_OUT_OF_BOUNDS",
            LoadError::StepsOutOfOrder { .. } => "STEPS_OUT_OF_ORDER",
            LoadError::WithoutRate => "LOAD_WITHOUT_RATE",
            LoadError::InDisorder => "LOAD_IN_DISORDER",
            LoadError::TimeScaled => "LOAD_TIME_SCALED",
        }
    }
}

#[cfg(test)]
mod tests;
