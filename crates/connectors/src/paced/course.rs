//! The course of a load: its messages one after the other, with the exact times at which each is sent and arrives. It
//! needs one division per message.
//!
//! Time is cut into pieces of a steady rate, at steps and, where there are bursts, at every second. A message is sent
//! when its work is done, which is counted in whole numbers: a rate of `r` thousandths of a record per second does
//! `r` units in a nanosecond, and a record takes `10^12`. The remainders of a nanosecond, and of a message at the end
//! of a piece, are carried on, so no rate is ever rounded. At one steady rate `r` record `i` is sent at
//! `floor(i * 10^9 / r)` nanoseconds, as it is without a load.
//!
//! Every walk over a load computes the same times. The walk of a split skips the records of other splits.

use std::sync::Arc;

use thalweg_model::{Entropy, SeededEntropy};

use super::load::{Arrivals, BURST_NS, Delay, Load, PARETO_TIMES_MAX, TICK_NS_MIN, ZIPF_DELAYS, nanos};
use super::pareto::Pareto;
use super::schedule::{MARKER_PER_RECORD_RATE_MAX, MARKERS_PER_S};
use super::zipf::Ranks;

/// Units of work that one record needs until it is sent. At a rate of one thousandth of a record per second,
/// one unit is done per nanosecond.
const WORK_PER_RECORD: u64 = 1_000_000_000_000;

/// Interval between latency markers in nanoseconds, at rates where not each message has one. The first
/// message of every interval has a marker.
const MARKED_NS: u64 = 1_000_000_000 / MARKERS_PER_S;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// A load at a given rate, prepared to be walked through message by message.
#[derive(Debug)]
pub(super) struct Course {
    load: Load,
    /// The steps of the rate: start in nanoseconds, and the rate from then on in thousandths of a record per
    /// second. The first step starts at 0.
    steps: Vec<(u64, u64)>,
    bursts: Option<Pareto>,
    message_records: u64,
    way: Way,
    /// Length of a tick in nanoseconds. If records are not sent in messages, all records that are sent within
    /// a tick have one transit delay.
    tick_ns: u64,
    /// Seeds of the random numbers for gaps between messages, for bursts and for delays.
    seeds: [u64; 3],
    /// True if each message is followed by a latency marker.
    marks_each: bool,
}

/// Distribution of the transit delay of messages.
#[derive(Debug)]
enum Way {
    Straight,
    /// Delays of messages are uniform, from zero to below this number of nanoseconds.
    Uniform(u64),
    /// Delays of messages are ranks that are drawn by Zipf's law, in milliseconds.
    Zipf(Ranks),
}

impl Course {
    /// Prepares a load that begins at the given rate. The caller has checked that the load is valid at this
    /// rate.
    pub(super) fn new(load: &Load, rate_per_s: u64) -> Arc<Self> {
        let later = load.steps.iter().map(|step| (nanos(step.from), step.rate_per_s * 1_000));
        let message_records = load.message_records.unwrap_or(1);
        let rates = load.steps.iter().map(|step| step.rate_per_s).chain([rate_per_s]);
        let most_per_s = rates.max().unwrap_or(rate_per_s);
        let mut seeds = SeededEntropy::new(load.seed);
        Arc::new(Course {
            load: load.clone(),
            steps: std::iter::once((0, rate_per_s * 1_000)).chain(later).collect(),
            bursts: match load.arrivals {
                Arrivals::Pareto { shape } => Some(Pareto::new(shape, PARETO_TIMES_MAX as f64)),
                Arrivals::Constant | Arrivals::Poisson => None,
            },
            message_records,
            way: match load.delay {
                Delay::None => Way::Straight,
                Delay::Uniform { max } => Way::Uniform(nanos(max) + 1),
                Delay::Zipf { exponent } => Way::Zipf(Ranks::new(ZIPF_DELAYS, exponent)),
            },
            tick_ns: TICK_NS_MIN.max(match load.delay {
                Delay::None => 0,
                Delay::Uniform { max } => nanos(max),
                Delay::Zipf { .. } => ZIPF_DELAYS as u64 * NANOS_PER_MILLI,
            }),
            seeds: [(); 3].map(|()| seeds.next_u64()),
            marks_each: most_per_s / message_records <= MARKER_PER_RECORD_RATE_MAX,
        })
    }

    pub(super) fn load(&self) -> &Load {
        &self.load
    }

    pub(super) fn marks_each(&self) -> bool {
        self.marks_each
    }

    /// Returns the bytes that the prepared tables of the load hold.
    pub(super) fn bytes(&self) -> usize {
        let ranks = if let Way::Zipf(ranks) = &self.way { ranks.bytes() } else { 0 };
        self.steps.capacity() * size_of::<(u64, u64)>() + ranks
    }

    /// Returns the lowest rate that the load may have at any time, in records per second; at least 1.
    pub(super) fn least_rate_per_s(&self) -> u64 {
        let least = self.steps.iter().map(|(_, rate)| *rate).min().unwrap_or(0);
        let share = self.bursts.map_or(1.0, |bursts| bursts.least());
        ((least as f64 * share) as u64 / 1_000).max(1)
    }

    /// Returns the mean rate in records per second between two instants, in nanoseconds from the start on; the first
    /// must lie before the second. Random gaps count with their mean.
    pub(super) fn mean_rate_per_s(self: &Arc<Self>, from_ns: u64, to_ns: u64) -> f64 {
        let pieces = Pieces::new(Arc::clone(self)).take_while(|piece| piece.start_ns < to_ns);
        let work_of = |Piece { start_ns, end_ns, rate }: Piece| {
            rate as f64 * end_ns.min(to_ns).saturating_sub(start_ns.max(from_ns)) as f64
        };
        pieces.map(work_of).sum::<f64>() / 1_000.0 / (to_ns - from_ns) as f64
    }
}

/// A span of time in which the rate of a load is steady.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Piece {
    start_ns: u64,
    /// End of the span in nanoseconds; `u64::MAX` if the span does not end.
    end_ns: u64,
    /// Rate in the span, in thousandths of a record per second; above zero.
    rate: u64,
}

/// Iterator over the spans of steady rate of a load, in order and without gaps.
#[derive(Clone, Debug)]
struct Pieces {
    course: Arc<Course>,
    /// Index of the step of the rate that is current.
    step: usize,
    draws: SeededEntropy,
    /// Factor by which the current burst multiplies the rate.
    times: f64,
    burst_end_ns: u64,
    at_ns: u64,
}

impl Pieces {
    fn new(course: Arc<Course>) -> Self {
        let draws = SeededEntropy::new(course.seeds[1]);
        let burst_end_ns = if course.bursts.is_some() { 0 } else { u64::MAX };
        Pieces { course, step: 0, draws, times: 1.0, burst_end_ns, at_ns: 0 }
    }
}

impl Iterator for Pieces {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let start_ns = self.at_ns;
        if start_ns == u64::MAX {
            return None;
        }
        if let Some(bursts) = &self.course.bursts
            && self.burst_end_ns <= start_ns
        {
            self.times = bursts.at(self.draws.unit());
            self.burst_end_ns = start_ns.saturating_add(BURST_NS);
        }
        let (_, rate) = self.course.steps[self.step];
        let step_end_ns = self.course.steps.get(self.step + 1).map_or(u64::MAX, |(from_ns, _)| *from_ns);
        let end_ns = step_end_ns.min(self.burst_end_ns);
        if end_ns == step_end_ns && end_ns < u64::MAX {
            self.step += 1;
        }
        self.at_ns = end_ns;
        let rate = ((rate as f64 * self.times).round() as u64).max(1);
        Some(Piece { start_ns, end_ns, rate })
    }
}

/// The times of a record by the plan of a load generator, in nanoseconds from the start of the load: when its sender
/// sends it, and when the engine can first read it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Times {
    pub(super) sent_ns: u64,
    pub(super) due_ns: u64,
    /// True if the record is followed by a latency marker.
    pub(super) is_marked: bool,
}

/// A walk over the messages of a load: computes the times of one message after the other, from the first on.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    course: Arc<Course>,
    pieces: Pieces,
    piece: Piece,
    /// Units of work ([`WORK_PER_RECORD`]) that were done when the current message was sent, beyond those
    /// that it needed. Sending times are whole nanoseconds, so this is less than the work of one nanosecond.
    over: u64,
    gaps: SeededEntropy,
    delays: SeededEntropy,
    delay_ns: u64,
    /// Number of the tick (a span of time in which all records have one delay) for which the present delay
    /// was drawn.
    tick: u64,
    /// The times at which the current message is sent and arrives.
    times: Times,
    /// Index of the record that the walk over the load comes to next.
    index: u64,
    /// Number of remaining records of the current message, the next one included.
    left: u64,
}

impl Walk {
    pub(super) fn new(course: &Arc<Course>) -> Self {
        let mut pieces = Pieces::new(Arc::clone(course));
        let piece = pieces.next().expect("the first piece starts with the load");
        let [gaps, _, delays] = course.seeds.map(SeededEntropy::new);
        let mut walk = Walk {
            course: Arc::clone(course),
            pieces,
            piece,
            over: 0,
            gaps,
            delays,
            delay_ns: 0,
            tick: u64::MAX,
            times: Times { sent_ns: 0, due_ns: 0, is_marked: course.marks_each },
            index: 0,
            left: course.message_records,
        };
        if course.load.arrivals == Arrivals::Poisson {
            walk.send_next();
        } else {
            walk.travel();
        }
        walk
    }

    pub(super) fn course(&self) -> &Arc<Course> {
        &self.course
    }

    pub(super) fn index(&self) -> u64 {
        self.index
    }

    /// Returns when the next record is sent and when it arrives, and whether it is followed by a latency
    /// marker.
    pub(super) fn times(&self) -> Times {
        // Only the last record of a message is followed by the message's latency marker.
        Times { is_marked: self.times.is_marked && self.left == 1, ..self.times }
    }

    /// Returns the nanoseconds between two records at the rate that the load has at the walk's present position.
    pub(super) fn spacing_ns(&self) -> u64 {
        WORK_PER_RECORD / self.piece.rate
    }

    /// Moves the walk over the load on by `count` records.
    pub(super) fn pass(&mut self, mut count: u64) {
        while self.left <= count {
            count -= self.left;
            self.index = self.index.saturating_add(self.left);
            self.left = self.course.message_records;
            self.send_next();
        }
        self.index = self.index.saturating_add(count);
        self.left -= count;
    }

    /// Moves the walk over the load to its next message.
    fn send_next(&mut self) {
        let message_work = self.course.message_records * WORK_PER_RECORD;
        let work = match self.course.load.arrivals {
            Arrivals::Constant | Arrivals::Pareto { .. } => message_work,
            // The gap is exponential: minus the logarithm of a number from above 0 to 1. It is at most 37
            // times the mean, since 53 bits are drawn.
            Arrivals::Poisson => (message_work as f64 * -(1.0 - self.gaps.unit()).ln()) as u64,
        };
        let before_ns = self.times.sent_ns;
        let mut work = self.over + work;
        let mut sent_ns = before_ns.saturating_add(work / self.piece.rate);
        while self.piece.end_ns <= sent_ns
            && let Some(next) = self.pieces.next()
        {
            // The rate changes before the message is complete. The work done at the old rate is subtracted,
            // and the rest is done at the next rate.
            let from_ns = before_ns.max(self.piece.start_ns);
            work -= (self.piece.end_ns - from_ns) * self.piece.rate;
            self.piece = next;
            sent_ns = next.start_ns.saturating_add(work / next.rate);
        }
        self.over = work % self.piece.rate;
        self.times.sent_ns = sent_ns;
        self.times.is_marked = self.course.marks_each || before_ns / MARKED_NS < sent_ns / MARKED_NS;
        self.travel();
    }

    /// Computes the time at which the current message arrives, from its delay and the arrival of the message
    /// before.
    fn travel(&mut self) {
        let sent_ns = self.times.sent_ns;
        let tick = sent_ns / self.course.tick_ns;
        if self.course.load.message_records.is_some() || tick != self.tick {
            self.tick = tick;
            self.delay_ns = match &self.course.way {
                Way::Straight => 0,
                Way::Uniform(bound_ns) => self.delays.below(*bound_ns),
                Way::Zipf(ranks) => ranks.at(self.delays.unit()) * NANOS_PER_MILLI,
            };
        }
        self.times.due_ns = self.times.due_ns.max(sent_ns.saturating_add(self.delay_ns));
    }
}

#[cfg(test)]
mod tests;
