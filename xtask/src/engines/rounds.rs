//! Rounds of steering, as `thalweg steer --output json` shows them: a line for each, with the queue in front of each thread.

use std::collections::BTreeMap;

use serde_json::Value;

/// Beginnings of the names of threads beside the main thread of a subtask of Flink. The earlier Lachesis gives them the queue
/// of the main thread, and the later one a queue of their own. They are left out, so that all systems are compared by the same
/// queues.
const HELPERS: [&str; 3] = ["OutputFlusher for ", "Source Data Fetcher for ", "Legacy Source Thread - "];

/// A round of steering.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Round {
    /// Moment at which the round was shown, in seconds of the system's clock.
    pub(super) at_s: f64,
    /// Operators whose threads were seen; empty if the round was skipped.
    pub(super) threads: Vec<Seen>,
}

/// The main thread of an operator in a round.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Seen {
    /// Name of the operator or of its thread.
    pub(super) name: String,
    /// Length of the queue in front of the operator: records on Storm; on Flink buffers, or records in front of a source.
    pub(super) pending: f64,
    /// Nice value of the thread.
    pub(super) nice: f64,
    /// Real-time priority of the thread; 0 for none.
    pub(super) priority: f64,
}

impl Round {
    /// Reads a line; `None` if it is none of the tool's.
    pub(super) fn parsed(line: &str, at_s: f64) -> Option<Self> {
        let shown: Value = serde_json::from_str(line).ok()?;
        if shown.get("skipped").is_some() {
            return Some(Round { at_s, threads: Vec::new() });
        }
        let threads = shown.get("threads")?.as_array()?.iter();
        let seen = |thread: &Value| {
            let setting = |field: &str| thread[field].as_f64().unwrap_or(0.0);
            Some(Seen {
                name: thread["name"].as_str()?.to_owned(),
                pending: thread["pending"].as_f64()?,
                nice: setting("nice"),
                priority: setting("priority"),
            })
        };
        let threads: Vec<Seen> = threads.map(seen).collect::<Option<_>>()?;
        let is_main = |thread: &Seen| !HELPERS.iter().any(|helper| thread.name.starts_with(helper));
        Some(Round { at_s, threads: threads.into_iter().filter(is_main).collect() })
    }

    /// Returns the length of each operator's queue.
    fn lengths(&self) -> Vec<f64> {
        self.threads.iter().map(|seen| seen.pending).collect()
    }

    /// Returns true if the tool could use the round.
    pub(super) fn is_used(&self) -> bool {
        !self.threads.is_empty()
    }
}

/// Returns the number of rounds in which the length of a queue was another one than in the round before. A round whose lengths
/// have not changed may have had old figures: an engine whose own threads get no CPU time tells no new ones.
pub(super) fn renewed(rounds: &[Round]) -> u32 {
    rounds.windows(2).filter(|pair| pair[0].lengths() != pair[1].lengths()).count() as u32
}

/// Means of an operator's thread over rounds.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(super) struct Means {
    /// Mean length of its queue.
    pub(super) pending: f64,
    /// Mean nice value.
    pub(super) nice: f64,
    /// Mean real-time priority.
    pub(super) priority: f64,
}

/// Returns the means of each operator over the rounds in which it was seen.
pub(super) fn means(rounds: &[Round]) -> BTreeMap<String, Means> {
    let mut sums: BTreeMap<String, (Means, f64)> = BTreeMap::new();
    for seen in rounds.iter().flat_map(|round| &round.threads) {
        let (sum, count) = sums.entry(seen.name.clone()).or_default();
        sum.pending += seen.pending;
        sum.nice += seen.nice;
        sum.priority += seen.priority;
        *count += 1.0;
    }
    let mean = |(sum, count): (Means, f64)| Means {
        pending: sum.pending / count,
        nice: sum.nice / count,
        priority: sum.priority / count,
    };
    sums.into_iter().map(|(name, sum)| (name, mean(sum))).collect()
}

/// Returns the coefficient of variation of the lengths of all queues: its mean over the rounds in which something waits; `None` if
/// there is no such round. This is the policy goal of the Lachesis paper, section 5.2.1; the paper does not say whether it
/// compares lengths at an instant.
pub(super) fn variation(rounds: &[Round]) -> Option<f64> {
    let of_round = |round: &Round| {
        let lengths = round.lengths();
        let count = lengths.len() as f64;
        let mean = lengths.iter().sum::<f64>() / count;
        let variance = lengths.iter().map(|length| (length - mean).powi(2)).sum::<f64>() / count;
        // The mean of no queues is not a number, and not above 0.
        (0.0 < mean).then(|| variance.sqrt() / mean)
    };
    let each: Vec<f64> = rounds.iter().filter_map(of_round).collect();
    (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(lengths: &[f64]) -> Round {
        let seen = |(place, &pending): (usize, &f64)| Seen {
            name: place.to_string(),
            pending,
            nice: -(place as f64),
            priority: 0.0,
        };
        Round { at_s: 0.0, threads: lengths.iter().enumerate().map(seen).collect() }
    }

    #[test]
    fn lines_of_the_tool_are_read() {
        let round = Round::parsed(include_str!("rounds/storm.json"), 3.0).unwrap();
        assert_eq!((round.at_s, round.threads.len(), round.is_used()), (3.0, 10, true));
        let parse = round.threads.iter().find(|seen| seen.name.contains("parse")).unwrap();
        assert_eq!((parse.pending, parse.nice, parse.priority), (349.0, 0.0, 45.0));
        // Flushers of Flink have queues of their own in some systems only.
        let round = Round::parsed(include_str!("rounds/flink.json"), 3.0).unwrap();
        assert_eq!(round.threads.len(), 10);
        let skipped = Round::parsed("{\"skipped\":\"no topology reports\"}", 1.0).unwrap();
        assert!(!skipped.is_used());
        for line in ["", "{}", "7 threads", "{\"threads\":[{\"name\":\"a\"}]}"] {
            assert_eq!(Round::parsed(line, 0.0), None, "{line}");
        }
    }

    #[test]
    fn queues_vary_at_each_instant() {
        assert_eq!(variation(&[]), None);
        assert_eq!(variation(&[round(&[]), round(&[0.0, 0.0])]), None);
        assert_eq!(variation(&[round(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0])]), Some(0.4));
        // The means over the rounds are equal, and the lengths of each round are not.
        assert_eq!(variation(&[round(&[8.0, 0.0]), round(&[0.0, 8.0]), round(&[0.0, 0.0])]), Some(1.0));
    }

    #[test]
    fn rounds_with_other_lengths_are_counted() {
        assert_eq!(renewed(&[]), 0);
        assert_eq!(renewed(&[round(&[1.0]), round(&[1.0]), round(&[2.0]), round(&[2.0, 0.0])]), 2);
    }

    #[test]
    fn means_are_those_of_each_operator() {
        let found = means(&[round(&[8.0, 2.0]), round(&[4.0]), round(&[])]);
        assert_eq!(found["0"], Means { pending: 6.0, nice: 0.0, priority: 0.0 });
        assert_eq!(found["1"], Means { pending: 2.0, nice: -1.0, priority: 0.0 });
    }
}
