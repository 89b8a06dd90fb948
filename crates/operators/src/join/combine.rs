//! Kinds of joins: which records become results, and how.
//!
//! A kind is a type around a function, so that the function sees exactly what there can be: the inner join two
//! values, the left outer one a value and perhaps another. What a kind does not do compiles to nothing.
//!
//! ```text
//!   Inner(|left, right| ..)        pairs
//!   LeftOuter(|left, right| ..)    pairs, and left records that met nobody: `right` is an Option
//!   RightOuter(|left, right| ..)   pairs, and right records that met nobody: `left` is an Option
//!   FullOuter(|left, right| ..)    pairs, and whoever met nobody: both are Options, one at least is there
//! ```

use std::fmt;

use thalweg_model::State;

/// How the two sides of a join become results.
pub trait Combine<L, R>: Send + Sync {
    /// A result.
    type Out;

    /// What is noted of a left record: [`Met`] if those that met nobody become results, else nothing.
    type LeftFate: Fate;

    /// What is noted of a right record.
    type RightFate: Fate;

    /// The result of two that met.
    fn both(&self, left: &L, right: &R) -> Self::Out;

    /// The result of a left record that met nobody; asked for only if its fate is noted.
    fn left_alone(&self, left: &L) -> Self::Out {
        let _ = left;
        unreachable!("a join that keeps no note of left records has no results of those that met nobody")
    }

    /// The result of a right record that met nobody; asked for only if its fate is noted.
    fn right_alone(&self, right: &R) -> Self::Out {
        let _ = right;
        unreachable!("a join that keeps no note of right records has no results of those that met nobody")
    }
}

/// What is noted of a record that waits for others: [`Unnoted`], which takes no memory, or [`Met`].
pub trait Fate: State + Copy + Default + fmt::Debug {
    /// Whether anything is noted.
    const IS_NOTED: bool;

    /// Notes that the record has become a result.
    fn set_met(&mut self);

    /// Whether it has.
    fn has_met(self) -> bool;
}

/// Nobody asks whether the record met another.
pub type Unnoted = ();

/// Whether the record met another.
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

/// Pairs alone.
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

/// Pairs, and left records that met nobody.
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

/// Pairs, and right records that met nobody.
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

/// Pairs, and records of either side that met nobody.
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
