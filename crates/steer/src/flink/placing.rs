//! Placing: which thread of this machine runs which subtask.
//!
//! A thread is found by the name of its subtask within the process of its TaskManager. Jobs may have subtasks of one
//! name in one process. As many main threads as subtasks of a name belong to each other in the order of their starts.
//! Otherwise, and for helper threads, each thread of the name belongs to each subtask of the name, so it gets the most
//! urgent of their settings. This rule is ours: a name is all that Flink gives to its threads.
//!
//! Bound: [`STEERED_MAX`].

use std::collections::{BTreeMap, BTreeSet};

use super::jobs::Subtask;
use super::managers::Local;
use super::names::Task;
use super::{Known, Running};
use crate::bounds::{STEERED_MAX, check};
use crate::steering::Unobserved;
use crate::threads::ThreadKey;

/// The part that a thread has in the work of a subtask.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Part {
    Main,
    Fetcher,
    Flusher,
}

/// A subtask: places of its job and of its vertex, and its own number.
pub(super) type At = (usize, usize, u32);

/// A thread of a subtask.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) thread: ThreadKey,
    pub(super) name: String,
    pub(super) part: Part,
    pub(super) subtask: At,
}

/// All threads of subtasks on this machine.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) threads: Vec<Place>,
    /// Vertices with a subtask on this machine whose main thread was not found.
    pub(super) incomplete: BTreeSet<(String, String)>,
}

/// Finds the threads of all subtasks.
///
/// # Errors
/// If there are more than [`STEERED_MAX`].
pub(super) fn places(
    running: &[Running],
    known: &BTreeMap<(String, String), Known>,
    locals: &[Local],
) -> Result<Places, Unobserved> {
    let mut places = Places::default();
    // The subtasks of each name, with their starts, by process and part.
    let mut claims: BTreeMap<(usize, Part, String), Vec<(i64, At)>> = BTreeMap::new();
    for (job_place, job) in running.iter().enumerate() {
        for (vertex_place, vertex) in job.job.vertices.iter().enumerate() {
            let key = (job.id.clone(), vertex.id.clone());
            let Some(known) = known.get(&key) else { continue };
            for Subtask { index, attempt, start, manager, .. } in &known.subtasks {
                let told = &vertex.told;
                let (index, parallelism, attempt) = (*index, told.parallelism, *attempt);
                let task = Task { vertex: &told.name, index, parallelism, attempt };
                let here = locals.iter().enumerate().filter(|(_, local)| local.may_be(manager.as_deref()));
                let (mut is_here, mut is_found) = (false, false);
                for (local_place, local) in here {
                    is_here = true;
                    let mut claim = |part: Part, name: String| {
                        let claim = claims.entry((local_place, part, name)).or_default();
                        claim.push((*start, (job_place, vertex_place, index)));
                    };
                    let is_name = |name: &String| !local.named(name).is_empty();
                    if let Some(name) = task.main().into_iter().find(is_name) {
                        is_found = true;
                        claim(Part::Main, name);
                    }
                    if let Some(name) = task.flusher().into_iter().find(is_name) {
                        claim(Part::Flusher, name);
                    }
                    if vertex.inputs.is_empty() {
                        task.fetchers()
                            .into_iter()
                            .filter(is_name)
                            .for_each(|name| claim(Part::Fetcher, name));
                    }
                }
                if is_here && !is_found {
                    places.incomplete.insert(key.clone());
                }
            }
        }
    }
    for ((local, part, name), mut claims) in claims {
        claims.sort_unstable();
        let threads = locals[local].named(&name);
        let place = |(thread, (_, subtask)): (&ThreadKey, &(i64, At))| Place {
            thread: *thread,
            name: name.clone(),
            part,
            subtask: *subtask,
        };
        if part == Part::Main && threads.len() == claims.len() {
            places.threads.extend(threads.iter().zip(&claims).map(place));
        } else {
            let count = places.threads.len() + threads.len().saturating_mul(claims.len());
            check("threads to steer", count, STEERED_MAX)?;
            let pairs = threads.iter().flat_map(|thread| claims.iter().map(move |claim| (thread, claim)));
            places.threads.extend(pairs.map(place));
        }
    }
    Ok(places)
}
