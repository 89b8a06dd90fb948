//! What a query is before it runs: tasks, the edges between them, and checks.
//!
//! A graph is built front to back or back to front; each end of an edge is a value that can be used once, so an
//! edge cannot get two writers, and types of neighbours must agree before anything compiles. What types cannot
//! say, [`check`] does. Nothing is allocated and nothing runs before all checks have passed.

mod check;

use std::fmt;
use std::sync::Arc;

use thalweg_memory::sync::Mutex;
use thalweg_memory::{BlockShape, Cursors, EdgeOptions, Pool};
use thalweg_model::{Entropy, Operator, Sink, Source, WatermarkStrategy};

use crate::edge::{EdgeMarks, Reader, Writer};
use crate::error::PlanError;
use crate::exit::{Delivered, Exit, SinkExit, ToEdge};
use crate::limits::EdgeLimits;
use crate::task::operator::OperatorTask;
use crate::task::source::SourceTask;
use crate::task::{Probe, Task};

pub use check::check_strategy;

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
    input: Option<usize>,
    output: Option<usize>,
    build: BuildTask,
}

struct EdgePlan {
    open: Box<dyn OpenEdge>,
}

/// What tasks are built from.
struct Opened {
    delivered: Arc<Delivered>,
    probe: Arc<Probe>,
}

/// A task, ready to run.
pub(crate) struct BuiltTask {
    pub(crate) name: String,
    pub(crate) task: Box<dyn Task>,
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
    /// Names and cursors of its edges.
    pub(crate) edges: Vec<(String, Arc<Cursors>)>,
    pub(crate) delivered: Arc<Delivered>,
}

/// Both ends of an edge, from when it is opened until its tasks are built.
struct Ends<T: Send + 'static>(Mutex<(Option<Writer<T>>, Option<Reader<T>>)>);

trait OpenEdge: Send {
    fn open(
        &self,
        pool: &Arc<Pool>,
        limits: EdgeLimits,
    ) -> Result<Arc<Cursors>, thalweg_memory::edge::EdgeError>;
}

impl<T: Send + 'static> OpenEdge for Arc<Ends<T>> {
    fn open(
        &self,
        pool: &Arc<Pool>,
        limits: EdgeLimits,
    ) -> Result<Arc<Cursors>, thalweg_memory::edge::EdgeError> {
        let EdgeLimits { block_records, chunk_blocks, chunks_max, marks_max } = limits;
        let options =
            EdgeOptions { shape: BlockShape { block_records, chunk_blocks }, chunks_max, marks_max };
        let (writer, reader) = thalweg_memory::edge::<_, EdgeMarks>(pool, options)?;
        let cursors = Arc::clone(reader.cursors());
        *self.0.lock() = (Some(writer), Some(reader));
        Ok(cursors)
    }
}

/// The end of an edge that a task reads.
pub struct EdgeEntry<T: Send + 'static> {
    index: usize,
    ends: Arc<Ends<T>>,
}

/// The end of an edge that a task writes.
pub struct EdgeExit<T: Send + 'static> {
    index: usize,
    ends: Arc<Ends<T>>,
}

/// A sink as the end of a task.
pub struct SinkPlan<S>(pub S);

/// Where a planned task will write.
pub trait ExitPlan<T>: Send + 'static {
    /// What it becomes.
    type Exit: Exit<T> + 'static;

    /// The index of the edge, if it is one.
    fn edge_index(&self) -> Option<usize>;

    /// Makes the exit, once the edges are open.
    fn open(self, delivered: &ExitContext) -> Self::Exit;
}

/// What exits are made from.
pub struct ExitContext(Arc<Delivered>);

impl<T: Send + 'static> ExitPlan<T> for EdgeExit<T> {
    type Exit = ToEdge<T>;

    fn edge_index(&self) -> Option<usize> {
        Some(self.index)
    }

    fn open(self, _context: &ExitContext) -> ToEdge<T> {
        ToEdge(self.ends.0.lock().0.take().expect("edges are opened before tasks are built"))
    }
}

impl<T, S: Sink<T> + 'static> ExitPlan<T> for SinkPlan<S> {
    type Exit = SinkExit<S>;

    fn edge_index(&self) -> Option<usize> {
        None
    }

    fn open(self, context: &ExitContext) -> SinkExit<S> {
        SinkExit::new(self.0, Arc::clone(&context.0))
    }
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
        let (index, ends) = (self.edges.len(), Arc::new(Ends(Mutex::new((None, None)))));
        self.edges.push(EdgePlan { open: Box::new(Arc::clone(&ends)) });
        (EdgeExit { index, ends: Arc::clone(&ends) }, EdgeEntry { index, ends })
    }

    /// Adds a source whose records go through `chain` to `exit`.
    pub fn source<S, C, X>(
        &mut self,
        name: impl Into<String>,
        source: S,
        strategy: WatermarkStrategy,
        chain: C,
        exit: X,
    ) where
        S: Source + 'static,
        C: Operator<S::Item> + 'static,
        C::Out: Send + 'static,
        X: ExitPlan<C::Out>,
    {
        let output = exit.edge_index();
        let build = move |opened: &Opened| -> Box<dyn Task> {
            let exit = exit.open(&ExitContext(Arc::clone(&opened.delivered)));
            Box::new(SourceTask::new(source, strategy, chain, exit, Arc::clone(&opened.probe)))
        };
        self.tasks.push(TaskPlan {
            name: name.into(),
            strategy: Some(strategy),
            input: None,
            output,
            build: Box::new(build),
        });
    }

    /// Adds a chain that reads `entry` and writes `exit`.
    pub fn operator<T, C, X>(&mut self, name: impl Into<String>, entry: EdgeEntry<T>, chain: C, exit: X)
    where
        T: Send + 'static,
        C: Operator<T> + 'static,
        C::Out: Send + 'static,
        X: ExitPlan<C::Out>,
    {
        let (input, output) = (Some(entry.index), exit.edge_index());
        let build = move |opened: &Opened| -> Box<dyn Task> {
            let reader = entry.ends.0.lock().1.take().expect("edges are opened before tasks are built");
            let exit = exit.open(&ExitContext(Arc::clone(&opened.delivered)));
            Box::new(OperatorTask::new(reader, chain, exit, Arc::clone(&opened.probe)))
        };
        self.tasks.push(TaskPlan {
            name: name.into(),
            strategy: None,
            input,
            output,
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
        let labels = check::check(&self)?;
        let mut edges = Vec::with_capacity(self.edges.len());
        for (label, plan) in labels.into_iter().zip(&self.edges) {
            use thalweg_memory::edge::EdgeError;
            let cursors = plan.open.open(pool, limits).map_err(|error| match error {
                EdgeError::Budget(exceeded) => PlanError::BudgetTooSmall { edge: label.clone(), exceeded },
                other => PlanError::Edge { edge: label.clone(), reason: other.to_string() },
            })?;
            edges.push((label, cursors));
        }
        let delivered = Delivered::new();
        let ends: Vec<(Option<usize>, Option<usize>)> =
            self.tasks.iter().map(|task| (task.input, task.output)).collect();
        let with = |is_wanted: &dyn Fn(&(Option<usize>, Option<usize>)) -> bool| -> Vec<usize> {
            (0..ends.len()).filter(|&place| is_wanted(&ends[place])).collect()
        };
        let build = |plan: TaskPlan| {
            let cursors = |index: usize| Arc::clone(&edges[index].1);
            let probe =
                Arc::new(Probe::new(plan.input.map(|index| (cursors(index), 0)), plan.output.map(cursors)));
            let opened = Opened { delivered: Arc::clone(&delivered), probe: Arc::clone(&probe) };
            let mut task = (plan.build)(&opened);
            task.seed(entropy);
            let mut operators = Vec::new();
            task.visit_counts(&mut |operator, _| operators.push(operator.to_owned()));
            let upstream = with(&|(_, output)| output.is_some() && *output == plan.input);
            let downstream = with(&|(input, _)| input.is_some() && *input == plan.output);
            BuiltTask { name: plan.name, task, operators, probe, upstream, downstream }
        };
        let tasks = self.tasks.into_iter().map(build).collect();
        Ok(Built { name: self.name, tasks, edges, delivered })
    }
}
