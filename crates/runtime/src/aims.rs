//! What a query is to reach: how soon its results are to be out, and what share of the machine it is owed.

use std::time::Duration;

use crate::error::PlanError;
use crate::limits;

/// What a query is to reach. Policies that go by deadlines or tokens read it (Cameo, NSDI 2021, sections 4 and 5.4); to the
/// others, and to what comes out, it makes no difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Aims {
    /// How long after its last contributing event was observed a result is to be out. Within
    /// [`limits::LATENCY_TARGET_NS`], whose default policies take where there is none.
    pub latency_target: Option<Duration>,
    /// Records that its sources together may make in a second before those that have no token: [`limits::TOKENS_PER_S`].
    pub tokens_per_s: Option<u64>,
}

impl Aims {
    /// Accepts these aims if each lies within its bound.
    ///
    /// # Errors
    /// [`PlanError::OutOfRange`] for the first that does not.
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        self.latency_target_ns().map(|target_ns| limits::LATENCY_TARGET_NS.check(target_ns)).transpose()?;
        self.tokens_per_s.map(|tokens| limits::TOKENS_PER_S.check(tokens)).transpose()?;
        Ok(())
    }

    pub(crate) fn latency_target_ns(&self) -> Option<u64> {
        self.latency_target.map(|target| u64::try_from(target.as_nanos()).unwrap_or(u64::MAX))
    }

    /// What each of so many sources gets of the tokens.
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
