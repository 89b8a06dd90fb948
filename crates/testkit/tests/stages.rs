//! The input of each operator of a chain is counted, although the operators run as one loop. In some steps
//! the operators process the first block one after the other, and are measured. Counts and results equal the
//! counts and results of any other run (`metamorphic.rs`).
#![forbid(unsafe_code)]

use thalweg::{Chaining, Engine};
use thalweg_model::Span;
use thalweg_testkit::Case;
use thalweg_testkit::case::{Ysb, YsbPace, verdict};

/// Returns the number of records on which each operator was measured, task by task. One in `measured_steps`
/// steps of the only worker is measured; 0 means none.
fn measured(measured_steps: u64, chaining: Chaining) -> Vec<Vec<u64>> {
    let mut case = Ysb::new(30_000, YsbPace::Drained(900), Span::from_secs(10));
    let engine =
        Engine::builder().measured_steps(measured_steps).build().expect("settings lie in their range");
    let query = engine.submit(case.graph("query", chaining.into())).expect("the budget is ample");
    while query.state() == thalweg::QueryState::Running {
        std::thread::yield_now();
    }
    let metrics = query.metrics();
    assert_eq!(metrics.conservation_error(), None);
    for task in &metrics.tasks {
        for (place, stage) in task.stages.iter().enumerate() {
            assert_eq!(task.stage_cost_ns_per_record(place).is_some(), stage.records > 0);
        }
    }
    let report = query.wait().expect("nothing breaks");
    assert_eq!(verdict(&case, &report), None);
    let records = |task: &thalweg::TaskMetrics| task.stages.iter().map(|stage| stage.records).collect();
    metrics.tasks.iter().map(records).collect()
}

#[test]
fn every_operator_of_a_chain_is_measured_by_itself() {
    let tasks = measured(1, Chaining::Default);
    let mut chained: Vec<usize> = tasks.iter().map(Vec::len).collect();
    chained.sort_unstable();
    assert_eq!(chained, [2, 2], "filter and map, join and window");
    for records in &tasks {
        assert!(records.iter().all(|&records| records > 0), "{tasks:?}");
        assert!(records[1] <= records[0], "what a filter or a join drops does not come further: {tasks:?}");
    }
    let all = measured(1, Chaining::All);
    assert_eq!((all.len(), all[0].len()), (1, 4));
    assert!(all[0].iter().all(|&records| records > 0), "{all:?}");
}

#[test]
fn nobody_is_measured_unless_asked_for() {
    assert!(measured(0, Chaining::Default).iter().flatten().all(|&records| records == 0));
}
