//! Priorities for operating-system threads: a policy ranks the operators of a streaming engine, and the threads that
//! run them get priorities to match.
//!
//! ```text
//!   snapshot -> policy -> ranks -> translator -> priorities -> applier -> kernel        once a period
//!                                                                 |
//!                                                              state file -> watchdog, next start
//! ```
//!
//! - [`steering`]: one round, from a driver's look at its engine to the change of priorities;
//! - [`declared_first`]: a policy for the queries of which enough is known, and `congestion` for all others;
//! - [`queue_means`]: mean lengths of queues, for an engine that tells lengths as they are now;
//! - [`translate`]: ranks become nice values, real-time priorities or CPU shares;
//! - [`apply`]: threads get them, and only what differs is changed;
//! - [`shares`]: control groups of operators get CPU time, and threads are moved into them;
//! - [`state_file`] and [`watchdog`]: everything is put back, even after the tool was killed;
//! - [`tool`]: all of it together, from the start of a program to its end;
//! - [`flink`] and [`storm`]: drivers of engines that run as they are.
//!
//! Source: Frasca et al., "Accelerating Stream Processing Queries with Congestion-aware Scheduling and Real-time Linux Threads"
//! (Computing Frontiers 2023), which extends Palyvos-Giannas et al., "Lachesis" (Middleware 2021).
//!
//! Unsafe code is in `system.rs` only.

#![deny(unsafe_code)]

pub mod apply;
pub mod bounds;
pub mod declared_first;
pub mod flink;
pub mod groups;
mod jvm;
pub mod kernel;
mod numbers;
pub mod queue_means;
pub mod rest;
pub mod setting;
pub mod shares;
pub mod state_file;
pub mod steering;
pub mod storm;
#[expect(unsafe_code, reason = "system calls that no library wraps")]
mod system;
pub mod threads;
pub mod tool;
pub mod translate;
pub mod watchdog;
mod window;

#[cfg(test)]
mod fake;
