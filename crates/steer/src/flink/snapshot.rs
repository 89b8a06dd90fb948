//! The snapshot of a Flink: its subtasks and output flushers as operators, and its jobs as queries.
//!
//! A subtask that does not run is no operator, and keeps its number. An output flusher reads from no operator, and has
//! the readers of its subtask.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use thalweg_model::{ProcessingTime, Span};
use thalweg_scheduling::{
    DelayStatistics, OperatorId, OperatorState, ProgressMap, QueryId, QueryState, Snapshot, StreamState,
};

use super::declared::Declared;
use super::jobs::{Strategy, Vertex};
use super::metrics::Sample;
use super::placing::{At, Part, Place};
use super::progress::Progress;
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

/// Queues, costs and progress of a subtask.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// Number and start of the attempt.
    attempt: (u32, i64),
    input: Window,
    output: Window,
    cost_ns_per_record: Option<f64>,
    selectivity: Option<f64>,
    pub(super) progress: Progress,
}

/// A moment: the time since the driver began, and the time of the clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    pub(super) since: Duration,
    pub(super) clock: ProcessingTime,
}

impl Measured {
    /// Adds the metrics of this round. `query` is that of the job, if it is declared. Queues and progress of an earlier
    /// attempt are forgotten, and costs are not.
    pub(super) fn add(
        &mut self,
        attempt: (u32, i64),
        now: Now,
        sample: Sample,
        (vertex, query): (&Vertex, Option<&Declared>),
    ) {
        if self.attempt != attempt {
            (self.attempt, self.input, self.output) = (attempt, Window::default(), Window::default());
            self.progress = Progress::default();
        }
        self.input.add(now.since, sample.input);
        self.output.add(now.since, sample.output);
        self.progress.add(now.clock, (&sample, &self.input), (vertex, query));
        let is_some = |rate: &f64| *rate > 0.0;
        let records_in = sample.records_in.filter(is_some);
        let is_source = vertex.inputs.is_empty();
        // Not all sources count what they take, so what they read counts, or what they put out.
        let records = records_in.or_else(|| {
            sample.read.filter(is_some).or(sample.records_out).filter(|rate| is_source && is_some(rate))
        });
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

impl Measured {
    /// Returns the number of records in the input; `None` if it is not known.
    fn records(&self, vertex: &Vertex) -> Option<f64> {
        let queue = self.input.mean()?;
        Some(if vertex.inputs.is_empty() { queue } else { self.progress.records(queue) })
    }
}

impl<T> Flink<T> {
    /// Makes the snapshot of the jobs that run, at the time `now` of the clock. `listed` has all jobs that have not ended.
    ///
    /// # Errors
    /// If the queue of a thread to steer is not known, or if there are more than [`EDGES_MAX`] edges. Numbers are then
    /// as before.
    pub(super) fn assemble(
        &mut self,
        running: &[Running],
        listed: BTreeSet<String>,
        places: &[Place],
        now: ProcessingTime,
    ) -> Result<Observation, Unobserved> {
        let mut states: BTreeMap<(At, bool), OperatorState> = BTreeMap::new();
        let streams: Vec<Vec<StreamState>> = running.iter().map(|running| self.streams(running)).collect();
        let lines: Vec<Vec<ProgressMap>> = streams.iter().map(|streams| lines(streams)).collect();
        for (job_place, Running { id, job, query }) in running.iter().enumerate() {
            for (vertex_place, vertex) in job.vertices.iter().enumerate() {
                let Some(known) = self.known.get(&(id.clone(), vertex.id.clone())) else { continue };
                for subtask in &known.subtasks {
                    let measured = known.measured.get(&subtask.index);
                    let queue = measured.and_then(|measured| measured.records(vertex));
                    let mut state = state(vertex, measured, queue);
                    if let (Some(query), Some(Measured { progress, .. })) = (query, measured) {
                        let query = (vertex, &self.declared[*query]);
                        progress.fill(&mut state, query, (&lines[job_place], now));
                    }
                    states.insert(((job_place, vertex_place, subtask.index), false), state);
                }
            }
        }
        for Place { name, part, subtask, .. } in places {
            let (job, vertex, index) = *subtask;
            let Running { id, job, query } = &running[job];
            let vertex = &job.vertices[vertex];
            let known = self.known.get(&(id.clone(), vertex.id.clone()));
            let measured = known.and_then(|known| known.measured.get(&index));
            let is_flusher = *part == Part::Flusher;
            let queue = measured.and_then(|measured| {
                let output = || Some(measured.progress.records(measured.output.mean()?));
                if is_flusher { output() } else { measured.records(vertex) }
            });
            if queue.is_none() {
                let text = "it collects metrics every 10 s unless metrics.fetcher.update-interval is shorter";
                return Err(Unobserved(format!("Flink does not yet tell what waits for `{name}`; {text}")));
            }
            if is_flusher {
                let mut state = state(vertex, measured, queue);
                if let (Some(query), Some(Measured { progress, .. })) = (query, measured) {
                    let query = (vertex, &self.declared[*query]);
                    progress.fill(&mut state, query, (&lines[subtask.0], now));
                }
                // What waits in an output is no longer held by a window.
                let state = OperatorState { is_source: false, is_sink: false, frontier: None, ..state };
                states.insert((*subtask, true), state);
            }
        }
        let edges = Edges::of(running, &states)?;
        self.give_numbers(running, listed, &states);
        Ok(self.observation(running, places, (&states, &edges), (streams, now)))
    }

    /// Returns the streams of a job, one for each subtask of a source, without the number of the query; none if the query
    /// of the job is not declared.
    fn streams(&mut self, Running { id, job, query }: &Running) -> Vec<StreamState> {
        if query.is_none() {
            return Vec::new();
        }
        let sinks = job.vertices.iter().filter(|vertex| !vertex.has_readers);
        let watermarks = sinks.flat_map(|vertex| {
            let known = self.known.get(&(id.clone(), vertex.id.clone()));
            known.into_iter().flat_map(|known| {
                let measured = known.subtasks.iter().filter_map(|subtask| known.measured.get(&subtask.index));
                measured.filter_map(|measured| measured.progress.watermark)
            })
        });
        // A sink without a watermark may never get one, as one of a table that has none.
        let seen = watermarks.min();
        let delay_epochs = self.delay_epochs;
        let mut streams = Vec::new();
        for vertex in job.vertices.iter().filter(|vertex| vertex.inputs.is_empty()) {
            let Some(known) = self.known.get_mut(&(id.clone(), vertex.id.clone())) else { continue };
            for index in 0..vertex.told.parallelism {
                let runs = known.subtasks.iter().any(|subtask| subtask.index == index);
                let measured = known.measured.get_mut(&index).filter(|_| runs);
                let stream = measured.and_then(|measured| measured.progress.stream.as_mut());
                streams.push(match stream {
                    Some(stream) => stream.state(QueryId(0), seen, delay_epochs),
                    // A source has ended, or has not begun.
                    None => AWAY,
                });
            }
        }
        streams
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
        (streams, now): (Vec<Vec<StreamState>>, ProcessingTime),
    ) -> Observation {
        let number = |at: &(At, bool)| Some((*at, OperatorId(self.operators.of(&key(running, at.0, at.1))?)));
        let numbers: BTreeMap<(At, bool), OperatorId> = states.keys().filter_map(number).collect();
        let number = |at: At, is_flusher: bool| numbers.get(&(at, is_flusher)).copied();
        let workers = places.iter().map(|place| place.thread).collect::<BTreeSet<_>>().len();
        let times = Snapshot { now, round_end: now, ..Snapshot::default() };
        // Flink's buffers bound what its operators take, so memory is never short.
        let mut snapshot = Snapshot { workers, block_records: 1, memory_limit_bytes: u64::MAX, ..times };
        snapshot.operators.resize(self.operators.end(), None);
        snapshot.downstream.resize(self.operators.end(), Vec::new());
        snapshot.queries.resize(self.queries.end(), None);
        let query = |job: &Running| self.queries.of(&job.id);
        for (job, streams) in running.iter().zip(streams) {
            let Some(query) = query(job) else { continue };
            let target = job.query.and_then(|query| self.declared[query].latency_target);
            let target_ns = |target: Span| u64::try_from(target.as_micros()).ok()?.checked_mul(1_000);
            let latency_target_ns = target.and_then(target_ns);
            snapshot.queries[query as usize] =
                Some(QueryState { latency_target_ns, ..QueryState::default() });
            let query = QueryId(query);
            snapshot.streams.extend(streams.into_iter().map(|stream| StreamState { query, ..stream }));
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
        Observation { snapshot, threads, ..Observation::default() }
    }
}

/// The stream of a source that has ended, or has not begun.
const AWAY: StreamState = StreamState {
    query: QueryId(0),
    next_firing: None,
    deadline: None,
    swept: None,
    delays: DelayStatistics { epochs: 0, mean_ns: 0.0, variance_ns2: 0.0 },
    progress: None,
    is_away: true,
};

/// Returns the lines from event time to processing time of the streams that have not ended; none while one is not known.
fn lines(streams: &[StreamState]) -> Vec<ProgressMap> {
    let lines: Option<Vec<ProgressMap>> =
        streams.iter().filter(|stream| !stream.is_away).map(|stream| stream.progress).collect();
    lines.unwrap_or_default()
}

/// Returns the identity of an operator.
fn key(running: &[Running], (job, vertex, subtask): At, is_flusher: bool) -> OperatorKey {
    let Running { id, job, .. } = &running[job];
    OperatorKey { job: id.clone(), vertex: job.vertices[vertex].id.clone(), subtask, is_flusher }
}

/// Returns the state of a subtask for which so much waits; nothing does if that is not known, since no thread of the
/// subtask is then steered.
fn state(vertex: &Vertex, measured: Option<&Measured>, queue: Option<f64>) -> OperatorState {
    let new = OperatorState::default();
    let cost = measured.and_then(|measured| measured.cost_ns_per_record);
    let selectivity = measured.and_then(|measured| measured.selectivity);
    let buffer = measured.map_or(1.0, |measured| measured.progress.records(1.0));
    let is_divided = vertex.inputs.iter().any(|input| input.strategy != Strategy::Broadcast);
    OperatorState {
        is_source: vertex.inputs.is_empty(),
        is_sink: !vertex.has_readers,
        // A queue that held anything in the window counts.
        pending: queue.map_or(0, |queue| queue.ceil() as u64),
        cost_ns_per_record: cost.unwrap_or(new.cost_ns_per_record),
        // A run takes a buffer.
        cost_ns_per_run: cost.map_or(new.cost_ns_per_run, |cost| cost * buffer),
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
