//! The idle time-out of SQL tables: a table without rows for so long does not hold back the watermark of a union, and
//! does so again once it has a row. Time is virtual.
#![forbid(unsafe_code)]

use std::sync::{Arc, Mutex};

use thalweg::{Chaining, Clock, Engine, Layout, Parallel, Step, Stepped, VirtualClock};
use thalweg_sql::connect::World;
use thalweg_sql::connect::memory::{Collect, Collected};
use thalweg_sql::job::assemble;
use thalweg_sql::session::{Action, Session};

/// Milliseconds for which a query runs.
const RUN_MS: u64 = 6_000;

/// Idle time-out of the tables in milliseconds. The slow table has a row each second, so it is idle for the rest of each.
const IDLE_MS: u64 = 300;

/// Nanoseconds of a millisecond.
const MS: u64 = 1_000_000;

/// Runs a union of two tables for [`RUN_MS`], and returns the milliseconds at which windows of a second came out. The fast
/// table has ten rows a second, whose event times go with the clock. The slow one has a row a second, and its event times
/// stay near 0.
fn run(setting: &str, option: &str) -> Vec<u64> {
    let table = |name: &str, apart_ms: u64, pace: u64| {
        format!(
            "CREATE TABLE {name} (id BIGINT, ts AS TO_TIMESTAMP_LTZ(id * {apart_ms}, 3), WATERMARK FOR ts AS ts)
             WITH ('connector' = 'datagen', 'rows-per-second' = '{pace}', 'fields.id.kind' = 'sequence',
             'fields.id.start' = '0', 'fields.id.end' = '100000'{option});\n"
        )
    };
    let sql = format!(
        "{setting}{}{}CREATE VIEW both_of AS SELECT ts FROM fast UNION ALL SELECT ts FROM slow;
         SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE both_of, DESCRIPTOR(ts), INTERVAL '1' SECOND))
         GROUP BY window_start, window_end;",
        table("fast", 100, 10),
        table("slow", 1, 1),
    );
    let clock = Arc::new(VirtualClock::default());
    let shared: Arc<dyn Clock> = Arc::clone(&clock) as _;
    let actions = Session::new(Arc::clone(&shared)).read(&sql).unwrap_or_else(|error| panic!("{error}"));
    let [Action::Run(job)] = &actions[..] else { panic!("one query") };
    let collected: Collected = Arc::new(Mutex::new(Vec::new()));
    let mut shown = |_: &[_], _| Ok(Box::new(Collect::new(Arc::clone(&collected))) as Box<_>);
    let world = World { clock: Arc::clone(&shared), ..World::default() };
    let assembled = assemble(job, &shared, &world, &mut shown).unwrap_or_else(|error| panic!("{error}"));
    let built = Engine::builder().workers(1).clock(Arc::clone(&shared)).build_stepped();
    let Stepped { engine, workers: mut steppers, growth, keeper: _keeper } =
        built.expect("settings lie in their range");
    let layout = Layout { chaining: Chaining::Default, parallel: Parallel::Serial };
    let handle = engine.submit(assembled.query.plan(layout).expect("it ends in a sink")).expect("it fits");
    let start = clock.now();
    let mut came = Vec::new();
    loop {
        let is_idle = matches!(steppers[0].step(&*clock), Step::Idle(_)) && !growth.step();
        let elapsed_ms = clock.now().nanos_since(start) / MS;
        let rows: usize =
            collected.lock().expect("the sink lives").iter().map(|(rows, _)| rows.num_rows()).sum();
        came.resize(rows.max(came.len()), elapsed_ms);
        if RUN_MS <= elapsed_ms {
            break;
        }
        if is_idle {
            clock.advance_to(clock.now().plus_nanos(10 * MS));
        }
    }
    handle.cancel();
    came
}

const SETTING: &str = "SET 'table.exec.source.idle-timeout' = '300 ms';";
const OPTION: &str = ", 'scan.watermark.idle-timeout' = '300 ms'";
const OPTION_OFF: &str = ", 'scan.watermark.idle-timeout' = '0 ms'";

#[test]
fn an_idle_table_holds_nothing_back_until_its_next_row() {
    for (setting, option) in [(SETTING, ""), ("", OPTION)] {
        let came = run(setting, option);
        assert!((4..=6).contains(&came.len()), "{setting}{option}: {came:?}");
        // The slow table has a row at the start of each second, and holds back the watermark until it is idle.
        for ms in &came {
            assert!(IDLE_MS <= ms % 1_000 + 20, "{setting}{option}: {came:?}");
        }
    }
}

/// Without a time-out the slow table holds back all windows. The option of a table has precedence over the setting.
#[test]
fn no_time_out_holds_everything_back() {
    for (setting, option) in [("", ""), (SETTING, OPTION_OFF)] {
        assert_eq!(run(setting, option), Vec::<u64>::new(), "{setting}{option}");
    }
}
