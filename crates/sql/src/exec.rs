//! Plans run: each node becomes an operator over batches, and those become streams of an ordinary query.
//!
//! [`operator`] is the contract that these operators have among themselves, and what makes operators of the engine of them;
//! the others are one operator each. [`run`] puts a plan together.

pub mod operator;

#[cfg(test)]
mod bed;
pub mod calc;
mod calls;
mod emission;
pub mod group;
pub mod join;
pub mod kept;
mod keyed;
pub mod limit;
mod order;
pub mod over;
mod pieces;
pub mod rank;
pub mod run;
mod runs;
pub mod session;
pub mod sort;
pub mod top_n;
pub mod window;
pub mod windows;

pub use pieces::Now;
use pieces::Pieces;
