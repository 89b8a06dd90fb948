//! Who lends memory to an operator under test.

use std::sync::{Arc, Mutex};

use thalweg_model::{Allowance, Lender};

/// Grants whatever is asked for up to a bound, and remembers.
#[derive(Clone)]
pub(crate) struct Purse(Arc<Mutex<Granted>>);

struct Granted {
    bytes: usize,
    bound: usize,
}

impl Purse {
    /// Bytes that it can grant in all.
    pub(crate) fn of(bound: usize) -> Self {
        Purse(Arc::new(Mutex::new(Granted { bytes: 0, bound })))
    }

    pub(crate) fn allowance(&self) -> Allowance {
        Allowance::new(Arc::new(self.clone()))
    }

    /// Bytes that were granted.
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
