//! Output delay: the time from the ingestion of a watermark that closes something to the delivery of the
//! results (StreamBox, "Modern Stream Processing on a Multicore Machine", ATC 2017, section 9, "output
//! delay").
//!
//! ```text
//!   sources   a: w8   a: w12        b: w9   b: w11                 sinks
//!                     waits for b                  -- closes 10 --> waits ... until each has seen a watermark of 10 or more
//! ```
//!
//! The query's [`Horizon`] tells which watermark closes something: the first watermark of the last source
//! that reaches an instant at which something happens. It counts as ingested when the step of the source that
//! sets it began. Its results are delivered when each sink has seen a watermark at or above that instant,
//! because results come before it. A watermark that jumps over several such instants is one firing. Sources
//! that are silent or over hold nothing back. The end of a stream closes nothing here, because no user waits
//! for that.
//!
//! **Result latency** is the time from that instant itself, by the records' own stamps (Klink, SIGMOD 2021,
//! section 6.1.2, "output latency"). It is meaningful if records are stamped by the engine's clock.
//!
//! **Event latency** is the time from the arrival of the last event that contributes to the results (Cameo,
//! NSDI 2021, section 4.1, "latency"); see `firing_latency/last_events.rs`. It includes the time for which
//! the record with the watermark waited in front of the source. Latency targets apply to it.
//!
//! If any instant may close something, as with timers, it is not known which watermarks do. Then one
//! watermark per source and millisecond of processing time is taken. If no instant does, as without windows,
//! there is no output delay.
//!
//! The view of each source that policies see is a [`Stream`].
//!
//! Bound: [`WAITING_MAX`] firings on their way. Further ones have no output delay, result latency or event
//! latency, and only their number is kept.

mod last_events;

use std::collections::VecDeque;
use std::sync::Arc;

use thalweg_memory::sync::{AtomicU64, Mutex, Ordering};
use thalweg_model::{EventTime, Horizon, ProcessingTime, Span};
use thalweg_scheduling::stream::{Ahead, Stream};
use thalweg_scheduling::{QueryId, StreamState};

use self::last_events::LastEvents;
use crate::latency::Latencies;
use crate::output::Delivered;

/// Maximum number of firings (watermarks that make an operator emit results) whose results have not reached
/// all sinks.
const WAITING_MAX: usize = 64;

/// Maximum number of ends of windows and the like that are reported at once as overdue (past by the clock,
/// and their results not at all sinks). With one end per second, they are the ends of 2 h and 46 min.
const OVERDUE_MAX: usize = 10_000;

/// Nanoseconds between two sampled watermarks of one source, if any watermark may make an operator emit
/// results.
const SAMPLE_NS: u64 = 1_000_000;

/// Firings that have begun and whose results have not reached all sinks. A firing is a watermark that makes
/// an operator emit results, such as at the end of a window.
#[derive(Debug)]
pub(crate) struct FiringLatencies {
    horizon: Horizon,
    /// True if any watermark may make an operator emit results, as with timers.
    is_everywhere: bool,
    /// The event time of the first firing (an end of a window or the like) whose results have not reached all
    /// sinks, as the bits of its microseconds; that of `EventTime::MAX` if there is none. Written under the
    /// lock by sources before they set the watermark; read by sinks that have received it. Relaxed: the path
    /// of the watermark orders the two.
    first_waiting: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    sources: Vec<Stream>,
    /// Arrivals of the last events of each source, in the order of the field `sources`.
    last_events: Vec<LastEvents>,
    /// The next event time at which some operator emits results; `None` before every source has set a
    /// watermark.
    next: Option<EventTime>,
    waiting: VecDeque<Firing>,
    /// Number of firings (watermarks that make an operator emit results) since the start that are not
    /// measured, because [`WAITING_MAX`] others were on their way to the sinks when the source set their
    /// watermark.
    unmeasured: u64,
}

#[derive(Clone, Copy, Debug)]
struct Firing {
    /// The event time at which an operator emits results, such as the end of a window. The results are
    /// delivered when all sinks have seen a watermark that reaches this time.
    instant: EventTime,
    taken_in: ProcessingTime,
    /// Arrival of the last event that contributes to the results.
    last_event: ProcessingTime,
}

/// Delays of a firing (a watermark that makes an operator emit results) whose results have reached all sinks,
/// in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FiringDelays {
    /// Output delay: the time from the start of the source step that set the watermark until all sinks have
    /// seen it.
    pub(crate) output_ns: u64,
    /// Result latency: the time from the end of the window, its event time taken as a time of the engine's
    /// clock, until all sinks have the results; `None` if the end is not known, or lies before 1970 or after
    /// the present time of the clock.
    pub(crate) result_ns: Option<u64>,
    /// Event latency: the time from the arrival of the last event that contributes to the results until all
    /// sinks have the results.
    pub(crate) event_ns: u64,
}

impl FiringLatencies {
    pub(crate) fn new(horizon: Horizon) -> Self {
        let is_everywhere = horizon.next_after(EventTime::EPOCH) == EventTime::from_micros(1);
        let first_waiting = AtomicU64::new(bits(EventTime::MAX));
        let waiting = VecDeque::with_capacity(WAITING_MAX);
        let state =
            State { sources: Vec::new(), last_events: Vec::new(), next: None, waiting, unmeasured: 0 };
        FiringLatencies { horizon, is_everywhere, first_waiting, state: Mutex::new(state) }
    }

    /// Returns the first end of a window after the watermark that sinks have `seen`. Before sinks have seen
    /// any watermark, it is the first end after the watermarks of the sources. Returns `None` if ends of
    /// windows are not known.
    pub(crate) fn next_window_end(&self, seen: Option<EventTime>) -> Option<EventTime> {
        if self.is_everywhere {
            return None;
        }
        seen.map(|seen| self.horizon.next_after(seen)).or_else(|| {
            let state = self.state.lock();
            state.waiting.front().map(|firing| firing.instant).or(state.next)
        })
    }

    /// Adds what policies may know about each source of `query` to `all`. `seen` is the watermark that all
    /// sinks have seen. Delays are those of the last `delay_epochs` epochs of the source (Klink's: from one
    /// deadline of its windows to the next).
    pub(crate) fn streams(
        &self,
        query: QueryId,
        seen: Option<EventTime>,
        delay_epochs: usize,
        all: &mut Vec<StreamState>,
    ) {
        let mut state = self.state.lock();
        all.extend(state.sources.iter_mut().map(|source| source.state(query, seen, delay_epochs)));
    }

    fn note(&self, index: usize, now: ProcessingTime, change: impl FnOnce(&mut Stream, &mut LastEvents)) {
        let mut state = self.state.lock();
        let State { sources, last_events, .. } = &mut *state;
        change(&mut sources[index], &mut last_events[index]);
        let moving = state.sources.iter().filter(|source| !source.is_away());
        let Some(least) = moving.map(Stream::watermark).min() else { return };
        if least == EventTime::MIN {
            return;
        }
        match state.next {
            Some(next) if least < next => return,
            // Now every source has set its first watermark. No window can be open before these watermarks, so
            // they close none.
            None => {}
            Some(next) => {
                let instant = if self.is_everywhere { least } else { next };
                let next_end = self.horizon.next_after(least);
                let arrivals = state.last_events.iter_mut().filter_map(|source| source.last_before(next_end));
                let last_event = arrivals.max().unwrap_or(now);
                if state.waiting.len() < WAITING_MAX {
                    state.waiting.push_back(Firing { instant, taken_in: now, last_event });
                } else {
                    state.unmeasured += 1;
                }
                self.note_first(&state);
            }
        }
        state.next = Some(self.horizon.next_after(least));
    }

    fn note_first(&self, state: &State) {
        let first = state.waiting.front().map_or(EventTime::MAX, |firing| firing.instant);
        self.first_waiting.store(bits(first), Ordering::Relaxed);
    }

    /// Returns true if results of a window or the like may now be delivered to all sinks, because one more
    /// sink has seen `watermark`.
    pub(crate) fn may_deliver(&self, watermark: EventTime) -> bool {
        EventTime::from_micros(self.first_waiting.load(Ordering::Relaxed).cast_signed()) <= watermark
            && bits(EventTime::MAX) != self.first_waiting.load(Ordering::Relaxed)
    }

    /// Returns how long ago, at `now`, windows have ended whose results have not reached all sinks, by the
    /// stamps of records. The windows are those that end after the watermark which sinks have `seen`, or
    /// after `since` if they have seen none, and up to `now`. The result is empty if any instant may be such
    /// an end, and if stamps are ahead of the clock. It has at most [`OVERDUE_MAX`] ends, the oldest first.
    pub(crate) fn overdue(
        &self,
        seen: Option<EventTime>,
        since: ProcessingTime,
        now: ProcessingTime,
    ) -> Latencies {
        let mut ages = Latencies::new();
        if self.is_everywhere {
            return ages;
        }
        let mut instant = self.horizon.next_after(seen.unwrap_or_else(|| stamp(since)));
        for _ in 0..OVERDUE_MAX {
            let Some(age_us) = stamp(now).as_micros().checked_sub(instant.as_micros()) else { break };
            let Ok(age_us) = u64::try_from(age_us) else { break };
            ages.record(age_us.saturating_mul(1_000));
            instant = self.horizon.next_after(instant);
        }
        ages
    }

    /// Returns how long ago, at `now`, the last events arrived of results that have not reached all sinks.
    ///
    /// Results of two kinds count. Results that a watermark has fired count, if that watermark is after the
    /// one that sinks have `seen`. Ends of windows that not all sources have reached count if they have
    /// passed by the clock, after `seen`, or after `since` if sinks have seen no watermark. The last events
    /// before these ends have not been read yet, so their arrivals are [estimated](LastEvents::expected) by
    /// the delay of the record before. An event that is expected after `now` is not overdue. Ends are left
    /// out if any instant may be an end, and if all sources are silent or have ended. There are at most
    /// [`OVERDUE_MAX`] ends, the oldest first.
    pub(crate) fn overdue_events(
        &self,
        seen: Option<EventTime>,
        since: ProcessingTime,
        now: ProcessingTime,
    ) -> Latencies {
        let mut ages = Latencies::new();
        // The ends of windows are visited and the histogram is filled after the lock is released, because
        // sources and sinks wait for it.
        let (last_events, next, waiting) = {
            let state = self.state.lock();
            let waiting = state.waiting.iter().filter(|firing| seen < Some(firing.instant));
            let waiting: Vec<ProcessingTime> = waiting.map(|firing| firing.last_event).collect();
            (state.last_events.clone(), state.next, waiting)
        };
        waiting.into_iter().for_each(|last_event| ages.record(now.nanos_since(last_event)));
        if self.is_everywhere || last_events.iter().all(|source| source.is_away) {
            return ages;
        }
        let unseen = self.horizon.next_after(seen.unwrap_or_else(|| stamp(since)));
        let mut end = next.map_or(unseen, |next| next.max(unseen));
        for _ in 0..OVERDUE_MAX {
            if stamp(now) < end {
                break;
            }
            let arrived = last_events.iter().filter_map(|source| source.expected(end)).max();
            if let Some(arrived) = arrived.filter(|&arrived| arrived <= now) {
                ages.record(now.nanos_since(arrived));
            }
            end = self.horizon.next_after(end);
        }
        ages
    }

    /// Returns how long ago, at `now`, sources set the watermarks that made operators emit results which have
    /// not reached all sinks. These are at most [`WAITING_MAX`], the oldest first. Further such watermarks
    /// are only counted, see [`unmeasured`](Self::unmeasured).
    pub(crate) fn undelivered(&self, now: ProcessingTime) -> Latencies {
        let mut ages = Latencies::new();
        // The histogram is filled after the lock is released, because sources and sinks wait for it.
        let taken_in: Vec<_> = self.state.lock().waiting.iter().map(|firing| firing.taken_in).collect();
        taken_in.into_iter().for_each(|taken_in| ages.record(now.nanos_since(taken_in)));
        ages
    }

    /// Returns the number of firings (watermarks that make an operator emit results) since the start that
    /// have no output delay, because [`WAITING_MAX`] others were on their way to the sinks when the source
    /// set their watermark.
    pub(crate) fn unmeasured(&self) -> u64 {
        self.state.lock().unmeasured
    }

    /// Calls `each` with the delays of each firing (a watermark that makes an operator emit results) that is
    /// delivered at `now`, when all sinks have seen the watermark `seen`.
    pub(crate) fn deliver(
        &self,
        seen: impl FnOnce() -> Option<EventTime>,
        now: ProcessingTime,
        mut each: impl FnMut(FiringDelays),
    ) {
        let mut state = self.state.lock();
        // `seen` returns the watermark that all sinks have seen. It is called under the lock, so that of two
        // sinks that report at once the second sees the watermark of the first.
        let Some(seen) = seen() else { return };
        while let Some(&Firing { instant, taken_in, last_event }) = state.waiting.front()
            && instant <= seen
        {
            state.waiting.pop_front();
            let end_ns = instant.as_micros().checked_mul(1_000).and_then(|ns| u64::try_from(ns).ok());
            let since_end_ns = end_ns.and_then(|end_ns| now.as_nanos().checked_sub(end_ns));
            each(FiringDelays {
                output_ns: now.nanos_since(taken_in),
                result_ns: since_end_ns.filter(|_| !self.is_everywhere),
                event_ns: now.nanos_since(last_event),
            });
        }
        self.note_first(&state);
    }
}

fn bits(instant: EventTime) -> u64 {
    instant.as_micros().cast_unsigned()
}

/// Returns the event time with which a source stamps a record that it makes at the time `at` of the engine's
/// clock.
fn stamp(at: ProcessingTime) -> EventTime {
    EventTime::from_micros((at.as_nanos() / 1_000).cast_signed())
}

/// Reports the watermarks of one source to the query, which measures output delays from the start of the step
/// that set them.
pub(crate) struct Ingestion {
    delivered: Arc<Delivered>,
    index: usize,
    /// Watermarks of this source below this event time make no operator emit results, and are not reported.
    due: EventTime,
    /// If any watermark may make an operator emit results: the time before which no further watermark is
    /// reported, because they are sampled.
    quiet_until: ProcessingTime,
}

impl Ingestion {
    /// Adds a source of a query to the measurement of output delays, before any source runs.
    pub(crate) fn new(delivered: Arc<Delivered>) -> Self {
        let index = {
            let mut state = delivered.firings.state.lock();
            state.sources.push(Stream::new());
            state.last_events.push(LastEvents::new());
            state.sources.len() - 1
        };
        Ingestion { delivered, index, due: EventTime::MIN, quiet_until: ProcessingTime::ZERO }
    }

    /// Returns the least watermark of the source that must be [reported](Self::note_watermark). Lower
    /// watermarks make no operator emit results.
    pub(crate) fn next_due(&self) -> EventTime {
        self.due
    }

    /// Records a watermark of the source before it is sent to the operators. `arrived` returns when the record
    /// with the watermark could first have been read, if the source knows. Policies see that time, and event
    /// latencies count from it. Output delays count from `now`, when the step of the source began.
    #[inline]
    pub(crate) fn note_watermark(
        &mut self,
        watermark: EventTime,
        now: ProcessingTime,
        arrived: impl FnOnce() -> Option<ProcessingTime>,
    ) {
        if self.due <= watermark && self.quiet_until <= now {
            self.note_due(watermark, now, arrived());
        }
    }

    #[cold]
    fn note_due(&mut self, watermark: EventTime, now: ProcessingTime, arrived: Option<ProcessingTime>) {
        let firings = &self.delivered.firings;
        let ahead = (!firings.is_everywhere).then(|| Ahead::of(&firings.horizon, watermark));
        let next = ahead.map_or_else(|| firings.horizon.next_after(watermark), |ahead| ahead.firing);
        // Nothing is read before it has arrived, so a later time is an error of the source.
        let arrived = arrived.map_or(now, |arrived| arrived.min(now));
        firings.note(self.index, now, |source, last_events| {
            source.advance(watermark, ahead, arrived);
            last_events.pass(watermark, next, arrived);
        });
        self.due = next.max(watermark.plus(Span::from_micros(1)));
        if firings.is_everywhere {
            self.quiet_until = now.plus_nanos(SAMPLE_NS);
        }
    }

    /// Records that the source has ended, or is silent until it sets a watermark again. Its last record
    /// arrived at `last_arrived`; `None` if it has made none.
    pub(crate) fn note_away(&mut self, now: ProcessingTime, last_arrived: Option<ProcessingTime>) {
        self.delivered.firings.note(self.index, now, |source, last_events| {
            source.fall_away();
            last_events.leave(last_arrived);
        });
        // The source is silent or has ended. If it sets a watermark again, that watermark is reported in any
        // case, because it shows that the source is back.
        (self.due, self.quiet_until) = (EventTime::MIN, ProcessingTime::ZERO);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
