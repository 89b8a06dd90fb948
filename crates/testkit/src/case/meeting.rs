//! Test cases for joins of two sources: in windows, within an interval, and as co-groups.

use std::sync::Arc;

use thalweg::{EventTime, Graph, Interval, KeyedStream, Layout, Query, QueryReport, Segment, Span};
use thalweg_model::{Entropy, SeededEntropy};

use super::{Case, count_difference, first_difference, sorted};
use crate::gather::{AnyGathered, Expects, Gather, Gathered};
use crate::hostile::{Reading, Sides, records, sliding};
use crate::oracle::{self, Joined, Keeps, Row};
use crate::script::Script;
use crate::seed::pick;

/// The kind of join that a case tests: in windows, within an interval, or a co-group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    InWindows(Keeps),
    Within(Keeps),
    InGroups,
}

/// Result of a join: the left values and the right values. A pair has one of each, and a co-group has all of
/// its key and window, so that all kinds of joins have one type of result.
pub type Met = (Vec<Reading>, Vec<Reading>);

/// Test case whose query joins the readings of two sources by key.
pub struct Meeting {
    way: Way,
    sides: Sides,
    inputs: Vec<Vec<(i64, Reading)>>,
    pauses: u64,
    gathered: Gathered<Met>,
}

impl Meeting {
    /// Draws a random test case with two [hostile](crate::hostile) streams of about `count` records in all.
    pub fn draw(count: usize, entropy: &mut dyn Entropy) -> Self {
        let keeps = pick(entropy, &Keeps::KINDS);
        let way = pick(entropy, &[Way::InWindows(keeps), Way::Within(keeps), Way::InGroups]);
        let sides = Sides::draw(2, entropy);
        let inputs = sides.readings(count, entropy);
        Meeting { way, sides, inputs, pauses: entropy.next_u64(), gathered: Gathered::default() }
    }

    /// Returns this case with the left and the right stream exchanged.
    pub fn mirrored(&self) -> Self {
        let other = |keeps: Keeps| Keeps { left: keeps.right, right: keeps.left };
        let way = match self.way {
            Way::InWindows(keeps) => Way::InWindows(other(keeps)),
            Way::Within(keeps) => Way::Within(other(keeps)),
            Way::InGroups => Way::InGroups,
        };
        let mut sides = self.sides.clone();
        let oracle::Interval { lower_us, upper_us } = sides.interval;
        sides.interval = oracle::Interval { lower_us: -upper_us, upper_us: -lower_us };
        sides.sides.reverse();
        let mut inputs = self.inputs.clone();
        inputs.reverse();
        Meeting { way, sides, inputs, pauses: self.pauses, gathered: Gathered::default() }
    }

    /// Returns the results of the join with their event times, sorted.
    pub fn met(&self) -> Vec<(EventTime, Met)> {
        sorted(&self.gathered.each(|record| (record.event_time, record.value.clone())))
    }

    /// Adds a source to the query, followed by a filter whose count tells how many records the source has
    /// made.
    fn side(
        &self,
        query: &Query,
        side: usize,
    ) -> KeyedStream<u64, Reading, impl Segment<Reading> + use<>, fn(&Reading) -> u64> {
        let pauses = &mut SeededEntropy::new(self.pauses ^ side as u64);
        let source = Script::new(records(&self.inputs[side]), &Arc::default()).with_pauses(pauses);
        let stream = query.source(&format!("source {side}"), source, self.sides.sides[side].strategy());
        stream.filter(is_kept).name(&filter_of(side)).key_by(key_of)
    }

    /// Returns the rows of one stream that pass its filter, for those records that the source has made.
    fn rows_of(&self, side: usize, report: &QueryReport) -> Vec<Row<Reading>> {
        let made = super::read_by(&filter_of(side), report);
        let rows = oracle::source(&self.inputs[side][..made], self.sides.sides[side].promise);
        oracle::filter(&rows, is_kept)
    }

    /// Returns the oracle's results with their stamps, and the number of late records.
    fn expected(&self, report: &QueryReport) -> (Vec<(i128, Met)>, u64) {
        let sides = [0, 1].map(|side| self.rows_of(side, report));
        let (sides, windows) = ((&sides[0][..], &sides[1][..]), self.sides.sides[0].sliding());
        match self.way {
            Way::InWindows(keeps) => {
                let joined = oracle::window_join(sides, windows, key_of, key_of, keeps);
                let stamped = joined.results.into_iter().map(|it| (it.end_us - 1, met(it.value)));
                (stamped.collect(), joined.late)
            }
            Way::Within(keeps) => {
                let joined = oracle::interval_join(sides, self.sides.interval, key_of, key_of, keeps);
                (joined.results.into_iter().map(|it| (it.at_us.into(), met(it.value))).collect(), joined.late)
            }
            Way::InGroups => {
                let grouped = oracle::co_group(sides, windows, key_of, key_of);
                (grouped.results.into_iter().map(|it| (it.end_us - 1, it.value)).collect(), grouped.late)
            }
        }
    }
}

fn filter_of(side: usize) -> String {
    format!("filter {side}")
}

fn is_kept(reading: &Reading) -> bool {
    reading.amount % 5 != 0
}

fn key_of(reading: &Reading) -> u64 {
    reading.key
}

fn met((left, right): Joined<Reading, Reading>) -> Met {
    (left.into_iter().collect(), right.into_iter().collect())
}

fn pair(left: Option<&Reading>, right: Option<&Reading>) -> Met {
    met((left.copied(), right.copied()))
}

/// Adds a join of the given kind, which is inner, left, right or full, to two streams that are matched by
/// key, and a sink for its results. A macro does this, because each kind has a method and a type of its own.
macro_rules! joined {
    ($matched:expr, $keeps:expr, $end:expr) => {
        match $keeps {
            Keeps { left: false, right: false } => {
                $matched.inner(|left, right| pair(Some(left), Some(right))).sink("sink", $end);
            }
            Keeps { left: true, right: false } => {
                $matched.left(|left, right| pair(Some(left), right)).sink("sink", $end);
            }
            Keeps { left: false, right: true } => {
                $matched.right(|left, right| pair(left, Some(right))).sink("sink", $end);
            }
            Keeps { left: true, right: true } => $matched.full(pair).sink("sink", $end),
        }
    };
}

impl Case for Meeting {
    fn graph(&mut self, name: &str, layout: Layout) -> Graph {
        let sink = Gather::new(Expects::Anything, &Arc::default());
        self.gathered = sink.gathered();
        let query = Query::new(name);
        let both = self.side(&query, 0).join(self.side(&query, 1));
        let windows = sliding(self.sides.sides[0].sliding());
        match self.way {
            Way::InWindows(keeps) => joined!(both.sliding(windows), keeps, sink),
            Way::Within(keeps) => {
                let oracle::Interval { lower_us, upper_us } = self.sides.interval;
                let [lower, upper] = [lower_us, upper_us].map(Span::from_micros);
                let interval = Interval::new(lower, upper).expect("an interval begins before it ends");
                joined!(both.within(interval), keeps, sink);
            }
            Way::InGroups => {
                let group =
                    |_, _: &u64, lefts: &[Reading], rights: &[Reading]| Some((sorted(lefts), sorted(rights)));
                both.sliding(windows).co_group(group).sink("sink", sink);
            }
        }
        query.plan(layout).expect("the stream ends in a sink")
    }

    fn difference(&self, report: &QueryReport) -> Option<String> {
        let (expected, late) = self.expected(report);
        let found = self.gathered.each(|record| (record.event_time.as_micros().into(), record.value.clone()));
        first_difference(expected, found)
            .or_else(|| count_difference("late", late, report.total(|counts| counts.late)))
    }

    fn sinks(&self) -> Vec<&dyn AnyGathered> {
        vec![&self.gathered]
    }
}
