//! Test case for streams without state: the output is the input without the records that the filter drops, in
//! exactly that order.

use std::sync::Arc;

use thalweg::{Graph, Layout, Query, QueryReport, Stream};
use thalweg_model::{Entropy, SeededEntropy};

use super::{Case, count_difference, in_order_difference, sorted_text};
use crate::gather::{AnyGathered, Expects, Gather, Gathered};
use crate::hostile::{Hostile, Reading, records};
use crate::oracle;
use crate::script::Script;
use crate::seed::pick;

/// The stateless operators between the source and the sink of a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// No operator between source and sink.
    Bare,
    /// The query has a map, a filter and a map.
    Straight,
    /// The query has two filters, of which the first keeps few records, and a map.
    Filters,
    /// A map and a filter, then an edge between two tasks, which no chaining removes, and a map.
    Boxed,
    /// Two streams in one query, each with a map, a filter and a map as in [`Shape::Straight`].
    TwoStreams,
}

/// Test case whose query sends readings through maps and filters.
pub struct Passing {
    shape: Shape,
    hostile: Hostile,
    input: Vec<(i64, Reading)>,
    pauses: u64,
    gathered: Vec<Gathered<Reading>>,
}

impl Passing {
    /// Draws a random test case with a [hostile](crate::hostile) stream of `count` records.
    pub fn draw(count: usize, entropy: &mut dyn Entropy) -> Self {
        let shapes = [Shape::Bare, Shape::Straight, Shape::Filters, Shape::Boxed, Shape::TwoStreams];
        let shape = pick(entropy, &shapes);
        let hostile = Hostile::draw(entropy);
        let input = hostile.readings(count, entropy);
        Passing { shape, hostile, input, pauses: entropy.next_u64(), gathered: Vec::new() }
    }

    fn source(&self) -> Script<Reading> {
        let source = Script::new(records(&self.input), &Arc::default());
        source.with_pauses(&mut SeededEntropy::new(self.pauses))
    }

    fn sink(&mut self) -> Gather<Reading> {
        let sink = Gather::new(Expects::Anything, &Arc::default());
        self.gathered.push(sink.gathered());
        sink
    }

    /// Adds one stream to the query, from a source to a sink.
    fn stream(&mut self, query: &Query) {
        let [source, end] = ["source", "sink"].map(|kind| format!("{kind} {}", self.gathered.len()));
        let stream = query.source(&source, self.source(), self.hostile.strategy());
        let sink = self.sink();
        match self.shape {
            Shape::Bare => stream.sink(&end, sink),
            Shape::Straight | Shape::TwoStreams => {
                stream.map(tripled).filter(is_kept).map(mirrored).sink(&end, sink);
            }
            Shape::Filters => stream.filter(is_rare).filter(is_kept).map(mirrored).sink(&end, sink),
            Shape::Boxed => {
                let kept: Stream<Reading> = stream.map(tripled).filter(is_kept).boxed();
                kept.map(mirrored).sink(&end, sink);
            }
        }
    }

    /// Computes the expected output for the first `read` records of the input.
    fn expected(&self, read: usize) -> Vec<(i64, Reading)> {
        let rows = oracle::source(&self.input[..read], self.hostile.promise);
        let rows = match self.shape {
            Shape::Bare => rows,
            Shape::Filters => {
                let kept = oracle::filter(&oracle::filter(&rows, is_rare), is_kept);
                oracle::map(&kept, |reading| mirrored(*reading))
            }
            _ => {
                let kept = oracle::filter(&oracle::map(&rows, |reading| tripled(*reading)), is_kept);
                oracle::map(&kept, |reading| mirrored(*reading))
            }
        };
        rows.iter().map(|row| (row.at_us, row.value)).collect()
    }

    /// Returns for each stream the number of records that its source has made.
    fn made(&self, report: &QueryReport) -> Vec<u64> {
        match self.shape {
            // The report has only the sum of both sources. But each source feeds a map of its own, whose
            // count is in the report.
            Shape::TwoStreams => {
                let read = |name| report.operators.iter().find(|operator| operator.operator == name);
                ["map", "map-3"].map(|name| read(name).map_or(0, |operator| operator.counts.read)).to_vec()
            }
            _ => vec![report.events_in],
        }
    }
}

fn tripled(reading: Reading) -> Reading {
    Reading { amount: reading.amount * 3, ..reading }
}

fn is_kept(reading: &Reading) -> bool {
    reading.amount % 2 == 0
}

fn is_rare(reading: &Reading) -> bool {
    reading.amount.rem_euclid(16) < 2
}

fn mirrored(reading: Reading) -> Reading {
    Reading { amount: -reading.amount, ..reading }
}

impl Case for Passing {
    fn graph(&mut self, name: &str, layout: Layout) -> Graph {
        self.gathered.clear();
        let query = Query::new(name);
        self.stream(&query);
        if self.shape == Shape::TwoStreams {
            self.stream(&query);
        }
        query.plan(layout).expect("the stream ends in a sink")
    }

    fn difference(&self, report: &QueryReport) -> Option<String> {
        let made = self.made(report);
        let mut expected_count = 0;
        for (gathered, made) in self.gathered.iter().zip(&made) {
            let expected = self.expected(*made as usize);
            expected_count += expected.len() as u64;
            let found = gathered.each(|record| (record.event_time.as_micros(), record.value));
            if let Some(difference) = in_order_difference(&expected, &found) {
                return Some(difference);
            }
        }
        let filtered = report.total(|counts| counts.filtered);
        count_difference("made", made.iter().sum(), report.events_in)
            .or_else(|| count_difference("results", expected_count, report.results_out))
            .or_else(|| count_difference("filtered", report.events_in - expected_count, filtered))
    }

    fn sinks(&self) -> Vec<&dyn AnyGathered> {
        self.gathered.iter().map(|gathered| gathered as _).collect()
    }

    /// Returns the rows of all sinks sorted together, since the sink of a row may differ between runs.
    fn rows(&self) -> Vec<String> {
        let rows: Vec<_> = self.gathered.iter().flat_map(|gathered| gathered.each(Clone::clone)).collect();
        sorted_text(&rows)
    }
}
