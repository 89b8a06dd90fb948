//! Tests that the simulation is repeatable, and detects a run in which nothing makes progress any more.

use std::panic::{AssertUnwindSafe, catch_unwind};

use thalweg::{EventTime, Query, Record, WatermarkStrategy};
use thalweg_model::source::Given;
use thalweg_model::{Fault, Output, Polled, Source, SourceStatus, StateError, StateReader, StateWriter};

use super::*;
use crate::gather::{Expects, Gather};

fn query<S: Source<Item = i64> + 'static>(source: S) -> (Graph, Gather<i64>) {
    let query = Query::new("q");
    let sink = Gather::new(Expects::Anything, &Arc::default());
    let seen = Gather::new(Expects::Anything, &Arc::default());
    query.source("source", source, WatermarkStrategy::ascending()).map(|value| value + 1).sink("sink", sink);
    (query.plan(thalweg::Chaining::None).unwrap(), seen)
}

fn hundred() -> Given<i64> {
    Given::new((0..100).map(|value| Record::new(EventTime::from_micros(value), value)).collect())
}

/// A source without records that never ends.
struct Silent(SourceStatus);

impl Source for Silent {
    type Item = i64;

    fn poll<O: Output<i64>>(&mut self, _: ProcessingTime, _: usize, _: &mut O) -> Result<Polled, Fault> {
        Ok(Polled::new(self.0))
    }

    fn save(&self, _: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

#[test]
fn equal_seeds_take_equal_actions() {
    let run = |seed| {
        let mut simulation = Simulation::new(seed);
        let (first, _) = query(hundred());
        simulation.submit(first).unwrap();
        simulation.run();
        (simulation.actions(), simulation.now())
    };
    assert_eq!(run(3), run(3));
    assert!((0..5).any(|seed| run(seed) != run(seed + 1)));
}

#[test]
fn what_is_stuck_is_told() {
    let stuck = |status| {
        let mut simulation = Simulation::new(0);
        simulation.submit(query(Silent(status)).0).unwrap();
        let payload = catch_unwind(AssertUnwindSafe(|| simulation.run())).unwrap_err();
        payload.downcast_ref::<String>().unwrap().clone()
    };
    let idle = stuck(SourceStatus::IdleUntil(ProcessingTime::NEVER));
    assert!(idle.contains("every worker is idle and nothing is due"), "{idle}");
    let busy = stuck(SourceStatus::Ready);
    assert!(busy.contains("no progress for 65536 actions"), "{busy}");
}

/// Events happen before the action that they are scheduled for, or when nothing else is left to do. A budget
/// that was reserved is released.
#[test]
fn events_happen() {
    let mut simulation = Simulation::new(1);
    let silent = simulation.submit(query(Silent(SourceStatus::IdleUntil(ProcessingTime::NEVER))).0).unwrap();
    let cancelled = simulation.submit(query(Silent(SourceStatus::Ready)).0).unwrap();
    simulation.at_action(100, Event::Exhaust);
    simulation.at_action(200, Event::Release);
    simulation.at_action(300, Event::Cancel(cancelled));
    simulation.at_action(1 << 40, Event::Stop(silent));
    simulation.run();
    assert_eq!(simulation.outcome(silent).unwrap().conservation_error(), None);
    assert!(matches!(simulation.outcome(cancelled), Err(QueryError::Cancelled)));
    let budget = simulation.close();
    assert_eq!((budget.used_bytes(), budget.peak_bytes()), (0, budget.limit_bytes()));
}

/// A paused query makes no progress, whatever its tasks hold. It ends normally once it is resumed, or by a
/// stop or a cancel without a resume. Only an event wakes it.
#[test]
fn a_paused_query_stands_still_until_it_is_woken() {
    for seed in 0..20 {
        for wake in [Event::Resume, Event::Stop, Event::Cancel] {
            let mut simulation = Simulation::new(seed);
            let paused = simulation.submit(query(hundred()).0).unwrap();
            simulation.at_action(seed, Event::Pause(paused));
            simulation.at_action(1 << 40, wake(paused));
            simulation.run_for(1_000);
            let before = simulation.progress(paused);
            simulation.run_for(100);
            assert_eq!(simulation.progress(paused), before);
            let was_done = before.state == QueryState::Finished;
            assert!(was_done || before.state == QueryState::Paused, "{before:?}");
            simulation.run();
            match simulation.outcome(paused) {
                Ok(report) => {
                    assert_eq!(report.conservation_error(), None);
                    assert!(report.events_in == 100 || wake(paused) == Event::Stop(paused));
                }
                Err(error) => {
                    assert!(matches!(error, QueryError::Cancelled));
                    assert_eq!(wake(paused), Event::Cancel(paused));
                }
            }
        }
    }
}

/// The simulation fails if a paused query makes progress.
#[test]
#[should_panic(expected = "a query ran while it was paused")]
fn a_paused_query_that_runs_is_told() {
    let mut simulation = Simulation::new(0);
    let paused = simulation.submit(query(hundred()).0).unwrap();
    simulation.happen(Event::Pause(paused));
    simulation.run_for(100);
    // The query is resumed behind the simulation's back, so the simulation takes it for paused.
    simulation.queries[0].as_ref().unwrap().resume();
    simulation.idle.fill(None);
    simulation.run();
    let _told = simulation.outcome(paused);
}
