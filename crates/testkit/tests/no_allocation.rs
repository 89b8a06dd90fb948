//! After a warm-up, the data path allocates nothing: not per record, not per block, not when a window fires.
//!
//! One worker of an engine without threads runs YSB, with every operator as a task of its own, and chained.
//! Only the worker's allocations are counted. The pool's work has a thread of its own in production and is not
//! counted. The counting allocator comes with `allocation-counter`.
#![forbid(unsafe_code)]

use std::sync::Arc;

use thalweg::{Chaining, Engine, EventTime, Query, Span, TumblingWindows, WatermarkStrategy};
use thalweg_connectors::{Discard, Pace, Paced};
use thalweg_model::{Clock, SeededEntropy, VirtualClock};
use thalweg_runtime::Stepped;
use thalweg_testkit::case::shared_ysb_generator;
use thalweg_workloads::ysb::query::views_per_campaign;

/// Number of engine steps in which allocations are counted.
const STEPS: u64 = 2_000;

/// Number of results of one window of YSB: the views of every campaign.
const RESULTS_PER_WINDOW: u64 = 100;

/// Virtual nanoseconds between two steps. Time must pass, or the policy would always choose the first task.
const STEP_NS: u64 = 1_000;

fn check(chaining: Chaining) {
    let clock = Arc::new(VirtualClock::default());
    let engine_clock: Arc<dyn Clock> = Arc::<VirtualClock>::clone(&clock);
    // No step measures its operators, because such a step stores the records between them, and allocates for
    // that.
    let builder = Engine::builder().measured_steps(0);
    let builder = builder.clock(engine_clock).entropy(Box::new(SeededEntropy::new(0)));
    let Stepped { engine, mut workers, growth, keeper: _keeper } =
        builder.build_stepped().expect("defaults lie in their range");
    // A window has 20,000 events, so several windows fire in the steps that are counted, chained or not.
    let pace = Pace::Drain { nominal_rate_per_s: 2_000, start: EventTime::EPOCH };
    let source = Paced::new(shared_ysb_generator(), pace).expect("the rate is in range");
    let query = Query::new("ysb");
    let windows = TumblingWindows::new(Span::from_secs(10)).expect("ten seconds are a size");
    views_per_campaign(&query, [source], WatermarkStrategy::ascending(), windows, Discard::new());
    let query = engine.submit(query.plan(chaining).expect("the stream ends in a sink")).expect("it fits");

    let mut step = || {
        clock.advance_to(clock.now().plus_nanos(STEP_NS));
        let _busy = workers[0].step(clock.as_ref());
        while growth.step() {}
    };
    // After two windows have fired there is a table in use and a spare one. By then the allocations of the
    // start are over.
    while query.progress().results_out < 2 * RESULTS_PER_WINDOW {
        step();
    }
    (0..STEPS).for_each(|_| step());

    let before = query.progress();
    let mut worker = workers.pop().expect("one worker is the default");
    let mut counted = 0;
    for _ in 0..STEPS {
        clock.advance_to(clock.now().plus_nanos(STEP_NS));
        let allocated = allocation_counter::measure(|| {
            let _busy = worker.step(clock.as_ref());
        });
        counted += allocated.count_total;
        while growth.step() {}
    }
    let after = query.progress();
    let fired = (after.results_out - before.results_out) / RESULTS_PER_WINDOW;
    let read = after.events_in - before.events_in;
    println!("{chaining:?}: {STEPS} steps, {read} events, {fired} windows fired, {counted} allocations");
    assert!(fired >= 1 && read >= 100_000, "too little happened: {fired} windows, {read} events");
    assert_eq!(counted, 0, "{chaining:?}: allocations in {STEPS} steps");
}

#[test]
fn isolated_operators_allocate_nothing() {
    check(Chaining::None);
}

#[test]
fn chained_operators_allocate_nothing() {
    check(Chaining::Default);
}

#[test]
fn one_task_allocates_nothing() {
    check(Chaining::All);
}

/// Checks that the counter counts: without this, a suite that measures nothing would pass.
#[test]
fn the_counter_counts() {
    let allocated = allocation_counter::measure(|| drop(std::hint::black_box(vec![1u8; 100])));
    assert_eq!(allocated.count_total, 1);
}
