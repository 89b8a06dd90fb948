//! Inputs whose records are all delayed in transit by the same time, so that some inputs of a query are ahead of others.
//!
//! ```text
//!   sent, event time    |--1--|--2--|--3--|
//!   input without       1     2     3
//!   input with delay    |---- delay ----->1     2     3        processing time
//! ```
//!
//! A record keeps its event time, which is the time at which it is sent, so the watermark of a delayed input lies behind
//! that of an input without delay. Latency markers keep the time at which their record was sent too, so their latency
//! contains the delay. A record has arrived, as policies see it, when the delay is over. The pace, the order and any
//! other delay of the records are those of the generator.

use thalweg::{
    Fault, Generate, Output, Polled, ProcessingTime, Source, SourceStatus, Span, StateError, StateReader,
    StateWriter,
};
use thalweg_connectors::Paced;

/// A paced generator whose records arrive a fixed time later than they would by themselves.
pub struct Delayed<G: Generate> {
    source: Paced<G>,
    delay_ns: u64,
}

impl<G: Generate> Delayed<G> {
    /// Delays all records of a source by `delay`, which is at least zero. Without a delay the source is as before.
    pub fn by(delay: Span, source: Paced<G>) -> Self {
        let delay_us = u64::try_from(delay.as_micros()).unwrap_or(0);
        Delayed { source, delay_ns: delay_us.saturating_mul(1_000) }
    }

    /// Returns the instant at which a record arrives that the source itself would have at `instant`.
    #[inline(always)]
    fn later(&self, instant: ProcessingTime) -> ProcessingTime {
        instant.plus_nanos(self.delay_ns)
    }
}

impl<G: Generate> Source for Delayed<G> {
    type Item = G::Item;

    #[inline(always)]
    fn poll<O: Output<G::Item>>(
        &mut self,
        now: ProcessingTime,
        limit: usize,
        output: &mut O,
    ) -> Result<Polled, Fault> {
        let seen = ProcessingTime::from_nanos(now.as_nanos().saturating_sub(self.delay_ns));
        let Polled { status, latency } = self.source.poll(seen, limit, output)?;
        let status = match status {
            SourceStatus::DueSince(due) => SourceStatus::DueSince(self.later(due)),
            SourceStatus::IdleUntil(due) => SourceStatus::IdleUntil(self.later(due)),
            SourceStatus::Ready | SourceStatus::Ended => status,
        };
        Ok(Polled { status, latency })
    }

    fn has_pending(&self) -> bool {
        self.source.has_pending()
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.source.finish()
    }

    fn spacing_ns(&self) -> Option<u64> {
        self.source.spacing_ns()
    }

    fn arrived(&self) -> Option<ProcessingTime> {
        self.source.arrived().map(|arrived| self.later(arrived))
    }

    fn bad_count(&self) -> u64 {
        self.source.bad_count()
    }

    fn held_bytes(&self) -> usize {
        self.source.held_bytes()
    }

    /// Saves the position of the source. The delay is not part of it.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.source.save(state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.source.load(state)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use thalweg::{EventTime, Record};
    use thalweg_connectors::Pace;

    use super::*;

    /// A generator for tests, whose values are their own indexes.
    struct Indexes;

    impl Generate for Indexes {
        type Item = u64;

        fn value(&self, index: u64, _event_time: EventTime) -> u64 {
            index
        }

        fn cache_bytes(&self) -> usize {
            0
        }
    }

    struct Gathered(Vec<(u64, i64)>);

    impl Output<u64> for Gathered {
        fn room(&self) -> usize {
            usize::MAX
        }

        fn push(&mut self, record: Record<u64>) {
            self.0.push((record.value, record.event_time.as_micros() / 1_000));
        }
    }

    fn at(ms: u64) -> ProcessingTime {
        ProcessingTime::from_nanos(ms * 1_000_000)
    }

    /// Makes a source of 100 records/s from 1,000 ms on.
    fn source() -> Paced<Indexes> {
        let pace = Pace::Rate { rate_per_s: 100, start: at(1_000), time_scale: 1 };
        Paced::new(Arc::new(Indexes), pace).unwrap()
    }

    /// The first records, sent at 1,000 and 1,010 ms, arrive 200 ms later with the event times at which they were sent.
    /// So do their latency markers. Until then the source is idle.
    #[test]
    fn records_arrive_later_with_their_own_event_times() {
        let mut source = Delayed::by(Span::from_millis(200), source());
        let mut poll = |ms, expected: (&[(u64, i64)], SourceStatus, Option<u64>)| {
            let mut found = Gathered(Vec::new());
            let Polled { status, latency } = source.poll(at(ms), 100, &mut found).unwrap();
            let (records, expected_status, sent_ms) = expected;
            assert_eq!((&*found.0, status, latency), (records, expected_status, sent_ms.map(at)), "at {ms}");
        };
        poll(0, (&[], SourceStatus::IdleUntil(at(1_200)), None));
        poll(1_199, (&[], SourceStatus::IdleUntil(at(1_200)), None));
        poll(1_200, (&[(0, 1_000)], SourceStatus::IdleUntil(at(1_210)), Some(1_000)));
        poll(1_225, (&[(1, 1_010)], SourceStatus::DueSince(at(1_220)), Some(1_010)));
        assert_eq!(source.arrived(), Some(at(1_210)));
        assert_eq!(source.spacing_ns(), Some(10_000_000));
    }

    /// A source without delay has the polls of the source itself.
    #[test]
    fn without_a_delay_nothing_changes() {
        let (mut itself, mut delayed) = (source(), Delayed::by(Span::ZERO, source()));
        for ms in [0, 999, 1_000, 1_005, 1_100] {
            let [mut of_itself, mut of_delayed] = [Gathered(Vec::new()), Gathered(Vec::new())];
            let expected = itself.poll(at(ms), 100, &mut of_itself).unwrap();
            assert_eq!(delayed.poll(at(ms), 100, &mut of_delayed).unwrap(), expected, "at {ms}");
            assert_eq!((of_delayed.0, delayed.arrived()), (of_itself.0, itself.arrived()), "at {ms}");
        }
    }
}
