//! Scheduling policies: the [`Policy`] trait, the [`Snapshot`] that policies read, and one file per policy.
//!
//! A policy is a small pure struct. It ranks operators from a snapshot and sees nothing else: no clock but
//! [`Snapshot::now`], no threads, no atomics, no configuration. So a table of snapshots is its test. The same struct
//! can be driven by the worker pool, by a simulator, by thread-per-operator execution, and by a program that steers
//! the threads of another engine.
//!
//! ```text
//!   executor --- Snapshot ---> Policy --- Rank, Quantum ---> executor --- Completion ---> Policy
//! ```
//!
//! Read the modules in this order:
//!
//! 1. [`snapshot`]: the state of operators, queries and time that a policy reads, and the report that it gets after a
//!    run.
//! 2. [`rank`]: a policy's answer, and the 64-bit word by which executors compare answers.
//! 3. [`policy`]: the contract, when each of its methods is called, and the names by which users choose a
//!    policy; [`settings`]: the parameters that they set beside a name; [`parameters`]: all parameters of a policy,
//!    by name, as the policy itself reports them.
//! 4. [`policy::fcfs`] and [`policy::round_robin`], a page each: first come first served, and one turn each.
//! 5. [`policy::output_cost`]: the cost of getting one result out of a query, counted from an operator on;
//!    [`policy::min_latency`] ranks by it.
//! 6. [`policy::enjima`], the default: output cost and latency decide the order, thresholds decide eligibility.
//! 7. [`policy::streambox`]: work that the next result in event time waits for runs first.
//! 8. [`policy::klink`]: least slack to the watermark that closes a window; when memory is short, most memory freed.
//! 9. [`policy::cameo`]: deadlines of messages, computed from their scheduling contexts; [`policy::cameo::token`]:
//!    proportional shares by tokens.
//! 10. Baselines of the papers: [`policy::min_cost`] (Aurora's MC), [`policy::highest_rate`] (HR), [`policy::chain`],
//!     [`policy::sbox`] (in Klink), [`policy::congestion`] (EdgeWise, Lachesis), [`policy::orleans`] and `fifo` (in
//!     Cameo). Some of them starve operators by definition; [`policy::ageing`] bounds the wait.
//! 11. [`stream`]: the state of a source in snapshots, which drivers keep from its watermarks.
//! 12. [`trace`]: the calls to a policy, recorded and replayed; [`run_log`]: which operator ran, where and when;
//!     [`observed`]: the wrapper that feeds both.
//!
//! Invariants of this room: a rank is computed from a snapshot and from completions only; a score does not depend on
//! the instant at which it is computed; operators with smaller words run first; `rank` and `quantum` neither loop
//! nor allocate.
#![forbid(unsafe_code)]

pub mod observed;
pub mod parameters;
pub mod policy;
pub mod rank;
pub mod run_log;
pub mod settings;
pub mod snapshot;
pub mod stream;
#[cfg(test)]
mod test_bed;
pub mod trace;

pub use parameters::{Parameter, ParameterValue};
pub use policy::ageing::Ageing;
pub use policy::cameo::{Cameo, CameoForm, CameoProgress, CameoSettings};
pub use policy::enjima::{Enjima, EnjimaSettings, ThresholdRange};
pub use policy::klink::{Estimate, Klink, KlinkSettings, Relief};
pub use policy::output_cost::OutputCost;
pub use policy::streambox::StreamBox;
pub use policy::{InputOrder, Policy, ROUND_NS, Refresh, Scale, UnknownPolicy, by_name, configured, names};
pub use rank::{Quantum, Rank};
pub use run_log::{Logged, RunLog};
pub use settings::Settings;
pub use snapshot::{
    Completion, Context, DelayStatistics, EpochWork, Fields, OperatorId, OperatorState, ProgressMap, QueryId,
    QueryState, Snapshot, StreamState,
};
pub use trace::{Diverged, Trace, TraceError, Traced};
