//! Queries whose state goes to disk give the same rows as in memory, for any number of workers, policy, size of batches and
//! share of memory; and nothing stays on disk, whether they end, fail or are refused.
#![forbid(unsafe_code)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use thalweg::scheduling::policy::by_name;
use thalweg::{Chaining, Clock, Engine, Layout, Parallel, SystemClock};
use thalweg_sql::connect::{Division, Output, RowSink, World};
use thalweg_sql::job::{BATCH_EDGES, Shown, assemble};
use thalweg_sql::session::{Action, Session};

#[path = "support/kept.rs"]
mod kept;
use kept::Kept;

/// A directory with a file of rows, which is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("thalweg-spilling-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a directory");
        let mut text = String::new();
        for row in 0..ROWS {
            let key = row * 7_919 % 1_503;
            let k = if key % 101 == 3 { String::new() } else { format!("key {key}") };
            let d = ["0.0", "-0.0", "1.5", ""][(row % 4) as usize];
            let _ = writeln!(text, "{k},{},{row},{d},{}", key % 37, key % 5 == 0);
        }
        fs::write(path.join("f.csv"), text).expect("it is written");
        Folder(path)
    }

    /// Returns the names in the directory for state.
    fn left(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.0.join("state")).into_iter().flatten();
        entries.map(|entry| entry.expect("an entry").path()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const ROWS: u64 = 6_000;

/// Share of memory of each worker that no query of these tests stays below.
const MUST_SPILL_BYTES: usize = 6 << 10;

const TABLE: &str = "CREATE TABLE f (k STRING, g BIGINT, v BIGINT, d DOUBLE, b BOOLEAN) WITH ('connector' = 'filesystem', 'path' = 'f.csv', 'format' = 'csv', 'csv.null-literal' = '');\n";

const SPILL: &str = "SET 'thalweg.state.spill-dir' = 'state';\n";

/// How a query runs.
#[derive(Clone, Copy, Debug)]
struct Manner {
    workers: usize,
    policy: &'static str,
    piece_bytes: usize,
    /// Bytes of memory for the state of each copy of an operator, if state may go to disk.
    share_bytes: Option<usize>,
}

const IN_MEMORY: Manner = Manner { workers: 1, policy: "enjima", piece_bytes: 256 << 10, share_bytes: None };

/// Rows that a query shows, or the code with which it fails, and the numbers of rows that were written to disk and read back.
type Found = (Result<Vec<String>, &'static str>, u64, u64);

fn run(folder: &Path, sql: &str, manner: Manner) -> Found {
    let Manner { workers, policy, piece_bytes, share_bytes } = manner;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let set = if share_bytes.is_some() { SPILL } else { "" };
    let actions = Session::new(Arc::clone(&clock)).read(&format!("{set}{TABLE}{sql}")).expect("a query");
    let [Action::Run(job)] = &actions[..] else { panic!("one job") };
    let kept = Kept::default();
    let stdout: Output = Arc::new(Mutex::new(Box::new(kept.clone())));
    let division = Division { workers, piece_bytes, ..Division::default() };
    let world = World {
        base: folder.to_owned(),
        clock: Arc::clone(&clock),
        division,
        state_share_bytes: share_bytes,
        ..World::default()
    };
    let mut shown = |columns: &[_], changes: thalweg_sql::bind::changelog::Changes| {
        let shown = Shown::text(columns, job.settings.zone, !changes.is_none(), Output::clone(&stdout));
        Ok(Box::new(shown) as Box<dyn RowSink>)
    };
    let assembled = assemble(job, &clock, &world, &mut shown).expect("the tables are there");
    let spill = assembled.spill.clone();
    assert_eq!(spill.is_some(), share_bytes.is_some());
    let engine = Engine::builder().workers(workers as u64).clock(Arc::clone(&clock)).edges(BATCH_EDGES);
    let engine = engine.policy(by_name(policy).expect("a policy")).build().expect("an engine");
    let parallel = if workers > 1 { Parallel::Epochs { workers } } else { Parallel::Serial };
    let graph = assembled.query.plan(Layout { chaining: Chaining::Default, parallel }).expect("a plan");
    let ended = engine.submit(graph).expect("it fits").wait();
    drop(engine);
    let bytes = kept.0.lock().expect("nobody panics").clone();
    let lines = String::from_utf8(bytes).expect("text").lines().map(str::to_owned).collect();
    let totals = spill.map(|spill| spill.totals()).unwrap_or_default();
    assert_eq!(totals.bytes, 0, "{sql} {manner:?}");
    (ended.map(|_| lines).map_err(|error| error.code()), totals.rows_written, totals.rows_read)
}

/// Compares the rows of a query in memory with those of runs whose state goes to disk. Rows that are not `ordered` are
/// compared in the order of their text.
fn check(name: &str, sql: &str, is_ordered: bool) {
    let folder = Folder::new(name);
    let in_order = |found: Found| {
        let mut lines = found.0.unwrap_or_else(|code| panic!("{sql}: {code}"));
        if !is_ordered {
            lines.sort();
        }
        (lines, found.1, found.2)
    };
    let (expected, ..) = in_order(run(&folder.0, sql, IN_MEMORY));
    assert!(expected.len() > 30, "{sql}: {expected:?}");
    let has_limit = sql.contains("LIMIT");
    for workers in [1, 2, 3, 8] {
        for (policy, piece_bytes, share_bytes) in [
            ("enjima", 256 << 10, 6 << 10),
            ("fcfs", 4_096, 1),
            ("klink", 100, 40 << 10),
            ("enjima", 4_096, usize::MAX),
        ] {
            // The least share gives thousands of files.
            if share_bytes == 1 && workers > 2 {
                continue;
            }
            let manner = Manner { workers, policy, piece_bytes, share_bytes: Some(share_bytes) };
            let (found, written, read) = in_order(run(&folder.0, sql, manner));
            if found != expected {
                let first = found.iter().zip(&expected).find(|(found, expected)| found != expected);
                panic!("{sql} {manner:?}: {} and {} rows: {first:?}", found.len(), expected.len());
            }
            // Each row that was written is read back once, unless no more rows are wanted.
            assert!(read == written || (has_limit && read < written), "{sql} {manner:?}: {written} {read}");
            match share_bytes {
                usize::MAX => assert_eq!(written, 0, "{sql} {manner:?}"),
                share_bytes => assert!(written > 0 || share_bytes > MUST_SPILL_BYTES, "{sql} {manner:?}"),
            }
            assert_eq!(folder.left(), Vec::<PathBuf>::new(), "{sql} {manner:?}");
        }
    }
}

#[test]
fn groups_of_text() {
    check(
        "text",
        "SELECT k || CAST(v / 2 AS STRING), COUNT(*), SUM(v), MIN(v), MAX(v), AVG(v), COUNT(d), COUNT(*) FILTER (WHERE b), MAX(k) FROM f GROUP BY k || CAST(v / 2 AS STRING)",
        false,
    );
}

#[test]
fn groups_of_several_columns() {
    check("several", "SELECT k, g, b, d, COUNT(*), SUM(v) FROM f GROUP BY k, g, b, d", false);
}

#[test]
fn groups_of_numbers_with_distinct_values() {
    let sql =
        "SELECT v / 8, COUNT(DISTINCT k), SUM(DISTINCT g), COUNT(DISTINCT d), MIN(k) FROM f GROUP BY v / 8";
    check("distinct_values", sql, false);
}

#[test]
fn distinct_rows() {
    check("distinct", "SELECT DISTINCT k, g, d FROM f", false);
}

#[test]
fn groups_of_groups() {
    check(
        "groups",
        "SELECT n, COUNT(*) FROM (SELECT v % 5011 AS m, COUNT(*) + v % 5011 AS n FROM f GROUP BY v % 5011) GROUP BY n",
        false,
    );
}

#[test]
fn groups_in_batch_mode() {
    check(
        "batch",
        "SET 'execution.runtime-mode' = 'batch';\nSELECT k, v % 10, COUNT(*) FROM f GROUP BY k, v % 10",
        false,
    );
}

#[test]
fn rows_in_order() {
    check("order", "SELECT k, v, d FROM f ORDER BY d DESC, k, v", true);
}

#[test]
fn rows_in_order_and_equal() {
    check("equal", "SELECT g, b FROM f ORDER BY b DESC", true);
}

#[test]
fn a_part_of_the_rows_in_order() {
    check("part", "SELECT k, v FROM f ORDER BY k DESC, v LIMIT 3000 OFFSET 1500", true);
}

#[test]
fn the_last_rows_in_order() {
    check("last", "SELECT k, v FROM f ORDER BY k DESC, v LIMIT 9000 OFFSET 5500", true);
}

#[test]
fn groups_in_order() {
    check(
        "groups_order",
        "SELECT k, COUNT(*) AS n, SUM(v) FROM f GROUP BY k, v % 5 ORDER BY n DESC, k",
        true,
    );
}

/// With a time to live, groups give changes, so the rows in order are taken back and come again.
#[test]
fn changing_rows_in_order() {
    let sql = "SET 'table.exec.state.ttl' = '1 d';\nSELECT k, COUNT(*) AS n, MAX(v) FROM f GROUP BY k, v % 3 ORDER BY n DESC, k";
    check("changes", sql, true);
}

#[test]
fn a_part_of_changing_rows_in_order() {
    let sql = "SET 'table.exec.state.ttl' = '1 d';\nSELECT k, COUNT(*) AS n, MAX(v) FROM f GROUP BY k, v % 3 ORDER BY n DESC, k LIMIT 300 OFFSET 500";
    check("changes_part", sql, true);
}

const SPILLED: Manner = Manner { share_bytes: Some(10_000), ..IN_MEMORY };

/// A query that would put more on disk than it may ends with SPILL_LIMIT, and its files go.
#[test]
fn the_bound_on_disk_holds() {
    let folder = Folder::new("bound");
    for sql in ["SELECT k, v, COUNT(*) FROM f GROUP BY k, v", "SELECT k, v FROM f ORDER BY v"] {
        for workers in [1, 3] {
            let sql = format!("SET 'thalweg.state.spill-size' = '40 kb';\n{sql}");
            let (found, written, _) = run(&folder.0, &sql, Manner { workers, ..SPILLED });
            assert_eq!(found, Err("SPILL_LIMIT"), "{sql}");
            assert!(written > 0, "{sql}");
            assert_eq!(folder.left(), Vec::<PathBuf>::new(), "{sql}");
        }
    }
}

/// A query that fails while rows are on disk leaves none.
#[test]
fn a_failure_leaves_nothing() {
    let folder = Folder::new("failure");
    let sql = "SELECT k, v, COUNT(*) FROM f GROUP BY k, v HAVING 1 / (MAX(v) - 5999) < 0";
    for workers in [1, 3] {
        let (found, written, _) = run(&folder.0, sql, Manner { workers, ..SPILLED });
        assert_eq!(found, Err("DIVISION_BY_ZERO"));
        assert!(written > 0);
        assert_eq!(folder.left(), Vec::<PathBuf>::new());
    }
}

/// A directory that is a file is refused with its name, before the answer.
#[test]
fn a_directory_that_is_none() {
    let folder = Folder::new("none");
    fs::write(folder.0.join("state"), "no directory").expect("it is written");
    let (found, ..) = run(&folder.0, "SELECT k, v, COUNT(*) FROM f GROUP BY k, v", SPILLED);
    assert_eq!(found, Err("SPILL_FAILED"));
}
