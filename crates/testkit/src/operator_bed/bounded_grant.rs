//! A source of memory grants for an operator on the test bed. It grants bytes up to a limit and counts them.

use thalweg_memory::sync::Mutex;
use thalweg_model::GrantSource;

/// Grants an operator bytes of memory up to a limit.
pub(super) struct BoundedGrant {
    limit_bytes: usize,
    spent: Mutex<Spent>,
}

#[derive(Clone, Copy, Default)]
struct Spent {
    granted_bytes: usize,
    has_refused: bool,
}

impl BoundedGrant {
    /// Creates a source of memory grants with the given limit; without a limit every request is granted.
    pub(super) fn new(limit_bytes: Option<usize>) -> Self {
        BoundedGrant { limit_bytes: limit_bytes.unwrap_or(usize::MAX), spent: Mutex::new(Spent::default()) }
    }

    /// Returns the sum of all bytes of memory granted to the operator.
    pub(super) fn granted_bytes(&self) -> usize {
        self.spent.lock().granted_bytes
    }

    /// Returns whether a request for memory was refused.
    pub(super) fn has_refused(&self) -> bool {
        self.spent.lock().has_refused
    }
}

impl GrantSource for BoundedGrant {
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
