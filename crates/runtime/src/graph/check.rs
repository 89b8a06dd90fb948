//! What must hold before a graph is opened: it has a source, every name is there, once, and every edge leads from
//! one task to another. Since a task reads one edge and writes one, such a graph has no cycle that a source
//! feeds; a cycle of its own has no source and shows as one that nothing feeds.

use std::collections::HashSet;

use thalweg_model::{Span, WatermarkStrategy};

use super::Graph;
use crate::error::PlanError;
use crate::limits;

/// Checks the graph; answers what to call each edge, `from -> to`.
pub(super) fn check(graph: &Graph) -> Result<Vec<String>, PlanError> {
    if graph.name.is_empty() {
        return Err(PlanError::EmptyQueryName);
    }
    if !graph.tasks.iter().any(|task| task.input.is_none()) {
        return Err(PlanError::NoSource { query: graph.name.clone() });
    }
    limits::TASKS_PER_QUERY.check(graph.tasks.len() as u64)?;
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
    (0..graph.edges.len()).map(|index| label(graph, index)).collect::<Result<Vec<_>, _>>().and_then(
        |labels| {
            let fed = fed_tasks(graph);
            match graph.tasks.iter().enumerate().find(|(index, _)| !fed[*index]) {
                Some((_, task)) => Err(PlanError::Unfed { operator: task.name.clone() }),
                None => Ok(labels),
            }
        },
    )
}

/// Checks the watermark strategy of the source called `source`.
///
/// # Errors
/// [`PlanError::NegativeSpan`] if one of its spans is below zero.
pub fn check_strategy(source: &str, strategy: WatermarkStrategy) -> Result<(), PlanError> {
    let WatermarkStrategy { out_of_order, step } = strategy;
    let spans = [("out_of_order", out_of_order), ("watermark step", step)];
    match spans.into_iter().find(|(_, span)| *span < Span::ZERO) {
        Some((name, span)) => Err(PlanError::NegativeSpan { operator: source.to_owned(), name, span }),
        None => Ok(()),
    }
}

fn label(graph: &Graph, edge: usize) -> Result<String, PlanError> {
    let writer = graph.tasks.iter().find(|task| task.output == Some(edge));
    let reader = graph.tasks.iter().find(|task| task.input == Some(edge));
    match (writer, reader) {
        (Some(writer), Some(reader)) => Ok(format!("{} -> {}", writer.name, reader.name)),
        (Some(writer), None) => Err(PlanError::Unread { operator: writer.name.clone() }),
        (None, Some(reader)) => Err(PlanError::Unfed { operator: reader.name.clone() }),
        (None, None) => Err(PlanError::Unfed { operator: format!("edge {edge}") }),
    }
}

/// Which tasks a source reaches.
fn fed_tasks(graph: &Graph) -> Vec<bool> {
    let mut fed: Vec<bool> = graph.tasks.iter().map(|task| task.input.is_none()).collect();
    loop {
        let mut is_new = false;
        for index in 0..graph.tasks.len() {
            let feeds =
                |task: &super::TaskPlan| task.output.is_some() && task.output == graph.tasks[index].input;
            let is_fed = || graph.tasks.iter().enumerate().any(|(from, task)| fed[from] && feeds(task));
            if !fed[index] && is_fed() {
                fed[index] = true;
                is_new = true;
            }
        }
        if !is_new {
            return fed;
        }
    }
}
