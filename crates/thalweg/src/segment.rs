//! How a chain of calls becomes tasks.
//!
//! A stream's type remembers what it is made of: `Chained<Chained<FromSource<S>, Filter>, Map>` and so on. When
//! the stream ends in a sink, its segment is lowered from back to front, in one of two monomorphised ways: into
//! one task whose operators compile to one loop, or into one task per operator. Which one is chosen at plan
//! time, by [`Chaining`].
//!
//! By default a chain breaks wherever an operator without state is followed by one that holds some (a table, a
//! window): what crosses there is narrow and few, and another worker can take the half with the state. Operators
//! with state that follow each other, and what comes behind them, stay together. YSB becomes
//! `source-filter-map | join-window-sink`.

use std::marker::PhantomData;

use thalweg_model::{Operator, Source, Then, WatermarkStrategy};
use thalweg_operators::{Identity, Named};
use thalweg_runtime::{EdgeEntry, EdgeExit, ExitPlan, Graph};

/// Which operators share a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Chaining {
    /// None: every operator is a task of its own, as in the experiments of the papers.
    None,
    /// All neighbours, but for a break before each operator with state that follows one without.
    #[default]
    Default,
}

/// A graph in the making.
pub struct Planner {
    pub(crate) graph: Graph,
    pub(crate) chaining: Chaining,
}

/// A piece of a stream: everything from its source up to a place where values of type `T` flow.
pub trait Segment<T: Send + 'static>: Sized + 'static {
    /// The same piece, ready to be followed by an operator that holds state.
    type BeforeState: Segment<T>;

    /// Marks the place before an operator that holds state.
    fn before_state(self) -> Self::BeforeState;

    /// Ends the piece at `exit`. `exit_name` is what the last task's name ends in: a sink's name, or nothing.
    fn close<X: ExitPlan<T>>(self, planner: &mut Planner, exit: X, exit_name: &str);

    /// Ends the piece at a new edge, and gives the end to read.
    fn into_edge(self, planner: &mut Planner) -> EdgeEntry<T> {
        let (exit, entry) = planner.graph.edge();
        self.close(planner, exit, "");
        entry
    }

    /// Ends the piece in `tail`, which shares its last task, and that at `exit`.
    fn fuse<P, X>(self, planner: &mut Planner, tail: P, tail_name: &str, exit: X)
    where
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: ExitPlan<P::Out>;
}

fn join(left: &str, right: &str) -> String {
    if right.is_empty() { left.to_owned() } else { format!("{left}-{right}") }
}

/// Ends `segment` at a new edge, and reads that edge with `tail` in a task of its own.
fn cut<T, C, P, X>(segment: C, planner: &mut Planner, tail: P, tail_name: &str, exit: X)
where
    T: Send + 'static,
    C: Segment<T>,
    P: Operator<T> + 'static,
    P::Out: Send + 'static,
    X: ExitPlan<P::Out>,
{
    let entry = segment.into_edge(planner);
    planner.graph.operator(tail_name, entry, tail, exit);
}

/// A source, and no operator yet.
pub struct FromSource<S> {
    pub(crate) name: String,
    pub(crate) source: S,
    pub(crate) strategy: WatermarkStrategy,
}

impl<S: Source + 'static> Segment<S::Item> for FromSource<S> {
    type BeforeState = Cut<Self>;

    fn before_state(self) -> Cut<Self> {
        Cut(self)
    }

    fn close<X: ExitPlan<S::Item>>(self, planner: &mut Planner, exit: X, exit_name: &str) {
        self.fuse(planner, Identity, exit_name, exit);
    }

    fn fuse<P, X>(self, planner: &mut Planner, tail: P, tail_name: &str, exit: X)
    where
        P: Operator<S::Item> + 'static,
        P::Out: Send + 'static,
        X: ExitPlan<P::Out>,
    {
        planner.graph.source(join(&self.name, tail_name), self.source, self.strategy, tail, exit);
    }
}

/// A piece and an operator behind it that holds no state.
pub struct Chained<H, In, P> {
    pub(crate) head: H,
    pub(crate) operator: P,
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

    fn close<X: ExitPlan<P::Out>>(self, planner: &mut Planner, exit: X, exit_name: &str) {
        close_chain(self.head, self.operator, planner, exit, exit_name);
    }

    fn fuse<Q, X>(self, planner: &mut Planner, tail: Q, tail_name: &str, exit: X)
    where
        Q: Operator<P::Out> + 'static,
        Q::Out: Send + 'static,
        X: ExitPlan<Q::Out>,
    {
        let name = join(self.operator.name(), tail_name);
        self.head.fuse(planner, Then::new(self.operator, tail), &name, exit);
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

    fn close<X: ExitPlan<P::Out>>(self, planner: &mut Planner, exit: X, exit_name: &str) {
        self.0.close(planner, exit, exit_name);
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

fn close_chain<In, H, P, X>(head: H, operator: P, planner: &mut Planner, exit: X, exit_name: &str)
where
    H: Segment<In>,
    In: Send + 'static,
    P: Operator<In> + Named + 'static,
    P::Out: Send + 'static,
    X: ExitPlan<P::Out>,
{
    let name = join(operator.name(), exit_name);
    match planner.chaining {
        Chaining::None => cut(head, planner, operator, &name, exit),
        Chaining::Default => head.fuse(planner, operator, &name, exit),
    }
}

/// The place where a chain breaks before an operator that holds state.
pub struct Cut<C>(C);

impl<T: Send + 'static, C: Segment<T>> Segment<T> for Cut<C> {
    type BeforeState = Self;

    fn before_state(self) -> Self {
        self
    }

    fn close<X: ExitPlan<T>>(self, planner: &mut Planner, exit: X, exit_name: &str) {
        self.0.close(planner, exit, exit_name);
    }

    fn fuse<P, X>(self, planner: &mut Planner, tail: P, tail_name: &str, exit: X)
    where
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: ExitPlan<P::Out>,
    {
        cut(self.0, planner, tail, tail_name, exit);
    }
}

/// A piece whose make-up is forgotten: it ends at an edge, and its type says no more than what flows there. So
/// functions can take and return `Stream<T>`, and loops can build streams.
pub struct Erased<T: Send + 'static> {
    lower: Box<dyn FnOnce(&mut Planner, EdgeExit<T>)>,
}

impl<T: Send + 'static> Erased<T> {
    pub(crate) fn new<C: Segment<T>>(segment: C) -> Self {
        Erased { lower: Box::new(move |planner, exit| segment.close(planner, exit, "")) }
    }
}

impl<T: Send + 'static> Segment<T> for Erased<T> {
    type BeforeState = Self;

    fn before_state(self) -> Self {
        self
    }

    fn close<X: ExitPlan<T>>(self, planner: &mut Planner, exit: X, exit_name: &str) {
        self.fuse(planner, Identity, exit_name, exit);
    }

    fn fuse<P, X>(self, planner: &mut Planner, tail: P, tail_name: &str, exit: X)
    where
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: ExitPlan<P::Out>,
    {
        cut(self, planner, tail, tail_name, exit);
    }

    /// The edge it ends at anyway.
    fn into_edge(self, planner: &mut Planner) -> EdgeEntry<T> {
        let (exit, entry) = planner.graph.edge();
        (self.lower)(planner, exit);
        entry
    }
}

#[cfg(test)]
mod tests;
