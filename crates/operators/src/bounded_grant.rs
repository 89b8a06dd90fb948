//! A grant source of memory for an operator under test.

use std::sync::{Arc, Mutex};

use thalweg_model::{Allowance, GrantSource};

/// Grants memory up to a bound, and counts it.
#[derive(Clone)]
pub(crate) struct BoundedGrant(Arc<Mutex<Granted>>);

struct Granted {
    bytes: usize,
    bound: usize,
}

impl BoundedGrant {
    /// Creates a grant source of at most `bound` bytes.
    pub(crate) fn of(bound: usize) -> Self {
        BoundedGrant(Arc::new(Mutex::new(Granted { bytes: 0, bound })))
    }

    pub(crate) fn allowance(&self) -> Allowance {
        Allowance::new(Arc::new(self.clone()))
    }

    /// Returns the bytes granted.
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
