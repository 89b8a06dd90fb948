//! Loads that change over time: steps of the rate, bursts, messages of several records, and transit delays of messages.
//!
//! ```text
//!   rate per s     ----____----        steps: the rate from this instant on
//!   times          _-_|-__-_|_         Pareto: a factor of the rate for each second
//!   messages       |   | ||   |        one is sent when its records are complete, or at random (Poisson)
//!   delayed        .|...||.|...|       it arrives later, behind those before it
//! ```
//!
//! Everything follows from these parameters and a seed, so a check of a run can compute every time stamp
//! ([`Stamps`]). Records carry the time at which their message is due to be sent, and latency counts from there. So a
//! record that was delayed in transit, or came in a burst, shows as latency.
//!
//! Sources: Xu et al., "Move Fast and Meet Deadlines: Fine-grained Real-time Stream Processing with Cameo", NSDI
//! 2021, section 6 (messages of 1,000 events, data volumes by Pareto's distribution; it gives neither shape nor
//! interval); Farhat et al., "Klink: Progress-Aware Scheduling for Streaming Data Systems", SIGMOD 2021, section 6
//! (delays, uniform or by Zipf's law with exponent 0.99). A delay of `k` milliseconds for rank `k` of 1,000 is ours.
//!
//! [`Stamps`]: super::Stamps

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use thalweg_model::{Coded, Span};

use super::course::Course;
use super::schedule::{MARKER_EVERY, MARKERS_PER_S, RATE_PER_S_MAX};

/// Largest number of steps of a load: a change every second for a minute, and more than fit on a command
/// line.
pub const STEPS_MAX: usize = 64;

/// Bounds of the shape of Pareto's distribution. At 1 and below it has no mean; at 100 all intervals are
/// nearly equal.
pub const PARETO_SHAPES: (f64, f64) = (1.01, 100.0);

/// Greatest factor of an interval, as a multiple of the mean. Without a bound the mean of a run of some minutes
/// cannot be predicted, since the variance is infinite up to shape 2. With a bound of 20, a system with 20 times the
/// capacity of the mean rate can process the greatest burst. At shape 1.5 it cuts off one interval in 500.
pub const PARETO_TIMES_MAX: u64 = 20;

/// Largest number of records of a message: a hundred times Cameo's. Records that wait in a message take no
/// memory.
pub const MESSAGE_RECORDS_MAX: u64 = 100_000;

/// Greatest transit delay of a message: above that of any working network. Messages in transit at the end of
/// a run are not part of the run.
pub const DELAY_MAX: Span = Span::from_secs(60);

/// Highest exponent of Zipf's law: with it, one draw in 250 does not give the first rank.
pub const ZIPF_EXPONENT_MAX: f64 = 8.0;

/// Number of ranks from which delays are drawn by Zipf's law; a delay is as many milliseconds as its rank.
pub const ZIPF_DELAYS: usize = 1_000;

/// Least rate, in messages per second, at which latency markers count as regular if the first message of
/// every millisecond has one and messages are even: then each millisecond has a message.
const REGULAR_MESSAGES_PER_S_MIN: u64 = MARKERS_PER_S;

/// Least such rate where gaps between messages are random: a millisecond is without a message only once in `e^20`
/// times.
const REGULAR_RANDOM_PER_S_MIN: u64 = 20 * MARKERS_PER_S;

/// Length of each interval with a rate of its own in [`Arrivals::Pareto`], in nanoseconds.
pub(super) const BURST_NS: u64 = 1_000_000_000;

/// Least length of a tick. Without messages, all records due within a tick have one delay. A tick is as long as the
/// greatest delay: if it were much shorter, nearly all records would wait for an earlier one with a long delay, and
/// hardly any would have the delay that was drawn. (By Zipf's law with exponent 0.99, in ticks of 10 ms, the mean is
/// not 137 ms but 700 ms.) The least length is ten watermarks of the usual step.
pub(super) const TICK_NS_MIN: u64 = 10_000_000;

/// A load: how the rate of a source changes over time. The first rate is given elsewhere. By default the load
/// keeps this rate, sends records one by one, and delays none.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Load {
    /// Steps of the rate of the load, sorted by time.
    pub steps: Vec<RateStep>,
    /// Distribution of the times at which messages are sent.
    pub arrivals: Arrivals,
    /// Number of records per message, which are sent and arrive together; `None` means one record.
    pub message_records: Option<u64>,
    /// Transit delay of messages. Without messages, all records due within a span as long as the greatest delay, at
    /// least 10 ms, have one delay. No message overtakes another: an early one waits for the one before.
    pub delay: Delay,
    /// Seed of the random numbers for gaps, bursts and delays.
    pub seed: u64,
}

/// A change of the rate of a load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateStep {
    /// Time of the change, counted from the time at which the first record is due; above zero.
    pub from: Span,
    /// Records per second from this time on, until the next step.
    pub rate_per_s: u64,
}

/// Distribution of the times at which messages are sent.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Arrivals {
    /// Messages are sent evenly: whenever the rate, summed over time, has produced all records of the next
    /// message.
    #[default]
    Constant,
    /// Messages are sent independently of one another: gaps are exponential, with the mean of an even
    /// distribution.
    Poisson,
    /// Messages are sent evenly within each second, which has a rate of its own: the rate of the load times a
    /// random factor. The factor is drawn from Pareto's distribution with mean 1, truncated at
    /// [`PARETO_TIMES_MAX`].
    Pareto {
        /// Shape of the distribution: the lower, the rarer and higher the bursts; within [`PARETO_SHAPES`].
        shape: f64,
    },
}

/// Distribution of the transit delay of messages.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Delay {
    /// `None`: no message is delayed in transit.
    #[default]
    None,
    /// `Uniform`: transit delays are uniform, from zero to a maximum.
    Uniform {
        /// The greatest transit delay; at most [`DELAY_MAX`].
        max: Span,
    },
    /// Delays are from 1 to [`ZIPF_DELAYS`] milliseconds, which are ranks drawn by Zipf's law.
    Zipf {
        /// Exponent of Zipf's law: the lower, the more long delays; from 0 to [`ZIPF_EXPONENT_MAX`].
        exponent: f64,
    },
}

impl Load {
    /// Returns true if the rate of the load does not change and no message is delayed.
    pub fn is_steady(&self) -> bool {
        *self == Load { seed: self.seed, ..Load::default() }
    }

    /// Checks the parameters of the load, which begins at the given rate.
    ///
    /// # Errors
    /// [`LoadError`], except those variants that concern the source.
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

    /// Returns the mean rate in records per second over a part of the run, counted from its start. Bursts count as
    /// they are drawn, random gaps with their mean. Zero for an empty part.
    ///
    /// # Errors
    /// [`LoadError`] if the load is invalid at this rate.
    pub fn mean_rate_per_s(&self, rate_per_s: u64, over: Range<Span>) -> Result<f64, LoadError> {
        self.check(rate_per_s)?;
        let [from_ns, to_ns] = [over.start, over.end].map(nanos);
        let course = Course::new(self, rate_per_s);
        Ok(if from_ns < to_ns { course.mean_rate_per_s(from_ns, to_ns) } else { 0.0 })
    }

    /// Returns the time between two latency markers of a source under this load, which begins at the given
    /// rate. Returns `None` if markers come at irregular intervals, and if the load is invalid at the given
    /// rate.
    pub fn marker_every(&self, rate_per_s: u64) -> Option<Duration> {
        self.check(rate_per_s).ok()?;
        let course = Course::new(self, rate_per_s);
        let message_records = self.message_records.unwrap_or(1);
        if course.marks_each() {
            let is_level = self.steps.iter().all(|step| step.rate_per_s == rate_per_s);
            let is_regular = is_level && self.arrivals == Arrivals::Constant;
            return is_regular.then(|| Duration::from_nanos(message_records * 1_000_000_000 / rate_per_s));
        }
        let messages_per_s = course.least_rate_per_s() / message_records;
        let least_per_s = match self.arrivals {
            Arrivals::Constant | Arrivals::Pareto { .. } => REGULAR_MESSAGES_PER_S_MIN,
            Arrivals::Poisson => REGULAR_RANDOM_PER_S_MIN,
        };
        (least_per_s <= messages_per_s).then_some(MARKER_EVERY)
    }
}

/// Checks the steps of a load.
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

/// Checks the number of records of a message.
///
/// # Errors
/// [`LoadError::OutOfBounds`].
pub fn check_message_records(records: u64) -> Result<(), LoadError> {
    within("message's size", records, (1, MESSAGE_RECORDS_MAX), " records")
}

impl Arrivals {
    /// Checks the parameters of the distribution.
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
    /// Checks the parameters of the delays.
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

/// Returns the nanoseconds of a span of time; zero if the span is negative.
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

/// The reason why a load is invalid.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// `LOAD_OUT_OF_BOUNDS`: a parameter of the load is not within its bounds.
    OutOfBounds {
        /// Name of the parameter of the load that is out of bounds.
        what: &'static str,
        /// The value that the user gave for the parameter of the load.
        value: f64,
        /// The least value that the parameter may have.
        min: f64,
        /// The greatest value that the parameter may have.
        max: f64,
        /// Unit of the parameter with a blank before it; empty for a plain number.
        unit: &'static str,
    },
    /// `STEPS_OUT_OF_ORDER`: a step of the rate does not come after the step before it, or not after the
    /// start.
    StepsOutOfOrder {
        /// Time of the step of the rate that is out of order.
        from: Span,
        /// Time of the step before the wrong one, or of the start.
        before: Span,
    },
    /// `LOAD_WITHOUT_RATE`: the source is drained, so its records come as fast as they are taken. This cannot
    /// be combined with a load.
    WithoutRate,
    /// `LOAD_IN_DISORDER`: the source's records come in disorder, which cannot be combined with a load.
    InDisorder,
    /// `LOAD_TIME_SCALED`: event time does not run at the speed of the clock, which cannot be combined with a
    /// load.
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
