//! Checks of the plan of a query before its edges are opened: the query has a source, each task has a
//! name, no name occurs twice, and every edge leads from one task to at least one other.
//!
//! Each end of an edge is used once. So a cycle can only be one that no source feeds, and the check
//! finds it as tasks that nothing feeds.

use std::collections::HashSet;

use thalweg_model::{Span, WatermarkStrategy};

use super::{Graph, ReaderOf};
use crate::error::PlanError;
use crate::limits;

/// Checks the plan of a query. Returns the name of each edge, `from -> to`, for each reader of the edge.
pub(super) fn check(graph: &Graph) -> Result<Vec<(ReaderOf, String)>, PlanError> {
    if graph.name.is_empty() {
        return Err(PlanError::EmptyQueryName);
    }
    if !graph.tasks.iter().any(|task| task.inputs.is_empty()) {
        return Err(PlanError::NoSource { query: graph.name.clone() });
    }
    // All copies of one chain count as one task here. There are at most as many copies as workers, and the
    // number of workers has a limit of its own.
    let is_counted = |task: &&super::TaskPlan| !task.is_copy;
    limits::TASKS_PER_QUERY.check(graph.tasks.iter().filter(is_counted).count() as u64)?;
    let mut names = HashSet::new();
    for task in &graph.tasks {
        if task.name.is_empty() {
            return Err(PlanError::EmptyName);
        }
        if let Some(strategy) = task.strategy {
            check_strategy(&task.name, strategy)?;
        }
        if !names.insert(task.name.as_str()) {
            return Err(PlanError::DuplicateName { name: task.name.clone() });
        }
    }
    for task in &graph.tasks {
        limits::INPUTS_PER_TASK.check(task.inputs.len().max(1) as u64)?;
    }
    let mut names = Vec::new();
    for edge in 0..graph.edges.len() {
        names_of(graph, edge, &mut names)?;
    }
    let fed = fed_tasks(graph);
    match graph.tasks.iter().zip(fed).find(|(_, is_fed)| !is_fed) {
        Some((task, _)) => Err(PlanError::Unfed { operator: task.name.clone() }),
        None => Ok(names),
    }
}

/// Checks the watermark strategy of the source called `source`.
///
/// # Errors
/// [`PlanError::NegativeSpan`] if one of the spans of time in the strategy is negative.
pub fn check_strategy(source: &str, strategy: WatermarkStrategy) -> Result<(), PlanError> {
    let WatermarkStrategy { out_of_order, step, ahead_max, .. } = strategy;
    let ahead_max = ("ahead_max", ahead_max.unwrap_or(Span::ZERO));
    let spans = [("out_of_order", out_of_order), ("watermark step", step), ahead_max];
    match spans.into_iter().find(|(_, span)| *span < Span::ZERO) {
        Some((name, span)) => Err(PlanError::NegativeSpan { operator: source.to_owned(), name, span }),
        None => Ok(()),
    }
}

/// Adds the names of an edge to `names`, one name for each reader of the edge.
fn names_of(graph: &Graph, edge: usize, names: &mut Vec<(ReaderOf, String)>) -> Result<(), PlanError> {
    let readers = graph.edges[edge].open.readers();
    limits::READERS_PER_EDGE.check(readers.max(1) as u64)?;
    let writer = graph.tasks.iter().find(|task| task.outputs.contains(&edge));
    for reader in 0..readers.max(1) {
        let of = ReaderOf { edge, reader };
        let read_by = graph.tasks.iter().find(|task| task.inputs.contains(&of));
        names.push(match (writer, read_by) {
            (Some(writer), Some(reader)) => {
                let name = format!("{} -> {}", writer.name, reader.name);
                // Two tasks may have several edges between them, and a task may read an edge twice. So
                // equal names get a number.
                let is_same = |(_, known): &&(ReaderOf, String)| {
                    known.strip_prefix(&name).is_some_and(|rest| rest.is_empty() || rest.starts_with(" #"))
                };
                let times = names.iter().filter(is_same).count();
                (of, if times == 0 { name } else { format!("{name} #{}", times + 1) })
            }
            (Some(writer), None) => return Err(PlanError::Unread { operator: writer.name.clone() }),
            (None, Some(reader)) => return Err(PlanError::Unfed { operator: reader.name.clone() }),
            (None, None) => return Err(PlanError::Unfed { operator: format!("edge {edge}") }),
        });
    }
    Ok(())
}

/// Returns, for each task, true if records of some source reach every input of the task.
fn fed_tasks(graph: &Graph) -> Vec<bool> {
    let mut fed = vec![false; graph.tasks.len()];
    loop {
        let mut is_new = false;
        for index in 0..graph.tasks.len() {
            let writes =
                |from: usize, of: &ReaderOf| fed[from] && graph.tasks[from].outputs.contains(&of.edge);
            let is_fed = |of: &ReaderOf| (0..graph.tasks.len()).any(|from| writes(from, of));
            if !fed[index] && graph.tasks[index].inputs.iter().all(is_fed) {
                fed[index] = true;
                is_new = true;
            }
        }
        if !is_new {
            return fed;
        }
    }
}
