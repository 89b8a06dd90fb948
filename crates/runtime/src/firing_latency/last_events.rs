//! Arrivals of the last events that results were made of, from which **event latency** counts: the time until
//! the results have reached all sinks (Cameo, NSDI 2021, section 4.1, "latency").
//!
//! A source has given all records of the windows up to some instant when it has read the record that carries
//! its first watermark at or after the instant. The arrival of that record counts, and of several sources the
//! latest. This is Cameo's frontier time (section 4.2.2), from which its deadlines count. A record arrives
//! when it could first have been read, if the source knows
//! ([`Source::arrived`](thalweg_model::Source::arrived)); otherwise when the step that read it began.
//!
//! The last record inside the windows arrived at most a little before that record. Its own arrival is not
//! known, because no time is stored per record. In a stream whose records arrive at the pace of their stamps,
//! the distance is at most the strategy's bound of disorder, its step between two watermarks, and the time
//! between two records. So event latency may be too short by that much, and is never too long.
//!
//! A source that is silent or has ended holds nothing back. If it did not reach the instant before, the
//! arrival of its last record counts.
//!
//! Bound: [`WAITING_MAX`] watermarks per source that other sources have not reached. If there are more, the
//! last place is taken by the newest watermark, whose arrival is later.

use std::collections::VecDeque;

use thalweg_model::{EventTime, ProcessingTime};

use super::WAITING_MAX;

/// Arrivals of the records of one source, or of one split of a source, that windows wait for.
#[derive(Clone, Debug)]
pub(super) struct LastEvents {
    /// Watermarks of this source that not all sources have reached, and the last one that all have reached.
    /// The oldest is first, and each reaches more ends of windows than the one before.
    passed: VecDeque<Passed>,
    /// The end of a window that the source reaches next; `None` before the first watermark and after a
    /// silence.
    next_end: Option<EventTime>,
    /// Nanoseconds from the event time of the last watermark that reached an end of a window, taken as a time
    /// of the engine's clock, to the arrival of the record that carried the watermark; zero before the first
    /// such watermark, and if stamps are ahead of the clock.
    delay_ns: u64,
    /// True if the source is silent or has ended.
    pub(super) is_away: bool,
    /// Arrival of the last record before the source fell silent or ended; `None` if it has made no record,
    /// and while it is neither silent nor over.
    last_arrived: Option<ProcessingTime>,
}

/// A watermark that reached one or more ends of windows.
#[derive(Clone, Copy, Debug)]
struct Passed {
    /// The first end of a window that the watermark did not reach.
    next_end: EventTime,
    /// Arrival of the record that carried the watermark.
    arrived: ProcessingTime,
}

impl LastEvents {
    pub(super) fn new() -> Self {
        LastEvents {
            // The deque gets its full capacity at once, because the data path must not allocate.
            passed: VecDeque::with_capacity(WAITING_MAX),
            next_end: None,
            delay_ns: 0,
            is_away: false,
            last_arrived: None,
        }
    }

    /// Stores a watermark of the source. The record that carried the watermark arrived at `arrived`.
    /// `next_end` is the first end of a window after the watermark.
    pub(super) fn pass(&mut self, watermark: EventTime, next_end: EventTime, arrived: ProcessingTime) {
        // The delay is that of the record that carried the watermark, also if the watermark passes several
        // ends of windows at once.
        self.delay_ns = arrived.nanos_since(by_clock(watermark));
        (self.next_end, self.is_away, self.last_arrived) = (Some(next_end), false, None);
        let passed = Passed { next_end, arrived };
        let is_full = self.passed.len() == WAITING_MAX;
        match self.passed.back_mut() {
            // After a silence of the source, the watermark may reach no further end of a window. Then the
            // watermark need not be stored.
            Some(last) if next_end <= last.next_end => {}
            Some(last) if is_full => *last = passed,
            _ => self.passed.push_back(passed),
        }
    }

    /// Records that the source is silent or has ended, and when its last record arrived.
    pub(super) fn leave(&mut self, last_arrived: Option<ProcessingTime>) {
        (self.next_end, self.is_away, self.last_arrived) = (None, true, last_arrived);
    }

    /// Returns the arrival of the last record of this source that the windows which end before `next_end`
    /// wait for; `None` if the source is silent or has ended, and has made no record. Forgets watermarks that
    /// reach only earlier ends, so `next_end` must not go back from call to call.
    pub(super) fn last_before(&mut self, next_end: EventTime) -> Option<ProcessingTime> {
        while self.passed.front().is_some_and(|passed| passed.next_end < next_end) {
            self.passed.pop_front();
        }
        self.passed.front().map(|passed| passed.arrived).or(self.last_arrived)
    }

    /// Returns when the last record of this source has arrived, or is to arrive, that the windows which end
    /// at `end` wait for. If the source has not read that record, it is expected as late after `end` as the
    /// last such record was. Returns `None` if the source is silent or has ended, and has made no record.
    pub(super) fn expected(&self, end: EventTime) -> Option<ProcessingTime> {
        let passed = self.passed.iter().find(|passed| end < passed.next_end).map(|passed| passed.arrived);
        let by_delay = || by_clock(end).plus_nanos(self.delay_ns);
        passed.or_else(|| if self.is_away { self.last_arrived } else { Some(by_delay()) })
    }
}

/// Converts an instant of event time to the same instant of the engine's clock, as is right if records are
/// stamped by this clock. Instants before the Unix epoch become zero.
fn by_clock(instant: EventTime) -> ProcessingTime {
    let micros = u64::try_from(instant.as_micros()).unwrap_or(0);
    ProcessingTime::from_nanos(micros.saturating_mul(1_000))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn at_ms(ms: u64) -> ProcessingTime {
        ProcessingTime::from_nanos(ms * 1_000_000)
    }

    /// Makes the arrivals of a source from watermarks in s and their arrivals in ms. Windows end every 10 s.
    fn source(watermarks: &[(i64, u64)]) -> LastEvents {
        let mut source = LastEvents::new();
        for &(watermark_s, arrived_ms) in watermarks {
            let next_end = EventTime::from_secs((watermark_s.div_euclid(10) + 1) * 10);
            source.pass(EventTime::from_secs(watermark_s), next_end, at_ms(arrived_ms));
        }
        source
    }

    /// The first watermark at or after the end of a window counts, not the last one and not the one of a
    /// later end.
    #[test]
    fn the_first_record_behind_an_end_counts() {
        let mut source = source(&[(3, 3_100), (12, 12_100), (14, 14_100), (39, 39_100)]);
        assert_eq!(source.last_before(EventTime::from_secs(20)), Some(at_ms(12_100)));
        assert_eq!(source.last_before(EventTime::from_secs(30)), Some(at_ms(39_100)));
        assert_eq!(source.last_before(EventTime::from_secs(40)), Some(at_ms(39_100)));
        assert_eq!(source.passed.len(), 1, "nothing else is kept");
    }

    /// If another source lags, so that its watermarks reach no end, later watermarks replace the last one.
    /// Ends then get a later arrival than their own, never an earlier one.
    #[test]
    fn what_is_kept_is_bounded() {
        let many: Vec<(i64, u64)> = (0..1_000).map(|tens| (tens * 10, tens as u64)).collect();
        let mut source = source(&many);
        assert_eq!(source.passed.len(), WAITING_MAX);
        assert_eq!(source.last_before(EventTime::from_secs(20)), Some(at_ms(1)));
        let last = WAITING_MAX as i64 * 10;
        assert_eq!(source.last_before(EventTime::from_secs(last)), Some(at_ms(999)));
    }

    /// A record that was not read is expected as late after the end of its window as the last one was. A
    /// source that is silent or has ended has given its last record.
    #[test]
    fn what_was_not_read_is_expected_by_the_last_delay() {
        let expected = |source: &LastEvents, end_s: i64| source.expected(EventTime::from_secs(end_s));
        assert_eq!(expected(&LastEvents::new(), 10), Some(at_ms(10_000)));
        let mut source = source(&[(3, 9_000), (11, 12_500)]);
        assert_eq!(expected(&source, 10), Some(at_ms(12_500)));
        assert_eq!(expected(&source, 30), Some(at_ms(31_500)));
        source.leave(Some(at_ms(13_000)));
        assert_eq!(
            (expected(&source, 10), expected(&source, 30)),
            (Some(at_ms(12_500)), Some(at_ms(13_000)))
        );
        // The source has records again an hour later. Its silence does not count as a delay of records.
        source.pass(EventTime::from_secs(3_601), EventTime::from_secs(3_610), at_ms(3_602_000));
        assert_eq!(expected(&source, 3_610), Some(at_ms(3_611_000)));
        let mut empty = LastEvents::new();
        empty.leave(None);
        assert_eq!((expected(&empty, 10), empty.last_before(EventTime::from_secs(20))), (None, None));
    }
}
