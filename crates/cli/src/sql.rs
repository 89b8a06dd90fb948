//! SQL files: `run` runs one, `check` reports its errors, `explain` shows its plans, `test` runs queries with
//! known results, and `steer flink` looks for its windows.
//!
//! All of them walk plans and expressions by recursion, and a query may have thousands of levels. So each runs
//! on a thread with a large stack.

mod check;
mod declared;
mod ended;
mod explain;
mod near_limit;
mod run;
mod script;
mod state;
mod stdout;
mod stop;
mod test;
mod told;

use std::panic::resume_unwind;
use std::path::Path;
use std::thread::{Builder, scope};

use anyhow::{Context, Result};
use thalweg_cli::failure::End;
use thalweg_sql::session::STACK_BYTES;
use thalweg_steer::flink::Declared;

pub use check::CheckArgs;
pub use explain::ExplainArgs;
pub use run::RunArgs;
pub use test::TestArgs;

/// Runs `thalweg check` on a thread with a large stack.
pub fn check(args: &CheckArgs) -> Result<bool> {
    on_large_stack(|| check::run(args))
}

/// Reads the queries of a file for `thalweg steer flink --sql`, on a thread with a large stack.
pub fn declared(file: &Path) -> Result<Vec<Declared>> {
    on_large_stack(|| declared::read(file))
}

/// Runs `thalweg explain` on a thread with a large stack.
pub fn explain(args: &ExplainArgs) -> Result<bool> {
    on_large_stack(|| explain::run(args))
}

/// Runs `thalweg run` on a thread with a large stack.
pub fn run(args: &RunArgs) -> Result<End> {
    on_large_stack(|| run::run(args))
}

/// Runs `thalweg test` on a thread with a large stack.
pub fn test(args: &TestArgs) -> Result<bool> {
    on_large_stack(|| test::run(args))
}

fn on_large_stack<R: Send>(command: impl FnOnce() -> Result<R> + Send) -> Result<R> {
    scope(|scope| {
        let builder = Builder::new().name("sql".to_owned()).stack_size(STACK_BYTES);
        let running = builder.spawn_scoped(scope, command).context("no thread can be had")?;
        running.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}
