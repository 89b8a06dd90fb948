//! Segments that begin at edges: branches of a shared stream, parts of a split stream, and unions and joins of
//! several streams.
//!
//! Such a segment holds no operator. The operator that follows reads the edges itself, so nothing is copied in
//! between, whatever the chaining.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;

use thalweg_model::{Either, Operator};
use thalweg_operators::{Address, LeftOf, Only, RightOf};
use thalweg_runtime::graph::{Both, Several, SharedEdge, SharedInputHandle, Sides};
use thalweg_runtime::{EdgeKind, InputHandle, InputPlan, OutputPlan};

use super::{Allowed, Gathers, Isolated, PartitionOf, Planner, STREAMS_OF_PARTITIONS_MAX, Segment};
use crate::draft::Label;

/// The edges from other streams that a segment begins with.
pub trait EdgeInputs<T: Send + 'static>: Sized + 'static {
    /// The ways of sharing that edges of this type may allow, see [`Segment::MAY`].
    const MAY: Allowed;

    /// Returns the ways in which several workers may share the operators behind these edges.
    fn allowed(&self, planner: &Planner) -> Allowed;

    /// Type of the input handle by which one instance of a keyed operator reads these edges.
    type Instance: InputPlan<T>;

    /// Turns the streams that end in these edges into tasks, up to an exchange by the keys of `operator`.
    /// Returns the input handle of each instance of the operator.
    fn exchange<P>(from: FromEdges<Self>, planner: &mut Planner, operator: &P) -> Vec<Self::Instance>
    where
        P: Operator<T> + 'static;

    /// Type of the input handle by which one task reads all these edges.
    type Input: InputPlan<T>;

    /// Turns the streams that end in these edges into tasks, and returns the handle by which one task reads
    /// the edges.
    fn input(self, planner: &mut Planner) -> Self::Input;
}

/// A segment of a stream that begins at edges from other streams, and has no operator.
pub struct FromEdges<E> {
    pub(crate) edges: E,
    /// Name of the task that reads the edges, if the task holds no operator.
    pub(crate) label: Label,
}

impl<T: Send + 'static, E: EdgeInputs<T>> Segment<T> for FromEdges<E> {
    type BeforeState = Self;

    fn before_state(self) -> Self {
        self
    }

    type Isolated = Isolated<Self>;

    fn isolate(self) -> Isolated<Self> {
        Isolated(self)
    }

    const MAY: Allowed = E::MAY;

    fn allowed(&self, planner: &Planner) -> Allowed {
        self.edges.allowed(planner)
    }

    const GATHERS: Gathers = Gathers::NotYet;

    type Instance = E::Instance;

    fn exchange<P: Operator<T> + 'static>(self, planner: &mut Planner, operator: &P) -> Vec<Self::Instance> {
        E::exchange(self, planner, operator)
    }

    type Input = E::Input;

    fn input(self, planner: &mut Planner, _kind: EdgeKind) -> E::Input {
        self.edges.input(planner)
    }

    fn fuse<P, X>(self, planner: &mut Planner, tail: P, tail_name: &str, output: X)
    where
        P: Operator<T> + 'static,
        P::Out: Send + 'static,
        X: OutputPlan<P::Out>,
    {
        let name = if tail_name.is_empty() { planner.name(self.label) } else { tail_name.to_owned() };
        planner.cut(self, tail, &name, output);
    }
}

/// Slot in which the planning of a stream leaves the edge at the stream's end, for the streams that read it. Streams
/// are planned in the order in which they were begun, so the slot is filled before it is read.
pub(crate) struct Slot<E>(Rc<RefCell<Option<E>>>);

impl<E> Clone for Slot<E> {
    fn clone(&self) -> Self {
        Slot(Rc::clone(&self.0))
    }
}

impl<E> Slot<E> {
    pub(crate) fn new() -> Self {
        Slot(Rc::new(RefCell::new(None)))
    }

    pub(crate) fn fill(&self, end: E) {
        *self.0.borrow_mut() = Some(end);
    }
}

/// The edge of a shared stream, which each of its branches begins with.
pub struct Branch<T: Clone + Send + Sync + 'static>(pub(crate) Slot<SharedEdge<T>>);

impl<T: Clone + Send + Sync + 'static> EdgeInputs<T> for Branch<T> {
    const MAY: Allowed = Allowed { shared: true, spread: true, exchange: true };

    fn allowed(&self, _planner: &Planner) -> Allowed {
        let kind = self.0.0.borrow().as_ref().map(SharedEdge::kind);
        let shared = kind == Some(EdgeKind::Containers);
        Allowed { shared, spread: kind == Some(EdgeKind::Partitions), exchange: !shared }
    }

    type Instance = Several<InputHandle<T>>;

    fn exchange<P>(from: FromEdges<Self>, planner: &mut Planner, operator: &P) -> Vec<Self::Instance>
    where
        P: Operator<T> + 'static,
    {
        planner.exchange_by_key(from, operator)
    }

    type Input = SharedInputHandle<T>;

    fn input(self, planner: &mut Planner) -> SharedInputHandle<T> {
        let edge = self.0.0.borrow();
        planner.graph.reader(edge.as_ref().expect("the shared stream is planned before its branches"))
    }
}

/// The edge to one of the two streams that a stream was split into.
pub struct Part<T: Send + 'static>(pub(crate) Slot<InputHandle<T>>);

impl<T: Send + 'static> EdgeInputs<T> for Part<T> {
    const MAY: Allowed = Allowed { shared: false, spread: true, exchange: true };

    fn allowed(&self, _planner: &Planner) -> Allowed {
        let kind = self.0.0.borrow().as_ref().map(InputHandle::kind);
        Allowed { spread: kind == Some(EdgeKind::Partitions), ..Self::MAY }
    }

    type Instance = Several<InputHandle<T>>;

    fn exchange<P>(from: FromEdges<Self>, planner: &mut Planner, operator: &P) -> Vec<Self::Instance>
    where
        P: Operator<T> + 'static,
    {
        planner.exchange_by_key(from, operator)
    }

    type Input = InputHandle<T>;

    fn input(self, _planner: &mut Planner) -> InputHandle<T> {
        self.0.0.borrow_mut().take().expect("the stream that was split is planned before its parts")
    }
}

/// The edges of a union of two streams of one type.
pub struct BothOf<C, D>(pub(crate) C, pub(crate) D);

impl<T: Send + 'static, C: Segment<T>, D: Segment<T>> EdgeInputs<T> for BothOf<C, D> {
    const MAY: Allowed = Allowed { exchange: C::MAY.exchange && D::MAY.exchange, ..Allowed::NOTHING };

    fn allowed(&self, planner: &Planner) -> Allowed {
        let exchanges =
            planner.exchanges(self.0.allowed(planner)) && planner.exchanges(self.1.allowed(planner));
        Allowed { exchange: exchanges, ..Allowed::NOTHING }
    }

    type Instance = Several<InputHandle<T>>;

    fn exchange<P>(from: FromEdges<Self>, planner: &mut Planner, operator: &P) -> Vec<Self::Instance>
    where
        P: Operator<T> + 'static,
    {
        let (output, inputs) = planner.graph.exchange(planner.keyed_copies());
        let copies = planner.keyed_copies() as usize;
        planner.address(from.edges.0, Address::<_, Only>::new(operator.keys(), copies), output.share());
        planner.address(from.edges.1, Address::<_, Only>::new(operator.keys(), copies), output);
        inputs.into_iter().map(|input| Several(input.partitions())).collect()
    }

    type Input = Both<Several<PartitionOf<T, C>>, Several<PartitionOf<T, D>>>;

    fn input(self, planner: &mut Planner) -> Self::Input {
        let first = planner.input_of(self.0);
        Both(first, planner.input_of(self.1))
    }
}

/// The edges of a union of any number of streams of one type.
pub struct SeveralOf<C>(pub(crate) Vec<C>);

impl<C> SeveralOf<C> {
    /// Returns whether there are so many streams that one task cannot read the greatest number of partitions of each. Then
    /// each stream ends in one edge.
    fn is_wide(&self) -> bool {
        self.0.len() > STREAMS_OF_PARTITIONS_MAX
    }
}

impl<T: Send + 'static, C: Segment<T>> EdgeInputs<T> for SeveralOf<C> {
    const MAY: Allowed = Allowed { exchange: C::MAY.exchange, ..Allowed::NOTHING };

    fn allowed(&self, planner: &Planner) -> Allowed {
        let exchange =
            !self.is_wide() && self.0.iter().all(|segment| planner.exchanges(segment.allowed(planner)));
        Allowed { exchange, ..Allowed::NOTHING }
    }

    type Instance = Several<InputHandle<T>>;

    fn exchange<P>(from: FromEdges<Self>, planner: &mut Planner, operator: &P) -> Vec<Self::Instance>
    where
        P: Operator<T> + 'static,
    {
        let (output, inputs) = planner.graph.exchange(planner.keyed_copies());
        let copies = planner.keyed_copies() as usize;
        for segment in from.edges.0 {
            planner.address(segment, Address::<_, Only>::new(operator.keys(), copies), output.share());
        }
        inputs.into_iter().map(|input| Several(input.partitions())).collect()
    }

    type Input = Several<PartitionOf<T, C>>;

    fn input(self, planner: &mut Planner) -> Self::Input {
        let is_wide = self.is_wide();
        let each = |segment: C| match is_wide {
            true => segment.input(planner, EdgeKind::Ordered).partitions(),
            false => planner.input_of(segment).0,
        };
        Several(self.0.into_iter().flat_map(each).collect())
    }
}

/// The edges of two streams that are joined; a value tells whether it comes from the left or the right one.
pub struct SidesOf<C, D, L, R> {
    left: C,
    right: D,
    values: PhantomData<fn() -> (L, R)>,
}

impl<C, D, L, R> SidesOf<C, D, L, R> {
    pub(crate) fn new(left: C, right: D) -> Self {
        SidesOf { left, right, values: PhantomData }
    }
}

impl<L, R, C, D> EdgeInputs<Either<L, R>> for SidesOf<C, D, L, R>
where
    L: Clone + Send + 'static,
    R: Clone + Send + 'static,
    C: Segment<L>,
    D: Segment<R>,
{
    const MAY: Allowed = Allowed { exchange: C::MAY.exchange || D::MAY.exchange, ..Allowed::NOTHING };

    fn allowed(&self, planner: &Planner) -> Allowed {
        let exchange =
            planner.exchanges(self.left.allowed(planner)) || planner.exchanges(self.right.allowed(planner));
        Allowed { exchange, ..Allowed::NOTHING }
    }

    type Instance = Sides<Several<InputHandle<L>>, Several<InputHandle<R>>>;

    fn exchange<P>(from: FromEdges<Self>, planner: &mut Planner, operator: &P) -> Vec<Self::Instance>
    where
        P: Operator<Either<L, R>> + 'static,
    {
        let copies = planner.keyed_copies() as usize;
        let of_left = Address::<_, LeftOf<R>>::new(operator.keys(), copies);
        let lefts = planner.exchange_of(from.edges.left, of_left);
        let of_right = Address::<_, RightOf<L>>::new(operator.keys(), copies);
        let rights = planner.exchange_of(from.edges.right, of_right);
        lefts.into_iter().zip(rights).map(|(left, right)| Sides { left, right }).collect()
    }

    type Input = Sides<Several<PartitionOf<L, C>>, Several<PartitionOf<R, D>>>;

    fn input(self, planner: &mut Planner) -> Self::Input {
        let left = planner.input_of(self.left);
        Sides { left, right: planner.input_of(self.right) }
    }
}
