//! One input has one multiset of results. On the released engine with threads, it does not depend on the
//! policy, the records per block, the blocks per chunk, workers, chains, copies of operators, the kind of
//! execution or the memory of edges.
//!
//! The inputs are YSB and NYT from a generator, in one split and in several; NYT from the recorded file; and
//! Linear Road in its short form and by its full rules, out of order. Further inputs are hostile streams, for
//! a window join and an interval join, windows that allow lateness, sessions and a co-group. Each run is also
//! compared with a reference: the workload's, or the oracle.
//!
//! By default every pair of settings occurs, under CI in three commits together; `THALWEG_FULL=1` runs the whole product.
//! That takes hours, most of them in `enjima_strict`, whose workers idle while no operator is eligible.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::time::Duration;

use thalweg::{Chaining, EdgeLimits, EdgeMemory, Engine, Execution, Layout, Parallel, Record};
use thalweg_model::Span;
use thalweg_scheduling::policy::{by_name, enjima, names};
use thalweg_testkit::Case;
use thalweg_testkit::arrival::delayed;
use thalweg_testkit::case::{
    Exchanged, JoinedTwice, Lrb, LrbFull, Nyt, NytSource, Regrouped, Spread, Ysb, YsbPace, generated_traffic,
    stretch, verdict,
};
use thalweg_testkit::data::{TAXI_TRIPS, recorded};
use thalweg_testkit::hostile::{Reading, Sides};
use thalweg_testkit::pairwise::{covering, full};
use thalweg_testkit::seed::{entropy_for, sampled};
use thalweg_testkit::watchdog::{HUNG_AFTER, within};
use thalweg_workloads::lrb::{Direction, LrbGenerator, LrbRecord};

const BLOCK_RECORDS: [u32; 5] = [1, 2, 7, 384, 4_096];
const CHUNK_BLOCKS: [u32; 3] = [1, 4, 32];
const WORKERS: [u64; 4] = [1, 2, 3, 8];
/// One in this number of steps runs operator by operator, to measure them; 0 means that no step does.
const MEASURED_STEPS: [u64; 3] = [0, 2, 1];
const CHAINING: [Chaining; 3] = [Chaining::None, Chaining::Default, Chaining::All];
/// Settings for sharing: true if operators have as many copies as there are workers.
const SHARED: [bool; 2] = [false, true];

const EXECUTION: [Execution; 2] = [Execution::Workers, Execution::Threads];
/// Kinds of memory of edges. Queues are possible only in serial queries with each operator in a task of its
/// own.
const MEMORY: [EdgeMemory; 3] = [EdgeMemory::Blocks, EdgeMemory::Queue, EdgeMemory::QueueBatched];

/// Under CI one in this number of settings is tested.
const SAMPLED: usize = 3;

/// Settings of an engine and a query that no result may depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Variant {
    policy: &'static str,
    block_records: u32,
    chunk_blocks: u32,
    workers: u64,
    layout: Layout,
    measured_steps: u64,
    execution: Execution,
    memory: EdgeMemory,
}

impl Variant {
    /// Returns the settings to test: pairs, or all combinations if the environment asks for them.
    fn all() -> Vec<Variant> {
        let policies = names();
        let levels = [
            BLOCK_RECORDS.len(),
            CHUNK_BLOCKS.len(),
            WORKERS.len(),
            CHAINING.len(),
            policies.len(),
            MEASURED_STEPS.len(),
            SHARED.len(),
            EXECUTION.len(),
            MEMORY.len(),
        ];
        let is_full = std::env::var_os("THALWEG_FULL").is_some();
        let rows = if is_full { full(&levels) } else { covering(&levels) };
        let variant = |row: &Vec<usize>| {
            let workers = WORKERS[row[2]];
            let copies = Parallel::Epochs { workers: workers as usize };
            let memory = MEMORY[row[8]];
            let is_shared = SHARED[row[6]] && memory == EdgeMemory::Blocks;
            let parallel = if is_shared { copies } else { Parallel::Serial };
            let chaining = if memory == EdgeMemory::Blocks { CHAINING[row[3]] } else { Chaining::None };
            Variant {
                block_records: BLOCK_RECORDS[row[0]],
                chunk_blocks: CHUNK_BLOCKS[row[1]],
                workers,
                layout: Layout { chaining, parallel },
                policy: policies[row[4]],
                measured_steps: MEASURED_STEPS[row[5]],
                execution: EXECUTION[row[7]],
                memory,
            }
        };
        sampled(rows.len(), SAMPLED).map(|place| variant(&rows[place])).collect()
    }

    /// Returns the time after which a run counts as hung. Workers of `enjima_strict` idle while no operator
    /// is eligible, which may take up to a tenth of a second for as few records as an edge holds.
    fn patience(self) -> Duration {
        if self.policy == enjima::STRICT_NAME { 10 * HUNG_AFTER } else { HUNG_AFTER }
    }

    /// Runs a case on an engine of its own, and returns its results as sorted text.
    fn run(self, case: &mut dyn Case) -> Vec<String> {
        let Variant { policy, block_records, chunk_blocks, workers, layout, .. } = self;
        let edges = EdgeLimits { block_records, chunk_blocks, ..EdgeLimits::default() };
        let policy = by_name(policy).expect("it is one of the names");
        let builder = Engine::builder().workers(workers).edges(edges).policy(policy);
        let builder = builder.measured_steps(self.measured_steps);
        let builder = builder.execution(self.execution).memory(self.memory);
        let engine = builder.build().expect("settings lie in their range");
        let query = engine.submit(case.graph("query", layout)).expect("the budget is ample");
        let report = query.wait().unwrap_or_else(|error| panic!("{self:?}: {error}"));
        if let Some(wrong) = verdict(case, &report) {
            panic!("{self:?}: {wrong}");
        }
        case.rows()
    }
}

/// Checks that the case has the same results under all settings.
fn check(mut case: impl Case + Send + 'static) {
    let mut first: Option<Vec<String>> = None;
    for variant in Variant::all() {
        let rows;
        (case, rows) = within(variant.patience(), &format!("{variant:?}"), move || {
            let rows = variant.run(&mut case);
            (case, rows)
        });
        assert!(!rows.is_empty(), "an input without results proves nothing");
        let expected = first.get_or_insert_with(|| rows.clone());
        assert_eq!(&rows, expected, "{variant:?}");
    }
}

/// An engine with queues as edges refuses queries that several workers share, before anything runs.
#[test]
fn queues_are_for_serial_queries() {
    let engine = Engine::builder().memory(EdgeMemory::Queue).build().expect("settings lie in their range");
    let mut case = Ysb::new(100, YsbPace::Drained(900), Span::from_secs(10)).over_splits(2);
    let layout = Layout { chaining: Chaining::None, parallel: Parallel::Epochs { workers: 2 } };
    let refused = engine.submit(case.graph("query", layout)).err().expect("it is refused");
    assert_eq!((refused.code(), engine.budget().used_bytes()), ("QUEUE_MEMORY", 0));
    assert!(
        refused
            .to_string()
            .contains("but queue memory is for serial queries whose operators are a task each"),
        "{refused}"
    );
}

/// The results of YSB are the same under all settings, for three full windows of ten seconds and a partial
/// fourth.
#[test]
fn ysb_does_not_depend_on_how_it_runs() {
    check(Ysb::new(30_000, YsbPace::Drained(900), Span::from_secs(10)));
}

#[test]
fn ysb_of_several_splits_does_not_depend_on_how_it_runs() {
    check(Ysb::new(30_000, YsbPace::Drained(900), Span::from_secs(10)).over_splits(3));
}

#[test]
fn trips_of_several_splits_do_not_depend_on_how_they_run() {
    check(
        Nyt::new(NytSource::Generated { trips: 20_000, rate_per_s: 1_000 }, Span::from_secs(2))
            .over_splits(3),
    );
}

/// Sliding windows that allow lateness, behind flat maps and a static join, have the same results under all
/// settings.
#[test]
fn windows_over_splits_do_not_depend_on_how_they_run() {
    check(Spread::at_its_worst(1_000, &mut entropy_for(0, "windows over splits")));
}

/// Every kind of serial or keyed operation behind a source of several splits has the same results under all
/// settings.
#[test]
fn what_is_exchanged_by_key_does_not_depend_on_how_it_runs() {
    Exchanged::at_their_worst(600, &mut entropy_for(0, "exchanged by key")).into_iter().for_each(check);
}

#[test]
fn generated_trips_do_not_depend_on_how_they_run() {
    check(Nyt::new(NytSource::Generated { trips: 20_000, rate_per_s: 1_000 }, Span::from_secs(2)));
}

#[test]
fn recorded_trips_do_not_depend_on_how_they_run() {
    let Some(path) = recorded(TAXI_TRIPS) else { return };
    check(Nyt::new(NytSource::Recorded(path), Span::from_secs(60)));
}

/// Returns the traffic of three miles of Linear Road behind an accident, while the accident is cleared and
/// the jam behind it grows. Some cars pay, some get notices, and some send requests. Records come up to 30
/// seconds late.
fn road() -> (Vec<Record<LrbRecord>>, Span) {
    let traffic = stretch(&generated_traffic(7, 780..1_080), Direction::East, 34..=36);
    let bound = Span::from_secs(30);
    (delayed(&traffic, bound, &mut entropy_for(0, "road")), bound)
}

#[test]
fn segments_of_a_road_do_not_depend_on_how_they_run() {
    let (records, bound) = road();
    let case = Lrb::new(records, bound);
    assert!(case.expected().iter().any(|row| row.toll > 0), "nobody pays");
    assert!(case.expected().iter().any(|row| row.accidents > 0), "no accidents");
    check(case);
}

#[test]
fn cars_on_a_road_do_not_depend_on_how_they_run() {
    let (records, bound) = road();
    // Half of the requests for a day in the past have an entry in the table of past tolls.
    let asked = records.iter().filter_map(|record| match record.value {
        LrbRecord::Daily { vehicle, xway, day, .. } if vehicle % 2 == 0 => Some((vehicle, day, xway)),
        _ => None,
    });
    let asked: BTreeSet<(u32, u8, u16)> = asked.collect();
    let toll = |(vehicle, day, xway)| LrbGenerator::historical_toll(vehicle, day, xway);
    let case = LrbFull::new(records, bound, asked.into_iter().map(toll).collect());
    let expected = case.expected();
    assert!(expected.tolls.iter().any(|told| told.toll > 0), "nobody pays");
    assert!(expected.balances.iter().any(|answer| answer.balance > 0), "nobody has paid who asks");
    assert!(!expected.notices.is_empty() && !expected.dailies.is_empty() && expected.unanswered > 0);
    check(case);
}

/// Returns two streams with late records, equal stamps, and one key that nine in ten records have.
fn at_their_worst(count: usize, purpose: &str) -> (Sides, Vec<Vec<(i64, Reading)>>) {
    let sides = Sides::at_their_worst(2);
    let inputs = sides.readings(count, &mut entropy_for(0, purpose));
    (sides, inputs)
}

#[test]
fn joins_do_not_depend_on_how_they_run() {
    let (sides, inputs) = at_their_worst(600, "joins");
    check(JoinedTwice::new(sides, inputs));
}

#[test]
fn windows_and_sessions_do_not_depend_on_how_they_run() {
    let (sides, inputs) = at_their_worst(1_000, "windows and sessions");
    check(Regrouped::new(sides, inputs));
}
