//! Plans run: each node becomes an operator over batches, and those become streams of an ordinary query.
//!
//! [`operator`] is the contract that these operators have among themselves, and what makes operators of the engine of them;
//! the others are one operator each. [`run`] puts a plan together.

pub mod operator;

pub mod calc;
pub mod join;
pub mod kept;
pub mod limit;
mod order;
pub mod run;
pub mod session;
pub mod sort;
pub mod top_n;
pub mod window;
pub mod windows;
