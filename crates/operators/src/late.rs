//! What becomes of late records: an operator counts them and drops them, or hands them on beside its results.
//!
//! Chosen by a type, so that an operator that drops them emits plain results, and one that diverts them `Either`s, whose
//! two sides can part at the end of the task.

use thalweg_model::Either;

/// What an operator with results of type `R` does with late values of type `V`.
pub trait LateRule<R, V>: Send + 'static {
    /// What it emits.
    type Out;

    /// A result, as it is emitted.
    fn result(result: R) -> Self::Out;

    /// What is emitted for a late value, stamped with its own event time; none if it is dropped.
    fn late(value: V) -> Option<Self::Out>;
}

/// Late records are counted and dropped.
#[derive(Clone, Copy, Debug, Default)]
pub struct DropLate;

impl<R, V> LateRule<R, V> for DropLate {
    type Out = R;

    #[inline(always)]
    fn result(result: R) -> R {
        result
    }

    #[inline(always)]
    fn late(_value: V) -> Option<R> {
        None
    }
}

/// Late records are counted and handed on, as [`Either::Right`]; results are [`Either::Left`].
#[derive(Clone, Copy, Debug, Default)]
pub struct DivertLate;

impl<R, V> LateRule<R, V> for DivertLate {
    type Out = Either<R, V>;

    #[inline(always)]
    fn result(result: R) -> Either<R, V> {
        Either::Left(result)
    }

    #[inline(always)]
    fn late(value: V) -> Option<Either<R, V>> {
        Some(Either::Right(value))
    }
}
