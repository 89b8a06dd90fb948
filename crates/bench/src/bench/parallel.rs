//! `--parallel`: how many workers may be inside one operator, by name.

use clap::ValueEnum;

/// The values of `--parallel`. [`BenchArgs::layout`](super::args::BenchArgs::layout) converts them to the
/// engine's setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ParallelOption {
    /// One worker at a time in each operator.
    Serial,
    /// All workers in those from sources on that hold no state, up to the first window aggregate, and as many splits of
    /// the generator as workers (but for join, which has two streams).
    Epochs,
}

impl ParallelOption {
    /// Returns the name that this value of `--parallel` has in figures.
    pub fn name(self) -> &'static str {
        match self {
            ParallelOption::Serial => "serial",
            ParallelOption::Epochs => "epochs",
        }
    }
}
