//! Inputs of planned tasks: reading ends of links, alone or combined. Each is a value that can be used once.

use std::sync::Arc;

use thalweg_memory::edge::EdgeError;
use thalweg_model::Either;

use super::link::{EdgeKind, Link, Reading, Taking};
use super::stage::Opening;
use crate::epochs::{Carrier, Containers, EpochTracker, NoCarrier};
use crate::ports::{Many, Ports, Queued, Sided, United};

/// Input of a planned task.
pub trait InputPlan<T>: Send + 'static {
    /// Type of the ports that the input becomes.
    type Ports: Ports<T> + 'static;

    /// Calls `each` with every edge and the index of the reader there.
    fn visit_edges(&self, each: &mut dyn FnMut(usize, usize));

    /// Makes the ports, when the edges are open.
    fn open(self) -> Self::Ports;

    /// Type of the ports that the input becomes if edges are queues.
    type Queued: Ports<T> + 'static;

    /// Makes the ports that read queues, when the edges are open.
    fn open_queued(self) -> Self::Queued;

    /// Carrier of the records that come from containers.
    #[doc(hidden)]
    type Carrier: Carrier<T>;

    /// Opens the containers that this input reads, and connects their writers with them. Ends of epochs go to
    /// `outlets`.
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

    /// Type of one partition of the input.
    type Partition: InputPlan<T>;

    /// Returns each partition as an input: one for each writer so far if the link consists of partitions,
    /// otherwise one.
    fn partitions(self) -> Vec<Self::Partition>;

    /// Makes the writers of this input write into the containers that `other` reads.
    #[doc(hidden)]
    fn write_as(&self, _other: &Self) {
        unreachable!("what several streams meet in is not read from containers");
    }
}

/// Reading end of a link: of an edge, of containers, or of all partitions.
pub struct InputHandle<T: Send + 'static, K: Reading<T> = Taking> {
    link: Link<T, K>,
    reader: usize,
}

impl<T: Send + 'static, K: Reading<T>> InputHandle<T, K> {
    pub(super) fn new(link: Link<T, K>, reader: usize) -> Self {
        InputHandle { link, reader }
    }

    /// Returns the transport of the link.
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

/// Two inputs of one type, read as one input.
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

/// Any number of inputs of one type, read as one input.
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

/// Two inputs of different types, read as one input of [`Either`] type.
pub struct Sides<M, N> {
    /// Input whose values become [`Either::Left`].
    pub left: M,
    /// Input whose values become [`Either::Right`].
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
