//! Watch it run: the progress of three queries while they run, and their reports when they have ended.
//!
//! You will learn: a handle shows how far its query is, stops it, or cancels it, and returns its report.
//!
//! ```sh
//! cargo run -p thalweg --example 10_watch_it_run
//! ```
//!
//! It prints the text of `10_watch_it_run.txt`. Usually threads run the engine and time passes by itself. Here both
//! are done by hand, so that the output is the same every time.

use std::error::Error;
use std::sync::Arc;

use thalweg::{
    Count, Engine, EventTime, Generate, ProcessingTime, Query, Span, Step, Stepped, TumblingWindows,
    VirtualClock, WatermarkStrategy,
};
use thalweg_connectors::{Discard, Pace, Paced};

fn main() -> Result<(), Box<dyn Error>> {
    let clock = Arc::new(VirtualClock::default());
    let mut stepped = Engine::builder().clock(clock.clone()).build_stepped()?;
    let handles = [
        count_colours("short", 10, 15)?.submit(&stepped.engine)?,
        count_colours("steady", 100, u64::MAX)?.submit(&stepped.engine)?,
        count_colours("unwanted", 1_000, u64::MAX)?.submit(&stepped.engine)?,
    ];

    for second in 1..=3 {
        clock.advance_to(ProcessingTime::from_nanos(second * 1_000_000_000));
        run_until_idle(&mut stepped, &clock);
        println!("after {second} s");
        for handle in &handles {
            let now = handle.progress();
            println!("  {}: {:?}, {} in, {} out", handle.name(), now.state, now.events_in, now.results_out);
        }
    }

    // A stopped query processes what it has read, and emits the results. A cancelled query drops it.
    handles[1].stop();
    handles[2].cancel();
    run_until_idle(&mut stepped, &clock);
    println!("at the end");
    for handle in handles {
        let name = handle.name().to_owned();
        match handle.wait() {
            Ok(report) => println!("  {name}: {} in, {} out", report.events_in, report.results_out),
            Err(error) => println!("  {name}: {error}"),
        }
    }
    Ok(())
}

/// Creates a query that counts each colour per second, from `count` records at `rate_per_s` records a second.
fn count_colours(name: &str, rate_per_s: u64, count: u64) -> Result<Query, Box<dyn Error>> {
    let pace = Pace::Rate { rate_per_s, start: ProcessingTime::ZERO, time_scale: 1 };
    let query = Query::new(name);
    query
        .source(
            "colours",
            Paced::new(Arc::new(Colours), pace)?.with_limit(count),
            WatermarkStrategy::ascending(),
        )
        .key_by(|colour| *colour)
        .tumbling(TumblingWindows::new(Span::from_secs(1))?)
        .aggregate(Count)
        .sink("nowhere", Discard::new());
    Ok(query)
}

/// Source that generates three colours in turn.
struct Colours;

impl Generate for Colours {
    type Item = u64;

    fn value(&self, index: u64, _event_time: EventTime) -> u64 {
        index % 3
    }

    fn cache_bytes(&self) -> usize {
        0
    }
}

fn run_until_idle(stepped: &mut Stepped, clock: &VirtualClock) {
    while stepped.growth.step() || stepped.workers[0].step(clock) == Step::Busy {}
}
