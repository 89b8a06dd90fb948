//! The physical plan of a query as data: its tasks and the links between them, before any memory is mapped.
//!
//! [`Graph::physical_plan`] makes it. It can be compared, printed and tested, and says what a layout has decided: which operators
//! share a task, how many workers share an operator, and over which transport records pass. Two graphs with equal plans run in
//! the same way, but for what their functions do.
//!
//! As text, a line for each task and one for each link that it reads:
//!
//! ```text
//! source-filter        source                     filter
//! window-sink          2 workers, then one        window
//!   <- source-filter   containers
//! ```

use std::fmt;

use super::{EdgeKind, Graph, Making, ReaderOf, TaskPlan};

/// Tasks and links of a query. Tasks stand in the order in which they were planned: writers before readers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhysicalPlan {
    /// Name of the query.
    pub query: String,
    /// Its tasks.
    pub tasks: Vec<TaskSpec>,
    /// Its links, in the order of the tasks that read them and of their inputs.
    pub links: Vec<LinkSpec>,
}

/// A task before it runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskSpec {
    /// Its name, unique within the query.
    pub name: String,
    /// Operators of its chain in the order in which records pass them. A source and a sink are in the name alone.
    pub operators: Vec<OperatorSpec>,
    /// How it runs.
    pub kind: TaskKind,
    /// The worker that prefers it, if it has one of its own.
    pub preferred_worker: Option<u32>,
    /// True for the second and further copies of a task, which count as one with the first in reports.
    pub is_further_copy: bool,
}

/// An operator of a task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperatorSpec {
    /// Identifies the operator in every layout and every run of a query: it depends on nothing but the name, which is unique
    /// within the query.
    pub id: OperatorId,
    /// Its name.
    pub name: String,
}

/// Identifies an operator of a query. Saved state is found by it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OperatorId(pub u64);

impl OperatorId {
    /// The id of the operator of this name: its FNV-1a hash of 64 bits (draft-eastlake-fnv), which is the same on every machine and
    /// in every version.
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

/// How a task runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskKind {
    /// It begins with a source.
    Source,
    /// It reads links; one worker at a time is in it.
    Operator,
    /// It reads links and waits for answers from elsewhere, such as a look-up.
    Deferred,
    /// So many workers are in it at once, each in a copy with blocks that it claims.
    Shared {
        /// How many.
        copies: usize,
        /// True if what the copies gather is put together by one more task, which writes the results.
        merges: bool,
    },
}

/// A path of records from one task to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinkSpec {
    /// The task that writes, by its place in [`PhysicalPlan::tasks`].
    pub from: usize,
    /// The task that reads.
    pub to: usize,
    /// What the records pass over.
    pub transport: Transport,
    /// How many readers see the same records; 1 unless the stream is shared.
    pub readers: usize,
}

/// What the records of a link pass over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// Blocks in order, from one writer: Enjima's serial model (Enjima, section 4.1).
    Edge,
    /// The same, one of so many partitions among which the writer exchanges records by key.
    Exchange {
        /// How many.
        partitions: u32,
    },
    /// Containers of epochs, whose blocks any worker may claim (StreamBox, section 4).
    Containers,
}

impl Graph {
    /// What will run, as data; for graphs that are [checked](Graph::check) each task is fed. Nothing is opened or mapped.
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
