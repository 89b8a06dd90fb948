//! Output delay: how long it takes from the ingestion of a watermark that closes something to the delivery of what it closes
//! (StreamBox, "Modern Stream Processing on a Multicore Machine", ATC 2017, section 9, "output delay").
//!
//! ```text
//!   sources   a: w8   a: w12        b: w9   b: w11                 sinks
//!                     waits for b                  -- closes 10 --> waits ... until each has seen a watermark of 10 or more
//! ```
//!
//! What closes something is known from the query's [`Horizon`]: the first watermark of the last source that reaches an
//! instant at which something happens. It is taken in when the step of the source began which sets it; what it closes is
//! delivered when each sink has seen a watermark that promises as much, for results come before it. Jumps over several such
//! instants are one firing. Sources that are silent or over hold nothing back, and the end of a stream closes nothing here:
//! nobody waits for that.
//!
//! **Result latency** is how long it takes from that instant itself, by the records' own stamps (Klink, SIGMOD 2021, section
//! 6.1.2, "output latency"). It means something where records are stamped by the engine's clock.
//!
//! Where any instant may be one, as with timers, nobody knows which watermarks close something: one is taken a millisecond of
//! processing time and source. Where none is, as without windows, there is no output delay.
//!
//! Beside that, what policies see of each source, see `firing_latency/stream.rs`.
//!
//! Bound: [`WAITING_MAX`] firings on their way; those beyond are not counted.

mod stream;

use std::collections::VecDeque;
use std::sync::Arc;

use thalweg_memory::sync::{AtomicU64, Mutex, Ordering};
use thalweg_model::{EventTime, Horizon, ProcessingTime, Span};
use thalweg_scheduling::{QueryId, StreamState};

use self::stream::Stream;
use crate::latency::Latencies;
use crate::output::Delivered;

/// FiringLatencies on their way at once.
const WAITING_MAX: usize = 64;

/// FiringLatencies that are told as overdue at once: those of 2 h and 45 min, with one a second.
const OVERDUE_MAX: usize = 10_000;

/// Between two watermarks of one source that are looked at, where any may close something.
const SAMPLE_NS: u64 = 1_000_000;

/// What was closed and is not delivered.
#[derive(Debug)]
pub(crate) struct FiringLatencies {
    horizon: Horizon,
    /// Whether something may happen at any instant.
    is_everywhere: bool,
    /// The instant of the first of `State::waiting`, as the bits of its microseconds; that of `EventTime::MAX` without one.
    /// Written under the lock, by sources before they set the watermark; read by sinks that have come to it. Relaxed: the
    /// watermark's own way orders the two.
    first_waiting: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    sources: Vec<Stream>,
    /// The next instant at which something happens; none before every source has set a watermark.
    next: Option<EventTime>,
    waiting: VecDeque<Firing>,
}

#[derive(Clone, Copy, Debug)]
struct Firing {
    /// What it closes is delivered when sinks have seen this.
    instant: EventTime,
    taken_in: ProcessingTime,
}

impl FiringLatencies {
    pub(crate) fn new(horizon: Horizon) -> Self {
        let is_everywhere = horizon.next_after(EventTime::EPOCH) == EventTime::from_micros(1);
        let first_waiting = AtomicU64::new(bits(EventTime::MAX));
        let state = State { sources: Vec::new(), next: None, waiting: VecDeque::with_capacity(WAITING_MAX) };
        FiringLatencies { horizon, is_everywhere, first_waiting, state: Mutex::new(state) }
    }

    /// The first instant behind what sinks have seen at which something happens by the rules of windows; before they have
    /// seen anything, behind what sources have set. None if that is not known.
    pub(crate) fn next_window_end(&self, seen: Option<EventTime>) -> Option<EventTime> {
        if self.is_everywhere {
            return None;
        }
        seen.map(|seen| self.horizon.next_after(seen)).or_else(|| {
            let state = self.state.lock();
            state.waiting.front().map(|firing| firing.instant).or(state.next)
        })
    }

    /// Adds what policies see of each source of `query`, when all sinks have `seen` that watermark.
    pub(crate) fn streams(&self, query: QueryId, seen: Option<EventTime>, all: &mut Vec<StreamState>) {
        all.extend(self.state.lock().sources.iter_mut().map(|source| source.state(query, seen)));
    }

    fn note(&self, index: usize, now: ProcessingTime, change: impl FnOnce(&mut Stream)) {
        let mut state = self.state.lock();
        change(&mut state.sources[index]);
        let moving = state.sources.iter().filter(|source| !source.is_away);
        let Some(least) = moving.map(|source| source.watermark).min() else { return };
        if least == EventTime::MIN {
            return;
        }
        match state.next {
            Some(next) if least < next => return,
            // Before the first watermark nothing is known, so it closes nothing.
            None => {}
            Some(next) => {
                let instant = if self.is_everywhere { least } else { next };
                if state.waiting.len() < WAITING_MAX {
                    state.waiting.push_back(Firing { instant, taken_in: now });
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

    /// Whether something is on its way that a sink which has seen `watermark` may have been the last to wait for.
    pub(crate) fn may_deliver(&self, watermark: EventTime) -> bool {
        EventTime::from_micros(self.first_waiting.load(Ordering::Relaxed).cast_signed()) <= watermark
            && bits(EventTime::MAX) != self.first_waiting.load(Ordering::Relaxed)
    }

    /// The ages, at `now`, of the instants at which something closes, by the stamps of records, and whose results not all
    /// sinks have: those behind what sinks have `seen`, or behind `since` if they have seen nothing yet, and up to `now`. Empty
    /// where any instant may be one, and where stamps run ahead of the clock. At most [`OVERDUE_MAX`], the oldest first.
    pub(crate) fn overdue(
        &self,
        seen: Option<EventTime>,
        since: ProcessingTime,
        now: ProcessingTime,
    ) -> Latencies {
        let stamp = |at: ProcessingTime| EventTime::from_micros((at.as_nanos() / 1_000).cast_signed());
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

    /// Calls `each` with the delay of each firing that is delivered `now`, when all sinks have `seen` that watermark; and with
    /// how long ago that was which it closes, if it is known what that is, and both times are of one age.
    pub(crate) fn deliver(
        &self,
        seen: impl FnOnce() -> Option<EventTime>,
        now: ProcessingTime,
        mut each: impl FnMut(u64, Option<u64>),
    ) {
        let mut state = self.state.lock();
        // Under the lock: of two sinks that come to it at once, the second sees what the first has seen.
        let Some(seen) = seen() else { return };
        while let Some(&Firing { instant, taken_in }) = state.waiting.front()
            && instant <= seen
        {
            state.waiting.pop_front();
            let end_ns = instant.as_micros().checked_mul(1_000).and_then(|ns| u64::try_from(ns).ok());
            let since_end_ns = end_ns.and_then(|end_ns| now.as_nanos().checked_sub(end_ns));
            each(now.nanos_since(taken_in), since_end_ns.filter(|_| !self.is_everywhere));
        }
        self.note_first(&state);
    }
}

fn bits(instant: EventTime) -> u64 {
    instant.as_micros().cast_unsigned()
}

/// A source that tells which watermarks it sets.
pub(crate) struct Ingestion {
    delivered: Arc<Delivered>,
    index: usize,
    /// The first watermark that makes a difference.
    due: EventTime,
    /// Where any does: not before this.
    quiet_until: ProcessingTime,
}

impl Ingestion {
    /// One more source of a query, before any of them runs.
    pub(crate) fn new(delivered: Arc<Delivered>) -> Self {
        let index = {
            let mut state = delivered.firings.state.lock();
            state.sources.push(Stream::new());
            state.sources.len() - 1
        };
        Ingestion { delivered, index, due: EventTime::MIN, quiet_until: ProcessingTime::ZERO }
    }

    /// Watermarks below this need not be [noted](Self::note_watermark): none makes a difference.
    pub(crate) fn next_due(&self) -> EventTime {
        self.due
    }

    /// Takes note of a watermark before it is set.
    #[inline]
    pub(crate) fn note_watermark(&mut self, watermark: EventTime, now: ProcessingTime) {
        if self.due <= watermark && self.quiet_until <= now {
            self.note_due(watermark, now);
        }
    }

    #[cold]
    fn note_due(&mut self, watermark: EventTime, now: ProcessingTime) {
        let firings = &self.delivered.firings;
        let next = firings.horizon.next_after(watermark);
        let deadline = (!firings.is_everywhere).then_some(next);
        firings.note(self.index, now, |source| source.advance(watermark, deadline, now));
        self.due = next.max(watermark.plus(Span::from_micros(1)));
        if firings.is_everywhere {
            self.quiet_until = now.plus_nanos(SAMPLE_NS);
        }
    }

    /// Takes note that it is silent, until it sets a watermark again, or over.
    pub(crate) fn note_away(&mut self, now: ProcessingTime) {
        self.delivered.firings.note(self.index, now, Stream::fall_away);
        // Its next watermark tells that it is back.
        (self.due, self.quiet_until) = (EventTime::MIN, ProcessingTime::ZERO);
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
