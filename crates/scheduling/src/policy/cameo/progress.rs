//! Prediction of the time at which a window of a query can be complete: when all of its streams have reached its end.
//!
//! Source: Cameo (NSDI 2021), section 4.3, PROGRESSMAP, and 4.2.2, "all frontier progresses become available at all sources".
//!
//! ```text
//!   processing time ^            b ___--*      a query waits for the later of its streams; once a round the
//!                   |     ___---   ___--       streams are compared at the next instant at which a window rule
//!                   | *---  ___--- a           fires, so that a rank asks one line only
//!                   +----------|------->  event time
//!                            next
//! ```
//!
//! The lines of live streams are parallel, so the stream that is last at one instant is last at all instants. If
//! lines are not parallel, as those of a replay and of a live stream, a window that ends after `next` may complete
//! later than predicted. The prediction is right again in the round in which `next` is the end of that window.

use thalweg_model::{EventTime, ProcessingTime};

use crate::snapshot::{ProgressMap, QueryId, Snapshot, StreamState};

/// Relation between event time and processing time in the streams of each query, as of the last round of
/// ranking.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// For each query the stream that reaches a given event time last, by [`QueryId`].
    queries: Vec<Last>,
}

/// The stream of a query that reaches a given event time later than the query's other streams.
#[derive(Clone, Copy, Debug)]
struct Last {
    /// The next event time at which a watermark of one of the query's streams makes operators put out results
    /// of windows; `EventTime::MAX` if none is known.
    next: EventTime,
    /// The latest event time among the points by which the streams' progress lines (event time to processing
    /// time) are given.
    known: EventTime,
    /// The processing time at which the query's slowest stream reaches the event time at which streams are
    /// compared, and this stream's progress line (event time to processing time).
    line: Option<(ProcessingTime, ProgressMap)>,
    /// True if some stream of the query has no progress line (event time to processing time) yet.
    has_unknown: bool,
}

const NOBODY: Last = Last { next: EventTime::MAX, known: EventTime::MIN, line: None, has_unknown: false };

impl Progress {
    /// Finds, for each query, the stream that reaches a given event time last.
    pub(super) fn update(&mut self, snapshot: &Snapshot) {
        self.queries.clear();
        self.queries.resize(snapshot.queries.len(), NOBODY);
        for stream in &snapshot.streams {
            let Some(last) = self.last_of(stream) else { continue };
            last.next = last.next.min(stream.next_firing.unwrap_or(EventTime::MAX));
            match stream.progress {
                Some(line) => last.known = last.known.max(line.event_time),
                None => last.has_unknown = true,
            }
        }
        for stream in &snapshot.streams {
            let (Some(last), Some(line)) = (self.last_of(stream), stream.progress) else { continue };
            let there = line.observed_at(last.compared_at());
            if last.line.is_none_or(|(of_another, _)| of_another < there) {
                last.line = Some((there, line));
            }
        }
    }

    /// Returns the entry of the stream's query; `None` if the query does not wait for the stream because the
    /// stream is idle or has ended, or if the query is unknown.
    fn last_of(&mut self, stream: &StreamState) -> Option<&mut Last> {
        if stream.is_away { None } else { self.queries.get_mut(stream.query.0 as usize) }
    }

    /// Returns Cameo's t_F: the processing time at which all streams of `query` reach, or have reached, the
    /// event time `instant`; `None` if it cannot be predicted.
    #[inline]
    pub(super) fn observed_at(&self, query: QueryId, instant: EventTime) -> Option<ProcessingTime> {
        let last = self.queries.get(query.0 as usize).filter(|last| !last.has_unknown)?;
        let (_, line) = last.line?;
        if instant == EventTime::MAX {
            return None;
        }
        Some(line.observed_at(instant)).filter(|observed| *observed < ProcessingTime::NEVER)
    }
}

impl Last {
    /// Returns the event time at which the progress lines of the query's streams are compared.
    fn compared_at(&self) -> EventTime {
        if self.next < EventTime::MAX { self.next } else { self.known }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{DelayStatistics, QueryState};

    /// A stream of a test: the instant in s at which the next window rule fires and, if it has a line, a
    /// point of the line (event time and processing time in s) and the slope.
    type Row = (Option<i64>, Option<(i64, u64, f64)>);

    fn stream(query: u32, (firing_s, line): Row) -> StreamState {
        let line = line.map(|(event_s, observed_s, slope)| ProgressMap {
            event_time: EventTime::from_secs(event_s),
            observed: ProcessingTime::from_nanos(observed_s * 1_000_000_000),
            slope,
        });
        StreamState {
            query: QueryId(query),
            next_firing: firing_s.map(EventTime::from_secs),
            deadline: None,
            swept: None,
            delays: DelayStatistics::default(),
            progress: line,
            is_away: false,
        }
    }

    /// Returns t_F, the time in s at which `frontier` is observed by all streams of query 0. There are two
    /// queries.
    fn frontier_time_s(streams: Vec<StreamState>, frontier: EventTime) -> Option<f64> {
        let queries = vec![Some(QueryState::default()); 2];
        let mut progress = Progress::default();
        // The streams of an earlier round are forgotten and must not count in the next round.
        let before = vec![stream(0, (Some(1), Some((0, 10_000, 1.0))))];
        progress.update(&Snapshot { queries: queries.clone(), streams: before, ..Snapshot::default() });
        progress.update(&Snapshot { queries, streams, ..Snapshot::default() });
        let observed = progress.observed_at(QueryId(0), frontier);
        observed.map(|observed| observed.as_nanos() as f64 / 1e9)
    }

    /// Checks the time at which an event time is observed by all streams, with the streams in either order.
    #[track_caller]
    fn check(rows: &[Row], frontier_s: i64, expected_s: Option<f64>) {
        let frontier = EventTime::from_secs(frontier_s);
        let streams: Vec<_> = rows.iter().map(|row| stream(0, *row)).collect();
        assert_eq!(frontier_time_s(streams.iter().copied().rev().collect(), frontier), expected_s);
        assert_eq!(frontier_time_s(streams, frontier), expected_s);
    }

    /// The example of section 4.3: windows of 10 s are complete at 1, 11 and 21, and events take 2 s. So
    /// their ends are observed at 3, 13 and 23.
    #[test]
    fn the_example_of_the_paper() {
        let live = (Some(11), Some((1, 3, 1.0)));
        for (frontier_s, expected_s) in [(1, 3.0), (11, 13.0), (21, 23.0)] {
            check(&[live], frontier_s, Some(expected_s));
        }
    }

    /// A join waits for the stream that is 5 s late, not for the one that is 2 s late, whichever comes first
    /// in the list.
    #[test]
    fn the_later_of_two_streams_decides() {
        check(&[(Some(11), Some((1, 3, 1.0))), (Some(11), Some((0, 5, 1.0)))], 11, Some(16.0));
        check(&[(Some(21), Some((1, 3, 1.0))), (Some(11), Some((7, 12, 1.0)))], 11, Some(16.0));
    }

    /// The lines of two streams cross at 8 s: before that, the replay, which runs at twice the speed and
    /// began 4 s late, is later. The first rule that fires in any of the streams decides which line is used,
    /// however far the frontier is.
    #[test]
    fn streams_are_compared_where_something_happens_next() {
        let (live, replay) = (Some((0, 0, 1.0)), Some((0, 4, 0.5)));
        check(&[(Some(4), live), (Some(10), replay)], 10, Some(9.0));
        check(&[(Some(10), live), (Some(4), replay)], 10, Some(9.0));
        check(&[(Some(9), live), (Some(10), replay)], 10, Some(10.0));
        // No rule fires in the first stream before its end. If none fires in the other stream either, the
        // latest known point of a line decides.
        for nothing in [None, Some(i64::MAX)] {
            check(&[(nothing, live), (Some(4), replay)], 10, Some(9.0));
            check(&[(nothing, live), (Some(9), replay)], 10, Some(10.0));
            check(&[(nothing, live), (nothing, Some((6, 7, 0.5)))], 10, Some(9.0));
            check(&[(nothing, live), (nothing, Some((20, 14, 0.5)))], 10, Some(10.0));
        }
    }

    /// If a stream has no watermark yet, or if there is no stream, no time is predicted.
    #[test]
    fn what_nobody_can_tell_is_not_told() {
        check(&[(Some(11), Some((1, 3, 1.0))), (Some(11), None)], 11, None);
        check(&[], 11, None);
        // No time is predicted either if only the end of the stream completes the window, or if the time is
        // beyond any clock.
        for slope in [0.0, 1.0] {
            check(&[(Some(11), Some((1, 3, slope)))], i64::MAX, None);
        }
        for slope in [f64::INFINITY, 1e300] {
            check(&[(Some(11), Some((1, 3, slope)))], 11, None);
        }
        check(&[(Some(11), Some((1, 3, f64::NAN)))], 11, Some(3.0));
        assert_eq!(Progress::default().observed_at(QueryId(0), EventTime::EPOCH), None);
    }

    /// Streams that are silent or have ended do not count, nor do streams of another query or of an unknown
    /// one.
    #[test]
    fn only_streams_that_the_query_waits_for_count() {
        let own = stream(0, (Some(11), Some((1, 3, 1.0))));
        let late = (Some(5), Some((0, 900, 1.0)));
        let others = [
            StreamState { is_away: true, ..stream(0, late) },
            StreamState { is_away: true, ..stream(0, (None, None)) },
            stream(1, late),
            stream(1, (None, None)),
            stream(u32::MAX, late),
        ];
        let with_others = others.into_iter().chain([own]).collect();
        assert_eq!(frontier_time_s(with_others, EventTime::from_secs(11)), Some(13.0));
        assert_eq!(frontier_time_s(others[..2].to_vec(), EventTime::from_secs(11)), None);
    }
}
