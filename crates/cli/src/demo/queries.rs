//! The demo's two queries, from generators at a steady pace, into sinks that remember who leads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use thalweg::{
    Chaining, Clock, Engine, Fault, Generate, ProcessingTime, Query, QueryHandle, Record, Sink,
    TumblingWindows, WatermarkStrategy, Windowed,
};
use thalweg_connectors::{Pace, Paced};
use thalweg_memory::Reservation;
use thalweg_workloads::nyt::{self, Cell, NytGenerator, TripSummary};
use thalweg_workloads::ysb::{self, YsbGenerator, YsbOptions, event};

use crate::{failure, show};

const YSB_RATE_PER_S: u64 = 1_000_000;
const NYT_RATE_PER_S: u64 = 200_000;

/// What the queries do, for people.
pub const DESCRIPTION: &str = "  \
  ysb  views of ads per campaign, in windows of 10 s; 1 M events/s
  nyt  trips and their mean distance per cell of New York, in windows of 2 s;
       200 k trips/s
";

/// What the queries read.
pub struct Generators {
    ysb: Arc<YsbGenerator>,
    nyt: Arc<NytGenerator>,
    /// Counts their caches in the memory budget.
    _caches: Reservation,
}

/// A query that runs.
pub struct Running {
    pub handle: QueryHandle,
    pub leader: Leader,
}

impl Generators {
    /// Makes the events, which takes a moment.
    pub fn new(engine: &Engine) -> Result<Self> {
        let ysb = Arc::new(YsbGenerator::new(YsbOptions::default()));
        let nyt = Arc::new(NytGenerator::new(0));
        let _caches = engine.budget().reserve(ysb.cache_bytes() + nyt.cache_bytes())?;
        Ok(Generators { ysb, nyt, _caches })
    }

    /// Starts both queries; their first records are to be sent now.
    pub fn submit(&self, engine: &Engine, clock: &dyn Clock) -> Result<Vec<Running>> {
        let start = clock.now();
        let ysb = {
            let (query, sink, leader) =
                begin("ysb", |result: &Windowed<u64, u64>| result.value, top_campaign);
            let windows = TumblingWindows::new(event::WINDOW)?;
            let source = paced(&self.ysb, YSB_RATE_PER_S, start)?;
            ysb::query::views_per_campaign(&query, source, WatermarkStrategy::ascending(), windows, sink);
            (query, leader)
        };
        let nyt = {
            let (query, sink, leader) =
                begin("nyt", |result: &Windowed<Cell, TripSummary>| result.value.trips, busiest_cell);
            let windows = TumblingWindows::new(nyt::WINDOW)?;
            let source = paced(&self.nyt, NYT_RATE_PER_S, start)?;
            nyt::query::trips_per_cell(&query, source, WatermarkStrategy::ascending(), windows, sink);
            (query, leader)
        };
        [ysb, nyt].into_iter().map(|(query, leader)| submit(engine, query, leader)).collect()
    }
}

fn begin<K, V>(
    name: &str,
    score: fn(&Windowed<K, V>) -> u64,
    words: fn(&Windowed<K, V>) -> String,
) -> (Query, LeaderSink<K, V>, Leader) {
    let leader = Leader::default();
    (Query::new(name), LeaderSink { leader: leader.clone(), score, words }, leader)
}

fn paced<G: Generate>(generator: &Arc<G>, rate_per_s: u64, start: ProcessingTime) -> Result<Paced<G>> {
    let pace = Pace::Rate { rate_per_s, start };
    Paced::new(Arc::clone(generator), pace).map_err(|error| failure::of_connector(&error))
}

/// Starts a query.
pub fn submit(engine: &Engine, query: Query, leader: Leader) -> Result<Running> {
    let graph = query.plan(Chaining::Default).map_err(|error| failure::of_plan(&error))?;
    Ok(Running { handle: engine.submit(graph).map_err(|error| failure::of_plan(&error))?, leader })
}

fn top_campaign(result: &Windowed<u64, u64>) -> String {
    format!("most views for campaign {}: {}", result.key, show::count(result.value))
}

fn busiest_cell(result: &Windowed<Cell, TripSummary>) -> String {
    let Windowed { key: Cell { x, y }, value: TripSummary { trips, mean_distance_miles }, .. } = result;
    let trips = show::count(*trips);
    format!("most trips in cell ({x}, {y}): {trips}, mean {mean_distance_miles:.2} miles")
}

/// The best result of the latest window, shared between a sink and the screen.
#[derive(Clone, Default)]
pub struct Leader(Arc<Mutex<Option<Best>>>);

struct Best {
    window: thalweg::Window,
    score: u64,
    words: String,
}

impl Leader {
    fn lock(&self) -> MutexGuard<'_, Option<Best>> {
        // Replaced as a whole, so a panic elsewhere cannot have left it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The end of the latest window, as time of day, and who led in it; none before the first window has ended.
    pub fn words(&self) -> Option<(String, String)> {
        let best = self.lock();
        let Best { window, words, .. } = best.as_ref()?;
        let second = window.end.as_micros().div_euclid(1_000_000).rem_euclid(86_400);
        let [hours, minutes, seconds] = [second / 3_600, second / 60 % 60, second % 60];
        Some((format!("{hours:02}:{minutes:02}:{seconds:02} UTC"), words.clone()))
    }
}

/// Drops results, but for the best of the latest window. One lock per result row: rows are few.
struct LeaderSink<K, V> {
    leader: Leader,
    score: fn(&Windowed<K, V>) -> u64,
    words: fn(&Windowed<K, V>) -> String,
}

impl<K, V> Sink<Windowed<K, V>> for LeaderSink<K, V> {
    fn write(&mut self, record: Record<Windowed<K, V>>) -> Result<(), Fault> {
        let (window, score) = (record.value.window, (self.score)(&record.value));
        let mut best = self.leader.lock();
        if best.as_ref().is_none_or(|best| (best.window, best.score) < (window, score)) {
            *best = Some(Best { window, score, words: (self.words)(&record.value) });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg::{EventTime, Window};

    /// Results in the form `second:campaign=count`, of windows of 10 s.
    fn leader_of(results: &str) -> Option<(String, String)> {
        let (_, mut sink, leader) = begin("ysb", |result: &Windowed<u64, u64>| result.value, top_campaign);
        for result in results.split_whitespace() {
            let numbers: Vec<u64> = result.split([':', '=']).map(|number| number.parse().unwrap()).collect();
            let start = EventTime::from_secs(numbers[0] as i64);
            let window = Window { start, end: EventTime::from_secs(numbers[0] as i64 + 10) };
            let value = Windowed { window, key: numbers[1], value: numbers[2] };
            sink.write(Record::new(window.last_instant(), value)).unwrap();
        }
        leader.words()
    }

    fn check(results: &str, until: &str, words: &str) {
        assert_eq!(leader_of(results), Some((until.to_owned(), words.to_owned())));
    }

    #[test]
    fn the_best_of_the_latest_window_leads() {
        assert_eq!(leader_of(""), None);
        check("0:1=5 0:2=9 0:3=7", "00:00:10 UTC", "most views for campaign 2: 9");
        check("0:1=5000 10:2=3 10:3=4", "00:00:20 UTC", "most views for campaign 3: 4");
        check("86390:1=1 172799:7=33512", "00:00:09 UTC", "most views for campaign 7: 33,512");
    }

    #[test]
    fn the_description_tells_the_rates() {
        assert_eq!((YSB_RATE_PER_S, NYT_RATE_PER_S), (1_000_000, 200_000));
        assert_eq!((event::WINDOW.as_micros(), nyt::WINDOW.as_micros()), (10_000_000, 2_000_000));
    }
}
