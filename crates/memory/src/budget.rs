//! The byte budget of the engine: memory is reserved before it is allocated, and a reservation returns its
//! bytes when it is dropped. The reserved bytes never exceed the budget, not even for a moment.

use std::fmt;

use crate::sync::{Arc, AtomicUsize, Ordering};

/// The number of bytes that all queries of an engine together may hold at once.
#[derive(Debug)]
pub struct Budget {
    limit_bytes: usize,
    /// Number of bytes reserved now. Raised by compare-and-swap and lowered by subtraction. Relaxed, because
    /// it guards no other memory: a reservation is a permission, not a message.
    used_bytes: AtomicUsize,
    /// The most bytes that were ever reserved at once. Relaxed, because it is only read for reports.
    peak_bytes: AtomicUsize,
}

/// Error: a reservation of memory does not fit into the budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BudgetExceeded {
    /// Number of bytes that were to be reserved.
    pub wanted_bytes: usize,
    /// Number of bytes of the budget that were reserved already.
    pub used_bytes: usize,
    /// Number of bytes in the whole budget.
    pub limit_bytes: usize,
}

impl fmt::Display for BudgetExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bytes do not fit: {} of {} bytes of the memory budget are in use; raise the budget or run fewer queries",
            self.wanted_bytes, self.used_bytes, self.limit_bytes
        )
    }
}

impl std::error::Error for BudgetExceeded {}

impl Budget {
    /// Creates a budget of `limit_bytes` bytes, of which none are reserved.
    pub fn new(limit_bytes: usize) -> Arc<Self> {
        Arc::new(Budget { limit_bytes, used_bytes: AtomicUsize::new(0), peak_bytes: AtomicUsize::new(0) })
    }

    /// Returns the number of bytes in the whole budget.
    pub fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    /// Returns the number of bytes that are reserved now.
    pub fn used_bytes(&self) -> usize {
        self.used_bytes.load(Ordering::Relaxed)
    }

    /// Returns the most bytes that were ever reserved at once.
    pub fn peak_bytes(&self) -> usize {
        self.peak_bytes.load(Ordering::Relaxed)
    }

    /// Reserves `bytes` bytes, or nothing if they do not fit into the budget.
    ///
    /// # Errors
    /// [`BudgetExceeded`] if the bytes do not fit.
    pub fn reserve(self: &Arc<Self>, bytes: usize) -> Result<Reservation, BudgetExceeded> {
        self.take(bytes)?;
        Ok(Reservation { budget: Arc::clone(self), bytes })
    }

    fn take(&self, bytes: usize) -> Result<(), BudgetExceeded> {
        let mut used = self.used_bytes.load(Ordering::Relaxed);
        loop {
            let refused =
                BudgetExceeded { wanted_bytes: bytes, used_bytes: used, limit_bytes: self.limit_bytes };
            let after = used.checked_add(bytes).filter(|&after| after <= self.limit_bytes).ok_or(refused)?;
            match self.used_bytes.compare_exchange_weak(used, after, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    self.peak_bytes.fetch_max(after, Ordering::Relaxed);
                    return Ok(());
                }
                Err(now) => used = now,
            }
        }
    }

    fn give_back(&self, bytes: usize) {
        let before = self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
        assert!(before >= bytes, "budget gave back {bytes} bytes of {before} reserved");
    }
}

/// Reserved bytes of a budget, which are returned to the budget when the reservation is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Reservation {
    /// Returns the number of bytes that this reservation holds.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes over the bytes of the reservation `other`, which must be of the same budget.
    ///
    /// # Panics
    /// If `other` is of another budget.
    pub fn absorb(&mut self, mut other: Reservation) {
        assert!(Arc::ptr_eq(&self.budget, &other.budget), "reservations of one budget are put together");
        self.bytes += std::mem::take(&mut other.bytes);
    }

    /// Grows or shrinks the reservation to `bytes` bytes.
    ///
    /// # Errors
    /// [`BudgetExceeded`] if the growth does not fit into the budget; the reservation is then unchanged.
    pub fn resize(&mut self, bytes: usize) -> Result<(), BudgetExceeded> {
        if bytes > self.bytes {
            self.budget.take(bytes - self.bytes)?;
        } else {
            self.budget.give_back(self.bytes - bytes);
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn reservations_fit_or_fail_whole_and_give_themselves_back() {
        let budget = Budget::new(100);
        let mut first = budget.reserve(60).unwrap();
        let refused = budget.reserve(41).unwrap_err();
        assert_eq!(refused, BudgetExceeded { wanted_bytes: 41, used_bytes: 60, limit_bytes: 100 });
        let second = budget.reserve(40).unwrap();
        assert!(first.resize(61).is_err());
        assert_eq!((first.bytes(), budget.used_bytes()), (60, 100));
        drop(second);
        first.resize(10).unwrap();
        assert_eq!((budget.used_bytes(), budget.peak_bytes()), (10, 100));
        assert!(budget.reserve(usize::MAX).is_err());
        drop(first);
        assert_eq!(budget.used_bytes(), 0);
    }
}
