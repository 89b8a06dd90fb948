//! Aims of a query: how soon its results should be out, and its share of the machine.

use std::time::Duration;

use crate::error::PlanError;
use crate::limits;

/// Aims of a query. Policies with deadlines or tokens (which let records run first) read them (Cameo, NSDI
/// 2021, sections 4 and 5.4). They have no effect on other policies, nor on results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Aims {
    /// Longest wanted time from the arrival at the source of the last event that contributes to a result, to
    /// the arrival of the result at the sink. Must lie within [`limits::LATENCY_TARGET_NS`], both bounds
    /// included. For queries without a target, policies that need one use the default of this limit.
    pub latency_target: Option<Duration>,
    /// Records per second that the sources of the query, together, may make with a token. Records with a
    /// token run before records without one. [`limits::TOKENS_PER_S`] has the bounds.
    pub tokens_per_s: Option<u64>,
}

impl Aims {
    /// Checks that the latency target and the token rate of the query are each within their bounds.
    ///
    /// # Errors
    /// [`PlanError::OutOfRange`] for the first aim that is out of its bounds.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        self.latency_target_ns().map(|target_ns| limits::LATENCY_TARGET_NS.check(target_ns)).transpose()?;
        self.tokens_per_s.map(|tokens| limits::TOKENS_PER_S.check(tokens)).transpose()?;
        Ok(())
    }

    pub(crate) fn latency_target_ns(&self) -> Option<u64> {
        self.latency_target.map(|target| u64::try_from(target.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Returns the tokens per second that each source gets, if `sources` sources share the query's tokens
    /// equally. A record with a token runs before records without one.
    pub(crate) fn tokens_of_each(&self, sources: usize) -> Option<f64> {
        let tokens = self.tokens_per_s.filter(|tokens| *tokens > 0)?;
        Some(tokens as f64 / sources.max(1) as f64)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn aims_out_of_range_are_refused() {
        let check = |latency_target, tokens_per_s| Aims { latency_target, tokens_per_s }.check();
        assert_eq!(check(None, None), Ok(()));
        assert_eq!(check(Some(Duration::from_millis(800)), Some(12)), Ok(()));
        let error = check(Some(Duration::ZERO), None).unwrap_err().to_string();
        assert!(error.starts_with("latency_target_ns is 0 ns, but must be from"), "{error}");
        assert!(check(Some(Duration::MAX), None).is_err());
        assert!(check(None, Some(u64::MAX)).is_err());
    }

    #[test]
    fn sources_share_the_tokens() {
        let of_each =
            |tokens_per_s, sources| Aims { tokens_per_s, ..Aims::default() }.tokens_of_each(sources);
        assert_eq!(of_each(Some(12), 3), Some(4.0));
        assert_eq!(of_each(Some(12), 0), Some(12.0));
        assert_eq!((of_each(Some(0), 1), of_each(None, 1)), (None, None));
    }
}
