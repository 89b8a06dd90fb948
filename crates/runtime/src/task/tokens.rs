//! Tokens: what lets a source's records in before those of others, at the rate that was agreed for its query (Cameo,
//! section 5.4, "proportional fair scheduling").
//!
//! A source gets so many tokens a second, one for a record, spread evenly over the second: the tag of each is the instant from
//! which on it is good. It may be spent before, within its second; at the end of it, what is left is gone. So under load queries
//! advance in the proportion of their rates, and nobody saves up for a burst.

use thalweg_memory::sync::{AtomicU64, Ordering};
use thalweg_model::ProcessingTime;

/// What tokens are given out for at once: Cameo, section 5.4, "e.g., 1 sec".
const INTERVAL_NS: u64 = 1_000_000_000;

/// A tag so near to the end of an interval counts as of the next, unless tokens are nearer to each other.
const ROUNDED_NS: f64 = 1_000.0;

/// The tokens of one source.
pub(crate) struct Tokens {
    /// Between the tags of two tokens.
    spacing_ns: f64,
    /// The tag of the next, unless its interval is over. Written by the source after each step, read by whoever ranks it.
    /// Relaxed: a hint that is exact while the source stands still.
    next_ns: AtomicU64,
}

impl Tokens {
    /// So many a second, more than none.
    pub(crate) fn new(per_second: f64) -> Self {
        Tokens { spacing_ns: (INTERVAL_NS as f64 / per_second).min(f64::MAX), next_ns: AtomicU64::new(0) }
    }

    /// The tag of the next token; none if all of this interval are spent.
    pub(crate) fn tag(&self, now: ProcessingTime) -> Option<ProcessingTime> {
        let (_, next_ns) = self.next(now);
        (self.left(now) > 0).then_some(ProcessingTime::from_nanos(next_ns))
    }

    /// Spends one for each of so many records. Beyond what there are, they go in without.
    pub(crate) fn spend(&self, now: ProcessingTime, records: u64) {
        let (_, next_ns) = self.next(now);
        // A conversion of what is too large gives the largest.
        let spent_ns = (records.min(self.left(now)) as f64 * self.spacing_ns) as u64;
        self.next_ns.store(next_ns.saturating_add(spent_ns), Ordering::Relaxed);
    }

    /// Tokens of this interval that are not spent. The next after the last of them comes when it would, so that of one and a
    /// half tokens a second there are three in two.
    pub(crate) fn left(&self, now: ProcessingTime) -> u64 {
        let (begin_ns, next_ns) = self.next(now);
        let rest_ns = begin_ns.saturating_add(INTERVAL_NS).saturating_sub(next_ns);
        // Tags are rounded to nanoseconds, and what is rounded adds up over a second.
        let rounded_ns = ROUNDED_NS.min(self.spacing_ns / 2.0);
        ((rest_ns as f64 - rounded_ns) / self.spacing_ns).max(0.0).ceil() as u64
    }

    /// When this interval began, and the tag of the next token.
    fn next(&self, now: ProcessingTime) -> (u64, u64) {
        let begin_ns = now.as_nanos() / INTERVAL_NS * INTERVAL_NS;
        (begin_ns, self.next_ns.load(Ordering::Relaxed).max(begin_ns))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// At `rate` tokens a second: at each instant in ms, the tag in ms or `-`, then so many records.
    fn check(rate: f64, steps: &[(u64, u64)], expected: &str) {
        let tokens = Tokens::new(rate);
        let tags: Vec<String> = steps
            .iter()
            .map(|&(now_ms, records)| {
                let now = ProcessingTime::from_nanos(now_ms * 1_000_000);
                let tag =
                    tokens.tag(now).map_or("-".to_owned(), |tag| (tag.as_nanos() / 1_000_000).to_string());
                tokens.spend(now, records);
                tag
            })
            .collect();
        assert_eq!(tags.join(" "), expected);
    }

    /// Figure 6's shares: of 20 and 40 tokens the second has twice as many records before a given tag.
    #[test]
    fn tokens_are_spread_over_their_second() {
        check(20.0, &[(5_000, 1), (5_000, 1), (5_001, 2), (5_900, 1)], "5000 5050 5100 5200");
        check(40.0, &[(5_000, 1), (5_000, 1), (5_001, 2), (5_900, 1)], "5000 5025 5050 5100");
    }

    #[test]
    fn parts_of_a_token_are_owed() {
        check(
            1.5,
            &[(5_000, 1), (5_100, 1), (5_200, 1), (6_000, 1), (6_500, 1), (7_000, 1)],
            "5000 5666 - 6333 - 7000",
        );
        check(0.4, &[(5_000, 9), (6_000, 1), (7_400, 1), (7_600, 1), (9_900, 1)], "5000 - 7500 - -");
    }

    #[test]
    fn what_is_left_of_a_second_is_gone_and_so_is_what_was_overdrawn() {
        check(10.0, &[(5_000, 1), (7_200, 1), (7_300, 1)], "5000 7000 7100");
        check(10.0, &[(5_000, 9), (5_500, 7), (5_600, 1), (5_999, 1), (6_000, 1)], "5000 5900 - - 6000");
        check(10.0, &[(5_000, u64::MAX), (5_001, 1), (6_000, 1)], "5000 - 6000");
    }

    #[test]
    fn the_end_of_time_is_no_trouble() {
        let tokens = Tokens::new(f64::MIN_POSITIVE);
        let end = ProcessingTime::from_nanos(u64::MAX - 1);
        assert!(tokens.tag(end).is_some());
        tokens.spend(end, u64::MAX);
        assert_eq!(Tokens::new(1e18).tag(ProcessingTime::ZERO), Some(ProcessingTime::ZERO));
    }
}
