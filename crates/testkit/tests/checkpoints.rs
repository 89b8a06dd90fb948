//! Queries that are killed at any step and go on from their newest checkpoint publish the same as queries that were not.
//!
//! The real engine runs from a seed, with any policy, number of workers and layout that can take checkpoints, on hostile
//! input. Checkpoints are asked for at any step, some cannot be written. At drawn steps the whole engine is dropped, as a
//! crash would end it, also after a checkpoint was written and before its output was published. A new engine with another
//! schedule, policy and other seeds of its hash tables goes on from the newest checkpoint that was written. In the end the
//! published records of all lives together are those of an uninterrupted run: none is lost, none is there twice.
//!
//! `THALWEG_SEEDS=1000 cargo test -p thalweg-testkit --test checkpoints`; a failure prints the command that replays it.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use thalweg::{Chaining, Engine, Execution, Layout, Parallel, QueryError};
use thalweg_memory::sync::Mutex;
use thalweg_model::{Checkpoint, CheckpointStore, Coded, Entropy, Fault, ProcessingTime, Span, StateReader};
use thalweg_runtime::Checkpoints;
use thalweg_testkit::arrival::delayed;
use thalweg_testkit::case::{Kind, LrbFull, Readings, Ysb, YsbPace, draw_any, generated_traffic, stretch};
use thalweg_testkit::sabotage::{INJECTED, quiet_injected_panics};
use thalweg_testkit::seed::{OnPanic, entropy_for, pick};
use thalweg_testkit::sim::Setup;
use thalweg_testkit::{Case, Event, Seeds, Simulation};
use thalweg_workloads::lrb::Direction;

/// Largest number of crashes of one query.
const CRASHES_MAX: u64 = 4;
/// Number of queries among which each kind of happening must occur.
const QUERIES_FOR_ALL: u64 = 30;
/// Number of runs of Linear Road.
const LINEAR_ROADS: u64 = 4;
/// Memory that suffices for every query and its sections.
const AMPLE_BUDGET_BYTES: u64 = 256 << 20;

/// A store in memory that outlives the engine, some of whose writes fail.
#[derive(Clone, Default)]
struct MemoryStore(Arc<Mutex<Stored>>);

#[derive(Default)]
struct Stored {
    written: Vec<Checkpoint>,
    completed: u64,
    /// Numbers of checkpoints whose writing fails.
    failing: Vec<u64>,
    failures: u64,
}

#[derive(Debug)]
struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the disk is full")
    }
}

impl std::error::Error for Full {}

impl Coded for Full {
    fn code(&self) -> &'static str {
        "DISK_FULL"
    }
}

impl CheckpointStore for MemoryStore {
    fn write(&mut self, checkpoint: &Checkpoint) -> Result<(), Fault> {
        let mut stored = self.0.lock();
        let newest = stored.written.last().map_or(0, |newest| newest.number);
        assert!(newest < checkpoint.number, "numbers rise");
        if stored.failing.contains(&checkpoint.number) && !checkpoint.is_last {
            stored.failures += 1;
            return Err(Full.into());
        }
        stored.written.push(checkpoint.clone());
        Ok(())
    }

    fn complete(&mut self, number: u64) -> Result<(), Fault> {
        self.0.lock().completed = number;
        Ok(())
    }
}

/// Published records of each sink, by the number of the checkpoint with which they were prepared.
type Published = Vec<BTreeMap<u64, Vec<String>>>;

/// Counts what has happened in the runs. If something never happens, the test does not check it.
#[derive(Default, Debug)]
struct Happenings {
    queries: u64,
    crashes: u64,
    checkpoints: u64,
    failures: u64,
    unpublished: u64,
    restored: u64,
}

/// Draws a case whose records are the same in every run. The updates of late records in the windows of `spread` depend on how its
/// splits mix.
fn draw_case(entropy: &mut dyn Entropy) -> Kind {
    loop {
        let (kind, case) = draw_any(entropy, ProcessingTime::ZERO);
        if kind != "spread" {
            return (kind, case);
        }
    }
}

/// Returns a drawn layout whose tasks can take checkpoints.
fn draw_layout(entropy: &mut dyn Entropy) -> Layout {
    let chaining = pick(entropy, &[Chaining::None, Chaining::Default, Chaining::All]);
    let workers = pick(entropy, &[1, 2, 3, 8]);
    let parallel = pick(entropy, &[Parallel::Serial, Parallel::Keyed { workers }]);
    Layout { chaining, parallel }
}

fn setup(entropy: &mut dyn Entropy) -> Setup {
    Setup { memory_budget_bytes: AMPLE_BUDGET_BYTES, ..Setup::draw(entropy) }
}

/// Runs a query to its end without checkpoints, and returns its records, sink by sink.
fn uninterrupted(seed: u64, case: &mut dyn Case, layout: Layout) -> Vec<Vec<String>> {
    let mut simulation = Simulation::with_setup(seed, setup(&mut entropy_for(seed, "uninterrupted")));
    let query = simulation.submit(case.graph("query", layout)).expect("the budget is ample");
    simulation.run();
    simulation.outcome(query).expect("nothing fails");
    drop(simulation);
    case.sinks().iter().map(|sink| sink.sorted_text()).collect()
}

/// Returns the output that is described in a checkpoint: with each description the number of the checkpoint for which it was
/// prepared first, and the sorted records.
fn described(checkpoint: &Checkpoint) -> Vec<(u64, Vec<String>)> {
    let sections = checkpoint.sections.iter().filter(|section| !section.prepared.is_empty());
    let lists = sections.map(|section| {
        let all: Vec<Vec<u8>> =
            StateReader::new(&section.prepared).take().expect("descriptions are readable");
        all
    });
    let mut described: Vec<(u64, Vec<String>)> = lists
        .flatten()
        .map(|bytes| StateReader::new(&bytes).take().expect("a description is readable"))
        .collect();
    described.iter_mut().for_each(|(_, records)| records.sort());
    described
}

/// Adds what the sinks have published in one life. What was published with a checkpoint is the same in every life.
fn note_published(published: &mut Published, case: &dyn Case) {
    for (known, sink) in published.iter_mut().zip(case.sinks()) {
        for (number, mut records) in sink.published() {
            records.sort();
            if let Some(before) = known.insert(number, records.clone()) {
                assert_eq!(before, records, "the same is published with checkpoint {number}");
            }
        }
    }
}

#[test]
fn what_is_published_is_what_an_uninterrupted_run_publishes() {
    let mut happenings = Happenings::default();
    Seeds::from_env("checkpoints").each(|seed| live_through_crashes(seed, &mut happenings));
    let Happenings { queries, crashes, checkpoints, restored, unpublished, failures } = happenings;
    if queries >= QUERIES_FOR_ALL {
        let all = [crashes, checkpoints, restored, unpublished, failures];
        assert!(all.iter().all(|count| *count > 0), "{happenings:?}");
    }
}

fn live_through_crashes(seed: u64, happenings: &mut Happenings) {
    let entropy = &mut entropy_for(seed, "crashes");
    let (kind, mut case) = draw_case(entropy);
    let _told = OnPanic(kind.to_owned());
    check(seed, &mut *case, happenings, entropy);
}

/// Linear Road in full: streams that part and meet again, joins, and four sinks.
#[test]
fn cars_on_a_road_are_told_once() {
    let traffic = stretch(&generated_traffic(7, 780..900), Direction::East, 34..=36);
    let bound = Span::from_secs(30);
    let mut entropy = entropy_for(0, "road");
    let records = delayed(&traffic, bound, &mut entropy);
    let mut happenings = Happenings::default();
    for seed in 0..LINEAR_ROADS {
        let mut case = LrbFull::new(records.clone(), bound, Vec::new());
        check(seed, &mut case, &mut happenings, &mut entropy);
    }
    assert!(happenings.restored > 0, "{happenings:?}");
}

fn check(seed: u64, case: &mut dyn Case, happenings: &mut Happenings, entropy: &mut dyn Entropy) {
    happenings.queries += 1;
    let layout = draw_layout(entropy);
    let _told = OnPanic(format!("{layout:?}"));
    let expected = uninterrupted(seed, case, layout);
    let mut published: Published = vec![BTreeMap::new(); expected.len()];
    let kept = MemoryStore::default();
    let crashes = entropy.below(CRASHES_MAX + 1);
    for life in 0..=crashes {
        let mut simulation = Simulation::with_setup(seed + life, setup(entropy));
        let newest = kept.0.lock().written.last().cloned();
        let number = newest.as_ref().map_or(0, |newest| newest.number);
        kept.0.lock().failing = (0..entropy.below(3)).map(|_| number + 1 + entropy.below(6)).collect();
        let mut checkpoints = Checkpoints::new(Box::new(kept.clone())).plan("the plan".to_owned());
        if let Some(newest) = newest {
            happenings.restored += 1;
            checkpoints = checkpoints.from(newest);
        }
        let graph = case.graph("query", layout).with_checkpoints(checkpoints);
        let query = simulation.submit(graph).expect("the checkpoint fits the query");
        // The output of the checkpoint was published again.
        note_published(&mut published, case);
        let longest = 1 << (4 + entropy.below(11));
        let mut action = 0;
        for _ in 0..1 + entropy.below(8) {
            action += entropy.below(longest);
            simulation.at_action(action, Event::Checkpoint(query));
        }
        if life < crashes {
            simulation.run_for(entropy.below(longest * 4));
            happenings.crashes += 1;
            let state = simulation.progress(query).state;
            drop(simulation);
            let newest = kept.0.lock().written.last().map_or(0, |newest| newest.number);
            // A crash between the writing of a checkpoint and the publishing of its output: that output does not count yet.
            let before = published.clone();
            note_published(&mut published, case);
            if entropy.below(2) == 0 && newest > number {
                happenings.unpublished += 1;
                let stored = kept.0.lock();
                let described: Vec<(u64, Vec<String>)> =
                    stored.written.iter().last().map_or(Vec::new(), described);
                for (sink, before) in published.iter_mut().zip(&before) {
                    sink.retain(|number, rows| {
                        before.contains_key(number) || !described.contains(&(*number, rows.clone()))
                    });
                }
            }
            assert_ne!(state, thalweg::QueryState::Failed, "nothing fails");
        } else {
            simulation.run();
            let outcome = simulation.outcome(query);
            assert!(outcome.is_ok(), "{outcome:?}");
            drop(simulation);
            note_published(&mut published, case);
        }
    }
    {
        let stored = kept.0.lock();
        assert!(stored.written.last().is_some_and(|last| last.is_last), "the last checkpoint is kept");
        assert_eq!(Some(stored.completed), stored.written.last().map(|last| last.number));
        happenings.checkpoints += stored.written.len() as u64;
        happenings.failures += stored.failures;
    }
    for (place, (expected, found)) in expected.iter().zip(published).enumerate() {
        let mut found: Vec<String> = found.into_values().flatten().collect();
        found.sort();
        let differs = (0..expected.len().max(found.len())).find(|row| expected.get(*row) != found.get(*row));
        if let Some(row) = differs {
            let (wanted, got) = (expected.get(row), found.get(row));
            let (all, there) = (expected.len(), found.len());
            panic!(
                "sink {place}, {there} records in place of {all}; record {row} is {got:?} in place of {wanted:?}"
            );
        }
    }
}

/// With real threads, whether workers or a thread for each task run them: checkpoints are complete when the handle says so, and
/// all output is published when the query has ended.
#[test]
fn threads_publish_everything() {
    for (execution, seed) in [(Execution::Workers, 1), (Execution::Threads, 2)] {
        let entropy = &mut entropy_for(seed, "threads");
        let pace = YsbPace::AtRate(100_000, ProcessingTime::ZERO);
        let mut case = Ysb::new(20_000, pace, Span::from_millis(50));
        let layout = Layout { chaining: Chaining::None, parallel: Parallel::Keyed { workers: 2 } };
        let expected = uninterrupted(seed, &mut case, layout);
        let kept = MemoryStore::default();
        let checkpoints = Checkpoints::new(Box::new(kept.clone())).every(Duration::from_millis(5));
        let engine =
            Engine::builder().workers(2).execution(execution).build().expect("settings are in range");
        let graph = case.graph("query", layout).with_checkpoints(checkpoints);
        let query = engine.submit(graph).expect("the budget is ample");
        let mut complete = 0;
        for _ in 0..1 + entropy.below(4) {
            if let Some(progress) = query.checkpoint() {
                assert!(complete < progress.complete, "{progress:?}");
                complete = progress.complete;
                assert!(kept.0.lock().completed >= complete);
            }
        }
        query.wait().expect("nothing fails");
        let mut published: Published = vec![BTreeMap::new(); expected.len()];
        note_published(&mut published, &case);
        let stored = kept.0.lock();
        assert!(stored.written.last().is_some_and(|last| last.is_last && last.number == stored.completed));
        for (expected, found) in expected.iter().zip(published) {
            let mut found: Vec<String> = found.into_values().flatten().collect();
            found.sort();
            assert_eq!(expected.len(), found.len(), "{execution:?}");
            assert!(*expected == found, "{execution:?}: other records are published");
        }
    }
}

/// A store that panics.
struct Broken;

impl CheckpointStore for Broken {
    fn write(&mut self, _checkpoint: &Checkpoint) -> Result<(), Fault> {
        panic!("{INJECTED} a store panics")
    }

    fn complete(&mut self, _number: u64) -> Result<(), Fault> {
        Ok(())
    }
}

/// A store that panics fails the query, and nothing waits for it.
#[test]
fn a_store_that_panics_fails_the_query() {
    quiet_injected_panics();
    let mut case = Readings::draw(20, &mut entropy_for(9, "broken"));
    let engine = Engine::builder().workers(2).build().expect("settings are in range");
    let graph = case.graph("query", Layout::default()).with_checkpoints(Checkpoints::new(Box::new(Broken)));
    let outcome = engine.submit(graph).expect("the budget is ample").wait();
    assert!(matches!(outcome, Err(QueryError::CheckpointFailed { .. })), "{outcome:?}");
}

/// A query whose operators are shared epoch by epoch is refused, and so is a checkpoint that does not fit.
#[test]
fn what_does_not_fit_is_refused() {
    let entropy = &mut entropy_for(7, "refused");
    let mut case = Readings::draw(20, entropy);
    let mut simulation = Simulation::with_setup(7, setup(entropy));
    let epochs = Layout { chaining: Chaining::Default, parallel: Parallel::Epochs { workers: 2 } };
    let mut refusal = |layout: Layout, checkpoints: Checkpoints| {
        let refused = simulation.submit(case.graph("query", layout).with_checkpoints(checkpoints));
        refused.err().map(|error| (error.code(), error.to_string()))
    };
    let new = || Checkpoints::new(Box::new(MemoryStore::default()));
    let (code, message) = refusal(epochs, new()).expect("it is refused");
    assert_eq!(code, "NO_CHECKPOINTS", "{message}");
    let from = Checkpoint { query: "query".to_owned(), number: 3, is_last: false, sections: Vec::new() };
    let serial = Layout::default();
    let (code, message) = refusal(serial, new().from(from.clone())).expect("it is refused");
    assert_eq!(code, "NOT_RESTORED", "{message}");
    assert!(message.contains("the checkpoint has no state of it"), "{message}");
    let (_, message) = refusal(serial, new().plan("a\nb".to_owned()).from(from)).expect("it is refused");
    assert!(message.contains("`a` is there now, nothing was saved"), "{message}");
}

/// A query that fails keeps its checkpoints, and a handle that waits for one is not left waiting.
#[test]
fn a_query_that_is_cancelled_takes_no_further_checkpoint() {
    let entropy = &mut entropy_for(8, "cancelled");
    let mut case = Readings::draw(200, entropy);
    let mut simulation = Simulation::with_setup(8, setup(entropy));
    let kept = MemoryStore::default();
    let checkpoints = Checkpoints::new(Box::new(kept.clone()));
    let graph = case.graph("query", Layout::default()).with_checkpoints(checkpoints);
    let query = simulation.submit(graph).expect("the budget is ample");
    simulation.run_for(40);
    simulation.at_action(0, Event::Cancel(query));
    simulation.at_action(0, Event::Checkpoint(query));
    simulation.run();
    let outcome = simulation.outcome(query);
    assert!(matches!(outcome, Err(QueryError::Cancelled)), "{outcome:?}");
    assert!(kept.0.lock().written.iter().all(|checkpoint| !checkpoint.is_last));
}
