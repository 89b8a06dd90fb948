//! The two ends of edges while a graph is written: inputs, which tasks read, and outputs, where tasks write. Each is a
//! value that can be used once; inputs can be put together, outputs can part.

use std::sync::Arc;

use thalweg_memory::edge::EdgeError;
use thalweg_memory::sync::Mutex;
use thalweg_memory::{Block, BlockPool, BlockShape, Cursors, EdgeOptions, Pool, QueueOptions};
use thalweg_model::{Addressed, Either, Horizon, Record, Sink};

use super::Graph;
use super::stage::Opening;
use crate::edge::{EdgeMarks, QueueReader, QueueWriter, Reader, SharedReader, Writer};
use crate::epochs::{Carrier, Containers, Deposit, EpochTracker, FanOut, NoCarrier, Origin, Share};
use crate::limits::EdgeLimits;
use crate::output::{
    Delivered, Epochs, TaskOutput, ToAddressed, ToContainers, ToEdge, ToEdges, ToQueue, ToSink,
};
use crate::ports::{Lent, Many, Ports, Queued, Sided, Taken, United};

/// Takes what an end was given when its edge was opened.
pub(super) type Opened<T> = Arc<Mutex<Option<T>>>;

/// The kinds of edges.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EdgeKind {
    /// Blocks in order, from one writer: Enjima's serial model.
    #[default]
    Ordered,
    /// Containers of epochs, whose blocks any worker may claim: StreamBox's model.
    Containers,
    /// An edge for each writer, of blocks in order; who reads them reads a union: StreamBox's tasks that need order.
    Partitions,
}

/// Makes one more partition: the end to write. Who made the partitions finds the other end.
type MorePartitions<T> = Arc<dyn Fn(&mut Graph) -> OutputHandle<T> + Send + Sync>;

/// Parts from which the outputs of containers are made.
pub struct Feed<T: Send + 'static> {
    target: Arc<dyn Deposit<T>>,
    block_pool: Arc<BlockPool<Record<T>>>,
    /// Trackers of the stages that read them.
    trackers: Vec<Arc<EpochTracker>>,
    splits: Arc<Mutex<Splits>>,
}

/// The sources that write containers.
struct Splits {
    count: usize,
    horizon: Horizon,
    /// How many have been opened.
    opened: usize,
    /// Made when the first is opened: by then all who read are known.
    origin: Option<Arc<Origin>>,
}

impl Splits {
    fn of(opening: &Opening<'_>) -> Arc<Mutex<Self>> {
        let horizon = opening.horizon.clone();
        Arc::new(Mutex::new(Splits { count: opening.splits, horizon, opened: 0, origin: None }))
    }
}

impl<T: Send + 'static> Feed<T> {
    fn again(&self) -> Self {
        let Feed { target, block_pool, trackers, splits } = self;
        let (target, block_pool, splits) = (Arc::clone(target), Arc::clone(block_pool), Arc::clone(splits));
        Feed { target, block_pool, trackers: trackers.clone(), splits }
    }

    fn open(&self, epochs: Epochs) -> ToContainers<T> {
        ToContainers::new(Arc::clone(&self.target), &self.block_pool, epochs)
    }
}

/// The material of an ordered edge.
#[derive(Clone, Copy, Debug)]
pub(super) enum EdgeMaking {
    Blocks(EdgeLimits),
    Queue(QueueOptions),
}

/// An edge that can be opened once the graph has passed its checks.
pub(super) trait OpenEdge: Send {
    /// Opens it for so many readers.
    fn open(&self, pool: &Arc<Pool>, making: EdgeMaking, readers: usize) -> Result<Arc<Cursors>, EdgeError>;
}

/// An end of blocks or of a queue: which it is was decided when the edge was opened, and is known again where its task is
/// built.
pub enum End<B, Q> {
    /// Blocks.
    Blocks(B),
    /// A queue.
    Queue(Q),
}

impl<B, Q> End<B, Q> {
    fn blocks(self) -> B {
        match self {
            End::Blocks(end) => end,
            End::Queue(_) => unreachable!("all edges of a query are made of the same"),
        }
    }

    fn queue(self) -> Q {
        match self {
            End::Queue(end) => end,
            End::Blocks(_) => unreachable!("all edges of a query are made of the same"),
        }
    }
}

pub(super) type WriteEnd<T> = End<Writer<T>, QueueWriter<T>>;
pub(super) type ReadEnd<T> = End<Reader<T>, QueueReader<T>>;
pub(super) type SharedReadEnd<T> = End<SharedReader<T>, QueueReader<T>>;

fn options(limits: EdgeLimits) -> EdgeOptions {
    let EdgeLimits { block_records, chunk_blocks, chunks_max, marks_max } = limits;
    EdgeOptions { shape: BlockShape { block_records, chunk_blocks }, chunks_max, marks_max }
}

/// Both ends of an edge with one reader.
pub(super) struct OwnHandles<T: Send + 'static> {
    pub(super) writer: Opened<WriteEnd<T>>,
    pub(super) reader: Opened<ReadEnd<T>>,
}

impl<T: Send + 'static> OpenEdge for OwnHandles<T> {
    fn open(&self, pool: &Arc<Pool>, making: EdgeMaking, _readers: usize) -> Result<Arc<Cursors>, EdgeError> {
        let (writer, reader, cursors) = match making {
            EdgeMaking::Blocks(limits) => {
                let (writer, reader) = thalweg_memory::edge::<_, EdgeMarks>(pool, options(limits))?;
                let cursors = Arc::clone(reader.cursors());
                (End::Blocks(writer), End::Blocks(reader), cursors)
            }
            EdgeMaking::Queue(options) => {
                let (writer, reader) = thalweg_memory::queue::<_, EdgeMarks>(pool.budget(), options)?;
                let cursors = Arc::clone(reader.cursors());
                (End::Queue(writer), End::Queue(reader), cursors)
            }
        };
        *self.writer.lock() = Some(writer);
        *self.reader.lock() = Some(reader);
        Ok(cursors)
    }
}

/// The ends of an edge with several readers.
pub(super) struct SharedHandles<T: Send + Sync + 'static> {
    pub(super) writer: Opened<WriteEnd<T>>,
    pub(super) readers: Arc<Mutex<Vec<Option<SharedReadEnd<T>>>>>,
}

impl<T: Clone + Send + Sync + 'static> OpenEdge for SharedHandles<T> {
    fn open(&self, pool: &Arc<Pool>, making: EdgeMaking, readers: usize) -> Result<Arc<Cursors>, EdgeError> {
        let (writer, readers, cursors) = match making {
            EdgeMaking::Blocks(limits) => {
                let ends = thalweg_memory::shared_edge::<_, EdgeMarks>(pool, options(limits), readers)?;
                let (writer, readers) = ends;
                let cursors = Arc::clone(readers[0].cursors());
                let readers: Vec<_> = readers.into_iter().map(End::Blocks).map(Some).collect();
                (End::Blocks(writer), readers, cursors)
            }
            EdgeMaking::Queue(options) => {
                let ends = thalweg_memory::shared_queue::<_, EdgeMarks>(pool.budget(), options, readers)?;
                let (writer, readers) = ends;
                let cursors = Arc::clone(readers[0].cursors());
                let readers = readers.into_iter().map(End::Queue).map(Some).collect();
                (End::Queue(writer), readers, cursors)
            }
        };
        *self.writer.lock() = Some(writer);
        *self.readers.lock() = readers;
        Ok(cursors)
    }
}

/// Where a planned task will read.
pub trait InputPlan<T>: Send + 'static {
    /// The type that it becomes.
    type Ports: Ports<T> + 'static;

    /// Calls `each` with every edge and the index of the reader there.
    fn visit_edges(&self, each: &mut dyn FnMut(usize, usize));

    /// Makes the ports, once the edges are open.
    fn open(self) -> Self::Ports;

    /// The type that it becomes where edges are queues.
    type Queued: Ports<T> + 'static;

    /// Makes these, once the edges are open.
    fn open_queued(self) -> Self::Queued;

    /// How records are carried that come from containers.
    #[doc(hidden)]
    type Carrier: Carrier<T>;

    /// Opens the containers that it reads, and tells those who write them. Ends go to `outlets`.
    #[doc(hidden)]
    fn open_containers(
        &self,
        _opening: &Opening<'_>,
        _outlets: Vec<Arc<EpochTracker>>,
    ) -> Result<Arc<Containers<T, Self::Carrier>>, EdgeError>
    where
        T: Send + 'static,
    {
        unreachable!("what several streams meet in is not read from containers");
    }

    /// One of its partitions.
    type Partition: InputPlan<T>;

    /// Each partition by itself: as many as there are writers so far if it is partitions, else one.
    fn partitions(self) -> Vec<Self::Partition>;

    /// Tells those who write this one to write what another reads.
    #[doc(hidden)]
    fn write_as(&self, _other: &Self) {
        unreachable!("what several streams meet in is not read from containers");
    }
}

/// The only reading end of an edge, or of partitions.
pub struct InputHandle<T: Send + 'static> {
    /// The number of the edge; partitions have none.
    pub(super) index: usize,
    pub(super) kind: EdgeKind,
    pub(super) reader: Opened<ReadEnd<T>>,
    pub(super) feed: Opened<Feed<T>>,
    /// If it is partitions: those that there are so far.
    pub(super) partitions: Partitions<InputHandle<T>>,
}

/// Ends of the partitions that there are so far.
pub(super) type Partitions<N> = Arc<Mutex<Vec<N>>>;

/// Instead of the index of an edge: there is none, but partitions.
pub(super) const NO_EDGE: usize = usize::MAX;

impl<T: Send + 'static> InputHandle<T> {
    /// Returns what the edge is made of.
    pub fn kind(&self) -> EdgeKind {
        self.kind
    }

    fn opened(self) -> ReadEnd<T> {
        self.reader.lock().take().expect("edges are opened before tasks are built")
    }
}

impl<T: Send + 'static> InputPlan<T> for InputHandle<T> {
    type Ports = Taken<T>;

    fn visit_edges(&self, each: &mut dyn FnMut(usize, usize)) {
        assert!(self.kind != EdgeKind::Partitions, "partitions are read one by one");
        each(self.index, 0);
    }

    fn open(self) -> Taken<T> {
        Taken(self.opened().blocks())
    }

    type Queued = Queued<T>;

    fn open_queued(self) -> Queued<T> {
        Queued(self.opened().queue())
    }

    type Carrier = Block<Record<T>>;

    fn open_containers(
        &self,
        opening: &Opening<'_>,
        outlets: Vec<Arc<EpochTracker>>,
    ) -> Result<Arc<Containers<T>>, EdgeError> {
        let block_pool = opening.block_pool()?;
        let containers =
            Containers::new(Arc::clone(&block_pool), opening.copies, outlets, opening.claiming());
        let trackers = vec![Arc::clone(&containers.tracker)];
        let target: Arc<dyn Deposit<T>> = Arc::clone(&containers) as _;
        *self.feed.lock() = Some(Feed { target, block_pool, trackers, splits: Splits::of(opening) });
        Ok(containers)
    }

    type Partition = Self;

    fn partitions(self) -> Vec<Self> {
        match self.kind {
            EdgeKind::Partitions => std::mem::take(&mut *self.partitions.lock()),
            EdgeKind::Ordered | EdgeKind::Containers => vec![self],
        }
    }

    fn write_as(&self, other: &Self) {
        *self.feed.lock() = other.feed.lock().as_ref().map(Feed::again);
    }
}

/// One of the reading ends of a shared edge.
pub struct SharedInputHandle<T: Send + Sync + 'static> {
    pub(super) index: usize,
    pub(super) reader: usize,
    pub(super) readers: Arc<Mutex<Vec<Option<SharedReadEnd<T>>>>>,
    pub(super) feed: Opened<Feed<T>>,
    pub(super) containers: SharedContainers<T>,
    /// If it is partitions: one of the reading ends of each.
    pub(super) partitions: Option<Vec<SharedInputHandle<T>>>,
}

/// The containers of all stages that read a shared stream.
pub(super) type SharedContainers<T> = Arc<Mutex<Vec<Arc<Containers<T, Share<T>>>>>>;

impl<T: Send + Sync + 'static> SharedInputHandle<T> {
    fn opened(self) -> SharedReadEnd<T> {
        let reader = self.readers.lock().get_mut(self.reader).and_then(Option::take);
        reader.expect("edges are opened before tasks are built, for all their readers")
    }
}

impl<T: Clone + Send + Sync + 'static> InputPlan<T> for SharedInputHandle<T> {
    type Ports = Lent<T>;

    fn visit_edges(&self, each: &mut dyn FnMut(usize, usize)) {
        assert!(self.partitions.is_none(), "partitions are read one by one");
        each(self.index, self.reader);
    }

    fn open(self) -> Lent<T> {
        Lent(self.opened().blocks())
    }

    type Queued = Queued<T>;

    fn open_queued(self) -> Queued<T> {
        Queued(self.opened().queue())
    }

    type Carrier = Share<T>;

    fn open_containers(
        &self,
        opening: &Opening<'_>,
        outlets: Vec<Arc<EpochTracker>>,
    ) -> Result<Arc<Containers<T, Share<T>>>, EdgeError> {
        let mut feed = self.feed.lock();
        let (block_pool, splits) = match &*feed {
            Some(Feed { block_pool, splits, .. }) => (Arc::clone(block_pool), Arc::clone(splits)),
            None => (opening.block_pool()?, Splits::of(opening)),
        };
        let containers =
            Containers::new(Arc::clone(&block_pool), opening.copies, outlets, opening.claiming());
        let mut all = self.containers.lock();
        all.push(Arc::clone(&containers));
        let trackers = all.iter().map(|containers| Arc::clone(&containers.tracker)).collect();
        *feed = Some(Feed { target: Arc::new(FanOut(all.clone())), block_pool, trackers, splits });
        Ok(containers)
    }

    type Partition = Self;

    fn partitions(mut self) -> Vec<Self> {
        self.partitions.take().unwrap_or_else(|| vec![self])
    }
}

/// Two inputs of one type, read as one.
pub struct Both<M, N>(pub M, pub N);

impl<T, M: InputPlan<T>, N: InputPlan<T>> InputPlan<T> for Both<M, N> {
    type Ports = United<M::Ports, N::Ports>;

    fn visit_edges(&self, each: &mut dyn FnMut(usize, usize)) {
        self.0.visit_edges(each);
        self.1.visit_edges(each);
    }

    fn open(self) -> Self::Ports {
        United(self.0.open(), self.1.open())
    }

    type Queued = United<M::Queued, N::Queued>;

    fn open_queued(self) -> Self::Queued {
        United(self.0.open_queued(), self.1.open_queued())
    }

    type Carrier = NoCarrier;

    type Partition = Self;

    fn partitions(self) -> Vec<Self> {
        vec![self]
    }
}

/// Any number of inputs, read as one.
pub struct Several<N>(pub Vec<N>);

impl<T, N: InputPlan<T>> InputPlan<T> for Several<N> {
    type Ports = Many<N::Ports>;

    fn visit_edges(&self, each: &mut dyn FnMut(usize, usize)) {
        self.0.iter().for_each(|input| input.visit_edges(each));
    }

    fn open(self) -> Self::Ports {
        Many(self.0.into_iter().map(InputPlan::open).collect())
    }

    type Queued = Many<N::Queued>;

    fn open_queued(self) -> Self::Queued {
        Many(self.0.into_iter().map(InputPlan::open_queued).collect())
    }

    type Carrier = N::Carrier;

    fn open_containers(
        &self,
        opening: &Opening<'_>,
        outlets: Vec<Arc<EpochTracker>>,
    ) -> Result<Arc<Containers<T, N::Carrier>>, EdgeError>
    where
        T: Send + 'static,
    {
        let [first, others @ ..] = &self.0[..] else { unreachable!("a stream has splits") };
        let containers = first.open_containers(opening, outlets)?;
        others.iter().for_each(|other| other.write_as(first));
        Ok(containers)
    }

    type Partition = N::Partition;

    fn partitions(self) -> Vec<N::Partition> {
        self.0.into_iter().flat_map(InputPlan::partitions).collect()
    }
}

/// Two inputs of different types, read as one of either.
pub struct Sides<M, N> {
    /// Whose values become [`Either::Left`].
    pub left: M,
    /// Whose values become [`Either::Right`].
    pub right: N,
}

impl<L, R, M, N> InputPlan<Either<L, R>> for Sides<M, N>
where
    L: Clone + 'static,
    R: Clone + 'static,
    M: InputPlan<L>,
    N: InputPlan<R>,
{
    type Ports = Sided<M::Ports, N::Ports, L, R>;

    fn visit_edges(&self, each: &mut dyn FnMut(usize, usize)) {
        self.left.visit_edges(each);
        self.right.visit_edges(each);
    }

    fn open(self) -> Self::Ports {
        Sided::new(self.left.open(), self.right.open())
    }

    type Queued = Sided<M::Queued, N::Queued, L, R>;

    fn open_queued(self) -> Self::Queued {
        Sided::new(self.left.open_queued(), self.right.open_queued())
    }

    type Carrier = NoCarrier;

    type Partition = Self;

    fn partitions(self) -> Vec<Self> {
        vec![self]
    }
}

/// Where a planned task will write.
pub trait OutputPlan<T>: Send + 'static {
    /// The type that it becomes.
    type Output: TaskOutput<T> + 'static;

    /// Calls `each` with every edge, of which a sink has none.
    fn visit_edges(&self, each: &mut dyn FnMut(usize));

    /// Makes the output, once the edges are open.
    fn open(self, delivered: &OutputContext) -> Self::Output;

    /// The type that it becomes where edges are queues.
    type Queued: TaskOutput<T> + 'static;

    /// Makes this, once the edges are open.
    fn open_queued(self, delivered: &OutputContext) -> Self::Queued;

    /// True if its edges may be queues.
    const MAY_QUEUE: bool = true;

    /// True if it is one edge, which may be containers.
    const IS_EDGE: bool = false;

    /// True if it may be partitions.
    const MAY_BE_PARTITIONS: bool = false;

    /// Returns what it is, if it is an edge or two.
    fn kind(&self) -> EdgeKind {
        EdgeKind::Ordered
    }

    /// Returns one more end of the same containers, or one more partition, which is an edge; none if it is something else, which
    /// has one writer.
    fn again(&self, graph: &mut Graph) -> Option<Self>
    where
        Self: Sized,
    {
        let _ = graph;
        None
    }

    /// The trackers of the containers, if it leads there, once they are open.
    #[doc(hidden)]
    fn trackers(&self) -> Vec<Arc<EpochTracker>> {
        Vec::new()
    }

    /// Containers as the output of one more split.
    #[doc(hidden)]
    fn open_split(&self) -> Option<ToContainers<T>>
    where
        T: Send + 'static,
    {
        None
    }

    /// Containers as the output of one more of those who claim what they write it of.
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

/// The end of an edge that a task writes; of partitions, where every writer gets one.
pub struct OutputHandle<T: Send + 'static> {
    /// The number of the edge; partitions have none.
    pub(super) index: usize,
    pub(super) kind: EdgeKind,
    pub(super) writer: Opened<WriteEnd<T>>,
    pub(super) feed: Opened<Feed<T>>,
    /// If it is partitions.
    pub(super) more: Option<MorePartitions<T>>,
}

impl<T: Send + 'static> OutputHandle<T> {
    pub(super) fn of_partitions(
        more: impl Fn(&mut Graph) -> OutputHandle<T> + Send + Sync + 'static,
    ) -> Self {
        let (writer, feed) = (Opened::default(), Opened::default());
        OutputHandle { index: NO_EDGE, kind: EdgeKind::Partitions, writer, feed, more: Some(Arc::new(more)) }
    }

    fn opened(self) -> WriteEnd<T> {
        self.writer.lock().take().expect("edges are opened before tasks are built")
    }

    /// Returns the same partitions, for other writers.
    fn share_partitions(&self) -> Self {
        assert!(self.kind == EdgeKind::Partitions, "an edge has one writer");
        let (writer, feed) = (Opened::default(), Opened::default());
        OutputHandle { index: NO_EDGE, kind: EdgeKind::Partitions, writer, feed, more: self.more.clone() }
    }
}

impl<T: Send + 'static> OutputPlan<T> for OutputHandle<T> {
    type Output = ToEdge<T>;

    fn visit_edges(&self, each: &mut dyn FnMut(usize)) {
        assert!(self.kind != EdgeKind::Partitions, "every writer of partitions gets its own");
        each(self.index);
    }

    fn open(self, _context: &OutputContext) -> ToEdge<T> {
        ToEdge(self.opened().blocks())
    }

    type Queued = ToQueue<T>;

    fn open_queued(self, _context: &OutputContext) -> ToQueue<T> {
        ToQueue(self.opened().queue())
    }

    const IS_EDGE: bool = true;

    const MAY_BE_PARTITIONS: bool = true;

    fn kind(&self) -> EdgeKind {
        self.kind
    }

    fn again(&self, graph: &mut Graph) -> Option<Self> {
        let OutputHandle { index, kind, writer, feed, more } = self;
        match kind {
            EdgeKind::Ordered => None,
            EdgeKind::Containers => Some(OutputHandle {
                index: *index,
                kind: *kind,
                writer: Arc::clone(writer),
                feed: Arc::clone(feed),
                more: None,
            }),
            EdgeKind::Partitions => more.as_ref().map(|more| more(graph)),
        }
    }

    fn trackers(&self) -> Vec<Arc<EpochTracker>> {
        self.feed.lock().as_ref().map_or(Vec::new(), |feed| feed.trackers.clone())
    }

    fn open_split(&self) -> Option<ToContainers<T>> {
        let feed = self.feed.lock();
        let feed = feed.as_ref()?;
        let mut splits = feed.splits.lock();
        let Splits { count, horizon, opened, origin } = &mut *splits;
        let origin =
            origin.get_or_insert_with(|| Origin::new(*count, horizon.clone(), feed.trackers.clone()));
        let (origin, index) = (Arc::clone(origin), *opened);
        *opened += 1;
        Some(feed.open(Epochs::split(origin, index)))
    }

    fn open_claimed(&self) -> Option<ToContainers<T>> {
        self.feed.lock().as_ref().map(|feed| feed.open(Epochs::Claimed))
    }
}

/// Two edges of one kind, for the values of either type.
pub struct EitherOutputHandle<L: Send + 'static, R: Send + 'static> {
    /// Where [`Either::Left`] goes.
    pub left: OutputHandle<L>,
    /// Where [`Either::Right`] goes.
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

/// As many edges as there are readers, or partitions to each of them: the key of a record says which of them it goes to.
pub struct AddressedOutputHandle<T: Send + 'static>(pub(super) Vec<OutputHandle<T>>);

impl<T: Send + 'static> AddressedOutputHandle<T> {
    /// Returns the same partitions, for other writers.
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
