//! Pays for an operator's state and remembers what it has paid.

use thalweg_memory::sync::Mutex;
use thalweg_model::Lender;

/// Grants bytes up to a limit.
pub(super) struct Purse {
    limit_bytes: usize,
    spent: Mutex<Spent>,
}

#[derive(Clone, Copy, Default)]
struct Spent {
    granted_bytes: usize,
    has_refused: bool,
}

impl Purse {
    /// Grants all that is asked for if there is no limit.
    pub(super) fn new(limit_bytes: Option<usize>) -> Self {
        Purse { limit_bytes: limit_bytes.unwrap_or(usize::MAX), spent: Mutex::new(Spent::default()) }
    }

    /// All that was ever granted.
    pub(super) fn granted_bytes(&self) -> usize {
        self.spent.lock().granted_bytes
    }

    /// Whether something was refused.
    pub(super) fn has_refused(&self) -> bool {
        self.spent.lock().has_refused
    }
}

impl Lender for Purse {
    fn lend(&self, bytes: usize) -> bool {
        let mut spent = self.spent.lock();
        let is_enough = bytes <= self.limit_bytes - spent.granted_bytes;
        if is_enough {
            spent.granted_bytes += bytes;
        } else {
            spent.has_refused = true;
        }
        is_enough
    }
}
