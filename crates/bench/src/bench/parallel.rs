//! `--parallel`: how many workers may be inside one operator, by name.

use clap::ValueEnum;

/// The engine's two answers; [`BenchArgs::layout`](super::args::BenchArgs::layout) tells it which.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ParallelOption {
    /// One worker at a time in each operator.
    Serial,
    /// All workers in those from sources on that hold no state, up to the first window aggregate, and as many splits of
    /// the generator as workers (but for join, which has two streams).
    Epochs,
}

impl ParallelOption {
    /// Returns the option's name in figures.
    pub fn name(self) -> &'static str {
        match self {
            ParallelOption::Serial => "serial",
            ParallelOption::Epochs => "epochs",
        }
    }
}
