//! The modes of Enjima's ablation (section 5.2.5): who runs tasks, and what the edges between them are made of.
//!
//! | | queue | queue, batched | blocks |
//! |---|---|---|---|
//! | threads | TQ | | TM |
//! | workers | SQ | | Enjima |

use thalweg_memory::{HandOver, QueueOptions};

use crate::limits::{self, EdgeLimits};

/// Who runs the tasks of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Execution {
    /// A few workers, each on a core of its own, and the policy says which task each of them runs next.
    #[default]
    Workers,
    /// A thread for each task, on the cores that workers would have, and the operating system says which of them runs:
    /// the baseline of Enjima's ablation. There is no policy.
    Threads,
}

/// What the edges of an engine's queries are made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum EdgeMemory {
    /// Blocks, which are used again while they are in the cache.
    #[default]
    Blocks,
    /// Bounded queues, into which each record is put and out of which it is taken by itself: the baseline of Enjima's
    /// ablation. For serial queries. What single operators of a chain take is not measured.
    Queue,
    /// Bounded rings whose records are handed over in batches: the better baseline. For serial queries.
    QueueBatched,
}

impl EdgeMemory {
    /// How values get from hand to hand, if edges are queues.
    pub(crate) fn hand_over(self) -> Option<HandOver> {
        match self {
            EdgeMemory::Blocks => None,
            EdgeMemory::Queue => Some(HandOver::Each),
            EdgeMemory::QueueBatched => Some(HandOver::Batched),
        }
    }
}

/// What bounds the queue in the place of an edge of blocks: it holds as many records as those blocks may, up to
/// [`limits::QUEUE_RECORDS`].
pub(crate) fn queue_options(hand_over: HandOver, limits: EdgeLimits) -> QueueOptions {
    let EdgeLimits { block_records, chunk_blocks, chunks_max, marks_max } = limits;
    let blocks = u64::from(chunk_blocks) * u64::from(chunks_max);
    let records = blocks.saturating_mul(block_records.into()).min(limits::QUEUE_RECORDS.max);
    let records_max = usize::try_from(records).expect("the limit of records in a queue fits usize");
    QueueOptions { hand_over, records_max, marks_max, stamp_records: block_records }
}
