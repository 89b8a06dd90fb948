//! Memory for state: operators ask before their state grows, and go without if they are refused.
//!
//! State never waits for memory: it gets it, or the query fails with `STATE_LIMIT`. An operator that is refused drops
//! what it had no room for and goes on; whoever runs it sees the refusal as soon as the call returns, and ends the
//! query, so nothing that was computed without it is ever published.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Whoever lends memory for state.
pub trait Lender: Send + Sync {
    /// Whether state may grow by `bytes` now. What was refused once is not forgotten by the lender.
    fn lend(&self, bytes: usize) -> bool;

    /// The same for what can be gone without: who remembers refusals forgets this one.
    fn offer(&self, bytes: usize) -> bool {
        self.lend(bytes)
    }

    /// Takes back `bytes` that were lent or offered, before the step is over.
    fn take_back(&self, bytes: usize) {
        let _ = bytes;
    }

    /// Reserves `bytes` for values that leave the operator; none if they do not fit. A refusal is forgotten. Unless a lender
    /// has its own, the payment keeps nothing reserved: the bytes are offered, and the lender's usual rules hold from then on.
    fn pay(&self, bytes: usize) -> Option<Payment> {
        self.offer(bytes).then(Payment::default)
    }

    /// The bytes that all borrowers may hold together.
    fn limit_bytes(&self) -> usize {
        usize::MAX
    }
}

/// Memory that is reserved for values which travel from one operator to the next. Clones stand for the same memory; dropping
/// the last one gives it back.
#[derive(Clone, Default)]
pub struct Payment(Option<Arc<dyn Any + Send + Sync>>);

impl Payment {
    /// Holds `reservation` until the last clone is dropped.
    pub fn holding(reservation: impl Any + Send + Sync) -> Self {
        Payment(Some(Arc::new(reservation)))
    }
}

impl fmt::Debug for Payment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Payment(held)" } else { "Payment(none)" })
    }
}

/// What an operator's state is paid from; without a lender it is without bound, as in tests.
#[derive(Clone, Default)]
pub struct Allowance(Option<Arc<dyn Lender>>);

impl Allowance {
    /// Pays from what `lender` has.
    pub fn new(lender: Arc<dyn Lender>) -> Self {
        Allowance(Some(lender))
    }

    /// Asks for `bytes` more; what is granted must show in `state_bytes` when the call into the operator returns.
    pub fn ask(&self, bytes: usize) -> bool {
        self.0.as_ref().is_none_or(|lender| lender.lend(bytes))
    }

    /// The same for what the operator can go without: it is no failure if there is none.
    pub fn ask_for_spare(&self, bytes: usize) -> bool {
        self.0.as_ref().is_none_or(|lender| lender.offer(bytes))
    }

    /// Gives back `bytes` of what was granted by [`ask`](Self::ask) or [`ask_for_spare`](Self::ask_for_spare) in this step.
    pub fn give_back(&self, bytes: usize) {
        if let Some(lender) = &self.0 {
            lender.take_back(bytes);
        }
    }

    /// Reserves `bytes` for values that leave the operator, until the payment is dropped; none if they do not fit, which is
    /// no failure.
    pub fn pay(&self, bytes: usize) -> Option<Payment> {
        match &self.0 {
            Some(lender) => lender.pay(bytes),
            None => Some(Payment::default()),
        }
    }

    /// The bytes that all who share the memory may hold together.
    pub fn limit_bytes(&self) -> usize {
        self.0.as_ref().map_or(usize::MAX, |lender| lender.limit_bytes())
    }

    /// Makes room for one more item in `items`, doubling what it holds; `false` if that was refused.
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

    struct Purse(Mutex<usize>);

    impl Lender for Purse {
        fn lend(&self, bytes: usize) -> bool {
            let mut left = self.0.lock().unwrap();
            let is_enough = bytes <= *left;
            *left -= if is_enough { bytes } else { 0 };
            is_enough
        }
    }

    /// A vector grows while it is paid for, and stays as it is when it is not.
    #[test]
    fn what_is_not_granted_is_not_taken() {
        let purse = Arc::new(Purse(Mutex::new(64)));
        let allowance = Allowance::new(purse.clone());
        let mut items: Vec<u64> = Vec::new();
        let taken = (0..100u64).take_while(|&item| {
            let has_room = allowance.room_in(&mut items);
            if has_room {
                items.push(item);
            }
            has_room
        });
        // Four, then eight: the next doubling would take 64 bytes more, and none are left.
        assert_eq!(taken.count(), 8);
        assert_eq!((items.capacity(), *purse.0.lock().unwrap()), (8, 0));
        assert!(Allowance::default().ask(usize::MAX));
    }
}
