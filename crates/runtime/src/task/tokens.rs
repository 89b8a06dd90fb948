//! Tokens of a source. A record with a token runs before records without one, so each query advances at the
//! rate agreed for it (Cameo, section 5.4, "proportional fair scheduling").
//!
//! A source gets a number of tokens per second, one for a record, spread evenly over the second. The tag of a
//! token is the instant from which the token is valid. A token may be spent earlier within its second. At the
//! end of the second, unspent tokens expire. So under load queries advance in the proportion of their rates,
//! and no source saves tokens for a burst.

use thalweg_memory::sync::{AtomicU64, Ordering};
use thalweg_model::ProcessingTime;

/// Nanoseconds of the interval for which a source gets tokens: Cameo, section 5.4, "e.g., 1 sec".
const INTERVAL_NS: u64 = 1_000_000_000;

/// A token whose tag (the instant from which it is valid) is less than this many ns before the end of an
/// interval belongs to the next interval. If tokens are less than twice this time apart, half their distance
/// counts instead.
const ROUNDED_NS: f64 = 1_000.0;

/// The tokens of one source, which let its records run before records without a token.
pub(crate) struct Tokens {
    /// Nanoseconds between the tags (instants from which they are valid) of two consecutive tokens.
    spacing_ns: f64,
    /// The tag (the instant, in ns, from which it is valid) of the next token, unless its interval of 1 s is
    /// over. Written by the source after each step, read when the source is ranked. Relaxed: a hint that is
    /// exact while the source does not run.
    next_ns: AtomicU64,
}

impl Tokens {
    /// Makes tokens of a source at a rate per second, which must be above zero.
    pub(crate) fn new(per_second: f64) -> Self {
        Tokens { spacing_ns: (INTERVAL_NS as f64 / per_second).min(f64::MAX), next_ns: AtomicU64::new(0) }
    }

    /// Returns the tag of the next token, which is the instant from which the token is valid; `None` if all
    /// tokens of this interval of 1 s are spent.
    pub(crate) fn tag(&self, now: ProcessingTime) -> Option<ProcessingTime> {
        let (_, next_ns) = self.next(now);
        (self.left(now) > 0).then_some(ProcessingTime::from_nanos(next_ns))
    }

    /// Spends one token for each of `records` records. Records beyond the number of unspent tokens run
    /// without a token.
    pub(crate) fn spend(&self, now: ProcessingTime, records: u64) {
        let (_, next_ns) = self.next(now);
        // If the number of nanoseconds is too large for the integer type, the conversion gives the largest
        // integer.
        let spent_ns = (records.min(self.left(now)) as f64 * self.spacing_ns) as u64;
        self.next_ns.store(next_ns.saturating_add(spent_ns), Ordering::Relaxed);
    }

    /// Returns the number of unspent tokens of this interval of 1 s. The first token of the next interval
    /// keeps its instant, so a rate of 1.5 tokens per second gives three in two seconds.
    pub(crate) fn left(&self, now: ProcessingTime) -> u64 {
        let (begin_ns, next_ns) = self.next(now);
        let rest_ns = begin_ns.saturating_add(INTERVAL_NS).saturating_sub(next_ns);
        // Tags are rounded to nanoseconds, and the rounding errors add up over a second.
        let rounded_ns = ROUNDED_NS.min(self.spacing_ns / 2.0);
        ((rest_ns as f64 - rounded_ns) / self.spacing_ns).max(0.0).ceil() as u64
    }

    /// Returns the begin of the present interval of 1 s and the tag of the next token (the instant from which
    /// it is valid), both in ns of the engine's clock.
    fn next(&self, now: ProcessingTime) -> (u64, u64) {
        let begin_ns = now.as_nanos() / INTERVAL_NS * INTERVAL_NS;
        (begin_ns, self.next_ns.load(Ordering::Relaxed).max(begin_ns))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Checks the tags of a source's tokens at `rate` per second. At each instant in ms the tag of the next
    /// token is expected, in ms or as `-` for none. Then the source makes the given number of records.
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

    /// The shares of Cameo's figure 6: with 20 and 40 tokens per second, the second source has twice as many
    /// records before any given instant of validity.
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
