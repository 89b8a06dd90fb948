//! The driver of Apache Flink: an engine that runs as it is, without a change of its programs or of its jobs.
//!
//! ```text
//!   REST interface   jobs, vertices, subtasks, metrics ---+
//!                                                         +--> snapshot, threads
//!   /proc, JVM       processes, names of threads      ----+
//! ```
//!
//! - `jobs`, `metrics`: what Flink tells;
//! - `managers`: the TaskManagers on this machine, and their threads;
//! - `names`, `placing`: which thread runs which subtask;
//! - `declared`, `progress`: queries by their SQL, and event time in their jobs;
//! - `snapshot`: the operators, as a policy sees them.
//!
//! Each subtask of a running job is an operator. Its main thread and the data fetchers of a source get its rank. Its
//! output flusher is an operator of its own, since the output may be full while the input is empty (Frasca et al.,
//! Computing Frontiers 2023, section 4.1.1). Threads of Flink's actor systems, which tell metrics and give signs of life, are
//! [as urgent as the steering loop](Observation::telling); others are left alone.
//!
//! | operator | pending: the mean of the last 10 s, rounded up |
//! |---|---|
//! | subtask | `inputQueueLength`, in buffers |
//! | source | `pendingRecords` of its connector, in records; else [`Options::source_gauge`]; else `inputQueueLength`: 0 |
//! | output flusher | `outputQueueLength`, in buffers |
//!
//! A round is skipped while one of these is missing for a thread that is to be steered. That is so for up to 10 s after
//! a job has begun: set `metrics.fetcher.update-interval: 1000` in Flink's configuration, since by default Flink
//! collects metrics every 10 s only. Changes of a job are seen up to 3 s late, since Flink keeps its answers about jobs
//! for so long (`web.refresh-interval`).
//!
//! A cost is `busyTimeMsPerSecond` by the records that a subtask takes per second, and a selectivity is records out by
//! records in. Both are as a new operator has them until Flink tells them; a source of the interface `SourceFunction`
//! never has a cost. An output flusher has those of its subtask.
//!
//! For jobs whose queries are [declared](Declared), the driver also tells times, windows and latency targets, and counts
//! queues in records: see `progress`. Then policies that rank by deadlines can be used.
//!
//! Versions: Flink 2.3 was tried; names of 1.x are taken as well. This program must run as the user of the TaskManagers
//! or as root, and see their processes.
//!
//! Bounds: those of [`bounds`](crate::bounds), and those at the head of each module.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use thalweg_model::ProcessingTime;
use thalweg_scheduling::{DelayStatistics, Fields};

use crate::bounds::{ROUND_MAX, check};
use crate::numbers::Numbers;
use crate::rest::{Transport, get, short};
use crate::steering::{Driver, Observation, Unobserved};
use crate::threads::Processes;
use jobs::{Job, Subtask, Told, Vertex};
use managers::Managers;
use metrics::{Chosen, Values};
use snapshot::{Measured, Now, OperatorKey};

pub use declared::Declared;

mod declared;
mod jobs;
mod managers;
mod metrics;
mod names;
mod placing;
mod progress;
mod snapshot;

/// Time after which a source that tells no backlog is asked again whether it has one. Connectors declare it when they
/// have fetched their first records.
const CHOOSE_EVERY: Duration = Duration::from_secs(10);

/// How the driver looks at Flink.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of a gauge that tells the number of records which wait for a source, for connectors without
    /// `pendingRecords`. It is the last part of the metric's name, or more of it.
    pub source_gauge: Option<String>,
    /// The queue that counts for output flushers.
    pub flusher_queue: FlusherQueue,
    /// Queries from which jobs were made. For these jobs the driver tells times and streams.
    pub declared: Vec<Declared>,
    /// Number of epochs of a source whose delays count: [`delay_epochs`](thalweg_scheduling::Policy::delay_epochs) of the
    /// policy.
    pub delay_epochs: usize,
    /// The processes of this machine.
    pub processes: Processes,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            source_gauge: None,
            flusher_queue: FlusherQueue::default(),
            declared: Vec::new(),
            delay_epochs: DelayStatistics::EPOCHS,
            processes: Processes::default(),
        }
    }
}

/// The queue that counts for the output flusher of a subtask.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FlusherQueue {
    /// The output of the subtask, as in the paper.
    #[default]
    Output,
    /// The input of the subtask: the flusher gets the rank of the main thread. So did Lachesis before (section 4.1 of
    /// the paper), to which the policy `congestion_v1` belongs. A source then counts as a queue that is never empty.
    Input,
}

/// A running Flink.
pub struct Flink<T> {
    transport: T,
    source_gauge: Option<String>,
    flusher_queue: FlusherQueue,
    declared: Vec<Declared>,
    delay_epochs: usize,
    /// Texts about declared queries and jobs without each other, as the last look found them.
    unmatched: BTreeSet<String>,
    /// Texts in `unmatched` that were not told yet.
    untold: BTreeSet<String>,
    began: Instant,
    /// The time of the clock at which the driver began.
    began_at: ProcessingTime,
    managers: Managers,
    /// Vertices as earlier rounds found them, by their job and their own identity.
    known: BTreeMap<(String, String), Known>,
    /// Numbers of the operators and of the queries in snapshots.
    operators: Numbers<OperatorKey>,
    queries: Numbers<String>,
}

/// A vertex as earlier rounds found it.
#[derive(Debug)]
struct Known {
    told: Told,
    subtasks: Vec<Subtask>,
    /// The metrics that its subtasks have, and when they were chosen.
    chosen: Option<(Chosen, Duration)>,
    /// True if the main thread of each subtask on this machine was found.
    is_complete: bool,
    /// Queues and costs of each subtask.
    measured: BTreeMap<u32, Measured>,
}

/// A job that runs.
#[derive(Debug)]
struct Running {
    id: String,
    job: Job,
    /// Place of its query in [`Options::declared`]; `None` if it is not declared.
    query: Option<usize>,
}

impl<T: Transport> Flink<T> {
    /// Makes the driver of a Flink that answers on `transport`. Nothing is asked yet.
    pub fn new(transport: T, options: Options) -> Self {
        let Options { source_gauge, flusher_queue, declared, delay_epochs, processes } = options;
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Flink {
            transport,
            source_gauge,
            flusher_queue,
            declared,
            delay_epochs,
            unmatched: BTreeSet::new(),
            untold: BTreeSet::new(),
            began: Instant::now(),
            began_at: ProcessingTime::from_nanos(u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX)),
            managers: Managers::new(processes),
            known: BTreeMap::new(),
            operators: Numbers::default(),
            queries: Numbers::default(),
        }
    }

    /// Looks at Flink, `since` after the driver began.
    fn observe_at(&mut self, since: Duration, deadline: Instant) -> Result<Observation, Unobserved> {
        let since_ns = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        let now = Now { since, clock: self.began_at.plus_nanos(since_ns) };
        let path = "/taskmanagers";
        let managers = jobs::managers(path, &get(&mut self.transport, path, deadline)?)?;
        let has_changed = self.managers.look(&managers, since, deadline)?;
        if self.managers.found().is_empty() {
            let count = managers.len();
            let text = "this program must see their processes, and run as their user or as root";
            return Err(Unobserved(format!("of {count} TaskManagers none is found on this machine; {text}")));
        }
        let path = "/jobs";
        let listed = jobs::jobs(path, &get(&mut self.transport, path, deadline)?)?;
        let is_listed = |id: &String| listed.iter().any(|job| job.id == *id);
        self.known.retain(|(job, _), _| is_listed(job));
        let mut running = Vec::new();
        let mut count = 0;
        for job in listed.iter().filter(|job| job.is_running()) {
            let path = format!("/jobs/{}", job.id);
            let body = get(&mut self.transport, &path, deadline)?;
            let id = job.id.clone();
            let job = jobs::job(&path, &body)?;
            count += job.vertices.iter().map(|vertex| vertex.told.parallelism as usize).sum::<usize>();
            check("subtasks", count, jobs::SUBTASKS_MAX)?;
            let has = |vertex: &String| job.vertices.iter().any(|found| found.id == *vertex);
            self.known.retain(|(of, vertex), _| *of != id || has(vertex));
            let query = declared::of_job(&self.declared, &job);
            for vertex in &job.vertices {
                self.look_at(&id, (vertex, query), (now, deadline), has_changed)?;
            }
            running.push(Running { id, job, query });
        }
        let mut places = placing::places(&running, &self.known, self.managers.found())?;
        if self.flusher_queue == FlusherQueue::Input {
            places.threads.iter_mut().for_each(|place| place.part = placing::Part::Main);
        }
        for (vertex, known) in &mut self.known {
            known.is_complete = !places.incomplete.contains(vertex);
        }
        let listed = listed.into_iter().map(|job| job.id).collect();
        self.compare(&running);
        let mut observation = self.assemble(&running, listed, &places.threads, now.clock)?;
        if self.flusher_queue == FlusherQueue::Input {
            observation.let_no_source_be_empty();
        }
        observation.telling = self.managers.found().iter().flat_map(managers::Local::telling).collect();
        Ok(observation)
    }

    /// Asks for the subtasks of a vertex, unless they are as they were, and for their metrics.
    fn look_at(
        &mut self,
        job: &str,
        (vertex, query): (&Vertex, Option<usize>),
        (now, deadline): (Now, Instant),
        has_changed: bool,
    ) -> Result<(), Unobserved> {
        let path = format!("/jobs/{job}/vertices/{}", vertex.id);
        let key = (job.to_owned(), vertex.id.clone());
        let is_known = |known: &Known| !has_changed && known.is_complete && known.told == vertex.told;
        if !self.known.get(&key).is_some_and(is_known) {
            let body = get(&mut self.transport, &path, deadline)?;
            let subtasks = jobs::subtasks(&path, &body, vertex.told.parallelism)?;
            let before = self.known.remove(&key);
            let before = before.map(|known| (known.chosen, known.measured));
            let (chosen, mut measured) = before.unwrap_or_default();
            measured.retain(|index, _| *index < vertex.told.parallelism);
            let told = vertex.told.clone();
            self.known.insert(key.clone(), Known { told, subtasks, chosen, is_complete: false, measured });
        }
        let has_times = !self.declared.is_empty();
        let query = query.and_then(|query| self.declared.get(query));
        let Some(known) = self.known.get_mut(&key) else { return Ok(()) };
        let indices: Vec<u32> = known.subtasks.iter().map(|subtask| subtask.index).collect();
        let Some(first) = indices.first() else { return Ok(()) };
        let is_source = vertex.inputs.is_empty();
        let is_chosen = |(chosen, at): &(Chosen, Duration)| {
            !is_source || chosen.has_backlog() || now.since.saturating_sub(*at) < CHOOSE_EVERY
        };
        if !known.chosen.as_ref().is_some_and(is_chosen) {
            let path = format!("{path}/subtasks/{first}/metrics");
            let body = get(&mut self.transport, &path, deadline)?;
            let chosen = Chosen::of(&path, &body, self.source_gauge.as_deref(), has_times)?;
            known.chosen = chosen.map(|chosen| (chosen, now.since)).or(known.chosen.take());
        }
        let mut values = Values::default();
        let chosen = known.chosen.as_ref().map(|(chosen, _)| chosen);
        for path in chosen.map_or(Vec::new(), |chosen| chosen.paths(&path, &indices)) {
            values.add(&path, &get(&mut self.transport, &path, deadline)?)?;
        }
        for Subtask { index, attempt, start, .. } in &known.subtasks {
            let sample =
                chosen.map_or_else(Default::default, |chosen| chosen.sample(&values, *index, is_source));
            known.measured.entry(*index).or_default().add((*attempt, *start), now, sample, (vertex, query));
        }
        Ok(())
    }

    /// Compares the jobs that run with the declared queries.
    fn compare(&mut self, running: &[Running]) {
        if self.declared.is_empty() {
            return;
        }
        let job = |Running { job, .. }: &Running| {
            let names: Vec<&str> = job.vertices.iter().map(|vertex| &*vertex.told.name).collect();
            format!(
                "no query of the SQL is that of job `{}`, whose threads come after all others, by their queues: {}",
                short(&job.name),
                short(&names.join("; "))
            )
        };
        let query = |(place, query): (usize, &Declared)| {
            let is_running = running.iter().any(|running| running.query == Some(place));
            (!is_running).then(|| format!("no job that runs is that of query `{}`", short(&query.name)))
        };
        let mut unmatched: BTreeSet<String> =
            running.iter().filter(|running| running.query.is_none()).map(job).collect();
        unmatched.extend(self.declared.iter().enumerate().filter_map(query));
        self.untold.extend(unmatched.difference(&self.unmatched).cloned());
        self.untold.retain(|text| unmatched.contains(text));
        self.unmatched = unmatched;
    }
}

impl<T: Transport> Driver for Flink<T> {
    fn name(&self) -> &'static str {
        "Flink"
    }

    fn supplies(&self) -> Fields {
        let always = Fields::PENDING | Fields::COST_AND_SELECTIVITY | Fields::TOPOLOGY;
        if self.declared.is_empty() {
            return always;
        }
        let times = Fields::OLDEST_PENDING | Fields::LAST_RUN | Fields::CONTEXTS | Fields::STREAMS;
        always | times | Fields::MEMORY
    }

    fn notes(&mut self) -> Vec<String> {
        mem::take(&mut self.untold).into_iter().collect()
    }

    fn observe(&mut self) -> Result<Observation, Unobserved> {
        self.observe_at(self.began.elapsed(), Instant::now() + ROUND_MAX)
    }
}

#[cfg(test)]
mod tests;
