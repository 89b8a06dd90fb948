//! A lender of memory for an operator under test.

use std::sync::{Arc, Mutex};

use thalweg_model::{Allowance, Lender};

/// Grants memory up to a bound, and counts it.
#[derive(Clone)]
pub(crate) struct Purse(Arc<Mutex<Granted>>);

struct Granted {
    bytes: usize,
    bound: usize,
}

impl Purse {
    /// Creates a lender of at most `bound` bytes.
    pub(crate) fn of(bound: usize) -> Self {
        Purse(Arc::new(Mutex::new(Granted { bytes: 0, bound })))
    }

    pub(crate) fn allowance(&self) -> Allowance {
        Allowance::new(Arc::new(self.clone()))
    }

    /// Returns the bytes granted.
    pub(crate) fn granted(&self) -> usize {
        self.0.lock().unwrap().bytes
    }
}

impl Lender for Purse {
    fn lend(&self, bytes: usize) -> bool {
        let mut granted = self.0.lock().unwrap();
        let is_granted = bytes <= granted.bound - granted.bytes;
        granted.bytes += if is_granted { bytes } else { 0 };
        is_granted
    }
}
