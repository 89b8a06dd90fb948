//! The option `--cost-clock`: the clock by which the engine measures the costs that policies go by.

use clap::ValueEnum;
use thalweg::CostClock;

/// The engine's clocks of costs, as values of `--cost-clock`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum CostClockOption {
    /// Time from the choice of a task to the end of its run.
    Wall,
    /// CPU time of the worker's thread in that time (Enjima).
    Cpu,
}

impl CostClockOption {
    /// Returns the engine's setting for this clock.
    pub fn cost_clock(self) -> CostClock {
        match self {
            CostClockOption::Wall => CostClock::Wall,
            CostClockOption::Cpu => CostClock::Cpu,
        }
    }
}
