//! Tests of written files: they are complete under their final names, closed by size and time, and grouped by
//! partitions. A failing query leaves no partial files.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use thalweg_model::Entropy;
use thalweg_model::disk::{Disk, FileIdentity, WriteFile};
use thalweg_model::{EventTime, ProcessingTime, SeededEntropy, VirtualClock};
use thalweg_sql_formats::RowKind;

use super::of;
use super::parquet::budget;
use crate::connect::bed::{Folder, batch, rows_of, table, write};
use crate::connect::files::{Entry, Files, RealFiles, Standing};
use crate::connect::job_end::JobEnd;
use crate::connect::{RowSink, World, bind_sink};

const JSON: &str = "'path' = 'out', 'format' = 'json'";

/// Returns the names of the files in a folder without the marker files of runs, with the word UID instead of
/// the random one.
fn names(folder: &Folder) -> Vec<String> {
    let plain = |name: String| match name.split_once("part-") {
        Some((before, rest)) => format!("{before}part-UID{}", rest.get(16..).unwrap_or("?")),
        None => name,
    };
    folder.names().into_iter().map(plain).filter(|name| !name.ends_with("/.part-UID.inprogress")).collect()
}

fn sink(of: &crate::table::Table, world: &World) -> Box<dyn RowSink> {
    bind_sink(of, &of.written_columns(), world).unwrap()
}

#[test]
fn files_appear_when_they_are_whole() {
    let folder = Folder::new();
    let with_seed = || World { names: Arc::new(Mutex::new(SeededEntropy::new(7))), ..folder.world() };
    let (of, world) = (of("", JSON), with_seed());
    let mut to = sink(&of, &world);
    assert!(names(&folder).is_empty());
    to.write(&batch(&of, "{\"a\":1,\"b\":\"x\"}"), None).unwrap();
    assert_eq!(names(&folder), ["out/.part-UID-0.inprogress"]);
    assert!(rows_of(&of, &world, 10).unwrap().is_empty());
    to.write(&batch(&of, "{\"a\":2}"), None).unwrap();
    to.finish().unwrap();
    assert_eq!(names(&folder), ["out/part-UID-0"]);
    assert_eq!(rows_of(&of, &world, 10).unwrap(), ["1,x", "2,NULL"]);
    // Another run adds files to the directory, even if it draws the same random word for its names.
    for world in [&world, &with_seed()] {
        write(&of, world, "{\"a\":3}", None).unwrap();
    }
    assert_eq!(rows_of(&of, &world, 10).unwrap().len(), 4);
    // A run without rows writes no file.
    write(&of, &world, "", None).unwrap();
    assert_eq!(names(&folder).len(), 3);
}

/// A query that fails or is cancelled leaves the files that it has published, and nothing else.
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

const ROLLED: &str = "'path' = 'out', 'format' = 'json', 'sink.rolling-policy.file-size' = '1 b',
    'sink.partition-commit.policy.kind' = 'success-file'";

/// Files of a bounded job get their names when its input has ended, so a job that is stopped or killed before
/// publishes nothing.
#[test]
fn a_bounded_job_publishes_at_its_end() {
    let folder = Folder::new();
    let of = of("", ROLLED);
    let world = World { end: JobEnd::new(true), ..folder.world() };
    let mut to = sink(&of, &world);
    to.write(&batch(&of, "{\"a\":1}"), None).unwrap();
    to.write(&batch(&of, "{\"a\":2}"), None).unwrap();
    assert_eq!(names(&folder), ["out/.part-UID-0.inprogress", "out/.part-UID-1.inprogress"]);
    drop(to);
    assert!(names(&folder).is_empty());
    write(&of, &world, "{\"a\":1}\n{\"a\":2}", None).unwrap();
    assert_eq!(names(&folder), ["out/_SUCCESS", "out/part-UID-0"]);
}

/// A bounded job that was asked to end early may publish its files on request, but writes no success file.
#[test]
fn a_bounded_job_that_was_cut_has_no_success_file() {
    for is_bounded in [true, false] {
        let folder = Folder::new();
        let of = of("", ROLLED);
        let world = World { end: JobEnd::new(is_bounded), ..folder.world() };
        let mut to = sink(&of, &world);
        to.write(&batch(&of, "{\"a\":1}"), None).unwrap();
        world.end.note_cut();
        to.finish().unwrap();
        let expected: &[&str] =
            if is_bounded { &["out/part-UID-0"] } else { &["out/_SUCCESS", "out/part-UID-0"] };
        assert_eq!(names(&folder), expected);
    }
}

/// The success file is written after all files of the job. The one of an earlier run is removed before a file
/// of this run appears beside it.
#[test]
fn a_success_file_comes_last() {
    let folder = Folder::new();
    let of = of("", ROLLED);
    write(&of, &folder.world(), "{\"a\":1}", None).unwrap();
    assert!(names(&folder).contains(&"out/_SUCCESS".to_owned()));
    let mut to = sink(&of, &folder.world());
    assert!(names(&folder).contains(&"out/_SUCCESS".to_owned()));
    to.write(&batch(&of, "{\"a\":2}"), None).unwrap();
    assert_eq!(names(&folder).len(), 2, "two files, and none that says that they are all");
    drop(to);
    assert!(!names(&folder).contains(&"out/_SUCCESS".to_owned()));
    write(&of, &folder.world(), "{\"a\":3}", None).unwrap();
    assert!(names(&folder).contains(&"out/_SUCCESS".to_owned()));
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
    // The file was untouched for 2 minutes. A watermark makes the sink check that, at most once a minute.
    at(419);
    to.on_watermark(EventTime::from_secs(1)).unwrap();
    assert_eq!(published(), 1);
    at(479);
    to.on_watermark(EventTime::from_secs(2)).unwrap();
    assert_eq!(published(), 2);
    to.finish().unwrap();
    assert_eq!(rows_of(&of, &world, 10).unwrap().len(), 6);
}

/// Rows are written to the directories of their partitions. The files lack the partition columns, and reading
/// gets them back from the directories.
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

/// Rows of more partitions than files may be open make one file each, although every batch has rows of all
/// partitions.
#[test]
fn many_partitions_are_written_with_few_files() {
    let folder = Folder::new();
    let of = parted("json");
    let world = folder.world();
    let mut to = sink(&of, &world);
    for turn in 0..5 {
        let line = |row: i32| format!("{{\"a\":{},\"p\":{row}}}\n", turn * 300 + row);
        to.write(&batch(&of, &(0..150).map(line).collect::<String>()), None).unwrap();
        let open = names(&folder).iter().filter(|name| name.ends_with("inprogress")).count();
        assert_eq!((open, names(&folder).len()), (128, 128));
    }
    to.finish().unwrap();
    drop(to);
    assert_eq!(folder.names().len(), 150);
    assert_eq!(rows_of(&of, &world, 10).unwrap().len(), 5 * 150);
    assert!(world.notes.take().is_empty());
}

/// If the rows of many partitions exceed the memory for them, they are written to files as large as possible.
/// A note says so, and no row is lost. The limit is 1 MiB in tests.
#[test]
fn more_rows_than_can_be_gathered_make_more_files() {
    const ROWS: i32 = 12_000;
    let text = "x".repeat(300);
    for (format, files_max) in [("json", 400), ("parquet", 4_000)] {
        let folder = Folder::new();
        let of = parted(format);
        let world = folder.world();
        let mut to = sink(&of, &world);
        for from in (0..ROWS).step_by(1_000) {
            let line = |row: i32| format!("{{\"a\":{row},\"b\":\"{row}{text}\",\"p\":{}}}\n", row % 200);
            to.write(&batch(&of, &(from..from + 1_000).map(line).collect::<String>()), None).unwrap();
            let bound = (1 << 20) + 128 * (64 << 10);
            assert!(to.held_bytes() < bound, "{format}: {}", to.held_bytes());
            let open = names(&folder).iter().filter(|name| name.ends_with("inprogress")).count();
            assert!(open <= 128, "{format}: {open}");
        }
        to.finish().unwrap();
        let count = names(&folder).len();
        assert!((200..=files_max).contains(&count), "{format}: {count} files");
        let rows = rows_of(&of, &world, 1_000).unwrap();
        let mut found: Vec<i32> =
            rows.iter().map(|row| row.split(',').next().unwrap().parse().unwrap()).collect();
        found.sort_unstable();
        assert_eq!(found, (0..ROWS).collect::<Vec<_>>(), "{format}");
        let notes = world.notes.take();
        assert!(notes.len() == 1 && notes[0].contains("rows of more than 128 partitions"), "{notes:?}");
    }
}

/// With a small memory budget fewer rows are collected in memory: up to 1/8 of the budget.
#[test]
fn what_is_gathered_follows_the_memory_budget() {
    let text = "x".repeat(1_000);
    let of = parted("json");
    let rows: String =
        (0..1_000).map(|row| format!("{{\"a\":1,\"b\":\"{text}\",\"p\":{}}}\n", row % 200)).collect();
    // There are 200 partitions. 72 have no open file, and their collected rows take 360 KB or more.
    for (budget_bytes, is_more) in [(2 << 20, true), (usize::MAX, false)] {
        let folder = Folder::new();
        let world = folder.world();
        let mut to = sink(&of, &world);
        to.fund(&budget(budget_bytes).0);
        to.write(&batch(&of, &rows), None).unwrap();
        assert_eq!(!world.notes.take().is_empty(), is_more, "{budget_bytes}");
        to.finish().unwrap();
        assert_eq!(rows_of(&of, &world, 1_000).unwrap().len(), 1_000);
    }
}

fn parted(format: &str) -> crate::table::Table {
    table(&format!(
        "CREATE TABLE t (a INT, b STRING, p INT) PARTITIONED BY (p)
         WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = '{format}')"
    ))
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
    // Another run may write to the same single file, but another sink of the same run may not.
    let world = folder.world();
    let first = sink(&of, &world);
    folder.put("out/deep/x", "");
    let same =
        self::of("", "'path' = 'out/deep/../rows.csv', 'format' = 'csv', 'thalweg.single-file' = 'true'");
    let error = write(&same, &world, "", None).unwrap_err();
    assert!(error.contains("is written by two INSERTs"), "{error}");
    drop(first);
}

/// A path that looks like a file and becomes a directory is noted for the user, and so is a table without
/// files.
#[test]
fn likely_mistakes_are_noted() {
    let folder = Folder::new();
    let world = folder.world();
    let report = of("", "'path' = 'out/report.csv', 'format' = 'csv'");
    write(&report, &world, "{\"a\":1}", None).unwrap();
    let notes = world.notes.take();
    assert!(notes.len() == 1 && notes[0].contains("report.csv becomes a directory"), "{notes:?}");
    write(&report, &world, "{\"a\":1}", None).unwrap();
    write(&of("", "'path' = 'out/v1.2', 'format' = 'csv'"), &world, "{\"a\":1}", None).unwrap();
    assert!(world.notes.take().is_empty());
    std::fs::create_dir(folder.0.join("empty")).unwrap();
    assert!(rows_of(&of("", "'path' = 'empty', 'format' = 'csv'"), &world, 10).unwrap().is_empty());
    let notes = world.notes.take();
    assert!(notes.len() == 1 && notes[0].contains("empty has no files, so `t` has no rows"), "{notes:?}");
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

/// A run does not truncate the single file that another run is writing; the second run gets an error. The
/// unfinished file of a killed run is no obstacle.
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
    // A file is locked until its publication, so that no other run takes it for a leftover.
    let (from, to) = (folder.0.join("from"), folder.0.join("to"));
    let mut file = RealFiles.create(&from).unwrap();
    file.write_all(b"first").unwrap();
    file.sync().unwrap();
    assert!(!RealFiles.remove_leftover(&from).unwrap());
    assert_eq!(RealFiles.create(&from).err().map(|error| error.kind()), Some(ErrorKind::ResourceBusy));
    RealFiles.publish(&from, &to).unwrap();
    drop(file);
    assert_eq!(folder.get("to"), "first");
}

/// A file system that records, at each publication, whether the file is still locked, so that no other run
/// could take it for a leftover.
#[derive(Default)]
struct Watching {
    was_held: Mutex<Vec<bool>>,
}

impl Disk for Watching {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read + Send>> {
        RealFiles.open(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        RealFiles.create(path)
    }

    fn identity(&self, path: &Path) -> io::Result<FileIdentity> {
        RealFiles.identity(path)
    }

    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.was_held.lock().unwrap().push(RealFiles.is_held(from)?);
        RealFiles.publish(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealFiles.remove(path)
    }
}

impl Files for Watching {
    fn list(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        RealFiles.list(directory)
    }

    fn is_directory(&self, path: &Path) -> io::Result<bool> {
        RealFiles.is_directory(path)
    }

    fn standing(&self, path: &Path) -> io::Result<Standing> {
        RealFiles.standing(path)
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        RealFiles.real_path(path)
    }

    fn make_directories(&self, path: &Path) -> io::Result<()> {
        RealFiles.make_directories(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        RealFiles.remove_directory(path)
    }

    fn is_held(&self, path: &Path) -> io::Result<bool> {
        RealFiles.is_held(path)
    }

    fn remove_leftover(&self, path: &Path) -> io::Result<bool> {
        RealFiles.remove_leftover(path)
    }

    fn open_file(&self, path: &Path) -> io::Result<File> {
        RealFiles.open_file(path)
    }
}

/// A table's single file keeps its lock until it has its final name.
#[test]
fn one_file_is_held_until_it_has_its_name() {
    for (format, is_bounded) in [("csv", true), ("csv", false), ("parquet", true)] {
        let folder = Folder::new();
        let files = Arc::new(Watching::default());
        let world = World { files: Arc::clone(&files) as _, end: JobEnd::new(is_bounded), ..folder.world() };
        let of = of("", &format!("'path' = 'rows', 'format' = '{format}', 'thalweg.single-file' = 'true'"));
        write(&of, &world, "{\"a\":1,\"b\":\"x\"}", None).unwrap();
        assert_eq!(*files.was_held.lock().unwrap(), [true], "{format} {is_bounded}");
        assert_eq!(folder.names(), ["rows"]);
        assert_eq!(rows_of(&of, &folder.world(), 10).unwrap(), ["1,x"]);
    }
}

/// Files of a killed run are removed by the next run into the same directory; files that a run is writing,
/// and files with other names, stay.
#[test]
fn leftovers_of_killed_runs_are_removed() {
    let folder = Folder::new();
    let of = parted("json");
    let live_world = folder.world();
    let mut live = sink(&of, &live_world);
    live.write(&batch(&of, "{\"a\":1,\"p\":1}"), None).unwrap();
    let marker = folder.names().into_iter().find(|name| name.starts_with("out/.part-")).unwrap();
    // This file belongs to the live run. It is already closed, and not published.
    let closed = marker.replace("out/", "out/p=1/").replace(".inprogress", "-7.inprogress");
    folder.put(&closed, "closed");
    for name in [
        "out/.part-0123456789abcdef.inprogress",
        "out/p=1/.part-0123456789abcdef-0.inprogress",
        "out/p=2/.part-0123456789abcdef-1.inprogress",
        "out/.part-0123456789abcdef-2.inprogress",
    ] {
        folder.put(name, "left");
    }
    let others = [
        "out/p=1/.notes.inprogress",
        "out/p=1/deep/.part-0123456789abcdef-3.inprogress",
        "out/x/.part-0123456789abcdef-4.inprogress",
    ];
    others.iter().for_each(|name| folder.put(name, "of others"));
    drop(sink(&of, &folder.world()));
    let mut left = names(&folder);
    left.retain(|name| {
        !others.contains(&name.as_str()) && !name.contains("UID-3") && !name.contains("UID-4")
    });
    let expected = ["out/p=1/.part-UID-0.inprogress", "out/p=1/.part-UID-7.inprogress"];
    assert_eq!(left, expected, "the files of the run that is live");
    assert_eq!(folder.names().len(), 6);
    assert!(folder.names().contains(&marker));
    live.finish().unwrap();
    drop(live);
    assert!(!folder.names().contains(&marker));
    drop(sink(&of, &folder.world()));
    assert!(!folder.names().contains(&closed), "its run has ended");
    assert_eq!(rows_of(&of, &folder.world(), 10).unwrap(), ["1,NULL,1"]);
    assert!(live_world.notes.take().is_empty());
}

/// A symbolic link at a hidden name is neither followed nor replaced: a part takes another name, and a single
/// file is refused.
#[test]
fn links_at_hidden_names_are_not_followed() {
    let folder = Folder::new();
    folder.put("precious", "kept");
    let seeded =
        |seed: u64| World { names: Arc::new(Mutex::new(SeededEntropy::new(seed))), ..folder.world() };
    let word = format!("{:016x}", SeededEntropy::new(7).next_u64());
    std::fs::create_dir(folder.0.join("out")).unwrap();
    let planted = folder.0.join(format!("out/.part-{word}-0.inprogress"));
    std::os::unix::fs::symlink("../precious", &planted).unwrap();
    let of = of("", JSON);
    let world = seeded(7);
    write(&of, &world, "{\"a\":1}", None).unwrap();
    assert_eq!(folder.get("precious"), "kept");
    assert_eq!(rows_of(&of, &world, 10).unwrap(), ["1,NULL"]);
    let notes = world.notes.take();
    assert!(notes.len() == 1 && notes[0].contains("cannot be removed") && planted.is_symlink(), "{notes:?}");
    let error = RealFiles.create(&planted).err().unwrap().to_string();
    assert!(error.contains("no regular file"), "{error}");
    assert_eq!(folder.get("precious"), "kept");
}

/// A file for bad records and a file for rows never replace each other.
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

/// A partition directory that was deleted is created again. A directory whose value ends in `.inprogress` is
/// read.
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
