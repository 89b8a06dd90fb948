//! Checkpoints of a query: what they contain, and where they are kept.
//!
//! A checkpoint is one consistent state of a whole query: as if every source had stopped behind some record, and all
//! records before that had passed through the query, and none behind it. Sources put a barrier
//! ([`Mark::Barrier`](crate::Mark::Barrier)) behind that record. Each task adds a [`Section`] when the barrier passes: the
//! position of its source, the state of its operators, and what its sink has prepared. A [`CheckpointStore`] keeps the
//! sections. Once they are durable, the sinks publish what they have prepared ([`Publisher`](crate::sink::Publisher)).
//!
//! Source: Carbone et al., "State Management in Apache Flink" (VLDB 2017), section 3, for barriers and for output that is
//! committed with a checkpoint.

use crate::fault::Fault;

/// The part of a checkpoint that comes from one task of a query.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Section {
    /// Name of the task. It is unique within the query, and the same for the same plan.
    pub task: String,
    /// Names of the operators of the task, in the order in which records pass them.
    pub operators: Vec<String>,
    /// True if the stream of the task had ended: the task has emitted everything, and has no state.
    pub has_ended: bool,
    /// The saved state: the position of the source, the progress of the inputs, the state of the operators.
    pub state: Vec<u8>,
    /// A description of the output that the sink of the task has prepared for this checkpoint; empty if it has none.
    pub prepared: Vec<u8>,
}

/// One checkpoint of a query: the sections of all of its tasks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Checkpoint {
    /// Name of the query.
    pub query: String,
    /// Number of the checkpoint. Numbers rise, and are not used again after a restart.
    pub number: u64,
    /// True if all streams of the query had ended: the query has finished, and needs not run again.
    pub is_last: bool,
    /// The sections, in the order of the tasks in the plan.
    pub sections: Vec<Section>,
}

impl Checkpoint {
    /// Returns the number of bytes of the state and of the descriptions of output in all sections.
    pub fn bytes(&self) -> usize {
        self.sections.iter().map(|section| section.state.len() + section.prepared.len()).sum()
    }
}

/// The place where the checkpoints of one query are kept, such as a directory.
pub trait CheckpointStore: Send {
    /// Writes a checkpoint. When this returns without error, the checkpoint survives a crash of the machine, and a restart
    /// finds it whole. If it returns an error or the process dies before, a restart finds the checkpoint before it.
    ///
    /// # Errors
    /// A [`Fault`], such as a full disk. The checkpoint then does not count; the query goes on.
    fn write(&mut self, checkpoint: &Checkpoint) -> Result<(), Fault>;

    /// Notes that the sinks have published everything of the checkpoint with this number, so that older ones are no longer
    /// needed.
    ///
    /// # Errors
    /// A [`Fault`], such as a file that cannot be removed. The checkpoint counts nevertheless.
    fn complete(&mut self, number: u64) -> Result<(), Fault>;
}
