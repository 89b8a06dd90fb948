//! Readings of several splits, through one of three kinds of work: keyed operators, of which each worker has
//! a copy; operators with one task for all splits; or none, straight into a sink. The operators are sessions,
//! a function with timers, distinct keys, joins and sorting.
//!
//! The splits are as hostile as the splits of [`Spread`](super::Spread). Records of different splits mix in
//! random order. So the comparison covers only results that do not depend on this order, and the order that
//! one split or the watermark determines.

use std::sync::Arc;

use thalweg::{
    EventTime, Graph, Interval, KeyedProcess, Layout, ProcessContext, Query, QueryReport, Record, Segment,
    SessionGap, Span, Stream,
};
use thalweg_model::Entropy;

use super::quirky::Quirky;
use super::readings::{Tally, TallyResult, window_row};
use super::{Case, count_difference, first_difference, in_order_difference, read_by, sorted};
use crate::gather::{AnyGathered, Expects, Gather, Gathered};
use crate::hostile::{Reading, Sides, sliding, tumbling};
use crate::oracle::{self, Keeps, Row};
use crate::sabotage::{Place, Sabotage};
use crate::seed::pick;

/// The operation that the query of a case applies to its readings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Work {
    /// `Passed`: readings go to the sink without any operation.
    Passed,
    /// `Sorted`: readings are sorted by event time.
    Sorted,
    /// `Sessions`: readings are grouped into sessions by key.
    Sessions,
    /// A timer raises an alarm for a key after a gap without readings.
    Alarms,
    /// Distinct emits each key once per window. Then keys that share a digit are grouped into sessions.
    Distinct,
    /// Readings with even amounts are joined with readings with odd amounts, in windows.
    Windows,
    /// Readings with even amounts are joined with readings with odd amounts, within an interval.
    Interval,
    /// Readings with even amounts are co-grouped with readings with odd amounts.
    Groups,
}

impl Work {
    const ALL: [Work; 8] = [
        Work::Passed,
        Work::Sorted,
        Work::Sessions,
        Work::Alarms,
        Work::Distinct,
        Work::Windows,
        Work::Interval,
        Work::Groups,
    ];
}

/// A result of any kind of operation as plain values: a stamp in microseconds, a key, and numbers.
type Told = (i128, u64, Vec<i64>);

/// Test case whose query applies an operation that needs order or keys to a source of several splits.
pub struct Exchanged {
    splits: Quirky,
    sides: Sides,
    work: Work,
    /// True if no filter and no map precede the operation in the query.
    is_straight: bool,
    sabotage: Arc<Sabotage>,
    gathered: Gathered<Told>,
}

/// Under `Passed`, the amount of a reading is the number of its split times this constant, plus the reading's
/// position in the split.
const SPLIT: i64 = 1 << 20;

impl Exchanged {
    /// Draws a random test case with one to four splits and about `count` records in all.
    pub fn draw(count: usize, entropy: &mut dyn Entropy) -> Self {
        let sides = Sides::draw(1 + entropy.below(4) as usize, entropy);
        let splits = Quirky::draw(&sides, count, entropy);
        let work = pick(entropy, &Work::ALL);
        Exchanged::new(splits, sides, work, entropy.below(2) == 0)
    }

    /// Creates one case for each kind of work: three splits with about `count` records in all, hostile in every
    /// way that still leaves results to compare.
    pub fn at_their_worst(count: usize, entropy: &mut dyn Entropy) -> Vec<Self> {
        let sides = Sides::at_their_worst(3);
        let mut worst =
            |work| Exchanged::new(Quirky::plain(&sides, count, entropy), sides.clone(), work, true);
        Work::ALL.map(&mut worst).into()
    }

    fn new(mut splits: Quirky, sides: Sides, work: Work, is_straight: bool) -> Self {
        if work == Work::Passed {
            for (split, input) in (0..).zip(&mut splits.inputs) {
                for ((_, reading), place) in input.iter_mut().zip(0..) {
                    reading.amount = split * SPLIT + place;
                }
            }
        }
        Exchanged {
            splits,
            sides,
            work,
            is_straight,
            sabotage: Arc::default(),
            gathered: Gathered::default(),
        }
    }

    /// Injects a failure into the next plan of this case and all later ones. Not every operation runs user
    /// code at every [`Place`].
    pub fn sabotage(&mut self, sabotage: Sabotage) -> Arc<Sabotage> {
        self.sabotage = Arc::new(sabotage);
        Arc::clone(&self.sabotage)
    }

    /// Returns true if the case has one split. The results are then the same, however often the split becomes
    /// idle.
    pub fn has_one_split(&self) -> bool {
        self.splits.is_single()
    }

    /// Describes the splits and the operation of this case, for the message of a failed test.
    pub fn told(&self) -> String {
        let Exchanged { splits, work, is_straight, .. } = self;
        format!("{}, {work:?}, straight: {is_straight}", splits.told())
    }

    /// Adds the operation and the sink to the query, after the source, or after the filter and the map.
    fn finish<C: Segment<Reading>>(&mut self, readings: Stream<Reading, C>, layout: Layout) {
        let first = &self.sides.sides[0];
        let expects = match self.work {
            Work::Sessions => Expects::keyed_results(layout),
            _ => Expects::Anything,
        };
        let sink = Gather::new(expects, &self.sabotage);
        self.gathered = sink.gathered();
        let in_key = Arc::clone(&self.sabotage);
        let key_of = move |reading: &Reading| {
            in_key.visit(Place::WindowKey);
            reading.key
        };
        let gap = SessionGap::new(Span::from_micros(first.gap_us)).expect("gaps are above zero");
        let tally = Tally(Arc::clone(&self.sabotage));
        match self.work {
            Work::Passed => readings.map(|reading| (0, reading.key, vec![reading.amount])).sink("sink", sink),
            Work::Sorted => {
                let sorted = readings.in_order_by(|reading| *reading).name("window");
                sorted.map(|reading| (0, reading.key, vec![reading.amount])).sink("sink", sink);
            }
            Work::Sessions => {
                let sessions = readings.key_by(key_of).session(gap).aggregate(tally).name("window");
                sessions.map(|session| told(&window_row(&session))).sink("sink", sink);
            }
            Work::Alarms => {
                let silence = Silence(Span::from_micros(first.gap_us));
                let alarms = readings.key_by(key_of).process(silence).name("window");
                alarms.map(|(at, key)| (at.as_micros().into(), key, Vec::new())).sink("sink", sink);
            }
            Work::Distinct => {
                let distinct = readings.key_by(key_of).distinct(first.tumbling()).name("window");
                let digits = distinct.map(|it| Reading { key: it.key % 10, amount: it.key as i64 });
                let tally = Tally(Arc::default());
                let sessions = digits.key_by(|reading| reading.key).session(gap).aggregate(tally);
                sessions.name("window-2").map(|it| told(&window_row(&it))).sink("sink", sink);
            }
            Work::Windows | Work::Interval | Work::Groups => {
                let readings = readings.share();
                let even = readings.branch().filter(is_even).key_by(key_of.clone());
                let pair = even.join(readings.branch().filter(|reading| !is_even(reading)).key_by(key_of));
                let met = |left: &Reading, right: &Reading| (0, left.key, vec![left.amount, right.amount]);
                match self.work {
                    Work::Windows => {
                        let windows = sliding(first.sliding());
                        pair.sliding(windows).inner(met).name("window").sink("sink", sink);
                    }
                    Work::Interval => {
                        let oracle::Interval { lower_us, upper_us } = self.sides.interval;
                        let [lower, upper] = [lower_us, upper_us].map(Span::from_micros);
                        let interval =
                            Interval::new(lower, upper).expect("an interval begins before it ends");
                        pair.within(interval).inner(met).name("window").sink("sink", sink);
                    }
                    _ => {
                        let group =
                            |window: thalweg::Window, key: &u64, lefts: &[Reading], rights: &[Reading]| {
                                Some((window.end.as_micros().into(), *key, grouped(lefts, rights)))
                            };
                        let groups = pair.tumbling(tumbling(first.windows)).co_group(group);
                        groups.name("window").sink("sink", sink);
                    }
                }
            }
        }
    }

    /// Computes the results that the oracle expects for these rows, and the number of late rows where it is
    /// known.
    fn expected(&self, rows: &[Row<Reading>]) -> (Vec<Told>, Option<u64>) {
        let first = &self.sides.sides[0];
        let sides = || {
            let odd = oracle::filter(rows, |reading| !is_even(reading));
            (oracle::filter(rows, is_even), odd)
        };
        let pair = |(left, right): oracle::Joined<Reading, Reading>| {
            let both = left.into_iter().chain(right).collect::<Vec<_>>();
            (both[0].key, both.iter().map(|reading| reading.amount).collect())
        };
        match self.work {
            Work::Passed => {
                (rows.iter().map(|row| (0, row.value.key, vec![row.value.amount])).collect(), None)
            }
            Work::Sorted => {
                let late = oracle::late(rows).len() as u64;
                let sorted = oracle::sorted(rows).into_iter();
                (sorted.map(|(_, reading)| (0, reading.key, vec![reading.amount])).collect(), Some(late))
            }
            Work::Sessions => {
                let sessions = oracle::sessions(rows, first.gap_us, |it| it.key, TallyResult::of);
                (sessions.results.iter().map(told).collect(), Some(sessions.late))
            }
            Work::Alarms => {
                let alarms = oracle::alarms(rows, first.gap_us, |reading| reading.key).alarms;
                (alarms.into_iter().map(|alarm| (alarm.at_us, alarm.key, Vec::new())).collect(), None)
            }
            Work::Distinct => {
                let distinct = oracle::distinct(rows, first.windows, |reading| reading.key);
                let digit = |it: &oracle::Result<u64, ()>| Row {
                    at_us: i64::try_from(it.end_us - 1).expect("stamps fit 64 bits"),
                    watermark_us: None,
                    value: Reading { key: it.key % 10, amount: it.key as i64 },
                };
                let digits: Vec<_> = distinct.results.iter().map(digit).collect();
                let sessions = oracle::sessions(&digits, first.gap_us, |it| it.key, TallyResult::of);
                (sessions.results.iter().map(told).collect(), Some(distinct.late))
            }
            Work::Windows => {
                let (left, right) = sides();
                let keeps = Keeps { left: false, right: false };
                let joined =
                    oracle::window_join((&left, &right), first.sliding(), |it| it.key, |it| it.key, keeps);
                let pairs = joined.results.into_iter().map(|it| pair(it.value));
                (pairs.map(|(key, amounts)| (0, key, amounts)).collect(), Some(joined.late))
            }
            Work::Interval => {
                let (left, right) = sides();
                let keeps = Keeps { left: false, right: false };
                let joined = oracle::interval_join(
                    (&left, &right),
                    self.sides.interval,
                    |it| it.key,
                    |it| it.key,
                    keeps,
                );
                let pairs = joined.results.into_iter().map(|it| pair(it.value));
                (pairs.map(|(key, amounts)| (0, key, amounts)).collect(), Some(joined.late))
            }
            Work::Groups => {
                let (left, right) = sides();
                let groups =
                    oracle::co_group((&left, &right), first.windows.into(), |it| it.key, |it| it.key);
                let told = |it: oracle::Result<u64, (Vec<Reading>, Vec<Reading>)>| {
                    (it.end_us, it.key, grouped(&it.value.0, &it.value.1))
                };
                (groups.results.into_iter().map(told).collect(), Some(groups.late))
            }
        }
    }

    /// Compares the order of the results with the expected order, for operations that promise one, and
    /// returns the first difference.
    fn order_difference(&self) -> Option<String> {
        match self.work {
            Work::Passed => {
                let place = |told: &Record<Told>| {
                    let amount = told.value.2[0];
                    if self.is_straight { (amount - 1) / 2 } else { amount }
                };
                let places = self.gathered.each(place);
                let of_split = |split: i64| places.iter().filter(move |&&place| place / SPLIT == split);
                (0..self.splits.inputs.len() as i64).find_map(|split| {
                    let found: Vec<i64> = of_split(split).copied().collect();
                    in_order_difference(&sorted(&found), &found).map(|it| format!("of split {split}: {it}"))
                })
            }
            Work::Sorted => {
                let found = self.gathered.each(|record| record.event_time);
                in_order_difference(&sorted(&found), &found)
            }
            _ => None,
        }
    }
}

fn is_kept(reading: &Reading) -> bool {
    reading.amount % 7 != 0
}

fn raised(reading: Reading) -> Reading {
    Reading { amount: reading.amount * 2 + 1, ..reading }
}

fn is_even(reading: &Reading) -> bool {
    reading.amount.rem_euclid(4) < 2
}

fn told(result: &oracle::Result<u64, TallyResult>) -> Told {
    let TallyResult { count, sum, least, largest } = result.value;
    let start_us = i64::try_from(result.start_us).expect("windows fit 64 bits");
    (result.end_us, result.key, vec![start_us, count as i64, sum, least, largest])
}

fn grouped(lefts: &[Reading], rights: &[Reading]) -> Vec<i64> {
    let amounts = |readings: &[Reading]| sorted(readings).into_iter().map(|reading| reading.amount);
    amounts(lefts).chain([i64::MAX]).chain(amounts(rights)).collect()
}

/// Process function that emits an alarm for each key that has had no reading for this span of time.
struct Silence(Span);

type Context<'a> = ProcessContext<'a, u64, Vec<EventTime>, (EventTime, u64)>;

impl KeyedProcess<u64, Reading> for Silence {
    /// Event times of the readings of a key for which a timer is still set.
    type State = Vec<EventTime>;
    type Out = (EventTime, u64);

    fn on_record(&self, _key: &u64, record: Record<Reading>, context: &mut Context<'_>) {
        if record.event_time >= context.late_by() {
            context.state().push(record.event_time);
            context.set_timer(record.event_time.plus(self.0));
        }
    }

    fn on_timer(&self, key: &u64, at: EventTime, context: &mut Context<'_>) {
        let last = at.minus(self.0);
        let stamps = context.state();
        let is_silent = !stamps.iter().any(|&stamp| last < stamp && stamp < at);
        stamps.retain(|&stamp| last < stamp);
        if stamps.is_empty() {
            context.clear();
        }
        if is_silent {
            context.emit((at, *key));
        }
    }
}

impl Case for Exchanged {
    fn graph(&mut self, name: &str, layout: Layout) -> Graph {
        let query = Query::new(name);
        let readings = query.splits("source", self.splits.sources(&self.sabotage), self.splits.strategy());
        if self.is_straight {
            let (in_filter, in_map) = (Arc::clone(&self.sabotage), Arc::clone(&self.sabotage));
            let kept = readings.filter(move |reading| {
                in_filter.visit(Place::Filter);
                is_kept(reading)
            });
            let raised = kept.map(move |reading| {
                in_map.visit(Place::Map);
                raised(reading)
            });
            self.finish(raised, layout);
        } else {
            self.finish(readings, layout);
        }
        query.plan(layout).expect("all streams end in a sink")
    }

    /// If a split was left out of the watermark as idle, lateness depends on timing. Then only the
    /// conservation of records can be checked.
    fn difference(&self, report: &QueryReport) -> Option<String> {
        let mut rows = self.splits.rows(report);
        if self.is_straight {
            rows = oracle::map(&oracle::filter(&rows, is_kept), |reading| raised(*reading));
        }
        let read = (self.work != Work::Passed).then(|| read_by("window", report));
        let conserved = read.and_then(|read| count_difference("records", rows.len() as u64, read as u64));
        if report.idled > 0 && !self.has_one_split() {
            return conserved;
        }
        let (expected, late) = self.expected(&rows);
        let found = self.gathered.each(|record| record.value.clone());
        let late = || count_difference("late", late?, report.total(|counts| counts.late));
        conserved
            .or_else(|| first_difference(expected, found))
            .or_else(late)
            .or_else(|| self.order_difference())
    }

    fn sinks(&self) -> Vec<&dyn AnyGathered> {
        vec![&self.gathered]
    }
}
