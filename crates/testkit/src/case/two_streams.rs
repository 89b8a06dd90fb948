//! Two [hostile](crate::hostile) streams as the sources of a query, each followed by a map whose count of
//! records tells how many records its source has made.

use std::sync::Arc;

use thalweg::{Query, QueryReport, Segment, Stream};

use super::read_by;
use crate::hostile::{Reading, Sides, records};
use crate::oracle::{self, Row};
use crate::script::Script;

/// The inputs of two hostile streams.
pub(super) struct TwoStreams {
    pub(super) sides: Sides,
    /// The records of each stream, as event times in microseconds and values.
    inputs: Vec<Vec<(i64, Reading)>>,
}

impl TwoStreams {
    /// Creates the two streams.
    ///
    /// # Panics
    /// If there are not two.
    pub(super) fn new(sides: Sides, inputs: Vec<Vec<(i64, Reading)>>) -> Self {
        assert!(sides.sides.len() == 2 && inputs.len() == 2, "two streams meet");
        TwoStreams { sides, inputs }
    }

    /// Adds the source of one stream to the query, followed by the map that counts its records.
    pub(super) fn side(&self, query: &Query, side: usize) -> Stream<Reading, impl Segment<Reading> + use<>> {
        let source = Script::new(records(&self.inputs[side]), &Arc::default());
        let stream = query.source(&format!("source {side}"), source, self.sides.sides[side].strategy());
        stream.map(|reading| reading).name(&map_of(side))
    }

    /// Returns the rows, for an oracle, of the records that the source of one stream has made.
    pub(super) fn rows_of(&self, side: usize, report: &QueryReport) -> Vec<Row<Reading>> {
        let made = read_by(&map_of(side), report);
        oracle::source(&self.inputs[side][..made], self.sides.sides[side].promise)
    }
}

fn map_of(side: usize) -> String {
    format!("map {side}")
}
