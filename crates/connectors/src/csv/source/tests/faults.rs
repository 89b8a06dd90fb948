//! Tests of CSV files that change while they are read, or cannot be read. The result is always an error with
//! code and place, never a shorter file.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::testing::Faults;

/// Number of lines of 6 bytes in the file: more than one read buffer, so that opening does not read to the
/// end.
const LINES: usize = 100_000;

/// Opens a file, calls `happen` on its disk, and reads to the end. Returns code and message of the error.
fn after(path: &str, file: &[u8], happen: impl FnOnce(&MemDisk)) -> String {
    let disk = MemDisk::with(path, file);
    let options = CsvOptions { path: path.into(), ..options(Header::None, OnBad::Fail) };
    let mut source = open(&disk, options).unwrap();
    happen(&disk);
    match drain(&mut source, 1_000) {
        Ok(records) => format!("{} records", records.len()),
        Err(fault) => format!("{}: {fault}", fault.code()),
    }
}

fn check(happen: impl FnOnce(&MemDisk), expected: &str) {
    let file = b"1,a,2\n".repeat(LINES);
    assert_eq!(after("f.csv", &file, happen), expected);
}

#[test]
fn an_untouched_file_is_read_whole() {
    check(|_| {}, "100000 records");
    let faults = Faults { read_bytes_max: 4_099, interrupts_reads: true, ..Faults::default() };
    check(|disk| disk.set(faults), "100000 records");
}

#[test]
fn a_file_that_changes_fails_the_query() {
    let told = |line: u64, byte: u64, change: &str| {
        format!(
            "SOURCE_CHANGED: f.csv, line {line} (byte {byte}): the file changed while it was read: {change}; run the \
             query again when it is complete"
        )
    };
    // Opening has read 262,144 bytes, which end in line 43,691, so the error names this line.
    let truncated = told(43_691, 262_140, "its length went from 600000 to 300 bytes");
    check(|disk| disk.truncate("f.csv", 300), &truncated);
    let replaced = told(100_001, 600_000, "another file took its place");
    check(|disk| disk.put("f.csv", &b"1,a,2\n".repeat(LINES)), &replaced);
    let appended = told(100_002, 600_006, "its length went from 600000 to 600006 bytes");
    check(|disk| disk.change("f.csv", |bytes| bytes.extend_from_slice(b"1,a,2\n")), &appended);
    let written = told(100_001, 600_000, "it was written to");
    check(|disk| disk.change("f.csv", |bytes| bytes[0] = b'2'), &written);
    let removed = told(100_001, 600_000, "it was removed");
    check(|disk| disk.remove("f.csv".as_ref()).unwrap(), &removed);
}

/// A file that ends early is an error even if the file system reports that nothing changed.
#[test]
fn a_file_that_ends_early_fails_the_query() {
    check(
        |disk| {
            // The open reader sees a shorter file, while the file's metadata keep the same length and times.
            disk.hide("f.csv", 300);
        },
        "SOURCE_CHANGED: f.csv, line 43691 (byte 262140): the file changed while it was read: it ends after 262144 of \
         600000 bytes; run the query again when it is complete",
    );
}

/// A change of a long file is noticed before the file is read to its end.
#[test]
fn a_change_is_noticed_on_the_way() {
    let file = b"1,a,2\n".repeat(1_000_000);
    let told = after("f.csv", &file, |disk| disk.put("f.csv", b"1,a,2\n"));
    let prefix =
        "SOURCE_CHANGED: f.csv, line 131073 (byte 786432): the file changed while it was read: another file";
    assert!(told.starts_with(prefix), "{told}");
}

#[test]
fn a_file_that_cannot_be_opened_or_read() {
    let refused = |disk: &Arc<MemDisk>| {
        let error = open(disk, options(Header::None, OnBad::Skip)).map(|_| ()).unwrap_err();
        format!("{}: {error}", thalweg_model::Coded::code(&error))
    };
    assert_eq!(refused(&Arc::default()), "SOURCE_MISSING: f.csv does not exist; check the path");
    let disk = MemDisk::with("f.csv", b"1,a,2\n");
    for (what, faults) in [
        ("open", Faults { fails_open: true, ..Faults::default() }),
        ("read", Faults { fails_read: true, ..Faults::default() }),
    ] {
        disk.set(faults);
        let told = format!(
            "SOURCE_UNREADABLE: f.csv, line 1 (byte 0): the file cannot be read: {what} fails; check its kind and its permissions"
        );
        assert_eq!(refused(&disk), told);
    }
    let on_the_way = "SOURCE_UNREADABLE: f.csv, line 43691 (byte 262140): the file cannot be read: read fails; check its kind \
                      and its permissions";
    check(|disk| disk.set(Faults { fails_read: true, ..Faults::default() }), on_the_way);
}

/// A query whose bad lines cannot be diverted fails, at the first bad line or at the end. It never overwrites
/// the file that is read.
#[test]
fn a_diverted_file_that_cannot_be_written() {
    for (what, faults) in [
        ("create", Faults { fails_create: true, ..Faults::default() }),
        ("write", Faults { fails_write: true, ..Faults::default() }),
        ("sync", Faults { fails_sync: true, ..Faults::default() }),
        ("publish", Faults { fails_publish: true, ..Faults::default() }),
    ] {
        let disk = MemDisk::with("f.csv", b"bad\n");
        let mut source = open(&disk, options(Header::None, divert())).unwrap();
        disk.set(faults);
        let fault = drain(&mut source, 1).unwrap_err();
        assert_eq!(fault.code(), "DIVERT_FAILED");
        let told = format!(
            "bad lines cannot be diverted to bad.csv: {what} fails; check the path and the space left"
        );
        assert_eq!(fault.to_string(), told);
        assert_eq!((disk.text("bad.csv"), disk.text("bad.csv.inprogress")), (None, None));
    }
    let disk = MemDisk::with("f.csv", b"bad\n");
    let error = open(&disk, options(Header::None, OnBad::Divert("f.csv".into()))).map(|_| ()).unwrap_err();
    let told =
        "bad lines cannot be diverted to f.csv: it is the file to be read; check the path and the space left";
    assert_eq!(error.to_string(), told);
}

/// Reads `lines` lines of a file, calls `happen` on its disk, and reads on until the source fails. Returns
/// the code of the failure and the diverted file.
fn diverted_at_failure(
    file: &[u8],
    lines: usize,
    happen: impl FnOnce(&MemDisk),
) -> (&'static str, Option<String>) {
    let disk = MemDisk::with("f.csv", file);
    let mut source = open(&disk, options(Header::None, divert())).unwrap();
    source.poll(ProcessingTime::ZERO, lines, &mut VecOutput::with_room(usize::MAX)).unwrap();
    happen(&disk);
    let fault = drain(&mut source, 1_000).unwrap_err();
    drop(source);
    assert_eq!(disk.text("bad.csv.inprogress"), None, "nothing is left half done");
    (fault.code(), disk.text("bad.csv"))
}

/// When a source fails because of too many bad lines, all bad lines up to the one over the limit are
/// published.
#[test]
fn what_was_diverted_up_to_a_failure_is_published() {
    let (code, diverted) = diverted_at_failure(&b"bad\n".repeat(200), 1, |_| {});
    let diverted = diverted.unwrap();
    assert_eq!((code, diverted.lines().count()), ("TOO_MANY_BAD", 101));
    assert!(diverted.ends_with("101,short: 1 of 3 fields,bad\n"), "{diverted}");

    let file = [b"bad\n".to_vec(), b"1,a,2\n".repeat(LINES)].concat();
    let changed = diverted_at_failure(&file, 2, |disk| disk.truncate("f.csv", 300));
    assert_eq!(changed, ("SOURCE_CHANGED", Some("1,short: 1 of 3 fields,bad\n".to_owned())));
}

/// Diverted lines that cannot be published when a source fails are removed, and the failure of the source is
/// still the one that is reported.
#[test]
fn a_failure_is_told_also_if_what_was_diverted_cannot_be_published() {
    let fails_sync = |disk: &MemDisk| disk.set(Faults { fails_sync: true, ..Faults::default() });
    let fails_publish = |disk: &MemDisk| disk.set(Faults { fails_publish: true, ..Faults::default() });
    for happen in [fails_sync, fails_publish] {
        assert_eq!(diverted_at_failure(&b"bad\n".repeat(200), 1, happen), ("TOO_MANY_BAD", None));
    }
}

/// A file of diverted lines that lacks a line which could not be written is not published.
#[test]
fn a_diverted_file_that_refused_a_line_is_not_published() {
    let file = [b"bad\n".to_vec(), [vec![b'x'; 10_000], vec![b'\n']].concat().repeat(50)].concat();
    let fails_once = |disk: &MemDisk| disk.set(Faults { fails_write: true, ..Faults::default() });
    assert_eq!(diverted_at_failure(&file, 1, fails_once), ("DIVERT_FAILED", None));
}

/// A source that is dropped before its end removes its file of diverted lines, since its query was cancelled
/// or has failed elsewhere.
#[test]
fn a_source_that_is_dropped_takes_its_diverted_file_away() {
    let disk = MemDisk::with("f.csv", b"bad\n1,a,2\n");
    let mut source = open(&disk, options(Header::None, divert())).unwrap();
    source.poll(ProcessingTime::ZERO, 1, &mut VecOutput::with_room(1)).unwrap();
    assert!(disk.text("bad.csv.inprogress").is_some());
    drop(source);
    assert_eq!((disk.text("bad.csv"), disk.text("bad.csv.inprogress")), (None, None));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn check_gzip(file: &[u8], expected: &str) {
    let disk = MemDisk::with("f.csv.gz", file);
    let options = CsvOptions { path: "f.csv.gz".into(), ..options(Header::None, OnBad::Fail) };
    let outcome = open(&disk, options).map_err(Fault::from).and_then(|mut source| drain(&mut source, 1_000));
    let shown = match outcome {
        Ok(records) => format!("{} records", records.len()),
        Err(fault) => fault.code().to_owned(),
    };
    assert_eq!(shown, expected);
}

#[test]
fn gzip_files() {
    let member = gzip(&b"1,a,2\n".repeat(LINES));
    check_gzip(&member, "100000 records");
    check_gzip(&[member.clone(), member.clone()].concat(), "200000 records");
    check_gzip(&gzip(b""), "0 records");
}

/// Damage to a gzip file or an early end, at any place, is never taken for the end of the data.
#[test]
fn damaged_gzip_files() {
    let text: Vec<u8> =
        (0..2_000).flat_map(|n| format!("{n},a,{}\n", n * 7_919 % 1_000).into_bytes()).collect();
    let file = gzip(&text);
    for length in (0..100).chain(file.len() - 30..file.len()) {
        check_gzip(&file[..length], "SOURCE_CORRUPT");
    }
    let mut damaged = file.clone();
    damaged[file.len() - 8] ^= 1;
    check_gzip(&damaged, "SOURCE_CORRUPT");
    check_gzip(&[file, b"and more".to_vec()].concat(), "SOURCE_CORRUPT");
    check_gzip(b"1,a,2\n", "SOURCE_CORRUPT");
}

/// A file that was truncated while it was read is reported as changed, not as corrupt.
#[test]
fn a_gzip_file_that_is_truncated_on_the_way() {
    let mut entropy = thalweg_model::SeededEntropy::new(1);
    let mut draw = || thalweg_model::Entropy::next_u64(&mut entropy) >> 1;
    let text: Vec<u8> = (0..LINES).flat_map(|_| format!("{},a,2\n", draw()).into_bytes()).collect();
    let told = after("f.csv.gz", &gzip(&text), |disk| disk.truncate("f.csv.gz", 300_000));
    assert!(told.starts_with("SOURCE_CHANGED: f.csv.gz, line "), "{told}");
}
