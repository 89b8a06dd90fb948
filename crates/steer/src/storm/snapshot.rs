//! The snapshot of a Storm: its executors and send threads as operators, and its topologies as queries.
//!
//! Tasks of a steered topology that run on other machines are operators without a thread. An executor writes to all
//! executors of the components that read from its own: how records are divided among them is not told. A send thread
//! reads from no operator, and has the readers of its executor.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use thalweg_scheduling::{OperatorId, OperatorState, QueryId, QueryState, Snapshot};

use super::metrics::Measured;
use super::names::Part;
use super::placing::{Executor, Place};
use super::{Lines, Storm};
use crate::bounds::{EDGES_MAX, check};
use crate::steering::{Observation, Steered, Unobserved};

/// Number of records for which an entry of the receive queue counts in Storm 1.x, as in Lachesis' published program. It is
/// the most that a batch holds by default (`topology.disruptor.batch.size`).
pub(super) const BATCH_RECORDS: f64 = 100.0;

/// A component of a topology: the names of both, as in metrics.
type Component = (String, String);

/// An operator of a snapshot.
pub(super) type OperatorKey = (Executor, Part);

impl<L: Lines> Storm<L> {
    /// Makes the snapshot of the topologies that have threads on this machine.
    ///
    /// # Errors
    /// If the queue of a thread to steer is not known, or if there are more than [`EDGES_MAX`] edges. Numbers are then
    /// as before.
    pub(super) fn assemble(&mut self, places: &[Place], now: Duration) -> Result<Observation, Unobserved> {
        let executors = self.executors(places);
        for Place { executor, part, name, .. } in places {
            let Some(measured) = executors.get(executor) else { continue };
            let queue = if *part == Part::Send { measured.to_send } else { measured.waiting };
            if queue.is_none() {
                let text = "its reporter is to tell it each second, with report.period 1";
                let unused = self.unused();
                return Err(Unobserved(format!(
                    "Storm does not tell what waits for `{name}`; {text}; {unused}"
                )));
            }
        }
        let mut operators: BTreeSet<OperatorKey> =
            executors.keys().map(|executor| (executor.clone(), Part::Main)).collect();
        operators.extend(places.iter().map(|place| (place.executor.clone(), place.part)));
        let graph = Graph::of(&executors, &operators)?;
        let topologies = executors.keys().map(|(topology, _)| topology.clone());
        self.queries.set(topologies.collect());
        self.operators.set(operators.clone());
        Ok(self.observation(places, (&executors, &graph), now))
    }

    /// Returns the executors that have threads on this machine, and the tasks of their topologies that run elsewhere.
    fn executors(&self, places: &[Place]) -> BTreeMap<Executor, Measured> {
        let mut executors = BTreeMap::new();
        let mut here: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
        for Place { executor, has_batches, .. } in places {
            if !executors.contains_key(executor) {
                let (topology, tasks) = executor;
                let entry_records = if *has_batches { BATCH_RECORDS } else { 1.0 };
                let measured = self.metrics.executor(topology, *tasks, entry_records);
                executors.insert(executor.clone(), measured);
                let known = self.metrics.tasks(topology).filter(|task| (tasks.0..=tasks.1).contains(task));
                here.entry(topology).or_default().extend(known);
            }
        }
        for (topology, here) in here {
            for task in self.metrics.tasks(topology).filter(|task| !here.contains(task)) {
                let measured = self.metrics.executor(topology, (task, task), 1.0);
                executors.insert((topology.to_owned(), (task, task)), measured);
            }
        }
        executors
    }

    fn observation(
        &self,
        places: &[Place],
        (executors, graph): (&BTreeMap<Executor, Measured>, &Graph),
        now: Duration,
    ) -> Observation {
        let number =
            |executor: &Executor, part: Part| self.operators.of(&(executor.clone(), part)).map(OperatorId);
        let workers = places.iter().map(|place| place.thread).collect::<BTreeSet<_>>().len();
        let mut snapshot = Snapshot { workers, block_records: 1, ..Snapshot::default() };
        snapshot.now = snapshot.now.plus_nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
        snapshot.round_end = snapshot.now;
        snapshot.operators.resize(self.operators.end(), None);
        snapshot.downstream.resize(self.operators.end(), Vec::new());
        snapshot.queries.resize(self.queries.end(), None);
        for component in &graph.order {
            let executors_of = |component: &Component| graph.executors.get(component).into_iter().flatten();
            let readers = graph.readers.get(component).into_iter().flatten();
            let readers: Vec<OperatorId> =
                readers.flat_map(executors_of).filter_map(|executor| number(executor, Part::Main)).collect();
            let copies = graph.executors.get(component).map_or(1, Vec::len);
            for executor in executors_of(component) {
                let (Some(measured), Some(query)) = (executors.get(executor), self.queries.of(&executor.0))
                else {
                    continue;
                };
                snapshot.queries[query as usize] = Some(QueryState::default());
                for part in [Part::Main, Part::Send] {
                    let Some(operator) = number(executor, part) else { continue };
                    let state = state(measured, part, readers.is_empty(), copies);
                    snapshot.operators[operator.0 as usize] =
                        Some(OperatorState { query: QueryId(query), ..state });
                    snapshot.downstream[operator.0 as usize].clone_from(&readers);
                    snapshot.order.push(operator);
                }
            }
        }
        let steered = |place: &Place| {
            let operator = number(&place.executor, place.part)?;
            Some(Steered { key: place.thread, operator, name: place.name.clone() })
        };
        let threads = places.iter().filter_map(steered).collect();
        Observation { snapshot, threads, ..Observation::default() }
    }
}

/// Returns the state of an executor, or of its send thread, for a policy. A queue of unknown length counts as empty,
/// since no thread of the executor is then steered.
fn state(measured: &Measured, part: Part, is_last: bool, copies: usize) -> OperatorState {
    let new = OperatorState::default();
    let queue = if part == Part::Send { measured.to_send } else { measured.waiting };
    OperatorState {
        is_source: part == Part::Main && measured.is_spout,
        is_sink: part == Part::Main && is_last,
        // A queue in which a record waited at any time of the last 10 s is not empty.
        pending: queue.map_or(0, |queue| queue.ceil() as u64),
        cost_ns_per_record: measured.cost_ns_per_record.unwrap_or(new.cost_ns_per_record),
        selectivity: measured.selectivity.unwrap_or(new.selectivity),
        copies: u32::try_from(copies).unwrap_or(u32::MAX),
        ..new
    }
}

/// The components of all topologies.
struct Graph {
    executors: BTreeMap<Component, Vec<Executor>>,
    /// The components that read the output of each component.
    readers: BTreeMap<Component, BTreeSet<Component>>,
    /// All components, each writer before its readers. Those of a cycle come last.
    order: Vec<Component>,
}

impl Graph {
    /// Finds the edges, of which there are at most [`EDGES_MAX`].
    fn of(
        executors: &BTreeMap<Executor, Measured>,
        operators: &BTreeSet<OperatorKey>,
    ) -> Result<Self, Unobserved> {
        let component =
            |executor: &Executor, measured: &Measured| (executor.0.clone(), measured.component.clone());
        let mut of: BTreeMap<Component, Vec<Executor>> = BTreeMap::new();
        for (executor, measured) in executors {
            of.entry(component(executor, measured)).or_default().push(executor.clone());
        }
        let mut readers: BTreeMap<Component, BTreeSet<Component>> = BTreeMap::new();
        for (executor, measured) in executors {
            let reader = component(executor, measured);
            for writer in &measured.writers {
                let writer = (executor.0.clone(), writer.clone());
                if of.contains_key(&writer) {
                    readers.entry(writer).or_default().insert(reader.clone());
                }
            }
        }
        let mut count = 0;
        for (writer, readers) in &readers {
            let is_operator = |key: &OperatorKey| operators.contains(key);
            let parts = |executor: &Executor| {
                [Part::Main, Part::Send].map(|part| usize::from(is_operator(&(executor.clone(), part))))
            };
            let writers: usize = of[writer].iter().flat_map(parts).sum();
            count += readers.iter().map(|reader| writers * of[reader].len()).sum::<usize>();
            check("edges between executors", count, EDGES_MAX)?;
        }
        let order = order(&of, &readers);
        Ok(Graph { executors: of, readers, order })
    }
}

/// Returns all components, each writer before its readers. Those of a cycle, and what reads from it, come last.
fn order(
    components: &BTreeMap<Component, Vec<Executor>>,
    readers: &BTreeMap<Component, BTreeSet<Component>>,
) -> Vec<Component> {
    let mut waits_for: BTreeMap<&Component, usize> =
        components.keys().map(|component| (component, 0)).collect();
    for reader in readers.values().flatten() {
        *waits_for.entry(reader).or_default() += 1;
    }
    let ready = waits_for.iter().filter(|(_, count)| **count == 0).map(|(component, _)| *component);
    let mut ready: VecDeque<&Component> = ready.collect();
    let mut order = Vec::with_capacity(components.len());
    while let Some(writer) = ready.pop_front() {
        order.push(writer.clone());
        waits_for.remove(writer);
        for reader in readers.get(writer).into_iter().flatten() {
            if let Some(count) = waits_for.get_mut(reader) {
                *count -= 1;
                if *count == 0 {
                    ready.push_back(reader);
                }
            }
        }
    }
    order.extend(waits_for.into_keys().cloned());
    order
}
