//! Planning of an operator that several workers share, and making of the tasks that run it: one copy per
//! worker and, if needed, a task that closes epochs.

use std::marker::PhantomData;
use std::sync::Arc;

use thalweg_memory::edge::EdgeError;
use thalweg_memory::{BlockPool, BlockShape, EdgeOptions, Pool};
use thalweg_model::{Entropy, Horizon, Operator, Sharing};

use super::inputs::InputPlan;
use super::outputs::{OutputContext, OutputPlan};
use super::physical::TaskKind;
use crate::ablations::Ablations;
use crate::epochs::{Claiming, Containers, Copies, EpochTracker};
use crate::limits::EdgeLimits;
use crate::output::Delivered;
use crate::task::closing::ClosingTask;
use crate::task::gather::GatherTask;
use crate::task::relay::RelayTask;
use crate::task::{FirstSeen, Inlet, Outlet, Probe, Task};

/// Maximum number of bytes of a block in front of an operator that workers share, if it is made as large as
/// several blocks of an edge. One worker fills the block and another operator empties it, so it must stay in
/// the second-level cache. A single block of an edge may be larger.
const BUNDLE_BYTES_MAX: usize = 128 << 10;

/// Values from which the containers (the unclaimed blocks of each epoch) in front of an operator that several
/// workers share are made.
pub struct Opening<'a> {
    pub(super) pool: &'a Arc<Pool>,
    pub(super) limits: EdgeLimits,
    pub(super) ablations: Ablations,
    /// Number of splits (parallel parts) of the source. Each puts its blocks into the containers.
    pub(super) splits: usize,
    /// The event times at which a watermark makes some operator of the query do something, such as end a
    /// window.
    pub(super) horizon: &'a Horizon,
    /// Number of copies of the operator behind the containers, one for each worker. The copies claim its blocks.
    pub(super) copies: usize,
}

impl Opening<'_> {
    /// Returns the rules by which the copies of the operator claim blocks.
    pub(super) fn claiming(&self) -> Claiming {
        Claiming {
            holds_epochs: self.ablations.in_order_epochs,
            // Epoch boundaries can be given up only in front of operators that read what other shared
            // operators derive. A split of the source always deposits into its own epoch.
            mixes_epochs: self.ablations.no_epoch_boundaries && self.splits == 0,
            is_local: !self.ablations.no_locality,
        }
    }

    /// Makes the block pool for the containers (the unclaimed blocks of each epoch) in front of a parallel
    /// operator. A block is as large as a chunk of an edge, up to [`BUNDLE_BYTES_MAX`]. The reason is the
    /// cost of handing a block over: two counts that all workers share, and two locks. A larger block spreads
    /// this cost over more records. With 384 records to a block, the cost is a fifth of YSB's speed on two
    /// workers.
    pub(super) fn block_pool<T: Send + 'static>(&self) -> Result<Arc<BlockPool<T>>, EdgeError> {
        let EdgeLimits { block_records, chunk_blocks, chunks_max, marks_max } = self.limits;
        let block_bytes = block_records as usize * size_of::<T>();
        let fitting = (BUNDLE_BYTES_MAX / block_bytes.max(1)).clamp(1, chunk_blocks as usize) as u32;
        let shape = BlockShape { block_records: block_records.saturating_mul(fitting), chunk_blocks: 1 };
        // Each writer and each copy may hold blocks while it runs. With fewer than two chunks for each of
        // them, all of them could wait for a free block for ever.
        let chunks_max = chunks_max.max(2 * (self.splits + self.copies) as u32);
        let options = EdgeOptions { shape, chunks_max, marks_max };
        BlockPool::new(self.pool, options, self.copies)
    }
}

/// One of the tasks that are made of an operator which several workers share.
pub(super) struct Part {
    pub(super) task: Box<dyn Task>,
    pub(super) probe: Arc<Probe>,
    /// Number of the copy that this task runs; `None` for the task that closes epochs (merges the state of
    /// the copies and emits the results).
    pub(super) copy: Option<u32>,
}

/// The plan of an operator that several workers share, whatever its type.
pub(super) trait StagePlan: Send {
    /// Returns the way in which the tasks of the operator that workers share run.
    fn kind(&self) -> TaskKind;

    /// Opens the containers (the unclaimed blocks of each epoch) from which the operator that workers share reads.
    /// The containers that it writes must be open already.
    fn open(&mut self, opening: &Opening<'_>) -> Result<Arc<EpochTracker>, EdgeError>;

    /// Makes the tasks of the operator that workers share: its copies, then the task that closes epochs
    /// (merges the state of the copies and emits the results), if the operator has state.
    fn build(
        self: Box<Self>,
        outputs: Box<[Outlet]>,
        delivered: &Arc<Delivered>,
        entropy: &mut dyn Entropy,
    ) -> Vec<Part>;
}

pub(super) struct Stage<T: Send + 'static, N: InputPlan<T>, C, X> {
    input: N,
    chain: C,
    output: X,
    copies: usize,
    containers: Option<Arc<Containers<T, N::Carrier>>>,
    values: PhantomData<fn() -> T>,
}

impl<T: Send + 'static, N: InputPlan<T>, C, X> Stage<T, N, C, X> {
    pub(super) fn new(input: N, chain: C, output: X, copies: usize) -> Self {
        Stage { input, chain, output, copies, containers: None, values: PhantomData }
    }
}

impl<T, N, C, X> StagePlan for Stage<T, N, C, X>
where
    T: Send + 'static,
    N: InputPlan<T>,
    C: Operator<T> + 'static,
    C::Out: Send + 'static,
    X: OutputPlan<C::Out>,
{
    fn kind(&self) -> TaskKind {
        TaskKind::Shared { copies: self.copies, merges: !matches!(C::SHARING, Sharing::Stateless) }
    }

    fn open(&mut self, opening: &Opening<'_>) -> Result<Arc<EpochTracker>, EdgeError> {
        let outlets = match C::SHARING {
            Sharing::Stateless => self.output.trackers(),
            Sharing::Keyed | Sharing::Merging | Sharing::Serial => Vec::new(),
        };
        let containers = self.input.open_containers(&Opening { copies: self.copies, ..*opening }, outlets)?;
        let tracker = Arc::clone(&containers.tracker);
        self.containers = Some(containers);
        Ok(tracker)
    }

    fn build(
        self: Box<Self>,
        outputs: Box<[Outlet]>,
        delivered: &Arc<Delivered>,
        entropy: &mut dyn Entropy,
    ) -> Vec<Part> {
        let Stage { mut chain, output, copies: count, containers, .. } = *self;
        let containers = containers.expect("containers are opened before tasks are built");
        let tracker = &containers.tracker;
        // The chain gets its seed before it is copied, so all copies hash keys with the same seed.
        chain.seed(entropy);
        let mut parts = Vec::with_capacity(count + 1);
        // The kind of task is decided at compile time, so that a chain is compiled for one kind of task only.
        if const { matches!(C::SHARING, Sharing::Stateless) } {
            for copy in 0..count {
                let own = Outlet::Epochs(Arc::clone(tracker));
                let outputs = outputs.iter().map(Outlet::again).chain([own]).collect();
                let probe = Arc::new(Probe::new([Inlet::Claims(Arc::clone(tracker), copy)].into(), outputs));
                let output = output.open_claimed().expect("what has no state writes containers");
                let task =
                    RelayTask::new(Arc::clone(&containers), copy, chain.fork(), output, Arc::clone(&probe));
                parts.push(Part { task: Box::new(task), probe, copy: Some(copy as u32) });
            }
        } else {
            let copies = Arc::new(Copies::new(count, Arc::clone(tracker)));
            for copy in 0..count {
                let (inlet, outlet) =
                    (Inlet::Claims(Arc::clone(tracker), copy), Outlet::Epochs(Arc::clone(tracker)));
                let probe = Arc::new(Probe::new([inlet].into(), [outlet].into()));
                let task = GatherTask::new(Arc::clone(&containers), Arc::clone(&copies), copy, chain.fork());
                parts.push(Part { task: Box::new(task), probe, copy: Some(copy as u32) });
            }
            let closes = Outlet::Closes(Arc::clone(tracker));
            let outputs = outputs.into_iter().chain([closes]).collect();
            let probe = Arc::new(Probe::new(
                [Inlet::Epochs(Arc::clone(tracker), FirstSeen::default())].into(),
                outputs,
            ));
            let output = output.open(&OutputContext(Arc::clone(delivered)));
            let task = ClosingTask::new(Arc::clone(tracker), copies, chain, output, Arc::clone(&probe));
            parts.push(Part { task: Box::new(task), probe, copy: None });
        }
        parts
    }
}
