//! The policies' view of one source: its progress, and the arrival times of the watermarks that make its
//! query emit results (Klink, SIGMOD 2021, sections 2.2 and 3.1, "sweeping watermarks").
//!
//! A watermark arrives when the record that carries it could first have been read, if the source knows that
//! time ([`Source::arrived`](thalweg_model::Source::arrived)); otherwise when the step that read it began. With
//! the first, delays are those of the network and of the sender alone. With the second they grow with every
//! delay of the scheduler, so that a query which was left waiting seems to have more time.
//!
//! Bounds: the last [`DelayStatistics::EPOCHS`] such watermarks, and `WAITING_MAX` watermarks whose results
//! have not reached the sinks. Further watermarks are not tracked on their way.

use std::collections::VecDeque;

use thalweg_model::{EventTime, ProcessingTime};
use thalweg_scheduling::{DelayStatistics, ProgressMap, QueryId, StreamState};

use super::{Firing, WAITING_MAX};

/// Progress of one source, or of one split of a source.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub(super) watermark: EventTime,
    /// True if the source is silent or has ended.
    pub(super) is_away: bool,
    /// The next event time at which the query emits results; `None` before the first watermark, and if any
    /// instant may be such a time.
    deadline: Option<EventTime>,
    /// The first watermark of the source and its arrival time. Nothing else is known before the first epoch
    /// ends.
    first: Option<(EventTime, ProcessingTime)>,
    /// Ends of the last epochs in event time, and the time at which each was reached. Other watermarks are
    /// left out: they may lie anywhere between two ends, and a line through such a point may have any slope.
    epochs: VecDeque<(EventTime, ProcessingTime)>,
    /// Firings (watermarks that make the query emit results) that have not reached all sinks.
    waiting: VecDeque<Firing>,
    /// Statistics computed from `epochs`; `None` if `epochs` has changed since.
    figures: Option<(DelayStatistics, Option<ProgressMap>)>,
}

impl Stream {
    pub(super) fn new() -> Self {
        Stream {
            watermark: EventTime::MIN,
            is_away: false,
            deadline: None,
            first: None,
            // The deque gets its full capacity at once, because the data path must not allocate.
            epochs: VecDeque::with_capacity(DelayStatistics::EPOCHS),
            waiting: VecDeque::with_capacity(WAITING_MAX),
            figures: None,
        }
    }

    /// Records a watermark of the source that arrived at `arrived`. `next` is the next event time at which the
    /// query emits results; `None` if that may be at any instant.
    pub(super) fn advance(&mut self, watermark: EventTime, next: Option<EventTime>, arrived: ProcessingTime) {
        (self.watermark, self.is_away) = (watermark, false);
        let reached = self.deadline.filter(|&deadline| deadline <= watermark);
        self.deadline = next;
        if watermark == EventTime::MAX {
            return;
        }
        if self.first.is_none() {
            (self.first, self.figures) = (Some((watermark, arrived)), None);
        }
        // If results may be emitted at any instant, each watermark ends an epoch.
        if let Some(instant) = reached.or(next.is_none().then_some(watermark)) {
            if self.epochs.len() == DelayStatistics::EPOCHS {
                self.epochs.pop_front();
            }
            self.epochs.push_back((instant, arrived));
            self.figures = None;
        }
        if let Some(instant) = reached
            && self.waiting.len() < WAITING_MAX
        {
            self.waiting.push_back(Firing { instant, taken_in: arrived });
        }
    }

    /// Records that the source is silent or has ended. Ends of epochs that it passes when it returns do not
    /// count as delays, because no result waited for the source meanwhile.
    pub(super) fn fall_away(&mut self) {
        (self.is_away, self.deadline) = (true, None);
    }

    /// Returns what policies may know about this source of `query`, when all sinks have seen the watermark
    /// `seen`.
    pub(super) fn state(&mut self, query: QueryId, seen: Option<EventTime>) -> StreamState {
        while let Some(oldest) = self.waiting.front()
            && seen.is_some_and(|seen| oldest.instant <= seen)
        {
            self.waiting.pop_front();
        }
        let (first, epochs) = (self.first, &self.epochs);
        let (delays, progress) = *self.figures.get_or_insert_with(|| figures_of(first, epochs));
        StreamState {
            query,
            deadline: self.deadline,
            swept: self.waiting.front().map(|oldest| oldest.taken_in),
            delays,
            progress,
            is_away: self.is_away,
        }
    }
}

/// Computes the mean and variance of delays, and the line by least squares through the ends of epochs and the
/// times at which each was reached. It takes two passes, because the squares of present-day instants exceed
/// the precision of a double. Before an epoch has ended, the line passes through the first watermark, as if
/// event time and processing time advanced equally.
fn figures_of(
    first: Option<(EventTime, ProcessingTime)>,
    epochs: &VecDeque<(EventTime, ProcessingTime)>,
) -> (DelayStatistics, Option<ProgressMap>) {
    let Some(&(first_event, first_observed)) = epochs.front() else {
        let through = |(event_time, observed)| ProgressMap { event_time, observed, slope: 1.0 };
        return (DelayStatistics::default(), first.map(through));
    };
    let count = epochs.len() as f64;
    let event_ns = |event: EventTime| i128::from(event.as_micros()) * 1_000;
    // Differences of each end of an epoch from the first one, in event time and in processing time.
    let offsets = || {
        epochs.iter().map(|&(event, observed)| {
            let observed_ns = i128::from(observed.as_nanos()) - i128::from(first_observed.as_nanos());
            ((event_ns(event) - event_ns(first_event)) as f64, observed_ns as f64)
        })
    };
    let mean = |sum: f64| sum / count;
    let (event_mean, observed_mean) =
        (mean(offsets().map(|of| of.0).sum()), mean(offsets().map(|of| of.1).sum()));
    let (mut squares, mut products, mut delay_squares) = (0.0, 0.0, 0.0);
    for (event, observed) in offsets() {
        let (event, observed) = (event - event_mean, observed - observed_mean);
        squares += event * event;
        products += event * observed;
        delay_squares += (observed - event) * (observed - event);
    }
    let first_delay_ns = (i128::from(first_observed.as_nanos()) - event_ns(first_event)) as f64;
    let delays = DelayStatistics {
        epochs: epochs.len() as u32,
        mean_ns: first_delay_ns + (observed_mean - event_mean),
        variance_ns2: mean(delay_squares),
    };
    // From a single end of an epoch, or one that came twice, no slope is known: event time and processing
    // time are taken to advance equally.
    let slope = if squares > 0.0 { (products / squares).max(0.0) } else { 1.0 };
    let through = ProgressMap { event_time: first_event, observed: first_observed, slope: 1.0 };
    let moved = |micros: f64| EventTime::from_micros(first_event.as_micros().saturating_add(micros as i64));
    let observed_ns = through.observed.as_nanos().saturating_add_signed(observed_mean as i64);
    let progress = ProgressMap {
        event_time: moved(event_mean / 1e3),
        observed: ProcessingTime::from_nanos(observed_ns),
        slope,
    };
    (delays, Some(progress))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const TODAY_S: i64 = 1_800_000_000;

    fn event(ms: i64) -> EventTime {
        EventTime::from_micros(TODAY_S * 1_000_000 + ms * 1_000)
    }

    fn at(ms: i64) -> ProcessingTime {
        ProcessingTime::from_nanos((TODAY_S * 1_000 + ms) as u64 * 1_000_000)
    }

    /// Makes a source from watermarks and their arrival times, both in ms. Its query has windows that end
    /// every 100 ms.
    fn stream(watermarks: &[(i64, i64)]) -> Stream {
        let mut stream = Stream::new();
        for &(watermark, now) in watermarks {
            let next = event((watermark.div_euclid(100) + 1) * 100);
            stream.advance(event(watermark), Some(next), at(now));
        }
        stream
    }

    fn state(stream: &mut Stream, seen: i64) -> StreamState {
        stream.state(QueryId(0), Some(event(seen)))
    }

    /// The example of Klink, Figure 2, with ms instead of seconds and windows of 100 ms instead of 3 s: a
    /// delay counts from the end of a window to the arrival of the first watermark at or behind it.
    #[test]
    fn delays_count_from_the_deadline_to_the_first_watermark_behind_it() {
        let mut stream = stream(&[(10, 20), (103, 125), (215, 245), (300, 330)]);
        let found = state(&mut stream, 0);
        // The window that ends at 100 ms is reached after 25 ms, the one at 200 after 45 ms, the one at 300
        // after 30 ms. The first watermark ends no window.
        assert_eq!((found.delays.epochs, found.delays.mean_ns.round()), (3, 33_333_333.0));
        let variance_ms2 =
            (25.0f64.powi(2) + 45.0f64.powi(2) + 30.0f64.powi(2)) / 3.0 - (100.0f64 / 3.0).powi(2);
        assert!((found.delays.variance_ns2 / 1e12 - variance_ms2).abs() < 1e-6);
        assert_eq!(found.deadline, Some(event(400)));
    }

    /// A source reports the arrival time of its oldest watermark that ended a window and that not all sinks
    /// have seen.
    #[test]
    fn a_sweeping_watermark_is_on_its_way_until_all_sinks_have_seen_it() {
        let mut stream = stream(&[(10, 20), (103, 125), (215, 245)]);
        assert_eq!(state(&mut stream, 99).swept, Some(at(125)));
        assert_eq!(state(&mut stream, 103).swept, Some(at(245)));
        assert_eq!(state(&mut stream, 215).swept, None);
        // The number of tracked watermarks is bounded: later ones are not tracked, and the tracked ones are
        // kept.
        for number in 3..100 {
            let (watermark, next) = (event(number * 100), event(number * 100 + 100));
            stream.advance(watermark, Some(next), at(number * 100));
        }
        assert_eq!(stream.waiting.len(), WAITING_MAX);
        assert_eq!(state(&mut stream, 300).swept, Some(at(400)));
    }

    #[test]
    fn only_the_last_epochs_count() {
        let many: Vec<(i64, i64)> = (0..1_000).map(|number| (number * 100, number * 110)).collect();
        let mut stream = stream(&many);
        let delays = state(&mut stream, 0).delays;
        // Each delay is 10 ms longer than the one before, so the mean of the kept delays is that of the
        // delays number 600 to 999.
        assert_eq!((delays.epochs, delays.mean_ns), (400, 7_995e6));
    }

    /// Event time is mapped to the processing time at which it is observed by least squares (Cameo, section
    /// 4.3). A single point gives only a position, and the slope is taken to be 1.
    #[test]
    fn event_time_is_mapped_to_when_it_is_observed() {
        let check = |watermarks: &[(i64, i64)], instant: i64, expected_ms: f64| {
            let map = state(&mut stream(watermarks), 0).progress.expect("there were watermarks");
            let since = i128::from(map.observed_at(event(instant)).as_nanos()) - i128::from(at(0).as_nanos());
            assert!((since as f64 / 1e6 - expected_ms).abs() < 1e-3, "{since} ns of {expected_ms} ms");
        };
        check(&[(0, 20)], 500, 520.0);
        check(&[(0, 20), (100, 120), (200, 220)], 1_000, 1_020.0);
        // The input is replayed at twice its real speed.
        check(&[(0, 20), (100, 70), (200, 120)], 1_000, 520.0);
        // A line through the points (0, 20), (100, 100) and (200, 240) has the slope 1.1 and the mean at
        // (100, 120).
        check(&[(-100, 0), (0, 20), (100, 100), (200, 240)], 300, 340.0);
        // A watermark just before the end of its epoch is not used as a point of the line. Otherwise the
        // slope could become 101.
        check(&[(99, 20), (199, 120)], 300, 320.0);
        check(&[(99, 20), (199, 120), (299, 220)], 300, 320.0);
        assert_eq!(Stream::new().state(QueryId(0), None).progress, None);
    }

    /// A source that was silent for an hour has no delay of an hour when it returns.
    #[test]
    fn silence_counts_for_nothing() {
        let mut stream = stream(&[(10, 20), (103, 125)]);
        stream.fall_away();
        let away = state(&mut stream, 103);
        assert!(away.is_away && away.deadline.is_none());
        stream.advance(event(3_600_050), Some(event(3_600_100)), at(3_600_060));
        stream.advance(event(3_600_110), Some(event(3_600_200)), at(3_600_135));
        let back = state(&mut stream, 3_600_110);
        assert_eq!((back.delays.epochs, back.delays.mean_ns, back.delays.variance_ns2), (2, 30e6, 25e12));
    }

    /// Stamps far from the clock's time, and the first and last instants of time, cause no panic.
    #[test]
    fn hostile_stamps_are_borne() {
        let mut stream = Stream::new();
        for watermark in [i64::MIN + 1, -1, 0, i64::MAX - 1] {
            let watermark = EventTime::from_micros(watermark);
            stream.advance(watermark, Some(EventTime::MAX), ProcessingTime::from_nanos(u64::MAX - 1));
            stream.advance(watermark, None, ProcessingTime::ZERO);
        }
        stream.advance(EventTime::MAX, Some(EventTime::MAX), ProcessingTime::ZERO);
        let found = stream.state(QueryId(3), None);
        assert!(found.delays.mean_ns.is_finite() && found.delays.variance_ns2.is_finite());
        assert!(found.progress.is_some_and(|map| map.slope.is_finite()));
    }
}
