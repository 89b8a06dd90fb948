//! Outputs of planned tasks: the writing end of a link, several such ends, or a sink. Each is a value that
//! can be used once. Containers and partitions give a value to each writer.

use std::sync::Arc;

use thalweg_model::{Addressed, Either, Sink};

use super::Graph;
use super::link::{EdgeKind, Feed, Written};
use crate::epochs::EpochTracker;
use crate::output::{Delivered, TaskOutput, ToAddressed, ToContainers, ToEdge, ToEdges, ToQueue, ToSink};

/// Output of a planned task.
pub trait OutputPlan<T>: Send + 'static {
    /// Type of the output when it is open.
    type Output: TaskOutput<T> + 'static;

    /// Calls `each` with every edge. A sink has no edge.
    fn visit_edges(&self, each: &mut dyn FnMut(usize));

    /// Makes the output, when the edges are open.
    fn open(self, delivered: &OutputContext) -> Self::Output;

    /// Type of the output if edges are queues.
    type Queued: TaskOutput<T> + 'static;

    /// Makes the output that writes queues, when the edges are open.
    fn open_queued(self, delivered: &OutputContext) -> Self::Queued;

    /// True if the edges of the output may be queues.
    const MAY_QUEUE: bool = true;

    /// True if the output is one edge, which may be containers.
    const IS_EDGE: bool = false;

    /// True if the output may be partitions.
    const MAY_BE_PARTITIONS: bool = false;

    /// Returns the transport of the edges. An output without edges returns [`EdgeKind::Ordered`].
    fn kind(&self) -> EdgeKind {
        EdgeKind::Ordered
    }

    /// Returns one more end of the same containers, or one more partition, which is an edge. Returns none for
    /// other outputs, because they have one writer.
    fn again(&self, graph: &mut Graph) -> Option<Self>
    where
        Self: Sized,
    {
        let _ = graph;
        None
    }

    /// Returns the trackers of the containers, if the output leads to containers that are open.
    #[doc(hidden)]
    fn trackers(&self) -> Vec<Arc<EpochTracker>> {
        Vec::new()
    }

    /// Opens containers as the output of one more split.
    #[doc(hidden)]
    fn open_split(&self) -> Option<ToContainers<T>>
    where
        T: Send + 'static,
    {
        None
    }

    /// Opens containers as the output of one more copy of a chain that derives its records from claimed
    /// blocks.
    #[doc(hidden)]
    fn open_claimed(&self) -> Option<ToContainers<T>>
    where
        T: Send + 'static,
    {
        None
    }
}

/// Surroundings in which outputs are made.
pub struct OutputContext(pub(super) Arc<Delivered>);

/// Writing end of a link.
pub struct OutputHandle<T: Send + 'static>(pub(super) Arc<dyn Written<T>>);

impl<T: Send + 'static> OutputHandle<T> {
    /// Returns a handle of the same partitions, for other writers.
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

/// Two edges of one kind, one for the values of each type.
pub struct EitherOutputHandle<L: Send + 'static, R: Send + 'static> {
    /// Edge of the values of [`Either::Left`].
    pub left: OutputHandle<L>,
    /// Edge of the values of [`Either::Right`].
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

/// One edge to each reader, or partitions to each reader. The key of a record selects the reader.
pub struct AddressedOutputHandle<T: Send + 'static>(pub(super) Vec<OutputHandle<T>>);

impl<T: Send + 'static> AddressedOutputHandle<T> {
    /// Returns a handle of the same partitions, for other writers.
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

/// A sink as the end of a task.
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
