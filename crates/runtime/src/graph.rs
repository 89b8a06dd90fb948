//! What a query is before it runs: tasks, the edges between them, and checks.
//!
//! A graph is built front to back or back to front; each end of an edge is a value that can be used once, so an
//! edge cannot get two writers, and types of neighbours must agree before anything compiles. What types cannot
//! say, [`check`] does. Nothing is allocated and nothing runs before all checks have passed.

mod check;
pub mod ends;

use std::fmt;
use std::sync::Arc;

use thalweg_memory::sync::Mutex;
use thalweg_memory::{Cursors, Pool};
use thalweg_model::{Allowance, Deferred, Entropy, Operator, Source, WatermarkStrategy, Watermarks};

use self::ends::{OpenEdge, OwnEnds, SharedEnds};
use crate::error::PlanError;
use crate::exit::Delivered;
use crate::lender::StateLender;
use crate::limits::EdgeLimits;
use crate::task::deferred::{DeferredTask, TaskWaker};
use crate::task::operator::OperatorTask;
use crate::task::source::SourceTask;
use crate::task::{Probe, Task};

pub use check::check_strategy;
pub use ends::{
    Both, EdgeEntry, EdgeExit, EitherExit, EntryPlan, ExitContext, ExitPlan, Several, SharedEntry, Sides,
    SinkPlan,
};

/// A query that does not run yet.
pub struct Graph {
    name: String,
    tasks: Vec<TaskPlan>,
    edges: Vec<EdgePlan>,
}

/// Makes a task once its edges are open.
type BuildTask = Box<dyn FnOnce(&Opened) -> Box<dyn Task> + Send>;

struct TaskPlan {
    name: String,
    /// Of a source.
    strategy: Option<WatermarkStrategy>,
    inputs: Vec<ReaderOf>,
    /// Edges.
    outputs: Vec<usize>,
    build: BuildTask,
}

/// A reader of an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ReaderOf {
    edge: usize,
    reader: usize,
}

struct EdgePlan {
    /// How many there are so far.
    readers: usize,
    open: Box<dyn OpenEdge>,
}

/// What tasks are built from.
struct Opened {
    delivered: Arc<Delivered>,
    probe: Arc<Probe>,
    waker: Arc<TaskWaker>,
}

/// A task, ready to run.
pub(crate) struct BuiltTask {
    pub(crate) name: String,
    pub(crate) task: Box<dyn Task>,
    pub(crate) lender: Arc<StateLender>,
    pub(crate) waker: Arc<TaskWaker>,
    /// Names of the operators of its chain.
    pub(crate) operators: Vec<String>,
    pub(crate) probe: Arc<Probe>,
    /// Who writes what it reads, by place in the query.
    pub(crate) upstream: Vec<usize>,
    /// Who reads what it writes.
    pub(crate) downstream: Vec<usize>,
}

/// A query, ready to run.
pub(crate) struct Built {
    pub(crate) name: String,
    pub(crate) tasks: Vec<BuiltTask>,
    pub(crate) edges: Vec<ReadEdge>,
    pub(crate) delivered: Arc<Delivered>,
}

/// An edge as one of its readers sees it.
pub(crate) struct ReadEdge {
    /// `from -> to`.
    pub(crate) name: String,
    pub(crate) cursors: Arc<Cursors>,
    pub(crate) reader: usize,
}

/// An edge that several tasks will read.
pub struct SharedEdge<T: Send + Sync + 'static> {
    index: usize,
    readers: Arc<Mutex<Vec<Option<crate::edge::SharedReader<T>>>>>,
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks: Vec<&str> = self.task_names().collect();
        f.debug_struct("Graph").field("name", &self.name).field("tasks", &tasks).finish()
    }
}

impl Graph {
    /// An empty graph of the query called `name`.
    pub fn new(name: impl Into<String>) -> Self {
        Graph { name: name.into(), tasks: Vec::new(), edges: Vec::new() }
    }

    /// The query's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of the tasks, in the order in which they were added.
    pub fn task_names(&self) -> impl Iterator<Item = &str> {
        self.tasks.iter().map(|task| task.name.as_str())
    }

    /// Checks what [`Engine::submit`](crate::Engine::submit) will check, but for what only an engine knows: its
    /// bounds and its memory.
    ///
    /// # Errors
    /// [`PlanError`] for the first thing that is wrong.
    pub fn check(&self) -> Result<(), PlanError> {
        check::check(self).map(drop)
    }

    /// A new edge: the end to write and the end to read.
    pub fn edge<T: Send + 'static>(&mut self) -> (EdgeExit<T>, EdgeEntry<T>) {
        let index = self.edges.len();
        let (writer, reader) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(None)));
        let open = Box::new(OwnEnds { writer: Arc::clone(&writer), reader: Arc::clone(&reader) });
        self.edges.push(EdgePlan { readers: 1, open });
        (EdgeExit { index, writer }, EdgeEntry { index, reader })
    }

    /// A new edge that as many tasks may read as ask for a [`reader`](Self::reader); each sees all of it. A block is
    /// used again when the slowest has passed it.
    pub fn shared_edge<T: Clone + Send + Sync + 'static>(&mut self) -> (EdgeExit<T>, SharedEdge<T>) {
        let index = self.edges.len();
        let (writer, readers) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(Vec::new())));
        let open = Box::new(SharedEnds { writer: Arc::clone(&writer), readers: Arc::clone(&readers) });
        self.edges.push(EdgePlan { readers: 0, open });
        (EdgeExit { index, writer }, SharedEdge { index, readers })
    }

    /// One more reader of a shared edge.
    pub fn reader<T: Clone + Send + Sync + 'static>(&mut self, edge: &SharedEdge<T>) -> SharedEntry<T> {
        let readers = &mut self.edges[edge.index].readers;
        *readers += 1;
        SharedEntry { index: edge.index, reader: *readers - 1, readers: Arc::clone(&edge.readers) }
    }

    /// Adds a source whose records go through `chain` to `exit`.
    pub fn source<S, W, C, X>(&mut self, name: impl Into<String>, source: S, watermarks: W, chain: C, exit: X)
    where
        S: Source + 'static,
        W: Watermarks<S::Item>,
        C: Operator<S::Item> + 'static,
        C::Out: Send + 'static,
        X: ExitPlan<C::Out>,
    {
        let (outputs, strategy) = (edges_of(&exit), watermarks.strategy());
        let build = move |opened: &Opened| -> Box<dyn Task> {
            let exit = exit.open(&ExitContext(Arc::clone(&opened.delivered)));
            Box::new(SourceTask::new(source, watermarks, chain, exit, Arc::clone(&opened.probe)))
        };
        self.tasks.push(TaskPlan {
            name: name.into(),
            strategy: Some(strategy),
            inputs: Vec::new(),
            outputs,
            build: Box::new(build),
        });
    }

    /// Adds a chain that reads `entry` and writes `exit`.
    pub fn operator<T, N, C, X>(&mut self, name: impl Into<String>, entry: N, chain: C, exit: X)
    where
        T: Send + 'static,
        N: EntryPlan<T>,
        C: Operator<T> + 'static,
        C::Out: Send + 'static,
        X: ExitPlan<C::Out>,
    {
        let mut inputs = Vec::new();
        entry.visit_edges(&mut |edge, reader| inputs.push(ReaderOf { edge, reader }));
        let outputs = edges_of(&exit);
        let build = move |opened: &Opened| -> Box<dyn Task> {
            let exit = exit.open(&ExitContext(Arc::clone(&opened.delivered)));
            Box::new(OperatorTask::new(entry.open(), chain, exit, Arc::clone(&opened.probe)))
        };
        self.tasks.push(TaskPlan {
            name: name.into(),
            strategy: None,
            inputs,
            outputs,
            build: Box::new(build),
        });
    }

    /// Adds an operator whose results come in their own time, which reads `entry`; they go through `chain` to `exit`.
    pub fn deferred<T, N, D, C, X>(
        &mut self,
        name: impl Into<String>,
        entry: N,
        deferred: D,
        chain: C,
        exit: X,
    ) where
        T: Send + 'static,
        N: EntryPlan<T>,
        D: Deferred<T> + 'static,
        C: Operator<D::Out> + 'static,
        C::Out: Send + 'static,
        X: ExitPlan<C::Out>,
    {
        let mut inputs = Vec::new();
        entry.visit_edges(&mut |edge, reader| inputs.push(ReaderOf { edge, reader }));
        let outputs = edges_of(&exit);
        let build = move |opened: &Opened| -> Box<dyn Task> {
            let exit = exit.open(&ExitContext(Arc::clone(&opened.delivered)));
            let (probe, waker) = (Arc::clone(&opened.probe), Arc::clone(&opened.waker));
            Box::new(DeferredTask::new(entry.open(), deferred, chain, exit, probe, waker))
        };
        self.tasks.push(TaskPlan {
            name: name.into(),
            strategy: None,
            inputs,
            outputs,
            build: Box::new(build),
        });
    }

    /// Checks the graph, opens its edges and builds its tasks.
    pub(crate) fn build(
        self,
        pool: &Arc<Pool>,
        limits: EdgeLimits,
        entropy: &mut dyn Entropy,
    ) -> Result<Built, PlanError> {
        limits.check()?;
        let names = check::check(&self)?;
        let mut cursors = Vec::with_capacity(self.edges.len());
        for (place, plan) in self.edges.iter().enumerate() {
            use thalweg_memory::edge::EdgeError;
            let name = || {
                names.iter().find(|(of, _)| of.edge == place).map_or(String::new(), |(_, name)| name.clone())
            };
            cursors.push(plan.open.open(pool, limits, plan.readers).map_err(|error| match error {
                EdgeError::Budget(exceeded) => PlanError::BudgetTooSmall { edge: name(), exceeded },
                other => PlanError::Edge { edge: name(), reason: other.to_string() },
            })?);
        }
        let delivered = Delivered::new();
        let ends: Vec<(Vec<ReaderOf>, Vec<usize>)> =
            self.tasks.iter().map(|task| (task.inputs.clone(), task.outputs.clone())).collect();
        let with = |is_wanted: &dyn Fn(&(Vec<ReaderOf>, Vec<usize>)) -> bool| -> Vec<usize> {
            (0..ends.len()).filter(|&place| is_wanted(&ends[place])).collect()
        };
        let build = |plan: TaskPlan| {
            let inputs = plan.inputs.iter().map(|of| (Arc::clone(&cursors[of.edge]), of.reader)).collect();
            let outputs = plan.outputs.iter().map(|&edge| Arc::clone(&cursors[edge])).collect();
            let probe = Arc::new(Probe::new(inputs, outputs));
            let waker = TaskWaker::new(Arc::clone(&probe));
            let opened = Opened {
                delivered: Arc::clone(&delivered),
                probe: Arc::clone(&probe),
                waker: Arc::clone(&waker),
            };
            let mut task = (plan.build)(&opened);
            let lender = StateLender::new(Arc::clone(pool));
            task.fund(&Allowance::new(Arc::clone(&lender) as _));
            task.seed(entropy);
            let mut operators = Vec::new();
            task.visit_counts(&mut |operator, _| operators.push(operator.to_owned()));
            let upstream = with(&|(_, outputs)| plan.inputs.iter().any(|of| outputs.contains(&of.edge)));
            let downstream = with(&|(inputs, _)| inputs.iter().any(|of| plan.outputs.contains(&of.edge)));
            BuiltTask { name: plan.name, task, lender, waker, operators, probe, upstream, downstream }
        };
        let tasks = self.tasks.into_iter().map(build).collect();
        let edge = |(of, name): (ReaderOf, String)| ReadEdge {
            name,
            cursors: Arc::clone(&cursors[of.edge]),
            reader: of.reader,
        };
        let edges = names.into_iter().map(edge).collect();
        Ok(Built { name: self.name, tasks, edges, delivered })
    }
}

fn edges_of<T>(exit: &impl ExitPlan<T>) -> Vec<usize> {
    let mut edges = Vec::new();
    exit.visit_edges(&mut |edge| edges.push(edge));
    edges
}
