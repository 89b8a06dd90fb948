//! Row counts of an operator over batches of rows, and the bytes of memory that its state holds.

use thalweg_model::{Allowance, Counts};

/// Row counts of one operator, the bytes that its state holds, and the memory allowance through which these
/// bytes are reserved from the engine's budget.
#[derive(Default)]
pub struct Accounts {
    /// Numbers of rows that the operator has handled so far, by what was done with them.
    pub counts: Counts,
    /// Memory allowance through which the bytes of the operator's state are reserved from the engine's
    /// budget.
    pub allowance: Allowance,
    bytes: usize,
}

impl Accounts {
    /// Sets the allowance through which the memory of the state is reserved from the engine's budget from now
    /// on.
    pub fn fund(&mut self, allowance: &Allowance) {
        self.allowance = allowance.clone();
    }

    /// Sets the bytes that the state of the operator holds from now on, and reserves the bytes that are added
    /// from the memory budget. A refusal by the budget is ignored here, because the runner of the operator
    /// sees it and ends the query.
    pub fn hold(&mut self, bytes: usize) {
        if bytes > self.bytes {
            let _ = self.allowance.ask(bytes - self.bytes);
        }
        self.bytes = bytes;
    }

    /// Returns the accounts for a copy of the operator that has no state and has handled no rows. Its state
    /// is reserved through the same memory allowance.
    pub fn of_copy(&self) -> Self {
        Accounts { allowance: self.allowance.clone(), ..Accounts::default() }
    }

    /// Returns the bytes that the state of the operator holds.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Implements the methods of an operator over batches, or of a join, that give access to its field `accounts`.
macro_rules! accounted {
    () => {
        fn accounts(&self) -> &$crate::exec::accounts::Accounts {
            &self.accounts
        }

        fn accounts_mut(&mut self) -> &mut $crate::exec::accounts::Accounts {
            &mut self.accounts
        }
    };
}
pub(super) use accounted;
