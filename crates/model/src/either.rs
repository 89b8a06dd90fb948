//! One of two values: what flows where two streams of different types come together, or part.
//!
//! A join is an operator over `Either<L, R>`; an operator with a side output emits `Either<Main, Side>`. So both
//! keep the contract of every other operator, and tasks with several inputs or outputs differ in their ends only.

use serde::{Deserialize, Serialize};

/// A value of the one or of the other type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Either<L, R> {
    /// Of the first input, or for the first output.
    Left(L),
    /// Of the second input, or for the second output.
    Right(R),
}
