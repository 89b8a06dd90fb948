//! Memory for the state of a task, taken from the engine's budget: requested before the state grows, and
//! adjusted to the size of the state after each step.
//!
//! While a step runs, each request is reserved in addition to the bytes that the state held before, and
//! [`SPARE_BYTES`] more if the budget has them, because most requests are small and frequent. After the step
//! the state reports its size, and that is what stays reserved. A refusal is kept until then, and the query
//! fails with it.

use std::sync::{Arc, OnceLock};

use thalweg_memory::sync::{AtomicBool, AtomicUsize, Mutex, Ordering};
use thalweg_memory::{BudgetExceeded, Pool, Reservation};
use thalweg_model::{Allowance, GrantSource, Payment};

/// Number of bytes that are reserved beyond a request, if they are available, so that small requests seldom
/// reach the budget. Each running task may hold this many bytes that another task lacks when it asks for the
/// last bytes of the budget.
const SPARE_BYTES: usize = 1 << 12;

/// The memory grant of one task: bytes of the engine's budget that the task's state may use.
pub(crate) struct StateGrant {
    pool: Arc<Pool>,
    /// Number of bytes reserved since the end of the last step and not requested yet; at most
    /// [`SPARE_BYTES`]. Taken by compare-and-swap, because other tasks may merge the state of a copy while
    /// the copy runs. Relaxed: only the holder of the task requests memory and adjusts the reservation, and
    /// the task's cell orders its runs.
    spare_bytes: AtomicUsize,
    /// True if the task has requested memory since the end of its last step. Relaxed: only the holder of the
    /// task requests memory and adjusts the reservation, and the task's cell orders its runs. Other tasks
    /// that request memory here put down the merged state behind a lock.
    was_asked: AtomicBool,
    lent: Mutex<Granted>,
    /// The first refusal of memory to this task. It is kept after the refusal was reported, which makes the
    /// query fail.
    first_refusal: OnceLock<BudgetExceeded>,
}

#[derive(Default)]
struct Granted {
    /// Bytes reserved since the end of the last step in addition to what the state held.
    reserved: Option<Reservation>,
    refused: Option<BudgetExceeded>,
}

impl StateGrant {
    pub(crate) fn new(pool: Arc<Pool>) -> Arc<Self> {
        Arc::new(StateGrant {
            pool,
            spare_bytes: AtomicUsize::new(0),
            was_asked: AtomicBool::new(false),
            lent: Mutex::new(Granted::default()),
            first_refusal: OnceLock::new(),
        })
    }

    /// Returns the first refusal of memory, if there was one, even if it was reported already and the query
    /// is about to fail.
    pub(crate) fn first_refusal(&self) -> Option<BudgetExceeded> {
        self.first_refusal.get().copied()
    }

    /// Makes the query fail because another task was refused memory.
    pub(crate) fn refuse(&self, exceeded: BudgetExceeded) {
        self.was_asked.store(true, Ordering::Relaxed);
        self.first_refusal.get_or_init(|| exceeded);
        self.lent.lock().refused.get_or_insert(exceeded);
    }

    pub(crate) fn allowance(self: &Arc<Self>) -> Allowance {
        Allowance::new(Arc::clone(self) as _)
    }

    /// Returns true if the budget refused a request of this task and the query has not been failed with this
    /// refusal yet.
    pub(crate) fn has_refused(&self) -> bool {
        self.was_asked.load(Ordering::Relaxed) && self.lent.lock().refused.is_some()
    }

    /// Changes the reservation `state` to `held_bytes` bytes, the size of the state after a step. The bytes
    /// reserved during the step go into it, and the rest is given back to the budget.
    ///
    /// # Errors
    /// [`BudgetExceeded`] if a request was refused in the step, or if the state holds more than it requested
    /// and that does not fit.
    pub(crate) fn settle(&self, state: &mut Reservation, held_bytes: usize) -> Result<(), BudgetExceeded> {
        if self.was_asked.load(Ordering::Relaxed) {
            self.was_asked.store(false, Ordering::Relaxed);
            self.spare_bytes.store(0, Ordering::Relaxed);
            let Granted { reserved, refused } = std::mem::take(&mut *self.lent.lock());
            reserved.into_iter().for_each(|reserved| state.absorb(reserved));
            if let Some(refused) = refused {
                return Err(refused);
            }
        }
        if held_bytes != state.bytes() && state.resize(held_bytes).is_err() {
            // State takes precedence over the spare pages that the pool keeps for edges, so these are given
            // up first.
            self.pool.give_up_spare();
            state.resize(held_bytes)?;
        }
        Ok(())
    }
}

impl StateGrant {
    /// Reserves memory for a request, as far as the spare bytes do not cover it.
    fn reserve(&self, bytes: usize) -> Result<(), BudgetExceeded> {
        let mut spare_bytes = self.spare_bytes.load(Ordering::Relaxed);
        loop {
            // Spare bytes are reserved already. They are used first, so that the request to the budget is
            // smaller if little is left.
            let rest = spare_bytes.saturating_sub(bytes);
            let taken = self.spare_bytes.compare_exchange_weak(
                spare_bytes,
                rest,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match taken {
                Ok(_) if bytes <= spare_bytes => return Ok(()),
                Ok(_) => break,
                Err(found) => spare_bytes = found,
            }
        }
        self.was_asked.store(true, Ordering::Relaxed);
        let missing_bytes = bytes - spare_bytes;
        let budget = self.pool.budget();
        let (reserved, spare_bytes) = match budget.reserve(missing_bytes.saturating_add(SPARE_BYTES)) {
            Ok(reserved) => (Ok(reserved), SPARE_BYTES),
            Err(_) => {
                let reserved = budget.reserve(missing_bytes).or_else(|_| {
                    self.pool.give_up_spare();
                    budget.reserve(missing_bytes)
                });
                (reserved, 0)
            }
        };
        let more = reserved?;
        match &mut self.lent.lock().reserved {
            Some(reserved) => reserved.absorb(more),
            none => *none = Some(more),
        }
        self.spare_bytes.fetch_add(spare_bytes, Ordering::Relaxed);
        Ok(())
    }
}

impl GrantSource for StateGrant {
    fn lend(&self, bytes: usize) -> bool {
        let reserved = self.reserve(bytes);
        if let Err(exceeded) = reserved {
            self.first_refusal.get_or_init(|| exceeded);
            self.lent.lock().refused.get_or_insert(exceeded);
        }
        reserved.is_ok()
    }

    fn offer(&self, bytes: usize) -> bool {
        self.reserve(bytes).is_ok()
    }

    fn take_back(&self, bytes: usize) {
        if let Some(reserved) = &mut self.lent.lock().reserved {
            let rest_bytes = reserved.bytes().saturating_sub(bytes);
            let shrunk = reserved.resize(rest_bytes);
            debug_assert!(shrunk.is_ok(), "a reservation can always shrink");
        }
    }

    fn pay(&self, bytes: usize) -> Option<Payment> {
        let budget = self.pool.budget();
        let reserved = budget.reserve(bytes).or_else(|_| {
            self.pool.give_up_spare();
            budget.reserve(bytes)
        });
        reserved.ok().map(Payment::holding)
    }

    fn limit_bytes(&self) -> usize {
        self.pool.budget().limit_bytes()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use thalweg_memory::Budget;

    use super::*;

    #[test]
    fn what_is_lent_is_paid_at_once_and_settled_by_what_is_held() {
        let budget = Budget::new(100);
        let pool = Pool::new(Arc::clone(&budget));
        let state_grant = StateGrant::new(pool);
        let mut state = budget.reserve(10).unwrap();
        assert!(state_grant.lend(50) && state_grant.lend(20));
        assert_eq!(budget.used_bytes(), 80);
        // The state grew to 40 bytes. During the step the old 20 bytes were reserved beside the new ones.
        assert_eq!(state_grant.settle(&mut state, 40), Ok(()));
        assert_eq!((budget.used_bytes(), state.bytes()), (40, 40));

        assert!(!state_grant.lend(61) && state_grant.lend(60));
        let refused = state_grant.settle(&mut state, 100).unwrap_err();
        assert_eq!(refused, BudgetExceeded { wanted_bytes: 61, used_bytes: 40, limit_bytes: 100 });
        // The granted bytes stay reserved until the state is dropped. The refusal is reported only once.
        assert_eq!(state_grant.settle(&mut state, 90), Ok(()));
        drop(state);
        assert_eq!(budget.used_bytes(), 0);
    }

    /// An operator may ask for memory that it can do without (`offer`). Such a request is reserved like any
    /// other if there is memory, and otherwise has no effect.
    #[test]
    fn a_refused_offer_fails_nothing() {
        let budget = Budget::new(100);
        let state_grant = StateGrant::new(Pool::new(Arc::clone(&budget)));
        let mut state = budget.reserve(10).unwrap();
        assert!(
            !state_grant.offer(91) && !state_grant.has_refused() && state_grant.first_refusal().is_none()
        );
        assert!(state_grant.offer(90));
        assert_eq!((budget.used_bytes(), state_grant.settle(&mut state, 100)), (100, Ok(())));
    }

    /// Memory that is given back in a step (`take_back`) is free again at once. A reservation from `pay`
    /// lasts beyond the step, until its last clone is dropped.
    #[test]
    fn memory_is_given_back_within_a_step_and_payments_when_they_are_dropped() {
        let budget = Budget::new(100);
        let state_grant = StateGrant::new(Pool::new(Arc::clone(&budget)));
        let mut state = budget.reserve(0).unwrap();
        assert!(state_grant.offer(80) && !state_grant.offer(30));
        state_grant.take_back(80);
        let paid = state_grant.pay(90).unwrap();
        assert!(state_grant.pay(20).is_none() && !state_grant.has_refused());
        let clone = paid.clone();
        drop(paid);
        assert_eq!((state_grant.settle(&mut state, 10), budget.used_bytes()), (Ok(()), 100));
        drop(clone);
        assert_eq!(budget.used_bytes(), 10);
    }

    /// Small requests reserve more than they ask for while there is enough memory. The rest is given back at
    /// the end of the step.
    #[test]
    fn who_asks_for_little_asks_the_budget_seldom() {
        let budget = Budget::new(2 * SPARE_BYTES);
        let state_grant = StateGrant::new(Pool::new(Arc::clone(&budget)));
        let mut state = budget.reserve(0).unwrap();
        assert!((0..=SPARE_BYTES / 8).all(|_| state_grant.lend(8)));
        assert_eq!(budget.used_bytes(), SPARE_BYTES + 8);
        // Bytes reserved beyond earlier requests do not prevent a request for all that is left.
        assert!(state_grant.lend(SPARE_BYTES - 8));
        assert_eq!(budget.used_bytes(), 2 * SPARE_BYTES);
        assert!(!state_grant.lend(1));
        state_grant.settle(&mut state, 3 * 8).unwrap_err();
        state_grant.settle(&mut state, 3 * 8).unwrap();
        assert_eq!(budget.used_bytes(), 3 * 8);
        // After the step the reservation was adjusted to the size of the state, so no bytes are reserved
        // beyond what the state holds.
        assert!(state_grant.lend(8));
        assert_eq!(budget.used_bytes(), 4 * 8 + SPARE_BYTES);
    }
    /// A request for more than the spare bytes takes only the missing bytes from the budget.
    #[test]
    fn what_is_spare_is_not_missed() {
        let budget = Budget::new(8 + SPARE_BYTES + 100);
        let state_grant = StateGrant::new(Pool::new(Arc::clone(&budget)));
        assert!(state_grant.lend(8) && state_grant.lend(SPARE_BYTES + 100));
        assert_eq!(budget.used_bytes(), 8 + SPARE_BYTES + 100);
        assert!(!state_grant.lend(1));
    }

    /// The bytes reserved beyond the requests stay within [`SPARE_BYTES`], however many requests exceed that
    /// number.
    #[test]
    fn no_more_than_a_little_is_ever_spare() {
        let budget = Budget::new(usize::MAX);
        let state_grant = StateGrant::new(Pool::new(Arc::clone(&budget)));
        for asked in 1..100 {
            assert!(state_grant.lend(SPARE_BYTES + 1));
            assert!(budget.used_bytes() <= asked * (SPARE_BYTES + 1) + SPARE_BYTES);
        }
    }
}
