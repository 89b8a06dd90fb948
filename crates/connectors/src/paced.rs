//! Paced generators: a generator's values as fast as they are taken, or at a given rate.
//!
//! * Drained, record `index` has the event time `start + index / nominal rate`, so results have a closed form. There
//!   are no latency markers, because without a due time no record is late.
//! * At a rate, record `index` is due at `start + index / rate`, and that instant, truncated to microseconds, is its
//!   event time. The load is open: a reader that falls behind finds every record waiting, stamped with the time at
//!   which it was due, so a stall is measured in full. (Not doing so is the mistake that Tene calls "coordinated
//!   omission": "How NOT to Measure Latency", 2013.) A latency marker follows every record up to 10,000 records/s, and
//!   above that the first record of every millisecond of intended time.
//!
//! Speed: a poll makes one stretch of records. Each record costs a multiplication for its event time, and the
//! generator's work for its value. A cheap value is made where its reader inspects it. Other values are made once, a
//! hundred or so at a time, fewer if they are large, and kept until they are taken. `paced/schedule.rs` holds the
//! arithmetic.
//!
//! With [`Disorder`] the same records come in another order. This costs more: each record is made by itself, and
//! kept, cheap or not. Drained, they are the same records as without disorder. At a rate their event times lie before
//! the instants at which they are due, by up to twice the disorder's bound: they are delayed records, not records
//! from the future. With [`EarlyShare`] a share of the records comes an epoch (a given span of event time) before the
//! others, which count as delayed by an epoch.
//!
//! With a [`Load`] the rate changes over time, or records come in bursts or messages, or are delayed in transit, in
//! order: see `paced/load.rs`. Records are then kept too. A latency marker follows the last record of every message,
//! or, above 10,000 messages/s, of the first message of every millisecond.
//!
//! The generator's cache is shared by all queries of a run, which counts it once ([`Generate::cache_bytes`]). A paced
//! source holds only the kept records.

mod ahead;
mod course;
mod disorder;
mod early;
mod kept;
mod load;
mod pareto;
mod schedule;
mod split;
mod stamps;
mod zipf;

use std::fmt;
use std::sync::Arc;

use thalweg_memory::prefetch;
use thalweg_model::{
    Coded, EventTime, Fault, Generate, Input, Output, Polled, ProcessingTime, Record, Source, SourceStatus,
    Span, StateError, StateReader, StateWriter,
};

use ahead::Ahead;
use course::Course;
pub use disorder::Disorder;
use disorder::WrittenDisorder;
pub use early::EarlyShare;
use kept::Kept;
pub use load::{
    Arrivals, DELAY_MAX, Delay, Load, LoadError, MESSAGE_RECORDS_MAX, PARETO_SHAPES, PARETO_TIMES_MAX,
    RateStep, STEPS_MAX, ZIPF_DELAYS, ZIPF_EXPONENT_MAX, check_message_records, check_steps,
};
pub use schedule::MARKER_EVERY;
use schedule::{EventTimes, RATE_PER_S_MAX, STRETCH_RECORDS_MAX, SendTimes, StretchTimes};
pub use split::SplitShares;
use split::{Split, WrittenSplit};
pub use stamps::Stamps;
pub use zipf::zipf_parts;

/// The speed at which a generator's records come, and the event times that they have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// `Drain`: records come as fast as the reader takes them, so none of them has a due time.
    Drain {
        /// Records per second of event time, from 1 to 1,000,000,000.
        nominal_rate_per_s: u64,
        /// The event time of the generator's first record.
        start: EventTime,
    },
    /// Records come at a rate of processing time, whether or not the reader takes them in time.
    Rate {
        /// Records per second of processing time, from 1 to 1,000,000,000.
        rate_per_s: u64,
        /// The processing time at which the first record is due.
        start: ProcessingTime,
        /// Seconds of event time in one second of the clock, at least 1, a divisor of the rate. With a scale above 1
        /// event time begins at `start` and runs ahead of the clock, so long windows fire soon.
        time_scale: u64,
    },
}

impl Pace {
    fn rate_per_s(self) -> u64 {
        match self {
            Pace::Drain { nominal_rate_per_s, .. } => nominal_rate_per_s,
            Pace::Rate { rate_per_s, .. } => rate_per_s,
        }
    }

    /// Returns the number of records in one second of event time.
    pub fn event_rate_per_s(self) -> u64 {
        match self {
            Pace::Drain { nominal_rate_per_s, .. } => nominal_rate_per_s,
            Pace::Rate { rate_per_s, time_scale, .. } => rate_per_s / time_scale,
        }
    }

    /// Returns the pace as numbers for saving: mode, rate, start and time scale (0 if drained). The numbers
    /// are equal if and only if the paces are.
    fn written_down(self) -> WrittenPace {
        match self {
            Pace::Drain { nominal_rate_per_s, start } => {
                (false, nominal_rate_per_s, start.as_micros().cast_unsigned(), 0)
            }
            Pace::Rate { rate_per_s, start, time_scale } => (true, rate_per_s, start.as_nanos(), time_scale),
        }
    }
}

/// Distance of prefetching, in records: when a value is inspected, the value this many places behind it is
/// prefetched. A filter inspects 128 values in one pass. So the values of its next pass are loaded while the
/// chain processes the records of the present one.
const AHEAD_RECORDS: u64 = 192;

/// Nanoseconds that a split (one of the sources among which a generator's records are divided), if it is too
/// far ahead of the others, waits before it is polled again.
const AHEAD_WAIT_NS: u64 = 50_000;

/// A [`Pace`] in a form that can be saved: whether it is a rate, records per second, the bits of its start, and the
/// time scale.
type WrittenPace = (bool, u64, u64, u64);

/// A source that emits a generator's values at a given pace.
///
/// # Example
/// ```
/// # use std::sync::Arc;
/// use thalweg_connectors::{Pace, Paced};
/// use thalweg_model::{EventTime, Generate};
///
/// struct Squares;
/// impl Generate for Squares {
///     type Item = u64;
///     fn value(&self, index: u64, _event_time: EventTime) -> u64 {
///         index * index
///     }
///     fn cache_bytes(&self) -> usize {
///         0
///     }
/// }
///
/// let pace = Pace::Drain { nominal_rate_per_s: 10_000_000, start: EventTime::EPOCH };
/// let source = Paced::new(Arc::new(Squares), pace)?.with_limit(1_000_000);
/// # Ok::<(), thalweg_connectors::PaceError>(())
/// ```
pub struct Paced<G: Generate> {
    generator: Arc<G>,
    pace: Pace,
    event_times: EventTimes,
    disorder: Option<Disorder>,
    /// The times at which records are due; only at a steady rate.
    send_times: Option<SendTimes>,
    /// The times of the records that are made ahead; only under a [`Load`], whose records come in order.
    ahead: Option<Box<Ahead>>,
    /// The processing time at which the record that was made last arrived, after its transit delay; only
    /// under a [`Load`].
    arrived: Option<ProcessingTime>,
    next_index: u64,
    /// Index of the record after the one that was made last; 0 before the first record.
    made_to: u64,
    /// The records from `next_index` on that are made already. There is none if values are cheap and come in
    /// order at a steady rate.
    kept: Kept<G::Item>,
    /// Index of the next record that is followed by a latency marker; it is not below `next_index`.
    /// `u64::MAX` if the source is drained.
    marked_index: u64,
    end_index: u64,
    stop_at: ProcessingTime,
    split: Split,
}

impl<G: Generate> Paced<G> {
    /// Creates a source that emits the values of `generator` at the given pace, without end.
    ///
    /// # Errors
    /// [`PaceError::RateOutOfBounds`] if the rate is not within 1 and 1,000,000,000 records/s, [`PaceError::TimeScale`] if
    /// the time scale does not divide it.
    pub fn new(generator: Arc<G>, pace: Pace) -> Result<Self, PaceError> {
        let rate_per_s = pace.rate_per_s();
        if !(1..=RATE_PER_S_MAX).contains(&rate_per_s) {
            return Err(PaceError::RateOutOfBounds { rate_per_s });
        }
        if let Pace::Rate { time_scale, .. } = pace
            && (time_scale == 0 || !rate_per_s.is_multiple_of(time_scale))
        {
            return Err(PaceError::TimeScale { rate_per_s, time_scale });
        }
        Ok(Self::from(generator, pace, 0))
    }

    /// Returns this source with its records in disorder: each lies at most `bound` behind the latest record
    /// before it.
    pub fn with_disorder(self, bound: Span, seed: u64) -> Self {
        let disorder = Disorder::new(bound, self.pace.event_rate_per_s(), seed);
        self.shuffled(disorder.is_any().then_some(disorder))
    }

    /// Returns this source with a share of its records an epoch early, in its order or in the
    /// [disorder](Self::with_disorder), which must be set before. A watermark must then lie an epoch further
    /// behind the latest record.
    pub fn with_early(self, share: EarlyShare) -> Self {
        let rate_per_s = self.pace.event_rate_per_s();
        let disorder = self.disorder.unwrap_or_else(|| Disorder::new(Span::ZERO, rate_per_s, 0));
        let disorder = disorder.with_early(share);
        self.shuffled(disorder.is_any().then_some(disorder))
    }

    /// Returns this source under a load, which changes its rate over time or delays its records.
    ///
    /// # Errors
    /// [`LoadError`] if the load is invalid, the source is drained, or its records come in disorder.
    pub fn with_load(self, load: &Load) -> Result<Self, LoadError> {
        let Pace::Rate { rate_per_s, start, time_scale } = self.pace else {
            return Err(LoadError::WithoutRate);
        };
        if time_scale != 1 {
            return Err(LoadError::TimeScaled);
        }
        if self.disorder.is_some() {
            return Err(LoadError::InDisorder);
        }
        load.check(rate_per_s)?;
        Ok(self.on(&Course::new(load, rate_per_s), start))
    }

    /// Returns this source under the load that `course` describes, which begins at `start`.
    fn on(self, course: &Arc<Course>, start: ProcessingTime) -> Self {
        let ahead = Some(Box::new(Ahead::new(course, start)));
        Paced { send_times: None, ahead, marked_index: u64::MAX, kept: Kept::none(), ..self }
    }

    fn course(&self) -> Option<&Arc<Course>> {
        self.ahead.as_ref().map(|ahead| ahead.course())
    }

    fn shuffled(self, disorder: Option<Disorder>) -> Self {
        assert!(
            disorder.is_none() || self.ahead.is_none(),
            "records of a load come in order: disorder is said before, and refused there"
        );
        let in_order = EventTimes::new(self.pace);
        let event_times = match (self.pace, &disorder) {
            (Pace::Rate { .. }, Some(disorder)) => in_order.earlier(disorder.bound()),
            _ => in_order,
        };
        Paced { event_times, disorder, kept: Kept::none(), ..self }
    }

    /// Returns this source with a generator that makes the same values out of memory of its own. So splits of
    /// one source need not share memory that all of them would write, such as the reference counts of shared
    /// buffers.
    pub fn with_generator(self, generator: Arc<G>) -> Self {
        Paced { generator, kept: Kept::none(), ..self }
    }

    /// Returns this source with an end after this number of records.
    pub fn with_limit(self, records: u64) -> Self {
        Paced { end_index: records, ..self }
    }

    /// Returns this source with an end at the first poll at or after `instant`. Records that were due and had
    /// not been taken by then are not sent.
    pub fn stopping_at(self, instant: ProcessingTime) -> Self {
        Paced { stop_at: instant, ..self }
    }

    /// Returns `count` sources, at least one, that together make the records of this source, each in the
    /// order of event time and at the common pace. So several workers can make the records. [`SplitShares`]
    /// describes the distribution.
    pub fn splits(self, count: usize) -> Vec<Self> {
        let shares = self
            .course()
            .map_or_else(|| SplitShares::to(count, self.pace), |course| SplitShares::on(count, course));
        self.split_by(&shares)
    }

    /// Divides the source into splits. `shares` says which records each split makes; it must have been computed for the
    /// pace and the load of this source.
    pub fn split_by(self, shares: &SplitShares) -> Vec<Self> {
        if *shares == SplitShares::WHOLE {
            return vec![self];
        }
        let of = |mut split: Split| {
            let next_index = split.turn_to(0);
            Paced { split, ..self.again(self.pace, next_index) }
        };
        Split::all(shares).into_iter().map(of).collect()
    }

    /// Returns a source with the same records from `next_index` on, at the given pace, as if it were the only
    /// split.
    fn again(&self, pace: Pace, next_index: u64) -> Self {
        let Paced { disorder, end_index, stop_at, .. } = *self;
        let source = Self::from(Arc::clone(&self.generator), pace, next_index).shuffled(disorder);
        let source = match (self.course(), pace) {
            (Some(course), Pace::Rate { start, .. }) => source.on(course, start),
            _ => source,
        };
        Paced { end_index, stop_at, ..source }
    }

    /// Returns the generator, so that the run can count its cache.
    pub fn generator(&self) -> &Arc<G> {
        &self.generator
    }

    /// Creates a source at a pace that is known to be valid. `next_index` is the index of its first record.
    fn from(generator: Arc<G>, pace: Pace, next_index: u64) -> Self {
        let send_times = match pace {
            Pace::Drain { .. } => None,
            Pace::Rate { rate_per_s, start, .. } => Some(SendTimes::new(rate_per_s, start)),
        };
        Paced {
            generator,
            pace,
            event_times: EventTimes::new(pace),
            disorder: None,
            send_times,
            ahead: None,
            arrived: None,
            next_index,
            made_to: 0,
            kept: Kept::none(),
            marked_index: send_times.map_or(u64::MAX, |send_times| send_times.marked_index(next_index)),
            end_index: u64::MAX,
            stop_at: ProcessingTime::NEVER,
            split: Split::whole(),
        }
    }

    /// Makes records from `next_index` up to, not including, `bound_index`, as far as there is room. Returns the
    /// index after the last record made. The function is inlined, as `poll` is. So the loop over this function and
    /// the downstream operators of its task, down to the block that they fill, keeps all values in registers.
    #[inline(always)]
    fn make<O: Output<G::Item>>(&mut self, limit: usize, bound_index: u64, output: &mut O) -> u64 {
        // One call makes records of one run of the split only: a range of places in the order in which all
        // splits' records come.
        let due = bound_index.min(self.split.run_end()).saturating_sub(self.next_index);
        let count = limit.min(STRETCH_RECORDS_MAX).min(usize::try_from(due).unwrap_or(usize::MAX));
        if count == 0 {
            return self.next_index;
        }
        let is_in_turn = self.disorder.is_none() && self.ahead.is_none();
        let mut left = count;
        while left > 0 {
            let (made, offered) = if G::IS_CHEAP && is_in_turn {
                (Made::Anew(&*self.generator, self.event_times.stretch(self.next_index)), left)
            } else {
                self.keep();
                let rest = self.kept.rest();
                (Made::Before(rest), left.min(rest.len()))
            };
            let is_ascending = self.disorder.is_none();
            let mut input =
                PacedInput { made, first_index: self.next_index, taken: 0, count: offered, is_ascending };
            output.push_all(&mut input);
            let taken = input.taken;
            if let Made::Before(_) = made {
                self.kept.pass(taken);
            }
            self.next_index += taken as u64;
            left -= taken;
            if taken < offered {
                break;
            }
        }
        let made_to = self.next_index;
        self.made_to = made_to;
        self.go_on();
        made_to
    }

    /// Moves to the next run (range of consecutive records) of the split when all records of the current run
    /// are made.
    #[inline]
    fn go_on(&mut self) {
        let next = self.split.go_on(self.next_index);
        if next != self.next_index {
            self.next_index = next;
            self.kept.clear();
            if let Some(send_times) = self.send_times
                && self.marked_index < next
            {
                self.marked_index = send_times.marked_index(next);
            }
        }
    }

    /// Generates the next records into the buffer, if all records of the buffer are taken.
    #[inline]
    fn keep(&mut self) {
        if self.kept.rest().is_empty() && self.ahead.is_none() {
            self.kept.refill(&*self.generator, self.next_index, &self.event_times, self.disorder);
        }
    }

    /// Under a [`Load`]: makes the next records and computes their times, if the buffer of records is empty.
    /// Returns the number of all records that have arrived by `now`, as far as it is known, and updates the
    /// index of the next record with a latency marker.
    #[cold]
    #[inline(never)]
    fn look_ahead(&mut self, now: ProcessingTime) -> u64 {
        let Some(ahead) = &mut self.ahead else { return u64::MAX };
        if self.kept.rest().is_empty() {
            let of_run = self.split.run_end() - self.next_index;
            let count = usize::try_from(of_run).unwrap_or(usize::MAX).min(Kept::<G::Item>::RECORDS);
            let event_times = ahead.go_on(self.next_index, count);
            self.kept.refill_stamped(&*self.generator, self.next_index, event_times);
        }
        self.marked_index = ahead.marked_index(self.next_index);
        ahead.due_count(now)
    }

    /// Under a [`Load`]: returns the status of the source after a poll. `is_marked` tells whether the poll
    /// made the record that is followed by a latency marker.
    #[cold]
    #[inline(never)]
    fn stand(&mut self, is_marked: bool) -> Polled {
        let Some(ahead) = &self.ahead else { return Polled::new(SourceStatus::Ready) };
        let now = ahead.looked_at();
        self.arrived = self.made_to.checked_sub(1).and_then(|last| ahead.due_if_known(last)).or(self.arrived);
        // The time of the latency marker is read before the source looks ahead again, which forgets the times
        // of earlier records.
        let latency = is_marked.then(|| ahead.intended(self.marked_index));
        let status = if self.end_index <= self.next_index {
            SourceStatus::Ended
        } else {
            let is_due = self.next_index < self.look_ahead(now);
            let due = self.ahead.as_ref().map_or(now, |ahead| ahead.due(self.next_index));
            if is_due { SourceStatus::DueSince(due) } else { SourceStatus::IdleUntil(due.min(self.stop_at)) }
        };
        Polled { status, latency }
    }
}

impl<G: Generate> Source for Paced<G> {
    type Item = G::Item;

    #[inline(always)]
    fn poll<O: Output<G::Item>>(
        &mut self,
        now: ProcessingTime,
        limit: usize,
        output: &mut O,
    ) -> Result<Polled, Fault> {
        if self.stop_at <= now || self.end_index <= self.next_index {
            self.split.end();
            return Ok(Polled::new(SourceStatus::Ended));
        }
        if self.send_times.is_none() && self.ahead.is_none() && self.split.is_ahead() {
            return Ok(Polled::new(SourceStatus::IdleUntil(now.plus_nanos(AHEAD_WAIT_NS))));
        }
        let due_index = match self.send_times {
            Some(send_times) => send_times.due_count(now),
            None if self.ahead.is_some() => self.look_ahead(now),
            None => u64::MAX,
        };
        // If a record of this poll is followed by a latency marker, the poll ends with this record, so that
        // the marker comes right behind it.
        let (marked_index, from_index) = (self.marked_index, self.next_index);
        let behind_marked = marked_index.saturating_add(1);
        let made_to = self.make(limit, due_index.min(self.end_index).min(behind_marked), output);
        // True if this poll made the record that is followed by a latency marker. The record may also belong
        // to another split, which then makes it.
        let is_marked = (from_index..made_to).contains(&marked_index);
        let Some(send_times) = self.send_times else {
            if self.ahead.is_some() {
                return Ok(self.stand(is_marked));
            }
            let is_over = self.end_index <= self.next_index;
            return Ok(Polled::new(if is_over { SourceStatus::Ended } else { SourceStatus::Ready }));
        };
        let latency = is_marked.then(|| {
            self.marked_index = send_times.marked_index(self.next_index.max(behind_marked));
            send_times.intended(marked_index)
        });
        let status = if self.end_index <= self.next_index {
            SourceStatus::Ended
        } else {
            let due = send_times.intended(self.next_index);
            let is_due = self.next_index < due_index;
            if is_due { SourceStatus::DueSince(due) } else { SourceStatus::IdleUntil(due.min(self.stop_at)) }
        };
        Ok(Polled { status, latency })
    }

    fn held_bytes(&self) -> usize {
        self.kept.bytes() + self.ahead.as_ref().map_or(0, |ahead| ahead.bytes())
    }

    /// Returns the nanoseconds between two records: one second divided by the rate, truncated; `None` if the
    /// source is drained.
    fn spacing_ns(&self) -> Option<u64> {
        let of_all = match (&self.ahead, self.pace) {
            (Some(ahead), _) => ahead.spacing_ns(),
            (_, Pace::Rate { rate_per_s, .. }) => 1_000_000_000 / rate_per_s.max(1),
            (_, Pace::Drain { .. }) => return None,
        };
        Some(of_all.saturating_mul(self.split.records_per_own()).max(1))
    }

    /// Returns the processing time at which the last record made was due: by the rate, or by the load with
    /// its delays. `None` if the source is drained.
    fn arrived(&self) -> Option<ProcessingTime> {
        let last = self.made_to.checked_sub(1)?;
        self.send_times.map(|send_times| send_times.intended(last)).or(self.arrived)
    }

    /// Saves the source: its pace, its disorder, its load, its split and the index of the next record.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        let disorder: Option<WrittenDisorder> = self.disorder.map(|disorder| disorder.written_down());
        let load = self.course().map(|course| written_down(course));
        state.put(&(self.pace.written_down(), disorder, load, self.split.written_down(), self.next_index))
    }

    /// Continues after the last record made. At a rate the saved start is kept, so records that were due in the
    /// meantime come at once and show as latency.
    ///
    /// # Errors
    /// If the bytes are not a saved position, if the pace, the disorder, the load or the split differs, or if the
    /// position lies beyond the number of records.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let (saved, saved_disorder, saved_load, split, next_index): (
            WrittenPace,
            Option<WrittenDisorder>,
            Option<String>,
            WrittenSplit,
            u64,
        ) = state.take()?;
        let refused = |reason| Err(StateError::Read { offset: 0, reason });
        let mut pace = self.pace;
        if let Pace::Rate { start, .. } = &mut pace {
            *start = ProcessingTime::from_nanos(saved.2);
        }
        if pace.written_down() != saved {
            return refused(format!("the generator was saved at another pace than {:?}", self.pace));
        }
        if self.disorder.map(|disorder| disorder.written_down()) != saved_disorder {
            return refused(format!("the generator was saved in another disorder than {:?}", self.disorder));
        }
        let load = self.course().map(|course| written_down(course));
        if load != saved_load {
            let [saved, load] = [saved_load, load].map(|load| load.unwrap_or("no load".to_owned()));
            return refused(format!("the generator was saved under {saved}, not {load}"));
        }
        if self.split.written_down() != split {
            let (index, count, _) = split;
            return refused(format!("the generator was saved as split {index} of {count}"));
        }
        if self.split.splits() == 1 && self.end_index < next_index {
            return refused(format!(
                "position {next_index} lies behind the limit of {} records",
                self.end_index
            ));
        }
        let mut split = std::mem::replace(&mut self.split, Split::whole());
        let next_index = split.restore(next_index);
        *self = Paced { split, ..self.again(pace, next_index) };
        Ok(())
    }
}

/// Returns the load of a course as a text for saving. Each number has enough digits to identify it.
fn written_down(course: &Course) -> String {
    format!("{:?}", course.load())
}

/// The input that a poll hands to its reader: the records of the poll, or some of them.
struct PacedInput<'a, G: Generate> {
    made: Made<'a, G>,
    first_index: u64,
    taken: usize,
    count: usize,
    is_ascending: bool,
}

/// The way in which the records of a poll are made: on demand, or before the poll.
enum Made<'a, G: Generate> {
    /// Records are made when they are inspected or taken. The times are those of the records of the poll,
    /// from the first on.
    Anew(&'a G, StretchTimes),
    /// The records were made before the poll, and lie in this slice.
    Before(&'a [Record<G::Item>]),
}

impl<G: Generate> Clone for Made<'_, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G: Generate> Copy for Made<'_, G> {}

impl<G: Generate> PacedInput<'_, G> {
    /// Returns the record that is `place` places after the first one, whether or not it was taken.
    #[inline(always)]
    fn record(&self, place: usize) -> Record<G::Item> {
        match self.made {
            Made::Anew(generator, times) => {
                let event_time = times.at(place);
                Record::new(event_time, generator.value(self.first_index + place as u64, event_time))
            }
            Made::Before(records) => records[place].clone(),
        }
    }
}

impl<G: Generate> Input<G::Item> for PacedInput<'_, G> {
    #[inline(always)]
    fn is_ascending(&self) -> bool {
        self.is_ascending
    }

    #[inline(always)]
    fn remaining(&self) -> usize {
        self.count - self.taken
    }

    #[inline(always)]
    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&Record<G::Item>) -> Q) -> Q {
        // The check that the record is not taken yet runs in debug builds only, because it would run per record. In
        // release builds it would make a filter's loop reload the generator.
        debug_assert!(offset < self.remaining(), "only records that remain are looked at");
        match self.made {
            Made::Anew(generator, _) => {
                let ahead = self.first_index + (self.taken + offset) as u64 + AHEAD_RECORDS;
                if let Some(value) = generator.place(ahead) {
                    prefetch(value);
                }
                look(&self.record(self.taken + offset))
            }
            Made::Before(records) => look(&records[self.taken + offset]),
        }
    }

    #[inline(always)]
    fn taken(&mut self, count: usize) -> impl Iterator<Item = Record<G::Item>> {
        assert!(count <= self.remaining(), "only records that remain are taken");
        let first = self.taken;
        self.taken += count;
        (first..first + count).map(|place| self.record(place))
    }

    #[inline(always)]
    fn taken_selected(&mut self, count: usize, selection: &[u16]) -> impl Iterator<Item = Record<G::Item>> {
        assert!(count <= self.remaining(), "only records that remain are taken");
        let last_is_within = selection.last().is_none_or(|&last| usize::from(last) < count);
        assert!(last_is_within, "only records that are taken are selected, and offsets rise");
        let first = self.taken;
        self.taken += count;
        selection.iter().map(move |&offset| self.record(first + usize::from(offset)))
    }
}

/// The reason why the pace of a generator is invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PaceError {
    /// `RATE_OUT_OF_BOUNDS`: the rate is not within 1 and 1,000,000,000 records/s.
    RateOutOfBounds {
        /// The invalid rate that was given, in records per second.
        rate_per_s: u64,
    },
    /// `TIME_SCALE`: the time scale is 0 or does not divide the rate.
    TimeScale {
        /// The rate that was given, in records per second of processing time.
        rate_per_s: u64,
        /// The time scale that was given: seconds of event time in one second of the clock.
        time_scale: u64,
    },
}

impl fmt::Display for PaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PaceError::RateOutOfBounds { rate_per_s } => write!(
                f,
                "rate is {rate_per_s} records/s, but must be within 1 and {RATE_PER_S_MAX} records/s; drain the \
                 generator to have records as fast as they are taken"
            ),
            PaceError::TimeScale { rate_per_s, time_scale } => write!(
                f,
                "time scale is {time_scale}, but must be at least 1 and divide the rate, which is {rate_per_s} records/s; \
                 choose a rate that is a multiple of the scale"
            ),
        }
    }
}

impl std::error::Error for PaceError {}

impl Coded for PaceError {
    fn code(&self) -> &'static str {
        match self {
            PaceError::RateOutOfBounds { .. } => "RATE_OUT_OF_BOUNDS",
            PaceError::TimeScale { .. } => "TIME_SCALE",
        }
    }
}

#[cfg(test)]
mod tests;
