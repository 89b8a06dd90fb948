//! Memory grants for state: operators ask before their state grows, and do without if they are refused.
//!
//! State never waits for memory: either it gets the memory, or the query fails with `STATE_LIMIT`. An
//! operator that is refused drops the data for which it had no room, and continues. The task that runs the
//! operator sees the refusal as soon as the call into the operator returns, and ends the query, so no result
//! computed without that data is ever published.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Grants memory for the state of an operator, from the budget of an engine.
pub trait GrantSource: Send + Sync {
    /// Returns true if the state may grow by `bytes` now. A refusal is remembered, and fails the query when
    /// the call into the operator returns.
    fn lend(&self, bytes: usize) -> bool;

    /// Returns true if the state may grow by `bytes` now, for memory that the operator can do without. A
    /// refusal is not remembered, and does not fail the query.
    fn offer(&self, bytes: usize) -> bool {
        self.lend(bytes)
    }

    /// Takes back `bytes` of memory that [`lend`](Self::lend) or [`offer`](Self::offer) granted in the same
    /// step (one run of the operator's task).
    fn take_back(&self, bytes: usize) {
        let _ = bytes;
    }

    /// Reserves `bytes` for values that leave the operator; `None` if they do not fit, which does not fail
    /// the query. The default implementation checks once that the bytes fit, as `offer` does, and returns a
    /// [`Payment`] (a shared reservation) that keeps nothing reserved.
    fn pay(&self, bytes: usize) -> Option<Payment> {
        self.offer(bytes).then(Payment::default)
    }

    /// Returns the size of the memory budget in bytes, which all queries of the engine share.
    fn limit_bytes(&self) -> usize {
        usize::MAX
    }
}

/// A reservation of memory for values that travel from one operator to the next. Clones share the
/// reservation; dropping the last clone releases it.
#[derive(Clone, Default)]
pub struct Payment(Option<Arc<dyn Any + Send + Sync>>);

impl Payment {
    /// Creates a shared reservation of memory, which drops `reservation` when its last clone is dropped.
    pub fn holding(reservation: impl Any + Send + Sync) -> Self {
        Payment(Some(Arc::new(reservation)))
    }
}

impl fmt::Debug for Payment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Payment(held)" } else { "Payment(none)" })
    }
}

/// Memory allowance of an operator's state: it asks a [`GrantSource`], such as the memory budget of an
/// engine, for memory. An allowance without a grant source is unlimited, as in tests.
#[derive(Clone, Default)]
pub struct Allowance(Option<Arc<dyn GrantSource>>);

impl Allowance {
    /// Creates an allowance that asks `grant_source` for memory.
    pub fn new(grant_source: Arc<dyn GrantSource>) -> Self {
        Allowance(Some(grant_source))
    }

    /// Asks for `bytes` more memory, and returns true if they are granted. The operator must include granted
    /// bytes in its [`state_bytes`](crate::Operator::state_bytes) by the time at which the call into it
    /// returns. A refusal fails the query.
    pub fn ask(&self, bytes: usize) -> bool {
        self.0.as_ref().is_none_or(|grant_source| grant_source.lend(bytes))
    }

    /// Asks for `bytes` of memory that the operator can do without: a refusal does not fail the query.
    pub fn ask_for_spare(&self, bytes: usize) -> bool {
        self.0.as_ref().is_none_or(|grant_source| grant_source.offer(bytes))
    }

    /// Gives back `bytes` of memory that [`ask`](Self::ask) or [`ask_for_spare`](Self::ask_for_spare) granted
    /// in this step (one run of the operator's task).
    pub fn give_back(&self, bytes: usize) {
        if let Some(grant_source) = &self.0 {
            grant_source.take_back(bytes);
        }
    }

    /// Reserves `bytes` for values that leave the operator, until the last clone of the returned reservation
    /// is dropped. `None` if they do not fit, which does not fail the query.
    pub fn pay(&self, bytes: usize) -> Option<Payment> {
        match &self.0 {
            Some(grant_source) => grant_source.pay(bytes),
            None => Some(Payment::default()),
        }
    }

    /// Returns the size of the memory budget in bytes, which all queries of the engine share.
    pub fn limit_bytes(&self) -> usize {
        self.0.as_ref().map_or(usize::MAX, |grant_source| grant_source.limit_bytes())
    }

    /// Makes room for one more item in `items` by doubling its capacity. Returns `false` if the memory was
    /// refused.
    #[inline]
    pub fn room_in<T>(&self, items: &mut Vec<T>) -> bool {
        items.len() < items.capacity() || self.grow(items)
    }

    #[cold]
    fn grow<T>(&self, items: &mut Vec<T>) -> bool {
        let more = items.capacity().max(4);
        let is_granted = self.ask(more * size_of::<T>());
        if is_granted {
            items.reserve_exact(more);
        }
        is_granted
    }
}

impl fmt::Debug for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Allowance(bounded)" } else { "Allowance(unbounded)" })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    struct BoundedGrant(Mutex<usize>);

    impl GrantSource for BoundedGrant {
        fn lend(&self, bytes: usize) -> bool {
            let mut left = self.0.lock().unwrap();
            let is_enough = bytes <= *left;
            *left -= if is_enough { bytes } else { 0 };
            is_enough
        }
    }

    /// A vector grows while memory is granted, and keeps its size when memory is refused.
    #[test]
    fn what_is_not_granted_is_not_taken() {
        let bounded_grant = Arc::new(BoundedGrant(Mutex::new(64)));
        let allowance = Allowance::new(bounded_grant.clone());
        let mut items: Vec<u64> = Vec::new();
        let taken = (0..100u64).take_while(|&item| {
            let has_room = allowance.room_in(&mut items);
            if has_room {
                items.push(item);
            }
            has_room
        });
        // The vector has room for 4 items, then 8. The next doubling would take 64 bytes more, and none are
        // left.
        assert_eq!(taken.count(), 8);
        assert_eq!((items.capacity(), *bounded_grant.0.lock().unwrap()), (8, 0));
        assert!(Allowance::default().ask(usize::MAX));
    }
}
