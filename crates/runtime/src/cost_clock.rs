//! The clock by which the cost of a run is charged to its task, and a reading of it.

use thalweg_model::{Clock, ProcessingTime};

use crate::system;

/// Clock by which the costs of tasks are measured: policies and workers estimate the work of a task by its
/// cost per record. All other times, such as the busy times of metrics, are by the engine's clock.
///
/// Source: Enjima (SIGMOD 2025), section 4, which divides "the CPU time elapsed" by the number of events.
/// Both clocks run from the request for a task to the end of its step, so both include the choice of the
/// task, which is ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CostClock {
    /// The engine's clock. Time in which the operating system runs another thread on the worker's core, or in
    /// which a step waits, counts as cost.
    #[default]
    Wall,
    /// CPU time of the worker's thread, also if the engine has a virtual clock. One more system call per
    /// step. Without effect if each task has a thread of its own, because then nothing asks for costs. A
    /// worker that is stepped by hand must always be stepped by the same thread.
    Cpu,
}

/// An instant of the engine's clock, with the reading at that moment of the clock that measures the costs of
/// tasks ([`CostClock`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reading {
    pub(crate) at: ProcessingTime,
    /// Nanoseconds by the clock that measures the costs of tasks; only differences between readings of one
    /// thread have a meaning.
    cost_ns: u64,
}

impl CostClock {
    /// Reads the engine's clock, and with it the clock that measures the costs of tasks.
    #[inline]
    pub(crate) fn read(self, clock: &dyn Clock) -> Reading {
        let at = clock.now();
        match self {
            CostClock::Wall => Reading::by_wall(at),
            CostClock::Cpu => Reading { at, cost_ns: system::thread_cpu_ns() },
        }
    }
}

impl Reading {
    /// Returns the reading of [`CostClock::Wall`] at an instant of the engine's clock.
    #[inline]
    pub(crate) fn by_wall(at: ProcessingTime) -> Self {
        Reading { at, cost_ns: at.as_nanos() }
    }

    /// Returns the time between two readings, by the engine's clock and by the clock that measures costs.
    #[inline]
    pub(crate) fn since(self, earlier: Reading) -> Spent {
        Spent {
            busy_ns: self.at.nanos_since(earlier.at),
            charged_ns: self.cost_ns.saturating_sub(earlier.cost_ns),
        }
    }
}

/// Duration of one step of a task, by the engine's clock and by the clock that measures costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Spent {
    /// Nanoseconds by the engine's clock, for metrics.
    pub(crate) busy_ns: u64,
    /// Nanoseconds by the clock that measures costs ([`CostClock`]), from which the task's cost per record
    /// follows.
    pub(crate) charged_ns: u64,
}
