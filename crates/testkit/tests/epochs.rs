//! Several workers inside one operator: random queries over one to four hostile splits, whose operators have
//! any number of copies and partitions, interleaved by seeds. Blocks of one record and edges of two chunks are
//! as likely as ordinary ones. The following always holds:
//!
//! * A query that finishes, or is stopped, has the oracle's results for the records that its splits made, each
//!   late by its own split's watermark, and has lost no record. If one of several splits was left out as idle,
//!   results depend on timing, and only the counts are checked (`crates/thalweg/tests/idle_backlog.rs` has
//!   cases in which they do not).
//! * A query whose function panics in a copy fails and names the operator; one whose memory is used up fails
//!   with `STATE_LIMIT`.
//! * No query hangs, and when the query is gone every byte is back in the budget.
//!
//! `THALWEG_SEEDS=1000 cargo test -p thalweg-testkit --test epochs`; a failure prints the command that replays it.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::Arc;

use thalweg::{Chaining, EdgeLimits, Layout, Parallel, PlanError, QueryError};
use thalweg_model::{Entropy, SeededEntropy};
use thalweg_testkit::case::{Exchanged, Parcels, Spread, verdict};
use thalweg_testkit::sabotage::quiet_injected_panics;
use thalweg_testkit::seed::{OnPanic, entropy_for, pick};
use thalweg_testkit::splits::SplitRuns;
use thalweg_testkit::{Case, Event, Place, Sabotage, Seeds, Setup, Simulation};

/// Largest number of records of all splits together.
const RECORDS_MAX: u64 = 500;

/// A memory budget that is never used up in these tests.
const AMPLE_BUDGET_BYTES: u64 = 256 << 20;

/// Memory budgets of which the edges leave little or nothing for state.
const SCARCE_BUDGETS_BYTES: [u64; 3] = [4 << 20, 6 << 20, 16 << 20];

/// Size in bytes of a page of memory for edges.
const PAGE_BYTES: usize = 4096;

/// The smallest possible edges: blocks of one record, two chunks.
const TINY: EdgeLimits = EdgeLimits { block_records: 1, chunk_blocks: 1, chunks_max: 2, marks_max: 1 };

/// Places in the query of a [`Spread`] where functions are called and failures can be injected.
const PLACES: [Place; 8] = [
    Place::Filter,
    Place::Map,
    Place::JoinKey,
    Place::Combine,
    Place::WindowKey,
    Place::Fold,
    Place::Merge,
    Place::Finish,
];

/// The disturbance of a run, if any.
#[derive(Clone, Debug)]
enum Mishap {
    None,
    Paused,
    Stopped,
    Cancelled,
    Broken(Arc<Sabotage>),
    /// The memory budget is used up from some moment on.
    Exhausted,
    /// The memory budget is small from the beginning.
    Scarce,
}

/// Number of runs, by the way in which they ended.
type Happenings = BTreeMap<String, u64>;

/// A case over splits that can be drawn from a seed and broken on purpose.
trait Drawn: Case {
    fn draw(count: usize, entropy: &mut SeededEntropy) -> Self;

    fn break_at(&mut self, sabotage: Sabotage) -> Arc<Sabotage>;

    /// Returns true if the case has one split. The results are then the same, however often the split becomes
    /// idle.
    fn has_one_split(&self) -> bool;

    fn tell(&self) -> String;
}

macro_rules! drawn {
    ($case:ident) => {
        impl Drawn for $case {
            fn draw(count: usize, entropy: &mut SeededEntropy) -> Self {
                $case::draw(count, entropy)
            }

            fn break_at(&mut self, sabotage: Sabotage) -> Arc<Sabotage> {
                self.sabotage(sabotage)
            }

            fn has_one_split(&self) -> bool {
                $case::has_one_split(self)
            }

            fn tell(&self) -> String {
                self.told()
            }
        }
    };
}

drawn!(Spread);
drawn!(Exchanged);

#[test]
fn copies_make_what_one_makes() {
    hostile_runs::<Spread>();
}

/// Keyed operators in copies, and serial operators behind partitions, have the results of one copy and one
/// edge.
#[test]
fn lanes_make_what_one_edge_makes() {
    hostile_runs::<Exchanged>();
}

fn hostile_runs<C: Drawn>() {
    let draw = |case: &mut C, entropy: &mut SeededEntropy| match entropy.below(8) {
        0 => Mishap::Paused,
        1 => Mishap::Stopped,
        2 => Mishap::Cancelled,
        3 | 4 => {
            let visit = 1 + entropy.below(RECORDS_MAX / 4);
            Mishap::Broken(case.break_at(Sabotage::at(pick(entropy, &PLACES), visit)))
        }
        _ => Mishap::None,
    };
    let endings = ["finished", "stopped", "finished, one left out", "CANCELLED", "OPERATOR_PANICKED"];
    runs(3, draw, &endings);
}

/// If a copy is refused memory, the query fails, even if another worker publishes meanwhile.
#[test]
fn copies_without_memory() {
    runs_without_memory::<Spread>(&["finished", "STATE_LIMIT"]);
}

/// Each partition reserves as much as an edge, so a budget may be too small for many partitions.
#[test]
fn lanes_without_memory() {
    runs_without_memory::<Exchanged>(&["finished", "STATE_LIMIT", "BUDGET_TOO_SMALL"]);
}

fn runs_without_memory<C: Drawn>(endings: &[&str]) {
    let draw = |_: &mut C, entropy: &mut SeededEntropy| match entropy.below(2) {
        0 => Mishap::Exhausted,
        _ => Mishap::Scarce,
    };
    runs(1, draw, endings);
}

/// Draws and runs one query for each of `times` times as many seeds. Enough of them must have each of these
/// endings.
fn runs<C: Drawn>(times: u64, draw: impl Fn(&mut C, &mut SeededEntropy) -> Mishap, endings: &[&str]) {
    quiet_injected_panics();
    let (mut happenings, mut seed_count) = (Happenings::new(), 0);
    Seeds::from_env("epochs").times(times).each(|seed| {
        seed_count += 1;
        *happenings.entry(run(seed, &draw)).or_default() += 1;
    });
    println!("{happenings:?}");
    for ending in endings.iter().filter(|_| seed_count >= 300) {
        assert!(happenings.contains_key(*ending), "no run was {ending}: {happenings:?}");
    }
}

fn draw_setup(entropy: &mut dyn Entropy) -> Setup {
    let workers = pick(entropy, &[1, 2, 3, 8]);
    let drawn = Setup::draw(entropy);
    let edges = pick(entropy, &[TINY, EdgeLimits::default(), drawn.edges]);
    let favourite = entropy.below(workers) as usize;
    Setup { workers, edges, favourite, memory_budget_bytes: AMPLE_BUDGET_BYTES, ..drawn }
}

fn draw_layout(entropy: &mut dyn Entropy) -> Layout {
    let chaining = pick(entropy, &[Chaining::None, Chaining::Default, Chaining::All]);
    Layout { chaining, parallel: Parallel::Epochs { workers: pick(entropy, &[1, 2, 3, 5, 8]) } }
}

/// Runs one query in an engine of its own, and returns how the query ended.
fn run<C: Drawn>(seed: u64, draw: impl Fn(&mut C, &mut SeededEntropy) -> Mishap) -> String {
    let mut entropy = entropy_for(seed, "epochs");
    let mut setup = draw_setup(&mut entropy);
    let layout = draw_layout(&mut entropy);
    let mut case = C::draw(entropy.below(RECORDS_MAX + 1) as usize, &mut entropy);
    let mishap = draw(&mut case, &mut entropy);
    if matches!(mishap, Mishap::Scarce) {
        setup.memory_budget_bytes = pick(&mut entropy, &SCARCE_BUDGETS_BYTES);
    }
    let _told = OnPanic(format!("seed {seed}: {mishap:?}, {layout:?}, {setup:?}, {}", case.tell()));
    let mut simulation = Simulation::with_setup(seed, setup.clone());
    let budget = Arc::clone(simulation.engine().budget());
    let used_before = budget.used_bytes();
    let query = match simulation.submit(case.graph("spread", layout)) {
        Ok(query) => query,
        Err(error) => {
            let is_scarce = matches!(mishap, Mishap::Scarce);
            assert!(matches!(error, PlanError::BudgetTooSmall { .. }) && is_scarce, "{error}");
            assert_eq!(budget.used_bytes(), used_before, "a refused query holds memory");
            return error.code().to_owned();
        }
    };
    let longest = 1 << entropy.below(14);
    let action = entropy.below(longest);
    match mishap {
        Mishap::Paused => {
            simulation.at_action(action, Event::Pause(query));
            simulation.at_action(action + entropy.below(longest), Event::Resume(query));
        }
        Mishap::Stopped => simulation.at_action(action, Event::Stop(query)),
        Mishap::Cancelled => simulation.at_action(action, Event::Cancel(query)),
        Mishap::Exhausted => simulation.at_action(action, Event::Exhaust),
        Mishap::None | Mishap::Broken(_) | Mishap::Scarce => {}
    }
    simulation.run();
    let ending = match simulation.outcome(query) {
        Ok(report) => {
            assert_eq!(verdict(&case, &report), None);
            if let Mishap::Broken(sabotage) = &mishap {
                assert!(!sabotage.has_struck(), "it has finished, but should have failed");
            }
            match mishap {
                Mishap::Stopped => "stopped".to_owned(),
                _ if report.idled > 0 => "finished, one left out".to_owned(),
                _ => "finished".to_owned(),
            }
        }
        Err(error) => {
            check_failed(&error, &mishap);
            assert_eq!(case.broken_rule(), None);
            let may_be_published = matches!(error, QueryError::Cancelled);
            assert!(may_be_published || !case.is_published(), "it has failed and published: {error}");
            error.code().to_owned()
        }
    };
    // The memory that was reserved to exhaust the budget is returned with the simulation. The query's memory
    // is returned before, except pages that the pool keeps for other queries.
    if !matches!(mishap, Mishap::Exhausted) {
        let left_bytes = budget.used_bytes() - used_before;
        assert_eq!(left_bytes % PAGE_BYTES, 0, "the query is gone, but bytes of state are not given back");
    }
    assert_eq!(simulation.close().used_bytes(), 0, "bytes were not given back");
    ending
}

fn check_failed(error: &QueryError, mishap: &Mishap) {
    let is_expected = match (mishap, error) {
        (Mishap::Cancelled, QueryError::Cancelled) => true,
        (Mishap::Exhausted | Mishap::Scarce, QueryError::StateLimit { operator, exceeded }) => {
            operator.contains("window") && exceeded.limit_bytes < exceeded.used_bytes + exceeded.wanted_bytes
        }
        (Mishap::Broken(sabotage), QueryError::Panicked { operator, message }) => {
            let place = sabotage.place().expect("it is set at a place");
            place.operator() == operator && message.starts_with("injected:")
        }
        _ => false,
    };
    assert!(is_expected, "it has failed, but should not have, or not so: {error}");
}

/// Values that own memory are dropped exactly once, in any copy, and however the query ends.
#[test]
fn values_in_copies_are_dropped_once() {
    quiet_injected_panics();
    Seeds::from_env("epochs").each(|seed| {
        let mut entropy = entropy_for(seed, "parcels");
        let (setup, layout) = (draw_setup(&mut entropy), draw_layout(&mut entropy));
        let count = entropy.below(RECORDS_MAX + 1) as usize;
        let mut case = Parcels::draw(count, &mut entropy).over_splits(SplitRuns::draw(&mut entropy));
        let is_broken = entropy.below(2) == 0;
        if is_broken {
            let place = pick(&mut entropy, &[Place::Filter, Place::Map, Place::WindowKey, Place::Source]);
            case.sabotage(Sabotage::at(place, 1 + entropy.below(RECORDS_MAX / 4)));
        }
        let _told = OnPanic(format!("{layout:?}, {setup:?}"));
        let mut simulation = Simulation::with_setup(seed, setup);
        let query = simulation.submit(case.graph("parcels", layout)).expect("the budget is ample");
        let action = entropy.below(1 << 12);
        let is_cancelled = entropy.below(4) == 0;
        if is_cancelled {
            simulation.at_action(action, Event::Cancel(query));
        }
        if entropy.below(4) == 0 {
            // The engine is dropped while the query runs.
            simulation.run_for(action);
        } else {
            simulation.run();
            match simulation.outcome(query) {
                Ok(report) => assert_eq!(verdict(&case, &report), None),
                Err(error) => assert!(is_broken || is_cancelled, "{error}"),
            }
        }
        assert_eq!(simulation.close().used_bytes(), 0, "bytes were not given back");
        assert_eq!(case.leaked_count(), 0, "values were never dropped");
    });
}

/// A query has the same results with any number of copies of its operators. Intermediate results are compared
/// too, where they are determined. The comparison is by text.
#[test]
fn any_number_of_copies_has_the_rows_of_serial_execution() {
    rows_of_any_number_of_copies::<Spread>();
}

/// Results do not depend on the number of copies of keyed operators either, behind any number of partitions.
#[test]
fn any_number_of_lanes_has_the_rows_of_serial_execution() {
    rows_of_any_number_of_copies::<Exchanged>();
}

fn rows_of_any_number_of_copies<C: Drawn>() {
    Seeds::from_env("epochs").one_in(4).each(|seed| {
        let mut entropy = entropy_for(seed, "rows");
        let mut case = C::draw(200, &mut entropy);
        let _told = OnPanic(case.tell());
        let mut expected: Option<(Vec<String>, bool)> = None;
        for copies in [0, 1, 2, 3, 8] {
            let chaining = pick(&mut entropy, &[Chaining::None, Chaining::Default, Chaining::All]);
            let copied = Parallel::Epochs { workers: copies };
            let parallel = if copies == 0 { Parallel::Serial } else { copied };
            let setup = Setup { workers: copies.max(1) as u64, favourite: 0, ..draw_setup(&mut entropy) };
            let mut simulation = Simulation::with_setup(seed, setup);
            let graph = case.graph("rows", Layout { chaining, parallel });
            let query = simulation.submit(graph).expect("the budget is ample");
            simulation.run();
            let report = simulation.outcome(query).expect("nothing goes wrong");
            assert_eq!(verdict(&case, &report), None, "{copies} copies");
            let is_determined = report.idled == 0 || case.has_one_split();
            let (rows, was_determined) = expected.get_or_insert_with(|| (case.rows(), is_determined));
            if *was_determined && is_determined {
                assert_eq!(case.rows(), *rows, "{copies} copies");
            }
        }
    });
}
