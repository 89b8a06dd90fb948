//! Streams that separate, and streams that meet.
//!
//! ```text
//!   Stream<T>              --share-->  SharedStream<T>  --branch-->  Stream<T>, as often as asked
//!   Stream<T>              --split-->  (Stream<A>, Stream<B>)
//!   Stream<T>, Stream<T>   --union-->  Stream<T>
//! ```
//!
//! Branches may meet again: input on every edge is read as it arrives, so no branch waits for another, however small
//! the memory of edges is.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;

use thalweg_model::Either;
use thalweg_operators::{Identity, Map};
use thalweg_runtime::{EitherOutputHandle, PlanError};

use super::{Stream, chained};
use crate::draft::{Draft, OperatorName};
use crate::segment::{BothOf, Branch, Chaining, FromEdges, Part, Planner, Segment, SeveralOf, SidesOf, Slot};

/// The two streams that a stream was split into.
pub type Parts<A, B> = (Stream<A, FromEdges<Part<A>>>, Stream<B, FromEdges<Part<B>>>);

/// A stream that several others begin with; each [`branch`](SharedStream::branch) sees all its values.
///
/// The values are in memory once. Branches read them in place and clone those that they take, so `T` is best plain
/// data. A block of memory is reused when the slowest branch has passed it.
#[must_use = "a shared stream that nobody branches off from is refused when the query is planned"]
pub struct SharedStream<T: Clone + Send + Sync + 'static> {
    draft: Rc<RefCell<Draft>>,
    edge: Slot<thalweg_runtime::graph::SharedEdge<T>>,
    /// True if, in every branch so far, a merging operator (whose partial results of each worker are merged)
    /// comes before any keyed or serial one.
    all_gather: Rc<Cell<bool>>,
}

impl<T: Clone + Send + Sync + 'static> SharedStream<T> {
    /// Begins a branch: a stream that sees all values of the shared stream, in their order.
    pub fn branch(&self) -> Stream<T, FromEdges<Branch<T>>> {
        let (index, label) = self.draft.borrow_mut().begin_branch(&self.all_gather);
        let segment = FromEdges { edges: Branch(self.edge.clone()), label };
        Stream { draft: Rc::clone(&self.draft), index, segment, value: PhantomData }
    }
}

impl<T: Send + 'static, C: Segment<T>> Stream<T, C> {
    /// Ends the stream where others begin: each [`branch`](SharedStream::branch) sees all its values.
    ///
    /// ```
    /// # use thalweg::{Segment, Stream};
    /// # use thalweg_connectors::Collect;
    /// # fn f<C: Segment<i64>>(numbers: Stream<i64, C>, odd: Collect<i64>, all: Collect<i64>) {
    /// let numbers = numbers.share();
    /// numbers.branch().filter(|number| number % 2 == 1).sink("odd", odd);
    /// numbers.branch().sink("all", all);
    /// # }
    /// ```
    pub fn share(self) -> SharedStream<T>
    where
        T: Clone + Sync,
    {
        let Stream { draft, index, segment, .. } = self;
        let (edge, all_gather) = (Slot::new(), Rc::new(Cell::new(true)));
        let (filled, do_all_gather) = (edge.clone(), Rc::clone(&all_gather));
        let lower = move |planner: &mut Planner| {
            // The shared stream is planned only after all its branches have ended. So it is final by now
            // whether, in every branch, a merging operator comes before any keyed or serial one (see
            // `Gathers`).
            let kind = planner.kind_of_shared(&segment, do_all_gather.get());
            let (output, edge) = planner.graph.shared_edge(kind);
            planner.end(segment, output);
            filled.fill(edge);
        };
        draft.borrow_mut().finish(index, C::GATHERS, Box::new(lower));
        SharedStream { draft, edge, all_gather }
    }

    /// Splits the stream in two: `choose` sends each value to one of them, in its order and with its event time.
    /// While one of them has no room, the other waits as well.
    ///
    /// ```
    /// # use thalweg::{Either, Segment, Stream};
    /// # use thalweg_connectors::Collect;
    /// # fn f<C: Segment<Result<i64, String>>>(read: Stream<Result<i64, String>, C>, good: Collect<i64>, bad: Collect<String>) {
    /// let (numbers, errors) = read.split(|result| match result {
    ///     Ok(number) => Either::Left(number),
    ///     Err(error) => Either::Right(error),
    /// });
    /// numbers.sink("numbers", good);
    /// errors.sink("errors", bad);
    /// # }
    /// ```
    pub fn split<A, B, F>(self, choose: F) -> Parts<A, B>
    where
        A: Send + 'static,
        B: Send + 'static,
        F: Fn(T) -> Either<A, B> + Send + Sync + 'static,
    {
        self.follow("split", |head, label| chained(head, Map::new("", choose), label)).part()
    }

    /// Unites two streams of one query: the values of both, each with its event time. Values of one stream keep their
    /// order; the interleaving of the two is not promised. No result depends on it, because lateness is judged by the
    /// watermarks of the stream that a value came from.
    ///
    /// ```
    /// # use thalweg::{Segment, Stream};
    /// # fn f<A: Segment<i64>, B: Segment<i64>>(north: Stream<i64, A>, south: Stream<i64, B>) -> Stream<i64, impl Segment<i64>> {
    /// north.union(south)
    /// # }
    /// ```
    pub fn union<D: Segment<T>>(self, other: Stream<T, D>) -> Stream<T, FromEdges<BothOf<C, D>>> {
        self.meet(other, "union", BothOf)
    }

    /// Unites this stream with one of another type, for an operator that reads both: values of this stream come as
    /// [`Either::Left`], values of the other as [`Either::Right`]. Their interleaving is not promised. If the operator is
    /// [keyed](thalweg_model::Sharing::Keyed), its keys divide both streams among its copies. Values of a shared stream are
    /// read in place and cloned.
    ///
    /// ```
    /// # use thalweg::{Either, Operator, Segment, Stream};
    /// # fn f<A: Segment<u32>, B: Segment<String>, P>(numbers: Stream<u32, A>, names: Stream<String, B>, matching: P) -> Stream<String, impl Segment<String>>
    /// # where P: Operator<Either<u32, String>, Out = String> + 'static {
    /// numbers.connect(names).process(matching)
    /// # }
    /// ```
    pub fn connect<R, D>(self, other: Stream<R, D>) -> Stream<Either<T, R>, FromEdges<SidesOf<C, D, T, R>>>
    where
        T: Clone,
        R: Clone + Send + 'static,
        D: Segment<R>,
    {
        self.meet(other, "connect", SidesOf::new)
    }

    /// Unites this stream with any number of others of the same type.
    pub fn union_all(
        self,
        others: impl IntoIterator<Item = Stream<T, C>>,
    ) -> Stream<T, FromEdges<SeveralOf<C>>> {
        let draft = Rc::clone(&self.draft);
        let (mut indexes, mut segments) = (Vec::new(), Vec::new());
        for stream in std::iter::once(self).chain(others) {
            if is_same(&draft, &stream.draft) {
                indexes.push((stream.index, C::GATHERS));
            }
            segments.push(stream.segment);
        }
        let (index, label) = draft.borrow_mut().unite(&indexes, "union");
        Stream { draft, index, segment: FromEdges { edges: SeveralOf(segments), label }, value: PhantomData }
    }

    /// Ends this stream and another one in a new stream, such as a union or a join of both. `kind` names it,
    /// if a task needs a name for a stream without operators.
    pub(crate) fn meet<R, U, D, E>(
        self,
        other: Stream<R, D>,
        kind: &'static str,
        by: impl FnOnce(C, D) -> E,
    ) -> Stream<U, FromEdges<E>>
    where
        R: Send + 'static,
        D: Segment<R>,
        U: Send + 'static,
    {
        let Stream { draft, index, segment, .. } = self;
        let both = [(index, C::GATHERS), (other.index, D::GATHERS)];
        let ours = if is_same(&draft, &other.draft) { &both[..] } else { &both[..1] };
        let (index, label) = draft.borrow_mut().unite(ours, kind);
        let segment = FromEdges { edges: by(segment, other.segment), label };
        Stream { draft, index, segment, value: PhantomData }
    }
}

impl<A: Send + 'static, B: Send + 'static, C: Segment<Either<A, B>>> Stream<Either<A, B>, C> {
    /// Separates the left and the right values into two streams. This is for operators with a side output,
    /// such as results and late records.
    pub fn part(self) -> Parts<A, B> {
        let Stream { draft, index, segment, .. } = self;
        let (left, right) = (Slot::new(), Slot::new());
        let (filled_left, filled_right) = (left.clone(), right.clone());
        let label = draft.borrow_mut().label(OperatorName::Kind("part"));
        let lower = move |planner: &mut Planner| {
            let kind = planner.kind_of_parts(&segment);
            let (left, left_input) = planner.graph.edge_of(kind);
            let (right, right_input) = planner.graph.edge_of(kind);
            let output = EitherOutputHandle { left, right };
            match planner.chaining {
                Chaining::None => planner.follow(segment, Identity, &planner.name(label), output),
                Chaining::Default | Chaining::All => segment.close(planner, output, ""),
            }
            filled_left.fill(left_input);
            filled_right.fill(right_input);
        };
        let mut drafting = draft.borrow_mut();
        drafting.finish(index, C::GATHERS, Box::new(lower));
        let ((left_index, left_label), (right_index, right_label)) =
            (drafting.begin_behind("left part"), drafting.begin_behind("right part"));
        drop(drafting);
        let left = FromEdges { edges: Part(left), label: left_label };
        let right = FromEdges { edges: Part(right), label: right_label };
        let left = Stream { draft: Rc::clone(&draft), index: left_index, segment: left, value: PhantomData };
        (left, Stream { draft, index: right_index, segment: right, value: PhantomData })
    }
}

/// Returns true if two streams belong to one query, as streams that are united or joined must. Otherwise
/// keeps the error for when the query is planned.
fn is_same(draft: &Rc<RefCell<Draft>>, other: &Rc<RefCell<Draft>>) -> bool {
    let is_same = Rc::ptr_eq(draft, other);
    if !is_same {
        let error = PlanError::OtherQuery { other: other.borrow().name().to_owned() };
        draft.borrow_mut().refuse(error);
    }
    is_same
}
