//! Lookup join: each record is joined with the answer to a question about it; answers take time and keep no worker
//! waiting.
//!
//! Input      `Record<T>` in any order
//! Output     `Record<U>`, one for each record, with its stamp: in the order of the records, or, between two marks,
//!            in the order of the answers
//! State      records that are asked and not emitted, at most `in_flight_max`; none from before a mark that is
//!            forwarded, so none in a checkpoint
//! Emits      as answers come
//! Late       no record is late
//! Watermark  forwarded when all records before it are emitted; records behind it are asked meanwhile. All other
//!            marks behave the same. The first of two watermarks with nothing between them may be left out
//! Cost       two calls of the lookup per record, and two of functions; O(1) to put it in order
//! Source     Flink's "Asynchronous I/O for External Data Access" for orders and watermarks; slots and places are
//!            ours
//!
//! ```
//! # use thalweg::{Lookup, LookupOptions, Segment, Stream};
//! # fn f<C: Segment<u32>, L: Lookup<Question = u32, Answer = String>>(numbers: Stream<u32, C>, names: L) -> Stream<String, impl Segment<String>> {
//! numbers.lookup(names, LookupOptions::default(), |number| *number, |_number, name| name)
//! # }
//! ```
//!
//! # Why it is no `Operator`
//!
//! An operator has finished a mark when `on_mark` says so: until then nothing behind the mark reaches it. A watermark
//! that waits for answers would keep the records behind it from being asked. Watermarks may come with every few
//! records here, so hardly any two questions would be in flight together. So a lookup stands at the head of a task,
//! where other tasks have a source. It is given records and marks as long as it has room, and emits records and marks
//! in its own time.
//!
//! [`thalweg_model::deferred`] describes what it requires of the task that runs it.

mod in_flight;

use std::num::NonZeroU32;
use std::task::Waker;

use thalweg_model::{
    Allowance, Counts, Deferred, Emitted, Fault, Mark, Output, Record, StateError, StateReader, StateWriter,
};

use crate::accounts::Accounts;
use in_flight::InFlight;
pub use in_flight::Ticket;

/// Answers questions with a delay: a client of a store or a service, or a pool of threads.
///
/// No call waits. Every question gets an answer in the end. The lookup itself must answer with an error when one
/// takes too long, since the join knows no clock.
pub trait Lookup: Send + 'static {
    /// The type of a question to the lookup.
    type Question;
    /// The type of an answer of the lookup.
    type Answer;

    /// Sets the waker to call when there is an answer; called before the first question. The waker may be called from
    /// any thread, at any time and any number of times. The thread that calls it must hold no lock that another call
    /// into this lookup, or its drop, would wait for.
    fn wakes_by(&mut self, waker: &Waker);

    /// Begins to find the answer to a question. The answer is later returned with the same `ticket`.
    fn ask(&mut self, ticket: Ticket, question: Self::Question);

    /// Returns an answer with its question's ticket, in any order; `None` if there is none yet. After `None`, the
    /// lookup calls the waker once there is an answer.
    ///
    /// An error is handed to the function that makes results, which may replace the answer or let the query fail.
    fn poll(&mut self) -> Option<(Ticket, Result<Self::Answer, Fault>)>;

    /// Returns the bytes of memory that the lookup holds, which count as state of the operator.
    fn held_bytes(&self) -> usize {
        0
    }
}

/// Order in which a lookup join emits its results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LookupOrder {
    /// Results come in the order of their records: an answer waits until all earlier questions are answered.
    #[default]
    AsAsked,
    /// Results come in the order of the answers, but none passes a mark. So each watermark keeps its promise,
    /// and no record becomes late.
    AsAnswered,
}

/// Options of a lookup join: how many questions may be open, and the order of the results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LookupOptions {
    /// Largest number of records whose question was asked and whose result is not emitted yet. At this
    /// number, the join reads no more records.
    pub in_flight_max: NonZeroU32,
    /// Order in which the results of the lookup join are emitted.
    pub order: LookupOrder,
}

impl Default for LookupOptions {
    /// Returns a limit of 128 records in flight, and results in the order of their records. The limit is
    /// ours: with answers after 1 ms it allows 128,000 records/s, and it is as many requests at once as most
    /// services can take.
    fn default() -> Self {
        LookupOptions {
            in_flight_max: NonZeroU32::new(128).expect("the default of 128 records is above zero"),
            order: LookupOrder::AsAsked,
        }
    }
}

/// Lookup join: joins each record with the answer to a question about it.
#[derive(Debug)]
pub struct LookupJoin<T, U, L, QuestionOf, Combine> {
    accounts: Accounts,
    lookup: L,
    question_of: QuestionOf,
    combine: Combine,
    in_flight: InFlight<T, U>,
    options: LookupOptions,
}

impl<T, U, L, QuestionOf, Combine> LookupJoin<T, U, L, QuestionOf, Combine>
where
    L: Lookup,
    QuestionOf: Fn(&T) -> L::Question + Send,
    Combine: Fn(T, Result<L::Answer, Fault>) -> Result<U, Fault> + Send,
{
    /// Creates a lookup join called `name`. `question_of` returns the question about a record. `combine`
    /// makes the result of a record and the answer. If `combine` returns an error, the query fails with it.
    pub fn new(
        name: impl Into<String>,
        lookup: L,
        options: LookupOptions,
        question_of: QuestionOf,
        combine: Combine,
    ) -> Self {
        LookupJoin {
            accounts: Accounts::new(name.into()),
            lookup,
            question_of,
            combine,
            in_flight: InFlight::new(options, Allowance::default()),
            options,
        }
    }

    /// Returns whether the results of all records that the join has taken are emitted.
    pub fn is_empty(&self) -> bool {
        self.in_flight.is_empty()
    }
}

impl<T, U, L, QuestionOf, Combine> Deferred<T> for LookupJoin<T, U, L, QuestionOf, Combine>
where
    T: Send,
    U: Send,
    L: Lookup,
    QuestionOf: Fn(&T) -> L::Question + Send,
    Combine: Fn(T, Result<L::Answer, Fault>) -> Result<U, Fault> + Send,
{
    type Out = U;

    fn wakes_by(&mut self, waker: &Waker) {
        self.lookup.wakes_by(waker);
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.in_flight = InFlight::new(self.options, allowance.clone());
    }

    fn room(&self) -> usize {
        self.in_flight.room()
    }

    /// Takes a record and asks the lookup the question about it.
    fn take(&mut self, record: Record<T>) {
        let LookupJoin { lookup, question_of, in_flight, accounts, .. } = self;
        accounts.blame.on(|| {
            let question = question_of(&record.value);
            if let Some(ticket) = in_flight.put(record) {
                lookup.ask(ticket, question);
            }
        });
        accounts.read += 1;
    }

    fn mark(&mut self, mark: Mark) {
        self.in_flight.put_mark(mark);
    }

    /// Emits the results and marks that may be emitted by now, as far as there is room.
    ///
    /// # Errors
    /// Returns the error of `combine`, the function that makes results.
    fn emit<O: Output<U>>(&mut self, output: &mut O) -> Result<Emitted, Fault> {
        let LookupJoin { lookup, combine, in_flight, accounts, .. } = self;
        accounts.blame.on(|| {
            while let Some((ticket, answer)) = lookup.poll() {
                in_flight.answer(ticket, |value| combine(value, answer))?;
            }
            Ok::<_, Fault>(())
        })?;
        while output.room() > 0 {
            let Some(record) = in_flight.next_record() else {
                return Ok(in_flight.next_mark().map_or(Emitted::All, Emitted::Mark));
            };
            output.push(record);
        }
        Ok(Emitted::NoRoom)
    }

    /// Passes the counts of the join to the visitor. Every record taken counts as forwarded already, since
    /// each has one result in the end.
    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        each(&self.accounts.name, self.accounts.forwarding());
    }

    fn state_bytes(&self) -> usize {
        self.in_flight.bytes() + self.lookup.held_bytes()
    }

    fn faulted(&self) -> Option<&str> {
        self.accounts.faulted()
    }

    /// Saves no records: a barrier is emitted behind all records before it, and none behind it is taken so far.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        if !self.is_empty() {
            let reason =
                format!("`{}` has records in flight that are behind the barrier", self.accounts.name);
            return Err(StateError::Write(reason));
        }
        state.frame(KIND, VERSION, |_| Ok(()))
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        state.frame(KIND, VERSION, |_| Ok(()))
    }
}

/// Kind and version of the state of [`LookupJoin`].
const KIND: &str = "lookup";
const VERSION: u32 = 1;

crate::named::named!(LookupJoin<T, U, L, QuestionOf, Combine>);

#[cfg(test)]
mod tests;
