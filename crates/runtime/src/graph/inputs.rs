//! Inputs of planned tasks: reading ends of links (edges and the like), alone or combined. Each input is a
//! value that can be used once, so an edge cannot be read twice by mistake.

use std::sync::Arc;

use thalweg_memory::edge::EdgeError;
use thalweg_model::Either;

use super::link::{EdgeKind, Link, Reading, Taking};
use super::stage::Opening;
use crate::epochs::{Carrier, Containers, EpochTracker, NoCarrier};
use crate::ports::{Many, Ports, Queued, Sided, United};

/// An input of a planned task: one reading end of a link (an edge or the like), or several that are read
/// together.
pub trait InputPlan<T>: Send + 'static {
    /// The type through which the running task reads this input, if edges are made of blocks.
    type Ports: Ports<T> + 'static;

    /// Calls `each` with every edge of this input and the number of the reader at that edge.
    fn visit_edges(&self, each: &mut dyn FnMut(usize, usize));

    /// Makes the reading ends through which the running task reads this input, when the edges are open.
    fn open(self) -> Self::Ports;

    /// The type through which the running task reads this input, if edges are queues.
    type Queued: Ports<T> + 'static;

    /// Makes the reading ends through which the task reads its input, when the edges are open and are queues.
    fn open_queued(self) -> Self::Queued;

    /// The form in which an operator that workers share claims blocks from containers (the unclaimed blocks
    /// of each epoch): an owned block, or a share in a block that several tasks read.
    #[doc(hidden)]
    type Carrier: Carrier<T>;

    /// Opens the containers (the unclaimed blocks of each epoch) that this input reads, and connects the
    /// tasks that write them. Ends of epochs are passed on to `outlets`, the epoch trackers downstream.
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

    /// The type of one partition of this input.
    type Partition: InputPlan<T>;

    /// Returns each partition of the link as an input. If the link consists of partitions, there is one for
    /// each writer that was added so far; otherwise the link itself is returned as the only input.
    fn partitions(self) -> Vec<Self::Partition>;

    /// Makes the writers of this input deposit their blocks into the containers (the unclaimed blocks of each
    /// epoch) that `other` reads.
    #[doc(hidden)]
    fn write_as(&self, _other: &Self) {
        unreachable!("what several streams meet in is not read from containers");
    }
}

/// Reading end of a link: of an edge, of containers (the unclaimed blocks of each epoch), or of all
/// partitions of the link.
pub struct InputHandle<T: Send + 'static, K: Reading<T> = Taking> {
    link: Link<T, K>,
    reader: usize,
}

impl<T: Send + 'static, K: Reading<T>> InputHandle<T, K> {
    pub(super) fn new(link: Link<T, K>, reader: usize) -> Self {
        InputHandle { link, reader }
    }

    /// Returns the way in which the link moves its records: an ordered edge, containers (the unclaimed blocks
    /// of each epoch) or partitions.
    pub fn kind(&self) -> EdgeKind {
        self.link.kind()
    }
}

impl<T: Send + 'static, K: Reading<T>> InputPlan<T> for InputHandle<T, K> {
    type Ports = K::Ports;

    fn visit_edges(&self, each: &mut dyn FnMut(usize, usize)) {
        assert!(self.kind() != EdgeKind::Partitions, "partitions are read one by one");
        each(self.link.index(), self.reader);
    }

    fn open(self) -> K::Ports {
        K::ports(self.link.take(self.reader).blocks())
    }

    type Queued = Queued<T>;

    fn open_queued(self) -> Queued<T> {
        Queued(self.link.take(self.reader).queue())
    }

    type Carrier = K::Carrier;

    fn open_containers(
        &self,
        opening: &Opening<'_>,
        outlets: Vec<Arc<EpochTracker>>,
    ) -> Result<Arc<Containers<T, K::Carrier>>, EdgeError> {
        self.link.open_containers(opening, outlets)
    }

    type Partition = Self;

    fn partitions(self) -> Vec<Self> {
        match self.kind() {
            EdgeKind::Partitions => self.link.partition_readers(),
            EdgeKind::Ordered | EdgeKind::Containers => vec![self],
        }
    }

    fn write_as(&self, other: &Self) {
        self.link.write_as(&other.link);
    }
}

/// Two inputs of one record type, which a task reads as one input (a union).
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

/// Any number of inputs of one record type, which a task reads as one input (a union).
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

/// Two inputs of different record types, which a task reads as one input of [`Either`] type.
pub struct Sides<M, N> {
    /// The input whose values become [`Either::Left`].
    pub left: M,
    /// The input whose values become [`Either::Right`].
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
