//! Balances: what each car has been charged, and answers to those who ask.
//!
//! Entries and requests of a car come from two streams, each a little out of order. So they wait for the watermark, and
//! are then taken second by second: first the entries, then the requests.
//!
//! The rules stand in [`crate::reference::lrb_full`], under "Entering a segment" and "Requests".

use serde::{Deserialize, Serialize};
use thalweg::{EventTime, KeyedProcess, ProcessContext, Record};

/// What matters to a car's balance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum BalanceEvent {
    /// It enters a segment: what was announced is charged.
    Entered {
        /// The car.
        vehicle: u32,
        /// How many entries of this car at the same instant come before: the first field in which those differ, so they
        /// sort by it.
        nth_at_once: u16,
        /// Whether a journey begins, which forgets what was announced on another.
        begins: bool,
        /// What is announced now, unless it leaves.
        toll: Option<u64>,
    },
    /// Its balance is asked for.
    Asked {
        /// The car.
        vehicle: u32,
        /// The request's number.
        query: u32,
    },
}

impl BalanceEvent {
    /// Whose.
    pub fn vehicle(&self) -> u32 {
        match self {
            BalanceEvent::Entered { vehicle, .. } | BalanceEvent::Asked { vehicle, .. } => *vehicle,
        }
    }
}

/// An answer, stamped with the time of the question.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Balance {
    /// The request's number.
    pub query: u32,
    /// All that was charged so far.
    pub balance: u64,
}

/// What is known of a car's money. A car that owes nothing and of which nothing waits is not known: most cars never pay,
/// and their accounts would outnumber the cars on the road.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Account {
    balance: u64,
    /// Zero if nothing is, which is charged alike.
    announced: u64,
    /// Not taken yet.
    waiting: Vec<(EventTime, BalanceEvent)>,
}

/// Keeps the books; keyed by vehicle.
#[derive(Clone, Copy, Debug)]
pub struct Balances;

impl KeyedProcess<u32, BalanceEvent> for Balances {
    type State = Account;
    type Out = Balance;

    fn on_record(
        &self,
        _vehicle: &u32,
        record: Record<BalanceEvent>,
        context: &mut ProcessContext<'_, u32, Account, Balance>,
    ) {
        context.state().waiting.push((record.event_time, record.value));
        let next_second = second_of(record.event_time).saturating_add(1);
        context.set_timer(EventTime::from_secs(next_second));
    }

    /// All that has happened before `at` is known.
    fn on_timer(
        &self,
        _vehicle: &u32,
        at: EventTime,
        context: &mut ProcessContext<'_, u32, Account, Balance>,
    ) {
        let account = context.state();
        let (mut due, waiting): (Vec<_>, Vec<_>) =
            account.waiting.drain(..).partition(|(time, _)| *time < at);
        account.waiting = waiting;
        let is_request = |event: &BalanceEvent| matches!(event, BalanceEvent::Asked { .. });
        due.sort_unstable_by_key(|(time, event)| (second_of(*time), is_request(event), *time, *event));
        for (time, event) in due {
            let account = context.state();
            match event {
                BalanceEvent::Entered { begins, toll, .. } => {
                    let charged = if begins { 0 } else { account.announced };
                    account.balance = account.balance.saturating_add(charged);
                    account.announced = toll.unwrap_or(0);
                }
                BalanceEvent::Asked { query, .. } => {
                    let balance = account.balance;
                    context.emit_at(time, Balance { query, balance });
                }
            }
        }
        if *context.state() == Account::default() {
            context.clear();
        }
    }

    const HOLDS: bool = true;

    fn held_bytes(&self, account: &Account) -> usize {
        account.waiting.capacity() * size_of::<(EventTime, BalanceEvent)>()
    }
}

fn second_of(at: EventTime) -> i64 {
    at.as_micros().div_euclid(1_000_000)
}

#[cfg(test)]
mod tests;
