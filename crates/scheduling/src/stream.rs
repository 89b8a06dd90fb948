//! The view that policies have of one source: its progress, and the arrival times of the watermarks that make its
//! query emit results (Klink, SIGMOD 2021, sections 2.2 and 3.1, "sweeping watermarks"). Each driver of policies keeps a
//! [`Stream`] for each source and fills the [`StreamState`] of a snapshot from it.
//!
//! The driver tells when a watermark arrived. If it tells when the record that carries the watermark could first have
//! been read, delays are those of the network and of the sender alone. If it tells when the record was read, they grow
//! with every delay of the scheduler, so that a query which was left waiting seems to have more time.
//!
//! An epoch of a source ends at its deadline: the latest of the next window ends of the query's operators
//! with windows (section 3, "the window operators with the latest deadline"). It is chosen when the epoch
//! begins, and stands until a watermark has reached it. That watermark is the sweeping one. In a query with
//! windows of 60 s and of 20 s, the epochs are of 60 s. Progress is learned from every instant at which the
//! query emits results, because Cameo needs it, and its windows may be any of the query's.
//!
//! Bounds: the last [`DelayStatistics::EPOCHS`] ends of epochs, as many instants of results, and
//! [`WAITING_MAX`] watermarks whose results have not reached the sinks. Further watermarks are not tracked on
//! their way.

use std::collections::{VecDeque, vec_deque};

use thalweg_model::{EventTime, Horizon, ProcessingTime};

use crate::snapshot::{DelayStatistics, ProgressMap, QueryId, StreamState};

/// Greatest number of sweeping watermarks (which end an epoch of their source) that one source tracks on their way to
/// the sinks.
pub const WAITING_MAX: usize = 64;

/// Progress of one source, or of one split of a source.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The last watermark of the source; `EventTime::MIN` before the first.
    watermark: EventTime,
    /// True if the source is silent or has ended.
    is_away: bool,
    /// The next event time at which the query emits results; `None` before the first watermark, and if any
    /// instant may be such a time.
    next_firing: Option<EventTime>,
    /// The event time at which the present epoch ends; `None` before the first watermark, and if the query
    /// may emit results at any instant.
    deadline: Option<EventTime>,
    /// The first watermark of the source and its arrival time. Nothing else is known before the query emits
    /// its first results.
    first: Option<(EventTime, ProcessingTime)>,
    /// The instants at which the query emitted results. Other watermarks are left out: they may lie anywhere
    /// between two such instants, and a line through such a point may have any slope.
    firings: Reached,
    /// The event times at which the last epochs of this source ended, with the processing times at which its
    /// watermarks reached them.
    epochs: Reached,
    /// The ends of epochs whose sweeping watermarks have not reached all sinks, and the arrivals of these
    /// watermarks.
    waiting: VecDeque<(EventTime, ProcessingTime)>,
}

/// Event times ahead of a watermark of a source at which its query emits results or has a deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ahead {
    /// The next event time at which the query emits results.
    pub firing: EventTime,
    /// The latest of the next window ends of the query's operators with windows.
    pub deadline: EventTime,
}

impl Ahead {
    /// Returns the event times ahead of `watermark` in a query with this horizon.
    pub fn of(horizon: &Horizon, watermark: EventTime) -> Self {
        Ahead { firing: horizon.next_after(watermark), deadline: horizon.latest_end_after(watermark) }
    }
}

/// The last instants of event time of one kind that a source has reached, oldest first: either all instants
/// at which the query emits results, or only the ends of epochs. Each comes with the processing time at which
/// a watermark of the source reached it.
#[derive(Clone, Debug)]
struct Reached {
    instants: VecDeque<(EventTime, ProcessingTime)>,
    /// The statistics that [`figures`](Self::figures) returned last, and the number of instants that it was
    /// asked for; `None` if `instants` or the first watermark of the source has changed since.
    figures: Option<(usize, Figures)>,
}

/// Statistics of instants of event time and of the processing times at which a source reached them: the
/// delays between the two, and the line that predicts the second from the first. The line is `None` if the
/// source has not set a watermark yet.
type Figures = (DelayStatistics, Option<ProgressMap>);

impl Reached {
    fn new() -> Self {
        // The deque gets its full capacity at once, because the data path must not allocate.
        Reached { instants: VecDeque::with_capacity(DelayStatistics::EPOCHS), figures: None }
    }

    fn push(&mut self, instant: EventTime, now: ProcessingTime) {
        if self.instants.len() == DelayStatistics::EPOCHS {
            self.instants.pop_front();
        }
        self.instants.push_back((instant, now));
        self.figures = None;
    }

    /// Returns statistics of the last `count` instants that the source has reached: their delays, and the
    /// line from event time to processing time. `first` is the first watermark of the source and its arrival
    /// time; the line passes through it while no instant has been reached. The result is kept, and returned
    /// again for the same `count` until the next instant is added.
    fn figures(&mut self, count: usize, first: Option<(EventTime, ProcessingTime)>) -> Figures {
        match self.figures {
            Some((of, figures)) if of == count => figures,
            _ => {
                let from = self.instants.len().saturating_sub(count);
                let figures = figures_of(first, &self.instants.range(from..));
                self.figures = Some((count, figures));
                figures
            }
        }
    }
}

impl Default for Stream {
    fn default() -> Self {
        Stream::new()
    }
}

impl Stream {
    /// Creates a source that has not set a watermark.
    pub fn new() -> Self {
        Stream {
            watermark: EventTime::MIN,
            is_away: false,
            next_firing: None,
            deadline: None,
            first: None,
            firings: Reached::new(),
            epochs: Reached::new(),
            waiting: VecDeque::with_capacity(WAITING_MAX),
        }
    }

    /// Records a watermark of the source that arrived at `arrived`. `ahead` has the event times ahead of the
    /// watermark at which the query emits results or has a deadline; `None` if it may emit results at any
    /// instant.
    pub fn advance(&mut self, watermark: EventTime, ahead: Option<Ahead>, arrived: ProcessingTime) {
        (self.watermark, self.is_away) = (watermark, false);
        let fired = self.next_firing.filter(|&instant| instant <= watermark);
        let swept = self.deadline.filter(|&deadline| deadline <= watermark);
        self.next_firing = ahead.map(|ahead| ahead.firing);
        if swept.is_some() || self.deadline.is_none() {
            self.deadline = ahead.map(|ahead| ahead.deadline);
        }
        if watermark == EventTime::MAX {
            return;
        }
        if self.first.is_none() {
            (self.first, self.firings.figures) = (Some((watermark, arrived)), None);
        }
        // If results may be emitted at any instant, each watermark emits some and ends an epoch.
        let anywhere = ahead.is_none().then_some(watermark);
        if let Some(instant) = fired.or(anywhere) {
            self.firings.push(instant, arrived);
        }
        if let Some(instant) = swept.or(anywhere) {
            self.epochs.push(instant, arrived);
        }
        if let Some(instant) = swept
            && self.waiting.len() < WAITING_MAX
        {
            self.waiting.push_back((instant, arrived));
        }
    }

    /// Returns the last watermark of the source; `EventTime::MIN` before the first.
    pub fn watermark(&self) -> EventTime {
        self.watermark
    }

    /// Returns the next event time at which the query emits results; `None` before the first watermark, and if any instant
    /// may be such a time.
    pub fn next_firing(&self) -> Option<EventTime> {
        self.next_firing
    }

    /// Returns true if the source is silent or has ended, so that no operator waits for its watermark.
    pub fn is_away(&self) -> bool {
        self.is_away
    }

    /// Records that the source is silent or has ended. Ends of epochs that it passes when it returns do not
    /// count as delays, because no result waited for the source meanwhile.
    pub fn fall_away(&mut self) {
        (self.is_away, self.next_firing, self.deadline) = (true, None, None);
    }

    /// Returns what policies may know about this source of `query`, when all sinks have seen the watermark
    /// `seen`. Delays are those of the last `delay_epochs` epochs of the source (Klink's: from one deadline
    /// of its windows to the next).
    pub fn state(&mut self, query: QueryId, seen: Option<EventTime>, delay_epochs: usize) -> StreamState {
        while let Some(&(instant, _)) = self.waiting.front()
            && seen.is_some_and(|seen| instant <= seen)
        {
            self.waiting.pop_front();
        }
        let (delays, _) = self.epochs.figures(delay_epochs, self.first);
        let (_, progress) = self.firings.figures(DelayStatistics::EPOCHS, self.first);
        StreamState {
            query,
            next_firing: self.next_firing,
            deadline: self.deadline,
            swept: self.waiting.front().map(|&(_, arrived)| arrived),
            delays,
            progress,
            is_away: self.is_away,
        }
    }
}

/// Computes the mean and variance of delays, and the line by least squares through instants and the times at
/// which each was reached. It takes two passes, because the squares of present-day instants exceed the
/// precision of a double. Before an instant was reached, the line passes through the first watermark, as if
/// event time and processing time advanced equally.
fn figures_of(
    first: Option<(EventTime, ProcessingTime)>,
    instants: &vec_deque::Iter<'_, (EventTime, ProcessingTime)>,
) -> Figures {
    let Some(&(first_event, first_observed)) = instants.clone().next() else {
        let through = |(event_time, observed)| ProgressMap { event_time, observed, slope: 1.0 };
        return (DelayStatistics::default(), first.map(through));
    };
    let count = instants.len() as f64;
    let event_ns = |event: EventTime| i128::from(event.as_micros()) * 1_000;
    // Differences of each instant from the first one, in event time and in processing time.
    let offsets = || {
        instants.clone().map(|&(event, observed)| {
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
        epochs: instants.len() as u32,
        mean_ns: first_delay_ns + (observed_mean - event_mean),
        variance_ns2: mean(delay_squares),
    };
    // From a single instant, or one that came twice, no slope is known: event time and processing time are
    // taken to advance equally.
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

#[cfg(test)]
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
            stream.advance(event(watermark), ahead(watermark, 100), at(now));
        }
        stream
    }

    /// Returns the event times ahead of a watermark at which results are due, if windows end every 100 ms and
    /// the windows with the latest deadline end every `slide_ms` ms.
    fn ahead(watermark: i64, slide_ms: i64) -> Option<Ahead> {
        let next = |slide_ms| event((watermark.div_euclid(slide_ms) + 1) * slide_ms);
        Some(Ahead { firing: next(100), deadline: next(slide_ms) })
    }

    fn state(stream: &mut Stream, seen: i64) -> StreamState {
        stream.state(QueryId(0), Some(event(seen)), DelayStatistics::EPOCHS)
    }

    /// The example of Klink, Figure 2, with ms instead of seconds and windows of 100 ms instead of 3 s: a
    /// delay counts from the end of a window to the arrival of the first watermark at or after this end.
    #[test]
    fn delays_count_from_the_deadline_to_the_first_watermark_behind_it() {
        let mut stream = stream(&[(10, 20), (103, 125), (215, 245), (300, 330)]);
        let found = state(&mut stream, 0);
        // The window that ends at 100 ms is reached 25 ms after its end, the one that ends at 200 ms after 45
        // ms, the one that ends at 300 ms after 30 ms. The first watermark ends no window.
        assert_eq!((found.delays.epochs, found.delays.mean_ns.round()), (3, 33_333_333.0));
        let variance_ms2 =
            (25.0f64.powi(2) + 45.0f64.powi(2) + 30.0f64.powi(2)) / 3.0 - (100.0f64 / 3.0).powi(2);
        assert!((found.delays.variance_ns2 / 1e12 - variance_ms2).abs() < 1e-6);
        assert_eq!(found.deadline, Some(event(400)));
    }

    /// A watermark that passes the ends of several windows counts once, as one epoch, with its delay since the
    /// first of these ends.
    #[test]
    fn a_watermark_behind_several_ends_counts_once() {
        let mut stream = stream(&[(10, 20), (320, 350)]);
        let found = state(&mut stream, 0);
        assert_eq!((found.delays.epochs, found.delays.mean_ns), (1, 250_000_000.0));
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
            stream.advance(event(number * 100), ahead(number * 100, 100), at(number * 100));
        }
        assert_eq!(stream.waiting.len(), WAITING_MAX);
        assert_eq!(state(&mut stream, 300).swept, Some(at(400)));
    }

    /// Klink, section 3: the operators with the latest deadline delimit epochs. Windows of 100 ms do not
    /// sweep where others end every 300 ms, and progress is learned from both.
    #[test]
    fn the_latest_deadline_ends_an_epoch() {
        let watermarks = [(10, 20), (103, 125), (215, 245), (300, 330), (420, 450), (710, 760)];
        let (mut long, mut short) = (Stream::new(), stream(&watermarks));
        let mut found = Vec::new();
        for (watermark, now) in watermarks {
            long.advance(event(watermark), ahead(watermark, 300), at(now));
            let StreamState { next_firing, deadline, swept, delays, .. } = state(&mut long, 0);
            found.push((next_firing, deadline, swept, delays.epochs));
        }
        let expected = [
            (100, 300, None, 0),
            (200, 300, None, 0),
            (300, 300, None, 0),
            (400, 600, Some(at(330)), 1),
            (500, 600, Some(at(330)), 1),
            (800, 900, Some(at(330)), 2),
        ];
        let shown = |(next, deadline, swept, epochs): (i64, i64, Option<ProcessingTime>, u32)| {
            (Some(event(next)), Some(event(deadline)), swept, epochs)
        };
        assert_eq!(found, expected.map(shown));
        // The delays are 30 ms for the windows that end at 300 ms, and 160 ms for those that end at 600 ms.
        assert_eq!(state(&mut long, 0).delays.mean_ns, 95e6);
        assert_eq!(state(&mut long, 300).swept, Some(at(760)));
        assert_eq!(state(&mut long, 0).progress, state(&mut short, 0).progress);
    }

    /// A deadline stands until a watermark has reached it, even if another operator has a later one by then.
    /// Otherwise an end between two others would be passed over and the epoch would have no end.
    #[test]
    fn a_deadline_stands_until_it_is_reached() {
        let mut stream = Stream::new();
        let mut deadline = |watermark, firing, deadline| {
            let ahead = Ahead { firing: event(firing), deadline: event(deadline) };
            stream.advance(event(watermark), Some(ahead), at(watermark));
            state(&mut stream, 0).deadline
        };
        assert_eq!(deadline(50, 60, 60), Some(event(60)));
        assert_eq!(deadline(58, 60, 65), Some(event(60)));
        assert_eq!(deadline(61, 65, 120), Some(event(120)));
    }

    #[test]
    fn only_the_last_epochs_count() {
        let many: Vec<(i64, i64)> = (0..1_000).map(|number| (number * 100, number * 110)).collect();
        let mut stream = stream(&many);
        let delays = state(&mut stream, 0).delays;
        // Each delay is 10 ms longer than the one before, so the mean of the kept delays is that of the
        // delays number 600 to 999.
        assert_eq!((delays.epochs, delays.mean_ns), (400, 7_995e6));
        // A policy may ask for fewer delays, here for 10. The delays number 990 to 999 have a mean of 9,945
        // ms.
        let few = stream.state(QueryId(0), Some(event(0)), 10);
        assert_eq!((few.delays.epochs, few.delays.mean_ns), (10, 9_945e6));
        assert_eq!(few.progress, state(&mut stream, 0).progress);
        assert_eq!(state(&mut stream, 0).delays, delays);
    }

    /// A line by least squares maps an event time to the processing time at which a watermark of the source
    /// reaches it (Cameo, section 4.3). A single point gives only the position of the line, and its slope is
    /// taken to be 1.
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
        // A line by least squares through the points (0, 20), (100, 100) and (200, 240) in ms has the slope
        // 1.1 and passes through the mean (100, 120).
        check(&[(-100, 0), (0, 20), (100, 100), (200, 240)], 300, 340.0);
        // A watermark just before the end of its epoch is not used as a point of the line. Otherwise the
        // slope could become 101.
        check(&[(99, 20), (199, 120)], 300, 320.0);
        check(&[(99, 20), (199, 120), (299, 220)], 300, 320.0);
        assert_eq!(Stream::new().state(QueryId(0), None, 400).progress, None);
    }

    /// A source that was silent for an hour has no delay of an hour when it returns.
    #[test]
    fn silence_counts_for_nothing() {
        let mut stream = stream(&[(10, 20), (103, 125)]);
        stream.fall_away();
        let away = state(&mut stream, 103);
        assert!(away.is_away && away.deadline.is_none() && away.next_firing.is_none());
        stream.advance(event(3_600_050), ahead(3_600_050, 100), at(3_600_060));
        stream.advance(event(3_600_110), ahead(3_600_110, 100), at(3_600_135));
        let back = state(&mut stream, 3_600_110);
        assert_eq!((back.delays.epochs, back.delays.mean_ns, back.delays.variance_ns2), (2, 30e6, 25e12));
    }

    /// Stamps far from the clock's time, and the first and last instants of time, cause no panic.
    #[test]
    fn hostile_stamps_are_borne() {
        let mut stream = Stream::new();
        let never = Ahead { firing: EventTime::MAX, deadline: EventTime::MAX };
        for watermark in [i64::MIN + 1, -1, 0, i64::MAX - 1] {
            let watermark = EventTime::from_micros(watermark);
            stream.advance(watermark, Some(never), ProcessingTime::from_nanos(u64::MAX - 1));
            stream.advance(watermark, None, ProcessingTime::ZERO);
        }
        stream.advance(EventTime::MAX, Some(never), ProcessingTime::ZERO);
        let found = stream.state(QueryId(3), None, 400);
        assert!(found.delays.mean_ns.is_finite() && found.delays.variance_ns2.is_finite());
        assert!(found.progress.is_some_and(|map| map.slope.is_finite()));
    }
}
