//! Tests of reading CSV files into records, shown as `key@time=value`, and of every defect that a file can
//! have.

mod faults;
mod position;

use proptest::prelude::*;

use super::*;
use crate::csv::lines::LINE_BYTES_MAX;
use crate::testing::{MemDisk, VecOutput};
use thalweg_model::EventTime;

const COLUMNS: &[&str] = &["time", "key", "value"];

type Parse = fn(&Row<'_>) -> Result<Record<(String, f64)>, RowError>;

fn parse(row: &Row<'_>) -> Result<Record<(String, f64)>, RowError> {
    let value = row.f64(2)?;
    if value < 0.0 {
        return Err(row.refuse(2, format!("value is {value}, but must be at least 0")));
    }
    Ok(Record::new(EventTime::from_micros(row.i64(0)?), (row.text(1).to_owned(), value)))
}

fn options(header: Header, on_bad: OnBad) -> CsvOptions {
    CsvOptions { path: "f.csv".into(), columns: COLUMNS, header, on_bad }
}

fn divert() -> OnBad {
    OnBad::Divert("bad.csv".into())
}

fn open(disk: &Arc<MemDisk>, options: CsvOptions) -> Result<CsvSource<(String, f64), Parse>, CsvError> {
    CsvSource::open(options, Arc::<MemDisk>::clone(disk), parse as Parse)
}

fn shown(records: &[Record<(String, f64)>]) -> String {
    let show = |record: &Record<(String, f64)>| {
        format!("{}@{}={}", record.value.0, record.event_time.as_micros(), record.value.1)
    };
    records.iter().map(show).collect::<Vec<_>>().join(" ")
}

/// Polls a source to its end, `limit` lines at a time.
fn drain(
    source: &mut CsvSource<(String, f64), Parse>,
    limit: usize,
) -> Result<Vec<Record<(String, f64)>>, Fault> {
    let mut output = VecOutput::with_room(usize::MAX);
    while source.poll(ProcessingTime::ZERO, limit, &mut output)?.status != SourceStatus::Ended {}
    Ok(output.records)
}

/// Reads a file. Returns all records, followed by `bad N` if there are bad lines, or the code and message of
/// the error.
fn read(file: &[u8], header: Header, on_bad: OnBad) -> String {
    let disk = MemDisk::with("f.csv", file);
    let outcome = open(&disk, options(header, on_bad)).map_err(Fault::from).and_then(|mut source| {
        let records = drain(&mut source, 7)?;
        Ok((records, source.bad_count()))
    });
    match outcome {
        Ok((records, 0)) => shown(&records),
        Ok((records, bad_count)) => format!("{} bad {bad_count}", shown(&records)).trim().to_owned(),
        Err(fault) => format!("{}: {fault}", fault.code()),
    }
}

fn check(file: &[u8], expected: &str) {
    assert_eq!(read(file, Header::None, OnBad::Skip), expected, "{}", file.escape_ascii());
}

#[test]
fn good_files() {
    check(b"1,a,2\n3,b,4.5\n", "a@1=2 b@3=4.5");
    check(b"1,a,2\r\n3,b,4.5", "a@1=2 b@3=4.5");
    check(b"\xef\xbb\xbf-1,\"a,\"\"b\",2e3\n\n", "a,\"b@-1=2000");
    check(b"", "");
    check(b"\n", "");
}

#[test]
fn headers() {
    let read = |file: &[u8]| read(file, Header::Expect, OnBad::Skip);
    assert_eq!(read(b"time,key,value\n1,a,2\n"), "a@1=2");
    assert_eq!(read(b"\xef\xbb\xbf\"time\",key,value\r\n1,a,2\n"), "a@1=2");
    assert_eq!(read(b"time,key,value\n"), "");
    assert_eq!(read(b"time,key,value"), "");
    let told = |first: &str| {
        format!(
            "BAD_HEADER: f.csv: the header must be `time,key,value`, but the first line is {first}; is this the right file?"
        )
    };
    assert_eq!(read(b""), told("empty"));
    assert_eq!(read(b"\ntime,key,value\n"), told("empty"));
    assert_eq!(read(b"1,a,2\n"), told("`1,a,2`"));
    assert_eq!(read(b"time,value,key\n"), told("`time,value,key`"));
    assert_eq!(read(b"time,key,value,more\n"), told("`time,key,value,more`"));
    assert_eq!(read(b"time, key ,\" value\"\n1,a,2\n"), "a@1=2");
    assert_eq!(read(b"time,k ey,value\n\0"), told("`time,k ey,value`"));
    assert_eq!(read(b"\x00\xff\n"), told("`\\0\u{fffd}`"));
    let long = "x".repeat(LINE_BYTES_MAX + 9);
    assert_eq!(read(long.as_bytes()), told(&format!("`{}`", "x".repeat(HEADER_SHOWN_CHARS_MAX))));
}

/// Each kind of bad line fails the query with an error that tells the place of the line.
#[test]
fn bad_lines_fail_the_query() {
    let check = |line: &[u8], reason: &str| {
        let told = format!(
            "BAD_LINE: f.csv, line 2 (byte 6): {reason}; mend the line, or have bad lines skipped or diverted"
        );
        let file = [b"1,a,2\n", line, b"\n3,b,4\n"].concat();
        assert_eq!(read(&file, Header::None, OnBad::Fail), told);
        assert_eq!(read(&file, Header::None, OnBad::Skip), "a@1=2 b@3=4 bad 1");
    };
    check(b"", "short: 0 of 3 fields");
    check(b"1,a", "short: 2 of 3 fields");
    check(b"1,a,2,", "long: more than 3 fields");
    check(b"1,\"a,2", "malformed: a quote is left open at the line end");
    check(b"1,\xe4,2", "not UTF-8 after 2 bytes");
    check(b"\0", "short: 1 of 3 fields");
    check(b"\0\0,a,2", "field time: `\\0\\0` is not a whole number of 64 bits");
    check(b"9223372036854775808,a,2", "field time: `9223372036854775808` is not a whole number of 64 bits");
    check(b"1.0,a,2", "field time: `1.0` is not a whole number of 64 bits");
    check(b"1,a,", "field value: `` is not a finite number");
    check(b"1,a,NaN", "field value: `NaN` is not a finite number");
    check(b"1,a,-inf", "field value: `-inf` is not a finite number");
    check(b"1,a,1e999", "field value: `1e999` is not a finite number");
    check(b"1,a,-2", "field value: value is -2, but must be at least 0");
    check(
        &[b"1,a,".to_vec(), vec![b'z'; 70]].concat(),
        &format!("field value: `{}`... is not a finite number", "z".repeat(60)),
    );
    check(&vec![b'x'; LINE_BYTES_MAX + 1], "over-long: cut after 1048576 bytes");
}

/// A record is one line: a quoted line break makes two bad lines and does not affect the lines around them.
#[test]
fn a_quoted_line_break_is_two_bad_lines() {
    check(b"1,a,2\n3,\"b\nb\",4\n5,c,6\n", "a@1=2 c@5=6 bad 2");
}

/// The file of diverted lines is CSV itself: the line number, the reason, and the line, exact to the byte.
#[test]
fn bad_lines_are_diverted() {
    let disk = MemDisk::with("f.csv", b"1,a,2\n\"x\n3,b,4\n5,c,-6\n\n");
    let mut source = open(&disk, options(Header::None, divert())).unwrap();
    let mut output = VecOutput::with_room(usize::MAX);
    source.poll(ProcessingTime::ZERO, 1, &mut output).unwrap();
    assert_eq!(disk.text("bad.csv.inprogress"), None, "created at the first bad line");
    source.poll(ProcessingTime::ZERO, 1, &mut output).unwrap();
    assert!(disk.text("bad.csv.inprogress").is_some());
    assert_eq!(disk.text("bad.csv"), None, "published at the end");
    drain(&mut source, 1).unwrap();
    let expected = "2,malformed: a quote is left open at the line end,\"\"\"x\"\n\
                    4,\"field value: value is -6, but must be at least 0\",\"5,c,-6\"\n";
    assert_eq!(disk.text("bad.csv").as_deref(), Some(expected));
    assert_eq!((disk.text("bad.csv.inprogress"), source.bad_count()), (None, 2));
}

/// Diverted lines are gathered in a buffer, which is written before the end of the source if it is full.
#[test]
fn diverted_lines_are_written_on_the_way() {
    let disk = MemDisk::with("f.csv", &[vec![b'x'; 2_000], vec![b'\n']].concat().repeat(99));
    let mut source = open(&disk, options(Header::None, divert())).unwrap();
    source.poll(ProcessingTime::ZERO, 99, &mut VecOutput::with_room(99)).unwrap();
    assert!(disk.text("bad.csv.inprogress").is_some_and(|text| 100_000 < text.len()));
    assert!(source.held_bytes() < 1 << 20, "{} bytes held", source.held_bytes());
}

#[test]
fn a_file_without_bad_lines_diverts_none() {
    let disk = MemDisk::with("f.csv", b"1,a,2\n");
    drain(&mut open(&disk, options(Header::None, divert())).unwrap(), 9).unwrap();
    assert_eq!(disk.text("bad.csv"), None);
}

/// The first MiB of a line that is too long is diverted, and memory stays within its bound while the line is
/// read.
#[test]
fn an_over_long_line_is_diverted_in_part() {
    let file = [vec![b'"'; 5 * LINE_BYTES_MAX], b"\n1,a,2\n".to_vec()].concat();
    let disk = MemDisk::with("f.csv", &file);
    let mut source = open(&disk, options(Header::None, divert())).unwrap();
    assert_eq!(shown(&drain(&mut source, 1).unwrap()), "a@1=2");
    assert!(source.held_bytes() < 8 << 20, "{} bytes held", source.held_bytes());
    let diverted = disk.text("bad.csv").unwrap();
    let raw = diverted.strip_prefix("1,over-long: cut after 1048576 bytes,").unwrap();
    assert_eq!(raw.len(), 2 * LINE_BYTES_MAX + 3, "every quote doubled, two around them, and the line end");
}

/// Returns a file of `count` lines, in which the line numbers accepted by `is_bad` are bad.
fn file_with_bad(count: u64, is_bad: impl Fn(u64) -> bool) -> Vec<u8> {
    (1..=count).flat_map(|n| if is_bad(n) { b"bad\n".to_vec() } else { b"1,a,2\n".to_vec() }).collect()
}

/// A query fails at more than 1 % bad lines among any 10,000 lines: 100 bad lines are accepted, and the 101st
/// is not, unless it lies outside the window of the first.
#[test]
fn too_many_bad_lines_fail_the_query() {
    let check = |last: u64, expected: &str, told_if_diverted: &str| {
        let file = file_with_bad(20_000, |n| n < 100 || n == 5_000 || n == last);
        for (on_bad, more) in [(OnBad::Skip, ""), (divert(), told_if_diverted)] {
            let shown = read(&file, Header::None, on_bad);
            let expected = format!("{expected}{more}");
            assert!(shown.ends_with(&expected), "{}", &shown[shown.len().saturating_sub(300)..]);
        }
    };
    check(5_000, "=2 bad 100", "");
    check(10_001, "=2 bad 101", "");
    check(
        10_000,
        "TOO_MANY_BAD: f.csv, line 10000 (byte 59794): short: 1 of 3 fields; with it more than 100 of 10000 consecutive \
         lines are bad; is this the right file and schema?",
        " the bad lines are in bad.csv",
    );
}

/// A poll reads at most `limit` lines, good or bad, and makes no more records than fit.
#[test]
fn limit_and_room() {
    let disk = MemDisk::with("f.csv", b"1,a,2\nbad\n3,b,4\n5,c,6\n");
    let mut source = open(&disk, options(Header::None, OnBad::Skip)).unwrap();
    let mut poll = |limit, room| {
        let mut output = VecOutput::with_room(room);
        let status = source.poll(ProcessingTime::ZERO, limit, &mut output).unwrap().status;
        (shown(&output.records), status)
    };
    assert_eq!(poll(9, 0), (String::new(), SourceStatus::Ready));
    assert_eq!(poll(0, 9), (String::new(), SourceStatus::Ready));
    assert_eq!(poll(2, 9), ("a@1=2".to_owned(), SourceStatus::Ready));
    assert_eq!(poll(9, 1), ("b@3=4".to_owned(), SourceStatus::Ready));
    assert_eq!(poll(9, 9), ("c@5=6".to_owned(), SourceStatus::Ended));
    assert_eq!(poll(9, 9), (String::new(), SourceStatus::Ended));
}

/// Memory does not grow with the file: later reads hold no more than opening and the first poll did.
#[test]
fn memory_does_not_grow_with_the_file() {
    let disk = MemDisk::with("f.csv", &b"1,a,2\n".repeat(300_000));
    let mut source = open(&disk, options(Header::None, OnBad::Fail)).unwrap();
    let mut output = VecOutput::with_room(1);
    source.poll(ProcessingTime::ZERO, 1, &mut output).unwrap();
    let held_bytes = source.held_bytes();
    drain(&mut source, 1_000).unwrap();
    assert!(
        source.held_bytes() <= held_bytes + 16,
        "the line at a buffer's end was gathered, and nothing else"
    );
}

proptest! {
    /// For any bytes in a file, every line becomes a record or is counted as bad.
    #[test]
    fn every_line_is_accounted_for(file in prop::collection::vec(prop::sample::select(&b"1,a2\"\n\r\xff\0"[..]), 0..200)) {
        let disk = MemDisk::with("f.csv", &file);
        let mut source = open(&disk, options(Header::None, OnBad::Skip)).unwrap();
        let records = drain(&mut source, 3).unwrap();
        let mut lines: Vec<&[u8]> = file.split(|&byte| byte == b'\n').collect();
        if lines.last() == Some(&&b""[..]) {
            lines.pop();
        }
        if lines.last().is_some_and(|last| matches!(*last, b"" | b"\r")) {
            lines.pop();
        }
        prop_assert_eq!(records.len() as u64 + source.bad_count(), lines.len() as u64);
    }

    /// A CSV source reads every record that a CSV sink has written, in order, exact to the bit.
    #[test]
    fn a_sink_s_file_reads_back(
        values in prop::collection::vec((any::<i64>(), "[ab,\"\r\u{e4}\u{feff}\0 ]{0,6}", 0.0..f64::MAX), 0..20),
    ) {
        use crate::csv::{CsvSink, RowWriter};
        use thalweg_model::Sink;
        let disk = Arc::new(MemDisk::default());
        let row = |record: &Record<(String, f64)>, row: &mut RowWriter| {
            row.push_i64(record.event_time.as_micros());
            row.push_str(&record.value.0);
            row.push_f64(record.value.1);
        };
        let mut sink = CsvSink::create(Arc::<MemDisk>::clone(&disk), "f.csv", row).unwrap();
        let records: Vec<_> = values
            .into_iter()
            .map(|(time, key, value)| Record::new(EventTime::from_micros(time), (key, value)))
            .collect();
        for record in &records {
            sink.write(record.clone()).unwrap();
        }
        sink.finish().unwrap();
        prop_assert_eq!(drain(&mut open(&disk, options(Header::None, OnBad::Fail)).unwrap(), 9).unwrap(), records);
    }
}
