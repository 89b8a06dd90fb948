//! Row counts of an operator over batches, and the memory that its state holds.

use thalweg_model::{Allowance, Counts};

/// Row counts of one operator, and the memory of its state.
#[derive(Default)]
pub struct Accounts {
    /// Rows so far, by what the operator did with them.
    pub counts: Counts,
    /// Grants the memory of the state.
    pub allowance: Allowance,
    bytes: usize,
}

impl Accounts {
    /// Sets the bytes that the state holds from now on, and asks the allowance for those that are new. A refusal ends the
    /// query, so callers need not handle it.
    pub fn hold(&mut self, bytes: usize) {
        if bytes > self.bytes {
            let _ = self.allowance.ask(bytes - self.bytes);
        }
        self.bytes = bytes;
    }

    /// Returns the accounts of a copy without rows and state, whose memory the same allowance grants.
    pub fn of_copy(&self) -> Self {
        Accounts { allowance: self.allowance.clone(), ..Accounts::default() }
    }

    /// Returns the bytes that the state holds.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
