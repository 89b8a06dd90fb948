//! Kinds of joins: which records become results, and how.
//!
//! A kind is a type around a function, so the function's arguments are exactly those that can occur: two values for
//! the inner join, a value and an optional one for the left outer join. Unused parts of a kind compile to nothing.
//!
//! ```text
//!   Inner(|left, right| ..)        pairs
//!   LeftOuter(|left, right| ..)    pairs, and left records without a match: `right` is an Option
//!   RightOuter(|left, right| ..)   pairs, and right records without a match: `left` is an Option
//!   FullOuter(|left, right| ..)    pairs, and records without a match: both are Options, at least one is there
//! ```

use std::fmt;

use thalweg_model::State;

/// Rule by which records of the two sides of a join become results.
pub trait Combine<L, R>: Send + Sync {
    /// The type of the results that the join emits.
    type Out;

    /// Type of the note that the join keeps for each left record. It is [`Met`], which tells whether there
    /// was a match, if left records without a match become results; otherwise it is empty.
    type LeftFate: Fate;

    /// Type of the note that the join keeps for each right record. It is [`Met`], which tells whether there
    /// was a match, if right records without a match become results; otherwise it is empty.
    type RightFate: Fate;

    /// Returns the result of a left and a right record that match.
    fn both(&self, left: &L, right: &R) -> Self::Out;

    /// Returns the result of a left record without a match; called only if the join notes which left records
    /// have matches.
    fn left_alone(&self, left: &L) -> Self::Out {
        let _ = left;
        unreachable!("a join that keeps no note of left records has no results of those that met nobody")
    }

    /// Returns the result of a right record without a match; called only if the join notes which right
    /// records have matches.
    fn right_alone(&self, right: &R) -> Self::Out {
        let _ = right;
        unreachable!("a join that keeps no note of right records has no results of those that met nobody")
    }
}

/// Note that a join keeps for each stored record: [`Unnoted`], which takes no memory, or [`Met`].
pub trait Fate: State + Copy + Default + fmt::Debug {
    /// True if this type of note stores whether a record had a match.
    const IS_NOTED: bool;

    /// Stores in the note that the record has had a match.
    fn set_met(&mut self);

    /// Returns whether the stored record has had a match.
    fn has_met(self) -> bool;
}

/// Empty note for records of which it does not matter whether they had a match.
pub type Unnoted = ();

/// Note that tells whether the record had a match.
pub type Met = bool;

impl Fate for Unnoted {
    const IS_NOTED: bool = false;

    #[inline(always)]
    fn set_met(&mut self) {}

    #[inline(always)]
    fn has_met(self) -> bool {
        true
    }
}

impl Fate for Met {
    const IS_NOTED: bool = true;

    #[inline(always)]
    fn set_met(&mut self) {
        *self = true;
    }

    #[inline(always)]
    fn has_met(self) -> bool {
        self
    }
}

/// Inner join: emits pairs of matching records only.
#[derive(Clone, Copy, Debug)]
pub struct Inner<F>(pub F);

impl<L, R, U, F: Fn(&L, &R) -> U + Send + Sync> Combine<L, R> for Inner<F> {
    type Out = U;
    type LeftFate = Unnoted;
    type RightFate = Unnoted;

    #[inline(always)]
    fn both(&self, left: &L, right: &R) -> U {
        (self.0)(left, right)
    }
}

/// Left outer join: emits pairs, and left records without a match.
#[derive(Clone, Copy, Debug)]
pub struct LeftOuter<F>(pub F);

impl<L, R, U, F: Fn(&L, Option<&R>) -> U + Send + Sync> Combine<L, R> for LeftOuter<F> {
    type Out = U;
    type LeftFate = Met;
    type RightFate = Unnoted;

    #[inline(always)]
    fn both(&self, left: &L, right: &R) -> U {
        (self.0)(left, Some(right))
    }

    fn left_alone(&self, left: &L) -> U {
        (self.0)(left, None)
    }
}

/// Right outer join: emits pairs, and right records without a match.
#[derive(Clone, Copy, Debug)]
pub struct RightOuter<F>(pub F);

impl<L, R, U, F: Fn(Option<&L>, &R) -> U + Send + Sync> Combine<L, R> for RightOuter<F> {
    type Out = U;
    type LeftFate = Unnoted;
    type RightFate = Met;

    #[inline(always)]
    fn both(&self, left: &L, right: &R) -> U {
        (self.0)(Some(left), right)
    }

    fn right_alone(&self, right: &R) -> U {
        (self.0)(None, right)
    }
}

/// Full outer join: emits pairs, and records of either side without a match.
#[derive(Clone, Copy, Debug)]
pub struct FullOuter<F>(pub F);

impl<L, R, U, F: Fn(Option<&L>, Option<&R>) -> U + Send + Sync> Combine<L, R> for FullOuter<F> {
    type Out = U;
    type LeftFate = Met;
    type RightFate = Met;

    #[inline(always)]
    fn both(&self, left: &L, right: &R) -> U {
        (self.0)(Some(left), Some(right))
    }

    fn left_alone(&self, left: &L) -> U {
        (self.0)(Some(left), None)
    }

    fn right_alone(&self, right: &R) -> U {
        (self.0)(None, Some(right))
    }
}
