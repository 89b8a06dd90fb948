//! Test case for united streams: every record of every source arrives, and the records of one source arrive
//! in their order.

use std::sync::Arc;

use thalweg::{Graph, Layout, Query, QueryReport, Segment, Stream};
use thalweg_model::{Entropy, SeededEntropy};

use super::{Case, count_difference, in_order_difference};
use crate::gather::{AnyGathered, Expects, Gather, Gathered};
use crate::hostile::{Reading, Sides, records};
use crate::oracle;
use crate::script::Script;

/// Test case whose query tags the readings of two or three sources, unites them and filters them.
pub struct United {
    sides: Sides,
    inputs: Vec<Vec<(i64, Reading)>>,
    pauses: u64,
    gathered: Gathered<(usize, Reading)>,
}

impl United {
    /// Draws a random test case with [hostile](crate::hostile) streams of about `count` records in all.
    pub fn draw(count: usize, entropy: &mut dyn Entropy) -> Self {
        let sides = Sides::draw(2 + entropy.below(2) as usize, entropy);
        let inputs = sides.readings(count, entropy);
        United { sides, inputs, pauses: entropy.next_u64(), gathered: Gathered::default() }
    }

    fn side(
        &self,
        query: &Query,
        side: usize,
    ) -> Stream<(usize, Reading), impl Segment<(usize, Reading)> + use<>> {
        let pauses = &mut SeededEntropy::new(self.pauses ^ side as u64);
        let source = Script::new(records(&self.inputs[side]), &Arc::default()).with_pauses(pauses);
        let stream = query.source(&format!("source {side}"), source, self.sides.sides[side].strategy());
        stream.map(move |reading| (side, reading)).name(&tag(side))
    }
}

/// Returns the name of the map that tags the readings of this source.
fn tag(side: usize) -> String {
    format!("tag {side}")
}

fn is_kept((_, reading): &(usize, Reading)) -> bool {
    reading.amount % 3 != 0
}

impl Case for United {
    fn graph(&mut self, name: &str, layout: Layout) -> Graph {
        let sink = Gather::new(Expects::Anything, &Arc::default());
        self.gathered = sink.gathered();
        let query = Query::new(name);
        let others: Vec<_> = (1..self.inputs.len()).map(|side| self.side(&query, side)).collect();
        self.side(&query, 0).union_all(others).filter(is_kept).sink("sink", sink);
        query.plan(layout).expect("the stream ends in a sink")
    }

    fn difference(&self, report: &QueryReport) -> Option<String> {
        let found = self.gathered.each(|record| (record.event_time.as_micros(), record.value));
        let mut made_in_all = 0;
        let mut expected_in_all = 0;
        for (side, input) in self.inputs.iter().enumerate() {
            let made = super::read_by(&tag(side), report);
            let rows = oracle::source(&input[..made], self.sides.sides[side].promise);
            let kept = oracle::filter(&oracle::map(&rows, |reading| (side, *reading)), is_kept);
            let expected: Vec<(i64, (usize, Reading))> =
                kept.iter().map(|row| (row.at_us, row.value)).collect();
            let of_side: Vec<_> = found.iter().filter(|(_, (of, _))| *of == side).copied().collect();
            if let Some(difference) = in_order_difference(&expected, &of_side) {
                return Some(format!("of source {side}: {difference}"));
            }
            made_in_all += made as u64;
            expected_in_all += expected.len() as u64;
        }
        count_difference("made", made_in_all, report.events_in)
            .or_else(|| count_difference("results", expected_in_all, report.results_out))
    }

    fn sinks(&self) -> Vec<&dyn AnyGathered> {
        vec![&self.gathered]
    }
}
