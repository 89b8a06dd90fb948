//! Replacement of operators by others that load their state, for tests of saved state: no result depends on it.
//!
//! A stage whose [`World`](thalweg_sql_tables::connect::World) has `renewals` saves its operator before some of its batches
//! and marks, and goes on with another one that has loaded the state. Whether it does so is drawn. State that cannot be
//! saved, such as state on disk, stays where it is.

use std::sync::{Arc, Mutex, PoisonError};

use thalweg_model::{Entropy, StateError, StateReader, StateWriter};
use thalweg_sql_functions::functions::EvaluationError;

use super::operator::{Make, Outcome};

/// A stage replaces its operator before one call in this number, on average.
const CALLS: u64 = 3;

/// Decides when an operator is replaced, and creates the operator that replaces it.
pub(super) struct Renewal<T: ?Sized> {
    draws: Arc<Mutex<dyn Entropy>>,
    make: Make<T>,
}

impl<T: ?Sized> Clone for Renewal<T> {
    fn clone(&self) -> Self {
        Renewal { draws: Arc::clone(&self.draws), make: Arc::clone(&self.make) }
    }
}

impl<T: ?Sized> Renewal<T> {
    /// Creates a renewal by operators that `make` creates.
    pub(super) fn new(draws: Arc<Mutex<dyn Entropy>>, make: Make<T>) -> Self {
        Renewal { draws, make }
    }

    /// Returns a new operator if one is to replace the operator now.
    pub(super) fn drawn(&self) -> Option<Outcome<Box<T>>> {
        let is_due = self.draws.lock().unwrap_or_else(PoisonError::into_inner).below(CALLS) == 0;
        is_due.then(|| (self.make)())
    }
}

/// Moves state by `save` to saved bytes and by `load` out of them. Returns false if the state cannot be saved.
///
/// # Errors
/// The reason why saved state cannot be loaded.
pub(super) fn moved(
    save: impl FnOnce(&mut StateWriter) -> Result<(), StateError>,
    load: impl FnOnce(&mut StateReader<'_>) -> Result<(), StateError>,
) -> Outcome<bool> {
    let mut state = StateWriter::default();
    if save(&mut state).is_err() {
        return Ok(false);
    }
    let bytes = state.into_bytes();
    let mut reader = StateReader::new(&bytes);
    let loaded = load(&mut reader).and_then(|()| reader.finish());
    loaded
        .map(|()| true)
        .map_err(|error| EvaluationError { code: "NOT_RESTORED", message: error.to_string() })
}
