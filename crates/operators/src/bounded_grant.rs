//! A source of memory grants with a bound, for tests of operators that run out of memory.

use std::sync::{Arc, Mutex};

use thalweg_model::{Allowance, GrantSource};

/// Grants memory to an operator under test up to a bound, and counts the bytes granted.
#[derive(Clone)]
pub(crate) struct BoundedGrant(Arc<Mutex<Granted>>);

struct Granted {
    bytes: usize,
    bound: usize,
}

impl BoundedGrant {
    /// Creates a source of memory grants that hands out at most `bound` bytes.
    pub(crate) fn of(bound: usize) -> Self {
        BoundedGrant(Arc::new(Mutex::new(Granted { bytes: 0, bound })))
    }

    pub(crate) fn allowance(&self) -> Allowance {
        Allowance::new(Arc::new(self.clone()))
    }

    /// Returns the number of bytes granted so far.
    pub(crate) fn granted(&self) -> usize {
        self.0.lock().unwrap().bytes
    }
}

impl GrantSource for BoundedGrant {
    fn lend(&self, bytes: usize) -> bool {
        let mut granted = self.0.lock().unwrap();
        let is_granted = bytes <= granted.bound - granted.bytes;
        granted.bytes += if is_granted { bytes } else { 0 };
        is_granted
    }
}
