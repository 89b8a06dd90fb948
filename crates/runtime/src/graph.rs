//! What a query is before it runs: tasks, the edges between them, and checks.
//!
//! A graph is built front to back or back to front; each end of an edge is a value that can be used once, so an
//! edge cannot get two writers, and types of neighbours must agree before anything compiles. What types cannot
//! say, [`check`] does. No edge is mapped and nothing runs before these checks have passed. How many queries and tasks there are
//! already is known later, to the driver that runs them: a query that is one too many is refused then, and its edges are given back.

mod check;
pub mod ends;
mod stage;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use thalweg_memory::sync::Mutex;
use thalweg_memory::{Cursors, Pool};
use thalweg_model::{Deferred, Entropy, Horizon, Operator, Source, WatermarkStrategy, Watermarks};

use self::ends::{EdgeMaking, OpenEdge, OwnEnds, SharedEnds};
use self::stage::{Opening, Part, Stage, StagePlan};
use crate::ablations::Ablations;
use crate::aims::Aims;
use crate::closings::Ingestion;
use crate::epochs::Ledger;
use crate::error::PlanError;
use crate::exit::Delivered;
use crate::lender::StateLender;
use crate::limits::EdgeLimits;
use crate::modes::{self, EdgeMemory};
use crate::task::deferred::{DeferredTask, TaskWaker};
use crate::task::operator::OperatorTask;
use crate::task::source::SourceTask;
use crate::task::{Inlet, Outlet, Probe, Task, Tokens};

pub use check::check_strategy;
pub use ends::{
    AddressedExit, Both, EdgeEntry, EdgeExit, EdgeKind, EitherExit, EntryPlan, ExitContext, ExitPlan,
    Several, SharedEntry, Sides, SinkPlan,
};

/// A query that does not run yet.
pub struct Graph {
    name: String,
    aims: Aims,
    tasks: Vec<TaskPlan>,
    edges: Vec<EdgePlan>,
}

/// Makes a task once its edges are open.
type BuildTask = Box<dyn FnOnce(&Opened) -> Box<dyn Task> + Send>;

/// What a planned task becomes.
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
    /// The worker that it is at home with, if it is to have one of its own.
    home: Option<u32>,
    /// Of a source.
    strategy: Option<WatermarkStrategy>,
    inputs: Vec<ReaderOf>,
    /// Edges.
    outputs: Vec<usize>,
    /// At which watermarks something happens in its chain.
    horizon: Horizon,
    /// True if its edges may be queues. Only of what is no chain: every chain would be compiled once more for them.
    may_queue: bool,
    making: Making,
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
    kind: EdgeKind,
    /// Among how many like it what is written is dealt.
    dealt_to: u32,
    open: Box<dyn OpenEdge>,
}

/// What the edges of an engine's queries are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgePlans {
    pub(crate) memory: EdgeMemory,
    pub(crate) limits: EdgeLimits,
    pub(crate) ablations: Ablations,
}

/// What tasks are built from.
struct Opened {
    /// True if edges are queues.
    is_queued: bool,
    delivered: Arc<Delivered>,
    probe: Arc<Probe>,
    waker: Arc<TaskWaker>,
    /// Of each input: those with the same number come from the same place.
    families: Vec<usize>,
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
    /// At which watermarks something happens in its chain.
    pub(crate) horizon: Horizon,
    /// Who writes what it reads, by place in the query.
    pub(crate) upstream: Vec<usize>,
    /// Who reads what it writes.
    pub(crate) downstream: Vec<usize>,
    /// Those to whom it matters what becomes of epochs that it writes or reads: who shares an operator with it, and the
    /// stages further on.
    pub(crate) further: Vec<usize>,
    /// Other tasks that write the containers that it writes.
    pub(crate) peers: Vec<usize>,
    /// Which of them it is; none if it is alone.
    pub(crate) copy: Option<u32>,
    /// The worker that it is at home with, if it has one of its own.
    pub(crate) home: Option<u32>,
    /// The most rows of a record, if its records count for several. Asked for when the graph is built, since the answer is
    /// user code, which must not run under a lock of the engine.
    pub(crate) rows_max: Option<u32>,
    /// True if its results come in their own time.
    pub(crate) is_deferred: bool,
}

/// A query, ready to run.
pub(crate) struct Built {
    pub(crate) name: String,
    pub(crate) aims: Aims,
    pub(crate) tasks: Vec<BuiltTask>,
    pub(crate) edges: Vec<ReadEdge>,
    pub(crate) delivered: Arc<Delivered>,
}

/// An edge as one of its readers sees it.
pub(crate) struct ReadEdge {
    /// `from -> to`.
    pub(crate) name: String,
    pub(crate) kind: ReadKind,
}

/// What it is made of.
pub(crate) enum ReadKind {
    /// Blocks in order, and which of the readers this is.
    Ordered(Arc<Cursors>, usize),
    /// Containers.
    Containers(Arc<Ledger>),
}

/// An edge that several tasks will read.
pub struct SharedEdge<T: Send + Sync + 'static> {
    index: usize,
    kind: EdgeKind,
    readers: Arc<Mutex<Vec<Option<ends::SharedReadEnd<T>>>>>,
    feed: ends::Opened<ends::Feed<T>>,
    containers: ends::SharedContainers<T>,
    /// If it is lanes: those that there are so far.
    lanes: ends::Lanes<SharedEdge<T>>,
}

impl<T: Send + Sync + 'static> SharedEdge<T> {
    /// Returns what the edge is made of.
    pub fn kind(&self) -> EdgeKind {
        self.kind
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
        Graph { name: name.into(), aims: Aims::default(), tasks: Vec::new(), edges: Vec::new() }
    }

    /// The same with other aims; checked when it is submitted.
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

    /// A new edge: the end to write and the end to read.
    pub fn edge<T: Send + 'static>(&mut self) -> (EdgeExit<T>, EdgeEntry<T>) {
        self.edge_of(EdgeKind::Ordered)
    }

    /// A new edge of this kind. Containers can be written by sources and by chains without state that are
    /// [shared](Self::shared), and read by an operator that is shared. Lanes are as many edges as are [asked
    /// for](ExitPlan::again) before they are [read](EntryPlan::lanes), each with its own memory.
    pub fn edge_of<T: Send + 'static>(&mut self, kind: EdgeKind) -> (EdgeExit<T>, EdgeEntry<T>) {
        self.dealt_edge(kind, 1)
    }

    /// The same, of which one writer has so many, among which he deals what he writes.
    fn dealt_edge<T: Send + 'static>(
        &mut self,
        kind: EdgeKind,
        dealt_to: u32,
    ) -> (EdgeExit<T>, EdgeEntry<T>) {
        let lanes = ends::Lanes::default();
        if kind == EdgeKind::Lanes {
            let made = Arc::clone(&lanes);
            let exit = EdgeExit::of_lanes(move |graph| {
                let (exit, entry) = graph.dealt_edge(EdgeKind::Ordered, dealt_to);
                made.lock().push(entry);
                exit
            });
            let (reader, feed) = (ends::Opened::default(), ends::Opened::default());
            return (exit, EdgeEntry { index: ends::NO_EDGE, kind, reader, feed, lanes });
        }
        let index = self.edges.len();
        let (writer, reader) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(None)));
        let feed = Arc::new(Mutex::new(None));
        let open = Box::new(OwnEnds { writer: Arc::clone(&writer), reader: Arc::clone(&reader) });
        self.edges.push(EdgePlan { readers: 1, kind, dealt_to, open });
        let exit = EdgeExit { index, kind, writer, feed: Arc::clone(&feed), more: None };
        (exit, EdgeEntry { index, kind, reader, feed, lanes })
    }

    /// New lanes to so many readers. Each writer has one to each of them, and the key of a record says which it takes; each
    /// reader reads those that lead to it. So there are as many edges as writers times readers, each with its own memory; but
    /// what a writer has for one edge, it has for all of them together: their chunks have as many blocks less, one at least.
    pub fn exchange<T: Send + 'static>(&mut self, readers: u32) -> (AddressedExit<T>, Vec<EdgeEntry<T>>) {
        let lanes = |_| self.dealt_edge(EdgeKind::Lanes, readers);
        let (exits, entries) = (0..readers.max(1)).map(lanes).unzip();
        (AddressedExit(exits), entries)
    }

    /// A new edge of this kind that as many tasks may read as ask for a [`reader`](Self::reader); each sees all of it. A block
    /// is used again when the slowest has passed it. If it is containers, all who read it must be [shared](Self::shared).
    pub fn shared_edge<T: Clone + Send + Sync + 'static>(
        &mut self,
        kind: EdgeKind,
    ) -> (EdgeExit<T>, SharedEdge<T>) {
        let (containers, lanes) = (ends::SharedContainers::default(), ends::Lanes::default());
        if kind == EdgeKind::Lanes {
            let made = Arc::clone(&lanes);
            let exit = EdgeExit::of_lanes(move |graph| {
                let (exit, edge) = graph.shared_edge(EdgeKind::Ordered);
                made.lock().push(edge);
                exit
            });
            let (readers, feed) = (Arc::default(), ends::Opened::default());
            return (exit, SharedEdge { index: ends::NO_EDGE, kind, readers, feed, containers, lanes });
        }
        let index = self.edges.len();
        let (writer, readers) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(Vec::new())));
        let open = Box::new(SharedEnds { writer: Arc::clone(&writer), readers: Arc::clone(&readers) });
        self.edges.push(EdgePlan { readers: 0, kind, dealt_to: 1, open });
        let feed = Arc::new(Mutex::new(None));
        let exit = EdgeExit { index, kind, writer, feed: Arc::clone(&feed), more: None };
        (exit, SharedEdge { index, kind, readers, feed, containers, lanes })
    }

    /// One more reader of a shared edge.
    pub fn reader<T: Clone + Send + Sync + 'static>(&mut self, edge: &SharedEdge<T>) -> SharedEntry<T> {
        let SharedEdge { index, kind, readers, feed, containers, lanes } = edge;
        let (reader, lanes) = match kind {
            EdgeKind::Lanes => {
                let lanes = lanes.lock();
                (0, Some(lanes.iter().map(|lane| self.reader(lane)).collect()))
            }
            EdgeKind::Ordered | EdgeKind::Containers => {
                let readers = &mut self.edges[*index].readers;
                *readers += 1;
                (*readers - 1, None)
            }
        };
        let (readers, feed, containers) = (Arc::clone(readers), Arc::clone(feed), Arc::clone(containers));
        SharedEntry { index: *index, reader, readers, feed, containers, lanes }
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
        let horizon = chain.horizon();
        let build = move |opened: &Opened| -> Box<dyn Task> {
            let probe = Arc::clone(&opened.probe);
            let ingestion = Ingestion::new(Arc::clone(&opened.delivered));
            if X::IS_EDGE
                && let Some(exit) = exit.open_split()
            {
                return Box::new(SourceTask::new(source, watermarks, chain, exit, probe, ingestion));
            }
            let context = ExitContext(Arc::clone(&opened.delivered));
            if const { X::MAY_QUEUE && !C::IS_FUSED } && opened.is_queued {
                let exit = exit.open_queued(&context);
                return Box::new(SourceTask::new(source, watermarks, chain, exit, probe, ingestion));
            }
            let exit = exit.open(&context);
            Box::new(SourceTask::new(source, watermarks, chain, exit, probe, ingestion))
        };
        self.tasks.push(TaskPlan {
            name: name.into(),
            is_copy: false,
            home: None,
            strategy: Some(strategy),
            inputs: Vec::new(),
            outputs,
            horizon,
            may_queue: X::MAY_QUEUE && !C::IS_FUSED,
            making: Making::Single(Box::new(build)),
        });
    }

    /// Takes note that the task that was added last is one of several that run copies of one chain, and which, from 0 on. If it
    /// `has_home`, that is the worker of its number, whichever task feeds it: as it should be for a copy with state, which many feed.
    pub fn note_copy(&mut self, number: u32, has_home: bool) {
        let task = self.tasks.last_mut().expect("a note follows the task that it is about");
        (task.is_copy, task.home) = (number > 0, has_home.then_some(number));
    }

    /// Gives the task that was added last a home, the worker of this number: what it keeps then lies in one core's cache.
    /// Unlike a copy, a source with a home is left to nobody: a worker that has nothing as urgent at home runs it.
    pub fn note_home(&mut self, worker: u32) {
        self.tasks.last_mut().expect("a note follows the task that it is about").home = Some(worker);
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
        let (outputs, horizon) = (edges_of(&exit), chain.horizon());
        let build = move |opened: &Opened| -> Box<dyn Task> {
            let context = ExitContext(Arc::clone(&opened.delivered));
            let probe = Arc::clone(&opened.probe);
            if const { X::MAY_QUEUE && !C::IS_FUSED } && opened.is_queued {
                let (entry, exit) = (entry.open_queued(), exit.open_queued(&context));
                return Box::new(OperatorTask::new(entry, &opened.families, chain, exit, probe));
            }
            let exit = exit.open(&context);
            Box::new(OperatorTask::new(entry.open(), &opened.families, chain, exit, probe))
        };
        self.tasks.push(TaskPlan {
            name: name.into(),
            is_copy: false,
            home: None,
            strategy: None,
            inputs,
            outputs,
            horizon,
            may_queue: X::MAY_QUEUE && !C::IS_FUSED,
            making: Making::Single(Box::new(build)),
        });
    }

    /// Adds a chain that so many workers may run at once, each a copy of its own, on blocks that they claim from `entry`:
    /// containers. It must be one that can be [shared](thalweg_model::Sharing): what merges may write any `exit`, what has
    /// no state must write containers.
    ///
    /// # Panics
    /// If it cannot be shared, or the kinds of its edges are others.
    pub fn shared<T, N, C, X>(&mut self, name: impl Into<String>, entry: N, chain: C, exit: X, copies: usize)
    where
        T: Send + 'static,
        N: EntryPlan<T>,
        C: Operator<T> + 'static,
        C::Out: Send + 'static,
        X: ExitPlan<C::Out>,
    {
        let mut inputs = Vec::new();
        entry.visit_edges(&mut |edge, reader| inputs.push(ReaderOf { edge, reader }));
        let (outputs, horizon) = (edges_of(&exit), chain.horizon());
        let is_of = |edge: usize, kind| self.edges[edge].kind == kind;
        assert!(
            inputs.iter().all(|of| is_of(of.edge, EdgeKind::Containers)),
            "an operator that is shared reads containers"
        );
        let stage = Stage::new(entry, chain, exit, copies.max(1));
        self.tasks.push(TaskPlan {
            name: name.into(),
            is_copy: false,
            home: None,
            strategy: None,
            inputs,
            outputs,
            horizon,
            may_queue: false,
            making: Making::Stage(Box::new(stage)),
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
            let context = ExitContext(Arc::clone(&opened.delivered));
            let (probe, waker) = (Arc::clone(&opened.probe), Arc::clone(&opened.waker));
            if const { X::MAY_QUEUE && !C::IS_FUSED } && opened.is_queued {
                let (entry, exit) = (entry.open_queued(), exit.open_queued(&context));
                let ports = (entry, &opened.families[..]);
                return Box::new(DeferredTask::new(ports, deferred, chain, exit, probe, waker));
            }
            let exit = exit.open(&context);
            let ports = (entry.open(), &opened.families[..]);
            Box::new(DeferredTask::new(ports, deferred, chain, exit, probe, waker))
        };
        self.tasks.push(TaskPlan {
            name: name.into(),
            is_copy: false,
            home: None,
            strategy: None,
            inputs,
            outputs,
            horizon: Horizon::EVERYWHERE,
            may_queue: X::MAY_QUEUE && !C::IS_FUSED,
            making: Making::Single(Box::new(build)),
        });
    }

    /// Checks the graph, opens its edges and builds its tasks.
    pub(crate) fn build(
        self,
        pool: &Arc<Pool>,
        EdgePlans { memory, limits, ablations }: EdgePlans,
        entropy: &mut dyn Entropy,
    ) -> Result<Built, PlanError> {
        limits.check()?;
        let queue = memory.hand_over().map(|hand_over| modes::queue_options(hand_over, limits));
        self.aims.check()?;
        let names = check::check(&self)?;
        if let (Some(task), true) = (self.tasks.iter().find(|task| !task.may_queue), queue.is_some()) {
            return Err(PlanError::QueueMemory { operator: task.name.clone() });
        }
        let name_of = |place: usize| {
            names.iter().find(|(of, _)| of.edge == place).map_or(String::new(), |(_, name)| name.clone())
        };
        let refused = |place: usize, error| {
            use thalweg_memory::edge::EdgeError;
            match error {
                EdgeError::Budget(exceeded) if queue.is_some() => {
                    PlanError::QueueTooLarge { edge: name_of(place), exceeded }
                }
                EdgeError::Budget(exceeded) => PlanError::BudgetTooSmall { edge: name_of(place), exceeded },
                other => PlanError::Edge { edge: name_of(place), reason: other.to_string() },
            }
        };
        let mut edges = Vec::with_capacity(self.edges.len());
        for (place, plan) in self.edges.iter().enumerate() {
            edges.push(match plan.kind {
                EdgeKind::Ordered => {
                    let chunk_blocks = (limits.chunk_blocks / plan.dealt_to.max(1)).max(1);
                    let blocks = EdgeMaking::Blocks(EdgeLimits { chunk_blocks, ..limits });
                    let making = queue.map_or(blocks, EdgeMaking::Queue);
                    let cursors = plan.open.open(pool, making, plan.readers);
                    OpenedEdge::Ordered(cursors.map_err(|error| refused(place, error))?)
                }
                EdgeKind::Containers => OpenedEdge::Containers(vec![None; plan.readers]),
                EdgeKind::Lanes => unreachable!("each lane is an edge"),
            });
        }
        let Graph { name, aims, mut tasks, .. } = self;
        let sources = tasks.iter().filter(|task| task.strategy.is_some()).count();
        let horizon = tasks.iter().fold(Horizon::NONE, |all, task| all.and(task.horizon.clone()));
        open_containers(&mut tasks, &mut edges, pool, (limits, ablations), &horizon)
            .map_err(|(place, error)| refused(place, error))?;

        let families = families_of(&tasks, edges.len());
        let delivered = Delivered::new(horizon, aims.latency_target_ns());
        let mut built = Vec::new();
        let plans: Vec<(Vec<ReaderOf>, Vec<usize>)> =
            tasks.iter().map(|task| (task.inputs.clone(), task.outputs.clone())).collect();
        // Of each plan: what it was built into, and which of these write its outputs.
        let mut made: Vec<(std::ops::Range<usize>, std::ops::Range<usize>)> = Vec::new();
        for plan in tasks {
            let first = built.len();
            let outputs =
                || -> Box<[Outlet]> { plan.outputs.iter().flat_map(|&edge| edges[edge].outlets()).collect() };
            match plan.making {
                Making::Single(build) => {
                    let inputs = plan.inputs.iter().map(|of| edges[of.edge].inlet(of.reader)).collect();
                    let tokens = if plan.strategy.is_some() { aims.tokens_of_each(sources) } else { None };
                    let probe = Probe::new(inputs, outputs()).with_tokens(tokens.map(Tokens::new));
                    let probe = Arc::new(probe);
                    let mut opened = Opened::new(&delivered, probe, queue.is_some());
                    opened.families = plan.inputs.iter().map(|of| families[of.edge]).collect();
                    let task = build(&opened);
                    let mut task = opened.finish(plan.name, task, pool, entropy);
                    (task.home, task.horizon) = (plan.home, plan.horizon);
                    built.push(task);
                }
                Making::Stage(stage) => {
                    let parts = stage.build(outputs(), &delivered, entropy);
                    let copies = parts.iter().filter(|part| part.copy.is_some()).count();
                    for Part { task, probe, copy } in parts {
                        let mut opened = Opened::new(&delivered, probe, queue.is_some());
                        // Copies are told apart by their numbers, in figures and errors.
                        let name =
                            copy.map_or(plan.name.clone(), |copy| format!("{}#{}", plan.name, copy + 1));
                        let mut part = opened.finish(name, task, pool, entropy);
                        (part.copy, part.home, part.horizon) = (copy, copy, plan.horizon.clone());
                        built.push(part);
                    }
                    let closing = first + copies..built.len();
                    for (copy, task) in (first..).zip(&mut built[first..first + copies]) {
                        // What closes epochs reads what copies gather, and writes what they do not.
                        task.downstream.extend(closing.clone());
                        task.further = (first..closing.end).filter(|&other| other != copy).collect();
                    }
                    // Who closes epochs has them helped.
                    built[closing]
                        .iter_mut()
                        .for_each(|task| task.further = (first..first + copies).collect());
                }
            }
            let is_writer = |task: &BuiltTask| task.downstream.is_empty();
            let writers =
                first + built[first..].iter().take_while(|task| !is_writer(task)).count()..built.len();
            made.push((first..built.len(), writers));
        }
        // Those further on first: what ends here may end there.
        for (place, (inputs, _)) in plans.iter().enumerate().rev() {
            let feeds = |outputs: &[usize]| inputs.iter().any(|of| outputs.contains(&of.edge));
            let feeding = (0..plans.len()).filter(|&from| feeds(&plans[from].1));
            for from in feeding {
                let (readers, writers) = (made[place].0.clone(), made[from].1.clone());
                let is_copy = |reader: usize| built[reader].copy.is_some();
                let is_stage = readers.clone().any(is_copy);
                let reading: Vec<usize> =
                    readers.clone().filter(|&reader| !is_stage || is_copy(reader)).collect();
                let further: Vec<usize> = if is_stage {
                    std::iter::once(readers.start)
                        .chain(built[readers.start].further.iter().copied())
                        .collect()
                } else {
                    Vec::new()
                };
                for writer in writers.clone() {
                    built[writer].downstream.extend(&reading);
                    built[writer].further.extend(&further);
                }
                for reader in readers {
                    built[reader].upstream.extend(writers.clone());
                }
            }
            // By now all who write what this plan reads from containers are known.
            let reader = &built[made[place].0.start];
            if reader.copy.is_some() {
                let writing = reader.upstream.clone();
                for &writer in &writing {
                    let others = writing.iter().copied().filter(|&other| other != writer);
                    let known = built[writer].peers.clone();
                    built[writer].peers.extend(others.filter(|other| !known.contains(other)));
                }
            }
        }
        note_waiting_sources(&mut built);
        let mut read_edges: Vec<ReadEdge> = Vec::new();
        for (of, name) in names {
            let kind = match &edges[of.edge] {
                OpenedEdge::Ordered(cursors) => ReadKind::Ordered(Arc::clone(cursors), of.reader),
                OpenedEdge::Containers(ledgers) => {
                    let ledger =
                        ledgers[of.reader].as_ref().expect("containers are opened for each of their readers");
                    let is_same = |edge: &ReadEdge| matches!(&edge.kind, ReadKind::Containers(known) if Arc::ptr_eq(known, ledger));
                    if read_edges.iter().any(is_same) {
                        // All that write the same containers are one edge.
                        continue;
                    }
                    ReadKind::Containers(Arc::clone(ledger))
                }
            };
            read_edges.push(ReadEdge { name, kind });
        }
        Ok(Built { name, aims, tasks: built, edges: read_edges, delivered })
    }
}

/// Adds the sources that may wait until an epoch is closed to those whom a task that closes epochs calls when it has made room:
/// tasks without state may lie between.
fn note_waiting_sources(built: &mut [BuiltTask]) {
    for place in 0..built.len() {
        if built[place].probe.closes_epochs() {
            let known = &built[place].upstream;
            let before = all_before(place, |task| &built[task].upstream).into_iter();
            let is_new = |task: &usize| built[*task].probe.is_source() && !known.contains(task);
            let sources: Vec<usize> = before.filter(is_new).collect();
            built[place].upstream.extend(sources);
        }
    }
}

/// Returns the tasks from which records come to a task, through however many others, each of them once.
fn all_before<'a>(task: usize, upstream: impl Fn(usize) -> &'a Vec<usize>) -> Vec<usize> {
    let mut before = upstream(task).clone();
    let mut next = 0;
    while let Some(&writer) = before.get(next) {
        for &further in upstream(writer) {
            if !before.contains(&further) {
                before.push(further);
            }
        }
        next += 1;
    }
    before
}

/// Of each edge, a number that it has in common with those whose records come from the same sources, all of them: they have
/// every reason to be idle together, and none to be idle apart.
fn families_of(tasks: &[TaskPlan], edges: usize) -> Vec<usize> {
    let mut sources: Vec<Option<BTreeSet<usize>>> = vec![None; edges];
    (0..edges).for_each(|edge| find_sources(edge, tasks, &mut sources));
    (0..edges).map(|edge| (0..edge).find(|&other| sources[other] == sources[edge]).unwrap_or(edge)).collect()
}

/// Finds the sources that the records of an edge come from, and those of all edges before it. Nothing leads back to itself.
fn find_sources(edge: usize, tasks: &[TaskPlan], known: &mut [Option<BTreeSet<usize>>]) {
    if known[edge].is_some() {
        return;
    }
    let mut found = BTreeSet::new();
    for (place, task) in tasks.iter().enumerate().filter(|(_, task)| task.outputs.contains(&edge)) {
        if task.inputs.is_empty() {
            found.insert(place);
        }
        for input in &task.inputs {
            find_sources(input.edge, tasks, known);
            found.extend(known[input.edge].iter().flatten());
        }
    }
    known[edge] = Some(found);
}

/// An edge while a graph is built.
enum OpenedEdge {
    Ordered(Arc<Cursors>),
    /// Of each of those who read it, once it has opened them.
    Containers(Vec<Option<Arc<Ledger>>>),
}

impl OpenedEdge {
    fn outlets(&self) -> Vec<Outlet> {
        match self {
            OpenedEdge::Ordered(cursors) => vec![Outlet::Edge(Arc::clone(cursors))],
            OpenedEdge::Containers(ledgers) => {
                ledgers.iter().flatten().cloned().map(Outlet::Deposits).collect()
            }
        }
    }

    fn inlet(&self, reader: usize) -> Inlet {
        match self {
            OpenedEdge::Ordered(cursors) => Inlet::Edge(Arc::clone(cursors), reader),
            OpenedEdge::Containers(_) => unreachable!("a task of its own reads in order"),
        }
    }
}

/// Opens the containers in front of every stage: those further on first, since ends are handed on to them.
fn open_containers(
    tasks: &mut [TaskPlan],
    edges: &mut [OpenedEdge],
    pool: &Arc<Pool>,
    (limits, ablations): (EdgeLimits, Ablations),
    horizon: &Horizon,
) -> Result<(), (usize, thalweg_memory::edge::EdgeError)> {
    for place in (0..tasks.len()).rev() {
        let writes =
            |from: &TaskPlan| tasks[place].inputs.iter().filter(|of| from.outputs.contains(&of.edge)).count();
        let splits = tasks.iter().filter(|from| from.strategy.is_some()).map(writes).sum();
        let inputs = tasks[place].inputs.clone();
        if let Making::Stage(stage) = &mut tasks[place].making {
            let opening = Opening { pool, limits, ablations, splits, horizon, copies: 1 };
            let ledger = stage.open(&opening).map_err(|error| (inputs[0].edge, error))?;
            for ReaderOf { edge, reader } in inputs {
                if let OpenedEdge::Containers(ledgers) = &mut edges[edge] {
                    ledgers[reader] = Some(Arc::clone(&ledger));
                }
            }
        }
    }
    Ok(())
}

impl Opened {
    fn new(delivered: &Arc<Delivered>, probe: Arc<Probe>, is_queued: bool) -> Self {
        let waker = TaskWaker::new(Arc::clone(&probe));
        Opened { is_queued, delivered: Arc::clone(delivered), probe, waker, families: Vec::new() }
    }

    /// Gives a task what it needs before its first step. Whom it feeds is told later.
    fn finish(
        &mut self,
        name: String,
        mut task: Box<dyn Task>,
        pool: &Arc<Pool>,
        entropy: &mut dyn Entropy,
    ) -> BuiltTask {
        let lender = StateLender::new(Arc::clone(pool));
        task.fund(&lender);
        task.seed(entropy);
        let mut operators = Vec::new();
        task.visit_counts(&mut |operator, _| operators.push(operator.to_owned()));
        let (probe, waker) = (Arc::clone(&self.probe), Arc::clone(&self.waker));
        let (upstream, downstream, further, peers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (rows_max, is_deferred) = (task.rows_max(), task.is_deferred());
        BuiltTask {
            name,
            task,
            lender,
            waker,
            operators,
            probe,
            horizon: Horizon::NONE,
            upstream,
            downstream,
            further,
            peers,
            copy: None,
            home: None,
            rows_max,
            is_deferred,
        }
    }
}

fn edges_of<T>(exit: &impl ExitPlan<T>) -> Vec<usize> {
    let mut edges = Vec::new();
    exit.visit_edges(&mut |edge| edges.push(edge));
    edges
}

#[cfg(all(test, not(loom)))]
mod tests;
