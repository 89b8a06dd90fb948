//! Answers of Flink about its TaskManagers and jobs, as far as they are used.
//!
//! Names of vertices may be anything. Identities become parts of paths, so only letters and digits are taken.
//!
//! Bounds: [`MANAGERS_MAX`], [`JOBS_MAX`], [`VERTICES_MAX`] and [`SUBTASKS_MAX`].

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde::{Deserialize, Deserializer};

use crate::bounds::check;
use crate::rest::{read, short};
use crate::steering::Unobserved;

/// Greatest number of TaskManagers of a Flink.
pub const MANAGERS_MAX: usize = 1_024;
/// Greatest number of jobs that run at a time.
pub const JOBS_MAX: usize = 256;
/// Greatest number of vertices of a job.
pub const VERTICES_MAX: usize = 1_024;
/// Greatest number of subtasks of all jobs together.
pub const SUBTASKS_MAX: usize = 4_096;

/// Checks that an identity may be part of a path.
fn check_identity(id: &str) -> Result<(), Unobserved> {
    if (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Ok(());
    }
    Err(Unobserved(format!("`{}` is no identity of Flink", short(id))))
}

/// A TaskManager.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(super) struct Manager {
    pub(super) id: String,
    /// Port on which it listens for records of other TaskManagers; `None` if it is not known.
    #[serde(rename = "dataPort", default, deserialize_with = "port")]
    pub(super) data_port: Option<u16>,
}

/// Reads a port. A TaskManager that has none tells a number below 1.
fn port<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u16>, D::Error> {
    let number = i64::deserialize(deserializer)?;
    Ok(u16::try_from(number).ok().filter(|port| *port > 0))
}

/// Reads the answer to `/taskmanagers`.
pub(super) fn managers(path: &str, body: &str) -> Result<Vec<Manager>, Unobserved> {
    #[derive(Deserialize)]
    struct Answer {
        taskmanagers: Vec<Manager>,
    }
    let mut managers = read::<Answer>(path, body)?.taskmanagers;
    check("TaskManagers", managers.len(), MANAGERS_MAX)?;
    managers.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    Ok(managers)
}

/// A job that has not ended.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(super) struct Listed {
    pub(super) id: String,
    status: String,
}

impl Listed {
    pub(super) fn is_running(&self) -> bool {
        self.status == "RUNNING"
    }
}

/// Reads the answer to `/jobs`, and returns the jobs that have not ended.
pub(super) fn jobs(path: &str, body: &str) -> Result<Vec<Listed>, Unobserved> {
    #[derive(Deserialize)]
    struct Answer {
        jobs: Vec<Listed>,
    }
    let mut jobs = read::<Answer>(path, body)?.jobs;
    jobs.retain(|job| !["FINISHED", "CANCELED", "FAILED"].contains(&&*job.status));
    check("jobs", jobs.len(), JOBS_MAX)?;
    jobs.iter().try_for_each(|job| check_identity(&job.id))?;
    jobs.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    jobs.dedup_by(|a, b| a.id == b.id);
    Ok(jobs)
}

/// A job with its graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Job {
    pub(super) name: String,
    /// Each vertex before the vertices that read its output, unless there is a cycle.
    pub(super) vertices: Vec<Vertex>,
}

/// A vertex of a job: a chain of operators, of which each subtask runs one copy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Vertex {
    pub(super) id: String,
    pub(super) told: Told,
    /// Edges from the vertices whose output is read.
    pub(super) inputs: Vec<Input>,
    /// True if some vertex reads the output.
    pub(super) has_readers: bool,
}

/// An edge between two vertices, at its reader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Input {
    /// Place of the writer in [`Job::vertices`].
    pub(super) writer: usize,
    pub(super) strategy: Strategy,
}

/// The way in which subtasks of a vertex send records to those of the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Strategy {
    /// Each subtask sends to the one of its own number.
    Forward,
    /// Each record goes to all subtasks.
    Broadcast,
    /// Each record goes to one of all subtasks.
    Partition,
}

/// A vertex as the answer about its job tells it. If that is as before, its subtasks most likely are, too.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(super) struct Told {
    id: String,
    pub(super) name: String,
    /// Number of subtasks; 0 as long as Flink has not decided it, for which it tells a number below zero.
    #[serde(deserialize_with = "parallelism")]
    pub(super) parallelism: u32,
    #[serde(rename = "start-time", default)]
    start: i64,
    #[serde(default)]
    tasks: BTreeMap<String, i64>,
}

fn parallelism<'de, D: Deserializer<'de>>(told: D) -> Result<u32, D::Error> {
    Ok(u32::try_from(i64::deserialize(told)?).unwrap_or(0))
}

/// Reads the answer to `/jobs/<job>`.
pub(super) fn job(path: &str, body: &str) -> Result<Job, Unobserved> {
    #[derive(Deserialize)]
    struct Answer {
        #[serde(default)]
        name: String,
        vertices: Vec<Told>,
        plan: Plan,
    }
    #[derive(Deserialize)]
    struct Plan {
        nodes: Vec<Node>,
    }
    #[derive(Deserialize)]
    struct Node {
        id: String,
        #[serde(default)]
        inputs: Vec<PlanInput>,
    }
    #[derive(Deserialize)]
    struct PlanInput {
        id: String,
        #[serde(default)]
        ship_strategy: String,
    }
    let Answer { name, vertices, plan } = read(path, body)?;
    check("vertices of a job", vertices.len().max(plan.nodes.len()), VERTICES_MAX)?;
    let subtasks = vertices.iter().map(|vertex| vertex.parallelism as usize).sum();
    check("subtasks of a job", subtasks, SUBTASKS_MAX)?;
    vertices.iter().try_for_each(|vertex| check_identity(&vertex.id))?;
    let nodes: HashMap<String, Vec<PlanInput>> =
        plan.nodes.into_iter().map(|node| (node.id, node.inputs)).collect();
    if let Some(told) = vertices.iter().find(|told| !nodes.contains_key(&told.id)) {
        return Err(Unobserved(format!("the plan in the answer to {path} lacks the vertex {}", told.id)));
    }
    let no_inputs = Vec::new();
    let inputs_of = |told: &Told| nodes.get(&told.id).unwrap_or(&no_inputs);
    let order = order(&vertices, |told| inputs_of(told).iter().map(|input| &*input.id).collect());
    let place_of: HashMap<&str, usize> =
        (0..).zip(&order).map(|(at, from)| (&*vertices[*from].id, at)).collect();
    let mut job = Job { name, vertices: Vec::new() };
    for from in &order {
        let told = &vertices[*from];
        let input = |input: &PlanInput| {
            let strategy = match &*input.ship_strategy {
                "FORWARD" => Strategy::Forward,
                "BROADCAST" => Strategy::Broadcast,
                _ => Strategy::Partition,
            };
            Some(Input { writer: *place_of.get(&*input.id)?, strategy })
        };
        let inputs = inputs_of(told).iter().filter_map(input).collect();
        job.vertices.push(Vertex { id: told.id.clone(), told: told.clone(), inputs, has_readers: false });
    }
    let writers: Vec<usize> =
        job.vertices.iter().flat_map(|vertex| &vertex.inputs).map(|input| input.writer).collect();
    for writer in writers {
        job.vertices[writer].has_readers = true;
    }
    Ok(job)
}

/// Returns the places of vertices, each writer before its readers. Vertices of a cycle come last.
fn order<'a>(vertices: &'a [Told], inputs: impl Fn(&'a Told) -> Vec<&'a str>) -> Vec<usize> {
    let place: HashMap<&str, usize> = (0..).zip(vertices).map(|(place, told)| (&*told.id, place)).collect();
    let mut readers = vec![Vec::new(); vertices.len()];
    let mut waits_for = vec![0_usize; vertices.len()];
    for (reader, told) in vertices.iter().enumerate() {
        for writer in inputs(told).into_iter().filter_map(|id| place.get(id)) {
            readers[*writer].push(reader);
            waits_for[reader] += 1;
        }
    }
    let mut ready: VecDeque<usize> = (0..vertices.len()).filter(|place| waits_for[*place] == 0).collect();
    let mut order = Vec::with_capacity(vertices.len());
    while let Some(writer) = ready.pop_front() {
        order.push(writer);
        for reader in &readers[writer] {
            waits_for[*reader] -= 1;
            if waits_for[*reader] == 0 {
                ready.push_back(*reader);
            }
        }
    }
    order.extend((0..vertices.len()).filter(|place| waits_for[*place] > 0));
    order
}

/// A subtask, as the answer about its vertex tells it.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(super) struct Subtask {
    #[serde(rename = "subtask")]
    pub(super) index: u32,
    status: String,
    pub(super) attempt: u32,
    /// Start of the attempt in ms since 1970, by the clock of the JobManager.
    #[serde(rename = "start-time", default)]
    pub(super) start: i64,
    #[serde(rename = "taskmanager-id", default)]
    pub(super) manager: Option<String>,
}

/// Reads the answer to `/jobs/<job>/vertices/<vertex>`, and returns the subtasks that run.
pub(super) fn subtasks(path: &str, body: &str, parallelism: u32) -> Result<Vec<Subtask>, Unobserved> {
    #[derive(Deserialize)]
    struct Answer {
        subtasks: Vec<Subtask>,
    }
    let mut subtasks = read::<Answer>(path, body)?.subtasks;
    check("subtasks of a vertex", subtasks.len(), SUBTASKS_MAX)?;
    subtasks.retain(|subtask| subtask.status == "RUNNING" && subtask.index < parallelism);
    subtasks.sort_unstable_by_key(|subtask| subtask.index);
    subtasks.dedup_by_key(|subtask| subtask.index);
    Ok(subtasks)
}

#[cfg(test)]
mod tests;
