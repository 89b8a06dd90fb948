//! Tests of the small connectors. Wrong options are refused, by name and place, before anything is
//! opened.

use std::io::{Cursor, Read, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use thalweg_model::net::Net;
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::types::SqlType;

use super::bed::{Folder, batch, drain, rows_of, sources, table, write};
use super::net::RealNet;
use super::*;
use crate::table::Rowtime;

mod positions;

/// Returns the error of a table with these options in WITH, or an empty text if the table is valid.
fn wrong(options: &str) -> String {
    let declaration = format!("CREATE TABLE t (a INT, b STRING) WITH ({options})");
    check(&table(&declaration)).err().map_or(String::new(), |error| error.to_string())
}

/// A job with checkpoints refuses tables whose input comes only once, and opens nothing for that.
#[test]
fn streams_that_are_gone_are_refused_by_jobs_with_checkpoints() {
    let check = |options: &str, expected: &str| {
        let of = table(&format!("CREATE TABLE t (a INT) WITH ({options})"));
        let stdin: Input = Arc::new(Mutex::new(Some(Box::new(Cursor::new(b"1\n".to_vec())))));
        let world = World { takes_checkpoints: true, stdin: Arc::clone(&stdin), ..World::default() };
        let error = bind_source(&of, &[0], &world).err().map_or(String::new(), |error| error.to_string());
        assert!(error.contains(expected) && error.is_empty() == expected.is_empty(), "{error}");
        assert!(stdin.lock().unwrap().is_some(), "nothing is read");
    };
    let gone = "a checkpoint cannot go back in a stream that is gone";
    check("'connector' = 'stdin', 'format' = 'csv'", gone);
    check("'connector' = 'socket', 'hostname' = 'localhost', 'port' = '9', 'format' = 'csv'", gone);
    check("'connector' = 'datagen'", "");
}

/// Every table takes the options for watermarks, and their values are checked.
#[test]
fn options_for_watermarks_are_checked() {
    let check = |options: &str, expected: &str| {
        let found = wrong(&format!("'connector' = 'datagen', {options}"));
        assert!(found.contains(expected) && expected.is_empty() == found.is_empty(), "{options}: {found}");
    };
    check("'scan.watermark.idle-timeout' = '1 min'", "");
    check("'scan.watermark.idle-timeout' = 'long'", "'long' is no duration");
    check("'scan.watermark.emit.strategy' = 'ON-EVENT'", "");
    check("'scan.watermark.emit.strategy' = 'sometimes'", "is not among 'on-event', 'on-periodic'");
    let group = "'scan.watermark.alignment.group' = 'g'";
    let drift = "'scan.watermark.alignment.max-drift' = '1 s'";
    check(&format!("{group}, {drift}, 'scan.watermark.alignment.update-interval' = '2 s'"), "");
    let needs = "an alignment of watermarks needs both";
    check(group, needs);
    check(drift, needs);
    check("'scan.watermark.alignment.update-interval' = '2 s'", needs);
    check("'scan.watermark.idle-timout' = '1 s'", "did you mean 'scan.watermark.idle-timeout'?");
}

/// The option of a table has precedence over the setting, 0 means none, and a table without event time has none.
#[test]
fn the_idle_time_out_is_that_of_the_table() {
    let timeout = |has_watermark: bool, option: &str, setting_s: Option<u64>| {
        let declaration =
            format!("CREATE TABLE t (a INT, ts TIMESTAMP(3)) WITH ('connector' = 'datagen'{option})");
        let watermark = Typed::column(1, SqlType::Timestamp(3), true);
        let rowtime = has_watermark.then_some(Rowtime { column: 1, watermark });
        let table = Table { rowtime, ..table(&declaration) };
        watermarks::idle_timeout(&table, setting_s.map(Duration::from_secs))
            .map(|timeout| timeout.as_millis())
    };
    let option = |value: &str| format!(", 'scan.watermark.idle-timeout' = '{value}'");
    assert_eq!(timeout(true, "", None), None);
    assert_eq!(timeout(true, "", Some(3)), Some(3_000));
    assert_eq!(timeout(true, &option("5 ms"), Some(3)), Some(5));
    assert_eq!(timeout(true, &option("0 s"), Some(3)), None);
    assert_eq!(timeout(false, &option("5 ms"), Some(3)), None);
}

#[test]
fn connectors_and_options_are_checked_by_name() {
    let check = |options: &str, expected: &str| {
        let found = wrong(options);
        assert!(found.contains(expected) && expected.is_empty() == found.is_empty(), "{options}: {found}");
    };
    check("'connector' = 'blackhole'", "");
    check("'connector' = 'filesytem'", "there is no connector 'filesytem'; did you mean 'filesystem'?");
    check("'connector' = 'kafka'", "there are blackhole, datagen, filesystem");
    check("'conector' = 'print'", "the table `t` has no connector");
    check(
        "'connector' = 'blackhole', 'colour' = 'black'",
        "the connector 'blackhole' has no option 'colour'; there are connector",
    );
    check("'connector' = 'print', 'print-identifer' = 'x'", "did you mean 'print-identifier'?");
    check("'connector' = 'print', 'standard-error' = 'yes'", "'yes' is neither 'true' nor 'false'");
    check("'connector' = 'print', 'standard-error' = 'TRUE', 'sink.parallelism' = '2'", "");
    check("'connector' = 'print', 'sink.parallelism' = '0'", "'0' is not a whole number from 1 on");
    check(
        "'connector' = 'filesystem', 'format' = 'csv'",
        "the connector 'filesystem' needs the option 'path'",
    );
    check("'connector' = 'filesystem', 'path' = '/x'", "needs the option 'format'");
    check("'connector' = 'filesystem', 'path' = '', 'format' = 'csv'", "option 'path': is empty");
    check(
        "'connector' = 'filesystem', 'path' = 's3://b/x', 'format' = 'csv'",
        "there is no file system 's3'",
    );
    check("'connector' = 'filesystem', 'path' = 'file:///x', 'format' = 'csv'", "");
    check(
        "'connector' = 'filesystem', 'path' = '/x', 'format' = 'cvs'",
        "there is no format 'cvs'; did you mean 'csv'?",
    );
    check("'connector' = 'filesystem', 'path' = '/x', 'format' = 'orc'", "there is no format 'orc'");
    check(
        "'connector' = 'filesystem', 'path' = '/x', 'format' = 'csv', 'json.ignore-parse-errors' = 'true'",
        "has no option 'json.ignore-parse-errors'",
    );
    check(
        "'connector' = 'filesystem', 'path' = '/x', 'format' = 'csv', 'csv.ignore-parse-error' = 'true'",
        "did you mean 'csv.ignore-parse-errors'?",
    );
    check(
        "'connector' = 'filesystem', 'path' = '/x', 'format' = 'csv', 'csv.quote-character' = 'ab'",
        "option 'csv.quote-character'",
    );
    check("'connector' = 'filesystem', 'path' = '/x', 'format' = 'raw'", "raw");
    check(
        "'connector' = 'filesystem', 'path' = '/x', 'format' = 'csv', 'source.monitor-interval' = '0 s'",
        "must be above 0",
    );
    check(
        "'connector' = 'filesystem', 'path' = '/x', 'format' = 'csv', 'source.monitor-interval' = 'often'",
        "'often' is no duration",
    );
    check(
        "'connector' = 'filesystem', 'path' = '/x', 'format' = 'csv', 'source.path.regex-pattern' = '('",
        "is no pattern",
    );
    check(
        "'connector' = 'filesystem', 'path' = '/x', 'format' = 'csv', 'sink.rolling-policy.file-size' = '1 elephant'",
        "is no memory size",
    );
    check(
        "'connector' = 'filesystem', 'path' = '/x', 'format' = 'csv', 'sink.partition-commit.trigger' = 'partition-time'",
        "are committed when the job has ended",
    );
    check(
        "'connector' = 'filesystem', 'path' = '/x', 'format' = 'csv', 'sink.partition-commit.policy.kind' = 'metastore'",
        "'metastore' is not supported",
    );
    for name in ["SUCCESS", "_a/b", ".", "..", ""] {
        check(
            &format!(
                "'connector' = 'filesystem', 'path' = '/x', 'format' = 'csv', 'sink.partition-commit.success-file.name' = '{name}'"
            ),
            "is not the name of a file that begins with '_' or '.'",
        );
    }
    check(
        "'connector' = 'filesystem', 'path' = '/x', 'format' = 'csv', 'auto-compaction' = 'true'",
        "'auto-compaction' is not supported",
    );
    check(
        "'connector' = 'filesystem', 'path' = '/x', 'format' = 'csv', 'thalweg.on-bad' = 'divert'",
        "neither 'fail' nor 'skip' nor 'divert:FILE'",
    );
    check(
        "'connector' = 'filesystem', 'path' = '/x', 'format' = 'csv', 'thalweg.on-bad' = 'divert: '",
        "neither 'fail'",
    );
    check(
        "'connector' = 'filesystem', 'path' = '/x', 'format' = 'csv', 'thalweg.bad-share-max' = '2'",
        "a number from 0 to 1",
    );
    check(
        "'connector' = 'filesystem', 'path' = '/x', 'format' = 'csv', 'thalweg.bad-share-max' = 'NaN'",
        "a number from 0 to 1",
    );
    check(
        "'connector' = 'filesystem', 'path' = '/x', 'format' = 'csv', 'thalweg.onbad' = 'skip'",
        "did you mean 'thalweg.on-bad'?",
    );
    check(
        "'connector' = 'filesystem', 'path' = '/x', 'format' = 'parquet', 'parquet.compression' = 'brotli'",
        "'brotli' is not among 'SNAPPY', 'UNCOMPRESSED', 'ZSTD'",
    );
    check(
        "'connector' = 'filesystem', 'path' = '/x', 'format' = 'parquet', 'parquet.utc-timezone' = 'false'",
        "in UTC",
    );
    check(
        "'connector' = 'socket', 'hostname' = 'h', 'port' = '70000', 'format' = 'json'",
        "'70000' is not a port",
    );
    check("'connector' = 'socket', 'hostname' = 'h', 'format' = 'json'", "needs the option 'port'");
    check(
        "'connector' = 'socket', 'hostname' = 'h', 'port' = '1', 'format' = 'csv', 'byte-delimiter' = '0'",
        "only records of JSON",
    );
    check("'connector' = 'stdin', 'format' = 'parquet'", "there is no format 'parquet'");
    check(
        "'connector' = 'datagen', 'fields.c.min' = '1'",
        "has no option 'fields.c.min'; did you mean 'fields.a.min'?",
    );
}

/// An error about an option has the place of the option's key in the SQL text.
#[test]
fn errors_stand_where_their_key_stands() {
    let of = |declaration: &str| {
        let place = check(&table(declaration)).unwrap_err().place.unwrap();
        (place.line, place.column)
    };
    assert_eq!(
        of("CREATE TABLE t (a INT) WITH (\n  'connector' = 'print',\n  'print-identifer' = 'x')"),
        (3, 3)
    );
    assert_eq!(of("CREATE TABLE t (a INT) WITH (\n  'connector' = 'prnt')"), (2, 3));
    assert_eq!(of("CREATE TABLE t (a INT)\nWITH ('connector' = 'filesystem')"), (2, 1));
    assert_eq!(of("CREATE TABLE t (\n  a INT METADATA) WITH ('connector' = 'print')"), (2, 3));
    assert_eq!(
        of("CREATE TABLE t (a INT) WITH ('connector' = 'stdout', 'format' = 'json',\n 'json.x' = '1')"),
        (2, 2)
    );
}

#[test]
fn columns_are_checked() {
    let check = |declaration: &str, expected: &str| {
        let found = check(&table(declaration)).unwrap_err().to_string();
        assert!(found.contains(expected), "{declaration}: {found}");
    };
    let files = "'connector' = 'filesystem', 'path' = '/x', 'format' = 'json'";
    check(
        &format!("CREATE TABLE t (a INT, p STRING METADATA FROM 'file.pth') WITH ({files})"),
        "did you mean 'file.path'?",
    );
    check(
        &format!("CREATE TABLE t (a INT, p DATE METADATA FROM 'file.size') WITH ({files})"),
        "cannot be cast to DATE",
    );
    check(
        &format!("CREATE TABLE t (a INT, p ARRAY<INT>) PARTITIONED BY (p) WITH ({files})"),
        "cannot name a partition",
    );
    check(
        &format!("CREATE TABLE t (a INT, _p INT) PARTITIONED BY (_p) WITH ({files})"),
        "the column `_p` cannot name a partition: directories `_p=..` are hidden",
    );
    check(&format!("CREATE TABLE t (p INT) PARTITIONED BY (p) WITH ({files})"), "none stands in its records");
    check(
        "CREATE TABLE t (a INT, p INT) PARTITIONED BY (p) WITH ('connector' = 'print')",
        "has no partitions",
    );
    check(
        "CREATE TABLE t (a INT, p INT METADATA) WITH ('connector' = 'datagen')",
        "it has no metadata at all",
    );
}

#[test]
fn flink_takes_what_is_not_ours() {
    let own = |options: &str| {
        let declaration = format!("CREATE TABLE t (a INT, b STRING) WITH ({options})");
        check(&table(&declaration)).unwrap().own.into_iter().map(|(what, _)| what).collect::<Vec<_>>()
    };
    assert!(own("'connector' = 'print'").is_empty());
    assert!(own("'connector' = 'datagen', 'number-of-rows' = '3'").is_empty());
    assert_eq!(own("'connector' = 'stdin', 'format' = 'csv'"), ["the connector 'stdin'"]);
    assert_eq!(
        own("'connector' = 'filesystem', 'path' = '/x', 'format' = 'csv', 'thalweg.on-bad' = 'skip'"),
        ["the option 'thalweg.on-bad'"]
    );
}

#[test]
fn a_table_is_used_as_it_can_be() {
    let world = World::default();
    let print = table("CREATE TABLE t (a INT) WITH ('connector' = 'print')");
    let error = bind_source(&print, &[0], &world).err().unwrap().to_string();
    assert!(error.contains("`t` cannot be read from: the connector 'print' is only written to"), "{error}");
    let made = table("CREATE TABLE t (a INT) WITH ('connector' = 'datagen')");
    let error = bind_sink(&made, &[0], &world).err().unwrap().to_string();
    assert!(error.contains("`t` cannot be written to"), "{error}");
    assert!(!check_source(&made).unwrap().is_bounded);
    assert!(check_sink(&print).unwrap().takes_changes);
    let changes = table("CREATE TABLE t (a INT) WITH ('connector' = 'stdin', 'format' = 'debezium-json')");
    assert!(check_source(&changes).unwrap().gives_changes);
}

/// An output stream whose bytes the test can read.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<u8>>>);

impl Write for Seen {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Seen {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// Rows are printed as in Flink's documentation of the connector `print`.
#[test]
fn print_shows_rows_as_flink_does() {
    let seen = Seen::default();
    let error = Seen::default();
    let world = World {
        stdout: Arc::new(Mutex::new(Box::new(seen.clone()))),
        stderr: Arc::new(Mutex::new(Box::new(error.clone()))),
        ..World::default()
    };
    let plain = "CREATE TABLE t (a INT, b STRING, c TIMESTAMP(3), d BOOLEAN) WITH ('connector' = 'print'";
    let lines = "{\"a\":1,\"b\":\"x\",\"c\":\"2020-01-01 12:00:00.5\",\"d\":true}\n{\"a\":null}\n";
    write(&table(&format!("{plain})")), &world, lines, Some(&[RowKind::Insert, RowKind::Delete])).unwrap();
    assert_eq!(seen.text(), "+I[1, x, 2020-01-01T12:00:00.500, true]\n-D[null, null, null, null]\n");
    let named = format!("{plain}, 'print-identifier' = 'out', 'standard-error' = 'true')");
    write(&table(&named), &world, "{\"a\":2}", None).unwrap();
    assert_eq!(error.text(), "out> +I[2, null, null, null]\n");
}

/// The error names an output stream that refuses output; a reader that has closed the stream is reported
/// as such.
#[test]
fn streams_that_refuse_fail_the_query() {
    struct Closed(std::io::ErrorKind);
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let check = |kind, connector: &str, expected: &str| {
        let world = World { stdout: Arc::new(Mutex::new(Box::new(Closed(kind)))), ..World::default() };
        let of = table(&format!("CREATE TABLE t (a INT) WITH ('connector' = {connector})"));
        let error = write(&of, &world, "{\"a\":1}", None).unwrap_err();
        assert!(error.contains(expected), "{error}");
    };
    check(std::io::ErrorKind::BrokenPipe, "'print'", "stdout was closed by its reader");
    check(std::io::ErrorKind::StorageFull, "'stdout', 'format' = 'csv'", "stdout cannot be written");
}

#[test]
fn stdin_to_rows_and_rows_to_stdout() {
    let seen = Seen::default();
    let world = World {
        stdin: Arc::new(Mutex::new(Some(Box::new(Cursor::new(b"1,a\nx,b\n3,\"c\nd\"\n4,e"))))),
        stdout: Arc::new(Mutex::new(Box::new(seen.clone()))),
        ..World::default()
    };
    let of = table(
        "CREATE TABLE t (a INT, b STRING) WITH ('connector' = 'stdin', 'format' = 'csv', 'thalweg.on-bad' = 'skip')",
    );
    let mut found = sources(&of, &world).unwrap();
    assert_eq!(drain(found[0].as_mut(), 2).unwrap(), ["1,a", "3,c\nd", "4,e"]);
    assert_eq!(found[0].bad_count(), 1);
    let again = sources(&of, &world).err().unwrap().to_string();
    assert!(again.contains("it is read already"), "{again}");
    let to = table("CREATE TABLE t (a INT, b STRING) WITH ('connector' = 'stdout', 'format' = 'json')");
    write(&to, &world, "{\"a\":1,\"b\":\"é\"}\n{}\n", None).unwrap();
    assert_eq!(seen.text(), "{\"a\":1,\"b\":\"é\"}\n{\"a\":null,\"b\":null}\n");
    let error = write(&to, &world, "{\"a\":1}", Some(&[RowKind::Delete])).unwrap_err();
    assert!(error.contains("has no form for -D"), "{error}");
}

/// The error of a bad record in a stream names the stream. An input stream that fails or panics ends the
/// query.
#[test]
fn streams_that_fail_are_told() {
    struct Failing(bool);
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            assert!(!self.0, "as asked for");
            Err(std::io::ErrorKind::ConnectionReset.into())
        }
    }
    let check = |stream: Box<dyn Read + Send>, expected: &str| {
        let world = World { stdin: Arc::new(Mutex::new(Some(stream))), ..World::default() };
        let of = table("CREATE TABLE t (a INT, b STRING) WITH ('connector' = 'stdin', 'format' = 'csv')");
        let mut found = sources(&of, &world).unwrap();
        let error = drain(found[0].as_mut(), 10).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(Box::new(Cursor::new(b"1,a\nx,b\n")), "stdin, line 2 (byte 4), column `a`: ");
    check(Box::new(Failing(false)), "stdin cannot be read");
    check(Box::new(Failing(true)), "its reader panicked");
}

/// Input that is longer than the buffer of a stream passes through the buffer without loss.
#[test]
fn a_feed_is_bounded_and_loses_nothing() {
    let lines: Vec<String> = (0..300_000).map(|row| format!("{row},abcdefgh")).collect();
    let bytes = lines.join("\n").into_bytes();
    assert!(bytes.len() > 2 * feed::FEED_BYTES_MAX);
    let world = World { stdin: Arc::new(Mutex::new(Some(Box::new(Cursor::new(bytes))))), ..World::default() };
    let of = table("CREATE TABLE t (a INT, b STRING) WITH ('connector' = 'stdin', 'format' = 'csv')");
    let mut found = sources(&of, &world).unwrap();
    assert_eq!(drain(found[0].as_mut(), 4_096).unwrap(), lines);
    assert!(found[0].held_bytes() < 4 << 20);
}

#[test]
fn sockets_are_read_and_written() {
    // The port is free at present, and the listener of the test takes it at once.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut listener = RealNet.listen(SocketAddr::from(([127, 0, 0, 1], free))).unwrap();
    let peer = std::thread::spawn(move || {
        let mut connection = listener.accept().unwrap();
        connection.write_all(b"{\"a\":1,\n\"b\":\"x\"}\0{\"a\":2}\0").unwrap();
        drop(connection);
        let mut text = String::new();
        listener.accept().unwrap().read_to_string(&mut text).unwrap();
        text
    });
    let world = World::default();
    let options =
        format!("'connector' = 'socket', 'hostname' = '127.0.0.1', 'port' = '{free}', 'format' = 'json'");
    let of = |more: &str| table(&format!("CREATE TABLE t (a INT, b STRING) WITH ({options}{more})"));
    let mut found = sources(&of(", 'byte-delimiter' = '0'"), &world).unwrap();
    assert_eq!(drain(found[0].as_mut(), 10).unwrap(), ["1,x", "2,NULL"]);
    write(&of(""), &world, "{\"a\":3,\"b\":\"y\"}", None).unwrap();
    assert_eq!(peer.join().unwrap(), "{\"a\":3,\"b\":\"y\"}\n");
    // The listener is gone, so reading and writing both fail.
    let error = rows_of(&of(""), &world, 1).unwrap_err();
    assert!(error.contains(&format!("socket 127.0.0.1:{free} cannot be read")), "{error}");
    let error = write(&of(""), &world, "", None).unwrap_err();
    assert!(error.contains("cannot be connected to"), "{error}");
}

#[test]
fn tables_without_a_connector_are_given_and_collected() {
    let of = table("CREATE TABLE t (a INT, b STRING)");
    let rows = batch(&of, "{\"a\":1,\"b\":\"x\"}\n{\"a\":2}");
    let collected = Collected::default();
    let world = World {
        given: BTreeMap::from([("t".to_owned(), Arc::new(vec![rows.clone()]))]),
        collected: BTreeMap::from([("t".to_owned(), Arc::clone(&collected))]),
        ..World::default()
    };
    assert_eq!(rows_of(&of, &world, 1).unwrap(), ["1,x", "2,NULL"]);
    write(&of, &world, "{\"a\":3}", None).unwrap();
    assert_eq!(collected.lock().unwrap().len(), 1);
}

#[test]
fn a_blackhole_takes_everything() {
    let of = table("CREATE TABLE t (a INT) WITH ('connector' = 'blackhole')");
    write(&of, &World::default(), "{\"a\":1}", Some(&[RowKind::UpdateBefore])).unwrap();
}

#[test]
fn paths_of_options() {
    let folder = Folder::new();
    let world = folder.world();
    let check = |written: &str, expected: &str| {
        assert_eq!(world.path(written), Path::new(expected), "{written}");
    };
    check("/a/b", "/a/b");
    check("file:///a/b", "/a/b");
    check("file:/a/b", "/a/b");
    check("file://localhost/a", "/a");
    check("a/b", folder.0.join("a/b").to_str().unwrap());
}
