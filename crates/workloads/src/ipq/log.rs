//! Events that jobs log, from a seed: events of a level (IPQ3), and requests with the errors that some of them
//! end in (IPQ4).
//!
//! Values are computed on access; nothing is cached. Errors and requests draw from as many request numbers as
//! a stream has events in a window. So at any rate each meets one of the other stream on average, often none
//! and sometimes several, like the records of [`crate::join`].

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};
use thalweg_model::{Entropy, EventTime, Generate, Record, SeededEntropy};

/// Number of jobs, numbered from 0.
pub const JOB_COUNT: u64 = 1_000;

/// Number of log levels, numbered from 0: trace, debug, info, warning, error.
pub const LEVEL_COUNT: u64 = 5;

/// An event that a job has logged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LogEvent {
    /// Number that identifies the job that logged the event, below [`JOB_COUNT`].
    pub job: u32,
    /// Log level of the event, below [`LEVEL_COUNT`].
    pub level: u32,
}

/// Grouping key of IPQ3: a job and a log level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct JobLevel {
    /// Number that identifies the job.
    pub job: u32,
    /// Log level of the events that are counted together.
    pub level: u32,
}

/// A request to a job, or an error that a request ended in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Number that identifies the request.
    pub request: u64,
    /// Number that identifies the job that got the request, below [`JOB_COUNT`]. It is derived from the
    /// number of the request.
    pub job: u64,
}

/// Throughput in bytes and the number of records in a block depend on the sizes of these records.
const _: () = assert!(size_of::<Record<LogEvent>>() == 16);
const _: () = assert!(size_of::<Record<Request>>() == 24);

/// The endless sequence of log events. Jobs and levels are drawn evenly, and nothing is cached.
#[derive(Clone, Copy, Debug)]
pub struct LogGenerator {
    draws: u64,
}

impl LogGenerator {
    /// Creates the sequence of log events of a seed; equal seeds give equal events.
    pub fn new(seed: u64) -> Self {
        LogGenerator { draws: SeededEntropy::new(seed).next_u64() }
    }
}

impl Generate for LogGenerator {
    type Item = LogEvent;

    const IS_CHEAP: bool = true;

    #[inline]
    fn value(&self, index: u64, _event_time: EventTime) -> LogEvent {
        let drawn = at(self.draws, index).below(JOB_COUNT * LEVEL_COUNT);
        LogEvent { job: (drawn / LEVEL_COUNT) as u32, level: (drawn % LEVEL_COUNT) as u32 }
    }

    fn cache_bytes(&self) -> usize {
        0
    }
}

/// One of the two streams of IPQ4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The stream of requests to jobs.
    Requests,
    /// The stream of errors: requests that have failed.
    Errors,
}

/// The endless sequence of the events of one stream of IPQ4. Nothing is cached.
#[derive(Clone, Copy, Debug)]
pub struct RequestGenerator {
    draws: u64,
    request_count: u64,
}

impl RequestGenerator {
    /// Creates a stream of `events_per_window` events in each window; equal seeds give equal streams.
    pub fn new(seed: u64, side: Side, events_per_window: NonZeroU64) -> Self {
        let mut entropy = SeededEntropy::new(seed);
        let [requests, errors] = [(); 2].map(|()| entropy.next_u64());
        let draws = match side {
            Side::Requests => requests,
            Side::Errors => errors,
        };
        RequestGenerator { draws, request_count: events_per_window.get() }
    }
}

impl Generate for RequestGenerator {
    type Item = Request;

    const IS_CHEAP: bool = true;

    #[inline]
    fn value(&self, index: u64, _event_time: EventTime) -> Request {
        let request = at(self.draws, index).below(self.request_count);
        Request { request, job: request % JOB_COUNT }
    }

    fn cache_bytes(&self) -> usize {
        0
    }
}

/// Distance between the states of two consecutive numbers of a SplitMix64 sequence, before they are mixed. It
/// is odd, so that no two states are equal.
const APART: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the state of a SplitMix64 generator whose next number is the one at `index` of the sequence that
/// starts from the given state.
#[inline]
fn at(start: u64, index: u64) -> SeededEntropy {
    SeededEntropy::new(start.wrapping_add(index.wrapping_mul(APART)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn requests(seed: u64, side: Side) -> Vec<Request> {
        let generator = RequestGenerator::new(seed, side, NonZeroU64::new(2_500).unwrap());
        (0..50_000).map(|index| generator.value(index, EventTime::EPOCH)).collect()
    }

    #[test]
    fn a_seed_repeats_its_streams() {
        assert_eq!(requests(7, Side::Errors), requests(7, Side::Errors));
        assert_ne!(requests(7, Side::Errors), requests(8, Side::Errors));
        assert_ne!(requests(7, Side::Errors), requests(7, Side::Requests));
        let value = |seed| LogGenerator::new(seed).value(5, EventTime::EPOCH);
        assert_eq!(value(1), value(1));
        assert!((2..20).any(|seed| value(seed) != value(1)));
    }

    /// The two streams of IPQ4 use the same request numbers, and a request always has the same job.
    #[test]
    fn streams_share_their_requests() {
        let numbers = |side| requests(3, side).iter().map(|event| event.request).collect::<BTreeSet<_>>();
        assert_eq!((numbers(Side::Errors).len(), numbers(Side::Errors)), (2_500, numbers(Side::Requests)));
        assert!(requests(3, Side::Errors).iter().all(|event| event.job == event.request % 1_000));
    }

    #[test]
    fn jobs_and_levels_are_drawn_evenly() {
        let generator = LogGenerator::new(1);
        let mut seen = vec![0_u32; 5_000];
        for index in 0..500_000 {
            let LogEvent { job, level } = generator.value(index, EventTime::EPOCH);
            seen[(job * 5 + level) as usize] += 1;
        }
        assert!(seen.iter().all(|times| (50..160).contains(times)), "{seen:?}");
    }
}
