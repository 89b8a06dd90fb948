//! Windows and sessions that are co-grouped again. The windows are sliding windows that allow lateness, over
//! two united streams and over a single stream. The sessions are of one stream. All windows and sessions of a
//! key that ended in a longer window form its group.
//!
//! The comparison leaves out only the results that depend on chance. These are the order of rows, and, for
//! windows after the union, the number of updates before the last one of a key and window. That number
//! depends on how far the united watermark lags behind the records. The results fired on time and the last
//! update do not depend on it. For one stream all updates are compared.

use std::collections::BTreeMap;
use std::sync::Arc;

use thalweg::{Firing, Graph, Layout, Query, QueryReport, SessionGap, Span, Windowed};

use super::readings::{Tally, TallyResult, window_row};
use super::two_streams::TwoStreams;
use super::{Case, count_difference, first_difference, sorted, sorted_text};
use crate::gather::{AnyGathered, Expects, Gather, Gathered};
use crate::hostile::{Reading, Sides, sliding, tumbling};
use crate::oracle::{self, Row, Windows};

/// Result of a window or a session: number, sum, least and largest amount of its readings.
type Tallied = Windowed<u64, TallyResult>;

/// The results of windows and of sessions that ended within a longer window.
type Ended<T> = (Vec<T>, Vec<T>);

/// Approximate ratio of the size of the longer windows, which form the groups, to that of the first windows.
const LONGER: i64 = 3;

/// Test case whose query computes windows of two streams and sessions of one stream, and co-groups the
/// results of both.
pub struct Regrouped {
    streams: TwoStreams,
    united: Gathered<Tallied>,
    alone: Gathered<Tallied>,
    grouped: Gathered<Windowed<u64, Ended<Tallied>>>,
}

impl Regrouped {
    /// Creates the case from the records of two streams, as stamps in microseconds and values.
    ///
    /// # Panics
    /// If there are not two streams.
    pub fn new(sides: Sides, inputs: Vec<Vec<(i64, Reading)>>) -> Self {
        let (united, alone, grouped) = Default::default();
        Regrouped { streams: TwoStreams::new(sides, inputs), united, alone, grouped }
    }

    fn longer(&self) -> Windows {
        let Windows { size_us, offset_us } = self.streams.sides.sides[0].windows;
        Windows { size_us: size_us * LONGER + 1, offset_us: offset_us + 1 }
    }

    /// Returns the results of the windows over the united streams: those fired on time, and the last update
    /// of each key and window.
    fn settled(&self) -> (Vec<Tallied>, Vec<Tallied>) {
        let (mut on_time, mut last) = (Vec::new(), BTreeMap::new());
        for result in self.united.each(|record| record.value) {
            match result.firing {
                Firing::OnTime => on_time.push(result),
                Firing::Update => {
                    last.insert((result.window, result.key), result);
                }
            }
        }
        (on_time, last.into_values().collect())
    }
}

fn key_of(reading: &Reading) -> u64 {
    reading.key
}

fn window_rows(results: &[Tallied]) -> Vec<oracle::Result<u64, TallyResult>> {
    sorted(&results.iter().map(window_row).collect::<Vec<_>>())
}

/// Converts results of windows to the rows of a stream, none of which is late.
fn rows_of_results(
    results: &[oracle::Result<u64, TallyResult>],
) -> Vec<Row<oracle::Result<u64, TallyResult>>> {
    let row = |result: &oracle::Result<u64, TallyResult>| Row {
        at_us: i64::try_from(result.end_us - 1).expect("stamps fit 64 bits"),
        watermark_us: None,
        value: result.clone(),
    };
    results.iter().map(row).collect()
}

impl Case for Regrouped {
    fn graph(&mut self, name: &str, layout: Layout) -> Graph {
        let (united_sink, alone_sink) = (
            Gather::new(Expects::Anything, &Arc::default()),
            Gather::new(Expects::Anything, &Arc::default()),
        );
        let group_sink = Gather::new(Expects::keyed_results(layout), &Arc::default());
        (self.united, self.alone) = (united_sink.gathered(), alone_sink.gathered());
        self.grouped = group_sink.gathered();

        let first = &self.streams.sides.sides[0];
        let windows = sliding(first.sliding());
        let allowed = Span::from_micros(first.allowed_us);
        let gap = SessionGap::new(Span::from_micros(first.gap_us)).expect("gaps are above zero");
        let query = Query::new(name);
        let (left, right) = (self.streams.side(&query, 0), self.streams.side(&query, 1).share());
        right
            .branch()
            .key_by(key_of)
            .sliding(windows)
            .allow_lateness(allowed)
            .aggregate(Tally(Arc::default()))
            .sink("windows of one", alone_sink);
        let united = left.union(right.branch());
        let counted =
            united.key_by(key_of).sliding(windows).allow_lateness(allowed).aggregate(Tally(Arc::default()));
        let counted = counted.share();
        counted.branch().sink("windows", united_sink);
        let on_time = counted.branch().filter(|result: &Tallied| result.firing == Firing::OnTime);
        let sessions = right.branch().key_by(key_of).session(gap).aggregate(Tally(Arc::default()));
        on_time
            .key_by(|result: &Tallied| result.key)
            .join(sessions.key_by(|result: &Tallied| result.key))
            .tumbling(tumbling(self.longer()))
            .co_group(|window, key, windows, sessions| {
                Some(Windowed::on_time(window, *key, (sorted(windows), sorted(sessions))))
            })
            .sink("groups", group_sink);
        query.plan(layout).expect("all streams end in a sink")
    }

    fn difference(&self, report: &QueryReport) -> Option<String> {
        let [left, right] = [0, 1].map(|side| self.streams.rows_of(side, report));
        let first = &self.streams.sides.sides[0];
        let alone = oracle::lenient(&right, first.lenient(), key_of, TallyResult::of);
        let sessions = oracle::sessions(&right, first.gap_us, key_of, TallyResult::of);
        let united =
            oracle::lenient(&oracle::union(&[left, right]), first.lenient(), key_of, TallyResult::of);
        let inputs = (&*rows_of_results(&united.on_time), &*rows_of_results(&sessions.results));
        let grouped = oracle::co_group(inputs, self.longer().into(), |it| it.key, |it| it.key);

        let (on_time, last) = self.settled();
        let alone_of = |firing: Firing| {
            let results = self.alone.each(|record| record.value);
            window_rows(&results.into_iter().filter(|it| it.firing == firing).collect::<Vec<_>>())
        };
        let groups = self.grouped.each(|record| {
            let (windows, sessions) = &record.value.value;
            let value: Ended<_> = (window_rows(windows), window_rows(sessions));
            let oracle::Result { start_us, end_us, key, .. } = window_row(&record.value);
            oracle::Result { start_us, end_us, key, value }
        });
        let late = alone.late + sessions.late + united.late + grouped.late;
        first_difference(united.on_time, window_rows(&on_time))
            .or_else(|| first_difference(united.last, window_rows(&last)))
            .or_else(|| first_difference(alone.on_time, alone_of(Firing::OnTime)))
            .or_else(|| first_difference(alone.updates, alone_of(Firing::Update)))
            .or_else(|| first_difference(grouped.results, groups))
            .or_else(|| count_difference("late", late, report.total(|counts| counts.late)))
    }

    fn sinks(&self) -> Vec<&dyn AnyGathered> {
        vec![&self.united, &self.alone, &self.grouped]
    }

    fn rows(&self) -> Vec<String> {
        let (on_time, last) = self.settled();
        let mut rows = sorted_text(&on_time);
        rows.extend(sorted_text(&last));
        rows.extend(sorted_text(&self.alone.each(|record| *record)));
        rows.extend(sorted_text(&self.grouped.each(Clone::clone)));
        rows
    }
}
