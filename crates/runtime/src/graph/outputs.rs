//! Outputs of planned tasks: the writing end of a link, several such ends, or a sink. Each output is a value
//! that can be used once. A link of containers (the unclaimed blocks of each epoch) or of partitions gives a
//! value to each of its writers.

use std::sync::Arc;

use thalweg_model::{Addressed, Either, Sink};

use super::Graph;
use super::link::{EdgeKind, Feed, Written};
use crate::epochs::EpochTracker;
use crate::output::{Delivered, TaskOutput, ToAddressed, ToContainers, ToEdge, ToEdges, ToQueue, ToSink};

/// An output of a planned task: the writing end of a link (an edge or the like), several such ends, or a
/// sink.
pub trait OutputPlan<T>: Send + 'static {
    /// The type through which the running task writes, if edges are made of blocks.
    type Output: TaskOutput<T> + 'static;

    /// Calls `each` with the number of every edge of this output. A sink has no edge.
    fn visit_edges(&self, each: &mut dyn FnMut(usize));

    /// Makes the output through which the task writes, when the edges are open.
    fn open(self, delivered: &OutputContext) -> Self::Output;

    /// The type through which the running task writes, if edges are queues.
    type Queued: TaskOutput<T> + 'static;

    /// Makes the output through which the task writes queues, when the edges are open.
    fn open_queued(self, delivered: &OutputContext) -> Self::Queued;

    /// True if the edges of this output may be queues instead of blocks.
    const MAY_QUEUE: bool = true;

    /// True if this output is one edge, or containers (the unclaimed blocks of each epoch) in place of one
    /// edge.
    const IS_EDGE: bool = false;

    /// True if this output may be partitions: one edge for each of several writers.
    const MAY_BE_PARTITIONS: bool = false;

    /// Returns the way in which the edges of this output move their records. An output without edges returns
    /// [`EdgeKind::Ordered`].
    fn kind(&self) -> EdgeKind {
        EdgeKind::Ordered
    }

    /// Returns the output of one more writer: to the same containers (the unclaimed blocks of each epoch), or
    /// to one more partition. Returns `None` for other kinds of output, because they have one writer.
    fn again(&self, graph: &mut Graph) -> Option<Self>
    where
        Self: Sized,
    {
        let _ = graph;
        None
    }

    /// Returns the epoch trackers of the readers of this output that workers share, if it leads to
    /// containers (the unclaimed blocks of each epoch) that are open.
    #[doc(hidden)]
    fn trackers(&self) -> Vec<Arc<EpochTracker>> {
        Vec::new()
    }

    /// Makes the output of one more split of the source into the containers (the unclaimed blocks of each
    /// epoch) to which this output leads.
    #[doc(hidden)]
    fn open_split(&self) -> Option<ToContainers<T>>
    where
        T: Send + 'static,
    {
        None
    }

    /// Makes the output of one more copy of a chain into the containers (the unclaimed blocks of each epoch)
    /// to which this output leads. The copy derives its records from blocks that it claims.
    #[doc(hidden)]
    fn open_claimed(&self) -> Option<ToContainers<T>>
    where
        T: Send + 'static,
    {
        None
    }
}

/// Context that every output of a query gets when it is made: the query's counts of results and latencies at
/// its sinks.
pub struct OutputContext(pub(super) Arc<Delivered>);

/// Writing end of a link: of an edge, of containers (the unclaimed blocks of each epoch) or of partitions.
pub struct OutputHandle<T: Send + 'static>(pub(super) Arc<dyn Written<T>>);

impl<T: Send + 'static> OutputHandle<T> {
    /// Returns a second handle to the partitions of this output, for another set of writers.
    fn share_partitions(&self) -> Self {
        assert!(self.0.kind() == EdgeKind::Partitions, "an edge has one writer");
        OutputHandle(Arc::clone(&self.0))
    }
}

impl<T: Send + 'static> OutputPlan<T> for OutputHandle<T> {
    type Output = ToEdge<T>;

    fn visit_edges(&self, each: &mut dyn FnMut(usize)) {
        assert!(self.0.kind() != EdgeKind::Partitions, "every writer of partitions gets its own");
        each(self.0.index());
    }

    fn open(self, _context: &OutputContext) -> ToEdge<T> {
        ToEdge(self.0.take_writer().blocks())
    }

    type Queued = ToQueue<T>;

    fn open_queued(self, _context: &OutputContext) -> ToQueue<T> {
        ToQueue(self.0.take_writer().queue())
    }

    const IS_EDGE: bool = true;

    const MAY_BE_PARTITIONS: bool = true;

    fn kind(&self) -> EdgeKind {
        self.0.kind()
    }

    fn again(&self, graph: &mut Graph) -> Option<Self> {
        match self.0.kind() {
            EdgeKind::Ordered => None,
            EdgeKind::Containers => Some(OutputHandle(Arc::clone(&self.0))),
            EdgeKind::Partitions => Some(self.0.more(graph)),
        }
    }

    fn trackers(&self) -> Vec<Arc<EpochTracker>> {
        self.0.feed().lock().as_ref().map_or(Vec::new(), Feed::trackers)
    }

    fn open_split(&self) -> Option<ToContainers<T>> {
        self.0.feed().lock().as_ref().map(Feed::open_split)
    }

    fn open_claimed(&self) -> Option<ToContainers<T>> {
        self.0.feed().lock().as_ref().map(Feed::open_claimed)
    }
}

/// Two edges as the output of an operator that emits `Either` values, one edge for the values of each side.
pub struct EitherOutputHandle<L: Send + 'static, R: Send + 'static> {
    /// The edge that carries the values of [`Either::Left`].
    pub left: OutputHandle<L>,
    /// The edge that carries the values of [`Either::Right`].
    pub right: OutputHandle<R>,
}

impl<L: Send + 'static, R: Send + 'static> OutputPlan<Either<L, R>> for EitherOutputHandle<L, R> {
    type Output = ToEdges<ToEdge<L>, ToEdge<R>>;

    fn visit_edges(&self, each: &mut dyn FnMut(usize)) {
        self.left.visit_edges(each);
        self.right.visit_edges(each);
    }

    fn open(self, context: &OutputContext) -> Self::Output {
        ToEdges { left: self.left.open(context), right: self.right.open(context) }
    }

    type Queued = ToEdges<ToQueue<L>, ToQueue<R>>;

    fn open_queued(self, context: &OutputContext) -> Self::Queued {
        ToEdges { left: self.left.open_queued(context), right: self.right.open_queued(context) }
    }

    const MAY_BE_PARTITIONS: bool = true;

    fn kind(&self) -> EdgeKind {
        self.left.kind()
    }

    fn again(&self, graph: &mut Graph) -> Option<Self> {
        Some(EitherOutputHandle { left: self.left.again(graph)?, right: self.right.again(graph)? })
    }
}

/// The output of an exchange: one edge or one set of partitions to each reader. The key of a record selects
/// the reader.
pub struct AddressedOutputHandle<T: Send + 'static>(pub(super) Vec<OutputHandle<T>>);

impl<T: Send + 'static> AddressedOutputHandle<T> {
    /// Returns a second handle to the partitions of this output, for another set of writers.
    pub fn share(&self) -> Self {
        AddressedOutputHandle(self.0.iter().map(OutputHandle::share_partitions).collect())
    }
}

impl<T: Send + 'static> OutputPlan<Addressed<T>> for AddressedOutputHandle<T> {
    type Output = ToAddressed<T>;

    fn visit_edges(&self, each: &mut dyn FnMut(usize)) {
        self.0.iter().for_each(|edge| edge.visit_edges(each));
    }

    fn open(self, context: &OutputContext) -> ToAddressed<T> {
        ToAddressed::new(self.0.into_iter().map(|edge| edge.open(context).0).collect())
    }

    type Queued = ToAddressed<T>;

    fn open_queued(self, _context: &OutputContext) -> ToAddressed<T> {
        unreachable!("plans of it are refused where edges are queues")
    }

    const MAY_QUEUE: bool = false;

    const MAY_BE_PARTITIONS: bool = true;

    fn kind(&self) -> EdgeKind {
        self.0.first().map_or(EdgeKind::Ordered, OutputHandle::kind)
    }

    fn again(&self, graph: &mut Graph) -> Option<Self> {
        self.0.iter().map(|edge| edge.again(graph)).collect::<Option<_>>().map(AddressedOutputHandle)
    }
}

/// A sink as the end of a planned task.
pub struct SinkPlan<S>(pub S);

impl<T, S: Sink<T> + 'static> OutputPlan<T> for SinkPlan<S> {
    type Output = ToSink<S>;

    fn visit_edges(&self, _each: &mut dyn FnMut(usize)) {}

    fn open(self, context: &OutputContext) -> ToSink<S> {
        ToSink::new(self.0, Arc::clone(&context.0))
    }

    type Queued = ToSink<S>;

    fn open_queued(self, context: &OutputContext) -> ToSink<S> {
        <Self as OutputPlan<T>>::open(self, context)
    }
}
