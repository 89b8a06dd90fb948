//! Shared test code of all packages: oracles, hostile input, a disk that fails, and the real engine driven from
//! one seed. It is a dev-dependency only: no released package may import it.
//!
//! Read the modules in this order:
//!
//! 1. [`seed`]: which seeds a test runs, and the command that replays one.
//! 2. [`sim`]: the deterministic simulation: the seed picks the worker that steps next, when memory grows and when time
//!    moves.
//! 3. [`oracle`]: the expected results, recomputed from the whole input in the plainest way.
//! 4. [`hostile`]: streams of difficult records; [`arrival`]: records and the watermarks between them.
//! 5. [`operator_bed`]: one operator as a task would drive it, checked against its contract without an engine.
//! 6. [`script`], [`splits`], [`gather`], [`sabotage`]: the two ends of a query under test, and the places
//!    where it fails.
//! 7. [`case`](mod@case): queries under test, each with its oracle.
//! 8. [`disk`]: files that are missing, truncated, replaced, or lost in a power cut.
//! 9. [`pairwise`]: few runs in which every pair of settings occurs.
//! 10. [`data`]: the location of recorded data. [`watchdog`]: makes a test that hangs fail.
//!
//! Invariants of this package: no test reads a real clock or sleeps, except watchdogs, which bound a hang, and
//! four suites whose subject is time: `tests/memory_bound.rs` and `tests/idle.rs`, which measure, and
//! `tests/sleeping.rs` and `tests/churn.rs`, whose sources keep a pace. Every random number follows from a seed
//! that a failure prints.
#![forbid(unsafe_code)]

pub mod arrival;
pub mod case;
pub mod data;
pub mod disk;
pub mod gather;
pub mod hostile;
pub mod operator_bed;
pub mod oracle;
pub mod pairwise;
pub mod sabotage;
pub mod script;
pub mod seed;
pub mod sim;
pub mod splits;
pub mod watchdog;

pub use case::Case;
pub use gather::{Gather, Gathered};
pub use sabotage::{Place, Sabotage};
pub use seed::Seeds;
pub use sim::{Event, Setup, Simulation};
