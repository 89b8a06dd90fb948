//! Balances: the sum of each car's charges, and answers to balance requests.
//!
//! Entries and requests of a car come from two streams, each slightly out of order. So they wait for the
//! watermark, and are then processed second by second: first the entries, then the requests.
//!
//! The rules are stated in [`crate::reference::lrb_full`], under "Entering a segment" and "Requests".

use serde::{Deserialize, Serialize};
use thalweg::{EventTime, KeyedProcess, ProcessContext, Record};

/// An event that matters for the balance of a car's tolls.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum BalanceEvent {
    /// The car enters a segment, and the toll announced before is charged.
    Entered {
        /// Number that identifies the car that enters the segment.
        vehicle: u32,
        /// Number of earlier entries of this car at the same instant. Entries of one instant are sorted by
        /// this number, because it is the first field in which they differ.
        nth_at_once: u16,
        /// Whether a journey of the car begins. If so, the toll announced on an earlier journey is forgotten.
        begins: bool,
        /// The toll that is announced now; `None` if the car leaves the road.
        toll: Option<u64>,
    },
    /// The car's balance is requested.
    Asked {
        /// Number that identifies the car whose balance is requested.
        vehicle: u32,
        /// Number that identifies the request, which its answer repeats.
        query: u32,
    },
}

impl BalanceEvent {
    /// Returns the number of the car that this event concerns.
    pub fn vehicle(&self) -> u32 {
        match self {
            BalanceEvent::Entered { vehicle, .. } | BalanceEvent::Asked { vehicle, .. } => *vehicle,
        }
    }
}

/// An answer to a balance request, stamped with the time of the request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Balance {
    /// Number that identifies the request that is answered.
    pub query: u32,
    /// Sum of all charges of the car so far.
    pub balance: u64,
}

/// The balance of a car. A car with a balance of zero, no announced toll and no waiting events has no account.
/// Most cars never pay, and their accounts would outnumber the cars on the road.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Account {
    balance: u64,
    /// The toll announced last; 0 if none is announced, since a toll of 0 and no toll charge the same.
    announced: u64,
    /// Events of the car that wait for the watermark.
    waiting: Vec<(EventTime, BalanceEvent)>,
}

/// Computes the balances of cars; the input is keyed by the number of the car.
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

    /// Processes the waiting events of a car that are before `at`. It is called when all events before `at`
    /// have arrived.
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
