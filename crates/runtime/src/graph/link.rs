//! Links: the typed edges of a query that is not built yet. A link is opened when the plan has passed its
//! checks. Then the handles of its writers and readers take their ends.
//!
//! ```text
//!   Graph::edge          OutputHandle -> [Link<T, Taking>]  -> InputHandle            one reader, which takes the values
//!   Graph::shared_edge   OutputHandle -> [Link<T, Lending>] -> InputHandle, ..        any number, to which values are lent
//! ```
//!
//! A link is one edge, the containers (blocks by epoch) of operators that workers share, or partitions. A
//! link of kind partitions consists of one link for each writer. The way in which readers get the values is a
//! type ([`Reading`]), because the loop of a chain is compiled for it. The transport is a value
//! ([`EdgeKind`]).

use std::sync::Arc;

use thalweg_memory::edge::EdgeError;
use thalweg_memory::sync::Mutex;
use thalweg_memory::{BlockPool, BlockShape, Cursors, EdgeOptions, Pool, QueueOptions};
use thalweg_model::{Horizon, Record};

use super::Graph;
use super::inputs::InputHandle;
use super::outputs::OutputHandle;
use super::stage::Opening;
use crate::edge::{EdgeMarks, QueueReader, QueueWriter, Reader, SharedReader, Writer};
use crate::epochs::{Carrier, Containers, Deposit, EpochTracker, FanOut, Origin, Share};
use crate::limits::EdgeLimits;
use crate::output::{Epochs, ToContainers};
use crate::ports::{Lent, Ports, Taken};

/// Holds one end of an edge from the opening of the edge, which puts the end in, until the task that uses it
/// is built and takes it out.
pub(super) type Opened<T> = Mutex<Option<T>>;

/// Stands for the number of an edge in a link that is no edge itself, but consists of partitions.
pub(super) const NO_EDGE: usize = usize::MAX;

/// Ways in which a link moves records from its writers to its readers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EdgeKind {
    /// Blocks in order, from one writer to each reader: Enjima's serial model.
    #[default]
    Ordered,
    /// Containers: lists of the blocks of each open epoch, which any worker may claim in any order.
    /// StreamBox's model.
    Containers,
    /// One ordered edge of blocks for each writer. The reading task reads all of them as a union. Used in
    /// front of tasks that need order (as in StreamBox).
    Partitions,
}

/// Makes the outputs through which tasks deposit blocks into the containers (the unclaimed blocks of each
/// epoch) in front of shared operators, when the containers are open.
pub struct Feed<T: Send + 'static> {
    target: Arc<dyn Deposit<T>>,
    block_pool: Arc<BlockPool<Record<T>>>,
    /// Epoch trackers of the operators, shared by workers, that read the link's containers (the blocks of each epoch).
    trackers: Vec<Arc<EpochTracker>>,
    splits: Arc<Mutex<Splits>>,
}

/// The splits of the source that deposit blocks into the containers (the unclaimed blocks of each epoch) of
/// one link.
struct Splits {
    count: usize,
    horizon: Horizon,
    /// Number of splits of the source whose outputs have been made; the next split gets this index.
    opened: usize,
    /// The origin, which assigns the ends of epochs. Made with the output of the first split of the source,
    /// because by then all readers are known.
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

    /// Returns the epoch trackers of the operators, shared by workers, that read the link's containers (the
    /// blocks of each epoch).
    pub(super) fn trackers(&self) -> Vec<Arc<EpochTracker>> {
        self.trackers.clone()
    }

    /// Makes the output of one more split of the source. The first call makes the origin, which assigns the
    /// ends of epochs, because by then all readers are known.
    pub(super) fn open_split(&self) -> ToContainers<T> {
        let mut splits = self.splits.lock();
        let Splits { count, horizon, opened, origin } = &mut *splits;
        let origin =
            origin.get_or_insert_with(|| Origin::new(*count, horizon.clone(), self.trackers.clone()));
        let (origin, index) = (Arc::clone(origin), *opened);
        *opened += 1;
        self.open(Epochs::split(origin, index))
    }

    /// Makes the output of one more copy of a stateless operator. Its records stay in the epochs of the
    /// blocks that the copy claims.
    pub(super) fn open_claimed(&self) -> ToContainers<T> {
        self.open(Epochs::Claimed)
    }

    fn open(&self, epochs: Epochs) -> ToContainers<T> {
        ToContainers::new(Arc::clone(&self.target), &self.block_pool, epochs)
    }
}

/// Memory from which an ordered edge is made: blocks or a queue.
#[derive(Clone, Copy, Debug)]
pub enum EdgeMaking {
    Blocks(EdgeLimits),
    Queue(QueueOptions),
}

/// One end of an edge of blocks or of a queue. The kind is chosen when the edge is opened; the code that
/// builds a task knows the kind and takes the end of that kind.
pub enum End<B, Q> {
    /// The end of an edge that is made of blocks.
    Blocks(B),
    /// The end of an edge that is a queue.
    Queue(Q),
}

impl<B, Q> End<B, Q> {
    pub(super) fn blocks(self) -> B {
        match self {
            End::Blocks(end) => end,
            End::Queue(_) => unreachable!("all edges of a query are made of the same"),
        }
    }

    pub(super) fn queue(self) -> Q {
        match self {
            End::Queue(end) => end,
            End::Blocks(_) => unreachable!("all edges of a query are made of the same"),
        }
    }
}

pub(super) type WriteEnd<T> = End<Writer<T>, QueueWriter<T>>;
pub(super) type ReadEnd<T, K> = End<<K as Reading<T>>::Blocks, QueueReader<T>>;

fn options(limits: EdgeLimits) -> EdgeOptions {
    let EdgeLimits { block_records, chunk_blocks, chunks_max, marks_max } = limits;
    EdgeOptions { shape: BlockShape { block_records, chunk_blocks }, chunks_max, marks_max }
}

/// The way in which the readers of a link get its values: moved out by one reader, or lent to several readers
/// that clone them.
pub trait Reading<T: Send + 'static>: Sized + 'static {
    /// The type of the reading end of an edge of blocks.
    #[doc(hidden)]
    type Blocks: Send;

    /// The type through which a task reads blocks from a link with this way of reading (moved out or cloned).
    type Ports: Ports<T> + 'static;

    /// The form of the blocks that a worker claims from containers (the unclaimed blocks of each epoch):
    /// owned, or shared with other readers.
    #[doc(hidden)]
    type Carrier: Carrier<T>;

    /// Opens the writing end and the reading ends of an edge with the given number of readers.
    #[doc(hidden)]
    fn open(pool: &Arc<Pool>, making: EdgeMaking, readers: usize) -> Result<LinkEnds<T, Self>, EdgeError>;

    /// Makes the object through which a task reads records, from the reading end of an edge.
    #[doc(hidden)]
    fn ports(end: Self::Blocks) -> Self::Ports;

    /// Returns the destination of a link's filled blocks: the containers (the unclaimed blocks of each epoch)
    /// of all readers of the link that workers share, one entry of `containers` for each.
    #[doc(hidden)]
    fn target(containers: &[Arc<Containers<T, Self::Carrier>>]) -> Arc<dyn Deposit<T>>;
}

/// The writing end and the reading ends of an edge that was opened.
pub struct LinkEnds<T: Send + 'static, K: Reading<T>> {
    writer: WriteEnd<T>,
    readers: Vec<ReadEnd<T, K>>,
    cursors: Arc<Cursors>,
}

/// Reading by a single reader, which moves the values out of the blocks.
pub enum Taking {}

impl<T: Send + 'static> Reading<T> for Taking {
    type Blocks = Reader<T>;
    type Ports = Taken<T>;
    type Carrier = thalweg_memory::Block<Record<T>>;

    fn open(pool: &Arc<Pool>, making: EdgeMaking, _readers: usize) -> Result<LinkEnds<T, Self>, EdgeError> {
        Ok(match making {
            EdgeMaking::Blocks(limits) => {
                let (writer, reader) = thalweg_memory::edge::<_, EdgeMarks>(pool, options(limits))?;
                let cursors = Arc::clone(reader.cursors());
                LinkEnds { writer: End::Blocks(writer), readers: vec![End::Blocks(reader)], cursors }
            }
            EdgeMaking::Queue(options) => {
                let (writer, reader) = thalweg_memory::queue::<_, EdgeMarks>(pool.budget(), options)?;
                let cursors = Arc::clone(reader.cursors());
                LinkEnds { writer: End::Queue(writer), readers: vec![End::Queue(reader)], cursors }
            }
        })
    }

    fn ports(end: Reader<T>) -> Taken<T> {
        Taken(end)
    }

    fn target(containers: &[Arc<Containers<T, Self::Carrier>>]) -> Arc<dyn Deposit<T>> {
        let [only] = containers else { unreachable!("an edge whose values are taken out has one reader") };
        Arc::clone(only) as _
    }
}

/// Reading of a link by several readers, to which values are lent. Each reader clones the values that it
/// takes.
pub enum Lending {}

impl<T: Clone + Send + Sync + 'static> Reading<T> for Lending {
    type Blocks = SharedReader<T>;
    type Ports = Lent<T>;
    type Carrier = Share<T>;

    fn open(pool: &Arc<Pool>, making: EdgeMaking, readers: usize) -> Result<LinkEnds<T, Self>, EdgeError> {
        Ok(match making {
            EdgeMaking::Blocks(limits) => {
                let ends = thalweg_memory::shared_edge::<_, EdgeMarks>(pool, options(limits), readers)?;
                let cursors = Arc::clone(ends.0.cursors());
                let readers = ends.1.into_iter().map(End::Blocks).collect();
                LinkEnds { writer: End::Blocks(ends.0), readers, cursors }
            }
            EdgeMaking::Queue(options) => {
                let ends = thalweg_memory::shared_queue::<_, EdgeMarks>(pool.budget(), options, readers)?;
                let cursors = Arc::clone(ends.0.cursors());
                let readers = ends.1.into_iter().map(End::Queue).collect();
                LinkEnds { writer: End::Queue(ends.0), readers, cursors }
            }
        })
    }

    fn ports(end: SharedReader<T>) -> Lent<T> {
        Lent(end)
    }

    fn target(containers: &[Arc<Containers<T, Share<T>>>]) -> Arc<dyn Deposit<T>> {
        Arc::new(FanOut(containers.to_vec()))
    }
}

/// A typed edge in the plan of a query. All clones of this value refer to the same link.
pub struct Link<T: Send + 'static, K: Reading<T>>(Arc<LinkState<T, K>>);

struct LinkState<T: Send + 'static, K: Reading<T>> {
    /// Number of the edge within the query; [`NO_EDGE`] for a link of kind partitions.
    index: usize,
    kind: EdgeKind,
    /// Number of links in the exchange to which this link belongs; 1 if it belongs to no exchange.
    exchange_width: u32,
    writer: Opened<WriteEnd<T>>,
    /// One place for each reader of the link, which receives the reading end when the edge is opened.
    readers: Mutex<Vec<Option<ReadEnd<T, K>>>>,
    feed: Opened<Feed<T>>,
    /// The containers (the unclaimed blocks of each epoch) of all readers of this link that workers share.
    containers: Mutex<Vec<Arc<Containers<T, K::Carrier>>>>,
    /// The partitions that have been added so far to a link of kind partitions.
    partitions: Mutex<Vec<Link<T, K>>>,
}

impl<T: Send + 'static, K: Reading<T>> Clone for Link<T, K> {
    fn clone(&self) -> Self {
        Link(Arc::clone(&self.0))
    }
}

impl<T: Send + 'static, K: Reading<T>> Link<T, K> {
    pub(super) fn new(index: usize, kind: EdgeKind, exchange_width: u32) -> Self {
        Link(Arc::new(LinkState {
            index,
            kind,
            exchange_width,
            writer: Opened::default(),
            readers: Mutex::default(),
            feed: Opened::default(),
            containers: Mutex::default(),
            partitions: Mutex::default(),
        }))
    }

    pub(super) fn index(&self) -> usize {
        self.0.index
    }

    /// Returns the way in which the link moves its records.
    pub fn kind(&self) -> EdgeKind {
        self.0.kind
    }

    /// Returns the handle of the link's writer. If the link consists of containers (the unclaimed blocks of
    /// each epoch) or of partitions, each writer gets a handle of its own from this one.
    pub(super) fn writer(&self) -> OutputHandle<T> {
        OutputHandle(Arc::new(self.clone()))
    }

    /// Adds a reader to the link. The reader sees all values that are written.
    pub(super) fn reader(&self) -> InputHandle<T, K> {
        let mut readers = self.0.readers.lock();
        readers.push(None);
        InputHandle::new(self.clone(), readers.len() - 1)
    }

    /// Adds a reader to each partition that was added so far, and returns the handles of the added readers.
    pub(super) fn partition_readers(&self) -> Vec<InputHandle<T, K>> {
        self.0.partitions.lock().iter().map(Link::reader).collect()
    }

    /// Takes the reading end of a reader, so that its task can be built. The edge must be open.
    pub(super) fn take(&self, reader: usize) -> ReadEnd<T, K> {
        let end = self.0.readers.lock().get_mut(reader).and_then(Option::take);
        end.expect("edges are opened before tasks are built, for all their readers")
    }

    /// Opens containers (the unclaimed blocks of each epoch) of this link for one operator that workers share
    /// that reads it. Ends of epochs are passed on to `outlets`, the epoch trackers downstream.
    pub(super) fn open_containers(
        &self,
        opening: &Opening<'_>,
        outlets: Vec<Arc<EpochTracker>>,
    ) -> Result<Arc<Containers<T, K::Carrier>>, EdgeError> {
        let mut feed = self.0.feed.lock();
        let (block_pool, splits) = match &*feed {
            Some(Feed { block_pool, splits, .. }) => (Arc::clone(block_pool), Arc::clone(splits)),
            None => (opening.block_pool()?, Splits::of(opening)),
        };
        let containers =
            Containers::new(Arc::clone(&block_pool), opening.copies, outlets, opening.claiming());
        let mut all = self.0.containers.lock();
        all.push(Arc::clone(&containers));
        let trackers = all.iter().map(|containers| Arc::clone(&containers.tracker)).collect();
        *feed = Some(Feed { target: K::target(&all), block_pool, trackers, splits });
        Ok(containers)
    }

    /// Makes the writers of this link deposit their blocks into the containers (the unclaimed blocks of each
    /// epoch) of the link `other`.
    pub(super) fn write_as(&self, other: &Self) {
        *self.0.feed.lock() = other.0.feed.lock().as_ref().map(Feed::again);
    }
}

/// A link as the tasks that write it see it, whatever the type of its readers.
pub(super) trait Written<T: Send + 'static>: Send + Sync {
    fn index(&self) -> usize;

    fn kind(&self) -> EdgeKind;

    /// Takes the writing end of the edge.
    fn take_writer(&self) -> WriteEnd<T>;

    /// Returns the cell with the value that makes outputs into the link's containers (the unclaimed blocks of
    /// each epoch). The cell is empty until the containers are open.
    fn feed(&self) -> &Opened<Feed<T>>;

    /// Adds one more partition (an edge of its own) to the link, for one more writer.
    fn more(&self, graph: &mut Graph) -> OutputHandle<T>;
}

impl<T: Send + 'static, K: Reading<T>> Written<T> for Link<T, K> {
    fn index(&self) -> usize {
        self.0.index
    }

    fn kind(&self) -> EdgeKind {
        self.0.kind
    }

    fn take_writer(&self) -> WriteEnd<T> {
        self.0.writer.lock().take().expect("edges are opened before tasks are built")
    }

    fn feed(&self) -> &Opened<Feed<T>> {
        &self.0.feed
    }

    fn more(&self, graph: &mut Graph) -> OutputHandle<T> {
        let partition: Link<T, K> = graph.link(EdgeKind::Ordered, self.0.exchange_width);
        self.0.partitions.lock().push(partition.clone());
        partition.writer()
    }
}

/// An edge of any record type, which can be opened when the plan of the query has passed its checks.
pub(super) trait OpenEdge: Send {
    fn readers(&self) -> usize;

    /// Opens the edge: maps its first memory and makes the ends for the writer and all readers.
    fn open(&self, pool: &Arc<Pool>, making: EdgeMaking) -> Result<Arc<Cursors>, EdgeError>;
}

impl<T: Send + 'static, K: Reading<T>> OpenEdge for Link<T, K> {
    fn readers(&self) -> usize {
        self.0.readers.lock().len()
    }

    fn open(&self, pool: &Arc<Pool>, making: EdgeMaking) -> Result<Arc<Cursors>, EdgeError> {
        let LinkEnds { writer, readers, cursors } = K::open(pool, making, self.readers())?;
        *self.0.writer.lock() = Some(writer);
        *self.0.readers.lock() = readers.into_iter().map(Some).collect();
        Ok(cursors)
    }
}
