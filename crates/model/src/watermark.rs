//! Watermark strategies: when a source may promise that event time has passed.
//!
//! Promises depend on the sequence of records only, never on blocks or the clock. A mark stands after a
//! record that advanced the bound by at least `step` since the last mark. So the same input gives the same
//! marks at the same positions, whatever the block size, the workers and the policy.
//!
//! Two settings use the clock, and both are off by default. A source that is silent for
//! [`idle_after`](WatermarkStrategy::idle_after) is ignored by operators that wait for several inputs. A stamp more
//! than [`ahead_max`](WatermarkStrategy::ahead_max) ahead of the clock moves no watermark. Their effects are counted,
//! and a query that uses them may give other results when its input is replayed.

use std::time::Duration;

use crate::record::Record;
use crate::state::{StateError, StateReader, StateWriter};
use crate::time::{EventTime, ProcessingTime, Span};

/// The rule by which a source derives watermarks from its records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WatermarkStrategy {
    /// Span of event time by which a record may be behind the latest record seen; zero for input in ascending
    /// order.
    pub out_of_order: Span,
    /// The least advance of event time between two watermarks; with zero every advance gives a watermark.
    pub step: Span,
    /// Time without records after which operators with several inputs ignore the source; `None` for never.
    pub idle_after: Option<Duration>,
    /// Span by which a stamp may be ahead of the clock; `None` for no bound. A record beyond it is processed
    /// but moves no watermark, because one absurd stamp must not make all later records late. Such records
    /// are counted.
    pub ahead_max: Option<Span>,
}

impl WatermarkStrategy {
    /// The default of [`step`](WatermarkStrategy::step), the least advance between two watermarks: 1 ms of
    /// event time.
    pub const DEFAULT_STEP: Span = Span::from_millis(1);

    /// Creates a strategy for records that come in the order of event time; equal stamps are allowed.
    pub const fn ascending() -> Self {
        Self::bounded_out_of_order(Span::ZERO)
    }

    /// Creates a strategy for records that are at most `bound` behind the latest record before them.
    pub const fn bounded_out_of_order(bound: Span) -> Self {
        WatermarkStrategy { out_of_order: bound, step: Self::DEFAULT_STEP, idle_after: None, ahead_max: None }
    }

    /// Returns the same strategy with another least advance between two watermarks.
    pub const fn with_step(self, step: Span) -> Self {
        WatermarkStrategy { step, ..self }
    }

    /// Returns the same strategy for a source that may fall silent: after `silence` without records the
    /// source is ignored. A source that was not polled for so long, because its query was paused or had no
    /// room, also counts as silent. It counts so from the next poll without a record until it has one.
    pub const fn with_idle_after(self, silence: Duration) -> Self {
        WatermarkStrategy { idle_after: Some(silence), ..self }
    }

    /// Returns the same strategy with a guard against stamps in the far future: a stamp more than `ahead` ahead of
    /// the clock moves no watermark.
    pub const fn with_ahead_max(self, ahead: Span) -> Self {
        WatermarkStrategy { ahead_max: Some(ahead), ..self }
    }

    /// Returns a strategy for watermarks that are carried by records. If `mark_of` returns an instant for a
    /// record, a watermark of that instant stands after the record, unless a greater one stands before it.
    /// `out_of_order` and `step` are not used then.
    pub const fn punctuated<F>(self, mark_of: F) -> Punctuated<F> {
        Punctuated { strategy: self, mark_of }
    }
}

/// Watermarks that are carried by the records themselves; made by [`WatermarkStrategy::punctuated`].
#[derive(Clone, Copy, Debug)]
pub struct Punctuated<F> {
    strategy: WatermarkStrategy,
    mark_of: F,
}

/// The rule for watermarks of a source with records of `T`: a [`WatermarkStrategy`], or watermarks that are
/// [`Punctuated`].
pub trait Watermarks<T>: Send + 'static {
    /// State of the watermark rule for one split (parallel part) of the source.
    type Tracker: Track<T>;

    /// Returns the settings of the watermark rule.
    fn strategy(&self) -> WatermarkStrategy;

    /// Creates the state for one split of the source, which has given no watermark yet.
    fn tracker(self) -> Self::Tracker;
}

/// The state of the rule for [`Watermarks`] on one split (parallel part) of a source.
pub trait Track<T>: Send {
    /// Sets the time of the clock, with which stamps are compared from now on.
    fn tell_time(&mut self, now: ProcessingTime);

    /// Returns true if watermarks depend on stamps alone: one is due after a record exactly when the record's
    /// stamp reaches some instant. This instant moves only with [`advance`](Track::advance). So the first
    /// such record among ascending ones can be found by binary search.
    fn goes_by_stamp(&self) -> bool;

    /// Returns true if a watermark is to be set directly after this record. Called once for each record, in
    /// order, unless [`goes_by_stamp`](Track::goes_by_stamp) is true.
    fn is_due(&mut self, record: &Record<T>) -> bool;

    /// Updates the state with the record for which [`is_due`](Track::is_due) has just returned true, and
    /// returns the watermark to set directly after it.
    fn advance(&mut self, record: &Record<T>) -> EventTime;

    /// Returns the number of records so far whose stamps were too far ahead of the clock to move a watermark.
    fn ahead_count(&self) -> u64;

    /// Writes the watermark that was given last, and the count of stamps too far ahead. Together with the position of
    /// the source, this gives the same watermarks after a restart as without one. Called between two records, never
    /// between [`is_due`](Track::is_due) and [`advance`](Track::advance). The time of the clock is not part of the
    /// state.
    ///
    /// # Errors
    /// [`StateError`] if a value cannot be written.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError>;

    /// Continues from the state that [`save`](Track::save) wrote. Called before the first record.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are no such state.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError>;
}

impl<T> Watermarks<T> for WatermarkStrategy {
    type Tracker = WatermarkTracker;

    fn strategy(&self) -> WatermarkStrategy {
        *self
    }

    fn tracker(self) -> WatermarkTracker {
        WatermarkTracker::new(self)
    }
}

impl<T, F> Watermarks<T> for Punctuated<F>
where
    F: Fn(&Record<T>) -> Option<EventTime> + Send + 'static,
{
    type Tracker = PunctuatedTracker<F>;

    fn strategy(&self) -> WatermarkStrategy {
        self.strategy
    }

    fn tracker(self) -> PunctuatedTracker<F> {
        let guard = Guard::new(self.strategy);
        PunctuatedTracker { mark_of: self.mark_of, guard, last: EventTime::MIN, due: EventTime::MIN }
    }
}

/// Keeps stamps that are far ahead of the clock from moving watermarks.
#[derive(Clone, Debug)]
struct Guard {
    ahead_max: Option<Span>,
    /// The latest stamp (inclusive) that may move a watermark at the present time of the clock.
    limit: EventTime,
    ahead: u64,
}

impl Guard {
    fn new(strategy: WatermarkStrategy) -> Self {
        Guard { ahead_max: strategy.ahead_max, limit: EventTime::MAX, ahead: 0 }
    }

    fn tell_time(&mut self, now: ProcessingTime) {
        if let Some(ahead_max) = self.ahead_max {
            let now_us = i64::try_from(now.as_nanos() / 1_000).unwrap_or(i64::MAX);
            self.limit = EventTime::from_micros(now_us).plus(ahead_max.max(Span::ZERO));
        }
    }

    /// Returns true if the stamp may move a watermark. A stamp that is too far ahead of the clock is counted
    /// instead.
    #[inline]
    fn admits(&mut self, event_time: EventTime) -> bool {
        let is_believed = event_time <= self.limit;
        self.ahead += u64::from(!is_believed);
        is_believed
    }
}

/// The state of a [`WatermarkStrategy`] on one split (parallel part) of a source.
#[derive(Clone, Debug)]
pub struct WatermarkTracker {
    out_of_order: Span,
    step: Span,
    guard: Guard,
    /// The last watermark that this tracker has given out; [`EventTime::MIN`] before the first.
    last: EventTime,
    /// A record with this event time or a later one makes the next watermark due.
    due_at: EventTime,
}

impl WatermarkTracker {
    /// Creates the watermark state of a split that has given no watermark yet.
    pub fn new(strategy: WatermarkStrategy) -> Self {
        WatermarkTracker {
            out_of_order: strategy.out_of_order.max(Span::ZERO),
            step: strategy.step.max(Span::from_micros(1)),
            guard: Guard::new(strategy),
            last: EventTime::MIN,
            due_at: EventTime::MIN,
        }
    }

    /// Returns the event time of a record from which the watermark after `last` is due: the next watermark is due when
    /// `event_time - out_of_order >= last + step`.
    #[inline(always)]
    fn due_after(&self, last: EventTime) -> EventTime {
        last.plus(self.step).plus(self.out_of_order)
    }
}

impl<T> Track<T> for WatermarkTracker {
    fn tell_time(&mut self, now: ProcessingTime) {
        self.guard.tell_time(now);
    }

    #[inline(always)]
    fn goes_by_stamp(&self) -> bool {
        self.guard.ahead_max.is_none()
    }

    #[inline(always)]
    fn is_due(&mut self, record: &Record<T>) -> bool {
        record.event_time >= self.due_at && self.guard.admits(record.event_time)
    }

    /// Returns the watermark that is set directly after the record: the record's stamp minus the span by
    /// which records may be out of order.
    fn advance(&mut self, record: &Record<T>) -> EventTime {
        let watermark = record.event_time.minus(self.out_of_order).max(self.last);
        self.last = watermark;
        self.due_at = self.due_after(watermark);
        watermark
    }

    fn ahead_count(&self) -> u64 {
        self.guard.ahead
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        // After the first watermark, `due_at` is at least one step above the least instant.
        let given = (self.due_at > EventTime::MIN).then_some(self.last);
        state.put(&given)?;
        state.put(&self.guard.ahead)
    }

    /// The instant from which the next watermark is due follows from the last watermark and the strategy.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let given: Option<EventTime> = state.take()?;
        self.guard.ahead = state.take()?;
        self.last = given.unwrap_or(EventTime::MIN);
        self.due_at = given.map_or(EventTime::MIN, |last| self.due_after(last));
        Ok(())
    }
}

/// The state of [`Punctuated`] watermarks on one split (parallel part) of a source.
#[derive(Clone, Debug)]
pub struct PunctuatedTracker<F> {
    mark_of: F,
    guard: Guard,
    /// The last watermark that this tracker has given out; [`EventTime::MIN`] before the first.
    last: EventTime,
    /// The watermark carried by the record for which `is_due` was called last.
    due: EventTime,
}

impl<T, F> Track<T> for PunctuatedTracker<F>
where
    F: Fn(&Record<T>) -> Option<EventTime> + Send,
{
    fn tell_time(&mut self, now: ProcessingTime) {
        self.guard.tell_time(now);
    }

    fn goes_by_stamp(&self) -> bool {
        false
    }

    #[inline]
    fn is_due(&mut self, record: &Record<T>) -> bool {
        let Some(due) = (self.mark_of)(record).filter(|&due| due > self.last) else { return false };
        self.due = due;
        self.guard.admits(due)
    }

    fn advance(&mut self, _record: &Record<T>) -> EventTime {
        self.last = self.due;
        self.due
    }

    fn ahead_count(&self) -> u64 {
        self.guard.ahead
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.last)?;
        state.put(&self.guard.ahead)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.last = state.take()?;
        self.guard.ahead = state.take()?;
        self.due = EventTime::MIN;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives records with these stamps, in microseconds, to a tracker of watermarks. Prints `stamp` or
    /// `stamp>watermark` for each, and at the end the number of stamps too far ahead of the clock, if there
    /// are any. `@7` sets the clock to 7 us.
    fn shown(mut tracker: impl Track<()>, words: &str) -> String {
        let mut shown = shown_by(&mut tracker, words);
        if tracker.ahead_count() > 0 {
            shown.push_str(&format!(" {} ahead", tracker.ahead_count()));
        }
        shown
    }

    /// Does the same as [`shown`] for a tracker that is used on, without the number at the end.
    fn shown_by(tracker: &mut impl Track<()>, words: &str) -> String {
        let mut shown = Vec::new();
        for word in words.split_whitespace() {
            if let Some(now) = word.strip_prefix('@') {
                tracker.tell_time(ProcessingTime::from_nanos(now.parse::<u64>().unwrap() * 1_000));
                continue;
            }
            let record = Record::new(EventTime::from_micros(word.parse().unwrap()), ());
            shown.push(if tracker.is_due(&record) {
                format!("{word}>{}", tracker.advance(&record).as_micros())
            } else {
                word.to_owned()
            });
        }
        shown.join(" ")
    }

    fn check(out_of_order: i64, step: i64, stamps: &[i64], expected: &str) {
        let strategy = WatermarkStrategy::bounded_out_of_order(Span::from_micros(out_of_order));
        let words: Vec<String> = stamps.iter().map(i64::to_string).collect();
        let tracker = WatermarkTracker::new(strategy.with_step(Span::from_micros(step)));
        assert_eq!(shown(tracker, &words.join(" ")), expected);
    }

    #[test]
    fn ascending_marks_every_step() {
        check(0, 10, &[5, 6, 14, 15, 16, 40], "5>5 6 14 15>15 16 40>40");
    }

    /// With a step of zero every advance of event time gives a watermark, and no watermark is given twice.
    #[test]
    fn step_zero_marks_every_advance_only() {
        check(0, 0, &[5, 5, 6, 6, 3, 7], "5>5 5 6>6 6 3 7>7");
    }

    #[test]
    fn bound_holds_the_promise_back() {
        check(10, 5, &[100, 95, 104, 105, 91, 120], "100>90 95 104 105>95 91 120>110");
    }

    /// Stamps below zero and at the ends of the range do not make a watermark wrap or go back.
    #[test]
    fn hostile_stamps() {
        check(0, 1, &[-7, -8, i64::MAX, 3], &format!("-7>-7 -8 {0}>{0} 3", i64::MAX));
        check(
            5,
            1,
            &[i64::MIN, i64::MIN + 3, i64::MIN + 9],
            &format!("{0}>{0} {1} {2}>{3}", i64::MIN, i64::MIN + 3, i64::MIN + 9, i64::MIN + 4),
        );
    }

    /// A stamp too far ahead of the clock moves no watermark, so it does not make later records late.
    #[test]
    fn the_guard_holds_stamps_against_the_clock() {
        let strategy = WatermarkStrategy::ascending().with_ahead_max(Span::from_micros(10));
        let tracker = WatermarkTracker::new(strategy.with_step(Span::ZERO));
        assert_eq!(
            shown(tracker, "@100 105 111 110 112 @102 112"),
            "105>105 111 110>110 112 112>112 2 ahead"
        );
    }

    /// With punctuated watermarks, a watermark stands behind each record that carries a greater one than
    /// before. In this test, stamps divisible by ten are carried.
    #[test]
    fn punctuated_watermarks_are_what_records_carry() {
        let carried = |record: &Record<()>| Some(record.event_time).filter(|at| at.as_micros() % 10 == 0);
        let strategy = WatermarkStrategy::ascending();
        let tracker = Watermarks::<()>::tracker(strategy.punctuated(carried));
        assert_eq!(shown(tracker, "7 10 25 20 10 20 30"), "7 10>10 25 20>20 10 20 30>30");
        let guarded = strategy.with_ahead_max(Span::from_micros(5)).punctuated(carried);
        assert_eq!(shown(Watermarks::<()>::tracker(guarded), "@20 20 30 25 20"), "20>20 30 25 20 1 ahead");
    }

    /// Gives `words` to a tracker twice: in one go, and through saved bytes and a new tracker after each word. Both show
    /// the same, and no prefix of the saved bytes is taken for a state.
    fn check_saved<T: Track<()>>(new: impl Fn() -> T, words: &str) {
        let words: Vec<&str> = words.split_whitespace().collect();
        let whole = shown(new(), &words.join(" "));
        for cut in 0..=words.len() {
            let mut before = new();
            let first = shown_by(&mut before, &words[..cut].join(" "));
            let mut state = StateWriter::default();
            before.save(&mut state).unwrap();
            let bytes = state.into_bytes();
            for end in 0..bytes.len() {
                assert!(new().load(&mut StateReader::new(&bytes[..end])).is_err());
            }
            let mut after = new();
            let mut reader = StateReader::new(&bytes);
            after.load(&mut reader).unwrap();
            reader.finish().unwrap();
            // The clock stands where it stood: its time is given to a source before each record.
            let clock = words[..cut].iter().rev().find(|word| word.starts_with('@')).copied().unwrap_or("");
            let rest = shown_by(&mut after, &format!("{clock} {}", words[cut..].join(" ")));
            let ahead = after.ahead_count();
            let ahead = if ahead > 0 { format!("{ahead} ahead") } else { String::new() };
            let all: Vec<&str> =
                [&*first, &*rest, &*ahead].into_iter().filter(|part| !part.is_empty()).collect();
            assert_eq!(all.join(" "), whole, "saved before word {cut}");
        }
    }

    /// A tracker that goes on from saved bytes gives the watermarks that it would have given without a restart, and counts
    /// on.
    #[test]
    fn a_saved_tracker_goes_on() {
        let micros = Span::from_micros;
        let stamps = format!("100 95 104 105 91 120 -7 {} 3", i64::MAX);
        for (out_of_order, step) in [(0, 0), (0, 10), (10, 5)] {
            let strategy = WatermarkStrategy::bounded_out_of_order(micros(out_of_order));
            check_saved(|| WatermarkTracker::new(strategy.with_step(micros(step))), &stamps);
        }
        // A watermark at the least instant is a watermark, too.
        let bounded = WatermarkStrategy::bounded_out_of_order(micros(5)).with_step(micros(3));
        check_saved(|| WatermarkTracker::new(bounded), &format!("{0} {0} {1}", i64::MIN, i64::MIN + 9));
        let guarded = WatermarkStrategy::ascending().with_ahead_max(micros(10)).with_step(Span::ZERO);
        check_saved(|| WatermarkTracker::new(guarded), "@100 105 111 110 112 @102 112");
        let carried = |record: &Record<()>| Some(record.event_time).filter(|at| at.as_micros() % 10 == 0);
        let punctuated = move || Watermarks::<()>::tracker(guarded.punctuated(carried));
        check_saved(punctuated, "@20 7 10 25 20 40 10 20 30 @40 30 50");
    }
}
