//! The modes of Enjima's ablation (section 5.2.5): tasks are run by workers or by one thread each, and the
//! edges between tasks are queues or blocks.
//!
//! | | queue | queue, batched | blocks |
//! |---|---|---|---|
//! | threads | TQ | | TM |
//! | workers | SQ | | Enjima |

use thalweg_memory::{HandOver, QueueOptions};

use crate::limits::{self, EdgeLimits};

/// The way in which the tasks of an engine are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Execution {
    /// A few worker threads run the tasks, each on a core of its own. The policy decides which task each
    /// worker runs next.
    #[default]
    Workers,
    /// A thread for each task, on the cores that workers would have: the baseline of Enjima's ablation. The
    /// operating system decides which thread runs, and no scheduling policy is asked.
    Threads,
}

/// Kind of memory of which the edges of an engine's queries are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EdgeMemory {
    /// Edges are made of blocks, which are used again while they are in the cache.
    #[default]
    Blocks,
    /// Edges are bounded queues, into which records are put one by one, and from which they are taken one by
    /// one: the baseline of Enjima's ablation. Only for serial queries. The costs of single operators of a
    /// chain are not measured in this mode.
    Queue,
    /// Edges are bounded queues whose records are handed over in batches. This baseline is faster than a
    /// queue with single records. Only for serial queries.
    QueueBatched,
}

impl EdgeMemory {
    /// Returns the way in which a queue hands over its values; `None` if edges are made of blocks.
    pub(crate) fn hand_over(self) -> Option<HandOver> {
        match self {
            EdgeMemory::Blocks => None,
            EdgeMemory::Queue => Some(HandOver::Each),
            EdgeMemory::QueueBatched => Some(HandOver::Batched),
        }
    }
}

/// Returns the bounds of the queue that replaces an edge of blocks: it holds as many records as the blocks
/// would hold, up to [`limits::QUEUE_RECORDS`].
pub(crate) fn queue_options(hand_over: HandOver, limits: EdgeLimits) -> QueueOptions {
    let EdgeLimits { block_records, chunk_blocks, chunks_max, marks_max } = limits;
    let blocks = u64::from(chunk_blocks) * u64::from(chunks_max);
    let records = blocks.saturating_mul(block_records.into()).min(limits::QUEUE_RECORDS.max);
    let records_max = usize::try_from(records).expect("the limit of records in a queue fits usize");
    QueueOptions { hand_over, records_max, marks_max, stamp_records: block_records }
}
