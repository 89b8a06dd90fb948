//! The planner: adds the tasks of one segment after the other to a graph, and decides which operators several workers
//! share.
//!
//! Segments ask it for decisions that they cannot make by themselves: whether several workers share an operator,
//! which kind of edge stands before it, and the names of tasks.

use std::collections::HashSet;

use thalweg_model::{Addressed, Operator, Sharing, Source, Watermarks};
use thalweg_operators::{Address, Named, Only};
use thalweg_runtime::graph::{AddressedOutputHandle, Several};
use thalweg_runtime::{EdgeKind, Graph, InputHandle, InputPlan, OutputHandle, OutputPlan, limits};

use super::{Allowed, Chaining, FromSource, Layout, Parallel, Segment};
use crate::draft::{Label, free_name};

/// Largest number of partitions of a stream. A source with more splits is read by one task. With this bound,
/// one task can read four streams that have the greatest number of partitions each.
pub(super) const PARTITIONS_MAX: usize = limits::INPUTS_PER_TASK.max as usize / STREAMS_OF_PARTITIONS_MAX;

/// Largest number of streams of which one task can read the greatest number of partitions each.
pub(super) const STREAMS_OF_PARTITIONS_MAX: usize = 4;

/// Builds the graph of a query, and holds the rules by which its streams are cut into tasks.
pub struct Planner {
    pub(crate) graph: Graph,
    pub(crate) chaining: Chaining,
    parallel: Parallel,
    /// Names of all operators; a [`Label`] is an index into this list.
    names: Vec<String>,
    /// Names of the tasks that were added to the graph so far.
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

    /// Returns a unique task name. A task's name consists of its operators' names, joined by dashes, which may occur
    /// in operator names too. So two tasks can get the same name, which is not an error of the user.
    pub(super) fn task_name(&mut self, name: &str) -> String {
        let name = free_name(name, &mut 0, |name| self.tasks.contains(name));
        self.tasks.insert(name.clone());
        name
    }

    pub(super) fn source<S, W, P, X>(&mut self, from: FromSource<S, W>, tail: P, tail_name: &str, output: X)
    where
        S: Source + 'static,
        W: Watermarks<S::Item>,
        P: Operator<S::Item> + 'static,
        P::Out: Send + 'static,
        X: OutputPlan<P::Out>,
    {
        let FromSource { label, source, watermarks } = from;
        let name = self.task_name(&join(&self.name(label), tail_name));
        let output = self.one_of(output);
        self.graph.source(name, source, watermarks, tail, output);
    }

    /// Returns the output handle of one task: a new partition if `output` has partitions, otherwise `output`
    /// itself.
    pub(super) fn one_of<T, X: OutputPlan<T>>(&mut self, output: X) -> X {
        match output.kind() {
            EdgeKind::Partitions => {
                output.again(&mut self.graph).expect("partitions take any number of writers")
            }
            EdgeKind::Ordered | EdgeKind::Containers => output,
        }
    }

    pub(crate) fn operator<T, N, P, X>(&mut self, name: &str, input: N, operator: P, output: X)
    where
        T: Send + 'static,
        N: InputPlan<T>,
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: OutputPlan<P::Out>,
    {
        let name = self.task_name(name);
        let output = self.one_of(output);
        self.graph.operator(name, input, operator, output);
    }

    /// Ends `segment` at `output`; the chaining decides which operators of the segment share a task.
    pub(crate) fn end<T: Send + 'static>(&mut self, segment: impl Segment<T>, output: OutputHandle<T>) {
        match self.chaining {
            Chaining::None => segment.split(self, output),
            Chaining::Default | Chaining::All => segment.end(self, output),
        }
    }

    /// Ends `segment` at a new edge of the given kind, and returns the input handle of this edge.
    pub(super) fn end_at_edge<T: Send + 'static>(
        &mut self,
        segment: impl Segment<T>,
        kind: EdgeKind,
    ) -> InputHandle<T> {
        let (output, input) = self.graph.edge_of(kind);
        self.end(segment, output);
        input
    }

    /// Ends `segment` at a new edge. The operator `tail` reads from there as the first operator of another
    /// task.
    pub(super) fn cut<T, P, X>(&mut self, segment: impl Segment<T>, tail: P, tail_name: &str, output: X)
    where
        T: Send + 'static,
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: OutputPlan<P::Out>,
    {
        // A stream may be separated into two streams without an operator before the separation. Then no
        // operator gives the task its name, so it is called `part`.
        let name = if tail_name.is_empty() { "part" } else { tail_name };
        self.follow(segment, tail, name, output);
    }

    /// Ends `segment` at a new edge. The operator `operator` reads from there, in a task called `name`, or in
    /// several tasks that share the work.
    pub(crate) fn follow<T, C, P, X>(&mut self, segment: C, operator: P, name: &str, output: X)
    where
        T: Send + 'static,
        C: Segment<T>,
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: OutputPlan<P::Out>,
    {
        let allowed = segment.allowed(self);
        // The condition is evaluated at compile time, so an operator that cannot be shared is compiled only
        // once, for one task.
        if const {
            let can_be_shared = match P::SHARING {
                Sharing::Keyed | Sharing::Serial => false,
                Sharing::Stateless => X::IS_EDGE,
                Sharing::Merging => true,
            };
            C::MAY.shared && can_be_shared
        } && allowed.shared
            && let Some(workers) = self.sharing::<P, T, X>(&output)
        {
            let input = segment.input(self, EdgeKind::Containers);
            let name = self.task_name(name);
            let output = self.one_of(output);
            return self.graph.shared(name, input, operator, output, workers);
        }
        if const { C::MAY.exchange && X::MAY_BE_PARTITIONS && matches!(P::SHARING, Sharing::Keyed) }
            && output.kind() == EdgeKind::Partitions
            && self.exchanges(allowed)
        {
            let inputs = segment.exchange(self, &operator);
            return self.follow_each(inputs, &operator, name, &output);
        }
        if const { C::MAY.spread } && self.spreads(allowed) {
            let partitions = segment.input(self, EdgeKind::Partitions).partitions();
            if const { X::MAY_BE_PARTITIONS && matches!(P::SHARING, Sharing::Stateless) }
                && output.kind() == EdgeKind::Partitions
            {
                return self.follow_each(partitions, &operator, name, &output);
            }
            return self.operator(name, Several(partitions), operator, output);
        }
        let input = segment.input(self, EdgeKind::Ordered);
        self.operator(name, input, operator, output);
    }

    /// Adds a task for each partition, with an instance of `operator` that reads this partition and writes a
    /// partition of the output.
    fn follow_each<T, N, P, X>(&mut self, partitions: Vec<N>, operator: &P, name: &str, output: &X)
    where
        T: Send + 'static,
        N: InputPlan<T>,
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: OutputPlan<P::Out>,
    {
        let name = self.task_name(name);
        for (partition, number) in partitions.into_iter().zip(0..) {
            let output = output.again(&mut self.graph).expect("partitions take any number of writers");
            self.operator(&format!("{name}#{}", number + 1), partition, operator.fork(), output);
            self.graph.note_copy(number, matches!(P::SHARING, Sharing::Keyed));
        }
    }

    /// Returns true if a segment ends in several tasks, one per partition. `allowed` tells how several
    /// workers may share the operators behind it.
    pub(crate) fn spreads(&self, allowed: Allowed) -> bool {
        self.is_parallel() && allowed.spread
    }

    /// Returns true if a keyed operator behind a segment has an instance for each worker, with keys of its
    /// own. `allowed` tells how several workers may share the operators behind the segment.
    pub(super) fn exchanges(&self, allowed: Allowed) -> bool {
        self.keyed_copies() > 1 && allowed.exchange
    }

    /// Returns the number of instances of each keyed operator. The operator behind them reads as many
    /// partitions.
    pub(super) fn keyed_copies(&self) -> u32 {
        match self.parallel {
            Parallel::Serial => 1,
            Parallel::Epochs { workers } | Parallel::Keyed { workers } => workers.min(PARTITIONS_MAX) as u32,
        }
    }

    /// Assigns a preferred worker to the task that was added last. Workers are assigned in turn by `number`,
    /// so each gets equally many tasks.
    pub(super) fn settle(&mut self, number: u32) {
        self.graph.prefer_worker(number % self.keyed_copies());
    }

    /// Turns a segment into tasks, with an exchange by key behind it: each record goes to the instance of `operator`
    /// that has its key.
    pub(super) fn exchange_by_key<T, C, Q>(
        &mut self,
        segment: C,
        operator: &Q,
    ) -> Vec<Several<InputHandle<T>>>
    where
        T: Send + 'static,
        C: Segment<T>,
        Q: Operator<T> + 'static,
    {
        self.exchange_of(segment, Address::<_, Only>::new(operator.keys(), self.keyed_copies() as usize))
    }

    /// Turns a segment into tasks, with an exchange behind it: `address` tells for each record which instance of the
    /// next operator takes it.
    pub(super) fn exchange_of<T, C, A>(&mut self, segment: C, address: A) -> Vec<Several<InputHandle<T>>>
    where
        T: Send + 'static,
        C: Segment<T>,
        A: Operator<T, Out = Addressed<T>> + 'static,
    {
        let (output, inputs) = self.graph.exchange(self.keyed_copies());
        self.address(segment, address, output);
        inputs.into_iter().map(|input| Several(input.partitions())).collect()
    }

    /// Ends a segment with the operator `address`, which tells for each record which instance of the next
    /// operator takes it.
    pub(super) fn address<T, C, A>(&mut self, segment: C, address: A, output: AddressedOutputHandle<T>)
    where
        T: Send + 'static,
        C: Segment<T>,
        A: Operator<T, Out = Addressed<T>> + 'static,
    {
        match self.chaining {
            Chaining::None => self.follow(segment, address, KEY_BY, output),
            Chaining::Default | Chaining::All => segment.fuse(self, address, KEY_BY, output),
        }
    }

    /// Returns the kind of the edges to the two streams that a stream is split into behind this segment.
    pub(crate) fn kind_of_parts<T: Send + 'static>(&self, segment: &impl Segment<T>) -> EdgeKind {
        if self.spreads(segment.allowed(self)) { EdgeKind::Partitions } else { EdgeKind::Ordered }
    }

    /// Turns a segment into tasks whose reader is one task that also reads other inputs, such as a join.
    pub(super) fn input_of<T, C>(&mut self, segment: C) -> Several<PartitionOf<T, C>>
    where
        T: Send + 'static,
        C: Segment<T>,
    {
        let kind = self.kind_of_parts(&segment);
        Several(segment.input(self, kind).partitions())
    }

    pub(super) fn is_parallel(&self) -> bool {
        self.parallel != Parallel::Serial
    }

    /// Returns true if several workers may share an operator epoch by epoch.
    pub(super) fn shares_epochs(&self) -> bool {
        matches!(self.parallel, Parallel::Epochs { .. })
    }

    /// Returns the kind of edge for a shared stream. `all_gather` is true if, in all its branches, a merging
    /// operator comes before any keyed or serial one; see [`Gathers`](super::Gathers).
    pub(crate) fn kind_of_shared<T: Send + 'static>(
        &self,
        segment: &impl Segment<T>,
        all_gather: bool,
    ) -> EdgeKind {
        let allowed = segment.allowed(self);
        if self.shares_epochs() && all_gather && allowed.shared {
            EdgeKind::Containers
        } else if self.spreads(allowed) {
            EdgeKind::Partitions
        } else {
            EdgeKind::Ordered
        }
    }

    /// Returns the number of workers that share an operator which writes to `output`; `None` if one task runs
    /// it.
    fn sharing<P, T, X>(&self, output: &X) -> Option<usize>
    where
        P: Operator<T>,
        X: OutputPlan<P::Out>,
    {
        let Parallel::Epochs { workers } = self.parallel else { return None };
        let can_be_shared = match P::SHARING {
            Sharing::Keyed | Sharing::Serial => false,
            Sharing::Stateless => output.kind() == EdgeKind::Containers,
            Sharing::Merging => true,
        };
        can_be_shared.then_some(workers)
    }
}

/// Name of the operators that address records to the instances of a keyed operator.
const KEY_BY: &str = "key_by";

/// Input handle of one of the partitions that a segment ends in.
pub(super) type PartitionOf<T, C> = <<C as Segment<T>>::Input as InputPlan<T>>::Partition;

pub(super) fn join(left: &str, right: &str) -> String {
    if right.is_empty() { left.to_owned() } else { format!("{left}-{right}") }
}
