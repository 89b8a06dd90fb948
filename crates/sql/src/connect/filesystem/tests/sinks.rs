//! Files that are written: whole under their names, rolled by size and time, in partitions; nothing of a query that fails.

use std::io::Write;
use std::sync::Arc;

use thalweg_model::disk::Disk;
use thalweg_model::{EventTime, ProcessingTime, VirtualClock};

use super::of;
use crate::connect::bed::{Folder, batch, rows_of, table, write};
use crate::connect::files::RealFiles;
use crate::connect::{RowSink, World, bind_sink};
use crate::formats::RowKind;

const JSON: &str = "'path' = 'out', 'format' = 'json'";

/// The names of published files, with UID for the word of the run.
fn names(folder: &Folder) -> Vec<String> {
    let plain = |name: String| match name.split_once("part-") {
        Some((before, rest)) => format!("{before}part-UID{}", rest.get(16..).unwrap_or("?")),
        None => name,
    };
    folder.names().into_iter().map(plain).collect()
}

fn sink(of: &crate::catalog::Table, world: &World) -> Box<dyn RowSink> {
    bind_sink(of, &of.written_columns(), world).unwrap()
}

#[test]
fn files_appear_when_they_are_whole() {
    let folder = Folder::new();
    let (of, world) = (of("", JSON), folder.world());
    let mut to = sink(&of, &world);
    assert!(names(&folder).is_empty());
    to.write(&batch(&of, "{\"a\":1,\"b\":\"x\"}"), None).unwrap();
    assert_eq!(names(&folder), ["out/.part-UID-0.inprogress"]);
    assert!(rows_of(&of, &world, 10).unwrap().is_empty());
    to.write(&batch(&of, "{\"a\":2}"), None).unwrap();
    to.finish().unwrap();
    assert_eq!(names(&folder), ["out/part-UID-0"]);
    assert_eq!(rows_of(&of, &world, 10).unwrap(), ["1,x", "2,NULL"]);
    // Another run adds to what is there, even if its clock has it take the same word.
    for world in [&world, &folder.world()] {
        write(&of, world, "{\"a\":3}", None).unwrap();
    }
    assert_eq!(rows_of(&of, &world, 10).unwrap().len(), 4);
    // One without rows writes nothing.
    write(&of, &world, "", None).unwrap();
    assert_eq!(names(&folder).len(), 3);
}

/// A query that fails, or is cancelled, leaves what it has published and nothing else.
#[test]
fn a_query_that_fails_publishes_nothing_more() {
    let folder = Folder::new();
    let of = of("", &format!("{JSON}, 'sink.rolling-policy.file-size' = '20 b'"));
    let mut to = sink(&of, &folder.world());
    to.write(&batch(&of, "{\"a\":1}\n{\"a\":2}"), None).unwrap();
    to.write(&batch(&of, "{\"a\":3}"), None).unwrap();
    let error = to.write(&batch(&of, "{\"a\":4}"), Some(&[RowKind::Delete])).unwrap_err();
    assert_eq!(error.code(), "UNWRITABLE");
    drop(to);
    assert_eq!(names(&folder), ["out/part-UID-0"]);
    assert_eq!(rows_of(&of, &folder.world(), 10).unwrap(), ["1,NULL", "2,NULL"]);
}

#[test]
fn files_are_rolled_by_time() {
    let folder = Folder::new();
    let clock = Arc::new(VirtualClock::default());
    let world = World { clock: Arc::clone(&clock) as _, ..folder.world() };
    let of = of(
        "",
        &format!(
            "{JSON}, 'sink.rolling-policy.rollover-interval' = '5 min', 'sink.rolling-policy.inactivity-interval' = '2 min'"
        ),
    );
    let mut to = sink(&of, &world);
    let at = |second: u64| clock.advance_to(ProcessingTime::from_nanos(second * 1_000_000_000));
    let published = || names(&folder).iter().filter(|name| !name.ends_with("inprogress")).count();
    at(0);
    for minute in 0..5 {
        at(minute * 60);
        to.write(&batch(&of, "{\"a\":1}"), None).unwrap();
        assert_eq!(published(), 0);
    }
    at(300);
    to.write(&batch(&of, "{\"a\":1}"), None).unwrap();
    assert_eq!(published(), 1);
    // Untouched for two minutes; a watermark looks, once a minute.
    at(419);
    to.on_watermark(EventTime::from_secs(1)).unwrap();
    assert_eq!(published(), 1);
    at(479);
    to.on_watermark(EventTime::from_secs(2)).unwrap();
    assert_eq!(published(), 2);
    to.finish().unwrap();
    assert_eq!(rows_of(&of, &world, 10).unwrap().len(), 6);
}

/// Rows go to the directories of their partitions, whose columns are not in the files, and come back from there.
#[test]
fn partitions_are_directories() {
    let folder = Folder::new();
    let of = table(
        "CREATE TABLE t (`day` DATE, a INT, kind STRING, b STRING) PARTITIONED BY (kind, `day`) WITH (
         'connector' = 'filesystem', 'path' = 'out', 'format' = 'csv', 'sink.partition-commit.policy.kind' = 'success-file')",
    );
    let world = folder.world();
    let lines = "{\"day\":\"2020-01-01\",\"a\":1,\"kind\":\"x/y\",\"b\":\"p\"}\n{\"a\":2,\"kind\":\"\",\"b\":\"q\"}\n\
                 {\"day\":\"2020-01-01\",\"a\":3,\"kind\":\"x/y\",\"b\":\"r\"}\n";
    write(&of, &world, lines, None).unwrap();
    assert_eq!(
        names(&folder),
        [
            "out/kind=__DEFAULT_PARTITION__/day=__DEFAULT_PARTITION__/_SUCCESS",
            "out/kind=__DEFAULT_PARTITION__/day=__DEFAULT_PARTITION__/part-UID-1",
            "out/kind=x%2Fy/day=2020-01-01/_SUCCESS",
            "out/kind=x%2Fy/day=2020-01-01/part-UID-0",
        ]
    );
    let mut rows = rows_of(&of, &world, 10).unwrap();
    rows.sort();
    assert_eq!(rows, ["2020-01-01,1,x/y,p", "2020-01-01,3,x/y,r", "NULL,2,NULL,q"]);
}

/// Of more partitions than files may be open, those that were written to longest ago are published.
#[test]
fn many_partitions_are_written_with_few_files() {
    let folder = Folder::new();
    let of = table(
        "CREATE TABLE t (a INT, p INT) PARTITIONED BY (p)
         WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'json')",
    );
    let world = folder.world();
    let mut to = sink(&of, &world);
    let lines: String = (0..300).map(|row| format!("{{\"a\":{row},\"p\":{row}}}\n")).collect();
    to.write(&batch(&of, &lines), None).unwrap();
    let open = names(&folder).iter().filter(|name| name.ends_with("inprogress")).count();
    assert_eq!((open, names(&folder).len()), (128, 300));
    to.finish().unwrap();
    assert_eq!(rows_of(&of, &world, 10).unwrap().len(), 300);
}

#[test]
fn one_file_alone() {
    let folder = Folder::new();
    let of = of(
        "",
        "'path' = 'out/rows.csv', 'format' = 'csv', 'thalweg.single-file' = 'true', 'sink.rolling-policy.file-size' = '1 b'",
    );
    let world = folder.world();
    folder.put("out/rows.csv", "old");
    let mut to = sink(&of, &world);
    to.write(&batch(&of, "{\"a\":1,\"b\":\"x\"}"), None).unwrap();
    to.write(&batch(&of, "{\"a\":2,\"b\":\"y\"}"), None).unwrap();
    assert_eq!(folder.get("out/rows.csv"), "old");
    to.finish().unwrap();
    assert_eq!(folder.get("out/rows.csv"), "1,x\n2,y\n");
    write(&of, &folder.world(), "", None).unwrap();
    assert_eq!(folder.get("out/rows.csv"), "");
    assert_eq!(folder.names(), ["out/rows.csv"]);
    let directory = self::of("", "'path' = 'out', 'format' = 'csv', 'thalweg.single-file' = 'true'");
    let error = write(&directory, &folder.world(), "", None).unwrap_err();
    assert!(error.contains("'thalweg.single-file': it is a directory"), "{error}");
    // Another run may, but not another sink of the same.
    let world = folder.world();
    let first = sink(&of, &world);
    folder.put("out/deep/x", "");
    let same =
        self::of("", "'path' = 'out/deep/../rows.csv', 'format' = 'csv', 'thalweg.single-file' = 'true'");
    let error = write(&same, &world, "", None).unwrap_err();
    assert!(error.contains("is written by two INSERTs"), "{error}");
    drop(first);
}

#[test]
fn what_cannot_be_written_is_told_before_anything_runs() {
    let folder = Folder::new();
    folder.put("file", "");
    let error =
        write(&of("", "'path' = 'file/out', 'format' = 'csv'"), &folder.world(), "", None).unwrap_err();
    assert!(error.contains("file/out cannot be made"), "{error}");
    let meta = of(", p STRING METADATA FROM 'file.path'", JSON);
    let error = write(&meta, &folder.world(), "", None).unwrap_err();
    assert!(error.contains("declare it VIRTUAL"), "{error}");
}

/// The file of one run is not emptied by another, which is told; what is left of a run that was killed is in nobody's way.
#[test]
fn two_runs_do_not_write_one_file() {
    let folder = Folder::new();
    folder.put(".rows.csv.inprogress", "left by a run that was killed");
    let of = of("", "'path' = 'rows.csv', 'format' = 'csv', 'thalweg.single-file' = 'true'");
    let mut first = sink(&of, &folder.world());
    first.write(&batch(&of, "{\"a\":1,\"b\":\"x\"}"), None).unwrap();
    let second = bind_sink(&of, &of.written_columns(), &folder.world());
    let error = second.err().expect("it is being written").to_string();
    assert!(error.contains("rows.csv") && error.contains("another run writes it"), "{error}");
    first.finish().unwrap();
    assert_eq!(folder.get("rows.csv"), "1,x\n");
    write(&of, &folder.world(), "{\"a\":2,\"b\":\"y\"}", None).unwrap();
    assert_eq!(folder.get("rows.csv"), "2,y\n");
    // One that comes between the end of writing and publishing keeps its file.
    let (from, to) = (folder.0.join("from"), folder.0.join("to"));
    drop(RealFiles.create(&from).unwrap());
    let mut other = RealFiles.create(&from).unwrap();
    assert!(RealFiles.publish(&from, &to).is_err());
    other.write_all(b"other").unwrap();
    drop(other);
    RealFiles.publish(&from, &to).unwrap();
    assert_eq!(folder.get("to"), "other");
}

/// Bad records and rows do not take each other's place.
#[test]
fn a_file_holds_bad_records_or_rows() {
    let folder = Folder::new();
    folder.put("in/x.csv", "1,a\nx\n");
    let reads = of("", "'path' = 'in', 'format' = 'csv', 'thalweg.on-bad' = 'divert:out.csv'");
    let writes = of("", "'path' = 'out.csv', 'format' = 'csv', 'thalweg.single-file' = 'true'");
    let world = folder.world();
    rows_of(&reads, &world, 10).unwrap();
    rows_of(&reads, &world, 10).unwrap();
    let error = write(&writes, &world, "", None).unwrap_err();
    assert!(error.contains("bad records are diverted to it"), "{error}");
    let world = folder.world();
    write(&writes, &world, "", None).unwrap();
    let error = rows_of(&reads, &world, 10).unwrap_err();
    assert!(error.contains("an INSERT writes it as one file"), "{error}");
    assert_eq!(folder.get("out.csv"), "");
}

/// A directory that is cleaned away is made again, and one whose value ends like an unfinished file is read.
#[test]
fn directories_of_partitions() {
    let folder = Folder::new();
    let of = table(
        "CREATE TABLE t (a INT, p STRING) PARTITIONED BY (p) WITH (
         'connector' = 'filesystem', 'path' = 'out', 'format' = 'json', 'sink.rolling-policy.file-size' = '1 b',
         'sink.partition-commit.policy.kind' = 'success-file')",
    );
    let world = folder.world();
    let mut to = sink(&of, &world);
    to.write(&batch(&of, "{\"a\":1,\"p\":\"x.inprogress\"}"), None).unwrap();
    assert_eq!(rows_of(&of, &world, 10).unwrap(), ["1,x.inprogress"]);
    std::fs::remove_dir_all(folder.0.join("out")).unwrap();
    to.write(&batch(&of, "{\"a\":2,\"p\":\"x.inprogress\"}"), None).unwrap();
    to.finish().unwrap();
    assert_eq!(names(&folder), ["out/p=x.inprogress/_SUCCESS", "out/p=x.inprogress/part-UID-1"]);
    assert_eq!(rows_of(&of, &world, 10).unwrap(), ["2,x.inprogress"]);
}
