//! Commands of `thalweg` that another program runs, `thalweg-bench`, so that an installed `thalweg` carries no experiments.
//!
//! Both programs list these commands by the texts below: `thalweg` among all its commands, `thalweg-bench` among its own.

/// Name of the program that runs these commands. Its file is in the folder of `thalweg`.
pub const PROGRAM: &str = "thalweg-bench";

/// Text that tells in the help what `thalweg bench` does.
pub const BENCH: &str = "Run a benchmark workload, check its results and measure it";

/// Text that tells in the help what `thalweg replay` does.
pub const REPLAY: &str =
    "Ask a policy again what a run has asked of one, and tell where it answers otherwise";
