//! A query before it runs: tasks, the edges between them, and checks.
//!
//! A graph is built front to back or back to front; each end of an edge is a value that can be used once, so an
//! edge cannot get two writers, and types of neighbours must agree before anything compiles. What types cannot
//! say, [`check`] does. No edge is mapped and nothing runs before these checks have passed. How many queries and tasks there are
//! already is known later, to the driver that runs them: a query that is one too many is refused then, and its edges are given back.

mod build;
mod check;
mod inputs;
mod link;
mod outputs;
mod physical;
mod stage;

use std::fmt;
use std::sync::Arc;

use thalweg_model::{Deferred, Horizon, Operator, Source, WatermarkStrategy, Watermarks};

use self::build::Opened;
use self::link::{OpenEdge, Reading, Taking};
use self::stage::{Stage, StagePlan};
use crate::aims::Aims;
use crate::error::PlanError;
use crate::firing_latency::Ingestion;
use crate::task::Task;
use crate::task::deferred::DeferredTask;
use crate::task::operator::OperatorTask;
use crate::task::source::SourceTask;

pub(crate) use build::{Built, BuiltTask, EdgePlans, ReadEdge, ReadKind};
pub use check::check_strategy;
pub use inputs::{Both, InputHandle, InputPlan, Several, Sides};
pub use link::{EdgeKind, Lending, Link};
pub use outputs::{
    AddressedOutputHandle, EitherOutputHandle, OutputContext, OutputHandle, OutputPlan, SinkPlan,
};
pub use physical::{LinkSpec, OperatorId, OperatorSpec, PhysicalPlan, TaskKind, TaskSpec, Transport};

/// A link that several tasks read.
pub type SharedEdge<T> = Link<T, Lending>;

/// One of the reading ends of a shared link.
pub type SharedInputHandle<T> = InputHandle<T, Lending>;

/// A query that does not run yet.
pub struct Graph {
    name: String,
    aims: Aims,
    tasks: Vec<TaskPlan>,
    edges: Vec<EdgePlan>,
}

/// Makes a task once its edges are open.
type BuildTask = Box<dyn FnOnce(&Opened) -> Box<dyn Task> + Send>;

/// The way in which a planned task is made.
enum Making {
    /// One task.
    Single(BuildTask),
    /// Several, which share an operator, and what closes their epochs.
    Stage(Box<dyn StagePlan>),
}

struct TaskPlan {
    name: String,
    /// True if it is a further copy of another, and counted there.
    is_copy: bool,
    /// The preferred worker of the task, if the graph sets one.
    preferred_worker: Option<u32>,
    /// The strategy of a source; none for other tasks.
    strategy: Option<WatermarkStrategy>,
    inputs: Vec<ReaderOf>,
    /// Edges.
    outputs: Vec<usize>,
    /// At which watermarks something happens in its chain.
    horizon: Horizon,
    /// True if its edges may be queues. Only of what is no chain: every chain would be compiled once more for them.
    may_queue: bool,
    /// Names of the operators of its chain, in the order in which records pass them.
    operators: Vec<String>,
    /// True if its results come in their own time.
    is_deferred: bool,
    making: Making,
}

impl TaskPlan {
    /// A task without operators, whose edges are no queues.
    fn new(name: String, inputs: Vec<ReaderOf>, outputs: Vec<usize>, making: Making) -> Self {
        TaskPlan {
            name,
            is_copy: false,
            preferred_worker: None,
            strategy: None,
            inputs,
            outputs,
            horizon: Horizon::NONE,
            may_queue: false,
            operators: Vec::new(),
            is_deferred: false,
            making,
        }
    }
}

/// A reader of an edge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ReaderOf {
    edge: usize,
    reader: usize,
}

struct EdgePlan {
    kind: EdgeKind,
    /// The number of edges to which one writer distributes its records by key, this one included; 1 without an exchange.
    exchange_width: u32,
    open: Box<dyn OpenEdge>,
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
        Graph { name: name.into(), aims: Aims::default(), tasks: Vec::new(), edges: Vec::new() }
    }

    /// Sets other aims, which are checked when it is submitted.
    pub fn with_aims(self, aims: Aims) -> Self {
        Graph { aims, ..self }
    }

    /// Returns what the query is to reach.
    pub fn aims(&self) -> Aims {
        self.aims
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

    /// Adds an edge with one reader, and returns its handles.
    pub fn edge<T: Send + 'static>(&mut self) -> (OutputHandle<T>, InputHandle<T>) {
        self.edge_of(EdgeKind::Ordered)
    }

    /// Adds a link of this kind with one reader, and returns its handles. Containers can be written by sources and by stateless
    /// chains that are [shared](Self::shared), and read by an operator that is shared. Partitions are as many edges as are [asked
    /// for](OutputPlan::again) before they are [read](InputPlan::partitions), each with its own memory.
    pub fn edge_of<T: Send + 'static>(&mut self, kind: EdgeKind) -> (OutputHandle<T>, InputHandle<T>) {
        let link: Link<T, Taking> = self.link(kind, 1);
        (link.writer(), link.reader())
    }

    /// Adds an exchange by key to this number of readers. Each writer has a partition to each reader, and the key of a record
    /// selects the partition; each reader reads the partitions that lead to it. So there are as many edges as writers times
    /// readers. The chunks of these edges have fewer blocks, but at least one each, so that all edges of a writer together hold
    /// as much as one edge would.
    pub fn exchange<T: Send + 'static>(
        &mut self,
        readers: u32,
    ) -> (AddressedOutputHandle<T>, Vec<InputHandle<T>>) {
        let partitions = |_| {
            let link: Link<T, Taking> = self.link(EdgeKind::Partitions, readers);
            (link.writer(), link.reader())
        };
        let (outputs, inputs) = (0..readers.max(1)).map(partitions).unzip();
        (AddressedOutputHandle(outputs), inputs)
    }

    /// Adds a link of this kind that any number of tasks may read; each asks for a [`reader`](Self::reader) and sees all values. A
    /// block is used again when the slowest reader has passed it. All tasks that read containers must be
    /// [shared](Self::shared).
    pub fn shared_edge<T: Clone + Send + Sync + 'static>(
        &mut self,
        kind: EdgeKind,
    ) -> (OutputHandle<T>, SharedEdge<T>) {
        let link = self.link(kind, 1);
        (link.writer(), link)
    }

    /// Adds a reader of a shared link.
    pub fn reader<T: Clone + Send + Sync + 'static>(&mut self, edge: &SharedEdge<T>) -> SharedInputHandle<T> {
        edge.reader()
    }

    /// Adds a link, and an edge of the graph for it, unless it is partitions, each of which has an edge.
    fn link<T: Send + 'static, K: Reading<T>>(&mut self, kind: EdgeKind, exchange_width: u32) -> Link<T, K> {
        if kind == EdgeKind::Partitions {
            return Link::new(link::NO_EDGE, kind, exchange_width);
        }
        let link = Link::new(self.edges.len(), kind, exchange_width);
        self.edges.push(EdgePlan { kind, exchange_width, open: Box::new(link.clone()) });
        link
    }

    /// Adds a source whose records go through `chain` to `output`.
    pub fn source<S, W, C, X>(
        &mut self,
        name: impl Into<String>,
        source: S,
        watermarks: W,
        chain: C,
        output: X,
    ) where
        S: Source + 'static,
        W: Watermarks<S::Item>,
        C: Operator<S::Item> + 'static,
        C::Out: Send + 'static,
        X: OutputPlan<C::Out>,
    {
        let (outputs, strategy) = (edges_of(&output), watermarks.strategy());
        let (operators, horizon) = (operators_of::<S::Item>(&chain), chain.horizon());
        let build = move |opened: &Opened| -> Box<dyn Task> {
            let probe = Arc::clone(&opened.probe);
            let ingestion = Ingestion::new(Arc::clone(&opened.delivered));
            if X::IS_EDGE
                && let Some(output) = output.open_split()
            {
                return Box::new(SourceTask::new(source, watermarks, chain, output, probe, ingestion));
            }
            let context = OutputContext(Arc::clone(&opened.delivered));
            if const { X::MAY_QUEUE && !C::IS_FUSED } && opened.is_queued {
                let output = output.open_queued(&context);
                return Box::new(SourceTask::new(source, watermarks, chain, output, probe, ingestion));
            }
            let output = output.open(&context);
            Box::new(SourceTask::new(source, watermarks, chain, output, probe, ingestion))
        };
        self.tasks.push(TaskPlan {
            strategy: Some(strategy),
            operators,
            horizon,
            may_queue: X::MAY_QUEUE && !C::IS_FUSED,
            ..TaskPlan::new(name.into(), Vec::new(), outputs, Making::Single(Box::new(build)))
        });
    }

    /// Takes note that the task that was added last is one of several that run copies of one chain, and which, from 0 on. If it
    /// `prefers_own_worker`, that is the worker of its number, whichever task feeds it: as it should be for a copy with state, which
    /// many feed.
    pub fn note_copy(&mut self, number: u32, prefers_own_worker: bool) {
        let task = self.tasks.last_mut().expect("a note follows the task that it is about");
        (task.is_copy, task.preferred_worker) = (number > 0, prefers_own_worker.then_some(number));
    }

    /// Gives the task that was added last a preferred worker, the worker of this number: what it keeps then lies in one core's cache.
    /// Other workers may run a source with a preferred worker at any time, unlike a copy: one that prefers no task as urgent runs it.
    pub fn prefer_worker(&mut self, worker: u32) {
        self.tasks.last_mut().expect("a note follows the task that it is about").preferred_worker =
            Some(worker);
    }

    /// Adds a chain that reads `input` and writes `output`.
    pub fn operator<T, N, C, X>(&mut self, name: impl Into<String>, input: N, chain: C, output: X)
    where
        T: Send + 'static,
        N: InputPlan<T>,
        C: Operator<T> + 'static,
        C::Out: Send + 'static,
        X: OutputPlan<C::Out>,
    {
        let (inputs, outputs) = (readers_of(&input), edges_of(&output));
        let (operators, horizon) = (operators_of::<T>(&chain), chain.horizon());
        let build = move |opened: &Opened| -> Box<dyn Task> {
            let context = OutputContext(Arc::clone(&opened.delivered));
            let probe = Arc::clone(&opened.probe);
            if const { X::MAY_QUEUE && !C::IS_FUSED } && opened.is_queued {
                let (input, output) = (input.open_queued(), output.open_queued(&context));
                return Box::new(OperatorTask::new(input, &opened.families, chain, output, probe));
            }
            let output = output.open(&context);
            Box::new(OperatorTask::new(input.open(), &opened.families, chain, output, probe))
        };
        self.tasks.push(TaskPlan {
            operators,
            horizon,
            may_queue: X::MAY_QUEUE && !C::IS_FUSED,
            ..TaskPlan::new(name.into(), inputs, outputs, Making::Single(Box::new(build)))
        });
    }

    /// Adds a chain that so many workers may run at once, each a copy of its own, on blocks that they claim from `input`:
    /// containers. It must be one that can be [shared](thalweg_model::Sharing): what merges may write any `output`, what has
    /// no state must write containers.
    ///
    /// # Panics
    /// If it cannot be shared, or the kinds of its edges are others.
    pub fn shared<T, N, C, X>(
        &mut self,
        name: impl Into<String>,
        input: N,
        chain: C,
        output: X,
        copies: usize,
    ) where
        T: Send + 'static,
        N: InputPlan<T>,
        C: Operator<T> + 'static,
        C::Out: Send + 'static,
        X: OutputPlan<C::Out>,
    {
        let (inputs, outputs) = (readers_of(&input), edges_of(&output));
        let (operators, horizon) = (operators_of::<T>(&chain), chain.horizon());
        let is_of = |edge: usize, kind| self.edges[edge].kind == kind;
        assert!(
            inputs.iter().all(|of| is_of(of.edge, EdgeKind::Containers)),
            "an operator that is shared reads containers"
        );
        let stage = Stage::new(input, chain, output, copies.max(1));
        self.tasks.push(TaskPlan {
            operators,
            horizon,
            ..TaskPlan::new(name.into(), inputs, outputs, Making::Stage(Box::new(stage)))
        });
    }

    /// Adds an operator whose results come in their own time, which reads `input`; they go through `chain` to `output`.
    pub fn deferred<T, N, D, C, X>(
        &mut self,
        name: impl Into<String>,
        input: N,
        deferred: D,
        chain: C,
        output: X,
    ) where
        T: Send + 'static,
        N: InputPlan<T>,
        D: Deferred<T> + 'static,
        C: Operator<D::Out> + 'static,
        C::Out: Send + 'static,
        X: OutputPlan<C::Out>,
    {
        let (inputs, outputs) = (readers_of(&input), edges_of(&output));
        let mut operators = Vec::new();
        deferred.visit_counts(&mut |operator, _| operators.push(operator.to_owned()));
        operators.extend(operators_of::<D::Out>(&chain));
        let build = move |opened: &Opened| -> Box<dyn Task> {
            let context = OutputContext(Arc::clone(&opened.delivered));
            let (probe, waker) = (Arc::clone(&opened.probe), Arc::clone(&opened.waker));
            if const { X::MAY_QUEUE && !C::IS_FUSED } && opened.is_queued {
                let (input, output) = (input.open_queued(), output.open_queued(&context));
                let ports = (input, &opened.families[..]);
                return Box::new(DeferredTask::new(ports, deferred, chain, output, probe, waker));
            }
            let output = output.open(&context);
            let ports = (input.open(), &opened.families[..]);
            Box::new(DeferredTask::new(ports, deferred, chain, output, probe, waker))
        };
        self.tasks.push(TaskPlan {
            is_deferred: true,
            operators,
            horizon: Horizon::EVERYWHERE,
            may_queue: X::MAY_QUEUE && !C::IS_FUSED,
            ..TaskPlan::new(name.into(), inputs, outputs, Making::Single(Box::new(build)))
        });
    }
}

/// The edges that a task writes.
fn edges_of<T>(output: &impl OutputPlan<T>) -> Vec<usize> {
    let mut edges = Vec::new();
    output.visit_edges(&mut |edge| edges.push(edge));
    edges
}

/// The edges that a task reads, and which of their readers it is.
fn readers_of<T>(input: &impl InputPlan<T>) -> Vec<ReaderOf> {
    let mut inputs = Vec::new();
    input.visit_edges(&mut |edge, reader| inputs.push(ReaderOf { edge, reader }));
    inputs
}

/// The names of the operators of a chain.
fn operators_of<T>(chain: &impl Operator<T>) -> Vec<String> {
    let mut operators = Vec::new();
    chain.visit_counts(&mut |operator, _| operators.push(operator.to_owned()));
    operators
}

#[cfg(all(test, not(loom)))]
mod tests;
