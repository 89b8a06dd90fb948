//! The clock of processing time as a trait, and a virtual clock for simulations.

use std::sync::Mutex;

use crate::time::ProcessingTime;

/// Source of processing time. Never goes back. Only callers in runtime and connectors hold a clock: operators and
/// policies are given instants instead.
pub trait Clock: Send + Sync {
    /// Returns the present instant of processing time.
    fn now(&self) -> ProcessingTime;
}

/// A clock that stands still until it is moved, for simulations and tests.
#[derive(Debug, Default)]
pub struct VirtualClock(Mutex<ProcessingTime>);

impl VirtualClock {
    /// Creates a virtual clock that shows the instant `start`.
    pub fn starting_at(start: ProcessingTime) -> Self {
        VirtualClock(Mutex::new(start))
    }

    /// Moves the virtual clock to `instant`. An instant in the past changes nothing, because a clock never
    /// goes back.
    pub fn advance_to(&self, instant: ProcessingTime) {
        let mut now = self.lock();
        *now = instant.max(*now);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ProcessingTime> {
        // A panic while the lock is held cannot have left the guarded value half written, because it is one
        // word.
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> ProcessingTime {
        *self.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_clock_moves_forward_only() {
        let clock = VirtualClock::starting_at(ProcessingTime::from_nanos(5));
        clock.advance_to(ProcessingTime::from_nanos(9));
        clock.advance_to(ProcessingTime::from_nanos(7));
        assert_eq!(clock.now(), ProcessingTime::from_nanos(9));
    }
}
