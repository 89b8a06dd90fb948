//! The pace of a generator: its values as fast as they are taken, or as a rate demands.
//!
//! * Drained, record `index` happened at `start + index / nominal rate`, so results have a closed form. There are
//!   no latency markers: a record that nobody waits for is not late.
//! * At a rate, record `index` is to be sent at `start + index / rate`, and that instant, cut to microseconds, is
//!   its event time. The load is open: whoever falls behind finds every record waiting, stamped with the time at
//!   which it should have come, so a stall is seen in full ("coordinated omission" is Tene's name for the mistake
//!   of not doing so: "How NOT to Measure Latency", 2013). Latency markers stand behind every record up to 10,000
//!   records/s, and above that behind the first record of every 50 ms of intended time.
//!
//! Speed: a poll makes one stretch of records; each costs a multiplication for its event time and what the
//! generator needs for its value. A cheap value is made where its reader looks at it; others are made once, a hundred or
//! so at a time, fewer if they are large, and kept until they are taken. `paced/schedule.rs` holds the arithmetic.
//!
//! With [`Disorder`] the same records come in another order, at a price: each is asked for by itself, and kept, cheap or
//! not. Drained, they are those that come without it. At a rate their event times lie before the instants at which they
//! are to be sent, by up to twice the disorder's bound: records that were held up, not records from the future. An
//! [`EarlyShare`] of them comes an epoch before its like: then the others have been held up for an epoch.
//!
//! With a [`Load`] the rate changes meanwhile, or records come in bursts or messages, or are long on their way, in order: see
//! `paced/load.rs`. Then, too, records are kept; a latency marker stands behind the last record of every message, or of the
//! first of every 50 ms where there are more than 10,000 messages/s.
//!
//! The generator's cache is shared by all queries of a run, which counts it once
//! ([`Generate::cache_bytes`]); a paced source holds no more than those records.

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
use schedule::{EventTimes, RATE_PER_S_MAX, STRETCH_RECORDS_MAX, SendTimes, StretchTimes};
pub use schedule::{MARKER_EVERY, MARKER_PER_RECORD_RATE_MAX};
pub use split::Dealt;
use split::{Split, WrittenSplit};
pub use stamps::Stamps;
pub use zipf::zipf_parts;

/// How fast records come, and what their time stamps are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// As fast as they are taken.
    Drain {
        /// Records per second of event time, 1 to 1,000,000,000.
        nominal_rate_per_s: u64,
        /// The event time of record 0.
        start: EventTime,
    },
    /// So many per second of processing time, whatever becomes of them.
    Rate {
        /// Records per second, 1 to 1,000,000,000.
        rate_per_s: u64,
        /// When record 0 is to be sent.
        start: ProcessingTime,
        /// Seconds of event time in one second of the clock, at least 1, a divisor of the rate. With a scale above 1 event
        /// time begins at `start` and runs ahead of the clock, so long windows fire soon.
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

    /// Returns the records in one second of event time.
    pub fn event_rate_per_s(self) -> u64 {
        match self {
            Pace::Drain { nominal_rate_per_s, .. } => nominal_rate_per_s,
            Pace::Rate { rate_per_s, time_scale, .. } => rate_per_s / time_scale,
        }
    }

    /// Mode, rate, start and time scale (0 if drained): equal if and only if the paces are.
    fn written_down(self) -> WrittenPace {
        match self {
            Pace::Drain { nominal_rate_per_s, start } => {
                (false, nominal_rate_per_s, start.as_micros().cast_unsigned(), 0)
            }
            Pace::Rate { rate_per_s, start, time_scale } => (true, rate_per_s, start.as_nanos(), time_scale),
        }
    }
}

/// A value that is looked at lets the one so many places behind it be fetched: what a filter looks at in its next pass is on
/// its way while the chain behind works off what this one leaves.
const AHEAD_RECORDS: u64 = 192;

/// How long a split that is too far ahead is left alone.
const AHEAD_WAIT_NS: u64 = 50_000;

/// A [`Pace`] that can be saved: whether it is a rate, records per second, the bits of its start, and the time scale.
type WrittenPace = (bool, u64, u64, u64);

/// A source of a generator's values at a pace.
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
    /// Only at a steady rate.
    send_times: Option<SendTimes>,
    /// Only under a load, which has records in order.
    ahead: Option<Box<Ahead>>,
    next_index: u64,
    /// The records from `next_index` on that are made already; none if values are cheap and come in order at a steady rate.
    kept: Kept<G::Item>,
    /// The next record with a latency marker behind it; not below `next_index`. `u64::MAX` unless at a rate.
    marked_index: u64,
    end_index: u64,
    stop_at: ProcessingTime,
    split: Split,
}

impl<G: Generate> Paced<G> {
    /// An endless source.
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

    /// The same source, whose records come in disorder: behind the latest before them by up to `bound`.
    pub fn with_disorder(self, bound: Span, seed: u64) -> Self {
        let disorder = Disorder::new(bound, self.pace.event_rate_per_s(), seed);
        self.shuffled(disorder.is_any().then_some(disorder))
    }

    /// The same source, of whose records a share comes an epoch early, in its order or [disorder](Self::with_disorder),
    /// which is to be said before. A watermark must lie an epoch further behind the latest record than without.
    pub fn with_early(self, share: EarlyShare) -> Self {
        let rate_per_s = self.pace.event_rate_per_s();
        let disorder = self.disorder.unwrap_or_else(|| Disorder::new(Span::ZERO, rate_per_s, 0));
        let disorder = disorder.with_early(share);
        self.shuffled(disorder.is_any().then_some(disorder))
    }

    /// The same source at its rate, under a load that changes.
    ///
    /// # Errors
    /// [`LoadError`] if there can be no such load, the source is drained, or its records come in disorder.
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

    /// The same source on a course that begins at `start`.
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

    /// The same source, of a generator that makes the same values out of memory of its own: so splits of one source need
    /// not share what they would all write, such as the counts of shared buffers.
    pub fn with_generator(self, generator: Arc<G>) -> Self {
        Paced { generator, kept: Kept::none(), ..self }
    }

    /// The same source, ended after `records`.
    pub fn with_limit(self, records: u64) -> Self {
        Paced { end_index: records, ..self }
    }

    /// The same source, ended by the first poll at or after `instant`. What was due and had not been asked for by
    /// then is not sent.
    pub fn stopping_at(self, instant: ProcessingTime) -> Self {
        Paced { stop_at: instant, ..self }
    }

    /// So many sources, one at least, that make the records of this one between them, each in the order of event time and
    /// at the pace of all: so that several workers can make them. Which makes which is told by [`Dealt`].
    pub fn splits(self, count: usize) -> Vec<Self> {
        let dealt =
            self.course().map_or_else(|| Dealt::to(count, self.pace), |course| Dealt::on(count, course));
        self.dealt(&dealt)
    }

    /// The same, dealt in a way that was worked out for this pace and load.
    pub fn dealt(self, dealt: &Dealt) -> Vec<Self> {
        if *dealt == Dealt::WHOLE {
            return vec![self];
        }
        let of = |mut split: Split| {
            let next_index = split.turn_to(0);
            Paced { split, ..self.again(self.pace, next_index) }
        };
        Split::all(dealt).into_iter().map(of).collect()
    }

    /// The same source from `next_index` on, at this pace, as if nothing had been taken; the only split of it.
    fn again(&self, pace: Pace, next_index: u64) -> Self {
        let Paced { disorder, end_index, stop_at, .. } = *self;
        let source = Self::from(Arc::clone(&self.generator), pace, next_index).shuffled(disorder);
        let source = match (self.course(), pace) {
            (Some(course), Pace::Rate { start, .. }) => source.on(course, start),
            _ => source,
        };
        Paced { end_index, stop_at, ..source }
    }

    /// The generator, whose cache the run counts.
    pub fn generator(&self) -> &Arc<G> {
        &self.generator
    }

    /// `pace` has been checked.
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
            next_index,
            kept: Kept::none(),
            marked_index: send_times.map_or(u64::MAX, |send_times| send_times.marked_index(next_index)),
            end_index: u64::MAX,
            stop_at: ProcessingTime::NEVER,
            split: Split::whole(),
        }
    }

    /// Makes records from `next_index` up to, not including, `bound_index`, as far as there is room. Inlined, as
    /// `poll` is: then the loop of the chain behind it, down to the block that it fills, keeps all in registers. Answers
    /// the place behind the last that it made.
    #[inline(always)]
    fn make<O: Output<G::Item>>(&mut self, limit: usize, bound_index: u64, output: &mut O) -> u64 {
        // A run at a time.
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
        self.go_on();
        made_to
    }

    /// Goes on in the next run, when that at hand is made.
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

    /// Makes records to be kept, unless some are left.
    #[inline]
    fn keep(&mut self) {
        if self.kept.rest().is_empty() && self.ahead.is_none() {
            self.kept.refill(&*self.generator, self.next_index, &self.event_times, self.disorder);
        }
    }

    /// Under a load: keeps records, whose times are known then, unless some are left. Answers how many of all records have
    /// arrived, as far as that is known, and notes the next marked one of these.
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

    /// Under a load: how it stands after a poll, in which the marked record was made or was not.
    #[cold]
    #[inline(never)]
    fn stand(&mut self, is_marked: bool) -> Polled {
        let Some(ahead) = &self.ahead else { return Polled::new(SourceStatus::Ready) };
        let now = ahead.looked_at();
        // Before it looks ahead again, and forgets it.
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
        // The poll is cut behind a marked record, so that its marker stands right behind it.
        let (marked_index, from_index) = (self.marked_index, self.next_index);
        let behind_marked = marked_index.saturating_add(1);
        let made_to = self.make(limit, due_index.min(self.end_index).min(behind_marked), output);
        // Of the records just made the last may be a marked one; what was marked in another split's run was passed.
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

    /// At a rate: a second by the rate, cut to whole nanoseconds.
    fn spacing_ns(&self) -> Option<u64> {
        let of_all = match (&self.ahead, self.pace) {
            (Some(ahead), _) => ahead.spacing_ns(),
            (_, Pace::Rate { rate_per_s, .. }) => 1_000_000_000 / rate_per_s.max(1),
            (_, Pace::Drain { .. }) => return None,
        };
        Some(of_all.saturating_mul(self.split.records_per_own()).max(1))
    }

    /// The pace, the disorder, the load and the next index.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        let disorder: Option<WrittenDisorder> = self.disorder.map(|disorder| disorder.written_down());
        let load = self.course().map(|course| written_down(course));
        state.put(&(self.pace.written_down(), disorder, load, self.split.written_down(), self.next_index))
    }

    /// Goes on behind the last record made. At a rate the saved start is kept, so the time that passed in between
    /// is caught up with and seen as latency.
    ///
    /// # Errors
    /// If the bytes are no position, the pace, the disorder, the load or the split is another, or the position lies behind the
    /// limit.
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
        let next_index = split.turn_to(next_index);
        *self = Paced { split, ..self.again(pace, next_index) };
        Ok(())
    }
}

/// The load of a course, as it is saved: in words, of which any number is written in as many digits as tell it from others.
fn written_down(course: &Course) -> String {
    format!("{:?}", course.load())
}

/// The records of one poll, or some of them.
struct PacedInput<'a, G: Generate> {
    made: Made<'a, G>,
    first_index: u64,
    taken: usize,
    count: usize,
    is_ascending: bool,
}

/// Where records are made.
enum Made<'a, G: Generate> {
    /// Here, as they are looked at: the first has the first of these times.
    Anew(&'a G, StretchTimes),
    /// They lie there already.
    Before(&'a [Record<G::Item>]),
}

impl<G: Generate> Clone for Made<'_, G> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<G: Generate> Copy for Made<'_, G> {}

impl<G: Generate> PacedInput<'_, G> {
    /// The record `place` places behind the first, taken or not.
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
        // Per record, so not in release builds, where the loop of a filter would reload the generator for it.
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
    fn take_each(&mut self, count: usize, mut each: impl FnMut(Record<G::Item>)) {
        assert!(count <= self.remaining(), "only records that remain are taken");
        let first = self.taken;
        self.taken += count;
        for place in first..first + count {
            each(self.record(place));
        }
    }

    #[inline(always)]
    fn take_selected(&mut self, count: usize, selection: &[u16], mut each: impl FnMut(Record<G::Item>)) {
        assert!(count <= self.remaining(), "only records that remain are taken");
        let last_is_within = selection.last().is_none_or(|&last| usize::from(last) < count);
        assert!(last_is_within, "only records that are taken are selected, and offsets rise");
        let first = self.taken;
        self.taken += count;
        for &offset in selection {
            each(self.record(first + usize::from(offset)));
        }
    }
}

/// Why a pace cannot be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PaceError {
    /// `RATE_OUT_OF_BOUNDS`: the rate is not within 1 and 1,000,000,000 records/s.
    RateOutOfBounds {
        /// What was asked for.
        rate_per_s: u64,
    },
    /// `TIME_SCALE`: the time scale is 0 or does not divide the rate.
    TimeScale {
        /// Records per second of the clock.
        rate_per_s: u64,
        /// Seconds of event time in one second of the clock.
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
