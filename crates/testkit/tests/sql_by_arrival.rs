//! Windows and joins of SQL over processing time: rows come out when the clock has passed the end of their window, not
//! earlier, and not only with the next row.
//!
//! One table gives many rows in its first second and ends, the other one gives a row every twenty seconds. Windows are
//! two to six seconds long. So ten seconds after the start all rows of the first table must have come out, though the
//! query goes on. Time is virtual and advances in steps drawn by a seed.
#![forbid(unsafe_code)]

use std::sync::{Arc, Mutex};

use arrow::array::AsArray;
use arrow::datatypes::{Int64Type, TimestampMillisecondType};
use thalweg::{
    Chaining, Clock, Engine, Layout, Parallel, ProcessingTime, QueryState, SeededEntropy, Step, Stepped,
    VirtualClock,
};
use thalweg_model::Entropy;
use thalweg_sql::connect::World;
use thalweg_sql::connect::memory::{Collect, Collected};
use thalweg_sql::job::assemble;
use thalweg_sql::session::{Action, Session};
use thalweg_testkit::Seeds;
use thalweg_testkit::seed::entropy_for;

/// Number of rows of the table that gives many in its first second.
const MANY: i64 = 300;

/// Number of rows of the table that gives one every twenty seconds.
const FEW: i64 = 3;

/// Number of engine steps after which the engine counts as stuck.
const STEPS_MAX: usize = 1_000_000;

/// Processing time at which the query starts, and until which rows of the first table must have come out.
const STARTS_MS: i64 = 1_700_000_000_000;
const OUT_BY_MS: i64 = STARTS_MS + 10_000;

/// A query over the two tables, in which each row of the first table counts `times` times. Its results are an end of a
/// window, or NULL, and a number of rows of the first table.
struct Asked {
    query: &'static str,
    times: i64,
}

const QUERIES: [Asked; 7] = [
    Asked {
        query: "SELECT window_end, SUM(m) FROM TUMBLE(TABLE both_of, DESCRIPTOR(p), INTERVAL '2' SECOND)
                GROUP BY window_start, window_end",
        times: 1,
    },
    Asked {
        query: "SELECT window_end, SUM(m) FROM HOP(TABLE both_of, DESCRIPTOR(p), INTERVAL '2' SECOND, INTERVAL '6' SECOND)
                GROUP BY window_start, window_end, k",
        times: 3,
    },
    Asked {
        query: "SELECT window_end, m FROM SESSION(TABLE both_of PARTITION BY k, DESCRIPTOR(p), INTERVAL '3' SECOND)",
        times: 1,
    },
    Asked {
        query: "SELECT HOP_END(p, INTERVAL '1' SECOND, INTERVAL '2' SECOND), SUM(m) FROM both_of
                GROUP BY HOP(p, INTERVAL '1' SECOND, INTERVAL '2' SECOND), k",
        times: 2,
    },
    Asked {
        query: "SELECT TUMBLE_END(t, INTERVAL '4' SECOND), SUM(m) FROM (
                  SELECT TUMBLE_PROCTIME(p, INTERVAL '1' SECOND) AS t, k, SUM(m) AS m FROM both_of
                  GROUP BY TUMBLE(p, INTERVAL '1' SECOND), k
                ) GROUP BY TUMBLE(t, INTERVAL '4' SECOND)",
        times: 1,
    },
    Asked {
        query: "SELECT CAST(NULL AS TIMESTAMP(3)), l.m FROM often AS l LEFT JOIN seldom AS r
                ON l.id = r.id - 1000 AND l.p BETWEEN r.p - INTERVAL '4' SECOND AND r.p",
        times: 1,
    },
    Asked { query: "SELECT CAST(NULL AS TIMESTAMP(3)), m FROM both_of ORDER BY p, id DESC", times: 1 },
];

fn sql(query: &str) -> String {
    let table = |name: &str, last: i64, m: i64, pace: &str| {
        format!(
            "CREATE TABLE {name} (id BIGINT, m AS CAST({m} AS BIGINT), k AS MOD(id, 5), p AS PROCTIME())
             WITH ('connector' = 'datagen', {pace}, 'fields.id.kind' = 'sequence',
             'fields.id.start' = '0', 'fields.id.end' = '{last}');\n"
        )
    };
    // The seldom rows come one in twenty seconds, since a hundred rows of which few are kept come in that time.
    table("often", MANY - 1, 1, "'rows-per-second' = '300'")
        + &table("ticks", 20 * FEW, 0, "'rows-per-second' = '1'")
        + "CREATE VIEW seldom AS SELECT * FROM ticks WHERE MOD(id, 20) = 0;
           CREATE VIEW both_of AS SELECT id, m, k, p FROM often UNION ALL SELECT id, m, k, p FROM seldom;
           SET 'execution.runtime-mode' = 'streaming';"
        + query
        + ";"
}

/// Runs a query. Checks that no result comes before the end of its window, and that the rows of the first table are out
/// in time.
fn check(asked: &Asked, workers: usize, parallel: Parallel, entropy: &mut SeededEntropy) {
    let Asked { query, times } = asked;
    let start = ProcessingTime::from_nanos(STARTS_MS as u64 * 1_000_000);
    let clock = Arc::new(VirtualClock::starting_at(start));
    let shared: Arc<dyn Clock> = Arc::clone(&clock) as _;
    let actions = Session::new(Arc::clone(&shared))
        .read(&sql(query))
        .unwrap_or_else(|error| panic!("{query}: {error}"));
    let Some(Action::Run(job)) = actions.last() else { panic!("{query}: one query") };
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
    let (mut steps, mut seen, mut counted, mut was_checked) = (0, 0, 0, false);
    while matches!(handle.state(), QueryState::Running | QueryState::Paused) {
        steps += 1;
        assert!(steps < STEPS_MAX, "{query}: the query stands still");
        let draw = entropy.next_u64();
        let chosen = draw as usize % steppers.len();
        let step = steppers[chosen].step(&*clock);
        let _ = growth.step();
        let now_ms = i64::try_from(clock.now().as_nanos() / 1_000_000).expect("it is a time of this century");
        let has_ended = now_ms >= STARTS_MS + 20_000 * FEW;
        for (rows, _) in collected.lock().expect("the sink is alive").iter().skip(seen) {
            seen += 1;
            counted += rows.column(1).as_primitive::<Int64Type>().iter().flatten().sum::<i64>();
            let ends = rows.column(0).as_primitive::<TimestampMillisecondType>();
            let latest = ends.iter().flatten().max().unwrap_or(i64::MIN);
            assert!(
                latest <= now_ms || has_ended,
                "{query}: a window that ends at {latest} came at {now_ms}"
            );
        }
        if matches!(step, Step::Idle(_)) || draw >> 61 == 0 {
            if now_ms > OUT_BY_MS && !was_checked {
                was_checked = true;
                assert_eq!(counted, MANY * times, "{query}: ten seconds after the start");
            }
            clock.advance_to(clock.now().plus_nanos((draw >> 32) % 40_000_000));
        }
    }
    let report = handle.wait().unwrap_or_else(|error| panic!("{query}: {error}"));
    assert_eq!(report.conservation_error(), None);
    assert!(was_checked, "{query}");
    assert_eq!((counted, report.total(|counts| counts.late)), (MANY * times, 0), "{query}: at the end");
}

#[test]
fn rows_come_out_in_time() {
    Seeds::from_env("sql_by_arrival").one_in(10).each(|seed| {
        let mut entropy = entropy_for(seed, "by_arrival");
        for asked in &QUERIES {
            for workers in [1, 2] {
                for parallel in [Parallel::Serial, Parallel::Epochs { workers }] {
                    check(asked, workers, parallel, &mut entropy);
                }
            }
        }
    });
}
