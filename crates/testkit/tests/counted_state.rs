//! The bytes that SQL operators count for their state differ from the bytes that the allocator gave them by
//! at most 10 %.
//!
//! A stepped engine runs each query on the thread of the test. State grows to some tens of mebibytes. The
//! bytes charged to the budget meanwhile are compared with the net bytes that this thread allocated. The
//! counting allocator comes with `allocation-counter`. Memory allocated before the state grows (plans, chunks
//! of edges, scratch of kernels) is in neither figure.
#![forbid(unsafe_code)]

use std::sync::Arc;

use allocation_counter::measure;
use thalweg::{Chaining, Clock, Engine, Layout, Parallel, SeededEntropy, Stepped, VirtualClock};
use thalweg_sql::connect::World;
use thalweg_sql::connect::memory::{Collect, Collected};
use thalweg_sql::job::{assemble, batch_edges};
use thalweg_sql::session::{Action, Session};

/// Size of the state in bytes at which the comparison begins.
const BEGIN_BYTES: i64 = 12 << 20;

/// Size of the state in bytes at which the comparison ends.
const END_BYTES: i64 = 60 << 20;

/// Approximate bytes that the allocator uses beyond the size of an allocation, with rounding. Operators count
/// them.
const OVERHEAD_BYTES: i64 = 12;

/// Largest number of engine steps until the state has grown from the first size to the second.
const STEPS_MAX: usize = 2_000_000;

/// Largest relative difference between counted and allocated bytes.
const TOLERANCE: f64 = 0.10;

/// Returns the SQL of a table of numbered rows with a text of 20 characters each. The event times of the rows
/// are one millisecond apart.
fn table(name: &str) -> String {
    format!(
        "CREATE TABLE {name} (n BIGINT, s STRING, ts AS TO_TIMESTAMP_LTZ(n, 3), WATERMARK FOR ts AS ts) WITH ('connector' = \
         'datagen', 'rows-per-second' = '9223372036854775807', 'fields.s.length' = '20', 'fields.n.kind' = 'sequence', \
         'fields.n.start' = '1', 'fields.n.end' = '100000000');\n"
    )
}

/// The bytes that operators have counted and the bytes that were allocated since the query was submitted.
#[derive(Clone, Copy, Debug)]
struct Held {
    counted: i64,
    allocated: i64,
}

/// Runs a query in a runtime mode, and returns its bytes when its state is small and when the state has grown.
fn run(mode: &str, select: &str) -> (Held, Held) {
    let sets = format!("SET 'table.exec.state.ttl' = '100 d'; SET 'execution.runtime-mode' = '{mode}';");
    let sql = format!("{sets}\n{}{}{select};", table("t"), table("u"));
    let clock = Arc::new(VirtualClock::default());
    let shared: Arc<dyn Clock> = Arc::clone(&clock) as _;
    let actions = Session::new(Arc::clone(&shared)).read(&sql).unwrap_or_else(|error| panic!("{error}"));
    let [Action::Run(job)] = &actions[..] else { panic!("one query: {select}") };
    let collected: Collected = Arc::default();
    let mut shown = |_: &[_], _| Ok(Box::new(Collect::new(Arc::clone(&collected))) as Box<_>);
    let world = World { clock: Arc::clone(&shared), ..World::default() };
    let assembled = assemble(job, &shared, &world, &mut shown).unwrap_or_else(|error| panic!("{error}"));
    let built = Engine::builder()
        .clock(Arc::clone(&shared))
        .entropy(Box::new(SeededEntropy::new(0)))
        .memory_budget_bytes(1 << 30)
        // Blocks on edges are as small as possible, because batches on edges are counted in neither figure.
        .edges(batch_edges(usize::MAX, 1, 0))
        .build_stepped();
    let Stepped { engine, mut workers, growth, keeper: _keeper } =
        built.expect("settings lie in their range");
    let graph = assembled.query.plan(Layout { chaining: Chaining::Default, parallel: Parallel::Serial });
    let before = engine.budget().used_bytes() as i64;
    let handle = engine.submit(graph.expect("the stream ends in a sink")).expect("the budget is ample");
    let mut allocated = 0;
    let mut begin = None;
    for _ in 0..STEPS_MAX {
        let stepped = measure(|| {
            let _step = workers[0].step(&*clock);
            while growth.step() {}
            // Collected results are dropped, because they are not state of the query.
            collected.lock().expect("nobody else writes").clear();
        });
        clock.advance_to(clock.now().plus_nanos(1_000));
        allocated += stepped.bytes_current + stepped.count_current * OVERHEAD_BYTES;
        let held = Held { counted: engine.budget().used_bytes() as i64 - before, allocated };
        let most = held.counted.max(allocated);
        if begin.is_none() && most >= BEGIN_BYTES {
            begin = Some(held);
        }
        if let Some(begin) = begin.filter(|_| most >= END_BYTES) {
            return (begin, held);
        }
    }
    panic!("state stays small: {select}: {allocated} bytes, {:?}", handle.state());
}

fn check(select: &str) {
    check_in("streaming", select);
}

fn check_in(mode: &str, select: &str) {
    let (begin, end) = run(mode, select);
    let (counted, allocated) = (end.counted - begin.counted, end.allocated - begin.allocated);
    let ratio = counted as f64 / allocated as f64;
    println!("{ratio:.3} of {allocated} bytes: {select}");
    assert!(
        (ratio - 1.0).abs() <= TOLERANCE,
        "counted is {ratio:.3} of allocated: {begin:?} {end:?}: {select}"
    );
}

const DAY: &str = "DESCRIPTOR(ts), INTERVAL '1000' DAY";

#[test]
fn groups() {
    check("SELECT n, COUNT(*), SUM(n) FROM t GROUP BY n");
}

#[test]
fn final_rows() {
    check_in("batch", "SELECT s, n FROM t ORDER BY s");
    check_in("batch", "SELECT n, s FROM t ORDER BY n");
    check_in("batch", "SELECT n, COUNT(*) FROM t GROUP BY n");
}

#[test]
fn groups_by_text() {
    check("SELECT s, COUNT(*), MAX(n) FROM t GROUP BY s");
}

#[test]
fn groups_with_texts_as_extremes() {
    check("SELECT n, MIN(s), MAX(s) FROM t GROUP BY n");
}

#[test]
fn windows() {
    check(&format!("SELECT n, COUNT(*) FROM TUMBLE(TABLE t, {DAY}) GROUP BY n, window_start, window_end"));
}

#[test]
fn windows_by_text() {
    check(&format!("SELECT s, AVG(n) FROM TUMBLE(TABLE t, {DAY}) GROUP BY s, window_start, window_end"));
}

#[test]
fn distinct_texts() {
    check(&format!("SELECT COUNT(DISTINCT s) FROM TUMBLE(TABLE t, {DAY}) GROUP BY window_start, window_end"));
}

#[test]
fn distinct_numbers() {
    check("SELECT MOD(n, 10), COUNT(DISTINCT n) FROM t GROUP BY MOD(n, 10)");
}

#[test]
fn lists() {
    check(&format!("SELECT LISTAGG(s) FROM TUMBLE(TABLE t, {DAY}) GROUP BY window_start, window_end"));
    check(&format!("SELECT ARRAY_AGG(s) FROM TUMBLE(TABLE t, {DAY}) GROUP BY window_start, window_end"));
}

#[test]
fn sessions() {
    let of = |key: &str| {
        format!(
            "SELECT {key}, COUNT(*) FROM SESSION(TABLE t PARTITION BY {key}, {DAY}) GROUP BY {key}, window_start, window_end"
        )
    };
    check(&of("n"));
    check(&of("s"));
}

#[test]
fn joins() {
    check("SELECT t.n, u.s FROM t JOIN u ON t.n = u.n + 50000000");
    check("SELECT t.s, u.s FROM t FULL JOIN u ON t.s = u.s");
}

#[test]
fn interval_joins() {
    check("SELECT t.n, u.s FROM t JOIN u ON t.n = u.n AND u.ts BETWEEN t.ts - INTERVAL '99' DAY AND t.ts");
}

#[test]
fn window_joins() {
    check(&format!(
        "SELECT a.n, b.s FROM (SELECT * FROM TUMBLE(TABLE t, {DAY})) a JOIN (SELECT * FROM TUMBLE(TABLE u, {DAY})) b \
         ON a.n = b.n AND a.window_start = b.window_start AND a.window_end = b.window_end"
    ));
}

#[test]
fn over() {
    check(
        "SELECT n, COUNT(*) OVER (PARTITION BY MOD(n, 100) ORDER BY ts RANGE BETWEEN INTERVAL '99' DAY PRECEDING AND CURRENT ROW) \
         FROM t",
    );
    check("SELECT n, SUM(n) OVER (PARTITION BY n ORDER BY ts) FROM t");
}

#[test]
fn ranks() {
    check("SELECT n, s FROM (SELECT n, s, ROW_NUMBER() OVER (ORDER BY n) AS r FROM t) WHERE r <= 10000000");
    check(
        "SELECT n, s FROM (SELECT n, s, ROW_NUMBER() OVER (PARTITION BY n ORDER BY ts DESC) AS r FROM t) WHERE r = 1",
    );
}

#[test]
fn sorted_rows() {
    check(&format!(
        "SELECT window_start, n, s FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY s) AS r \
         FROM TUMBLE(TABLE t, {DAY})) WHERE r <= 100000000"
    ));
}

#[test]
fn distinct_rows() {
    check("SELECT DISTINCT n, s FROM t");
}
