//! `--parallel`: how many workers may be inside one operator, by name.

use clap::ValueEnum;

/// The values of `--parallel`. [`BenchArgs::layout`](super::args::BenchArgs::layout) converts them to the
/// engine's setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ParallelOption {
    /// One worker at a time in each operator.
    Serial,
    /// All workers in the operators without state that follow a source, and in the window aggregate behind
    /// them. The generator has as many splits as there are workers (except for join, which has two streams).
    Epochs,
}

impl ParallelOption {
    /// Returns the name that this value of `--parallel` has in the results of a run.
    pub fn name(self) -> &'static str {
        match self {
            ParallelOption::Serial => "serial",
            ParallelOption::Epochs => "epochs",
        }
    }
}
