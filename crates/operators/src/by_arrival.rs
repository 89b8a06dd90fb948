//! By arrival: records get the processing time at which they come as their event time, and watermarks follow the clock.
//!
//! Input      `Record<T>` in any order
//! Output     the same records, stamped with the processing time of the step that takes them, in whole milliseconds
//! State      records and marks that are taken and not emitted, at most 32 records; the instants of its [`Timers`]
//! Emits      at once
//! Late       no record is late, neither here nor in operators behind it
//! Watermark  its own: the processing time, before records if time has passed, and when a timer is due, also without
//!            input. Watermarks and idleness of the input end here, but for the last watermark of a stream that ends
//! Cost       one call of a function per record, and two moves
//! Source     Flink's "Timely Stream Processing", processing time; to make it an event time is ours
//!
//! ```
//! # use thalweg::{EveryTick, Segment, Span, Stream};
//! # fn f<C: Segment<u32>>(numbers: Stream<u32, C>) -> Stream<u32, impl Segment<u32>> {
//! numbers.by_arrival(EveryTick::new(Span::from_millis(100)), |_number, _now| {})
//! # }
//! ```
//!
//! Windows, joins and sorts behind it are those of event time, and need no knowledge of clocks. It is no
//! [`Operator`](thalweg_model::Operator), since an operator emits only when something comes, and the last window of a
//! stream that falls silent is due all the same. The runner of a [`Deferred`] operator calls it when its time has come.

use std::collections::VecDeque;
use std::task::Waker;

use thalweg_model::{
    Allowance, Counts, Deferred, Emitted, EventTime, Fault, Mark, Output, ProcessingTime, Record, Span,
    StateError, StateReader, StateWriter,
};

use crate::accounts::Accounts;

/// Greatest number of records that are taken and not emitted.
const RECORDS_MAX: usize = 32;

/// Instants at which results may be due behind a [`ByArrival`], such as the ends of windows.
pub trait Timers: Send + 'static {
    /// Notes that records have come at `now`, which never goes back.
    fn note(&mut self, now: EventTime);

    /// Returns the earliest instant at which a result may be due, and that has not been passed; `None` if there is none.
    fn next(&self) -> Option<EventTime>;

    /// Notes that the watermark is at `now`, so that all instants up to it are passed.
    fn pass(&mut self, now: EventTime);

    /// Writes the instants that are due.
    ///
    /// # Errors
    /// [`StateError`] if they cannot be written. Timers without this method cannot be saved.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        let _ = state;
        Err(StateError::Write("the timers of an operator by arrival cannot be saved".to_owned()))
    }

    /// Replaces the instants that are due by those that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not such instants.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        Err(state.wrong("the timers of an operator by arrival cannot be loaded"))
    }
}

/// Timers that are due at each multiple of a span, from the first record on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EveryTick {
    span_us: i64,
    next: Option<EventTime>,
}

impl EveryTick {
    /// Creates timers that are due at each multiple of `span`, at least one millisecond. A result comes up to this span
    /// after the end of its window, and each tick costs a step of the task.
    pub fn new(span: Span) -> Self {
        EveryTick { span_us: span.as_micros().max(1_000), next: None }
    }
}

impl Timers for EveryTick {
    fn note(&mut self, now: EventTime) {
        if self.next.is_none() {
            self.pass(now);
        }
    }

    fn next(&self) -> Option<EventTime> {
        self.next
    }

    fn pass(&mut self, now: EventTime) {
        let ticks = now.as_micros().div_euclid(self.span_us);
        self.next = Some(EventTime::from_micros(ticks.saturating_add(1).saturating_mul(self.span_us)));
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.next.map(EventTime::as_micros))
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let next: Option<i64> = state.take()?;
        self.next = next.map(EventTime::from_micros);
        Ok(())
    }
}

/// Content of the queue between taking and emitting.
#[derive(Debug)]
enum Queued<T> {
    Record(Record<T>),
    Mark(Mark),
}

/// Stamps records with the processing time at which they come, and emits watermarks by the clock.
#[derive(Debug)]
pub struct ByArrival<T, K, Restamp> {
    accounts: Accounts,
    timers: K,
    restamp: Restamp,
    /// Records and marks in the order in which they are emitted.
    queue: VecDeque<Queued<T>>,
    /// Processing time of the step, in whole milliseconds.
    now: EventTime,
    /// The last watermark that was put into the queue.
    watermark: EventTime,
    /// Whether the stream has ended, so that no timer matters.
    is_over: bool,
}

impl<T, K: Timers, Restamp: Fn(&mut T, EventTime)> ByArrival<T, K, Restamp> {
    /// Creates an operator called `name`. `restamp` writes the new event time into a value, for values that contain it.
    pub fn new(name: impl Into<String>, timers: K, restamp: Restamp) -> Self {
        ByArrival {
            accounts: Accounts::new(name.into()),
            timers,
            restamp,
            queue: VecDeque::with_capacity(RECORDS_MAX + 2),
            now: EventTime::MIN,
            watermark: EventTime::MIN,
            is_over: false,
        }
    }

    /// Puts the watermark of the present time into the queue, unless it is there already.
    fn tell_time(&mut self) {
        if self.now > self.watermark {
            self.watermark = self.now;
            self.queue.push_back(Queued::Mark(Mark::Watermark(self.now)));
        }
        self.timers.pass(self.now);
    }
}

impl<T, K, Restamp> Deferred<T> for ByArrival<T, K, Restamp>
where
    T: Send,
    K: Timers,
    Restamp: Fn(&mut T, EventTime) + Send,
{
    type Out = T;

    /// Does nothing: the passing of time alone makes something to emit.
    fn wakes_by(&mut self, _waker: &Waker) {}

    /// Does nothing: the queue has its greatest size from the start.
    fn fund(&mut self, _allowance: &Allowance) {}

    fn begin(&mut self, now: ProcessingTime) {
        let millis = i64::try_from(now.as_nanos() / 1_000_000).unwrap_or(i64::MAX);
        self.now = self.now.max(EventTime::from_micros(millis.saturating_mul(1_000)));
    }

    fn due(&self) -> ProcessingTime {
        match self.timers.next() {
            Some(next) if !self.is_over => {
                // The time of a step is rounded down to whole milliseconds, so a timer is due at the next whole one.
                let millis = u64::try_from(next.as_micros()).unwrap_or(0).div_ceil(1_000);
                ProcessingTime::from_nanos(millis.saturating_mul(1_000_000))
            }
            _ => ProcessingTime::NEVER,
        }
    }

    fn room(&self) -> usize {
        RECORDS_MAX.saturating_sub(self.queue.len())
    }

    fn take(&mut self, mut record: Record<T>) {
        self.tell_time();
        let ByArrival { accounts, restamp, timers, now, .. } = self;
        accounts.blame.on(|| restamp(&mut record.value, *now));
        record.event_time = *now;
        timers.note(*now);
        accounts.read += 1;
        self.queue.push_back(Queued::Record(record));
    }

    fn mark(&mut self, mark: Mark) {
        match mark {
            Mark::Watermark(EventTime::MAX) | Mark::End => self.is_over = true,
            // Their event time is not that of the records behind this operator.
            Mark::Watermark(_) | Mark::InputWatermark(_) | Mark::Idle => return,
            Mark::Latency(_) | Mark::Barrier(_) => {}
        }
        self.queue.push_back(Queued::Mark(mark));
    }

    fn emit<O: Output<T>>(&mut self, output: &mut O) -> Result<Emitted, Fault> {
        if !self.is_over && self.timers.next().is_some_and(|next| next <= self.now) {
            self.tell_time();
        }
        loop {
            match self.queue.pop_front() {
                None => return Ok(Emitted::All),
                Some(Queued::Mark(mark)) => return Ok(Emitted::Mark(mark)),
                Some(Queued::Record(record)) if output.room() > 0 => output.push(record),
                Some(Queued::Record(record)) => {
                    self.queue.push_front(Queued::Record(record));
                    return Ok(Emitted::NoRoom);
                }
            }
        }
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        each(&self.accounts.name, self.accounts.forwarding());
    }

    fn state_bytes(&self) -> usize {
        self.queue.capacity() * size_of::<Queued<T>>()
    }

    fn faulted(&self) -> Option<&str> {
        self.accounts.faulted()
    }

    /// Saves the times and the timers. Nothing is in the queue when a barrier has been emitted.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        if !self.queue.is_empty() {
            let reason = format!("`{}` has taken records behind the barrier", self.accounts.name);
            return Err(StateError::Write(reason));
        }
        state.frame(KIND, VERSION, |state| {
            state.put(&(self.now.as_micros(), self.watermark.as_micros(), self.is_over))?;
            self.timers.save(state)
        })
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        state.frame(KIND, VERSION, |state| {
            let (now, watermark, is_over): (i64, i64, bool) = state.take()?;
            (self.now, self.watermark) = (EventTime::from_micros(now), EventTime::from_micros(watermark));
            self.is_over = is_over;
            self.queue.clear();
            self.timers.load(state)
        })
    }
}

/// Kind and version of the state of [`ByArrival`].
const KIND: &str = "by_arrival";
const VERSION: u32 = 1;

crate::named::named!(ByArrival<T, K, Restamp>);

#[cfg(test)]
mod tests;
