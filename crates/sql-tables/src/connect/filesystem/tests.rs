//! Files are read as they were found or the query fails; reading continues from every position; written files
//! appear complete.

mod ahead;
mod checkpoints;
mod damaged;
mod faults;
mod overwriting;
mod parquet;
mod sinks;

use thalweg_model::{ProcessingTime, SourceStatus};

use crate::connect::bed::{Folder, drain, restore, rows_of, saved, shown, sources, table};
use crate::connect::{Division, World};
use crate::scan::rows::RowSource;

/// Declares a table with the connector `filesystem`, two columns, and further columns and options.
pub(super) fn of(columns: &str, options: &str) -> crate::table::Table {
    table(&format!("CREATE TABLE t (a INT, b STRING{columns}) WITH ('connector' = 'filesystem', {options})"))
}

const CSV: &str = "'path' = 'in', 'format' = 'csv'";

/// The lines `3,c` and `4,d`, compressed by gzip.
const GZIPPED: &[u8] = &[
    31, 139, 8, 0, 0, 0, 0, 0, 2, 255, 51, 214, 73, 230, 50, 209, 73, 225, 2, 0, 133, 42, 247, 13, 8, 0, 0, 0,
];

/// The files of a directory are read in the order of their names, with the directories below. Gzip is
/// recognised by the name; hidden and unfinished files are ignored.
#[test]
fn a_directory_is_read() {
    let folder = Folder::new();
    folder.put("in/b.csv", "2,b\n");
    folder.put("in/a.csv", "1,a");
    folder.put("in/deep/er/c.csv.gz", GZIPPED);
    folder.put("in/.hidden.csv", "x");
    folder.put("in/_SUCCESS", "x");
    folder.put("in/_dir/a.csv", "x");
    folder.put("in/d.csv.inprogress", "x");
    folder.put("in/z.csv", "");
    for rows_max in [1, 100] {
        let rows = rows_of(&of("", CSV), &folder.world(), rows_max).unwrap();
        assert_eq!(rows, ["1,a", "2,b", "3,c", "4,d"]);
    }
    // The 4 files make 4 splits, one for each file.
    assert_eq!(sources(&of("", CSV), &folder.world()).unwrap().len(), 4);
}

#[test]
fn a_file_is_read_by_any_of_its_paths() {
    let folder = Folder::new();
    folder.put("_one", "{\"a\":1,\"b\":\"x\"}\n");
    for path in [
        "_one".to_owned(),
        format!("file://{}/_one", folder.0.display()),
        format!("{}/_one", folder.0.display()),
    ] {
        let options = format!("'path' = '{path}', 'format' = 'json'");
        assert_eq!(rows_of(&of("", &options), &folder.world(), 10).unwrap(), ["1,x"], "{path}");
    }
    let missing = rows_of(&of("", "'path' = 'none', 'format' = 'json'"), &folder.world(), 10).unwrap_err();
    assert!(missing.contains("none cannot be read"), "{missing}");
}

/// 100 files make at most 32 splits, and all files are read.
#[test]
fn files_are_distributed_over_splits() {
    let folder = Folder::new();
    (0..100).for_each(|file| folder.put(&format!("in/{file:03}.csv"), format!("{file},x\n")));
    assert_eq!(sources(&of("", CSV), &folder.world()).unwrap().len(), 32);
    let mut rows = rows_of(&of("", CSV), &folder.world(), 10).unwrap();
    rows.sort_by_key(|row| row.split(',').next().unwrap().parse::<u32>().unwrap());
    assert_eq!(rows, (0..100).map(|file| format!("{file},x")).collect::<Vec<_>>());
}

/// The number of sources of a job with checkpoints follows from the number of workers, and not from the files that are found.
/// A restored split reads the files that it had, and no file that was added meanwhile.
#[test]
fn splits_of_a_job_with_checkpoints() {
    let folder = Folder::new();
    let division = Division { workers: 3, piece_bytes: 10, ..Division::default() };
    let world = World { takes_checkpoints: true, division, ..folder.world() };
    let count = |options: &str| sources(&of("", options), &world).unwrap().len();
    folder.put("in/a.csv", "1,a\n");
    assert_eq!(count(CSV), 3 + 2, "a reader for each worker, and helpers");
    let before: Vec<Vec<u8>> =
        sources(&of("", CSV), &world).unwrap().iter().map(|source| saved(source.as_ref())).collect();
    (0..9).for_each(|file| folder.put(&format!("in/b{file}.csv"), "2,b\n".repeat(100 * file)));
    assert_eq!(count(CSV), 3 + 2);
    let mut again = sources(&of("", CSV), &world).unwrap();
    again.iter_mut().zip(&before).for_each(|(source, bytes)| restore(source.as_mut(), bytes).unwrap());
    let rows: Vec<String> = again.iter_mut().flat_map(|source| drain(source.as_mut(), 10).unwrap()).collect();
    assert_eq!(rows, ["1,a"]);
    assert_eq!(count("'path' = 'in/a.csv', 'format' = 'csv'"), 1 + 2);
    assert_eq!(count(&format!("{CSV}, 'source.monitor-interval' = '1 s'")), 1);
    assert_eq!(count(&format!("{CSV}, 'thalweg.on-bad' = 'divert:bad.jsonl'")), 1 + 2);
}

/// Two tables of a job with checkpoints do not divert to one file, because a restart writes it anew from one position.
#[test]
fn diversions_of_a_job_with_checkpoints() {
    let folder = Folder::new();
    folder.put("in/a.csv", "1,a\n");
    let world = World { takes_checkpoints: true, ..folder.world() };
    let of = of("", &format!("{CSV}, 'thalweg.on-bad' = 'divert:bad.jsonl'"));
    let first = sources(&of, &world).unwrap();
    let error = sources(&of, &world).err().unwrap().to_string();
    assert!(error.contains("another table of a job that takes checkpoints diverts to it"), "{error}");
    drop(first);
    assert!(sources(&of, &world).is_ok());
}

/// A helper of readers that had ended, and are not restored, ends.
#[test]
fn helpers_do_not_wait_for_readers_that_had_ended() {
    let folder = Folder::new();
    folder.put("in/a.csv", "1,a\n".repeat(100));
    let division = Division { workers: 2, piece_bytes: 10, ..Division::default() };
    let world = World { takes_checkpoints: true, division, ..folder.world() };
    let of = of("", "'path' = 'in/a.csv', 'format' = 'csv'");
    let mut found = sources(&of, &world).unwrap();
    let polled = |source: &mut dyn RowSource| source.poll(ProcessingTime::ZERO, 10).unwrap().status;
    assert_ne!(polled(found[1].as_mut()), SourceStatus::Ended);
    let bytes = saved(found[1].as_ref());
    let mut again = sources(&of, &world).unwrap();
    restore(again[1].as_mut(), &bytes).unwrap();
    assert_eq!(polled(again[1].as_mut()), SourceStatus::Ended);
    // With the reader it waits.
    let position = saved(found[0].as_ref());
    let mut both = sources(&of, &world).unwrap();
    restore(both[0].as_mut(), &position).unwrap();
    restore(both[1].as_mut(), &bytes).unwrap();
    assert_ne!(polled(both[1].as_mut()), SourceStatus::Ended);
}

#[test]
fn an_empty_directory_has_ended() {
    let folder = Folder::new();
    folder.put("in/_x", "");
    assert!(rows_of(&of("", CSV), &folder.world(), 10).unwrap().is_empty());
}

/// The pattern of `source.path.regex-pattern` must match the whole path of a file.
#[test]
fn patterns_choose_files() {
    let folder = Folder::new();
    folder.put("in/a.csv", "1,a\n");
    folder.put("in/deep/a.txt", "2,b\n");
    let check = |pattern: &str, expected: &[&str]| {
        let options = format!("{CSV}, 'source.path.regex-pattern' = '{pattern}'");
        assert_eq!(rows_of(&of("", &options), &folder.world(), 10).unwrap(), expected, "{pattern}");
    };
    check(".*", &["1,a", "2,b"]);
    check(".*[.]csv", &["1,a"]);
    check("[.]csv", &[]);
    check(".*/in/[^/]*", &["1,a"]);
    check("/nowhere/.*|.*txt", &["2,b"]);
}

#[test]
fn metadata_tells_of_the_file() {
    let folder = Folder::new();
    folder.put("in/x.csv", "1,a\n2,b\n");
    let columns = ", p STRING METADATA FROM 'file.path', n VARCHAR(3) METADATA FROM 'file.name', s INT METADATA FROM 'file.size' VIRTUAL";
    let path = folder.0.join("in/x.csv");
    let expected = [format!("1,a,{0},x.c,8", path.display()), format!("2,b,{0},x.c,8", path.display())];
    assert_eq!(rows_of(&of(columns, CSV), &folder.world(), 10).unwrap(), expected);
    let times = of(", m TIMESTAMP_LTZ(3) METADATA FROM 'file.modification-time'", CSV);
    let rows = rows_of(&times, &folder.world(), 10).unwrap();
    assert!(rows[0].starts_with("1,a,2"), "{rows:?}");
}

/// Values of partition columns come from the names of directories, cast to the types of the columns.
#[test]
fn partitions_are_columns() {
    let folder = Folder::new();
    folder.put("in/day=2020-01-01/kind=a%2Fb/x.csv", "1,a\n");
    folder.put("in/day=2020-01-02/kind=__DEFAULT_PARTITION__/deeper/y.csv", "2,b\n");
    folder.put("in/day=2020-01-03/y.csv", "x");
    folder.put("in/y.csv", "x");
    let declared = |day: &str| {
        table(&format!(
            "CREATE TABLE t (kind STRING, a INT, `day` {day}, b STRING) PARTITIONED BY (`day`, kind)
             WITH ('connector' = 'filesystem', {CSV})"
        ))
    };
    let rows = rows_of(&declared("DATE"), &folder.world(), 10).unwrap();
    assert_eq!(rows, ["a/b,1,2020-01-01,a", "NULL,2,2020-01-02,b"]);
    let wrong = rows_of(&declared("INT"), &folder.world(), 10).unwrap_err();
    assert!(
        wrong
            .contains("in/day=2020-01-01/kind=a%2Fb/x.csv, column `day`: '2020-01-01' cannot be cast to INT"),
        "{wrong}"
    );
    folder.put("times/ts=2020-01-01T12%3A30/x.csv", "1,a\n");
    let times = table(
        "CREATE TABLE t (a INT, b STRING, ts TIMESTAMP(3)) PARTITIONED BY (ts)
         WITH ('connector' = 'filesystem', 'path' = 'times', 'format' = 'csv')",
    );
    assert_eq!(rows_of(&times, &folder.world(), 10).unwrap(), ["1,a,2020-01-01 12:30:00.000"]);
}

/// Only requested columns are read, in the requested order; without any, rows are counted.
#[test]
fn wanted_columns_come_in_their_order() {
    let folder = Folder::new();
    folder.put("in/day=7/x.csv", "1,a\n2,b\n");
    let of = table(
        "CREATE TABLE t (a INT, b STRING, `day` INT, n STRING METADATA FROM 'file.name') PARTITIONED BY (`day`)
         WITH ('connector' = 'filesystem', 'path' = 'in', 'format' = 'csv')",
    );
    let check = |wanted: &[usize], expected: &[&str]| {
        let mut found = crate::connect::bind_source(&of, wanted, &folder.world()).unwrap();
        assert_eq!(drain(found[0].as_mut(), 10).unwrap(), expected, "{wanted:?}");
    };
    check(&[1, 0], &["a,1", "b,2"]);
    check(&[3, 1, 2], &["x.csv,a,7", "x.csv,b,7"]);
    check(&[2], &["7", "7"]);
    check(&[], &["", ""]);
}

/// A watched directory is listed again when the interval has passed, and each file is read once.
#[test]
fn new_files_are_found() {
    let folder = Folder::new();
    folder.put("in/a.csv", "1,a\n");
    let of = of("", &format!("{CSV}, 'source.monitor-interval' = '10 s', 'thalweg.on-bad' = 'skip'"));
    let mut found = sources(&of, &folder.world()).unwrap();
    assert_eq!(found.len(), 1);
    let source = found[0].as_mut();
    let poll = |source: &mut dyn RowSource, second: u64| {
        let mut rows = Vec::new();
        loop {
            let polled = source.poll(ProcessingTime::from_nanos(second * 1_000_000_000), 10).unwrap();
            rows.extend(polled.rows.iter().flat_map(shown));
            match polled.status {
                SourceStatus::Ready => {}
                SourceStatus::IdleUntil(at) => return (rows, at.as_nanos() / 1_000_000_000),
                other => panic!("{other:?}"),
            }
        }
    };
    assert_eq!(poll(source, 100), (vec!["1,a".to_owned()], 110));
    folder.put("in/c.csv", "3,c\n");
    folder.put("in/b.csv", "2,b\n");
    assert_eq!(poll(source, 109), (vec![], 110));
    assert_eq!(poll(source, 111), (vec!["2,b".to_owned(), "3,c".to_owned()], 121));
    // A file that is written to after it was read is not read again, but counted.
    folder.put("in/a.csv", "9,z\n");
    std::fs::remove_file(folder.0.join("in/b.csv")).unwrap();
    assert_eq!(poll(source, 125), (vec![], 135));
    assert_eq!(source.bad_count(), 1);
    // The list of files that were read survives a restore from a saved position.
    let bytes = saved(source);
    let mut again = sources(&of, &folder.world()).unwrap();
    restore(again[0].as_mut(), &bytes).unwrap();
    folder.put("in/d.csv", "4,d\n");
    assert_eq!(poll(again[0].as_mut(), 200), (vec![], 210));
    assert_eq!(poll(again[0].as_mut(), 210), (vec!["4,d".to_owned()], 220));
}

/// From every saved position a new source continues with exactly the missing rows, in every format and with
/// every handling of bad records.
#[test]
fn every_position_is_gone_on_from() {
    let lines: String = (0..40)
        .map(|row| match row % 7 {
            3 => "broken\n".to_owned(),
            5 => format!(
                "[{{\"a\":{row},\"b\":\"x\"}},{{\"a\":{row},\"b\":\"y\"}},{{\"a\":{row},\"b\":\"z\"}}]\n"
            ),
            _ => format!("{{\"a\":{row},\"b\":\"é\"}}\n"),
        })
        .collect();
    let folder = Folder::new();
    folder.put("in/one.json", &lines);
    folder.put("in/two.json", lines.trim_end());
    folder.put("in/three.json", "oh");
    for policy in ["skip", "divert:bad.jsonl"] {
        let options = format!(
            "'path' = 'in', 'format' = 'json', 'source.monitor-interval' = '1 h', 'thalweg.bad-share-max' = '1', 'thalweg.on-bad' = '{policy}'"
        );
        let of = of("", &options);
        for rows_max in [1, 2, 5, 1_000] {
            let polls = |source: &mut dyn RowSource, count: usize| {
                let mut rows = Vec::new();
                for _ in 0..count {
                    let polled = source.poll(ProcessingTime::ZERO, rows_max).unwrap();
                    rows.extend(polled.rows.iter().flat_map(shown));
                    if polled.status != SourceStatus::Ready {
                        break;
                    }
                }
                rows
            };
            let mut whole = sources(&of, &folder.world()).unwrap();
            let all = polls(whole[0].as_mut(), usize::MAX);
            assert_eq!(all.len(), 2 * (29 + 3 * 5), "{rows_max}");
            assert_eq!(whole[0].bad_count(), 13);
            whole[0].finish().unwrap();
            drop(whole);
            let diverted = policy.starts_with("divert").then(|| folder.get("bad.jsonl"));
            for cut in (0..100).step_by(if rows_max == 1 { 3 } else { 1 }) {
                let mut first = sources(&of, &folder.world()).unwrap();
                let mut rows = polls(first[0].as_mut(), cut);
                let bytes = saved(first[0].as_ref());
                drop(first);
                let mut second = sources(&of, &folder.world()).unwrap();
                restore(second[0].as_mut(), &bytes).unwrap();
                // A restored source saves the same position again. This holds only if bad records are
                // skipped, because diverted ones must be counted again.
                if policy == "skip" {
                    assert_eq!(saved(second[0].as_ref()), bytes, "{rows_max} {cut}");
                }
                rows.extend(polls(second[0].as_mut(), usize::MAX));
                assert_eq!(rows, all, "{policy} {rows_max} {cut}");
                assert_eq!(second[0].bad_count(), 13, "{policy} {rows_max} {cut}");
                second[0].finish().unwrap();
                if let Some(diverted) = &diverted {
                    assert_eq!(folder.get("bad.jsonl"), *diverted, "{rows_max} {cut}");
                }
            }
        }
    }
}

/// Saved positions work in compressed files, and in files whose first line is skipped.
#[test]
fn positions_behind_headers_and_in_gzip() {
    let folder = Folder::new();
    folder.put("in/a.csv.gz", GZIPPED);
    folder.put("in/b.csv", "a,b\n5,e\n6,f\n");
    let of = of("", "'path' = 'in/b.csv', 'format' = 'csv', 'csv.ignore-first-line' = 'true'");
    let zipped = self::of("", "'path' = 'in/a.csv.gz', 'format' = 'csv'");
    for (of, expected) in [(&of, ["5,e", "6,f"]), (&zipped, ["3,c", "4,d"])] {
        let mut first = sources(of, &folder.world()).unwrap();
        let row = first[0].poll(ProcessingTime::ZERO, 1).unwrap().rows.unwrap();
        assert_eq!(shown(&row), expected[..1]);
        let mut second = sources(of, &folder.world()).unwrap();
        restore(second[0].as_mut(), &saved(first[0].as_ref())).unwrap();
        assert_eq!(drain(second[0].as_mut(), 1).unwrap(), expected[1..]);
    }
}

/// Rows come with their kinds of change, even if a batch ends between the two rows of an update.
#[test]
fn changes_come_with_their_kinds() {
    let folder = Folder::new();
    folder.put(
        "in/x",
        "{\"before\":null,\"after\":{\"a\":1,\"b\":\"x\"},\"op\":\"c\"}\n\
         {\"before\":{\"a\":1,\"b\":\"x\"},\"after\":{\"a\":1,\"b\":\"y\"},\"op\":\"u\"}\n\
         {\"before\":{\"a\":1,\"b\":\"y\"},\"after\":null,\"op\":\"d\"}\n",
    );
    let of = of("", "'path' = 'in', 'format' = 'debezium-json'");
    for rows_max in [1, 2, 3, 100] {
        let rows = rows_of(&of, &folder.world(), rows_max).unwrap();
        assert_eq!(rows, ["+I1,x", "-U1,x", "+U1,y", "-D1,y"]);
    }
}
