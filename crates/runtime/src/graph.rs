//! A query before it runs: its tasks, the edges between them, and checks of both.
//!
//! A graph is built from front to back or from back to front. Each end of an edge is a value that can be used
//! once, so an edge cannot have two writers. A program that connects tasks whose record types do not agree
//! does not compile. [`check`] covers everything that types cannot express. No edge is mapped and nothing
//! runs before these checks have passed. Only the driver that runs the queries knows how many queries and
//! tasks there are already. A query that exceeds the limits on these numbers is refused by the driver, and
//! the edges of the query are given back.

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
use crate::checkpoints::Checkpoints;
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

/// A link that several tasks read: an edge, or in its place partitions or containers, which hold the
/// unclaimed blocks of each epoch (see [`EdgeKind`]).
pub type SharedEdge<T> = Link<T, Lending>;

/// Reading end of a link that several tasks read: of an edge, of partitions, or of containers, which hold the
/// unclaimed blocks of each epoch.
pub type SharedInputHandle<T> = InputHandle<T, Lending>;

/// The plan of a query that does not run yet: its tasks and the edges between them.
pub struct Graph {
    name: String,
    aims: Aims,
    checkpoints: Option<Checkpoints>,
    tasks: Vec<TaskPlan>,
    edges: Vec<EdgePlan>,
}

/// A function that makes a running task of a planned one, called when the edges of the task have been opened.
type BuildTask = Box<dyn FnOnce(&Opened) -> Box<dyn Task> + Send>;

/// The way in which a planned task is turned into tasks that run.
enum Making {
    /// The planned task becomes exactly one running task.
    Single(BuildTask),
    /// The planned task becomes several running tasks that share an operator and, if the operator has state,
    /// one task that closes their epochs (merges the state of the copies and emits the results).
    Stage(Box<dyn StagePlan>),
}

struct TaskPlan {
    name: String,
    /// True if this task is the second or a later of several tasks that run copies of one chain in parallel.
    /// All copies of a chain count as one task of [`TASKS_PER_QUERY`](crate::limits::TASKS_PER_QUERY), but
    /// each copy counts in [`TASKS`](crate::limits::TASKS).
    is_copy: bool,
    preferred_worker: Option<u32>,
    /// The watermark strategy, if the task is a source; `None` for other tasks.
    strategy: Option<WatermarkStrategy>,
    inputs: Vec<ReaderOf>,
    outputs: Vec<usize>,
    /// The event times at which a watermark makes some operator of this task do something, such as end a
    /// window.
    horizon: Horizon,
    /// True if the edges of this task may be queues. Only a chain of one operator allows queues, because
    /// every longer chain would have to be compiled a second time for them.
    may_queue: bool,
    operators: Vec<String>,
    /// True if the results of this task arrive asynchronously.
    is_deferred: bool,
    making: Making,
}

impl TaskPlan {
    /// Makes the plan of a task without operators, which does not allow queues as edges.
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

/// One reading end of an edge: the number of the edge, and the number of the reader among its readers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ReaderOf {
    edge: usize,
    reader: usize,
}

struct EdgePlan {
    kind: EdgeKind,
    /// Number of edges to which one writer distributes its records by key, this edge included; 1 if the edge
    /// is not part of an exchange.
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
    /// Makes an empty plan of the query called `name`.
    pub fn new(name: impl Into<String>) -> Self {
        Graph {
            name: name.into(),
            aims: Aims::default(),
            checkpoints: None,
            tasks: Vec::new(),
            edges: Vec::new(),
        }
    }

    /// Sets the aims of the query (latency target and tokens). They are checked when the query is submitted.
    pub fn with_aims(self, aims: Aims) -> Self {
        Graph { aims, ..self }
    }

    /// Lets the query take checkpoints, and go on from one if the settings name it. Its tasks must be able to take part:
    /// several workers may share keyed operators, but no operator epoch by epoch.
    pub fn with_checkpoints(self, checkpoints: Checkpoints) -> Self {
        Graph { checkpoints: Some(checkpoints), ..self }
    }

    /// Takes the settings of checkpoints out of the plan.
    pub(crate) fn take_checkpoints(&mut self) -> Option<Checkpoints> {
        self.checkpoints.take()
    }

    /// Returns the aims of the query (latency target and tokens).
    pub fn aims(&self) -> Aims {
        self.aims
    }

    /// Returns the name of the query.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the names of the planned tasks, in the order in which they were added.
    pub fn task_names(&self) -> impl Iterator<Item = &str> {
        self.tasks.iter().map(|task| task.name.as_str())
    }

    /// Makes the checks of [`Engine::submit`](crate::Engine::submit), except those that need an engine: its
    /// limits and its memory.
    ///
    /// # Errors
    /// [`PlanError`] for the first fault that is found in the plan.
    pub fn check(&self) -> Result<(), PlanError> {
        check::check(self).map(drop)
    }

    /// Adds an edge with one reader. Returns its writing end and its reading end.
    pub fn edge<T: Send + 'static>(&mut self) -> (OutputHandle<T>, InputHandle<T>) {
        self.edge_of(EdgeKind::Ordered)
    }

    /// Adds a link of the given kind with one reader, and returns its two ends. A link of kind
    /// [`Containers`](EdgeKind::Containers) can be written by sources and by stateless chains that are
    /// [shared](Self::shared), and can be read by an operator that is shared. A link of kind partitions
    /// consists of as many edges as are [asked for](OutputPlan::again) before they are
    /// [read](InputPlan::partitions). Each partition has memory of its own.
    pub fn edge_of<T: Send + 'static>(&mut self, kind: EdgeKind) -> (OutputHandle<T>, InputHandle<T>) {
        let link: Link<T, Taking> = self.link(kind, 1);
        (link.writer(), link.reader())
    }

    /// Adds an exchange by key to `readers` readers. Each writer has a partition to each reader, and the key
    /// of a record selects the partition. Each reader reads the partitions that lead to it. So there are as
    /// many edges as writers times readers. The chunks of these edges have fewer blocks than usual, but at
    /// least one each. All edges of a writer together hold as much as one edge would.
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

    /// Adds a link of the given kind that any number of tasks may read. Each task asks for a
    /// [`reader`](Self::reader), which sees all values. A block is used again when the slowest reader has
    /// passed it. All tasks that read a link of kind [`Containers`](EdgeKind::Containers) must be
    /// [shared](Self::shared).
    pub fn shared_edge<T: Clone + Send + Sync + 'static>(
        &mut self,
        kind: EdgeKind,
    ) -> (OutputHandle<T>, SharedEdge<T>) {
        let link = self.link(kind, 1);
        (link.writer(), link)
    }

    /// Adds a reader to a link (an edge or the like) that several tasks may read.
    pub fn reader<T: Clone + Send + Sync + 'static>(&mut self, edge: &SharedEdge<T>) -> SharedInputHandle<T> {
        edge.reader()
    }

    /// Adds a link (a path of records between tasks) to the plan, and an edge for it. A link of kind
    /// partitions gets no edge here, because each of its partitions gets an edge of its own.
    fn link<T: Send + 'static, K: Reading<T>>(&mut self, kind: EdgeKind, exchange_width: u32) -> Link<T, K> {
        if kind == EdgeKind::Partitions {
            return Link::new(link::NO_EDGE, kind, exchange_width);
        }
        let link = Link::new(self.edges.len(), kind, exchange_width);
        self.edges.push(EdgePlan { kind, exchange_width, open: Box::new(link.clone()) });
        link
    }

    /// Adds a source task to the plan. Its records go through the operators of `chain` to `output`.
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

    /// Records that the task which was added last is one of several tasks that run copies of one chain.
    /// `number` is its number among these tasks, from 0 on. If `prefers_own_worker` is true, its preferred
    /// worker is the worker of that number, whichever task feeds it. This is right for a copy with state,
    /// because many tasks feed it.
    pub fn note_copy(&mut self, number: u32, prefers_own_worker: bool) {
        let task = self.tasks.last_mut().expect("a note follows the task that it is about");
        (task.is_copy, task.preferred_worker) = (number > 0, prefers_own_worker.then_some(number));
    }

    /// Gives the task added last a preferred worker, so that the state of the task stays in the cache of one
    /// core. A copy always keeps its preferred worker. A source may still be run by another worker, if that
    /// worker finds no task of equal urgency that prefers it.
    pub fn prefer_worker(&mut self, worker: u32) {
        self.tasks.last_mut().expect("a note follows the task that it is about").preferred_worker =
            Some(worker);
    }

    /// Adds a task to the plan that reads `input`, runs the operators of `chain`, and writes `output`.
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

    /// Adds a chain of which several workers run copies at once, on blocks that they claim from `input`.
    /// There are `copies` copies, at least one. The input must be of kind
    /// [`Containers`](EdgeKind::Containers). The chain must be one that can be
    /// [shared](thalweg_model::Sharing): a chain whose state can be merged may write to any `output`, and a
    /// chain without state must write to containers.
    ///
    /// # Panics
    /// If the input is not of kind containers. If the chain cannot be shared, or has no state and does not
    /// write to containers, the build of the graph panics.
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

    /// Adds a task with asynchronous results, such as answers of a lookup. The operator reads `input`, and
    /// its results go through `chain` to `output`.
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

fn edges_of<T>(output: &impl OutputPlan<T>) -> Vec<usize> {
    let mut edges = Vec::new();
    output.visit_edges(&mut |edge| edges.push(edge));
    edges
}

/// Returns the numbers of the edges that a task of the plan reads, each with the number of the reader.
fn readers_of<T>(input: &impl InputPlan<T>) -> Vec<ReaderOf> {
    let mut inputs = Vec::new();
    input.visit_edges(&mut |edge, reader| inputs.push(ReaderOf { edge, reader }));
    inputs
}

fn operators_of<T>(chain: &impl Operator<T>) -> Vec<String> {
    let mut operators = Vec::new();
    chain.visit_counts(&mut |operator, _| operators.push(operator.to_owned()));
    operators
}

#[cfg(all(test, not(loom)))]
mod tests;
