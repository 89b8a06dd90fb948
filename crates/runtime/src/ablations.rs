//! Parts of the epoch mechanism (parallel operators that share their input block by block) that can be
//! switched off, to measure the effect of each (StreamBox, "Modern Stream Processing on a Multicore Machine",
//! ATC 2017, section 9.2). Query results stay the same. Serial queries do not use epochs, so nothing changes
//! for them.

/// Parts of the epoch mechanism that are switched off for a measurement. The default switches none off.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ablations {
    /// "Hold and sort" of the StreamBox paper, without the sort. A parallel operator then claims only blocks
    /// of its oldest epoch (the records between two watermarks), and only after two events: the end watermark
    /// of this epoch is known, and the epoch before it is completely processed. Within the epoch, blocks come
    /// in any order. The operator holds blocks back only while there are free blocks. Without free blocks it
    /// claims the oldest block as usual, because otherwise the tasks that produce the end watermark would
    /// wait for the operator.
    pub in_order_epochs: bool,
    /// Gives up the boundaries between epochs (an epoch is the records between two watermarks) from one
    /// parallel operator to the next: records that an operator derives go into the oldest epoch downstream
    /// whose end watermark is not known yet. In an engine where an arriving end watermark opens the next
    /// epoch downstream, this is the newest epoch. So records of later epochs come into earlier ones. An
    /// epoch's own records still come before its end watermark. Records are late by the watermark of their
    /// split (a parallel part of the source). So results stay the same.
    pub no_epoch_boundaries: bool,
    /// Switches off the preference of a worker for blocks that lie in its own cache. A worker that claims a
    /// block then takes the oldest block of all workers' work queues, instead of first a block of its own
    /// work queue.
    pub no_locality: bool,
}
