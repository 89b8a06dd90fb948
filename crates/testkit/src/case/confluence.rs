//! Windows over united streams. Lateness is judged by each stream's own watermark. So results and late counts
//! equal those of the single streams, in any interleaving by the engine.

use std::sync::Arc;

use thalweg::{Graph, Layout, Query, QueryReport, Segment, Stream, Windowed};
use thalweg_model::{Entropy, SeededEntropy};

use super::readings::{Tally, TallyResult, window_row};
use super::{Case, count_difference, first_difference};
use crate::gather::{AnyGathered, Expects, Gather, Gathered};
use crate::hostile::{Reading, Sides, records};
use crate::oracle::{self, Row};
use crate::script::Script;
use crate::seed::pick;

/// Origin of the streams that are united.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Confluent {
    /// The streams come from this number of sources.
    Sources(usize),
    /// The streams are two branches of one source.
    Branches,
}

/// Test case whose query computes the count, sum, least and largest amount of each key and window of united
/// streams.
pub struct Confluence {
    confluent: Confluent,
    sides: Sides,
    inputs: Vec<Vec<(i64, Reading)>>,
    pauses: u64,
    gathered: Gathered<Windowed<u64, TallyResult>>,
}

impl Confluence {
    /// Draws a random test case with [hostile](crate::hostile) streams of about `count` records in all.
    pub fn draw(count: usize, entropy: &mut dyn Entropy) -> Self {
        let confluent = pick(entropy, &[Confluent::Sources(2), Confluent::Sources(3), Confluent::Branches]);
        let source_count = match confluent {
            Confluent::Sources(count) => count,
            Confluent::Branches => 1,
        };
        let sides = Sides::draw(source_count, entropy);
        let inputs = sides.readings(count, entropy);
        Confluence { confluent, sides, inputs, pauses: entropy.next_u64(), gathered: Gathered::default() }
    }

    /// Adds a source to the query, followed by a filter whose count tells how many records the source has
    /// made.
    fn side(&self, query: &Query, side: usize) -> Stream<Reading, impl Segment<Reading> + use<>> {
        let pauses = &mut SeededEntropy::new(self.pauses ^ side as u64);
        let source = Script::new(records(&self.inputs[side]), &Arc::default()).with_pauses(pauses);
        let stream = query.source(&format!("source {side}"), source, self.sides.sides[side].strategy());
        stream.filter(is_kept).name(&format!("filter {side}"))
    }

    fn finish<C: Segment<Reading>>(&mut self, united: Stream<Reading, C>) {
        let sink = Gather::new(Expects::WindowResults, &Arc::default());
        self.gathered = sink.gathered();
        united
            .key_by(|reading: &Reading| reading.key)
            .tumbling(self.sides.sides[0].tumbling())
            .aggregate(Tally(Arc::default()))
            .sink("sink", sink);
    }

    /// Returns the rows of the united streams, for those records that the sources have made.
    fn rows_of(&self, report: &QueryReport) -> Vec<Row<Reading>> {
        let of_side = |(side, input): (usize, &Vec<(i64, Reading)>)| {
            let made = super::read_by(&format!("filter {side}"), report);
            let rows = oracle::source(&input[..made], self.sides.sides[side].promise);
            oracle::filter(&rows, is_kept)
        };
        let mut inputs: Vec<Vec<Row<Reading>>> = self.inputs.iter().enumerate().map(of_side).collect();
        if self.confluent == Confluent::Branches {
            inputs.push(oracle::map(&oracle::filter(&inputs[0], is_rare), |reading| raised(*reading)));
        }
        oracle::union(&inputs)
    }
}

fn is_kept(reading: &Reading) -> bool {
    reading.amount % 5 != 0
}

fn is_rare(reading: &Reading) -> bool {
    reading.amount % 4 == 0
}

fn raised(reading: Reading) -> Reading {
    Reading { amount: reading.amount + 1, ..reading }
}

impl Case for Confluence {
    fn graph(&mut self, name: &str, layout: Layout) -> Graph {
        let query = Query::new(name);
        let first = self.side(&query, 0);
        match self.confluent {
            Confluent::Sources(count) => {
                let others: Vec<_> = (1..count).map(|side| self.side(&query, side)).collect();
                self.finish(first.union_all(others));
            }
            Confluent::Branches => {
                let shared = first.share();
                self.finish(shared.branch().union(shared.branch().filter(is_rare).map(raised)));
            }
        }
        query.plan(layout).expect("the stream ends in a sink")
    }

    fn difference(&self, report: &QueryReport) -> Option<String> {
        let rows = self.rows_of(report);
        let windows = self.sides.sides[0].windows;
        let expected = oracle::tumbling(&rows, windows, |reading| reading.key, TallyResult::of);
        let found = self.gathered.each(|record| window_row(&record.value));
        first_difference(expected.results, found)
            .or_else(|| count_difference("late", expected.late, report.total(|counts| counts.late)))
    }

    fn sinks(&self) -> Vec<&dyn AnyGathered> {
        vec![&self.gathered]
    }
}
