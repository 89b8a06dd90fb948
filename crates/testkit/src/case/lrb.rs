//! Test case for Linear Road in its short form: it runs on given records and is compared with a reference.
//! Also generates traffic for it.

use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use thalweg::source::Given;
use thalweg::{
    EventTime, Generate, Graph, Layout, Query, QueryReport, Record, Span, WatermarkStrategy, Windowed,
};
use thalweg_workloads::lrb::check::{input_of, row_of};
use thalweg_workloads::lrb::{
    Direction, LrbGenerator, LrbOptions, LrbRecord, PositionReport, Segment, SegmentReport, segment_tolls,
};
use thalweg_workloads::reference::compare;
use thalweg_workloads::reference::lrb::{LrbRow, lrb_rows};

use super::{Case, count_difference};
use crate::gather::{AnyGathered, Expects, Gather, Gathered};

/// Test case of Linear Road in its short form: cars, tolls and accidents per segment and minute.
pub struct Lrb {
    records: Vec<Record<LrbRecord>>,
    bound: Span,
    /// Expected results of all records. They are kept, because computing them takes longer than comparing
    /// them.
    whole: Vec<LrbRow>,
    gathered: Gathered<Windowed<Segment, SegmentReport>>,
}

impl Lrb {
    /// Creates a test case of Linear Road from records that are out of order by `bound` at most.
    pub fn new(records: Vec<Record<LrbRecord>>, bound: Span) -> Self {
        let whole = lrb_rows(records.iter().map(input_of)).rows;
        Lrb { records, bound, whole, gathered: Gathered::default() }
    }

    /// Returns the reference's results for all records.
    pub fn expected(&self) -> &[LrbRow] {
        &self.whole
    }
}

impl Case for Lrb {
    fn graph(&mut self, name: &str, layout: Layout) -> Graph {
        let sink = Gather::new(Expects::WindowResults, &Arc::default());
        self.gathered = sink.gathered();
        let query = Query::new(name);
        let strategy = WatermarkStrategy::bounded_out_of_order(self.bound);
        segment_tolls(&query, [Given::new(self.records.clone())], strategy, sink)
            .expect("windows have a size");
        query.plan(layout).expect("the stream ends in a sink")
    }

    fn difference(&self, report: &QueryReport) -> Option<String> {
        let read = &self.records[..report.events_in as usize];
        let of_part = (read.len() < self.records.len()).then(|| lrb_rows(read.iter().map(input_of)).rows);
        let found = self.gathered.each(|record| row_of(&record.value));
        compare(of_part.as_ref().unwrap_or(&self.whole), &found)
            .err()
            .map(|difference| difference.to_string())
            .or_else(|| count_difference("late", 0, report.total(|counts| counts.late)))
    }

    fn sinks(&self) -> Vec<&dyn AnyGathered> {
        vec![&self.gathered]
    }
}

/// Records per second of the generated traffic: the rate of one expressway of the benchmark.
const TRAFFIC_RATE_PER_S: u64 = 1_000;

/// Returns the records of the cars of one generated expressway in the given seconds of event time, in order.
pub fn generated_traffic(seed: u64, seconds: Range<u64>) -> Vec<Record<LrbRecord>> {
    let rate_per_s = NonZeroU64::new(TRAFFIC_RATE_PER_S).expect("the rate of traffic is above zero");
    let generator = LrbGenerator::new(LrbOptions { seed, rate_per_s });
    let record = |index: u64| {
        let at = EventTime::from_micros((index * 1_000_000 / TRAFFIC_RATE_PER_S).cast_signed());
        Record::new(at, generator.value(index, at))
    };
    (seconds.start * TRAFFIC_RATE_PER_S..seconds.end * TRAFFIC_RATE_PER_S).map(record).collect()
}

/// Returns a part of the traffic: the reports from some segments of one direction, and the requests of the
/// cars that are seen there.
pub fn stretch(
    records: &[Record<LrbRecord>],
    direction: Direction,
    segments: RangeInclusive<u8>,
) -> Vec<Record<LrbRecord>> {
    let is_there =
        |report: &PositionReport| report.direction == direction && segments.contains(&report.segment);
    let seen: BTreeSet<u32> = records
        .iter()
        .filter_map(|record| match record.value {
            LrbRecord::Report(report) if is_there(&report) => Some(report.vehicle),
            _ => None,
        })
        .collect();
    let is_of_it = |record: &&Record<LrbRecord>| match record.value {
        LrbRecord::Report(report) => is_there(&report),
        LrbRecord::Balance { vehicle, .. }
        | LrbRecord::Daily { vehicle, .. }
        | LrbRecord::TravelTime { vehicle, .. } => seen.contains(&vehicle),
    };
    records.iter().filter(is_of_it).copied().collect()
}
