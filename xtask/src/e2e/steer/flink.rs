//! `thalweg steer flink` on a real Flink, which runs a query without an end.

use std::path::Path;

use anyhow::{Context, Result};

use super::Engine;
use crate::e2e::gateway::Session;
use crate::services::flink::Flink;

/// Query that keeps several threads of a task manager busy until it is cancelled.
const STATEMENTS: [&str; 3] = [
    "CREATE TABLE numbers (id BIGINT, part AS MOD(id, 100)) WITH ('connector' = 'datagen', 'rows-per-second' = '200000')",
    "CREATE TABLE nowhere (part BIGINT, n BIGINT) WITH ('connector' = 'blackhole')",
    "INSERT INTO nowhere SELECT part, COUNT(*) FROM numbers GROUP BY part",
];

/// Starts a query on a Flink that runs no other, and steers the threads of its task manager.
///
/// # Errors
///
/// As for the check of any engine: a priority that is not given, or something that is not put back.
pub(in crate::e2e) fn check(flink: &Flink, program: &Path, directory: &Path) -> Result<()> {
    let client = flink.gateway();
    let session = Session::open(&client)?;
    for statement in STATEMENTS {
        session.set_up(statement)?;
    }
    let process = || flink.task_manager().context("flink has no task manager");
    let jobs = flink.jobs();
    super::check(&Engine { words: &["flink", "--rest", &jobs], process: &process, directory }, program)?;
    session.close()
}
