//! Test case with values that own memory: text keys, and a token in each value which shows whether any value
//! was lost or dropped twice.

use std::sync::Arc;

use thalweg::{Count, Graph, Layout, Query, QueryReport, Segment, Stream, Windowed};
use thalweg_model::{Entropy, Record};

use super::readings::window_row;
use super::{Case, first_difference};
use crate::gather::{AnyGathered, Expects, Gather, Gathered};
use crate::hostile::{Hostile, Reading, records};
use crate::oracle;
use crate::sabotage::{Place, Sabotage};
use crate::script::Script;
use crate::splits::SplitRuns;

/// Test case whose query counts parcels per address and window, after a filter and a map.
pub struct Parcels {
    hostile: Hostile,
    input: Vec<(i64, Reading)>,
    runs: SplitRuns,
    sabotage: Arc<Sabotage>,
    gathered: Gathered<Windowed<String, u64>>,
    /// Token of which every parcel in the engine holds a clone. Its reference count tells how many parcels
    /// were not dropped.
    token: Arc<()>,
}

/// A value that owns memory: the text of an address, and a clone of the token.
struct Parcel {
    address: String,
    weight: i64,
    _token: Arc<()>,
}

impl Parcels {
    /// Draws a random test case with a [hostile](crate::hostile) stream of `count` parcels.
    pub fn draw(count: usize, entropy: &mut dyn Entropy) -> Self {
        let hostile = Hostile::draw(entropy);
        let input = hostile.readings(count, entropy);
        Parcels {
            hostile,
            input,
            runs: SplitRuns::WHOLE,
            sabotage: Arc::default(),
            gathered: Gathered::default(),
            token: Arc::default(),
        }
    }

    /// Returns the case with the records of its stream distributed over several splits.
    pub fn over_splits(self, runs: SplitRuns) -> Self {
        Parcels { runs, ..self }
    }

    /// Injects a failure into the next plan of this case and all later ones. The place must be one that the
    /// query has: any place except those of a join.
    pub fn sabotage(&mut self, sabotage: Sabotage) -> Arc<Sabotage> {
        self.sabotage = Arc::new(sabotage);
        Arc::clone(&self.sabotage)
    }

    fn sources(&self) -> Vec<Script<Parcel>> {
        let parcel = |record: Record<Reading>| {
            let Reading { key, amount } = record.value;
            let parcel = Parcel { address: key.to_string(), weight: amount, _token: Arc::clone(&self.token) };
            Record::new(record.event_time, parcel)
        };
        let source = |input: Vec<(i64, Reading)>| Script::new(records(&input).map(parcel), &self.sabotage);
        self.runs.split(&self.input).into_iter().map(source).collect()
    }

    /// Adds all operators and the sink of the query after its source.
    fn finish<C: Segment<Parcel>>(&mut self, parcels: Stream<Parcel, C>) {
        let sink = Gather::new(Expects::WindowResults, &self.sabotage);
        self.gathered = sink.gathered();
        let (in_filter, in_map) = (Arc::clone(&self.sabotage), Arc::clone(&self.sabotage));
        let in_window_key = Arc::clone(&self.sabotage);
        parcels
            .filter(move |parcel: &Parcel| {
                in_filter.visit(Place::Filter);
                is_light(parcel.weight)
            })
            .map(move |parcel| {
                in_map.visit(Place::Map);
                let key = parcel.address.parse().expect("an address is made of a number");
                Parcel { address: address(key), ..parcel }
            })
            .key_by(move |parcel: &Parcel| {
                in_window_key.visit(Place::WindowKey);
                parcel.address.clone()
            })
            .tumbling(self.hostile.tumbling())
            .aggregate(Count)
            .sink("sink", sink);
    }
}

fn address(key: u64) -> String {
    format!("house number {key}, a street whose name is too long to lie in the value itself")
}

fn is_light(weight: i64) -> bool {
    weight % 3 != 0
}

impl Case for Parcels {
    fn graph(&mut self, name: &str, layout: Layout) -> Graph {
        let query = Query::new(name);
        self.finish(query.splits("source", self.sources(), self.hostile.strategy()));
        query.plan(layout).expect("the stream ends in a sink")
    }

    fn difference(&self, report: &QueryReport) -> Option<String> {
        let rows = self.runs.rows(&self.input, &report.made, self.hostile.promise);
        let light = oracle::filter(&rows, |reading| is_light(reading.amount));
        let windows = self.hostile.windows;
        let expected =
            oracle::tumbling(&light, windows, |reading| address(reading.key), |values| values.len() as u64);
        let found = self.gathered.each(|record| window_row(&record.value));
        first_difference(expected.results, found)
    }

    fn sinks(&self) -> Vec<&dyn AnyGathered> {
        vec![&self.gathered]
    }

    fn leaked_count(&self) -> usize {
        Arc::strong_count(&self.token) - 1
    }
}
