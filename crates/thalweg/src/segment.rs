//! Segments: how a chain of calls becomes tasks.
//!
//! A stream's type contains all its parts: `Chained<Chained<FromSource<S>, Filter>, Map>` and so on. When the query
//! is planned, each stream's segment is lowered from back to front, by the rule of [`Chaining`]. The query of the
//! Yahoo Streaming Benchmark:
//!
//! ```text
//!   None      source | filter | map | join | window | sink      a task each
//!   Default   source-filter-map | join-window-sink              a break before the first operator with state
//!   All       source-filter-map-join-window-sink                one task
//! ```
//!
//! All variants are monomorphised where the query is written: the operators of a task compile to one loop, whatever
//! the setting. Results and the counts of operators are the same.
//!
//! By default a chain breaks wherever a stateless operator is followed by a stateful one (a table, a window, an
//! operator of the user's own). Few and narrow records cross there, and another worker can take the stateful half.
//! Consecutive stateful operators, and the operators behind them, stay together.
//!
//! Two rules hold for every setting. [`isolate`](crate::Stream::isolate) keeps one operator as a task of its own.
//! [`boxed`](crate::Stream::boxed) ends a chain, since the type of the operators before it is no longer known.
//!
//! With [`Parallel::Epochs`] chains break in some more places: before and behind operators that several workers
//! share, where the next operator is not shared in the same way. There lie containers (blocks of one epoch, each of
//! which any worker may claim), partitions (ordered streams, one for each split) or an exchange by key:
//!
//! ```text
//!   splits-filter | window-sink      containers    source-1-filter, source-2-filter | window#1, window#2 | window-sink
//!   splits-filter | sort-sink        partitions    source-1-filter, source-2-filter | sort-sink
//!   splits-filter | sessions-sink    exchange      source-1-filter-key_by, source-2-.. | sessions#1, sessions#2 | sink
//! ```
//!
//! Operators can be chained in any combination. An operator that may emit more than one record per record taken keeps
//! the records that find no room, so a chain may contain any number of them (rule O3 of [`thalweg_model::operator`]).

mod awaited;
mod edges;
mod planner;
mod splits;

use std::marker::PhantomData;

use thalweg_model::{Operator, Sharing, Source, Then, WatermarkStrategy, Watermarks};
use thalweg_operators::{Identity, Named};
use thalweg_runtime::graph::Several;
use thalweg_runtime::{EdgeKind, InputHandle, InputPlan, OutputHandle, OutputPlan};

use crate::draft::Label;

/// Rule by which operators share a task. A task runs on one worker at a time. Records between two tasks go through an
/// edge, which takes memory and time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Chaining {
    /// No chaining: every source, operator and sink is a task of its own, as in the experiments of the papers.
    None,
    /// Chains all neighbours, but breaks before each stateful operator that follows a stateless one. So a worker can
    /// read and filter while another one joins and counts.
    #[default]
    Default,
    /// Makes one task of everything from a source to its sink. It takes no memory for edges, and one worker at a
    /// time. It is not always the fastest on one worker: `docs/performance.md` has figures.
    All,
}

/// Rule for the number of workers that may run one operator at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Parallel {
    /// One worker at a time runs each operator. Every operator sees its records in order, and a block may be
    /// read while it is filled (Enjima's model).
    #[default]
    Serial,
    /// Several workers, in the operators that allow it. From the sources on, stateless operators up to the first
    /// merging one, such as a window aggregate, are shared: workers claim whole blocks, epoch by epoch (StreamBox's
    /// model). Keyed operators, such as sessions, process functions and joins, have one instance per worker, each
    /// with its own keys. Before keyed operators and before operators that only one task may run, each split of a
    /// source goes through stateless operators by itself.
    ///
    /// Results are the same. Their order is kept within each split and, behind keyed operators, within each key.
    Epochs {
        /// Number of instances of each keyed operator, and of workers that share the other ones; the number
        /// of the engine's workers is a good choice.
        workers: usize,
    },
    /// Several workers, in keyed operators only. They have one instance per worker, and before them each split of a source
    /// goes through stateless operators by itself, as with [`Epochs`](Parallel::Epochs). One worker at a time runs each
    /// other operator; a window aggregate that is not keyed reads all splits. Queries that take
    /// [checkpoints](thalweg_runtime::Checkpoints) are planned so.
    ///
    /// Results are the same. Their order is kept within each split and, behind keyed operators, within each key.
    Keyed {
        /// Number of instances of each keyed operator; the number of the engine's workers is a good choice.
        workers: usize,
    },
}

/// Rules by which a query is cut into tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// Rule by which operators share a task.
    pub chaining: Chaining,
    /// Rule for the number of workers that share an operator.
    pub parallel: Parallel,
}

impl From<Chaining> for Layout {
    /// Creates a layout with one worker at a time in each operator.
    fn from(chaining: Chaining) -> Self {
        Layout { chaining, parallel: Parallel::Serial }
    }
}

/// Tells which kind of operator comes first in a stream: a merging one, of which each worker may have an
/// instance whose partial results are merged; or one that is keyed (each worker has some keys) or serial (one
/// worker at a time).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gathers {
    /// All operators of the stream so far are stateless, so neither merging nor keyed or serial.
    NotYet,
    /// The first operator of the stream that is not stateless is merging: each worker may have an instance of it,
    /// and the partial results are merged.
    First,
    /// The first operator of the stream that is not stateless is keyed (each worker has some keys) or serial (one
    /// worker at a time).
    Never,
}

impl Gathers {
    const fn then(self, next: Sharing) -> Gathers {
        match (self, next) {
            (Gathers::NotYet, Sharing::Stateless) => Gathers::NotYet,
            (Gathers::NotYet, Sharing::Merging) => Gathers::First,
            (Gathers::NotYet, Sharing::Keyed | Sharing::Serial) => Gathers::Never,
            (decided, _) => decided,
        }
    }
}

/// The ways in which several workers may share the operators that follow a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allowed {
    /// Several workers may run the operator that follows, because the segment consists of sources and
    /// stateless operators only.
    pub shared: bool,
    /// The segment may end in several tasks, one per partition, in front of a serial operator. Either it
    /// consists of splits and stateless operators, so each split has its own instances. Or it ends in a keyed
    /// operator, of which each worker has an instance.
    pub spread: bool,
    /// An exchange by key is possible behind the segment, because no operator in it merges. Behind a merging
    /// operator, few records are left to share.
    pub exchange: bool,
}

impl Allowed {
    /// Allows no way of sharing: one worker at a time runs the operators behind the segment.
    pub const NOTHING: Allowed = Allowed { shared: false, spread: false, exchange: false };
}

pub use awaited::Awaited;
pub(crate) use edges::Slot;
pub use edges::{BothOf, Branch, FromEdges, Part, SeveralOf, SidesOf};
pub use planner::Planner;
use planner::{PARTITIONS_MAX, PartitionOf, STREAMS_OF_PARTITIONS_MAX, join};
pub use splits::FromSplits;

/// A part of a stream: everything from its source up to a place where values of type `T` flow.
///
/// The kinds of segments are fixed in this crate. A function takes any stream, whatever its segment, like this:
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
    /// Type of this segment in front of a stateful operator. A chain (operators that share a task) may break
    /// there.
    type BeforeState: Segment<T>;

    /// Returns this segment, marked as the part of a stream in front of a stateful operator, where a chain may break.
    fn before_state(self) -> Self::BeforeState;

    /// Type of this segment with its last operator as a task of its own.
    type Isolated: Segment<T>;

    /// Returns this segment, marked such that its last operator is a task of its own.
    fn isolate(self) -> Self::Isolated;

    /// The ways in which several workers may share the operators behind some segment of this type. Code for
    /// other ways is not compiled.
    const MAY: Allowed;

    /// Returns the ways in which several workers may share the operators behind this segment: all or some of
    /// [`MAY`](Self::MAY).
    fn allowed(&self, planner: &Planner) -> Allowed {
        let _ = planner;
        Self::MAY
    }

    /// Tells whether a merging operator comes first in the segment, or a keyed or serial one; [`Gathers`]
    /// defines these kinds.
    const GATHERS: Gathers;

    /// Type of the input handle by which one instance of a keyed operator reads the values of this segment.
    type Instance: InputPlan<T>;

    /// Turns the segment into tasks that end at an exchange by the keys of `operator`. Returns the input handle of each
    /// instance of `operator`.
    fn exchange<P: Operator<T> + 'static>(self, planner: &mut Planner, operator: &P) -> Vec<Self::Instance>;

    /// Type of the input handle by which the operator behind the segment, in another task, reads its values.
    type Input: InputPlan<T>;

    /// Turns the segment into tasks that end at an edge to another task; the chaining decides which operators share a
    /// task. The edge has the given `kind`, unless the segment is an edge already.
    fn input(self, planner: &mut Planner, kind: EdgeKind) -> Self::Input;

    /// Ends the segment at `output`, with as many of its operators in one task as possible. The name of the
    /// last task ends with `output_name`, which is a sink's name or empty.
    fn close<X: OutputPlan<T>>(self, planner: &mut Planner, output: X, output_name: &str) {
        self.fuse(planner, Identity, output_name, output);
    }

    /// Ends the segment at an edge, with as many of its operators in one task as possible.
    fn end(self, planner: &mut Planner, output: OutputHandle<T>) {
        self.close(planner, output, "");
    }

    /// Ends the segment at an edge, with each operator in a task of its own.
    fn split(self, planner: &mut Planner, output: OutputHandle<T>) {
        self.end(planner, output);
    }

    /// Ends the segment with the operator `tail`, which shares the segment's last task and writes to
    /// `output`.
    fn fuse<P, X>(self, planner: &mut Planner, tail: P, tail_name: &str, output: X)
    where
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: OutputPlan<P::Out>;
}

/// A segment (a part of a stream) that consists of a source only.
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

    const MAY: Allowed = Allowed { shared: true, spread: false, exchange: true };

    const GATHERS: Gathers = Gathers::NotYet;

    type Instance = Several<InputHandle<S::Item>>;

    fn exchange<Q: Operator<S::Item> + 'static>(
        self,
        planner: &mut Planner,
        operator: &Q,
    ) -> Vec<Self::Instance> {
        planner.exchange_by_key(self, operator)
    }

    type Input = InputHandle<S::Item>;

    fn input(self, planner: &mut Planner, kind: EdgeKind) -> InputHandle<S::Item> {
        planner.end_at_edge(self, kind)
    }

    fn fuse<P, X>(self, planner: &mut Planner, tail: P, tail_name: &str, output: X)
    where
        P: Operator<S::Item> + 'static,
        P::Out: Send + 'static,
        X: OutputPlan<P::Out>,
    {
        if matches!(P::SHARING, Sharing::Keyed)
            && output.kind() == EdgeKind::Partitions
            && planner.exchanges(Self::MAY)
        {
            return planner.cut(self, tail, tail_name, output);
        }
        planner.source(self, tail, tail_name, output);
    }
}

/// A segment (a part of a stream) that ends with a stateless operator.
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

    const MAY: Allowed = Allowed {
        shared: H::MAY.shared && matches!(P::SHARING, Sharing::Stateless),
        spread: match P::SHARING {
            Sharing::Stateless => H::MAY.spread,
            Sharing::Keyed => H::MAY.exchange,
            Sharing::Merging | Sharing::Serial => false,
        },
        exchange: H::MAY.exchange && !matches!(P::SHARING, Sharing::Merging),
    };

    fn allowed(&self, planner: &Planner) -> Allowed {
        let head = self.head.allowed(planner);
        Allowed {
            shared: Self::MAY.shared && head.shared,
            spread: match P::SHARING {
                Sharing::Stateless => planner.spreads(head),
                Sharing::Keyed => planner.exchanges(head),
                Sharing::Merging | Sharing::Serial => false,
            },
            exchange: Self::MAY.exchange && head.exchange,
        }
    }

    const GATHERS: Gathers = H::GATHERS.then(P::SHARING);

    type Instance = Several<InputHandle<P::Out>>;

    fn exchange<Q: Operator<P::Out> + 'static>(
        self,
        planner: &mut Planner,
        operator: &Q,
    ) -> Vec<Self::Instance> {
        planner.exchange_by_key(self, operator)
    }

    type Input = InputHandle<P::Out>;

    fn input(self, planner: &mut Planner, kind: EdgeKind) -> InputHandle<P::Out> {
        planner.end_at_edge(self, kind)
    }

    fn close<X: OutputPlan<P::Out>>(self, planner: &mut Planner, output: X, output_name: &str) {
        let operator = planner.named(self.label, self.operator);
        let name = join(operator.name(), output_name);
        self.head.fuse(planner, operator, &name, output);
    }

    fn split(self, planner: &mut Planner, output: OutputHandle<P::Out>) {
        let operator = planner.named(self.label, self.operator);
        planner.follow(self.head, operator, &planner.name(self.label), output);
    }

    fn fuse<Q, X>(self, planner: &mut Planner, tail: Q, tail_name: &str, output: X)
    where
        Q: Operator<P::Out> + 'static,
        Q::Out: Send + 'static,
        X: OutputPlan<Q::Out>,
    {
        let breaks = match (P::SHARING, Q::SHARING) {
            // Several workers run a merging operator. A serial or keyed operator behind it needs a task of
            // its own.
            (Sharing::Merging, Sharing::Serial | Sharing::Keyed) => {
                planner.shares_epochs() && self.head.allowed(planner).shared
            }
            // Each worker runs an instance of the keyed operator, with keys of its own.
            (_, Sharing::Keyed) => planner.exchanges(self.allowed(planner)),
            // A serial operator needs all records, so one task of it reads all partitions of the segment
            // before it.
            (Sharing::Stateless, Sharing::Serial) | (Sharing::Keyed, Sharing::Serial | Sharing::Merging) => {
                planner.spreads(self.allowed(planner))
            }
            _ => false,
        };
        if breaks {
            return planner.cut(self, tail, tail_name, output);
        }
        let operator = planner.named(self.label, self.operator);
        let name = join(operator.name(), tail_name);
        self.head.fuse(planner, Then::new(operator, tail), &name, output);
    }
}

/// A segment (a part of a stream) that ends with a stateful operator.
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

    const MAY: Allowed = <Chained<H, In, P> as Segment<P::Out>>::MAY;

    fn allowed(&self, planner: &Planner) -> Allowed {
        self.0.allowed(planner)
    }

    const GATHERS: Gathers = H::GATHERS.then(P::SHARING);

    type Instance = Several<InputHandle<P::Out>>;

    fn exchange<Q: Operator<P::Out> + 'static>(
        self,
        planner: &mut Planner,
        operator: &Q,
    ) -> Vec<Self::Instance> {
        planner.exchange_by_key(self, operator)
    }

    type Input = InputHandle<P::Out>;

    fn input(self, planner: &mut Planner, kind: EdgeKind) -> InputHandle<P::Out> {
        planner.end_at_edge(self, kind)
    }

    fn close<X: OutputPlan<P::Out>>(self, planner: &mut Planner, output: X, output_name: &str) {
        self.0.close(planner, output, output_name);
    }

    fn split(self, planner: &mut Planner, output: OutputHandle<P::Out>) {
        self.0.split(planner, output);
    }

    fn fuse<Q, X>(self, planner: &mut Planner, tail: Q, tail_name: &str, output: X)
    where
        Q: Operator<P::Out> + 'static,
        Q::Out: Send + 'static,
        X: OutputPlan<Q::Out>,
    {
        self.0.fuse(planner, tail, tail_name, output);
    }
}

/// The end of a segment in front of a stateful operator. A chain breaks here, unless the whole stream is one
/// task.
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

    const MAY: Allowed = C::MAY;

    fn allowed(&self, planner: &Planner) -> Allowed {
        self.0.allowed(planner)
    }

    const GATHERS: Gathers = C::GATHERS;

    type Instance = C::Instance;

    fn exchange<Q: Operator<T> + 'static>(self, planner: &mut Planner, operator: &Q) -> Vec<Self::Instance> {
        self.0.exchange(planner, operator)
    }

    type Input = C::Input;

    fn input(self, planner: &mut Planner, kind: EdgeKind) -> C::Input {
        self.0.input(planner, kind)
    }

    fn close<X: OutputPlan<T>>(self, planner: &mut Planner, output: X, output_name: &str) {
        self.0.close(planner, output, output_name);
    }

    fn split(self, planner: &mut Planner, output: OutputHandle<T>) {
        self.0.split(planner, output);
    }

    fn fuse<P, X>(self, planner: &mut Planner, tail: P, tail_name: &str, output: X)
    where
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: OutputPlan<P::Out>,
    {
        match planner.chaining {
            Chaining::All => self.0.fuse(planner, tail, tail_name, output),
            Chaining::None | Chaining::Default => planner.cut(self.0, tail, tail_name, output),
        }
    }
}

/// A segment whose last task ends with the segment: an operator behind the segment begins a task of its own.
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

    const MAY: Allowed = C::MAY;

    fn allowed(&self, planner: &Planner) -> Allowed {
        self.0.allowed(planner)
    }

    const GATHERS: Gathers = C::GATHERS;

    type Instance = Several<InputHandle<T>>;

    fn exchange<Q: Operator<T> + 'static>(self, planner: &mut Planner, operator: &Q) -> Vec<Self::Instance> {
        planner.exchange_by_key(self, operator)
    }

    type Input = C::Input;

    fn input(self, planner: &mut Planner, kind: EdgeKind) -> C::Input {
        self.0.input(planner, kind)
    }

    fn end(self, planner: &mut Planner, output: OutputHandle<T>) {
        self.0.end(planner, output);
    }

    fn split(self, planner: &mut Planner, output: OutputHandle<T>) {
        self.0.split(planner, output);
    }

    fn fuse<P, X>(self, planner: &mut Planner, tail: P, tail_name: &str, output: X)
    where
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: OutputPlan<P::Out>,
    {
        planner.cut(self, tail, tail_name, output);
    }
}

/// A segment whose type is erased: it ends at an edge, and its type contains only the type of the values there. So
/// functions can take and return `Stream<T>`, and loops can build streams.
pub struct Erased<T: Send + 'static> {
    segment: Box<dyn AnySegment<T>>,
    last: Last,
}

/// A segment behind a pointer, with the functions that planning needs of a segment which ends at an edge.
trait AnySegment<T: Send + 'static> {
    /// Returns the ways in which several workers may share the operators behind the segment: [`Segment::allowed`], whose
    /// name a segment has already.
    fn allows(&self, planner: &Planner) -> Allowed;

    /// Ends the segment at an edge. `last` tells which task its last operator is put into.
    fn lower(self: Box<Self>, planner: &mut Planner, output: OutputHandle<T>, last: Last);
}

impl<T: Send + 'static, C: Segment<T>> AnySegment<T> for C {
    fn allows(&self, planner: &Planner) -> Allowed {
        self.allowed(planner)
    }

    fn lower(self: Box<Self>, planner: &mut Planner, output: OutputHandle<T>, last: Last) {
        match (planner.chaining, last) {
            (Chaining::None, _) => self.split(planner, output),
            (_, Last::Free) => self.end(planner, output),
            (_, Last::Isolated) => self.isolate().end(planner, output),
        }
    }
}

/// Tells which task the last operator of a segment with an erased type is put into.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// The chaining decides which task the last operator of the segment is put into.
    Free,
    /// The last operator is a task of its own.
    Isolated,
}

impl<T: Send + 'static> Erased<T> {
    pub(crate) fn new<C: Segment<T>>(segment: C) -> Self {
        Erased { segment: Box::new(segment), last: Last::Free }
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

    /// Blocks that any worker may claim (containers) do not go behind an edge of an erased stream, since the operators
    /// before it are in other tasks.
    const MAY: Allowed = Allowed { shared: false, spread: true, exchange: true };

    fn allowed(&self, planner: &Planner) -> Allowed {
        Allowed { shared: false, ..self.segment.allows(planner) }
    }

    const GATHERS: Gathers = Gathers::Never;

    type Instance = Several<InputHandle<T>>;

    fn exchange<Q: Operator<T> + 'static>(self, planner: &mut Planner, operator: &Q) -> Vec<Self::Instance> {
        planner.exchange_by_key(self, operator)
    }

    type Input = InputHandle<T>;

    fn input(self, planner: &mut Planner, kind: EdgeKind) -> InputHandle<T> {
        planner.end_at_edge(self, kind)
    }

    fn end(self, planner: &mut Planner, output: OutputHandle<T>) {
        self.segment.lower(planner, output, self.last);
    }

    fn split(self, planner: &mut Planner, output: OutputHandle<T>) {
        self.segment.lower(planner, output, self.last);
    }

    fn fuse<P, X>(self, planner: &mut Planner, tail: P, tail_name: &str, output: X)
    where
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: OutputPlan<P::Out>,
    {
        planner.cut(self, tail, tail_name, output);
    }
}

#[cfg(test)]
mod tests;
