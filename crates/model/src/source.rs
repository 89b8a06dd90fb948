//! The contracts of sources and generators.

use crate::allowance::Allowance;
use crate::fault::Fault;
use crate::operator::Output;
use crate::record::Record;
use crate::state::{StateError, StateReader, StateWriter};
use crate::time::{EventTime, ProcessingTime};
use crate::weighed::Weighed;

/// How a source stands after a poll.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourceStatus {
    /// More can be had at once, as much as one likes.
    Ready,
    /// More is due, and has been since this instant: schedulers see how much waits, and for how long.
    DueSince(ProcessingTime),
    /// Nothing before this instant.
    IdleUntil(ProcessingTime),
    /// Nothing more, ever.
    Ended,
}

/// What a poll did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Polled {
    /// How the source stands.
    pub status: SourceStatus,
    /// A latency marker to be set behind the records of this poll: when the last of them should have been sent.
    pub latency: Option<ProcessingTime>,
}

impl Polled {
    /// A poll without a latency marker.
    pub const fn new(status: SourceStatus) -> Self {
        Polled { status, latency: None }
    }
}

/// Where records enter a query. The engine calls; a source never pushes of its own accord and never waits:
/// it says when to call again.
pub trait Source: Send {
    /// The type of its values.
    type Item: Send + 'static;

    /// Makes at most `limit` records, as far as `output` has room, and says how it stands at `now`.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn poll<O: Output<Self::Item>>(
        &mut self,
        now: ProcessingTime,
        limit: usize,
        output: &mut O,
    ) -> Result<Polled, Fault>;

    /// Publishes what it has put aside: it was asked to end before its input has, and is not polled again. A source
    /// that ends by itself does so before it answers [`SourceStatus::Ended`].
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// Before the first poll: takes the allowance that temporary memory of a poll is paid from.
    fn fund(&mut self, allowance: &Allowance) {
        let _ = allowance;
    }

    /// How far apart in time its records are due, if it sends them at a pace: so schedulers can tell how many wait
    /// for it to be polled.
    fn spacing_ns(&self) -> Option<u64> {
        None
    }

    /// What it has made so far, if its records count for several; then the limits that it is polled with are in rows.
    #[inline(always)]
    fn weighed(&self) -> Option<Weighed> {
        None
    }

    /// Input that was not understood and, by the source's setting, not let through.
    fn bad_count(&self) -> u64 {
        0
    }

    /// Bytes held for buffers and caches, counted against the engine's budget.
    fn held_bytes(&self) -> usize {
        0
    }

    /// Writes down the position, so that [`load`](Source::load) goes on behind the last record made.
    ///
    /// # Errors
    /// [`StateError`] if it cannot be written.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError>;

    /// Goes to a position that was saved.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are no such position, or it can no longer be reached.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError>;
}

/// An endless, repeatable sequence of values: the data of a generator, without its pace.
pub trait Generate: Send + Sync + 'static {
    /// The type of its values.
    type Item: Clone + Send + 'static;

    /// Whether making a value twice costs less than keeping it, as when it is read from a cache: then it is made where a
    /// reader looks at it, and again where one takes it. Else each is made once, kept, and cloned when it is taken.
    const IS_CHEAP: bool = false;

    /// The value at `index`, the same at every call. There is one for every index, wanted or not: some are made ahead.
    fn value(&self, index: u64, event_time: EventTime) -> Self::Item;

    /// Hands the records from `first` on to `each`, one for each event time, with that and the value that
    /// [`value`](Generate::value) gives: for a generator that finds the next value more easily than any.
    #[inline(always)]
    fn each_value(
        &self,
        first: u64,
        event_times: impl Iterator<Item = EventTime>,
        mut each: impl FnMut(Record<Self::Item>),
    ) {
        for (offset, event_time) in (0..).zip(event_times) {
            each(Record::new(event_time, self.value(first.wrapping_add(offset), event_time)));
        }
    }

    /// Where the value at `index` lies in memory, if it lies there, so that it can be fetched before it is wanted.
    #[inline(always)]
    fn place(&self, index: u64) -> Option<&Self::Item> {
        let _ = index;
        None
    }

    /// Bytes of its cache, counted in the engine's budget.
    fn cache_bytes(&self) -> usize;
}

/// A source of given records, for tests and examples: they come as fast as they are taken.
///
/// # Example
/// ```
/// use thalweg_model::{EventTime, Record, source::Given};
/// let source = Given::new(vec![Record::new(EventTime::from_secs(1), "a")]);
/// # let _ = source;
/// ```
#[derive(Clone, Debug)]
pub struct Given<T> {
    records: Vec<Record<T>>,
    next: usize,
}

impl<T> Given<T> {
    /// A source of `records`, in this order.
    pub fn new(records: Vec<Record<T>>) -> Self {
        Given { records, next: 0 }
    }
}

impl<T: Clone + Send + 'static> Source for Given<T> {
    type Item = T;

    fn poll<O: Output<T>>(
        &mut self,
        _now: ProcessingTime,
        limit: usize,
        output: &mut O,
    ) -> Result<Polled, Fault> {
        let mut made = 0;
        while made < limit && output.room() > 0 && self.next < self.records.len() {
            output.push(self.records[self.next].clone());
            self.next += 1;
            made += 1;
        }
        let ended = self.next == self.records.len();
        Ok(Polled::new(if ended { SourceStatus::Ended } else { SourceStatus::Ready }))
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.next)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let next: usize = state.take()?;
        if next > self.records.len() {
            let reason = format!("position {next} lies behind the last of {} records", self.records.len());
            return Err(state.wrong(reason));
        }
        self.next = next;
        Ok(())
    }
}
