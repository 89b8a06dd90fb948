//! Placing: which thread of this machine runs which executor.
//!
//! A thread is found by the component and the tasks in its name. Topologies within one process may have executors of one
//! component and the same tasks; then each thread of the name belongs to each of them, so it gets the most urgent of
//! their settings. This rule is ours: a name is all that Storm gives to its threads.
//!
//! Bound: [`STEERED_MAX`].

use std::collections::BTreeSet;

use super::metrics::Metrics;
use super::names::{Part, Thread, in_metrics, is_of_storm};
use super::workers::Worker;
use crate::bounds::{STEERED_MAX, check};
use crate::steering::Unobserved;
use crate::threads::ThreadKey;

/// An executor: the name of its topology in metrics, and the numbers of its first and last task.
pub(super) type Executor = (String, (u32, u32));

/// A thread of an executor.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    pub(super) executor: Executor,
    pub(super) part: Part,
    pub(super) thread: ThreadKey,
    pub(super) name: String,
    /// True if an entry of the executor's receive queue is a batch of records, as in Storm 1.x.
    pub(super) has_batches: bool,
}

/// Finds the threads of all executors, in the order of the executors. Those of Storm itself, such as ackers, are left alone.
///
/// # Errors
/// If there are more than [`STEERED_MAX`].
pub(super) fn places(workers: &[Worker], metrics: &Metrics) -> Result<Vec<Place>, Unobserved> {
    let mut places = Vec::new();
    for worker in workers {
        let names = worker.process().names();
        let threads: Vec<_> =
            names.filter_map(|(name, keys)| Some((Thread::of(name)?, name, keys))).collect();
        for topology in metrics.topologies().filter(|topology| worker.may_run(topology)) {
            let is_main = |thread: &Thread<'_>| {
                thread.part == Part::Main
                    && !is_of_storm(thread.component)
                    && match metrics.component(topology, thread.tasks.0) {
                        Some(component) => component == in_metrics(thread.component),
                        // Its metrics may come yet.
                        None => worker.has_one_topology(),
                    }
            };
            let mains = threads.iter().map(|(thread, ..)| thread).filter(|thread| is_main(thread));
            let mains: BTreeSet<(u32, u32)> = mains.map(|thread| thread.tasks).collect();
            for (thread, name, keys) in &threads {
                let is_steered = match thread.part {
                    Part::Main => is_main(thread),
                    Part::Send => mains.contains(&thread.tasks),
                };
                if !is_steered {
                    continue;
                }
                check("threads to steer", places.len() + keys.len(), STEERED_MAX)?;
                places.extend(keys.iter().map(|key| Place {
                    executor: (topology.to_owned(), thread.tasks),
                    part: thread.part,
                    thread: *key,
                    name: (*name).to_owned(),
                    has_batches: thread.has_batches,
                }));
            }
        }
    }
    places.sort_unstable();
    Ok(places)
}
