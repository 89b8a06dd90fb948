//! Tenants, Cameo's two groups of jobs that share a machine: dashboards, whose results are due within 800 ms,
//! beside bulk analytics, which has two hours and as many events as the machine can take.
//!
//! Every job is IPQ1 ([`crate::ipq`]), the revenue of ads per window; so the results must equal
//! [`crate::reference::ipq`]. The groups differ in their windows, in their input rates and in their latency
//! targets:
//!
//! | | latency-sensitive | bulk |
//! |---|---|---|
//! | jobs of three | one | two |
//! | windows | 1 s | 10 s |
//! | offered to each | a message of 1,000 events a second from each of 64 sources | 30,000 events/s from each of 64 sources, unless a run asks for more |
//! | latency target | 800 ms | 7,200 s |
//!
//! The 64 sources of a job are one stream here, in which their messages are evenly spaced, unless a run asks for
//! several inputs, which share the messages of that stream by turns. In the paper each source has a connection of its
//! own; the paper does not say how far the messages are apart in time.
//!
//! Source: Xu et al., "Move Fast and Meet Deadlines: Fine-grained Real-time Stream Processing with Cameo", NSDI
//! 2021, section 6 (groups, sources, messages, windows), section 6.2 (latency targets; four jobs of the first
//! group; up to 30,000 tuples/s per source all its schedulers perform alike) and Figure 9 (eight jobs of the
//! second group).

use thalweg_model::Span;

/// Number of sources that feed each job with messages.
pub const SOURCES: u64 = 64;

/// Groups of each three consecutive jobs: one job is latency-sensitive, two are bulk analytics.
pub const JOBS_OF_EACH_THREE: [(Group, u64); 2] = [(Group::Sensitive, 1), (Group::Bulk, 2)];

/// Number of jobs on the machine, unless a run asks for another: four of the first group and eight of the
/// second.
pub const JOBS: u64 = 12;

/// One of the two groups of jobs that share the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Group {
    /// The latency-sensitive group: dashboards and ongoing campaigns, with sparse input, short windows and
    /// strict latency targets.
    Sensitive,
    /// The bulk group: longer-term analytics, with much input, long windows and lax latency targets.
    Bulk,
}

impl Group {
    /// Returns the name of the group in printed figures.
    pub const fn name(self) -> &'static str {
        match self {
            Group::Sensitive => "sensitive",
            Group::Bulk => "bulk",
        }
    }

    /// Returns the window size of the group's jobs; windows lie back to back.
    pub const fn window(self) -> Span {
        match self {
            Group::Sensitive => Span::from_secs(1),
            Group::Bulk => Span::from_secs(10),
        }
    }

    /// Returns the time within which a result is due after its last event could first have been read by a
    /// source.
    pub const fn latency_target(self) -> Span {
        match self {
            Group::Sensitive => Span::from_millis(800),
            Group::Bulk => Span::from_secs(7_200),
        }
    }

    /// Returns the events per second offered to each job of the group.
    pub const fn events_per_s(self) -> u64 {
        match self {
            Group::Sensitive => SOURCES * 1_000,
            Group::Bulk => SOURCES * 30_000,
        }
    }

    /// Returns the number of events that come together in a message. Bulk jobs have so many events that this
    /// does not matter.
    pub const fn message_events(self) -> Option<u64> {
        match self {
            Group::Sensitive => Some(1_000),
            Group::Bulk => None,
        }
    }

    /// Returns the group of the job with the given index. The first of each three consecutive jobs is
    /// latency-sensitive.
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
