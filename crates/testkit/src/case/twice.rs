//! Windows after windows: counts per key, through a map and a filter, and after an edge the number of keys in
//! a longer window.
//!
//! Results of the first windows are never late for the second windows. A window that closes at watermark `w`
//! was open at the previous watermark, so that watermark had not passed the window's last instant.

use std::sync::Arc;

use thalweg::{Count, Graph, Layout, Query, QueryReport, Windowed};
use thalweg_model::Entropy;

use super::readings::window_row;
use super::{Case, count_difference, first_difference};
use crate::gather::{AnyGathered, Expects, Gather, Gathered};
use crate::hostile::{Hostile, Reading, records, tumbling};
use crate::oracle::{self, Promise, Windows};
use crate::script::Script;

/// Approximate ratio of the sizes of the second and the first windows; the borders of the two kinds do not
/// coincide.
const LONGER: i64 = 3;

/// Test case whose query has two window aggregates in a row.
pub struct Twice {
    hostile: Hostile,
    input: Vec<(i64, Reading)>,
    gathered: Gathered<Windowed<u64, u64>>,
}

impl Twice {
    /// Draws a random test case with a [hostile](crate::hostile) stream of `count` records.
    pub fn draw(count: usize, entropy: &mut dyn Entropy) -> Self {
        let hostile = Hostile::draw(entropy);
        let input = hostile.readings(count, entropy);
        Twice { hostile, input, gathered: Gathered::default() }
    }

    fn longer(&self) -> Windows {
        let Windows { size_us, offset_us } = self.hostile.windows;
        Windows { size_us: size_us * LONGER + 1, offset_us: offset_us + 1 }
    }
}

impl Case for Twice {
    fn graph(&mut self, name: &str, layout: Layout) -> Graph {
        let source = Script::new(records(&self.input), &Arc::default());
        let sink = Gather::new(Expects::WindowResults, &Arc::default());
        self.gathered = sink.gathered();
        let query = Query::new(name);
        let counts = query
            .source("source", source, self.hostile.strategy())
            .key_by(|reading: &Reading| reading.key)
            .tumbling(self.hostile.tumbling())
            .aggregate(Count)
            .map(|count| Windowed { key: count.key + 1, ..count })
            .filter(|count: &Windowed<u64, u64>| count.value > 1)
            .boxed();
        counts
            .key_by(|count: &Windowed<u64, u64>| count.key % 4)
            .tumbling(tumbling(self.longer()))
            .aggregate(Count)
            .sink("sink", sink);
        query.plan(layout).expect("the stream ends in a sink")
    }

    fn difference(&self, report: &QueryReport) -> Option<String> {
        let rows = oracle::source(&self.input[..report.events_in as usize], self.hostile.promise);
        let counts =
            oracle::tumbling(&rows, self.hostile.windows, |reading| reading.key, |values| values.len());
        let repeated: Vec<(i64, u64)> = counts
            .results
            .iter()
            .filter(|result| result.value > 1)
            .map(|result| (i64::try_from(result.end_us - 1).expect("stamps fit 64 bits"), result.key + 1))
            .collect();
        // No result of the first windows is late for the second ones, whatever the source promised, so the
        // oracle gets a promise that makes no row late.
        let nothing = Promise { bound_us: i64::MAX, step_us: 1 };
        let rows = oracle::source(&repeated, nothing);
        let expected = oracle::tumbling(&rows, self.longer(), |key| key % 4, |values| values.len() as u64);
        let found = self.gathered.each(|record| window_row(&record.value));
        first_difference(expected.results, found)
            .or_else(|| count_difference("late", counts.late, report.total(|counts| counts.late)))
    }

    fn sinks(&self) -> Vec<&dyn AnyGathered> {
        vec![&self.gathered]
    }
}
