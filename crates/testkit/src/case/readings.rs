//! Test case that sends hostile readings through a filter, a map, a join and windows. A failure can be
//! injected into any of its functions.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thalweg::{Fold, Graph, Layout, Query, QueryReport, Segment, Stream, Table, Windowed};
use thalweg_model::{Entropy, SeededEntropy};

use super::{Case, count_difference, first_difference};
use crate::gather::{AnyGathered, Expects, Gather, Gathered};
use crate::hostile::{Hostile, Reading, records};
use crate::oracle;
use crate::sabotage::{Place, Sabotage};
use crate::script::Script;
use crate::splits::SplitRuns;

/// Bound of the keys that have a row in the table of factors: keys below this bound have one, except those
/// divisible by five.
const FACTOR_KEYS: u64 = 150;

/// Test case whose query computes the count, sum, least and largest amount of each key and window, after a
/// filter, a map and a static join.
pub struct Readings {
    hostile: Hostile,
    input: Vec<(i64, Reading)>,
    runs: SplitRuns,
    pauses: Option<u64>,
    sabotage: Arc<Sabotage>,
    gathered: Gathered<Windowed<u64, TallyResult>>,
}

impl Readings {
    /// Draws a random test case with a [hostile](crate::hostile) stream of `count` records.
    pub fn draw(count: usize, entropy: &mut dyn Entropy) -> Self {
        let hostile = Hostile::draw(entropy);
        let input = hostile.readings(count, entropy);
        let pauses = (entropy.below(2) == 0).then(|| entropy.next_u64());
        let runs = SplitRuns::WHOLE;
        Readings { hostile, input, runs, pauses, sabotage: Arc::default(), gathered: Gathered::default() }
    }

    /// Returns the case with the records of its stream distributed over several splits.
    pub fn over_splits(self, runs: SplitRuns) -> Self {
        Readings { runs, ..self }
    }

    /// Injects a failure into the next plan of this case and all later ones.
    pub fn sabotage(&mut self, sabotage: Sabotage) -> Arc<Sabotage> {
        self.sabotage = Arc::new(sabotage);
        Arc::clone(&self.sabotage)
    }

    /// Returns the hostile stream that the query of this case reads.
    pub fn hostile(&self) -> &Hostile {
        &self.hostile
    }

    fn sources(&self) -> Vec<Script<Reading>> {
        let source = |(input, number): (Vec<(i64, Reading)>, u64)| {
            let source = Script::new(records(&input), &self.sabotage);
            match self.pauses {
                Some(seed) => source.with_pauses(&mut SeededEntropy::new(seed ^ number)),
                None => source,
            }
        };
        self.runs.split(&self.input).into_iter().zip(0..).map(source).collect()
    }

    /// Adds all operators and the sink of the query after its source.
    fn finish<C: Segment<Reading>>(&mut self, readings: Stream<Reading, C>) {
        let sink = Gather::new(Expects::WindowResults, &self.sabotage);
        self.gathered = sink.gathered();
        let visit = |place| {
            let sabotage = Arc::clone(&self.sabotage);
            move || sabotage.visit(place)
        };
        let (in_filter, in_map, in_key) = (visit(Place::Filter), visit(Place::Map), visit(Place::JoinKey));
        let (in_combine, in_window_key) = (visit(Place::Combine), visit(Place::WindowKey));
        readings
            .filter(move |reading| {
                in_filter();
                is_kept(reading)
            })
            .map(move |reading| {
                in_map();
                raised(reading)
            })
            .join_table(
                Table::new(factors()).expect("each key has one factor"),
                move |reading: &Reading| {
                    in_key();
                    reading.key
                },
                move |reading, factor: &i64| {
                    in_combine();
                    scaled(reading, *factor)
                },
            )
            .key_by(move |reading: &Reading| {
                in_window_key();
                reading.key
            })
            .tumbling(self.hostile.tumbling())
            .aggregate(Tally(Arc::clone(&self.sabotage)))
            .sink("sink", sink);
    }
}

fn is_kept(reading: &Reading) -> bool {
    reading.amount % 7 != 0
}

fn raised(reading: Reading) -> Reading {
    Reading { amount: reading.amount * 2 + 1, ..reading }
}

fn factors() -> Vec<(u64, i64)> {
    (0..FACTOR_KEYS).filter(|key| key % 5 != 4).map(|key| (key, key as i64 + 2)).collect()
}

fn scaled(reading: Reading, factor: i64) -> Reading {
    Reading { amount: reading.amount * factor, ..reading }
}

impl Case for Readings {
    fn graph(&mut self, name: &str, layout: Layout) -> Graph {
        let query = Query::new(name);
        self.finish(query.splits("source", self.sources(), self.hostile.strategy()));
        query.plan(layout).expect("the stream ends in a sink")
    }

    fn difference(&self, report: &QueryReport) -> Option<String> {
        let rows = self.runs.rows(&self.input, &report.made, self.hostile.promise);
        let kept = oracle::map(&oracle::filter(&rows, is_kept), |reading| raised(*reading));
        let joined = oracle::join(
            &kept,
            &factors(),
            |reading| reading.key,
            |reading, factor| scaled(*reading, *factor),
        );
        let expected =
            oracle::tumbling(&joined, self.hostile.windows, |reading| reading.key, TallyResult::of);
        let found = self.gathered.each(|record| window_row(&record.value));
        first_difference(expected.results, found)
            .or_else(|| count_difference("late", expected.late, report.total(|counts| counts.late)))
            .or_else(|| {
                let filtered = (rows.len() - joined.len()) as u64;
                count_difference("filtered", filtered, report.total(|counts| counts.filtered))
            })
    }

    fn sinks(&self) -> Vec<&dyn AnyGathered> {
        vec![&self.gathered]
    }
}

/// Converts a window result of the engine to the oracle's type of result.
pub fn window_row<K: Clone, A: Clone>(result: &Windowed<K, A>) -> oracle::Result<K, A> {
    oracle::Result {
        start_us: result.window.start.as_micros().into(),
        end_us: result.window.end.as_micros().into(),
        key: result.key.clone(),
        value: result.value.clone(),
    }
}

/// The result of the aggregate [`Tally`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct TallyResult {
    /// Number of values in the window.
    pub count: u64,
    /// Sum of the amounts in the window.
    pub sum: i64,
    /// Least amount in the window.
    pub least: i64,
    /// Largest amount in the window.
    pub largest: i64,
}

impl TallyResult {
    /// Computes the result that [`Tally`] must have for these readings, without any of its code.
    ///
    /// # Panics
    /// If there are no values.
    pub fn of(values: &[&Reading]) -> Self {
        let amounts: Vec<i64> = values.iter().map(|reading| reading.amount).collect();
        TallyResult {
            count: amounts.len() as u64,
            sum: amounts.iter().sum(),
            least: *amounts.iter().min().expect("no group is empty"),
            largest: *amounts.iter().max().expect("no group is empty"),
        }
    }
}

/// Aggregate that counts and sums amounts, and keeps the least and the largest. It fails where a test injects
/// a failure.
pub struct Tally(pub Arc<Sabotage>);

impl Fold<Reading> for Tally {
    /// Count, sum, least and largest amount of the values so far.
    type Accumulator = (u64, i64, i64, i64);
    type Result = TallyResult;

    fn create(&self) -> Self::Accumulator {
        (0, 0, i64::MAX, i64::MIN)
    }

    fn fold(&self, (count, sum, least, largest): &mut Self::Accumulator, reading: &Reading) {
        self.0.visit(Place::Fold);
        *count += 1;
        *sum += reading.amount;
        *least = reading.amount.min(*least);
        *largest = reading.amount.max(*largest);
    }

    fn merge(&self, accumulator: &mut Self::Accumulator, other: Self::Accumulator) {
        self.0.visit(Place::Merge);
        accumulator.0 += other.0;
        accumulator.1 += other.1;
        accumulator.2 = accumulator.2.min(other.2);
        accumulator.3 = accumulator.3.max(other.3);
    }

    fn finish(&self, (count, sum, least, largest): Self::Accumulator) -> TallyResult {
        self.0.visit(Place::Finish);
        TallyResult { count, sum, least, largest }
    }
}
