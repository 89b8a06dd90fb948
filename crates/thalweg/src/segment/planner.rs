//! The planner: adds the tasks of one piece after the other to a graph, and decides who shares what.
//!
//! Pieces ask it for what they cannot know by themselves: whether several workers share an operator, what the edge in front of
//! it is then made of, and what tasks are called.

use std::collections::HashSet;

use thalweg_model::{Addressed, Operator, Sharing, Source, Watermarks};
use thalweg_operators::{Address, Named, Only};
use thalweg_runtime::graph::{AddressedExit, Several};
use thalweg_runtime::{EdgeEntry, EdgeExit, EdgeKind, EntryPlan, ExitPlan, Graph, limits};

use super::{Chaining, FromSource, Layout, Parallel, Segment};
use crate::draft::{Label, free_name};

/// As many lanes as a stream may have; one of more splits is read by one task. So four streams may meet in any case.
pub(super) const LANES_MAX: usize = limits::INPUTS_PER_TASK.max as usize / 4;

/// A graph in the making.
pub struct Planner {
    pub(crate) graph: Graph,
    pub(crate) chaining: Chaining,
    parallel: Parallel,
    /// Of operators, by [`Label`].
    names: Vec<String>,
    /// Names of tasks that are taken.
    tasks: HashSet<String>,
}

impl Planner {
    pub(crate) fn new(query: String, layout: Layout, names: Vec<String>) -> Self {
        let Layout { chaining, parallel } = layout;
        Planner { graph: Graph::new(query), chaining, parallel, names, tasks: HashSet::new() }
    }

    pub(crate) fn into_graph(self) -> Graph {
        self.graph
    }

    pub(crate) fn name(&self, label: Label) -> String {
        label.name_in(&self.names).to_owned()
    }

    pub(super) fn named<P: Named>(&self, label: Label, mut operator: P) -> P {
        operator.rename(self.name(label));
        operator
    }

    /// A task's name is made of its operators' names, joined by dashes, which may stand in these, too: so two tasks
    /// may come by the same one, and nobody is to blame.
    pub(super) fn task_name(&mut self, name: &str) -> String {
        let name = free_name(name, &mut 0, |name| self.tasks.contains(name));
        self.tasks.insert(name.clone());
        name
    }

    pub(super) fn source<S, W, P, X>(&mut self, from: FromSource<S, W>, tail: P, tail_name: &str, exit: X)
    where
        S: Source + 'static,
        W: Watermarks<S::Item>,
        P: Operator<S::Item> + 'static,
        P::Out: Send + 'static,
        X: ExitPlan<P::Out>,
    {
        let FromSource { label, source, watermarks } = from;
        let name = self.task_name(&join(&self.name(label), tail_name));
        let exit = self.one_of(exit);
        self.graph.source(name, source, watermarks, tail, exit);
    }

    /// Where one task writes: one of the lanes, if it is lanes.
    pub(super) fn one_of<T, X: ExitPlan<T>>(&mut self, exit: X) -> X {
        match exit.kind() {
            EdgeKind::Lanes => exit.again(&mut self.graph).expect("lanes take any number of writers"),
            EdgeKind::Ordered | EdgeKind::Containers => exit,
        }
    }

    pub(crate) fn operator<T, N, P, X>(&mut self, name: &str, entry: N, operator: P, exit: X)
    where
        T: Send + 'static,
        N: EntryPlan<T>,
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: ExitPlan<P::Out>,
    {
        let name = self.task_name(name);
        let exit = self.one_of(exit);
        self.graph.operator(name, entry, operator, exit);
    }

    /// Ends `segment` at `exit`, its operators in as many tasks as the chaining says.
    pub(crate) fn end<T: Send + 'static>(&mut self, segment: impl Segment<T>, exit: EdgeExit<T>) {
        match self.chaining {
            Chaining::None => segment.split(self, exit),
            Chaining::Default | Chaining::All => segment.end(self, exit),
        }
    }

    /// Ends `segment` at a new edge of this kind; gives the end to read.
    pub(super) fn end_at_edge<T: Send + 'static>(
        &mut self,
        segment: impl Segment<T>,
        kind: EdgeKind,
    ) -> EdgeEntry<T> {
        let (exit, entry) = self.graph.edge_of(kind);
        self.end(segment, exit);
        entry
    }

    /// Reads where `segment` ends with `tail`, the first operator of another task.
    pub(super) fn cut<T, P, X>(&mut self, segment: impl Segment<T>, tail: P, tail_name: &str, exit: X)
    where
        T: Send + 'static,
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: ExitPlan<P::Out>,
    {
        // What parts where nothing stands before it has no name of its own.
        let name = if tail_name.is_empty() { "part" } else { tail_name };
        self.follow(segment, tail, name, exit);
    }

    /// The same, for a task of this name: or for several, which share the operator.
    pub(crate) fn follow<T, C, P, X>(&mut self, segment: C, operator: P, name: &str, exit: X)
    where
        T: Send + 'static,
        C: Segment<T>,
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: ExitPlan<P::Out>,
    {
        // Settled when this is compiled, so that what cannot be shared is compiled as one task only.
        if const {
            let can_be_shared = match P::SHARING {
                Sharing::Keyed | Sharing::Serial => false,
                Sharing::Stateless => X::IS_EDGE,
                Sharing::Merging => true,
            };
            C::MAY_BE_SHARED && can_be_shared
        } && segment.is_shared()
            && let Some(workers) = self.sharing::<P, T, X>(&exit)
        {
            let entry = segment.entry(self, EdgeKind::Containers);
            let name = self.task_name(name);
            let exit = self.one_of(exit);
            return self.graph.shared(name, entry, operator, exit, workers);
        }
        if const { C::MAY_EXCHANGE && X::MAY_BE_LANES && matches!(P::SHARING, Sharing::Keyed) }
            && exit.kind() == EdgeKind::Lanes
            && self.exchanges(&segment)
        {
            let entries = segment.exchange(self, &operator);
            return self.follow_each(entries, &operator, name, &exit);
        }
        if const { C::MAY_SPREAD } && self.spreads(&segment) {
            let lanes = segment.entry(self, EdgeKind::Lanes).lanes();
            if const { X::MAY_BE_LANES && matches!(P::SHARING, Sharing::Stateless) }
                && exit.kind() == EdgeKind::Lanes
            {
                return self.follow_each(lanes, &operator, name, &exit);
            }
            return self.operator(name, Several(lanes), operator, exit);
        }
        let entry = segment.entry(self, EdgeKind::Ordered);
        self.operator(name, entry, operator, exit);
    }

    /// Reads each of these with a copy of an operator, which writes a lane.
    fn follow_each<T, N, P, X>(&mut self, lanes: Vec<N>, operator: &P, name: &str, exit: &X)
    where
        T: Send + 'static,
        N: EntryPlan<T>,
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: ExitPlan<P::Out>,
    {
        let name = self.task_name(name);
        for (lane, number) in lanes.into_iter().zip(0..) {
            let exit = exit.again(&mut self.graph).expect("lanes take any number of writers");
            self.operator(&format!("{name}#{}", number + 1), lane, operator.fork(), exit);
            self.graph.note_copy(number, matches!(P::SHARING, Sharing::Keyed));
        }
    }

    /// Whether this piece ends in several tasks, each with a lane of its own.
    pub(crate) fn spreads<T: Send + 'static>(&self, segment: &impl Segment<T>) -> bool {
        self.is_parallel() && segment.is_spread(self)
    }

    /// Whether several workers share what works per key behind this piece, each with keys of its own.
    pub(super) fn exchanges<T, C: Segment<T>>(&self, segment: &C) -> bool
    where
        T: Send + 'static,
    {
        C::MAY_EXCHANGE && self.keyed_copies() > 1 && segment.may_exchange(self)
    }

    /// How many workers share what works per key. Whoever reads what they write reads as many lanes.
    pub(super) fn keyed_copies(&self) -> u32 {
        match self.parallel {
            Parallel::Serial => 1,
            Parallel::Epochs { workers } => workers.min(LANES_MAX) as u32,
        }
    }

    /// Gives one of several tasks, the one that was added last, a home: each worker has as many of them as others.
    pub(super) fn settle(&mut self, number: u32) {
        self.graph.note_home(number % self.keyed_copies());
    }

    /// Plans a piece so that each record is read by the copy of `operator`, its only reader, that has its key.
    pub(super) fn deal<T, C, Q>(&mut self, segment: C, operator: &Q) -> Vec<Several<EdgeEntry<T>>>
    where
        T: Send + 'static,
        C: Segment<T>,
        Q: Operator<T> + 'static,
    {
        self.exchange_of(segment, Address::<_, Only>::new(operator.keys()))
    }

    /// Plans a piece so that what each record is addressed to by `address` reads it: one of the copies of what follows.
    pub(super) fn exchange_of<T, C, A>(&mut self, segment: C, address: A) -> Vec<Several<EdgeEntry<T>>>
    where
        T: Send + 'static,
        C: Segment<T>,
        A: Operator<T, Out = Addressed<T>> + 'static,
    {
        let (exit, entries) = self.graph.exchange(self.keyed_copies());
        self.address(segment, address, exit);
        entries.into_iter().map(|entry| Several(entry.lanes())).collect()
    }

    /// Ends a piece where its records are addressed.
    pub(super) fn address<T, C, A>(&mut self, segment: C, address: A, exit: AddressedExit<T>)
    where
        T: Send + 'static,
        C: Segment<T>,
        A: Operator<T, Out = Addressed<T>> + 'static,
    {
        match self.chaining {
            Chaining::None => self.follow(segment, address, KEY_BY, exit),
            Chaining::Default | Chaining::All => segment.fuse(self, address, KEY_BY, exit),
        }
    }

    /// What two parts of a stream are made of, where this piece parts.
    pub(crate) fn kind_of_parts<T: Send + 'static>(&self, segment: &impl Segment<T>) -> EdgeKind {
        if self.spreads(segment) { EdgeKind::Lanes } else { EdgeKind::Ordered }
    }

    /// Plans a piece up to where one task reads it, and others beside.
    pub(super) fn entry_of<T, C>(&mut self, segment: C) -> Several<LaneOf<T, C>>
    where
        T: Send + 'static,
        C: Segment<T>,
    {
        let kind = if self.spreads(&segment) { EdgeKind::Lanes } else { EdgeKind::Ordered };
        Several(segment.entry(self, kind).lanes())
    }

    pub(super) fn is_parallel(&self) -> bool {
        matches!(self.parallel, Parallel::Epochs { .. })
    }

    /// What a shared stream is made of, if all who read it gather, and what leads up to it is shared.
    pub(crate) fn kind_of_shared<T: Send + 'static>(
        &self,
        segment: &impl Segment<T>,
        all_gather: bool,
    ) -> EdgeKind {
        if self.is_parallel() && all_gather && segment.is_shared() {
            EdgeKind::Containers
        } else if self.spreads(segment) {
            EdgeKind::Lanes
        } else {
            EdgeKind::Ordered
        }
    }

    /// How many workers share an operator with this exit, if several may.
    fn sharing<P, T, X>(&self, exit: &X) -> Option<usize>
    where
        P: Operator<T>,
        X: ExitPlan<P::Out>,
    {
        let Parallel::Epochs { workers } = self.parallel else { return None };
        let can_be_shared = match P::SHARING {
            Sharing::Keyed | Sharing::Serial => false,
            Sharing::Stateless => exit.kind() == EdgeKind::Containers,
            Sharing::Merging => true,
        };
        can_be_shared.then_some(workers)
    }
}

/// What is called after this tells of each record to which copy of a keyed operator it goes.
const KEY_BY: &str = "key_by";

/// What is read of each of the lanes that a piece ends in.
pub(super) type LaneOf<T, C> = <<C as Segment<T>>::Entry as EntryPlan<T>>::Lane;

pub(super) fn join(left: &str, right: &str) -> String {
    if right.is_empty() { left.to_owned() } else { format!("{left}-{right}") }
}
