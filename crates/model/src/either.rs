//! Values of one of two types in one stream: used where two streams of different types meet, or where one
//! stream separates.
//!
//! A join is an operator over `Either<L, R>`; an operator with a side output emits `Either<Main, Side>`. So both keep
//! the contract of every other operator, and tasks with several inputs or outputs differ only at their ends.

use serde::{Deserialize, Serialize};

/// A value of one of two types, such as a record of the left or the right input of a join.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Either<L, R> {
    /// A value from the first of two inputs, or for the first of two outputs.
    Left(L),
    /// A value from the second of two inputs, or for the second of two outputs.
    Right(R),
}
