//! Many workers inside one operator (StreamBox: Miao et al., "StreamBox: Modern Stream Processing on a Multicore Machine",
//! USENIX ATC 2017, sections 3 to 5).
//!
//! ```text
//!   split 0 --\                  containers, oldest first                         copies, one per worker
//!   split 1 ---+-- deposit -->  [epoch 7: blocks, unconsumed 3, end assigned]  -- claim -->  gather | relay
//!   split 2 --/                 [epoch 8: blocks, unconsumed 5, open         ]                  |
//!       |                                                                                       v
//!       +-- origin: who has left which epoch -- assigns ends -->  all consumed, oldest  -->  whole: puts together, fires
//! ```
//!
//! An **epoch** is what the splits of a stream put out between two watermarks at which something happens
//! ([`Horizon`](thalweg_model::Horizon)); the [`Origin`] says where it ends. In front of a task that several workers run
//! lies a **container** for each open epoch: its unclaimed blocks, in the lists of the workers that filled them
//! ([`Containers`]), and how many are not consumed ([`EpochTracker`]). Each copy of the task claims the blocks of one worker, and
//! those of others that have waited for long; any worker runs any copy, its own first. What is derived of a block always
//! belongs to the epoch of the block.
//!
//! The life of a container, by its number `e` in the tracker:
//!
//! ```text
//!   open        blocks may be deposited                         e is behind all whose ends are assigned
//!   assigned    its end watermark is known: every split has     e has a place among the ends
//!               left it, so nothing is deposited any more
//!   retrieved   every block is consumed, and every container    e is below `complete`; its end waits for the task that
//!               before it was retrieved                         closes epochs, or was handed on if there is no state
//!   consumed    what was gathered in it is in the state, and    e is below `oldest`; its place is used again
//!               the watermark is on its way
//!   cancelled   its end is not assigned, since nobody needs it  it never got a number: the epoch before goes on
//!               (5.2 of the paper)
//! ```
//!
//! Differences from the paper: epochs are cut where something happens downstream, so that most watermarks are cancelled
//! at the source, before they are one; open epochs and blocks are bounded, where StreamBox runs out of memory; the walk over
//! containers takes no lock that others wait for; a split that is an epoch ring's length ahead of the others goes on in its
//! youngest epoch instead of waiting, since a coarser epoch changes no result.
//!
//! A split that is silent, or at the end of time, holds no end back. When all are silent that has a place behind the last end,
//! and the tasks behind hear of it there. `epochs/README.md` tells the states, the counters and the races.
//!
//! Bounds: [`EPOCHS_MAX`] open epochs, [`MARKERS_MAX`] latency markers that wait, the chunks of an edge.

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

/// Epochs that are open at once in front of one task. Few in models, so that all of them are.
pub(crate) const EPOCHS_MAX: u64 = if cfg!(loom) { 4 } else { crate::limits::EPOCHS.default };

/// Blocks that have waited so long are anybody's, whosever core they lie hot on: as long as a worker may be at its run before
/// it counts as held up.
pub(crate) const STEAL_AFTER_NS: u64 = crate::ranker::ROUND_NS;

/// Latency markers that wait at once behind one task.
pub(crate) const MARKERS_MAX: usize = 64;
