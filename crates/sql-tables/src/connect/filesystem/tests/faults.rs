//! Tests of reading when something is wrong: files that change, bad records, invalid positions, directories and
//! links that cannot be followed, and targets that must not be replaced.
//!
//! The query fails with an error that names the file, or the bad record is counted and, if the table asks for it,
//! diverted. Nothing is lost silently (C1 to C4 of connectors). The rules under test are those of
//! `filesystem/split.rs`, `filesystem/listing.rs` and `connect/bad.rs`. `connect/bad/tests.rs` tests bad records
//! without files, `damaged.rs` files with random damage.

use std::fs;

use thalweg_model::{ProcessingTime, SourceStatus};

use super::of;
use crate::connect::bed::{Folder, drain, restore, rows_of, saved, shown, sources, table, write};
use crate::scan::rows::RowSource;

/// Returns the error of a query in which `change` changes a file after one row of the first file was read.
fn after(change: impl Fn(&Folder), format: &str, content: &str) -> String {
    let folder = Folder::new();
    (0..40).for_each(|file| folder.put(&format!("in/{file:02}"), content));
    let of = of("", &format!("'path' = 'in', 'format' = '{format}'"));
    let mut found = sources(&of, &folder.world()).unwrap();
    // A table has at most 32 splits, and files go to them in turn. So the first split has the files 00
    // and 32.
    found[0].poll(ProcessingTime::ZERO, 1).unwrap();
    change(&folder);
    let fault = drain(found[0].as_mut(), 10).unwrap_err();
    format!("{} {fault}", fault.code())
}

#[test]
fn a_file_that_changes_fails_the_query() {
    let check = |change: &dyn Fn(&Folder), expected: &str| {
        for (format, content) in [("csv", "1,a\n2,b\n"), ("json", "{\"a\":1}\n{\"a\":2}\n")] {
            let found = after(change, format, content);
            assert!(found.starts_with("SOURCE_CHANGED ") && found.contains(expected), "{found}");
            assert!(found.contains("in/32") || found.contains("in/00"), "{found}");
        }
    };
    check(&|folder| fs::remove_file(folder.0.join("in/32")).unwrap(), "it was removed");
    check(&|folder| folder.put("in/32", "1,a\n2,b\n"), "it was replaced or written to");
    check(
        &|folder| folder.put("in/32", "longer than it was before, by some"),
        "it was replaced or written to",
    );
    check(
        &|folder| {
            fs::OpenOptions::new().write(true).open(folder.0.join("in/32")).unwrap().set_len(2).unwrap();
        },
        "written to",
    );
    // A change of the file that is open at the time fails the query, too.
    check(&|folder| fs::remove_file(folder.0.join("in/00")).unwrap(), "removed");
    check(&|folder| folder.put("in/00", "1,a\n2,b\n"), "another file took its place");
}

/// A gzip stream that ends early fails the query, and the error names the file and the place.
#[test]
fn a_gzip_stream_that_is_damaged() {
    let folder = Folder::new();
    let mut bytes = super::GZIPPED.to_vec();
    bytes.truncate(20);
    folder.put("in/x.gz", bytes);
    let error = rows_of(&of("", "'path' = 'in', 'format' = 'csv'"), &folder.world(), 10).unwrap_err();
    assert!(error.contains("x.gz, line 3 (byte 8): the gzip stream is damaged or ends early"), "{error}");
}

/// By default a bad record fails the query, and the error names its place and column.
#[test]
fn bad_records_fail_the_query() {
    let folder = Folder::new();
    folder.put("in/x.csv", "1,a\n2,b\nx,c\n4,d\n");
    let error = rows_of(&of("", "'path' = 'in', 'format' = 'csv'"), &folder.world(), 10).unwrap_err();
    assert!(error.contains("in/x.csv, line 3 (byte 8), column `a`: "), "{error}");
    assert!(error.contains("'thalweg.on-bad' = 'divert:FILE'"), "{error}");
    // Text that is not UTF-8 is a bad record, and so is a quote that is never closed.
    for bytes in [&b"1,\xff\n"[..], b"1,\"a\n2,b\n"] {
        folder.put("in/x.csv", bytes);
        let error = rows_of(&of("", "'path' = 'in', 'format' = 'csv'"), &folder.world(), 10).unwrap_err();
        assert!(error.contains("in/x.csv, line 1 (byte 0)"), "{error}");
    }
}

#[test]
fn bad_records_are_skipped_and_counted() {
    let folder = Folder::new();
    folder.put("in/x.csv", "1,a\nx,b\n3\n4,\"d\n5,e\n");
    let of = of("", "'path' = 'in', 'format' = 'csv', 'thalweg.on-bad' = 'skip'");
    let mut found = sources(&of, &folder.world()).unwrap();
    assert_eq!(drain(found[0].as_mut(), 10).unwrap(), ["1,a", "5,e"]);
    assert_eq!(found[0].bad_count(), 3);
}

#[test]
fn bad_records_are_diverted() {
    let folder = Folder::new();
    folder.put("in/x.csv", b"1,a\nx,b\n3,\xff\n4,d\n");
    folder.put("in/y.csv", "y,b\n");
    let of = of("", "'path' = 'in', 'format' = 'csv', 'thalweg.on-bad' = 'divert:bad.jsonl'");
    assert_eq!(rows_of(&of, &folder.world(), 10).unwrap(), ["1,a", "4,d"]);
    let lines: Vec<serde_json::Value> =
        folder.get("bad.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let place = |line: &serde_json::Value| (line["line"].as_u64().unwrap(), line["offset"].as_u64().unwrap());
    assert_eq!(lines.iter().map(place).collect::<Vec<_>>(), [(2, 4), (3, 8), (1, 0)]);
    assert_eq!((lines[0]["raw"].as_str(), lines[0]["column"].as_str()), (Some("x,b"), Some("a")));
    assert_eq!(lines[1]["raw_base64"], "Myz/");
    assert!(lines[2]["file"].as_str().unwrap().ends_with("in/y.csv"));
    // A diverted file below the directory of the table would be read as input the next time, so it is
    // refused under any of its paths.
    std::os::unix::fs::symlink("in", folder.0.join("link")).unwrap();
    fs::create_dir(folder.0.join("beside")).unwrap();
    let inside =
        "in/x.csv in/bad.jsonl ./in/bad.jsonl beside/../in/bad.jsonl link/bad.jsonl in/new/deep/bad.jsonl";
    for file in inside.split(' ') {
        let of =
            self::of("", &format!("'path' = 'in', 'format' = 'csv', 'thalweg.on-bad' = 'divert:{file}'"));
        let error = rows_of(&of, &folder.world(), 10).unwrap_err();
        assert!(error.contains("it would be read as input"), "{error}");
    }
}

/// A relative path of a table or of a diverted file means the same as the absolute path.
#[test]
fn relative_paths_are_whole_paths() {
    let of = |options: &str| {
        table(&format!(
            "CREATE TABLE t (line STRING, p STRING METADATA FROM 'file.path') WITH (
             'connector' = 'filesystem', 'path' = 'src/connect/bad', 'format' = 'raw', {options})"
        ))
    };
    let world = crate::connect::World::default();
    let here = std::path::absolute("src/connect/bad/tests.rs").unwrap();
    let rows =
        rows_of(&of("'source.path.regex-pattern' = '/.*/src/connect/bad/[^/]*'"), &world, 100).unwrap();
    assert!(rows.len() > 10 && rows.iter().all(|row| row.ends_with(&format!(",{}", here.display()))));
    for file in ["src/connect/bad/x", "./src/connect/bad/x", "src/../src/connect/bad/x"] {
        let error = rows_of(&of(&format!("'thalweg.on-bad' = 'divert:{file}'")), &world, 10).unwrap_err();
        assert!(error.contains("it would be read as input"), "{error}");
    }
}

/// The directory for a file of bad records is created before the query runs; if that is impossible, the
/// query is refused then.
#[test]
fn the_directory_of_a_diversion_is_made() {
    let folder = Folder::new();
    folder.put("in/x.csv", "1,a\nx\n");
    folder.put("kept", "kept");
    let divert = |file: &str| {
        let options = format!("'path' = 'in', 'format' = 'csv', 'thalweg.on-bad' = 'divert:{file}'");
        rows_of(&of("", &options), &folder.world(), 10)
    };
    assert_eq!(divert("log/deep/bad.jsonl").unwrap(), ["1,a"]);
    assert_eq!(folder.get("log/deep/bad.jsonl").lines().count(), 1);
    let error = divert("kept/bad.jsonl").unwrap_err();
    assert!(
        error.contains("cannot be diverted to ") && error.contains("its directory cannot be made"),
        "{error}"
    );
}

/// The share of bad records is measured by lines: all lines of earlier files count, whether the last line
/// has an end or not.
#[test]
fn files_are_weighed_by_their_lines() {
    let check = |first: &str, expected: &str| {
        let folder = Folder::new();
        folder.put("in/x.csv", first);
        folder.put("in/y.csv", "y\n");
        // A single source reads all files, and 1 bad record in 10,000 is allowed.
        let options =
            "'path' = 'in', 'format' = 'csv', 'source.monitor-interval' = '1 h', 'thalweg.on-bad' = 'skip',
            'thalweg.bad-share-max' = '0.0001'";
        let mut found = sources(&of("", options), &folder.world()).unwrap();
        let told = loop {
            match found[0].poll(ProcessingTime::ZERO, 4_096) {
                Ok(polled) if polled.status == SourceStatus::Ready => {}
                Ok(_) => break String::new(),
                Err(fault) => break fault.code().to_owned(),
            }
        };
        assert_eq!(told, expected);
    };
    let good = "1,a\n".repeat(9_998);
    check(&format!("x\n{good}"), "TOO_MANY_BAD");
    check(&format!("x\n{}", good.trim_end()), "TOO_MANY_BAD");
    check(&format!("x\n{good}2,b\n"), "");
    check(&format!("x\n{good}2,b"), "");
    check("x", "TOO_MANY_BAD");
}

/// A directory that is more than 64 levels deep is an error and is not ignored silently.
#[test]
fn directories_that_are_too_deep_are_named() {
    let folder = Folder::new();
    folder.put(&format!("in/{}x.csv", "d/".repeat(64)), "1,a\n");
    let read = || rows_of(&of("", "'path' = 'in', 'format' = 'csv'"), &folder.world(), 10);
    assert_eq!(read().unwrap(), ["1,a"]);
    folder.put(&format!("in/{}x.csv", "d/".repeat(65)), "1,a\n");
    let error = read().unwrap_err();
    assert!(error.contains("d/d: it lies more than 64 directories deep"), "{error}");
}

/// More than 1 bad record in 100 fails the query even if bad records are skipped or diverted, and the
/// diverted ones are kept. An option changes the share.
#[test]
fn too_many_bad_records() {
    let folder = Folder::new();
    let lines: String =
        (0..200).map(|row| if row % 2 == 0 { "x,y\n".to_owned() } else { format!("{row},a\n") }).collect();
    folder.put("in/x.csv", lines);
    let run = |more: &str| {
        let options = format!("'path' = 'in', 'format' = 'csv', 'thalweg.on-bad' = 'divert:bad.jsonl'{more}");
        rows_of(&of("", &options), &folder.world(), 10)
    };
    assert_eq!(run("").unwrap().len(), 100);
    let error = run(", 'thalweg.bad-share-max' = '0.005'").unwrap_err();
    assert!(error.contains("in/x.csv, line 101 (byte "), "{error}");
    assert!(error.contains("more than 50 of 10000 consecutive records are bad"), "{error}");
    assert!(error.ends_with("bad.jsonl"), "{error}");
    assert_eq!(folder.get("bad.jsonl").lines().count(), 51);
    assert!(run(", 'thalweg.bad-share-max' = '0'").unwrap_err().contains("line 1 "));
}

/// Restores a source, and returns the code and the text of the error of its first poll.
fn gone_on(source: &mut dyn RowSource, bytes: &[u8]) -> String {
    restore(source, bytes).unwrap();
    source
        .poll(ProcessingTime::ZERO, 10)
        .map_or_else(|fault| format!("{} {fault}", fault.code()), |_| String::new())
}

/// A saved position in a file that has changed fails with SOURCE_CHANGED, and bytes that are not a position are refused.
#[test]
fn positions_that_cannot_be_reached() {
    let folder = Folder::new();
    folder.put("in/x.csv", "1,a\nx\n2,b\n3,c\n");
    for policy in ["skip", "divert:bad.jsonl"] {
        let of = of("", &format!("'path' = 'in', 'format' = 'csv', 'thalweg.on-bad' = '{policy}'"));
        let mut first = sources(&of, &folder.world()).unwrap();
        first[0].poll(ProcessingTime::ZERO, 2).unwrap();
        let bytes = saved(first[0].as_ref());
        drop(first);
        let mut second = sources(&of, &folder.world()).unwrap();
        for end in 0..bytes.len() {
            assert!(restore(second[0].as_mut(), &bytes[..end]).is_err(), "{end}");
        }
        folder.put("in/x.csv", "1,a\nx\n2,b\n3,c\n");
        let changed = |folder: &Folder| gone_on(sources(&of, &folder.world()).unwrap()[0].as_mut(), &bytes);
        let error = changed(&folder);
        assert!(
            error.starts_with("SOURCE_CHANGED ") && error.contains("it was replaced or written to"),
            "{error}"
        );
        fs::write(folder.0.join("in/x.csv"), "1,a\nx\n").unwrap();
        let error = changed(&folder);
        assert!(
            error.starts_with("SOURCE_CHANGED ") && error.contains("it was replaced or written to"),
            "{error}"
        );
        fs::remove_file(folder.0.join("in/x.csv")).unwrap();
        folder.put("in/y.csv", "1,a\n");
        let error = changed(&folder);
        assert!(error.starts_with("SOURCE_CHANGED ") && error.contains("it was removed"), "{error}");
        fs::remove_file(folder.0.join("in/y.csv")).unwrap();
        folder.put("in/x.csv", "1,a\nx\n2,b\n3,c\n");
    }
}

/// Diverted bad records are in the order of the input, even behind a record that is too long, whose length
/// becomes known later.
#[test]
fn diverted_records_keep_their_order() {
    let folder = Folder::new();
    let long = "x".repeat((1 << 20) + 100);
    folder.put("in/x.csv", format!("a,1\n{long}\nb,1\n1,a\nc,1\n{long}\nd,1\n{long}"));
    let of = of("", "'path' = 'in', 'format' = 'csv', 'thalweg.on-bad' = 'divert:bad.jsonl'");
    assert_eq!(rows_of(&of, &folder.world(), 4_096).unwrap(), ["1,a"]);
    let diverted = folder.get("bad.jsonl");
    let lines = diverted.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let lines: Vec<(u64, u64)> =
        lines.map(|line| (line["line"].as_u64().unwrap(), line["length"].as_u64().unwrap_or(0))).collect();
    let length = long.len() as u64;
    assert_eq!(lines, [(1, 0), (2, length), (3, 0), (5, 0), (6, length), (7, 0), (8, length)]);
}

/// The diverted file of an earlier run is removed by a run that finds no bad records; a file of another kind
/// stays.
#[test]
fn a_diverted_file_of_an_earlier_run_is_removed() {
    let folder = Folder::new();
    let of = of("", "'path' = 'in', 'format' = 'csv', 'thalweg.on-bad' = 'divert:bad.jsonl'");
    folder.put("in/x.csv", "1,a\nx,b\n");
    rows_of(&of, &folder.world(), 10).unwrap();
    assert_eq!(folder.get("bad.jsonl").lines().count(), 1);
    // A run that does not reach the end of its input leaves the diverted file of an earlier run.
    folder.put("in/x.csv", "1,a\n2,b\n");
    drop(sources(&of, &folder.world()).unwrap());
    assert_eq!(folder.get("bad.jsonl").lines().count(), 1);
    rows_of(&of, &folder.world(), 10).unwrap();
    assert_eq!(folder.names(), ["in/x.csv"]);
    folder.put("bad.jsonl", "my notes\n");
    folder.put("bad.jsonl.inprogress", "left by a run that was killed");
    rows_of(&of, &folder.world(), 10).unwrap();
    assert_eq!(folder.names(), ["bad.jsonl", "in/x.csv"]);
    assert_eq!(folder.get("bad.jsonl"), "my notes\n");
}

/// The beginning of a bad record that is too long is diverted with the length of the whole record, whatever
/// the pieces in which its bytes are read.
#[test]
fn a_record_that_is_too_long_is_diverted() {
    let check = |before: usize, length: usize, end: &str| {
        let folder = Folder::new();
        let text = format!("{}{}{end}", "1,a\n".repeat(before), "x".repeat(length));
        folder.put("in/x.csv", text + if end.is_empty() { "" } else { "2,b\n" });
        let of = of("", "'path' = 'in', 'format' = 'csv', 'thalweg.on-bad' = 'divert:bad.jsonl'");
        let rows = rows_of(&of, &folder.world(), 4_096).unwrap();
        assert_eq!(rows.len(), before + usize::from(!end.is_empty()));
        let line: serde_json::Value = serde_json::from_str(&folder.get("bad.jsonl")).unwrap();
        assert_eq!(line["raw"].as_str().unwrap().len(), length.min(1 << 20));
        let expected = if 1 << 20 < length { (true.into(), length.into()) } else { Default::default() };
        assert_eq!(
            (line["truncated"].clone(), line["length"].clone()),
            expected,
            "{before} {length} {end:?}"
        );
    };
    check(0, 3 << 20, "\n");
    check(1_000, 3 << 20, "\r\n");
    check(70_000, (1 << 20) + 1, "\n");
    check(3, 2 << 20, "");
    // These records are bad for another reason than their length.
    check(3, 1 << 20, "\n");
    check(3, 10, "\n");
}

/// Several consecutive records that are too long are each diverted with their own length.
#[test]
fn records_that_are_too_long_follow_each_other() {
    let folder = Folder::new();
    let lengths = [1_300 << 10, 1_301 << 10, (1 << 20) + 1, 2_000 << 10];
    folder.put("in/x.csv", lengths.map(|length| "x".repeat(length) + "\n").concat());
    let of = of("", "'path' = 'in', 'format' = 'csv', 'thalweg.on-bad' = 'divert:bad.jsonl'");
    rows_of(&of, &folder.world(), 4_096).unwrap();
    let length = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["length"].as_u64();
    let found: Vec<_> = folder.get("bad.jsonl").lines().map(length).collect();
    assert_eq!(found, lengths.map(|length| Some(length as u64)));
}

/// A sink or a diverted file never replaces an existing entry that is no regular file.
#[test]
fn only_regular_files_are_replaced() {
    let folder = Folder::new();
    folder.put("in/x.csv", "1,a\n");
    folder.put("kept", "kept");
    let made = std::process::Command::new("mkfifo").arg(folder.0.join("pipe")).status().unwrap();
    assert!(made.success());
    std::os::unix::fs::symlink("kept", folder.0.join("link")).unwrap();
    std::os::unix::fs::symlink("kept", folder.0.join("half.inprogress")).unwrap();
    std::os::unix::fs::symlink("kept", folder.0.join(".half.inprogress")).unwrap();
    fs::create_dir(folder.0.join("directory")).unwrap();
    let before = folder.names();
    for (target, expected) in [
        ("pipe", "pipe: it is a device, a pipe or a socket"),
        ("link", "link: it is a symbolic link"),
        ("directory", "directory: it is a directory"),
        ("half", "half.inprogress: it is a symbolic link"),
    ] {
        let options = format!("'path' = 'in', 'format' = 'csv', 'thalweg.on-bad' = 'divert:{target}'");
        let error = rows_of(&of("", &options), &folder.world(), 10).unwrap_err();
        assert!(error.contains("bad records cannot be diverted to ") && error.contains(expected), "{error}");
        let options = format!("'path' = '{target}', 'format' = 'csv', 'thalweg.single-file' = 'true'");
        let error = write(&of("", &options), &folder.world(), "", None).unwrap_err();
        let expected = expected.replace(": ", " cannot be written as one file, 'thalweg.single-file': ");
        assert!(error.contains(&expected), "{error}");
    }
    assert_eq!(folder.names(), before);
    assert_eq!(folder.get("kept"), "kept");
    assert!(fs::symlink_metadata(folder.0.join("link")).unwrap().is_symlink());
}

/// A link that leads to itself, or back to a directory above it, is an error that names the link.
#[test]
fn links_that_lead_back_are_named() {
    let check = |target: &str, expected: &str| {
        let folder = Folder::new();
        folder.put("in/deep/x.csv", "1,a\n");
        std::os::unix::fs::symlink(target, folder.0.join("in/deep/loop")).unwrap();
        let error = rows_of(&of("", "'path' = 'in', 'format' = 'csv'"), &folder.world(), 10).unwrap_err();
        assert!(error.contains(&format!("in/deep/loop: {expected}")), "{error}");
    };
    check("../../in", "this link leads back to a directory above it");
    check(".", "this link leads back to a directory above it");
    check("loop", "");
    // A link to a sibling directory is followed.
    let folder = Folder::new();
    folder.put("in/a/x.csv", "1,a\n");
    std::os::unix::fs::symlink("a", folder.0.join("in/b")).unwrap();
    assert_eq!(
        rows_of(&of("", "'path' = 'in', 'format' = 'csv'"), &folder.world(), 10).unwrap(),
        ["1,a", "1,a"]
    );
}

/// A file of a watched directory that changes after it was read is not read again, and is reported: by an
/// error, or as a bad record.
#[test]
fn a_watched_file_that_changes_is_told() {
    let watch = |policy: &str, change: &dyn Fn(&Folder)| {
        let folder = Folder::new();
        folder.put("in/x.csv", "1,a\n");
        let options = format!(
            "'path' = 'in', 'format' = 'csv', 'source.monitor-interval' = '1 s', 'thalweg.on-bad' = '{policy}'"
        );
        let mut found = sources(&of("", &options), &folder.world()).unwrap();
        let mut rows = Vec::new();
        let mut told = String::new();
        for second in 0..6 {
            for _ in 0..3 {
                match found[0].poll(ProcessingTime::from_nanos(second * 1_000_000_000), 10) {
                    Ok(polled) => rows.extend(polled.rows.iter().flat_map(shown)),
                    Err(fault) => told = format!("{} {fault}", fault.code()),
                }
            }
            if second == 1 {
                change(&folder);
                folder.put("in/y.csv", "2,b\n");
            }
        }
        if !told.is_empty() {
            return told;
        }
        found[0].finish().unwrap();
        let diverted = folder.names().contains(&"bad.jsonl".to_owned()).then(|| folder.get("bad.jsonl"));
        format!("{} {} {}", rows.join(" "), found[0].bad_count(), diverted.unwrap_or_default())
    };
    let changes: [&dyn Fn(&Folder); 3] = [
        &|folder| folder.put("in/x.csv", "3,c\n"),
        &|folder| fs::write(folder.0.join("in/x.csv"), "4,d\n5,e\n").unwrap(),
        &|folder| {
            let mut file = fs::OpenOptions::new().append(true).open(folder.0.join("in/x.csv")).unwrap();
            std::io::Write::write_all(&mut file, b"6,f\n").unwrap();
        },
    ];
    for change in changes {
        let failed = watch("fail", change);
        assert!(
            failed.starts_with("SOURCE_CHANGED ") && failed.contains("in/x.csv: it was replaced"),
            "{failed}"
        );
        // The change of a file is counted once, however often the directory is listed.
        assert_eq!(watch("skip", change), "1,a 2,b 1 ");
        let diverted = watch("divert:bad.jsonl", change);
        assert!(diverted.starts_with("1,a 2,b 1 {\"file\":") && diverted.contains("x.csv"), "{diverted}");
    }
    assert_eq!(watch("fail", &|_| {}), "1,a 2,b 0 ");
}

/// Between a checkpoint and a restart, files of a watched directory come, change and go: new ones are read, a change of a file
/// that was read is told, and one that has gone is forgotten.
#[test]
fn a_watched_directory_changes_while_nothing_runs() {
    let folder = Folder::new();
    ["x", "y", "z"].iter().for_each(|name| folder.put(&format!("in/{name}.csv"), "1,a\n"));
    let check = |policy: &str, expected: &str| {
        let options = format!(
            "'path' = 'in', 'format' = 'csv', 'source.monitor-interval' = '1 s', 'thalweg.on-bad' = '{policy}'"
        );
        let of = of("", &options);
        let read = |source: &mut dyn RowSource| {
            let mut told = Vec::new();
            for second in [0, 0, 0, 0, 1, 1, 2, 2] {
                match source.poll(ProcessingTime::from_nanos(second * 1_000_000_000), 10) {
                    Ok(polled) => told.extend(polled.rows.iter().flat_map(shown)),
                    Err(fault) => told.push(fault.code().to_owned()),
                }
            }
            told
        };
        let mut first = sources(&of, &folder.world()).unwrap();
        assert_eq!(read(first[0].as_mut()), ["1,a", "1,a", "1,a"]);
        let bytes = saved(first[0].as_ref());
        drop(first);
        fs::write(folder.0.join("in/x.csv"), "1,a\n2,b\n").unwrap();
        fs::remove_file(folder.0.join("in/y.csv")).unwrap();
        folder.put("in/new.csv", "3,c\n");
        let mut second = sources(&of, &folder.world()).unwrap();
        restore(second[0].as_mut(), &bytes).unwrap();
        assert_eq!(read(second[0].as_mut()).join(" "), expected);
        ["x", "y", "z"].iter().for_each(|name| folder.put(&format!("in/{name}.csv"), "1,a\n"));
        fs::remove_file(folder.0.join("in/new.csv")).unwrap();
    };
    check("fail", "SOURCE_CHANGED 3,c");
    check("skip", "3,c");
}

/// The diverted records of a file that has changed since cannot be recovered. So a position behind this file
/// is refused, and the error names the file.
#[test]
fn a_position_behind_a_file_that_has_changed() {
    let folder = Folder::new();
    folder.put("in/x.csv", "1,a\n");
    let of = of(
        "",
        "'path' = 'in', 'format' = 'csv', 'source.monitor-interval' = '1 s', 'thalweg.on-bad' = 'divert:bad.jsonl'",
    );
    let mut first = sources(&of, &folder.world()).unwrap();
    for second in 0..6 {
        first[0].poll(ProcessingTime::from_nanos(second * 1_000_000_000), 10).unwrap();
        if second == 2 {
            // The replaced file has as many bad records as changes were counted.
            folder.put("in/x.csv", "x\n");
        }
    }
    assert_eq!(first[0].bad_count(), 1);
    let bytes = saved(first[0].as_ref());
    drop(first);
    let mut second = sources(&of, &folder.world()).unwrap();
    let error = gone_on(second[0].as_mut(), &bytes);
    assert!(error.starts_with("SOURCE_CHANGED ") && error.contains("in/x.csv: "), "{error}");
    assert!(error.contains("its bad records cannot be diverted again"), "{error}");
}
