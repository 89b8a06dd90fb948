//! The engine's processing-time clock in production, which reads the operating system.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use thalweg_model::{Clock, ProcessingTime};

/// The machine's monotonic clock, tied once to the Unix epoch at the start, so that it never goes back when
/// the wall clock is set.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    started: Instant,
    started_at: ProcessingTime,
}

impl Default for SystemClock {
    fn default() -> Self {
        // If the wall clock stands before 1970, the clock counts from the Unix epoch instead; nothing else
        // is affected.
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let nanos = u64::try_from(since_epoch.as_nanos()).unwrap_or(0);
        SystemClock { started: Instant::now(), started_at: ProcessingTime::from_nanos(nanos) }
    }
}

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> ProcessingTime {
        let elapsed = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.started_at.plus_nanos(elapsed)
    }
}
