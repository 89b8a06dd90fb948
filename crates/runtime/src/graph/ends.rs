//! The two ends of edges while a graph is written: entries, which tasks read, and exits, where tasks write. Each is a
//! value that can be used once; entries can be put together, exits can part.

use std::sync::Arc;

use thalweg_memory::edge::EdgeError;
use thalweg_memory::sync::Mutex;
use thalweg_memory::{BlockShape, Cursors, EdgeOptions, Pool};
use thalweg_model::{Either, Sink};

use crate::edge::{EdgeMarks, Reader, SharedReader, Writer};
use crate::epochs::{Containers, Ledger, Origin};
use crate::exit::{Delivered, Epochs, Exit, SinkExit, ToContainers, ToEdge, ToEdges};
use crate::limits::EdgeLimits;
use crate::ports::{Lent, Many, Ports, Sided, Taken, United};

/// Takes what an end was given when its edge was opened.
type Opened<T> = Arc<Mutex<Option<T>>>;

/// What an edge is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EdgeKind {
    /// Blocks in order, from one writer: Enjima's serial model.
    #[default]
    Ordered,
    /// Containers of epochs, whose blocks any worker may claim: StreamBox's model.
    Containers,
}

/// What those who write containers are made from.
pub struct Feed<T: Send + 'static> {
    containers: Arc<Containers<T>>,
    /// None if all that write them claim what they write it of.
    origin: Option<Arc<Origin>>,
    /// How many splits have been given out.
    splits: Arc<Mutex<usize>>,
}

impl<T: Send + 'static> Feed<T> {
    pub(super) fn new(containers: Arc<Containers<T>>, origin: Option<Arc<Origin>>) -> Self {
        Feed { containers, origin, splits: Arc::default() }
    }

    fn again(&self) -> Self {
        let Feed { containers, origin, splits } = self;
        Feed { containers: Arc::clone(containers), origin: origin.clone(), splits: Arc::clone(splits) }
    }
}

/// An edge that can be opened once the graph has passed its checks.
pub(super) trait OpenEdge: Send {
    /// Opens it for so many readers.
    fn open(&self, pool: &Arc<Pool>, limits: EdgeLimits, readers: usize) -> Result<Arc<Cursors>, EdgeError>;
}

fn options(limits: EdgeLimits) -> EdgeOptions {
    let EdgeLimits { block_records, chunk_blocks, chunks_max, marks_max } = limits;
    EdgeOptions { shape: BlockShape { block_records, chunk_blocks }, chunks_max, marks_max }
}

/// Both ends of an edge with one reader.
pub(super) struct OwnEnds<T: Send + 'static> {
    pub(super) writer: Opened<Writer<T>>,
    pub(super) reader: Opened<Reader<T>>,
}

impl<T: Send + 'static> OpenEdge for OwnEnds<T> {
    fn open(&self, pool: &Arc<Pool>, limits: EdgeLimits, _readers: usize) -> Result<Arc<Cursors>, EdgeError> {
        let (writer, reader) = thalweg_memory::edge::<_, EdgeMarks>(pool, options(limits))?;
        let cursors = Arc::clone(reader.cursors());
        *self.writer.lock() = Some(writer);
        *self.reader.lock() = Some(reader);
        Ok(cursors)
    }
}

/// The ends of an edge with several readers.
pub(super) struct SharedEnds<T: Send + Sync + 'static> {
    pub(super) writer: Opened<Writer<T>>,
    pub(super) readers: Arc<Mutex<Vec<Option<SharedReader<T>>>>>,
}

impl<T: Send + Sync + 'static> OpenEdge for SharedEnds<T> {
    fn open(&self, pool: &Arc<Pool>, limits: EdgeLimits, readers: usize) -> Result<Arc<Cursors>, EdgeError> {
        let (writer, readers) = thalweg_memory::shared_edge::<_, EdgeMarks>(pool, options(limits), readers)?;
        let cursors = Arc::clone(readers[0].cursors());
        *self.writer.lock() = Some(writer);
        *self.readers.lock() = readers.into_iter().map(Some).collect();
        Ok(cursors)
    }
}

/// Where a planned task will read.
pub trait EntryPlan<T>: Send + 'static {
    /// What it becomes.
    type Ports: Ports<T> + 'static;

    /// Calls `each` with every edge and the index of the reader there.
    fn visit_edges(&self, each: &mut dyn FnMut(usize, usize));

    /// Makes the ports, once the edges are open.
    fn open(self) -> Self::Ports;

    /// Tells those who write the edges, which are containers, where to put their blocks.
    fn feed(&self, feed: &Feed<T>)
    where
        T: Send,
    {
        let _ = feed;
        unreachable!("only edges of their own are containers");
    }
}

/// The only reading end of an edge.
pub struct EdgeEntry<T: Send + 'static> {
    pub(super) index: usize,
    pub(super) kind: EdgeKind,
    pub(super) reader: Opened<Reader<T>>,
    pub(super) feed: Opened<Feed<T>>,
}

impl<T: Send + 'static> EdgeEntry<T> {
    /// What the edge is made of.
    pub fn kind(&self) -> EdgeKind {
        self.kind
    }
}

impl<T: Send + 'static> EntryPlan<T> for EdgeEntry<T> {
    type Ports = Taken<T>;

    fn visit_edges(&self, each: &mut dyn FnMut(usize, usize)) {
        each(self.index, 0);
    }

    fn open(self) -> Taken<T> {
        Taken(self.reader.lock().take().expect("edges are opened before tasks are built"))
    }

    fn feed(&self, feed: &Feed<T>) {
        *self.feed.lock() = Some(feed.again());
    }
}

/// One of the reading ends of a shared edge.
pub struct SharedEntry<T: Send + Sync + 'static> {
    pub(super) index: usize,
    pub(super) reader: usize,
    pub(super) readers: Arc<Mutex<Vec<Option<SharedReader<T>>>>>,
}

impl<T: Clone + Send + Sync + 'static> EntryPlan<T> for SharedEntry<T> {
    type Ports = Lent<T>;

    fn visit_edges(&self, each: &mut dyn FnMut(usize, usize)) {
        each(self.index, self.reader);
    }

    fn open(self) -> Lent<T> {
        let reader = self.readers.lock().get_mut(self.reader).and_then(Option::take);
        Lent(reader.expect("edges are opened before tasks are built, for all their readers"))
    }
}

/// Two entries of one type, read as one.
pub struct Both<M, N>(pub M, pub N);

impl<T, M: EntryPlan<T>, N: EntryPlan<T>> EntryPlan<T> for Both<M, N> {
    type Ports = United<M::Ports, N::Ports>;

    fn visit_edges(&self, each: &mut dyn FnMut(usize, usize)) {
        self.0.visit_edges(each);
        self.1.visit_edges(each);
    }

    fn open(self) -> Self::Ports {
        United(self.0.open(), self.1.open())
    }
}

/// Any number of entries, read as one.
pub struct Several<N>(pub Vec<N>);

impl<T, N: EntryPlan<T>> EntryPlan<T> for Several<N> {
    type Ports = Many<N::Ports>;

    fn visit_edges(&self, each: &mut dyn FnMut(usize, usize)) {
        self.0.iter().for_each(|entry| entry.visit_edges(each));
    }

    fn open(self) -> Self::Ports {
        Many(self.0.into_iter().map(EntryPlan::open).collect())
    }

    fn feed(&self, feed: &Feed<T>)
    where
        T: Send,
    {
        self.0.iter().for_each(|entry| entry.feed(feed));
    }
}

/// Two entries of different types, read as one of either.
pub struct Sides<M, N> {
    /// Whose values become [`Either::Left`].
    pub left: M,
    /// Whose values become [`Either::Right`].
    pub right: N,
}

impl<L, R, M, N> EntryPlan<Either<L, R>> for Sides<M, N>
where
    L: Clone + 'static,
    R: Clone + 'static,
    M: EntryPlan<L>,
    N: EntryPlan<R>,
{
    type Ports = Sided<M::Ports, N::Ports, L, R>;

    fn visit_edges(&self, each: &mut dyn FnMut(usize, usize)) {
        self.left.visit_edges(each);
        self.right.visit_edges(each);
    }

    fn open(self) -> Self::Ports {
        Sided::new(self.left.open(), self.right.open())
    }
}

/// Where a planned task will write.
pub trait ExitPlan<T>: Send + 'static {
    /// What it becomes.
    type Exit: Exit<T> + 'static;

    /// Calls `each` with every edge, of which a sink has none.
    fn visit_edges(&self, each: &mut dyn FnMut(usize));

    /// Makes the exit, once the edges are open.
    fn open(self, delivered: &ExitContext) -> Self::Exit;

    /// Whether it is one edge, which may be containers.
    const IS_EDGE: bool = false;

    /// What it is, if it is an edge.
    fn kind(&self) -> EdgeKind {
        EdgeKind::Ordered
    }

    /// The same containers for one more writer; none if it is something else.
    fn again(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// The ledger of the containers, if it leads there, once they are open.
    #[doc(hidden)]
    fn ledger(&self) -> Option<Arc<Ledger>> {
        None
    }

    /// Containers as the exit of one more split.
    #[doc(hidden)]
    fn open_split(&self) -> Option<ToContainers<T>>
    where
        T: Send + 'static,
    {
        None
    }

    /// Containers as the exit of one more of those who claim what they write it of.
    #[doc(hidden)]
    fn open_claimed(&self) -> Option<ToContainers<T>>
    where
        T: Send + 'static,
    {
        None
    }
}

/// What exits are made from.
pub struct ExitContext(pub(super) Arc<Delivered>);

/// The end of an edge that a task writes.
pub struct EdgeExit<T: Send + 'static> {
    pub(super) index: usize,
    pub(super) kind: EdgeKind,
    pub(super) writer: Opened<Writer<T>>,
    pub(super) feed: Opened<Feed<T>>,
}

impl<T: Send + 'static> ExitPlan<T> for EdgeExit<T> {
    type Exit = ToEdge<T>;

    fn visit_edges(&self, each: &mut dyn FnMut(usize)) {
        each(self.index);
    }

    fn open(self, _context: &ExitContext) -> ToEdge<T> {
        ToEdge(self.writer.lock().take().expect("edges are opened before tasks are built"))
    }

    const IS_EDGE: bool = true;

    fn kind(&self) -> EdgeKind {
        self.kind
    }

    fn again(&self) -> Option<Self> {
        let EdgeExit { index, kind, writer, feed } = self;
        let again =
            || EdgeExit { index: *index, kind: *kind, writer: Arc::clone(writer), feed: Arc::clone(feed) };
        (*kind == EdgeKind::Containers).then(again)
    }

    fn ledger(&self) -> Option<Arc<Ledger>> {
        self.feed.lock().as_ref().map(|feed| Arc::clone(&feed.containers.ledger))
    }

    fn open_split(&self) -> Option<ToContainers<T>> {
        let feed = self.feed.lock();
        let Feed { containers, origin, splits } = feed.as_ref()?;
        let origin = Arc::clone(origin.as_ref()?);
        let mut splits = splits.lock();
        let index = *splits;
        *splits += 1;
        let epochs = Epochs::Split { origin, index, is_idle: false };
        Some(ToContainers::new(Arc::clone(containers), epochs))
    }

    fn open_claimed(&self) -> Option<ToContainers<T>> {
        let feed = self.feed.lock();
        feed.as_ref().map(|feed| ToContainers::new(Arc::clone(&feed.containers), Epochs::Claimed))
    }
}

/// Two edges, for the values of either type.
pub struct EitherExit<L: Send + 'static, R: Send + 'static> {
    /// Where [`Either::Left`] goes.
    pub left: EdgeExit<L>,
    /// Where [`Either::Right`] goes.
    pub right: EdgeExit<R>,
}

impl<L: Send + 'static, R: Send + 'static> ExitPlan<Either<L, R>> for EitherExit<L, R> {
    type Exit = ToEdges<L, R>;

    fn visit_edges(&self, each: &mut dyn FnMut(usize)) {
        self.left.visit_edges(each);
        self.right.visit_edges(each);
    }

    fn open(self, context: &ExitContext) -> ToEdges<L, R> {
        ToEdges { left: self.left.open(context), right: self.right.open(context) }
    }
}

/// A sink as the end of a task.
pub struct SinkPlan<S>(pub S);

impl<T, S: Sink<T> + 'static> ExitPlan<T> for SinkPlan<S> {
    type Exit = SinkExit<S>;

    fn visit_edges(&self, _each: &mut dyn FnMut(usize)) {}

    fn open(self, context: &ExitContext) -> SinkExit<S> {
        SinkExit::new(self.0, Arc::clone(&context.0))
    }
}
