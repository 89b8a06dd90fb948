//! The snapshot of a Flink: its subtasks and output flushers as operators, and its jobs as queries.
//!
//! A subtask that does not run is no operator, and keeps its number. An output flusher reads from no operator, and has
//! the readers of its subtask.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use thalweg_scheduling::{OperatorId, OperatorState, QueryId, QueryState, Snapshot};

use super::jobs::{Strategy, Vertex};
use super::metrics::Sample;
use super::placing::{At, Part, Place};
use super::{Flink, Running};
use crate::bounds::{EDGES_MAX, check};
use crate::steering::{Observation, Steered, Unobserved};
use crate::window::Window;

/// An operator of a snapshot.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct OperatorKey {
    job: String,
    vertex: String,
    subtask: u32,
    is_flusher: bool,
}

/// Time at work in ms per second that counts where Flink tells 0. It tells whole numbers, and a cost is above zero.
const BUSY_MS_MIN: f64 = 0.5;

/// Queues and costs of a subtask.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    attempt: u32,
    input: Window,
    output: Window,
    cost_ns_per_record: Option<f64>,
    selectivity: Option<f64>,
}

impl Measured {
    /// Adds the metrics of this round. Queues of an earlier attempt are forgotten, and costs are not.
    pub(super) fn add(&mut self, attempt: u32, now: Duration, sample: Sample, vertex: &Vertex) {
        if self.attempt != attempt {
            (self.attempt, self.input, self.output) = (attempt, Window::default(), Window::default());
        }
        self.input.add(now, sample.input);
        self.output.add(now, sample.output);
        let is_some = |rate: &f64| *rate > 0.0;
        let records_in = sample.records_in.filter(is_some);
        let is_source = vertex.inputs.is_empty();
        // Not all sources count what they take, so what they put out counts for what they make.
        let records = records_in.or_else(|| sample.records_out.filter(|rate| is_source && is_some(rate)));
        if let (Some(busy_ms), Some(records)) = (sample.busy_ms, records) {
            self.cost_ns_per_record = Some(busy_ms.max(BUSY_MS_MIN) * 1e6 / records);
        }
        if let (Some(records_in), Some(records_out), true) =
            (records_in, sample.records_out, vertex.has_readers)
        {
            self.selectivity = Some(records_out / records_in);
        }
    }
}

impl<T> Flink<T> {
    /// Makes the snapshot of the jobs that run. `listed` has all jobs that have not ended.
    ///
    /// # Errors
    /// If the queue of a thread to steer is not known, or if there are more than [`EDGES_MAX`] edges. Numbers are then
    /// as before.
    pub(super) fn assemble(
        &mut self,
        running: &[Running],
        listed: BTreeSet<String>,
        places: &[Place],
        now: Duration,
    ) -> Result<Observation, Unobserved> {
        let mut states: BTreeMap<(At, bool), OperatorState> = BTreeMap::new();
        for (job_place, Running { id, job }) in running.iter().enumerate() {
            for (vertex_place, vertex) in job.vertices.iter().enumerate() {
                let Some(known) = self.known.get(&(id.clone(), vertex.id.clone())) else { continue };
                for subtask in &known.subtasks {
                    let measured = known.measured.get(&subtask.index);
                    let state = state(vertex, measured, measured.and_then(|measured| measured.input.mean()));
                    states.insert(((job_place, vertex_place, subtask.index), false), state);
                }
            }
        }
        for Place { name, part, subtask, .. } in places {
            let (job, vertex, index) = *subtask;
            let Running { id, job } = &running[job];
            let vertex = &job.vertices[vertex];
            let known = self.known.get(&(id.clone(), vertex.id.clone()));
            let measured = known.and_then(|known| known.measured.get(&index));
            let is_flusher = *part == Part::Flusher;
            let queue = measured
                .and_then(|measured| if is_flusher { measured.output.mean() } else { measured.input.mean() });
            if queue.is_none() {
                let text = "it collects metrics every 10 s unless metrics.fetcher.update-interval is shorter";
                return Err(Unobserved(format!("Flink does not yet tell what waits for `{name}`; {text}")));
            }
            if is_flusher {
                let state =
                    OperatorState { is_source: false, is_sink: false, ..state(vertex, measured, queue) };
                states.insert((*subtask, true), state);
            }
        }
        let edges = Edges::of(running, &states)?;
        self.give_numbers(running, listed, &states);
        Ok(self.observation(running, places, (&states, &edges), now))
    }

    /// Gives numbers to new operators and queries, and takes those of what has ended. A job that restarts keeps them.
    fn give_numbers(
        &mut self,
        running: &[Running],
        listed: BTreeSet<String>,
        states: &BTreeMap<(At, bool), OperatorState>,
    ) {
        let lives = |key: &OperatorKey| match running.iter().find(|running| running.id == key.job) {
            Some(Running { job, .. }) => {
                let vertex = job.vertices.iter().find(|vertex| vertex.id == key.vertex);
                vertex.is_some_and(|vertex| key.subtask < vertex.told.parallelism)
            }
            None => listed.contains(&key.job),
        };
        let mut owners: BTreeSet<OperatorKey> =
            self.operators.owners().filter(|key| lives(key)).cloned().collect();
        owners.extend(states.keys().map(|(at, is_flusher)| key(running, *at, *is_flusher)));
        self.operators.set(owners);
        self.queries.set(listed);
    }

    fn observation(
        &self,
        running: &[Running],
        places: &[Place],
        (states, edges): (&BTreeMap<(At, bool), OperatorState>, &Edges),
        now: Duration,
    ) -> Observation {
        let number = |at: &(At, bool)| Some((*at, OperatorId(self.operators.of(&key(running, at.0, at.1))?)));
        let numbers: BTreeMap<(At, bool), OperatorId> = states.keys().filter_map(number).collect();
        let number = |at: At, is_flusher: bool| numbers.get(&(at, is_flusher)).copied();
        let workers = places.iter().map(|place| place.thread).collect::<BTreeSet<_>>().len();
        let mut snapshot = Snapshot { workers, block_records: 1, ..Snapshot::default() };
        snapshot.now = snapshot.now.plus_nanos(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
        snapshot.round_end = snapshot.now;
        snapshot.operators.resize(self.operators.end(), None);
        snapshot.downstream.resize(self.operators.end(), Vec::new());
        snapshot.queries.resize(self.queries.end(), None);
        let query = |job: &Running| self.queries.of(&job.id);
        for query in running.iter().filter_map(query) {
            snapshot.queries[query as usize] = Some(QueryState::default());
        }
        // Places rise in the order of jobs and of vertices, in which writers come first.
        for ((at, is_flusher), state) in states {
            let (Some(operator), Some(query)) = (number(*at, *is_flusher), query(&running[at.0])) else {
                continue;
            };
            let state = OperatorState { query: QueryId(query), ..*state };
            snapshot.operators[operator.0 as usize] = Some(state);
            let readers = edges.readers(*at);
            snapshot.downstream[operator.0 as usize] =
                readers.into_iter().filter_map(|reader| number(reader, false)).collect();
            snapshot.order.push(operator);
        }
        let steered = |place: &Place| {
            let Place { thread, name, part, subtask } = place;
            let operator = number(*subtask, *part == Part::Flusher)?;
            Some(Steered { key: *thread, operator, name: name.clone() })
        };
        let threads = places.iter().filter_map(steered).collect();
        Observation { snapshot, threads }
    }
}

/// Returns the identity of an operator.
fn key(running: &[Running], (job, vertex, subtask): At, is_flusher: bool) -> OperatorKey {
    let Running { id, job } = &running[job];
    OperatorKey { job: id.clone(), vertex: job.vertices[vertex].id.clone(), subtask, is_flusher }
}

/// Returns the state of a subtask for which so much waits; nothing does if that is not known, since no thread of the
/// subtask is then steered.
fn state(vertex: &Vertex, measured: Option<&Measured>, queue: Option<f64>) -> OperatorState {
    let new = OperatorState::default();
    let cost = measured.and_then(|measured| measured.cost_ns_per_record);
    let selectivity = measured.and_then(|measured| measured.selectivity);
    let is_divided = vertex.inputs.iter().any(|input| input.strategy != Strategy::Broadcast);
    OperatorState {
        is_source: vertex.inputs.is_empty(),
        is_sink: !vertex.has_readers,
        // A queue that held anything in the window counts.
        pending: queue.map_or(0, |queue| queue.ceil() as u64),
        cost_ns_per_record: cost.unwrap_or(new.cost_ns_per_record),
        selectivity: selectivity.unwrap_or(new.selectivity),
        copies: if is_divided || vertex.inputs.is_empty() { vertex.told.parallelism } else { 1 },
        ..new
    }
}

/// Edges between subtasks that run.
struct Edges {
    /// Numbers of the subtasks of each vertex, by the places of its job and its own.
    subtasks: BTreeMap<(usize, usize), Vec<u32>>,
    /// Readers of each vertex by their places. True stands for an edge between subtasks of the same number only.
    readers: BTreeMap<(usize, usize), Vec<(usize, bool)>>,
}

impl Edges {
    /// Finds the edges, of which there are at most [`EDGES_MAX`].
    fn of(running: &[Running], states: &BTreeMap<(At, bool), OperatorState>) -> Result<Self, Unobserved> {
        let mut edges = Edges { subtasks: BTreeMap::new(), readers: BTreeMap::new() };
        let mut writers: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for ((job, vertex, subtask), is_flusher) in states.keys().copied() {
            *writers.entry((job, vertex)).or_default() += 1;
            if !is_flusher {
                edges.subtasks.entry((job, vertex)).or_default().push(subtask);
            }
        }
        let mut count = 0;
        for (job_place, Running { job, .. }) in running.iter().enumerate() {
            for (reader, vertex) in job.vertices.iter().enumerate() {
                for input in &vertex.inputs {
                    let parallelism = job.vertices[input.writer].told.parallelism;
                    let is_one_to_one =
                        input.strategy == Strategy::Forward && parallelism == vertex.told.parallelism;
                    let each = edges.subtasks.get(&(job_place, reader)).map_or(0, Vec::len);
                    let writer = (job_place, input.writer);
                    let writers = writers.get(&writer).copied().unwrap_or_default();
                    count += writers * if is_one_to_one { 1 } else { each };
                    check("edges between subtasks", count, EDGES_MAX)?;
                    edges.readers.entry(writer).or_default().push((reader, is_one_to_one));
                }
            }
        }
        Ok(edges)
    }

    /// Returns the subtasks that read the output of a subtask, each of them once.
    fn readers(&self, (job, vertex, subtask): At) -> BTreeSet<At> {
        let mut found = BTreeSet::new();
        for (reader, is_one_to_one) in self.readers.get(&(job, vertex)).map_or(&[][..], Vec::as_slice) {
            let subtasks = self.subtasks.get(&(job, *reader)).map_or(&[][..], Vec::as_slice);
            let wanted = subtasks.iter().filter(|index| !is_one_to_one || **index == subtask);
            found.extend(wanted.map(|index| (job, *reader, *index)));
        }
        found
    }
}
