//! The physical plan of a query as data: its tasks and the links between them, before any memory is mapped.
//!
//! [`Graph::physical_plan`] makes the plan. It can be compared, printed and tested. It shows the decisions of
//! a layout: which operators share a task, how many workers share an operator, and over which transport
//! records pass. Two graphs with equal plans run in the same way, apart from the functions that they call.
//!
//! The text of a plan has one line for each task, and one for each link that the task reads:
//!
//! ```text
//! source-filter: source, runs filter
//! window-sink: 2 workers, then one, runs window
//!   <- source-filter: containers
//! ```

use std::fmt;

use super::{EdgeKind, Graph, Making, ReaderOf, TaskPlan};

/// Physical plan of a query: its tasks and links. Tasks stand in the order in which they were planned,
/// writers before readers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhysicalPlan {
    /// Name of the query.
    pub query: String,
    /// Tasks of the query, writers before readers.
    pub tasks: Vec<TaskSpec>,
    /// Links of the query, in the order of the tasks that read them and of the inputs of these tasks.
    pub links: Vec<LinkSpec>,
}

/// A task of a physical plan, before it runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskSpec {
    /// Name of the task, unique within the query.
    pub name: String,
    /// Operators of the task's chain, in the order in which records pass them. A source and a sink show only
    /// in the name of the task.
    pub operators: Vec<OperatorSpec>,
    /// The way in which the task runs.
    pub kind: TaskKind,
    /// The preferred worker of the task, if the layout sets one.
    pub preferred_worker: Option<u32>,
    /// True for the second and each later of several tasks that run copies of one chain in parallel. All
    /// copies of a chain count as one task of the limit on tasks in a query, but each copy counts in the
    /// engine's limit on tasks.
    pub is_further_copy: bool,
}

/// An operator of a planned task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperatorSpec {
    /// Id of the operator, which is the same in every layout and every run of a query. It depends only on the
    /// operator's name, which is unique within the query.
    pub id: OperatorId,
    /// Name of the operator.
    pub name: String,
}

/// Identifies an operator of a query. Saved state is found by this id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OperatorId(pub u64);

impl OperatorId {
    /// Returns the id of the operator with the given name: the FNV-1a hash of the name with 64 bits
    /// (draft-eastlake-fnv), which is the same on every machine and in every version.
    pub fn of(name: &str) -> Self {
        const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0100_0000_01b3;
        let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
        OperatorId(name.bytes().fold(OFFSET_BASIS, fold))
    }
}

impl fmt::Display for OperatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The way in which a task runs: as a source, by one worker at a time, or by several workers at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskKind {
    /// The task begins with a source.
    Source,
    /// The task reads links, and one worker at a time runs it.
    Operator,
    /// The task reads links and waits for external answers, such as the answers of a lookup.
    Deferred,
    /// Several workers run the task at once, each with a copy of its own and with blocks that the copy
    /// claims.
    Shared {
        /// Number of copies of the task, one for each worker.
        copies: usize,
        /// True if one more task merges the state of the copies and writes the results.
        merges: bool,
    },
}

/// A path of records from one task to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkSpec {
    /// The task that writes, as an index into [`PhysicalPlan::tasks`].
    pub from: usize,
    /// The task that reads, as an index into [`PhysicalPlan::tasks`].
    pub to: usize,
    /// The way in which the link moves its records.
    pub transport: Transport,
    /// Number of readers that see the same records; 1 unless the stream is shared.
    pub readers: usize,
}

/// The way in which a link moves its records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// Records travel in blocks in order, from one writer: Enjima's serial model (Enjima, section 4.1).
    Edge,
    /// Records travel in blocks in order, on one of several edges. The writer distributes its records over
    /// these edges by key.
    Exchange {
        /// Number of partitions to which the writer distributes its records.
        partitions: u32,
    },
    /// Records travel in containers (the unclaimed blocks of each epoch), whose blocks any worker may claim
    /// (StreamBox, section 4).
    Containers,
}

impl Graph {
    /// Returns the tasks and links that will run, as data. If the plan passes [`check`](Graph::check),
    /// records of a source reach every task. This call opens no edge and maps no memory.
    pub fn physical_plan(&self) -> PhysicalPlan {
        let tasks = self.tasks.iter().map(spec).collect();
        let mut links = Vec::new();
        for (to, task) in self.tasks.iter().enumerate() {
            for ReaderOf { edge, .. } in &task.inputs {
                let plan = &self.edges[*edge];
                let transport = match (plan.kind, plan.exchange_width) {
                    (EdgeKind::Containers, _) => Transport::Containers,
                    (EdgeKind::Ordered | EdgeKind::Partitions, 0 | 1) => Transport::Edge,
                    (EdgeKind::Ordered | EdgeKind::Partitions, partitions) => {
                        Transport::Exchange { partitions }
                    }
                };
                let writers = self.tasks.iter().enumerate().filter(|(_, from)| from.outputs.contains(edge));
                links.extend(writers.map(|(from, _)| LinkSpec {
                    from,
                    to,
                    transport,
                    readers: plan.open.readers(),
                }));
            }
        }
        PhysicalPlan { query: self.name.clone(), tasks, links }
    }
}

fn spec(task: &TaskPlan) -> TaskSpec {
    let kind = match &task.making {
        Making::Stage(stage) => stage.kind(),
        Making::Single(_) if task.strategy.is_some() => TaskKind::Source,
        Making::Single(_) if task.is_deferred => TaskKind::Deferred,
        Making::Single(_) => TaskKind::Operator,
    };
    let operator = |name: &String| OperatorSpec { id: OperatorId::of(name), name: name.clone() };
    TaskSpec {
        name: task.name.clone(),
        operators: task.operators.iter().map(operator).collect(),
        kind,
        preferred_worker: task.preferred_worker,
        is_further_copy: task.is_copy,
    }
}

impl fmt::Display for TaskKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskKind::Source => f.write_str("source"),
            TaskKind::Operator => f.write_str("operator"),
            TaskKind::Deferred => f.write_str("waits for answers"),
            TaskKind::Shared { copies, merges: false } => write!(f, "{copies} workers"),
            TaskKind::Shared { copies, merges: true } => write!(f, "{copies} workers, then one"),
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Transport::Edge => f.write_str("edge"),
            Transport::Exchange { partitions } => write!(f, "exchange to {partitions} by key"),
            Transport::Containers => f.write_str("containers"),
        }
    }
}

impl fmt::Display for PhysicalPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, task) in self.tasks.iter().enumerate() {
            write!(f, "{}: {}", task.name, task.kind)?;
            if let Some(worker) = task.preferred_worker {
                write!(f, ", prefers worker {worker}")?;
            }
            let operators: Vec<&str> = task.operators.iter().map(|operator| operator.name.as_str()).collect();
            if !operators.is_empty() {
                write!(f, ", runs {}", operators.join(", "))?;
            }
            writeln!(f)?;
            for link in self.links.iter().filter(|link| link.to == at) {
                write!(f, "  <- {}: {}", self.tasks[link.from].name, link.transport)?;
                if link.readers > 1 {
                    write!(f, ", one of {} readers", link.readers)?;
                }
                writeln!(f)?;
            }
        }
        Ok(())
    }
}
