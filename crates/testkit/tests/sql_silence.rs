//! SQL tables that become idle while their rows still wait in the engine. The watermark of an idle table
//! holds back all tables that it is joined or united with. So the results equal the results of the whole
//! input, for any number of workers and layout.
//!
//! Time is virtual and advances in steps drawn by a seed, so that sources are polled again at any stage of
//! the work.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use arrow::array::AsArray;
use arrow::datatypes::{Int64Type, TimestampMillisecondType};
use thalweg::{
    Chaining, Clock, Engine, Layout, Parallel, QueryState, SeededEntropy, Step, Stepped, VirtualClock,
};
use thalweg_model::Entropy;
use thalweg_sql::connect::World;
use thalweg_sql::connect::memory::{Collect, Collected};
use thalweg_sql::job::assemble;
use thalweg_sql::session::{Action, Session};
use thalweg_testkit::Seeds;
use thalweg_testkit::seed::entropy_for;

/// Number of rows of the table that emits many at a time. Their event times are a tenth of a second apart.
const MANY: i64 = 900;

/// Number of rows of the table that emits one at a time. Their event times are three seconds apart.
const FEW: i64 = 30;

/// Size of the query's windows in milliseconds.
const WINDOW_MS: i64 = 7_000;

/// Number of engine steps after which the engine counts as stuck.
const STEPS_MAX: usize = 1_000_000;

/// Number of rows and sum of their ids in each window, by the start of the window.
type Counted = BTreeMap<i64, (i64, i64)>;

fn expected() -> Counted {
    let times = (0..MANY).map(|id| (id, id * 100)).chain((0..FEW).map(|id| (id, id * 3_000)));
    let mut counted = Counted::new();
    for (id, ms) in times {
        let of = counted.entry(ms / WINDOW_MS * WINDOW_MS).or_default();
        *of = (of.0 + 1, of.1 + id);
    }
    counted
}

fn sql() -> String {
    let table = |name: &str, last: i64, apart_ms: i64, pace: u32| {
        format!(
            "CREATE TABLE {name} (id BIGINT, ts AS TO_TIMESTAMP_LTZ(id * {apart_ms}, 3), WATERMARK FOR ts AS ts)
             WITH ('connector' = 'datagen', 'rows-per-second' = '{pace}', 'fields.id.kind' = 'sequence',
             'fields.id.start' = '0', 'fields.id.end' = '{last}');\n"
        )
    };
    table("often", MANY - 1, 100, 3_000)
        + &table("seldom", FEW - 1, 3_000, 40)
        + &format!(
            "CREATE VIEW both_of AS SELECT id, ts FROM often UNION ALL SELECT id, ts FROM seldom;
             SELECT window_start, SUM(n), SUM(s) FROM (
               SELECT window_start, window_end, MOD(id, 5) AS k, COUNT(*) AS n, SUM(id) AS s
               FROM TABLE(TUMBLE(TABLE both_of, DESCRIPTOR(ts), INTERVAL '{}' SECONDS))
               GROUP BY window_start, window_end, MOD(id, 5)
             ) GROUP BY window_start, window_end;",
            WINDOW_MS / 1_000
        )
}

/// Returns the results of the query, and the number of late rows.
fn run(workers: usize, parallel: Parallel, entropy: &mut SeededEntropy) -> (Counted, u64) {
    let clock = Arc::new(VirtualClock::default());
    let shared: Arc<dyn Clock> = Arc::clone(&clock) as _;
    let actions = Session::new(Arc::clone(&shared)).read(&sql()).unwrap_or_else(|error| panic!("{error}"));
    let [Action::Run(job)] = &actions[..] else { panic!("one query") };
    let collected: Collected = Arc::new(Mutex::new(Vec::new()));
    let mut shown = |_: &[_], _| Ok(Box::new(Collect::new(Arc::clone(&collected))) as Box<_>);
    let world = World { clock: Arc::clone(&shared), ..World::default() };
    let assembled = assemble(job, &shared, &world, &mut shown).unwrap_or_else(|error| panic!("{error}"));
    let built = Engine::builder()
        .workers(workers as u64)
        .clock(Arc::clone(&shared))
        .entropy(Box::new(SeededEntropy::new(entropy.next_u64())))
        .build_stepped();
    let Stepped { engine, workers: mut steppers, growth, keeper: _keeper } =
        built.expect("settings lie in their range");
    let layout = Layout { chaining: Chaining::Default, parallel };
    let graph = assembled.query.plan(layout).expect("the stream ends in a sink");
    let handle = engine.submit(graph).expect("the budget is ample");
    let mut steps = 0;
    while matches!(handle.state(), QueryState::Running | QueryState::Paused) {
        steps += 1;
        assert!(steps < STEPS_MAX, "the query stands still");
        let draw = entropy.next_u64();
        let chosen = draw as usize % steppers.len();
        let step = steppers[chosen].step(&*clock);
        let _ = growth.step();
        // The clock moves now and then, with or without work, so rows become due while others wait.
        if matches!(step, Step::Idle(_)) || draw >> 61 == 0 {
            clock.advance_to(clock.now().plus_nanos((draw >> 32) % 4_000_000));
        }
    }
    let report = handle.wait().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.conservation_error(), None);
    let mut counted = Counted::new();
    for (rows, _) in collected.lock().expect("the sink is gone").iter() {
        let starts = rows.column(0).as_primitive::<TimestampMillisecondType>();
        let of = |column: usize| rows.column(column).as_primitive::<Int64Type>();
        for row in 0..rows.num_rows() {
            let known = counted.insert(starts.value(row), (of(1).value(row), of(2).value(row)));
            assert_eq!(known, None, "a window came out twice");
        }
    }
    (counted, report.total(|counts| counts.late))
}

#[test]
fn silent_tables_lose_no_rows() {
    let expected = expected();
    Seeds::from_env("sql_silence").one_in(10).each(|seed| {
        let mut entropy = entropy_for(seed, "silence");
        for workers in [1, 2, 4] {
            for parallel in [Parallel::Serial, Parallel::Epochs { workers }] {
                let (found, late) = run(workers, parallel, &mut entropy);
                assert_eq!((&found, late), (&expected, 0), "{workers} workers, {parallel:?}");
            }
        }
    });
}
