//! Tests of `thalweg run` and `thalweg check` as a user runs them: what jobs of one run share, and where and
//! in which shape messages appear.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use serde_json::Value;

use crate::support::{Folder, Ran};

const STDIN: &str = "WITH ('connector' = 'stdin', 'format' = 'csv');\n";

/// Runs `thalweg LINE`, with further arguments behind the line and bytes on standard input.
fn run(folder: &Folder, line: &str, more: &[&str], input: &str) -> Ran {
    let mut command = folder.command(line);
    command.args(more).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Writing fails if a command that does not read its input has closed the pipe, so the result is ignored.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    Ran::of(line, child.wait_with_output().unwrap())
}

/// Parses a stream of JSON objects, one per line. A line that is not an object fails the test.
fn objects(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
        .collect()
}

/// A job ends when each of its queries has a full LIMIT over all of its tables, also one within another, and goes on if one of
/// them lacks it.
#[test]
fn a_full_limit_ends_a_job() {
    let folder = Folder::new("sql_limit");
    let tables = "CREATE TABLE n (x INT) WITH ('connector' = 'datagen', 'rows-per-second' = '1000');
        CREATE TABLE a (x INT) WITH ('connector' = 'print'); CREATE TABLE b (x INT) WITH ('connector' = 'print');";
    // Returns the lines of the output, and the time that the run took.
    let timed = |query: &str, span: &str| {
        folder.write("q.sql", format!("{tables}{query};"));
        let begin = Instant::now();
        let ran = run(&folder, "run q.sql --for", &[span], "");
        assert_eq!(ran.code, 0, "{query}: {ran:?}");
        (ran.stdout.lines().count(), begin.elapsed())
    };
    let ends = |query: &str, lines: usize| {
        let (found, elapsed) = timed(query, "60s");
        assert_eq!(found, lines, "{query}");
        assert!(elapsed < Duration::from_secs(30), "{query} took {elapsed:?}");
    };
    let goes_on = |query: &str| {
        let (_, elapsed) = timed(query, "500ms");
        assert!(elapsed >= Duration::from_millis(500), "{query} took {elapsed:?}");
    };
    ends("SELECT x FROM n LIMIT 3", 4);
    ends("SELECT x FROM n LIMIT 0", 1);
    ends("SELECT x FROM (SELECT x FROM n LIMIT 2) LIMIT 5", 3);
    ends("SELECT x FROM (SELECT x FROM n UNION ALL SELECT x FROM n) LIMIT 2", 3);
    let set = |second: &str| {
        format!(
            "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT x FROM n LIMIT 2; INSERT INTO b {second}; END"
        )
    };
    ends(&set("SELECT x + 1 FROM n LIMIT 3"), 5);
    goes_on(&set("SELECT x FROM n WHERE x IS NULL"));
    goes_on("SELECT x FROM (SELECT x FROM n LIMIT 2) UNION ALL SELECT x FROM n WHERE x IS NULL");
}

/// Only one job may read the standard input, because two jobs would each get a part of it.
#[test]
fn the_standard_input_is_one_tables() {
    let folder = Folder::new("sql_stdin");
    let tables = format!("CREATE TABLE T (a INT) {STDIN}CREATE TABLE U (a INT) {STDIN}");
    let check = |queries: &str, expected: &str| {
        folder.write("q.sql", format!("{tables}{queries}"));
        for command in ["run", "check"] {
            let ran = run(&folder, &format!("{command} q.sql"), &[], "1\n2\n");
            assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
            assert!(
                ran.stderr.contains("INVALID: the standard input is not `") && ran.stderr.contains(expected),
                "{ran:?}"
            );
        }
    };
    check("SELECT a FROM T; SELECT a FROM T;", "`T` of another query reads it already");
    check("SELECT a FROM T; SELECT a FROM U;", "`T` of another query reads it already");
    check("SELECT a FROM T UNION ALL SELECT a FROM U;", "`T` reads it already");
    // Several parts of a job may use the table on the standard input, because the job reads it once.
    folder.write("q.sql", format!("{tables}SELECT a FROM T UNION ALL SELECT a FROM T;"));
    let ran = run(&folder, "run q.sql", &[], "1\n2\n");
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 5), "{ran:?}");
    let ran = run(&folder, "run -", &[], &format!("{tables}SELECT a FROM T;"));
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("the SQL itself comes from there"), "{ran:?}");
    let ran = run(&folder, "run -", &[], "SELECT 1 AS a;");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "a\n1\n"), "{ran:?}");
}

/// Bad records of two jobs are written to one file, and the note names the file.
#[test]
fn jobs_divert_to_one_file() {
    let folder = Folder::new("sql_divert");
    let lines = |bad: &str| {
        (0..500)
            .map(|row| if row % 10 == 0 { format!("{bad}\n") } else { format!("{row}\n") })
            .collect::<String>()
    };
    folder.write("t.csv", lines("x"));
    folder.write("u.csv", lines("y"));
    let table = |name: &str, file: &str, divert: &str| {
        format!(
            "CREATE TABLE {name} (a INT) WITH ('connector' = 'filesystem', 'path' = '{file}', 'format' = 'csv', \
             'thalweg.on-bad' = 'divert:{divert}');\n"
        )
    };
    let sql = table("T", "t.csv", "bad.json")
        + &table("U", "u.csv", "./bad.json")
        + "SELECT a FROM T;\nSELECT a FROM U;\n";
    folder.write("q.sql", sql);
    let ran = folder.run("run q.sql");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stderr.contains(", 50 bad (in bad.json)") && ran.stderr.contains(", 50 bad (in ./bad.json)"),
        "{ran:?}"
    );
    let bad = folder.text("bad.json").unwrap();
    assert_eq!((bad.matches("\"raw\":\"x\"").count(), bad.matches("\"raw\":\"y\"").count()), (50, 50));
    let ran = folder.run("run q.sql --output json");
    // The jobs may end in any order, so the object is found by its name.
    let notes = objects(&ran.stderr);
    let first = notes.iter().find(|note| note["job"] == "query-3").unwrap();
    assert_eq!(first["diverted_to"], serde_json::json!(["bad.json"]), "{ran:?}");
}

#[test]
fn two_jobs_do_not_write_one_file() {
    let folder = Folder::new("sql_single_file");
    let table = |name: &str, file: &str| {
        format!(
            "CREATE TABLE {name} (a INT) WITH ('connector' = 'filesystem', 'path' = '{file}', 'format' = 'csv', \
             'thalweg.single-file' = 'true');\n"
        )
    };
    let tables = table("T", "out/a.csv") + &table("U", "./out/a.csv");
    fs::create_dir(folder.path("out")).unwrap();
    std::os::unix::fs::symlink("out", folder.path("also")).unwrap();
    for (queries, commands) in [
        ("INSERT INTO T SELECT 1; INSERT INTO T SELECT 2;".to_owned(), &["run", "check"][..]),
        ("INSERT INTO T SELECT 1; INSERT INTO U SELECT 2;".to_owned(), &["run", "check"]),
        // Only the file system shows that the two paths lead to the same file, so `check` does not find the
        // conflict.
        (format!("{}INSERT INTO T SELECT 1; INSERT INTO V SELECT 2;", table("V", "also/a.csv")), &["run"]),
    ] {
        folder.write("q.sql", format!("{tables}{queries}"));
        for command in commands {
            let ran = folder.run(&format!("{command} q.sql"));
            assert_eq!(ran.code, 1, "{ran:?}");
            assert!(ran.stderr.contains("a.csv is written by two INSERTs"), "{ran:?}");
            assert_eq!(fs::read_dir(folder.path("out")).unwrap().count(), 0, "{queries}");
        }
    }
}

/// With `--output json`, both streams hold nothing but JSON.
#[test]
fn all_output_is_json() {
    let folder = Folder::new("sql_json");
    let sql = "CREATE TABLE T (a INT, `b c` STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '1');
        SET 'table.exec.state.ttl' = '1 h'; SHOW TABLES; DESCRIBE T; EXPLAIN SELECT a FROM T;
        SELECT t.a, u.a FROM (VALUES (1)) AS t (a) JOIN (VALUES (1)) AS u (a) ON t.a = u.a;\n";
    folder.write("q.sql", sql);
    let ran = folder.run("run q.sql --output json");
    assert_eq!(ran.code, 0, "{ran:?}");
    let shown = objects(&ran.stdout);
    assert_eq!(shown[0], serde_json::json!({ "show": ["T"] }));
    assert_eq!(
        shown[1],
        serde_json::json!({ "show": [
        "name,type,null,key,extras,watermark",
        "a,INT,TRUE,NULL,NULL,NULL",
        "b c,STRING,TRUE,NULL,NULL,NULL"
    ] })
    );
    assert_eq!((&shown[2]["job"], &shown[2]["line"]), (&"query-2".into(), &2.into()));
    assert_eq!(ran.stdout.lines().last(), Some("{\"a\":1,\"a0\":1}"));
    let notes = objects(&ran.stderr);
    assert_eq!((&notes[0]["job"], &notes[0]["rows_out"]), (&"query-3".into(), &1.into()), "{ran:?}");

    let error = |sql: &str| -> Value {
        folder.write("q.sql", sql);
        let ran = folder.run("run q.sql --output json");
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
        objects(&ran.stderr).pop().unwrap()["error"].clone()
    };
    let wrong = error("SELECT 1;\nSELECT prise FROM (VALUES (1)) AS t (price);");
    assert_eq!(wrong["code"], "UNKNOWN_COLUMN");
    assert_eq!(wrong["place"], serde_json::json!({ "file": "q.sql", "line": 2, "column": 8 }));
    assert_eq!((&wrong["help"], &wrong["job"]), (&"did you mean `price`?".into(), &Value::Null));
    let failed = error("SELECT 1 / x FROM (VALUES (0)) AS t (x);");
    assert_eq!((&failed["code"], &failed["job"]), (&"DIVISION_BY_ZERO".into(), &"query-1".into()));
    let missing = folder.run("run none.sql --output json");
    assert!(
        objects(&missing.stderr)[0]["error"]["message"].as_str().unwrap().contains("none.sql"),
        "{missing:?}"
    );
    let setting = error("SELECT 1;\nSET 'thalweg.policy' = 'foo';");
    assert_eq!((&setting["code"], &setting["place"]["line"]), (&"INVALID".into(), &2.into()));
    folder.write("q.sql", "SHOW TABLES;");
    let nothing = folder.run("run q.sql --output json");
    assert!(objects(&nothing.stderr)[0]["note"].is_string(), "{nothing:?}");
}

/// All errors of a file are told before anything runs, in the order of their places and each with its lines.
#[test]
fn all_errors_are_told() {
    let folder = Folder::new("sql_errors");
    folder.write(
        "q.sql",
        "SELECT 1;\nSELEC 2;\nCREATE TABLE t (a INTT);\nSELECT b FROM t;\nSELECT prise FROM (VALUES (1)) AS t (price);\n",
    );
    for command in ["check q.sql", "run q.sql", "explain q.sql"] {
        let ran = folder.run(command);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
        let places: Vec<&str> =
            ran.stderr.lines().filter_map(|line| line.trim().strip_prefix("--> ")).collect();
        assert_eq!(places, ["q.sql:2:1", "q.sql:3:19", "q.sql:5:8"], "{ran:?}");
        assert_eq!(ran.stderr.lines().filter(|line| line.starts_with("error: ")).count(), 3, "{ran:?}");
    }
    let told = objects(&folder.run("run q.sql --output json").stderr);
    let codes: Vec<&Value> = told.iter().map(|told| &told["error"]["code"]).collect();
    assert_eq!(codes, ["SYNTAX", "SYNTAX", "UNKNOWN_COLUMN"]);
    // Options of tables are checked, all of them.
    let tables = "CREATE TABLE a (x INT) WITH ('connector' = 'nowhere');\nCREATE TABLE b (x INT) WITH ('connector' = 'print', 'y' = 'z');";
    folder.write("q.sql", tables);
    let ran = folder.run("check q.sql");
    assert_eq!(ran.stderr.matches("UNKNOWN_OPTION").count(), 2, "{ran:?}");
}

/// Each piece of SQL has its own name and line numbers, jobs have distinct names, and a byte order mark is
/// ignored.
#[test]
fn pieces_of_sql_are_told_apart() {
    let folder = Folder::new("sql_pieces");
    let check = |line: &str, pieces: &[&str], expected: &[&str]| {
        let ran = run(&folder, line, pieces, "");
        let is_wrong = expected.iter().any(|expected| expected.contains("-->"));
        assert_eq!(ran.code, i32::from(is_wrong), "{ran:?}");
        for expected in expected {
            assert!(ran.stderr.contains(expected), "{expected}: {ran:?}");
        }
    };
    check("run -e", &["SELECT 1", "-e", "SELECT\nx"], &["--> -e#2:2:1\n", "\n2 | x\n"]);
    check("run -e", &["SELECT x", "-e", "SELECT 1"], &["--> -e:1:8\n"]);
    folder.write("q.sql", "\u{feff}CREATE VIEW V AS SELECT 1 AS a;\n\nSELECT a FROM V -- no end");
    check("run q.sql -e", &["SELECT a FROM V", "-e", "SELECT a AS FROM V"], &["SYNTAX", "--> -e#2:1:"]);
    check("run q.sql -e", &["SELECT a FROM V"], &["query-3: ", "query-1: "]);
    check("run q.sql -e", &["SELECT b FROM V"], &["--> -e:1:8\n"]);
    check("run -e", &["SELECT 1; SELECT 2; SELECT 3"], &["query-1: ", "query-1-2: ", "query-1-3: "]);
    check("run -e", &["SELECT 1", "-e", "SELECT 2"], &["query-1: ", "query-1-2: "]);
    // An incomplete statement is reported at the end of its own piece of SQL.
    check("run -e", &["SELECT 1 +", "-e", "SELECT 2"], &["--> -e:1:"]);
    let ran = run(&folder, "explain --json -e", &["SELECT 1", "-e", "\nSELECT 2"], "");
    let jobs: Vec<(Value, Value)> =
        objects(&ran.stdout).iter().map(|job| (job["job"].clone(), job["line"].clone())).collect();
    assert_eq!(jobs, [("query-1".into(), 1.into()), ("query-2".into(), 2.into())]);
}

#[test]
fn names_of_columns_stand_in_quotes_where_they_must() {
    let folder = Folder::new("sql_names");
    let ran = run(&folder, "run -e", &["SELECT 1 AS `a,b`, 2 AS `c\"d`, 3 AS e"], "");
    assert_eq!(ran.stdout, "\"a,b\",\"c\"\"d\",e\n1,2,3\n", "{ran:?}");
}

/// If the reader of standard output leaves after the first rows, the run ends without a message, and the exit
/// code says that not all rows were taken. A job that also writes elsewhere reports that it failed.
#[test]
fn a_reader_that_leaves_ends_the_run_in_silence() {
    let folder = Folder::new("sql_reader");
    let source = "CREATE TABLE T (a BIGINT) WITH ('connector' = 'datagen', 'fields.a.kind' = 'sequence', \
                  'fields.a.start' = '1', 'fields.a.end' = '10000000');\n";
    let to = |connector: &str| format!("CREATE TABLE U (a BIGINT) WITH ('connector' = {connector});\n");
    let run = |sql: String| -> Output {
        folder.write("q.sql", sql);
        let mut command = folder.command("run q.sql");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        child.wait_with_output().unwrap()
    };
    for sql in [
        "SELECT a FROM T;".to_owned(),
        to("'stdout', 'format' = 'csv'") + "INSERT INTO U SELECT a FROM T;",
        to("'print'") + "INSERT INTO U SELECT a FROM T;",
    ] {
        let ran = Ran::of(&sql.clone(), run(format!("{source}{sql}")));
        assert_eq!((ran.code, ran.stderr.as_str()), (141, ""), "{ran:?}");
    }
    let both = to("'stdout', 'format' = 'csv'")
        + "CREATE TABLE F (a BIGINT) WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'csv');
           EXECUTE STATEMENT SET BEGIN INSERT INTO U SELECT a FROM T; INSERT INTO F SELECT a FROM T; END;";
    let ran = Ran::of("both", run(format!("{source}{both}")));
    assert!(ran.code == 1 && ran.stderr.contains("SINK_CLOSED"), "{ran:?}");
}

/// Ctrl-C makes a run stop reading, and rows that were printed stay. With `--emit-partial`, all rows that
/// were read are written.
#[test]
fn an_interrupt_loses_no_rows() {
    for (line, means) in [
        ("run q.sql", "jobs whose input has not ended publish nothing"),
        ("run q.sql --emit-partial", "what was read is finished, a part of a result is published"),
    ] {
        interrupt_loses_no_rows(line, means);
    }
}

fn interrupt_loses_no_rows(line: &str, means: &str) {
    let folder = Folder::new("sql_interrupt");
    let sql = "CREATE TABLE T (a BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '2000', 'fields.a.kind' = \
               'sequence', 'fields.a.start' = '1', 'fields.a.end' = '10000000');\nSELECT a FROM T;";
    folder.write("q.sql", sql);
    let mut command = folder.command(line);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!((lines.next().unwrap().as_str(), lines.next().unwrap().as_str()), ("a", "1"));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let rest: Vec<u64> = lines.map(|line| line.parse().unwrap()).collect();
    let count = rest.len() as u64 + 1;
    assert!(rest.iter().copied().eq(2..=count), "{rest:?}");
    let ran = Ran::of("run", child.wait_with_output().unwrap());
    let expected = format!("note: asked to end: {means}; asked once more, it ends at once\n");
    assert!(ran.code == 3 && ran.stderr.starts_with(&expected), "{ran:?}");
    assert!(ran.stderr.contains(&format!(" {count} out in ")), "{ran:?}");
    assert!(ran.stderr.ends_with(", stopped early\n"), "{ran:?}");
    if line.contains("partial") {
        assert!(ran.stderr.contains(&format!("query-2: {count} rows in, ")), "{ran:?}");
    }
}

/// The failure of one job is reported at once, while other jobs of the run continue.
#[test]
fn a_failure_is_told_at_once() {
    let folder = Folder::new("sql_failure");
    let sql = "CREATE TABLE T (a BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '1');
               CREATE TABLE U (a BIGINT) WITH ('connector' = 'blackhole');
               INSERT INTO U SELECT CAST(x AS BIGINT) FROM (VALUES ('x')) AS t (x);
               INSERT INTO U SELECT a FROM T;";
    folder.write("q.sql", sql);
    let mut command = folder.command("run q.sql");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    assert!(first.contains("insert-3: BAD_CAST: "), "{first}");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let rest: Vec<String> = lines.collect();
    assert!(rest[0].starts_with("note: asked to end: ") && rest[1].contains("insert-4: "), "{rest:?}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

/// Every query that can be planned can be run: chains up to the length that the parser accepts, and expressions
/// as deep as views make them.
#[test]
fn what_is_deep_is_run() {
    let folder = Folder::new("sql_deep");
    let chain = |operator: &str| format!("SELECT a{} FROM (VALUES (1)) AS t (a)", operator.repeat(1_999));
    let nested = (0..8).fold("a".to_owned(), |inner, _| {
        format!("CASE WHEN a = 5 OR a = 1 AND 3 = 1 + 1 * {inner} THEN 1 ELSE 2 END")
    });
    let views = |count: usize, of: &dyn Fn(usize) -> String| {
        let view = |number: usize| format!("CREATE VIEW v{number} AS {};\n", of(number - 1));
        format!(
            "CREATE VIEW v0 AS SELECT a FROM (VALUES (1)) AS t (a);\n{}SELECT * FROM v{count}",
            (1..=count).map(view).collect::<String>()
        )
    };
    for (sql, expected) in [
        (chain("+a"), "2000"),
        (chain("-a"), "-1998"),
        (chain(" IS NULL"), "FALSE"),
        (format!("SELECT {nested} FROM (VALUES (1)) AS t (a)"), "1"),
        (views(300, &|below| format!("SELECT 1 + (1 + (1 + (1 + a))) AS a FROM v{below}")), "1201"),
        (
            views(120, &|below| format!("SELECT CASE WHEN a = 0 THEN 0 ELSE a + 1 END AS a FROM v{below}")),
            "121",
        ),
        (views(120, &|below| format!("SELECT IF(TRUE, a, 0) AS a FROM v{below} WHERE a > 0 OR a = -1")), "1"),
        (views(100, &|below| format!("SELECT * FROM v{below} LIMIT 5")), "1"),
    ] {
        folder.write("q.sql", &sql);
        for workers in ["1", "2"] {
            let ran = folder.run(&format!("run q.sql --workers {workers}"));
            let found = ran.stdout.lines().last();
            assert_eq!((ran.code, found), (0, Some(expected)), "{}: {}", &sql[sql.len() - 50..], ran.stderr);
        }
        let ran = folder.run("explain q.sql");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    folder.write("q.sql", views(300, &|below| format!("SELECT * FROM v{below} LIMIT 5")));
    let ran = folder.run("run q.sql");
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("UNSUPPORTED: tasks_per_query is "), "{}", ran.stderr);
}

/// All jobs of a file share one engine, so they must ask for the same policy and the same number of workers.
#[test]
fn jobs_of_a_file_share_an_engine() {
    let folder = Folder::new("sql_settings");
    let check = |sql: &str, expected: &str| {
        folder.write("q.sql", sql);
        for command in ["run", "check"] {
            let ran = folder.run(&format!("{command} q.sql"));
            assert_eq!(ran.code, i32::from(!expected.is_empty()), "{ran:?}");
            assert!(ran.stderr.contains(expected), "{ran:?}");
        }
    };
    check("SELECT 1; SET 'thalweg.workers' = '1'; SELECT 2; SELECT 3;", "");
    check(
        "SET 'thalweg.workers' = '1'; SELECT 1;\nSET 'thalweg.workers' = '2';\nSELECT 2;",
        "'thalweg.workers' is '2' for this job, and '1' for one before it\n --> q.sql:3:1\n",
    );
    check(
        "SET 'thalweg.policy' = 'fcfs'; SELECT 1;\nSET 'thalweg.policy' = 'enjima'; SELECT 2;",
        "'thalweg.policy' is 'enjima' for this job, and 'fcfs' for one before it",
    );
    check("SET 'thalweg.policy' = 'foo';", "INVALID: 'thalweg.policy' is 'foo', and must be one of enjima");
    check("SET 'thalweg.latency-target' = '0 s';", "must be from 1 us to 7 d");
}

/// Parameters of policies are checked, and told if the policy of the file or of the command line has none of
/// them.
#[test]
fn parameters_of_policies() {
    let folder = Folder::new("sql_policies");
    folder.write("q.sql", "SET 'thalweg.policy' = 'klink'; SELECT 1;");
    for (options, code, expected) in [
        ("--klink-r 60ms --klink-b 50", 0, ""),
        ("--round 2ms", 0, "note: --round has no effect on --policy klink\n"),
        (
            "--policy enjima_strict --klink-f 90",
            0,
            "note: --klink-f has no effect on --policy enjima_strict\n",
        ),
        ("--policy enjima --round 2m", 2, "'--round <SPAN>': 2m must be from 10us to 1s\n"),
    ] {
        let ran = folder.run(&format!("run q.sql {options}"));
        assert_eq!(
            (ran.code, ran.stderr.contains("has no effect")),
            (code, expected.contains("has no")),
            "{ran:?}"
        );
        assert!(ran.stderr.contains(expected), "{ran:?}");
    }
}

/// A setting on the command line applies to every job, and a SET or RESET in the file does not override it.
#[test]
fn settings_of_the_command_line_stand_above_those_of_the_file() {
    let folder = Folder::new("sql_set");
    let sql = "SET 'table.local-time-zone' = 'Europe/Berlin'; SELECT TO_TIMESTAMP_LTZ(0, 0) AS t;\n\
               RESET; SELECT TO_TIMESTAMP_LTZ(0, 0) AS t;";
    folder.write("q.sql", sql);
    let with = |setting: &str| run(&folder, "run q.sql --set", &[setting], "");
    let ran = with("table.local-time-zone=Asia/Tokyo");
    assert_eq!(ran.stdout.matches("1970-01-01 09:00:00.000").count(), 2, "{ran:?}");
    // A value may contain `=`, the separator between key and value.
    let ran = with("pipeline.name=a=b");
    assert!(ran.stderr.contains("a=b: ") && ran.stderr.contains("a=b-2: "), "{ran:?}");
    for (setting, expected) in [
        ("pipeline.name", "`pipeline.name` has no `=`"),
        ("=1", "`=1` has no key"),
        ("thalweg.wokers=1", "did you mean 'thalweg.workers'"),
        ("thalweg.workers=0", "'thalweg.workers' is '0', and must be a number from 1 to 1024"),
    ] {
        let ran = with(setting);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains(expected), "{expected}: {ran:?}");
    }
}

/// `test` runs a file that `run` accepts, and compares the output with the head of the file.
#[test]
fn scripts_are_tested_by_their_heads() {
    let folder = Folder::new("sql_scripts");
    let table =
        "CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'path' = 't.csv', 'format' = 'csv');\n";
    folder.write("t.csv", "1\n2\n3\n");
    let check = |head: &str, sql: &str, expected: &str, code: i32| {
        folder.write("q.sql", format!("{head}\n\n{table}{sql}"));
        for named in ["q.sql", "."] {
            let ran = folder.run(&format!("test {named}"));
            assert!(ran.stdout.contains(expected) || ran.stderr.contains(expected), "{expected}: {ran:?}");
            assert_eq!(ran.code, code, "{ran:?}");
        }
    };
    let shown = "SELECT a, a * a AS b FROM t;";
    check("-- Expected, and 3 rows in:\n--   a,b\n--   2,4   and 2 more", shown, "1 passed, 0 failed", 0);
    check("-- Expected:\n--   a,b\n--   1,1\n--   2,4\n--   4,9", shown, "not expected: 3,9", 1);
    check("-- Expected: 3 rows in, 4 out", shown, "3 out, and 4 were expected", 1);
    check("-- Expected: 3 rows in", "SELECT 1 / (a - 1) FROM t;", "DIVISION_BY_ZERO", 1);
    check("-- Expected: 3 rows in", "SELECT b FROM t;", "there is no column `b`", 1);
    check("-- Expected: something", shown, "neither lines behind", 1);
}

#[test]
fn a_file_that_is_named_twice_is_tested_once() {
    let folder = Folder::new("sql_twice");
    fs::create_dir(folder.path("d")).unwrap();
    folder.write("d/a.test.sql", "--- query one\nSELECT 1;\n\n--- rows\n1\n");
    let ran = folder.run("test d d/a.test.sql ./d/../d");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "1 passed, 0 failed\n"), "{ran:?}");
}

/// Output on a terminal during a run: no progress between rows, no progress line left over, and never more than
/// 80 columns.
#[test]
fn progress_on_a_terminal() {
    let folder = Folder::new("sql_progress");
    let source = "CREATE TABLE T (a BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) \
                  WITH ('connector' = 'datagen', 'rows-per-second' = '20');\n";
    folder.write("rows.sql", format!("{source}SELECT a FROM T;"));
    folder.write(
        "none.sql",
        format!(
            "{source}CREATE TABLE U (n BIGINT) WITH ('connector' = 'blackhole');
             INSERT INTO U SELECT COUNT(*) FROM TUMBLE(TABLE T, DESCRIPTOR(ts), INTERVAL '1' HOUR)
             GROUP BY window_start, window_end;"
        ),
    );
    let rows = on_terminal(&folder, "run rows.sql --for 1300ms", true);
    assert!(rows.starts_with("a\r\n") && !rows.contains("rows in  ") && !rows.contains('\x1b'), "{rows:?}");
    // Rows that do not go to the terminal do not suppress the line of progress.
    let aside = on_terminal(&folder, "run rows.sql --for 3s", false);
    let none = on_terminal(&folder, "run none.sql --for 3s", true);
    // With JSON output there is no progress line.
    assert!(!objects(&on_terminal(&folder, "run none.sql --for 1300ms --output json", true)).is_empty());
    for text in [&aside, &none] {
        let drawn: Vec<&str> = text.split("\r\x1b[2K").collect();
        assert!(drawn.len() > 2 && drawn[0].is_empty(), "{text:?}");
        assert!(drawn[1].contains(" rows in  ") && drawn[1].contains(" out  0 late  0 bad"), "{text:?}");
        assert!(drawn.iter().all(|line| {
            line.lines().next().is_none_or(|line| line.starts_with("note: ") || line.len() < 80)
        }));
        assert!(drawn.last().unwrap().starts_with("note: "), "{text:?}");
    }
    assert!(
        none.contains(
            "the time is up: what was read is finished, rows and windows that wait for a later watermark are left out"
        ),
        "{none:?}"
    );
    assert!(!aside.contains("the time is up"), "{aside:?}");
}

/// Returns everything that a command writes to a terminal: its errors, and its rows if they also go there.
fn on_terminal(folder: &Folder, line: &str, has_rows: bool) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    unlockpt(&master).unwrap();
    let terminal = || ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    let mut command = folder.command(line);
    command.stderr(terminal()).stdout(if has_rows { Stdio::from(terminal()) } else { Stdio::null() });
    let mut child = command.spawn().unwrap();
    // From here on only the command has the terminal open, so reading fails when the command ends.
    drop(command);
    let mut written = Vec::new();
    let _ = File::from(master).read_to_end(&mut written);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    String::from_utf8(written).unwrap()
}
