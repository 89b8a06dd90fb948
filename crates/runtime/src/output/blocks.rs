//! The output of a task into containers, which hold the blocks of each epoch in front of a parallel task:
//! blocks are filled, and deposited with the epoch to which they belong.

use thalweg_memory::sync::Arc;
use thalweg_memory::{Block, BlockPool, BlockWriter};
use thalweg_model::{Clock, EventTime, Fault, LatencyMarker, Mark, ProcessingTime, Record};
use thalweg_scheduling::Context;

use super::TaskOutput;
use crate::arrival::Arrival;
use crate::edge::{BlockOutput, BlocksOutput};
use crate::epochs::{Bundle, Deposit, Origin, Standing};

/// The rule by which the epoch of deposited blocks is determined.
pub(crate) enum Epochs {
    /// The task is a split of a source, and its own watermarks determine the epoch.
    Split {
        origin: Arc<Origin>,
        /// Number of the split (one parallel part of the source) among the splits of the stream, from 0 on.
        index: usize,
        /// True if the split of the source must ask for an epoch before it deposits, because it has reported
        /// that it is silent or that its watermark is the end of time.
        is_away: bool,
        /// The last watermark of this split of the source that some operator needs.
        watermark: EventTime,
        /// True while all splits of the source are silent and this cannot be told downstream yet, because too
        /// many epochs are open.
        owes_silence: bool,
    },
    /// The task claims blocks itself: records derived from a block belong to the epoch of that block.
    Claimed,
}

impl Epochs {
    /// Makes the rule for a split of a source that has reported no watermark yet.
    pub(crate) fn split(origin: Arc<Origin>, index: usize) -> Self {
        Epochs::Split { origin, index, is_away: false, watermark: EventTime::MIN, owes_silence: false }
    }
}

/// Writes the records of a task, block by block, into containers, which hold the blocks of each epoch in
/// front of a parallel task.
pub struct ToContainers<T: Send + 'static> {
    target: Arc<dyn Deposit<T>>,
    block_writer: BlockWriter<Record<T>>,
    epochs: Epochs,
    standing: Standing,
    /// Number of the worker that runs this step, on whose work queue blocks are put.
    worker: usize,
    /// Number of records in deposited blocks since the start.
    deposited: u64,
    /// Start of the present step, and the scheduling context of the records that are written now.
    arrival: Arrival,
    /// Scheduling context of the first record in the block that is being filled.
    context: Context,
}

impl<T: Send + 'static> ToContainers<T> {
    pub(crate) fn new(
        target: Arc<dyn Deposit<T>>,
        block_pool: &Arc<BlockPool<Record<T>>>,
        epochs: Epochs,
    ) -> Self {
        let standing = match &epochs {
            Epochs::Split { origin, .. } => origin.start(),
            Epochs::Claimed => Standing { epoch: 0, late_by: EventTime::MIN, due: EventTime::MAX },
        };
        let block_writer = block_pool.block_writer();
        let (now, context) = (ProcessingTime::ZERO, Context { observed: ProcessingTime::ZERO, token: None });
        let arrival = Arrival { now, context };
        ToContainers { target, block_writer, epochs, standing, worker: 0, deposited: 0, arrival, context }
    }

    /// Continues in another epoch. Records pushed from now on derive from records of this epoch, and are late
    /// by the watermark `late_by`.
    pub(crate) fn go_on_in(&mut self, epoch: u64, late_by: EventTime) {
        if (epoch, late_by) != (self.standing.epoch, self.standing.late_by) {
            self.deposit_all();
            (self.standing.epoch, self.standing.late_by) = (epoch, late_by);
        }
    }

    /// Deposits the blocks that are full, in front of the parallel tasks that read them. Each block gets the
    /// epoch in which the task writes at present.
    pub(crate) fn deposit_full(&mut self) {
        while let Some(block) = self.block_writer.take_full() {
            self.deposit(Some(block), None);
        }
    }

    /// Deposits all records that were pushed, in front of the tasks that read them. This includes the records
    /// in a block that is not full.
    fn deposit_all(&mut self) {
        self.block_writer.seal();
        self.deposit_full();
    }

    fn deposit(&mut self, block: Option<Block<Record<T>>>, marker: Option<LatencyMarker>) {
        if let Epochs::Split { origin, index, is_away, .. } = &mut self.epochs
            && *is_away
        {
            *is_away = false;
            self.standing = origin.rejoin(*index);
        }
        self.deposited += block.as_ref().map_or(0, |block| block.len() as u64);
        let Standing { epoch, late_by, .. } = self.standing;
        let (arrived_ns, context) = (self.arrival.now.as_nanos(), self.context);
        self.target.deposit(self.worker, Bundle { block, epoch, late_by, marker, arrived_ns, context });
        // The block behind the deposited one may hold records already. They were written in the present step,
        // so their scheduling context is that of the step.
        self.context = self.arrival.context;
    }

    /// Puts a latency marker behind all records that were pushed. A marker that no block can carry is dropped
    /// in two cases. One is that too many such markers wait. The other is that the split of the source is
    /// silent or has the watermark of the end of time, because it has then left its epoch.
    /// [`Merge`](crate::task::merge) leaves out such an input in the same way.
    pub(crate) fn mark_latency(&mut self, marker: LatencyMarker) {
        self.block_writer.seal();
        while let Some(block) = self.block_writer.take_full() {
            let of_block = self.block_writer.is_settled().then_some(marker);
            self.deposit(Some(block), of_block);
            if of_block.is_some() {
                return;
            }
        }
        let is_away = matches!(self.epochs, Epochs::Split { is_away: true, .. });
        if is_away || self.target.is_crowded() {
            return self.target.drop_marker();
        }
        self.deposit(None, Some(marker));
    }
}

impl<T: Send + 'static> TaskOutput<T> for ToContainers<T> {
    type Output<'a> = BlockOutput<'a, T>;

    fn begin(&mut self, worker: usize) {
        self.worker = worker;
    }

    #[inline]
    fn open(&mut self, arrival: Arrival) -> Self::Output<'_> {
        self.arrival = arrival;
        // A block that has records already keeps the scheduling context of its first record, which is the
        // oldest.
        if self.block_writer.filling_count() == 0 {
            self.context = arrival.context;
        }
        BlocksOutput(self.block_writer.open(self.worker))
    }

    fn is_ready(&mut self) -> bool {
        if let Epochs::Split { origin, owes_silence, .. } = &mut self.epochs
            && *owes_silence
        {
            *owes_silence = !origin.tell_silence();
        }
        !self.awaits_epoch()
    }

    fn awaits_epoch(&self) -> bool {
        matches!(self.epochs, Epochs::Split { owes_silence: true, .. })
    }

    fn next_due(&self) -> EventTime {
        self.standing.due
    }

    fn mark(&mut self, mark: Mark, arrival: Arrival, _clock: &dyn Clock) -> Result<(), Fault> {
        self.arrival.now = arrival.now;
        match (mark, &self.epochs) {
            (Mark::Watermark(watermark), _) if watermark < self.standing.due => {}
            (Mark::Latency(marker), _) => self.mark_latency(marker),
            (mark, Epochs::Split { .. }) => {
                self.deposit_all();
                let Epochs::Split { origin, index, is_away, watermark: last, owes_silence } =
                    &mut self.epochs
                else {
                    return Ok(());
                };
                match mark {
                    Mark::Watermark(watermark) => {
                        self.standing = origin.advance(*index, watermark);
                        (*is_away, *last) = (watermark == EventTime::MAX, watermark);
                        // A split of the source whose watermark is the end of time does not count any more.
                        // The splits that still count may all be silent now, which must then be told
                        // downstream.
                        *owes_silence = *is_away && !origin.tell_silence();
                    }
                    Mark::Idle => {
                        *is_away = true;
                        *owes_silence = !origin.fall_idle(*index);
                    }
                    Mark::End => origin.end(*index),
                    Mark::InputWatermark(_) | Mark::Barrier(_) | Mark::Latency(_) => {}
                }
            }
            (_, Epochs::Claimed) => unreachable!("the ends of epochs go from tracker to tracker"),
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), Fault> {
        self.deposit_full();
        Ok(())
    }

    fn flush(&mut self) {
        self.deposit_all();
        if let Epochs::Split { origin, index, is_away: is_away @ false, watermark: EventTime::MAX, .. } =
            &mut self.epochs
        {
            // The split of the source had asked for an epoch to deposit records stamped with the end of time.
            // They are deposited, so it reports again that its watermark is the end of time.
            self.standing = origin.advance(*index, EventTime::MAX);
            *is_away = true;
        }
        self.block_writer.rest();
    }

    fn pushed(&self) -> u64 {
        self.deposited + self.block_writer.filling_count() as u64
    }

    fn held_bytes(&self) -> usize {
        0
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
