//! Tests of the demo when one of its queries fails.

use std::cell::Cell;

use thalweg::{EventTime, Query, Record, WatermarkStrategy, source::Given};
use thalweg_connectors::{Collect, Discard, Pace, Paced};
use thalweg_workloads::nyt::NytGenerator;

use super::*;
use crate::demo::queries::{Leader, submit};

/// Returns a running query that generates records without end at a very low rate.
fn endless(engine: &Engine) -> Running {
    let query = Query::new("endless");
    let pace = Pace::Rate { rate_per_s: 1_000, start: SystemClock::default().now(), time_scale: 1 };
    let source = Paced::new(Arc::new(NytGenerator::new(0)), pace).unwrap();
    query.source("source", source, WatermarkStrategy::ascending()).sink("sink", Discard::new());
    submit(engine, query, Leader::default()).unwrap()
}

/// Returns a running query whose sink accepts no record, so that it fails.
fn doomed(engine: &Engine) -> Running {
    let query = Query::new("doomed");
    let records = Given::new(vec![Record::new(EventTime::EPOCH, 7)]);
    query.source("source", records, WatermarkStrategy::ascending()).sink("sink", Collect::new(0));
    submit(engine, query, Leader::default()).unwrap()
}

fn watched(running: &mut [Running], is_interrupted: impl Fn() -> bool) -> String {
    let mut shown = String::new();
    let clock = SystemClock::default();
    let day = Show { length: Duration::from_secs(86_400), screen: Screen::Live { drawn: 0 }, clock: &clock };
    let out = |text: &str| {
        shown += text;
        Ok(())
    };
    watch(running, day, is_interrupted, out).unwrap();
    shown
}

/// A failing query ends the demo, and its name and code are shown. The other queries drain and are
/// in the summary.
#[test]
fn a_query_that_fails_is_named_with_its_code() {
    let engine = Engine::builder().build().unwrap();
    let mut running = vec![endless(&engine), doomed(&engine)];
    let shown = watched(&mut running, || false);
    assert!(shown.ends_with("\rending: a query has ended by itself\x1b[K\n"), "{shown}");
    let ended = drain(running);
    let problems = summary::problems(&ended);
    let told = "query doomed failed: SINK_FULL: `source-sink` failed: the collecting sink holds 0 records, its maximum; \
                give it a higher one";
    assert_eq!(problems, [told]);
    let summary = summary::text(&ended, 1.0, &Cost { cpu_s: 0.5, rss_peak_bytes: 9 << 20, workers: 1 });
    assert!(summary.contains("endless") && !summary.contains("doomed"), "{summary}");
    assert!(
        summary.contains("\n0.50 s of CPU in 1.0 s, 50 % of 1 core; 9 MiB of memory at most.\n"),
        "{summary}"
    );
    assert!(!summary.contains("Nothing lost"), "what has failed has no such promise: {summary}");
}

#[test]
fn an_interrupt_ends_it_in_order() {
    let engine = Engine::builder().build().unwrap();
    let mut running = vec![endless(&engine)];
    let looks = Cell::new(0);
    let shown = watched(&mut running, || looks.replace(looks.get() + 1) == 2);
    assert!(shown.contains("ending: Ctrl-C was pressed"), "{shown}");
    let ended = drain(running);
    assert_eq!(summary::problems(&ended), Vec::<String>::new());
    let summary = summary::text(&ended, 1.0, &Cost { cpu_s: 0.0, rss_peak_bytes: 0, workers: 2 });
    assert!(summary.contains("Nothing lost"), "{summary}");
}
