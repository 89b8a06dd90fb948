//! Tenants, Cameo's two groups of jobs that share a machine: dashboards, whose results are to be out in 800 ms, beside bulk
//! analytics, which has two hours and as many events as there is room for.
//!
//! Every job is IPQ1 ([`crate::ipq`]), what ads have earned per window; so what comes out must equal
//! [`crate::reference::ipq`]. The groups differ in their windows, in what they are offered and in how long they may take:
//!
//! | | latency-sensitive | bulk |
//! |---|---|---|
//! | jobs of three | one | two |
//! | windows | 1 s | 10 s |
//! | offered to each | a message of 1,000 events a second from each of 64 sources | 30,000 events/s from each of 64 sources, until somebody asks for more |
//! | latency target | 800 ms | 7,200 s |
//!
//! The 64 sources of a job are one stream here, in which their messages come evenly, one after the other. In the paper each
//! has a connection of its own; how far these are apart in time it does not say.
//!
//! Source: Xu et al., "Move Fast and Meet Deadlines: Fine-grained Real-time Stream Processing with Cameo", NSDI 2021,
//! section 6 (groups, sources, messages, windows), section 6.2 (latency targets; four jobs of the first group; up to 30,000
//! tuples/s a source all its schedulers are alike) and Figure 9 (eight jobs of the second group).

use thalweg_model::Span;

/// Sources of a job.
pub const SOURCES: u64 = 64;

/// Jobs come in threes: one that is latency-sensitive and two of bulk analytics.
pub const JOBS_OF_EACH_THREE: [(Group, u64); 2] = [(Group::Sensitive, 1), (Group::Bulk, 2)];

/// Jobs unless somebody asks for others: four and eight.
pub const JOBS: u64 = 12;

/// A group of jobs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Group {
    /// Dashboards, ongoing campaigns: sparse input, short windows, strict targets.
    Sensitive,
    /// Longer-term analytics: much input, long windows, lax targets.
    Bulk,
}

impl Group {
    /// Its name in figures.
    pub const fn name(self) -> &'static str {
        match self {
            Group::Sensitive => "sensitive",
            Group::Bulk => "bulk",
        }
    }

    /// The windows of its jobs, back to back.
    pub const fn window(self) -> Span {
        match self {
            Group::Sensitive => Span::from_secs(1),
            Group::Bulk => Span::from_secs(10),
        }
    }

    /// How long after its last event was taken in a result may be out.
    pub const fn latency_target(self) -> Span {
        match self {
            Group::Sensitive => Span::from_millis(800),
            Group::Bulk => Span::from_secs(7_200),
        }
    }

    /// Events per second that each of its jobs is offered.
    pub const fn events_per_s(self) -> u64 {
        match self {
            Group::Sensitive => SOURCES * 1_000,
            Group::Bulk => SOURCES * 30_000,
        }
    }

    /// Events that come together, if they do. Those of bulk are too many for that to matter.
    pub const fn message_events(self) -> Option<u64> {
        match self {
            Group::Sensitive => Some(1_000),
            Group::Bulk => None,
        }
    }

    /// The group of the job at a place, when groups take turns.
    pub const fn of_job(place: u64) -> Self {
        if place.is_multiple_of(3) { Group::Sensitive } else { Group::Bulk }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_take_turns() {
        for (group, of_three) in JOBS_OF_EACH_THREE {
            let count = (0..JOBS).filter(|&place| Group::of_job(place) == group).count();
            assert_eq!(count as u64, JOBS / 3 * of_three, "{group:?}");
        }
    }
}
