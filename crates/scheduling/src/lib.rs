//! Who runs next: the [`Policy`] trait, the [`Snapshot`] that policies see, and one file per policy.
//!
//! A policy is a small pure struct. It ranks operators from a snapshot and sees nothing else: no clock but
//! [`Snapshot::now`], no threads, no atomics, no configuration. So a table of snapshots is its test, and the
//! same struct can be driven by the worker pool, by a simulator, by thread-per-operator execution and by a
//! steerer of another engine's threads.
//!
//! ```text
//!   executor --- Snapshot ---> Policy --- Rank, Quantum ---> executor --- Completion ---> Policy
//! ```
//!
//! Read the modules in this order:
//!
//! 1. [`snapshot`]: what a policy sees of operators, queries and time, and what it is told after a run.
//! 2. [`rank`]: what it answers, and the 64-bit word by which executors compare.
//! 3. [`policy`]: the contract, when each of its methods is called, and the names by which users choose.
//! 4. [`policy::fcfs`] and [`policy::round_robin`], a page each: who came first, and one turn each.
//! 5. [`policy::output_cost`]: what a result costs from where an operator stands; [`policy::min_latency`] ranks by it.
//! 6. [`policy::enjima`], the default: output cost and latency decide who is first, thresholds who is worth a run.
//! 7. [`policy::streambox`]: what the next result in event time waits for runs first.
//! 8. [`policy::klink`]: the least slack to the watermark that closes a window; what frees memory first when it is short.
//! 9. [`policy::cameo`]: deadlines of messages, by what is known of where they stand; [`policy::cameo::token`]: shares by tokens.
//! 10. Baselines of the papers: [`policy::min_cost`] (Aurora's MC), [`policy::highest_rate`] (HR), [`policy::chain`],
//!     [`policy::sbox`] (in Klink), [`policy::congestion`] (EdgeWise, Lachesis), [`policy::orleans`] and `fifo` (in Cameo). Some
//!     starve operators by definition; [`policy::ageing`] bounds it.
//! 11. [`trace`]: the calls to a policy, recorded and replayed; [`run_log`]: what ran, where and when; [`observed`]: what both
//!     are told by.
//!
//! Invariants of this room: what a rank is made of was in a snapshot or in a completion; a score does not depend on the
//! instant at which it is computed; smaller words run first; `rank` and `quantum` neither loop nor allocate.
#![forbid(unsafe_code)]

pub mod observed;
pub mod policy;
pub mod rank;
pub mod run_log;
pub mod snapshot;
#[cfg(test)]
mod test_bed;
pub mod trace;

pub use policy::ageing::Ageing;
pub use policy::cameo::{Cameo, CameoForm, CameoSettings};
pub use policy::enjima::{Enjima, EnjimaSettings, ThresholdRange};
pub use policy::klink::{Estimate, Klink, KlinkSettings};
pub use policy::output_cost::OutputCost;
pub use policy::streambox::StreamBox;
pub use policy::{Policy, Refresh, Scale, UnknownPolicy, by_name, names};
pub use rank::{Quantum, Rank};
pub use run_log::{Logged, RunLog};
pub use snapshot::{
    Completion, Context, DelayStatistics, EpochWork, Fields, OperatorId, OperatorState, ProgressMap, QueryId,
    QueryState, Snapshot, StreamState,
};
pub use trace::{Diverged, Trace, TraceError, Traced};
