//! The memory of records between operators: chunks cut into blocks, edges made of blocks, the pool that makes chunks
//! ahead of need, and the byte budget of the whole engine.
//!
//! This crate knows no streams, no time and no operators. An edge carries values of one type, and beside them marks
//! of one type, whose rules the caller gives ([`MarkRules`]). Read the modules in this order:
//!
//! 1. [`sync`]: atomics, locks and slots, from std or, under `--cfg loom`, from loom.
//! 2. [`budget`]: bytes that may be held, and reservations that return their bytes when dropped.
//! 3. [`chunk`]: one populated mapping, cut into blocks; `block`: a preamble and N slots.
//! 4. [`pool`]: chunks made and taken back away from the data path.
//! 5. [`cursors`]: positions of the writer and of each reader of an edge, which schedulers read.
//! 6. [`marks`]: the ring of marks that travels beside the data.
//! 7. [`edge`], with its two ends, [`writer`] and [`reader`]; `appender`: the loop that fills blocks.
//! 8. [`block_pool`]: the block pool, for many writers and without order; `run`: consecutive values in one block.
//! 9. [`queue`]: queues of other libraries in place of blocks, for comparison.
//! 10. [`task_cell`]: the task cell, which holds a value that one party at a time takes, such as a task between workers.
//! 11. [`allocator`]: settings of the C library's memory allocator, which a program makes when it starts.
//!
//! `README.md` beside this crate describes the protocols, the races that they close and why they hold.
//!
//! # Invariants
//!
//! All unsafe code of the project lives here and refers to these by number:
//!
//! * **B1** Each end of an edge is one value, neither `Clone` nor `Sync`, and acts through `&mut self`: there is one
//!   writer, and one reader per reader index. A party that hands an end to another thread synchronises.
//! * **B2** For every open reader, `read <= written <= (first block not recycled + blocks owned) * block
//!   capacity`; `read` and `written` never go back.
//! * **B3** The slots of positions from `max(read, recycled)` up to `written` are initialised on an edge with one
//!   reader; on a shared edge those from `recycled` up to `written` are. `written` is stored with Release after
//!   they are filled and loaded with Acquire before they are read.
//! * **B4** The ring entry of a block sequence number is written before `written` passes the block's first
//!   position and does not change until every open reader has passed its last one; only then is the block
//!   recycled.
//! * **B5** A block pointer stays valid while its edge lives: chunks belong to the writer, which hands them to
//!   the edge when it is dropped, and gives one back to the pool only when all its blocks are free.
//! * **B6** The word of a [`TaskCell`] holds the address of its value in IDLE and READY, and no address in EMPTY and
//!   HELD. The party which swaps an address out owns the value.
//! * **B7** A block of a block pool is on the free list of one core, or is owned by one [`BlockWriter`] or one [`Block`].
//!   Of an owned block, the slots in `next..end` of its run are initialised, and only the owner accesses any slot.
//!   Its chunk lives as long as the lists of the cores, and each owner holds one of them.
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

pub mod allocator;
mod appender;
mod block;
pub mod block_pool;
pub mod budget;
pub mod chunk;
pub mod cursors;
pub mod edge;
pub mod marks;
pub mod pool;
mod prefetch;
pub mod queue;
pub mod reader;
mod run;
pub mod stamp;
pub mod sync;
pub mod task_cell;
pub mod writer;

pub use appender::Append;
pub use block_pool::{Block, BlockAppender, BlockDrain, BlockPool, BlockWriter};
pub use budget::{Budget, BudgetExceeded, Reservation};
pub use chunk::{BlockShape, ShapeError};
pub use cursors::{Cursors, ReadPosition};
pub use edge::{EdgeOptions, edge, shared_edge};
pub use marks::{Admission, MarkRules};
pub use pool::Pool;
pub use prefetch::prefetch;
pub use queue::{
    HandOver, QueueAppender, QueueDrain, QueueNext, QueueOptions, QueueReader, QueueWriter, queue,
    shared_queue,
};
pub use reader::{EdgeDrain, Lent, Next, ReadEnd, Reader, SharedNext, SharedReader};
pub use run::{Drain, Passing, Run, TakeOut};
pub use stamp::Stamp;
pub use task_cell::TaskCell;
pub use writer::{EdgeAppender, Writer};
