//! Positions of a task's edges before and after a run, by which the run's changes for other tasks are known.

use super::Position;

/// Positions of a task's edges at one moment. Comparing two of them shows what a run of the task has changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    /// Positions up to which the task's inputs were read, in the order of the inputs.
    pub(super) read: Box<[Position]>,
    /// Number of records and marks (such as watermarks) that the task has written to all its outputs
    /// together.
    pub(super) written: u64,
    /// Version of the epochs that the task reads or writes and of those downstream. It grows when such an
    /// epoch is completed.
    pub(super) closed: u64,
}

/// Changes that a run of a task has made for other tasks, which must be notified.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Changes {
    /// True if tasks downstream have more to read.
    pub(crate) wrote: bool,
    /// True if an epoch was completed, pairs of partial states can be merged or were, or the stream is over:
    /// tasks that work on epochs must look again for work.
    pub(crate) closed: bool,
    /// True if the tasks that write this task's inputs may have been without room, and have some now.
    pub(crate) freed: bool,
    /// True if other tasks that deposit blocks into the same containers (the unclaimed blocks of each epoch)
    /// may have been without free blocks, and have some now.
    pub(crate) gave_back: bool,
}
