//! Test case for Linear Road by its full rules: it runs on given records and is compared with a reference.

use std::sync::Arc;

use thalweg::source::Given;
use thalweg::{EventTime, Graph, Layout, Query, QueryReport, Record, Span, WatermarkStrategy};
use thalweg_workloads::lrb::LrbRecord;
use thalweg_workloads::lrb::csv::{HistoricalToll, columns_of};
use thalweg_workloads::lrb::full::{
    Announcement, Balance, Daily, FullSinks, HistoricalTolls, Notice, full_rules,
};
use thalweg_workloads::reference::lrb_full::{
    LrbBalance, LrbDaily, LrbFullAnswer, LrbNotice, LrbToll, lrb_full,
};
use thalweg_workloads::reference::{Row, compare};

use super::{Case, count_difference};
use crate::gather::{AnyGathered, Expects, Gather, Gathered};

/// Test case of Linear Road by its full rules: tolls, notices, balances and daily expenditures.
pub struct LrbFull {
    records: Vec<Record<LrbRecord>>,
    bound: Span,
    /// Tolls charged on days in the past; if empty, requests for such days are not answered.
    history: Vec<HistoricalToll>,
    /// Expected results of all records. They are kept, because computing them takes longer than comparing
    /// them.
    whole: LrbFullAnswer,
    tolls: Gathered<Announcement>,
    notices: Gathered<Notice>,
    balances: Gathered<Balance>,
    dailies: Gathered<Daily>,
}

impl LrbFull {
    /// Creates a test case of Linear Road from records that are out of order by `bound` at most.
    pub fn new(records: Vec<Record<LrbRecord>>, bound: Span, history: Vec<HistoricalToll>) -> Self {
        let whole = answer(&records, &history);
        LrbFull {
            records,
            bound,
            history,
            whole,
            tolls: Gathered::default(),
            notices: Gathered::default(),
            balances: Gathered::default(),
            dailies: Gathered::default(),
        }
    }

    /// Returns the reference's results for all records.
    pub fn expected(&self) -> &LrbFullAnswer {
        &self.whole
    }

    /// Returns the tolls of past days as the table that the query reads; `None` if there are none.
    fn table(&self) -> Option<HistoricalTolls> {
        let row = |it: &HistoricalToll| ((it.vehicle, it.day, it.xway), it.toll);
        let table = || HistoricalTolls::new(self.history.iter().map(row)).expect("a day has one toll");
        (!self.history.is_empty()).then(table)
    }
}

/// Computes the reference's results for these records and past tolls.
fn answer(records: &[Record<LrbRecord>], history: &[HistoricalToll]) -> LrbFullAnswer {
    let row = |it: &HistoricalToll| [it.vehicle as i32, it.day.into(), it.xway.into(), it.toll as i32];
    let history: Vec<[i32; 4]> = history.iter().map(row).collect();
    lrb_full(records.iter().map(columns_of), &history)
}

/// Compares the records of a sink with the expected rows, both written as rows of the reference, and returns
/// the first difference.
fn difference<T, R: Row>(
    what: &str,
    expected: &[R],
    found: &Gathered<T>,
    row: impl Fn(i32, &T) -> R,
) -> Option<String> {
    let second = |at: EventTime| at.as_micros().div_euclid(1_000_000) as i32;
    let found = found.each(|record| row(second(record.event_time), &record.value));
    compare(expected, &found).err().map(|difference| format!("{what}: {difference}"))
}

fn toll_row(time_s: i32, told: &Announcement) -> LrbToll {
    LrbToll { time_s, vehicle: told.entry.vehicle as i32, lav: told.lav_mph as i64, toll: told.toll as i64 }
}

fn notice_row(time_s: i32, notice: &Notice) -> LrbNotice {
    LrbNotice {
        time_s,
        xway: notice.segment.xway.into(),
        accident_segment: notice.segment.number.into(),
        direction: notice.segment.direction.number().into(),
        vehicle: notice.vehicle as i32,
    }
}

fn balance_row(time_s: i32, answer: &Balance) -> LrbBalance {
    let (query, balance) = (answer.query as i32, answer.balance as i64);
    LrbBalance { time_s, query, balance, before_last_charge: None }
}

fn daily_row(time_s: i32, answer: &Daily) -> LrbDaily {
    LrbDaily { time_s, query: answer.query as i32, toll: answer.toll.into() }
}

impl Case for LrbFull {
    fn graph(&mut self, name: &str, layout: Layout) -> Graph {
        let (tolls, notices) = (gather(), gather());
        let (balances, dailies) = (gather(), gather());
        (self.tolls, self.notices) = (tolls.gathered(), notices.gathered());
        (self.balances, self.dailies) = (balances.gathered(), dailies.gathered());
        let sinks = FullSinks { tolls, notices, balances, dailies };
        let query = Query::new(name);
        let strategy = WatermarkStrategy::bounded_out_of_order(self.bound);
        let source = Given::new(self.records.clone());
        full_rules(&query, [source], strategy, self.table(), sinks).expect("windows have a size");
        query.plan(layout).expect("all streams end in a sink")
    }

    fn difference(&self, report: &QueryReport) -> Option<String> {
        let read = &self.records[..report.events_in as usize];
        let of_part = (read.len() < self.records.len()).then(|| answer(read, &self.history));
        let expected = of_part.as_ref().unwrap_or(&self.whole);
        difference("tolls", &expected.tolls, &self.tolls, toll_row)
            .or_else(|| difference("notices", &expected.notices, &self.notices, notice_row))
            .or_else(|| difference("balances", &expected.balances, &self.balances, balance_row))
            .or_else(|| difference("dailies", &expected.dailies, &self.dailies, daily_row))
            .or_else(|| {
                // Requests without an answer are filtered out by `answerable`. Requests without a row in the
                // table are filtered out by `daily expenditures`.
                let is_without_answer = |name: &str| ["answerable", "daily expenditures"].contains(&name);
                let unanswered = report.operators.iter().filter(|it| is_without_answer(&it.operator));
                let filtered = unanswered.map(|operator| operator.counts.filtered).sum();
                count_difference("unanswered", expected.unanswered, filtered)
            })
            .or_else(|| count_difference("late", 0, report.total(|counts| counts.late)))
    }

    fn sinks(&self) -> Vec<&dyn AnyGathered> {
        vec![&self.tolls, &self.notices, &self.balances, &self.dailies]
    }
}

fn gather<T>() -> Gather<T> {
    Gather::new(Expects::Anything, &Arc::default())
}
