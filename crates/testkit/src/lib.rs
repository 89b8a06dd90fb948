//! What the tests of all rooms share: oracles, hostile input, a disk that fails, and the real engine driven
//! from one seed. A dev-dependency only: nothing that ships may import it.
//!
//! Read the modules in this order:
//!
//! 1. [`seed`]: which seeds a test runs, and the command that replays one.
//! 2. [`sim`]: the deterministic simulation: the seed picks who steps next, when memory grows and when time
//!    moves.
//! 3. [`oracle`]: what must come out, recomputed from the whole input in the plainest way.
//! 4. [`hostile`]: records that nobody would like to get; [`arrival`]: records and the watermarks between them.
//! 5. [`operator_bed`]: one operator as a task would drive it, held to its contract without an engine.
//! 6. [`script`], [`splits`], [`gather`], [`sabotage`]: the two ends of a query under test, and where it breaks.
//! 7. [`case`](mod@case): queries under test, each with its oracle.
//! 8. [`disk`]: files that are missing, cut short, replaced, or forgotten when the power goes.
//! 9. [`pairwise`]: few runs in which every pair of settings meets.
//! 10. [`data`]: where recorded data lie. [`watchdog`]: a test that hangs fails.
//!
//! Invariants of this room: no test reads a real clock or sleeps, but for watchdogs, which bound a hang, and four
//! suites whose subject is time: `tests/memory_bound.rs` and `tests/idle.rs`, which measure, and `tests/sleeping.rs`
//! and `tests/churn.rs`, whose sources keep a pace. Every random number follows from a seed that a failure prints.
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
