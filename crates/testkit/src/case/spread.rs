//! Readings of several splits, through operators without state, into sliding windows that allow lateness.
//! Several workers may share all of this work.
//!
//! Each split is hostile in its own way, and the splits are hostile to each other: one may be years ahead,
//! one may be empty, one may become idle. A late record updates its window. With several splits, the number
//! of updates before the last one depends on the progress of the other splits. So only the results on time
//! and the last updates of windows are compared.

use std::collections::BTreeMap;
use std::sync::Arc;

use thalweg::{Firing, Graph, Layout, Query, QueryReport, Segment, Span, Stream, Table, Windowed};
use thalweg_model::Entropy;

use super::quirky::Quirky;
use super::readings::{Tally, TallyResult, window_row};
use super::{Case, count_difference, first_difference, sorted, sorted_text};
use crate::gather::{AnyGathered, Expects, Gather, Gathered};
use crate::hostile::{Reading, Sides, sliding};
use crate::oracle::{self, Lenient, Row};
use crate::sabotage::{Place, Sabotage};
use crate::seed::pick;

/// Bound of the keys that have a row in the table of factors: keys below this bound have one, except those
/// divisible by three.
const FACTOR_KEYS: u64 = 150;

/// The operators between the splits and the windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    /// The query has no operator between the splits and the windows.
    Bare,
    /// The query has a filter and a map in front of its windows.
    Straight,
    /// The query has a flat map in front of its windows, which makes zero to three records of each.
    Flat,
    /// The query has a map in a task of its own, a flat map and a filter in front of its windows.
    Apart,
    /// The query has two flat maps with a static join between them in front of its windows.
    Joined,
}

/// Test case whose query has windows after a source of several splits.
pub struct Spread {
    splits: Quirky,
    shape: Shape,
    windows: Lenient,
    sabotage: Arc<Sabotage>,
    gathered: Gathered<Windowed<u64, TallyResult>>,
}

impl Spread {
    /// Draws a random test case with one to four splits and about `count` records in all.
    pub fn draw(count: usize, entropy: &mut dyn Entropy) -> Self {
        let sides = Sides::draw(1 + entropy.below(4) as usize, entropy);
        let splits = Quirky::draw(&sides, count, entropy);
        let first = &sides.sides[0];
        let mut windows = first.lenient();
        if entropy.below(2) == 0 {
            windows.windows = first.windows.into();
        }
        let shape = pick(entropy, &[Shape::Bare, Shape::Straight, Shape::Flat, Shape::Apart, Shape::Joined]);
        Spread { splits, shape, windows, sabotage: Arc::default(), gathered: Gathered::default() }
    }

    /// Creates a test case with three splits and about `count` records in all, hostile in every way that
    /// still leaves results to compare.
    pub fn at_its_worst(count: usize, entropy: &mut dyn Entropy) -> Self {
        let sides = Sides::at_their_worst(3);
        Spread {
            splits: Quirky::plain(&sides, count, entropy),
            shape: Shape::Joined,
            windows: sides.sides[0].lenient(),
            sabotage: Arc::default(),
            gathered: Gathered::default(),
        }
    }

    /// Injects a failure into the next plan of this case and all later ones. Not every query runs user code
    /// at every [`Place`].
    pub fn sabotage(&mut self, sabotage: Sabotage) -> Arc<Sabotage> {
        self.sabotage = Arc::new(sabotage);
        Arc::clone(&self.sabotage)
    }

    /// Returns true if the case has one split. The results are then the same, however often the split becomes
    /// idle.
    pub fn has_one_split(&self) -> bool {
        self.splits.is_single()
    }

    /// Describes the splits, operators and windows of this case, for the message of a failed test.
    pub fn told(&self) -> String {
        let Spread { splits, shape, windows, .. } = self;
        format!("{}, {shape:?}, {windows:?}", splits.told())
    }

    fn finish<C: Segment<Reading>>(&mut self, readings: Stream<Reading, C>) {
        let is_strict = self.windows.allowed_us == 0;
        let expects = if is_strict { Expects::WindowResults } else { Expects::Anything };
        let sink = Gather::new(expects, &self.sabotage);
        self.gathered = sink.gathered();
        let in_window_key = Arc::clone(&self.sabotage);
        readings
            .key_by(move |reading: &Reading| {
                in_window_key.visit(Place::WindowKey);
                reading.key
            })
            .sliding(sliding(self.windows.windows))
            .allow_lateness(Span::from_micros(self.windows.allowed_us))
            .aggregate(Tally(Arc::clone(&self.sabotage)))
            .sink("sink", sink);
    }

    /// Returns the rows that reach the windows, for those records that the splits have made.
    fn rows_of(&self, report: &QueryReport) -> Vec<Row<Reading>> {
        let rows = self.splits.rows(report);
        match self.shape {
            Shape::Bare => rows,
            Shape::Straight => oracle::map(&oracle::filter(&rows, is_kept), |reading| raised(*reading)),
            Shape::Flat => oracle::flat_map(&rows, |reading| repeated(*reading)),
            Shape::Apart => {
                let raised = oracle::map(&rows, |reading| raised(*reading));
                oracle::filter(&oracle::flat_map(&raised, |reading| repeated(*reading)), is_kept)
            }
            Shape::Joined => {
                let repeated_once = oracle::flat_map(&rows, |reading| repeated(*reading));
                let joined = oracle::join(
                    &repeated_once,
                    &factors(),
                    |reading| reading.key,
                    |reading, factor| scaled(*reading, *factor),
                );
                oracle::flat_map(&joined, |reading| repeated(*reading))
            }
        }
    }

    /// Returns the results of windows: those fired on time, and the last update of each key and window.
    fn settled(&self) -> [Vec<Windowed<u64, TallyResult>>; 2] {
        let (mut on_time, mut last) = (Vec::new(), BTreeMap::new());
        for result in self.gathered.each(|record| record.value) {
            match result.firing {
                Firing::OnTime => on_time.push(result),
                Firing::Update => {
                    last.insert((result.window, result.key), result);
                }
            }
        }
        [on_time, last.into_values().collect()]
    }
}

fn is_kept(reading: &Reading) -> bool {
    reading.amount % 7 != 0
}

fn raised(reading: Reading) -> Reading {
    Reading { amount: reading.amount * 2 + 1, ..reading }
}

fn repeated(reading: Reading) -> Vec<Reading> {
    let repeat = |number| Reading { amount: reading.amount + number, ..reading };
    (0..reading.amount.rem_euclid(4)).map(repeat).collect()
}

fn factors() -> Vec<(u64, i64)> {
    (0..FACTOR_KEYS).filter(|key| key % 3 != 2).map(|key| (key, key as i64 + 2)).collect()
}

fn scaled(reading: Reading, factor: i64) -> Reading {
    Reading { amount: reading.amount * factor, ..reading }
}

impl Case for Spread {
    fn graph(&mut self, name: &str, layout: Layout) -> Graph {
        let visit = |place| {
            let sabotage = Arc::clone(&self.sabotage);
            move || sabotage.visit(place)
        };
        let (in_filter, in_map) = (visit(Place::Filter), visit(Place::Map));
        let (in_key, in_combine) = (visit(Place::JoinKey), visit(Place::Combine));
        let keeps = move |reading: &Reading| {
            in_filter();
            is_kept(reading)
        };
        let raises = move |reading| {
            in_map();
            raised(reading)
        };
        let query = Query::new(name);
        let readings = query.splits("source", self.splits.sources(&self.sabotage), self.splits.strategy());
        match self.shape {
            Shape::Bare => self.finish(readings),
            Shape::Straight => self.finish(readings.filter(keeps).map(raises)),
            Shape::Flat => self.finish(readings.flat_map(repeated)),
            Shape::Apart => {
                self.finish(readings.map(raises).isolate().flat_map(repeated).filter(keeps));
            }
            Shape::Joined => {
                let joined = readings.flat_map(repeated).join_table(
                    Table::new(factors()).expect("each key has one factor"),
                    move |reading: &Reading| {
                        in_key();
                        reading.key
                    },
                    move |reading, factor: &i64| {
                        in_combine();
                        scaled(reading, *factor)
                    },
                );
                self.finish(joined.flat_map(repeated));
            }
        }
        query.plan(layout).expect("the stream ends in a sink")
    }

    /// If one of several splits was left out of the watermark as idle, lateness depends on timing. Then only
    /// the conservation of records can be checked.
    fn difference(&self, report: &QueryReport) -> Option<String> {
        let rows = self.rows_of(report);
        let window = report.operators.iter().find(|operator| operator.operator == "window");
        let read = window.map_or(0, |window| window.counts.read);
        let conserved = count_difference("records at the windows", rows.len() as u64, read);
        if report.idled > 0 && !self.has_one_split() {
            return conserved;
        }
        let expected = oracle::lenient(&rows, self.windows, |reading| reading.key, TallyResult::of);
        let [on_time, last] =
            self.settled().map(|results| sorted(&results.iter().map(window_row).collect::<Vec<_>>()));
        conserved
            .or_else(|| first_difference(expected.on_time, on_time))
            .or_else(|| first_difference(expected.last, last).map(|it| format!("of last updates: {it}")))
            .or_else(|| count_difference("late", expected.late, report.total(|counts| counts.late)))
    }

    fn sinks(&self) -> Vec<&dyn AnyGathered> {
        vec![&self.gathered]
    }

    fn rows(&self) -> Vec<String> {
        self.settled().iter().flat_map(|results| sorted_text(results)).collect()
    }
}
