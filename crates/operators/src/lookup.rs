//! Lookup join: each record meets the answer to a question about it, which takes its time and keeps no worker waiting.
//!
//! Input      `Record<T>` in any order
//! Output     `Record<U>`, one for one, stamped as the record: in the order of the records, or, between two marks, in that of
//!            the answers
//! State      what is asked and not handed on, at most `in_flight_max` records; none of it before a mark that is handed on,
//!            so none in a checkpoint
//! Emits      as answers come
//! Late       nothing is
//! Watermark  handed on when all records before it are; those behind it are asked meanwhile. So are all other marks. Of two
//!            with nothing between them, the first may be left out
//! Cost       two calls of the lookup per record, and two of functions; O(1) to put it in order
//! Source     Flink's "Asynchronous I/O for External Data Access" for orders and watermarks; slots and places are ours
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
//! An operator is done with a mark when `on_mark` says so: until then nothing behind the mark reaches it. A watermark that
//! waits for answers would keep the records behind it from being asked, and where one comes with every few records, as they
//! may here, hardly any two questions would be in flight together. So this stands at the head of a task, where a source
//! stands in others: it is given records and marks as long as it has room, and gives out records and marks in its own time.
//!
//! What it asks of whoever runs it stands in [`thalweg_model::deferred`].

mod in_flight;

use std::num::NonZeroU32;
use std::task::Waker;

use thalweg_model::{Allowance, Blame, Counts, Deferred, Emitted, Fault, Mark, Output, Record};

use in_flight::InFlight;
pub use in_flight::Ticket;

/// Who answers questions, in time: a client of a store or a service, a pool of threads.
///
/// No call waits. Every question gets an answer in the end; one that takes too long is answered with an error, for
/// whoever asks knows no clock.
pub trait Lookup: Send + 'static {
    /// What is asked.
    type Question;
    /// What is answered.
    type Answer;

    /// Before the first question: whom to wake when there is an answer. It may be woken from any thread and at any time, as
    /// often as one likes, but not while a lock is held that another call into this lookup, or its end, would wait for.
    fn wakes_by(&mut self, waker: &Waker);

    /// Takes a question.
    fn ask(&mut self, ticket: Ticket, question: Self::Question);

    /// An answer that is there, in any order, with its question's ticket; none if there is none yet. From then on, whoever
    /// was named is woken once there is one.
    ///
    /// An error is handed to the function that makes results, which may put something else in the answer's place, or let
    /// the query fail.
    fn poll(&mut self) -> Option<(Ticket, Result<Self::Answer, Fault>)>;

    /// Bytes held, counted as state.
    fn held_bytes(&self) -> usize {
        0
    }
}

/// In which order results go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LookupOrder {
    /// In that of their records: an answer waits for those to all questions that were asked before.
    #[default]
    AsAsked,
    /// As answers come, but none goes past a mark: so each watermark keeps its promise, and no record becomes late.
    AsAnswered,
}

/// How questions are asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LookupOptions {
    /// Records that are asked for and not handed on, at most. When there are so many, no more are read.
    pub in_flight_max: NonZeroU32,
    /// In which order results go on.
    pub order: LookupOrder,
}

impl Default for LookupOptions {
    /// 128 records, in their order. Ours: at 1 ms an answer that is 128,000 records/s, and as many requests at once as most
    /// services bear.
    fn default() -> Self {
        LookupOptions {
            in_flight_max: NonZeroU32::new(128).expect("the default of 128 records is above zero"),
            order: LookupOrder::AsAsked,
        }
    }
}

/// Joins each record with the answer to its question.
#[derive(Debug)]
pub struct LookupJoin<T, U, L, QuestionOf, Combine> {
    name: String,
    lookup: L,
    question_of: QuestionOf,
    combine: Combine,
    in_flight: InFlight<T, U>,
    options: LookupOptions,
    read: u64,
    blame: Blame,
}

impl<T, U, L, QuestionOf, Combine> LookupJoin<T, U, L, QuestionOf, Combine>
where
    L: Lookup,
    QuestionOf: Fn(&T) -> L::Question + Send,
    Combine: Fn(T, Result<L::Answer, Fault>) -> Result<U, Fault> + Send,
{
    /// A join called `name`: `question_of` gives a record's question, `combine` makes the result of a record and the answer;
    /// if it answers with an error, the query fails with that.
    pub fn new(
        name: impl Into<String>,
        lookup: L,
        options: LookupOptions,
        question_of: QuestionOf,
        combine: Combine,
    ) -> Self {
        LookupJoin {
            name: name.into(),
            lookup,
            question_of,
            combine,
            in_flight: InFlight::new(options, Allowance::default()),
            options,
            read: 0,
            blame: Blame::default(),
        }
    }

    /// Whether all that was taken is handed on.
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

    /// Asks its question.
    fn take(&mut self, record: Record<T>) {
        let LookupJoin { lookup, question_of, in_flight, read, blame, .. } = self;
        blame.on(|| {
            let question = question_of(&record.value);
            if let Some(ticket) = in_flight.put(record) {
                lookup.ask(ticket, question);
            }
        });
        *read += 1;
    }

    fn mark(&mut self, mark: Mark) {
        self.in_flight.put_mark(mark);
    }

    /// # Errors
    /// What the function that makes results did not make one of.
    fn emit<O: Output<U>>(&mut self, output: &mut O) -> Result<Emitted, Fault> {
        let LookupJoin { lookup, combine, in_flight, blame, .. } = self;
        blame.on(|| {
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

    /// Every record taken counts as forwarded: it will be.
    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        each(&self.name, Counts { read: self.read, forwarded: self.read, ..Counts::default() });
    }

    fn state_bytes(&self) -> usize {
        self.in_flight.bytes() + self.lookup.held_bytes()
    }

    fn faulted(&self) -> Option<&str> {
        self.blame.is_set().then_some(self.name.as_str())
    }
}

crate::named::named!(LookupJoin<T, U, L, QuestionOf, Combine>);

#[cfg(test)]
mod tests;
