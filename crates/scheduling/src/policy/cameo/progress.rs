//! When a window of a query can be complete: when progress in event time is there at all of its streams.
//!
//! Source: Cameo (NSDI 2021), section 4.3, PROGRESSMAP, and 4.2.2, "all frontier progresses become available at all sources".
//!
//! ```text
//!   processing time ^            b ___--*      a query waits for the later of its streams; which one that is, is found out
//!                   |     ___---   ___--       once a round, where something happens in it next, so that a rank asks one
//!                   | *---  ___--- a           line only
//!                   +----------|------->  event time
//!                            next
//! ```
//!
//! Lines of streams that come in live are parallel, so that the one that is last there is last everywhere. Where they are not,
//! as of a replay beside a live stream, windows that end further on may wait longer than is said here, until rounds come closer.

use thalweg_model::{EventTime, ProcessingTime};

use crate::snapshot::{ProgressMap, QueryId, Snapshot, StreamState};

/// How event time goes with processing time in each query, as of the last round.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// By [`QueryId`].
    queries: Vec<Last>,
}

/// The last of the streams of a query.
#[derive(Clone, Copy, Debug)]
struct Last {
    /// The first instant at which something happens in one of its streams. `EventTime::MAX` if none is known.
    next: EventTime,
    /// The latest of the instants by which their lines are given.
    known: EventTime,
    /// When the last of them is there, and its line.
    line: Option<(ProcessingTime, ProgressMap)>,
    /// Whether there is a stream of which nothing is known.
    has_unknown: bool,
}

const NOBODY: Last = Last { next: EventTime::MAX, known: EventTime::MIN, line: None, has_unknown: false };

impl Progress {
    /// Finds the last stream of each query.
    pub(super) fn update(&mut self, snapshot: &Snapshot) {
        self.queries.clear();
        self.queries.resize(snapshot.queries.len(), NOBODY);
        for stream in &snapshot.streams {
            let Some(last) = self.last_of(stream) else { continue };
            last.next = last.next.min(stream.deadline.unwrap_or(EventTime::MAX));
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

    /// What is known of the query of a stream that it waits for.
    fn last_of(&mut self, stream: &StreamState) -> Option<&mut Last> {
        if stream.is_away { None } else { self.queries.get_mut(stream.query.0 as usize) }
    }

    /// t_F: when `instant` is, or was, observed by all streams of `query`. None if that cannot be told.
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
    /// Where its streams are compared.
    fn compared_at(&self) -> EventTime {
        if self.next < EventTime::MAX { self.next } else { self.known }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{DelayStatistics, QueryState};

    /// A stream: deadline in s, and a point of its line, event time and processing time in s, with the slope.
    type Row = (Option<i64>, Option<(i64, u64, f64)>);

    fn stream(query: u32, (deadline_s, line): Row) -> StreamState {
        let line = line.map(|(event_s, observed_s, slope)| ProgressMap {
            event_time: EventTime::from_secs(event_s),
            observed: ProcessingTime::from_nanos(observed_s * 1_000_000_000),
            slope,
        });
        StreamState {
            query: QueryId(query),
            deadline: deadline_s.map(EventTime::from_secs),
            swept: None,
            delays: DelayStatistics::default(),
            progress: line,
            is_away: false,
        }
    }

    /// t_F in s of what needs progress so far, in query 0 of two.
    fn frontier_time_s(streams: Vec<StreamState>, frontier: EventTime) -> Option<f64> {
        let queries = vec![Some(QueryState::default()); 2];
        let mut progress = Progress::default();
        // What was known before does not count.
        let before = vec![stream(0, (Some(1), Some((0, 10_000, 1.0))))];
        progress.update(&Snapshot { queries: queries.clone(), streams: before, ..Snapshot::default() });
        progress.update(&Snapshot { queries, streams, ..Snapshot::default() });
        let observed = progress.observed_at(QueryId(0), frontier);
        observed.map(|observed| observed.as_nanos() as f64 / 1e9)
    }

    /// The same in either order of the streams.
    #[track_caller]
    fn check(rows: &[Row], frontier_s: i64, expected_s: Option<f64>) {
        let frontier = EventTime::from_secs(frontier_s);
        let streams: Vec<_> = rows.iter().map(|row| stream(0, *row)).collect();
        assert_eq!(frontier_time_s(streams.iter().copied().rev().collect(), frontier), expected_s);
        assert_eq!(frontier_time_s(streams, frontier), expected_s);
    }

    /// Section 4.3: windows of 10 s complete at 1, 11, 21 and a delay of 2 s: observed at 3, 13, 23.
    #[test]
    fn the_example_of_the_paper() {
        let live = (Some(11), Some((1, 3, 1.0)));
        for (frontier_s, expected_s) in [(1, 3.0), (11, 13.0), (21, 23.0)] {
            check(&[live], frontier_s, Some(expected_s));
        }
    }

    /// A join waits for the stream that is 5 s late, not for the one that is 2 s late, wherever the two stand.
    #[test]
    fn the_later_of_two_streams_decides() {
        check(&[(Some(11), Some((1, 3, 1.0))), (Some(11), Some((0, 5, 1.0)))], 11, Some(16.0));
        check(&[(Some(21), Some((1, 3, 1.0))), (Some(11), Some((7, 12, 1.0)))], 11, Some(16.0));
    }

    /// Lines that cross at 8: up to there the replay at twice the speed is later, which has begun 4 s late. What happens first
    /// in any of the streams decides which one is asked, however far the frontier is.
    #[test]
    fn streams_are_compared_where_something_happens_next() {
        let (live, replay) = (Some((0, 0, 1.0)), Some((0, 4, 0.5)));
        check(&[(Some(4), live), (Some(10), replay)], 10, Some(9.0));
        check(&[(Some(10), live), (Some(4), replay)], 10, Some(9.0));
        check(&[(Some(9), live), (Some(10), replay)], 10, Some(10.0));
        // Nothing happens in the one before its end; nor in the other: then at the latest point that is known of a line.
        for nothing in [None, Some(i64::MAX)] {
            check(&[(nothing, live), (Some(4), replay)], 10, Some(9.0));
            check(&[(nothing, live), (Some(9), replay)], 10, Some(10.0));
            check(&[(nothing, live), (nothing, Some((6, 7, 0.5)))], 10, Some(9.0));
            check(&[(nothing, live), (nothing, Some((20, 14, 0.5)))], 10, Some(10.0));
        }
    }

    /// Without a watermark nobody knows when a stream gets there, nor if there is no stream at all.
    #[test]
    fn what_nobody_can_tell_is_not_told() {
        check(&[(Some(11), Some((1, 3, 1.0))), (Some(11), None)], 11, None);
        check(&[], 11, None);
        // Only the end of the stream; and later than any clock.
        for slope in [0.0, 1.0] {
            check(&[(Some(11), Some((1, 3, slope)))], i64::MAX, None);
        }
        for slope in [f64::INFINITY, 1e300] {
            check(&[(Some(11), Some((1, 3, slope)))], 11, None);
        }
        check(&[(Some(11), Some((1, 3, f64::NAN)))], 11, Some(3.0));
        assert_eq!(Progress::default().observed_at(QueryId(0), EventTime::EPOCH), None);
    }

    /// Nobody waits for who is silent, known or not, nor for the stream of another query, or of one that is not there.
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
