//! Builds a query from its checked plan: maps the memory of its edges, makes its tasks, and tells each task
//! from which tasks it reads and to which it writes.
//!
//! There are four passes. Each needs the results of the one before it:
//!
//! 1. [`open_edges`] and [`open_containers`] map memory. If the budget is too small, the query is refused
//!    here, and the error names the edge.
//! 2. [`make_tasks`] makes tasks of plans. A plan becomes one task, or the copies of an operator that workers share and
//!    the task that closes their epochs.
//! 3. [`wire`] connects tasks with their neighbours, downstream stages first.
//! 4. [`read_edges`] names the edges for metrics.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use thalweg_memory::edge::EdgeError;
use thalweg_memory::{Cursors, Pool, QueueOptions};
use thalweg_model::{Entropy, Horizon};

use super::link::EdgeMaking;
use super::stage::{Opening, Part};
use super::{EdgeKind, EdgePlan, Graph, Making, ReaderOf, TaskPlan, check};
use crate::ablations::Ablations;
use crate::aims::Aims;
use crate::checkpoints::Coordinator;
use crate::epochs::EpochTracker;
use crate::error::PlanError;
use crate::limits::EdgeLimits;
use crate::modes::{self, EdgeMemory};
use crate::output::Delivered;
use crate::state_grant::StateGrant;
use crate::task::deferred::TaskWaker;
use crate::task::{Inlet, Outlet, Probe, Task, Tokens};

/// Settings that apply to the edges of every query of an engine: blocks or queues, bounds of memory, and the
/// parts of the epoch mechanism that are switched off for measurements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgePlans {
    pub(crate) memory: EdgeMemory,
    pub(crate) limits: EdgeLimits,
    pub(crate) ablations: Ablations,
}

/// Values from which one task of a query is built when the query's edges are open.
pub(super) struct Opened {
    /// True if the edges are queues instead of blocks.
    pub(super) is_queued: bool,
    pub(super) delivered: Arc<Delivered>,
    pub(super) probe: Arc<Probe>,
    pub(super) waker: Arc<TaskWaker>,
    /// One number per input of the task. Inputs whose records come from the same sources have the same
    /// number.
    pub(super) families: Vec<usize>,
}

/// A task of a query that is ready to run, with all that the engine must know about it, such as the tasks
/// that it feeds.
pub(crate) struct BuiltTask {
    pub(crate) name: String,
    pub(crate) task: Box<dyn Task>,
    pub(crate) state_grant: Arc<StateGrant>,
    pub(crate) waker: Arc<TaskWaker>,
    pub(crate) operators: Vec<String>,
    pub(crate) probe: Arc<Probe>,
    /// The event times at which a watermark makes some operator of the task do something, such as end a
    /// window.
    pub(crate) horizon: Horizon,
    /// Tasks that write the inputs of this task, by their numbers within the query.
    pub(crate) upstream: Vec<usize>,
    /// Tasks that read the outputs of this task, by their numbers within the query.
    pub(crate) downstream: Vec<usize>,
    /// Tasks that must be notified when this task completes an epoch or helps to merge the state of one: the
    /// tasks that share an operator with this task, and those of the operators downstream that workers share.
    pub(crate) further: Vec<usize>,
    /// Other tasks that deposit blocks for the same operator that workers share as this task, into its
    /// containers (the unclaimed blocks of each epoch).
    pub(crate) peers: Vec<usize>,
    /// Number of the task among the copies that share an operator; `None` if the task is not a copy.
    pub(crate) copy: Option<u32>,
    /// Number of tasks among which the records of this task's input are divided, by key or because each task claims
    /// blocks, this task included; 1 if the task takes every record that its inputs carry.
    pub(crate) copies: u32,
    pub(crate) preferred_worker: Option<u32>,
    /// Maximum number of rows in a record, if a record stands for several rows. The number is requested when
    /// the query is built, because user code answers, and user code must not run under a lock of the engine.
    pub(crate) rows_max: Option<u32>,
    pub(crate) is_deferred: bool,
}

/// A query whose edges are open and whose tasks are ready to run.
pub(crate) struct Built {
    pub(crate) name: String,
    pub(crate) aims: Aims,
    pub(crate) tasks: Vec<BuiltTask>,
    pub(crate) edges: Vec<ReadEdge>,
    pub(crate) delivered: Arc<Delivered>,
    pub(crate) checkpoints: Option<Arc<Coordinator>>,
}

/// An edge as one of its readers sees it, for metrics.
pub(crate) struct ReadEdge {
    /// Name of the edge, written as `from -> to`.
    pub(crate) name: String,
    pub(crate) kind: ReadKind,
}

/// The way in which an edge moves its records, with what is needed to read its counters.
pub(crate) enum ReadKind {
    /// The edge moves its blocks in order. The number is the index of this reader among the edge's readers.
    Ordered(Arc<Cursors>, usize),
    /// Containers, which hold the unclaimed blocks of each open epoch.
    Containers(Arc<EpochTracker>),
}

impl Graph {
    /// Checks the plan of a query, opens its edges and builds its tasks.
    ///
    /// # Errors
    /// [`PlanError`] for the first fault found in the plan, and if the memory budget does not hold the first
    /// chunks of the edges.
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
        let refused = |(edge, error)| refusal(&names, edge, error, queue.is_some());
        let mut edges = open_edges(&self.edges, pool, limits, queue).map_err(refused)?;
        let exchange_widths: Vec<u32> = self.edges.iter().map(|edge| edge.exchange_width).collect();
        let Graph { name, aims, mut tasks, .. } = self;
        let horizon = tasks.iter().fold(Horizon::NONE, |all, task| all.and(task.horizon.clone()));
        open_containers(&mut tasks, &mut edges, pool, (limits, ablations), &horizon).map_err(refused)?;

        let delivered = Delivered::new(horizon, aims.latency_target_ns());
        let paths: Vec<Path> = tasks.iter().map(Path::of).collect();
        let making = MakeTasks {
            pool,
            aims,
            is_queued: queue.is_some(),
            edges: &edges,
            exchange_widths: &exchange_widths,
            delivered: &delivered,
        };
        let (mut built, made) = making.make_tasks(tasks, entropy);
        wire(&mut built, &paths, &made);
        note_waiting_sources(&mut built);
        let edges = read_edges(names, &edges);
        Ok(Built { name, aims, tasks: built, edges, delivered, checkpoints: None })
    }
}

/// Makes the error for an edge that cannot be opened. It names the edge.
fn refusal(names: &[(ReaderOf, String)], edge: usize, error: EdgeError, is_queued: bool) -> PlanError {
    let edge = names.iter().find(|(of, _)| of.edge == edge).map_or(String::new(), |(_, name)| name.clone());
    match error {
        EdgeError::Budget(exceeded) if is_queued => PlanError::QueueTooLarge { edge, exceeded },
        EdgeError::Budget(exceeded) => PlanError::BudgetTooSmall { edge, exceeded },
        other => PlanError::Edge { edge, reason: other.to_string() },
    }
}

/// Opens all edges of a query except the containers (the unclaimed blocks of each epoch), which are opened by
/// their readers, operators that workers share. The error has the number of the edge that failed.
fn open_edges(
    plans: &[EdgePlan],
    pool: &Arc<Pool>,
    limits: EdgeLimits,
    queue: Option<QueueOptions>,
) -> Result<Vec<OpenedEdge>, (usize, EdgeError)> {
    let open = |(place, plan): (usize, &EdgePlan)| match plan.kind {
        EdgeKind::Ordered => {
            let chunk_blocks = (limits.chunk_blocks / plan.exchange_width.max(1)).max(1);
            let blocks = EdgeMaking::Blocks(EdgeLimits { chunk_blocks, ..limits });
            let making = queue.map_or(blocks, EdgeMaking::Queue);
            let cursors = plan.open.open(pool, making).map_err(|error| (place, error))?;
            Ok(OpenedEdge::Ordered(cursors))
        }
        EdgeKind::Containers => Ok(OpenedEdge::Containers(vec![None; plan.open.readers()])),
        EdgeKind::Partitions => unreachable!("each partition of a stream is planned as an edge of its own"),
    };
    plans.iter().enumerate().map(open).collect()
}

/// The edges that a planned task reads and writes.
struct Path {
    inputs: Vec<ReaderOf>,
    outputs: Vec<usize>,
}

impl Path {
    fn of(task: &TaskPlan) -> Self {
        Path { inputs: task.inputs.clone(), outputs: task.outputs.clone() }
    }

    fn feeds(&self, next: &Path) -> bool {
        next.inputs.iter().any(|of| self.outputs.contains(&of.edge))
    }
}

/// The tasks that were made from one planned task, by their numbers within the query.
struct Made {
    all: Range<usize>,
    /// The tasks made from one planned task that write its outputs: all of them or, for an operator that
    /// workers share with state, only the one that closes epochs (merges the state of the copies and emits
    /// the results).
    writers: Range<usize>,
}

struct MakeTasks<'a> {
    pool: &'a Arc<Pool>,
    aims: Aims,
    is_queued: bool,
    edges: &'a [OpenedEdge],
    /// Number of edges to which the writer of each edge distributes its records by key; 1 for other edges.
    exchange_widths: &'a [u32],
    delivered: &'a Arc<Delivered>,
}

impl MakeTasks<'_> {
    /// Makes all tasks of the query. The second value has, for each planned task, the tasks that were made
    /// from it.
    fn make_tasks(&self, plans: Vec<TaskPlan>, entropy: &mut dyn Entropy) -> (Vec<BuiltTask>, Vec<Made>) {
        let sources = plans.iter().filter(|task| task.strategy.is_some()).count();
        let families = families_of(&plans, self.edges.len());
        let (mut built, mut made) = (Vec::new(), Vec::with_capacity(plans.len()));
        for plan in plans {
            let first = built.len();
            match plan.making {
                Making::Single(build) => {
                    let inputs = plan.inputs.iter().map(|of| self.edges[of.edge].inlet(of.reader)).collect();
                    let tokens =
                        if plan.strategy.is_some() { self.aims.tokens_of_each(sources) } else { None };
                    let probe = Probe::new(inputs, self.outlets(&plan.outputs));
                    let mut opened = self.opened(Arc::new(probe.with_tokens(tokens.map(Tokens::new))));
                    opened.families = plan.inputs.iter().map(|of| families[of.edge]).collect();
                    let task = build(&opened);
                    let mut task = opened.finish(plan.name, task, self.pool, entropy);
                    (task.preferred_worker, task.horizon) = (plan.preferred_worker, plan.horizon);
                    task.copies = self.copies_at(&plan.inputs);
                    built.push(task);
                }
                Making::Stage(stage) => {
                    let parts = stage.build(self.outlets(&plan.outputs), self.delivered, entropy);
                    self.finish_stage(parts, &plan.name, &plan.horizon, &mut built, entropy);
                }
            }
            let is_writer = |task: &BuiltTask| task.downstream.is_empty();
            let others = built[first..].iter().take_while(|task| !is_writer(task)).count();
            made.push(Made { all: first..built.len(), writers: first + others..built.len() });
        }
        (built, made)
    }

    /// Returns the number of tasks among which the records of these inputs of a task are divided by key. If the
    /// inputs differ in that number, the least counts, so that no record counts less than it costs. It is 1 if some
    /// input is not part of an exchange, and for a source.
    fn copies_at(&self, inputs: &[ReaderOf]) -> u32 {
        inputs.iter().map(|of| self.exchange_widths[of.edge].max(1)).min().unwrap_or(1)
    }

    /// Adds the tasks of an operator that several workers share: its copies, then the task that closes their
    /// epochs (merges the state of the copies and emits the results), if there is one.
    fn finish_stage(
        &self,
        parts: Vec<Part>,
        name: &str,
        horizon: &Horizon,
        built: &mut Vec<BuiltTask>,
        entropy: &mut dyn Entropy,
    ) {
        let first = built.len();
        let copies = parts.iter().filter(|part| part.copy.is_some()).count();
        for Part { task, probe, copy } in parts {
            // Metrics and errors tell the copies of a task apart by the numbers in their names.
            let name = copy.map_or(name.to_owned(), |copy| format!("{name}#{}", copy + 1));
            let mut part = self.opened(probe).finish(name, task, self.pool, entropy);
            (part.copy, part.preferred_worker, part.horizon) = (copy, copy, horizon.clone());
            // The task that closes epochs (merges the state of the copies and emits the results) stands
            // behind all copies, so it is none of them.
            part.copies = if copy.is_some() { copies as u32 } else { 1 };
            built.push(part);
        }
        let closing = first + copies..built.len();
        for (copy, task) in (first..).zip(&mut built[first..first + copies]) {
            // The closing task reads the state that the copies gather, and writes the output in their place.
            task.downstream.extend(closing.clone());
            task.further = (first..closing.end).filter(|&other| other != copy).collect();
        }
        // The copies help the task that closes epochs to merge state, so they are notified by it.
        built[closing].iter_mut().for_each(|task| task.further = (first..first + copies).collect());
    }

    fn outlets(&self, outputs: &[usize]) -> Box<[Outlet]> {
        outputs.iter().flat_map(|&edge| self.edges[edge].outlets()).collect()
    }

    fn opened(&self, probe: Arc<Probe>) -> Opened {
        Opened::new(self.delivered, probe, self.is_queued)
    }
}

/// Tells each task of a query from which tasks it reads and to which it writes. Downstream plans come first,
/// because the end of an epoch in one plan may end an epoch downstream.
fn wire(built: &mut [BuiltTask], paths: &[Path], made: &[Made]) {
    for (place, path) in paths.iter().enumerate().rev() {
        let readers = made[place].all.clone();
        let is_copy = |reader: usize| built[reader].copy.is_some();
        let is_stage = readers.clone().any(is_copy);
        let reading: Vec<usize> = readers.clone().filter(|&reader| !is_stage || is_copy(reader)).collect();
        let further: Vec<usize> = if is_stage {
            std::iter::once(readers.start).chain(built[readers.start].further.iter().copied()).collect()
        } else {
            Vec::new()
        };
        for (from, _) in paths.iter().enumerate().filter(|(_, from)| from.feeds(path)) {
            let writers = made[from].writers.clone();
            for writer in writers.clone() {
                built[writer].downstream.extend(&reading);
                built[writer].further.extend(&further);
            }
            for reader in readers.clone() {
                built[reader].upstream.extend(writers.clone());
            }
        }
        if is_stage {
            wire_peers(built, readers.start);
        }
    }
}

/// Stores in each task that deposits blocks for one operator that workers share which other tasks deposit
/// blocks for it. `reader` is the first copy of that operator.
fn wire_peers(built: &mut [BuiltTask], reader: usize) {
    let writing = built[reader].upstream.clone();
    for &writer in &writing {
        let others = writing.iter().copied().filter(|&other| other != writer);
        let known = built[writer].peers.clone();
        built[writer].peers.extend(others.filter(|other| !known.contains(other)));
    }
}

/// Adds sources to the tasks that a closing task notifies when it has made room for a new epoch: all sources
/// that may wait until an epoch is closed. Tasks without state may lie between such a source and the closing
/// task.
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

/// Returns the tasks from which records come to the given task, directly or through any number of other
/// tasks. Each task is returned once.
pub(super) fn all_before<'a>(task: usize, upstream: impl Fn(usize) -> &'a Vec<usize>) -> Vec<usize> {
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

/// Returns the edges of a query as their readers see them. All tasks that deposit blocks for one shared
/// operator, into its containers (the unclaimed blocks of each epoch), count as one edge.
fn read_edges(names: Vec<(ReaderOf, String)>, edges: &[OpenedEdge]) -> Vec<ReadEdge> {
    let mut read_edges: Vec<ReadEdge> = Vec::new();
    for (of, name) in names {
        let kind = match &edges[of.edge] {
            OpenedEdge::Ordered(cursors) => ReadKind::Ordered(Arc::clone(cursors), of.reader),
            OpenedEdge::Containers(trackers) => {
                let tracker =
                    trackers[of.reader].as_ref().expect("the stage that reads containers has opened them");
                let is_same = |edge: &ReadEdge| matches!(&edge.kind, ReadKind::Containers(known) if Arc::ptr_eq(known, tracker));
                if read_edges.iter().any(is_same) {
                    continue;
                }
                ReadKind::Containers(Arc::clone(tracker))
            }
        };
        read_edges.push(ReadEdge { name, kind });
    }
    read_edges
}

/// Returns one number per edge. Edges whose records come from the same set of sources have the same number,
/// because they fall silent together.
pub(super) fn families_of(tasks: &[TaskPlan], edges: usize) -> Vec<usize> {
    let mut sources: Vec<Option<BTreeSet<usize>>> = vec![None; edges];
    (0..edges).for_each(|edge| find_sources(edge, tasks, &mut sources));
    (0..edges).map(|edge| (0..edge).find(|&other| sources[other] == sources[edge]).unwrap_or(edge)).collect()
}

/// Finds the sources from which the records of an edge come, and those of all edges before it. The recursion
/// ends, because no edge leads back to itself.
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

/// An edge whose memory is mapped, while the tasks of its query are built.
enum OpenedEdge {
    Ordered(Arc<Cursors>),
    /// One epoch tracker per shared operator that reads this stream; `None` until this operator opens its
    /// containers (the unclaimed blocks of each epoch).
    Containers(Vec<Option<Arc<EpochTracker>>>),
}

impl OpenedEdge {
    fn outlets(&self) -> Vec<Outlet> {
        match self {
            OpenedEdge::Ordered(cursors) => vec![Outlet::Edge(Arc::clone(cursors))],
            OpenedEdge::Containers(trackers) => {
                trackers.iter().flatten().cloned().map(Outlet::Deposits).collect()
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

/// Opens the containers (the unclaimed blocks of each epoch) in front of every operator that several workers
/// share. Downstream operators come first, because the ends of epochs are passed on to their trackers.
fn open_containers(
    tasks: &mut [TaskPlan],
    edges: &mut [OpenedEdge],
    pool: &Arc<Pool>,
    (limits, ablations): (EdgeLimits, Ablations),
    horizon: &Horizon,
) -> Result<(), (usize, EdgeError)> {
    for place in (0..tasks.len()).rev() {
        let writes =
            |from: &TaskPlan| tasks[place].inputs.iter().filter(|of| from.outputs.contains(&of.edge)).count();
        let splits = tasks.iter().filter(|from| from.strategy.is_some()).map(writes).sum();
        let inputs = tasks[place].inputs.clone();
        if let Making::Stage(stage) = &mut tasks[place].making {
            let opening = Opening { pool, limits, ablations, splits, horizon, copies: 1 };
            let tracker = stage.open(&opening).map_err(|error| (inputs[0].edge, error))?;
            for ReaderOf { edge, reader } in inputs {
                if let OpenedEdge::Containers(trackers) = &mut edges[edge] {
                    trackers[reader] = Some(Arc::clone(&tracker));
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

    /// Prepares a task for its first step. Its neighbours are set later, when all tasks of the query are
    /// made.
    fn finish(
        &mut self,
        name: String,
        mut task: Box<dyn Task>,
        pool: &Arc<Pool>,
        entropy: &mut dyn Entropy,
    ) -> BuiltTask {
        let state_grant = StateGrant::new(Arc::clone(pool));
        task.fund(&state_grant);
        task.seed(entropy);
        let mut operators = Vec::new();
        task.visit_counts(&mut |operator, _| operators.push(operator.to_owned()));
        let (probe, waker) = (Arc::clone(&self.probe), Arc::clone(&self.waker));
        let (upstream, downstream, further, peers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (rows_max, is_deferred) = (task.rows_max(), task.is_deferred());
        BuiltTask {
            name,
            task,
            state_grant,
            waker,
            operators,
            probe,
            horizon: Horizon::NONE,
            upstream,
            downstream,
            further,
            peers,
            copy: None,
            copies: 1,
            preferred_worker: None,
            rows_max,
            is_deferred,
        }
    }
}
