//! Many workers inside one operator (StreamBox: Miao et al., "StreamBox: Modern Stream Processing on a
//! Multicore Machine", USENIX ATC 2017, sections 3 to 5).
//!
//! ```text
//!   split 0 --\                  containers, oldest first                         copies, one per worker
//!   split 1 ---+-- deposit -->  [epoch 7: blocks, unconsumed 3, end assigned]  -- claim -->  gather | relay
//!   split 2 --/                 [epoch 8: blocks, unconsumed 5, open         ]                  |
//!       |                                                                                       v
//!       +-- origin: knows the epoch of each split -- assigns ends -->  all consumed, oldest  -->  closing task: merges, fires
//! ```
//!
//! An **epoch** is the output of a stream's splits between two watermarks at which something happens
//! ([`Horizon`](thalweg_model::Horizon)); the [`Origin`] determines its end. In front of a task that several
//! workers run there is a **container** for each open epoch. It has the unclaimed blocks of the epoch, in the
//! lists of the workers that filled them ([`Containers`]), and the number of blocks that are not consumed
//! ([`EpochTracker`]). Each copy of the task claims the blocks of one worker, and blocks of other workers
//! that have waited for long. A copy with state gathers it per epoch; a copy without state relays the derived
//! records. Any worker runs any copy, its own first. Records derived from a block always belong to the epoch
//! of the block.
//!
//! The life of a container, by its number `e` in the tracker:
//!
//! ```text
//!   open        blocks may be deposited                         `e` is at or above the number of assigned ends
//!   assigned    its end watermark is known: every split has     `e` has a place among the ends
//!               left it, so nothing is deposited any more
//!   retrieved   every block is consumed, and every container    `e` is below `complete`; its end waits for the task that
//!               before it was retrieved                         closes epochs, or was passed on if there is no state
//!   consumed    its gathered state is merged, and               `e` is below `oldest`; its place is used again
//!               the watermark has been sent
//!   cancelled   its end is not assigned, because no operator    it never got a number: the epoch before it continues
//!               needs it (5.2 of the paper)
//! ```
//!
//! Differences from the paper:
//!
//! * Epochs end where something happens downstream, so most watermarks are cancelled at the source, before
//!   they open an epoch.
//! * Open epochs and blocks are bounded, where StreamBox runs out of memory.
//! * The search through containers takes no lock that others wait for.
//! * A split that is ahead of the others by the length of the epoch ring continues in its youngest epoch
//!   instead of waiting, because a coarser epoch changes no result.
//!
//! A split that is silent, or at the end of time, holds no end back. When all splits are silent, the silence
//! has a place behind the last end, and the tasks downstream see it there. `epochs/README.md` describes the
//! states, the counters and the races.
//!
//! Bounds: [`EPOCHS_MAX`] open epochs, [`MARKERS_MAX`] waiting latency markers, the chunks of an edge.

pub mod carrier;
pub mod containers;
mod copies;
pub(crate) mod origin;
mod tracker;

pub(crate) use carrier::{Carrier, NoCarrier, Share};
pub(crate) use containers::{Bundle, Containers, Deposit, FanOut};
pub(crate) use copies::{Copies, Gathered, Pair};
pub(crate) use origin::{Origin, Standing};
pub(crate) use tracker::{Claiming, EpochTracker, Item};

/// Maximum number of epochs that are open at once in front of one task. Only 4 under loom, so that the models
/// reach this bound.
pub(crate) const EPOCHS_MAX: u64 = if cfg!(loom) { 4 } else { crate::limits::EPOCHS.default };

/// Nanoseconds after which any copy of the task may claim a waiting block, whichever core's cache holds the
/// block. A worker whose step takes this long counts as held up.
pub(crate) const STEAL_AFTER_NS: u64 = crate::ranker::ROUND_NS;

/// Maximum number of latency markers that have passed the copies of one parallel task and wait at once for
/// the task that closes its epochs, which merges the state of the copies and emits the results. A generator at
/// a rate has one every millisecond, so these are those of a second.
pub(crate) const MARKERS_MAX: usize = 1 << 10;
