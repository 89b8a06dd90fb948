//! Execution of plans: each node of a plan becomes an operator over batches of rows, and the operators become
//! streams of a query of the engine.
//!
//! [`operator`] holds the contract between these operators, and the adapter that makes them operators of the
//! engine. The other modules hold one operator each. [`run`] assembles a plan.

mod accounts;
pub mod operator;

mod bag;
#[cfg(test)]
mod bed;
pub mod by_arrival;
pub mod calc;
mod calls;
mod emission;
pub mod exchange;
pub mod final_rows;
pub mod group;
pub mod join;
pub mod kept;
mod keyed;
pub mod limit;
mod order;
pub mod over;
mod parts;
mod pieces;
pub mod rank;
mod renewal;
pub mod run;
mod runs;
#[cfg(test)]
mod saved_tests;
pub mod session;
mod short_bytes;
pub mod sort;
pub mod sorted_over;
pub mod spilling;
pub mod top_n;
pub mod unnest;
pub mod window;
pub mod windows;

pub use pieces::Now;
use pieces::Pieces;
