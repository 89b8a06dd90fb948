//! Commands of `thalweg` that another program runs, `thalweg-bench`, so that an installed `thalweg` carries no experiments.
//!
//! Both programs list these commands by the texts below: `thalweg` among all its commands, `thalweg-bench` among its own.

/// Name of the other program, whose file lies beside that of `thalweg`.
pub const PROGRAM: &str = "thalweg-bench";

/// Purpose of `thalweg bench`.
pub const BENCH: &str = "Run a benchmark workload, check its results and measure it";

/// Purpose of `thalweg replay`.
pub const REPLAY: &str =
    "Ask a policy again what a run has asked of one, and tell where it answers otherwise";
