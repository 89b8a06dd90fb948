//! Which operators may put state on disk: aggregates whose answer waits for the end of their input, and final rows.
//!
//! Both need their state for the answer only, so it may wait on disk until the input has ended. Operators that answer while
//! rows come, such as joins, need all of their state for each row.

use crate::plan::{Node, Plan};

/// Returns the number of copies of operators of a plan that may put state on disk, if `workers` workers run it. They share
/// the memory for such state.
pub fn copies_that_spill(plan: &Plan, workers: usize) -> usize {
    let copies = |part: &Plan| match &part.node {
        Node::Group { keys, is_final: true, .. } if !keys.is_empty() => workers.max(1),
        Node::Final { .. } => 1,
        _ => 0,
    };
    plan.walk().map(copies).sum()
}
