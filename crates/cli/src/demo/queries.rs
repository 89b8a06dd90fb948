//! The demo's queries: three of each workload, from two generators at steady paces, into sinks that remember
//! the leading result.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use thalweg::{
    Chaining, Clock, Engine, Fault, Generate, ProcessingTime, Query, QueryHandle, Record, Sink, Span,
    TumblingWindows, WatermarkStrategy, Windowed,
};
use thalweg_cli::{failure, show};
use thalweg_connectors::{Pace, Paced};
use thalweg_memory::Reservation;
use thalweg_runtime::Latencies;
use thalweg_workloads::nyt::{self, Cell, NytGenerator, TripSummary};
use thalweg_workloads::ysb::{self, YsbGenerator, YsbOptions};

/// Rate of the records offered to a query of the demo, and the length of the windows in which the query
/// counts them.
struct Load {
    rate_per_s: u64,
    window: Span,
}

/// The loads of the queries of each workload. The first query is the benchmark itself. The last one has so
/// little load that the latency of every record is measured.
const YSB: [Load; 3] = [
    Load { rate_per_s: 1_000_000, window: ysb::event::WINDOW },
    Load { rate_per_s: 100_000, window: Span::from_secs(5) },
    Load { rate_per_s: 1_000, window: Span::from_secs(1) },
];
const NYT: [Load; 3] = [
    Load { rate_per_s: 200_000, window: nyt::WINDOW },
    Load { rate_per_s: 20_000, window: Span::from_secs(5) },
    Load { rate_per_s: 1_000, window: Span::from_secs(1) },
];

/// Number of queries of the demo, of both workloads together.
pub const COUNT: usize = YSB.len() + NYT.len();

/// Describes the queries of the demo to the user.
pub fn description() -> String {
    let windows = |loads: &[Load; 3]| {
        let [first, second, third] = loads.each_ref().map(|load| load.window);
        format!("in windows of {first}, {second} and {third}")
    };
    format!(
        "  ysb  views of ads per campaign, {}\n  nyt  taxi trips per cell of New York, {}\n",
        windows(&YSB),
        windows(&NYT)
    )
}

/// Generators of the input of the demo's queries.
pub struct Generators {
    ysb: Arc<YsbGenerator>,
    nyt: Arc<NytGenerator>,
    /// Reservation of the bytes of the generators' caches in the memory budget, held until it is dropped.
    _caches: Reservation,
}

/// A running query of the demo.
pub struct Running {
    pub handle: QueryHandle,
    pub leader: Leader,
    /// Histogram of the latencies of those results of the query that the demo has read so far.
    pub latencies: Latencies,
}

impl Generators {
    /// Makes the events of both generators in memory, which takes a moment.
    pub fn new(engine: &Engine) -> Result<Self> {
        let ysb = Arc::new(YsbGenerator::new(YsbOptions::default()));
        let nyt = Arc::new(NytGenerator::new(0));
        let _caches = engine.budget().reserve(ysb.cache_bytes() + nyt.cache_bytes())?;
        Ok(Generators { ysb, nyt, _caches })
    }

    /// Starts all queries of the demo; their first records are to be sent now.
    pub fn submit(&self, engine: &Engine, clock: &dyn Clock) -> Result<Vec<Running>> {
        let (start, strategy) = (clock.now(), WatermarkStrategy::ascending());
        let mut running = Vec::with_capacity(COUNT);
        for (load, number) in YSB.iter().zip(1..) {
            let (query, sink, leader) =
                begin(&format!("ysb-{number}"), |result: &Windowed<u64, u64>| result.value, top_campaign);
            let source = paced(&self.ysb, load, start)?;
            ysb::query::views_per_campaign(
                &query,
                [source],
                strategy,
                TumblingWindows::new(load.window)?,
                sink,
            );
            running.push(submit(engine, query, leader)?);
        }
        for (load, number) in NYT.iter().zip(1..) {
            let trips = |result: &Windowed<Cell, TripSummary>| result.value.trips;
            let (query, sink, leader) = begin(&format!("nyt-{number}"), trips, busiest_cell);
            let source = paced(&self.nyt, load, start)?;
            nyt::query::trips_per_cell(&query, [source], strategy, TumblingWindows::new(load.window)?, sink);
            running.push(submit(engine, query, leader)?);
        }
        Ok(running)
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

fn paced<G: Generate>(generator: &Arc<G>, load: &Load, start: ProcessingTime) -> Result<Paced<G>> {
    let pace = Pace::Rate { rate_per_s: load.rate_per_s, start, time_scale: 1 };
    Paced::new(Arc::clone(generator), pace).map_err(|error| failure::of_connector(&error))
}

/// Plans a query of the demo and starts it.
pub fn submit(engine: &Engine, query: Query, leader: Leader) -> Result<Running> {
    let graph = query.plan(Chaining::Default).map_err(|error| failure::of_plan(&error))?;
    let handle = engine.submit(graph).map_err(|error| failure::of_plan(&error))?;
    Ok(Running { handle, leader, latencies: Latencies::new() })
}

fn top_campaign(result: &Windowed<u64, u64>) -> String {
    format!("campaign {}: {}", result.key, show::count(result.value))
}

fn busiest_cell(result: &Windowed<Cell, TripSummary>) -> String {
    let Windowed { key: Cell { x, y }, value: TripSummary { trips, .. }, .. } = result;
    format!("cell {x}/{y}: {}", show::count(*trips))
}

/// The result with the highest score (the greatest count of a key) in a query's latest window. A sink writes
/// it and the screen reads it.
#[derive(Clone, Default)]
pub struct Leader(Arc<Mutex<Option<Best>>>);

struct Best {
    window: thalweg::Window,
    score: u64,
    words: String,
}

impl Leader {
    fn lock(&self) -> MutexGuard<'_, Option<Best>> {
        // A panic of another thread that held the lock does not matter, because the leading result is always
        // replaced as a whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Describes the result with the highest count in the latest window; `None` before the first window has
    /// ended.
    pub fn words(&self) -> Option<String> {
        self.lock().as_ref().map(|best| best.words.clone())
    }
}

/// A sink that keeps only the result with the highest count in the latest window. It takes one lock per
/// result row, since rows are few.
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

    /// Returns the leading result, as text, after results written as `second:campaign=count`, in windows of
    /// 10 s.
    fn leader_of(results: &str) -> Option<String> {
        let (_, mut sink, leader) = begin("ysb", |result: &Windowed<u64, u64>| result.value, top_campaign);
        for result in results.split_whitespace() {
            let numbers: Vec<u64> = result.split([':', '=']).map(|number| number.parse().unwrap()).collect();
            let start = EventTime::from_secs(numbers[0] as i64);
            let window = Window { start, end: EventTime::from_secs(numbers[0] as i64 + 10) };
            let value = Windowed::on_time(window, numbers[1], numbers[2]);
            sink.write(Record::new(window.last_instant(), value)).unwrap();
        }
        leader.words()
    }

    fn check(results: &str, words: &str) {
        assert_eq!(leader_of(results).as_deref(), Some(words));
    }

    #[test]
    fn the_best_of_the_latest_window_leads() {
        assert_eq!(leader_of(""), None);
        check("0:1=5 0:2=9 0:3=7", "campaign 2: 9");
        check("0:1=5000 10:2=3 10:3=4", "campaign 3: 4");
        check("86390:1=1 172799:7=33512", "campaign 7: 33,512");
    }

    /// The description of the queries tells their windows. Their rates are not in it, because they are
    /// visible while the queries run.
    #[test]
    fn the_description_tells_the_windows() {
        let told = "  ysb  views of ads per campaign, in windows of 10s, 5s and 1s\n  nyt  taxi trips per cell of New \
                    York, in windows of 2s, 5s and 1s\n";
        assert_eq!(description(), told);
    }
}
