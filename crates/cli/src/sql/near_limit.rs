//! The warning that state has nearly filled the memory budget: once in a run, with the operator that holds the most.
//!
//! State of some operators may go to disk instead, and then a note at the end of the job says how much did.
//!
//! A query beyond the budget fails with `STATE_LIMIT`. The warning comes before that, while the run can still be
//! watched, stopped or given more memory. State that doubles at once may pass the mark and the budget in one step; then
//! the failure itself names the operator.

use std::collections::BTreeMap;

use thalweg::QueryMetrics;
use thalweg_memory::Budget;
use thalweg_sql::job::copies_that_spill;
use thalweg_sql::session::Job;
use thalweg_sql::spill::SpillTotals;

/// Share of the memory budget in use, in percent, from which the warning is given.
pub const NEAR_PERCENT: usize = 80;

/// The code of the warning.
pub const CODE: &str = "STATE_NEAR_LIMIT";

/// The operator of a run that holds the most state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Largest {
    /// Name of the job that runs the operator.
    pub job: String,
    /// Name of the operator.
    pub operator: String,
    /// Bytes of state in all copies of the operator.
    pub bytes: u64,
}

/// Returns advice on a job that has failed for want of memory, though its state could go to disk.
pub fn help(job: &Job, code: &str) -> Option<&'static str> {
    let may_spill = job.parts.iter().any(|part| copies_that_spill(&part.plan, 1) > 0);
    (code == "STATE_LIMIT" && job.settings.spill_dir.is_none() && may_spill).then_some(
        "SET 'thalweg.state.spill-dir' = '/a/directory' lets the state of GROUP BY and ORDER BY over input that ends go to disk",
    )
}

/// Returns a note on state that went to disk; `None` if none did.
pub fn on_disk(totals: SpillTotals) -> Option<String> {
    const MIB: f64 = (1 << 20) as f64;
    let SpillTotals { files, rows_written, bytes_written, .. } = totals;
    let mib = bytes_written as f64 / MIB;
    (rows_written > 0).then(|| {
        format!(
            "state did not fit into memory: {rows_written} rows in {files} files, {mib:.1} MiB, went to disk"
        )
    })
}

/// Returns whether so much of a budget is in use that the warning is due.
pub fn is_near(budget: &Budget) -> bool {
    let (used, limit) = (budget.used_bytes() as u128, budget.limit_bytes() as u128);
    limit * NEAR_PERCENT as u128 <= used * 100
}

/// Returns the operator with the most state; `None` if no operator holds any.
pub fn largest<'a>(jobs: impl IntoIterator<Item = (&'a str, QueryMetrics)>) -> Option<Largest> {
    let mut held: BTreeMap<(&str, String), u64> = BTreeMap::new();
    for (job, metrics) in jobs {
        for operator in metrics.operators() {
            *held.entry((job, operator.operator.clone())).or_default() += operator.state_bytes;
        }
    }
    let ((job, operator), bytes) = held.into_iter().max_by_key(|(_, bytes)| *bytes)?;
    (bytes > 0).then(|| Largest { job: job.to_owned(), operator, bytes })
}

/// Returns the text of the warning about the operator with the most state, for a budget of `limit_bytes`.
pub fn text(largest: &Largest, limit_bytes: usize) -> String {
    const MIB: f64 = (1 << 20) as f64;
    let Largest { operator, bytes, .. } = largest;
    format!(
        "{NEAR_PERCENT} % of the memory budget are in use, and the operator `{operator}` holds the most state: {:.1} of \
         {:.1} MiB; raise --memory-budget, or bound the state by a window or SET 'table.exec.state.ttl' = '1 d'",
        *bytes as f64 / MIB,
        limit_bytes as f64 / MIB
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_near_its_limit_at_eighty_percent() {
        let budget = Budget::new(1_000);
        let mut reserved = budget.reserve(799).unwrap();
        assert!(!is_near(&budget));
        reserved.resize(800).unwrap();
        assert!(is_near(&budget));
    }

    #[test]
    fn the_text_names_operator_and_sizes() {
        let largest = Largest { job: "query-2".to_owned(), operator: "group".to_owned(), bytes: 201 << 20 };
        let text = text(&largest, 256 << 20);
        assert!(text.contains("the operator `group` holds the most state: 201.0 of 256.0 MiB"), "{text}");
        assert_eq!(super::largest([]), None);
    }
}
