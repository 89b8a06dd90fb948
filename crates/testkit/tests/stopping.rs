//! Queries that are stopped at their watermark: at any time, and with any layout, each emitted window is
//! complete. Several splits, or several sources, are stopped one after the other, each at another position.
//!
//! The expectation is counted from the whole input and shares no code with the engine.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use thalweg::{
    Chaining, Count, Graph, Layout, Parallel, Query, Segment, Span, Stream, TumblingWindows,
    WatermarkStrategy, Windowed,
};
use thalweg_model::source::Given;
use thalweg_model::{Entropy, EventTime, Fault, Mark, Record, Sink};
use thalweg_testkit::seed::{entropy_for, pick};
use thalweg_testkit::{Event, Seeds, Setup, Simulation};

const WINDOW_US: i64 = 10;

/// Largest number of records of all inputs together.
const RECORDS_MAX: u64 = 300;

/// Number of records of each key in each window, by the start of the window.
type Counts = BTreeMap<(i64, u64), u64>;

#[derive(Clone, Default)]
struct Seen(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    counts: Vec<((i64, u64), u64)>,
    watermark: Option<EventTime>,
    is_finished: bool,
}

impl Sink<Windowed<u64, u64>> for Seen {
    fn write(&mut self, record: Record<Windowed<u64, u64>>) -> Result<(), Fault> {
        let Windowed { window, key, value, .. } = record.value;
        self.0.lock().unwrap().counts.push(((window.start.as_micros(), key), value));
        Ok(())
    }

    fn on_mark(&mut self, mark: Mark) -> Result<(), Fault> {
        if let Mark::Watermark(watermark) = mark {
            self.0.lock().unwrap().watermark = Some(watermark);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.0.lock().unwrap().is_finished = true;
        Ok(())
    }
}

/// Draws one to four inputs, each in the order of time.
fn draw_inputs(entropy: &mut dyn Entropy) -> Vec<Vec<(i64, u64)>> {
    let count = 1 + entropy.below(4);
    let records = entropy.below(RECORDS_MAX / count);
    (0..count)
        .map(|_| {
            let mut at = entropy.below(30) as i64;
            let steps = (0..records).map(|_| (entropy.below(4) as i64, entropy.below(3)));
            let steps: Vec<_> = steps.collect();
            steps
                .into_iter()
                .map(|(step, key)| {
                    at += step;
                    (at, key)
                })
                .collect()
        })
        .collect()
}

fn graph(inputs: &[Vec<(i64, u64)>], is_united: bool, layout: Layout, seen: &Seen) -> Graph {
    let query = Query::new("counts");
    let ascending = WatermarkStrategy::ascending;
    let given = |input: &Vec<(i64, u64)>| {
        let records = input.iter().map(|(at, key)| Record::new(EventTime::from_micros(*at), *key));
        Given::new(records.collect())
    };
    if is_united {
        let mut streams = inputs
            .iter()
            .enumerate()
            .map(|(index, input)| query.source(&format!("input-{index}"), given(input), ascending()));
        let first = streams.next().expect("there is one input at least");
        counted(first.union_all(streams), seen);
    } else {
        counted(query.splits("input", inputs.iter().map(given), ascending()), seen);
    }
    query.plan(layout).expect("the plan is right")
}

fn counted<C: Segment<u64>>(keys: Stream<u64, C>, seen: &Seen) {
    let windows = TumblingWindows::new(Span::from_micros(WINDOW_US)).expect("a window has a size");
    keys.key_by(|key: &u64| *key).tumbling(windows).aggregate(Count).sink("sink", seen.clone());
}

fn whole(inputs: &[Vec<(i64, u64)>]) -> Counts {
    let mut counts = Counts::new();
    for (at, key) in inputs.iter().flatten() {
        *counts.entry((at.div_euclid(WINDOW_US) * WINDOW_US, *key)).or_default() += 1;
    }
    counts
}

/// How much of all results was emitted before the query stopped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Share {
    Nothing,
    Part,
    Whole,
}

fn run(seed: u64, is_united: bool) -> Share {
    let mut entropy = entropy_for(seed, "stopping");
    let inputs = draw_inputs(&mut entropy);
    let chaining = pick(&mut entropy, &[Chaining::None, Chaining::Default, Chaining::All]);
    let parallel = match entropy.below(3) {
        0 => Parallel::Serial,
        workers => Parallel::Epochs { workers: workers as usize },
    };
    let mut simulation = Simulation::with_setup(seed, Setup::draw(&mut entropy));
    let seen = Seen::default();
    let query = simulation.submit(graph(&inputs, is_united, Layout { chaining, parallel }, &seen)).unwrap();
    let longest = 1 << entropy.below(12);
    simulation.at_action(entropy.below(longest), Event::StopAtWatermark(query));
    simulation.run();
    let report = simulation.outcome(query).unwrap();
    assert_eq!(report.conservation_error(), None);
    let expected = whole(&inputs);
    let State { counts, watermark, is_finished } = std::mem::take(&mut *seen.0.lock().unwrap());
    assert!(is_finished, "what is complete is published");
    let found: Counts = counts.iter().copied().collect();
    assert_eq!(found.len(), counts.len(), "a window comes out once");
    for (window, count) in &found {
        assert_eq!(expected.get(window), Some(count), "window {window:?} is not whole, at {watermark:?}");
    }
    // The results of every window that the watermark has closed are emitted.
    let watermark = watermark.map_or(i64::MIN, |watermark| watermark.as_micros());
    let closed = expected.keys().filter(|(start, _)| start.saturating_add(WINDOW_US) <= watermark);
    assert_eq!(closed.count(), found.len(), "windows closed by {watermark}");
    let made: u64 = report.events_in;
    let all = inputs.iter().map(|input| input.len() as u64).sum::<u64>();
    match found.len() {
        len if len == expected.len() && made == all => Share::Whole,
        0 => Share::Nothing,
        _ => Share::Part,
    }
}

fn runs(is_united: bool) {
    let (mut shares, mut seed_count) = (BTreeMap::<Share, u64>::new(), 0);
    Seeds::from_env("stopping").times(3).each(|seed| {
        seed_count += 1;
        *shares.entry(run(seed, is_united)).or_default() += 1;
    });
    println!("{shares:?}");
    for share in [Share::Nothing, Share::Part, Share::Whole].iter().filter(|_| seed_count >= 300) {
        assert!(shares.contains_key(share), "no run gave {share:?}: {shares:?}");
    }
}

#[test]
fn a_split_that_is_stopped_closes_no_window_of_others() {
    runs(false);
}

#[test]
fn a_source_that_is_stopped_closes_no_window_of_others() {
    runs(true);
}
