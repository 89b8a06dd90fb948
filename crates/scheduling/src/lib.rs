//! Who runs next: the [`Policy`] trait, the [`Snapshot`] that policies see, and one file per policy.
//!
//! A policy is a small pure struct. It ranks operators from a snapshot and sees nothing else: no clock but
//! [`Snapshot::now`], no threads, no atomics, no configuration. So a table of snapshots is its test, and the
//! same struct can be driven by the worker pool, by a simulator, by thread-per-operator execution and by a
//! steerer of another engine's threads.
//!
//! Read [`snapshot`] first, then [`rank`], then [`policy`] and one of its files, [`policy::fcfs`].
#![forbid(unsafe_code)]

pub mod policy;
pub mod rank;
pub mod snapshot;

pub use policy::{Policy, Refresh, Scale, UnknownPolicy, by_name, names};
pub use rank::{Quantum, Rank};
pub use snapshot::{Completion, Fields, OperatorId, OperatorState, QueryId, QueryState, Snapshot};
