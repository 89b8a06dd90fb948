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
//! With [`Parallel::Epochs`] chains break in some more places: before and behind what several workers share, where what
//! follows is not shared in the same way.
//!
//! ```text
//!   splits-filter | window-sink      containers    source-1-filter, source-2-filter | window#1, window#2 | window-sink
//!   splits-filter | sort-sink        lanes         source-1-filter, source-2-filter | sort-sink
//!   splits-filter | sessions-sink    by key        source-1-filter-key_by, source-2-.. | sessions#1, sessions#2 | sink
//! ```
//!
//! Every way to chain operators compiles. An operator that may emit more than one record per record taken keeps
//! what finds no room, so any number of them may stand in one chain (rule O3 of [`thalweg_model::operator`]).

mod awaited;
mod ends;
mod planner;
mod splits;

use std::marker::PhantomData;

use thalweg_model::{Operator, Sharing, Source, Then, WatermarkStrategy, Watermarks};
use thalweg_operators::{Identity, Named};
use thalweg_runtime::graph::Several;
use thalweg_runtime::{EdgeEntry, EdgeExit, EdgeKind, EntryPlan, ExitPlan};

use crate::draft::Label;

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
    /// As many as this, in those operators that allow it. From sources on, those without state, up to the first that
    /// gathers state which can be put together, such as a window aggregate: they claim whole blocks, epoch by epoch
    /// (StreamBox's model). Those that work per key, such as sessions, process functions and joins, have a copy for each
    /// worker, with keys of its own. In front of these and of whatever one task must do, each split of a source goes
    /// through operators without state by itself.
    ///
    /// Results are the same. Their order is that of each split and, behind what works per key, of each key.
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
            (Gathers::NotYet, Sharing::Keyed | Sharing::Serial) => Gathers::Never,
            (decided, _) => decided,
        }
    }
}

pub use awaited::Awaited;
pub(crate) use ends::Slot;
pub use ends::{BothOf, Branch, FromEnds, Part, SeveralOf, SidesOf};
pub use planner::Planner;
use planner::{LANES_MAX, LaneOf, join};
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
    /// without state, of which each split has its own; or it ends in an operator that works per key, of which each worker
    /// has a copy.
    fn is_spread(&self, planner: &Planner) -> bool {
        let _ = planner;
        Self::MAY_SPREAD
    }

    /// Whether [`may_exchange`](Self::may_exchange) may say so.
    const MAY_EXCHANGE: bool;

    /// Whether what works per key may have copies behind it, as far as it goes: nothing in it gathers, which leaves little.
    fn may_exchange(&self, planner: &Planner) -> bool {
        let _ = planner;
        Self::MAY_EXCHANGE
    }

    /// What one of the copies reads.
    type Instance: EntryPlan<T>;

    /// Plans the piece up to where each of the copies of `operator`, which works per key, reads what goes to it.
    fn exchange<P: Operator<T> + 'static>(self, planner: &mut Planner, operator: &P) -> Vec<Self::Instance>;

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

    const MAY_EXCHANGE: bool = true;

    type Instance = Several<EdgeEntry<S::Item>>;

    fn exchange<Q: Operator<S::Item> + 'static>(
        self,
        planner: &mut Planner,
        operator: &Q,
    ) -> Vec<Self::Instance> {
        planner.deal(self, operator)
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
        if matches!(P::SHARING, Sharing::Keyed) && exit.kind() == EdgeKind::Lanes && planner.exchanges(&self)
        {
            return planner.cut(self, tail, tail_name, exit);
        }
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

    const MAY_SPREAD: bool = match P::SHARING {
        Sharing::Stateless => H::MAY_SPREAD,
        Sharing::Keyed => H::MAY_EXCHANGE,
        Sharing::Merging | Sharing::Serial => false,
    };

    fn is_spread(&self, planner: &Planner) -> bool {
        match P::SHARING {
            Sharing::Stateless => planner.spreads(&self.head),
            Sharing::Keyed => planner.exchanges(&self.head),
            Sharing::Merging | Sharing::Serial => false,
        }
    }

    const MAY_EXCHANGE: bool = H::MAY_EXCHANGE && !matches!(P::SHARING, Sharing::Merging);

    fn may_exchange(&self, planner: &Planner) -> bool {
        Self::MAY_EXCHANGE && self.head.may_exchange(planner)
    }

    type Instance = Several<EdgeEntry<P::Out>>;

    fn exchange<Q: Operator<P::Out> + 'static>(
        self,
        planner: &mut Planner,
        operator: &Q,
    ) -> Vec<Self::Instance> {
        planner.deal(self, operator)
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
        let breaks = match (P::SHARING, Q::SHARING) {
            // Several workers gather; what only one may run comes behind them.
            (Sharing::Merging, Sharing::Serial | Sharing::Keyed) => {
                planner.is_parallel() && self.head.is_shared()
            }
            // Each of several works on keys of its own.
            (_, Sharing::Keyed) => planner.exchanges(&self),
            // What needs all of it comes behind the lanes.
            (Sharing::Stateless, Sharing::Serial) | (Sharing::Keyed, Sharing::Serial | Sharing::Merging) => {
                planner.spreads(&self)
            }
            _ => false,
        };
        if breaks {
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

    fn is_spread(&self, planner: &Planner) -> bool {
        self.0.is_spread(planner)
    }

    const MAY_EXCHANGE: bool = <Chained<H, In, P> as Segment<P::Out>>::MAY_EXCHANGE;

    fn may_exchange(&self, planner: &Planner) -> bool {
        self.0.may_exchange(planner)
    }

    type Instance = Several<EdgeEntry<P::Out>>;

    fn exchange<Q: Operator<P::Out> + 'static>(
        self,
        planner: &mut Planner,
        operator: &Q,
    ) -> Vec<Self::Instance> {
        planner.deal(self, operator)
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

    fn is_spread(&self, planner: &Planner) -> bool {
        self.0.is_spread(planner)
    }

    const MAY_EXCHANGE: bool = C::MAY_EXCHANGE;

    fn may_exchange(&self, planner: &Planner) -> bool {
        self.0.may_exchange(planner)
    }

    type Instance = C::Instance;

    fn exchange<Q: Operator<T> + 'static>(self, planner: &mut Planner, operator: &Q) -> Vec<Self::Instance> {
        self.0.exchange(planner, operator)
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

    fn is_spread(&self, planner: &Planner) -> bool {
        self.0.is_spread(planner)
    }

    const MAY_EXCHANGE: bool = C::MAY_EXCHANGE;

    fn may_exchange(&self, planner: &Planner) -> bool {
        self.0.may_exchange(planner)
    }

    type Instance = Several<EdgeEntry<T>>;

    fn exchange<Q: Operator<T> + 'static>(self, planner: &mut Planner, operator: &Q) -> Vec<Self::Instance> {
        planner.deal(self, operator)
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

    const MAY_EXCHANGE: bool = false;

    type Instance = Several<EdgeEntry<T>>;

    fn exchange<Q: Operator<T> + 'static>(self, planner: &mut Planner, operator: &Q) -> Vec<Self::Instance> {
        planner.deal(self, operator)
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
