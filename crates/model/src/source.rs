//! The contracts of sources, which bring records into the engine, and of generators.

use crate::allowance::Allowance;
use crate::fault::Fault;
use crate::operator::Output;
use crate::record::Record;
use crate::state::{StateError, StateReader, StateWriter};
use crate::time::{EventTime, ProcessingTime};
use crate::weighed::Weighed;

/// State of a source after a poll: whether and when more records come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourceStatus {
    /// The source can make more records at once, without limit.
    Ready,
    /// More records have been due since this instant. Schedulers learn from it how many records wait, and for
    /// how long.
    DueSince(ProcessingTime),
    /// The source has no record before this instant.
    IdleUntil(ProcessingTime),
    /// The source has ended: no more records come.
    Ended,
}

/// Result of polling a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Polled {
    /// State of the source after the poll.
    pub status: SourceStatus,
    /// A latency marker to be set after the records of this poll: the time at which the last of these records
    /// should have been sent.
    pub latency: Option<ProcessingTime>,
}

impl Polled {
    /// Creates the result of polling a source, without a latency marker.
    pub const fn new(status: SourceStatus) -> Self {
        Polled { status, latency: None }
    }
}

/// A source: the start of a query, which brings records into the engine. The engine polls it; a source never
/// pushes records on its own and never waits, but tells when to poll again.
pub trait Source: Send {
    /// The type of the values that the source makes.
    type Item: Send + 'static;

    /// Makes at most `limit` records, as far as `output` has room, and returns the state of the source at
    /// `now`. With a limit of 0 it delivers only the records that it has already made
    /// ([pending](Source::has_pending)).
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn poll<O: Output<Self::Item>>(
        &mut self,
        now: ProcessingTime,
        limit: usize,
        output: &mut O,
    ) -> Result<Polled, Fault>;

    /// Returns true if the source has made records for which the output had no room. The next polls deliver
    /// these records; only after that is [`finish`](Source::finish) called on a source that was asked to end.
    fn has_pending(&self) -> bool {
        false
    }

    /// Publishes what the source has buffered besides its records, such as a file of malformed input lines.
    /// Called when the source is asked to end before its input has ended; it is not polled again. A source
    /// that ends by itself publishes it before it returns [`SourceStatus::Ended`].
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// Gives the source the allowance that grants temporary memory of a poll. Called before the first poll.
    fn fund(&mut self, allowance: &Allowance) {
        let _ = allowance;
    }

    /// Returns the nanoseconds between two due records, if the source sends them at a pace; otherwise `None`.
    /// Schedulers use it to estimate how many records wait for a poll.
    fn spacing_ns(&self) -> Option<u64> {
        None
    }

    /// Returns when the record that the source made last could first have been read: for a generator, when
    /// the record was due; for a broker, when the broker had it. Policies learn from this time when
    /// watermarks arrive (Klink, SIGMOD 2021, section 3.1; Cameo, NSDI 2021, section 4.3). Because the source
    /// gives the time, it does not include delays of the scheduler. `None` if the source does not know, as
    /// with files; then the start of the step that read the record counts. Latencies of results are counted
    /// from this time, too. Called only after a record that makes a watermark due, and when the source falls
    /// silent or ends.
    fn arrived(&self) -> Option<ProcessingTime> {
        None
    }

    /// Returns the number of rows made so far, if a record stands for several rows; otherwise `None`. The
    /// limits given to `poll` are then in rows.
    #[inline(always)]
    fn weighed(&self) -> Option<Weighed> {
        None
    }

    /// Returns the number of malformed inputs so far. By the setting of the source they were skipped, or
    /// written to a file of their own.
    fn bad_count(&self) -> u64 {
        0
    }

    /// Returns the bytes that the source holds for buffers and caches, counted against the engine's budget.
    fn held_bytes(&self) -> usize {
        0
    }

    /// Writes the position of the source, so that [`load`](Source::load) continues after the last record
    /// made.
    ///
    /// # Errors
    /// [`StateError`] if the position cannot be written.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError>;

    /// Continues the source from a position that [`save`](Source::save) wrote.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are no such position, or if the position can no longer be reached.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError>;
}

/// The data of a generator, without its pace: an endless sequence of values that can be repeated.
pub trait Generate: Send + Sync + 'static {
    /// The type of the values that the generator makes.
    type Item: Clone + Send + 'static;

    /// True if making a value twice costs less than keeping it, for example if it is read from a cache. Such
    /// a value is made when a reader inspects it, and again when a reader takes it. Otherwise each value is
    /// made once, kept, and cloned when it is taken.
    const IS_CHEAP: bool = false;

    /// Returns the value at `index`, which must be the same at every call. Every index has a value, because
    /// some values are made ahead of need.
    fn value(&self, index: u64, event_time: EventTime) -> Self::Item;

    /// Calls `each` with the records from index `first` on, one for each of the event times, with the values
    /// that [`value`](Generate::value) returns. Generators override it if the next value costs less than an
    /// arbitrary one.
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

    /// Returns a reference to the value at `index` if it is in memory, so that it can be prefetched.
    #[inline(always)]
    fn place(&self, index: u64) -> Option<&Self::Item> {
        let _ = index;
        None
    }

    /// Returns the bytes of the generator's cache, counted against the engine's budget.
    fn cache_bytes(&self) -> usize;
}

/// A source of given records, for tests and examples. It delivers them as fast as they are taken.
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
    /// Creates a test source that gives `records`, in this order.
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
