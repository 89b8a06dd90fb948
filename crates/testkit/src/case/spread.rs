//! Readings of several splits, through operators without state, into sliding windows that allow lateness: what several
//! workers may share, all of it.
//!
//! The splits are hostile each in its own way, and to each other: one may be years ahead, one empty, one falls silent.
//! Behind several splits a late record updates its window, and how many updates lead to the last one depends on how far
//! the others are; so what windows have on time and what they have in the end is compared.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use thalweg::{Firing, Graph, Layout, Query, QueryReport, Segment, Span, Stream, Table, Windowed};
use thalweg_model::{Entropy, SeededEntropy};

use super::readings::{Tally, TallyResult, window_row};
use super::{Case, count_difference, first_difference, sorted, sorted_text};
use crate::gather::{AnyGathered, Expects, Gather, Gathered};
use crate::hostile::{Reading, Sides, records, sliding};
use crate::oracle::{self, Lenient, Promise, Row};
use crate::sabotage::{Place, Sabotage};
use crate::script::Script;
use crate::seed::pick;
use crate::splits;

const YEAR_US: i64 = 365 * 24 * 60 * 60 * 1_000_000;

/// How long a split is silent that falls silent, and after how long it is left out: in processing time.
const SILENCE_NS: u64 = 50_000_000;
const IDLE_AFTER: Duration = Duration::from_millis(1);

/// Keys below this one, but for those divisible by three, have a factor.
const FACTOR_KEYS: u64 = 150;

/// How the splits are hostile to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quirk {
    /// One is years ahead.
    FarAhead,
    /// One has no records.
    Empty,
    /// All stamps of one jump ahead by years, now and then.
    Jumps,
    /// One falls silent halfway, for so long that it is left out.
    Silent,
    /// All have pauses and polls that bring nothing.
    Pauses,
}

impl Quirk {
    const ALL: [Quirk; 5] = [Quirk::FarAhead, Quirk::Empty, Quirk::Jumps, Quirk::Silent, Quirk::Pauses];
}

/// What stands between the splits and the windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    /// Nothing.
    Bare,
    /// A filter and a map.
    Straight,
    /// A flat map, which makes none to three of each.
    Flat,
    /// A map in a task of its own, a flat map, a filter.
    Apart,
    /// Two flat maps and a static join between them.
    Joined,
}

/// Windows over several splits.
pub struct Spread {
    quirks: Vec<Quirk>,
    /// The split to which things happen.
    odd: usize,
    shape: Shape,
    windows: Lenient,
    promise: Promise,
    inputs: Vec<Vec<(i64, Reading)>>,
    pauses: u64,
    sabotage: Arc<Sabotage>,
    gathered: Gathered<Windowed<u64, TallyResult>>,
}

impl Spread {
    /// One to four splits with about `count` records in all.
    pub fn draw(count: usize, entropy: &mut dyn Entropy) -> Self {
        let sides = Sides::draw(1 + entropy.below(4) as usize, entropy);
        let mut inputs = sides.readings(count, entropy);
        let mut quirks = Quirk::ALL.to_vec();
        quirks.retain(|_| entropy.below(4) == 0);
        let odd = entropy.below(inputs.len() as u64) as usize;
        for quirk in &quirks {
            match quirk {
                Quirk::FarAhead => {
                    let years = 1 + entropy.below(100) as i64;
                    inputs[odd].iter_mut().for_each(|(at_us, _)| *at_us += years * YEAR_US);
                }
                Quirk::Empty => inputs[odd].clear(),
                Quirk::Jumps => {
                    let mut by_us = 0;
                    for (at_us, _) in &mut inputs[odd] {
                        by_us += if entropy.below(50) == 0 { YEAR_US } else { 0 };
                        *at_us += by_us;
                    }
                }
                Quirk::Silent | Quirk::Pauses => {}
            }
        }
        let first = &sides.sides[0];
        let mut windows = first.lenient();
        if entropy.below(2) == 0 {
            windows.windows = first.windows.into();
        }
        let shape = pick(entropy, &[Shape::Bare, Shape::Straight, Shape::Flat, Shape::Apart, Shape::Joined]);
        Spread {
            quirks,
            odd,
            shape,
            windows,
            promise: first.promise,
            inputs,
            pauses: entropy.next_u64(),
            sabotage: Arc::default(),
            gathered: Gathered::default(),
        }
    }

    /// Three splits with about `count` records in all, which are hostile in every way that leaves something to be seen.
    pub fn at_its_worst(count: usize, entropy: &mut dyn Entropy) -> Self {
        let sides = Sides::at_their_worst(3);
        let inputs = sides.readings(count, entropy);
        Spread {
            quirks: Vec::new(),
            odd: 0,
            shape: Shape::Joined,
            windows: sides.sides[0].lenient(),
            promise: sides.sides[0].promise,
            inputs,
            pauses: 0,
            sabotage: Arc::default(),
            gathered: Gathered::default(),
        }
    }

    /// Breaks its next plan, and all after it, as told; it has not every place in every shape.
    pub fn sabotage(&mut self, sabotage: Sabotage) -> Arc<Sabotage> {
        self.sabotage = Arc::new(sabotage);
        Arc::clone(&self.sabotage)
    }

    /// What this run does.
    pub fn told(&self) -> String {
        let Spread { quirks, odd, shape, windows, promise, .. } = self;
        let lengths: Vec<usize> = self.inputs.iter().map(Vec::len).collect();
        format!("{quirks:?} of split {odd} of {lengths:?}, {shape:?}, {windows:?}, {promise:?}")
    }

    fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }

    fn source(&self, split: usize) -> Script<Reading> {
        let input = &self.inputs[split];
        let is_silent = self.has(Quirk::Silent) && split == self.odd;
        let (before, behind) = input.split_at(if is_silent { input.len() / 2 } else { input.len() });
        let mut source = Script::new(records(before), &self.sabotage);
        if is_silent {
            source = source.then_pause(SILENCE_NS).then_records(records(behind));
        }
        if self.has(Quirk::Pauses) {
            source = source.with_pauses(&mut SeededEntropy::new(self.pauses ^ split as u64));
        }
        source
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

    /// The rows that reach the windows, of what the splits have made.
    fn rows_of(&self, report: &QueryReport) -> Vec<Row<Reading>> {
        let rows = splits::rows(&self.inputs, &report.made, self.promise);
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

    /// What was fired on time, and the last update of each key and window.
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
        let Promise { bound_us, step_us } = self.promise;
        let strategy = thalweg::WatermarkStrategy::bounded_out_of_order(Span::from_micros(bound_us));
        let mut strategy = strategy.with_step(Span::from_micros(step_us));
        if self.has(Quirk::Silent) {
            strategy = strategy.with_idle_after(IDLE_AFTER);
        }
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
        let sources: Vec<_> = (0..self.inputs.len()).map(|split| self.source(split)).collect();
        let readings = query.splits("source", sources, strategy);
        match self.shape {
            Shape::Bare => self.finish(readings),
            Shape::Straight => self.finish(readings.filter(keeps).map(raises)),
            Shape::Flat => self.finish(readings.flat_map(repeated)),
            Shape::Apart => {
                self.finish(readings.map(raises).isolate().flat_map(repeated).filter(keeps));
            }
            Shape::Joined => {
                let joined = readings.flat_map(repeated).join_table(
                    Table::new(factors()).expect("keys are unique"),
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

    /// If a split was left out, what is late depends on when: then nothing but conservation can be told.
    fn difference(&self, report: &QueryReport) -> Option<String> {
        let rows = self.rows_of(report);
        let window = report.operators.iter().find(|operator| operator.operator == "window");
        let read = window.map_or(0, |window| window.counts.read);
        let conserved = count_difference("records at the windows", rows.len() as u64, read);
        if report.idled > 0 {
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
