//! How a chain of calls becomes tasks.
//!
//! A stream's type remembers what it is made of: `Chained<Chained<FromSource<S>, Filter>, Map>` and so on. When
//! the query is planned, each stream's segment is lowered from back to front, and [`Chaining`] says how. YSB:
//!
//! ```text
//!   None      source | filter | map | join | window | sink      a task each
//!   Default   source-filter-map | join-window-sink              a break before the first operator with state
//!   All       source-filter-map-join-window-sink                one task
//! ```
//!
//! All ways are monomorphised where the query is written: the operators of a task compile to one loop, whatever the
//! setting. Results are the same; so are the counts of operators.
//!
//! By default a chain breaks wherever an operator without state is followed by one that holds some (a table, a
//! window, an operator of the user's own): what crosses there is narrow and few, and another worker can take the
//! half with the state. Operators with state that follow each other, and what comes behind them, stay together.
//!
//! Two things hold whatever the setting. [`isolate`](crate::Stream::isolate) keeps one operator a task of its own;
//! [`boxed`](crate::Stream::boxed) ends a chain, since nobody knows any more what could be joined there.
//!
//! Every way to chain operators compiles. An operator that may emit more than one record per record taken keeps
//! what finds no room, so any number of them may stand in one chain (rule O3 of [`thalweg_model::operator`]).

mod awaited;
mod ends;
mod splits;

use std::collections::HashSet;
use std::marker::PhantomData;

use thalweg_model::{Operator, Sharing, Source, Then, WatermarkStrategy, Watermarks};
use thalweg_operators::{Identity, Named};
use thalweg_runtime::graph::Several;
use thalweg_runtime::{EdgeEntry, EdgeExit, EdgeKind, EntryPlan, ExitPlan, Graph, limits};

use crate::draft::{Label, free_name};

/// Which operators share a task. A task runs on one worker at a time; what passes between two tasks goes through an
/// edge, which takes memory and time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Chaining {
    /// None: every source, operator and sink is a task of its own, as in the experiments of the papers.
    None,
    /// All neighbours, but for a break before each operator with state that follows one without. So a worker can
    /// read and filter while another one joins and counts.
    #[default]
    Default,
    /// Everything from a source to its sink is one task. It takes no memory for edges, and one worker at a time. It
    /// is not always the fastest on one worker: `docs/performance.md` has figures.
    All,
}

/// How many workers may be inside one operator at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Parallel {
    /// One. Every operator sees its records in order, on blocks that are read while they are filled (Enjima's model).
    #[default]
    Serial,
    /// As many as this, in those operators that allow it: from sources on, those without state, up to the first that
    /// gathers state which can be put together, such as a window aggregate. They claim whole blocks, epoch by epoch
    /// (StreamBox's model).
    Epochs {
        /// Copies of each such operator; as many as the engine has workers is a good choice.
        workers: usize,
    },
}

/// How a query is cut into tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// Which operators share a task.
    pub chaining: Chaining,
    /// How many workers share an operator.
    pub parallel: Parallel,
}

impl From<Chaining> for Layout {
    /// One worker at a time in each operator.
    fn from(chaining: Chaining) -> Self {
        Layout { chaining, parallel: Parallel::Serial }
    }
}

/// Whether a stream comes to an operator that gathers state, of which each worker may have a copy, before one that only one
/// worker may run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gathers {
    /// Neither so far.
    NotYet,
    /// It does.
    First,
    /// It does not.
    Never,
}

impl Gathers {
    const fn then(self, next: Sharing) -> Gathers {
        match (self, next) {
            (Gathers::NotYet, Sharing::Stateless) => Gathers::NotYet,
            (Gathers::NotYet, Sharing::Merging) => Gathers::First,
            (Gathers::NotYet, Sharing::Serial) => Gathers::Never,
            (decided, _) => decided,
        }
    }
}

/// As many lanes as a stream may have; one of more splits is read by one task. So two streams may meet wherever one task
/// may read two edges.
const LANES_MAX: usize = limits::INPUTS_PER_TASK.max as usize / 2;

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

    fn named<P: Named>(&self, label: Label, mut operator: P) -> P {
        operator.rename(self.name(label));
        operator
    }

    /// A task's name is made of its operators' names, joined by dashes, which may stand in these, too: so two tasks
    /// may come by the same one, and nobody is to blame.
    fn task_name(&mut self, name: &str) -> String {
        let name = free_name(name, &mut 0, |name| self.tasks.contains(name));
        self.tasks.insert(name.clone());
        name
    }

    fn source<S, W, P, X>(&mut self, from: FromSource<S, W>, tail: P, tail_name: &str, exit: X)
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
    fn one_of<T, X: ExitPlan<T>>(&mut self, exit: X) -> X {
        match exit.kind() {
            EdgeKind::Lanes => exit.again(&mut self.graph).expect("lanes have as many writers as one likes"),
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
    fn end_at_edge<T: Send + 'static>(&mut self, segment: impl Segment<T>, kind: EdgeKind) -> EdgeEntry<T> {
        let (exit, entry) = self.graph.edge_of(kind);
        self.end(segment, exit);
        entry
    }

    /// Reads where `segment` ends with `tail`, the first operator of another task.
    fn cut<T, P, X>(&mut self, segment: impl Segment<T>, tail: P, tail_name: &str, exit: X)
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
                Sharing::Serial => false,
                Sharing::Stateless => X::IS_EDGE,
                Sharing::Merging => true,
            };
            C::MAY_BE_SHARED && can_be_shared
        } && segment.is_shared()
            && let Some(workers) = self.sharing::<P, T, X>(&exit)
        {
            let entry = segment.entry(self, EdgeKind::Containers);
            let name = self.task_name(name);
            return self.graph.shared(name, entry, operator, exit, workers);
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

    /// Reads each of these lanes with a copy of an operator without state, which writes a lane.
    fn follow_each<T, N, P, X>(&mut self, lanes: Vec<N>, operator: &P, name: &str, exit: &X)
    where
        T: Send + 'static,
        N: EntryPlan<T>,
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: ExitPlan<P::Out>,
    {
        for (lane, number) in lanes.into_iter().zip(1..) {
            let exit = exit.again(&mut self.graph).expect("lanes have as many writers as one likes");
            self.operator(&format!("{name}#{number}"), lane, operator.fork(), exit);
            if number > 1 {
                self.graph.note_copy();
            }
        }
    }

    /// Whether this piece ends in several tasks, each with a lane of its own.
    pub(crate) fn spreads<T: Send + 'static>(&self, segment: &impl Segment<T>) -> bool {
        self.is_parallel() && segment.is_spread()
    }

    /// What two parts of a stream are made of, where this piece parts.
    pub(crate) fn kind_of_parts<T: Send + 'static>(&self, segment: &impl Segment<T>) -> EdgeKind {
        if self.spreads(segment) { EdgeKind::Lanes } else { EdgeKind::Ordered }
    }

    /// Plans a piece up to where one task reads it, and others beside.
    fn entry_of<T, C>(&mut self, segment: C) -> Several<LaneOf<T, C>>
    where
        T: Send + 'static,
        C: Segment<T>,
    {
        let kind = if self.spreads(&segment) { EdgeKind::Lanes } else { EdgeKind::Ordered };
        Several(segment.entry(self, kind).lanes())
    }

    fn is_parallel(&self) -> bool {
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
            Sharing::Serial => false,
            Sharing::Stateless => exit.kind() == EdgeKind::Containers,
            Sharing::Merging => true,
        };
        can_be_shared.then_some(workers)
    }
}

/// What is read of each of the lanes that a piece ends in.
pub(crate) type LaneOf<T, C> = <<C as Segment<T>>::Entry as EntryPlan<T>>::Lane;

fn join(left: &str, right: &str) -> String {
    if right.is_empty() { left.to_owned() } else { format!("{left}-{right}") }
}

pub use awaited::Awaited;
pub(crate) use ends::Slot;
pub use ends::{BothOf, Branch, FromEnds, Part, SeveralOf, SidesOf};
pub use splits::FromSplits;

/// A piece of a stream: everything from its source up to a place where values of type `T` flow.
///
/// What pieces there are is settled here. A function takes a stream made of whatever it is made of like this:
///
/// ```
/// use thalweg::{Segment, Stream};
///
/// fn doubled<C: Segment<i64>>(numbers: Stream<i64, C>) -> Stream<i64, impl Segment<i64>> {
///     numbers.map(|number| number * 2)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a stream of `{T}` can be made of",
    note = "a function that takes any stream is generic over its second parameter: `C: Segment<{T}>`; \
            one that takes a boxed stream leaves it out: `Stream<{T}>`"
)]
pub trait Segment<T: Send + 'static>: Sized + 'static {
    /// The same piece, ready to be followed by an operator that holds state.
    type BeforeState: Segment<T>;

    /// Marks the place before an operator that holds state.
    fn before_state(self) -> Self::BeforeState;

    /// The same piece, its last operator a task of its own.
    type Isolated: Segment<T>;

    /// Keeps the last operator apart.
    fn isolate(self) -> Self::Isolated;

    /// Whether [`is_shared`](Self::is_shared) may say so: if not, what would follow it then is not even compiled.
    const MAY_BE_SHARED: bool;

    /// Whether several workers may be inside whatever follows it: all that leads up to it is sources, and operators
    /// without state.
    fn is_shared(&self) -> bool {
        Self::MAY_BE_SHARED
    }

    /// Whether what begins it can be shared by several workers, up to a first operator that gathers.
    const GATHERS: Gathers;

    /// Whether [`is_spread`](Self::is_spread) may say so: if not, what would follow it then is not even compiled.
    const MAY_SPREAD: bool;

    /// Whether it ends in several tasks where what follows is serial: all that leads up to it is splits, and operators
    /// without state, of which each split has its own.
    fn is_spread(&self) -> bool;

    /// What the piece is read from by whoever follows it in another task.
    type Entry: EntryPlan<T>;

    /// Plans the piece up to where another task reads it, its operators in as many tasks as the chaining says. Its edge is
    /// of this kind, if it has one of its own.
    fn entry(self, planner: &mut Planner, kind: EdgeKind) -> Self::Entry;

    /// Ends the piece at `exit`, with as many of its operators in one task as can be. `exit_name` is what the last
    /// task's name ends in: a sink's name, or nothing.
    fn close<X: ExitPlan<T>>(self, planner: &mut Planner, exit: X, exit_name: &str);

    /// Ends the piece at an edge.
    fn end(self, planner: &mut Planner, exit: EdgeExit<T>) {
        self.close(planner, exit, "");
    }

    /// Ends the piece at an edge, each operator a task of its own.
    fn split(self, planner: &mut Planner, exit: EdgeExit<T>);

    /// Ends the piece in `tail`, which shares its last task, and that at `exit`.
    fn fuse<P, X>(self, planner: &mut Planner, tail: P, tail_name: &str, exit: X)
    where
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: ExitPlan<P::Out>;
}

/// A source, and no operator yet.
pub struct FromSource<S, W = WatermarkStrategy> {
    pub(crate) label: Label,
    pub(crate) source: S,
    pub(crate) watermarks: W,
}

impl<S: Source + 'static, W: Watermarks<S::Item>> Segment<S::Item> for FromSource<S, W> {
    type BeforeState = Cut<Self>;

    fn before_state(self) -> Cut<Self> {
        Cut(self)
    }

    type Isolated = Isolated<Self>;

    fn isolate(self) -> Isolated<Self> {
        Isolated(self)
    }

    const MAY_BE_SHARED: bool = true;

    const GATHERS: Gathers = Gathers::NotYet;

    const MAY_SPREAD: bool = false;

    fn is_spread(&self) -> bool {
        false
    }

    type Entry = EdgeEntry<S::Item>;

    fn entry(self, planner: &mut Planner, kind: EdgeKind) -> EdgeEntry<S::Item> {
        planner.end_at_edge(self, kind)
    }

    fn close<X: ExitPlan<S::Item>>(self, planner: &mut Planner, exit: X, exit_name: &str) {
        planner.source(self, Identity, exit_name, exit);
    }

    fn split(self, planner: &mut Planner, exit: EdgeExit<S::Item>) {
        self.end(planner, exit);
    }

    fn fuse<P, X>(self, planner: &mut Planner, tail: P, tail_name: &str, exit: X)
    where
        P: Operator<S::Item> + 'static,
        P::Out: Send + 'static,
        X: ExitPlan<P::Out>,
    {
        planner.source(self, tail, tail_name, exit);
    }
}

/// A piece and an operator behind it that holds no state.
pub struct Chained<H, In, P> {
    pub(crate) head: H,
    pub(crate) operator: P,
    pub(crate) label: Label,
    pub(crate) input: PhantomData<fn(In)>,
}

impl<H, In, P> Segment<P::Out> for Chained<H, In, P>
where
    H: Segment<In>,
    In: Send + 'static,
    P: Operator<In> + Named + 'static,
    P::Out: Send + 'static,
{
    type BeforeState = Cut<Self>;

    fn before_state(self) -> Cut<Self> {
        Cut(self)
    }

    type Isolated = Isolated<Chained<Isolated<H>, In, P>>;

    fn isolate(self) -> Self::Isolated {
        let Chained { head, operator, label, input } = self;
        Isolated(Chained { head: Isolated(head), operator, label, input })
    }

    const MAY_BE_SHARED: bool = H::MAY_BE_SHARED && matches!(P::SHARING, Sharing::Stateless);

    fn is_shared(&self) -> bool {
        Self::MAY_BE_SHARED && self.head.is_shared()
    }

    const GATHERS: Gathers = H::GATHERS.then(P::SHARING);

    const MAY_SPREAD: bool = H::MAY_SPREAD && matches!(P::SHARING, Sharing::Stateless);

    fn is_spread(&self) -> bool {
        Self::MAY_SPREAD && self.head.is_spread()
    }

    type Entry = EdgeEntry<P::Out>;

    fn entry(self, planner: &mut Planner, kind: EdgeKind) -> EdgeEntry<P::Out> {
        planner.end_at_edge(self, kind)
    }

    fn close<X: ExitPlan<P::Out>>(self, planner: &mut Planner, exit: X, exit_name: &str) {
        let operator = planner.named(self.label, self.operator);
        let name = join(operator.name(), exit_name);
        self.head.fuse(planner, operator, &name, exit);
    }

    fn split(self, planner: &mut Planner, exit: EdgeExit<P::Out>) {
        let operator = planner.named(self.label, self.operator);
        planner.follow(self.head, operator, &planner.name(self.label), exit);
    }

    fn fuse<Q, X>(self, planner: &mut Planner, tail: Q, tail_name: &str, exit: X)
    where
        Q: Operator<P::Out> + 'static,
        Q::Out: Send + 'static,
        X: ExitPlan<Q::Out>,
    {
        let gather_ends = matches!((P::SHARING, Q::SHARING), (Sharing::Merging, Sharing::Serial));
        let lanes_end = matches!((P::SHARING, Q::SHARING), (Sharing::Stateless, Sharing::Serial));
        if gather_ends && planner.is_parallel() && self.head.is_shared()
            || lanes_end && planner.spreads(&self.head)
        {
            // Several workers gather, or have lanes of their own; what only one may run comes behind them.
            return planner.cut(self, tail, tail_name, exit);
        }
        let operator = planner.named(self.label, self.operator);
        let name = join(operator.name(), tail_name);
        self.head.fuse(planner, Then::new(operator, tail), &name, exit);
    }
}

/// A piece and an operator behind it that holds state.
pub struct Stateful<H, In, P>(pub(crate) Chained<H, In, P>);

impl<H, In, P> Segment<P::Out> for Stateful<H, In, P>
where
    H: Segment<In>,
    In: Send + 'static,
    P: Operator<In> + Named + 'static,
    P::Out: Send + 'static,
{
    type BeforeState = Self;

    fn before_state(self) -> Self {
        self
    }

    type Isolated = Isolated<Chained<Isolated<H>, In, P>>;

    fn isolate(self) -> Self::Isolated {
        self.0.isolate()
    }

    const MAY_BE_SHARED: bool = H::MAY_BE_SHARED && matches!(P::SHARING, Sharing::Stateless);

    fn is_shared(&self) -> bool {
        Self::MAY_BE_SHARED && self.0.head.is_shared()
    }

    const GATHERS: Gathers = H::GATHERS.then(P::SHARING);

    const MAY_SPREAD: bool = <Chained<H, In, P> as Segment<P::Out>>::MAY_SPREAD;

    fn is_spread(&self) -> bool {
        self.0.is_spread()
    }

    type Entry = EdgeEntry<P::Out>;

    fn entry(self, planner: &mut Planner, kind: EdgeKind) -> EdgeEntry<P::Out> {
        planner.end_at_edge(self, kind)
    }

    fn close<X: ExitPlan<P::Out>>(self, planner: &mut Planner, exit: X, exit_name: &str) {
        self.0.close(planner, exit, exit_name);
    }

    fn split(self, planner: &mut Planner, exit: EdgeExit<P::Out>) {
        self.0.split(planner, exit);
    }

    fn fuse<Q, X>(self, planner: &mut Planner, tail: Q, tail_name: &str, exit: X)
    where
        Q: Operator<P::Out> + 'static,
        Q::Out: Send + 'static,
        X: ExitPlan<Q::Out>,
    {
        self.0.fuse(planner, tail, tail_name, exit);
    }
}

/// The place before an operator that holds state: a chain breaks here, unless all is to be one task.
pub struct Cut<C>(C);

impl<T: Send + 'static, C: Segment<T>> Segment<T> for Cut<C> {
    type BeforeState = Self;

    fn before_state(self) -> Self {
        self
    }

    type Isolated = C::Isolated;

    fn isolate(self) -> C::Isolated {
        self.0.isolate()
    }

    const MAY_BE_SHARED: bool = C::MAY_BE_SHARED;

    fn is_shared(&self) -> bool {
        self.0.is_shared()
    }

    const GATHERS: Gathers = C::GATHERS;

    const MAY_SPREAD: bool = C::MAY_SPREAD;

    fn is_spread(&self) -> bool {
        self.0.is_spread()
    }

    type Entry = C::Entry;

    fn entry(self, planner: &mut Planner, kind: EdgeKind) -> C::Entry {
        self.0.entry(planner, kind)
    }

    fn close<X: ExitPlan<T>>(self, planner: &mut Planner, exit: X, exit_name: &str) {
        self.0.close(planner, exit, exit_name);
    }

    fn split(self, planner: &mut Planner, exit: EdgeExit<T>) {
        self.0.split(planner, exit);
    }

    fn fuse<P, X>(self, planner: &mut Planner, tail: P, tail_name: &str, exit: X)
    where
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: ExitPlan<P::Out>,
    {
        match planner.chaining {
            Chaining::All => self.0.fuse(planner, tail, tail_name, exit),
            Chaining::None | Chaining::Default => planner.cut(self.0, tail, tail_name, exit),
        }
    }
}

/// A piece that nothing behind it shares a task with.
pub struct Isolated<C>(C);

impl<T: Send + 'static, C: Segment<T>> Segment<T> for Isolated<C> {
    type BeforeState = Self;

    fn before_state(self) -> Self {
        self
    }

    type Isolated = Self;

    fn isolate(self) -> Self {
        self
    }

    const MAY_BE_SHARED: bool = C::MAY_BE_SHARED;

    fn is_shared(&self) -> bool {
        self.0.is_shared()
    }

    const GATHERS: Gathers = C::GATHERS;

    const MAY_SPREAD: bool = C::MAY_SPREAD;

    fn is_spread(&self) -> bool {
        self.0.is_spread()
    }

    type Entry = C::Entry;

    fn entry(self, planner: &mut Planner, kind: EdgeKind) -> C::Entry {
        self.0.entry(planner, kind)
    }

    fn close<X: ExitPlan<T>>(self, planner: &mut Planner, exit: X, exit_name: &str) {
        self.fuse(planner, Identity, exit_name, exit);
    }

    fn end(self, planner: &mut Planner, exit: EdgeExit<T>) {
        self.0.end(planner, exit);
    }

    fn split(self, planner: &mut Planner, exit: EdgeExit<T>) {
        self.0.split(planner, exit);
    }

    fn fuse<P, X>(self, planner: &mut Planner, tail: P, tail_name: &str, exit: X)
    where
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: ExitPlan<P::Out>,
    {
        planner.cut(self, tail, tail_name, exit);
    }
}

/// A piece whose make-up is forgotten: it ends at an edge, and its type says no more than what flows there. So
/// functions can take and return `Stream<T>`, and loops can build streams.
pub struct Erased<T: Send + 'static> {
    lower: Box<dyn FnOnce(&mut Planner, EdgeExit<T>, Last)>,
    last: Last,
}

/// How the last operator of an erased piece stands to the others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// As the chaining says.
    Free,
    /// A task of its own.
    Isolated,
}

impl<T: Send + 'static> Erased<T> {
    pub(crate) fn new<C: Segment<T>>(segment: C) -> Self {
        let lower = move |planner: &mut Planner, exit, last| match (planner.chaining, last) {
            (Chaining::None, _) => segment.split(planner, exit),
            (_, Last::Free) => segment.end(planner, exit),
            (_, Last::Isolated) => segment.isolate().end(planner, exit),
        };
        Erased { lower: Box::new(lower), last: Last::Free }
    }
}

impl<T: Send + 'static> Segment<T> for Erased<T> {
    type BeforeState = Self;

    fn before_state(self) -> Self {
        self
    }

    type Isolated = Self;

    fn isolate(self) -> Self {
        Erased { last: Last::Isolated, ..self }
    }

    const MAY_BE_SHARED: bool = false;

    const GATHERS: Gathers = Gathers::Never;

    const MAY_SPREAD: bool = false;

    fn is_spread(&self) -> bool {
        false
    }

    type Entry = EdgeEntry<T>;

    fn entry(self, planner: &mut Planner, kind: EdgeKind) -> EdgeEntry<T> {
        planner.end_at_edge(self, kind)
    }

    fn close<X: ExitPlan<T>>(self, planner: &mut Planner, exit: X, exit_name: &str) {
        self.fuse(planner, Identity, exit_name, exit);
    }

    fn end(self, planner: &mut Planner, exit: EdgeExit<T>) {
        (self.lower)(planner, exit, self.last);
    }

    fn split(self, planner: &mut Planner, exit: EdgeExit<T>) {
        (self.lower)(planner, exit, self.last);
    }

    fn fuse<P, X>(self, planner: &mut Planner, tail: P, tail_name: &str, exit: X)
    where
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: ExitPlan<P::Out>,
    {
        planner.cut(self, tail, tail_name, exit);
    }
}

#[cfg(test)]
mod tests;
