//! A join after a join: the results of a window join, including records without a match, are joined once more
//! with one of the two streams, within an interval.
//!
//! Results of the first join are never late for the second: they are stamped with the last instant of a
//! window that was open at the last watermark.

use std::sync::Arc;

use thalweg::{Graph, Interval, Layout, Query, QueryReport, Span};

use super::two_streams::TwoStreams;
use super::{Case, count_difference, first_difference};
use crate::gather::{AnyGathered, Expects, Gather, Gathered};
use crate::hostile::{Reading, Sides, sliding};
use crate::oracle::{self, Joined, Keeps, Row};

/// Result of the first join, which is a window join.
type Met = Joined<Reading, Reading>;

/// Result of the second join, a left outer join within an interval.
type MetAgain = (Met, Option<Reading>);

/// One in this number of results of the first join reaches the second join, because a hot key makes thousands
/// of pairs.
const GOES_ON_ONE_IN: i64 = 4;

/// Test case whose query has a window join, followed by an interval join.
pub struct JoinedTwice {
    streams: TwoStreams,
    gathered: Gathered<MetAgain>,
}

impl JoinedTwice {
    /// Creates the case from the records of two streams, as stamps in microseconds and values.
    ///
    /// # Panics
    /// If there are not two streams.
    pub fn new(sides: Sides, inputs: Vec<Vec<(i64, Reading)>>) -> Self {
        JoinedTwice { streams: TwoStreams::new(sides, inputs), gathered: Gathered::default() }
    }
}

fn key_of(reading: &Reading) -> u64 {
    reading.key
}

fn key_of_met((left, right): &Met) -> u64 {
    left.or(*right).map_or(0, |reading| reading.key)
}

fn goes_on(met: &Met) -> bool {
    match met {
        (Some(left), Some(right)) => (left.amount + right.amount) % GOES_ON_ONE_IN == 0,
        _ => true,
    }
}

impl Case for JoinedTwice {
    fn graph(&mut self, name: &str, layout: Layout) -> Graph {
        let sink = Gather::new(Expects::Anything, &Arc::default());
        self.gathered = sink.gathered();
        let query = Query::new(name);
        let (left, right) = (self.streams.side(&query, 0), self.streams.side(&query, 1).share());
        let oracle::Interval { lower_us, upper_us } = self.streams.sides.interval;
        let [lower, upper] = [lower_us, upper_us].map(Span::from_micros);
        left.key_by(key_of)
            .join(right.branch().key_by(key_of))
            .sliding(sliding(self.streams.sides.sides[0].sliding()))
            .full(|left, right| (left.copied(), right.copied()))
            .filter(goes_on)
            .key_by(key_of_met)
            .join(right.branch().key_by(key_of))
            .within(Interval::new(lower, upper).expect("an interval begins before it ends"))
            .left(|met, right| (*met, right.copied()))
            .sink("sink", sink);
        query.plan(layout).expect("the stream ends in a sink")
    }

    fn difference(&self, report: &QueryReport) -> Option<String> {
        let [left, right] = [0, 1].map(|side| self.streams.rows_of(side, report));
        let windows = self.streams.sides.sides[0].sliding();
        let all = Keeps { left: true, right: true };
        let met = oracle::window_join((&left, &right), windows, key_of, key_of, all);
        let stamped = met.results.into_iter().filter(|it| goes_on(&it.value)).map(|it| Row {
            at_us: i64::try_from(it.end_us - 1).expect("stamps fit 64 bits"),
            watermark_us: None,
            value: it.value,
        });
        let lefts: Vec<Row<Met>> = stamped.collect();
        let keeps = Keeps { left: true, right: false };
        let again =
            oracle::interval_join((&lefts, &right), self.streams.sides.interval, key_of_met, key_of, keeps);
        let with_met = |it: oracle::Matched<Met, Reading>| {
            let (met, right) = it.value;
            (it.at_us, (met.expect("right values alone are not kept"), right))
        };
        let expected: Vec<(i64, MetAgain)> = again.results.into_iter().map(with_met).collect();
        let found = self.gathered.each(|record| (record.event_time.as_micros(), record.value));
        let late = met.late + again.late;
        first_difference(expected, found)
            .or_else(|| count_difference("late", late, report.total(|counts| counts.late)))
    }

    fn sinks(&self) -> Vec<&dyn AnyGathered> {
        vec![&self.gathered]
    }
}
