//! Tests of runs that are asked to end: what they publish, their exit codes, and that they end whatever they
//! are waiting for.
//!
//! No test here waits by sleeping: a test continues when it has read a line, or when the process has ended.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Folder, Ran};

/// A process that has not ended after this time counts as hanging and fails the test.
const HANGS_AFTER: Duration = Duration::from_secs(120);

/// Declares a table whose rows have an end, but one that no test reaches.
const LONG: &str = "CREATE TABLE T (a BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '1000', \
                    'fields.a.kind' = 'sequence', 'fields.a.start' = '1', 'fields.a.end' = '10000000');\n";

/// The standard output of a process. The process is killed if it is read for too long, so that a test that
/// waits for a line that never comes fails instead of hanging.
struct Rows {
    reader: BufReader<ChildStdout>,
    /// Dropping this sender ends the watch over the process, so that nothing is killed after the last
    /// reading.
    _watch: Sender<()>,
}

impl Rows {
    /// Begins to read the output of a process, with at most `ahead` bytes read in advance.
    fn of(child: &mut Child, ahead: usize) -> Self {
        let (_watch, watched) = channel::<()>();
        let pid = Pid::from_child(child);
        thread::spawn(move || {
            if watched.recv_timeout(HANGS_AFTER) == Err(RecvTimeoutError::Timeout) {
                // The result is ignored, because the process may have ended by now.
                let _ = kill_process(pid, Signal::KILL);
            }
        });
        Rows { reader: BufReader::with_capacity(ahead, child.stdout.take().unwrap()), _watch }
    }
}

impl Read for Rows {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.reader.read(into)
    }
}

fn spawn(mut command: Command) -> (Child, Rows) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let rows = Rows::of(&mut child, 8 << 10);
    (child, rows)
}

fn line(stdout: &mut Rows) -> String {
    let mut line = String::new();
    stdout.reader.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Waits for the end of a process. Its standard output is not read.
fn ended(child: Child) -> Ran {
    let pid = Pid::from_child(&child);
    let (tell, told) = channel();
    thread::spawn(move || tell.send(child.wait_with_output().unwrap()));
    match told.recv_timeout(HANGS_AFTER) {
        Ok(output) => Ran::of("run", output),
        Err(_) => {
            kill_process(pid, Signal::KILL).unwrap();
            panic!("it has not ended within {HANGS_AFTER:?}");
        }
    }
}

/// Returns whether the tests themselves run with SIGHUP ignored, in which case the processes they start
/// ignore it too.
fn is_hangup_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    u64::from_str_radix(mask, 16).unwrap() & 1 == 1
}

/// A bounded job that is stopped does not replace the earlier output, whichever way it is stopped, and its exit
/// code says so.
#[test]
fn a_bounded_job_that_is_stopped_publishes_nothing() {
    let folder = Folder::new("stop_bounded");
    let sql = format!(
        "{LONG}CREATE TABLE F (a BIGINT) WITH ('connector' = 'filesystem', 'path' = 'f.csv', 'format' = 'csv', \
         'thalweg.single-file' = 'true');
         CREATE TABLE D (a BIGINT) WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'csv', \
         'sink.rolling-policy.file-size' = '1 b', 'sink.partition-commit.policy.kind' = 'success-file');
         INSERT INTO F SELECT a FROM T; INSERT INTO D SELECT a FROM T; SELECT a FROM T;"
    );
    folder.write("q.sql", sql);
    folder.write("f.csv", "old");
    let mut requests = vec![Some(Signal::TERM), Some(Signal::INT), None];
    if !is_hangup_ignored() {
        requests.push(Some(Signal::HUP));
    }
    for request in requests {
        let more = if request.is_none() { " --for 1s" } else { "" };
        let (child, mut stdout) = spawn(folder.command(&format!("run q.sql{more}")));
        // On a busy machine the time may be over before the first line, so lines are read only if a signal is
        // to be sent.
        if let Some(signal) = request {
            assert_eq!((line(&mut stdout), line(&mut stdout)), ("a".to_owned(), "1".to_owned()));
            send(&child, signal);
        }
        thread::spawn(move || stdout.read_to_string(&mut String::new()));
        let ran = ended(child);
        assert_eq!(ran.code, 3, "{request:?}: {ran:?}");
        assert_eq!(ran.stderr.matches(", stopped early\n").count(), 3, "{ran:?}");
        assert!(ran.stderr.contains("jobs whose input has not ended publish nothing"), "{ran:?}");
        assert_eq!(folder.text("f.csv").unwrap(), "old", "{request:?}");
        assert_eq!(fs::read_dir(folder.path("out")).unwrap().count(), 0, "{request:?}");
        assert!(folder.text(".f.csv.inprogress").is_none(), "{request:?}");
    }
}

/// With `--emit-partial` the rows that were read are published, and nothing says that they are complete.
#[test]
fn a_part_is_published_if_it_is_asked_for() {
    let folder = Folder::new("stop_partial");
    let sql = format!(
        "{LONG}CREATE TABLE D (a BIGINT) WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'csv', \
         'sink.partition-commit.policy.kind' = 'success-file');
         CREATE TABLE O (a BIGINT) WITH ('connector' = 'stdout', 'format' = 'csv');
         EXECUTE STATEMENT SET BEGIN INSERT INTO D SELECT a FROM T; INSERT INTO O SELECT a FROM T; END;"
    );
    folder.write("q.sql", sql);
    let (child, mut stdout) = spawn(folder.command("run q.sql --emit-partial"));
    // These rows are of one job; the table of the other job has some rows by then, too.
    let lines: Vec<String> = (0..100).map(|_| line(&mut stdout)).collect();
    assert_eq!((lines[0].as_str(), lines[99].as_str()), ("1", "100"));
    send(&child, Signal::TERM);
    thread::spawn(move || stdout.read_to_string(&mut String::new()));
    let ran = ended(child);
    assert_eq!(ran.code, 3, "{ran:?}");
    let files: Vec<_> = fs::read_dir(folder.path("out")).unwrap().map(|file| file.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let rows: Vec<u64> = fs::read_to_string(file).unwrap().lines().map(|row| row.parse().unwrap()).collect();
    assert!(!rows.is_empty() && rows.iter().copied().eq(1..=rows.len() as u64), "{rows:?}");
}

/// An unbounded job publishes the windows that its watermark has closed. A half-filled window is published only
/// with `--emit-partial`.
#[test]
fn an_unbounded_job_publishes_what_is_complete() {
    let folder = Folder::new("stop_unbounded");
    folder.write(
        "q.sql",
        "CREATE TABLE T (ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'stdin', 'format' = 'csv');
         SELECT window_start, COUNT(*) AS n FROM TUMBLE(TABLE T, DESCRIPTOR(ts), INTERVAL '1' MINUTE)
         GROUP BY window_start, window_end;",
    );
    for (more, half) in [("", ""), (" --emit-partial", "2024-01-01 00:01:00.000,1\n")] {
        let (mut child, mut stdout) = spawn(folder.command(&format!("run q.sql{more}")));
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"2024-01-01 00:00:10\n2024-01-01 00:00:20\n2024-01-01 00:01:30\n").unwrap();
        assert_eq!(line(&mut stdout), "window_start,n");
        assert_eq!(line(&mut stdout), "2024-01-01 00:00:00.000,2");
        // The input stays open, so the job ends only because of the signal.
        send(&child, Signal::TERM);
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        let ran = ended(child);
        assert_eq!((ran.code, rest.as_str()), (0, half), "{ran:?}");
        let told = if half.is_empty() { "are left out" } else { "come out early" };
        assert!(
            ran.stderr.contains(&format!("rows and windows that wait for a later watermark {told}")),
            "{ran:?}"
        );
        drop(stdin);
    }
}

/// If anything that waits for a later watermark is left out, a note says so. This holds for windows and for
/// waiting rows.
#[test]
fn rows_that_wait_for_a_watermark_are_told() {
    let folder = Folder::new("stop_waiting");
    let tables = "CREATE TABLE T (ts TIMESTAMP(3), a BIGINT, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
                  WITH ('connector' = 'stdin', 'format' = 'csv');";
    for query in ["SELECT a, ts FROM T ORDER BY ts", "SELECT a, ts, SUM(a) OVER (ORDER BY ts) AS s FROM T"] {
        folder.write("q.sql", format!("{tables} {query};"));
        for (more, waiting) in [("", 0), (" --emit-partial", 1)] {
            let (mut child, mut stdout) = spawn(folder.command(&format!("run q.sql{more}")));
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(b"2024-01-01 00:00:10,1\n2024-01-01 00:00:20,2\n").unwrap();
            assert!(line(&mut stdout).starts_with("a,ts"));
            assert!(line(&mut stdout).starts_with("1,2024-01-01 00:00:10.000"));
            // The input stays open, so the job ends only because of the signal.
            send(&child, Signal::TERM);
            let mut rest = String::new();
            stdout.read_to_string(&mut rest).unwrap();
            let ran = ended(child);
            assert_eq!((ran.code, rest.lines().count()), (0, waiting), "{query}: {rest}, {ran:?}");
            assert!(
                ran.stderr.contains("rows and windows that wait for a later watermark "),
                "{query}: {ran:?}"
            );
            drop(stdin);
        }
    }
    let tables = "CREATE TABLE L (a BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
                  WITH ('connector' = 'datagen', 'rows-per-second' = '10');
                  CREATE TABLE R (a BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (a) NOT ENFORCED)
                  WITH ('connector' = 'datagen', 'rows-per-second' = '10');";
    let near = "ON L.a = R.a AND L.ts BETWEEN R.ts AND R.ts + INTERVAL '1' HOUR";
    for (query, waits) in [
        ("SELECT L.a FROM L JOIN R FOR SYSTEM_TIME AS OF L.ts ON L.a = R.a".to_owned(), true),
        (format!("SELECT L.a FROM L LEFT JOIN R {near}"), true),
        // An inner join gives a pair of rows when both are there, so no rows wait.
        (format!("SELECT L.a FROM L JOIN R {near}"), false),
        ("SELECT a FROM L".to_owned(), false),
    ] {
        folder.write("q.sql", format!("{tables} {query};"));
        let ran = folder.run("run q.sql --for 200ms");
        let told = "the time is up: what was read is finished, rows and windows that wait for a later watermark are left out";
        assert_eq!((ran.code, ran.stderr.contains(told)), (0, waits), "{query}: {ran:?}");
        assert_eq!(ran.stderr.contains("the time is up"), waits, "{query}: {ran:?}");
    }
}

/// If rows that wait for the table of a lookup join are dropped, a message says so.
#[test]
fn rows_that_wait_for_a_table_are_told() {
    let folder = Folder::new("stop_lookup");
    folder.write(
        "q.sql",
        "CREATE TABLE T (a BIGINT, p AS PROCTIME()) WITH ('connector' = 'datagen', 'rows-per-second' = '1000');
         CREATE TABLE R (b BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '1', 'number-of-rows' = '1000000');
         CREATE TABLE O (a BIGINT) WITH ('connector' = 'stdout', 'format' = 'csv');
         CREATE TABLE B (a BIGINT) WITH ('connector' = 'blackhole');
         EXECUTE STATEMENT SET BEGIN
           INSERT INTO O SELECT a FROM T;
           INSERT INTO B SELECT T.a FROM T JOIN R FOR SYSTEM_TIME AS OF T.p ON T.a = R.b;
         END;",
    );
    let (child, mut stdout) = spawn(folder.command("run q.sql"));
    assert!(!line(&mut stdout).is_empty());
    send(&child, Signal::TERM);
    thread::spawn(move || stdout.read_to_string(&mut String::new()));
    let ran = ended(child);
    assert!(ran.code == 1 && ran.stderr.contains("STOPPED_EARLY"), "{ran:?}");
}

/// Starts a job that writes without end to a pipe that no process reads. After its first byte the job is
/// stuck in a system call.
fn stuck(folder: &Folder, more: &str) -> (Child, Rows) {
    folder.write(
        "stuck.sql",
        "CREATE TABLE T (a INT) WITH ('connector' = 'datagen', 'rows-per-second' = '10');
         SELECT REPEAT('x', 1000000) AS x FROM T;",
    );
    let mut command = folder.command(&format!("run stuck.sql {more}"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdout = Rows::of(&mut child, 1);
    stdout.read_exact(&mut [0; 3]).unwrap();
    (child, stdout)
}

/// A drain that exceeds `--drain-timeout` ends, and the error names what the drain waits for.
#[test]
fn a_drain_ends_at_its_deadline() {
    let folder = Folder::new("stop_deadline");
    for output in ["text", "json"] {
        let is_named = || {
            let (child, stdout) = stuck(&folder, &format!("--drain-timeout 300ms --output {output}"));
            send(&child, Signal::TERM);
            let ran = ended(child);
            assert_eq!(ran.code, 1, "{ran:?}");
            for part in ["DRAIN_TIMEOUT", "0.3 s", "system call write on pipe:"] {
                assert!(ran.stderr.contains(part), "{part} is missing: {ran:?}");
            }
            drop(stdout);
            ran.stderr.contains("query-2") && ran.stderr.contains("operator `")
        };
        // Usually the thread that watches the jobs names what they wait for. If this thread is held up,
        // another one ends the process without a name, so there are several attempts.
        assert!((0..3).any(|_| is_named()), "{output}: neither job nor operator was named");
    }
    // The end of the time set by `--for` counts as a request to end, like a signal.
    let (child, _stdout) = stuck(&folder, "--for 3s --drain-timeout 300ms");
    let ran = ended(child);
    assert!(ran.code == 1 && ran.stderr.contains("DRAIN_TIMEOUT"), "{ran:?}");
}

/// A drain also ends at its deadline if a thread waits for a peer that does not read. A bounded job stops at
/// once even during the firing of very many windows.
#[test]
fn a_drain_ends_at_its_deadline_wherever_a_thread_is() {
    let folder = Folder::new("stop_waits");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    folder.write(
        "socket.sql",
        format!(
            "CREATE TABLE T (a INT) WITH ('connector' = 'datagen', 'rows-per-second' = '1000');
             CREATE TABLE S (x STRING) WITH ('connector' = 'socket', 'hostname' = '127.0.0.1', 'port' = '{port}', 'format' = 'csv');
             INSERT INTO S SELECT REPEAT('x', 1000000) FROM T;"
        ),
    );
    let (child, _stdout) = spawn(folder.command("run socket.sql --drain-timeout 300ms"));
    let (mut peer, _) = listener.accept().unwrap();
    // After these first bytes the job sends more than the buffers of a connection hold, so it gets stuck.
    peer.read_exact(&mut [0; 3]).unwrap();
    send(&child, Signal::TERM);
    let ran = ended(child);
    assert!(ran.code == 1 && ran.stderr.contains("DRAIN_TIMEOUT"), "{ran:?}");
    // The input has 2,000 keys in 8,640 windows each. All windows end at the end of the input, so one firing
    // is very long.
    folder.write(
        "firing.sql",
        "CREATE TABLE T (n INT, ts AS TO_TIMESTAMP_LTZ(n, 3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen',
         'rows-per-second' = '1000000', 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '2000');
         SELECT window_start, n, COUNT(*) FROM HOP(TABLE T, DESCRIPTOR(ts), INTERVAL '10' SECONDS, INTERVAL '1' DAY)
         GROUP BY window_start, window_end, n;",
    );
    let (child, mut stdout) = spawn(folder.command("run firing.sql --drain-timeout 60s"));
    assert_eq!(line(&mut stdout), "window_start,n,EXPR$2");
    assert!(!line(&mut stdout).is_empty());
    send(&child, Signal::TERM);
    thread::spawn(move || stdout.read_to_string(&mut String::new()));
    let ran = ended(child);
    assert!(ran.code == 3 && ran.stderr.contains("stopped early"), "{ran:?}");
}

/// A second request to end ends a run at once, with the exit code of its signal.
#[test]
fn a_second_request_ends_at_once() {
    let folder = Folder::new("stop_twice");
    for (second, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let (mut child, _stdout) = stuck(&folder, "--drain-timeout 1h");
        send(&child, Signal::TERM);
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut note = String::new();
        stderr.read_line(&mut note).unwrap();
        assert!(note.starts_with("note: asked to end: "), "{note}");
        send(&child, second);
        assert_eq!(ended(child).code, code);
    }
}

/// A closed terminal counts as one request, however many SIGHUPs arrive. If SIGHUP was ignored from the start,
/// as under nohup, it counts as no request.
#[test]
fn a_hangup_asks_once_or_not_at_all() {
    let folder = Folder::new("stop_hangup");
    folder.write("q.sql", format!("{LONG}SELECT a FROM T;"));
    let rest_of = |mut stdout: Rows| {
        thread::spawn(move || stdout.read_to_string(&mut String::new()));
    };
    if !is_hangup_ignored() {
        let (child, mut stdout) = spawn(folder.command("run q.sql"));
        assert_eq!(line(&mut stdout), "a");
        send(&child, Signal::HUP);
        // The result is ignored, because the process may have ended by now.
        let _ = kill_process(Pid::from_child(&child), Signal::HUP);
        rest_of(stdout);
        assert_eq!(ended(child).code, 3);
    }
    let mut command = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_thalweg");
    command.args(["-c", &format!("trap '' HUP; exec {program} run q.sql")]).current_dir(folder.path(""));
    let (child, mut stdout) = spawn(command);
    assert_eq!(line(&mut stdout), "a");
    send(&child, Signal::HUP);
    // If the ignored SIGHUP had counted as a request, this signal would be the second one and end the run at
    // once.
    send(&child, Signal::TERM);
    rest_of(stdout);
    assert_eq!(ended(child).code, 3);
}

#[test]
fn drain_timeouts_are_bounded() {
    let folder = Folder::new("stop_options");
    for (value, told) in [("0s", "is no time"), ("25h", "is above 86400 s"), ("x", "is no time")] {
        let ran = folder.run(&format!("run q.sql --drain-timeout {value}"));
        assert!(ran.code == 2 && ran.stderr.contains(told), "{ran:?}");
    }
}
