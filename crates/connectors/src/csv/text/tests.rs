//! Tests of reading files into texts, and of their defects. Framing, faults and bad lines have tests of their
//! own.

use std::sync::Arc;

use super::*;
use crate::testing::{Faults, MemDisk, VecOutput};

type Parse = fn(u64, &str) -> Result<Record<Range<usize>>, RowError>;

/// Parser of the tests: the wanted part of a line comes after its first blank, and the event time is the line
/// number. A line without a blank is bad.
fn behind_blank(number: u64, line: &str) -> Result<Record<Range<usize>>, RowError> {
    let blank = line.find(' ').ok_or(RowError { field: "line", reason: "no blank".to_owned() })?;
    Ok(Record::new(EventTime::from_micros(number as i64), blank + 1..line.len()))
}

fn open(disk: &Arc<MemDisk>, on_bad: OnBad) -> TextSource<Parse> {
    TextSource::open("f.txt".into(), on_bad, Arc::<MemDisk>::clone(disk), behind_blank as Parse).unwrap()
}

/// Polls a source for at most `room` records.
fn poll(source: &mut TextSource<Parse>, room: usize) -> Result<(Vec<Record<Text>>, SourceStatus), Fault> {
    let mut output = VecOutput::with_room(room);
    let polled = source.poll(ProcessingTime::ZERO, room, &mut output)?;
    Ok((output.records, polled.status))
}

fn drain(source: &mut TextSource<Parse>, room: usize) -> Result<Vec<Record<Text>>, Fault> {
    let mut records = Vec::new();
    loop {
        let (some, status) = poll(source, room)?;
        records.extend(some);
        if status == SourceStatus::Ended {
            return Ok(records);
        }
    }
}

fn shown(records: &[Record<Text>]) -> String {
    let shown = records.iter().map(|record| format!("{}@{}", record.value, record.event_time.as_micros()));
    shown.collect::<Vec<_>>().join("|")
}

#[track_caller]
fn check(file: &[u8], expected: &str, bad_count: u64) {
    for room in [1, 3, 1_000] {
        let mut source = open(&MemDisk::with("f.txt", file), OnBad::Skip);
        let records = drain(&mut source, room).unwrap();
        assert_eq!((&*shown(&records), source.bad_count()), (expected, bad_count), "{}", file.escape_ascii());
    }
}

#[test]
fn lines_become_texts() {
    check(b"", "", 0);
    check(b"1 a\n2 \"b, c\r\n3 d e", "a@0|\"b, c@1|d e@2", 0);
    check(b"\xef\xbb\xbf1 caf\xc3\xa9\n\n", "caf\u{e9}@0", 0);
    // An empty line is bad, because it has no blank, and so is a line that is not UTF-8. Each of them takes a
    // line number.
    check(b"\n1 a\n2 \xff\n4 d\n", "a@1|d@3", 2);
    let long = format!("1 {}\n2 b\n", "x".repeat(1 << 20));
    check(long.as_bytes(), "b@1", 1);
}

/// A file with more lines than one buffer holds, long and short, is read right.
#[test]
fn buffers_follow_one_another() {
    let line = |number: usize| format!("{number} {}", "word ".repeat(number % 60));
    let lines: Vec<String> = (0..5_000).map(line).collect();
    let expected: Vec<&str> = lines.iter().map(|line| line.split_once(' ').unwrap().1).collect();
    let disk = MemDisk::with("f.txt", lines.join("\n").as_bytes());
    disk.set(Faults { read_bytes_max: 1_000, interrupts_reads: true, ..Faults::default() });
    let mut source = open(&disk, OnBad::Fail);
    let records = drain(&mut source, 700).unwrap();
    assert_eq!(records.iter().map(|record| record.value.as_str()).collect::<Vec<_>>(), expected);
    let held = source.held_bytes();
    assert!(held > expected.iter().map(|text| text.len()).sum(), "texts are alive, and counted");
    drop(records);

    // If no record is kept alive, a few buffers serve the whole file.
    let mut source = open(&disk, OnBad::Fail);
    while poll(&mut source, 700).unwrap().1 != SourceStatus::Ended {}
    assert!(source.held_bytes() < held / 2, "{} bytes of {held}", source.held_bytes());
}

/// A text source counts and saves only records that were emitted, and not the lines that it has read ahead.
#[test]
fn it_goes_on_behind_the_last_record_given_out() {
    let file: Vec<u8> = (0..50)
        .flat_map(|n| if n % 7 == 3 { "bad\n".into() } else { format!("{n} x{n}\n") }.into_bytes())
        .collect();
    let disk = MemDisk::with("f.txt", &file);
    let all = drain(&mut open(&disk, OnBad::Skip), 9).unwrap();
    for given in 0..=all.len() {
        let mut source = open(&disk, OnBad::Skip);
        assert_eq!(if given == 0 { 0 } else { poll(&mut source, given).unwrap().0.len() }, given);
        let bad_count = source.bad_count();
        let mut writer = StateWriter::default();
        source.save(&mut writer).unwrap();
        let bytes = writer.into_bytes();

        let mut loaded = open(&disk, OnBad::Skip);
        loaded.load(&mut StateReader::new(&bytes)).unwrap();
        assert_eq!(loaded.bad_count(), bad_count, "behind {given}");
        assert_eq!(drain(&mut loaded, 5).unwrap(), all[given..]);
        assert_eq!(loaded.bad_count(), 7);

        let other = MemDisk::with("f.txt", b"1 other\n");
        assert!(open(&other, OnBad::Skip).load(&mut StateReader::new(&bytes)).is_err());
    }
}

#[test]
fn bad_lines_are_told_as_those_of_columns_are() {
    let disk = MemDisk::with("f.txt", b"1 a\nbad\n2 b\n");
    let fault = drain(&mut open(&disk, OnBad::Fail), 5).unwrap_err();
    assert_eq!(
        format!("{}: {fault}", fault.code()),
        "BAD_LINE: f.txt, line 2 (byte 4): field line: no blank; mend the line, or have bad lines skipped or diverted"
    );
    let mut source = open(&disk, OnBad::Divert("bad.csv".into()));
    assert_eq!(shown(&drain(&mut source, 5).unwrap()), "a@0|b@2");
    assert_eq!(disk.text("bad.csv").unwrap().lines().last(), Some("2,field line: no blank,bad"));
    let itself = TextSource::open("f.txt".into(), OnBad::Divert("f.txt".into()), disk, behind_blank as Parse);
    assert!(matches!(itself, Err(CsvError::DivertFailed { .. })));
}
