//! What accumulators hold beyond themselves, counted and paid for.
//!
//! It is asked for when it is there: a fold allocates before anybody can tell how much. Folds that hold nothing
//! ([`Fold::HOLDS`]) pay nothing for this.

use thalweg_model::{Allowance, Fold};

/// What an accumulator holds.
#[inline(always)]
pub(super) fn held<V, F: Fold<V>>(fold: &F, accumulator: &F::Accumulator) -> usize {
    if F::HOLDS { fold.held_bytes(accumulator) } else { 0 }
}

/// What accumulators hold together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held(usize);

impl Held {
    /// Some of them held `before`, and hold `after` now.
    #[inline(always)]
    pub(super) fn note(&mut self, allowance: &Allowance, before: usize, after: usize) {
        self.0 = self.0 + after - before;
        if after > before {
            // Refused or not, it is there; the query of who is refused fails when the call returns.
            let _is_granted = allowance.ask(after - before);
        }
    }

    pub(super) fn bytes(self) -> usize {
        self.0
    }
}
